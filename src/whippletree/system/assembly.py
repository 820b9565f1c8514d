"""Assembly: from a guess, close all loops, and make velocities consistent.

Damped Newton steps of least norm, in all joints' coordinates at once: which joint is cut does not matter. Lengths
count in units of the mechanism's characteristic length. Everything is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whippletree.errors import AssemblyError
from whippletree.kernels.kernel import Array
from whippletree.system.closures import ClosureNumbers
from whippletree.system.many_loops import step_closed

__all__ = ["CLOSED", "Assembled", "Assembler", "Conditions"]

Mask = npt.NDArray[np.bool_]

CLOSED = 1e-10
"""The largest scaled residual of a loop that counts as closed; assembly goes on to rounding where it can."""

_STEPS = 60
_LONGEST = 0.5  # of a step: radians, or characteristic lengths
_STARTS = 24
_ONE_BY_ONE = 8  # up to so many given joints give way one by one
_SMALLEST = 1e-9  # singular values below this share are none
_ROUNDING = 1e-14


class Conditions(NamedTuple):
    """What an assembly is done under."""

    t: float
    parameters: Array


class Assembled(NamedTuple):
    """A closed configuration, its largest residual, and whether it was reached straight from the guess."""

    q: Array
    residual: float
    straight: bool


@dataclass(frozen=True)
class Assembler:
    """Closes loops; `integrate(q, dv)` and `difference(q0, q1)` move on the configuration manifold."""

    numbers: ClosureNumbers
    integrate: Callable[[Array, Array], Array]
    difference: Callable[[Array, Array], Array]
    random: Callable[[np.random.Generator], Array]

    def assemble(self, guess: Array, held: Mask, given: Sequence[Mask], where: Conditions) -> Assembled:
        """Return the closed configuration nearest to the guess.

        `held` freedoms do not move. `given` lists those that the user had an opinion on, joint by joint: they stay if
        that is possible; if not, the ones named last are the first to give way.
        """
        nearest, least = guess, np.inf
        for fixed in self._ever_fewer(held, given):
            for start in (nearest, guess) if np.isfinite(least) else (guess,):
                q, residual = self._newton(start, fixed, where)
                if residual <= CLOSED:
                    return Assembled(q, residual, True)
                if residual < least:
                    nearest, least = q, residual
        found, nearest = self._from_elsewhere(guess, held, given, where, nearest, least)
        if found is None:
            raise AssemblyError(self.complaint(nearest, held, where))
        return found

    @staticmethod
    def _ever_fewer(held: Mask, given: Sequence[Mask]) -> list[Mask]:
        """Return what to hold, in the order in which it is tried: all that was given, then less and less."""
        kept = len(given) if len(given) <= _ONE_BY_ONE else 0
        counts = [len(given), *range(kept - 1, -1, -1)] if given else [0]
        return [np.logical_or.reduce([held, *given[:count]]) for count in dict.fromkeys([*counts, 0])]

    def _from_elsewhere(
        self, guess: Array, held: Mask, given: Sequence[Mask], where: Conditions, nearest: Array, least: float
    ) -> tuple[Assembled | None, Array]:
        """Try other starting points for what was not given.

        Return the closed configuration nearest to the guess, if there is one, and the one that is least open.
        """
        rng = np.random.default_rng(0)
        fixed = np.logical_or.reduce([held, *given])
        best: tuple[float, Assembled] | None = None
        for _ in range(_STARTS):
            away = self.difference(guess, self.random(rng))
            start = self.integrate(guess, np.where(fixed, 0.0, away))
            for still in (fixed, held):
                q, residual = self._newton(start, still, where)
                if residual <= CLOSED:
                    far = float(np.abs(self.difference(guess, q) / self.numbers.column_scale).sum())
                    if best is None or far < best[0] * (1 - 1e-9):
                        best = far, Assembled(q, residual, False)
                    break
                if residual < least:
                    nearest, least = q, residual
        return (None if best is None else best[1]), nearest

    def _newton(self, q: Array, held: Mask, where: Conditions) -> tuple[Array, float]:
        """Take damped Newton steps of least norm; return the last configuration and its largest residual."""
        numbers, positional = self.numbers, self.numbers.positional
        free = np.flatnonzero(~held)
        r = numbers.residual(q, *where)[positional]
        for _ in range(_STEPS):
            size = _norm(r)
            if not np.isfinite(size) or size <= _ROUNDING or not free.size:
                break
            if numbers.kinds is not None:
                step = step_closed(numbers, q, r, held)[free]
            else:
                G = numbers.full_rows(q, *where)[0][positional][:, free]
                if not np.isfinite(G).all():
                    break
                step = np.linalg.lstsq(G, -r, rcond=_SMALLEST)[0]
            step *= min(1.0, _LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-300))
            moved = self._search(q, step, free, size, where)
            if moved is None:
                break
            q, r = moved
        return q, float(np.abs(r).max(initial=0.0)) if np.isfinite(r).all() else np.inf

    def _search(
        self, q: Array, step: Array, free: npt.NDArray[np.intp], size: float, where: Conditions
    ) -> tuple[Array, Array] | None:
        """Go along a step, less and less far until the residual falls; None if it does not."""
        numbers = self.numbers
        for halvings in range(12):
            share = 0.5**halvings
            dv = np.zeros(numbers.plan.nv)
            dv[free] = share * step * numbers.column_scale[free]
            there = self.integrate(q, dv)
            r = numbers.residual(there, *where)[numbers.positional]
            if np.isfinite(r).all() and _norm(r) < (1 - 1e-4 * share) * size:
                return there, r
        return None

    def velocities(self, q: Array, v: Array, held: Mask, where: Conditions) -> Array:
        """Return the velocities nearest to `v` that the closures allow at a closed configuration."""
        if self.numbers.kinds is not None and not v.any():
            return v  # nothing moves by itself
        return self.projected(q, v, held, where, self.numbers.full_rows(q, *where)[1], "velocities")

    def projected(self, q: Array, v: Array, held: Mask, where: Conditions, drift: Array, what: str) -> Array:
        """Return the velocities or accelerations x nearest to `v` with G x + drift = 0."""
        numbers = self.numbers
        G = numbers.full_rows(q, *where)[0]
        y = v / numbers.column_scale
        free = np.flatnonzero(~held)
        for _ in range(2):  # the second time for the last digits
            y[free] += np.linalg.lstsq(G[:, free], -(G @ y + drift), rcond=_SMALLEST)[0]
        left = G @ y + drift
        scale = max(1.0, float(np.abs(y).max(initial=0.0)))
        if float(np.abs(left).max(initial=0.0)) > CLOSED * scale:
            row = numbers.rows[int(np.abs(left).argmax())]
            raise AssemblyError(
                f"no {what} with these held satisfy {self.loop_in_words(row.closure)}: its {row.direction} is off by "
                f"{np.abs(left).max():.3g}; hold fewer joints, or consistent ones"
            )
        return np.asarray(y * numbers.column_scale)

    def complaint(self, q: Array, held: Mask, where: Conditions) -> str:
        """Say which loop stays open, by how much, and which joints are in it."""
        numbers = self.numbers
        r = numbers.residual(q, *where)
        k = int(np.abs(r).argmax())
        row = numbers.rows[k]
        size = abs(float(r[k] * numbers.row_scale[k]))
        remedy = (
            "hold fewer joints, or at other values"
            if held.any()
            else "give a guess nearer to a closed position, or check the dimensions"
        )
        loop = self.loop_in_words(row.closure)
        return f"{loop} cannot be closed: its {row.direction} stays {size:.3g}{row.unit} off; {remedy}"

    def loop_in_words(self, closure: str) -> str:
        """Name a loop and the joints in it."""
        for loop in self.numbers.plan.loops:
            if loop.name == closure:
                names = ", ".join(f'"{name}"' for name in loop.joints)
                return f'the loop of "{closure}" (joints {names})' if names else f'closure "{closure}"'
        return f'closure "{closure}"'


def _norm(r: Array) -> float:
    return float(np.sqrt(np.dot(r, r)))
