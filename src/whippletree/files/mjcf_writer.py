"""Writing MJCF: nested bodies with their joints where the model starts, and equalities for closures.

Coordinates are those of the mechanism: `ref` says what they are where bodies are placed. Bodies without mass that only
carry one joint after another become one body with several joints. A hinge that closes a loop is two connects on its
axis, a ball joint one, a weld a weld; where a loop is open at the start, sites say what coincides.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import PurePosixPath

import numpy as np

from whippletree.elements.bodies import Shape
from whippletree.elements.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from whippletree.files.mjcf_written_inertias import PrincipalInertia, principal_inertias
from whippletree.files.mjcf_written_laws import write_couplings, write_laws
from whippletree.files.poses import quaternion_of
from whippletree.files.writable_model import WritableJoint, WritableModel
from whippletree.files.written_shapes import color_numbers, with_standard_shapes
from whippletree.files.xml_text import XmlTag, numbers
from whippletree.foundation.arrays import Array
from whippletree.model.description import GROUND, JointUse
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Rotation3

__all__ = ["to_mjcf"]

_WORDS: dict[type[Joint], str] = {Revolute: "hinge", Prismatic: "slide", Spherical: "ball", Free: "free"}
_SINGLE = (Revolute, Prismatic)
_MESHES = (".stl", ".obj", ".msh")
_EXACT = 1e-14
"""Metres by which a loop may be open for MuJoCo to find out itself where it is closed."""


def to_mjcf(whole: WritableModel) -> str:
    """Return a mechanism as MJCF."""
    whole.without("acting on closing joints")
    root = XmlTag("mujoco", model=whole.description.name)
    root.add("compiler", angle="radian", balanceinertia="false", inertiafromgeom="false")
    root.add("option", gravity=numbers(whole.description.gravity))  # type: ignore[arg-type]
    _MjcfModel(whole, root)
    return root.text() + "\n"


class _MjcfModel:
    """The model as it grows: bodies in bodies, and the sections beside them."""

    def __init__(self, whole: WritableModel, root: XmlTag) -> None:
        self._whole = whole
        started = [e.use.name for e in whole.tree.values() if isinstance(e.use.joint, (*_SINGLE, Free))]
        for entry in whole.tree.values():
            if entry.start and entry.use.name not in started:
                whole.leaves_out(f"where the {entry.use.joint.kind} joint {quoted(entry.use.name)} starts")
        self._poses = whole.poses(started)
        self._chains = dict(_chains(whole))
        self._seats = {GROUND: Placement()} | {body: self._seat(body) for body in self._chains}
        self._inertias = principal_inertias(whole, self._chains, self._poses, self._seats)
        self._names = {body: body for body in self._chains}
        if "world" in self._names:  # MuJoCo calls the ground so
            # not empty: there is always another
            self._names["world"] = next(name for name in _others("world") if name not in self._names)
            whole.remarks.add("changed", f'body "world" is called {quoted(self._names["world"])}')
        self._names[GROUND] = "world"
        self._asset = root.add("asset")
        self._meshes: dict[tuple[str, tuple[float, ...]], str] = {}
        self._places = {GROUND: root.add("worldbody")}
        self._sites = {frame.name for frame in whole.frames}
        for body in self._chains:
            self._body(body)
        for frame in whole.frames:
            self._site(frame.name, frame.body, frame.placement)
        equality = XmlTag("equality")
        for entry in whole.closing:
            self._close(equality, entry.use)
        write_couplings(whole, root, equality)
        write_laws(whole, root)
        if equality.has_children:
            root.append(equality)

    # ------------------------------------------------------------------ bodies

    def _seat(self, body: str) -> Placement:
        """Return the frame on a body that is its own in the file: that of a ball or free joint, if it has one."""
        joints = self._chains[body]
        turning = next((e.use for e in joints if isinstance(e.use.joint, Spherical | Free)), None)
        if turning is None:
            return Placement()
        return self._poses[body].inverse() @ self._poses[turning.child] @ turning.on_child

    def _body(self, body: str) -> None:
        whole, joints = self._whole, self._chains[body]
        parent = joints[0].use.parent
        here = self._poses[body] @ self._seats[body]
        pose = (self._poses[parent] @ self._seats[parent]).inverse() @ here
        held = {"gravcomp": numbers([whole.weights[body]])} if body in whole.weights else {}
        element = self._places[parent].add("body", name=self._names[body], **_placed(pose), **held)
        self._places[body] = element
        for entry in joints:
            self._joint(element, entry, here)
        if body in self._inertias:
            self._inertial(element, self._inertias[body])
        for shape in whole.shapes(body):
            for one in with_standard_shapes(shape):
                self._look(element, body, one.moved(self._seats[body].inverse()))

    def _inertial(self, element: XmlTag, one: PrincipalInertia) -> None:
        turned = {"quat": numbers(quaternion_of(_rotation(one.axes)))} if np.any(one.axes != np.eye(3)) else {}
        given = {"pos": numbers(one.com), "mass": numbers([one.mass])}
        element.add("inertial", **given, **turned, diaginertia=numbers(one.moments))

    def _joint(self, element: XmlTag, entry: WritableJoint, here: Placement) -> None:
        use, whole = entry.use, self._whole
        if isinstance(use.joint, Fixed):
            return
        word = _WORDS.get(type(use.joint))
        if word is None:
            whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}")
            return
        if len(set(map(float, use.armature))) > 1 or (word == "free" and any(use.armature)):
            whole.lacks(f"the armature of the {use.joint.kind} joint {quoted(use.name)}")
        if entry.stiffness and use.joint.nv > 1:
            whole.lacks(f"the spring at the {use.joint.kind} joint {quoted(use.name)}")
        if word == "free" and (use.parent != GROUND or use.on_parent != Placement()):
            whole.lacks(f"the free joint {quoted(use.name)}, whose frame on its parent is not that of the ground")
        frame = here.inverse() @ self._poses[use.child] @ use.on_child
        given = {"name": use.name, "type": word}
        if word != "free":
            given["pos"] = numbers(frame.point)  # type: ignore[arg-type]
        if isinstance(use.joint, _SINGLE):
            given["axis"] = numbers([row[2] for row in frame.rotation])
            if any(entry.start):
                given["ref"] = numbers(entry.start)
        for key, value in (
            ("armature", entry.armature),
            ("damping", entry.damping),
            ("frictionloss", entry.friction),
            ("stiffness", entry.stiffness),
            ("springref", entry.rest if entry.stiffness else 0.0),
        ):
            if value or (key == "springref" and "ref" in given and entry.stiffness):
                given[key] = numbers([value])
        element.add("joint", **given, **self._range(entry))

    def _range(self, entry: WritableJoint) -> dict[str, str]:
        bounds, found = entry.range, dict[str, str]()
        if bounds is None:
            return found
        name = quoted(entry.use.name)
        if bounds.lower is not None and bounds.upper is not None and bounds.lower < bounds.upper:
            found |= {"limited": "true", "range": numbers([bounds.lower, bounds.upper])}
        elif bounds.lower is not None or bounds.upper is not None:
            self._whole.leaves_out(f"the range of joint {name}, which is open or empty")
        if bounds.effort is not None and bounds.effort > 0.0:
            found |= {"actuatorfrclimited": "true", "actuatorfrcrange": numbers([-bounds.effort, bounds.effort])}
        if bounds.speed is not None:
            self._whole.leaves_out("the largest speeds of joints")
        return found

    # ------------------------------------------------------------------ looks and frames

    def _look(self, element: XmlTag, body: str, shape: Shape) -> None:
        size = [float(value) for value in shape.size]
        given = {"type": shape.kind, **_placed(shape.placement)}
        if shape.kind == "mesh":
            place = PurePosixPath(shape.file)
            inside = "://" not in shape.file and not place.is_absolute() and ".." not in place.parts
            if place.suffix.lower() not in _MESHES or not inside or not (self._whole.folder / place).is_file():
                self._whole.leaves_out(
                    f"the mesh {shape.file} of body {quoted(body)}: MuJoCo takes STL, OBJ and MSH, and it must "
                    "be below the folder of the file"
                )
                return
            given["mesh"] = self._mesh(shape.file, tuple(size))
        elif any(value <= 0.0 for value in size):
            self._whole.leaves_out(f"a {shape.kind} without extent of body {quoted(body)}")
            return
        else:
            half = [x / 2 for x in size] if shape.kind == "box" else [size[0], *(x / 2 for x in size[1:])]
            given["size"] = numbers(half)
        if shape.color:
            given["rgba"] = color_numbers(shape.color)
        if not shape.collides:
            given |= {"contype": "0", "conaffinity": "0", "group": "2"}
        element.add("geom", **given)

    def _mesh(self, file: str, scale: tuple[float, ...]) -> str:
        """Return the name of a mesh, which is declared when it is first used."""
        if (file, scale) not in self._meshes:
            name = f"mesh {len(self._meshes) + 1}"
            self._asset.add("mesh", name=name, file=file, scale=numbers(scale), inertia="shell")
            self._meshes[file, scale] = name
        return self._meshes[file, scale]

    def _site(self, name: str, body: str, placement: Placement) -> None:
        if body not in self._places:
            self._whole.lacks(f"frame {quoted(name)}, whose body has no mass")
            return
        self._places[body].add("site", name=name, **_placed(self._seats[body].inverse() @ placement))

    # ------------------------------------------------------------------ loops

    def _close(self, equality: XmlTag, use: JointUse) -> None:
        """Write the equality that closes a loop."""
        if not isinstance(use.joint, Fixed | Spherical | Revolute):
            self._whole.lacks(f"the {use.joint.kind} joint {quoted(use.name)}, which closes a loop")
            return
        if isinstance(use.joint, Fixed):
            self._hold(equality, "weld", use.name, use, Placement())
            return
        self._hold(equality, "connect", use.name, use, Placement())
        if isinstance(use.joint, Revolute):
            self._hold(equality, "connect", f"{use.name} (axis)", use, Placement(point=(0.0, 0.0, 1.0)))

    def _hold(self, equality: XmlTag, tag: str, name: str, use: JointUse, on_joint: Placement) -> None:
        """Hold two frames together: by a point on the first body if they coincide at the start, else by sites.

        Where only their points do, sites tell the coordinates of what closes the loop.
        """
        sides = [(use.parent, use.on_parent @ on_joint), (use.child, use.on_child @ on_joint)]
        one, other = (self._poses[body] @ pose for body, pose in sides)
        if np.abs(one.matrix() - other.matrix()).max() <= _EXACT:
            bodies = {key: self._names[body] for key, (body, _) in zip(("body1", "body2"), sides, strict=True)}
            point = (self._seats[use.parent].inverse() @ sides[0][1]).point
            anchor = {"anchor": numbers(point)} if tag == "connect" else {}  # type: ignore[arg-type]
            equality.add(tag, name=name, **bodies, **anchor)
            return
        sites = []
        for body, pose in sides:
            label, k = f"{name} on {body}", 1
            while label in self._sites:
                label, k = f"{name} on {body} {k + 1}", k + 1
            self._sites.add(label)
            self._site(label, body, pose)
            sites.append(label)
        equality.add(tag, name=name, site1=sites[0], site2=sites[1])


def _chains(whole: WritableModel) -> Iterator[tuple[str, list[WritableJoint]]]:
    """Yield the bodies of the file, each with the joints by which it moves against the body that it hangs on."""
    below: dict[str, list[WritableJoint]] = {}
    for entry in whole.tree.values():
        below.setdefault(entry.use.parent, []).append(entry)
    used = {body for use in whole.closing for body in (use.use.parent, use.use.child)}
    used |= {frame.body for frame in whole.frames} | {*whole.weights}
    carried: dict[str, list[WritableJoint]] = {}
    for entry in whole.tree.values():
        joints = [*carried.pop(entry.use.parent, []), entry]
        body = entry.use.child
        properties = whole.description.body(body).properties
        alone = not any(properties.entries()) and not properties.shapes and body not in used
        after = below.get(body, [])
        if alone and len(after) == 1 and _one_after_another([*joints, after[0]]):
            carried[body] = joints
        else:
            yield body, joints


def _one_after_another(joints: list[WritableJoint]) -> bool:
    """Tell whether MuJoCo takes joints on one body: hinges and slides, or slides and a ball joint at the end."""
    kinds = [entry.use.joint for entry in joints]
    if all(isinstance(kind, _SINGLE) for kind in kinds):
        return True
    return isinstance(kinds[-1], Spherical) and all(isinstance(kind, Prismatic) for kind in kinds[:-1])


def _others(name: str) -> Iterator[str]:
    """Yield names like another, without end."""
    return (f"{name} {k}" for k in count(2))


def _rotation(axes: Array) -> Rotation3:
    x, y, z = (tuple(map(float, row)) for row in axes)
    return x, y, z  # type: ignore[return-value]


def _placed(pose: Placement) -> dict[str, str]:
    return {"pos": numbers(pose.point), "quat": numbers(quaternion_of(pose.rotation))}  # type: ignore[arg-type]
