"""Friction in a joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import casadi as ca

from whippletree.elements.declaration import ElementAround, quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force, on_coordinate, refused
from whippletree.elements.forces.bearing_friction import BearingFriction
from whippletree.errors import ModelError
from whippletree.spatial.scalars import Scalar, expressions

__all__ = ["Friction"]


@dataclass(frozen=True, eq=False)
class Friction(Force):
    """Friction against the rate of a joint coordinate, -coulomb tanh(rate / speed) - viscous rate.

    Below `speed` dry friction is like a stiff damper: the joint creeps where it ought to stick.

    With a `coefficient` instead, friction follows from what the joint transmits: coefficient times the load of its
    bearing. That is the force across a prismatic, revolute or cylindrical joint, or the force in a spherical one;
    joints that turn have the `radius` of their bearing. With a `length` the bearing is two short ones at that
    distance, which carry the moment across the joint too; a revolute joint with a `thrust_radius` rubs under the
    force along its axis, and a prismatic one with a `radius` under the moment about it. `preload` is a load that
    is always there. Accelerations, reactions and friction are found together; see docs/theory/friction.md.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("flap"))
    >>> m.friction("bearing", hinge, coulomb=0.3, viscous=0.01).name
    'bearing'
    >>> m.friction("loaded bearing", hinge, coefficient=0.1, radius=0.02).name
    'loaded bearing'
    """

    word: ClassVar[str] = "friction"
    n_coordinates: ClassVar[int] = 1
    on_rates: ClassVar[bool] = True

    coulomb: Scalar = quantity(0.0, sign="not negative")
    viscous: Scalar = quantity(0.0, sign="not negative")
    speed: Scalar = quantity(0.01, sign="positive")

    @classmethod
    def given(
        cls,
        *,
        coulomb: Scalar | None = None,
        viscous: Scalar | None = None,
        speed: Scalar = 0.01,
        index: int | None = None,
        coefficient: Scalar | None = None,
        radius: Scalar | None = None,
        length: Scalar | None = None,
        thrust_radius: Scalar | None = None,
        preload: Scalar | None = None,
    ) -> Self | BearingFriction:
        """Return the friction that a person describes so."""
        bearing = {"radius": radius, "length": length, "thrust_radius": thrust_radius, "preload": preload}
        own: dict[str, Any] = {key: value for key, value in bearing.items() if value is not None}
        if coefficient is not None:
            refused("coefficient", "make two elements", coulomb=coulomb, viscous=viscous)
            refused("coefficient", "the bearing has all freedoms of the joint", index=index)
            return BearingFriction("", coefficient, speed=speed, **own)
        for key in own:
            raise ModelError(f"{key} is that of a bearing: give the coefficient of friction too")
        return cls(0.0 if coulomb is None else coulomb, 0.0 if viscous is None else viscous, speed)

    def fitted(self, around: ElementAround) -> Self:
        """Check that there is friction."""
        both = (self.coulomb, self.viscous)
        if not expressions(both) and not any(both):
            raise ModelError("give coulomb, viscous, or both, or the coefficient of a bearing")
        return self

    def act(self, seen: ElementState) -> ElementForces:
        """Return the effort, all of whose power is dissipated."""
        against = self.coulomb * ca.tanh(seen.v / self.speed) + self.viscous * seen.v
        return on_coordinate(-against, dissipated=against * seen.v)
