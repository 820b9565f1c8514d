"""A large mechanism at a state, item by item: nodes are placed, elements act, closures take hold.

Each leaves a record that later items read (`items`); what they compute is what `composite`, `loading` and `closing`
compute in one straight line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.forces import Force, Situation
from whippletree.formulations.closures import loop_results as closed
from whippletree.formulations.closures.closure_frames import ClosureAttachment, ClosureAttachments, CutJoint
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.nodes.applied_forces import ForcePlacement, ForcePlacements
from whippletree.formulations.nodes.frame_states import NodeFrame, NodeState, advance, force_columns, frame_state
from whippletree.formulations.nodes.node import AngularState, Node
from whippletree.formulations.nodes.node_tree import NodeTree, column, rigid_inertia
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body as composite
from whippletree.formulations.rolled.item_records import Numbers, Ready, each, floats, reached_in, scalars, span_of
from whippletree.formulations.rolled.rolled_walk import joint_kind
from whippletree.formulations.rolled.work_items import Items, Record, Span
from whippletree.spatial import stack

__all__ = ["Loads", "RolledState", "with_efforts"]

LONG = 8
"""Loops of more nodes than this are walked node by node; in shorter ones that is one item."""


class Loads(NamedTuple):
    """What acts on a mechanism: elements, and wrenches that are given at places; `argument` is where inputs are."""

    acting: ForcePlacements
    wrenches: Mapping[str, int]
    argument: Mapping[str, int]


class RolledState:
    """A mechanism that is being rolled: its nodes and closures as records.

    `length` is the characteristic one if closures shall say how far they are open, else None.
    """

    def __init__(
        self,
        node_tree: NodeTree,
        attachments: ClosureAttachments,
        keep: Sequence[tuple[int, ...]],
        loads: Loads,
        length: float | None,
    ) -> None:
        self.node_tree, self.node_constants, self.attachments, self.keep = (
            node_tree,
            node_tree.node_constants,
            attachments,
            keep,
        )
        self.loads, self.length = loads, length
        self.gravity = column(node_tree.gravity)
        self.items = Items()
        self.parents = [constants.parent for constants in self.node_constants]
        self.names = [joint_kind(constants.joint) for constants in self.node_constants]
        self.dims = [
            Numbers([*(x for row in b.placement.rotation for x in row), *b.placement.point])
            for b in self.node_constants
        ]
        self.masses = [Numbers(constants.inertia) for constants in self.node_constants]
        self.reached: dict[tuple[int, int], Record] = {}
        self.pushes: list[list[Record]] = [[] for _ in self.node_constants]
        self.efforts: dict[int, list[Record]] = {}
        self.placed = self._place()
        self._act()
        self.closures = [self._evaluate_closure(c) for c in range(len(attachments.cuts))]

    # ------------------------------------------------------------------ nodes

    def node(self, k: int, x: ca.SX, v: ca.SX, tau: ca.SX, numbers: Iterator[ca.SX], *, mass: bool) -> Node:
        """Return a node like k over symbols."""
        joint = self.node_constants[k].joint
        dims = self.dims[k].symbols(numbers)
        inertia = self.masses[k].symbols(numbers) if mass else [0.0] * 10
        rotation = ca.densify(ca.SX(ca.blockcat([dims[0:3], dims[3:6], dims[6:9]])))
        none = ca.SX.zeros(joint.nv)
        ready: Any = Ready(joint)
        return Node(ready, rotation, column(dims[9:12]), rigid_inertia(inertia), x, v, tau, none)

    def _place(self) -> list[Record]:
        """Place the nodes; a record holds the configuration, the turning rate, the acceleration, and the force."""
        found: list[Record] = []
        for k, constants in enumerate(self.node_constants):
            root = constants.parent < 0

            def trace(records: Any, inputs: Any, constants: ca.SX, k: int = k, root: bool = root) -> Any:
                joint = self.node_constants[k].joint
                x = joint.configuration(inputs[0])
                none = ca.SX.zeros(joint.nv)
                node = self.node(k, x, inputs[1], none, each(constants), mass=True)
                if root:
                    base = composite.CarriedAcceleration(AngularState.rest(), stack(ca.SX.zeros(3), -self.gravity))
                else:
                    own = records[0][-15:]
                    base = composite.CarriedAcceleration(AngularState(own[0:3], ca.densify(ca.SX.eye(3))), own[3:9])
                carried, inertial = composite.accelerate(node, base)
                return scalars(x, carried.motion.rate, carried.alpha, inertial.f), ()

            key = ("place", self.names[k], self.dims[k].key, self.masses[k].key, root)
            spans = [span_of(0, constants.q), span_of(1, constants.v)]
            above = [] if root else [found[constants.parent]]
            numbers = [*self.dims[k].values, *self.masses[k].values]
            found.append(self.items.add(key, trace, above, spans, numbers))
        return found

    def _reach(self, base: int, k: int) -> Record:
        """Return a node seen from a loop's base: turning rate, axes, origin, twist and acceleration."""
        way = []
        while k != base and (base, k) not in self.reached:
            way.append(k)
            k = self.parents[k]
        for k in reversed(way):
            rest = self.parents[k] == base

            def trace(records: Any, inputs: Any, constants: ca.SX, k: int = k, rest: bool = rest) -> Any:
                none = ca.SX.zeros(self.node_constants[k].joint.nv)
                node = self.node(k, records[0][0 : self.n_x(k)], inputs[0], none, each(constants), mass=False)
                found = advance(node, NodeState.rest() if rest else reached_in(records[1]))
                return scalars(found.motion.rate, found.motion.axes, found.p, found.V, found.alpha), ()

            above = [] if rest else [self.reached[base, self.parents[k]]]
            key = ("reach", self.names[k], self.dims[k].key, rest)
            spans = [span_of(1, self.node_constants[k].v)]
            self.reached[base, k] = self.items.add(key, trace, [self.placed[k], *above], spans, self.dims[k].values)
        return self.reached[base, way[0] if way else k]

    def n_x(self, k: int) -> int:
        """Return the size of a node's configuration."""
        joint = self.node_constants[k].joint
        return int(joint.configuration(ca.SX.zeros(joint.nq)).shape[0])

    # ------------------------------------------------------------------ what acts

    def _act(self) -> None:
        """Let wrenches and elements act; records hold pushes on nodes and efforts at joints."""
        for name, argument in self.loads.wrenches.items():
            node, placement = self.node_tree.where[name]
            if node >= 0:
                self._push(NodeFrame(node, ca.SX.eye(3), column(placement.point)), argument)
        for force, placed in self.loads.acting.forces:
            self._apply(force, placed)

    def _push(self, frame: NodeFrame, argument: int) -> None:
        """Bring a wrench that is given in ground axes to its node."""
        point = Numbers(floats(frame.point))

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            local = NodeFrame(0, frame.rotation, column(point.symbols(each(constants))))
            return scalars(force_columns(local, frame_state(_standing(records), -1, local), inputs[0].T)), ()

        records = [self._reach(-1, frame.node)]
        self.pushes[frame.node].append(
            self.items.add(("push", point.key), trace, records, [Span(argument, 0, 6)], point.values)
        )

    def _apply(self, force: Force, placed: ForcePlacement) -> None:
        """Let an element act on what it takes hold of; its numbers are read from the table."""
        own = Numbers(force.entries())
        frames = [Numbers([*floats(frame.rotation), *floats(frame.point)]) for frame in placed.frames]
        on = [frame.node for frame in placed.frames]
        moving = [k for k in on if k >= 0]
        places = [moving.index(k) if k >= 0 else -1 for k in on]
        n, m = len(placed.q), len(placed.z)

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            numbers = each(constants)
            element = type(force).of(force.text, tuple(own.symbols(numbers)))
            local = [_frame(place, known, numbers) for place, known in zip(places, frames, strict=True)]
            frame_states = [frame_state(_standing(records), -1, frame) for frame in local]
            q, v, z = (
                ca.SX(ca.vertcat(ca.SX(0, 1), *part))
                for part in (inputs[:n], inputs[n : 2 * n], inputs[2 * n : 2 * n + m])
            )
            t = inputs[-1] if force.timed else ca.SX(0)
            done = element.act(Situation(tuple(state.side for state in frame_states), q, v, z, t))
            pushed = [
                force_columns(frame, state, wrench.T)
                for frame, state, wrench in zip(local, frame_states, done.wrenches, strict=True)
                if frame.node >= 0
            ]
            return scalars(*pushed, done.efforts), ()

        key = ("act", type(force), force.text, own.key, tuple(frame.key for frame in frames), tuple(places), n, m)
        argument = self.loads.argument
        spans = [Span(0, i, 1) for i in placed.q] + [Span(1, i, 1) for i in placed.v]
        spans += [Span(argument["z"], i, 1) for i in placed.z] + ([Span(argument["t"], 0, 1)] if force.timed else [])
        constants = [*own.values, *(x for frame in frames for x in frame.values)]
        record = self.items.add(key, trace, [self._reach(-1, k) for k in moving], spans, constants)
        for i, k in enumerate(moving):
            self.pushes[k].append(Record(record.start, record.entries[6 * i : 6 * i + 6]))
        for i, freedom in enumerate(placed.v):
            at = 6 * len(moving) + i
            self.efforts.setdefault(freedom, []).append(Record(record.start, record.entries[at : at + 1]))

    def efforts_at(self, where: slice) -> tuple[list[Record], tuple[int, ...]]:
        """Return the records of elements' efforts at some freedoms, and for each which of these it is at."""
        found = [(record, i) for i in range(where.start, where.stop) for record in self.efforts.get(i, ())]
        return [record for record, _ in found], tuple(i - where.start for _, i in found)

    # ------------------------------------------------------------------ closures

    def _path(self, cut: CutJoint) -> tuple[list[int], list[int], tuple[int, int]]:
        """Return the nodes between a loop's base and its sides, their parents among themselves, and the sides."""
        found: set[int] = set()
        for frame in cut.frames:
            k = frame.node
            while k != cut.base:
                found.add(k)
                k = self.parents[k]
        nodes = sorted(found)
        place = {cut.base: -1, **{k: i for i, k in enumerate(nodes)}}
        return nodes, [place[self.parents[k]] for k in nodes], (place[cut.frames[0].node], place[cut.frames[1].node])

    def _evaluate_closure(self, c: int) -> Record:
        """Let a closure take hold.

        The record has phi'' (m), for each side the force columns (6, m) and those of the cut joint's freedoms (6, n),
        the latter's acceleration (n), and the efforts' wrench (6) on each side; then, if checked, gap and slip.
        """
        cut, keep = self.attachments.cuts[c], self.keep[c]
        nodes, parents, sides = self._path(cut)
        far = len(nodes) > LONG
        if far:  # the sides are reached step by step, and stand for the path
            ends = [frame.node for frame in cut.frames if frame.node != cut.base]
            reached = [self._reach(cut.base, k) for k in ends]
            nodes, parents = [], []
            first, second = (-1 if frame.node == cut.base else ends.index(frame.node) for frame in cut.frames)
            sides = (first, second)
        frames = [Numbers([*floats(frame.rotation), *floats(frame.point)]) for frame in cut.frames]
        n, length = cut.joint.nv, self.length
        more, at_freedoms = self.efforts_at(cut.v)

        def trace(records: Any, inputs: Any, constants: ca.SX) -> Any:
            numbers = each(constants)
            walk_nodes, slices, at = [], [], 0
            for i, k in enumerate(nodes):
                size, nv = self.n_x(k), self.node_constants[k].joint.nv
                none = ca.SX.zeros(nv)
                walk_nodes.append(self.node(k, records[i][0:size], inputs[i], none, numbers, mass=False))
                slices.append(slice(at, at + nv))
                at += nv
            walk = Unrolled(walk_nodes, parents, slices, at + n, ca.SX.zeros(3))
            if far:
                ways = enumerate(records[: len(reached)])
                walk.memory.update({(-1, i, None): reached_in(record) for i, record in ways})
            local = [_frame(side, known, numbers) for side, known in zip(sides, frames, strict=True)]
            q, v, tau = inputs[-3:]
            tau = with_efforts(tau, records[len(records) - len(more) :], at_freedoms)
            nq = cut.joint.nq
            joint = CutJoint(cut.use, (local[0], local[1]), -1, slice(0, nq), slice(at, at + n))
            closure = self.attachments.all[c].closure
            closures = ClosureAttachments(
                (ClosureAttachment(cut.use.name, closure, joint.frames, -1, (), 0),), (joint,)
            )
            speeds = ca.SX(ca.vertcat(*inputs[:-3], v))
            closure_set = ClosureSet(closures, (tuple(keep),), q, speeds, ca.SX.zeros(at + n), ca.SX(0))
            # sides on the base have no node here, but are pulled all the same
            whole = _Sided(closure_set, walk)
            second, own = whole.second(tuple(keep)), whole.own()
            parts = [second, own.second]
            for s in range(2):
                parts += [whole.on_node(s, tuple(keep)), own.F[s], own.F[s] @ tau if n else ca.SX.zeros(6)]
            if length is not None:
                parts += list(closed.closure_gap(walk, closure_set, length))
            return scalars(*parts), ()

        key = (
            "hold",
            tuple((self.names[k], self.dims[k].key) for k in nodes),
            tuple(parents),
            sides,
            tuple(frame.key for frame in frames),
            joint_kind(cut.joint),
            tuple(keep),
            at_freedoms,
        )
        spans = [span_of(1, self.node_constants[k].v) for k in nodes] + [
            span_of(0, cut.q),
            span_of(1, cut.v),
            span_of(2, cut.v),
        ]
        constants = [x for k in nodes for x in self.dims[k].values] + [x for frame in frames for x in frame.values]
        records = [*(reached if far else [self.placed[k] for k in nodes]), *more]
        return self.items.add((*key, far), trace, records, spans, constants)


class _Own(NamedTuple):
    """A cut joint's own motion: its force columns on both sides, and its acceleration where no speed changes."""

    F: tuple[ca.SX, ca.SX]
    second: ca.SX


class _Sided:
    """A closure at a state with both its sides, also one that is on the base."""

    def __init__(self, closure_set: ClosureSet, walk: Unrolled) -> None:
        cut = closure_set.attachments.cuts[0]
        self.frames, self.frame_states = cut.frames, closure_set.frame_states(walk, cut)
        self.rows, self.rates = closure_set.side_rows(walk)[0], closure_set.cut_rows(walk)[0]

    def on_node(self, side: int, keep: tuple[int, ...]) -> ca.SX:
        """Return the force columns (6, m) of the kept rows on a side."""
        return force_columns(self.frames[side], self.frame_states[side], self.rows.D[side][list(keep), :])

    def second(self, keep: tuple[int, ...]) -> ca.SX:
        """Return phi'' where no speed changes."""
        total = self.rows.bias[list(keep), :]
        for D, state in zip(self.rows.D, self.frame_states, strict=True):
            total = total + D[list(keep), :] @ state.acceleration
        return total

    def own(self) -> _Own:
        """Return the cut joint's own motion."""
        total = self.rates.bias
        for D, state in zip(self.rates.D, self.frame_states, strict=True):
            total = total + D @ state.acceleration
        first, second = (
            force_columns(g, s, D) for g, s, D in zip(self.frames, self.frame_states, self.rates.D, strict=True)
        )
        return _Own((first, second), total)


def with_efforts(tau: ca.SX, records: Sequence[ca.SX], at: Sequence[int]) -> ca.SX:
    """Return efforts with those of elements added, each at its freedom."""
    tau = ca.SX(tau)
    for record, i in zip(records, at, strict=True):
        tau[i] = tau[i] + record[0]
    return tau


def _frame(node: int, known: Numbers, numbers: Iterator[ca.SX]) -> NodeFrame:
    """Return a frame over symbols."""
    dims = known.symbols(numbers)
    rotation = ca.densify(ca.SX(ca.blockcat([dims[0:3], dims[3:6], dims[6:9]])))
    return NodeFrame(node, rotation, column(dims[9:12]))


def _standing(records: Sequence[ca.SX]) -> Unrolled:
    """Return a walk that knows where its nodes are: those that were reached step by step."""
    walk = Unrolled([], [], [], 0, ca.SX.zeros(3))
    walk.memory.update({(-1, i, None): reached_in(record) for i, record in enumerate(records)})
    return walk
