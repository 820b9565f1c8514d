"""The mechanism a person writes down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from whippletree.elements.bodies import MassProperties
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
from whippletree.model.description import GROUND, Body, Description, Frame, JointUse
from whippletree.model.handles import BodyHandle, FrameHandle, JointHandle
from whippletree.model.names import called, checked_name, new_name, quoted, suggestion
from whippletree.model.parameters import Parameters
from whippletree.model.placing import AlignedSides, AxisSides, PoseLike, Sides, UniversalSides
from whippletree.spatial.orientation import IDENTITY, AxisLike, rotation_matrix
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

if TYPE_CHECKING:
    from whippletree.system import System

__all__ = ["Mechanism"]

BodyLike: TypeAlias = BodyHandle | str


class Mechanism:
    """A mechanism: bodies, the joints between them, frames and parameters, each with a name.

    Every call checks what it is given and leaves the mechanism as it was if something is wrong. Wherever a
    number goes, except in axes and rotations, an expression in parameters can go.

    >>> m = Mechanism("pendulum")
    >>> length = m.parameter("length", 0.5)
    >>> bob = m.body("bob", mass=1.0, com=(0, 0, -length))
    >>> hinge = m.revolute("hinge", m.ground, bob, axis="y")
    >>> m.describe().joint("hinge").child
    'bob'
    """

    def __init__(self, name: str, gravity: VectorLike = (0.0, 0.0, -9.81)) -> None:
        with called("mechanism", name):
            self._name = checked_name(name)
        self._parameters = Parameters()
        self._bodies: dict[str, Body] = {}
        self._joints: dict[str, JointUse] = {}
        self._frames: dict[str, Frame] = {}
        self._ground = BodyHandle(GROUND, self)
        self.gravity = gravity

    def __repr__(self) -> str:
        counts = f"{len(self._bodies)} bodies, {len(self._joints)} joints, {len(self._frames)} frames"
        return f'<Mechanism "{self._name}": {counts}>'

    @property
    def name(self) -> str:
        """The mechanism's name."""
        return self._name

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
        properties: MassProperties | None = None,
        *,
        mass: Scalar | None = None,
        com: VectorLike | None = None,
        inertia: object = None,
    ) -> BodyHandle:
        """Add a body with the properties of a shape, or with mass, com and inertia; with neither, massless.

        `com` is the centre of mass in the body's frame, `inertia` the 3 x 3 matrix about the centre of mass
        in the body's axes.

        >>> m = Mechanism("m")
        >>> m.body("flywheel", mass=2.0, inertia=[[1, 0, 0], [0, 1, 0], [0, 0, 2]]).name
        'flywheel'
        """
        with called("body", name):
            text = self._new_place_name(name)
            given = _properties(properties, mass, com, inertia)
            self._check_properties(given)
            self._bodies[text] = Body(text, given)
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
        at: VectorLike | None = None,
        at_child: VectorLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Weld two bodies together: the frame at `at` on the parent is the frame at `at_child` on the child.

        `at` and `at_child` are points in the two bodies' frames, their origins unless given. `pose` and
        `pose_child`, 4 x 4 matrices or `Placement`s, give an orientation as well.

        >>> m = Mechanism("m")
        >>> m.fixed("weld", m.ground, m.body("post"), at=(1, 0, 0)).name
        'weld'
        """
        sides = AlignedSides(at, None, at_child, None, pose, pose_child)
        return self._join(name, Fixed(), parent, child, sides, prescribed=prescribed)

    def revolute(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child turn about an axis; the coordinate is the angle.

        `at` is a point and `axis` a direction in the parent's frame, its origin and "z" unless given: "x",
        "-y", or three numbers. `at_child` and `axis_child` are the same in the child's frame, its origin
        and the same axis unless given. Instead, `pose` and `pose_child` place the joint frame, whose z is
        the axis: 4 x 4 matrices or `Placement`s. If `prescribed`, the acceleration is given and the driving
        force comes out.

        >>> m = Mechanism("m")
        >>> m.revolute("A", m.ground, m.body("crank"), axis="y").name
        'A'
        """
        sides = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Revolute(), parent, child, sides, prescribed=prescribed)

    def prismatic(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | None = None,
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
        sides = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Prismatic(), parent, child, sides, prescribed=prescribed)

    def cylindrical(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | None = None,
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
        sides = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Cylindrical(), parent, child, sides, prescribed=prescribed)

    def screw(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        lead: Scalar,
        at: VectorLike | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | None = None,
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
        with called("joint", name):
            joint = Screw(self._lead(lead))
        sides = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, joint, parent, child, sides, prescribed=prescribed)

    def planar(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | None = None,
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
        sides = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Planar(), parent, child, sides, prescribed=prescribed)

    def universal(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | None = None,
        axis: AxisLike | None = None,
        at_child: VectorLike | None = None,
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
        sides = UniversalSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Universal(), parent, child, sides, prescribed=prescribed)

    def spherical(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | None = None,
        at_child: VectorLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child turn every way about a point: a unit quaternion. Arguments as for `fixed`.

        >>> m = Mechanism("m")
        >>> m.spherical("ball", m.ground, m.body("arm")).name
        'ball'
        """
        sides = AlignedSides(at, None, at_child, None, pose, pose_child)
        return self._join(name, Spherical(), parent, child, sides, prescribed=prescribed)

    def free(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: VectorLike | None = None,
        at_child: VectorLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """Let the child move every way: a unit quaternion and a position. Arguments as for `fixed`.

        >>> m = Mechanism("m")
        >>> m.free("flight", m.ground, m.body("satellite")).name
        'flight'
        """
        sides = AlignedSides(at, None, at_child, None, pose, pose_child)
        return self._join(name, Free(), parent, child, sides, prescribed=prescribed)

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
            tuple(self._frames.values()),
            self._parameters.all(),
        )

    def build(self, **options: Any) -> System:
        """Plan the mechanism and return a system that computes; options as for `System`."""
        from whippletree.system import System

        return System(self.describe(), **options)

    def _join(
        self,
        name: str,
        joint: Joint,
        parent: BodyLike,
        child: BodyLike,
        sides: Sides,
        *,
        prescribed: bool,
    ) -> JointHandle:
        """Add a joint of any type."""
        with called("joint", name):
            text = new_name(name, self._joints, "joints")
            parent_name, child_name = self._body_name(parent, "parent"), self._body_name(child, "child")
            if parent_name == child_name:
                raise ModelError(f'parent and child are both "{parent_name}": a joint needs two different bodies')
            on_parent, on_child = sides.frames()
            self._parameters.check(on_parent.point, "the point on the parent")
            self._parameters.check(on_child.point, "the point on the child")
            driven = _prescribed(prescribed, joint)
            self._joints[text] = JointUse(text, joint, parent_name, child_name, on_parent, on_child, driven)
        return JointHandle(text, self)

    def _new_place_name(self, name: object) -> str:
        """Return a name that no body and no frame has yet."""
        text = new_name(name, self._bodies, "bodies and frames")
        if text == GROUND:
            raise ModelError(f'the name "{GROUND}" belongs to the ground: choose another')
        return new_name(text, self._frames, "bodies and frames")

    def _body_name(self, body: object, role: str) -> str:
        """Return the name of a body of this mechanism, given by handle or by name."""
        if isinstance(body, BodyHandle):
            if body.mechanism is not self:
                other = body.mechanism.name
                raise ModelError(f'{role} {quoted(body.name)} is a body of another mechanism, "{other}"')
            return body.name
        if isinstance(body, FrameHandle | JointHandle) or (isinstance(body, str) and body in self._frames):
            what = "joint" if isinstance(body, JointHandle) else "frame"
            raise ModelError(f"{role} {quoted(str(body))} is a {what}: give a body")
        if isinstance(body, str) and (body == GROUND or body in self._bodies):
            return str.__str__(body)
        raise ModelError(f"{role}: there is no body {suggestion(body, [GROUND, *self._bodies])}")

    def _check_properties(self, properties: MassProperties) -> None:
        """Check properties that depend on parameters at the parameters' values."""
        entries = properties.entries()
        if not expressions(entries):
            return
        values = self._parameters.values_of(entries, "mass, com or inertia")
        try:
            MassProperties.of_entries(tuple(values))
        except ModelError as error:
            raise ModelError(f"at the parameters' values, {error}") from None

    def _lead(self, lead: object) -> Scalar:
        read = scalar(lead, "lead")
        if self._parameters.values_of([read], "lead") == [0.0]:
            raise ModelError("lead must not be zero: a screw without advance is a revolute joint")
        return read


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


def _prescribed(prescribed: object, joint: Joint) -> bool:
    if not isinstance(prescribed, bool | np.bool_):
        raise ModelError(f"prescribed must be True or False, got {shown(prescribed)}")
    if prescribed and joint.nv == 0:
        raise ModelError(f"a {joint.kind} joint cannot be prescribed: it does not move")
    return bool(prescribed)
