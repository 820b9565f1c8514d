"""Checks of the arguments of calls: arrays of the right size; joints, places, parameters by name.

What cannot be read is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from whippletree.elements.bodies.rigid import can_be
from whippletree.errors import ModelError, StateError
from whippletree.foundation.arrays import Mask
from whippletree.foundation.once import made_once
from whippletree.kernels.entry import UNIT_TOLERANCE
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import (
    ByJoint,
    Freedoms,
    JointLike,
    JointValues,
    ParameterValues,
    PlaceLike,
    Wrenches,
)
from whippletree.model.description import GROUND, Description
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import dimensions_of, expressions, listed, masked, shown

if TYPE_CHECKING:
    from whippletree.elements.bodies.flexible import FlexibleBody
    from whippletree.system.state_space import StateSpace

__all__ = ["START", "Argument", "InputReader", "Mask", "as_array", "state_in_batch"]


START = 0.0
"""The time, unless one is given: calls know it by its identity, so that nothing has to be checked."""

_OPTIONAL = frozenset({"tau", "a"})
"""Zero unless given; whole, or by joint."""

_MOST_KNOWN = 1000
"""How many sets of parameters are remembered as possible ones."""

_WRENCH = ("moment x", "moment y", "moment z", "force x", "force y", "force z")


class InputReader:
    """Reads the arguments of the calls of a mechanism.

    >>> from whippletree.system.example_systems import four_bar
    >>> inputs = four_bar().kernels.inputs
    >>> inputs.freedoms(["A", "C"], "hold")
    array([ True, False,  True, False])
    >>> inputs.efforts({"B": 2.0})
    array([0., 2., 0., 0.])
    """

    def __init__(self, description: Description, states: StateSpace) -> None:
        self.description, self.states = description, states
        self.nq, self.nv = states.plan.nq, states.plan.nv

    @made_once
    def flexible_bodies(self) -> list[tuple[FlexibleBody, slice]]:
        """The flexible bodies, each with where its modal coordinates are in q."""
        own = self.states.plan.own_slices
        if not own:
            return []
        from whippletree.elements.bodies.flexible import FlexibleBody  # which few mechanisms need

        kinds = ((body.kind, own[body.name][0]) for body in self.description.bodies if body.name in own)
        return [(kind, where) for kind, where in kinds if isinstance(kind, FlexibleBody)]

    def argument(self, name: str, size: int) -> Argument:
        """Describe an input of a kernel for checks and messages."""
        if name in ("q", "q0", "q1"):
            return Argument(name, size, self.states.position_label, self.states.quaternions)
        if name == "z":
            states = [state.name for state in self.description.states]
            return Argument(name, size, lambda i: f'state "{states[i]}"', optional=True, by_joint=self.auxiliary)
        if name == "t":
            return Argument(name, size, lambda i: "the time", optional=True)
        if name == "parameters":
            names = [p.name for p in self.description.parameters]
            return Argument(name, size, lambda i: f'parameter "{names[i]}"', optional=True)
        if name.startswith("wrench on "):
            return Argument(name, size, lambda i: _WRENCH[i])
        word = {"tau": "the effort for the ", "a": "the rate of the "}.get(name, "")
        optional = name in _OPTIONAL
        by_joint = self.states.velocities if optional else None
        return Argument(name, size, lambda i: word + self.states.velocity_label(i), (), optional, by_joint)

    # ------------------------------------------------------------------ states

    def configurations(self, q: JointValues) -> Array:
        """Return one configuration (nq), or a batch of them."""
        return as_array(q, self.argument("q", self.nq))

    def configuration(self, q: JointValues) -> Array:
        """Return one configuration (nq) of finite numbers."""
        array = self.configurations(q)
        if array.ndim != 1:
            raise StateError(f"this call takes one configuration of {self.nq} numbers, not a batch")
        return self.finite_configurations(array)

    def finite_configurations(self, q: JointValues) -> Array:
        """Return one configuration (nq) of finite numbers, or a batch of them."""
        array = self.configurations(q)
        if not np.isfinite(array).all():
            *state, i = (int(k) for k in np.argwhere(~np.isfinite(array))[0])
            label, value = self.states.position_label(i), array[(*state, i)]
            raise StateError(f"q[{i}]{state_in_batch(tuple(state))} is {value}: {label} must be a finite number")
        return array

    def velocities(self, v: ArrayLike) -> Array:
        """Return velocities (nv), or a batch of them."""
        return as_array(v, self.argument("v", self.nv))

    def accelerations(self, a: JointValues) -> Array:
        """Return accelerations (nv), or a batch of them."""
        return as_array(a, self.argument("a", self.nv))

    def guess(self, guess: JointValues) -> tuple[Array, list[Mask]]:
        """Return a guess, by joint or whole, as a configuration, and which freedoms it names, joint by joint."""
        if guess is None:
            return self.states.neutral(), []
        given: list[Mask] = []
        if isinstance(guess, Mapping):
            q = self.states.coordinates(guess)
            given = [self.freedoms([joint], "guess") for joint in guess]
        else:
            q = np.array(self.configuration(guess))
        if not np.isfinite(q).all():
            i = int(np.flatnonzero(~np.isfinite(q))[0])
            raise StateError(f"the guess for the {self.states.position_label(i)} is {q[i]}: it must be finite")
        return self.states.normalize(q), given

    def single(self, guess: Any, what: str) -> Any:
        """Return a guess for one configuration; many of them are refused."""
        if self.is_batch(guess):
            raise StateError(f"{what} must be one configuration, by joint or of {self.nq} numbers, not a batch")
        return guess

    def pose_guesses(self, guess: JointValues) -> tuple[Any, dict[str, Array]]:
        """Return a guess without its poses, and the poses (4, 4) that it gives to bodies or frames, by name.

        >>> from whippletree.system.example_systems import four_bar
        >>> joints, poses = four_bar().kernels.inputs.pose_guesses({"A": 1.0, "coupler": np.eye(4)})
        >>> joints, [*poses]
        ({'A': 1.0}, ['coupler'])
        """
        if not isinstance(guess, Mapping):
            return guess, {}
        poses: dict[str, Array] = {}
        joints: dict[object, object] = {}
        owners = {use.name for use in self.description.coordinate_owners}
        for key, value in guess.items():
            if isinstance(value, Placement):
                poses[self.place_name(cast(PlaceLike, key))] = value.matrix()
            elif _four_by_four(value):
                name = self.place_name(cast(PlaceLike, key))
                poses[name] = Placement.from_matrix(value, f"the guess for {quoted(name)}").matrix()
            else:
                self._check_is_joint(key, owners)
                joints[key] = value
        return joints, poses

    def _check_is_joint(self, key: JointLike, owners: Set[str]) -> None:
        """Raise an error about a body in a guess that has no pose, with the remedy; `owners` have coordinates."""
        name = getattr(key, "name", key)
        if isinstance(name, str) and name in self._places and name not in owners:
            raise StateError(f"guess: {quoted(name)} is a body or frame: give its pose, a 4 x 4 matrix or a Placement")

    def is_batch(self, guess: JointValues) -> bool:
        """Tell whether a guess, by joint or whole, is for many configurations.

        >>> from whippletree.system.example_systems import four_bar
        >>> inputs = four_bar().kernels.inputs
        >>> inputs.is_batch({"A": [0.1, 0.2]}), inputs.is_batch({"A": 0.1}), inputs.is_batch(np.zeros((3, 4)))
        (True, False, True)
        """
        if not isinstance(guess, Mapping):
            return dimensions_of(guess) > 1
        sizes = {use.name: use.joint.nq for use in self.description.coordinate_owners}
        for key, value in guess.items():
            size, dimensions = sizes.get(str(getattr(key, "name", key)), 0), dimensions_of(value)
            if size and (dimensions > 1 or (dimensions == size == 1 and len(cast(Sized, value)) > 1)):
                return True
        return False

    def motion(self, values: JointValues, name: str) -> tuple[Array, Mask]:
        """Return velocities, accelerations or efforts, by joint or whole, and which were given by joint."""
        result, given = self.motions(values, name)
        if result.ndim != 1:
            raise StateError(f"{name} must be one vector of {self.nv} finite numbers, or numbers by joint")
        return result, given

    def motions(self, values: JointValues, name: str) -> tuple[Array, Mask]:
        """Return the same as `motion`, or a batch of them."""
        given = np.zeros(self.nv, dtype=bool)
        if values is None:
            return np.zeros(self.nv), given
        if isinstance(values, Mapping):
            result = self.states.velocities(values)
            given = self.freedoms(values, name)
        else:
            result = np.array(as_array(values, self.argument(name, self.nv)))
        if not np.isfinite(result).all():
            raise StateError(f"{name} must be one vector of {self.nv} finite numbers, or numbers by joint")
        return result, given

    def efforts(self, tau: JointValues) -> Array:
        """Return efforts (nv) given by joint or whole."""
        return self.motion(tau, "tau")[0]

    def auxiliary(self, values: Mapping[str, object]) -> Array:
        """Return auxiliary states (nz) by name; the others are as described.

        >>> from whippletree.system.example_systems import quarter_car
        >>> quarter_car().kernels.inputs.auxiliary({"lag": 0.5})
        array([0.5])
        """
        names = [state.name for state in self.description.states]
        z = np.array(self.description.state_values, dtype=np.float64)
        if not isinstance(values, Mapping):
            raise StateError("give the auxiliary states by name: a mapping from names to numbers")
        for name, value in values.items():
            if name not in names:
                raise ModelError(f"there is no state {suggestion(name, names)}")
            z[names.index(name)] = as_array(value, self.argument("z", 1))[..., 0]
        return z

    def time(self, t: ArrayLike) -> float:
        """Return a time."""
        array = as_array(t, self.argument("t", 1))
        if array.shape != (1,) or not np.isfinite(array[0]):
            raise StateError("t must be one finite number, the time")
        return float(array[0])

    def idle_time(self, t: object) -> None:
        """Check a time, or one for each state of a batch, that nothing depends on."""
        if t.__class__ is float and t - t == 0.0:
            return
        if not np.isfinite(as_array(t, self.argument("t", 1))).all():
            raise StateError("t must be a finite number, the time")

    def idle(
        self,
        *,
        t: ArrayLike = 0.0,
        parameters: ParameterValues = None,
        hold: Freedoms | None = None,
        **vectors: JointValues,
    ) -> None:
        """Check the arguments of a call that needs none of them: they may be wrong all the same."""
        for name, value in vectors.items():
            if value is not None:
                sizes = {"q": self.nq, "z": len(self.description.states)}
                as_array(value, self.argument(name, sizes.get(name, self.nv)))
        self.idle_time(t)
        self.parameters(parameters)
        self.freedoms(hold, "hold")

    # ------------------------------------------------------------------ names

    def freedoms(self, names: Freedoms | ByJoint | None, what: str) -> Mask:
        """Return which freedoms (nv) are named: joints, or (joint, index) pairs."""
        mask = np.zeros(self.nv, dtype=bool)
        if names is None:
            return mask
        items = listed(names)
        if items is None:
            raise StateError(f"{what}= must list joints, or (joint, index) pairs, not {shown(names)}")
        for item in items:
            joint, index = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
            where = self.states.v_slice(joint)
            if index is None:
                mask[where] = True
                continue
            if not isinstance(index, int | np.integer) or not 0 <= index < where.stop - where.start:
                raise StateError(f'{what}=: joint "{joint}" has no freedom {shown(index)}')
            mask[where.start + int(index)] = True
        return mask

    def place_name(self, place: PlaceLike) -> str:
        """Return the name of a body, frame or handle."""
        name = getattr(place, "name", place)
        places = self._places
        if not isinstance(name, str) or (name != GROUND and name not in places):
            raise ModelError(f"there is no body or frame {suggestion(name, places)}")
        return str.__str__(name)

    def by_place(self, given: Mapping[Any, Any], what: str) -> dict[str, Any]:
        """Return values by body or frame, given as names or handles, by name; a place named twice is refused."""
        named = {self.place_name(cast(PlaceLike, key)): value for key, value in given.items()}
        if len(named) < len(given):
            raise StateError(f"{what} names a body or frame twice, by its name and as a handle: give it once")
        return named

    def joints(self, joints: object) -> tuple[str, ...]:
        """Return the names of some joints, given by name or as handles; None or nothing means all of them."""
        if joints is None:
            return ()
        if isinstance(joints, str) or not isinstance(joints, Iterable):
            raise StateError(f'joints= must list joints, as in joints=["A"], not {shown(joints)}')
        known = dict.fromkeys(self.states.plan.joint_names)
        names: list[str] = []
        for joint in joints:
            name = getattr(joint, "name", joint)
            if not isinstance(name, str) or name not in known:
                raise StateError(f"there is no joint {suggestion(name, known)}")
            if name in names:
                raise StateError(f'joints= names "{name}" twice')
            names.append(str.__str__(name))
        return tuple(names)

    @made_once
    def _places(self) -> dict[str, None]:
        names = [b.name for b in self.description.bodies] + [f.name for f in self.description.frames]
        return dict.fromkeys([*names, *self.description.moving_frames])

    def wrenches(self, wrenches: Wrenches | None) -> dict[str, ArrayLike]:
        """Return wrenches by the names of the places at which they act, in the order of the names."""
        if not isinstance(wrenches, Mapping):
            raise StateError("wrenches= must map bodies or frames to [moment; force]")
        named = self.by_place(wrenches, "wrenches=")
        return named if len(named) == 1 else {name: named[name] for name in sorted(named)}

    # ------------------------------------------------------------------ parameters

    def parameters(self, values: JointValues) -> Any:
        """Return the parameters' values, by name or whole, as an array or a batch; None for those described."""
        if values is None or (isinstance(values, Mapping) and not values):
            return None
        if not self.description.parameters:
            raise StateError("this system has no parameters kept as inputs")
        if isinstance(values, Mapping):
            values = self._parameter_rows(values)
        self._check_bodies(values)
        return values

    def parameter_set(self, values: JointValues) -> Array | None:
        """Return one set of parameters, or None for those described."""
        array = self.parameter_sets(values)
        if array is not None and array.ndim != 1:
            raise StateError("this call takes one set of parameters, not a batch")
        return array

    def parameter_sets(self, values: JointValues) -> Array | None:
        """Return one set of parameters, or a batch of them, all finite; None for those described.

        >>> from whippletree.system.example_systems import quarter_car
        >>> quarter_car().kernels.inputs.parameter_sets({}) is None
        True
        """
        values = self.parameters(values)
        if values is None:
            return None
        array = self.parameter_array(values)
        for *state, i in np.argwhere(~np.isfinite(array)).tolist():
            name, value = self.description.parameters[i].name, array[(*state, i)]
            raise StateError(f'parameter "{name}"{state_in_batch(tuple(state))} is {value}: it must be a finite number')
        return array

    def parameter_array(self, values: JointValues) -> Array:
        """Return the values of all parameters as an array (..., n)."""
        return as_array(values, self.argument("parameters", len(self.description.parameters)))

    def _parameter_rows(self, values: Mapping[Any, ArrayLike]) -> Array:
        """Return parameters given by name as an array; the others have their described values."""
        known = [p.name for p in self.description.parameters]
        for name in values:
            if name not in known:
                raise StateError(f"there is no parameter {suggestion(name, known)}")
        columns = [np.asarray(values.get(p.name, p.value)) for p in self.description.parameters]
        try:
            return np.stack(np.broadcast_arrays(*columns), axis=-1)
        except ValueError:
            sizes = ", ".join(f'"{name}" {np.shape(value)}' for name, value in values.items())
            raise StateError(f"the parameters' batches do not fit together: {sizes}; all sizes must agree") from None

    def _check_bodies(self, values: ArrayLike) -> None:
        """Refuse parameters that make a mass negative, or an inertia one that no body can have."""
        rows = self.parameter_array(values)
        heavy, inert, _ = self._open_bodies
        if not (heavy or inert) or not rows.size:
            return
        key = rows.tobytes() if rows.ndim == 1 else b""
        if key and key in self._possible:
            return
        masses, inertias, wrong = self._impossible(rows.reshape(-1, rows.shape[-1]))
        for body, state in np.argwhere(masses < 0):
            raise StateError(
                f'these parameters give body "{heavy[body]}" the mass {masses[body, state]:g}: it must not be negative'
            )
        for body, state in np.argwhere(wrong):
            raise StateError(
                f'these parameters give body "{inert[body]}" the inertia {inertias[body, state].tolist()}, which no '
                "body has: its principal moments must not be negative, and none may exceed the sum of the others"
            )
        if key:
            self._remember([key])

    def foresee(self, rows: Array) -> None:
        """Look at many sets of parameters (n, np) in one go, so that each is known when it is used by itself.

        >>> from whippletree.system.example_systems import quarter_car
        >>> quarter_car().kernels.inputs.foresee(np.zeros((3, 2)))
        """
        heavy, inert, _ = self._open_bodies
        if heavy or inert:
            masses, _, wrong = self._impossible(rows)
            good = ~((masses < 0).any(axis=0) | wrong.any(axis=0))
            self._remember([row.tobytes() for row in np.ascontiguousarray(rows[good])])

    def _impossible(self, rows: Array) -> tuple[Array, Array, Mask]:
        """Return the masses and inertias that sets of parameters give, by body and set, and which inertias cannot be.

        Which parameter is not finite is told where it is used.
        """
        _, inert, function = self._open_bodies
        masses, inertias = (x.full() for x in function(rows.T))
        inertias = np.moveaxis(inertias.reshape(len(inert), 3, 3, masses.shape[1]), 3, 1)
        return masses, inertias, np.isfinite(inertias).all(axis=(-2, -1)) & ~can_be(inertias)

    def _remember(self, keys: list[bytes]) -> None:
        """Remember sets of parameters as possible ones."""
        if len(self._possible) + len(keys) > _MOST_KNOWN:
            self._possible.clear()
        self._possible.update(keys)

    @made_once
    def _possible(self) -> set[bytes]:
        """Sets of parameters that were found to make bodies that can be: a run looks at its own again and again."""
        return set()

    @made_once
    def _open_bodies(self) -> tuple[list[str], list[str], ca.Function]:
        """Bodies whose masses and whose inertias depend on parameters, and the function from parameters to those."""
        bodies = [(b.name, b.properties) for b in self.description.bodies]
        heavy = {name: p.mass for name, p in bodies if isinstance(p.mass, ca.SX)}
        entries = {name: [x for row in p.inertia for x in row] for name, p in bodies}
        inert = {name: ca.vertcat(*nine) for name, nine in entries.items() if expressions(nine)}
        symbols = ca.vertcat(*(p.symbol for p in self.description.parameters))
        results = [ca.vertcat(ca.SX(0, 1), *heavy.values()), ca.vertcat(ca.SX(0, 1), *inert.values())]
        return list(heavy), list(inert), ca.Function("bodies", [symbols], results)


@dataclass(frozen=True)
class Argument:
    """An input of a call: its name, size, a label for each element, and its quaternions (all as slices).

    `by_joint` makes the whole of numbers that are given by joint, where that is allowed.
    """

    name: str
    size: int
    label: Callable[[int], str]
    quaternions: tuple[slice, ...] = ()
    optional: bool = False
    by_joint: Callable[[Mapping[str, Any]], Array] | None = None


def state_in_batch(index: tuple[int, ...]) -> str:
    """Say which state of a batch an index is about, nothing for a single state.

    >>> state_in_batch((3,)), state_in_batch(())
    (' in state 3', '')
    """
    return f" in state {index[0] if len(index) == 1 else index}" if index else ""


def as_array(value: object, argument: Argument) -> Array:
    """Return an argument as a contiguous float64 array whose last dimension has the right size.

    >>> as_array([1, 2], Argument("q", 2, str))
    array([1., 2.])
    """
    if value is None:
        raise StateError(f"{argument.name} is missing: give {argument.size} numbers")
    if masked(value):
        raise StateError(f"{argument.name} has masked entries, which are no numbers: fill them first")
    if isinstance(value, Mapping) and argument.by_joint is not None:
        return argument.by_joint(value)
    try:
        array = np.asarray(value)
    except Exception as error:
        raise StateError(f"{argument.name} cannot be read as an array of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise StateError(f"{argument.name} must hold real numbers, not {array.dtype}")
    if array.ndim == 0 and argument.size == 1:
        array = array.reshape(1)
    if array.ndim == 0 or array.shape[-1] != argument.size:
        raise StateError(
            f"{argument.name} must have {argument.size} numbers "
            f"(or be a batch whose last size is {argument.size}), but its shape is {array.shape}"
        )
    with np.errstate(all="ignore"):
        result = np.ascontiguousarray(array, dtype=np.float64)
    if not result.flags.aligned:
        result = result.copy()
    for where in argument.quaternions:
        e = result[..., where]
        off = ~_near_one(e)
        if off.any() and np.isfinite(e).all():
            state = state_in_batch(tuple(int(i) for i in np.argwhere(off)[0])) if e.ndim > 1 else ""
            raise StateError(
                f"{argument.name}[{where.start}:{where.stop}]{state} is not a unit quaternion "
                f"({argument.label(where.start)}): divide it by its length, or use system.configuration(q)"
            )
    return result


def _four_by_four(value: Any) -> bool:
    """Tell whether a value has the shape of a pose; no joint has so many coordinates."""
    try:
        return bool(np.shape(value) == (4, 4))
    except Exception:  # whatever a foreign sequence raises, it is no pose
        return False


def _near_one(e: Array) -> Mask:
    """Tell which quaternions have unit length, by the very operations of `entry` and `batch`: all must agree."""
    total: Any = -1.0
    with np.errstate(all="ignore"):
        for i in range(4):
            total = total + e[..., i] * e[..., i]
        return np.asarray(np.abs(total) <= UNIT_TOLERANCE)
