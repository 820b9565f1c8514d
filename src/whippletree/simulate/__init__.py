"""Simulation: integration methods in machine code or in Python, and states that stay on the closures."""

from whippletree.simulate.python_stepping import MotionRates, PythonStepper
from whippletree.simulate.simulation import Simulation, State
from whippletree.simulate.steppers import MethodOptions, Stepper, method_names, register_stepper

__all__ = [
    "MethodOptions",
    "MotionRates",
    "PythonStepper",
    "Simulation",
    "State",
    "Stepper",
    "method_names",
    "register_stepper",
]
