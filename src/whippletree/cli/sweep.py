"""`whippletree sweep`: a model file over the stroke of one of its joints, or of a point."""

from __future__ import annotations

import argparse

import numpy as np

from whippletree.cli.reading import add_model, read_model
from whippletree.cli.said import in_the_name_of
from whippletree.errors import FileError, StateError
from whippletree.foundation.output_paths import same_place
from whippletree.kinematics import JointSweep
from whippletree.model.io import Model
from whippletree.results.output_files import new_file

__all__ = ["add", "sweep"]

_MOST = 100_000
"""Positions of one sweep at most."""


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = words.add_parser(
        "sweep",
        help="a model file over the stroke of a joint: positions, ratios, transmission angle",
        description="Move a joint of a model file, or with --axis a body or frame, from one value to another, and "
        "print a table of what all else does. If it gets to both ends, the exit code is 0, else 1.",
    )
    add_model(parser)
    parser.add_argument("joint", help="the joint to be moved, by its name; name:2 is the third freedom of a joint")
    parser.add_argument("first", type=float, help="where to begin, in radians or metres")
    parser.add_argument("last", type=float, help="where to end")
    parser.add_argument(
        "names",
        nargs="*",
        help="what to show: joints, bodies, frames, JOINT.ratio, 'transmission angle', conditioning; all coordinates "
        "unless given",
    )
    parser.add_argument("-n", "--count", type=int, default=25, help="how many positions (25)")
    parser.add_argument(
        "--axis",
        choices=("x", "y", "z"),
        help="move the origin of a body or frame, named in place of the joint, along it",
    )
    parser.add_argument("--degrees", action="store_true", help="the joint's values are given in degrees")
    parser.add_argument(
        "--hold", action="append", default=[], metavar="JOINT", help="a joint that rests; may be repeated"
    )
    parser.add_argument("--csv", metavar="FILE.csv", help="write the table as text, with all digits")
    parser.add_argument("--plot", metavar="FILE.png", help="draw it over the joint")
    parser.set_defaults(run=sweep)


def sweep(chosen: argparse.Namespace) -> int:
    """Sweep, print the table, and write the files asked for; return 1 if the joint could not go all the way."""
    for place in (chosen.csv, chosen.plot):
        if place is not None:
            if same_place(place, chosen.model):
                raise FileError(f"{place}: this would take the place of the model: name another file")
            new_file(place)
    if not 1 <= chosen.count <= _MOST:
        raise StateError(f"--count must be from 1 to {_MOST}, not {chosen.count}")
    model = read_model(chosen)
    with in_the_name_of(model):
        found = _swept(model, chosen)
        print(found.table(*chosen.names).to_string(index=False, float_format=lambda x: f"{x:.6g}"))
    for one in found.singular:
        print(one.words)
    if chosen.csv is not None:
        found.to_csv(chosen.csv, *chosen.names)
    if chosen.plot is not None:
        found.plot(*chosen.names, path=chosen.plot)
    return 0 if found.closed.all() else 1


def _swept(model: Model, chosen: argparse.Namespace) -> JointSweep:
    """Return the sweep that the command line asks for, from where the model starts."""
    if chosen.axis and chosen.degrees:
        raise StateError("--degrees is for a joint, and --axis moves a point, in metres: leave one out")
    system = model.build()
    moved = chosen.joint if chosen.axis else _freedom(chosen.joint)
    unit = np.pi / 180 if chosen.degrees else 1.0
    values = unit * np.linspace(chosen.first, chosen.last, chosen.count)
    t = float(model.run.get("t0", 0.0))
    start = model.initial(system)[0]
    return system.sweep_joint(moved, values, axes=chosen.axis, start=start, hold=chosen.hold, t=t)


def _freedom(text: str) -> str | tuple[str, int]:
    """Return a joint, or a joint and the number of its freedom.

    >>> _freedom("crank"), _freedom("cardan:1")
    ('crank', ('cardan', 1))
    """
    name, colon, index = text.rpartition(":")
    return (name, int(index)) if colon and index.isdecimal() else text
