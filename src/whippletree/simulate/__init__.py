"""Simulation: integrators in machine code, and states that stay on the closures."""

from whippletree.simulate.simulation import METHOD_NAMES, Simulation, State

__all__ = ["METHOD_NAMES", "Simulation", "State"]
