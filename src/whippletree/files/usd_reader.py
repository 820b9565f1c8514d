"""USD with physics: rigid bodies and the joints between them, in any graph.

Loops need no mark: a joint is a joint, whether or not it is excluded from an articulation. Angles are in degrees there,
and so are the gains of drives. Several hinges between the same two bodies whose axes differ are turns one after
another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.joints import Fixed, Joint, Prismatic, Revolute, Spherical
from whippletree.errors import FileError, ModelError, WhippletreeError
from whippletree.files.file_limits import PARALLEL, SINGLE_PRECISION
from whippletree.files.neutral_model import WORLD, NeutralJoint, NeutralLink, NeutralModel
from whippletree.files.poses import from_quaternion, with_axis
from whippletree.files.shape_inertias import scaled_to_mass
from whippletree.files.start_gaps import coordinates_of, joint_motion
from whippletree.files.usd_axes import ALONG, axes_of, chained, joint_that_fits, starts_of
from whippletree.files.usd_collisions import usd_collider
from whippletree.files.usd_shapes import collider_properties, collider_shape, colliders, material_density
from whippletree.files.usd_values import UsdObject, number, quaternion, vector, word
from whippletree.model.io.model_file import JointRange
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement

if TYPE_CHECKING:
    from pxr import Usd

__all__ = ["read_usd"]

_KINDS: dict[str, type[Joint]] = {
    "PhysicsRevoluteJoint": Revolute,
    "PhysicsPrismaticJoint": Prismatic,
    "PhysicsSphericalJoint": Spherical,
    "PhysicsFixedJoint": Fixed,
}
_DENSITY = 1000.0
"""Density in kg/m^3 of shapes without one of their own, as the format says."""

_OF_BODY = (
    *("physics:mass", "physics:density", "physics:centerOfMass", "physics:diagonalInertia", "physics:principalAxes"),
    *("physics:velocity", "physics:angularVelocity", "physics:kinematicEnabled", "physics:rigidBodyEnabled"),
    *("physics:collisionEnabled", "physics:approximation", "physics:startsAsleep"),
)
_OF_JOINT = (
    *("physics:axis", "physics:localPos", "physics:localRot", "physics:lowerLimit", "physics:upperLimit"),
    *("physics:jointEnabled", "physics:excludeFromArticulation", "physics:collisionEnabled", "drive:", "limit:"),
    *("physics:breakForce", "physics:breakTorque"),
)
"""Properties of bodies and joints that are read, or have no meaning here; others with a namespace are remarked."""


def read_usd(name: str, place: Path | None, search: Sequence[Path] = ()) -> NeutralModel:
    """Read a stage, whose layers are in its folder or in one of `search`."""
    if place is None:
        raise FileError(f"{name}: USD is read from files: give the path of one", file=name)
    try:
        from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics
    except ImportError:
        raise FileError(f'{name}: USD is read by usd-core: pip install "whippletree[usd]"', file=name) from None
    _check_text(place, name)
    try:
        _check_layers(Sdf, place, name, search)
        stage = Usd.Stage.Open(str(place))
        return _UsdReading(stage, NeutralModel(place.stem, name, floating=True), UsdGeom, UsdPhysics).model()
    except Tf.ErrorException as error:
        raise _said(error, name) from None
    except WhippletreeError:
        raise
    except (ValueError, UnicodeDecodeError) as error:
        raise FileError(f"{name}: {' '.join(str(error).split())}", file=name) from None


def _said(error: Exception, name: str) -> FileError:
    """Return a complaint of the bindings as one of ours, with its line if it names one."""
    text = " ".join(str(error).split())
    what = " ".join(re.findall(r" : '(.*?)'(?= Error in|$)", text)) or text
    found = re.search(re.escape(Path(name).name) + r":(\d+):\d+: ", what)
    line = int(found[1]) if found else None
    plain = what if found is None else what[found.end() :]
    plain = re.sub(r"parse error matching .*? at '", "it cannot be parsed at '", plain)
    place = name if line is None else f"{name}:{line}"
    return FileError(f"{place}: the stage cannot be read: {plain[:500].strip()}", file=name, line=line)


def _check_text(place: Path, name: str) -> None:
    """Refuse a file of text that is not UTF-8."""
    data = place.read_bytes()
    if not data.startswith(b"#usda"):
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FileError(f"{name}:{line}: the file is not text in UTF-8", file=name, line=line) from None


def _check_layers(Sdf: ModuleType, place: Path, name: str, search: Sequence[Path]) -> None:
    """Refuse a stage that draws in files from elsewhere."""
    waiting, seen, homes = [place.resolve()], set(), [place.resolve().parent, *search]
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        layer = Sdf.Layer.FindOrOpen(str(here))
        if layer is None:
            raise FileError(f"{name}: {here.name} cannot be read as USD", file=name)
        layer.Reload(True)  # the bindings may have kept it from an earlier reading
        for asset in filter(None, layer.GetCompositionAssetDependencies()):  # a reference within a file names none
            other = (here.parent / asset).resolve()
            if "://" in asset or not any(other.is_relative_to(home) for home in homes):
                raise FileError(
                    f"{name}: {asset!r} is outside of the model's folder: name its folder with search=", file=name
                )
            waiting.append(other)


class _UsdReading:
    """The prims of a stage: first bodies, then joints."""

    def __init__(self, stage: UsdObject, model: NeutralModel, UsdGeom: ModuleType, UsdPhysics: ModuleType) -> None:
        self._stage, self._m, self._geom, self._physics = stage, model, UsdGeom, UsdPhysics
        self._length = float(UsdGeom.GetStageMetersPerUnit(stage))
        self._mass = float(UsdPhysics.GetStageKilogramsPerUnit(stage))
        self._names: dict[str, str] = {}
        self._scales: dict[str, np.ndarray] = {WORLD: np.ones(3)}
        self._cache = UsdGeom.XformCache()

    def model(self) -> NeutralModel:
        """Return the whole stage."""
        self._gravity()
        prims = [*self._stage.Traverse()]
        bodies = [prim for prim in prims if prim.HasAPI(self._physics.RigidBodyAPI)]
        if not bodies:
            raise self._error("there is no rigid body in it")
        short = [prim.GetName() for prim in bodies]
        for prim in bodies:
            path = str(prim.GetPath())
            self._names[path] = prim.GetName() if short.count(prim.GetName()) == 1 else path.lstrip("/")
            self._body(prim)
        found = [prim for prim in prims if prim.IsA(self._physics.Joint)]
        for prim in found:
            self._joint(prim, [one.GetName() for one in found])
        self._chain_parallel()
        self._scenery(prims)
        return self._m

    def _error(self, message: str) -> FileError:
        return FileError(f"{self._m.file}: {message}", file=self._m.file)

    def _gravity(self) -> None:
        up = str(self._geom.GetStageUpAxis(self._stage))
        default = -np.array(ALONG.get(up, ALONG["Z"]))
        for prim in self._stage.Traverse():
            if prim.IsA(self._physics.Scene):
                scene = self._physics.Scene(prim)
                way = vector(scene.GetGravityDirectionAttr(), (0.0, 0.0, 0.0))
                size = number(scene.GetGravityMagnitudeAttr(), -math.inf)
                self._m.gravity = self._gravity_of(way if way.any() else default, size)
                return
        self._m.remarks.add("guessed", "gravity is 9.81 m/s^2 downwards: there is no physics scene")
        self._m.gravity = self._gravity_of(default, -math.inf)

    def _gravity_of(self, way: np.ndarray, size: float) -> tuple[float, float, float]:
        unit = way / np.linalg.norm(way)
        x, y, z = (float(g) for g in unit * (9.81 if size < 0 or not math.isfinite(size) else size * self._length))
        return x, y, z

    # ------------------------------------------------------------------ bodies

    def _body(self, prim: Usd.Prim) -> None:
        name = self._names[str(prim.GetPath())]
        pose, scale = self._pose(prim)
        try:
            properties = self._properties(prim, name, pose, scale)
        except ModelError as error:
            raise self._error(f"body {quoted(name)}: {error}") from None
        self._m.links[name] = NeutralLink(name, properties, shapes=[*self._looks(prim, pose)])
        self._m.poses[name] = pose
        self._scales[name] = scale
        for key in ("velocity", "angularVelocity"):
            if vector(prim.GetAttribute(f"physics:{key}"), (0.0, 0.0, 0.0)).any():
                self._m.remarks.add("not understood", f"the {key} of a body: it starts at rest")
        for key, usual in (("kinematicEnabled", False), ("rigidBodyEnabled", True)):
            if prim.GetAttribute(f"physics:{key}").Get() is (not usual):
                self._m.remarks.add(
                    "changed", f"body {quoted(name)}, which no forces move ({key}), is fixed where it is"
                )
                label = f"{name} to ground"
                self._m.joints[label] = NeutralJoint(label, Fixed(), WORLD, name, pose, Placement())
        self._unread(prim, _OF_BODY, "a body")
        for one in colliders(prim, self._physics):
            self._collide(one, name, pose)

    def _collide(self, prim: Usd.Prim, link: str, pose: Placement) -> None:
        """Keep a shape by which a link touches others; `pose` is that of the link."""
        with self._m.remarks.of_looks("a shape that collides"):
            at, scale = self._pose(prim, mirrored=True)
            found = usd_collider(prim, link, pose.inverse() @ at, scale, self._length, self._physics)
            if found is not None:
                self._m.collisions.add(found)

    def _scenery(self, prims: list[Usd.Prim]) -> None:
        """Keep the shapes that belong to no body: floors and walls."""
        for prim in prims:
            above = prim
            while above and not above.HasAPI(self._physics.RigidBodyAPI):
                above = above.GetParent()
            if not above and prim.HasAPI(self._physics.CollisionAPI):
                self._collide(prim, WORLD, Placement())

    def _properties(self, prim: Usd.Prim, name: str, pose: Placement, scale: np.ndarray) -> MassProperties:
        """Return mass and inertia of a body: its own, and where it gives none those of its colliders."""
        api = self._physics.MassAPI(prim)
        mass = number(api.GetMassAttr(), 0.0) * self._mass
        diagonal = vector(api.GetDiagonalInertiaAttr(), (0.0, 0.0, 0.0))
        centre = vector(api.GetCenterOfMassAttr(), (math.inf,) * 3)
        if mass > 0.0 and diagonal.any():
            about = MassProperties.as_given(mass, inertia=[float(x) for x in diagonal * self._mass * self._length**2])
            at = np.zeros(3) if not np.isfinite(centre).all() else centre * scale * self._length
            turned = from_quaternion(quaternion(api.GetPrincipalAxesAttr()), [float(x) for x in at])
            return about.moved(at=turned.point, rotation=turned.rotation)
        if prim.GetAttribute("physics:kinematicEnabled").Get() and not mass:
            return MassProperties()
        found = self._from_colliders(prim, name, pose, number(api.GetDensityAttr(), 0.0))
        if not found.mass:
            return found
        if mass > 0.0:
            found = scaled_to_mass(found, mass)
        if diagonal.any() or np.isfinite(centre).all():
            what = "inertia" if diagonal.any() else "centre of mass"
            text = f"the {what} of body {quoted(name)}: its mass follows from its shapes, and so does this"
            self._m.remarks.add("not understood", text)
        return found

    def _from_colliders(self, prim: Usd.Prim, name: str, pose: Placement, given: float) -> MassProperties:
        total = MassProperties()
        for one in colliders(prim, self._physics):
            at, scale = self._pose(one, mirrored=True)
            units = self._length, self._mass
            own = given if given > 0.0 else material_density(one)
            density = own * self._mass / self._length**3 if own > 0.0 else _DENSITY
            try:
                total += collider_properties(
                    one, self._physics, pose.inverse() @ at, scale, units, density, self._m.remarks
                )
            except ValueError as error:
                raise self._error(f"the inertia of body {quoted(name)} follows from {one.GetName()}: {error}") from None
        if not total.mass:
            if number(self._physics.MassAPI(prim).GetMassAttr(), 0.0) > 0.0:
                raise self._error(
                    f"body {quoted(name)} is to get its inertia from its shapes, and has none: give it one"
                )
            self._m.remarks.add("guessed", f"body {quoted(name)}, which has neither mass nor shapes, has no mass")
        return total

    def _looks(self, prim: Usd.Prim, pose: Placement) -> Iterator[Shape]:
        """Yield the shapes of a body for pictures; meshes are within the stage, and are not drawn."""
        for one in colliders(prim, self._physics):
            at, scale = self._pose(one, mirrored=True)
            shape = collider_shape(one, pose.inverse() @ at, scale, self._length)
            if shape is not None:
                yield shape

    def _pose(self, prim: Usd.Prim, *, mirrored: bool = False) -> tuple[Placement, np.ndarray]:
        """Return the pose of a prim in the world, and its scale; that along x is negative if a prim is mirrored."""
        matrix = np.array(self._cache.GetLocalToWorldTransform(prim), dtype=float).T
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        if not np.isfinite(matrix).all() or not scale.all():
            raise self._error(f"prim {prim.GetPath()} is nowhere, or has no size: its transform is {matrix.tolist()}")
        if mirrored and np.linalg.det(matrix[:3, :3]) < 0:
            scale = scale * (-1.0, 1.0, 1.0)
        left, _, right = np.linalg.svd(matrix[:3, :3] / scale)
        R = left @ right
        if np.linalg.det(R) < 0 or np.abs(R * scale - matrix[:3, :3]).max() > 1e-4 * np.abs(scale).max():
            raise self._error(f"prim {prim.GetPath()} is mirrored or sheared")
        return Placement(R.tolist(), tuple(map(float, matrix[:3, 3] * self._length))), scale  # type: ignore[arg-type]

    # ------------------------------------------------------------------ joints

    def _joint(self, prim: Usd.Prim, names: list[str]) -> None:
        name = prim.GetName() if names.count(prim.GetName()) == 1 else str(prim.GetPath()).lstrip("/")
        kind = _KINDS.get(prim.GetTypeName())
        if kind is None and prim.GetTypeName() != "PhysicsJoint":
            raise self._error(f"joint {quoted(name)} is a {prim.GetTypeName()}, which is not read")
        joint = self._physics.Joint(prim)
        if joint.GetJointEnabledAttr().Get() is False:
            self._m.remarks.add("kept aside", f"joint {quoted(name)}, which is not enabled")
            return
        bodies, sides = [], []
        for relation, point, turn in (
            (joint.GetBody0Rel(), joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()),
            (joint.GetBody1Rel(), joint.GetLocalPos1Attr(), joint.GetLocalRot1Attr()),
        ):
            body, on_body, scale = self._side(relation, name)
            at = vector(point, (0.0, 0.0, 0.0)) * scale * self._length
            bodies.append(body)
            sides.append(on_body @ from_quaternion(quaternion(turn), [float(x) for x in at]))
        if bodies[0] == bodies[1]:
            raise self._error(f"joint {quoted(name)} has the same body on both sides")
        self._unread(prim, _OF_JOINT, "a joint")
        if kind is None:
            self._six_axes(prim, name, bodies, sides)
            return
        turned = with_axis(ALONG[self._axis(prim)]) if kind in (Revolute, Prismatic) else Placement()
        use = NeutralJoint(name, kind(), bodies[0], bodies[1], sides[0] @ turned, sides[1] @ turned)
        self._start(use)
        turning = kind is Revolute
        ends = ("physics:lowerLimit", "physics:upperLimit")
        self._gains(prim, use, ends, f"drive:{'angular' if turning else 'linear'}:physics")
        self._m.joints[name] = use

    def _six_axes(self, prim: Usd.Prim, name: str, bodies: list[str], sides: list[Placement]) -> None:
        """Read a joint that says of each axis whether it may move: as one of ours, or several one after another."""
        if (
            prim.GetAttribute("limit:distance:physics:low").HasValue()
            or prim.GetAttribute("limit:distance:physics:high").HasValue()
        ):
            self._m.remarks.add("not understood", f"the limits of distance of joint {quoted(name)}")
        axes = axes_of(prim, self._length)
        fitting = joint_that_fits(axes)
        if fitting is not None:
            kind, turned = fitting
            use = NeutralJoint(name, kind, bodies[0], bodies[1], sides[0] @ turned, sides[1] @ turned)
            self._start(use)
            self._m.joints[name] = use
            return
        starts = starts_of(axes, self._relative(bodies, sides))
        self._tell_open(name, max((abs(starts[axis.name] - axis.at) for axis in axes if not axis.free), default=0.0))
        for use, behind, axis in chained(axes, name, bodies, sides):
            self._m.joints[use.name] = use
            if behind is not None:
                self._m.links[behind.name] = behind
            if axis is None:
                continue
            self._gains(
                prim,
                use,
                tuple(f"limit:{axis.name}:physics:{end}" for end in ("low", "high")),
                f"drive:{axis.name}:physics",
            )
            if starts[axis.name]:
                self._m.guess[use.name] = starts[axis.name]

    def _unread(self, prim: Usd.Prim, known: Sequence[str], what: str) -> None:
        """Remark attributes that a prim says and that are not read; those of geometry are for pictures."""
        for attribute in prim.GetAuthoredAttributes():
            name = attribute.GetName()
            if ":" in name and not name.startswith(("xformOp:", "primvars:", "ui:", *known)):
                self._m.remarks.add("not understood", f"{name} of {what}")

    def _side(self, relation: UsdObject, name: str) -> tuple[str, Placement, np.ndarray]:
        """Return the body that a joint is on, the joint's placement on it, and the scale of that."""
        targets = [str(path) for path in relation.GetTargets()]
        if not targets:
            return WORLD, Placement(), np.ones(3)
        named = prim = self._stage.GetPrimAtPath(targets[0])
        while prim and str(prim.GetPath()) not in self._names and str(prim.GetPath()) != "/":
            prim = prim.GetParent()
        found = self._names.get(str(prim.GetPath())) if prim else None
        if found is None and targets[0] and not self._stage.GetPrimAtPath(targets[0]):
            raise self._error(f"joint {quoted(name)} is on {targets[0]}, which is not there")
        if prim == named and found is not None:
            return found, Placement(), self._scales[found]
        pose, scale = self._pose(named)
        if found is None:
            return WORLD, pose, scale
        return found, self._m.poses[found].inverse() @ pose, scale

    def _axis(self, prim: Usd.Prim) -> str:
        return word(prim.GetAttribute("physics:axis"), tuple(ALONG), "X")

    def _start(self, use: NeutralJoint) -> None:
        relative = self._relative((use.parent, use.child), (use.on_parent, use.on_child))
        start = coordinates_of(use.joint, relative)
        motion = joint_motion(use.joint, start) or Placement()
        left = motion.inverse() @ relative
        turn, shift = np.abs(np.array(left.rotation) - np.eye(3)), np.abs(np.array(left.point, dtype=float))
        self._tell_open(use.name, float(max(turn.max(initial=0.0), shift.max(initial=0.0))))
        if start:
            self._m.guess[use.name] = start[0] if len(start) == 1 else start

    def _tell_open(self, name: str, off: float) -> None:
        """Remark a joint whose two sides miss each other where the file puts its bodies."""
        if off > SINGLE_PRECISION:
            text = f"joint {quoted(name)} misses by {off:.2g} m or rad where the file puts its bodies: the joint counts"
            self._m.remarks.add("changed", text)

    def _relative(self, bodies: Sequence[str], sides: Sequence[Placement]) -> Placement:
        """Return where the frame on the second body is in that on the first, at the start."""
        first, second = (self._m.poses.get(link, Placement()) @ on for link, on in zip(bodies, sides, strict=True))
        return first.inverse() @ second

    def _gains(self, prim: Usd.Prim, use: NeutralJoint, limits_at: Sequence[str], drive: str) -> None:
        """Read the range and the drive of a joint with one coordinate."""
        if use.joint.nv != 1:
            return
        turning = isinstance(use.joint, Revolute)
        unit = math.radians(1.0) if turning else self._length
        ends = zip(limits_at, (-math.inf, math.inf), strict=True)
        bounds = [number(prim.GetAttribute(key), none) for key, none in ends]
        limits = [b * unit if math.isfinite(b) else None for b in bounds]
        if any(limit is not None for limit in limits):
            use.range = JointRange(*limits)
            self._m.remarks.add("kept aside", "ranges of joints, which nothing enforces (stops=True does)")
        stiffness, damping, target = (
            number(prim.GetAttribute(f"{drive}:{key}"), 0.0) for key in ("stiffness", "damping", "targetPosition")
        )
        if not all(map(math.isfinite, (stiffness, damping, target))):
            raise self._error(f"the drive of joint {quoted(use.name)} is not finite")
        effort = self._mass * self._length**2 if turning else self._mass * self._length
        use.stiffness, use.damping, use.rest = stiffness * effort / unit, damping * effort / unit, target * unit
        if word(prim.GetAttribute(f"{drive}:type"), ("force", "acceleration"), "force") != "force":
            raise self._error(f"the drive of joint {quoted(use.name)} is an acceleration: give it as a force")
        if number(prim.GetAttribute(f"{drive}:targetVelocity"), 0.0):
            self._m.remarks.add(
                "not understood", f"the targetVelocity of joint {quoted(use.name)}: its damper holds it"
            )
        most = number(prim.GetAttribute(f"{drive}:maxForce"), math.inf)
        if math.isfinite(most):
            known = use.range or JointRange()
            use.range = JointRange(known.lower, known.upper, None, most * effort)
            self._m.remarks.add("kept aside", "the largest efforts of drives, which nothing enforces")
        if stiffness or damping:
            self._m.remarks.add("changed", "drives, whose gains are per degree, are springs and dampers per radian")

    def _chain_parallel(self) -> None:
        """Put hinges and slides between the same two bodies one after another, unless they are on one line."""
        groups: dict[frozenset[str], list[NeutralJoint]] = {}
        for joint in self._m.joints.values():
            if isinstance(joint.joint, Revolute | Prismatic):
                groups.setdefault(frozenset((joint.parent, joint.child)), []).append(joint)
        for joints in groups.values():
            if len(joints) > 1 and not _on_one_line(joints):
                self._chain(joints)

    def _chain(self, joints: list[NeutralJoint]) -> None:
        here, last = joints[0].parent, joints[0].child
        for k, joint in enumerate(joints):
            if joint.parent != joints[0].parent:
                raise self._error(
                    f"joints {quoted(joints[0].name)} and {quoted(joint.name)} join two bodies in opposite directions"
                )
            between = last if k == len(joints) - 1 else f"{last} behind {joint.name}"
            if between != last:
                self._m.links[between] = NeutralLink(between)
            joint.parent, joint.child = here, between
            if k > 0:
                joint.on_parent = joint.on_child
            here = between
        names = ", ".join(quoted(joint.name) for joint in joints)
        self._m.remarks.add("guessed", f"joints {names} between the same two bodies are turns one after another")


def _on_one_line(joints: list[NeutralJoint]) -> bool:
    """Tell whether all joints have the same axis on their parent."""
    axes = [np.array(joint.on_parent.rotation)[:, 2] for joint in joints]
    points = [np.array(joint.on_parent.point, dtype=float) for joint in joints]
    return all(
        np.linalg.norm(np.cross(axes[0], axis)) < PARALLEL
        and np.linalg.norm(np.cross(axes[0], point - points[0])) < PARALLEL
        for axis, point in zip(axes, points, strict=True)
    )
