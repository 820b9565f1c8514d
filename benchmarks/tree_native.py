"""Native loop against native loop: what a C or C++ program would see."""

from __future__ import annotations

import numpy as np
from bars import NATIVE, TASKS, Options, best_of, difference, disturbable, insist, micro, ratio, system_of, verdict
from models import Ring, ring_of, robots, state_to_pinocchio, velocity_map
from ours import tree_loop
from peers import FORWARD, INVERSE, PINOCCHIO_CHOICES, MujocoLoop, PinocchioLoop
from timing import Times, bursts, one_core, table


def native(options: Options) -> None:
    rows, agreement = [], []
    for robot, model in robots().items():
        ring = ring_of(model)
        pinocchio, mujoco, system = PinocchioLoop(ring), MujocoLoop(ring), system_of(model, options)
        states = range(len(ring.theirs.q))
        for task in TASKS:
            choices = PINOCCHIO_CHOICES[task]
            runs = {choice: pinocchio.run(choice) for choice in choices}
            runs["MuJoCo"] = mujoco.run(task)
            answers = {c: [pinocchio.answer(c, k) for k in states] for c in choices}
            answers["MuJoCo"] = [mujoco.answer(task, k) for k in states]
            if system is not None:
                loop = tree_loop(system, ring, task)
                runs["ours"] = loop.run()
                answers["ours"] = [in_their_numbers(ring, task, k, loop.answer(k)) for k in states]
            worst = {
                name: insist(f"{robot}, {task}, {name}", max(map(difference, results, answers[choices[0]])))
                for name, results in answers.items()
            }
            agreement.append([robot, task, *(text(worst.get(name)) for name in ("ours", "MuJoCo"))])
            with one_core():
                times = bursts(runs, options.rounds)
            rows.append([f"{robot} ({model.nv})", task, *result(times, choices, NATIVE[robot, task])])
    table(
        "Native loop against native loop, µs per evaluation, one core",
        ["robot", "quantity", "ours", "Pinocchio, C++", "ratio", "bar", "MuJoCo, C", "ratio", "bar"],
        rows,
        "Ratio: how many times as fast we are, for Pinocchio against the better of its conventions. "
        "MuJoCo: smooth dynamics, kinematics included.",
    )
    table(
        "Largest relative difference from Pinocchio over the timed states",
        ["robot", "quantity", "ours", "MuJoCo"],
        agreement,
    )


def result(times: dict[str, Times], choices: tuple[str, ...], bars: tuple[float, float | None]) -> list[object]:
    ours, best = times.get("ours"), best_of(times, choices)
    by_pinocchio, by_mujoco = ratio(ours, times[best]), ratio(ours, times["MuJoCo"])
    others = [f"{choice} {micro(times[choice]):.3g}" for choice in choices if choice != best]
    pinocchio = f"{micro(times[best]):.3g} ({'; '.join([best, *others])})"
    first = [micro(ours), pinocchio, by_pinocchio, disturbable(verdict(by_pinocchio, bars[0]), ours)]
    return [*first, micro(times["MuJoCo"]), by_mujoco, disturbable(verdict(by_mujoco, bars[1]), ours)]


def text(value: float | None) -> str | None:
    return None if value is None else f"{value:.0e}"


def in_their_numbers(ring: Ring, task: str, k: int, answer: np.ndarray) -> np.ndarray:
    """Our answer for state k as Pinocchio would write it."""
    q, v = ring.ours.q[k], ring.ours.v[k]
    if task == FORWARD:
        return state_to_pinocchio(ring.model, q, v, a=answer).a
    if task == INVERSE:
        return state_to_pinocchio(ring.model, q, v, tau=answer).tau
    T = velocity_map(ring.model, q)
    return T.T @ answer @ T
