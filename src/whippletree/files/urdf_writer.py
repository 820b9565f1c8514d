"""Writing URDF: the tree as links and joints, gears as `mimic`, loops as URDF+ has them.

A link's frame in URDF is the frame of the joint that carries it, so frames of bodies move there.
"""

from __future__ import annotations

from whippletree.elements.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical
from whippletree.files.poses import rpy_of
from whippletree.files.writable_model import WritableJoint, WritableModel
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
_FAR = 1e6
"""The bounds of a slide that has none: the format wants some."""


def to_urdf(whole: WritableModel) -> str:
    """Return a mechanism as URDF."""
    if tuple(whole.description.gravity) != (0.0, 0.0, -9.81):
        whole.lacks("gravity other than 9.81 m/s^2 along -z")
    robot = XmlTag("robot", name=whole.description.name)
    robot.add("link", name="world")
    frames = {GROUND: Placement()} | {entry.use.child: entry.use.on_child for entry in whole.tree.values()}
    for body in whole.bodies():
        link, p = robot.add("link", name=body.name), body.properties
        seat = frames[body.name].inverse()
        moved = p.moved(at=seat.point, rotation=seat.rotation)
        if any(moved.entries()):
            inertial = link.add("inertial")
            inertial.add("origin", xyz=numbers(moved.com), rpy="0 0 0")  # type: ignore[arg-type]
            inertial.add("mass", value=numbers([moved.mass]))  # type: ignore[list-item]
            (xx, xy, xz), (_, yy, yz), (_, _, zz) = moved.inertia
            moments = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
            inertial.add("inertia", **{key: numbers([value]) for key, value in moments.items()})  # type: ignore[list-item]
    for entry in whole.tree.values():
        _joint(robot, whole, entry, frames)
    for use in whole.closing:
        _loop(robot, whole, use, frames)
    return f'<?xml version="1.0"?>\n{robot.text()}\n'


def _joint(robot: XmlTag, whole: WritableModel, entry: WritableJoint, frames: dict[str, Placement]) -> None:
    use = entry.use
    word = _WORDS.get(type(use.joint))
    if word is None or word == "spherical":
        whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}")
        return
    bounds = entry.range
    limited = bounds is not None and bounds.lower is not None and bounds.upper is not None
    joint = robot.add("joint", name=use.name, type="revolute" if word == "continuous" and limited else word)
    joint.add("parent", link=_link(use.parent))
    joint.add("child", link=use.child)
    _origin(joint, frames[use.parent].inverse() @ use.on_parent)
    if use.joint.nv and not isinstance(use.joint, Free):
        joint.add("axis", xyz="0 0 1")
    if entry.stiffness:
        whole.lacks(f"the spring at joint {quoted(use.name)}")
    if entry.damping or entry.friction:
        joint.add("dynamics", damping=numbers([entry.damping]), friction=numbers([entry.friction]))
    if use.joint.nv == 1 and (limited or word == "prismatic"):
        known = bounds if bounds is not None else JointRange()
        given = {"lower": known.lower, "upper": known.upper, "velocity": known.speed, "effort": known.effort}
        values = {key: -_FAR if key == "lower" else _FAR for key in given}
        values |= {key: value for key, value in given.items() if value is not None}
        joint.add("limit", **{key: numbers([value]) for key, value in values.items()})
    for one in whole.following:
        if one.joint == use.name:
            joint.add("mimic", joint=one.leader, multiplier=numbers([one.ratio]), offset=numbers([one.offset]))


def _loop(robot: XmlTag, whole: WritableModel, use: JointUse, frames: dict[str, Placement]) -> None:
    if not isinstance(use.joint, _IN_LOOPS):
        whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}, which closes a loop")
        return
    loop = robot.add("loop", name=use.name, type="revolute" if isinstance(use.joint, Revolute) else use.joint.kind)
    for tag, body, pose in (("predecessor", use.parent, use.on_parent), ("successor", use.child, use.on_child)):
        side = loop.add(tag, link=_link(body))
        _origin(side, frames[body].inverse() @ pose)
    loop.add("axis", xyz="0 0 1")


def _link(body: str) -> str:
    return "world" if body == GROUND else body


def _origin(element: XmlTag, pose: Placement) -> None:
    element.add("origin", xyz=numbers(pose.point), rpy=numbers(rpy_of(pose.rotation)))  # type: ignore[arg-type]
