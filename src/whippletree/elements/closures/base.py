"""The contract of a closure: equations between frames of bodies and coordinates of joints.

A closure is a set of rows. Each row is a residual phi that must stay zero (or, for a velocity-only closure, a
velocity that must), and is told by its derivatives with respect to what it holds on to:

    phi'  = sum_s D_s [w_s; u_s]   + K r  + drift
    phi'' = sum_s D_s [w_s'; u_s'] + K r' + bias

with w_s the angular velocity and u_s the velocity of side s (a frame on a body), r the rates of the joint
coordinates it depends on, u_s' the acceleration of the material point at the frame's origin. Formulations use
nothing else of a closure: residual, rows and bias are the one vocabulary for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import casadi as ca

from whippletree.elements.declaration import PlacedElement

__all__ = ["Closure", "DeclaredClosure", "Rows", "Side"]


class Side(NamedTuple):
    """A frame that a closure holds on to: pose and velocity in the axes of the loop's base, which is at rest."""

    R: ca.SX  # (3, 3) axes
    p: ca.SX  # (3,) origin
    w: ca.SX  # (3,) angular velocity
    u: ca.SX  # (3,) velocity of the origin


class Rows(NamedTuple):
    """A closure's rows at a state: residual, Jacobian and bias."""

    phi: ca.SX  # (m,) residual; zeros for a velocity-only closure
    D: tuple[ca.SX, ...]  # one (m, 6) for each side, on [w; u]
    K: ca.SX  # (m, n_coordinates), on the rates of the joint coordinates
    drift: ca.SX  # (m,) what of phi' depends on neither: the explicit dependence on time
    bias: ca.SX  # (m,) what of phi'' depends on no acceleration

    @staticmethod
    def stacked(parts: list[Rows]) -> Rows:
        """Return several closures' rows on the same sides as one.

        >>> one = Rows(ca.SX.zeros(1), (ca.SX.zeros(1, 6),), ca.SX(1, 0), ca.SX.zeros(1), ca.SX.zeros(1))
        >>> Rows.stacked([one, one]).phi.shape
        (2, 1)
        """
        sides = range(len(parts[0].D))
        return Rows(
            ca.vertcat(*(part.phi for part in parts)),
            tuple(ca.vertcat(*(part.D[s] for part in parts)) for s in sides),
            ca.vertcat(*(part.K for part in parts)),
            ca.vertcat(*(part.drift for part in parts)),
            ca.vertcat(*(part.bias for part in parts)),
        )


class Closure(ABC):
    """The base class of closures: the methods that a type defines.

    `labels` names the rows, one word or phrase each ("force along x", ...), which also counts them. `holonomic` is
    False for a velocity-only closure, whose phi is zeros. `absolute` says that the sides are meant in the ground
    frame; otherwise only their relative motion matters, and the base may be any body that both hang on.
    """

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The force or moment that each row transmits."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.labels)

    @property
    def holonomic(self) -> bool:
        """Whether the rows are conditions on positions."""
        return True

    @property
    def absolute(self) -> bool:
        """Whether the sides are meant in the ground frame."""
        return False

    @property
    def timed(self) -> bool:
        """Whether the rows depend on time."""
        return False

    @property
    def of_joint_state(self) -> bool:
        """Whether the rows depend on the coordinates and velocities of the cut joint that they belong to."""
        return False

    @abstractmethod
    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the rows; q and v are the joint coordinates that the closure depends on, and their rates."""


class DeclaredClosure(PlacedElement, Closure):
    """A closure of a description: a frozen dataclass (`eq=False`) whose fields are the user's arguments.

    `word` says what it is in a file and in a mechanism, `n_sides` and `n_coordinates` how many frames and joint
    coordinates it holds on to. A type from outside has this method, and files read and write it, once `register` knows
    the type.

    >>> from whippletree.elements.closures import Distance
    >>> rod = Distance(1.2)
    >>> Distance.of(rod.text, rod.entries()) == rod
    True
    """

    @property
    def noun(self) -> str:
        """The noun for it in messages."""
        return "a closure"
