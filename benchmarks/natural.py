"""Runs in natural coordinates beside Exudyn's generalised-alpha: Bricard's mechanism and the five-link pendulum.

    python benchmarks/natural.py

Rods of 1 m and 1 kg, 0.1 m square. Both solvers run with several steps; the error is that of a rod's place at the end,
against a run of order eight with a tolerance of 1e-12. Printed is the CPU time of each run, in which neither describes
nor compiles anything, and the time of Exudyn over ours at equal error, interpolated in the logarithms. The bar: at
least twenty at each of Exudyn's steps, by the form of the book, penalties and two iterations; that with projections
stands beside.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from whippletree.analysis.models import bricard, five_bar_pendulum
from whippletree.analysis.models.garcia_de_jalon_models import AXES, POINTS
from whippletree.studies.natural_runs import NaturalOptions, NaturalRun
from whippletree.system import System

G = (0.0, -9.81, 0.0)
LAST = {True: 4.8, False: 1.2}
STEPS = {True: (0.02, 0.01, 0.005, 0.0025), False: (0.004, 0.002, 0.001, 0.0005)}
PEER_STEPS = {True: (0.01, 0.005, 0.0025), False: (0.002, 0.001, 0.0005)}
MIDDLE = 2  # the rod that is looked at
BAR = 20.0


def reference(closed: bool) -> tuple[System, np.ndarray, np.ndarray]:
    """Return the system, and where its joints and the middle rod are at the end."""
    system = (bricard() if closed else five_bar_pendulum()).build()
    fine = system.simulate(LAST[closed], every=LAST[closed], method="dop853", tolerance=1e-12)
    return system, fine.q[-1], fine.pose(f"rod {MIDDLE + 1}")[-1][:3, 3]


def ours(closed: bool, projections: bool) -> dict[float, tuple[float, float]]:
    """Return CPU seconds and error for each step."""
    system, last, exact = reference(closed)
    name = f"rod {MIDDLE + 1}"
    found = {}
    for step in STEPS[closed]:
        options, least = NaturalOptions(step=step, projections=projections, iterations=2), np.inf
        NaturalRun(system, options).march(1)
        for _ in range(5):
            run = NaturalRun(system, options)
            begin = time.process_time()
            rows = run.march(round(LAST[closed] / step))
            least = min(least, time.process_time() - begin)
        q, _ = system.natural.fit(rows.x[-1], rows.rates[-1], last)
        found[step] = (least, float(np.linalg.norm(system.pose(q, name)[:3, 3] - exact)))
    return found


def exudyn(closed: bool, step: float) -> tuple[float, np.ndarray]:
    """Return CPU seconds and the place of the middle rod's first hinge."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813
    from exudyn.utilities import InertiaCuboid

    container = exu.SystemContainer()
    mbs: Any = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    points = np.array(POINTS, dtype=float)
    bodies = []
    for k in range(5):
        along = points[k + 1] - points[k]
        sides = np.where(along == 0, 0.1, 1.0)
        inertia = InertiaCuboid(density=1.0 / np.prod(sides), sideLengths=list(sides))
        made = mbs.CreateRigidBody(
            inertia=inertia, referencePosition=list((points[k] + points[k + 1]) / 2), gravity=list(G)
        )
        bodies.append(made)
    ends = [ground, *bodies, *([ground] if closed else [])]
    for k in range(len(ends) - 1):
        axis = [0.0, 0.0, 0.0]
        axis["xyz".index(AXES[k])] = 1.0
        mbs.CreateRevoluteJoint(itemNumbers=[ends[k], ends[k + 1]], position=list(points[k]), axis=axis)
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(LAST[closed] / step)
    settings.timeIntegration.endTime = LAST[closed]
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0 if not closed else 0.9
    if closed:
        settings.linearSolver.ignoreSingularJacobian = True
        settings.linearSolver.solverType = exu.LinearSolverType.EigenDense
    begin = time.process_time()
    mbs.SolveDynamic(settings)
    taken = time.process_time() - begin
    along = points[MIDDLE + 1] - points[MIDDLE]
    place = mbs.GetObjectOutputBody(bodies[MIDDLE], exu.OutputVariableType.Position, list(-along / 2))
    return taken, np.array(place)


def at_equal_error(found: dict[float, tuple[float, float]], error: float) -> float:
    """Return the seconds that an error takes, on a line through the logarithms."""
    times, errors = (np.log([pair[k] for pair in found.values()]) for k in (0, 1))
    slope, start = np.polyfit(errors, times, 1)
    return float(np.exp(slope * np.log(error) + start))


def main() -> int:
    """Print both, the quotient at equal error, and whether the bar is met; return how often it is not."""
    missed = 0
    for closed in (True, False):
        print("Bricard" if closed else "five-link pendulum", f"{LAST[closed]} s")
        exact = reference(closed)[2]
        forms = {form: ours(closed, form == "projections") for form in ("penalties", "projections")}
        for form, found in forms.items():
            for step, (seconds, error) in found.items():
                print(f"  natural, {form}, two iterations, {step:g} s: {1e3 * seconds:.2f} ms, error {error:.1e} m")
        for step in PEER_STEPS[closed]:
            seconds, place = exudyn(closed, step)
            error = float(np.linalg.norm(place - exact))
            ratios = {form: seconds / at_equal_error(found, error) for form, found in forms.items()}
            word = "met" if ratios["penalties"] >= BAR else "MISSED"
            print(f"  Exudyn, generalised-alpha, {step:g} s: {1e3 * seconds:.1f} ms, error {error:.1e} m: ", end="")
            verdict = f"{ratios['penalties']:.0f} times as long (bar {BAR:.0f}: {word})"
            print(f"{verdict}, projections {ratios['projections']:.0f}")
            missed += ratios["penalties"] < BAR
    return missed


if __name__ == "__main__":
    sys.exit(bool(main()))
