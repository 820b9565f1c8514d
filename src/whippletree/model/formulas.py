"""Reading the formulas of forces and states, which are written as expressions in a mechanism's symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Side
from whippletree.elements.forces import ElementState, Formula
from whippletree.elements.user_functions import NO_NUMBERS
from whippletree.errors import ModelError
from whippletree.model.description import ForceUse
from whippletree.model.expression_symbols import check_constants, check_symbols, found_in, names_in, operations_of
from whippletree.model.parameters import Parameters
from whippletree.model.symbols import MechanismSymbols
from whippletree.spatial.scalars import read_column, scalar
from whippletree.symbolic.arithmetic import copied

__all__ = ["FormulaContext", "Read", "element_rates", "read_formula"]

_WORDS = ".coordinate, .rate, .position, .rotation, .velocity, .time, .state and .parameter"


class FormulaContext(NamedTuple):
    """The vocabulary of an expression: symbols, parameters, and places and joints with their declared order."""

    symbols: MechanismSymbols
    parameters: Parameters
    places: Mapping[str, int]
    joints: Mapping[str, int]


class Read(NamedTuple):
    """A formula, and the quantities that it reads."""

    formula: Formula
    places: tuple[str, ...]
    coordinates: tuple[tuple[str, int], ...]
    states: tuple[str, ...]
    reactions: tuple[str, ...] = ()


def read_formula(
    expression: object,
    count: int,
    what: str,
    context: FormulaContext,
    *,
    of_length: bool = False,
    of_reactions: bool = False,
) -> Read:
    """Read so many numbers or expressions; `of_length` and `of_reactions` tell that symbols of these may occur.

    >>> known = MechanismSymbols()
    >>> context = FormulaContext(known, Parameters(), {}, {"A": 0})
    >>> read_formula(-2 * known.coordinate("A", 0).q, 1, "effort", context).coordinates
    (('A', 0),)
    """
    column, symbols = _column(expression, count, what), context.symbols
    operations = operations_of(column)
    occurring = names_in(operations)
    found = found_in(occurring, symbols, context.places, context.joints)
    used = context.parameters.among(occurring)
    lengths = (symbols.elongation, symbols.elongation_rate)
    if not of_length and any(hash(one) in occurring for one in lengths):
        raise ModelError(f"{what} depends on .elongation, which is a spring's own: it belongs in the law of a spring")
    joints = sorted(symbols.reactions_among(occurring), key=context.joints.__getitem__)
    if joints and not of_reactions:
        raise ModelError(
            f'{what} depends on the .reaction of "{joints[0]}": that belongs in the effort of an actuator or in a load'
        )
    transmitted = [symbols.reaction(joint) for joint in joints]
    words = _WORDS.replace(" and", ", .elongation, .elongation_rate and") if of_length else _WORDS
    check_symbols(
        occurring, symbols, [*used, *lengths, *(one for r in transmitted for one in ca.symvar(r))], what, words
    )
    check_constants(operations, what)
    seen = ElementState(found.sides, found.q, found.v, found.z, symbols.time)
    more = ca.vertcat(*lengths) if of_length else ca.vertcat(*transmitted) if transmitted else NO_NUMBERS
    formula = Formula.written(column, seen, more, used)
    return Read(formula, found.places, found.coordinates, found.states, tuple(joints))


def element_rates(use: ForceUse, parameters: Parameters) -> list[Formula]:
    """Return the formulas of the rates of an element's own states, in the quantities that the element is on.

    >>> from whippletree.elements.forces import TorsionSpring
    >>> element_rates(ForceUse("return", TorsionSpring(2.0, 0.0, 0.1), (), (("A", 0),), ()), Parameters())
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
    used = parameters.among(names_in(rates))
    return [Formula.written(rates[k], seen, ca.SX(0, 1), used) for k in range(rates.shape[0])]


def _column(expression: object, count: int, what: str) -> ca.SX:
    """Return numbers and expressions as a dense column, which is not the user's object: that may be changed later."""
    if issubclass(type(expression), ca.MX):
        raise ModelError(f"{what} is of CasADi's type MX: write it in the mechanism's symbols, {_WORDS}")
    if callable(expression):
        raise ModelError(
            f"{what} is a function: call it with the mechanism's symbols and give the result, as in f(m.time)"
        )
    if count == 1:
        read = scalar(expression, what)
        return copied(read) if isinstance(read, ca.SX) else ca.SX(read)
    return ca.densify(ca.SX(ca.vertcat(*read_column(expression, count, what))))
