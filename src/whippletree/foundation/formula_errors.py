"""Messages for programs that ask for the truth or the value of a formula, which exist only at a state."""

from __future__ import annotations

from whippletree.errors import ModelError

__all__ = ["SymbolTruthError", "SymbolValueError", "asked_for_truth"]

_ADVICE = (
    "of which Python cannot know whether it is true: its value is there only when a state is computed. In place of "
    "`if`, write casadi.if_else(condition, a, b) or wt.pulse(x, begin, end); in place of `and`, `or` and `not`, "
    "casadi.logic_and, logic_or and logic_not; in place of min and max, casadi.fmin and fmax; or declare an event"
)


class SymbolTruthError(ModelError, RuntimeError):
    """A formula was asked whether it is true: by `if`, `while`, `and`, `or`, `not`, `min` or `max`.

    >>> print(str(SymbolTruthError("(1<t)"))[:18])
    (1<t) is a formula
    """

    def __init__(self, formula: str) -> None:
        super().__init__(f"{shortened(formula)} is a formula, {_ADVICE}")


class SymbolValueError(ModelError, TypeError, RuntimeError):
    """A formula was asked for its value: by `float`, `int`, or a function of `math`.

    >>> print(str(SymbolValueError("t"))[:14])
    t is a formula
    """

    def __init__(self, formula: str) -> None:
        super().__init__(
            f"{shortened(formula)} is a formula, which has no value before a state is computed: in place of math.sin "
            f"and the like, write casadi.sin, which takes formulas"
        )


def shortened(formula: str) -> str:
    """Return the text of a formula, or its beginning."""
    return formula if len(formula) < 60 else f"{formula[:57]}..."


def asked_for_truth(error: Exception) -> bool:
    """Tell whether CasADi raised this because one of its own symbols was asked whether it is true."""
    return type(error) is RuntimeError and "truth value of a CasADi" in str(error)
