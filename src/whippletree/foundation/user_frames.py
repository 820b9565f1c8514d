"""The border to the user's program: errors and warnings that point at the user's own line.

What users call is marked `@user_facing`, a class or a function. An error of the package that leaves such a call has the
package's own frames taken out of its traceback, so that what Python prints is the user's line and the message. Frames
of the user's functions that the package has called, a controller's say, stay. With WHIPPLETREE_TRACEBACK=full in the
environment tracebacks are as they are. Errors of other kinds are left alone, being faults of the package, unless the
arguments are not what the call asks for (`argument_kinds`): then that is told.

Warnings are given by `warn`, which finds the user's line.
"""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from types import FrameType, FunctionType, TracebackType
from typing import Any, TypeVar, cast

from whippletree.errors import CallError, StateError, WhippletreeError
from whippletree.foundation.argument_kinds import unfit_argument, unfit_call
from whippletree.foundation.formula_errors import SymbolTruthError, asked_for_truth

__all__ = ["user_facing", "warn"]

T = TypeVar("T")

_PACKAGE = __name__.partition(".")[0]
_HELPERS = frozenset({_PACKAGE, "casadi", "contextlib", "functools", "dataclasses", "importlib"})
"""Modules whose frames say nothing to a user."""

_FOREIGN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError)
"""Exceptions that Python and libraries raise for an argument that they cannot work with."""

_CALLED = frozenset(
    {"__new__", "__init__", "__post_init__", "__call__", "__contains__", "__getitem__", "__add__", "__matmul__"}
)
"""Methods with underscores that users call."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the line of the user's program that has called the package.

    >>> import warnings
    >>> from whippletree.errors import CacheWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("no room", CacheWarning)
    >>> caught[0].filename == __file__
    False
    """
    level, frame = 1, inspect.currentframe()
    while frame is not None and _is_ours(frame) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def user_facing(public: T) -> T:
    """Mark a class or function as called by users: errors of the package that leave it end at the user's line.

    A function with the attribute `user_facing` is one that sees to that by itself.

    >>> @user_facing
    ... def half(value: float) -> float:
    ...     return value / 2
    >>> half(3.0)
    1.5
    """
    if not isinstance(public, type):
        return public if getattr(public, "user_facing", False) else cast(T, _guarded(cast(Any, public)))
    for name, member in list(vars(public).items()):
        if not name.startswith("_") or name in _CALLED:
            changed = _guarded_member(member)
            if changed is not member:
                setattr(public, name, changed)
    return public


def _guarded_member(member: object) -> Any:
    """Return a method, a static or class method or a property's setter with its errors trimmed; others unchanged."""
    if isinstance(member, FunctionType):
        return member if getattr(member, "user_facing", False) else _guarded(member)
    if isinstance(member, staticmethod | classmethod):
        return type(member)(_guarded(member.__func__))
    if isinstance(member, property):
        return member if member.fset is None else member.setter(_guarded(member.fset))
    return member


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, with its errors trimmed; its globals and its name are the function's."""

    def call(*args: object, **options: object) -> Any:
        try:
            return function(*args, **options)
        except error_type as error:
            raise trim(error) from error.__cause__
        except foreign as error:
            wrong = in_words(error, function, args, options)
            if wrong is None:
                raise
            raise trim(wrong) from None

    error_type, foreign, in_words, trim = WhippletreeError, _FOREIGN, _in_words, _trimmed
    code = call.__code__.replace(co_name=function.__name__, co_filename=f"<{_PACKAGE}>")
    own = FunctionType(code, function.__globals__, function.__name__, None, call.__closure__)
    functools.update_wrapper(own, function)
    own.user_facing = True  # type: ignore[attr-defined]
    return own


def _in_words(
    error: Exception, function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> WhippletreeError | None:
    """Return an error in words about a user's mistake, if an error of Python or of a library comes from one."""
    if asked_for_truth(error):
        return SymbolTruthError("what is asked here").with_traceback(error.__traceback__)
    words = unfit_call(function, args, options)
    if words:
        return CallError(words)
    words = unfit_argument(function, args, options)
    return StateError(words) if words else None


def _trimmed(error: WhippletreeError) -> WhippletreeError:
    """Take the package's frames out of an error's traceback, and causes that are told in its own message."""
    if os.environ.get("WHIPPLETREE_TRACEBACK") == "full":
        return error
    error.__traceback__ = _of_user(error.__traceback__)
    cause = error.__cause__
    if cause is not None:
        cause.__traceback__ = _of_user(cause.__traceback__)
        if isinstance(cause, WhippletreeError) and cause.__traceback__ is None:
            error.__cause__ = cause.__cause__
    return error


def _of_user(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the package's frames."""
    kept = []
    while trace is not None:
        if not _is_ours(trace.tb_frame):
            kept.append(trace)
        trace = trace.tb_next
    found: TracebackType | None = None
    for one in reversed(kept):
        found = TracebackType(found, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return found


def _is_ours(frame: FrameType) -> bool:
    """Tell whether a frame is the package's, or a helper's of the standard library."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _HELPERS
