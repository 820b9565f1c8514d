"""A controller in plain Python: the times of its calls, its answer, and its memory.

A controller may be a plain function, which then remembers nothing that matters. If it does, its object has two methods:
`get_state()` returns that as an array of numbers, and `set_state(array)` brings it back.
"""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from whippletree.errors import SimulationError, StateError, WhippletreeError
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import JointValues
from whippletree.simulate import system_interface
from whippletree.simulate.run_arguments import positive
from whippletree.simulate.run_state import TIME
from whippletree.simulate.run_tolerances import MOST_SAMPLES, SAMPLE_MEETS_OUTPUT
from whippletree.simulate.simulation import Simulation
from whippletree.spatial.scalars import shown
from whippletree.system import System

__all__ = ["ControlLaw", "Controller", "checked_period", "controller_state", "restore_controller", "samples"]

Controller = Callable[[float, Array, Array, Array], object]
"""A function of time, coordinates, velocities and elements' states that returns joint efforts, all or by joint."""

_FLOAT = np.dtype(np.float64)
_NUMBERS = (float, np.float64)


def checked_period(controller: object, period: float | None) -> float | None:
    """Return the period of a controller, both checked; None if there is none.

    >>> checked_period(lambda t, q, v, z: [0.0], 1)
    1.0
    """
    if controller is None and period is not None:
        raise StateError("period= is that of a controller: give controller= too")
    if controller is None:
        return None
    if not callable(controller):
        raise StateError(f"controller= must be a function of (t, q, v, z), not {shown(controller)}")
    if not _takes_a_state(controller):
        raise StateError("controller= must be a function of four arguments, (t, q, v, z)")
    if period is None:
        raise StateError("a controller is called at a fixed period: give period= in seconds")
    return positive(period, "period")


def _takes_a_state(controller: Callable[..., object]) -> bool:
    """Return False for a function that cannot be called with t, q, v and z; True where that is not known."""
    try:
        inspect.signature(controller).bind(*range(4))
    except TypeError:
        return False
    except ValueError:  # some built-in functions have no signature
        return True
    return True


def samples(start: float, period: float, until: Array) -> Array:
    """Return the times at which the controller is called; one that an output all but meets is at that output.

    >>> samples(0.0, 0.25, np.array([0.0, 0.5 + 1e-12, 0.6])).tolist()
    [0.0, 0.25, 0.500000000001]
    """
    count = np.ceil((until[-1] - start) / period * (1 - SAMPLE_MEETS_OUTPUT))
    if count > MOST_SAMPLES:
        raise StateError(
            f"period={period:g} asks for {count:.3g} calls of the controller: take fewer than {MOST_SAMPLES}"
        )
    found = start + period * np.arange(max(int(count), 1))
    near = np.clip(np.searchsorted(until, found), 1, len(until)) - 1
    for beside in (near, np.minimum(near + 1, len(until) - 1)):
        met = np.abs(until[beside] - found) <= SAMPLE_MEETS_OUTPUT * period
        found[met] = until[beside][met]
    return np.asarray(found, dtype=np.float64)


class ControlLaw:
    """A controller in one run: it is asked at the present state of a simulation, and its answer is checked.

    `base` are the efforts of joints that it does not name. What can be known before the first call is looked up here:
    a run may call its controller ten thousand times a second.

    >>> from whippletree.simulate.simulation import _example
    >>> ControlLaw(_example(), lambda t, q, v, z: [t + 1.0], np.zeros(1)).efforts()
    array([1.])
    """

    def __init__(self, simulation: Simulation, controller: Controller, base: Array) -> None:
        self._simulation, self._controller, self._base = simulation, controller, base
        run = simulation.run_state
        self._times, self._state = run.times, (run.q, run.v, run.z)
        self._shape, self._efforts = base.shape, np.zeros(base.size)
        owners = [use.name for use in simulation.system.description.coordinate_owners]
        where = {name: simulation.system.v_slice(name) for name in owners}
        self._places = {name: v.start for name, v in where.items() if v.stop == v.start + 1}  # joints of one freedom

    def efforts(self) -> Array:
        """Return the efforts that the controller wants, in an array that may be its own."""
        q, v, z = self._state
        try:
            answer: Any = self._controller(self._times.item(TIME), q.copy(), v.copy(), z.copy())
        except SimulationError as error:
            raise SimulationError(f"{self._when} failed: {error}") from error
        except Exception as error:
            raise SimulationError(f"{self._when} failed: {type(error).__name__}: {error}") from error
        plain = self._plain(answer)
        if plain is not None and math.isfinite(sum(plain.tolist())):
            return plain
        return self._checked(answer)

    def _plain(self, answer: Any) -> Array | None:
        """Return an answer that needs no further look: a vector, or one number for each of some joints; else None."""
        kind = type(answer)
        if kind is dict:
            efforts, places = self._efforts, self._places
            efforts[:] = self._base
            for joint, value in answer.items():
                if type(joint) is not str or type(value) not in _NUMBERS or joint not in places:
                    return None
                efforts[places[joint]] = value
            return efforts
        if kind is list or kind is tuple:
            with contextlib.suppress(Exception):  # what cannot be an array is refused in words, later
                answer = np.array(answer)
                answer = answer.astype(np.float64) if answer.dtype.kind in "iu" else answer
        good = type(answer) is np.ndarray and answer.dtype is _FLOAT and answer.shape == self._shape
        return answer if good else None

    def _checked(self, answer: JointValues) -> Array:
        """Return an answer as efforts, or raise an error that says why it is none."""
        if answer is None:
            raise SimulationError(
                f"{self._when} returned nothing: it must return {self._base.size} efforts, or efforts by joint"
            )
        system = self._simulation.system
        try:
            efforts = system_interface.checked_efforts(system, answer)
        except WhippletreeError as error:
            raise SimulationError(f"{self._when} returned what is no effort: {_named(system, answer, error)}") from None
        if isinstance(answer, Mapping):
            named = {getattr(name, "name", name) for name in answer}
            for i in range(self._base.size):
                if system_interface.joint_of(system, i) not in named:
                    efforts[i] = self._base[i]
        return efforts

    def remembered(self) -> Array | None:
        """Return the memory of the controller after its call."""
        try:
            return controller_state(self._controller)
        except StateError as error:
            raise SimulationError(f"after its call at t = {self._times[TIME]:.9g} s, {error}") from error

    @property
    def _when(self) -> str:
        return f"at t = {self._times[TIME]:.9g} s the controller"


def controller_state(controller: Controller | None) -> Array | None:
    """Return the memory of a controller, as an array of its own; None if it has no methods for that.

    >>> controller_state(lambda t, q, v, z: [0.0]) is None
    True
    """
    get_state, _ = _methods(controller)
    if get_state is None:
        return None
    try:
        kept = np.array(get_state())
    except Exception as error:
        raise StateError(f"the controller's get_state failed: {type(error).__name__}: {error}") from error
    if kept.dtype.kind not in "biuf":
        raise StateError("the controller's get_state must return an array of real numbers, and nothing else")
    wrong = kept[~np.isfinite(kept)]
    if wrong.size:
        raise StateError(f"the controller's get_state returned {wrong[0]}: all its numbers must be finite")
    return kept


def restore_controller(controller: Controller | None, memory: Array | None) -> None:
    """Give a controller back its memory."""
    _, set_state = _methods(controller)
    if memory is None:
        if set_state is not None:
            raise StateError("the run's controller had no get_state, and this one has: give the same controller again")
        return
    if set_state is None:
        raise StateError("the run's controller had get_state and set_state, and this one has not: give it again")
    try:
        set_state(memory.copy())
    except Exception as error:
        raise StateError(f"the controller's set_state failed: {type(error).__name__}: {error}") from error
    if not np.array_equal(np.asarray(controller_state(controller)), memory):
        raise StateError(
            "after the controller's set_state, its get_state returns something else: set_state must bring back all "
            "that get_state returned"
        )


def _methods(controller: object) -> tuple[Callable[[], object] | None, Callable[[Array], object] | None]:
    """Return the two methods by which a controller, or the object whose method it is, is remembered; or twice None."""
    owner = getattr(controller, "__self__", controller)
    get_state, set_state = getattr(owner, "get_state", None), getattr(owner, "set_state", None)
    if callable(get_state) != callable(set_state):
        has, lacks = ("get_state", "set_state") if callable(get_state) else ("set_state", "get_state")
        raise StateError(f"the controller has {has} but no {lacks}: a checkpoint needs both, or neither")
    return (get_state, set_state) if callable(get_state) else (None, None)


def _named(system: System, answer: JointValues, error: WhippletreeError) -> str:
    """Return a message about the joint whose effort is not finite; else the text of the error."""
    try:
        values = system.velocities(answer) if isinstance(answer, Mapping) else np.asarray(answer, dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
    except (WhippletreeError, TypeError, ValueError):
        return str(error)
    if values.shape != (system.nv,) or not wrong.size:
        return str(error)
    return f"the effort of {system_interface.velocity_label(system, int(wrong[0]))} is {values[wrong[0]]}"
