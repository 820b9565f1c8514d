"""Our speed on trees beside the peers', in markdown: ``python benchmarks/trees.py [section ...]``.

Sections: native (loop against loop), batch (10 000 states), call (one state from Python), start (import to first
result), chain (100 and 1000 joints). Without a name, all of them. What each one shows is in README.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from drake_peer import HINT, DrakeChain
from models import Ring, chain, panda, ring_of, robots
from ours import KernelLoop
from peers import FORWARD, INVERSE, MASS, PINOCCHIO_CHOICES, MujocoLoop, PinocchioLoop
from support.pinocchio_models import (
    mechanism_from_pinocchio,
    shared_joint,
    state_from_pinocchio,
    state_to_pinocchio,
    velocity_map,
)
from timing import BURSTS, Times, banner, bursts, calls, one_core, table

MICRO = 1e6
BATCH = 10_000
AGREEMENT = 1e-9
TASKS = (FORWARD, INVERSE, MASS)

NATIVE_BARS = {
    ("Panda", FORWARD): (5.0, 2.5),
    ("Talos", FORWARD): (4.5, 2.5),
    ("Panda", INVERSE): (4.0, None),
    ("Talos", INVERSE): (3.5, None),
    ("Panda", MASS): (2.0, None),
    ("Talos", MASS): (2.0, None),
}
"""Times as fast as Pinocchio, as MuJoCo."""
BATCH_BARS = {"Panda": 20.0, "Talos": 15.0}
THREADS_BAR = 1.8
CALL_BAR = 0.6
START_BARS = {"empty": 2.0, "warm": 0.8}
CHAIN_BUILD_BAR, CHAIN_DRAKE_BAR, CHAIN_GROWTH_BAR = 3.0, 10.0, 1.3


@dataclass(frozen=True)
class Options:
    rounds: int
    peers_only: bool


def system_of(model: pin.Model, options: Options) -> Any:
    return None if options.peers_only else mechanism_from_pinocchio(model).build()


def verdict(value: float | None, bar: float | None, *, at_most: bool = False) -> str:
    """The bar, and whether it is met."""
    if bar is None:
        return "-"
    word = f"{'≤' if at_most else '≥'} {bar:g}"
    if value is None:
        return word
    return f"{word} {'met' if (value <= bar if at_most else value >= bar) else 'MISSED'}"


def ratio(ours: Times | None, theirs: Times) -> float | None:
    return None if ours is None else ours.times_as_fast_as(theirs)


def micro(times: Times | None) -> float | None:
    return None if times is None else MICRO * times.median


def best_of(times: Mapping[str, Times], names: tuple[str, ...]) -> str:
    return min(names, key=lambda name: times[name].median)


# ---------------------------------------------------------------------------------------------------------
# Agreement: wrong answers are not timed


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference over the largest magnitude; not a number is infinitely wrong."""
    worst = np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-300)
    return float(worst) if np.isfinite(worst) else float("inf")


def insist(what: str, value: float, limit: float = AGREEMENT) -> float:
    if not value <= limit:
        raise SystemExit(f"{what}: answers differ by {value:.1e} (allowed {limit:.0e}); nothing was timed")
    return value


def in_their_numbers(ring: Ring, task: str, k: int, result: np.ndarray) -> np.ndarray:
    """Our result for state k as Pinocchio would write it."""
    q, v = ring.ours.q[k], ring.ours.v[k]
    if task == FORWARD:
        return state_to_pinocchio(ring.model, q, v, a=result).a
    if task == INVERSE:
        return state_to_pinocchio(ring.model, q, v, tau=result).tau
    T = velocity_map(ring.model, q)
    return T.T @ result @ T


# ---------------------------------------------------------------------------------------------------------
# Sections


def native(options: Options) -> None:
    """Native loop against native loop."""
    rows, agreement = [], []
    for robot, model in robots().items():
        ring = ring_of(model)
        pinocchio, mujoco, system = PinocchioLoop(ring), MujocoLoop(ring), system_of(model, options)
        states = range(len(ring.theirs.q))
        for task in TASKS:
            choices = PINOCCHIO_CHOICES[task]
            reference = [pinocchio.answer(choices[0], k) for k in states]
            runs = {choice: pinocchio.run(choice) for choice in choices}
            for choice in choices[1:]:
                worst = max(difference(pinocchio.answer(choice, k), reference[k]) for k in states)
                insist(f"{robot}, {task}, {choice}", worst)
            mujoco_worst = max(difference(mujoco.answer(task, k), reference[k]) for k in states)
            insist(f"{robot}, {task}, MuJoCo", mujoco_worst)
            runs["MuJoCo"] = mujoco.run(task)
            ours_worst = None
            if system is not None:
                loop = KernelLoop(system, ring, task)
                results = [in_their_numbers(ring, task, k, loop.answer(k)) for k in states]
                ours_worst = max(map(difference, results, reference))
                insist(f"{robot}, {task}, ours", ours_worst)
                runs["ours"] = loop.run()
            agreement.append([robot, task, ours_worst, mujoco_worst])
            with one_core():
                times = bursts(runs, options.rounds)
            ours, choice = times.get("ours"), best_of(times, choices)
            by_pinocchio, by_mujoco = ratio(ours, times[choice]), ratio(ours, times["MuJoCo"])
            bar, mujoco_bar = NATIVE_BARS[robot, task]
            others = ", ".join(f"{c} {MICRO * times[c].median:.3g}" for c in choices if c != choice)
            rows.append(
                [
                    f"{robot} ({model.nv})",
                    task,
                    micro(ours),
                    f"{MICRO * times[choice].median:.3g} ({choice}{'; ' + others if others else ''})",
                    by_pinocchio,
                    verdict(by_pinocchio, bar),
                    micro(times["MuJoCo"]),
                    by_mujoco,
                    verdict(by_mujoco, mujoco_bar),
                ]
            )
    table(
        "Native loop against native loop, µs per evaluation, one core",
        [
            "robot",
            "quantity",
            "ours",
            "Pinocchio, C++",
            "times as fast",
            "bar",
            "MuJoCo, C",
            "times as fast",
            "bar",
        ],
        rows,
        "The ratio to Pinocchio is to the better of its conventions. MuJoCo: smooth dynamics, kinematics included.",
    )
    table(
        "Largest relative difference from Pinocchio over the timed states",
        ["robot", "quantity", "ours", "MuJoCo"],
        [[*row[:2], *(None if x is None else f"{x:.0e}" for x in row[2:])] for row in agreement],
    )


def batch(options: Options) -> None:
    """10 000 states, NumPy arrays to NumPy arrays."""
    rows = []
    for robot, model in robots().items():
        ring = ring_of(model, BATCH)
        contestants = batch_of_pinocchio(ring)
        if not options.peers_only:
            contestants |= batch_of_ours(ring, system_of(model, options))
        wall, cpu = alternating_calls(contestants, max(9, options.rounds // 2))
        for name in contestants:
            rest = [None] * 4
            if name.startswith("ours"):
                rival = "Pinocchio, 1 thread" + (", out=" if name.endswith("out=") else "")
                by_cpu = cpu[name].times_as_fast_as(cpu[rival])
                if "1 thread" in name:
                    rest = [
                        cpu[rival].median / cpu[name].median,
                        verdict(by_cpu, BATCH_BARS[robot]),
                        None,
                        None,
                    ]
                else:
                    gain = wall[name.replace("2 threads", "1 thread")].best / wall[name].best
                    rest = [None, None, gain, verdict(gain, THREADS_BAR)]
            best = wall[name].best
            rows.append([robot, name, 1e3 * best, 1e3 * cpu[name].median, BATCH / best / 1e6, *rest])
    header = ["robot", "call", "wall ms, best", "CPU ms, median", "million states/s"]
    header += ["times as fast as Pinocchio (CPU)", "bar", "two threads against one (wall)", "bar"]
    table(
        f"Forward dynamics of {BATCH} states from NumPy to NumPy, sin and cos included",
        header,
        rows,
        "Pinocchio: abaInParallel, each call against the same kind of call (new array, or `out=`).",
    )


def batch_of_pinocchio(ring: Ring) -> dict[str, Callable[[], object]]:
    # Pinocchio wants states as columns, and gets them without a copy
    pool = pin.ModelPool(ring.model, 2)
    q, v, tau = (np.asfortranarray(x.T) for x in (ring.theirs.q, ring.theirs.v, ring.theirs.tau))
    a = np.zeros((ring.model.nv, BATCH), order="F")
    return {
        "Pinocchio, 1 thread": lambda: pin.abaInParallel(1, pool, q, v, tau),
        "Pinocchio, 1 thread, out=": lambda: pin.abaInParallel(1, pool, q, v, tau, a),
        "Pinocchio, 2 threads, out=": lambda: pin.abaInParallel(2, pool, q, v, tau, a),
    }


def batch_of_ours(ring: Ring, system: Any) -> dict[str, Callable[[], object]]:
    q, v, tau = ring.ours.q, ring.ours.v, ring.ours.tau
    out = np.zeros((BATCH, ring.model.nv))
    forward = system.forward_dynamics
    theirs = next(iter(batch_of_pinocchio(ring).values()))().T
    expected = state_from_pinocchio(ring.model, ring.theirs.q, ring.theirs.v, a=theirs).a
    for threads in (1, 2):
        worst = max(map(difference, forward(q, v, tau, threads=threads), expected))
        insist(f"{ring.model.name}, batch, {threads} threads", worst)
    return {
        "ours, 1 thread": lambda: forward(q, v, tau, threads=1),
        "ours, 1 thread, out=": lambda: forward(q, v, tau, threads=1, out=out),
        "ours, 2 threads": lambda: forward(q, v, tau, threads=2),
        "ours, 2 threads, out=": lambda: forward(q, v, tau, threads=2, out=out),
    }


def alternating_calls(
    contestants: Mapping[str, Callable[[], object]], rounds: int
) -> tuple[dict[str, Times], dict[str, Times]]:
    """Wall clock and CPU time of the whole process per call; not tied to a core, since some use two."""
    wall: dict[str, list[float]] = {name: [] for name in contestants}
    cpu: dict[str, list[float]] = {name: [] for name in contestants}
    for r in range(rounds + 1):
        for name, call in contestants.items():
            begin, begin_cpu = time.perf_counter(), time.process_time()
            count = 0
            while count == 0 or time.perf_counter() - begin < 4e-3:
                call()
                count += 1
            end, end_cpu = time.perf_counter(), time.process_time()
            if r > 0:  # the first round only warms up
                wall[name].append((end - begin) / count)
                cpu[name].append((end_cpu - begin_cpu) / count)
    return ({n: Times(tuple(t)) for n, t in wall.items()}, {n: Times(tuple(t)) for n, t in cpu.items()})


def call(options: Options) -> None:
    """One state, from Python."""
    rows = []
    for robot, model in robots().items():
        ring = ring_of(model, 1)
        data = model.createData()
        q, v, a, tau = (x[0].copy() for x in ring.theirs)
        runs: dict[str, Callable[[], object]] = {}
        for suffix, convention in (("LOCAL", pin.Convention.LOCAL), ("WORLD", pin.Convention.WORLD)):
            runs[f"aba {suffix}"] = lambda c=convention: pin.aba(model, data, q, v, tau, c)
            runs[f"crba {suffix}"] = lambda c=convention: pin.crba(model, data, q, c)
        runs["rnea"] = lambda: pin.rnea(model, data, q, v, a)
        if not options.peers_only:
            runs |= python_calls_of_ours(ring, system_of(model, options))
        with one_core():
            times = bursts({name: calls(run) for name, run in runs.items()}, options.rounds)
        for task in TASKS:
            choice = best_of(times, PINOCCHIO_CHOICES[task])
            plain, into = times.get(f"{task}"), times.get(f"{task}, out=")
            share = None if plain is None else 1.0 / plain.times_as_fast_as(times[choice])
            share_into = None if into is None else 1.0 / into.times_as_fast_as(times[choice])
            rows.append(
                [robot, task, micro(plain), micro(into), f"{MICRO * times[choice].median:.3g} ({choice})"]
            )
            rows[-1] += [share, share_into, verdict(share, CALL_BAR, at_most=True)]
    header = ["robot", "quantity", "ours", "ours, out=", "Pinocchio", "share of its time", "with out=", "bar"]
    table("One state, one call from Python, µs", header, rows)


def python_calls_of_ours(ring: Ring, system: Any) -> dict[str, Callable[[], object]]:
    q, v, a, tau = (x[0].copy() for x in ring.ours)
    out, matrix = np.zeros(ring.model.nv), np.zeros((ring.model.nv, ring.model.nv))
    return {
        FORWARD: lambda: system.forward_dynamics(q, v, tau),
        INVERSE: lambda: system.inverse_dynamics(q, v, a),
        MASS: lambda: system.mass_matrix(q),
        f"{FORWARD}, out=": lambda: system.forward_dynamics(q, v, tau, out=out),
        f"{INVERSE}, out=": lambda: system.inverse_dynamics(q, v, a, out=out),
        f"{MASS}, out=": lambda: system.mass_matrix(q, out=matrix),
    }


def start(options: Options) -> None:
    """From import to the first result, each time in a new process."""
    if options.peers_only:
        return
    ring = ring_of(panda(), 1)
    q, v, _, tau = (x[0] for x in ring.theirs)
    expected = pin.aba(ring.model, ring.model.createData(), q, v, tau)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arm = folder / "arm.json"
        arm.write_text(json.dumps(plain_arm(ring)))
        probe(arm, folder / "warm")  # reads all files once and fills this cache
        for cache in START_BARS:
            runs = [probe(arm, folder / (cache if cache == "warm" else f"empty {i}")) for i in range(5)]
            insist(f"first result, {cache} cache", difference(np.array(runs[0]["a"]), expected))
            figures = [statistics.median(run[part] for run in runs) for part in ("total", "cpu")]
            parts = [
                statistics.median(run[part] for run in runs) for part in ("import", "build", "first result")
            ]
            rows.append(
                [cache, figures[0], verdict(figures[0], START_BARS[cache], at_most=True), *parts, figures[1]]
            )
    header = ["cache", "import to first result, s", "bar", "import", "build", "first call", "CPU time"]
    table(
        "Start: forward dynamics of the 7-joint arm in a new process, wall clock, median of 5", header, rows
    )


def plain_arm(ring: Ring) -> dict[str, Any]:
    """The arm and its first state as plain numbers, so that the new process needs no peer."""
    model = ring.model
    links = []
    for j in range(1, model.njoints):
        body, pose_child = model.inertias[j], np.eye(4)
        pose_child[:3, :3] = shared_joint(model.joints[j]).rotation
        links.append(
            {
                "name": model.names[j],
                "parent": model.parents[j],
                "mass": body.mass,
                "com": body.lever.tolist(),
                "inertia": body.inertia.tolist(),
                "pose": (model.jointPlacements[j].homogeneous @ pose_child).tolist(),
                "pose_child": pose_child.tolist(),
            }
        )
    state = {name: getattr(ring.ours, name)[0].tolist() for name in ("q", "v", "tau")}
    return {"gravity": model.gravity.linear.tolist(), "links": links, **state}


def probe(arm: Path, cache: Path) -> dict[str, Any]:
    program = Path(__file__).with_name("start_probe.py")
    cache.mkdir(mode=0o700, exist_ok=True)
    environment = os.environ | {"WHIPPLETREE_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, str(program), str(arm)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"start_probe.py failed:\n{done.stderr}")
    return json.loads(done.stdout)


def long_chains(options: Options) -> None:
    """Chains of 100 and 1000 revolute joints."""
    rows = []
    per_joint: dict[int, float] = {}
    with_drake = importlib.util.find_spec("pydrake") is not None
    for joints in (100, 1000):
        ring = ring_of(chain(joints), 8)
        runs, built, drake = {}, None, None
        if not options.peers_only:
            mechanism = mechanism_from_pinocchio(ring.model)
            begin = time.perf_counter()
            system = mechanism.build()
            first = system.forward_dynamics(ring.ours.q[0], ring.ours.v[0], ring.ours.tau[0])
            built = time.perf_counter() - begin
            residual = chain_residual(ring, first)
            insist(f"chain of {joints}: MuJoCo's inverse dynamics of our accelerations", residual)
            loop = KernelLoop(system, ring, FORWARD)
            insist(f"chain of {joints}: kernel loop", difference(loop.answer(0), first))
            runs["ours"] = loop.run()
        if with_drake:
            drake = DrakeChain(ring)
            insist(
                f"chain of {joints}: MuJoCo's inverse dynamics of Drake's",
                chain_residual(ring, drake.answer()),
            )
            runs["Drake"] = drake.run()
        if not runs:
            continue
        with one_core():
            times = bursts(runs, options.rounds)
        ours, theirs = times.get("ours"), times.get("Drake")
        if ours is not None:
            per_joint[joints] = ours.median / joints
        gain = ratio(ours, theirs) if theirs is not None else None
        bars = (CHAIN_BUILD_BAR, CHAIN_DRAKE_BAR) if joints == 1000 else (None, None)
        rows.append([joints, built, verdict(built, bars[0], at_most=True), micro(ours)])
        rows[-1] += [1e9 * per_joint[joints] if ours else None, micro(theirs), gain, verdict(gain, bars[1])]
    header = ["joints", "build to first result, s", "bar", "µs per evaluation", "ns per joint", "Drake, µs"]
    notes = [] if with_drake else [HINT]
    if len(per_joint) == 2:
        growth = per_joint[1000] / per_joint[100]
        bar = verdict(growth, CHAIN_GROWTH_BAR, at_most=True)
        notes.append(f"Time per joint at 1000 over that at 100: {growth:.2f} (bar {bar}).")
    title = "Forward dynamics of a chain of revolute joints with mixed axes"
    table(title, [*header, "times as fast", "bar"], rows, "\n".join(notes))


def chain_residual(ring: Ring, accelerations: np.ndarray) -> float:
    """What MuJoCo's inverse dynamics makes of the accelerations of state 0, less the joint forces they came from.

    Relative to the forces at zero acceleration. A long chain magnifies rounding in accelerations, but not in this.
    """
    q, v, tau = ring.theirs.q[[0, 0]], ring.theirs.v[[0, 0]], ring.theirs.tau[[0, 0]]
    a = np.stack([accelerations, np.zeros_like(accelerations)])
    loop = MujocoLoop(Ring(ring.model, ring.theirs._replace(q=q, v=v, a=a, tau=tau)))
    forces, at_rest = loop.answer(INVERSE, 0), loop.answer(INVERSE, 1)
    worst = np.max(np.abs(forces - tau[0])) / np.max(np.abs(at_rest))
    return float(worst) if np.isfinite(worst) else float("inf")


SECTIONS: dict[str, Callable[[Options], None]] = {
    "native": native,
    "batch": batch,
    "call": call,
    "start": start,
    "chain": long_chains,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed on trees beside Pinocchio, MuJoCo and Drake.")
    parser.add_argument("sections", nargs="*", metavar="section", help=f"any of: {', '.join(SECTIONS)}")
    parser.add_argument(
        "--rounds", type=int, default=BURSTS, help="bursts per contestant (default %(default)s)"
    )
    parser.add_argument("--peers", action="store_true", help="time the peers alone")
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    options = Options(arguments.rounds, arguments.peers)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["WHIPPLETREE_CACHE"] = cache  # compile times are those of an empty cache
        print("## Trees\n")
        banner()
        for name in arguments.sections or SECTIONS:
            SECTIONS[name](options)


if __name__ == "__main__":
    main()
