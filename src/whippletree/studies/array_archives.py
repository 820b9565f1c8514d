"""Archives of plain arrays with a digest: NumPy's npz without pickled objects and without compression.

What is read may come from anywhere. Nothing in it is run, and it takes no more memory than the file itself: arrays that
are compressed, that say they are larger than they are, or that hold anything but numbers are refused before they are
unpacked. The digest (SHA-256 of all names, types, shapes and numbers) finds damage. It is no signature: whoever changes
a file on purpose can make its digest anew.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from whippletree.errors import ResultError
from whippletree.kernels.kernel import Array
from whippletree.spatial.scalars import shown

__all__ = ["read_archive", "write_archive"]

_DIGEST = "digest"
_MOST_ARRAYS = 100
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class _NotAnArchiveError(Exception):
    """The bytes are not those of an archive."""


def write_archive(file: BinaryIO, arrays: Mapping[str, Array]) -> None:
    """Write arrays by name, and their digest."""
    np.savez(file, **{**arrays, _DIGEST: np.frombuffer(_digest(arrays), dtype=np.uint8)})  # type: ignore[arg-type]


def read_archive(path: Path, what: str) -> dict[str, Array]:
    """Return the arrays of a file by name; `what` says what kind of file it should be."""
    try:
        with path.open("rb") as file:
            arrays = _arrays(file)
            digest = arrays.pop(_DIGEST, np.zeros(0))
            if digest.tobytes() != _digest(arrays):
                raise _NotAnArchiveError("its numbers do not have its digest")
            return arrays
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise ResultError(f"{path} takes more memory than there is") from None
    except Exception as error:  # whatever bytes make the reader raise that are not those that were written
        raise ResultError(f"{path} is not a {what}, or is damaged: {shown(str(error))[1:-1]}") from None


def _arrays(file: BinaryIO) -> dict[str, Array]:
    """Return all arrays of an archive, none of which takes more memory than it takes in the file."""
    size = file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > _MOST_ARRAYS or len({one.filename for one in members}) < len(members):
            raise _NotAnArchiveError("it has too many arrays, or one twice")
        if any(one.compress_type != zipfile.ZIP_STORED or one.flag_bits & 1 for one in members):
            raise _NotAnArchiveError("its arrays are compressed, or locked")
        if sum(max(one.file_size, one.compress_size) for one in members) > size:
            raise _NotAnArchiveError("its arrays are larger than the file")
        return {one.filename.removesuffix(".npy"): _array(archive.read(one)) for one in members}


def _array(data: bytes) -> Array:
    """Return the array in the bytes of an npy file."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise _NotAnArchiveError(f"an array has the version {version}")
    shape, fortran, dtype = _HEADERS[version](stream, max_header_size=10_000)
    if dtype.hasobject or dtype.kind not in "biuf" or dtype.itemsize > 8 or fortran:
        raise _NotAnArchiveError("an array holds something else than plain numbers, row by row")
    rest = data[stream.tell() :]
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(rest):
        raise _NotAnArchiveError("an array is not as large as it says")
    return np.frombuffer(rest, dtype=dtype).reshape(shape).copy()


def _digest(arrays: Mapping[str, Array]) -> bytes:
    """Return the digest of arrays by name."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        found.update(array.tobytes())
    return found.digest()
