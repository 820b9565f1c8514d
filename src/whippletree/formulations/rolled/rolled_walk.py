"""The rolled walk: each distinct kind of step is traced once, and a loop walks the nodes.

The formulations are the same text as for the unrolled walk. Here a step is called once per kind of node, with symbols
for the node's constants and state, for what arrives, and for what earlier sweeps kept. Constants that all nodes of a
kind share are folded. Afterwards it is found out which numbers anybody needs, and only those are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from whippletree.elements.joints import Joint, Reversed, Screw
from whippletree.formulations.nodes.node import Node, NodeLoad
from whippletree.formulations.nodes.node_tree import NodeConstants, NodeTree, column, rigid_inertia
from whippletree.formulations.rolled.memory_layout import Layout
from whippletree.formulations.rolled.step_records import flatten, rebuild
from whippletree.formulations.rolled.traced_steps import STACK, Draft, Kind, Origin, Sweep, V
from whippletree.loops import LoopProgram, Place
from whippletree.spatial.scalars import Scalar

__all__ = ["Rolled"]

FEW = 16
"""Up to this many kinds, what nodes have in common is folded into the code."""


@dataclass(frozen=True)
class Kept:
    """A handle to what a sweep kept: a record of symbols for each kind, and where they come from."""

    walk: Rolled
    sweep: int
    records: tuple[Any, ...]
    symbols: tuple[tuple[tuple[ca.SX, Origin], ...], ...]

    def at(self, index: int) -> Any:
        """Return the record of one node, for use after the sweeps."""
        return self.walk.record_at(self, index)


class Rolled:
    """A walk that traces each kind of step once."""

    def __init__(
        self,
        node_tree: NodeTree,
        inputs: Sequence[str],
        parameters: ca.SX,
        positions: Sequence[int | None] | None = None,
    ) -> None:
        self.node_constants, self.nv = node_tree.node_constants, node_tree.nv
        self.gravity = column(node_tree.gravity)
        self.inputs = {name: i for i, name in enumerate(inputs)}
        self.parameters = parameters
        self.positions: list[int | None] = (
            list(positions) if positions is not None else list(range(len(self.node_constants)))
        )
        self.loads = self._find_loads(node_tree, inputs)
        self.kinds = self._find_kinds()
        self.kind_of = [0] * len(self.node_constants)
        for k, kind in enumerate(self.kinds):
            for constants in kind.node_constants:
                self.kind_of[constants] = k
        self.sweeps: list[Sweep] = []
        self.climbs: list[tuple[dict[int, Draft], Kept, int]] = []
        self.solves = False  # whether what the climb collects is solved with
        self.after: list[tuple[ca.SX, Origin]] = []  # symbols that the last segment reads

    # ------------------------------------------------------------------ kinds

    @staticmethod
    def _find_loads(node_tree: NodeTree, inputs: Sequence[str]) -> dict[int, list[tuple[int, tuple[Scalar, ...]]]]:
        """Return for each loaded node the numbers of its wrench inputs and the points they act at."""
        loads: dict[int, list[tuple[int, tuple[Scalar, ...]]]] = {}
        for number, name in enumerate(inputs):
            if name.startswith("wrench on "):
                index, placement = node_tree.where[name.removeprefix("wrench on ")]
                if index >= 0:
                    loads.setdefault(index, []).append((number, placement.point))
        return loads

    def _find_kinds(self) -> list[Kind]:
        """Group nodes that take the same steps; while kinds stay few, common zeros and rotations are folded."""
        groups: dict[Hashable, list[int]] = {}
        for fold in (_folded_zeros, _folded_rotation, _folded_nothing):
            groups = {}
            for k, constants in enumerate(self.node_constants):
                inner = constants.joint.joint if isinstance(constants.joint, Reversed) else constants.joint
                key = (
                    type(inner),
                    constants.reverse,
                    constants.use.prescribed,
                    len(self.loads.get(k, ())),
                    fold(constants),
                )
                groups.setdefault(key, []).append(k)
            if len(groups) <= FEW:
                break
        return [self._make_kind(number, node_constants) for number, node_constants in enumerate(groups.values())]

    def numbers(self, k: int) -> list[Scalar]:
        """Return all constants of a node: point, rotation, inertia, the joint's own, points of loads."""
        constants = self.node_constants[k]
        rows = constants.placement.rotation
        lead = joint_lead(constants.joint)
        own: list[Scalar] = [] if lead is None else [lead]
        loads = [x for _, point in self.loads.get(k, ()) for x in point]
        return [*constants.placement.point, *(x for row in rows for x in row), *constants.inertia, *own, *loads]

    def _make_kind(self, number: int, node_constants: list[int]) -> Kind:
        rows = [self.numbers(k) for k in node_constants]
        symbols: list[tuple[ca.SX, Origin]] = []
        values: list[Any] = []
        varying: list[int] = []
        dynamic: list[int] = []
        for i, column_ in enumerate(zip(*rows, strict=True)):
            if all(isinstance(x, float) for x in column_) and len(set(column_)) == 1:
                values.append(column_[0])
                continue
            symbol = ca.SX.sym(f"c{number}_{i}")
            if all(isinstance(x, float) for x in column_):
                symbols.append((symbol, ("constant", len(varying))))
                varying.append(i)
            else:
                symbols.append((symbol, ("dynamic", len(dynamic))))
                dynamic.append(i)
            values.append(symbol)
        node = self._make_node(node_constants[0], values, symbols)
        return Kind(node_constants, node, symbols, varying, dynamic)

    def _make_node(self, example: int, values: list[Any], symbols: list[tuple[ca.SX, Origin]]) -> Node:
        """Return a node over symbols, like the example."""
        constants, rest = self.node_constants[example], values[22:]
        joint = constants.joint
        if joint_lead(joint) is not None:
            joint, rest = with_lead(joint, rest[0]), rest[1:]

        def state(name: str, size: int) -> ca.SX:
            if name not in self.inputs:
                return ca.SX.zeros(size)
            symbol = ca.SX.sym(name, size)
            symbols.extend((symbol[i], ("input", name, i)) for i in range(size))
            return symbol

        loads = []
        for number in range(len(self.loads.get(example, ()))):
            wrench = ca.SX.sym(f"w{number}", 6)
            symbols.extend((wrench[i], ("load", number, i)) for i in range(6))
            loads.append(NodeLoad(column(rest[3 * number : 3 * number + 3]), wrench))
        rotation = [values[3 + 3 * r : 6 + 3 * r] for r in range(3)]
        return Node(
            joint=joint,
            rotation=ca.densify(ca.SX(ca.blockcat(rotation))),
            point=column(values[0:3]),
            inertia=rigid_inertia(values[12:22]),
            q=state("q", joint.nq),
            v=state("v", joint.nv),
            tau=state("tau", joint.nv),
            acceleration=state("a", joint.nv),
            prescribed=constants.use.prescribed,
            loads=tuple(loads),
        )

    # ------------------------------------------------------------------ the walk

    def outward(self, step: Callable[..., Any], base: Any, *kept: Kept) -> Kept:
        """Trace an outward sweep."""
        sweep = Sweep(outward=True, base=flatten(base))
        for number, kind in enumerate(self.kinds):
            arriving, symbols = self._symbols_like(base, "arriving")
            sweep.drafts[number] = self._draft(step, number, kind, arriving, symbols, kept)
        sweep.variant_of = list(self.kind_of)
        return self._finish_sweep(sweep)

    def inward(self, step: Callable[..., Any], empty: Any, *kept: Kept) -> tuple[Any, Kept]:
        """Trace an inward sweep; tips, and nodes that are not the first child to report, are variants of their own."""
        sweep = Sweep(outward=False, base=flatten(empty))
        sweep.variant_of = self._inward_variants()
        for key in dict.fromkeys(sweep.variant_of):
            number, tip, adds = key
            arriving, symbols = (empty, []) if tip else self._symbols_like(empty, "arriving")
            draft = self._draft(step, number, self.kinds[number], arriving, symbols, kept)
            draft.adds = adds
            sweep.drafts[key] = draft
        handle = self._finish_sweep(sweep)
        total = []
        for entry, _ in enumerate(sweep.base):
            symbol = ca.SX.sym(f"total{entry}")
            sweep.total[entry] = symbol
            self.after.append((symbol, ("total", handle.sweep, entry)))
            total.append(symbol)
        return rebuild(empty, iter(total)), handle

    def climb(self, step: Callable[..., Any], start: Kept, *kept: Kept) -> Any:
        """Trace the step of a climb, for one column at a time."""
        drafts = {}
        for number, kind in enumerate(self.kinds):
            carried, symbols = self._symbols_like(type(start.records[number])(ca.SX.zeros(6)), "arriving")
            drafts[number] = self._draft(step, number, kind, carried, symbols, kept)
        self.sweeps[start.sweep].forced = True
        self.climbs.append((drafts, start, len(self.sweeps)))
        return None

    def solve(self, step: Callable[..., Any], start: Kept, right: tuple[Kept, str], *kept: Kept) -> Any:
        """Trace the step of a climb whose matrix is solved with, for freedoms that are not prescribed."""
        self.solves = True
        self.gather(*right)
        return self.climb(step, start, *kept)

    def gather(self, kept: Kept, part: str) -> None:
        """Send one part of the kept records to the output, by velocity."""
        self._send(kept, part, V, 1)

    def stacked(self, kept: Kept, part: str, size: int) -> None:
        """Send one part of the kept records to the output, by position."""
        self._send(kept, part, STACK, size)

    def _send(self, kept: Kept, part: str, where: int, scale: int) -> None:
        sweep = self.sweeps[kept.sweep]
        for number, record in enumerate(kept.records):
            first, size = _span(record, part)
            for i in range(size):
                place = Place("output", i, where, 0, scale)
                sweep.outputs.append((number, first + i, i, place))

    def record_at(self, kept: Kept, index: int) -> Any:
        """Return symbols for one node's record, read when all sweeps are done."""
        number = self.kind_of[index]
        fresh = []
        for entry, scalar in enumerate(flatten(kept.records[number])):
            if scalar.is_constant():
                fresh.append(scalar)
                continue
            symbol = ca.SX.sym(f"at{index}_{entry}")
            self.after.append((symbol, ("row", kept.sweep, number, entry, index)))
            fresh.append(symbol)
        return rebuild(kept.records[number], iter(fresh))

    @staticmethod
    def _symbols_like(record: Any, name: str) -> tuple[Any, list[tuple[ca.SX, Origin]]]:
        symbols = [(ca.SX.sym(f"{name}{i}"), (name, i)) for i in range(len(flatten(record)))]
        return rebuild(record, iter([s for s, _ in symbols])), symbols

    def _draft(
        self,
        step: Callable[..., Any],
        number: int,
        kind: Kind,
        arriving: Any,
        symbols: list[tuple[ca.SX, Origin]],
        kept: Sequence[Kept],
    ) -> Draft:
        leaving, keep = step(kind.node, arriving, *(handle.records[number] for handle in kept))
        known = [*kind.symbols, *symbols]
        for handle in kept:
            known.extend(handle.symbols[number])
        return Draft(number, known, flatten(leaving), flatten(keep), keep)

    def _finish_sweep(self, sweep: Sweep) -> Kept:
        """Give the kept entries symbols, constants staying what they are."""
        index = len(self.sweeps)
        self.sweeps.append(sweep)
        sweep.kept = [{} for _ in self.kinds]
        records: list[Any] = [None] * len(self.kinds)
        symbols: list[tuple[tuple[ca.SX, Origin], ...]] = [()] * len(self.kinds)
        for draft in sweep.drafts.values():
            if records[draft.kind] is not None:
                continue
            same = [d for d in sweep.drafts.values() if d.kind == draft.kind]
            scalars, own = [], []
            for entry, scalar in enumerate(draft.keep):
                if all(_same_constant(d.keep[entry], scalar) for d in same):
                    scalars.append(scalar)
                    continue
                symbol = ca.SX.sym(f"k{index}_{entry}")
                own.append((symbol, ("kept", index, entry)))
                scalars.append(symbol)
            records[draft.kind] = rebuild(draft.record, iter(scalars))
            symbols[draft.kind] = tuple(own)
        return Kept(self, index, tuple(records), tuple(symbols))

    def _inward_variants(self) -> list[tuple[int, bool, bool]]:
        """Return each node's kind, whether it is a tip, and whether it adds to what a sibling has left."""
        has_child = [False] * len(self.node_constants)
        for constants in self.node_constants:
            if constants.parent >= 0:
                has_child[constants.parent] = True
        reported: set[int] = set()
        variants: list[tuple[int, bool, bool]] = []
        for k in reversed(range(len(self.node_constants))):
            parent = self.node_constants[k].parent
            variants.append((self.kind_of[k], not has_child[k], parent in reported))
            reported.add(parent)
        return variants[::-1]

    # ------------------------------------------------------------------ the program

    def program(self, output: Any, sizes: Sequence[int]) -> LoopProgram:
        """Return the loops; `output` is an expression in what is left after the sweeps, or None."""
        layout = Layout(self)
        epilogue = None if output is None else ca.vec(ca.densify(ca.SX(output)))
        layout.find_live(epilogue)
        return layout.program(epilogue, sizes)


def _folded_zeros(constants: NodeConstants) -> Hashable:
    """Nodes of a kind share their rotation and the zeros of their placement and first moment."""
    return (constants.placement.rotation, _zeros(constants.placement.point), _zeros(constants.inertia[1:4]))


def _folded_rotation(constants: NodeConstants) -> Hashable:
    """Nodes of a kind share their rotation."""
    return constants.placement.rotation


def _folded_nothing(constants: NodeConstants) -> Hashable:
    """Nodes of a kind need share nothing."""
    return None


def _zeros(values: Sequence[Scalar]) -> tuple[bool, ...]:
    return tuple(isinstance(x, float) and x == 0.0 for x in values)


def _same_constant(a: ca.SX, b: ca.SX) -> bool:
    return bool(a.is_constant() and b.is_constant() and float(a) == float(b))


def _span(record: Any, part: str) -> tuple[int, int]:
    """Return where a named part starts among a record's scalars, and its size."""
    start = 0
    for name in record._fields:
        size = len(flatten(getattr(record, name)))
        if name == part:
            return start, size
        start += size
    raise KeyError(part)


def joint_lead(joint: Joint) -> Scalar | None:
    """Return a screw's lead, also behind a reversal; None for other joints.

    >>> joint_lead(Screw(0.5))
    0.5
    """
    inner = joint.joint if isinstance(joint, Reversed) else joint
    return inner.lead if isinstance(inner, Screw) else None


def joint_kind(joint: Joint) -> Hashable:
    """Return what joints whose functions are the same have in common.

    >>> joint_kind(Screw(0.5)) == joint_kind(Screw(0.6))
    False
    """
    inner = joint.joint if isinstance(joint, Reversed) else joint
    return type(inner), isinstance(joint, Reversed), joint_lead(joint)


def with_lead(joint: Joint, lead: Any) -> Joint:
    """Return the same screw with another lead.

    >>> with_lead(Screw(0.5), 1.0).lead
    1.0
    """
    if isinstance(joint, Reversed):
        return Reversed(with_lead(joint.joint, lead))
    return replace(joint, lead=lead)  # type: ignore[type-var]
