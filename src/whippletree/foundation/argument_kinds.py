"""Finds what is wrong with the arguments of a failed call: their number, a name, or one that is not as annotated.

Nothing is looked at while calls succeed: `user_frames` asks when an error of Python or of a library leaves a public
call. If the arguments do not fit its parameters, or one does not fit its annotation, that is what went wrong, and it is
told in words; if all of them fit, the error is a fault of the package and stays as it is.
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

__all__ = ["unfit_argument", "unfit_call"]

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


_MOST_NAMES = 12
"""Parameters that messages list."""

_SHORT_NAME = 100
"""Characters of a name that messages repeat."""


def unfit_call(function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """Say which arguments of a call are missing, too many or unknown; nothing if each has its parameter.

    >>> def turned(shape: str, *, angle: float = 0.0) -> None:
    ...     pass
    >>> unfit_call(turned, (), {})
    'turned() needs shape: it takes (shape, *, angle)'
    >>> unfit_call(turned, ("a", 1.0), {})
    'turned() takes 1 argument without its name, not 2: (shape, *, angle)'
    >>> unfit_call(turned, ("a",), {"angel": 1.0})
    'turned() has no argument "angel"; did you mean "angle"?'
    >>> unfit_call(turned, ("a",), {"angle": 1.0})
    ''
    """
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **options)
    except TypeError:
        return f"{_name(function, args)}() {_misfit(_asked(function, args, [*signature.parameters.values()]), options)}"
    return ""


class _Asked(typing.NamedTuple):
    """What a caller is asked for: parameters without the object whose method it is, and how many have no name."""

    parameters: list[inspect.Parameter]
    unnamed: int


def _asked(function: Callable[..., Any], args: tuple[Any, ...], parameters: list[inspect.Parameter]) -> _Asked:
    own = getattr(type(args[0]), function.__name__, None) if args else None
    method = inspect.unwrap(own) is inspect.unwrap(function) if callable(own) else False
    method = method or (parameters[:1] != [] and parameters[0].name in ("self", "cls"))
    return _Asked(parameters[method:], max(len(args) - method, 0))


def _misfit(asked: _Asked, options: Mapping[str, Any]) -> str:
    """Say what is wrong with some arguments that do not fit the parameters."""
    listed = _listed(asked.parameters)
    by_place = [one for one in asked.parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    known = {one.name for one in asked.parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
    unknown = [name for name in options if name not in known]
    if unknown and not any(one.kind is one.VAR_KEYWORD for one in asked.parameters):
        from difflib import get_close_matches  # which only errors need

        name = unknown[0]
        close = get_close_matches(name, known, n=1) if len(name) <= _SHORT_NAME else []
        meant = f'did you mean "{close[0]}"?' if close else f"it takes {listed}"
        return f'has no argument "{name[:_SHORT_NAME]}"; {meant}'
    if asked.unnamed and not asked.parameters:
        return "takes no arguments"
    if asked.unnamed > len(by_place) and not any(one.kind is one.VAR_POSITIONAL for one in asked.parameters):
        if not by_place:
            return f"takes its arguments by name only: {listed}"
        most = "1 argument without its name" if len(by_place) == 1 else f"{len(by_place)} arguments without their names"
        return f"takes {most}, not {asked.unnamed}: {listed}"
    twice = [one.name for one in by_place[: asked.unnamed] if one.name in options]
    if twice:
        return f"has {twice[0]} twice, by its place and by its name"
    rest = asked.parameters[min(asked.unnamed, len(by_place)) :]
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    missing = [one.name for one in rest if one.default is one.empty and one.kind not in optional]
    needed = [name for name in missing if name not in options]
    return f"needs {' and '.join(filter(None, (', '.join(needed[:-1]), *needed[-1:])))}: it takes {listed}"


def _listed(parameters: list[inspect.Parameter]) -> str:
    """Return the names of parameters as they stand in a signature, the first of them if there are many."""
    whole = inspect.Signature([one.replace(annotation=one.empty, default=one.empty) for one in parameters])
    names = str(whole)[1:-1].split(", ") if parameters else []
    return f"({', '.join([*names[:_MOST_NAMES], *['...'] * (len(names) > _MOST_NAMES)])})"


def _name(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Return the name by which users call a function: with the class of the object whose method it is."""
    owner, _, name = function.__qualname__.rpartition("<locals>.")[2].rpartition(".")
    if name in ("__init__", "__new__", "__post_init__"):
        return owner
    if args and owner in (one.__name__ for one in type(args[0]).__mro__):
        owner = type(args[0]).__name__  # a class may take its methods from others, which users do not know
    return f"{owner}.{name}" if owner else name


def unfit_argument(function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """Say which argument of a call does not fit its annotation; nothing if all of them do.

    >>> def doubled(text: str, times: int = 2) -> str:
    ...     return text * times
    >>> unfit_argument(doubled, ("a",), {"times": "b"})
    'doubled(): times must be a whole number, not str'
    >>> unfit_argument(doubled, ("a",), {"times": 3})
    ''
    """
    bound = inspect.signature(function).bind(*args, **options)
    names = _NamesOfTypes(inspect.unwrap(function).__globals__)
    for one, value in bound.arguments.items():
        parameter = bound.signature.parameters[one]
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        wanted = _kind(parameter.annotation, names)
        given = value if parameter.kind is parameter.VAR_POSITIONAL else (value,)
        for unfit in (each for each in given if not _fits(each, wanted)):
            return f"{_name(function, args)}(): {one} must be {_words(wanted)}, not {_picture(unfit)}"
    return ""


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
