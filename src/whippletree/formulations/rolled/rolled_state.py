"""A large mechanism with loops at a state, item by item: nodes are placed, elements act, closures are evaluated.

What the items compute is what `composite`, `applied_forces` and `closure_set` compute in one straight line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import JointClosure
from whippletree.elements.joints import Joint
from whippletree.formulations.closures import loop_results
from whippletree.formulations.closures.closure_frames import ClosureAttachment, ClosureAttachments, CutJoint
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_results import LengthOf
from whippletree.formulations.nodes.frame_states import NodeFrame, NodeState, advance, force_columns
from whippletree.formulations.nodes.node import AngularState
from whippletree.formulations.nodes.node_tree import NodeTree, column
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body as composite
from whippletree.formulations.rolled.load_items import (
    GivenLoads,
    LoadItems,
    frame_numbers,
    local_frame,
    with_efforts,
)
from whippletree.formulations.rolled.node_kinds import NodeKinds, joint_kind, joint_type
from whippletree.formulations.rolled.step_records import StepRecord
from whippletree.formulations.rolled.work_items import InputSpan, ItemInputs, PlainNumbers, Record, WorkItems
from whippletree.spatial import stack

__all__ = ["ClosureRecords", "RolledState", "span_of"]

LONG = 8
"""Loops of more nodes than this are walked node by node. Up to this many, one item for the whole loop is less code than
the kinds of items that walk there, and finds more that cancels."""


class PlacedNode(NamedTuple):
    """The records of a placed node: its configuration, and the force on its body where no speed changes.

    `own` are then the efforts at own coordinates, if the node is a body with such.
    """

    x: Record
    f: Record
    own: Record


class ClosureRecords(NamedTuple):
    """The records of a closure at a state.

    phi'' (m) and the cut joint's acceleration (n) where no speed changes; for each side the force columns (6, m) with
    the wrench (6) of the cut joint's efforts, and the columns (6, n) of its freedoms; if checked, gap and slip.
    """

    second: Record
    acceleration: Record
    forces: tuple[Record, Record]
    freedoms: tuple[Record, Record]
    misfit: Record


class RolledState:
    """A mechanism that is being rolled: its nodes, its loads, and its closures as records.

    `length_of` gives the characteristic length of a cut joint by its name if closures shall say how far they are open.
    """

    def __init__(
        self,
        node_tree: NodeTree,
        attachments: ClosureAttachments,
        keep: Sequence[tuple[int, ...]],
        loads: GivenLoads,
        length_of: LengthOf | None,
    ) -> None:
        self.node_constants, self.attachments, self.keep = node_tree.node_constants, attachments, keep
        self.parents, self.homes = node_tree.tree.parents, node_tree.homes
        self.kinds = NodeKinds(self.node_constants)
        self.items = WorkItems(loads.parameters, loads.argument.get("parameters", -1))
        self.items.work_out([self.kinds.constants(k) for k in range(len(self.node_constants))])
        self._length_of, self._gravity = length_of, PlainNumbers(node_tree.gravity)
        self._reached: dict[tuple[int, int], Record] = {}
        self.placed = self._place()
        self.loads = LoadItems(self.items, loads.argument, lambda k: self._reach(-1, k))
        for name, argument in loads.wrenches.items():
            node, placement = node_tree.where[name]
            if node >= 0:
                self.loads.push(NodeFrame(node, ca.SX.eye(3), column(placement.point)), argument)
        for force, placed in loads.acting.forces:
            self.loads.apply(force, placed)
        self.closures = [self._evaluate_closure(c) for c in range(len(attachments.cuts))]

    # ------------------------------------------------------------------ nodes

    def _place(self) -> list[PlacedNode]:
        """Place the nodes outward."""
        found: list[PlacedNode] = []
        carried: list[Record] = []
        for k, constants in enumerate(self.node_constants):
            root = constants.parent < 0

            def trace(given: ItemInputs, k: int = k) -> list[StepRecord]:
                q, v = given.inputs
                node = self.kinds.node(k, {"q": q, "v": v}, given.constants)
                rate, alpha = given.records[0] if given.records else self._ground(given.constants)
                motion = AngularState(rate, ca.densify(ca.SX.eye(3)))
                leaving, kept = composite.accelerate(node, composite.CarriedAcceleration(motion, alpha))
                return [(leaving.motion.rate, leaving.alpha), kept.x, kept.f, kept.own]

            spans = [span_of(0, constants.q), span_of(1, constants.v)]
            above, fall = ([], self._gravity.values) if root else ([carried[constants.parent]], [])
            key = ("place", self.kinds.key(k), root)
            leaving, *placed = self.items.add(key, trace, above, spans, [*self.kinds.constants(k), *fall])
            carried.append(leaving)
            found.append(PlacedNode(*placed))
        return found

    def _ground(self, constants: Iterator[ca.SX]) -> tuple[ca.SX, ca.SX]:
        """Return how the ground turns and, gravity being a fall of all else, moves."""
        return ca.SX.zeros(3), stack(ca.SX.zeros(3), -column(self._gravity.symbols(constants)))

    def _reach(self, base: int, k: int) -> Record:
        """Return the record of a node's state, seen from a loop's base."""
        way = []
        while k != base and (base, k) not in self._reached:
            way.append(k)
            k = self.parents[k]
        for k in reversed(way):
            rest = self.parents[k] == base

            def trace(given: ItemInputs, k: int = k, rest: bool = rest) -> list[StepRecord]:
                state = {"x": given.records[0], "v": given.inputs[0]}
                node = self.kinds.node(k, state, given.constants, mass=False)
                return [advance(node, NodeState.rest() if rest else given.records[1])]

            above = [] if rest else [self._reached[base, self.parents[k]]]
            key, spans = ("reach", self.kinds.place_key(k), rest), [span_of(1, self.node_constants[k].v)]
            records, constants = [self.placed[k].x, *above], self.kinds.dims[k].values
            (self._reached[base, k],) = self.items.add(key, trace, records, spans, constants)
        return self._reached[base, way[0] if way else k]

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

    def _evaluate_closure(self, c: int) -> ClosureRecords:
        """Evaluate a closure, from its base along its loop; long loops were walked node by node."""
        cut = self.attachments.cuts[c]
        nodes, parents, sides = self._path(cut)
        reached: list[Record] = []
        if len(nodes) > LONG:  # the sides are reached step by step, and stand for the path
            ends = [frame.node for frame in cut.frames if frame.node != cut.base]
            reached = [self._reach(cut.base, k) for k in ends]
            first, second = (-1 if frame.node == cut.base else ends.index(frame.node) for frame in cut.frames)
            nodes, parents, sides = [], [], (first, second)
        frames = [frame_numbers(frame) for frame in cut.frames]
        efforts, at_freedoms = self.loads.efforts_at(cut.v)
        own = _cut_numbers(cut.joint)

        def trace(given: ItemInputs) -> list[StepRecord]:
            walk = self._loop_walk(given, nodes, parents, cut.joint.nv)
            walk.reached.update({(-1, i, None): state for i, state in enumerate(given.records[: len(reached)])})
            first, second = (
                local_frame(side, known, given.constants) for side, known in zip(sides, frames, strict=True)
            )
            tau = with_efforts(given.inputs[-1], given.records[len(given.records) - len(efforts) :], at_freedoms)
            joint = cut.joint.with_constants(own.symbols(given.constants)) if own.values else cut.joint
            length = next(given.constants)  # not empty: the last of them
            return self._closure_terms(c, joint, walk, (first, second), given.inputs[:-1], tau, length)

        key = (
            "closure",
            tuple(self.kinds.place_key(k) for k in nodes),
            tuple(parents),
            sides,
            tuple(frame.key for frame in frames),
            joint_type(cut.joint) if own.values else joint_kind(cut.joint),
            own.key,
            tuple(self.keep[c]),
            at_freedoms,
            bool(reached),
        )
        spans = [span_of(1, self.node_constants[k].v) for k in nodes]
        spans += [span_of(0, cut.q), span_of(1, cut.v), span_of(2, cut.v)]
        numbers = [*(self.kinds.dims[k] for k in nodes), *frames, own]
        constants = [x for part in numbers for x in part.values]
        constants.append(1.0 if self._length_of is None else self._length_of(cut.use.name))
        records = [*reached, *(self.placed[k].x for k in nodes), *efforts]
        left = self.items.add(key, trace, records, spans, constants)
        return ClosureRecords(left[0], left[1], (left[2], left[3]), (left[4], left[5]), left[6])

    def _loop_walk(self, given: ItemInputs, nodes: Sequence[int], parents: Sequence[int], n_cut: int) -> Unrolled:
        """Return a walk over the nodes of a loop; the velocities of its cut joint follow theirs."""
        walk_nodes, slices, at = [], [], 0
        for i, k in enumerate(nodes):
            state = {"x": given.records[i], "v": given.inputs[i]}
            walk_nodes.append(self.kinds.node(k, state, given.constants, mass=False))
            slices.append(slice(at, at + self.node_constants[k].joint.nv))
            at = slices[-1].stop
        return Unrolled(walk_nodes, parents, slices, at + n_cut, ca.SX.zeros(3))

    def _closure_terms(
        self,
        c: int,
        joint: Joint,
        walk: Unrolled,
        frames: tuple[NodeFrame, NodeFrame],
        inputs: Sequence[ca.SX],
        tau: ca.SX,
        length: ca.SX,
    ) -> list[StepRecord]:
        """Return the terms of `ClosureRecords`; the inputs are the nodes' velocities, and q and v of the cut joint."""
        use, keep = replace(self.attachments.cuts[c].use, joint=joint), tuple(self.keep[c])
        *speeds, q, v = inputs
        cut = CutJoint(use, frames, -1, slice(0, joint.nq), slice(walk.nv - joint.nv, walk.nv))
        attachments = ClosureAttachments((ClosureAttachment(use.name, JointClosure(joint), frames, -1, (), 0),), (cut,))
        all_speeds = ca.SX(ca.vertcat(*speeds, v))
        closure_set = ClosureSet(attachments, (keep,), q, all_speeds, ca.SX.zeros(walk.nv), ca.SX(0))
        states = closure_set.frame_states(walk, cut)
        rows, rates = closure_set.side_rows(walk)[0], closure_set.cut_rows(walk)[0]
        second, own = rows.bias[list(keep), :], rates.bias
        forces, freedoms = [], []
        for s, state in enumerate(states):  # sides on the base have no node here, but are held all the same
            D, E = rows.D[s][list(keep), :], rates.D[s]
            second, own = second + D @ state.acceleration, own + E @ state.acceleration
            on_freedoms = force_columns(frames[s], state, E)
            wrench = on_freedoms @ tau if cut.joint.nv else ca.SX.zeros(6)
            forces.append((force_columns(frames[s], state, D), wrench))
            freedoms.append(on_freedoms)
        misfit: tuple[ca.SX, ...] = ()
        if self._length_of is not None:
            misfit = loop_results.closure_gap(walk, closure_set, lambda _: length)
        return [second, own, *forces, *freedoms, misfit]


def _cut_numbers(joint: Joint) -> PlainNumbers:
    """Return the own constants of a cut joint, or none if its rows are others than those of most joints of its type.

    The rows of a joint type that does not state what it holds follow from the zeros of its joint map.
    """
    numbers = PlainNumbers(joint.constants())
    if not numbers.values:
        return numbers
    general = joint.with_constants(numbers.symbols(iter([ca.SX.sym("c") for _ in numbers.values])))
    return numbers if JointClosure(general).labels == JointClosure(joint).labels else PlainNumbers([])


def span_of(argument: int, where: slice) -> InputSpan:
    """Return a slice of an argument as a span."""
    return InputSpan(argument, where.start, where.stop - where.start)
