"""A formulation from outside the package: declared here, registered, and then like any other.

It solves the equations of motion as they stand,

    [ M   C^T ] [   a     ]   [ tau - b ]
    [ C    0  ] [ -lambda ] = [ -gamma  ]

by a dense factorisation L D L^T, rows in the order given: without a thought of zeros, and without pivoting. Written as
two steps (`form="range"`) that is a = a_0 + M^-1 C^T lambda with A lambda = -(gamma + C a_0), A = C M^-1 C^T (Udwadia
and Kalaba). Nothing in the package knows of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.loop_agreement import accelerations, assert_close, reactions
from support.loop_models import built
from support.random_loops import case
from whippletree.formulations.closures.loop_solution import Solution, by_closure, stacked_rows
from whippletree.formulations.methods import (
    Candidacy,
    Formulation,
    LoopProblem,
    TreeMethod,
    find,
    register,
    unregister,
)
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body

NAME = "dense_multipliers"


class Dense:
    """A symmetric matrix as L D L^T."""

    def __init__(self, A: ca.SX) -> None:
        n = A.shape[0]
        self.L, self.D = ca.SX.eye(n), [ca.SX(0)] * n
        left = ca.SX(A)
        for k in range(n):
            self.D[k] = left[k, k]
            for i in range(k + 1, n):
                self.L[i, k] = left[i, k] / self.D[k]
                left[i, k + 1 :] = left[i, k + 1 :] - self.L[i, k] * left[k, k + 1 :]

    def solve(self, b: ca.SX) -> ca.SX:
        """Return A^-1 b, column by column."""
        n, x = len(self.D), ca.densify(ca.SX(b))
        for i in range(n):
            x[i, :] = x[i, :] - self.L[i, :i] @ x[:i, :] if i else x[i, :]
        for i in reversed(range(n)):
            x[i, :] = x[i, :] / self.D[i]
            if i + 1 < n:
                x[i, :] = x[i, :] - self.L[i + 1 :, i].T @ x[i + 1 :, :]
        return x


def dense(entries: dict[tuple[int, int], ca.SX], freedoms: list[int]) -> ca.SX:
    """A symmetric matrix of which one half is given."""
    M = ca.SX(len(freedoms), len(freedoms))
    for (i, j), value in entries.items():
        if i in freedoms and j in freedoms:
            M[freedoms.index(i), freedoms.index(j)] = M[freedoms.index(j), freedoms.index(i)] = value
    return M


def solve(problem: LoopProblem, form: str) -> Solution:
    walk, coordinates = problem.walk, problem.coordinates
    system = coordinates.equations(walk)
    states, rows = coordinates.closures(with_accelerations(walk, system.given_accelerations()), problem.closure_set)
    freedoms = [i for i in system.right if i not in system.given]
    M, right = dense(system.mass, freedoms), ca.vertcat(*(system.right[i] for i in freedoms))
    C = ca.SX(len(rows), len(freedoms))
    for r, row in enumerate(rows):
        for j, value in row.items():
            if j not in system.given:
                C[r, freedoms.index(j)] = value
    gamma = ca.vertcat(*stacked_rows(states, "second"))
    if form == "whole":
        factors = Dense(ca.blockcat([[M, C.T], [C, ca.SX(len(rows), len(rows))]]))
        x = factors.solve(ca.vertcat(right, -gamma))
        a, multipliers, pivots = x[: len(freedoms)], -x[len(freedoms) :], factors.D[len(freedoms) :]
    else:
        mass = Dense(M)
        free, turned = mass.solve(right), mass.solve(C.T)
        factors = Dense(C @ turned)
        multipliers = -factors.solve(gamma + C @ free)
        a, pivots = free + turned @ multipliers, factors.D
    found = system.complete({i: a[k] for k, i in enumerate(freedoms)})
    values = [multipliers[r] for r in range(len(rows))]
    return Solution(found, lambda: by_closure(values, states), tuple(pivots))


def of_tree(walk: Unrolled) -> ca.SX:
    system = composite_body.equations(walk)
    freedoms = [i for i in system.right if i not in system.given]
    a = Dense(dense(system.mass, freedoms)).solve(ca.vertcat(*(system.right[i] for i in freedoms)))
    return system.complete({i: a[k] for k, i in enumerate(freedoms)})


def declared(form: str, weight: float = 1.0) -> Formulation:
    """The declaration: this is all there is to it."""
    return Formulation(
        NAME,
        options={"form": form},
        tree=TreeMethod(of_tree),
        solve=lambda problem: solve(problem, form),
        inverts_mass=True,
        candidacy=Candidacy(order=100, weight=weight) if form == "whole" else None,
    )


@pytest.fixture
def registered(request: pytest.FixtureRequest) -> Iterator[str]:
    """Register both forms for a test; its parameter is what an operation weighs."""
    both = [register(declared(form, getattr(request, "param", 1.0))) for form in ("whole", "range")]
    yield NAME
    for one in both:
        unregister(one)


def crank(prescribed: bool = False) -> wt.System:
    """A four-bar in space, its crank driven if wanted, with a branch that hangs on the coupler."""
    m = wt.Mechanism("four-bar with a branch")
    names = {"crank": 0.4, "coupler": 1.0, "rocker": 0.9, "branch": 0.3}
    bars = {
        name: m.body(name, wt.box(size=(length, 0.1, 0.05), mass=1.0 + length, at=(length / 2, 0, 0)))
        for name, length in names.items()
    }
    m.revolute("A", m.ground, bars["crank"], prescribed=prescribed)
    m.revolute("B", bars["crank"], bars["coupler"], at=(0.4, 0, 0))
    m.universal("E", bars["coupler"], bars["branch"], at=(0.5, 0, 0))
    m.revolute("D", m.ground, bars["rocker"], at=(1.2, 0, 0))
    m.spherical("C", bars["coupler"], bars["rocker"], at=(1.0, 0, 0), at_child=(0.9, 0, 0))
    return m.build(guess={"A": 1.0, "B": -0.5, "D": 1.4})


def state(s: wt.System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return s.q0, s.consistent_velocities(s.q0, rng.normal(size=s.nv)), rng.normal(size=s.nv)


@pytest.mark.parametrize(("family", "i"), [("one loop", 2), ("cut joints", 3)])
def test_it_agrees_with_the_others(registered: str, family: str, i: int) -> None:
    """The check that all formulations have to pass finds it in the registry."""
    c = case(family, i)
    s = built(c.looped)
    found = {**accelerations(s, c), **reactions(s, c)}
    for form in ("whole", "range"):
        assert f"accelerations, {NAME}/{form}" in found
    assert f"balance of bodies, {NAME}" in found
    assert_close(found)


def test_all_that_is_asked_of_a_formulation(registered: str) -> None:
    s = crank(prescribed=True)
    x, a = state(s), np.zeros(s.nv)
    a[0] = 0.7
    for form in ("whole", "range"):
        for call in (s.forward_dynamics, s.driving_forces):
            expected = call(*x, a=a, formulation="tree_augmented")
            assert call(*x, a=a, formulation=NAME, form=form) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        expected, got = s.reactions(*x, a=a), s.reactions(*x, a=a, formulation=NAME, form=form)
        for joint in expected:
            assert got[joint].wrench == pytest.approx(expected[joint].wrench, rel=1e-8, abs=1e-8)


def test_it_is_simulated(registered: str) -> None:
    s = crank()
    runs = [s.simulate(0.5, every=0.1, tolerance=1e-9, formulation=name) for name in (NAME, "tree_augmented")]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-6


def test_its_options_are_checked(registered: str) -> None:
    s = crank()
    with pytest.raises(wt.StateError, match='form= must be one of "whole", "range", not \'half\''):
        s.forward_dynamics(s.q0, s.v0, formulation=NAME, form="half")
    with pytest.raises(wt.StateError, match=f'form= belongs to formulation="{NAME}"'):
        s.forward_dynamics(s.q0, s.v0, formulation="penalty", form="whole")
    with pytest.raises(wt.StateError, match=r"there is no option shape=; formulations take .*form="):
        s.forward_dynamics(s.q0, s.v0, formulation=NAME, shape="whole")
    with pytest.raises(wt.StateError, match=rf'cannot give.*"{NAME}"'):
        s.forward_dynamics(s.q0, s.v0, formulation="lagrange")
    with pytest.raises(ValueError, match=f'there is a formulation "{NAME}/whole" already'):
        register(declared("whole"))


def test_declarations_are_checked(registered: str) -> None:
    with pytest.raises(ValueError, match='numbers do not decide "luck"'):
        register(Formulation("lucky", solve=lambda problem: solve(problem, "whole"), needs=("luck",)))
    with pytest.raises(ValueError, match=f'formulations "{NAME}" must have the same options'):
        register(Formulation(NAME, options={"shape": "round"}))
    assert find("penalty").exact is False
    assert find(NAME).options == {"form": "whole"}  # the first is the default


def test_compiled_code_depends_on_where_it_is_written(registered: str) -> None:
    """Another text of this file must not find the code of this one in the cache."""
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    assert digest in crank().kernels.kernel("forward_dynamics", formulation=NAME).key


def test_unknown_without_registration() -> None:
    s = crank()
    with pytest.raises(wt.StateError, match=f'"{NAME}" cannot give'):
        s.forward_dynamics(s.q0, s.v0, formulation=NAME)


def test_a_tree_by_it(registered: str) -> None:
    m = wt.Mechanism("arm")
    body = m.ground
    for i in range(4):
        link = m.body(f"link {i}", wt.box(size=(0.2, 0.3, 0.6), mass=1.0, at=(0.1, 0, 0.3)))
        m.revolute(f"joint {i}", body, link, at=(0.1, 0.1, 0.5), axis="xyz"[i % 3], prescribed=i == 1)
        body = link
    s = m.build()
    x = tuple(np.random.default_rng(1).normal(size=(3, 4)))
    a = np.array([0.0, 0.3, 0.0, 0.0])
    for call in (s.forward_dynamics, s.driving_forces):
        assert call(*x, a=a, formulation=NAME) == pytest.approx(call(*x, a=a, formulation="articulated"), rel=1e-9)


@pytest.mark.parametrize(("registered", "wins"), [(1.0, False), (1e-3, True)], indirect=["registered"])
def test_auto_may_choose_it(registered: str, wins: bool) -> None:
    s = crank()
    assert s.chosen.counts[f"{NAME}/whole"] > min(s.chosen.counts.values())
    assert f"{NAME}/range" not in s.chosen.counts  # not a candidate
    assert (s.chosen.name == f"{NAME}/whole") is wins
    x = state(s)
    expected = s.forward_dynamics(*x, formulation="tree_augmented")
    assert s.forward_dynamics(*x) == pytest.approx(expected, rel=1e-9)
    same = np.array_equal(s.forward_dynamics(*x), s.forward_dynamics(*x, formulation=NAME))
    assert same is wins
