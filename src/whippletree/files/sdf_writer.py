"""Writing SDF: links where they are at zero coordinates, joints on their children, also those that close loops."""

from __future__ import annotations

from whippletree.elements.joints import Fixed, Free, Joint, Prismatic, Revolute, Screw, Spherical, Universal
from whippletree.files.poses import rpy_of
from whippletree.files.writable_model import WritableJoint, WritableModel
from whippletree.files.xml_text import XmlTag, numbers
from whippletree.model.description import GROUND, JointUse
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement

__all__ = ["to_sdf"]

_WORDS: dict[type[Joint], str] = {
    Revolute: "revolute",
    Prismatic: "prismatic",
    Fixed: "fixed",
    Spherical: "ball",
    Universal: "universal",
    Screw: "screw",
}


def to_sdf(whole: WritableModel) -> str:
    """Return a mechanism as SDF."""
    whole.check_closed()
    root = XmlTag("sdf", version="1.11")
    world = root.add("world", name=whole.description.name)
    world.add("gravity", numbers(whole.description.gravity))  # type: ignore[arg-type]
    element = world.add("model", name=whole.description.name)
    poses = whole.poses()
    for body in whole.bodies():
        link, p = element.add("link", name=body.name), body.properties
        _pose(link, poses[body.name])
        inertial = link.add("inertial")
        inertial.add("pose", numbers([*p.com, 0.0, 0.0, 0.0]))  # type: ignore[list-item]
        inertial.add("mass", numbers([p.mass]))  # type: ignore[list-item]
        inertia = inertial.add("inertia")
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = p.inertia
        for key, value in {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}.items():
            inertia.add(key, numbers([value]))  # type: ignore[list-item]
    for entry in whole.tree.values():
        _joint(element, whole, entry)
    for use in whole.closing:
        _joint(element, whole, WritableJoint(use))
    return f'<?xml version="1.0"?>\n{root.text()}\n'


def _joint(element: XmlTag, whole: WritableModel, entry: WritableJoint) -> None:
    use = entry.use
    if isinstance(use.joint, Free) and use.parent == GROUND:
        if use.on_parent != Placement() or use.on_child != Placement():
            whole.lacks(f"the free joint {quoted(use.name)}, whose frames are not those of its bodies")
        return
    word = _WORDS.get(type(use.joint))
    if word is None:
        whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}")
        return
    joint = element.add("joint", name=use.name, type=word)
    parent, child, pose = _sides(use)
    joint.add("parent", parent)
    joint.add("child", child)
    _pose(joint, pose)
    if isinstance(use.joint, Screw):
        joint.add("screw_thread_pitch", numbers([use.joint.lead]))  # type: ignore[list-item]
    if isinstance(use.joint, Universal):
        joint.add("axis").add("xyz", "1 0 0")
        joint.add("axis2").add("xyz", "0 0 1")
    elif use.joint.nv == 1:
        _axis(joint, whole, entry)


def _sides(use: JointUse) -> tuple[str, str, Placement]:
    """Return parent, child and the joint's pose in the child; the ground as a child is the world, and its pose too."""
    names = ["world" if name == GROUND else name for name in (use.parent, use.child)]
    return names[0], names[1], use.on_child


def _axis(joint: XmlTag, whole: WritableModel, entry: WritableJoint) -> None:
    axis = joint.add("axis")
    axis.add("xyz", "0 0 1")
    given = {"damping": entry.damping, "friction": entry.friction}
    given |= {"spring_reference": entry.rest, "spring_stiffness": entry.stiffness}
    if any(given.values()):
        dynamics = axis.add("dynamics")
        for key, value in given.items():
            dynamics.add(key, numbers([value]))
    if entry.range is not None:
        limit, known = axis.add("limit"), entry.range
        bounds = {"lower": known.lower, "upper": known.upper, "velocity": known.speed, "effort": known.effort}
        for key, bound in bounds.items():
            if bound is not None:
                limit.add(key, numbers([bound]))
    for one in whole.following:
        if one.joint == entry.use.name:
            mimic = axis.add("mimic", joint=one.leader)
            mimic.add("multiplier", numbers([one.ratio]))
            mimic.add("offset", numbers([one.offset]))
            mimic.add("reference", "0")


def _pose(element: XmlTag, pose: Placement) -> None:
    element.add("pose", numbers([*pose.point, *rpy_of(pose.rotation)]))  # type: ignore[list-item]
