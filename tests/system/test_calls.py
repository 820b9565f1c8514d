"""The calls: shapes, names, options, exports, and mechanisms with next to nothing in them."""

from __future__ import annotations

import ctypes
import inspect
import math
import os
import pickle
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.sampling import sampled
from support.systems import arm, chain, floater, loaded, same_bits, state
from whippletree.system.example_systems import four_bar

NOTHING = np.zeros(0)


@cache
def long() -> wt.System:
    """Return a chain that is large enough for loops, with something bolted to the ground beside it."""
    m = arm(50, "long")
    m.frame("anchor", on=m.ground, at=(1.0, 2.0, 3.0))
    return m.build()


@cache
def driven() -> wt.System:
    return arm(3, "driven", prescribed=(1,)).build()


@cache
def parametric() -> wt.System:
    return loaded().build()


# name, call, shape of the result for one state
CALLS = {
    "forward_dynamics": (lambda s, q, v, x: s.forward_dynamics(q, v, x), lambda s: (s.nv,)),
    "composite": (lambda s, q, v, x: s.forward_dynamics(q, v, x, formulation="composite"), lambda s: (s.nv,)),
    "driving_forces": (lambda s, q, v, x: s.driving_forces(q, v, x), lambda s: (s.nv,)),
    "inverse_dynamics": (lambda s, q, v, x: s.inverse_dynamics(q, v, x), lambda s: (s.nv,)),
    "bias_force": (lambda s, q, v, x: s.bias_force(q, v), lambda s: (s.nv,)),
    "mass_matrix": (lambda s, q, v, x: s.mass_matrix(q), lambda s: (s.nv, s.nv)),
    "reactions": (lambda s, q, v, x: s.reactions(q, v, x).wrenches, lambda s: (len(s.joint_names), 6)),
    "pose": (lambda s, q, v, x: s.pose(q, last(s)), lambda s: (4, 4)),
    "velocity": (lambda s, q, v, x: s.velocity(q, v, last(s)), lambda s: (6,)),
    "body velocity": (lambda s, q, v, x: s.velocity(q, v, last(s), frame="body"), lambda s: (6,)),
    "acceleration": (lambda s, q, v, x: s.acceleration(q, v, x, last(s)), lambda s: (6,)),
    "body acceleration": (lambda s, q, v, x: s.acceleration(q, v, x, last(s), frame="body"), lambda s: (6,)),
    "jacobian": (lambda s, q, v, x: s.jacobian(q, last(s)), lambda s: (6, s.nv)),
    "body jacobian": (lambda s, q, v, x: s.jacobian(q, last(s), frame="body"), lambda s: (6, s.nv)),
    "kinetic": (lambda s, q, v, x: s.energy(q, v).kinetic, lambda s: ()),
    "total": (lambda s, q, v, x: s.energy(q, v).total, lambda s: ()),
    "angular": (lambda s, q, v, x: s.momentum(q, v).angular, lambda s: (3,)),
    "angular at the origin": (lambda s, q, v, x: s.momentum(q, v, about="origin").angular, lambda s: (3,)),
    "linear": (lambda s, q, v, x: s.momentum(q, v).linear, lambda s: (3,)),
    "center_of_mass": (lambda s, q, v, x: s.center_of_mass(q), lambda s: (3,)),
    "integrate": (lambda s, q, v, x: s.integrate(q, v), lambda s: (s.nq,)),
    "difference": (lambda s, q, v, x: s.difference(q, s.configuration()), lambda s: (s.nv,)),
    "coordinate_rates": (lambda s, q, v, x: s.coordinate_rates(q, v), lambda s: (s.nq,)),
    "configuration": (lambda s, q, v, x: s.configuration(q), lambda s: (s.nq,)),
}


def last(system: wt.System) -> str:
    return system.description.bodies[-1].name


WITH_PARAMETERS = ("forward_dynamics", "reactions", "pose", "total")
SHAPED = [(make, name) for make in (floater, parametric, chain, driven, long) for name in CALLS]


@pytest.mark.parametrize(
    ("make", "name"),
    sampled(SHAPED, lambda key: key[0] is floater or (key[0] is parametric and key[1] in WITH_PARAMETERS)),
)
def test_shapes(make, name):
    """One state, a batch, and batches of batches, row by row the same numbers."""
    s = make()
    call, shape = CALLS[name]
    for batch in ((5,), (6,), (2, 3), (1, 1, 2)):
        q, v, x = state(s, 1, batch)
        result = call(s, q, v, x)
        assert result.shape == (*batch, *shape(s))
        for index in np.ndindex(*batch):
            one = call(s, q[index], v[index], x[index])
            assert one.shape == shape(s)
            np.testing.assert_allclose(result[index], one, rtol=1e-13, atol=1e-13 * (1 + abs(one).max(initial=0)))


@pytest.mark.parametrize("make", [chain, long])
def test_places_on_the_ground_do_not_move(make):
    s = make()
    q, v, a = state(s, 2, (2,))
    for place in ("ground", "anchor") if make is long else ("ground",):
        at = np.array([1.0, 2.0, 3.0]) if place == "anchor" else np.zeros(3)
        assert (s.pose(q, place) == np.block([[np.eye(3), at[:, None]], [np.zeros(3), 1.0]])).all()
        for frame in ("ground", "body"):
            assert not s.velocity(q, v, place, frame=frame).any()
            assert not s.acceleration(q, v, a, place, frame=frame).any()
            out = np.ones((2, 6, s.nv))
            assert s.jacobian(q, place, frame=frame, out=out) is out
            assert not out.any()


def test_broadcasting():
    s = chain()
    q, v, tau = state(s, 2, (4,))
    result = s.forward_dynamics(q[:, None], v[None, :2], tau[0])
    assert result.shape == (4, 2, 3)
    assert same_bits(result[3, 1], s.forward_dynamics(q[3], v[1], tau[0]))
    assert s.velocity(q[0], v, "link 2", frame="body").shape == (4, 6)
    assert s.energy(q[0], v).kinetic.shape == (4,)
    assert s.momentum(q[:, None], v).angular.shape == (4, 4, 3)
    assert s.reactions(q, v[0], frame="tip").wrenches.shape == (4, 3, 6)
    with pytest.raises(wt.StateError, match=r"do not fit together.*q \(4, 3\).*v \(2, 3\)"):
        s.forward_dynamics(q, v[:2], tau)


def test_out():
    s = chain()
    q, v, tau = state(s, 3, (7,))
    for call, shape in (
        (lambda out: s.forward_dynamics(q, v, tau, out=out), (7, 3)),
        (lambda out: s.driving_forces(q, v, tau, out=out), (7, 3)),
        (lambda out: s.inverse_dynamics(q, v, tau, out=out), (7, 3)),
        (lambda out: s.bias_force(q, v, out=out), (7, 3)),
        (lambda out: s.mass_matrix(q, out=out), (7, 3, 3)),
        (lambda out: s.pose(q, "tip", out=out), (7, 4, 4)),
        (lambda out: s.velocity(q, v, "tip", frame="body", out=out), (7, 6)),
        (lambda out: s.acceleration(q, v, tau, "tip", out=out), (7, 6)),
        (lambda out: s.jacobian(q, "tip", frame="body", out=out), (7, 6, 3)),
        (lambda out: s.integrate(q, v, out=out), (7, 3)),
        (lambda out: s.difference(q, v, out=out), (7, 3)),
        (lambda out: s.coordinate_rates(q, v, out=out), (7, 3)),
    ):
        out = np.full(shape, np.nan)
        assert call(out) is out
        assert same_bits(out, call(None))
        with pytest.raises(wt.StateError, match="shape"):
            call(np.zeros((*shape, 1)))


def test_a_matrix_for_the_result():
    s = floater()
    q, n = state(s, 3, (4,))[0], s.nv
    for given, shape in ((q[0], (n, n)), (q, (4, n, n)), (q.reshape(2, 2, -1), (2, 2, n, n))):
        out = np.full(shape, np.nan)
        assert s.mass_matrix(given, out=out) is out
        assert same_bits(out, s.mass_matrix(given))
        assert same_bits(out, s.mass_matrix(given.tolist()))
        for wrong in (
            (math.prod(shape),),
            (*shape[:-2], n * n),
            (*shape[:-1], n - 1),
            (*shape[:-1], n + 1),
            (*shape[:-2], n + 1, n),
            (1, *shape),
            (*shape, 1),
            (),
        ):
            memory = np.full(wrong, -7.0)
            with pytest.raises(wt.StateError) as caught:
                s.mass_matrix(given, out=memory)
            assert str(caught.value) == f"out= must have the shape {shape}, not {wrong}"
            assert (memory == -7.0).all()
        for odd in (np.full(shape, -7.0, order="F"), np.full((*shape, 2), -7.0)[..., 0]):
            with pytest.raises(wt.StateError, match="out= must be contiguous"):
                s.mass_matrix(given, out=odd)
            assert (odd == -7.0).all()


# ---------------------------------------------------------------------- names


def test_errors_name_the_joint_and_the_coordinate():
    s = floater()
    q, v, _ = state(s, 4)
    for bad, given, words in (
        ("q", 4, 'x of joint "flight"'),
        ("q", 11, 'of joint "slide"'),
        ("v", 0, 'of joint "flight"'),
        ("v", 7, 'of joint "socket"'),
    ):
        arrays = {"q": q.copy(), "v": v.copy()}
        arrays[bad][given] = np.nan
        with pytest.raises(wt.StateError) as caught:
            s.forward_dynamics(arrays["q"], arrays["v"])
        assert words in str(caught.value)
        assert f"{bad}[{given}] is nan" in str(caught.value)
    rows = np.tile(q, (2, 3, 1))
    rows[1, 2, 5] = np.inf
    with pytest.raises(wt.StateError, match=r'q\[5\] in state \(1, 2\) is inf.*"flight"'):
        s.forward_dynamics(rows, v)


@pytest.mark.parametrize("scale", [0.0, 1e-200, 0.9, 1.001, 1e200])
def test_quaternions_off_the_sphere(scale):
    s = floater()
    q, v, _ = state(s, 5)
    q[7:11] *= scale
    for given, place in ((q, ""), (list(q), ""), (np.stack([s.configuration(), q]), " in state 1")):
        with pytest.raises(wt.StateError, match=rf'q\[7:11\]{place} is not a unit quaternion.*"socket".*configuration'):
            s.forward_dynamics(given, v)
        with pytest.raises(wt.StateError, match="unit quaternion"):
            s.coordinate_rates(given, np.zeros(s.nv))
        with pytest.raises(wt.StateError, match="unit quaternion"):
            s.difference(s.configuration(), given)
    where = r'q\[7:11\] in state {} is not a unit quaternion.*"socket".*configuration'
    with pytest.raises(wt.StateError, match=where.format(1)):
        s.forward_dynamics(np.stack([s.configuration(), q, s.configuration()]), v)
    nested = np.tile(s.configuration(), (2, 3, 1))
    nested[1, 2] = q
    with pytest.raises(wt.StateError, match=where.format(r"\(1, 2\)")):
        s.forward_dynamics(nested, v)
    if scale:
        good = s.configuration(q)
        assert np.isfinite(s.forward_dynamics(good, v)).all()
        assert abs(np.linalg.norm(good[7:11]) - 1) < 1e-15
    else:
        with pytest.raises(wt.StateError, match=r'"socket".*not all zero'):
            s.configuration(q)


def test_rounding_of_quaternions_is_forgiven():
    s = floater()
    q, v, _ = state(s, 6)
    q[0:4] *= 1 + 1e-8
    assert np.isfinite(s.forward_dynamics(q, v)).all()


def test_wrong_names_come_with_suggestions():
    s = chain()
    z = np.zeros(3)
    with pytest.raises(wt.ModelError, match='"lnik 2"; did you mean "link 2"'):
        s.pose(z, "lnik 2")
    with pytest.raises(wt.ModelError, match='"tpi"; did you mean "tip"'):
        s.forward_dynamics(z, z, wrenches={"tpi": np.zeros(6)})
    with pytest.raises(wt.ModelError, match='"joint9"; did you mean "joint'):
        s.q_slice("joint9")
    with pytest.raises(wt.ModelError, match='no joint "elbow"; there is "joint 0"'):
        s.velocities({"elbow": 1.0})
    with pytest.raises(wt.StateError, match='"forward_dynamic"; did you mean "forward_dynamics"'):
        s.function("forward_dynamic")
    with pytest.raises(wt.StateError, match='"paylod"; did you mean "payload"'):
        parametric().forward_dynamics(z, z, parameters={"paylod": 1.0})
    with pytest.raises(wt.StateError, match='"joint3"'):
        s.reactions(z, z)["joint3"]
    for junk in (None, 3, "", np.zeros(3), ["tip"], object()):
        with pytest.raises(wt.ModelError, match="no body or frame"):
            s.pose(z, junk)
        with pytest.raises(wt.ModelError, match="no joint"):
            s.q_slice(junk)


def test_formulations():
    s = chain()
    q, v, tau = state(s, 7)
    expected = s.forward_dynamics(q, v, tau)
    for name in ("auto", "articulated", "composite"):
        np.testing.assert_allclose(s.forward_dynamics(q, v, tau, formulation=name), expected, rtol=1e-11)
        np.testing.assert_allclose(
            s.reactions(q, v, tau, formulation=name).wrenches,
            s.reactions(q, v, tau).wrenches,
            rtol=1e-10,
            atol=1e-10,
        )
    with pytest.raises(wt.StateError, match=r'"lagrange" cannot give forward_dynamics.*"auto", .*"articulated"'):
        s.forward_dynamics(q, v, formulation="lagrange")
    with pytest.raises(wt.StateError, match="cannot give mass_matrix"):
        s.mass_matrix(q, formulation="articulated")
    with pytest.raises(wt.StateError, match="formulation="):
        s.forward_dynamics(q, v, formulation=["auto"])


def test_handles_and_mappings():
    m = arm(3)
    s = m.build()
    q = s.configuration({"joint 1": 0.3, "joint 2": [0.4]})
    assert q.tolist() == [0.0, 0.3, 0.4]
    assert s.velocities({"joint 0": 2}).tolist() == [2.0, 0.0, 0.0]
    assert s.joint_names == ("joint 0", "joint 1", "joint 2")
    f = floater()
    assert (f.q_slice("socket"), f.v_slice("socket")) == (slice(7, 11), slice(6, 9))
    with pytest.raises(wt.StateError, match='"socket" has 4 coordinates, not 3'):
        f.configuration({"socket": [0, 0, 1]})
    for junk in ("abc", None, {}, [[1.0]], [1, 2]):
        with pytest.raises(wt.StateError, match='"joint 1" has 1'):
            s.configuration({"joint 1": junk})
    for junk in (None, 3, [1.0], "joint 1"):
        with pytest.raises(wt.StateError, match="by joint"):
            s.velocities(junk)


def test_handles_stand_for_names():
    m = wt.Mechanism("handles")
    body = m.body("b", wt.sphere(0.1, mass=1.0))
    hinge = m.revolute("j", m.ground, body, at=(0, 0, 1), at_child=(0.3, 0, 0), axis="y")
    tip = m.frame("tip", on=body, at=(0.1, 0.2, 0.3))
    s = m.build()
    assert s.q_slice(hinge) == slice(0, 1)
    assert s.configuration({hinge: 0.5}).tolist() == [0.5]
    assert same_bits(s.pose([0.5], tip), s.pose([0.5], "tip"))
    assert same_bits(s.pose([0.5], m.ground), np.eye(4))
    a, b = (s.forward_dynamics([0.5], [0.0], wrenches={key: np.ones(6)}) for key in (tip, "tip"))
    assert same_bits(a, b)
    with pytest.raises(wt.StateError, match="twice"):
        s.forward_dynamics([0.5], [0.0], wrenches={tip: np.ones(6), "tip": np.ones(6)})


# ---------------------------------------------------------------------- options


def test_accelerations_are_for_prescribed_hinges():
    z = np.zeros(3)
    for name in ("forward_dynamics", "driving_forces", "reactions"):
        with pytest.raises(wt.StateError, match="prescribed=True"):
            getattr(chain(), name)(z, z, a=z)
    s = driven()
    q, v, tau = state(s, 8)
    result = s.forward_dynamics(q, v, tau, a={"joint 1": 2.5})
    assert result[1] == 2.5
    # what is given at other hinges has no effect
    assert same_bits(s.forward_dynamics(q, v, tau, a=[9.0, 2.5, 9.0]), result)
    np.testing.assert_allclose(
        s.forward_dynamics(q, v, tau, a=[9.0, 2.5, 9.0], formulation="composite"), result, rtol=1e-10
    )
    effort = s.driving_forces(q, v, tau, a={"joint 1": 2.5})
    assert same_bits(effort[[0, 2]], tau[[0, 2]])
    # the effort found makes the undriven arm move the same
    np.testing.assert_allclose(chain().forward_dynamics(q, v, effort), result, rtol=1e-10)
    np.testing.assert_allclose(s.inverse_dynamics(q, v, result), effort, rtol=1e-10)
    assert same_bits(s.forward_dynamics(q, v, tau), s.forward_dynamics(q, v, tau, a=z))
    with pytest.raises(wt.StateError, match="a must have 3"):
        s.forward_dynamics(q, v, tau, a=[1.0])


def test_parameters():
    s = parametric()
    q, v, tau = state(s, 9)
    assert [p.name for p in s.description.parameters] == ["payload", "g"]
    default = s.forward_dynamics(q, v, tau)
    assert same_bits(s.forward_dynamics(q, v, tau, parameters=[2.0, 9.81]), default)
    assert same_bits(s.forward_dynamics(q, v, tau, parameters={}), default)
    heavy = s.forward_dynamics(q, v, tau, parameters={"payload": 5.0})
    assert same_bits(s.forward_dynamics(q, v, tau, parameters=[5.0, 9.81]), heavy)
    assert not np.allclose(heavy, default)
    several = s.forward_dynamics(q, v, tau, parameters={"payload": [2.0, 5.0, 8.0]})
    assert several.shape == (3, 3)
    assert same_bits(several[:2], [default, heavy])
    rows = np.array([[2.0, 9.81], [5.0, 9.81]])
    assert same_bits(s.forward_dynamics(q, v, tau, parameters=rows), several[:2])
    grid = s.forward_dynamics(q, v, tau, parameters={"payload": np.ones((4, 1)), "g": np.ones(5)})
    assert grid.shape == (4, 5, 3)
    for call in (
        lambda p: s.energy(q, v, parameters=p).total,
        lambda p: s.center_of_mass(q, parameters=p),
        lambda p: s.momentum(q, v, parameters=p).linear,
        lambda p: s.mass_matrix(q, parameters=p),
        lambda p: s.bias_force(q, v, parameters=p),
        lambda p: s.inverse_dynamics(q, v, tau, parameters=p),
        lambda p: s.reactions(q, v, tau, parameters=p, frame="tip").wrenches,
    ):
        assert same_bits(call(None), call({"payload": 2.0}))
        assert not np.allclose(call(None), call({"payload": 3.0}))


def test_wrong_parameters():
    s, z = parametric(), np.zeros(3)
    for junk, message in (
        ([1.0], "parameters must have 2"),
        ("abc", "real numbers"),
        ({"payload": "heavy"}, "real numbers"),
        ({"payload": None}, "real numbers"),
        ({"payload": np.nan}, 'parameter "payload"'),
        ([1.0, np.inf], 'parameter "g"'),
        ({"payload": [1, 2], "g": [1, 2, 3]}, "do not fit together"),
        ({3: 1.0}, "no parameter"),
    ):
        with pytest.raises(wt.StateError, match=message):
            s.forward_dynamics(z, z, parameters=junk)
    with pytest.raises(wt.StateError, match="no parameters"):
        chain().forward_dynamics(z, z, parameters=[1.0])
    with pytest.raises(wt.StateError, match="no parameters"):
        loaded().build(fold=True).forward_dynamics(z, z, parameters={"payload": 1.0})


def test_folded_parameters_give_the_same_numbers():
    folded, kept = loaded().build(fold=True), parametric()
    q, v, tau = state(kept, 10)
    np.testing.assert_allclose(folded.forward_dynamics(q, v, tau), kept.forward_dynamics(q, v, tau), rtol=1e-12)
    assert folded.kernels.operations("forward_dynamics").total < kept.kernels.operations("forward_dynamics").total


def test_wrenches():
    s = chain()
    q, v, tau = state(s, 11)
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 6))
    # a wrench at a frame is the joint efforts J^T w
    J1, J2 = s.jacobian(q, "tip"), s.jacobian(q, "link 1")
    both = s.forward_dynamics(q, v, tau, wrenches={"tip": first, "link 1": second})
    np.testing.assert_allclose(both, s.forward_dynamics(q, v, tau + J1.T @ first + J2.T @ second), rtol=1e-10)
    needed = s.inverse_dynamics(q, v, tau, wrenches={"tip": first})
    np.testing.assert_allclose(needed, s.inverse_dynamics(q, v, tau) - J1.T @ first, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        s.bias_force(q, v, wrenches={"tip": first}), s.bias_force(q, v) - J1.T @ first, rtol=1e-10, atol=1e-10
    )
    rows = rng.normal(size=(5, 6))
    many = s.forward_dynamics(q, v, tau, wrenches={"tip": rows})
    assert same_bits(many[3], s.forward_dynamics(q, v, tau, wrenches={"tip": rows[3]}))
    assert same_bits(s.forward_dynamics(q, v, tau, wrenches={"ground": first}), s.forward_dynamics(q, v, tau))
    assert same_bits(s.forward_dynamics(q, v, tau, wrenches={}), s.forward_dynamics(q, v, tau))
    with pytest.raises(wt.StateError, match="wrench on tip is missing"):
        s.forward_dynamics(q, v, tau, wrenches={"tip": None})
    with pytest.raises(wt.StateError, match="wrench on tip must have 6"):
        s.forward_dynamics(q, v, tau, wrenches={"tip": [1, 2, 3]})
    with pytest.raises(wt.StateError, match=r"wrench on tip\[4\] is nan.*force y"):
        s.forward_dynamics(q, v, tau, wrenches={"tip": [0, 0, 0, 0, np.nan, 0]})
    for junk in (3, [1], np.zeros(6), "tip"):
        with pytest.raises(wt.StateError, match="wrenches= must map"):
            s.forward_dynamics(q, v, tau, wrenches=junk)


def test_wrenches_of_functions_are_in_the_order_in_which_they_are_listed():
    s = chain()
    q, v, tau = state(s, 11)
    given = dict(zip(("tip", "link 1"), np.random.default_rng(0).normal(size=(2, 6)), strict=True))
    expected = s.forward_dynamics(q, v, tau, wrenches=given)
    for names in (["tip", "link 1"], ["link 1", "tip"]):
        function = s.function("forward_dynamics", wrenches=names)
        found = np.array(function(q, v, tau, *(given[name] for name in names))).ravel()
        np.testing.assert_allclose(found, expected, rtol=1e-10)
        kernel = s.kernels.kernel("forward_dynamics", wrenches=names)
        assert kernel.input_names[3:] == [f"wrench on {name}" for name in names]
    for request in (s.function, s.kernels.kernel, s.c_source, s.kernels.operations):
        with pytest.raises(wt.StateError, match="twice"):
            request("forward_dynamics", wrenches=["tip", "tip"])


def test_frames_of_any_name_carry_wrenches():
    m = arm(1)
    names = ["a b", "a_b", "a-b", "a__b", 'quo"te', "straße", "9"]
    for name in names:
        m.frame(name, on="link 0", at=(1.0, 0.0, 0.0))
    s = m.build()
    z = np.zeros(1)
    together = s.forward_dynamics(z, z, wrenches={name: [0, 0, 1, 0, 0, 0] for name in names})
    np.testing.assert_allclose(together, 7 * s.forward_dynamics(z, z, wrenches={"9": [0, 0, 1, 0, 0, 0]}))
    function = s.function("forward_dynamics", wrenches=names)
    labels = [function.name_in(i) for i in range(function.n_in())]
    assert len(set(labels)) == len(labels)
    assert all(label.isidentifier() for label in labels)


def test_momentum_about():
    s = floater()
    q, v, _ = state(s, 12, (4,))
    here, origin = s.momentum(q, v), s.momentum(q, v, about="origin")
    assert same_bits(here.linear, origin.linear)
    np.testing.assert_allclose(here.angular, origin.angular - np.cross(s.center_of_mass(q), here.linear), rtol=1e-12)
    # linear momentum is mass times the rate of the centre of mass
    h = 1e-6
    rate = (s.center_of_mass(s.integrate(q, h * v)) - s.center_of_mass(s.integrate(q, -h * v))) / (2 * h)
    np.testing.assert_allclose(here.linear, 4.7 * rate, rtol=1e-7, atol=1e-8)
    for junk in ("centre", None, 3, np.zeros(3)):
        with pytest.raises(wt.StateError, match="about="):
            s.momentum(q, v, about=junk)


@pytest.mark.parametrize("place", ["link 2", "tip", "ground"])
def test_body_axes(place):
    s = chain()
    for batch in ((), (4,), (6,), (3, 6)):
        q, v, a = state(s, 13, batch)
        R = s.pose(q, place)[..., :3, :3]
        for ground, body in (
            (s.velocity(q, v, place), s.velocity(q, v, place, frame="body")),
            (s.acceleration(q, v, a, place), s.acceleration(q, v, a, place, frame="body")),
        ):
            turned = np.concatenate([np.einsum("...ji,...j->...i", R, ground[..., i : i + 3]) for i in (0, 3)], -1)
            np.testing.assert_allclose(body, turned, rtol=1e-12, atol=1e-12)
        J, in_body = s.jacobian(q, place), s.jacobian(q, place, frame="body")
        turned = np.concatenate([np.swapaxes(R, -1, -2) @ J[..., i : i + 3, :] for i in (0, 3)], -2)
        np.testing.assert_allclose(in_body, turned, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(np.einsum("...ij,...j->...i", J, v), s.velocity(q, v, place), atol=1e-12)
        reactions = s.reactions(q, v, a)
        turned_reactions = s.reactions(q, v, a, frame=place)
        for name in s.joint_names:
            expected = np.einsum("...ji,...j->...i", R, reactions[name].force)
            np.testing.assert_allclose(turned_reactions[name].force, expected, rtol=1e-11, atol=1e-11)
    for junk in ("tip", None, 3, np.zeros(3)):
        with pytest.raises(wt.StateError, match="frame="):
            s.velocity(q, v, place, frame=junk)


@pytest.mark.parametrize("batch", [(), (9,)])
def test_body_axes_of_a_result_that_is_written_over_the_state(batch):
    s = arm(6).build()
    q, v, a = state(s, 13, batch)
    for call in (
        lambda q, out: s.velocity(q, v, "link 3", frame="body", out=out),
        lambda q, out: s.acceleration(q, v, a, "link 3", frame="body", out=out),
    ):
        over = q.copy()
        assert same_bits(call(over, over), call(q, None))
    memory = np.zeros((*batch, 6, s.nv))
    over = memory[..., 0, :]
    over[...] = q
    assert same_bits(s.jacobian(over, "link 3", frame="body", out=memory), s.jacobian(q, "link 3", frame="body"))


def test_velocities_are_the_rates_of_poses():
    s = floater()
    q, v, _ = state(s, 14)
    h = 1e-6
    before, after = s.pose(s.integrate(q, -h * v), "ball"), s.pose(s.integrate(q, h * v), "ball")
    rate = (after - before) / (2 * h)
    twist = s.velocity(q, v, "ball")
    np.testing.assert_allclose(rate[:3, 3], twist[3:], rtol=1e-6, atol=1e-8)
    W = rate[:3, :3] @ s.pose(q, "ball")[:3, :3].T
    np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], twist[:3], rtol=1e-6, atol=1e-8)


def test_states_to_start_from():
    s = floater()
    assert same_bits(s.q0, s.configuration())
    assert same_bits(s.v0, np.zeros(s.nv))
    assert same_bits(s.random(3), s.random(3))
    assert not same_bits(s.random(3), s.random(4))
    rng = np.random.default_rng(3)
    assert same_bits(s.random(rng), s.random(3))
    assert not same_bits(s.random(rng), s.random(3))
    s.mass_matrix(s.random())
    q0, q1 = s.random(1), s.random(2)
    np.testing.assert_allclose(s.difference(q0, q0), np.zeros(s.nv), atol=1e-15)
    again = s.integrate(q0, s.difference(q0, q1))
    np.testing.assert_allclose(s.pose(again, "ball"), s.pose(q1, "ball"), atol=1e-12)
    for junk in ("abc", -1, 1.5, object()):
        with pytest.raises(wt.StateError, match="seed"):
            s.random(junk)


def test_threads():
    s = chain()
    q = np.zeros((3, 3))
    for junk in (0, -1, 1.5, "two", True, np.zeros(2)):
        with pytest.raises(wt.StateError, match="threads="):
            s.forward_dynamics(q, q, threads=junk)
    assert same_bits(s.forward_dynamics(q, q, threads=np.int64(2)), s.forward_dynamics(q, q))


def test_it_says_what_it_is():
    assert repr(chain()) == 'System "arm": 3 bodies, 3 freedoms'
    assert repr(four_bar()) == 'System "four-bar": 3 bodies, 4 freedoms of joints, mobility 1'
    reactions = chain().reactions(np.zeros(3), np.zeros(3))
    assert list(reactions) == ["joint 0", "joint 1", "joint 2"]
    assert (len(reactions), "joint 1" in reactions, "elbow" in reactions) == (3, True, False)
    assert "joint 0" in repr(reactions)
    one = reactions["joint 1"]
    assert same_bits(np.concatenate([one.moment, one.force]), one.wrench)
    assert one.unique.all()


# ---------------------------------------------------------------------- exports


@pytest.mark.parametrize("make", [chain, floater, parametric, driven])
def test_functions_are_casadi_functions(make):
    s = make()
    q, v, tau = state(s, 15)
    more = {"parameters": list(s.description.parameter_values)} if s.description.parameters else {}
    for name, native in (
        ("forward_dynamics", s.forward_dynamics(q, v, tau)),
        ("mass_matrix", s.mass_matrix(q)),
        ("energy", np.array(s.energy(q, v))),
        ("coordinate_rates", s.coordinate_rates(q, v)),
        ("integrate", s.integrate(q, v)),
        ("difference", s.difference(s.configuration(), q)),
    ):
        function = s.function(name)
        assert isinstance(function, ca.Function)
        given = {"q": q, "v": v, "tau": tau, "dv": v, "q0": s.configuration(), "q1": q, "a": np.zeros(s.nv), **more}
        names = [function.name_in(i) for i in range(function.n_in())]
        result = function.call({n: given[n] for n in names})
        value = next(iter(result.values())).full().ravel()
        np.testing.assert_allclose(value, native.ravel(), rtol=1e-11, atol=1e-12)


def test_matrices_come_by_rows():
    s = chain()
    q, _, _ = state(s, 16)
    np.testing.assert_allclose(s.function("pose", frame="tip")(q).full().reshape(4, 4), s.pose(q, "tip"), atol=1e-14)
    J = s.function("jacobian", frame="tip")(q).full().reshape(6, 3)
    np.testing.assert_allclose(J, s.jacobian(q, "tip"), atol=1e-14)


def test_functions_of_functions():
    """A function can be differentiated: by the efforts, that is the inverse mass matrix."""
    s = chain()
    q, v, tau = (ca.SX.sym(n, 3) for n in ("q", "v", "tau"))
    J = ca.Function("J", [q, v, tau], [ca.jacobian(s.function("forward_dynamics")(q, v, tau), tau)])
    at = state(s, 17)
    np.testing.assert_allclose(J(*at).full() @ s.mass_matrix(at[0]), np.eye(3), atol=1e-10)


def test_wrong_requests():
    s = chain()
    for make in (s.function, s.c_source, s.kernels.operations, s.kernels.kernel):
        with pytest.raises(wt.StateError, match="frame="):
            make("pose")
        for junk in ("dynamics", None, ["pose"], 3):
            with pytest.raises(wt.StateError, match="no function"):
                make(junk)
        with pytest.raises(wt.ModelError, match="no body or frame"):
            make("pose", frame="tipp")
        for junk in (3, "tip"):
            with pytest.raises(wt.StateError, match="wrenches="):
                make("forward_dynamics", wrenches=junk)


def test_operations():
    m = wt.Mechanism("pendulum", gravity=(0.0, 0.0, -9.81))
    m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0.5, 0.0, 0.0)), axis="y")
    count = m.build().kernels.operations("mass_matrix")
    assert count.total == 0  # a constant
    count = m.build().kernels.operations("forward_dynamics")
    assert count.trigonometric in (1, 2)
    assert count.total <= 8
    s = chain()
    by = {
        name: s.kernels.operations("forward_dynamics", formulation=name).total for name in ("articulated", "composite")
    }
    assert min(by.values()) == s.kernels.operations("forward_dynamics").total
    assert by[s.chosen.name] == min(by.values())
    assert s.kernels.operations("forward_dynamics", wrenches=["tip"]).total > min(by.values())
    assert arm(6).build().kernels.operations("forward_dynamics").total > 2 * min(by.values())


def test_c_source(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here: the C source is not tried")
    s = floater()
    text = s.c_source("forward_dynamics")
    assert "forward_dynamics" in text
    (tmp_path / "f.c").write_text(text)
    command = [
        compiler,
        "-O1",
        "-shared",
        "-fPIC",
        "-o",
        str(tmp_path / "f.so"),
        str(tmp_path / "f.c"),
        "-lm",
    ]
    subprocess.run(command, check=True, timeout=120)
    function = ca.external("forward_dynamics", str(tmp_path / "f.so"))
    assert [function.name_in(i) for i in range(3)] == ["q", "v", "tau"]
    for seed in range(5):
        q, v, tau = state(s, seed)
        np.testing.assert_allclose(function(q, v, tau).full().ravel(), s.forward_dynamics(q, v, tau), rtol=1e-11)


def test_by_address():
    """A kernel with a parameter and a wrench, called through ctypes as C would."""
    s = parametric()
    kernel = s.kernels.kernel("forward_dynamics", wrenches=["tip"])
    assert kernel.input_names == ["q", "v", "tau", "wrench on tip", "parameters"]
    assert kernel.input_sizes == [3, 3, 3, 6, 2]
    q, v, tau = state(s, 18)
    wrench = np.arange(6.0)
    inputs = [q, v, tau, wrench, kernel.default_input("parameters")]
    out, work = np.empty(3), np.empty(max(1, kernel.work_size))
    pointers = (ctypes.c_void_p * 5)(*(a.ctypes.data for a in inputs))
    results = (ctypes.c_void_p * 1)(out.ctypes.data)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(kernel.address)
    call(pointers, results, work.ctypes.data, kernel.constants_address, kernel.tables_address)
    assert same_bits(out, s.forward_dynamics(q, v, tau, wrenches={"tip": wrench}))


@pytest.mark.parametrize("make", [chain, floater, parametric, driven])
def test_pickles(make, tmp_path):
    s = make()
    q, v, tau = state(s, 19)
    copy = pickle.loads(pickle.dumps(s))
    assert copy.description == s.description
    assert same_bits(copy.forward_dynamics(q, v, tau), s.forward_dynamics(q, v, tau))


def test_pickles_in_another_process(tmp_path):
    s = parametric()
    q, v, tau = state(s, 20)
    (tmp_path / "system").write_bytes(pickle.dumps((s, loaded().build(fold=True), q, v, tau)))
    program = """
import pickle, sys
from pathlib import Path
kept, folded, q, v, tau = pickle.loads(Path(sys.argv[1]).read_bytes())
results = [kept.forward_dynamics(q, v, tau, parameters={"payload": 3.0}), folded.forward_dynamics(q, v, tau)]
sys.stdout.write(b"".join(r.tobytes() for r in results).hex())
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(wt.__file__).parents[1])}
    command = [sys.executable, "-c", program, str(tmp_path / "system")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    expected = [
        s.forward_dynamics(q, v, tau, parameters={"payload": 3.0}),
        loaded().build(fold=True).forward_dynamics(q, v, tau),
    ]
    assert result.stdout == b"".join(e.tobytes() for e in expected).hex()


# ---------------------------------------------------------------------- next to nothing


def test_a_mechanism_without_bodies():
    s = wt.Mechanism("nothing").build()
    assert (s.nq, s.nv, len(s.description.bodies), s.joint_names) == (0, 0, 0, ())
    assert s.configuration().shape == s.random(0).shape == s.configuration(NOTHING).shape == (0,)
    assert same_bits(s.pose(NOTHING, "ground"), np.eye(4))
    assert s.energy(NOTHING, NOTHING).total == 0
    assert len(s.reactions(NOTHING, NOTHING)) == 0
    with pytest.raises(wt.StateError, match="without freedoms"):
        s.forward_dynamics(NOTHING, NOTHING)
    with pytest.raises(wt.DynamicsError, match="mass"):
        s.center_of_mass(NOTHING)


def test_only_fixed_joints():
    m = wt.Mechanism("statue")
    plinth = m.body("plinth", wt.box((1.0, 1.0, 1.0), mass=10.0, at=(0.0, 0.0, 0.5)))
    figure = m.body("figure", wt.cylinder(0.2, 2.0, mass=5.0, at=(0.0, 0.0, 1.0)))
    m.fixed("footing", m.ground, plinth)
    m.fixed("feet", plinth, figure, at=(0.25, 0.0, 1.0))
    m.frame("head", on=figure, at=(0.0, 0.0, 2.0))
    s = m.build()
    assert s.nv == 0
    np.testing.assert_allclose(s.pose(NOTHING, "head")[:3, 3], [0.25, 0.0, 3.0])
    np.testing.assert_allclose(s.center_of_mass(NOTHING), [0.25 / 3, 0.0, (10 * 0.5 + 5 * 2.0) / 15])
    np.testing.assert_allclose(s.energy(NOTHING, NOTHING).potential, 9.81 * (10 * 0.5 + 5 * 2.0))
    reactions = s.reactions(NOTHING, NOTHING)
    np.testing.assert_allclose(reactions["feet"].force, [0.0, 0.0, 5 * 9.81], atol=1e-12)
    np.testing.assert_allclose(reactions["footing"].force, [0.0, 0.0, 15 * 9.81], atol=1e-12)
    np.testing.assert_allclose(reactions["footing"].moment, [0.0, -5 * 9.81 * 0.25, 0.0], atol=1e-12)
    assert s.pose(np.zeros((4, 0)), "head").shape == (4, 4, 4)
    assert s.reactions(np.zeros((4, 0)), NOTHING).wrenches.shape == (4, 2, 6)
    for call in (s.forward_dynamics, s.inverse_dynamics, s.bias_force, s.integrate, s.momentum):
        with pytest.raises(wt.StateError, match="without freedoms"):
            call(NOTHING, NOTHING)


def test_what_is_welded_to_the_ground_counts():
    m = arm(2)
    m.fixed("bolts", m.ground, m.body("base", wt.box((0.2, 0.2, 0.2), mass=7.0)), at=(0.0, 0.0, 2.0))
    with_base, without = m.build(), arm(2).build()
    q, v, _ = state(without, 1)
    arm_mass = 1.0 + 0.5 + 1.1 + 0.5
    expected = (arm_mass * without.center_of_mass(q) + 7.0 * np.array([0.0, 0.0, 2.0])) / (arm_mass + 7.0)
    np.testing.assert_allclose(with_base.center_of_mass(q), expected, rtol=1e-12)
    difference = with_base.energy(q, v).potential - without.energy(q, v).potential
    np.testing.assert_allclose(difference, 7.0 * 9.81 * 2.0, rtol=1e-12)
    np.testing.assert_allclose(with_base.forward_dynamics(q, v), without.forward_dynamics(q, v), rtol=1e-12)


def test_massless_bodies_between_joints():
    """Two joints at one massless body make a universal joint."""
    m = wt.Mechanism("gimbal")
    ring = m.body("ring")
    rotor = m.body("rotor", wt.box((0.1, 0.2, 0.3), mass=1.0, at=(0.0, 0.0, -0.4)))
    m.revolute("first", m.ground, ring, axis="x")
    m.revolute("second", ring, rotor, axis="y")
    s = m.build()
    n = wt.Mechanism("universal")
    n.universal("both", n.ground, n.body("rotor", wt.box((0.1, 0.2, 0.3), mass=1.0, at=(0.0, 0.0, -0.4))))
    u = n.build()
    q, v, tau = state(s, 21)
    np.testing.assert_allclose(s.forward_dynamics(q, v, tau), u.forward_dynamics(q, v, tau), rtol=1e-10)
    np.testing.assert_allclose(s.pose(q, "rotor"), u.pose(q, "rotor"), atol=1e-14)
    np.testing.assert_allclose(
        s.reactions(q, v, tau)["first"].force, s.reactions(q, v, tau)["second"].force, rtol=1e-10, atol=1e-12
    )


def test_kinematics_without_masses():
    m = wt.Mechanism("geometry")
    a, b = m.body("a"), m.body("b")
    m.revolute("A", m.ground, a)
    m.prismatic("B", a, b, axis="x")
    s = m.build()
    q, v = np.array([np.pi / 2, 2.0]), np.array([1.0, 3.0])
    np.testing.assert_allclose(s.pose(q, "b")[:3, 3], [0.0, 2.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(s.velocity(q, v, "b"), [0, 0, 1, -2, 3, 0], atol=1e-15)
    np.testing.assert_allclose(s.jacobian(q, "b") @ v, s.velocity(q, v, "b"), atol=1e-15)
    assert s.energy(q, v).total == 0
    assert not s.mass_matrix(q).any()
    assert not s.inverse_dynamics(q, v, v).any()
    assert not s.momentum(q, v, about="origin").linear.any()
    with pytest.raises(wt.DynamicsError, match="no mass"):
        s.center_of_mass(q)
    with pytest.raises(wt.DynamicsError, match=r'joint "[AB]" moves nothing'):
        s.forward_dynamics(q, v)


# ---------------------------------------------------------------------------------------------------------
# The first call of a function and the second, which finds its kernel in the cache

FAST = ("forward_dynamics", "driving_forces", "inverse_dynamics", "bias_force", "mass_matrix")


@pytest.mark.parametrize("name", FAST)
def test_methods_with_a_fast_path_keep_their_signature_and_text(name):
    method = getattr(wt.System, name)
    shown = inspect.signature(method)
    assert list(shown.parameters)[:2] == ["self", "q"]
    assert {"out", "threads", "formulation", "parameters"} <= set(shown.parameters)
    assert shown.return_annotation == "Array"
    assert method.__doc__.startswith("Return ")
    assert shown.parameters["formulation"].default == "auto"
    with pytest.raises(TypeError, match=r"arguments? without"):
        method(chain(), *[0.0] * 9)


def test_the_same_arguments():
    assert inspect.signature(wt.System.driving_forces) == inspect.signature(wt.System.forward_dynamics)


@pytest.mark.parametrize("name", FAST)
def test_the_second_call_gives_the_bits_of_the_first(name):
    s = arm(3, "fresh").build()
    q, v, tau = state(s, 3)
    given = {"mass_matrix": (q,), "bias_force": (q, v)}.get(name, (q, v, tau))
    first = getattr(s, name)(*given)
    out = np.empty_like(first)
    assert same_bits(first, getattr(s, name)(*given))
    assert getattr(s, name)(*given, out=out) is out
    assert same_bits(first, out)
    assert same_bits(first, getattr(s, name)(*(list(x) for x in given)))
    assert same_bits(first, getattr(s, name)(*given, formulation="".join(("au", "to"))))


def test_options_are_not_lost_after_plain_calls():
    s = parametric()
    q, v, tau = state(s, 4)
    plain = s.forward_dynamics(q, v, tau)
    assert same_bits(plain, s.forward_dynamics(q, v, tau))
    wrench = {last(s): np.ones(6)}
    assert not np.allclose(s.forward_dynamics(q, v, tau, wrenches=wrench), plain)
    assert not np.allclose(s.driving_forces(q, v, tau, parameters=None), 0.0)
    with pytest.raises(wt.StateError, match="no option"):
        s.driving_forces(q, v, tau, colour="red")
    with pytest.raises(wt.StateError, match="no option"):
        s.forward_dynamics(q, v, tau, colour="red")


def test_efforts_of_a_tree_are_not_those_of_its_loops():
    s = four_bar()
    a = s.consistent_accelerations(s.q0, s.v0, {"A": 1.0})
    first = s.inverse_dynamics(s.q0, s.v0, a)
    s.inverse_dynamics_derivatives(s.q0, s.v0, a)
    assert same_bits(first, s.inverse_dynamics(s.q0, s.v0, a))
    alone = s.inverse_dynamics(s.q0, s.v0, a, actuators=["A"])
    assert (alone[1:] == 0).all()
    E = s.kernels.closures.motion_basis(s.q0)
    np.testing.assert_allclose(E.T @ alone, E.T @ first, rtol=1e-9)


def test_times_are_inputs_of_every_call():
    """Where the time counts no call is kept without it, for one time or for many."""
    m = wt.Mechanism("timed")
    m.prismatic("x", m.ground, m.body("block", mass=2.0), axis="x")
    m.load("push", "block", force=(m.time, 0, 0))
    s = m.build()
    times = np.array([[0.0], [2.0], [4.0]])
    for t in (0.0, 2.0, 4.0):
        assert s.forward_dynamics([0.0], [0.0], t=t)[0] == t / 2.0
    assert s.forward_dynamics([0.0], [0.0], t=times).ravel().tolist() == [0.0, 1.0, 2.0]
    assert s.bias_force([0.0], [0.0], t=times).ravel().tolist() == [0.0, -2.0, -4.0]


def test_groups_are_reached_by_the_names_of_the_system():
    s = chain()
    assert s.pose.__name__ == "pose"
    assert s.pose.__doc__ == wt.System.pose.__doc__
    assert list(inspect.signature(s.pose).parameters)[:2] == ["q", "name"]
    again = pickle.loads(pickle.dumps(s))
    q, v, tau = state(s, 5)
    assert same_bits(s.pose(q, "tip"), again.pose(q, "tip"))
    assert same_bits(s.kernels.evaluate("forward_dynamics", (q, v, tau)), again.forward_dynamics(q, v, tau))


def test_another_plan_of_the_loops_is_another_system():
    s = four_bar()
    before = s.forward_dynamics(s.q0, s.v0)
    other = s.kernels.planned(s.kernels.loop_plan)
    assert other is not s and other.kernels.evaluate is not s.kernels.evaluate
    assert repr(other) == repr(s)
    assert same_bits(other.forward_dynamics(s.q0, s.v0), before)
    assert (other.q0 == s.q0).all() and other.kernels.build_options == s.kernels.build_options
