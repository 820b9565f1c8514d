"""Expressions of users, kept as functions in symbols of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import casadi as ca

from whippletree.elements.declaration import Declared
from whippletree.programs.function_forms import ExpressionForm, form_of_expression
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import cross, dense

if TYPE_CHECKING:
    from whippletree.elements.closures.base import Side

__all__ = ["NO_NUMBERS", "UserFunction", "Written", "flow", "side_arrays"]

NO_NUMBERS = ca.SX(0, 1)
"""An empty column, made once: making one takes CasADi as long as ten operations. It is never written to."""


class Written(NamedTuple):
    """A column as it was written, in symbols that stand for the inputs of a function and none of which is repeated.

    >>> x = ca.SX.sym("my x")
    >>> Written("twice", 2 * x, (x,)).function(("x",))
    Function(twice:(i0)->(o0) SXFunction)
    """

    name: str
    expression: ca.SX
    symbols: Sequence[ca.SX]

    def function(self, inputs: Sequence[str]) -> ca.Function:
        """Return the function of the column in symbols of its own, which are called as its inputs are."""
        given = ca.Function("given", list(self.symbols), [dense(self.expression)])
        pairs = zip(inputs, self.symbols, strict=True)
        own = [ca.SX.sym(each, *symbol.shape) if symbol.numel() else symbol for each, symbol in pairs]
        return ca.Function(self.name, own, [dense(*given.call(own))])


@dataclass(frozen=True, eq=False)
class UserFunction(Declared):
    """A written column, computed by `function` from the quantities that `inputs` names; parameters come last.

    It comes from what a user wrote, or from a text in which the function was kept.
    """

    inputs: ClassVar[tuple[str, ...]]

    source: Written | ca.Function
    arguments: tuple[Scalar, ...] = ()

    @cached_property
    def function(self) -> ca.Function:
        """The function, in symbols of its own: the same for the same text, whatever its symbols were called there.

        It is made when it is first asked for: whoever reads thousands of laws need not wait for their functions.
        """
        return self.source.function(self.inputs) if isinstance(self.source, Written) else self.source

    def __reduce__(self) -> tuple[object, ...]:
        """Travel with the function: symbols of CasADi cannot be pickled."""
        return type(self), (self.function, self.arguments)

    @property
    def text(self) -> str:
        """The function, serialised."""
        return str(self.function.serialize())

    def entries(self) -> tuple[Scalar, ...]:
        """Return the parameters."""
        return self.arguments

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return a function from its text and its parameters."""
        return cls(ca.Function.deserialize(text), entries)

    def numbers_apart(self) -> Self:
        """Return the same with the numbers that are written in it as further parameters.

        >>> x, none = ca.SX.sym("x"), ca.SX(0, 1)
        >>> class Law(UserFunction):
        ...     inputs = ("x", "parameters")
        >>> laws = [Law(Written("law", a * x, (x, none))).numbers_apart() for a in (3.0, 5.0)]
        >>> laws[0].text == laws[1].text, [float(law.arguments[0]) for law in laws]
        (True, [3.0, 5.0])
        """
        symbols = self.fresh()
        form = form_of_expression(ca.vec(ca.SX(self.function(*symbols))), ca.vertcat(*map(ca.vec, symbols)))
        shapes = tuple(symbol.shape for symbol in symbols)
        return replace(self, source=_law(form, shapes), arguments=(*self.arguments, *map(float, form.numbers)))

    def fresh(self) -> list[ca.SX]:
        """Return new symbols for the function's inputs."""
        return [ca.SX.sym(name, *self.function.size_in(k)) for k, name in enumerate(self.inputs)]

    @cached_property
    def used(self) -> set[str]:
        """The inputs that the function depends on, be it by a step."""
        symbols = self.fresh()
        found = {hash(symbol) for symbol in ca.symvar(ca.SX(self.function(*symbols)))}
        names = zip(self.inputs, symbols, strict=True)
        return {name for name, given in names if any(hash(symbol) in found for symbol in ca.symvar(given))}


@lru_cache(maxsize=256)
def _law(form: ExpressionForm, shapes: tuple[tuple[int, int], ...]) -> ca.Function:
    """Return a form as a function whose last input has the form's numbers behind the parameters."""
    *given, parameters = [ca.SX.sym("x", *shape) for shape in shapes]
    numbers = ca.SX.sym("number", len(form.numbers))
    symbols = ca.SX(ca.vertcat(*map(ca.vec, given), parameters))
    found = form.over(ca.vertsplit(symbols), ca.vertsplit(numbers) if form.numbers else [])
    return ca.Function("law", [*given, ca.SX(ca.vertcat(ca.SX(0, 1), parameters, numbers))], [found])


def side_arrays(sides: Sequence[Side]) -> list[ca.SX]:
    """Return R (9, n), p, w and u (3, n) of the sides."""
    if not sides:
        return [*_NO_SIDES]
    return [ca.horzcat(*(ca.vec(ca.densify(getattr(side, name))) for side in sides)) for name in "Rpwu"]


_NO_SIDES = tuple(ca.SX(size, 0) for size in (9, 3, 3, 3))


def flow(R: ca.SX, p: ca.SX, w: ca.SX, u: ca.SX, q: ca.SX, v: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return positions and time as one column, and how fast they change: R' = w x R, p' = u, q' = v and t' = 1."""
    turned = [cross(w[:, k], ca.reshape(R[:, k], 3, 3)) for k in range(R.shape[1])]
    positions = ca.vertcat(ca.vec(R), ca.vec(p), q, t)
    return positions, ca.vertcat(*map(ca.vec, turned), ca.vec(u), v, 1)
