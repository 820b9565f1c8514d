"""What `auto` chooses for a mechanism with loops, and why.

Candidates are traced, their scalar operations counted, and those that are close to the cheapest are compiled and timed,
each just as it would be built by itself. Before that, every group of loops chooses for itself: it is traced apart from
the rest, with the branches that hang on it, by each method it can be solved with, and groups that are alike are traced
once. Candidates whose systems are plainly the larger ones are not traced in a large mechanism, and what takes long to
compile is not timed.

The environment variable WHIPPLETREE_CHOICE says `counted` if the choice shall depend on operations alone, so that it is
the same on every machine.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.closures.declared import DeclaredClosure
from whippletree.formulations.closures.closure_frames import ClosureAttachment
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_groups import NodeGroup, node_groups, with_branches
from whippletree.formulations.methods import constraint_embedding
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.composite import freedom_parents
from whippletree.kernels.tape import read_tape
from whippletree.system import loop_equations
from whippletree.system.equations import BY_GROUP, Equations, Request

__all__ = ["ALONG_GROUND", "CANDIDATES", "Chooser", "GroupChoice", "Weighed", "fastest", "timing"]

_LARGE = 12
"""From this many nodes on, candidates are left out if what they have to solve is plainly the larger system."""

_PIECES = 60
"""Groups that are together larger than this many nodes, those that are alike counted once, are embedded unweighed."""

_CLOSE = (1.5, 1.2)
"""A candidate with up to this many times the operations of the cheapest may be as fast, if they are few, or many."""

_FEW = 300
"""Up to this many operations, time is spent on waiting for results rather than on operations."""

_FASTER = 0.97
"""One that has more operations must take less than this share of the time to be taken."""

_COMPILED = 20_000
"""How many operations may be compiled in order to be timed: some two or three seconds."""

_GENERAL = 200
"""Operations for each node from which on motions are so general that frames along the ground's axes may be cheaper."""

_RATHER = 1.25
"""Variants of a method are traced where it takes at most this many times the operations of the cheapest."""

_COLUMNS = 5
"""Independent freedoms from which on the bodies' own maps are wider than the mass matrix of one whole group is deep."""

_SHALLOW = 2
"""Entries of a mass matrix per freedom up to which it is so sparse that E^T M E is as cheap as bodies' own maps."""

_PER_ENTRY, _PER_MAP = 10, 2
"""Operations that an entry of a mass matrix costs at the very least, with its part in what follows; and what a body's
map costs for each pair of independent freedoms."""

_HOPELESS = 1.2
"""A candidate that needs this many times the operations of another one, at the least, is not traced."""

_WIDE = 2_000
"""A group whose nodes, times its independent freedoms squared, are more than this is not tried by its bodies' maps."""

_WAYS = {
    "embedded": "embedded",
    "composite": "embedded, by composite inertias",
    "branches": "embedded with its branches, by composite inertias",
    "augmented": "by multipliers",
}


Timer = Callable[[Sequence[str]], dict[str, float]]


class GroupChoice(NamedTuple):
    """A group of loops, what it amounts to, and how it is solved; `counts` holds the operations of each method.

    It has `freedoms` in the tree, `equations` between them, and `independent` ones left; `alike` counts groups like it.
    """

    loops: tuple[str, ...]
    base: str
    bodies: int
    freedoms: int
    equations: int
    independent: int
    method: str
    counts: Mapping[str, int]
    alike: int = 1

    def __str__(self) -> str:
        named = ", ".join(self.loops[:4]) + (f", ... ({len(self.loops)} loops)" if len(self.loops) > 4 else "")
        like = f", and {self.alike - 1} more like it" if self.alike > 1 else ""
        words = (
            f"group of {named} on {self.base}{like}: {self.bodies} bodies with {self.freedoms} freedoms and "
            f"{self.equations} equations, {self.independent} independent; {_WAYS[self.method]}"
        )
        others = [f"{_WAYS[name]} {n}" for name, n in self.counts.items() if name != self.method]
        if not others:
            return words
        return f"{words} ({self.counts[self.method]} operations; {', '.join(others)})"


class Weighed(NamedTuple):
    """The formulation that `auto` uses: its name, the operations of the candidates, and what was left out, and why.

    `times` holds seconds per evaluation of those that were timed.

    >>> from whippletree.system.example_systems import four_bar
    >>> print(four_bar().chosen.name)
    independent_coordinates
    """

    name: str
    counts: Mapping[str, int]
    left_out: Mapping[str, str]
    groups: tuple[GroupChoice, ...]
    times: Mapping[str, float]

    def __str__(self) -> str:
        lines = []
        if self.counts:
            ordered = sorted(self.counts.items(), key=lambda item: (item[0] != self.name, item[1]))
            said = ", ".join(f"{name} {count}" for name, count in ordered)
            lines.append(f"{self.name} is used; operations for the tree's accelerations: {said}")
        else:
            lines.append(f"{self.name} is used")
        if self.times:
            timed = ", ".join(f"{name} {1e6 * seconds:.2g} us" for name, seconds in self.times.items())
            lines.append(f"  timed: {timed}")
        lines += [f"  {name} left out: {why}" for name, why in self.left_out.items()]
        lines += [f"  {group}" for group in self.groups]
        return "\n".join(lines)

    def packed(self) -> bytes:
        """Return it for the disk cache."""
        groups = [group._asdict() for group in self.groups]
        return json.dumps({**self._asdict(), "groups": groups}).encode()

    @staticmethod
    def unpacked(data: bytes) -> Weighed:
        """Return what was packed."""
        found = json.loads(data)
        groups = tuple(GroupChoice(**{**g, "loops": tuple(g["loops"])}) for g in found.pop("groups"))
        return Weighed(groups=groups, **found)


class Chooser:
    """Weighs the formulations of a mechanism with loops under one numeric plan.

    `candidates` are those of `CANDIDATES` that can answer, in their order; `timer` gives the seconds of one evaluation
    by each of some formulations.
    """

    def __init__(self, equations: Equations, candidates: Sequence[str], timer: Timer) -> None:
        self.equations, self.plan = equations, equations.loop_plan
        self.candidates, self.timer = tuple(candidates), timer
        self.request = Request("forward_dynamics")
        self.symbols = equations.inputs(self.request)
        prepared = loop_equations.prepared(equations, self.request, self.symbols)
        self.walk: Unrolled = prepared.acted
        self.closure_set: ClosureSet = prepared.closure_set
        self.groups = node_groups(self.walk.tree, self.closure_set.attachments, self.closure_set.keep, self.walk.units)

    def choose(self) -> Weighed:
        """Weigh everything."""
        groups = self.group_choices
        names, left_out = self._to_trace([group.method for group in groups])
        counts: dict[str, int] = {}
        for name in names:
            why = self._hopeless(name, counts)
            if why:
                left_out[name] = why
            else:
                counts[name] = self._count(name)
        times = self._timed(counts)
        name = fastest(counts, times)
        return Weighed(name, counts, left_out, _merged(groups) if name in _OF_GROUPS else (), times)

    def _to_trace(self, methods: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return the candidates to be traced, the likeliest first, and why others are not."""
        names = list(self.candidates)
        if set(methods) - {"embedded"} and not self._everything:
            names.insert(1, BY_GROUP)
        left_out: dict[str, str] = {}
        m, n = len(self.plan.choice.pivots), len(self.plan.choice.independent)
        if len(self.walk.nodes) > _LARGE:
            if m >= n:
                words = f"it solves for {m} multipliers, where the others solve for {n} freedoms"
                left_out = {name: words for name in ("tree_augmented", "joint_multipliers") if name in names}
            if self._everything and n >= _COLUMNS:
                left_out["constraint_embedding"] = f"one group is the whole mechanism, and its maps have {n} columns"
            if self._everything and self._mass_entries <= _SHALLOW * self.walk.nv:
                left_out["constraint_embedding"] = (
                    "one shallow group is the whole mechanism: independent_coordinates is the same"
                )
            if BY_GROUP in names and "constraint_embedding" in names:
                left_out["constraint_embedding"] = "its groups are weighed one by one"
        return [name for name in names if name not in left_out], left_out

    @functools.cached_property
    def _everything(self) -> bool:
        """Whether one group on the ground is the whole mechanism, so that its methods are the candidates."""
        return len(self.groups) == 1 and len(self.groups[0].nodes) == len(self.walk.nodes)

    @functools.cached_property
    def _mass_entries(self) -> int:
        """How many entries the mass matrix of the tree has on and below its diagonal."""
        return sum(self._depths(range(self.walk.nv)))

    def _depths(self, some: Iterable[int]) -> list[int]:
        """Return for each of some freedoms of the tree how many of them are on its way to the ground, with itself."""
        left_out = frozenset(range(self.walk.nv)) - frozenset(some)
        above = freedom_parents(self.walk.parents, self.walk.v_slices, self.walk.nv, left_out)
        depth: dict[int, int] = {}
        for where in self.walk.v_slices:
            for i in range(where.start, where.stop):
                if i not in left_out:
                    depth[i] = 1 + depth.get(above[i], 0)
        return list(depth.values())

    def _hopeless(self, name: str, counts: Mapping[str, int]) -> str:
        """Return why a candidate cannot be the cheapest, after what has been counted; nothing if it can."""
        if not counts:
            return ""
        cheapest, least = min(counts.values()), self._at_least(name)
        if least > _HOPELESS * cheapest:
            return f"it would take at least {least} operations"
        model = _LIKE.get(name)
        if model is None or model not in counts:
            return ""
        if counts[model] > _RATHER * cheapest:
            return f"it is like {model}, which takes {counts[model]} operations"
        if name in ALONG_GROUND and counts[model] < _GENERAL * len(self.walk.nodes):
            return f"axes are plain here, and {model} is cheaper"
        return ""

    def _at_least(self, name: str) -> int:
        """Return a number of operations that a candidate needs in any case, from the sizes of what it factorises."""
        if name == "constraint_embedding":
            return sum(_PER_MAP * n * k**2 for n, k in map(self._size, range(len(self.groups))))
        if name in ("independent_coordinates", "joint_multipliers"):
            left = self.plan.choice.independent if name == "independent_coordinates" else range(self.walk.nv)
            return _PER_ENTRY * self._mass_entries + sum(d**2 for d in self._depths(left))
        return 0

    def _size(self, g: int) -> tuple[int, int]:
        """Return the nodes of a group, and how many freedoms are independent in it."""
        slices = [self.walk.v_slices[k] for k in self.groups[g].nodes]
        freedoms = {i for where in slices for i in range(where.start, where.stop)}
        return len(slices), sum(i in freedoms for i in self.plan.choice.independent)

    def _count(self, name: str) -> int:
        """Return the operations of the tree's accelerations: what the cut joints add is the same for all."""
        request = replace(self.request, formulation=name)
        return _operations([loop_equations.solution(self.equations, request, self.symbols).a])

    def _timed(self, counts: Mapping[str, int]) -> dict[str, float]:
        """Return the times of the cheapest, if there are several that do not take long to compile."""
        least = min(counts.values())
        most = _CLOSE[least > _FEW] * least
        chosen: list[str] = []
        total = 0
        for name in sorted(counts, key=lambda name: counts[name]):
            total += counts[name]
            if counts[name] > most or total > _COMPILED:
                break
            chosen.append(name)
        return self.timer(chosen) if len(chosen) > 1 and timing() else {}

    # ------------------------------------------------------------------ groups

    @functools.cached_property
    def group_choices(self) -> list[GroupChoice]:
        """Return how each group is solved: the cheapest of its methods, by its operations."""
        kinds: dict[Any, dict[str, int]] = {}
        keys = [self._kind(g) for g in range(len(self.groups))]
        size = {key: len(self._scope(g).nodes) for g, key in enumerate(keys)}
        weigh = not self._everything and sum(size.values()) <= _PIECES
        for g, key in enumerate(keys):
            if weigh and key not in kinds:
                kinds[key] = {method: self._piece(g, method) for method in self._methods(g)}
        return [self._choice(g, kinds.get(key, {})) for g, key in enumerate(keys)]

    def _methods(self, g: int) -> list[str]:
        """Return the methods that a group can be solved with."""
        regular = "tree_augmented" in self.candidates
        same = len(self._scope(g).nodes) == len(self.groups[g].nodes)
        n, k = self._size(g)
        wide = n * k**2 > _WIDE
        unfit = {*(() if regular else ("augmented",)), *(("branches",) if same or wide else ())}
        unfit |= {"embedded"} if wide else set()
        return [method for method in constraint_embedding.METHODS if method not in unfit]

    def _scope(self, g: int) -> NodeGroup:
        return with_branches(self.walk.parents, self.groups, g)

    def _piece(self, g: int, method: str) -> int:
        return _operations(
            constraint_embedding.piece(self.walk, self.closure_set, self.plan.choice, self.groups, g, method)
        )

    def _choice(self, g: int, counts: Mapping[str, int]) -> GroupChoice:
        group = self.groups[g]
        node_constants = self.equations.node_tree().node_constants
        freedoms = {i for k in group.nodes for i in range(node_constants[k].v.start, node_constants[k].v.stop)}
        return GroupChoice(
            loops=tuple(dict.fromkeys(self.closure_set.attachments.all[c].name for c in group.attachments)),
            base="ground" if group.base < 0 else self._body(group.base),
            bodies=len(group.nodes),
            freedoms=len(freedoms),
            equations=sum(len(self.closure_set.keep[c]) for c in group.attachments),
            independent=sum(i in freedoms for i in self.plan.choice.independent),
            method=min(counts, key=lambda name: counts[name]) if counts else self._methods(g)[0],
            counts=dict(counts),
        )

    def _body(self, node: int) -> str:
        where = self.equations.node_tree().where
        return next(body.name for body in self.equations.description.bodies if where[body.name][0] == node)

    def _kind(self, g: int) -> Any:
        """Return what the cost of a group with its branches depends on: which of its constants are plain, and where."""
        scope, group = self._scope(g), self.groups[g]
        place = {k: m for m, k in enumerate(scope.nodes)}
        node_constants, held = self.equations.node_tree().node_constants, self.closure_set.attachments
        beyond = [place[p] for k, p in enumerate(self.walk.parents) if p in place and k not in place]
        freedom: dict[int, int] = {}
        described: list[Any] = []
        for k in scope.nodes:
            constants, node = node_constants[k], self.walk.nodes[k]
            freedom |= {i: len(freedom) + n for n, i in enumerate(range(constants.v.start, constants.v.stop))}
            numbers = (constants.placement.rotation, constants.placement.point, constants.inertia)
            described.append(
                (
                    place.get(constants.parent, -1),
                    repr(constants.joint),
                    _plain(numbers),
                    node.prescribed,
                    len(node.loads),
                )
            )
        closures: list[Any] = []
        row: dict[int, int] = {}
        start = 0
        for c, keep in enumerate(self.closure_set.keep):
            if c in group.attachments:
                row |= {start + i: len(row) + i for i in range(len(keep))}
                f = held.all[c]
                frames = [(place.get(g.node, -1), _plain(g.rotation), _plain(g.point)) for g in f.frames]
                used = [(place.get(k.node) if k.node is not None else k.cut, k.component) for k in f.coordinates]
                closures.append((type(f.closure).__name__, str(_entries(f)), frames, place.get(f.base, -1), used, keep))
            start += len(keep)
        choice = self.plan.choice
        decided = (
            [freedom[i] for i in choice.independent if i in freedom],
            [(row[r], freedom[d]) for r, d in choice.pivots if r in row],
        )
        return repr((scope.base < 0, described, beyond, closures, decided))


ALONG_GROUND = (
    "velocity_transformation/reference_point/independent",
    "velocity_transformation/reference_point/multipliers",
)

CANDIDATES = (
    "coordinate_reduction",
    "constraint_embedding",
    "independent_coordinates",
    "joint_multipliers",
    *ALONG_GROUND,
    "tree_augmented",
)
"""What `auto` chooses from: those whose cost is known to grow slowly first, and all after those that they are like."""

_LIKE = {
    ALONG_GROUND[0]: "independent_coordinates",
    ALONG_GROUND[1]: "joint_multipliers",
    "tree_augmented": "coordinate_reduction",
}
"""Candidates that take about as many operations as another one, which is counted first."""

_OF_GROUPS = (BY_GROUP, "constraint_embedding")


def _entries(attachment: ClosureAttachment) -> Any:
    closure = attachment.closure
    return (closure.text, closure.entries()) if isinstance(closure, DeclaredClosure) else repr(closure)


def _plain(numbers: Any) -> Any:
    """Return numbers with all that are neither zero nor one replaced by a mark: what they are costs nothing.

    >>> _plain((0.0, 2.5, (1.0, -1.0)))
    (0.0, 'x', (1.0, -1.0))
    """
    if isinstance(numbers, ca.SX | ca.DM):
        return tuple(_plain(numbers[i]) if numbers.numel() > 1 else _scalar(numbers) for i in range(numbers.numel()))
    if isinstance(numbers, tuple | list):
        return tuple(_plain(each) for each in numbers)
    return numbers if numbers in (0.0, 1.0, -1.0) else "x"


def _scalar(x: Any) -> Any:
    """Return the number that an expression is, or its text."""
    return _plain(float(x)) if ca.SX(x).is_constant() else str(x)


def _merged(groups: Sequence[GroupChoice]) -> tuple[GroupChoice, ...]:
    """Return groups with those that are alike told once."""
    found: dict[Any, GroupChoice] = {}
    for group in groups:
        key = group[2:7]
        found[key] = found[key]._replace(alike=found[key].alike + 1) if key in found else group
    return tuple(found.values())


def _operations(results: Sequence[ca.SX]) -> int:
    """Return the number of scalar operations of some expressions."""
    out = ca.vertcat(*(ca.vec(ca.densify(result)) for result in results))
    return read_tape(ca.Function("piece", ca.symvar(out), [out])).count().total


def timing() -> bool:
    """Tell whether candidates may be timed."""
    return os.environ.get("WHIPPLETREE_CHOICE", "").strip().lower() != "counted"


def fastest(counts: Mapping[str, int], times: Mapping[str, float]) -> str:
    """Return the one with the fewest operations of those that are as fast as the fastest, or nearly so.

    >>> fastest({"a": 100, "b": 120}, {"a": 1.0, "b": 0.98}), fastest({"a": 100, "b": 120}, {"a": 1.0, "b": 0.9})
    ('a', 'b')
    """
    least = min(times.values(), default=0.0)
    fast = [name for name in counts if not times or times.get(name, float("inf")) * _FASTER <= least]
    return min(fast, key=lambda name: counts[name])
