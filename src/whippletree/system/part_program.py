"""Mechanisms of many equal parts that meet only at the ground: a loop over the parts, each kind traced once.

A hundred four-bars side by side are one four-bar that is evaluated a hundred times: the kernel of a whole state is a
loop over its parts, and compile time depends on the number of *families*, not on that of parts. Parts of one family are
joined and cut in the same way, and the numeric plan decides the same about them (`PartPlan`), their characteristic
lengths included; they may differ in other numbers, rotations aside: numbers that all of them have in common are known
while the family is traced, the others are constants that a part reads.

What the functions answer for the whole mechanism is put together from the parts' answers: freedoms and states are in
their own places, the powers and the squares of gaps add up, and of the pivots' shares the nearest to zero counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from whippletree.formulations.closures.partition import Choice
from whippletree.kernels.kernel import Array
from whippletree.kernels.tape import read_tape
from whippletree.model.description import Description, JointUse, Parameter
from whippletree.model.parts import IndependentPart, independent_parts, numbered
from whippletree.programs.loop_program import ItemLoop, LoopProgram, MemoryRef, Segment, StepFunction
from whippletree.spatial.scalars import Scalar
from whippletree.system.functions import FUNCTIONS
from whippletree.system.lengths import LoopLengths
from whippletree.system.loop_plan import Conditions, KeptRows, LoopPlan
from whippletree.system.planning import plan_of

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request

__all__ = ["PART_FUNCTIONS", "PartFamily", "PartPlan", "part_families", "part_program"]


# ---------------------------------------------------------------------------------------------------------
# What parts answer, and how that is put together


class PartResult(NamedTuple):
    """Numbers that a part answers: one for each of its freedoms ("freedom") or states ("state"), or a single one.

    A single one is added to those of the others ("sum"), or counts if it is the "least", or the "nearest" to zero.
    """

    what: str
    start: int  # of it, or of those of the first freedom or state, among the results of the whole mechanism


def _derivatives(eq: Equations) -> list[PartResult]:
    nv, end = eq.plan.nv, eq.plan.nv + len(eq.description.states)
    powers = [PartResult("sum", end + 2), PartResult("sum", end + 3)] if eq.description.powered else []
    nearest, negative = PartResult("nearest", end), PartResult("sum", end + 1)
    return [PartResult("freedom", 0), PartResult("state", nv), nearest, negative, *powers]


def _project(eq: Equations) -> list[PartResult]:
    nv = eq.plan.nv
    gap, slip, regularity = PartResult("sum", 2 * nv), PartResult("sum", 2 * nv + 1), PartResult("least", 2 * nv + 2)
    return [PartResult("freedom", 0), PartResult("freedom", nv), gap, slip, regularity]


PART_FUNCTIONS: Mapping[str, Callable[[Equations], list[PartResult]]] = {
    "derivatives": _derivatives,
    "project": _project,
}
"""The functions that are put together from those of parts: what the parts answer, in its order."""

_FAR = 1e300
"""Farther from zero than any share of a pivot: what the search for the nearest begins with."""


# ---------------------------------------------------------------------------------------------------------
# Families


class PartPlan(NamedTuple):
    """What was decided about the loops of one part, in the part's own numbers; as in `LoopPlan`.

    `cuts` are the joints that are cut, `closures` the lengths of its closures, `freedoms` those of its joints.
    """

    cuts: tuple[int, ...]
    keep: KeptRows
    choice: Choice
    reduction: tuple[tuple[int, int], ...]
    closures: tuple[float, ...]
    freedoms: tuple[float, ...]


class PartMember(NamedTuple):
    """A part, as a description with numbers for names, and where in q, v and z its joints and states are."""

    description: Description
    q: tuple[slice, ...]
    v: tuple[slice, ...]
    z: tuple[int, ...]


@dataclass(frozen=True)
class PartFamily:
    """Parts that differ in their numbers only."""

    plan: PartPlan
    members: tuple[PartMember, ...]


def part_families(eq: Equations) -> tuple[PartFamily, ...]:
    """Return the parts by families; nothing if there are not several alike, or if they cannot be told apart."""
    description, plan = eq.description, eq.loop_plan
    if plan.slack or any(body.kind is not None for body in description.bodies):
        return ()
    parts = independent_parts(description)
    if len(parts) < 2 or not _complete(description, parts) or plan.massless_motion:
        return ()
    families: dict[tuple[object, PartPlan, object], list[PartMember]] = {}
    state = {use.name: k for k, use in enumerate(description.states)}
    for part, own in zip(parts, _part_plans(eq, parts), strict=True):
        alone = numbered(description, part)
        if not own.keep:
            return ()  # a tree among the loops: its pivots are of another kind
        slices = [eq.plan.slices_of(name) for name in part.joints]
        member = PartMember(
            alone, tuple(q for q, _ in slices), tuple(v for _, v in slices), tuple(state[name] for name in part.states)
        )
        families.setdefault((alone.outline(), own, _fixed_numbers(alone)), []).append(member)
    if len(families) == len(parts):
        return ()
    return tuple(PartFamily(key[1], tuple(members)) for key, members in families.items())


def _complete(description: Description, parts: Sequence[IndependentPart]) -> bool:
    """Tell whether everything described belongs to a part, and everything that is open is open alike in all parts."""
    for kind in ("closures", "forces", "states"):
        if sum(len(getattr(part, kind)) for part in parts) != len(getattr(description, kind)):
            return False
    moving = [use.name for use in description.joints if use.joint.nv]
    return set(moving) <= {name for part in parts for name in part.joints}


def _fixed_numbers(description: Description) -> tuple[object, ...]:
    """Return what has to be alike while a part is traced: rotations, constants of joints, and what is open."""
    found: list[object] = []
    for use in description.joints:
        found += [use.joint.constants(), use.on_parent.rotation, use.on_child.rotation]
    sides = [use.sides for use in description.closures] + [use.sides for use in description.forces]
    for held in (*sides, *(use.sides for use in description.states)):
        found += [placement.rotation for _, placement in held]
    found += [(k, str(number)) for k, number in enumerate(description.numbers()) if isinstance(number, ca.SX)]
    return tuple(repr(numbers) for numbers in found)


def _part_plans(eq: Equations, parts: Sequence[IndependentPart]) -> list[PartPlan]:
    """Return what the numeric plan of the mechanism decides about each part."""
    plan, attachments = eq.loop_plan, eq.attachments().all
    part_of = {name: k for k, part in enumerate(parts) for name in (*part.joints, *part.closures)}
    held: list[list[int]] = [[] for _ in parts]
    for c, attachment in enumerate(attachments):
        held[part_of[attachment.name]].append(c)
    ends = list(itertools.accumulate(map(len, plan.keep), initial=0))
    row = {r: local for own in held for local, r in enumerate(r for c in own for r in range(ends[c], ends[c + 1]))}
    freedom: dict[int, tuple[int, int]] = {}
    for k, part in enumerate(parts):
        places = (i for name in part.joints for i in _range(eq.plan.slices_of(name)[1]))
        freedom |= {i: (k, local) for local, i in enumerate(places)}
    independent: list[list[int]] = [[] for _ in parts]
    for i in plan.choice.independent:
        independent[freedom[i][0]].append(freedom[i][1])
    pivots: list[list[tuple[int, int]]] = [[] for _ in parts]
    for r, i in plan.choice.pivots:
        pivots[freedom[i][0]].append((row[r], freedom[i][1]))
    pairs: list[list[tuple[int, int]]] = [[] for _ in parts]
    for i, r in plan.reduction.items():
        pairs[freedom[i][0]].append((freedom[i][1], row[r]))
    cut = {eq.description.joints[one.joint].name for one in eq.plan.cuts}
    lengths = plan.lengths
    return [
        PartPlan(
            tuple(j for j, name in enumerate(part.joints) if name in cut),
            tuple(plan.keep[c] for c in held[k]),
            Choice(tuple(independent[k]), tuple(pivots[k])),
            tuple(pairs[k]),
            tuple(lengths.of_closure(attachments[c].name) for c in held[k]),
            tuple(lengths.of_freedoms(name) for name in part.joints),
        )
        for k, part in enumerate(parts)
    ]


def _range(where: slice) -> range:
    return range(where.start, where.stop)


# ---------------------------------------------------------------------------------------------------------
# The program


class PivotSizes:
    """Stands for the sizes of pivots where the plan was made, which differ between the members of a family."""

    def __init__(self) -> None:
        self.pivots: list[ca.SX] = []
        self.reciprocals: list[ca.SX] = []

    def __call__(self, pivots: Sequence[ca.SX]) -> list[ca.SX]:
        """Return a symbol for the size of each pivot."""
        fresh = [ca.SX.sym("share") for _ in pivots]
        self.pivots += pivots
        self.reciprocals += fresh
        return [1 / one for one in fresh]


class _TracedFamily(NamedTuple):
    """A family's function: its symbols in groups by where they come from, and its results."""

    inputs: Mapping[str, ca.SX]
    shared: list[ca.SX]  # the parameters of the mechanism
    own: list[ca.SX]  # numbers that differ between parts
    sizes: PivotSizes
    result: ca.SX
    constants: Array  # (members, own numbers and reciprocal sizes)


def part_program(eq: Equations, request: Request) -> LoopProgram | None:
    """Return a request as a loop over the parts; None if some part looks a number up in a table."""
    results = PART_FUNCTIONS[request.function](eq)
    variants, table, constants = [], [], [0.0]
    families = eq.part_families()
    sizes = [2 * len(family.members[0].q) + len(family.members[0].z) for family in families]
    width = 2 + max(sizes)  # not empty: asked where there are equal parts
    for number, family in enumerate(families):
        traced = _traced(eq, request, family)
        variants.append(_step(eq, request, family, traced, results))
        if read_tape(variants[-1].function).tables:
            return None
        for member, own in zip(family.members, traced.constants, strict=True):
            places = [slot.start for slot in (*member.q, *member.v)] + list(member.z)
            row = [number, len(constants), *places]
            table.append(tuple(row + [0] * (width - len(row))))
            constants += own.tolist()
    begin = [one for one in results if one.what in ("least", "nearest")]
    far = ca.Function("begin", [ca.SX(0, 1)], [ca.SX([_FAR] * len(begin))])
    start = StepFunction(far, (), tuple(MemoryRef("output", one.start) for one in begin))
    size = eq.signature(request).output_sizes[0]
    steps = (Segment(start), ItemLoop(tuple(variants), tuple(table)))
    return LoopProgram(steps, 0, tuple(constants), ((0, size),))


def _traced(eq: Equations, request: Request, family: PartFamily) -> _TracedFamily:
    """Trace one part with symbols for the numbers that differ."""
    numbers = [list(member.description.numbers()) for member in family.members]
    differing = [k for k, values in enumerate(zip(*numbers, strict=True)) if not _all_equal(values)]
    own = [ca.SX.sym(f"number_{k}") for k in differing]
    parameters = tuple(
        Parameter(f"number {k}", float(numbers[0][k]), symbol) for k, symbol in zip(differing, own, strict=True)
    )
    shared = eq.description.parameters
    first: list[Scalar] = list(numbers[0])
    for k, symbol in zip(differing, own, strict=True):
        first[k] = symbol
    description = family.members[0].description.with_numbers(first, (*shared, *parameters))
    sizes = PivotSizes()
    part = _part_equations(eq, family, description, sizes)
    function = FUNCTIONS[request.function]
    inputs = {name: x for name, x in part.inputs(request).items() if name != "parameters"}
    result = ca.SX(ca.vec((function.loop_trace or function.trace)(part, request, inputs)))
    symbols = [parameter.symbol for parameter in shared]
    differ = np.array([[float(values[k]) for k in differing] for values in numbers]).reshape(len(numbers), -1)
    reciprocals = 1 / _sizes_at_plan(eq, family, inputs, symbols, own, differ, sizes)
    return _TracedFamily(inputs, symbols, own, sizes, result, np.hstack([differ, reciprocals]))


def _all_equal(values: Sequence[Scalar]) -> bool:
    """Tell whether a number is the same in all parts; what is open in one of a family is so in all, and alike."""
    return any(isinstance(x, ca.SX) for x in values) or all(x == values[0] for x in values)


def _part_equations(eq: Equations, family: PartFamily, description: Description, sizes: PivotSizes) -> Equations:
    """Return the equations of one part, under what the plan of the mechanism decides about it."""
    own, plan = family.plan, eq.loop_plan
    cut = [description.joints[j].name for j in own.cuts]
    topology = plan_of(description, cut)
    lengths = LoopLengths(plan.lengths.mechanism, {}, _named(description.joints, own.freedoms))
    values = np.array(description.parameter_values)
    q = np.concatenate([plan.q[where] for where in family.members[0].q])
    imposed = (("reduction", dict(own.reduction)), ("massless_motion", False))
    where = Conditions(plan.where.t, values)
    loop_plan = LoopPlan(own.keep, own.choice, q, where, lengths, 0, None, {}, 0.0, imposed)
    part = eq.of_part(description, topology, loop_plan, sizes)
    closures = dict(zip((one.name for one in part.attachments().all), own.closures, strict=True))
    return part.planned(replace(loop_plan, lengths=replace(lengths, closures=closures)))


def _named(uses: Sequence[JointUse], values: Sequence[float]) -> dict[str, float]:
    return {use.name: value for use, value in zip(uses, values, strict=True)}


def _sizes_at_plan(
    eq: Equations,
    family: PartFamily,
    inputs: Mapping[str, ca.SX],
    shared: list[ca.SX],
    own: list[ca.SX],
    differ: Array,
    sizes: PivotSizes,
) -> Array:
    """Return the sizes (members, n) that the pivots have where the plan was made."""
    others = [x for name, x in inputs.items() if name != "q"]
    given = [inputs["q"], ca.SX(ca.vertcat(ca.SX(0, 1), *shared)), ca.SX(ca.vertcat(ca.SX(0, 1), *own))]
    at = ca.Function("sizes", [*given, *others], [ca.SX(ca.vertcat(ca.SX(0, 1), *sizes.pivots))])
    n, where = len(family.members), eq.loop_plan.made_at
    q = np.array([np.concatenate([where[one] for one in member.q]) for member in family.members])
    values = np.repeat(np.array(eq.description.parameter_values)[:, None], n, axis=1)
    none = [np.zeros((x.numel(), n)) for x in others]
    return np.asarray(at(q.T, values, differ.T, *none).full().T)


def _step(
    eq: Equations, request: Request, family: PartFamily, traced: _TracedFamily, results: Sequence[PartResult]
) -> StepFunction:
    """Return the function of one part with where its numbers come from, and where its results go."""
    columns = _PartColumns(family.members[0])
    place = {name: k for k, (name, _) in enumerate(eq.signature(request).inputs)}
    constants = [*traced.own, *traced.sizes.reciprocals]
    symbols = [*traced.inputs.values(), *traced.shared, *constants]
    sources = [ref for name in traced.inputs for ref in columns.inputs(name, place[name])]
    sources += [MemoryRef("input", k, argument=place["parameters"]) for k in range(len(traced.shared))]
    sources += [MemoryRef("constant", k, _PartColumns.CONSTANTS) for k in range(len(constants))]
    outputs: list[ca.SX] = []
    targets: list[MemoryRef] = []
    answers = ca.vertsplit(traced.result)
    for one in results:
        refs = columns.results(one)
        own, answers = answers[: len(refs)], answers[len(refs) :]
        if own and one.what in ("least", "nearest"):  # compared with that of the parts before
            before = ca.SX.sym("before")
            symbols.append(before)
            sources += refs
            least, near = ca.fmin(before, own[0]), ca.if_else(ca.fabs(before) < ca.fabs(own[0]), before, own[0])
            own = [least if one.what == "least" else near]
        outputs += own
        targets += refs[: len(own)]  # a part that nothing acts on has no powers
    function = ca.Function("part", [ca.SX(ca.vertcat(*symbols))], [ca.densify(ca.SX(ca.vertcat(*outputs)))])
    return StepFunction(function, tuple(sources), tuple(targets))


class _PartColumns:
    """The columns of a part's row in the table: family, constants, then where each joint is in q and in v, and z."""

    CONSTANTS = 1

    def __init__(self, member: PartMember) -> None:
        n = len(member.q)
        self._q = [(2 + j, where.stop - where.start) for j, where in enumerate(member.q)]
        self._v = [(2 + n + j, where.stop - where.start) for j, where in enumerate(member.v)]
        self._z = [(2 + 2 * n + k, 1) for k in range(len(member.z))]

    def inputs(self, name: str, argument: int) -> list[MemoryRef]:
        """Return where the part's share of an input is."""
        if name == "t":
            return [MemoryRef("input", 0, argument=argument)]
        spans = {"q": self._q, "z": self._z}.get(name, self._v)
        return [MemoryRef("input", i, column, argument) for column, size in spans for i in range(size)]

    def results(self, one: PartResult) -> list[MemoryRef]:
        """Return where results of the part go."""
        if one.what not in ("freedom", "state"):
            return [MemoryRef("output", one.start, add=one.what == "sum")]
        spans = self._v if one.what == "freedom" else self._z
        return [MemoryRef("output", one.start + i, column) for column, size in spans for i in range(size)]
