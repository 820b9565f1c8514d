"""Moving on the configurations of a mechanism, in Python: displacements, differences, random configurations.

Everything here goes through all coordinates of q and v, joint by joint.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from whippletree.elements.bodies import OwnCoordinates
from whippletree.elements.joints import Joint
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array
from whippletree.system.equations import Equations, Request
from whippletree.system.lengths import LoopLengths
from whippletree.system.state_space import StateSpace

__all__ = ["ConfigurationSpace"]


class ConfigurationSpace:
    """The configurations of a mechanism, of which quaternions are no vectors; closures play no part here.

    `lengths` are the characteristic lengths, the sizes of random displacements.
    """

    def __init__(self, equations: Equations, states: StateSpace, lengths: LoopLengths) -> None:
        self.equations, self.states, self.lengths = equations, states, lengths
        self._lock = equations.lock

    def integrate(self, q: Array, dv: Array) -> Array:
        """Return the configuration that a displacement (nv) leads to."""
        if self._is_flat:
            return np.add(q, dv, dtype=np.float64)
        return self._evaluate(self._integrate, q, dv)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the displacement (nv) between two configurations."""
        if self._is_flat:
            return np.subtract(q1, q0, dtype=np.float64)
        return self._evaluate(self._difference, q0, q1)

    def random(self, rng: np.random.Generator) -> Array:
        """Return a random configuration, displacements within the characteristic lengths."""
        q = self.states.random(rng)
        owners = self.equations.description.coordinate_owners
        for use, (place, _) in zip(owners, self.equations.plan.coordinate_slices, strict=True):
            if isinstance(use.joint, OwnCoordinates) and use.joint.of.coordinate_scales() is not None:
                continue
            for i, label in enumerate(use.joint.position_labels):
                if "angle" not in label and "quaternion" not in label:
                    q[place.start + i] *= self.lengths.of_freedoms(use.name)
        return q

    def _evaluate(self, function: ca.Function, a: Array, b: Array) -> Array:
        described = self.equations.description.parameter_values
        extra = (np.array(described, dtype=np.float64),) if described else ()
        return np.asarray(function(a, b, *extra).full().ravel())

    @made_once
    def _is_flat(self) -> bool:
        """Whether displacements are added to coordinates, for every joint: nothing needs to be traced then."""
        kinds = {type(use.joint) for use in self.equations.description.coordinate_owners}
        return all(kind.integrate is Joint.integrate and kind.difference is Joint.difference for kind in kinds)

    @made_once
    def _integrate(self) -> ca.Function:
        return self.equations.trace(Request("integrate", "kinematics"))

    @made_once
    def _difference(self) -> ca.Function:
        return self.equations.trace(Request("difference", "kinematics"))
