"""Reading the formulas of forces and states, which are written as expressions in a mechanism's symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Side
from whippletree.elements.forces import ElementState, Formula
from whippletree.errors import ModelError
from whippletree.model.description import ForceUse, Parameter
from whippletree.model.expression_symbols import check_constants, check_symbols, found_in, names_in, parameters_in
from whippletree.model.symbols import MechanismSymbols
from whippletree.spatial.scalars import read_column, scalar

__all__ = ["FormulaContext", "Read", "element_rates", "read_formula"]

_WORDS = ".coordinate, .rate, .position, .rotation, .velocity, .time, .state and .parameter"


class FormulaContext(NamedTuple):
    """What an expression can be about: symbols, parameters, and places and joints in declared order."""

    symbols: MechanismSymbols
    parameters: Sequence[Parameter]
    places: Sequence[str]
    joints: Sequence[str]


class Read(NamedTuple):
    """A formula, and what it reads."""

    formula: Formula
    places: tuple[str, ...]
    coordinates: tuple[tuple[str, int], ...]
    states: tuple[str, ...]


def read_formula(
    expression: object, count: int, what: str, context: FormulaContext, *, of_length: bool = False
) -> Read:
    """Read so many numbers or expressions; `of_length` tells that the symbols of elongation may occur.

    >>> known = MechanismSymbols()
    >>> context = FormulaContext(known, (), (), ["A"])
    >>> read_formula(-2 * known.coordinate("A", 0).q, 1, "effort", context).coordinates
    (('A', 0),)
    """
    column = _column(expression, count, what)
    symbols = context.symbols
    found = found_in(column, symbols, context.places, context.joints)
    used = parameters_in(column, context.parameters)
    own = ca.vertcat(symbols.elongation, symbols.elongation_rate) if of_length else ca.SX(0, 1)
    if not of_length and not names_in(ca.vertcat(symbols.elongation, symbols.elongation_rate)).keys().isdisjoint(
        names_in(column)
    ):
        raise ModelError(f"{what} depends on .elongation, which is a spring's own: it belongs in the law of a spring")
    words = _WORDS.replace(" and", ", .elongation, .elongation_rate and") if of_length else _WORDS
    known = ca.vertcat(found.positions, found.speeds, found.z, own, symbols.time, *used)
    check_symbols(column, known, what, words)
    check_constants(column, what)
    seen = ElementState(found.sides, found.q, found.v, found.z, symbols.time)
    formula = Formula.written(column, seen, own, used)
    return Read(formula, found.places, found.coordinates, found.states)


def element_rates(use: ForceUse, parameters: Sequence[Parameter]) -> list[Formula]:
    """Return the formulas of the rates of an element's own states, in what the element is on.

    >>> from whippletree.elements.forces import TorsionSpring
    >>> element_rates(ForceUse("return", TorsionSpring(2.0, 0.0, 0.1), (), (("A", 0),), ()), ())
    []
    """
    if not use.force.state_labels:
        return []
    sides = tuple(Side(ca.SX.sym("R", 3, 3), *(ca.SX.sym(letter, 3) for letter in "pwu")) for _ in use.sides)
    q, v = (ca.SX.sym(letter, len(use.coordinates)) for letter in "qv")
    seen = ElementState(sides, q, v, ca.SX.sym("z", len(use.states)), ca.SX.sym("t"))
    rates = ca.densify(ca.SX(use.force.rates(seen)))
    if rates.shape != (len(use.force.state_labels), 1):
        raise ModelError(f"{use.force.kind}.rates must return one entry for each of state_labels, got {rates.shape}")
    used = parameters_in(rates, parameters)
    return [Formula.written(rates[k], seen, ca.SX(0, 1), used) for k in range(rates.shape[0])]


def _column(expression: object, count: int, what: str) -> ca.SX:
    """Return numbers and expressions as a dense column."""
    if issubclass(type(expression), ca.MX):
        raise ModelError(f"{what} is of CasADi's type MX: write it in the mechanism's symbols, {_WORDS}")
    read = (scalar(expression, what),) if count == 1 else read_column(expression, count, what)
    return ca.densify(ca.SX(ca.vertcat(*read)))
