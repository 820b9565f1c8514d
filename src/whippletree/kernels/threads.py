"""Threads that help with batches.

A helper that comes late finds nothing left to do, so nobody ever waits for one to start.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

__all__ = ["help_with"]

_HELPERS: list[threading.Thread] = []
_TASKS: SimpleQueue[Callable[[], object]] = SimpleQueue()
_LOCK = threading.Lock()


def help_with(task: Callable[[], object]) -> None:
    """Have another thread run a task, if there is one; there are as many helpers as processors, less one."""
    if not _HELPERS:
        _start()
    if _HELPERS:
        _TASKS.put(task)


def _start() -> None:
    with _LOCK, contextlib.suppress(RuntimeError):  # no more threads, or the interpreter is about to end
        if not _HELPERS:
            for i in range(max(1, (os.cpu_count() or 2) - 1)):
                helper = threading.Thread(target=_work, name=f"whippletree {i}", daemon=True)
                helper.start()
                _HELPERS.append(helper)


def _work() -> None:
    while True:
        task = _TASKS.get()
        with contextlib.suppress(Exception):  # whoever asked for help finishes without it
            task()
        del task  # with its arrays


def _forget() -> None:
    """Start anew in a child process, which has none of its parent's threads."""
    global _TASKS, _LOCK
    _HELPERS.clear()
    _TASKS, _LOCK = SimpleQueue(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
