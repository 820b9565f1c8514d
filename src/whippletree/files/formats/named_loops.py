"""The YAML file that names the loops of a robot: the robot beside it is read, with these loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.errors import FileError
from whippletree.files.formats.file_format import FileFormat, ModelContent, register
from whippletree.files.formats.urdf import URDF

if TYPE_CHECKING:
    from whippletree.files.neutral_model import NeutralModel

__all__ = ["NAMED_LOOPS"]


def _recognises(content: ModelContent) -> bool:
    return not content.is_xml and content.has_line(rb"closed_loop\s*:")


def _read(content: ModelContent) -> NeutralModel:
    place = content.around.place
    robot = None if place is None else place.with_suffix(".urdf")
    if robot is None or not robot.is_file():
        raise FileError(
            f"{content.name}: this file names the loops of a robot, and there is no {robot and robot.name} beside it: "
            "read the URDF with loops= this file",
            file=content.name,
        )
    around = content.around.of_neighbour(robot)
    return URDF.read(ModelContent(robot.read_bytes(), around, loops=place, xacro=content.xacro))


NAMED_LOOPS = register(FileFormat("loops beside URDF", _recognises, _read))
