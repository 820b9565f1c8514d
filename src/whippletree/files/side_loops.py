"""A robot with what stands beside its file: a YAML file that names its loops, and the program xacro that wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whippletree.errors import FileError
from whippletree.files.drawn_in import Surroundings
from whippletree.files.neutral_model import NeutralModel
from whippletree.files.urdf_reader import add_loops, read_urdf
from whippletree.files.xml_source import XmlElement, parse_xml
from whippletree.model.io.output_paths import checked_path
from whippletree.spatial.scalars import shown

__all__ = ["read_robot"]

_KEYS = ("closed_loop", "type", "name_mot")


def read_robot(root: XmlElement, around: Surroundings, *, xacro: bool, loops: Any) -> NeutralModel:
    """Read a URDF, expanded by xacro if that was asked for, with the loops that are named beside it."""
    model = read_urdf(_expanded(around) if xacro else root)
    if xacro:
        model.remarks.add("changed", "the file was expanded by xacro: lines are those of what came out")
    place = _loop_file(around, loops)
    if place is not None:
        if loops is None:
            model.remarks.add("guessed", f"loops are taken from {place.name}, which is beside the file")
        _add_named_loops(model, place)
    return model


def _loop_file(around: Surroundings, loops: Any) -> Path | None:
    """Return the file that names loops: the one given, or the one beside the robot that has its name."""
    if loops is not None:
        try:
            return checked_path(loops)
        except (TypeError, ValueError) as error:
            raise FileError(f"loops must be the path of a file, got {shown(loops)}: {error}") from None
    beside = None if around.place is None else around.place.with_suffix(".yaml")
    if beside is None or not beside.is_file():
        return None
    with beside.open("rb") as file:
        return beside if b"closed_loop" in file.read(100_000) else None


def _add_named_loops(model: NeutralModel, place: Path) -> None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    name = str(place)
    try:
        found = YAML(typ="safe", pure=True).load(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError, ValueError, RecursionError) as error:
        raise FileError(f"{name}: the file cannot be read: {' '.join(str(error).split())}", file=name) from None
    if not isinstance(found, dict) or "closed_loop" not in found:
        raise FileError(
            f"{name}: there is no closed_loop in it, which names the pairs of frames that coincide", file=name
        )
    add_loops(model, found["closed_loop"], found.get("type"), name)
    if "name_mot" in found:
        model.remarks.add("kept aside", f"the actuated joints are {found['name_mot']}")
    for key in found:
        if key not in _KEYS:
            model.remarks.add("not understood", f"{key} in {place.name}")


def _expanded(around: Surroundings) -> XmlElement:
    """Return what xacro makes of a file."""
    if around.place is None:
        raise FileError(f"{around.name}: xacro expands files: give the path of one")
    try:
        import xacro
    except ImportError:
        raise FileError(f'{around.name}: xacro is not installed: pip install "whippletree[xacro]"') from None
    try:
        text = xacro.process_file(str(around.place)).toxml()
    except Exception as error:  # whatever a program in a file may raise
        raise FileError(f"{around.name}: xacro failed: {' '.join(str(error).split())}", file=around.name) from None
    return parse_xml(text.encode(), around.name)
