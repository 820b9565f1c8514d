"""In equilibrium, at rest, without mass and without damping: where every scale vanishes, answers are as anywhere else.

What counts as rounding must not depend on the size of masses and stiffnesses, which is drawn over many powers of ten.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whippletree as wt
from support.sampling import examples
from whippletree.equilibria import eigenvalues_over

SIZES = st.floats(-6.0, 6.0).map(lambda power: 10.0**power)
ANGLES = st.floats(-1.2, 1.2)
APPROXIMATE = ("natural", "penalty")


def swing(size: float, gravity: float) -> wt.Mechanism:
    """A parallelogram of three rods that hangs."""
    m = wt.Mechanism("swing", gravity=(0, -gravity, 0))
    for k in (0, 1):
        m.revolute(f"A{k}", m.ground, m.body(f"r{k}", wt.rod(length=1.0, mass=size, axis="-y")), at=(k, 0, 0), axis="z")
    m.body("c", wt.rod(length=1.0, mass=size, axis="x"))
    m.revolute("B", "r0", "c", at=(0, -1, 0), axis="z")
    m.revolute("C", "c", "r1", at=(1, 0, 0), at_child=(0, -1, 0), axis="z")
    return m


@given(size=SIZES, angle=ANGLES, gravity=st.sampled_from([0.0, 9.81]))
@settings(max_examples=examples(25), deadline=None)
def test_in_balance_nothing_accelerates(size: float, angle: float, gravity: float) -> None:
    """At rest, under efforts that hold the weights (closed form: those of a pendulum of two rods' mass)."""
    s = swing(size, gravity).build(guess={"A0": angle, "A1": angle, "B": -angle, "C": angle})
    tau = np.zeros(4)
    tau[s.v_slice("A0")] = 2 * size * gravity * np.sin(angle)
    for name in APPROXIMATE:
        a = s.forward_dynamics(s.q0, s.v0, tau, formulation=name)
        assert np.abs(a).max() <= 1e-6 * gravity, name


@given(size=SIZES, speed=st.floats(-3.0, 3.0).map(lambda power: 10.0**power))
@settings(max_examples=examples(25), deadline=None)
def test_what_turns_evenly_turns_on(size: float, speed: float) -> None:
    """Without gravity the links of a parallelogram turn evenly, and so they do at a thousandth of a turn per second."""
    s = swing(size, 0.0).build()
    v = s.consistent_velocities(s.q0, {"A0": speed, "A1": speed})
    for name in APPROXIMATE:
        assert np.abs(s.forward_dynamics(s.q0, v, formulation=name)).max() <= 1e-6 * speed**2, name


@given(size=SIZES, torque=SIZES, massless=st.booleans())
@settings(max_examples=examples(25), deadline=None)
def test_a_locked_triangle_with_and_without_mass_stays_or_is_refused(
    size: float, torque: float, massless: bool
) -> None:
    m = wt.Mechanism("triangle")
    own = {} if massless else {"mass": size, "com": (0.5, 0, 0), "inertia": (size / 12,) * 3}
    a, b = m.body("a", **own), m.body("b", **own)
    m.revolute("A", m.ground, a, axis="y")
    m.revolute("B", a, b, at=(1, 0, 0), axis="y")
    m.revolute("C", m.ground, b, at=(1, 0, 0), at_child=(1, 0, 0), axis="y")
    s = m.build(guess={"A": -np.pi / 3, "B": 2 * np.pi / 3})
    for name in APPROXIMATE:
        try:
            found = np.abs(s.forward_dynamics(s.q0, s.v0, [torque, 0, 0], formulation=name)).max()
        except wt.DynamicsError:
            continue
        assert found <= 1e-6 * (0.0 if massless else torque / size) + 1e-9, name


@given(size=SIZES, place=st.floats(-50.0, 50.0), angle=ANGLES, gravity=st.sampled_from([0.0, 9.81]))
@settings(max_examples=examples(25), deadline=None)
def test_neutral_motions_stay_and_are_named(size: float, place: float, angle: float, gravity: float) -> None:
    """A cart on a rail with a rod: the rod hangs down, or stays too where there is no gravity; the cart stays."""
    m = wt.Mechanism("cart", gravity=(0, 0, -gravity))
    cart = m.body("cart", mass=size)
    m.prismatic("x", m.ground, cart, axis="x")
    m.revolute("A", cart, m.body("rod", wt.rod(length=1.0, mass=size, axis="-z")), axis="y")
    found = m.build(guess={"x": place, "A": angle}).equilibrium()
    assert found.q == pytest.approx([place, 0.0 if gravity else angle], abs=1e-12)
    assert found.free == (("x.displacement",) if gravity else ("x.displacement", "A.angle"))


@given(
    size=SIZES, damping=st.sampled_from([0.0, 1e-12, 1e-6, 1e-2]), points=st.integers(4, 14), low=st.floats(0.1, 0.9)
)
@settings(max_examples=examples(25), deadline=None)
def test_stability_changes_where_it_does_without_damping_too(
    size: float, damping: float, points: int, low: float
) -> None:
    """A rod on end with a torsion spring falls below k = m g l / 2, whatever the grid."""
    m = wt.Mechanism("rod on end")
    k = m.parameter("k", size)
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=size, axis="z")), axis="y")
    m.torsion_spring("spring", "A", stiffness=k, damping=size * damping)
    right = size * 9.81 / 2
    found = eigenvalues_over(m.build(), "k", np.linspace(low * right, 2.3 * right, points))
    assert found.changes == pytest.approx((right,), rel=1e-10)
