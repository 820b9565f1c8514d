"""The coordinate reduction of large mechanisms as work items: each kind of step is traced once.

The equations are those of `coordinate_reduction`, with all rows carried to the base of their loop. Items, in order:
nodes are placed outward, elements act, closures are evaluated (`rolled_state`); nodes are reduced inward, loops end at
their base; multipliers and accelerations come back outward; cut joints follow.

Within an item, front variables have names of its own, numbered as they come, so that items of different loops are of
one kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_frames import ClosureAttachments
from whippletree.formulations.closures.fronts import (
    EliminatedVariables,
    Front,
    FrontVariable,
    body_front,
    complete_front,
    eliminate_joint,
    end_loop,
    force_front,
    merged,
    own_front,
    recover,
    recover_node,
)
from whippletree.formulations.closures.loop_results import LengthOf
from whippletree.formulations.methods.coordinate_reduction import closure_extents
from whippletree.formulations.nodes.node_tree import NodeTree
from whippletree.formulations.rolled.load_items import GivenLoads, with_efforts
from whippletree.formulations.rolled.memory_layout import make_program
from whippletree.formulations.rolled.rolled_state import RolledState, span_of
from whippletree.formulations.rolled.step_records import StepRecord
from whippletree.formulations.rolled.work_items import InputSpan, ItemInputs, Record
from whippletree.programs.loop_program import LoopProgram
from whippletree.symbolic.sparse_factors import minimum_degree
from whippletree.topology import Tree

__all__ = ["Limits", "can_roll", "forward_dynamics"]


class Limits(NamedTuple):
    """Limits of trust: the share of a pivot that is left, and the square of a state's largest error in the closures.

    `length_of` gives the length that a cut joint's residuals are divided by.
    """

    pivot: float
    gap: float
    length_of: LengthOf
    check: bool


def can_roll(attachments: ClosureAttachments, node_tree: NodeTree) -> bool:
    """Tell whether all closures are cut joints, and nothing is prescribed."""
    return (
        len(attachments.all) == len(attachments.cuts)
        and not any(constants.use.prescribed for constants in node_tree.node_constants)
        and all(cut.turn is None for cut in attachments.cuts)
    )


def forward_dynamics(
    node_tree: NodeTree,
    attachments: ClosureAttachments,
    keep: Sequence[tuple[int, ...]],
    loads: GivenLoads,
    limits: Limits,
) -> LoopProgram:
    """Return the accelerations of all joints as a program with inputs q, v, tau, and those of the loads."""
    length_of = limits.length_of if limits.check else None
    return _RolledReduction(RolledState(node_tree, attachments, keep, loads, length_of), limits).program()


Names = dict[FrontVariable, FrontVariable]
"""The name within an item of each front variable."""


class _FrontRecord(NamedTuple):
    """A front in memory, and its variables."""

    variables: tuple[FrontVariable, ...]
    record: Record


class _NodeElimination(NamedTuple):
    """Variables that were eliminated together, those left then, and whether the first was a joint's speed."""

    gone: tuple[FrontVariable, ...]
    left: tuple[FrontVariable, ...]
    of_joint: bool


class _ReducedNode(NamedTuple):
    """The result of a reduction: a front for the parent, if any, and the records for the way back."""

    front: _FrontRecord | None
    eliminations: list[_NodeElimination]
    gains: Record


class _RolledReduction:
    """A mechanism that is being reduced."""

    def __init__(self, state: RolledState, limits: Limits) -> None:
        self.state, self.limits, self.items, self.kinds = state, limits, state.items, state.kinds
        self.node_constants, self.parents, self.attachments = state.node_constants, state.parents, state.attachments
        self.rows: list[tuple[FrontVariable, ...]] = []
        start = 0
        for rows in state.keep:
            self.rows.append(tuple(("row", start + i) for i in range(len(rows))))
            start += len(rows)
        self.values: dict[FrontVariable, tuple[Record, int]] = {}  # where what was eliminated is found again
        self.accelerations: list[Record] = []
        (self.margin,) = self.items.add("margin", lambda given: [ca.SX(1)], whole=(0,))

    def program(self) -> LoopProgram:
        """Write all items."""
        nodes, ground = self._inward()
        for one in reversed(ground):
            self._return(one, None)
        for k, one in enumerate(nodes):
            self.accelerations.append(self._return(one, k))
        self._cut_joints()
        self._guard()
        return make_program(self.items)

    # ------------------------------------------------------------------ inward

    def _inward(self) -> tuple[list[_ReducedNode], list[_ReducedNode]]:
        """Reduce the nodes, then the loops that end on the ground."""
        n = len(self.node_constants)
        where = closure_extents(self.attachments, Tree(self.parents), self.state.homes)
        node_forces: list[list[tuple[int, int]]] = [[] for _ in range(n)]  # (closure, side)
        ends: list[list[int]] = [[] for _ in range(n + 1)]
        complete: list[list[int]] = [[] for _ in range(n + 1)]
        for c, cut in enumerate(self.attachments.cuts):
            for s, frame in enumerate(cut.frames):
                if frame.node >= 0:
                    node_forces[frame.node].append((c, s))
            if self.rows[c]:
                ends[where.end[c]].append(c)
                complete[where.complete[c]].append(c)
        arriving: list[list[_FrontRecord]] = [[] for _ in range(n + 1)]
        reduced: dict[int, _ReducedNode] = {}
        for k in reversed(range(n)):
            reduced[k] = self._reduce(k, arriving[k], node_forces[k], complete[k], ends[k])
            front = reduced[k].front
            if front is not None:
                arriving[self.parents[k]].append(front)
        return [reduced[k] for k in range(n)], self._reduce_ground(arriving[-1], complete[-1], ends[-1])

    def _order(self, fronts: Sequence[Sequence[FrontVariable]], ends: Sequence[int]) -> list[int]:
        """Return the order in which loops end."""
        closure_of = {variable: c for c in ends for variable in self.rows[c]}
        near = [{closure_of[variable] for variable in front if variable in closure_of} for front in fronts]
        return minimum_degree([(a, b) for group in near for a in group for b in group if a < b], list(ends))

    def _reduce(
        self,
        k: int,
        arriving: Sequence[_FrontRecord],
        node_forces: Sequence[tuple[int, int]],
        complete: Sequence[int],
        ends: Sequence[int],
    ) -> _ReducedNode:
        """Reduce one node: loops end, and the joint's speeds are eliminated."""
        state, constants, placed = self.state, self.node_constants[k], self.state.placed[k]
        asked = [*(front.variables for front in arriving), *(self.rows[c] for c in complete)]
        asked += [self.rows[c] for c, _ in node_forces]
        names = _named([*asked, _speeds(constants.v)])
        local = [tuple(names[variable] for variable in variables) for variables in asked]
        ending = [tuple(names[variable] for variable in self.rows[c]) for c in self._order(asked, ends)]
        speeds, own = ([names[speed] for speed in _speeds(where)] for where in (constants.v, constants.home))
        root, pushes = constants.parent < 0, state.loads.on_node.get(k, [])
        efforts, at = ([], ()) if constants.on_frame else state.loads.efforts_at(constants.v)
        groups = [[front.record for front in arriving], [state.closures[c].second for c in complete]]
        groups += [[state.closures[c].forces[s] for c, s in node_forces], pushes, efforts]
        groups += [[placed.own] if constants.body is not None or constants.armature else []]

        def trace(given: ItemInputs) -> list[StepRecord]:
            x, f, *rest = given.records
            margin = rest.pop()
            fronts, seconds, sides, pushed, at_joint, inside = _split(rest, [len(group) for group in groups])
            tau = with_efforts(given.inputs[1], at_joint, at)
            node = self.kinds.node(k, {"x": x, "v": given.inputs[0], "tau": tau}, given.constants)
            for wrench in (*pushed, *(wrench for _, wrench in sides)):
                f = f - wrench
            asking = iter(local)
            found = [front.renamed(next(asking)) for front in fronts]  # not empty: there is one for each front
            # not empty: there is one for each row too
            found += [complete_front(next(asking), second) for second in seconds]
            found += [force_front(rows, F) for (F, _), rows in zip(sides, asking, strict=True) if rows]
            found, loops, margin = self._end_loops(found, ending, margin, on_node=True)
            front = merged([body_front(node, f), *(own_front(node, speeds, e) for e in inside), *found])
            front, joint, _ = eliminate_joint(front, node, x, speeds, own=own, grounded=root)
            return [front.grounded() if root else front.shifted(node, x), (*loops, *joint), margin]

        sizes = tuple(len(group) for group in groups)
        key = ("reduce", self.kinds.key(k), tuple(local), tuple(ending), tuple(speeds), tuple(own), sizes, root, at)
        records = [placed.x, placed.f, *(record for group in groups for record in group), self.margin]
        spans = [span_of(1, constants.v), span_of(2, constants.v)]
        left = self.items.add(key, trace, records, spans, self.kinds.constants(k), whole=(2,))
        back = {own: variable for variable, own in names.items()}
        return self._reduced(left, back, root, updates_margin=bool(ending))

    def _reduced(self, left: Sequence[Record], back: Names, root: bool, *, updates_margin: bool) -> _ReducedNode:
        """Return the result of a reduction, with the names that its variables have outside."""
        front, gains, margin = left
        if updates_margin:
            self.margin = margin
        eliminations = [
            _NodeElimination(
                tuple(back[variable] for variable in one.gone),
                tuple(back[variable] for variable in one.left),
                one.gone[0][0] == "speed",
            )
            for one in self.items.form(gains).like
        ]
        variables = tuple(back[variable] for variable in self.items.form(front).like.variables)
        return _ReducedNode(None if root and not variables else _FrontRecord(variables, front), eliminations, gains)

    def _end_loops(
        self, fronts: list[Front], ending: Sequence[tuple[FrontVariable, ...]], margin: ca.SX, *, on_node: bool
    ) -> tuple[list[Front], list[EliminatedVariables], ca.SX]:
        """End loops one after the other; the margin is the least share of a pivot that is left, above its limit."""
        found: list[EliminatedVariables] = []
        for rows in ending:
            each = [(row,) for row in rows]
            fronts, gone, pivots = end_loop(fronts, rows, lambda _, each=each: each, on_node=on_node)  # type: ignore[misc]
            found += gone
            for pivot, before in pivots:
                margin = ca.fmin(margin, pivot / before - self.limits.pivot)
        return fronts, found, margin

    def _reduce_ground(
        self, arriving: Sequence[_FrontRecord], complete: Sequence[int], ends: Sequence[int]
    ) -> list[_ReducedNode]:
        """End the loops on the ground, one after the other."""
        waiting: dict[int, _FrontRecord] = dict(enumerate(arriving))
        users: dict[FrontVariable, set[int]] = {}
        for i, front in waiting.items():
            for variable in front.variables:
                users.setdefault(variable, set()).add(i)
        found: list[_ReducedNode] = []
        for c in self._order([front.variables for front in arriving], ends):
            own = sorted(set().union(*(users.get(variable, set()) for variable in self.rows[c])))
            fronts = [waiting.pop(i) for i in own]
            for front, i in zip(fronts, own, strict=True):
                for variable in front.variables:
                    users[variable].discard(i)
            one = self._end_on_ground(c, fronts, c in complete)
            found.append(one)
            if one.front is not None:
                number = len(arriving) + len(found)
                waiting[number] = one.front
                for variable in one.front.variables:
                    users[variable].add(number)
        return found

    def _end_on_ground(self, c: int, arriving: Sequence[_FrontRecord], complete: bool) -> _ReducedNode:
        """End one loop on the ground."""
        asked = [*(front.variables for front in arriving), self.rows[c]]
        names = _named(asked)
        *local, own = (tuple(names[variable] for variable in variables) for variables in asked)

        def trace(given: ItemInputs) -> list[StepRecord]:
            fronts = [front.renamed(variables) for front, variables in zip(given.records, local, strict=False)]
            if complete:
                fronts.append(complete_front(own, given.records[-2]))
            fronts, loops, margin = self._end_loops(fronts, [own], given.records[-1], on_node=False)
            return [fronts[0].grounded(), tuple(loops), margin]

        records = [*(front.record for front in arriving)]
        records += [*([self.state.closures[c].second] if complete else []), self.margin]
        left = self.items.add(("end", tuple(local), own, complete), trace, records, whole=(2,))
        back = {own: variable for variable, own in names.items()}
        return self._reduced(left, back, True, updates_margin=True)

    # ------------------------------------------------------------------ outward

    def _return(self, one: _ReducedNode, k: int | None) -> Record:
        """Find the variables that an item eliminated; return the record of the node's acceleration A^."""
        joint_speeds = [] if k is None else _speeds(self.node_constants[k].v)
        shared = joint_speeds if k in self.state.homes else []  # found at their home
        left = dict.fromkeys(variable for elimination in one.eliminations for variable in elimination.left)
        needed = [variable for variable in [*left, *shared] if variable in self.values]
        blocks = list(dict.fromkeys(self.values[variable][0] for variable in needed))
        where = [(blocks.index(self.values[variable][0]), self.values[variable][1]) for variable in needed]
        gone = [variable for elimination in one.eliminations for variable in elimination.gone]
        names = _named([needed, gone])
        speeds = tuple(names[speed] for speed in joint_speeds)
        forms = [
            _NodeElimination(tuple(names[v] for v in each.gone), tuple(names[v] for v in each.left), each.of_joint)
            for each in one.eliminations
        ]
        root = k is None or self.parents[k] < 0
        above = [] if k is None or root else [self.accelerations[self.parents[k]]]

        def trace(given: ItemInputs) -> list[StepRecord]:
            gains, *rest = given.records
            known: dict[FrontVariable, ca.SX] = {
                names[variable]: rest[b][e] for variable, (b, e) in zip(needed, where, strict=True)
            }
            own = [gain._replace(gone=form.gone, left=form.left) for gain, form in zip(gains, forms, strict=True)]
            loops = [gain for gain, form in zip(own, forms, strict=True) if not form.of_joint]
            joint = [gain for gain, form in zip(own, forms, strict=True) if form.of_joint]
            alpha: ca.SX | None = None
            if k is None:
                recover(loops, None, known)
            else:
                x, *parent = rest[len(blocks) :]
                node = self.kinds.node(k, {"x": x}, given.constants, mass=False)
                alpha = recover_node(node, x, parent[0] if parent else None, speeds, joint, loops, known)
            found = ca.SX(ca.vertcat(ca.SX(0, 1), *(known[names[variable]] for variable in gone)))
            return [ca.SX.zeros(6) if alpha is None else alpha, found, *([found[of_body]] if n_own else [])]

        of_home = slice(0, 0) if k is None else self.node_constants[k].home or slice(0, 0)
        n_own, first = len(_speeds(of_home)), len(gone) - len(joint_speeds)  # where the joint's speeds are
        of_body = slice(first - n_own, first)
        key = (
            "return",
            tuple(forms),
            tuple(where),
            speeds,
            n_own,
            root,
            None if k is None else self.kinds.place_key(k),
        )
        place = [] if k is None else [self.state.placed[k].x]
        constants = [] if k is None else self.kinds.dims[k].values
        alpha, found, *inside = self.items.add(key, trace, [one.gains, *blocks, *place, *above], (), constants)
        self.values.update({variable: (found, i) for i, variable in enumerate(gone)})
        if k is not None and not shared:
            self.items.send(found, span_of(0, self.node_constants[k].v), first)
        for record in inside:
            self.items.send(record, span_of(0, of_home))
        return alpha

    def _cut_joints(self) -> None:
        """Find the accelerations of the cut joints from those of the nodes they join."""
        for closure, cut in zip(self.state.closures, self.attachments.cuts, strict=True):
            if not cut.joint.nv:
                continue
            on = [s for s, frame in enumerate(cut.frames) if frame.node >= 0]

            def trace(given: ItemInputs, n: int = len(on)) -> list[StepRecord]:
                total, *rest = given.records
                for F, alpha in zip(rest[:n], rest[n:], strict=True):
                    total = total + F.T @ alpha
                return [total]

            records = [closure.acceleration, *(closure.freedoms[s] for s in on)]
            records += [self.accelerations[cut.frames[s].node] for s in on]
            (found,) = self.items.add(("cut joint", len(on)), trace, records)
            self.items.send(found, span_of(0, cut.v))

    def _guard(self) -> None:
        """Divide the first number by zero where the result cannot be trusted."""
        first = min(i for kind, i in self.values if kind == "speed")  # not empty: without freedoms there is no dynamics
        record, at = self.values["speed", first]
        check, limit = self.limits.check, self.limits.gap
        seen = self._misfit() if check else []

        def trace(given: ItemInputs) -> list[StepRecord]:
            result, margin, *rest = given.records
            fine = margin > 0
            if check:
                (gap, slip), speed = rest
                fine = ca.logic_and(fine, ca.logic_and(gap <= limit, slip <= limit * speed))
            return [result[at] / fine]

        (guarded,) = self.items.add(("guard", at), trace, [record, self.margin, *seen])
        self.items.send(guarded, InputSpan(0, first, 1))

    def _misfit(self) -> list[Record]:
        """Return the records of how far all closures together are open, and of the speeds' square."""
        zero = ca.SX(0)
        (misfit,) = self.items.add("no misfit", lambda given: [(zero, zero)], whole=(0,))
        (speed,) = self.items.add("no speed", lambda given: [ca.SX(1)], whole=(0,))

        def add_misfit(given: ItemInputs) -> list[StepRecord]:
            (gap, slip), (more_gap, more_slip) = given.records
            return [(gap + more_gap, slip + more_slip)]

        def add_speed(given: ItemInputs) -> list[StepRecord]:
            return [given.records[0] + ca.sumsqr(given.inputs[0])]

        for closure in self.state.closures:
            (misfit,) = self.items.add("misfit", add_misfit, [misfit, closure.misfit], whole=(0,))
        spans = [span_of(1, constants.v) for constants in self.node_constants]
        spans += [span_of(1, cut.v) for cut in self.attachments.cuts]
        for span in dict.fromkeys(spans):  # nodes may share speeds
            if span.size:
                (speed,) = self.items.add("speed", add_speed, [speed], [span], whole=(0,))
        return [misfit, speed]


def _speeds(where: slice | None) -> list[FrontVariable]:
    """Return the speeds at places in v."""
    return [] if where is None else [("speed", i) for i in range(where.start, where.stop)]


def _named(variables: Sequence[Sequence[FrontVariable]]) -> Names:
    """Return names for front variables within an item, numbered as they come."""
    found = dict.fromkeys(variable for group in variables for variable in group)
    return {variable: (variable[0], i) for i, variable in enumerate(found)}


def _split(records: Sequence[StepRecord], sizes: Sequence[int]) -> list[list[StepRecord]]:
    """Return records in groups of these sizes."""
    rest = iter(records)
    return [[next(rest) for _ in range(size)] for size in sizes]  # not empty: the sizes add up to all records
