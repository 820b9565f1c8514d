"""Assembly: from a guess, close all loops.

Damped Newton steps of least norm, in all joints' coordinates at once: which joint is cut does not matter. Lengths
count in units of the mechanism's characteristic length. Everything is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whippletree.errors import AssemblyError
from whippletree.kernels.kernel import Array
from whippletree.system.closure_numbers import ClosureNumbers, Mask
from whippletree.system.configuration_space import ConfigurationSpace
from whippletree.system.loop_plan import Conditions
from whippletree.system.sparse_assembly import sparse_newton_step
from whippletree.system.tolerances import (
    ASSEMBLY_RANK,
    ASSEMBLY_ROUNDING,
    ASSEMBLY_STEPS,
    CLOSED,
    GIVE_WAY_SINGLY,
    LONGEST_STEP,
    NEARER,
    OTHER_STARTS,
    STEP_HALVINGS,
    SUFFICIENT_DECREASE,
)

__all__ = ["Assembled", "Assembler", "Mask"]


class Assembled(NamedTuple):
    """A closed configuration, its largest residual, and whether it was reached straight from the guess."""

    q: Array
    residual: float
    straight: bool


@dataclass(frozen=True)
class Assembler:
    """Closes loops: from a guess to a configuration at which the closures hold.

    It knows the closures in numbers, and how to move on the configurations (`space`); it knows nothing of plans, and
    velocities are made consistent elsewhere (`consistency.py`).
    """

    numbers: ClosureNumbers
    space: ConfigurationSpace

    def assemble(self, guess: Array, held: Mask, given: Sequence[Mask], where: Conditions) -> Assembled:
        """Return the closed configuration nearest to the guess.

        `held` freedoms do not move. `given` lists those that the guess is about, joint by joint: they stay if that is
        possible; if not, the ones named last are the first to give way.
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
        kept = len(given) if len(given) <= GIVE_WAY_SINGLY else 0
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
        for _ in range(OTHER_STARTS):
            away = self.space.difference(guess, self.space.random(rng))
            start = self.space.integrate(guess, np.where(fixed, 0.0, away))
            for still in (fixed, held):
                q, residual = self._newton(start, still, where)
                if residual <= CLOSED:
                    far = float(np.abs(self.space.difference(guess, q) / self.numbers.column_scale).sum())
                    if best is None or far < best[0] * (1 - NEARER):
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
        for _ in range(ASSEMBLY_STEPS):
            size = _norm(r)
            if not np.isfinite(size) or size <= ASSEMBLY_ROUNDING or not free.size:
                break
            if numbers.families is not None:
                step = sparse_newton_step(numbers, q, r, held)[free]
            else:
                G = numbers.full_rows(q, *where)[0][positional][:, free]
                if not np.isfinite(G).all():
                    break
                step = np.linalg.lstsq(G, -r, rcond=ASSEMBLY_RANK)[0]
            step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-300))
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
        for halvings in range(STEP_HALVINGS):
            share = 0.5**halvings
            dv = np.zeros(numbers.plan.nv)
            dv[free] = share * step * numbers.column_scale[free]
            there = self.space.integrate(q, dv)
            r = numbers.residual(there, *where)[numbers.positional]
            if np.isfinite(r).all() and _norm(r) < (1 - SUFFICIENT_DECREASE * share) * size:
                return there, r
        return None

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
