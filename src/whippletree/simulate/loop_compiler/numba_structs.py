"""What structs, and arrays in them, are to Numba."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.typing import templates
from numba.np import arrayobj

from whippletree.simulate.native_structs import KINDS, WORDS_PER_FIELD, NativeStruct, struct_named

NumbaObject: TypeAlias = Any
"""A type, context or signature of Numba's, whose library says no types."""

__all__ = ["NativeStructType", "array_at", "field", "type_of_annotation", "type_of_struct"]

# Numba's own functions say nothing of their types
_numba: NumbaObject = extending
_types: NumbaObject = types
_arrays: NumbaObject = arrayobj
_helpers: NumbaObject = cgutils
_Attributes: NumbaObject = templates.AttributeTemplate
_WORD = ir.IntType(64)


class NativeStructType(types.Type):
    """The type of a struct in machine code: it is its fields."""

    def __init__(self, name: str, fields: dict[str, str]) -> None:
        self.fields = fields
        super().__init__(name=f"{name}({', '.join(f'{field}: {kind}' for field, kind in fields.items())})")

    def of(self, name: str) -> NumbaObject:
        """Return the type of a field."""
        return type_of_annotation(self.fields[name])


def type_of_struct(struct: type[NativeStruct]) -> NativeStructType:
    """Return the type of a struct, by which Numba knows it at once from then on."""
    if "_numba_type_" not in struct.__dict__:
        struct._numba_type_ = NativeStructType(struct.__name__, struct.fields)  # type: ignore[attr-defined]
    return struct._numba_type_  # type: ignore[attr-defined,no-any-return]


def type_of_annotation(annotation: str) -> NumbaObject:
    """Return the type that an annotation means: a number, an array, a struct, or a tuple of numbers.

    >>> type_of_annotation("Numbers")
    Array(float64, 1, 'C', False, aligned=True)
    """
    plain = {"float": _types.float64, "int": _types.int64, "bool": _types.boolean, "None": _types.none}
    if annotation in plain:
        return plain[annotation]
    if annotation.startswith("tuple["):
        parts = annotation.removeprefix("tuple[").removesuffix("]").split(", ")
        return _types.Tuple([type_of_annotation(part) for part in parts])
    if annotation in KINDS:
        dtype, dimensions = KINDS[annotation]
        kind = _types.float64 if dtype is np.float64 else _types.int64
        return _types.Array(kind, dimensions, "C") if dimensions else kind
    return type_of_struct(struct_named(annotation))


def field(builder: ir.IRBuilder, kind: NativeStructType, value: ir.Value, name: str, offset: int = 0) -> ir.Value:
    """Return the code that reads a number of a field from the table, which stays as it is while machine code runs."""
    place = WORDS_PER_FIELD * list(kind.fields).index(name) + offset
    number = builder.load(builder.gep(builder.bitcast(value, _WORD.as_pointer()), [ir.Constant(_WORD, place)]))
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number


def array_at(
    context: NumbaObject, builder: ir.IRBuilder, kind: NumbaObject, address: ir.Value, shape: Sequence[ir.Value]
) -> ir.Value:
    """Return the code that makes an array, without an owner, of an address and its sizes."""
    array = _arrays.make_array(kind)(context, builder)
    strides = [_WORD(8)] if len(shape) == 1 else [builder.mul(shape[1], _WORD(8)), _WORD(8)]
    _arrays.populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=_helpers.pack_array(builder, shape),
        strides=_helpers.pack_array(builder, strides),
        itemsize=_WORD(8),
        meminfo=None,
    )
    return array._getvalue()


class _StructFields(_Attributes):  # type: ignore[misc]
    key = NativeStructType

    def generic_resolve(self, kind: NativeStructType, field: str) -> NumbaObject:
        return kind.of(field) if field in kind.fields else None


def _read(context: NumbaObject, builder: ir.IRBuilder, kind: NativeStructType, value: ir.Value, name: str) -> ir.Value:
    """Return the code that reads a field: a number, or an array without an owner."""
    array_kind, first = kind.of(name), field(builder, kind, value, name)
    if not isinstance(array_kind, types.Array):
        return first
    shape = [field(builder, kind, value, name, 1 + i) for i in range(array_kind.ndim)]
    return array_at(context, builder, array_kind, first, shape)


def _unboxed(kind: NativeStructType, value: ir.Value, c: NumbaObject) -> NumbaObject:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return _numba.NativeValue(address)


_numba.register_model(NativeStructType)(_numba.models.OpaqueModel)
_numba.infer_getattr(_StructFields)
_numba.lower_getattr_generic(NativeStructType)(_read)
_numba.unbox(NativeStructType)(_unboxed)
_numba.typeof_impl.register(NativeStruct)(lambda struct, _: type_of_struct(type(struct)))
