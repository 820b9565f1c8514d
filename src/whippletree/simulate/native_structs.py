"""Structs of arrays that machine code is handed as one address.

A struct is a table in memory: an address and two sizes for each array. Machine code reads from it what it needs, and
sees arrays that it does not own, so that no references are counted.

A struct is a class with annotations, and its fields are read in Python and in machine code alike.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

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
    "struct_named",
]

Numbers: TypeAlias = Array
NumberTable: TypeAlias = Array
Words: TypeAlias = Any
WordTable: TypeAlias = Any
Number: TypeAlias = int
Address: TypeAlias = int

KINDS: dict[str, tuple[Any, int]] = {
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
        table = np.zeros((len(self.fields), WORDS_PER_FIELD), dtype=np.int64)
        for row, (name, kind), value in zip(table, self.fields.items(), values, strict=True):
            dtype, ndim = KINDS[kind]
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


def struct_named(name: str) -> type[NativeStruct]:
    """Return the struct of this name.

    >>> class Triple(NativeStruct):
    ...     values: Numbers
    >>> struct_named("Triple") is Triple
    True
    """
    return next(one for one in reversed(NativeStruct.__subclasses__()) if one.__name__ == name)
