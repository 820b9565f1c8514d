"""Where the chunks of a study are computed: one contract for threads, processes and clusters.

Everything that takes tasks is an `Executor` of `concurrent.futures`; a Dask client offers one. This file hands out
chunks, a few more than there are workers, and takes care of workers that are lost: with a factory of executors it goes
on with a fresh one, and a chunk that has lost several workers is computed case by case, so that only the case that is
to blame has no numbers.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from whippletree.errors import ResultError, StateError, WhippletreeError
from whippletree.kernels.threads import processors
from whippletree.spatial.scalars import shown
from whippletree.studies.study_stores import FAILED, Outcome

__all__ = ["ChunkTasks", "Dispatch", "Workers", "WorkersLostError", "workers_for"]

_AHEAD = 3
"""Chunks for each worker that are handed out at a time."""

_LOSSES = 2
"""After so many lost workers a chunk is computed case by case."""

_TRIES = 3
"""A case that loses so many workers one after another has failed."""

_LOOK = 0.2  # seconds between looks at the keyboard


class Workers(NamedTuple):
    """The workers of a study: `make` returns an executor, a fresh one each time if `renewed`; `most` tasks at a time.

    `inside` says that it is this process, `owned` that it is to be shut down.
    """

    make: Callable[[], Executor]
    most: int
    inside: bool
    owned: bool
    renewed: bool
    by_value: bool = False


class ChunkTasks(Protocol):
    """The chunks to be computed."""

    def call_for(self, chunk: int) -> tuple[Any, ...]:
        """Return the function that computes a chunk, and its arguments."""

    def call_for_case(self, chunk: int, case: int) -> tuple[Any, ...]:
        """Return the function that computes one case of a chunk, and its arguments; it returns an `Outcome`."""

    def cases(self, chunk: int) -> int:
        """Return how many cases a chunk has."""

    def take(self, chunk: int, result: Any) -> None:
        """Take the result of a chunk."""

    def put_together(self, chunk: int, outcomes: list[Outcome]) -> None:
        """Take the results of a chunk's cases, one by one."""


def workers_for(given: Any) -> Workers:
    """Return the workers that `executor=` stands for.

    >>> workers_for(None).inside, workers_for(3).most
    (True, 3)
    """
    if given is None:
        count = processors()
        return Workers(lambda: ThreadPoolExecutor(count), count, inside=True, owned=True, renewed=False)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        count = int(given)
        if count < 1:
            raise StateError(f"executor={count}: give the number of worker processes, 1 or more")
        return Workers(lambda: _processes(count), count, inside=False, owned=True, renewed=True)
    if isinstance(given, Executor):
        _refuse_forks(given)
        return Workers(lambda: given, _size(given), isinstance(given, ThreadPoolExecutor), owned=False, renewed=False)
    if hasattr(given, "get_executor") and hasattr(given, "scheduler_info"):  # a Dask client
        count = sum(given.nthreads().values()) or 1
        make = lambda: given.get_executor(pure=False)  # noqa: E731
        return Workers(make, count, inside=False, owned=False, renewed=True, by_value=True)
    if callable(given):
        return Workers(lambda: _made_by(given), 0, inside=False, owned=True, renewed=True)
    raise StateError(
        f"executor= must be an executor of concurrent.futures, a function that returns one, a Dask client, or the "
        f"number of worker processes, not {shown(given)}"
    )


class Dispatch:
    """Hands out chunks to workers and takes their results; within it, workers are there."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._executor = workers.make()
        self._flying: dict[Future[Any], int] = {}
        self._landed: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._again: list[int] = []
        self._losses: dict[int, int] = {}
        self._suspects: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Take back tasks that have not begun, and wait for the rest."""
        for future in self._flying:
            future.cancel()
        if self._workers.owned:
            self._executor.shutdown(wait=True, cancel_futures=True)
        else:
            wait([future for future in self._flying if not future.cancelled()])

    @property
    def count(self) -> int:
        """How many workers there are."""
        return self._workers.most or _size(self._executor)

    def call(self, function: Callable[..., Any], *arguments: Any, tries: int = _TRIES) -> Any:
        """Return the result of a function in a worker; a worker that is lost by it is replaced a few times."""
        for _ in range(tries):
            try:
                future = self._executor.submit(function, *arguments)
                future.add_done_callback(self._landed.put)
                while self._next() is not future:
                    pass
                return future.result()
            except Exception as error:
                if not _lost(error):
                    raise _explained(error) from error
                if not isinstance(error, BrokenProcessPool):
                    break  # a cluster has tried several times
                self._renew()
        raise WorkersLostError("a worker process ended again and again: it was killed, or ran out of memory")

    def all(self, chunks: Iterator[int], tasks: ChunkTasks) -> None:
        """Compute all chunks; those that have lost workers at the end, case by case."""
        self._tasks = tasks
        most = _AHEAD * self.count + 1
        for chunk in self._endless(chunks):
            self._hand_out(chunk)
            while len(self._flying) >= most:
                self._take_one()
        for chunk in self._suspects:
            self._one_by_one(chunk)

    def _endless(self, chunks: Iterator[int]) -> Iterator[int]:
        """Yield the chunks, and those that come back, until nothing is in work."""
        yield from chunks
        while self._again or self._flying:
            if self._again:
                yield self._again.pop()
            else:
                self._take_one()

    def _hand_out(self, chunk: int) -> None:
        try:
            future = self._executor.submit(*self._tasks.call_for(chunk))
        except BrokenProcessPool:
            self._renew()
            self._again.append(chunk)
            return
        self._flying[future] = chunk
        future.add_done_callback(self._landed.put)

    def _take_one(self) -> None:
        """Wait for a chunk, and take its result."""
        future = self._next()
        if future not in self._flying:
            return  # of an executor that is gone
        chunk = self._flying.pop(future)
        try:
            result = future.result()
        except Exception as error:
            if not _lost(error):
                raise _explained(error) from error
            self._lose(chunk, error)
        else:
            self._tasks.take(chunk, result)

    def _next(self) -> Future[Any]:
        while True:
            try:
                return self._landed.get(timeout=_LOOK)
            except queue.Empty:
                continue

    def _lose(self, chunk: int, error: Exception) -> None:
        """Note that the worker of a chunk is lost; where all are lost with it, begin with fresh ones."""
        if not isinstance(error, BrokenProcessPool):
            self._suspects.append(chunk)  # a cluster has tried several times
            return
        lost = [chunk, *self._flying.values()]
        self._flying.clear()
        self._renew()
        for one in lost:
            self._losses[one] = self._losses.get(one, 0) + 1
            (self._suspects if self._losses[one] >= _LOSSES else self._again).append(one)

    def _renew(self) -> None:
        if not self._workers.renewed:
            raise ResultError(
                "the pool has lost a worker, and is of no use any more: study.resume() with another one goes on where "
                "it was; with a function that returns a pool, executor=lambda: ..., the study would have gone on"
            )
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = self._workers.make()

    def _one_by_one(self, chunk: int) -> None:
        """Compute the cases of a chunk one by one, so that it is known which of them ends its worker."""
        outcomes = []
        for case in range(self._tasks.cases(chunk)):
            try:
                outcomes.append(self.call(*self._tasks.call_for_case(chunk, case)))
            except WorkersLostError:
                outcomes.append(_ENDED)
        self._tasks.put_together(chunk, outcomes)


class WorkersLostError(WhippletreeError):
    """Workers were lost again and again while they did the same."""


_ENDED = Outcome(
    {},
    np.full(1, FAILED, dtype=np.int8),
    [
        "its worker process ended again and again: it was killed, ran out of memory, or was still busy long after "
        "time_limit="
    ],
)


def _lost(error: Exception) -> bool:
    """Tell whether an error says that a worker was lost, rather than that its task failed."""
    return isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"


def _explained(error: Exception) -> Exception:
    """Return an error with an explanation: a cluster drops its tasks when it ends."""
    if isinstance(error, CancelledError) or type(error).__name__ in ("FutureCancelledError", "CommClosedError"):
        why = str(error) or type(error).__name__
        return ResultError(f"the cluster is gone ({why}): what was computed is in the store, and resume() goes on")
    return error


def _processes(count: int) -> Executor:
    """Return a pool of processes that are started afresh, not forked: threads and locks do not survive a fork."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, mp_context=context, initializer=_leave_interrupts_to_the_program)


def _leave_interrupts_to_the_program() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _refuse_forks(executor: Executor) -> None:
    context = getattr(executor, "_mp_context", None)
    if context is not None and context.get_start_method() == "fork":
        raise StateError(
            "this pool forks its processes, which the locks of threads do not survive: make it with "
            'mp_context=multiprocessing.get_context("spawn")'
        )


def _made_by(factory: Callable[[], Any]) -> Executor:
    made = factory()
    if not isinstance(made, Executor):
        raise StateError(f"the function given as executor= must return an executor, not {shown(made)}")
    _refuse_forks(made)
    return made


def _size(executor: Executor) -> int:
    return int(getattr(executor, "_max_workers", 0) or processors())
