"""From traced sweeps to a loop program: what is stored, where, and in which order.

Only numbers that somebody needs are kept: outputs, what later sweeps read, and what neighbours hand to each other,
followed back until nothing new turns up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import casadi as ca

from whippletree.formulations.nodes.node_tree import NodeConstants
from whippletree.formulations.rolled.step_records import flatten
from whippletree.formulations.rolled.traced_steps import (
    ARRIVING,
    CONSTANT,
    LEAVING,
    LOADS,
    ROW,
    Draft,
    Kind,
    Origin,
    Q,
    Sweep,
    V,
)
from whippletree.loops import Climb, Loop, LoopProgram, Place, Segment, Solve, Step, Variant
from whippletree.spatial.scalars import Scalar

__all__ = ["Layout", "Unknowns", "unknowns"]


class Traced(Protocol):
    """What the layout needs of a rolled walk."""

    node_constants: tuple[NodeConstants, ...]
    nv: int
    kinds: list[Kind]
    kind_of: list[int]
    sweeps: list[Sweep]
    climbs: list[tuple[dict[int, Draft], Any, int]]
    solves: bool
    after: list[tuple[ca.SX, Origin]]
    inputs: dict[str, int]
    parameters: ca.SX
    positions: list[int | None]
    loads: dict[int, list[tuple[int, tuple[Scalar, ...]]]]

    def numbers(self, k: int) -> list[Scalar]:
        """Return all constants of a node."""
        ...


class Layout:
    """Decides what is stored and where, and writes the program."""

    def __init__(self, walk: Traced) -> None:
        self.walk, self.sweeps = walk, walk.sweeps
        self.constants: list[float] = []
        self.constant_start: list[int] = []
        self.row_start: list[int] = []
        self.row_place: list[dict[Origin, int]] = []
        self.slots_start = 0
        self.work_size = 0

    # ---- liveness

    def find_live(self, epilogue: ca.SX | None) -> None:
        """Mark what is needed: by outputs, by later sweeps, and by neighbours, until nothing new turns up."""
        if epilogue is not None:
            self._need(_dependencies([epilogue], self.walk.after), range(epilogue.numel()), -1)
        for drafts, start, _ in self.walk.climbs:
            for draft in drafts.values():
                outputs = [*draft.leaving, *draft.keep]
                self._need(_dependencies(outputs, draft.symbols), range(len(outputs)), draft.kind)
            for number, record in enumerate(start.records):
                self.sweeps[start.sweep].kept[number].update(dict.fromkeys(range(len(flatten(record)))))
        for sweep in reversed(self.sweeps):
            needs = {
                key: _dependencies([*draft.leaving, *draft.keep], draft.symbols) for key, draft in sweep.drafts.items()
            }
            before = -1
            while before != len(sweep.live):
                before = len(sweep.live)
                for key, draft in sweep.drafts.items():
                    wanted = sorted(sweep.live)
                    shown = {entry for kind, entry, _, _ in sweep.outputs if kind == draft.kind}
                    rows = set(sweep.kept[draft.kind]) | shown
                    wanted += [len(draft.leaving) + entry for entry in sorted(rows)]
                    self._need(needs[key], wanted, draft.kind, sweep)

    def _need(
        self, dependencies: list[list[Origin]], outputs: Iterable[int], kind: int, sweep: Sweep | None = None
    ) -> None:
        for output in outputs:
            for origin in dependencies[output]:
                if origin[0] == "arriving" and sweep is not None:
                    sweep.live.add(origin[1])
                elif origin[0] == "total":
                    self.sweeps[origin[1]].live.add(origin[2])
                elif origin[0] == "kept":
                    self.sweeps[origin[1]].kept[kind][origin[2]] = None
                elif origin[0] == "row":
                    self.sweeps[origin[1]].kept[origin[2]][origin[3]] = None

    # ---- memory

    def _lay_out(self) -> None:
        """Give every row, and every number in it, a place."""
        walk = self.walk
        for number, kind in enumerate(walk.kinds):
            places: dict[Origin, int] = {("dynamic", i): i for i in range(len(kind.dynamic))}
            for index, sweep in enumerate(self.sweeps):
                for entry in sorted(sweep.kept[number]):
                    places[("kept", index, entry)] = len(places)
            self.row_place.append(places)
        position = 0
        for k in range(len(walk.node_constants)):
            kind = walk.kinds[walk.kind_of[k]]
            self.row_start.append(position)
            position += len(self.row_place[walk.kind_of[k]])
            self.constant_start.append(len(self.constants))
            numbers = walk.numbers(k)
            self.constants.extend(float(numbers[i]) for i in kind.varying)
        self.slots_start = position

    def program(self, epilogue: ca.SX | None, sizes: Sequence[int]) -> LoopProgram:
        """Write all steps."""
        self._lay_out()
        steps: list[Step] = []
        self._add_dynamic(steps)
        totals: dict[tuple[int, int], int] = {}
        slots = self.slots_start
        for index, sweep in enumerate(self.sweeps):
            slots = self._add_sweep(steps, index, sweep, slots, totals)
        zeroed: tuple[tuple[int, int], ...] = ()
        for climb in self.walk.climbs:
            if self.walk.solves:
                slots = self._add_solve(steps, *climb[:2], slots)
            else:
                slots = self._add_climb(steps, *climb[:2], slots)
                zeroed = ((0, sizes[0]),)
        if epilogue is not None:
            self._add_epilogue(steps, epilogue, totals)
        self.work_size = max(slots, self.work_size)
        return LoopProgram(tuple(steps), self.work_size, tuple(self.constants), zeroed)

    def _add_dynamic(self, steps: list[Step]) -> None:
        """Evaluate the constants that depend on parameters into the rows."""
        values, targets = [], []
        for k in range(len(self.walk.node_constants)):
            kind = self.walk.kinds[self.walk.kind_of[k]]
            if kind.dynamic:
                numbers = self.walk.numbers(k)
                for place, i in enumerate(kind.dynamic):
                    values.append(ca.SX(numbers[i]))
                    targets.append(Place("work", self.row_start[k] + place))
        if values:
            steps.append(self._segment(values, targets))

    def _segment(
        self, values: list[ca.SX], targets: list[Place], symbols: Sequence[tuple[ca.SX, Place]] = ()
    ) -> Segment:
        """Return a function evaluated once, of parameters and given symbols."""
        parameters = self.walk.parameters
        sources = [place for _, place in symbols]
        arguments = [ca.vertcat(*(s for s, _ in symbols)) if symbols else ca.SX(0, 1)]
        places: list[tuple[Place, ...]] = [tuple(sources)]
        if parameters.numel():
            arguments.append(parameters)
            number = self.walk.inputs["parameters"]
            places.append(tuple(Place("input", i, -1, number) for i in range(parameters.numel())))
        function = ca.Function("segment", arguments, [ca.vertcat(*values)])
        return Segment(Variant(function, tuple(places), (tuple(targets),)))

    def _add_sweep(
        self, steps: list[Step], index: int, sweep: Sweep, slots: int, totals: dict[tuple[int, int], int]
    ) -> int:
        """Write a sweep; return the first free place after what it leaves for the ground."""
        live = {entry: i for i, entry in enumerate(sorted(sweep.live))}
        size = len(live)
        arriving, leaving, count = self._slots(sweep)
        if sweep.outward and size:
            values = [sweep.base[entry] for entry in live]
            steps.append(self._segment(values, [Place("work", slots + i) for i in range(size)]))
        variants: list[Variant] = []
        number: dict[Any, int] = {}
        for key, draft in sweep.drafts.items():
            number[key] = len(variants)
            variants.append(self._variant(sweep, index, draft, live))
        order = (
            range(len(self.walk.node_constants)) if sweep.outward else reversed(range(len(self.walk.node_constants)))
        )
        table = []
        for k in order:
            table.append(
                self._table_row(k, number[sweep.variant_of[k]], slots + size * arriving[k], slots + size * leaving[k])
            )
        steps.append(Loop(tuple(variants), tuple(table)))
        self.work_size = max(self.work_size, slots + size * count)
        needed = [entry for _, origin in self.walk.after if origin[:2] == ("total", index) for entry in (origin[2],)]
        if not any(entry in live for entry in needed) or not sweep.total:
            return slots
        for entry in needed:
            if entry in live:
                totals[index, entry] = slots + live[entry]
        return slots + size  # the ground's slot comes first and stays

    def _table_row(self, k: int, variant: int, arriving: int, leaving: int) -> tuple[int, ...]:
        constants = self.walk.node_constants[k]
        loads = [number for number, _ in self.walk.loads.get(k, ())]
        width = max((len(v) for v in self.walk.loads.values()), default=0)
        return (
            variant,
            self.row_start[k],
            self.constant_start[k],
            constants.q.start,
            constants.v.start,
            arriving,
            leaving,
            self.walk.positions[k] or 0,
            *loads,
            *[0] * (width - len(loads)),
        )

    def _slots(self, sweep: Sweep) -> tuple[list[int], list[int], int]:
        """Share slots: the ground has number 0, a tip that leaves nothing to anybody has the last one."""
        node_constants = self.walk.node_constants
        children = [0] * len(node_constants)
        for constants in node_constants:
            if constants.parent >= 0:
                children[constants.parent] += 1
        free: list[int] = []
        count = 1
        own = [0] * len(node_constants)  # the slot between a node and its children
        waiting = list(children)

        def take() -> int:
            nonlocal count
            if free:
                return free.pop()
            count += 1
            return count - 1

        arriving, leaving = [0] * len(node_constants), [0] * len(node_constants)
        if sweep.outward:
            for k, constants in enumerate(node_constants):
                arriving[k] = 0 if constants.parent < 0 else own[constants.parent]
                own[k] = leaving[k] = take() if children[k] else -1
                if constants.parent >= 0:
                    waiting[constants.parent] -= 1
                    if not waiting[constants.parent]:
                        free.append(own[constants.parent])
            leaving = [count if slot < 0 else slot for slot in leaving]
            return arriving, leaving, count + 1
        started = [False] * len(node_constants)
        for k in reversed(range(len(node_constants))):
            parent = node_constants[k].parent
            arriving[k] = own[k]
            if parent >= 0 and not started[parent]:
                started[parent] = True
                own[parent] = take()
            leaving[k] = 0 if parent < 0 else own[parent]
            if children[k]:
                free.append(own[k])
        return arriving, leaving, count

    def _variant(self, sweep: Sweep, index: int, draft: Draft, live: dict[int, int]) -> Variant:
        values: list[ca.SX] = []
        targets: list[Place] = []
        for entry, i in live.items():
            values.append(draft.leaving[entry])
            targets.append(Place("work", i, LEAVING, add=draft.adds))
        for entry in sorted(sweep.kept[draft.kind]):
            values.append(draft.keep[entry])
            targets.append(Place("work", self.row_place[draft.kind]["kept", index, entry], ROW))
        for kind, entry, _, place in sweep.outputs:
            if kind == draft.kind:
                values.append(draft.keep[entry])
                targets.append(place)
        return self._function(draft, values, targets, live)

    def _function(self, draft: Draft, values: list[ca.SX], targets: list[Place], live: dict[int, int]) -> Variant:
        used = [(s, o) for s, o in draft.symbols if o[0] != "arriving" or o[1] in live]
        sources = tuple(self._source(origin, draft.kind, live) for _, origin in used)
        argument = ca.vertcat(*(s for s, _ in used)) if used else ca.SX(0, 1)
        result = ca.densify(ca.SX(ca.vertcat(*values))) if values else ca.SX(0, 1)
        # what no output needs may still hold symbols of arriving entries that are not live: they are not in `values`
        return Variant(ca.Function("step", [argument], [result]), (sources,), (tuple(targets),))

    def _source(self, origin: Origin, kind: int, live: dict[int, int]) -> Place:
        if origin[0] == "constant":
            return Place("constant", origin[1], CONSTANT)
        if origin[0] == "input":
            column_ = Q if origin[1] == "q" else V
            return Place("input", origin[2], column_, self.walk.inputs[origin[1]])
        if origin[0] == "load":
            return Place("pointer", origin[2], -1, LOADS + origin[1])
        if origin[0] == "arriving":
            return Place("work", live[origin[1]], ARRIVING)
        if origin not in self.row_place[kind]:
            return Place("work", 0, ROW)  # a number nobody needs: never read
        return Place("work", self.row_place[kind][origin], ROW)

    def _add_climb(self, steps: list[Step], drafts: dict[int, Draft], start: Any, slots: int) -> int:
        """Write a climb; its carried numbers are beside the slots."""
        columns = {v: v for constants in self.walk.node_constants for v in range(constants.v.start, constants.v.stop)}
        table = [
            (*self._table_row(k, self.walk.kind_of[k], 0, 0), constants.parent)
            for k, constants in enumerate(self.walk.node_constants)
        ]
        steps.append(self._climb(drafts, start, slots, table, columns, packed=False))
        return slots + 6

    def _add_solve(self, steps: list[Step], drafts: dict[int, Draft], start: Any, slots: int) -> int:
        """Write a climb that fills rows by depth, and the solve with them; prescribed freedoms are no unknowns."""
        found = unknowns(self.walk.node_constants, slots + 6)
        if not found.rows:
            return slots
        table = []
        for k, constants in enumerate(self.walk.node_constants):
            row = [*self._table_row(k, self.walk.kind_of[k], 0, 0), constants.parent]
            row[V] = found.above[k]
            table.append(tuple(row))
        begins = {place: begin for place, _, _, begin in found.rows}
        steps += [self._climb(drafts, start, slots, table, begins, packed=True), Solve(tuple(found.rows))]
        return found.size

    def _climb(
        self,
        drafts: dict[int, Draft],
        start: Any,
        slots: int,
        table: Sequence[tuple[int, ...]],
        columns: Mapping[int, int],
        *,
        packed: bool,
    ) -> Climb:
        """Return a climb from the freedoms that have a column, or a row; six numbers are carried beside the slots."""
        live = {i: i for i in range(6)}
        variants = []
        for draft in drafts.values():
            shown = [] if packed and self.walk.kinds[draft.kind].node.prescribed else draft.keep
            values = [*draft.leaving, *shown]
            targets = [Place("work", slots + i) for i in range(6)]
            targets += [Place("output", i, V) for i in range(len(shown))]
            used = self._function(draft, values, targets, live)
            sources = tuple(Place("work", slots + p.offset) if p.column == ARRIVING else p for p in used.sources[0])
            variants.append(Variant(used.function, (sources,), used.targets))
        starts = []
        for k, constants in enumerate(self.walk.node_constants):
            places = self.row_place[self.walk.kind_of[k]]
            for c in range(constants.joint.nv):
                if constants.v.start + c in columns:
                    first = self.row_start[k] + places["kept", start.sweep, 6 * c]
                    starts.append((k, first, columns[constants.v.start + c]))
        return Climb(tuple(variants), tuple(table), tuple(starts), slots, 6, self.walk.nv, packed)

    def _add_epilogue(self, steps: list[Step], epilogue: ca.SX, totals: dict[tuple[int, int], int]) -> None:
        symbols: list[tuple[ca.SX, Place]] = []
        for symbol, origin in self.walk.after:
            if origin[0] == "total":
                place = totals.get((origin[1], origin[2]))
                if place is not None:
                    symbols.append((symbol, Place("work", place)))
                continue
            _, sweep, kind, entry, index = origin
            if ("kept", sweep, entry) in self.row_place[kind]:
                offset = self.row_start[index] + self.row_place[kind]["kept", sweep, entry]
                symbols.append((symbol, Place("work", offset)))
        targets = [Place("output", i, -1, 0) for i in range(epilogue.numel())]
        steps.append(self._segment(ca.vertsplit(epilogue), targets, symbols))


class Unknowns(NamedTuple):
    """The freedoms that are not prescribed, as a forest: the table of a `Solve`, and the memory up to its end.

    `above` tells for each node how many unknowns are above it.
    """

    rows: list[tuple[int, int, int, int]]
    above: list[int]
    size: int


def unknowns(node_constants: Sequence[NodeConstants], begin: int = 0) -> Unknowns:
    """Return the unknowns of a tree, their entries in memory from `begin` on."""
    rows: list[tuple[int, int, int, int]] = []
    last: list[int] = []  # the unknown that a node's children hang on
    above: list[int] = []
    for constants in node_constants:
        nearest = last[constants.parent] if constants.parent >= 0 else -1
        depth = rows[nearest][2] + 1 if nearest >= 0 else 0
        above.append(depth)
        for c in range(0 if constants.use.prescribed else constants.joint.nv):
            rows.append((constants.v.start + c, nearest, depth + c, begin))
            begin += depth + constants.joint.nv  # a climb fills in the whole block of a node's own freedoms
            nearest = len(rows) - 1
        last.append(nearest)
    return Unknowns(rows, above, begin)


def _dependencies(outputs: Sequence[ca.SX], symbols: Sequence[tuple[ca.SX, Origin]]) -> list[list[Origin]]:
    """Return for each output scalar the origins it depends on."""
    vector = ca.densify(ca.SX(ca.vertcat(*outputs))) if outputs else ca.SX(0, 1)
    result: list[list[Origin]] = [[] for _ in range(vector.numel())]
    if not symbols or not vector.numel():
        return result
    rows, columns = ca.jacobian_sparsity(vector, ca.vertcat(*(s for s, _ in symbols))).get_triplet()
    for row, column_ in zip(rows, columns, strict=True):
        result[row].append(symbols[column_][1])
    return result
