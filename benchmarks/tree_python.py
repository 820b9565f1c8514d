"""From Python: a batch of states, NumPy arrays to NumPy arrays, and one call for one state."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pinocchio as pin
from bars import (
    BATCH,
    CALL,
    TASKS,
    THREADS,
    Options,
    best_of,
    difference,
    disturbable,
    insist,
    micro,
    share,
    system_of,
    verdict,
)
from models import Ring, ring_of, robots, state_from_pinocchio
from peers import FORWARD, INVERSE, MASS, PINOCCHIO_CHOICES
from quiet import undisturbed
from timing import Times, bursts, calls, one_core, table

Calls = dict[str, Callable[[], object]]

STATES = 10_000
BATCH_SECONDS = 2e-2  # a burst has several calls, of which the first may have to wake a helper
BATCH_PATIENCE = 30.0  # seconds: a call takes long, and two cores are seldom left alone at once
ONE, TWO, INTO = "1 thread", "2 threads", ", out="


# ---------------------------------------------------------------------------------------------------------
# Batches


def batch(options: Options) -> None:
    rows = []
    for robot, model in robots().items():
        ring = ring_of(model, STATES)
        contestants = pinocchio_batches(ring)
        if not options.peers_only:
            contestants |= our_batches(ring, system_of(model, options))
        rounds = max(5, options.rounds // 2)
        # One thread first, all together. Then threads, engine by engine: OpenMP's idle threads go on spinning
        # for a while, which would count against whoever comes next.
        single = {name: once for name, once in contestants.items() if ONE in name}
        with one_core():
            times = alternating_calls(single, rounds)
        for name in single:
            theirs = times[name.replace("ours", "Pinocchio")]
            against = gain(times[name], theirs, BATCH[robot]) if name.startswith("ours") else [None, None]
            rows.append([robot, name, *throughput(times[name]), *against, None, None])
        for engine in ("Pinocchio", "ours"):
            group = {name: once for name, once in contestants.items() if name.startswith(engine)}
            times = alternating_calls(group, rounds)
            for name in group:
                if TWO in name:
                    bar = THREADS if engine == "ours" else None
                    against = gain(times[name], times[name.replace(TWO, ONE)], bar)
                    rows.append([robot, name, *throughput(times[name]), None, None, *against])
    header = ["robot", "call", "ms", "ms, best", "million states/s"]
    table(
        f"Forward dynamics of {STATES} states from NumPy to NumPy, sin and cos included, wall clock of a call",
        [*header, "times Pinocchio", "bar", "two threads against one", "bar"],
        rows,
        "Pinocchio: abaInParallel. Each call is set against the same kind of call: a new array, or `out=`.",
    )


def throughput(times: Times) -> list[float]:
    return [1e3 * times.median, 1e3 * times.best, STATES / times.median / 1e6]


def gain(ours: Times, theirs: Times, bar: float | None) -> list[object]:
    """How many times as fast, by the medians, and what the bar says of it."""
    found = theirs.median / ours.median
    return [found, disturbable(verdict(found, bar), ours, theirs)]


def pinocchio_batches(ring: Ring) -> Calls:
    pool = pin.ModelPool(ring.model, 2)
    # states as columns, as Pinocchio wants them, so that nothing is copied
    q, v, tau = (np.asfortranarray(x.T) for x in (ring.theirs.q, ring.theirs.v, ring.theirs.tau))
    out = np.zeros((ring.model.nv, STATES), order="F")
    return {
        f"Pinocchio, {ONE}": lambda: pin.abaInParallel(1, pool, q, v, tau),
        f"Pinocchio, {ONE}{INTO}": lambda: pin.abaInParallel(1, pool, q, v, tau, out),
        f"Pinocchio, {TWO}": lambda: pin.abaInParallel(2, pool, q, v, tau),
        f"Pinocchio, {TWO}{INTO}": lambda: pin.abaInParallel(2, pool, q, v, tau, out),
    }


def our_batches(ring: Ring, system: Any) -> Calls:
    # states as rows, as we want them, so that nothing is copied
    q, v, tau = (np.ascontiguousarray(x) for x in (ring.ours.q, ring.ours.v, ring.ours.tau))
    out = np.zeros((STATES, ring.model.nv))
    forward = system.forward_dynamics
    theirs = pin.abaInParallel(1, pin.ModelPool(ring.model, 1), ring.theirs.q.T, ring.theirs.v.T, ring.theirs.tau.T)
    expected = state_from_pinocchio(ring.model, ring.theirs.q, ring.theirs.v, a=theirs.T).a
    for threads in (1, 2):
        worst = max(map(difference, forward(q, v, tau, threads=threads), expected))
        insist(f"{ring.model.name}, batch with threads={threads}", worst)
    return {
        f"ours, {ONE}": lambda: forward(q, v, tau, threads=1),
        f"ours, {ONE}{INTO}": lambda: forward(q, v, tau, threads=1, out=out),
        f"ours, {TWO}": lambda: forward(q, v, tau, threads=2),
        f"ours, {TWO}{INTO}": lambda: forward(q, v, tau, threads=2, out=out),
    }


def alternating_calls(contestants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """The wall clock of each single call, in bursts that alternate."""
    bursts_of = {name: partial(burst, call_once) for name, call_once in contestants.items()}
    for warm_up in bursts_of.values():
        warm_up()
    taken = undisturbed(bursts_of, rounds, together=False, patience=BATCH_PATIENCE)
    return {name: Times(tuple(chain.from_iterable(times)), taken.disturbed) for name, times in taken.bursts.items()}


def burst(call_once: Callable[[], object]) -> list[float]:
    taken: list[float] = []
    end = begin = time.perf_counter()
    while end == begin or end - begin < BATCH_SECONDS:
        start = end
        call_once()
        end = time.perf_counter()
        taken.append(end - start)
    return taken


# ---------------------------------------------------------------------------------------------------------
# One state


def call(options: Options) -> None:
    rows = []
    for robot, model in robots().items():
        ring = ring_of(model, 1)
        contestants = pinocchio_calls(ring)
        if not options.peers_only:
            contestants |= our_calls(ring, system_of(model, options))
        with one_core():
            times = bursts({name: calls(once) for name, once in contestants.items()}, options.rounds)
        for task in TASKS:
            best = best_of(times, PINOCCHIO_CHOICES[task])
            plain, into = times.get(task), times.get(task + INTO)
            part, part_into = share(plain, times[best]), share(into, times[best])
            rows.append([robot, task, micro(plain), micro(into), f"{micro(times[best]):.3g} ({best})"])
            rows[-1] += [part, part_into, disturbable(verdict(part, CALL, at_most=True), plain)]
    header = ["robot", "quantity", "ours", "ours, out=", "Pinocchio", "share of its time", "with out=", "bar"]
    table("One state, one call from Python, µs", header, rows)


def pinocchio_calls(ring: Ring) -> Calls:
    model, data = ring.model, ring.model.createData()
    q, v, a, tau = (x[0].copy() for x in ring.theirs)
    local, world = pin.Convention.LOCAL, pin.Convention.WORLD
    return {
        "aba LOCAL": lambda: pin.aba(model, data, q, v, tau, local),
        "aba WORLD": lambda: pin.aba(model, data, q, v, tau, world),
        "rnea": lambda: pin.rnea(model, data, q, v, a),
        "crba LOCAL": lambda: pin.crba(model, data, q, local),
        "crba WORLD": lambda: pin.crba(model, data, q, world),
    }


def our_calls(ring: Ring, system: Any) -> Calls:
    nv = ring.model.nv
    q, v, a, tau = (x[0].copy() for x in ring.ours)
    out, matrix = np.zeros(nv), np.zeros((nv, nv))
    return {
        FORWARD: lambda: system.forward_dynamics(q, v, tau),
        INVERSE: lambda: system.inverse_dynamics(q, v, a),
        MASS: lambda: system.mass_matrix(q),
        FORWARD + INTO: lambda: system.forward_dynamics(q, v, tau, out=out),
        INVERSE + INTO: lambda: system.inverse_dynamics(q, v, a, out=out),
        MASS + INTO: lambda: system.mass_matrix(q, out=matrix),
    }
