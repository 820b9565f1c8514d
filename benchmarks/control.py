"""What a controller in Python costs, and what threads do: ``python benchmarks/control.py [section ...]``.

Sections: arm and excavator (a thousand samples a second, Runge-Kutta steps from sample to sample), threads.

The overhead of a sample is what a run with a controller takes beyond the same steps without one, in one stretch of
machine code, and beyond the controller's own function called by itself. The function here returns an array, or a
mapping from joints to numbers, that it has at hand. MuJoCo's step from Python, with joint forces set, stands beside
the arm. CPU time on one core, in bursts that alternate (see README.md). The figures of threads are of the wall clock,
and need two cores that nobody else uses.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from bars import Options, verdict
from command import main
from models import mechanism_from_pinocchio, robots
from peers import mujoco_spec
from timing import Run, Times, bursts, calls, one_core, table

import whippletree as wt
from whippletree.simulate import Simulation
from whippletree.simulate.sampled_run import SampledRun

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

OVERHEAD = 15e-6  # seconds a sample
COUNTER, TOGETHER = 0.8, 1.2
PERIOD = 2.0**-10
SECONDS = 1.0  # of a run beside a counter, or beside another run
REPEATS = 7

Law = Callable[..., Any]


def sampled(system: wt.System, law: Law, start: Any) -> Run:
    """A run with a controller, so many samples of it; machine code is bound before the clock starts."""
    simulation = Simulation(system, q=start, method="rk4", step=PERIOD)
    before = simulation.state

    def run(count: int) -> float:
        simulation.state = before
        samples = SampledRun(simulation, PERIOD * np.array([1.0, count]), law, PERIOD)
        begin = time.thread_time()
        samples.go()
        return time.thread_time() - begin

    return run


def by_hand(system: wt.System, law: Law, start: Any) -> Run:
    """The same steps with `Simulation.step`."""
    simulation = Simulation(system, q=start, method="rk4", step=PERIOD)
    before = simulation.state

    def run(count: int) -> float:
        simulation.state = before
        begin = time.thread_time()
        for _ in range(count):
            now = simulation.state
            simulation.step(PERIOD, tau=law(now.t, now.q, now.v, now.z))
        return time.thread_time() - begin

    return run


def in_one_stretch(system: wt.System, tau: np.ndarray, start: Any) -> Run:
    """The same steps, all in machine code."""
    simulation = Simulation(system, q=start, tau=tau, method="rk4", step=PERIOD)
    before = simulation.state

    def run(count: int) -> float:
        simulation.state = before
        until = PERIOD * np.array([1.0, count])
        begin = time.thread_time()
        simulation.run(until)
        return time.thread_time() - begin

    return run


def mujoco_steps(tau: np.ndarray, integrator: str) -> Run:
    """MuJoCo's steps of the arm, each called from Python with the joints' forces set."""
    spec = mujoco_spec(robots()["Panda"])
    spec.option.timestep = PERIOD
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    model = spec.compile()
    data = mujoco.MjData(model)

    def run(count: int) -> float:
        mujoco.mj_resetData(model, data)
        begin = time.thread_time()
        for _ in range(count):
            data.qfrc_applied[:] = tau
            mujoco.mj_step(model, data)
        return time.thread_time() - begin

    return run


def samples(title: str, system: wt.System, tau: np.ndarray, start: Any, peers: dict[str, Run], rounds: int) -> None:
    """Print what a sample takes, and what of that is overhead."""
    joints = system.description.joints
    named = {joint.name: float(tau[system.v_slice(joint.name).start]) for joint in joints}
    laws: dict[str, Law] = {"array": lambda t, q, v, z: tau, "by joint": lambda t, q, v, z: named}
    state = (0.0, *(x.copy() for x in (system.q0, system.v0, system.z0)))
    contestants: dict[str, Run] = {"steps": in_one_stretch(system, tau, start)}
    for name, law in laws.items():
        contestants |= {
            f"run, {name}": sampled(system, law, start),
            f"by hand, {name}": by_hand(system, law, start),
            f"law, {name}": calls(lambda law=law: law(*state)),
        }
    with one_core():
        found = bursts({**contestants, **peers}, rounds)
    rows: list[tuple[object, ...]] = [("the steps in one stretch", 1e6 * found["steps"].median, None, "-")]
    for name in laws:
        for way in ("run", "by hand"):
            over = overhead(found[f"{way}, {name}"], found["steps"], found[f"law, {name}"])
            bar = verdict(over, OVERHEAD, at_most=True) if (way, name) == ("run", "array") else "-"
            rows.append(
                (f"{way}, {name}", 1e6 * found[f"{way}, {name}"].median, 1e6 * over, bar.replace("1.5e-05", "15"))
            )
    rows += [(name, 1e6 * found[name].median, None, "-") for name in peers]
    table(f"{title}: µs a sample", ("", "in all", "overhead", "bar"), rows)


def overhead(run: Times, steps: Times, law: Times) -> float:
    """Seconds of a sample beyond the steps and the law; the median over the rounds."""
    return statistics.median(a - b - c for a, b, c in zip(run.bursts, steps.bursts, law.bursts, strict=True))


def arm(options: Options) -> None:
    system = mechanism_from_pinocchio(robots()["Panda"]).build()
    tau = 0.1 * np.arange(system.nv, dtype=np.float64)
    peers = {f"MuJoCo, {name}": mujoco_steps(tau, name) for name in ("Euler", "RK4")}
    samples("Panda", system, tau, None, peers, options.rounds)


def excavator(options: Options) -> None:
    import excavator as example

    system = example.describe().build()
    control = example.CylinderControl(system)
    start = example.start(system)
    tau = np.array(control(0.0, start, system.v0, system.z0))
    samples("Excavator, three cylinders in three loops", system, tau, start, {}, options.rounds)


# ---------------------------------------------------------------------------------------------------------
# Threads


def threads(options: Options) -> None:
    del options
    import excavator as example

    systems = {"Panda": mechanism_from_pinocchio(robots()["Panda"]).build(), "excavator": example.describe().build()}
    rows = []
    for name, system in systems.items():
        tau = np.zeros(system.nv)
        step = PERIOD / 64  # so that the motion stays what it is, however long machine code takes over it
        trial = Simulation(system, tau=tau, method="rk4", step=step)
        trial.step(step)
        begin = time.perf_counter()
        trial.step(2000 * step)
        end = SECONDS / (time.perf_counter() - begin) * 2000 * step
        rows.append((name, *_counter_share(system, step, end), *_together(system, step, end)))
    header = ("run", "counter beside it", "bar", "two runs over one", "bar")
    table("Threads, wall clock", header, rows)


def _run(system: wt.System, step: float, end: float) -> float:
    """Wall seconds of a run in machine code."""
    simulation = Simulation(system, method="rk4", step=step)
    simulation.step(step)
    begin = time.perf_counter()
    simulation.run(np.array([step + end]))
    return time.perf_counter() - begin


def _rate(while_true: Callable[[], bool], seconds: float) -> float:
    """How often a second Python counts, in plain bytecode, as long as something is true."""
    count, begin = 0, time.perf_counter()
    while while_true() and time.perf_counter() - begin < seconds:
        for _ in range(1000):
            count += 1
    return count / (time.perf_counter() - begin)


def _counter_share(system: wt.System, step: float, end: float) -> tuple[float, str]:
    """The rate of a counter in Python beside a run, over its rate alone."""
    shares = []
    for _ in range(REPEATS):
        alone = _rate(lambda: True, SECONDS / 2)
        worker = threading.Thread(target=_run, args=(system, step, end))
        worker.start()
        time.sleep(0.05)  # until it is in machine code
        beside = _rate(worker.is_alive, SECONDS / 2)
        worker.join()
        shares.append(beside / alone)
    share = statistics.median(shares)
    return share, verdict(share, COUNTER)


def _together(system: wt.System, step: float, end: float) -> tuple[float, str]:
    """The wall time of two runs in two threads, over that of one."""
    ratios = []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(REPEATS):
            begin = time.perf_counter()
            _run(system, step, end)
            one = time.perf_counter() - begin
            begin = time.perf_counter()
            for running in [pool.submit(_run, system, step, end) for _ in range(2)]:
                running.result()
            ratios.append((time.perf_counter() - begin) / one)
    ratio = statistics.median(ratios)
    return ratio, verdict(ratio, TOGETHER, at_most=True)


SECTIONS = {"arm": arm, "excavator": excavator, "threads": threads}

if __name__ == "__main__":
    main("Control", SECTIONS)
