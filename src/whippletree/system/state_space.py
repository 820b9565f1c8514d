"""The space of states: where every joint's numbers are, and configurations to start from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from whippletree.errors import ModelError, StateError
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import ByJoint, JointLike, JointValues
from whippletree.model.description import Description, JointUse
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import masked
from whippletree.system.example_systems import pendulum  # noqa: F401 (for the examples)
from whippletree.system.input_reader import Argument, as_array
from whippletree.topology import Plan

__all__ = ["StateSpace"]


class StateSpace:
    """Coordinates and velocities of a mechanism, by name and by index."""

    def __init__(self, description: Description, plan: Plan) -> None:
        self.description, self.plan = description, plan

    def neutral(self) -> Array:
        """Return the configuration in which all joint frames coincide.

        >>> pendulum().kernels.states.neutral()
        array([0.])
        """
        parts = [use.joint.neutral() for use in self.description.coordinate_owners]
        return np.concatenate([np.zeros(0), *parts])

    def random(self, seed: int | np.random.Generator | None = None) -> Array:
        """Return a random configuration; the same one for the same seed."""
        rng = self.generator(seed)
        return np.concatenate([np.zeros(0), *(use.joint.random(rng) for use in self.description.coordinate_owners)])

    @staticmethod
    def generator(seed: int | np.random.Generator | None) -> np.random.Generator:
        """Return the generator of a seed."""
        try:
            return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
        except Exception:
            raise StateError("the seed must be a whole number of at least 0, or a NumPy generator") from None

    def normalize(self, q: object) -> Array:
        """Return a copy of `q` with every quaternion scaled to unit length.

        >>> pendulum().kernels.states.normalize([0.5])  # there are no quaternions in a pendulum
        array([0.5])
        """
        result = np.array(as_array(q, Argument("q", self.plan.nq, self.position_label)))
        for place in np.argwhere(~np.isfinite(result)):
            raise StateError(f"q[{place[-1]}] ({self.position_label(place[-1])}) must be finite")
        for where in self.quaternions:
            e = result[..., where]
            size = np.abs(e).max(axis=-1, keepdims=True)  # so that squares neither overflow nor vanish
            if not (np.isfinite(size) & (size > 0)).all():
                raise StateError(
                    f"q[{where.start}:{where.stop}] ({self.position_label(where.start)}) has no direction: "
                    f"give four finite numbers that are not all zero"
                )
            e /= size
            e /= np.linalg.norm(e, axis=-1, keepdims=True)
        return result

    def q_slice(self, joint: JointLike) -> slice:
        """Return where a joint's coordinates are in `q`."""
        return self._slices(joint)[0]

    def v_slice(self, joint: JointLike) -> slice:
        """Return where a joint's velocities are in `v`, efforts and accelerations."""
        return self._slices(joint)[1]

    def coordinates(self, values: ByJoint) -> Array:
        """Return a configuration from joints' coordinates by name; the others are neutral.

        >>> pendulum().kernels.states.coordinates({"hinge": 0.5})
        array([0.5])
        """
        return self._fill(self.neutral(), values, self.q_slice, "coordinates")

    def configuration(self, values: JointValues = None) -> Array:
        """Return a configuration by joint, or a copy of one with its quaternions scaled to unit length."""
        if values is None:
            return self.neutral()
        return self.coordinates(values) if isinstance(values, Mapping) else self.normalize(values)

    def velocities(self, values: ByJoint) -> Array:
        """Return a vector (nv) from joints' velocities, accelerations or efforts by name; the others are zero."""
        return self._fill(np.zeros(self.plan.nv), values, self.v_slice, "velocities")

    def _slices(self, owner: JointLike) -> tuple[slice, slice]:
        """Return where in q and v the coordinates of a joint are, or the own ones of a body."""
        name = getattr(owner, "name", owner)
        if not isinstance(name, str) or name not in self._owners:
            raise ModelError(f"there is no joint {suggestion(name, self._owners)}")
        return self.plan.slices_of(name)

    @made_once
    def _owners(self) -> dict[str, None]:
        return dict.fromkeys(use.name for use in self.description.coordinate_owners)

    def _fill(self, vector: Array, values: ByJoint, where: Callable[[JointLike], slice], what: str) -> Array:
        if not isinstance(values, Mapping):
            raise StateError(f"give the {what} by joint: a mapping from names to numbers")
        if len({getattr(name, "name", name) for name in values}) < len(values):
            raise StateError(f"the {what} name a joint twice, by its name and as a handle: give it once")
        for name, value in values.items():
            place = where(name)
            size = place.stop - place.start
            joint = f'joint "{getattr(name, "name", name)}"'
            try:
                numbers = np.array([None]) if masked(value) else np.atleast_1d(np.asarray(value))
            except Exception:
                numbers = np.array([None])
            if numbers.dtype.kind not in "fiu":
                raise StateError(f"{joint} has {size} {what}, which must be real numbers")
            if numbers.shape != (size,):
                raise StateError(f"{joint} has {size} {what}, not {numbers.size}")
            if not np.isfinite(numbers).all():
                raise StateError(f"{joint} is {', '.join(map(str, numbers))}: numbers must be finite")
            vector[place] = numbers
        return vector

    @made_once
    def quaternions(self) -> tuple[slice, ...]:
        """Where the unit quaternions are in `q`."""
        return tuple(slice(q.start, q.start + 4) for use, (q, _) in self._placed if use.joint.quaternion)

    @made_once
    def locking(self) -> tuple[tuple[JointUse, slice], ...]:
        """The joints whose angles can lock, and where their coordinates are in `q`."""
        return tuple((use, q) for use, (q, _) in self._placed if use.joint.locks)

    def lock_in_words(self, q: Array, nearer: float) -> str:
        """Say which joint is in gimbal lock, or nearer to it than so much; nothing if there is none."""
        for use, where in self.locking:
            own = np.asarray(q)[where]
            if not abs(float(use.joint.from_lock(own))) > nearer:
                return (
                    f'the angles of joint "{use.name}" are in gimbal lock, or next to it: '
                    f"{use.joint.lock_in_words(own)}, where their rates do not follow from the motion; describe the "
                    'joint with coordinates="quaternion", which never lock, or with other angles, or keep away from '
                    "there"
                )
        return ""

    def position_label(self, i: int) -> str:
        """Name a coordinate."""
        return self._label(i, 0, "position_labels")

    def velocity_label(self, i: int) -> str:
        """Name a velocity."""
        return self._label(i, 1, "velocity_labels")

    def joint_of(self, i: int) -> str:
        """Return the name of the joint that a freedom belongs to."""
        return next(use.name for use, (_, v) in self._placed if i < v.stop)  # not empty: i is the number of a freedom

    def freedom_name(self, i: int) -> str:
        """Name a freedom by its joint, and its index there if the joint has several."""
        return self._freedom_names[i]

    @made_once
    def _freedom_names(self) -> list[str]:
        names = [""] * self.plan.nv
        for use, (_, where) in self._placed:
            for n, i in enumerate(range(where.start, where.stop)):
                names[i] = use.name if use.joint.nv == 1 else f"{use.name}[{n}]"
        return names

    @made_once
    def _placed(self) -> tuple[tuple[JointUse, tuple[slice, slice]], ...]:
        """Everything that has coordinates, and where these are in q and v."""
        return tuple(zip(self.description.coordinate_owners, self.plan.coordinate_slices, strict=True))

    def _label(self, i: int, part: int, labels: str) -> str:
        own = self.plan.own_slices
        for use, slices in self._placed:
            where = slices[part]
            if where.start <= i < where.stop:
                what = "body" if use.name in own else "joint"
                return f'{getattr(use.joint, labels)[i - where.start]} of {what} "{use.name}"'
        return "it"
