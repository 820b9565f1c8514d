"""What `verify=True` costs: CPU time of runs with it over that of runs without.

    python benchmarks/verification.py [problem ...]

The problems are those of `accuracy.py` that are not random, with a tolerance of 1e-8. The least of four runs
counts, after one that compiles. The bar is 2.5.
"""

from __future__ import annotations

import sys
import time
import warnings

from accuracy import ADAPTIVE
from accuracy_problems import Problem, problems
from timing import table

BAR, TOLERANCE, ROUNDS = 2.5, 1e-8, 4


def seconds(problem: Problem, method: str) -> tuple[float, float]:
    """CPU seconds of a run, without and with the second one."""
    model = problem.model()

    def least(verify: bool) -> float:
        times = []
        for _ in range(ROUNDS + 1):
            begin = time.process_time()
            model.system.simulate(
                problem.duration, times=problem.times, method=method, tolerance=TOLERANCE, verify=verify, **model.start
            )
            times.append(time.process_time() - begin)
        return min(times[1:])

    return least(False), least(True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    rows = []
    for name in sys.argv[1:] or [name for name in problems() if not name.startswith("random")]:
        for method in ADAPTIVE:
            alone, verified = seconds(problems()[name], method)
            ratio = verified / alone
            rows.append([name, method, 1e3 * alone, 1e3 * verified, ratio, "met" if ratio <= BAR else "MISSED"])
    table("Cost of verify=", ["problem", "method", "run, ms", "verified, ms", "ratio", f"≤ {BAR:g}"], rows)
