"""The interface of a system for time loops: its kernels, its loops and their plan, and checks of users' arguments.

The only module of the room that looks into a system.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from whippletree.errors import FileError, StateError
from whippletree.formulations.methods import registry
from whippletree.kernels.kernel import Array, Kernel
from whippletree.model.argument_types import Baumgarte, JointValues, ParameterValues
from whippletree.model.io import write_text
from whippletree.model.mechanism import Mechanism
from whippletree.system import System
from whippletree.system.evaluator import baumgarte_terms
from whippletree.system.formulation_choice import FormulationChoice
from whippletree.system.input_reader import as_array
from whippletree.system.loop_plan import LoopPlan
from whippletree.system.loop_services import LoopServices
from whippletree.system.system import BuildOptions
from whippletree.system.tolerances import NEXT_TO_LOCK

__all__ = [
    "BY_JOINT",
    "build_options",
    "check_closures",
    "checked_baumgarte",
    "checked_configuration",
    "checked_efforts",
    "checked_parameters",
    "checked_time",
    "checked_vector",
    "chosen_formulation",
    "closure_rows",
    "closure_sizes",
    "coordinate_scale",
    "cut_freedoms",
    "default_parameters",
    "driven_freedoms",
    "formulation_text",
    "is_closed",
    "jamming",
    "joint_of",
    "kernel",
    "lock_in_words",
    "loop_plan",
    "loops",
    "model_text",
    "multiplier_count",
    "quaternion_starts",
    "scale",
    "set_chosen_formulation",
    "start_configuration",
    "start_velocities",
    "still_closed",
    "velocity_label",
    "with_plan",
]

_FLOAT = np.dtype(np.float64)

NEXT_TO_JAMMING = 0.02
"""How much more than its own a unit of a load must be short of making, to be told as the cause of steps too small."""

# ---------------------------------------------------------------------- kernels and numbers


def kernel(
    system: System, function: str, formulation: str = "auto", baumgarte: tuple[float, float] = (0.0, 0.0)
) -> Kernel:
    """Return the kernel of a function."""
    return system.kernels.of(function, formulation, baumgarte)


def is_closed(system: System) -> bool:
    """Tell whether there are closures."""
    return system.kernels.closed


def scale(system: System) -> Array:
    """Return the unit of each displacement: a radian, or the characteristic length."""
    return system.kernels.loops.numbers.column_scale


def coordinate_scale(system: System) -> Array:
    """Return the unit of each coordinate: a half for quaternions, for the others that of displacements."""
    by, sizes = scale(system), np.empty(system.nq)
    for use in system.description.coordinate_owners:
        q, v = system.q_slice(use.name), system.v_slice(use.name)
        turned = 4 if use.joint.quaternion else 0
        sizes[q.start : q.start + turned] = 0.5
        sizes[q.start + turned : q.stop] = by[v.start + (3 if turned else 0) : v.stop]
    return sizes


def lock_in_words(system: System, q: Array) -> str:
    """Say which joint's angles are next to gimbal lock; nothing if none are."""
    return system.kernels.states.lock_in_words(q, NEXT_TO_LOCK)


def quaternion_starts(system: System) -> npt.NDArray[np.int64]:
    """Return where unit quaternions begin in q."""
    return np.array([where.start for where in system.kernels.states.quaternions], dtype=np.int64)


def default_parameters(system: System) -> Array:
    """Return the parameters that hold unless others are given."""
    return system.kernels.loops.conditions().parameters


# ---------------------------------------------------------------------- rows of Newton's method


def multiplier_count(system: System) -> int:
    """Return how many multipliers the closures have."""
    return system.kernels.loop_plan.n_rows if system.kernels.closed else 0


def driven_freedoms(system: System) -> list[bool]:
    """Return a mask (nv) of the freedoms whose motion is given."""
    return system.kernels.equations.prescribed_mask


def cut_freedoms(system: System) -> Iterator[slice]:
    """Yield where in v the freedoms of each cut joint are, unless their motion is given."""
    if system.kernels.closed:
        for cut in system.kernels.equations.attachments().cuts:
            if not cut.use.prescribed:
                yield cut.v


def closure_rows(system: System) -> Iterator[tuple[int, bool]]:
    """Yield how many rows each closure keeps, and whether they are on velocities only."""
    if system.kernels.closed:
        equations = system.kernels.equations
        for closure, keep in zip(equations.attachments().all, equations.loop_plan.keep, strict=True):
            yield len(keep), not closure.positional


def closure_sizes(system: System) -> list[int]:
    """Return how many rows each closure has, kept or not."""
    return [attached.closure.n_rows for attached in system.kernels.equations.attachments().all]


# ---------------------------------------------------------------------- loops and their numeric plan


def loops(system: System) -> LoopServices:
    """Return the loops under the system's plan."""
    return system.kernels.loops


BY_JOINT = ', or give the start by joint, as in {"A": 1.0}: the others follow'
"""Advice for a start that is not consistent."""


def check_closures(system: System, q: Array, v: Array, t: float, parameters: Array | None, otherwise: str = "") -> None:
    """Refuse a state that does not satisfy the closures."""
    if system.kernels.closed:
        found = system.kernels.loops
        found.consistency.check(q, v, found.conditions(t, parameters), otherwise)


def still_closed(system: System, t: float, parameters: Array | None) -> bool:
    """Tell whether parameters leave the loops closed where the system was assembled."""
    if parameters is None or not system.kernels.closed:
        return True
    found = system.kernels.loops
    try:
        found.consistency.check(system.q0, np.zeros(system.nv), found.conditions(t, parameters))
    except StateError:
        return False
    return True


def loop_plan(system: System) -> LoopPlan:
    """Return the numeric plan of the loops."""
    return system.kernels.loop_plan


def jamming(system: System, state: Mapping[str, Any], ahead: float = 0.0) -> str | None:
    """Say which force law on reactions is about to have no solution at a state, or some time ahead of it, if one is."""
    if not system.description.reaction_laws:
        return None
    words = system.kernels.equations.load_failure(state, margin=NEXT_TO_JAMMING)
    if words is None and ahead:
        moved = {"q": system.integrate(state["q"], ahead * state["v"]), "t": state["t"] + ahead}
        words = system.kernels.equations.load_failure({**state, **moved}, margin=NEXT_TO_JAMMING)
    return words


def with_plan(system: System, plan: LoopPlan) -> System:
    """Return the system with another numeric plan; compiled code is shared."""
    return system.kernels.planned(plan)


def chosen_formulation(system: System) -> str | None:
    """Return the formulation of `auto` for the loops, if it has been chosen."""
    chosen = system.kernels.loops.auto.known
    return None if chosen is None else chosen.packed().decode()


def formulation_text(formulation: Any, reference: str | Mapping[str, str] | None = None) -> Any:
    """Return the text of methods that are given by branch, or with a reference point; anything else as it is."""
    if reference is not None:
        return registry.formulation_name(formulation, reference=reference)
    return registry.formulation_name(formulation) if isinstance(formulation, Mapping) else formulation


def set_chosen_formulation(system: System, chosen: str) -> None:
    """Set the formulation of `auto` to that of another run: the choice may differ from time to time."""
    found = FormulationChoice.unpacked(chosen.encode())
    registry.find(found.name)
    system.kernels.loops.auto.chosen = found


# ---------------------------------------------------------------------- users' arguments


def checked_time(system: System, t: ArrayLike) -> float:
    """Return a finite time."""
    return system.kernels.inputs.time(t)


def checked_configuration(system: System, q: JointValues) -> Array:
    """Return one configuration of finite numbers."""
    return np.array(system.kernels.inputs.configuration(q))


def start_configuration(system: System, q: JointValues, t: float, parameters: Array | None) -> Array:
    """Return a configuration to start from, given as a vector or by joint.

    Joints that are named stay where they are put. In loops the others follow, from where the system was assembled; on
    a tree they are neutral.
    """
    if not isinstance(q, Mapping):
        return checked_configuration(system, q)
    named = system.configuration(q)
    if not system.kernels.closed:
        return named
    guess = system.q0
    for joint in q:
        guess[system.q_slice(joint)] = named[system.q_slice(joint)]
    return system.assemble(system.configuration(guess), hold=[*q], t=t, parameters=parameters)


def start_velocities(system: System, q: Array, v: JointValues, t: float, parameters: Array | None) -> Array:
    """Return velocities to start with, given as a vector or by joint; those that are named stay, others follow."""
    if isinstance(v, Mapping) and system.kernels.closed:
        return system.consistent_velocities(q, v, hold=[*v], t=t, parameters=parameters)
    return system.kernels.inputs.motion(v, "v")[0]


def checked_efforts(system: System, tau: JointValues) -> Array:
    """Return efforts, given as a vector or by joint."""
    if type(tau) is np.ndarray and tau.dtype is _FLOAT and tau.shape == (system.nv,) and _finite(tau):
        return tau.copy()
    return np.array(system.kernels.inputs.efforts(tau))


def _finite(numbers: Array) -> bool:
    """Tell whether all of a few numbers are finite; if they are too large to be added up, it may be denied."""
    return math.isfinite(sum(numbers.tolist()))


def checked_parameters(system: System, parameters: ParameterValues) -> Array | None:
    """Return one set of parameters, or None for the default ones."""
    return system.kernels.inputs.parameter_set(parameters)


def checked_baumgarte(system: System, baumgarte: Baumgarte, formulation: str) -> tuple[float, float] | None:
    """Return Baumgarte's two numbers, of a formulation that takes them and a mechanism that has loops; None if none."""
    if baumgarte is None:
        return None
    if not system.kernels.closed:
        raise StateError("baumgarte= holds loops together, and there are none: leave it out")
    return baumgarte_terms(baumgarte, formulation)


def checked_vector(system: System, value: ArrayLike, name: str, size: int) -> Array:
    """Return one vector of finite numbers."""
    argument = system.kernels.inputs.argument(name, size)
    array = as_array(value, argument)
    if array.ndim != 1:
        raise StateError(f"{name} must be one vector of {size} numbers, but its shape is {array.shape}")
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        i = int(wrong[0])
        raise StateError(f"{name}[{i}] is {array[i]}: {argument.label(i)} must be a finite number")
    return array


# ---------------------------------------------------------------------- names and descriptions


def velocity_label(system: System, i: int) -> str:
    """Return the name of a velocity for messages."""
    return system.kernels.states.velocity_label(i)


def joint_of(system: System, i: int) -> str:
    """Return the joint that a velocity belongs to."""
    return system.kernels.states.joint_of(i)


def build_options(system: System) -> BuildOptions:
    """Return the options that a system was built with, beside its description."""
    return system.kernels.build_options


def model_text(system: System) -> str:
    """Return the mechanism as a model file, or nothing if it cannot be one."""
    try:
        return write_text(Mechanism.of(system.description))
    except FileError:
        return ""
