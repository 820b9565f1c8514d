"""Numbers of the trapezoidal rule in natural coordinates: penalties and times mu of the conditions, and its limits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.model.names import quoted, suggestion
from whippletree.natural.natural_coordinates import NaturalCoordinates
from whippletree.simulate.run_arguments import positive
from whippletree.system import System
from whippletree.system.evaluator import ParameterValues

__all__ = ["BOOK_STEP", "refuse_masses", "refuse_mechanism", "step_settings"]

BOOK_STEP = 8e-3
"""The step of example 8.6, to which the book's tolerances belong. A change of coordinates is one of accelerations times
h^2 / 4: below this step tolerances go with h^2."""

_SHORTEST, _LONGEST = 1e-100, 1e100
"""Steps whose squares are numbers, in seconds."""

_ALPHA = 1e7
"""Penalty of a condition for each kilogram of the mean mass of the bodies (the book: 10^7 for bodies of 1 kg)."""

_STIFF = 640.0
"""The same times h^2, at least: a condition is then as stiff beside 4/h^2 M as in example 8.6, where h = 0.008. With
less, multipliers that are corrected do not keep up."""

_NEGATIVE = 1e-12
"""Masses that are negative by less, relative to the largest of a joint, are zeros that rounding has missed."""

_DAMPING = 25.0
"""h / mu unless given. An error that alternates from step to step decays by (1 - 2 mu / h) / (1 + 2 mu / h), 0.85
here, and must do so faster than the directions of conditions turn in a step; the book takes 30 to 80, which is little
for fast motion (docs/theory/natural_coordinates.md).
"""


def step_settings(
    natural: NaturalCoordinates,
    h: float,
    alpha: float | Mapping[str, float] | None,
    mu: float | Mapping[str, float] | None,
    *,
    projections: bool,
) -> Array:
    """Return the step, and alpha and mu of every condition: one for all, or by name, the others having the usual one.

    >>> from whippletree.system.example_systems import pendulum
    >>> step_settings(pendulum().natural, 0.01, None, 1e-3, projections=False)[-1].item()
    0.001
    """
    if not _SHORTEST <= h <= _LONGEST:
        raise StateError(f"step={h:g} s is out of range in natural coordinates: its square is no number")
    mean = float(np.mean(natural.masses)) or 1.0
    weights = _by_condition(natural, alpha, "alpha", max(_ALPHA, _STIFF / h**2) * mean)
    times = _by_condition(natural, 0.0 if projections else mu, "mu", h / _DAMPING)
    return np.concatenate([[h], weights, times])


def _by_condition(
    natural: NaturalCoordinates, given: float | Mapping[str, float] | None, name: str, otherwise: float
) -> Array:
    names = natural.conditions
    found = np.full(len(names), otherwise)
    if isinstance(given, Mapping):
        for key, value in given.items():
            if key not in names:
                raise StateError(f"{name}=: there is no condition {suggestion(key, names)}; see natural.conditions")
            found[names.index(key)] = positive(value, f"{name} of {key!r}")
    elif given is not None:
        zero = isinstance(given, int | float) and given == 0
        found[:] = 0.0 if zero else positive(given, name)
    return found


def refuse_masses(natural: NaturalCoordinates, *, projections: bool, parameters: ParameterValues = None) -> None:
    """Refuse armature of a ball that no body could have, unless projections hold conditions exactly.

    The axes of the child in the parent have masses p_j = (a_1 + a_2 + a_3) / 2 - a_j, of which one is then negative; a
    stiff condition on a negative mass, p z'' + alpha (z + mu z') = 0, has a root to the right.
    """
    if projections:
        return
    where = natural.model.turned_places()
    M = natural.mass_at(parameters) if where else np.zeros((0, 0))
    for k, place in where.items():
        own = np.diag(M)[place]
        if own.min() < -_NEGATIVE * own.max():
            raise StateError(
                f"one of the armatures of joint {quoted(natural.model.joints[k].name)} is more than the other two "
                "together, which no body that turns could have: in natural coordinates that is a negative mass, and "
                "needs projections=True"
            )


def refuse_mechanism(system: System, what: str, remedy: str) -> None:
    """Refuse a mechanism with a feature that steps in natural coordinates cannot take yet, and name the feature."""
    described = system.description
    held, model = {one.name for one in system.natural.held}, system.natural.model
    reasons = (
        [(f'joint "{use.name}" is prescribed', use.prescribed) for use in described.joints]
        + [
            (
                f'joint "{joint.name}" is of a type with a quaternion that does not state what it holds',
                joint.conditions is None and k not in model.relative,
            )
            for k, joint in enumerate(model.joints)
        ]
        + [
            (f'closure "{use.name}" is not a condition on positions', use.name not in held)
            for use in described.closures
        ]
    )
    reasons += [
        ("nothing in it can move", not system.nv),
        ("there are auxiliary states of elements", bool(described.states)),
        ("there are events", bool(described.events)),
        ("a closure depends on time", bool(described.closures_timed)),
    ]
    for words, true in reasons:
        if true:
            raise StateError(f"{what} cannot take this mechanism: {words}. {remedy}")
