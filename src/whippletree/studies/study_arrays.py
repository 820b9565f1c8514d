"""Arrays of a study over its cases, read and written chunk by chunk: in memory, in a folder, or wherever Zarr writes.

Zarr takes about a millisecond for a chunk, most of it in threads that wait for each other. In a folder, a chunk of
numbers that are not compressed is a file of just these numbers: it is written here as Zarr does it, beside its place
and then moved there, in a tenth of the time.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from whippletree.foundation.arrays import AnyArray

__all__ = ["ChunkArray", "FolderArray", "MemoryArray", "ZarrArray", "chunk_array"]

Region = tuple[slice, ...]


class ChunkArray(Protocol):
    """An array whose first dimensions are those of the cases; a `region` of these is a chunk."""

    def read(self, region: Region) -> AnyArray:
        """Return a chunk."""

    def write(self, region: Region, values: AnyArray) -> None:
        """Replace a chunk."""

    def whole(self) -> AnyArray:
        """Return all chunks; those not written yet are filled in."""


class MemoryArray:
    """An array in memory.

    >>> array = MemoryArray(np.zeros(3))
    >>> array.write((slice(1, 3),), np.ones(2))
    >>> array.whole()
    array([0., 1., 1.])
    """

    def __init__(self, values: AnyArray) -> None:
        self._values = values

    def read(self, region: Region) -> AnyArray:
        """Return a chunk."""
        return self._values[region]

    def write(self, region: Region, values: AnyArray) -> None:
        """Replace a chunk."""
        self._values[region] = values

    def whole(self) -> AnyArray:
        """Return all chunks."""
        seen = self._values.view()
        seen.flags.writeable = False
        return seen


class ZarrArray:
    """An array that Zarr reads and writes, wherever it is and however it is encoded."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def read(self, region: Region) -> AnyArray:
        """Return a chunk."""
        return np.asarray(self._array[region])

    def write(self, region: Region, values: AnyArray) -> None:
        """Replace a chunk."""
        self._array[region] = values

    def whole(self) -> AnyArray:
        """Return all chunks."""
        return np.asarray(self._array[...])


class FolderArray:
    """An array of Zarr in a folder, whose numbers are stored as they are."""

    def __init__(self, array: Any, root: Path) -> None:
        self._folder, self._key = root / array.path, array.metadata.encode_chunk_key
        self._shape, self._chunk = tuple(array.shape), tuple(array.chunks)
        self._kind, self._fill = array.dtype.newbyteorder("<"), array.fill_value

    def read(self, region: Region) -> AnyArray:
        """Return a chunk."""
        block = self._read(self._place(region))
        return self._empty(tuple(part.stop - part.start for part in region)) if block is None else block[_cut(region)]

    def write(self, region: Region, values: AnyArray) -> None:
        """Replace a chunk."""
        if values.shape != self._chunk:  # the last one is as large as the others
            block = self._empty(())
            block[_cut(region)] = values
            values = block
        file = self._folder / self._key(self._place(region))
        beside = file.with_name(f"{file.name}.{secrets.token_hex(8)}.partial")
        data = values.astype(self._kind, copy=False).tobytes()
        try:
            try:
                beside.write_bytes(data)
            except FileNotFoundError:  # the first chunk of this folder
                file.parent.mkdir(parents=True, exist_ok=True)
                beside.write_bytes(data)
            os.replace(beside, file)  # noqa: PTH105 - as in all files that are written whole
        except BaseException:
            beside.unlink(missing_ok=True)
            raise

    def whole(self) -> AnyArray:
        """Return all chunks."""
        found = np.full(self._shape, self._fill, dtype=self._kind)
        counts = [-(-size // own) for size, own in zip(self._shape, self._chunk, strict=True)]
        for place in np.ndindex(*counts):
            block = self._read(place)
            if block is not None:
                region = tuple(
                    slice(k * own, min((k + 1) * own, size))
                    for k, own, size in zip(place, self._chunk, self._shape, strict=True)
                )
                found[region] = block[_cut(region)]
        return found

    def _place(self, region: Region) -> tuple[int, ...]:
        """Return which chunk a region is, along each dimension; along those of an output there is one."""
        first = tuple(part.start // own for part, own in zip(region, self._chunk, strict=False))
        return first + (0,) * (len(self._shape) - len(first))

    def _read(self, place: tuple[int, ...]) -> AnyArray | None:
        try:
            data = (self._folder / self._key(place)).read_bytes()
        except FileNotFoundError:
            return None
        return np.frombuffer(data, dtype=self._kind).reshape(self._chunk)

    def _empty(self, first: tuple[int, ...]) -> AnyArray:
        """Return an array of so many cases, and as many as in a chunk along further dimensions, that is not written."""
        return np.full(first + self._chunk[len(first) :], self._fill, dtype=self._kind)


def _cut(region: Region) -> Region:
    """Return the part of a chunk that is within the array."""
    return tuple(slice(0, part.stop - part.start) for part in region)


def chunk_array(array: Any, codecs: Sequence[Any]) -> ChunkArray:
    """Return an array of Zarr; it is written without Zarr where it is a folder and its codecs leave numbers alone."""
    root = getattr(array.store, "root", None)
    plain = [type(one).__name__ for one in codecs] == ["BytesCodec"]
    return FolderArray(array, root) if plain and isinstance(root, Path) else ZarrArray(array)
