"""Absolute coordinates of a system: position and unit quaternion of every body, every joint a closure (Nikravesh 1-4).

They are those of a *twin*: the same mechanism in which every body has a free joint to the ground and every other joint
is cut. So everything that a system can do it can do in absolute coordinates too, runs in machine code included. The
joints' own coordinates stay beside the bodies': forces at joints need them, and angles go on over full turns.

Bodies that are welded together are one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from whippletree.elements.joints import Free
from whippletree.errors import StateError
from whippletree.foundation.once import made_once
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.description import GROUND, Description, JointUse
from whippletree.model.names import suggestion
from whippletree.spatial.placement import Placement
from whippletree.spatial.quaternion_arrays import quaternions_of
from whippletree.system.evaluator import ParameterValues
from whippletree.system.formulation_decisions import tree_regular
from whippletree.system.input_reader import as_array
from whippletree.system.system import System

__all__ = ["AbsoluteCoordinates"]

Places = npt.NDArray[np.int64]


@user_facing
class AbsoluteCoordinates:
    """A mechanism in absolute coordinates: `system.absolute`.

    `bodies` are those that have coordinates of their own: a body for each weld, and none on the ground. `system` is
    the twin, whose free joints are called as `joint_of` says. `state(q, v)` brings states of the joints to the twin,
    `joints(q, v)` brings them back.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> absolute = s.absolute
    >>> absolute.bodies, absolute.n_coordinates, absolute.n_conditions
    (('crank', 'coupler', 'rocker'), 21, 17)
    >>> q, v = absolute.state(s.q0, s.v0)
    >>> bool((absolute.joints(q, v)[0] == s.q0).all())
    True
    """

    def __init__(self, system: System) -> None:
        self.joint_system = system
        self._lock = system.kernels.equations.lock
        self.bodies = _leading_bodies(system.description)
        described = system.description
        self._nq = sum(use.joint.nq for use in described.joints)
        self._nv = sum(use.joint.nv for use in described.joints)

    def __repr__(self) -> str:
        name = self.joint_system.description.name
        return f'AbsoluteCoordinates of "{name}": {self.n_coordinates} coordinates, {self.n_conditions} conditions'

    @property
    def n_coordinates(self) -> int:
        """How many coordinates there are: four of a quaternion and three of a position for each body."""
        return 7 * len(self.bodies)

    @property
    def n_conditions(self) -> int:
        """How many conditions of the joints are independent of each other."""
        return self.system.kernels.loop_plan.n_rows if self.system.kernels.closed else 0

    def joint_of(self, body: str) -> str:
        """Return the name of the free joint that leads to a body in the twin."""
        if not isinstance(body, str) or body not in self._names:
            raise StateError(f"there is no body {suggestion(body, self._names)} that moves")
        return self._names[body]

    @made_once
    def _names(self) -> dict[str, str]:
        described = self.joint_system.description
        taken = {use.name for use in described.joints} | set(described.places) | {f.name for f in described.frames}
        found: dict[str, str] = {}
        for body in self.bodies:
            name = f"{body} in space"
            while name in taken:
                name += "'"
            taken.add(name)
            found[body] = name
        return found

    @made_once
    def system(self) -> System:
        """The twin, in which every body has a free joint and all other joints are cut."""
        described, here = self.joint_system.description, Placement.identity()
        free = tuple(JointUse(self.joint_of(b), Free(), GROUND, b, here, here, False) for b in self.bodies)
        whole = replace(described, joints=(*described.joints, *free))
        cut = [use.name for use in described.joints if use.joint.nv] if self.bodies else None
        options = self.joint_system.kernels.build_options
        guess = self._joined(self.joint_system.q0, self._poses(self.joint_system.q0))
        return System(whole, guess=guess, cut=cut, accuracy=options["accuracy"])

    @made_once
    def formulation(self) -> str:
        """How runs solve for the multipliers: by dividing by the bodies' inertias, or all together where some are zero.

        A thin rod has no inertia about its own axis; `absolute` then eliminates at pivots that numbers choose, and
        chooses again where they become small.
        """
        loops = self.system.kernels.loop_plan
        regular = tree_regular(self.system.kernels.loops.numbers, loops.q, loops.where)
        return "joint_multipliers" if regular else "absolute"

    def state(self, q: ArrayLike, v: ArrayLike, *, parameters: ParameterValues = None) -> tuple[Array, Array]:
        """Return coordinates and velocities of the twin for those of the joints, one state or a batch."""
        q = np.asarray(self.joint_system.kernels.states.normalize(q), dtype=np.float64)
        v = as_array(v, self.joint_system.kernels.inputs.argument("v", self.joint_system.nv))
        if v.shape[:-1] != q.shape[:-1]:
            raise StateError(f"q and v must have rows alike, not {q.shape} and {v.shape}")
        return self._joined(q, self._poses(q, parameters)), self._joined(v, self._twists(q, v, parameters), self._nv)

    def joints(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return the joints' coordinates and velocities from those of the twin."""
        read = self.system.kernels.inputs.argument
        q, v = as_array(q, read("q", self.system.nq)), as_array(v, read("v", self.system.nv))
        return q[..., self.q_places], v[..., self.v_places]

    @made_once
    def q_places(self) -> Places:
        """Where in the twin's q the joints' coordinates are."""
        return _without(self.joint_system.nq, self._nq, 7 * len(self.bodies))

    @made_once
    def v_places(self) -> Places:
        """Where in the twin's v the joints' velocities are."""
        return _without(self.joint_system.nv, self._nv, 6 * len(self.bodies))

    def _joined(self, joints: Array, bodies: Array, at: int | None = None) -> Array:
        """Return columns of the joints with those of the bodies between them and the own coordinates."""
        n = self._nq if at is None else at
        return np.concatenate([joints[..., :n], bodies, joints[..., n:]], axis=-1)

    def _poses(self, q: Array, parameters: ParameterValues = None) -> Array:
        """Return the quaternion and position of every body."""
        s, found = self.joint_system, []
        for body in self.bodies:
            T = s.pose(q, body, parameters=parameters)
            found.append(np.concatenate([quaternions_of(T[..., :3, :3]), T[..., :3, 3]], axis=-1))
        return np.concatenate([np.zeros((*q.shape[:-1], 0)), *found], axis=-1)

    def _twists(self, q: Array, v: Array, parameters: ParameterValues) -> Array:
        """Return the angular and linear velocity of every body, in its own axes."""
        s = self.joint_system
        found = [s.velocity(q, v, body, frame="body", parameters=parameters) for body in self.bodies]
        return np.concatenate([np.zeros((*q.shape[:-1], 0)), *found], axis=-1)


def _without(total: int, at: int, count: int) -> Places:
    """Return the places of `total` numbers among which `count` others stand from `at` on."""
    return np.array([i if i < at else i + count for i in range(total)], dtype=np.int64)


def _leading_bodies(described: Description) -> tuple[str, ...]:
    """Return the first body of every set that is welded together, those on the ground left out."""
    first: dict[str, str] = {name: name for name in (GROUND, *(body.name for body in described.bodies))}

    def found(name: str) -> str:
        while first[name] != name:
            name = first[name]
        return name

    order = list(first)
    for use in described.joints:
        if not use.joint.nv:
            ends = sorted((found(described.body_of(use.parent)), found(described.body_of(use.child))), key=order.index)
            first[ends[1]] = ends[0]
    return tuple(body.name for body in described.bodies if found(body.name) == body.name)
