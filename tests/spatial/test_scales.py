"""The scale of what was subtracted: where everything vanishes too, and in whatever units it is given."""

from __future__ import annotations

import casadi as ca
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whippletree.spatial.scales import largest, scale_of, vanishing

NUMBERS = st.lists(st.floats(-1e6, 1e6), max_size=6)
SHARES = st.sampled_from([1e-14, 1e-9, 1e-3])


@given(left=NUMBERS, terms=NUMBERS, share=SHARES, units=st.integers(-300, 300))
def test_units_do_not_matter(left: list[float], terms: list[float], share: float, units: int) -> None:
    a, b = (np.array([x if abs(x) > 1e-6 else 0.0 for x in numbers]) for numbers in (left, terms))
    one, other = vanishing(a, b, share=share), vanishing(a * 2.0**units, b * 2.0**units, share=share)
    assert one.tolist() == other.tolist()


@given(left=st.floats(-1e300, 1e300, allow_subnormal=False), share=SHARES)
def test_of_nothing_only_nothing_is_left(left: float, share: float) -> None:
    assert vanishing(left, 0.0, np.zeros((0, 3)), share=share) == (left == 0.0)
    assert vanishing(left, share=share) == (left == 0.0)
    assert not vanishing(np.nan, 1.0, share=share)
    assert not vanishing(1.0, np.nan, share=share)


@given(terms=st.lists(st.floats(-1e200, 1e200), min_size=1, max_size=6))
def test_symbols_and_numbers_agree(terms: list[float]) -> None:
    x = ca.SX.sym("x", len(terms))
    for of in (largest, scale_of):
        traced = ca.Function("scale", [x], [of(*ca.vertsplit(x))])
        assert float(traced(terms)) == of(*terms) == of(np.array(terms))
    assert scale_of(*terms) > 0
