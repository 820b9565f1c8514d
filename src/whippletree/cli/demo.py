"""`whippletree demo arm`: a seven-joint arm, from its description to machine code.

Every number is computed on the spot.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from whippletree._version import __version__
from whippletree.cli.arm import describe_arm
from whippletree.cli.timing import first_results, seconds_per_call
from whippletree.kernels.threads import processors
from whippletree.system import System

__all__ = ["demo"]

STATES = 10_000
"""How many states the batch has."""

TORQUES = (30.0, 30.0, 15.0, 15.0, 2.0, 1.0, 0.1)
"""The largest torque of each joint, from the ground outward, in newton metres."""


def demo() -> None:
    """Describe an arm, build it, compute, and time it, with a line about each step."""
    print(f"Whippletree {__version__}: a seven-joint arm, from a description in Python to machine code.\n")
    system = describe_arm().build()
    _describe(system)
    _first_result()
    _one_state(system)
    _operations(system)
    _speed(system)


def _describe(system: System) -> None:
    print("The arm is described by named bodies and joints. This is the tree that the plan made of them:\n")
    print(system.plan, end="\n\n")


def _first_result() -> None:
    print("Its equations are traced, compiled for this processor and kept in a cache. Time to the first")
    print("accelerations, each measured in a new Python process:\n")
    with tempfile.TemporaryDirectory() as folder:
        for state in ("empty", "filled"):
            from_import, from_build = first_results(Path(folder) / "cache")
            times = f"{from_import:5.2f} s from import, {from_build:5.2f} s of it from the build"
            print(f"  cache {state:<7} {times}")
    print()


def _one_state(system: System) -> None:
    rng = np.random.default_rng(7)
    q, v = system.random(rng), rng.uniform(-1, 1, system.nv)
    tau = np.array(TORQUES) * rng.uniform(-1, 1, system.nv)
    a = system.forward_dynamics(q, v, tau)
    reactions = system.reactions(q, v, tau)
    energy = system.energy(q, v)
    back = system.inverse_dynamics(q, v, a)

    print("A random state under random torques: how the joints accelerate, and the force and moment that each")
    print("joint passes on to its outer body (its own torque included):\n")
    print(f"  {'joint':<15} {'angle':>7} {'torque':>8} {'acceleration':>13} {'force':>8} {'moment':>8}")
    print(f"  {'':<15} {'rad':>7} {'N m':>8} {'rad/s^2':>13} {'N':>8} {'N m':>8}")
    for i, name in enumerate(system.joint_names):
        force, moment = (np.linalg.norm(x) for x in (reactions[name].force, reactions[name].moment))
        print(f"  {name:<15} {q[i]:7.3f} {tau[i]:8.3f} {a[i]:13.3f} {force:8.2f} {moment:8.2f}")
    print(f"\nKinetic energy {energy.kinetic:.4f} J, potential energy {energy.potential:.4f} J.")
    error = np.abs(back - tau).max() / np.abs(tau).max()
    print(f"Inverse dynamics, another formulation, gives the torques back to {error:.0e} of the largest.\n")


def _operations(system: System) -> None:
    print("What one evaluation costs, in scalar operations, after equal ones are merged:\n")
    for name in ("forward_dynamics", "inverse_dynamics", "mass_matrix"):
        count = system.kernels.operations(name)
        print(f"  {name.replace('_', ' '):<17} {count.total:5d}: {count}")
    print()


def _speed(system: System) -> None:
    rng = np.random.default_rng(8)
    q, v, tau = (rng.uniform(-1, 1, (STATES, system.nv)) for _ in range(3))
    out, one = np.empty((STATES, system.nv)), np.empty(system.nv)
    state = q[0].copy(), v[0].copy(), tau[0].copy()
    call = seconds_per_call(lambda: system.forward_dynamics(*state, out=one), 2000)

    def batch(threads: int) -> float:
        return seconds_per_call(lambda: system.forward_dynamics(q, v, tau, out=out, threads=threads), 10)

    most = processors()
    print("Forward dynamics, called from Python, arrays in and arrays out:\n")
    print(f"  one state                            {1e6 * call:7.2f} µs")
    for threads in dict.fromkeys((1, most)):
        seconds, plural = batch(threads), "s" if threads > 1 else ""
        what = f"{STATES} states, {threads} thread{plural}"
        print(f"  {what:<36} {1e3 * seconds:7.2f} ms, which is {1e6 * seconds / STATES:.3f} µs per state")
    print("\nTimes are medians by the wall clock.")
