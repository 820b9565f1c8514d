"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from whippletree.errors import ResultError, StateError
from whippletree.spatial.scalars import shown

__all__ = ["as_path", "write_whole"]


def as_path(path: Any) -> Path:
    """Return the path of a file.

    >>> as_path("run.nc").name
    'run.nc'
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise StateError(f"the path of a file must be text, got {shown(path)}")
    try:
        return Path(os.fspath(path)).expanduser()
    except (TypeError, RuntimeError) as error:
        raise StateError(f"the path of a file must be text, got {shown(path)}: {error}") from None


def write_whole(path: Any, write: Callable[[BinaryIO], None], *, private: bool = False) -> Path:
    """Write a file beside its place, then move it there: what was there stays until the new one is complete.

    A `private` one is for its owner only.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", lambda file: print(file.write(b"abc"))).read_bytes()
    3
    b'abc'
    """
    named = as_path(path)
    try:
        place = named.resolve()  # what a link points to is replaced, not the link
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        beside = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}.part")
        with beside.open("xb") as file:
            try:
                if private:
                    os.fchmod(file.fileno(), 0o600)
                write(file)
                file.flush()
                os.fsync(file.fileno())
                file.close()
                os.replace(beside, place)  # noqa: PTH105 - tests of interrupted writing stand in for it
            except BaseException:
                with contextlib.suppress(OSError):
                    file.close()
                with contextlib.suppress(OSError):
                    beside.unlink()
                raise
    except (OSError, ValueError) as error:
        if isinstance(error, ResultError | StateError):
            raise
        why = getattr(error, "strerror", None) or error
        raise ResultError(
            f"{named} could not be written ({why}); the run is still in memory, and a file that was there is "
            f"as it was: write to another folder, or make room"
        ) from error
    return named
