"""What a user writes as an expression: an effort, a load, a force law, the rate of a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import casadi as ca

from whippletree.elements.closures.base import Side
from whippletree.elements.declared import Declared
from whippletree.elements.forces.base import Situation
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import cross

__all__ = ["Formula"]


class Inputs(NamedTuple):
    """The inputs of a formula: sides as R (9, n), p, w and u (3, n); the rest are columns."""

    R: ca.SX
    p: ca.SX
    w: ca.SX
    u: ca.SX
    q: ca.SX
    v: ca.SX
    z: ca.SX
    more: ca.SX
    t: ca.SX
    parameters: ca.SX


_SPEEDS = ("w", "u", "v")


@dataclass(frozen=True, eq=False)
class Formula(Declared):
    """A written column; made by `written`.

    `function` computes it from the sides' R (9, n), p, w and u (3, n), the joint coordinates q and rates v, auxiliary
    states z, further arguments of the element's own, time and the parameters, which are `arguments`. It is written in
    symbols of its own, so that it is the same for the same text, whatever the symbols of the text were called.

    >>> q, v = ca.SX.sym("q"), ca.SX.sym("v")
    >>> none = ca.SX(0, 1)
    >>> law = Formula.written(-3 * q, Situation((), q, v, none, ca.SX.sym("t")), none, ())
    >>> law.value(Situation((), ca.SX(2), ca.SX(0), none, ca.SX(0)))
    SX(-6)
    """

    function: ca.Function
    arguments: tuple[Scalar, ...] = ()

    @classmethod
    def written(cls, expression: ca.SX, seen: Situation, more: ca.SX, parameters: Sequence[ca.SX]) -> Self:
        """Return the formula of an expression in these symbols, none of which is repeated."""
        symbols = _inputs(seen, more, parameters)
        given = ca.Function("given", list(symbols), [ca.densify(expression)])
        own = _symbols(symbols)
        return cls(ca.Function("formula", list(own), [ca.densify(given(*own))]), tuple(parameters))

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(self.function.size1_out(0))

    @property
    def timed(self) -> bool:
        """Whether time is in it."""
        return "t" in self._used

    @property
    def positional(self) -> bool:
        """Whether it depends on positions, time and parameters only."""
        return not self._used & {*_SPEEDS, "z", "more"}

    @property
    def own(self) -> bool:
        """Whether it depends on nothing but the element's own arguments and parameters."""
        return self._used <= {"more", "parameters"}

    def value(self, seen: Situation, more: ca.SX | None = None) -> ca.SX:
        """Return the column in a situation."""
        inputs = _inputs(seen, ca.SX(0, 1) if more is None else more, self.arguments)
        return ca.densify(ca.SX(self.function(*inputs)))

    def rate(self, seen: Situation) -> ca.SX:
        """Return how fast a positional column changes in a situation: R' = w x R, p' = u, q' = v, t' = 1."""
        return ca.densify(ca.SX(self._rate(*_inputs(seen, ca.SX(0, 1), self.arguments))))

    @property
    def text(self) -> str:
        """The function, serialised."""
        return str(self.function.serialize())

    def entries(self) -> tuple[Scalar, ...]:
        """Return the parameters."""
        return self.arguments

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the formula with this function and these parameters."""
        return cls(ca.Function.deserialize(text), entries)

    @cached_property
    def _rate(self) -> ca.Function:
        x = self._fresh()
        turned = [cross(x.w[:, k], ca.reshape(x.R[:, k], 3, 3)) for k in range(x.R.shape[1])]
        positions = ca.vertcat(ca.vec(x.R), ca.vec(x.p), x.q, x.t)
        flow = ca.vertcat(*map(ca.vec, turned), ca.vec(x.u), x.v, 1)
        return ca.Function("rate", list(x), [ca.densify(ca.jtimes(self.function(*x), positions, flow))])

    def _fresh(self) -> Inputs:
        """Return new symbols for the function's inputs."""
        return _symbols(Inputs(*(ca.SX(*self.function.size_in(k)) for k in range(len(Inputs._fields)))))

    @cached_property
    def _used(self) -> set[str]:
        """The inputs that the function depends on, be it by a step."""
        symbols = self._fresh()
        found = {hash(symbol) for symbol in ca.symvar(ca.SX(self.function(*symbols)))}
        names = zip(Inputs._fields, symbols, strict=True)
        return {name for name, given in names if any(hash(symbol) in found for symbol in ca.symvar(given))}


def _symbols(like: Inputs) -> Inputs:
    """Return new symbols of the same shapes."""
    return Inputs(*(ca.SX.sym(name, *part.shape) for name, part in zip(Inputs._fields, like, strict=True)))


def _inputs(seen: Situation, more: ca.SX, parameters: Sequence[Scalar]) -> Inputs:
    """Return a situation as a formula's inputs."""
    column = ca.vertcat(ca.SX(0, 1), *map(ca.SX, parameters))
    R, p, w, u = _arrays(seen.sides)
    return Inputs(R, p, w, u, seen.q, seen.v, seen.z, more, seen.t, column)


def _arrays(sides: Sequence[Side]) -> list[ca.SX]:
    """Return R (9, n), p, w and u (3, n) of the sides."""
    rows = {"R": 9, "p": 3, "w": 3, "u": 3}
    return [
        ca.horzcat(ca.SX(size, 0), *(ca.vec(ca.densify(getattr(side, name))) for side in sides))
        for name, size in rows.items()
    ]
