"""A step of fixed work in natural coordinates (Garcia de Jalon and Bayo 8.127-8.135), as a step over symbols.

Predictor, exactly `iterations` iterations, and the end of the step, written out one after the other
(`natural.natural_steps`). What is handed on is [q; v; memory; t] with memory = [x; x'; x''; lambda]; q and v are fitted
to x and x', and in loops brought onto the closures by one Newton step of least displacement, for those who look at
them: the motion itself goes on from x.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.natural.natural_settings import refuse_mechanism, step_settings
from whippletree.natural.natural_steps import NaturalSteps
from whippletree.realtime.realtime_tolerances import CHANGED
from whippletree.realtime.step_equations import NaturalChoice, StepOptions, StepStatus, TracedStep
from whippletree.system import System

__all__ = ["NaturalStep"]


class NaturalStep(TracedStep):
    """The step over symbols; the formulation's accelerations are not used."""

    def __init__(self, system: System, options: StepOptions, choice: NaturalChoice) -> None:
        refuse_mechanism(system, 'method="natural"', "Take one of the methods in joint coordinates")
        super().__init__(system.kernels, options)
        self._natural = system.natural
        self._steps = NaturalSteps(self._natural, True, choice.projections, tuple(options.wrenches))
        self._settings = step_settings(
            self._natural, options.step, choice.alpha, choice.mu, projections=choice.projections
        )
        layout = self._steps.layout
        self.n_memory = 3 * layout.n + layout.m
        self.n_state += self.n_memory
        self.about = f"{choice.projections}|{self._settings.tolist()}"

    @property
    def formulation(self) -> str:
        """The formulation."""
        return "natural"

    def begin(self, q: Array, v: Array, t: float, inputs: dict[str, Array]) -> Array:
        """Return the memory at the start of a run: natural coordinates, velocities and accelerations."""
        layout, kernel = self._steps.layout, self._steps.begin
        x, rates = self._natural.state(q, v, parameters=inputs.get("parameters"))
        given = {"q": q, "v": v, "t": np.array([t]), **inputs}
        a = np.empty(layout.n)
        kernel.one([given.get(name) for name in kernel.input_names], [a])
        return np.concatenate([x, rates, a, np.zeros(layout.m)])

    def _expression(self, state: ca.SX, given: dict[str, ca.SX]) -> ca.SX:
        (nq, nv, _), steps, h = self._sizes, self._steps, self._options.step
        q, v, memory, t = ca.vertsplit(state, [0, nq, nq + nv, nq + nv + self.n_memory, self.n_state])
        symbols = [*steps.inputs().values(), *self._natural.parameter_symbols]
        acting = [given[name] for name in ("tau", *steps.acting)]
        parameters = [given["parameters"]] if self._natural.parameter_symbols else []

        def at(expressions: list[ca.SX], start: ca.SX, d: ca.SX) -> list[ca.SX]:
            """Put the present state into expressions over the symbols of the steps."""
            values = [start, d, ca.SX(ca.DM(self._settings)), acting[0], t + h, *acting[1:], *parameters]
            found = ca.Function("part", symbols, expressions).call(values, True, False)
            return [ca.SX(one) for one in found]

        start = ca.SX(ca.vertcat(memory, q))
        (d,) = at([steps.predicted()], start, steps.d)
        change = ca.SX(0)
        for _ in range(self._options.iterations):
            (moved,) = at([steps.iterated()], start, d)
            d, change = moved[:-1], moved[-1]
            if steps.projections:
                (start,) = at([steps.corrected()], start, d)
        memory = ca.SX(ca.vertcat(*at(list(steps.ended()), start, d)))
        n = steps.layout.n
        q, v = self._natural.fitted(memory[:n], memory[n : 2 * n], q)
        if parameters:
            q, v = ca.substitute([q, v], self._natural.parameter_symbols, parameters)
        status = ca.SX(StepStatus.DONE)
        if self._eq.closed:
            q, v, status = self._closed(q, v, t + h, given, ca.SX(1), 1)
        scale = ca.fmax(1.0, ca.mmax(ca.fabs(memory[:n])))
        status = ca.if_else(change < CHANGED * scale, status, StepStatus.ITERATIONS)
        return self._judged(state, ca.vertcat(q, v, memory, t + h), status)
