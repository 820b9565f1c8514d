"""Files that are written whole or not at all: if the disk is full or the program killed, the old one is there still."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["replace_file"]

_SUFFIX = ".whippletree-part"
"""How names of files end that are being written."""

_FORGOTTEN = 3600.0
"""Seconds after which a file that nobody goes on writing was left behind by a program that was killed."""


def replace_file(path: Path, write: Callable[[BinaryIO], object], *, private: bool = False) -> None:
    """Write a file beside its place, on the disk, then move it there: the old file stays until the new one is whole.

    A `private` one is for its owner only. Whatever goes wrong is raised as it is, and leaves nothing behind; what
    earlier programs left in the folder that were killed is removed, an hour later.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_file(Path(folder) / "a.txt", lambda file: file.write(b"abc"))
    ...     [(file.name, file.read_bytes()) for file in Path(folder).iterdir()]
    [('a.txt', b'abc')]
    """
    place = path.resolve()  # what a link points to is replaced, not the link
    _remove_forgotten(place.parent)
    beside = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}{_SUFFIX}")
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


def _remove_forgotten(folder: Path) -> None:
    """Remove the temporary files that killed programs have left in a folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for one in found:
            if one.name.endswith(_SUFFIX) and one.stat(follow_symlinks=False).st_mtime < time.time() - _FORGOTTEN:
                Path(one.path).unlink(missing_ok=True)
