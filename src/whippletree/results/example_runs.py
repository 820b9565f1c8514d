"""The run of the examples in docstrings."""

from __future__ import annotations

import functools

import numpy as np

from whippletree.elements.bodies import rod
from whippletree.model import Mechanism
from whippletree.results.certificate import Certificate
from whippletree.results.trajectory import Trajectory

__all__ = ["swing"]


@functools.cache
def swing() -> Trajectory:
    """Return a pendulum that turns steadily, without gravity: half a turn in a second.

    >>> swing()["hinge"][-1].round(6)
    np.float64(3.141593)
    """
    m = Mechanism("pendulum", gravity=(0, 0, 0))
    bar = m.body("rod", rod(length=1.0, mass=2.0, axis="x"))
    m.revolute("hinge", m.ground, bar, axis="y")
    m.frame("tip", on=bar, at=(1, 0, 0))
    t = np.linspace(0.0, 1.0, 11)
    certificate = Certificate(work_in=0.0, work_dissipated=0.0, steps=10)
    return Trajectory(m.build(), t, np.pi * t[:, None], np.full((11, 1), np.pi), None, certificate)
