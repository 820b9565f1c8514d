"""Many runs in one call: each by itself, shared among threads, with the bits that it has alone."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import ResultError, SimulationError, StateError, WhippletreeError
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.results.trajectory import Trajectory
from whippletree.simulate.controllers import Controller, checked_period
from whippletree.simulate.idle_simulations import give_back
from whippletree.simulate.progress import ProgressMonitor
from whippletree.simulate.run_arguments import finite, positive
from whippletree.simulate.sampled_run import SampledRun
from whippletree.spatial.scalars import shown
from whippletree.studies.case_values import CaseValues
from whippletree.studies.control_blocks import HeldEfforts, march_block, of_one_run
from whippletree.studies.run_options import MethodSettings, with_run_options
from whippletree.studies.run_outputs import RunOutput, run_outputs
from whippletree.studies.runs import Runs, RunStatuses
from whippletree.studies.simulations import (
    OF_SIMULATE,
    begun,
    check_simulation,
    followed,
    further_runs_of,
    made_of,
    output_times,
    simulate,
)
from whippletree.studies.verification import Agreement
from whippletree.system import System
from whippletree.system.calls import number_of_threads
from whippletree.system.evaluator import JointValues, ParameterValues

__all__ = ["simulate_many"]

_ON_ERROR = ("keep", "raise")
_AHEAD = 256  # runs whose parameters are looked at in one go
_MET = 1e-9  # share of a run by which an output may miss its time: runs in natural coordinates count steps
_BETWEEN = 0.05  # seconds between looks at the threads, at which progress is told


@user_facing
@with_run_options
def simulate_many(
    system: System,
    duration: float,
    *,
    q: JointValues = None,
    v: JointValues = None,
    z: ArrayLike | None = None,
    tau: JointValues = None,
    parameters: ParameterValues = None,
    t0: ArrayLike = 0.0,
    every: float | None = None,
    times: ArrayLike | None = None,
    outputs: object = "state",
    threads: int | None = None,
    on_error: str = "keep",
    controller: Controller | None = None,
    period: float | None = None,
    block: int = 256,
    start: str | None = None,
    coordinates: str = "joint",
    verify: bool = False,
    time_limit: float | None = None,
    progress: bool | Callable[[float], None] = False,
    **settings: Unpack[MethodSettings],
) -> Runs:
    """Simulate many runs, each as `simulate` would alone and to the same bits; return `Runs`.

    `q`, `v`, `z`, `tau`, `parameters` and `t0` may have leading sizes, which broadcast: `parameters={"load": masses}`
    with 1000 masses are 1000 runs, and `v={"A": speeds[:, None]}` with 20 speeds makes them 20 by 1000. Where there are
    loops, each run is assembled first. All other arguments are those of `simulate`.

    `outputs` is what is kept of each run: `"state"`, the states at all outputs; `"final"`, the state in which it ended;
    quantities by name, one or a list, as a trajectory has them ("tip", "A.force", "energy"); a function of the final
    state (`state.t`, `.q`, `.v`, `.z`) that returns numbers, or several by name; or a mapping from quantities to
    statistics over time: "min", "max", "time of min", "time of max", "mean", "rms", "final", "median", "quantile 0.95",
    one or a list. Then memory does not grow with the outputs. Means go by the trapezoidal rule over the outputs.

    A run that cannot start, or cannot go on, has a status and words in `runs.dataset`, and costs the others nothing;
    with `on_error="raise"` the first such run ends the call with its error.

    A `controller(t, q, v, z)` is called for `block` runs at once: it gets arrays (runs, n) of those that still go, and
    returns efforts (runs, nv), or by joint (runs). Equal bits are promised for controllers that treat all rows alike.

    >>> from whippletree.system.example_systems import pendulum
    >>> runs = simulate_many(pendulum(), 1.0, q={"hinge": [0.1, 0.2, 0.3]}, every=0.5)
    >>> len(runs), runs.dataset["q"].dims, runs[1].q[0]
    (3, ('run', 'time', 'coordinate'), array([0.2]))
    """
    values = CaseValues(system, q=q, v=v, z=z, tau=tau, parameters=parameters, t0=t0)
    options: dict[str, Any] = {
        **settings,
        "coordinates": coordinates,
        "verify": verify,
        "time_limit": None if time_limit is None else positive(time_limit, "time_limit"),
        "start": start,
        "every": every,
        "times": times,
    }
    if not isinstance(on_error, str) or on_error not in _ON_ERROR:
        raise StateError(f'on_error= must be "keep" or "raise", not {shown(on_error)}')
    options = {name: value for name, value in options.items() if value is not None}
    check_simulation(system, options)
    starts = np.broadcast_to(np.asarray(t0, dtype=np.float64), values.shape).ravel()
    if times is not None and np.unique(starts).size > 1:
        raise StateError("times= are the same for all runs, which begin at different t0: give every= instead")
    t = output_times(duration, every, times, finite(starts[0], "t0") if len(starts) else 0.0)
    kept = run_outputs(system, outputs, len(values), t)
    if controller is not None and np.unique(starts).size > 1:
        raise StateError("controller= is called at common sample times, and the runs begin at different t0")
    control: dict[str, Any] = {}
    if checked_period(controller, period) is not None and controller is not None:
        control = {"controller": of_one_run(controller), "period": period}
    if isinstance(block, bool) or not isinstance(block, int | np.integer) or block < 1:
        raise StateError(f"block= must be a whole number of runs, at least 1, not {shown(block)}")
    many = _ManyRuns(system, duration, values, options, kept, on_error == "raise", control)
    statuses = many.go(number_of_threads(threads), progress, controller, int(block))
    alike = not len(starts) or bool((starts == starts[0]).all())
    return Runs(system, values, t if alike else t - t[0], statuses, kept, many.again)


class _ManyRuns:
    """The runs of one call, on their way."""

    def __init__(
        self,
        system: System,
        duration: float,
        values: CaseValues,
        options: Mapping[str, Any],
        outputs: list[RunOutput],
        strict: bool,
        control: Mapping[str, Any],
    ) -> None:
        self._system, self._duration, self._values, self._options = system, duration, values, options
        self._outputs, self._strict, self._control = outputs, strict, control
        self._settings = {name: value for name, value in options.items() if name not in OF_SIMULATE}
        natural = options.get("formulation") == "natural" and options.get("method") is None
        self._apart = natural or options.get("coordinates") == "absolute"
        self._times: dict[float, Array] = {}
        self._statuses = RunStatuses(len(values))
        self._next, self._done = itertools.count(), 0
        self._stop = threading.Event()
        self._failed: tuple[int, WhippletreeError] | None = None
        self._lock = threading.Lock()

    def go(self, threads: int, progress: Any, controller: Controller | None = None, block: int = 1) -> RunStatuses:
        """Make all runs; after an interruption, those that were made by then."""
        tell, threads = _Progress(len(self._values), progress), max(min(threads, len(self._values)), 1)
        try:
            if controller is not None and not self._apart:
                for first in range(0, len(self._values), block):
                    if not self._stop.is_set():
                        numbers = range(first, min(first + block, len(self._values)))
                        self._make_block(controller, numbers, threads)
                        tell(self._done)
            elif threads == 1:
                self._work(tell)
            else:
                self._share(threads, tell)
        except KeyboardInterrupt:
            self._stop.set()
        finally:
            tell.finish(self._done)
        if self._failed is not None:
            raise self._failed[1]
        return self._statuses

    def _share(self, threads: int, tell: Callable[[int], None]) -> None:
        """Let several threads make the runs."""
        with ThreadPoolExecutor(threads) as pool:
            workers = [pool.submit(self._work) for _ in range(threads)]
            try:
                while not all(one.done() for one in workers):
                    tell(self._done)
                    wait(workers, timeout=_BETWEEN)
            except KeyboardInterrupt:
                self._stop.set()
            for one in workers:
                one.result()
        tell(self._done)

    def _work(self, tell: Callable[[int], None] | None = None) -> None:
        """Make one run after another until there is none left."""
        for number in self._next:
            if number >= len(self._values) or self._stop.is_set():
                return
            if number % _AHEAD == 0:
                ahead = range(number, min(number + _AHEAD, len(self._values)))
                self._system.kernels.inputs.foresee(self._values.parameter_rows(ahead))
            self._keep(number, partial(self._one, number))
            if tell is not None:
                tell(self._done)

    def _keep(self, number: int, make: Callable[[], Trajectory]) -> None:
        """Make a run, and keep the outputs asked for."""
        run: Trajectory | None = None
        error: WhippletreeError | None = None
        try:
            run = make()
        except WhippletreeError as failure:
            run, error = getattr(failure, "trajectory", None), failure
        if run is not None:
            try:
                made = self._made(number, run)
                for one in self._outputs:
                    one.take(number, run, made)
            except WhippletreeError as failure:
                error = error or failure
        if run is not None and run.certificate.stopped == "interrupted":
            self._stop.set()
        self._statuses.put(number, run, error)
        self._done += 1
        if error is not None and self._strict:
            with self._lock:
                if self._failed is None or number < self._failed[0]:
                    self._failed = number, error
            self._stop.set()

    def again(self, number: int) -> Trajectory:
        """Make one run by itself."""
        return simulate(self._system, self._duration, **{**self._options, **self._values.of(number)}, **self._control)

    def _one(self, number: int) -> Trajectory:
        """Make one run, unless the call is interrupted."""
        if self._apart:
            given = {**self._options, **self._values.of(number), **self._control}
            return simulate(self._system, self._duration, progress=self._look, **given)
        run, options = self._begun(number)
        watch = ProgressMonitor(run.start, float(run.until[-1]), time_limit=self._options.get("time_limit"))
        trajectory = followed(
            run, lambda t: watch(t) or self._stop.is_set(), None, self._verified(run, options), at_once=True
        )
        give_back(run.simulation, options)
        return trajectory

    def _begun(self, number: int, controller: Controller | None = None) -> tuple[SampledRun, dict[str, Any]]:
        """Return a run at its start, and the options of its simulation."""
        given = self._values.of(number)
        options = {**self._settings, "t": given.pop("t0", 0.0), **given}
        period = None if controller is None else self._control["period"]
        start, verify = self._options.get("start"), bool(self._options.get("verify"))
        return begun(self._system, self._until(options["t"]), options, start, controller, period, verify=verify)

    def _verified(self, run: SampledRun, options: dict[str, Any]) -> Callable[[], Agreement] | None:
        """Return a function that makes the further runs of one, if they are asked for."""
        return further_runs_of(run, options, self._control.get("controller")) if self._options.get("verify") else None

    def _make_block(self, controller: Controller, numbers: range, threads: int) -> None:
        """Make the runs of a block, whose controller is asked for all of them at once."""
        began = time.perf_counter()
        places, ready = [], []
        for number in numbers:
            place = HeldEfforts()
            try:
                ready.append((number, *self._begun(number, place)))
                places.append(place)
            except WhippletreeError as error:
                self._keep(number, _raiser(error))
        limit = self._options.get("time_limit")
        runs = [run for _, run, _ in ready]
        failures: list[SimulationError | ResultError | None] = []
        if ready:
            failures = march_block(controller, runs, places, threads, self._stop.is_set, limit)
        wall = (time.perf_counter() - began) / max(len(ready), 1)
        for (number, run, options), failure in zip(ready, failures, strict=True):
            self._keep(number, partial(made_of, run, failure, wall, self._verified(run, options), at_once=True))
            if failure is None:
                give_back(run.simulation, options)

    def _until(self, t0: float) -> Array:
        """Return the times of the outputs of a run that starts at a time."""
        found = self._times.get(t0)
        if found is None:
            found = output_times(self._duration, self._options.get("every"), self._options.get("times"), t0)
            self._times = {t0: found}
        return found

    def _made(self, number: int, run: Trajectory) -> int:
        """Return how many of its outputs a run has made; one that ended early has one more state, at its end."""
        t0 = self._values.of(number).get("t0", 0.0)
        until = self._until(t0)
        last = min(len(run.t), len(until)) - 1
        return last + int(abs(run.t[last] - until[last]) <= _MET * abs(until[-1] - t0))

    def _look(self, share: float) -> None:
        """Let a run stop if the call was interrupted."""
        if self._stop.is_set():
            raise KeyboardInterrupt


class _Progress:
    """Tells how many runs are done."""

    def __init__(self, count: int, progress: Any) -> None:
        self._monitor = ProgressMonitor(0.0, float(max(count, 1)), progress)

        self._count = count

    def __call__(self, done: int) -> None:
        self._monitor(float(done))

    def finish(self, done: int) -> None:
        """Tell that all runs are done, if they are, and leave the line of the bar."""
        if done == self._count:
            self._monitor.finish(float(done))
        self._monitor.leave_line()


def _raiser(error: WhippletreeError) -> Callable[[], Trajectory]:
    """Return a function that raises an error."""

    def make() -> Trajectory:
        raise error

    return make
