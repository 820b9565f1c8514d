"""Steps of fixed work: how long they take, one by one, and which share of a millisecond that is.

    python benchmarks/realtime.py [model ...] [--methods semi_implicit rk4 natural]

For the models of chapter 8 of Garcia de Jalon and Bayo: operations of a step; median, 99.9th percentile and worst of
single steps in machine code, in bursts that nobody disturbed (`step_clock.py` says what that means), and the worst of
all bursts. The bar: the 99.9th percentile at most 1.5 times the median. Then the time of a step from Python, bar 3 µs
above that of the machine code. What a method does not take is said in its line.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np
from step_clock import StepClock, cycles_per_second, undisturbed

from whippletree.analysis.models import MODELS
from whippletree.errors import StateError
from whippletree.realtime import RealtimeStepper

BAR, FROM_PYTHON = 1.5, 3e-6
NAMES = ("five-bar pendulum", "Bricard", "human body", "heavy truck", "car")
ENOUGH, PATIENCE = 20_000, 15.0
"""Undisturbed steps that are enough, and seconds after which what there is has to do."""


def row(name: str, method: str, stepper: RealtimeStepper) -> tuple[str, int]:
    """Return a line of the table, and how many bars are missed."""
    clock, bursts = StepClock(stepper), []
    count = clock.usual()
    begin = time.perf_counter()
    while time.perf_counter() - begin < PATIENCE:
        bursts += [clock.burst(count) for _ in range(20)]
        if sum(len(one.steps) for one in undisturbed(bursts)) >= ENOUGH:
            break
    good = undisturbed(bursts)
    rate = cycles_per_second()
    times = np.concatenate([one.steps for one in good or bursts]) / rate
    latest = max(float(one.steps.max()) for one in bursts if len(one.steps)) / rate
    median, high, worst = float(np.median(times)), float(np.quantile(times, 0.999)), float(times.max())
    met = high / median <= BAR
    word = f"{'met' if met else 'MISSED'} ({high / median:.2f})" if good else "no undisturbed burst"
    python = _from_python(stepper) - median
    figures = " | ".join(f"{1e6 * value:.2f}" for value in (median, high, worst, latest, python))
    line = f"| {name} | {method} | {stepper.operations.total} | {figures} | {median / 1e-3:.2%} | {word} |"
    twins = np.concatenate([one.reference for one in bursts])
    floor = float(np.quantile(twins, 0.999) / np.median(twins))
    return line + f" {len(times)} steps, {len(good)} of {len(bursts)} bursts | {floor:.1f} |", int(not met) + int(
        python > FROM_PYTHON
    )


def _from_python(stepper: RealtimeStepper, count: int = 200) -> float:
    """Return the least mean time of a call from Python, over some runs of calls."""
    best = np.inf
    for _ in range(30):
        stepper.reset()
        begin = time.perf_counter()
        for _ in range(count):
            stepper.step()
        best = min(best, (time.perf_counter() - begin) / count)
    return float(best)


def main() -> int:
    """Print one line for each model and method."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("models", nargs="*", default=[])
    reader.add_argument("--methods", nargs="*", default=["semi_implicit", "rk4", "natural"])
    given = reader.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("times in µs")
    print(
        "| model | method | operations | median | 99.9 % | worst | worst of all "
        "| from Python, more | of 1 ms | bar | counted | twin, all bursts |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    missed = 0
    for name in given.models or NAMES:
        system = MODELS[name]().build()
        for method in given.methods:
            try:
                stepper = system.realtime(step=1e-3, method=method, iterations=2)
            except StateError as refused:
                print(f"| {name} | {method} | {refused} |", flush=True)
                continue
            line, more = row(name, method, stepper)
            print(line, flush=True)
            missed += more
    return missed


if __name__ == "__main__":
    sys.exit(bool(main()))
