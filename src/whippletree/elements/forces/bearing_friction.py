"""Coulomb friction in a joint, from the wrench that the joint transmits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import casadi as ca

from whippletree.elements.declaration import ElementAround, part, quantity
from whippletree.elements.element_tolerances import LEAST_LOAD, LEAST_SLIDING
from whippletree.elements.forces.base import MOMENT_AND_FORCE, ElementForces, ElementState, Force
from whippletree.errors import ModelError
from whippletree.spatial.scalars import Scalar

__all__ = ["RUBBING", "BearingFriction"]

RUBBING = {"prismatic": 1, "revolute": 1, "cylindrical": 2, "spherical": 3}
"""The joint types that have bearing friction, and their freedoms."""

_WITHOUT = {"length": ("spherical",), "thrust_radius": ("prismatic", "cylindrical", "spherical")}
"""Arguments that the bearings of some joints do not have."""

MX, MY, MZ, FX, FY, FZ = range(len(MOMENT_AND_FORCE))


@dataclass(frozen=True, eq=False)
class BearingFriction(Force):
    """Rubs in a joint with `coefficient` times the load of its bearing, against the sliding there.

    With f and m the force and moment that the joint transmits, in the axes of its frame on the parent, z the joint's,
    the load is the sum of the forces that press on the bearing:

        |(fx, fy)|,  or with a `length` L   |(fx, fy) / 2 + (my, -mx) / L| + |(fx, fy) / 2 - (my, -mx) / L|
        |f|                                 in a ball
        |mz| / radius                       of a prismatic joint that is given a radius
        thrust_radius / radius |fz|         of a revolute one with a collar
        preload

    so a bearing of some length is two short ones, at its ends, which share force and moment. The friction is a force
    along the sliding: sigma = v (prismatic), radius v (revolute, ball) or (radius v0, v1) (cylindrical), of the size

        coefficient load tanh(|sigma| / s)         s = speed, or radius times speed where the joint only turns

    `speed` is that of the joint's coordinate, in cylindrical joints that of sliding.

    >>> slide = BearingFriction("prismatic", 0.2)
    >>> still = ElementState((), ca.SX(0), ca.SX(1), ca.SX(0, 1), ca.SX(0), ca.SX([0, 0, 0, 3, 4, 0]))
    >>> round(float(slide.loads(still)), 9)
    5.0
    >>> round(float(slide.act(still._replace(load=ca.SX(5))).efforts), 9)
    -1.0
    """

    word: ClassVar[str] = "friction"
    has_method: ClassVar[bool] = False
    whole_joint: ClassVar[bool] = True

    joint_type: str = part(str)
    coefficient: Scalar = quantity(sign="not negative")
    radius: Scalar | None = quantity(None, unit="m", sign="positive", optional=True)
    length: Scalar | None = quantity(None, unit="m", sign="positive", optional=True)
    thrust_radius: Scalar | None = quantity(None, unit="m", sign="positive", optional=True)
    preload: Scalar = quantity(0.0, unit="N", sign="not negative")
    speed: Scalar = quantity(0.01, sign="positive")

    def told(self) -> dict[str, Any]:
        """Return the numbers; the type of bearing follows from the joint."""
        return {key: value for key, value in super().told().items() if key != "joint_type"}

    def fitted(self, around: ElementAround) -> Self:
        """Return the friction of the joint that it is in."""
        name, kind = around.joint()
        if kind not in RUBBING:
            raise ModelError(
                f'joint "{name}" is {kind}: friction by a coefficient is in {", ".join(RUBBING)} joints; write '
                "another law as the effort of an actuator, in what .reaction returns"
            )
        if kind != "prismatic" and self.radius is None:
            raise ModelError(f'joint "{name}" is {kind}: give the radius of its bearing')
        for key, without in _WITHOUT.items():
            if getattr(self, key) is not None and kind in without:
                raise ModelError(f'joint "{name}" is {kind}: its bearing has no {key}')
        return replace(self, joint_type=kind)

    @property
    def n_loads(self) -> int:
        """One: the load of the bearing."""
        return 1

    @property
    def _lever(self) -> Scalar:
        """The radius, which joints that turn have."""
        return 1.0 if self.radius is None else self.radius

    def _pressures(self, r: ca.SX) -> Iterator[ca.SX]:
        """Yield the forces that press on the bearing, each a column that is linear in the wrench r."""
        across = r[[FX, FY]]
        if self.joint_type == "spherical":
            yield r[[FX, FY, FZ]]
        elif self.length is None:
            yield across
        else:
            tilt = ca.vertcat(r[MY], -r[MX]) / self.length
            yield from (across / 2 + tilt, across / 2 - tilt)
        if self.joint_type == "prismatic" and self.radius is not None:
            yield r[MZ] / self.radius
        if self.thrust_radius is not None:
            yield r[FZ] * self.thrust_radius / self._lever

    def loads(self, seen: ElementState) -> ca.SX:
        """Return the load: a sum of sizes of forces, each kept from zero by less than can be seen."""
        total = ca.SX(self.preload)
        for force in self._pressures(seen.r):
            total = total + ca.sqrt(ca.sumsqr(force) + LEAST_LOAD**2)
        return total

    def load_bounds(self, seen: ElementState, change: ca.SX) -> ca.SX:
        """Return by how much the load can change with the wrench, whatever that is."""
        total = ca.SX(0)
        for force in self._pressures(change):
            total = total + (ca.fabs(force) if force.numel() == 1 else ca.sqrt(ca.sumsqr(force)))
        return total

    def act(self, seen: ElementState) -> ElementForces:
        """Return the efforts, all of whose power is dissipated."""
        friction = self.coefficient * seen.load * self._direction(seen.v)
        if self.joint_type in ("revolute", "spherical"):
            efforts = -self._lever * friction
        elif self.joint_type == "cylindrical":
            efforts = -ca.vertcat(self._lever * friction[0], friction[1])
        else:
            efforts = -friction
        nothing = ca.SX(0)
        return ElementForces((), ca.densify(efforts), nothing, -ca.dot(efforts, seen.v), nothing)

    def _direction(self, v: ca.SX) -> ca.SX:
        """Return the direction of sliding, of a size that is one but for slow sliding."""
        if v.numel() == 1:
            return ca.tanh(v / self.speed)
        sliding = ca.vertcat(self._lever * v[0], v[1]) if self.joint_type == "cylindrical" else v
        fast = ca.sqrt(ca.sumsqr(sliding / self.speed) + LEAST_SLIDING**2)
        return sliding / self.speed * (ca.tanh(fast) / fast)
