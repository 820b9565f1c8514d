"""Where the folders of packages are to which model files refer, as in `package://name/...` and `model://name/...`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from whippletree.errors import FileError
from whippletree.files.file_limits import LEVELS_ABOVE
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.output_paths import checked_path
from whippletree.spatial.scalars import shown

__all__ = ["PackageFolders", "checked_packages"]

_VARIABLES = {"ROS_PACKAGE_PATH": "", "AMENT_PREFIX_PATH": "share", "GZ_SIM_RESOURCE_PATH": ""}
"""Variables of the environment that list folders, and the folder below each that holds packages."""

_SCHEMES = ("package://", "model://")


class PackageFolders:
    """The folders of packages: those that the caller gives, by name or by their parents, and those around the file.

    A package is a folder of its name: given, in or among those of ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and
    GZ_SIM_RESOURCE_PATH, above the model file, or beside one of the folders above it.

    >>> PackageFolders({"arm": Path("/robots/arm_v2")}, []).split("package://arm/meshes/hand.stl")
    ('arm', 'meshes/hand.stl')
    """

    def __init__(self, named: Mapping[str, Path], folders: Sequence[Path]) -> None:
        self._named, self._folders = named, folders

    def split(self, uri: str) -> tuple[str, str] | None:
        """Return the package that a reference names and the path below it, None if it names none."""
        scheme = next((one for one in _SCHEMES if uri.startswith(one)), None)
        name, _, rest = uri.removeprefix(scheme or "").lstrip("/").partition("/")
        plain = name not in ("", ".", "..") and not {"\\", "\0", ":"} & set(name + rest)
        return (name, rest.lstrip("/")) if scheme is not None and plain and ".." not in rest.split("/") else None

    def places(self, uri: str, model: Path | None) -> Iterator[tuple[Path, Path]]:
        """Yield where a reference may lead to, each with the folder of its package, which must hold it.

        What the caller and the environment name may hold links to elsewhere; what is only around the model may not.
        """
        found = self.split(uri)
        if found is None:
            return
        name, rest = found
        for home in self._trusted(name):
            yield home, home / rest
        for home in () if model is None else _around(name, model.resolve()):
            yield home.resolve(), (home / rest).resolve()

    def _trusted(self, name: str) -> Iterator[Path]:
        if name in self._named:
            yield self._named[name]
        listed = [Path(part).absolute() / below for key, below in _VARIABLES.items() for part in _listed(key)]
        for folder in [*self._folders, *listed]:
            if folder.name == name:
                yield folder
            yield folder / name
            if folder not in listed:
                continue
            yield from (one / name for one in islice(_inside(folder), _MOST) if (one / name).is_dir())

    def words(self) -> str:
        """Return where packages are looked for, in words."""
        given = [*(f"{name} at {folder}" for name, folder in self._named.items()), *map(str, self._folders)]
        set_ones = [f"{key} ({os.environ[key]})" for key in _VARIABLES if _listed(key)]
        unset = [key for key in _VARIABLES if not _listed(key)]
        parts = [*given, *set_ones, "folders of their names above and beside the model"]
        return ", ".join(parts) + (f"; {', '.join(unset)}: not set" if unset else "")


_MOST = 1000
"""Folders of a listed folder in which packages are looked for, as stacks of packages are kept."""


def _listed(variable: str) -> list[str]:
    return [part for part in os.environ.get(variable, "").split(os.pathsep) if part]


def _inside(folder: Path) -> Iterator[Path]:
    try:
        yield from (Path(one.path) for one in os.scandir(folder) if one.is_dir())
    except OSError:
        return


def _around(name: str, model: Path) -> Iterator[Path]:
    """Yield the folders of a name above a file, and those beside the folders above it."""
    above = [folder for folder in model.parents[:LEVELS_ABOVE] if folder != folder.parent]
    yield from (folder for folder in above if folder.name == name)
    yield from (folder / name for folder in above)


def checked_packages(packages: FilePath | Iterable[FilePath]) -> PackageFolders:
    """Return the folders of packages that a caller names: one, several, or a mapping of names to folders.

    >>> checked_packages({"arm": "/robots/arm_v2"}).split("file.stl") is None
    True
    """
    given = [packages] if isinstance(packages, str | os.PathLike) else packages
    try:
        if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
            return PackageFolders({name: _folder(one) for name, one in given.items()}, [])
        if not isinstance(given, list | tuple):
            raise TypeError("neither a folder, nor a list of such, nor a mapping of names to folders")
        return PackageFolders({}, [_folder(one) for one in given])
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        raise FileError(f"packages must be folders, by name or not, got {shown(packages)}: {error}") from None


def _folder(given: FilePath) -> Path:
    return checked_path(given).expanduser().absolute()
