"""Imports that wait until a name is first used.

Names of a package that not everybody needs are imported late (`late_names`), and so are the verbs that a class offers
although their work is done in a room that is built on it. `mechanism.build()` makes a `System`, and
`system.simulate(...)` a `Trajectory`: conveniences, whose rooms import the class and not the other way round. The
function there is written, typed and documented once, and the class names it:

    class System:
        if TYPE_CHECKING:
            sweep = studies.sweep
        else:
            sweep = Verb("whippletree.studies", "sweep")

Its first argument is the object. Its module is imported when the verb is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

from whippletree.errors import StateError
from whippletree.foundation.user_frames import user_facing

__all__ = ["Verb", "imported", "late_names", "needed_library"]


def imported(module: str, name: str) -> Any:
    """Return something of a module, which is imported now if it has not been.

    >>> imported("math", "sqrt")(9.0)
    3.0
    """
    return getattr(importlib.import_module(module), name)


def late_names(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports names from its modules when they are first used.

    >>> find = late_names("numbers", {"fractions": "Fraction", "decimal": "Decimal Context"})
    >>> find("Decimal")("1.50")
    Decimal('1.50')
    """
    modules = {name: module for module, several in names.items() for name in several.split()}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return imported(modules[name], name)

    return find


def needed_library(module: str, purpose: str, extra: str) -> Any:
    """Return an optional library, or say which extra installs it.

    >>> needed_library("math", "roots", "study").sqrt(4.0)
    2.0
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise StateError(
            f'{purpose} need {library}: install it with pip install "whippletree[{extra}]" ({error})'
        ) from None


class Verb:
    """A method of a class that is a function of a module which knows the class.

    >>> class Sample(list):
    ...     mean = Verb("statistics", "fmean")
    >>> Sample([1.0, 4.0]).mean()
    2.5
    """

    def __init__(self, module: str, function: str) -> None:
        self._module, self._function = module, function

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, whole: object | None, owner: type) -> Callable[..., Any]:
        function: Callable[..., object] = user_facing(imported(self._module, self._function))
        setattr(self._owner, self._name, function)  # a method like others from now on
        return function if whole is None else MethodType(function, whole)
