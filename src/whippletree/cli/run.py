"""`whippletree run`: simulate a model file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whippletree.cli.reading import add_model, read_model
from whippletree.cli.said import in_one_line, in_the_name_of
from whippletree.errors import FileError, ResultError, SimulationError, WhippletreeError
from whippletree.foundation.output_paths import same_place
from whippletree.model.io import Model
from whippletree.results.output_files import new_file

if TYPE_CHECKING:
    from whippletree.results import Trajectory

__all__ = ["add", "run"]

_SETTINGS: dict[str, tuple[type, str]] = {
    "duration": (float, "how long, in seconds"),
    "method": (str, "the integrator"),
    "step": (float, "its step, if it has a fixed one"),
    "tolerance": (float, "its tolerance, if it chooses its steps"),
    "max_step": (float, "the longest step, if it chooses its steps"),
    "every": (float, "the time between outputs"),
    "spectral_radius": (float, "what the generalised-alpha method leaves of fast oscillations"),
    "formulation": (str, "the formulation of the equations"),
}
"""Settings of a run that the command line can give instead of the file."""


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = words.add_parser(
        "run",
        help="simulate a model file",
        description="Simulate a model file and print the certificate. The exit code is 1 if the run is not to be "
        "trusted; what was computed is written all the same.",
    )
    add_model(parser)
    parser.add_argument("-o", "--output", metavar="FILE.nc", help="write the run as NetCDF")
    parser.add_argument("--csv", metavar="FILE.csv", help="write a table as text")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the outputs over time")
    for name, (kind, what) in _SETTINGS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help=f"{what}, instead of what the file says")
    parser.add_argument("--verify", action="store_const", const=True, help="run again in another way and compare")
    parser.add_argument("--checkpoint", metavar="FILE.ckpt", help="write the run there now and then")
    parser.add_argument("--checkpoint-every", type=float, metavar="SECONDS", help="how often, by the clock")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint, if there is one")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Simulate, write the files asked for, and print the certificate; return 1 if a check of it failed."""
    _check_places(chosen)
    model = read_model(chosen)
    settings = {name: getattr(chosen, name) for name in _SETTINGS if getattr(chosen, name) is not None}
    if chosen.verify:
        settings["verify"] = True
    if sys.stderr.isatty():
        settings["progress"] = True
    try:
        with in_the_name_of(model):
            trajectory = _resumed(model, chosen) or model.simulate(**settings, **_kept(chosen))
    except (SimulationError, ResultError) as error:
        trajectory = error.trajectory
        print(f"whippletree: {in_one_line(error)}", file=sys.stderr)
        if trajectory is None:
            return 1
    failed = _write(trajectory, model, chosen)
    print(trajectory)
    print(trajectory.certificate)
    return 2 if failed else 0 if trajectory.certificate.ok else 1


def _kept(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the settings about checkpoints."""
    given = {"checkpoint": chosen.checkpoint, "checkpoint_every": chosen.checkpoint_every}
    if given["checkpoint"] is None and (chosen.resume or given["checkpoint_every"] is not None):
        raise FileError("--resume and --checkpoint-every go with --checkpoint FILE")
    return {name: value for name, value in given.items() if value is not None}


def _resumed(model: Model, chosen: argparse.Namespace) -> Trajectory | None:
    """Go on from the checkpoint, if that is wanted and there is one; else return None."""
    more = _kept(chosen)
    if not chosen.resume or not Path(more["checkpoint"]).expanduser().exists():
        return None
    from whippletree.studies import resume

    path = more.pop("checkpoint")
    return resume(path, model.build(), progress=sys.stderr.isatty(), **more)


def _check_places(chosen: argparse.Namespace) -> None:
    """Refuse a place where a file cannot go, or that is taken, before anything is computed."""
    taken = {"the model": chosen.model}
    for what in ("output", "csv", "plot", "checkpoint"):
        given = getattr(chosen, what)
        if given is None:
            continue
        new_file(given)
        for other, place in taken.items():
            if same_place(given, place):
                raise FileError(f"--{what} {given}: this is {other} already: name another file")
        taken[f"--{what}"] = given


def _write(trajectory: Trajectory, model: Model, chosen: argparse.Namespace) -> bool:
    """Write each file asked for, whether or not the others succeed; return True if one failed."""
    writing: list[tuple[str | None, Callable[[], object]]] = [
        (chosen.output, lambda: trajectory.save(chosen.output)),
        (chosen.csv, lambda: trajectory.to_csv(chosen.csv, [*model.outputs] or None)),
        (chosen.plot, lambda: trajectory.plot(*model.outputs, path=chosen.plot)),
    ]
    failed = False
    for place, write in writing:
        try:
            if place is not None:
                write()
        except WhippletreeError as error:
            print(f"whippletree: {in_one_line(error)}", file=sys.stderr)
            failed = True
    return failed
