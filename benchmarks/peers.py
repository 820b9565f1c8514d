"""Pinocchio and MuJoCo in native loops over a ring of states.

Each loop has `run(task)`, for timing, and `answer(task, k)`, so that wrong answers are not timed.
"""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
import pinocchio as pin
from models import AXES, Ring
from native_code import library, pointer
from timing import Run

FORWARD = "forward dynamics"
INVERSE = "inverse dynamics"
MASS = "mass matrix"

PINOCCHIO_TASKS = {"aba LOCAL": 0, "aba WORLD": 1, "rnea": 2, "crba LOCAL": 3, "crba WORLD": 4}
"""Pinocchio's functions by their number in the native loop."""

PINOCCHIO_CHOICES = {
    FORWARD: ("aba LOCAL", "aba WORLD"),
    INVERSE: ("rnea",),
    MASS: ("crba LOCAL", "crba WORLD"),
}
MUJOCO_TASKS = {FORWARD: 0, INVERSE: 1, MASS: 2}

# Limits as Pinocchio's own build has them; all hidden, so that nothing is shared with the wheel's library.
PINOCCHIO_FLAGS = [
    "-std=c++17",
    "-DNDEBUG",
    "-w",
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-fno-gnu-unique",
    "-Wl,-Bsymbolic",
]


class NativeLoop:
    """What the two peers' libraries have in common: a handle, a ring of states, numbered tasks."""

    def __init__(self, code: ctypes.CDLL, prefix: str, handle: int | None, nv: int) -> None:
        if not handle:
            raise RuntimeError(f"{prefix} did not accept the model")
        self.nv = nv
        self.handle = ctypes.c_void_p(handle)
        self._states = getattr(code, f"{prefix}_states")
        self._states.argtypes = [ctypes.c_void_p, ctypes.c_long, *[ctypes.c_void_p] * 3]
        self._states.restype = None
        self._run = getattr(code, f"{prefix}_run")
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
        self._run.restype = ctypes.c_double

    def set_states(self, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> None:
        """x: joint forces for forward dynamics, accelerations for inverse dynamics."""
        self._kept = [np.ascontiguousarray(array, dtype=float) for array in (q, v, x)]
        self._states(self.handle, len(q), *map(pointer, self._kept))

    def run(self, task: int) -> Run:
        return lambda count: self._run(self.handle, task, 0, count, None)

    def result(self, task: int, k: int, *, matrix: bool) -> np.ndarray:
        """The result for state k of the ring."""
        out = np.zeros((self.nv, self.nv) if matrix else self.nv)
        self._run(self.handle, task, k, 1, pointer(out))
        return out


# ---------------------------------------------------------------------------------------------------------
# Pinocchio


def _wheel_headers() -> Path:
    for folder in Path(pin.__file__).parents:
        if (folder / "include" / "pinocchio").is_dir() and (folder / "include" / "eigen3").is_dir():
            return folder / "include"
    raise SystemExit("Pinocchio's and Eigen's headers are needed: pip install pin cmeel-eigen")


def pinocchio_code(source: str, *, tuned: bool = True) -> ctypes.CDLL:
    headers = _wheel_headers()
    flags = [*PINOCCHIO_FLAGS, "-isystem", str(headers), "-isystem", str(headers / "eigen3")]
    code = library(source, "g++", flags, tuned=tuned)
    code.pinocchio_open.restype = ctypes.c_void_p
    return code


def _axes(joint: pin.JointModel) -> list[np.ndarray]:
    """The axes that the joint turns about or slides along, where it has any."""
    name = joint.shortname()
    if name == "JointModelUniversal":
        return [np.asarray(joint.extract().axis1), np.asarray(joint.extract().axis2)]
    if name.endswith("Unaligned"):
        return [np.asarray(joint.extract().axis)]
    return [np.array(AXES[name[-1]])] if name[-1] in AXES else []


def pinocchio_loop(code: ctypes.CDLL, model: pin.Model) -> NativeLoop:
    """The model read into a library of ours, without states."""
    joints = range(1, model.njoints)
    numbers = []
    for j in joints:
        place, body = model.jointPlacements[j], model.inertias[j]
        axes = np.zeros((2, 3))
        for row, axis in enumerate(_axes(model.joints[j])):
            axes[row] = axis
        parts = [axes, place.rotation, place.translation, body.mass, body.lever, body.inertia]
        numbers.append(np.concatenate([np.ravel(part) for part in parts]))
    flat = np.ascontiguousarray(np.concatenate(numbers))
    parents = np.array([model.parents[j] for j in joints], dtype=np.int32)
    kinds = [model.joints[j].shortname().encode() for j in joints]
    gravity = np.array(model.gravity.linear)
    handle = code.pinocchio_open(
        len(kinds),
        pointer(parents),
        (ctypes.c_char_p * len(kinds))(*kinds),
        pointer(flat),
        pointer(gravity),
    )
    return NativeLoop(code, "pinocchio", handle, model.nv)


class PinocchioLoop:
    """Pinocchio, compiled from its headers for this processor."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self._forward = self._open(ring.theirs.tau)
        self._inverse = self._open(ring.theirs.a)

    def _open(self, x: np.ndarray) -> NativeLoop:
        loop = pinocchio_loop(pinocchio_code("pinocchio_loops.cpp"), self.ring.model)
        loop.set_states(self.ring.theirs.q, self.ring.theirs.v, x)
        return loop

    def _loop(self, choice: str) -> NativeLoop:
        return self._inverse if choice == "rnea" else self._forward

    def run(self, choice: str) -> Run:
        """choice: one of PINOCCHIO_TASKS."""
        return self._loop(choice).run(PINOCCHIO_TASKS[choice])

    def answer(self, choice: str, k: int) -> np.ndarray:
        matrix = choice.startswith("crba")
        result = self._loop(choice).result(PINOCCHIO_TASKS[choice], k, matrix=matrix)
        return np.triu(result) + np.triu(result, 1).T if matrix else result


# ---------------------------------------------------------------------------------------------------------
# MuJoCo


def _mujoco_joints(name: str, joint: pin.JointModel) -> list[dict[str, object]]:
    """What the joint is in MuJoCo: one joint, or two hinges for a universal joint."""
    kinds, kind = mujoco.mjtJoint, joint.shortname()
    if kind == "JointModelFreeFlyer":
        return [{"name": name, "type": kinds.mjJNT_FREE}]
    if kind == "JointModelSpherical":
        return [{"name": name, "type": kinds.mjJNT_BALL}]
    slides = kind in ("JointModelPX", "JointModelPY", "JointModelPZ")
    single = {"name": name, "type": kinds.mjJNT_SLIDE if slides else kinds.mjJNT_HINGE}
    first, *second = _axes(joint)
    return [single | {"axis": first}, *(single | {"name": f"{name}, second", "axis": axis} for axis in second)]


def mujoco_spec(model: pin.Model) -> mujoco.MjSpec:
    """The same tree without contacts, limits, sensors and actuators; bodies are named like their joints."""
    spec = mujoco.MjSpec()
    spec.option.gravity = model.gravity.linear
    off = mujoco.mjtDisableBit
    spec.option.disableflags |= (
        off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS | off.mjDSBL_SENSOR | off.mjDSBL_ACTUATION
    )
    bodies = [spec.worldbody]
    for j in range(1, model.njoints):
        place, mass = model.jointPlacements[j], model.inertias[j]
        x, y, z, w = pin.Quaternion(place.rotation).coeffs()
        body = bodies[model.parents[j]].add_body(name=model.names[j], pos=place.translation, quat=[w, x, y, z])
        body.mass = mass.mass
        body.ipos = mass.lever
        inertia = mass.inertia
        body.fullinertia = [inertia[i, k] for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        body.explicitinertial = True
        for joint in _mujoco_joints(model.names[j], model.joints[j]):
            body.add_joint(**joint)
        bodies.append(body)
    return spec


def mujoco_map(ring: Ring, peer: mujoco.MjModel, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, T and T' v of state k: MuJoCo's velocities are T times Pinocchio's, with T orthogonal.

    A free base's linear velocity is in ground axes there, in body axes here; joints may be in another order.
    """
    model, q, v = ring.model, ring.theirs.q[k], ring.theirs.v[k]
    q_peer, T, bias = np.zeros(peer.nq), np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    for j in range(1, model.njoints):
        joint, at = model.joints[j], peer.joint(model.names[j])
        i, p, d = joint.idx_v, at.qposadr[0], at.dofadr[0]
        if joint.nv < 6:
            numbers = q[joint.idx_q : joint.idx_q + joint.nq]
            q_peer[p : p + joint.nq] = numbers if joint.nq == joint.nv else numbers[[3, 0, 1, 2]]
            T[d : d + joint.nv, i : i + joint.nv] = np.eye(joint.nv)
            continue
        position, (x, y, z, w) = q[joint.idx_q : joint.idx_q + 3], q[joint.idx_q + 3 : joint.idx_q + 7]
        R = pin.Quaternion(w, x, y, z).matrix()
        q_peer[p : p + 7] = *position, w, x, y, z
        T[d : d + 3, i : i + 3] = R
        T[d + 3 : d + 6, i + 3 : i + 6] = np.eye(3)
        bias[d : d + 3] = R @ np.cross(v[i + 3 : i + 6], v[i : i + 3])
    return q_peer, T, bias


class MujocoRing(NamedTuple):
    """A ring of states in MuJoCo's numbers, with the maps that led to them."""

    maps: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray

    def acceleration(self, k: int, theirs: np.ndarray) -> np.ndarray:
        """Accelerations of state k in Pinocchio's numbers."""
        _, T, bias = self.maps[k]
        return T.T @ (theirs - bias)


def mujoco_ring(ring: Ring, peer: mujoco.MjModel) -> MujocoRing:
    maps = [mujoco_map(ring, peer, k) for k in range(len(ring.theirs.q))]
    v, tau, a = (
        np.array([T @ x for (_, T, _), x in zip(maps, values, strict=True)])
        for values in (ring.theirs.v, ring.theirs.tau, ring.theirs.a)
    )
    biases = np.array([bias for _, _, bias in maps])
    return MujocoRing(maps, np.array([at for at, _, _ in maps]), v, a + biases, tau)


def mujoco_loop(model: mujoco.MjModel) -> NativeLoop:
    """The model read into a library of ours, without states."""
    folder = Path(mujoco.__file__).parent
    shared = max(folder.glob("libmujoco.so*"))
    flags = [f"-I{folder / 'include'}", "-Wall"]
    code = library("mujoco_loops.c", "gcc", flags, [str(shared), f"-Wl,-rpath,{folder}", "-lm"])
    code.mujoco_open.restype = ctypes.c_void_p
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.mjb"
        mujoco.mj_saveModel(model, str(path), None)
        handle = code.mujoco_open(str(path).encode())
    return NativeLoop(code, "mujoco", handle, model.nv)


class MujocoLoop:
    """MuJoCo's C library from its wheel."""

    def __init__(self, ring: Ring) -> None:
        self.model = mujoco_spec(ring.model).compile()
        self._ring = mujoco_ring(ring, self.model)
        self._forward, self._inverse = self._open(self._ring.tau), self._open(self._ring.a)

    def _open(self, x: np.ndarray) -> NativeLoop:
        loop = mujoco_loop(self.model)
        loop.set_states(self._ring.q, self._ring.v, x)
        return loop

    def _loop(self, task: str) -> NativeLoop:
        return self._inverse if task == INVERSE else self._forward

    def run(self, task: str) -> Run:
        return self._loop(task).run(MUJOCO_TASKS[task])

    def answer(self, task: str, k: int) -> np.ndarray:
        """In Pinocchio's numbers."""
        result = self._loop(task).result(MUJOCO_TASKS[task], k, matrix=task == MASS)
        if task == FORWARD:
            return self._ring.acceleration(k, result)
        _, T, _ = self._ring.maps[k]
        return T.T @ result @ T if task == MASS else T.T @ result
