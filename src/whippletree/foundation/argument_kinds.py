"""Finds the argument of a failed call that does not fit the annotation of its parameter.

Nothing is looked at while calls succeed: `user_frames` asks when an error of Python or of a library leaves a public
call. If an argument does not fit its annotation, that is what went wrong, and it is told in words; if all of them fit,
the error is a fault of the package and stays as it is.
"""

from __future__ import annotations

import builtins
import inspect
import os
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, cast

import numpy as np

__all__ = ["taken_arguments", "unfit_argument"]

_PLAIN: dict[Any, tuple[tuple[type, ...], str]] = {
    type(None): ((type(None),), "None"),
    str: ((str,), "text"),
    bool: ((bool, np.bool_), "True or False"),
    int: ((Integral,), "a whole number"),
    float: ((Real,), "a number"),
    Path: ((str, os.PathLike), "a path"),
    os.PathLike: ((os.PathLike,), "a path"),
    tuple: ((tuple, list), "a tuple"),
    list: ((tuple, list), "a list"),
    abc.Sequence: ((abc.Sequence, np.ndarray), "a list"),
    abc.Iterable: ((abc.Iterable,), "a list"),
    abc.Mapping: ((abc.Mapping,), "a mapping"),
    abc.Callable: ((abc.Callable,), "a function"),  # type: ignore[dict-item]
    np.ndarray: ((np.ndarray,), "an array of numbers"),
}
"""Accepted types and their names in messages, for annotations where these are not simply the class."""

_SEVERAL = (tuple, list, abc.Sequence)
"""Containers whose items are checked too."""

_ENTRIES = {"f": "fiu", "i": "iu", "u": "iu", "b": "b", "c": "fiuc"}
"""Which kinds of entries fit an array of some kind."""


def unfit_argument(function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """Say which argument of a call does not fit its annotation; nothing if all of them do.

    >>> def doubled(text: str, times: int = 2) -> str:
    ...     return text * times
    >>> unfit_argument(doubled, ("a",), {"times": "b"})
    'doubled(): times must be a whole number, not str'
    >>> unfit_argument(doubled, ("a",), {"times": 3})
    ''
    """
    try:
        bound = inspect.signature(function).bind(*args, **options)
    except (TypeError, ValueError):
        return ""  # the call itself is wrong, as Python says
    names = _NamesOfTypes(inspect.unwrap(function).__globals__)
    for one, value in bound.arguments.items():
        parameter = bound.signature.parameters[one]
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        wanted = _kind(parameter.annotation, names)
        given = value if parameter.kind is parameter.VAR_POSITIONAL else (value,)
        for unfit in (each for each in given if not _fits(each, wanted)):
            name = function.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__")
            return f"{name}(): {one} must be {_words(wanted)}, not {_picture(unfit)}"
    return ""


def taken_arguments(function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """Name the arguments of a function if it is called with one that it does not have; nothing otherwise.

    >>> def tube(*, radius: float, wall: float = 0.001) -> None: ...
    >>> taken_arguments(tube, (), {"thickness": 0.1}), taken_arguments(tube, (), {"wall": 0.1})
    ('it takes radius=, wall=', '')
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ""
    by_name = [one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
    by_place = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    kinds = {one.kind for one in parameters}
    unknown = not {*options} <= {*by_name} and inspect.Parameter.VAR_KEYWORD not in kinds
    too_many = len(args) > len(by_place) and inspect.Parameter.VAR_POSITIONAL not in kinds
    names = [f"{name}=" for name in by_name if name != "self"]
    return f"it takes {', '.join(names) or 'none'}" if unknown or too_many else ""


class _NamesOfTypes(dict[str, Any]):
    """The names of a module; others are those of the package, which annotations name for the sake of types alone."""

    def __missing__(self, name: str) -> Any:
        package = __name__.partition(".")[0]
        modules = [vars(module) for key, module in sys.modules.items() if key.partition(".")[0] == package]
        return next((one[name] for one in (*modules, vars(builtins)) if name in one), Any)


def _kind(annotation: Any, names: _NamesOfTypes) -> Any:
    """Return the type that an annotation stands for; `Any` if it cannot be resolved."""
    if not isinstance(annotation, str):
        return Any
    try:
        return eval(annotation, {}, names)  # the package's own text
    except Exception:  # types that are not there while a program runs
        return Any


def _fits(value: object, wanted: Any) -> bool:
    """Return True if a value fits a type; True is no number, and text is no list."""
    origin, parts = typing.get_origin(wanted) or wanted, typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in parts)
    if origin is None:
        return value is None
    if not isinstance(origin, type) or origin in (object, Any) or getattr(origin, "_is_protocol", False):
        return True
    kinds, _ = _PLAIN.get(origin, ((origin,), ""))
    misread = bool if origin in (int, float) else str | bytes if origin in (*_SEVERAL, abc.Iterable) else ()
    if not isinstance(value, kinds) or isinstance(value, misread) or not _can_be(value, origin):
        return False
    if origin in _SEVERAL and parts:
        return _items_fit(value, parts)
    if origin is abc.Mapping and len(parts) == 2:
        return all(_fits(each, parts[1]) for each in cast(abc.Mapping[Any, Any], value).values())
    if isinstance(value, np.ndarray):
        return value.dtype.kind in _ENTRIES.get(_entries(parts), value.dtype.kind)
    return True


def _can_be(value: Any, origin: type) -> bool:
    """Return False for a number too large for a float, and for an object whose iterator fails."""
    try:
        return origin not in (float, abc.Iterable) or (float(value) if origin is float else iter(value)) is not None
    except Exception:  # whatever a foreign object raises, it cannot be used as that
        return False


def _items_fit(value: Any, parts: tuple[Any, ...]) -> bool:
    """Tell whether the items of a list fit: those of a tuple one by one, unless they are all of one kind."""
    try:
        items = list(value)
    except Exception:  # whatever a foreign sequence raises, it is no list of these
        return False
    if len(parts) == 1 or parts[-1] is Ellipsis:
        return all(_fits(each, parts[0]) for each in items)
    return len(items) == len(parts) and all(map(_fits, items, parts))


def _entries(parts: tuple[Any, ...]) -> str:
    """Return the kind of an array's entries: "f" of `NDArray[np.float64]`; nothing if they may be anything."""
    entry = typing.get_args(parts[1])[0] if len(parts) > 1 else None
    return np.dtype(entry).kind if isinstance(entry, type) and issubclass(entry, np.generic) else ""


def _words(wanted: Any) -> str:
    """Describe a type in words for a message."""
    origin, parts = typing.get_origin(wanted) or wanted, typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_words, parts)))
    if origin in _PLAIN:
        words = _PLAIN[origin][1]
        single = origin in _SEVERAL and parts and (len(parts) == 1 or parts[-1] is Ellipsis)
        return f"{words} of such: {_words(parts[0])}" if single else words
    name = "None" if origin is None else getattr(origin, "__name__", str(origin))
    return name if name == "None" else f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def _picture(value: object) -> str:
    """Return the type of a value, and its shape if it is an array."""
    name = type(value).__name__
    return f"{name} of {value.dtype} and shape {value.shape}" if isinstance(value, np.ndarray) else name
