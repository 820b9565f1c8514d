"""Limits of time and memory on one case, within a worker process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator

from whippletree.errors import StateError, WhippletreeError

__all__ = ["LimitPassedError", "limited"]

_GRACE = 5.0
"""Seconds after which a case that does not listen to its interruption ends the whole process, and at least as long as
the limit itself."""


class LimitPassedError(WhippletreeError):
    """A case took longer than it may."""


@contextlib.contextmanager
def limited(seconds: float | None, size: float | None) -> Iterator[None]:
    """Stop the body after so many seconds, or when the process holds more than so many bytes of data.

    >>> with limited(60.0, None):
    ...     print(1 + 1)
    2
    """
    with contextlib.ExitStack() as kept:
        if size is not None:
            kept.enter_context(_limited_memory(size))
        if seconds is not None:
            kept.enter_context(_limited_time(seconds))
        yield


@contextlib.contextmanager
def _limited_time(seconds: float) -> Iterator[None]:
    """Raise `LimitPassedError` in this thread when the time is over; if that does not help, end the process."""
    lock, thread, done, passed = threading.Lock(), threading.get_ident(), threading.Event(), threading.Event()

    def watch() -> None:
        if done.wait(seconds):
            return
        with lock:
            if done.is_set():
                return
            passed.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_OvertimeError))
        if not done.wait(seconds + _GRACE):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        try:
            yield
        finally:
            with lock:
                done.set()
        if passed.is_set():  # the exception comes with one of the next instructions
            time.sleep(0.01)
    except _OvertimeError:
        raise LimitPassedError(f"it took longer than time_limit={seconds:g} s") from None


class _OvertimeError(BaseException):
    """Passes through functions that catch every `Exception`."""


@contextlib.contextmanager
def _limited_memory(size: float) -> Iterator[None]:
    """Let allocations fail when the process holds more data than it may."""
    if not sys.platform.startswith("linux"):
        raise StateError("memory_limit= is kept by the system, which only Linux does: leave it out")
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (int(size), before[1]))
    try:
        yield
    except MemoryError:
        resource.setrlimit(resource.RLIMIT_DATA, before)
        raise StateError(f"it needed more memory than memory_limit={size:g} bytes") from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
