"""What `verify=True` costs: CPU time of runs with it over that of runs without.

    python benchmarks/verification.py [problem ...] [--rounds 4]

The problems are those of `accuracy.py` that are not random: by methods that choose their steps, with tolerances of 1e-6,
1e-8 and 1e-10 (1e-4 if they are implicit), and by all methods with steps of a fixed size. The least of four runs counts,
after one that compiles. The bar is 2.5. Told are also the digits that agree, and how far the second run came.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from accuracy_problems import Problem, problems
from timing import table

import whippletree as wt

BAR = 2.5


def ways(problem: Problem) -> Iterator[tuple[str, dict[str, Any]]]:
    """In which ways a problem is run: in words, and as options."""
    for method in ("dopri5", "dop853", "adams"):
        for tolerance in (1e-6, 1e-8, 1e-10):
            yield f"{method}, {tolerance:g}", {"method": method, "tolerance": tolerance}
    for method in ("trapezoidal", "generalized_alpha"):
        yield f"{method}, 0.0001", {"method": method, "tolerance": 1e-4, "adaptive": True}
    for method in ("semi_implicit_euler", "rk4", "dopri5", "dop853", "trapezoidal", "generalized_alpha"):
        step = problem.steps.get(method, problem.step) / 2
        yield f"{method}, {1e3 * step:g} ms", {"method": method, "step": step, "adaptive": False}


def seconds(problem: Problem, options: Mapping[str, Any], rounds: int) -> tuple[float, float, wt.Certificate]:
    """CPU seconds of a run, without and with the second one, and the certificate with it."""
    model = problem.model()
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds + 1):
        for verify, found in times.items():
            begin = time.process_time()
            run = model.system.simulate(problem.duration, times=problem.times, verify=verify, **options, **model.start)
            found.append(time.process_time() - begin)
    return min(times[False][1:]), min(times[True][1:]), run.certificate


def main() -> None:
    known = {name: one for name, one in problems().items() if not name.startswith("random")}
    parser = argparse.ArgumentParser(description="What verify=True costs.")
    parser.add_argument("problems", nargs="*", metavar="problem", help=f"any of {', '.join(known)} (default: all)")
    parser.add_argument("--rounds", type=int, default=4, help="runs of which the least counts")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in arguments.problems or known:
        for words, options in ways(known[name]):
            alone, verified, found = seconds(known[name], options, arguments.rounds)
            ratio = verified / alone
            bar = "met" if ratio <= BAR else "MISSED"
            rows.append([name, words, 1e3 * alone, 1e3 * verified, ratio, bar, f"{found.digits:.1f}", found.second_run])
            print(*rows[-1], flush=True)
    header = ["problem", "method", "run, ms", "verified, ms", "ratio", f"≤ {BAR:g}", "digits", "second run"]
    missed = sum(row[5] != "met" for row in rows)
    table("Cost of verify=", header, rows, f"{len(rows) - missed} met, {missed} missed.")


if __name__ == "__main__":
    main()
