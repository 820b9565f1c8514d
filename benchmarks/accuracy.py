"""How accurate runs are: ``python benchmarks/accuracy.py [problem ...] [--method rk4]``, as tables in markdown.

Every problem is run by every method, with fixed steps that are halved or with tolerances from 1e-4 to 1e-12. Told are
the largest error at ten times against a solution that does not come from the engine (`accuracy_problems.py`), the
observed order, evaluations of the right-hand side, the same of the twin with the natural joint, and what the
certificate says. At the end come the bars:

- fixed steps show the method's order, less 0.5, at every halving whose error is above rounding, or what rk4 in plain
  NumPy shows on the same coordinates, less 0.1, where that is less: a step may be too long to show it;
- the error of adaptive methods falls with the tolerance and stays within 1000 times it, or is rounding;
- evaluations are at most 1.5 times those of the twin with the same method and tolerance.

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
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # random states follow from singular vectors: the same to the bit every time

import numpy as np
from accuracy_problems import KEPT, Model, Problem, problems
from timing import commit, table

from whippletree.errors import WhippletreeError

ORDERS = {"rk4": 4, "trapezoidal": 2, "generalized_alpha": 2}
"""The methods that are run with fixed steps, and their orders."""

ADAPTIVE = ("dopri5", "dop853", "adams")
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
HALVINGS = 4
WITHIN, RATIO, SHORT_OF_ORDER = 1000.0, 1.5, 0.5
SHORT_OF_PLAIN = 0.1
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
        if not self.twins or not self.twins[k].evaluations:
            return None
        return self.runs[k].evaluations / self.twins[k].evaluations


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
    certificate = run.certificate
    return Run(setting, worst, certificate.evaluations, certificate.ok, time.process_time() - clock)


def ladder(problem: Problem, method: str, model: Model, twin: Model | None, deadline: float) -> Ladder:
    """Run a problem by a method at all its steps or tolerances, until a run takes longer than the deadline, of CPU."""
    first = problem.steps.get(method, problem.step)
    settings = [first / 2**k for k in range(HALVINGS + 1)] if method in ORDERS else TOLERANCES
    runs, twins = [], []
    for setting in settings:
        if twin is not None:
            twins.append(run_once(twin, problem, method, setting))
        runs.append(run_once(model, problem, method, setting))
        if runs[-1].seconds > deadline:
            break
    return Ladder(problem, method, tuple(runs), tuple(twins))


def show(found: Ladder) -> None:
    """One table."""
    rows = []
    for k, run in enumerate(found.runs):
        twin = (found.twins[k].error, found.twins[k].evaluations, found.ratio(k)) if found.twins else ()
        said = "ok" if run.ok else run.words or "not ok"
        rows.append((f"{run.setting:.3g}", f"{run.error:.1e}", found.order(k), run.evaluations, *twin, said))
    header = ["step, s" if found.fixed else "tolerance", "error", "order", "evaluations"]
    header += ["twin's error", "twin's evaluations", "ratio"] if found.twins else []
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
        if found.problem.natural and ratio is not None and ratio > RATIO:
            missed.append(f"{ratio:.2f} times the twin's evaluations at {run.setting:.3g}, bar {RATIO}")
    return missed


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
    for run in found.runs:
        if run.error > max(WITHIN * run.setting, floor):
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
                print(
                    f"- {problem.name}, {method}, {one.seconds:.0f} s: {'; '.join(shortfalls(one)) or 'met'}",
                    flush=True,
                )
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
