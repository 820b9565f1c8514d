"""What OpenSim says of a model file in a given state, as JSON: ``python -m support.opensim_numbers file state``

It has a process of its own because it brings a CasADi of its own, which does not get on with another.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def numbers(path: str, start: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """Mass, accelerations of coordinates and poses of bodies, without forces."""
    import opensim

    opensim.Logger.setLevelString("off")
    model = opensim.Model(path)
    for force in each(model.updForceSet()):
        force.set_appliesForce(False)
    state = model.initSystem()
    given = [one for one in each(model.updCoordinateSet()) if one.getName() in start]
    for one in given:
        position, rate = start[one.getName()]
        if not one.getLocked(state):
            one.setValue(state, position, False)
            one.setSpeedValue(state, rate)
    model.realizeAcceleration(state)
    poses = {}
    for body in each(model.updBodySet()):
        pose = body.getTransformInGround(state)
        rows = [[pose.R().get(i, j) for j in range(3)] + [pose.p().get(i)] for i in range(3)]
        poses[body.getName()] = [*rows, [0.0, 0.0, 0.0, 1.0]]
    accelerations = {one.getName(): one.getAccelerationValue(state) for one in given}
    return {"mass": model.getTotalMass(state), "accelerations": accelerations, "poses": poses}


def each(group: Any) -> list[Any]:
    return [group.get(k) for k in range(group.getSize())]


if __name__ == "__main__":
    print("numbers", json.dumps(numbers(sys.argv[1], json.loads(sys.argv[2]))))
