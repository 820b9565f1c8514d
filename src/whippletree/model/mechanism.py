"""The mechanism a person writes down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
import numpy as np

from whippletree.elements import joints
from whippletree.elements.bodies import BodyKind, MassProperties
from whippletree.elements.bodies.body_chains import PART_END, BodyChain
from whippletree.elements.closures import Coincident, Coupling, DeclaredClosure, Distance, InPlane, Perpendicular
from whippletree.elements.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.foundation.verbs import Verb, imported
from whippletree.model.body_kinds import checked_kind
from whippletree.model.contact_calls import ContactCalls
from whippletree.model.description import Body, Description, ForceUse, Frame, JointUse
from whippletree.model.design_position import design_distance
from whippletree.model.drive_calls import DriveCalls
from whippletree.model.element_registry import BodyLike, CoordinateLike, JointLike, PlaceLike, SideLike
from whippletree.model.event_calls import EventCalls
from whippletree.model.expression_closure import read_closure
from whippletree.model.fields import checked
from whippletree.model.handles import BodyHandle, ClosureHandle, FrameHandle, JointHandle
from whippletree.model.joint_frames import FRAMES, AlignedSides, AxisSides, PoseLike, Sides, UniversalSides
from whippletree.model.names import called, new_name
from whippletree.spatial.orientation import IDENTITY, AxisLike, direction, rotation_matrix
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import (
    Scalar,
    Vector3,
    VectorLike,
    expressions,
    number,
    scalar,
    shown,
    vector,
)
from whippletree.symbolic.arithmetic import copied

if TYPE_CHECKING:
    from whippletree.system import System
    from whippletree.viewer import show_mechanism

__all__ = ["Mechanism"]


@user_facing
class Mechanism(DriveCalls, EventCalls, ContactCalls):
    """A mechanism: bodies, the joints between them, closures, forces, frames and parameters, each with a name.

    Every call checks what it is given and leaves the mechanism as it was if something is wrong. Wherever a
    number goes, except in axes and rotations, an expression in parameters can go. Bodies and joints may form
    any graph; closures are what holds besides the joints: rods, gears, and what one writes down; forces are springs,
    friction, stops, contacts, actuators and loads.

    >>> m = Mechanism("pendulum")
    >>> length = m.parameter("length", 0.5)
    >>> bob = m.body("bob", mass=1.0, com=(0, 0, -length))
    >>> hinge = m.revolute("hinge", m.ground, bob, axis="y")
    >>> m.describe().joint("hinge").child
    'bob'
    """

    def __init__(self, name: str, gravity: VectorLike = (0.0, 0.0, -9.81)) -> None:
        super().__init__(name)
        self.gravity = gravity

    def __repr__(self) -> str:
        counts = f"{len(self._bodies)} bodies, {len(self._joints)} joints, {len(self._closures)} closures"
        forces = f", {len(self._forces)} forces" if self._forces else ""
        return f'<Mechanism "{self._name}": {counts}{forces}, {len(self._frames)} frames>'

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as a description. Symbols handed out before are not those of the mechanism that comes back."""
        return Mechanism, (self._name,), self.describe()

    @staticmethod
    def of(description: Description) -> Mechanism:
        """Return a mechanism with this description, to which more can be added.

        >>> Mechanism.of(Mechanism("m").describe()).name
        'm'
        """
        mechanism = Mechanism(description.name)
        mechanism.__setstate__(description)
        return mechanism

    @property
    def ground(self) -> BodyHandle:
        """The ground, which does not move.

        >>> Mechanism("m").ground.name
        'ground'
        """
        return self._ground

    @property
    def gravity(self) -> Vector3:
        """The acceleration of free fall in the ground frame; set it again to put parameters in it.

        >>> m = Mechanism("on the moon")
        >>> m.gravity = (0, 0, -m.parameter("g", 1.62))
        """
        return self._gravity

    @gravity.setter
    def gravity(self, gravity: VectorLike) -> None:
        with called("mechanism", self._name):
            read = vector(gravity, "gravity")
            self._parameters.check(read, "gravity")
            self._gravity = read

    def parameter(self, name: str, value: float) -> ca.SX:
        """Declare a named parameter and return its symbol, to be used in expressions.

        >>> Mechanism("m").parameter("payload", 2.5)
        SX(payload)
        """
        with called("parameter", name):
            text = new_name(name, self._parameters.names, "parameters")
            return self._parameters.add(text, number(value, "value"))

    def body(
        self,
        name: str,
        properties: MassProperties | BodyKind | BodyChain | None = None,
        *,
        mass: Scalar | None = None,
        com: VectorLike | None = None,
        inertia: object = None,
    ) -> BodyHandle:
        """Add a body with the properties of a shape, or with mass, com and inertia; with neither, massless.

        Instead of a shape it may be a `BodyKind`, a body with coordinates of its own. Its moving frames are places
        named after it ("link.tip"), which joints, forces and frames attach to like to a body.

        `com` is the centre of mass in the body's frame, `inertia` the 3 x 3 matrix about the centre of mass
        in the body's axes, or the three moments on its diagonal.

        >>> m = Mechanism("m")
        >>> m.body("flywheel", mass=2.0, inertia=(1, 1, 2)).name
        'flywheel'
        """
        if isinstance(properties, BodyChain):
            return self._add_chain(name, properties)
        with called("body", name):
            text = self._new_place_name(name)
            kind = checked_kind(properties, self._parameters) if isinstance(properties, BodyKind) else None
            if kind is not None and text in self._joints:
                raise ModelError("a body with own coordinates cannot have a joint's name: they are found by it")
            given = _properties(None if kind is not None else cast(Any, properties), mass, com, inertia)
            self._check_properties(given)
            self._bodies[text] = Body(text, given, kind)
            if kind is not None:
                self._add_own_coordinates(text, kind)
        return BodyHandle(text, self)

    def _add_chain(self, name: str, chain: BodyChain) -> BodyHandle:
        """Add the parts of a chain and the welds between them, and frames that have the names of the whole."""
        with called("body", name):
            text = self._new_place_name(name)
        parts = [f"{text}.{i + 1}" for i in range(len(chain.parts))]
        for part, kind in zip(parts, chain.parts, strict=True):
            self.body(part, kind)
        for before, after in pairwise(parts):
            self.fixed(f"{after} weld", f"{before}.{PART_END}", after)
        self.frame(text, on=parts[0])
        self._forwarded[text] = parts[0]
        for interface, (i, own) in chain.interfaces.items():
            self.frame(f"{text}.{interface}", on=f"{parts[i]}.{own}")
            for alias in (f"{text}.{interface}", f"{parts[0]}.{interface}"):
                self._forwarded[alias] = f"{parts[i]}.{own}"
        return BodyHandle(text, self)

    def frame(
        self, name: str, *, on: BodyLike, at: VectorLike = (0.0, 0.0, 0.0), rotation: object = None
    ) -> FrameHandle:
        """Add a named frame on a body or the ground; `rotation` has the frame's axes as columns.

        >>> m = Mechanism("m")
        >>> m.frame("tip", on=m.body("boom"), at=(3, 0, 0)).name
        'tip'
        """
        with called("frame", name):
            text = self._new_place_name(name)
            body = self._body_name(on, "on")
            R = IDENTITY if rotation is None else rotation_matrix(rotation)
            placement = Placement(R, vector(at, "at"))
            self._parameters.check(placement.point, "at")
            self._frames[text] = Frame(text, body, placement)
        return FrameHandle(text, self)

    def fixed(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        at_child: VectorLike | str | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Weld two bodies together: the frame at `at` on the parent is the frame at `at_child` on the child.

        `at` and `at_child` are points in the two bodies' frames, their origins unless given. `pose` and
        `pose_child`, 4 x 4 matrices or `Placement`s, give an orientation as well; `pose` alone is the pose of the
        child's frame in the parent's.

        >>> m = Mechanism("m")
        >>> m.fixed("weld", m.ground, m.body("post"), at=(1, 0, 0)).name
        'weld'
        """
        frames = AlignedSides(at, None, at_child, None, pose, pose_child)
        return self._join(name, Fixed(), parent, child, frames, prescribed=prescribed)

    def revolute(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | str | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child turn about an axis; the coordinate is the angle.

        `at` is a point and `axis` a direction in the parent's frame, its origin and "z" unless given: "x",
        "-y", or three numbers. `at_child` and `axis_child` are the same in the child's frame, its origin
        and the same axis unless given. Instead, `pose` and `pose_child` place the joint frame, whose z is
        the axis: 4 x 4 matrices or `Placement`s. `pose` alone is the pose of the child's frame in the parent's at
        zero coordinates. If `prescribed`, the acceleration is given and the driving force comes out.

        >>> m = Mechanism("m")
        >>> m.revolute("A", m.ground, m.body("crank"), axis="y").name
        'A'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Revolute(), parent, child, frames, prescribed=prescribed)

    def prismatic(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | str | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child slide along an axis; the coordinate is the displacement. Arguments as for `revolute`.

        >>> m = Mechanism("m")
        >>> m.prismatic("slide", m.ground, m.body("piston"), axis="x").name
        'slide'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Prismatic(), parent, child, frames, prescribed=prescribed)

    def cylindrical(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | str | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child turn about an axis and slide along it: an angle and a displacement.

        Arguments as for `revolute`.

        >>> m = Mechanism("m")
        >>> m.cylindrical("sleeve", m.ground, m.body("rod")).name
        'sleeve'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Cylindrical(), parent, child, frames, prescribed=prescribed)

    def screw(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        lead: Scalar,
        at: VectorLike | str | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | str | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child turn about an axis and advance by `lead` metres per turn.

        The coordinate is the angle. A negative lead is a left-handed thread. The other arguments are as for
        `revolute`.

        >>> m = Mechanism("m")
        >>> m.screw("spindle", m.ground, m.body("nut"), lead=0.005).name
        'spindle'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Screw(lead), parent, child, frames, prescribed=prescribed)

    def planar(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | str | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child move in the plane normal to `axis`: an angle and two displacements.

        Arguments as for `revolute`. The displacements are along x and y of the joint frame on the parent:
        for the axis "z" the parent's x and y, for "x" its y and z, for "y" its z and x; with a pose, the x
        and y of the pose.

        >>> m = Mechanism("m")
        >>> m.planar("table", m.ground, m.body("puck"), axis="z").name
        'table'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Planar(), parent, child, frames, prescribed=prescribed)

    def universal(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | str | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child turn about an axis of the parent, then about an axis of its own: two angles.

        `axis` is fixed in the parent, "x" unless given; `axis_child` is fixed in the child, "y" unless
        given, and perpendicular to it at zero coordinates, when the bodies are parallel. In a `pose`, x is
        the first axis and z the second.

        >>> m = Mechanism("m")
        >>> m.universal("cardan", m.ground, m.body("shaft"), axis="x", axis_child="y").name
        'cardan'
        """
        frames = UniversalSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Universal(), parent, child, frames, prescribed=prescribed)

    def spherical(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        at_child: VectorLike | str | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        coordinates: str = "quaternion",
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child turn every way about a point: a unit quaternion. Other arguments as for `fixed`.

        With `coordinates="euler"` or `"bryant"` there are three angles instead, and velocities are their rates: about
        z, x, z or x, y, z, each axis as turned by those before. They lock where the first axis and the third fall
        together: Euler's where the joint frames coincide, Bryant's after a quarter turn about y.

        >>> m = Mechanism("m")
        >>> m.spherical("ball", m.ground, m.body("arm")).name
        'ball'
        >>> m.spherical("gimbals", m.ground, m.body("rotor"), coordinates="bryant").name
        'gimbals'
        """
        with called("joint", name):
            kind = _of_coordinates(coordinates, Spherical)
        frames = AlignedSides(at, None, at_child, None, pose, pose_child)
        return self._join(name, kind(), parent, child, frames, prescribed=prescribed)

    def free(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        at_child: VectorLike | str | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        coordinates: str = "quaternion",
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child move every way: a unit quaternion and a position. Other arguments as for `fixed`.

        With `coordinates="euler"` or `"bryant"` there are three angles, as for `spherical`, and a position; velocities
        are the rates of these six.

        >>> m = Mechanism("m")
        >>> m.free("flight", m.ground, m.body("satellite")).name
        'flight'
        """
        with called("joint", name):
            kind = _of_coordinates(coordinates, Free)
        frames = AlignedSides(at, None, at_child, None, pose, pose_child)
        return self._join(name, kind(), parent, child, frames, prescribed=prescribed)

    def joint(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        joint: Joint,
        *,
        at: VectorLike | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child move as a joint of any type says, also of one that is not part of the package.

        Arguments as for `revolute`, or `fixed` and `universal` where the type is placed by no axis or by two.

        >>> from whippletree.elements.joints import Screw
        >>> m = Mechanism("m")
        >>> m.joint("spindle", m.ground, m.body("nut"), Screw(lead=0.005), axis="x").name
        'spindle'
        """
        with called("joint", name):
            if not isinstance(joint, Joint) or joint.n_axes not in FRAMES:
                raise ModelError(f"joint must be an instance of a type of joint, got {shown(joint)}")
        frames = FRAMES[joint.n_axes](at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, joint, parent, child, frames, prescribed=prescribed)

    def distance(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        length: Scalar | None = None,
        at: VectorLike | str | None = None,
        at_child: VectorLike | str | None = None,
    ) -> ClosureHandle:
        """Keep two points at a distance: a massless rod with ball joints at its ends (ss of the basic functions).

        `at` and `at_child` are the points in the two bodies' frames, their origins unless given. Without a `length`,
        the rod is as long as the points are apart in the design position, where all coordinates are zero; the joints
        that connect the two bodies are added before.

        >>> m = Mechanism("m")
        >>> m.distance("tie", m.ground, m.body("ball"), length=1.2, at=(0, 0, 2)).name
        'tie'
        """
        with called("closure", name):
            bodies, placements = self._two_points(parent, child, at, at_child, "a distance")
            if length is None:
                length = design_distance(self._joints.values(), bodies, placements, self._parameters.values_of)
            rod = checked(Distance(length), self._parameters)
            return self._close(name, rod, tuple(zip(bodies, placements, strict=True)), ())

    def coincident(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | str | None = None,
        at_child: VectorLike | str | None = None,
    ) -> ClosureHandle:
        """Keep two points together: what a ball joint holds, without coordinates (s of the basic functions).

        `at` and `at_child` are the points in the two bodies' frames, their origins unless given.

        >>> m = Mechanism("m")
        >>> m.coincident("pivot", m.ground, m.body("top"), at=(0, 0, 1)).name
        'pivot'
        """
        with called("closure", name):
            bodies, placements = self._two_points(parent, child, at, at_child, "a closure")
            return self._close(name, Coincident(), tuple(zip(bodies, placements, strict=True)), ())

    def in_plane(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        normal: AxisLike = "z",
        offset: Scalar = 0.0,
        at: VectorLike | str | None = None,
        at_child: VectorLike | str | None = None,
    ) -> ClosureHandle:
        """Keep a point of the child in a plane of the parent (d2 of the basic functions).

        The plane is normal to `normal`, given in the parent's axes, at an `offset` along it from the point `at`.

        >>> m = Mechanism("m")
        >>> m.in_plane("table", m.ground, m.body("ball"), offset=0.05).name
        'table'
        """
        with called("closure", name):
            bodies, placements = self._two_points(parent, child, at, at_child, "a closure")
            plane = checked(InPlane(direction(normal, "normal"), offset), self._parameters)
            return self._close(name, plane, tuple(zip(bodies, placements, strict=True)), ())

    def perpendicular(
        self, name: str, parent: BodyLike, child: BodyLike, *, axis: AxisLike = "z", axis_child: AxisLike = "z"
    ) -> ClosureHandle:
        """Keep an axis of the parent at a right angle to an axis of the child (d1 of the basic functions).

        Each axis is given in its body's own axes.

        >>> m = Mechanism("m")
        >>> m.perpendicular("square", m.ground, m.body("plate"), axis="z", axis_child="x").name
        'square'
        """
        with called("closure", name):
            bodies, placements = self._two_points(parent, child, None, None, "a closure")
            axes = Perpendicular(direction(axis, "axis"), direction(axis_child, "axis_child"))
            return self._close(name, axes, tuple(zip(bodies, placements, strict=True)), ())

    def coupling(self, name: str, ratios: Mapping[CoordinateLike, Scalar], *, offset: Scalar = 0.0) -> ClosureHandle:
        """Keep a weighted sum of joint coordinates at `offset`: differentials, racks, planetary gears.

        The keys of `ratios` are joints, by name or handle, or pairs of a joint and an index for joints with several
        coordinates (the first unless given). With one joint only, the coupling locks it.

        >>> m = Mechanism("differential")
        >>> for name in ("left", "right", "cage"):
        ...     hinge = m.revolute(name, m.ground, m.body(name + " shaft"))
        >>> m.coupling("bevel", {"left": 1.0, "right": 1.0, "cage": -2.0}).name
        'bevel'
        """
        with called("closure", name):
            if not issubclass(type(ratios), Mapping) or not ratios:
                raise ModelError(
                    f'ratios must say which joints are coupled, as in {{"A": 1.0, "B": -2.0}}, got {shown(ratios)}'
                )
            return self._couple(name, ratios.items(), offset)

    def gear(
        self, name: str, first: CoordinateLike, second: CoordinateLike, *, ratio: Scalar, offset: Scalar = 0.0
    ) -> ClosureHandle:
        """Keep the second joint's coordinate at ratio times the first's plus `offset`.

        That is a gear pair between revolute joints, a rack between a revolute and a prismatic one (the ratio then
        is the pinion's radius), and a joint that mimics another. Joints are given as for `coupling`.

        >>> m = Mechanism("m")
        >>> for name in ("A", "B"):
        ...     hinge = m.revolute(name, m.ground, m.body("wheel " + name))
        >>> m.gear("pair", "A", "B", ratio=-2.0).name
        'pair'
        """
        with called("closure", name):
            read = scalar(ratio, "ratio")
            if self._parameters.values_of([read], "ratio") == [0.0]:
                raise ModelError("ratio must not be zero: to hold the second joint where it is, couple it alone")
            return self._couple(name, [(first, -read), (second, 1.0)], offset)

    def constraint(
        self,
        name: str,
        closure: DeclaredClosure,
        *,
        on: Sequence[SideLike] | PlaceLike = (),
        coordinates: Sequence[CoordinateLike] | CoordinateLike = (),
    ) -> ClosureHandle:
        """Add a closure of any type, also of one that is not part of the package.

        It holds between the frames `on`, which are bodies or frames, or pairs of such and a point; and between joint
        `coordinates`, given as for `coupling`.

        >>> from whippletree.elements.closures import Distance
        >>> m = Mechanism("m")
        >>> m.constraint("tie", Distance(1.2), on=[(m.ground, (0, 0, 2)), m.body("ball")]).name
        'tie'
        """
        with called("closure", name):
            if not isinstance(closure, DeclaredClosure):
                raise ModelError(f"closure must be an instance of a type of closure, got {shown(closure)}")
            own = checked(closure, self._parameters)
            return self._close(name, own, *self._held(own, on, coordinates))

    def closure(self, name: str, expression: ca.SX) -> ClosureHandle:
        """Keep an expression at zero: one entry or a column, written in the mechanism's symbols.

        These are what `coordinate`, `rate`, `position`, `rotation`, `velocity`, `time` and `parameter` return. With a
        rate or a velocity in it, it is a condition on velocities only, such as rolling, and must be affine in
        them.

        >>> m = Mechanism("cam")
        >>> shaft = m.revolute("shaft", m.ground, m.body("disc"))
        >>> follower = m.prismatic("follower", m.ground, m.body("tappet"))
        >>> lift = 0.02 * (1 - ca.cos(m.coordinate("shaft")))
        >>> m.closure("profile", m.coordinate("follower") - lift).name
        'profile'
        """
        with called("closure", name):
            orders = self._place_order, self._coordinate_order
            read = read_closure(expression, self._symbols, self._parameters, *orders)
            sides = tuple(self._placed(place) for place in read.places)
            return self._close(name, read.closure, sides, read.coordinates)

    def coordinate(self, joint: JointLike, index: int = 0) -> ca.SX:
        """Return the symbol of a joint coordinate, for expressions.

        >>> m = Mechanism("m")
        >>> m.coordinate(m.revolute("A", m.ground, m.body("crank")))
        SX(A)
        """
        with called("mechanism", self._name):
            return copied(self._symbols.coordinate(*self._coordinate((joint, index))).q)

    def rate(self, joint: JointLike, index: int = 0) -> ca.SX:
        """Return the symbol of the rate of a joint coordinate; see `coordinate`."""
        with called("mechanism", self._name):
            return copied(self._symbols.coordinate(*self._coordinate((joint, index))).v)

    def position(self, place: PlaceLike) -> ca.SX:
        """Return the origin of a body or frame in the ground frame (3), for expressions.

        >>> m = Mechanism("m")
        >>> m.position(m.frame("hook", on=m.body("boom"), at=(0, 0, 2)))
        SX([position of hook_0, position of hook_1, position of hook_2])
        """
        with called("mechanism", self._name):
            return ca.SX(self._side(place).p)

    def rotation(self, place: PlaceLike) -> ca.SX:
        """Return the axes of a body or frame in the ground frame, as columns (3, 3); see `position`.

        >>> m = Mechanism("m")
        >>> m.rotation(m.body("arm")).shape
        (3, 3)
        """
        with called("mechanism", self._name):
            return ca.SX(self._side(place).R)

    def velocity(self, place: PlaceLike) -> ca.SX:
        """Return the angular velocity of a body or frame and its origin's velocity, in ground axes (6).

        >>> m = Mechanism("m")
        >>> m.velocity(m.body("arm")).shape
        (6, 1)
        """
        with called("mechanism", self._name):
            side = self._side(place)
            return ca.vertcat(side.w, side.u)

    @property
    def time(self) -> ca.SX:
        """The symbol of time, for expressions.

        >>> Mechanism("m").time
        SX(t)
        """
        return copied(self._symbols.time)

    def describe(self) -> Description:
        """Return the mechanism as it is now, frozen.

        >>> Mechanism("m").describe().name
        'm'
        """
        return Description(
            self._name,
            self._gravity,
            tuple(self._bodies.values()),
            tuple(self._joints.values()),
            tuple(self._closures.values()),
            tuple(self._frames.values()),
            self._parameters.all(),
            tuple(sorted(self._forces.values(), key=self._is_described)),
            self._states_in_order(),
            tuple(self._events.values()),
        )

    def _is_described(self, use: ForceUse) -> bool:
        """Tell whether a force was described by itself; those that came with their bodies stand first."""
        body = self._bodies.get(use.name)
        return body is None or body.kind is None

    def build(
        self,
        *,
        fold: bool = False,
        guess: object = None,
        hold: object = None,
        cut: object = None,
        dependent: object = None,
        accuracy: float | None = None,
    ) -> System:
        """Plan the mechanism and return a system that computes.

        With `fold`, parameters become plain numbers at their values. `guess` says roughly where joints are when the
        loops are closed, `hold` which joints stay there; `cut` names joints at which loops must be cut, and
        `dependent` those whose motion shall follow from the others', as far as the loops allow it. `accuracy` tells how
        good the data of loops are, in radians and characteristic lengths (1e-6 unless given): equations that disagree
        by no more than that count as redundant, and runs hold them to it. See `System`.
        """
        choices = {"guess": guess, "hold": hold, "cut": cut, "dependent": dependent, "accuracy": accuracy}
        given = {key: value for key, value in choices.items() if value is not None}
        system: System = imported("whippletree.system", "System")(self.describe(), fold=fold, **given)
        return system

    if TYPE_CHECKING:
        show = show_mechanism
    else:
        show = Verb("whippletree.viewer", "show_mechanism")

    def _join(
        self,
        name: str,
        joint: Joint,
        parent: BodyLike,
        child: BodyLike,
        frames: Sides,
        *,
        prescribed: bool,
    ) -> JointHandle:
        """Add a joint of any type."""
        with called("joint", name):
            text = self._new_joint_name(name)
            joint = checked(joint, self._parameters)
            parent_name, child_name = self._two_bodies(parent, child, "a joint")
            parent_name, child_name, frames = self._at_moving_frames(parent_name, child_name, frames)
            on_parent, on_child = frames.frames()
            self._check_points((on_parent, on_child))
            driven = _prescribed(prescribed, joint)
            self._joints[text] = JointUse(text, joint, parent_name, child_name, on_parent, on_child, driven)
        return JointHandle(text, self)

    def _couple(self, name: str, terms: Iterable[tuple[CoordinateLike, Scalar]], offset: Scalar) -> ClosureHandle:
        """Add a coupling, checked term by term."""
        ratios: dict[tuple[str, int], Scalar] = {}
        for key, given in terms:
            joint, index = coordinate = self._coordinate(key)
            if coordinate in ratios:
                raise ModelError(f'joint "{joint}" is given twice, at index {index}')
            ratios[coordinate] = scalar(given, f'the ratio of "{joint}"')
        if not any(self._parameters.values_of(ratios.values(), "a ratio")):
            raise ModelError("all ratios are zero: the coupling holds nothing")
        read = scalar(offset, "offset")
        self._parameters.check([read], "offset")
        return self._close(name, Coupling(tuple(ratios.values()), read), (), tuple(ratios))

    def _check_properties(self, properties: MassProperties) -> None:
        """Check properties that depend on parameters at the parameters' values."""
        entries = properties.entries()
        if not expressions(entries):
            return
        values = self._parameters.values_of(entries, "mass, com or inertia")
        try:
            given = MassProperties.of_entries(tuple(values))
            MassProperties(given.mass, given.com, given.inertia)
        except ModelError as error:
            raise ModelError(f"at the parameters' values, {error}") from None


def _properties(properties: object, mass: object, com: object, inertia: object) -> MassProperties:
    """Return the properties given in either way."""
    loose = {"mass": mass, "com": com, "inertia": inertia}
    given = {name: value for name, value in loose.items() if value is not None}
    if properties is not None:
        if not isinstance(properties, MassProperties):
            raise ModelError(f"properties must come from a shape or MassProperties, got {shown(properties)}")
        if given:
            raise ModelError(f"give either properties or {' and '.join(given)}")
        return properties
    if "com" in given and "mass" not in given:
        raise ModelError("com is given without mass: give both")
    return MassProperties(**given)  # type: ignore[arg-type]


def _of_coordinates(given: object, usual: type[Joint]) -> type[Joint]:
    """Return the type of joint that moves like the usual one and has such coordinates."""
    words = {"quaternion": "", "euler": "Euler", "bryant": "Bryant"}
    if not isinstance(given, str) or given not in words:
        known = ", ".join(f'"{name}"' for name in words)
        raise ModelError(f"coordinates must be one of {known}, got {shown(given)}")
    if given == "quaternion":
        return usual
    found: type[Joint] = getattr(joints, usual.__name__ + words[given])
    return found


def _prescribed(prescribed: object, joint: Joint) -> bool:
    if not isinstance(prescribed, bool | np.bool_):
        raise ModelError(f"prescribed must be True or False, got {shown(prescribed)}")
    if prescribed and joint.nv == 0:
        raise ModelError(f"a {joint.kind} joint cannot be prescribed: it does not move")
    return bool(prescribed)
