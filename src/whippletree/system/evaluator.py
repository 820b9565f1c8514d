"""The one way from a function's name, a state and options to an array: every call of a system goes through here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.system.arguments import as_array
from whippletree.system.calls import Call
from whippletree.system.engine import Engine
from whippletree.system.equations import Request, formulation_name

__all__ = ["AUTO", "PLAIN", "CallOptions", "Evaluator", "Wrenches"]

AUTO = "auto"
"""The formulation that is best for a function."""

Wrenches = Mapping[Any, Any]
"""[moment; force] at the origins of bodies or frames, in ground axes."""

_DAMPED = frozenset(
    {"joint_multipliers", "velocity_transformation", "velocity_transformation/reference_point/multipliers"}
)
"""Formulations with multipliers in joint coordinates, to which Baumgarte's terms can be added."""


class CallOptions(NamedTuple):
    """What can be said beside the state when a function of a system is evaluated.

    `a` are accelerations of prescribed hinges, `z` auxiliary states, `check` asks for states that satisfy the closures.
    """

    a: Any = None
    t: Any = 0.0
    z: Any = None
    wrenches: Wrenches | None = None
    parameters: Any = None
    formulation: str = AUTO
    baumgarte: Any = None
    check: bool = False

    @classmethod
    def read(cls, *, formulation: str = AUTO, check: bool = True, **given: Any) -> CallOptions:
        """Return options as given by keyword to a call; further keywords choose within the formulation.

        >>> CallOptions.read(formulation="fully_recursive", reference="joint").formulation
        'fully_recursive/joint'
        """
        options = {name: given.pop(name) for name in cls._fields if name in given}
        return cls(formulation=formulation_name(formulation, **given), check=bool(check), **options)

    def nothing_given(self) -> bool:
        """Tell whether the state alone determines the answer."""
        given = (self.a, self.z, self.wrenches, self.parameters, self.baumgarte)
        return self.formulation == AUTO and all(value is None for value in given)


PLAIN = CallOptions()
"""Nothing but the state."""


class Evaluator:
    """Evaluates functions of a system by name.

    `cached` holds the calls that need nothing but a state, by `cache_key`: the second call of a function finds its
    kernel there at once.

    >>> from whippletree.system.example_systems import pendulum
    >>> evaluate = pendulum().kernels.evaluate
    >>> evaluate("mass_matrix", ([0.0],)).round(6)
    array([[0.666667]])
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self.inputs = engine, engine.inputs
        self.closed = engine.equations.closed
        self.cached: dict[str, Call] = {}

    def __call__(
        self,
        function: str,
        state: tuple[Any, ...],
        options: CallOptions = PLAIN,
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Evaluate a function at a state `(q, v, ...)` or a batch of them."""
        if options is PLAIN and function in self.cached:
            return self.cached[function].run(state, out, threads)
        call, more = self.prepare(function, options)
        if options.nothing_given() and all(value is None for value in more):
            self.cached[cache_key(function, options.check)] = call
        return call.run((*state, *more), out, threads)

    def prepare(self, function: str, options: CallOptions) -> tuple[Call, tuple[Any, ...]]:
        """Return the call of a function, and the values of its inputs beyond the state."""
        equations = self.engine.equations
        more: list[Any] = []
        if equations.prescribed and self.engine.solves(function):
            a = options.a
            more.append(self.inputs.states.velocities(a) if isinstance(a, Mapping) else a)
        elif options.a is not None:
            raise StateError("a= is for prescribed hinges, and there is none: declare one with prescribed=True")
        wrenches = self.inputs.wrenches(options.wrenches)
        more += wrenches.values()
        formulation = formulation_name(options.formulation)
        check = options.check and self.closed
        baumgarte = _damping(options.baumgarte, formulation)
        request = Request(function, formulation, "", tuple(wrenches), check, baumgarte)
        if equations.stated(request):
            more.append(options.z)
        elif options.z is not None:
            raise StateError("z= is for auxiliary states, and there is none: declare one with mechanism.state(...)")
        if equations.timed(request):
            more.append(as_array(options.t, self.inputs.argument("t", 1)))
        parameters = self.inputs.parameters(options.parameters)
        if parameters is not None:
            more.append(parameters)
        return self.engine.call(request), tuple(more)

    def at_place(
        self, function: str, place: Any, state: tuple[Any, ...], parameters: Any = None, out: Any = None
    ) -> Array:
        """Evaluate a function that is about a body or a frame."""
        given = self.inputs.parameters(parameters)
        call = self.engine.call(Request(function, AUTO, self.inputs.place_name(place)))
        return call.run(state if given is None else (*state, given), out)


def cache_key(function: str, check: bool) -> str:
    """Return under which name a call is kept.

    >>> cache_key("forward_dynamics", True), cache_key("mass_matrix", False)
    ('forward_dynamics, checked', 'mass_matrix')
    """
    return f"{function}, checked" if check else function


def _damping(baumgarte: Any, formulation: str) -> tuple[float, float]:
    """Return Baumgarte's two numbers, checked."""
    if baumgarte is None:
        return (0.0, 0.0)
    if formulation not in _DAMPED:
        raise StateError('baumgarte= belongs to formulation="joint_multipliers"')
    try:
        alpha, beta = (float(x) for x in baumgarte)
    except (TypeError, ValueError):
        raise StateError("baumgarte= must be two numbers, alpha and beta, in 1/s") from None
    if not (np.isfinite([alpha, beta]).all() and alpha >= 0 and beta >= 0):
        raise StateError("baumgarte= must be two finite numbers that are not negative")
    return alpha, beta
