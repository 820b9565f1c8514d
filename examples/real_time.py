"""A crane's boom in real time: steps of fixed work, a controller, the pace of the clock, and the same step in C.

The boom hangs on the ground by a hinge and is lifted by a hydraulic cylinder, a loop of two more bodies. The controller
is a digital one, once a step, with the force of the cylinder as its output.
"""

from __future__ import annotations

import math
from typing import Any

import whippletree as wt


def crane() -> wt.Mechanism:
    """Return a boom on a cylinder, with a load at its tip."""
    m = wt.Mechanism("crane")
    boom = m.body("boom", wt.rod(length=4.0, mass=300.0, axis="x"))
    load = m.body("load", mass=500.0, inertia=[50.0, 50.0, 50.0])
    barrel = m.body("barrel", wt.rod(length=1.0, mass=40.0, axis="x"))
    piston = m.body("piston", wt.rod(length=1.0, mass=20.0, axis="x"))
    m.revolute("boom hinge", m.ground, boom, axis="-y")
    m.fixed("hook", boom, load, at=(4.0, 0.0, 0.0))
    m.revolute("foot", m.ground, barrel, at=(0.4, 0.0, -1.0), axis="-y")
    m.prismatic("stroke", barrel, piston, at=(0.6, 0.0, 0.0), axis="x")
    m.revolute("eye", piston, boom, at=(1.0, 0.0, 0.0), at_child=(1.5, 0.0, 0.0), axis="-y")
    return m


def main(duration: float = 0.3) -> dict[str, Any]:
    """Lift the load by a quarter of a radian, in step with the clock; then say what a step costs."""
    s = crane().build(guess={"boom hinge": 0.3, "foot": 0.8, "stroke": 0.2})
    stepper = s.realtime(step=1e-3, method="rk4")
    hinge, stroke = s.q_slice("boom hinge").start, s.v_slice("stroke").start
    wanted, tau = 0.55, stepper.inputs["tau"]
    hold = s.inverse_dynamics(s.q0, s.v0, 0.0 * s.v0, actuators=["stroke"])[stroke]

    def control(now: Any) -> None:
        tau[stroke] = hold + 8e4 * (wanted - now.q[hinge]) - 3e4 * now.v[hinge]

    run = stepper.run(duration, control)
    print(run)
    print(f"the boom stands at {math.degrees(run.q[-1, hinge]):.2f} degrees after {run.t[-1]:.3f} s")
    print(stepper)
    print(stepper.measure(5000))
    source = stepper.c_source(name="crane", frames=["load"])
    print(f"as C: {len(source.splitlines())} lines, begin with crane_init, go on with crane_step")
    return {"run": run, "stepper": stepper, "source": source, "wanted": wanted}


if __name__ == "__main__":
    main(3.0)
