"""Pinocchio and MuJoCo on trees whose loops close in points: native loops, and Pinocchio's calls from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
import pinocchio as pin
from loop_models import Anchor, Problem, Tree
from native_code import pointer
from peers import NativeLoop, mujoco_loop, mujoco_ring, mujoco_spec, pinocchio_code, pinocchio_loop
from timing import Run

CONSTRAINT_DYNAMICS, LCABA = "constraintDynamics", "lcaba"


@dataclass(frozen=True)
class Contestant:
    """A native loop, and the largest error of its accelerations over all states."""

    name: str
    run: Run
    error: float


class Settings(NamedTuple):
    """Pinocchio's function, and its proximal iteration: accuracy, regularisation, most iterations."""

    function: str
    accuracy: float
    mu: float
    iterations: int

    @property
    def words(self) -> str:
        return f"{self.function}({self.accuracy:g}, {self.mu:g}, {self.iterations})"


# Iterating until it is accurate, or once or twice: faster, and as accurate as the regularisation then is.
PINOCCHIO = (
    Settings(CONSTRAINT_DYNAMICS, 1e-12, 1e-10, 10),
    Settings(CONSTRAINT_DYNAMICS, 1e-12, 1e-10, 1),
    Settings(LCABA, 1e-10, 1e-6, 20),
    Settings(LCABA, 1e-6, 1e-6, 2),
    Settings(LCABA, 1e-6, 1e-8, 1),
)
BUILDS = {"-march=native": True, "plain -O3": False}  # on small matrices wide registers do not always pay
JACOBIANS = {"dense": mujoco.mjtJacobian.mjJAC_DENSE, "sparse": mujoco.mjtJacobian.mjJAC_SPARSE}
# The stiffest that MuJoCo allows; a time constant of two steps.
STEP = 1e-3
STIFF = {"solref": [2.0 * STEP, 1.0], "solimp": [0.9999, 0.9999, 0.001, 0.5, 2.0]}
STEP_TASK = 3


def worst(answers: Sequence[np.ndarray], exact: np.ndarray) -> float:
    """The largest error in rad/s² or m/s²; what is not a number is infinitely wrong."""
    error = float(np.max(np.abs(np.array(answers) - exact)))
    return error if np.isfinite(error) else float("inf")


# ---------------------------------------------------------------------------------------------------------
# Pinocchio


def pinocchio_contestants(problem: Problem) -> list[Contestant]:
    return [
        _pinocchio(tree, settings, name, build)
        for name, tree in ((name, problem.tree(name)) for name in problem.trees)
        for settings in PINOCCHIO
        for build in BUILDS
    ]


def _pinocchio(tree: Tree, settings: Settings, name: str, build: str) -> Contestant:
    loop, state = (
        anchored(tree, settings, pinocchio_code("pinocchio_closures.cpp", tuned=BUILDS[build])),
        tree.ring.theirs,
    )
    task = 0 if settings.function == CONSTRAINT_DYNAMICS else 1
    answers = [loop.result(task, k, matrix=False) for k in range(len(state.q))]
    return Contestant(f"{settings.words}; {name}; {build}", loop.run(task), worst(answers, state.a))


def anchored(tree: Tree, settings: Settings, code: ctypes.CDLL) -> NativeLoop:
    """A native loop over the states of a tree whose loops are closed."""
    loop = pinocchio_loop(code, tree.ring.model)
    joints = np.array([_joints(tree, anchor) for anchor in tree.anchors], dtype=np.int32)
    points = np.array([anchor.points for anchor in tree.anchors])
    code.pinocchio_anchor.restype = None
    code.pinocchio_anchor(
        loop.handle,
        len(joints),
        pointer(joints),
        pointer(points),
        int(settings.function == CONSTRAINT_DYNAMICS),
        ctypes.c_double(settings.accuracy),
        ctypes.c_double(settings.mu),
        settings.iterations,
    )
    state = tree.ring.theirs
    loop.set_states(state.q, state.v, state.tau)
    return loop


def _joints(tree: Tree, anchor: Anchor) -> list[int]:
    return [tree.ring.model.getJointId(joint) for joint in anchor.joints]


def pinocchio_calls(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    """Both functions for the first state, called from Python, on each tree."""
    calls = {}
    for name in problem.trees:
        calls |= {f"{words}; {name}": call for words, call in _python_calls(problem.tree(name)).items()}
    return calls


def _python_calls(tree: Tree) -> dict[str, Callable[[], np.ndarray]]:
    model, state = tree.ring.model, tree.ring.theirs
    q, v, tau = (x[0].copy() for x in (state.q, state.v, state.tau))
    calls = {}
    for settings in PINOCCHIO:
        whole = settings.function == CONSTRAINT_DYNAMICS
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED if whole else pin.ReferenceFrame.LOCAL
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for anchor in tree.anchors:
            first, second = _joints(tree, anchor)
            places = [pin.SE3(np.eye(3), point) for point in anchor.points]
            sides = (first, places[0], second, places[1])
            models.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *sides, axes))
            datas.append(models[-1].createData())
        data = model.createData()
        pin.initConstraintDynamics(model, data, models, datas)
        pin.computeJointMinimalOrdering(model, data, models)
        proximal = pin.ProximalSettings(settings.accuracy, settings.mu, settings.iterations)
        arguments = (model, data, q, v, tau, models, datas, proximal)
        function = getattr(pin, settings.function)
        calls[settings.words] = _call(function, arguments)
    return calls


def _call(function: Callable[..., np.ndarray], arguments: tuple[object, ...]) -> Callable[[], np.ndarray]:
    return lambda: function(*arguments)


# ---------------------------------------------------------------------------------------------------------
# MuJoCo


def mujoco_contestants(problem: Problem) -> list[Contestant]:
    """Its step with connect constraints and the Newton solver."""
    return [
        _mujoco(tree, jacobian, name)
        for name, tree in ((name, problem.tree(name)) for name in problem.trees)
        for jacobian in JACOBIANS
    ]


def _mujoco(tree: Tree, jacobian: str, name: str) -> Contestant:
    spec = mujoco_spec(tree.ring.model)
    off = mujoco.mjtDisableBit  # there are no springs and dampers, and only one island to search for
    spec.option.disableflags |= off.mjDSBL_ISLAND | off.mjDSBL_SPRING | off.mjDSBL_DAMPER
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.jacobian = JACOBIANS[jacobian]
    spec.option.tolerance, spec.option.iterations, spec.option.timestep = 1e-10, 50, STEP
    for i, anchor in enumerate(tree.anchors):
        ends = [f"{side} end {i}" for side in ("first", "second")]
        for end, joint, point in zip(ends, anchor.joints, anchor.points, strict=True):
            spec.body(joint).add_site(name=end, pos=point)
        kinds = {"type": mujoco.mjtEq.mjEQ_CONNECT, "objtype": mujoco.mjtObj.mjOBJ_SITE}
        spec.add_equality(name=f"closure {i}", name1=ends[0], name2=ends[1], **kinds, **STIFF)
    model = spec.compile()
    loop, states = mujoco_loop(model), mujoco_ring(tree.ring, model)
    loop.set_states(states.q, states.v, states.tau)
    answers = [states.acceleration(k, loop.result(STEP_TASK, k, matrix=False)) for k in range(len(states.q))]
    return Contestant(f"{jacobian}; {name}", loop.run(STEP_TASK), worst(answers, tree.ring.theirs.a))
