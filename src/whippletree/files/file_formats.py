"""Files of other programs, read and written by the formats that are registered."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whippletree.errors import FileError, ModelError
from whippletree.files.drawn_in import Surroundings
from whippletree.files.file_limits import MOST_CONTACTS
from whippletree.files.formats import ModelContent, format_of, format_written_as
from whippletree.files.package_folders import PackageFolders
from whippletree.model.io.model_file import Model
from whippletree.model.io.reading_report import ReadingReport

__all__ = ["foreign_text", "read_bytes"]


def read_bytes(
    data: bytes,
    name: str,
    place: Path | None,
    *,
    search: Sequence[Path],
    base: str | None,
    stops: bool | float,
    packages: PackageFolders | None = None,
    contacts: bool | str = False,
    most_contacts: int = MOST_CONTACTS,
    **choices: Any,
) -> Model | None:
    """Read a file of another program; return None for the package's own YAML.

    `choices` are those that a `ModelContent` carries to the readers.

    >>> read_bytes(b"name: m", "m.yaml", None, search=[], base=None, stops=False) is None
    True
    """
    try:
        content = ModelContent(data, Surroundings(name, place, search, packages), **choices)
        found = format_of(content)
        if found is None:
            return None
        from whippletree.files.neutral_translation import translated

        neutral = found.read(content)
        neutral.around = content.around
        return translated(neutral, base=base, stops=stops, contacts=contacts, most_contacts=most_contacts)
    except ModelError as error:  # what no reader has told with its line
        raise FileError(f"{name}: {error}", file=name) from error


def foreign_text(model: object, path: str | os.PathLike[str]) -> tuple[str, ReadingReport] | None:
    """Return the text of a file in the format of its suffix, and its omissions; None for YAML."""
    try:
        found = format_written_as(Path(path))
    except TypeError:
        return None
    if found is None or found.write is None:
        return None
    from whippletree.files.writable_model import WritableModel

    whole = WritableModel.of(model, found.name, Path(path).resolve().parent)
    text = found.write(whole)
    whole.check_held(str(path))
    return text, whole.remarks.report()
