"""The state of a run: what the time loops are handed, keep up to date and leave to the next stretch of it.

Arrays, so that machine code can write them and a checkpoint can hold them; the entries of the shorter ones have names.
The state packs itself: whoever writes a run to a file asks for `pack()` and knows none of the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.simulate.native_structs import NativeStruct, Numbers, NumberTable, Words
from whippletree.simulate.packed_forms import COUNT, FINITE, FLAG, POSITIVE, ArrayForm, NumberForm, read_array
from whippletree.simulate.run_tolerances import CROSSING_SHARE, LOGGED_POSITIONS, LONG_SPAN, SMALLEST_STEP_SHARE

__all__ = [
    "AT_CORNER",
    "CLOSE_STAGES",
    "CLOSING_LARGEST",
    "CLOSING_TOTAL",
    "CROSSED",
    "CROSS_BELOW",
    "CUT_STEP",
    "EVALUATIONS",
    "GOOD_STEP",
    "GRID_NEXT",
    "GRID_TIME",
    "HOP",
    "HOP_SHARE",
    "KEEP_EVERY",
    "KEEP_NEXT",
    "KEEP_PLAN",
    "KEPT",
    "LAST_PIVOT",
    "LAST_PIVOT_AT",
    "LONGEST_STEP",
    "LOOPS",
    "MISSED",
    "NEGATIVE_PIVOTS",
    "NEXT_STEP",
    "OUTPUTS",
    "PENDING",
    "PENDING_AT",
    "PLAIN",
    "POWERS",
    "RATES_GIVEN",
    "REFUSED",
    "RESUMED_STEP",
    "SINGULAR_FOUND",
    "SMALLEST_STEP",
    "SPAN",
    "STEPS",
    "STOP_AT",
    "TIME",
    "WAY",
    "RunState",
    "Status",
    "smallest_step",
]

# in `times`
TIME = 0
NEXT_STEP = 1
GOOD_STEP = 2  # the last one that was no trouble
PENDING = 3  # the smallest share of a pivot just now
PENDING_AT = 4  # and when that was
LAST_PIVOT = 5  # share of a pivot where the last step began; zero if that tells nothing
LAST_PIVOT_AT = 6  # and when that was
CROSS_BELOW = 7  # the share from which on a singular position is crossed in one step
NEGATIVE_PIVOTS = 8  # how many pivots were below zero where the last step began, or -1 if that tells nothing
SMALLEST_STEP = 9  # of the stretch that the run is in, and
SPAN = 10  # its length
LONGEST_STEP = 11  # the longest step that the user allows
STOP_AT = 12  # the next corner in time: a step ends there
GRID_TIME = 13  # where steps of a fixed size go on as if a corner had not cut one short; zero if nowhere
GRID_NEXT = 14  # where the step that is being cut short would have ended
CUT_STEP = 15  # the size of the next step on the way to a corner; zero if there is none
HOP = 16  # the size of the short step across that corner
RESUMED_STEP = 17  # the size of steps before it
CLOSING_LARGEST = 18  # the largest displacement that closing the loops has made at the end of a step, and
CLOSING_TOTAL = 19  # their sum, in radians and characteristic lengths
HOP_SHARE = 20  # the size of a step across a corner, as a share of one that goes over it
WAY = 21  # how far the ends of steps are from their beginnings, summed, where loops are closed; in the same units

# in `counts`
OUTPUTS = 0
STEPS = 1
REFUSED = 2
EVALUATIONS = 3
SINGULAR_FOUND = 4
KEPT = 5  # rows in `kept`
KEEP_EVERY = 6  # so many steps apart
KEEP_NEXT = 7  # the step whose end is kept next

# in `flags`
LOOPS = 0  # there are closures
POWERS = 1  # the kernel computes powers
KEEP_PLAN = 2  # stay with a poor choice of coordinates: there is no better one
RATES_GIVEN = 3  # the first rates of the next step are given
CLOSE_STAGES = 4  # stages are put on the closures: 1 to the last digit, 2 nearly
PLAIN = 5  # there is nothing but a tree and its joints' efforts
AT_CORNER = 6  # the last step was at a corner of a formula: it went across, or the corner was not there any more

# in `RunState.flags[AT_CORNER]`
CROSSED = 1
MISSED = 2

_NOT_PACKED = ("scale", "singular_found", "kept")

_MOST_KEPT = 4000
"""States that are kept for the certificate are thinned out to half when there are so many: a run with more steps has
2000 of them at least, evenly spaced."""

_MOST_NUMBERS = 16_000_000
"""They are fewer where they would take more numbers than that."""

_NEVER = 2**62

_SIZE = NumberForm(low=0.0)
_TIMES_FORM: dict[int, NumberForm] = {
    NEXT_STEP: POSITIVE,
    **dict.fromkeys((GOOD_STEP, CUT_STEP, HOP, RESUMED_STEP, CLOSING_LARGEST, CLOSING_TOTAL, HOP_SHARE, WAY), _SIZE),
    PENDING: NumberForm(low=0.0, endless=True),
    NEGATIVE_PIVOTS: NumberForm(low=-1.0),
    SPAN: NumberForm(high=LONG_SPAN),
    LONGEST_STEP: NumberForm(low=POSITIVE.low, endless=True),
    STOP_AT: NumberForm(endless=True),
}
_ENTRIES = {
    "times": (FINITE, _TIMES_FORM),
    "counts": (COUNT, {KEEP_EVERY: NumberForm(1, 2.0**40, whole=True)}),
    "flags": (FLAG, {CLOSE_STAGES: NumberForm(0, 2, whole=True)}),
}
"""What entries of the packed arrays may be, if not any finite number: all of them, and single ones."""


def smallest_step(span: float) -> float:
    """Return the smallest step of a stretch of some length.

    >>> smallest_step(1.0)
    1e-12
    """
    return SMALLEST_STEP_SHARE * max(span, 1e-9)


class Status:
    """How a stretch of a run ended."""

    DONE = 0  # all outputs are made
    PAUSED = 1  # as many steps as were allowed are taken
    UNTRUSTED = 2  # the solution at the present state is not to be trusted
    POOR = 3  # the choice of coordinates has become poor
    OPEN = 4  # the loops could not be closed again
    TOO_SMALL = 5  # the step became too small for the tolerance
    NOT_FINITE = 6  # a number is not finite
    EVENT = 7  # an event has happened that stops or switches
    AGAIN = 8  # a step goes over a corner of a formula: it is taken again, and shorter
    CORNER = 9  # the run has come to a corner, or across one
    SINGULAR = 10  # a singular position of the mechanism is next, which this method leaves to another
    STANDING = 11  # steps are tried again and again, and the time stays
    STUCK = 20  # Newton's method does not converge


class RunState(NativeStruct):
    """Where a run is, and what was counted.

    >>> run = RunState.begin(nq=1, nv=1, nz=0, scale=np.ones(1), t=0.0, step=1e-3)
    >>> other = RunState.begin(nq=1, nv=1, nz=0, scale=np.ones(1), t=5.0, step=1e-3)
    >>> other.unpack(run.pack())
    >>> other.t
    0.0
    """

    q: Numbers  # (nq,)
    y: Numbers  # [u = 0, v, z, work in, work dissipated]
    tau: Numbers  # (nv,) efforts at the joints
    given: Numbers  # (nv + nz,) accelerations and rates to begin the next step with
    times: Numbers
    counts: Words
    scale: Numbers  # (nv,) what displacements are measured by
    flags: Words
    singular_found: NumberTable  # (n, 1 + nq) times and configurations of the singular positions passed
    kept: NumberTable  # (n, width) [t, q, v, z, work in, work dissipated, tau] at the ends of steps, if any are kept
    last_step: Numbers  # [t, h, q, y, y at its end], and the configuration nearest to a singular position

    @classmethod
    def begin(cls, *, nq: int, nv: int, nz: int, scale: Array, t: float, step: float) -> Self:
        """Return the state of a run that has taken no step yet: at rest in q = 0, without efforts."""
        size = 2 * nv + nz + 2
        return cls(
            np.zeros(nq),
            np.zeros(size),
            np.zeros(nv),
            np.zeros(nv + nz),
            np.array([t, step, step, np.inf, 0.0, 0.0, 0.0, CROSSING_SHARE, -1.0, 0.0, 0.0, *[np.inf] * 2, *[0.0] * 9]),
            np.array([0, 0, 0, 0, 0, 0, 1, _NEVER], dtype=np.int64),
            np.array(scale),
            np.zeros(7, dtype=np.int64),
            np.zeros((LOGGED_POSITIONS, 1 + nq)),
            np.zeros((0, 1 + nq + nv + nz + 2 + nv)),
            np.zeros(2 + 2 * nq + 2 * size),
        )

    # ------------------------------------------------------------------ parts

    @property
    def t(self) -> float:
        """The time."""
        return float(self.times[TIME])

    @property
    def v(self) -> Array:
        """The velocities, as a view."""
        nv = self.tau.size
        return self.y[nv : 2 * nv]

    @property
    def z(self) -> Array:
        """The states of elements, as a view."""
        return self.y[2 * self.tau.size : -2]

    @property
    def row_size(self) -> int:
        """How many numbers a row [q, v, z, work in, work dissipated] has."""
        return int(self.q.size + self.y.size - self.tau.size)

    def row(self) -> Array:
        """Return the present state as a row."""
        return np.concatenate([self.q, self.y[self.tau.size :]])

    @property
    def kept_rows(self) -> Array:
        """The states that are kept, evenly spaced among the ends of steps: [t, row, efforts]."""
        return self.kept[: self.counts[KEPT]]

    def present(self) -> Array:
        """Return the present state as a row of `kept`."""
        return np.concatenate([self.times[:1], self.row(), self.tau])

    # ------------------------------------------------------------------ changes

    def keep_steps(self) -> None:
        """Keep states at the ends of steps from now on, by which the run is certified.

        >>> run = RunState.begin(nq=1, nv=1, nz=0, scale=np.ones(1), t=0.0, step=1e-3)
        >>> run.keep_steps()
        >>> run.kept.shape, len(run.kept_rows)
        ((4000, 6), 0)
        """
        self._make_room()
        self.counts[[KEPT, KEEP_EVERY, KEEP_NEXT]] = 0, 1, self.counts[STEPS] + 1

    def _make_room(self) -> None:
        width = self.kept.shape[1]
        self.put("kept", np.zeros((max(min(_MOST_KEPT, _MOST_NUMBERS // width) // 2, 1) * 2, width)))

    def forget_pivots(self) -> None:
        """Forget how near the last steps were to singular positions: what comes next has nothing to do with them."""
        self.times[[PENDING, LAST_PIVOT, CROSS_BELOW, NEGATIVE_PIVOTS]] = np.inf, 0.0, CROSSING_SHARE, -1.0

    def forget_corner(self) -> None:
        """Forget that the run was on its way to a corner of a formula, and where steps of a fixed size go on."""
        self.times[[GRID_TIME, CUT_STEP, HOP]] = 0.0
        self.flags[AT_CORNER] = 0

    # ------------------------------------------------------------------ packing

    def pack(self) -> dict[str, Array]:
        """Return everything that the run needs to go on to the same bits, by name."""
        packed = {name: getattr(self, name).copy() for name in self.fields if name not in _NOT_PACKED}
        return packed | {"kept": self.kept_rows.copy()}

    def unpack(self, arrays: Mapping[str, Array]) -> None:
        """Take over what `pack` returned; refuse what no run of this mechanism can have left."""
        for name in self.fields:
            if name not in _NOT_PACKED:
                own, (entry, entries) = getattr(self, name), _ENTRIES.get(name, (FINITE, {}))
                own[:] = read_array(ArrayForm(own.shape, entry, own.dtype.type, entries), arrays, name)
        self.times[SMALLEST_STEP] = smallest_step(float(self.times[SPAN]))
        kept = read_array(ArrayForm((-1, self.kept.shape[1])), arrays, "kept")
        self._make_room()
        if len(kept) != self.counts[KEPT] or len(kept) >= len(self.kept):
            raise StateError("it keeps another number of states than it counts, or too many")
        self.kept[: len(kept)] = kept

    def copy(self) -> Self:
        """Return a state that goes its own way."""
        return type(self)(*(getattr(self, name).copy() for name in self.fields))

    def __reduce__(self) -> tuple[type[Self], tuple[Array, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.fields)
