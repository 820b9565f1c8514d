"""Shapes that collide become contacts: with planes of the ground by their points, with each other by pairs.

A contact is a spring with a damper (`elements.forces.smooth`). Where a file does not give them in N/m, they follow from
the mass m of all bodies that joints connect with the one that touches, and from the largest dimension L of a shape of
theirs:

    depth d = L / 1000,      k = 2 m g / d,      c = sqrt(k m),      slip = sqrt(g L) / 1000           (1)

Over the first d the force takes hold, so that it is the whole weight at the depth d exactly: one contact that carries
all sinks in by d. Friction has taken hold from that slip on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from whippletree.elements.joints import Fixed, Free
from whippletree.errors import FileError
from whippletree.files.contact_pairs import ContactRules, JoinedLinks
from whippletree.files.contact_points import TOUCHING_KINDS, Touching, points_of
from whippletree.files.file_limits import (
    CREEPING,
    SINKING,
    STIFFEST_CONTACT,
    USUAL_FRICTION,
    USUAL_GRAVITY,
)
from whippletree.files.neutral_collisions import NeutralCollider, NeutralPair
from whippletree.files.neutral_model import WORLD, LinkGraph, NeutralJoint, NeutralModel
from whippletree.files.start_gaps import poses_at
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement

if TYPE_CHECKING:
    from whippletree.files.neutral_translation import NeutralTranslation

__all__ = ["ContactElements", "add_ground"]

_ROUND = ("sphere", "capsule")

_ALL = -1
"""All bits: a plane that was asked for meets everything."""

_DEEP = 10
"""So many of the depths to which the weight takes a contact are said where a file starts."""


def add_ground(model: NeutralModel) -> None:
    """Add the plane z = 0, which every shape that collides meets, unless the model has it."""
    shapes = model.collisions.shapes
    if not any(one.kind == "plane" and one.link == WORLD and one.placement == Placement() for one in shapes):
        model.collisions.add(NeutralCollider("ground", WORLD, "plane", is_of=_ALL, meets=_ALL))


class _Footing(NamedTuple):
    """How contacts of bodies that joints connect are: (1)."""

    stiffness: ca.SX
    damping: ca.SX
    depth: float
    slip: float
    hardness: float


class _Meeting(NamedTuple):
    """Two shapes that touch; the second is a plane of the ground, or any shape that touches a sphere or capsule."""

    one: NeutralCollider
    other: NeutralCollider
    named: NeutralPair | None

    @property
    def margin(self) -> float:
        """How far apart the two touch."""
        return self.named.margin if self.named else self.one.margin + self.other.margin

    @property
    def kinds(self) -> tuple[str, str]:
        """The kinds of the two shapes."""
        return self.one.kind, self.other.kind


class ContactElements:
    """A call on the mechanism, once it is there, that adds contacts: `most` at most, points and pairs together."""

    def __init__(self, model: NeutralModel, most: int) -> None:
        self._model, self._most = model, most
        self._remark = model.remarks.add
        self._rules = ContactRules(model)
        self._together = JoinedLinks()
        for joint in model.joints.values():
            if WORLD not in (joint.parent, joint.child):
                self._together.join(joint.parent, joint.child)
        self._footings: dict[str, _Footing] = {}
        self._boxes: dict[str, str] = {}

    def __call__(self, translation: NeutralTranslation) -> None:
        """Add the contacts."""
        self._translation, self._mechanism = translation, translation.mechanism
        meetings = [*self._meetings()]
        self._check_count(meetings)
        self._lift([meeting for meeting in meetings if meeting.other.kind == "plane"])
        for meeting in meetings:
            if meeting.other.kind == "plane":
                self._on_plane(meeting)
            else:
                self._between(meeting)
        if not meetings:
            planes = any(shape.kind == "plane" for shape in self._model.collisions.shapes)
            ground = "" if planes else ' (contacts="ground" makes a floor of the plane z = 0)'
            self._remark("not understood", f"contacts: no two shapes can meet that there are elements for{ground}")

    # ------------------------------------------------------------------ who meets whom

    def _meetings(self) -> Iterator[_Meeting]:
        """Yield the pairs of shapes for which contacts exist, and remark the others."""
        unknown: Counter[str] = Counter()
        for one, other, named in self._rules.meeting():
            found = self._in_order(_Meeting(one, other, named))
            if found is None:
                unknown[" and ".join(sorted((one.kind, other.kind)))] += 1
            elif all(side.kind == "plane" or side.name in self._points for side in found[:2]):
                yield found
        for kinds, count in unknown.items():
            self._remark("not understood", f"contact of bodies between {kinds}, which has no element ({count} pairs)")

    def _in_order(self, meeting: _Meeting) -> _Meeting | None:
        """Return two shapes in the order in which there is a contact for them, None if there is none."""
        for one, other in ((meeting.one, meeting.other), (meeting.other, meeting.one)):
            if other.kind == "plane" and one.kind != "plane" and self._rules.stands(other):
                return _Meeting(one, other, meeting.named)
            if one.kind in _ROUND and other.kind in (*_ROUND, "box"):
                return _Meeting(one, other, meeting.named)
        return None

    @cached_property
    def _points(self) -> dict[str, Touching]:
        """The points of all shapes that have some, by their names."""
        found: dict[str, Touching] = {}
        for shape in self._model.collisions.shapes:
            if shape.kind not in TOUCHING_KINDS:
                continue
            try:
                found[shape.name] = points_of(shape, self._model.around)
            except (ValueError, OSError) as error:
                reason = getattr(error, "strerror", None) or error
                self._remark("not understood", f"the shape {quoted(shape.name)} that collides: {reason}", shape.line)
        return found

    def _check_count(self, meetings: list[_Meeting]) -> None:
        points = sum(len(self._points[one.name].points) for one, other, _ in meetings if other.kind == "plane")
        pairs = sum(other.kind != "plane" for _, other, _ in meetings)
        if points + pairs > self._most:
            file = self._model.file
            raise FileError(
                f"{file}: {points} points of shapes can touch planes, and {pairs} pairs of shapes each other: that is "
                f"more than most_contacts={self._most}: ask for most_contacts={points + pairs}, or take shapes that "
                "need not collide out of the file",
                file=file,
            )

    # ------------------------------------------------------------------ where it starts

    def _lift(self, meetings: list[_Meeting]) -> None:
        """Lift robots that float without a place of their own out of the ground; tell of others that are deep in it."""
        deepest: dict[str, tuple[float, _Meeting]] = {}
        poses = poses_at(self._model)
        for meeting in meetings:
            group = self._together.of(meeting.one.link)
            depth = self._depth(meeting, poses)
            if depth > deepest.get(group, (0.0,))[0]:
                deepest[group] = depth, meeting
        for group, (depth, meeting) in deepest.items():
            floating = next((joint for joint in self._placeless if self._together.of(joint.child) == group), None)
            what = f"{quoted(meeting.one.name)} is {depth:.3g} m deep in {quoted(meeting.other.name)}"
            if floating is not None and meeting.other.is_of == _ALL:
                self._model.guess[floating.name] = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, depth)
                self._remark("guessed", f"the robot starts {depth:.3g} m higher: else {what}")
            elif depth > _DEEP * self._footing(meeting.one.link).depth:
                self._remark("changed", f"at the start {what}, from where it is pushed out")

    def _depth(self, meeting: _Meeting, poses: dict[str, Placement]) -> float:
        """Return how deep a shape is in a plane at the start, zero where that is not known."""
        one, other, _ = meeting
        if one.link not in poses:
            return 0.0
        touching, plane = self._points[one.name], self._standing[other.link] @ other.placement
        points = touching.placed(poses[one.link] @ one.placement) - np.array(plane.point)
        heights = points @ np.array(plane.rotation)[:, 2]
        return float(touching.radius + meeting.margin - heights.min())

    @cached_property
    def _placeless(self) -> list[NeutralJoint]:
        """The joints of floating bodies of which the file does not say where they start."""
        joints = (joint for joint in self._model.joints.values() if isinstance(joint.joint, Free))
        here = (WORLD, Placement(), Placement())
        return [
            joint
            for joint in joints
            if (joint.parent, joint.on_parent, joint.on_child) == here and joint.name not in self._model.guess
        ]

    # ------------------------------------------------------------------ elements

    def _on_plane(self, meeting: _Meeting) -> None:
        one, other, _ = meeting
        touching = self._points[one.name]
        plane = self._standing[other.link] @ other.placement
        normal = np.array(plane.rotation)[:, 2]
        if touching.missing:
            what = f"{one.kind} {quoted(one.name)} touches planes by {len(touching.points)} points"
            self._remark("changed", f"{what}, and reaches about {touching.missing:.2g} m farther", one.line)
        self._mechanism.contact(
            self._translation.force_name(f"{one.name} on {other.name}"),
            self._translation.place_name(one.link),
            points=touching.placed(one.placement).tolist(),
            radius=touching.radius + meeting.margin,
            normal=normal.tolist(),
            offset=float(normal @ np.array(plane.point)),
            **self._surface(meeting),
        )

    def _between(self, meeting: _Meeting) -> None:
        one, other, _ = meeting
        self._mechanism.contact_between(
            self._translation.force_name(f"{one.name} against {other.name}"),
            self._translation.place_name(one.link),
            self._box(other) if other.kind == "box" else self._translation.place_name(other.link),
            **_capsule(one, "", meeting.margin),
            **({"size_child": other.size} if other.kind == "box" else _capsule(other, "_child")),
            **self._surface(meeting),
        )

    def _box(self, shape: NeutralCollider) -> str:
        """Return the frame of a box, which is made when it is asked for first."""
        if shape.name not in self._boxes:
            name = self._boxes[shape.name] = self._translation.new_place(f"box {shape.name}")
            R, p = shape.placement.rotation, shape.placement.point
            self._mechanism.frame(name, on=self._translation.place_name(shape.link), at=p, rotation=R)
        return self._boxes[shape.name]

    @cached_property
    def _standing(self) -> dict[str, Placement]:
        """Where links are that are fixed to the ground."""
        fixed = [one for one in self._model.joints.values() if isinstance(one.joint, Fixed) and not one.closes]
        poses = {WORLD: Placement()}
        for joint, here, there in LinkGraph(fixed).walk(WORLD):
            onward = joint.on_parent @ joint.on_child.inverse()
            poses[there] = poses[here] @ (onward if joint.parent == here else onward.inverse())
        return poses

    # ------------------------------------------------------------------ surfaces

    def _surface(self, meeting: _Meeting) -> dict[str, Any]:
        """Return the parameters of a contact, by the keywords of its call."""
        sides = [side for side in meeting[:2] if not self._rules.stands(side)]
        # not empty: one side at least moves
        footing = max((self._footing(side.link) for side in sides), key=lambda one: one.hardness)
        stiffness, damping = self._own_spring(meeting, footing)
        friction = meeting.named.friction if meeting.named else self._friction(meeting.one, meeting.other)
        if friction:
            self._remark("changed", "friction of contacts takes hold smoothly")
        return {
            "stiffness": footing.stiffness if stiffness is None else stiffness,
            "damping": footing.damping if damping is None else damping,
            "friction": friction,
            "width": footing.depth,
            "speed": footing.slip,
        }

    def _own_spring(self, meeting: _Meeting, footing: _Footing) -> tuple[float | None, float | None]:
        """Return the stiffness and damping of two surfaces one behind the other as the file gives them, None if not."""
        springs = [side.stiffness for side in meeting[:2] if side.stiffness]
        dampers = [side.damping for side in meeting[:2] if side.damping is not None]
        if not springs:
            return None, None
        stiffness = 1 / sum(1 / k for k in springs)
        if stiffness <= STIFFEST_CONTACT * footing.hardness:
            return stiffness, min(dampers, default=None)
        self._remark(
            "changed",
            f"contacts that the file has as stiff as {stiffness:.3g} N/m are as stiff as all others: such are rigid",
            meeting.one.line,
        )
        return None, None

    def _friction(self, one: NeutralCollider, other: NeutralCollider) -> float:
        """Return the friction coefficient of two surfaces."""
        if one.priority != other.priority:
            first = max(one, other, key=lambda side: side.priority)
            return 0.0 if first.slippery else first.friction or 0.0
        if one.slippery and other.slippery:
            return 0.0
        given = [side.friction for side in (one, other) if side.friction is not None]
        if not given:
            self._remark("guessed", f"surfaces without a friction of their own have the coefficient {USUAL_FRICTION:g}")
        return (max if self._model.collisions.rougher_counts else min)(given, default=USUAL_FRICTION)

    def _footing(self, link: str) -> _Footing:
        group = self._together.of(link)
        if group not in self._footings:
            self._footings[group] = self._new_footing(group)
        return self._footings[group]

    def _new_footing(self, group: str) -> _Footing:
        """Make the stiffness and damping for a group of bodies, parameters of the mechanism, by (1)."""
        links = [link for link in self._model.links.values() if self._together.of(link.name) == group]
        mass = sum(float(link.properties.mass) for link in links) or 1.0
        g = math.hypot(*self._model.gravity) or USUAL_GRAVITY
        names = {link.name for link in links}
        shapes = [shape.name for shape in self._model.collisions.shapes if shape.link in names]
        # not empty: what touches has points
        length = max(self._points[name].extent for name in shapes if name in self._points)
        depth = SINKING * length
        k = 2 * mass * g / depth
        c = math.sqrt(k * mass)
        slip = CREEPING * math.sqrt(g * length)
        alone = len({self._together.of(one) for one in self._model.links}) == 1
        whose = "" if alone else f" of {self._translation.place_name(links[0].name)}"
        called = [self._translation.parameter_name(f"contact {what}{whose}") for what in ("stiffness", "damping")]
        self._remark(
            "guessed",
            f"contacts{whose} have the stiffness {k:.3g} N/m and the damping {c:.3g} N s/m, parameters "
            f"{quoted(called[0])} and {quoted(called[1])}: of {mass:.3g} kg and {length:.3g} m, so that one of them "
            f"sinks in by {1e3 * depth:.2g} mm under the whole weight; friction has taken hold at {slip:.2g} m/s",
        )
        parameter = self._mechanism.parameter
        return _Footing(parameter(called[0], k), parameter(called[1], c), depth, slip, k)


def _capsule(shape: NeutralCollider, end: str, margin: float = 0.0) -> dict[str, Any]:
    """Return a sphere or a capsule by the words of `contact_between`.

    >>> _capsule(NeutralCollider("ball", "b", "sphere", (0.5,)), "_child", 0.25)["radius_child"]
    0.75
    """
    R = np.array(shape.placement.rotation)
    radius, length = (*shape.size, 0.0)[:2]
    words = {"radius": radius + margin, "length": length, "axis": R[:, 2].tolist(), "at": shape.placement.point}
    return {f"{word}{end}": value for word, value in words.items()}
