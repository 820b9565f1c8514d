"""Constraints and forces of OpenSim models: those that have their like here; the others are remarked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import casadi as ca
import numpy as np

from whippletree.elements.joints import Fixed, Joint, Spherical
from whippletree.errors import ModelError
from whippletree.files.file_limits import ZERO_AXIS
from whippletree.files.neutral_model import NeutralJoint, NeutralModel
from whippletree.files.opensim_frames import OpensimFrames
from whippletree.files.opensim_functions import read_function
from whippletree.files.opensim_joints import FollowingCoordinate, OpensimCoordinate, check_arguments
from whippletree.files.opensim_source import OpensimObjects
from whippletree.files.xml_source import XmlElement
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.orientation import axis_rotation
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Vector3

if TYPE_CHECKING:
    from whippletree.files.neutral_translation import NeutralTranslation

__all__ = ["OpensimElements", "at_its_line"]

Call: TypeAlias = "Callable[[NeutralTranslation], None]"


class OpensimElements:
    """The constraints and forces of a model beside its joints: `couplers`, and calls that come `later`."""

    def __init__(
        self,
        objects: OpensimObjects,
        model: NeutralModel,
        frames: OpensimFrames,
        coordinates: dict[str, OpensimCoordinate],
    ) -> None:
        self._objects, self._m, self._frames, self._coordinates = objects, model, frames, coordinates
        self.couplers: list[FollowingCoordinate] = []
        self.later: list[Call] = []

    def read(self, root: XmlElement) -> None:
        """Read the sets of constraints and forces."""
        constraints = {
            "CoordinateCouplerConstraint": self._coupler,
            "PointConstraint": self._point,
            "WeldConstraint": self._weld,
            "ConstantDistanceConstraint": self._distance,
            "PointOnLineConstraint": self._on_line,
        }
        forces = {
            "SpringGeneralizedForce": self._coordinate_spring,
            "CoordinateLimitForce": self._stops,
            "PointToPointSpring": self._spring,
            "BushingForce": self._bushing,
        }
        for group, readers, what in (("ConstraintSet", constraints, "exact"), ("ForceSet", forces, "forces")):
            for element in self._objects.members(root, group):
                reader = readers.get(element.tag)
                name = element.get("name")
                if reader is None:
                    text = f"{element.tag}, which is left out" if what == "forces" else f"{element.tag} {quoted(name)}"
                    self._m.remarks.add("not understood", text, element.line)
                elif not self._objects.enabled(element):
                    self._m.remarks.add("kept aside", f"{element.tag} {quoted(name)}, which is disabled", element.line)
                else:
                    reader(element, name or f"{element.tag} in line {element.line}")

    def _named(self, element: XmlElement, name: str) -> OpensimCoordinate:
        if name not in self._coordinates:
            raise element.error(f"there is no coordinate {suggestion(name, self._coordinates)}")
        one = self._coordinates[name]
        one.plain = False
        return one

    # ------------------------------------------------------------------ constraints

    def _coupler(self, element: XmlElement, name: str) -> None:
        target = self._objects.text(element, "dependent_coordinate_name")
        names = tuple(self._objects.words(element, "independent_coordinate_names"))
        for one in (target, *names):
            self._named(element, one)
        function = read_function(self._objects, element, "coupled_coordinates_function")
        if function is None:
            raise element.error(f"{quoted(name)} has no <coupled_coordinates_function>")
        check_arguments(function, names, element)
        scaled = function.scaled(self._objects.number(element, "scale_factor", default=1.0))
        self.couplers.append(FollowingCoordinate(name, target, scaled, names if scaled.slopes != () else (), element))

    def _side(self, element: XmlElement, number: int) -> tuple[str, Placement]:
        """Return a side of a constraint or a force between two bodies or frames."""
        names = [f"socket_body_{number}", f"socket_body_{number}_connectee_name", f"body_{number}"]
        names += [f"socket_frame{number}", f"socket_frame{number}_connectee_name"]
        names += [f"socket_body{number}", f"socket_body{number}_connectee_name", f"body{number}"]
        link, on = self._frames.place(element, *names)
        at = Placement(point=self._objects.point(element, f"location_body_{number}", f"point{number}"))
        return link, on @ at @ self._frames.pose(element, "", f"orientation_body_{number}")

    def _closing(self, element: XmlElement, name: str, joint: Joint) -> None:
        if name in self._m.joints:
            raise element.error(f"there is a joint or constraint {quoted(name)} already")
        (parent, on_parent), (child, on_child) = self._side(element, 1), self._side(element, 2)
        self._m.joints[name] = NeutralJoint(name, joint, parent, child, on_parent, on_child, element.line, closes=True)

    def _point(self, element: XmlElement, name: str) -> None:
        self._closing(element, name, Spherical())

    def _weld(self, element: XmlElement, name: str) -> None:
        self._closing(element, name, Fixed())

    def _distance(self, element: XmlElement, name: str) -> None:
        length = self._objects.number(element, "constant_distance", default=1.0)

        def call(translation: NeutralTranslation, label: str, places: list[str], points: list[Vector3]) -> None:
            translation.mechanism.distance(label, *places, length=length, at=points[0], at_child=points[1])

        self._between(element, name, call, [self._side(element, 1), self._side(element, 2)], "closure")

    def _on_line(self, element: XmlElement, name: str) -> None:
        """A point of one body is on a line of another: in two planes through it."""
        objects = self._objects
        line, on_line = self._frames.place(element, "socket_line_body", "socket_line_body_connectee_name", "line_body")
        body, on_body = self._frames.place(
            element, "socket_follower_body", "socket_follower_body_connectee_name", "follower_body"
        )
        way = objects.point(element, "line_direction_vec")
        if np.linalg.norm(way) < ZERO_AXIS:
            raise element.error("the line has no direction: all entries of <line_direction_vec> are zero")
        R = np.array(on_line.rotation) @ np.array(axis_rotation(tuple(x / np.linalg.norm(way) for x in way)))  # type: ignore[arg-type]
        sides = [
            (line, on_line @ Placement(point=objects.point(element, "point_on_line"))),
            (body, on_body @ Placement(point=objects.point(element, "point_on_follower"))),
        ]

        def call(translation: NeutralTranslation, label: str, places: list[str], points: list[Vector3]) -> None:
            for k, plane in enumerate((label, translation.closure_name(f"{label} across"))):
                normal = tuple(float(x) for x in R[:, k])
                translation.mechanism.in_plane(plane, *places, normal=normal, at=points[0], at_child=points[1])

        self._between(element, name, call, sides, "closure")

    # ------------------------------------------------------------------ forces

    def _coordinate_spring(self, element: XmlElement, name: str) -> None:
        objects = self._objects
        one = self._named(element, objects.text(element, "coordinate"))
        stiffness, rest = objects.number(element, "stiffness"), objects.number(element, "rest_length")
        damping = objects.number(element, "viscosity")
        if one.locked:
            text = f"SpringGeneralizedForce {quoted(name)} on a locked coordinate"
            self._m.remarks.add("kept aside", text, element.line)
            return

        def call(translation: NeutralTranslation) -> None:
            label, joint = translation.force_name(name), translation.joint_name(one.name)
            translation.mechanism.torsion_spring(label, joint, stiffness=stiffness, rest=rest, damping=damping)

        self.later.append(at_its_line(element, call))

    def _stops(self, element: XmlElement, name: str) -> None:
        """Stops of a coordinate whose stiffness and damping rise over a transition, given per degree for angles.

        Beyond a limit by d the effort is s (K d + C d'), with s = 10 x^3 - 15 x^4 + 6 x^5 for x = d / transition from 0
        to 1, and one from there on.
        """
        objects = self._objects
        one = self._named(element, objects.text(element, "coordinate"))
        upper, lower = (objects.number(element, f"{side}_limit") for side in ("upper", "lower"))
        stiffness = [objects.number(element, f"{side}_stiffness", default=1.0) for side in ("upper", "lower")]
        damping, over = (
            objects.number(element, "damping", default=0.001),
            objects.number(element, "transition", default=0.1),
        )
        if one.locked or lower >= upper or over <= 0.0:
            text = f"CoordinateLimitForce {quoted(name)}: its coordinate is locked, or its limits leave nothing"
            self._m.remarks.add("kept aside", text, element.line)
            return
        text = "stops (CoordinateLimitForce) act as efforts: their energy counts as work"
        self._m.remarks.add("changed", text, element.line)

        def call(translation: NeutralTranslation) -> None:
            m, joint = translation.mechanism, translation.joint_name(one.name)
            unit = math.radians(1.0) if one.turns else 1.0
            effort = ca.SX(0.0)
            for way, limit, K in ((1.0, upper, stiffness[0]), (-1.0, lower, stiffness[1])):
                beyond = way * (m.coordinate(joint) - limit * unit)
                x = ca.fmin(ca.fmax(beyond / (over * unit), 0.0), 1.0)
                rise = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
                effort -= way * rise * (K * beyond + damping * way * m.rate(joint)) / unit
            m.actuator(translation.force_name(name), joint, effort=effort)

        self.later.append(at_its_line(element, call))

    def _spring(self, element: XmlElement, name: str) -> None:
        stiffness, length = (self._objects.number(element, key) for key in ("stiffness", "rest_length"))

        def call(translation: NeutralTranslation, label: str, places: list[str], points: list[Vector3]) -> None:
            translation.mechanism.spring(
                label, *places, stiffness=stiffness, free_length=length, at=points[0], at_child=points[1]
            )

        self._between(element, name, call, [self._side(element, 1), self._side(element, 2)], "force")

    def _bushing(self, element: XmlElement, name: str) -> None:
        objects = self._objects
        stiffness, damping = (
            (*objects.point(element, f"rotational_{key}"), *objects.point(element, f"translational_{key}"))
            for key in ("stiffness", "damping")
        )
        (parent, on_parent), (child, on_child) = self._side(element, 1), self._side(element, 2)
        text = "a turn of a bushing is measured by its rotation vector, which for small turns is the same as by angles"
        self._m.remarks.add("changed", text, element.line)

        def call(translation: NeutralTranslation) -> None:
            translation.mechanism.bushing(
                translation.force_name(name),
                translation.place_name(parent),
                translation.place_name(child),
                stiffness=stiffness,
                damping=damping,
                pose=on_parent,
                pose_child=on_child,
            )

        self.later.append(at_its_line(element, call))

    def _between(
        self,
        element: XmlElement,
        name: str,
        call: Callable[[NeutralTranslation, str, list[str], list[Vector3]], None],
        sides: list[tuple[str, Placement]],
        kind: str,
    ) -> None:
        """Make a call about points of two bodies, once these are there."""

        def late(translation: NeutralTranslation) -> None:
            label = translation.force_name(name) if kind == "force" else translation.closure_name(name)
            call(translation, label, [translation.place_name(link) for link, _ in sides], [on.point for _, on in sides])

        self.later.append(at_its_line(element, late))


def at_its_line(element: XmlElement, call: Call) -> Call:
    """Return a call whose errors begin with the line of an element."""

    def checked(translation: NeutralTranslation) -> None:
        try:
            call(translation)
        except ModelError as error:
            raise element.error(str(error)) from None

    return checked
