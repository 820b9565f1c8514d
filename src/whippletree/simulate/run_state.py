"""Where a run is: what the time loops are handed, keep up to date and leave to the next stretch.

Arrays, so that machine code can write them and a checkpoint can keep them; their places have names.
"""

from __future__ import annotations

from whippletree.simulate.native_structs import NativeStruct, Numbers, NumberTable, Words

__all__ = [
    "CLOSE_STAGES",
    "CROSS_BELOW",
    "EVALUATIONS",
    "GOOD_STEP",
    "KEEP_PLAN",
    "LAST_PIVOT",
    "LAST_PIVOT_AT",
    "LOOPS",
    "NEGATIVE_PIVOTS",
    "NEXT_STEP",
    "OUTPUTS",
    "PENDING",
    "PENDING_AT",
    "PLAIN",
    "POWERS",
    "RATES_GIVEN",
    "REFUSED",
    "SINGULAR_FOUND",
    "STEPS",
    "TIME",
    "RunState",
    "Status",
]


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
    STUCK = 20  # Newton's method does not converge


class RunState(NativeStruct):
    """Where a run is, and what was counted."""

    y: Numbers  # [u = 0, v, z, work in, work dissipated]
    times: Numbers
    counts: Words
    scale: Numbers  # (nv,) what displacements are measured by
    options: Words
    singular_found: NumberTable  # (n, 1 + nq) times and configurations of the singular positions passed
    kept: Numbers  # the last step (see `singularity_log`)


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

# in `counts`
OUTPUTS = 0
STEPS = 1
REFUSED = 2
EVALUATIONS = 3
SINGULAR_FOUND = 4

# in `options`
LOOPS = 0  # there are closures
POWERS = 1  # the kernel computes powers
KEEP_PLAN = 2  # stay with a poor choice of coordinates: there is no better one
RATES_GIVEN = 3  # the first rates are given
CLOSE_STAGES = 4  # stages are put on the closures: 1 to the last digit, 2 nearly
PLAIN = 5  # there is nothing but a tree and its joints' efforts
