"""Steps that keep pace with the clock of the wall."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.realtime.step_equations import StepStatus

if TYPE_CHECKING:
    from whippletree.realtime.realtime_stepper import RealtimeStepper

__all__ = ["PacedRun", "keep_pace"]

_NAP = 1.5e-3
"""Seconds before a deadline up to which the process sleeps; operating systems wake it late by up to about this."""


@user_facing
@readable
@dataclass(frozen=True)
class PacedRun:
    """A run that kept pace with the clock: states at the ends of steps, the first at the start.

    `late` are the seconds by which each step's end was behind its deadline, zero where it was in time; a deadline is
    missed when the next one has passed, too.
    """

    t: Array
    q: Array
    v: Array
    late: Array
    step: float
    status: StepStatus
    cause: str

    @property
    def missed(self) -> int:
        """How many deadlines were missed by more than a step."""
        return int((self.late > self.step).sum())

    def __str__(self) -> str:
        latest = 1e3 * self.late.max(initial=0.0)
        told = f"{len(self.late)} steps, {self.missed} deadlines missed, latest by {latest:.3f} ms"
        return told + (f"; stopped: {self.cause}" if self.cause else "")


def keep_pace(
    stepper: RealtimeStepper, steps: int, control: Callable[[RealtimeStepper], object] | None, pace: float
) -> PacedRun:
    """Take steps, each when its time has come."""
    length = stepper.options.step / pace
    try:
        states, late = np.empty((steps + 1, stepper.state.size)), np.zeros(steps)
    except (ValueError, MemoryError):
        raise StateError(f"the states of {steps} steps do not fit into memory: run for a shorter duration") from None
    states[0] = stepper.state
    done = 0
    begun = time.perf_counter()
    for k in range(steps):
        if control is not None:
            control(stepper)
        if stepper.step() is not StepStatus.DONE:
            break
        done, states[k + 1] = k + 1, stepper.state
        late[k] = _until(begun + (k + 1) * length)
    nq, nv = stepper.system.nq, stepper.system.nv
    kept = states[: done + 1]
    return PacedRun(
        kept[:, -1], kept[:, :nq], kept[:, nq : nq + nv], late[:done], length, stepper.status, stepper.cause
    )


def _until(deadline: float) -> float:
    """Wait for a deadline; return by how much it has passed already."""
    left = deadline - time.perf_counter()
    if left > _NAP:
        time.sleep(left - _NAP)
    while time.perf_counter() < deadline:
        pass
    return max(0.0, -left)
