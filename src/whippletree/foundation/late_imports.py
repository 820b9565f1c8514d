"""Imports that wait until a name is first used.

Names of a package that not everybody needs are imported late (`late_names`), and so are the verbs that a class offers
although their work is done in a room that is built on it. `mechanism.build()` makes a `System`, and
`system.simulate(...)` a `Trajectory`: conveniences, whose rooms import the class and not the other way round. The
function there is written, typed and documented once, and the class names it:

    if TYPE_CHECKING:
        import whippletree.studies

    class System:
        simulate = Verb(lambda: whippletree.studies.simulate)

Its first argument is the object. Type checkers and editors follow the name; when the program runs, the module that it
says is imported when the verb is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from whippletree.errors import StateError
from whippletree.foundation.user_frames import user_facing

__all__ = ["Verb", "imported", "late_names", "needed_library"]

P = ParamSpec("P")
R = TypeVar("R")


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


class _Name:
    """A name with dots, of which each attribute is a longer one."""

    def __init__(self, whole: str) -> None:
        self.whole = whole

    def __getattr__(self, name: str) -> _Name:
        return _Name(f"{self.whole}.{name}")


class Verb(Generic[P, R]):
    """A method of a class that is a function of a module which knows the class.

    It is given as a lambda that names the function, with the whole name of its module, which need not be imported.

    >>> class Sample(list):
    ...     mean = Verb(lambda: statistics.fmean)
    >>> Sample([1.0, 4.0]).mean()
    2.5
    """

    def __init__(self, named: Callable[[], Callable[Concatenate[Any, P], R]]) -> None:
        code = cast(FunctionType, named).__code__
        package = code.co_names[0]
        name: _Name = FunctionType(code, {package: _Name(package)})()
        self._module, _, self._function = name.whole.rpartition(".")

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    @overload
    def __get__(self, whole: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...
    @overload
    def __get__(self, whole: object, owner: type) -> Callable[P, R]: ...
    def __get__(self, whole: object | None, owner: type) -> Callable[..., R]:
        function: Callable[..., R] = user_facing(imported(self._module, self._function))
        setattr(self._owner, self._name, function)  # a method like others from now on
        return function if whole is None else MethodType(function, whole)
