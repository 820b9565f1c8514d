"""States that a kernel gives up: solved one by one, with pivoting, or told apart in words.

A kernel's order of elimination is fixed. At a state where one of its pivots is small, another order serves: the
equations are solved by singular values. Where the mechanism itself is singular, as a parallelogram lying flat, the
closures do not determine the acceleration at that very point; the limit along the branch that the motion is on does.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from whippletree.errors import AssemblyError, DynamicsError
from whippletree.formulations.closures import loop_results as closed
from whippletree.formulations.closures.loop_solution import Solution, by_closure
from whippletree.kernels.kernel import Array
from whippletree.system.assembly import Conditions
from whippletree.system.equations import Request
from whippletree.system.loop_equations import joint_order

if TYPE_CHECKING:
    from whippletree.system.loops import Loops

__all__ = ["Rescuer", "idle_motion"]

_RANK = 1e-9  # singular values below this share are none, at a single state
_STEP = 0.04  # how far from a singular position its limit is taken: radians, or characteristic lengths
_CONTRADICTION = 1e-6
_IDLE = 1e-12  # eigenvalues of the inertia of the free motions below this share of the largest are none


def idle_motion(M: Array, Z: Array) -> Array | None:
    """Return a combination of the motions Z (columns) that moves nothing that has inertia, if there is one.

    >>> idle_motion(np.diag([1.0, 0.0]), np.eye(2)).round(12).tolist()
    [0.0, 1.0]
    """
    if not Z.size:
        return None
    values, vectors = np.linalg.eigh(Z.T @ M @ Z)
    if values[0] > _IDLE * values[-1]:
        return None
    return np.asarray(Z @ vectors[:, 0])  # also if all are zero


class Solved(NamedTuple):
    """Accelerations of the tree's joints, multipliers of all rows, and whether the rank was the generic one."""

    a: Array
    multipliers: Array
    regular: bool


class Rescuer:
    """Solves single states with pivoting."""

    def __init__(self, loops: Loops) -> None:
        self.loops, self.numbers = loops, loops.numbers
        self.equations, self.plan = loops.equations, loops.plan
        keep = self.equations.loop_plan.keep
        self.rank = sum(len(rows) for rows in keep)

    def answer(self, request: Request, state: Mapping[str, Array | None]) -> Array:
        """Return what a request asks for, at one state."""
        given = self._complete(state)
        where = self._conditions(state)
        if request.check:
            self.loops.check(given["q"], given["v"], where.t, where.parameters)
        if request.function == "motion_basis":
            return self._motions(given["q"], where)
        if request.function == "self_stresses":
            raise DynamicsError("self-stresses have no fixed number at this configuration")
        solved = self.solve(given, where)
        if request.function == "forward_dynamics":
            return self.numbers.complete(given["q"], given["v"], solved.a, *where)
        function, names = self._recovery(request.function, request.wrenches)
        values = [given[name] for name in names]
        result = function(*values, solved.a, solved.multipliers, *where).full().ravel()
        if request.function == "closure_efforts":
            return np.asarray(result[self._kept])
        return np.asarray(result)

    # ------------------------------------------------------------------ the equations at one state

    def solve(self, state: dict[str, Array], where: Conditions) -> Solved:
        """Solve the equations at a state, at a singular one by its limit."""
        solved = self._dense(state, where)
        if solved.regular:
            return solved
        return self._limit(state, where, solved)

    def _dense(self, state: dict[str, Array], where: Conditions) -> Solved:
        """Solve by singular values: what the closures say, then the motion they leave free."""
        M, right, C, second = self.numbers.terms(state, *where)
        if not all(np.isfinite(x).all() for x in (M, right, C, second)):
            faulty = self.equations.faulty_element({**state, "t": where.t, "parameters": where.parameters})
            if faulty is not None:
                raise DynamicsError(f"{faulty} is not finite there; check what is written for it, and the state")
            raise DynamicsError("the numbers are too large or too small to compute with; check the state and lengths")
        free = np.array(self._free, dtype=int)
        scale = self.numbers.column_scale[free]
        S = C[:, free] * scale
        size = np.sqrt(np.einsum("ij,ij->i", S, S))
        size = np.where(size > 1e-9 * size.max(initial=0.0), size, 1.0)
        U, s, Vt = np.linalg.svd(S / size[:, None])
        rank = int((s > _RANK * s[0]).sum()) if s.size and s[0] > 0 else 0
        target = -second / size
        y = Vt[:rank].T @ ((U[:, :rank].T @ target) / s[:rank])
        left = S @ y / size - target
        if np.abs(left).max(initial=0.0) > _CONTRADICTION * max(1.0, np.abs(target).max(initial=0.0)):
            if rank >= self.rank:
                raise DynamicsError(
                    "the closures contradict each other at this state: no acceleration satisfies them all; check "
                    "prescribed accelerations and time-dependent closures"
                )
            left = np.zeros(0)  # at a singular position the limit decides
        Z = Vt[rank:].T * scale[:, None]
        M, right = M[np.ix_(free, free)], right[free]
        a = y * scale
        idle = idle_motion(M, Z)
        if idle is not None:
            freedom = self.loops.states.freedom_name(int(free[np.argmax(np.abs(idle / scale))]))
            raise DynamicsError(
                f'a motion that the loops allow, most of it in "{freedom}", moves nothing that has inertia, so its '
                "acceleration is not determined; give mass or inertia to the bodies, let one of two ball joints that "
                "a thin rod spins between be a universal joint, or prescribe a joint"
            )
        if Z.size:
            a = a + Z @ np.linalg.lstsq(Z.T @ M @ Z, Z.T @ (right - M @ a), rcond=1e-13)[0]
        multipliers = np.linalg.lstsq(C[:, free].T, M @ a - right, rcond=_RANK)[0] if rank else np.zeros(len(second))
        full = np.array(state["a"]) * np.array(self.equations.prescribed_mask, dtype=float)
        full[free] = a
        return Solved(full, multipliers, rank >= self.rank)

    def _limit(self, state: dict[str, Array], where: Conditions, local: Solved) -> Solved:
        """Take the limit of the solution along the branch: from both sides, and from ever nearer (Richardson)."""
        q, v = state["q"], state["v"]
        complete = v if np.abs(v).max(initial=0.0) > 0 else self.numbers.complete(q, v, local.a, *where)
        along = complete / self.numbers.column_scale
        size = np.abs(along).max(initial=0.0)
        if size == 0:
            return local
        along = along / size * self.numbers.column_scale
        means = [self._mean(state, along, _STEP * 0.5**k, where) for k in range(4)]
        while len(means) > 1:
            order = 4 ** (5 - len(means))
            means = [(order * b - a) / (order - 1) for a, b in itertools.pairwise(means)]
        a = means[0]
        M, right, C, second = self.numbers.terms(state, *where)
        free = np.array(self._free, dtype=int)
        if np.abs(C @ a + second).max(initial=0.0) > _CONTRADICTION * (1.0 + np.abs(second).max(initial=0.0)):
            raise DynamicsError(
                "the mechanism is at a singular position, and these velocities belong to none of its branches there"
            )
        lacking = (M @ a - right)[free]
        return Solved(a, np.linalg.lstsq(C[:, free].T, lacking, rcond=_RANK)[0], False)

    def _mean(self, state: dict[str, Array], along: Array, step: float, where: Conditions) -> Array:
        """Return the mean of the accelerations a step before and a step beyond a state, on its branch."""
        assembler = self.loops.assembler
        none = np.zeros(self.plan.nv, dtype=bool)
        total = np.zeros(self.plan.nv)
        for way in (-step, step):
            try:
                q = assembler.assemble(assembler.integrate(state["q"], way * along), none, (), where).q
                v = assembler.velocities(q, np.array(state["v"]), none, where)
            except AssemblyError:
                raise DynamicsError("the mechanism is locked up: it cannot leave this singular position") from None
            solved = self._dense({**state, "q": q, "v": v}, where)
            if not solved.regular:
                raise DynamicsError(
                    "the mechanism is singular here and around here, so its acceleration is not determined"
                )
            total += 0.5 * solved.a
        return total

    # ------------------------------------------------------------------ what follows from a solution

    @functools.cache  # noqa: B019
    def _recovery(self, function: str, wrenches: tuple[str, ...]) -> tuple[ca.Function, list[str]]:
        """Return the function from accelerations and multipliers of all rows to what is asked for."""
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
        answer = closed.Answer(closure_set.cut_accelerations(walk, found), solution)
        if function == "reactions":
            result = closed.reactions(walk, closure_set, here.tau, answer, joint_order(eq))
        elif function == "driving_forces":
            result = eq.driving(here, closed.driving_forces(walk, closure_set, here.tau, answer), x["tau"])
        else:
            result = values
        inputs = [*(x[name] for name in names), found, values, x["t"]]
        return self.numbers.function(function, inputs, [result]), names

    def _motions(self, q: Array, where: Conditions) -> Array:
        """Return the motions at a configuration by singular values, unless it is singular."""
        N = self.loops.motions(q, where)
        independent = list(self.equations.loop_plan.choice.independent)
        square = N[independent] if N.shape[1] == len(independent) else np.zeros((1, 1))
        if np.abs(np.linalg.det(square)) < 1e-12:
            raise DynamicsError(
                "the independent coordinates do not determine the motion at this configuration; build the system from "
                "a guess near it"
            )
        return np.ascontiguousarray(N @ np.linalg.inv(square))

    # ------------------------------------------------------------------ bookkeeping

    @functools.cached_property
    def _free(self) -> list[int]:
        """The freedoms of the tree that are not prescribed."""
        cut = {i for c in self.numbers.closure_set.attachments.cuts for i in range(c.v.start, c.v.stop)}
        return [i for i in range(self.plan.nv) if i not in cut and not self.equations.prescribed_mask[i]]

    @functools.cached_property
    def _kept(self) -> list[int]:
        """The places of the kept rows among all."""
        return self.equations.attachments().places(self.equations.loop_plan.keep)

    def _complete(self, state: Mapping[str, Array | None]) -> dict[str, Array]:
        """Return a state with zeros for what was left out."""
        none = np.zeros(self.plan.nv)
        values = {name: np.asarray(x, dtype=np.float64) for name, x in state.items() if x is not None}
        z = np.array(self.equations.description.state_values, dtype=np.float64)
        return {"v": none, "tau": none, "a": none, "z": z, **values}

    def _conditions(self, state: Mapping[str, Array | None]) -> Conditions:
        t, parameters = state.get("t"), state.get("parameters")
        return self.loops.conditions(0.0 if t is None else float(np.ravel(t)[0]), parameters)
