"""Drill: a body kind with own coordinates, defined here through the public contract and nothing else.

The body carries an internal mass on two slides, x and y of its frame, held by springs and dampers, and has a moving
frame on that mass. The same mechanism built from rigid bodies and prismatic joints is the exact answer: own
coordinates are the slides' coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from whippletree.elements.bodies import BodyKind, MassProperties, rigid_parts
from whippletree.elements.forces import Applied, Force, Situation

SHELL = wt.box(size=(0.6, 0.3, 0.2), mass=2.0).moved(at=(0.2, 0.05, -0.03))
INNER = MassProperties(0.7, (0.02, -0.01, 0.03), np.diag([0.004, 0.006, 0.005]))
PIVOT = (0.25, 0.1, 0.05)  # where the internal mass rests


@dataclass(frozen=True, eq=False)
class SlideSprings(Force):
    """Two linear springs with dampers, one for each slide."""

    stiffness: float
    damping: float

    def entries(self) -> tuple[float, ...]:
        return (self.stiffness, self.damping)

    @classmethod
    def of(cls, text: str, entries: tuple[float, ...]) -> Self:
        return cls(*entries)

    def act(self, seen: Situation) -> Applied:
        k, d = self.stiffness, self.damping
        efforts = -k * seen.q - d * seen.v
        return Applied((), efforts, k * ca.sumsqr(seen.q) / 2, d * ca.sumsqr(seen.v), ca.SX(0))


@dataclass(frozen=True, eq=False)
class SprungBody(BodyKind):
    """A shell with an internal mass on two slides; `ratio` turns the slides' axes about z."""

    stiffness: float
    damping: float
    turn: float

    labels = ("slide along x", "slide along y")
    frames = ("mass",)

    def entries(self) -> tuple[float, ...]:
        return (self.stiffness, self.damping, self.turn)

    @classmethod
    def of(cls, text: str, entries: tuple[float, ...]) -> Self:
        return cls(*entries)

    def pose(self, frame: str, eta: ca.SX) -> tuple[ca.SX, ca.SX]:
        c, s = ca.cos(self.turn), ca.sin(self.turn)
        R = ca.SX(ca.blockcat([[c, -s, 0], [s, c, 0], [0, 0, 1]]))
        return R, ca.SX(PIVOT) + R @ ca.vertcat(eta, 0)

    def mass_matrix(self, eta: ca.SX) -> ca.SX:
        return rigid_parts(self, eta, [(None, SHELL), ("mass", INNER)])

    def internal_force(self) -> Force:
        return SlideSprings(self.stiffness, self.damping)


KIND = SprungBody(60.0, 0.8, 0.4)


def add_body(m: wt.Mechanism, name: str, own: bool) -> str:
    """Add the body, as one body kind or as three rigid bodies; return the place on the internal mass."""
    if own:
        m.body(name, KIND)
        return f"{name}.mass"
    shell, between, inner = m.body(name, SHELL), m.body(f"{name} between"), m.body(f"{name} inner", INNER)
    R = np.array([[np.cos(0.4), -np.sin(0.4), 0], [np.sin(0.4), np.cos(0.4), 0], [0, 0, 1]])
    m.prismatic(
        f"{name} x", shell, between, pose=_pose(R @ _along("x"), PIVOT), pose_child=_pose(_along("x"), (0, 0, 0))
    )
    m.prismatic(f"{name} y", between, inner, axis="y")
    m.torsion_spring(f"{name} kx", f"{name} x", stiffness=60.0, damping=0.8)
    m.torsion_spring(f"{name} ky", f"{name} y", stiffness=60.0, damping=0.8)
    return f"{name} inner"


def _along(axis: str) -> np.ndarray:
    """Return a rotation whose z is a coordinate axis."""
    z = np.eye(3)["xyz".index(axis)]
    x = np.roll(z, 1)
    return np.column_stack([x, np.cross(z, x), z])


def _pose(R: np.ndarray, p: object) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def tree(own: bool, *, entry: str = "shell") -> wt.Mechanism:
    """Two bodies with internal masses in a chain: the second hangs on the first one's internal mass."""
    m = wt.Mechanism("chain", gravity=(0.3, -0.5, -9.81))
    base = m.body("base", wt.rod(length=0.5, mass=1.0, axis="x"))
    m.revolute("A", m.ground, base, axis=(0.1, 1.0, 0.2))
    first = add_body(m, "one", own)
    if entry == "shell":
        m.universal("B", base, "one", at=(0.5, 0, 0))
        hand = first
    else:  # the tree reaches the body at its internal mass
        m.universal("B", base, first, at=(0.5, 0, 0), at_child=(0.01, 0.02, 0.0))
        hand = "one"
    second = add_body(m, "two", own)
    m.revolute("C", hand, "two", at=(0.03, 0.02, 0.01), axis=(0.2, 0.1, 1.0))
    tip = m.body("tip", wt.box(size=(0.1, 0.3, 0.05), mass=0.4).moved(at=(0, 0.15, 0)))
    m.spherical("D", second, tip, at=(0.0, 0.01, 0.02))
    m.frame("eye", on=second, at=(0.1, 0.0, 0.05))
    m.spring("s", m.ground, second, at=(1, 1, 0), at_child=(0.01, 0, 0), stiffness=30.0, free_length=0.2, damping=0.3)
    return m


class Pair:
    """The two systems, and how their states correspond."""

    def __init__(self, make, **options: object) -> None:
        self.own, self.rigid = (make(own, **options).build() for own in (True, False))
        self.q_map, self.v_map = self._map("q_slice"), self._map("v_slice")

    def _map(self, which: str) -> np.ndarray:
        """Return for every entry of the own system's q or v the place in the rigid one's."""
        where_own, where_rigid = getattr(self.own, which), getattr(self.rigid, which)
        size = self.own.nq if which == "q_slice" else self.own.nv
        places = np.full(size, -1)
        for use in self.own.description.coordinate_owners:
            here = where_own(use.name)
            if use.name in self.own.plan.own_slices:
                there = [where_rigid(f"{use.name} {axis}").start for axis in "xy"]
            else:
                there = list(range(where_rigid(use.name).start, where_rigid(use.name).stop))
            places[here] = there
        assert sorted(places) == list(range(size))
        return places

    def state(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v and tau of the own system."""
        rng = np.random.default_rng(seed)
        return self.own.random(seed), rng.normal(size=self.own.nv), rng.normal(size=self.own.nv)

    def q(self, q: np.ndarray) -> np.ndarray:
        out = np.empty_like(q)
        out[self.q_map] = q
        return out

    def v(self, v: np.ndarray) -> np.ndarray:
        out = np.empty_like(v)
        out[self.v_map] = v
        return out


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-10) -> None:
    scale = max(1.0, float(np.abs(b).max()))
    assert np.abs(np.asarray(a) - np.asarray(b)).max() <= tolerance * scale


TREE_FORMULATIONS = ["articulated", "composite", "fully_recursive", "velocity_transformation"]


@pytest.fixture(scope="module", params=["shell", "mass"])
def chain(request: pytest.FixtureRequest) -> Pair:
    return Pair(tree, entry=request.param)


@pytest.mark.parametrize("formulation", ["auto", *TREE_FORMULATIONS])
def test_forward_dynamics_of_trees(chain: Pair, formulation: str) -> None:
    for seed in range(3):
        q, v, tau = chain.state(seed)
        a = chain.own.forward_dynamics(q, v, tau, formulation=formulation)
        close(chain.v(a), chain.rigid.forward_dynamics(chain.q(q), chain.v(v), chain.v(tau)))


# ------------------------------------------------------------------------------------------------- loops


def coordinate(own: bool, body: str, index: int) -> object:
    """Return an own coordinate of a body, or the slide that stands for it."""
    return (body, index) if own else f"{body} {'xy'[index]}"


def loop(own: bool, *, closure: str = "none") -> wt.Mechanism:
    """A loop through an internal mass, with a second such body on its coupler."""
    m = wt.Mechanism("loop", gravity=(0.1, -0.4, -9.81))
    first = add_body(m, "one", own)
    m.revolute("A", m.ground, "one", axis=(0.1, 1.0, 0.0))
    coupler = m.body("coupler", wt.box(size=(0.8, 0.1, 0.2), mass=1.5).moved(at=(0.4, 0, 0)))
    m.spherical("B", first, coupler, at=(0.02, 0.01, 0.0))
    m.universal("C", coupler, m.ground, at=(0.8, 0, 0), at_child=(1.0, 0.2, 0.1))
    second = add_body(m, "two", own)
    m.universal("D", coupler, "two", at=(0.4, 0.1, 0.0))
    m.spring("s", m.ground, second, at=(1, 1, 0), at_child=(0.01, 0, 0), stiffness=30.0, free_length=0.2, damping=0.3)
    if closure == "distance":
        m.distance("rod", m.ground, second, at=(0.5, 0.9, 0.2), at_child=(0.02, 0.0, 0.01), length=0.8)
    elif closure == "gear":
        m.gear("g", coordinate(own, "two", 0), coordinate(own, "one", 1), ratio=0.5)
    elif closure == "expression":
        slide = m.coordinate("two", 1) if own else m.coordinate("two y")
        m.closure("plane", m.position(second)[2] - 0.2 * slide)
    return m


LOOP_FORMULATIONS = [
    "tree_augmented",
    "joint_multipliers",
    "independent_coordinates",
    "constraint_embedding",
    "coordinate_reduction",
    "by_group",
    "absolute",
    "fully_recursive",
    "velocity_transformation",
]
LOOPS = [
    ("none", "B"),
    ("none", "A"),
    ("none", "C"),
    ("distance", "B"),
    ("distance", "A"),
    ("gear", "C"),
    ("expression", "B"),
]


class LoopPair(Pair):
    """The same, with states that satisfy the closures."""

    def __init__(self, closure: str, cut: str) -> None:
        self.own, self.rigid = (loop(own, closure=closure).build(cut=[cut]) for own in (True, False))
        self.q_map, self.v_map = self._map("q_slice"), self._map("v_slice")

    def state(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        q = self.own.assemble(self.own.integrate(self.own.q0, 0.2 * rng.normal(size=self.own.nv)))
        v = self.own.consistent_velocities(q, rng.normal(size=self.own.nv))
        return q, v, rng.normal(size=self.own.nv)


@pytest.fixture(scope="module", params=LOOPS, ids=lambda p: "-".join(p))
def looped(request: pytest.FixtureRequest) -> LoopPair:
    return LoopPair(*request.param)


@pytest.mark.parametrize("formulation", ["auto", *LOOP_FORMULATIONS])
def test_forward_dynamics_of_loops(looped: LoopPair, formulation: str) -> None:
    q, v, tau = looped.state(1)
    a = looped.own.forward_dynamics(q, v, tau, formulation=formulation)
    close(looped.v(a), looped.rigid.forward_dynamics(looped.q(q), looped.v(v), looped.v(tau)), 1e-9)


@pytest.mark.parametrize("formulation", LOOP_FORMULATIONS)
def test_no_formulation_of_loops_needs_a_fallback(looped: LoopPair, formulation: str) -> None:
    q, v, tau = looped.state(2)
    a = np.array(looped.own.function("forward_dynamics", formulation=formulation)(q, v, tau)).ravel()
    close(looped.v(a), looped.rigid.forward_dynamics(looped.q(q), looped.v(v), looped.v(tau)), 1e-9)
