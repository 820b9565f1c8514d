"""Which format a file has, by its content, and who reads and writes it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from whippletree.errors import FileError, ModelError
from whippletree.files.drawn_in import Surroundings
from whippletree.files.neutral_model import NeutralModel
from whippletree.files.neutral_translation import translated
from whippletree.files.xml_source import XmlElement, parse_xml
from whippletree.foundation.late_imports import imported
from whippletree.model.io.model_file import Model

__all__ = ["foreign_text", "read_bytes"]

_HEAD = 4000
"""Bytes in which a format shows."""


def read_bytes(
    data: bytes,
    name: str,
    place: Path | None,
    *,
    search: Sequence[Path],
    base: str | None,
    stops: bool | float,
    loops: object = None,
    xacro: bool = False,
    keyframe: str | int | None = None,
) -> Model | None:
    """Read what another program has written; return None for what is the package's own YAML.

    >>> read_bytes(b"name: m", "m.yaml", None, search=[], base=None, stops=False) is None
    True
    """
    try:
        neutral = _neutral(data, name, place, search, xacro=xacro, loops=loops, keyframe=keyframe)
        if neutral is not None:
            return translated(neutral, base=base, stops=stops)
    except ModelError as error:  # what no reader has told with its line
        raise FileError(f"{name}: {error}", file=name) from error
    return _side_file(data, name, place, base=base, stops=stops, search=search)


def _neutral(data: bytes, name: str, place: Path | None, search: Sequence[Path], **choices: Any) -> NeutralModel | None:
    """Read what another program has written; return None for anything else."""
    around = Surroundings(name, place, search)
    if _is_xml(data):
        root = parse_xml(data, name)
        neutral = _of_xml(root, around, data, **choices)
        neutral.around = around
        return neutral
    if _is_usd(data):
        from whippletree.files.usd_reader import read_usd

        return read_usd(name, place, search)
    if _is_adams(data):
        from whippletree.files.adams_reader import read_adams

        return read_adams(data, name)
    return None


def _is_xml(data: bytes) -> bool:
    """Tell whether a file begins as XML does, in any encoding that XML may have.

    >>> _is_xml(b"\\n <robot/>"), _is_xml(b"name: arm")
    (True, False)
    """
    head = data[:_HEAD].removeprefix(b"\xef\xbb\xbf")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        head = head[2:]
    return head.replace(b"\x00", b"").lstrip().startswith(b"<")


def _is_usd(data: bytes) -> bool:
    return data.startswith((b"#usda", b"PXR-USDC")) or (data.startswith(b"PK\x03\x04") and b".usd" in data[:_HEAD])


_ADAMS = re.compile(rb"^\s*(PART|MARKER|JOINT|ADAMS|ACCGRAV)\s*/", re.IGNORECASE | re.MULTILINE)


def _is_adams(data: bytes) -> bool:
    return _ADAMS.search(data[: 50 * _HEAD]) is not None


def _of_xml(
    root: XmlElement, around: Surroundings, data: bytes, *, xacro: bool, loops: object, keyframe: str | int | None
) -> NeutralModel:
    """Read an XML file by its outermost element."""
    if root.tag == "robot":
        from whippletree.files.side_loops import read_robot

        return read_robot(root, around, xacro=xacro, loops=loops)
    if root.tag in ("sdf", "gazebo"):
        from whippletree.files.sdf_reader import read_sdf

        return read_sdf(root, around)
    if root.tag in ("mujoco", "mujocoinclude"):
        from whippletree.files.mjcf_reader import read_mjcf

        return read_mjcf(root, around, data, keyframe)
    if root.tag in ("OpenSimDocument", "Model"):
        from whippletree.files.opensim_reader import read_opensim

        return read_opensim(root)
    known = "<robot> (URDF), <sdf>, <mujoco> (MJCF) and <OpenSimDocument>"
    raise root.error(f"<{root.tag}> is no model that is known here: these are {known}")


def _side_file(data: bytes, name: str, place: Path | None, **choices: Any) -> Model | None:
    """Read the YAML file that names the loops of a robot, with the robot beside it."""
    if b"closed_loop" not in data or re.search(rb"^closed_loop\s*:", data, re.MULTILINE) is None:
        return None
    beside = None if place is None else place.with_suffix(".urdf")
    if beside is None or not beside.is_file():
        raise FileError(
            f"{name}: this file names the loops of a robot, and there is no {beside and beside.name} beside it: read "
            "the URDF with loops= this file",
            file=name,
        )
    return read_bytes(beside.read_bytes(), str(beside), beside, loops=place, **choices)


_WRITERS = {".urdf": "urdf_writer", ".sdf": "sdf_writer", ".xml": "mjcf_writer", ".mjcf": "mjcf_writer"}


def foreign_text(model: object, path: str | os.PathLike[str]) -> str | None:
    """Return the text of a file in the format that the end of its name says; None for YAML."""

    try:
        module = _WRITERS.get(Path(path).suffix.lower())
    except TypeError:
        return None
    if module is None:
        return None
    write: Callable[[Any], str] = imported(f"whippletree.files.{module}", "to_text")
    return write(model)
