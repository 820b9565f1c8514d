"""Moving on the configurations of a mechanism, in Python: displacements, differences, random configurations, scales.

Everything here goes through all coordinates of q and v, joint by joint.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import casadi as ca
import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.model.description import Description
from whippletree.spatial.placement import Placement
from whippletree.system.equations import Equations, Request
from whippletree.system.state_space import StateSpace

__all__ = ["ConfigurationSpace", "characteristic_length"]


class ConfigurationSpace:
    """The configurations of a mechanism, of which quaternions are no vectors; closures play no part here.

    `length` is the characteristic length, the size of random displacements.
    """

    def __init__(self, equations: Equations, states: StateSpace, length: float) -> None:
        self.equations, self.states, self.length = equations, states, length

    def integrate(self, q: Array, dv: Array) -> Array:
        """Return the configuration that a displacement (nv) leads to."""
        return self._evaluate(self._integrate, q, dv)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the displacement (nv) between two configurations."""
        return self._evaluate(self._difference, q0, q1)

    def random(self, rng: np.random.Generator) -> Array:
        """Return a random configuration, displacements within the characteristic length."""
        q = self.states.random(rng)
        owners = self.equations.description.coordinate_owners
        for use, (place, _) in zip(owners, self.equations.plan.coordinate_slices, strict=True):
            for i, label in enumerate(use.joint.position_labels):
                if "angle" not in label and "quaternion" not in label:
                    q[place.start + i] *= self.length
        return q

    def _evaluate(self, function: ca.Function, a: Array, b: Array) -> Array:
        described = self.equations.description.parameter_values
        extra = (np.array(described, dtype=np.float64),) if described else ()
        return np.asarray(function(a, b, *extra).full().ravel())

    @functools.cached_property
    def _integrate(self) -> ca.Function:
        return self.equations.trace(Request("integrate", "kinematics"))

    @functools.cached_property
    def _difference(self) -> ca.Function:
        return self.equations.trace(Request("difference", "kinematics"))


def characteristic_length(description: Description) -> float:
    """Return the mean size of the bodies: the largest distance between what is joined to a body, and its centre.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("ball", mass=1.0, com=(0.5, 0, 0)))
    >>> characteristic_length(m.describe())
    0.5
    """
    numbers = description.folded() if description.parameters else description
    points: dict[str, list[object]] = {body.name: [] for body in numbers.bodies}
    for body in numbers.bodies:
        if body.properties.mass:
            points[body.name].append(body.properties.com)
    for name, placement in _attached(numbers):
        if name in points:
            points[name].append(placement.point)
    sizes = [_extent(np.array(of_body, dtype=np.float64)) for of_body in points.values() if of_body]
    sizes = [size for size in sizes if size > 0]
    return float(np.mean(sizes)) if sizes else 1.0


def _attached(description: Description) -> Iterator[tuple[str, Placement]]:
    """Yield the bodies that joints and closures are attached to, and where."""
    for use in description.joints:
        yield from ((use.parent, use.on_parent), (use.child, use.on_child))
    for closure in description.closures:
        yield from closure.sides


def _extent(points: Array) -> float:
    """Return the largest distance between any two points."""
    apart = points[:, None, :] - points[None, :, :]
    return float(np.sqrt((apart**2).sum(axis=-1)).max())
