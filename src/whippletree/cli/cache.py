"""`whippletree cache clear` and `cache prune`, and the cache in words."""

from __future__ import annotations

import os
import warnings

from whippletree.errors import CacheError, CacheWarning
from whippletree.foundation.short_text import counted
from whippletree.kernels.cache import open_cache

__all__ = ["cache_in_words", "clear", "prune", "size_in_words"]


def clear() -> None:
    """Remove all compiled code and say how much it was."""
    cache = open_cache()
    if cache is None:
        print("There is no cache of compiled code, so there is nothing to clear.")
        return
    entries, size = cache.size()
    cache.clear()
    print(f"Removed {size_in_words(entries, size)} from {cache.folder}")


def prune(limit: float) -> None:
    """Remove the least recently used entries until the cache has at most so many megabytes; print the size removed."""
    cache = open_cache()
    if cache is None:
        print("There is no cache of compiled code, so there is nothing to remove.")
        return
    removed = cache.prune(int(limit * 1e6))
    print(f"Removed {size_in_words(*removed)} from {cache.folder}; it has {size_in_words(*cache.size())}")


def cache_in_words() -> str:
    """Return the cache's folder with its contents, or why there is none."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", CacheWarning)
        try:
            cache = open_cache()
        except CacheError as error:
            return f"cannot be used: {error}"
    if cache is not None:
        return f"{cache.folder} ({size_in_words(*cache.size())})"
    if told:
        return f"off: {told[0].message}"
    return f"off: the environment variable WHIPPLETREE_CACHE is {os.environ.get('WHIPPLETREE_CACHE', '')!r}"


def size_in_words(entries: int, size: int) -> str:
    """Return a number of entries and bytes for people.

    >>> size_in_words(1, 2_400_000)
    '1 entry, 2.4 MB'
    """
    unit, scale = ("MB", 1e6) if size >= 1e6 else ("kB", 1e3)
    return f"{counted(entries, 'entry')}, {size / scale:.1f} {unit}"
