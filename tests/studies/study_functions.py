"""Functions of cases for the tests of studies, in a module that worker processes can import."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import time
from pathlib import Path

import numpy as np

import whippletree as wt

CALLS: list[int] = []


@functools.cache
def pendulum(gravity: float = 9.81) -> wt.System:
    """A rod on a hinge, whose mass and length are parameters."""
    m = wt.Mechanism("pendulum", gravity=(0, 0, -gravity))
    mass, length = m.parameter("mass", 1.0), m.parameter("length", 1.0)
    m.revolute("hinge", m.ground, m.body("rod", wt.rod(length=length, mass=mass, axis="x")), axis="y")
    return m.build()


def chain(case: wt.Study) -> wt.Mechanism:
    m = wt.Mechanism("chain")
    before = m.ground
    for k in range(int(case["links"])):
        rod = m.body(f"rod {k}", wt.rod(length=1.0, mass=1.0, axis="x"))
        m.revolute(f"hinge {k}", before, rod, at=(1.0 if k else 0.0, 0, 0), axis="y")
        before = rod
    return m


def freedoms(system, case):
    return system.nv


def fall(system, case):
    found = system.forward_dynamics([0.0], [0.0], parameters=case.parameters)
    return {"acceleration": found[0], "weight": 9.81 * case["mass"], "random": case.rng().random()}


def refuses_heavy(system, case):
    if case["mass"] > 3.0:
        raise ValueError("too heavy")
    return case["mass"]


def sometimes_more(system, case):
    return np.ones(3 if case["mass"] > 3.0 else 2)


def counted(system, case):
    CALLS.append(case.index)
    time.sleep(0.005)
    return case["mass"] ** 2


def stuck_if_heavy(system, case):
    while case["mass"] > 3.0:
        time.sleep(0.001)
    return case["mass"]


def hoards(system, case):
    return np.ones(int(1e9 if case["mass"] > 3.0 else 10)).sum()


HELD = (30, 100, 170)
"""Cases that wait to be killed when they are tried for the first time."""


def slow_fall(system, case, held=None):
    """Fall slowly; with a folder, a case of `HELD` writes the number of its process there, once, and waits."""
    time.sleep(0.004)
    if held is not None and case.index in HELD:
        with contextlib.suppress(FileExistsError), (Path(held) / str(case.index)).open("x") as file:
            file.write(str(os.getpid()))
            file.flush()
            time.sleep(120.0)
    return fall(system, case)


def kills_its_worker(system, case):
    if case["mass"] == 2.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return case["mass"]


def many_numbers(system, case):
    time.sleep(0.01)
    return case.rng().random(10_000)


def ishigami(system, case):
    x1, x2, x3 = case["x1"], case["x2"], case["x3"]
    return np.sin(x1) + 7.0 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)


BRANCH = -1.0
"""The sign of the angle between diagonal and rocker: on which side the four-bar is assembled."""


@functools.lru_cache
def four_bar(angle: float) -> wt.System:
    """A four-bar whose lengths are parameters, with the crank at an angle."""
    m = wt.Mechanism("four-bar")
    crank, coupler, rocker, base = (
        m.parameter(name, value) for name, value in (("crank", 0.1), ("coupler", 0.25), ("rocker", 0.2), ("base", 0.22))
    )
    bars = {name: m.body(name, mass=1.0, inertia=(0.01, 0.01, 0.01)) for name in ("a", "b", "c")}
    m.revolute("A", m.ground, bars["a"], axis="y")
    m.revolute("B", bars["a"], bars["b"], at=(crank, 0, 0), axis="y")
    m.revolute("C", bars["b"], bars["c"], at=(coupler, 0, 0), at_child=(rocker, 0, 0), axis="y")
    m.revolute("D", m.ground, bars["c"], at=(base, 0, 0), axis="y")
    return m.build(guess={"A": angle, "D": 1.5}, hold=["A"], dependent=["B", "C", "D"])


def rocker(system, case):
    q = system.assemble(system.q0, hold=["A"], parameters=case.parameters)
    return {"angle": q[system.q_slice("D").start]}
