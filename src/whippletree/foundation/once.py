"""Locks for expensive objects: each is made when it is first needed, once, whichever thread needs it first.

Traces, numeric plans and kernels of a model need each other, from many places, so all of them are made under one lock,
the model's: two threads that need the same thing do not make it twice, so that an address into machine code stays good,
and cannot wait for each other without end. Systems that are made from one model share its lock; two models are built
side by side. LLVM has a lock of its own (`kernels/native.py`), under which no other is taken. What is there is read
without a lock, and machine code runs without one.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar, overload
from weakref import WeakSet

__all__ = ["Lock", "made_once", "present_lock", "without_collecting"]

T = TypeVar("T")

_MISSING = object()


class Lock:
    """The lock under which everything of one model is made; reentrant, since making one thing may need another.

    >>> lock = Lock()
    >>> with lock, lock:
    ...     present_lock() is lock
    True
    """

    def __init__(self) -> None:
        self.renew()
        _every.add(self)

    @staticmethod
    def of_model() -> Lock:
        """Return the lock of a model that is made now: that of another one, if it is made for that one."""
        present = present_lock()
        return Lock() if present is _ELSE else present

    def renew(self) -> None:
        """Be free, whoever held it."""
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        lock = self._lock
        lock.acquire()
        _held.locks.append((self, lock))
        return self

    def __exit__(self, *error: Any) -> None:
        _held.locks.pop()[1].release()


class _Held(threading.local):
    """The locks that a thread holds, the last one at the end."""

    def __init__(self) -> None:
        self.locks: list[tuple[Lock, Any]] = []


_every: WeakSet[Lock] = WeakSet()
_held = _Held()
_ELSE = Lock()
"""Objects of no model are made under this lock. Making them may need a model, but no model waits for it."""


def present_lock() -> Lock:
    """Return the lock that this thread has taken last; without any, that of objects of no model."""
    return _held.locks[-1][0] if _held.locks else _ELSE


def _renew() -> None:
    """Begin with free locks in a child process, other threads of whose parent may have held them."""
    for lock in list(_every):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


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

    It is made under the lock of its object's model, `lock`, if the object has one, else under the one that the thread
    holds. `functools.cached_property` has a lock for each property before Python 3.12, so that properties that need
    each other may wait for each other without end, and none from there on, so that what one thread works with is
    replaced by what another has made.

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
        lock: Lock = made.get("lock") or made.get("_lock") or present_lock()
        with lock:
            if made.get(name, _MISSING) is _MISSING:
                found = self.func(instance)
                made.setdefault(name, found)  # threads of two models may ask an object that both share
            return made[name]  # type: ignore[no-any-return]
