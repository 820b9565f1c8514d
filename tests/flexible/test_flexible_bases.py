"""Reactions of loops that stand on a flexible body, by Newton's and Euler's balance of every rigid body."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest

FORMULATIONS = ["auto", "tree_augmented", "joint_multipliers", "independent_coordinates", "coordinate_reduction"]


def loop_on_a_beam(parent: str, child: str, clamp: str = "base") -> wt.Mechanism:
    """A four-bar between two places of a beam that the ground holds at its frame, or at a frame that moves."""
    m = wt.Mechanism("loop on a beam")
    tube = wt.circle(radius=0.02)
    beam = wt.beam(length=2.0, section=tube, material=wt.steel, elements=4, modes=2, interfaces={"middle": 0.5})
    m.body("base", beam)
    m.fixed("clamp", m.ground, clamp)
    a, b, c = (m.body(n, wt.rod(length=x, mass=1.0, axis="x")) for n, x in (("a", 0.5), ("b", 1.0), ("c", 0.5)))
    m.revolute("A", parent, a, axis="y")
    m.revolute("B", a, b, at=(0.5, 0, 0), axis="y")
    m.revolute("C", b, c, at=(1.0, 0, 0), axis="y")
    m.revolute("D", child, c, at=(1.0, 0, 0) if child == parent else (0, 0, 0), at_child=(0.5, 0, 0), axis="y")
    return m


def imbalance(s: wt.System, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: dict[str, np.ndarray]) -> float:
    """What is left of the balance of each rod about its middle, over the largest force."""
    left = []
    for rod, (near, far), length in (("a", ("A", "B"), 0.5), ("b", ("B", "C"), 1.0), ("c", ("C", "D"), 0.5)):
        pose, twist, acceleration = s.pose(q, rod), s.velocity(q, v, rod), s.acceleration(q, v, a, rod)
        R, w, dw = pose[:3, :3], twist[:3], acceleration[:3]
        arm = R @ np.array([length / 2, 0, 0])
        inertia = R @ np.diag([0, 1, 1]) @ R.T * length**2 / 12
        force = acceleration[3:] + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)) - np.array([0, 0, -9.81])
        moment = inertia @ dw + np.cross(w, inertia @ w)
        ends = {"A": 0.0, "B": 0.5 if rod == "a" else 0.0, "C": 1.0 if rod == "b" else 0.0, "D": 0.5}
        for joint in (near, far):
            sign = 1 if s.description.joint(joint).child == rod else -1
            wrench = sign * wrenches[joint]
            force = force - wrench[3:]
            moment = moment - wrench[:3] - np.cross(R @ np.array([ends[joint], 0, 0]) - arm, wrench[3:])
        left += [*force, *moment]
    return float(np.abs(left).max() / max(np.abs(w[3:]).max() for w in wrenches.values()))


@pytest.mark.parametrize(
    ("parent", "child", "clamp"),
    [
        ("base.middle", "base.tip", "base"),
        *rest(
            [
                ("base", "base.middle", "base"),
                ("base.middle", "base.tip", "base.tip"),
                ("base.tip", "base.tip", "base"),
            ]
        ),
    ],
)
def test_reactions_balance_every_rod(parent: str, child: str, clamp: str) -> None:
    s = loop_on_a_beam(parent, child, clamp).build(guess={"A": -1.2, "B": 1.2})
    v = s.consistent_velocities(s.q0, np.random.default_rng(0).normal(size=s.nv))
    for formulation in FORMULATIONS:
        a = s.forward_dynamics(s.q0, v, formulation=formulation)
        found = {name: one.wrench for name, one in s.reactions(s.q0, v, formulation=formulation).items()}
        assert imbalance(s, s.q0, v, a, found) < 1e-8


def test_runs_tables_and_equilibria_have_them() -> None:
    s = loop_on_a_beam("base.middle", "base.tip").build(guess={"A": -1.2, "B": 1.2})
    run = s.simulate(0.02, every=0.01)
    at_start = s.reactions(s.q0, s.v0)["B"].force
    assert run.reactions()["B"].force[0] == pytest.approx(at_start, rel=1e-9, abs=1e-9)
    assert len(run.table("B")) == 3
    stored = run.dataset("reactions")["force"].sel(joint="B").to_numpy()
    assert stored[0] == pytest.approx(at_start, rel=1e-9, abs=1e-9)
    rest = s.equilibrium()
    weight = sum(rest.reactions[name].force[2] * sign for name, sign in (("A", 1), ("D", 1)))
    assert weight == pytest.approx(3 * 9.81, rel=1e-6)


@pytest.mark.rest
def test_reactions_change_with_efforts_by_their_derivatives() -> None:
    """Reactions are affine in efforts: differences are exact."""
    s = loop_on_a_beam("base.middle", "base.tip").build(guess={"A": -1.2, "B": 1.2})
    v = s.consistent_velocities(s.q0, np.random.default_rng(0).normal(size=s.nv))
    slopes = s.derivatives_of("reactions", s.q0, v).tau

    def wrenches(tau: np.ndarray) -> np.ndarray:
        return np.array([one.wrench for one in s.reactions(s.q0, v, tau).values()])

    for k, unit in enumerate(np.eye(s.nv)):
        assert slopes[..., k] == pytest.approx(wrenches(unit) - wrenches(0 * unit), rel=1e-6, abs=1e-7)
