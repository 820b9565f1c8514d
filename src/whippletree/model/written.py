"""Reading a closure that is written as an expression in a mechanism's symbols."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import casadi as ca
import numpy as np

from whippletree.elements.closures import Expression
from whippletree.errors import ModelError
from whippletree.model.description import Parameter
from whippletree.model.symbols import Symbols
from whippletree.spatial.scalars import shown

__all__ = ["Written", "written"]

_WORDS = ".coordinate, .rate, .position, .rotation, .velocity, .time and .parameter"


class Written(NamedTuple):
    """The closure of an expression, and what it holds on to."""

    closure: Expression
    places: tuple[str, ...]
    coordinates: tuple[tuple[str, int], ...]


class Found(NamedTuple):
    """What occurs in an expression: the symbols of places and coordinates, split into positions and velocities."""

    places: tuple[str, ...]
    coordinates: tuple[tuple[str, int], ...]
    positions: ca.SX
    speeds: ca.SX


def written(
    expression: object,
    symbols: Symbols,
    parameters: Sequence[Parameter],
    places: Sequence[str],
    joints: Sequence[str],
) -> Written:
    """Read an expression; places and joints in the order in which it is to hold on to them.

    >>> known = Symbols()
    >>> q, v = known.coordinate("A", 0)
    >>> written(ca.sin(q) - known.time, known, (), (), ["A"]).coordinates
    (('A', 0),)
    """
    column = _column(expression)
    found = _found(column, symbols, places, joints)
    used = _used(column, parameters)
    _check_symbols(column, found, symbols, used)
    _check_constants(column)
    _check_rows(column, found)
    sides = [symbols.place(name) for name in found.places]
    held = [symbols.coordinate(*key) for key in found.coordinates]
    q, v = (ca.vertcat(ca.SX(0, 1), *(getattr(pair, name) for pair in held)) for name in ("q", "v"))
    closure = Expression.written(column, sides, q, v, symbols.time, used)
    if not closure.holonomic:
        _check_affine(column, found.speeds)
    return Written(closure, found.places, found.coordinates)


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


def _found(column: ca.SX, symbols: Symbols, places: Sequence[str], joints: Sequence[str]) -> Found:
    """Return what occurs in the expression, in declared order."""
    occurring = _names(column)
    place_order = {name: k for k, name in enumerate(places)}
    joint_order = {name: k for k, name in enumerate(joints)}
    own_places = sorted(symbols.places_among(occurring), key=lambda name: place_order[name])
    own_joints = sorted(symbols.coordinates_among(occurring), key=lambda key: (joint_order[key[0]], key[1]))
    sides = [symbols.place(name) for name in own_places]
    held = [symbols.coordinate(*key) for key in own_joints]
    positions = [part for side in sides for part in (ca.vec(side.R), side.p)] + [pair.q for pair in held]
    speeds = [part for side in sides for part in (side.w, side.u)] + [pair.v for pair in held]
    empty = ca.SX(0, 1)
    return Found(tuple(own_places), tuple(own_joints), ca.vertcat(empty, *positions), ca.vertcat(empty, *speeds))


def _used(column: ca.SX, parameters: Sequence[Parameter]) -> list[ca.SX]:
    """Return the parameters that occur in the expression, in declared order."""
    occurring = _names(column)
    return [parameter.symbol for parameter in parameters if hash(parameter.symbol) in occurring]


def _check_symbols(column: ca.SX, found: Found, symbols: Symbols, used: list[ca.SX]) -> None:
    """Check that nothing occurs that the mechanism did not hand out."""
    known = _names(ca.vertcat(found.positions, found.speeds, symbols.time, *used))
    foreign = [name for key, name in _names(column).items() if key not in known]
    if foreign:
        few = ", ".join(f'"{name}"' for name in foreign[:4]) + (", ..." if len(foreign) > 4 else "")
        raise ModelError(
            f"the expression depends on {few}, which this mechanism does not know: write it in what its {_WORDS} return"
        )


def _check_constants(column: ca.SX) -> None:
    """Check that every number written in the expression is finite."""
    function = ca.Function("constants", ca.symvar(column), [column])
    for k in range(function.n_instructions()):
        if function.instruction_id(k) == ca.OP_CONST:
            value = function.instruction_constant(k)
            if not math.isfinite(value):
                raise ModelError(f"the expression has a number in it that is not finite, {value}")


def _check_rows(column: ca.SX, found: Found) -> None:
    """Check that each entry holds on to something: all of them on velocities if one does."""
    speeds = _names(found.speeds)
    moving = any(key in speeds for key in _names(column))
    wanted = speeds if moving else _names(found.positions)
    for k in range(column.shape[0]):
        if wanted.keys().isdisjoint(_names(column[k])):
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
    if not _names(speeds).keys().isdisjoint(_names(jacobian)) or not _is_affine(column, jacobian, speeds):
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
        if np.any(np.abs(given - tangent)[both] > 1e-9 * (1.0 + np.abs(given)[both])):
            return False
    return True


def _names(expression: ca.SX) -> dict[int, str]:
    """Return the names of the symbols in an expression by their hashes."""
    return {hash(symbol): symbol.name() for symbol in ca.symvar(expression)}
