"""Named arrays of numbers in which zeros are part of the form: the data of large body kinds.

An array is kept as the positions of its nonzeros, which are text, and their values, which are numbers of the body. So
zeros cost nothing where equations are traced, bodies with the same zeros share traced code, and the data is written,
hashed and pickled like that of every other element (`elements.declaration`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

from whippletree.elements.declaration import ANY, Declared, part, quantity
from whippletree.foundation.arrays import Array
from whippletree.foundation.once import made_once
from whippletree.spatial.scalars import Scalar

__all__ = ["ArrayStore", "SparseArray"]


class SparseArray(NamedTuple):
    """An array by its nonzeros: for tables that are too large to be written out."""

    shape: tuple[int, ...]
    positions: npt.NDArray[np.int64]  # in the flattened array, ascending
    values: Array

    @classmethod
    def of(cls, array: Array) -> SparseArray:
        """Return the nonzeros of an array.

        >>> SparseArray.of(np.array([[0.0, 2.0]])).positions
        array([1])
        """
        flat = np.ravel(array)
        positions = np.flatnonzero(flat)
        return cls(np.shape(array), positions, flat[positions])

    @classmethod
    def stacked(cls, blocks: Sequence[Array | SparseArray]) -> SparseArray:
        """Return blocks one above the other, along the first dimension.

        >>> SparseArray.stacked([np.zeros((2, 1)), np.ones((1, 1))]).positions
        array([2])
        """
        found = [block if isinstance(block, SparseArray) else cls.of(block) for block in blocks]
        rest = found[0].shape[1:]
        starts = np.cumsum([0, *(block.shape[0] for block in found)])
        positions = [block.positions + start * math.prod(rest) for block, start in zip(found, starts, strict=False)]
        values = np.concatenate([block.values for block in found])
        return cls((int(starts[-1]), *rest), np.concatenate(positions), values)

    @classmethod
    def zeros(cls, *shape: int) -> SparseArray:
        """Return an array of zeros."""
        return cls(shape, np.zeros(0, dtype=np.int64), np.zeros(0))


class _Slot(NamedTuple):
    """Where the nonzeros of an array are: in it, and among the values."""

    shape: tuple[int, ...]
    positions: tuple[int, ...]
    start: int


@dataclass(frozen=True, eq=False)
class ArrayStore(Declared):
    """Arrays by name, as their nonzeros.

    >>> store = ArrayStore.of_arrays({"stiffness": np.diag([4.0, 9.0])})
    >>> store.values, store.array("stiffness").tolist()
    ((4.0, 9.0), [[4.0, 0.0], [0.0, 9.0]])
    """

    layout: str = part(str)
    values: tuple[Scalar, ...] = quantity(size=ANY)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array | SparseArray]) -> ArrayStore:
        """Return a store of these arrays."""
        layout, values = [], []
        for name, given in arrays.items():
            found = given if isinstance(given, SparseArray) else SparseArray.of(given)
            layout.append([name, list(found.shape), found.positions.tolist()])
            values += found.values.tolist()
        return cls(json.dumps(layout, separators=(",", ":")), tuple(values))

    def __contains__(self, name: str) -> bool:
        return name in self._slots

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arrays, in their order."""
        return tuple(self._slots)

    def array(self, name: str) -> Array:
        """Return an array of numbers."""
        slot = self._slots[name]
        flat = np.zeros(math.prod(slot.shape))
        flat[list(slot.positions)] = self.values[slot.start : slot.start + len(slot.positions)]
        return flat.reshape(slot.shape)

    def matrix(self, name: str) -> ca.SX:
        """Return an array as a sparse matrix whose columns are along its last dimension; a vector is a column.

        >>> ArrayStore.of_arrays({"cross": np.arange(12.0).reshape(2, 3, 2)}).matrix("cross").shape
        (6, 2)
        """
        return self._matrices[name]

    @made_once
    def _slots(self) -> dict[str, _Slot]:
        return _slots_of(self.layout)

    @made_once
    def _matrices(self) -> dict[str, ca.SX]:
        return {name: _matrix(slot, self.values) for name, slot in self._slots.items()}

    def only(self, *names: str) -> ArrayStore:
        """Return a store of some of the arrays.

        >>> ArrayStore.of_arrays({"a": np.ones(2), "b": np.ones(3)}).only("b").values
        (1.0, 1.0, 1.0)
        """
        layout, values = [], list[Scalar]()
        for name in names:
            slot = self._slots[name]
            layout.append([name, list(slot.shape), list(slot.positions)])
            values += self.values[slot.start : slot.start + len(slot.positions)]
        return ArrayStore(json.dumps(layout, separators=(",", ":")), tuple(values))


@lru_cache(maxsize=256)
def _slots_of(layout: str) -> dict[str, _Slot]:
    found, start = {}, 0
    for name, shape, positions in json.loads(layout):
        found[name] = _Slot(tuple(shape), tuple(positions), start)
        start += len(positions)
    return found


def _matrix(slot: _Slot, values: tuple[Scalar, ...]) -> ca.SX:
    """Return the sparse matrix of a slot, over numbers or symbols."""
    columns = slot.shape[-1] if len(slot.shape) > 1 else 1
    rows = math.prod(slot.shape) // columns if columns else math.prod(slot.shape[:-1])
    here = values[slot.start : slot.start + len(slot.positions)]
    i, j = np.divmod(np.array(slot.positions, dtype=int), max(columns, 1))
    order = np.lexsort((i, j))  # CasADi keeps nonzeros column by column
    pattern = ca.Sparsity.triplet(rows, columns, i.tolist(), j.tolist())
    return ca.SX(pattern, ca.vertcat(*(here[k] for k in order))) if here else ca.SX(rows, columns)
