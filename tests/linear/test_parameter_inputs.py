"""Parameters as inputs: what joints that follow by the loops, their reactions and their rates do, by differences."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.closed_differences import Neighbour, central, differences
from whippletree.linear import minimal_coordinates

Array = np.ndarray


@functools.cache
def four_bar() -> wt.System:
    """A four-bar in space: three of its nine rows are redundant; lengths and the drive's place are parameters."""
    m = wt.Mechanism("four-bar")
    coupler, apart, mass = m.parameter("coupler", 1.0), m.parameter("apart", 0.9), m.parameter("mass", 0.7)
    bodies = [m.body(name, wt.rod(length=x, mass=2 * x, axis="x")) for name, x in (("crank", 0.4), ("rocker", 0.8))]
    link = m.body("link", mass=mass, com=(coupler / 2, 0, 0.1), inertia=(0.1, 0.2, 0.3))
    m.revolute("A", m.ground, bodies[0], axis="y")
    m.revolute("B", bodies[0], link, at=(0.4, 0, 0), axis="y")
    m.revolute("C", link, bodies[1], at=(coupler, 0, 0), at_child=(0.8, 0, 0), axis="y")
    m.revolute("D", m.ground, bodies[1], at=(apart, 0, 0), axis="y")
    m.torsion_spring("spring", "D", stiffness=40.0, rest=-1.2, damping=0.7)
    return m.build(guess={"A": -1.2})


def of(s: wt.System, v: Array, tau: Array) -> Neighbour:
    parameters = np.array(s.description.parameter_values)
    return Neighbour(s, s.q0, v, tau, np.zeros(s.nv), 0.0, np.zeros(0), parameters).closed()


def check(lin: wt.LinearModel, here: Neighbour, outputs: object, parameters: int, efforts: tuple[int, ...]) -> None:
    """Compare C and D with differences along closed neighbours; inputs are parameters first, then efforts."""
    n, m = lin.n_displacements, lin.n_velocities
    asked = [("q", j) for j in range(n)] + [("v", j) for j in range(m)]
    asked += [("parameters", j) for j in range(parameters)] + [("tau", j) for j in efforts]
    ours = np.hstack([lin.C, lin.D])
    for column, (kind, j) in enumerate(asked):
        theirs = differences(here, kind, j, of=outputs)  # type: ignore[arg-type]
        scale = np.maximum(np.abs(theirs), np.abs(ours).max())
        assert np.abs(ours[:, column] - theirs).max(initial=0.0) < 1e-8 * scale.max(), (kind, j)


def test_joints_that_follow_are_outputs_with_parameters_as_inputs() -> None:
    s = four_bar()
    here = of(s, s.consistent_velocities(s.q0, {"A": 1.3}), np.array([0.4, 0.0, 0.2, 0.0]))
    names = [f"{joint}{word}" for joint in "ABCD" for word in ("", ".velocity", ".acceleration")]
    inputs = [*(p.name for p in s.description.parameters), "A", "C"]
    lin = s.linearize(here.q, here.v, here.tau, inputs=inputs, outputs=names)

    def outputs(at: Neighbour) -> Array:
        a = at.accelerations()
        return np.array([x[i] for i in (s.v_slice(j).start for j in "ABCD") for x in (at.q, at.v, a)])

    check(lin, here, outputs, 3, (s.v_slice("A").start, s.v_slice("C").start))
    assert np.abs(lin.D[:, :2]).max() > 0.1
    assert lin.nominal_outputs == pytest.approx(outputs(here), abs=1e-12)


def test_reactions_of_redundant_loops_are_those_of_least_norm() -> None:
    """Moments about x and z and forces along y are not determined by the motion; the plane's forces are."""
    s = four_bar()
    assert len(s.mobility.redundant) == 3
    here = of(s, s.consistent_velocities(s.q0, {"A": -0.8}), np.array([0.4, 0.0, 0.2, 0.0]))
    names = [f"{joint}.{what}" for joint in "ABCD" for what in ("force", "moment")]
    lin = s.linearize(here.q, here.v, here.tau, inputs=["coupler", "apart", "mass", "A"], outputs=names)

    def outputs(at: Neighbour) -> Array:
        found = s.reactions(at.q, at.v, at.tau, **at.options())
        return np.concatenate([part for joint in "ABCD" for part in (found[joint].force, found[joint].moment)])

    check(lin, here, outputs, 3, (s.v_slice("A").start,))
    assert lin.nominal_outputs == pytest.approx(outputs(here), abs=1e-10)


@pytest.mark.deep
def test_the_plane_of_a_redundant_loop_answers_like_a_loop_without_redundancy() -> None:
    """Spherical and cylindrical joints in place of two pins leave the motion, and the plane's forces, as they are."""
    found = []
    for kinds in (("revolute",) * 4, ("revolute", "revolute", "spherical", "cylindrical")):
        m = wt.Mechanism("four-bar")
        ends = [(m.ground, 0), ("crank", 0.4), ("link", 1.0), ("rocker", 0.8)]
        for name, length in ends[1:]:
            m.body(str(name), wt.rod(length=length, mass=2 * length, axis="x"))
        stiffness = m.parameter("stiffness", 40.0)
        pairs = [
            ("A", m.ground, "crank", (0, 0, 0), (0, 0, 0)),
            ("B", "crank", "link", (0.4, 0, 0), (0, 0, 0)),
            ("C", "link", "rocker", (1.0, 0, 0), (0.8, 0, 0)),
            ("D", m.ground, "rocker", (0.9, 0, 0), (0, 0, 0)),
        ]
        for kind, (name, parent, child, at, at_child) in zip(kinds, pairs, strict=True):
            axis = {} if kind == "spherical" else {"axis": "y"}
            getattr(m, kind)(name, parent, child, at=at, at_child=at_child, **axis)
        m.torsion_spring("spring", "A", stiffness=stiffness, rest=-0.9, damping=0.7)
        s = m.build(guess={"A": -1.2})
        lin = s.equilibrium().linearize(inputs=["stiffness", "A"], outputs=["C.force", "A.moment"])
        plane = [0, 2, 4]
        found.append((lin.frequency_response([0.0, 3.0, 20.0])[:, plane], lin.nominal_outputs[plane]))
    for one, other in zip(*found, strict=True):
        assert np.abs(one - other).max() < 1e-9 * np.abs(one).max()


def test_rates_of_what_rolls_depend_on_the_radius() -> None:
    """Displacements of a rolling ball whose velocities follow: their rates, seen from the motion as it goes on."""
    m = wt.Mechanism("ball")
    radius = m.parameter("radius", 0.3)
    ball = m.body("ball", mass=4.0, com=(0.02, 0.01, 0.03), inertia=(0.15, 0.2, 0.25))
    m.free("flight", m.ground, ball)
    m.closure("touch", m.position(ball)[2] - radius)
    contact = m.velocity(ball)[3:] + ca.cross(m.velocity(ball)[:3], ca.vertcat(0, 0, -radius))
    m.closure("grip", contact[:2])
    s = m.build(guess={"flight": [1, 0.1, 0.2, 0.3, 0, 0, 0.3]})
    here = of(s, s.consistent_velocities(s.q0, {"flight": [0.5, -0.7, 0.9, 0, 0, 0]}), np.zeros(6))
    lin = s.linearize(here.q, here.v, inputs=["radius"], outputs=["flight", "flight.velocity", "ball.velocity"])
    places = minimal_coordinates(s, here.q).displacements
    assert lin.n_displacements > lin.n_velocities

    def shift(t: float, h: float) -> Array:
        there = here.moved("parameters", 0, h)
        return s.difference(s.integrate(here.q, t * here.v), s.integrate(there.q, t * there.v))[places]

    rates = central(lambda t: central(lambda h: shift(t, h), 0.02), 0.02)
    assert lin.B[: lin.n_displacements, 0] == pytest.approx(rates, abs=1e-7)
    assert np.abs(rates).max() > 0.1
    moved = central(lambda h: s.difference(here.q, here.moved("parameters", 0, h).q), 0.02)

    def velocities(at: Neighbour) -> Array:
        return np.concatenate([at.v, s.velocity(at.q, at.v, "ball", **at.parameter_options())[3:]])

    assert lin.D[:6, 0] == pytest.approx(moved, abs=1e-8)
    assert lin.D[6:, 0] == pytest.approx(differences(here, "parameters", 0, of=velocities), abs=1e-8)
