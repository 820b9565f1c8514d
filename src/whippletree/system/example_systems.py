"""The mechanisms of the examples in docstrings."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from casadi import sin

from whippletree.elements.bodies import rod
from whippletree.model import Mechanism

if TYPE_CHECKING:
    from whippletree.system.system import System

__all__ = ["four_bar", "pendulum", "quarter_car"]


@functools.cache
def pendulum() -> System:
    """Return a rod of 1 m and 2 kg that hangs on a hinge; it lies along x in its neutral configuration.

    >>> pendulum()
    System "pendulum": 1 body, 1 freedom
    """
    m = Mechanism("pendulum")
    m.revolute("hinge", m.ground, m.body("rod", rod(length=1.0, mass=2.0, axis="x")), axis="y")
    return m.build()


@functools.cache
def four_bar() -> System:
    """Return a crank, a coupler and a rocker between two ground pivots.

    >>> four_bar().joint_names
    ('A', 'B', 'C', 'D')
    """
    m = Mechanism("four-bar")
    crank = m.body("crank", rod(length=1.0, mass=1.0, axis="x"))
    coupler = m.body("coupler", rod(length=2.0, mass=2.0, axis="x"))
    rocker = m.body("rocker", rod(length=1.5, mass=1.5, axis="x"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    return m.build(guess={"A": 1.0})


@functools.cache
def quarter_car() -> System:
    """Return a wheel that follows a road with some lag, and a chassis on a strut above it.

    >>> quarter_car().joint_names
    ('wheel travel', 'chassis travel')
    """
    m = Mechanism("quarter car")
    wheel, chassis = m.body("wheel", mass=40.0), m.body("chassis", mass=250.0)
    m.prismatic("wheel travel", m.ground, wheel)
    m.prismatic("chassis travel", m.ground, chassis, at=(0, 0, 0.5))
    m.spring("strut", wheel, chassis, stiffness=2e4, free_length=0.5, damping=1500.0)
    lag = m.state("lag", 0.0, rate=lambda z: (0.1 * sin(m.time) - z) / 0.05)
    m.load("tyre", wheel, force=(0, 0, 2e5 * (lag - m.coordinate("wheel travel"))))
    return m.build()
