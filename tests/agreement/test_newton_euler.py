"""The engine's accelerations, reactions and driving forces, against Newton and Euler's balance of every body.

This covers what other engines lack: cylindrical joints, prescribed hinges, joints described backward, welds.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.measures import evaluated, relative
from support.newton_euler import absolute
from support.random_trees import KINDS, random_mechanism, random_states
from support.sampling import rest, sampled

TOLERANCE = 1e-10
FORMULATIONS = ("articulated", "composite")
TREES = 60
STATES = 2


def size_of(seed: int) -> int:
    return 1 + (5 * seed) % 13


def trees() -> list:
    return sampled(range(TREES), lambda seed: seed < 4)


def check(mechanism, seed: int, formulation: str, wrenches: bool) -> dict[str, float]:
    """The worst relative errors: of the balance, of efforts, and of the kinematics it stands on."""
    s = mechanism.build()
    x = random_states(s, seed, STATES)
    q, v, tau, given = x["q"], x["v"], x["tau"], x["a"]
    d = s.description
    driven = np.concatenate([np.zeros(0, bool), *(np.full(u.joint.nv, u.prescribed) for u in d.joints)])
    places = ["body 0", "frame 0"] if wrenches else []
    loads = np.random.default_rng(seed).uniform(-5.0, 5.0, (len(places), STATES, 6))
    inputs = [q, v, tau, *([given] if driven.any() else []), *loads]
    options = {"formulation": formulation, "wrenches": places}
    a = evaluated(s.function("forward_dynamics", **options), *inputs)
    reactions = evaluated(s.function("reactions", **options), *inputs, shape=(-1, 6))
    efforts = evaluated(s.function("driving_forces", **options), *inputs)
    assert np.array_equal(a[:, driven], given[:, driven])
    assert np.array_equal(efforts[:, ~driven], tau[:, ~driven])

    found = {"balance": 0.0, "efforts": 0.0, "pose": 0.0, "velocity": 0.0, "acceleration": 0.0}
    frame = "frame 0"
    pose = evaluated(s.function("pose", frame=frame), q, shape=(4, 4))
    velocity = evaluated(s.function("velocity", frame=frame), q, v)
    acceleration = evaluated(s.function("acceleration", frame=frame), q, v, a)
    for i in range(STATES):
        world = absolute(d, q[i], v[i], a[i])
        named = dict(zip(s.joint_names, reactions[i], strict=True))
        rest = world.imbalance(named, dict(zip(places, loads[:, i], strict=True)))
        found["balance"] = max(found["balance"], np.abs(rest).max() / np.abs(reactions[i]).max())
        moving = world.frame(frame)
        if s.nv:
            projected = world.efforts(named)
            scale = np.abs(reactions[i]).max()  # a projection is no better than what is projected
            found["efforts"] = max(found["efforts"], np.abs(projected - efforts[i]).max() / scale)
        for name, got, expected in (
            ("pose", pose, moving.pose),
            ("velocity", velocity, moving.velocity),
            ("acceleration", acceleration, moving.acceleration),
        ):
            found[name] = max(found[name], relative(got[i : i + 1], expected[None]))
    return found


def assert_close(found: dict[str, float]) -> None:
    far = {name: f"{value:.2e}" for name, value in found.items() if not value < TOLERANCE}
    assert not far, far


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
@pytest.mark.parametrize("backward", [0.0, *rest([1.0])])
def test_each_joint_alone(kind: str, formulation: str, backward: float) -> None:
    for seed in range(2):
        mechanism = random_mechanism(seed, 3, kinds=(kind,), floating=False, backward=backward)
        assert_close(check(mechanism, seed, formulation, wrenches=True))


@pytest.mark.rest
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", trees())
def test_random_trees(seed: int, formulation: str) -> None:
    prescribed = 0.3 if seed % 2 else 0.0
    mechanism = random_mechanism(seed, size_of(seed), floating=seed % 3 == 0, prescribed=prescribed)
    assert_close(check(mechanism, seed, formulation, wrenches=seed % 4 < 2))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_everything_prescribed(formulation: str) -> None:
    mechanism = random_mechanism(5, 8, floating=True, prescribed=1.0)
    assert_close(check(mechanism, 5, formulation, wrenches=True))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_welds_between_all_joints(formulation: str) -> None:
    mechanism = random_mechanism(8, 12, kinds=("fixed", "fixed", "revolute", "universal"), floating=True)
    assert_close(check(mechanism, 8, formulation, wrenches=True))


def test_native_code() -> None:
    s = random_mechanism(2, 4, floating=True, prescribed=0.4, kinds=("cylindrical", "screw", "fixed")).build()
    x = random_states(s, 3, 1)
    q, v, tau, a = (x[name][0] for name in ("q", "v", "tau", "a"))
    load = {"frame 1": np.arange(6.0)}
    acceleration = s.forward_dynamics(q, v, tau, a=a, wrenches=load)
    reactions = {name: r.wrench for name, r in s.reactions(q, v, tau, a=a, wrenches=load).items()}
    efforts = s.driving_forces(q, v, tau, a=a, wrenches=load)
    world = absolute(s.description, q, v, acceleration)
    scale = max(np.abs(r).max() for r in reactions.values())
    assert np.abs(world.imbalance(reactions, load)).max() < TOLERANCE * scale
    assert np.abs(world.efforts(reactions) - efforts).max() < TOLERANCE * scale
