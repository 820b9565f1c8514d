"""Runs whose loops Baumgarte's terms hold: against the same equations in plain NumPy, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.simulate import Simulation
from whippletree.system.example_systems import four_bar, pendulum

Array = np.ndarray

LENGTHS, MASSES, G = np.array([1.0, 2.0, 1.5]), np.array([1.0, 2.0, 1.5]), 9.81


def rates(y: Array, alpha: float, beta: float) -> Array:
    """The four-bar cut at C with multipliers and Baumgarte's terms: y = [angles of A, B, D; rates].

    Angles of the bars about y are a = A, b = A + B and d = D; a bar along x points along (cos, -sin) in x and z.
    """
    T = np.array([[1.0, 0, 0], [1, 1, 0], [0, 0, 1]])  # bars' angles from joint angles
    angle, rate = T @ y[:3], T @ y[3:]
    e = np.array([np.cos(angle), -np.sin(angle)])  # (2, 3)
    n = np.array([-np.sin(angle), -np.cos(angle)])  # its derivative
    L, m = LENGTHS, MASSES
    # centres of mass on the bars' rates: the coupler hangs on the crank
    J = np.zeros((3, 2, 3))
    J[0, :, 0], J[1, :, 0], J[1, :, 1], J[2, :, 2] = (
        n[:, 0] * L[0] / 2,
        n[:, 0] * L[0],
        n[:, 1] * L[1] / 2,
        n[:, 2] * L[2] / 2,
    )
    drift = [
        -e[:, 0] * L[0] / 2 * rate[0] ** 2,
        -e[:, 0] * L[0] * rate[0] ** 2 - e[:, 1] * L[1] / 2 * rate[1] ** 2,
        -e[:, 2] * L[2] / 2 * rate[2] ** 2,
    ]
    M, f = np.diag(m * L**2 / 12), np.zeros(3)
    for k in range(3):
        M += m[k] * J[k].T @ J[k]
        f += J[k].T @ (m[k] * (np.array([0.0, -G]) - drift[k]))
    ends = np.array([L[0], L[1], -L[2]])
    phi = e @ ends - np.array([2.0, 0.0])
    C = n * ends
    gamma = -e @ (ends * rate**2) + 2 * alpha * C @ rate + beta**2 * phi
    K = np.block([[M, -C.T], [C, np.zeros((2, 2))]])
    a = np.linalg.solve(K, np.concatenate([f, -gamma]))[:3]
    return np.concatenate([y[3:], np.linalg.solve(T, a)])


def rk4(y: Array, h: float, steps: int, alpha: float, beta: float) -> Array:
    """The states at the start and at the end of every step."""
    states = [y]
    for _ in range(steps):
        k1 = rates(y, alpha, beta)
        k2 = rates(y + h / 2 * k1, alpha, beta)
        k3 = rates(y + h / 2 * k2, alpha, beta)
        k4 = rates(y + h * k3, alpha, beta)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(y)
    return np.array(states)


def gap(y: Array) -> float:
    """How far the loop is open at C, in metres."""
    angle = np.array([y[0], y[0] + y[1], y[2]])
    e = np.array([np.cos(angle), -np.sin(angle)])
    return float(np.abs(e @ np.array([1.0, 2.0, -1.5]) - np.array([2.0, 0.0])).max())


TREE = [0, 1, 3]  # A, B and D; C is cut


@pytest.mark.parametrize(
    ("formulation", "terms"),
    [
        ("joint_multipliers", (0.0, 0.0)),
        ("joint_multipliers", (4.0, 6.0)),
        ("tree_augmented", (4.0, 6.0)),
        ("fully_recursive/joint", (4.0, 6.0)),
        pytest.param("velocity_transformation/reference_point/multipliers", (4.0, 6.0), marks=pytest.mark.deep),
    ],
)
def test_the_run_is_that_of_the_stabilised_equations(formulation: str, terms: tuple[float, float]) -> None:
    s, h, steps = four_bar(), 0.02, 100
    assert [cut.use.name for cut in s.kernels.equations.attachments().cuts] == ["C"]
    run = s.simulate(h * steps, method="rk4", step=h, formulation=formulation, baumgarte=terms, every=h * steps)
    states = rk4(np.concatenate([s.q0[TREE], s.v0[TREE]]), h, steps, *terms)
    assert np.abs(run.q[-1, TREE] - states[-1, :3]).max() < 1e-11
    assert np.abs(run.v[-1, TREE] - states[-1, 3:]).max() < 1e-10
    opened = max(gap(y) for y in states)  # not empty: the start is one
    assert opened > 1e-8  # so that there is a drift to compare
    residual, length = run.certificate.closure_residual, s.kernels.loops.numbers.lengths.of_closure("C")
    assert residual * length == pytest.approx(opened, rel=0.5)  # the largest entry here, the distance there
    assert "Baumgarte" in str(run.certificate)
    assert run.certificate["closing_total"] == 0.0


def test_the_drift_has_the_order_of_the_method_and_is_held() -> None:
    s, drift = four_bar(), {}
    for terms in ((0.0, 0.0), (10.0, 10.0)):
        for h in (0.02, 0.01):
            run = s.simulate(30.0, method="rk4", step=h, formulation="joint_multipliers", baumgarte=terms)
            drift[terms, h] = run.certificate.closure_residual
    assert drift[(10.0, 10.0), 0.02] < 0.2 * drift[(0.0, 0.0), 0.02]
    order = np.log2(drift[(10.0, 10.0), 0.02] / drift[(10.0, 10.0), 0.01])
    assert 3.5 < order < 5.5


def test_the_cut_joint_s_own_angle_does_not_drift() -> None:
    """No row of the closures holds it: it has terms of its own."""
    s = four_bar()
    run = s.simulate(8.0, method="rk4", step=0.02, formulation="joint_multipliers", baumgarte=(10.0, 10.0))
    # C = D - A - B from the bars' angles
    missed = run.q[:, 2] - (run.q[:, 3] - run.q[:, 0] - run.q[:, 1])
    assert np.abs(missed - missed[0]).max() < 1e-8
    start = Simulation(
        s, method="rk4", step=0.02, formulation="joint_multipliers", baumgarte=(10.0, 10.0), checked=False
    )
    start.run_state.q[2] += 1e-3
    start.step(3.0)
    q = start.state.q
    assert abs(q[2] - (q[3] - q[0] - q[1]) - missed[0]) < 1e-8


def test_the_certificate_tells_a_drift_that_is_too_large() -> None:
    s = four_bar()
    run = s.simulate(8.0, method="rk4", step=0.1, formulation="joint_multipliers", baumgarte=(0.0, 0.0))
    assert any("closure residual" in problem for problem in run.certificate.problems)
    adaptive = s.simulate(4.0, formulation="joint_multipliers", baumgarte=(10.0, 10.0), verify=True)
    assert adaptive.certificate.ok
    assert adaptive.certificate.closure_residual > 1e-12
    plain = s.simulate(4.0)
    assert np.abs(adaptive.q - plain.q).max() < 1e-5


def test_a_checkpoint_keeps_the_terms(tmp_path: Any) -> None:
    s, options = (
        four_bar(),
        {"formulation": "joint_multipliers", "baumgarte": (10.0, 10.0), "method": "rk4", "step": 0.02},
    )
    run = s.simulate(2.0, checkpoint=tmp_path / "run.ckpt", **options)
    again = wt.resume(tmp_path / "run.ckpt")
    assert (again.q == run.q).all()
    assert again.certificate["baumgarte"] == (10.0, 10.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, 'belongs to formulation="fully_recursive"'),
        ({"formulation": "coordinate_reduction"}, "joint_multipliers"),
        ({"formulation": "penalty"}, "joint_multipliers"),
        ({"formulation": "joint_multipliers", "method": "trapezoidal", "step": 0.01}, "closes the loops in every step"),
        ({"formulation": "joint_multipliers", "baumgarte": (1.0, -1.0)}, "not negative"),
        ({"formulation": "joint_multipliers", "baumgarte": 5.0}, "alpha and beta"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        four_bar().simulate(1.0, **{"baumgarte": (1.0, 1.0), **options})


def test_a_tree_has_no_loops_to_hold() -> None:
    with pytest.raises(wt.StateError, match="there are none"):
        pendulum().simulate(1.0, baumgarte=(1.0, 1.0), formulation="articulated")
