"""The work of a study: the computation of a chunk of cases, in whichever process and on whichever machine.

A task is a function of plain data. The job, which is the same for all tasks, travels as bytes and is unpacked once per
process; the system is built there from its description, and kernels are compiled where they run.
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from whippletree.errors import ResultError, StateError, WhippletreeError
from whippletree.foundation.arrays import AnyArray
from whippletree.kernels.threads import limit_threads
from whippletree.model import Mechanism
from whippletree.model.io import Model
from whippletree.spatial.scalars import shown
from whippletree.studies.case_calls import CaseColumns, Found, one_result, simulated, start_of, variables_of
from whippletree.studies.case_limits import limited
from whippletree.studies.case_tables import Case, split_values
from whippletree.studies.study_stores import FAILED, Chunk, Outcome, StudyStore, Variable, joined
from whippletree.system import System

__all__ = ["Job", "JobContents", "Pilot", "here", "pilot", "run_cases", "run_chunk"]

_LONG_ENOUGH = 0.02
"""Seconds of work by which the time of a case is judged."""

_LOOKED_AT = 64
"""A first look costs at most so small a share of the study, one case at least."""

_TRIED = 20
"""Cases that are tried in search of one that succeeds."""


def here() -> str:
    """Return a text that tells this process from all others."""
    return f"{socket.gethostname()}:{os.getpid()}"


class JobContents(NamedTuple):
    """The computation of each case of a study: the same for all tasks."""

    model: Any
    do: str | Callable[..., Any]
    keep: Any
    options: dict[str, Any]
    seed: int
    time_limit: float | None
    memory_limit: float | None
    home: str


class Job:
    """A job that travels as bytes, and is unpacked once per process.

    >>> job = Job(JobContents(None, "simulate", None, {}, 0, None, None, here()))
    >>> pickle.loads(pickle.dumps(job)).contents.do
    'simulate'
    """

    def __init__(self, contents: JobContents, by_value: bool = False, packed: bytes = b"") -> None:
        self.contents, self._by_value, self._packed = contents, by_value, packed
        self._token = uuid.uuid4().hex
        self._system: System | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[object, ...]:
        if not self._packed:
            self._packed = _pack(self.contents, self._by_value)
        return _unpacked, (self._token, self._packed)

    def system(self, case: Case) -> System:
        """Return the system of a case, which is built once, unless the model is a function of the case."""
        model = self.contents.model
        if isinstance(model, Mechanism | Model | System):
            with self._lock:
                if self._system is None:
                    self._system = model if isinstance(model, System) else model.build()
            return self._system
        made = model(case)
        if not isinstance(made, Mechanism | Model | System):
            raise StateError(
                f"the function that makes models must return a Mechanism, a Model or a System, not {shown(made)}"
            )
        return made if isinstance(made, System) else made.build()

    @property
    def variants(self) -> bool:
        """Tell whether each case has a model of its own."""
        return not isinstance(self.contents.model, Mechanism | Model | System)


def run_chunk(
    job: Job,
    place: Any,
    chunk: Chunk,
    rows: Mapping[str, AnyArray],
    template: Mapping[str, Variable],
) -> Outcome | int:
    """Compute a chunk, write it into the store, and return how many cases failed; return it all if the store is far.

    `place` is the store itself where it is in this process, else its path and its mark, which tells it from another
    one of the same name; or nothing.
    """
    _keep_to_one_thread(job)
    store = _reached(place)
    if store is not None:
        store.begin(chunk)
    outcome, _ = _computed(job, rows, np.arange(chunk.start, chunk.stop), template)
    if store is None:
        return outcome
    store.write(chunk, outcome)
    return outcome.failed


def run_cases(
    job: Job, rows: Mapping[str, AnyArray], indices: AnyArray, template: Mapping[str, Variable] | None
) -> Outcome:
    """Compute some cases and return their outcome."""
    _keep_to_one_thread(job)
    return _computed(job, rows, indices, template)[0]


class Pilot(NamedTuple):
    """The result of a first look at the cases: their outputs, labels along these, and seconds for each case."""

    variables: dict[str, Variable]
    labels: Found
    seconds: float


def pilot(job: Job, rows: Mapping[str, AnyArray], indices: AnyArray, of: int) -> Pilot:
    """Compute a few cases of so many to see their outputs and how long one takes."""
    words: list[str] = []
    for k in range(min(len(indices), _TRIED)):
        one = {name: values[k : k + 1] for name, values in rows.items()}
        outcome, found = _computed(job, one, indices[k : k + 1], None)
        if outcome.status[0] < FAILED:
            break
        words.append(f"case {indices[k]}: {outcome.words[0]}")
    else:
        said = f"none of {len(words)} cases succeeded" if len(words) > 1 else "the case failed"
        raise StateError(f"{said}; {words[0]}")
    variables = {name: one._replace(shape=one.shape[1:]) for name, one in variables_of(found).items()}
    labels = {name: one for name, one in found.items() if one.label}
    n, most = 1, max(1, min(len(indices), of // _LOOKED_AT))
    while True:  # what was compiled for the first case is not counted
        several = {name: values[:n] for name, values in rows.items()}
        began = time.perf_counter()
        _computed(job, several, indices[:n], variables)
        seconds = time.perf_counter() - began
        if seconds > _LONG_ENOUGH or n >= most:
            return Pilot(variables, labels, seconds / n)
        n = min(most, 4 * n)


# ---------------------------------------------------------------------- cases


def _computed(
    job: Job, rows: Mapping[str, AnyArray], indices: AnyArray, template: Mapping[str, Variable] | None
) -> tuple[Outcome, Found]:
    """Compute cases, given their values and their numbers; return their outcome and their outputs."""
    _check_limits(job.contents)
    if job.contents.do == "simulate" and not job.variants:
        return _simulated(job, rows, indices)
    count, seed, variants = len(indices), job.contents.seed, job.variants
    system = None if variants else job.system(Case({}, 0))
    names = {one.name for one in system.description.parameters} if system is not None else ()
    own = [name for name in rows if name in names]
    columns = CaseColumns(count, template)
    status, words = np.zeros(count, dtype=np.int8), [""] * count
    for k, index in enumerate(indices.tolist()):
        try:
            case = Case(split_values(rows, k), index, seed, own)
            words[k] = columns.put(k, _one(job, job.system(case) if system is None else system, case))
        except (Exception, SystemExit) as error:  # whatever it is, it costs this case only
            words[k] = _in_words(error)
        if words[k]:
            status[k] = FAILED
    values = {name: one.values for name, one in columns.found.items() if not one.label}
    return Outcome(values, status, words), columns.found


def _in_words(error: BaseException) -> str:
    """Return the text of an error; one that is not of the package with its type."""
    said = str(error) if isinstance(error, WhippletreeError) else ""
    return said or f"{type(error).__name__}: {error}"


def _one(job: Job, system: System, case: Case) -> Found:
    """Compute one case within its limits."""
    contents, variants = job.contents, job.variants
    if contents.do == "simulate":  # of a model of its own
        one = {name: np.asarray(value)[None] for name, value in case.items()}
        found, status, words = simulated(
            system, one, 1, contents.keep, _run_options(contents, system), variants=variants
        )
        if status[0] >= FAILED:
            raise StateError(words[0])
        return {name: each if each.label else each._replace(values=each.values[0]) for name, each in found.items()}
    given = system, contents.do, case, contents.keep, contents.options
    if contents.time_limit is contents.memory_limit is None:
        return one_result(*given, variants=variants)
    with limited(contents.time_limit, contents.memory_limit):
        return one_result(*given, variants=variants)


def _simulated(job: Job, rows: Mapping[str, AnyArray], indices: AnyArray) -> tuple[Outcome, Found]:
    """Simulate cases in one call; if the call as a whole fails, each of them by itself."""
    contents = job.contents
    try:
        with limited(None, contents.memory_limit):
            system = job.system(Case({}, 0))
            found, status, words = simulated(system, rows, len(indices), contents.keep, _run_options(contents, system))
    except Exception as error:  # whatever it is, it costs one case only
        if len(indices) == 1:
            return Outcome({}, np.full(1, FAILED, dtype=np.int8), [_in_words(error)]), {}
        return _joined(
            [
                _simulated(job, {name: own[k : k + 1] for name, own in rows.items()}, indices[k : k + 1])
                for k in range(len(indices))
            ]
        )
    values = {name: one.values for name, one in found.items() if not one.label}
    return Outcome(values, status, words), found


def _joined(parts: list[tuple[Outcome, Found]]) -> tuple[Outcome, Found]:
    """Return cases that were computed one by one as if they had been computed together."""
    found = next((one for _, one in parts if one), {})
    outcomes = [outcome for outcome, _ in parts]
    return joined(outcomes, {name: one.shape[1:] for name, one in variables_of(found).items()}), found


def _run_options(contents: JobContents, system: System) -> dict[str, Any]:
    """Return the options of runs, their start and their limit of time included."""
    limit = {} if contents.time_limit is None else {"time_limit": contents.time_limit}
    return {**start_of(contents.model, system), **contents.options, **limit}


def _check_limits(contents: JobContents) -> None:
    """Refuse limits that cannot be kept in the process of the user's program."""
    if contents.home != here():
        return
    if contents.memory_limit is not None:
        raise StateError(
            "memory_limit= acts in processes only: threads share the memory of this one; run(executor=2) takes two "
            "worker processes"
        )
    if contents.time_limit is not None and contents.do != "simulate":
        what = "a function of yours" if callable(contents.do) else f'do="{contents.do}"'
        raise StateError(
            f"time_limit= stops {what} in processes only: threads cannot be stopped; run(executor=2) takes two worker "
            f"processes"
        )


# ---------------------------------------------------------------------- how jobs and stores get there


def _pack(contents: JobContents, by_value: bool) -> bytes:
    """Return a job as bytes; functions that workers cannot import travel by value, if cloudpickle is there."""
    try:
        if not by_value:
            return pickle.dumps(contents)
    except Exception as error:  # whatever a user's object raises, pickle cannot have it
        refused: Exception = error
    else:
        refused = StateError("it is defined in the program itself")
    try:
        import cloudpickle

        return bytes(cloudpickle.dumps(contents))
    except Exception as error:
        why = refused if isinstance(error, ImportError) else error
        raise StateError(
            f"the study cannot be sent to another process ({why}): define functions at the top of a module that can "
            f"be imported, or install cloudpickle"
        ) from None


@lru_cache(maxsize=4)
def _unpacked(token: str, packed: bytes) -> Job:
    """Return the job of some bytes, the same one for all tasks in this process."""
    return Job(pickle.loads(packed), packed=packed)


@lru_cache(maxsize=4)
def _opened(place: str, mark: str) -> StudyStore | None:
    try:
        store = StudyStore.open(place)
    except ResultError:
        return None
    return store if store is not None and store.identity.get("mark") == mark else None


def _reached(place: Any) -> StudyStore | None:
    """Return the study's store as seen from here, or None if it cannot be reached."""
    if place is None or isinstance(place, StudyStore):
        return place
    return _opened(*place)


def _keep_to_one_thread(job: Job) -> None:
    """Let kernels use one thread in a worker process: there are as many workers as there are to be threads."""
    if job.contents.home != here():
        limit_threads(1)
