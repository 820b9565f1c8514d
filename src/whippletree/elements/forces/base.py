"""The contract of a force element: forces between frames of bodies and on coordinates of joints.

An element sees an `ElementState`: its sides (frames, in the ground frame), the joint coordinates it names and their
rates, the auxiliary states it names, and time. It returns `ElementForces`:

    wrench [moment; force] on each side, at the frame's origin, in ground axes
    effort on each of its joint coordinates
    stored energy U, dissipated power D >= 0, input power P

such that, for every motion of the sides and coordinates,

    sum wrench . [w; u] + sum effort . rate = P - D - dU/dt                                   (1)

So the balance of energy of a whole mechanism is the sum over its elements. Everything is smooth, C1 at least, and
finite wherever the situation is: elements are traced, and have no branches that the trace could not follow.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

import casadi as ca

from whippletree.elements.closures.base import Side
from whippletree.elements.declaration import PlacedElement
from whippletree.elements.element_tolerances import COINCIDENT, COINCIDENT_POINTS
from whippletree.errors import ModelError
from whippletree.foundation.arrays import AnyArray
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import stack

if TYPE_CHECKING:
    from whippletree.elements.forces.formula import Formula

__all__ = [
    "MOMENT_AND_FORCE",
    "ElementForces",
    "ElementState",
    "ExpressionLike",
    "ExpressionVector",
    "Force",
    "Law",
    "Line",
    "SeenFormula",
    "on_coordinate",
    "pure_force",
    "refused",
    "stretch",
]

ExpressionLike: TypeAlias = ca.SX | float
ExpressionVector: TypeAlias = Sequence[ca.SX | float] | AnyArray | ca.SX
Law: TypeAlias = ca.SX | float | Callable[..., object]

MOMENT_AND_FORCE = ("mx", "my", "mz", "fx", "fy", "fz")
"""The components of the wrench that a joint transmits, in the axes of its frame on the parent."""

_NONE = ca.SX(0, 1)


class ElementState(NamedTuple):
    """The input of an element: frames in the ground frame, joint coordinates and rates, auxiliary states, time.

    An element that depends on reactions sees in `r` what its joints transmit, six numbers each, when it says what its
    loads are, and in `load` these loads when it acts.
    """

    sides: tuple[Side, ...]
    q: ca.SX
    v: ca.SX
    z: ca.SX
    t: ca.SX
    r: ca.SX = _NONE
    load: ca.SX = _NONE

    def beyond(self, sides: int, coordinates: int) -> ElementState:
        """Return the input without the first few sides and coordinates: that of a user's expression.

        >>> seen = ElementState((), ca.SX([1, 2]), ca.SX([3, 4]), ca.SX(0, 1), ca.SX(0))
        >>> seen.beyond(0, 1).q
        SX(2)
        """
        return self._replace(sides=self.sides[sides:], q=self.q[coordinates:], v=self.v[coordinates:])


class SeenFormula(NamedTuple):
    """A formula of an element, the part of the situation that it is written in, and further arguments."""

    formula: Formula
    seen: ElementState
    more: ca.SX


class ElementForces(NamedTuple):
    """The output of an element: wrenches on its sides, efforts on its coordinates, and where the energy goes."""

    wrenches: tuple[ca.SX, ...]  # (6,) each
    efforts: ca.SX  # (n_coordinates,)
    stored: ca.SX
    dissipated: ca.SX
    supplied: ca.SX


class Force(PlacedElement):
    """The base class of force elements: a frozen dataclass (`eq=False`) whose fields are the user's arguments.

    `word` says what it is in a file and in a mechanism, `n_sides` and `n_coordinates` how many frames and joint
    coordinates it acts on. A type from outside has this method, and files read and write it, once `register` knows the
    type. An element with auxiliary states of its own names them in `state_labels` and gives their `rates`; it sees them
    as the first of `z`. One that acts `on_rates` takes any freedom of a joint, also those of a quaternion; one on the
    `whole_joint` takes them all, and sees what the joint transmits.

    An element that depends on what joints transmit has `n_loads` unknowns, its loads: `loads(seen)` gives them from
    the wrenches r, and `act` is affine in them. Accelerations, reactions and loads are found together (see
    `system.reaction_laws`).

    >>> from whippletree.elements.forces import TorsionSpring
    >>> seen = ElementState((), ca.SX(0.5), ca.SX(0), ca.SX(0, 1), ca.SX(0))
    >>> TorsionSpring(4.0, 0.0, 0.0).act(seen).efforts
    SX(-2)
    """

    state_labels: ClassVar[tuple[str, ...]] = ()
    on_rates: ClassVar[bool] = False
    whole_joint: ClassVar[bool] = False

    @property
    def timed(self) -> bool:
        """Whether the element depends on time."""
        return False

    @property
    def kind(self) -> str:
        """The kind of element, in messages and tables."""
        return type(self).__name__

    @abstractmethod
    def act(self, seen: ElementState) -> ElementForces:
        """Return the forces of the element in a situation."""

    def formulas(self, seen: ElementState) -> tuple[SeenFormula, ...]:
        """Return the written formulas of the element, in the order of its fields, with the input of each.

        Steps of a simulation end where one of them has a corner.
        """
        return ()

    @property
    def n_loads(self) -> int:
        """How many loads it has that depend on reactions."""
        return 0

    def loads(self, seen: ElementState) -> ca.SX:
        """Return the loads (n_loads) as functions of the wrenches that the joints transmit, `seen.r`."""
        return ca.SX(0, 1)

    def load_bounds(self, seen: ElementState, change: ca.SX) -> ca.SX:
        """Return a bound on the change of each load (n_loads) for a change of r; here the slope at r times that change.

        >>> from whippletree.elements.forces import BearingFriction
        >>> seen = ElementState((), *[ca.SX(0, 1)] * 3, ca.SX(0), ca.SX.sym("r", 6))
        >>> BearingFriction("prismatic", 0.2).load_bounds(seen, ca.SX([0, 0, 0, 3, 4, 9]))
        SX(5)
        """
        return ca.fabs(ca.jtimes(self.loads(seen), seen.r, change))

    def rates(self, seen: ElementState) -> ca.SX:
        """Return how fast the element's own states change, one entry for each of `state_labels`."""
        return ca.SX(0, 1)


def refused(given: str, why: str = "", **others: object) -> None:
    """Refuse arguments that do not go with another one that is given.

    >>> refused("law", stiffness=None)
    """
    for name, value in others.items():
        if value is not None:
            raise ModelError(f"give either {given} or {name}" + (f": {why}" if why else ""))


class Line(NamedTuple):
    """The line between two points: how much longer it is than free, how fast it grows, and its direction."""

    elongation: ca.SX
    rate: ca.SX
    direction: ca.SX  # (3,), from the first side to the second


def stretch(sides: tuple[Side, ...], free_length: ca.SX) -> Line:
    """Return the line between the origins of two sides.

    Where the points coincide there is no direction. The length is therefore taken as sqrt(|p|^2 + e^2), with e so
    small that it is lost in rounding as soon as the points are apart (`element_tolerances`): the direction p / length
    then shrinks to zero where they meet, smoothly, and rate and force still belong to the same length.

    >>> rest = Side(ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3))
    >>> line = stretch((rest, rest._replace(p=ca.SX([3, 0, 4]))), ca.SX(2))
    >>> line.elongation, ca.DM(stretch((rest, rest), ca.SX(2)).direction)
    (SX(3), DM([0, 0, 0]))
    """
    first, second = sides
    p = second.p - first.p
    length = ca.sqrt(ca.sumsqr(p) + (COINCIDENT * free_length) ** 2 + COINCIDENT_POINTS**2)
    n = p / length
    return Line(length - free_length, ca.dot(n, second.u - first.u), n)


def pure_force(f: ca.SX) -> ca.SX:
    """Return the wrench of a force at the frame's origin.

    >>> ca.DM(pure_force(ca.SX([1, 2, 3])))[3:]
    DM([1, 2, 3])
    """
    return stack(ca.SX.zeros(3), f)


def on_coordinate(
    effort: ca.SX, stored: Scalar = 0.0, dissipated: Scalar = 0.0, supplied: Scalar = 0.0
) -> ElementForces:
    """Return the output of an element that acts on one joint coordinate only.

    >>> on_coordinate(ca.SX(2)).efforts
    SX(2)
    """
    return ElementForces((), ca.SX(effort), ca.SX(stored), ca.SX(dissipated), ca.SX(supplied))
