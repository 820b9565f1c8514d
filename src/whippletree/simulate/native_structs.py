"""Structs of arrays that machine code is handed as one address.

Numba passes a tuple of arrays as seven numbers for each of them, to every function and from there to the next, and
takes long to compile that. A struct is a table in memory instead: an address and two sizes for each array. Machine code
reads from it what it needs, and sees arrays that it does not own, so that no references are counted.

A struct is a class with annotations, and its fields are read in Python and in machine code alike.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.typing import templates
from numba.np import arrayobj

from whippletree.kernels.kernel import Array

__all__ = [
    "Address",
    "NativeStruct",
    "Number",
    "NumberTable",
    "Numbers",
    "WordTable",
    "Words",
    "cast_to",
    "field",
    "native_type",
]

Numbers: TypeAlias = Array
NumberTable: TypeAlias = Array
Words: TypeAlias = Any
WordTable: TypeAlias = Any
Number: TypeAlias = int
Address: TypeAlias = int

_KINDS: dict[str, tuple[Any, int]] = {
    "Numbers": (np.float64, 1),
    "NumberTable": (np.float64, 2),
    "Words": (np.int64, 1),
    "WordTable": (np.int64, 2),
    "Number": (np.int64, 0),
    "Address": (np.int64, 0),
}
_WORDS = 3  # of the table for each field: an address and two sizes, or the number itself


class NativeStructType(types.Type):
    """The type of a struct in machine code: it is its fields."""

    def __init__(self, name: str, fields: tuple[tuple[str, str], ...]) -> None:
        self.fields = dict(fields)
        super().__init__(name=f"{name}({', '.join(f'{field}: {kind}' for field, kind in fields)})")

    def of(self, name: str) -> Any:
        """Return the type of a field."""
        return native_type(self.fields[name])


def native_type(annotation: str) -> Any:
    """Return what the annotation of a field is in machine code; None if it is no such annotation.

    >>> native_type("Numbers")
    Array(float64, 1, 'C', False, aligned=True)
    """
    if annotation not in _KINDS:
        return None
    dtype, ndim = _KINDS[annotation]
    kind = types.float64 if dtype is np.float64 else types.int64
    return types.Array(kind, ndim, "C") if ndim else kind


class NativeStruct:
    """Arrays by name. A subclass says what they are by annotations: see the names in this module.

    >>> class Pair(NativeStruct):
    ...     values: Numbers
    ...     count: Number
    >>> pair = Pair(np.zeros(3), 2)
    >>> pair.values.size, pair.count
    (3, 2)
    """

    fields: ClassVar[dict[str, str]] = {}
    _numba_type_: ClassVar[NativeStructType]  # by which Numba knows its type at once
    owner: object = None  # what else has to live as long as the struct: addresses in it point there

    def __init_subclass__(cls) -> None:
        cls.fields = {name: str(kind) for name, kind in cls.__annotations__.items()}
        cls._numba_type_ = NativeStructType(cls.__name__, tuple(cls.fields.items()))

    @classmethod
    def of(cls, last: Self | None, *values: Any) -> Self:
        """Return a struct of these arrays: the last one, if it is of them.

        >>> class One(NativeStruct):
        ...     values: Numbers
        >>> x = np.zeros(3)
        >>> one = One.of(None, x)
        >>> One.of(one, x) is one, One.of(one, np.zeros(3)) is one
        (True, False)
        """
        if last is not None and all(
            getattr(last, name) is value for name, value in zip(cls.fields, values, strict=True)
        ):
            return last
        return cls(*values)

    def __init__(self, *values: Any) -> None:
        table = np.zeros((len(self.fields), _WORDS), dtype=np.int64)
        for row, (name, kind), value in zip(table, self.fields.items(), values, strict=True):
            dtype, ndim = _KINDS[kind]
            setattr(self, name, value)
            if not ndim:
                row[0] = value
                continue
            if value.dtype != dtype or value.ndim != ndim or not value.flags.c_contiguous:
                raise TypeError(f"{type(self).__name__}.{name} is {value.dtype}, {value.ndim}-dimensional")
            row[0] = value.__array_interface__["data"][0]
            row[1 : 1 + ndim] = value.shape
        self.table = table
        self.address = int(table.__array_interface__["data"][0])


# Numba's own functions say nothing of their types
_numba: Any = extending
_arrays: Any = arrayobj
_helpers: Any = cgutils
_Attributes: Any = templates.AttributeTemplate

_numba.register_model(NativeStructType)(_numba.models.OpaqueModel)


def _unboxed(kind: NativeStructType, value: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return _numba.NativeValue(address)


class _StructFields(_Attributes):  # type: ignore[misc]
    key = NativeStructType

    def generic_resolve(self, kind: NativeStructType, field: str) -> Any:
        return kind.of(field) if field in kind.fields else None


def field(builder: Any, kind: NativeStructType, value: Any, name: str, offset: int = 0) -> Any:
    """Return the code that reads a number of a field from the table, which stays as it is while machine code runs."""
    word = ir.IntType(64)
    place = _WORDS * list(kind.fields).index(name) + offset
    number = builder.load(builder.gep(builder.bitcast(value, word.as_pointer()), [ir.Constant(word, place)]))
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number


def _read(context: Any, builder: Any, kind: NativeStructType, value: Any, name: str) -> Any:
    """Return the code that reads a field: a number, or an array without an owner."""
    word, array_kind = ir.IntType(64), kind.of(name)
    if not isinstance(array_kind, types.Array):
        return field(builder, kind, value, name)
    array = _arrays.make_array(array_kind)(context, builder)
    shape = [field(builder, kind, value, name, 1 + i) for i in range(array_kind.ndim)]
    strides = [ir.Constant(word, 8)] if len(shape) == 1 else [builder.mul(shape[1], word(8)), word(8)]
    _arrays.populate_array(
        array,
        data=builder.inttoptr(field(builder, kind, value, name), array.data.type),
        shape=_helpers.pack_array(builder, shape),
        strides=_helpers.pack_array(builder, strides),
        itemsize=word(8),
        meminfo=None,
    )
    return array._getvalue()


def cast_to(struct: type[NativeStruct]) -> Any:
    """Return a function of machine code that reads an address as that of such a struct."""

    def typed(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            return builder.inttoptr(values[0], context.get_value_type(sig.return_type))

        return struct._numba_type_(types.int64), generate

    return _numba.intrinsic(typed)


_numba.unbox(NativeStructType)(_unboxed)
_numba.infer_getattr(_StructFields)
_numba.lower_getattr_generic(NativeStructType)(_read)
