"""What `verify=True` costs: CPU time of runs with it over that of runs without.

    python benchmarks/verification.py [problem ...] [--rounds 12] [--work]

The problems are those of `accuracy.py` that are not random, and four long runs, in which nothing but steps takes time:
by methods that choose their steps, with tolerances of 1e-6, 1e-8 and 1e-10 (1e-4 if they are implicit), and by all
methods with steps of a fixed size. Runs without and with it take turns, and medians of the twelve count, after one that
compiles. (The least times would favour the shorter run, which more often finds the machine quiet.) Told are also the
digits that are right by that, and how the further runs were made.

The bar: at most 2.5 runs and the fixed cost of comparing. A run takes c + w, w for its steps and c for everything else:
reading arguments, the start, the outputs. Further runs do at most 1.5 w, but each of them starts too, and the numbers
are compared: c + w + F + 1.5 w in all. Over c + w that is at most 2.5 only while F is at most 1.5 c; F has one or two
starts and outputs in it, about c each, and the comparison, so that the quotient goes to more than 3 as w goes to zero,
whatever the steps cost. So F is measured, as what `verify=True` costs a run of a single step, and the bars are
(verified - F) / run, at most 2.5, and F / c, at most 4, where c is the time of the run of a single step.

With ``--work``, what a step costs beside its evaluations, in these: the numbers of `studies/verification.py`. What an
evaluation costs is the slope of the time of `rk4` and `dop853` with steps of a fixed size.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from accuracy_problems import Model, Problem, hinge, one_four_bar, problems, six_hinges
from timing import table

import whippletree as wt
from whippletree.studies.verification import STEP_WORK
from whippletree.system.example_systems import four_bar

BAR = 2.5
FIXED_BAR = 4.0
_SINGLE = 1000.0
"""Runs of a single step are so much shorter than a step of a fixed size."""

_SINGLES = 12
"""Such runs of each kind are made so often at least: they take little time."""

FIXED = ("semi_implicit_euler", "rk4", "dopri5", "dop853", "trapezoidal", "generalized_alpha")


def arm() -> Model:
    """Seven bodies in a row, on hinges of all directions."""
    m = wt.Mechanism("arm")
    tip = m.ground
    for k, axis in enumerate("yxzyxzy"):
        body = m.body(f"link {k}", mass=1.0, com=(0.5, 0, 0), inertia=np.diag([0.02, 0.1, 0.1]))
        m.revolute(f"joint {k}", tip, body, axis=axis, at=(float(k > 0), 0, 0))
        tip = body
    return Model(m.build(), {}, lambda run: run.q)


def crank() -> Model:
    return Model(four_bar(), {}, lambda run: run.q)


def chosen() -> dict[str, Problem]:
    """The problems by name; of long ones the motion is not compared."""
    found = {name: one for name, one in problems().items() if not name.startswith("random")}
    for name, model, duration, step in (
        ("long hinge", hinge, 300.0, 2e-2),
        ("long arm", arm, 6.0, 1e-3),
        ("long crank", crank, 60.0, 8e-3),
        ("long bricard", six_hinges, 100.0, 2e-2),
    ):
        found[name] = Problem(name, model, partial(np.zeros_like), duration, step)
    return found


def ways(problem: Problem) -> Iterator[tuple[str, dict[str, Any]]]:
    """In which ways a problem is run: in words, and as options."""
    for method in ("dopri5", "dop853", "adams"):
        for tolerance in (1e-6, 1e-8, 1e-10):
            yield f"{method}, {tolerance:g}", {"method": method, "tolerance": tolerance}
    for method in ("trapezoidal", "generalized_alpha"):
        yield f"{method}, 0.0001", {"method": method, "tolerance": 1e-4, "adaptive": True}
    for method in FIXED:
        step = problem.steps.get(method, problem.step) / 2
        yield f"{method}, {1e3 * step:g} ms", {"method": method, "step": step, "adaptive": False}


class Cost(NamedTuple):
    """Medians of CPU seconds without and with further runs and of the difference, and the certificate."""

    alone: float
    verified: float
    more: float
    certificate: wt.Certificate


def cost_of(run: Callable[[bool], wt.Trajectory], rounds: int) -> Cost:
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds + 1):
        for verify, found in times.items():
            begin = time.process_time()
            made = run(verify)
            found.append(time.process_time() - begin)
    alone, verified = np.array(times[False][1:]), np.array(times[True][1:])
    return Cost(*(float(np.median(each)) for each in (alone, verified, verified - alone)), made.certificate)


def costs(problem: Problem, options: Mapping[str, Any], rounds: int) -> tuple[Cost, Cost]:
    """The cost of a problem's run, and of one of a single step with as many outputs."""
    model, step = problem.model(), options.get("step", problem.step) / _SINGLE

    def run(duration: float, times: Any, verify: bool) -> wt.Trajectory:
        return model.system.simulate(duration, times=times, verify=verify, **options, **model.start)

    single = step * problem.times / problem.duration
    return (
        cost_of(partial(run, problem.duration, problem.times), rounds),
        cost_of(partial(run, step, single), max(rounds, _SINGLES)),
    )


# ---------------------------------------------------------------------------------------------------------
# The work of a step


def cost(model: Model, options: Mapping[str, Any], duration: float, rounds: int) -> tuple[float, int, int]:
    """CPU seconds of a run, its evaluations, and its steps with those that were refused."""
    least = np.inf
    for _ in range(rounds):
        simulation = wt.Simulation(model.system, **options, **model.start)
        begin = time.process_time()
        simulation.run(np.array([duration]))
        least = min(least, time.process_time() - begin)
    return least, simulation.evaluations, simulation.steps + simulation.refused


def step_work(rounds: int) -> None:
    """What steps cost, for mechanisms that do not change their coordinates."""
    rows = []
    for name, make, duration in (
        ("hinge", hinge, 300.0),
        ("arm", arm, 10.0),
        ("crank", crank, 30.0),
        ("bricard", six_hinges, 30.0),
        ("four-bar", one_four_bar, 10.0),
    ):
        model = make()
        runs: Callable[..., tuple[float, int, int]] = partial(cost, model, duration=duration, rounds=rounds)
        small, large = (runs({"method": m, "step": duration / 4000, "adaptive": False}) for m in ("rk4", "dop853"))
        one = (large[0] - small[0]) / (large[1] - small[1])
        options = [{"method": m, "step": duration / 4000, "adaptive": False} for m in FIXED]
        options += [{"method": m, "tolerance": 1e-8 if m[0] in "ad" else 1e-4, "adaptive": True} for m in STEP_WORK]
        for given in options:
            seconds, evaluations, steps = runs(given)
            how = "chosen steps" if given["adaptive"] else "fixed steps"
            rows.append([name, given["method"], how, 1e6 * one, (seconds / one - evaluations) / steps])
    table("Work of a step", ["mechanism", "method", "", "evaluation, µs", "step beside them, evaluations"], rows)


def main() -> None:
    known = chosen()
    parser = argparse.ArgumentParser(description="What verify=True costs.")
    parser.add_argument("problems", nargs="*", metavar="problem", help=f"any of {', '.join(known)} (default: all)")
    parser.add_argument("--rounds", type=int, default=12, help="runs of each kind, after one that compiles")
    parser.add_argument("--work", action="store_true", help="what a step costs beside its evaluations")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.work:
        step_work(arguments.rounds)
        return
    rows = []
    for name in arguments.problems or known:
        for words, options in ways(known[name]):
            whole, single = costs(known[name], options, arguments.rounds)
            ratio, beside = (whole.verified - single.more) / whole.alone, single.more / single.alone
            bar = "met" if ratio <= BAR and beside <= FIXED_BAR else "MISSED"
            found = whole.certificate
            took = [1e3 * one for one in (whole.alone, whole.verified, single.alone, single.more)]
            rows.append([name, words, *took, whole.verified / whole.alone, ratio, beside, bar])
            rows[-1] += [f"{found.digits:.1f}", found["second_run"]]
    header = ["problem", "method", "run, ms", "verified, ms", "one step, c, ms", "F, ms", "verified / run"]
    header += [f"without F, ≤ {BAR:g}", f"F / c, ≤ {FIXED_BAR:g}", "bar", "digits", "further runs"]
    missed = sum(row[9] != "met" for row in rows)
    table("Cost of verify=", header, rows, f"{len(rows) - missed} met, {missed} missed.")


if __name__ == "__main__":
    main()
