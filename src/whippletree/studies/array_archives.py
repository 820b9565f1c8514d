"""Archives of plain arrays with a digest: NumPy's npz without pickled objects and without compression.

What is read may come from anywhere. Nothing in it is run, and it takes no more memory than the file itself: arrays that
are compressed, that say they are larger than they are, or that hold anything but numbers are refused before they are
unpacked. The digest (SHA-256 of all names, types, shapes and numbers) finds damage. It is no signature: whoever changes
a file on purpose can make its digest anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from whippletree.errors import ResultError
from whippletree.foundation.plain_archives import ArchiveError, plain_arrays
from whippletree.kernels.kernel import Array
from whippletree.spatial.scalars import shown

__all__ = ["read_archive", "write_archive"]

_DIGEST = "digest"
_MOST_ARRAYS = 100
"""Largest number of arrays in a file: a checkpoint has some thirty."""


def write_archive(file: BinaryIO, arrays: Mapping[str, Array]) -> None:
    """Write arrays by name, and their digest."""
    np.savez(file, **{**arrays, _DIGEST: np.frombuffer(_digest(arrays), dtype=np.uint8)})  # type: ignore[arg-type]


def read_archive(path: Path, what: str) -> dict[str, Array]:
    """Return the arrays of a file by name; error messages name the kind of file."""
    try:
        with path.open("rb") as file:
            arrays = plain_arrays(file, most_arrays=_MOST_ARRAYS)
            digest = arrays.pop(_DIGEST, np.zeros(0))
            if digest.tobytes() != _digest(arrays):
                raise ArchiveError("its numbers do not have its digest")
            return arrays
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise ResultError(f"{path} takes more memory than there is") from None
    except Exception as error:  # whatever bytes make the reader raise that are not those that were written
        raise ResultError(f"{path} is not a {what}, or is damaged: {shown(str(error))[1:-1]}") from None


def _digest(arrays: Mapping[str, Array]) -> bytes:
    """Return the digest of arrays by name."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        found.update(array.tobytes())
    return found.digest()
