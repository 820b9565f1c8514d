"""The services of a system with loops: planning, assembly, consistency, the choice of `auto`, the dense fallback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from whippletree.foundation.once import made_once
from whippletree.kernels.cache import DiskCache
from whippletree.kernels.kernel import Array, Kernel
from whippletree.system.equations import Equations, Request
from whippletree.system.loop_plan import Conditions
from whippletree.system.state_space import StateSpace
from whippletree.system.tolerances import DATA_ACCURACY

if TYPE_CHECKING:
    from whippletree.system.assembly import Assembler
    from whippletree.system.auto_formulation import AutoFormulation
    from whippletree.system.closure_numbers import ClosureNumbers
    from whippletree.system.consistency import ClosureConsistency
    from whippletree.system.dense_fallback import DenseFallback
    from whippletree.system.folded_loops import FoldedLoops
    from whippletree.system.mobility import Mobility
    from whippletree.system.planner import LoopPlanner

__all__ = ["LoopServices"]

_POLISHING_STEPS = 3
"""Newton steps onto the kept rows from a configuration that is closed up to the accuracy of the data: 1e-3 to 1e-24."""


class LoopServices:
    """The pieces that look after the closures of one mechanism, each imported and made when first needed.

    `numbers`, `assembler` and `planner` are there before any plan, and the same under all plans: those of `first`, if
    that is given, and so is the `mobility` that was found with the first plan. `accuracy` is that of the data.
    `consistency`, `auto` and `fallback` belong to the plan of the `equations`.
    """

    def __init__(
        self,
        equations: Equations,
        states: StateSpace,
        cache: DiskCache | None,
        kernel: Callable[[Request], Kernel],
        first: LoopServices | None = None,
        mobility: Mobility | None = None,
        accuracy: float = DATA_ACCURACY,
    ) -> None:
        self.equations, self.states = equations, states
        self._lock = equations.lock
        self.mobility: Mobility | None = mobility or (first.mobility if first else None)
        self._cache, self._kernel, self._first, self._accuracy = cache, kernel, first, accuracy

    # ------------------------------------------------------------------ the same under all plans

    @made_once
    def numbers(self) -> ClosureNumbers:
        """The closures in numbers."""
        if self._first is not None:
            return self._first.numbers
        from whippletree.system.closure_numbers import ClosureNumbers
        from whippletree.system.lengths import loop_lengths

        lengths = loop_lengths(self.equations.description, self.equations.plan)
        return ClosureNumbers(self.equations, lengths, self._accuracy)

    @made_once
    def assembler(self) -> Assembler:
        """Closes loops from a guess."""
        if self._first is not None:
            return self._first.assembler
        from whippletree.system.assembly import Assembler
        from whippletree.system.configuration_space import ConfigurationSpace

        space = ConfigurationSpace(self.equations, self.states, self.numbers.lengths)
        return Assembler(self.numbers, space)

    @made_once
    def planner(self) -> LoopPlanner:
        """Makes plans."""
        from whippletree.system.planner import LoopPlanner

        return self._first.planner if self._first is not None else LoopPlanner(self.assembler, self.states)

    @made_once
    def folded(self) -> FoldedLoops:
        """Finds joints that lie upon each other."""
        from whippletree.system.folded_loops import FoldedLoops

        return self._first.folded if self._first is not None else FoldedLoops(self.numbers, self.states)

    def conditions(self, t: float = 0.0, parameters: Array | None = None) -> Conditions:
        """Return a time and parameters, those described unless given."""
        return self.numbers.conditions(t, parameters)

    # ------------------------------------------------------------------ under this plan

    @made_once
    def consistency(self) -> ClosureConsistency:
        """Checks of states, and their projections onto the closures."""
        from whippletree.system.consistency import ClosureConsistency

        return ClosureConsistency(self.assembler, self.equations.loop_plan)

    @made_once
    def auto(self) -> AutoFormulation:
        """Chooses the formulation of `auto`."""
        from whippletree.system.auto_formulation import AutoFormulation

        before = self._first
        first = before.auto if before is not None and before.equations.loops is not None else None
        return AutoFormulation(self.equations, self.numbers, self._cache, self._kernel, first)

    @made_once
    def fallback(self) -> DenseFallback:
        """Solves states that kernels give up."""
        from whippletree.system.dense_fallback import DenseFallback

        return DenseFallback(self.equations, self.consistency, self.states.freedom_name)

    def on_kept_rows(self, q: Array, v: Array, where: Conditions) -> tuple[Array, Array]:
        """Return a state on the rows that the plan keeps, next to one that is closed up to the accuracy of the data.

        Velocities change as by impulses of the closures, M (v - v0) = C^T impulse. That takes energy of second order
        only, where the least change of velocities would take or bring some of first order.
        """
        given = {"v": v, "t": np.array(where.t), "parameters": where.parameters}
        closed = v
        for _ in range(_POLISHING_STEPS):
            found = self._at("project", given | {"q": q, "v": closed})
            q, closed = self.assembler.space.integrate(q, found[: v.size]), found[v.size : 2 * v.size]
        if not v.any():
            return q, closed
        M = self._at("mass_matrix", given | {"q": q}).reshape(v.size, v.size)
        B = self._at("motion_basis", given | {"q": q}).reshape(v.size, -1)
        if not np.isfinite(B).all():
            return q, closed  # a singular position
        B = B[:, ~B[self.equations.prescribed_mask].any(axis=0)]
        return q, closed + B @ np.linalg.lstsq(B.T @ M @ B, B.T @ M @ (v - closed))[0]

    def _at(self, function: str, given: Mapping[str, Array]) -> Array:
        """Return a function's values at a state, by CasADi's evaluator."""
        request = self.equations.resolved(Request(function), lambda _: "auto")
        traced = self.equations.trace(request)
        return np.array(traced.call([given[traced.name_in(i)] for i in range(traced.n_in())])[0]).ravel()
