"""States that kernels give up, solved by themselves: against dense KKT systems in NumPy, and closed forms."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import whippletree as wt
from whippletree.system.dense_fallback import DenseSolution

G = 9.81


def slider_crank(r: float = 0.3, l: float = 1.0) -> wt.System:
    """Its slider is the independent freedom, which determines nothing where crank and rod are in line."""
    m = wt.Mechanism("slider-crank", gravity=(0, 0, -G))
    crank, rod = m.body("crank", wt.rod(r, mass=1.0)), m.body("rod", wt.rod(l, mass=1.0))
    block = m.body("block", wt.box(size=(0.1, 0.1, 0.1), mass=1.0))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, rod, at=(r, 0, 0), axis="y")
    m.revolute("C", rod, block, at=(l, 0, 0), axis="y")
    m.prismatic("S", m.ground, block, axis="x")
    return m.build(guess={"A": 1.0, "B": -1.5}, dependent=["A", "B", "C"])


def crank_at(s: wt.System, a: float, r: float = 0.3, l: float = 1.0) -> np.ndarray:
    b = np.arcsin(r / l * np.sin(a))
    return s.configuration({"A": a, "B": -a - b, "C": b, "S": r * np.cos(a) + l * np.cos(b)})


def state_of(s: wt.System, q: np.ndarray, rate: float = 2.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    v = s.consistent_velocities(q, {"A": rate})
    return {"q": q, "v": v, "tau": rng.normal(size=s.nv), "a": np.zeros(s.nv), "z": np.zeros(0)}


def kkt(s: wt.System, state: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The tree's accelerations and C^T lambda by the dense system of all rows, redundant ones too."""
    loops = s._engine.loops
    M, right, C, second = loops.numbers.terms(state, *loops.conditions())
    free = loops.numbers.free_freedoms
    M, right, C = M[np.ix_(free, free)], right[free], C[:, free]
    n, m = len(free), len(C)
    K = np.block([[M, -C.T], [C, np.zeros((m, m))]])
    x = np.linalg.lstsq(K, np.concatenate([right, -second]), rcond=1e-11)[0]
    return x[:n], C.T @ x[n:]


def solved(s: wt.System, state: dict[str, np.ndarray]) -> DenseSolution:
    loops = s._engine.loops
    return loops.fallback.solve(state, loops.conditions())


@pytest.mark.parametrize("off", [0.5, 1e-3, 1e-6, 1e-9])
def test_a_state_with_a_tiny_pivot_against_a_dense_kkt_system(off: float) -> None:
    """The plan's pivot falls to nothing where the mechanism is regular; the fallback does not use it."""
    s = slider_crank()
    plan, loops = s._engine.equations.loop_plan, s._engine.loops
    assert plan.choice.independent == (s.v_slice("S").start,)
    state = state_of(s, crank_at(s, off))
    found = solved(s, state)
    expected, forces = kkt(s, state)
    free = loops.numbers.free_freedoms
    assert found.regular
    assert found.a[free] == pytest.approx(expected, rel=1e-7, abs=1e-7 * np.abs(expected).max())
    _, _, C, second = loops.numbers.terms(state, *loops.conditions())
    assert C[:, free].T @ found.multipliers == pytest.approx(forces, abs=1e-7 * np.abs(forces).max())
    assert C @ found.a + second == pytest.approx(np.zeros(len(second)), abs=1e-9 * (1 + np.abs(second).max()))


@pytest.mark.parametrize("off", [0.5, 1e-9])
def test_all_accelerations_are_what_kernels_give_where_they_can(off: float) -> None:
    s = slider_crank()
    q = crank_at(s, off)
    state = state_of(s, q)
    inputs = {name: state[name] for name in ("q", "v", "tau")}
    found = s._engine.loops.fallback.accelerations(inputs)
    regular = s.forward_dynamics(q, state["v"], state["tau"], formulation="joint_multipliers")
    assert found == pytest.approx(regular, abs=1e-7 * np.abs(regular).max())


def flat_parallelogram(coupler: float) -> wt.System:
    m = wt.Mechanism("parallelogram", gravity=(0, -G, 0))
    one, three = (m.body(name, wt.rod(1.0, mass=1.0)) for name in ("one", "three"))
    two = m.body("two", wt.rod(2.0, mass=coupler))
    m.revolute("A", m.ground, one)
    m.revolute("B", one, two, at=(1, 0, 0))
    m.revolute("C", two, three, at=(2, 0, 0), at_child=(1, 0, 0))
    m.revolute("D", m.ground, three, at=(2, 0, 0))
    return m.build(guess={"A": 0.5, "B": -0.5, "C": 0.5, "D": 0.5})


@pytest.mark.parametrize("coupler", [0.5, 3.0])
def test_the_limit_at_a_singular_position_against_its_closed_form(coupler: float) -> None:
    """A parallelogram lying flat, on the branch of parallel cranks: a pendulum with one freedom.

    Two cranks with inertia 1/3 each and the coupler, which does not turn: (2/3 + m) alpha = -(1 + m) g.
    """
    s = flat_parallelogram(coupler)
    alpha = -(1 + coupler) * G / (2 / 3 + coupler)
    v = 0.7 * np.array([1.0, -1.0, 1.0, 1.0])
    state = {"q": np.zeros(4), "v": v, "tau": np.zeros(4), "a": np.zeros(4), "z": np.zeros(0)}
    found = solved(s, state)
    assert not found.regular
    a = s._engine.loops.fallback.accelerations({"q": np.zeros(4), "v": v})
    assert a == pytest.approx(alpha * np.array([1.0, -1.0, 1.0, 1.0]), rel=1e-7)


def test_velocities_of_no_branch_are_refused() -> None:
    """Flat, first-order motions include sums of both branches; such a velocity belongs to neither."""
    s = flat_parallelogram(1.0)
    numbers = s._engine.loops.numbers
    along = np.array([1.0, -1.0, 1.0, 1.0])
    motions = np.linalg.svd(numbers.full_rows(np.zeros(4), *numbers.conditions())[0])[2][2:]
    other = motions.T @ (motions @ np.array([1.0, 0.3, -2.0, 0.1]))
    other -= along * (along @ other) / (along @ along)
    assert np.abs(other).max() > 0.1
    with pytest.raises(wt.DynamicsError, match="singular"):
        s._engine.loops.fallback.accelerations({"q": np.zeros(4), "v": along + 0.4 * other})


def test_an_inconsistent_state_is_refused_where_states_are_checked() -> None:
    s = slider_crank()
    request = s._engine.resolved(s._engine.request("forward_dynamics"))
    checked = dataclasses.replace(request, check=True)
    q = crank_at(s, 0.5) + 1e-3
    with pytest.raises(wt.StateError, match="open"):
        s._engine.loops.fallback.answer(checked, {"q": q, "v": np.zeros(4)})
    assert np.isfinite(s._engine.loops.fallback.answer(request, {"q": q, "v": np.zeros(4)})).all()
