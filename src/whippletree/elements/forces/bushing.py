"""A bushing: stiffness and damping between two frames, in all six directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import casadi as ca

from whippletree.elements.declaration import quantity
from whippletree.elements.element_tolerances import LEAST_SINE
from whippletree.elements.forces.base import ElementForces, ElementState, Force
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import cross, skew, stack

__all__ = ["Bushing", "rotation_vector"]


@dataclass(frozen=True, eq=False)
class Bushing(Force):
    """Resists the motion of side 1 in side 0, from where the two frames coincide.

    Its deformation e (6), in the axes of side 0, is the rotation vector of side 1 and the position of its origin. With
    symmetric matrices K and C, given row after row,

        U = e^T K e / 2,      wrench_s = -E_s^T (K e + C e'),      e' = E_0 [w_0; u_0] + E_1 [w_1; u_1]

    so that the pair of wrenches is in balance, and that what is not dissipated is stored, exactly, however large the
    deformation. Only a rotation by half a turn has no direction: the moment changes its sign there, steeply.

    >>> Bushing.diagonal((1.0,) * 6, (0.0,) * 6).stiffness[7]
    1.0
    """

    n_sides: ClassVar[int] = 2

    stiffness: tuple[Scalar, ...] = quantity(size=36)
    damping: tuple[Scalar, ...] = quantity(size=36)

    @classmethod
    def diagonal(cls, stiffness: tuple[Scalar, ...], damping: tuple[Scalar, ...]) -> Self:
        """Return the bushing whose six directions do not act on each other."""
        matrices = [tuple(d[i] if i == j else 0.0 for i in range(6) for j in range(6)) for d in (stiffness, damping)]
        return cls(*matrices)

    def act(self, seen: ElementState) -> ElementForces:
        """Return the two wrenches, what is stored and what is dissipated."""
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
