"""The same equations elsewhere: as a CasADi function in an optimisation, and as C source.

`system.function(name)` is the trace itself, a CasADi Function with named inputs and outputs: it can be
called, differentiated and put into larger expressions. Here CasADi's `nlpsol` (with IPOPT, which comes
with CasADi) finds the posture in which a three-joint arm reaches a point with the least effort of its
motors.

`system.c_source(name)` is plain C without dependencies, for a controller or another language.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

import whippletree as wt

TARGET = (0.7, 0.35)  # x and z, metres


def describe() -> wt.Mechanism:
    """A planar arm with three links and a tool at its end."""
    m = wt.Mechanism("planar arm")
    parent, at = m.ground, (0.0, 0.0, 0.0)
    for i, (length, mass) in enumerate([(0.5, 4.0), (0.4, 3.0), (0.3, 2.0)], start=1):
        link = m.body(f"link {i}", wt.rod(length=length, mass=mass, axis="x"))
        m.revolute(f"joint {i}", parent, link, at=at, axis="-y")
        parent, at = link, (length, 0.0, 0.0)
    m.frame("tool", on=parent, at=at)
    return m


def easiest_posture(system: wt.System) -> npt.NDArray[np.float64]:
    """Minimise the sum of squared holding torques under the condition that the tool is at the target."""
    q = ca.SX.sym("q", system.nq)
    torques = system.function("bias_force")(q, ca.SX.zeros(system.nv))
    pose = ca.reshape(system.function("pose", frame="tool")(q), 4, 4).T  # outputs are row by row
    position = ca.vertcat(pose[0, 3], pose[2, 3])
    problem = {"x": q, "f": ca.sumsqr(torques), "g": position}
    quiet = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"}
    solver = ca.nlpsol("posture", "ipopt", problem, quiet)
    result = solver(x0=[1.0, -1.0, 0.5], lbx=-np.pi, ubx=np.pi, lbg=TARGET, ubg=TARGET)
    return np.array(result["x"]).ravel()


def main() -> dict[str, Any]:
    """Optimise with the CasADi function; show the beginning of the C source."""
    system = describe().build()
    q = easiest_posture(system)
    torques = system.bias_force(q, system.v0)
    tool = system.pose(q, "tool")[:3, 3]
    print("easiest posture:", q, " tool at", tool)
    print("holding torques:", torques)

    source = system.c_source("forward_dynamics")
    signature = next(line for line in source.splitlines() if "int forward_dynamics(" in line)
    print(f"C source of forward dynamics: {len(source.splitlines())} lines, with")
    print(" ", signature.split("{")[0].strip())
    return {"system": system, "q": q, "torques": torques, "tool": tool, "source": source}


if __name__ == "__main__":
    main()
