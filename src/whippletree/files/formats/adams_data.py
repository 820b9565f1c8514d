"""Adams, data sets of the solver: statements such as `PART/2, MASS = 1`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.files.formats.file_format import FileFormat, ModelContent, register

if TYPE_CHECKING:
    from whippletree.files.neutral_model import NeutralModel

__all__ = ["ADAMS"]


_SEARCHED = 200_000
"""Bytes among which a statement must be; titles and comments come before."""


def _recognises(content: ModelContent) -> bool:
    return not content.is_xml and content.has_line(rb"\s*(?:PART|MARKER|JOINT|ADAMS|ACCGRAV)\s*/", _SEARCHED)


def _read(content: ModelContent) -> NeutralModel:
    from whippletree.files.adams_reader import read_adams

    return read_adams(content.data, content.name)


ADAMS = register(FileFormat("Adams", _recognises, _read, (".adm",)))
