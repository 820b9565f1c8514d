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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from whippletree.simulate.native_structs import KINDS, NativeStruct

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


def cast_to(struct: type[Struct]) -> Callable[[int], Struct]:
    """Return a function of machine code that reads an address as that of such a struct."""

    def struct_at(address: int) -> Struct:
        raise NotImplementedError(f"only machine code finds {struct.__name__} at an address")

    CASTS.append((struct_at, struct))
    return struct_at


def entry(function: Callable[Given, Result]) -> EntryPoint[Given, Result]:
    """Mark a function that Python calls; the interpreter's lock is free while it runs."""
    return EntryPoint(_marked("entry", function))


class EntryPoint(Generic[Given, Result]):
    """Machine code that is called from Python.

    It is handed addresses and numbers: a struct is an address, an array is an address and its sizes. It returns a
    status, which is zero if it came to its end, and writes its result to where the first argument says.
    """

    def __init__(self, function: Callable[Given, Result]) -> None:
        self.symbol = MarkedFunction("entry", function).symbol
        self._function = function
        functools.update_wrapper(self, function)

    @functools.cached_property
    def _forms(self) -> tuple[tuple[str, ...], type[Any] | None]:
        """The annotations of arguments, and the kind of the result."""
        given = inspect.signature(self._function)
        result = {"int": ctypes.c_int64, "bool": ctypes.c_int64, "float": ctypes.c_double, "None": None}
        return tuple(str(one.annotation) for one in given.parameters.values()), result[str(given.return_annotation)]

    @functools.cached_property
    def code(self) -> Callable[..., int]:
        """The machine code as a function of addresses and numbers, the first of them that of the result."""
        from whippletree.simulate.loop_code import address

        kinds: list[Any] = [ctypes.c_void_p]
        for annotation in self._forms[0]:
            dimensions = KINDS[annotation][1] if annotation in KINDS else 0
            number = {"float": ctypes.c_double, "int": ctypes.c_int64, "bool": ctypes.c_int64}
            kinds += [ctypes.c_void_p, *[ctypes.c_int64] * dimensions] if dimensions else []
            kinds += [] if dimensions else [number.get(annotation, ctypes.c_void_p)]
        return ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(address(self.symbol))

    def __call__(self, *arguments: Given.args, **named: Given.kwargs) -> Result:
        """Run the machine code."""
        words: list[Any] = []
        for value in arguments:
            if isinstance(value, NativeStruct):
                words.append(value.address)
            elif isinstance(value, int | float):
                words.append(value)
            else:
                words += (value.__array_interface__["data"][0], *value.shape)
        kind = self._forms[1]
        result: Any = None if kind is None else kind()
        if self.code(None if result is None else ctypes.byref(result), *words):
            raise MemoryError(f"there is not enough memory for {self.symbol}")
        return None if result is None else result.value  # type: ignore[return-value]
