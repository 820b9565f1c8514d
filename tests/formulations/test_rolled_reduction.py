"""Coordinate reduction as a loop over items: the same accelerations as in one straight line, and the exact ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.loop_models import built
from support.random_loops import case
from whippletree.system import equations
from whippletree.system.equations import Request

REDUCTION = "coordinate_reduction"
QUICK = (("one loop", 0), ("coupled, other bases", 0), ("planar", 2), ("cut joints", 2))
DEEP = (("one loop", 3), ("coupled, one base", 1), ("coupled, other bases", 2), ("overconstrained", 1), ("floating", 1))
CASES = [*QUICK, *(pytest.param(*key, marks=pytest.mark.deep) for key in DEEP)]


def rolled(s: wt.System) -> bool:
    return s._engine.equations.rolls(Request("forward_dynamics", REDUCTION))


@pytest.mark.parametrize(("family", "i"), CASES)
def test_same_as_unrolled(family: str, i: int, monkeypatch: pytest.MonkeyPatch) -> None:
    c = case(family, i)
    s = built(c.looped)
    expected = np.array(s.function("forward_dynamics", formulation="tree_augmented")(c.q, c.v, c.tau)).ravel()
    monkeypatch.setattr(equations, "ROLL_FROM", 1)
    straight = np.array(s.function("forward_dynamics", formulation=REDUCTION)(c.q, c.v, c.tau)).ravel()
    assert straight == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    monkeypatch.setattr(equations, "STRAIGHT", 0)
    assert rolled(s)
    a = s.forward_dynamics(c.q, c.v, c.tau, formulation=REDUCTION)
    assert a == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    if family != "planar":
        return
    many = s.forward_dynamics(np.stack([c.q] * 5), np.stack([c.v] * 5), np.stack([c.tau] * 5), formulation=REDUCTION)
    assert many == pytest.approx(np.stack([expected] * 5), rel=1e-9, abs=1e-9 * np.abs(expected).max())


def four_bars(n: int) -> tuple[wt.Mechanism, dict[str, Any]]:
    """IFToMM A02, tilted: n + 1 rockers on the ground and n couplers between them."""
    m = wt.Mechanism("N-four-bar", gravity=(0.0, -9.81, 0.0))
    rockers = [m.body(f"rocker {i}", wt.rod(1.0, mass=1.0)) for i in range(n + 1)]
    guess = {}
    for i, rocker in enumerate(rockers):
        m.revolute(f"foot {i}", m.ground, rocker, at=(float(i), 0, 0))
        guess[f"foot {i}"] = 1.2
    for i in range(n):
        coupler = m.body(f"coupler {i}", wt.rod(1.0, mass=1.0))
        m.revolute(f"head {i}", rockers[i], coupler, at=(1, 0, 0))
        m.revolute(f"tail {i}", coupler, rockers[i + 1], at=(1, 0, 0), at_child=(1, 0, 0))
        guess |= {f"head {i}": -1.2, f"tail {i}": 1.2}
    return m, guess


@pytest.mark.parametrize("straight", [0, 50_000])
def test_many_four_bars_are_exact_and_checked(straight: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equations, "STRAIGHT", straight)
    n = 40
    m, guess = four_bars(n)
    s = m.build(guess=guess)
    assert rolled(s) == (not straight)
    assert s.chosen.name == REDUCTION  # the others are not even traced
    q, v = s.q0, np.zeros(s.nv)
    v[: n + 1], v[n + 1 :: 2], v[n + 2 :: 2] = 2.0, -2.0, 2.0
    a = s.forward_dynamics(q, v, formulation=REDUCTION)
    share = ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    exact = -9.81 * share * np.cos(1.2)
    assert a[: n + 1] == pytest.approx(np.full(n + 1, exact), rel=1e-11)
    assert a[n + 1 :: 2] == pytest.approx(np.full(n, -exact), rel=1e-11)
    with pytest.raises(wt.StateError, match="open"):
        s.forward_dynamics(q + 0.01 * np.arange(s.nv), v, formulation=REDUCTION)
    with pytest.raises(wt.StateError, match="velocities"):
        s.forward_dynamics(q, v + np.arange(s.nv), formulation=REDUCTION)


def test_compile_time_does_not_grow_with_the_number_of_loops() -> None:
    """The same kinds of items serve any number of loops."""
    kinds = []
    for n in (30, 60):
        m, guess = four_bars(n)
        s = m.build(guess=guess)
        (loop,) = s._engine.equations.roll(Request("forward_dynamics", REDUCTION)).steps
        kinds.append(len(loop.variants))  # type: ignore[union-attr]
        assert len(loop.table) > 9 * n  # type: ignore[union-attr]
    assert kinds[0] == kinds[1] < 40
