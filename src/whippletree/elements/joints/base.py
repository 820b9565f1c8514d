"""The contract of a joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from whippletree.foundation.arrays import Array
from whippletree.spatial import Rotation, Shift
from whippletree.spatial.scalars import Scalar

__all__ = ["Joint", "SplitJoint"]


class SplitJoint(NamedTuple):
    """A joint whose last step is a turn, up to that turn: shift, joint map and joint bias in the axes before it.

    In these axes the map of a joint that moves a little about and along many directions has more zeros; it is that of
    combinations of the joint's freedoms if such are given, and has more zeros still. `velocity` (6) is the joint's own.
    """

    shift: Shift
    turn: Rotation
    joint_map: ca.SX
    joint_bias: ca.SX
    velocity: ca.SX


class Joint(ABC):
    """The base class of joint types: the motion of the child frame in the parent frame.

    Both joint frames have z along the joint's axis, and coincide when the coordinates are neutral. A type
    says:

    1. the labels of its coordinates and velocities, which also count them (`nq`, `nv`);
    2. `configuration(q)`: what the sweeps need of the coordinates (sines, cosines, a rotation), computed
       once;
    3. `shift(x)`: the shift from the parent frame to the child frame at the configuration x;
    4. `joint_map(x)`: the (6, nv) map from velocities to the child's twist relative to the parent, at the
       child's origin and in the child's axes;
    5. `joint_bias(x, v)`: the child's acceleration relative to the parent when the joint accelerations are
       zero: [angular; linear], the linear part being the acceleration of the child's origin as the parent
       sees it, both in the child's axes;
    6. `rate_map(q)`: the (nq, nv) map from velocities to the rates of the coordinates;
    7. `integrate`, `difference`, `neutral`, `random` on its configuration manifold, and `displacement_rate`, how
       fast a displacement grows that `integrate` takes from a fixed configuration to the moving one, and
       `displacement_map`, the inverse of that map.

    A type is a frozen dataclass whose fields are its constants, one number each: a lead, a radius. How it stands in a
    file and is written down follows from `kind`, the word for it; from these fields, which `quantity` may describe; and
    from `n_axes`, by how many axes a person places it: none (its frame is parallel to the bodies'), one (z of the joint
    frame), or two (x on the parent and z on the child).

    What the joint holds where a loop is cut follows from joint map, bias and shift. A type may state it as `holds`
    instead, in the words of `closures.joint`, which makes rows that cost less.

    >>> from whippletree.elements.joints import Revolute
    >>> Revolute().nv
    1
    """

    kind: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    n_configuration: ClassVar[int]
    position_labels: ClassVar[tuple[str, ...]]
    velocity_labels: ClassVar[tuple[str, ...]]
    quaternion: ClassVar[bool] = False  # the first four coordinates are a unit quaternion
    along_child: ClassVar[bool] = False  # velocities are the child's, each along one of its axes
    n_axes: ClassVar[int] = 1
    holds: ClassVar[tuple[str, ...] | None] = None
    locks: ClassVar[bool] = False  # there are positions at which rates do not follow from the motion: gimbal lock

    def __init_subclass__(cls) -> None:
        """Count the coordinates and velocities by their labels."""
        super().__init_subclass__()
        for count, labels in (("nq", "position_labels"), ("nv", "velocity_labels")):
            own = vars(cls).get(labels)
            if isinstance(own, tuple) and count not in vars(cls):
                setattr(cls, count, len(own))

    @property
    def variant(self) -> Hashable:
        """Distinguishes joints of one type beside their constants; empty for most types."""
        return ()

    def constants(self) -> tuple[Scalar, ...]:
        """Return the joint's own numbers, which may be expressions in parameters.

        >>> from whippletree.elements.joints import Screw
        >>> Screw(lead=0.5).constants()
        (0.5,)
        """
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def with_constants(self, values: Sequence[Scalar]) -> Self:
        """Return the same joint with other numbers of its own.

        >>> from whippletree.elements.joints import Reversed, Screw
        >>> Reversed(Screw(lead=0.5)).with_constants([0.7]).joint
        Screw(lead=0.7)
        """
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return replace(self, **dict(zip(names, values, strict=True)))  # type: ignore[type-var]

    @abstractmethod
    def configuration(self, q: ca.SX) -> ca.SX:
        """Return the functions of the coordinates (n_configuration) that the sweeps need."""

    @abstractmethod
    def shift(self, x: ca.SX) -> Shift:
        """Return the shift from the parent's joint frame to the child's."""

    @abstractmethod
    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the joint map (6, nv)."""

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        """Return the relative acceleration at zero joint acceleration (6); zero for most joints."""
        return ca.SX.zeros(6)

    def split(self, x: ca.SX, v: ca.SX, combinations: ca.SX) -> SplitJoint | None:
        """Return the joint up to its last turn, if that is worth telling apart.

        With `combinations` B (nv, nv), its map is that of unknowns xi'', v' = B xi''; without (0, 0), that of v'.
        """
        return None

    def rate_map(self, q: ca.SX) -> ca.SX:
        """Return the map from velocities to coordinate rates (nq, nv)."""
        return ca.densify(ca.SX.eye(self.nq))

    def integrate(self, q: ca.SX, dq: ca.SX) -> ca.SX:
        """Return the coordinates reached from `q` by the displacement `dq` (nv)."""
        return q + dq

    def difference(self, q0: ca.SX, q1: ca.SX) -> ca.SX:
        """Return the displacement (nv) that leads from `q0` to `q1`."""
        return q1 - q0

    def displacement_rate(self, u: ca.SX, v: ca.SX) -> ca.SX:
        """Return u' for integrate(q, u) to move with the velocities `v` (nv), q being fixed."""
        return v

    def displacement_map(self, u: ca.SX) -> ca.SX:
        """Return the map (nv, nv) from small changes of u to those of integrate(q, u), measured like velocities."""
        return ca.SX.eye(self.nv)

    def from_lock(self, q: ArrayLike) -> Any:
        """Return how far coordinates are from where rates do not follow from the motion: zero there, with its sign.

        Elsewhere it is at most one. Most joints have no such position.
        """
        return 1.0

    def lock_in_words(self, q: ArrayLike) -> str:
        """Say which coordinate is at such a position; for a type that has one."""
        return ""

    def neutral(self) -> Array:
        """Return the coordinates at which the joint frames coincide."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator) -> Array:
        """Return random coordinates: angles over the full turn, displacements within a metre."""
        return rng.uniform(-1.0, 1.0, self.nq) * self._spread()

    def _spread(self) -> Array:
        """Return how far each coordinate is drawn by `random`."""
        return np.array([np.pi if "angle" in label else 1.0 for label in self.position_labels])
