"""The model file of a command: its name, its reading, and the remarks on files of other programs."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from whippletree.errors import FileError, ModelError
from whippletree.files import read
from whippletree.model import Mechanism
from whippletree.model.io import Model
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import number, shown

__all__ = ["add_choices", "add_model", "read_model"]


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model file and the choices about reading it to a command."""
    parser.add_argument("model", help="a model file: YAML, URDF, SDF, MJCF, USD, OpenSim or Adams")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="give a parameter another value than the file does; repeatable",
    )
    add_choices(parser)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """Add the choices about reading a model file to a command."""
    parser.add_argument("--base", choices=["fixed", "free"], help="what holds a robot that its file does not hold")
    parser.add_argument("--stops", action="store_true", help="make stops of the ranges of joints")
    parser.add_argument("--contacts", action="store_true", help="make contacts of the shapes that collide")
    parser.add_argument("--ground", action="store_true", help="make contacts, also with the plane z = 0")
    parser.add_argument("--loops", metavar="FILE.yaml", help="the file that names the loops of a URDF")
    parser.add_argument(
        "--search",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a folder of files that are drawn in; repeatable",
    )
    parser.add_argument(
        "--packages",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a folder of packages that the file names (package://, model://), or NAME=FOLDER; repeatable",
    )
    parser.add_argument("--keyframe", metavar="NAME", help="the keyframe of an MJCF file at which to start")
    parser.add_argument("--xacro", action="store_true", help="expand the file by xacro, which evaluates what is in it")


def read_model(chosen: argparse.Namespace, file: str | None = None) -> Model:
    """Read the model, or the file that is given, and list unread and guessed parts on the error stream."""
    named = chosen.model if file is None else file
    if not named:
        raise FileError("the name of the model file is empty: give the path of one")
    model = read(
        Path(named),
        base=chosen.base,
        stops=chosen.stops,
        loops=chosen.loops,
        search=chosen.search,
        packages=_packages(chosen.packages),
        xacro=chosen.xacro,
        keyframe=_keyframe(chosen.keyframe),
        contacts="ground" if chosen.ground else chosen.contacts,
    )
    for remark in model.report:
        print(f"{model.name}: {remark}", file=sys.stderr)
    return _with_parameters(model, getattr(chosen, "set", []))


def _packages(given: list[str]) -> dict[str, str] | list[str]:
    """Return the folders of packages: by name if they are given so.

    >>> _packages(["arm=/robots/arm_v2"]), _packages(["/robots"])
    ({'arm': '/robots/arm_v2'}, ['/robots'])
    """
    named = dict(one.split("=", 1) for one in given if "=" in one)
    if named and len(named) < len(given):
        raise FileError("--packages: give all of them as NAME=FOLDER, or all as FOLDER")
    return named or given


def _with_parameters(model: Model, given: list[str]) -> Model:
    """Return the model with parameters set anew, each by "name=value"."""
    described = model.mechanism.describe()
    values = {one.name: one.value for one in described.parameters}
    for text in given:
        name, _, value = text.rpartition("=")
        if name not in values:
            raise ModelError(f"--set {shown(text)[1:-1]}: there is no parameter {suggestion(name, values)}")
        try:
            values[name] = number(float(value), "its value")
        except ValueError:
            raise ModelError(f"--set {name}={shown(value)[1:-1]}: the value must be a finite number") from None
    if not given:
        return model
    parameters = tuple(replace(one, value=values[one.name]) for one in described.parameters)
    return replace(model, mechanism=Mechanism.of(replace(described, parameters=parameters)))


def _keyframe(given: str | None) -> str | int | None:
    """Return a keyframe by its name, or by its number.

    >>> _keyframe("home"), _keyframe("2")
    ('home', 2)
    """
    return int(given) if given is not None and given.isdecimal() and len(given) < 10 else given
