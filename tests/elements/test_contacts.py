"""What touches, against closed forms and plain NumPy: capsules, boxes, crates on the floor, and tyres."""

from __future__ import annotations

import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar

import whippletree as wt
from support.random_trees import random_rotation
from whippletree.elements.forces.box_contact import from_box, nearest_to_box
from whippletree.elements.forces.capsule_contact import nearest

G = 9.81


# ------------------------------------------------------------------ geometry


def test_nearest_points_of_capsules_are_those_that_a_search_finds():
    rng = np.random.default_rng(1)
    for _ in range(30):
        p = rng.normal(size=3)
        a, b = (random_rotation(rng)[:, 2] for _ in range(2))
        half, half_child = rng.uniform(0.0, 2.0, 2)
        s, t = (float(x) for x in nearest(ca.SX(p), ca.SX(a), ca.SX(b), half, half_child))

        def squared(x, p=p, a=a, b=b):
            return np.sum((p + x[1] * b - x[0] * a) ** 2)

        found = minimize(squared, [0.0, 0.0], bounds=[(-half, half), (-half_child, half_child)])
        least = math.sqrt(found.fun)
        ours = float(np.linalg.norm(p + t * b - s * a))
        assert abs(s) <= half and abs(t) <= half_child
        assert least - 1e-7 <= ours <= math.sqrt(found.fun + 1e-4 * (half**2 + half_child**2)) + 1e-7


def test_parallel_capsules_touch_in_the_middle_and_their_nearest_points_do_not_jump():
    p, a = ca.SX([0.0, 0.0, 0.3]), ca.SX([1.0, 0.0, 0.0])
    before = None
    for angle in np.linspace(-0.02, 0.02, 401):
        b = ca.SX([math.cos(angle), 0.0, math.sin(angle)])
        s = float(nearest(p, a, b, 0.5, 0.5)[0])
        assert before is None or abs(s - before) <= 1600 * 1e-4  # p / 2e is the slope
        before = s
    assert [float(x) for x in nearest(p, a, a, 0.5, 0.5)] == [0.0, 0.0]


def test_the_distance_from_a_box_is_that_of_its_surface():
    size = np.array([1.0, 2.0, 0.5])
    grid = np.linspace(-0.5, 0.5, 21)
    faces = []
    for axis in range(3):
        for sign in (-0.5, 0.5):
            one, other = np.meshgrid(grid, grid)
            face = np.zeros((one.size, 3))
            face[:, axis], face[:, (axis + 1) % 3], face[:, (axis + 2) % 3] = sign, one.ravel(), other.ravel()
            faces.append(face * size)
    surface = np.concatenate(faces)
    rng = np.random.default_rng(2)
    for q in rng.uniform(-1.0, 1.0, (60, 3)) * size:
        D, n = from_box(ca.SX(q), tuple(size.tolist()))
        inside = (np.abs(q) < size / 2).all()
        nearest_point = np.linalg.norm(surface - q, axis=1).min()
        assert abs(float(D)) == pytest.approx(nearest_point, abs=0.06)  # of the grid
        assert (float(D) < 0) == inside and float(ca.norm_2(n)) == pytest.approx(1.0, abs=1e-12)
        step = 1e-6 * ca.DM(n).full().ravel()
        grown = float(from_box(ca.SX(q + step), tuple(size.tolist()))[0]) - float(D)
        assert grown == pytest.approx(1e-6, rel=1e-5)


def test_the_point_of_a_line_nearest_to_a_box_is_the_one_that_a_search_finds() -> None:
    size = np.array([1.0, 2.0, 0.5])
    rng = np.random.default_rng(3)
    for k in range(60):
        c, half = rng.normal(size=3), rng.uniform(0.1, 2.0)
        a = random_rotation(rng)[:, 2] if k % 4 else np.eye(3)[k % 3]  # some along an edge

        def squared(s, c=c, a=a):
            over = np.maximum(np.abs(c + s * a) - size / 2, 0.0)
            return float(over @ over + 1e-4 * s * s)

        found = float(nearest_to_box(ca.SX(c), ca.SX(a), half, tuple(size.tolist())))
        searched = minimize_scalar(squared, bounds=(-half, half), method="bounded", options={"xatol": 1e-12}).x
        best = min(squared(s) for s in (searched, -half, half))
        assert abs(found) <= half and squared(found) <= best * (1 + 1e-9) + 1e-15


# ------------------------------------------------------------------ bodies that hit each other


def flying(name: str, mass: float, radius: float, m: wt.Mechanism) -> None:
    m.free(f"{name} flies", m.ground, m.body(name, wt.sphere(mass=mass, radius=radius)))


@pytest.mark.parametrize("mass", [1.0, 3.0])
def test_spheres_that_meet_head_on_leave_as_by_an_elastic_impact(mass: float) -> None:
    m = wt.Mechanism("impact", gravity=(0, 0, 0))
    flying("one", 1.0, 0.1, m)
    flying("other", mass, 0.1, m)
    m.contact_between("hit", "one", "other", radius=0.1, radius_child=0.1, stiffness=1e5, width=1e-4)
    s = m.build(guess={"one": wt.Placement(point=(-0.3, 0, 0)), "other": wt.Placement(point=(0.3, 0, 0))})
    v = np.zeros(12)
    v[3] = 1.0
    run = s.simulate(1.0, v=v, tolerance=1e-10)
    first, second = run.v[-1][3], run.v[-1][9]
    assert first == pytest.approx((1 - mass) / (1 + mass), abs=1e-8)
    assert second == pytest.approx(2 / (1 + mass), abs=1e-8)
    assert run.certificate.ok


def test_a_ball_thrown_onto_a_box_bounces_off_its_face() -> None:
    """The box stands on the ground's own frame: a plane, seen from the ball; compared with contact on the ground."""
    found = []
    for against_box in (True, False):
        m = wt.Mechanism("ball", gravity=(0, 0, -G))
        flying("ball", 1.0, 0.1, m)
        law = {"radius": 0.1, "stiffness": 1e4, "damping": 20.0, "friction": 0.3}
        if against_box:
            m.contact_between("floor", "ball", m.ground, size_child=(4, 4, 1), at_child=(0, 0, -0.5), **law)
        else:
            m.contact("floor", "ball", **law)
        s = m.build(guess={"ball": wt.Placement(point=(0, 0, 0.5))})
        v = np.array([0, 0, 0, 1.0, 0.5, 0])
        found.append(s.simulate(1.0, v=v, tolerance=1e-10))
    assert found[0].q[-1] == pytest.approx(found[1].q[-1], abs=1e-7)
    assert found[0].v[-1][:3] != pytest.approx(np.zeros(3), abs=0.1)  # friction has set it spinning
    assert all(run.certificate.ok for run in found)


def test_crossed_capsules_rest_on_each_other() -> None:
    m = wt.Mechanism("rest", gravity=(0, 0, -G))
    rod = m.body("rod", mass=2.0)
    m.prismatic("up", m.ground, rod, axis="z")
    m.contact_between(
        "touch", rod, m.ground, radius=0.05, length=1.0, axis="x", radius_child=0.1, length_child=1.0, axis_child="y",
        stiffness=1e5, damping=500.0, width=1e-5,
    )  # fmt: skip
    s = m.build(guess={"up": 0.15})
    rest = s.equilibrium()
    assert rest.q[0] == pytest.approx(0.15 - 2 * G / 1e5 - 0.5e-5, rel=1e-6)


def test_a_crate_slides_to_a_stop_and_stands_on_its_corners() -> None:
    m = wt.Mechanism("crate", gravity=(0, 0, -G))
    crate = m.body("crate", wt.box(mass=8.0, size=(0.4, 0.4, 0.1)))
    m.free("slides", m.ground, crate)
    m.contact("floor", crate, size=(0.4, 0.4, 0.1), stiffness=1e5, damping=2e3, friction=0.5, width=1e-4, speed=1e-3)
    deep = 8.0 * G / 4 / 1e5 + 0.5e-4
    s = m.build(guess={"crate": wt.Placement(point=(0, 0, 0.05 - deep))})
    run = s.simulate(1.0, v=[0, 0, 0, 1.5, 0, 0])
    assert run.position("crate")[-1][0] == pytest.approx(1.5**2 / (2 * 0.5 * G), rel=0.01)
    assert run.certificate.ok


# ------------------------------------------------------------------ tyres

RADIUS, LOAD, C, MU, SIGMA = 0.3, 3000.0, 5e4, 0.9, 0.4


def rig(friction: float | None, *, steer: float = 0.0, trail: float = 0.0) -> wt.System:
    """A wheel without weight that is pressed onto the road, with its speeds given: forward, sideways, spin."""
    m = wt.Mechanism("rig", gravity=(0, 0, 0))
    carrier, upright, slider = m.body("carrier"), m.body("upright"), m.body("slider", mass=1.0)
    wheel = m.body("wheel", wt.cylinder(mass=10.0, radius=RADIUS, length=0.2, axis="y"))
    m.prismatic("forward", m.ground, carrier, axis="x", prescribed=True)
    m.prismatic("sideways", carrier, upright, axis="y", prescribed=True)
    m.prismatic("up", upright, slider, axis="z")
    m.revolute("spin", slider, wheel, axis="y", prescribed=True)
    m.load("weight", slider, force=(0, 0, -LOAD))
    m.tyre(
        "tyre", wheel, radius=RADIUS, stiffness=2e5, damping=4e3, cornering_stiffness=C, friction=friction,
        relaxation=SIGMA, trail=trail, speed=1e-4,
    )  # fmt: skip
    return m.build(guess={"up": RADIUS - LOAD / 2e5 - 0.5e-3})


def held(s: wt.System, forward: float, sideways: float, slip: float, seconds: float) -> wt.Trajectory:
    """Let the rig roll at constant speeds; `slip` is the longitudinal one, (V - omega R) / (omega R)."""
    turning = forward / RADIUS / (1 + slip)
    return s.simulate(seconds, v={"forward": forward, "sideways": sideways, "spin": turning}, tolerance=1e-9)


def share(x: float) -> float:
    return brentq(lambda rho: rho / x + rho**3 - 1, 0.0, 1.0) if x else 0.0


@pytest.mark.parametrize("friction", [None, MU])
@pytest.mark.parametrize("slip", [0.01, 0.05, 0.3])
def test_the_force_in_steady_rolling_is_the_closed_form(friction: float | None, slip: float) -> None:
    s = rig(friction)
    run = held(s, 20.0, 0.0, slip, 0.3)
    force = C / SIGMA * run["tyre.longitudinal deflection"][-1]
    expected = -C * slip if friction is None else -friction * LOAD * share(C * slip / (friction * LOAD))
    assert force == pytest.approx(expected, rel=2e-3)


def test_the_side_force_builds_up_over_the_relaxation_length_and_aligns_the_wheel() -> None:
    """The rig rolls straight on at a slip angle from the start; what the rig has to hold tells force and moment."""
    s = rig(None, trail=0.03)
    run = held(s, 10.0, 0.5, 0.0, 0.2)
    distance = 10.0 * run.t
    F = C / SIGMA * run["tyre.lateral deflection"]
    built_up = -C * 0.05 * (1 - np.exp(-distance / SIGMA))
    assert np.abs(F - built_up).max() < 2e-3 * C * 0.05
    wrench = s.forces(run.q[-1], run.v[-1], z=run.z[-1])["tyre"].on("wheel")
    assert wrench[4] == pytest.approx(F[-1], rel=1e-9)
    assert wrench[2] == pytest.approx(-0.03 * F[-1], rel=1e-6)  # behind the wheel: it turns the wheel into its path


def test_a_car_that_brakes_with_locked_wheels_slides_as_far_as_friction_lets_it() -> None:
    m = wt.Mechanism("sledge", gravity=(0, 0, -G))
    body = m.body("body", wt.box(mass=300.0, size=(1.0, 0.5, 0.5)))
    m.free("moves", m.ground, body)
    for name, x, y in (("fl", 0.6, 0.4), ("fr", 0.6, -0.4), ("rl", -0.6, 0.4), ("rr", -0.6, -0.4)):
        m.tyre(name, body, at=(x, y, 0), radius=0.3, stiffness=1e5, damping=2e3, cornering_stiffness=3e4, friction=MU)
    height = 0.3 - 300 * G / 4 / 1e5 - 0.5e-3
    s = m.build(guess={"body": wt.Placement(point=(0, 0, height))})
    run = s.simulate(2.0, v=[0, 0, 0, 8.0, 0, 0], tolerance=1e-8)
    assert run.position("body")[-1][0] == pytest.approx(8.0**2 / (2 * MU * G), rel=0.02)
    assert run.certificate.ok


def test_a_wheel_stands_on_a_slope_but_for_its_creep() -> None:
    slope, mass, k = 0.3, 20.0, 2e4 / 0.3
    m = wt.Mechanism("parked", gravity=(G * math.sin(slope), 0, -G * math.cos(slope)))
    carrier, wheel = m.body("carrier"), m.body("wheel", wt.cylinder(mass=mass, radius=0.3, length=0.2, axis="y"))
    m.prismatic("along", m.ground, carrier, axis="x")
    m.prismatic("up", carrier, wheel, axis="z")
    held, normal = mass * G * math.sin(slope), mass * G * math.cos(slope)
    m.tyre(
        "tyre", wheel, radius=0.3, stiffness=1e5, damping=1e3, cornering_stiffness=2e4, friction=1.0, speed=1e-3,
        initial=(-held / k, 0.0),
    )  # fmt: skip
    carried = math.hypot(normal, 0.25 * 1e5 * 1e-3)  # by friction, as near the lift-off
    fading = 1e-3 / 0.3 + k * 1e-3 / carried * (held / carried) ** 2  # (1) and (2) at a speed of nearly nothing
    creep = held / k * fading
    s = m.build(guess={"up": 0.3 - normal / 1e5 - 0.5e-3})
    run = s.simulate(2.0, v={"along": creep}, tolerance=1e-9)
    assert run.coordinates("along")[-1] / 2.0 == pytest.approx(creep, rel=2e-3)


def test_files_hold_contacts_and_tyres(tmp_path: Path) -> None:
    m = wt.Mechanism("all", gravity=(0, 0, -G))
    flying("one", 1.0, 0.1, m)
    flying("other", 2.0, 0.2, m)
    bump = 0.01 * ca.sin(m.position("other")[0])
    m.contact("capsule", "one", radius=0.05, length=0.3, axis=(1, 1, 0), at=(0, 0.1, 0), stiffness=1e4)
    m.contact("corners", "one", size=(0.1, 0.2, 0.3), stiffness=1e4, friction=0.5, offset=bump)
    m.contact_between("rods", "one", "other", radius=0.1, length=0.5, axis="x", radius_child=0.1, stiffness=1e4)
    m.contact_between(
        "block", "one", "other", radius=0.1, size_child=(0.2, 0.2, 0.2), at_child=(0, 0, 1), stiffness=1e4
    )
    m.tyre("tyre", "other", radius=0.3, stiffness=1e5, cornering_stiffness=2e4, friction=0.9, initial=(0.01, -0.02))
    m.tyre("linear", "other", radius=0.35, stiffness=1e5, cornering_stiffness=2e4, trail=0.02, offset=bump, axis="x")
    wt.write(m, tmp_path / "all.yaml")
    again = wt.read(tmp_path / "all.yaml").mechanism
    one, other = m.build(), again.build()
    rng = np.random.default_rng(4)
    for _ in range(5):
        q, v, z = one.random(int(rng.integers(1000))), rng.normal(size=12), 0.01 * rng.normal(size=4)
        assert other.forward_dynamics(q, v, z=z) == pytest.approx(one.forward_dynamics(q, v, z=z), rel=1e-12, abs=1e-12)
        assert other.state_rates(q, v, z=z) == pytest.approx(one.state_rates(q, v, z=z), rel=1e-12, abs=1e-12)
    assert other.z0 == pytest.approx(one.z0) and one.z0[:2] == pytest.approx([0.01, -0.02])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, b: m.contact("c", b, stiffness=1.0, length=1.0, size=(1, 1, 1)), "either length"),
        (lambda m, b: m.contact("c", b, stiffness=1.0, points=3), "points must be a list"),
        (lambda m, b: m.contact("c", b, stiffness=1.0, points=[(1, 2)]), "points"),
        (lambda m, b: m.contact("c", b, stiffness=1.0, length=1.0, axis=(0, 0, 0)), "axis"),
        (lambda m, b: m.contact_between("c", b, b, stiffness=1.0), "two different bodies"),
        (lambda m, b: m.contact_between("c", b, m.ground, stiffness=1.0, radius=-1.0), "radius must not be negative"),
        (
            lambda m, b: m.contact_between("c", b, m.ground, stiffness=1.0, size_child=(1, 1, 0)),
            "size must be positive",
        ),
        (lambda m, b: m.contact_between("c", b, m.ground, stiffness=1.0, size_child=(1, 1, 1), radius_child=1), "box"),
        (lambda m, b: m.tyre("c", m.ground, radius=1.0, stiffness=1.0, cornering_stiffness=1.0), "ground"),
        (lambda m, b: m.tyre("c", b, radius=0.0, stiffness=1.0, cornering_stiffness=1.0), "radius must be positive"),
        (lambda m, b: m.tyre("c", b, radius=1.0, stiffness=1.0, cornering_stiffness=1.0, friction=0.0), "linear tyre"),
        (
            lambda m, b: m.tyre("c", b, radius=1.0, stiffness=1.0, cornering_stiffness=float("nan")),
            "cornering_stiffness",
        ),
        (lambda m, b: m.tyre("c", b, radius=1.0, stiffness=1.0, cornering_stiffness=1.0, initial=(1,)), "initial"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(call, words: str) -> None:
    m = wt.Mechanism("m")
    with pytest.raises(wt.ModelError, match=words):
        call(m, m.body("b", mass=1.0))
