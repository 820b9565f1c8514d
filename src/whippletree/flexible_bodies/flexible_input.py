"""Checked input for flexible bodies: positive numbers, choices, counts, points, text files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import FileError, ModelError
from whippletree.flexible_bodies.flexible_tolerances import LARGEST_EXTENT
from whippletree.foundation.arrays import Array
from whippletree.foundation.output_paths import checked_path, obstacle
from whippletree.foundation.whole_files import replace_file
from whippletree.spatial.scalars import number, shown

__all__ = ["Array", "choice", "count", "file_text", "points", "positive", "write_text"]

SparseMatrix: TypeAlias = Any
"""A sparse matrix of SciPy's, whose library says no types, or an array."""


def positive(value: object, what: str) -> float:
    """Read a positive plain number.

    >>> positive(2, "length")
    2.0
    """
    read = number(value, what)
    if read <= 0.0:
        raise ModelError(f"{what} must be positive, got {read:g}")
    return read


def extent(value: object, what: str) -> float:
    """Read a length whose fourth power is still a number, in metres.

    >>> extent(0.1, "radius")
    0.1
    """
    read = positive(value, what)
    if read > LARGEST_EXTENT:
        raise ModelError(f"{what} must be at most {LARGEST_EXTENT:g} m, got {read:g}")
    return read


def choice(value: object, known: Sequence[str], what: str) -> str:
    """Read one of several words.

    >>> choice("free", ("cantilever", "free"), "reference")
    'free'
    """
    if not isinstance(value, str) or value not in known:
        raise ModelError(f"{what} must be one of {', '.join(map(repr, known))}, got {shown(value)}")
    return value


def count(value: object, what: str, least: int = 1, most: int | None = None) -> int:
    """Read a whole number that is not below the least, nor above the most.

    >>> count(10, "elements")
    10
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or int(value) < least:
        raise ModelError(f"{what} must be a whole number, at least {least}, got {shown(value)}")
    if most is not None and value > most:
        raise ModelError(f"{what} must be at most {most}, got {shown(value)}")
    return int(value)


def points(value: ArrayLike, what: str, least: int = 1) -> Array:
    """Read points as an array (n, 3) of finite numbers.

    >>> points([(0, 0, 0), (1, 0, 0)], "stations").shape
    (2, 3)
    """
    try:
        read = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be points with three numbers each, got {shown(value)}") from None
    if read.ndim != 2 or read.shape[1] != 3 or len(read) < least:
        raise ModelError(f"{what} must be at least {least} points with three numbers each; its shape is {read.shape}")
    if not np.isfinite(read).all():
        row = int(np.flatnonzero(~np.isfinite(read).all(axis=1))[0])
        raise ModelError(f"{what}: point {row} is not finite: {shown(read[row].tolist())}")
    return read


def file_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file; a `FileError` names a path that is none or a file that cannot be read."""
    with _told_of(path):
        named = Path(os.fspath(path))
        if named.exists() and not named.is_file():
            raise FileError(f"{named}: this is no file")
        return named.read_text(encoding="utf-8", errors="replace")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all; a `FileError` names a path that is none or cannot be written."""
    with _told_of(path):
        named = checked_path(path)
        if obstacle(named):
            raise FileError(f"{named}: this is {obstacle(named)}, which a file must not take the place of")
        replace_file(named, lambda file: file.write(text.encode("utf-8")))


@contextmanager
def _told_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system, and of paths that are none, into a `FileError`."""
    try:
        yield
    except FileError:
        raise
    except (TypeError, ValueError, OSError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"{path if isinstance(path, str | os.PathLike) else shown(path)}: {why}") from None
