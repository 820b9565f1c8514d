"""The driver of a run: it lets a method take steps, and decides how to go on when the method cannot.

It talks to methods by their contract (`steppers`) and knows none of them. Between stretches it collects events and
singular positions, lets events act, makes the numeric plan of the loops anew where the choice of coordinates has become
poor, and finds the accelerations at a singular position as the limit along the branch that the motion is on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whippletree.errors import AssemblyError, DynamicsError, SimulationError, WhippletreeError
from whippletree.foundation.log import log
from whippletree.kernels.kernel import NotFiniteError
from whippletree.simulate import system_interface
from whippletree.simulate.built_in_methods import crossing_stepper
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.progress import StepBudget
from whippletree.simulate.run_state import (
    CUT_STEP,
    HOP_SHARE,
    KEEP_PLAN,
    LOOPS,
    NEXT_STEP,
    OUTPUTS,
    PLAIN,
    POWERS,
    RATES_GIVEN,
    SINGULAR_FOUND,
    SMALLEST_STEP,
    SPAN,
    STEPS,
    STOP_AT,
    TIME,
    Status,
    smallest_step,
)
from whippletree.simulate.run_tolerances import LONG_SPAN, MOST_STANDING, SMALLEST_BESIDE_CORNER, TIME_ROUNDING
from whippletree.simulate.steppers import OutputWindow, Stepper, Stretch

if TYPE_CHECKING:
    from whippletree.simulate.simulation import Simulation

__all__ = ["Driver"]

_MOST_BOUND = 16
"""How many plans a run keeps its kernels bound for."""


class Driver:
    """Advances a simulation. Holds derived data only."""

    def __init__(self, simulation: Simulation) -> None:
        self._sim = simulation
        run = simulation.run_state
        # numbers are read faster in these
        self._times, self._counts = run.times.data.cast("B").cast("d"), run.counts.data
        self._bindings: KernelBindings | None = None
        self._known: dict[object, KernelBindings] = {}  # by the system under a plan
        self._next: Stretch | None = None
        self._crossing: Stepper | None = None
        self._budget = StepBudget()
        self._standing = 0  # how often a step was tried since the time has moved
        self._end = np.zeros(1)
        self._output = OutputWindow(self._end, np.zeros((1, run.row_size)))

    @property
    def bindings(self) -> KernelBindings:
        """The kernels under the present plan."""
        if self._bindings is None:
            sim, run = self._sim, self._sim.run_state
            self._bindings = bound = self._bound()
            run.flags[[LOOPS, POWERS, PLAIN]] = bound.closed, bound.powers, bound.plain
            run.times[[STOP_AT, HOP_SHARE]] = np.inf, sim.stepper.corner_hop
            run.counts[SINGULAR_FOUND] = 0
            sim.stepper.prepare(bound, run)
            if self._next is None or self._next.bindings is not bound:
                watched = sim.events.watched(bound, sim.corners.watch(bound))
                self._next = Stretch(bound, run, watched, self._output)
            self._crossing = None
        return self._bindings

    def restart(self) -> None:
        """Get ready for another run from the start; kernels that are bound under the built plan stay so."""
        first = self._sim.system
        self._known = {plan: bound for plan, bound in self._known.items() if bound.system is first}
        for bound in self._known.values():
            bound.parameters[:] = system_interface.default_parameters(first)
        self._sim.stepper = self._sim.stepper.anew()
        self._bindings, self._crossing, self._budget, self._standing = None, None, StepBudget(), 0

    def _bound(self) -> KernelBindings:
        """Return the kernels under the present plan, which the run may have worked with before."""
        sim, known = self._sim, self._known
        found = known.get(sim.plans.now)
        if found is not None:
            found.clear()
            return found
        if len(known) == _MOST_BOUND:
            known.clear()
        found = known[sim.plans.now] = KernelBindings(sim.plans.now, sim.formulation, sim.parameters, sim.baumgarte)
        return found

    def step(self, end: float) -> None:
        """Go on to a time."""
        self._end[0] = end
        self.go(self._output)

    def go(
        self,
        outputs: OutputWindow,
        watch: Callable[[float], bool] | None = None,
        pause: Callable[[], None] | None = None,
        *,
        resumed: bool = False,
    ) -> int:
        """Go on until all outputs are made, an event ends the run, or `watch` wants it; return how many are made."""
        sim, run, times, counts = self._sim, self._sim.run_state, self._times, self._counts
        events = sim.events
        events.ended = ""
        if not resumed:
            counts[OUTPUTS] = 0
            times[SPAN] = span = min(outputs.end - times[TIME], LONG_SPAN)
            times[SMALLEST_STEP] = smallest_step(span)
        try:
            while True:
                if pause is not None:
                    pause()
                status = self._stretch(outputs)
                if counts[SINGULAR_FOUND]:
                    sim.singular_times.collect(run, sim.parameters)
                if events.uses:
                    events.collect(sim)
                if status == Status.EVENT:
                    events.act(sim, self.bindings, times[SPAN])
                if status == Status.DONE or events.ended or (watch is not None and watch(run.t)):
                    return int(counts[OUTPUTS])
                if status == Status.CORNER:
                    sim.corners.arrive(sim, self.bindings)
                elif status not in (Status.PAUSED, Status.EVENT):
                    self._decide(status)
        except SimulationError as error:
            error.rows = outputs.rows[: counts[OUTPUTS]]
            raise
        except (DynamicsError, AssemblyError, NotFiniteError, np.linalg.LinAlgError) as error:
            failed = SimulationError(self._in_words(f"the motion blows up: {error}"))
            failed.rows = outputs.rows[: counts[OUTPUTS]]
            raise failed from error

    # ------------------------------------------------------------------ a stretch

    def _stretch(self, outputs: OutputWindow) -> int:
        """Let the method take steps for a tenth of a second; return a status."""
        sim, run, times, bindings, budget = self._sim, self._sim.run_state, self._times, self.bindings, self._budget
        if sim.corners.timed:
            sim.corners.prepare(sim, outputs.end)
        begun, steps = times[TIME], self._counts[STEPS]
        bindings.buffers.tau[:] = run.tau
        if sim.parameters is not None:
            bindings.parameters[:] = sim.parameters
        if not sim.events.started:
            sim.events.start(sim, bindings)
        stretch = self._next
        assert stretch is not None  # it comes with the bindings
        stretch.outputs = outputs
        stretch.smallest = max(self._smallest(), TIME_ROUNDING * abs(begun))
        stretch.brief, stretch.steps = budget.brief, budget.begin()
        if sim.pause_every:
            stretch.steps = min(stretch.steps, sim.pause_every - steps % sim.pause_every)
        status = self._advance(stretch)
        budget.end(paused=status == Status.PAUSED)
        if times[TIME] > begun or status == Status.DONE:
            self._standing = 0
            return status
        if status == Status.PAUSED and self._counts[STEPS] > steps:
            return Status.TOO_SMALL  # steps add nothing to the time any more
        self._standing += stretch.steps if status == Status.PAUSED else 1
        return Status.STANDING if self._standing > MOST_STANDING else status

    def _smallest(self) -> float:
        """Return the smallest step of the stretch, but for the rounding of time."""
        smallest = self._times[SMALLEST_STEP]
        return SMALLEST_BESIDE_CORNER * smallest if self._sim.corners.in_state else smallest

    def _advance(self, stretch: Stretch) -> int:
        """Let the method go on; at a singular position, another that crosses it takes one step for it."""
        run, stepper = stretch.run, self._sim.stepper
        stepper.use_efforts(run.tau)
        if stepper.crosses_singular or not (run.flags[KEEP_PLAN] or run.flags[RATES_GIVEN]):
            return stepper.advance(stretch)
        if self._crossing is None:
            self._crossing = crossing_stepper(stepper.tolerance)
            self._crossing.prepare(stretch.bindings, run)
        step = float(run.times[NEXT_STEP])
        status = self._crossing.advance(replace(stretch, steps=1))
        stepper.forget()
        if stepper.resumes_own_step:
            run.times[NEXT_STEP] = step
        return status

    # ------------------------------------------------------------------ decisions

    def _decide(self, status: int) -> None:
        """Decide how to go on with a run that has stopped."""
        run = self._sim.run_state
        if status == Status.POOR or (status == Status.UNTRUSTED and not run.flags[KEEP_PLAN]):
            self._plan_again()
        elif status == Status.SINGULAR:
            run.flags[KEEP_PLAN] = 1  # no choice of coordinates is better there
        elif status == Status.UNTRUSTED:
            self._give_rates()
        else:
            raise SimulationError(self._failure(status))

    def _plan_again(self) -> None:
        """Choose rows and independent coordinates anew at the present state; if that is no better, go on as it is."""
        sim, run = self._sim, self._sim.run_state
        where = system_interface.loops(sim.plans.now).conditions(run.t, sim.parameters)
        if not sim.plans.again(run.q, where):
            run.flags[KEEP_PLAN] = 1
            return
        self._bindings = None
        run.forget_pivots()
        sim.replans.append(run.t)
        log("replan", f"at t = {run.t:.9g} s the loops have other independent coordinates")
        if system_interface.loop_plan(sim.plans.now).slack:
            # the rows of the new plan agree with those of the old one up to the accuracy of the data only
            sim.move_to(*sim.plans.loops.on_kept_rows(run.q, run.v, where))

    def _give_rates(self) -> None:
        """Take the accelerations at a singular position from the branch that the motion is on."""
        sim, run = self._sim, self._sim.run_state
        if run.flags[RATES_GIVEN]:
            raise SimulationError(self._in_words("the mechanism is locked up in a singular position"))
        now = sim.state
        inputs = {"q": now.q, "v": now.v, "tau": run.tau, "t": np.array([now.t]), "parameters": sim.parameters}
        try:
            a = system_interface.loops(sim.plans.now).fallback.accelerations(inputs)
        except DynamicsError as error:
            raise SimulationError(self._in_words(str(error))) from None
        run.given[:] = 0.0
        run.given[: a.size] = a
        run.flags[RATES_GIVEN] = 1

    # ------------------------------------------------------------------ failures in words

    def _failure(self, status: int) -> str:
        """Say why a run cannot go on."""
        sim, run = self._sim, self._sim.run_state
        locked = system_interface.lock_in_words(sim.system, run.q)
        if locked:
            return f"at t = {run.t:.9g} s the run cannot go on: {locked}"
        if status == Status.OPEN:
            where = sim.plans.loops.conditions(run.t, sim.parameters)
            opened = sim.plans.loops.planner.opening_in_words(run.q, where)
            return self._in_words(f"the loops could not be closed again after a step{opened and ': '}{opened}")
        if status == Status.STUCK:
            return self._stuck()
        if status == Status.STANDING:
            return self._in_words(self._standing_still())
        if status != Status.TOO_SMALL:
            return self._in_words(self._cause() or f"a number is not finite: the motion blows up{self._divided()}")
        what = "the step has become too small: the tolerance cannot be reached, or the motion blows up"
        size = float(run.times[NEXT_STEP])
        if max(size, run.times[SMALLEST_STEP]) < TIME_ROUNDING * abs(run.t):
            what = f"a step of {size:.3g} s is lost in rounding: begin at a smaller t0, or end earlier"
        jam = self._jam()
        if jam is not None:
            return self._in_words(jam)
        loops = system_interface.loops(sim.plans.now)
        if run.flags[LOOPS] and loops.consistency.near_singular(run.q, loops.conditions(run.t, sim.parameters)):
            what = "the motion stays next to a singular position, where accelerations are not exact enough to go on"
        return self._in_words(self._cause() or what)

    def _jam(self, ahead: float = 0.0) -> str | None:
        """Say which force law on reactions has no single solution, or hardly one, at the present state or ahead."""
        sim, run = self._sim, self._sim.run_state
        now = {"q": run.q, "v": run.v, "z": run.z, "tau": run.tau, "t": run.t, "parameters": sim.parameters}
        return system_interface.jamming(sim.plans.now, now, ahead)

    def _stuck(self) -> str:
        """Say where the iteration of a step does not converge."""
        sim, run = self._sim, self._sim.run_state
        jam = self._jam(float(run.times[NEXT_STEP]))
        if jam is not None:
            return self._in_words(jam)
        worst = system_interface.velocity_label(sim.system, sim.stepper.stuck())
        step = f"take a smaller step than {run.times[NEXT_STEP]:g} s"
        remedy = "take another tolerance" if sim.adaptive else step
        corner = sim.corners.nearest(run, self.bindings)
        which = f", as {corner}" if corner else ""
        return (
            f"at t = {run.t:.9g} s Newton's method does not converge to the end of the step; it is farthest off in the "
            f"{worst}; {remedy}, or look for a force there that is not smooth{which}"
        )

    def _standing_still(self) -> str:
        """Say where a run comes no further, though no step fails."""
        corner, run = self._sim.corners.next_one(), self._sim.run_state
        where = f" up to a corner of {corner}" if corner and run.times[CUT_STEP] > 0.0 else ""
        return (
            f"the run stands still: a step of {run.times[NEXT_STEP]:.3g} s{where} was tried again and again; take "
            f"another method or tolerance, or write the law as a smooth one"
        )

    def _cause(self) -> str:
        """Say why there are no accelerations at the present state; nothing if there are."""
        sim, now = self._sim, self._sim.state
        z = now.z if now.z.size else None
        try:
            sim.plans.now.forward_dynamics(
                now.q,
                now.v,
                sim.tau,
                formulation=sim.formulation,
                baumgarte=sim.baumgarte,
                check=False,
                t=now.t,
                z=z,
                parameters=sim.parameters,
            )
        except WhippletreeError as error:
            return f"there are no accelerations: {error}"
        return ""

    def _divided(self) -> str:
        """Return the further cause where a formulation was asked for: it divides by an inertia that vanishes."""
        name = self._sim.formulation
        return "" if name == "auto" else f', or "{name}" divides by an inertia that vanishes: take another formulation'

    def _in_words(self, what: str) -> str:
        """Return a message: the problem, its time, and the place where it is worst."""
        sim, run = self._sim, self._sim.run_state
        v = np.abs(run.v) / run.scale
        fastest = ""
        if v.size:
            worst = system_interface.velocity_label(sim.system, int(v.argmax()))
            fastest = f"; the fastest is the {worst}, at {v.max():.3g} /s"
        return f"at t = {run.t:.9g} s {what}{fastest}"
