"""URDF, the robots of ROS, with the files that stand beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.files.formats.file_format import FileFormat, ModelContent, outermost, register

if TYPE_CHECKING:
    from whippletree.files.neutral_model import NeutralModel
    from whippletree.files.writable_model import WritableModel

__all__ = ["URDF"]


def _read(content: ModelContent) -> NeutralModel:
    from whippletree.files.side_loops import read_robot

    return read_robot(content.root, content.around, xacro=content.xacro, loops=content.loops)


def _write(whole: WritableModel) -> str:
    from whippletree.files.urdf_writer import to_urdf

    return to_urdf(whole)


URDF = register(FileFormat("URDF", outermost("robot"), _read, (".urdf",), _write))
