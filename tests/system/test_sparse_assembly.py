"""Mechanisms with many loops: what is found family by family and loop after loop is what singular values find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.sampling import deep
from whippletree.system import tolerances
from whippletree.system.elimination import eliminate
from whippletree.system.loop_families import Block


def rods(n: int, *, moving: bool) -> tuple[wt.Mechanism, dict[str, Any]]:
    """Four-bars of different sizes, in a row on the ground, or each on the coupler of the one before it."""
    m = wt.Mechanism("rods", gravity=(0.0, -9.81, 0.0))
    rng = np.random.default_rng(3)
    base: Any = m.ground
    guess: dict[str, Any] = {}
    shared, start = None, 0.0
    for i in range(n):
        size, width = rng.uniform(0.7, 1.2, 2)
        left = shared or m.body(f"left {i}", wt.rod(length=1.5, mass=size))
        right, coupler = m.body(f"right {i}", wt.rod(length=1.5, mass=1.0)), m.body(f"top {i}", wt.rod(width, mass=1.0))
        if shared is None:
            m.revolute(f"A {i}", base, left, at=(start, 0, 0))
            guess[f"A {i}"] = 1.2
        m.revolute(f"B {i}", left, coupler, at=(1.0, 0, 0))
        m.revolute(f"C {i}", coupler, right, at=(width, 0, 0), at_child=(1.0, 0, 0))
        m.revolute(f"D {i}", base, right, at=(start + width, 0, 0))
        guess |= {f"B {i}": -1.2, f"C {i}": 1.2, f"D {i}": 1.2}
        if moving:
            base = coupler
        else:
            shared, start = right, start + width
    return m, guess


@pytest.mark.parametrize("moving", [True, *deep([False])])
def test_same_as_by_singular_values(moving: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    m, guess = rods(6, moving=moving)
    dense = m.build(guess=guess)
    monkeypatch.setattr(tolerances, "MANY_LOOPS", 2)
    sparse = m.build(guess=guess)
    assert sparse._engine.loops.numbers.families is not None
    assert dense._engine.loops.numbers.families is None
    for part in ("gruebler", "mobility", "local"):
        assert getattr(sparse.mobility, part) == getattr(dense.mobility, part)
    assert len(list(sparse.mobility.redundant)) == len(dense.mobility.redundant) == 18
    assert not sparse.mobility.singular
    assert sparse.q0 == pytest.approx(dense.q0, abs=1e-9)
    v = dense.consistent_velocities(dense.q0, np.random.default_rng(0).normal(size=dense.nv))
    expected = dense.forward_dynamics(dense.q0, v, formulation="tree_augmented")
    for formulation in ("coordinate_reduction", "independent_coordinates"):
        assert sparse.forward_dynamics(dense.q0, v, formulation=formulation) == pytest.approx(expected, rel=1e-9)


def test_loops_are_closed_from_a_rough_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tolerances, "MANY_LOOPS", 2)
    m, guess = rods(6, moving=False)
    rough = {name: value + 0.1 * (-1) ** k for k, (name, value) in enumerate(guess.items())}
    s = m.build(guess=rough)
    assert np.abs(s.closure_residual(s.q0)).max() < 1e-10


def test_flattened_loops_keep_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where parallelograms lie flat, the rank is smaller than elsewhere, and elsewhere is what counts."""
    monkeypatch.setattr(tolerances, "MANY_LOOPS", 2)
    m = wt.Mechanism("flat")
    guess = {}
    rockers = [m.body(f"rocker {i}", wt.rod(1.0, mass=1.0)) for i in range(4)]
    for i, rocker in enumerate(rockers):
        m.revolute(f"foot {i}", m.ground, rocker, at=(float(i), 0, 0))
        guess[f"foot {i}"] = 0.0
    for i in range(3):
        coupler = m.body(f"coupler {i}", wt.rod(1.0, mass=1.0))
        m.revolute(f"head {i}", rockers[i], coupler, at=(1, 0, 0))
        m.revolute(f"tail {i}", coupler, rockers[i + 1], at=(1, 0, 0), at_child=(1, 0, 0))
    with pytest.warns(wt.AssemblyWarning, match="singular"):
        s = m.build(guess=guess)
    assert s.mobility.mobility == 1
    assert s.mobility.local == 4
    assert s.mobility.singular


def coupled(held: str) -> tuple[wt.Mechanism, dict[str, Any]]:
    """Four-bars in a row with lengths and masses that are parameters, and closures of all kinds between them."""
    m = wt.Mechanism("coupled", gravity=(0.0, -9.81, 0.0))
    length, reach = m.parameter("length", 1.0), m.parameter("reach", 0.4)
    rockers = [m.body(f"rocker {i}", wt.rod(1.0, mass=m.parameter(f"mass {i}", 1.0 + i))) for i in range(6)]
    guess = {f"foot {i}": 1.3 for i in range(6)}
    for i, rocker in enumerate(rockers):
        m.revolute(f"foot {i}", m.ground, rocker, at=(1.1 * i, 0, 0))
    for i in range(5):
        coupler = m.body(f"coupler {i}", wt.rod(1.1, mass=1.0))
        m.revolute(f"head {i}", rockers[i], coupler, at=(length, 0, 0))
        m.revolute(f"tail {i}", coupler, rockers[i + 1], at=(1.1, 0, 0), at_child=(length, 0, 0))
        guess |= {f"head {i}": -1.3, f"tail {i}": 1.3}
    weight = m.body("weight", wt.box((0.1, 0.1, 0.1), mass=2.0))
    m.prismatic("guide", m.ground, weight, axis="x")
    wheel = m.body("wheel", wt.cylinder(radius=0.2, length=0.1, mass=1.0))
    m.revolute("axle", weight, wheel)
    m.distance("rod", weight, rockers[0], length=m.parameter("rod", 1.5), at_child=(reach, 0, 0))
    guess["guide"] = -1.2
    rim = 0.2 * m.rate("axle") + m.rate("guide")
    m.closure("rolls", rim) if held != "position" else m.coupling("rolls", {"axle": 0.2, "guide": 1.0})
    if held == "driven":
        m.drive("motor", "foot 2", position=1.3 + 0.3 * m.time + 0.2 * m.time**2)
    return m, guess


@pytest.mark.parametrize("held", ["driven", "rolling", "position"])
def test_drives_parameters_and_written_closures_as_by_singular_values(
    held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, guess = coupled(held)
    dense = m.build(guess=guess)
    monkeypatch.setattr(tolerances, "MANY_LOOPS", 2)
    sparse = m.build(guess=guess)
    one, all_ = (s.kernels.loops.numbers for s in (sparse, dense))
    assert one.families is not None
    assert all_.families is None
    assert one.families.described is not None
    for part in ("gruebler", "mobility", "local"):
        assert getattr(sparse.mobility, part) == getattr(dense.mobility, part)
    assert len(list(sparse.mobility.redundant)) == len(dense.mobility.redundant) == 15
    assert np.abs(sparse.closure_residual(sparse.q0)).max() < 1e-9
    rng = np.random.default_rng(2)
    parameters = one.conditions().parameters * rng.uniform(0.9, 1.1, len(dense.description.parameters))
    for t in (0.0, 0.7):
        q, v = dense.q0 + rng.normal(size=dense.nq), rng.normal(size=dense.nv)
        assert np.allclose(one.residual(q, t, parameters), all_.residual(q, t, parameters), rtol=0, atol=1e-12)
        for ours, theirs in zip(one.full_rows(q, t, parameters), all_.full_rows(q, t, parameters), strict=True):
            assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
        assert np.allclose(one.tree_rows(q, t, parameters), all_.tree_rows(q, t, parameters), rtol=0, atol=1e-12)
        many = np.tile(q, (3, 1)), np.tile(v, (3, 1)), np.full(3, t), parameters
        for ours, theirs in zip(one.openings(*many), all_.openings(*many), strict=True):
            assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
    v = rng.normal(size=dense.nv)
    q = dense.q0
    velocities = dense.consistent_velocities(q, v)
    assert sparse.consistent_velocities(q, v) == pytest.approx(velocities, abs=1e-9)
    assert sparse.v0 == pytest.approx(dense.v0, abs=1e-9)
    if held == "driven":
        assert sparse.v0[sparse.v_slice("foot 2")] == pytest.approx(0.3)
    accelerations = dense.forward_dynamics(q, velocities)
    assert sparse.forward_dynamics(q, velocities) == pytest.approx(accelerations, rel=1e-8, abs=1e-8)
    assert np.abs(accelerations).max() > 0.3


def test_elimination_solves() -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 7))
    A[3] = A[0] + A[2]
    blocks = [Block(np.arange(7), A[:2]), Block(np.arange(7), A[2:])]
    found = eliminate(blocks)
    assert found.rank == np.linalg.matrix_rank(A) == 4
    taken = {j for _, j in found.pivots}
    x = found.solved({j: float(rng.normal()) for j in range(7) if j not in taken}, 7)
    assert A @ x == pytest.approx(np.zeros(5), abs=1e-12)
    right = A @ rng.normal(size=7)
    assert A @ eliminate(blocks, right).solved({}, 7) == pytest.approx(right, abs=1e-10)


def test_coordinates_asked_for_are_named() -> None:
    m, guess = rods(2, moving=True)
    s = m.build(guess=guess, dependent=["A 0", ("A 1", 0)])
    assert not {"A 0", "A 1"} & set(s.mobility.independent)
    for wrong, words in (("A 0", "must list"), (["nobody"], "no joint"), ([("A 0", 3)], "no freedom 3")):
        with pytest.raises(wt.WhippletreeError, match=words):
            m.build(guess=guess, dependent=wrong)


@pytest.mark.parametrize("cut", ["B", "C", "D"])
def test_reduction_without_mass_in_the_tree(cut: str) -> None:
    """A massless link: only dependent speeds eliminated with their rows will do."""
    m = wt.Mechanism("massless link", gravity=(0.0, -9.81, 0.0))
    crank, link = m.body("crank", wt.rod(1.0, mass=1.0)), m.body("link")
    rocker = m.body("rocker", wt.rod(1.5, mass=2.0))
    m.revolute("A", m.ground, crank)
    m.revolute("B", crank, link, at=(1, 0, 0))
    m.revolute("C", link, rocker, at=(1.8, 0, 0), at_child=(1.5, 0, 0))
    m.revolute("D", m.ground, rocker, at=(2, 0, 0))
    s = m.build(guess={"A": 1.0}, cut=[cut])
    v = s.consistent_velocities(s.q0, {"A": 0.7})
    expected = s.forward_dynamics(s.q0, v, formulation="independent_coordinates")
    assert s.forward_dynamics(s.q0, v, formulation="coordinate_reduction") == pytest.approx(expected, rel=1e-9)
