"""The IFToMM problems, from their files, over their full spans, against solutions written down here in plain NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.references import rk4
from support.sampling import deep
from whippletree.model.io import read_file

FILES = Path(__file__).parents[2] / "examples" / "iftomm"
G = 9.81
SQUEEZED = {
    "beta": 15.81077119629904,
    "theta": -15.75637105984298,
    "gamma": 0.04082224013073101,
    "phi": -0.5347301163226948,
    "delta": 0.5244099658805304,
    "omega": 0.5347301163226948,
    "epsilon": 1.048080741042263,
}
"""Andrews' mechanism at t = 0.03 s: the reference solution of the test set for initial value problems (Bari, CWI)."""


def run_of(name: str, **settings: object):
    return read_file(FILES / f"{name}.yaml").simulate(**settings)


def assert_trusted(run, *, conserved: bool = True) -> None:
    certificate = run.certificate
    assert certificate.ok, certificate
    assert certificate.closure_residual < 1e-10
    if conserved:
        assert certificate.energy_drift < 1e-9 * max(abs(certificate.energy_start), certificate["energy_scale"])


def test_pendulum() -> None:
    run = run_of("pendulum")
    assert run.t[-1] == 10
    assert_trusted(run)
    end = rk4(lambda x: np.array([x[1], -G * np.cos(x[0])]), np.zeros(2), 10.0, 20_000)
    assert run["pivot"][-1] == pytest.approx(end[0], abs=1e-9)


@pytest.mark.parametrize("n", [2, *deep([10, 40])])
def test_four_bars(n: int) -> None:
    run = run_of(f"n_four_bar_{n}")
    assert run.t[-1] == 10
    assert_trusted(run)
    a = G * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    end = rk4(lambda x: np.array([x[1], a * np.sin(x[0])]), np.array([0.0, 1.0]), 10.0, 20_000)
    assert np.pi / 2 - run["A0"][-1] == pytest.approx(end[0], abs=3e-10)
    assert end[0] > 8 * np.pi  # more than four turns
    assert len(run.certificate.singular) == 10  # and each time twice through a flat position
    assert np.abs(run[f"A{n}"] - run["A0"]).max() < 1e-11  # on the branch where all rockers are parallel


def test_squeezer() -> None:
    run = run_of("squeezer")
    assert run.t[-1] == pytest.approx(0.05)
    assert_trusted(run)
    # the torque is constant, so that its work is told by the angle of the crank alone
    turned = run["beta"][-1] - run["beta"][0]
    assert run.certificate.work_in == pytest.approx(0.033 * turned, rel=1e-9)
    k = int(np.argmin(np.abs(run.t - 0.03)))
    for name, angle in SQUEEZED.items():
        assert run[name][k] == pytest.approx(angle, abs=1e-6), name


def test_bricard_swings_for_ten_seconds() -> None:
    run = run_of("bricard")
    assert run.t[-1] == 10
    assert_trusted(run)
    coarse, fine = (bricard_by_quadrature(1.4, points) for points in (201, 401))
    moment = (4 * fine - coarse) / 3
    assert run.resample([moment])["R1"][0] == pytest.approx(1.4, abs=2e-7)


@pytest.mark.parametrize(("case", "duration", "steps"), [("soft", 3.0, 6_000), ("stiff", 0.5, 10_000)])
def test_governor(case: str, duration: float, steps: int) -> None:
    run = run_of(f"governor_{case}")
    assert run.t[-1] == 10
    assert_trusted(run, conserved=False)
    assert run.certificate.work_dissipated > 0
    spin, height, hinge = governor(*((4e3, 2e2) if case == "soft" else (8e5, 4e4)), duration, steps)
    k = int(np.argmin(np.abs(run.t - duration)))
    assert run["height"][k] == pytest.approx(height, abs=1e-6)
    assert run["hinge 1"][k] == pytest.approx(hinge, abs=1e-6)
    assert run["hinge 2"][k] == pytest.approx(hinge, abs=1e-6)
    assert run["spin"][k] == pytest.approx(spin, abs=1e-5)


# ---------------------------------------------------------------------- solutions of their own


def governor(stiffness: float, damping: float, duration: float, steps: int) -> tuple[float, float, float]:
    """Spin angle, slider's height and angle of the rods below the horizontal, after Lagrange."""
    shaft, slider, rod, ball = 3000 * 1e-4, 3000 * 1e-3, 3000 * 1e-4, 5.0
    along, across = rod * 2e-4 / 12, rod * (1 + 1e-4) / 12
    fixed = shaft * 2e-4 / 12 + slider * 2e-2 / 12
    hinge = across + rod * 0.25 + ball  # of one rod about its hinge

    def spin_inertia(alpha):
        return fixed + 2 * (
            along * np.sin(alpha) ** 2
            + across * np.cos(alpha) ** 2
            + rod * (0.05 + 0.5 * np.cos(alpha)) ** 2
            + ball * (0.05 + np.cos(alpha)) ** 2
        )

    momentum = spin_inertia(np.pi / 6) * 2 * np.pi

    def rates(x):
        _, z, alpha, zdot, adot = x
        s, c = np.sin(alpha), np.cos(alpha)
        J = spin_inertia(alpha)
        dJ = 2 * (2 * (along - across) * s * c - rod * (0.05 + 0.5 * c) * s - 2 * ball * (0.05 + c) * s)
        omega = momentum / J
        way = np.array([0.5 * c, 1 - 0.5 * s - z])  # from the slider's end to the rod's middle
        length = np.hypot(*way)
        rate = (way @ np.array([-0.5 * s * adot, -0.5 * c * adot - zdot])) / length
        pull = stiffness * (length - 0.5) + damping * rate
        zdd = 2 * pull * way[1] / length / slider - G
        on_rod = -pull * (way @ np.array([-0.5 * s, -0.5 * c])) / length
        add = (0.5 * omega**2 * dJ / 2 + on_rod + G * c * (rod * 0.5 + ball)) / hinge
        return np.array([omega, zdot, adot, zdd, add])

    x = rk4(rates, np.array([0.0, 0.5, np.pi / 6, 0.0, 0.0]), duration, steps)
    return x[0], x[1], x[2]


def bricard_by_quadrature(turn: float, points: int) -> float:
    """The time until the first hinge has turned that far, from the energy along the one motion."""
    hinges = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]

    def turned(axis, angle):
        K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K

    def placed(q):
        """The pose of each rod after the first hinges have turned: a point x of the start goes to R x + p."""
        R, p, poses = np.eye(3), np.zeros(3), []
        for hinge, axis, angle in zip(hinges, axes, q, strict=True):
            T = turned(axis, angle)
            R, p = R @ T, p + R @ (hinge - T @ hinge)
            poses.append((R, p))
        return poses

    def gap(beta, alpha):
        """With alternating angles the mechanism is closed if the sixth hinge brings back the ground."""
        R, p = placed([alpha, beta] * 3)[-1]
        return np.append((R - np.eye(3)).ravel(), p)

    def closed(alpha, beta):
        for _ in range(50):
            r = gap(beta, alpha)
            d = (gap(beta + 1e-7, alpha) - gap(beta - 1e-7, alpha)) / 2e-7
            step = -(d @ r) / (d @ d)
            beta += step
            if abs(step) < 1e-14:
                break
        assert np.abs(gap(beta, alpha)).max() < 1e-9
        return beta

    # alpha = turn * x^2 takes the root out of the start at rest
    x = np.linspace(0, 1, points)
    alpha = turn * x**2
    beta = np.zeros(points)
    for i in range(1, points):
        beta[i] = closed(alpha[i], 2 * beta[i - 1] - beta[i - 2] if i > 1 else -alpha[1])
    middles = (hinges[:-1] + hinges[1:]) / 2
    long = np.abs(hinges[1:] - hinges[:-1])
    centres, turns = np.zeros((points, 5, 3)), np.zeros((points, 5, 3, 3))
    for i in range(points):
        for k, (R, p) in enumerate(placed([alpha[i], beta[i]] * 3)[:5]):
            centres[i, k], turns[i, k] = R @ middles[k] + p, R
    potential = G * centres[:, :, 1].sum(axis=1)
    dc = np.gradient(centres, x, axis=0, edge_order=2)
    dR = np.gradient(turns, x, axis=0, edge_order=2)
    W = np.einsum("ikab,ikcb->ikac", dR, turns)
    spins = np.stack([W[..., 2, 1], W[..., 0, 2], W[..., 1, 0]], axis=-1)
    own = np.einsum("ikba,ikb->ika", turns, spins)
    thick, slender = 0.02 / 12, 1.01 / 12
    inertia = np.where(long > 0.5, thick, slender)
    kinetic = 0.5 * (dc**2).sum(axis=(1, 2)) + 0.5 * (own**2 * inertia).sum(axis=(1, 2))
    fallen = potential[0] - potential
    speed = np.sqrt(fallen[1:] / kinetic[1:])
    integrand = 1 / speed
    whole = np.concatenate([[2 * integrand[0] - integrand[1]], integrand])
    return float(np.trapezoid(whole, x))
