"""Moments about a point of the ground: accelerations do not depend on where a mechanism stands (`fully_recursive`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt

POINTS = ("origin", "centroid", "joint")


def arm(m: wt.Mechanism, on: Any, size: float, at: tuple[float, float, float] | None = None) -> None:
    """Three links on hinges and a ball, all of one size."""
    for k in range(3):
        J = np.diag([0.01, 0.08, 0.09]) * size**2
        link = m.body(f"link {k}", mass=1.0 + k, com=(0.5 * size, 0.1 * size, 0), inertia=J)
        where = at if k == 0 else (size, 0, 0)
        if k == 1:
            m.spherical("ball", on, link, at=where)
        else:
            m.revolute(f"hinge {k}", on, link, at=where, axis=("z", "", "y")[k])
        on = link


def accelerations(s: wt.System, q: np.ndarray, point: str) -> np.ndarray:
    v = np.cos(np.arange(s.nv))
    return s.forward_dynamics(q, v, formulation="fully_recursive", reference=point)


def state(s: wt.System) -> np.ndarray:
    return s.integrate(s.q0, 0.3 * np.sin(1 + np.arange(s.nv)))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("far", [1e3, 1e6])
def test_an_arm_far_from_the_origin(point: str, far: float) -> None:
    found = []
    for x in (0.0, far):
        m = wt.Mechanism("arm")
        arm(m, m.ground, 1.0, (x, -x, 0.0))
        s = m.build()
        found.append(accelerations(s, state(s), point))
    assert found[1] == pytest.approx(found[0], rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("point", POINTS)
def test_a_body_that_has_flown_far(point: str) -> None:
    """Its distance is in its coordinates."""
    m = wt.Mechanism("body with an arm")
    m.free("base", m.ground, base := m.body("base", mass=2.0, inertia=np.diag([0.2, 0.3, 0.4])))
    arm(m, base, 1.0)
    s = m.build()
    q = state(s)
    near = accelerations(s, q, point)
    q[4:7] += 1e6
    assert accelerations(s, q, point) == pytest.approx(near, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("point", POINTS)
def test_a_carriage_that_has_gone_far(point: str) -> None:
    m = wt.Mechanism("arm on a carriage")
    m.revolute("table", m.ground, table := m.body("table", mass=5.0, inertia=np.diag([1.0, 1.0, 1.0])))
    m.prismatic("slide", table, carriage := m.body("carriage", mass=2.0, inertia=0.1 * np.eye(3)), axis="x")
    arm(m, carriage, 1.0)
    s = m.build()
    q = state(s)
    q[1] = 1e5
    M, b = s.mass_matrix(q), s.bias_force(q, np.cos(np.arange(s.nv)))
    expected = np.linalg.solve(M, -b)
    found = accelerations(s, q, point)
    assert found[2:] == pytest.approx(expected[2:], rel=1e-7, abs=1e-7 * np.abs(expected[2:]).max())


@pytest.mark.parametrize("point", POINTS)
def test_a_small_arm_on_a_long_beam(point: str) -> None:
    """A beam that is held still is as good as the ground."""
    found = []
    for beam in (False, True):
        m = wt.Mechanism("arm on a beam", gravity=(0, 0, -9.81))
        base: Any = m.ground
        if beam:
            base = m.body("beam", mass=1e3, com=(50, 0, 0), inertia=np.diag([1e2, 1e6, 1e6]))
            m.revolute("shaft", m.ground, base, prescribed=True)
        arm(m, base, 1e-3, (100.0, 0.0, 0.0) if beam else None)
        s = m.build()
        own = np.sin(1 + np.arange(5))
        q = s.integrate(s.q0, np.concatenate([np.zeros(s.nv - 5), own]))
        v = np.concatenate([np.zeros(s.nv - 5), np.cos(np.arange(5))])
        found.append(s.forward_dynamics(q, v, formulation="fully_recursive", reference=point)[-5:])
    assert found[1] == pytest.approx(found[0], rel=1e-9, abs=1e-9 * np.abs(found[0]).max())


def test_a_small_arm_at_the_end_of_many_rods() -> None:
    """In a loop over many bodies, where moments about the first joint would leave nothing of the arm's inertia."""
    m = wt.Mechanism("rods")
    last = m.ground
    for k in range(60):
        rod = m.body(f"rod {k}", mass=1.0, com=(0.5, 0, 0), inertia=np.diag([1e-3, 1 / 12, 1 / 12]))
        m.revolute(f"R{k}", last, rod, at=(1, 0, 0) if k else None)
        last = rod
    arm(m, last, 1e-3, (1.0, 0.0, 0.0))
    s = m.build()
    q, v = state(s), 0.1 * np.cos(np.arange(s.nv))
    found = {p: s.forward_dynamics(q, v, formulation="fully_recursive", reference=p) for p in POINTS}
    for p in POINTS:
        assert found[p] == pytest.approx(found["joint"], rel=1e-7, abs=1e-7 * np.abs(found["joint"]).max()), p
