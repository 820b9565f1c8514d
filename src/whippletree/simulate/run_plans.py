"""The numeric plans of the loops that a simulation works with: its own affair, which leaves the system as it was."""

from __future__ import annotations

from bisect import bisect
from operator import itemgetter
from typing import Any

import numpy as np

from whippletree.errors import StateError, WhippletreeError
from whippletree.formulations.closures.partition import Choice
from whippletree.kernels.kernel import Array
from whippletree.simulate import system_interface
from whippletree.simulate.packed_forms import COUNT, FINITE, Header, Maybe, NumberForm, read_form
from whippletree.simulate.system_interface import chosen_formulation, loop_plan
from whippletree.system import System
from whippletree.system.decisions import Decision
from whippletree.system.loop_plan import Conditions, LoopPlan
from whippletree.system.loop_services import LoopServices

__all__ = ["RunPlans"]

_MOST = 16
"""How many plans a simulation remembers; those that it has left longest ago are forgotten."""


class RunPlans:
    """The plan that a simulation works with, `now`, and those that it has worked with before, the built one first.

    A plan that has been left is taken up again where its pivots are about as large as where it was made: then nothing
    is compiled. A run that follows another from its start tries the plan first that the other took up at that time.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> plans = RunPlans(s)
    >>> plans.now is s, plans.again(s.q0, system_interface.loops(s).conditions())
    (True, False)
    """

    def __init__(self, system: System) -> None:
        self.now = system
        self._known = [system]
        self.taken: list[tuple[float, LoopPlan]] = []
        self.foreseen: list[tuple[float, LoopPlan]] = []

    @property
    def loops(self) -> LoopServices:
        """The loops under the present plan."""
        return system_interface.loops(self.now)

    def again(self, q: Array, where: Conditions) -> bool:
        """Go on with a plan that is clearly better at a configuration, if there is one; say whether there is."""
        known, present = [loop_plan(system) for system in self._known], loop_plan(self.now)
        planner = self.loops.planner
        plan = planner.taken_up(present, self._expected(where.t), q, where)
        plan = plan or planner.taken_up(present, known, q, where) or self._planned(present, known, q, where)
        if plan is None:
            return False
        self.taken.append((where.t, plan))
        found = [system for system in self._known if loop_plan(system) is plan]
        if found:
            self.now = found[0]
            return True
        first, *others = self._known
        self.now = system_interface.with_plan(first, plan)
        others = [system for system in others if not loop_plan(system).same(plan)]
        self._known = [first, *others[-(_MOST - 2) :], self.now]
        return True

    def _planned(self, present: LoopPlan, known: list[LoopPlan], q: Array, where: Conditions) -> LoopPlan | None:
        """Return a plan made at a configuration, or a known one that does as well, if it is clearly better there."""
        planner = self.loops.planner
        try:
            if self.loops.consistency.near_singular(q, where):
                return None
            plan = planner.better(present, q, where, known)
        except (WhippletreeError, np.linalg.LinAlgError):  # there is no plan at all
            return None
        return None if plan is None else planner.known(present, plan, known, q, where)

    def _expected(self, t: float) -> list[LoopPlan]:
        """Return the plan that the run before took up nearest to a time, if it is known still."""
        ahead = bisect(self.foreseen, t, key=itemgetter(0))
        near = min(self.foreseen[max(ahead - 1, 0) : ahead + 1], key=lambda one: abs(one[0] - t), default=None)
        return [] if near is None else [plan for plan in map(loop_plan, self._known) if plan is near[1]]

    def from_start(self) -> RunPlans:
        """Return plans for another run from the start: it begins with the built one, knows all and when each served."""
        twin = self.copy()
        twin.now, twin.taken, twin.foreseen = self._known[0], [], self.taken
        return twin

    def copy(self) -> RunPlans:
        """Return plans that change independently; the data of each plan are shared."""
        twin = RunPlans(self.now)
        twin._known = list(self._known)
        twin.taken, twin.foreseen = list(self.taken), self.foreseen
        return twin

    # ------------------------------------------------------------------ kept

    def packed(self) -> Header | None:
        """Return all plans in plain numbers, the index of the present one, and the formulation of `auto`, if known."""
        if not system_interface.is_closed(self.now):
            return None
        plans = [_packed(loop_plan(system)) for system in self._known]
        return {"plans": plans, "now": self._known.index(self.now), "auto": chosen_formulation(self._known[0])}

    @staticmethod
    def unpacked(system: System, kept: Any) -> RunPlans:
        """Return the plans of a simulation of a system again."""
        plans = RunPlans(system)
        if not system_interface.is_closed(system):
            return plans
        kept = read_form(_FORM, kept, "plans of the loops")
        found = [_unpacked(system, plan) for plan in kept["plans"][:_MOST]]
        built = loop_plan(system)
        if not kept["now"] < len(found):
            raise StateError("its plans of the loops have none for now")
        if not found[0].same(built):
            raise StateError(
                "the loops are planned otherwise than in the run, so that it cannot go on to the same bits: build the "
                "system as it was, with the same guess"
            )
        first = system
        if not np.array_equal(found[0].q, built.q) or kept["auto"] not in (None, chosen_formulation(system)):
            first = system_interface.with_plan(system, found[0])
        if kept["auto"] is not None and first is not system:  # it may come out otherwise another time
            system_interface.set_chosen_formulation(first, kept["auto"])
        plans._known = [first, *(system_interface.with_plan(first, plan) for plan in found[1:])]
        plans.now = plans._known[kept["now"]]
        return plans

    def __getstate__(self) -> tuple[System, Any]:
        return self._known[0], self.packed()

    def __setstate__(self, kept: tuple[System, Any]) -> None:
        self.__dict__.update(RunPlans.unpacked(*kept).__dict__)


_FORM = {
    "plans": [
        {
            "keep": [[COUNT]],
            "independent": [COUNT],
            "pivots": [(COUNT, COUNT)],
            "q": [FINITE],
            "t": FINITE,
            "parameters": [FINITE],
        }
    ],
    "now": NumberForm(0, _MOST - 1, whole=True),
    "auto": Maybe(str),
}


def _packed(plan: LoopPlan) -> Header:
    return {
        "keep": [[int(row) for row in rows] for rows in plan.keep],
        "independent": [int(i) for i in plan.choice.independent],
        "pivots": [[int(row), int(column)] for row, column in plan.choice.pivots],
        "q": plan.q.tolist(),
        "t": plan.where.t,
        "parameters": plan.where.parameters.tolist(),
    }


def _unpacked(system: System, kept: Header) -> LoopPlan:
    """Return a plan again; refuse one that is none of the system's: other rows, or other freedoms than it has."""
    built = loop_plan(system)
    keep, pivots = tuple(map(tuple, kept["keep"])), tuple(map(tuple, kept["pivots"]))
    choice = Choice(tuple(kept["independent"]), pivots)
    q, parameters = np.array(kept["q"], dtype=np.float64), np.array(kept["parameters"], dtype=np.float64)
    rows, sizes = sum(map(len, keep)), system_interface.closure_sizes(system)
    good = len(keep) == len(sizes) and all(
        len({*own}) == len(own) and all(row < size for row in own) for own, size in zip(keep, sizes, strict=True)
    )
    good = good and sorted(row for row, _ in pivots) == list(range(rows))
    good = good and _freedoms(choice) == _freedoms(built.choice)
    if not good or q.shape != built.q.shape or parameters.shape != built.where.parameters.shape:
        raise StateError("its plans of the loops do not fit the mechanism")
    decision, where = Decision(keep, choice, q), Conditions(kept["t"], parameters)
    return system_interface.loops(system).planner.plan_of(decision, where, built.rank, built.dependent, built.slack)


def _freedoms(choice: Choice) -> list[int]:
    """Return the freedoms that a choice is about, each as often as it names it."""
    return sorted([*choice.independent, *(column for _, column in choice.pivots)])
