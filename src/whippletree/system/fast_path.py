"""The second call of a function in one Python frame.

A kernel of a small mechanism takes less time than Python needs to call a function. So a method such as
`System.forward_dynamics` looks for a cached call first and hands the arrays to machine code from its own frame; all
else (options, first calls, batches) is left to what is written in the method. `fast_path` puts that look in front of a
method. It has the method's own arguments: a tuple of them would cost as much as the look.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from whippletree.kernels.entry import DONE
from whippletree.system.evaluator import cache_key
from whippletree.system.public_call import public_call

__all__ = ["fast_path"]

F = TypeVar("F", bound=Callable[..., Any])

_LEFT_OUT = object()
"""Stands for an argument that a caller has not given."""


def fast_path(method: F) -> F:
    """Enter a method of `System` in the table of calls, and let it look for the cached call if it got a state only."""
    called = public_call(method)
    signature = inspect.signature(called)
    names = signature.parameters
    state = tuple(name for name, one in names.items() if one.kind is one.POSITIONAL_OR_KEYWORD)[1:]
    otherwise = _without_a_look(called, state)
    fast = _BY_STATE[state](cache_key(method.__name__, "check" in names), otherwise)
    for one in (fast, otherwise):  # as `user_frames` does
        one.__code__ = one.__code__.replace(co_name=method.__name__, co_filename="<whippletree>")
    functools.update_wrapper(fast, method)
    fast.__signature__ = signature
    fast.user_facing = True
    return cast(F, fast)


def _without_a_look(called: Callable[..., Any], state: tuple[str, ...]) -> Any:
    """Return a function that makes the whole call, and so tells which arguments are missing or too many."""

    def call(self: Any, given: tuple[Any, ...], more: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if more:
            return called(self, *given, *more, **options)
        by_name = {name: one for name, one in zip(state, given, strict=True) if one is not _LEFT_OUT}
        return called(self, **by_name, **options)

    return call


def _of_q(key: str, otherwise: Callable[..., Any]) -> Any:
    def call(self: Any, q: Any = _LEFT_OUT, *more: Any, out: Any = None, **options: Any) -> Any:
        if not (options or more):
            kept = self._cached.get(key)
            if kept is not None:
                result = kept.empty() if out is None else out
                if kept.entry(result, q) == DONE:
                    return result
        return otherwise(self, (q,), more, {**options, "out": out})

    return call


def _of_q_v(key: str, otherwise: Callable[..., Any]) -> Any:
    def call(self: Any, q: Any = _LEFT_OUT, v: Any = _LEFT_OUT, *more: Any, out: Any = None, **options: Any) -> Any:
        if not (options or more):
            kept = self._cached.get(key)
            if kept is not None:
                result = kept.empty() if out is None else out
                if kept.entry(result, q, v) == DONE:
                    return result
        return otherwise(self, (q, v), more, {**options, "out": out})

    return call


def _of_q_v_tau(key: str, otherwise: Callable[..., Any]) -> Any:
    def call(
        self: Any, q: Any = _LEFT_OUT, v: Any = _LEFT_OUT, tau: Any = None, *more: Any, out: Any = None, **options: Any
    ) -> Any:
        if not (options or more):
            kept = self._cached.get(key)
            if kept is not None:
                result = kept.empty() if out is None else out
                if kept.entry(result, q, v, tau) == DONE:
                    return result
        return otherwise(self, (q, v, tau), more, {**options, "out": out})

    return call


def _of_q_v_a(key: str, otherwise: Callable[..., Any]) -> Any:
    def call(
        self: Any, q: Any = _LEFT_OUT, v: Any = _LEFT_OUT, a: Any = None, *more: Any, out: Any = None, **options: Any
    ) -> Any:
        if not (options or more):
            kept = self._cached.get(key)
            if kept is not None:
                result = kept.empty() if out is None else out
                if kept.entry(result, q, v, a) == DONE:
                    return result
        return otherwise(self, (q, v, a), more, {**options, "out": out})

    return call


_BY_STATE = {("q",): _of_q, ("q", "v"): _of_q_v, ("q", "v", "tau"): _of_q_v_tau, ("q", "v", "a"): _of_q_v_a}
