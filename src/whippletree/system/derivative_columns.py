"""The variables of derivatives: the independent joints, and the columns of derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from whippletree.formulations.closures.partition import Choice

if TYPE_CHECKING:
    from whippletree.system.equations import Equations

__all__ = ["KINDS", "DerivativeColumns", "derivative_columns"]

KINDS = ("q", "v", "tau", "t", "z", "parameters", "a")
"""The variables of derivatives, in the order of the columns."""


class DerivativeColumns(NamedTuple):
    """The columns of derivatives: the places in v of displacements, velocities, efforts and given accelerations.

    `positions` and `choice` are the partitions of the freedoms that closures of positions and all closures are solved
    with; `free` are the independent freedoms that are not prescribed. Time is differentiated by if it is `timed`.
    """

    displacements: tuple[int, ...]
    velocities: tuple[int, ...]
    free: tuple[int, ...]
    prescribed: tuple[int, ...]
    nv: int
    timed: bool
    n_states: int
    n_parameters: int
    positions: Choice
    choice: Choice

    def sizes(self) -> dict[str, int]:
        """Return the number of columns of each kind."""
        return {
            "q": len(self.displacements),
            "v": len(self.velocities),
            "tau": self.nv,
            "t": int(self.timed),
            "z": self.n_states,
            "parameters": self.n_parameters,
            "a": len(self.prescribed),
        }

    def slices(self) -> Mapping[str, slice]:
        """Return where the columns of each kind are."""
        found, start = {}, 0
        for kind, size in self.sizes().items():
            found[kind] = slice(start, start + size)
            start += size
        return found

    def explicit(self) -> list[int]:
        """Return the numbers of the columns of time, if it counts, and of the parameters."""
        at = self.slices()
        return [*range(at["t"].start, at["t"].stop), *range(at["parameters"].start, at["parameters"].stop)]

    @property
    def total(self) -> int:
        """How many columns there are."""
        return sum(self.sizes().values())

    @property
    def n_minimal(self) -> int:
        """How many columns describe minimal coordinates: two maps of displacements, and one of velocities."""
        return 2 * len(self.displacements) + len(self.velocities)


def derivative_columns(eq: Equations) -> DerivativeColumns:
    """Return the columns of derivatives of a mechanism."""
    described, nv = eq.description, eq.plan.nv
    prescribed = tuple(i for i, given in enumerate(eq.prescribed_mask) if given)
    if eq.closed:
        choice, positions = eq.loop_plan.choice, eq.loop_plan.position_partition
    else:
        choice = positions = Choice(tuple(i for i in range(nv) if i not in prescribed), ())
    return DerivativeColumns(
        tuple(sorted({*positions.independent, *prescribed})),
        tuple(sorted({*choice.independent, *prescribed})),
        choice.independent,
        prescribed,
        nv,
        described.forces_timed or (eq.closed and described.closures_timed),
        len(described.states),
        len(described.parameters),
        positions,
        choice,
    )
