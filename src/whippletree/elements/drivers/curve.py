"""Curves through given points, piece by piece: the base of splines and tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, overload

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import ModelError
from whippletree.foundation.arrays import Array
from whippletree.foundation.user_frames import user_facing
from whippletree.programs.lookup import LookupTable, lookup, picked, table_of
from whippletree.spatial.scalars import masked, shown

__all__ = ["CurveByPieces", "chosen", "cubics", "curve_of", "points"]

_PIECES: dict[tuple[CurveByPieces, int], tuple[ca.SX, ca.SX]] = {}
"""Pieces at expressions, which are kept with them: equal curves of one expression are one call in a trace."""

_KEPT = 256
"""Expressions of curves that are kept for another use of the same argument; the oldest go first."""


@user_facing
class CurveByPieces(ABC):
    """A polynomial between each two knots: a row of its table has an origin and the coefficients from there.

    A kind of curve is a frozen dataclass of places, values and one of its `choices`, and says what its pieces are.
    `word` is what messages and files call it.
    """

    word: ClassVar[str]
    choices: ClassVar[tuple[str, ...]]

    @property
    def _period(self) -> float:
        """After how much it repeats itself; zero if it does not."""
        return 0.0

    @abstractmethod
    def _pieces(self) -> LookupTable:
        """Return the knots, and for each stretch its origin and coefficients."""

    def _keep(self, **fields: object) -> None:
        """Store the arguments, of which all pieces must be finite."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if not np.isfinite(self.table.numbers).all():
            raise ModelError(f"the {self.word} through these points is not finite: they are too close or too far apart")

    @property
    def given(self) -> dict[str, Any]:
        """The arguments that it was made from, by name."""
        numbers = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: [*value] if isinstance(value, tuple) else value for name, value in numbers.items()}

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(self.given.values())

    @overload
    def __call__(self, x: ca.SX) -> ca.SX: ...
    @overload
    def __call__(self, x: float) -> float: ...
    @overload
    def __call__(self, x: Sequence[float] | Array) -> Array: ...
    def __call__(self, x: ca.SX | ArrayLike) -> object:
        """Return the value there: of an expression an expression, of numbers numbers."""
        if isinstance(x, ca.SX):
            return self._expression(x)
        if isinstance(x, ca.MX):
            raise ModelError(f"a {self.word} takes expressions of CasADi's type SX, not MX")
        at = _numbers(x, f"what a {self.word} is called with")
        table = self.table
        within = at - self._period * np.floor((at - table.knots[0]) / self._period) if self._period else at
        rows = table.entries[np.searchsorted(table.knots, within, "right")]
        found = np.array(_value([*np.moveaxis(rows, -1, 0)], within))
        return float(found) if found.ndim == 0 else found

    @cached_property
    def table(self) -> LookupTable:
        """The knots, and for each stretch its origin and the coefficients of its polynomial."""
        with np.errstate(all="ignore"):
            return self._pieces()

    def _expression(self, x: ca.SX) -> ca.SX:
        if self._period:
            x = x - self._period * ca.floor((x - self.table.knots[0]) / self._period)
        return ca.SX(_value(ca.vertsplit(self.piece(x)), x))

    def piece(self, x: ca.SX) -> ca.SX:
        """Return origin and coefficients of the piece at an expression, which a periodic spline takes as it is.

        >>> from whippletree.elements.drivers import Spline
        >>> Spline([0.0, 1.0], [2.0, 5.0]).piece(ca.SX.sym("t")).shape
        (5, 1)
        """
        if x.shape != (1, 1):
            raise ModelError(f"a {self.word} takes one expression, not one of shape {x.shape}")
        key = self, hash(x)
        found = _PIECES.get(key)
        if found is None:
            while len(_PIECES) >= _KEPT:
                _PIECES.pop(next(iter([*_PIECES])), None)  # not empty: it is full
            found = _PIECES[key] = x, picked(self._lookup, x)
        return found[1]

    @cached_property
    def _lookup(self) -> ca.Function:
        return lookup(self.table)


@user_facing
def curve_of(function: ca.Function) -> CurveByPieces | None:
    """Return the curve that a function which is called in an expression looks up, if it does so.

    >>> from whippletree.elements.drivers import Spline
    >>> curve_of(lookup(Spline([0, 1, 3], [2, 0, 1]).table))
    Spline
      times   0, 1, 3
      values  2, 0, 1
      ends    natural
    """
    if function.name() != "lookup":
        return None
    table = table_of(function)
    kinds: list[Any] = CurveByPieces.__subclasses__()
    for kind in kinds if table.entries.shape[1] > 1 else ():
        for choice in kind.choices:
            try:
                found: CurveByPieces = kind(table.knots, table.entries[1:, 1], choice)
            except ModelError:
                continue
            if found.table.numbers.tobytes() == table.numbers.tobytes():
                return found
    return None


def points(x: ArrayLike, y: ArrayLike, words: tuple[str, str, str]) -> tuple[Array, Array]:
    """Return the points of a curve; the words are those for it, for its places and for its values.

    >>> points([0, 1], [3, 4], ("spline", "times", "values"))
    (array([0., 1.]), array([3., 4.]))
    """
    curve, places, values = words
    at, found = _numbers(x, f"the {places} of a {curve}", ndim=1), _numbers(y, f"the {values} of a {curve}", ndim=1)
    if len(at) != len(found):
        raise ModelError(
            f"a {curve} has as many {values} as {places}, but there are {len(at)} {places} and {len(found)} {values}"
        )
    back = np.flatnonzero(np.diff(at) <= 0)
    if back.size:
        i = int(back[0])
        raise ModelError(f"the {places} of a {curve} must increase, but {at[i + 1]:g} comes after {at[i]:g}")
    return at, found


def chosen(given: str, what: str, among: Sequence[str]) -> None:
    """Check that something is one of some words.

    >>> chosen("natural", "ends", ["natural", "clamped"])
    """
    if not isinstance(given, str) or given not in among:
        raise ModelError(f"{what} must be one of {', '.join(among)}, got {shown(given)}")


def cubics(x: Array, y: Array, slopes: Array) -> LookupTable:
    """Return the cubics through points with given slopes, which go straight on beyond the ends.

    >>> cubics(np.array([0.0, 2.0]), np.array([0.0, 4.0]), np.array([0.0, 4.0])).entries[1].tolist()
    [0.0, 0.0, 0.0, 1.0, 0.0]
    """
    h = np.diff(x)
    d = np.diff(y) / h
    c2 = (3 * d - 2 * slopes[:-1] - slopes[1:]) / h
    c3 = (slopes[:-1] + slopes[1:] - 2 * d) / h**2
    pieces = np.column_stack([x[:-1], y[:-1], slopes[:-1], c2, c3])
    below, above = [x[0], y[0], slopes[0], 0, 0], [x[-1], y[-1], slopes[-1], 0, 0]
    return LookupTable(x, np.vstack([below, pieces, above]))


def _value(row: Sequence[Any], x: Any) -> Any:
    """Return the value at x of a polynomial, by its origin and its coefficients."""
    origin, *lower, value = row
    for coefficient in reversed(lower):
        value = coefficient + (x - origin) * value
    return value


def _numbers(given: ArrayLike, what: str, ndim: int | None = None) -> Array:
    try:
        array = np.array(None) if masked(given) else np.asarray(given)
    except Exception:
        array = np.array(None)
    if array.dtype.kind not in "fiu" or ndim not in (None, array.ndim):
        raise ModelError(f"{what} must be numbers{' in a row' if ndim else ''}, got {shown(given)}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what} must be finite")
    return array.astype(np.float64)
