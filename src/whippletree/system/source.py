"""A hash of the package itself, on which everything that is kept on disk depends."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from whippletree._version import __version__

__all__ = ["source_key"]


@functools.cache
def source_key() -> str:
    """Return a hash of the package's version and source, on which every trace depends.

    >>> len(source_key())
    64
    """
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
