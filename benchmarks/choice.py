"""What `auto` chooses against every formulation by itself: ``python benchmarks/choice.py``.

Mechanisms of all sorts, forward dynamics of one state in a native loop, one core. `auto` is to be as fast as the best
formulation on each of them, and faster than any one formulation over the whole set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bars import Options
from command import main
from growth_models import FAMILIES
from loop_platform import platform
from motion_models import EXAMPLES
from ours import KernelLoop
from timing import Times, bursts, one_core, table

FORMULATIONS = (
    "auto",
    "tree_augmented",
    "joint_multipliers",
    "independent_coordinates",
    "constraint_embedding",
    "coordinate_reduction",
    "absolute",
)
SIZES = {"N-four-bar": (1, 10), "serial cells": (3, 20), "ladder": (6,), "long loop": (12,)}
NOISE = 1.1
"""Figures closer than that are as good as equal."""


def systems() -> dict[str, Any]:
    """The benchmark set."""
    from whippletree.model import io

    found: dict[str, Any] = {}
    for family, sizes in SIZES.items():
        for size in sizes:
            mechanism, guess = FAMILIES[family](size)
            found[f"{family}, {size}"] = mechanism.build(guess=guess)
    problem = platform()
    found[problem.name] = problem.mechanism().build(guess=problem.guess())
    for name in ("iftomm/bricard", "iftomm/squeezer", "quarter_car"):
        found[name] = io.read_file(EXAMPLES.parent / f"{name}.yaml").build()
    return found


def timed(system: Any, rounds: int) -> dict[str, Times]:
    from whippletree.errors import WhippletreeError

    rng = np.random.default_rng(1)
    q = system.q0
    v = system.consistent_velocities(q, rng.normal(size=system.nv))
    given = {"q": q[None], "v": v[None], "tau": rng.normal(size=(1, system.nv))}
    loops = {}
    for name in FORMULATIONS:
        try:
            kernel = system.kernel("forward_dynamics", formulation=name)
        except WhippletreeError:
            continue
        loops[name] = KernelLoop(kernel, given, (system.nv,)).run()
    with one_core():
        return bursts(loops, rounds)


def choice(options: Options) -> None:
    rows, totals = [], dict.fromkeys(FORMULATIONS, 0.0)
    for name, system in systems().items():
        times = {f: each.median for f, each in timed(system, options.rounds).items()}
        best = min((f for f in times if f != "auto"), key=times.__getitem__)
        share = times["auto"] / times[best]
        for f in FORMULATIONS:
            totals[f] += times.get(f, np.inf) / times["auto"]
        figures = [1e6 * times[f] if f in times else None for f in FORMULATIONS]
        rows.append((name, *figures, best, share, "met" if share <= NOISE else "MISSED"))
    header = ("mechanism", *(f"{f}, µs" for f in FORMULATIONS), "best by itself", "auto's share of it", f"≤ {NOISE:g}")
    table("What auto chooses", header, rows)
    means = [(f, totals[f] / len(rows)) for f in FORMULATIONS]
    table("Over the whole set", ("formulation", "mean of its time over auto's"), means)


if __name__ == "__main__":
    main("Choice", {"choice": choice})
