"""Light loops that hold large forces, loops that hold nothing: every formulation gives the right number, or words."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.sampling import shared
from whippletree.formulations.methods import registry

pytestmark = pytest.mark.rest

FORMULATIONS = ("auto", *(one.text for one in registry.loop_formulations()))
RATIOS = ((1e-5, 1e4), (1e-9, 1e9), (1e-7, 1.0), (1.0, 10.0), (1e6, 1e-3))


def is_approximate(formulation: str) -> bool:
    return formulation != "auto" and not registry.find(formulation).exact


def locked_triangle(mass: float) -> wt.System:
    """Two rods and the ground; a torque on one of them moves nothing."""
    m = wt.Mechanism("triangle")
    own = {"mass": mass, "com": (0.5, 0, 0), "inertia": (mass / 12,) * 3} if mass else {}
    a, b = m.body("a", **own), m.body("b", **own)
    m.revolute("A", m.ground, a, axis="y")
    m.revolute("B", a, b, at=(1, 0, 0), axis="y")
    m.revolute("C", m.ground, b, at=(1, 0, 0), at_child=(1, 0, 0), axis="y")
    return m.build(guess={"A": -np.pi / 3, "B": 2 * np.pi / 3})


def triangle_on_a_base(light: float, heavy: float) -> wt.System:
    """A locked triangle on a bar that swings, pushed by a force of 30 kN."""
    m = wt.Mechanism("triangle on a base")
    base = m.body("base", wt.rod(length=1.0, mass=heavy, axis="x"))
    m.revolute("swing", m.ground, base, axis="y")
    a, b = (m.body(n, mass=light, com=(0.2, 0, 0.1), inertia=(light,) * 3) for n in "ab")
    m.revolute("A", base, a, at=(0.2, 0, 0), axis="y")
    m.revolute("B", a, b, at=(0.5, 0, 0), axis="y")
    m.revolute("C", base, b, at=(0.7, 0, 0), at_child=(0.5, 0, 0), axis="y")
    m.load("push", b, force=(3e4, 0, 1e4), at=(0.1, 0, 0.2))
    return m.build(guess={"A": -np.pi / 3, "B": 2 * np.pi / 3})


def rigid_acceleration(s: wt.System, light: float, heavy: float) -> float:
    """The bar with the triangle as one body: moment about the hinge over the moment of inertia, in plain NumPy."""
    moment, inertia = heavy * 9.81 * 0.5, heavy / 3
    for name in "ab":
        pose = s.pose(s.q0, name)
        x, _, z = (pose @ [0.2, 0, 0.1, 1.0])[:3]
        moment, inertia = moment + light * 9.81 * x, inertia + light * (1 + x * x + z * z)
    x, _, z = (s.pose(s.q0, "b") @ [0.1, 0, 0.2, 1.0])[:3]
    return float((moment + z * 3e4 - x * 1e4) / inertia)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_locked_triangle_does_not_move_however_light(formulation: str) -> None:
    for mass in (0.0, 1e-9, 1.0):
        s = locked_triangle(mass)
        try:
            a = s.forward_dynamics(s.q0, s.v0, [1.0, 0, 0], formulation=formulation)
        except wt.DynamicsError as words:
            assert "formulation" in str(words) or "inertia" in str(words)
            continue
        assert np.abs(a).max() < (1e-9 if is_approximate(formulation) else 1e-12), mass


@pytest.mark.parametrize("formulation", [name for name in FORMULATIONS if is_approximate(name)])
def test_a_locked_triangle_bears_its_weight(formulation: str) -> None:
    """What a penalty lets through is compared with gravity: where the loops hold everything, nothing else is left."""
    for mass in (1e-9, 1.0, 1e6):
        s = locked_triangle(mass)
        assert np.abs(s.forward_dynamics(s.q0, s.v0, formulation=formulation)).max() < 1e-10 * 9.81, mass


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_light_triangle_that_holds_a_large_force_is_as_good_as_rigid(formulation: str) -> None:
    for light, heavy in RATIOS:
        s = triangle_on_a_base(light, heavy)
        expected = rigid_acceleration(s, light, heavy)
        a = s.forward_dynamics(s.q0, s.v0, formulation=formulation)
        error = np.abs(a - [expected, 0, 0, 0]).max() / abs(expected)
        assert error < (1e-6 if is_approximate(formulation) else 1e-11), (light, heavy, error)


def chain(bodies: int, free: tuple[int, ...]) -> wt.System:
    """A chain on the ground, some of its bodies joined to the ground by free joints."""
    m, last = wt.Mechanism("chain"), None
    for k in range(bodies):
        body = m.body(f"b{k}", mass=1.0, com=(0.05, 0.01, 0), inertia=(1, 1, 1))
        m.revolute(f"j{k}", last or m.ground, body, at=(0.1, 0, 0), axis="xyz"[k % 3])
        if k in free:
            m.free(f"air{k}", body, m.ground)
        last = body
    return m.build(guess={f"j{k}": 0.1 * k for k in range(bodies)})


@pytest.mark.parametrize(("bodies", "free"), [(13, (12,)), (5, (1, 2, 4)), (1, (0,))])
def test_loops_that_free_joints_close_move_like_trees(bodies: int, free: tuple[int, ...]) -> None:
    loops, tree = chain(bodies, free), chain(bodies, ())
    v = 0.1 * np.arange(1, bodies + 1)
    expected = tree.forward_dynamics(tree.q0, v)
    at = np.concatenate([np.arange(s.start, s.stop) for s in (loops.v_slice(f"j{k}") for k in range(bodies))])
    v_all = loops.consistent_velocities(loops.q0, {f"j{k}": x for k, x in enumerate(v)})
    assert loops.mobility.mobility == bodies
    for name in FORMULATIONS if bodies == 1 else ("auto", *shared(FORMULATIONS[1:], bodies)):
        found = loops.forward_dynamics(loops.q0, v_all, formulation=name)[at]
        assert np.abs(found - expected).max() / np.abs(expected).max() < 1e-6, name
    forces, own = tree.reactions(tree.q0, v), loops.reactions(loops.q0, v_all)
    for k in range(bodies):
        assert np.allclose(own[f"j{k}"].force, forces[f"j{k}"].force, rtol=1e-9, atol=1e-9)
    for k in free:
        assert np.abs(own[f"air{k}"].force).max() < 1e-9


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_spin_without_inertia_is_refused_in_words(formulation: str) -> None:
    """A massless sleeve on the coupler of a four-bar."""
    m = wt.Mechanism("sleeve on a four-bar")
    a, b, c = (m.body(n, wt.rod(length=x, mass=1.0, axis="x")) for n, x in (("a", 1.0), ("b", 2.0), ("c", 1.0)))
    m.revolute("A", m.ground, a, axis="y")
    m.revolute("B", a, b, at=(1, 0, 0), axis="y")
    m.revolute("C", b, c, at=(2, 0, 0), axis="y")
    m.revolute("D", m.ground, c, at=(2, 0, 0), at_child=(1, 0, 0), axis="y")
    m.revolute("spin", b, m.body("sleeve"), axis="x")
    s = m.build(guess={"A": -1.0, "B": 1.0})
    with pytest.raises(wt.DynamicsError, match=r"inertia"):
        s.forward_dynamics(s.q0, s.v0, formulation=formulation)
