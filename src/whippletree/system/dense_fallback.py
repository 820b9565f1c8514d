"""States that a kernel gives up: solved one by one, with pivoting, or refused with the reason.

A kernel's order of elimination is fixed. At a state where one of its pivots is small, another order serves: the
equations are solved by singular values. Where the mechanism itself is singular, as a parallelogram lying flat, the
closures do not determine the acceleration at that very point; the limit along the branch that the motion is on does.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.errors import AssemblyError, DynamicsError
from whippletree.formulations.closures import loop_results as closed
from whippletree.formulations.closures.loop_solution import Solution, by_closure
from whippletree.formulations.methods.registry import known
from whippletree.foundation.log import log
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array
from whippletree.system.closure_numbers import LoopTerms
from whippletree.system.consistency import ClosureConsistency
from whippletree.system.equations import Equations, Request
from whippletree.system.formulation_decisions import balanced_motions, massless_combination
from whippletree.system.guards import worse_than_promised
from whippletree.system.loop_equations import joint_order
from whippletree.system.loop_plan import Conditions
from whippletree.system.tolerances import (
    CONTRADICTION,
    LIMIT_STEP,
    LOCKED,
    MOTION_RANK,
    OPEN_OVER_ACCURACY,
    REFINED_STATES,
    SINGULAR_HERE,
    UNDETERMINED,
)

__all__ = ["DenseFallback", "DenseSolution"]


class DenseSolution(NamedTuple):
    """Accelerations of the tree's joints, multipliers of all rows, and whether the rank was the generic one."""

    a: Array
    multipliers: Array
    regular: bool


class DenseFallback:
    """Solves single states by singular values, at singular positions by the limit along the motion's branch.

    It knows the closures in numbers and the rows that the plan keeps; it knows nothing of formulations: all give the
    same at such a state. `freedom_name` names freedoms in what is refused.
    """

    def __init__(
        self, equations: Equations, consistency: ClosureConsistency, freedom_name: Callable[[int], str]
    ) -> None:
        self.equations, self.plan, self.loop_plan = equations, equations.plan, equations.loop_plan
        self._lock = equations.lock
        self.consistency, self.numbers, self.freedom_name = consistency, consistency.numbers, freedom_name
        self.rank = self.loop_plan.n_rows

    def answer(self, request: Request, state: Mapping[str, Array | None]) -> Array:
        """Return the answer to a request at one state."""
        log("fallback", f"{request.function}: the kernel gave this state up, which is solved by singular values")
        given = self._complete(state)
        where = self._conditions(state)
        if request.check:
            self.consistency.check(given["q"], given["v"], where)
        locked = self.consistency.assembler.space.states.lock_in_words(given["q"], LOCKED)
        if locked and request.function not in ("motion_basis", "self_stresses"):
            raise DynamicsError(locked)
        if request.function == "motion_basis":
            return self._motions(given["q"], where)
        if self.equations.description.reaction_laws and request.function != "self_stresses":
            now = {"t": where.t, "parameters": where.parameters}
            raise DynamicsError(
                self.equations.load_failure(given | now)
                or "the fixed pivots of the loops do not suit this state, and force laws on reactions cannot be solved "
                "by singular values: build the system from a guess near it, or take another formulation"
            )
        if request.function == "minimal_coordinates" or request.function.endswith("_derivatives"):
            self._motions(given["q"], where)  # which refuses a singular position, and coordinates that do not suit
            raise DynamicsError(
                f"{request.function}: at this state the independent coordinates barely determine the motion; build the "
                "system from a guess near it, or name other dependent joints with dependent="
            )
        if request.function == "self_stresses":
            raise DynamicsError("self-stresses have no fixed number at this configuration")
        method = known(request.formulation)
        if method is not None and not method.exact:
            self._dense(given, where)  # which refuses what has no solution
            raise DynamicsError(worse_than_promised(request))
        solved = self.solve(given, where, request.baumgarte)
        if request.function == "forward_dynamics":
            a = self.numbers.complete(given["q"], given["v"], solved.a, where)
            return a + self._at_cuts(given, where, request.baumgarte) if any(request.baumgarte) else a
        function, names = self._recovery(request.function, request.wrenches)
        values = [given[name] for name in names]
        result = function(*values, solved.a, solved.multipliers, *where).full().ravel()
        if request.function == "closure_efforts":
            return np.asarray(result[self._kept])
        if request.joints:
            result = result.reshape(-1, 6)[[self.plan.joint_names.index(name) for name in request.joints]].ravel()
        return np.asarray(result)

    def accelerations(self, state: Mapping[str, Array | None]) -> Array:
        """Return the accelerations of all joints at a state, at a singular one by their limit."""
        return self.answer(Request("forward_dynamics"), state)

    # ------------------------------------------------------------------ the equations at one state

    def solve(
        self, state: dict[str, Array], where: Conditions, baumgarte: tuple[float, float] = (0.0, 0.0)
    ) -> DenseSolution:
        """Solve the equations at a state, at a singular one by its limit."""
        solved = self._dense(state, where, baumgarte)
        if solved.regular:
            return solved
        if any(baumgarte):
            raise DynamicsError("the mechanism is at a singular position, where baumgarte= has no meaning")
        return self._limit(state, where, solved)

    def _dense(
        self, state: dict[str, Array], where: Conditions, baumgarte: tuple[float, float] = (0.0, 0.0)
    ) -> DenseSolution:
        """Solve by singular values: first the closures, then the motion that they leave free."""
        terms = self._terms(state, where)
        if any(baumgarte):
            terms = terms._replace(second=terms.second + self._stabilising(state, where, baumgarte))
        free = self.numbers.free_freedoms
        scale = self.numbers.column_scale[free]
        S = terms.C[:, free] * scale
        size = np.sqrt(np.einsum("ij,ij->i", S, S))
        smallest = self.loop_plan.negligible(SINGULAR_HERE)
        usual = self.numbers.tree_row_scale  # a row that is rounding beside it is none
        size = np.where(size > smallest * usual, size, usual)
        U, s, Vt = np.linalg.svd(S / size[:, None])
        rank = int((s > smallest * s.max(initial=1.0)).sum())
        target = -terms.second / size
        y = Vt[:rank].T @ ((U[:, :rank].T @ target) / s[:rank])
        left = S @ y / size - target
        limit = CONTRADICTION + OPEN_OVER_ACCURACY * self.loop_plan.slack
        contradicted = np.abs(left).max(initial=0.0) > limit * max(1.0, np.abs(target).max(initial=0.0))
        if contradicted and rank >= self.rank:  # at a singular position the limit decides
            raise DynamicsError(
                "the closures contradict each other at this state: no acceleration satisfies them all; check "
                "prescribed accelerations and time-dependent closures"
            )
        Z = Vt[rank:].T * scale[:, None]
        M = terms.M[np.ix_(free, free)]
        self._refuse_massless(M, Z, where)
        rows, multipliers = terms.C[:, free], np.zeros(len(terms.second))
        if Z.size:
            Z = balanced_motions(M, Z, self.numbers.stretched_inertias(where.parameters)[free])
        full = np.array(state["a"]) * np.array(self.equations.prescribed_mask, dtype=float)
        full[free] = y * scale
        for _ in range(REFINED_STATES):
            unbalanced = self.numbers.lacking(state, full, *where)[free] + rows.T @ multipliers
            change = np.zeros(len(free))
            if Z.size:
                change = Z @ np.linalg.lstsq(Z.T @ M @ Z, Z.T @ unbalanced, rcond=MOTION_RANK)[0]
            if rank:
                multipliers += np.linalg.lstsq(rows.T, M @ change - unbalanced, rcond=smallest)[0]
            full[free] += change
        return DenseSolution(full, multipliers, rank >= self.rank)

    def _terms(self, state: dict[str, Array], where: Conditions) -> LoopTerms:
        """Return the tree's equations at a state; refuse numbers that are not finite."""
        terms = self.numbers.terms(state, *where)
        if not all(np.isfinite(x).all() for x in terms):
            faulty = self.equations.faulty_element({**state, "t": where.t, "parameters": where.parameters})
            if faulty is not None:
                raise DynamicsError(f"{faulty} is not finite there; check what is written for it, and the state")
            raise DynamicsError("the numbers are too large or too small to compute with; check the state and lengths")
        return terms

    def _stabilising(self, state: dict[str, Array], where: Conditions, baumgarte: tuple[float, float]) -> Array:
        """Return Baumgarte's terms 2 alpha phi' + beta^2 phi, row by row."""
        rows, _ = self._openings(state["q"], state["v"], *where)
        return _of_baumgarte(rows.full(), baumgarte)

    def _at_cuts(self, state: dict[str, Array], where: Conditions, baumgarte: tuple[float, float]) -> Array:
        """Return the same terms on the coordinates of cut joints (nv)."""
        _, cuts = self._openings(state["q"], state["v"], *where)
        return _of_baumgarte(cuts.full(), baumgarte)

    @made_once
    def _openings(self) -> ca.Function:
        """The function from a state to phi and phi' of all rows, and of cut joints' coordinates, as columns."""
        eq = self.equations
        x = {"q": ca.SX.sym("q", self.plan.nq), "v": ca.SX.sym("v", self.plan.nv), "t": ca.SX.sym("t")}
        walk, closure_set = eq.walk(x), eq.closure_set(x, kept=False)
        held = closure_set.evaluate(walk)
        rows = [ca.SX(ca.vertcat(*(getattr(one, part) for one in held))) for part in ("phi", "rate")]
        cuts = [closed.cut_terms(walk, closure_set, only) for only in ((0.0, 1.0), (0.5, 0.0))]
        columns = [ca.SX(ca.horzcat(*pair)) for pair in (rows, cuts)]
        return self.numbers.function("openings", [x["q"], x["v"], x["t"]], columns)

    def _refuse_massless(self, M: Array, Z: Array, where: Conditions) -> None:
        """Refuse a state at which a motion that the loops allow (a column of Z) moves nothing with inertia."""
        free = self.numbers.free_freedoms
        scale = self.numbers.column_scale[free]
        massless = massless_combination(M, Z, self.numbers.stretched_inertias(where.parameters)[free])
        if massless is None:
            return
        most = np.argmax(np.abs(massless / scale))
        raise DynamicsError(
            f'a motion that the loops allow, most of it in "{self.freedom_name(int(free[most]))}", moves nothing that '
            "has inertia, so its acceleration is not determined; give mass or inertia to the bodies, let one of two "
            "ball joints that a thin rod spins between be a universal joint, or prescribe a joint"
        )

    def _limit(self, state: dict[str, Array], where: Conditions, local: DenseSolution) -> DenseSolution:
        """Take the limit of the solution along the branch: from both sides, and from ever nearer (Richardson)."""
        q, v = state["q"], state["v"]
        complete = v if np.abs(v).max(initial=0.0) > 0 else self.numbers.complete(q, v, local.a, where)
        along = complete / self.numbers.column_scale
        size = np.abs(along).max(initial=0.0)
        if size == 0:
            return local
        along = along / size * self.numbers.column_scale
        means = [self._mean(state, along, LIMIT_STEP * 0.5**k, where) for k in range(4)]
        while len(means) > 1:
            order = 4 ** (5 - len(means))
            means = [(order * b - a) / (order - 1) for a, b in itertools.pairwise(means)]
        a = means[0]
        M, right, C, second = self.numbers.terms(state, *where)
        free = self.numbers.free_freedoms
        limit = CONTRADICTION + OPEN_OVER_ACCURACY * self.loop_plan.slack
        if np.abs(C @ a + second).max(initial=0.0) > limit * (1.0 + np.abs(second).max(initial=0.0)):
            pushed = "these velocities belong to" if v.any() else "from rest its forces push it along"
            raise DynamicsError(
                f"the mechanism is at a singular position, and {pushed} none of its branches there: start it at "
                "another configuration, or with velocities along one of them"
            )
        lacking = (M @ a - right)[free]
        smallest = self.loop_plan.negligible(SINGULAR_HERE)
        multipliers = np.asarray(np.linalg.lstsq(C[:, free].T, lacking, rcond=smallest)[0], dtype=np.float64)
        return DenseSolution(a, multipliers, False)

    def _mean(self, state: dict[str, Array], along: Array, step: float, where: Conditions) -> Array:
        """Return the mean of the accelerations a step before and a step beyond a state, on its branch."""
        assembler, space = self.consistency.assembler, self.consistency.assembler.space
        none = np.zeros(self.plan.nv, dtype=bool)
        total = np.zeros(self.plan.nv)
        for way in (-step, step):
            try:
                q = assembler.assemble(space.integrate(state["q"], way * along), none, (), where).q
                v = self.consistency.velocities(q, np.array(state["v"]), where)
            except AssemblyError:
                raise DynamicsError("the mechanism is locked up: it cannot leave this singular position") from None
            solved = self._dense({**state, "q": q, "v": v}, where)
            if not solved.regular:
                raise DynamicsError(
                    "the mechanism is singular here and around here, so its acceleration is not determined"
                )
            total += 0.5 * solved.a
        return total

    # ------------------------------------------------------------------ results of a solution

    @functools.cache  # noqa: B019
    def _recovery(self, function: str, wrenches: tuple[str, ...]) -> tuple[ca.Function, list[str]]:
        """Return the function from accelerations and multipliers of all rows to the wanted result."""
        eq, nv = self.equations, self.plan.nv
        x = {"q": ca.SX.sym("q", self.plan.nq), **{name: ca.SX.sym(name, nv) for name in ("v", "tau", "a")}}
        x |= {f"wrench on {name}": ca.SX.sym("w", 6) for name in wrenches}
        x["z"] = ca.SX.sym("z", len(eq.description.states))
        names = list(x)
        x["t"] = ca.SX.sym("t")
        found = ca.SX.sym("found", nv)
        values = ca.SX.sym("multipliers", eq.attachments().n_rows)
        weld = function != "reactions"
        closure_set = eq.closure_set(x, weld=weld, kept=False)
        here = eq.loaded(eq.prescribed_only(x), weld=weld)
        walk = here.walk
        held = closure_set.evaluate(walk)
        solution = Solution(found, lambda: by_closure(ca.vertsplit(values), held), ())
        answer = closed.Answer(walk, closure_set, solution)
        if function == "reactions":
            result = closed.reactions(walk, closure_set, here.tau, answer, joint_order(eq), walk)
        elif function == "driving_forces":
            result = eq.driving(here, closed.driving_forces(walk, closure_set, here.tau, answer), x["tau"])
        else:
            result = values
        inputs = [*(x[name] for name in names), found, values, x["t"]]
        return self.numbers.function(function, inputs, [result]), names

    def _motions(self, q: Array, where: Conditions) -> Array:
        """Return the motions at a configuration by singular values, unless it is singular."""
        N = self.consistency.motions(q, where)
        independent = list(self.loop_plan.choice.independent)
        if N.shape[1] != len(independent) or np.abs(np.linalg.det(N[independent])) < UNDETERMINED:
            raise DynamicsError(self._undetermined(q, where, N))
        return np.ascontiguousarray(N @ np.linalg.inv(N[independent]))

    def _undetermined(self, q: Array, where: Conditions, N: Array) -> str:
        """Return a message about a joint that can move while the independent ones rest, its loop, and the remedy."""
        independent = list(self.loop_plan.choice.independent)
        motion = N @ np.linalg.svd(N[independent])[2][-1]
        most = int(np.argmax(np.abs(motion / self.numbers.column_scale)))
        names = ", ".join(f'"{self.freedom_name(i)}"' for i in independent)
        return (
            f"the independent coordinates ({names}) do not determine the motion at this configuration: joint "
            f'"{self.freedom_name(most)}" in the loop that "{self._closing(q, where, most)}" closes can move although '
            "they rest; build the system from a guess near it, or name other dependent joints with dependent="
        )

    def _closing(self, q: Array, where: Conditions, freedom: int) -> str:
        """Return the closure that holds a joint most firmly, or that is the joint itself if it is cut."""
        rows = self.numbers.tree_rows(q, *where)
        names = [one.name for one in self.equations.attachments().all for _ in range(one.closure.n_rows)]
        if not rows[:, freedom].any():
            return self.freedom_name(freedom)
        return names[int(np.argmax(np.abs(rows[:, freedom])))]

    # ------------------------------------------------------------------ bookkeeping

    @made_once
    def _kept(self) -> list[int]:
        """The places of the kept rows among all."""
        return self.equations.attachments().places(self.loop_plan.keep)

    def _complete(self, state: Mapping[str, Array | None]) -> dict[str, Array]:
        """Return a state with zeros for missing entries."""
        none = np.zeros(self.plan.nv)
        values = {name: np.asarray(x, dtype=np.float64) for name, x in state.items() if x is not None}
        z = np.array(self.equations.description.state_values, dtype=np.float64)
        return {"v": none, "tau": none, "a": none, "z": z, **values}

    def _conditions(self, state: Mapping[str, Array | None]) -> Conditions:
        t, parameters = state.get("t"), state.get("parameters")
        return self.numbers.conditions(0.0 if t is None else float(np.ravel(t)[0]), parameters)


def _of_baumgarte(openings: Array, baumgarte: tuple[float, float]) -> Array:
    """Return 2 alpha phi' + beta^2 phi of columns phi and phi'."""
    alpha, beta = baumgarte
    return np.asarray(2 * alpha * openings[:, 1] + beta**2 * openings[:, 0])
