"""The numeric plan of the loops: decisions made by numbers before anything is traced, as frozen data.

A trace cannot branch, so everything that depends on numbers is given to it as a `LoopPlan`: the rows that are kept, the
partition of the freedoms into independent and dependent ones with the order of elimination, and where that was decided.
The planner makes it (`planner.py`). What only some formulations need is found when one of them first asks, and kept
with the plan (`Decided`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from whippletree.formulations.closures.partition import Choice
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array
from whippletree.system.lengths import LoopLengths
from whippletree.system.tolerances import OPEN_OVER_ACCURACY, PLAN_GRID, SINGULAR_OVER_ACCURACY

__all__ = ["Conditions", "KeptRows", "Key", "LoopPlan", "PenaltyWeights"]

KeptRows: TypeAlias = tuple[tuple[int, ...], ...]
"""The rows to be used of each closure."""

Key: TypeAlias = tuple[str, int, int]
"""An equation ("force", node, component) or ("closure", row, 0) of `absolute`, or an unknown ("alpha", "lambda")."""


class Conditions(NamedTuple):
    """Time and parameters, on which the closures depend beside the state."""

    t: float
    parameters: Array


class PenaltyWeights(NamedTuple):
    """The weights of all rows in `penalty`, the relative error that they leave, and how the closed loops give way.

    `compliance` is the largest acceleration that a unit effort on each freedom of the tree makes with closed loops.
    """

    weights: tuple[float, ...]
    error: float
    compliance: tuple[float, ...]


T = TypeVar("T")


class Decided(Generic[T]):
    """A decision of a plan that only some formulations need: found when first asked for, and kept as data."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, plan: LoopPlan, owner: type) -> T:
        imposed = dict(plan.imposed)
        found: T = imposed[self._name] if self._name in imposed else plan.finders[self._name](plan)
        vars(plan)[self._name] = found
        return found


@dataclass(frozen=True, eq=False)
class LoopPlan:
    """The decisions made by numbers about the loops of a mechanism.

    `keep` holds the rows that are used of each closure, `choice` the independent freedoms and the pivots (row,
    dependent freedom) in their order of elimination. `q` is the configuration at which that was decided, and `where`
    its time and parameters; `lengths` are the characteristic lengths, `rank` tells how many freedoms of all joints the
    closures take away, `dependent` the freedoms that were asked to depend on the others (None if nothing was asked),
    and `slack` how far rows that are not kept may be open: the accuracy of the data if these rows follow from the
    others within that only, or zero. `finders` are functions of a plan, by the names of the decisions that they find;
    `imposed` holds decisions that were set by hand instead. Plans with equal data are equal.
    """

    keep: KeptRows
    choice: Choice
    q: Array
    where: Conditions
    lengths: LoopLengths
    rank: int
    dependent: frozenset[int] | None
    finders: Mapping[str, Callable[[LoopPlan], Any]] = field(repr=False)
    slack: float = 0.0
    imposed: tuple[tuple[str, Any], ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of rows that are used."""
        return sum(len(rows) for rows in self.keep)

    def same(self, other: LoopPlan) -> bool:
        """Tell whether another plan keeps the same rows and eliminates the same freedoms in the same order."""
        return self.decides(other.keep, other.choice)

    def decides(self, keep: KeptRows, choice: Choice) -> bool:
        """Tell whether it keeps these rows and eliminates these freedoms in this order."""
        return (self.keep, self.choice) == (keep, choice)

    @property
    def made_at(self) -> Array:
        """The configuration on the grid next to `q`: code that is made there is the same for all plans of one key."""
        grid = PLAN_GRID * min(1.0, self.lengths.smallest)
        return np.asarray(np.rint(self.q / grid) * grid)

    def negligible(self, least: float) -> float:
        """Return the share below which rows and singular values are none: `least`, or what errors of the data make."""
        return max(least, SINGULAR_OVER_ACCURACY * self.slack)

    def open_square(self, least: float = 0.0) -> float:
        """Return the largest sum of squares of all residuals: that of `least`, and what redundant rows may be open."""
        return float(least**2 + len(self.keep) * (OPEN_OVER_ACCURACY * self.slack) ** 2)

    def with_decision(self, name: str, value: object) -> LoopPlan:
        """Return the same plan with a decision set by hand, for studies of what another one would do."""
        return replace(self, imposed=(*self.imposed, (name, value)))

    # ------------------------------------------------------------------ found when first asked for

    smallest_pivot = Decided[float]()
    """The smallest pivot of the partition where the plan was made, scaled."""

    massless_motion = Decided[bool]()
    """Whether a motion that the loops allow moves nothing with inertia, the parameters as described."""

    cancelling = Decided[Sequence[float]]()
    """The largest acceleration, scaled, of a unit effort on each freedom, if digits may be lost."""

    absolute_pivots = Decided[Sequence[tuple[Key, Key]]]()
    """The order of elimination of the equations in absolute coordinates (`absolute`)."""

    element_pivots = Decided[Sequence[tuple[int, int]]]()
    """The conditions and coordinates of chains that are open at bodies (`velocity_transformation`, A)."""

    reduction = Decided[Mapping[int, int]]()
    """The row with which each dependent freedom is eliminated on the way inward (`coordinate_reduction`)."""

    position_partition = Decided[Choice]()
    """The partition of the freedoms by closures of positions alone: its dependent freedoms are among those of `choice`.

    Without velocity-only closures it is `choice`.
    """

    penalty = Decided[PenaltyWeights]()
    """The weight of each row, the error to expect, and how closed loops give way (`penalty`)."""

    @property
    def penalty_weights(self) -> Sequence[float]:
        """The weight of each row (`penalty`)."""
        return self.penalty.weights

    @property
    def compliance(self) -> Sequence[float]:
        """The largest acceleration that a unit effort on each freedom makes with closed loops (`penalty`)."""
        return self.penalty.compliance

    # ------------------------------------------------------------------ identity

    def key(self) -> str:
        """Return what the code of every formulation depends on."""
        return repr([self.keep, self.choice, self.lengths, self.slack, self.made_at.tolist()])

    @made_once
    def _identity(self) -> tuple[object, ...]:
        t, parameters = self.where
        numbers = (self.q.tobytes(), t, parameters.tobytes(), repr(self.lengths), self.slack)
        return self.keep, self.choice, numbers, self.rank, self.dependent, repr(self.imposed)

    @made_once
    def _hash(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, LoopPlan) and self._identity == other._identity)

    def __hash__(self) -> int:
        return self._hash
