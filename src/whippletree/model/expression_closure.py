"""Reading a closure that is written as an expression in a mechanism's symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

import casadi as ca
import numpy as np

from whippletree.elements.closures import Expression
from whippletree.errors import ModelError
from whippletree.model.expression_symbols import (
    Found,
    check_constants,
    check_smooth,
    check_symbols,
    found_in,
    names_in,
    operations_of,
)
from whippletree.model.model_tolerances import AFFINE
from whippletree.model.parameters import Parameters
from whippletree.model.symbols import MechanismSymbols
from whippletree.spatial.scalars import shown

__all__ = ["ReadClosure", "read_closure"]

_WORDS = ".coordinate, .rate, .position, .rotation, .velocity, .time and .parameter"


class ReadClosure(NamedTuple):
    """The closure of an expression, and the places and coordinates that it constrains."""

    closure: Expression
    places: tuple[str, ...]
    coordinates: tuple[tuple[str, int], ...]


def read_closure(
    expression: object,
    symbols: MechanismSymbols,
    parameters: Parameters,
    places: Mapping[str, int],
    joints: Mapping[str, int],
) -> ReadClosure:
    """Read an expression; places and joints are given with their places in the order in which it is to hold on to them.

    >>> known = MechanismSymbols()
    >>> q, v = known.coordinate("A", 0)
    >>> read_closure(ca.sin(q) - known.time, known, Parameters(), {}, {"A": 0}).coordinates
    (('A', 0),)
    """
    column = _column(expression)
    operations = operations_of(column)
    occurring = names_in(operations)
    found = found_in(occurring, symbols, places, joints)
    used = parameters.among(occurring)
    if found.states:
        raise ModelError(f'the expression depends on the state "{found.states[0]}": only forces can do that')
    check_symbols(occurring, symbols, used, "the expression", _WORDS)
    check_constants(operations, "the expression")
    closure = Expression.written(column, found.sides, found.q, found.v, symbols.time, used)
    check_smooth(operations, "the expression", of_velocity=not closure.holonomic)
    _check_rows(column, found)
    if not closure.holonomic:
        _check_affine(column, found.speeds)
    return ReadClosure(closure, found.places, found.coordinates)


def _column(expression: object) -> ca.SX:
    """Check that it is a column of SX."""
    kind = type(expression)
    if issubclass(kind, ca.MX):
        raise ModelError(f"the expression is of CasADi's type MX: write it in the mechanism's symbols, {_WORDS}")
    if not issubclass(kind, ca.SX):
        raise ModelError(
            f"give a CasADi SX expression in the mechanism's symbols ({_WORDS}) that is to be zero, "
            f"got {shown(expression)}"
        )
    column = cast(ca.SX, expression)
    if column.shape[1] != 1 or column.shape[0] == 0:
        raise ModelError(
            f"the expression must be one entry or a column, but its shape is {column.shape}: casadi.vec makes it one"
        )
    return ca.densify(column)


def _check_rows(column: ca.SX, found: Found) -> None:
    """Check that each entry holds on to something: all of them on velocities if one does."""
    speeds = names_in(found.speeds)
    moving = any(key in speeds for key in names_in(column))
    wanted = speeds if moving else names_in(found.positions)
    for k in range(column.shape[0]):
        if wanted.keys().isdisjoint(names_in(column[k])):
            entry = "the expression" if column.shape[0] == 1 else f"expression[{k}]"
            if moving:
                raise ModelError(
                    f"{entry} has no rate and no velocity in it while others have: give conditions on positions "
                    "as a closure of their own"
                )
            raise ModelError(f"{entry} depends on no coordinate and on no place, so that nothing can make it zero")


def _check_affine(column: ca.SX, speeds: ca.SX) -> None:
    """Check that velocities enter with factors that do not depend on them."""
    jacobian = ca.jacobian(column, speeds)
    if not names_in(speeds).keys().isdisjoint(names_in(jacobian)) or not _is_affine(column, jacobian, speeds):
        raise ModelError(
            "the expression is not affine in rates and velocities: each may only be multiplied by what depends on "
            "positions, time and parameters"
        )


def _is_affine(column: ca.SX, jacobian: ca.SX, speeds: ca.SX) -> bool:
    """Tell whether jumps are absent, which derivatives do not see: compare with the tangent at a few states."""
    rest = ca.substitute(column, speeds, ca.SX.zeros(speeds.shape[0]))
    inputs = ca.symvar(column)
    function = ca.Function("affine", inputs, [column, rest + jacobian @ speeds])
    rng = np.random.default_rng(0)
    for _ in range(4):
        given, tangent = (np.asarray(part) for part in function.call([*rng.uniform(-2.0, 2.0, len(inputs))]))
        both = np.isfinite(given) & np.isfinite(tangent)
        if np.any(np.abs(given - tangent)[both] > AFFINE * (1.0 + np.abs(given)[both])):
            return False
    return True
