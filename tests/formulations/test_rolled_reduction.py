"""Coordinate reduction as a loop over items: the same accelerations as in one straight line, and the exact ones."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.loop_models import built
from support.random_loops import case
from support.sampling import deep
from whippletree.system import size_policy
from whippletree.system.equations import Request

REDUCTION = "coordinate_reduction"
QUICK = (("one loop", 0), ("planar", 2), ("cut joints", 2))
DEEP = (
    ("coupled, other bases", 0),
    ("one loop", 3),
    ("coupled, one base", 1),
    ("coupled, other bases", 2),
    ("overconstrained", 1),
    ("floating", 1),
)
CASES = [*QUICK, *deep(DEEP)]


def rolled(s: wt.System) -> bool:
    return s._engine.equations.rolls(Request("forward_dynamics", REDUCTION))


@pytest.mark.parametrize(("family", "i"), CASES)
def test_same_as_unrolled(family: str, i: int, monkeypatch: pytest.MonkeyPatch) -> None:
    c = case(family, i)
    s = built(c.looped)
    expected = np.array(s.function("forward_dynamics", formulation="tree_augmented")(c.q, c.v, c.tau)).ravel()
    monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
    straight = np.array(s.function("forward_dynamics", formulation=REDUCTION)(c.q, c.v, c.tau)).ravel()
    assert straight == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    monkeypatch.setattr(size_policy, "STRAIGHT", 0)
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


@pytest.mark.parametrize("straight", [0, *deep([50_000])])
def test_many_four_bars_are_exact_and_checked(straight: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_policy, "STRAIGHT", straight)
    n = 40
    m, guess = four_bars(n)
    s = m.build(guess=guess)
    assert rolled(s) == (not straight)
    assert s.chosen.name == REDUCTION  # the others are not even traced
    q, v = s.q0, np.zeros(s.nv)
    v[: n + 1], v[n + 1 :: 2], v[n + 2 :: 2] = 2.0, -2.0, 2.0
    assert (s.bias_force(q, v)[[s.v_slice(s.plan.joint_names[cut.joint]).start for cut in s.plan.cuts]] == 0).all()
    a = s.forward_dynamics(q, v, formulation=REDUCTION)
    share = ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    exact = -9.81 * share * np.cos(1.2)
    assert a[: n + 1] == pytest.approx(np.full(n + 1, exact), rel=1e-11)
    assert a[n + 1 :: 2] == pytest.approx(np.full(n, -exact), rel=1e-11)
    with pytest.raises(wt.StateError, match="open"):
        s.forward_dynamics(q + 0.01 * np.arange(s.nv), v, formulation=REDUCTION)
    with pytest.raises(wt.StateError, match="velocities"):
        s.forward_dynamics(q, v + np.arange(s.nv), formulation=REDUCTION)


def serial_cells(n: int, angles: np.ndarray) -> tuple[wt.Mechanism, dict[str, Any]]:
    """Parallelograms, each standing on the coupler of the one before it, at these angles of their rockers."""
    m = wt.Mechanism("cells", gravity=(0, -9.81, 0))
    guess: dict[str, Any] = {}
    base: Any = m.ground
    for i in range(n):
        left, right, coupler = (m.body(f"{name} {i}", wt.rod(1.0, mass=1.0)) for name in ("left", "right", "coupler"))
        m.revolute(f"A {i}", base, left)
        m.revolute(f"D {i}", base, right, at=(1, 0, 0))
        m.revolute(f"B {i}", left, coupler, at=(1, 0, 0))
        m.revolute(f"C {i}", coupler, right, at=(1, 0, 0), at_child=(1, 0, 0))
        guess |= {f"A {i}": angles[i], f"D {i}": angles[i], f"B {i}": -angles[i], f"C {i}": angles[i]}
        base = coupler
    return m, guess


def falling_cells(angles: np.ndarray) -> np.ndarray:
    """The rockers' accelerations from rest: couplers do not turn, so that the cells are a chain of absolute angles."""
    n = len(angles)
    arms = np.vstack([np.tri(n), *[np.tri(n, k=-1) + np.eye(n) / 2] * 2])  # of couplers, left and right rockers
    M = (arms.T @ arms) * np.cos(angles[:, None] - angles) + 2 / 12 * np.eye(n)
    force = -9.81 * arms.sum(axis=0) * np.cos(angles)
    a = np.linalg.solve(M, force)
    left = force.astype(np.longdouble) - M.astype(np.longdouble) @ a
    return a + np.linalg.solve(M, left.astype(float))


@pytest.mark.rest
def test_a_thousand_cells_in_a_row() -> None:
    """What the whole chain would have stretched out says nothing about the inertia that a joint in it meets."""
    angles = np.pi / 2 - 0.9 * (-1.0) ** np.arange(1000)
    m, guess = serial_cells(1000, angles)
    s = m.build(guess=guess)
    assert not any(constants.watched for constants in s._engine.equations.node_tree().node_constants)
    a = s.forward_dynamics(s.q0, s.v0, formulation=REDUCTION)
    expected = falling_cells(angles)
    scale = np.abs(expected).max()
    for joint, sign in (("A", 1), ("D", 1), ("B", -1), ("C", 1)):
        found = a[[s.v_slice(f"{joint} {i}").start for i in range(1000)]]
        assert np.abs(sign * found - expected).max() < 1e-9 * scale, joint


@pytest.mark.rest
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


def loaded_bars() -> wt.System:
    """Two four-bars under springs, dampers and stops, on bodies and at joints, cut ones among them."""
    m, guess = four_bars(2)
    for i, (stiffness, damping) in enumerate([(50.0, 1.0), (80.0, 0.0)]):
        m.spring(
            f"spring {i}",
            m.ground,
            f"coupler {i}",
            stiffness=stiffness,
            free_length=0.3,
            damping=damping,
            at=(i, 2, 0.1),
        )
        m.torsion_spring(f"tail spring {i}", f"tail {i}", stiffness=3.0 + i, rest=0.2, damping=0.5)
    m.spring("between", "rocker 0", "coupler 1", stiffness=20.0, free_length=0.1, at=(0.5, 0, 0), at_child=(0.3, 0, 0))
    m.torsion_spring("foot spring", "foot 1", stiffness=7.0, rest=0.1)
    m.limit("stop", "head 0", lower=-1.0, upper=1.0, stiffness=100.0, damping=1.0)
    m.frame("tip", on="coupler 1", at=(0.7, 0.2, 0.1), rotation=np.eye(3)[[1, 2, 0]])
    return m.build(guess=guess)


@pytest.mark.rest
@pytest.mark.parametrize("straight", [0, 50_000])
def test_elements_and_wrenches_act_on_items(straight: int, monkeypatch: pytest.MonkeyPatch) -> None:
    s = loaded_bars()
    rng = np.random.default_rng(1)
    q, v, tau = s.q0, s.consistent_velocities(s.q0, rng.normal(size=s.nv)), rng.normal(size=s.nv)
    wrenches = {"tip": rng.normal(size=6), "rocker 2": rng.normal(size=6), "ground": rng.normal(size=6)}
    expected = s.forward_dynamics(q, v, tau, wrenches=wrenches, formulation="independent_coordinates")
    free = s.forward_dynamics(q, v, tau, formulation="independent_coordinates")
    assert np.abs(expected - free).max() > 0.1
    monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
    monkeypatch.setattr(size_policy, "STRAIGHT", straight)
    s = loaded_bars()
    assert rolled(s) == (not straight)
    assert s.forward_dynamics(q, v, tau, formulation=REDUCTION) == pytest.approx(free, rel=1e-9)
    a = s.forward_dynamics(q, v, tau, wrenches=wrenches, formulation=REDUCTION)
    assert a == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    with pytest.raises(wt.StateError, match="open"):
        s.forward_dynamics(q + 0.01 * np.arange(s.nv), v, formulation=REDUCTION)


@pytest.mark.rest
def test_elements_that_are_alike_share_their_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stiffness and place are read from the table: springs of all kinds of strength are one kind of item."""
    kinds = []
    for n in (30, 60):
        m, guess = four_bars(n)
        for i in range(n):
            m.torsion_spring(f"spring {i}", f"tail {i}", stiffness=2.0 + i, rest=0.3)
            m.spring(f"rope {i}", m.ground, f"coupler {i}", stiffness=3.0 + i, free_length=0.3, at=(i, 3, 0.5))
        s = m.build(guess=guess)
        (loop,) = s._engine.equations.roll(Request("forward_dynamics", REDUCTION)).steps
        kinds.append(len(loop.variants))  # type: ignore[union-attr]
    assert kinds[0] == kinds[1] < 60


@pytest.mark.rest
def test_written_laws_and_parameters_are_exact_in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of parallelograms is one freedom, whatever acts: against its equation of motion, written by hand."""
    monkeypatch.setattr(size_policy, "STRAIGHT", 0)
    n, at, t = 40, 1.2, 0.7
    m, guess = four_bars(n)
    k, heavy = m.parameter("k", 30.0), m.parameter("heavy", 2.0)
    for i in range(n):
        law = (k + i) * m.elongation**3 + 2.0 * m.elongation_rate
        m.spring(f"law {i}", m.ground, f"coupler {i}", law=law, at=(i, 3.0 + 0.1 * i, 0))
        m.body(f"load {i}", mass=heavy * (1 + i), com=(0, 0, 0), inertia=np.zeros((3, 3)))
        m.fixed(f"on {i}", f"coupler {i}", f"load {i}", at=(0.3, 0, 0))
        m.load(f"wind {i}", f"rocker {i}", at=(1, 0, 0), force=(ca.sin(m.time) * (1 + i), 0, 0))
    s = m.build(guess=guess)
    assert rolled(s)
    q, v = s.q0, np.zeros(s.nv)
    v[: n + 1], v[n + 1 :: 2], v[n + 2 :: 2] = 2.0, -2.0, 2.0
    arm, across = np.array([np.cos(at), np.sin(at)]), np.array([-np.sin(at), np.cos(at)])  # a rocker's end, its motion
    for values in ({}, {"k": 50.0, "heavy": 0.5}):
        stiff, mass = values.get("k", 30.0), values.get("heavy", 2.0)
        numbers = np.arange(n)
        inertia = (n + 1) / 3 + n + (mass * (1 + numbers)).sum()
        effort = -9.81 * np.cos(at) * ((n + 1) / 2 + n + (mass * (1 + numbers)).sum())
        effort += (np.sin(t) * (1 + numbers) * across[0]).sum()
        for i in numbers:
            rod = np.array([i, 0]) + arm - np.array([i, 3.0 + 0.1 * i])
            length = np.hypot(*rod)
            rate = rod @ (2.0 * across) / length
            effort -= ((stiff + i) * length**3 + 2.0 * rate) * (rod @ across) / length
        a = s.forward_dynamics(q, v, t=t, parameters=values, formulation=REDUCTION)
        assert a[: n + 1] == pytest.approx(np.full(n + 1, effort / inertia), rel=1e-9)


def test_what_would_take_many_minutes_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_policy, "MOST_TRACED", 5_000)
    m, guess = four_bars(40)
    s = m.build(guess=guess)
    for ask in (s.reactions, s.driving_forces, s.closure_forces):
        with pytest.raises(wt.StateError, match=r"81 moving bodies and 40 loops would be one straight line"):
            ask(s.q0, s.v0)
    with pytest.raises(wt.StateError, match='by "tree_augmented", which takes many minutes'):
        s.forward_dynamics(s.q0, s.v0, formulation="tree_augmented")
    with pytest.raises(wt.StateError, match="ask for that, or for a part"):
        s.simulate(0.1)
    assert np.isfinite(s.forward_dynamics(s.q0, s.v0)).all()
    m.drive("motor", "foot 0", position=1.2 + m.time)
    s = m.build(guess=guess)
    with pytest.raises(wt.StateError, match="drives and written closures"):
        s.forward_dynamics(s.q0, s.v0)


def screws(n: int) -> wt.Mechanism:
    """Loops of three links on the ground, each closed by a screw with a lead of its own."""
    m = wt.Mechanism("screws", gravity=(0.1, -9.81, 0.3))
    for i in range(n):
        a, b, c = (
            m.body(f"{name}{i}", wt.box(size=(0.5, 0.1, 0.2), mass=1.0).moved(at=(0.25, 0, 0))) for name in "abc"
        )
        m.spherical(f"A{i}", m.ground, a, at=(2.0 * i, 0, 0))
        m.universal(f"B{i}", a, b, at=(0.5, 0, 0))
        m.universal(f"C{i}", b, c, at=(0.4, 0.1, 0.2))
        m.screw(f"S{i}", c, m.ground, at=(0.3, 0, 0), at_child=(2.0 * i + 1.2, 0.1, 0.2), lead=0.1 * (1 + i), axis="y")
    return m


def test_cut_joints_hand_over_their_own_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Screws with different leads are one kind, and each has its own lead."""
    kinds = []
    for n in (2, 5):
        monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
        monkeypatch.setattr(size_policy, "STRAIGHT", 0)
        s = screws(n).build(cut=[f"S{i}" for i in range(n)])
        assert rolled(s)
        (loop,) = s._engine.equations.roll(Request("forward_dynamics", REDUCTION)).steps
        kinds.append(len(loop.variants))  # type: ignore[union-attr]
    assert kinds[0] == kinds[1]
    rng = np.random.default_rng(2)
    q = s.assemble(s.integrate(s.q0, 0.1 * rng.normal(size=s.nv)))
    v, tau = s.consistent_velocities(q, rng.normal(size=s.nv)), rng.normal(size=s.nv)
    expected = np.array(s.function("forward_dynamics", formulation="tree_augmented")(q, v, tau)).ravel()
    a = s.forward_dynamics(q, v, tau, formulation=REDUCTION)
    assert a == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
