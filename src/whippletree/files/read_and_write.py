"""Reading and writing models of any format, which is found by a file's contents and not by its name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whippletree.errors import FileError
from whippletree.files.file_limits import MOST_CONTACTS
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.output_paths import checked_path
from whippletree.foundation.user_frames import user_facing
from whippletree.model.io import read_text, write_file
from whippletree.model.io.model_file import Model
from whippletree.model.io.reading_report import ReadingReport
from whippletree.model.mechanism import Mechanism
from whippletree.spatial.scalars import shown

__all__ = ["read", "write"]


@user_facing
def read(
    source: str | os.PathLike[str],
    *,
    base: str | None = None,
    stops: bool | float = False,
    loops: str | os.PathLike[str] | None = None,
    search: str | os.PathLike[str] | list[str] | tuple[str, ...] = (),
    xacro: bool = False,
    keyframe: str | int | None = None,
    packages: FilePath | Iterable[FilePath] = (),
    contacts: bool | str = False,
    most_contacts: int = MOST_CONTACTS,
) -> Model:
    """Read a model: from a file, or from text, which has more than one line.

    The format follows from the content: the package's own YAML, URDF (with `mimic` and URDF+), SDF, MJCF, USD, OpenSim
    and Adams files. What such a file has that was not understood, changed or guessed is in `model.report`. Whatever is
    wrong with it is a `FileError` that begins with the file, and the line if the format has lines.

    `base` says what holds a robot that nothing connects with the ground: "fixed" or "free". `stops` makes stops of the
    ranges of joints, with that stiffness if it is a number. `loops` names the YAML file beside a URDF that says which
    frames coincide. Files that a file draws in must be in its own folder or in one of the folders of `search`.
    `packages` says where the packages are that it names (`package://name/...`, `model://name/...`), as folders or by
    name; they are also looked for above and beside the file, and where the environment says. With
    `xacro`, a file that has to be expanded first is expanded, which evaluates expressions in it. `keyframe` names the
    keyframe of an MJCF file at which to start, or gives its number.

    `contacts` makes contacts of the shapes that collide, with planes of the file and with each other; if it is
    "ground", also with the plane z = 0, for robots whose files have no floor. There may be `most_contacts` of them:
    points that touch planes, and pairs of bodies.

    >>> model = read("name: free fall\\nbodies: {stone: {mass: 1}}\\njoints: {fall: {free: [ground, stone]}}")
    >>> model.build().nv
    6
    """
    from whippletree.files.file_formats import read_bytes
    from whippletree.files.package_folders import checked_packages

    choices: dict[str, Any] = {"base": _checked_base(base), "stops": _checked_stops(stops), "loops": loops}
    choices |= {"xacro": _checked_flag(xacro), "keyframe": _checked_keyframe(keyframe)}
    choices["packages"] = checked_packages(packages)
    choices |= {"contacts": _checked_contacts(contacts), "most_contacts": _checked_count(most_contacts)}
    folders = _checked_folders(search)
    if isinstance(source, str) and "\n" in source:
        return read_bytes(source.encode(), "<text>", None, search=folders, **choices) or read_text(source)
    place, data = _contents(source)
    found = read_bytes(data, str(place), place, search=folders, **choices)
    if found is None:
        from whippletree.model.io.reader import from_bytes

        return from_bytes(data, str(place))
    return found


@user_facing
def write(model: Model | Mechanism, path: str | os.PathLike[str]) -> ReadingReport:
    """Write a model or a mechanism as a file: YAML, or the format of the suffix (.urdf, .sdf, .xml for MJCF).

    YAML holds all of it, and is read again first: if that were not the same mechanism, it is refused. The other formats
    hold less: a mechanism that would not move in the same way is refused before anything is written, with all that a
    format cannot hold, by name. What else it has no place for is in the report that is returned.

    >>> from whippletree import Mechanism
    >>> m = Mechanism("drill")
    >>> screw = m.screw("spindle", m.ground, m.body("nut", mass=1.0), lead=0.01)
    >>> write(m, "drill.urdf")
    Traceback (most recent call last):
        ...
    whippletree.errors.FileError: drill.urdf is not written: URDF cannot hold the screw joint "spindle"
    """
    from whippletree.files.file_formats import foreign_text

    text, report = foreign_text(model, path) or (None, ReadingReport())
    write_file(model, path, text)
    return report


def _contents(path: FilePath) -> tuple[Path, bytes]:
    """Return a path and the bytes of the file there."""
    from whippletree.files.file_limits import LARGEST_FILE

    try:
        place = checked_path(path)
        with place.open("rb") as file:
            return place, file.read(LARGEST_FILE + 1)
    except (TypeError, ValueError) as error:
        raise FileError(f"the path of a model file must be text, got {shown(path)}: {error}") from None
    except OSError as error:
        raise FileError(f"{place}: the file cannot be read: {error.strerror or error}") from None


def _checked_base(base: str | None) -> str | None:
    if base is None or (isinstance(base, str) and base in ("fixed", "free")):
        return base
    raise FileError(f'base must be "fixed" or "free", got {shown(base)}')


def _checked_flag(xacro: bool) -> bool:
    if not isinstance(xacro, bool):
        raise FileError(f"xacro must be True or False, got {shown(xacro)}")
    return xacro


def _checked_keyframe(keyframe: str | int | None) -> str | int | None:
    if keyframe is None or (isinstance(keyframe, str | int) and not isinstance(keyframe, bool)):
        return keyframe
    raise FileError(f"keyframe must be a name or a number, got {shown(keyframe)}")


def _checked_folders(search: FilePath | Iterable[FilePath]) -> list[Path]:
    """Return the folders of a search path."""
    given = [search] if isinstance(search, str | os.PathLike) else search
    try:
        if not isinstance(given, list | tuple):
            raise TypeError("not a path, nor a list of such")
        return [checked_path(folder).expanduser().resolve() for folder in given]
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        raise FileError(f"search must be folders, got {shown(search)}: {error}") from None


def _checked_contacts(contacts: bool | str) -> bool | str:
    if isinstance(contacts, bool) or (isinstance(contacts, str) and contacts == "ground"):
        return contacts
    raise FileError(f'contacts must be True, False or "ground", got {shown(contacts)}')


def _checked_count(most: int) -> int:
    if isinstance(most, int) and not isinstance(most, bool) and most > 0:
        return most
    raise FileError(f"most_contacts must be a whole number above zero, got {shown(most)}")


def _checked_stops(stops: object) -> object:
    if isinstance(stops, bool):
        return stops
    if isinstance(stops, int | float) and 0 < stops <= sys.float_info.max:
        return float(stops)
    raise FileError(f"stops must be True, False or a stiffness above zero, got {shown(stops)}")
