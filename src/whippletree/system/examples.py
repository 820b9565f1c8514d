"""The mechanisms of the examples in docstrings."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from whippletree.elements.bodies import rod
from whippletree.model import Mechanism

if TYPE_CHECKING:
    from whippletree.system.system import System

__all__ = ["four_bar"]


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
