"""A ball bounces until somebody catches it: events that record, that set velocities, and that stop a run.

The ball falls on the ground, and each bounce leaves four fifths of its speed. The tops of its flights are recorded.
After the fifth bounce it is caught at its next top: a state counts the bounces, and the event that stops the run looks
for the time at which the count has reached five and the ball does not rise any more.

Between events a flight is a parabola, so that every time is known: the ball hits the ground at sqrt(2 h / g), and flies
for 2 v / g after each bounce.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

import whippletree as wt

HEIGHT, RESTITUTION, CAUGHT = 1.0, 0.8, 5


def describe() -> wt.Mechanism:
    """Return a ball that moves up and down."""
    m = wt.Mechanism("bouncing ball")
    ball = m.body("ball", wt.sphere(radius=0.05, mass=0.2))
    m.prismatic("height", m.ground, ball, axis="z")
    count = m.state("count", 0.0)  # no rate: only events change it

    # at the ground the velocity is turned round, and the bounce is counted
    m.event(
        "bounce",
        m.coordinate("height"),
        direction="falling",
        velocities={"height": -RESTITUTION * m.rate("height")},
        states={"count": count + 1},
    )
    # tops are recorded, which does not touch the steps
    m.event("top", m.rate("height"), direction="falling")
    # falling again after the last bounce: the hand closes
    falling = ca.fmax(m.rate("height"), CAUGHT - 0.5 - count)
    m.event("caught", falling, direction="falling", stop=True)
    return m


def main() -> wt.Trajectory:
    """Drop the ball, and print what happens to it."""
    system = describe().build(guess={"height": HEIGHT})
    run = system.simulate(10.0, every=0.02, tolerance=1e-11)
    for event in run.events:
        print(f"{event.name:<7} at {event.t:.9f} s, {event.q[0]:.6f} m high, {event.v[0]:+.6f} m/s")
    lost = run.certificate.work_dissipated
    print(f"ended by {run.info['ended_by']!r} after {run.t[-1]:.6f} s; the bounces took {lost:.6f} J")
    print(run.certificate)
    return run


def exact(count: int) -> list[float]:
    """Return when the ball hits the ground, by arithmetic."""
    g = 9.81
    t, v, times = np.sqrt(2 * HEIGHT / g), np.sqrt(2 * g * HEIGHT), []
    for _ in range(count):
        times.append(float(t))
        v *= RESTITUTION
        t += 2 * v / g
    return times


if __name__ == "__main__":
    main()
