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
