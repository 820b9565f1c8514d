"""Drill: a body kind with own coordinates, defined here through the public contract and nothing else.

The body carries an internal mass on two slides, x and y of its frame, held by springs and dampers, and has a moving
frame on that mass. The same mechanism built from rigid bodies and prismatic joints is the exact answer: own
coordinates are the slides' coordinates.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.sampling import deep, sampled
from whippletree.elements.bodies import BodyKind, MassProperties, rigid_parts
from whippletree.elements.forces import ElementForces, ElementState, Force
from whippletree.model.io import write_text
from whippletree.system import size_policy

SHELL = wt.box(size=(0.6, 0.3, 0.2), mass=2.0).moved(at=(0.2, 0.05, -0.03))
INNER = MassProperties(0.7, (0.02, -0.01, 0.03), np.diag([0.004, 0.006, 0.005]))
PIVOT = (0.25, 0.1, 0.05)  # where the internal mass rests


@dataclass(frozen=True, eq=False)
class SlideSprings(Force):
    """Two linear springs with dampers, one for each slide."""

    stiffness: float
    damping: float

    def act(self, seen: ElementState) -> ElementForces:
        k, d = self.stiffness, self.damping
        efforts = -k * seen.q - d * seen.v
        return ElementForces((), efforts, k * ca.sumsqr(seen.q) / 2, d * ca.sumsqr(seen.v), ca.SX(0))


@dataclass(frozen=True, eq=False)
class SprungBody(BodyKind):
    """A shell with an internal mass on two slides; `ratio` turns the slides' axes about z."""

    stiffness: float
    damping: float
    turn: float

    labels = ("displacement along x", "displacement along y")
    frames = ("mass",)

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


MIXED = [
    {"formulation": "absolute"},
    {"formulation": "by_branch"},
    {"formulation": {"one": "composite"}},
    {"formulation": {"two": "embedded", "base": "composite"}},
    {"formulation": "fully_recursive", "reference": {"one": "joint", "tip": "centroid", "two": "origin"}},
    {"formulation": "fully_recursive", "reference": {"base": "centroid", "two": "joint"}},
]


@pytest.fixture(scope="module", params=["mass", *deep(["shell"])])
def chain(request: pytest.FixtureRequest) -> Pair:
    return Pair(tree, entry=request.param)


@pytest.mark.parametrize("how", MIXED, ids=str)
def test_absolute_and_mixed_forward_dynamics_of_trees(chain: Pair, how: dict[str, object]) -> None:
    q, v, tau = chain.state(7)
    a = np.array(chain.own.function("forward_dynamics", **how)(q, v, tau)).ravel()
    close(chain.v(a), chain.rigid.forward_dynamics(chain.q(q), chain.v(v), chain.v(tau)))


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
    if "distance" in closure:
        m.distance("rod", m.ground, second, at=(0.5, 0.9, 0.2), at_child=(0.02, 0.0, 0.01), length=0.8)
    if "gear" in closure:
        m.gear("g", coordinate(own, "two", 0), coordinate(own, "one", 1), ratio=0.5)
    if closure == "expression":
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
ALWAYS = [("distance and gear", "A")]
DEEP = [*(("none", cut) for cut in "ABC"), ("distance", "A"), ("distance", "B"), ("gear", "C"), ("expression", "B")]
LOOPS = [*ALWAYS, *(pytest.param(case, marks=pytest.mark.deep) for case in DEEP)]


IN_MACHINE_CODE = ("coordinate_reduction", "constraint_embedding", "absolute")
"""Formulations whose machine code runs always; CasADi's evaluator is asked for all of them."""


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

    def reference(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations of the rigid bodies."""
        return self.rigid.forward_dynamics(self.q(q), self.v(v), self.v(tau), formulation="tree_augmented")


@pytest.fixture(scope="module", params=LOOPS, ids="-".join)
def looped(request: pytest.FixtureRequest) -> LoopPair:
    return LoopPair(*request.param)


@pytest.mark.rest
@pytest.mark.parametrize("formulation", sampled(["auto", *LOOP_FORMULATIONS], lambda name: name in IN_MACHINE_CODE))
def test_forward_dynamics_of_loops(looped: LoopPair, formulation: str) -> None:
    q, v, tau = looped.state(1)
    a = looped.own.forward_dynamics(q, v, tau, formulation=formulation)
    close(looped.v(a), looped.reference(q, v, tau), 1e-9)


@pytest.mark.parametrize("formulation", LOOP_FORMULATIONS)
def test_no_formulation_of_loops_needs_a_fallback(looped: LoopPair, formulation: str) -> None:
    q, v, tau = looped.state(2)
    a = np.array(looped.own.function("forward_dynamics", formulation=formulation)(q, v, tau)).ravel()
    close(looped.v(a), looped.reference(q, v, tau), 1e-9)


# ------------------------------------------------------------------------------------------------- everything else


def places(body: str) -> tuple[str, str]:
    """Return the place on the internal mass, of the body kind and of the rigid bodies."""
    return f"{body}.mass", f"{body} inner"


def test_coordinates_follow_all_joints_and_are_found_by_the_body(chain: Pair) -> None:
    s = chain.own
    joints = sum(use.joint.nv for use in s.description.joints)
    assert s.v_slice("one") == slice(joints, joints + 2)
    assert s.v_slice("two") == slice(joints + 2, joints + 4)
    assert s.q_slice("two").stop == s.nq
    with pytest.raises(wt.ModelError, match="there is no joint"):
        s.q_slice("three")


@pytest.mark.deep  # tests/flexible has the like of it for modal bodies
def test_kinematics(chain: Pair) -> None:
    q, v, a = chain.state(4)
    own, rigid, q_r, v_r, a_r = chain.own, chain.rigid, chain.q(q), chain.v(v), chain.v(a)
    for here, there in (("one", "one"), places("one"), ("two", "two"), places("two"), ("eye", "eye"), ("tip", "tip")):
        close(own.pose(q, here), rigid.pose(q_r, there))
        close(own.velocity(q, v, here), rigid.velocity(q_r, v_r, there))
        close(own.acceleration(q, v, a, here), rigid.acceleration(q_r, v_r, a_r, there))
        close(own.jacobian(q, here), rigid.jacobian(q_r, there)[:, chain.v_map])
    close(own.momentum(q, v), rigid.momentum(q_r, v_r))
    close(own.center_of_mass(q), rigid.center_of_mass(q_r))
    for here, there in zip(own.energy(q, v), rigid.energy(q_r, v_r), strict=True):
        close(here, there)


@pytest.mark.deep  # tests/flexible has the like of it for modal bodies
def test_mass_matrix_inverse_dynamics_and_derivatives(chain: Pair) -> None:
    q, v, a = chain.state(5)
    own, rigid, q_r, v_r, a_r = chain.own, chain.rigid, chain.q(q), chain.v(v), chain.v(a)
    both = np.ix_(chain.v_map, chain.v_map)
    close(own.mass_matrix(q), rigid.mass_matrix(q_r)[both])
    close(chain.v(own.inverse_dynamics(q, v, a)), rigid.inverse_dynamics(q_r, v_r, a_r))
    close(chain.v(own.bias_force(q, v)), rigid.bias_force(q_r, v_r))
    for here, there in zip(
        own.inverse_dynamics_derivatives(q, v, a), rigid.inverse_dynamics_derivatives(q_r, v_r, a_r), strict=True
    ):
        close(here, np.asarray(there)[both])


def test_wrenches_and_reactions(chain: Pair) -> None:
    q, v, tau = chain.state(6)
    w = np.array([0.3, -0.2, 0.5, 1.0, -2.0, 0.7])
    here = chain.own.forward_dynamics(q, v, tau, wrenches={"two.mass": w, "one": -w})
    there = chain.rigid.forward_dynamics(chain.q(q), chain.v(v), chain.v(tau), wrenches={"two inner": w, "one": -w})
    close(chain.v(here), there)
    of_own = chain.own.reactions(q, v, tau)
    of_rigid = chain.rigid.reactions(chain.q(q), chain.v(v), chain.v(tau))
    for joint in "ABCD":
        close(of_own[joint].wrench, of_rigid[joint].wrench, 1e-9)


def test_reactions_and_mobility_of_loops(looped: LoopPair) -> None:
    q, v, tau = looped.state(3)
    of_own = looped.own.reactions(q, v, tau)
    of_rigid = looped.rigid.reactions(looped.q(q), looped.v(v), looped.v(tau))
    for joint in "ABCD":
        close(of_own[joint].wrench, of_rigid[joint].wrench, 1e-8)
    assert looped.own.mobility.mobility == looped.rigid.mobility.mobility
    assert looped.own.mobility.own_coordinates == 4
    assert looped.rigid.mobility.own_coordinates == 0
    assert "own coordinates" in str(looped.own.mobility)


def test_a_weld_on_a_moving_frame_moves_with_it() -> None:
    def make(own: bool) -> wt.Mechanism:
        m = wt.Mechanism("weld")
        inner = add_body(m, "one", own)
        m.revolute("A", m.ground, "one", axis="y")
        m.fixed("weld", inner, m.body("block", wt.box(size=(0.1, 0.2, 0.1), mass=0.5)), at=(0.05, 0.0, 0.02))
        return m

    pair = Pair(make)
    q, v, tau = pair.state(0)
    a = pair.own.forward_dynamics(q, v, tau)
    close(pair.v(a), pair.rigid.forward_dynamics(pair.q(q), pair.v(v), pair.v(tau)))
    close(pair.own.reactions(q, v)["weld"].wrench, pair.rigid.reactions(pair.q(q), pair.v(v))["weld"].wrench)
    close(pair.own.pose(q, "block"), pair.rigid.pose(pair.q(q), "block"))


@pytest.mark.parametrize("method", ["dop853", *deep(["trapezoidal"])])
def test_simulation_of_a_tree(chain: Pair, method: str) -> None:
    q, v, _ = chain.state(7)
    options = {"step": 1e-3} if method == "trapezoidal" else {"tolerance": 1e-11}
    here = chain.own.simulate(0.2, q=q, v=0.3 * v, method=method, **options)
    there = chain.rigid.simulate(0.2, q=chain.q(q), v=chain.v(0.3 * v), method=method, **options)
    close(chain.v(here.v[-1]), there.v[-1], 1e-8)
    assert here.certificate.ok == there.certificate.ok
    assert here.certificate.ok or method == "trapezoidal"  # whose step is too long for the energy's tolerance


@pytest.mark.deep  # tests/flexible has the like of it for modal bodies
def test_simulation_of_a_loop() -> None:
    pair = LoopPair("distance", "B")
    q, v, _ = pair.state(8)
    here = pair.own.simulate(0.3, q=q, v=0.3 * v, tolerance=1e-11)
    there = pair.rigid.simulate(0.3, q=pair.q(q), v=pair.v(0.3 * v), tolerance=1e-11)
    close(pair.v(here.v[-1]), there.v[-1], 1e-7)
    assert here.certificate.ok


def test_pickled_and_described(chain: Pair) -> None:
    q, v, tau = chain.state(9)
    again = pickle.loads(pickle.dumps(chain.own))
    close(again.forward_dynamics(q, v, tau), chain.own.forward_dynamics(q, v, tau), 0.0)
    assert again.description == chain.own.description
    other = wt.Mechanism("chain", gravity=(0.3, -0.5, -9.81))
    other.body("one", SprungBody(61.0, 0.8, 0.4))
    assert other.describe().fingerprint() != chain.own.description.fingerprint()


def test_what_is_wrong_is_said() -> None:
    m = wt.Mechanism("m")
    m.body("one", KIND)
    with pytest.raises(wt.ModelError, match='body "one" has no moving frame "tip"; it has "mass"'):
        m.revolute("A", "one", m.body("b"), at="tip")
    with pytest.raises(wt.ModelError, match="give a point"):
        m.revolute("A", "b", "one", at="tip")
    with pytest.raises(wt.ModelError, match="own coordinates"):
        m.revolute("one", m.ground, "one")
    with pytest.raises(wt.ModelError, match="two different bodies"):
        m.revolute("A", "one", "one.mass")
    with pytest.raises(wt.ModelError):
        m.body("one.mass")
    with pytest.raises(wt.FileError, match='body "one" is a SprungBody'):
        write_text(m)


# ------------------------------------------------------------------------------------------------- rolled form


REDUCTION = "coordinate_reduction"


def rolls(s: wt.System, function: str, formulation: str = "auto") -> bool:
    return s.kernels.equations.rolls(s.kernels.request(function, formulation=formulation))


def long_chain(own: bool, *, n: int = 60, prescribed: bool = False) -> wt.Mechanism:
    """A chain of bodies with internal masses, each hanging on the internal mass of the one before.

    Every third is reached at its internal mass; there are rigid bodies at the tip and on the side.
    """
    m = wt.Mechanism("long chain", gravity=(0.1, -0.2, -9.81))
    hand = "ground"
    for k in range(n):
        place = add_body(m, f"b{k}", own)
        if k % 3 == 2:
            m.universal(f"j{k}", hand, place, at=(0.03, 0.02, 0.01), at_child=(0.0, 0.01, 0.02))
        else:
            driven = prescribed and k == 1
            m.revolute(f"j{k}", hand, f"b{k}", at=(0.03, 0.02, 0.01), axis="xyz"[k % 3], prescribed=driven)
        hand = f"b{k}" if k % 6 == 2 else place
    m.spherical("tip joint", hand, m.body("tip", wt.box(size=(0.1, 0.3, 0.05), mass=0.4)), at=(0.0, 0.01, 0.02))
    m.revolute("side joint", "b2", m.body("side", wt.rod(length=0.2, mass=0.3)), at=(0.1, 0, 0), axis=(1, 2, 3))
    m.spring("s", m.ground, hand, at=(1, 1, 0), at_child=(0.01, 0, 0), stiffness=30.0, free_length=0.2, damping=0.3)
    return m


def everything(s: wt.System, mass: str, q: np.ndarray, v: np.ndarray, tau: np.ndarray, a: np.ndarray) -> dict:
    """Results by their kind: vectors along v, matrices, and others; `mass` is the place of an internal mass."""
    given = a if s.description.joints[1].prescribed else None
    wrench = {mass: np.arange(1.0, 7.0), "tip": np.arange(6.0)}
    vectors = {
        "inverse": s.inverse_dynamics(q, v, a, wrenches=wrench),
        "bias": s.bias_force(q, v),
        "driving": s.driving_forces(q, v, tau, a=given, formulation="articulated"),
    }
    names = [f"j{k}" for k in range(3)] + ["tip joint", "side joint"]
    others = {
        "energy": np.array(s.energy(q, v)),
        "momentum": s.momentum(q, v),
        "center": s.center_of_mass(q),
        "pose": s.pose(q, mass),
        "velocity": s.velocity(q, v, mass),
        "acceleration": s.acceleration(q, v, a, mass),
    }
    vectors["fully recursive"] = s.forward_dynamics(q, v, tau, a=given, formulation="fully_recursive")
    for one in ("articulated", "composite"):
        vectors[one] = s.forward_dynamics(q, v, tau, a=given, formulation=one, wrenches=wrench)
        found = s.reactions(q, v, tau, a=given, formulation=one)
        others[f"reactions, {one}"] = np.array([found[name].wrench for name in names])
    return {"vectors": vectors, "matrices": {"mass": s.mass_matrix(q)}, "others": others}


@dataclass(frozen=True, eq=False)
class Slider(SprungBody):
    """The same with one slide only."""

    labels = ("displacement along x",)

    def pose(self, frame: str, eta: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX.eye(3), ca.SX(PIVOT) + ca.vertcat(eta, 0.2 * eta**2, 0)


FUNCTIONS = ["forward_dynamics", "reactions", "driving_forces"]  # by a formulation that is named
FUNCTIONS += ["inverse_dynamics", "bias_force", "mass_matrix", "energy", "momentum", "center_of_mass", "hinge_inertias"]


@pytest.mark.deep
@pytest.mark.parametrize("prescribed", [True, False])
def test_loops_over_nodes_give_what_the_straight_line_gives(prescribed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for least in (1, 10**9):
        monkeypatch.setattr(size_policy, "ROLL_FROM", least)
        m = long_chain(True, n=3, prescribed=prescribed)
        m.body("slider", Slider(40.0, 0.5, 0.0))
        m.revolute("slider joint", "b1.mass", "slider", at=(0.1, 0.0, 0.02), axis="z")
        m.revolute("load joint", "slider.mass", m.body("load", wt.rod(length=0.3, mass=0.2)), axis="y")
        s = m.build()
        assert all(
            rolls(s, function, "articulated" if i < 3 else "auto") == (least == 1)
            for i, function in enumerate(FUNCTIONS)
        )
        assert rolls(s, "forward_dynamics", "composite") == (least == 1)
        v, tau, a = np.random.default_rng(3).normal(size=(3, s.nv))
        found.append(everything(s, "b2.mass", s.random(3), v, tau, a))
    for kind, results in found[1].items():
        for name, straight in results.items():
            close(found[0][kind][name], straight, 1e-11)


@pytest.mark.deep
def test_rolled_functions_of_a_long_chain() -> None:
    pair = Pair(long_chain)
    for i, function in enumerate(FUNCTIONS):
        assert rolls(pair.own, function, "articulated" if i < 3 else "auto")
    q, v, tau = pair.state(1)
    a = np.random.default_rng(2).normal(size=pair.own.nv)
    here = everything(pair.own, "b59.mass", q, v, tau, a)
    there = everything(pair.rigid, "b59 inner", pair.q(q), pair.v(v), pair.v(tau), pair.v(a))
    for name, vector in there["vectors"].items():
        close(pair.v(here["vectors"][name]), vector, 1e-9)
    for name, matrix in there["matrices"].items():
        close(here["matrices"][name], matrix[np.ix_(pair.v_map, pair.v_map)])
    for name, other in there["others"].items():
        close(here["others"][name], other, 1e-9)


@pytest.mark.rest
@pytest.mark.parametrize("cut", ["A", *deep(["B", "C"])])
def test_loops_over_items_give_what_the_straight_line_gives(cut: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrench, found = {"two.mass": np.arange(1.0, 7.0)}, []
    for least in (10**9, 1):
        monkeypatch.setattr(size_policy, "ROLL_FROM", least)
        monkeypatch.setattr(size_policy, "STRAIGHT", 0)
        s = loop(True).build(cut=[cut])
        assert rolls(s, "forward_dynamics", REDUCTION) == (least == 1)
        q, v, tau = LoopPair.state(SimpleNamespace(own=s), 1)
        found.append(s.forward_dynamics(q, v, tau, formulation=REDUCTION, wrenches=wrench))
        with pytest.raises(wt.StateError, match="velocities"):
            s.forward_dynamics(q, v + np.arange(s.nv), formulation=REDUCTION)
    close(found[1], found[0])


def rockers(own: bool, *, n: int = 34) -> wt.Mechanism:
    """Rockers with internal masses on the ground, and couplers between these masses; every third stands on its mass."""
    m = wt.Mechanism("rockers", gravity=(0.1, -0.4, -9.81))
    before = ""
    for i in range(n + 1):
        hand, foot = add_body(m, f"b{i}", own), (0.8 * i, 0.0, 0.0)
        if i % 3 == 2:
            m.revolute(f"foot {i}", m.ground, hand, at=foot, at_child=(-0.3, 0.1, 0.0), axis=(0.1, 1.0, 0.2))
            hand = f"b{i}"
        else:
            m.revolute(f"foot {i}", m.ground, f"b{i}", at=foot, axis=(0.1, 1.0, 0.0))
        if before:
            coupler = m.body(f"coupler {i}", wt.box(size=(0.8, 0.1, 0.2), mass=1.5).moved(at=(0.4, 0, 0)))
            m.spherical(f"head {i}", before, coupler, at=(0.02, 0.01, 0.0))
            m.universal(f"tail {i}", coupler, hand, at=(0.8, 0, 0), at_child=(0.03, 0.02, 0.01))
        before = hand
    return m


class RockerPair(LoopPair):
    """The two systems of many loops."""

    def __init__(self, n: int = 34) -> None:
        cut = [f"tail {i + 1}" for i in range(n)]
        self.own, self.rigid = (rockers(own, n=n).build(cut=cut) for own in (True, False))
        self.q_map, self.v_map = self._map("q_slice"), self._map("v_slice")


@pytest.mark.deep
def test_many_loops_are_reduced_item_by_item(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = RockerPair()
    assert pair.own.chosen.name == REDUCTION  # the others are not even traced
    assert rolls(pair.own, "forward_dynamics", REDUCTION)
    assert pair.own.mobility.mobility == pair.rigid.mobility.mobility
    q, v, tau = pair.state(1)
    wrench = np.arange(1.0, 7.0)
    a = pair.own.forward_dynamics(q, v, tau, wrenches={"b20.mass": wrench})
    q_r, v_r = pair.q(q), pair.v(v)
    close(pair.v(a), pair.rigid.forward_dynamics(q_r, v_r, pair.v(tau), wrenches={"b20 inner": wrench}))
    close(pair.v(pair.own.bias_force(q, v)), pair.rigid.bias_force(q_r, v_r))
    close(pair.own.mass_matrix(q), pair.rigid.mass_matrix(q_r)[np.ix_(pair.v_map, pair.v_map)])
    close(np.array(pair.own.energy(q, v)), np.array(pair.rigid.energy(q_r, v_r)))
    with pytest.raises(wt.StateError, match="open"):
        pair.own.forward_dynamics(pair.own.integrate(q, 0.01 * np.arange(pair.own.nv)), v)
    free = pair.own.forward_dynamics(q, v, tau)
    monkeypatch.setattr(size_policy, "ROLL_FROM", 10**9)
    line = rockers(True).build(cut=[f"tail {i + 1}" for i in range(34)])
    close(free, np.array(line.function("forward_dynamics", formulation=REDUCTION)(q, v, tau)).ravel())


@pytest.mark.deep
def test_kinds_of_items_do_not_grow_with_the_number_of_loops() -> None:
    kinds = []
    for n in (33, 36):
        s = rockers(True, n=n).build(cut=[f"tail {i + 1}" for i in range(n)])
        (loop,) = s.kernels.equations.roll(s.kernels.request("forward_dynamics", formulation=REDUCTION)).steps
        kinds.append(len(loop.variants))
    assert kinds[0] == kinds[1]


# ------------------------------------------------------------------------------------------------- borders


def odd(**methods: object) -> SprungBody:
    """Return a body of a type that says something wrong of itself."""
    made: SprungBody = dataclass(frozen=True, eq=False)(type("Odd", (SprungBody,), methods))(60.0, 0.8, 0.4)
    return made


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (SprungBody(float("nan"), 0.8, 0.4), "stiffness must be finite"),
        (SprungBody("x", 0.8, 0.4), "stiffness must be a number"),  # type: ignore[arg-type]
        (odd(rate_labels=()), "a label for each own coordinate"),
        (odd(frames=("mass", "mass")), "names that differ"),
        (odd(frames=("",)), "names that differ"),
        (odd(pose=lambda self, frame, eta: (ca.SX.eye(2), ca.SX.zeros(3))), r"shape \(3, 3\), but it is \(2, 2\)"),
        (odd(pose=lambda self, frame, eta: (2 * ca.SX.eye(3), ca.SX.zeros(3))), "no rotation"),
        (odd(pose=lambda self, frame, eta: (ca.SX.eye(3), ca.SX.sym("p", 3))), "no own coordinate and no parameter"),
        (odd(mass_matrix=lambda self, eta: ca.SX.eye(7)), r"shape \(8, 8\), but it is \(7, 7\)"),
        (odd(mass_matrix=lambda self, eta: ca.SX(np.triu(np.ones((8, 8))))), "not symmetric"),
        (odd(mass_matrix=lambda self, eta: ca.diag(ca.SX([1, 1, 1, 1, 2, 1, 1, 1]))), "mass and first moment"),
        (odd(mass_matrix=lambda self, eta: -ca.SX.eye(8)), "negative kinetic energy"),
        (odd(mass_matrix=lambda self, eta: ca.SX.eye(8) / 0), "not finite"),
    ],
)
def test_what_a_kind_says_wrong_of_itself_is_named(kind: SprungBody, words: str) -> None:
    m = wt.Mechanism("m")
    with pytest.raises(wt.ModelError, match=f'body "one".*{words}'):
        m.body("one", kind)
    m.body("one", KIND)  # nothing of the refused one is left


def test_parameters_in_a_body_kind() -> None:
    m = wt.Mechanism("m")
    m.body("one", SprungBody(m.parameter("k", 60.0), 0.8, m.parameter("turn", 0.1)))
    m.revolute("A", m.ground, "one", axis="y")
    plain = wt.Mechanism("m")
    plain.body("one", SprungBody(75.0, 0.8, 0.4))
    plain.revolute("A", plain.ground, "one", axis="y")
    q, v = [0.3, 0.02, -0.05], [0.5, -0.2, 0.1]
    close(m.build().forward_dynamics(q, v, parameters={"k": 75.0, "turn": 0.4}), plain.build().forward_dynamics(q, v))
