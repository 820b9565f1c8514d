"""Steps of fixed work: how long they take, one by one, and which share of a millisecond that is.

    python benchmarks/realtime.py [model ...] [--methods semi_implicit rk4 natural] [--instructions 1000]

For the models of chapter 8 of Garcia de Jalon and Bayo: operations of a step; median, 99.9th percentile and worst of
steps' own times in machine code, in bursts that nobody disturbed; the worst run of all bursts; and 99.9th percentile
over median of constant work and of steps in all bursts that the operating system says were quiet, to be compared.
`step_clock.py` says what own, quiet and undisturbed mean; steps' times decide nothing of it. The bar: the 99.9th
percentile of undisturbed steps at most 1.5 times the median. Where there are less than a thousand such steps, the line
says so and is not judged. Then the time of a step from Python, bar 3 µs above that of the machine code. What a
method does not take is said in its line.

`--instructions` instead runs steps from so many states far apart (subnormal to 1e5 rad, also where a step is refused)
instruction by instruction, and compares: the bar is that all run the same instructions in the same order. That takes
40 µs an instruction.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from step_clock import LENGTH, Burst, StepClock, before_others, cycles_per_second, undisturbed

from whippletree.analysis.models import MODELS
from whippletree.errors import StateError
from whippletree.realtime import RealtimeStepper, StepStatus

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.instruction_trace import InstructionTrace, varied_states

BAR, FROM_PYTHON = 1.5, 3e-6
NAMES = ("five-bar pendulum", "Bricard", "human body", "heavy truck", "car")
ENOUGH, FEW, PATIENCE = 20_000, 1000, 15.0
"""Undisturbed steps that are enough, how many it takes to judge, and seconds after which what there is has to do."""


def row(name: str, method: str, stepper: RealtimeStepper) -> tuple[str, int]:
    """Return a line of the table, and how many bars are missed."""
    clock, bursts = StepClock(stepper), []
    count = clock.usual()
    begin = time.perf_counter()
    while time.perf_counter() - begin < PATIENCE:
        bursts += [clock.burst(count) for _ in range(20)]
        if sum(len(one.cycles) for one in undisturbed(bursts)) >= ENOUGH:
            break
    good = undisturbed(bursts)
    rate = cycles_per_second()
    times = np.concatenate([one.own[:, 1] for one in good or bursts]) / rate
    latest = max(float(one.cycles.max()) for one in bursts if len(one.cycles)) / rate
    median, high, worst = float(np.median(times)), float(np.quantile(times, 0.999)), float(times.max())
    python = _from_python(stepper, median) - median
    figures = " | ".join(f"{1e6 * value:.2f}" for value in (median, high, worst, latest, python))
    line = f"| {name} | {method} | {stepper.operations.total} | {figures} | {median / 1e-3:.2%} |"
    judged = bool(good) and len(times) >= FEW
    missed = judged and high / median > BAR
    word = "MISSED" if missed else "met" if judged else "too few to judge"
    line += f" {word} ({high / median:.2f}) | {len(times) if good else 0} steps, {len(good)} of {len(bursts)} bursts"
    return f"{line} | {_compared(bursts)} |", int(missed) + int(python > FROM_PYTHON)


def _compared(bursts: list[Burst]) -> str:
    """Return 99.9th percentile over median of control and step in quiet bursts."""
    own = [one.own for one in bursts if one.quiet and len(one.cycles)]
    if not own:
        return "no quiet burst"
    together = np.concatenate(own)
    return ", ".join(f"{ratio:.2f}" for ratio in np.quantile(together, 0.999, axis=0) / np.median(together, axis=0))


def instructions(stepper: RealtimeStepper, count: int) -> tuple[str, int]:
    """Return what steps from many states run, in words, and how many bars are missed."""
    trace = InstructionTrace(stepper)
    states = varied_states(stepper, count)
    runs, statuses = set(), Counter[str]()
    for state in states:
        runs.add(trace.of(state))
        statuses[StepStatus(int(trace.next[-1])).name] += 1
    counts = sorted({run.count for run in runs})
    told = ", ".join(f"{number} {name}" for name, number in statuses.items())
    return f"{count} states ({told}): {counts} instructions, {len(runs)} different runs", int(len(runs) > 1)


def _from_python(stepper: RealtimeStepper, median: float) -> float:
    """Return the least mean time of a call from Python, over runs of calls too short to be interrupted."""
    best, count = np.inf, max(3, round(LENGTH / median))
    for _ in range(300):
        stepper.reset()
        with before_others():
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
    reader.add_argument("--instructions", type=int, default=0, metavar="STATES")
    given = reader.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if not given.instructions:
        _print_head()
    missed = 0
    for name in given.models or NAMES:
        system = MODELS[name]().build()
        for method in given.methods:
            try:
                stepper = system.realtime(step=1e-3, method=method, iterations=2)
            except StateError as refused:
                print(f"| {name} | {method} | {refused} |", flush=True)
                continue
            if given.instructions:
                words, more = instructions(stepper, given.instructions)
                line = f"{name}, {method}: {words}"
            else:
                line, more = row(name, method, stepper)
            print(line, flush=True)
            missed += more
    return missed


def _print_head() -> None:
    print("times in µs")
    print(
        "| model | method | operations | median | 99.9 % | worst | worst of all "
        "| from Python, more | of 1 ms | bar | counted | quiet: control, step |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")


if __name__ == "__main__":
    sys.exit(bool(main()))
