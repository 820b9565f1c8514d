"""Derivatives of large mechanisms: column by column and in loops over pairs, against straight lines, differences and
closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.closed_differences import central
from support.sampling import deep
from whippletree.system import size_policy
from whippletree.system.derivative_columns import derivative_columns

Array = np.ndarray


def walker() -> wt.Mechanism:
    """A free body with two legs of two joints, springs, a parameter, a state, and an effort that depends on time."""
    m, rng = wt.Mechanism("walker"), np.random.default_rng(3)
    mass = m.parameter("mass", 1.2)
    body = m.body("body", mass=8.0 * mass, com=[0.02, 0, 0.01], inertia=[0.3, 0.4, 0.5])
    m.free("base", m.ground, body)
    for i in range(2):
        upper = m.body(f"upper {i}", mass=mass, com=[0.1, 0.01, 0], inertia=[0.01, 0.02, 0.02])
        lower = m.body(f"lower {i}", mass=0.7, com=[0.12, 0, 0.01], inertia=[0.01, 0.015, 0.015])
        at = rng.uniform(-0.4, 0.4, 3).tolist()
        if i % 2:
            m.universal(f"hip {i}", body, upper, at=at)
        else:
            m.revolute(f"hip {i}", body, upper, at=at, axis=rng.normal(size=3).tolist())
        m.revolute(f"knee {i}", upper, lower, at=(0.3, 0, 0), axis="y")
        m.torsion_spring(f"tendon {i}", f"knee {i}", stiffness=20.0 + i, damping=0.3)
    m.spring("tie", "lower 0", "lower 1", at=(0.2, 0, 0), at_child=(0.2, 0, 0), stiffness=50.0, free_length=0.2)
    y = m.state("y", 0.3)
    m.state_rate("y", -y + m.coordinate("knee 0"))
    m.actuator("motor", "knee 1", effort=2.0 * y + 0.3 * m.time)
    return m


def state_of(s: wt.System, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q = s.integrate(s.q0, rng.uniform(-0.6, 0.6, s.nv))
    return q, rng.uniform(-1, 1, s.nv), rng.uniform(-3, 3, s.nv)


def assert_same(found: Any, expected: Any, tolerance: float) -> None:
    for kind, one in found.by_kind().items():
        other = expected.by_kind()[kind]
        assert one.shape == other.shape
        scale = max(np.abs(other).max(initial=0.0), 1e-3 * np.abs(expected.values).max(), 1e-3)
        assert np.abs(one - other).max(initial=0.0) <= tolerance * scale, kind


def test_pairs_in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop over pairs gives what the straight line gives, one state and many alike."""
    monkeypatch.setattr(size_policy, "MANY_PAIRS", 1)
    s = walker().build()
    assert size_policy.pairs_loop(s.kernels.equations, s.kernels.request("forward_dynamics_derivatives"))
    q, v, tau = state_of(s)
    more = {"t": 0.4, "z": [0.2], "parameters": [1.1]}
    one = s.forward_dynamics_derivatives(q, v, tau, **more)
    function = s.function("forward_dynamics_derivatives")
    given = {"q": q, "v": v, "tau": tau, **more}
    straight = np.array(function(*(given[name] for name in function.name_in()))).reshape(s.nv, -1)
    assert np.abs(one.values - straight).max() < 1e-12 * np.abs(straight).max()
    many = s.forward_dynamics_derivatives(np.stack([q] * 5), v, tau, **more)
    assert all(np.array_equal(one.values, row) for row in many.values)


def wood(seed: int) -> wt.Mechanism:
    """Two trees with joints of all sorts, a weld among them, that are not described from the ground outward."""
    m, rng = wt.Mechanism("wood"), np.random.default_rng(seed)
    kinds = ["free", "revolute", "universal", "fixed", "prismatic", "spherical", "cylindrical", "planar", "revolute"]
    bodies = [
        m.body(f"body {i}", mass=rng.uniform(0.5, 2), com=rng.uniform(-0.2, 0.2, 3), inertia=rng.uniform(0.1, 0.15, 3))
        for i in range(len(kinds))
    ]
    for i in rng.permutation(len(kinds)):
        parent = m.ground if i in (0, 5) else bodies[rng.integers(0 if i < 5 else 5, i)]
        given: dict[str, Any] = {"at": rng.uniform(-0.4, 0.4, 3)}
        if kinds[i] in ("revolute", "prismatic", "cylindrical"):
            given["axis"] = rng.normal(size=3)
        getattr(m, kinds[i])(f"joint {i}", parent, bodies[i], **given)
    return m


@pytest.mark.parametrize("seed", [0, *deep(range(1, 12))])
def test_joints_of_all_sorts_in_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops over pairs give what the straight line gives, under a wrench too, one state and many alike."""
    monkeypatch.setattr(size_policy, "MANY_PAIRS", 1)
    s = wood(seed).build()
    assert size_policy.pairs_loop(s.kernels.equations, s.kernels.request("forward_dynamics_derivatives"))
    q, v, tau = state_of(s, seed)
    function = s.function("forward_dynamics_derivatives")
    straight = np.array(function(q, v, tau)).reshape(s.nv, -1)
    one = s.forward_dynamics_derivatives(q, v, tau).values
    assert np.abs(one - straight).max() < 1e-11 * np.abs(straight).max()
    assert np.array_equal(one, s.forward_dynamics_derivatives(np.stack([q] * 3), v, tau).values[2])
    wrenches = {"body 8": [0.3, -2.0, 1.0, 4.0, 0.5, -3.0]}
    pushed = s.forward_dynamics_derivatives(q, v, tau, wrenches=wrenches)
    slopes = [central(lambda h, j=j: s.forward_dynamics(q, v + h * np.eye(s.nv)[j], tau, wrenches=wrenches), 0.02)
              for j in range(s.nv)]  # fmt: skip
    assert np.abs(pushed.v - np.stack(slopes, axis=1)).max() < 1e-8 * np.abs(pushed.v).max()
    inverse = np.linalg.inv(s.mass_matrix(q))
    assert np.abs(pushed.tau - inverse).max() < 1e-10 * np.abs(inverse).max()


def four_bar(**options: Any) -> wt.System:
    """A four-bar with springs; `drive` and `parameters` make it one whose loops are not items."""
    m = wt.Mechanism("four-bar")
    L = m.parameter("L", 2.0) if options.get("parameters") else 2.0
    crank = m.body("crank", wt.rod(length=0.6, mass=1.0, axis="x"))
    coupler = m.body("coupler", mass=2.0, com=[0.6, 0.1, 0], inertia=[0.02, 0.3, 0.3])
    rocker = m.body("rocker", wt.rod(length=1.2, mass=1.5, axis="x"))
    for name, parent, child, at, at_child in (
        ("A", m.ground, crank, (0, 0, 0), (0, 0, 0)),
        ("B", crank, coupler, (0.6, 0, 0), (0, 0, 0)),
        ("C", coupler, rocker, (1.3, 0, 0), (1.2, 0, 0)),
        ("D", m.ground, rocker, (L, 0, 0), (0, 0, 0)),
    ):
        m.revolute(name, parent, child, at=at, at_child=at_child, axis="y")
    m.torsion_spring("spring", "C", stiffness=3e6 if options.get("stiff") else 30.0, damping=0.4)
    m.spring("bar", m.ground, coupler, at=(1, 0, -1), at_child=(0.4, 0, 0.1), stiffness=60.0, free_length=0.3)
    m.spherical("swivel", coupler, m.body("weight", wt.sphere(radius=0.1, mass=0.4)), at=(0.5, 0, 0.3))
    if options.get("drive"):
        m.drive("crank drive", "A", position=0.4 + 0.7 * m.time + 0.2 * m.time**2)
    return m.build(guess={"A": 0.4, "D": -2.0}, cut=["C"])


NAMES = {"": ("acceleration", "closure_residual"), "drive": ("pose", "element_forces"), "stiff": ()}
"""Further results whose derivatives are compared, by the last thing that a four-bar has."""


@pytest.mark.parametrize("options", [{}, {"parameters": True, "drive": True}, {"stiff": True}])
def test_columns_with_loops(options: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Column by column, derivatives are what the straight line gives, whatever the loops are solved with."""
    s = four_bar(**options)
    t = {"t": 0.2} if options.get("drive") else {}
    q = s.assemble(s.q0, **t)
    v = s.consistent_velocities(q, np.random.default_rng(1).uniform(-1, 1, s.nv), **t)
    tau = np.random.default_rng(2).uniform(-3, 3, s.nv)
    frames, names = {"pose", "acceleration"}, NAMES[["", *options][-1]]

    def all_of(system: wt.System) -> list[Any]:
        found = [system.forward_dynamics_derivatives(q, v, tau, **t)]
        for name in names:
            frame = {"frame": "weight"} if name in frames else {}
            found.append(system.derivatives_of(name, q, v, tau, **frame, **t))
        return found

    expected = all_of(s)
    monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
    large = four_bar(**options)
    assert large.kernels.equations.large
    for name, one, other in zip(("forward_dynamics", *names), all_of(large), expected, strict=True):
        assert one.values.shape == other.values.shape, name
        assert_same(one, other, 1e-9)
    many = large.forward_dynamics_derivatives(np.stack([q] * 3), v, tau, **t)
    assert np.array_equal(many.values[2], large.forward_dynamics_derivatives(q, v, tau, **t).values)
    with pytest.raises(wt.StateError, match="open"):
        large.forward_dynamics_derivatives(large.integrate(q, np.full(large.nv, 0.1)), v, tau, **t)


def test_columns_of_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = walker().build()
    q, v, tau = state_of(expected)
    more = {"t": 0.4, "z": [0.2], "parameters": [1.1]}
    monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
    large = walker().build()
    assert_same(
        large.forward_dynamics_derivatives(q, v, tau, **more),
        expected.forward_dynamics_derivatives(q, v, tau, **more),
        1e-10,
    )


def chain(n: int) -> wt.System:
    """A chain of rods on hinges about y and z in turn."""
    m, last = wt.Mechanism("chain"), None
    for i in range(n):
        rod = m.body(f"rod {i}", wt.rod(length=0.2, mass=0.5, axis="x"))
        at = (0.2, 0, 0) if i else (0, 0, 0)
        m.revolute(f"hinge {i}", last or m.ground, rod, at=at, axis="yz"[i % 2])
        last = rod
    return m.build()


@pytest.mark.parametrize("n", [200])
def test_chains(n: int) -> None:
    """Some columns against differences; the efforts' derivatives undo the mass matrix."""
    s = chain(n)
    rng = np.random.default_rng(n)
    q, v, tau = rng.uniform(-0.3, 0.3, n), rng.uniform(-0.2, 0.2, n), rng.uniform(-1, 1, n)
    d = s.forward_dynamics_derivatives(q, v, tau)
    M = s.mass_matrix(q)
    assert np.abs(M @ d.tau - np.eye(n)).max() < 1e-8
    for j in (0, n // 2, n - 1):
        unit = np.eye(n)[j]
        by_q = central(lambda h, unit=unit: s.forward_dynamics(q + h * unit, v, tau), 0.004)
        by_v = central(lambda h, unit=unit: s.forward_dynamics(q, v + h * unit, tau), 0.05)
        assert np.abs(d.q[:, j] - by_q).max() < 1e-8 * np.abs(d.q).max()
        assert np.abs(d.v[:, j] - by_v).max() < 1e-8 * np.abs(d.v).max()


@pytest.mark.parametrize("n", [4, *deep([200])])
def test_many_parallelograms(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parallel cranks joined by rods: J a = -g' cos q + sum of efforts, in one coordinate, for n loops."""
    monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
    m, r, crank_mass, rod_mass = wt.Mechanism("parallelograms"), 0.5, 1.2, 0.8
    cranks = [m.body(f"crank {i}", wt.rod(length=r, mass=crank_mass, axis="x")) for i in range(n + 1)]
    guess = {}
    for i, crank in enumerate(cranks):
        m.revolute(f"A{i}", m.ground, crank, at=(1.0 * i, 0, 0), axis="y")
        guess[f"A{i}"] = 0.4
    for i in range(n):
        rod = m.body(f"rod {i}", wt.rod(length=1.0, mass=rod_mass, axis="x"))
        m.revolute(f"B{i}", cranks[i], rod, at=(r, 0, 0), axis="y")
        m.revolute(f"C{i}", rod, cranks[i + 1], at=(1.0, 0, 0), at_child=(r, 0, 0), axis="y")
        guess |= {f"B{i}": -0.4, f"C{i}": 0.4}
    s = m.build(guess=guess)
    q = s.assemble(guess)
    v = s.consistent_velocities(q, {f"A{i}": 1.1 for i in range(n + 1)} | {f"B{i}": -1.1 for i in range(n)})
    angle, along = 0.4, np.zeros(s.nv)
    for name in (*(f"A{i}" for i in range(n + 1)), *(f"C{i}" for i in range(n))):
        along[s.v_slice(name)] = 1.0
    for i in range(n):
        along[s.v_slice(f"B{i}")] = -1.0
    J = (n + 1) * crank_mass * r**2 / 3 + n * rod_mass * r**2
    weight = 9.81 * r * ((n + 1) * crank_mass / 2 + n * rod_mass)
    assert s.forward_dynamics(q, v) == pytest.approx(along * weight * np.cos(angle) / J, rel=1e-9)
    d = s.forward_dynamics_derivatives(q, v)
    (place,) = derivative_columns(s.kernels.equations).displacements
    assert np.abs(d.q[:, 0] + along * along[place] * weight * np.sin(angle) / J).max() < 1e-8 * weight / J
    assert np.abs(d.v).max() < 1e-8 * weight / J
    assert np.abs(d.tau - np.outer(along, along) / J).max() < 1e-8 / J
