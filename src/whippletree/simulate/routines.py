"""Functions of machine code that are called by their addresses.

Numba puts all that a function calls into it, machine code and all, and optimises it there again. For functions that
call each other as those of the time loops do, that takes most of a minute. A routine is compiled once, and who calls it
reads its address from a bundle: the first argument has to be one that has a field of the routine's name, of the kind
`Address`. The types of its arguments and of its result are those of its annotations.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from whippletree.simulate.bundles import Bundle, field, kind_of, type_of

__all__ = ["address", "routine"]

_ROUTINES: dict[str, Routine] = {}


def routine(function: Callable[..., Any]) -> Any:
    """Return a function that machine code calls by its address."""
    made = Routine(function)
    _ROUTINES[made.name] = made
    return made.call


def address(name: str) -> int:
    """Return the address of a routine, which is compiled if nobody has asked for it yet."""
    return _ROUTINES[name].address


class Routine:
    """A function, and how it is called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        options: dict[str, Any] = {"cache": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self._compiler = njit(**options)(function)
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
                with cgutils.if_unlikely(builder, status.is_error):
                    convention.return_status_propagate(builder, status)
                return result

            return signature, generate

        return typed


def _type(annotation: str) -> Any:
    """Return the type that an annotation means."""
    plain = {"float": types.float64, "int": types.int64, "bool": types.boolean, "None": types.none}
    if annotation in plain:
        return plain[annotation]
    if annotation.startswith("tuple["):
        parts = annotation.removeprefix("tuple[").removesuffix("]").split(", ")
        return types.Tuple([_type(part) for part in parts])
    of_array = kind_of(annotation)
    if of_array is not None:
        return of_array
    return type_of(next(one for one in Bundle.__subclasses__() if one.__name__ == annotation))
