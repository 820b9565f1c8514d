"""Dependent freedoms from independent ones: the closures solved for the dependent freedoms (Nikravesh 16-18, 21).

Which freedoms are independent, and in which order C_d is eliminated, is decided by numbers and given to the trace as
`Choice`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState
from whippletree.formulations.closures.loop_solution import JOINT, Coordinates, by_closure, stacked_rows
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.symbolic.arithmetic import plus, times
from whippletree.symbolic.sparse_factors import SparseLU, factor_lu

__all__ = [
    "Choice",
    "Partition",
    "Row",
    "at_rest",
    "eliminate",
    "given_accelerations",
    "partition",
    "partition_multipliers",
    "reduced",
]


Row = dict[int, ca.SX]


class Choice(NamedTuple):
    """The numeric choice: the independent freedoms, and the pivots (row, dependent freedom) in their order."""

    independent: tuple[int, ...]
    pivots: tuple[tuple[int, int], ...]


class Partition(NamedTuple):
    """The closures solved for the dependent freedoms: rows of E by freedom, and the factors of C_d."""

    E: dict[int, Row]
    factors: SparseLU
    closure_states: list[ClosureState]
    given: dict[int, ca.SX]

    def particular(self) -> Row:
        """Return g: the dependent accelerations when the independent ones are zero (21)."""
        right = {r: -value for r, value in enumerate(stacked_rows(self.closure_states, "second"))}
        return {**self.factors.solve(right), **self.given}


def partition(walk: Unrolled, closure_set: ClosureSet, choice: Choice, coordinates: Coordinates = JOINT) -> Partition:
    """Solve the closures for the dependent freedoms (16, 17)."""
    given = given_accelerations(walk)
    closure_states, found = coordinates.closures(at_rest(walk), closure_set)
    rows = dict(enumerate(found))
    record_stage("closures", [found, stacked_rows(closure_states, "second")])
    factors, E = eliminate(rows, choice)
    return Partition(E, factors, closure_states, given)


def given_accelerations(walk: Unrolled) -> Row:
    """Return the accelerations of prescribed hinges, by their place in v."""
    return {
        i: node.acceleration[i - where.start]
        for node, where in zip(walk.nodes, walk.v_slices, strict=True)
        if node.prescribed
        for i in range(where.start, where.stop)
    }


def at_rest(walk: Unrolled) -> Unrolled:
    """Return the walk without accelerations but those given; it is made once for a walk."""
    if "at rest" not in walk.memory:
        walk.memory["at rest"] = with_accelerations(walk, _column(given_accelerations(walk), walk.nv))
    still: Unrolled = walk.memory["at rest"]
    return still


def eliminate(rows: Mapping[int, Row], choice: Choice) -> tuple[SparseLU, dict[int, Row]]:
    """Solve rows of C for the dependent freedoms: the factors of C_d, and the rows of E by freedom (16, 17)."""
    dependent = {column for _, column in choice.pivots}
    factors = factor_lu({r: {j: x for j, x in row.items() if j in dependent} for r, row in rows.items()}, choice.pivots)
    E: dict[int, Row] = {i: {i: ca.SX(1)} for i in choice.independent}
    for i in choice.independent:
        right = {r: -row[i] for r, row in rows.items() if i in row}
        for d, value in factors.solve(right).items():
            E.setdefault(d, {})[i] = value
    return factors, E


def partition_multipliers(walk: Unrolled, parts: Partition, a: ca.SX, coordinates: Coordinates = JOINT) -> list[ca.SX]:
    """Return lambda from the dependent rows of C^T lambda = M a + b - tau (15)."""
    system = coordinates.equations(with_accelerations(walk, a))
    dependent = {column for _, column in parts.factors.places}
    lacking = {d: -value for d, value in system.right.items() if d in dependent}
    solved = parts.factors.solve_transposed(lacking)
    count = sum(one.n_rows for one in parts.closure_states)
    return by_closure([solved.get(r, ca.SX(0)) for r in range(count)], parts.closure_states)


def reduced(mass: Mapping[tuple[int, int], ca.SX], E: Mapping[int, Row]) -> dict[tuple[int, int], ca.SX]:
    """Return the entries of E^T M E on and below the diagonal (19)."""
    product: dict[int, Row] = {}
    for (i, j), value in mass.items():
        for a, b in ((i, j), (j, i)) if i != j else ((i, j),):
            for column, entry in E.get(b, {}).items():
                _add(product.setdefault(a, {}), column, times(value, entry))
    result: dict[tuple[int, int], ca.SX] = {}
    for d, row in product.items():
        for i, left in E.get(d, {}).items():
            for j, entry in row.items():
                if j <= i:
                    _add(result, (i, j), times(left, entry))
    return result


def _column(values: Row, nv: int) -> ca.SX:
    return ca.densify(ca.SX(ca.vertcat(*(values.get(i, 0) for i in range(nv)))))


def _add(target: dict[Any, ca.SX], key: Hashable, value: ca.SX) -> None:
    target[key] = plus(target[key], value) if key in target else value
