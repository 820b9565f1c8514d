"""Described forces in the equations: closed forms, every formulation, trees and loops, energy and momentum."""

from __future__ import annotations

import functools
import math
import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.formulations import BASIC
from support.loop_models import where
from support.measures import relative
from support.random_forces import as_given, energy_rate, load_up, loaded, without_forces
from support.random_loops import case
from support.random_trees import random_mechanism
from support.references import rk4
from support.sampling import deep

Array = np.ndarray

TREE = ("articulated", "composite")
LOOPS = (
    ("overconstrained", 1),
    ("cut joints", 1),
    *deep(
        [
            ("one loop", 1),
            ("coupled, one base", 1),
            ("coupled, other bases", 0),
            ("couplings", 1),
            ("floating", 1),
            ("cut joints", 4),
            ("rods", 1),
        ]
    ),
)
T = 0.6


# ------------------------------------------------------------------ closed forms


def block(**gravity: Any) -> tuple[wt.Mechanism, Any]:
    m = wt.Mechanism("block", **gravity)
    body = m.body("block", mass=2.0)
    m.prismatic("slide", m.ground, body, axis="x")
    return m, body


def test_an_oscillator():
    m, body = block()
    m.spring("spring", m.ground, body, at=(-1, 0, 0), stiffness=50.0, free_length=0.8, damping=3.0)
    s = m.build()
    for x, v in ((-0.2, 0.0), (0.1, 0.0), (0.0, -2.0), (0.4, 1.0)):
        assert s.forward_dynamics([x], [v])[0] == pytest.approx(-(50 * (x + 0.2) + 3 * v) / 2, rel=1e-13)
    # frequency and decay from the linear map of the state
    A = np.array([[0.0, 1.0], [(s.forward_dynamics([1e-3], [0.0]) - s.forward_dynamics([0.0], [0.0]))[0] * 1e3, -1.5]])
    assert np.linalg.eigvals(A).imag.max() == pytest.approx(math.sqrt(25 - 0.75**2))
    assert s.energy([0.3], [2.0]).potential == pytest.approx(25 * 0.25)
    powers = s.powers([0.3], [2.0])
    assert (powers.stored, powers.dissipated, powers.supplied) == pytest.approx((25 * 0.25, 12.0, 0.0))


def test_a_torsion_pendulum():
    m = wt.Mechanism("torsion pendulum")
    disc = m.body("disc", mass=1.0, inertia=np.diag([0.2, 0.2, 0.25]))
    m.revolute("wire", m.ground, disc, axis="z")
    m.torsion_spring("twist", "wire", stiffness=4.0, rest=0.1, damping=0.2)
    s = m.build()
    assert s.forward_dynamics([0.6], [0.5])[0] == pytest.approx(-(4 * 0.5 + 0.2 * 0.5) / 0.25)
    assert s.inverse_dynamics([0.6], [0.5], [1.0])[0] == pytest.approx(0.25 + 4 * 0.5 + 0.2 * 0.5)
    assert s.bias_force([0.6], [0.5])[0] == pytest.approx(4 * 0.5 + 0.2 * 0.5)
    # the joint's wrench has the spring's moment in it
    assert s.reactions([0.6], [0.5])["wire"].moment[2] == pytest.approx(-(4 * 0.5 + 0.2 * 0.5))


def test_a_bushing_is_its_matrix():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    K = root @ root.T
    m = wt.Mechanism("mount", gravity=(0, 0, 0))
    M = np.diag([0.3, 0.4, 0.5, 2.0, 2.0, 2.0])
    m.free("flight", m.ground, m.body("engine", mass=2.0, inertia=np.diag([0.3, 0.4, 0.5])))
    m.bushing("mount", m.ground, "engine", stiffness=K)
    s = m.build()
    columns = []
    for i in range(6):
        ahead, back = (s.integrate(s.configuration(), h * np.eye(6)[i]) for h in (1e-5, -1e-5))
        columns.append((s.forward_dynamics(ahead, np.zeros(6)) - s.forward_dynamics(back, np.zeros(6))) / 2e-5)
    found = M @ np.array(columns).T
    assert found == pytest.approx(-K, abs=1e-8)


def test_a_ball_rests_where_its_weight_is_carried():
    m = wt.Mechanism("ball")
    m.free("flight", m.ground, m.body("ball", wt.sphere(0.2, mass=3.0)))
    m.contact("ground", "ball", radius=0.2, stiffness=1e4, damping=50.0, friction=0.5, width=1e-3)
    s = m.build()
    depth = 3 * 9.81 / 1e4 + 0.5e-3
    q = s.configuration()
    q[6] = 0.2 - depth
    assert s.forward_dynamics(q, np.zeros(6)) == pytest.approx(np.zeros(6), abs=1e-9)
    q[6] = 0.2001
    assert s.forward_dynamics(q, np.zeros(6)) == pytest.approx([0, 0, 0, 0, 0, -9.81])
    # sliding, it is braked by friction, and turned by it
    q[6] = 0.2 - depth
    a = s.forward_dynamics(q, [0, 0, 0, 2.0, 0, 0])
    drag = 0.5 * 9.81 * 2 / math.hypot(2, 0.01)
    assert a[3] == pytest.approx(-drag, rel=1e-9) and a[1] == pytest.approx(drag / (0.4 * 0.2), rel=1e-9)


def test_a_lag_approaches_its_input_exponentially():
    m, _ = block()
    u = m.parameter("u", 3.0)
    z = m.state("force", 0.5, rate=lambda z: (u - z) / 0.2)
    m.actuator("motor", "slide", effort=z)
    s = m.build()
    assert (s.kernels.elements.names, s.nz, s.z0.tolist()) == (("force",), 1, [0.5])
    state = rk4(lambda z: s.state_rates([0.0], [0.0], z=z), s.z0, duration=1.0, steps=100)
    assert state[0] == pytest.approx(3 - 2.5 * math.exp(-1.0 / 0.2), rel=1e-8)
    assert s.forward_dynamics([0.0], [0.0], z=state)[0] == pytest.approx(state[0] / 2)
    assert s.forward_dynamics([0.0], [0.0])[0] == pytest.approx(0.25)  # z0
    assert s.state_rates([0.0], [0.0], parameters={"u": 1.0})[0] == pytest.approx(2.5)


def test_a_spring_of_no_length_in_a_mechanism():
    m, body = block()
    m.spring("spring", m.ground, body, stiffness=50.0, free_length=0.3, damping=1.0)
    s = m.build()
    assert s.forward_dynamics([0.0], [1.0])[0] == 0.0
    assert s.forward_dynamics([1e-4], [0.0])[0] == pytest.approx(50 * (0.3 - 1e-4) / 2, rel=1e-9)


# ------------------------------------------------------------------ random mechanisms with everything


def tree(seed: int, **options: Any) -> tuple[wt.Mechanism, wt.System]:
    m = random_mechanism(seed, 4, **options)
    load_up(m, np.random.default_rng(seed))
    return m, m.build()


def tree_state(s: wt.System, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, 7])
    return {"q": s.random(rng), "v": rng.normal(size=s.nv), "tau": rng.normal(size=s.nv), "z": rng.normal(size=s.nz)}


@functools.cache
def loop(family: str, i: int) -> tuple[wt.System, wt.System, dict[str, list[str]], dict[str, Any]]:
    """A mechanism with loops and everything on it, its twin without forces, the twin's frames, and a state."""
    c = case(family, i)
    rng = np.random.default_rng([3, i])
    m, options = loaded(c.looped, rng), where(c.looped)
    s = m.build(**options)
    bare, names = without_forces(m.describe())
    state = {"q": c.q, "v": c.v, "tau": rng.normal(size=s.nv), "z": rng.normal(size=s.nz)}
    return s, wt.System(bare, **options), names, state


def computed(s: wt.System, name: str, formulation: str, state: dict[str, Any], wrenches: Any = None) -> Array:
    """A function's value by CasADi's evaluator, which needs no compilation."""
    function = s.function(name, formulation=formulation, wrenches=list(wrenches or ()))
    labels = {"wrench_on_" + "".join(c if c.isalnum() else "_" for c in key): w for key, w in (wrenches or {}).items()}
    given = {**state, "t": T, "parameters": s.description.parameter_values, **labels}
    return np.array(function(*(given[key] for key in function.name_in()))).ravel()


@pytest.mark.parametrize("seed", [0, 1, *deep(range(2, 6))])
def test_energy_is_balanced_on_trees(seed):
    _, s = tree(seed)
    x = tree_state(s, seed)
    a = s.forward_dynamics(**x, t=T)
    powers = s.powers(x["q"], x["v"], z=x["z"], t=T)
    assert energy_rate(s, x["q"], x["v"], a, T) == pytest.approx(powers.net + x["tau"] @ x["v"], rel=1e-11)
    assert powers.dissipated > 0 and abs(powers.supplied) > 0 and powers.stored > 0


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), LOOPS)
def test_energy_is_balanced_on_loops(family, i):
    s, _, _, x = loop(family, i)
    powers = s.powers(x["q"], x["v"], z=x["z"], t=T)
    for formulation in BASIC:
        a = computed(s, "forward_dynamics", formulation, x)
        change = energy_rate(s, x["q"], x["v"], a, T)
        assert change == pytest.approx(powers.net + x["tau"] @ x["v"], rel=1e-8, abs=1e-8), formulation


@pytest.mark.parametrize("seed", [0, *deep(range(1, 4))])
def test_forces_are_wrenches_and_efforts_on_trees(seed):
    m, s = tree(seed, prescribed=0.3)
    bare, names = without_forces(m.describe())
    twin = wt.System(bare)
    x = {**tree_state(s, seed), "a": np.random.default_rng(seed).normal(size=s.nv)}
    more, wrenches = as_given(s, names, x["q"], x["v"], z=x["z"], t=T)
    assert np.abs(more).max() > 0.1 and len(wrenches) > 10
    loads = {**x, "tau": x["tau"] + more}
    for name in ("inverse_dynamics", "bias_force"):
        expected = computed(twin, name, "composite", loads, wrenches) - more
        assert relative(computed(s, name, "composite", x)[None], expected[None]) < 1e-12
    given = np.array([use.prescribed for use in m.describe().joints for _ in range(use.joint.nv)])
    drives = [computed(s, "driving_forces", formulation, x) for formulation in TREE]
    assert drives[0] == pytest.approx(drives[1], rel=1e-10, abs=1e-10 * np.abs(drives[0]).max())
    for formulation in TREE:
        for name in ("forward_dynamics", "reactions"):
            expected = computed(twin, name, formulation, loads, wrenches)
            assert np.abs(computed(s, name, formulation, x) - expected).max() < 1e-11 * np.abs(expected).max(), name
        efforts = computed(s, "driving_forces", formulation, x)
        expected = computed(twin, "driving_forces", formulation, loads, wrenches) - more
        assert (efforts[~given] == x["tau"][~given]).all()
        assert efforts == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), LOOPS)
def test_forces_are_wrenches_and_efforts_on_loops(family, i):
    s, twin, names, x = loop(family, i)
    q, v, tau = x["q"], x["v"], x["tau"]
    more, wrenches = as_given(s, names, q, v, z=x["z"], t=T)
    assert np.abs(more).max() > 0.1 and len(wrenches) > 10
    loads = {"q": q, "v": v, "tau": tau + more}
    expected = computed(twin, "forward_dynamics", "absolute", loads, wrenches)
    for formulation in (*BASIC, "penalty"):
        found = computed(s, "forward_dynamics", formulation, x)
        assert relative(found[None], expected[None]) < (1e-4 if formulation == "penalty" else 1e-8), formulation
    found = computed(s, "reactions", "tree_augmented", x)
    reactions = computed(twin, "reactions", "tree_augmented", loads, wrenches)
    size = np.abs(reactions).max()
    assert np.abs(found - reactions).max() < 1e-8 * size
    efforts = computed(s, "closure_efforts", "tree_augmented", x)
    assert efforts == pytest.approx(
        computed(twin, "closure_efforts", "tree_augmented", loads, wrenches), abs=1e-8 * size
    )
    # efforts that hold the motion: the difference of any two sets does no work
    E = s.kernels.closures.motion_basis(q)
    held = s.inverse_dynamics(q, v, expected, z=x["z"], t=T, check=False)
    assert E.T @ held == pytest.approx(E.T @ tau, abs=1e-7 * np.abs(tau).max() * (1 + np.abs(expected).max()))
    # the solution of single states by singular values has the forces in it too
    state = {"q": q, "v": v, "tau": tau, "z": x["z"], "t": np.array([T])}
    assert relative(s._engine.loops.fallback.accelerations(state)[None], expected[None]) < 1e-7


@pytest.mark.rest
def test_machine_code_of_a_loop_with_forces():
    s, _, _, x = loop("one loop", 1)
    a = s.forward_dynamics(**x, t=T, formulation="tree_augmented")
    assert a == pytest.approx(computed(s, "forward_dynamics", "tree_augmented", x), rel=1e-10)
    found = s.reactions(**x, t=T, formulation="tree_augmented").wrenches.ravel()
    assert found == pytest.approx(computed(s, "reactions", "tree_augmented", x), rel=1e-9, abs=1e-9)


def test_internal_forces_do_not_change_momentum():
    m = wt.Mechanism("in space", gravity=(0, 0, 0))
    for name in "abc":
        m.free(f"flight of {name}", m.ground, m.body(name, wt.box((0.3, 0.2, 0.1), mass=1.0, at=(0.1, 0.2, 0.0))))
    m.spring("spring", "a", "b", at=(0.1, 0, 0), at_child=(0, 0.3, 0), stiffness=10, free_length=0.5, damping=2)
    m.spring("law", "b", "c", law=lambda x, rate: x**3 + rate, at=(0, 0, 1))
    m.bushing("bushing", "a", "c", stiffness=(1, 2, 3, 4, 5, 6), damping=(1, 2, 3, 4, 5, 6), at=(0.3, 0, 0))
    s = m.build()
    rng = np.random.default_rng(0)
    momentum = s.function("momentum")
    q, v = ca.SX.sym("q", s.nq), ca.SX.sym("v", s.nv)
    for k in range(5):
        state = s.random(k), rng.normal(size=s.nv)
        a = s.forward_dynamics(*state)
        assert np.abs(a).max() > 1.0
        flow = s.coordinate_rates(*state)
        change = ca.jtimes(momentum(q, v), q, ca.SX(ca.DM(flow))) + ca.jtimes(momentum(q, v), v, ca.SX(ca.DM(a)))
        assert np.abs(np.array(ca.Function("f", [q, v], [change])(*state))).max() < 1e-12 * np.abs(a).max()


# ------------------------------------------------------------------ prescribed joints, cut or not


@pytest.mark.parametrize("cut", ["A", *deep(["D"])])
def test_a_drive_carries_what_springs_do_not(cut):
    def four_bar(stiffness: float) -> wt.System:
        m = wt.Mechanism("four-bar")
        for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.5)):
            m.body(name, wt.rod(length=length, mass=length, axis="x"))
        m.revolute("A", m.ground, "crank", axis="y", prescribed=True)
        m.revolute("B", "crank", "coupler", at=(1, 0, 0), axis="y")
        m.revolute("C", "coupler", "rocker", at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
        m.revolute("D", m.ground, "rocker", at=(2, 0, 0), axis="y")
        m.torsion_spring("on the crank", "A", stiffness=stiffness, rest=0.3)
        m.torsion_spring("on the rocker", "D", stiffness=stiffness)
        return m.build(guess={"A": 1.0}, cut=[cut])

    plain, sprung = four_bar(0.0), four_bar(7.0)
    q = plain.q0
    v = plain.consistent_velocities(q, {"A": 1.5}, hold=["A"])
    A, D = plain.v_slice("A"), plain.v_slice("D")
    tau = np.array([0.1, 0.2, 0.3, 0.4])
    for formulation in BASIC:
        options = {"a": {"A": 2.0}, "formulation": formulation}
        without = plain.driving_forces(q, v, tau, **options)
        found = sprung.driving_forces(q, v, tau, **options)
        # power: the drive gives what both springs take in
        taken = 7 * (q[plain.q_slice("A")] - 0.3) * v[A] + 7 * q[plain.q_slice("D")] * v[D]
        assert (found[A] - without[A]) * v[A] == pytest.approx(taken, rel=1e-9)
        assert found[1:] == pytest.approx(tau[1:], abs=0)
        same = sprung.reactions(q, v, tau, **options)["A"].wrench
        other = plain.reactions(q, v, tau, **options)["A"].wrench
        assert np.isfinite(same).all() and not np.allclose(same, other)
    state = {"q": q, "v": v, "tau": tau, "a": plain.velocities({"A": 2.0})}
    dense = sprung._engine.loops.fallback.answer(sprung._engine.resolved(_request("driving_forces")), state)
    assert dense == pytest.approx(found, rel=1e-9)


def _request(name: str) -> Any:
    from whippletree.system.equations import Request

    return Request(name)


# ------------------------------------------------------------------ calls


def test_batches_and_machine_code_agree_with_the_evaluator():
    _, s = tree(1)
    rng = np.random.default_rng(0)
    n = 11
    q = np.array([s.random(rng) for _ in range(n)])
    v, tau, z = (rng.normal(size=(n, k)) for k in (s.nv, s.nv, s.nz))
    t = rng.uniform(0, 2, (n, 1))
    for name, call in (
        ("forward_dynamics", s.forward_dynamics),
        ("state_rates", s.state_rates),
        ("powers", lambda q, v, tau, **k: np.stack(s.powers(q, v, **k), axis=-1)),
    ):
        many = call(q, v, tau, z=z, t=t)
        one = np.array([call(q[i], v[i], tau[i], z=z[i], t=t[i]) for i in range(n)])
        assert (many == one).all()
        function = s.function(name)
        given = {"q": q, "v": v, "tau": tau, "z": z, "t": t, "parameters": [s.description.parameter_values] * n}
        exact = np.array([function(*(given[key][i] for key in function.name_in())) for i in range(n)])[..., 0]
        assert np.abs(many - exact).max() < 1e-11 * np.abs(exact).max()
    forces = s.forces(q, v, z=z, t=t)
    single = s.forces(q[3], v[3], z=z[3], t=t[3])
    for name, force in forces.items():
        assert (force.wrenches[3] == single[name].wrenches).all() and (force.efforts[3] == single[name].efforts).all()


def test_signatures():
    m, _ = block()
    m.torsion_spring("spring", "slide", stiffness=1.0)
    s = m.build()
    assert s.kernels.kernel("forward_dynamics").input_names == ["q", "v", "tau"]
    m.actuator("motor", "slide", effort=m.state("z", 1.0))
    s = m.build()
    assert s.kernels.kernel("forward_dynamics").input_names == ["q", "v", "tau", "z"]
    assert s.kernels.kernel("state_rates").input_names == ["q", "v", "tau", "z"]
    assert s.kernels.kernel("inverse_dynamics").input_names == ["q", "v", "a", "z"]
    for name in ("energy", "mass_matrix"):
        assert "z" not in s.kernels.kernel(name).input_names
    m.load("wind", "block", force=(ca.sin(m.time), 0, m.parameter("p", 1.0)))
    s = m.build()
    assert s.kernels.kernel("forward_dynamics", wrenches=["block"]).input_names == [
        *("q", "v", "tau", "wrench on block", "z", "t", "parameters")
    ]
    assert s.kernels.kernel("powers").input_names == ["q", "v", "tau", "z", "t", "parameters"]
    assert s.kernels.kernel("mass_matrix").input_names == ["q", "parameters"]
    assert s.kernels.kernel("energy").input_names == ["q", "v", "t", "parameters"]
    assert s.function("forward_dynamics").name_in() == ["q", "v", "tau", "z", "t", "parameters"]


def test_time_reaches_every_call():
    m, _ = block()
    m.load("wind", "block", force=(m.time, 0, 0))
    m.contact("lift", "block", normal="x", offset=1.0 + m.time, stiffness=10.0, width=0.1)
    s = m.build()
    pushed = 10 * (1 + 2 - 0.05)
    assert s.forward_dynamics([0.0], [0.0], t=2.0)[0] == pytest.approx((2 + pushed + 0) / 2)
    assert s.inverse_dynamics([0.0], [0.0], [0.0], t=2.0)[0] == pytest.approx(-2 - pushed)
    assert s.bias_force([0.0], [0.0], t=2.0)[0] == pytest.approx(-2 - pushed)
    assert s.energy([0.0], [0.0], t=2.0).potential == pytest.approx(10 * (0.0015 + 2.9 * 3.0 / 2))
    assert s.powers([0.0], [3.0], t=2.0).supplied == pytest.approx(6 + pushed)
    assert s.reactions([0.0], [0.0], t=2.0)["slide"].force[0] == pytest.approx(0.0, abs=1e-12)
    assert s.forces([0.0], [0.0], t=2.0)["wind"].on("block")[3] == 2.0
    for t in (0.0, 1.0):
        assert s.forward_dynamics([9.0], [0.0], t=t)[0] == pytest.approx(t / 2)


def test_forces_by_name():
    m, body = block()
    m.spring("spring", m.ground, body, at=(-1, 0, 0), stiffness=50.0, free_length=0.8)
    m.actuator("motor", "slide", effort=3.0 + 0 * m.position("block")[0])
    s = m.build()
    forces = s.forces([0.0], [0.0])
    assert list(forces) == ["spring", "motor"] and forces["spring"].bodies == ("ground", "block")
    assert forces["spring"].on(body) == pytest.approx([0, 0, 0, -10, 0, 0])
    assert forces["spring"].on("ground") == pytest.approx([0, 0, 0, 10, 0, 0])
    assert forces["motor"].coordinates == (("slide", 0),) and forces["motor"].efforts.tolist() == [3.0]
    with pytest.raises(wt.StateError, match="acts on ground, block, not on 'wheel'"):
        forces["spring"].on("wheel")
    m, _ = block()
    assert m.build().forces([0.0], [0.0]) == {}


def test_without_states_there_are_no_rates():
    m, _ = block()
    s = m.build()
    assert s.nz == 0 and s.kernels.elements.names == () and s.z0.shape == (0,)
    assert s.state_rates([0.0], [0.0]).shape == (0,) and s.state_rates(np.zeros((4, 1)), [0.0]).shape == (4, 0)
    assert [float(x) for x in s.powers([0.0], [1.0])] == [0.0, 0.0, 0.0]
    with pytest.raises(wt.StateError, match="z= is for auxiliary states"):
        s.forward_dynamics([0.0], [0.0], z=[1.0])
    with pytest.raises(wt.StateError, match="z= is for auxiliary states"):
        s.inverse_dynamics([0.0], [0.0], [0.0], z=[1.0])


def test_every_state_goes_where_it_is_meant():
    m, _ = block()
    third, first, second = (m.state(name, value) for name, value in (("c", 1.0), ("a", 2.0), ("b", 4.0)))
    m.actuator("one", "slide", effort=10 * second)
    m.load("two", "block", force=(100 * first + second * third, 0, 0))
    m.state_rate("a", third - second)
    m.state_rate("b", first)
    s = m.build()
    assert s.kernels.elements.names == ("c", "a", "b") and s.z0.tolist() == [1.0, 2.0, 4.0]
    forces = s.forces([0.0], [0.0], z=[3.0, 5.0, 7.0])
    assert forces["one"].efforts[0] == 70.0 and forces["two"].on("block")[3] == 521.0
    assert s.forward_dynamics([0.0], [0.0], z=[3.0, 5.0, 7.0])[0] == pytest.approx(591 / 2)
    assert s.state_rates([0.0], [0.0], z=[3.0, 5.0, 7.0]).tolist() == [0.0, -4.0, 5.0]


def test_states_by_name():
    m, _ = block()
    m.state("x", 1.0)
    m.state("y", 2.0)
    s = m.build()
    assert s.kernels.inputs.auxiliary({"y": 5}).tolist() == [1.0, 5.0] and s.kernels.inputs.auxiliary({}).tolist() == [
        1.0,
        2.0,
    ]
    with pytest.raises(wt.ModelError, match='no state "z"'):
        s.kernels.inputs.auxiliary({"z": 1.0})
    with pytest.raises(wt.StateError, match="by name"):
        s.kernels.inputs.auxiliary([1.0, 2.0])
    with pytest.raises(wt.StateError, match="z must have 1 numbers"):
        s.kernels.inputs.auxiliary({"x": [1.0, 2.0]})


def test_malformed_states_are_refused():
    m, _ = block()
    m.actuator("motor", "slide", effort=m.state("lag", 1.0))
    s = m.build()
    for z, words in (
        ([1.0, 2.0], "z must have 1 numbers"),
        ("x", "z must"),
        ([None], "z must"),
        ([math.nan], 'state "lag" must be a finite number'),
        ([[1.0], [2.0]], None),
    ):
        if words is None:
            assert s.forward_dynamics([0.0], [0.0], z=z).shape == (2, 1)
            continue
        for call in (
            lambda z=z: s.forward_dynamics([0.0], [0.0], z=z),
            lambda z=z: s.inverse_dynamics([0.0], [0.0], [0.0], z=z),
            lambda z=z: s.bias_force([0.0], [0.0], z=z),
            lambda z=z: s.reactions([0.0], [0.0], z=z),
            lambda z=z: s.state_rates([0.0], [0.0], z=z),
            lambda z=z: s.powers([0.0], [0.0], z=z),
            lambda z=z: s.forces([0.0], [0.0], z=z),
        ):
            with pytest.raises(wt.StateError, match=words):
                call()


@pytest.mark.parametrize("closed", [False, True])
def test_what_is_not_finite_is_named(closed):
    m = wt.Mechanism("m")
    m.body("arm", mass=1.0, com=(1, 0, 0))
    m.revolute("A", m.ground, "arm", axis="y")
    m.revolute("B", m.ground, m.body("other", mass=1.0, com=(1, 0, 0)), axis="y")
    if closed:
        m.gear("pair", "A", "B", ratio=1.0)
    m.torsion_spring("fine", "A", stiffness=1.0)
    m.actuator("root", "A", effort=ca.sqrt(m.coordinate("A")))
    m.state("log", 1.0, rate=ca.log)
    s = m.build(guess={"A": 0.5, "B": 0.5})
    good, bad, v = [0.5, 0.5], [-0.5, -0.5], [0.0, 0.0]
    assert np.isfinite(s.forward_dynamics(good, v)).all()
    for call in (s.forward_dynamics, s.reactions, s.powers, s.forces, s.bias_force):
        with pytest.raises(wt.DynamicsError, match='force "root" is not finite there'):
            call(bad, v)
        with pytest.raises(wt.DynamicsError, match=r'state 1.*force "root" is not finite there'):
            call([good, bad], v)
    with pytest.raises(wt.DynamicsError, match='the rate of state "log" is not finite there'):
        s.state_rates(good, v, z=[-1.0])


@pytest.mark.rest
@pytest.mark.parametrize("formulation", ["composite", *deep(["articulated"])])
def test_large_mechanisms_with_forces(formulation):
    m = wt.Mechanism("chain")
    before: Any = m.ground
    for k in range(50):
        link = m.body(f"link {k}", wt.rod(0.1, mass=0.1, axis="x"))
        m.revolute(f"joint {k}", before, link, at=(0.1 if k else 0.0, 0, 0), axis="y")
        before = link
    bare = m.build()
    z = m.state("pull", 2.0)
    m.spring("spring", m.ground, "link 49", at=(1, 0, 1), stiffness=30.0, free_length=0.5, damping=1.0)
    m.load("wind", "link 20", force=(z * m.time, 0, 0))
    m.torsion_spring("torsion", "joint 7", stiffness=2.0)
    s = m.build()
    rng = np.random.default_rng(0)
    q, v, tau = (0.1 * rng.normal(size=50) for _ in range(3))
    forces = s.forces(q, v, z=[3.0], t=0.5)
    wrenches = {"link 49": forces["spring"].on("link 49"), "link 20": forces["wind"].on("link 20")}
    more = bare.velocities({"joint 7": -2.0 * q[7]})
    found = s.forward_dynamics(q, v, tau, z=[3.0], t=0.5, formulation=formulation)
    expected = bare.forward_dynamics(q, v, tau + more, wrenches=wrenches)
    assert relative(found[None], expected[None]) < 1e-8
    assert s.mass_matrix(q) == pytest.approx(bare.mass_matrix(q))
    assert s.energy(q, v).potential == pytest.approx(bare.energy(q, v).potential + s.powers(q, v).stored)
    there = bare.reactions(q, v, tau + more, wrenches=wrenches).wrenches
    here = s.reactions(q, v, tau, z=[3.0], t=0.5, formulation=formulation).wrenches
    assert np.abs(here - there).max() < 1e-8 * np.abs(there).max()


def test_parameters_are_inputs_and_can_be_folded():
    m, body = block()
    k = m.parameter("k", 10.0)
    m.spring("spring", m.ground, body, at=(-1, 0, 0), stiffness=k, free_length=0.5)
    s, folded = m.build(), m.build(fold=True)
    assert s.forward_dynamics([0.0], [0.0])[0] == folded.forward_dynamics([0.0], [0.0])[0] == pytest.approx(-2.5)
    assert s.forward_dynamics([0.0], [0.0], parameters={"k": 20.0})[0] == pytest.approx(-5.0)
    assert s.energy([0.0], [0.0], parameters={"k": 20.0}).potential == pytest.approx(2.5)
    assert s.forces([0.0], [0.0], parameters={"k": 20.0})["spring"].on("block")[3] == pytest.approx(-10.0)


def test_systems_with_forces_travel():
    _, s = tree(2)
    x = tree_state(s, 2)
    again = pickle.loads(pickle.dumps(s))
    assert (again.forward_dynamics(**x, t=T) == s.forward_dynamics(**x, t=T)).all()
    assert again.kernels.elements.names == s.kernels.elements.names


def test_bodies_welded_to_the_ground_and_to_each_other():
    m = wt.Mechanism("welded")
    m.fixed("post", m.ground, m.body("post", mass=1.0), at=(0, 0, 1))
    m.revolute("A", "post", m.body("arm", mass=1.0, com=(1, 0, 0)), axis="y")
    m.fixed("grip", "arm", m.body("tool", mass=0.5), at=(2, 0, 0))
    m.spring("spring", "post", "tool", at=(2, 0, 1), stiffness=10.0, free_length=0.2)
    m.load("weight", "post", force=(0, 0, -50))
    s = m.build()
    # the spring lifts the tip with 10 (1 - 0.2) = 8 at an arm of 2
    inertia = 1.0 + 0.5 * 4
    assert s.forward_dynamics([0.0], [0.0])[0] == pytest.approx((9.81 * (1 + 0.5 * 2) - 8 * 2) / inertia)
    reactions = s.reactions([0.0], [0.0])
    a = s.forward_dynamics([0.0], [0.0])[0]
    assert reactions["grip"].force[2] == pytest.approx(0.5 * (9.81 - 2 * a) - 8)
    assert reactions["post"].force[2] == pytest.approx(9.81 * 2.5 + 50 - a * (1 + 0.5 * 2))
