"""What marked functions are to Numba, and the machine code that it makes of each.

Numba puts all that a function calls into it, machine code and all, and optimises it there again. For functions that
call each other as those of the time loops do, that takes most of a minute; so the larger ones are called by address.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing import templates

from whippletree.simulate.loop_compiler.numba_structs import (
    NativeStructType,
    NumbaObject,
    array_at,
    field,
    type_of_annotation,
    type_of_struct,
)
from whippletree.simulate.native_functions import CASTS, MARKED, MarkedFunction

__all__ = ["compiled", "library_of"]

# Numba's own functions say nothing of their types
_helpers: NumbaObject = cgutils
_types: NumbaObject = types
_templates: NumbaObject = templates
_word, _byte, _number = ir.IntType(64), ir.IntType(8), ir.DoubleType()
_KERNEL_WORDS = 6


class _NotYetCode(compiler.Compiler):
    """Numba's own compiler, which stops at LLVM's language."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)  # type: ignore[no-untyped-call]
        self.state.flags.no_compile = True

    def _compile_core(self) -> NumbaObject:
        made = super()._compile_core()  # type: ignore[no-untyped-call]
        known_by = list[NumbaObject]().append  # what Numba knows it by would be its machine code
        self.state.targetctx.insert_user_function(known_by, made.fndesc, [made.library])
        return made._replace(entry_point=known_by)


_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
    "pipeline_class": _NotYetCode,
}


_DISPATCHERS: list[NumbaObject] = []  # types do not keep them alive


def compiled(function: Callable[..., object]) -> NumbaObject:
    """Return a function that calls those of the time loops, as Numba compiles it for the types that it is called with.

    >>> from whippletree.simulate.kernel_calls import copy
    >>> import numpy as np
    >>> @compiled
    ... def doubled(x):
    ...     y = np.empty(2 * x.size)
    ...     copy(y, 0, x, 0, x.size)
    ...     copy(y, x.size, x, 0, x.size)
    ...     return y
    >>> doubled(np.array([1.0, 2.0]))
    array([1., 2., 1., 2.])
    """
    tell_numba()
    return njit(error_model="numpy")(function)


def library_of(marked: MarkedFunction) -> tuple[str, str]:
    """Return a function and all that is in it in LLVM's language, optimised, and the name that it has there."""
    tell_numba()
    signature = _signature(marked.function)
    dispatcher = njit(**_OPTIONS)(marked.function)
    dispatcher.compile(signature.args)
    made = dispatcher.overloads[signature.args]
    if made.signature.return_type != signature.return_type:
        raise TypeError(f"{marked.symbol} returns {made.signature.return_type}, not {signature.return_type}")
    with global_compiler_lock:
        if marked.mark == "entry":
            return _entry_library(marked, made), marked.symbol
        made.library.finalize()
        return made.library.get_llvm_str(), made.fndesc.llvm_func_name


def tell_numba() -> None:
    """Tell Numba what the marked functions are."""
    for marked in MARKED:
        if not hasattr(marked.function, "_numba_type_"):
            marked.function._numba_type_ = _type_of_function(marked)  # type: ignore[attr-defined]
    for function, struct in CASTS:
        if not hasattr(function, "_numba_type_"):
            function._numba_type_ = _written(function, _cast(type_of_struct(struct)))  # type: ignore[attr-defined]


def _type_of_function(marked: MarkedFunction) -> NumbaObject:
    if marked.mark == "instruction":
        return _written(marked.function, _INSTRUCTIONS[marked.function.__name__])
    if marked.mark in ("by_address", "declared"):
        return _written(marked.function, _call_by_address(marked.function))
    options = _OPTIONS | ({"_nrt": False} if marked.mark == "bare" else {})
    _DISPATCHERS.append(njit(**options)(marked.function))
    return _types.Dispatcher(_DISPATCHERS[-1])


def _signature(function: Callable[..., object]) -> NumbaObject:
    """Return the types of the result and of the arguments, as annotations say."""
    given = inspect.signature(function)
    arguments = [type_of_annotation(str(one.annotation)) for one in given.parameters.values()]
    return type_of_annotation(str(given.return_annotation))(*arguments)


# ---------------------------------------------------------------------- written out in LLVM's language


def _written(function: Callable[..., object], typed: Callable[..., object]) -> NumbaObject:
    """Return the type of a function whose calls are written out."""
    given = list(inspect.signature(function).parameters.values())
    first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    typed.__signature__ = inspect.Signature([first, *given])  # type: ignore[attr-defined]
    template = _templates.make_intrinsic_template(function, typed, function.__name__)
    _templates.infer(template)
    return _types.Function(template)


def _call_by_address(function: Callable[..., object]) -> Callable[..., object]:
    """Return how a call by address is typed, and how its code is made."""

    def generate(context: NumbaObject, builder: ir.IRBuilder, sig: NumbaObject, values: Sequence[ir.Value]) -> ir.Value:
        convention = context.call_conv
        kind = convention.get_function_type(sig.return_type, sig.args)
        number = field(builder, sig.args[0], values[0], function.__name__)
        code = builder.inttoptr(number, kind.as_pointer())
        status, result = convention.call_function(builder, code, sig.return_type, sig.args, values)
        with _helpers.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    return lambda context, *arguments: (_signature(function), generate)


def _cast(struct: NativeStructType) -> Callable[..., object]:
    """Return how an address is read as that of a struct."""

    def generate(context: NumbaObject, builder: ir.IRBuilder, sig: NumbaObject, values: Sequence[ir.Value]) -> ir.Value:
        return builder.inttoptr(values[0], context.get_value_type(sig.return_type))

    return lambda context, address: (struct(_types.int64), generate)


def _kernel_call(context: NumbaObject, kernel: NumbaObject) -> NumbaObject:
    """Call a kernel: an array of six addresses."""

    def generate(context: NumbaObject, builder: ir.IRBuilder, sig: NumbaObject, values: Sequence[ir.Value]) -> ir.Value:
        array, pointer = context.make_array(sig.args[0])(context, builder, values[0]), _byte.as_pointer()
        numbers = [builder.load(builder.gep(array.data, [_word(k)])) for k in range(_KERNEL_WORDS)]
        kind = ir.FunctionType(ir.VoidType(), [pointer] * (_KERNEL_WORDS - 1))
        code = builder.inttoptr(numbers[0], kind.as_pointer())
        builder.call(code, [builder.inttoptr(n, pointer) for n in numbers[1:]])
        return context.get_dummy_value()

    return _types.void(kernel), generate


def _kept_apart(context: NumbaObject) -> NumbaObject:
    """Keep the function that is being made from being copied into its callers."""

    def generate(context: NumbaObject, builder: ir.IRBuilder, sig: NumbaObject, values: Sequence[ir.Value]) -> ir.Value:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return _types.void(), generate


_INSTRUCTIONS: dict[str, Callable[..., object]] = {"call": _kernel_call, "not_inlined": _kept_apart}


# ---------------------------------------------------------------------- entries


def _entry_library(marked: MarkedFunction, made: NumbaObject) -> str:
    """Return the module of a function that Python calls with a table of words (see `EntryPoint`)."""
    context, kinds = made.target_context, made.signature.args
    library = context.codegen().create_library(marked.symbol)
    module = library.create_ir_module(marked.symbol)
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [_word.as_pointer()] * 2), marked.symbol)
    builder, (table, place) = ir.IRBuilder(function.append_basic_block()), function.args
    words = (builder.load(builder.gep(table, [_word(k)])) for k in itertools.count())
    values = [_argument(context, builder, kind, words) for kind in kinds]
    callee, returned = context.declare_function(module, made.fndesc), made.signature.return_type
    status, result = context.call_conv.call_function(builder, callee, returned, kinds, values)
    if returned != _types.none:
        result = builder.zext(result, _word) if returned == _types.boolean else result
        builder.store(result, builder.bitcast(place, result.type.as_pointer()))
    builder.ret(status.code)
    library.add_ir_module(module)
    library.add_linking_library(made.library)
    library.finalize()
    return str(library.get_llvm_str())


def _argument(context: NumbaObject, builder: ir.IRBuilder, kind: NumbaObject, words: Iterator[ir.Value]) -> ir.Value:
    """Return an argument, made of the next words of the table, as Numba knows it."""
    first = next(words)  # not empty: the table has all words of all arguments
    if isinstance(kind, types.Array):
        # not empty: they are counted above
        return array_at(context, builder, kind, first, [next(words) for _ in range(kind.ndim)])
    if isinstance(kind, NativeStructType):
        return builder.inttoptr(first, context.get_value_type(kind))
    if kind == _types.float64:
        return builder.bitcast(first, _number)
    return builder.trunc(first, ir.IntType(1)) if kind == _types.boolean else first
