"""Simulations by the peers: each is a function that runs ten seconds and returns CPU seconds and angles."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable

import mujoco
import numpy as np
import pinocchio as pin
from motion_models import DURATION, TIMES, G, Motion
from native_code import pointer
from peers import mujoco_spec, pinocchio_code, pinocchio_loop

Simulated = tuple[float, np.ndarray]
Simulate = Callable[[], Simulated]


# ---------------------------------------------------------------------------------------------------------
# Pinocchio: classical Runge-Kutta in C++, constraintDynamics with Baumgarte terms


def pinocchio(motion: Motion, step: float, iterations: int) -> Simulate:
    code = pinocchio_code("pinocchio_closures.cpp")
    code.pinocchio_anchor.restype, code.pinocchio_motion.restype = None, ctypes.c_double
    loop = pinocchio_loop(code, motion.tree)
    joints = np.array([[motion.tree.getJointId(j) for j in anchor.joints] for anchor in motion.anchors], dtype=np.int32)
    points = np.array([anchor.points for anchor in motion.anchors])
    close = [loop.handle, len(joints), pointer(joints), pointer(points), 1]
    code.pinocchio_anchor(*close, ctypes.c_double(1e-12), ctypes.c_double(1e-10), iterations)
    terms = [ctypes.c_double(x) for x in (100.0**2, 2 * 100.0)]

    def run() -> Simulated:
        q, v, angles, taken = motion.q.copy(), motion.v.copy(), [], 0.0
        for _ in TIMES:
            state = [pointer(q), pointer(v), ctypes.c_double(step), ctypes.c_long(round(1 / step))]
            taken += code.pinocchio_motion(loop.handle, *state, *terms)
            angles.append(q[0])
        return taken, np.array(angles)

    return run


# ---------------------------------------------------------------------------------------------------------
# MuJoCo: its own loop of steps, with connect constraints as stiff as it allows


def mujoco_loops(motion: Motion, step: float, integrator: str) -> Simulate:
    spec = mujoco_spec(motion.tree)
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.tolerance, spec.option.iterations = 1e-10, 50
    for i, anchor in enumerate(motion.anchors):
        ends = [f"{side} end {i}" for side in ("first", "second")]
        for end, joint, point in zip(ends, anchor.joints, anchor.points, strict=True):
            body = spec.worldbody if joint == "universe" else spec.body(joint)
            body.add_site(name=end, pos=point)
        kinds = {"type": mujoco.mjtEq.mjEQ_CONNECT, "objtype": mujoco.mjtObj.mjOBJ_SITE}
        stiff = {"solref": [2 * step, 1.0], "solimp": [0.9999, 0.9999, 0.001, 0.5, 2.0]}
        spec.add_equality(name=f"closure {i}", name1=ends[0], name2=ends[1], **kinds, **stiff)
    return _mujoco(spec, motion.tree, motion.q, motion.v, step, integrator)


def mujoco_tree(model: pin.Model, q: np.ndarray, step: float) -> tuple[Simulate, Callable[[], float]]:
    """A tree by Runge-Kutta steps; also what its energy has drifted by after a run."""
    spec = mujoco_spec(model)
    drift = [0.0]
    run = _mujoco(spec, model, q, np.zeros(model.nv), step, "RK4", drift)
    return run, lambda: drift[0]


def _mujoco(
    spec: mujoco.MjSpec,
    tree: pin.Model,
    q: np.ndarray,
    v: np.ndarray,
    step: float,
    integrator: str,
    drift: list[float] | None = None,
) -> Simulate:
    spec.option.timestep = step
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    model = spec.compile()
    data = mujoco.MjData(model)
    places = [model.joint(name).qposadr[0] for name in tree.names[1:]]
    speeds = [model.joint(name).dofadr[0] for name in tree.names[1:]]

    def run() -> Simulated:
        mujoco.mj_resetData(model, data)
        data.qpos[places], data.qvel[speeds] = q, v
        mujoco.mj_forward(model, data)
        before, angles = _energy(model, data), []
        begin = time.thread_time()
        for _ in TIMES:
            mujoco.mj_step(model, data, nstep=round(1 / step))
            angles.append(float(data.qpos[places[0]]))
        taken = time.thread_time() - begin
        if drift is not None:
            mujoco.mj_forward(model, data)
            drift[0] = _energy(model, data) - before
        return taken, np.array(angles)

    return run


def _energy(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    return float(data.energy.sum())


# ---------------------------------------------------------------------------------------------------------
# Exudyn: generalised-alpha on redundant coordinates


def exudyn_four_bars(n: int, step: float) -> Simulate:
    sys.exudynFast = True  # type: ignore[attr-defined]
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813

    def run() -> Simulated:
        container = exu.SystemContainer()
        mbs = container.AddSystem()
        ground = mbs.AddObject(items.ObjectGround())

        def rod(centre: list[float], angle: float, speed: list[float]) -> tuple[int, int]:
            node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*centre, angle], initialVelocities=speed))
            body = mbs.AddObject(items.RigidBody2D(physicsMass=1.0, physicsInertia=1 / 12, nodeNumber=node))
            marker = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
            mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, -G, 0]))
            return node, body

        def hinge(first: int, at: float, second: int, other: float) -> None:
            ends = [
                mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
                for body, x in ((first, at), (second, other))
            ]
            mbs.AddObject(items.RevoluteJoint2D(markerNumbers=ends))

        rockers = [rod([float(i), 0.5], np.pi / 2, [0.5, 0.0, -1.0]) for i in range(n + 1)]
        couplers = [rod([i + 0.5, 1.0], 0.0, [1.0, 0.0, 0.0]) for i in range(n)]
        for i, (_, body) in enumerate(rockers):
            hinge(ground, float(i), body, -0.5)
        for i, (_, body) in enumerate(couplers):
            hinge(rockers[i][1], 0.5, body, -0.5)
            hinge(body, 0.5, rockers[i + 1][1], 0.5)
        mbs.Assemble()
        return _exudyn(exu, mbs, rockers[0][0], step)

    return run


def _exudyn(exu: object, mbs: object, node: int, step: float) -> Simulated:
    settings = exu.SimulationSettings()  # type: ignore[attr-defined]
    march = settings.timeIntegration
    march.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = 1e9
    settings.linearSolverType = exu.LinearSolverType.EigenSparse  # type: ignore[attr-defined]
    march.newton.absoluteTolerance = march.newton.relativeTolerance = 1e-8
    march.newton.useModifiedNewton = True
    march.generalizedAlpha.spectralRadius = 0.9
    settings.parallel.numberOfThreads = 1
    march.numberOfSteps, march.endTime = round(DURATION / step), DURATION
    begin = time.thread_time()
    mbs.SolveDynamic(settings)  # type: ignore[attr-defined]
    taken = time.thread_time() - begin
    angle = mbs.GetNodeOutput(node, exu.OutputVariableType.Rotation)  # type: ignore[attr-defined]
    return taken, np.array([float(np.ravel(angle)[-1])])
