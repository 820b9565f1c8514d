"""An axis and its opposite: the same mechanism, with coordinates, velocities and efforts of the other sign."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.sampling import sampled

KINDS: dict[str, dict[str, Any]] = {"revolute": {}, "prismatic": {}, "screw": {"lead": 0.3}, "cylindrical": {}}
AXES = {"x": "-x", "y": "-y", "z": "-z", (1.0, 2.0, -2.0): (-1.0, -2.0, 2.0)}


def arm(kind: str, axis: Any, *, closed: bool) -> wt.System:
    """Two bodies on a ball, on a spring with a damper; a bar to the ground closes a loop if there is to be one."""
    m = wt.Mechanism("arm")
    near = m.body("near", mass=1.2, com=(0.2, -0.1, 0.15), inertia=(0.05, 0.06, 0.04))
    far = m.body("far", mass=0.7, com=(-0.1, 0.2, 0.1), inertia=(0.03, 0.02, 0.025))
    m.spherical("ball", m.ground, near)
    getattr(m, kind)("J", near, far, at=(0.3, 0.1, -0.2), axis=axis, **KINDS[kind])
    m.spring("spring", m.ground, far, at=(1, 1, 1), stiffness=30.0, free_length=0.5, damping=2.0)
    if closed:
        m.distance("bar", m.ground, far, at=(0, 0, -1.0), at_child=(0.1, 0.1, 0.1))
    return m.build()


CASES = [(kind, axis, closed) for kind in KINDS for axis in AXES for closed in (False, True)]
QUICK = [("revolute", "x", True), ("screw", (1.0, 2.0, -2.0), False), ("cylindrical", "y", True)]


@pytest.mark.rest
@pytest.mark.parametrize(("kind", "axis", "closed"), sampled(CASES, QUICK.__contains__), ids=str)
def test_a_joint_along_the_opposite_axis_has_coordinates_of_the_other_sign(kind: str, axis: Any, closed: bool) -> None:
    systems = [arm(kind, one, closed=closed) for one in (axis, AXES[axis])]
    rng = np.random.default_rng(3)
    n = systems[0].nv - 3
    v, tau = systems[0].consistent_velocities(systems[0].q0, rng.normal(size=3 + n)), rng.normal(size=3 + n)
    answers = []
    for s, sign in zip(systems, (1, -1), strict=True):
        signs = np.concatenate([np.ones(3), np.full(n, sign)])
        q = s.q0 if closed else np.concatenate([[0.8, 0.0, 0.6, 0.0], sign * np.linspace(0.4, 0.7, n)])
        found = [s.pose(q, "far"), signs * s.forward_dynamics(q, signs * v, signs * tau)]
        found += [one.wrench for one in s.reactions(q, signs * v, signs * tau).values()]
        if closed and kind != "cylindrical":
            found += [np.sort_complex(s.linearize(q, signs * v, signs * tau).eigenvalues)]
        answers.append(found)
    for one, other in zip(*answers, strict=True):
        assert one == pytest.approx(other, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_shapes_along_the_opposite_axis_are_the_same(axis: Any) -> None:
    for make in (
        lambda one: wt.cylinder(radius=0.1, length=0.4, mass=2.0, axis=one, at=(1, 2, 3)),
        lambda one: wt.box((0.1, 0.2, 0.3), mass=2.0, axis=one, across=(0.0, 1.0, 1.0) if axis == (1, 2, -2) else None),
    ):
        one, other = make(axis), make(AXES[axis])
        for which in ("com", "inertia"):
            assert np.array(getattr(one, which)) == pytest.approx(np.array(getattr(other, which)), abs=1e-14)
