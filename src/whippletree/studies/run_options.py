"""The options of runs that say how these are integrated and where they start, each stated once with its type.

`simulate` and `simulate_many` name them by `**options: Unpack[...]`, as the calls of a system do (`call_options`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypedDict, TypeVar

from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.model.argument_types import Baumgarte, JointValues, ParameterValues
from whippletree.model.names import quoted
from whippletree.simulate.event_handling import OnEvent
from whippletree.simulate.simulation import Simulation
from whippletree.system.public_call import with_options

__all__ = ["MethodSettings", "NaturalStepOptions", "RunOptions", "StartOptions", "refuse_natural", "with_run_options"]


class StartOptions(TypedDict, total=False):
    """The state at the start, and constant efforts and parameters."""

    q: JointValues
    v: JointValues
    z: ArrayLike | None
    tau: JointValues
    parameters: ParameterValues


class MethodSettings(TypedDict, total=False):
    """The integration of a run: its method and the step or the tolerance, its equations, and functions of events."""

    method: str
    step: float | None
    tolerance: float
    adaptive: bool | None
    spectral_radius: float | None
    max_step: float | None
    formulation: str
    reference: str | Mapping[str, str] | None
    baumgarte: Baumgarte
    on_event: OnEvent


class NaturalStepOptions(TypedDict, total=False):
    """The further options of runs in natural coordinates, as in `NaturalOptions`."""

    iterations: int | None
    alpha: float | Mapping[str, float] | None
    mu: float | Mapping[str, float] | None
    augmented: int
    projections: bool


class RunOptions(StartOptions, MethodSettings, NaturalStepOptions, total=False):
    """The options of a run beside its outputs, its controller and the file it is kept in."""


_DEFAULTS: dict[str, Any] = {
    **{one.name: one.default for one in inspect.signature(Simulation).parameters.values()},
    "augmented": 0,
    "projections": False,
}

F = TypeVar("F", bound=Callable[..., Any])


def with_run_options(function: F) -> F:
    """Return a function of runs with its options in its signature, with a simulation's defaults; others are refused."""
    return with_options(function, _DEFAULTS, _all_named)


def _all_named(name: str, known: Sequence[str]) -> str:
    """Tell of an unknown name, and all that are known, those like it first."""
    ordered = [one for one in known if one not in NaturalStepOptions.__annotations__]
    return f"{quoted(name)}; there is {', '.join(dict.fromkeys([*get_close_matches(name, ordered), *ordered]))}"


def refuse_natural(options: Mapping[str, object]) -> None:
    """Refuse options that only runs in natural coordinates have.

    >>> refuse_natural({"step": 0.01})
    """
    for name in NaturalStepOptions.__annotations__:
        if name in options:
            raise StateError(
                f'simulate() has no option "{name}", unless formulation="natural" is given and method= left out'
            )
