"""The coordinate reduction of large mechanisms as a loop over items: each kind of step is traced once.

The equations are those of `coordinate_reduction`, with all rows carried to the base of their loop. Items, in order:
nodes are placed outward; closures take hold; nodes are reduced inward, loops end at their base; multipliers and
accelerations come back outward; cut joints follow.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.joints import Joint
from whippletree.formulations import closed, composite
from whippletree.formulations.closing import Closing, Reached, advance, columns
from whippletree.formulations.coordinate_reduction import (
    Front,
    Outline,
    Port,
    Released,
    annihilated,
    eliminated,
    merged,
    outline,
    recover,
    with_speeds,
)
from whippletree.formulations.grips import CutJoint, Fastening, Fastenings, Grip
from whippletree.formulations.items import Items, Record, Span
from whippletree.formulations.node import Motion, Node
from whippletree.formulations.rolled import joint_kind
from whippletree.formulations.skeleton import Skeleton, column, rigid_inertia
from whippletree.formulations.sweeps import Unrolled
from whippletree.loops import LoopProgram
from whippletree.spatial import ArticulatedInertia, stack
from whippletree.spatial.sparse import minimum_degree

__all__ = ["Limits", "can_roll", "forward_dynamics"]

LONG = 8
"""Loops of more nodes than this are walked node by node; in shorter ones that is one item."""


class Limits(NamedTuple):
    """What is watched: the share of a pivot that is left, and how far a state may miss the closures."""

    pivot: float
    gap: float
    length: float
    check: bool


def can_roll(fastenings: Fastenings, skeleton: Skeleton) -> bool:
    """Tell whether all closures are cut joints, nothing is prescribed, and all dimensions are plain numbers."""
    plain = all(isinstance(x, float) for bone in skeleton.bones for x in (*bone.placement.point, *bone.inertia))
    return (
        plain
        and len(fastenings.all) == len(fastenings.cuts)
        and not any(bone.use.prescribed for bone in skeleton.bones)
        and all(cut.turn is None for cut in fastenings.cuts)
    )


def forward_dynamics(
    skeleton: Skeleton, fastenings: Fastenings, keep: Sequence[tuple[int, ...]], limits: Limits
) -> LoopProgram:
    """Return the accelerations of all joints as a program with inputs q, v, tau."""
    return _Roll(skeleton, fastenings, keep, limits).program()


class Ready:
    """A joint whose configuration is at hand: sines and cosines are worked out once for all items."""

    def __init__(self, joint: Joint) -> None:
        self._joint = joint

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return what was given."""
        return q

    def __getattr__(self, name: str) -> Any:
        return getattr(self._joint, name)


class _Numbers:
    """Constants of an item: what is zero or one is part of its kind, the others are read from the table."""

    def __init__(self, values: Sequence[Any]) -> None:
        plain = [float(x) for x in values]
        self.key = tuple(x if x in (0.0, 1.0, -1.0) else None for x in plain)
        self.values = [x for x in plain if x not in (0.0, 1.0, -1.0)]

    def symbols(self, given: Iterator[ca.SX]) -> list[Any]:
        """Return the numbers, with symbols for those that are read."""
        return [next(given) if known is None else known for known in self.key]


class _Reduced(NamedTuple):
    """What a reduction leaves: the front's ports and record, and how the way back goes."""

    ports: tuple[Port, ...]
    front: Record | None
    released: list[tuple[tuple[Port, ...], tuple[Port, ...], bool]]  # gone, left, whether of the joint
    record: Record


class _Roll:
    """A mechanism that is being rolled."""

    def __init__(
        self, skeleton: Skeleton, fastenings: Fastenings, keep: Sequence[tuple[int, ...]], limits: Limits
    ) -> None:
        self.bones, self.fastenings, self.keep, self.limits = skeleton.bones, fastenings, keep, limits
        self.gravity = column(skeleton.gravity)
        self.items = Items()
        self.parents = [bone.parent for bone in self.bones]
        self.where: Outline = outline(fastenings, self.parents)
        self.rows: list[list[Port]] = []
        start = 0
        for rows in keep:
            self.rows.append([("row", start + i) for i in range(len(rows))])
            start += len(rows)
        self.names = [joint_kind(bone.joint) for bone in self.bones]
        self.dims = [
            _Numbers([*(x for row in b.placement.rotation for x in row), *b.placement.point]) for b in self.bones
        ]
        self.masses = [_Numbers(bone.inertia) for bone in self.bones]

    def program(self) -> LoopProgram:
        """Write all items."""
        self.placed = self._place()
        self.reached: dict[tuple[int, int], Record] = {}
        self.held = [self._hold(c) for c in range(len(self.fastenings.cuts))]
        self.watched = self.items.add("watch", _unwatched, store=True)
        self.margin = Record(self.watched.start, self.watched.entries[:1])
        self.forms: dict[int, Any] = {}
        self._outward(*self._inward())
        self._cut_joints()
        self._guard()
        return self.items.program()

    # ------------------------------------------------------------------ nodes

    def _node(self, k: int, x: ca.SX, v: ca.SX, tau: ca.SX, numbers: Iterator[ca.SX], *, mass: bool) -> Node:
        """Return a node like k over symbols."""
        joint = self.bones[k].joint
        dims = self.dims[k].symbols(numbers)
        inertia = self.masses[k].symbols(numbers) if mass else [0.0] * 10
        rotation = ca.densify(ca.SX(ca.blockcat([dims[0:3], dims[3:6], dims[6:9]])))
        none = ca.SX.zeros(joint.nv)
        ready: Any = Ready(joint)
        return Node(ready, rotation, column(dims[9:12]), rigid_inertia(inertia), x, v, tau, none)

    def _place(self) -> list[Record]:
        """Place the nodes; a record holds the configuration, the turning rate, the acceleration, and the force."""
        found: list[Record] = []
        for k, bone in enumerate(self.bones):
            root = bone.parent < 0

            def trace(records: Any, inputs: Any, constants: ca.SX, k: int = k, root: bool = root) -> Any:
                joint = self.bones[k].joint
                x = joint.configuration(inputs[0])
                none = ca.SX.zeros(joint.nv)
                node = self._node(k, x, inputs[1], none, _each(constants), mass=True)
                if root:
                    base = composite.Carried(Motion.rest(), stack(ca.SX.zeros(3), -self.gravity))
                else:
                    own = records[0][-15:]
                    base = composite.Carried(Motion(own[0:3], ca.densify(ca.SX.eye(3))), own[3:9])
                carried, inertial = composite.accelerate(node, base)
                return _scalars(x, carried.motion.rate, carried.alpha, inertial.f), ()

            key = ("place", self.names[k], self.dims[k].key, self.masses[k].key, root)
            spans = [_span(0, bone.q), _span(1, bone.v)]
            above = [] if root else [found[bone.parent]]
            numbers = [*self.dims[k].values, *self.masses[k].values]
            found.append(self.items.add(key, trace, above, spans, numbers))
        return found

    # ------------------------------------------------------------------ closures

    def _path(self, cut: CutJoint) -> tuple[list[int], list[int], tuple[int, int]]:
        """Return the nodes between a loop's base and its sides, their parents among themselves, and the sides."""
        found: set[int] = set()
        for grip in cut.grips:
            k = grip.node
            while k != cut.base:
                found.add(k)
                k = self.parents[k]
        nodes = sorted(found)
        place = {cut.base: -1, **{k: i for i, k in enumerate(nodes)}}
        return nodes, [place[self.parents[k]] for k in nodes], (place[cut.grips[0].node], place[cut.grips[1].node])

    def _hold(self, c: int) -> Record:
        """Let a closure take hold.

        The record has phi'' (m), for each side the force columns (6, m) and those of the cut joint's freedoms (6, n),
        the latter's acceleration (n), and the efforts' wrench (6) on each side; then, if checked, gap and slip.
        """
        cut, keep = self.fastenings.cuts[c], self.keep[c]
        nodes, parents, sides = self._path(cut)
        far = len(nodes) > LONG
        if far:  # the sides are reached step by step, and stand for the path
            ends = [grip.node for grip in cut.grips if grip.node != cut.base]
            reached = [self._reach(cut.base, k) for k in ends]
            nodes, parents = [], []
            first, second = (-1 if grip.node == cut.base else ends.index(grip.node) for grip in cut.grips)
            sides = (first, second)
        grips = [_Numbers([*_floats(grip.rotation), *_floats(grip.point)]) for grip in cut.grips]
        n, check = cut.joint.nv, self.limits.check

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            numbers = _each(constants)
            walk_nodes, slices, at = [], [], 0
            for i, k in enumerate(nodes):
                size, nv = self._n_x(k), self.bones[k].joint.nv
                none = ca.SX.zeros(nv)
                walk_nodes.append(self._node(k, records[i][0:size], inputs[i], none, numbers, mass=False))
                slices.append(slice(at, at + nv))
                at += nv
            walk = Unrolled(walk_nodes, parents, slices, at + n, ca.SX.zeros(3))
            if far:
                walk.memory.update({(-1, i, None): _reached(record) for i, record in enumerate(records)})
            local = []
            for side, known in zip(sides, grips, strict=True):
                dims = known.symbols(numbers)
                rotation = ca.densify(ca.SX(ca.blockcat([dims[0:3], dims[3:6], dims[6:9]])))
                local.append(Grip(side, rotation, column(dims[9:12])))
            q, v, tau = inputs[-3:]
            nq = cut.joint.nq
            joint = CutJoint(cut.use, (local[0], local[1]), -1, slice(0, nq), slice(at, at + n))
            closure = self.fastenings.all[c].closure
            held = Fastenings((Fastening(cut.use.name, closure, joint.grips, -1, (), 0),), (joint,))
            speeds = ca.SX(ca.vertcat(*inputs[:-3], v))
            closing = Closing(held, (tuple(keep),), q, speeds, ca.SX.zeros(at + n), ca.SX(0))
            # sides on the base have no node here, but are pulled all the same
            whole = _Sided(closing, walk)
            second, own = whole.second(tuple(keep)), whole.own()
            parts = [second, own.second]
            for s in range(2):
                parts += [whole.pull(s, tuple(keep)), own.F[s], own.F[s] @ tau if n else ca.SX.zeros(6)]
            if check:
                parts += list(closed.closure_gap(walk, closing, self.limits.length))
            return _scalars(*parts), ()

        key = (
            "hold",
            tuple((self.names[k], self.dims[k].key) for k in nodes),
            tuple(parents),
            sides,
            tuple(grip.key for grip in grips),
            joint_kind(cut.joint),
            tuple(keep),
        )
        spans = [_span(1, self.bones[k].v) for k in nodes] + [_span(0, cut.q), _span(1, cut.v), _span(2, cut.v)]
        constants = [x for k in nodes for x in self.dims[k].values] + [x for grip in grips for x in grip.values]
        return self.items.add((*key, far), trace, reached if far else [self.placed[k] for k in nodes], spans, constants)

    def _reach(self, base: int, k: int) -> Record:
        """Return a node seen from a loop's base: turning rate, axes, origin, twist and acceleration."""
        way = []
        while k != base and (base, k) not in self.reached:
            way.append(k)
            k = self.parents[k]
        for k in reversed(way):
            rest = self.parents[k] == base

            def trace(records: Any, inputs: Any, constants: ca.SX, k: int = k, rest: bool = rest) -> Any:
                none = ca.SX.zeros(self.bones[k].joint.nv)
                node = self._node(k, records[0][0 : self._n_x(k)], inputs[0], none, _each(constants), mass=False)
                found = advance(node, Reached.rest() if rest else _reached(records[1]))
                return _scalars(found.motion.rate, found.motion.axes, found.p, found.V, found.alpha), ()

            above = [] if rest else [self.reached[base, self.parents[k]]]
            key = ("reach", self.names[k], self.dims[k].key, rest)
            spans = [_span(1, self.bones[k].v)]
            self.reached[base, k] = self.items.add(key, trace, [self.placed[k], *above], spans, self.dims[k].values)
        return self.reached[base, way[0] if way else k]

    def _n_x(self, k: int) -> int:
        """Return the size of a node's configuration."""
        joint = self.bones[k].joint
        return int(joint.configuration(ca.SX.zeros(joint.nq)).shape[0])

    # ------------------------------------------------------------------ inward

    def _inward(self) -> tuple[list[_Reduced], list[_Reduced]]:
        """Reduce the nodes, then the loops that end on the ground."""
        n = len(self.bones)
        pulls: list[list[tuple[int, int]]] = [[] for _ in range(n)]  # (closure, side)
        ends: list[list[int]] = [[] for _ in range(n + 1)]
        born: list[list[int]] = [[] for _ in range(n + 1)]  # closures that are complete
        for c, cut in enumerate(self.fastenings.cuts):
            for s, grip in enumerate(cut.grips):
                if grip.node >= 0:
                    pulls[grip.node].append((c, s))
            if self.rows[c]:
                ends[self.where.end[c]].append(c)
                born[self.where.complete[c]].append(c)
        arriving: list[list[tuple[tuple[Port, ...], Record]]] = [[] for _ in range(n + 1)]
        reduced: list[Any] = [None] * n
        for k in reversed(range(n)):
            reduced[k] = self._reduce(k, arriving[k], pulls[k], born[k], ends[k])
            if reduced[k].front is not None:
                arriving[self.parents[k]].append((reduced[k].ports, reduced[k].front))
        return reduced, self._reduce_ground(arriving[-1], born[-1], ends[-1])

    def _order(self, fronts: Sequence[Sequence[Port]], ends: Sequence[int]) -> list[int]:
        """Return the order in which loops end."""
        closure_of = {port: c for c in ends for port in self.rows[c]}
        near = [{closure_of[port] for port in ports if port in closure_of} for ports in fronts]
        return minimum_degree([(a, b) for group in near for a in group for b in group if a < b], list(ends))

    def _reduce(
        self,
        k: int,
        arriving: Sequence[tuple[tuple[Port, ...], Record]],
        pulls: Sequence[tuple[int, int]],
        born: Sequence[int],
        ends: Sequence[int],
    ) -> _Reduced:
        """Reduce one node."""
        bone = self.bones[k]
        first = bone.v.start
        closures = list(dict.fromkeys([*born, *(c for c, _ in pulls)]))
        names: dict[Port, Port] = {}
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
            *(self.rows[c] for c, _ in pulls),
        ]
        order = self._order(fronts_of, ends)
        leaves = [tuple(names[p] for p in self.rows[c]) for c in order]
        root = bone.parent < 0
        sides = [(closures.index(c), s) for c, s in pulls]
        fresh = [closures.index(c) for c in born]
        released: list[tuple[tuple[Port, ...], tuple[Port, ...], bool]] = []
        n_freedoms = [self.fastenings.cuts[c].joint.nv for c in closures]
        out_ports: list[tuple[Port, ...]] = []

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            node = self._node(k, records[0][0 : self._n_x(k)], inputs[0], inputs[1], _each(constants), mass=True)
            f = records[0][-6:]
            fronts = [
                _front(ports, rec) for ports, rec in zip(local_ports, records[1 : 1 + len(arriving)], strict=True)
            ]
            held = records[1 + len(arriving) : 1 + len(arriving) + len(closures)]
            for i in fresh:
                fronts.append(_born(shapes[closures[i]], held[i]))
            for i, s in sides:
                ports = shapes[closures[i]]
                F, push = _pulled(held[i], len(ports), n_freedoms[i], s)
                f = f - push
                if ports:
                    fronts.append(_pull(ports, F))
            fronts, gone, margins = _closed(fronts, leaves, on_node=True)
            x = node.q
            own = Front((), node.inertia.articulated(), ca.SX(6, 0), f, ca.SX(0, 0), ca.SX(0, 1))
            H = node.joint_map(x)
            front = with_speeds(merged([own, *fronts]), H, node.tau, [("speed", j) for j in range(H.shape[1])])
            joint: list[Released] = []
            for j in range(H.shape[1]):
                front, one, _ = eliminated(front, (("speed", j),), on_node=not root)
                joint.append(one)
            if not root:
                front = annihilated(front, H, node.tau).shifted(node, x)
            released[:] = [(r.gone, r.left, False) for r in gone] + [(r.gone, r.left, True) for r in joint]
            out_ports[:] = [front.ports]
            margin = self._least(records[-1][0], margins) if leaves else ca.SX(0)
            parts = [margin, *(p for r in (*gone, *joint) for p in (r.nu, r.on_node, r.on_ports))]
            kept = _scalars(*parts)
            return [*kept, *_flat(front, root)], ()

        key: Hashable = (
            "reduce",
            self.names[k],
            self.dims[k].key,
            self.masses[k].key,
            tuple(local_ports),
            tuple(shapes[c] for c in closures),
            tuple(fresh),
            tuple(sides),
            tuple(leaves),
            root,
        )
        before = len(self.items.kinds)
        records = [self.placed[k], *(rec for _, rec in arriving), *(self.held[c] for c in closures)]
        records += [self.margin] if leaves else []
        spans = [_span(1, bone.v), _span(2, bone.v)]
        numbers = [*self.dims[k].values, *self.masses[k].values]
        record = self.items.add(key, trace, records, spans, numbers)
        memory = self.forms
        if len(self.items.kinds) > before:
            memory[self.items.table[-1][0]] = (list(released), out_ports[0])
        forms, left = memory[self.items.table[-1][0]]

        def named(port: Port) -> Port:
            return ("speed", first + port[1]) if port[0] == "speed" else back[port]

        outer = tuple(back[p] for p in left)
        ways = [(tuple(map(named, gone)), tuple(map(named, rest)), of_joint) for gone, rest, of_joint in forms]
        if leaves:
            self.margin = Record(record.start, record.entries[:1])
        size = _flat_size(len(left), root)
        front = Record(record.start, record.entries[-size:]) if size else None
        if root and not left:
            front = None
        return _Reduced(outer, front, ways, record)

    def _reduce_ground(
        self, arriving: Sequence[tuple[tuple[Port, ...], Record]], born: Sequence[int], ends: Sequence[int]
    ) -> list[_Reduced]:
        """End the loops on the ground, one after the other."""
        waiting: dict[int, tuple[tuple[Port, ...], Record]] = dict(enumerate(arriving))
        users: dict[Port, set[int]] = {}
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

    def _end(self, c: int, arriving: Sequence[tuple[tuple[Port, ...], Record]], fresh: bool) -> _Reduced:
        """End one loop on the ground."""
        names: dict[Port, Port] = {}
        for ports in (*(ports for ports, _ in arriving), self.rows[c]):
            for port in ports:
                names.setdefault(port, ("row", len(names)))
        back = {local: port for port, local in names.items()}
        local_ports = [tuple(names[p] for p in ports) for ports, _ in arriving]
        own = tuple(names[p] for p in self.rows[c])
        result: list[Any] = []

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            fronts = [_grounded(ports, rec) for ports, rec in zip(local_ports, records, strict=False)]
            if fresh:
                fronts.append(_born(own, records[-2]))
            fronts, gone, margins = _closed(fronts, [own], on_node=False)
            margin = self._least(records[-1][0], margins)
            result[:] = [[(r.gone, r.left, False) for r in gone], fronts[0].ports]
            parts = [margin, *(p for r in gone for p in (r.nu, r.on_node, r.on_ports))]
            return [*_scalars(*parts), *_flat(fronts[0], True)], ()

        key = ("end", tuple(local_ports), own, fresh)
        before = len(self.items.kinds)
        records = [*(rec for _, rec in arriving), *([self.held[c]] if fresh else []), self.margin]
        record = self.items.add(key, trace, records)
        number = self.items.table[-1][0]
        if len(self.items.kinds) > before:
            self.forms[number] = tuple(result)
        forms, left = self.forms[number]
        self.margin = Record(record.start, record.entries[:1])
        size = _flat_size(len(left), True)
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
        self.values: dict[Port, tuple[Record, int]] = {}
        for one in reversed(ground):
            self._return(one, None, self.values)
        self.moved: list[Record] = []
        for k, one in enumerate(nodes):
            self.moved.append(self._return(one, k, self.values))

    def _return(self, one: _Reduced, k: int | None, values: dict[Port, tuple[Record, int]]) -> Record:
        """Find what was eliminated by an item, and a node's acceleration."""
        needed = [port for port in dict.fromkeys(p for _, left, _ in one.released for p in left) if port in values]
        blocks = list(dict.fromkeys(values[port][0] for port in needed))
        names: dict[Port, Port] = {port: ("row", i) for i, port in enumerate(needed)}
        for gone, left, _ in one.released:
            for port in (*gone, *left):
                names.setdefault(port, (port[0], len(names)))
        forms = [(tuple(names[p] for p in gone), tuple(names[p] for p in left), j) for gone, left, j in one.released]
        where = [(blocks.index(values[port][0]), values[port][1]) for port in needed]
        gone_ports = [p for gone, _, _ in one.released for p in gone]
        root = k is None or self.parents[k] < 0
        bone = None if k is None else self.bones[k]

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            own, at = records[0], 1
            loops: list[Released] = []
            joint: list[Released] = []
            for gone, left, of_joint in forms:
                n, m = len(gone), len(left)
                nu, at = own[at : at + n], at + n
                on_node, at = ca.reshape(own[at : at + 6 * n], 6, n), at + 6 * n
                on_ports, at = ca.reshape(own[at : at + m * n], m, n), at + m * n
                (joint if of_joint else loops).append(Released(gone, nu, on_node, left, on_ports))
            known: dict[Port, ca.SX] = {("row", i): records[1 + b][e] for i, (b, e) in enumerate(where)}
            rest = records[1 + len(blocks) :]
            alpha: ca.SX | None = None
            sent: list[ca.SX] = []
            if k is not None:
                node = self._node(k, rest[0][0 : self._n_x(k)], ca.SX(0, 1), ca.SX(0, 1), _each(constants), mass=False)
                if not root:
                    alpha = node.shift(node.q).motion(rest[1][0:6])
                recover(joint, alpha, known)
                u = ca.SX(ca.vertcat(*(known[gone[0]] for gone, _, of_joint in forms if of_joint)))
                own_part = node.joint_map(node.q) @ u
                alpha = own_part if alpha is None else alpha + own_part
                sent = ca.vertsplit(u)
            recover(loops, alpha, known)
            kept = [ca.SX.zeros(6) if alpha is None else alpha, *(known[names[p]] for p in gone_ports)]
            return _scalars(*kept), sent

        key: Hashable = ("return", tuple(forms), tuple(where), root)
        records = [one.record, *blocks]
        numbers: list[float] = []
        output = None
        if bone is not None and k is not None:
            key = (*key, self.names[k], self.dims[k].key)  # type: ignore[misc]
            records.append(self.placed[k])
            if not root:
                records.append(self.moved[bone.parent])
            numbers = self.dims[k].values
            output = _span(0, bone.v)
        record = self.items.add(key, trace, records, (), numbers, output)
        for i, port in enumerate(gone_ports):
            values[port] = (record, 6 + i)
        return record

    def _cut_joints(self) -> None:
        """Find the accelerations of the cut joints from those of the nodes they join."""
        for c, cut in enumerate(self.fastenings.cuts):
            n, m = cut.joint.nv, len(self.rows[c])
            if not n:
                continue
            on = [grip.node >= 0 for grip in cut.grips]

            def trace(records: Any, inputs: Any, constants: ca.SX, n: int = n, m: int = m, on: Any = on) -> Any:
                held, moved = records[0], iter(records[1:])
                total = held[m : m + n]
                for s in range(2):
                    if on[s]:
                        start = m + n + s * (6 * m + 6 * n + 6) + 6 * m
                        total = total + ca.reshape(held[start : start + 6 * n], 6, n).T @ next(moved)[0:6]
                return (), ca.vertsplit(total)

            records = [self.held[c], *(self.moved[grip.node] for grip in cut.grips if grip.node >= 0)]
            self.items.add(("cut", n, m, tuple(on)), trace, records, output=_span(0, cut.v))

    def _guard(self) -> None:
        """Divide the first number by zero where the result cannot be trusted."""
        if self.limits.check:
            for c in range(len(self.fastenings.cuts)):
                own = Record(self.held[c].start, self.held[c].entries[-2:])

                def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
                    seen, new = records
                    return _scalars(seen[0], seen[1] + new[0], seen[2] + new[1], seen[3]), ()

                self.items.add("gap", trace, [self.watched, own], into=self.watched)
            for where in (*(bone.v for bone in self.bones), *(cut.v for cut in self.fastenings.cuts)):
                if where.stop > where.start:
                    self.items.add("speed", _faster, [self.watched], [_span(1, where)], into=self.watched)
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


# ---------------------------------------------------------------------- records


class _Own(NamedTuple):
    """A cut joint's own motion: its force columns on both sides, and its acceleration where no speed changes."""

    F: tuple[ca.SX, ca.SX]
    second: ca.SX


class _Sided:
    """A closure at a state with both its sides, also one that is on the base."""

    def __init__(self, closing: Closing, walk: Unrolled) -> None:
        cut = closing.fastenings.cuts[0]
        self.grips, self.stations = cut.grips, closing.stations(walk, cut)
        self.rows, self.rates = closing.side_rows(walk)[0], closing.cut_rows(walk)[0]

    def pull(self, side: int, keep: tuple[int, ...]) -> ca.SX:
        """Return the force columns (6, m) of the kept rows on a side."""
        return columns(self.grips[side], self.stations[side], self.rows.D[side][list(keep), :])

    def second(self, keep: tuple[int, ...]) -> ca.SX:
        """Return phi'' where no speed changes."""
        total = self.rows.bias[list(keep), :]
        for D, station in zip(self.rows.D, self.stations, strict=True):
            total = total + D[list(keep), :] @ station.acceleration
        return total

    def own(self) -> _Own:
        """Return the cut joint's own motion."""
        total = self.rates.bias
        for D, station in zip(self.rates.D, self.stations, strict=True):
            total = total + D @ station.acceleration
        first, second = (columns(g, s, D) for g, s, D in zip(self.grips, self.stations, self.rates.D, strict=True))
        return _Own((first, second), total)


def _closed(
    fronts: list[Front], leaves: Sequence[tuple[Port, ...]], *, on_node: bool
) -> tuple[list[Front], list[Released], list[ca.SX]]:
    """End loops one after the other; return also each pivot as a share of what it was before its loop ended."""
    gone: list[Released] = []
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


def _flat(front: Front, root: bool) -> list[ca.SX]:
    """Return a front's numbers: on the ground only what it asks of its ports."""
    n = len(front.ports)
    lower = [front.S[i, j] for i in range(n) for j in range(i + 1)]
    if root:
        return [*lower, *_scalars(front.e)]
    assert front.P is not None
    P = front.P.matrix()
    inertia = [P[i, j] for i in range(6) for j in range(i + 1)]
    return [*inertia, *_scalars(front.F, front.z), *lower, *_scalars(front.e)]


def _flat_size(n: int, root: bool) -> int:
    return n * (n + 1) // 2 + n + (0 if root else 27 + 6 * n)


def _front(ports: tuple[Port, ...], record: ca.SX) -> Front:
    """Return the front on a node that `_flat` wrote."""
    n = len(ports)
    P = ArticulatedInertia.of_matrix(_symmetric(record[0:21], 6))
    F, z = ca.reshape(record[21 : 21 + 6 * n], 6, n), record[21 + 6 * n : 27 + 6 * n]
    rest = _grounded(ports, record[27 + 6 * n :])
    return Front(ports, P, F, z, rest.S, rest.e)


def _grounded(ports: tuple[Port, ...], record: ca.SX) -> Front:
    """Return the front on the ground that `_flat` wrote."""
    n = len(ports)
    lower = n * (n + 1) // 2
    S = _symmetric(record[0:lower], n)
    return Front(ports, None, ca.SX.zeros(6, n), ca.SX.zeros(6), S, record[lower : lower + n])


def _symmetric(lower: ca.SX, n: int) -> ca.SX:
    A, at = ca.SX.zeros(n, n), 0
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = A[j, i] = lower[at]
            at += 1
    return A


def _born(ports: tuple[Port, ...], held: ca.SX) -> Front:
    """Return what a closure asks where it is complete: its second derivative."""
    n = len(ports)
    return Front(ports, None, ca.SX.zeros(6, n), ca.SX.zeros(6), ca.SX.zeros(n, n), -held[0:n])


def _pull(ports: tuple[Port, ...], F: ca.SX) -> Front:
    """Return what a closure asks of a node."""
    n = len(ports)
    return Front(ports, None, -F, ca.SX.zeros(6), ca.SX.zeros(n, n), ca.SX.zeros(n))


def _pulled(held: ca.SX, m: int, n: int, side: int) -> tuple[ca.SX, ca.SX]:
    """Return a closure's force columns on a side, and the wrench of the cut joint's efforts there."""
    start = m + n + side * (6 * m + 6 * n + 6)
    return ca.reshape(held[start : start + 6 * m], 6, m), held[start + 6 * m + 6 * n : start + 6 * m + 6 * n + 6]


def _scalars(*parts: ca.SX) -> list[ca.SX]:
    return [x for part in parts for x in ca.vertsplit(ca.vec(ca.densify(ca.SX(part)))) if ca.SX(part).numel()]


def _reached(record: ca.SX) -> Reached:
    """Return a node seen from a loop's base, as it was recorded."""
    motion = Motion(record[0:3], ca.reshape(record[3:12], 3, 3))
    return Reached(motion, record[12:15], record[15:21], record[21:27])


def _each(numbers: ca.SX) -> Iterator[ca.SX]:
    return iter(ca.vertsplit(numbers) if numbers.numel() else [])


def _unwatched(records: Any, inputs: Any, constants: ca.SX) -> Any:
    return _scalars(ca.SX(1), ca.SX(0), ca.SX(0), ca.SX(1)), ()


def _faster(records: Any, inputs: Any, constants: ca.SX) -> Any:
    seen = records[0]
    return _scalars(seen[0:3], seen[3] + ca.sumsqr(inputs[0])), ()


def _span(argument: int, where: slice) -> Span:
    return Span(argument, where.start, where.stop - where.start)


def _floats(A: ca.SX) -> list[float]:
    return [x for row in ca.DM(A).full().tolist() for x in row]
