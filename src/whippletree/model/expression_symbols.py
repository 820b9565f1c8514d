"""What occurs in an expression that is written in a mechanism's symbols, and what must not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Side
from whippletree.errors import ModelError
from whippletree.model.description import Parameter
from whippletree.model.symbols import MechanismSymbols

__all__ = ["Found", "check_constants", "check_symbols", "found_in", "names_in", "parameters_in"]


class Found(NamedTuple):
    """What occurs in an expression: places, coordinates and states, and the symbols of the first two."""

    places: tuple[str, ...]
    coordinates: tuple[tuple[str, int], ...]
    states: tuple[str, ...]
    sides: tuple[Side, ...]
    q: ca.SX
    v: ca.SX
    z: ca.SX

    @property
    def positions(self) -> ca.SX:
        """The symbols of positions."""
        parts = [part for side in self.sides for part in (ca.vec(side.R), side.p)]
        return ca.vertcat(ca.SX(0, 1), *parts, self.q)

    @property
    def speeds(self) -> ca.SX:
        """The symbols of velocities and rates."""
        return ca.vertcat(ca.SX(0, 1), *(part for side in self.sides for part in (side.w, side.u)), self.v)


def found_in(column: ca.SX, symbols: MechanismSymbols, places: Sequence[str], joints: Sequence[str]) -> Found:
    """Return what occurs in an expression, places and joints in the order given, states by name.

    >>> known = MechanismSymbols()
    >>> found_in(known.coordinate("A", 1).v + known.time, known, (), ["A"]).coordinates
    (('A', 1),)
    """
    occurring = names_in(column)
    own_places = sorted(symbols.places_among(occurring), key=places.index)
    own_joints = sorted(symbols.coordinates_among(occurring), key=lambda key: (joints.index(key[0]), key[1]))
    own_states = sorted(symbols.states_among(occurring))
    held = [symbols.coordinate(*key) for key in own_joints]
    empty = ca.SX(0, 1)
    return Found(
        tuple(own_places),
        tuple(own_joints),
        tuple(own_states),
        tuple(symbols.place(name) for name in own_places),
        ca.vertcat(empty, *(pair.q for pair in held)),
        ca.vertcat(empty, *(pair.v for pair in held)),
        ca.vertcat(empty, *(symbols.state(name) for name in own_states)),
    )


def parameters_in(column: ca.SX, parameters: Sequence[Parameter]) -> list[ca.SX]:
    """Return the symbols of the parameters that occur in an expression, in declared order.

    >>> parameters_in(ca.SX(2), ())
    []
    """
    occurring = names_in(column)
    return [parameter.symbol for parameter in parameters if hash(parameter.symbol) in occurring]


def check_symbols(column: ca.SX, known: ca.SX, what: str, words: str) -> None:
    """Check that nothing occurs that is not known; `words` say where symbols come from.

    >>> x = ca.SX.sym("x")
    >>> check_symbols(2 * x, x, "the expression", ".parameter")
    """
    listed = names_in(known)
    foreign = [name for key, name in names_in(column).items() if key not in listed]
    if foreign:
        few = ", ".join(f'"{name}"' for name in foreign[:4]) + (", ..." if len(foreign) > 4 else "")
        raise ModelError(
            f"{what} depends on {few}, which this mechanism does not know: write it in what its {words} return"
        )


def check_constants(column: ca.SX, what: str) -> None:
    """Check that every number written in an expression is finite.

    >>> check_constants(ca.SX.sym("x") + 2, "the expression")
    """
    function = ca.Function("constants", ca.symvar(column), [column])
    for k in range(function.n_instructions()):
        if function.instruction_id(k) == ca.OP_CONST:
            value = function.instruction_constant(k)
            if not math.isfinite(value):
                raise ModelError(f"{what} has a number in it that is not finite, {value}")


def names_in(expression: ca.SX) -> dict[int, str]:
    """Return the names of the symbols in an expression by their hashes.

    >>> list(names_in(ca.SX.sym("x") + 1).values())
    ['x']
    """
    return {hash(symbol): symbol.name() for symbol in ca.symvar(expression)}
