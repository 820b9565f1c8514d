"""SDF, the format of Gazebo: worlds and models, whose joints may form loops.

A link that is the child of two joints is a loop. All poses are those of the start, at which every coordinate is zero;
so loops are closed there. Models float unless they are static or a joint holds them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.bodies.appearance import color_code
from whippletree.elements.joints import Fixed, Joint, Prismatic, Revolute, Screw, Spherical, Universal
from whippletree.errors import FileError, ModelError
from whippletree.files.drawn_in import Surroundings
from whippletree.files.file_limits import PARALLEL, UNBOUNDED, ZERO_AXIS
from whippletree.files.neutral_collisions import APART, NeutralCollider
from whippletree.files.neutral_model import (
    WORLD,
    NeutralCoupling,
    NeutralFrame,
    NeutralJoint,
    NeutralLink,
    NeutralModel,
)
from whippletree.files.poses import with_axis
from whippletree.files.sdf_frames import SdfFrame, SdfScope, pose_in
from whippletree.files.sdf_surfaces import sdf_surface
from whippletree.files.shape_inertias import scaled_to_mass, shape_properties
from whippletree.files.weights import Weightless
from whippletree.files.xml_source import XmlElement, parse_xml
from whippletree.model.io.model_file import JointRange
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.orientation import perpendicular_frame
from whippletree.spatial.placement import Placement

__all__ = ["read_sdf"]

_JOINTS = ("revolute", "continuous", "prismatic", "ball", "universal", "revolute2", "screw", "fixed", "gearbox")
_OF_MODEL = {
    "link",
    "joint",
    "frame",
    "model",
    "include",
    "pose",
    "static",
    "allow_auto_disable",
    "self_collide",
    "enable_wind",
}
_OF_LINK = {
    "pose",
    "inertial",
    "visual",
    "collision",
    "gravity",
    "self_collide",
    "kinematic",
    "enable_wind",
}
_OF_JOINT = {
    "parent",
    "child",
    "pose",
    "axis",
    "axis2",
    "gearbox_ratio",
    "gearbox_reference_body",
    "thread_pitch",
    "screw_thread_pitch",
}
_OF_AXIS = {"xyz", "use_parent_model_frame", "dynamics", "limit", "mimic"}
_DENSITY = 1000.0
"""Density in kg/m^3 of shapes without one of their own, as the format says."""

_SCENERY = ("sun", "ground_plane", "ground plane")
"""Models that worlds include and that come with their simulator: a lamp, and a plane that does not move."""

_OLDEST = (1, 2)
"""The first version whose elements are those of today."""


def read_sdf(root: XmlElement, around: Surroundings) -> NeutralModel:
    """Read the world or the models of a file.

    >>> text = b'<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>'
    >>> list(read_sdf(parse_xml(text, "m.sdf"), Surroundings("m.sdf", None, [])).links)
    ['a']
    """
    return _SdfReading(root, around).model()


class _SdfReading:
    """The elements of a file: first all frames, then the links, joints and shapes on them."""

    def __init__(self, root: XmlElement, around: Surroundings) -> None:
        self._root, self._around = root, around
        worlds = [*root.all("world")]
        if len(worlds) > 1:
            raise worlds[1].error("there is a second <world>: read one at a time")
        self._world = worlds[0] if worlds else root
        models = [*self._world.all("model", "include")]
        if not models:
            raise root.error("there is no <model>: nothing to read")
        self._alone = len(models) == 1
        name = (models[0] if self._alone else self._world).get("name")
        self._m = NeutralModel(name or "model", root.file, floating=True)
        self._m.collisions.remarks.append(("guessed", APART))
        self._joints: list[tuple[SdfScope, XmlElement]] = []
        self._static: list[str] = []
        self._versions: dict[str, tuple[int, int]] = {}
        self._of_version(root)

    def model(self) -> NeutralModel:
        """Return the whole file."""
        world = SdfScope("", None, self._world)
        self._collect(world, self._world, "world")
        gravity = self._world.child("gravity")
        if gravity is not None:
            self._m.gravity = tuple(gravity.numbers(gravity.text, 3, "<gravity>"))  # type: ignore[assignment]
        self._links(world)
        for scope, element in self._joints:
            self._joint(scope, element)
        for scope, element in self._joints:
            self._gearbox(scope, element)
            self._mimic(scope, element)
        self._frames(world)
        for name, link in self._m.links.items():
            if name.startswith(tuple(self._static)):
                label = f"{name} to ground"
                held = NeutralJoint(label, Fixed(), WORLD, name, self._m.poses[name], Placement(), link.line)
                self._m.joints[label] = held
        return self._m

    # ------------------------------------------------------------------ versions

    def _of_version(self, root: XmlElement) -> None:
        """Keep the version of a file, which says how its axes and names are meant."""
        text = root.get("version")
        parts = text.split(".")
        if not text:
            self._m.remarks.add("guessed", f"{root.file} has no version: taken as a recent one", root.line)
            parts = ["1", "12"]
        elif len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
            raise root.error(f"version must be two numbers such as 1.7, got {text[:40]!r}")
        version = int(parts[0][:4]), int(parts[1][:4])
        if version < _OLDEST:
            raise root.error(
                f"version {text} of SDF has other elements: write the file again in a later one (gz sdf -p)"
            )
        self._versions[root.file] = version

    def _before(self, element: XmlElement, *version: int) -> bool:
        return self._versions[element.file] < version

    # ------------------------------------------------------------------ frames

    def _collect(self, scope: SdfScope, element: XmlElement, kind: str, offset: str = "") -> None:
        """Take up everything in a model that has a pose; `offset` is the frame of a model that is merged in."""
        known = _OF_MODEL if kind == "model" else {"model", "include", "joint", "frame", "gravity", "world"}
        for child in element.children:
            if child.tag not in known:
                self._m.remarks.add("not understood", f"<{child.tag}> of a {kind}", child.line)
            elif child.tag in ("link", "frame", "joint"):
                self._frame(scope, child, offset)
            elif child.tag == "model":
                self._nested(scope, child, offset)
            elif child.tag == "include":
                self._include(scope, child, offset)

    def _frame(self, scope: SdfScope, child: XmlElement, offset: str) -> None:
        pose, relative = pose_in(child)
        default = offset
        attached = offset
        if child.tag == "joint":
            default = attached = self._text(child, "child")
            self._joints.append((scope, child))
        elif child.tag == "frame":
            default = attached = child.get("attached_to") or offset
        name = child.attributes["name"] = self._name(scope, child["name"], child)
        scope.frames[name] = SdfFrame(child.tag, child, pose, relative or default, attached)

    def _name(self, scope: SdfScope, name: str, element: XmlElement) -> str:
        """Return the name of something in a scope; files before version 1.7 may give one twice, and to the world."""
        if name and name not in scope.frames and name not in ("world", "__model__", "__root__"):
            return name
        if name in ("", "__model__", "__root__") or not self._before(element, 1, 7):
            raise element.error(f"the name {quoted(name)} is taken or reserved")
        found, k = f"{name} {element.tag}", 1
        while found in scope.frames:
            k += 1
            found = f"{name} {element.tag} {k}"
        if name == "world" and element.tag != "joint":
            scope.own_world = scope.own_world or found
        self._m.remarks.add("changed", f"{element.tag} {quoted(name)} is called {quoted(found)}", element.line)
        return found

    def _nested(
        self, scope: SdfScope, child: XmlElement, offset: str, name: str = "", placed: XmlElement | None = None
    ) -> None:
        """Take up a model within a world or a model."""
        name = self._name(scope, name or child["name"], child)
        pose, relative = pose_in(placed if placed is not None and placed.child("pose") is not None else child)
        prefix = "" if self._alone and scope.outer is None else f"{scope.prefix}{name}::"
        inner = SdfScope(prefix, scope, child)
        placement = child.get("placement_frame")
        if placed is not None:
            placement = self._text(placed, "placement_frame") or placement
        scope.frames[name] = SdfFrame("model", child, pose, relative or offset, scope=inner)
        self._collect(inner, child, "model")
        if placement:
            self._place_by(inner, scope.frames[name], placement)
        if self._is_static(child) or (placed is not None and self._is_static(placed)):
            self._static.append(prefix)

    def _place_by(self, inner: SdfScope, frame: SdfFrame, placement: str) -> None:
        """The pose of a model is meant to be that of one of its frames."""
        own = inner.own_pose().inverse() @ inner.world_pose(placement, frame.element)
        frame.pose = frame.pose @ own.inverse()

    def _is_static(self, element: XmlElement) -> bool:
        return self._text(element, "static") in ("true", "1")

    def _include(self, scope: SdfScope, element: XmlElement, offset: str) -> None:
        """Take up a model of another file."""
        given = element.needed("uri")
        try:
            place = self._around.find(given.text, given)
        except FileError:
            if given.text.rstrip("/").rpartition("/")[2].lower() not in _SCENERY:
                raise
            if "ground" in given.text.lower():
                self._m.collisions.add(NeutralCollider("ground", WORLD, "plane", placement=pose_in(element)[0]))
            self._m.remarks.add("not understood", f"{given.text}, which is there to be looked at", given.line)
            return
        if place.is_dir():
            place = next((one for one in (place / "model.sdf", *sorted(place.glob("*.sdf"))) if one.is_file()), place)
        root = parse_xml(self._around.read(place, given), str(place))
        if root.tag not in ("sdf", "gazebo"):
            raise given.error(f"{place.name} is <{root.tag}>, and an SDF file can include SDF files only here")
        self._of_version(root)
        models = [*root.all("model")]
        if len(models) != 1:
            raise given.error(f"{place.name} must have one <model>, and has {len(models)}")
        name = self._text(element, "name") or models[0]["name"]
        if element.get("merge") in ("true", "1"):
            pose, relative = pose_in(element)
            label = f"_merged__{name}__model__"
            label = self._name(scope, label, element)
            scope.frames[label] = SdfFrame("frame", element, pose, relative or offset, offset)
            self._collect(scope, models[0], "model", label)
            return
        self._nested(scope, models[0], offset, name, element)
        for child in element.children:
            if child.tag not in ("uri", "name", "pose", "static", "placement_frame"):
                self._m.remarks.add("not understood", f"<{child.tag}> of an include", child.line)

    # ------------------------------------------------------------------ links

    def _links(self, scope: SdfScope) -> None:
        for name, frame in scope.frames.items():
            if frame.scope is not None:
                self._links(frame.scope)
            elif frame.kind == "link":
                full = f"{scope.prefix}{name}"
                self._m.poses[full] = scope.world_pose(name, frame.element)
                self._m.links[full] = self._link(scope, full, frame.element)

    def _link(self, scope: SdfScope, name: str, element: XmlElement) -> NeutralLink:
        link = NeutralLink(name, self._properties(scope, element, name), element.line)
        self._m.remarks.unread(element, _OF_LINK, "a link")
        for one in element.all("collision"):
            with self._m.remarks.of_looks("a shape that collides"):
                self._collide(scope, name, element, self._with_one_pose(one))
        if self._text(element, "gravity") in ("false", "0"):
            self._m.later.append(Weightless(name, link.properties))
        if self._text(element, "kinematic") in ("true", "1"):
            self._m.remarks.add("not understood", "<kinematic> of a link: it moves as forces make it", element.line)
        for one in element.all("visual", "collision"):
            with self._m.remarks.of_looks():
                shape = self._shape(scope, name, self._with_one_pose(one))
                if shape is not None:
                    link.shapes.append(replace(shape, color=self._color(one), collides=one.tag == "collision"))
        return link

    def _color(self, visual: XmlElement) -> str:
        """Return the colour of a visual: the diffuse one of its material, or the ambient one."""
        material = visual.child("material")
        for one in () if material is None else material.all("script", "pbr"):
            self._m.remarks.add("not understood", f"<{one.tag}> of a material", one.line)
        given = [] if material is None else [*material.all("diffuse"), *material.all("ambient")]
        if not given:
            return ""
        rgba: list[float] = []
        with self._m.remarks.of_looks():
            rgba = given[0].numbers(given[0].text, None, f"<{given[0].tag}>")
        return color_code(rgba) if len(rgba) in (3, 4) else ""

    def _collide(self, scope: SdfScope, name: str, link: XmlElement, element: XmlElement) -> None:
        """Keep a shape by which a link touches others; those of one model pass through each other by default."""
        alone = any(self._text(one, "self_collide") in ("true", "1") for one in (link, scope.element))
        family = "" if alone else f"model {scope.prefix.partition('::')[0]}"
        own = sdf_surface(element) | {"family": family, "line": element.line}
        label, geometry = element.get("name") or name, element.child("geometry")
        for plane in () if geometry is None else geometry.all("plane"):
            normal = plane.child("normal")
            axis = (0.0, 0.0, 1.0) if normal is None else normal.numbers(normal.text, 3, "<normal>")
            if np.linalg.norm(axis) < ZERO_AXIS:
                raise plane.error("the normal of a plane has no direction: all its entries are zero")
            where = self._placed(scope, name, element) @ with_axis(axis)
            self._m.collisions.add(NeutralCollider(label, name, "plane", (), where, **own))
            return
        shape = self._shape(scope, name, element)
        if shape is not None:
            size = tuple(float(value) for value in shape.size)
            where = shape.placement
            self._m.collisions.add(NeutralCollider(label, name, shape.kind, size, where, file=shape.file, **own))
            return
        for one in () if geometry is None else geometry.children:
            if one.tag != "empty":
                self._m.collisions.add(NeutralCollider(label, name, one.tag, **own))

    def _with_one_pose(self, visual: XmlElement) -> XmlElement:
        """Return a visual with the first of its poses, as the format's own library takes it."""
        poses = [*visual.all("pose")]
        if len(poses) < 2:
            return visual
        self._m.remarks.add("not understood", f"a second <pose> of a <{visual.tag}>", poses[1].line)
        return replace(visual, children=[one for one in visual.children if one.tag != "pose"] + poses[:1])

    def _properties(self, scope: SdfScope, element: XmlElement, name: str) -> MassProperties:
        inertial = element.child("inertial")
        if inertial is None:
            self._m.remarks.add(
                "guessed", f"link {quoted(name)} has no <inertial>: 1 kg and 1 kg m^2, as the format says", element.line
            )
            return MassProperties.as_given(1.0, inertia=(1.0, 1.0, 1.0))
        if inertial.get("auto") in ("true", "1"):
            return self._from_shapes(scope, element, inertial, name)
        self._m.remarks.unread(inertial, {"pose", "mass", "inertia", "density"}, "an <inertial>")
        pose, _ = pose_in(inertial)
        mass = self._value(inertial, "mass", 1.0)
        if mass == 0.0:
            text = f"the mass of link {quoted(name)} is zero, as it is written; the format asks for more than that"
            self._m.remarks.add("guessed", text, inertial.line)
        given = inertial.child("inertia")
        moments = [
            float(key[1] == key[2]) if given is None else self._value(given, key, float(key[1] == key[2]))
            for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        ]
        xx, xy, xz, yy, yz, zz = moments
        try:
            whole = MassProperties.as_given(mass, inertia=((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
            return whole.moved(at=pose.point, rotation=pose.rotation)
        except ModelError as error:
            raise inertial.error(str(error)) from None

    def _from_shapes(self, scope: SdfScope, element: XmlElement, inertial: XmlElement, name: str) -> MassProperties:
        """Return the inertia of a link's collision shapes, scaled to the link's mass if that is given."""
        usual, total = self._value(inertial, "density", _DENSITY), MassProperties()
        for one in element.all("collision"):
            shape, density = self._shape(scope, name, one), self._value(one, "density", usual)
            if shape is None or density <= 0.0:
                raise one.error(
                    f"the inertia of link {quoted(name)} is to follow from this collision, which has no volume that is "
                    "known here, or no density: give mass and inertia"
                )
            try:
                total += shape_properties(shape, density, self._around.seek(shape.file), self._m.remarks, one.line)
            except ValueError as error:
                raise one.error(f"the inertia of link {quoted(name)} follows from {error}") from None
        if not total.mass:
            raise inertial.error(f"the inertia of link {quoted(name)} is to follow from its collisions: there are none")
        mass = self._value(inertial, "mass", float(total.mass))
        if mass <= 0.0:
            raise inertial.error(f"the mass of link {quoted(name)} must be positive")
        return scaled_to_mass(total, mass)

    def _placed(self, scope: SdfScope, link: str, element: XmlElement) -> Placement:
        """Return where a shape is on its link."""
        pose, relative = pose_in(element)
        return self._pose(link).inverse() @ scope.world_pose(relative, element) @ pose if relative else pose

    def _shape(self, scope: SdfScope, link: str, element: XmlElement) -> Shape | None:
        geometry, pose = element.child("geometry"), self._placed(scope, link, element)
        for one in () if geometry is None else geometry.children:
            if one.tag == "box":
                size = one.child("size")
                return Shape("box", tuple(one.numbers(size.text if size else "1 1 1", 3, "<size>")), pose)
            if one.tag in ("cylinder", "capsule"):
                return Shape(one.tag, (self._value(one, "radius", 1.0), self._value(one, "length", 1.0)), pose)
            if one.tag == "sphere":
                return Shape("sphere", (self._value(one, "radius", 1.0),), pose)
            if one.tag == "mesh":
                scale = one.scale(self._text(one, "scale") or "1 1 1")
                if not self._text(one, "uri"):
                    self._m.remarks.add("not understood", "<mesh> without <uri>", one.line)
                    return None
                return Shape("mesh", scale, pose, self._text(one, "uri"))
            if one.tag not in ("plane", "empty"):
                self._m.remarks.add("not understood", f"<{one.tag}> as a geometry", one.line)
        return None

    # ------------------------------------------------------------------ joints

    def _joint(self, scope: SdfScope, element: XmlElement) -> None:
        name, word = f"{scope.prefix}{element['name']}", element["type"]
        if word not in _JOINTS:
            raise element.error(f"joint {quoted(name)} has the type {suggestion(word, _JOINTS)}")
        self._m.remarks.unread(element, _OF_JOINT, "a joint")
        for one in element.all("axis"):
            self._m.remarks.unread(one, _OF_AXIS, "an axis")
        for one in element.all("axis2"):
            self._m.remarks.unread(one, {"xyz", "use_parent_model_frame"}, "a second axis")
        if word == "gearbox":
            return
        where = scope.world_pose(element["name"], element)
        parent, child = (self._side(scope, element, role) for role in ("parent", "child"))
        axes = [self._axis(scope, element, tag, where) for tag in ("axis", "axis2")]
        joint, turned = self._kind(element, name, word, axes)
        frame = where @ turned
        on_parent, on_child = (self._pose(link).inverse() @ frame for link in (parent, child))
        use = NeutralJoint(name, joint, parent, child, on_parent, on_child, element.line, closes=child == WORLD)
        self._dynamics(element, use)
        self._m.add_joint(use)

    def _kind(
        self, element: XmlElement, name: str, word: str, axes: list[tuple[float, ...]]
    ) -> tuple[Joint, Placement]:
        """Return the joint, and how its frame is turned in the file's joint frame."""
        if word == "fixed":
            return Fixed(), Placement()
        if word == "ball":
            return Spherical(), Placement()
        if word in ("universal", "revolute2"):
            first, second = axes
            if abs(np.dot(first, second)) > PARALLEL * np.linalg.norm(first) * np.linalg.norm(second):
                raise element.error(f"the two axes of joint {quoted(name)} must be perpendicular")
            units = [tuple(np.array(axis) / np.linalg.norm(axis)) for axis in axes]
            return Universal(), Placement(perpendicular_frame(units[0], units[1], "the axes of a universal joint"))
        turned = with_axis(axes[0])
        if word == "prismatic":
            return Prismatic(), turned
        if word == "screw":
            return Screw(self._lead(element)), turned
        return Revolute(), turned

    def _lead(self, element: XmlElement) -> float:
        """Return how far a screw advances in a turn."""
        new, old = element.child("screw_thread_pitch"), element.child("thread_pitch")
        if new is not None:
            return self._value(element, "screw_thread_pitch", 1.0)
        radians = self._value(element, "thread_pitch", 1.0) if old is not None else 1.0
        if radians == 0.0:
            raise element.error("<thread_pitch> must not be zero")
        self._m.remarks.add(
            "changed", "<thread_pitch>, in radians per metre with the opposite sign, is a lead", element.line
        )
        return -2 * math.pi / radians

    def _side(self, scope: SdfScope, element: XmlElement, role: str) -> str:
        """Return the link that a joint is on."""
        given = element.needed(role)
        text = given.text or (given.child("link").text if given.child("link") is not None else "")  # type: ignore[union-attr]
        found, name = scope.link_of(text, given)
        return f"{found.prefix}{name}" if name else WORLD

    def _pose(self, link: str) -> Placement:
        return Placement() if link == WORLD else self._m.poses[link]

    def _axis(self, scope: SdfScope, element: XmlElement, tag: str, where: Placement) -> tuple[float, ...]:
        """Return an axis in the joint's frame."""
        given = element.child(tag)
        xyz = None if given is None else given.child("xyz")
        axis = (0.0, 0.0, 1.0) if xyz is None else tuple(xyz.numbers(xyz.text, 3, "<xyz>"))
        if np.linalg.norm(axis) < ZERO_AXIS:
            raise (xyz or element).error("the axis has no direction: all its entries are zero")
        frame = "" if xyz is None else xyz.get("expressed_in")
        usual = "true" if self._before(element, 1, 5) else "false"
        if given is not None and (self._text(given, "use_parent_model_frame") or usual) in ("true", "1"):
            frame = "__model__"
        if not frame:
            return axis
        seen = scope.world_pose(frame, xyz or element)
        turned = np.array(where.rotation).T @ np.array(seen.rotation) @ np.array(axis)
        return tuple(float(entry) for entry in turned)

    def _dynamics(self, element: XmlElement, use: NeutralJoint) -> None:
        given = element.child("axis")
        if given is None or use.joint.nv == 0:
            return
        dynamics, limit = given.child("dynamics"), given.child("limit")
        if dynamics is not None and isinstance(use.joint, Revolute | Prismatic | Screw):
            use.damping, use.friction = self._value(dynamics, "damping", 0.0), self._value(dynamics, "friction", 0.0)
            use.stiffness = self._value(dynamics, "spring_stiffness", 0.0)
            use.rest = self._value(dynamics, "spring_reference", 0.0)
            if min(use.damping, use.friction, use.stiffness) < 0:
                raise dynamics.error("damping, friction and stiffness must not be negative")
            if use.friction:
                self._m.remarks.add("changed", "dry friction of joints is smooth near rest", dynamics.line)
        elif dynamics is not None:
            self._m.remarks.add("not understood", f"<dynamics> of a {use.joint.kind} joint", dynamics.line)
        if limit is not None:
            self._m.remarks.unread(limit, {"lower", "upper", "velocity", "effort"}, "a limit")
            bounds = [self._bound(limit, key) for key in ("lower", "upper", "velocity", "effort")]
            use.range = JointRange(*bounds)
            if bounds[0] is not None or bounds[1] is not None:
                self._m.remarks.add(
                    "kept aside", "ranges of joints, which nothing enforces (stops=True does)", limit.line
                )

    def _bound(self, limit: XmlElement, key: str) -> float | None:
        given = limit.child(key)
        if given is None or given.text.lstrip("+-").lower().startswith("inf"):
            return None
        value = self._value(limit, key, 0.0)
        return None if abs(value) >= UNBOUNDED or (key in ("velocity", "effort") and value < 0) else value

    def _gearbox(self, scope: SdfScope, element: XmlElement) -> None:
        """Couple the angles of the parent and the child against a reference body: second = -ratio * first."""
        if element["type"] != "gearbox":
            return
        name = f"{scope.prefix}{element['name']}"
        found, link = scope.link_of(
            self._text(element, "gearbox_reference_body"), element.needed("gearbox_reference_body")
        )
        reference = f"{found.prefix}{link}" if link else WORLD
        where = scope.world_pose(element["name"], element)
        ratio = self._value(element, "gearbox_ratio", 1.0)
        ratios = {}
        for role, tag, factor in (("parent", "axis", ratio), ("child", "axis2", 1.0)):
            side = self._side(scope, element, role)
            axis = np.array(where.rotation) @ np.array(self._axis(scope, element, tag, where))
            joint, sign = self._hinge(reference, side, axis, element, name)
            ratios[joint, 0] = factor * sign
        self._m.couplings.append(NeutralCoupling(name, ratios, line=element.line))

    def _hinge(self, reference: str, link: str, axis: np.ndarray, element: XmlElement, name: str) -> tuple[str, float]:
        """Return the hinge between a reference body and a link, and 1 if its angle counts in the axis's direction."""
        for joint in self._m.joints.values():
            if isinstance(joint.joint, Revolute) and {joint.parent, joint.child} == {reference, link}:
                z = np.array([row[2] for row in (self._pose(joint.parent) @ joint.on_parent).rotation])
                along = float(z @ axis) / float(np.linalg.norm(axis))
                return joint.name, math.copysign(1.0, along if joint.child == link else -along)
        raise element.error(f"gearbox {quoted(name)}: no hinge joins its reference body with {quoted(link or 'world')}")

    def _mimic(self, scope: SdfScope, element: XmlElement) -> None:
        axis = element.child("axis")
        given = None if axis is None else axis.child("mimic")
        if given is None:
            return
        own = f"{scope.prefix}{element['name']}"
        found, name, frame = scope.find(given["joint"], given)
        other = f"{found.prefix}{name}"
        if frame.kind != "joint" or other not in self._m.joints or self._m.joints[other].joint.nv != 1:
            raise given.error(f"joint {quoted(own)} mimics {quoted(other)}, which is no joint with one coordinate")
        ratio, offset = self._value(given, "multiplier", 1.0), self._value(given, "offset", 0.0)
        reference = self._value(given, "reference", 0.0)
        ratios = {(own, 0): 1.0, (other, 0): -ratio}
        label = f"{own} mimics {other}"
        self._m.couplings.append(NeutralCoupling(label, ratios, offset - ratio * reference, line=given.line))

    # ------------------------------------------------------------------ pieces

    def _frames(self, scope: SdfScope) -> None:
        """Keep the named frames of the file."""
        for name, frame in scope.frames.items():
            if frame.scope is not None:
                self._frames(frame.scope)
            elif frame.kind == "frame":
                found, link = scope.link_of(frame.attached_to, frame.element)
                on = f"{found.prefix}{link}" if link else WORLD
                pose = self._pose(on).inverse() @ scope.world_pose(name, frame.element)
                self._m.frames.append(NeutralFrame(f"{scope.prefix}{name}", on, pose))

    def _text(self, element: XmlElement, tag: str) -> str:
        given = element.child(tag)
        return "" if given is None else given.text

    def _value(self, element: XmlElement, tag: str, default: float) -> float:
        given = element.child(tag)
        return default if given is None else given.numbers(given.text, 1, f"<{tag}>")[0]
