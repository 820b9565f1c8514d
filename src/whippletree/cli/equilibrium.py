"""`whippletree equilibrium`: where a model file's mechanism is at rest, or moves steadily."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.cli.reading import add_model, read_model
from whippletree.cli.said import in_the_name_of
from whippletree.errors import FileError
from whippletree.foundation.output_paths import same_place
from whippletree.model.io import Model
from whippletree.results.output_files import new_file

if TYPE_CHECKING:
    from whippletree.equilibria import Equilibrium

__all__ = ["add", "add_load", "assigned", "equilibrium_of", "load_of", "new_plot"]


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = words.add_parser(
        "equilibrium",
        help="find where a model is at rest",
        description="Find where the mechanism of a model file is at rest, from its start as a guess; with velocities "
        "in the file's start, in steady motion with these. The exit code is 1 if the equilibrium is unstable.",
    )
    add_load(parser)
    parser.add_argument("--starts", type=int, default=0, metavar="N", help="search from N random configurations too")
    parser.add_argument("--over", metavar="NAME=FROM:TO", help="follow the equilibria over a parameter")
    parser.add_argument("--points", type=int, default=21, metavar="N", help="values on the way (21)")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the equilibria that were followed")
    parser.set_defaults(run=run)


def add_load(parser: argparse.ArgumentParser) -> None:
    """Add the options that commands about equilibria share."""
    add_model(parser)
    parser.add_argument("--hold", action="append", default=[], metavar="JOINT", help="a joint that stays where it is")
    parser.add_argument("--speed", action="append", default=[], metavar="JOINT=VALUE", help="a speed of steady motion")


def assigned(texts: list[str], what: str) -> dict[str, float]:
    """Return numbers by name.

    >>> assigned(["mass=2.5"], "--speed")
    {'mass': 2.5}
    """
    found = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise FileError(f"{what} {text}: write it as NAME=VALUE with a number")
    return found


def load_of(model: Model, chosen: argparse.Namespace) -> dict[str, Any]:
    """Return parameters, held joints and speeds as they were chosen, the file's velocities unless given."""
    speeds = {**model.start.get("velocities", {}), **assigned(chosen.speed, "--speed")}
    return {"hold": chosen.hold or None, "speeds": speeds or None}


def equilibrium_of(model: Model, chosen: argparse.Namespace, **more: Any) -> Equilibrium:
    """Return the equilibrium of a model file."""
    return model.build().equilibrium(**load_of(model, chosen), t=model.run.get("t0", 0.0), **more)


def new_plot(chosen: argparse.Namespace) -> None:
    """Refuse a place where a plot cannot go before anything is computed."""
    if chosen.plot is not None:
        if same_place(chosen.plot, chosen.model):
            raise FileError(f"--plot {chosen.plot}: the plot would take the place of the model: name another file")
        new_file(chosen.plot)


def run(chosen: argparse.Namespace) -> int:
    """Find the equilibrium, or follow it, and print it."""
    new_plot(chosen)
    if chosen.plot is not None and chosen.over is None:
        raise FileError("--plot draws what --over NAME=FROM:TO has followed")
    model = read_model(chosen)
    with in_the_name_of(model):
        if chosen.over is not None:
            return _follow(model, chosen)
        found = equilibrium_of(model, chosen, starts=chosen.starts)
    for one in (found, *found.others):
        print(one)
    return 1 if found.stability == "unstable" else 0


def _follow(model: Model, chosen: argparse.Namespace) -> int:
    """Follow the equilibria over a number, print a table, and draw them."""
    name, _, ends = chosen.over.rpartition("=")
    try:
        first, last = (float(x) for x in ends.split(":"))
    except ValueError:
        raise FileError(f"--over {chosen.over}: write it as NAME=FROM:TO with two numbers") from None
    values = np.linspace(first, last, max(chosen.points, 2))
    from whippletree.equilibria import equilibrium_path

    path = equilibrium_path(model.build(), name.strip(), values, t=model.run.get("t0", 0.0), **load_of(model, chosen))
    print(path)
    joints = [use.name for use in path[0].system.description.joints if use.joint.nq == 1][:6]
    print("  ".join([f"{path.name:>14}", *(f"{joint:>14.14}" for joint in joints), "stability"]))
    for k, (value, one) in enumerate(zip(path.values, path, strict=True)):
        numbers = [f"{one.coordinates()[joint][0]:14.6g}" for joint in joints]
        turned = " (turning point)" if k in path.turning else ""
        print("  ".join([f"{value:14.6g}", *numbers, one.stability + turned]))
    if chosen.plot is not None:
        path.plot(*joints, path=chosen.plot)
    return 0
