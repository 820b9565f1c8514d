"""The options of a system's calls: each stated once, with its type and its default.

A call takes its state by position and names here which options it knows:

    def bias_force(self, q, v, *, out=None, **options: Unpack[ForceOptions]) -> Array: ...

So an editor completes the options and a type checker refuses others; `public_call` shows them to `help()` with their
defaults, and refuses what a call does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypedDict

from numpy.typing import ArrayLike

from whippletree.model.argument_types import (
    Baumgarte,
    Freedoms,
    JointLike,
    JointValues,
    ParameterValues,
    PlaceLike,
    Wrenches,
)
from whippletree.model.description import GROUND

__all__ = [
    "DEFAULTS",
    "Branches",
    "ChoiceOptions",
    "DerivativeOptions",
    "DrivenOptions",
    "DynamicsOptions",
    "ElementOptions",
    "ForceOptions",
    "FrameOptions",
    "FunctionOptions",
    "HoldOptions",
    "InverseOptions",
    "LoadOptions",
    "MassOptions",
    "MomentumOptions",
    "MotionOptions",
    "ReactionOptions",
    "SourceOptions",
    "StateOptions",
    "TimeOptions",
]

Branches: TypeAlias = str | Mapping[str, str]
"""A formulation by name, or formulations by the bodies with which their branches begin."""


class TimeOptions(TypedDict, total=False):
    """The time, in seconds, and values of parameters."""

    t: ArrayLike
    parameters: ParameterValues


class HoldOptions(TimeOptions, total=False):
    """`hold`: joints or freedoms that stay where they are."""

    hold: Freedoms | None


class FrameOptions(TimeOptions, total=False):
    """`frame`: "ground" or "body", in whose axes the result is."""

    frame: str


class MomentumOptions(TimeOptions, total=False):
    """`about`: "center_of_mass" or "origin"."""

    about: str


class StateOptions(TimeOptions, total=False):
    """`z`: auxiliary states of force elements, whole or by name."""

    z: ArrayLike | Mapping[str, ArrayLike] | None


class ElementOptions(StateOptions, total=False):
    """`threads`: how many share a batch; all processors by default."""

    threads: int | None


class MotionOptions(ElementOptions, total=False):
    """`a`: accelerations of prescribed joints."""

    a: JointValues


class LoadOptions(ElementOptions, total=False):
    """`wrenches`: [moment; force] at bodies or frames, in ground axes."""

    wrenches: Wrenches | None


class DrivenOptions(LoadOptions, total=False):
    """`check`: refuse a state that does not satisfy the closures."""

    a: JointValues
    check: bool


class DerivativeOptions(DrivenOptions, total=False):
    """`frame`: the body or frame that the result is about."""

    frame: PlaceLike


class MassOptions(TimeOptions, total=False):
    """`formulation`: how the equations are solved, by name."""

    formulation: str
    threads: int | None


class ForceOptions(LoadOptions, total=False):
    """`formulation`: how the equations are solved, by name."""

    formulation: str


class InverseOptions(ForceOptions, total=False):
    """`actuators`: the joints or freedoms that act."""

    actuators: Freedoms | None
    check: bool


class ChoiceOptions(TypedDict, total=False):
    """A formulation, and the options of formulations."""

    formulation: Branches
    branches: Mapping[str, str] | None
    reference: str | Mapping[str, str] | None
    coordinates: str | None
    closed_by: str | None
    multipliers: str | None
    weight: float | None
    iterations: int | None
    omega: float | None
    mu: float | None


class FunctionOptions(ChoiceOptions, total=False):
    """`frame`: the place of the function; `wrenches`: places at which wrenches act; `joints`: those asked for."""

    frame: PlaceLike
    wrenches: Sequence[PlaceLike]
    joints: Sequence[JointLike]


class SourceOptions(FunctionOptions, total=False):
    """What a step takes besides: what begins its names, the frames that it tells, its length, its method, its start."""

    prefix: str
    frames: Sequence[PlaceLike]
    step: float
    method: str
    q: JointValues
    v: JointValues
    z: ArrayLike | Mapping[str, ArrayLike] | None
    t: float
    parameters: ParameterValues
    alpha: float | None
    projections: bool


class DynamicsOptions(DrivenOptions, ChoiceOptions, total=False):
    """`baumgarte`: alpha and beta, in 1/s, of terms that drive the closures closed."""

    baumgarte: Baumgarte


class ReactionOptions(DynamicsOptions, total=False):
    """`frame`: in whose axes; `joints`: those whose reactions are wanted."""

    frame: PlaceLike
    joints: Sequence[JointLike] | None


DEFAULTS: dict[str, Any] = {
    "t": 0.0,
    "formulation": "auto",
    "check": True,
    "frame": GROUND,
    "about": "center_of_mass",
    "prefix": "model",
    "frames": (),
    "step": 1e-3,
    "method": "rk4",
    "projections": False,
}
"""Values of options that a caller leaves out, where they are not None."""
