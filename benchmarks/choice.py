"""What `auto` chooses against every formulation by itself: ``python benchmarks/choice.py``.

Mechanisms of all sorts, forward dynamics of one state in a native loop, one core. `auto` is to be as fast as the best
formulation on each of them, and faster than any one formulation over the whole set. Times are the least of many bursts
that take turns: what else the machine does only adds to them.
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

from whippletree.errors import WhippletreeError
from whippletree.formulations.methods import registry
from whippletree.model import io

FORMULATIONS = ("auto", *(one.text for one in registry.candidates()), "absolute", "fully_recursive")
SHORT = {name: name.replace("velocity_transformation/reference_point", "transformation") for name in FORMULATIONS}
LONG = 60_000
"""Operations of what takes too long to compile to be compared."""
SIZES = {"N-four-bar": (1, 10), "serial cells": (3, 20), "ladder": (6,), "long loop": (12,)}
NOISE = 1.1
"""Figures closer than that are as good as equal."""


def systems() -> dict[str, Any]:
    """The benchmark set."""
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
    rng = np.random.default_rng(1)
    q = system.q0
    v = system.consistent_velocities(q, rng.normal(size=system.nv))
    given = {"q": q[None], "v": v[None], "tau": rng.normal(size=(1, system.nv))}
    loops = {}
    for name in FORMULATIONS:
        try:
            if system.kernels.operations("forward_dynamics", formulation=name).total > LONG:
                continue
            kernel = system.kernels.kernel("forward_dynamics", formulation=name)
        except WhippletreeError:
            continue
        loops[name] = KernelLoop(kernel, given, (system.nv,)).run()
    with one_core():
        return bursts(loops, rounds)


def choice(options: Options) -> None:
    rows: list[tuple[object, ...]] = []
    shares: dict[str, list[float]] = {f: [] for f in FORMULATIONS}
    for name, system in systems().items():
        times = {f: each.best for f, each in timed(system, options.rounds).items()}
        best = min((f for f in times if f != "auto"), key=times.__getitem__)
        share = times["auto"] / times[best]
        for f, taken in times.items():
            shares[f].append(taken / times["auto"])
        figures = [1e6 * times[f] if f in times else None for f in FORMULATIONS]
        used = SHORT.get(system.chosen.name, system.chosen.name)
        rows.append((name, *figures, used, SHORT[best], share, "met" if share <= NOISE else "MISSED"))
    named = [f"{SHORT[f]}, µs" for f in FORMULATIONS]
    header = ("mechanism", *named, "auto uses", "best by itself", "auto's share of it", f"≤ {NOISE:g}")
    table("What auto chooses", header, rows)
    means = [(SHORT[f], float(np.mean(shares[f])), len(shares[f])) for f in FORMULATIONS]
    table("Over the whole set", ("formulation", "mean of its time over auto's", "mechanisms"), means)


if __name__ == "__main__":
    main("Choice", {"choice": choice})
