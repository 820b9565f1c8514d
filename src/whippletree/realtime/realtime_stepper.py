"""A stepper for real time: one kernel a step, the same operations every time, no allocation, next to no overhead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import SimulationError, StateError
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.cache import open_cache
from whippletree.kernels.entry import DONE, Signature
from whippletree.kernels.kernel import Array, Kernel, NotFiniteError
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.kernels.lowering import LIBRARY_FUNCTIONS, StraightLine
from whippletree.kernels.tape import OperationCount
from whippletree.model.argument_types import JointValues, PlaceLike
from whippletree.model.names import quoted, suggestion
from whippletree.realtime.c_files import step_file
from whippletree.realtime.paced_runs import PacedRun, keep_pace
from whippletree.realtime.realtime_tolerances import FASTEST, LONGEST_LINE, MOST_TIMED, SLOWEST
from whippletree.realtime.step_equations import NaturalChoice, StepOptions, StepStatus, TracedStep
from whippletree.realtime.step_methods import METHODS
from whippletree.realtime.step_timing import StepTiming, step_times
from whippletree.simulate import Simulation
from whippletree.simulate.run_arguments import positive
from whippletree.simulate.system_interface import jamming
from whippletree.spatial.scalars import shown, truth
from whippletree.system import System
from whippletree.system.input_reader import as_array
from whippletree.system.source import source_key

if TYPE_CHECKING:
    from whippletree.system.evaluator import ParameterValues

__all__ = ["RealtimeStepper", "realtime"]

_MOST_ITERATIONS = 20
"""Largest number of iterations that a step may have: its work is fixed in advance."""

NATURAL = "natural"
"""The method in natural coordinates, beside those in joint coordinates."""

_CAUSES = {
    StepStatus.DONE: "",
    StepStatus.NOT_FINITE: "a number of the new state is not finite: the step is too long for what acts",
    StepStatus.SINGULAR: "the loops are next to a singular position, which a step of fixed length cannot cross: keep "
    "away from it, or let s.simulate(...) go through it",
    StepStatus.ITERATIONS: "the iterations in natural coordinates do not converge: take shorter steps, more of them, "
    "a larger mu=, or projections=True",
}


@user_facing
def realtime(
    system: System,
    *,
    step: float = 1e-3,
    method: str = "rk4",
    iterations: int = 2,
    formulation: str = "auto",
    wrenches: Sequence[PlaceLike] = (),
    q: JointValues = None,
    v: JointValues = None,
    z: ArrayLike | None = None,
    t: float = 0.0,
    parameters: ParameterValues = None,
    alpha: float | None = None,
    mu: float | None = None,
    projections: bool = False,
) -> RealtimeStepper:
    """Return a stepper for real time: steps of fixed length, each with the same operations and no allocation.

    Options: `step` (1e-3 s); `method`: "semi_implicit", "rk2", "rk4" (the default), "linearly_implicit" for stiff
    springs and controllers, or "natural" for the trapezoidal rule in natural coordinates (with `alpha`, `mu`,
    `projections`); `iterations` (2), Newton steps back onto the closures, or those of "natural"; `formulation`;
    `wrenches`, the bodies or frames on which wrenches act; the start `q`, `v`, `z`, `t`, `parameters` as for
    `simulate`.

    >>> from whippletree.system.example_systems import four_bar
    >>> stepper = four_bar().realtime(step=1e-3)
    >>> stepper.step().name
    'DONE'
    """
    described = system.description
    if described.events:
        names = ", ".join(quoted(use.name) for use in described.events)
        raise StateError(f"a step of fixed work handles no events, and the mechanism has {names}: use s.simulate(...)")
    if not isinstance(method, str) or method not in (*METHODS, NATURAL):
        raise StateError(f"there is no real-time method {suggestion(method, (*METHODS, NATURAL))}")
    choice = _natural_choice(method, formulation, alpha, mu, projections)
    if type(iterations) is not int or not 1 <= iterations <= _MOST_ITERATIONS:
        raise StateError(f"iterations= must be a whole number from 1 to {_MOST_ITERATIONS}, got {shown(iterations)}")
    formulation = formulation if choice is None else NATURAL  # which needs no choice among others
    asked = system.kernels.request("derivatives", formulation=formulation, wrenches=wrenches)
    options = StepOptions(positive(step, "step"), method, iterations, formulation, asked.wrenches)
    return RealtimeStepper(system, options, {"q": q, "v": v, "z": z, "t": t, "parameters": parameters}, choice)


def _natural_choice(
    method: str, formulation: str, alpha: float | None, mu: float | None, projections: bool
) -> NaturalChoice | None:
    """Return the options of steps in natural coordinates; None for other methods, which take none of them."""
    given = {"alpha": alpha, "mu": mu, "projections": projections or None}
    if method != NATURAL:
        for name, value in given.items():
            if value is not None:
                raise StateError(f'{name}= belongs to method="natural"')
        return None
    if formulation not in ("auto", NATURAL):
        raise StateError(f'method="natural" has equations of its own: leave formulation={shown(formulation)} out')
    chosen = truth(projections, "projections=")
    if chosen and mu is not None:
        raise StateError("projections=True corrects multipliers in every iteration: leave mu= out")
    return NaturalChoice(alpha, mu, chosen)


def _traced_step(system: System, options: StepOptions, natural: NaturalChoice | None) -> TracedStep:
    if natural is None:
        return TracedStep(system.kernels, options)
    from whippletree.realtime.natural_step import NaturalStep  # only where it is asked for

    return NaturalStep(system, options, natural)


@readable
@user_facing
class RealtimeStepper:
    """Advances a mechanism by steps of fixed length and fixed work.

    `inputs` are the arrays that act during the next steps, by name: "tau", "parameters", "a" of prescribed joints,
    "wrench on hand". They may be written into, or given to `step`. `status` says what became of the last step; where
    it is not DONE the state is the one before, and `cause` says why in words.

    >>> from whippletree.system.example_systems import pendulum
    >>> stepper = pendulum().realtime(step=1e-3, method="rk4")
    >>> for _ in range(1000):
    ...     status = stepper.step()
    >>> round(stepper.t, 6), stepper.status.name
    (1.0, 'DONE')
    """

    def __init__(
        self, system: System, options: StepOptions, start: Mapping[str, Any], natural: NaturalChoice | None = None
    ) -> None:
        self.system, self.options = system, options
        self._lock = system.kernels.equations.lock
        self._traced = _traced_step(system, options, natural)
        self._sizes = system.nq, system.nv, system.nz
        self.inputs: dict[str, Array] = {name: np.zeros(size) for name, size in self._traced.inputs}
        if "parameters" in self.inputs:
            self.inputs["parameters"][:] = system.description.parameter_values
        n = self._traced.n_state
        self._now, self._next = np.zeros(n + 1), np.zeros(n + 1)
        self._states = self._now[:n], self._next[:n]
        self._given = tuple(self.inputs.values())
        self._entry: Callable[..., int] | None = None
        self.status = StepStatus.DONE
        self.reset(**start)

    def __str__(self) -> str:
        o = self.options
        return (
            f"RealtimeStepper({quoted(self.system.description.name)}, step={o.step:g}, method={o.method!r}, "
            f"formulation={self._traced.formulation!r}, {self.operations.total} operations a step)"
        )

    # ------------------------------------------------------------------ state

    def reset(
        self, q: Any = None, v: Any = None, z: Any = None, t: float = 0.0, parameters: ParameterValues = None
    ) -> None:
        """Go on from another state: as a simulation starts, where the system was assembled unless given.

        >>> from whippletree.system.example_systems import pendulum
        >>> stepper = pendulum().realtime()
        >>> stepper.reset(q=[0.3])
        >>> stepper.q
        array([0.3])
        """
        begun = Simulation(self.system, q=q, v=v, z=z, t=t, parameters=parameters, step=self.options.step).state
        if "parameters" in self.inputs:
            values = self.system.kernels.inputs.parameter_set(parameters)
            if values is not None:
                self.inputs["parameters"][:] = values
        memory = self._traced.begin(begun.q, begun.v, begun.t, self.inputs)
        self._now[:-1] = np.concatenate([begun.q, begun.v, begun.z, memory, [begun.t]])
        self.status = StepStatus.DONE

    @property
    def state(self) -> Array:
        """The present state as one column [q; v; z; t]; the memory of method="natural" is before t."""
        return self._states[0].copy()

    @property
    def q(self) -> Array:
        """The coordinates."""
        return self._now[: self._sizes[0]].copy()

    @property
    def v(self) -> Array:
        """The velocities."""
        return self._now[self._sizes[0] : self._sizes[0] + self._sizes[1]].copy()

    @property
    def z(self) -> Array:
        """The elements' states."""
        return self._now[sum(self._sizes[:2]) : sum(self._sizes)].copy()

    @property
    def n_memory(self) -> int:
        """How many numbers a method remembers beside the state: none but for method="natural"."""
        return self._traced.n_memory

    @property
    def t(self) -> float:
        """The time."""
        return float(self._now[-2])

    # ------------------------------------------------------------------ steps

    def step(self, tau: JointValues = None) -> StepStatus:
        """Take one step under the present inputs, with efforts `tau` from now on if they are given.

        >>> from whippletree.system.example_systems import pendulum
        >>> pendulum().realtime(step=1e-2).step([0.5])
        <StepStatus.DONE: 0>
        """
        if tau is not None:
            self._set("tau", tau)
        entry = self._entry
        if entry is None:
            entry = self._entry = self._make_entry()
        done = entry(self._next, self._states[0], *self._given)
        if done != DONE:
            self._refuse()
        status = self._next[-1]
        self._now, self._next = self._next, self._now
        self._states = self._states[1], self._states[0]
        if status or self.status:
            self.status = StepStatus(int(status))
        return self.status

    def set(self, **inputs: JointValues) -> None:
        """Set inputs that act from the next step on, by name, efforts also by joint.

        >>> from whippletree.system.example_systems import pendulum
        >>> stepper = pendulum().realtime()
        >>> stepper.set(tau={"hinge": 0.2})
        >>> stepper.inputs["tau"]
        array([0.2])
        """
        for name, value in inputs.items():
            self._set(name, value)

    def set_wrench(self, place: PlaceLike, wrench: ArrayLike) -> None:
        """Set the wrench [moment; force] that acts on a body or frame from the next step on, in ground axes."""
        self._set(f"wrench on {self.system.kernels.inputs.place_name(place)}", wrench)

    def _set(self, name: str, value: JointValues) -> None:
        into = self.inputs.get(name)
        if into is None:
            hint = ": list it in wrenches= when the stepper is made" if name.startswith("wrench on ") else ""
            raise StateError(f"there is no input {suggestion(name, self.inputs)}{hint}")
        if name == "parameters":
            value = self.system.kernels.inputs.parameter_set(value)
        elif isinstance(value, Mapping):
            value = self.system.velocities(value)
        given = as_array(value, self.system.kernels.inputs.argument(name, into.size))
        if given.shape != into.shape:
            raise StateError(f"{name} must be {into.size} numbers, for one state, but its shape is {given.shape}")
        if not np.isfinite(given).all():
            raise StateError(f"{name} has entries that are not finite")
        into[:] = given

    def _refuse(self) -> None:
        """Say which input is no number: results are always finite."""
        for name, value in self.inputs.items():
            if not np.isfinite(value).all():
                raise StateError(f"the input {name} has entries that are not finite: {shown(value)}")
        raise SimulationError("a step could not be taken: the inputs must be float64 arrays; write into them, or set()")

    def _make_entry(self) -> Callable[..., int]:
        kernel = self.kernel
        if kernel.entry is not None:
            return kernel.entry

        def slowly(result: Array, *values: Array) -> int:
            try:
                kernel.one(values, [result])
            except NotFiniteError:
                return DONE + 1
            return DONE

        return slowly

    @property
    def cause(self) -> str:
        """Why the last step was not taken, in words; empty if it was."""
        if self.status == StepStatus.COORDINATES:
            names = ", ".join(quoted(name) for name in self.system.mobility.independent)
            return (
                f"the independent coordinates {names} no longer tell the motion of the others: build the mechanism in "
                "this position, with m.build(guess=...), and go on from there"
            )
        if self.status == StepStatus.NOT_FINITE:
            now = {"q": self.q, "v": self.v, "z": self.z, "t": self.t, **self.inputs}
            return jamming(self.system, now, self.options.step) or _CAUSES[self.status]
        if self.status == StepStatus.OPEN:
            opening = self.system.kernels.closures.opening_in_words(self.q)
            return f"the loops stay open: {opening}; take shorter steps or more iterations"
        return _CAUSES[self.status]

    # ------------------------------------------------------------------ parts of a step

    @made_once
    def function(self) -> ca.Function:
        """The step as a CasADi function: the state [q; v; z; t] and the inputs to the next state and the status."""
        function = self._traced.function()
        if function.n_instructions() > LONGEST_LINE:
            raise StateError(
                f"a step would be {function.n_instructions()} operations in one line, more than {LONGEST_LINE}: take "
                'method="semi_implicit", or s.simulate(...), which loops over the bodies'
            )
        return function

    @made_once
    def kernel(self) -> Kernel:
        """The step in machine code; `kernel.address` is for callers outside Python."""
        described, n = self.system.description, self._traced.n_state
        inputs = (("state", n), *self._traced.inputs)
        made_of = self.system.kernels.equations.description.fingerprint()
        key = f"{source_key()}|{made_of}|{self.options}|{self._traced.formulation}|{self._traced.about}"
        if self.system.kernels.closed:
            key += f"|{self.system.kernels.loop_plan}"
        return Kernel(
            key,
            Signature(inputs, (("next", n + 1),), (n + 1,)),
            lambda: self._program,
            open_cache(),
            what=f"a real-time step of {quoted(described.name)}",
        )

    @made_once
    def operations(self) -> OperationCount:
        """The scalar operations of a step: the same in every one."""
        return self._program.count()

    @made_once
    def _program(self) -> StraightLine | RolledLoops:
        """The program of a step for compilation: loops if the step has them, otherwise one straight line."""
        loops = self._traced.program()
        return StraightLine(self.function, flush=True) if loops is None else RolledLoops(loops, flush=True)

    @made_once
    def library_functions(self) -> tuple[str, ...]:
        """The functions of the C library that a step calls: their time depends on their argument, by some tens of ns.

        They come from written laws and bushings; without them every step runs the same instructions.

        >>> from whippletree.system.example_systems import pendulum
        >>> pendulum().realtime().library_functions
        ()
        """
        return tuple(sorted(self._program.operations() & LIBRARY_FUNCTIONS))

    def c_source(self, *, name: str = "", frames: Sequence[PlaceLike] = ()) -> str:
        """Return the step as one C file that needs libm only: a state struct, `init`, `step` and `outputs`.

        `name` begins all its names ("model" unless given); poses and velocities of `frames` are its outputs.

        >>> from whippletree.system.example_systems import pendulum
        >>> "int model_step(model_state *state" in pendulum().realtime().c_source()
        True
        """
        if isinstance(frames, str) or not isinstance(frames, Iterable):
            raise StateError(f'frames= must list bodies or frames, as in frames=["hand"], not {shown(frames)}')
        places = dict.fromkeys(self.system.kernels.inputs.place_name(frame) for frame in frames)
        return step_file(self, "model" if isinstance(name, str) and not name else name, list(places))

    # ------------------------------------------------------------------ time

    def measure(self, steps: int = 20_000) -> StepTiming:
        """Time steps from the present state, each by itself; the state stays.

        >>> from whippletree.system.example_systems import pendulum
        >>> pendulum().realtime().measure(2000).median > 0
        True
        """
        if type(steps) is not int or not 1 <= steps <= MOST_TIMED:
            raise StateError(f"steps must be a whole number from 1 to {MOST_TIMED}, got {shown(steps)}")
        kept = self._now.copy(), self.status

        def restart() -> None:
            self._now[:], self.status = kept

        def again() -> None:
            assert self._entry is not None
            self._entry(self._next, self._states[0], *self._given)

        try:
            return step_times(self.step, again, restart, steps, self.options.step)
        finally:
            restart()

    def run(
        self, duration: float, control: Callable[[RealtimeStepper], object] | None = None, *, pace: float = 1.0
    ) -> PacedRun:
        """Keep pace with the clock of the wall for a duration; report the deadlines that were missed.

        `control(stepper)` is called before every step and may set inputs. With `pace=2` the mechanism moves twice as
        fast as the clock. A step that is not DONE ends the run.

        >>> from whippletree.system.example_systems import pendulum
        >>> run = pendulum().realtime(step=1e-3).run(0.02)
        >>> run.q.shape, run.status.name
        ((21, 1), 'DONE')
        """
        if control is not None and not callable(control):
            raise StateError(f"control must be a function of the stepper, got {shown(control)}")
        steps = max(1, round(min(positive(duration, "duration") / self.options.step, 2.0 * MOST_TIMED)))
        if steps > MOST_TIMED:
            raise StateError(f"duration={duration:g} s is more than {MOST_TIMED} steps: run for a shorter one")
        pace = positive(pace, "pace")
        if not SLOWEST <= pace <= FASTEST:
            raise StateError(f"pace must be from {SLOWEST:g} to {FASTEST:g} times that of the clock, got {pace:g}")
        return keep_pace(self, steps, control, pace)
