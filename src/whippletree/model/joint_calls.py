"""The calls that join bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from whippletree.elements import joints
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
from whippletree.model.description import JointUse
from whippletree.model.element_registry import BodyLike, Registry
from whippletree.model.fields import checked
from whippletree.model.handles import JointHandle
from whippletree.model.joint_frames import FRAMES, AlignedSides, AxisSides, PoseLike, Sides, UniversalSides
from whippletree.model.names import called
from whippletree.spatial.orientation import AxisLike
from whippletree.spatial.scalars import (
    Scalar,
    VectorLike,
    read_column,
    scalar,
    shown,
)

if TYPE_CHECKING:
    pass

__all__ = ["JointCalls"]


@user_facing
class JointCalls(Registry):
    """What a mechanism can be told about joints."""

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

        >>> from whippletree.model import Mechanism
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
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child turn about an axis; the coordinate is the angle.

        `at` is a point and `axis` a direction in the parent's frame, its origin and "z" unless given: "x",
        "-y", or three numbers. `at_child` and `axis_child` are the same in the child's frame, its origin
        and the same axis unless given. Instead, `pose` and `pose_child` place the joint frame, whose z is
        the axis: 4 x 4 matrices or `Placement`s. `pose` alone is the pose of the child's frame in the parent's at
        zero coordinates. If `prescribed`, the acceleration is given and the driving force comes out.

        `armature` is the inertia of the joint's own rate, such as that of a motor's rotor times the square of its gear
        ratio, in kg m^2 or kg: one number, or one for each freedom. Its kinetic energy is a q'^2 / 2, and it does
        nothing else: it has no weight, no momentum, and turns no body.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.revolute("A", m.ground, m.body("crank"), axis="y").name
        'A'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Revolute(), parent, child, frames, prescribed=prescribed, armature=armature)

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
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child slide along an axis; the coordinate is the displacement. Arguments as for `revolute`.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.prismatic("slide", m.ground, m.body("piston"), axis="x").name
        'slide'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Prismatic(), parent, child, frames, prescribed=prescribed, armature=armature)

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
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child turn about an axis and slide along it: an angle and a displacement.

        Arguments as for `revolute`.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.cylindrical("sleeve", m.ground, m.body("rod")).name
        'sleeve'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Cylindrical(), parent, child, frames, prescribed=prescribed, armature=armature)

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
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child turn about an axis and advance by `lead` metres per turn.

        The coordinate is the angle. A negative lead is a left-handed thread. The other arguments are as for
        `revolute`.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.screw("spindle", m.ground, m.body("nut"), lead=0.005).name
        'spindle'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Screw(lead), parent, child, frames, prescribed=prescribed, armature=armature)

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
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child move in the plane normal to `axis`: an angle and two displacements.

        Arguments as for `revolute`. The displacements are along x and y of the joint frame on the parent:
        for the axis "z" the parent's x and y, for "x" its y and z, for "y" its z and x; with a pose, the x
        and y of the pose.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.planar("table", m.ground, m.body("puck"), axis="z").name
        'table'
        """
        frames = AxisSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Planar(), parent, child, frames, prescribed=prescribed, armature=armature)

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
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child turn about an axis of the parent, then about an axis of its own: two angles.

        `axis` is fixed in the parent, "x" unless given; `axis_child` is fixed in the child, "y" unless
        given, and perpendicular to it at zero coordinates, when the bodies are parallel. In a `pose`, x is
        the first axis and z the second.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.universal("cardan", m.ground, m.body("shaft"), axis="x", axis_child="y").name
        'cardan'
        """
        frames = UniversalSides(at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, Universal(), parent, child, frames, prescribed=prescribed, armature=armature)

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
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child turn every way about a point: a unit quaternion. Other arguments as for `fixed`.

        With `coordinates="euler"` or `"bryant"` there are three angles instead, and velocities are their rates: about
        z, x, z or x, y, z, each axis as turned by those before. They lock where the first axis and the third fall
        together: Euler's where the joint frames coincide, Bryant's after a quarter turn about y.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.spherical("ball", m.ground, m.body("arm")).name
        'ball'
        >>> m.spherical("gimbals", m.ground, m.body("rotor"), coordinates="bryant").name
        'gimbals'
        """
        with called("joint", name):
            kind = _of_coordinates(coordinates, Spherical)
        frames = AlignedSides(at, None, at_child, None, pose, pose_child)
        return self._join(name, kind(), parent, child, frames, prescribed=prescribed, armature=armature)

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
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child move every way: a unit quaternion and a position. Other arguments as for `fixed`.

        With `coordinates="euler"` or `"bryant"` there are three angles, as for `spherical`, and a position; velocities
        are the rates of these six.

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.free("flight", m.ground, m.body("satellite")).name
        'flight'
        """
        with called("joint", name):
            kind = _of_coordinates(coordinates, Free)
        frames = AlignedSides(at, None, at_child, None, pose, pose_child)
        return self._join(name, kind(), parent, child, frames, prescribed=prescribed, armature=armature)

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
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """Let the child move as a joint of any type says, also of one that is not part of the package.

        Arguments as for `revolute`, or `fixed` and `universal` where the type is placed by no axis or by two.

        >>> from whippletree.model import Mechanism
        >>> from whippletree.elements.joints import Screw
        >>> m = Mechanism("m")
        >>> m.joint("spindle", m.ground, m.body("nut"), Screw(lead=0.005), axis="x").name
        'spindle'
        """
        with called("joint", name):
            if not isinstance(joint, Joint) or joint.n_axes not in FRAMES:
                raise ModelError(f"joint must be an instance of a type of joint, got {shown(joint)}")
        frames = FRAMES[joint.n_axes](at, axis, at_child, axis_child, pose, pose_child)
        return self._join(name, joint, parent, child, frames, prescribed=prescribed, armature=armature)

    def _join(
        self,
        name: str,
        joint: Joint,
        parent: BodyLike,
        child: BodyLike,
        frames: Sides,
        *,
        prescribed: bool,
        armature: Scalar | Sequence[Scalar] = 0.0,
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
            own = self._armature(armature, joint)
            self._joints[text] = JointUse(text, joint, parent_name, child_name, on_parent, on_child, driven, own)
        return JointHandle(text, self._self)

    def _armature(self, given: object, joint: Joint) -> tuple[Scalar, ...]:
        """Return the inertias of a joint's own rates, one for each freedom; nothing if all of them are zero."""
        if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim):
            own = read_column(given, joint.nv, f"armature of a {joint.kind} joint")
        else:
            own = (scalar(given, "armature"),) * max(joint.nv, 1)
        for value in self._parameters.values_of(own, "armature"):
            if value < 0:
                raise ModelError(f"armature must not be negative, got {value:g}")
        if all(isinstance(each, float) and each == 0 for each in own):
            return ()
        if not joint.nv:
            raise ModelError(f"a {joint.kind} joint has no armature: it does not move")
        return own


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
