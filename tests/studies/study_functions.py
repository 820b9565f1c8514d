"""Functions of cases for the tests of studies, in a module that worker processes can import."""

from __future__ import annotations

import functools
import time

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
        pass
    return case["mass"]


def hoards(system, case):
    return np.ones(int(1e9 if case["mass"] > 3.0 else 10)).sum()
