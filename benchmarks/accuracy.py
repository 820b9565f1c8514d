"""How accurate runs are: ``python benchmarks/accuracy.py [problem ...] [--method rk4]``, as tables in markdown.

Every problem is run by every method, with fixed steps that are halved or with tolerances from 1e-4 to 1e-12. Told are
the largest error at ten times against a solution that does not come from the engine (`accuracy_problems.py`), the
observed order, evaluations of the right-hand side, the same of the twin with the natural joint, and what the
certificate says. At the end come the bars:

- fixed steps show the method's order, less 0.5, at every halving whose error is above rounding, or what rk4 in plain
  NumPy shows on the same coordinates, less 0.1, where that is less: a step may be too long to show it;
- the error of adaptive methods falls with the tolerance and stays within 1000 times it, or is rounding,
  or is at most twice that of the twin of the four-bar, a hinge: there, too, its motion multiplies errors;
- evaluations are at most 1.5 times those of the twin with the same method and tolerance, summed over tolerances from a
  third to three times as large: steps are whole numbers, and some are refused, so that the ratio of two single runs
  scatters by a tenth. It is told too, where it is above 1.5. Where SciPy's method of the same kind takes a larger share
  for the same two sets of equations, that is the bar.

All of it takes long, above all the random mechanisms. Every ladder is kept in `.build` as it is done, so that a run
that was broken off goes on where it was; what is kept counts as long as no file of the package or of this benchmark has
changed, and ``--fresh`` forgets it.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # random states follow from singular vectors: the same to the bit every time

import numpy as np
from accuracy_problems import KEPT, Equations, Model, Problem, problems
from scipy.integrate import ode, solve_ivp
from timing import commit, table

from whippletree.errors import WhippletreeError

ORDERS = {"rk4": 4, "trapezoidal": 2, "generalized_alpha": 2}
"""The methods that are run with fixed steps, and their orders."""

ADAPTIVE = ("dopri5", "dop853", "adams")
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
HALVINGS = 4
WITHIN, RATIO, SHORT_OF_ORDER = 1000.0, 1.5, 0.5
SHORT_OF_PLAIN = 0.1
AS_THE_TWIN = 2.0
AROUND = 10.0 ** np.array([-0.5, -0.25, 0.25, 0.5])  # of a tolerance, for evaluations beside the twin's
SINGULAR_FACTOR = 3.5  # of the second-order methods on the four-bar, through singular positions


@dataclass(frozen=True)
class Run:
    """One run: its step or tolerance, and what came out; `words` says why it did not."""

    setting: float
    error: float
    evaluations: int
    ok: bool
    seconds: float
    words: str = ""
    around: int = 0  # evaluations of this run and of those with tolerances around its own


@dataclass(frozen=True)
class Ladder:
    """The runs of one problem by one method, and of its twin."""

    problem: Problem
    method: str
    runs: tuple[Run, ...]
    twins: tuple[Run, ...] = ()

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in (*self.runs, *self.twins))

    @property
    def fixed(self) -> bool:
        return self.method in ORDERS

    def order(self, k: int) -> float | None:
        """The observed order from the run before to this one; None where there is only rounding."""
        if not self.fixed or k == 0 or not self.runs[k].error > self.problem.floor:
            return None
        coarse, fine = self.runs[k - 1 : k + 1]
        return float(np.log(coarse.error / fine.error) / np.log(coarse.setting / fine.setting))

    def ratio(self, k: int) -> float | None:
        if not self.twins or not self.twins[k].around:
            return None
        return self.runs[k].around / self.twins[k].around

    def single_ratio(self, k: int) -> float | None:
        return self.runs[k].evaluations / self.twins[k].evaluations if self.ratio(k) is not None else None

    def as_the_twin(self, k: int) -> bool:
        return bool(self.twins) and not self.problem.natural and self.runs[k].error <= AS_THE_TWIN * self.twins[k].error


def run_once(model: Model, problem: Problem, method: str, setting: float) -> Run:
    """Run a model, and compare its motion."""
    begin = float(model.start.get("t0", 0.0))
    options = {"step" if method in ORDERS else "tolerance": setting, "method": method, **model.start}
    clock = time.process_time()
    try:
        run = model.system.simulate(problem.duration, times=begin + problem.times, **options)
    except WhippletreeError as error:
        return Run(setting, float("inf"), 0, False, time.process_time() - clock, str(error).split("\n")[0])
    worst = float(np.abs(model.seen(run) - problem.right).max())
    found, seconds = run.certificate, time.process_time() - clock
    return Run(setting, worst, found.evaluations, found.ok, seconds, around=found.evaluations)


def run_around(model: Model, problem: Problem, method: str, setting: float) -> Run:
    """Run a model; where evaluations are held against a twin's, count those at tolerances around this one too."""
    run = run_once(model, problem, method, setting)
    if method in ORDERS or not problem.natural or problem.twin is None or run.words:
        return run
    others = [run_once(model, problem, method, setting * share) for share in AROUND]
    return replace(run, around=run.around + sum(one.evaluations for one in others))


def ladder(problem: Problem, method: str, model: Model, twin: Model | None, deadline: float) -> Ladder:
    """Run a problem by a method at all its steps or tolerances, until a run takes longer than the deadline, of CPU."""
    first = problem.steps.get(method, problem.step)
    settings = [first / 2**k for k in range(HALVINGS + 1)] if method in ORDERS else TOLERANCES
    runs, twins = [], []
    for setting in settings:
        if twin is not None:
            twins.append(run_around(twin, problem, method, setting))
        runs.append(run_around(model, problem, method, setting))
        if runs[-1].seconds > deadline:
            break
    return Ladder(problem, method, tuple(runs), tuple(twins))


def show(found: Ladder) -> None:
    """One table."""
    rows = []
    for k, run in enumerate(found.runs):
        twin: tuple[float | None, ...] = ()
        if found.twins:
            twin = (found.twins[k].error, found.twins[k].evaluations, found.single_ratio(k), found.ratio(k))
        said = "ok" if run.ok else run.words or "not ok"
        rows.append((f"{run.setting:.3g}", f"{run.error:.1e}", found.order(k), run.evaluations, *twin, said))
    header = ["step, s" if found.fixed else "tolerance", "error", "order", "evaluations"]
    header += ["twin's error", "twin's evaluations", "ratio", "ratio of several"] if found.twins else []
    rows = [tuple(f"{x:.1e}" if isinstance(x, float) and 0 < x < 1e-3 else x for x in row) for row in rows]
    table(f"{found.problem.name}, {found.method}", [*header, "certificate"], rows)


# ---------------------------------------------------------------------------------------------------------
# The bars


def shortfalls(found: Ladder) -> list[str]:
    """What is missed, and by how much."""
    missed = [f"at {run.setting:.3g}: {run.words}" for run in found.runs if run.words]
    missed += order_missed(found) if found.fixed else tolerance_missed(found)
    for k, run in enumerate(found.runs):
        ratio = found.ratio(k)
        if found.problem.natural and ratio is not None and ratio > RATIO and ratio > plain_ratio(found, run.setting):
            missed.append(f"{ratio:.2f} times the twin's evaluations at {run.setting:.3g}, bar {RATIO}")
    return missed


def remarks(found: Ladder) -> str:
    """What is above a bar and is not counted as missed: ratios of single runs, errors that the twin has too."""
    words = []
    for k, run in enumerate(found.runs):
        ratio = found.single_ratio(k)
        if found.problem.natural and ratio is not None and ratio > RATIO:
            words.append(f"single run {ratio:.2f} times the twin's at {run.setting:.3g}")
        if not found.fixed and run.error > max(WITHIN * run.setting, found.problem.floor) and found.as_the_twin(k):
            times, twins = run.error / run.setting, found.twins[k].error / run.setting
            words.append(f"error {times:.0f} times the tolerance {run.setting:g}, the twin's {twins:.0f}")
    return f" ({'; '.join(words)})" if words else ""


def plain_ratio(found: Ladder, setting: float) -> float:
    """The evaluations that SciPy's method of the same kind takes for the mechanism, in those for its twin."""
    if found.problem.equations is None or found.fixed:
        return 0.0
    own, twin = (
        sum(scipy_evaluations(found.method, one, found.problem.duration, setting * share) for share in (1.0, *AROUND))
        for one in found.problem.equations
    )
    return own / twin


def scipy_evaluations(method: str, equations: Equations, duration: float, tolerance: float) -> int:
    """The evaluations of Dormand and Prince's methods in SciPy, or of the Adams method of VODE."""
    count = itertools.count()

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        next(count)
        return equations.rates(y)

    if method == "adams":
        solver = ode(rates).set_integrator("vode", method="adams", rtol=tolerance, atol=tolerance, nsteps=10**6)
        solver.set_initial_value(equations.start).integrate(duration)
    else:
        named = {"dopri5": "RK45", "dop853": "DOP853"}[method]
        solve_ivp(rates, (0.0, duration), equations.start, method=named, rtol=tolerance, atol=tolerance)
    return next(count)


def order_missed(found: Ladder) -> list[str]:
    missed, plain = [], plain_orders(found)
    for k, run in enumerate(found.runs):
        order, bar = found.order(k), min(ORDERS[found.method] - SHORT_OF_ORDER, plain[k])
        if found.problem.name == "four-bar" and ORDERS[found.method] == 2:
            bar = float(np.log2(SINGULAR_FACTOR))
        if order is not None and not order >= bar:
            missed.append(f"order {order:.2f} at {run.setting:.3g} s, bar {bar:.2f}")
    return missed


def plain_orders(found: Ladder) -> list[float]:
    """The least order that rk4 must show at each step, by what it shows in plain NumPy; infinity where that is open."""
    problem = found.problem
    if found.method != "rk4" or problem.plain is None:
        return [np.inf] * len(found.runs)
    errors = [np.abs(problem.plain(run.setting, problem.times) - problem.right).max() for run in found.runs]
    return [np.inf, *(np.log2(coarse / fine) - SHORT_OF_PLAIN for coarse, fine in itertools.pairwise(errors))]


def tolerance_missed(found: Ladder) -> list[str]:
    missed, floor, before = [], found.problem.floor, float("inf")
    for k, run in enumerate(found.runs):
        if run.error > max(WITHIN * run.setting, floor) and not found.as_the_twin(k):
            missed.append(f"error {run.error:.1e} is {run.error / run.setting:.0f} times the tolerance {run.setting:g}")
        if run.error > max(before, floor):
            missed.append(f"error grows to {run.error:.1e} at {run.setting:g}")
        before = run.error
    return missed


def main() -> None:
    known = problems()
    methods = (*ORDERS, *ADAPTIVE)
    parser = argparse.ArgumentParser(description="Errors, orders and evaluations of runs, against known motions.")
    parser.add_argument("problems", nargs="*", metavar="problem", help=f"any of {', '.join(known)} (default: all)")
    parser.add_argument("--method", action="append", choices=methods, help="may be given again (default: all)")
    parser.add_argument("--deadline", type=float, default=60.0, help="seconds after which a ladder is not gone on with")
    parser.add_argument("--bars", action="store_true", help="a line for each ladder, no tables")
    parser.add_argument("--fresh", action="store_true", help="forget what is kept of earlier runs")
    arguments = parser.parse_args()
    asked = [
        name for name in known if name in arguments.problems or ("random" in arguments.problems and "random" in name)
    ]
    unknown = set(arguments.problems) - set(known) - {"random"}
    if unknown:
        parser.error(
            f"no problem {', '.join(sorted(unknown))}; there are {', '.join(known)}, and random for all of those"
        )
    report(
        run_all([known[name] for name in asked or known], arguments.method or methods, arguments), brief=arguments.bars
    )


def run_all(chosen: Sequence[Problem], methods: Sequence[str], arguments: argparse.Namespace) -> list[Ladder]:
    print(f"## Accuracy, commit {commit()}")
    found, kept = [], KeptLadders(fresh=arguments.fresh)
    for problem in chosen:
        missing = [method for method in methods if kept.ladder(problem, method) is None]
        model, twin = (problem.model(), problem.twin and problem.twin()) if missing else (None, None)
        for method in methods:
            one = kept.ladder(problem, method)
            if one is None:
                one = ladder(problem, method, model, twin or None, arguments.deadline)
                kept.add(one)
            found.append(one)
            if arguments.bars:
                said = "; ".join(shortfalls(one)) or "met"
                print(f"- {problem.name}, {method}, {one.seconds:.0f} s: {said}{remarks(one)}", flush=True)
            else:
                show(one)
    return found


class KeptLadders:
    """Ladders that were run before, by the same files of the package and of this benchmark."""

    def __init__(self, *, fresh: bool) -> None:
        here = Path(__file__).resolve().parent
        files = [*sorted((here.parent / "src").rglob("*.py")), *sorted(here.glob("accuracy*.py"))]
        key = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
        self.file = KEPT / f"ladders-{key}.jsonl"
        if fresh:
            self.file.unlink(missing_ok=True)
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.is_file() else []
        self.known = {(one["problem"], one["method"]): one for one in map(json.loads, lines)}

    def ladder(self, problem: Problem, method: str) -> Ladder | None:
        one = self.known.get((problem.name, method))
        if one is None:
            return None
        runs, twins = (tuple(Run(**run) for run in one[part]) for part in ("runs", "twins"))
        return Ladder(problem, method, runs, twins)

    def add(self, one: Ladder) -> None:
        runs, twins = ([asdict(run) for run in part] for part in (one.runs, one.twins))
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            line = {"problem": one.problem.name, "method": one.method, "runs": runs, "twins": twins}
            file.write(json.dumps(line) + "\n")


def report(found: Sequence[Ladder], *, brief: bool) -> None:
    rows = []
    for one in found:
        missed = shortfalls(one)
        rows.append((one.problem.name, one.method, "MISSED" if missed else "met", "; ".join(missed)))
    missed = sum(row[2] == "MISSED" for row in rows)
    if brief:
        minutes = sum(one.seconds for one in found) / 60
        print(f"\n{len(rows) - missed} met, {missed} missed; {minutes:.0f} minutes of runs.")
        return
    table("Bars", ("problem", "method", "bar", "by how much"), rows, f"{len(rows) - missed} met, {missed} missed.")


if __name__ == "__main__":
    main()
