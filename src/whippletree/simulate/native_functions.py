"""How functions of the time loops become machine code.

A function is `inner` if only machine code calls it, `bare` if it does not allocate either, an `entry` if Python calls
it, and `by_address` if machine code calls it by its address.

Numba puts all that a function calls into it, machine code and all, and optimises it there again. For functions that
call each other as those of the time loops do, that takes most of a minute. A function by address is compiled once,
and its callers read its address from a struct: the first argument has to be one that has a field of the function's
name, of the kind `Address`. The types of its arguments and of its result are those of its annotations.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from numba import njit
from numba import types as numba_types
from numba.core import cgutils
from numba.extending import intrinsic

from whippletree.simulate.native_structs import NativeStruct, field, native_type

__all__ = ["address", "bare", "by_address", "entry", "inner"]

# Numba's own functions say nothing of their types
types: Any = numba_types
_helpers: Any = cgutils

_CODE: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = _CODE | {"no_cpython_wrapper": True}
_BARE: dict[str, Any] = _INNER | {"_nrt": False}


def entry(function: Callable[..., Any]) -> Any:
    """Return a function that Python calls."""
    return njit(**_CODE)(function)


def inner(function: Callable[..., Any]) -> Any:
    """Return a function that only machine code calls."""
    return njit(**_INNER)(function)


def bare(function: Callable[..., Any]) -> Any:
    """Return one that allocates nothing and does not count references to its arrays, which would take more time."""
    return njit(**_BARE)(function)


_BY_ADDRESS: dict[str, FunctionByAddress] = {}


def by_address(function: Callable[..., Any]) -> Any:
    """Return a function that machine code calls by its address."""
    made = FunctionByAddress(function)
    _BY_ADDRESS[made.name] = made
    return made.call


def address(name: str) -> int:
    """Return the address of a function, which is compiled when it is first asked for."""
    return _BY_ADDRESS[name].address


class FunctionByAddress:
    """A function, and how it is called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        self._compiler = inner(function)
        self._function = function
        self.call = intrinsic(self._called())

    @functools.cached_property
    def signature(self) -> Any:
        """The types of the result and of the arguments."""
        given = inspect.signature(self._function)
        arguments = [_type(str(one.annotation)) for one in given.parameters.values()]
        return _type(str(given.return_annotation))(*arguments)

    @functools.cached_property
    def address(self) -> int:
        """The address of its machine code."""
        arguments = self.signature.args
        self._compiler.compile(arguments)
        made = self._compiler.overloads[arguments]
        if made.signature.return_type != self.signature.return_type:
            raise TypeError(f"{self.name} returns {made.signature.return_type}, not {self.signature.return_type}")
        return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))

    def _called(self) -> Callable[..., Any]:
        """Return how a call is typed, and how its code is made."""

        def typed(context: Any, *arguments: Any) -> Any:
            signature = self.signature

            def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
                convention = context.call_conv
                kind = convention.get_function_type(sig.return_type, sig.args)
                number = field(builder, sig.args[0], values[0], self.name)
                code = builder.inttoptr(number, kind.as_pointer())
                status, result = convention.call_function(builder, code, sig.return_type, sig.args, values)
                with _helpers.if_unlikely(builder, status.is_error):
                    convention.return_status_propagate(builder, status)
                return result

            return signature, generate

        given = list(inspect.signature(self._function).parameters.values())
        first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        typed.__signature__ = inspect.Signature([first, *given])  # type: ignore[attr-defined]
        return typed


def _type(annotation: str) -> Any:
    """Return the type that an annotation means."""
    plain = {"float": types.float64, "int": types.int64, "bool": types.boolean, "None": types.none}
    if annotation in plain:
        return plain[annotation]
    if annotation.startswith("tuple["):
        parts = annotation.removeprefix("tuple[").removesuffix("]").split(", ")
        return types.Tuple([_type(part) for part in parts])
    of_array = native_type(annotation)
    if of_array is not None:
        return of_array
    return next(one for one in NativeStruct.__subclasses__() if one.__name__ == annotation)._numba_type_
