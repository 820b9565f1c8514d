"""How the cost of loops grows: ``python benchmarks/growth.py [section ...]``; `growth_plot.py` plots the families.

Sections: families (operations and time against size, with the exponent of the growth), lcaba (IFToMM A02 with 100
loops against Pinocchio's lcaba), compile (from the description to the first result, 1000 loops).
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from bars import LOOP_ERROR, Options, micro, ratio, verdict
from command import main
from growth_models import FAMILIES
from loop_models import four_bars
from loop_peers import LCABA, Contestant, pinocchio_contestants, worst
from native_code import BUILD
from ours import KernelLoop
from timing import bursts, one_core, table

GROWTH = 1.1  # the largest exponent
LCABA_GAIN = 20.0  # times as fast as lcaba, 100 loops
COMPILE = {"serial cells": 5.0, "N-four-bar": 30.0}  # seconds, 1000 loops

SIZES = {
    "N-four-bar": (10, 30, 100, 200, 400, 1000),
    "serial cells": (10, 30, 100, 300, 1000),
    "ladder": (8, 16, 32, 100, 300, 1000),
    "long loop": (12, 25, 50, 100, 200),
}
OTHERS = {"tree_augmented": (4, 8, 16, 24), "constraint_embedding": (8, 16, 32, 64)}
"""The cut-loop method, and embedding, at sizes that compile as one straight line."""

FIGURES = BUILD / "growth.json"


class Point(NamedTuple):
    """One size: operations, microseconds."""

    size: int
    operations: int
    micro: float


def exponent(points: Sequence[Point], part: str) -> float:
    """The slope of the line through the larger half, both axes logarithmic."""
    half = points[len(points) // 2 - (len(points) < 4) :]
    sizes = np.log([point.size for point in half])
    return float(np.polyfit(sizes, np.log([getattr(point, part) for point in half]), 1)[0])


def measured(family: str, sizes: Sequence[int], formulation: str, options: Options) -> list[Point]:
    """Operations and times of the forward dynamics, not checked; the sizes' bursts alternate."""
    loops: dict[str, KernelLoop] = {}
    counts = []
    for size in sizes:
        m, guess = FAMILIES[family](size)
        s = m.build(guess=guess)
        kernel = s.kernels.kernel("forward_dynamics", formulation=formulation)
        counts.append(s.kernels.operations("forward_dynamics", formulation=formulation).total)
        rate = 0.3 * np.random.default_rng(size).normal(size=s.nv)  # what the velocities are makes no difference
        loops[str(size)] = KernelLoop(kernel, {"q": s.q0[None], "v": rate[None]}, (s.nv,))
    with one_core():
        times = bursts({name: loop.run() for name, loop in loops.items()}, options.rounds)
    return [Point(size, n, 1e6 * times[str(size)].median) for size, n in zip(sizes, counts, strict=True)]


def families(options: Options) -> None:
    figures: dict[str, Any] = {}
    rows = []
    for family, sizes in SIZES.items():
        runs = {"coordinate_reduction": measured(family, sizes, "coordinate_reduction", options)}
        for name, small in OTHERS.items():
            if name == "tree_augmented" or family == "serial cells":
                runs[name] = measured(family, small, name, options)
        figures[family] = runs
        for name, points in runs.items():
            growth = exponent(points, "operations"), exponent(points, "micro")
            bar = None if name == "tree_augmented" else GROWTH
            last = points[-1]
            row = [family, name, f"{points[0].size} to {last.size}", last.operations, last.micro]
            rows.append(
                [
                    *row,
                    growth[0],
                    verdict(growth[0], bar, at_most=True),
                    growth[1],
                    verdict(growth[1], bar, at_most=True),
                ]
            )
    header = [
        "family",
        "formulation",
        "sizes",
        "operations",
        "µs",
        "exponent, operations",
        "bar",
        "exponent, time",
        "bar",
    ]
    table(
        "Growth of the forward dynamics with the size of the mechanism",
        header,
        rows,
        "Operations and time: at the largest size.",
    )
    BUILD.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps(figures), encoding="utf-8")


def lcaba(options: Options) -> None:
    problem = four_bars(100)
    s = problem.mechanism().build(guess=problem.guess())
    state = problem.ours()
    loop = KernelLoop(
        s.kernels.kernel("forward_dynamics", formulation="coordinate_reduction"),
        {"q": state.q, "v": state.v, "tau": state.tau},
        state.v.shape[1:],
    )
    error = worst([loop.answer(k) for k in range(len(state.q))], state.a)
    ours = Contestant("ours", loop.run(), error)
    theirs = [one for one in pinocchio_contestants(problem) if one.name.startswith(LCABA)]
    with one_core():
        times = bursts({one.name: one.run for one in (ours, *theirs)}, options.rounds)
    rows: list[list[object]] = [
        ["ours", micro(times["ours"]), f"{error:.0e}", verdict(error, LOOP_ERROR, at_most=True), None, "-"]
    ]
    fastest = min(theirs, key=lambda one: times[one.name].median)
    for one in (fastest, min(theirs, key=lambda one: one.error)):
        gain = ratio(times["ours"], times[one.name])
        rows.append([one.name, micro(times[one.name]), f"{one.error:.0e}", "-", gain, verdict(gain, LCABA_GAIN)])
    header = ["IFToMM A02, 100 loops", "µs", "error", "bar", "times as fast", "bar"]
    table("The N-four-bar against Pinocchio's lcaba: its fastest setting, and its most accurate", header, rows)


def compile_time(options: Options) -> None:
    rows = []
    for family, bar in COMPILE.items():
        begin = time.thread_time()
        m, guess = FAMILIES[family](1000)
        s = m.build(guess=guess)
        s.forward_dynamics(s.q0, s.v0, formulation="coordinate_reduction")
        seconds = time.thread_time() - begin
        rows.append([family, seconds, verdict(seconds, bar, at_most=True)])
    table("From the description to the first result, 1000 loops, seconds of CPU", ["family", "s", "bar"], rows)


SECTIONS = {"families": families, "lcaba": lcaba, "compile": compile_time}

if __name__ == "__main__":
    main("Growth with loops", SECTIONS)
