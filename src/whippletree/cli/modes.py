"""`whippletree modes`: frequencies, damping and shapes of a model file's mechanism about its equilibrium."""

from __future__ import annotations

import argparse

from whippletree.cli.equilibrium import add_load, equilibrium_of, new_plot
from whippletree.cli.reading import read_model
from whippletree.cli.said import in_the_name_of

__all__ = ["add", "modes"]


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = words.add_parser(
        "modes",
        help="frequencies and modes of a model about its equilibrium",
        description="Find the equilibrium of a model file, linearise there, and print frequencies, damping ratios and "
        "what moves most in each mode.",
    )
    add_load(parser)
    parser.add_argument("--plot", metavar="FILE.png", help="draw the shapes of the modes")
    parser.add_argument("--save", metavar="FILE.mat", help="write the linear model as a MATLAB file")
    parser.set_defaults(run=modes)


def modes(chosen: argparse.Namespace) -> int:
    """Print the modes, and write the files asked for."""
    new_plot(chosen)
    model = read_model(chosen)
    with in_the_name_of(model):
        found = equilibrium_of(model, chosen)
        linear = found.linearize()
    print(found)
    print(linear.modes())
    if chosen.plot is not None:
        linear.plot("modes", path=chosen.plot)
    if chosen.save is not None:
        linear.save(chosen.save)
    return 0
