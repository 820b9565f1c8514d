"""Hashes of the package itself and of formulations from elsewhere, on which everything kept on disk depends."""

from __future__ import annotations

import functools
import hashlib
import inspect
import marshal
from pathlib import Path
from typing import Any

from whippletree._version import __version__
from whippletree.formulations.methods.formulation import Formulation

__all__ = ["outside_source", "source_key"]


_TRACE_NOTHING = frozenset({"analysis", "cli", "equilibria", "files", "kinematics", "linear", "results", "viewer"})
"""Rooms that ask for code but write none: what is kept on disk does not depend on them."""


@functools.cache
def source_key() -> str:
    """Return a hash of the package's version and of the source that traces and time loops come from.

    >>> len(source_key())
    64
    """
    digest = hashlib.sha256(__version__.encode())
    package = Path(__file__).parents[1]
    for room in sorted(path for path in package.iterdir() if path.is_dir() and path.name not in _TRACE_NOTHING):
        for path in sorted(room.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def outside_source(formulation: Formulation) -> str:
    """Return a digest of what a formulation is written in, if that is not this package.

    >>> from whippletree.formulations.methods import find
    >>> outside_source(find("penalty"))
    ''
    """
    tree = formulation.tree
    parts = [formulation.solve, *((tree.accelerations, tree.driving_forces, tree.reactions) if tree else ())]
    digests = {_written_in(getattr(part, "func", part)) for part in parts if part is not None}
    return " ".join(sorted(digests - {""}))


def _written_in(function: Any) -> str:
    """Return a digest of a function's file, or of the function itself where there is none."""
    path = Path(inspect.getfile(function))
    if path.is_relative_to(Path(__file__).parents[1]):
        return ""
    text = path.read_bytes() if path.is_file() else marshal.dumps(function.__code__)
    return hashlib.sha256(text).hexdigest()
