"""A simulation: a system, a state, and a method that moves it on.

What is here is for users: the state to read and write, and runs to begin. How a run goes on is the business of
`driver`, and what a step is, that of the method (`steppers`).
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import AssemblyError, StateError
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import Baumgarte
from whippletree.model.names import quoted
from whippletree.simulate import system_interface
from whippletree.simulate.driver import Driver
from whippletree.simulate.event_handling import Events, OnEvent
from whippletree.simulate.generalized_alpha import IMPLICIT
from whippletree.simulate.packed_forms import FINITE, POSITIVE, Header, Maybe, read_form
from whippletree.simulate.run_arguments import finite, increasing, positive, value_index
from whippletree.simulate.run_corners import RunCorners
from whippletree.simulate.run_plans import RunPlans
from whippletree.simulate.run_state import (
    CLOSING_LARGEST,
    CLOSING_TOTAL,
    EVALUATIONS,
    LONGEST_STEP,
    NEXT_STEP,
    OUTPUTS,
    RATES_GIVEN,
    REFUSED,
    STEPS,
    TIME,
    WAY,
    RunState,
)
from whippletree.simulate.run_tolerances import TIGHTEST_TOLERANCE, TIME_ROUNDING
from whippletree.simulate.singular_times import SingularTimes
from whippletree.simulate.steppers import MethodOptions, OutputWindow, Stepper, make_stepper
from whippletree.spatial.scalars import place_among, shown, truth
from whippletree.system import System
from whippletree.system.evaluator import JointValues, ParameterValues

__all__ = ["Simulation", "State"]


_HEADER_FORM = {
    "method": str,
    "spectral_radius": Maybe(FINITE),
    "tolerance": POSITIVE,
    "adaptive": bool,
    "formulation": str,
    "baumgarte": Maybe((FINITE, FINITE)),
    "replans": [FINITE],
    "singular": [FINITE],
}


@user_facing
@readable
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


@readable
@user_facing
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
        q: JointValues = None,
        v: JointValues = None,
        z: ArrayLike | None = None,
        t: float = 0.0,
        tau: JointValues = None,
        method: str = "dopri5",
        step: float | None = None,
        tolerance: float = 1e-8,
        adaptive: bool | None = None,
        spectral_radius: float | None = None,
        max_step: float | None = None,
        formulation: str = "auto",
        reference: str | Mapping[str, str] | None = None,
        baumgarte: Baumgarte = None,
        parameters: ParameterValues = None,
        on_event: OnEvent = None,
        checked: bool = True,
    ) -> None:
        if not isinstance(system, System):
            raise StateError(f"a simulation is of a system, as mechanism.build() returns it, not of {shown(system)}")
        self.system = system
        self.formulation = system_interface.formulation_text(formulation, reference)
        self.baumgarte = system_interface.checked_baumgarte(system, baumgarte, self.formulation)
        self.stepper = make_stepper(MethodOptions(method, _tolerance(tolerance), step, adaptive, spectral_radius))
        if self.baumgarte is not None and method in IMPLICIT:
            raise StateError(f'method "{method}" closes the loops in every step, where baumgarte= has no part')
        self._blank = RunState.begin(
            nq=system.nq,
            nv=system.nv,
            nz=system.nz,
            scale=system_interface.scale(system),
            t=0.0,
            step=1e-3 if step is None else positive(step, "step"),
        )
        self._blank.times[LONGEST_STEP] = _longest(max_step, self.stepper)
        self.run_state = run = self._blank.copy()
        self.events = Events(system, on_event, run.row_size)
        self.corners = RunCorners(system)
        self._driver = Driver(self)
        self._start(q, v, z, t, tau, parameters, checked=checked)

    def restart(
        self,
        *,
        q: JointValues = None,
        v: JointValues = None,
        z: ArrayLike | None = None,
        t: float = 0.0,
        tau: JointValues = None,
        parameters: ParameterValues = None,
    ) -> None:
        """Begin anew from another start, to the same bits as a new simulation with these settings, and sooner.

        >>> from whippletree.simulate.simulation import _example
        >>> sim = _example()
        >>> sim.step(0.1)
        >>> sim.restart(v={"hinge": 2.0})
        >>> sim.state.t, sim.state.v, sim.steps
        (0.0, array([2.]), 0)
        """
        self._driver.restart()
        self.events.restart()
        self.corners.restart()
        self._start(q, v, z, t, tau, parameters, checked=True)

    def _start(
        self,
        q: JointValues,
        v: JointValues,
        z: ArrayLike | None,
        t: float,
        tau: JointValues,
        parameters: ParameterValues,
        *,
        checked: bool,
    ) -> None:
        """Take over where a run begins, and nothing of a run before it."""
        system, run = self.system, self.run_state
        self.parameters = system_interface.checked_parameters(system, parameters)
        for name in run.fields:
            if name != "kept":
                getattr(run, name)[:] = getattr(self._blank, name)
        run.times[TIME] = system_interface.checked_time(system, t)
        if tau is not None:
            run.tau[:] = system_interface.checked_efforts(system, tau)
        run.q[:] = self._start_configuration(q)
        run.v[:] = self._start_velocities(v)
        run.z[:] = system.z0 if z is None else system_interface.checked_vector(system, z, "z", system.nz)
        if checked:
            by_joint = system_interface.BY_JOINT
            system_interface.check_closures(system, run.q, run.v, run.t, self.parameters, by_joint)
        self.pause_every = 0  # a watch is asked after so many steps, if not zero, and when the clock says so
        self.replans: list[float] = []
        self.singular_times = SingularTimes(system)
        self.plans = RunPlans(system)
        self._held: tuple[float, tuple[str, ...]] = (0.0, ())  # joints whose velocities were set, and when

    def _start_configuration(self, q: JointValues) -> Array:
        """Return the configuration to start from.

        By default that is where the system was assembled, or where drives and lengths that are parameters have it now.
        """
        if q is not None:
            return system_interface.start_configuration(self.system, q, self.run_state.t, self.parameters)
        if not self._drives_moved and system_interface.still_closed(self.system, self.run_state.t, self.parameters):
            return self.system.q0
        return self.system.assemble(self.system.q0, t=self.run_state.t, parameters=self.parameters)

    def _start_velocities(self, v: JointValues) -> Array:
        now = self.run_state
        if v is not None:
            return system_interface.start_velocities(self.system, now.q, v, now.t, self.parameters)
        if not self._drives_moved:
            return self.system.v0
        return self.system.consistent_velocities(now.q, self.system.v0, t=now.t, parameters=self.parameters)

    @property
    def _drives_moved(self) -> bool:
        """Whether drives have moved on from where the system was assembled."""
        moved = self.run_state.t != 0.0 or self.parameters is not None
        return bool(self.system.description.closures_moving and moved)

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
        run = self.run_state
        return State(run.t, run.q.copy(), run.v.copy(), run.z.copy(), float(run.y[-2]), float(run.y[-1]))

    @state.setter
    def state(self, state: State) -> None:
        if not isinstance(state, State):
            raise StateError(f"a state is what simulation.state returns, or a State made like it, not {shown(state)}")
        system, run = self.system, self.run_state
        t = system_interface.checked_time(system, state.t)
        q = system_interface.checked_configuration(system, state.q)
        v = system_interface.checked_vector(system, state.v, "v", system.nv)
        z = system_interface.checked_vector(system, state.z, "z", system.nz)
        work = [finite(state.work_in, "work_in"), finite(state.work_dissipated, "work_dissipated")]
        system_interface.check_closures(system, q, v, t, self.parameters)
        run.times[TIME] = t
        run.q[:] = q
        run.y[system.nv :] = np.concatenate([v, z, work])
        self._held = (t, ())
        self._begin_anew()
        run.forget_pivots()
        self.events.started = False

    @property
    def tau(self) -> Array:
        """The efforts at the joints (nv); assign others, whole or by joint: `simulation.tau = {"A": 1.0}`."""
        return self.run_state.tau

    @tau.setter
    def tau(self, tau: JointValues) -> None:
        self.run_state.tau[:] = system_interface.checked_efforts(self.system, tau)

    def __str__(self) -> str:
        return f'Simulation of "{self.system.description.name}", at t = {self.run_state.t:.6g} s'

    def set_value(self, kind: str, name: str, index: int, value: float) -> None:
        """Set a velocity or an effort of a joint, a state of an element, or a parameter.

        Where there are loops, velocities that were set at the present time stay, and the others follow.

        >>> from whippletree.simulate.simulation import _example
        >>> sim = _example()
        >>> sim.set_value("velocity", "hinge", 0, 2.0)
        >>> sim.state.v
        array([2.])
        """
        place = value_index(self.system, kind, name, index)
        called = getattr(name, "name", name)
        given = finite(value, f"the value for the {kind} of {quoted(called)}")
        before = self.run_state.y.copy(), self.parameters, self._held
        self.set_unchecked(kind, place, given)
        if kind == "velocity":
            self.hold(called)
        if not system_interface.is_closed(self.system) or kind not in ("velocity", "parameter"):
            return
        try:
            self._project_others(always=kind == "velocity")
        except (AssemblyError, StateError) as error:
            self.run_state.y[:], self.parameters, self._held = before
            raise StateError(f"the {kind} of {quoted(called)} cannot be {given:g}: {error}") from None

    def set_unchecked(self, kind: str, place: int, value: float) -> None:
        """Set a number by its place among those of its kind (see `value_index`)."""
        run = self.run_state
        if kind == "parameter":
            self.parameters = self.parameter_values
            self.parameters[place_among(place, len(self.parameters), kind)] = value
            run.forget_pivots()
        else:
            values = {"velocity": run.v, "effort": run.tau, "state": run.z}.get(kind)
            if values is None:
                raise StateError(f"a simulation has velocities, efforts, states and parameters, but no {shown(kind)}")
            values[place_among(place, len(values), kind)] = value
        self._begin_anew()

    @property
    def parameter_values(self) -> Array:
        """The parameters as an array of their own, be they given or the default ones."""
        given = self.parameters
        return np.array(self.system.description.parameter_values if given is None else given, dtype=np.float64)

    def hold(self, joint: str) -> None:
        """Let the velocities of a joint stay when others follow at the present time."""
        self.system.v_slice(joint)  # refuses what is no joint
        self._held = (self.run_state.t, tuple(sorted({*self.held, joint})))

    @property
    def held(self) -> tuple[str, ...]:
        """The joints whose velocities were set at the present time.

        >>> from whippletree.simulate.simulation import _example
        >>> _example().held
        ()
        """
        return self._held[1] if self._held[0] == self.run_state.t else ()

    def _project_others(self, *, always: bool) -> None:
        """Make the velocities consistent, those set aside included; refuse a state that cannot be closed."""
        now, system = self.state, self.system
        if not always:
            with contextlib.suppress(StateError):
                system_interface.check_closures(system, now.q, now.v, now.t, self.parameters)
                return
        v = system.consistent_velocities(now.q, now.v, hold=self.held, t=now.t, parameters=self.parameters)
        system_interface.check_closures(system, now.q, v, now.t, self.parameters)
        self.set_velocities(v)

    def _begin_anew(self) -> None:
        """Forget the memory of methods from step to step."""
        self.run_state.flags[RATES_GIVEN] = 0
        self.run_state.forget_corner()
        self.stepper.forget()

    def set_velocities(self, v: Array) -> None:
        """Set all velocities."""
        given = system_interface.checked_vector(self.system, v, "v", self.system.nv)
        self._begin_anew()
        self.run_state.v[:] = given

    def move_to(self, q: Array, v: Array) -> None:
        """Go on from another configuration and other velocities, which belong to the present time."""
        q = system_interface.checked_vector(self.system, q, "q", self.system.nq)
        self.set_velocities(v)
        self.run_state.q[:] = q

    def record_work(self, energy: float) -> None:
        """Record energy that came at an instant as work put in, and lost energy as work dissipated."""
        energy = finite(energy, "energy")
        self.run_state.y[-2 if energy > 0 else -1] += abs(energy)

    def limit_step(self, longest: float) -> None:
        """Let the next step be a small one, and no longer than that, if the method chooses its steps."""
        if self.adaptive and longest > 0:
            times = self.run_state.times
            shortest = TIME_ROUNDING * abs(times[TIME])  # less is no step
            times[NEXT_STEP] = max(min(times[NEXT_STEP] / 64, longest), shortest)

    def row(self) -> Array:
        """Return the present state as a row of `run`.

        >>> from whippletree.simulate.simulation import _example
        >>> _example().row()
        array([0., 0., 0., 0.])
        """
        return self.run_state.row()

    @property
    def row_size(self) -> int:
        """How many numbers a row of `run` has."""
        return self.run_state.row_size

    # ------------------------------------------------------------------ choices and counts

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.stepper.options.method

    @property
    def tolerance(self) -> float:
        """The tolerance of the method."""
        return self.stepper.tolerance

    @property
    def adaptive(self) -> bool:
        """Whether the method chooses its steps."""
        return self.stepper.adaptive

    @property
    def fixed_step(self) -> float:
        """The size of steps, for a method that does not choose them.

        >>> from whippletree.simulate.simulation import _example
        >>> _example().fixed_step
        0.001
        """
        return float(self.run_state.times[NEXT_STEP])

    @property
    def longest_step(self) -> float:
        """The longest step that is allowed, infinite unless `max_step` was given."""
        return float(self.run_state.times[LONGEST_STEP])

    @property
    def closing(self) -> tuple[float, float, float]:
        """The largest displacement that closing the loops made at the end of a step, the sum of them, and the way."""
        largest, total, way = self.run_state.times[[CLOSING_LARGEST, CLOSING_TOTAL, WAY]].tolist()
        return largest, total, way

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self.run_state.counts[STEPS])

    @property
    def refused(self) -> int:
        """Steps refused."""
        return int(self.run_state.counts[REFUSED])

    @property
    def evaluations(self) -> int:
        """Evaluations of the accelerations."""
        return int(self.run_state.counts[EVALUATIONS])

    @property
    def outputs(self) -> int:
        """Outputs made since `run` was called."""
        return int(self.run_state.counts[OUTPUTS])

    @property
    def singular(self) -> list[float]:
        """The times at which the mechanism itself was singular, and not only the choice of its coordinates.

        >>> from whippletree.simulate.simulation import _example
        >>> _example().singular
        []
        """
        return self.singular_times.found()

    # ------------------------------------------------------------------ copies

    def clone(self) -> Simulation:
        """Return a simulation in the same state that goes its own way.

        >>> from whippletree.simulate.simulation import _example
        >>> sim = _example()
        >>> other = sim.clone()
        >>> sim.step(0.1)
        >>> other.state.t
        0.0
        """
        return copy.copy(self)

    def __getstate__(self) -> Header:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("stepper", "_driver")}
        for name in ("run_state", "replans", "singular_times", "events", "corners", "plans"):
            kept[name] = kept[name].copy()
        return {**kept, "method": (self.stepper.options, self.stepper.pack())}

    def __setstate__(self, kept: Header) -> None:
        options, memory = kept.pop("method")
        self.__dict__.update(kept)
        self.stepper = make_stepper(options)
        self.stepper.unpack(memory)
        self._driver = Driver(self)

    def pack(self) -> tuple[Header, dict[str, Array]]:
        """Return everything that the run needs to go on to the same bits, as plain values and arrays by name."""
        options, (header, arrays) = self.stepper.options, self.events.pack()
        header |= {
            "method": options.method,
            "spectral_radius": options.spectral_radius,
            "tolerance": options.tolerance,
            "adaptive": self.adaptive,
            "formulation": self.formulation,
            "baumgarte": None if self.baumgarte is None else list(self.baumgarte),
            "plan": self.plans.packed(),
            "replans": self.replans,
            "singular": self.singular,
            "corners": self.corners.pack(),
        }
        arrays |= {**self.run_state.pack(), **self.stepper.pack()}
        if self.parameters is not None:
            arrays["parameters"] = self.parameters
        return header, arrays

    @staticmethod
    def unpacked(
        system: System, header: Mapping[str, Any], arrays: Mapping[str, Array], on_event: OnEvent
    ) -> Simulation:
        """Return a simulation of a system from the data of `pack`; functions of events are to be given again."""
        kept = read_form(_HEADER_FORM, header, "header")
        sim = Simulation(
            system,
            q=arrays["q"],
            method=kept["method"],
            step=1.0,
            tolerance=kept["tolerance"],
            adaptive=kept["adaptive"],
            spectral_radius=kept["spectral_radius"],
            formulation=kept["formulation"],
            baumgarte=kept["baumgarte"],
            parameters=arrays.get("parameters"),
            on_event=on_event,
            checked=False,
        )
        sim.run_state.unpack(arrays)
        sim.stepper.unpack_from_file(arrays, system.nv)
        sim.events.unpack(system, header, arrays)
        sim.corners.unpack(header.get("corners"))
        sim.plans = RunPlans.unpacked(system, header.get("plan"))
        sim.replans, sim.singular_times = kept["replans"], SingularTimes(system, kept["singular"])
        return sim

    # ------------------------------------------------------------------ moving on

    def step(self, duration: float | None = None, tau: JointValues = None) -> None:
        """Move on by a duration in seconds (default: one step of the fixed size), with joint efforts `tau`.

        >>> from whippletree.simulate.simulation import _example
        >>> sim = _example()
        >>> sim.step(0.25, tau=[0.1])
        >>> sim.state.t
        0.25
        """
        if tau is not None:
            self.tau = tau
        length = float(self.run_state.times[NEXT_STEP]) if duration is None else positive(duration, "duration")
        now = self.run_state.t
        if now + length == now:
            raise StateError(f"duration={length:g} s is lost in rounding at t = {now:g} s: take more")
        self.check_step(now + length)
        self._driver.step(now + length)

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
        for what, call in (("watch", watch), ("pause", pause)):
            if call is not None and not callable(call):
                raise StateError(f"{what}= must be a function, not {shown(call)}")
        until = self._asked(until, resumed=truth(resumed, "resumed="))
        if not until.size:
            return np.zeros((0, self.row_size))
        rows = self._room(until, rows, resumed=resumed)
        self.check_step(float(until[-1]))
        return rows[: self.run_window(OutputWindow(until, rows), watch, pause, resumed=resumed)]

    def run_window(
        self,
        outputs: OutputWindow,
        watch: Callable[[float], bool] | None = None,
        pause: Callable[[], None] | None = None,
        *,
        resumed: bool = False,
    ) -> int:
        """Run with outputs that are known to be good; return how many of them are made.

        >>> from whippletree.simulate.simulation import _example
        >>> sim = _example()
        >>> sim.run_window(OutputWindow(np.array([0.1, 0.2]), np.zeros((2, sim.row_size)))), sim.state.t
        (2, 0.2)
        """
        return self._driver.go(outputs, watch, pause, resumed=resumed)

    def _asked(self, until: ArrayLike, *, resumed: bool) -> Array:
        """Return the times that outputs are asked for at."""
        times, now = increasing(until, "until"), self.run_state.t
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
        made = self.outputs
        if resumed and (not 0 <= made <= until.size or (made < until.size and until[made] < self.run_state.t)):
            raise StateError("a run is resumed with the times and rows that it was begun with")
        return np.asarray(rows)

    def check_step(self, end: float) -> None:
        """Refuse steps of a fixed size that rounding swallows on the way to a time."""
        latest, step = max(abs(self.run_state.t), abs(end)), float(self.run_state.times[NEXT_STEP])
        if not self.adaptive and step < 1e-14 * latest:
            raise StateError(f"step={step:g} s is lost in rounding at t = {latest:g} s: take a larger one")


def _tolerance(value: float) -> float:
    """Return a tolerance that can be reached."""
    number = positive(value, "tolerance")
    if number < TIGHTEST_TOLERANCE:
        raise StateError(
            f"tolerance={number:g} is below rounding, which no step size reaches: take {TIGHTEST_TOLERANCE:g} or more"
        )
    return number


def _longest(given: float | None, stepper: Stepper) -> float:
    """Return the longest step that is allowed."""
    if given is None:
        return np.inf
    if not stepper.adaptive:
        name = stepper.options.method
        raise StateError(
            f'max_step= is for methods that choose their steps: with method "{name}", give a smaller step='
        )
    return positive(given, "max_step")


def _example() -> Simulation:
    """Return the simulation of the examples: a pendulum.

    >>> _example().state.t
    0.0
    """
    from whippletree.system.example_systems import pendulum

    return Simulation(pendulum(), method="rk4", step=1e-3)
