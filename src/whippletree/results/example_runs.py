"""The runs of the examples in docstrings."""

from __future__ import annotations

import functools

import numpy as np

from whippletree.elements.bodies import FlexibleBody, Interface, LumpedNodes, Stations, rod
from whippletree.model import Mechanism
from whippletree.results.certificate import Certificate
from whippletree.results.trajectory import Trajectory

__all__ = ["nodding", "swing"]


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


@functools.cache
def nodding() -> Trajectory:
    """Return a flexible body that nods: a mass of 1 kg at a metre, whose tip is 1 cm high at one second.

    >>> nodding()["head.modes"].round(6).tolist()
    [0.0, 0.01]
    """
    up, none = np.array([[0.0], [0.0], [1.0]]), np.zeros((3, 1))
    bent = np.array([up * 0.0, up])
    body = FlexibleBody.from_arrays(
        stiffness=[[100.0]],
        inertia=LumpedNodes([1.0], np.zeros((1, 3, 3)), [[1.0, 0.0, 0.0]], [up], [none]),
        interfaces={"tip": Interface((1.0, 0.0, 0.0), translation=up)},
        stations=Stations(
            [[0, 0, 0], [1, 0, 0]],
            bent,
            0 * bent,
            np.full((2, 6, 1), 100.0),
            stress_positions=[[0, 0, 0]],
            stress=2e5 * np.eye(6, 1)[None],
        ),
        size=1.0,
    )
    m = Mechanism("head", gravity=(0, 0, 0))
    m.revolute("neck", m.ground, m.body("head", body), axis="y")
    return Trajectory(m.build(), [0.0, 1.0], [[0.0, 0.0], [0.0, 0.01]], np.zeros((2, 2)))
