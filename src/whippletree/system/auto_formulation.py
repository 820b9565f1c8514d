"""The choice of `auto` for a mechanism with loops, and its reasons; made once, and remembered.

Candidates are traced and their scalar operations counted; the fewest are taken, each formulation's counted with the
weight that it declares. So the choice follows from the description alone, and is the same on every machine. Before
that, every group of loops chooses for itself (`group_choices`). Candidates whose systems are plainly the larger ones
are not traced in a large mechanism.

`tune` is for those who want the fastest on their machine: candidates that are close to the cheapest are compiled, each
just as it would be built by itself, and timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from whippletree.formulations.methods import registry
from whippletree.formulations.methods.formulation import Formulation, LoopSizes
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.composite_body import freedom_parents
from whippletree.foundation.once import made_once, without_collecting
from whippletree.kernels.cache import DiskCache
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.repeat import Repeated, least_seconds
from whippletree.system import loop_equations
from whippletree.system.closure_numbers import ClosureNumbers
from whippletree.system.equations import Equations, Request
from whippletree.system.formulation_choice import FormulationChoice, GroupChoice, close_ones, fastest
from whippletree.system.formulation_decisions import tree_regular
from whippletree.system.group_choices import LoopGroups, merged, operations
from whippletree.system.source import outside_source, source_key

__all__ = [
    "AutoFormulation",
    "Chooser",
    "Timer",
    "admitted",
    "candidates_key",
]

_DECIDED: dict[str, bytes] = {}
"""Choices made in this process, so that mechanisms that are alike choose alike, also without a cache."""

_REMEMBERED = 1000
"""How many decisions are remembered at most."""

Decided = TypeVar("Decided")


class AutoFormulation:
    """The formulation that `auto` uses, and how groups of loops are solved, under one numeric plan.

    It knows the equations with their plan, and asks `kernel` for machine code if candidates are to be timed. How
    candidates are weighed is the business of `Chooser`. `first` is that of the plan which the system was built
    with: what `auto` means does not change with the plan.
    """

    def __init__(
        self,
        equations: Equations,
        numbers: ClosureNumbers,
        cache: DiskCache | None,
        kernel: Callable[[Request], Kernel],
        first: AutoFormulation | None = None,
    ) -> None:
        self.equations, self.numbers, self.kernel = equations, numbers, kernel
        self._lock = equations.lock
        self._cache, self._first = cache, first
        self.loop_plan = equations.loop_plan

    @property
    def known(self) -> FormulationChoice | None:
        """The choice, if it has been made."""
        made: FormulationChoice | None = self.__dict__.get("chosen")
        return made

    @made_once
    def chosen(self) -> FormulationChoice:
        """The formulation that `auto` uses, and why; the same under all plans, since it may have been timed."""
        if self._first is not None:
            return self._first.chosen
        rolled = Request("forward_dynamics", "coordinate_reduction")
        by_items = self.numbers.families is not None and self.equations.reduces_by_items(rolled)
        if by_items or self.equations.too_long(rolled):
            count = len(self.numbers.closure_set.attachments.cuts)
            words = f"with {count} loops its straight line would take long to compile"
            others = {one.text: words for one in self.candidates if one.text != rolled.formulation}
            return FormulationChoice(rolled.formulation, {}, others, (), {})
        return self._remembered("auto", lambda: self.chooser.choose().packed(), FormulationChoice.unpacked)

    @made_once
    def group_methods(self) -> tuple[str, ...]:
        """How each group of loops is solved by "by_group"."""

        def weigh() -> bytes:
            return " ".join(group.method for group in self.chooser.group_choices).encode()

        return self._remembered("groups", weigh, lambda data: tuple(data.decode().split()))

    @made_once
    def chooser(self) -> Chooser:
        """The chooser among the candidates."""
        return Chooser(self.equations, self.candidates)

    def tune(self) -> FormulationChoice:
        """Time the candidates that are close to the cheapest, and use the fastest of them from now on."""
        self.chosen = self.chooser.tune(self.chosen, self.evaluation_times)
        return self.chosen

    @made_once
    def candidates(self) -> tuple[Formulation, ...]:
        """The formulations that `auto` weighs: those that need the tree's own inertia only if it has one."""
        regular = tree_regular(self.numbers, self.loop_plan.q, self.loop_plan.where)
        return admitted(regular=regular, nodes=len(self.equations.node_tree().node_constants))

    def evaluation_times(self, formulations: Sequence[str]) -> dict[str, float]:
        """Return the seconds of one evaluation of the forward dynamics in machine code."""
        state = {"q": self.loop_plan.q, "parameters": self.numbers.conditions().parameters}
        requests = {name: Request("forward_dynamics", name) for name in formulations}
        return least_seconds({name: Repeated(self.kernel(request), state) for name, request in requests.items()})

    def _remembered(self, what: str, make: Callable[[], bytes], read: Callable[[bytes], Decided]) -> Decided:
        """Return a decision from the disk cache or that of this process, or make it and store it there."""
        made_of = f"{source_key()}|{self.equations.description.fingerprint()}|{self.loop_plan.key()}"
        key = f"{what}|{candidates_key()}|{made_of}"
        kept = self._cache.load(key) if self._cache else None
        if kept and what in kept:
            return read(kept[what])
        made = _DECIDED.get(key)
        if made is None:
            with without_collecting():
                made = make()
            while len(_DECIDED) >= _REMEMBERED:
                _DECIDED.pop(next(iter([*_DECIDED])), None)  # not empty: it is full
            _DECIDED[key] = made
        if self._cache:
            self._cache.store(key, {what: made})
        return read(made)


_LARGE = 12
"""From this many nodes on, candidates are left out whose system to solve is plainly the larger."""

_GENERAL = 200
"""Operations for each node from which on motions are so general that frames along the ground's axes may be cheaper."""

_RATHER = 1.25
"""Variants of a method are traced where it takes at most this many times the operations of the cheapest."""

_COLUMNS = 5
"""Independent freedoms from which on the bodies' own maps are wider than the mass matrix of one whole group is deep."""

_SHALLOW = 2
"""Entries of a mass matrix per freedom up to which it is so sparse that E^T M E is as cheap as bodies' own maps."""

_FRONTS = 2
"""Rows across a joint for each independent freedom of its group from which on its loops are cheaper solved than carried
along. Among the mechanisms of `benchmarks/` and `examples/`, carrying takes 1.3 to 2 times the operations there."""

_HOPELESS = 1.2
"""A candidate that needs this many times the operations of another one, at the least, is not traced."""

Timer = Callable[[Sequence[str]], dict[str, float]]
"""Returns the seconds of one evaluation by each of some formulations, which are given by their texts."""


def admitted(*, regular: bool, nodes: int) -> tuple[Formulation, ...]:
    """Return the candidates for a mechanism with so many nodes, whose tree by itself has a regular mass matrix or not.

    >>> [one.text for one in admitted(regular=False, nodes=20)]
    ['coordinate_reduction', 'by_group', 'constraint_embedding', 'independent_coordinates']
    """
    return tuple(one for one in registry.candidates() if (regular or not one.inverts_mass) and _fits(one, nodes))


def _fits(one: Formulation, nodes: int) -> bool:
    most = one.candidacy.most_nodes if one.candidacy else None
    return most is None or nodes <= most


class Chooser:
    """Weighs the formulations of a mechanism with loops under one numeric plan; `candidates` are those `admitted`."""

    def __init__(self, equations: Equations, candidates: Sequence[Formulation]) -> None:
        self.equations, self.plan = equations, equations.loop_plan
        self._lock = equations.lock
        self.candidates = tuple(candidates)
        self.request = Request("forward_dynamics", self.candidates[0].text)
        self.symbols = equations.inputs(self.request)
        prepared = loop_equations.prepared(equations, self.request, self.symbols)
        self.walk: Unrolled = prepared.acted
        regular = any(one.inverts_mass for one in self.candidates)
        self.groups = LoopGroups(equations, self.walk, prepared.closure_set, regular)

    @property
    def group_choices(self) -> list[GroupChoice]:
        """How each group of loops is solved by itself."""
        return self.groups.choices

    def choose(self) -> FormulationChoice:
        """Count the operations of the candidates, and take the fewest."""
        groups = self.group_choices
        some, left_out = self._to_trace([group.method for group in groups])
        counts: dict[str, int] = {}
        for one in some:
            why = self._hopeless(one, counts)
            if why:
                left_out[one.text] = why
            else:
                counts[one.text] = self._count(one)
        # not empty: independent_coordinates at least
        chosen = min(counts, key=lambda text: _weight(text) * counts[text])
        return FormulationChoice(
            chosen, counts, left_out, merged(groups) if registry.find(chosen).by_groups else (), {}
        )

    def tune(self, chosen: FormulationChoice, timer: Timer) -> FormulationChoice:
        """Return the choice with those that are close to the cheapest timed, and the fastest taken."""
        times = timer(close_ones(chosen.counts)) if chosen.counts else {}
        name = fastest(chosen.counts, times) if times else chosen.name
        groups = merged(self.group_choices) if registry.find(name).by_groups else ()
        return chosen._replace(name=name, groups=groups, times=times)

    def _to_trace(self, methods: Sequence[str]) -> tuple[list[Formulation], dict[str, str]]:
        """Return the candidates to be traced, the likeliest first, and why others are not."""
        each = bool(set(methods) - {"embedded"}) and not self.groups.everything  # group by group
        some = [one for one in self.candidates if each or "group_methods" not in one.needs]
        left_out: dict[str, str] = {}
        if len(self.walk.nodes) > _LARGE:
            m, n = len(self.plan.choice.pivots), len(self.plan.choice.independent)
            if m >= n:
                words = f"it solves for {m} multipliers, where the others solve for {n} freedoms"
                left_out = {one.text: words for one in some if one.inverts_mass}
            why = self._fronts_wide()
            if why:
                left_out |= {one.text: why for one in some if "reduction" in one.needs}
            why = self._embedding_pointless(each)
            if why:
                left_out |= {one.text: why for one in some if one.by_groups and "group_methods" not in one.needs}
        return [one for one in some if one.text not in left_out], left_out

    def _embedding_pointless(self, each: bool) -> str:
        """Return why all groups need not be embedded in the same way; nothing if that may be the cheapest."""
        n = len(self.plan.choice.independent)
        if each:
            return "its groups are weighed one by one"
        if self.groups.everything and sum(self._depths(range(self.walk.nv))) <= _SHALLOW * self.walk.nv:
            return "one shallow group is the whole mechanism: independent_coordinates is the same"
        if self.groups.everything and n >= _COLUMNS:
            return f"one group is the whole mechanism, and its maps have {n} columns"
        return ""

    def _fronts_wide(self) -> str:
        """Return why rows need not be carried along as fronts; nothing if that may be the cheapest."""
        groups = range(len(self.groups.groups))
        if not groups:  # the loops are closed by free joints, which hold nothing
            return ""
        if any(self.groups.rows_across(g) <= _FRONTS * self.groups.size(g)[1] for g in groups):
            return ""
        rows = min(map(self.groups.rows_across, groups))  # not empty: looked at above
        return f"{rows:.2g} rows or more cross a joint, where a group of loops has few freedoms"

    def _depths(self, some: Iterable[int]) -> list[int]:
        """Return for each of some freedoms of the tree how many of them are on its way to the ground, with itself."""
        left_out = frozenset(range(self.walk.nv)) - frozenset(some)
        above = freedom_parents(self.walk.parents, self.walk.v_slices, self.walk.nv, left_out, self.walk.homes)
        depth: dict[int, int] = {}
        for where in self.walk.v_slices:
            for i in range(where.start, where.stop):
                if i not in left_out:
                    depth[i] = 1 + depth.get(above[i], 0)
        return list(depth.values())

    def _hopeless(self, one: Formulation, counts: Mapping[str, int]) -> str:
        """Return why a candidate cannot be the cheapest, given the counts so far; nothing if it can."""
        candidacy = one.candidacy
        if not counts or candidacy is None:
            return ""
        cheapest = min(counts.values())  # not empty: looked at above
        least = candidacy.at_least(self._sizes) if candidacy.at_least else 0
        if candidacy.weight * least > _HOPELESS * cheapest:
            return f"it would take at least {least} operations"
        model = candidacy.resembles
        if model not in counts:
            return ""
        if counts[model] > _RATHER * cheapest:
            return f"it is like {model}, which takes {counts[model]} operations"
        if candidacy.general_axes and counts[model] < _GENERAL * len(self.walk.nodes):
            return f"axes are plain here, and {model} is cheaper"
        return ""

    @made_once
    def _sizes(self) -> LoopSizes:
        """The sizes from which lower bounds of a candidate's cost follow."""
        groups = tuple(map(self.groups.size, range(len(self.groups.groups))))
        return LoopSizes(len(self.walk.nodes), self.walk.nv, self.plan.choice.independent, groups, self._depths)

    def _count(self, one: Formulation) -> int:
        """Return the operations of the tree's accelerations: those of the cut joints are the same for all."""
        request = replace(self.request, formulation=one.text)
        return operations([loop_equations.solution(self.equations, request, self.symbols).a])


def candidates_key() -> str:
    """Return the key of a choice beside the mechanism: the candidates, their weights and their text."""
    return repr([(one.text, _weight(one.text), outside_source(one)) for one in registry.candidates()])


def _weight(text: str) -> float:
    candidacy = registry.find(text).candidacy
    return candidacy.weight if candidacy else 1.0
