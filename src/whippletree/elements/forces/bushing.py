"""A bushing: stiffness and damping between two frames, in all six directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import casadi as ca
import numpy as np

from whippletree.elements.declaration import ElementAround, quantity
from whippletree.elements.element_tolerances import LEAST_SINE, SYMMETRIC
from whippletree.elements.forces.base import ElementForces, ElementState, Force
from whippletree.errors import ModelError
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import cross, skew, stack

__all__ = ["Bushing", "rotation_vector"]


@dataclass(frozen=True, eq=False)
class Bushing(Force):
    """An elastic hold of a frame on the child to a frame on the parent, in all six directions.

    `stiffness` and `damping` are six numbers, three for rotations about x, y, z of the frame on the parent and three
    for displacements along them, or symmetric 6 x 6 matrices K and C. The frames, given as for the joint `fixed`,
    coincide where nothing is deformed. The deformation e (6), in the axes of side 0, the parent's, is the rotation
    vector of side 1 and the position of its origin, and

        U = e^T K e / 2,      wrench_s = -E_s^T (K e + C e'),      e' = E_0 [w_0; u_0] + E_1 [w_1; u_1]

    so that the pair of wrenches is in balance, and that what is not dissipated is stored, exactly, however large the
    deformation. Only a rotation by half a turn has no direction: the moment changes its sign there, steeply.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> rubber = (50, 50, 20, 1e6, 1e6, 2e5)
    >>> m.bushing("mount", m.ground, m.body("engine"), at=(0, 0, 1), stiffness=rubber).name
    'mount'
    """

    word: ClassVar[str] = "bushing"
    n_sides: ClassVar[int] = 2
    placed_by: ClassVar[tuple[str, ...]] = ("at", "pose")
    drawn: ClassVar[str] = "spring"

    stiffness: tuple[Scalar, ...] = quantity(square=6)
    damping: tuple[Scalar, ...] = quantity((0.0,) * 36, square=6)

    @classmethod
    def diagonal(cls, stiffness: tuple[Scalar, ...], damping: tuple[Scalar, ...]) -> Self:
        """Return the bushing whose six directions do not act on each other."""
        matrices = [tuple(d[i] if i == j else 0.0 for i in range(6) for j in range(6)) for d in (stiffness, damping)]
        return cls(*matrices)

    def fitted(self, around: ElementAround) -> Self:
        """Check that the matrices are symmetric, and not negative in any direction."""
        for what, entries in (("stiffness", self.stiffness), ("damping", self.damping)):
            matrix = np.array(around.values_of(entries, what)).reshape(6, 6)
            size = np.abs(matrix).max()
            if np.abs(matrix - matrix.T).max() > SYMMETRIC * size:
                raise ModelError(f"{what} must be a symmetric matrix")
            if np.linalg.eigvalsh(matrix / (size or 1.0))[0] < -SYMMETRIC:
                raise ModelError(f"{what} must not be negative in any direction")
        return self

    def act(self, seen: ElementState) -> ElementForces:
        """Return the two wrenches, the stored energy and the dissipated power."""
        near, far = seen.sides
        Rt, p = near.R.T, far.p - near.p
        turn, J = rotation_vector(Rt @ far.R)
        e = stack(turn, Rt @ p)
        rate = stack(J @ (Rt @ (far.w - near.w)), Rt @ (far.u - near.u - cross(near.w, p)))
        elastic, lost = _matrix(self.stiffness) @ e, _matrix(self.damping) @ rate
        moment, force = near.R @ (J.T @ (elastic + lost)[0:3]), near.R @ (elastic + lost)[3:6]
        wrenches = (stack(moment + cross(p, force), force), -stack(moment, force))
        return ElementForces(wrenches, ca.SX(0, 1), ca.dot(e, elastic) / 2, ca.dot(rate, lost), ca.SX(0))


def rotation_vector(R: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the rotation vector phi of R (3, 3), and J (3, 3) with phi' = J w for R' = w x R.

    With S = sin(angle) axis,

        phi = S angle / |S|,      J = 1 - [phi] / 2 + (1 - angle cot(angle / 2) / 2) / angle^2 [phi]^2

    where |S| is kept from zero by what rounding does not see.

    >>> phi, J = rotation_vector(ca.SX.eye(3))
    >>> ca.DM(phi), float(J[0, 0])
    (DM([0, 0, 0]), 1.0)
    """
    S = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]) / 2
    cosine, sine = (ca.trace(R) - 1) / 2, ca.sqrt(ca.sumsqr(S) + LEAST_SINE**2)
    angle = ca.atan2(sine, cosine)
    phi = ca.densify(S * (angle / sine))
    curved = (1 - angle * (1 + cosine) / (2 * sine)) / (angle * angle)
    P = skew(phi)
    return phi, ca.densify(ca.SX.eye(3) - P / 2 + curved * (P @ P))


def _matrix(rows: tuple[Scalar, ...]) -> ca.SX:
    return ca.SX(ca.blockcat([list(rows[6 * i : 6 * i + 6]) for i in range(6)]))
