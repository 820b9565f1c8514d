"""Files that a model file draws in: those of its own folder, and of folders that the caller names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path

from whippletree.errors import FileError
from whippletree.files.file_limits import LARGEST_FILE, MOST_INCLUDES
from whippletree.files.package_folders import PackageFolders
from whippletree.files.xml_source import XmlElement

__all__ = ["Surroundings", "some_of"]


class Surroundings:
    """Where a model file is, and where else it may look for others.

    >>> Surroundings("<text>", None, []).folders
    []
    """

    def __init__(
        self, name: str, place: Path | None, search: Sequence[Path], packages: PackageFolders | None = None
    ) -> None:
        self.name, self.place = name, place
        self.packages = PackageFolders({}, []) if packages is None else packages
        self._homes: set[Path] = set()
        own = [] if place is None else [place.resolve().parent]
        self.folders = [*own, *search]
        self._count = 0

    def of_neighbour(self, place: Path) -> Surroundings:
        """Return the surroundings of another file in the same folder.

        >>> Surroundings("robots/arm.yaml", Path("robots/arm.yaml"), []).of_neighbour(Path("robots/arm.urdf")).name
        'robots/arm.urdf'
        """
        other = copy(self)
        other.name, other.place = str(place), place
        return other

    def find(self, uri: str, element: XmlElement, near: Path | None = None) -> Path:
        """Return the file or folder that a reference leads to, below one of the folders.

        A package that it names (`package://robot/x.stl`, `model://x`) is looked for first. Then its scheme is taken
        off, and it is looked for from each folder, with and without its first part; first of all `near` a file that is
        drawn in itself.
        """
        place = next(self._places(uri, near), None)
        if place is None:
            packages = "" if self.packages.split(uri) is None else f", nor as a package ({self.packages.words()})"
            raise element.error(f"{uri!r} is not found in {self._where}{packages}: name its folder with search=")
        if not self.allows(place):
            raise element.error(f"{uri!r} is outside of the model's folder: name its folder with search=")
        return place

    def seek(self, uri: str) -> Path | None:
        """Return the file that a reference leads to, None if there is none that may be read.

        >>> Surroundings("<text>", None, []).seek("arm.stl") is None
        True
        """
        return next((place for place in self._places(uri) if self.allows(place) and place.is_file()), None)

    def not_found(self, meshes: Sequence[str]) -> str:
        """Return a message about meshes that are not found, the folders searched, and the remedy.

        >>> Surroundings("<text>", None, []).not_found(["a.stl"])
        'meshes that are not found (a.stl) in a text, which is in no folder: name their folder with search='
        """
        packaged = any(self.packages.split(file) for file in meshes)
        also = f", nor as packages: {self.packages.words()}" if packaged else ""
        remedy = "name the folders of packages with packages=" if packaged else "name their folder with search="
        return f"meshes that are not found ({some_of(meshes)}) in {self._where}{also}: {remedy}"

    @property
    def _where(self) -> str:
        return " or ".join(map(str, self.folders)) or "a text, which is in no folder"

    def allows(self, place: Path) -> bool:
        """Tell whether a file is below one of the folders, or in a package that was found."""
        return any(place.is_relative_to(folder) for folder in (*self.folders, *self._homes))

    def _places(self, uri: str, near: Path | None = None) -> Iterator[Path]:
        for home, place in self.packages.places(uri, self.place):
            if _there(place):
                self._homes.add(home)
                yield place
        plain = uri.partition("://")[2].lstrip("/") if "://" in uri else uri
        beside = f"{_GEOMETRY}/{plain}" if "/" not in plain else ""
        tries = [plain, plain.partition("/")[2] if "://" in uri else beside]
        for folder in self.folders if near is None else [near, *self.folders]:
            for part in filter(None, tries):
                try:
                    place = (folder / part).resolve()
                except (OSError, ValueError, RuntimeError):
                    continue
                if _there(place):
                    yield place

    def read(self, place: Path, element: XmlElement) -> bytes:
        """Return the contents of a file that is drawn in."""
        self._count += 1
        if self._count > MOST_INCLUDES:
            raise element.error(f"more than {MOST_INCLUDES} files are drawn in: do they draw in each other?")
        try:
            with place.open("rb") as file:
                return file.read(LARGEST_FILE + 1)
        except OSError as error:
            raise FileError(
                f"{element.file}:{element.line}: {place} cannot be read: {error.strerror}",
                file=element.file,
                line=element.line,
            ) from None


def some_of(files: Sequence[str]) -> str:
    """Return the names of files, of many the first ones.

    >>> some_of(["a.stl"] * 12)
    'a.stl, a.stl, a.stl, a.stl, a.stl and 7 more'
    """
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(files[:_NAMED]) + more


_NAMED = 5
"""So many files are named where there may be many."""

_GEOMETRY = "Geometry"
"""The folder beside a model in which OpenSim looks for meshes."""


def _there(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):
        return False
