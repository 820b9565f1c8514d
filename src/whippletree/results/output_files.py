"""Paths of files of results, and errors of writing them in words."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from whippletree.errors import ResultError, StateError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.output_paths import LONGEST_PATH, obstacle
from whippletree.foundation.whole_files import replace_file
from whippletree.spatial.scalars import shown

__all__ = ["as_path", "existing_file", "new_file", "write_whole"]


def as_path(path: Any) -> Path:
    """Return the path of a file.

    >>> as_path("run.nc").name
    'run.nc'
    """
    try:
        text = os.fspath(path)
        plain = isinstance(path, str | os.PathLike) and 0 < len(text) <= LONGEST_PATH and "\0" not in text
    except Exception:  # whatever it raises, it is no path
        plain = False
    if not plain:
        raise StateError(f"the path of a file must be text of at most {LONGEST_PATH} characters, got {shown(path)}")
    try:
        return Path(os.fspath(path)).expanduser()
    except (TypeError, RuntimeError) as error:
        raise StateError(f"the path of a file must be text, got {shown(path)}: {error}") from None


def existing_file(path: FilePath) -> Path:
    """Return the path of a file to be read; refuse pipes and devices, of which there may be no end.

    >>> existing_file("run.nc").name
    'run.nc'
    """
    named = as_path(path)
    what = obstacle(named)
    if what:
        raise ResultError(f"{named} is {what}, and not a file")
    return named


def new_file(path: FilePath) -> Path:
    """Return the path of a file to be written; refuse a folder that is missing, and paths of things that are no files.

    >>> new_file("run.nc").name
    'run.nc'
    """
    named = as_path(path)
    what = obstacle(named)
    if what:
        raise ResultError(f"{named} is {what}, which a file must not take the place of: name another file")
    if not named.absolute().parent.is_dir():
        raise ResultError(f"{named}: there is no folder {named.absolute().parent}")
    return named


def write_whole(path: FilePath, write: Callable[[BinaryIO], None], *, private: bool = False) -> Path:
    """Write a file of results, whole or not at all (see `replace_file`); a `private` one is for its owner only.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", lambda file: print(file.write(b"abc"))).read_bytes()
    3
    b'abc'
    """
    named = new_file(path)
    try:
        replace_file(named, write, private=private)
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, ResultError | StateError):
            raise
        why = getattr(error, "strerror", None) or error
        raise ResultError(
            f"{named} could not be written ({why}); the run is still in memory, and a file that was there is "
            f"as it was: write to another folder, or make room"
        ) from error
    return named
