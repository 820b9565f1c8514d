"""The one way from a function's name, a state and options to an array: every call of a system goes through here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import ModelError, StateError
from whippletree.formulations.methods.registry import as_arguments, formulation_name, known, loop_formulations
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import Baumgarte, JointValues, ParameterValues, PlaceLike, Wrenches
from whippletree.spatial.scalars import number, read_column, truth
from whippletree.system.calls import Call, number_of_threads
from whippletree.system.engine import Engine
from whippletree.system.equations import Request
from whippletree.system.functions import FUNCTIONS
from whippletree.system.input_reader import as_array

__all__ = [
    "AUTO",
    "PLAIN",
    "CallOptions",
    "Evaluator",
    "JointValues",
    "ParameterValues",
    "Wrenches",
    "baumgarte_terms",
    "options_of",
]

AUTO = "auto"
"""The formulation that is best for a function."""

_NONE = (0.0, 0.0)


class CallOptions(NamedTuple):
    """The arguments beside the state when a function of a system is evaluated.

    `a` are accelerations of prescribed hinges, `z` auxiliary states, `check` asks for states that satisfy the closures,
    `joints` are those whose reactions are wanted, if not all.
    """

    a: JointValues = None
    t: ArrayLike = 0.0
    z: ArrayLike | Mapping[str, ArrayLike] | None = None
    wrenches: Wrenches | None = None
    parameters: ParameterValues = None
    formulation: str = AUTO
    baumgarte: tuple[float, float] | None = None
    check: bool = False
    joints: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the state alone determines the answer, with the time where that counts."""
        return (
            self.wrenches is None
            and self.parameters is None
            and self.formulation is AUTO
            and self.a is None
            and self.z is None
            and self.baumgarte is None
            and not self.joints
        )


PLAIN = CallOptions()
"""Nothing but the state."""

_CHECKED = CallOptions(check=True)
_FIELDS = frozenset(CallOptions._fields) - {"joints"}


def options_of(given: Mapping[str, Any], *, checked: bool) -> CallOptions:
    """Return options as the user gave them, those of the formulation as a part of its name.

    >>> options_of({"formulation": "fully_recursive", "reference": "joint"}, checked=False).formulation
    'fully_recursive/joint'
    """
    if not given:
        return _CHECKED if checked else PLAIN
    known = {name: value for name, value in given.items() if name in _FIELDS}
    rest = given.keys() - _FIELDS - {"threads"}
    choice = {name: given[name] for name in given if name in rest and given[name] is not None}
    if choice:
        known["formulation"] = formulation_name(known.get("formulation", AUTO), **choice)
    known["check"] = truth(known["check"], "check=") if "check" in known else checked
    return CallOptions(**known)


class Evaluator:
    """Evaluates functions of a system by name.

    `cached` holds the calls that need nothing but a state, by `cache_key`: the second call of a function finds its
    kernel there at once. What is asked for `once` is evaluated as it was traced, and not compiled.

    >>> from whippletree.system.example_systems import pendulum
    >>> evaluate = pendulum().kernels.evaluate
    >>> evaluate("mass_matrix", ([0.0],)).round(6)
    array([[0.666667]])
    """

    def __init__(self, engine: Engine, *, once: bool = False) -> None:
        self.engine, self.inputs, self._once = engine, engine.inputs, once
        self.closed = engine.equations.closed
        self.cached: dict[str, Call] = {}
        self.idle: dict[object, list[Any]] = {}  # simulations that wait for another run
        self._calls: dict[tuple[object, ...], tuple[Call, bool, bool]] = {}

    def __call__(
        self,
        function: str,
        state: tuple[object, ...],
        options: CallOptions = PLAIN,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Evaluate a function at a state `(q, v, ...)` or a batch of them."""
        if threads is not None:
            number_of_threads(threads)
        key = function if options is PLAIN else cache_key(function, options.check) if options.empty else ""
        call = self.cached.get(key)
        if call is not None:
            if options is not PLAIN:
                self.inputs.idle_time(options.t)
            return call.run(state, out, threads)
        call, more = self.prepare(function, options)
        if key and all(value is None for value in more):
            self.cached[key] = call
        return call.run((*state, *more), out, threads)

    def answer(
        self, function: str, state: tuple[object, ...], given: Mapping[str, Any], out: Array | None = None
    ) -> Array:
        """Evaluate a function at a state with options as the user gave them."""
        options = options_of(given, checked=FUNCTIONS[function].dynamic)
        return self(function, state, options, out, given.get("threads"))

    def call(self, request: Request) -> Call:
        """Return the call of a request, of machine code or not."""
        return self.engine.call(request, once=self._once)

    def forget(self) -> None:
        """Drop all kept calls, for instance when `auto` changes its formulation.

        >>> from whippletree.system.example_systems import four_bar
        >>> s = four_bar()
        >>> before = s.mass_matrix(s.q0)
        >>> s.kernels.evaluate.forget()
        >>> bool((s.mass_matrix(s.q0) == before).all())
        True
        """
        self.cached.clear()
        self._calls.clear()
        self.idle.clear()

    def prepare(self, function: str, options: CallOptions, frame: str = "") -> tuple[Call, tuple[object, ...]]:
        """Return the call of a function, which may be about a frame, and the values of its inputs beyond the state."""
        equations = self.engine.equations
        a, t, z, wrenches, parameters, formulation, baumgarte, check, joints = options
        more: list[object] = []
        row = FUNCTIONS[function]
        reacts = row.of_elements and bool(equations.description.reaction_laws)
        if equations.prescribed and (row.dynamic or reacts):
            more.append(self.inputs.states.velocities(a) if isinstance(a, Mapping) else a)
        elif a is not None:
            raise StateError("a= is for prescribed hinges, and there is none: declare one with prescribed=True")
        places: tuple[str, ...] = ()
        if wrenches is not None:
            by_place = self.inputs.wrenches(wrenches)
            places = tuple(by_place)
            more += by_place.values()
        if formulation is not AUTO:
            formulation = formulation_name(formulation)
        damping = _NONE if baumgarte is None else baumgarte_terms(baumgarte, formulation)
        call, stated, timed = self._call((function, formulation, frame, places, check and self.closed, damping, joints))
        if stated:
            more.append(z)
        elif z is not None:
            raise StateError("z= is for auxiliary states, and there is none: declare one with mechanism.state(...)")
        if timed:
            more.append(as_array(t, self.inputs.argument("t", 1)))
        elif t is not PLAIN.t:
            self.inputs.idle_time(t)
        if parameters is not None:
            values = self.inputs.parameters(parameters)
            more += [] if values is None else [values]
        return call, tuple(more)

    def _call(self, key: tuple[Any, ...]) -> tuple[Call, bool, bool]:
        """Return the call of a request, given as its fields, and whether states and the time are among its inputs."""
        found = self._calls.get(key)
        if found is None:
            equations, request = self.engine.equations, Request(*key)
            found = self.call(request), equations.stated(request), equations.timed(request)
            self._calls[key] = found
        return found

    def at_place(
        self,
        function: str,
        place: PlaceLike,
        state: tuple[object, ...],
        parameters: ParameterValues = None,
        out: Array | None = None,
    ) -> Array:
        """Evaluate a function that is about a body or a frame."""
        given = self.inputs.parameters(parameters)
        call = self.call(Request(function, AUTO, self.inputs.place_name(place)))
        return call.run(state if given is None else (*state, given), out)


def cache_key(function: str, check: bool) -> str:
    """Return under which name a call is kept.

    >>> cache_key("forward_dynamics", True), cache_key("mass_matrix", False)
    ('forward_dynamics, checked', 'mass_matrix')
    """
    return f"{function}, checked" if check else function


def _baumgarte_owners() -> Iterator[str]:
    """Yield the formulations that take Baumgarte's terms, with their options where these decide."""
    there = loop_formulations()
    for name in dict.fromkeys(one.name for one in there):
        family = [one for one in there if one.name == name]
        takers = [one for one in family if one.takes_baumgarte]
        yield from [f'formulation="{name}"'] if takers == family else map(as_arguments, takers)


_FASTEST = 1e100
"""The largest of Baumgarte's numbers, in 1/s, whose square is multiplied by residuals."""


def baumgarte_terms(baumgarte: Baumgarte, formulation: str) -> tuple[float, float]:
    """Return Baumgarte's two numbers, checked, for a formulation that takes them.

    >>> baumgarte_terms((5, 5), "joint_multipliers")
    (5.0, 5.0)
    """
    method = known(formulation)
    if method is None or not method.takes_baumgarte:
        raise StateError(f"baumgarte= belongs to {', and to '.join(_baumgarte_owners())}")
    try:
        alpha, beta = (number(x, "baumgarte=") for x in read_column(baumgarte, 2, "baumgarte="))
    except ModelError:
        raise StateError("baumgarte= must be two numbers, alpha and beta, in 1/s") from None
    if not (np.isfinite([alpha, beta]).all() and alpha >= 0 and beta >= 0):
        raise StateError("baumgarte= must be two finite numbers that are not negative")
    if max(alpha, beta) > _FASTEST:
        raise StateError(f"baumgarte= must be at most {_FASTEST:g} /s: the square of {max(alpha, beta):g} is no number")
    return alpha, beta
