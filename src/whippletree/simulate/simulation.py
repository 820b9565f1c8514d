"""A simulation: a system, a state, and a method that moves it on.

The time loop is machine code. It comes back to Python when its outputs are made, and when something has to be decided:
a choice of coordinates has become poor (the numeric plan is made again), the mechanism is at a singular position (its
accelerations there are the limit along the branch), or it cannot go on.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from whippletree.errors import (
    AssemblyError,
    DynamicsError,
    ModelError,
    SimulationError,
    StateError,
    WhippletreeError,
)
from whippletree.kernels.kernel import Array
from whippletree.model.names import quoted, suggestion
from whippletree.simulate.event_handling import Events
from whippletree.simulate.generalized_alpha import IMPLICIT, Alpha, implicit_method
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.run_plans import RunPlans
from whippletree.simulate.run_state import (
    CROSS_BELOW,
    EVALUATIONS,
    KEEP_PLAN,
    LAST_PIVOT,
    LOOPS,
    NEGATIVE_PIVOTS,
    NEXT_STEP,
    OUTPUTS,
    PENDING,
    PLAIN,
    POWERS,
    RATES_GIVEN,
    REFUSED,
    SINGULAR_FOUND,
    STEPS,
    TIME,
    RunState,
    Status,
)
from whippletree.simulate.runge_kutta import advance
from whippletree.simulate.runge_kutta_stages import Method
from whippletree.simulate.singular_positions import CROSSING_SHARE
from whippletree.simulate.singularity_log import last_step_size
from whippletree.simulate.step_budget import StepBudget
from whippletree.simulate.tableaus import METHODS, Tableau
from whippletree.spatial.scalars import masked, number, shown
from whippletree.system import System
from whippletree.system.calls import as_array

__all__ = ["METHOD_NAMES", "Simulation", "State", "finite", "increasing", "positive"]

EULER = "semi_implicit_euler"
ADAMS = "adams"
METHOD_NAMES = (*METHODS, ADAMS, EULER, *IMPLICIT)
"""The methods by name."""

_PASSAGES = 64
"""Singular positions that machine code notes before Python takes them over."""

"""The place among the times that tells how many pivots were below zero; see `singularity_log`."""

_KINDS = ("velocity", "effort", "state", "parameter")
"""What can be put."""

_SMALLEST = 1e-12
"""The smallest step, as a share of the time to be simulated."""

_LONG = 1e4
"""Seconds beyond which a run counts as no longer where the smallest step is a share of it."""

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""The smallest step as a share of the present time, to which a smaller one adds nothing but rounding."""

_ACROSS = 1e-8
"""The tolerance, at most, to go across a singular position for a method that does not do so itself."""

_TIGHTEST = 1e-14
"""The smallest tolerance that rounding leaves within reach."""


@dataclass(frozen=True)
class State:
    """A state of a simulation: time, coordinates, velocities, states of elements, and work done so far.

    >>> State(0.0, np.zeros(1), np.zeros(1), np.zeros(0), 0.0, 0.0).t
    0.0
    """

    t: float
    q: Array
    v: Array
    z: Array
    work_in: float
    work_dissipated: float


class Simulation:
    """A run that can be moved on step by step: read and write its state, clone it, pickle it.

    >>> import whippletree as wt
    >>> m = wt.Mechanism("pendulum")
    >>> hinge = m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="x")), axis="y")
    >>> sim = Simulation(m.build(), method="rk4", step=1e-3)
    >>> sim.step(0.5)
    >>> round(sim.state.t, 9)
    0.5
    """

    def __init__(
        self,
        system: System,
        *,
        q: Any = None,
        v: Any = None,
        z: Any = None,
        t: float = 0.0,
        tau: Any = None,
        method: str = "dopri5",
        step: float | None = None,
        tolerance: float = 1e-8,
        adaptive: bool | None = None,
        spectral_radius: float | None = None,
        formulation: str = "auto",
        parameters: Any = None,
        on_event: Any = None,
        checked: bool = True,
    ) -> None:
        if not isinstance(system, System):
            raise StateError(f"a simulation is of a system, as mechanism.build() returns it, not of {shown(system)}")
        self.system = system
        self.formulation = formulation
        self.method = _method(method, spectral_radius)
        self.name = method
        self.spectral_radius = spectral_radius
        self.tolerance = _tolerance(tolerance)
        implicit = isinstance(self.method, Alpha)
        if not isinstance(adaptive, bool | np.bool_ | None):
            raise StateError(f"adaptive= must be True, False or None, not {shown(adaptive)}")
        able = implicit or (isinstance(self.method, Tableau) and self.method.adaptive)
        if adaptive and not able:
            raise StateError(f'method "{method}" does not estimate its error: it cannot choose its steps')
        if method == ADAMS and adaptive is False:
            raise StateError('method "adams" chooses its steps: leave adaptive= out')
        self.adaptive = able and not implicit if adaptive is None else bool(adaptive)
        if step is None and not self.adaptive:
            raise StateError(f'method "{method}" takes steps of a fixed size: give step= in seconds')
        first = 1e-3 if step is None else positive(step, "step")
        self.parameters = system._given_parameters(parameters)
        nv = system.nv
        self._course_y = np.zeros(2 * nv + system.z0.size + 2)
        self._times = np.array([system._time(t), first, first, np.inf, 0.0, 0.0, 0.0, CROSSING_SHARE, -1.0])
        self._kept = np.zeros(last_step_size(system.nq, self._course_y.size))
        self._counts = np.zeros(5, dtype=np.int64)
        self._options = np.zeros(6, dtype=np.int64)
        self.tau = np.zeros(nv) if tau is None else np.array(system._efforts(tau))
        self.replans: list[float] = []
        self._singular: list[float] = []
        self._passed: list[tuple[Array, Array | None]] = []  # what may have been singular, and with what parameters
        self._passing = np.zeros((_PASSAGES, 1 + system.nq))  # the same of a stretch, as machine code writes it
        self._course: RunState | None = None
        self._machine: KernelBindings | None = None
        self._past = np.zeros(0)  # what an implicit method keeps from step to step, and the efforts it is for
        self._past_tau = self.tau.copy()
        self._q = self._start_configuration(q)
        self._course_y[nv : 2 * nv] = self._start_velocities(v)
        self._course_y[2 * nv : 2 * nv + system.z0.size] = _start(system, z)
        self._given = np.zeros(0)  # accelerations and rates to begin the next step with
        self._plans = RunPlans(system)
        self._held: tuple[float, tuple[str, ...]] = (0.0, ())  # joints whose velocities were put, and when
        self._limits = (0.0, 0.0)  # the smallest step of `run`, and its time in all
        if checked:
            self._check_start()
        self.events = Events(system, on_event, self.row_size)

    # ------------------------------------------------------------------ the state

    @property
    def state(self) -> State:
        """The present state; assign one to go on from there.

        >>> from whippletree.simulate.simulation import _example
        >>> sim = _example()
        >>> before = sim.state
        >>> sim.step(0.1)
        >>> sim.state = before
        >>> sim.state.t
        0.0
        """
        nv, nz = self.system.nv, self.system.z0.size
        y = self._course_y
        z = y[2 * nv : 2 * nv + nz].copy()
        return State(float(self._times[TIME]), self._q.copy(), y[nv : 2 * nv].copy(), z, float(y[-2]), float(y[-1]))

    @state.setter
    def state(self, state: State) -> None:
        if not isinstance(state, State):
            raise StateError(f"a state is what simulation.state returns, or a State made like it, not {shown(state)}")
        system, nv = self.system, self.system.nv
        t, q = system._time(state.t), system._one_configuration(state.q)
        v, z = _vector(system, state.v, "v", nv), _vector(system, state.z, "z", system.z0.size)
        work = [finite(state.work_in, "work_in"), finite(state.work_dissipated, "work_dissipated")]
        if system._closed:
            system._engine.loops.check(q, v, t, self.parameters)
        self._times[TIME] = t
        self._q[:] = q
        self._course_y[nv:] = np.concatenate([v, z, work])
        self._held = (t, ())
        self._begin_anew()
        self._forget_pivots()
        self.events.started = False

    def set_value(self, kind: str, name: str, index: int, value: float) -> None:
        """Set a velocity or an effort of a joint, a state of an element, or a parameter.

        Where there are loops, velocities that were put at the present time stay, and the others follow.

        >>> from whippletree.simulate.simulation import _example
        >>> sim = _example()
        >>> sim.set_value("velocity", "hinge", 0, 2.0)
        >>> sim.state.v
        array([2.])
        """
        place = self._place(kind, name, index)
        called = getattr(name, "name", name)
        given = finite(value, f"the value for the {kind} of {quoted(called)}")
        before = self._course_y.copy(), self.parameters, self._held
        self.set_unchecked(kind, place, given)
        if kind == "velocity":
            self.hold(called)
        if not self.system._closed or kind not in ("velocity", "parameter"):
            return
        try:
            self._project_others(always=kind == "velocity")
        except (AssemblyError, StateError) as error:
            self._course_y[:], self.parameters, self._held = before
            raise StateError(f"the {kind} of {quoted(called)} cannot be {given:g}: {error}") from None

    def set_unchecked(self, kind: str, place: int, value: float) -> None:
        """Set a number by its place among those of its kind."""
        if kind == "parameter":
            given = self.parameters
            now = np.array(self.system.description.parameter_values if given is None else given, dtype=np.float64)
            now[place] = value
            self.parameters = now
            self._forget_pivots()
        elif kind == "effort":
            self.tau[place] = value
        else:
            self._course_y[(1 if kind == "velocity" else 2) * self.system.nv + place] = value
        self._begin_anew()

    def _place(self, kind: Any, name: Any, index: Any) -> int:
        """Return where something that can be put is among the numbers of its kind."""
        if not isinstance(kind, str) or kind not in _KINDS:
            raise StateError(f"nothing can be put by the kind {suggestion(kind, _KINDS)}")
        d = self.system.description
        owners: dict[str, tuple[Any, ...]] = {"parameter": d.parameters, "state": d.states}
        known = owners.get(kind, d.joints)
        names = [one.name for one in known]
        called = getattr(name, "name", name)
        if not isinstance(called, str) or called not in names:
            what = kind if kind in ("parameter", "state") else "joint"
            raise StateError(f"there is no {what} {suggestion(called, names)}")
        where = slice(names.index(called), names.index(called) + 1)
        if known is d.joints:
            where = self.system.v_slice(called)
        size = where.stop - where.start
        if isinstance(index, bool) or not isinstance(index, int | np.integer) or not 0 <= index < size:
            own = f'joint "{called}" has {size} velocities' if known is d.joints else f'{kind} "{called}" is one number'
            raise StateError(f"{own}, counted from 0: there is no {kind} {shown(index)}")
        return where.start + int(index)

    def hold(self, joint: str) -> None:
        """Let the velocities of a joint stay when others follow at the present time."""
        t = float(self._times[TIME])
        self._held = (t, tuple(sorted({*self.held, joint})))

    @property
    def held(self) -> tuple[str, ...]:
        """The joints whose velocities were put at the present time.

        >>> from whippletree.simulate.simulation import _example
        >>> _example().held
        ()
        """
        return self._held[1] if self._held[0] == self._times[TIME] else ()

    def _project_others(self, *, always: bool) -> None:
        """Make velocities consistent with the closures, those that were put aside; refuse what cannot be closed."""
        now, system = self.state, self.system
        loops = system._engine.loops
        if not always:
            with contextlib.suppress(StateError):
                loops.check(now.q, now.v, now.t, self.parameters)
                return
        v = system.consistent_velocities(now.q, now.v, hold=self.held, t=now.t, parameters=self.parameters)
        loops.check(now.q, v, now.t, self.parameters)
        self.set_velocities(v)

    def _forget_pivots(self) -> None:
        """Forget how near the last steps were to singular positions: what comes next has nothing to do with them."""
        self._times[[PENDING, LAST_PIVOT, CROSS_BELOW, NEGATIVE_PIVOTS]] = np.inf, 0.0, CROSSING_SHARE, -1.0

    def _begin_anew(self) -> None:
        """Forget what methods keep from step to step."""
        self._options[RATES_GIVEN] = 0
        self._past = np.zeros(0)

    def set_velocities(self, v: Array) -> None:
        """Set all velocities."""
        given = _vector(self.system, v, "v", self.system.nv)
        self._begin_anew()
        self._course_y[self.system.nv : 2 * self.system.nv] = given

    def record_work(self, energy: float) -> None:
        """Book energy that came at an instant as work put in, and what went as work dissipated."""
        self._course_y[-2 if energy > 0 else -1] += abs(energy)

    def limit_step(self, longest_step: float) -> None:
        """Let the next step be a small one, and no longer than that, if the method chooses its steps."""
        if self.adaptive and longest_step > 0:
            self._times[NEXT_STEP] = min(self._times[NEXT_STEP] / 64, longest_step)

    def row(self) -> Array:
        """Return the present state as a row of `run`.

        >>> from whippletree.simulate.simulation import _example
        >>> _example().row()
        array([0., 0., 0., 0.])
        """
        return np.concatenate([self._q, self._course_y[self.system.nv :]])

    @property
    def row_size(self) -> int:
        """How many numbers a row of `run` has."""
        return self.system.nq + self._course_y.size - self.system.nv

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self._counts[STEPS])

    @property
    def refused(self) -> int:
        """Steps refused."""
        return int(self._counts[REFUSED])

    @property
    def evaluations(self) -> int:
        """Evaluations of the accelerations."""
        return int(self._counts[EVALUATIONS])

    @property
    def singular(self) -> list[float]:
        """The times at which the mechanism itself was singular, and not only the choice of its coordinates.

        >>> from whippletree.simulate.simulation import _example
        >>> _example().singular
        []
        """
        loops = self.system._engine.loops
        for p, parameters in self._passed:
            t = float(p[0])
            if loops.singular(p[1:], loops.conditions(t, parameters)):
                self._singular.append(t)
        self._passed = []
        return self._singular

    def clone(self) -> Simulation:
        """Return a simulation in the same state that goes its own way.

        >>> from whippletree.simulate.simulation import _example
        >>> sim = _example()
        >>> other = sim.clone()
        >>> sim.step(0.1)
        >>> other.state.t
        0.0
        """
        twin = object.__new__(Simulation)
        twin.__setstate__(self.__getstate__())
        return twin

    def __getstate__(self) -> dict[str, Any]:
        kept = {k: v for k, v in self.__dict__.items() if k not in ("_machine", "_course", "_passing", "method")}
        for name in ("_course_y", "_times", "_counts", "_options", "_past", "_kept", "_q", "tau"):
            kept[name] = kept[name].copy()
        return {
            **kept,
            "replans": list(self.replans),
            "_singular": list(self._singular),
            "_passed": list(self._passed),
            "events": self.events.copy(),
            "_plans": self._plans.copy(),
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.method = _method(self.name, self.spectral_radius)
        self._passing = np.zeros((_PASSAGES, 1 + self.system.nq))
        self._machine = self._course = None

    # ------------------------------------------------------------------ moving on

    def step(self, duration: float | None = None, tau: Any = None) -> None:
        """Move on by a duration in seconds (default: one step of the fixed size), with joint efforts `tau`.

        >>> from whippletree.simulate.simulation import _example
        >>> sim = _example()
        >>> sim.step(0.25, tau=[0.1])
        >>> sim.state.t
        0.25
        """
        if tau is not None:
            self.tau[:] = self.system._efforts(tau)
        length = float(self._times[NEXT_STEP]) if duration is None else positive(duration, "duration")
        now = float(self._times[TIME])
        if now + length == now:
            raise StateError(f"duration={length:g} s is lost in rounding at t = {now:g} s: take more")
        self.run(np.array([now + length]))

    def run(
        self,
        until: Array,
        watch: Callable[[float], bool] | None = None,
        pause: Callable[[], None] | None = None,
        rows: Array | None = None,
        *,
        resumed: bool = False,
    ) -> Array:
        """Move on to the last of some times, which ascend; return the states there as rows.

        A row is [q, v, z, work in, work dissipated].

        If an event ends the run, `events.ended` is its name, and the rows are those made so far.
        `watch(t)` is told some ten times a second how far the run is; if it returns True, the run stops, and only the
        rows made so far are returned. If the run cannot go on, the error carries them as `rows`. `pause()` is called at
        the start and as often, where all that the run needs to go on is in this object and in `rows`, if these are
        given; `resumed` goes on from there.
        """
        until = self._asked(until, resumed=resumed)
        if not until.size:
            return np.zeros((0, self.row_size))
        tableau = self.method
        stages, implicit = (METHODS["dop853"], True) if isinstance(tableau, Alpha) else (tableau, False)
        method = _in_numbers(stages, implicit or self.adaptive)
        rows = self._room(until, rows, resumed=resumed)
        if not resumed:
            self._counts[OUTPUTS] = 0
            span = min(float(until[-1] - self._times[TIME]), _LONG)
            self._limits = (_SMALLEST * max(span, 1e-9), span)
        span = self._limits[1]
        self.events.ended = ""
        self._check_step(float(until[-1]))
        budget = StepBudget()
        while True:
            if pause is not None:
                pause()
            bindings = self.bind()
            begun, before = float(self._times[TIME]), self.steps
            smallest = max(self._limits[0], _ROUNDING * abs(begun))
            self._options[LOOPS] = bindings.closed
            self._options[POWERS] = bindings.powers
            self._options[PLAIN] = bindings.plain
            buffers = bindings.buffers
            buffers.q[:] = self._q
            buffers.tau[:] = self.tau
            if self.parameters is not None:
                bindings.arrays["parameters"][:] = self.parameters
            self.events.start(self, bindings)
            if self._options[RATES_GIVEN]:
                buffers.rates[: self._given.size] = self._given
            self._counts[SINGULAR_FOUND] = 0
            arrays = (self._course_y, self._times, self._counts, self._scale, self._options, self._passing, self._kept)
            run = self._course = RunState.of(self._course, *arrays)
            watched = self.events.watched(bindings)
            steps = budget.begin()
            settings = (buffers, run, watched, smallest, until, rows)
            if (
                self._options[KEEP_PLAN]
                or self._options[RATES_GIVEN]
                or not (self.name == ADAMS or isinstance(tableau, Alpha))
            ):
                status = self._advance_by_stages(method, *settings, steps)
            elif isinstance(tableau, Alpha):
                status = self._advance_implicitly(tableau, bindings, *settings, steps)
            else:
                status = self._advance_by_history(bindings, *settings, steps)
            budget.end()
            if status == Status.PAUSED and self._times[TIME] == begun and self.steps > before:
                status = Status.TOO_SMALL  # steps add nothing to the time any more
            self._q[:] = buffers.q
            self._passed += [(p.copy(), self.parameters) for p in self._passing[: self._counts[SINGULAR_FOUND]]]
            if len(self._passed) > _PASSAGES:
                _ = self.singular  # before they become too many
            self.events.collect(self)
            if status == Status.EVENT:
                self._act(bindings, span, rows)
            if status == Status.DONE or self.events.ended or (watch is not None and watch(float(self._times[TIME]))):
                return rows[: self._counts[OUTPUTS]]
            if status not in (Status.PAUSED, Status.EVENT):
                try:
                    self._decide(status, Status)
                except SimulationError as error:
                    error.rows = rows[: self._counts[OUTPUTS]]
                    raise

    def _advance_by_stages(
        self, method: Any, buffers: Any, run: Any, watched: Any, smallest: float, until: Array, rows: Array, n: int
    ) -> int:
        """Let a Runge-Kutta method take so many steps; for other methods it goes across singular positions.

        It takes one step for them, which they then forget.
        """
        room = self.bind().attempt(method)
        own = isinstance(self.method, Tableau) and self.name != ADAMS
        if own or self.name == EULER:
            return int(advance(buffers, method, run, watched, room, self.tolerance, smallest, until, rows, n))
        step, tolerance = float(self._times[NEXT_STEP]), min(self.tolerance, _ACROSS)
        status = int(advance(buffers, method, run, watched, room, tolerance, smallest, until, rows, 1))
        self._past = np.zeros(0)
        if isinstance(self.method, Alpha):
            self._times[NEXT_STEP] = step
        return status

    def _keep_past(self, size: int) -> None:
        """Keep what earlier steps left for the next, unless it is of another size or was left by other efforts."""
        if self._past.size != size or not np.array_equal(self._past_tau, self.tau):
            self._past, self._past_tau = np.zeros(size), self.tau.copy()

    def _advance_by_history(
        self,
        bindings: KernelBindings,
        buffers: Any,
        run: Any,
        watched: Any,
        smallest: float,
        until: Array,
        rows: Array,
        n: int,
    ) -> int:
        """Let the Adams method take so many steps."""
        from whippletree.simulate import adams

        if bindings.adams is None:
            bindings.adams = adams.bind(bindings)
        self._keep_past(adams.past_size(bindings))
        kernel, sizes = bindings.adams
        rates = bindings.arrays["coordinate rates"]
        settings = (self.tolerance, smallest, until, rows, n)
        return int(adams.advance(buffers, kernel, rates, sizes, run, watched, self._past, *settings))

    def _advance_implicitly(
        self,
        method: Alpha,
        bindings: KernelBindings,
        buffers: Any,
        run: Any,
        watched: Any,
        smallest: float,
        until: Array,
        rows: Array,
        n: int,
    ) -> int:
        """Let an implicit method take so many steps."""
        from whippletree.simulate import implicit

        if bindings.newton is None:
            bindings.newton = implicit.newton(bindings)
        self._keep_past(implicit.past_size(bindings))
        tolerance = self.tolerance if self.adaptive else 0.0
        return int(
            implicit.advance(
                buffers,
                bindings.newton,
                method.numbers(),
                run,
                watched,
                self._past,
                tolerance,
                smallest,
                until,
                rows,
                n,
            )
        )

    def _act(self, bindings: KernelBindings, span: float, rows: Array) -> None:
        """Do what an event does; an error carries the rows made so far."""
        try:
            self.events.act(self, bindings, span)
        except SimulationError as error:
            error.rows = rows[: self._counts[OUTPUTS]]
            raise

    @property
    def _scale(self) -> Array:
        """What displacements are measured by: a radian, or the characteristic length."""
        return self.system._engine.loops.numbers.column_scale

    def bind(self) -> KernelBindings:
        if self._machine is None:
            self._machine = KernelBindings(self._plans.now, self.formulation, self.tau, self.parameters)
        return self._machine

    def _decide(self, status: int, kinds: Any) -> None:
        """See what can be done about a run that has stopped."""
        t = float(self._times[TIME])
        if status == kinds.POOR:
            self._plan_again(t)
        elif status == kinds.UNTRUSTED:
            self._across(t) if self._options[KEEP_PLAN] else self._plan_again(t)
        elif status == kinds.OPEN:
            raise SimulationError(self._in_words("the loops could not be closed again after a step", t))
        elif status == kinds.STUCK:
            raise SimulationError(self._stuck(t))
        elif status == kinds.TOO_SMALL:
            what = "the step has become too small: the tolerance cannot be reached, or the motion blows up"
            if max(self._times[NEXT_STEP], self._limits[0]) < _ROUNDING * abs(t):
                size = self._times[NEXT_STEP]
                what = f"a step of {size:.3g} s is lost in rounding: begin at a smaller t0, or end earlier"
            if self._beside_singular(t):
                what = "the motion stays next to a singular position, where accelerations are not exact enough to go on"
            raise SimulationError(self._in_words(self._cause() or what, t))
        else:
            raise SimulationError(self._in_words(self._cause() or "a number is not finite: the motion blows up", t))

    def _plan_again(self, t: float) -> None:
        """Choose rows and independent coordinates anew at the present state; if that is no better, go on as it is."""
        if not self._plans.again(self._q, self._plans.loops.conditions(t, self.parameters)):
            self._options[KEEP_PLAN] = 1
            return
        self._machine = None
        self._past = np.zeros(0)
        self._forget_pivots()
        self.replans.append(t)

    def _across(self, t: float) -> None:
        """Take the accelerations at a singular position from the branch that the motion is on."""
        if self._options[RATES_GIVEN]:
            raise SimulationError(self._in_words("the mechanism is locked up in a singular position", t))
        state = self.state
        inputs = {"q": state.q, "v": state.v, "tau": self.tau, "t": np.array([t]), "parameters": self.parameters}
        try:
            a = self._plans.loops.accelerations(inputs)
        except DynamicsError as error:
            raise SimulationError(self._in_words(str(error), t)) from None
        self._given = np.concatenate([a, np.zeros(self.system.z0.size)])
        self._options[RATES_GIVEN] = 1

    def _beside_singular(self, t: float) -> bool:
        """Tell whether the mechanism is at a singular position, or as good as."""
        loops = self._plans.loops
        return bool(self._options[LOOPS] and loops.singular(self._q, loops.conditions(t, self.parameters)))

    def _stuck(self, t: float) -> str:
        """Say where Newton's method does not converge."""
        from whippletree.simulate.implicit import WORST

        worst = self.system._states.velocity_label(int(self._past[WORST]))
        remedy = "take another tolerance" if self.adaptive else f"take a smaller step than {self._times[NEXT_STEP]:g} s"
        return (
            f"at t = {t:.9g} s Newton's method does not converge to the end of the step; it is farthest off in the "
            f"{worst}; {remedy}, or look for a force there that is not smooth"
        )

    def _cause(self) -> str:
        """Say why there are no accelerations at the present state; nothing if there are."""
        now = self.state
        options: dict[str, Any] = {"t": now.t, "z": now.z if now.z.size else None, "parameters": self.parameters}
        try:
            self._plans.now.forward_dynamics(
                now.q, now.v, self.tau, formulation=self.formulation, check=False, **options
            )
        except WhippletreeError as error:
            return f"there are no accelerations: {error}"
        return ""

    def _in_words(self, what: str, t: float) -> str:
        """Say what went wrong, when, and where it is worst."""
        v = np.abs(self._course_y[self.system.nv : 2 * self.system.nv]) / self._scale
        worst = self.system._states.velocity_label(int(v.argmax())) if v.size else "nothing"
        fastest = f"; the fastest is the {worst}, at {v.max():.3g} /s" if v.size else ""
        return f"at t = {t:.9g} s {what}{fastest}"

    # ------------------------------------------------------------------ the start

    def _start_configuration(self, q: Any) -> Array:
        """Return the configuration to start from: by default where the system was assembled, or drives have it now."""
        if q is not None:
            return np.array(self.system._one_configuration(self.system._as_guess(q)))
        if not self._elsewhere:
            return np.array(self.system.q0)
        return self.system.assemble(self.system.q0, t=float(self._times[TIME]), parameters=self.parameters)

    def _start_velocities(self, v: Any) -> Array:
        if v is not None:
            return self.system._motion(v, "v")[0]
        if not self._elsewhere:
            return self.system.v0
        t = float(self._times[TIME])
        return self.system.consistent_velocities(self._q, self.system.v0, t=t, parameters=self.parameters)

    @property
    def _elsewhere(self) -> bool:
        """Whether drives have moved on from where the system was assembled."""
        moved = self._times[TIME] != 0.0 or self.parameters is not None
        return bool(self.system.description.closures_moving and moved)

    def _asked(self, until: Any, *, resumed: bool) -> Array:
        """Return the times that outputs are asked for at."""
        times = increasing(until, "until")
        now = float(self._times[TIME])
        if times.size and not resumed and times[0] < now - 1e-12 * max(1.0, abs(now)):
            raise StateError(f"until[0] is {times[0]:g} s, but the simulation is at {now:g} s: time goes on only")
        return times

    def _room(self, until: Array, rows: Any, *, resumed: bool) -> Array:
        """Return the array that outputs are written to, which may be given; a run that is resumed has some in it."""
        if rows is None and not resumed:
            return np.zeros((until.size, self.row_size))
        good = isinstance(rows, np.ndarray) and rows.dtype == np.float64 and rows.ndim == 2
        if not good or len(rows) < until.size or rows.shape[1] != self.row_size:
            raise StateError(f"rows= must be a float64 array of shape ({until.size}, {self.row_size}), or larger")
        if not (rows.flags.c_contiguous and rows.flags.writeable):
            raise StateError("rows= must be an array that can be written to, its rows one after another")
        made = int(self._counts[OUTPUTS])
        if resumed and (made > until.size or (made < until.size and until[made] < self._times[TIME])):
            raise StateError("a run is resumed with the times and rows that it was begun with")
        return np.asarray(rows)

    def _check_step(self, end: float) -> None:
        """Refuse steps of a fixed size that rounding swallows."""
        t, step = float(self._times[TIME]), float(self._times[NEXT_STEP])
        if not self.adaptive and step < 1e-14 * max(abs(t), abs(end)):
            raise StateError(
                f"step={step:g} s is lost in rounding at t = {max(abs(t), abs(end)):g} s: take a larger one"
            )

    def _check_start(self) -> None:
        """Refuse a start that does not satisfy the closures."""
        if self.system._closed:
            state = self.state
            self.system._engine.loops.check(state.q, state.v, state.t, self.parameters)


@functools.cache
def _in_numbers(tableau: Tableau | None, adaptive: bool) -> Method:
    """Return a tableau as machine code takes it, without its errors unless it is adaptive; none is for Euler."""
    empty = np.zeros(0)
    if tableau is None:
        return Method(np.zeros((0, 0)), empty, empty, empty, empty, np.zeros((0, 0)), 1)
    errors = (tableau.e, tableau.e3) if adaptive else (empty, empty)
    return Method(tableau.A, tableau.b, tableau.c, *errors, tableau.dense, tableau.order)


def _start(system: System, z: Any) -> Array:
    """Return the states of elements to start from."""
    return system.z0 if z is None else _vector(system, z, "z", system.z0.size)


def _method(name: Any, spectral_radius: Any) -> Tableau | Alpha | None:
    """Return a tableau, an implicit method, or None for semi-implicit Euler."""
    if isinstance(name, str) and name in IMPLICIT:
        return implicit_method(name, spectral_radius)
    if spectral_radius is not None:
        raise StateError('spectral_radius= belongs to method "generalized_alpha"')
    if name == EULER:
        return None
    if name == ADAMS:
        return METHODS["dop853"]  # which goes across singular positions for it
    if not isinstance(name, str) or name not in METHODS:
        raise StateError(f"there is no method {name!r}; choose one of {', '.join(METHOD_NAMES)}")
    return METHODS[name]


def _tolerance(value: Any) -> float:
    """Return a tolerance that can be reached."""
    number = positive(value, "tolerance")
    if number < _TIGHTEST:
        raise StateError(
            f"tolerance={number:g} is below rounding, which no step size reaches: take {_TIGHTEST:g} or more"
        )
    return number


def _vector(system: System, value: Any, name: str, size: int) -> Array:
    """Return one vector of finite numbers."""
    argument = system._engine.argument(name, size)
    array = as_array(value, argument)
    if array.ndim != 1:
        raise StateError(f"{name} must be one vector of {size} numbers, but its shape is {array.shape}")
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        i = int(wrong[0])
        raise StateError(f"{name}[{i}] is {array[i]}: {argument.label(i)} must be a finite number")
    return array


def finite(value: Any, what: str) -> float:
    """Return a finite number.

    >>> finite(2, "t0")
    2.0
    """
    try:
        return number(value, what)
    except ModelError as error:
        raise StateError(str(error)) from None


def increasing(times: Any, what: str) -> Array:
    """Return times that do not go back as an array.

    >>> increasing([0, 1], "times")
    array([0., 1.])
    """
    given = np.full(1, np.nan)
    with contextlib.suppress(Exception):  # objects may do what they like when they are asked for numbers
        read = np.array(times)
        if not masked(times) and (read.dtype.kind in "fiu" or not read.size):  # neither dates nor truth values nor text
            given = read.astype(np.float64)
    if given.ndim != 1 or not np.isfinite(given).all() or (np.diff(given) < 0).any():
        raise StateError(f"{what}= must be increasing finite numbers")
    return given


def positive(value: Any, what: str) -> float:
    """Return a positive number.

    >>> positive(2, "step")
    2.0
    """
    given = np.nan
    with contextlib.suppress(ModelError):
        given = number(value, what)
    if not (np.isfinite(given) and given > 0):
        raise StateError(f"{what}= must be a positive number, not {shown(value)}")
    return given


def _example() -> Simulation:
    """Return the simulation of the examples: a pendulum.

    >>> _example().state.t
    0.0
    """
    from whippletree.system.system import _pendulum

    return Simulation(_pendulum(), method="rk4", step=1e-3)
