"""Datasets as classic NetCDF files (64-bit offsets), which every NetCDF library reads; written and read in Python.

The classic format is a table of contents and the numbers, without compression. So what is read, which may come from
anywhere, takes no more memory than the file itself, and no library has to be trusted with it: every name, count and
place is checked against the file before it is followed. (HDF5, on which the newer format rests, has no such limits: a
few changed bytes let its library run without end.) The attribute `sha256` is a digest of the file with zeros in the
place of the digest; it finds damage. It is no signature: whoever changes a file on purpose can make it anew.

Text is stored as rows of bytes (UTF-8), along a dimension whose name begins with "string", as xarray does it.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from whippletree.errors import ResultError
from whippletree.foundation.arrays import AnyArray

if TYPE_CHECKING:
    import xarray as xr

T = TypeVar("T")

__all__ = ["decoded", "encoded"]

_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_CHAR, _DOUBLE = 2, 6
_TYPES = {1: ">i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8", 7: ">u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8"}
_WITHOUT_LARGE = 2  # the version with 64-bit offsets
_WITH_LARGE = 5  # the version whose sizes have 64 bits too
_LARGE = 2**31 - 4
"""Bytes of an array beyond which the format needs offsets of 64 bits."""

_MOST_DIMENSIONS = 32
"""Largest number of dimensions of an array in a file: as many as NumPy 1 had."""

_DIGEST = "sha256"
_NO_DIGEST = "0" * 64
_COORDINATES = "coordinates"


# ---------------------------------------------------------------------- writing


def encoded(data: xr.Dataset) -> bytes:
    """Return a dataset of numbers and text as the bytes of a file.

    >>> import xarray as xr
    >>> decoded(encoded(xr.Dataset({"q": ("time", [1.0, -0.0])})))["q"].values
    array([ 1., -0.])
    """
    arrays = {str(name): _stored(variable) for name, variable in data.variables.items()}
    sizes = {dim: size for dims, values, _ in arrays.values() for dim, size in zip(dims, values.shape, strict=True)}
    large = any(values.nbytes > _LARGE for _, values, _ in arrays.values())
    word = ">q" if large else ">i"
    along = " ".join(str(name) for name in data.coords if name not in data.dims)
    noted = {**data.attrs, **({_COORDINATES: along} if along else {}), _DIGEST: _NO_DIGEST}

    def header(begin: int) -> bytes:
        parts = [b"CDF", bytes([_WITH_LARGE if large else _WITHOUT_LARGE]), struct.pack(word, 0)]
        parts.append(_list(_DIMENSION, [_name(d, word) + struct.pack(word, n) for d, n in sizes.items()], word))
        parts.append(_attributes(noted, word))
        variables = []
        for name, (dims, values, notes) in arrays.items():
            kind = _CHAR if values.dtype.kind == "S" else _DOUBLE
            one = _name(name, word) + struct.pack(word, len(dims))
            one += b"".join(struct.pack(word, list(sizes).index(dim)) for dim in dims) + _attributes(notes, word)
            variables.append(
                one + struct.pack(">i", kind) + struct.pack(word, _padded(values)) + struct.pack(">q", begin)
            )
            begin += _padded(values)
        return b"".join([*parts, _list(_VARIABLE, variables, word)])

    start = header(len(header(0)))
    body = [values.tobytes() + bytes(_padded(values) - values.nbytes) for _, values, _ in arrays.values()]
    image = b"".join([start, *body])
    place = image.index(_NO_DIGEST.encode(), image.index(_name(_DIGEST, word)))
    return image[:place] + hashlib.sha256(image).hexdigest().encode() + image[place + len(_NO_DIGEST) :]


def _stored(variable: Any) -> tuple[tuple[str, ...], Any, dict[str, Any]]:
    """Return the dimensions of a variable, its numbers or bytes as they stand in the file, and its attributes."""
    values, dims, notes = np.asarray(variable.values), tuple(map(str, variable.dims)), dict(variable.attrs)
    if values.dtype.kind in "bfiu":
        return dims, np.ascontiguousarray(values, dtype=">f8").reshape(values.shape), notes
    texts = [str(one).encode() for one in values.ravel()]
    width = max([1, *map(len, texts)])
    rows = np.frombuffer(b"".join(text.ljust(width, b"\0") for text in texts), dtype="S1")
    return (*dims, f"string{width}"), rows.reshape(*values.shape, width), {**notes, "_Encoding": "utf-8"}


def _padded(values: AnyArray) -> int:
    """Return how many bytes values take, in whole words of four."""
    return -(-int(values.nbytes) // 4) * 4


def _list(kind: int, parts: list[bytes], word: str) -> bytes:
    return struct.pack(">i", kind if parts else 0) + struct.pack(word, len(parts)) + b"".join(parts)


def _name(text: str, word: str) -> bytes:
    data = text.encode()
    return struct.pack(word, len(data)) + data + bytes(-len(data) % 4)


def _attributes(notes: Mapping[Any, Any], word: str) -> bytes:
    parts = []
    for name, value in notes.items():
        text = isinstance(value, str)
        data = value.encode() if text else struct.pack(">d", float(value))
        head = _name(str(name), word) + struct.pack(">i", _CHAR if text else _DOUBLE)
        parts.append(head + struct.pack(word, len(data) if text else 1) + data + bytes(-len(data) % 4))
    return _list(_ATTRIBUTE, parts, word)


# ---------------------------------------------------------------------- reading


def decoded(image: bytes) -> xr.Dataset:
    """Return the dataset in the bytes of a file, with its digest checked; refuse files that `encoded` does not make."""
    import xarray as xr

    if image[:4] == b"\x89HDF":
        raise ResultError("it is in HDF5, as earlier versions wrote runs: load it with one of these, or with xarray")
    contents = _Contents(image)
    if contents.digest != _digest(image, contents.digest_at):
        raise ResultError("it is damaged or was changed: its bytes do not have its digest")
    along = f" {contents.notes.pop(_COORDINATES, '')} "  # names may have spaces
    coords = {n: v for n, v in contents.variables.items() if f" {n} " in along or n in contents.sizes}
    variables = {n: v for n, v in contents.variables.items() if n not in coords}
    return xr.Dataset(variables, coords, contents.notes)


def _digest(image: bytes, at: int) -> str:
    whole = hashlib.sha256(image[:at])
    whole.update(_NO_DIGEST.encode())
    whole.update(image[at + len(_NO_DIGEST) :])
    return whole.hexdigest()


class _Contents:
    """The table of contents of a file, each entry of it within the file."""

    def __init__(self, image: bytes) -> None:
        self._image, self._at = memoryview(image), 4
        if image[:3] != b"CDF" or image[3:4] not in (b"\x01", b"\x02", b"\x05"):
            raise ResultError("it is not a classic NetCDF file")
        self._word = ">q" if image[3] == _WITH_LARGE else ">i"
        self._offset = ">i" if image[3] == 1 else ">q"
        self._left = len(image)
        self.digest, self.digest_at = "", len(image)
        self._count()  # of records, of which there are none
        self._dimensions = self._list(_DIMENSION, lambda: (self._name(), self._count()))
        self.sizes = dict(self._dimensions)
        if len(self.sizes) < len(self._dimensions) or 0 in self.sizes.values():
            raise ResultError("its dimensions are not as they should be")
        self.notes = self._attributes()
        if self.notes.pop(_DIGEST, None) is None:
            raise ResultError("it is not a run: runs are written by run.save(path), with a digest")
        variables = self._list(_VARIABLE, self._variable)
        self.variables = dict(variables)
        if len(self.variables) < len(variables):
            raise ResultError("two variables in it have the same name")

    def _take(self, count: int) -> memoryview:
        if not 0 <= count <= len(self._image) - self._at:
            raise ResultError("it ends before its table of contents does")
        self._at += count
        return self._image[self._at - count : self._at]

    def _number(self, form: str) -> int:
        return int(struct.unpack(form, self._take(struct.calcsize(form)))[0])

    def _count(self) -> int:
        count = self._number(self._word)
        if count < 0:
            raise ResultError("its table of contents has a count below zero")
        return count

    def _name(self) -> str:
        size = self._count()
        text = str(self._take(size), "utf-8")
        self._take(-size % 4)
        return text

    def _list(self, kind: int, read: Callable[[], T]) -> list[T]:
        found, count = self._number(">i"), self._count()
        if found not in (0, kind) or (found == 0 and count) or 4 * count > len(self._image) - self._at:
            raise ResultError("its table of contents is not as it should be")
        return [read() for _ in range(count)]

    def _attributes(self) -> dict[str, Any]:
        return dict(self._list(_ATTRIBUTE, self._attribute))

    def _attribute(self) -> tuple[str, object]:
        name, kind, count = self._name(), self._kind(), self._count()
        at, size = self._at, count * kind.itemsize
        data = self._take(size)
        self._take(-size % 4)
        if kind.kind == "S":
            text = str(data, "utf-8")
            if name == _DIGEST and len(data) == len(_NO_DIGEST):
                self.digest, self.digest_at = text, at
            return name, text
        values = np.frombuffer(data, dtype=kind).tolist()
        return name, values[0] if len(values) == 1 else values

    def _kind(self) -> np.dtype[Any]:
        kind = self._number(">i")
        if kind not in _TYPES:
            raise ResultError(f"it has numbers of an unknown type, {kind}")
        return np.dtype(_TYPES[kind])

    def _variable(self) -> tuple[str, Any]:
        name, ndim = self._name(), self._count()
        which = [self._count() for _ in range(min(ndim, _MOST_DIMENSIONS + 1))]
        if ndim > _MOST_DIMENSIONS or any(i >= len(self._dimensions) for i in which):
            raise ResultError("a variable has dimensions that there are none of")
        notes, kind = self._attributes(), self._kind()
        self._count()  # of bytes, which follows from the dimensions
        begin, dims = self._number(self._offset), [self._dimensions[i] for i in which]
        shape = tuple(size for _, size in dims)
        size = math.prod(shape) * kind.itemsize
        self._left -= size  # no two variables may share bytes: together they are within the file
        if begin < 0 or begin + size > len(self._image) or self._left < 0:
            raise ResultError("a variable is larger than the file")
        values = np.frombuffer(self._image[begin : begin + size], dtype=kind).reshape(shape)
        names = [dim for dim, _ in dims]
        if kind.kind == "S":
            notes.pop("_Encoding", None)
            return name, (names[:-1], _texts(values), notes)
        return name, (names, values.astype(kind.newbyteorder("=")), notes)


def _texts(values: Any) -> Any:
    """Return rows of bytes as text."""
    if not values.ndim:
        raise ResultError("a text has no dimension")
    width = values.shape[-1]
    flat, found = values.tobytes(), np.empty(values.shape[:-1], dtype=object)
    for i in range(found.size):
        found.flat[i] = flat[i * width : (i + 1) * width].rstrip(b"\0").decode()
    return found
