"""Nikravesh, Gim, Arabyan and Rein, "Systematic generation of multibody equations of motion", worked example.

Body 1 slides on the ground (T1), and four parallel hinges R2 to R5 join bodies 1 to 4 to a loop, which is cut at R5.
The figure is lost, but the printed matrix determines the geometry. Its columns are (P - R_i) x u, with P the point of
R5 and u the hinges' common direction, so u is perpendicular to all of them: u = (1, -1, 0) / sqrt(2). Then
P - R_i = u x column, up to a shift along u: P - R2 = (1, 1, 0), P - R3 = (1, 1, -2), P - R4 = (0, 0, -2). The loop is
a rectangle of 2 by sqrt(2).

The paper's rows are P1 - P4 in ground axes. Ours are P4 - P1 in the axes of the joint's frame, whose z is the hinge:
with these axes as the columns of R, D*B = -R (our three shifts).
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import whippletree as wt
from whippletree.analysis.family import compare
from whippletree.analysis.models import deformable_chain

U = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)
R = np.stack([[0.0, 0.0, 1.0], np.array([-1.0, -1.0, 0.0]) / np.sqrt(2.0), U], axis=1)
POINTS = {"R2": (0.0, 0.0, 0.0), "R3": (0.0, 0.0, 2.0), "R4": (1.0, 1.0, 2.0), "R5": (1.0, 1.0, 0.0)}
JOINTS = ("T1", "R2", "R3", "R4")  # the paper's theta_1 to theta_4

PRINTED = 1.4142
DB = PRINTED * np.array([[0, 0, -1, -1], [0, 0, -1, -1], [0, -1, -1, 0]])
C = DB[[0, 2]]
E = np.array([[1, 0], [0, 1], [0, -1], [0, 1]])
DIGITS = 5e-5  # what is printed


@pytest.fixture(scope="module")
def system() -> wt.System:
    """All body frames are parallel to the ground at the given configuration, and have its origin."""
    m = wt.Mechanism("four-bar on a slider")
    bodies = [m.ground, *(m.body(f"body {i}", wt.box((0.2, 0.2, 0.2), mass=1.0)) for i in range(1, 5))]
    m.prismatic("T1", bodies[0], bodies[1], axis="x")
    for i, name in enumerate(("R2", "R3", "R4"), start=1):
        m.revolute(name, bodies[i], bodies[i + 1], at=POINTS[name], at_child=POINTS[name], axis=U)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, POINTS["R5"]
    m.revolute("R5", bodies[1], bodies[4], pose=pose, pose_child=pose)
    for body in (1, 4):
        m.frame(f"P{body}", on=bodies[body], at=POINTS["R5"])
    return m.build(cut=["R5"])


def columns(system: wt.System) -> list[int]:
    return [system.v_slice(name).start for name in JOINTS]


def test_the_geometry_follows_from_the_printed_matrix() -> None:
    for name, column in zip(("R2", "R3", "R4"), DB[:, 1:].T, strict=True):
        lever = np.array(POINTS["R5"]) - POINTS[name]
        assert np.abs(np.cross(lever, U) - column).max() < DIGITS


def test_d_times_b(system: wt.System) -> None:
    """The three rows of the points, by the closure's own rows and by Jacobians of the two points."""
    rows = dict(zip(system.closure_rows, system.closure_jacobian(system.q0), strict=True))
    shifts = np.array([rows[f'"R5": shift along {axis}'] for axis in "xyz"])
    assert np.abs(-R @ shifts[:, columns(system)] - DB).max() < DIGITS
    assert not shifts[:, system.v_slice("R5")].any()
    between = system.jacobian(system.q0, "P1") - system.jacobian(system.q0, "P4")
    assert np.abs(between[3:, columns(system)] - DB).max() < DIGITS
    # The rows of the axes vanish, because all axes are parallel.
    turns = np.array([rows[f'"R5": turn about {axis}'] for axis in "xy"])
    assert np.abs(turns).max() < 1e-15


def test_c(system: wt.System) -> None:
    """Two of the five rows are independent, and they allow what the paper's C allows."""
    ours = system.closure_jacobian(system.q0)[:, columns(system)]
    rows = [k for k, name in enumerate(system.closure_rows) if "turn about z" not in name]  # which defines R5's angle
    assert len(rows) == 5
    assert np.linalg.matrix_rank(ours[rows], tol=1e-10) == 2
    assert len(system.mobility.redundant) == 3
    assert system.mobility.mobility == 2
    motions = np.linalg.svd(C)[2][2:].T
    assert np.abs(ours[rows] @ motions).max() < DIGITS
    kept = -R @ ours[[system.closure_rows.index(f'"R5": shift along {axis}') for axis in "xyz"]]
    assert np.abs(kept[[0, 2]] - C).max() < DIGITS
    assert np.abs(kept[0] - kept[1]).max() < 1e-15


def test_e(system: wt.System) -> None:
    """With theta_1 and theta_2 independent; any other choice spans the same."""
    basis = system.kernels.closures.motion_basis(system.q0)[columns(system)]
    assert np.abs(basis @ np.linalg.inv(basis[:2]) - E).max() < 1e-14
    c1, c2, c3, c4, c5, c6 = C[:, 1:].ravel()
    e1, e2 = (c3 * c4 - c1 * c6) / (c2 * c6 - c3 * c5), (c1 * c5 - c2 * c4) / (c2 * c6 - c3 * c5)
    assert np.allclose([e1, e2], E[2:, 1])


def test_accelerations_follow_e(system: wt.System) -> None:
    """Accelerations from rest are in the span of E, and gravity along T1 moves the whole."""
    a = system.forward_dynamics(system.q0, system.v0, system.velocities({"T1": 1.0, "R2": 0.5}))
    theta = a[columns(system)]
    assert np.abs(theta - E @ theta[:2]).max() < 1e-12
    assert np.abs(theta).max() > 0.1


def test_recursion_pays_sooner_with_deformable_bodies() -> None:
    """Section 6: five bodies with one mode each are enough, two with four; rigid ones must be nine."""
    sizes = {1: (4, 5), 4: (1, 2)}
    for modes, chosen in sizes.items():
        curves = compare(partial(deformable_chain, modes=modes), chosen, "articulated", "composite")
        assert curves.break_even == chosen[-1]
