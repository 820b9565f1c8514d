"""The parameters of a mechanism, and expressions in them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

import casadi as ca

from whippletree.errors import ModelError
from whippletree.model.description import Parameter
from whippletree.spatial.scalars import Scalar, expressions, symbol

__all__ = ["Parameters"]


class Parameters:
    """The parameters declared so far, in order.

    >>> known = Parameters()
    >>> m = known.add("m", 2.0)
    >>> known.values_of([3 * m, 1.0], "mass")
    [6.0, 1.0]
    """

    def __init__(self, parameters: Iterable[Parameter] = ()) -> None:
        self._by_name = {parameter.name: parameter for parameter in parameters}
        self._by_symbol = {hash(parameter.symbol): parameter for parameter in self._by_name.values()}
        self._order = {key: k for k, key in enumerate(self._by_symbol)}

    @property
    def names(self) -> Collection[str]:
        """The names declared so far."""
        return self._by_name.keys()

    def add(self, name: str, value: float) -> ca.SX:
        """Declare a parameter and return its symbol."""
        own = symbol(name)
        self._order[hash(own)] = len(self._order)
        self._by_name[name] = self._by_symbol[hash(own)] = Parameter(name, value, own)
        return own

    def all(self) -> tuple[Parameter, ...]:
        """Return the parameters in order."""
        return tuple(self._by_name.values())

    def among(self, found: Iterable[int]) -> list[ca.SX]:
        """Return the symbols of the parameters that are among those of an expression, given by hashes, in order."""
        own = sorted((key for key in found if key in self._order), key=self._order.__getitem__)
        return [self._by_symbol[key].symbol for key in own]

    def values_of(self, entries: Iterable[Scalar], what: str) -> list[float]:
        """Return the entries at the parameters' values, if they are in these parameters and finite."""
        listed = list(entries)
        found = expressions(listed)
        values = iter(self._evaluated(ca.vertcat(*found), what) if found else [])
        # not empty: one for each expression
        return [entry if isinstance(entry, float) else next(values) for entry in listed]

    def check(self, entries: Iterable[Scalar], what: str) -> None:
        """Check that entries are in this mechanism's parameters and finite at their values."""
        found = expressions(entries)
        if found:
            self._evaluated(ca.vertcat(*found), what)

    def _evaluated(self, column: ca.SX, what: str) -> list[float]:
        symbols = ca.symvar(column)
        foreign = [symbol.name() for symbol in symbols if hash(symbol) not in self._by_symbol]
        if foreign:
            raise ModelError(
                f'{what} depends on "{foreign[0]}", which is not a parameter of this mechanism: '
                f"use what its .parameter(name, value) returned"
            )
        values = [self._by_symbol[hash(symbol)].value for symbol in symbols]
        result = ca.Function("values", [ca.vertcat(*symbols)], [ca.densify(column)])(values).nonzeros()
        if not all(map(math.isfinite, result)):
            raise ModelError(f"{what} is not finite at the parameters' values, got {result}")
        return list(result)
