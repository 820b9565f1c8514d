"""Assembly of many configurations at once, in machine code.

Each configuration takes the steps that `system/assembly.py` would take from its guess: damped Newton steps of least
norm. One kernel (`closing_step`) gives step and residual for all of them, in lanes and threads; here is only what each
of them does with it. What has not been closed after that goes the ways of the assembler: what is nearly closed by
itself, all others from other starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import AssemblyError, AssemblyWarning, DynamicsError, StateError
from whippletree.foundation.arrays import Indices
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing, warn
from whippletree.kernels.kernel import Array
from whippletree.kinematics.given_numbers import given_numbers
from whippletree.kinematics.kinematic_tolerances import HELD_OFF, LONGEST_CLOSING_LINE
from whippletree.model.argument_types import ByJoint, Freedoms, JointLike
from whippletree.spatial.scalars import place_among, truth
from whippletree.system.assembly import Assembler
from whippletree.system.calls import number_of_threads
from whippletree.system.evaluator import CallOptions
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.input_reader import Mask
from whippletree.system.loop_plan import Conditions
from whippletree.system.ranks import rank_of
from whippletree.system.tolerances import (
    ASSEMBLY_ROUNDING,
    ASSEMBLY_STEPS,
    CLOSED,
    CREEPING,
    CREEPING_STEPS,
    LONGEST_STEP,
    NEARER,
    NEARLY_CLOSED,
    OTHER_STARTS,
    STEP_HALVINGS,
    SUFFICIENT_DECREASE,
)

if TYPE_CHECKING:
    from whippletree.system import System
    from whippletree.system.evaluator import ParameterValues

__all__ = ["Assemblies", "BatchCloser", "assemble_batch", "read_guesses"]


_LISTED = 8
"""How many indices of configurations a warning names."""


@readable
@user_facing
@dataclass(frozen=True, eq=False)
class Assemblies:
    """Many configurations, closed as far as possible: the result of `System.assemble_batch`.

    `q` (n, nq) are the configurations, in the order of the guesses, with NaN where the loops could not be closed;
    `closed` (n) tells where they are, and `straight` (n) where they were closed straight from their guess, with all
    that was given where it was: on its branch. The others were found from another start, or a named joint gave way.
    `least_open` (n, nq) is as `q`, and where that is NaN the least open configuration that was found.

    >>> found = assemble_batch(four_bar(), {"A": np.linspace(0.5, 1.5, 5)})
    >>> found.q.shape, bool(found.closed.all()), found.failed
    ((5, 4), True, array([], dtype=int64))
    """

    q: Array
    closed: Mask
    straight: Mask
    least_open: Array
    _complaint: Callable[[int], str]

    @property
    def failed(self) -> Indices:
        """The indices of configurations that could not be closed."""
        return np.flatnonzero(~self.closed)

    def reason(self, index: int) -> str:
        """Say which loop stays open in a configuration, and by how much; nothing if it is closed."""
        index = place_among(index, len(self), "index")
        return "" if self.closed[index] else self._complaint(index)

    def __len__(self) -> int:
        return len(self.q)

    def __str__(self) -> str:
        return "\n".join([f"{int(self.closed.sum())} of {len(self)} configurations are closed", *self.remarks()])

    def remarks(self) -> list[str]:
        """Return remarks on configurations that are open, or were not closed straight from their guess."""
        lines = []
        if self.failed.size:
            first = int(self.failed[0])
            lines.append(f"not closed: {_some(self.failed)}; in {first}, {self.reason(first)}")
        bent = np.flatnonzero(self.closed & ~self.straight)
        if bent.size:
            lines.append(f"not closed straight from their guess, so that the branch may be another: {_some(bent)}")
        return lines


def _some(indices: Indices) -> str:
    """Return indices in words.

    >>> _some(np.arange(12))
    '0, 1, 2, 3, 4, 5, 6, 7 and 4 more'
    """
    more = f" and {len(indices) - _LISTED} more" if len(indices) > _LISTED else ""
    return ", ".join(map(str, indices[:_LISTED].tolist())) + more


@user_facing
def assemble_batch(
    system: System,
    guesses: ArrayLike | ByJoint,
    *,
    hold: Freedoms | None = None,
    restart: bool = True,
    t: float = 0.0,
    parameters: ParameterValues = None,
    threads: int | None = None,
) -> Assemblies:
    """Close the loops of many configurations in one call, in machine code, and tell which could not be closed.

    `guesses` are configurations (n, nq), or coordinates (n) by joint. Options: `hold`, joints that stay where their
    guess is; `restart=False`, to give a configuration up if it cannot be closed straight from its guess, instead of
    trying other starts as `assemble` does; `t`, `parameters`, `threads`. There may be as many sets of parameters, one
    for each guess, and one guess is enough for many sets. Answers are those of `assemble`, one by one. See
    `whippletree.kinematics`.

    >>> from whippletree.system.example_systems import four_bar
    >>> found = assemble_batch(four_bar(), {"A": [0.5, 1.2]}, hold=["A"])
    >>> found.closed, found.q.shape
    (array([ True,  True]), (2, 4))
    """
    q, given = read_guesses(system, guesses)
    q, parameters = _paired(system, q, parameters)
    held, again = system.kernels.inputs.freedoms(hold, "hold"), truth(restart, "restart=")
    if not system.kernels.closed:
        system.kernels.inputs.idle(t=t, parameters=parameters, hold=hold)
        everywhere = np.ones(len(q), dtype=bool)
        return Assemblies(q, everywhere, everywhere, q, lambda _: "")
    closer = BatchCloser(system, t, parameters, threads)
    found = closer.assemble(q, held, given, restart=again)
    for remark in found.remarks():
        warn(remark, AssemblyWarning)
    return found


def _paired(system: System, q: Array, parameters: ParameterValues) -> tuple[Array, Array | None]:
    """Return as many guesses (n, nq) as sets of parameters (n, np), or one set for all of them."""
    values = system.kernels.inputs.parameter_sets(parameters)
    if values is None or values.ndim == 1:
        return q, values
    if values.ndim > 2 or (len(values) != len(q) and 1 not in (len(values), len(q))):
        raise StateError(
            f"guesses and parameters do not fit together: {len(q)} configurations, parameters {values.shape}; give "
            f"one set of parameters for each configuration, of the shape ({len(q)}, {values.shape[-1]}), or one for all"
        )
    count = len(values) if len(q) == 1 else len(q)
    return np.array(np.broadcast_to(q, (count, q.shape[1]))), np.broadcast_to(values, (count, values.shape[1]))


def read_guesses(system: System, guesses: ArrayLike | ByJoint) -> tuple[Array, list[Mask]]:
    """Return guesses, by joint or whole, as configurations (n, nq), and which freedoms are named, joint by joint.

    >>> q, given = read_guesses(four_bar(), {"A": [0.1, 0.2], "B": 0.3})
    >>> q.tolist(), len(given)
    ([[0.1, 0.3, 0.0, 0.0], [0.2, 0.3, 0.0, 0.0]], 2)
    """
    inputs, states = system.kernels.inputs, system.kernels.states
    given: list[Mask] = []
    if isinstance(guesses, Mapping):
        _refuse_poses(system, guesses)
        columns = {name: _column(system, name, value) for name, value in guesses.items()}
        counts = {len(column) for column in columns.values()} - {1}
        if len(counts) > 1:
            raise StateError(
                f"the guesses are for {' and '.join(map(str, sorted(counts)))} configurations: give as many"
            )
        q = np.tile(states.neutral(), (counts.pop() if counts else 1, 1))
        for name, column in columns.items():
            q[:, states.q_slice(name)] = column
        given = [inputs.freedoms([name], "guesses") for name in columns]
    else:
        q = np.array(inputs.configurations(guesses))
        if q.ndim != 2:
            raise StateError(f"guesses must be configurations of the shape (n, {system.nq}), or numbers (n) by joint")
    if not np.isfinite(q).all():
        row, i = (int(k) for k in np.argwhere(~np.isfinite(q))[0])
        raise StateError(f"guess {row} for the {states.position_label(i)} is {q[row, i]}: it must be finite")
    return states.normalize(q), given


def _refuse_poses(system: System, guesses: ByJoint) -> None:
    """Say of a body or frame among guesses by joint that poses are for one configuration."""
    owners = {use.name for use in system.description.coordinate_owners}
    for key in guesses:
        name = getattr(key, "name", key)
        if name in system.description.places and name not in owners:
            raise StateError(
                f'guess: "{name}" is a body or frame, whose pose is a guess for one configuration with one set of '
                "parameters: assemble one by one, or give many guesses by joint"
            )


def _column(system: System, name: JointLike, value: ArrayLike) -> Array:
    """Return a joint's coordinates (n, k) in all configurations."""
    where = system.kernels.states.q_slice(name)
    size = where.stop - where.start
    label = f'joint "{getattr(name, "name", name)}"'
    numbers = given_numbers(value, f"guesses for {label}")
    if size == 1 and numbers.ndim < 2:
        return numbers.reshape(-1, 1)
    if numbers.ndim not in (1, 2) or numbers.shape[-1] != size:
        raise StateError(f"{label} has {size} coordinates: give an array of the shape (n, {size})")
    return np.atleast_2d(numbers)


class BatchCloser:
    """Closes the loops of many configurations at one time, with one set of parameters or one for each of them.

    Where each has its own, `rows` tells which configurations are meant.

    Configurations are closed one by one, by the assembler, where machine code would be too long, where data are
    rounded, and where loops lose rank as they close (`_special`) and what is held does not determine them: there, which
    configuration is the nearest hangs on how small singular values are treated.
    """

    def __init__(
        self, system: System, t: ArrayLike = 0.0, parameters: ParameterValues = None, threads: int | None = None
    ) -> None:
        inputs, loops = system.kernels.inputs, system.kernels.loops
        self.system, self.threads = system, number_of_threads(threads)
        self._lock = system.kernels.equations.lock
        self._values = inputs.parameter_sets(parameters)
        self.many = self._values is not None and self._values.ndim > 1
        self._first = loops.conditions(inputs.time(t), self._values)
        self.options = CallOptions(t=self._first.t, parameters=self._values)
        self.assembler: Assembler = loops.assembler
        self.scale: Array = loops.numbers.column_scale
        self._numbers, self._plan = loops.numbers, system.kernels.loop_plan
        self._short = self._numbers.families is None and (
            _estimated_operations([len(block.rows) for block in self._numbers.blocks]) <= LONGEST_CLOSING_LINE
        )

    def conditions(self, row: int = 0) -> Conditions:
        """Return time and parameters of a configuration."""
        return self._first._replace(parameters=self._first.parameters[row]) if self.many else self._first

    # ------------------------------------------------------------------ from guesses to assemblies

    def assemble(self, guess: Array, held: Mask, given: Sequence[Mask], *, restart: bool = True) -> Assemblies:
        """Return the closed configurations nearest to guesses (n, nq), by the assembler's own rules."""
        q, worst = self._straight(guess, self.assembler.ever_fewer(held, given))
        straight = worst <= CLOSED
        self._by_itself(guess, held, given, q, worst, straight)
        if restart:
            self._from_elsewhere(guess, held, given, q, worst)
        named = np.logical_or.reduce([held, *given])
        if named.any() and straight.any():
            moved = np.abs(self.system.difference(guess, q) / self.scale)[:, named]
            straight &= moved.max(axis=-1, initial=0.0) <= HELD_OFF
        closed = worst <= max(CLOSED, self.assembler.numbers.accuracy)
        complaint = lambda row: self.assembler.complaint(q[row], held, self.conditions(row))  # noqa: E731
        return Assemblies(np.where(closed[:, None], q, np.nan), closed, straight & closed, q, complaint)

    def _straight(self, guess: Array, fewer: Sequence[Mask]) -> tuple[Array, Array]:
        """Hold ever less until the loops are closed; return the best configurations and their largest residuals."""
        best, least = guess.copy(), np.full(len(guess), np.inf)
        for still in fewer:
            for start in (guess,) if still is fewer[0] else (best, guess):
                open_ones = np.flatnonzero(least > CLOSED)
                if not open_ones.size:
                    return best, least
                q, worst = self.close(start[open_ones], still, open_ones)
                better = worst < least[open_ones]
                best[open_ones[better]], least[open_ones[better]] = q[better], worst[better]
        return best, least

    def _by_itself(
        self, guess: Array, held: Mask, given: Sequence[Mask], q: Array, worst: Array, straight: Mask
    ) -> None:
        """Leave configurations that are nearly closed to the assembler, which knows how good the data are."""
        for i in np.flatnonzero((worst > CLOSED) & (worst <= NEARLY_CLOSED)).tolist():
            try:
                found = self.assembler.assemble(guess[i], held, given, self.conditions(i))
            except AssemblyError:
                continue
            q[i], worst[i], straight[i] = found.q, found.residual, found.straight

    def _from_elsewhere(self, guess: Array, held: Mask, given: Sequence[Mask], q: Array, worst: Array) -> None:
        """Try the assembler's other starts for all that is open; the closed configuration nearest to the guess wins."""
        rows = np.flatnonzero(worst > max(CLOSED, self.assembler.numbers.accuracy))
        if not rows.size:
            return
        rng, space = np.random.default_rng(0), self.assembler.space
        fixed = np.logical_or.reduce([held, *given])
        nearest = np.full(len(rows), np.inf)
        for _ in range(OTHER_STARTS):
            away = self.system.difference(guess[rows], np.tile(space.random(rng), (len(rows), 1)))
            start = self.system.integrate(guess[rows], np.where(fixed, 0.0, away))
            left = np.arange(len(rows))
            for still in (fixed, held) if (fixed & ~held).any() else (held,):
                there, residual = self.close(start[left], still, rows[left])
                far = np.abs(self.system.difference(guess[rows[left]], there) / self.scale).sum(axis=-1)
                done = residual <= CLOSED
                nearer = done & (far < nearest[left] * (1 - NEARER))
                less = ~done & np.isinf(nearest[left]) & (residual < worst[rows[left]])
                for chosen in (nearer, less):
                    q[rows[left[chosen]]], worst[rows[left[chosen]]] = there[chosen], residual[chosen]
                nearest[left[nearer]] = far[nearer]
                left = left[~done]

    # ------------------------------------------------------------------ Newton's method on many configurations

    def close(self, q: Array, held: Mask, rows: Indices | None = None) -> tuple[Array, Array]:
        """Take damped Newton steps of least norm from configurations (n, nq); return their ends and the residuals.

        `held` (nv) is the same for all of them, or (n, nv) one for each.
        """
        if self._suits(held):
            try:
                return self._newton(np.array(q), held, rows)
            except DynamicsError:
                pass  # a closure that is not finite somewhere: each configuration by itself
        each = np.broadcast_to(held, (len(q), self.system.nv))
        where = map(self.conditions, range(len(q)) if rows is None else rows.tolist())
        found = [self.assembler.close(*one) for one in zip(q, each, where, strict=True)]
        return np.array([one for one, _ in found]).reshape(q.shape), np.array([worst for _, worst in found])

    def _suits(self, held: Mask) -> bool:
        """Tell whether machine code gives the assembler's answers with these freedoms held."""
        if not self._short or self._plan.slack:
            return False
        return not self._special or (held.ndim == 1 and self._determined(held))

    @made_once
    def _special(self) -> bool:
        """Whether the loops have more independent rows while open than when closed: they move by special dimensions."""
        start = self.assembler.space.random(np.random.default_rng(0))
        return any(rank_of(G) > self._plan.rank for G in self._full_rows(start))

    def _full_rows(self, q: Array) -> Array:
        """Return the closures' rows at one configuration, with each set of parameters (n, m, nv)."""
        if not self.many:
            return self._numbers.full_rows(q, *self._first)[0][None]
        rows = self.system.kernels.evaluate("closure_jacobian", (q,), self.options, None, self.threads)
        return rows / self._numbers.row_scale[:, None] * self.scale

    def _determined(self, held: Mask) -> bool:
        """Tell whether nothing can move while some freedoms are held."""
        free = ~held
        return all(rank_of(G[:, free]) == free.sum() for G in self._full_rows(self._plan.q))

    def _newton(self, q: Array, held: Mask, rows: Indices | None) -> tuple[Array, Array]:
        """Let each configuration take its steps, halved where they are too long, until it is closed or gives up."""
        free = np.where(held, 0.0, 1.0)
        alike, rows = free.ndim == 1, np.arange(len(q)) if rows is None else rows
        steps, size, worst = self.look(q, free, rows)
        share, halvings, creeping = np.ones(len(q)), np.zeros(len(q), dtype=int), np.zeros(len(q), dtype=int)
        taken, polished = np.zeros(len(q), dtype=int), np.zeros(len(q), dtype=bool)
        busy = np.flatnonzero(size > ASSEMBLY_ROUNDING) if free.any() else np.zeros(0, dtype=np.intp)
        while busy.size:
            part = share[busy]
            there = self.system.integrate(q[busy], part[:, None] * steps[busy])
            new_steps, new_size, new_worst = self.look(there, free if alike else free[busy], rows[busy])
            good = new_size < (1 - SUFFICIENT_DECREASE * part) * size[busy]
            gone, stayed = busy[good], busy[~good]
            slow = (part[good] < 1) & (new_size[good] > CREEPING * size[gone])
            polished[gone] = worst[gone] <= CLOSED
            q[gone], steps[gone], size[gone], worst[gone] = (
                there[good],
                new_steps[good],
                new_size[good],
                new_worst[good],
            )
            share[gone], halvings[gone], taken[gone] = 1.0, 0, taken[gone] + 1
            creeping[gone] = np.where(slow, creeping[gone] + 1, 0)
            share[stayed], halvings[stayed] = share[stayed] / 2, halvings[stayed] + 1
            polished[stayed] |= worst[stayed] <= CLOSED
            over = (size[busy] <= ASSEMBLY_ROUNDING) | polished[busy] | (halvings[busy] == STEP_HALVINGS)
            over |= (taken[busy] == ASSEMBLY_STEPS) | (creeping[busy] == CREEPING_STEPS)
            busy = busy[~over]
        return q, worst

    def look(self, q: Array, free: Array, rows: Indices) -> tuple[Array, Array, Array]:
        """Return the next steps (n, nv), no longer than they are useful, and norm and maximum of the residuals."""
        options = self.options._replace(parameters=self._first.parameters[rows]) if self.many else self.options
        found = self.system.kernels.evaluate("closing_step", (q, free), options, None, self.threads)
        steps = found[:, :-2]
        longest = np.abs(steps / self.scale).max(axis=-1, initial=0.0)
        return steps * (LONGEST_STEP / np.maximum(longest, LONGEST_STEP))[:, None], np.sqrt(found[:, -2]), found[:, -1]


def _estimated_operations(rows: Sequence[int]) -> float:
    """Return about how many operations a step toward closed loops takes at most, of blocks with so many rows.

    >>> _estimated_operations([36])
    41472.0
    """
    return sum(n**3 / 3 + 20.0 * n**2 for n in rows)
