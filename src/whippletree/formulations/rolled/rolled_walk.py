"""The rolled walk: the sweeps of a tree as work items, one for each node.

The formulations are the same text as for the unrolled walk. A node's step is an item. Outward it reads the record that
its parent's item left, inward what its children's items left, summed up from one sibling to the next; and it reads what
earlier sweeps kept for the node. What travels from node to node is taken as unknown, so that all inner nodes of a kind
share their code; tips, where nothing arrives, are kinds of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import casadi as ca

from whippletree.formulations.nodes.applied_forces import ForcePlacements
from whippletree.formulations.nodes.frame_states import NodeState, advance
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.node_tree import NodeConstants, NodeTree, column
from whippletree.formulations.nodes.sweeps import add_records
from whippletree.formulations.rolled.load_items import LoadItems, with_efforts
from whippletree.formulations.rolled.memory_layout import make_program
from whippletree.formulations.rolled.node_kinds import NodeKinds
from whippletree.formulations.rolled.step_records import StepRecord, flatten, rebuild
from whippletree.formulations.rolled.work_items import ClimbPlan, InputSpan, ItemInputs, Record, WorkItems
from whippletree.programs.loop_program import LoopProgram

__all__ = ["RolledWalk", "unknowns"]

NodeStep = Callable[..., Sequence[StepRecord]]


@dataclass(frozen=True)
class KeptRecords:
    """The records that a sweep kept, one for each node."""

    walk: RolledWalk
    records: Sequence[Record]

    def at(self, index: int) -> StepRecord:
        """Return symbols for the record of one node, for use after the sweeps."""
        return self.walk.read_at_end(self.records[index])


class RolledWalk:
    """A walk that traces each kind of step once; `inputs` are the names of the function's inputs."""

    def __init__(
        self,
        node_tree: NodeTree,
        inputs: Sequence[str],
        parameters: ca.SX,
        positions: Sequence[int | None] | None = None,
    ) -> None:
        self.node_constants, self.nv = node_tree.node_constants, node_tree.nv
        self.gravity = column(node_tree.gravity)
        self.positions = positions if positions is not None else range(len(self.node_constants))
        self._argument = {name: i for i, name in enumerate(inputs)}
        self._parameters = parameters
        self.items = WorkItems(parameters, self._argument.get("parameters", -1))
        self._wrenches = _wrenches(node_tree, self._argument)
        points = {k: [point for _, point in found] for k, found in self._wrenches.items()}
        self._kinds = NodeKinds(self.node_constants, points, few=True)
        self._keys = _numbered([self._kinds.key(k) for k in range(len(self.node_constants))])
        self._constants = [self._kinds.constants(k) for k in range(len(self.node_constants))]
        self._inputs = [self._spans(k) for k in range(len(self.node_constants))]
        self.items.work_out(self._constants)
        self._pushes: Mapping[int, list[Record]] = {}  # wrenches of elements on nodes
        self._efforts: dict[int, tuple[list[Record], tuple[int, ...]]] = {}  # efforts of elements, and where they act
        self._element_efforts: Mapping[int, list[Record]] = {}  # the same by freedom
        self._sweeps = 0
        self._after: list[tuple[list[ca.SX], Record]] = []  # symbols of records that are read after the sweeps
        self._most_own = max((one.joint.nv for one in self.node_constants if one.shared), default=0)
        self._most_rates = max((len(one.armature) for one in self.node_constants), default=0)

    # ------------------------------------------------------------------ nodes

    def _spans(self, k: int) -> list[InputSpan]:
        """Return a node's share of the inputs: of the state, then the wrenches on it."""
        constants = self.node_constants[k]
        found = [
            _span(self._argument[name], constants.q if name == "q" else constants.v)
            for name in _STATE
            if name in self._argument
        ]
        return [*found, *(InputSpan(argument, 0, 6, by_row=True) for argument, _ in self._wrenches.get(k, ()))]

    def _parameter_span(self) -> list[InputSpan]:
        n = self._parameters.numel()
        return [InputSpan(self._argument["parameters"], 0, n)] if n else []

    def _at_parameters(self, value: ca.SX, given: ca.SX) -> ca.SX:
        return ca.SX(ca.substitute(ca.SX(value), self._parameters, given))

    def _node(self, k: int, given: ItemInputs, records: list[StepRecord]) -> Node:
        """Return the node over symbols; what elements do to it are the last of the records."""
        names = [name for name in _STATE if name in self._argument]
        state, wrenches = dict(zip(names, given.inputs, strict=False)), given.inputs[len(names) :]
        node = self._kinds.node(k, state, given.constants, wrenches)
        _, at = self._efforts.get(k, ([], ()))
        if at:
            efforts = [records.pop() for _ in at]
            node = replace(node, tau=with_efforts(node.tau, efforts[::-1], at))
        for _ in self._pushes.get(k, ()):
            push = records.pop()
            node = replace(node, push=push if node.push is None else node.push + push)
        return node

    def _add(
        self,
        k: int,
        key: Hashable,
        step: NodeStep,
        arriving: Sequence[Record],
        kept: Sequence[KeptRecords],
        **form: Any,
    ) -> list[Record]:
        """Add the item of one node; `step` receives the node, the arriving records, and those kept for it."""
        efforts, at = self._efforts.get(k, ([], ()))
        pushes = self._pushes.get(k, [])
        own = [*pushes, *efforts]

        def trace(given: ItemInputs) -> Sequence[StepRecord]:
            records = list(given.records)
            node = self._node(k, given, records)
            return step(node, records[: len(arriving)], *records[len(arriving) :])

        records = [*arriving, *(field.records[k] for field in kept), *own]
        return self.items.add(
            (key, self._keys[k], len(pushes), at), trace, records, self._inputs[k], self._constants[k], **form
        )

    # ------------------------------------------------------------------ sweeps

    def outward(self, step: NodeStep, base: StepRecord, *kept: KeptRecords) -> KeptRecords:
        """Walk from the ground to the tips."""
        key = self._begin()
        ground = self._ground_record(base)
        self.items.begin_loop()

        def outward_step(node: Node, arriving: list[StepRecord], *own: StepRecord) -> Sequence[StepRecord]:
            return step(node, arriving[0], *own)

        left: list[Record] = []
        records: list[Record] = []
        for k, constants in enumerate(self.node_constants):
            arriving = ground if constants.parent < 0 else left[constants.parent]
            leaving, keep = self._add(k, key, outward_step, [arriving], kept, whole=(0,))
            left.append(leaving)
            records.append(keep)
        return KeptRecords(self, records)

    def inward(self, step: NodeStep, empty: StepRecord, *kept: KeptRecords) -> tuple[StepRecord, KeptRecords]:
        """Walk from the tips to the ground; siblings add to each other's records."""
        key = self._begin()
        self.items.begin_loop()
        waiting: dict[int, Record] = {}  # what the children of a node have left so far
        records: dict[int, Record] = {}
        for k in reversed(range(len(self.node_constants))):
            parent = self.node_constants[k].parent
            beyond, beside = k in waiting, parent in waiting

            def inward_step(
                node: Node, found: list[StepRecord], *own: StepRecord, beyond: bool = beyond, beside: bool = beside
            ) -> tuple[StepRecord, StepRecord]:
                leaving, keep = step(node, found[0] if beyond else empty, *own)
                return (add_records(found[-1], leaving) if beside else leaving), keep

            found = [waiting[i] for i in (k, parent) if i in waiting]
            waiting[parent], records[k] = self._add(k, (*key, beyond, beside), inward_step, found, kept, whole=(0,))
        total = self.read_at_end(waiting[-1]) if -1 in waiting else empty
        return total, KeptRecords(self, [records[k] for k in range(len(self.node_constants))])

    def _begin(self) -> tuple[str, int]:
        self._sweeps += 1
        return "sweep", self._sweeps

    def _ground_record(self, base: StepRecord) -> Record:
        """Return the record that the ground leaves outward, which may depend on parameters."""
        span = self._parameter_span()

        def trace(given: ItemInputs) -> list[StepRecord]:
            scalars = [self._at_parameters(x, given.inputs[0]) if span else x for x in flatten(base)]
            return [rebuild(base, iter(scalars))]

        self.items.begin_loop()
        return self.items.add(("ground", self._sweeps), trace, (), span, whole=(0,))[0]

    def apply_forces(self, acting: ForcePlacements) -> ca.SX:
        """Let elements act on the nodes as they are at the state: later sweeps find their wrenches and efforts.

        Return symbols for the energy that is stored in them, for use after the sweeps.
        """

        def follow(node: Node, parent: NodeState) -> tuple[NodeState, NodeState]:
            state = advance(node, parent)
            return state, state

        states = self.outward(follow, NodeState.rest()).records
        self.items.begin_loop()
        loads = LoadItems(self.items, self._argument, lambda k: states[k])
        for force, placed in acting.forces:
            loads.apply(force, placed)
        self._pushes, self._element_efforts = loads.on_node, loads.efforts
        speaking = [(k, constants) for k, constants in enumerate(self.node_constants) if not constants.on_frame]
        self._efforts = {k: loads.efforts_at(constants.v) for k, constants in speaking}
        return ca.SX(self.read_at_end(loads.stored_energy()))

    def take_off_efforts(self, given: Collection[int] = ()) -> None:
        """Take the elements' efforts off the output (nv); at freedoms in `given` the efforts given are put there."""

        def trace(item: ItemInputs) -> list[StepRecord]:
            return [item.inputs[0] if item.inputs else -sum(item.records, ca.SX(0))]

        self.items.begin_loop()
        for i, efforts in self._element_efforts.items():
            known = i in given
            span = [InputSpan(self._argument["tau"], i, 1)] if known else []
            (effort,) = self.items.add("effort", trace, [] if known else efforts, span)
            self.items.send(effort, InputSpan(0, i, 1), add=not known)

    # ------------------------------------------------------------------ climbs

    def climb(self, step: Callable[..., Any], start: KeptRecords, *kept: KeptRecords) -> None:
        """From every node climb to the ground, and fill the matrix (nv, nv) of the output, one column at a time."""
        places = [(constants.v.start, (constants.home or constants.v).start) for constants in self.node_constants]
        self._climb(step, start, kept, places, {i: i for i in range(self.nv)})
        self.items.zeroed[0] = self.nv**2

    def solve(
        self, step: Callable[..., Any], start: KeptRecords, right: tuple[KeptRecords, str], *kept: KeptRecords
    ) -> None:
        """Climb as for a matrix, and solve with it for the freedoms that are not prescribed."""
        self.gather(*right)
        found = unknowns(self.node_constants)
        if not found.rows:
            return
        places = [
            (None, above) if constants.use.prescribed else (above, above + constants.joint.nv)
            for constants, above in zip(self.node_constants, found.above, strict=True)
        ]
        number = {place: i for i, (place, _, _, _) in enumerate(found.rows)}
        plan = self._climb(step, start, kept, places, number)
        plan.unknowns, plan.least, plan.size = found.rows, found.least, found.size

    def _climb(
        self,
        step: Callable[..., Any],
        start: KeptRecords,
        kept: Sequence[KeptRecords],
        places: Sequence[tuple[int | None, int]],
        number: Mapping[int, int],
    ) -> ClimbPlan:
        """Add the items of a climb from every freedom that has a number.

        The rows of a node's joint and those of own coordinates go to its two places. What is carried is a column with
        its entries with own coordinates below, as many as the bodies have at most, and then the armature of the joint
        where it starts.
        """
        key = self._begin()
        form, n = type(self.items.form(start.records[0]).like), self._most_own
        below = n + self._most_rates
        columns = self._stacked_columns(start) if below else start.records
        carried = self._ground_record(ca.SX.zeros(6 + below))
        plan = ClimbPlan(carried, self.nv, [constants.parent for constants in self.node_constants])
        self.items.begin_loop(plan)
        for k, constants in enumerate(self.node_constants):
            of_joint = 0 if constants.shared else constants.joint.nv
            own = constants.joint.nv if constants.shared else len(constants.freedoms) - of_joint

            n_rates = len(constants.armature)

            def climb_step(
                node: Node,
                arriving: list[StepRecord],
                *found: StepRecord,
                own: int = own,
                of_joint: int = of_joint,
                n_rates: int = n_rates,
            ) -> Sequence[StepRecord]:
                column = arriving[0]
                rates = column[6 + n : 6 + n + n_rates]
                leaving, block = step(node, form(column[0:6], column[6 : 6 + own], rates), *found)
                rest = ca.SX.zeros(below - leaving.own.numel())
                return [ca.SX(ca.vertcat(leaving.F, leaving.own, rest)), block[:of_joint], block[of_joint:]]

            leaving, joint_rows, own_rows = self._add(k, (*key, own), climb_step, [carried], kept, whole=(0, 1, 2))
            self.items.pinned += [leaving, columns[k]]
            at_joint, at_own = places[k]
            if of_joint and at_joint is not None:
                self.items.send(joint_rows, InputSpan(0, at_joint, of_joint))
            if constants.home is not None:
                self.items.send(own_rows, InputSpan(0, at_own, own))
        self.items.pinned.append(carried)
        plan.starts = self._starts(columns, number)
        return plan

    def _stacked_columns(self, start: KeptRecords) -> list[Record]:
        """Return records of the columns that climbs start with, each with the columns below them."""

        def trace(given: ItemInputs) -> list[StepRecord]:
            (column,) = given.records
            m = column.F.shape[1]
            parts = [column.F]
            for part, most in ((column.own, self._most_own), (column.rates, self._most_rates)):
                parts += [part if part.numel() else ca.SX(0, m), ca.SX.zeros(most - part.shape[0], m)]
            return [ca.densify(ca.SX(ca.vertcat(*parts)))]

        self.items.begin_loop()
        return [self.items.add("columns", trace, [record])[0] for record in start.records]

    def _starts(self, columns: Sequence[Record], number: Mapping[int, int]) -> list[tuple[int, Record, int, int]]:
        """Return where climbs start, from every freedom that has a number: a node, its column, and that number."""
        size = 6 + self._most_own + self._most_rates
        return [
            (k, columns[k], size * c, number[i])
            for k, constants in enumerate(self.node_constants)
            for c, i in enumerate(constants.freedoms)
            if i in number
        ]

    # ------------------------------------------------------------------ results

    def gather(self, kept: KeptRecords, part: str) -> None:
        """Send one part of the kept records to the output, by velocity; nodes that share velocities add up."""
        if self._most_own or sum(len(constants.freedoms) for constants in self.node_constants) < self.nv:
            self.items.zeroed[0] = self.nv  # also where no node is: at cut joints
        entries = self._entries(kept, part)
        for record, constants, (first, size) in zip(kept.records, self.node_constants, entries, strict=True):
            self.items.send(record, InputSpan(0, constants.v.start, size), first, add=bool(self._most_own))

    def stacked(self, kept: KeptRecords, part: str, size: int, *, every: bool = False) -> None:
        """Send one part of the kept records to the output, by position; or of `every` node in order."""
        positions = range(len(self.node_constants)) if every else self.positions
        for record, position, (first, _) in zip(kept.records, positions, self._entries(kept, part), strict=True):
            if position is not None:
                self.items.send(record, InputSpan(0, position * size, size), first)

    def _entries(self, kept: KeptRecords, part: str) -> list[tuple[int, int]]:
        """Return for each kept record where a named part starts among its scalars, and its size."""
        found: dict[Hashable, tuple[int, int]] = {}
        forms = [self.items.form(record) for record in kept.records]
        for form in forms:
            if form.key not in found:
                before = form.like._fields.index(part)
                sizes = [len(flatten(one)) for one in form.like[: before + 1]]
                found[form.key] = sum(sizes[:-1]), sizes[-1]
        return [found[form.key] for form in forms]

    def read_at_end(self, record: Record) -> StepRecord:
        """Return symbols for a record that is read when all sweeps are done."""
        form = self.items.form(record)
        symbols = [ca.SX.sym("end") if x is None else ca.SX(x) for x in form.known]
        self._after.append((symbols, record))
        return rebuild(form.like, iter(symbols))

    def program(self, output: ca.SX | None) -> LoopProgram:
        """Return the loops; `output` is an expression that follows the sweeps, or None."""
        if output is not None:
            self._send_expression(ca.vec(ca.densify(ca.SX(output))))
        return make_program(self.items)

    def _send_expression(self, output: ca.SX) -> None:
        span = self._parameter_span()

        def trace(given: ItemInputs) -> list[StepRecord]:
            pairs = [
                (symbol, value)
                for (symbols, _), record in zip(self._after, given.records, strict=True)
                for symbol, value in zip(symbols, flatten(record), strict=True)
                if not symbol.is_constant()
            ]
            before = ca.vertcat(ca.SX(0, 1), *(symbol for symbol, _ in pairs), *([self._parameters] if span else ()))
            after = ca.vertcat(ca.SX(0, 1), *(value for _, value in pairs), *given.inputs)
            return [ca.SX(ca.substitute(output, before, after))]

        self.items.begin_loop()
        (record,) = self.items.add("output", trace, [record for _, record in self._after], span)
        self.items.send(record, InputSpan(0, 0, output.numel()))


_STATE = ("q", "v", "tau", "a")


class Unknowns(NamedTuple):
    """The freedoms that are not prescribed, as a forest: the table of a `ForestSolve`, and the memory up to its end.

    `above` tells for each node how many unknowns are above it. `least` holds for each unknown the hinge inertia below
    which nothing but rounding is left, if any may come to that; zero for own coordinates, and where parameters decide.
    """

    rows: list[tuple[int, int, int, int]]
    above: list[int]
    size: int
    least: tuple[float, ...]


def unknowns(node_constants: Sequence[NodeConstants]) -> Unknowns:
    """Return the unknowns of a tree."""
    rows: list[tuple[int, int, int, int]] = []
    last: list[int] = []  # the unknown that a node's children hang on
    above: list[int] = []
    begin = 0
    for constants in node_constants:
        nearest = last[constants.parent] if constants.parent >= 0 else -1
        depth = rows[nearest][2] + 1 if nearest >= 0 else 0
        above.append(depth)
        own = constants.freedoms[constants.joint.nv if constants.use.prescribed else 0 :]
        for c, place in enumerate(own):
            rows.append((place, nearest, depth + c, begin))
            begin += depth + len(own)  # a climb fills in the whole block of a node's own freedoms
            nearest = len(rows) - 1
        last.append(nearest)
    return Unknowns(rows, above, begin, _least(node_constants, (place for place, _, _, _ in rows)))


def _least(node_constants: Sequence[NodeConstants], places: Iterable[int]) -> tuple[float, ...]:
    """Return the least inertia of the freedoms at some places, nothing if none is watched."""
    if not any(constants.watched for constants in node_constants):
        return ()
    least = {constants.v.start + i: x for constants in node_constants for i, x in enumerate(constants.least_inertia)}
    found = (least.get(place, 0.0) for place in places)
    return tuple(x if isinstance(x, float) else 0.0 for x in found)


def _wrenches(node_tree: NodeTree, argument: Mapping[str, int]) -> dict[int, list[tuple[int, Sequence[Any]]]]:
    """Return for each loaded node the numbers of its wrench inputs and the points they act at."""
    found: dict[int, list[tuple[int, Sequence[Any]]]] = {}
    for name, number in argument.items():
        if name.startswith("wrench on "):
            index, placement = node_tree.where[name.removeprefix("wrench on ")]
            if index >= 0:
                found.setdefault(index, []).append((number, placement.point))
    return found


def _span(argument: int, where: slice) -> InputSpan:
    return InputSpan(argument, where.start, where.stop - where.start)


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    """Return equal numbers for equal keys."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
