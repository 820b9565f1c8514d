"""`whippletree view`: look at a mechanism or at a run that was saved."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whippletree.cli.reading import add_choices, read_model
from whippletree.cli.said import in_the_name_of
from whippletree.errors import FileError
from whippletree.foundation.output_paths import same_place
from whippletree.results import Trajectory
from whippletree.results.output_files import new_file

if TYPE_CHECKING:
    from whippletree.viewer import SceneView

__all__ = ["add", "view"]


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = words.add_parser(
        "view",
        help="look at a mechanism, or at a saved run",
        description="Show the mechanism of a model file where it is assembled, or a saved run as it moves: in a "
        "browser, or written to a file.",
    )
    parser.add_argument(
        "file", metavar="FILE", help="a model file of any format, or a run that was saved as NetCDF (.nc)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE.html", help="write to this file, .html, .png, .gif or .glb, and open nothing"
    )
    parser.add_argument("--paths", nargs="+", default=[], metavar="NAME", help="bodies and frames whose path is drawn")
    parser.add_argument("--forces", action="store_true", help="arrows of reactions and forces (runs only)")
    parser.add_argument("--collisions", action="store_true", help="shapes that are there to collide, translucent")
    parser.add_argument("--follow", metavar="NAME", help="the body or frame with which the camera goes along")
    parser.add_argument("--plots", nargs="+", metavar="NAME", help="what is plotted beside the scene (runs only)")
    parser.add_argument("--model", metavar="MODEL.yaml", help="the model of the run, if the file does not hold it")
    add_choices(parser)
    parser.set_defaults(run=view)


def view(chosen: argparse.Namespace) -> int:
    """Show, or write and say where."""
    file, output = chosen.file, chosen.output
    if output is not None:
        if same_place(output, file):
            raise FileError(f"{output}: the picture would take the place of what is to be read: name another file")
        new_file(output)
    seen = _run(chosen) if Path(file).suffix.lower() == ".nc" else _model(chosen)
    print(output if output is not None else seen.open())
    return 0


def _model(chosen: argparse.Namespace) -> SceneView:
    model = read_model(chosen, chosen.file)
    with in_the_name_of(model):
        return model.build().show(None, chosen.output, **_looks(chosen))


def _run(chosen: argparse.Namespace) -> SceneView:
    system = None if chosen.model is None else read_model(chosen).build()
    run = Trajectory.load(chosen.file, system)
    return run.animate(chosen.output, forces=chosen.forces, plots=chosen.plots, **_looks(chosen))


def _looks(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the options of pictures that models and runs share."""
    return {"paths": chosen.paths, "collisions": chosen.collisions, "follow": chosen.follow, "opened": False}
