"""Loads on the nodes of a large model, as work items: elements, and given wrenches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.forces import ElementState, Force
from whippletree.formulations.nodes.applied_forces import ForcePlacement, ForcePlacements
from whippletree.formulations.nodes.frame_states import NodeFrame, NodeState, force_columns, frame_state
from whippletree.formulations.nodes.node_tree import column
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.rolled.step_records import StepRecord
from whippletree.formulations.rolled.work_items import InputSpan, ItemInputs, PlainNumbers, Record, WorkItems

__all__ = ["GivenLoads", "LoadItems", "frame_numbers", "local_frame", "with_efforts"]


class GivenLoads(NamedTuple):
    """Loads of a mechanism: elements, and wrenches that are given at places; `argument` gives the places of inputs.

    `parameters` are the symbols for what is in the input of this name.
    """

    acting: ForcePlacements
    wrenches: Mapping[str, int]
    argument: Mapping[str, int]
    parameters: ca.SX


class LoadItems:
    """Loads of elements and given wrenches: records of wrenches on nodes (`on_node`), and of `efforts` by freedom.

    `node_state` gives the record of a node's state, seen from the ground.
    """

    def __init__(self, items: WorkItems, argument: Mapping[str, int], node_state: Callable[[int], Record]) -> None:
        self._items, self._argument, self._node_state = items, argument, node_state
        self.on_node: dict[int, list[Record]] = {}
        self.efforts: dict[int, list[Record]] = {}
        self._stored: list[Record] = []

    def push(self, frame: NodeFrame, argument: int) -> None:
        """Bring a wrench that is given in ground axes to its node."""
        point = PlainNumbers(frame.numbers[9:])

        def trace(given: ItemInputs) -> list[StepRecord]:
            local = NodeFrame(0, frame.rotation, column(point.symbols(given.constants)))
            return [force_columns(local, frame_state(_standing(given.records), -1, local), given.inputs[0].T)]

        span = InputSpan(argument, 0, 6, by_row=True)
        key, records = ("push", point.key), [self._node_state(frame.node)]
        self.on_node.setdefault(frame.node, []).extend(self._items.add(key, trace, records, [span], point.values))

    def apply(self, force: Force, placed: ForcePlacement) -> None:
        """Let an element act at its places; its numbers, those of its formulas too, are constants of the item."""
        timed, force = force.timed, force.numbers_apart()
        own = PlainNumbers(force.entries())
        frames = [frame_numbers(frame) for frame in placed.frames]
        moving = [frame.node for frame in placed.frames if frame.node >= 0]
        places = [moving.index(frame.node) if frame.node >= 0 else -1 for frame in placed.frames]
        n, m = len(placed.q), len(placed.z) if "z" in self._argument else 0

        def trace(given: ItemInputs) -> list[StepRecord]:
            element = type(force).of(force.text, tuple(own.symbols(given.constants)))
            local = [local_frame(place, known, given.constants) for place, known in zip(places, frames, strict=True)]
            states = [frame_state(_standing(given.records), -1, frame) for frame in local]
            shares = (given.inputs[:n], given.inputs[n : 2 * n], given.inputs[2 * n : 2 * n + m])
            q, v, z = (ca.SX(ca.vertcat(ca.SX(0, 1), *part)) for part in shares)
            z = z if m else ca.SX.zeros(len(placed.z))
            t = given.inputs[-1] if timed else ca.SX(0)
            done = element.act(ElementState(tuple(state.side for state in states), q, v, z, t))
            pushed = [
                force_columns(frame, state, wrench.T)
                for frame, state, wrench in zip(local, states, done.wrenches, strict=True)
                if frame.node >= 0
            ]
            return [*pushed, *(done.efforts[i] for i in range(n)), ca.SX(done.stored)]

        key = ("act", type(force), force.text, own.key, tuple(frame.key for frame in frames), tuple(places), n, m)
        spans = [InputSpan(0, i, 1) for i in placed.q] + [InputSpan(1, i, 1) for i in placed.v]
        spans += [InputSpan(self._argument["z"], i, 1) for i in placed.z[:m]]
        spans += [InputSpan(self._argument["t"], 0, 1)] if timed else []
        constants = [*own.values, *(x for frame in frames for x in frame.values)]
        *left, stored = self._items.add(key, trace, [self._node_state(k) for k in moving], spans, constants)
        self._stored.append(stored)
        for k, record in zip(moving, left, strict=False):
            self.on_node.setdefault(k, []).append(record)
        for i, record in zip(placed.v, left[len(moving) :], strict=True):
            self.efforts.setdefault(i, []).append(record)

    def efforts_at(self, where: slice) -> tuple[list[Record], tuple[int, ...]]:
        """Return the records of elements' efforts at some freedoms, and for each which of these it is at."""
        found = [(record, i) for i in range(where.start, where.stop) for record in self.efforts.get(i, ())]
        return [record for record, _ in found], tuple(i - where.start for _, i in found)

    def stored_energy(self) -> Record:
        """Return the record of the energy that is stored in all elements."""
        self._items.begin_loop()
        (total,) = self._items.add("no energy", lambda given: [ca.SX(0)], whole=(0,))
        for stored in self._stored:
            (total,) = self._items.add(
                "energy", lambda given: [sum(given.records, ca.SX(0))], [total, stored], whole=(0,)
            )
        return total


def with_efforts(tau: ca.SX, efforts: Sequence[ca.SX], at: Sequence[int]) -> ca.SX:
    """Return efforts with those of elements added, each at its freedom."""
    tau = ca.SX(tau)
    for effort, i in zip(efforts, at, strict=True):
        tau[i] = tau[i] + effort
    return tau


def frame_numbers(frame: NodeFrame) -> PlainNumbers:
    """Return the numbers of a frame: its rotation, row after row, and its point."""
    return PlainNumbers(frame.numbers)


def local_frame(node: int, known: PlainNumbers, numbers: Iterator[ca.SX]) -> NodeFrame:
    """Return a frame over symbols."""
    dims = known.symbols(numbers)
    rotation = ca.densify(ca.SX(ca.blockcat([dims[0:3], dims[3:6], dims[6:9]])))
    return NodeFrame(node, rotation, column(dims[9:12]))


def _standing(states: Sequence[NodeState]) -> Unrolled:
    """Return a walk that knows where its nodes are."""
    walk = Unrolled([], [], [], 0, ca.SX.zeros(3))
    walk.reached.update({(-1, i, None): state for i, state in enumerate(states)})
    return walk
