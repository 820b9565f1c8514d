"""Joints of OpenSim as chains of hinges and slides whose coordinates follow functions.

A custom joint moves its child by six functions of its coordinates: slides along three axes of the parent's joint frame,
then turns about three axes one after another,

    X = T(a4 f4) T(a5 f5) T(a6 f6) R(a1, f1) R(a2, f2) R(a3, f3).

Each axis that moves is a hinge or a slide, with bodies without mass between them. A coordinate is that of the first
axis that it moves one to one, under its own name; every other axis has a closure which says that its displacement is
its function of the coordinates. A coordinate that no axis has for its own is that of a body without mass on the parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.elements.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from whippletree.files.file_limits import ZERO_AXIS
from whippletree.files.neutral_model import NeutralJoint, NeutralLink, NeutralModel
from whippletree.files.opensim_functions import OpensimFunction, linear, read_function
from whippletree.files.opensim_source import OpensimObjects
from whippletree.files.poses import about_axis, from_turns, quaternion_of, with_axis
from whippletree.files.xml_source import XmlElement
from whippletree.model.io.model_file import JointRange
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar

__all__ = [
    "FollowingCoordinate",
    "JointSides",
    "MotionAxis",
    "OpensimCoordinate",
    "axes_of",
    "chain",
    "check_arguments",
    "whole_turn",
]

_ROTATIONS = ("rotation1", "rotation2", "rotation3")
_TRANSLATIONS = ("translation1", "translation2", "translation3")
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

_SIMPLE: dict[str, tuple[str, ...]] = {
    "WeldJoint": (),
    "PinJoint": ("rotation z",),
    "SliderJoint": ("translation x",),
    "UniversalJoint": ("rotation x", "rotation y"),
    "GimbalJoint": ("rotation x", "rotation y", "rotation z"),
    "BallJoint": ("rotation x", "rotation y", "rotation z"),
    "EllipsoidJoint": ("rotation x", "rotation y", "rotation z"),
    "PlanarJoint": ("rotation z", "translation x", "translation y"),
    "FreeJoint": ("rotation x", "rotation y", "rotation z", "translation x", "translation y", "translation z"),
}
"""The motions of the coordinates of each kind of joint, in their order; turns come after slides, one after another."""


@dataclass
class OpensimCoordinate:
    """A coordinate: where it stands at the start, and whether something holds or moves it there."""

    name: str
    element: XmlElement
    start: float = 0.0
    speed: float = 0.0
    locked: bool = False
    law: OpensimFunction | None = None
    range: JointRange | None = None
    turns: bool = False
    """It is the angle of a hinge."""
    plain: bool = True
    """Nothing but the joint itself knows it: no coupler, spring, lock or law."""


class MotionAxis(NamedTuple):
    """A slide along an axis or a turn about it, by a function of coordinates."""

    label: str
    turns: bool
    axis: tuple[float, ...]
    function: OpensimFunction
    coordinates: tuple[str, ...]
    element: XmlElement


class FollowingCoordinate(NamedTuple):
    """A coordinate that is a function of others: that of an axis, or one that a coupler holds."""

    name: str
    target: str
    function: OpensimFunction
    coordinates: tuple[str, ...]
    element: XmlElement


class JointSides(NamedTuple):
    """The two links of a joint, and its frames on them."""

    parent: str
    child: str
    on_parent: Placement
    on_child: Placement

    def turned(self) -> JointSides:
        """Return the sides of a joint that is described from its child to its parent."""
        return JointSides(self.child, self.parent, self.on_child, self.on_parent)


# ---------------------------------------------------------------------- axes of a joint


def axes_of(objects: OpensimObjects, joint: XmlElement, coordinates: Sequence[str]) -> list[MotionAxis]:
    """Return how a joint moves: slides first, then turns."""
    if joint.tag == "CustomJoint":
        return _custom_axes(objects, joint, coordinates)
    words = _SIMPLE.get(joint.tag)
    if words is None:
        raise joint.error(f"no joint of the type {suggestion(joint.tag, ['CustomJoint', *_SIMPLE])} is read here")
    if len(coordinates) != len(words):
        raise joint.error(f"{joint.tag} has {len(words)} coordinates, got {len(coordinates)}")
    found = [_simple_axis(joint, word, name) for word, name in zip(words, coordinates, strict=True)]
    if joint.tag == "EllipsoidJoint":
        found += _on_an_ellipsoid(objects, joint, coordinates)
    return sorted(found, key=lambda axis: axis.turns)


def _simple_axis(joint: XmlElement, word: str, coordinate: str) -> MotionAxis:
    kind, _, letter = word.partition(" ")
    axis = {"x": _X, "y": _Y, "z": _Z}[letter]
    return MotionAxis(word, kind == "rotation", axis, linear(0.0, slopes=[1.0]), (coordinate,), joint)


def _on_an_ellipsoid(objects: OpensimObjects, joint: XmlElement, coordinates: Sequence[str]) -> list[MotionAxis]:
    """The child's origin is where the ellipsoid's normal is its z axis: (a n_x, b n_y, c n_z) for that axis n."""
    radii = objects.numbers(joint, "radii_x_y_z", count=3)
    if len(radii) != 3:
        raise joint.error("an EllipsoidJoint has <radii_x_y_z>")
    names = tuple(coordinates[:2])
    a, b, c = radii
    functions: list[Callable[[Scalar, Scalar], ca.SX]] = [
        lambda x, y: a * ca.sin(y),
        lambda x, y: -b * ca.sin(x) * ca.cos(y),
        lambda x, y: c * ca.cos(x) * ca.cos(y),
    ]
    return [
        MotionAxis(f"translation {letter}", False, axis, OpensimFunction(function), names, joint)
        for letter, axis, function in zip("xyz", (_X, _Y, _Z), functions, strict=True)
    ]


def _custom_axes(objects: OpensimObjects, joint: XmlElement, coordinates: Sequence[str]) -> list[MotionAxis]:
    transform = joint.needed("SpatialTransform")
    given = {element.get("name"): element for element in transform.all("TransformAxis")}
    for element in transform.children:
        if element.tag != "TransformAxis" or element.get("name") not in _ROTATIONS + _TRANSLATIONS:
            known = ", ".join(_ROTATIONS + _TRANSLATIONS)
            raise element.error(f"<SpatialTransform> has <TransformAxis> for {known}, and nothing else")
    found = []
    for names in (_TRANSLATIONS, _ROTATIONS):
        for name, default in zip(names, (_X, _Y, _Z), strict=True):
            if name in given:
                found.append(_axis(objects, given[name], default, names is _ROTATIONS))
    return found


def _axis(objects: OpensimObjects, element: XmlElement, default: tuple[float, ...], turns: bool) -> MotionAxis:
    axis = objects.numbers(element, "axis", count=3, default=default)
    size = float(np.linalg.norm(axis))
    if size < ZERO_AXIS:
        raise element.error("the axis has no direction: all its entries are zero")
    names = tuple(objects.words(element, "coordinates"))
    function = read_function(objects, element, "function", ("coordinates", "axis"))
    if function is None:
        function = linear(0.0, slopes=[1.0] * len(names))
    check_arguments(function, names, element)
    unit = tuple(x / size for x in axis)
    return MotionAxis(element["name"], turns, unit, function, names if function.slopes != () else (), element)


def check_arguments(function: OpensimFunction, names: Sequence[str], element: XmlElement) -> None:
    """Refuse a function of another number of coordinates than it is given."""
    wanted = 1 if function.slopes is None else len(function.slopes)
    if wanted and wanted != len(names):
        raise element.error(f"the function takes {wanted} coordinates, and {len(names)} are named")


# ---------------------------------------------------------------------- the chain


def bound(
    function: OpensimFunction, names: Sequence[str], fixed: Mapping[str, float]
) -> tuple[OpensimFunction, tuple[str, ...]]:
    """Return a function with some of its coordinates at fixed values, and the names of the others.

    >>> function, names = bound(linear(1.0, slopes=[2.0, 3.0]), ["a", "b"], {"a": 10.0})
    >>> function.value(1.0), function.slopes, names
    (24.0, (3.0,), ('b',))
    """
    free = tuple(name for name in names if name not in fixed)
    if function.slopes is not None:
        pairs = [*zip(names, function.slopes, strict=True)] if function.slopes else []
        constant = sum((slope * fixed[name] for name, slope in pairs if name in fixed), function.constant)
        return linear(constant, slopes=[slope for name, slope in pairs if name not in fixed]), free
    if not free:
        return linear(float(function.value(*(fixed[name] for name in names)))), ()

    def value(*x: Scalar) -> Scalar:
        given = dict(zip(free, x, strict=True))
        return function.value(*(fixed.get(name, given.get(name)) for name in names))

    return OpensimFunction(value), free


def chain(
    model: NeutralModel,
    name: str,
    line: int,
    sides: JointSides,
    axes: Iterable[MotionAxis],
    own: Sequence[str],
    coordinates: Mapping[str, OpensimCoordinate],
) -> list[FollowingCoordinate]:
    """Add the hinges and slides of a joint to a model; return the coordinates that follow others."""
    fixed = {key: one.start for key, one in coordinates.items() if one.locked}
    moves = [_Move(axis, *bound(axis.function, axis.coordinates, fixed)) for axis in axes]
    carriers = _carriers(moves, own)
    links = iter(_links(model, name, sides, sum(move.moving for move in moves), line))
    here, pending = next(links), sides.on_parent  # not empty: the first link is the parent
    following: list[FollowingCoordinate] = []
    last: NeutralJoint | None = None
    for k, (axis, function, names) in enumerate(moves):
        along, carried = with_axis(axis.axis), carriers.get(k)
        if carried is not None or not moves[k].moving:
            pending = pending @ along @ _displaced(axis.turns, function.constant) @ along.inverse()
        if not moves[k].moving:
            continue
        label = f"{name} {axis.label}" if carried is None else carried
        if carried is None:
            following.append(FollowingCoordinate(f"law of {label}", label, function, names, axis.element))
        else:
            coordinates[carried].turns = axis.turns
            if function.slopes == (-1.0,):
                along = with_axis([-x for x in axis.axis])
        if label in model.joints:
            raise axis.element.error(f"there is a second joint or coordinate {quoted(label)}")
        there = next(links)  # not empty: one behind each joint that moves
        last = NeutralJoint(
            label, Revolute() if axis.turns else Prismatic(), here, there, pending @ along, along, axis.element.line
        )
        last.range = None if carried is None else coordinates[carried].range
        model.joints[label] = last
        here, pending = there, Placement()
    if last is None:
        model.joints[name] = NeutralJoint(name, Fixed(), *sides[:2], pending, sides.on_child, line)
    else:
        last.on_child = sides.on_child @ pending.inverse() @ last.on_child
    _uncarried(model, sides, moves, {*carriers.values()}, own, coordinates)
    return following


class _Move(NamedTuple):
    """An axis with its function of those coordinates that are not locked."""

    axis: MotionAxis
    function: OpensimFunction
    names: tuple[str, ...]

    @property
    def moving(self) -> bool:
        return bool(self.names) and (self.function.slopes is None or any(self.function.slopes))


def _displaced(turns: bool, value: float) -> Placement:
    return about_axis(value) if turns else about_axis(0.0, value)


def _carriers(moves: Sequence[_Move], own: Sequence[str]) -> dict[int, str]:
    """Return for each coordinate the axis that it moves one to one: turns before slides."""
    order = sorted(range(len(moves)), key=lambda k: not moves[k].axis.turns)
    found: dict[int, str] = {}
    for name in own:
        for k in order:
            _, function, names = moves[k]
            if k not in found and names == (name,) and function.slopes in ((1.0,), (-1.0,)):
                found[k] = name
                break
    return found


def _links(model: NeutralModel, name: str, sides: JointSides, count: int, line: int) -> list[str]:
    """Return the links of a chain, with bodies without mass between its joints."""
    between = [f"{sides.child} behind {name} {k}" for k in range(1, count)]
    for link in between:
        model.links[link] = NeutralLink(link, line=line)
    return [sides.parent, *between, sides.child]


def _uncarried(
    model: NeutralModel,
    sides: JointSides,
    moves: Sequence[_Move],
    carried: set[str],
    own: Sequence[str],
    coordinates: Mapping[str, OpensimCoordinate],
) -> None:
    """Give a body without mass, where the joint is, to each coordinate that no axis has for its own."""
    for name in own:
        one = coordinates[name]
        if name in carried or one.locked:
            continue
        users = [move.axis for move in moves if name in move.names]
        link, line = f"coordinate {name}", one.element.line
        if not users and one.plain:
            model.remarks.add("not understood", f"coordinate {quoted(name)}, which moves nothing", line)
            continue
        kind: Joint = Revolute() if any(axis.turns for axis in users) else Prismatic()
        model.links[link] = NeutralLink(link, line=line)
        at = sides.parent, link, sides.on_parent, Placement()
        model.joints[name] = NeutralJoint(name, kind, *at, line, range=one.range)


def whole_turn(
    model: NeutralModel, name: str, joint: XmlElement, sides: JointSides, coordinates: Sequence[OpensimCoordinate]
) -> None:
    """Add a ball or free joint whose coordinates nothing else names: its turn is one, without angles."""
    starts, speeds = ([getattr(one, key) for one in coordinates] for key in ("start", "speed"))
    R = from_turns("xyz", starts[:3])
    kind: Joint = Spherical() if joint.tag == "BallJoint" else Free()
    model.joints[name] = NeutralJoint(name, kind, *sides, joint.line)
    if any(starts):
        model.guess[name] = (*quaternion_of(R), *starts[3:])
    if any(speeds):  # of the child in the parent's joint frame, there
        turned = np.array(R).T
        parts = [turned @ speeds[k : k + 3] for k in range(0, len(speeds), 3)]
        model.velocities[name] = tuple(float(x) for part in parts for x in part)
    names = ", ".join(quoted(one.name) for one in coordinates)
    model.remarks.add(
        "changed", f"joint {quoted(name)} turns as a whole, without the angles of its coordinates {names}", joint.line
    )
