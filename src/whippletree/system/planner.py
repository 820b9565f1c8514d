"""The planner: numeric plans of the loops, made at a configuration, and compared with others on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import kinematics
from whippletree.foundation.log import log
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array
from whippletree.system.assembly import Assembler, not_closed
from whippletree.system.decisions import Decision, alternatives, decide, on_grid, robust, smallest_pivot
from whippletree.system.formulation_decisions import finders, plan_pivot
from whippletree.system.loop_plan import Conditions, LoopPlan
from whippletree.system.mobility import Mobility, analyse, disagreement_around, disagreement_in_words
from whippletree.system.ranks import ranks_of_blocks
from whippletree.system.state_space import StateSpace
from whippletree.system.tolerances import CLEARLY_BETTER, TAKEN_UP

__all__ = ["LoopPlanner"]


class LoopPlanner:
    """Makes the numeric plans of a mechanism's loops; a plan, once made, is frozen.

    It knows the closures in numbers and the names of freedoms. It keeps no plan, so that all plans of a mechanism come
    from one planner, and it knows nothing of kernels; of formulations only which decisions they may ask a plan for
    (`formulation_decisions.py`).
    """

    def __init__(self, assembler: Assembler, states: StateSpace) -> None:
        self.assembler, self.numbers, self.states = assembler, assembler.numbers, states
        self.equations, self.plan = assembler.numbers.equations, assembler.numbers.plan
        self._lock = self.equations.lock

    # ------------------------------------------------------------------ the first plan

    def analyse(self, q: Array, where: Conditions, dependent: frozenset[int] | None = None) -> Mobility:
        """Return how the mechanism can move around a closed configuration."""
        return self._analysed(q, where, dependent)[1]

    def make(self, q: Array, where: Conditions, dependent: frozenset[int] | None = None) -> tuple[LoopPlan, Mobility]:
        """Return a plan made at a closed configuration, good also around it, and how the mechanism can move.

        Freedoms in `dependent` shall depend on the others, as far as they can.
        """
        decision, mobility = self._analysed(q, where, dependent)
        rank = self.plan.nv - mobility.mobility
        if self.numbers.families is None:
            decision = robust(self.assembler, decision, where, rank, dependent or frozenset(), self._height)
            names = tuple(self.states.freedom_name(i) for i in decision.partition.independent)
            mobility = replace(mobility, independent=names)
        slack = self.numbers.accuracy if mobility.disagreement else 0.0
        log("plan", f"{rank} rows are kept; independent coordinates: {', '.join(mobility.independent) or 'none'}")
        return self.plan_of(decision, where, rank, dependent, slack), mobility

    def plan_of(
        self,
        decision: Decision,
        where: Conditions,
        rank: int,
        dependent: frozenset[int] | None = None,
        slack: float = 0.0,
    ) -> LoopPlan:
        """Return a plan from what was decided, and under which conditions; the plan keeps copies of both."""
        kept_rows, partition, q = decision
        where = where._replace(parameters=where.parameters.copy())
        lengths, find = self.numbers.lengths, finders(self.numbers)
        return LoopPlan(kept_rows, partition, q.copy(), where, lengths, rank, dependent, find, slack)

    def refuse_rounded(self, nearly: Array, where: Conditions) -> None:
        """Refuse loops that are nearly closed at a configuration, and all around it, by more than the data's accuracy.

        Then they are closed exactly only where errors of the data happen to cancel, which may be anywhere.
        """
        off = disagreement_around(self.assembler, nearly, where)
        if off is not None:
            raise not_closed(disagreement_in_words(self.assembler, off), float(off.max(initial=0.0)))

    def opening_in_words(self, q: Array, where: Conditions) -> str:
        """Say which equation is open by more than the accuracy of the data at a configuration; nothing if none is."""
        off = np.abs(self.numbers.residual(q, *where))
        return disagreement_in_words(self.assembler, off) if off.max(initial=0.0) > self.numbers.accuracy else ""

    # ------------------------------------------------------------------ other plans, on the way

    def better(
        self, present: LoopPlan, q: Array, where: Conditions, others: Sequence[LoopPlan] = ()
    ) -> LoopPlan | None:
        """Return a plan made at a configuration, if it is clearly better there than the present one.

        Of those that are about as good, one that would have been good also where others were made comes first, and
        dependent freedoms that were asked for stay so.
        """
        decisions = self._ways_on(present, q, where, others)
        pivots = [smallest_pivot(self.numbers, one, q, where) for one in decisions]
        largest = max(pivots)  # not empty: at least one way on, whatever is wished for
        good = [n for n, pivot in enumerate(pivots) if pivot * CLEARLY_BETTER >= largest]
        best, pivot = decisions[good[0]], pivots[good[0]]
        enough = pivot > 0.0 and pivot >= CLEARLY_BETTER * plan_pivot(self.numbers, present, q, where)
        if not enough or present.decides(best.kept_rows, best.partition):
            return None
        plain = self.numbers.families is None and not self.states.quaternions
        best = on_grid(self.numbers, best, where) if plain else best
        return self.plan_of(best, where, present.rank, present.dependent, present.slack)

    def _ways_on(self, present: LoopPlan, q: Array, where: Conditions, others: Sequence[LoopPlan]) -> list[Decision]:
        """Return decisions at a configuration, in the order in which they are preferred."""
        numbers, full = self.numbers, present.rank
        wanted = present.dependent or frozenset()
        if numbers.families is not None or self._rank(q, where) < full:
            decision, mobility = self._analysed(q, where, present.dependent)
            return [decision, *alternatives(numbers, decision.q, where, mobility.mobility)]
        decisions = [decide(numbers, q, where, full, wanted)] if wanted else []
        decisions += alternatives(numbers, q, where, self.plan.nv - full)
        try:
            return [decide(numbers, q, where, full, wanted, also=[plan.q for plan in others]), *decisions]
        except np.linalg.LinAlgError:  # no order of elimination goes everywhere
            return decisions

    def taken_up(self, present: LoopPlan, others: Sequence[LoopPlan], q: Array, where: Conditions) -> LoopPlan | None:
        """Return one of some other plans that is clearly better at a configuration than the present one, if there is.

        It is as good there as where it was made, and that was as good as the others: then none is looked for.
        """
        good = max((plan.smallest_pivot for plan in others), default=0.0) / CLEARLY_BETTER
        enough = CLEARLY_BETTER * plan_pivot(self.numbers, present, q, where)
        return self._fitting([plan for plan in others if plan.smallest_pivot >= good], enough, q, where)

    def known(
        self, present: LoopPlan, plan: LoopPlan, others: Sequence[LoopPlan], q: Array, where: Conditions
    ) -> LoopPlan:
        """Return one of some other plans that does as well at a configuration as a better plan, or else that one."""
        enough = plan_pivot(self.numbers, present, q, where) * CLEARLY_BETTER
        enough = max(enough, plan_pivot(self.numbers, plan, q, where) / CLEARLY_BETTER)
        return self._fitting(others, enough, q, where) or plan

    def _fitting(self, plans: Sequence[LoopPlan], enough: float, q: Array, where: Conditions) -> LoopPlan | None:
        """Return the plan with the largest pivots at a configuration, if they are large enough.

        They have to be about as large as where the plan was made: by that they are watched.
        """
        low, high = TAKEN_UP
        best, most = None, 0.0
        for plan in plans:
            here, there = plan_pivot(self.numbers, plan, q, where), plan.smallest_pivot
            if here >= enough and low * there < here < high * there and here > most:
                best, most = plan, here
        return best

    # ------------------------------------------------------------------ for analyses

    def _rank(self, q: Array, where: Conditions) -> int:
        """Return the rank of the closures at a configuration."""
        numbers = self.numbers
        return sum(ranks_of_blocks(numbers.full_rows(q, *where)[0], numbers.blocks, numbers.negligible))

    def _analysed(self, q: Array, where: Conditions, dependent: frozenset[int] | None) -> tuple[Decision, Mobility]:
        return analyse(self.assembler, q, where, self.states.freedom_name, self._cut_axes, dependent)

    def _cut_axes(self, q: Array, joint: str) -> Array:
        """Return the axes of a cut joint's child side in the ground frame."""
        use = self.equations.description.joint(joint)
        index, placement = self.equations.node_tree().where[use.child]
        R = np.array((placement @ use.on_child).rotation, dtype=np.float64)
        return R if index < 0 else np.asarray(self._node_axes(q).full()[3 * index : 3 * index + 3] @ R)

    @made_once
    def _node_axes(self) -> ca.Function:
        return self._function(lambda walk: ca.vertcat(*(kept.R for kept in kinematics.poses(walk).records)))

    def _height(self, q: Array) -> float:
        """Return the potential energy of the weights."""
        return float(self._weights(q))

    @made_once
    def _weights(self) -> ca.Function:
        gravity = ca.vertcat(*self.equations.description.gravity)
        return self._function(lambda walk: -ca.dot(gravity, kinematics.momentum(walk)[1]))

    def _function(self, of: Callable[[Unrolled], ca.SX]) -> ca.Function:
        """Return a function of the configuration, with the described values of the parameters."""
        description = self.equations.description
        q = ca.SX.sym("q", self.plan.nq)
        named = ca.vertcat(*(p.symbol for p in description.parameters))
        out = of(self.equations.walk({"q": q}))
        values = ca.DM(description.parameter_values)
        return ca.Function("placed", [q], [ca.substitute(out, named, values) if named.numel() else out])
