"""Whole simulations of ten seconds beside the peers', in markdown: ``python benchmarks/simulation.py [section ...]``.

Sections: arm (falling, Runge-Kutta steps of 1 ms), four-bars (IFToMM A02, N = 10), bricard (IFToMM A04). Errors are the
largest of the first joint's angle at whole seconds, against solutions of the one freedom in plain NumPy. A peer is
compared with the fastest of our runs whose error is not larger than the peer's.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pinocchio as pin
from bars import Options, verdict
from command import main
from models import mechanism_from_pinocchio, robots
from motion_models import DURATION, EXAMPLES, TIMES, Motion, bricard, four_bars
from motion_peers import Simulate, Simulated, exudyn_four_bars, mujoco_loops, mujoco_tree, pinocchio
from timing import table

ARM, LOOPS = 5.0, 20.0  # times as fast
ROUNDS = 5
OURS = {
    f"{method}, {name} {value:g}": {"method": method, name: value}
    for method, name, values in (
        ("dop853", "tolerance", (1e-6, 1e-7, 1e-8, 1e-10, 1e-11, 1e-12, 1e-13)),
        ("dopri5", "tolerance", (1e-5, 1e-6, 1e-7, 1e-9)),
        ("rk4", "step", (4e-3, 2e-3, 1e-3)),
    )
    for value in values
}


def alternating(runs: Mapping[str, Simulate], rounds: int) -> dict[str, tuple[float, np.ndarray]]:
    """The median CPU seconds and the angles of each, after a first run that is not counted."""
    angles = {name: run()[1] for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run()[0])
    return {name: (statistics.median(taken), angles[name]) for name, taken in times.items()}


def ours(motion: Motion) -> dict[str, Simulate]:
    """Our runs: machine code is made, and plans remade where need be, before the clock starts."""
    from whippletree.model import io
    from whippletree.simulate import Simulation

    model = io.read_file(EXAMPLES / f"{motion.file}.yaml")
    system = model.build()
    q, v = model.initial(system)
    place = system.q_slice(motion.coordinate).start

    def runner(settings: dict[str, object]) -> Simulate:
        def run() -> Simulated:
            begin = time.thread_time()
            rows = Simulation(system, q=q, v=v, **settings).run(TIMES)
            return time.thread_time() - begin, rows[:, place]

        return run

    return {name: runner(dict(settings)) for name, settings in OURS.items()}


def loops(motion: Motion, peers: Mapping[str, Simulate], rounds: int) -> None:
    found = alternating({**ours(motion), **peers}, rounds)
    error = {name: _worst(angles - motion.exact[-len(angles) :]) for name, (_, angles) in found.items()}
    rows = []
    for name in peers:
        as_good = [mine for mine in OURS if error[mine] <= error[name]]
        best = min(as_good, key=lambda mine: found[mine][0]) if as_good else None
        ratio = found[name][0] / found[best][0] if best else None
        mine = (best, 1e3 * found[best][0], error[best]) if best else ("none is as good", None, None)
        rows.append((name, 1e3 * found[name][0], error[name], *mine, ratio, verdict(ratio or 0.0, LOOPS)))
    header = ("peer", "CPU ms", "error, rad", "ours, as good", "CPU ms", "error, rad", "ratio", "bar")
    table(f"{motion.name}, {DURATION:g} s", header, rows)
    table(
        f"{motion.name}: all our runs",
        ("run", "CPU ms", "error, rad"),
        [(name, 1e3 * found[name][0], error[name]) for name in OURS],
    )


def _worst(difference: np.ndarray) -> float:
    worst = float(np.abs(difference).max())
    return worst if np.isfinite(worst) else float("inf")


def _peers(motion: Motion, settings: Sequence[tuple[str, float]]) -> dict[str, Simulate]:
    """Pinocchio with several steps and iterations, and MuJoCo with some integrators and steps."""
    peers: dict[str, Simulate] = {
        f"Pinocchio, RK4 {1e3 * step:g} ms, {k} iterations": pinocchio(motion, step, k)
        for step in (1e-3, 2e-3, 4e-3)
        for k in (1, 10)
    }
    return peers | {
        f"MuJoCo, {integrator} {1e3 * step:g} ms": mujoco_loops(motion, step, integrator)
        for integrator, step in settings
    }


def chain(options: Options) -> None:
    motion = four_bars(10)
    peers = _peers(motion, (("Euler", 1e-3), ("RK4", 1e-3), ("RK4", 5e-4)))
    peers["Exudyn, generalised-alpha 1 ms"] = exudyn_four_bars(10, 1e-3)
    loops(motion, peers, min(options.rounds, ROUNDS))


def six_hinges(options: Options) -> None:
    motion = bricard()
    loops(motion, _peers(motion, (("Euler", 1e-3), ("RK4", 1e-3))), min(options.rounds, ROUNDS))


def arm(options: Options) -> None:
    model = robots()["Panda"]
    q, step = np.array(pin.neutral(model)), 1e-3
    peer, drift = mujoco_tree(model, q, step)
    ours_run, ours_drift = _falling(model, step)
    found = alternating({"ours": ours_run, "MuJoCo": peer}, min(options.rounds, ROUNDS))
    mine, theirs = found["ours"][0], found["MuJoCo"][0]
    rows = [
        ("ours", 1e3 * mine, ours_drift(), theirs / mine, verdict(theirs / mine, ARM)),
        ("MuJoCo", 1e3 * theirs, drift(), None, "-"),
    ]
    table(
        f"Panda falling for {DURATION:g} s, RK4 at 1 ms", ("engine", "CPU ms", "energy drift, J", "ratio", "bar"), rows
    )


def _falling(model: pin.Model, step: float) -> tuple[Simulate, Callable[[], float]]:
    from whippletree.simulate import Simulation

    system = mechanism_from_pinocchio(model).build()
    drift = [0.0]

    def run() -> Simulated:
        simulation = Simulation(system, method="rk4", step=step)
        before = simulation.state
        begin = time.thread_time()
        rows = simulation.run(TIMES)
        taken = time.thread_time() - begin
        after = simulation.state
        energies = [float(system.energy(s.q, s.v).total) for s in (before, after)]
        drift[0] = energies[1] - energies[0]
        return taken, rows[:, 0]

    return run, lambda: drift[0]


SECTIONS = {"arm": arm, "four-bars": chain, "bricard": six_hinges}

if __name__ == "__main__":
    main("Simulation", SECTIONS)
