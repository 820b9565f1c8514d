"""Derivatives of the accelerations of a tree of some size, in loops over its bodies, freedoms and pairs of freedoms.

Only where the nodes are, how they move and what acts is one straight line. With C what stands for a body and everything
beyond it (`Compound`), and R the residual of the equations of motion,

1. bodies bring inertia, velocity terms and force (at accelerations of zero) to the base's axes, and pass them inward;
2. pairs of freedoms fill the mass matrix, M = L^T D L is factored, and the accelerations a are solved for;
3. a makes the bodies' accelerations and forces complete, outward and inward;
4. freedoms bring what pairs need, and pairs fill -[R_q, R_v];
5. the columns of all derivatives are solved for at once.

The zeros of all matrices follow the tree. Numbers of a kind stand side by side in work, freedom after freedom, so that
with one state several items share a vector. What belongs to a node is kept at its first freedom; the inertia and the
force of what is beyond it also at its others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca

from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body
from whippletree.formulations.recursions.inverse_dynamics_derivatives import (
    Compound,
    DrivenNode,
    PairTerms,
    SpatialMotion,
    body_compound,
    driven_nodes,
    paired,
)
from whippletree.formulations.rolled.rolled_walk import Unknowns, unknowns
from whippletree.programs.loop_program import (
    FOREST_SCRATCH,
    ForestColumns,
    ForestSolve,
    ItemLoop,
    LoopProgram,
    MemoryRef,
    ProgramStep,
    Segment,
    StepFunction,
)
from whippletree.spatial import RigidInertia, twist_cross
from whippletree.spatial.scalars import Scalar
from whippletree.system import derivative_equations
from whippletree.system.derivative_columns import derivative_columns

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request

__all__ = ["pair_program"]


def pair_program(eq: Equations, request: Request) -> LoopProgram:
    """Return the derivatives of a tree's accelerations as a program."""
    return _PairProgram(eq, request).program()


class _NumbersOfKind(NamedTuple):
    """Numbers of one kind in work or among the constants: `size` for each of some items, item beside item."""

    start: int
    size: int
    items: int
    memory: str = "work"

    def refs(self, column: int, *, add: bool = False) -> list[MemoryRef]:
        """Return the places of an item's numbers, the item being in a column of a table."""
        return [MemoryRef(self.memory, self.start + n * self.items, column, add=add) for n in range(self.size)]

    def at(self, item: int) -> list[MemoryRef]:
        """Return the places of one item's numbers."""
        return [MemoryRef(self.memory, self.start + n * self.items + item) for n in range(self.size)]


@dataclass
class _WorkShares:
    """Places kinds of numbers in work memory."""

    size: int = 0
    kinds: dict[str, _NumbersOfKind] = field(default_factory=dict)

    def kind(self, name: str, size: int, count: int) -> None:
        """Make room for numbers of a kind."""
        self.kinds[name] = _NumbersOfKind(self.room(size * count), size, count)

    def room(self, size: int) -> int:
        """Make room for some numbers; they begin at a cache line."""
        start = -(-self.size // 8) * 8
        self.size = start + size
        return start


_OF_FREEDOMS = {
    "S": 6, "D": 3, "begun": 6, "E": 6, "G": 6, "on_rate": 3, "on_motion": 6, "for_q": 6, "for_v": 6, "effort": 1,
    "right": 1, "armature": 1, "R": 9, "x": 3, "V": 6, "A": 6, "body": 10, "compound": 28, "force": 6, "gained": 6,
}  # fmt: skip
"""Numbers of each kind. `effort` is what acts, `right` what is left of it for accelerations, and then these; `begun` is
E at accelerations of zero; `armature` is there if a joint has some; `compound` is a node with all beyond it, its force
being that of zero accelerations, and `force` what these add to it; `gained` is what they add to the acceleration of a
node that ends with the freedom."""

Keep = Callable[[ca.SX, Sequence[MemoryRef]], None]
"""Lets a straight line keep values at places."""


class _PairProgram:
    """Writes the program."""

    def __init__(self, eq: Equations, request: Request) -> None:
        self.eq, self.request, self.columns = eq, request, derivative_columns(eq)
        self.nv, self.total = self.columns.nv, self.columns.total
        self.nodes = eq.node_tree().node_constants
        self.unknowns: Unknowns = unknowns(self.nodes)
        self.rows = {place: k for k, (place, _, _, _) in enumerate(self.unknowns.rows)}
        # a node without freedoms has a place behind those of all freedoms
        spare = itertools.count(self.nv)
        # not empty: there is always another
        self.slots = [one.v.start if one.v.stop > one.v.start else next(spare) for one in self.nodes]
        slots = next(spare)  # not empty: there is always another
        self.ground = slots  # behind which nothing is gained, for as many freedoms as a joint has
        self.memory = _WorkShares()
        self.inertias: list[RigidInertia] = []
        for name, size in _OF_FREEDOMS.items():
            if name == "armature" and not self._armed():
                continue
            self.memory.kind(name, size, slots + 6 if name == "gained" else slots)
        self.mass = self.memory.room(self.unknowns.size)
        self.right = self.memory.room(self.nv * self.total)  # the right-hand sides
        self.filled = [0] * self.total  # rows of the unknowns in which a column is not zero, as bits
        self.added: list[tuple[int, int, int]] = []  # what is added to the right-hand sides

    def __getitem__(self, name: str) -> _NumbersOfKind:
        return self.memory.kinds[name]

    def program(self) -> LoopProgram:
        """Return all steps."""
        steps: list[ProgramStep] = [self._straight_line(), self._bodies()]
        steps += [*self._passed_inward("compound"), *self._copied("compound")]
        steps += [self._forces(), self._mass_pairs(), self._accelerations()]
        steps += [self._gained(), self._gained_forces(), *self._passed_inward("force"), *self._copied("force")]
        steps += [*self._moved_axes(), self._freedoms(), *self._pairs(), *self._later()]
        steps.append(self._columns())
        zeroed = ((self.right, self.nv * self.total),)
        return LoopProgram(tuple(steps), self.memory.size, self._constants(), zeroed_work=zeroed)

    # ------------------------------------------------------------------ the straight line

    def _straight_line(self) -> Segment:
        """Return what is worked out once: seats, motions at accelerations of zero, what acts, and its derivatives."""
        eq, x = self.eq, self.eq.inputs(self.request)
        walk = eq.walk({name: value for name, value in x.items() if name != "a"})
        driven = driven_nodes(walk)
        values: list[ca.SX] = []
        targets: list[MemoryRef] = []

        def keep(value: ca.SX, places: Sequence[MemoryRef]) -> None:
            values.append(ca.densify(ca.SX(value)))
            targets.extend(places)

        for k, own in enumerate(driven):
            for name, value in (("R", ca.vec(own.seat.R)), ("x", own.seat.x), ("V", own.seat.V), ("A", own.A)):
                keep(value, self[name].at(self.slots[k]))
            for i in range(own.seat.S.shape[1]):
                for name, value in (("S", own.seat.S), ("D", own.seat.D[0:3, :]), ("begun", own.E), ("G", own.G)):
                    keep(value[:, i], self[name].at(self.nodes[k].v.start + i))
        self.inertias = [node.inertia for node in walk.nodes]
        if not self._rigid_numbers():
            for k, inertia in enumerate(self.inertias):
                keep(_ten(inertia), self["body"].at(self.slots[k]))
        for i, value in enumerate(ca.vertsplit(ca.densify(self._efforts(x)))):
            keep(value, self["effort"].at(i))
        for i in range(6):
            keep(ca.SX.zeros(6), self["gained"].at(self.ground + i))
        for i, own_rate in self._armed().items():
            keep(ca.SX(own_rate), self["armature"].at(i))
        self._keep_moved(driven, keep)
        for (row, column), value in self._slopes(walk, x):
            place = self.memory.room(1)
            keep(value, [MemoryRef("work", place)])
            self.added.append((0, place, self._entry(row, column)))
        self._keep_tau(keep)
        return self._segment(x, values, targets)

    def _segment(self, x: dict[str, ca.SX], values: list[ca.SX], targets: list[MemoryRef]) -> Segment:
        """Return a function of the inputs, and of the accelerations if they are among the symbols."""
        result = ca.densify(ca.SX(ca.vertcat(*values)))
        if "parameters" in x:
            named = self.eq.parameters
            result = ca.substitute(result, named, x["parameters"])
        sources = []
        for n, (name, value) in enumerate(x.items()):
            if name == _SOLVED:
                sources += [MemoryRef("work", self["right"].start + i) for i in range(value.numel())]
            else:
                sources += [MemoryRef("input", i, -1, n) for i in range(value.numel())]
        function = ca.Function("straight", [ca.vertcat(*x.values())], [result])
        return Segment(StepFunction(function, tuple(sources), tuple(targets)))

    def _efforts(self, x: dict[str, ca.SX]) -> ca.SX:
        """Return what acts at the joints: efforts, and what loads come to there."""
        walk: Unrolled = self.eq.loaded(x).walk
        none = RigidInertia.zero()
        idle = [replace(n, inertia=none, v=0 * n.v, acceleration=0 * n.v) for n in walk.nodes]
        loads = composite_body.inverse_dynamics(walk.with_nodes(idle))
        tau = ca.SX.zeros(self.nv)
        for node, where in zip(walk.nodes, walk.v_slices, strict=True):
            tau[where] = node.tau
        return ca.SX(tau - loads)

    def _slopes(self, walk: Unrolled, x: dict[str, ca.SX]) -> Iterator[tuple[tuple[int, int], ca.SX]]:
        """Yield the entries of the right-hand sides that come of what acts."""
        at = self.columns.slices()
        applied = derivative_equations.applied_slopes(self.eq, walk, x, [])
        for kind in ("q", "v", "z"):
            for (i, j), value in applied[kind].items():
                yield (i, at[kind].start + j), value

    def _keep_tau(self, keep: Keep) -> None:
        """Put ones where efforts act."""
        start = self.columns.slices()["tau"].start
        for i in range(self.nv):
            keep(ca.SX(1), [MemoryRef("work", self._entry(i, start + i))])

    def _keep_moved(self, driven: Sequence[DrivenNode], keep: Keep) -> None:
        """Keep how axes of joints move that are not fixed to the node: for each pair of a joint's freedoms."""
        self.moved: list[tuple[int, int, int]] = []  # a freedom that moves, one whose axis that changes, and where
        for k, own in enumerate(driven):
            v = self.nodes[k].v
            for j, change in enumerate(own.seat.moved):
                for i in range(v.stop - v.start):
                    place = self.memory.room(6)
                    keep(change[:, i], [MemoryRef("work", place + n) for n in range(6)])
                    self.moved.append((v.start + j, v.start + i, place))

    def _entry(self, row: int, column: int) -> int:
        """Return the place of an entry of the right-hand sides, which is then not zero."""
        self.filled[column] |= 1 << self.rows[row]
        return self.right + row * self.total + column

    # ------------------------------------------------------------------ bodies, and those beyond them

    def _rigid_numbers(self) -> bool:
        """Tell whether the bodies' inertias are numbers."""
        return all(_ten(inertia).is_constant() for inertia in self.inertias)

    def _constants(self) -> tuple[float, ...]:
        """Return the bodies' inertias, if they are numbers."""
        if not self._rigid_numbers():
            return ()
        kind = self["body"]
        found = [0.0] * (kind.size * kind.items)
        for slot, inertia in zip(self.slots, self.inertias, strict=True):
            for n, value in enumerate(ca.vertsplit(_ten(inertia))):
                found[n * kind.items + slot] = float(value)
        return tuple(found)

    def _own_inertia(self) -> _NumbersOfKind:
        kind = self["body"]
        return kind._replace(start=0, memory="constant") if self._rigid_numbers() else kind

    def _bodies(self) -> ItemLoop:
        """Return the loop that makes the compound of each node's own body."""
        R, x, V, A, ten = (ca.SX.sym(name, n) for name, n in (("R", 9), ("x", 3), ("V", 6), ("A", 6), ("ten", 10)))
        seat = SpatialMotion(ca.reshape(R, 3, 3), x, V, ca.SX(), ca.SX(), ())
        compound = _flat(body_compound(_of_ten(ten), seat, A))
        given = [(R, self["R"].refs(1)), (x, self["x"].refs(1)), (V, self["V"].refs(1)), (A, self["A"].refs(1))]
        given.append((ten, self._own_inertia().refs(1)))
        table = [(0, slot) for slot in self.slots]
        return ItemLoop((_step(given, [(compound, self["compound"].refs(1))]),), tuple(table), (1,))

    def _passed_inward(self, name: str) -> list[ItemLoop]:
        """Return the loop that adds what nodes have to what their parents have, from the tips."""
        size = _OF_FREEDOMS[name]
        own = ca.SX.sym("own", size)
        step = _step([(own, self[name].refs(1))], [(own, self[name].refs(2, add=True))])
        pairs = [(k, one.parent) for k, one in enumerate(self.nodes) if one.parent >= 0]
        table = [(0, self.slots[k], self.slots[parent]) for k, parent in reversed(pairs)]
        return [ItemLoop((step,), tuple(table))] if table else []

    def _copied(self, name: str) -> list[ItemLoop]:
        """Return the loop that copies what nodes have to the places of their further freedoms."""
        own = ca.SX.sym("own", _OF_FREEDOMS[name])
        step = _step([(own, self[name].refs(1))], [(own, self[name].refs(2))])
        table = [(0, one.v.start, i) for one in self.nodes for i in range(one.v.start + 1, one.v.stop)]
        return [ItemLoop((step,), tuple(table), (2,))] if table else []

    # ------------------------------------------------------------------ accelerations

    def _forces(self) -> ItemLoop:
        """Return the loop over freedoms that finds the forces of unit accelerations, and what efforts are left."""
        S, C, Q = ca.SX.sym("S", 6), ca.SX.sym("C", 28), ca.SX.sym("Q")
        whole = _unflat(C)
        given = [(S, self["S"].refs(1)), (C, self["compound"].refs(1)), (Q, self["effort"].refs(1))]
        results = [
            (whole.inertia.times(S), self["on_motion"].refs(1)),
            (Q - ca.dot(S, whole.F), self["right"].refs(1)),
        ]
        return ItemLoop((_step(given, results),), tuple((0, i) for i in range(self.nv)), (1,))

    def _mass_pairs(self) -> ItemLoop:
        """Return the loop over pairs that fills the mass matrix."""
        F, S = ca.SX.sym("F", 6), ca.SX.sym("S", 6)
        given = [(F, self["on_motion"].refs(1)), (S, self["S"].refs(2))]
        entry = [MemoryRef("work", self.mass, 3)]
        steps, armed, table = [_step(given, [(ca.dot(F, S), entry)])], self._armed(), []
        if armed:
            own = ca.SX.sym("own")
            steps.append(_step([*given, (own, self["armature"].refs(1))], [(ca.dot(F, S) + own, entry)]))
        for k, (i, _, _, begin) in enumerate(self.unknowns.rows):
            table += [(int(i == place and i in armed), i, place, begin + depth) for place, depth in self._way(k)]
        return ItemLoop(tuple(steps), tuple(table), (2, 3))

    def _armed(self) -> dict[int, Scalar]:
        """Return the inertias of joints' own rates, by freedom."""
        return {one.v.start + i: own for one in self.nodes for i, own in enumerate(one.armature)}

    def _way(self, k: int) -> list[tuple[int, int]]:
        """Return the freedoms from the highest above an unknown to itself, with their depths."""
        found = []
        while k >= 0:
            place, above, depth, _ = self.unknowns.rows[k]
            found.append((place, depth))
            k = above
        return found[::-1]

    def _forest(self) -> tuple[tuple[int, int, int, int], ...]:
        return tuple((place, above, depth, self.mass + at) for place, above, depth, at in self.unknowns.rows)

    def _accelerations(self) -> ForestSolve:
        """Return the step that factors the mass matrix, and solves for the accelerations."""
        return ForestSolve(self._forest(), self["right"].start, least=self.unknowns.least, in_work=True)

    def _ends(self) -> list[int]:
        """Return for each node where what its joint and all above gain is found: at the last of these freedoms."""
        found: list[int] = []
        for one in self.nodes:
            above = found[one.parent] if one.parent >= 0 else self.ground
            found.append(one.v.stop - 1 if one.v.stop > one.v.start else above)
        return found

    def _gained(self) -> ItemLoop:
        """Return the loop over freedoms, outward, that adds up accelerations."""
        S, a, before = ca.SX.sym("S", 6), ca.SX.sym("a"), ca.SX.sym("before", 6)
        given = [(S, self["S"].refs(1)), (a, self["right"].refs(1)), (before, self["gained"].refs(2))]
        step = _step(given, [(before + S * a, self["gained"].refs(1))])
        table = []
        for place, above, _, _ in self.unknowns.rows:
            table.append((0, place, self.unknowns.rows[above][0] if above >= 0 else self.ground))
        return ItemLoop((step,), tuple(table))

    def _gained_forces(self) -> ItemLoop:
        """Return the loop over nodes that finds the forces of what accelerations they gain."""
        R, x, ten, dA = (ca.SX.sym(name, n) for name, n in (("R", 9), ("x", 3), ("ten", 10), ("dA", 6)))
        inertia = _of_ten(ten).rotated(ca.reshape(R, 3, 3)).translated(x)
        given = [(R, self["R"].refs(1)), (x, self["x"].refs(1)), (ten, self._own_inertia().refs(1))]
        given.append((dA, self["gained"].refs(2)))
        table = [(0, slot, end) for slot, end in zip(self.slots, self._ends(), strict=True)]
        return ItemLoop((_step(given, [(inertia.times(dA), self["force"].refs(1))]),), tuple(table), (1, 2))

    # ------------------------------------------------------------------ derivatives

    def _moved_axes(self) -> list[ItemLoop]:
        """Return the loop that adds to E what changing axes make of accelerations."""
        change, a = ca.SX.sym("change", 6), ca.SX.sym("a")
        given = [(change, [MemoryRef("work", n, 3) for n in range(6)]), (a, self["right"].refs(2))]
        step = _step(given, [(change * a, self["begun"].refs(1, add=True))])
        return [ItemLoop((step,), tuple((0, *row) for row in self.moved))] if self.moved else []

    def _freedoms(self) -> ItemLoop:
        """Return the loop over freedoms that finds what they bring to pairs; E is complete after it."""
        S, D, E, G = (ca.SX.sym(name, n) for name, n in (("S", 6), ("D", 3), ("E", 6), ("G", 6)))
        C, dF, dA = ca.SX.sym("C", 28), ca.SX.sym("dF", 6), ca.SX.sym("dA", 6)
        whole = _unflat(C)
        whole = whole._replace(F=whole.F + dF)
        complete = E - twist_cross(S, dA)
        seat = SpatialMotion(ca.SX(), ca.SX(), ca.SX(), S, ca.vertcat(D, ca.SX.zeros(3)), ())
        brought: PairTerms = paired(DrivenNode(seat, ca.SX(), complete, G), whole)
        given = [(S, self["S"].refs(1)), (D, self["D"].refs(1)), (E, self["begun"].refs(1)), (G, self["G"].refs(1))]
        given += [(C, self["compound"].refs(1)), (dF, self["force"].refs(1)), (dA, self["gained"].refs(2))]
        results = [(complete, self["E"].refs(1)), (brought.on_rate.T, self["on_rate"].refs(1))]
        results += [(brought.for_q, self["for_q"].refs(1)), (brought.for_v, self["for_v"].refs(1))]
        ends = self._ends()
        table = []
        for one in self.nodes:
            for i in range(one.v.start, one.v.stop):
                before = ends[one.parent] if one.parent >= 0 else self.ground + i - one.v.start
                table.append((0, i, before))
        return ItemLoop((_step(given, results),), tuple(table), (1, 2))

    def _pairs(self) -> list[ItemLoop]:
        """Return the loops over pairs that fill -R_q and -R_v: rows of the freedom beyond, then of the one above."""
        names = ("on_rate", "on_motion", "S", "D", "E", "G", "for_q", "for_v")
        on_rate, on_motion, S, D, E, G, for_q, for_v = (ca.SX.sym(name, _OF_FREEDOMS[name]) for name in names)
        above = [(x, self[name].refs(2)) for x, name in ((S, "S"), (D, "D"), (E, "E"), (G, "G"))]
        given = [(on_rate, self["on_rate"].refs(1)), (on_motion, self["on_motion"].refs(1)), *above]
        out = [MemoryRef("work", n * self.nv, 3) for n in range(2)]
        by_q = -(ca.dot(on_rate, D) + ca.dot(on_motion, E))
        by_v = -(ca.dot(on_rate, S[0:3]) + ca.dot(on_motion, G))
        beyond = _step(given, [(ca.vertcat(by_q, by_v), out)])
        given = [(for_q, self["for_q"].refs(1)), (for_v, self["for_v"].refs(1)), (S, self["S"].refs(2))]
        mirrored = _step(given, [(-ca.vertcat(ca.dot(S, for_q), ca.dot(S, for_v)), out)])
        rows, columns = [], []
        at = {k: set(range(one.v.start, one.v.stop)) for k, one in enumerate(self.nodes)}
        for k, one in enumerate(self.nodes):
            for i in range(one.v.start, one.v.stop):
                way = [j for j, _ in self._way(self.rows[i]) if j not in at[k]] + sorted(at[k])
                rows += [(0, i, j, self._pair_entry(i, j)) for j in way]
                columns += [(0, i, j, self._pair_entry(j, i)) for j in way if j not in at[k]]
        columns.sort(key=lambda row: (row[2], row[1]))
        found = [ItemLoop((beyond,), tuple(rows), (2, 3))]
        return [*found, ItemLoop((mirrored,), tuple(columns), (1, 3))] if columns else found

    def _pair_entry(self, row: int, column: int) -> int:
        self._entry(row, self.nv + column)
        return self._entry(row, column)

    def _later(self) -> Iterator[ProgramStep]:
        """Yield what is added to the right-hand sides: what acts, changing axes, time and parameters."""
        if self.moved:
            change, F, dF = ca.SX.sym("change", 6), ca.SX.sym("F", 6), ca.SX.sym("dF", 6)
            given = [(change, [MemoryRef("work", n, 3) for n in range(6)])]
            given += [(F, self["compound"].refs(1)[-6:]), (dF, self["force"].refs(1))]
            step = _step(given, [(-ca.dot(change, F + dF), [MemoryRef("work", 0, 2, add=True)])])
            yield ItemLoop((step,), tuple((0, j, self._entry(i, j), place) for j, i, place in self.moved))
        if self.added:
            value = ca.SX.sym("value")
            given = [(value, [MemoryRef("work", 0, 1)])]
            yield ItemLoop((_step(given, [(value, [MemoryRef("work", 0, 2, add=True)])]),), tuple(self.added))
        x = self.eq.inputs(self.request)
        a = ca.SX.sym(_SOLVED, self.nv)
        values: list[ca.SX] = []
        targets: list[MemoryRef] = []
        explicit = derivative_equations.explicit_changes(self.eq, x, a, [])
        for column, changes in zip(self.columns.explicit(), explicit, strict=True):
            for i, value in changes.R.items():
                values.append(-value)
                targets.append(MemoryRef("work", self._entry(i, column)))
        if values:
            yield self._segment({**x, _SOLVED: a}, values, targets)

    def _columns(self) -> ForestColumns:
        """Return the solution for all columns; those of one freedom, and of freedoms like it, belong together."""
        at = self.columns.slices()
        like = list(self.filled)
        for i in range(self.nv):
            like[at["v"].start + i] = like[at["tau"].start + i] = self.filled[i]
        scratch = self.memory.room(FOREST_SCRATCH * len(self.unknowns.rows))
        return ForestColumns(self._forest(), self.total, tuple(self.filled), tuple(like), self.right, scratch)


_SOLVED = "accelerations"
"""The name of the accelerations among a function's symbols."""


Placed = Sequence[tuple[ca.SX, Sequence[MemoryRef]]]
"""Symbols or results, with the places of their numbers."""


def _step(given: Placed, results: Placed) -> StepFunction:
    """Return a function of symbols, with their places, and of results, with theirs."""
    arguments, values = (ca.vertcat(*(ca.densify(x) for x, _ in part)) for part in (given, results))
    function = ca.Function("step", [arguments], [values])
    return StepFunction(function, *(tuple(ref for _, refs in part for ref in refs) for part in (given, results)))


def _ten(inertia: RigidInertia) -> ca.SX:
    """Return the ten numbers of an inertia."""
    J = ca.densify(inertia.J)
    return ca.SX(ca.vertcat(inertia.m, ca.densify(inertia.h), *(J[i, j] for i in range(3) for j in range(i, 3))))


def _of_ten(ten: ca.SX) -> RigidInertia:
    """Return the inertia of ten numbers."""
    xx, xy, xz, yy, yz, zz = ca.vertsplit(ten[4:10])
    J = ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
    return RigidInertia(ten[0], ten[1:4], J)


def _flat(w: Compound) -> ca.SX:
    """Return the 28 numbers of a compound of rigid bodies, its force last."""
    return ca.SX(ca.vertcat(_ten(w.inertia), ca.vec(w.N), w.p, w.F))


def _unflat(numbers: ca.SX) -> Compound:
    """Return the compound of 28 numbers."""
    ten, N, p, F = ca.vertsplit(numbers, [0, 10, 19, 22, 28])
    return Compound(_of_ten(ten), ca.reshape(N, 3, 3), p, F)
