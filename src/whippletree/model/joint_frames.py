"""Where a joint's frame is on each of its bodies: from points and axes, or from poses.

On the child, what is not said is such that nothing said about the parent is lost: without a pose the joint frame is
turned as on the parent, so that the bodies are parallel at zero coordinates; with a `pose` it is turned as the child's
own frame, so that the pose is that of the child there. The table in `docs/start/conventions.md` has all combinations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whippletree.errors import ModelError
from whippletree.foundation.arrays import AnyArray
from whippletree.spatial.orientation import (
    IDENTITY,
    AxisLike,
    axis_rotation,
    direction,
    matmul,
    perpendicular_frame,
    rotation_between,
)
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Rotation3, VectorLike, vector

__all__ = ["FRAMES", "AlignedSides", "AxisSides", "PointLike", "PoseLike", "Sides", "UniversalSides"]

PointLike: TypeAlias = VectorLike | str
"""A point, or the name of a moving frame of the body."""
PoseLike: TypeAlias = Placement | AnyArray | Sequence[Sequence[object]]
Frames: TypeAlias = tuple[Placement, Placement]

ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Sides(ABC):
    """The arguments about the two sides of a joint, None if not given; `frames` checks them."""

    at: PointLike | None = None
    axis: AxisLike | None = None
    at_child: PointLike | None = None
    axis_child: AxisLike | None = None
    pose: PoseLike | None = None
    pose_child: PoseLike | None = None

    def frames(self) -> Frames:
        """Return the placements of the joint frame on the parent and on the child."""
        _exclusive("pose", self.pose, at=self.at, axis=self.axis)
        _exclusive("pose_child", self.pose_child, at_child=self.at_child, axis_child=self.axis_child)
        return self._frames()

    @abstractmethod
    def _frames(self) -> Frames:
        """Return both placements; of each side, either the pose or the rest is None."""

    def _on_parent(self, rotation: Rotation3) -> Placement:
        """Return the parent's side: its pose, or its point with this rotation."""
        return _placed(self.pose, "pose", self.at, "at", rotation)

    def _on_child(self, rotation: Rotation3) -> Placement:
        """Return the child's side: its pose, or its point with this rotation."""
        return _placed(self.pose_child, "pose_child", self.at_child, "at_child", rotation)

    def _turned_on_child(self, on_parent: Placement) -> Rotation3:
        """Return how the joint frame is turned on the child, unless something is said about that."""
        return on_parent.rotation if self.pose is None else IDENTITY


class AlignedSides(Sides):
    """A joint without an axis: its joint frames are parallel to the bodies' frames unless posed.

    >>> AlignedSides(at=(1, 0, 0)).frames()[0].point
    (1.0, 0.0, 0.0)
    """

    def _frames(self) -> Frames:
        for name in ("axis", "axis_child"):
            if getattr(self, name) is not None:
                raise ModelError(f"the joint is placed by no axis: leave out {name}, or give a pose")
        on_parent = self._on_parent(IDENTITY)
        return on_parent, self._on_child(self._turned_on_child(on_parent))


class AxisSides(Sides):
    """A joint with one axis, the z of its joint frame.

    The child's joint frame is turned like the parent's, so that the bodies are parallel at zero coordinates, or with a
    `pose` like the child's own frame; with an `axis_child`, the smallest rotation from its z to that axis comes on top.

    >>> on_parent, on_child = AxisSides(axis="x", axis_child="y").frames()
    >>> [row[2] for row in on_parent.rotation], [row[2] for row in on_child.rotation]
    ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    """

    def _frames(self) -> Frames:
        on_parent = self._on_parent(axis_rotation(direction(_default(self.axis, "z"), "axis")))
        rotation = self._turned_on_child(on_parent)
        if self.axis_child is not None:
            z = rotation[0][2], rotation[1][2], rotation[2][2]
            rotation = matmul(rotation_between(z, direction(self.axis_child, "axis_child")), rotation)
        return on_parent, self._on_child(rotation)


class UniversalSides(Sides):
    """A universal joint: x of its joint frame is the parent's axis, z the child's.

    >>> on_parent, on_child = UniversalSides(axis="x", axis_child="z").frames()
    >>> on_parent.rotation == on_child.rotation == IDENTITY
    True
    """

    def _frames(self) -> Frames:
        if self.pose is not None and self.axis_child is not None:
            raise ModelError("pose holds both axes of a universal joint, as its x and z: leave out axis_child")
        if self.pose is not None:
            on_parent = self._on_parent(IDENTITY)
            return on_parent, self._on_child(self._turned_on_child(on_parent))
        if self.pose_child is not None:
            raise ModelError("pose_child of a universal joint needs pose as well: each holds both axes")
        first = direction(_default(self.axis, "x"), "axis")
        second = direction(_default(self.axis_child, "y"), "axis_child")
        rotation = perpendicular_frame(first, second, "axis and axis_child of a universal joint")
        return self._on_parent(rotation), self._on_child(rotation)


FRAMES: dict[int, type[Sides]] = {0: AlignedSides, 1: AxisSides, 2: UniversalSides}
"""How joints are placed, by the number of axes that a person gives (`Joint.n_axes`)."""


def _default(value: AxisLike | None, default: AxisLike) -> AxisLike:
    return default if value is None else value


def _exclusive(pose_name: str, pose: object, **others: object) -> None:
    """A pose says both point and axis."""
    given = [name for name, value in others.items() if value is not None]
    if pose is not None and given:
        raise ModelError(f"give either {pose_name} or {given[0]}: a pose holds both the point and the axis")


def _placed(pose: object, pose_name: str, at: VectorLike | None, at_name: str, rotation: Rotation3) -> Placement:
    if pose is None:
        return Placement.computed(rotation, vector(ORIGIN if at is None else at, at_name))
    return pose if isinstance(pose, Placement) else Placement.from_matrix(pose, pose_name)
