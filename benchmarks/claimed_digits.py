"""Digits that `verify=True` claims, beside those that are right: ``python benchmarks/claimed_digits.py [problem ...]``.

The problems, steps and tolerances are those of `accuracy.py`, and the fixed steps of `verification.py` besides. What is
right is told by `dop853` with a tolerance of 1e-13, which `accuracy.py` holds against solutions that do not come from
the engine. The bar: claimed are at most 0.3 digits beyond the right ones, of which ten are looked at.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from accuracy import ADAPTIVE, HALVINGS, TOLERANCES
from accuracy_problems import Model, Problem, problems
from timing import table
from verification import FIXED

import whippletree as wt

BAR = 0.3
MOST_DIGITS = 10.0


def ways(problem: Problem) -> Iterator[tuple[str, dict[str, Any]]]:
    """The methods with their steps and tolerances."""
    for method in ADAPTIVE:
        for tolerance in TOLERANCES:
            yield method, {"method": method, "tolerance": tolerance}
    for method in ("trapezoidal", "generalized_alpha"):
        for tolerance in (1e-3, 1e-4, 1e-5):
            yield f"{method}, chosen steps", {"method": method, "tolerance": tolerance, "adaptive": True}
    for method in FIXED:
        for k in range(HALVINGS + 1):
            step = problem.steps.get(method, problem.step) / 2**k
            yield f"{method}, fixed steps", {"method": method, "step": step, "adaptive": False}


def run(problem: Problem, model: Model, **options: Any) -> wt.Trajectory:
    begin = float(model.start.get("t0", 0.0))
    return model.system.simulate(problem.duration, times=begin + problem.times, **options, **model.start)


def right(one: wt.Trajectory, exact: wt.Trajectory) -> float:
    """The digits that are right in the worst joint: of coordinates by how far they go, of velocities by their size."""
    s, worst = one.system, MOST_DIGITS
    for use in s.description.coordinate_owners:
        q, v = s.q_slice(use.name), s.v_slice(use.name)
        a, b = one.q[:, q], exact.q[:, q].copy()
        if use.joint.quaternion:
            b[(a[:, :4] * b[:, :4]).sum(axis=1) < 0, :4] *= -1
        for off, size in ((a - b, np.ptp(b, axis=0)), (one.v[:, v] - exact.v[:, v], np.abs(exact.v[:, v]))):
            if size.size and size.max() > 1e-9:
                worst = min(worst, -np.log10(max(np.abs(off).max(), 1e-300) / size.max()))
    return max(worst, 0.0)


def main() -> None:
    known = problems()
    parser = argparse.ArgumentParser(description="Digits that verify=True claims, and those that are right.")
    parser.add_argument("problems", nargs="*", metavar="problem", help=f"any of {', '.join(known)} (default: all)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, missed = [], 0
    for name in arguments.problems or known:
        problem = known[name]
        model = problem.model()
        exact = run(problem, model, method="dop853", tolerance=1e-13)
        found: dict[str, list[tuple[float, float]]] = {}
        for words, options in ways(problem):
            try:
                one = run(problem, model, verify=True, **options)
            except wt.WhippletreeError:
                continue
            claimed = np.nan_to_num(one.certificate.digits, nan=0.0)  # nothing is claimed where none can be told
            found.setdefault(words, []).append((min(float(claimed), MOST_DIGITS), right(one, exact)))
        for words, pairs in found.items():
            beyond = max(claimed - true for claimed, true in pairs)
            missed += beyond > BAR
            said = "met" if beyond <= BAR else "MISSED"
            rows.append([name, words, "; ".join(f"{a:.1f} of {b:.1f}" for a, b in pairs), f"{beyond:.2f}", said])
        print(f"- {name}: {missed} missed so far", flush=True)
    header = ["problem", "method", "claimed of right", "beyond at most", f"≤ {BAR}"]
    table("Digits claimed and right", header, rows, f"{len(rows) - missed} met, {missed} missed.")


if __name__ == "__main__":
    main()
