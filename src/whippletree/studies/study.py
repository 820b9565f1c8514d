"""A study: one call for each of many cases, on threads, processes or a cluster, into a store that survives them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whippletree.errors import ResultError, StateError
from whippletree.foundation.arrays import AnyArray, Indices
from whippletree.foundation.late_imports import Verb
from whippletree.foundation.user_frames import user_facing
from whippletree.model import Mechanism
from whippletree.model.io import Model
from whippletree.model.names import quoted, suggestion
from whippletree.results.output_files import as_path
from whippletree.simulate.run_arguments import positive
from whippletree.spatial.scalars import shown
from whippletree.studies.case_calls import CALLS, arguments_of, start_of
from whippletree.studies.case_tables import Case, CaseTable, split_values
from whippletree.studies.study_executors import Dispatch, WorkersLostError, workers_for
from whippletree.studies.study_identities import check_same, identity_of
from whippletree.studies.study_progress import ProgressLine, StudyProgress
from whippletree.studies.study_stores import (
    FAILED,
    MISSING,
    ChunkLayout,
    Outcome,
    StudyStore,
    Variable,
    joined,
    shown_place,
)
from whippletree.studies.study_tasks import Job, JobContents, Pilot, here, pilot, run_cases, run_chunk
from whippletree.system import System

if TYPE_CHECKING:
    import xarray as xr

    import whippletree.studies.study_looks
    import whippletree.studies.study_reports
    from whippletree.results import Trajectory

__all__ = ["Failure", "Study", "StudyCase", "StudyStatus"]

_SECONDS = 1.0
"""Work of a chunk, in seconds."""

_MOST_BYTES, _MOST_CASES = 64e6, 100_000
"""Largest size of a chunk, in bytes of numbers and in cases."""

_PER_WORKER, _LEAST_SECONDS = 4, 0.05
"""Chunks that each worker has at least, unless they would be less work than that: to write one takes milliseconds."""

_LOOKED_AT = 256
"""Cases, evenly spread, among which the first look chooses."""

_TRIED = 5
"""Cases that are tried one by one if workers are lost with several."""

_SIMULATE = "simulate"

_ELSEWHERE = {
    "outputs": "keep= says what is kept of each case",
    "threads": "run(executor=...) says where cases are computed",
    "progress": "run(progress=...) tells how far it is",
    "on_error": "a case that fails has status and words, and costs the others nothing",
}
"""Options of `simulate_many` that a study says otherwise."""


class StudyStatus(NamedTuple):
    """How many cases a study has, and how many of them are done, failed among these, or missing.

    >>> print(StudyStatus(10, 8, 1, 2, 1))
    8 of 10 cases done, 1 of them failed, 2 missing
    """

    cases: int
    done: int
    failed: int
    missing: int
    attempts: int

    def __str__(self) -> str:
        failed = f", {self.failed} of them failed" if self.failed else ""
        missing = f", {self.missing} missing" if self.missing else ""
        tried = f"; some were tried {self.attempts} times" if self.attempts > 1 else ""
        return f"{self.done} of {self.cases} cases done{failed}{missing}{tried}"


@dataclass(frozen=True)
class Failure:
    """A case that failed: its number, its values, and why.

    >>> Failure(17, {"mass": 2.0}, "the motion blows up").index
    17
    """

    index: int
    values: dict[str, Any]
    words: str


@user_facing
class StudyCase(Case):
    """A case of a study, to be computed by hand: `study.case(17).simulate()`.

    >>> from whippletree.system.example_systems import quarter_car
    >>> case = Study(quarter_car(), {"t0": [0.0, 1.0]}, duration=1.0).case(1)
    >>> case["t0"], case.simulate(every=0.5).t
    (np.float64(1.0), array([1. , 1.5, 2. ]))
    """

    __slots__ = ("_job", "system")

    def __init__(self, job: Job, values: Mapping[str, Any], index: int) -> None:
        self._job = job
        super().__init__(values, index, job.contents.seed)
        self.system = job.system(self)
        names = {one.name for one in self.system.description.parameters}
        self._parameters = [name for name in values if name in names]

    def simulate(self, **options: object) -> Trajectory:
        """Return the trajectory of this case, with the study's options except for those given here."""
        contents = self._job.contents
        own = contents.options if contents.do == _SIMULATE else {}
        whole = {**start_of(contents.model, self.system), **own}
        given: dict[str, Any] = {
            **arguments_of(self.system, _SIMULATE, self, whole, variants=self._job.variants),
            **options,
        }
        if "t0" in given:
            given["t0"] = float(given["t0"])
        duration = given.pop("duration", None)
        if duration is None:
            raise StateError("simulate() of this case needs duration=, which the study does not say")
        return self.system.simulate(duration, **given)

    def run(self) -> dict[str, AnyArray]:
        """Compute this case again as the study does, and return its numbers by name."""
        rows = {name: np.asarray(value)[None] for name, value in self.items()}
        outcome = run_cases(self._job, rows, np.array([self.index]), None)
        if outcome.status[0] >= FAILED:
            raise ResultError(f"case {self.index} fails: {outcome.words[0]}")
        return {name: values[0] for name, values in outcome.values.items()}


@user_facing
class Study:
    """One call for each of many cases: `study = wt.Study(system, cases, duration=2.0)`, then `study.run()`.

    `model` is a `System`, a `Mechanism` or what `wt.read` returns; for variants of structure, a function of a case that
    returns one of these. `cases` is an `xarray.Dataset`, a mapping of arrays or what `wt.cases` makes: variables are
    parameters of the mechanism, or "q", "v", "z", "tau", "t0"; those that share a dimension vary together, and
    dimensions multiply. `do` is "simulate", "equilibrium", "linearize", "sweep_joint" or "reactions", with the options
    of that call of a system, or a function `f(system, case)` that returns numbers, several by name, or a dataset.

    `keep` says what is kept: of simulations what `outputs=` of `simulate_many` says, of other calls names of results.
    With `store`, a path, results go there (Zarr), and `resume` goes on if the program, a worker or a cluster is killed;
    else they are in memory. `seed` is what the seeds of cases derive from; `time_limit` is for one case, in seconds,
    `memory_limit` for a worker process, in bytes.

    >>> from whippletree.system.example_systems import quarter_car
    >>> study = Study(quarter_car(), {"v": [[0.1, 0.0], [0.2, 0.0]]}, duration=0.5, keep={"chassis travel": "max"})
    >>> study, study.case(1)
    (Study: simulate of 2 cases, Case 1: v = [0.2 0. ])
    """

    def __init__(
        self,
        model: Any,
        cases: object,
        do: str | Callable[..., Any] = _SIMULATE,
        *,
        keep: object = None,
        store: object = None,
        seed: int = 0,
        time_limit: float | None = None,
        memory_limit: float | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(model, Mechanism | Model | System) and not callable(model):
            raise StateError(
                f"a study is of a System, a Mechanism, a Model or a function of a case that makes one, not "
                f"{shown(model)}"
            )
        if not callable(do) and do not in (_SIMULATE, *CALLS):
            raise StateError(
                f"do= must be a function, or the name of a call; there is no {suggestion(do, (_SIMULATE, *CALLS))}"
            )
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise StateError(f"seed= must be a whole number, 0 or more, not {shown(seed)}")
        self._table = CaseTable(cases)
        if isinstance(model, Model) and do == _SIMULATE:
            options = {**{name: one for name, one in model.run.items() if name != "outputs"}, **options}
        _check_options(do, options, self._table)
        limits = [
            None if one is None else positive(one, name)
            for one, name in ((time_limit, "time_limit"), (memory_limit, "memory_limit"))
        ]
        self._contents = JobContents(model, do, keep, dict(options), int(seed), limits[0], limits[1], here())
        self._job = Job(self._contents)
        self._place = _place(store)
        self._store: StudyStore | None = None
        self._identity = identity_of(model, self._table.fingerprint, do, keep, options, int(seed))

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        do = self._contents.do
        return f"Study: {do if isinstance(do, str) else getattr(do, '__name__', 'a function')} of {len(self)} cases"

    @property
    def cases(self) -> xr.Dataset:
        """The cases."""
        return self._table.dataset

    @property
    def store(self) -> str | None:
        """Where results go: a path or an address; None if they are in memory."""
        return None if self._place is None else shown_place(self._place)

    @property
    def begun(self) -> bool:
        """Whether there are results already, or a store for them."""
        return self._store is not None or (self._place is not None and StudyStore.open(self._place) is not None)

    # ------------------------------------------------------------------ running

    def run(self, executor: Any = None, progress: bool | Callable[[StudyProgress], object] = True) -> xr.Dataset:
        """Compute all cases and return `dataset()`; after Ctrl-C, with those that are done.

        `executor` is nothing, for threads of this process; a number of worker processes; an executor of
        `concurrent.futures`; a function that returns one, which is asked for a fresh one if workers are lost; or a
        Dask client. Kernels let go of the interpreter's lock; functions of yours and variants of structure hold it, and
        take processes to share the work. A store that exists is not touched: `resume` goes on with it.
        """
        found = None if self._place is None else StudyStore.open(self._place)
        if found is not None:
            check_same(found.identity, self._identity, shown_place(self._place))
            raise StateError(
                f"the store {shown_place(self._place)} is there already: study.resume() goes on with it; for a new "
                f"beginning, remove it or name another store="
            )
        self._store = None
        return self._computed(executor, progress)

    def resume(self, executor: Any = None, progress: bool | Callable[[StudyProgress], object] = True) -> xr.Dataset:
        """Compute the cases that are missing, and return `dataset()`; the result has the bits of an undisturbed run."""
        self._opened()
        return self._computed(executor, progress)

    def _computed(self, executor: Any, progress: bool | Callable[[StudyProgress], object]) -> xr.Dataset:
        """Compute the missing cases."""
        workers = workers_for(executor)
        self._job = Job(self._contents, workers.by_value)
        try:
            with Dispatch(workers) as dispatch:
                if self._store is None:
                    self._store = self._made(dispatch)
                store, status = self._store, self._store.status()
                line = ProgressLine(len(self), int((status != MISSING).sum()), int((status >= FAILED).sum()), progress)
                try:
                    dispatch.all(store.undone(status), _Tasks(self._job, self._table, store, workers.inside, line))
                finally:
                    line.close()
        except KeyboardInterrupt:
            if self._store is None:
                raise
        return self.dataset()

    def _made(self, dispatch: Dispatch) -> StudyStore:
        """Look at the first cases, and make a store in which nothing is done yet."""
        indices = np.unique(np.linspace(0, len(self) - 1, min(_LOOKED_AT, len(self))).astype(np.int64))
        found = self._looked_at(dispatch, indices)
        self._table.check_apart({**found.variables, **found.labels})
        size = sum(16 * int(np.prod(one.shape)) for one in found.variables.values()) + 1
        rate = 1.0 / max(found.seconds, 1e-9)
        share = max(len(self) / (_PER_WORKER * dispatch.count), _LEAST_SECONDS * rate)
        most = min(_SECONDS * rate, _MOST_BYTES / size, _MOST_CASES, share)
        layout = ChunkLayout.of(self._table.shape, max(1, int(most)))
        return StudyStore.create(self._place, self._table, found.variables, found.labels, layout, self._identity)

    def _looked_at(self, dispatch: Dispatch, indices: Indices) -> Pilot:
        """Return the results of some cases; if they end their worker, of the first one that does not."""
        with contextlib.suppress(WorkersLostError):
            together: Pilot = dispatch.call(pilot, self._job, self._table.at(indices), indices, len(self), tries=1)
            return together
        lost = None
        for k in indices[:_TRIED]:
            try:
                one = np.array([k])
                alone: Pilot = dispatch.call(pilot, self._job, self._table.at(one), one, 1, tries=2)
                return alone
            except (WorkersLostError, StateError) as error:
                lost = lost or error
        raise StateError(f"none of {len(indices[:_TRIED])} cases succeeded; case {indices[0]}: {lost}") from lost

    # ------------------------------------------------------------------ looking

    def _opened(self, *, writing: bool = True) -> StudyStore:
        """Return the store, which is of this study."""
        if self._store is None:
            found = None if self._place is None else StudyStore.open(self._place, writing=writing)
            if found is None:
                raise StateError("nothing is computed yet: study.run() does that")
            check_same(found.identity, self._identity, shown_place(self._place))
            self._store = found
        return self._store

    def status(self) -> StudyStatus:
        """Return how many cases are done, failed and missing."""
        store = self._opened()
        status, attempts = store.status(), store.attempts()
        missing = int((status == MISSING).sum())
        failed = int((status >= FAILED).sum())
        return StudyStatus(len(self), len(self) - missing, failed, missing, int(attempts.max(initial=0)))

    def dataset(self) -> xr.Dataset:
        """Return cases and results as one dataset; numbers are read from the store when they are looked at.

        `status` is 0 for a case that is done, 1 if an event ended it, 2 and more if it failed, -1 if it is missing;
        `words` say why, `attempts` how often it was tried.
        """
        return self._opened().dataset()

    def failures(self) -> list[Failure]:
        """Return the cases that failed, with their values and the reasons."""
        store = self._opened()
        indices = np.flatnonzero(store.status() >= FAILED)
        rows, words = self._table.at(indices), store.words_of(indices)
        return [Failure(int(n), split_values(rows, k), words[k]) for k, n in enumerate(indices)]

    def values(self) -> dict[str, AnyArray]:
        """Return the variables of all cases, in the order of their numbers."""
        return self._table.rows(0, len(self))

    plot = Verb(lambda: whippletree.studies.study_looks.plot)
    worst = Verb(lambda: whippletree.studies.study_looks.worst)
    sobol_indices = Verb(lambda: whippletree.studies.study_looks.sobol_indices)
    tolerance_stack = Verb(lambda: whippletree.studies.study_looks.tolerance_stack)
    report = Verb(lambda: whippletree.studies.study_reports.report)

    def case(self, index: int) -> StudyCase:
        """Return one case by its number, to be computed by hand."""
        if isinstance(index, bool) or not isinstance(index, int | np.integer) or not -len(self) <= index < len(self):
            raise StateError(f"there is no case {shown(index)}: the study has {len(self)}")
        number = int(index) % len(self)
        return StudyCase(self._job, split_values(self._table.at(np.array([number])), 0), number)


class _Tasks:
    """The chunks of a study as tasks."""

    def __init__(self, job: Job, table: CaseTable, store: StudyStore, inside: bool, line: ProgressLine) -> None:
        self._job, self._table, self._store, self._line = job, table, store, line
        travels = isinstance(store.place, str)
        self._place: Any = store if inside else (store.place, store.identity["mark"]) if travels else None
        self._variables: dict[str, Variable] = store.variables

    def call_for(self, chunk: int) -> tuple[Any, ...]:
        one = self._store.layout[chunk]
        return run_chunk, self._job, self._place, one, self._table.rows(one.start, one.stop), self._variables

    def call_for_case(self, chunk: int, case: int) -> tuple[Any, ...]:
        index = self._store.layout[chunk].start + case
        return run_cases, self._job, self._table.rows(index, index + 1), np.array([index]), self._variables

    def cases(self, chunk: int) -> int:
        one = self._store.layout[chunk]
        return one.stop - one.start

    def take(self, chunk: int, result: Outcome | int) -> None:
        if isinstance(result, Outcome):
            self._store.begin(self._store.layout[chunk])
            self._store.write(self._store.layout[chunk], result)
            result = result.failed
        self._line.add(self.cases(chunk), result)

    def put_together(self, chunk: int, outcomes: list[Outcome]) -> None:
        self.take(chunk, joined(outcomes, {name: one.shape for name, one in self._variables.items()}))


def _check_options(do: str | Callable[..., Any], options: Mapping[str, Any], table: CaseTable) -> None:
    """Refuse options that the study itself has, or that cases say too."""
    if callable(do):
        return
    if do == _SIMULATE:
        for name, instead in _ELSEWHERE.items():
            if name in options:
                raise StateError(f"{name}= is no option of a study: {instead}")
        if options.get("duration") is None:
            raise StateError('do="simulate" needs duration=, in seconds')
    parameters = options.get("parameters")
    given = {*options, *(parameters if isinstance(parameters, Mapping) else ())}
    twice = [name for name in table.dataset.variables if name in given]
    if twice:
        raise StateError(f"{quoted(twice[0])} is a variable of the cases, and given for all of them: leave one out")


def _place(store: Any) -> Any:
    """Return where a store is: an absolute path or an address as text, or a store of Zarr; None for memory."""
    if store is None or not isinstance(store, str | os.PathLike):
        return store
    return store if isinstance(store, str) and "://" in store else str(as_path(store).absolute())
