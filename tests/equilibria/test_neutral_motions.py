"""Motions that meet no stiffness stay where the guess put them, and the result names them."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from whippletree.equilibria import equilibrium_path

FEET = ((1.2, 0.7), (1.2, -0.7), (-1.3, 0.7), (-1.3, -0.7))
ON_A_FLOOR = ("free.rotation about z", "free.displacement along x", "free.displacement along y")
PLACES = (
    (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.29),
    (1.0, 0.0, 0.0, 0.0, 0.5, -2.0, 0.5),
    (np.cos(0.6), 0.0, 0.0, np.sin(0.6), -3.0, 40.0, 0.35),
)


def table() -> wt.Mechanism:
    m = wt.Mechanism("table")
    m.free("free", m.ground, m.body("table", mass=100.0, com=(0.1, 0, 0), inertia=(30, 120, 130)))
    push = m.parameter("push", 0.0)
    for k, (x, y) in enumerate(FEET):
        m.contact(f"foot {k}", "table", at=(x, y, -0.3), stiffness=2e4)
    m.load("hand", "table", at=(0.3, 0, 0), force=(0, 0, -push))
    return m


def car() -> wt.Mechanism:
    m = wt.Mechanism("car")
    chassis = m.body("chassis", mass=1000.0, com=(0.15, 0, 0.1), inertia=(300, 1200, 1300))
    m.free("free", m.ground, chassis)
    for k, (x, y) in enumerate(FEET):
        hub = m.body(f"hub {k}", mass=30.0, inertia=(1, 1, 1))
        m.prismatic(f"strut {k}", chassis, hub, at=(x, y, -0.1), axis="z")
        m.torsion_spring(f"spring {k}", f"strut {k}", stiffness=2e4, damping=1000.0)
        m.contact(f"tyre {k}", hub, at=(0, 0, -0.3), stiffness=2e5, damping=100.0, friction=0.8)
    return m


def yaw(q: np.ndarray) -> float:
    w, x, y, z = q[:4]
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


@pytest.mark.parametrize("make", [table, car])
@pytest.mark.parametrize("place", PLACES)
def test_a_body_on_a_floor_stays_at_its_place_and_says_what_is_free(make, place) -> None:  # type: ignore[no-untyped-def]
    s = make().build(guess={"free": place})
    found = s.equilibrium()
    assert found.q[4:6] == pytest.approx(place[4:6], abs=1e-12)
    assert yaw(found.q) == pytest.approx(yaw(np.array(place)), abs=1e-10)
    assert found.free == ON_A_FLOOR
    assert "anywhere: free.rotation about z" in str(found)
    assert "anywhere" in found._repr_html_()
    assert s.pose(found.q, found.system.description.bodies[0].name)[2, 3] < place[6]
    again = s.equilibrium(found.q)
    assert again.q == pytest.approx(found.q, abs=1e-14)


def test_a_table_tilts_by_the_known_angle() -> None:
    """Forces of the feet, which begin half a millimetre below the floor, balance weight and moment about y."""
    s = table().build(guess={"free": PLACES[0]})
    q = s.equilibrium().q
    feet = np.array(FEET)[:, 0]
    pitch = 2 * np.arctan2(q[2], q[0])
    depth = -(q[6] - feet * np.sin(pitch) - 0.3 * np.cos(pitch)) - 0.5e-3
    assert (2e4 * depth).sum() == pytest.approx(100 * 9.81, rel=1e-6)
    arms = feet * np.cos(pitch) - 0.3 * np.sin(pitch)
    assert (2e4 * depth * arms).sum() == pytest.approx(100 * 9.81 * 0.1 * np.cos(pitch), rel=1e-6)


def test_a_path_of_equilibria_stays_there_too() -> None:
    s = table().build(guess={"free": PLACES[0]})
    path = equilibrium_path(s, "push", np.linspace(0, 500, 4))
    assert path.values[-1] == 500.0
    assert np.abs(path.q[:, 4:6]).max() < 1e-5  # it drifts by the square of each step
    assert max(abs(yaw(q)) for q in path.q) < 1e-9


@pytest.mark.parametrize("gravity", [9.81, 0.0])
def test_a_cart_with_a_pendulum_stays_where_it_stands(gravity: float) -> None:
    m = wt.Mechanism("cart", gravity=(0, 0, -gravity))
    cart = m.body("cart", mass=1.0)
    m.prismatic("x", m.ground, cart, axis="x")
    m.revolute("A", cart, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="x")), axis="y")
    found = m.build(guess={"x": 0.3, "A": 0.4}).equilibrium()
    assert found.q == pytest.approx([0.3, np.pi / 2 if gravity else 0.4], abs=1e-14)
    assert found.free == (("x.displacement",) if gravity else ("x.displacement", "A.angle"))


def test_neutral_motions_are_named_beside_an_unstable_one() -> None:
    m = wt.Mechanism("cart")
    cart = m.body("cart", mass=1.0)
    m.prismatic("x", m.ground, cart, axis="x")
    m.revolute("A", cart, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="z")), axis="y")
    found = m.build(guess={"x": 0.3}).equilibrium(nearest=True)
    assert (found.stability, found.free, found.q[0]) == ("unstable", ("x.displacement",), 0.3)


def test_a_loop_that_moves_freely_stays_while_a_spring_on_it_settles() -> None:
    m = wt.Mechanism("parallelogram", gravity=(0, 0, 0))
    for k in (0, 1):
        m.revolute(f"A{k}", m.ground, m.body(f"r{k}", wt.rod(length=1.0, mass=1.0, axis="-y")), at=(k, 0, 0), axis="z")
    m.body("coupler", wt.rod(length=1.0, mass=1.0, axis="x"))
    m.revolute("B", "r0", "coupler", at=(0, -1, 0), axis="z")
    m.revolute("C", "coupler", "r1", at=(1, 0, 0), at_child=(0, -1, 0), axis="z")
    m.prismatic("slide", "coupler", m.body("bob", mass=0.1), axis="y")
    m.torsion_spring("spring", "slide", stiffness=10.0, rest=0.2)
    s = m.build(guess={"A0": 0.5, "A1": 0.5, "B": -0.5})
    found = s.equilibrium()
    moved = np.zeros(5)
    moved[s.q_slice("slide")] = 0.2
    assert found.q == pytest.approx(s.q0 + moved, abs=1e-14)
    assert found.free == ("A0.angle", "A1.angle", "B.angle", "C.angle")


def test_two_bodies_in_space_on_a_spring_without_load() -> None:
    """Nothing acts at rest but rounding of the spring: their centre stays, and they come to the free length."""
    m = wt.Mechanism("space", gravity=(0, 0, 0))
    for name in "fg":
        m.free(name, m.ground, m.body(f"body {name}", mass=1.0, inertia=(1, 1, 1)))
    m.spring("spring", "body f", "body g", stiffness=100.0, free_length=0.5)
    s = m.build(guess={"f": (1, 0, 0, 0, 0, 0, 0), "g": (0.8, 0.6, 0, 0, 1.0, 0.3, 0.2)})
    found = s.equilibrium()
    f, g = found.q[4:7], found.q[11:14]
    assert np.linalg.norm(g - f) == pytest.approx(0.5, abs=1e-13)
    assert f + g == pytest.approx([1.0, 0.3, 0.2], abs=1e-12)
    assert np.cross(g - f, [1.0, 0.3, 0.2]) == pytest.approx(0, abs=1e-6)
    assert s.equilibrium(found.q).q == pytest.approx(found.q, abs=1e-13)
