"""Real time: steps of fixed length and fixed work, their timing and C source, and runs that keep pace with a clock."""

from whippletree.realtime.paced_runs import PacedRun
from whippletree.realtime.realtime_stepper import RealtimeStepper, realtime
from whippletree.realtime.step_equations import StepStatus
from whippletree.realtime.step_timing import StepTiming

__all__ = ["PacedRun", "RealtimeStepper", "StepStatus", "StepTiming", "realtime"]
