"""Where a run is: what the time loops are handed, keep up to date and leave to the next stretch.

Arrays, so that machine code can write them and a checkpoint can keep them; their places have names.
"""

from __future__ import annotations

from whippletree.simulate.bundles import Bundle, Numbers, NumberTable, Words

__all__ = [
    "BEFORE",
    "BEFORE_AT",
    "CLOSING",
    "CROSS_BELOW",
    "EVALUATIONS",
    "GIVEN",
    "GOOD_STEP",
    "LOOPS",
    "NEXT_STEP",
    "OUTPUTS",
    "PASSED",
    "PENDING",
    "PENDING_AT",
    "PLAIN",
    "POWERS",
    "REFUSED",
    "SIGNS",
    "STAY",
    "STEPS",
    "TIME",
    "Course",
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


class Course(Bundle):
    """Where a run is, and what was counted."""

    y: Numbers  # [u = 0, v, z, work in, work dissipated]
    times: Numbers
    counts: Words
    scale: Numbers  # (nv,) what displacements are measured by
    options: Words
    passed: NumberTable  # (n, 1 + nq) times and configurations of the singular positions passed
    kept: Numbers  # the last step (see `noting`)


# in `times`
TIME = 0
NEXT_STEP = 1
GOOD_STEP = 2  # the last one that was no trouble
PENDING = 3  # the smallest share of a pivot just now
PENDING_AT = 4  # and when that was
BEFORE = 5  # share of a pivot where the last step began; zero if that tells nothing
BEFORE_AT = 6  # and when that was
CROSS_BELOW = 7  # the share from which on a singular position is crossed in one step
SIGNS = 8  # how many pivots were below zero where the last step began, or -1 if that tells nothing

# in `counts`
OUTPUTS = 0
STEPS = 1
REFUSED = 2
EVALUATIONS = 3
PASSED = 4

# in `options`
LOOPS = 0  # there are closures
POWERS = 1  # the kernel computes powers
STAY = 2  # stay with a poor choice of coordinates: there is no better one
GIVEN = 3  # the first rates are given
CLOSING = 4  # stages are put on the closures: 1 to the last digit, 2 nearly
PLAIN = 5  # there is nothing but a tree and its joints' efforts
