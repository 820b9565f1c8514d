"""Runs in absolute coordinates: against elliptic functions, against plain NumPy, and against joint coordinates."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.absolute_motion import motion
from support.loop_models import described
from support.random_loops import case
from support.references import amplitude, quarter_period
from whippletree.analysis.models import slider_four_bar
from whippletree.system.example_systems import four_bar, pendulum


def test_a_pendulum_by_elliptic_functions() -> None:
    """A rod of 1 m released level: sin(angle / 2) = sn(w t + K) / sqrt(2), w^2 = 3 g / 2 l."""
    run = pendulum().simulate(2.0, every=0.25, coordinates="absolute", method="dop853", tolerance=1e-11)
    w = math.sqrt(1.5 * 9.81)
    turned = np.array([amplitude(w * t + quarter_period(0.5), 0.5) for t in run.t])
    exact = 2 * np.arcsin(math.sqrt(0.5) * np.sin(turned))
    np.testing.assert_allclose(np.pi / 2 - run["hinge"], exact, atol=1e-8)
    assert run.certificate.ok and run.info["coordinates"] == "absolute"


@pytest.mark.deep
@pytest.mark.parametrize("family", ["planar", "one loop"])
def test_loops_against_plain_numpy(family: str) -> None:
    """Bodies' poses after some time, integrated in absolute coordinates far from the engine."""
    c = case(family, 0)
    times = np.array([0.0, 0.15])
    expected = motion(c.equations, times, tolerance=1e-11)
    s = described(c.looped).build(guess=c.q)
    run = s.simulate(0.15, times=times, q=c.q, v=c.v, coordinates="absolute", method="dop853", tolerance=1e-11)
    for part in c.looped.parts:
        found, known = run.pose(part.name)[-1], expected.stands[-1].poses[part.name]
        np.testing.assert_allclose(found, known, atol=1e-8 * (1 + np.abs(known).max()), err_msg=part.name)


METHODS = [("dopri5", {}), ("adams", {}), ("rk4", {"step": 1e-3}), ("trapezoidal", {"step": 1e-3})]


@pytest.mark.deep  # rk4 is in the example of the papers' matrices
@pytest.mark.parametrize(("method", "options"), METHODS)
def test_every_method_moves_as_in_joint_coordinates(method: str, options: dict[str, float]) -> None:
    s = slider_four_bar().build()
    q = s.assemble({"R2": 2.6, "R3": -2.6, "R4": 2.6})
    both = [s.simulate(0.5, q=q, method=method, coordinates=where, **options) for where in ("joint", "absolute")]
    limit = 1e-5 if method == "trapezoidal" else 1e-7  # whose error depends on the coordinates
    np.testing.assert_allclose(both[1].q, both[0].q, atol=limit)
    assert both[1].certificate.replans == ()


@pytest.mark.deep
def test_singular_positions_are_passed() -> None:
    """Fixed steps come next to where the parallelogram lies flat: independent coordinates then tell how to go on."""
    s = slider_four_bar().build()
    both = [s.simulate(1.5, method="rk4", step=1e-3, coordinates=where) for where in ("joint", "absolute")]
    np.testing.assert_allclose(both[1].q, both[0].q, atol=1e-9)
    assert both[1].info["formulation"] == "absolute" and len(both[1].certificate.singular) == 1


def test_welds_forces_efforts_events_parameters_and_drives() -> None:
    m = wt.Mechanism("crane")
    m.body("mast", wt.box((0.2, 0.2, 1.0), mass=3.0))
    m.body("boom", wt.box((1.0, 0.1, 0.1), mass=1.0))
    m.body("hook", wt.box((0.1, 0.2, 0.1), mass=0.5))
    m.body("plinth", wt.box((0.3, 0.3, 0.1), mass=9.0))
    m.fixed("foot", m.ground, "plinth")
    m.revolute("slew", "plinth", "mast", axis="z", at_child=(0, 0, -0.5))
    m.fixed("weld", "mast", "boom", at=(0.5, 0, 0.5))
    m.universal("chain", "boom", "hook", at=(0.5, 0, 0), at_child=(0, 0, 0.3))
    m.torsion_spring("return", "slew", stiffness=m.parameter("k", 20.0))
    m.event("side", m.coordinate("chain", 1) - 0.02)
    m.drive("push", "slew", position=0.2 * ca.sin(3 * m.time))
    s = m.build()
    assert s.absolute.bodies == ("mast", "hook")
    options = {"v": {"chain": (0.5, 0.3)}, "tau": {"chain": (0.1, 0.0)}, "parameters": {"k": 5.0}, "tolerance": 1e-9}
    joint, absolute = (s.simulate(0.4, coordinates=where, **options) for where in ("joint", "absolute"))
    np.testing.assert_allclose(absolute.q, joint.q, atol=1e-7)
    np.testing.assert_allclose(absolute.work, joint.work, atol=1e-6)
    assert [one.name for one in absolute.events] == [one.name for one in joint.events] and joint.events
    np.testing.assert_allclose([one.t for one in absolute.events], [one.t for one in joint.events], atol=1e-7)
    assert absolute.events[0].q.shape == (s.nq,)


def test_states_go_to_the_twin_and_back() -> None:
    s = four_bar()
    absolute = s.absolute
    v = s.consistent_velocities(s.q0, np.ones(s.nv))
    q_twin, v_twin = absolute.state(np.stack([s.q0, s.q0]), np.stack([v, v]))
    np.testing.assert_array_equal(absolute.joints(q_twin, v_twin)[1][1], v)
    twin = absolute.system
    for body in absolute.bodies:
        np.testing.assert_allclose(twin.pose(q_twin[0], body), s.pose(s.q0, body), atol=1e-12)
        np.testing.assert_allclose(twin.velocity(q_twin[0], v_twin[0], body), s.velocity(s.q0, v, body), atol=1e-12)
    assert all(name not in s.joint_names for name in map(absolute.joint_of, absolute.bodies))


def test_what_absolute_runs_do_not_take_is_refused() -> None:
    s = four_bar()
    for wrong in ("polar", np.zeros(3)):
        with pytest.raises(wt.StateError, match='coordinates= must be "joint" or "absolute"'):
            s.simulate(1.0, coordinates=wrong)
        with pytest.raises(wt.WhippletreeError, match="formulation"):
            s.simulate(1.0, formulation=wrong)
    with pytest.raises(wt.StateError, match="does not take a controller"):
        s.simulate(1.0, coordinates="absolute", controller=lambda t, q, v, z: {}, period=0.1)
    with pytest.raises(wt.StateError, match="does not take checkpoints"):
        s.simulate(1.0, coordinates="absolute", checkpoint="run.ckpt")
    m = wt.Mechanism("still")
    m.fixed("weld", m.ground, m.body("block", wt.box((1, 1, 1), mass=1.0)))
    with pytest.raises(wt.StateError, match="no body can move"):
        m.build().simulate(1.0, coordinates="absolute")
