"""The basic closures stated by themselves: a free body that they hold moves as by the joint that holds the same."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest
from whippletree.errors import ModelError
from whippletree.model.io.reader import from_text
from whippletree.model.io.writer import to_text

AXES = {
    "about x": ("y", "z"),
    "about y": ("x", "z"),
    "about z": ("x", "y"),
    "cross": ("x", "z"),
}
HELD = {
    "fixed": ("point", "about x", "about y", "about z"),
    "revolute": ("point", "about x", "about y"),
    "spherical": ("point",),
    "universal": ("point", "cross"),
    "prismatic": ("about x", "about y", "about z", "along x", "along y"),
    "cylindrical": ("about x", "about y", "along x", "along y"),
    "planar": ("about x", "about y", "along z"),
}
WORDS = {"universal": {"axis": "x", "axis_child": "z"}}
AT, AT_CHILD = (0.1, 0.2, 0.3), (-0.3, 0.1, 0.2)


def swinging(joint: str, *, closures: bool) -> wt.Mechanism:
    """An arm on a hinge and a body on it by a joint, or free on the ground and held to the arm by closures."""
    m = wt.Mechanism(joint, gravity=(0.3, -0.5, -9.81))
    arm = m.body("arm", mass=2.0, com=(0.1, 0.0, 0.2), inertia=[0.2, 0.3, 0.4])
    body = m.body("body", mass=1.5, com=(0.05, -0.1, 0.1), inertia=[0.1, 0.15, 0.12])
    m.revolute("hinge", m.ground, arm, axis=(0.6, 0.0, 0.8))
    if not closures:
        getattr(m, joint)("J", arm, body, at=AT, at_child=AT_CHILD, **WORDS.get(joint, {}))
        return m
    m.free("F", m.ground, body)
    for part in HELD[joint]:
        if part == "point":
            m.coincident(part, arm, body, at=AT, at_child=AT_CHILD)
        elif part.startswith("along"):
            m.in_plane(part, arm, body, normal=part[-1], at=AT, at_child=AT_CHILD)
        else:
            m.perpendicular(part, arm, body, axis=AXES[part][0], axis_child=AXES[part][1])
    return m


@pytest.mark.parametrize("joint", [*list(HELD)[:2], *rest(list(HELD)[2:])])
def test_a_joint_and_the_closures_of_its_rows_move_alike(joint):
    natural, held = (swinging(joint, closures=closures).build() for closures in (False, True))
    rng = np.random.default_rng(3)
    q, v = natural.random(rng), rng.normal(size=natural.nv)
    pose, twist = natural.pose(q, "body"), natural.velocity(q, v, "body")
    start = held.assemble({"hinge": q[0], "body": pose})
    hinge, free = held.v_slice("hinge"), held.v_slice("F")
    speed = np.zeros(held.nv)
    speed[hinge] = v[0]
    speed[free] = np.concatenate([pose[:3, :3].T @ twist[:3], pose[:3, :3].T @ twist[3:]])
    speed = held.consistent_velocities(start, speed)
    assert np.abs(held.velocity(start, speed, "body") - twist).max() < 1e-9
    moved = natural.acceleration(q, v, natural.forward_dynamics(q, v), "body")
    for formulation in ("joint_multipliers", "coordinate_reduction", "absolute"):
        found = held.forward_dynamics(start, speed, formulation=formulation)
        assert np.abs(held.acceleration(start, speed, found, "body") - moved).max() < 1e-9 * (1 + np.abs(moved).max())


def test_multipliers_are_the_forces_that_the_table_says():
    """A mass on a tilted plane: the plane's force is the weight across it. A plate kept square: the gravity moment."""
    m = wt.Mechanism("plane")
    m.body("mass", wt.point_mass(2.0))
    for axis, parent, child in (("x", m.ground, m.body("a")), ("y", "a", m.body("b")), ("z", "b", "mass")):
        m.prismatic(axis, parent, child, axis=axis)
    m.in_plane("plane", m.ground, "mass", normal=(0.6, 0, 0.8), offset=0.25)
    s = m.build(guess={"x": 0.3})
    assert 0.6 * s.pose(s.q0, "mass")[0, 3] + 0.8 * s.pose(s.q0, "mass")[2, 3] == pytest.approx(0.25, abs=1e-12)
    assert s.closure_forces(s.q0, s.v0)["plane"] == pytest.approx([2.0 * 9.81 * 0.8], rel=1e-12)

    m = wt.Mechanism("plate")
    m.body("plate", mass=3.0, com=(0.5, 0, 0), inertia=[0.1, 0.1, 0.1])
    m.revolute("hinge", m.ground, "plate", axis="y")
    m.perpendicular("square", m.ground, "plate", axis="z", axis_child="x")
    s = m.build()
    # gravity turns the plate about +y with 3 * 9.81 * 0.5; the closure's moment on it is about x cross z = -y
    assert s.closure_forces(s.q0, s.v0)["square"] == pytest.approx([3.0 * 9.81 * 0.5], rel=1e-12)


def test_files_hold_the_basic_closures():
    m = swinging("cylindrical", closures=True)
    m.coincident("pin", "arm", "body", at=AT)
    assert from_text(to_text(m)).mechanism.describe() == m.describe()


def test_bad_arguments_are_named():
    m = wt.Mechanism("m")
    m.body("b")
    with pytest.raises(ModelError, match=r'closure "p".*normal'):
        m.in_plane("p", m.ground, "b", normal=(0, 0, 0))
    with pytest.raises(ModelError, match=r'closure "p".*offset'):
        m.in_plane("p", m.ground, "b", offset=float("nan"))
    with pytest.raises(ModelError, match=r'closure "c".*two different bodies'):
        m.coincident("c", "b", "b")
    with pytest.raises(ModelError, match=r'closure "a".*axis_child'):
        m.perpendicular("a", m.ground, "b", axis_child="w")
