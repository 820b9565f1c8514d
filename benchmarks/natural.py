"""Runs in natural coordinates beside Exudyn's generalised-alpha: Bricard's mechanism and the five-link pendulum.

    python benchmarks/natural.py

Rods of 1 m and 1 kg, 0.1 m square. Both solvers run with several steps; the error is that of a rod's place at the end,
against a run of order eight with a tolerance of 1e-12. Printed is the CPU time of each run, in which neither describes
nor compiles anything, and the time of Exudyn over ours at equal error, interpolated in the logarithms.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from whippletree.analysis.models import bricard, five_bar_pendulum
from whippletree.analysis.models.garcia_de_jalon_models import AXES, POINTS
from whippletree.studies.natural_runs import NaturalOptions, NaturalRun

G = (0.0, -9.81, 0.0)
LAST = {True: 4.8, False: 1.2}
STEPS = {True: (0.02, 0.01, 0.005, 0.0025), False: (0.004, 0.002, 0.001, 0.0005)}
PEER_STEPS = {True: (0.01, 0.005, 0.0025), False: (0.002, 0.001, 0.0005)}
MIDDLE = 2  # the rod that is looked at


def ours(closed: bool, steps: tuple[float, ...]) -> tuple[np.ndarray, dict[float, tuple[float, float]]]:
    """Return where the middle rod is at the end, and for each step CPU seconds and error."""
    system = (bricard() if closed else five_bar_pendulum()).build()
    name = f"rod {MIDDLE + 1}"
    fine = system.simulate(LAST[closed], every=LAST[closed], method="dop853", tolerance=1e-12)
    exact = fine.pose(name)[-1][:3, 3]
    found = {}
    for step in steps:
        options, least = NaturalOptions(step=step, projections=True, iterations=2), np.inf
        NaturalRun(system, options).march(1)
        for _ in range(5):
            run = NaturalRun(system, options)
            begin = time.process_time()
            rows = run.march(round(LAST[closed] / step))
            least = min(least, time.process_time() - begin)
        q, _ = system.natural.fit(rows.x[-1], rows.rates[-1], fine.q[-1])
        found[step] = (least, float(np.linalg.norm(system.pose(q, name)[:3, 3] - exact)))
    return exact, found


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


def main() -> None:
    """Print both, and the quotient at equal error."""
    for closed in (True, False):
        print("Bricard" if closed else "five-link pendulum", f"{LAST[closed]} s")
        exact, found = ours(closed, STEPS[closed])
        for step, (seconds, error) in found.items():
            print(f"  natural, projections, two iterations, {step:g} s: {1e3 * seconds:.2f} ms, error {error:.1e} m")
        errors = np.log([error for _, error in found.values()])
        times = np.log([seconds for seconds, _ in found.values()])
        for step in PEER_STEPS[closed]:
            seconds, place = exudyn(closed, step)
            error = float(np.linalg.norm(place - exact))
            slope, start = np.polyfit(errors, times, 1)
            ratio = seconds / float(np.exp(slope * np.log(error) + start))
            figures = f"{1e3 * seconds:.1f} ms, error {error:.1e} m"
            print(f"  Exudyn, generalised-alpha, {step:g} s: {figures}: {ratio:.0f} times as long")


if __name__ == "__main__":
    main()
