"""Structs of arrays that machine code is handed as one address.

A struct is a table in memory: an address and two sizes for each array. Machine code reads from it what it needs, and
sees arrays that it does not own, so that no references are counted.

A struct is a class with annotations, and its fields are read in Python and in machine code alike.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from whippletree.kernels.kernel import Array

__all__ = [
    "KINDS",
    "WORDS_PER_FIELD",
    "Address",
    "NativeStruct",
    "Number",
    "NumberTable",
    "Numbers",
    "WordTable",
    "Words",
    "array_words",
    "struct_named",
]

Numbers: TypeAlias = Array
NumberTable: TypeAlias = Array
Words: TypeAlias = npt.NDArray[np.int64]
WordTable: TypeAlias = npt.NDArray[np.int64]
Number: TypeAlias = int
Address: TypeAlias = int

KINDS: dict[str, tuple[type[np.float64 | np.int64], int]] = {
    "Numbers": (np.float64, 1),
    "NumberTable": (np.float64, 2),
    "Words": (np.int64, 1),
    "WordTable": (np.int64, 2),
    "Number": (np.int64, 0),
    "Address": (np.int64, 0),
}
"""What the annotation of a field means: the type of its numbers, and of how many dimensions it is an array."""

WORDS_PER_FIELD = 3
"""The words of the table for each field: an address and two sizes, or the number itself."""


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
    owner: object = None  # what else has to live as long as the struct: addresses in it point there

    def __init_subclass__(cls) -> None:
        cls.fields = {name: str(kind) for name, kind in cls.__annotations__.items()}

    def __init__(self, *values: Array | Words | int) -> None:
        words: list[int] = []
        for (name, kind), value in zip(self.fields.items(), values, strict=True):
            setattr(self, name, value)
            numbers = (int(value),) if isinstance(value, int | np.integer) else array_words(value, kind)
            words += (*numbers, 0, 0)[:WORDS_PER_FIELD]
        self.table = np.array(words, dtype=np.int64)
        self.address = _address_of(self.table)

    def put(self, name: str, array: Array | Words) -> None:
        """Let a field be another array of its kind; the struct stays where it is.

        >>> class Single(NativeStruct):
        ...     values: Numbers
        >>> one = Single(np.zeros(3))
        >>> one.put("values", np.ones(5))
        >>> one.values.size, int(one.table[1])
        (5, 5)
        """
        setattr(self, name, array)
        at = WORDS_PER_FIELD * list(self.fields).index(name)
        numbers = array_words(array, self.fields[name])
        self.table[at : at + len(numbers)] = numbers


def array_words(array: Array | Words, kind: str) -> tuple[int, ...]:
    """Return the address and the sizes of an array, which has to be of a kind.

    >>> array_words(np.zeros((2, 3)), "NumberTable")[1:]
    (2, 3)
    """
    dtype, dimensions = KINDS[kind]
    if array.dtype != dtype or array.ndim != dimensions or not array.flags.c_contiguous:
        raise TypeError(f"{kind} must be a contiguous array, not {array.dtype}, {array.ndim}-dimensional")
    return _address_of(array), *array.shape


def _address_of(array: Array | Words) -> int:
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))  # three times as fast as by its interface
    except (TypeError, ValueError):  # nothing in it, or not to be written
        return int(array.__array_interface__["data"][0])


def struct_named(name: str) -> type[NativeStruct]:
    """Return the struct of this name.

    >>> class Triple(NativeStruct):
    ...     values: Numbers
    >>> struct_named("Triple") is Triple
    True
    """
    named = (one for one in reversed(NativeStruct.__subclasses__()) if one.__name__ == name)
    return next(named)  # not empty: names come from the structs themselves
