"""`whippletree convert`: a model file in its plain form."""

from __future__ import annotations

import argparse

from whippletree.model.io import read_file, write_file

__all__ = ["add", "convert"]


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = words.add_parser(
        "convert",
        help="write a model file in its plain form",
        description="Read a model file and write the same model in its plain form: shapes as mass, centre of mass and "
        "inertia, every default that matters in place. Comments are not kept.",
    )
    parser.add_argument("model", help="a model file (YAML)")
    parser.add_argument("to", help="the file to write")
    parser.set_defaults(run=lambda chosen: convert(chosen.model, chosen.to))


def convert(model: str, to: str) -> int:
    """Read a model and write it again."""
    write_file(read_file(model), to)
    return 0
