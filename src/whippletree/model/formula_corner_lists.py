"""The corners of all formulas of a mechanism, for runs whose steps end there.

What a person writes may have corners. Elements are smooth (`elements/forces/base.py`), and so are the rates of their
own states: where these choose between two expressions, both agree to the first derivative, and no step ends there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Side
from whippletree.elements.closures.expression import Expression
from whippletree.elements.drivers import Motion
from whippletree.elements.forces import ElementState, Formula
from whippletree.elements.formula_corners import Corners, corners_of
from whippletree.model.description import Description, ForceUse
from whippletree.spatial.scalars import Scalar

__all__ = ["CornerInState", "CornersInTime", "corners_in_state", "corners_in_time"]


class CornersInTime(NamedTuple):
    """Corners that time and parameters decide: a function of these two, which are at whole numbers, and of which knots.

    Where an expression is the knot number of a spline or a table, `knots` has its points, and else nothing.
    """

    name: str
    function: ca.Function
    whole: tuple[bool, ...]
    knots: tuple[tuple[float, ...], ...]


class CornerInState(NamedTuple):
    """A corner at a place that the state decides: its element, and whether it is at whole numbers."""

    name: str
    whole: bool


def corners_in_time(description: Description) -> tuple[CornersInTime, ...]:
    """Return the corners of forces, states' rates, drives and closures that are known before a run begins.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("crank", mass=1.0))
    >>> m.actuator("pulse", hinge, effort=ca.if_else(m.time < 5, 0, 1)).name
    'pulse'
    >>> [found.name for found in corners_in_time(m.describe())]
    ['force "pulse"']
    """
    named = ca.vertcat(ca.SX(0, 1), *(p.symbol for p in description.parameters))
    found = []
    for name, corners, arguments in _timed(description):
        t = ca.SX.sym("t")
        column = ca.SX(corners.function(t, ca.vertcat(ca.SX(0, 1), *map(ca.SX, arguments))))
        if corners.whole:
            function = ca.Function("corners", [t, named], [column])
            found.append(CornersInTime(name, function, corners.whole, corners.knots))
    return tuple(found)


def corners_in_state(description: Description) -> tuple[CornerInState, ...]:
    """Return the corners that are looked for in each step, in the order in which the kernel `corners` has them."""
    pairs = [
        *((f'force "{use.name}"', one) for use in description.forces for one in _formulas(use)),
        *((f'the rate of state "{use.name}"', use.rate) for use in description.written_states),
    ]
    return tuple(CornerInState(name, whole) for name, one in pairs for whole in one.corners_in_state.whole)


def _timed(description: Description) -> Iterator[tuple[str, Corners, Sequence[Scalar]]]:
    """Yield everything that may have corners in time: its corners as a function of time and its own parameters."""
    for use in description.forces:
        for formula in _formulas(use):
            yield f'force "{use.name}"', formula.corners_in_time, formula.arguments
    for state in description.written_states:
        yield f'the rate of state "{state.name}"', state.rate.corners_in_time, state.rate.arguments
    for closed in description.closures:
        closure = closed.closure
        if isinstance(closure, Motion):
            yield f'drive "{closed.name}"', corners_of(closure.function), closure.arguments
        elif isinstance(closure, Expression):
            yield f'closure "{closed.name}"', _of_closure(closure), closure.arguments


def _of_closure(closure: Expression) -> Corners:
    """Return the corners in time of a written closure, as a function of time and parameters."""
    t, parameter = (closure.inputs.index(name) for name in ("t", "parameter"))
    found = corners_of(closure.function)
    found = found.only([i for i, used in enumerate(found.used) if t in used <= {t, parameter}])
    symbols = closure.fresh()
    column = ca.SX(found.function(*symbols))
    return found._replace(function=ca.Function("corners", [symbols[t], symbols[parameter]], [column]))


def _formulas(use: ForceUse) -> list[Formula]:
    """Return the formulas of a force element."""
    sides = tuple(Side(ca.SX.sym("R", 3, 3), *(ca.SX.sym(letter, 3) for letter in "pwu")) for _ in use.sides)
    q, v = (ca.SX.sym(letter, len(use.coordinates)) for letter in "qv")
    seen = ElementState(sides, q, v, ca.SX.sym("z", len(use.states)), ca.SX.sym("t"))
    return [one.formula for one in use.force.formulas(seen)]
