"""Writing SDF: links where they are at zero coordinates, joints on their children, also those that close loops.

What floats stands where it starts. Links, joints and frames must not share a name there.
"""

from __future__ import annotations

from collections.abc import Callable

from whippletree.elements.bodies import Shape
from whippletree.elements.joints import Fixed, Free, Joint, Prismatic, Revolute, Screw, Spherical, Universal
from whippletree.files.poses import rpy_of
from whippletree.files.writable_model import LinearCoupling, WritableJoint, WritableModel
from whippletree.files.written_shapes import color_numbers, with_standard_shapes
from whippletree.files.xml_text import XmlTag, numbers
from whippletree.model.description import GROUND
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
_WITH_DYNAMICS = (Revolute, Prismatic, Screw)

Follower = tuple[LinearCoupling, str, float, float]


def to_sdf(whole: WritableModel) -> str:
    """Return a mechanism as SDF."""
    whole.without("armature", "laws", "polynomials")
    for motor in whole.motors:
        whole.leaves_out(f"motor {quoted(motor)}")
    followers = whole.followers()
    root = XmlTag("sdf", version="1.11")
    world = root.add("world", name=whole.description.name)
    world.add("gravity", numbers(whole.description.gravity))  # type: ignore[arg-type]
    model = world.add("model", name=_names(whole)("model", whole.description.name))
    _SdfModel(whole, followers, model)
    return f'<?xml version="1.0"?>\n{root.text()}\n'


class _SdfModel:
    """The model as it grows: links, frames, joints."""

    def __init__(self, whole: WritableModel, followers: dict[str, Follower], model: XmlTag) -> None:
        self._whole, self._followers, self._tag = whole, followers, model
        self._floating = {e.use.name: e for e in whole.tree.values() if isinstance(e.use.joint, Free)}
        self._seats = {e.use.child: e.use.on_child for e in self._floating.values()}
        self._poses = whole.poses(self._floating)
        for entry in whole.closing:
            if not whole.is_closed(entry.use, self._poses):
                whole.lacks(f"the loop at {quoted(entry.use.name)}, which is not closed at zero coordinates")
        named = _names(whole)
        self._joints = {e.use.name: named("joint", e.use.name) for e in whole.joints()}
        self._links = {GROUND: "world"} | {body.name: named("link", body.name) for body in whole.bodies()}
        self._bodies()
        for frame in whole.frames:
            place = model.add(
                "frame", name=named("frame", frame.name), attached_to=self._links.get(frame.body, frame.body)
            )
            _pose(place, self._on(frame.body, frame.placement))
        for entry in whole.joints():
            self._joint(entry)

    def _on(self, body: str, pose: Placement) -> Placement:
        """Return a frame on a body in its link."""
        return self._seats.get(body, Placement()).inverse() @ pose

    def _bodies(self) -> None:
        whole = self._whole
        for body in whole.bodies():
            seat = self._seats.get(body.name, Placement())
            link, p = self._tag.add("link", name=self._links[body.name]), whole.properties(body, seat)
            _pose(link, self._poses[body.name] @ seat)
            if body.name in whole.weights:
                if abs(whole.weights[body.name] - 1.0) > _WHOLE:
                    whole.lacks(f"the share of its weight that is held of body {quoted(body.name)}")
                link.add("gravity", "false")
            inertial = link.add("inertial")
            inertial.add("pose", numbers([*p.com, 0.0, 0.0, 0.0]))  # type: ignore[list-item]
            inertial.add("mass", numbers([p.mass]))  # type: ignore[list-item]
            inertia = inertial.add("inertia")
            (xx, xy, xz), (_, yy, yz), (_, _, zz) = p.inertia
            for key, value in {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}.items():
                inertia.add(key, numbers([value]))  # type: ignore[list-item]
            shapes = [one for shape in whole.shapes(body.name) for one in with_standard_shapes(shape)]
            for number, shape in enumerate(shapes, 1):
                _look(link, shape.moved(seat.inverse()), f"shape {number}")

    def _joint(self, entry: WritableJoint) -> None:
        use, whole = entry.use, self._whole
        if use.name in self._floating:
            if use.parent != GROUND or use.on_parent != Placement():
                whole.lacks(f"the free joint {quoted(use.name)}, whose frame on its parent is not that of the ground")
            if entry.damping or entry.friction:
                whole.lacks(f"what acts on the free joint {quoted(use.name)}")
            found = f"{self._links[use.child]} to ground"
            if found != use.name:
                whole.remarks.add(
                    "changed", f"joint {quoted(use.name)} is called {quoted(found)}: no word says it floats"
                )
            return
        word = _WORDS.get(type(use.joint))
        if word is None:
            whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}")
            return
        joint = self._tag.add("joint", name=self._joints[use.name], type=word)
        joint.add("parent", self._links[use.parent])
        joint.add("child", self._links[use.child])
        _pose(joint, self._on(use.child, use.on_child))
        if isinstance(use.joint, Screw):
            joint.add("screw_thread_pitch", numbers([use.joint.lead]))  # type: ignore[list-item]
        if isinstance(use.joint, Universal):
            joint.add("axis").add("xyz", "1 0 0")
            joint.add("axis2").add("xyz", "0 0 1")
        elif isinstance(use.joint, _WITH_DYNAMICS):
            self._axis(joint, entry)
        if not isinstance(use.joint, _WITH_DYNAMICS) and (entry.damping or entry.friction):
            whole.lacks(f"what acts on the {use.joint.kind} joint {quoted(use.name)}")

    def _axis(self, joint: XmlTag, entry: WritableJoint) -> None:
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
        if entry.use.name in self._followers:
            _, leader, ratio, offset = self._followers[entry.use.name]
            mimic = axis.add("mimic", joint=self._joints[leader])
            mimic.add("multiplier", numbers([ratio]))
            mimic.add("offset", numbers([offset]))
            mimic.add("reference", "0")


_WHOLE = 1e-12
"""How far a share may be from one and still be the whole weight."""


def _names(whole: WritableModel) -> Callable[[str, str], str]:
    """Return a function that gives names unused by joints, links and frames; a change is told."""
    used = {"world", "__model__", "__root__"}

    def named(kind: str, name: str) -> str:
        found, k = name, 1
        while found in used:
            found, k = f"{name} {kind}{'' if k == 1 else f' {k}'}", k + 1
        used.add(found)
        if found != name:
            whole.remarks.add("changed", f"{kind} {quoted(name)} is called {quoted(found)}: its name is taken")
        return found

    return named


def _look(link: XmlTag, shape: Shape, name: str) -> None:
    look = link.add("collision" if shape.collides else "visual", name=name)
    _pose(look, shape.placement)
    size = shape.size
    geometry = look.add("geometry").add(shape.kind)
    if shape.kind == "box":
        geometry.add("size", numbers(size))  # type: ignore[arg-type]
    elif shape.kind == "mesh":
        geometry.add("uri", shape.file)
        geometry.add("scale", numbers(size))  # type: ignore[arg-type]
    else:
        for key, value in zip(("radius", "length"), size, strict=False):
            geometry.add(key, numbers([value]))  # type: ignore[list-item]
    if shape.color and not shape.collides:
        material = look.add("material")
        for key in ("ambient", "diffuse"):
            material.add(key, color_numbers(shape.color))


def _pose(element: XmlTag, pose: Placement) -> None:
    element.add("pose", numbers([*pose.point, *rpy_of(pose.rotation)]))  # type: ignore[list-item]
