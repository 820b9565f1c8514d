"""The table of public calls: a method of a system states itself, and all that is known of it follows.

The method states its name, its state, its options (`call_options`), its result, and in its docstring what it does, with
an example. `public_call` gives it its signature for `help()`, the check of the names of options, and the border at
which errors end (`user_facing`). `calls_of` makes the table, a row for each method, those included whose work is done
in other rooms (`Verb`); by it arguments are fuzzed and the reference is written.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ForwardRef, TypeVar, cast

from whippletree.errors import (
    AssemblyError,
    DynamicsError,
    EquilibriumError,
    ModelError,
    SimulationError,
    StateError,
    WhippletreeError,
)
from whippletree.foundation.user_frames import user_facing
from whippletree.model.names import suggestion
from whippletree.system import call_options
from whippletree.system.functions import FUNCTIONS

__all__ = ["PublicCall", "calls_of", "public_call", "with_options"]

F = TypeVar("F", bound=Callable[..., Any])

UNITS = {
    "acceleration": "rad/s^2 or m/s^2",
    "effort": "N m or N",
    "mass matrix": "kg m^2, kg m or kg",
    "reactions": "N m and N",
    "energy": "J",
    "powers": "J and W",
    "momentum": "kg m^2/s and kg m/s",
    "center of mass": "m",
    "pose": "m",
    "velocity": "rad/s and m/s",
    "residual": "rad or m",
    "q": "rad or m",
    "displacement": "rad or m",
    "rates": "per second",
}
"""Units of results, by the words for these in `FUNCTIONS`."""

_RUN = (AssemblyError, DynamicsError, SimulationError)
_OWN_ERRORS: dict[str, tuple[type[WhippletreeError], ...]] = {
    "assemble": (AssemblyError,),
    "random": (AssemblyError,),
    "inverse_kinematics": (AssemblyError,),
    "sweep_joint": (AssemblyError,),
    "simulate": _RUN,
    "simulate_many": _RUN,
    "realtime": _RUN,
    "equilibrium": (AssemblyError, DynamicsError, EquilibriumError),
    "linearize": (DynamicsError,),
    "matrices": (DynamicsError,),
    "c_source": (DynamicsError,),
    "function": (DynamicsError,),
}
"""The errors of calls that no row of `FUNCTIONS` tells."""


@dataclass(frozen=True)
class PublicCall:
    """A public call: its name, the arguments that make the state, its options, and its documentation."""

    name: str
    state: tuple[str, ...]
    options: tuple[str, ...]
    returns: str
    text: str

    @property
    def shape(self) -> tuple[str | int, ...]:
        """The shape of the result for one state, as `Equations.size` names its numbers, if one function gives it."""
        return FUNCTIONS[self.name].shape if self.name in FUNCTIONS else ()

    @property
    def unit(self) -> str:
        """The unit of the result's entries, where these have one."""
        return UNITS.get(FUNCTIONS[self.name].result, "") if self.name in FUNCTIONS else ""

    @property
    def summary(self) -> str:
        """Its purpose, in one line."""
        return self.text.partition("\n")[0]

    @property
    def example(self) -> str:
        """How it is called."""
        return "\n".join(line.strip() for line in self.text.splitlines() if line.strip().startswith(">>>"))

    @property
    def raises(self) -> tuple[type[WhippletreeError], ...]:
        """The errors that arguments or states can end in."""
        found: list[type[WhippletreeError]] = [StateError]
        row = FUNCTIONS.get(self.name)
        found += [ModelError] if "name" in self.state or "frame" in self.options else []
        found += [DynamicsError] if row is not None and (row.dynamic or row.solved or row.of_loops) else []
        return (*found, *_OWN_ERRORS.get(self.name, ()))


@functools.cache
def calls_of(owner: type) -> dict[str, PublicCall]:
    """Return all public calls of a class by name.

    >>> from whippletree.system import System
    >>> table = calls_of(System)
    >>> print(table["mass_matrix"].shape, table["mass_matrix"].unit, *table["mass_matrix"].options)
    ('nv', 'nv') kg m^2, kg m or kg t parameters formulation threads
    >>> table["simulate"].state[:1], "tolerance" in table["simulate"].options
    (('duration',), True)
    """
    names = [name for name in dir(owner) if not name.startswith("_")]
    found = {name: getattr(owner, name) for name in names}  # which imports the functions of verbs
    return {name: _row(name, method) for name, method in found.items() if inspect.isfunction(method)}


def _row(name: str, method: Callable[..., Any]) -> PublicCall:
    signature = inspect.signature(method)
    named = signature.parameters.values()
    state = tuple(one.name for one in named if one.kind not in (one.KEYWORD_ONLY, one.VAR_KEYWORD))[1:]
    options = tuple(one.name for one in named if one.kind is one.KEYWORD_ONLY and one.name != "out")
    return PublicCall(name, state, options, str(signature.return_annotation), inspect.getdoc(method) or "")


def public_call(method: F) -> F:
    """Return a method with its whole signature, its options checked by name, as a border at which errors end."""
    return user_facing(with_options(method))


def with_options(
    function: F,
    defaults: Mapping[str, Any] = call_options.DEFAULTS,
    in_words: Callable[[str, Sequence[str]], str] = suggestion,
) -> F:
    """Return a function whose `**options` are a typed dictionary with these in its signature, and no others taken.

    `defaults` are what the options are that a caller leaves out, where that is not None; `in_words` tells of an unknown
    name and those that are known.
    """
    signature = inspect.signature(function)
    *stated, last = signature.parameters.values()
    if last.kind is not last.VAR_KEYWORD:
        return function
    words: str = last.annotation.removeprefix("Unpack[").removesuffix("]")
    kinds = getattr(call_options, words, None) or function.__globals__[words]
    options = [
        inspect.Parameter(name, last.KEYWORD_ONLY, default=defaults.get(name), annotation=_text(kind))
        for name, kind in kinds.__annotations__.items()
    ]
    if "branches" in kinds.__annotations__:
        more = last.replace(name="choice", annotation="object")  # options of formulations from outside
        function.__signature__ = signature.replace(parameters=[*stated, *options, more])  # type: ignore[attr-defined]
        return function
    names = tuple(one.name for one in (*stated, *options) if one.kind is one.KEYWORD_ONLY and one.name != "out")
    known = frozenset(one.name for one in (*stated, *options))

    @functools.wraps(function)
    def checked(*given: Any, **options: Any) -> Any:
        if options and not known.issuperset(options):
            unknown = next(name for name in options if name not in known)  # not empty: one is not known
            raise StateError(f"{function.__name__}() has no option {in_words(unknown, names)}")
        return function(*given, **options)

    checked.__signature__ = signature.replace(parameters=[*stated, *options])  # type: ignore[attr-defined]
    return cast(F, checked)


def _text(kind: object) -> str:
    return kind.__forward_arg__ if isinstance(kind, ForwardRef) else str(kind)
