"""Drake on a chain of revolute joints, called from Python; used only where pydrake can be imported."""

from __future__ import annotations

import numpy as np
from models import AXES, Ring
from timing import Run, calls

HINT = 'Drake was skipped: pydrake is not installed (pip install "whippletree[bench]").'


class DrakeChain:
    """A continuous plant without contact: CalcTimeDerivatives, setting the state included."""

    def __init__(self, ring: Ring) -> None:
        from pydrake.math import RigidTransform
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import FixedOffsetFrame, RevoluteJoint, RotationalInertia, SpatialInertia

        model = ring.model
        plant = MultibodyPlant(0.0)
        plant.mutable_gravity_field().set_gravity_vector(model.gravity.linear)
        bodies = [plant.world_body()]
        for j in range(1, model.njoints):
            place, mass, name = model.jointPlacements[j], model.inertias[j], model.names[j]
            moments = [mass.inertia[i, k] for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
            inertia = SpatialInertia.MakeFromCentralInertia(mass.mass, mass.lever, RotationalInertia(*moments))
            bodies.append(plant.AddRigidBody(name, inertia))
            before = bodies[model.parents[j]].body_frame()
            pose = RigidTransform(place.homogeneous)
            frame = plant.AddFrame(FixedOffsetFrame(f"{name} on its parent", before, pose))
            axis = AXES[model.joints[j].shortname()[-1]]
            plant.AddJoint(RevoluteJoint(name, frame, bodies[j].body_frame(), axis))
        plant.Finalize()
        order = [plant.GetJointByName(model.names[j]).velocity_start() for j in range(1, model.njoints)]
        if order != list(range(model.nv)):
            raise RuntimeError("Drake has put the joints in another order")
        self._plant, self._context = plant, plant.CreateDefaultContext()
        self._states = np.concatenate([ring.theirs.q, ring.theirs.v], axis=1)
        plant.get_applied_generalized_force_input_port().FixValue(self._context, ring.theirs.tau[0])
        self._rates = plant.AllocateTimeDerivatives()
        self._turn = 0

    def _evaluate(self) -> None:
        self._turn = (self._turn + 1) % len(self._states)
        self._plant.SetPositionsAndVelocities(self._context, self._states[self._turn])
        self._plant.CalcTimeDerivatives(self._context, self._rates)

    def run(self) -> Run:
        return calls(self._evaluate)

    def answer(self) -> np.ndarray:
        """The accelerations of the first state."""
        self._turn = -1
        self._evaluate()
        return self._rates.CopyToVector()[self._plant.num_positions() :]
