"""The model file of a command: how it is named and read, and what is said about files of other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from whippletree.files import read
from whippletree.model.io import Model

__all__ = ["add_choices", "add_model", "read_model"]


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model file and the choices about reading it to a command."""
    parser.add_argument("model", help="a model file: YAML, URDF, SDF, MJCF, USD, OpenSim or Adams")
    add_choices(parser)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """Add the choices about reading a model file to a command."""
    parser.add_argument("--base", choices=["fixed", "free"], help="what holds a robot that its file does not hold")
    parser.add_argument("--stops", action="store_true", help="make stops of the ranges of joints")
    parser.add_argument("--loops", metavar="FILE.yaml", help="the file that names the loops of a URDF")
    parser.add_argument(
        "--search",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a folder of files that are drawn in; repeatable",
    )
    parser.add_argument("--keyframe", metavar="NAME", help="the keyframe of an MJCF file at which to start")
    parser.add_argument("--xacro", action="store_true", help="expand the file by xacro, which evaluates what is in it")


def read_model(chosen: argparse.Namespace, file: str | None = None) -> Model:
    """Read the model, or the file that is given, and say on the error stream what was not understood or guessed."""
    model = read(
        Path(chosen.model if file is None else file),
        base=chosen.base,
        stops=chosen.stops,
        loops=chosen.loops,
        search=chosen.search,
        xacro=chosen.xacro,
        keyframe=_keyframe(chosen.keyframe),
    )
    for remark in model.report:
        print(f"{model.name}: {remark}", file=sys.stderr)
    return model


def _keyframe(given: str | None) -> str | int | None:
    """Return a keyframe by its name, or by its number.

    >>> _keyframe("home"), _keyframe("2")
    ('home', 2)
    """
    return int(given) if given is not None and given.isdecimal() else given
