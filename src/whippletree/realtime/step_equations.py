"""The traced step of a system: from a state and inputs to the next state, and a word about whether it may be used.

The state is one column [q; v; z; t], with what a method remembers before t (`natural_step`). In loops the new state is
brought back onto the closures by a fixed number of Newton steps of least displacement
(`formulations.closures.closure_projection`). Where the result is not finite, the closures stay open, or the numeric
plan of the loops is no longer good, the state is kept as it was, and `status` says why. Nothing depends on data but
which of two numbers is taken in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.programs.loop_program import LoopProgram
from whippletree.realtime.realtime_tolerances import FINITE, OPEN, SINGULAR, UNTRUSTED
from whippletree.realtime.step_methods import METHODS, Increment
from whippletree.system.equations import Request, code_names
from whippletree.system.system_kernels import SystemKernels

__all__ = ["NaturalChoice", "StepOptions", "StepStatus", "TracedStep"]


class StepStatus(IntEnum):
    """The outcome of a step."""

    DONE = 0
    NOT_FINITE = 1
    COORDINATES = 2
    SINGULAR = 3
    OPEN = 4
    ITERATIONS = 5


@dataclass(frozen=True)
class StepOptions:
    """How steps are made: their length, the method, projections onto the closures, and where wrenches act."""

    step: float
    method: str
    iterations: int
    formulation: str
    wrenches: tuple[str, ...] = ()


class NaturalChoice(NamedTuple):
    """Options of a step in natural coordinates, as for `simulate`."""

    alpha: float | None = None
    mu: float | None = None
    projections: bool = False


class TracedStep:
    """The functions a step is made of, and the step itself over symbols."""

    def __init__(self, kernels: SystemKernels, options: StepOptions) -> None:
        self._kernels, self._options = kernels, options
        self._eq = kernels.equations
        self._request = kernels.request("derivatives", formulation=options.formulation, wrenches=options.wrenches)
        self._sizes = self._eq.plan.nq, self._eq.plan.nv, len(self._eq.description.states)
        given = self._eq.signature(self._request).inputs
        self.inputs = tuple((name, size) for name, size in given if name not in ("q", "v", "z", "t"))
        self.n_state = sum(self._sizes) + 1
        self.n_memory = 0
        self.about = ""

    @property
    def formulation(self) -> str:
        """The formulation of the accelerations, decided."""
        return self._request.formulation

    def begin(self, q: Array, v: Array, t: float, inputs: dict[str, Array]) -> Array:
        """Return the method's memory beside the state at the start of a run: nothing here."""
        return np.zeros(0)

    def program(self) -> LoopProgram | None:
        """Return the step as loops, if it has such a form: None here."""
        return None

    def function(self) -> ca.Function:
        """Return the step: inputs "state" and the loads, one output: the next state, then the status."""
        state = ca.SX.sym("state", self.n_state)
        labels = code_names(["state", *(name for name, _ in self.inputs)])
        given = {name: ca.SX.sym(label, size) for (name, size), label in zip(self.inputs, labels[1:], strict=True)}
        return ca.Function("step", [state, *given.values()], [self._expression(state, given)], labels, ["next"])

    def _expression(self, state: ca.SX, given: dict[str, ca.SX]) -> ca.SX:
        nq, nv, nz = self._sizes
        q, v, z, t = ca.vertsplit(state, [0, nq, nq + nv, nq + nv + nz, self.n_state])
        f = _RatesInStep(self._kernels, self._request, q, t, given)
        h = self._options.step
        new = METHODS[self._options.method](f, Increment(ca.SX.zeros(nv), v, z), h)
        moved = f.moved(new)[:nq]
        status = ca.SX(StepStatus.DONE)
        speed = new.v
        if self._eq.closed:
            share = ca.mmin(ca.vertcat(*f.shares))
            moved, speed, status = self._closed(moved, speed, t + h, given, share, self._options.iterations)
        return self._judged(state, ca.vertcat(moved, speed, new.z, t + h), status)

    def _judged(self, state: ca.SX, found: ca.SX, status: ca.SX) -> ca.SX:
        """Return the new state if it may be used, or else the old one, and the status."""
        finite = ca.sum1(ca.fabs(found)) < FINITE
        status = ca.if_else(finite, status, StepStatus.NOT_FINITE)
        return ca.SX(ca.densify(ca.vertcat(ca.if_else(status == StepStatus.DONE, found, state), status)))

    def _closed(
        self, q: ca.SX, v: ca.SX, t: ca.SX, given: dict[str, ca.SX], share: ca.SX, iterations: int
    ) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return a state that is brought back onto the closures, and the status so far."""
        project, integrate = _ByName(self._kernels, "project"), _ByName(self._kernels, "integrate")
        nv = self._sizes[1]
        gap = regular = ca.SX(0)
        for _ in range(iterations):
            here = {"q": q, "v": v, "t": t, **given}
            found = project(here)
            q, v = integrate({**here, "dv": found[:nv]}), found[nv : 2 * nv]
            gap, regular = found[2 * nv], found[2 * nv + 2]
        status = ca.if_else(gap < OPEN**2, StepStatus.DONE, StepStatus.OPEN)
        status = ca.if_else(regular > SINGULAR, status, StepStatus.SINGULAR)
        return q, v, ca.if_else(share > UNTRUSTED, status, StepStatus.COORDINATES)


class _RatesInStep:
    """The rates during a step that starts at q and t; `shares` are those of the pivots, evaluation by evaluation."""

    def __init__(self, kernels: SystemKernels, request: Request, q: ca.SX, t: ca.SX, given: dict[str, ca.SX]) -> None:
        self._q, self._t, self._given = q, t, given
        self._closed, self._displace = kernels.closed, _ByName(kernels, "displace")
        self._derivatives = _ByName(kernels, request)
        self.shares: list[ca.SX] = []

    def moved(self, y: Increment) -> ca.SX:
        """Return the configuration that a displacement leads to, and the rate of the displacement."""
        return self._displace({"q": self._q, "u": y.u, "v": y.v, **self._given})

    def __call__(self, after: float, y: Increment) -> Increment:
        rates, share = self._evaluated(after, y)
        self.shares.append(share)
        return rates

    def slopes(self, y: Increment) -> tuple[Increment, ca.SX, ca.SX]:
        """Return the rates at the start of the step, and how those of [v; z] depend on u and on [v; z]."""
        at = Increment(*(ca.SX.sym(name, part.shape[0]) for name, part in zip("uvz", y, strict=True)))
        rates, share = self._evaluated(0.0, at)
        fast = ca.vertcat(rates.v, rates.z)
        by_u, by_rest = ca.jacobian(fast, at.u), ca.jacobian(fast, ca.vertcat(at.v, at.z))
        found = ca.substitute([*rates, share, by_u, by_rest], [ca.vertcat(*at)], [ca.vertcat(*y)])
        self.shares.append(found[3])
        return Increment(*found[:3]), found[4], found[5]

    def _evaluated(self, after: float, y: Increment) -> tuple[Increment, ca.SX]:
        nq, nv, nz = self._q.shape[0], y.v.shape[0], y.z.shape[0]
        moved = self.moved(y)
        found = self._derivatives({"q": moved[:nq, :], "v": y.v, "z": y.z, "t": self._t + after, **self._given})
        share = ca.fabs(found[nv + nz]) if self._closed else ca.SX(1)
        return Increment(moved[nq:, :], found[:nv, :], found[nv : nv + nz, :]), share


class _ByName:
    """A traced function of the system, called with symbols by name."""

    def __init__(self, kernels: SystemKernels, asked: str | Request) -> None:
        request = kernels.request(asked) if isinstance(asked, str) else asked
        self._function = kernels.equations.trace(request)
        self._names = [name for name, _ in kernels.equations.signature(request).inputs]

    def __call__(self, symbols: dict[str, ca.SX]) -> ca.SX:
        return ca.SX(self._function(*(symbols[name] for name in self._names)))
