"""One lock for expensive objects: each is made when it is first needed, once, whichever thread needs it first.

Traces, machine code and numeric plans take long to make and need each other, from many places. All of them are made
under one lock: two threads that need the same thing do not make it twice, so that an address into machine code stays
good, and two threads that need different things do not wait for each other without end. What is there is read without
the lock, and machine code runs without it.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar, overload

__all__ = ["made_once", "making", "without_collecting"]

T = TypeVar("T")

_MISSING = object()
_lock = threading.RLock()


def _forget() -> None:
    """Begin with a free lock in a child process, whose parent may have held it."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def making() -> AbstractContextManager[Any]:
    """Hold the lock under which objects are made; the lock is reentrant, since making one may need another.

    >>> with making(), making():
    ...     "both"
    'both'
    """
    return _lock


@contextmanager
def without_collecting() -> Iterator[None]:
    """Let Python's collector of cyclic garbage rest while much is made that will be kept.

    It would look through a hundred thousand new objects again and again, and find none to throw away.

    >>> with without_collecting():
    ...     gc.isenabled()
    False
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class made_once(functools.cached_property[T]):  # noqa: N801 (a decorator)
    """A property that is worked out when it is first asked for, and once only, also if several threads ask for it.

    `functools.cached_property` has a lock for each property before Python 3.12, so that properties that need each other
    may wait for each other without end, and none from there on, so that what one thread works with is replaced by what
    another has made.

    >>> class Circle:
    ...     @made_once
    ...     def area(self) -> float:
    ...         print("once")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area, circle.area
    once
    (3.14, 3.14)
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> made_once[T]: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> made_once[T] | T:
        if instance is None:
            return self
        made, name = instance.__dict__, str(self.attrname)
        with _lock:
            if made.get(name, _MISSING) is _MISSING:
                made[name] = self.func(instance)
            return made[name]  # type: ignore[no-any-return]
