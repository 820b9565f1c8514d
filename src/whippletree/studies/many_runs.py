"""Many runs in one call: each by itself, shared among threads, with the bits that it has alone."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError, WhippletreeError
from whippletree.foundation.user_frames import user_facing
from whippletree.results.trajectory import Trajectory
from whippletree.simulate.controllers import Controller
from whippletree.simulate.event_handling import OnEvent
from whippletree.simulate.run_arguments import finite
from whippletree.spatial.scalars import shown
from whippletree.studies.case_values import CaseValues
from whippletree.studies.run_outputs import RunOutput, run_outputs
from whippletree.studies.runs import Runs, RunStatuses
from whippletree.studies.simulations import check_simulation, output_times, simulate
from whippletree.system import System
from whippletree.system.calls import number_of_threads
from whippletree.system.evaluator import JointValues, ParameterValues

__all__ = ["simulate_many"]

_ON_ERROR = ("keep", "raise")
_MET = 1e-9  # share of a run by which an output may miss its time: runs in natural coordinates count steps
_BETWEEN = 0.05  # seconds between looks at the threads, at which progress is told


@user_facing
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
    method: str = "dopri5",
    step: float | None = None,
    tolerance: float = 1e-8,
    adaptive: bool | None = None,
    spectral_radius: float | None = None,
    max_step: float | None = None,
    formulation: str = "auto",
    baumgarte: object = None,
    coordinates: str = "joint",
    on_event: OnEvent = None,
    verify: bool = False,
    time_limit: float | None = None,
    progress: bool | Callable[[float], None] = False,
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
        "method": method,
        "step": step,
        "tolerance": tolerance,
        "adaptive": adaptive,
        "spectral_radius": spectral_radius,
        "max_step": max_step,
        "formulation": formulation,
        "baumgarte": baumgarte,
        "coordinates": coordinates,
        "on_event": on_event,
        "verify": verify,
        "time_limit": time_limit,
        "start": start,
        "every": every,
        "times": times,
    }
    if controller is not None:
        raise StateError("controller= of many runs is not there yet")
    if not isinstance(on_error, str) or on_error not in _ON_ERROR:
        raise StateError(f'on_error= must be "keep" or "raise", not {shown(on_error)}')
    options = {name: value for name, value in options.items() if value is not None}
    check_simulation(system, options)
    starts = np.broadcast_to(np.asarray(t0, dtype=np.float64), values.shape).ravel()
    if times is not None and np.unique(starts).size > 1:
        raise StateError("times= are the same for all runs, which begin at different t0: give every= instead")
    t = output_times(duration, every, times, finite(starts[0], "t0") if len(starts) else 0.0)
    kept = run_outputs(system, outputs, len(values), t)
    many = _ManyRuns(system, duration, values, options, kept, on_error == "raise")
    statuses = many.go(number_of_threads(threads), progress)
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
    ) -> None:
        self._system, self._duration, self._values, self._options = system, duration, values, options
        self._outputs, self._strict = outputs, strict
        self._statuses = RunStatuses(len(values))
        self._next, self._done = itertools.count(), 0
        self._stop = threading.Event()
        self._failed: tuple[int, WhippletreeError] | None = None
        self._lock = threading.Lock()

    def go(self, threads: int, progress: Any) -> RunStatuses:
        """Make all runs; after an interruption, those that were made by then."""
        tell = _Progress(len(self._values), progress)
        if threads == 1 or len(self._values) == 1:
            self._work(tell)
        else:
            with ThreadPoolExecutor(min(threads, len(self._values))) as pool:
                workers = [pool.submit(self._work) for _ in range(min(threads, len(self._values)))]
                try:
                    while not all(one.done() for one in workers):
                        tell(self._done)
                        time.sleep(_BETWEEN)
                except KeyboardInterrupt:
                    self._stop.set()
                for one in workers:
                    one.result()
        tell(self._done, last=True)
        if self._failed is not None:
            raise self._failed[1]
        return self._statuses

    def _work(self, tell: Callable[[int], None] | None = None) -> None:
        """Make one run after another until there is none left."""
        for number in self._next:
            if number >= len(self._values) or self._stop.is_set():
                return
            self._make(number)
            self._done += 1
            if tell is not None:
                tell(self._done)

    def _make(self, number: int) -> None:
        """Make a run, and keep what is asked for."""
        run: Trajectory | None = None
        error: WhippletreeError | None = None
        try:
            run = self.again(number, self._look)
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
        if error is not None and self._strict:
            with self._lock:
                if self._failed is None or number < self._failed[0]:
                    self._failed = number, error
            self._stop.set()

    def again(self, number: int, progress: Any = False) -> Trajectory:
        """Make one run by itself."""
        return simulate(self._system, self._duration, progress=progress, **{**self._options, **self._values.of(number)})

    def _made(self, number: int, run: Trajectory) -> int:
        """Return how many of its outputs a run has made; one that ended early has one more state, at its end."""
        t0 = self._values.of(number).get("t0", 0.0)
        until = output_times(self._duration, self._options.get("every"), self._options.get("times"), t0)
        last = min(len(run.t), len(until)) - 1
        return last + int(abs(run.t[last] - until[last]) <= _MET * abs(until[-1] - t0))

    def _look(self, share: float) -> None:
        """Let a run stop if the call was interrupted."""
        if self._stop.is_set():
            raise KeyboardInterrupt


class _Progress:
    """Tells how many runs are done."""

    def __init__(self, count: int, progress: Any) -> None:
        from whippletree.simulate.progress import ProgressMonitor

        self._monitor = ProgressMonitor(0.0, float(max(count, 1)), progress)

    def __call__(self, done: int, last: bool = False) -> None:
        self._monitor(float(done))
