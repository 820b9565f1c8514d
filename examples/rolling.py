"""Rolling and skating on a slope: closures on velocities only.

A closure may be written down as an expression that must be zero. If there is a velocity or a rate in it, it holds
velocities and leaves positions free (a non-holonomic closure). Two such things are let go on the same slope:

- a ball that rolls without slipping: the point that touches the slope is at rest. It runs down with 5/7 of what a
  sliding body would have;
- a skate with one blade, which may go along the blade and turn but not slip sideways. Started with a spin w, it
  does what few people expect: it never gets farther down than g sin(slope) / (2 w^2), and drifts across the slope
  on a cycloid. Its blade then pushes with 2 m g sin(slope) sin(w t).

The slope is level here and gravity inclined; x is downhill.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
SLOPE, RADIUS, BALL_MASS, SKATE_MASS, SPIN = 0.3, 0.3, 4.0, 1.5, 4.0


def describe() -> wt.Mechanism:
    """A ball that touches the plane and does not slip, and a skate."""
    m = wt.Mechanism("on a slope", gravity=9.81 * np.array([np.sin(SLOPE), 0, -np.cos(SLOPE)]))
    ball = m.body("ball", wt.sphere(RADIUS, mass=BALL_MASS))
    m.free("flight", m.ground, ball)
    m.closure("touch", m.position(ball)[2] - RADIUS)
    turning, motion = m.velocity(ball)[:3], m.velocity(ball)[3:]
    contact = motion + ca.cross(turning, ca.vertcat(0, 0, -RADIUS))  # the velocity of the lowest point
    m.closure("grip", contact[:2])

    skate = m.body("skate", wt.box((0.3, 0.02, 0.05), mass=SKATE_MASS))
    m.planar("ice", m.ground, skate, axis="z")
    sideways = m.rotation(skate)[:, 1]
    m.closure("blade", ca.dot(sideways, m.velocity(skate)[3:]))
    return m


def step(system: wt.System, q: Array, v: Array, h: float) -> tuple[Array, Array]:
    """Take a Runge-Kutta step, then make positions and velocities consistent again."""

    def rates(q: Array, v: Array) -> tuple[Array, Array]:
        q = system.configuration(q)
        return system.coordinate_rates(q, v), system.forward_dynamics(q, v, check=False)

    q1, v1 = rates(q, v)
    q2, v2 = rates(q + h / 2 * q1, v + h / 2 * v1)
    q3, v3 = rates(q + h / 2 * q2, v + h / 2 * v2)
    q4, v4 = rates(q + h * q3, v + h * v3)
    q = system.assemble(system.configuration(q + h / 6 * (q1 + 2 * q2 + 2 * q3 + q4)))
    return q, system.consistent_velocities(q, v + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4))


def main(seconds: float = 1.6, steps: int = 320) -> dict[str, Any]:
    """Let both go, the skate with a spin."""
    system = describe().build(guess={"flight": (1, 0, 0, 0, 0, 1, RADIUS)})
    print(system.mobility)
    q, v = system.q0, system.consistent_velocities(system.q0, {"ice": (SPIN, 0, 0)})
    h = seconds / steps
    times, states = h * np.arange(steps + 1), [(q, v)]
    for _ in range(steps):
        q, v = step(system, q, v, h)
        states.append((q, v))
    Q, V = (np.array(part) for part in zip(*states, strict=True))

    ball, skate = (system.pose(Q, name)[:, :3, 3] for name in ("ball", "skate"))
    forces = system.closure_forces(Q, V)
    energy = system.energy(Q, V).total
    print("\n time    ball x    skate x   skate y   push of the blade")
    for k in range(0, steps + 1, steps // 8):
        print(f"{times[k]:5.2f} {ball[k, 0]:9.5f} {skate[k, 0]:9.5f} {skate[k, 1]:9.5f} {forces['blade'][k, 0]:9.4f}")
    print(f"the energy changes by {np.abs(energy - energy[0]).max():.1e} J")
    grip = forces["grip"][0]
    print(f"the ball's weight on the slope {forces['touch'][0, 0]:.4f} N, grip uphill {-grip[0]:.4f} N")
    return {
        "system": system,
        "times": times,
        "ball": ball,
        "skate": skate,
        "forces": forces,
        "energy": energy,
        "Q": Q,
        "V": V,
    }


if __name__ == "__main__":
    main()
