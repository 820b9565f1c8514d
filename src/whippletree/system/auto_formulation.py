"""What `auto` means for a mechanism with loops: chosen once, and remembered."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

from whippletree.formulations.methods.formulation import Formulation
from whippletree.kernels.cache import DiskCache
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.repeat import Repeated, least_seconds
from whippletree.system.choosing import Chooser, FormulationChoice, admitted, candidates_key
from whippletree.system.closure_numbers import ClosureNumbers
from whippletree.system.equations import Equations
from whippletree.system.formulation_decisions import tree_regular
from whippletree.system.request import Request
from whippletree.system.source import source_key

__all__ = ["AutoFormulation"]

_DECIDED: dict[str, bytes] = {}
"""What was decided in this process, so that mechanisms that are alike choose alike, also without a cache."""

_REMEMBERED = 1000
"""How many decisions are remembered at most."""

Decided = TypeVar("Decided")


class AutoFormulation:
    """The formulation that `auto` uses, and how groups of loops are solved, under one numeric plan.

    It knows the equations with their plan, and asks `kernel` for machine code if candidates are to be timed. How
    candidates are weighed is the business of `choosing.py`. `first` is that of the plan which the system was built
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
        self._cache, self._first = cache, first
        self.loop_plan = equations.loop_plan

    @property
    def known(self) -> FormulationChoice | None:
        """The choice, if it has been made."""
        made: FormulationChoice | None = self.__dict__.get("chosen")
        return made

    @functools.cached_property
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

    @functools.cached_property
    def group_methods(self) -> tuple[str, ...]:
        """How each group of loops is solved by "by_group"."""

        def weigh() -> bytes:
            return " ".join(group.method for group in self.chooser.group_choices).encode()

        return self._remembered("groups", weigh, lambda data: tuple(data.decode().split()))

    @functools.cached_property
    def chooser(self) -> Chooser:
        """What weighs the candidates."""
        return Chooser(self.equations, self.candidates)

    def tune(self) -> FormulationChoice:
        """Time the candidates that are close to the cheapest, and use the fastest of them from now on."""
        self.chosen = self.chooser.tune(self.chosen, self.evaluation_times)
        return self.chosen

    @functools.cached_property
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
            made = make()
            while len(_DECIDED) >= _REMEMBERED:
                _DECIDED.pop(next(iter(_DECIDED)))
            _DECIDED[key] = made
        if self._cache:
            self._cache.store(key, {what: made})
        return read(made)
