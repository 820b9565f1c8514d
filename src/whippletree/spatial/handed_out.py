"""The symbols that a mechanism hands out: CasADi's, but for a truth value and a value, which they refuse in words.

`if m.time > 1` and `math.sin(angle)` are mistakes in a formula. CasADi tells the first in words of its own and answers
nan to the second. So what is handed out is of a type derived from CasADi's, and so is what operators, indices and
NumPy's functions make of it. What CasADi's functions make of it, casadi.sin(angle), is CasADi's own, as are all symbols
within the package: those of the type here end where a formula is read (`scalars`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import casadi as ca

from whippletree.foundation.formula_errors import SymbolTruthError, SymbolValueError

__all__ = ["FormulaSymbol", "handed_out"]


class FormulaSymbol(ca.SX):
    """A symbol, or a formula of symbols, whose errors name the way to write its truth or its value.

    >>> t = handed_out(ca.SX.sym("t"))
    >>> try:
    ...     2 * t + 1 > 3 and t < 2
    ... except SymbolTruthError as error:
    ...     print(str(error)[:26])
    (3<((2.*t)+1)) is a formul
    """

    def __bool__(self) -> bool:
        if self._is_number():
            return super().__bool__()
        raise SymbolTruthError(str(self))

    def __float__(self) -> float:
        if self._is_number():
            return float(super().__float__())
        raise SymbolValueError(str(self))

    def __int__(self) -> int:
        return int(float(self))

    def _is_number(self) -> bool:
        return bool(self.numel() == 1 and self.is_constant())

    @property
    def T(self) -> FormulaSymbol:
        """The transpose."""
        return handed_out(super().T)


def handed_out(formula: ca.SX) -> FormulaSymbol:
    """Let a formula that nobody else holds refuse a truth value and a value, and return it.

    >>> float(handed_out(ca.SX(2)) + 1)
    3.0
    """
    if type(formula) is ca.SX:
        formula.__class__ = FormulaSymbol
    return cast(FormulaSymbol, formula)


def _of_same_type(name: str) -> Callable[..., Any]:
    """Return a method of CasADi's whose result is a formula that is handed out."""
    plain = getattr(ca.SX, name)

    def method(*operands: Any, **options: Any) -> Any:
        return handed_out(plain(*operands, **options))

    method.__name__ = name
    return method


_BOTH_WAYS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_ONE_WAY = ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "getitem", "array_ufunc", "array_function", "copy")
for _each in (*_BOTH_WAYS, *(f"r{one}" for one in _BOTH_WAYS), *_ONE_WAY):
    if hasattr(ca.SX, f"__{_each}__"):
        setattr(FormulaSymbol, f"__{_each}__", _of_same_type(f"__{_each}__"))
