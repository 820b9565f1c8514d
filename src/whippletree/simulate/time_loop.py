"""The time loop in machine code: it calls the method's step by address, and Python is not entered in it.

It runs until all outputs of a stretch are written, or something is to be decided; it leaves everything in the
`RunState`, always at the end of a good step. A method is two functions: `take_step` goes on by one step, with all that
belongs to it (see `step_output`), and `look_back` logs a singular position that the last step went over.
"""

from __future__ import annotations

from whippletree.simulate.corner_crossings import at_corner
from whippletree.simulate.kernel_calls import KernelBuffers
from whippletree.simulate.native_functions import declared, entry
from whippletree.simulate.native_structs import Address, NativeStruct, Number, Numbers, NumberTable
from whippletree.simulate.run_state import LOOPS, OUTPUTS, RunState, Status
from whippletree.simulate.state_rates import evaluate_end
from whippletree.simulate.step_output import full, keep_present, write_present
from whippletree.simulate.zero_crossings import EventWatch

__all__ = ["SMALLEST_ALLOWED", "TOLERANCE", "StepperCode", "look_back", "run_stretch", "take_step"]

_DONE, _PAUSED, _EVENT, _AGAIN, _CORNER = Status.DONE, Status.PAUSED, Status.EVENT, Status.AGAIN, Status.CORNER

# in `StepperCode.limits`
TOLERANCE = 0
SMALLEST_ALLOWED = 1  # step


class StepperCode(NativeStruct):
    """A method in machine code: its two functions, and the structs that they work with."""

    method: Address  # what it is: coefficients, kernels
    work: Address  # its arrays
    limits: Numbers  # (2,)
    evaluates_end: Number  # 1 if its steps leave the end evaluated
    take_step: Address
    look_back: Address


@declared
def take_step(s: StepperCode, b: KernelBuffers, run: RunState, w: EventWatch, until: Numbers, rows: NumberTable) -> int:
    """Take one step of a method; a step that is to be tried again with another size leaves the run where it is."""
    raise NotImplementedError  # only methods have code


@declared
def look_back(s: StepperCode, b: KernelBuffers, run: RunState) -> None:
    """Log a singular position that the last step went over; the present state is just evaluated."""
    raise NotImplementedError


@entry
def run_stretch(
    s: StepperCode, b: KernelBuffers, run: RunState, w: EventWatch, until: Numbers, rows: NumberTable, most: int
) -> int:
    """Go on with a run until all outputs `until` (times) are written to `rows`, or something is to be decided.

    Events that `w` watches are recorded in it; one that acts ends the step that it is in.
    """
    write_present(run, until, rows)
    status, taken = _DONE, 0
    while status == _DONE and run.counts[OUTPUTS] < until.size:
        if taken >= most or full(run, w):
            status = _PAUSED
            break
        taken += 1
        status = take_step(s, b, run, w, until, rows)
        keep_present(run)
        if status == _AGAIN:
            status = _DONE
        elif status == _DONE and w.counts[1]:
            status = _EVENT
        elif status == _DONE and at_corner(run):
            status = _CORNER
    if (
        run.flags[LOOPS]
        and not s.evaluates_end
        and status in (_DONE, _PAUSED, _EVENT, _CORNER)
        and evaluate_end(b, run)
    ):
        look_back(s, b, run)
    return status
