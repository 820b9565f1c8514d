"""Agreement with Pinocchio, on random trees of every joint type that both have, and on robots.

The comparison is by CasADi's evaluator, which runs the same trace that native code is made of, and by native
code on a sample.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
import pytest

import whippletree as wt
from support.measures import evaluated, relative
from support.pinocchio_models import (
    mechanism_from_pinocchio,
    panda,
    random_state,
    sample_humanoid,
    sample_manipulator,
    state_from_pinocchio,
    talos,
    velocity_map,
)
from support.random_pinocchio import JOINTS, random_pinocchio_model
from support.sampling import sampled

Array = np.ndarray

TOLERANCE = 1e-10
N_TREES = 200
STATES = 3
WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
FORMULATIONS = ("articulated", "composite")
ROBOTS = {
    "panda": panda,
    "talos": talos,
    "sample manipulator": sample_manipulator,
    "sample humanoid": sample_humanoid,
}


def size_of(seed: int) -> int:
    """All sizes from 1 to 40, five times over, mixed."""
    return 1 + (17 * seed) % 40


def trees() -> list:
    """The seeds of the random trees: two of each small size and two large ones, the others marked as deep."""
    quick = {seed for seed in range(80) if size_of(seed) <= 5 or (seed < 40 and size_of(seed) % 20 == 0)}
    return sampled(range(N_TREES), lambda seed: seed in quick, core=2)


# ---------------------------------------------------------------------------------------------------------
# What Pinocchio says, in our numbers


@dataclass
class Case:
    """A model, a batch of states in our numbers, and Pinocchio's answers in our numbers."""

    model: pin.Model
    system: wt.System
    frames: list[str]
    q: Array
    v: Array
    tau: Array
    a: Array  # for inverse dynamics and accelerations of frames
    wrenches: Array  # (states, 6), [moment; force] on frames[0] in ground axes
    expected: dict[str, Array] = field(default_factory=dict)


def angular_first(x: Array) -> Array:
    """[linear; angular] as [angular; linear], along the first axis."""
    return np.concatenate([x[3:6], x[0:3]])


def frame_answers(model: pin.Model, data: pin.Data, name: str, back: Array) -> dict[str, Array]:
    """Pose, velocity, acceleration and Jacobian of a frame; `back` turns our velocities into Pinocchio's."""
    k = model.getFrameId(name)
    velocity = pin.getFrameVelocity(model, data, k, WORLD).vector
    acceleration = pin.getFrameClassicalAcceleration(model, data, k, WORLD).vector
    jacobian = pin.getFrameJacobian(model, data, k, WORLD).reshape(6, model.nv)
    return {
        f"pose of {name}": data.oMf[k].homogeneous,
        f"velocity of {name}": angular_first(velocity),
        f"acceleration of {name}": angular_first(acceleration),
        f"jacobian of {name}": angular_first(jacobian) @ back,
    }


def answers(case: Case, q: Array, v: Array, tau: Array, a: Array, wrench: Array, ours: Array) -> dict[str, Array]:
    """Everything Pinocchio has to say about one state; `ours` is q in our numbers."""
    model, data = case.model, case.model.createData()
    T = velocity_map(model, ours)
    back = T.T  # orthogonal

    def acceleration(x: Array) -> Array:
        return state_from_pinocchio(model, q, v, a=x).a

    result = {"forward_dynamics": acceleration(pin.aba(model, data, q, v, tau))}
    # After aba, f holds what each joint transmits to its body, in the joint's frame [force; moment].
    pin.framesForwardKinematics(model, data, q)
    turned = [pin.SE3(data.oMi[j].rotation, np.zeros(3)).act(data.f[j]) for j in range(1, model.njoints)]
    result["reactions"] = np.array([angular_first(f.vector) for f in turned])
    at_rest = state_from_pinocchio(model, q, v, a=np.zeros(model.nv)).a
    mass = pin.crba(model, data, q)
    mass = T @ (np.triu(mass) + np.triu(mass, 1).T) @ T.T
    result["mass_matrix"] = mass
    result["inverse_dynamics"] = T @ pin.rnea(model, data, q, v, a)
    # Zero acceleration means another thing for a planar joint, whose velocities are in other axes there.
    result["bias_force"] = T @ pin.nonLinearEffects(model, data, q, v) - mass @ at_rest

    fext = [pin.Force.Zero() for _ in range(model.njoints)]
    k = model.getFrameId(case.frames[0])
    at_joint = data.oMf[k].translation - data.oMi[model.frames[k].parentJoint].translation
    moment = wrench[0:3] + np.cross(at_joint, wrench[3:6])
    to_joint = data.oMi[model.frames[k].parentJoint].rotation.T
    fext[model.frames[k].parentJoint] = pin.Force(to_joint @ wrench[3:6], to_joint @ moment)
    result["loaded"] = acceleration(pin.aba(model, data, q, v, tau, fext))

    kinetic = pin.computeKineticEnergy(model, data, q, v)
    result["energy"] = np.array([kinetic, pin.computePotentialEnergy(model, data, q)])
    result["center_of_mass"] = pin.centerOfMass(model, data, q).copy()
    centroidal = pin.computeCentroidalMomentum(model, data, q, v)
    about_origin = pin.SE3(np.eye(3), result["center_of_mass"]).act(centroidal)
    result["momentum"] = angular_first(about_origin.vector)
    result["centroidal"] = angular_first(centroidal.vector)
    pin.computeJointJacobians(model, data, q)
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    for name in case.frames:
        result |= frame_answers(model, data, name, back)
    return {name: np.array(value) for name, value in result.items()}


def make_case(model: pin.Model, frames: list[str], seed: int, states: int = STATES) -> Case:
    """Build our system beside a model, draw states, and ask Pinocchio."""
    mechanism = mechanism_from_pinocchio(model)
    for name in frames:
        frame = model.frames[model.getFrameId(name)]
        place = frame.placement
        on = model.names[frame.parentJoint]
        mechanism.frame(name, on=on, at=place.translation, rotation=place.rotation)
    theirs = random_state(model, np.random.default_rng(seed), states)
    wrenches = np.random.default_rng([seed, 6]).uniform(-5.0, 5.0, (states, 6))
    ours = state_from_pinocchio(model, *theirs)
    case = Case(model, mechanism.build(), frames, ours.q, ours.v, ours.tau, ours.a, wrenches)
    each = [
        answers(case, theirs.q[i], theirs.v[i], theirs.tau[i], theirs.a[i], wrenches[i], ours.q[i])
        for i in range(states)
    ]
    case.expected = {name: np.array([one[name] for one in each]) for name in each[0]}
    return case


# ---------------------------------------------------------------------------------------------------------
# What we say


def by_evaluator(case: Case) -> dict[str, float]:
    """The relative differences, our functions being evaluated by CasADi."""
    s, nv = case.system, case.system.nv
    q, v, tau, a, expected = case.q, case.v, case.tau, case.a, case.expected
    frame = case.frames[0]
    found: dict[str, float] = {}
    for name in FORMULATIONS:
        function = s.function("forward_dynamics", formulation=name, wrenches=[frame])
        free = evaluated(function, q, v, tau, np.zeros_like(case.wrenches))
        loaded = evaluated(function, q, v, tau, case.wrenches)
        found[f"forward dynamics, {name}"] = relative(free, expected["forward_dynamics"])
        found[f"forward dynamics with a wrench, {name}"] = relative(loaded, expected["loaded"])
    got = evaluated(s.function("reactions"), q, v, tau, shape=(-1, 6))
    found["reactions"] = relative(got, expected["reactions"])
    for name, inputs, shape in (
        ("inverse_dynamics", (q, v, a), (nv,)),
        ("bias_force", (q, v), (nv,)),
        ("mass_matrix", (q,), (nv, nv)),
        ("energy", (q, v), (2,)),
        ("momentum", (q, v), (6,)),
        ("center_of_mass", (q,), (3,)),
    ):
        found[name] = relative(evaluated(s.function(name), *inputs, shape=shape), expected[name])
    for place in case.frames if s.nv < 30 else [frame]:
        for name, inputs, shape in (
            ("pose", (q,), (4, 4)),
            ("velocity", (q, v), (6,)),
            ("acceleration", (q, v, a), (6,)),
            ("jacobian", (q,), (6, nv)),
        ):
            got = evaluated(s.function(name, frame=place), *inputs, shape=shape)
            found[f"{name} of {place}"] = relative(got, expected[f"{name} of {place}"])
    return found


def by_native_code(case: Case) -> dict[str, float]:
    """The relative differences, our functions being native code."""
    s, q, v, tau, a, expected = case.system, case.q, case.v, case.tau, case.a, case.expected
    frame = case.frames[0]
    loaded = s.forward_dynamics(q, v, tau, wrenches={frame: case.wrenches})
    energy, momentum = s.energy(q, v), s.momentum(q, v)
    got = {
        "forward_dynamics": s.forward_dynamics(q, v, tau),
        "loaded": loaded,
        "reactions": s.reactions(q, v, tau).wrenches,
        "inverse_dynamics": s.inverse_dynamics(q, v, a),
        "bias_force": s.bias_force(q, v),
        "mass_matrix": s.mass_matrix(q),
        "energy": np.stack([energy.kinetic, energy.potential], axis=-1),
        "centroidal": np.concatenate([momentum.angular, momentum.linear], axis=-1),
        "center_of_mass": s.center_of_mass(q),
        f"pose of {frame}": s.pose(q, frame),
        f"velocity of {frame}": s.velocity(q, v, frame),
        f"acceleration of {frame}": s.acceleration(q, v, a, frame),
        f"jacobian of {frame}": s.jacobian(q, frame),
    }
    return {name: relative(value, expected[name]) for name, value in got.items()}


def assert_close(found: dict[str, float]) -> None:
    """Fail with the names and figures of all that differ."""
    assert found
    far = {name: f"{value:.2e}" for name, value in found.items() if not value < TOLERANCE}
    assert not far, far


@functools.cache
def robot(name: str) -> Case:
    model = ROBOTS[name]()
    for label, joint in (("tip", model.njoints - 1), ("middle", model.njoints // 2)):
        place = pin.SE3(pin.Quaternion(0.8, 0.36, 0.48, 0.0).matrix(), np.array([0.1, -0.2, 0.05]))
        model.addFrame(pin.Frame(label, joint, 0, place, pin.FrameType.OP_FRAME))
    return make_case(model, ["tip", "middle"], seed=5, states=10)


@pytest.mark.parametrize("seed", trees())
def test_random_trees(seed: int) -> None:
    case = make_case(random_pinocchio_model(seed, size_of(seed)), ["tip", "tool"], seed)
    assert_close(by_evaluator(case))
    if size_of(seed) in (1, 4) and seed < 100:
        assert_close(by_native_code(case))


def test_the_random_trees_are_what_they_should_be() -> None:
    models = [random_pinocchio_model(seed, size_of(seed)) for seed in range(N_TREES)]
    assert {model.njoints - 1 for model in models} == set(range(1, 41))
    kinds = {joint.shortname().removeprefix("JointModel") for model in models for joint in list(model.joints)[1:]}
    assert kinds == set(JOINTS)
    assert sum(model.joints[1].shortname() == "JointModelFreeFlyer" for model in models) > N_TREES / 5
    branching = [len(set(model.parents)) < model.njoints - 1 for model in models]
    assert sum(branching) > N_TREES / 2


@pytest.mark.parametrize("name", ROBOTS)
def test_robots(name: str) -> None:
    assert_close(by_evaluator(robot(name)))


@pytest.mark.parametrize("name", ["panda", "sample manipulator"])
def test_robots_in_native_code(name: str) -> None:
    assert_close(by_native_code(robot(name)))


@pytest.mark.rest
def test_a_humanoid_in_native_code() -> None:
    case = robot("talos")
    s, q, v, expected = case.system, case.q, case.v, case.expected
    got = {
        "forward_dynamics": s.forward_dynamics(q, v, case.tau),
        "inverse_dynamics": s.inverse_dynamics(q, v, case.a),
        "mass_matrix": s.mass_matrix(q),
    }
    assert_close({name: relative(value, expected[name]) for name, value in got.items()})


@pytest.mark.parametrize("kind", JOINTS)
def test_each_joint_alone(kind: str) -> None:
    model = random_pinocchio_model(11, 3, joints=(kind,))
    assert_close(by_evaluator(make_case(model, ["tip", "tool"], seed=12)))


def test_integrate_and_difference() -> None:
    """A free joint follows a screw motion in both engines; a planar one only there, and is left out."""
    joints = tuple(name for name in JOINTS if name != "Planar")
    for seed in range(10):
        model = random_pinocchio_model(seed, 6, joints=joints)
        s = mechanism_from_pinocchio(model).build()
        theirs = random_state(model, np.random.default_rng(seed), STATES)
        ours = state_from_pinocchio(model, *theirs)
        moved = np.array([pin.integrate(model, q, v) for q, v in zip(theirs.q, theirs.v, strict=True)])
        reached = evaluated(s.function("integrate"), ours.q, ours.v)
        # The same configuration may have other numbers: an angle a turn away, a quaternion of the other sign.
        rest = evaluated(s.function("difference"), reached, state_from_pinocchio(model, moved).q)
        turns = np.round(rest / (2 * np.pi)) * 2 * np.pi
        assert np.abs(rest - turns).max() < 1e-14 * 10
        expected = np.array([pin.difference(model, a, b) for a, b in zip(theirs.q, moved, strict=True)])
        expected = state_from_pinocchio(model, theirs.q, expected).v
        assert relative(evaluated(s.function("difference"), ours.q, reached), expected) < 1e-13
