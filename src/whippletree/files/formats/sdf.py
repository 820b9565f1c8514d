"""SDF, the worlds and models of Gazebo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.files.formats.file_format import FileFormat, ModelContent, outermost, register

if TYPE_CHECKING:
    from whippletree.files.neutral_model import NeutralModel
    from whippletree.files.writable_model import WritableModel

__all__ = ["SDF"]


def _read(content: ModelContent) -> NeutralModel:
    from whippletree.files.sdf_reader import read_sdf

    return read_sdf(content.root, content.around)


def _write(whole: WritableModel) -> str:
    from whippletree.files.sdf_writer import to_sdf

    return to_sdf(whole)


SDF = register(FileFormat("SDF", outermost("sdf", "gazebo"), _read, (".sdf",), _write))
