"""Simulations that have ended and wait for another run with the same settings, with their bound kernels.

They are kept with the calls of their system (`Evaluator.idle`), and are forgotten when these are. A simulation that
users have had in their hands, or that has failed, does not come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whippletree.simulate.simulation import Simulation
from whippletree.system import System

__all__ = ["begun_simulation", "give_back"]

_START = ("q", "v", "z", "t", "tau", "parameters")
_MOST_SETTINGS, _MOST_EACH = 4, 8
"""Largest numbers of settings, and of simulations with the same settings, that are kept of a system."""

_LARGEST = 4_000_000
"""Largest record of steps with which a simulation is kept, in bytes: where runs are long, binding costs little."""


def begun_simulation(system: System, options: Mapping[str, Any]) -> Simulation:
    """Return a simulation with these options at its start, which may be one that has ended.

    >>> from whippletree.system.example_systems import pendulum
    >>> s = pendulum()
    >>> first = begun_simulation(s, {"v": [1.0], "tolerance": 1e-6})
    >>> give_back(first, {"tolerance": 1e-6})
    >>> begun_simulation(s, {"v": [2.0], "tolerance": 1e-6}) is first, first.state.v
    (True, array([2.]))
    """
    waiting = system.kernels.evaluate.idle.get(_settings(options))
    if waiting:
        try:
            found: Simulation = waiting.pop()
        except IndexError:  # another thread was faster
            return Simulation(system, **options)
        found.restart(**{name: options[name] for name in _START if name in options})
        return found
    return Simulation(system, **options)


def give_back(simulation: Simulation, options: Mapping[str, Any]) -> None:
    """Keep a simulation that has ended well for another run with the same settings."""
    settings, idle = _settings(options), simulation.system.kernels.evaluate.idle
    if settings is None or simulation.run_state.kept.nbytes > _LARGEST:
        return
    if settings not in idle and len(idle) >= _MOST_SETTINGS:
        idle.clear()
    waiting = idle.setdefault(settings, [])
    if len(waiting) < _MOST_EACH:
        waiting.append(simulation)


def _settings(options: Mapping[str, Any]) -> tuple[object, ...] | None:
    """Return all options but the start as a key; None where they cannot be one, or functions of users are called."""
    if options.get("on_event") is not None or "checked" in options:
        return None
    key = tuple(sorted((name, type(one).__name__, one) for name, one in options.items() if name not in _START))
    try:
        hash(key)
    except TypeError:
        return None
    return key
