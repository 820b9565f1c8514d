"""The elements described so far, by name, and the lookup of names and handles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import UnionType
from typing import TYPE_CHECKING, TypeAlias, cast

import casadi as ca
import numpy as np

from whippletree.elements.bodies import BodyKind, OwnCoordinates
from whippletree.elements.closures import DeclaredClosure, Side
from whippletree.elements.forces import Force
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.model.argument_types import BodyLike, CoordinateLike, JointLike, PlaceLike
from whippletree.model.declared_order import DeclaredOrders
from whippletree.model.description import (
    GROUND,
    Body,
    ClosureUse,
    Description,
    EventUse,
    ForceUse,
    Frame,
    JointUse,
    StateUse,
)
from whippletree.model.handles import BodyHandle, ClosureHandle, ForceHandle, FrameHandle, JointHandle
from whippletree.model.joint_frames import Sides
from whippletree.model.names import called, checked_name, new_name, quoted, suggestion
from whippletree.model.parameters import Parameters
from whippletree.model.symbols import MechanismSymbols
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Vector3, VectorLike, shown, vector

if TYPE_CHECKING:
    from whippletree.model.mechanism import Mechanism

__all__ = ["BodyLike", "CoordinateLike", "CoordinateUse", "JointLike", "PlaceLike", "Registry", "SideLike", "SideUse"]

SideLike: TypeAlias = PlaceLike | tuple[PlaceLike, VectorLike]
SideUse: TypeAlias = tuple[str, Placement]
CoordinateUse: TypeAlias = tuple[str, int]

_KINDS: dict[type, str] = {
    BodyHandle: "body",
    FrameHandle: "frame",
    JointHandle: "joint",
    ClosureHandle: "closure",
    ForceHandle: "force",
}


@user_facing
class Registry:
    """The elements declared so far.

    >>> Registry("m").name
    'm'
    """

    def __init__(self, name: str) -> None:
        with called("mechanism", name):
            self._name = checked_name(name)
        self._gravity: Vector3 = (0.0, 0.0, 0.0)
        self._parameters = Parameters()
        self._symbols = MechanismSymbols()
        self._bodies: dict[str, Body] = {}
        self._joints: dict[str, JointUse] = {}
        self._closures: dict[str, ClosureUse] = {}
        self._frames: dict[str, Frame] = {}
        self._forces: dict[str, ForceUse] = {}
        self._states: dict[str, StateUse] = {}
        self._events: dict[str, EventUse] = {}
        self._moving_frames: dict[str, str] = {}  # the body of each moving frame
        self._forwarded: dict[str, str] = {}  # places of a body in several parts, by their names on the whole
        self._orders = DeclaredOrders()
        self._ground = BodyHandle(GROUND, self._self)

    @property
    def name(self) -> str:
        """The mechanism's name."""
        return self._name

    def __contains__(self, name: object) -> bool:
        """Tell whether a joint, body, frame or state of this name has been declared.

        >>> "arm" in Registry("m")
        False
        """
        return isinstance(name, str) and any(
            name in group for group in (self._joints, self._bodies, self._frames, self._states)
        )

    def __setstate__(self, description: Description) -> None:
        """Declare everything that is described, as it is."""
        self._gravity = description.gravity
        self._parameters = Parameters(description.parameters)
        self._bodies.update({body.name: body for body in description.bodies})
        self._joints.update({use.name: use for use in description.joints})
        self._closures.update({use.name: use for use in description.closures})
        self._frames.update({frame.name: frame for frame in description.frames})
        self._forces.update({use.name: use for use in description.forces})
        self._states.update({use.name: use for use in description.states})
        self._events.update({use.name: use for use in description.events})

    @property
    def _self(self) -> Mechanism:
        """The mechanism that this is."""
        return cast("Mechanism", self)

    def _new_joint_name(self, name: object) -> str:
        """Return a name that no joint and no closure has yet."""
        text = new_name(name, self._joints, "joints and closures")
        if text in self._bodies and self._bodies[text].kind is not None:
            raise ModelError(f'body "{text}" has own coordinates, which are found by its name: choose another')
        return new_name(text, self._closures, "joints and closures")

    def _new_place_name(self, name: object) -> str:
        """Return a name that no body and no frame has yet."""
        text = new_name(name, self._bodies, "bodies and frames")
        text = new_name(text, self._moving_frames, "bodies and frames")
        if text == GROUND:
            raise ModelError(f'the name "{GROUND}" belongs to the ground: choose another')
        return new_name(text, self._frames, "bodies and frames")

    def _held(
        self, element: DeclaredClosure | Force, on: object, coordinates: object
    ) -> tuple[tuple[SideUse, ...], tuple[CoordinateUse, ...]]:
        """Return the sides and coordinates that an element is given, as many as its type says."""
        sides = tuple(self._side_use(each) for each in _listed(on))
        where = tuple(self._coordinate(each) for each in _listed(coordinates))
        for given, count, word, key in (
            (sides, element.n_sides, "frames", "on"),
            (where, element.n_coordinates, "joint coordinates", "coordinates"),
        ):
            if len(given) != count:
                what = type(element).__name__
                raise ModelError(f"{what} is between {count} {word}: give as many by {key}=, got {len(given)}")
        return sides, where

    def _side_use(self, side: object) -> SideUse:
        """Return the frame at a place, or at a point of a place."""
        place, point = side if type(side) is tuple and len(side) == 2 else (side, (0.0, 0.0, 0.0))
        body, placement = self._placed(self._place_name(place, "on"))
        at = vector(point, "the point")
        self._parameters.check(at, "the point")
        return body, placement @ Placement(point=at)

    def _two_bodies(self, parent: object, child: object, what: str) -> tuple[str, str]:
        """Return the names of two different bodies."""
        names = self._body_name(parent, "parent"), self._body_name(child, "child")
        if self._moving_frames.get(names[0], names[0]) == self._moving_frames.get(names[1], names[1]):
            raise ModelError(f'parent and child are both "{names[0]}": {what} needs two different bodies')
        return names

    def _at_moving_frames(self, parent: str, child: str, sides: Sides) -> tuple[str, str, Sides]:
        """Return the places and sides of a joint whose points may be given as names of moving frames."""
        if isinstance(sides.at, str):
            parent, sides = self._moving_frame(parent, sides.at, "at"), replace(sides, at=None)
        if isinstance(sides.at_child, str):
            child, sides = self._moving_frame(child, sides.at_child, "at_child"), replace(sides, at_child=None)
        return parent, child, sides

    def _moving_frame(self, body: str, frame: str, role: str) -> str:
        """Return the name of a body's moving frame."""
        if f"{body}.{frame}" in self._forwarded:
            return self._forwarded[f"{body}.{frame}"]
        known = [name for name, on in self._moving_frames.items() if on == body]
        if f"{body}.{frame}" in known:
            return f"{body}.{frame}"
        there = ", ".join(quoted(name.removeprefix(f"{body}.")) for name in known)
        raise ModelError(
            f"{role}: body {quoted(body)} has no moving frame {quoted(frame)}; "
            + (f"it has {there}" if known else "only bodies with own coordinates have any: give a point")
        )

    def _body_name(self, body: object, role: str) -> str:
        """Return the name of a body of this mechanism, given by handle or by name."""
        name = self._named(body, BodyHandle, "body", role)
        if isinstance(name, str):
            name = self._forwarded.get(name, name)
        if isinstance(name, str) and name in self._moving_frames:
            return str.__str__(name)
        if isinstance(name, str) and name in self._frames:
            raise ModelError(f"{role} {quoted(name)} is a frame: give a body")
        if isinstance(name, str) and (name == GROUND or name in self._bodies):
            return str.__str__(name)
        raise ModelError(f"{role}: there is no body {suggestion(name, [GROUND, *self._bodies, *self._moving_frames])}")

    def _joint_name(self, joint: object) -> str:
        """Return the name of a joint of this mechanism, given by handle or by name."""
        name = self._named(joint, JointHandle, "joint", "joint")
        if isinstance(name, str) and name in self._joints:
            return str.__str__(name)
        raise ModelError(f"there is no joint {suggestion(name, self._joints)}")

    def _place_name(self, place: object, role: str) -> str:
        """Return the name of a body or frame of this mechanism, given by handle or by name."""
        name = self._named(place, BodyHandle | FrameHandle, "body or a frame", role)
        if isinstance(name, str) and (
            name == GROUND or name in self._bodies or name in self._frames or name in self._moving_frames
        ):
            return str.__str__(name)
        places = [GROUND, *self._bodies, *self._frames, *self._moving_frames]
        raise ModelError(f"there is no body or frame {suggestion(name, places)}")

    def _add_own_coordinates(self, name: str, kind: BodyKind) -> None:
        """Take up the moving frames and the internal force of a body with own coordinates."""
        for frame in kind.frames:
            self._moving_frames[f"{name}.{frame}"] = name
        force = kind.internal_force()
        if force is not None:
            coordinates = tuple((name, i) for i in range(kind.n_own))
            self._forces[new_name(name, self._forces, "forces")] = ForceUse(name, force, (), coordinates, ())

    def _side(self, place: object) -> Side:
        """Return the symbols of a body or frame; numbers and parameters if it is on the ground."""
        name = self._place_name(place, "place")
        body, placement = self._placed(name)
        if body != GROUND:
            return self._symbols.place(name)
        point = ca.densify(ca.vertcat(*map(ca.SX, placement.point)))
        return Side(ca.SX(placement.rotation), point, ca.SX.zeros(3), ca.SX.zeros(3))

    def _placed(self, place: str) -> tuple[str, Placement]:
        """Return the body that a body or frame is on, and its placement there."""
        frame = self._frames.get(place)
        return (place, Placement.identity()) if frame is None else (frame.body, frame.placement)

    def _named(self, given: object, handles: type | UnionType, wanted: str, role: str) -> object:
        """Return the name in a handle of this mechanism and of the right kind; other arguments as they are."""
        if not isinstance(given, BodyHandle | FrameHandle | JointHandle | ClosureHandle | ForceHandle):
            return given
        kind = _KINDS[type(given)]
        if not isinstance(given, handles):
            raise ModelError(f"{role} {quoted(given.name)} is a {kind}: give a {wanted}")
        if given.mechanism is not self:
            other = given.mechanism.name
            raise ModelError(f'{role} {quoted(given.name)} is a {kind} of another mechanism, "{other}"')
        return given.name

    def _coordinate(self, key: object) -> tuple[str, int]:
        """Return a joint's name and the index of one of its coordinates."""
        joint, index = key if type(key) is tuple and len(key) == 2 else (key, 0)
        name = getattr(joint, "name", joint)
        if isinstance(name, str) and name in self._bodies and self._bodies[name].kind is not None:
            return name, _index(index, self._own_coordinates(name))
        name = self._joint_name(joint)
        return name, _index(index, self._joints[name])

    @property
    def _place_order(self) -> Mapping[str, int]:
        """Bodies, frames and moving frames, with their places in the declared order."""
        return self._orders.get("places", self._bodies, self._frames, self._moving_frames)

    @property
    def _coordinate_order(self) -> Mapping[str, int]:
        """The places of joints with coordinates, then of bodies with own coordinates, in their order.

        Bodies without any are in it as well, which does not change the order of the others.
        """
        return self._orders.get("coordinates", self._joints, self._bodies)

    def _own_coordinates(self, body: str) -> JointUse:
        """Return the own coordinates of a body, told like those of a joint."""
        here, kind = Placement.identity(), self._bodies[body].kind
        assert kind is not None
        return JointUse(body, OwnCoordinates(kind), body, body, here, here, False)

    def _freedom(self, key: tuple[object, object]) -> tuple[str, int]:
        """Return a joint's name and the index of one of its freedoms, which may be those of a quaternion."""
        joint, index = key
        name = self._joint_name(joint)
        return name, _index(index, self._joints[name], of_rates=True)


def _listed(given: object) -> list[object]:
    """Return an argument as a list; one alone may be a name, a handle, or a pair of such and an index or a point."""
    if type(given) is tuple and len(given) == 2 and _is_name(given[0]) and not _is_name(given[1]):
        whole = isinstance(given[1], tuple) and len(given[1]) == 2  # which is a pair by itself
        return [*given] if whole else [given]
    return [*given] if isinstance(given, list | tuple) else [given]


def _is_name(given: object) -> bool:
    return isinstance(given, str | BodyHandle | FrameHandle | JointHandle | ClosureHandle | ForceHandle)


def _index(index: object, use: JointUse, *, of_rates: bool = False) -> int:
    """Return the index of a coordinate whose rate is a velocity of the joint, or of a velocity."""
    joint, what = use.joint, f'joint "{use.name}"'
    if joint.nv == 0:
        raise ModelError(f"{what} is {joint.kind} and has no coordinates")
    if joint.quaternion and not of_rates:
        raise ModelError(
            f"{what} is {joint.kind}: its coordinates are a quaternion, which is of no use in a coupling or an "
            "expression; write an expression in .rotation, .position and .velocity of its bodies"
        )
    whole = isinstance(index, int | np.integer) and not isinstance(index, bool | np.bool_)
    if whole and 0 <= index < joint.nv:  # type: ignore[operator]
        return int(index)  # type: ignore[call-overload, no-any-return]
    labels, word = (joint.velocity_labels, "freedom") if of_rates else (joint.position_labels, "coordinate")
    there = ", ".join(f"{k} ({label})" for k, label in enumerate(labels))
    if whole:
        raise ModelError(f"{what} has no {word} {index}; it has {there}")
    raise ModelError(f"the index of a {word} must be a whole number, got {shown(index)}; {what} has {there}")
