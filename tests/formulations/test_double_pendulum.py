"""A double pendulum, derived by hand.

Links turn about y, with lengths along x at zero angles; A = q1 and B = q1 + q2 are the angles from the
horizontal, positive downward. With k = m2 l1 c2:

    T = 1/2 (I1 + m1 c1^2 + m2 l1^2) A'^2 + 1/2 (I2 + m2 c2^2) B'^2 + k A' B' cos q2
    V = -g ((m1 c1 + m2 l1) sin A + m2 c2 sin B)
"""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.measures import evaluated

G = 9.81
GRAVITY = np.array([0.0, 0.0, -G])
M1, M2, L1, C1, C2, I1, I2 = 1.3, 0.7, 0.8, 0.35, 0.25, 0.11, 0.05
K = M2 * L1 * C2


def mechanism() -> wt.Mechanism:
    m = wt.Mechanism("double pendulum", gravity=GRAVITY)
    upper = m.body("upper", mass=M1, com=(C1, 0, 0), inertia=np.diag([0.02, I1, 0.1]))
    lower = m.body("lower", mass=M2, com=(C2, 0, 0), inertia=np.diag([0.01, I2, 0.05]))
    m.revolute("shoulder", m.ground, upper, axis="y")
    m.revolute("elbow", upper, lower, at=(L1, 0, 0), axis="y")
    return m


def by_hand(q, v):
    A, B = q[0], q[0] + q[1]
    near, far, c, s = I1 + M1 * C1**2 + M2 * L1**2, I2 + M2 * C2**2, np.cos(q[1]), np.sin(q[1])
    mass = np.array([[near + far + 2 * K * c, far + K * c], [far + K * c, far]])
    velocity = np.array([-K * s * (2 * v[0] * v[1] + v[1] ** 2), K * s * v[0] ** 2])
    first, second = (M1 * C1 + M2 * L1) * np.cos(A), M2 * C2 * np.cos(B)
    return mass, velocity - G * np.array([first + second, second])


def states():
    rng = np.random.default_rng(1)
    return [(rng.uniform(-3, 3, 2), rng.uniform(-2, 2, 2), rng.uniform(-4, 4, 2)) for _ in range(5)]


@pytest.mark.parametrize("formulation", ["articulated", "composite"])
def test_accelerations(formulation: str) -> None:
    f = mechanism().build().function("forward_dynamics", formulation=formulation)
    for q, v, tau in states():
        mass, bias = by_hand(q, v)
        np.testing.assert_allclose(f(q, v, tau).full().ravel(), np.linalg.solve(mass, tau - bias), rtol=1e-13)


def test_mass_matrix_and_bias_force() -> None:
    s = mechanism().build()
    for q, v, _ in states():
        mass, bias = by_hand(q, v)
        np.testing.assert_allclose(s.mass_matrix(q), mass, rtol=1e-14)
        np.testing.assert_allclose(s.bias_force(q, v), bias, rtol=1e-13)


def test_energy() -> None:
    s = mechanism().build()
    for q, v, _ in states():
        mass, _ = by_hand(q, v)
        heights = (M1 * C1 + M2 * L1) * np.sin(q[0]) + M2 * C2 * np.sin(q[0] + q[1])
        np.testing.assert_allclose(s.energy(q, v).kinetic, 0.5 * v @ mass @ v, rtol=1e-14)
        np.testing.assert_allclose(s.energy(q, v).potential, -G * heights, rtol=1e-13)


@pytest.mark.parametrize("formulation", ["articulated", "composite"])
def test_reactions(formulation: str) -> None:
    f = mechanism().build().function("reactions", formulation=formulation)
    for q, v, tau in states():
        mass, bias = by_hand(q, v)
        a = np.linalg.solve(mass, tau - bias)
        acceleration = np.zeros(3)
        angle, rate, change = 0.0, 0.0, 0.0
        for k, length in enumerate((L1, C2)):
            angle, rate, change = angle + q[k], rate + v[k], change + a[k]
            out, across = (
                np.array([np.cos(angle), 0, -np.sin(angle)]),
                np.array([-np.sin(angle), 0, -np.cos(angle)]),
            )
            acceleration += length * (change * across - rate**2 * out)
        reaction = evaluated(f, q[None], v[None], tau[None], shape=(2, 6))[0, 1]
        np.testing.assert_allclose(reaction[3:], M2 * (acceleration - GRAVITY), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(reaction[:3], [0, tau[1], 0], rtol=1e-12, atol=1e-13)
