"""Derivatives of accelerations beside Pinocchio's, in markdown: ``python benchmarks/derivatives.py [section ...]``.

Sections: trees (an arm and a humanoid, against computeABADerivatives), loops (ten four-bars and a platform on six legs,
against computeConstraintDynamicsDerivatives), first (the first call, seconds of CPU with an empty cache).

Native loops take turns over the same states: our kernel called by address for one state, our batch divided by its
states, Pinocchio compiled from its headers. Ours are the derivatives of the accelerations that the closures allow, in
minimal coordinates; Pinocchio's are those of all joints, and of the multipliers. Only right answers are timed: the
efforts' derivatives times the mass matrix are one.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from bars import Options, insist, micro, ratio, verdict
from command import main
from loop_models import Problem, four_bars
from loop_peers import PINOCCHIO, anchored
from loop_platform import platform
from models import Ring, mechanism_from_pinocchio, ring_of, robots
from ours import KernelLoop
from peers import pinocchio_code, pinocchio_loop
from timing import Run, bursts, calls, one_core, table

FUNCTION = "forward_dynamics_derivatives"
NATIVE, CALL, LOOPS, FIRST = 3.0, 2.0, 5.0, 4.0
"""Times as fast as Pinocchio in native loops and from Python, and with loops; seconds of the humanoid's first call."""

BATCH = 512

PEER, TREE, LOOPED = "pinocchio_derivatives.cpp", 0, 1
"""Pinocchio's native loops, and the numbers of its two functions."""


def trees(options: Options) -> None:
    native_rows, call_rows = [], []
    for robot, model in robots().items():
        ring, system = ring_of(model), mechanism_from_pinocchio(model).build()
        _check(system, ring)
        state = {"q": ring.ours.q, "v": ring.ours.v, "tau": ring.ours.tau}
        runs = _ours(system, state) | {"Pinocchio": _pinocchio(ring)}
        with one_core():
            native_rows.append([robot, *_row(bursts(runs, options.rounds), NATIVE)])
            times = bursts(_calls(system, ring), options.rounds)
        fast = ratio(times["ours"], times["Pinocchio"])
        call_rows.append([robot, micro(times["ours"]), micro(times["Pinocchio"]), fast, verdict(fast, CALL)])
    table("Derivatives of trees in native loops, µs, one core", _HEADER, native_rows)
    table("Derivatives of trees from Python, µs", ["robot", "ours", "Pinocchio", "ratio", "bar"], call_rows)


_HEADER = ["mechanism", "ours, by address", "ours, batch / states", "Pinocchio", "ratio", "bar"]


def _row(times: dict[str, Any], bar: float) -> list[object]:
    peer = min((t for name, t in times.items() if not name.startswith("ours")), key=micro)
    best = min((times["ours, by address"], times["ours, batch"]), key=micro)
    fast = ratio(best, peer)
    return [micro(times["ours, by address"]), micro(times["ours, batch"]), micro(peer), fast, verdict(fast, bar)]


def _ours(system: Any, state: dict[str, np.ndarray]) -> dict[str, Run]:
    kernel = system.kernels.kernel(FUNCTION)
    alone = KernelLoop(kernel, state, kernel.signature.shape).run()
    many = [np.ascontiguousarray(np.resize(x, (BATCH, x.shape[1]))) for x in state.values()]
    system.kernels.evaluate(FUNCTION, tuple(many), threads=1)

    def batches(count: int) -> float:
        rounds = max(1, count // BATCH)
        start = time.thread_time()
        for _ in range(rounds):
            system.kernels.evaluate(FUNCTION, tuple(many), threads=1)
        return (time.thread_time() - start) * count / (rounds * BATCH)

    return {"ours, by address": alone, "ours, batch": batches}


def _calls(system: Any, ring: Ring) -> dict[str, Run]:
    q, v, tau = (np.ascontiguousarray(x[0]) for x in (ring.ours.q, ring.ours.v, ring.ours.tau))
    theirs = [x[0].copy() for x in (ring.theirs.q, ring.theirs.v, ring.theirs.tau)]
    data = ring.model.createData()
    ours: Callable[[], object] = lambda: system.forward_dynamics_derivatives(q, v, tau)  # noqa: E731
    return {"ours": calls(ours), "Pinocchio": calls(lambda: pin.computeABADerivatives(ring.model, data, *theirs))}


def _pinocchio(ring: Ring) -> Run:
    """computeABADerivatives in a native loop; its answers are right."""
    loop, state = pinocchio_loop(pinocchio_code(PEER), ring.model), ring.theirs
    loop.set_states(state.q, state.v, state.tau)
    data = ring.model.createData()
    pin.computeABADerivatives(ring.model, data, state.q[0], state.v[0], state.tau[0])
    insist("Pinocchio", float(np.abs(np.triu(loop.result(TREE, 0, matrix=True) - data.Minv)).max()))
    return loop.run(TREE)


def _constrained(problem: Problem) -> dict[str, Run]:
    """constraintDynamics, iterated once, and its derivatives in native loops, on each tree."""
    code = pinocchio_code(PEER)
    return {name: anchored(problem.tree(name), PINOCCHIO[1], code).run(LOOPED) for name in problem.trees}


def _check(system: Any, ring: Ring) -> None:
    for q, v, tau in zip(ring.ours.q, ring.ours.v, ring.ours.tau, strict=True):
        found = system.forward_dynamics_derivatives(q, v, tau).tau
        insist("efforts", float(np.abs(found @ system.mass_matrix(q) - np.eye(system.nv)).max()))


def loops(options: Options) -> None:
    rows = []
    for problem in (four_bars(10), platform()):
        state = problem.ours()
        runs = _ours(_built(problem), {"q": state.q, "v": state.v, "tau": state.tau})
        with one_core():
            rows.append([problem.name, *_row(bursts(runs | _constrained(problem), options.rounds), LOOPS)])
    table("Derivatives with loops in native loops, µs, one core", _HEADER, rows)


def _built(problem: Problem) -> Any:
    return problem.mechanism().build(guess=problem.guess())


def first(options: Options) -> None:
    rows = []
    for robot, model in robots().items():
        with tempfile.TemporaryDirectory() as empty:
            os.environ["WHIPPLETREE_CACHE"] = empty
            system, ring = mechanism_from_pinocchio(model).build(), ring_of(model, 1)
            start = time.process_time()
            system.forward_dynamics_derivatives(ring.ours.q[0], ring.ours.v[0], ring.ours.tau[0])
            seconds = time.process_time() - start
        rows.append([robot, seconds, verdict(seconds, FIRST, at_most=True)])
    table("First call, seconds of CPU", ["robot", "ours", "bar"], rows)


SECTIONS = {"trees": trees, "loops": loops, "first": first}

if __name__ == "__main__":
    main("Derivatives", SECTIONS)
