"""What a controller in Python costs, and what threads do: ``python benchmarks/control.py [section ...]``.

Sections: arm and excavator (a thousand samples a second, Runge-Kutta steps from sample to sample), threads.

The overhead of a sample is what a run with a controller takes beyond the same steps without one, in one stretch of
machine code, and beyond the controller's own function called by itself. The function here returns an array, or a
mapping from joints to numbers, that it has at hand. MuJoCo's step from Python, with joint forces set, stands beside
the arm. CPU time on one core, in bursts that alternate (see README.md). The figures of threads are of the wall clock,
and need two cores that nobody else uses.
"""

from __future__ import annotations

import hashlib
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
Task = Callable[[], object]


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
    tasks = {"a hash, for comparison": _hash()} | {name: _run(system) for name, system in systems.items()}
    rows: list[tuple[object, ...]] = []
    for name, task in tasks.items():
        share, ratio = _counter_share(task), _together(task)
        bars = (verdict(share, COUNTER), verdict(ratio, TOGETHER, at_most=True)) if name in systems else ("-", "-")
        rows.append((name, share, bars[0], ratio, bars[1]))
    header = ("what runs", "counter beside it", "bar", "two of them over one", "bar")
    notes = "The standard library's hash does without the lock: where it is not near 1, the cores were not free."
    table("Threads, wall clock", header, rows, notes)


def _hash() -> Task:
    """Something that takes about a second and does not need the interpreter's lock."""
    data = bytes(1_000_000)
    begin = time.perf_counter()
    hashlib.sha256(data).digest()
    whole = bytes(int(len(data) * SECONDS / (time.perf_counter() - begin)))
    return lambda: hashlib.sha256(whole).digest()


def _run(system: wt.System) -> Task:
    """A run in machine code that takes about a second; its steps are short, so that the motion stays what it is."""
    step = PERIOD / 64
    trial = Simulation(system, method="rk4", step=step)
    trial.step(step)
    begin = time.perf_counter()
    trial.step(5000 * step)
    end = SECONDS / (time.perf_counter() - begin) * 5000 * step

    def task() -> object:
        return Simulation(system, method="rk4", step=step).run(np.array([end]))

    return task


def _rate(while_true: Callable[[], bool], seconds: float) -> float:
    """How often a second Python counts, in plain bytecode, as long as something is true."""
    count, begin = 0, time.perf_counter()
    while while_true() and time.perf_counter() - begin < seconds:
        for _ in range(1000):
            count += 1
    return count / (time.perf_counter() - begin)


def _counter_share(task: Task) -> float:
    """The rate of a counter in Python beside a task, over its rate alone."""
    shares = []
    for _ in range(REPEATS):
        alone = _rate(lambda: True, SECONDS / 2)
        worker = threading.Thread(target=task)
        worker.start()
        beside = _rate(worker.is_alive, SECONDS / 2)
        worker.join()
        shares.append(beside / alone)
    return statistics.median(shares)


def _together(task: Task) -> float:
    """The wall time of two tasks in two threads, over that of one."""
    ratios = []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(REPEATS):
            times = []
            for count in (1, 2):
                begin = time.perf_counter()
                for running in [pool.submit(task) for _ in range(count)]:
                    running.result()
                times.append(time.perf_counter() - begin)
            ratios.append(times[1] / times[0])
    return statistics.median(ratios)


SECTIONS = {"arm": arm, "excavator": excavator, "threads": threads}

if __name__ == "__main__":
    main("Control", SECTIONS)
