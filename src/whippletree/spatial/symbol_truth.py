"""The truth value of a symbol: there is none, and `if m.time > 1` says so in words that help.

CasADi's symbols are what users write formulas with, and what comes out of them is CasADi's own type again. So this puts
a better message in the place of CasADi's, for the whole process; everything else about its symbols stays as it is.
"""

from __future__ import annotations

import casadi as ca

from whippletree.errors import ModelError

__all__ = ["SymbolTruthError", "SymbolValueError"]


class SymbolTruthError(ModelError, RuntimeError):
    """A symbol was asked whether it is true: by `if`, `while`, `and`, `or`, `not`, `min` or `max`.

    >>> try:
    ...     bool(ca.SX.sym("t") > 1)
    ... except SymbolTruthError as error:
    ...     print(str(error)[:18])
    (1<t) is a formula
    """


_truth_of_number = ca.SX.__bool__


def _truth(value: ca.SX) -> bool:
    """Return the truth of an expression that is a plain number; refuse any other."""
    if value.numel() == 1 and value.is_constant():
        return bool(_truth_of_number(value))
    text = str(value)
    text = text if len(text) < 60 else f"{text[:57]}..."
    raise SymbolTruthError(
        f"{text} is a formula, of which Python cannot know whether it is true: its value is there only when a state is "
        f"computed. In place of `if`, write casadi.if_else(condition, a, b) or wt.pulse(x, begin, end); in place of "
        f"`and`, `or` and `not`, casadi.logic_and, logic_or and logic_not; in place of min and max, casadi.fmin and "
        f"fmax; or declare an event"
    )


class SymbolValueError(ModelError, TypeError, RuntimeError):
    """A symbol was asked for its value: by `float`, `int`, or a function of `math`.

    >>> import math
    >>> try:
    ...     math.sin(ca.SX.sym("t"))
    ... except SymbolValueError as error:
    ...     print(str(error)[:14])
    t is a formula
    """


_value_of_number = ca.SX.__float__


def _value(value: ca.SX) -> float:
    """Return the value of an expression that is a plain number; refuse any other, whose value would be nan."""
    if value.numel() == 1 and value.is_constant():
        return float(_value_of_number(value))
    text = str(value)
    raise SymbolValueError(
        f"{text if len(text) < 60 else f'{text[:57]}...'} is a formula, which has no value before a state is computed: "
        f"in place of math.sin and the like, write casadi.sin, which takes formulas"
    )


setattr(ca.SX, "__bool__", _truth)  # noqa: B010 - types do not allow it otherwise
setattr(ca.SX, "__float__", _value)  # noqa: B010
setattr(ca.SX, "__int__", lambda value: int(_value(value)))  # noqa: B010
