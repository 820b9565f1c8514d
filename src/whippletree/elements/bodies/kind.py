"""The contract of a body with coordinates of its own, beside the six freedoms of its frame.

A body kind has n own coordinates eta. Its frame moves like that of a rigid body, with angular velocity w and velocity u
of its origin in body axes; what is inside moves relative to that frame. It says

    the pose R(eta), p(eta) of each of its *moving frames* in the body frame,
    its generalised inertia  M(eta) = [[M_rr, M_re], [M_re^T, M_ee]]  on [w; u; eta'],
    what acts inside it: a force element on its own coordinates.

All else follows. With the kinetic energy T = 1/2 [w; u; eta']^T M [w; u; eta'] and the momenta p = M_rr V + M_re eta',
pi = M_re^T V + M_ee eta', the force and moment on the body frame and the generalised force on eta are (Boltzmann and
Hamel's equations, V = [w; u])

    f     = dp/dt + V x* p,                 f_eta = dpi/dt - dT/deta                                   (1)

The frame's origin may be seen from where it is at rest, so that u = 0 in all terms without acceleration, and u' is the
acceleration of the material point at the origin, as everywhere in the package:

    f     = M_rr alpha + M_re eta'' + b,    f_eta = M_re^T alpha + M_ee eta'' + b_eta                  (2)
    b     = M_rr' [w; 0] + M_re' eta' + [w x; w x] p
    b_eta = M_re'^T [w; 0] + M_ee' eta' - dT/deta

Moving frames are reached like the child frame of a joint whose coordinates are eta (`MovingFrame`), so velocities and
accelerations of frames are the exact derivatives of their poses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.elements.bodies.rigid import MassProperties
from whippletree.elements.declaration import Declared
from whippletree.elements.forces.base import Force
from whippletree.elements.joints.base import Joint, SplitJoint
from whippletree.foundation.arrays import Array
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial import RigidInertia, Rotation, Shift, Translation, cross, stack
from whippletree.spatial.scalars import Scalar

__all__ = ["BodyKind", "MovingFrame", "OwnCoordinates", "OwnInertia", "OwnVelocityForces", "rigid_parts"]


class OwnInertia(NamedTuple):
    """A generalised inertia: of the frame alone, its coupling with the own coordinates (6, n), and theirs (n, n)."""

    rigid: RigidInertia
    coupling: ca.SX
    own: ca.SX

    @staticmethod
    def of_rates(armature: ca.SX) -> OwnInertia:
        """Return the inertia of a joint's own rates, each by itself."""
        return OwnInertia(RigidInertia.zero(), ca.SX(6, armature.shape[0]), ca.diag(armature))


class OwnVelocityForces(NamedTuple):
    """The velocity terms of (2), without the gyroscopic force of M_rr itself."""

    frame: ca.SX  # (6,)
    own: ca.SX  # (n,)


@user_facing
class BodyKind(Declared, ABC):
    """The base class of body kinds with own coordinates: the methods that a type defines.

    1. `labels`: a name for each own coordinate, which also counts them and says what is measured ("displacement along
       x", "angle about z", "modal coordinate 1"), and `rate_labels` for their rates;
    2. `frames`: the names of its moving frames, and `pose(frame, eta)`, their axes (3, 3) and origin (3) in the body
       frame;
    3. `mass_matrix(eta)` (6 + n, 6 + n), on [w; u; eta'] in body axes at the body frame's origin;
    4. `internal_force()`: a force element on the own coordinates, if something acts inside;
    5. its numbers, as fields of a frozen dataclass (`elements.declaration`), which may be expressions in parameters.
    """

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The label of each own coordinate."""

    @property
    def rate_labels(self) -> tuple[str, ...]:
        """The label of each own velocity."""
        return tuple(_rate_label(label) for label in self.labels)

    @property
    def n_own(self) -> int:
        """The number of own coordinates."""
        return len(self.labels)

    @property
    @abstractmethod
    def frames(self) -> tuple[str, ...]:
        """The names of the moving frames."""

    @abstractmethod
    def pose(self, frame: str, eta: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return a moving frame's axes (3, 3) and origin (3) in the body frame."""

    @abstractmethod
    def mass_matrix(self, eta: ca.SX) -> ca.SX:
        """Return the generalised inertia (6 + n, 6 + n) on [w; u; eta']."""

    def internal_force(self) -> Force | None:
        """Return the element that acts on the own coordinates, if there is one."""
        return None

    def neutral(self) -> Array:
        """Return the own coordinates to start from."""
        return np.zeros(self.n_own)

    def random(self, rng: np.random.Generator) -> Array:
        """Return random own coordinates, small ones."""
        return rng.uniform(-0.1, 0.1, self.n_own)

    @property
    def bare(self) -> BodyKind:
        """The same body with those numbers only that its equations need."""
        return self

    def coordinate_scales(self) -> Array | None:
        """Return how large each own coordinate may well be, if that follows from no length or angle.

        Displacements are compared with a length of the mechanism and angles with a radian unless this is given.
        """
        return None

    # ------------------------------------------------------------------ derived properties

    def mass_and_first_moment(self) -> tuple[ca.SX, ca.SX]:
        """Return mass, and mass times the centre (3), where the own coordinates are those to start from."""
        rigid = self.inertia(ca.SX(ca.DM(self.neutral()))).rigid
        return rigid.m, rigid.h

    def frame_map(self, frame: str, eta: ca.SX) -> ca.SX:
        """Return the map (6, n) from own velocities to a moving frame's motion in the body frame, in its own axes."""
        at = ca.SX.sym("eta", self.n_own)
        R, W, J = self._frame_derivatives(frame, at)
        return _at(ca.vertcat(R.T @ W, R.T @ J), [at], [eta])

    def frame_bias(self, frame: str, eta: ca.SX, rate: ca.SX) -> ca.SX:
        """Return a moving frame's acceleration in the body frame at zero own accelerations, in its own axes."""
        at, speed = ca.SX.sym("eta", self.n_own), ca.SX.sym("rate", self.n_own)
        R, W, J = self._frame_derivatives(frame, at)
        bias = [R.T @ ca.jtimes(part @ speed, at, speed) for part in (W, J)]
        return _at(ca.vertcat(*bias), [at, speed], [eta, rate])

    def frame_motion(
        self, frame: str, eta: ca.SX, rate: ca.SX, combinations: ca.SX
    ) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """Return map, bias and velocity of a moving frame in body axes, if these have more zeros than in its own axes.

        With `combinations` B (n, n), the map is that of xi', eta' = B xi'; without (0, 0), that of eta'.
        """
        return None

    def combinations(self, frames: Sequence[str]) -> ca.SX:
        """Return B (n, n), eta'' = B xi'', if fewer operations eliminate xi'' where other bodies hang on these frames.

        B is constant. Without it (0, 0), eta'' itself is eliminated.
        """
        return ca.SX(0, 0)

    def _frame_derivatives(self, frame: str, at: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return R, and the maps of own velocities to the frame's angular velocity and velocity, in body axes."""
        R, p = (ca.densify(ca.SX(part)) for part in self.pose(frame, at))
        columns = []
        for i in range(self.n_own):
            S = ca.reshape(ca.jacobian(ca.vec(R), at[i]), 3, 3) @ R.T
            columns.append(ca.vertcat(S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]) / 2)
        return R, ca.SX(ca.horzcat(*columns)), ca.jacobian(p, at)

    def inertia(self, eta: ca.SX) -> OwnInertia:
        """Return the generalised inertia by its parts."""
        M = ca.densify(ca.SX(self.mass_matrix(eta)))
        h = ca.vertcat(M[2, 4], M[0, 5], M[1, 3])  # M[0:3, 3:6] = skew(h)
        return OwnInertia(RigidInertia(M[3, 3], h, M[0:3, 0:3]), M[0:6, 6:], M[6:, 6:])

    def velocity_forces(self, eta: ca.SX, rate: ca.SX, w: ca.SX) -> OwnVelocityForces:
        """Return b without M_rr's gyroscopic force, and b_eta (2)."""
        at, speed = ca.SX.sym("eta", self.n_own), ca.SX.sym("rate", self.n_own)
        turning = ca.SX.sym("w", 3)
        M = ca.densify(ca.SX(self.mass_matrix(at)))
        V = ca.vertcat(turning, ca.SX.zeros(3))
        growing = ca.reshape(ca.jtimes(ca.vec(M), at, speed), *M.shape)
        momentum = M[0:6, 6:] @ speed
        frame = growing[0:6, :] @ ca.vertcat(V, speed)
        frame = frame + stack(cross(turning, momentum[0:3]), cross(turning, momentum[3:6]))
        whole = ca.vertcat(V, speed)
        kinetic = ca.dot(whole, M @ whole) / 2
        own = growing[6:, :] @ whole - ca.gradient(kinetic, at)
        found = ca.substitute([frame, own], [at, speed, turning], [ca.densify(eta), ca.densify(rate), ca.densify(w)])
        return OwnVelocityForces(ca.densify(found[0]), ca.densify(found[1]))


def _rate_label(label: str) -> str:
    """Return the label of the rate of a coordinate.

    >>> _rate_label("displacement along x"), _rate_label("modal coordinate 1")
    ('velocity along x', 'rate of modal coordinate 1')
    """
    for word, rate in (("displacement", "velocity"), ("angle", "angular velocity")):
        if word in label:
            return label.replace(word, rate)
    return f"rate of {label}"


@user_facing
def rigid_parts(kind: BodyKind, eta: ca.SX, parts: Sequence[tuple[str | None, MassProperties]]) -> ca.SX:
    """Return the generalised inertia of rigid parts, each on a moving frame or, with None, on the body frame.

    A part that moves with [w; u] + (its frame's own motion) has the twist J [w; u; eta'], and M is the sum of J^T M J.
    """
    n = kind.n_own
    total = ca.SX.zeros(6 + n, 6 + n)
    for frame, properties in parts:
        inertia = _spatial_inertia(properties)
        J = ca.SX.eye(6) if frame is None else ca.SX(6, 6)
        own = ca.SX(6, n)
        if frame is not None:
            joint = MovingFrame(kind, frame)
            J, own = joint.shift(eta).motion(ca.SX.eye(6)), joint.joint_map(eta)
        J = ca.horzcat(J, own) if frame is not None else ca.horzcat(ca.SX.eye(6), own)
        total = total + J.T @ inertia @ J
    return total


def _spatial_inertia(properties: MassProperties) -> ca.SX:
    """Return a rigid part's inertia (6, 6) about its frame's origin."""
    m = properties.mass
    h = ca.vertcat(*(m * c for c in properties.com))
    J = ca.SX(ca.blockcat([list(row) for row in properties.about((0.0, 0.0, 0.0))]))
    return RigidInertia(ca.SX(m), ca.SX(h), J).articulated().matrix()


class _OfBody(Joint):
    """The common base of the two joints below: coordinates that are a body's own."""

    kind = "own coordinates"

    @property
    @abstractmethod
    def body(self) -> BodyKind:
        """The kind of body."""

    @property
    def nq(self) -> int:  # type: ignore[override]
        """Number of coordinates."""
        return self.body.n_own

    @property
    def nv(self) -> int:  # type: ignore[override]
        """Number of velocities."""
        return self.body.n_own

    @property
    def n_configuration(self) -> int:  # type: ignore[override]
        """Size of the configuration: the coordinates themselves."""
        return self.body.n_own

    @property
    def position_labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The labels of the coordinates."""
        return self.body.labels

    @property
    def velocity_labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The labels of the velocities."""
        return self.body.rate_labels

    @property
    def variant(self) -> Hashable:
        """The kind of body."""
        return type(self.body), self.body.text

    def constants(self) -> tuple[Scalar, ...]:
        """Return the body's numbers."""
        return self.body.entries()

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return the coordinates."""
        return q

    def neutral(self) -> Array:
        """Return the coordinates to start from."""
        return self.body.neutral()

    def random(self, rng: np.random.Generator) -> Array:
        """Return random coordinates."""
        return self.body.random(rng)


@user_facing
@dataclass(frozen=True)
class OwnCoordinates(_OfBody):
    """The own coordinates of a body as a joint that moves nothing: the inertia is that of the body inside."""

    of: BodyKind

    @property
    def body(self) -> BodyKind:
        """The kind of body."""
        return self.of

    def with_constants(self, values: Sequence[Scalar]) -> OwnCoordinates:
        """Return those of a body with other numbers."""
        return OwnCoordinates(_with_entries(self.of, values))

    def shift(self, x: ca.SX) -> Shift:
        """Return no shift."""
        return Shift(())

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return zeros (6, n)."""
        return ca.SX(6, self.of.n_own)


@user_facing
@dataclass(frozen=True)
class MovingFrame(_OfBody):
    """A moving frame of a body, reached from the body frame like the child frame of a joint.

    With w~ = R' R^T the angular velocity in body axes, the map is [R^T W; R^T dp/deta], W eta' = w.
    """

    of: BodyKind
    frame: str

    @property
    def body(self) -> BodyKind:
        """The kind of body."""
        return self.of

    @property
    def variant(self) -> Hashable:
        """The kind of body, and the frame."""
        return type(self.of), self.of.text, self.frame

    def with_constants(self, values: Sequence[Scalar]) -> MovingFrame:
        """Return the frame of a body with other numbers."""
        return MovingFrame(_with_entries(self.of, values), self.frame)

    def shift(self, x: ca.SX) -> Shift:
        """Return the shift from the body frame."""
        R, p = self.of.pose(self.frame, x)
        return Shift.of(Translation(ca.densify(ca.SX(p))), Rotation(ca.densify(ca.SX(R))))

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the map (6, n) from own velocities to the frame's motion in the body frame, in the frame's axes."""
        return self.of.frame_map(self.frame, x)

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        """Return the frame's acceleration in the body frame at zero own accelerations, in the frame's axes."""
        return self.of.frame_bias(self.frame, x, v)

    def split(self, x: ca.SX, v: ca.SX, combinations: ca.SX) -> SplitJoint | None:
        """Return the frame's motion in body axes, before its own rotation."""
        motion = self.of.frame_motion(self.frame, x, v, combinations)
        if motion is None:
            return None
        R, p = self.of.pose(self.frame, x)
        return SplitJoint(Shift.of(Translation(ca.densify(ca.SX(p)))), Rotation(ca.densify(ca.SX(R))), *motion)


def _with_entries(kind: BodyKind, values: Sequence[Scalar]) -> BodyKind:
    """Return a body of the same kind with other numbers."""
    return type(kind).of(kind.text, tuple(values))


def _at(expression: ca.SX, symbols: list[ca.SX], values: list[ca.SX]) -> ca.SX:
    """Return an expression at the values of its symbols, with its zeros known."""
    found = ca.substitute(ca.densify(expression), ca.vertcat(*symbols), ca.densify(ca.vertcat(*values)))
    return ca.simplify(ca.densify(found))
