"""The coordinate reduction of large mechanisms as a loop over items: each kind of step is traced once.

The equations are those of `coordinate_reduction`, with all rows carried to the base of their loop. Items, in order:
nodes are placed outward, elements act, closures take hold (`rolled_state`); nodes are reduced inward, loops end at
their base; multipliers and accelerations come back outward; cut joints follow. What they hand on is in
`item_records`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.forces import Force, Formula
from whippletree.formulations.closures.closure_frames import ClosureAttachments
from whippletree.formulations.methods.coordinate_reduction import (
    ClosureExtent,
    EliminatedVariables,
    Front,
    FrontVariable,
    annihilated,
    closure_extents,
    eliminated,
    merged,
    recover,
    with_speeds,
)
from whippletree.formulations.nodes.applied_forces import ForcePlacements
from whippletree.formulations.nodes.node_tree import NodeTree
from whippletree.formulations.rolled.item_records import (
    born_front,
    each,
    front_in,
    front_numbers,
    front_on_ground,
    front_size,
    pull_front,
    pulled_in,
    scalars,
    span_of,
)
from whippletree.formulations.rolled.rolled_state import Loads, RolledState, with_efforts
from whippletree.formulations.rolled.work_items import Record, Span
from whippletree.loops import LoopProgram
from whippletree.spatial.sparse import minimum_degree
from whippletree.topology import Tree

__all__ = ["Limits", "can_roll", "forward_dynamics"]


class Limits(NamedTuple):
    """What is watched: the share of a pivot that is left, and how far a state may miss the closures."""

    pivot: float
    gap: float
    length: float
    check: bool


def can_roll(attachments: ClosureAttachments, node_tree: NodeTree, acting: ForcePlacements) -> bool:
    """Tell whether all closures are cut joints, nothing is prescribed, and all numbers are plain ones.

    Elements may act whose laws are built in; those that are written as formulas may look something up in tables.
    """
    plain = all(
        isinstance(x, float)
        for constants in node_tree.node_constants
        for x in (*constants.placement.point, *constants.inertia)
    )
    built_in = not any(_written(force) for force, _ in acting.forces)
    return (
        plain
        and built_in
        and len(attachments.all) == len(attachments.cuts)
        and not any(constants.use.prescribed for constants in node_tree.node_constants)
        and all(cut.turn is None for cut in attachments.cuts)
    )


def _written(force: Force) -> bool:
    """Tell whether an element has a formula in it, or numbers that are expressions."""
    formula = any(isinstance(part, Formula) for part in vars(force).values())
    return formula or not all(isinstance(x, float) for x in force.entries())


def forward_dynamics(
    node_tree: NodeTree, attachments: ClosureAttachments, keep: Sequence[tuple[int, ...]], loads: Loads, limits: Limits
) -> LoopProgram:
    """Return the accelerations of all joints as a program with inputs q, v, tau, and those of the loads."""
    length = limits.length if limits.check else None
    return _Roll(RolledState(node_tree, attachments, keep, loads, length), limits).program()


class _Reduced(NamedTuple):
    """What a reduction leaves: the front's ports and record, and how the way back goes."""

    ports: tuple[FrontVariable, ...]
    front: Record | None
    released: list[
        tuple[tuple[FrontVariable, ...], tuple[FrontVariable, ...], bool]
    ]  # gone, left, whether of the joint
    record: Record


class _Roll:
    """A mechanism that is being reduced."""

    def __init__(self, state: RolledState, limits: Limits) -> None:
        self.state, self.limits, self.items = state, limits, state.items
        self.node_constants, self.parents, self.attachments = state.node_constants, state.parents, state.attachments
        self.where: ClosureExtent = closure_extents(self.attachments, Tree(self.parents))
        self.rows: list[list[FrontVariable]] = []
        start = 0
        for rows in state.keep:
            self.rows.append([("row", start + i) for i in range(len(rows))])
            start += len(rows)

    def program(self) -> LoopProgram:
        """Write all items."""
        self.watched = self.items.add("watch", _unwatched, store=True)
        self.margin = Record(self.watched.start, self.watched.entries[:1])
        self.forms: dict[int, Any] = {}
        self._outward(*self._inward())
        self._cut_joints()
        self._guard()
        return self.items.program()

    # ------------------------------------------------------------------ inward

    def _inward(self) -> tuple[list[_Reduced], list[_Reduced]]:
        """Reduce the nodes, then the loops that end on the ground."""
        n = len(self.node_constants)
        node_forces: list[list[tuple[int, int]]] = [[] for _ in range(n)]  # (closure, side)
        ends: list[list[int]] = [[] for _ in range(n + 1)]
        born: list[list[int]] = [[] for _ in range(n + 1)]  # closures that are complete
        for c, cut in enumerate(self.attachments.cuts):
            for s, frame in enumerate(cut.frames):
                if frame.node >= 0:
                    node_forces[frame.node].append((c, s))
            if self.rows[c]:
                ends[self.where.end[c]].append(c)
                born[self.where.complete[c]].append(c)
        arriving: list[list[tuple[tuple[FrontVariable, ...], Record]]] = [[] for _ in range(n + 1)]
        reduced: list[Any] = [None] * n
        for k in reversed(range(n)):
            reduced[k] = self._reduce(k, arriving[k], node_forces[k], born[k], ends[k])
            if reduced[k].front is not None:
                arriving[self.parents[k]].append((reduced[k].ports, reduced[k].front))
        return reduced, self._reduce_ground(arriving[-1], born[-1], ends[-1])

    def _order(self, fronts: Sequence[Sequence[FrontVariable]], ends: Sequence[int]) -> list[int]:
        """Return the order in which loops end."""
        closure_of = {port: c for c in ends for port in self.rows[c]}
        near = [{closure_of[port] for port in ports if port in closure_of} for ports in fronts]
        return minimum_degree([(a, b) for group in near for a in group for b in group if a < b], list(ends))

    def _reduce(
        self,
        k: int,
        arriving: Sequence[tuple[tuple[FrontVariable, ...], Record]],
        node_forces: Sequence[tuple[int, int]],
        born: Sequence[int],
        ends: Sequence[int],
    ) -> _Reduced:
        """Reduce one node."""
        constants = self.node_constants[k]
        first = constants.v.start
        closures = list(dict.fromkeys([*born, *(c for c, _ in node_forces)]))
        names: dict[FrontVariable, FrontVariable] = {}
        for ports, _ in arriving:
            for port in ports:
                names.setdefault(port, ("row", len(names)))
        for c in closures:
            for port in self.rows[c]:
                names.setdefault(port, ("row", len(names)))
        back = {local: port for port, local in names.items()}
        local_ports = [tuple(names[p] for p in ports) for ports, _ in arriving]
        shapes = {c: tuple(names[p] for p in self.rows[c]) for c in closures}
        fronts_of = [
            *(ports for ports, _ in arriving),
            *(self.rows[c] for c in born),
            *(self.rows[c] for c, _ in node_forces),
        ]
        order = self._order(fronts_of, ends)
        leaves = [tuple(names[p] for p in self.rows[c]) for c in order]
        root = constants.parent < 0
        sides = [(closures.index(c), s) for c, s in node_forces]
        fresh = [closures.index(c) for c in born]
        released: list[tuple[tuple[FrontVariable, ...], tuple[FrontVariable, ...], bool]] = []
        n_freedoms = [self.attachments.cuts[c].joint.nv for c in closures]
        state, pushes = self.state, self.state.pushes[k]
        more, at = state.efforts_at(constants.v)
        n_before = 1 + len(arriving) + len(closures)
        out_ports: list[tuple[FrontVariable, ...]] = []

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            beyond = records[n_before:]
            tau = with_efforts(inputs[1], beyond[len(pushes) : len(pushes) + len(more)], at)
            node = state.node(k, records[0][0 : state.n_x(k)], inputs[0], tau, each(constants), mass=True)
            f = records[0][-6:]
            for push in beyond[: len(pushes)]:
                f = f - push
            fronts = [
                front_in(ports, rec) for ports, rec in zip(local_ports, records[1 : 1 + len(arriving)], strict=True)
            ]
            evaluated = records[1 + len(arriving) : 1 + len(arriving) + len(closures)]
            for i in fresh:
                fronts.append(born_front(shapes[closures[i]], evaluated[i]))
            for i, s in sides:
                ports = shapes[closures[i]]
                F, push = pulled_in(evaluated[i], len(ports), n_freedoms[i], s)
                f = f - push
                if ports:
                    fronts.append(pull_front(ports, F))
            fronts, gone, margins = _closed(fronts, leaves, on_node=True)
            x = node.q
            own = Front((), node.inertia.articulated(), ca.SX(6, 0), f, ca.SX(0, 0), ca.SX(0, 1))
            H = node.joint_map(x)
            front = with_speeds(merged([own, *fronts]), H, node.tau, [("speed", j) for j in range(H.shape[1])])
            joint: list[EliminatedVariables] = []
            for j in range(H.shape[1]):
                front, one, _ = eliminated(front, (("speed", j),), on_node=not root)
                joint.append(one)
            if not root:
                front = annihilated(front, H, node.tau).shifted(node, x)
            released[:] = [(r.gone, r.left, False) for r in gone] + [(r.gone, r.left, True) for r in joint]
            out_ports[:] = [front.ports]
            margin = self._least(records[-1][0], margins) if leaves else ca.SX(0)
            parts = [margin, *(p for r in (*gone, *joint) for p in (r.nu, r.on_node, r.on_ports))]
            kept = scalars(*parts)
            return [*kept, *front_numbers(front, root)], ()

        key: Hashable = (
            "reduce",
            self.state.names[k],
            self.state.dims[k].key,
            self.state.masses[k].key,
            tuple(local_ports),
            tuple(shapes[c] for c in closures),
            tuple(fresh),
            tuple(sides),
            tuple(leaves),
            root,
            len(pushes),
            at,
        )
        before = len(self.items.kinds)
        records = [self.state.placed[k], *(rec for _, rec in arriving), *(self.state.closures[c] for c in closures)]
        records += [*pushes, *more, *([self.margin] if leaves else [])]
        spans = [span_of(1, constants.v), span_of(2, constants.v)]
        numbers = [*self.state.dims[k].values, *self.state.masses[k].values]
        record = self.items.add(key, trace, records, spans, numbers)
        memory = self.forms
        if len(self.items.kinds) > before:
            memory[self.items.table[-1][0]] = (list(released), out_ports[0])
        forms, left = memory[self.items.table[-1][0]]

        def named(port: FrontVariable) -> FrontVariable:
            return ("speed", first + port[1]) if port[0] == "speed" else back[port]

        outer = tuple(back[p] for p in left)
        ways = [(tuple(map(named, gone)), tuple(map(named, rest)), of_joint) for gone, rest, of_joint in forms]
        if leaves:
            self.margin = Record(record.start, record.entries[:1])
        size = front_size(len(left), root)
        front = Record(record.start, record.entries[-size:]) if size else None
        if root and not left:
            front = None
        return _Reduced(outer, front, ways, record)

    def _reduce_ground(
        self, arriving: Sequence[tuple[tuple[FrontVariable, ...], Record]], born: Sequence[int], ends: Sequence[int]
    ) -> list[_Reduced]:
        """End the loops on the ground, one after the other."""
        waiting: dict[int, tuple[tuple[FrontVariable, ...], Record]] = dict(enumerate(arriving))
        users: dict[FrontVariable, set[int]] = {}
        for i, (ports, _) in waiting.items():
            for port in ports:
                users.setdefault(port, set()).add(i)
        fresh = set(born)
        found: list[_Reduced] = []
        for c in self._order([ports for ports, _ in arriving], ends):
            own = sorted(set().union(*(users.get(port, set()) for port in self.rows[c])))
            fronts = [waiting.pop(i) for i in own]
            for (ports, _), i in zip(fronts, own, strict=True):
                for port in ports:
                    users[port].discard(i)
            one = self._end(c, fronts, c in fresh)
            found.append(one)
            if one.front is not None and one.ports:
                number = len(arriving) + len(found)
                waiting[number] = (one.ports, one.front)
                for port in one.ports:
                    users[port].add(number)
        return found

    def _end(self, c: int, arriving: Sequence[tuple[tuple[FrontVariable, ...], Record]], fresh: bool) -> _Reduced:
        """End one loop on the ground."""
        names: dict[FrontVariable, FrontVariable] = {}
        for ports in (*(ports for ports, _ in arriving), self.rows[c]):
            for port in ports:
                names.setdefault(port, ("row", len(names)))
        back = {local: port for port, local in names.items()}
        local_ports = [tuple(names[p] for p in ports) for ports, _ in arriving]
        own = tuple(names[p] for p in self.rows[c])
        result: list[Any] = []

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            fronts = [front_on_ground(ports, rec) for ports, rec in zip(local_ports, records, strict=False)]
            if fresh:
                fronts.append(born_front(own, records[-2]))
            fronts, gone, margins = _closed(fronts, [own], on_node=False)
            margin = self._least(records[-1][0], margins)
            result[:] = [[(r.gone, r.left, False) for r in gone], fronts[0].ports]
            parts = [margin, *(p for r in gone for p in (r.nu, r.on_node, r.on_ports))]
            return [*scalars(*parts), *front_numbers(fronts[0], True)], ()

        key = ("end", tuple(local_ports), own, fresh)
        before = len(self.items.kinds)
        records = [*(rec for _, rec in arriving), *([self.state.closures[c]] if fresh else []), self.margin]
        record = self.items.add(key, trace, records)
        number = self.items.table[-1][0]
        if len(self.items.kinds) > before:
            self.forms[number] = tuple(result)
        forms, left = self.forms[number]
        self.margin = Record(record.start, record.entries[:1])
        size = front_size(len(left), True)
        ways = [(tuple(back[p] for p in gone), tuple(back[p] for p in rest), False) for gone, rest, _ in forms]
        front = Record(record.start, record.entries[-size:]) if size else None
        return _Reduced(tuple(back[p] for p in left), front, ways, record)

    def _least(self, before: ca.SX, margins: Sequence[ca.SX]) -> ca.SX:
        """Return the smallest margin so far."""
        for margin in margins:
            before = ca.fmin(before, margin - self.limits.pivot)
        return before

    # ------------------------------------------------------------------ outward

    def _outward(self, nodes: list[_Reduced], ground: list[_Reduced]) -> None:
        """Find multipliers and accelerations."""
        self.values: dict[FrontVariable, tuple[Record, int]] = {}
        for one in reversed(ground):
            self._return(one, None, self.values)
        self.moved: list[Record] = []
        for k, one in enumerate(nodes):
            self.moved.append(self._return(one, k, self.values))

    def _return(self, one: _Reduced, k: int | None, values: dict[FrontVariable, tuple[Record, int]]) -> Record:
        """Find what was eliminated by an item, and a node's acceleration."""
        needed = [port for port in dict.fromkeys(p for _, left, _ in one.released for p in left) if port in values]
        blocks = list(dict.fromkeys(values[port][0] for port in needed))
        names: dict[FrontVariable, FrontVariable] = {port: ("row", i) for i, port in enumerate(needed)}
        for gone, left, _ in one.released:
            for port in (*gone, *left):
                names.setdefault(port, (port[0], len(names)))
        forms = [(tuple(names[p] for p in gone), tuple(names[p] for p in left), j) for gone, left, j in one.released]
        where = [(blocks.index(values[port][0]), values[port][1]) for port in needed]
        gone_ports = [p for gone, _, _ in one.released for p in gone]
        root = k is None or self.parents[k] < 0
        constants = None if k is None else self.node_constants[k]

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            own, at = records[0], 1
            loops: list[EliminatedVariables] = []
            joint: list[EliminatedVariables] = []
            for gone, left, of_joint in forms:
                n, m = len(gone), len(left)
                nu, at = own[at : at + n], at + n
                on_node, at = ca.reshape(own[at : at + 6 * n], 6, n), at + 6 * n
                on_ports, at = ca.reshape(own[at : at + m * n], m, n), at + m * n
                (joint if of_joint else loops).append(EliminatedVariables(gone, nu, on_node, left, on_ports))
            known: dict[FrontVariable, ca.SX] = {("row", i): records[1 + b][e] for i, (b, e) in enumerate(where)}
            rest = records[1 + len(blocks) :]
            alpha: ca.SX | None = None
            sent: list[ca.SX] = []
            if k is not None:
                x, none = rest[0][0 : self.state.n_x(k)], ca.SX(0, 1)
                node = self.state.node(k, x, none, none, each(constants), mass=False)
                if not root:
                    alpha = node.shift(node.q).motion(rest[1][0:6])
                recover(joint, alpha, known)
                u = ca.SX(ca.vertcat(*(known[gone[0]] for gone, _, of_joint in forms if of_joint)))
                own_part = node.joint_map(node.q) @ u
                alpha = own_part if alpha is None else alpha + own_part
                sent = ca.vertsplit(u)
            recover(loops, alpha, known)
            kept = [ca.SX.zeros(6) if alpha is None else alpha, *(known[names[p]] for p in gone_ports)]
            return scalars(*kept), sent

        key: Hashable = ("return", tuple(forms), tuple(where), root)
        records = [one.record, *blocks]
        numbers: list[float] = []
        output = None
        if constants is not None and k is not None:
            key = (*key, self.state.names[k], self.state.dims[k].key)  # type: ignore[misc]
            records.append(self.state.placed[k])
            if not root:
                records.append(self.moved[constants.parent])
            numbers = self.state.dims[k].values
            output = span_of(0, constants.v)
        record = self.items.add(key, trace, records, (), numbers, output)
        for i, port in enumerate(gone_ports):
            values[port] = (record, 6 + i)
        return record

    def _cut_joints(self) -> None:
        """Find the accelerations of the cut joints from those of the nodes they join."""
        for c, cut in enumerate(self.attachments.cuts):
            n, m = cut.joint.nv, len(self.rows[c])
            if not n:
                continue
            on = [frame.node >= 0 for frame in cut.frames]

            def trace(records: Any, inputs: Any, constants: ca.SX, n: int = n, m: int = m, on: Any = on) -> Any:
                closures, moved = records[0], iter(records[1:])
                total = closures[m : m + n]
                for s in range(2):
                    if on[s]:
                        start = m + n + s * (6 * m + 6 * n + 6) + 6 * m
                        total = total + ca.reshape(closures[start : start + 6 * n], 6, n).T @ next(moved)[0:6]
                return (), ca.vertsplit(total)

            records = [self.state.closures[c], *(self.moved[frame.node] for frame in cut.frames if frame.node >= 0)]
            self.items.add(("cut", n, m, tuple(on)), trace, records, output=span_of(0, cut.v))

    def _guard(self) -> None:
        """Divide the first number by zero where the result cannot be trusted."""
        if self.limits.check:
            for c in range(len(self.attachments.cuts)):
                own = Record(self.state.closures[c].start, self.state.closures[c].entries[-2:])

                def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
                    seen, new = records
                    return scalars(seen[0], seen[1] + new[0], seen[2] + new[1], seen[3]), ()

                self.items.add("gap", trace, [self.watched, own], into=self.watched)
            for where in (
                *(constants.v for constants in self.node_constants),
                *(cut.v for cut in self.attachments.cuts),
            ):
                if where.stop > where.start:
                    self.items.add("speed", _faster, [self.watched], [span_of(1, where)], into=self.watched)
        limit = self.limits.gap**2

        def divided(records: Any, inputs: Any, constants: ca.SX) -> Any:
            _, gap, slip, speed = (records[0][i] for i in range(4))
            fine = records[2][0] > 0
            if self.limits.check:
                fine = ca.logic_and(fine, ca.logic_and(gap <= limit, slip <= limit * speed))
            return (), [records[1][at] + (1 / fine - 1)]

        first = min(i for kind, i in self.values if kind == "speed")
        record, at = self.values["speed", first]
        self.items.add(("guard", at), divided, [self.watched, record, self.margin], output=Span(0, first, 1))


def _closed(
    fronts: list[Front], leaves: Sequence[tuple[FrontVariable, ...]], *, on_node: bool
) -> tuple[list[Front], list[EliminatedVariables], list[ca.SX]]:
    """End loops one after the other; return also each pivot as a share of what it was before its loop ended."""
    gone: list[EliminatedVariables] = []
    margins: list[ca.SX] = []
    for rows in leaves:
        own = [front for front in fronts if any(port in rows for port in front.ports)]
        front = merged(own)
        before = {port: front.S[i, i] for i, port in enumerate(front.ports)}
        for port in rows:
            front, released, pivot = eliminated(front, (port,), on_node=on_node)
            gone.append(released)
            margins.append(pivot / before[port])
        fronts = [f for f in fronts if not any(f is o for o in own)]
        fronts.append(front)
    return fronts, gone, margins


def _unwatched(records: Any, inputs: Any, constants: ca.SX) -> Any:
    return scalars(ca.SX(1), ca.SX(0), ca.SX(0), ca.SX(1)), ()


def _faster(records: Any, inputs: Any, constants: ca.SX) -> Any:
    seen = records[0]
    return scalars(seen[0:3], seen[3] + ca.sumsqr(inputs[0])), ()
