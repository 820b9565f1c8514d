"""Bricard's mechanism as a system of one freedom, in plain NumPy: the reference of its simulations.

The angles of the hinges alternate, (alpha, beta, alpha, ...), and closing the loop ties beta to alpha. From rest at
alpha = 0 the mechanism swings to alpha = pi and back. With T(alpha) the kinetic energy at unit rate and V(alpha) the
potential, T alpha'^2 = V(0) - V(alpha); and with alpha = pi (1 - cos phi) / 2 the time is the integral of an even
periodic function of phi, summed up by its Fourier series.
"""

from __future__ import annotations

import numpy as np

HINGES = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
AXES = np.eye(3)[[1, 2, 0, 1, 2, 0]]
THICK, SLENDER = 0.02 / 12, 1.01 / 12
G = 9.81
POINTS = 256


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    K = np.cross(np.eye(3), -axis).T
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def _placed(alpha: float, beta: float) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Rotations of the rods and the ground copy, where the hinges are, and their axes."""
    R, p, rotations, points, axes = np.eye(3), np.zeros(3), [], [], []
    for hinge, axis, angle in zip(HINGES, AXES, [alpha, beta] * 3, strict=True):
        points.append(R @ hinge + p)
        axes.append(R @ axis)
        T = _turn(axis, angle)
        R, p = R @ T, p + R @ (hinge - T @ hinge)
        rotations.append(R)
    points.append(p)  # where the ground's origin has come to
    return rotations, points, axes


def _gap(alpha: float, beta: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The motion of the ground's copy, and its rates by alpha and beta: turns and shifts."""
    rotations, points, axes = _placed(alpha, beta)
    R, p = rotations[-1], points[-1]
    gap = np.concatenate([np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2, p])
    rates = np.array([np.concatenate([a, np.cross(a, p - x)]) for a, x in zip(axes, points[:-1], strict=True)])
    return gap, rates[::2].sum(axis=0), rates[1::2].sum(axis=0)


def _beta(alpha: float, guess: float) -> float:
    beta = guess
    for _ in range(30):
        gap, _, by_beta = _gap(alpha, beta)
        step = -(by_beta @ gap) / (by_beta @ by_beta)
        beta += step
        if abs(step) < 1e-15:
            break
    if np.abs(_gap(alpha, beta)[0]).max() > 1e-12:
        raise SystemExit("the reference of Bricard's mechanism does not close")
    return beta


def _energies(alpha: float, beta: float) -> tuple[float, float]:
    """Kinetic energy at unit rate of alpha, and potential."""
    _, by_alpha, by_beta = _gap(alpha, beta)
    slope = -(by_beta @ by_alpha) / (by_beta @ by_beta)
    rotations, points, axes = _placed(alpha, beta)
    kinetic = potential = 0.0
    for k in range(5):
        along = HINGES[k + 1] - HINGES[k]
        centre = points[k] + rotations[k] @ along / 2
        spin, speed = np.zeros(3), np.zeros(3)
        for axis, point, rate in zip(axes[: k + 1], points, [1.0, slope] * 3, strict=False):
            spin += rate * axis
            speed += rate * np.cross(axis, centre - point)
        own = rotations[k].T @ spin
        inertia = np.where(np.abs(along) > 0.5, THICK, SLENDER)
        kinetic += (speed @ speed + own**2 @ inertia) / 2
        potential += G * centre[1]
    return kinetic, potential


def angles_at(times: np.ndarray) -> np.ndarray:
    """The first hinge's angle at some times after the release.

    >>> bool(abs(angles_at(np.array([1.2]))[0] - 1.4642) < 1e-4)
    True
    """
    phi = (np.arange(POINTS) + 0.5) * np.pi / POINTS
    alpha = np.pi * (1 - np.cos(phi)) / 2
    start = _energies(0.0, 0.0)[1]
    beta, rates = -alpha[0], np.zeros(POINTS)
    for i, a in enumerate(alpha):
        beta = _beta(a, beta)
        kinetic, potential = _energies(a, beta)
        rates[i] = np.sqrt(kinetic / (start - potential)) * np.pi / 2 * np.sin(phi[i])
    orders = np.arange(POINTS)
    series = 2 / POINTS * np.cos(np.outer(orders, phi)) @ rates
    series[0] /= 2
    found = np.array(times) / series[0]
    for _ in range(50):
        angle = np.outer(found, orders)
        t = series[0] * found + np.sin(angle[:, 1:]) @ (series[1:] / orders[1:])
        found = found - (t - times) / (np.cos(angle) @ series)
    return np.pi * (1 - np.cos(found)) / 2
