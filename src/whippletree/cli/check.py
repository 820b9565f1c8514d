"""`whippletree check`: the contents of a model file, and whether it can be built."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from whippletree.cli.reading import add_model, read_model
from whippletree.cli.said import in_one_line, in_the_name_of
from whippletree.errors import WhippletreeError
from whippletree.model.io import Model
from whippletree.system import System

__all__ = ["add", "check"]

_MOST = 20
"""How many lines about joints are printed."""


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    what = "a model file: its plan, mobility, redundant equations and assembly"
    parser = words.add_parser("check", help=what, description=f"Check {what}. The exit code is 1 if it will not do.")
    add_model(parser)
    parser.set_defaults(run=check)


def check(chosen: argparse.Namespace) -> int:
    """Print the contents of a file; return 1, with the reason in one line, if it cannot be read, built or assembled."""
    try:
        model = read_model(chosen)
        print(_elements(model), end="\n\n")
        with in_the_name_of(model):
            system = model.build()
            print(system.plan, end="\n\n")
            print(system.mobility, end="\n\n")
            print(_start(model, system))
    except WhippletreeError as error:
        print(f"whippletree: {in_one_line(error)}", file=sys.stderr)
        return 1
    return 0


def _elements(model: Model) -> str:
    """Return the numbers of elements by type, in words."""
    d = model.mechanism.describe()
    groups = {
        "bodies": d.bodies,
        "joints": d.joints,
        "closures": d.closures,
        "forces": d.forces,
        "states": d.states,
        "frames": d.frames,
        "parameters": d.parameters,
    }
    counts = [f"{len(group)} {kind if len(group) > 1 else _ONE[kind]}" for kind, group in groups.items() if group]
    return f'"{d.name}": {", ".join(counts) or "nothing"}'


_ONE = {
    "bodies": "body",
    "joints": "joint",
    "closures": "closure",
    "forces": "force",
    "states": "state",
    "frames": "frame",
    "parameters": "parameter",
}


def _start(model: Model, system: System) -> str:
    """Return where the mechanism starts, and how well its loops are closed there."""
    q, v = model.initial(system)
    t = float(model.run.get("t0", 0.0))
    lines = []
    for name in system.joint_names:
        position, velocity = q[system.q_slice(name)], v[system.v_slice(name)]
        if position.size:
            moving = f", velocity {_listed(velocity)}" if np.any(velocity) else ""
            lines.append(f"  {name}: {_listed(position)}{moving}")
    if len(lines) > _MOST:
        lines[_MOST - 1 :] = [f"  ... and {len(lines) - _MOST + 1} more"]
    return "\n".join([_residual(system, q, t), *lines])


def _residual(system: System, q: np.ndarray[tuple[int], np.dtype[np.float64]], t: float) -> str:
    residual = np.abs(np.asarray(system.closure_residual(q, t=t)))
    if residual.size == 0:
        return "There are no loops to close. It starts at"
    return f"Assembled, with a closure residual of {residual.max():.1e}. It starts at"


def _listed(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    texts = [f"{number + 0.0:.6g}" for number in numbers]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
