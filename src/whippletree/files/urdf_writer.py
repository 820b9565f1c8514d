"""Writing URDF: the tree as links and joints, gears as `mimic`, loops as URDF+ has them.

A link's origin in URDF is on the joint that carries it, so frames of bodies move there; their axes stay where they can.
"""

from __future__ import annotations

from dataclasses import replace

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical
from whippletree.files.file_limits import NO_BOUND
from whippletree.files.poses import rpy_of, with_axis
from whippletree.files.writable_model import LinearCoupling, WritableJoint, WritableModel
from whippletree.files.written_shapes import color_numbers, with_standard_shapes
from whippletree.files.xml_text import XmlTag, numbers
from whippletree.model.description import GROUND, JointUse
from whippletree.model.io.model_file import JointRange
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement

__all__ = ["to_urdf"]

_WORDS: dict[type[Joint], str] = {
    Revolute: "continuous",
    Prismatic: "prismatic",
    Fixed: "fixed",
    Free: "floating",
    Planar: "planar",
    Spherical: "spherical",
}
_IN_LOOPS = (Revolute, Prismatic, Fixed, Spherical)
_ALONG_AXIS = (Revolute, Prismatic)

Follower = tuple[LinearCoupling, str, float, float]


def to_urdf(whole: WritableModel) -> str:
    """Return a mechanism as URDF."""
    if tuple(whole.description.gravity) != (0.0, 0.0, -9.81):
        whole.lacks("gravity other than 9.81 m/s^2 along -z")
    whole.without("armature", "springs", "laws", "polynomials", "weights", "acting on closing joints")
    for motor in whole.motors:
        whole.leaves_out(f"motor {quoted(motor)}")
    followers = whole.followers()
    return "".join(('<?xml version="1.0"?>\n', _Robot(whole, followers).tag.text(), "\n"))


class _Robot:
    """The robot as it grows: links where their joints are."""

    def __init__(self, whole: WritableModel, followers: dict[str, Follower]) -> None:
        self._whole, self._followers = whole, followers
        self._seats = {GROUND: Placement()} | {e.use.child: _seat(e.use) for e in whole.tree.values()}
        self._world = "world" if "world" not in self._seats else "ground"
        self.tag = XmlTag("robot", name=whole.description.name)
        self.tag.add("link", name=self._world)
        for body in whole.bodies():
            seat = self._seats[body.name]
            link = self.tag.add("link", name=body.name)
            _inertial(link, whole.properties(body, seat))
            for shape in whole.shapes(body.name):
                for one in with_standard_shapes(shape, "capsule"):
                    _look(link, one.moved(seat.inverse()))
        for entry in whole.tree.values():
            self._joint(entry)
        for entry in whole.closing:
            self._loop(entry.use)
        self._frames()

    def _name(self, body: str) -> str:
        return self._world if body == GROUND else body

    def _joint(self, entry: WritableJoint) -> None:
        use, bounds = entry.use, entry.range or JointRange()
        word = _WORDS.get(type(use.joint))
        if word is None:
            self._whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}")
            return
        if bounds.lower is not None and bounds.upper is not None and bounds.lower >= bounds.upper:
            self._whole.leaves_out(f"the range of joint {quoted(use.name)}, which is empty")
            bounds = replace(bounds, lower=None, upper=None)
        limited = bounds.lower is not None or bounds.upper is not None
        joint = self.tag.add("joint", name=use.name, type="revolute" if word == "continuous" and limited else word)
        joint.add("parent", link=self._name(use.parent))
        joint.add("child", link=use.child)
        seat = self._seats[use.child]
        _origin(joint, self._seats[use.parent].inverse() @ use.on_parent @ use.on_child.inverse() @ seat)
        if isinstance(use.joint, (*_ALONG_AXIS, Planar)):
            z = [row[2] for row in (seat.inverse() @ use.on_child).rotation]
            joint.add("axis", xyz=numbers(z))
        if entry.damping or entry.friction:
            joint.add("dynamics", damping=numbers([entry.damping]), friction=numbers([entry.friction]))
        if isinstance(use.joint, _ALONG_AXIS) and (entry.range is not None or word == "prismatic"):
            given = {"lower": bounds.lower, "upper": bounds.upper} if limited or word == "prismatic" else {}
            given |= {"velocity": bounds.speed, "effort": bounds.effort}
            open_ends = {key: -NO_BOUND if key == "lower" else NO_BOUND for key in given}
            values = open_ends | {key: value for key, value in given.items() if value is not None}
            joint.add("limit", **{key: numbers([value]) for key, value in values.items()})
        if use.name in self._followers:
            _, leader, ratio, offset = self._followers[use.name]
            joint.add("mimic", joint=leader, multiplier=numbers([ratio]), offset=numbers([offset]))

    def _loop(self, use: JointUse) -> None:
        if not isinstance(use.joint, _IN_LOOPS):
            self._whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}, which closes a loop")
            return
        loop = self.tag.add("loop", name=use.name, type=_WORDS[type(use.joint)].replace("continuous", "revolute"))
        for tag, body, pose in (("predecessor", use.parent, use.on_parent), ("successor", use.child, use.on_child)):
            side = loop.add(tag, link=self._name(body))
            _origin(side, self._seats[body].inverse() @ pose)
        loop.add("axis", xyz="0 0 1")

    def _frames(self) -> None:
        """Write named frames as robots have them: links without mass, which are fixed to others."""
        joints = {entry.use.name for entry in self._whole.joints()}
        for frame in self._whole.frames:
            self.tag.add("link", name=frame.name)
            name = f"{frame.name} on {self._name(frame.body)}"
            while name in joints:
                name = f"{name} (frame)"
            joint = self.tag.add("joint", name=name, type="fixed")
            joint.add("parent", link=self._name(frame.body))
            joint.add("child", link=frame.name)
            _origin(joint, self._seats[frame.body].inverse() @ frame.placement)


def _seat(use: JointUse) -> Placement:
    """Return where a link's frame comes to lie on its body: on its joint, with the body's axes if the format can."""
    if isinstance(use.joint, Fixed) or not any(use.on_child.point):
        if isinstance(use.joint, (Fixed, *_ALONG_AXIS)) or use.on_child == Placement():
            return Placement()
        if isinstance(use.joint, Planar) and use.on_child == with_axis([row[2] for row in use.on_child.rotation]):
            return Placement()
    return Placement(point=use.on_child.point) if isinstance(use.joint, _ALONG_AXIS) else use.on_child


def _inertial(link: XmlTag, properties: MassProperties) -> None:
    if not any(properties.entries()):
        return
    inertial = link.add("inertial")
    inertial.add("origin", xyz=numbers(properties.com), rpy="0 0 0")  # type: ignore[arg-type]
    inertial.add("mass", value=numbers([properties.mass]))  # type: ignore[list-item]
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = properties.inertia
    moments = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
    inertial.add("inertia", **{key: numbers([value]) for key, value in moments.items()})  # type: ignore[list-item]


def _look(link: XmlTag, shape: Shape) -> None:
    look = link.add("collision" if shape.collides else "visual")
    _origin(look, shape.placement)
    geometry, size = look.add("geometry"), shape.size
    if shape.kind == "box":
        geometry.add("box", size=numbers(size))  # type: ignore[arg-type]
    elif shape.kind == "mesh":
        geometry.add("mesh", filename=shape.file, scale=numbers(size))  # type: ignore[arg-type]
    else:
        given = {"radius": size[0]} if shape.kind == "sphere" else {"radius": size[0], "length": size[1]}
        geometry.add(shape.kind, **{key: numbers([value]) for key, value in given.items()})  # type: ignore[list-item]
    if shape.color and not shape.collides:
        look.add("material", name=shape.color).add("color", rgba=color_numbers(shape.color))


def _origin(element: XmlTag, pose: Placement) -> None:
    element.add("origin", xyz=numbers(pose.point), rpy=numbers(rpy_of(pose.rotation)))  # type: ignore[arg-type]
