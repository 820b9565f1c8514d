"""The symbols of a mechanism that occur in a written expression, and those that must not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Side
from whippletree.elements.drivers import Table, curve_of
from whippletree.elements.user_functions import NO_NUMBERS
from whippletree.errors import ModelError
from whippletree.model.symbols import MechanismSymbols
from whippletree.spatial.scalars import why_nan

__all__ = ["Found", "check_constants", "check_smooth", "check_symbols", "found_in", "names_in", "operations_of"]


class Found(NamedTuple):
    """The symbols found in an expression: places, coordinates and states, and the symbols of the first two."""

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


def found_in(
    occurring: Mapping[int, str], symbols: MechanismSymbols, places: Mapping[str, int], joints: Mapping[str, int]
) -> Found:
    """Return the symbols that occur in an expression, places and joints in the order given, states by name.

    >>> known = MechanismSymbols()
    >>> found_in(names_in(known.coordinate("A", 1).v + known.time), known, {}, {"A": 0}).coordinates
    (('A', 1),)
    """
    own_places = sorted(symbols.places_among(occurring), key=places.__getitem__)
    own_joints = sorted(symbols.coordinates_among(occurring), key=lambda key: (joints[key[0]], key[1]))
    own_states = sorted(symbols.states_among(occurring))
    held = [symbols.coordinate(*key) for key in own_joints]
    return Found(
        tuple(own_places),
        tuple(own_joints),
        tuple(own_states),
        tuple(symbols.place(name) for name in own_places),
        _stacked([pair.q for pair in held]),
        _stacked([pair.v for pair in held]),
        _stacked([symbols.state(name) for name in own_states]),
    )


def _stacked(symbols: Sequence[ca.SX]) -> ca.SX:
    """Return single symbols as a column."""
    if len(symbols) == 1:
        return symbols[0]
    return ca.SX(ca.vertcat(*symbols)) if symbols else NO_NUMBERS


def check_symbols(
    occurring: Mapping[int, str], symbols: MechanismSymbols, others: Iterable[ca.SX], what: str, words: str
) -> None:
    """Check that nothing occurs but a mechanism's symbols, time and some others; `words` say where they come from.

    >>> x = ca.SX.sym("x")
    >>> check_symbols(names_in(2 * x), MechanismSymbols(), [x], "the expression", ".parameter")
    """
    known = {hash(one) for one in (symbols.time, *others)}
    foreign = [name for key, name in occurring.items() if key not in known and not symbols.owns(key)]
    if foreign:
        few = ", ".join(f'"{name}"' for name in foreign[:4]) + (", ..." if len(foreign) > 4 else "")
        raise ModelError(
            f"{what} depends on {few}, which this mechanism does not know: write it in what its {words} return"
        )


def check_constants(operations: ca.Function, what: str) -> None:
    """Check that every number written in an expression, given by its operations, is finite.

    >>> check_constants(operations_of(ca.SX.sym("x") + 2), "the expression")
    """
    for k in range(operations.n_instructions()):
        if operations.instruction_id(k) == ca.OP_CONST:
            value = operations.instruction_constant(k)
            if not math.isfinite(value):
                raise ModelError(f"{what} has a number in it that is not finite, {value}{why_nan(value)}")


def check_smooth(operations: ca.Function, what: str, *, of_velocity: bool) -> None:
    """Check that no table in an expression has jumps, nor corners if the expression is one of positions.

    >>> check_smooth(operations_of(ca.SX.sym("x") + 2), "the expression", of_velocity=False)
    """
    nodes = operations.instructions_sx()
    for k in range(operations.n_instructions()):
        curve = curve_of(nodes[k].which_function()) if operations.instruction_id(k) == ca.OP_CALL else None
        kind = curve.kind if isinstance(curve, Table) else ""
        if kind == "hold" or (kind == "linear" and not of_velocity):
            jumping = "velocities" if of_velocity or kind == "linear" else "positions"
            smoother = '"linear" or "pchip"' if of_velocity else '"pchip", or a Spline'
            raise ModelError(
                f'{what} has a table of kind "{kind}", at whose points {jumping} would have to jump: '
                f"take kind={smoother}"
            )


def operations_of(expression: ca.SX) -> ca.Function:
    """Return the operations of an expression one by one, as a function of nothing with all its symbols free.

    >>> operations_of(ca.SX.sym("x") + 1).n_instructions()
    4
    """
    return ca.Function("operations", [], [expression], {"allow_free": True})


def names_in(expression: ca.SX | ca.Function) -> dict[int, str]:
    """Return the names of the symbols in an expression, or in its operations, by their hashes.

    >>> list(names_in(ca.SX.sym("x") + 1).values())
    ['x']
    """
    operations = expression if isinstance(expression, ca.Function) else operations_of(expression)
    return {hash(symbol): symbol.name() for symbol in operations.free_sx()}
