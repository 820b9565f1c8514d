"""Combinations of modal coordinates for the recursion: what they are, that all formulations agree, what they save."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.flexible_models import traced
from support.ritz_beam import invariants, ritz_beam
from whippletree.elements.bodies import FlexibleBody, Interface
from whippletree.elements.bodies.elimination_basis import elimination_basis

AXES = "zyzyxyx"


def beam(modes: tuple[int, int] = (2, 2)) -> FlexibleBody:
    return ritz_beam(modes, length=0.4, stiffness=50.0, stiffening=False, thickness=0.07)


def arm(kind: FlexibleBody | None, joints: int) -> wt.System:
    """Links behind revolute joints, each at the end of the one before."""
    m = wt.Mechanism("arm")
    before: object = m.ground
    rigid = wt.cylinder(radius=0.03, length=0.4, mass=1.0, axis="x").moved(at=(0.2, 0, 0))
    for i in range(joints):
        link = m.body(f"link {i}", rigid if kind is None else kind)
        end = "tip" if kind is not None else (0.4, 0, 0)
        m.revolute(f"joint {i}", before, link, axis=AXES[i % 7], at=end if i else None)
        before = link
    return m.build()


def operations(s: wt.System) -> int:
    found = s.kernels.operations("forward_dynamics", formulation="articulated")
    return found.multiplications + found.additions


@pytest.mark.parametrize(("rows", "n"), [(2, 2), (4, 6), (6, 4), (12, 9)])
def test_interfaces_move_in_few_combinations_and_the_others_are_apart(rows: int, n: int) -> None:
    rng = np.random.default_rng(rows)
    A, L = rng.normal(size=(rows, n)), np.tril(rng.normal(size=(n, n))) + 3 * np.eye(n)
    E = L @ L.T
    B = elimination_basis(E, A)
    assert B is not None
    AB, inertia, r = A @ B, B.T @ E @ B, min(rows, n)
    units = [i for i in range(rows) if np.abs(np.sort(np.abs(AB[i])) - np.eye(n)[-1]).max() < 1e-11]
    assert len(units) == r
    np.testing.assert_allclose(AB[:, r:], 0, atol=1e-11)
    np.testing.assert_allclose(inertia[r:, r:], np.eye(n - r), atol=1e-11)
    np.testing.assert_allclose(inertia[:r, r:], 0, atol=1e-10 * np.abs(inertia).max())


def test_rows_that_hardly_differ_leave_it_well_conditioned() -> None:
    A = np.array([[1.0, 2.0, 0.5], [1.0, 2.0, 0.5 + 1e-7], [0.3, -1.0, 0.2]])
    B = elimination_basis(np.eye(3), A)
    assert B is not None
    assert np.linalg.cond(B) < 100


def with_two_interfaces() -> wt.System:
    """Bodies that carry others at two interfaces, one of which does not turn, and hold a rod at its ends."""
    rng = np.random.default_rng(0)
    x, phi = rng.normal(size=(12, 3)) * [0.1, 0.02, 0.02] + [0.2, 0, 0], rng.normal(size=(12, 3, 3))
    body = FlexibleBody.from_arrays(
        stiffness=np.diag([200.0, 300.0, 500.0]),
        inertia=invariants(np.full(12, 0.1), x, phi, np.zeros((12, 3, 3, 3))),
        interfaces={
            "tip": Interface((0.4, 0, 0), translation=rng.normal(size=(3, 3)), rotation=rng.normal(size=(3, 3))),
            "mid": Interface((0.3, 0, 0), translation=rng.normal(size=(3, 3)), rotation=rng.normal(size=(3, 3))),
            "still": Interface((0.1, 0, 0), translation=rng.normal(size=(3, 3))),
        },
        size=0.4,
    )
    m = wt.Mechanism("two interfaces", gravity=(0.3, 0.2, -9.81))
    ball = wt.sphere(radius=0.05, mass=0.4)
    base, link = m.body("base", body), m.body("link", body)
    m.revolute("A", m.ground, base, axis="y")
    m.revolute("B", "base.tip", link, axis="z")
    m.spherical("C", "base.still", m.body("ball", ball))
    m.universal("D", "link.mid", m.body("other", ball), axis="x", axis_child="y")
    m.revolute("E", "link.tip", m.body("last", ball.moved(at=(0.1, 0, 0))), axis="z")
    m.distance("F", "last", "ball")  # as long as it is in the design position, through interfaces
    return m.build()


def test_formulations_agree_on_bodies_that_carry_others_at_several_interfaces() -> None:
    s = with_two_interfaces()
    assert any(each.combinations.numel() for each in s.kernels.equations.node_tree().node_constants)
    q = s.assemble(s.random(3))
    v = s.consistent_velocities(q, np.random.default_rng(1).normal(size=s.nv))
    given = {"q": q, "v": v, "tau": np.random.default_rng(2).normal(size=s.nv)}
    wanted = traced(s, "forward_dynamics", formulation="independent_coordinates", **given)
    for formulation in ("tree_augmented", "by_group"):
        found = traced(s, "forward_dynamics", formulation=formulation, **given)
        np.testing.assert_allclose(found, wanted, atol=1e-10 * np.abs(wanted).max())


def test_accelerations_are_those_of_the_mass_matrix() -> None:
    s = arm(beam(), 2)
    q, tau = s.random(0), np.random.default_rng(0).normal(size=s.nv)
    found = traced(s, "forward_dynamics", formulation="articulated", q=q, tau=tau)
    bias = traced(s, "inverse_dynamics", q=q)
    M = traced(s, "mass_matrix", q=q).reshape(s.nv, s.nv)
    np.testing.assert_allclose(M @ found, tau - bias, atol=1e-11 * np.abs(bias).max())


def test_a_freedom_of_an_arm_costs_little_more_than_a_hinge_between_rigid_bodies() -> None:
    """The bar of `benchmarks/flexible_chains.py`, in operations: 35 freedoms beside 35 hinges."""
    assert operations(arm(beam(), 7)) <= 1.2 * operations(arm(None, 35))


def test_modes_beyond_those_of_the_interface_cost_little() -> None:
    """An arm with four more modes a link, which leave the interface at rest, takes less than half as much again."""
    assert operations(arm(beam((4, 4)), 3)) <= 1.45 * operations(arm(beam(), 3))
