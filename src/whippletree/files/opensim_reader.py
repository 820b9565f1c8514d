"""OpenSim models (.osim), as versions 3 and 4 write them: bodies, joints by functions of coordinates, and constraints.

In version 3 a body holds the joint that carries it; in version 4 joints are a set of their own, and have frames.
Muscles, actuators, contact and controllers are left out, and the report says so. Lengths are metres, angles radians.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import casadi as ca

from whippletree.elements.bodies import MassProperties
from whippletree.errors import ModelError
from whippletree.files.file_limits import OPEN_LOOP
from whippletree.files.neutral_model import NeutralFrame, NeutralLink, NeutralModel
from whippletree.files.opensim_elements import OpensimElements, at_its_line
from whippletree.files.opensim_frames import OpensimFrames
from whippletree.files.opensim_functions import read_function
from whippletree.files.opensim_joints import (
    FollowingCoordinate,
    MotionAxis,
    OpensimCoordinate,
    axes_of,
    chain,
    check_arguments,
    whole_turn,
)
from whippletree.files.opensim_looks import shapes_of
from whippletree.files.opensim_source import OpensimObjects
from whippletree.files.xml_source import XmlElement
from whippletree.model.element_registry import CoordinateLike
from whippletree.model.io.model_file import JointRange
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar

if TYPE_CHECKING:
    from whippletree.files.neutral_translation import NeutralTranslation

__all__ = ["read_opensim"]

_UNBOUNDED = 999.0
"""From this on a bound of a coordinate says that there is none."""

_READ_SETS = {"BodySet", "JointSet", "ConstraintSet", "ForceSet", "MarkerSet", "Ground", "gravity", "defaults"}
_WORDS = {"credits", "publications", "length_units", "force_units", "assembly_accuracy", "ModelVisualPreferences"}
_OF_BODY = {"mass", "mass_center", "inertia", "Joint", "components", "attached_geometry", "VisibleObject"}
_MOMENTS = tuple(f"inertia_{key}" for key in ("xx", "yy", "zz", "xy", "xz", "yz"))
_LOOKS = {"FrameGeometry", "display_preference", "visible"}
_OF_JOINT = {
    *("coordinates", "CoordinateSet", "frames", "SpatialTransform", "reverse", "radii_x_y_z", "parent_body"),
    *("location_in_parent", "orientation_in_parent", "location", "orientation"),
    *("socket_parent_frame", "socket_child_frame"),
    *("socket_parent_frame_connectee_name", "socket_child_frame_connectee_name"),
}


_OF_COORDINATE = {
    *("default_value", "default_speed_value", "range", "locked", "prescribed", "prescribed_function"),
    *("motion_type", "clamped", "is_free_to_satisfy_constraints"),
}
"""Properties of coordinates: the last three are about how people move them on a screen, and how to assemble them."""


def read_opensim(root: XmlElement) -> NeutralModel:
    """Read a model.

    >>> from whippletree.files.xml_source import parse_xml
    >>> text = b"<OpenSimDocument Version='40000'><Model name='m'><BodySet><objects><Body name='a'/></objects>"
    >>> list(read_opensim(parse_xml(text + b"</BodySet></Model></OpenSimDocument>", "m.osim")).links)
    ['a']
    """
    model = root if root.tag == "Model" else root.child("Model")
    if model is None:
        raise root.error("there is no <Model>: nothing to read")
    if model is root or model.child("DynamicsEngine") is not None or model.child("SimbodyEngine") is not None:
        raise model.error("this is a file of OpenSim 1: open and save it with OpenSim 3 or 4 first")
    return _OpensimReading(model).model()


class _OpensimReading:
    """The sets of a model: first bodies and frames, then coordinates, joints, constraints and forces."""

    def __init__(self, model: XmlElement) -> None:
        self._root, self._objects = model, OpensimObjects(model)
        self._m = NeutralModel(model.get("name") or "model", model.file, floating=True)
        self._joints: list[tuple[XmlElement, str]] = []
        self._coordinates: dict[str, OpensimCoordinate] = {}
        self._own: dict[int, list[str]] = {}
        self._following: list[FollowingCoordinate] = []

    def model(self) -> NeutralModel:
        """Return the whole model."""
        m, objects = self._m, self._objects
        self._check_units()
        x, y, z = objects.numbers(self._root, "gravity", count=3, default=(0.0, -9.80665, 0.0))
        m.gravity = (x, y, z)
        for ground in self._root.all("Ground"):
            self._remark_ground(ground)
        bodies = [*objects.members(self._root, "BodySet")]
        for body in bodies:
            self._body(body)
        self._joints += [(joint, "") for joint in objects.members(self._root, "JointSet")]
        self._frames = OpensimFrames(objects, self._root, m, [joint for joint, _ in self._joints])
        for joint, _ in self._joints:
            self._own[id(joint)] = [self._coordinate(one) for one in self._coordinate_elements(joint)]
        elements = OpensimElements(objects, m, self._frames, self._coordinates)
        elements.read(self._root)
        axes = [self._axes(joint) for joint, _ in self._joints]
        for (joint, body_name), moves in zip(self._joints, axes, strict=True):
            self._joint(joint, body_name, moves)
        self._following += elements.couplers
        self._markers()
        self._starts()
        self._remark_rest()
        m.later += [self._closure(one) for one in self._following] + elements.later + [*self._drives()]
        return m

    def _check_units(self) -> None:
        for tag, known in (("length_units", ("", "meters", "m")), ("force_units", ("", "N", "newtons"))):
            found = self._root.child(tag)
            if found is not None and found.text == "Unassigned":
                self._m.remarks.add("guessed", f"<{tag}> is not said: taken as {known[1]}", found.line)
            elif found is not None and found.text not in known:
                raise found.error(f"<{tag}> must be {known[1]}, got {found.text[:40]!r}")

    # ------------------------------------------------------------------ bodies

    def _body(self, element: XmlElement) -> None:
        name = element["name"]
        if element.tag != "Body":
            raise element.error(f"{element.tag} in <BodySet> is not read: it must be a Body")
        if name in self._m.links:
            raise element.error(f"there is a second body {quoted(name)}")
        holder = element.child("Joint")
        joints = [] if holder is None else holder.children
        if len(joints) > 1:
            raise joints[1].error(f"body {quoted(name)} has a second joint: there can be one only")
        self._remark_unknown(element, _OF_BODY | _LOOKS | {*_MOMENTS}, "a body")
        if name == "ground":
            self._remark_ground(element)
            return
        link = NeutralLink(name, self._properties(element), element.line)
        link.shapes = [*shapes_of(self._objects, element, Placement())]
        self._m.links[name] = link
        if joints:
            self._joints.append((joints[0], name))

    def _remark_ground(self, element: XmlElement) -> None:
        for _ in shapes_of(self._objects, element, Placement()):
            self._m.remarks.add("not understood", "what the ground looks like", element.line)

    def _properties(self, element: XmlElement) -> MassProperties:
        objects = self._objects
        moments = objects.numbers(element, "inertia", count=6) if objects.find(element, "inertia") is not None else ()
        xx, yy, zz, xy, xz, yz = moments or [objects.number(element, key) for key in _MOMENTS]
        try:
            return MassProperties.as_given(
                objects.number(element, "mass"),
                com=objects.point(element, "mass_center"),
                inertia=((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)),
            )
        except ModelError as error:
            raise element.error(f"body {quoted(element['name'])}: {error}") from None

    def _remark_unknown(self, element: XmlElement, known: set[str], what: str) -> None:
        for child in element.children:
            if child.tag == "WrapObjectSet":
                for wrap in self._objects.members(element, "WrapObjectSet"):
                    self._m.remarks.add("not understood", f"{wrap.tag}, around which muscles run", wrap.line)
            elif child.tag not in known and child.get("name") not in known:
                self._m.remarks.add("not understood", f"<{child.tag}> of {what}", child.line)

    # ------------------------------------------------------------------ joints

    def _coordinate_elements(self, joint: XmlElement) -> list[XmlElement]:
        return [*self._objects.members(joint, "coordinates", "CoordinateSet")]

    def _coordinate(self, element: XmlElement) -> str:
        """Read a coordinate and return its name."""
        name, objects = element["name"], self._objects
        if name in self._coordinates:
            raise element.error(f"there is a second coordinate {quoted(name)}")
        one = OpensimCoordinate(name, element)
        self._remark_unknown(element, _OF_COORDINATE, "a coordinate")
        one.start, one.speed = objects.number(element, "default_value"), objects.number(element, "default_speed_value")
        one.locked = objects.flag(element, "locked")
        if objects.flag(element, "prescribed") and not one.locked:
            one.law = read_function(objects, element, "prescribed_function")
            if one.law is None:
                raise element.error(f"coordinate {quoted(name)} is prescribed and has no <prescribed_function>")
            check_arguments(one.law, ["time"], element)
            one.start = float(one.law.value(0.0))
        bounds = objects.numbers(element, "range", count=2) if objects.text(element, "range") else ()
        if bounds and bounds[0] < bounds[1] and max(map(abs, bounds)) < _UNBOUNDED:  # not empty: there are two numbers
            one.range = JointRange(*bounds)
            self._m.remarks.add(
                "kept aside", "ranges of joints, which nothing enforces (stops=True does)", element.line
            )
        if one.locked:
            text = f"coordinate {quoted(name)} is locked: what it moves is fixed where it starts"
            self._m.remarks.add("changed", text, element.line)
        one.plain = not one.locked and one.law is None
        self._coordinates[name] = one
        return name

    def _axes(self, element: XmlElement) -> list[MotionAxis]:
        """Return how a joint moves; coordinates of other joints may have a part in it."""
        own = self._own[id(element)]
        axes = axes_of(self._objects, element, own)
        for axis in axes:
            for used in axis.coordinates:
                if used not in self._coordinates:
                    raise axis.element.error(f"there is no coordinate {suggestion(used, self._coordinates)}")
                if used not in own:
                    self._coordinates[used].plain = False
        return axes

    def _joint(self, element: XmlElement, body: str, axes: list[MotionAxis]) -> None:
        name, own = element.get("name") or f"joint of {body}", self._own[id(element)]
        if name in self._coordinates:
            name = f"joint {name}"
        if name in self._m.joints:
            raise element.error(f"there is a second joint {quoted(name)}")
        self._remark_unknown(element, _OF_JOINT | _LOOKS, "a joint")
        sides = self._frames.sides(element, body)
        mine = [self._coordinates[key] for key in own]
        if element.tag in ("BallJoint", "FreeJoint") and all(one.plain for one in mine):
            whole_turn(self._m, name, element, sides, mine)
        else:
            if element.tag in ("BallJoint", "FreeJoint", "EllipsoidJoint") and any(one.speed for one in mine):
                text = f"speeds of joint {quoted(name)} are taken as rates of its angles"
                self._m.remarks.add("changed", text, element.line)
            self._following += chain(self._m, name, element.line, sides, axes, own, self._coordinates)

    def _markers(self) -> None:
        for one in self._objects.members(self._root, "MarkerSet"):
            if one.tag != "Marker":
                continue
            link, on = self._frames.place(one, "socket_parent_frame", "socket_parent_frame_connectee_name", "body")
            at = Placement(point=self._objects.point(one, "location"))
            self._m.frames.append(NeutralFrame(one["name"], link, on @ at))

    # ------------------------------------------------------------------ start and closures

    def _starts(self) -> None:
        """Say where coordinates start: couplers go before a coordinate's own value."""
        m = self._m
        starts = {key: one.start for key, one in self._coordinates.items()}
        held = {one.target for one in self._following}
        fixed = {key for key, one in self._coordinates.items() if one.locked}
        m.dependent = [name for name in m.joints if name in held]
        for _ in range(len(self._following) + 1):  # couplers may follow one another, in any order
            before = dict(starts)
            for one in self._following:
                if one.target in fixed:
                    continue
                starts[one.target] = float(one.function.value(*(starts[key] for key in one.coordinates)))
            if starts == before:
                break
        for name, value in starts.items():
            coordinate = self._coordinates.get(name)
            if coordinate is not None and not coordinate.locked and abs(value - coordinate.start) > OPEN_LOOP:
                text = f"coordinate {quoted(name)} starts at {value:.6g}, where its coupler puts it, not at its default"
                m.remarks.add("changed", text, coordinate.element.line)
            if not math.isfinite(value):
                raise (coordinate.element if coordinate else self._root).error(f"{quoted(name)} starts at {value}")
            if value and name in m.joints:
                m.guess[name] = value
        for name, coordinate in self._coordinates.items():
            if not coordinate.speed or name not in m.joints:
                continue
            if name in held or coordinate.law is not None:
                text = f"the speed of coordinate {quoted(name)}, which follows from others"
                m.remarks.add("not understood", text, coordinate.element.line)
            else:
                m.velocities[name] = coordinate.speed

    def _symbol(self, name: str, translation: NeutralTranslation) -> Scalar:
        """Return a coordinate as an expression, or as a number if it is locked."""
        one = self._coordinates.get(name)
        if one is not None and one.locked:
            return one.start
        return translation.mechanism.coordinate(translation.joint_name(name))

    def _closure(self, one: FollowingCoordinate) -> Callable[[NeutralTranslation], None]:
        """Return the call that makes a coordinate follow others, once all joints are there."""

        def call(translation: NeutralTranslation) -> None:
            name = translation.closure_name(one.name)
            hold = self._follows if one.function.slopes is None else self._coupled
            if not hold(one, name, translation):
                text = f"{quoted(one.name)} couples coordinates that are locked: it holds nothing"
                self._m.remarks.add("changed", text, one.element.line)

        return at_its_line(one.element, call)

    def _follows(self, one: FollowingCoordinate, name: str, translation: NeutralTranslation) -> bool:
        """Close a coordinate by a function of others; return whether there is one that is not locked."""
        arguments = [self._symbol(key, translation) for key in one.coordinates]
        gap = ca.SX(self._symbol(one.target, translation) - one.function.value(*arguments))
        if not gap.is_constant():
            translation.mechanism.closure(name, gap)
        return not gap.is_constant()

    def _coupled(self, one: FollowingCoordinate, name: str, translation: NeutralTranslation) -> bool:
        """Couple coordinates by a linear function; return whether there is one that is not locked."""
        ratios: dict[CoordinateLike, Scalar] = {}
        offset = one.function.constant
        slopes = one.function.slopes or ()
        for key, ratio in [(one.target, 1.0), *((k, -slope) for k, slope in zip(one.coordinates, slopes, strict=True))]:
            coordinate = self._coordinates.get(key)
            if coordinate is not None and coordinate.locked:
                offset -= ratio * coordinate.start
            else:
                joint = translation.joint_name(key)
                ratios[joint] = ratios.get(joint, 0.0) + ratio
        ratios = {joint: ratio for joint, ratio in ratios.items() if ratio}
        if ratios:
            translation.mechanism.coupling(name, ratios, offset=offset)
        return bool(ratios)

    def _drives(self) -> list[Callable[[NeutralTranslation], None]]:
        """Return the calls that make coordinates follow their laws."""

        def drive(one: OpensimCoordinate, translation: NeutralTranslation) -> None:
            law, m = one.law, translation.mechanism
            assert law is not None
            name, joint = translation.closure_name(f"law of {one.name}"), translation.joint_name(one.name)
            m.drive(name, joint, position=ca.SX(law.value(m.time)))

        moved = [one for one in self._coordinates.values() if one.law is not None and one.name in self._m.joints]
        return [at_its_line(one.element, partial(drive, one)) for one in moved]

    # ------------------------------------------------------------------ the rest

    def _remark_rest(self) -> None:
        """Remark parts of the file that are not read."""
        for child in self._root.children:
            if child.tag in _READ_SETS | _WORDS:
                continue
            if child.get("file"):
                self._m.remarks.add("not understood", f"<{child.tag}>, which is in another file", child.line)
                continue
            members = [*self._objects.members(self._root, child.tag)] if child.tag.endswith("Set") else []
            for one in members:
                self._m.remarks.add("not understood", f"{one.tag} of <{child.tag}>", one.line)
            if child.text or (child.children and not members and child.child("objects") is None):
                self._m.remarks.add("not understood", f"<{child.tag}>", child.line)
