"""A motion that is given: of a joint coordinate, or of a point on a body."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import casadi as ca

from whippletree.elements.closures import DeclaredClosure, Rows, Side
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import Scalar

__all__ = ["Motion"]

_AXES = "xyz"


@user_facing
@dataclass(frozen=True, eq=False)
class Motion(DeclaredClosure):
    """Keeps a joint coordinate, or coordinates of a point in ground axes, at a function of time; made by `written`.

    `function` computes the column f from time and the parameters, which are `arguments`; `components` says which
    coordinates of a point it gives, and is empty for a joint coordinate. The multiplier is the effort of the drive, its
    power the effort times f'.

    >>> t = ca.SX.sym("t")
    >>> rise = Motion.written(t * t, t, ())
    >>> rise.rows((), ca.SX(9), ca.SX(6), ca.SX(3)).phi, rise.timed
    (SX(0), True)
    """

    function: ca.Function
    arguments: tuple[Scalar, ...] = ()
    components: tuple[int, ...] = ()

    @staticmethod
    def written(expression: ca.SX, t: ca.SX, parameters: Sequence[ca.SX], components: Sequence[int] = ()) -> Motion:
        """Return the motion by an expression in time and these parameters."""
        given = ca.Function("given", [t, ca.vertcat(ca.SX(0, 1), *parameters)], [ca.densify(expression)])
        own = [ca.SX.sym("t"), ca.SX.sym("parameter", len(parameters))]
        return Motion(ca.Function("motion", own, [ca.densify(given(*own))]), tuple(parameters), tuple(components))

    @property
    def labels(self) -> tuple[str, ...]:
        """The effort that each row transmits."""
        return tuple(f"driven position along {_AXES[c]}" for c in self.components) or ("driven coordinate",)

    @property
    def absolute(self) -> bool:
        """A point is meant in the ground frame."""
        return bool(self.components)

    @cached_property
    def timed(self) -> bool:
        """Whether it moves at all."""
        t, parameters = ca.SX.sym("t"), ca.SX.sym("parameter", self.function.size1_in(1))
        return bool(ca.depends_on(self.function(t, parameters), t))

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return where it is, less where it has to be."""
        f, df, ddf = self._derivatives(t, ca.vertcat(ca.SX(0, 1), *map(ca.SX, self.arguments)))
        if not self.components:
            return Rows(q - f, (), ca.SX.ones(1, 1), -df, -ddf)
        D = ca.SX(len(self.components), 6)
        for row, c in enumerate(self.components):
            D[row, 3 + c] = 1
        here = sides[0].p[list(self.components), :]
        return Rows(here - f, (D,), ca.SX(len(self.components), 0), -df, -ddf)

    @property
    def text(self) -> str:
        """The components, and the function serialised."""
        return json.dumps([*self.components]) + str(self.function.serialize())

    def entries(self) -> tuple[Scalar, ...]:
        """Return the parameters."""
        return self.arguments

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the motion with these components, this function and these parameters."""
        end = text.index("]") + 1
        return cls(ca.Function.deserialize(text[end:]), entries, tuple(json.loads(text[:end])))

    @cached_property
    def _derivatives(self) -> ca.Function:
        """The function of f, f' and f''."""
        t, parameters = ca.SX.sym("t"), ca.SX.sym("parameter", self.function.size1_in(1))
        f = ca.SX(self.function(t, parameters))
        df = ca.jacobian(f, t)
        ddf = ca.jacobian(df, t)
        return ca.Function("motion", [t, parameters], [ca.densify(part) for part in (f, df, ddf)])
