"""Checks of paths for output: whether a file may go there, and whether two paths lead to the same file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

__all__ = ["LONGEST_PATH", "checked_path", "obstacle", "same_place"]

LONGEST_PATH = 4096
"""Characters of a path: systems allow no more."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def checked_path(path: Any) -> Path:
    """Return a path; one that is none, or that no system allows, is a TypeError or a ValueError.

    >>> checked_path("m.yaml").name
    'm.yaml'
    """
    text = os.fspath(path)
    if len(text) > LONGEST_PATH:
        raise ValueError(f"a path has {LONGEST_PATH} characters at most")
    return Path(text)


def obstacle(place: Path) -> str:
    """Return the kind of object, after links, that stands in a file's place and must not be replaced; "" if none does.

    >>> obstacle(Path("/")), obstacle(Path("/no such file"))
    ('a folder', '')
    """
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError):
        return ""  # there is nothing; whether a file can be made there is for the writing to find out
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "something else than a file")


def same_place(one: Any, other: Any) -> bool:
    """Return True if two paths lead to the same file, which need not exist; anything that is no path leads nowhere.

    >>> same_place("a/../run.nc", "run.nc"), same_place("run.nc", "run.csv")
    (True, False)
    """
    try:
        paths = [Path(path).expanduser() for path in (one, other)]
        if all(path.exists() for path in paths):
            return paths[0].samefile(paths[1])
        return paths[0].resolve() == paths[1].resolve()
    except (OSError, ValueError, RuntimeError, TypeError):
        return False
