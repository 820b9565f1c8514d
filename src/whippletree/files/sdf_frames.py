"""Frames of SDF models: who is placed relative to whom, and where that is in the world at the start.

Links and nested models are placed relative to their model, joints to their child, frames to what they are attached to,
unless `relative_to` names another. Names reach into nested models by "inner::link".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from whippletree.errors import ModelError
from whippletree.files.poses import from_quaternion, from_rpy
from whippletree.files.xml_source import XmlElement
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.placement import Placement

__all__ = ["SdfFrame", "SdfScope", "pose_in"]


@dataclass
class SdfFrame:
    """A thing with a pose: its kind, the frame that the pose is relative to, and the frame that it is attached to."""

    kind: str
    element: XmlElement
    pose: Placement
    relative_to: str
    attached_to: str = ""
    scope: SdfScope | None = None
    """Of a model: the scope of its contents."""


@dataclass
class SdfScope:
    """The names in one model or world."""

    prefix: str
    outer: SdfScope | None
    element: XmlElement
    frames: dict[str, SdfFrame] = field(default_factory=dict)
    own_world: str = ""
    """The name of a link that the file calls "world", if there is one."""

    def find(self, name: str, element: XmlElement) -> tuple[SdfScope, str, SdfFrame]:
        """Return the scope and the frame that a name stands for."""
        scope: SdfScope = self
        first, _, rest = name.partition("::")
        while rest and first in scope.frames and (inner := scope.frames[first].scope) is not None:
            scope = inner
            name = rest
            first, _, rest = name.partition("::")
        if name not in scope.frames:
            raise element.error(f"there is no link, joint, frame or model {suggestion(name, scope.frames)}")
        return scope, name, scope.frames[name]

    def world_pose(self, name: str, element: XmlElement, seen: frozenset[tuple[int, str]] = frozenset()) -> Placement:
        """Return the pose of something in the world."""
        if name == "world" and self.own_world:
            name = self.own_world
        if name in ("world", "__root__"):
            return Placement()
        if name in ("", "__model__"):
            return self.own_pose(seen)
        scope, name, frame = self.find(name, element)
        key = (id(scope), name)
        if key in seen:
            raise element.error(f"{quoted(name)} is placed relative to itself, by others in between")
        if frame.scope is not None:
            return frame.scope.own_pose(seen | {key})
        return scope.world_pose(frame.relative_to, frame.element, seen | {key}) @ frame.pose

    def own_pose(self, seen: frozenset[tuple[int, str]] = frozenset()) -> Placement:
        """Return the pose of this model's frame in the world."""
        if self.outer is None:
            return Placement()
        # not empty: its outer model has it
        name = next(name for name, frame in self.outer.frames.items() if frame.scope is self)
        frame = self.outer.frames[name]
        key = (id(self.outer), f"{name} itself")
        if key in seen:
            raise frame.element.error(f"model {quoted(name)} is placed relative to itself")
        return self.outer.world_pose(frame.relative_to, frame.element, seen | {key}) @ frame.pose

    def link_of(self, name: str, element: XmlElement) -> tuple[SdfScope, str]:
        """Return the link that something is attached to, with the scope it is in; the world is an empty name."""
        scope, seen = self, set[tuple[int, str]]()
        while True:
            name = scope.own_world or name if name == "world" else name
            if name == "world" or (not name and scope.outer is None):
                return scope, ""
            if name in ("", "__model__"):
                return scope.canonical(element)
            scope, name, frame = scope.find(name, element)
            if frame.kind == "link":
                return scope, name
            if frame.scope is not None:
                return frame.scope.canonical(element)
            if (id(scope), name) in seen:
                raise element.error(f"{quoted(name)} is attached to itself, by others in between")
            seen.add((id(scope), name))
            name, element = frame.attached_to, frame.element

    def canonical(self, element: XmlElement) -> tuple[SdfScope, str]:
        """Return the link that stands for the whole model: the first, of inner models last, unless it names one."""
        named = self.element.get("canonical_link")
        if named:
            return self.find(named, element)[:2]
        for name, frame in self.frames.items():
            if frame.kind == "link":
                return self, name
        for frame in self.frames.values():
            if frame.scope is not None:
                return frame.scope.canonical(element)
        raise element.error(f"model {quoted(self.prefix or self.element.get('name'))} has no link")


def pose_in(element: XmlElement) -> tuple[Placement, str | None]:
    """Return the pose of an element, and the name of the frame that it is relative to, if it gives one."""
    given = element.child("pose")
    if given is None:
        return Placement(), None
    relative = given.attributes.get("relative_to") or given.attributes.get("frame") or None
    text = given.text
    if not text:
        return Placement(), relative
    try:
        if given.get("rotation_format") == "quat_xyzw":
            x, y, z, a, b, c, w = given.numbers(text, 7, "<pose>")
            if math.hypot(w, a, b, c) == 0.0:
                raise given.error("the quaternion of <pose> is zero")
            return from_quaternion((w, a, b, c), (x, y, z)), relative
        numbers = given.numbers(text, 6, "<pose>")
        turns = numbers[3:]
        if given.get("degrees") in ("true", "1"):
            turns = [math.radians(angle) for angle in turns]
        return from_rpy(numbers[:3], turns), relative
    except ModelError as error:
        raise given.error(str(error)) from None
