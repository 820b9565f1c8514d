"""Chains of 100 and 1000 revolute joints: compile time, time per joint, and Drake where it is installed."""

from __future__ import annotations

import importlib.util
import time

import numpy as np
from bars import (
    CHAIN_BUILD,
    CHAIN_DRAKE,
    CHAIN_GROWTH,
    Options,
    difference,
    insist,
    micro,
    ratio,
    verdict,
)
from drake_peer import HINT, DrakeChain
from models import Ring, chain, mechanism_from_pinocchio, ring_of
from ours import tree_loop
from peers import FORWARD, INVERSE, MujocoLoop
from timing import Run, bursts, one_core, table

LENGTHS = (100, 1000)
STATES = 8


def long_chains(options: Options) -> None:
    with_drake = importlib.util.find_spec("pydrake") is not None
    rows, per_joint = [], {}
    for joints in LENGTHS:
        ring = ring_of(chain(joints), STATES)
        built, runs = (None, {}) if options.peers_only else ours(ring)
        if with_drake:
            drake = DrakeChain(ring)
            insist(f"Drake on {ring.model.name}", residual(ring, drake.answer()))
            runs["Drake"] = drake.run()
        if not runs:
            continue
        with one_core():
            times = bursts(runs, options.rounds)
        mine, theirs = times.get("ours"), times.get("Drake")
        if mine is not None:
            per_joint[joints] = mine.median / joints
        gain, longest = ratio(mine, theirs), joints == LENGTHS[-1]
        rows.append([joints, built, verdict(built, CHAIN_BUILD if longest else None, at_most=True)])
        rows[-1] += [micro(mine), None if mine is None else 1e9 * per_joint[joints], micro(theirs), gain]
        rows[-1] += [verdict(gain, CHAIN_DRAKE if longest else None)]
    notes = [] if with_drake else [HINT]
    if len(per_joint) == len(LENGTHS):
        growth = per_joint[LENGTHS[1]] / per_joint[LENGTHS[0]]
        bar = verdict(growth, CHAIN_GROWTH, at_most=True)
        notes.append(f"Time per joint at 1000 joints over that at 100: {growth:.2f} (bar {bar}).")
    header = ["joints", "build to first result, s", "bar", "µs per evaluation", "ns per joint", "Drake, µs"]
    title = "Forward dynamics of a chain of revolute joints with mixed axes"
    if rows:
        table(title, [*header, "ratio", "bar"], rows, " ".join(notes))
    else:
        print(HINT)


def ours(ring: Ring) -> tuple[float, dict[str, Run]]:
    """Seconds from the description to the first result, with an empty cache, and the native loop."""
    mechanism = mechanism_from_pinocchio(ring.model)
    begin = time.perf_counter()
    system = mechanism.build()
    first = system.forward_dynamics(ring.ours.q[0], ring.ours.v[0], ring.ours.tau[0])
    built = time.perf_counter() - begin
    insist(f"ours on {ring.model.name}", residual(ring, first))
    loop = tree_loop(system, ring, FORWARD)
    insist(f"native loop on {ring.model.name}", difference(loop.answer(0), first))
    return built, {"ours": loop.run()}


def residual(ring: Ring, accelerations: np.ndarray) -> float:
    """What MuJoCo's inverse dynamics makes of the accelerations of state 0, less the joint forces of state 0.

    It is relative to the joint forces that zero accelerations would take. A long chain magnifies rounding in
    its accelerations, but not in this.
    """
    q, v, tau = (np.stack([x[0], x[0]]) for x in (ring.theirs.q, ring.theirs.v, ring.theirs.tau))
    a = np.stack([accelerations, np.zeros_like(accelerations)])
    loop = MujocoLoop(Ring(ring.model, ring.theirs._replace(q=q, v=v, a=a, tau=tau)))
    forces, without = loop.answer(INVERSE, 0), loop.answer(INVERSE, 1)
    worst = np.max(np.abs(forces - tau[0])) / np.max(np.abs(without))
    return float(worst) if np.isfinite(worst) else float("inf")
