"""`whippletree convert`: a model file in its plain form, or in another format."""

from __future__ import annotations

import argparse
import sys

from whippletree.cli.reading import add_model, read_model
from whippletree.files import write

__all__ = ["add", "convert"]


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = words.add_parser(
        "convert",
        help="write a model file in its plain form, or in another format",
        description="Read a model file and write the same model as YAML in its plain form: shapes as mass, centre of "
        "mass and inertia, every default that matters in place. Comments are not kept. If the name of the file to "
        "write ends in .urdf, .sdf or .xml (MJCF), it is in that format, or is refused for what that cannot express.",
    )
    add_model(parser)
    parser.add_argument("to", help="the file to write")
    parser.set_defaults(run=convert)


def convert(chosen: argparse.Namespace) -> int:
    """Read a model and write it again."""
    left_out = write(read_model(chosen), chosen.to)
    if left_out:
        print(left_out, file=sys.stderr)
    return 0
