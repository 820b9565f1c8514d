"""Derivatives of the accelerations of a tree of some size: pairs of freedoms and right-hand sides in loops.

What each freedom brings to pairs is one straight line, and grows with the number of freedoms. What is done for a pair
is the same for all, and becomes a loop: it fills the mass matrix M and, with R the residual of the equations, also
-[R_q, R_v]. With M = L^T D L, whose zeros follow the tree, the columns of all derivatives are then solved for at once,
row by row of the matrix: several columns stand side by side in the lanes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca

from whippletree.formulations.methods.articulated import ARTICULATED
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.inverse_dynamics_derivatives import PairTerms, add_entry, pair_terms
from whippletree.formulations.rolled.rolled_walk import Unknowns, unknowns
from whippletree.programs.loop_program import (
    ForestSolve,
    ItemLoop,
    LoopProgram,
    MemoryRef,
    ProgramStep,
    RowSweep,
    Segment,
    StepFunction,
)
from whippletree.system import derivative_equations, tree_equations
from whippletree.system.derivative_columns import derivative_columns
from whippletree.topology import Tree

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request

__all__ = ["pair_program"]

_ABOVE, _BEYOND = 21, 21
"""How many numbers a freedom brings to pairs as the one nearer to the ground, and as the one farther out."""


def pair_program(eq: Equations, request: Request) -> LoopProgram:
    """Return the derivatives of a tree's accelerations as a program."""
    return _PairProgram(eq, request).program()


class _PairProgram:
    """Writes the program; each freedom's numbers are in work, and then the rows of the mass matrix."""

    def __init__(self, eq: Equations, request: Request) -> None:
        self.eq, self.request, self.columns = eq, request, derivative_columns(eq)
        self.nv, self.total = self.columns.nv, self.columns.total
        self.unknowns: Unknowns = unknowns(eq.node_tree().node_constants)
        self.rows = {place: (depth, start) for place, _, depth, start in self.unknowns.rows}
        self.first = self.nv * (_ABOVE + _BEYOND)  # where the mass matrix begins
        self.filled = [0] * self.nv  # which entries of each row are not zero, as bits

    def program(self) -> LoopProgram:
        """Return all steps."""
        straight, pairs = self._straight_line(), self._pairs()  # which also tell what is filled
        table = tuple((place, above, depth, self.first + at) for place, above, depth, at in self.unknowns.rows)
        factored = ForestSolve(table, None, least=self.unknowns.least)
        steps: list[ProgramStep] = [straight, pairs, factored, *self._sweeps()]
        return LoopProgram(tuple(steps), self.first + self.unknowns.size, (), ((0, self.nv * self.total),))

    # ------------------------------------------------------------------ what freedoms bring

    def _straight_line(self) -> Segment:
        """Return what is worked out once: what freedoms bring to pairs, and what else is in the right-hand sides."""
        eq, x = self.eq, self.eq.inputs(self.request)
        a = tree_equations.forward_dynamics(
            eq, replace(self.request, function="forward_dynamics", formulation=ARTICULATED.text), x
        )
        walk = with_accelerations(eq.walk(x), a)
        values: list[ca.SX] = []
        targets: list[MemoryRef] = []
        terms = pair_terms(walk)
        for own, where in zip(terms, walk.v_slices, strict=True):
            for i in range(where.stop - where.start):
                numbers = _brought(own, i)
                values += numbers
                start = (where.start + i) * (_ABOVE + _BEYOND)
                targets += [MemoryRef("work", start + n) for n in range(len(numbers))]
        for (row, column), value in self._right_hand_sides(walk, x, a, terms):
            self.filled[row] |= 1 << column
            values.append(value)
            targets.append(MemoryRef("output", row * self.total + column))
        return self._segment(x, values, targets)

    def _segment(self, x: dict[str, ca.SX], values: list[ca.SX], targets: list[MemoryRef]) -> Segment:
        result = ca.densify(ca.SX(ca.vertcat(*values)))
        if "parameters" in x:
            named = ca.vertcat(*(p.symbol for p in self.eq.description.parameters))
            result = ca.substitute(result, named, x["parameters"])
        sources = [MemoryRef("input", i, -1, n) for n, value in enumerate(x.values()) for i in range(value.numel())]
        function = ca.Function("straight", [ca.vertcat(*x.values())], [result])
        return Segment(StepFunction(function, tuple(sources), tuple(targets)))

    def _right_hand_sides(
        self, walk: Unrolled, x: dict[str, ca.SX], a: ca.SX, terms: list[PairTerms]
    ) -> Iterator[tuple[tuple[int, int], ca.SX]]:
        """Yield the entries of the right-hand sides that do not come of pairs."""
        at, one = self.columns.slices(), ca.SX(1)
        for i in range(self.nv):
            yield (i, at["tau"].start + i), one
        applied = derivative_equations.applied_slopes(self.eq, walk, x, [])
        for own, where in zip(terms, walk.v_slices, strict=True):
            if own.turned is not None:
                for i, j in itertools.product(range(where.stop - where.start), repeat=2):
                    add_entry(applied["q"], where.start + i, where.start + j, -own.turned[i, j])
        for kind in ("q", "v", "z"):
            for (i, j), value in applied[kind].items():
                yield (i, at[kind].start + j), value
        explicit = derivative_equations.explicit_changes(self.eq, x, a, [])
        for column, change in zip(self.columns.explicit(), explicit, strict=True):
            for i, value in change.R.items():
                yield (i, column), -value

    # ------------------------------------------------------------------ pairs

    def _pairs(self) -> ItemLoop:
        """Return the loop over all pairs of freedoms of which one is nearer to the ground, and within joints."""
        tree: Tree = self.eq.node_tree().tree
        slices = [one.v for one in self.eq.node_tree().node_constants]
        table = []
        for k, where in enumerate(slices):
            for i in range(where.start, where.stop):
                for j in range(where.start, where.stop):
                    table.append(self._row(_OWN if j <= i else _OWN_UPPER, i, j))
                for n in tree.path(k):
                    if n != k:
                        table += [self._row(_PAIR, i, j) for j in range(slices[n].start, slices[n].stop)]
        return ItemLoop(_pair_functions(self.nv), tuple(table))

    def _row(self, variant: int, beyond: int, above: int) -> tuple[int, ...]:
        """Return where a pair finds its numbers, and where its results go: its entries, their mirror images, M."""
        size, (_, start) = _ABOVE + _BEYOND, self.rows[beyond]
        entry, mirrored = beyond * self.total + above, above * self.total + beyond
        mass = self.first + start + self.rows[above][0]
        self.filled[beyond] |= 1 << above | 1 << self.nv + above
        self.filled[above] |= 1 << beyond | 1 << self.nv + beyond
        return variant, size * beyond + _ABOVE, size * above, entry, mirrored, mass

    # ------------------------------------------------------------------ the solution

    def _sweeps(self) -> Iterator[RowSweep]:
        """Yield the sweeps that solve L^T D L X = B: inward from the tips, then outward."""
        rows = self.unknowns.rows
        inward: list[list[tuple[int, int]]] = [[] for _ in rows]
        outward: list[list[tuple[int, int]]] = [[] for _ in rows]
        for k, (_, nearest, _, start) in enumerate(rows):
            i = nearest
            while i >= 0:
                factor = self.first + start + rows[i][2]
                inward[i].append((k, factor))
                outward[k].append((i, factor))
                i = rows[i][1]
        filled = [self.filled[place] for place, _, _, _ in rows]
        for k in reversed(range(len(rows))):  # what is beyond fills a row, and then what is above
            if rows[k][1] >= 0:
                filled[rows[k][1]] |= filled[k]
        yield from self._sweep(inward, filled, range(len(rows) - 1, -1, -1), scaled=False)
        for k in range(len(rows)):
            if rows[k][1] >= 0:
                filled[k] |= filled[rows[k][1]]
        yield from self._sweep(outward, filled, range(len(rows)), scaled=True)

    def _sweep(
        self, taken: list[list[tuple[int, int]]], filled: list[int], order: range, *, scaled: bool
    ) -> Iterator[RowSweep]:
        """Yield a sweep over pieces of all rows, and one over what is left; rows that are empty there are left out."""
        end = self.total // _PIECE * _PIECE
        for starts, size in ((range(0, end, _PIECE), _PIECE), (range(end, self.total, _PIECE), self.total - end)):
            table: list[tuple[int, ...]] = []
            whole: list[tuple[int, int]] = []
            for start, k in itertools.product(starts, order):
                place, _, depth, begin = self.unknowns.rows[k]
                piece = (1 << size) - 1 << start
                own = [(self.unknowns.rows[i][0] * self.total + start, at) for i, at in taken[k] if filled[i] & piece]
                if own or scaled:
                    pivot = (self.first + begin + depth,) if scaled else ()
                    table.append((place * self.total + start, len(whole), len(own), *pivot))
                    whole += own
            if table:
                yield RowSweep(size, tuple(table), tuple(whole), scaled)


_PIECE = 16
"""So many columns of all rows are worked on at once, which then stay in the nearest cache, also in lanes."""

_OWN, _OWN_UPPER, _PAIR = range(3)
"""Pairs within a joint, with an entry of the mass matrix and without, and of different joints."""


def _brought(own: PairTerms, i: int) -> list[ca.SX]:
    """Return what the i-th freedom of a node brings: as the one above, then as the one beyond."""
    above = [own.S[:, i], own.D[:, i], own.E[:, i], own.G[:, i]]
    beyond = [own.on_rate[i, :].T, own.on_motion[i, :].T, own.for_q[:, i], own.for_v[:, i]]
    return ca.vertsplit(ca.densify(ca.vertcat(*above, *beyond)))


def _pair_functions(nv: int) -> tuple[StepFunction, ...]:
    """Return the functions of pairs, by kind: -R_q and -R_v at the pair and at its mirror image, and M."""
    beyond, above = ca.SX.sym("beyond", _BEYOND), ca.SX.sym("above", _ABOVE)
    S, D, E, G = ca.vertsplit(above, [0, 6, 9, 15, 21])
    on_rate, on_motion, for_q, for_v = ca.vertsplit(beyond, [0, 3, 9, 15, 21])
    entries = [-(ca.dot(on_rate, D) + ca.dot(on_motion, E)), -(ca.dot(on_rate, S[0:3]) + ca.dot(on_motion, G))]
    mirrored, mass = [-ca.dot(S, for_q), -ca.dot(S, for_v)], ca.dot(on_motion, S)
    sources = [MemoryRef("work", i, 1) for i in range(_BEYOND)] + [MemoryRef("work", i, 2) for i in range(_ABOVE)]
    here = [MemoryRef("output", n * nv, 3, add=True) for n in range(2)]
    there = [MemoryRef("output", n * nv, 4, add=True) for n in range(2)]
    M = MemoryRef("work", 0, 5)

    def step(values: list[ca.SX], targets: list[MemoryRef]) -> StepFunction:
        function = ca.Function("pair", [ca.vertcat(beyond, above)], [ca.vertcat(*values)])
        return StepFunction(function, tuple(sources), tuple(targets))

    return (
        step([*entries, mass], [*here, M]),
        step(entries, here),
        step([*entries, mass, *mirrored], [*here, M, *there]),
    )
