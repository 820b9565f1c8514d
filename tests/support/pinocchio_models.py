"""Pinocchio models as mechanisms, and states there and back.

The two engines describe the same motion with different numbers:

====================  =======================================  =========================================
joint                 Pinocchio                                Whippletree
====================  =======================================  =========================================
revolute, unbounded   ``q = [cos, sin]``                       ``q = [angle]``
spherical             ``q = [x, y, z, w]``                     ``q = [w, x, y, z]``
free                  ``q = [position, x, y, z, w]``,          ``q = [w, x, y, z, position]``,
                      ``v = [linear, angular]``                ``v = [angular, linear]``
planar                ``q = [x, y, cos, sin]``,                ``q = [angle, x, y]``,
                      ``v = [vx, vy, rate]`` in child axes     ``v = [rate, x', y']`` in parent axes
screw                 pitch, metres per radian                 lead, metres per turn
====================  =======================================  =========================================

All other shared joints agree number by number. For every joint ``v = T(q) v_pinocchio`` with an orthogonal
``T``, which is :func:`velocity_map`. From it follow ``a = T a_pinocchio + T' v_pinocchio`` and, since power
is the same in both, ``tau_pinocchio = T^T tau`` and ``M_pinocchio = T^T M T``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pinocchio as pin

if TYPE_CHECKING:
    import whippletree as wt

Array = np.ndarray

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
ROBOTS = "share/example-robot-data/robots"
PANDA = "panda_description/urdf/panda.urdf"
TALOS = "talos_data/robots/talos_reduced.urdf"


class State(NamedTuple):
    """Positions, velocities, accelerations and joint forces in one engine's numbers."""

    q: Array
    v: Array | None = None
    a: Array | None = None
    tau: Array | None = None


class Shared(NamedTuple):
    """A joint that both engines have.

    kind: our name of it, also of the method of Mechanism;
    numbers: how the state is written ("same", "unbounded", "spherical", "free", "planar");
    rotation: the joint frame (z along the axis) in Pinocchio's joint frame.
    """

    kind: str
    numbers: str
    rotation: Array
    options: dict[str, float]


class Block(NamedTuple):
    """Where one joint's numbers are in each engine's vectors."""

    numbers: str
    q_theirs: slice
    q_ours: slice
    v: slice


# ---------------------------------------------------------------------------------------------------------
# Joints


def axis_rotation(axis: Array) -> Array:
    """A right-handed frame with z along the axis; for a coordinate axis a permutation of the axes.

    >>> axis_rotation(np.array([1.0, 0.0, 0.0])).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    for k in range(3):
        if z[k] == 1.0:
            return np.roll(np.eye(3), -(k + 1), axis=1)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def universal_rotation(first: Array, second: Array) -> Array:
    """The joint frame of a universal joint: x along the first axis, z along the second."""
    if abs(first @ second) > 1e-12:
        raise ValueError("a universal joint needs perpendicular axes")
    return np.stack([first, np.cross(second, first), second], axis=1)


def shared_joint(joint: pin.JointModel) -> Shared:
    """What a joint of Pinocchio is called here; ValueError if only Pinocchio has it."""
    name = joint.shortname().removeprefix("JointModel")
    own = joint.extract() if hasattr(joint, "extract") else joint
    straight = np.eye(3)
    match name:
        case "RX" | "RY" | "RZ":
            return Shared("revolute", "same", axis_rotation(AXES[name[-1]]), {})
        case "RevoluteUnaligned":
            return Shared("revolute", "same", axis_rotation(own.axis), {})
        case "RUBX" | "RUBY" | "RUBZ":
            return Shared("revolute", "unbounded", axis_rotation(AXES[name[-1]]), {})
        case "RevoluteUnboundedUnaligned":
            motion = own.createData()  # the axis itself is not exposed, but its joint map is
            own.calc(motion, np.array([1.0, 0.0]))
            return Shared("revolute", "unbounded", axis_rotation(np.ravel(motion.S)[3:]), {})
        case "PX" | "PY" | "PZ":
            return Shared("prismatic", "same", axis_rotation(AXES[name[-1]]), {})
        case "PrismaticUnaligned":
            return Shared("prismatic", "same", axis_rotation(own.axis), {})
        case "HX" | "HY" | "HZ" | "HelicalUnaligned":
            rotation = axis_rotation(own.axis if name == "HelicalUnaligned" else AXES[name[-1]])
            if own.pitch == 0.0:
                return Shared("revolute", "same", rotation, {})
            return Shared("screw", "same", rotation, {"lead": 2.0 * math.pi * own.pitch})
        case "Universal":
            return Shared("universal", "same", universal_rotation(own.axis1, own.axis2), {})
        case "Spherical":
            return Shared("spherical", "spherical", straight, {})
        case "Planar":
            return Shared("planar", "planar", straight, {})
        case "FreeFlyer":
            return Shared("free", "free", straight, {})
    raise ValueError(f"Whippletree has no joint like Pinocchio's {name}")


# ---------------------------------------------------------------------------------------------------------
# Models


def mechanism_from_pinocchio(model: pin.Model, name: str | None = None) -> wt.Mechanism:
    """The same mechanism as ours: one body per joint, both named like the joint, in the same order.

    Body frames are Pinocchio's joint frames. What Pinocchio fixed to its universe is left out.
    """
    import whippletree as wt

    mechanism = wt.Mechanism(name or model.name or "pinocchio", gravity=tuple(model.gravity.linear))
    bodies = [mechanism.ground]
    for j in range(1, model.njoints):
        body = model.inertias[j]
        if body.mass == 0.0 and not body.inertia.any():
            bodies.append(mechanism.body(model.names[j]))
        else:
            bodies.append(
                mechanism.body(model.names[j], mass=body.mass, com=body.lever.copy(), inertia=body.inertia.copy())
            )
        shared = shared_joint(model.joints[j])
        on_child = np.eye(4)
        on_child[:3, :3] = shared.rotation
        on_parent = model.jointPlacements[j].homogeneous @ on_child
        join = getattr(mechanism, shared.kind)
        parent = bodies[model.parents[j]]
        join(model.names[j], parent, bodies[j], pose=on_parent, pose_child=on_child, **shared.options)
    return mechanism


def _snapped(rotation: Array, tolerance: float) -> Array:
    for value in (-1.0, 0.0, 1.0):
        rotation = np.where(np.abs(rotation - value) < tolerance, value, rotation)
    return rotation


def tidied(model: pin.Model, tolerance: float = 1e-10) -> pin.Model:
    """A copy without the rounding of its file: ``rpy="1.57079632679 0 0"`` is meant as a quarter turn.

    Entries of placement rotations that are within the tolerance of -1, 0 or 1 take that value. Friction,
    armature, limits, frames and geometry are left behind. All engines that are compared get the copy.
    """
    copy = pin.Model()
    copy.name = model.name
    copy.gravity = model.gravity
    for j in range(1, model.njoints):
        placement = model.jointPlacements[j]
        left, _, right = np.linalg.svd(_snapped(placement.rotation, tolerance))
        rotation = _snapped(left @ right, 1e-15)
        placement = pin.SE3(rotation, placement.translation)
        k = copy.addJoint(model.parents[j], model.joints[j], placement, model.names[j])
        copy.appendBodyToJoint(k, model.inertias[j], pin.SE3.Identity())
    return copy


def robot_file(path: str) -> Path:
    """A file of the example-robot-data package, which is installed beside Pinocchio."""
    for folder in Path(pin.__file__).parents:
        if (folder / ROBOTS / path).is_file():
            return folder / ROBOTS / path
    raise FileNotFoundError(f"{path}: install example-robot-data")


def panda() -> pin.Model:
    """The Panda arm with its fingers fixed, 7 revolute joints."""
    model = pin.buildModelFromUrdf(str(robot_file(PANDA)))
    fingers = [j for j in range(1, model.njoints) if "finger" in model.names[j]]
    return tidied(pin.buildReducedModel(model, fingers, pin.neutral(model)))


def talos() -> pin.Model:
    """The Talos humanoid, reduced: a free base and 32 revolute joints."""
    return tidied(pin.buildModelFromUrdf(str(robot_file(TALOS)), pin.JointModelFreeFlyer()))


def sample_manipulator() -> pin.Model:
    """Pinocchio's sample manipulator, 6 revolute joints."""
    return pin.buildSampleModelManipulator()


def sample_humanoid() -> pin.Model:
    """Pinocchio's sample humanoid, a free base and 28 revolute joints."""
    return pin.buildSampleModelHumanoid()


def random_state(model: pin.Model, rng: np.random.Generator, *batch: int) -> State:
    """A random state in Pinocchio's numbers, with a and tau: each within a unit of rest, batched if asked."""
    shape = (*batch, model.nv)
    steps = rng.uniform(-1.0, 1.0, shape).reshape(-1, model.nv)
    rest = pin.neutral(model)
    q = np.array([pin.integrate(model, rest, step) for step in steps]).reshape(*batch, model.nq)
    v, a, tau = (rng.uniform(-1.0, 1.0, shape) for _ in range(3))
    return State(q, v, a, tau)


# ---------------------------------------------------------------------------------------------------------
# States


def _blocks(model: pin.Model) -> Iterator[Block]:
    ours = 0
    sizes = {"unbounded": 1, "planar": 3}
    for joint in list(model.joints)[1:]:
        numbers = shared_joint(joint).numbers
        size = sizes.get(numbers, joint.nq)
        yield Block(
            numbers,
            slice(joint.idx_q, joint.idx_q + joint.nq),
            slice(ours, ours + size),
            slice(joint.idx_v, joint.idx_v + joint.nv),
        )
        ours += size


def _q_from(numbers: str, q: Array) -> Array:
    match numbers:
        case "unbounded":
            return np.arctan2(q[..., 1:2], q[..., 0:1])
        case "spherical":
            return q[..., [3, 0, 1, 2]]
        case "free":
            return q[..., [6, 3, 4, 5, 0, 1, 2]]
        case "planar":
            return np.concatenate([np.arctan2(q[..., 3:4], q[..., 2:3]), q[..., 0:2]], axis=-1)
    return q


def _q_to(numbers: str, q: Array) -> Array:
    match numbers:
        case "unbounded":
            return np.concatenate([np.cos(q), np.sin(q)], axis=-1)
        case "spherical":
            return q[..., [1, 2, 3, 0]]
        case "free":
            return q[..., [4, 5, 6, 1, 2, 3, 0]]
        case "planar":
            return np.concatenate([q[..., 1:3], np.cos(q[..., 0:1]), np.sin(q[..., 0:1])], axis=-1)
    return q


def _turn(angle: Array) -> Array:
    """The plane rotation of each angle, (..., 2, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)


def _map(numbers: str, q: Array, nv: int) -> Array:
    """T of one joint, (..., nv, nv), from our positions: our velocity is T times Pinocchio's."""
    T = np.zeros((*q.shape[:-1], nv, nv))
    match numbers:
        case "free":
            T[..., [0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]] = 1.0
        case "planar":
            T[..., 0, 2] = 1.0
            T[..., 1:3, 0:2] = _turn(q[..., 0])
        case _:
            T[..., range(nv), range(nv)] = 1.0
    return T


def _bias(numbers: str, q: Array, v: Array) -> Array:
    """T' v_pinocchio of one joint, from our positions and velocities."""
    bias = np.zeros_like(v)
    if numbers == "planar":
        # (x', y') = R u with u in child axes, so (x'', y'') = R u' + rate J R u, J a quarter turn
        bias[..., 1] = -v[..., 0] * v[..., 2]
        bias[..., 2] = v[..., 0] * v[..., 1]
    return bias


def velocity_map(model: pin.Model, q: Array) -> Array:
    """T of the whole model, (..., nv, nv), from *our* positions: our velocities are T times Pinocchio's."""
    q = np.asarray(q, dtype=float)
    T = np.zeros((*q.shape[:-1], model.nv, model.nv))
    for block in _blocks(model):
        T[..., block.v, block.v] = _map(block.numbers, q[..., block.q_ours], block.v.stop - block.v.start)
    return T


def _times(T: Array, x: Array) -> Array:
    return np.einsum("...ij,...j->...i", T, x)


def _transposed(T: Array) -> Array:
    return np.swapaxes(T, -1, -2)


def _need_velocity(a: Array | None, v: Array | None) -> None:
    if a is not None and v is None:
        raise ValueError("accelerations are converted together with velocities: give v too")


def state_from_pinocchio(
    model: pin.Model, q: Array, v: Array | None = None, a: Array | None = None, tau: Array | None = None
) -> State:
    """Pinocchio's numbers in ours, for one state or a batch ``(..., n)``."""
    _need_velocity(a, v)
    q = np.asarray(q, dtype=float)
    blocks = list(_blocks(model))
    ours = np.concatenate([_q_from(b.numbers, q[..., b.q_theirs]) for b in blocks], axis=-1)
    v_ours, a_ours, tau_ours = (None if x is None else np.zeros(np.shape(x)) for x in (v, a, tau))
    for b in blocks:
        T = _map(b.numbers, ours[..., b.q_ours], b.v.stop - b.v.start)
        if v is not None:
            v_ours[..., b.v] = _times(T, v[..., b.v])
        if a is not None:
            a_ours[..., b.v] = _times(T, a[..., b.v]) + _bias(b.numbers, ours[..., b.q_ours], v_ours[..., b.v])
        if tau is not None:  # T is orthogonal for every joint: its inverse transpose is T itself
            tau_ours[..., b.v] = _times(T, tau[..., b.v])
    return State(ours, v_ours, a_ours, tau_ours)


def state_to_pinocchio(
    model: pin.Model, q: Array, v: Array | None = None, a: Array | None = None, tau: Array | None = None
) -> State:
    """Our numbers in Pinocchio's, for one state or a batch ``(..., n)``."""
    _need_velocity(a, v)
    q = np.asarray(q, dtype=float)
    blocks = list(_blocks(model))
    theirs = np.concatenate([_q_to(b.numbers, q[..., b.q_ours]) for b in blocks], axis=-1)
    v_theirs, a_theirs, tau_theirs = (None if x is None else np.zeros(np.shape(x)) for x in (v, a, tau))
    for b in blocks:
        inverse = _transposed(_map(b.numbers, q[..., b.q_ours], b.v.stop - b.v.start))
        if v is not None:
            v_theirs[..., b.v] = _times(inverse, v[..., b.v])
        if a is not None:
            bias = _bias(b.numbers, q[..., b.q_ours], v[..., b.v])
            a_theirs[..., b.v] = _times(inverse, a[..., b.v] - bias)
        if tau is not None:
            tau_theirs[..., b.v] = _times(inverse, tau[..., b.v])
    return State(theirs, v_theirs, a_theirs, tau_theirs)
