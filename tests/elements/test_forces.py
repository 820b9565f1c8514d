"""Force elements by themselves: closed forms, the balance of energy and of momentum, signs, smoothness."""

import copy
import itertools
import math
import pickle

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.random_trees import random_rotation
from whippletree.elements.closures import Side
from whippletree.elements.forces import (
    Actuator,
    BoxContact,
    Bushing,
    CapsuleContact,
    Contact,
    ElementForces,
    ElementState,
    Formula,
    Friction,
    LawSpring,
    Limit,
    Load,
    Spring,
    TorsionSpring,
    Tyre,
)
from whippletree.elements.forces.base import stretch
from whippletree.elements.forces.bushing import rotation_vector
from whippletree.elements.forces.smooth import gate, ramp, ramp_energy, stopped

NONE = ca.SX(0, 1)


# ------------------------------------------------------------------ situations in numbers


def symbols(n_sides, n_coordinates, n_states):
    sides = tuple(
        Side(ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3), ca.SX.sym("w", 3), ca.SX.sym("u", 3)) for _ in range(n_sides)
    )
    q, v, z = (ca.SX.sym(name, n) for name, n in (("q", n_coordinates), ("v", n_coordinates), ("z", n_states)))
    return ElementState(sides, q, v, z, ca.SX.sym("t"))


def flat(seen):
    return [*(part for side in seen.sides for part in side), seen.q, seen.v, seen.z, seen.t]


class Tried:
    """An element over symbols, ready to be evaluated: what it does, and how its stored energy changes."""

    def __init__(self, force, n_sides, n_coordinates, n_states=0):
        self.force, self.shape = force, (n_sides, n_coordinates, n_states)
        seen = symbols(*self.shape)
        done = force.act(seen)
        assert isinstance(done, ElementForces) and len(done.wrenches) == n_sides
        assert done.efforts.shape == (n_coordinates, 1) and done.stored.shape == (1, 1)
        turned = [ca.skew(side.w) @ side.R for side in seen.sides]
        positions = [ca.vec(part) for side in seen.sides for part in (side.R, side.p)]
        flow = [ca.vec(part) for R, side in zip(turned, seen.sides, strict=True) for part in (R, side.u)]
        own = force.rates(seen)  # of the element's own states, which come first
        states = [seen.z[i] for i in range(own.shape[0])]
        moving = ca.vertcat(NONE, *positions, seen.q, seen.t, *states)
        change = ca.jtimes(done.stored, moving, ca.vertcat(NONE, *flow, seen.v, 1, own))
        outputs = [*done.wrenches, done.efforts, done.stored, done.dissipated, done.supplied, change]
        self.function = ca.Function("f", flat(seen), [ca.densify(out) for out in outputs])
        everything = ca.vertcat(*map(ca.vec, outputs))
        self.slopes = ca.Function("J", flat(seen), [ca.jacobian(everything, ca.vertcat(*map(ca.vec, flat(seen))))])

    def at(self, seen):
        *wrenches, efforts, stored, dissipated, supplied, change = (x.full() for x in self.function.call(flat(seen)))
        scalars = (float(x.item()) for x in (stored, dissipated, supplied, change))
        return [w.ravel() for w in wrenches], efforts.ravel(), *scalars

    def random(self, seed, scale=1.0):
        rng = np.random.default_rng(seed)
        n_sides, n, nz = self.shape
        sides = tuple(
            Side(random_rotation(rng), scale * rng.normal(size=3), rng.normal(size=3), rng.normal(size=3))
            for _ in range(n_sides)
        )
        return ElementState(sides, rng.normal(size=n), rng.normal(size=n), rng.normal(size=nz), rng.normal())


def formula(write, n_sides=0, n_coordinates=0, n_states=0, more=None, parameters=()):
    seen = symbols(n_sides, n_coordinates, n_states)
    more = NONE if more is None else more
    return Formula.written(ca.SX(ca.vertcat(*write(seen))), seen, more, parameters)


def law(write):
    x = ca.SX.sym("x", 2)
    return formula(lambda seen: write(x[0], x[1]), more=x)


def flat_ground(height=0.0):
    return formula(lambda seen: [height])


X = ca.SX.sym("x", 2)
UP, LEFT = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)
rng = np.random.default_rng(5)
roots = rng.normal(size=(2, 6, 6))
FULL = [tuple((root @ root.T).ravel().tolist()) for root in roots]

ELEMENTS = {
    "spring": Tried(Spring(30.0, 0.7, 4.0), 2, 0),
    "damper": Tried(Spring(0.0, 0.0, 4.0), 2, 0),
    "law": Tried(LawSpring(law(lambda x, r: [5 * x**3 + r * (1 + x * x)]), 0.3), 2, 0),
    "law with energy": Tried(LawSpring(law(lambda x, r: [5 * x**3 + r, 5 * x**4 / 4]), 0.3), 2, 0),
    "active law": Tried(LawSpring(law(lambda x, r: [5 * x - 3 * r, 5 * x * x / 2]), 0.3), 2, 0),
    "law that reads": Tried(
        LawSpring(formula(lambda s: [s.z * X[0] * s.sides[0].p[1] - s.v[0] * ca.sin(s.t) * X[1]], 1, 1, 1, X), 0.2),
        3,
        1,
        1,
    ),
    "bushing": Tried(Bushing.diagonal((3.0, 4.0, 5.0, 60.0, 70.0, 80.0), (0.1, 0.2, 0.3, 1.0, 2.0, 3.0)), 2, 0),
    "full bushing": Tried(Bushing(*FULL), 2, 0),
    "torsion": Tried(TorsionSpring(8.0, 0.2, 0.5), 0, 1),
    "friction": Tried(Friction(2.0, 0.3, 0.5), 0, 1),
    "limit": Tried(Limit(-0.2, 0.3, 50.0, 4.0, 0.4), 0, 1),
    "upper limit": Tried(Limit(None, 0.3, 50.0, 4.0, 0.4), 0, 1),
    "lower limit": Tried(Limit(-0.2, None, 50.0, 4.0, 0.4), 0, 1),
    "actuator": Tried(
        Actuator(formula(lambda s: [s.q[0] * s.v[0] + s.z[0] * s.sides[0].w[1] - s.t], 1, 1, 1)), 1, 2, 1
    ),
    "load": Tried(Load(formula(lambda s: [1, s.z, s.t, s.sides[0].p], 1, 0, 1), False), 2, 0, 1),
    "following load": Tried(Load(formula(lambda s: [1, s.z, s.t, s.sides[0].p], 1, 0, 1), True), 2, 0, 1),
    "point contact": Tried(Contact(flat_ground(0.2), (0.0, 0.6, 0.8), 0.0, 90.0, 7.0, 0.8, 0.3, 0.4), 1, 0),
    "sphere contact": Tried(Contact(flat_ground(0.2), (0.0, 0.6, 0.8), 0.5, 90.0, 7.0, 0.8, 0.3, 0.4), 1, 0),
    "capsule on ground": Tried(
        Contact(flat_ground(0.2), (0.0, 0.6, 0.8), 0.5, 90.0, 7.0, 0.8, 0.3, 0.4, (0.3, 0.4, 0.0, -0.3, -0.4, 0.0)),
        1,
        0,
    ),
    "spheres": Tried(CapsuleContact(90.0, 0.9, 1.3, damping=7.0, friction=0.8, speed=0.3, width=0.4), 2, 0),
    "sphere and capsule": Tried(CapsuleContact(90.0, 0.9, 1.3, 0.0, 2.0, damping=7.0, friction=0.8, width=0.4), 2, 0),
    "capsules": Tried(
        CapsuleContact(
            90.0, 0.7, 0.9, 2.0, 3.0, (1.0, 2.0, 2.0), (0.0, 1.0, 0.0), damping=7.0, friction=0.8, speed=0.3, width=0.4
        ),
        2,
        0,
    ),
    "sphere and box": Tried(BoxContact(90.0, 0.9, (1.0, 2.0, 0.5), damping=7.0, friction=0.8, width=0.4), 2, 0),
    "capsule and box": Tried(
        BoxContact(90.0, 0.9, (1.0, 2.0, 0.5), 2.0, (0.0, 3.0, 4.0), damping=7.0, friction=0.8, width=0.4), 2, 0
    ),
    "linear tyre": Tried(Tyre(flat_ground(0.2), UP, LEFT, 1.5, 90.0, 7.0, 30.0, 40.0, 0.5, 0.7, width=0.4), 1, 0, 2),
    "tyre": Tried(
        Tyre(
            formula(lambda s: [ca.sin(s.t) + 0.3 * s.q[0]], 0, 1),
            (0.0, 0.6, 0.8),
            LEFT,
            *(1.5, 90.0, 7.0, 30.0, 40.0, 0.5, 0.7),
            friction=0.8,
            trail=0.2,
            rolling_resistance=0.1,
            speed=0.3,
            width=0.4,
        ),
        1,
        1,
        2,
    ),
    "moving ground": Tried(
        Contact(
            formula(lambda s: [ca.sin(s.t) + s.sides[0].p[0] * s.sides[0].R[0, 1] + 0.3 * s.q[0]], 1, 1),
            (0.0, 0.0, 1.0),
            0.3,
            90.0,
            7.0,
            0.8,
            0.3,
            0.4,
        ),
        2,
        1,
    ),
}
PAIRS = (
    *("spring", "damper", "law", "law with energy", "active law", "law that reads", "bushing", "full bushing"),
    *("spheres", "sphere and capsule", "capsules", "sphere and box", "capsule and box"),
)


# ------------------------------------------------------------------ what every element owes


def power(seen, wrenches, efforts):
    total = float(efforts @ seen.v) if len(efforts) else 0.0
    return total + sum(wrench @ np.r_[side.w, side.u] for wrench, side in zip(wrenches, seen.sides, strict=True))


@pytest.mark.parametrize("name", ELEMENTS)
def test_energy_is_accounted_for(name):
    tried, busy = ELEMENTS[name], 0.0
    for seed in range(40):
        seen = tried.random(seed)
        wrenches, efforts, _, dissipated, supplied, change = tried.at(seen)
        done = power(seen, wrenches, efforts)
        size = abs(done) + abs(dissipated) + abs(supplied) + abs(change)
        assert done == pytest.approx(supplied - dissipated - change, abs=1e-12 * size)
        assert dissipated >= 0.0
        busy += abs(done)
    assert busy > 1.0  # it does something


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_wrenches_are_in_balance(name):
    tried, busy = ELEMENTS[name], 0.0
    for seed in range(20):
        seen = tried.random(seed)
        wrenches = tried.at(seen)[0]
        force = sum(w[3:] for w in wrenches)
        moment = sum(w[:3] + np.cross(side.p, w[3:]) for w, side in zip(wrenches, seen.sides, strict=True))
        size = np.abs(wrenches[0]).max()
        busy += size
        assert np.abs([force, moment]).max() <= 1e-13 * size
        assert not any(np.any(w) for w in wrenches[2:])  # what is only read is not acted on
    assert busy > 0.0


def special(tried):
    """Situations at which directions, depths or speeds vanish."""
    n_sides, n, nz = tried.shape
    zero = np.zeros(3)
    rest = Side(np.eye(3), zero, zero, zero)
    yield ElementState((rest,) * n_sides, np.zeros(n), np.zeros(n), np.zeros(nz), 0.0)
    turned = Side(np.diag([1.0, -1.0, -1.0]), zero, np.ones(3), np.ones(3))
    for second in (turned, rest._replace(u=np.ones(3)), rest._replace(p=1e-200 * np.ones(3))):
        sides = (rest, second, rest)[:n_sides]
        yield ElementState(sides, np.zeros(n), np.ones(n), np.zeros(nz), 0.0)
    high = rest._replace(p=np.array([0.0, 0.0, 1e3]), u=np.array([1.0, 0.0, -1e3]))
    yield ElementState((high, rest, rest)[:n_sides], np.full(n, 1e3), np.full(n, -1e3), np.zeros(nz), 0.0)


@pytest.mark.parametrize("name", ELEMENTS)
def test_everything_is_finite_wherever_the_situation_is(name):
    tried = ELEMENTS[name]
    for seen in special(tried):
        numbers = [np.ravel(x) for x in tried.at(seen)[0]] + [np.ravel(x) for x in tried.at(seen)[1:]]
        assert np.isfinite(np.concatenate(numbers)).all()
        assert np.isfinite(tried.slopes(*flat(seen)).full()).all()


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_are_made_again_from_text_and_numbers(name):
    force = ELEMENTS[name].force
    again = type(force).of(force.text, force.entries())
    assert again == force and hash(again) == hash(force)
    assert again.kind == type(force).__name__ and again.timed == force.timed
    others = [ELEMENTS[other].force for other in ELEMENTS if other != name]
    assert all(force != other for other in others) and force != 3
    tried = Tried(again, *ELEMENTS[name].shape)
    seen = tried.random(0)
    for one, two in zip(tried.at(seen)[0], ELEMENTS[name].at(seen)[0], strict=True):
        assert (one == two).all()


def test_what_is_timed():
    timed = {name for name, tried in ELEMENTS.items() if tried.force.timed}
    assert timed == {"law that reads", "actuator", "load", "following load", "moving ground", "tyre"}


# ------------------------------------------------------------------ springs


def at(p, u=(0, 0, 0), R=None, w=(0, 0, 0)):
    return Side(np.eye(3) if R is None else R, np.array(p, float), np.array(w, float), np.array(u, float))


def between(a, b):
    return ElementState((a, b), np.zeros(0), np.zeros(0), np.zeros(0), 0.0)


def test_a_spring_pulls_along_the_line():
    wrenches, _, stored, dissipated, supplied, _ = ELEMENTS["spring"].at(
        between(at((1, 0, 0)), at((4, 0, 4), (2, 9, 0)))
    )
    # length 5, elongation 4.3, growing at (3, 0, 4) / 5 . (2, 9, 0) = 1.2
    tension = 30 * 4.3 + 4 * 1.2
    assert wrenches[0] == pytest.approx([0, 0, 0, 0.6 * tension, 0, 0.8 * tension], rel=1e-15)
    assert wrenches[1] == pytest.approx(-wrenches[0])
    assert (stored, dissipated, supplied) == (pytest.approx(15 * 4.3**2), pytest.approx(4 * 1.44), 0.0)


def test_a_short_spring_pushes():
    wrenches, *_ = ELEMENTS["spring"].at(between(at((0, 0, 0)), at((0.2, 0, 0))))
    assert wrenches[0][3] == pytest.approx(-30 * 0.5)


def test_a_spring_of_no_length_is_smooth():
    spring = ELEMENTS["spring"]
    here, *_ = spring.at(between(at((0, 0, 0)), at((0, 0, 0), (1, 2, 3))))
    assert not np.any(here)
    # odd through the point, and an ordinary spring from a hair's breadth on
    for size in (1e-12, 1e-10, 1e-8, 1e-6):
        one, *_ = spring.at(between(at((0, 0, 0)), at((size, 0, 0))))
        two, *_ = spring.at(between(at((0, 0, 0)), at((-size, 0, 0))))
        assert one[0] == pytest.approx(-two[0], rel=1e-12)
        assert 0 > one[0][3] >= -30 * 0.7
    assert one[0][3] == pytest.approx(-30 * (0.7 - 1e-6), rel=1e-6)
    # the direction turns over a share of the free length
    one, *_ = spring.at(between(at((0, 0, 0)), at((0.7e-9, 0, 0))))
    assert one[0][3] == pytest.approx(-30 * 0.7 / math.sqrt(2), rel=1e-5)
    # without a free length the force is proportional to the distance, exactly
    plain = Tried(Spring(30.0, 0.0, 0.0), 2, 0)
    for size in (0.0, 1e-11, 1e-3, 10.0):
        (wrench, _), *_ = plain.at(between(at((0, 0, 0)), at((0, size, 0))))
        assert wrench[4] == pytest.approx(30 * size, rel=1e-14, abs=1e-300)


def test_lengths_are_not_disturbed():
    for free in (0.0, 1e-3, 2.0, 1e3):
        for size in (1e-3, 1.0, 1e3):
            if size < 1e-2 * free:
                continue
            sides = tuple(Side(*map(ca.SX, side)) for side in (at((0, 0, 0)), at((0, 0, size))))
            line = stretch(sides, ca.SX(free))
            assert float(line.elongation) == pytest.approx(size - free, rel=1e-12, abs=1e-12 * size)
            assert float(line.direction[2]) == pytest.approx(1.0, rel=1e-12)


def test_a_law_is_what_it_says():
    same = Tried(LawSpring(law(lambda x, r: [30 * x + 4 * r, 15 * x * x]), 0.7), 2, 0)
    for seed in range(5):
        seen = same.random(seed)
        for one, two in zip(same.at(seen), ELEMENTS["spring"].at(seen), strict=True):
            assert np.allclose(one, two, rtol=1e-13, atol=1e-13)


def test_a_law_without_energy_does_work():
    plain = Tried(LawSpring(law(lambda x, r: [30 * x + 4 * r]), 0.7), 2, 0)
    seen = plain.random(1)
    _, _, stored, dissipated, supplied, _ = plain.at(seen)
    _, _, _, lost, _, change = ELEMENTS["spring"].at(seen)
    assert stored == 0.0 and dissipated == pytest.approx(lost) and supplied == pytest.approx(-change)


def test_a_law_may_bring_energy_in():
    for seed in range(10):
        _, _, _, dissipated, supplied, _ = ELEMENTS["active law"].at(ELEMENTS["active law"].random(seed))
        assert dissipated == 0.0 and supplied >= 0.0


# ------------------------------------------------------------------ bushings


def rotation(axis, angle):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def test_a_bushing_is_its_matrix_when_deformed_a_little():
    K, C = (np.array(m).reshape(6, 6) for m in FULL)
    rng = np.random.default_rng(1)
    R0, p0 = random_rotation(rng), rng.normal(size=3)
    e, rate = 1e-7 * rng.normal(size=6), 1e-7 * rng.normal(size=6)
    far = Side(R0 @ rotation(e[:3], np.linalg.norm(e[:3])), p0 + R0 @ e[3:], R0 @ rate[:3], R0 @ rate[3:])
    wrenches, *_ = ELEMENTS["full bushing"].at(between(Side(R0, p0, np.zeros(3), np.zeros(3)), far))
    local = np.r_[R0.T @ wrenches[1][:3], R0.T @ wrenches[1][3:]]
    assert local == pytest.approx(-(K @ e + C @ rate), rel=1e-5)


@pytest.mark.parametrize("angle", [0.3, -1.0, 2.5, 3.1])
def test_a_bushing_turned_about_one_axis(angle):
    far = at((0.1, 0.2, 0.3), R=rotation((0, 0, 1), angle), w=(0, 0, 2.0), u=(0, 0, 1.0))
    wrenches, _, stored, dissipated, _, _ = ELEMENTS["bushing"].at(between(at((0, 0, 0)), far))
    assert wrenches[1] == pytest.approx([0, 0, -5 * angle - 0.3 * 2.0, -6, -14, -24 - 3.0], rel=1e-12)
    assert stored == pytest.approx((5 * angle**2 + 60 * 0.01 + 70 * 0.04 + 80 * 0.09) / 2)
    assert dissipated == pytest.approx(0.3 * 4 + 3)
    # on the other side the force has an arm
    assert wrenches[0][3:] == pytest.approx(-wrenches[1][3:])
    assert wrenches[0][:3] == pytest.approx(-wrenches[1][:3] - np.cross(far.p, wrenches[1][3:]))


def test_rotation_vectors():
    rng = np.random.default_rng(2)
    for angle in (0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 2.0, 3.0, 3.14):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        R = rotation(axis, angle)
        phi, J = (np.array(ca.DM(x)) for x in rotation_vector(ca.SX(R)))
        assert phi.ravel() == pytest.approx(angle * axis, rel=1e-7, abs=1e-15)
        # J phi = phi: turning on about the same axis; and against a difference of rotation vectors
        assert (J @ axis).ravel() == pytest.approx(axis, rel=1e-7, abs=1e-7)
        h, w = 1e-6, rng.normal(size=3)
        size = np.linalg.norm(w)
        ends = [np.array(ca.DM(rotation_vector(ca.SX(rotation(w, k * h * size) @ R))[0])).ravel() for k in (1.0, -1.0)]
        assert (J @ w).ravel() == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-6 * (1 + 10 * angle**4))


def test_at_half_a_turn_the_moment_changes_sign_and_stays_bounded():
    tried = ELEMENTS["bushing"]
    moments = []
    for off in (-1e-6, -1e-9, -1e-11, 0.0, 1e-11, 1e-9, 1e-6):
        wrenches, *_ = tried.at(between(at((0, 0, 0)), at((0, 0, 0), R=rotation((0, 0, 1), math.pi + off))))
        moments.append(wrenches[1][2])
    assert moments[3] == pytest.approx(0.0, abs=1e-4)
    assert moments[0] == pytest.approx(-5 * math.pi, rel=1e-6) and moments[-1] == pytest.approx(5 * math.pi, rel=1e-6)
    assert all(a < b for a, b in itertools.pairwise(moments[1:-1]))
    assert np.abs(moments).max() <= 5 * math.pi


# ------------------------------------------------------------------ in joints


def turned(q, v):
    return ElementState((), np.array([q], float), np.array([v], float), np.zeros(0), 0.0)


def test_a_torsion_spring():
    _, efforts, stored, dissipated, supplied, _ = ELEMENTS["torsion"].at(turned(0.7, -2.0))
    assert efforts[0] == pytest.approx(-8 * 0.5 + 0.5 * 2)
    assert (stored, dissipated, supplied) == (pytest.approx(1.0), pytest.approx(2.0), 0.0)


@settings(deadline=None)
@given(st.floats(-1e6, 1e6))
def test_friction_is_against_the_motion(v):
    _, efforts, stored, dissipated, supplied, _ = ELEMENTS["friction"].at(turned(0.3, v))
    assert efforts[0] == pytest.approx(-2 * math.tanh(v / 0.5) - 0.3 * v, rel=1e-13)
    assert efforts[0] * v <= 0.0 and dissipated == pytest.approx(-efforts[0] * v)
    assert stored == supplied == 0.0
    assert abs(efforts[0]) <= 2 + 0.3 * abs(v)


@settings(deadline=None)
@given(st.floats(-3, 3), st.floats(-100, 100))
def test_stops_push_back_and_never_pull(q, v):
    _, efforts, stored, dissipated, _, _ = ELEMENTS["limit"].at(turned(q, v))
    if -0.2 <= q <= 0.3:
        assert efforts[0] == stored == dissipated == 0.0
    else:
        assert efforts[0] * math.copysign(1.0, q) <= 0.0
        assert stored > 0.0 or abs(q - 0.05) < 0.25 + 1e-60
    (only,), (other,) = ELEMENTS["upper limit"].at(turned(q, v))[1], ELEMENTS["lower limit"].at(turned(q, v))[1]
    assert only <= 0.0 <= other and efforts[0] == pytest.approx(only + other)
    assert not (q <= 0.3 and only) and not (q >= -0.2 and other)


def test_a_stop_is_a_spring_with_a_damper_beyond_its_width():
    _, efforts, stored, dissipated, _, _ = ELEMENTS["limit"].at(turned(0.3 + 1.0, 0.5))
    assert efforts[0] == pytest.approx(-50 * (1.0 - 0.2) - 4 * 0.5)
    assert stored == pytest.approx(50 * (0.15 * 0.16 + 0.3)) and dissipated == pytest.approx(4 * 0.25)
    _, efforts, *_ = ELEMENTS["limit"].at(turned(-0.2 - 1.0, 0.5))
    assert efforts[0] == pytest.approx(50 * (1.0 - 0.2) - 4 * 0.5)
    # leaving fast, the damper may not pull: A^2 / 4 |y|
    _, efforts, *_ = ELEMENTS["limit"].at(turned(0.3 + 1.0, -20.0))
    assert efforts[0] == pytest.approx(-(40.0**2) / (4 * 80.0))


# ------------------------------------------------------------------ one-sided forces


def curve(f, *fixed):
    x = ca.SX.sym("x")
    return ca.Function("f", [x], [f(x, *fixed)]), ca.Function("df", [x], [ca.gradient(f(x, *fixed), x)])


@pytest.mark.parametrize(("f", "order"), [(gate, 1), (ramp, 2), (ramp_energy, 3)])
def test_ramps_are_smooth_where_they_begin_and_end(f, order):
    for edge in (0.0, 0.7):
        x = ca.SX.sym("x")
        y = f(x, 0.7)
        for _ in range(order + 1):
            value = ca.Function("y", [x], [y])
            near, far = float(value(edge - 1e-9)), float(value(edge + 1e-9))
            assert near == pytest.approx(far, abs=1e-6)
            y = ca.gradient(y, x)


def test_ramps_are_integrals_of_each_other():
    for x in (-0.3, 0.0, 0.1, 0.5, 0.7, 1.4):
        assert float(curve(ramp, 0.7)[1](x)) == pytest.approx(float(curve(gate, 0.7)[0](x)), abs=1e-14)
        assert float(curve(ramp_energy, 0.7)[1](x)) == pytest.approx(float(curve(ramp, 0.7)[0](x)), abs=1e-14)
    assert float(curve(ramp, 0.7)[0](10.0)) == pytest.approx(10 - 0.35)


@settings(deadline=None)
@given(st.floats(-2, 2), st.floats(-1e3, 1e3), st.floats(0, 1e6), st.floats(0, 1e4), st.floats(1e-6, 1.0))
def test_stopped_never_pulls_and_never_gains(x, rate, stiffness, damping, width):
    force, stored, dissipated = (float(y) for y in stopped(ca.SX(x), ca.SX(rate), stiffness, damping, width))
    assert force >= 0.0 and stored >= 0.0 and dissipated >= 0.0
    if x <= 0.0:
        assert force == stored == dissipated == 0.0
    elastic = stiffness * float(ramp(ca.SX(x), width))
    if rate >= 0:
        whole = elastic + damping * float(gate(ca.SX(x), width)) * rate
        assert force == pytest.approx(whole, rel=1e-12, abs=1e-290)
    else:
        assert force <= elastic * (1 + 1e-12)


def test_stopped_is_continuously_differentiable():
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    force = stopped(x, v, 50.0, 4.0, 0.3).force
    slopes = ca.Function("slopes", [x, v], [ca.gradient(force, ca.vertcat(x, v)), force])
    # the seam y = -A / 2, and the edges of the width
    for depth in (0.05, 0.2, 0.3, 0.9):
        A = 50 * float(ramp(ca.SX(depth), 0.3))
        seam = -A / 2 / (4 * float(gate(ca.SX(depth), 0.3)))
        for where in ((depth, seam), (depth, 0.0)):
            for step in ((1e-9, 0.0), (0.0, 1e-9)):
                one, two = (slopes(where[0] + k * step[0], where[1] + k * step[1])[0].full().ravel() for k in (1, -1))
                assert one == pytest.approx(two, rel=1e-5, abs=1e-5)
    for rate in (-3.0, 0.0, 3.0):
        assert np.abs(slopes(1e-9, rate)[0].full()).max() < 1e-4  # takes hold from nothing


# ------------------------------------------------------------------ contact


def touching(p, u=(0, 0, 0), w=(0, 0, 0)):
    return ElementState((at(p, u, w=w),), np.zeros(0), np.zeros(0), np.zeros(0), 0.0)


def contact(radius=0.0, friction=0.8, height=None, normal=(0.0, 0.0, 1.0)):
    height = flat_ground() if height is None else height
    return Tried(Contact(height, normal, radius, 1000.0, 20.0, friction, 0.1, 0.01), 1, 0)


POINT, BALL = contact(), contact(radius=0.3)
vectors = st.tuples(*(st.floats(-2, 2) for _ in range(3)))


@settings(deadline=None)
@given(vectors, vectors, vectors)
def test_a_contact_never_pulls_and_friction_is_against_sliding(p, u, w):
    for tried, radius in ((POINT, 0.0), (BALL, 0.3)):
        (wrench,), _, stored, dissipated, supplied, _ = tried.at(touching(p, u, w))
        normal, along = wrench[5], wrench[3:5]
        assert normal >= 0.0 and stored >= 0.0 and dissipated >= 0.0 and supplied == 0.0
        if p[2] >= radius:
            assert not np.any(wrench) and stored == dissipated == 0.0
        slip = np.array(u) + np.cross(w, [0.0, 0.0, -radius])
        assert along @ slip[:2] <= 0.0
        assert np.hypot(*along) <= 0.8 * normal * (1 + 1e-12)
        assert along == pytest.approx(
            -0.8 * normal * slip[:2] / math.sqrt(slip[:2] @ slip[:2] + 0.01), rel=1e-12, abs=1e-290
        )
        # the force acts at the lowest point
        assert wrench[:3] == pytest.approx(np.cross([0, 0, -radius], wrench[3:]), rel=1e-12, abs=1e-290)


def test_a_contact_at_rest_is_a_spring():
    (wrench,), _, stored, *_ = POINT.at(touching((0.4, -0.2, -0.1)))
    assert wrench == pytest.approx([0, 0, 0, 0, 0, 1000 * (0.1 - 0.005)])
    assert stored == pytest.approx(1000 * (0.15 * 1e-4 + 0.09 * 0.1 / 2))
    (wrench,), *_ = BALL.at(touching((0.4, -0.2, 0.2), u=(0, 0, -0.5)))
    assert wrench == pytest.approx([0, 0, 0, 0, 0, 1000 * (0.1 - 0.005) + 20 * 0.5])


def test_a_rolling_ball_does_not_slide():
    (wrench,), *_ = BALL.at(touching((0, 0, 0.29), u=(0.6, 0, 0), w=(0, 2.0, 0)))
    assert wrench[3] == pytest.approx(0.0, abs=1e-14) and wrench[5] > 0
    (wrench,), *_ = BALL.at(touching((0, 0, 0.29), u=(0.6, 0, 0)))
    assert wrench[3] < 0 and wrench[1] > 0  # it is braked, and begins to roll


def test_the_plane_may_lie_anywhere():
    n = np.array([0.6, 0.0, 0.8])
    tilted = contact(height=flat_ground(2.0), normal=tuple(n))
    (wrench,), *_ = tilted.at(touching(tuple(1.9 * n + np.array([0.8, 3.0, -0.6]))))
    assert wrench[3:] == pytest.approx(1000 * 0.095 * n)
    (wrench,), *_ = tilted.at(touching(tuple(2.001 * n)))
    assert not np.any(wrench)


def test_ground_that_rises_does_work():
    lift = Tried(
        Contact(formula(lambda s: [0.1 + 0.5 * s.t]), (0.0, 0.0, 1.0), 0.0, 1000.0, 20.0, 0.8, 0.1, 0.01), 1, 0
    )
    (wrench,), _, _, dissipated, supplied, change = lift.at(touching((0, 0, 0)))
    assert wrench[5] == pytest.approx(1000 * 0.095 + 20 * 0.5)
    assert supplied == pytest.approx(0.5 * wrench[5])
    assert dissipated == pytest.approx(20 * 0.25) and change == pytest.approx(0.5 * 95)


# ------------------------------------------------------------------ what is written


def test_a_load_follows_its_side_or_not():
    R = rotation((0, 0, 1), math.pi / 2)
    given = formula(lambda s: [0, 0, 1, 2, 0, 0])
    seen = ElementState((at((1, 2, 3), (1, 1, 1), R, (0, 0, 3)),), np.zeros(0), np.zeros(0), np.zeros(0), 0.0)
    (fixed,), _, stored, dissipated, supplied, _ = Tried(Load(given, False), 1, 0).at(seen)
    assert fixed == pytest.approx([0, 0, 1, 2, 0, 0]) and stored == dissipated == 0.0
    assert supplied == pytest.approx(3 + 2)
    (turning,), *_ = Tried(Load(given, True), 1, 0).at(seen)
    assert turning == pytest.approx([0, 0, 1, 0, 2, 0])


def test_an_actuator_acts_on_its_first_coordinate_only():
    tried = ELEMENTS["actuator"]
    seen = tried.random(3)
    (wrench,), efforts, _, _, supplied, _ = tried.at(seen)
    expected = seen.q[1] * seen.v[1] + seen.z[0] * seen.sides[0].w[1] - seen.t
    assert efforts == pytest.approx([expected, 0.0]) and not np.any(wrench)
    assert supplied == pytest.approx(expected * seen.v[0])


@pytest.mark.parametrize("travel", [lambda law: pickle.loads(pickle.dumps(law)), copy.deepcopy, copy.copy])
def test_a_law_that_nothing_has_asked_for_yet_can_travel(travel):
    law = formula(lambda s: [2 * s.q[0] - ca.sin(s.t) * s.v[1]], n_coordinates=2)
    assert travel(law).text == law.text == Formula.of(law.text, ()).text


def test_formulas_say_what_they_depend_on():
    assert formula(lambda s: [s.q * s.t], 0, 1).positional and not formula(lambda s: [s.v], 0, 1).positional
    assert not formula(lambda s: [s.z], 0, 0, 1).positional and not formula(lambda s: [s.sides[0].w], 1).positional
    assert law(lambda x, r: [x + r]).own and not formula(lambda s: [s.t]).own
    assert formula(lambda s: [1, 2]).size == 2
    stepped = formula(lambda s: [ca.floor(s.t)])  # a derivative would not see it
    assert stepped.timed


def test_rates_of_formulas():
    write = formula(lambda s: [s.sides[0].R[0, 1] * s.sides[0].p[2] * s.q[0] + ca.sin(s.t) * s.q[0] ** 2], 1, 1)
    seen = ELEMENTS["moving ground"].random(4).beyond(1, 0)
    h, values = 1e-6, []
    for step in (h, -h):
        (side,) = seen.sides
        moved = side._replace(
            R=rotation(side.w, step * np.linalg.norm(side.w)) @ side.R, p=side.p + step * np.asarray(side.u)
        )
        then = seen._replace(sides=(moved,), q=seen.q + step * seen.v, t=seen.t + step)
        values.append(float(write.value(numbers(then))))
    assert float(write.rate(numbers(seen))) == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-8)


def numbers(seen):
    sides = tuple(Side(*map(ca.SX, side)) for side in seen.sides)
    return ElementState(sides, *(ca.SX(ca.DM(x)) for x in seen[1:]))
