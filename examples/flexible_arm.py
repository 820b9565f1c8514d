"""A flexible robot arm with a controller: a move commanded plainly, and so that nothing rings after it.

A thin link with a payload turns about a vertical axis. A sampled controller makes its hub follow a command: a
trapezoid of speed. When the hub has arrived, the link goes on swinging. The linear model about rest, with the feedback
in it, tells the frequency and damping of that; the command is then split into two halves of which the second comes
half a period later, so that they cancel each other (a zero-vibration shaper, Singer and Seering 1990).
`--plot` draws the deflection of the link's tip.
"""

from __future__ import annotations

import sys

import numpy as np

import whippletree as wt

ANGLE, RISE, MOVE = 1.0, 0.15, 0.6  # rad; seconds of acceleration, and of the whole move
GAIN, DAMPING, PERIOD = 100.0, 6.0, 0.002


def describe() -> wt.Mechanism:
    """A hub, a flexible link that bends in the plane of its motion, and a payload on its tip."""
    m = wt.Mechanism("flexible arm", gravity=(0, 0, -9.81))
    thin = wt.rectangle(width=0.008, height=0.04)
    link = m.body("link", wt.beam(length=1.0, section=thin, material=wt.aluminium, modes=2, damping=0.005))
    hub = m.body("hub", wt.cylinder(radius=0.1, length=0.1, mass=5.0))
    m.revolute("motor", m.ground, hub, axis="z")
    m.fixed("clamp", hub, link)
    m.fixed("grip", "link.tip", m.body("payload", mass=0.3, inertia=(1e-4, 1e-4, 1e-4)))
    return m


def command(t: float) -> tuple[float, float]:
    """Return angle and speed of a trapezoid of speed."""
    top = ANGLE / (MOVE - RISE)
    t = min(max(t, 0.0), MOVE)
    left = MOVE - t
    if t < RISE:
        return top * t * t / (2 * RISE), top * t / RISE
    if left < RISE:
        return ANGLE - top * left * left / (2 * RISE), top * left / RISE
    return top * (t - RISE / 2), top


def swing(system: wt.System) -> tuple[float, float]:
    """Return half a period and the damping ratio of the lowest oscillation that the fed-back arm has."""
    model = system.linearize(inputs=["motor"], outputs=["motor", "motor.velocity"])
    A = model.A - model.B @ np.array([[GAIN, DAMPING]]) @ model.C
    values = np.linalg.eigvals(A)
    lowest = min(values[values.imag > 1e-6], key=abs)
    return float(np.pi / lowest.imag), float(-lowest.real / abs(lowest))


def move(system: wt.System, shaped: bool) -> wt.Trajectory:
    """Return the arm's motion under the command, shaped or not."""
    half, ratio = swing(system)
    left_over = np.exp(-ratio * np.pi / np.sqrt(1 - ratio**2))
    parts = [(0.0, 1 / (1 + left_over)), (half, left_over / (1 + left_over))] if shaped else [(0.0, 1.0)]

    def controller(t, q, v, z):
        wanted = np.sum([share * np.array(command(t - late)) for late, share in parts], axis=0)
        return {"motor": GAIN * (wanted[0] - q[0]) + DAMPING * (wanted[1] - v[0])}

    return system.simulate(1.6, every=0.01, controller=controller, period=PERIOD, tolerance=1e-6)


def main(plot: bool = False) -> dict[str, float]:
    """Return how far the tip still swings once the command has ended, in metres."""
    system, found = describe().build(), {}
    for word, shaped in (("plain", False), ("shaped", True)):
        run = move(system, shaped)
        tip = run.deformation("link").displacement[:, -1, 1]
        found[word] = float(np.abs(tip[run.t > 1.0]).max())
        print(f"{word:>6}: the hub stops at {run['motor'][-1]:.4f} rad, the tip swings by {1e3 * found[word]:.2f} mm")
        if plot:
            import matplotlib.pyplot as plt

            plt.plot(run.t, 1e3 * tip, label=word)
    if plot:
        plt.xlabel("time [s]")
        plt.ylabel("deflection of the tip [mm]")
        plt.legend()
        plt.show()
    return found


if __name__ == "__main__":
    main(plot="--plot" in sys.argv)
