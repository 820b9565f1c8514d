"""The types of arguments that many public calls share.

Annotations name them, so that a type checker refuses `system.pose(q, joint)` and an editor says what fits. Calls look
at every argument themselves, whatever a checker has said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from whippletree.model.handles import BodyHandle, ClosureHandle, ForceHandle, FrameHandle, JointHandle
from whippletree.spatial.placement import Placement

__all__ = [
    "Baumgarte",
    "BodyLike",
    "ByJoint",
    "CoordinateLike",
    "Freedoms",
    "Handle",
    "JointLike",
    "JointValues",
    "NameLike",
    "Names",
    "ParameterValues",
    "PlaceLike",
    "PlaceValues",
    "PoseTarget",
    "Wrenches",
]

Handle: TypeAlias = BodyHandle | FrameHandle | JointHandle | ClosureHandle | ForceHandle
"""The handle that a mechanism returns for an added element."""

NameLike: TypeAlias = str | Handle
"""Anything with a name, by that or by its handle."""

Names: TypeAlias = NameLike | Sequence[NameLike]
"""One such thing or several."""

BodyLike: TypeAlias = BodyHandle | str
"""A body."""

PlaceLike: TypeAlias = BodyHandle | FrameHandle | str
"""A body or a frame: whatever has a pose."""

JointLike: TypeAlias = JointHandle | str
"""A joint."""

CoordinateLike: TypeAlias = JointLike | tuple[JointLike, int]
"""A coordinate of a joint: the joint alone if it has one, or a pair of the joint and a number."""

Freedoms: TypeAlias = Sequence[CoordinateLike]
"""A list of joints, all of whose coordinates are meant, and of single coordinates."""

ByJoint: TypeAlias = Mapping[str, ArrayLike] | Mapping[JointHandle, ArrayLike]
"""Numbers by joint."""

JointValues: TypeAlias = ArrayLike | ByJoint | None
"""Coordinates, velocities or efforts of all joints as a vector, or of some by name; None for the usual ones."""

ParameterValues: TypeAlias = ArrayLike | Mapping[str, ArrayLike] | None
"""Values of the parameters: all of them, or some by name; the described ones where none are given."""

PlaceValues: TypeAlias = Mapping[str, ArrayLike] | Mapping[BodyHandle, ArrayLike] | Mapping[FrameHandle, ArrayLike]
"""Numbers by body or frame."""

Wrenches: TypeAlias = Mapping[Any, ArrayLike]
"""[moment; force] at the origins of bodies or frames, in ground axes."""

PoseTarget: TypeAlias = ArrayLike | Placement
"""A pose (4, 4) or a position (3), or many of them, in the ground frame."""

Baumgarte: TypeAlias = tuple[float, float] | Sequence[float] | None
"""The two numbers alpha and beta of Baumgarte's terms, in 1/s; None for none."""
