"""Old names, which work until 0.2 with a `DeprecationWarning` that gives the new name.

    @old_names(mobility_at="mobility", data_slack="_data_slack")
    class System: ...

The old names of a class stand above it and nowhere else: `dir`, completion and `docs/api.txt` know the new ones alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from whippletree.foundation.late_imports import imported
from whippletree.foundation.user_frames import warn

__all__ = ["old_module_names", "old_names", "warn_of_old"]

Class = TypeVar("Class", bound=type)
GONE = "0.2"
"""The version without the old names."""


def warn_of_old(old: str, new: str) -> None:
    """Warn that an old name was used; `new` is its successor, or its private name if users no longer need it."""
    private = new.rpartition(".")[2].startswith("_")
    remedy = "serves the package alone" if private else f"is now {new}"
    warn(f"whippletree: {old} {remedy}; the old name goes in {GONE}", DeprecationWarning)


def old_names(**successors: str | tuple[str, Callable[[Any], Any]]) -> Callable[[Class], Class]:
    """Let a class answer to old names of its attributes and methods, with a warning.

    A successor is the new name, with dots for a part of a part ("loops.count"). Where more than the name has changed,
    it is a pair: the words that say what to write, and a function from the object to what the old name was.

    >>> import warnings
    >>> @old_names(rods="bars", total=("len(bars)", lambda frame: len(frame.bars)))
    ... class Frame:
    ...     bars = ("left", "right")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Frame().rods, Frame().total
    (('left', 'right'), 2)
    >>> print(caught[0].message)
    whippletree: Frame.rods is now Frame.bars; the old name goes in 0.2
    """

    def with_old(cls: Class) -> Class:
        def find(self: object, name: str) -> Any:
            if name not in successors:
                return object.__getattribute__(self, name)  # Python's own error, or that of a property which failed
            successor = successors[name]
            if isinstance(successor, tuple):
                warn_of_old(f"{cls.__name__}.{name}", successor[0])
                return successor[1](self)
            warn_of_old(f"{cls.__name__}.{name}", f"{cls.__name__}.{successor}")
            return operator.attrgetter(successor)(self)

        if hasattr(cls, "__getattr__"):
            raise TypeError(f"{cls.__name__} or a base has old names already: state all of them in one place")
        cls.__getattr__ = find  # type: ignore[attr-defined]
        return cls

    return with_old


def old_module_names(
    package: str, successors: Mapping[str, str], otherwise: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that answers to old names, and finds other names by `otherwise`.

    A successor is the new name with its package in front.

    >>> import warnings
    >>> find = old_module_names("shapes", {"root": "math.sqrt"})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     find("root")(9.0)
    3.0
    >>> print(caught[0].message)
    whippletree: shapes.root is now math.sqrt; the old name goes in 0.2
    """

    def find(name: str) -> Any:
        if name in successors:
            warn_of_old(f"{package}.{name}", successors[name])
            module, _, new = successors[name].rpartition(".")
            return imported(module, new)
        if otherwise is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return otherwise(name)

    return find
