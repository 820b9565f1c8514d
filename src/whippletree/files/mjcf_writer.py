"""Writing MJCF: nested bodies with their joints, and equalities for gears and for what closes loops.

A hinge that closes a loop is two connects on its axis, a ball joint one, a weld a weld; MuJoCo takes where they are on
the second body from zero coordinates, so loops have to be closed there.
"""

from __future__ import annotations

import numpy as np

from whippletree.elements.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from whippletree.files.file_limits import ROUNDING
from whippletree.files.poses import quaternion_of
from whippletree.files.writable_model import WritableModel
from whippletree.files.xml_text import XmlTag, numbers
from whippletree.model.description import GROUND, Body, JointUse
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement

__all__ = ["to_mjcf"]

_WORDS: dict[type[Joint], str] = {Revolute: "hinge", Prismatic: "slide", Spherical: "ball", Free: "free"}


def to_mjcf(whole: WritableModel) -> str:
    """Return a mechanism as MJCF."""
    whole.check_closed()
    root = XmlTag("mujoco", model=whole.description.name)
    root.add("compiler", angle="radian", balanceinertia="false")
    root.add("option", gravity=numbers(whole.description.gravity))  # type: ignore[arg-type]
    places = {GROUND: root.add("worldbody")}
    poses = whole.poses()
    for body in whole.bodies():
        entry = whole.entry_of(body.name)
        pose = poses[entry.use.parent].inverse() @ poses[body.name]
        element = places[entry.use.parent].add("body", name=body.name, **_placed(pose))
        places[body.name] = element
        _joint(element, whole, body.name)
        p = body.properties
        if any(p.entries()):
            _check_inertia(whole, body)
            (xx, xy, xz), (_, yy, yz), (_, _, zz) = p.inertia
            full = numbers([xx, yy, zz, xy, xz, yz])  # type: ignore[list-item]
            element.add("inertial", pos=numbers(p.com), mass=numbers([p.mass]), fullinertia=full)  # type: ignore[arg-type,list-item]
    if whole.closing or whole.following:
        equality = root.add("equality")
        for use in whole.closing:
            _close(equality, whole, use)
        for one in whole.following:
            coefficients = numbers([one.offset, one.ratio, 0.0, 0.0, 0.0])
            equality.add("joint", name=one.name, joint1=one.joint, joint2=one.leader, polycoef=coefficients)
    return root.text() + "\n"


def _check_inertia(whole: WritableModel, body: Body) -> None:
    """Refuse an inertia that MuJoCo does not take: it wants positive moments, no two of them less than the third."""
    a, b, c = np.linalg.eigvalsh(np.array(body.properties.inertia, dtype=float))
    if a <= ROUNDING * c or a + b < (1.0 + ROUNDING) * c:
        whole.lacks(f"body {quoted(body.name)}, whose inertia is that of a line or a disc or of no body")


def _joint(element: XmlTag, whole: WritableModel, body: str) -> None:
    entry = whole.entry_of(body)
    use = entry.use
    if isinstance(use.joint, Fixed):
        return
    word = _WORDS.get(type(use.joint))
    if word is None:
        whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}")
        return
    if len(set(use.armature)) > 1 or (word == "free" and use.armature):
        whole.lacks(f"the armature of the {use.joint.kind} joint {quoted(use.name)}")
    if word == "free":
        if use.parent != GROUND or use.on_parent != Placement() or use.on_child != Placement():
            whole.lacks(f"the free joint {quoted(use.name)}, whose frames are not those of its bodies")
        element.add("freejoint", name=use.name)
        return
    given = {"name": use.name, "type": word, "pos": numbers(use.on_child.point)}  # type: ignore[arg-type]
    if word != "ball":
        given["axis"] = numbers([row[2] for row in use.on_child.rotation])
    elif use.on_child.rotation != Placement().rotation:
        whole.lacks(f"the ball joint {quoted(use.name)}, whose frame is turned against its child")
    for key, value in (
        ("armature", float(use.armature[0]) if use.armature else 0.0),
        ("damping", entry.damping),
        ("frictionloss", entry.friction),
        ("stiffness", entry.stiffness),
        ("springref", entry.rest),
    ):
        if value:
            given[key] = numbers([value])
    bounds = entry.range
    if bounds is not None and bounds.lower is not None and bounds.upper is not None:
        given |= {"limited": "true", "range": numbers([bounds.lower, bounds.upper])}
    element.add("joint", **given)


def _close(equality: XmlTag, whole: WritableModel, use: JointUse) -> None:
    """Write what closes a loop, from the side that is not the ground."""
    if use.armature:
        whole.lacks(f"the armature of joint {quoted(use.name)}, which closes a loop")
    turned = use.parent == GROUND
    first, second, pose = (use.child, use.parent, use.on_child) if turned else (use.parent, use.child, use.on_parent)
    bodies = {"body1": first} | ({} if second == GROUND else {"body2": second})
    anchor = numbers(pose.point)  # type: ignore[arg-type]
    if isinstance(use.joint, Fixed):
        equality.add("weld", name=use.name, **bodies)
    elif isinstance(use.joint, Spherical):
        equality.add("connect", name=use.name, anchor=anchor, **bodies)
    elif isinstance(use.joint, Revolute):
        along = pose @ Placement(point=(0.0, 0.0, 1.0))
        equality.add("connect", name=use.name, anchor=anchor, **bodies)
        equality.add("connect", name=f"{use.name} (axis)", anchor=numbers(along.point), **bodies)  # type: ignore[arg-type]
    else:
        whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}, which closes a loop")


def _placed(pose: Placement) -> dict[str, str]:
    return {"pos": numbers(pose.point), "quat": numbers(quaternion_of(pose.rotation))}  # type: ignore[arg-type]
