"""The disk cache of machine code.

An entry is a set of named byte strings in one file, whose name is the hash of everything the code depends on. Machine
code is loaded only from a folder and from files that belong to the user and that no one else can write. Files are
written beside their place and moved into it, so that processes that work at the same time never see half a file, and
each carries a checksum of what is in it and of what it was made for, so that one that is damaged, or that came to be in
the place of another, is made again.

A cache holds at most 2 GB: beyond that, entries that were used least recently are removed.

The environment variable WHIPPLETREE_CACHE names another folder, or says `off`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from whippletree.errors import CacheError, CacheWarning
from whippletree.foundation.log import log
from whippletree.foundation.user_frames import warn

__all__ = ["DiskCache", "default_folder", "open_cache"]

LIMIT = 2_000_000_000
"""Largest size of the cache, in bytes: beyond it, the least recently used entries are removed."""

_SHARE = 0.9
"""Share of the limit that remains when entries are removed, so that removals are rare."""

_FRESH = 3600.0
"""Seconds within which an entry's last use is not noted again."""

_ABANDONED = 86400.0
"""Seconds after which a half-written file is that of a process that was killed."""

_MAGIC = b"whippletree 2\n"
_DIGEST = 32
"""Bytes of a SHA-256 digest."""

_OFF = ("off", "0", "none")


def default_folder() -> Path:
    """Return the folder used when WHIPPLETREE_CACHE does not name one.

    >>> default_folder().name
    'whippletree'
    """
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "whippletree"


def open_cache() -> DiskCache | None:
    """Return the cache as the environment asks for it, or None if there is none.

    A folder that was named but cannot be used is an error; the default one is only warned about.
    """
    named = os.environ.get("WHIPPLETREE_CACHE", "").strip()
    if named:
        return None if named.lower() in _OFF else DiskCache(Path(named))
    try:
        return DiskCache(default_folder(), required=False)
    except (CacheError, RuntimeError) as error:  # RuntimeError: no home folder
        warn(f"compiled code will not be kept: {error}", CacheWarning)
        return None


class DiskCache:
    """A folder of compiled code, private to the user.

    Code that cannot be written is an error if the folder is `required`, else a warning.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = DiskCache(Path(folder) / "cache")
    ...     cache.store("key", {"code": b"123"})
    ...     cache.load("key")
    {'code': b'123'}
    """

    def __init__(self, folder: Path, *, required: bool = True) -> None:
        self._required = required
        self._bytes: int | None = None  # of all entries; counted when the first is added
        try:
            self.folder = folder.expanduser().absolute()
        except RuntimeError as error:
            raise _cache_error(folder, f"cannot be found ({error})") from None
        self._kernels = self.folder / "kernels"
        self._prepare()

    def _prepare(self) -> None:
        """Make the folders, and insist that they are the user's own."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._kernels.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise self._error(f"cannot be made ({error.strerror})") from error
        _require_private(self.folder, 0o022)
        _require_private(self._kernels, 0o077)
        if not os.access(self._kernels, os.W_OK | os.X_OK):
            raise self._error("is read-only")

    def _error(self, problem: str) -> CacheError:
        return _cache_error(self.folder, problem)

    def path(self, key: str) -> Path:
        """Return the file of a key."""
        return self._kernels / (hashlib.sha256(key.encode()).hexdigest() + ".wt")

    def load(self, key: str) -> dict[str, bytes] | None:
        """Return an entry, or None if it is not there or cannot be trusted."""
        path = self.path(key)
        data = _read_private(path)
        log("cache", f"{'not there' if data is None else 'found'}: {path.name}", detail=True)
        if data is None:
            return None
        _note_use(path)
        entry = _decode(path.stem, data)
        if entry is None:
            warn(f"{path} was damaged and is made again", CacheWarning)
        return entry

    def store(self, key: str, entry: Mapping[str, bytes]) -> None:
        """Keep an entry; one that is there is replaced whole."""
        import tempfile  # costs more than all else here, and is needed only where something is made

        path = self.path(key)
        if not self._kernels.is_dir():  # the cache was cleared by removing its folder
            self._prepare()
        try:
            handle, temporary = tempfile.mkstemp(dir=self._kernels, suffix=".part")  # mode 0600
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_encode(path.stem, entry))
                os.replace(temporary, path)  # noqa: PTH105 - tests of full disks stand in for it
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()
                raise
        except OSError as error:
            problem = self._error(f"cannot be written ({error.strerror})")
            if self._required:
                raise problem from error
            warn(f"compiled code will not be kept: {problem}", CacheWarning)
            return
        self._stay_bounded(path)

    def _stay_bounded(self, new: Path) -> None:
        """Remove the least recently used entries if the cache has grown beyond its limit; the new entry stays."""
        if self._bytes is None:
            self._bytes = self.size()[1]
        else:
            self._bytes += _bytes_of(new)
        if self._bytes > LIMIT:
            self.prune(int(_SHARE * LIMIT))

    def prune(self, limit: int = LIMIT) -> tuple[int, int]:
        """Remove the entries that were used least recently until the others have at most `limit` bytes.

        Return how many were removed, and their bytes. Other processes may be loading them: one that finds an entry gone
        makes it again.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cache = DiskCache(Path(folder) / "cache")
        ...     cache.store("key", {"code": bytes(1000)})
        ...     cache.prune(10_000)[0], cache.prune(100)[0], cache.size()
        (0, 1, (0, 0))
        """
        for half in self._kernels.glob("*.part"):
            if (info := _info(half)) is not None and time.time() - info.st_mtime > _ABANDONED:
                _remove(half)
        known = ((file, _info(file)) for file in self._kernels.glob("*.wt"))
        entries = sorted((info.st_mtime, file, info.st_size) for file, info in known if info is not None)
        left, removed = sum(size for _, _, size in entries), 0
        count = 0
        for _, file, size in entries:
            if left <= limit:
                break
            if _remove(file):
                left, removed, count = left - size, removed + size, count + 1
        self._bytes = left
        if count:
            log("cache", f"{count} entries with {removed} bytes were removed from {self.folder}")
        return count, removed

    def size(self) -> tuple[int, int]:
        """Return the number of entries and their bytes."""
        sizes = [info.st_size for file in self._kernels.glob("*.wt") if (info := _info(file)) is not None]
        return len(sizes), sum(sizes)

    def clear(self) -> None:
        """Remove all entries."""
        for file in (*self._kernels.glob("*.wt"), *self._kernels.glob("*.part")):
            if not file.is_dir():  # that is nothing of ours
                file.unlink(missing_ok=True)
        self._bytes = None


def _info(file: Path) -> os.stat_result | None:
    """Return the system's data about a file, None if another process has removed it."""
    try:
        return file.lstat()
    except OSError:
        return None


def _bytes_of(file: Path) -> int:
    info = _info(file)
    return 0 if info is None else info.st_size


def _remove(file: Path) -> bool:
    """Remove a file of ours; return whether it is gone. Where open files cannot be removed it stays."""
    try:
        file.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _note_use(file: Path) -> None:
    """Let the time of an entry's file be that of its last use, to within an hour."""
    info = _info(file)
    if info is not None and time.time() - info.st_mtime > _FRESH:
        with contextlib.suppress(OSError):
            os.utime(file)


def _cache_error(folder: Path, problem: str) -> CacheError:
    """Return an error about the folder of the cache, with the ways out."""
    return CacheError(
        f"the folder for compiled code, {folder}, {problem}; give it to yourself alone (chmod 700), "
        f"set WHIPPLETREE_CACHE to another folder, or to `off` to work without"
    )


def _require_private(folder: Path, forbidden: int) -> None:
    """Raise unless a folder belongs to the user and is closed to others."""
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode):
        raise _cache_error(folder, "is not a folder")
    if os.name != "posix":
        return
    if info.st_uid != os.geteuid():
        raise _cache_error(folder, "belongs to another user")
    if info.st_mode & forbidden:
        raise _cache_error(folder, "is open to other users")


def _read_private(path: Path) -> bytes | None:
    """Return the contents of a file of the user's own, or None."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
    except OSError:
        return None
    try:
        info = os.fstat(handle)
        trusted = stat.S_ISREG(info.st_mode)
        if os.name == "posix":
            trusted = trusted and info.st_uid == os.geteuid() and not info.st_mode & 0o077
        if not trusted:
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


def _encode(name: str, entry: Mapping[str, bytes]) -> bytes:
    """Return magic, checksum, a table of contents, and the parts."""
    contents = json.dumps([[name, len(part)] for name, part in entry.items()]).encode()
    payload = len(contents).to_bytes(8, "little") + contents + b"".join(entry.values())
    return _MAGIC + _digest(name, payload) + payload


def _digest(name: str, payload: bytes) -> bytes:
    """Return the checksum of an entry's payload and of the name of its file, the hash of its key."""
    return hashlib.sha256(name.encode() + payload).digest()


def _decode(name: str, data: bytes) -> dict[str, bytes] | None:
    """Return the parts, or None if anything is not as it was written to the file of this name."""
    start = len(_MAGIC) + _DIGEST
    payload = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or _digest(name, payload) != data[len(_MAGIC) : start]:
        return None
    length = int.from_bytes(payload[:8], "little")
    position, entry = 8 + length, {}
    for part, size in json.loads(payload[8 : 8 + length]):
        entry[part] = payload[position : position + size]
        position += size
    return entry
