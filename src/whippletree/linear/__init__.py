"""Linear models: `System.linearize`, their modes, responses and plots."""

from whippletree.linear.linear_model import LinearModel, StepResponse
from whippletree.linear.linearization import linearize, minimal_coordinates
from whippletree.linear.modal_analysis import Mode, Modes

__all__ = ["LinearModel", "Mode", "Modes", "StepResponse", "linearize", "minimal_coordinates"]
