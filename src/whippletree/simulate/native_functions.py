"""Marks on the functions of the time loops, which are written in Python and run as machine code.

A function is `inner` if only machine code calls it, `bare` if it does not allocate either, `by_address` if machine code
calls it by its address, and an `entry` if Python calls it. What cannot be said in Python is an `instruction`, and is
written out in LLVM's language by `loop_compiler`.

A mark changes nothing: a function stays what it was in Python. Numba, which makes machine code of it (see
`loop_compiler`), works before the package is installed. What it made is loaded by `loop_code`.

Functions by address are compiled once, however many others call them: these read the address from a struct, the first
argument, which has to have a field of the function's name, of the kind `Address`. If a function is `declared`, there
is only its form, and methods put the addresses of their own ones there. The types of arguments and results are those
of the annotations: structs, arrays as in `native_structs`, and numbers.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from whippletree.simulate.native_structs import KINDS, NativeStruct, array_words

__all__ = [
    "CASTS",
    "MARKED",
    "EntryPoint",
    "MarkedFunction",
    "bare",
    "by_address",
    "cast_to",
    "declared",
    "entry",
    "inner",
    "instruction",
]

Given = ParamSpec("Given")
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])
Struct = TypeVar("Struct", bound=NativeStruct)


@dataclass(frozen=True)
class MarkedFunction:
    """A function of the time loops, and its mark."""

    mark: str
    function: Callable[..., Any]

    @property
    def symbol(self) -> str:
        """Its name in machine code; that of an entry, which is known in its module only, with the module's name."""
        name = self.function.__name__
        return f"{self.function.__module__.rpartition('.')[2]}.{name}" if self.mark == "entry" else name


MARKED: list[MarkedFunction] = []
"""All functions with a mark, in the order in which modules were loaded."""

CASTS: list[tuple[Callable[[int], NativeStruct], type[NativeStruct]]] = []
"""Functions that `cast_to` returned, and their structs."""


def _marked(mark: str, function: Function) -> Function:
    MARKED.append(MarkedFunction(mark, function))
    return function


def inner(function: Function) -> Function:
    """Mark a function that only machine code calls."""
    return _marked("inner", function)


def bare(function: Function) -> Function:
    """Mark one that allocates nothing and does not count references to its arrays, which would take more time."""
    return _marked("bare", function)


def by_address(function: Function) -> Function:
    """Mark a function that machine code calls by its address."""
    return _marked("by_address", function)


def declared(function: Function) -> Function:
    """Mark the form of functions that machine code calls by an address in a struct."""
    return _marked("declared", function)


def instruction(function: Function) -> Function:
    """Mark what is written out in LLVM's language, under this name."""
    return _marked("instruction", function)


def cast_to(wanted: type[Struct]) -> Callable[[int], Struct]:
    """Return a function of machine code that reads an address as that of such a struct."""

    def struct_at(address: int) -> Struct:
        raise NotImplementedError(f"only machine code finds {wanted.__name__} at an address")

    CASTS.append((struct_at, wanted))
    return struct_at


def entry(function: Callable[Given, Result]) -> EntryPoint[Given, Result]:
    """Mark a function that Python calls; the interpreter's lock is free while it runs."""
    return EntryPoint(_marked("entry", function))


class EntryPoint(Generic[Given, Result]):
    """Machine code that is called from Python.

    It is handed the address of a table of words: a struct is its address, an array its address and its sizes, a number
    is itself. It returns a status, which is zero if it came to its end, and writes its result where it is told to.
    """

    def __init__(self, function: Callable[Given, Result]) -> None:
        self.symbol = MarkedFunction("entry", function).symbol
        self._function = function
        functools.update_wrapper(self, function)

    @functools.cached_property
    def _kinds(self) -> tuple[str, ...]:
        """The annotations of the arguments."""
        return tuple(str(one.annotation) for one in inspect.signature(self._function).parameters.values())

    @functools.cached_property
    def _packed(self) -> Callable[..., bytes]:
        """How words become a table."""
        words = ("d" if kind == "float" else "q" * (1 + KINDS.get(kind, (None, 0))[1]) for kind in self._kinds)
        return struct.Struct("=" + "".join(words)).pack

    @functools.cached_property
    def _result(self) -> tuple[type[Any], Callable[[Any], Any]]:
        """How a result is written, and what Python makes of it."""
        forms: dict[str, tuple[type[Any], Callable[[Any], Any]]]
        forms = {"float": (ctypes.c_double, float), "int": (ctypes.c_int64, int), "bool": (ctypes.c_int64, bool)}
        return forms.get(str(inspect.signature(self._function).return_annotation), (ctypes.c_int64, lambda _: None))

    @functools.cached_property
    def _code(self) -> Callable[..., int]:
        from whippletree.simulate.loop_code import address

        return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)(address(self.symbol))

    def __call__(self, *arguments: Given.args, **named: Given.kwargs) -> Result:
        """Run the machine code."""
        words: list[Any] = []
        given: tuple[Any, ...] = arguments
        for kind, value in zip(self._kinds, given, strict=True):
            if kind in KINDS:
                words += array_words(value, kind)
            else:
                words.append(value.address if isinstance(value, NativeStruct) else value)
        written, meant = self._result
        result = written()
        if self._code(self._packed(*words), ctypes.byref(result)):
            raise MemoryError(f"there is not enough memory for {self.symbol}")
        return meant(result.value)  # type: ignore[no-any-return]
