"""MJCF, the models of MuJoCo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.files.formats.file_format import FileFormat, ModelContent, outermost, register

if TYPE_CHECKING:
    from whippletree.files.neutral_model import NeutralModel
    from whippletree.files.writable_model import WritableModel

__all__ = ["MJCF"]


def _read(content: ModelContent) -> NeutralModel:
    from whippletree.files.mjcf_reader import read_mjcf

    return read_mjcf(content.root, content.around, content.data, content.keyframe)


def _write(whole: WritableModel) -> str:
    from whippletree.files.mjcf_writer import to_mjcf

    return to_mjcf(whole)


MJCF = register(FileFormat("MJCF", outermost("mujoco", "mujocoinclude"), _read, (".xml", ".mjcf"), _write))
