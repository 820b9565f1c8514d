"""The methods of a mechanism for single element types, generated from the declarations by `make elements`."""

# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Sequence

from whippletree.elements.forces import ExpressionLike, ExpressionVector, Law
from whippletree.foundation.user_frames import user_facing
from whippletree.model.any_element import AnyElement
from whippletree.model.element_registry import BodyLike, JointLike, PlaceLike
from whippletree.model.handles import ClosureHandle, ForceHandle, JointHandle
from whippletree.model.joint_frames import PointLike, PoseLike
from whippletree.spatial.orientation import AxisLike
from whippletree.spatial.scalars import Scalar, SquareLike, VectorLike

__all__ = ["ElementMethods"]


@user_facing
class ElementMethods(AnyElement):
    """What a mechanism can be told about joints, closures and forces of single types.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.revolute("hinge", m.ground, m.body("arm")).name
    'hinge'
    """

    def fixed(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: PointLike | None = None,
        at_child: PointLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
    ) -> JointHandle:
        """A weld: the frame at `at` on the parent is the frame at `at_child` on the child.

        `pose` and `pose_child` give an orientation as well.

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given
            at_child: the point on the child; its origin unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent
            prescribed: whether the acceleration is given, so that the driving force comes out

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.fixed("weld", m.ground, m.body("post"), at=(1, 0, 0)).name
        'weld'
        """
        return self._described(
            JointHandle,
            "fixed",
            name,
            parent,
            child,
            at=at,
            at_child=at_child,
            pose=pose,
            pose_child=pose_child,
            prescribed=prescribed,
        )

    def revolute(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: PointLike | None = None,
        axis: AxisLike | None = None,
        at_child: PointLike | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """A hinge: the child turns about an axis; the coordinate is the angle.

        `at` is a point and `axis` a direction in the parent's frame, its origin and "z" unless given: "x", "-y", or three
        numbers. `at_child` and `axis_child` are the same in the child's frame, its origin and the same axis unless given.
        Instead, `pose` and `pose_child` place the joint frame, whose z is the axis. `pose` alone is the pose of the child's
        frame in the parent's at zero coordinates. If `prescribed`, the acceleration is given and the driving force comes
        out.

        `armature` is the inertia of the joint's own rate, such as that of a motor's rotor times the square of its gear
        ratio, in kg m^2 or kg: one number, or one for each freedom. Its kinetic energy is a q'^2 / 2, and it does nothing
        else: it has no weight, no momentum, and turns no body.

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given
            axis: the axis in the parent's axes: "x", "-y", or three numbers
            at_child: the point on the child; its origin unless given
            axis_child: the axis in the child's axes; the same unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent
            prescribed: whether the acceleration is given, so that the driving force comes out
            armature: inertia of the joint's own rate, such as a motor's rotor: one number, or one for each freedom

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.revolute("A", m.ground, m.body("crank"), axis="y").name
        'A'
        """
        return self._described(
            JointHandle,
            "revolute",
            name,
            parent,
            child,
            at=at,
            axis=axis,
            at_child=at_child,
            axis_child=axis_child,
            pose=pose,
            pose_child=pose_child,
            prescribed=prescribed,
            armature=armature,
        )

    def screw(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        lead: Scalar,
        at: PointLike | None = None,
        axis: AxisLike | None = None,
        at_child: PointLike | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """A thread: the child turns about an axis and advances by `lead` metres per turn.

        The coordinate is the angle. A negative lead is a left-handed thread.

        Arguments:
            lead: in m, not zero (a screw without advance is a revolute joint)
            at: the point on the place or the parent, in its axes; its origin unless given
            axis: the axis in the parent's axes: "x", "-y", or three numbers
            at_child: the point on the child; its origin unless given
            axis_child: the axis in the child's axes; the same unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent
            prescribed: whether the acceleration is given, so that the driving force comes out
            armature: inertia of the joint's own rate, such as a motor's rotor: one number, or one for each freedom

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.screw("spindle", m.ground, m.body("nut"), lead=0.005).name
        'spindle'
        """
        return self._described(
            JointHandle,
            "screw",
            name,
            parent,
            child,
            lead=lead,
            at=at,
            axis=axis,
            at_child=at_child,
            axis_child=axis_child,
            pose=pose,
            pose_child=pose_child,
            prescribed=prescribed,
            armature=armature,
        )

    def prismatic(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: PointLike | None = None,
        axis: AxisLike | None = None,
        at_child: PointLike | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """A slide: the child moves along an axis; the coordinate is the displacement.

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given
            axis: the axis in the parent's axes: "x", "-y", or three numbers
            at_child: the point on the child; its origin unless given
            axis_child: the axis in the child's axes; the same unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent
            prescribed: whether the acceleration is given, so that the driving force comes out
            armature: inertia of the joint's own rate, such as a motor's rotor: one number, or one for each freedom

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.prismatic("slide", m.ground, m.body("piston"), axis="x").name
        'slide'
        """
        return self._described(
            JointHandle,
            "prismatic",
            name,
            parent,
            child,
            at=at,
            axis=axis,
            at_child=at_child,
            axis_child=axis_child,
            pose=pose,
            pose_child=pose_child,
            prescribed=prescribed,
            armature=armature,
        )

    def cylindrical(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: PointLike | None = None,
        axis: AxisLike | None = None,
        at_child: PointLike | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """A sleeve: the child turns about an axis and slides along it; an angle and a displacement.

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given
            axis: the axis in the parent's axes: "x", "-y", or three numbers
            at_child: the point on the child; its origin unless given
            axis_child: the axis in the child's axes; the same unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent
            prescribed: whether the acceleration is given, so that the driving force comes out
            armature: inertia of the joint's own rate, such as a motor's rotor: one number, or one for each freedom

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.cylindrical("sleeve", m.ground, m.body("rod")).name
        'sleeve'
        """
        return self._described(
            JointHandle,
            "cylindrical",
            name,
            parent,
            child,
            at=at,
            axis=axis,
            at_child=at_child,
            axis_child=axis_child,
            pose=pose,
            pose_child=pose_child,
            prescribed=prescribed,
            armature=armature,
        )

    def universal(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: PointLike | None = None,
        axis: AxisLike | None = None,
        at_child: PointLike | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """A cardan joint: the child turns about an axis of the parent, then about an axis of its own; two angles.

        `axis` is fixed in the parent, "x" unless given; `axis_child` is fixed in the child, "y" unless given, and
        perpendicular to it at zero coordinates, when the bodies are parallel. In a `pose`, x is the first axis and z the
        second, which are those of the joint frame.

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given
            axis: the axis in the parent's axes: "x", "-y", or three numbers
            at_child: the point on the child; its origin unless given
            axis_child: the axis in the child's axes; the same unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent
            prescribed: whether the acceleration is given, so that the driving force comes out
            armature: inertia of the joint's own rate, such as a motor's rotor: one number, or one for each freedom

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.universal("cardan", m.ground, m.body("shaft"), axis="x", axis_child="y").name
        'cardan'
        """
        return self._described(
            JointHandle,
            "universal",
            name,
            parent,
            child,
            at=at,
            axis=axis,
            at_child=at_child,
            axis_child=axis_child,
            pose=pose,
            pose_child=pose_child,
            prescribed=prescribed,
            armature=armature,
        )

    def planar(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: PointLike | None = None,
        axis: AxisLike | None = None,
        at_child: PointLike | None = None,
        axis_child: AxisLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """A table: the child moves in the plane normal to `axis`; an angle and two displacements.

        The displacements are along x and y of the joint frame on the parent: for the axis "z" the parent's x and y, for "x"
        its y and z, for "y" its z and x; with a pose, the x and y of the pose.

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given
            axis: the axis in the parent's axes: "x", "-y", or three numbers
            at_child: the point on the child; its origin unless given
            axis_child: the axis in the child's axes; the same unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent
            prescribed: whether the acceleration is given, so that the driving force comes out
            armature: inertia of the joint's own rate, such as a motor's rotor: one number, or one for each freedom

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.planar("table", m.ground, m.body("puck"), axis="z").name
        'table'
        """
        return self._described(
            JointHandle,
            "planar",
            name,
            parent,
            child,
            at=at,
            axis=axis,
            at_child=at_child,
            axis_child=axis_child,
            pose=pose,
            pose_child=pose_child,
            prescribed=prescribed,
            armature=armature,
        )

    def spherical(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        coordinates: str = "quaternion",
        at: PointLike | None = None,
        at_child: PointLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """A ball: the child turns every way about a point; a unit quaternion (w, x, y, z) of child in parent.

        Velocities are the angular velocity in child axes. With `coordinates="euler"` or `"bryant"` there are three angles
        instead, and velocities are their rates: about z, x, z or x, y, z, each axis as turned by those before. They lock
        where the first axis and the third fall together: Euler's where the joint frames coincide, Bryant's after a quarter
        turn about y.

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given
            at_child: the point on the child; its origin unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent
            prescribed: whether the acceleration is given, so that the driving force comes out
            armature: inertia of the joint's own rate, such as a motor's rotor: one number, or one for each freedom

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.spherical("ball", m.ground, m.body("arm")).name
        'ball'
        >>> m.spherical("gimbals", m.ground, m.body("rotor"), coordinates="bryant").name
        'gimbals'
        """
        return self._described(
            JointHandle,
            "spherical",
            name,
            parent,
            child,
            coordinates=coordinates,
            at=at,
            at_child=at_child,
            pose=pose,
            pose_child=pose_child,
            prescribed=prescribed,
            armature=armature,
        )

    def free(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        coordinates: str = "quaternion",
        at: PointLike | None = None,
        at_child: PointLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
        prescribed: bool = False,
        armature: Scalar | Sequence[Scalar] = 0.0,
    ) -> JointHandle:
        """No hold: the child moves every way; a unit quaternion and a position in parent axes.

        Velocities are [angular; linear] in child axes. With `coordinates="euler"` or `"bryant"` there are three angles, as
        for `spherical`, and a position; velocities are the rates of these six.

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given
            at_child: the point on the child; its origin unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent
            prescribed: whether the acceleration is given, so that the driving force comes out
            armature: inertia of the joint's own rate, such as a motor's rotor: one number, or one for each freedom

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.free("flight", m.ground, m.body("satellite")).name
        'flight'
        """
        return self._described(
            JointHandle,
            "free",
            name,
            parent,
            child,
            coordinates=coordinates,
            at=at,
            at_child=at_child,
            pose=pose,
            pose_child=pose_child,
            prescribed=prescribed,
            armature=armature,
        )

    def coincident(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        at: PointLike | None = None,
        at_child: PointLike | None = None,
    ) -> ClosureHandle:
        """Two points together: the rows of a ball joint, without coordinates (s of the basic functions).

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given
            at_child: the point on the child; its origin unless given

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.coincident("pivot", m.ground, m.body("top"), at=(0, 0, 1)).name
        'pivot'
        """
        return self._described(
            ClosureHandle,
            "coincident",
            name,
            parent,
            child,
            at=at,
            at_child=at_child,
        )

    def in_plane(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        normal: AxisLike = "z",
        offset: Scalar = 0.0,
        at: PointLike | None = None,
        at_child: PointLike | None = None,
    ) -> ClosureHandle:
        """A point of the child in a plane of the parent (d2 of the basic functions).

        The plane is normal to `normal`, given in the parent's axes, at an `offset` along it from the point `at`.

        Arguments:
            normal: a direction: an axis by name, or three numbers
            offset: in m
            at: the point on the place or the parent, in its axes; its origin unless given
            at_child: the point on the child; its origin unless given

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.in_plane("table", m.ground, m.body("ball"), offset=0.05).name
        'table'
        """
        return self._described(
            ClosureHandle,
            "in_plane",
            name,
            parent,
            child,
            normal=normal,
            offset=offset,
            at=at,
            at_child=at_child,
        )

    def perpendicular(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        axis: AxisLike = "z",
        axis_child: AxisLike = "z",
    ) -> ClosureHandle:
        """An axis of the parent at a right angle to an axis of the child (d1 of the basic functions).

        Each axis is given in its body's own axes.

        Arguments:
            axis: a direction: an axis by name, or three numbers
            axis_child: a direction: an axis by name, or three numbers

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.perpendicular("square", m.ground, m.body("plate"), axis="z", axis_child="x").name
        'square'
        """
        return self._described(
            ClosureHandle,
            "perpendicular",
            name,
            parent,
            child,
            axis=axis,
            axis_child=axis_child,
        )

    def distance(
        self,
        name: str,
        parent: BodyLike,
        child: BodyLike,
        *,
        length: Scalar | None = None,
        at: PointLike | None = None,
        at_child: PointLike | None = None,
    ) -> ClosureHandle:
        """A distance between two points: a massless rod with ball joints at its ends (ss of the basic functions).

        Without a `length`, the rod is as long as the points are apart in the design position, where all coordinates are
        zero; the joints that connect the two bodies are added before.

        Arguments:
            length: in m, positive (points that coincide are held by a spherical joint)
            at: the point on the place or the parent, in its axes; its origin unless given
            at_child: the point on the child; its origin unless given

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.distance("tie", m.ground, m.body("ball"), length=1.2, at=(0, 0, 2)).name
        'tie'
        """
        return self._described(
            ClosureHandle,
            "distance",
            name,
            parent,
            child,
            length=length,
            at=at,
            at_child=at_child,
        )

    def actuator(
        self,
        name: str,
        joint: JointLike,
        *,
        effort: ExpressionLike,
        index: int = 0,
    ) -> ForceHandle:
        """An effort on a joint coordinate, a number or an expression: a motor, a controller.

        It acts on the first of its coordinates; the others and all sides are read by the expression.

        Arguments:
            index: which coordinate, of a joint that has several

        >>> import casadi as ca
        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("arm"))
        >>> m.actuator("servo", hinge, effort=20 * (ca.sin(m.time) - m.coordinate("hinge")) - 2 * m.rate("hinge")).name
        'servo'
        """
        return self._described(
            ForceHandle,
            "actuator",
            name,
            joint,
            effort=effort,
            index=index,
        )

    def bushing(
        self,
        name: str,
        parent: PlaceLike,
        child: PlaceLike,
        *,
        stiffness: SquareLike,
        damping: SquareLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        at: PointLike | None = None,
        at_child: PointLike | None = None,
        pose: PoseLike | None = None,
        pose_child: PoseLike | None = None,
    ) -> ForceHandle:
        """An elastic hold of a frame on the child to a frame on the parent, in all six directions.

        `stiffness` and `damping` are six numbers, three for rotations about x, y, z of the frame on the parent and three
        for displacements along them, or symmetric 6 x 6 matrices K and C. The frames, given as for the joint `fixed`,
        coincide where nothing is deformed. The deformation e (6), in the axes of side 0, the parent's, is the rotation
        vector of side 1 and the position of its origin, and

            U = e^T K e / 2,      wrench_s = -E_s^T (K e + C e'),      e' = E_0 [w_0; u_0] + E_1 [w_1; u_1]

        so that the pair of wrenches is in balance, and that what is not dissipated is stored, exactly, however large the
        deformation. Only a rotation by half a turn has no direction: the moment changes its sign there, steeply.

        Arguments:
            stiffness: 6 numbers, or a symmetric 6 x 6 matrix
            damping: 6 numbers, or a symmetric 6 x 6 matrix
            at: the point on the place or the parent, in its axes; its origin unless given
            at_child: the point on the child; its origin unless given
            pose: the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`
            pose_child: the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> rubber = (50, 50, 20, 1e6, 1e6, 2e5)
        >>> m.bushing("mount", m.ground, m.body("engine"), at=(0, 0, 1), stiffness=rubber).name
        'mount'
        """
        return self._described(
            ForceHandle,
            "bushing",
            name,
            parent,
            child,
            stiffness=stiffness,
            damping=damping,
            at=at,
            at_child=at_child,
            pose=pose,
            pose_child=pose_child,
        )

    def contact_between(
        self,
        name: str,
        parent: PlaceLike,
        child: PlaceLike,
        *,
        stiffness: Scalar,
        radius: Scalar = 0.0,
        radius_child: Scalar = 0.0,
        length: Scalar = 0.0,
        length_child: Scalar = 0.0,
        axis: AxisLike = "z",
        axis_child: AxisLike = "z",
        damping: Scalar = 0.0,
        friction: Scalar = 0.0,
        speed: Scalar = 0.01,
        width: Scalar = 0.001,
        size_child: VectorLike | None = None,
        at: PointLike | None = None,
        at_child: PointLike | None = None,
    ) -> ForceHandle:
        """A contact that keeps a sphere or capsule of the parent out of a sphere, capsule or box of the child.

        A sphere has a `radius`, and its middle at `at`; a capsule has a `length` besides, which is without its round
        ends, and lies along `axis`. Those of the child are `radius_child`, `length_child` and so on; with `size_child`
        it has a box instead, with its middle at `at_child` and its edges along the axes of the place. Normal force and
        friction are as for `contact`, and the same on both. A pair touches at one point, which moves smoothly.

        Arguments:
            stiffness: in N/m, not negative
            radius: in m, not negative
            radius_child: in m, not negative
            length: in m, not negative
            length_child: in m, not negative
            axis: a direction: an axis by name, or three numbers
            axis_child: a direction: an axis by name, or three numbers
            damping: in N s/m, not negative
            friction: not negative
            speed: in m/s, positive
            width: in m, positive
            at: the point on the place or the parent, in its axes; its origin unless given
            at_child: the point on the child; its origin unless given

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> one, other = m.body("one", mass=1.0), m.body("other", mass=1.0)
        >>> m.contact_between("hit", one, other, radius=0.1, radius_child=0.2, stiffness=1e5).name
        'hit'
        """
        return self._described(
            ForceHandle,
            "contact_between",
            name,
            parent,
            child,
            stiffness=stiffness,
            radius=radius,
            radius_child=radius_child,
            length=length,
            length_child=length_child,
            axis=axis,
            axis_child=axis_child,
            damping=damping,
            friction=friction,
            speed=speed,
            width=width,
            size_child=size_child,
            at=at,
            at_child=at_child,
        )

    def contact(
        self,
        name: str,
        place: PlaceLike,
        *,
        offset: ExpressionLike = 0.0,
        normal: AxisLike = "z",
        radius: Scalar = 0.0,
        stiffness: Scalar,
        damping: Scalar = 0.0,
        friction: Scalar = 0.0,
        speed: Scalar = 0.01,
        width: Scalar = 0.001,
        points: Sequence[VectorLike] = (),
        length: Scalar | None = None,
        axis: AxisLike = "z",
        size: VectorLike | None = None,
        at: VectorLike | None = None,
    ) -> ForceHandle:
        """A contact that keeps a part of a body out of the ground plane normal . x = offset.

        It is a point, at `at`, or a sphere of some `radius` around it. With a `length` it is a capsule that lies along
        `axis`, its length without the round ends; with a `size`, the eight corners of a box with its middle there; or all
        `points` that are listed, measured from there. All are in the axes of the place.

        The normal force N takes hold smoothly over `width`, is a spring with a damper beyond, and never pulls. Friction
        acts at the lowest point of each sphere against the velocity u that it has along the plane, as -friction N u /
        sqrt(|u|^2 + speed^2): less where the point slides slower than `speed`. `offset` may be an expression in positions
        and time: a ground that moves does work, and so does a profile, on which the force keeps the direction of `normal`.

        Arguments:
            normal: a direction: an axis by name, or three numbers
            radius: in m, not negative
            stiffness: in N/m, not negative
            damping: in N s/m, not negative
            friction: not negative
            speed: in m/s, positive
            width: in m, positive
            points: in m
            at: the point on the place or the parent, in its axes; its origin unless given

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.contact("tyre", m.body("wheel"), radius=0.3, stiffness=2e5, damping=500, friction=0.9).name
        'tyre'
        """
        return self._described(
            ForceHandle,
            "contact",
            name,
            place,
            offset=offset,
            normal=normal,
            radius=radius,
            stiffness=stiffness,
            damping=damping,
            friction=friction,
            speed=speed,
            width=width,
            points=points,
            length=length,
            axis=axis,
            size=size,
            at=at,
        )

    def friction(
        self,
        name: str,
        joint: JointLike,
        *,
        coulomb: Scalar | None = None,
        viscous: Scalar | None = None,
        speed: Scalar = 0.01,
        index: int | None = None,
        coefficient: Scalar | None = None,
        radius: Scalar | None = None,
        length: Scalar | None = None,
        thrust_radius: Scalar | None = None,
        preload: Scalar | None = None,
    ) -> ForceHandle:
        """Friction against the rate of a joint coordinate, -coulomb tanh(rate / speed) - viscous rate.

        Below `speed` dry friction is like a stiff damper: the joint creeps where it ought to stick.

        With a `coefficient` instead, friction follows from what the joint transmits: coefficient times the load of its
        bearing. That is the force across a prismatic, revolute or cylindrical joint, or the force in a spherical one;
        joints that turn have the `radius` of their bearing. With a `length` the bearing is two short ones at that
        distance, which carry the moment across the joint too; a revolute joint with a `thrust_radius` rubs under the
        force along its axis, and a prismatic one with a `radius` under the moment about it. `preload` is a load that
        is always there. Accelerations, reactions and friction are found together; see docs/theory/friction.md.

        Arguments:
            coulomb: not negative
            viscous: not negative
            speed: positive
            index: which coordinate, of a joint that has several

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("flap"))
        >>> m.friction("bearing", hinge, coulomb=0.3, viscous=0.01).name
        'bearing'
        >>> m.friction("loaded bearing", hinge, coefficient=0.1, radius=0.02).name
        'loaded bearing'
        """
        return self._described(
            ForceHandle,
            "friction",
            name,
            joint,
            coulomb=coulomb,
            viscous=viscous,
            speed=speed,
            index=index,
            coefficient=coefficient,
            radius=radius,
            length=length,
            thrust_radius=thrust_radius,
            preload=preload,
        )

    def limit(
        self,
        name: str,
        joint: JointLike,
        *,
        lower: Scalar | None = None,
        upper: Scalar | None = None,
        stiffness: Scalar,
        damping: Scalar = 0.0,
        width: Scalar = 0.001,
        index: int = 0,
    ) -> ForceHandle:
        """Stops that keep a joint coordinate above `lower` and below `upper`, either of which may be left out.

        A stop takes hold smoothly over `width`, and is a spring with a damper beyond; it never pulls.

        Arguments:
            stiffness: not negative
            damping: not negative
            width: positive
            index: which coordinate, of a joint that has several

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("flap"))
        >>> m.limit("stop", hinge, lower=-0.5, upper=1.2, stiffness=1e4, damping=20).name
        'stop'
        """
        return self._described(
            ForceHandle,
            "limit",
            name,
            joint,
            lower=lower,
            upper=upper,
            stiffness=stiffness,
            damping=damping,
            width=width,
            index=index,
        )

    def load(
        self,
        name: str,
        place: PlaceLike,
        *,
        force: ExpressionVector | None = None,
        moment: ExpressionVector | None = None,
        wrench: ExpressionVector | None = None,
        frame: str = "ground",
        at: VectorLike | None = None,
    ) -> ForceHandle:
        """A force and a moment, or a wrench [moment; force], on a body or frame at the point `at`.

        These are numbers or expressions, in the axes of the ground, or with `frame="body"` of the place itself, which the
        load then `follows`. It acts on the first of its sides; the others and all coordinates are read by the expressions.

        Arguments:
            at: the point on the place or the parent, in its axes; its origin unless given

        >>> import casadi as ca
        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.load("thrust", m.body("rocket"), force=(0, 0, 100 * ca.exp(-m.time)), frame="body").name
        'thrust'
        """
        return self._described(
            ForceHandle,
            "load",
            name,
            place,
            force=force,
            moment=moment,
            wrench=wrench,
            frame=frame,
            at=at,
        )

    def spring(
        self,
        name: str,
        parent: PlaceLike,
        child: PlaceLike,
        *,
        stiffness: Scalar | None = None,
        free_length: Scalar | None = None,
        damping: Scalar | None = None,
        law: Law | None = None,
        energy: Law | None = None,
        at: PointLike | None = None,
        at_child: PointLike | None = None,
    ) -> ForceHandle:
        """A spring and damper that pulls two points together with stiffness x + damping x'.

        x is length less `free_length`. With a `law` instead, the pull is whatever that says: an expression in `elongation`
        and `elongation_rate` and anything else that can be written, or a function of these two. `energy`, of the
        elongation, is what the law stores at rest: then that counts as energy of the mechanism; without it the law's work
        is input. Where the points coincide, the force has no direction and is none.

        Arguments:
            stiffness: in N/m, not negative
            free_length: in m, not negative
            damping: in N s/m, not negative
            at: the point on the place or the parent, in its axes; its origin unless given
            at_child: the point on the child; its origin unless given

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.spring("strut", m.ground, m.body("wheel"), stiffness=2e4, free_length=0.4, damping=1e3).name
        'strut'
        >>> m.spring("bump stop", m.ground, m.body("axle"), law=lambda x, rate: 1e6 * x**3 + 50 * rate).name
        'bump stop'
        """
        return self._described(
            ForceHandle,
            "spring",
            name,
            parent,
            child,
            stiffness=stiffness,
            free_length=free_length,
            damping=damping,
            law=law,
            energy=energy,
            at=at,
            at_child=at_child,
        )

    def torsion_spring(
        self,
        name: str,
        joint: JointLike,
        *,
        stiffness: Scalar,
        rest: Scalar = 0.0,
        damping: Scalar = 0.0,
        index: int = 0,
    ) -> ForceHandle:
        """A spring and damper on a joint coordinate q, an angle or a displacement: -stiffness (q - rest) - damping q'.

        Arguments:
            stiffness: not negative
            damping: not negative
            index: which coordinate, of a joint that has several

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> hinge = m.revolute("hinge", m.ground, m.body("flap"))
        >>> m.torsion_spring("return", hinge, stiffness=2.0, rest=0.1).name
        'return'
        """
        return self._described(
            ForceHandle,
            "torsion_spring",
            name,
            joint,
            stiffness=stiffness,
            rest=rest,
            damping=damping,
            index=index,
        )

    def tyre(
        self,
        name: str,
        wheel: PlaceLike,
        *,
        offset: ExpressionLike = 0.0,
        normal: AxisLike = "z",
        axis: AxisLike = "y",
        radius: Scalar,
        stiffness: Scalar,
        damping: Scalar = 0.0,
        cornering_stiffness: Scalar,
        slip_stiffness: Scalar | None = None,
        relaxation: Scalar | None = None,
        lateral_relaxation: Scalar | None = None,
        friction: Scalar | None = None,
        trail: Scalar = 0.0,
        rolling_resistance: Scalar = 0.0,
        speed: Scalar = 0.01,
        width: Scalar = 0.001,
        at: VectorLike | None = None,
        initial: Sequence[float] = (),
    ) -> ForceHandle:
        """A tyre that slips, relaxes and slides, and carries a wheel on the road normal . x = offset.

        The wheel turns about `axis` through the point `at`. `stiffness` and `damping` are vertical; forces along the road
        are `slip_stiffness` times the longitudinal slip (as `cornering_stiffness` unless given) and `cornering_stiffness`
        times the slip angle for little slip, once the wheel has rolled a few times the lengths `relaxation` and
        `lateral_relaxation` (the radius, and as the other, unless given). All are those at the load that the tyre is made
        for. With `friction` the force is never more than that times the normal force; without, the tyre is linear. `trail`
        is the pneumatic trail, `rolling_resistance` the moment against rolling over normal force and radius. Slower than
        `speed` the tyre creeps. `offset` is as for `contact`. Its two deflections are auxiliary states, zero at the start
        unless `initial` is given. The equations are in `whippletree.elements.forces.tyre`.

        Arguments:
            normal: a direction: an axis by name, or three numbers
            axis: a direction: an axis by name, or three numbers
            radius: in m, positive
            stiffness: in N/m, positive
            damping: in N s/m, not negative
            cornering_stiffness: in N/rad, not negative
            slip_stiffness: in N, not negative, as `cornering_stiffness` unless given
            relaxation: in m, positive, as `radius` unless given (a tyre answers over a length that it rolls)
            lateral_relaxation: in m, positive, as `relaxation` unless given (a tyre answers over a length that it rolls)
            friction: positive (None is a linear tyre)
            trail: in m, not negative
            rolling_resistance: not negative
            speed: in m/s, positive
            width: in m, positive
            at: the point on the place or the parent, in its axes; its origin unless given
            initial: the values of its states at the start, zero unless given

        >>> from whippletree.model import Mechanism
        >>> m = Mechanism("m")
        >>> m.tyre("front", m.body("wheel", mass=20.0), radius=0.3, stiffness=2e5, cornering_stiffness=6e4).name
        'front'
        """
        return self._described(
            ForceHandle,
            "tyre",
            name,
            wheel,
            offset=offset,
            normal=normal,
            axis=axis,
            radius=radius,
            stiffness=stiffness,
            damping=damping,
            cornering_stiffness=cornering_stiffness,
            slip_stiffness=slip_stiffness,
            relaxation=relaxation,
            lateral_relaxation=lateral_relaxation,
            friction=friction,
            trail=trail,
            rolling_resistance=rolling_resistance,
            speed=speed,
            width=width,
            at=at,
            initial=initial,
        )
