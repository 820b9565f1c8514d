"""One motion, whatever the formulation: the papers' looped mechanisms simulated with each of them.

The references are written down here: the five-bar of Critchley and Anderson is a slider-crank and a free slider, and
Nikravesh's four-bar on a slider is a parallelogram on a slider.
"""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.formulations import LOOPS as EVERY
from support.references import rk4

G = 9.81
D = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)


# ---------------------------------------------------------------------- five bars


def five_bar() -> wt.Mechanism:
    """Unit rods of 1 kg; q4 and q5 telescope along d, which is fixed by the loop at 45 degrees."""
    m = wt.Mechanism("five-bar", gravity=(0, -G, 0))
    bars = [m.body(f"bar {i}", wt.rod(length=1.0, mass=1.0, axis="x")) for i in range(1, 5)]
    m.revolute("q1", m.ground, bars[0], axis="z")
    m.revolute("q2", bars[0], bars[1], at=(1, 0, 0), axis="z")
    m.revolute("q3", bars[1], bars[2], at=(1, 0, 0), axis="z")
    m.prismatic("q4", bars[2], bars[3], at=(1, 0, 0), axis="x")
    on_ground = np.eye(4)
    on_ground[:3, :3] = np.stack([D, [-D[1], D[0], 0], [0, 0, 1]], axis=1) @ ALONG
    on_ground[:3, 3] = np.array([0, np.sqrt(2.0), 0]) + 2 * D
    on_bar = np.eye(4)
    on_bar[:3, :3], on_bar[:3, 3] = ALONG, (1, 0, 0)
    m.prismatic("q5", m.ground, bars[3], pose=on_ground, pose_child=on_bar)
    return m


ALONG = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""A frame whose z is the x of the bars: prismatic joints slide along z."""


def start(away: float) -> dict[str, float]:
    """The printed start with the crank turned by an angle, the height of the slider's line kept."""
    q1 = np.pi / 4 + away
    # across d, the ends of bars 1 and 2 are at sin(q1 - 45) and sin(q1 - 45) + sin(q1 + q2 - 45) = 1
    q2 = np.pi / 4 + np.pi - np.arcsin(1 - np.sin(q1 - np.pi / 4)) - q1 if away else np.pi / 2
    q3 = np.pi / 4 - q1 - q2
    return {"q1": q1, "q2": q2, "q3": q3, "q4": 0.0}


def slider_crank(away: float, duration: float) -> tuple[float, float]:
    """The angle of bar 1 from d, and the way of bar 3 along d, by one freedom in the plane.

    With psi the angle of bar 1 from d and chi that of bar 2: sin(psi) + sin(chi) = 1. At the printed start
    cos(chi) = 0, so chi is the coordinate, and psi follows.
    """
    gx, gy = -G * D[1], -G * D[0]  # gravity along d and across it

    def at(chi):
        psi = np.arcsin(1 - np.sin(chi))
        dpsi = -np.cos(chi) / np.cos(psi)  # d psi / d chi
        ddpsi = (np.sin(chi) + np.sin(psi) * dpsi**2) / np.cos(psi)
        x1, x2 = np.array([1 / 2, 1.0]), np.array([1 / 2, 1.0])
        return psi, dpsi, ddpsi, x1, x2

    def rates(x):
        chi, w = x
        psi, p, pp, _, _ = at(chi)
        s1, c1, s2, c2 = np.sin(psi), np.cos(psi), np.sin(chi), np.cos(chi)
        # velocities per unit of w, and their derivatives by chi: centres of bars 1, 2 and 3
        v = np.array([[-s1 * p / 2, c1 * p / 2], [-s1 * p - s2 / 2, c1 * p + c2 / 2], [-s1 * p - s2, 0.0]])
        a = np.array(
            [
                [(-c1 * p * p - s1 * pp) / 2, (-s1 * p * p + c1 * pp) / 2],
                [-c1 * p * p - s1 * pp - c2 / 2, -s1 * p * p + c1 * pp - s2 / 2],
                [-c1 * p * p - s1 * pp - c2, 0.0],
            ]
        )
        inertia = (v**2).sum() + (p * p + 1) / 12
        bias = (v * a).sum() + p * pp / 12
        force = v[:, 0].sum() * gx + v[:, 1].sum() * gy
        return np.array([w, (force - bias * w * w) / inertia])

    chi = np.pi - np.arcsin(1 - np.sin(away)) if away else np.pi / 2
    end = rk4(rates, np.array([chi, 0.0]), duration, 1000)
    psi = at(end[0])[0]
    return psi, np.cos(psi) + np.cos(end[0]) - np.cos(away) - np.cos(chi)


@pytest.mark.parametrize("away", [0.0, 0.1])
def test_five_bar(away: float) -> None:
    duration = 0.8
    system = five_bar().build(guess=start(away))
    assert system.mobility.mobility == 2
    psi, way = slider_crank(away, duration)
    fallen = -G * D[1] * duration**2 / 2  # bar 4 slides freely
    for formulation in EVERY:
        run = system.simulate(
            duration, every=0.1, q=system.q0, method="dop853", tolerance=1e-11, formulation=formulation
        )
        assert run["q1"][-1] - np.pi / 4 == pytest.approx(psi, abs=1e-7), formulation
        assert run["q5"][-1] - run["q5"][0] == pytest.approx(fallen, abs=1e-7), formulation
        assert run["q4"][-1] == pytest.approx(fallen - way, abs=1e-7), formulation
        assert run.certificate.closure_residual < 1e-10, formulation


# ---------------------------------------------------------------------- four bars on a slider


U = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)
POINTS = {"R2": (0.0, 0.0, 0.0), "R3": (0.0, 0.0, 2.0), "R4": (1.0, 1.0, 2.0), "R5": (1.0, 1.0, 0.0)}


def four_bar_on_a_slider() -> wt.Mechanism:
    """Nikravesh's worked example (see tests/papers), with springs from the ground to the slider and to the coupler."""
    m = wt.Mechanism("four-bar on a slider")
    cube = wt.box((0.2, 0.2, 0.2), mass=1.0)
    bodies = [m.ground, *(m.body(f"body {i}", cube) for i in range(1, 5))]
    m.prismatic("T1", bodies[0], bodies[1], axis="x")
    for i, name in enumerate(("R2", "R3", "R4"), start=1):
        m.revolute(name, bodies[i], bodies[i + 1], at=POINTS[name], at_child=POINTS[name], axis=U)
    m.revolute("R5", bodies[1], bodies[4], at=POINTS["R5"], at_child=POINTS["R5"], axis=U)
    m.spring("slider spring", m.ground, bodies[1], at=(-1, 0, 0), stiffness=20.0, free_length=0.8, damping=0.5)
    m.spring("coupler spring", m.ground, bodies[3], at=(0, 0, 3), at_child=(1, 1, 2), stiffness=30.0, free_length=1.0)
    return m


def parallelogram(duration: float) -> tuple[float, float]:
    """The slider's way and the angle of the links, by Lagrange's equations of two freedoms.

    All cubes have their centres at the origins of their frames, which lie at R2 at the start: those of bodies 1 and 2
    stay on R2, body 4's turns about R5 with the links, and body 3's moves with R3 without turning.
    """
    inertia = 0.2**2 / 6

    def turned(angle, p):
        k = U
        return p * np.cos(angle) + np.cross(k, p) * np.sin(angle) + k * (k @ p) * (1 - np.cos(angle))

    up, lever = np.array([0.0, 0.0, 2.0]), -np.array(POINTS["R5"])
    ex = np.array([1.0, 0.0, 0.0])

    def parts(angle):
        """Moves of the centres of bodies 3 and 4 relative to the slider, with first and second derivatives."""
        c3, c4 = turned(angle, up) - up, turned(angle, lever) - lever
        d3, d4 = np.cross(U, turned(angle, up)), np.cross(U, turned(angle, lever))
        return c3, c4, d3, d4, np.cross(U, d3), np.cross(U, d4)

    def rates(x):
        s, angle, sd, w = x
        c3, _, d3, d4, e3, e4 = parts(angle)
        M = np.array([[4.0, ex @ (d3 + d4)], [ex @ (d3 + d4), d3 @ d3 + d4 @ d4 + 2 * inertia]])
        gravity = np.array([0, 0, -G])
        bias = np.array([ex @ (e3 + e4), d3 @ e3 + d4 @ e4]) * w * w
        force = np.array([0.0, gravity @ (d3 + d4)])
        way = ex * s + ex  # from (-1, 0, 0) to the slider
        length = np.linalg.norm(way)
        rate = way @ ex * sd / length
        force += np.array([way @ ex / length, 0.0]) * -(20.0 * (length - 0.8) + 0.5 * rate)
        way = ex * s + c3 + np.array([1, 1, 2]) - np.array([0, 0, 3])
        length = np.linalg.norm(way)
        force += np.array([way @ ex, way @ d3]) / length * -(30.0 * (length - 1.0))
        return np.concatenate([[sd, w], np.linalg.solve(M, force - bias)])

    end = rk4(rates, np.zeros(4), duration, 1000)
    return end[0], end[1]


def test_four_bar_on_a_slider() -> None:
    duration = 1.0
    system = four_bar_on_a_slider().build()
    way, angle = parallelogram(duration)
    assert abs(angle) > 0.3
    for formulation in EVERY:
        run = system.simulate(duration, every=0.1, method="dop853", tolerance=1e-11, formulation=formulation)
        assert run["T1"][-1] == pytest.approx(way, abs=1e-7), formulation
        assert run["R2"][-1] == pytest.approx(angle, abs=1e-7), formulation
        assert run.certificate.closure_residual < 1e-10, formulation
        assert run.certificate.ok, formulation
