"""The table of public calls says what the calls do: their options, errors, shapes and examples."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.system.example_systems import four_bar
from whippletree.system.public_call import CALLS, PublicCall

STATE = {"q": "q0", "v": "v0", "tau": "v0", "a": "v0", "dv": "v0", "q0": "q0", "q1": "q0"}
OTHERS: dict[str, Any] = {"name": "coupler", "joint": "A", "values": {"A": 0.5}, "seed": 0, "guess": {"A": 1.0}}
TABLE = sorted(CALLS.values(), key=lambda call: call.name)


def given(s: wt.System, call: PublicCall) -> list[Any]:
    """Return a good argument for each part of a call's state."""
    named = OTHERS | {"name": {"derivatives_of": "energy", "function": "energy"}.get(call.name, "coupler")}
    return [getattr(s, STATE[one]) if one in STATE else named[one] for one in call.state]


@pytest.mark.parametrize("call", TABLE, ids=lambda call: call.name)
def test_each_call_is_a_method_with_the_signature_of_its_row(call: PublicCall) -> None:
    method = getattr(wt.System, call.name)
    shown = inspect.signature(method).parameters
    assert {*call.state, *call.options} <= set(shown)
    assert call.summary == (inspect.getdoc(method) or "").splitlines()[0]
    assert call.example


@pytest.mark.parametrize("call", TABLE, ids=lambda call: call.name)
def test_each_call_answers_and_refuses_other_options(call: PublicCall) -> None:
    s = four_bar()
    method, arguments = getattr(s, call.name), given(s, call)
    found = method(*arguments)
    if call.shape and isinstance(found, np.ndarray):
        numbers = {"nv": s.nv, "nq": s.nq}
        known = tuple(numbers.get(str(one), one) for one in call.shape)
        assert len(known) == found.ndim
        assert all(one == size for one, size in zip(known, found.shape, strict=True) if isinstance(one, int))
    if call.options:
        with pytest.raises(wt.StateError, match="no option"):
            method(*arguments, colour="red")


def test_options_have_one_default_everywhere() -> None:
    seen: dict[str, Any] = {}
    for call in TABLE:
        for name, one in inspect.signature(getattr(wt.System, call.name)).parameters.items():
            if name in call.options:
                assert seen.setdefault(name, one.default) == one.default
    assert (seen["t"], seen["check"], seen["formulation"], seen["parameters"]) == (0.0, True, "auto", None)
