"""URDF: links and joints of a robot; with URDF+ also loops and couplings, and `mimic` joints.

A joint's frame lies on the parent by its `origin`, and is the child's frame. Angles of `rpy` are about fixed axes. In
URDF+ a `<loop>` is a joint between two links, its frame given on both; a `<coupling>` says that the sum of joint angles
from the nearest common link to the successor is `ratio` times that to the predecessor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.bodies.appearance import color_code
from whippletree.elements.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical
from whippletree.errors import ModelError
from whippletree.files.file_limits import UNBOUNDED, ZERO_AXIS
from whippletree.files.neutral_collisions import APART, NeutralCollider
from whippletree.files.neutral_model import WORLD, NeutralCoupling, NeutralJoint, NeutralLink, NeutralModel
from whippletree.files.poses import from_quaternion, from_rpy, with_axis
from whippletree.files.urdf_surfaces import UrdfSurfaces
from whippletree.files.xml_source import XmlElement
from whippletree.model.io.model_file import JointRange
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.placement import Placement

__all__ = ["read_urdf"]

_KINDS: dict[str, type[Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": Fixed,
    "floating": Free,
    "planar": Planar,
    "spherical": Spherical,
}
_WITH_AXIS = (Revolute, Prismatic, Planar)
_LOOKS = {"material"}
_OF_JOINT = {"parent", "child", "origin", "axis", "limit", "dynamics", "mimic"}
_ATTRIBUTES = {
    "axis": ("xyz",),
    "limit": ("lower", "upper", "velocity", "effort"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
}


def read_urdf(root: XmlElement) -> NeutralModel:
    """Read a robot.

    >>> from whippletree.files.xml_source import parse_xml
    >>> text = b'<robot name="arm"><link name="base"/><link name="hand"/><joint name="wrist" type="continuous">'
    >>> text += b'<parent link="base"/><child link="hand"/></joint></robot>'
    >>> read_urdf(parse_xml(text, "arm.urdf")).joints["wrist"].child
    'hand'
    """
    _refuse_xacro(root)
    return _UrdfReading(root).model()


def _refuse_xacro(root: XmlElement) -> None:
    """Refuse a file that has to be expanded before it is a robot; materials are for eyes only, and names of meshes."""
    looks = {id(one) for material in root.below() if material.tag == "material" for one in material.below()}
    movers = [*root.all("joint"), *(one for one in root.below() if one.tag == "inertial")]
    moving = {id(one) for mover in movers for one in mover.below()}
    for element in root.below():
        if id(element) in looks:
            continue
        marks = ("${", "$(") if id(element) in moving else ("${",)
        written = any(mark in text for mark in marks for text in element.attributes.values())
        if element.tag.startswith("xacro:") or written:
            raise element.error(
                "this is xacro, a program that writes a robot: read it with xacro=True (--xacro), which evaluates its "
                "expressions"
            )


class _UrdfReading:
    """The elements of a robot one by one."""

    def __init__(self, root: XmlElement) -> None:
        self._root = root
        self._model = NeutralModel(root.get("name") or "robot", root.file)
        self._model.collisions.remarks.append(("guessed", APART))
        self._alias: dict[str, str] = {}
        self._materials = {
            one.get("name"): one for one in reversed([*root.below()]) if one.tag == "material" and one.children
        }
        self._surfaces = UrdfSurfaces(root, self._model.name)

    def model(self) -> NeutralModel:
        """Return the whole robot."""
        root, m = self._root, self._model
        links = [*root.all("link")]
        if not links:
            raise root.error("<robot> has no <link>: there is nothing to read")
        self._find_ground(links)
        for element in links:
            self._link(element)
        joints = [*root.all("joint")]
        for element in joints:
            self._joint(element)
        for element in joints:
            self._mimic(element)
        for element in root.all("loop"):
            self._loop(element)
        for number, element in enumerate(root.all("coupling"), 1):
            self._coupling(element, number)
        for element in root.children:
            if element.tag not in {"link", "joint", "loop", "coupling"} | _LOOKS:
                m.remarks.add("not understood", f"<{element.tag}>", element.line)
        return m

    def _find_ground(self, links: list[XmlElement]) -> None:
        """A link called world or ground that nothing carries and that has no mass is the ground itself."""
        carried = {child.get("link") for joint in self._root.all("joint") for child in joint.all("child")}
        for link in links:
            name = link["name"]
            if name in ("world", "ground") and name not in carried and link.child("inertial") is None:
                self._alias[name] = WORLD
                return

    # ------------------------------------------------------------------ links

    def _link(self, element: XmlElement) -> None:
        name = element["name"]
        if name in self._model.links or (name in self._alias and element.child("inertial") is not None):
            raise element.error(f"there is a second link {quoted(name)}")
        self._collide(element, name)
        if name in self._alias:
            return
        link = NeutralLink(name, line=element.line)
        inertial = element.child("inertial")
        if inertial is not None:
            link.properties = self._properties(inertial)
        else:
            self._model.remarks.add("guessed", "a link without <inertial> has no mass", element.line)
        link.shapes = [*self._shapes(element)]
        self._model.links[name] = link
        self._model.remarks.unread(element, {"inertial", "visual", "collision", "contact"} | _LOOKS, "a link")

    def _collide(self, element: XmlElement, name: str) -> None:
        """Keep the shapes by which a link touches others; those of one robot pass through each other by default."""
        surface = self._surfaces.of(element)
        if name in self._alias:
            surface = surface._replace(family="")
        for one in element.all("collision"):
            geometry = one.child("geometry")
            with self._model.remarks.of_looks("a shape that collides"):
                for shape in () if geometry is None else geometry.children:
                    found = self._shape(shape) or (shape.tag, ())
                    own = {**surface.on(one)._asdict(), "line": one.line}
                    if shape.tag == "mesh":
                        own["file"] = shape.get("filename")
                    where = self._alias.get(name, name), *found, self._origin(one)
                    self._model.collisions.add(NeutralCollider(one.get("name") or name, *where, **own))

    def _properties(self, element: XmlElement) -> MassProperties:
        mass = element.needed("mass").number("value")
        pose = self._origin(element)
        given = element.child("inertia")
        self._model.remarks.unread(element, {"mass", "origin", "inertia"}, "an <inertial>")
        if given is not None:
            self._model.remarks.unread_attributes(given, *_MOMENTS)
        moments = {key: 0.0 if given is None else given.number(key, 0.0) for key in _MOMENTS}
        if given is None and mass:
            self._model.remarks.add("guessed", "a link with mass and no inertia is a point mass", element.line)
        xx, xy, xz, yy, yz, zz = moments.values()
        try:
            whole = MassProperties.as_given(mass, inertia=((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
            return whole.moved(at=pose.point, rotation=pose.rotation)
        except ModelError as error:
            raise element.error(str(error)) from None

    def _shapes(self, element: XmlElement) -> Iterator[Shape]:
        """Yield the visual shapes of a link, and its collision shapes."""
        for one in element.all("visual", "collision"):
            with self._model.remarks.of_looks():
                geometry = one.child("geometry")
                for shape in () if geometry is None else geometry.children:
                    found = self._shape(shape)
                    if found is not None and (shape.tag != "mesh" or shape.get("filename")):
                        looks = self._color(one), one.tag == "collision"
                        yield Shape(*found, self._origin(one), shape.get("filename"), *looks)
                    else:
                        self._model.remarks.add("not understood", f"<{shape.tag}> as a geometry", shape.line)

    def _color(self, visual: XmlElement) -> str:
        """Return the colour of a visual: its material's own, or that of the material of this name."""
        given = visual.child("material")
        material = given if given is None or given.children else self._materials.get(given.get("name"))
        for one in () if material is None else material.all("texture"):
            self._model.remarks.add("not understood", "<texture> of a material", one.line)
        rgba: tuple[float, ...] = ()
        with self._model.remarks.of_looks():
            color = None if material is None else material.child("color")
            rgba = () if color is None else color.vector("rgba", count=4)
        return color_code(rgba) if rgba else ""

    def _shape(self, shape: XmlElement) -> tuple[str, tuple[float, ...]] | None:
        if shape.tag == "box":
            return "box", shape.vector("size")
        if shape.tag in ("cylinder", "capsule"):
            return shape.tag, (shape.number("radius"), shape.number("length"))
        if shape.tag == "sphere":
            return "sphere", (shape.number("radius"),)
        if shape.tag == "mesh":
            return "mesh", shape.scale(shape.get("scale", "1 1 1"))
        return None

    # ------------------------------------------------------------------ joints

    def _joint(self, element: XmlElement) -> None:
        name, m = element["name"], self._model
        if name in m.joints:
            raise element.error(f"there is a second joint {quoted(name)}")
        word = element["type"]
        kind = _KINDS.get(word)
        if kind is None:
            raise element.error(f"joint {quoted(name)} has the type {suggestion(word, _KINDS)}")
        parent, child = self._link_of(element.needed("parent")), self._link_of(element.needed("child"))
        on_parent, on_child = self._origin(element), Placement()
        if kind in _WITH_AXIS:
            turned = self._axis(element)
            on_parent, on_child = on_parent @ turned, turned
        joint = NeutralJoint(name, kind(), parent, child, on_parent, on_child, element.line)
        if m.add_joint(joint):
            m.remarks.add("changed", f"link {quoted(child)} is the child of two joints: a loop", element.line)
        dynamics = element.child("dynamics")
        if dynamics is not None and kind is not Fixed:
            joint.damping, joint.friction = self._positive(dynamics, "damping"), self._positive(dynamics, "friction")
        joint.range = self._range(element, kind, word)
        if element.get("independent") == "false":
            m.dependent.append(name)
        m.remarks.unread(element, _OF_JOINT, "a joint")
        for one in element.children:
            if one.tag in _ATTRIBUTES:
                m.remarks.unread_attributes(one, *_ATTRIBUTES[one.tag])

    def _positive(self, element: XmlElement, name: str) -> float:
        value = element.number(name, 0.0)
        if value < 0:
            self._model.remarks.add("not understood", f"a negative {name} of a joint", element.line)
            return 0.0
        if value and name == "friction":
            self._model.remarks.add("changed", "dry friction of joints is smooth near rest", element.line)
        return value

    def _range(self, element: XmlElement, kind: type[Joint], word: str) -> JointRange | None:
        limit = element.child("limit")
        if limit is None or kind not in (Revolute, Prismatic):
            if limit is not None and kind is not Fixed:
                self._model.remarks.add("not understood", f"<limit> of a {word} joint", limit.line)
            return None
        numbers = {key: limit.number(key) if key in limit.attributes else None for key in _LIMITS}
        lower, upper, speed, effort = (None if x is None or abs(x) >= UNBOUNDED else x for x in numbers.values())
        given = [key for key in ("lower", "upper") if numbers[key] is not None]
        if word == "continuous" or (lower is None and upper is None and given):
            lower = upper = None
        elif not given:
            self._model.remarks.add(
                "guessed", "a joint with a <limit> that has neither lower nor upper is not limited", limit.line
            )
        else:
            lower, upper = (0.0 if numbers[key] is None else x for key, x in (("lower", lower), ("upper", upper)))
            self._model.remarks.add(
                "kept aside", "ranges of joints, which nothing enforces (stops=True does)", limit.line
            )
            if lower is not None and upper is not None and lower >= upper:
                self._model.remarks.add(
                    "not understood", f"the range {lower:g} to {upper:g} of a joint, which is empty", limit.line
                )
                lower = upper = None
        return JointRange(lower, upper, speed, effort)

    def _mimic(self, element: XmlElement) -> None:
        given = element.child("mimic")
        if given is None:
            return
        name, other = element["name"], given["joint"]
        own, leader = self._model.joints[name].joint, self._model.joints.get(other)
        if leader is None or other == name or own.nv != 1 or leader.joint.nv != 1:
            what = "which is no joint with one coordinate"
            text = f"joint {quoted(name)} mimics {quoted(other)}, {what}: it moves by itself"
            self._model.remarks.add("not understood", text, given.line)
            return
        ratio, offset = given.number("multiplier", 1.0), given.number("offset", 0.0)
        ratios = {(name, 0): 1.0, (other, 0): -ratio} if ratio else {(name, 0): 1.0}
        self._model.couplings.append(NeutralCoupling(f"{name} mimics {other}", ratios, offset, line=given.line))

    # ------------------------------------------------------------------ URDF+

    def _loop(self, element: XmlElement) -> None:
        name = element.get("name") or f"loop {len(self._model.joints)}"
        if name in self._model.joints:
            raise element.error(f"there is a joint {quoted(name)} already")
        word = element.get("type", "revolute")
        kind = _KINDS.get(word)
        if kind is None or kind is Free:
            raise element.error(f"loop {quoted(name)} has the type {suggestion(word, _KINDS)}")
        turned = self._axis(element) if kind in _WITH_AXIS else Placement()
        first, second = element.needed("predecessor"), element.needed("successor")
        sides = self._link_of(first), self._link_of(second)
        poses = self._origin(first) @ turned, self._origin(second) @ turned
        self._model.joints[name] = NeutralJoint(name, kind(), *sides, *poses, element.line, closes=True)

    def _coupling(self, element: XmlElement, number: int) -> None:
        name = element.get("name") or f"coupling {number}"
        word = element.get("type", "rolling")
        if word != "rolling":
            raise element.error(f"coupling {quoted(name)} has the type {suggestion(word, ['rolling'])}")
        first = self._path(self._link_of(element.needed("predecessor")))
        second = self._path(self._link_of(element.needed("successor")))
        ratio = element.needed("ratio").number("value")
        ratios: dict[tuple[str, int], float] = {}
        for path, other, factor in ((first, second, ratio), (second, first, -1.0)):
            for joint in path:
                if joint in other:
                    continue
                kind = self._model.joints[joint].joint
                if kind.nv > 1:
                    raise element.error(f"a coupling across the {kind.kind} joint {quoted(joint)} has no angle")
                ratios[joint, 0] = factor
        if not any(ratios.values()):
            raise element.error(f"coupling {quoted(name)} is between links that no joint moves against each other")
        self._model.couplings.append(NeutralCoupling(name, ratios, line=element.line))

    def _path(self, link: str) -> list[str]:
        """Return the joints from the ground to a link that have a coordinate."""
        above = {joint.child: joint for joint in self._model.joints.values() if not joint.closes}
        found: list[str] = []
        while link in above and len(found) <= len(above):
            joint = above[link]
            if joint.joint.nv:
                found.append(joint.name)
            link = joint.parent
        return found

    # ------------------------------------------------------------------ pieces

    def _link_of(self, element: XmlElement) -> str:
        name = element["link"]
        if name in self._alias:
            return self._alias[name]
        if name not in self._model.links:
            raise element.error(f"there is no link {suggestion(name, self._model.links)}")
        return name

    def _origin(self, element: XmlElement) -> Placement:
        origin = element.child("origin")
        if origin is None:
            return Placement()
        at = origin.vector("xyz", (0.0, 0.0, 0.0))
        self._model.remarks.unread_attributes(origin, "xyz", "rpy", "quat_xyzw")
        if "quat_xyzw" not in origin.attributes:
            return from_rpy(at, origin.vector("rpy", (0.0, 0.0, 0.0)))
        if "rpy" in origin.attributes:
            raise origin.error("<origin> has both rpy and quat_xyzw: there can be one only")
        x, y, z, w = origin.vector("quat_xyzw", count=4)
        if not math.hypot(x, y, z, w) > ZERO_AXIS:
            raise origin.error("the quaternion of <origin> is zero")
        return from_quaternion((w, x, y, z), at)

    def _axis(self, element: XmlElement) -> Placement:
        axes = [*element.all("axis")]
        given = axes[0] if axes else None
        if len(axes) > 1:
            self._model.remarks.add("not understood", "a second <axis> of a joint", element.line)
        axis = (1.0, 0.0, 0.0) if given is None else given.vector("xyz", (1.0, 0.0, 0.0))
        if np.linalg.norm(axis) < ZERO_AXIS:
            raise (given or element).error("the axis has no direction: all its entries are zero")
        return with_axis(axis)


_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_LIMITS = ("lower", "upper", "velocity", "effort")
