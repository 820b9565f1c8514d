"""Problems with known motions, for `accuracy.py`: each with the mechanism as a user would describe it, and where it is
by means that share nothing with the engine: a closed form, a quadrature, or a small model of its own in NumPy,
integrated by extrapolation to rounding.

A twin is the same mechanism built with the joint that is natural for it, so that nothing has to be closed.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import casadi as ca
import numpy as np
from motion_bricard import angles_at

import whippletree as wt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.absolute_motion import motion, rotation
from support.loop_models import built
from support.newton_euler import quaternion_times
from support.random_loops import case
from support.reference_problems import bricard, four_bar_angles, n_four_bar
from support.references import amplitude, extrapolated, quarter_period

Array = np.ndarray
G = 9.81
OUTPUTS = 10
KEPT = Path(__file__).parent / ".build" / "accuracy"


@dataclass(frozen=True)
class Model:
    """A system with its start, and what of its motion is compared, a row for each output."""

    system: wt.System
    start: Mapping[str, Array]
    seen: Callable[[wt.Trajectory], Array]


@dataclass(frozen=True)
class Equations:
    """Rates of a state in plain NumPy, and where it starts."""

    rates: Callable[[Array], Array]
    start: Array


@dataclass(frozen=True)
class Problem:
    """What is run, for how long and in which steps; `exact` tells what `Model.seen` should be at some times.

    step: the longest of the fixed steps, which are halved four times; `steps` has others for some methods. floor:
    errors below this are rounding. natural: the twin has the joint that is natural for the mechanism, and evaluations
    are held against it; otherwise it only shows what the motion makes of errors. plain: the same motion by rk4 in plain
    NumPy, on the same coordinates, in steps of some size: the order that it shows is what rk4 can show there.
    equations: rates and start of the mechanism and of its twin, in the same coordinates, for other programs.
    """

    name: str
    model: Callable[[], Model]
    exact: Callable[[Array], Array]
    duration: float
    step: float
    twin: Callable[[], Model] | None = None
    steps: Mapping[str, float] = field(default_factory=dict)
    floor: float = 2e-11
    natural: bool = True
    plain: Callable[[float, Array], Array] | None = None
    equations: tuple[Equations, Equations] | None = None

    @cached_property
    def times(self) -> Array:
        """When the motion is looked at, from the start on: ends of steps, where they are fixed."""
        return np.linspace(0.0, self.duration, OUTPUTS + 1)

    @cached_property
    def right(self) -> Array:
        return self.exact(self.times)


def joints(*names: str) -> Callable[[wt.Trajectory], Array]:
    return lambda run: np.column_stack([run[name] for name in names])


# ---------------------------------------------------------------------------------------------------------
# A pendulum on two slides and a rod; its twin is a hinge


def slides() -> Model:
    m = wt.Mechanism("pendulum of slides and a rod", gravity=(0, -G, 0))
    carrier, bob = m.body("carrier"), m.body("bob", wt.point_mass(1.0))
    m.prismatic("x", m.ground, carrier, axis="x")
    m.prismatic("y", carrier, bob, axis="y")
    m.distance("rod", m.ground, bob, length=1.0)
    return Model(m.build(guess={"x": -1.0, "y": 0.0}), {}, joints("x", "y"))


def slides_rates(y: Array) -> Array:
    """Rates of [x, y, x', y']: the rod pulls as hard as the circle wants it."""
    x, v = y[:2], y[2:]
    pull = (G * x[1] - v @ v) / (x @ x)
    return np.array([v[0], v[1], pull * x[0], pull * x[1] - G])


SLIDES = Equations(slides_rates, np.array([-1.0, 0.0, 0.0, 0.0]))
HINGE = Equations(lambda y: np.array([y[1], G * np.cos(y[0])]), np.zeros(2))


def slid_by_rk4(step: float, times: Array) -> Array:
    """The slides' motion by rk4 in plain NumPy; the end of each step is put on the circle the nearest way."""
    rates, y, found = SLIDES.rates, SLIDES.start, [[-1.0, 0.0]]
    for begin, end in itertools.pairwise(times):
        for _ in range(round((end - begin) / step)):
            k1 = rates(y)
            k2 = rates(y + step / 2 * k1)
            k3 = rates(y + step / 2 * k2)
            y = y + step / 6 * (k1 + 2 * (k2 + k3) + rates(y + step * k3))
            x = y[:2] / np.hypot(y[0], y[1])
            y = np.concatenate([x, y[2:] - (y[2:] @ x) * x])
        found.append(y[:2].tolist())
    return np.array(found)


def hinge() -> Model:
    m = wt.Mechanism("pendulum on a hinge", gravity=(0, -G, 0))
    m.revolute("A", m.ground, m.body("bob", wt.point_mass(1.0, at=(-1.0, 0.0, 0.0))))
    return Model(m.build(), {}, lambda run: -np.column_stack([np.cos(run["A"]), np.sin(run["A"])]))


def swung(times: Array) -> Array:
    """sin(angle / 2) = sin(45 degrees) cd(w t) = k sn(w t + K), the angle from hanging down, and K a quarter period."""
    turned = np.array([amplitude(np.sqrt(G) * t + quarter_period(0.5), 0.5) for t in times])
    half = np.arcsin(np.sqrt(0.5) * np.sin(turned))
    return -np.column_stack([np.sin(2 * half), np.cos(2 * half)])


# ---------------------------------------------------------------------------------------------------------
# A heavy top: a free body whose origin is held; its twin is a ball joint


TOP = {"mass": 15.0, "com": (0.0, 1.0, 0.0), "inertia": np.diag([0.234375, 0.46875, 0.234375])}
SPIN = np.array([0.0, 150.0, -4.61538])


def attitude(run: wt.Trajectory) -> Array:
    return run.pose("top")[:, :3, :3].reshape(-1, 9)


def held_top() -> Model:
    m = wt.Mechanism("heavy top, held by a closure")
    m.free("flight", m.ground, m.body("top", **TOP))
    m.closure("pivot", m.position("top"))
    s = m.build()
    return Model(s, {"v": s.velocities({"flight": [*SPIN, 0.0, 0.0, 0.0]})}, attitude)


def top_on_a_ball() -> Model:
    m = wt.Mechanism("heavy top on a ball joint")
    m.spherical("ball", m.ground, m.body("top", **TOP))
    s = m.build()
    return Model(s, {"v": s.velocities({"ball": SPIN})}, attitude)


def spun(times: Array) -> Array:
    """Euler's equations about the pivot, in body axes."""
    centre = np.array(TOP["com"])
    own = np.diag(TOP["inertia"]) + TOP["mass"] * (centre @ centre - centre**2)

    def rates(t: float, y: Array) -> Array:
        e, w = y[:4], y[4:]
        moment = TOP["mass"] * np.cross(centre, rotation(e).T @ [0.0, 0.0, -G])
        turning = quaternion_times(e, np.array([0.0, *w])) / 2
        return np.concatenate([turning, (moment - np.cross(w, own * w)) / own])

    found = extrapolated(rates, np.array([1.0, 0, 0, 0, *SPIN]), times)
    return np.array([rotation(y[:4]).ravel() for y in found])


# ---------------------------------------------------------------------------------------------------------
# A ball with its centre of mass off the middle rolls on a slope


RADIUS, OFFSET = 0.3, np.array([0.05, 0.03, -0.02])
SLOPE = G * np.array([0.2, 0.0, -0.9])
BALL_MASS, BALL_INERTIA = 2.0, np.array([0.06, 0.08, 0.07])
ROLLING = np.array([1.0, 2.0, 0.5])


def rolling_ball() -> Model:
    m = wt.Mechanism("rolling ball", gravity=SLOPE)
    ball = m.body("ball", mass=BALL_MASS, com=OFFSET, inertia=np.diag(BALL_INERTIA))
    m.free("flight", m.ground, ball)
    m.closure("touch", m.position(ball)[2] - RADIUS)
    twist = m.velocity(ball)
    m.closure("grip", (twist[3:] + ca.cross(twist[:3], ca.vertcat(0, 0, -RADIUS)))[:2])
    s = m.build(guess={"flight": (1, 0, 0, 0, 0, 0, RADIUS)})
    v = s.velocities({"flight": [*ROLLING, *(RADIUS * np.cross(ROLLING, [0.0, 0.0, 1.0]))]})
    return Model(s, {"v": v}, lambda run: run.pose("ball")[:, :3].reshape(-1, 12))


def rolled(times: Array) -> Array:
    """Newton and Euler, the force at the contact eliminated: v = w x R n, a linear equation for the turning."""
    up = np.array([0.0, 0.0, RADIUS])

    def rates(t: float, y: Array) -> Array:
        e, w = y[:4], y[7:]
        R = rotation(e)
        d, I = R @ OFFSET, R @ np.diag(BALL_INERTIA) @ R.T

        def off_balance(turning: Array, gravity: Array, spin: Array) -> Array:
            centre = np.cross(turning, up) + np.cross(turning, d) + np.cross(spin, np.cross(spin, d))
            contact = BALL_MASS * (centre - gravity)
            return I @ turning + np.cross(spin, I @ spin) + np.cross(up + d, contact)

        zero = np.zeros(3)
        matrix = np.array([off_balance(unit, zero, zero) for unit in np.eye(3)]).T
        turning = np.linalg.solve(matrix, -off_balance(zero, SLOPE, w))
        return np.concatenate([quaternion_times(np.array([0.0, *w]), e) / 2, np.cross(w, up), turning])

    found = extrapolated(rates, np.array([1.0, 0, 0, 0, 0, 0, RADIUS, *ROLLING]), times)
    return np.array([np.column_stack([rotation(y[:4]), y[4:7]]).ravel() for y in found])


# ---------------------------------------------------------------------------------------------------------
# The five-bar of Critchley and Anderson, with its telescopes in some direction


FIVE_BAR_ANGLES = np.radians([45.0, 135.0, 45.0])


def along(angle: float, point: Array) -> Array:
    """A pose whose z axis is a direction in the x-y plane."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[0, s, c, point[0]], [0, -c, s, point[1]], [1, 0, 0, point[2]], [0, 0, 0, 1.0]])


def five_bar(to_bar_3: float) -> Model:
    """Rods of 1 kg and 1 m; the telescopes q4 and q5 are parallel, at an angle to bar 3 at the start."""
    m = wt.Mechanism("five-bar", gravity=(0, -G, 0))
    bars = [m.body(f"bar {i}", wt.rod(length=1.0, mass=1.0)) for i in range(1, 5)]
    one, two, three = FIVE_BAR_ANGLES
    m.revolute("q1", m.ground, bars[0])
    m.revolute("q2", bars[0], bars[1], at=(1, 0, 0))
    m.revolute("q3", bars[1], bars[2], at=(1, 0, 0))
    tip = np.array([1.0, 0.0, 0.0])
    m.prismatic("q4", bars[2], bars[3], pose=along(to_bar_3, tip), pose_child=along(to_bar_3, 0 * tip))
    ends = np.exp(1j * np.array([*FIVE_BAR_ANGLES, three])).sum()
    end = np.array([ends.real, ends.imag, 0.0])
    m.prismatic("q5", m.ground, bars[3], pose=along(three + to_bar_3, end), pose_child=along(to_bar_3, tip))
    s = m.build(guess={"q1": one, "q2": two - one, "q3": three - two, "q4": 0.0, "q5": 0.0})
    return Model(s, {}, joints("q1", "q2", "q5"))


def slid(to_bar_3: float, times: Array) -> Array:
    """Bars 1 and 2 and bar 3, which goes with the end of bar 2 along one direction; bar 4 slides by itself."""
    direction = FIVE_BAR_ANGLES[2] + to_bar_3
    d, n = (np.array([np.cos(x), np.sin(x)]) for x in (direction, direction + np.pi / 2))

    def rates(t: float, y: Array) -> Array:
        phi, rate = y[:2], y[2:]
        u = np.array([np.cos(phi), np.sin(phi)])  # along each bar, as columns
        across = np.array([-u[1], u[0]])
        M, f = np.diag([1 / 12, 1 / 12]), np.zeros(2)
        for share in ([0.5, 0.0], [1.0, 0.5], [1.0, 1.0]):  # centres of bars 1 and 2, and bar 3, of 1 kg each
            J, bias = across * share, -(u * share) @ rate**2
            M, f = M + J.T @ J, f + J.T @ ([0.0, -G] - bias)
        row = n @ across
        held, free = row * (n @ u @ rate**2) / (row @ row), np.array([-row[1], row[0]])
        return np.concatenate([rate, held + free * (free @ (f - M @ held)) / (free @ M @ free)])

    start = np.array([*FIVE_BAR_ANGLES[:2], 0, 0], dtype=np.longdouble)  # the crank whirls: more digits are needed
    one, two = extrapolated(rates, start, times, 1e-16, 12)[:, :2].astype(float).T
    return np.column_stack([one, two - one, -G * d[1] * times**2 / 2])


# ---------------------------------------------------------------------------------------------------------
# Bricard's mechanism and the N-four-bar of IFToMM


def six_hinges() -> Model:
    return Model(bricard().build(), {}, joints("R1", "R3", "R5"))


def swung_bricard(times: Array) -> Array:
    return np.tile(angles_at(times)[:, None], 3)


def one_four_bar() -> Model:
    m = n_four_bar(1)
    s = m.build(guess=four_bar_angles(1, np.pi / 2))
    return Model(s, {"v": s.velocities(four_bar_angles(1, -1.0))}, joints("A0", "A1"))


def one_rocker() -> Model:
    """A single body on a hinge that moves as the rockers do: no loop, and nothing singular."""
    m = wt.Mechanism("rocker", gravity=(0, -G, 0))
    own = 0.5 / 1.2 - 0.25
    m.revolute("A", m.ground, m.body("rocker", mass=1.0, com=(0.5, 0.0, 0.0), inertia=own * np.eye(3)))
    s = m.build()
    start = {"q": s.configuration({"A": np.pi / 2}), "v": s.velocities({"A": -1.0})}
    return Model(s, start, joints("A", "A"))


def turned_four_bar(times: Array) -> Array:
    """One freedom: theta'' = k sin(theta), theta from the upward vertical; flat positions are not singular here.

    With the energy, theta'^2 = (1 + 4 k) (1 - m cos^2(theta / 2)), so that theta / 2 - 90 degrees is an amplitude.
    """
    k = 1.2 * G
    m = 4 * k / (1 + 4 * k)
    turned = np.array([amplitude(np.sqrt(1 + 4 * k) * t / 2 - quarter_period(m), m) for t in times])
    return np.tile((-np.pi / 2 - 2 * turned)[:, None], 2)


# ---------------------------------------------------------------------------------------------------------
# Random mechanisms with loops, whose bodies turn through large angles


RANDOM = (
    *(("one loop", i) for i in (0, 1)),
    *(("in a row", i) for i in (0, 1)),
    *(("coupled, one base", i) for i in (0, 1)),
    *(("coupled, other bases", i) for i in (1, 3)),
    *(("planar", i) for i in (0, 1, 4)),
    *(("overconstrained", i) for i in (0, 2, 7, 9)),
    ("floating", 0),
    ("couplings", 5),
    *(("cut joints", i) for i in (3, 5, 7)),
)
"""The first of each family in which a body turns by at least 1.5 rad within a second, and whose motion does not make
more than 30 times of a difference in its velocities."""


def drawn(family: str, i: int) -> Model:
    c = case(family, i)
    s = built(c.looped)
    names = [part.name for part in c.looped.parts]

    def seen(run: wt.Trajectory) -> Array:
        return np.concatenate([run.pose(name)[:, :3].reshape(len(run), -1) for name in names], axis=1)

    return Model(s, {"q": c.q, "v": c.v, "t0": c.looped.t}, seen)


def drawn_exact(family: str, i: int, times: Array) -> Array:
    """By `absolute_motion`; it takes half a minute, and is kept in a file."""
    c = case(family, i)
    key = hashlib.sha256(np.concatenate([c.q, c.equations.v, c.looped.gravity, times]).tobytes()).hexdigest()
    file = KEPT / f"{label(family, i)}-{key[:12]}.npy"
    if not file.is_file():
        found = motion(c.equations, c.looped.t + times)
        KEPT.mkdir(parents=True, exist_ok=True)
        np.save(file, [[stand.poses[part.name][:3] for part in c.looped.parts] for stand in found.stands])
    return np.load(file).reshape(len(times), -1)


def label(family: str, i: int) -> str:
    return f"random-{family.replace(' ', '-').replace(',', '')}-{i}"


# ---------------------------------------------------------------------------------------------------------


def problems() -> dict[str, Problem]:
    """All problems by name."""
    found = [
        Problem("pendulum", slides, swung, 10.0, 8e-3, hinge, plain=slid_by_rk4, equations=(SLIDES, HINGE)),
        Problem("top", held_top, spun, 0.75, 7.5e-4, twin=top_on_a_ball),
        Problem("ball", rolling_ball, rolled, 2.0, 8e-3),
    ]
    for degrees, name in ((0.0, "five-bar-along"), (-45.0, "five-bar-45"), (90.0, "five-bar-90")):
        angle = float(np.radians(degrees))
        found.append(Problem(name, partial(five_bar, angle), partial(slid, angle), 3.0, 4e-3))
    found += [
        Problem("bricard", six_hinges, swung_bricard, 10.0, 8e-3),
        Problem(
            "four-bar",
            one_four_bar,
            turned_four_bar,
            10.0,
            4e-3,
            twin=one_rocker,
            # at longer steps what the method that goes across takes over depends on where the steps fall
            steps={"trapezoidal": 1e-3, "generalized_alpha": 1e-3},
            natural=False,
        ),
    ]
    for key in RANDOM:
        found.append(Problem(label(*key), partial(drawn, *key), partial(drawn_exact, *key), 1.0, 4e-3))
    return {p.name: p for p in found}
