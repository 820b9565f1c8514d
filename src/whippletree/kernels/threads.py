"""Threads that help with batches.

A helper that comes late finds nothing left to do, so no call ever waits for one to start. One that has just helped
listens for a moment (see `relay`); one that sleeps is woken by a task in a queue.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from whippletree.kernels.relay import LISTENING, Relay

__all__ = ["help_with", "lead", "limit_threads", "listening", "processors"]

_HELPERS: list[threading.Thread] = []
_TASKS: SimpleQueue[Callable[[], object]] = SimpleQueue()
_LOCK = threading.Lock()
_RELAY: Relay | None = None
_LIMIT: int | None = None


def limit_threads(most: int) -> None:
    """Let this process use so many processors at most: one of several workers has its own share only."""
    global _LIMIT
    _LIMIT = most


def processors() -> int:
    """Return the number of processors this process may use.

    >>> processors() >= 1
    True
    """
    if _LIMIT is not None:
        return _LIMIT
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def help_with(task: Callable[[], object]) -> None:
    """Have another thread run a task, if there is one; there are as many helpers as processors, less one."""
    if not _HELPERS:
        _start()
    if _HELPERS and _RELAY is not None:
        _TASKS.put(task)
        _RELAY.bell = True


def listening() -> int:
    """Return how many helpers listen for a job, at this moment."""
    return 0 if _RELAY is None else _RELAY.states.count(LISTENING)


def lead(driver: int, batch: int, scratch: Sequence[int]) -> None:
    """Run `driver(batch, scratch, wait)` here and in helpers that listen, each on scratch memory of its own."""
    if _RELAY is not None:
        _RELAY.lead(driver, batch, scratch)


def _start() -> None:
    global _RELAY
    with _LOCK, contextlib.suppress(RuntimeError):  # no more threads, or the interpreter is about to end
        count = max(1, (os.cpu_count() or 2) - 1)
        if _RELAY is None:
            _RELAY = Relay(count)
        for i in range(len(_HELPERS), count):
            helper = threading.Thread(target=_work, args=(i, _RELAY, _TASKS), name=f"whippletree {i}", daemon=True)
            helper.start()
            _HELPERS.append(helper)


def _work(slot: int, relay: Relay, tasks: SimpleQueue[Callable[[], object]]) -> None:
    while True:
        task = tasks.get()
        relay.bell = not tasks.empty()  # the others are called as long as anything is left
        with contextlib.suppress(Exception):  # whoever asked for help finishes without it
            task()
        del task  # with its arrays
        if tasks.empty():
            relay.listen(slot)


def _forget() -> None:
    """Start anew in a child process, which has none of its parent's threads."""
    global _TASKS, _LOCK, _RELAY
    _HELPERS.clear()
    _TASKS, _LOCK, _RELAY = SimpleQueue(), threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
