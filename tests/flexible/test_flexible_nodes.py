"""Nodes of flexible bodies: forces on each of them, where they are, how they move, and the same body in two frames."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.flexible_assembly import exponential
from support.flexible_models import traced
from support.sampling import deep
from whippletree.kinematics import station_jacobians, station_poses

STRIP = wt.rectangle(width=0.02, height=0.03)


def test_forces_on_every_node_balance() -> None:
    """A beam of lumped nodes that swings with a mass on its tip: on each node, inertia, weight, elastic force and the
    forces of joints are in balance, to rounding. Nothing is shared with the recursion but accelerations and reactions.
    """
    g = np.array([0.3, -0.2, -9.81])
    m = wt.Mechanism("nodes", gravity=g)
    link = wt.beam(
        length=1.0, section=STRIP, material=wt.steel, elements=2, modes="nodal", mass="lumped", stiffening=False,
        interfaces={"mid": 0.5},
    )  # fmt: skip
    m.revolute("A", m.ground, m.body("link", link), axis="y")
    m.spherical("B", "link.tip", m.body("bob", wt.box((0.1, 0.2, 0.3), mass=3.0)), at_child=(0.05, 0, 0.1))
    s = m.build()
    rng = np.random.default_rng(0)
    q, v = s.random(0), rng.normal(size=s.nv)
    eta, rate = q[s.q_slice("link")], v[s.v_slice("link")]
    a = traced(s, "forward_dynamics", q=q, v=v)
    joints = dict(zip(s.joint_names, traced(s, "reactions", q=q, v=v).reshape(-1, 6), strict=True))
    B = traced(s, "pose", frame="link", q=q).reshape(4, 4)[:3, :3]
    elastic = (link.arrays.array("stiffness") @ eta).reshape(2, 2, 3)  # nodes, [translation, rotation]
    area, length = STRIP.area, 0.5
    mass = wt.steel.density * area * length * np.array([0.5, 1.0, 0.5])
    scale = np.abs(elastic).max()
    for node, name in ((1, "link.mid"), (2, "link.tip")):
        whole = traced(s, "acceleration", frame=name, q=q, v=v, a=a)
        w = traced(s, "velocity", frame=name, q=q, v=v)[:3]
        R = traced(s, "pose", frame=name, q=q).reshape(4, 4)[:3, :3]
        force = mass[node] * (whole[3:] - g) + B @ elastic[node - 1, 0]
        inertia = R @ _inertia(link, node) @ R.T
        _, T = exponential(eta.reshape(2, 2, 3)[node - 1, 1])
        moment = T.T @ B.T @ (inertia @ whole[:3] + np.cross(w, inertia @ w)) + elastic[node - 1, 1]
        if name == "link.tip":  # a ball transmits no moment at its centre, which is the tip
            force += joints["B"][3:]
        assert np.abs(force).max() < 1e-11 * scale, name
        assert np.abs(moment).max() < 1e-11 * scale, name
    root = mass[0] * (traced(s, "acceleration", frame="link", q=q, v=v, a=a)[3:] - g)
    root -= B @ elastic[:, 0].sum(axis=0)  # the root's elastic force is against that of all others
    assert np.abs(root - joints["A"][3:]).max() < 1e-11 * scale
    assert np.abs(rate).max() > 0.1


def _inertia(link: wt.FlexibleBody, node: int) -> np.ndarray:
    found = [link.arrays.array(f"node {k} inertia") for k in range(3)]
    assert np.allclose(found[0] * 2, found[1])
    return found[node]


@pytest.mark.parametrize("stiffening", [*deep([False, True])])
def test_complete_bases_in_two_frames_move_alike(stiffening: bool) -> None:
    """Linear strain is not the same in frames that are turned against each other: the difference of a complete
    cantilever and a complete free-free basis, over the motion, falls with the amplitude; with second-order
    displacements, with its square.
    """
    found = []
    for reference in ("cantilever", "free"):
        m = wt.Mechanism("rod", gravity=(0, 0, 0))
        kind = wt.beam(
            length=1.0, section=STRIP, material=wt.steel, elements=1, modes="all", reference=reference,
            stiffening=stiffening,
        )  # fmt: skip
        m.free("float", m.ground, m.body("rod", kind))
        m.load("push", "rod.tip", force=(0, 0, 1000.0 * m.parameter("amplitude", 1.0)))
        s = m.build()
        runs = [s.simulate(0.004, every=0.001, parameters={"amplitude": k}, tolerance=1e-13) for k in AMPLITUDES]
        found.append([run.pose(end)[-1, :3, 3] for run in runs for end in ("rod.tip", "rod.root")])
    one, other = (np.reshape(each, (len(AMPLITUDES), 6)) for each in found)
    moved = np.abs(one - [1, 0, 0, 0, 0, 0]).max(axis=1)
    share = np.abs(one - other).max(axis=1) / moved
    assert 1e-5 < share[0] < 1e-3
    slopes = np.log10(share[:-1] / share[1:])
    np.testing.assert_allclose(slopes, 2 if stiffening else 1, atol=0.05)


AMPLITUDES = (1.0, 0.1, 0.01, 0.001)


@pytest.mark.parametrize("stiffening", [True, *deep([False])])
def test_stations_move_like_interfaces_at_the_same_place(stiffening: bool) -> None:
    m = wt.Mechanism("arm")
    kind = wt.beam(
        length=1.0, section=STRIP, material=wt.steel, modes=3, interfaces={"mid": 0.5}, stiffening=stiffening
    )
    m.revolute("A", m.ground, m.body("link", kind), axis="y")
    s = m.build()
    q = np.stack([s.random(k) for k in range(2)])
    poses, jacobians = station_poses(s, q, "link"), station_jacobians(s, q, "link")
    assert poses.shape == (2, 11, 4, 4)
    assert jacobians.shape == (2, 11, 6, s.nv)
    for station, name in ((0, "link.root"), (5, "link.mid"), (10, "link.tip")):
        assert np.abs(poses[:, station] - s.pose(q, name)).max() < 1e-13
        assert np.abs(jacobians[:, station] - s.jacobian(q, name)).max() < 1e-11
    with pytest.raises(wt.ModelError, match='there is no flexible body "lin"'):
        station_poses(s, q, "lin")


def test_loops_are_closed_by_joints_before_bodies_bend() -> None:
    """A guess that does not fit is met by joints; only what joints cannot close bends a body."""
    m = wt.Mechanism("four-bar")
    for name, length in (("crank", 0.2), ("coupler", 0.6), ("rocker", 0.5)):
        m.body(name, wt.beam(length=length, section=STRIP, material=wt.steel, elements=1, modes=2))
    m.revolute("A", m.ground, "crank", axis="y")
    m.revolute("B", "crank.tip", "coupler", axis="y")
    m.revolute("C", "coupler.tip", "rocker.tip", axis="y")
    m.revolute("D", m.ground, "rocker", at=(0.6, 0, 0), axis="y")
    s = m.build(guess={"A": 0.0, "B": -1.0, "D": -1.7})
    assert np.abs(s.q0[4:]).max() == 0.0
    assert s.q0[1] == pytest.approx(-np.arccos(0.5625), abs=1e-9)
    m.drive("motor", "A", position=0.0)
    m.drive("brake", "D", position=-1.7)  # now the triangle is a little too small
    bent = m.build(guess={"B": -1.0})
    assert 1e-6 < np.abs(bent.q0[4:]).max() < 1.0
    assert np.abs(bent.closure_residual(bent.q0)).max() < 1e-10
