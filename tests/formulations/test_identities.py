"""What must hold between the functions of any system, on random trees of every joint type."""

from __future__ import annotations

import functools
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.measures import evaluated, relative
from support.random_trees import random_mechanism, random_states

Array = np.ndarray

TOLERANCE = 1e-11
SEEDS = range(6)
SIZES = (1, 3, 6, 8, 10, 14)


class Tree(NamedTuple):
    system: wt.System
    q: Array
    v: Array
    tau: Array
    a: Array


@functools.cache
def tree(seed: int) -> Tree:
    system = random_mechanism(seed + 40, SIZES[seed], floating=seed % 2 == 1).build()
    x = random_states(system, seed, 3)
    return Tree(system, x["q"], x["v"], x["tau"], x["a"])


@functools.cache
def function(seed: int, name: str, frame: str = "", wrenches: tuple[str, ...] = ()) -> ca.Function:
    return tree(seed).system.function(name, frame=frame, wrenches=wrenches)


def along(f: ca.Function, rates: list[Array], values: list[Array]) -> Array:
    """The exact derivative of a function along the rates of its inputs, for a batch."""
    x = [f.sx_in(k) for k in range(f.n_in())]
    dx = [ca.SX.sym(f"d{k}", *f.size_in(k)) for k in range(f.n_in())]
    out = ca.jtimes(f(*x), ca.vertcat(*x), ca.vertcat(*dx))
    return evaluated(ca.Function("along", [*x, *dx], [out]), *values, *rates)


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    return request.param


def mass_matrices(seed: int) -> Array:
    s = tree(seed)
    return evaluated(function(seed, "mass_matrix"), s.q, shape=(s.system.nv, s.system.nv))


def test_kinetic_energy_is_half_v_mass_v(seed: int) -> None:
    s = tree(seed)
    kinetic = evaluated(function(seed, "energy"), s.q, s.v)[:, :1]
    expected = 0.5 * np.einsum("bi,bij,bj->b", s.v, mass_matrices(seed), s.v)
    assert relative(kinetic, expected[:, None]) < TOLERANCE


def test_mass_matrix_is_symmetric_and_positive(seed: int) -> None:
    mass = mass_matrices(seed)
    assert np.array_equal(mass, np.swapaxes(mass, 1, 2))  # mirrored, so equal to the last bit
    assert np.linalg.eigvalsh(mass).min() > 0.0


def test_inverse_dynamics_is_mass_times_acceleration_plus_bias(seed: int) -> None:
    s = tree(seed)
    effort = evaluated(function(seed, "inverse_dynamics"), s.q, s.v, s.a)
    bias = evaluated(function(seed, "bias_force"), s.q, s.v)
    assert relative(effort, np.einsum("bij,bj->bi", mass_matrices(seed), s.a) + bias) < TOLERANCE
    still = evaluated(function(seed, "inverse_dynamics"), s.q, s.v, np.zeros_like(s.a))
    columns = [
        evaluated(function(seed, "inverse_dynamics"), s.q, s.v, np.tile(unit, (len(s.q), 1))) - still
        for unit in np.eye(s.system.nv)
    ]
    scale = np.abs(still).max() / np.abs(columns).max()  # the difference of two efforts carries their rounding
    assert relative(np.stack(columns, axis=2), mass_matrices(seed)) < TOLERANCE * max(1.0, scale)


def test_inverse_dynamics_undoes_forward_dynamics(seed: int) -> None:
    s = tree(seed)
    a = evaluated(function(seed, "forward_dynamics"), s.q, s.v, s.tau)
    again = evaluated(function(seed, "inverse_dynamics"), s.q, s.v, a)
    bias = evaluated(function(seed, "bias_force"), s.q, s.v)
    scale = np.maximum(np.abs(bias).max(), np.abs(s.tau).max())
    assert np.abs(again - s.tau).max() < TOLERANCE * scale


def test_power_is_the_rate_of_energy(seed: int) -> None:
    s = tree(seed)
    a = evaluated(function(seed, "forward_dynamics"), s.q, s.v, s.tau)
    rates = evaluated(function(seed, "coordinate_rates"), s.q, s.v)
    change = along(function(seed, "energy"), [rates, a], [s.q, s.v])
    power = np.einsum("bi,bi->b", s.tau, s.v)
    scale = np.abs(change).max()
    assert np.abs(change.sum(axis=1) - power).max() < TOLERANCE * scale


def test_a_wrench_acts_through_the_transposed_jacobian(seed: int) -> None:
    s = tree(seed)
    wrench = np.random.default_rng(seed).uniform(-5.0, 5.0, (len(s.q), 6))
    free = evaluated(function(seed, "inverse_dynamics"), s.q, s.v, s.a)
    for place in ("frame 0", "body 0"):
        loaded = evaluated(function(seed, "inverse_dynamics", wrenches=(place,)), s.q, s.v, s.a, wrench)
        jacobian = evaluated(function(seed, "jacobian", place), s.q, shape=(6, s.system.nv))
        effect = np.einsum("bji,bj->bi", jacobian, wrench)
        assert np.abs(free - loaded - effect).max() < TOLERANCE * np.abs(free).max()


def test_velocities_and_accelerations_are_derivatives(seed: int) -> None:
    s = tree(seed)
    rates = evaluated(function(seed, "coordinate_rates"), s.q, s.v)
    for place in ("frame 0", "body 0"):
        velocity = evaluated(function(seed, "velocity", place), s.q, s.v)
        jacobian = evaluated(function(seed, "jacobian", place), s.q, shape=(6, s.system.nv))
        assert relative(velocity, np.einsum("bij,bj->bi", jacobian, s.v)) < TOLERANCE
        pose = evaluated(function(seed, "pose", place), s.q, shape=(4, 4))
        change = along(function(seed, "pose", place), [rates], [s.q]).reshape(-1, 4, 4)
        turning = np.einsum("bij,bkj->bik", change[:, :3, :3], pose[:, :3, :3])
        angular = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=1)
        assert relative(np.concatenate([angular, change[:, :3, 3]], axis=1), velocity) < TOLERANCE
        acceleration = evaluated(function(seed, "acceleration", place), s.q, s.v, s.a)
        change = along(function(seed, "velocity", place), [rates, s.a], [s.q, s.v])
        assert relative(change, acceleration) < TOLERANCE


def test_momentum_is_mass_times_the_rate_of_the_centre(seed: int) -> None:
    s = tree(seed)
    rates = evaluated(function(seed, "coordinate_rates"), s.q, s.v)
    mass = sum(body.properties.mass for body in s.system.description.bodies)
    momentum = evaluated(function(seed, "momentum"), s.q, s.v)
    assert relative(momentum[:, 3:], mass * along(function(seed, "center_of_mass"), [rates], [s.q])) < TOLERANCE


def test_integrate_and_difference_undo_each_other(seed: int) -> None:
    s = tree(seed)
    rng = np.random.default_rng(seed)
    step = rng.uniform(-1.0, 1.0, s.v.shape)
    moved = evaluated(function(seed, "integrate"), s.q, step)
    assert np.abs(evaluated(function(seed, "difference"), s.q, moved) - step).max() < 1e-14 * 40
    other = np.array([s.system.random(rng) for _ in s.q])
    way = evaluated(function(seed, "difference"), s.q, other)
    back = evaluated(function(seed, "difference"), evaluated(function(seed, "integrate"), s.q, way), other)
    assert np.abs(back).max() < 1e-13
    assert np.array_equal(evaluated(function(seed, "integrate"), s.q, np.zeros_like(step)), s.q)


def test_integrate_starts_along_the_coordinate_rates(seed: int) -> None:
    s = tree(seed)
    rates = evaluated(function(seed, "coordinate_rates"), s.q, s.v)
    zero = np.zeros_like
    start = along(function(seed, "integrate"), [zero(s.q), s.v], [s.q, zero(s.v)])
    assert relative(start, rates) < 1e-14


def test_native_code_says_the_same() -> None:
    """One small tree through the calls that users make, batch and single state."""
    s, q, v, tau, a = tree(1)
    mass = s.mass_matrix(q)
    assert relative(s.energy(q, v).kinetic[:, None], 0.5 * np.einsum("bi,bij,bj->b", v, mass, v)[:, None]) < TOLERANCE
    expected = np.einsum("bij,bj->bi", mass, a) + s.bias_force(q, v)
    assert relative(s.inverse_dynamics(q, v, a), expected) < TOLERANCE
    assert relative(s.inverse_dynamics(q, v, s.forward_dynamics(q, v, tau)), tau) < 1e-9
    assert relative(s.difference(q, s.integrate(q, v)), v) < 1e-12
    assert np.array_equal(s.forward_dynamics(q[0], v[0], tau[0]), s.forward_dynamics(q, v, tau)[0])
