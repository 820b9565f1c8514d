"""`whippletree plot`: draw a run that was saved."""

from __future__ import annotations

import argparse
from pathlib import Path

from whippletree.errors import FileError
from whippletree.files import read
from whippletree.foundation.output_paths import same_place
from whippletree.results import Trajectory
from whippletree.results.output_files import new_file

__all__ = ["add", "plot"]


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = words.add_parser(
        "plot",
        help="draw a saved run over time or over another quantity",
        description="Draw quantities of a saved run over time: joints, bodies, frames, states, or words such as energy "
        "and A.force. What is not in the file itself, such as positions, is computed with the model in it.",
    )
    parser.add_argument("file", metavar="FILE.nc", help="a run that was saved as NetCDF")
    parser.add_argument("names", nargs="*", help="what to draw; all coordinates unless given")
    parser.add_argument(
        "-x", metavar="NAME", help="draw over this quantity, such as a joint's angle, and not over time"
    )
    parser.add_argument("-o", "--output", metavar="FILE.png", help="where to; beside the run unless given")
    parser.add_argument("--model", metavar="MODEL.yaml", help="the model of the run, if the file does not hold it")
    parser.set_defaults(run=lambda chosen: plot(chosen.file, chosen.names, chosen.output, chosen.model, chosen.x))


def plot(file: str, names: list[str], output: str | None = None, model: str | None = None, x: str | None = None) -> int:
    """Draw, and say where."""
    place = str(Path(file).with_suffix(".png")) if output is None else output
    for given in (file, model):
        if given is not None and same_place(place, given):
            raise FileError(f"{place}: the plot would take the place of what is to be read: name another file")
    new_file(place)
    system = None if model is None else read(Path(model)).build()
    run = Trajectory.load(file, system)
    run.plot(*names, x=x, path=place)
    print(place)
    return 0
