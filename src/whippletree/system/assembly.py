"""Assembly: from a guess, close all loops.

Damped Newton steps of least norm, in all joints' coordinates at once: which joint is cut does not matter. Lengths
count in units of the characteristic length of their group of loops. Everything is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whippletree.errors import AssemblyError
from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.spatial.scales import scale_of
from whippletree.system.closure_numbers import ClosureNumbers, Mask
from whippletree.system.configuration_space import ConfigurationSpace
from whippletree.system.loop_plan import Conditions
from whippletree.system.ranks import least_norm
from whippletree.system.sparse_assembly import sparse_newton_step
from whippletree.system.tolerances import (
    ASSEMBLY_RANK,
    ASSEMBLY_ROUNDING,
    ASSEMBLY_STEPS,
    CLOSED,
    CLOSED_NEARBY,
    COARSEST_DATA,
    CONSISTENT,
    CREEPING,
    CREEPING_STEPS,
    GIVE_WAY_SINGLY,
    LONGEST_STEP,
    NEARER,
    NEARLY_CLOSED,
    OPEN_OVER_ROUNDING,
    OTHER_STARTS,
    STEP_HALVINGS,
    SUFFICIENT_DECREASE,
)

__all__ = ["Assembled", "Assembler", "Mask", "coarser"]


class Assembled(NamedTuple):
    """A closed configuration, its largest residual, and whether it was reached straight from the guess.

    `nearly` is a configuration near the guess that is closed but for a little more than the accuracy of the data, if
    there was one and the closed configuration is far from it.
    """

    q: Array
    residual: float
    straight: bool
    nearly: Array | None = None


class _AssemblyAttempt(NamedTuple):
    """Where Newton's method ended, the largest residual there, and which freedoms did not move."""

    q: Array
    residual: float
    held: Mask


@dataclass(frozen=True)
class Assembler:
    """Closes loops: from a guess to a configuration at which the closures hold.

    Loops whose data are rounded are closed up to the accuracy of the data (`ClosureNumbers.accuracy`): steps go along
    singular values that are more than an error of the data, so that equations which disagree by such an error do not
    move the mechanism to where they happen to agree.

    It knows the closures in numbers, and how to move on the configurations (`space`); it knows nothing of plans, and
    velocities are made consistent elsewhere (`consistency.py`).
    """

    numbers: ClosureNumbers
    space: ConfigurationSpace

    def assemble(self, guess: Array, held: Mask, given: Sequence[Mask], where: Conditions) -> Assembled:
        """Return the closed configuration nearest to the guess.

        `held` freedoms do not move. `given` lists those that the guess is about, joint by joint: they stay if that is
        possible; if not, the ones named last are the first to give way. Flexible bodies deform only where no motion of
        the joints closes the loops.
        """
        fewer, stiff = self.ever_fewer(held, given), self.numbers.deformations
        if stiff.any():
            fewer = [*(still | stiff for still in fewer), *fewer]
        best = self._nearest(guess, fewer, where, self.numbers.negligible)
        if best.residual > CLOSED and best.residual <= self.numbers.accuracy:
            best = self._closed_better(best, [still for still in fewer if not (still & ~best.held).any()], where)
            return Assembled(best.q, best.residual, True)
        if best.residual <= CLOSED:
            return Assembled(best.q, best.residual, True)
        exact = self._nearest(guess, fewer, where, ASSEMBLY_RANK)
        if exact.residual <= CLOSED:
            return Assembled(exact.q, exact.residual, True, self._left_behind(best, exact.q))
        found, nearest = self._from_elsewhere(guess, held, given, where, min(best, exact, key=lambda one: one.residual))
        if found is None:
            # beside a configuration that is nearly closed, steps along errors of the data may close it a little more
            q = best.q if best.residual <= NEARLY_CLOSED else nearest
            off = float(np.abs(self.numbers.residual(q, *where)).max(initial=0.0))
            raise not_closed(self.complaint(q, held, where), np.inf if held.any() else off)
        return found._replace(nearly=self._left_behind(best, found.q))

    def _nearest(self, guess: Array, fewer: Sequence[Mask], where: Conditions, smallest: float) -> _AssemblyAttempt:
        """Hold ever less until the loops are closed; return the first closed configuration, or the least open one.

        If none is closed to rounding, the first one that is closed up to the accuracy of the data is as good.
        """
        best: _AssemblyAttempt | None = None
        for still in fewer:
            for start in (guess,) if best is None else (best.q, guess):
                found = _AssemblyAttempt(*self._newton(start, still, where, smallest), still)
                if found.residual <= CLOSED:
                    return found
                if best is None or found.residual < best.residual:
                    best = found
            if best is not None and best.residual <= self.numbers.accuracy and smallest > ASSEMBLY_RANK:
                break
        assert best is not None
        return best

    def _closed_better(self, found: _AssemblyAttempt, fewer: Sequence[Mask], where: Conditions) -> _AssemblyAttempt:
        """Return a configuration that is closed to rounding next to one that is not quite, if there is one."""
        for still in fewer:
            other = _AssemblyAttempt(*self._newton(found.q, still, where, ASSEMBLY_RANK, found), still)
            if other.residual <= CLOSED and self._beside(found, other.q):
                return other
        return found

    def _beside(self, found: _AssemblyAttempt, q: Array) -> bool:
        """Tell whether a configuration is as near to another one as the open rows there explain."""
        moved = self.space.difference(found.q, q) / self.numbers.column_scale
        return bool(np.abs(moved).max(initial=0.0) <= np.sqrt(CLOSED_NEARBY * found.residual))

    def _left_behind(self, nearly: _AssemblyAttempt, q: Array) -> Array | None:
        """Return a configuration that was nearly closed, unless the closed one is beside it."""
        return nearly.q if nearly.residual <= NEARLY_CLOSED and not self._beside(nearly, q) else None

    @staticmethod
    def ever_fewer(held: Mask, given: Sequence[Mask]) -> list[Mask]:
        """Return sets of freedoms to hold, in the order of trial: all given ones, then fewer and fewer."""
        kept = len(given) if len(given) <= GIVE_WAY_SINGLY else 0
        counts = [len(given), *range(kept - 1, -1, -1)] if given else [0]
        return [np.logical_or.reduce([held, *given[:count]]) for count in dict.fromkeys([*counts, 0])]

    def _from_elsewhere(
        self, guess: Array, held: Mask, given: Sequence[Mask], where: Conditions, before: _AssemblyAttempt
    ) -> tuple[Assembled | None, Array]:
        """Try other starting points for the coordinates that were not given.

        Return the closed configuration nearest to the guess, if there is one, and the one that is least open.
        """
        rng = np.random.default_rng(0)
        nearest, least = before.q, before.residual
        fixed = np.logical_or.reduce([held, *given])
        best: tuple[float, Assembled] | None = None
        for _ in range(OTHER_STARTS):
            away = self.space.difference(guess, self.space.random(rng))
            start = self.space.integrate(guess, np.where(fixed, 0.0, away))
            for still in (fixed, held):
                q, residual = self.close(start, still, where)
                if residual <= max(CLOSED, self.numbers.accuracy):
                    far = float(np.abs(self.space.difference(guess, q) / self.numbers.column_scale).sum())
                    if best is None or far < best[0] * (1 - NEARER):
                        best = far, Assembled(q, residual, False)
                    break
                if residual < least:
                    nearest, least = q, residual
        return (None if best is None else best[1]), nearest

    def close(self, q: Array, held: Mask, where: Conditions) -> tuple[Array, float]:
        """Return the configuration next to one that is closed to rounding, or up to the data's accuracy, or not quite.

        The second number is the largest residual that is left.
        """
        found = _AssemblyAttempt(*self._newton(q, held, where, self.numbers.negligible), held)
        if CLOSED < found.residual <= max(CONSISTENT, self.numbers.accuracy):
            found = self._closed_better(found, [held], where)
        return found.q, found.residual

    def _newton(
        self, q: Array, held: Mask, where: Conditions, smallest: float, beside: _AssemblyAttempt | None = None
    ) -> tuple[Array, float]:
        """Take damped Newton steps of least norm; return the last configuration and its largest residual.

        Singular values below the share `smallest` are left out. If only what is `beside` an attempt is wanted, steps
        end where they have left that, or no longer halve the residual, as they do next to a closed configuration:
        even at a singular one, where the residual goes with the square of the distance, it falls to a quarter.
        """
        numbers, positional = self.numbers, self.numbers.positional
        free = np.flatnonzero(~held)
        r = numbers.residual(q, *where)[positional]
        creeping = 0
        for _ in range(ASSEMBLY_STEPS):
            size = _norm(r)
            if creeping == CREEPING_STEPS or not np.isfinite(size) or size <= ASSEMBLY_ROUNDING or not free.size:
                break
            if numbers.families is not None:
                step = sparse_newton_step(numbers, q, where, r, held, smallest)[free]
            else:
                G = numbers.full_rows(q, *where)[0]
                if not np.isfinite(G).all():
                    break
                right = np.zeros(len(G))
                right[positional] = -r
                G[~positional] = 0.0
                step = least_norm(G, right, numbers.blocks, ~held, smallest)[free]
            step *= min(1.0, LONGEST_STEP / scale_of(step))
            moved = self._search(q, step, free, size, where)
            if moved is None:
                break
            q, r, halved = moved
            creeping = creeping + 1 if halved and _norm(r) > CREEPING * size else 0
            if beside is not None and (_norm(r) > size / 2 or not self._beside(beside, q)):
                break
        return q, float(np.abs(r).max(initial=0.0)) if np.isfinite(r).all() else np.inf

    def _search(
        self, q: Array, step: Array, free: Indices, size: float, where: Conditions
    ) -> tuple[Array, Array, bool] | None:
        """Go along a step, less and less far until the residual falls; None if it does not.

        Return where that is, the residual there, and whether it was less than the whole step.
        """
        numbers = self.numbers
        for halvings in range(STEP_HALVINGS):
            share = 0.5**halvings
            dv = np.zeros(numbers.plan.nv)
            dv[free] = share * step * numbers.column_scale[free]
            there = self.space.integrate(q, dv)
            r = numbers.residual(there, *where)[numbers.positional]
            if np.isfinite(r).all() and _norm(r) < (1 - SUFFICIENT_DECREASE * share) * size:
                return there, r, halvings > 0
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
        if self.numbers.accuracy < abs(r[k]) <= NEARLY_CLOSED:
            remedy += f"; if the data are no better than that, build(accuracy={coarser(abs(r[k]))})"
        loop = self.loop_in_words(row.closure)
        return f"{loop} cannot be closed: its {row.direction} stays {size:.3g}{row.unit} off; {remedy}"

    def loop_in_words(self, closure: str) -> str:
        """Name a loop and the joints in it."""
        for loop in self.numbers.plan.loops:
            if loop.name == closure:
                names = ", ".join(f'"{name}"' for name in loop.joints)
                return f'the loop of "{closure}" (joints {names})' if names else f'closure "{closure}"'
        return f'closure "{closure}"'


def not_closed(message: str, off: float) -> AssemblyError:
    """Return the error about loops that stay open by so much, scaled; with an accuracy of the data that explains it.

    >>> not_closed("the loop stays open", 0.25e-3).accuracy, not_closed("the loop stays open", 0.1).accuracy
    (0.00075, None)
    """
    error = AssemblyError(message)
    accuracy = OPEN_OVER_ROUNDING * off  # errors of several joints add up
    error.accuracy = float(accuracy) if accuracy <= COARSEST_DATA else None
    return error


def coarser(off: float) -> str:
    """Return the next power of ten, as an accuracy to build with.

    >>> coarser(3e-6)
    '1e-05'
    """
    return f"{10.0 ** np.ceil(np.log10(off)):.0e}"


def _norm(r: Array) -> float:
    return float(np.sqrt(np.dot(r, r)))
