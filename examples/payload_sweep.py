"""Parameters kept as inputs: one compilation, any payload.

A mass, a length or any other number of the description can be a named parameter. It stays an input of
every kernel, so it can change from call to call, and from state to state within a batch, without
compiling anything again. Here the payload of a crane and the reach of its boom are swept together to
find the heaviest payload that the hoist can hold.

`build(fold=True)` goes the other way: the parameters' values are folded into the code, which is then
smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import whippletree as wt

G, BOOM_MASS, HOIST_LIMIT = 9.81, 40.0, 4000.0


def describe(payload: float = 50.0) -> wt.Mechanism:
    """A boom with a payload at its end; reach and payload are parameters with default values."""
    m = wt.Mechanism("crane")
    mass = m.parameter("payload", payload)
    reach = m.parameter("reach", 3.0)
    beam, load = wt.rod(length=reach, mass=BOOM_MASS, axis="x"), wt.point_mass(mass, at=(reach, 0, 0))
    boom = m.body("boom", beam + load)
    m.revolute("hoist", m.ground, boom, axis="-y")  # positive lifts the boom
    return m


def main() -> dict[str, Any]:
    """Sweep 101 payloads by 41 reaches in one call and find where the hoist gives up."""
    system = describe().build()
    payloads, reaches = np.linspace(0, 500, 101)[:, None], np.linspace(2, 6, 41)[None, :]
    level = np.zeros(1)
    torque = system.bias_force(level, level, parameters={"payload": payloads, "reach": reaches})[..., 0]

    holds = np.where(torque <= HOIST_LIMIT, payloads, 0.0).max(axis=0)
    for i in range(0, 41, 10):
        print(f"reach {reaches[0, i]:.1f} m: the hoist holds {holds[i]:5.0f} kg")

    # Parameters that are not named keep the values they were declared with.
    light = float(system.forward_dynamics(level, level, parameters={"payload": 0.0})[0])
    heavy = float(system.forward_dynamics(level, level, parameters={"payload": 500.0})[0])
    print(f"let go, a boom of 3 m starts with {light:.4f} rad/s^2 empty and {heavy:.4f} rad/s^2 loaded")

    folded = describe().build(fold=True)
    kept, gone = (s.kernels.operations("forward_dynamics").total for s in (system, folded))
    print(f"operations of forward dynamics: {kept} with parameters as inputs, {gone} with them folded in")
    return {
        "payloads": payloads,
        "reaches": reaches,
        "torque": torque,
        "holds": holds,
        "light": light,
        "heavy": heavy,
        "system": system,
        "folded": folded,
    }


if __name__ == "__main__":
    main()
