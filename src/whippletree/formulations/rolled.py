"""The rolled walk: each distinct kind of step is traced once, and a loop walks the nodes.

The formulations are the same text as for the unrolled walk. Here a step is called once per kind of node, with symbols
for the node's constants and state, for what arrives, and for what earlier sweeps kept. Constants that all nodes of a
kind share are folded. Afterwards it is found out which numbers anybody needs, and only those are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca

from whippletree.elements.joints import Joint, Reversed, Screw
from whippletree.formulations.node import Load, Node
from whippletree.formulations.records import flatten, rebuild
from whippletree.formulations.skeleton import Bone, Skeleton, column, rigid_inertia
from whippletree.loops import Climb, Loop, LoopProgram, Place, Segment, Step, Variant
from whippletree.spatial.scalars import Scalar

__all__ = ["Rolled"]

FEW = 16
"""Up to this many kinds, what nodes have in common is folded into the code."""

# Columns of the tables.
_VARIANT, _ROW, _CONSTANT, _Q, _V, _ARRIVING, _LEAVING, _STACK, _LOADS = range(9)

Origin = tuple[Any, ...]


@dataclass
class Kind:
    """Nodes that take the same steps: their common symbols, and which of their numbers differ."""

    bones: list[int]
    node: Node
    symbols: list[tuple[ca.SX, Origin]]
    varying: list[int]  # places in the list of constants that differ between nodes
    dynamic: list[int]  # of these, the ones that depend on parameters


@dataclass
class Draft:
    """One variant of a step before it is known what is needed of it."""

    kind: int
    symbols: list[tuple[ca.SX, Origin]]
    leaving: list[ca.SX]
    keep: list[ca.SX]
    record: Any  # what is kept, in its own form
    adds: bool = False


@dataclass
class Sweep:
    """A sweep in the making."""

    outward: bool
    drafts: dict[Any, Draft] = field(default_factory=dict)
    variant_of: list[Any] = field(default_factory=list)
    base: list[ca.SX] = field(default_factory=list)
    live: set[int] = field(default_factory=set)  # entries of what leaves that somebody needs
    kept: list[dict[int, None]] = field(default_factory=list)  # per kind, entries that go into rows
    outputs: list[tuple[int, int, int, Place]] = field(default_factory=list)  # kind, entry, element, place
    total: dict[int, ca.SX] = field(default_factory=dict)  # symbols of what arrives at the ground
    forced: bool = False


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
        skeleton: Skeleton,
        inputs: Sequence[str],
        parameters: ca.SX,
        positions: Sequence[int] | None = None,
    ) -> None:
        self.bones, self.nv = skeleton.bones, skeleton.nv
        self.gravity = column(skeleton.gravity)
        self._inputs = {name: i for i, name in enumerate(inputs)}
        self._parameters = parameters
        self._positions = list(positions) if positions is not None else list(range(len(self.bones)))
        self._loads = self._find_loads(skeleton, inputs)
        self.kinds = self._find_kinds()
        self._kind_of = [0] * len(self.bones)
        for k, kind in enumerate(self.kinds):
            for bone in kind.bones:
                self._kind_of[bone] = k
        self._sweeps: list[Sweep] = []
        self._climbs: list[tuple[dict[int, Draft], Kept, int]] = []
        self._after: list[tuple[ca.SX, Origin]] = []  # symbols that the last segment reads

    # ------------------------------------------------------------------ kinds

    @staticmethod
    def _find_loads(skeleton: Skeleton, inputs: Sequence[str]) -> dict[int, list[tuple[int, tuple[Scalar, ...]]]]:
        """Return for each loaded node the numbers of its wrench inputs and the points they act at."""
        loads: dict[int, list[tuple[int, tuple[Scalar, ...]]]] = {}
        for number, name in enumerate(inputs):
            if name.startswith("wrench on "):
                index, placement = skeleton.where[name.removeprefix("wrench on ")]
                if index >= 0:
                    loads.setdefault(index, []).append((number, placement.point))
        return loads

    def _find_kinds(self) -> list[Kind]:
        """Group nodes that take the same steps; while kinds stay few, common zeros and rotations are folded."""
        groups: dict[Hashable, list[int]] = {}
        for fold in (_folded_zeros, _folded_rotation, _folded_nothing):
            groups = {}
            for k, bone in enumerate(self.bones):
                inner = bone.joint.joint if isinstance(bone.joint, Reversed) else bone.joint
                key = (
                    type(inner),
                    bone.reverse,
                    bone.use.prescribed,
                    len(self._loads.get(k, ())),
                    fold(bone),
                )
                groups.setdefault(key, []).append(k)
            if len(groups) <= FEW:
                break
        return [self._make_kind(number, bones) for number, bones in enumerate(groups.values())]

    def _numbers(self, k: int) -> list[Scalar]:
        """Return all constants of a node: point, rotation, inertia, the joint's own, points of loads."""
        bone = self.bones[k]
        rows = bone.placement.rotation
        lead = joint_lead(bone.joint)
        own: list[Scalar] = [] if lead is None else [lead]
        loads = [x for _, point in self._loads.get(k, ()) for x in point]
        return [*bone.placement.point, *(x for row in rows for x in row), *bone.inertia, *own, *loads]

    def _make_kind(self, number: int, bones: list[int]) -> Kind:
        rows = [self._numbers(k) for k in bones]
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
        node = self._make_node(bones[0], values, symbols)
        return Kind(bones, node, symbols, varying, dynamic)

    def _make_node(self, example: int, values: list[Any], symbols: list[tuple[ca.SX, Origin]]) -> Node:
        """Return a node over symbols, like the example."""
        bone, rest = self.bones[example], values[22:]
        joint = bone.joint
        if joint_lead(joint) is not None:
            joint, rest = with_lead(joint, rest[0]), rest[1:]

        def state(name: str, size: int) -> ca.SX:
            if name not in self._inputs:
                return ca.SX.zeros(size)
            symbol = ca.SX.sym(name, size)
            symbols.extend((symbol[i], ("input", name, i)) for i in range(size))
            return symbol

        loads = []
        for number in range(len(self._loads.get(example, ()))):
            wrench = ca.SX.sym(f"w{number}", 6)
            symbols.extend((wrench[i], ("load", number, i)) for i in range(6))
            loads.append(Load(column(rest[3 * number : 3 * number + 3]), wrench))
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
            prescribed=bone.use.prescribed,
            loads=tuple(loads),
        )

    # ------------------------------------------------------------------ the walk

    def outward(self, step: Callable[..., Any], base: Any, *kept: Kept) -> Kept:
        """Trace an outward sweep."""
        sweep = Sweep(outward=True, base=flatten(base))
        for number, kind in enumerate(self.kinds):
            arriving, symbols = self._symbols_like(base, "arriving")
            sweep.drafts[number] = self._draft(step, number, kind, arriving, symbols, kept)
        sweep.variant_of = list(self._kind_of)
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
            self._after.append((symbol, ("total", handle.sweep, entry)))
            total.append(symbol)
        return rebuild(empty, iter(total)), handle

    def climb(self, step: Callable[..., Any], start: Kept, *kept: Kept) -> Any:
        """Trace the step of a climb, for one column at a time."""
        drafts = {}
        for number, kind in enumerate(self.kinds):
            carried, symbols = self._symbols_like((ca.SX.zeros(6),), "arriving")
            drafts[number] = self._draft(step, number, kind, carried, symbols, kept)
        self._sweeps[start.sweep].forced = True
        self._climbs.append((drafts, start, len(self._sweeps)))
        return None

    def gather(self, kept: Kept, part: str) -> None:
        """Send one part of the kept records to the output, by velocity."""
        self._send(kept, part, _V, 1)

    def stacked(self, kept: Kept, part: str, size: int) -> None:
        """Send one part of the kept records to the output, by position."""
        self._send(kept, part, _STACK, size)

    def _send(self, kept: Kept, part: str, where: int, scale: int) -> None:
        sweep = self._sweeps[kept.sweep]
        for number, record in enumerate(kept.records):
            first, size = _span(record, part)
            for i in range(size):
                place = Place("output", i, where, 0, scale)
                sweep.outputs.append((number, first + i, i, place))

    def record_at(self, kept: Kept, index: int) -> Any:
        """Return symbols for one node's record, read when all sweeps are done."""
        number = self._kind_of[index]
        fresh = []
        for entry, scalar in enumerate(flatten(kept.records[number])):
            if scalar.is_constant():
                fresh.append(scalar)
                continue
            symbol = ca.SX.sym(f"at{index}_{entry}")
            self._after.append((symbol, ("row", kept.sweep, number, entry, index)))
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
        index = len(self._sweeps)
        self._sweeps.append(sweep)
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
        has_child = [False] * len(self.bones)
        for bone in self.bones:
            if bone.parent >= 0:
                has_child[bone.parent] = True
        reported: set[int] = set()
        variants: list[tuple[int, bool, bool]] = []
        for k in reversed(range(len(self.bones))):
            parent = self.bones[k].parent
            variants.append((self._kind_of[k], not has_child[k], parent in reported))
            reported.add(parent)
        return variants[::-1]

    # ------------------------------------------------------------------ the program

    def program(self, output: Any, sizes: Sequence[int]) -> LoopProgram:
        """Return the loops; `output` is an expression in what is left after the sweeps, or None."""
        layout = _Layout(self)
        epilogue = None if output is None else ca.vec(ca.densify(ca.SX(output)))
        layout.find_live(epilogue)
        return layout.program(epilogue, sizes)


def _folded_zeros(bone: Bone) -> Hashable:
    """Nodes of a kind share their rotation and the zeros of their placement and first moment."""
    return (bone.placement.rotation, _zeros(bone.placement.point), _zeros(bone.inertia[1:4]))


def _folded_rotation(bone: Bone) -> Hashable:
    """Nodes of a kind share their rotation."""
    return bone.placement.rotation


def _folded_nothing(bone: Bone) -> Hashable:
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


def with_lead(joint: Joint, lead: Any) -> Joint:
    """Return the same screw with another lead.

    >>> with_lead(Screw(0.5), 1.0).lead
    1.0
    """
    if isinstance(joint, Reversed):
        return Reversed(with_lead(joint.joint, lead))
    return replace(joint, lead=lead)  # type: ignore[type-var]


class _Layout:
    """Decides what is stored and where, and writes the program."""

    def __init__(self, walk: Rolled) -> None:
        self.walk, self.sweeps = walk, walk._sweeps
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
            self._need(_dependencies([epilogue], self.walk._after), range(epilogue.numel()), -1)
        for drafts, start, _ in self.walk._climbs:
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
        for k in range(len(walk.bones)):
            kind = walk.kinds[walk._kind_of[k]]
            self.row_start.append(position)
            position += len(self.row_place[walk._kind_of[k]])
            self.constant_start.append(len(self.constants))
            numbers = walk._numbers(k)
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
        for climb in self.walk._climbs:
            slots = self._add_climb(steps, *climb[:2], slots)
            zeroed = ((0, sizes[0]),)
        if epilogue is not None:
            self._add_epilogue(steps, epilogue, totals)
        self.work_size = max(slots, self.work_size)
        return LoopProgram(tuple(steps), self.work_size, tuple(self.constants), zeroed)

    def _add_dynamic(self, steps: list[Step]) -> None:
        """Evaluate the constants that depend on parameters into the rows."""
        values, targets = [], []
        for k in range(len(self.walk.bones)):
            kind = self.walk.kinds[self.walk._kind_of[k]]
            if kind.dynamic:
                numbers = self.walk._numbers(k)
                for place, i in enumerate(kind.dynamic):
                    values.append(ca.SX(numbers[i]))
                    targets.append(Place("work", self.row_start[k] + place))
        if values:
            steps.append(self._segment(values, targets))

    def _segment(
        self, values: list[ca.SX], targets: list[Place], symbols: Sequence[tuple[ca.SX, Place]] = ()
    ) -> Segment:
        """Return a function evaluated once, of parameters and given symbols."""
        parameters = self.walk._parameters
        sources = [place for _, place in symbols]
        arguments = [ca.vertcat(*(s for s, _ in symbols)) if symbols else ca.SX(0, 1)]
        places: list[tuple[Place, ...]] = [tuple(sources)]
        if parameters.numel():
            arguments.append(parameters)
            number = self.walk._inputs["parameters"]
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
        order = range(len(self.walk.bones)) if sweep.outward else reversed(range(len(self.walk.bones)))
        table = []
        for k in order:
            table.append(
                self._table_row(k, number[sweep.variant_of[k]], slots + size * arriving[k], slots + size * leaving[k])
            )
        steps.append(Loop(tuple(variants), tuple(table)))
        self.work_size = max(self.work_size, slots + size * count)
        needed = [entry for _, origin in self.walk._after if origin[:2] == ("total", index) for entry in (origin[2],)]
        if not any(entry in live for entry in needed) or not sweep.total:
            return slots
        for entry in needed:
            if entry in live:
                totals[index, entry] = slots + live[entry]
        return slots + size  # the ground's slot comes first and stays

    def _table_row(self, k: int, variant: int, arriving: int, leaving: int) -> tuple[int, ...]:
        bone = self.walk.bones[k]
        loads = [number for number, _ in self.walk._loads.get(k, ())]
        width = max((len(v) for v in self.walk._loads.values()), default=0)
        return (
            variant,
            self.row_start[k],
            self.constant_start[k],
            bone.q.start,
            bone.v.start,
            arriving,
            leaving,
            self.walk._positions[k],
            *loads,
            *[0] * (width - len(loads)),
        )

    def _slots(self, sweep: Sweep) -> tuple[list[int], list[int], int]:
        """Share slots: the ground has number 0, a tip that leaves nothing to anybody has the last one."""
        bones = self.walk.bones
        children = [0] * len(bones)
        for bone in bones:
            if bone.parent >= 0:
                children[bone.parent] += 1
        free: list[int] = []
        count = 1
        own = [0] * len(bones)  # the slot between a node and its children
        waiting = list(children)

        def take() -> int:
            nonlocal count
            if free:
                return free.pop()
            count += 1
            return count - 1

        arriving, leaving = [0] * len(bones), [0] * len(bones)
        if sweep.outward:
            for k, bone in enumerate(bones):
                arriving[k] = 0 if bone.parent < 0 else own[bone.parent]
                own[k] = leaving[k] = take() if children[k] else -1
                if bone.parent >= 0:
                    waiting[bone.parent] -= 1
                    if not waiting[bone.parent]:
                        free.append(own[bone.parent])
            leaving = [count if slot < 0 else slot for slot in leaving]
            return arriving, leaving, count + 1
        started = [False] * len(bones)
        for k in reversed(range(len(bones))):
            parent = bones[k].parent
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
            targets.append(Place("work", i, _LEAVING, add=draft.adds))
        for entry in sorted(sweep.kept[draft.kind]):
            values.append(draft.keep[entry])
            targets.append(Place("work", self.row_place[draft.kind]["kept", index, entry], _ROW))
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
            return Place("constant", origin[1], _CONSTANT)
        if origin[0] == "input":
            column_ = _Q if origin[1] == "q" else _V
            return Place("input", origin[2], column_, self.walk._inputs[origin[1]])
        if origin[0] == "load":
            return Place("pointer", origin[2], -1, _LOADS + origin[1])
        if origin[0] == "arriving":
            return Place("work", live[origin[1]], _ARRIVING)
        if origin not in self.row_place[kind]:
            return Place("work", 0, _ROW)  # a number nobody needs: never read
        return Place("work", self.row_place[kind][origin], _ROW)

    def _add_climb(self, steps: list[Step], drafts: dict[int, Draft], start: Kept, slots: int) -> int:
        """Write a climb; its carried numbers are beside the slots."""
        live = {i: i for i in range(6)}
        variants = []
        for draft in drafts.values():
            values = [*draft.leaving, *draft.keep]
            targets = [Place("work", slots + i) for i in range(6)]
            targets += [Place("output", i, _V) for i in range(len(draft.keep))]
            used = self._function(draft, values, targets, live)
            sources = tuple(Place("work", slots + p.offset) if p.column == _ARRIVING else p for p in used.sources[0])
            variants.append(Variant(used.function, (sources,), used.targets))
        table = []
        for k, bone in enumerate(self.walk.bones):
            table.append((*self._table_row(k, self.walk._kind_of[k], 0, 0), bone.parent))
        starts = []
        for k, bone in enumerate(self.walk.bones):
            places = self.row_place[self.walk._kind_of[k]]
            for c in range(bone.joint.nv):
                starts.append((k, self.row_start[k] + places["kept", start.sweep, 6 * c], bone.v.start + c))
        steps.append(Climb(tuple(variants), tuple(table), tuple(starts), slots, 6, self.walk.nv))
        return slots + 6

    def _add_epilogue(self, steps: list[Step], epilogue: ca.SX, totals: dict[tuple[int, int], int]) -> None:
        symbols: list[tuple[ca.SX, Place]] = []
        for symbol, origin in self.walk._after:
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
