"""A step of fixed work in natural coordinates (Garcia de Jalon and Bayo 8.127-8.135), as a step over symbols.

Predictor, exactly `iterations` iterations, and the end of the step, written out one after the other
(`natural.natural_steps`). What is handed on is [q; v; memory; t] with memory = [x; x'; x''; lambda]; q and v are fitted
to x and x', and in loops brought onto the closures by one Newton step of least displacement, for those who look at
them: the motion itself goes on from x.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.natural.natural_coordinates import fitted_joints
from whippletree.natural.natural_loops import NaturalLoops
from whippletree.natural.natural_settings import BOOK_STEP, refuse_masses, refuse_mechanism, step_settings
from whippletree.natural.natural_steps import NaturalSteps
from whippletree.programs.loop_program import ItemLoop, LoopProgram, ProgramStep, RepeatedSteps, Segment
from whippletree.programs.step_tables import Numbers, copied, segment
from whippletree.realtime.realtime_tolerances import CHANGED, ROUNDED
from whippletree.realtime.step_equations import NaturalChoice, StepOptions, StepStatus, TracedStep
from whippletree.system import System

__all__ = ["NaturalStep"]


class NaturalStep(TracedStep):
    """The step over symbols; the formulation's accelerations are not used."""

    def __init__(self, system: System, options: StepOptions, choice: NaturalChoice) -> None:
        refuse_mechanism(system, 'method="natural"', "Take one of the methods in joint coordinates")
        super().__init__(system.kernels, options)
        self._natural = system.natural
        refuse_masses(self._natural, projections=choice.projections)
        self._steps = NaturalSteps(self._natural, True, choice.projections, tuple(options.wrenches))
        self._settings = step_settings(
            self._natural, options.step, choice.alpha, choice.mu, projections=choice.projections
        )
        layout = self._steps.layout
        self.n_memory = 3 * layout.n + layout.m
        self.n_state += self.n_memory
        self.about = f"{choice.projections}|{self._settings.tolist()}|{self._natural.large}"

    @property
    def formulation(self) -> str:
        """The formulation."""
        return "natural"

    def begin(self, q: Array, v: Array, t: float, inputs: dict[str, Array]) -> Array:
        """Return the memory at the start of a run: natural coordinates, velocities and accelerations."""
        x, rates = self._natural.state(q, v, parameters=inputs.get("parameters"))
        a = self._steps.begin(q, v, {"t": np.array([t]), **inputs})
        return np.concatenate([x, rates, a, np.zeros(self._steps.layout.m)])

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
        q, v = fitted_joints(self._natural, memory[:n], memory[n : 2 * n], q)
        if parameters:
            q, v = ca.substitute([q, v], self._natural.parameter_symbols, parameters)
        return self._finished(state, ca.SX(ca.vertcat(q, v)), memory, change, given)

    def _finished(self, state: ca.SX, fitted: ca.SX, memory: ca.SX, change: ca.SX, given: dict[str, ca.SX]) -> ca.SX:
        """Return the new state, its loops closed, if the iterations have settled, and the status."""
        nq, t, n = self._sizes[0], state[-1] + self._options.step, self._steps.layout.n
        q, v, status = fitted[:nq], fitted[nq:], ca.SX(StepStatus.DONE)
        if self._eq.closed:
            q, v, status = self._closed(q, v, t, given, ca.SX(1), 1)
        scale = ca.fmax(1.0, ca.mmax(ca.fabs(memory[:n])))
        allowed = max(ROUNDED, CHANGED * min(1.0, (self._options.step / BOOK_STEP) ** 2))
        status = ca.if_else(change < allowed * scale, status, StepStatus.ITERATIONS)
        return self._judged(state, ca.vertcat(q, v, memory, t), status)

    # ------------------------------------------------------------------ loops, for large mechanisms

    def program(self) -> LoopProgram | None:
        """Return the step as loops over bodies and conditions; None if it is written as one straight line."""
        loops = self._natural.loops
        if loops is None:
            return None
        steps, rounds = self._steps, list[Segment | ItemLoop]()
        arguments = self._arguments()
        rounds += [loops.point(), *steps.iteration(loops, arguments)]
        if steps.projections:
            rounds += [loops.point(), *loops.corrected(True)]
        found: list[ProgramStep] = [*self._read(loops), *loops.prepared(arguments.get("parameters"))]
        found += [loops.predicted(), RepeatedSteps(tuple(rounds), self._options.iterations), loops.point()]
        found += [*steps.end(loops, arguments), *copied(loops.near, loops.q), *loops.fitted(loops.x, loops.v)]
        program = loops.program([*found, self._last(loops, arguments)])
        return replace(program, constants=(*program.constants, *self._settings.tolist()))

    def _arguments(self) -> dict[str, Numbers]:
        """Return where the inputs are, by name."""
        sizes = {"state": self.n_state, **dict(self.inputs)}
        return {name: Numbers("input", 0, size, argument=k) for k, (name, size) in enumerate(sizes.items())}

    def _read(self, loops: NaturalLoops) -> list[ProgramStep]:
        """Return the steps that bring the state to where it is worked with, and t to the end of the step."""
        nq, nv, _ = self._sizes
        state, t = self._arguments()["state"], ca.SX.sym("t")
        settings = Numbers("constant", len(loops.constants), self._settings.size)
        steps: list[ProgramStep] = [*copied(state.part(0, nq), loops.near)]
        steps += loops.read(state.part(nq + nv, self.n_memory))
        steps += copied(settings, loops.settings)
        return [*steps, segment([(t, state.part(self.n_state - 1, 1))], [(t + self._options.step, loops.t)])]

    def _last(self, loops: NaturalLoops, arguments: dict[str, Numbers]) -> Segment:
        """Return the straight line that closes loops and judges the step."""
        n = loops.n
        regions = [loops.x.part(0, n), loops.v.part(0, n), loops.a.part(0, n), loops.lam]
        memory = [ca.SX.sym("memory", region.size) for region in regions]
        fitted = [ca.SX.sym("fitted", loops.q.size), ca.SX.sym("speeds", loops.speeds.size)]
        symbols = {name: ca.SX.sym("given", where.size) for name, where in arguments.items()}
        change, state = ca.SX.sym("change"), symbols["state"]
        acting = {name: symbol for name, symbol in symbols.items() if name != "state"}
        result = self._finished(state, ca.SX(ca.vertcat(*fitted)), ca.SX(ca.vertcat(*memory)), change, acting)
        given = [*zip(memory, regions, strict=True), (fitted[0], loops.q), (fitted[1], loops.speeds)]
        given += [(change, loops.change), *((symbols[name], where) for name, where in arguments.items())]
        return segment(given, [(result, Numbers("output", 0, self.n_state + 1))])
