"""Archives of plain arrays by name, NumPy's npz, from files that may come from anywhere.

Nothing in a file is run, and its arrays take no more memory than is allowed before any of them is unpacked: pickled
objects, arrays that say they are larger than they are, and whatever else is no array of plain numbers is refused.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import BinaryIO

import numpy as np

from whippletree.foundation.arrays import AnyArray

__all__ = ["ArchiveError", "plain_arrays"]

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class ArchiveError(Exception):
    """The bytes are not those of an archive of plain arrays."""


def plain_arrays(file: BinaryIO, *, most_arrays: int, most_bytes: int | None = None) -> dict[str, AnyArray]:
    """Return all arrays of an archive; unless so many bytes are allowed, they are not compressed.

    >>> file = io.BytesIO()
    >>> np.savez(file, mass=np.eye(2))
    >>> plain_arrays(file, most_arrays=10)["mass"].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    size = file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > most_arrays or len({one.filename for one in members}) < len(members):
            raise ArchiveError("it has too many arrays, or one twice")
        kinds = (zipfile.ZIP_STORED,) if most_bytes is None else (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if any(one.compress_type not in kinds or one.flag_bits & 1 for one in members):
            raise ArchiveError("its arrays are compressed, or locked")
        if sum(max(one.file_size, one.compress_size) for one in members) > (size if most_bytes is None else most_bytes):
            allowed = "the file" if most_bytes is None else f"the {most_bytes / 1e6:.0f} MB that are allowed"
            raise ArchiveError(f"its arrays are larger than {allowed}")
        return {one.filename.removesuffix(".npy"): _array(archive.read(one)) for one in members}


def _array(data: bytes) -> AnyArray:
    """Return the array in the bytes of an npy file."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ArchiveError(f"an array has the version {version}")
    shape, by_columns, dtype = _HEADERS[version](stream, max_header_size=10_000)
    if dtype.hasobject or dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ArchiveError("an array holds something else than plain numbers")
    rest = data[stream.tell() :]
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(rest):
        raise ArchiveError("an array is not as large as it says")
    return np.frombuffer(rest, dtype=dtype).reshape(shape, order="F" if by_columns else "C").copy()
