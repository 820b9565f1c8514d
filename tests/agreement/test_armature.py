"""Armature of joints: it is added to the diagonal of the mass matrix, whatever formulation, and does nothing else.

The reference knows no armature. It is plain NumPy on the matrices of the mechanism without any; for loops, equations in
absolute coordinates, to which the efforts -a q'' of the accelerations found are given; closed forms, Pinocchio, MuJoCo.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import casadi as ca
import mujoco
import numpy as np
import pinocchio as pin
import pytest

import whippletree as wt
from support.formulations import TREE_VARIANTS, variants
from support.loop_agreement import computed
from support.loop_models import built
from support.random_loops import MEMBERS, case
from support.random_trees import random_mechanism, random_states
from support.sampling import deep, sampled, shared
from whippletree.elements.joints import Fixed, Spherical
from whippletree.formulations.methods import registry

Array = np.ndarray
TOLERANCE = 1e-9


def armed(s: wt.System, seed: int, *, share: float = 0.8, cuts: bool = False) -> tuple[wt.Mechanism, Array]:
    """The mechanism of a system with armature at a share of its joints, and these numbers (nv)."""
    rng, numbers = np.random.default_rng([seed, s.nv]), np.zeros(s.nv)
    cut = set() if cuts else {s.plan.joint_names[one.joint] for one in s.plan.cuts}
    joints = []
    for use in s.description.joints:
        if use.joint.nv and use.name not in cut and rng.random() < share:
            own = rng.uniform(0.1, 2.0, use.joint.nv)
            numbers[s.v_slice(use.name)] = own
            joints.append(replace(use, armature=tuple(map(float, own))))
        else:
            joints.append(use)
    return wt.Mechanism.of(replace(s.description, joints=tuple(joints))), numbers


def relative(found: Array, expected: Array) -> float:
    return float(np.abs(found - expected).max(initial=0.0) / max(1.0, np.abs(expected).max(initial=0.0)))


TREES = [(seed, bodies) for seed in range(60) for bodies in (3, 6, 10)]


@pytest.mark.parametrize(("seed", "bodies"), sampled(TREES, lambda key: key in ((0, 6), (5, 3)), core=1))
def test_random_trees(seed: int, bodies: int) -> None:
    """Every formulation, inverse dynamics, energy, momentum, driving forces and derivatives."""
    plain = random_mechanism(seed, bodies, prescribed=0.2).build()
    mechanism, numbers = armed(plain, seed)
    s, A = mechanism.build(), np.diag(numbers)
    x = SimpleNamespace(**{name: rows[0] for name, rows in random_states(plain, seed, 1).items()})
    M = plain.mass_matrix(x.q) + A
    assert relative(s.mass_matrix(x.q), M) < TOLERANCE
    assert relative(s.inverse_dynamics(x.q, x.v, x.a), plain.inverse_dynamics(x.q, x.v, x.a) + A @ x.a) < TOLERANCE
    more = s.energy(x.q, x.v).kinetic - plain.energy(x.q, x.v).kinetic
    assert abs(more - 0.5 * x.v @ A @ x.v) < TOLERANCE * max(1.0, more)
    assert s.energy(x.q, x.v).potential == plain.energy(x.q, x.v).potential
    for one, other in zip(s.momentum(x.q, x.v), plain.momentum(x.q, x.v), strict=True):
        np.testing.assert_array_equal(one, other)
    given = np.zeros(s.nv, dtype=bool)
    for use in s.description.joints:
        given[s.v_slice(use.name)] = use.prescribed
    free = ~given
    expected = np.where(given, x.a, 0.0)
    right = (x.tau - plain.bias_force(x.q, x.v) - M @ expected)[free]
    expected[free] = np.linalg.solve(M[np.ix_(free, free)], right)
    drive = plain.inverse_dynamics(x.q, x.v, expected) + A @ expected
    options = {"a": x.a} if given.any() else {}
    for name in shared(TREE_VARIANTS, seed):
        found = s.forward_dynamics(x.q, x.v, x.tau, formulation=name, **options)
        assert relative(found, expected) < TOLERANCE, name
        if given.any():
            needed = s.driving_forces(x.q, x.v, x.tau, a=x.a, formulation=name)
            assert relative(needed, np.where(given, drive, x.tau)) < TOLERANCE, name
    slopes, ours = plain.inverse_dynamics_derivatives(x.q, x.v, expected), s.forward_dynamics_derivatives
    found_slopes = ours(x.q, x.v, x.tau, **options)
    for kind in ("q", "v"):
        theirs = -np.linalg.solve(M[np.ix_(free, free)], getattr(slopes, kind)[free])
        assert relative(getattr(found_slopes, kind)[free], theirs) < TOLERANCE, kind


NATURAL = tuple(
    one.text for one in registry.loop_formulations() if "natural" in one.text.split("/") and one.text != "natural"
)
"""Natural coordinates, with all that can be chosen within them."""


def may_miss(name: str) -> float:
    """What penalties miss by shrinks with each correction, and is not rounding alone."""
    return 1e-6 if {"penalty", "augmented"} & set(name.split("/")) else TOLERANCE


@pytest.mark.rest
@pytest.mark.parametrize(("seed", "bodies"), sampled(TREES, lambda key: key in ((1, 3), (2, 3))))
def test_random_trees_in_natural_coordinates(seed: int, bodies: int) -> None:
    plain = random_mechanism(seed, bodies, prescribed=0.2).build()
    mechanism, numbers = armed(plain, seed)
    s, A = mechanism.build(), np.diag(numbers)
    x = SimpleNamespace(**{name: rows[0] for name, rows in random_states(plain, seed, 1).items()})
    given = np.zeros(s.nv, dtype=bool)
    for use in s.description.joints:
        given[s.v_slice(use.name)] = use.prescribed
    free, M, expected = ~given, plain.mass_matrix(x.q) + A, np.where(given, x.a, 0.0)
    right = (x.tau - plain.bias_force(x.q, x.v) - M @ expected)[free]
    expected[free] = np.linalg.solve(M[np.ix_(free, free)], right)
    options = {"a": x.a} if given.any() else {}
    for name in shared(NATURAL, seed):
        found = s.forward_dynamics(x.q, x.v, x.tau, formulation=name, **options)
        assert relative(found, expected) < may_miss(name), name


ALWAYS = (("one loop", 2), ("overconstrained", 0), ("coupled", 1))


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), sampled([key for key in MEMBERS if key[1] < 8], lambda key: key in ALWAYS))
def test_random_loops(family: str, i: int) -> None:
    """Accelerations by every formulation satisfy the equations of the plain mechanism under the efforts -a q''."""
    c = case(family, i)
    mechanism, numbers = armed(built(c.looped), i)
    s = mechanism.build(guess=c.q)
    for name in shared(variants(), i):
        found = computed(s, c, "forward_dynamics", name)
        expected = c.equations.solve(c.tau - numbers * found, c.loads).joints
        assert relative(found, expected) < TOLERANCE, name


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), sampled([key for key in MEMBERS if key[1] < 8], lambda key: key in ALWAYS))
def test_random_loops_in_natural_coordinates(family: str, i: int) -> None:
    c = case(family, i)
    mechanism, numbers = armed(built(c.looped), i)
    s = mechanism.build(guess=c.q)
    for name in shared(NATURAL, i):
        found = computed(s, c, "forward_dynamics", name)
        expected = c.equations.solve(c.tau - numbers * found, c.loads).joints
        assert relative(found, expected) < may_miss(name), name


def chain(n: int, armature: bool, x: object = 0.3) -> wt.Mechanism:
    m = wt.Mechanism("chain")
    value = m.parameter("x", 0.3) if x == "parameter" else x
    on = m.ground
    for k in range(n):
        body = m.body(f"b{k}", wt.box((0.3, 0.1, 0.1), mass=1.0 + 0.1 * (k % 3), at=(0.15, 0.02, 0.01)))
        at, axis = (0.3 if k else 0.0, 0.0, 0.0), "xyz"[k % 3]
        own = 0.0 if not armature else value if k % 2 else 0.2
        if k % 5 == 3:
            m.spherical(f"j{k}", on, body, at=at, armature=[0.1, 0.2, value] if armature else 0.0)
        else:
            (m.prismatic if k % 7 == 1 else m.revolute)(f"j{k}", on, body, at=at, axis=axis, armature=own)
        on = body
    return m


@pytest.mark.rest
@pytest.mark.parametrize("x", [0.3, "parameter"])
def test_a_long_chain_in_loops_over_its_nodes(x: object) -> None:
    """Sixty bodies: rolled programs of the recursions, of the mass matrix and of pairs of freedoms."""
    plain, s = chain(60, armature=False).build(), chain(60, armature=True, x=x).build()
    given = {"parameters": {"x": 0.3}} if x == "parameter" else {}
    A = s.mass_matrix(s.q0, **given) - plain.mass_matrix(plain.q0)
    assert relative(A, np.diag(np.diag(A))) < TOLERANCE
    rng = np.random.default_rng(5)
    q, v, tau = plain.random(3), *rng.normal(size=(2, s.nv))
    M = plain.mass_matrix(q) + A
    expected = np.linalg.solve(M, tau - plain.bias_force(q, v))
    for name in ("articulated", "composite", "fully_recursive"):
        assert relative(s.forward_dynamics(q, v, tau, formulation=name, **given), expected) < TOLERANCE, name
    found, d, h = s.forward_dynamics_derivatives(q, v, tau, **given), rng.normal(size=s.nv), 1e-5
    ends = []
    for at in (plain.integrate(q, h * d), plain.integrate(q, -h * d)):
        ends.append(np.linalg.solve(plain.mass_matrix(at) + A, tau - plain.bias_force(at, v)))
    assert relative(found.q @ d, (ends[0] - ends[1]) / (2 * h)) < 1e-5
    if x == "parameter":
        ones = np.zeros(s.nv)
        for k in range(60):
            ones[s.v_slice(f"j{k}")] = [0.0, 0.0, 1.0] if k % 5 == 3 else float(k % 2)
        assert relative(found.parameters[:, 0], -np.linalg.solve(M, ones * expected)) < TOLERANCE


def loops_of(count: int, armature: float) -> wt.System:
    """Parallelograms in a row, each on the one before."""
    m = wt.Mechanism("cells")
    on, along = m.ground, 0.0
    guess = {}
    for k in range(count):
        left, top, right = (m.body(f"{side}{k}", wt.rod(1.0, mass=1.0)) for side in ("left", "top", "right"))
        m.revolute(f"A{k}", on, left, at=(along, 0, 0), axis="y", armature=armature)
        m.revolute(f"B{k}", left, top, at=(1, 0, 0), axis="y")
        m.revolute(f"D{k}", on, right, at=(along + 0.4, 0, 0), axis="y", armature=armature)
        m.spherical(f"C{k}", right, top, at=(1, 0, 0), at_child=(0.4, 0, 0))
        guess |= {f"A{k}": -1.0, f"B{k}": 1.0, f"D{k}": -1.0}
        on, along = top, 1.0
    return m.build(guess=guess)


@pytest.mark.rest
def test_many_loops_item_by_item() -> None:
    plain, s = loops_of(17, 0.0), loops_of(17, 0.6)
    numbers = np.zeros(s.nv)
    for k in range(17):
        numbers[s.v_slice(f"A{k}")] = numbers[s.v_slice(f"D{k}")] = 0.6
    tau = np.random.default_rng(2).normal(size=s.nv)
    v = s.kernels.closures.motion_basis(s.q0) @ np.linspace(0.5, 1.0, 17)
    found = s.forward_dynamics(s.q0, v, tau, formulation="coordinate_reduction")
    expected = plain.forward_dynamics(s.q0, v, tau - numbers * found, formulation="coordinate_reduction")
    assert relative(found, expected) < TOLERANCE


def pendulum(**options: object) -> wt.Mechanism:
    m = wt.Mechanism("pendulum")
    m.revolute(
        "hinge", m.ground, m.body("bob", mass=2.0, com=(0.5, 0, 0), inertia=(0.2, 0.3, 0.4)), axis="y", **options
    )
    return m


def test_a_pendulum_in_closed_form() -> None:
    s = pendulum(armature=1.7).build()
    q, total = 0.4, 2.0 * 0.25 + 0.3 + 1.7
    assert s.forward_dynamics([q], [3.0])[0] == pytest.approx(9.81 * 2.0 * 0.5 * np.cos(q) / total, rel=1e-14)
    run = s.simulate(2.0, q=[q], v=[0.0], tolerance=1e-10)
    energy = [sum(s.energy(at, rate)[:2]) for at, rate in zip(run.q, run.v, strict=True)]
    assert np.ptp(energy) < 1e-8
    assert s.simulate(2.0, q=[q], v=[0.0], method="generalized_alpha", step=1e-3).q[-1] == pytest.approx(
        run.q[-1], abs=1e-5
    )
    rates = np.abs(s.linearize([np.pi / 2]).eigenvalues)
    assert rates == pytest.approx([np.sqrt(9.81 * 2.0 * 0.5 / total)] * 2, rel=1e-12)


def test_a_driven_joint_needs_more_effort() -> None:
    """A drive q = 0.3 t^2 + 0.1 t^3: its effort grows by a q''."""
    efforts = []
    for armature in (0.0, 0.9):
        m = pendulum(armature=armature)
        m.drive("motor", "hinge", position=0.3 * m.time**2 + 0.1 * m.time**3)
        run = m.build().simulate(1.0, every=0.1)
        efforts.append(run["motor"])
    np.testing.assert_allclose(efforts[1] - efforts[0], 0.9 * (0.6 + 0.6 * run.t), rtol=1e-7)


def test_pinocchio_has_the_same() -> None:
    """A chain of hinges and slides on a floating base, by Pinocchio's armature."""
    model, m = pin.Model(), wt.Mechanism("chain", gravity=(0, 0, -9.81))
    on, before, rng = 0, m.ground, np.random.default_rng(8)
    own: list[float] = []
    for k, kind in enumerate(("free", "z", "slide", "z", "z")):
        place = rng.normal(size=3) if k else np.zeros(3)
        joint = {"free": pin.JointModelFreeFlyer, "z": pin.JointModelRZ, "slide": pin.JointModelPZ}[kind]()
        on = model.addJoint(on, joint, pin.SE3(np.eye(3), place), f"j{k}")
        mass, com, inertia = rng.uniform(1, 2), rng.normal(size=3), np.diag(rng.uniform(1.0, 1.5, 3))
        model.appendBodyToJoint(on, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
        body = m.body(f"b{k}", mass=mass, com=com, inertia=inertia)
        numbers = rng.uniform(0.1, 2.0, joint.nv)
        if kind == "free":
            numbers[:] = 0.0
            m.free(f"j{k}", before, body)
        else:
            call = m.revolute if kind == "z" else m.prismatic
            call(f"j{k}", before, body, at=place, axis="z", armature=float(numbers[0]))
        own += list(numbers)
        before = body
    model.armature = np.array(own)
    s, data = m.build(), model.createData()
    base = s.random(4)
    q = np.concatenate([base[4:7], base[1:4], base[:1], base[7:]])
    swap = [3, 4, 5, 0, 1, 2, *range(6, s.nv)]
    v, tau = rng.normal(size=(2, s.nv))
    theirs = pin.aba(model, data, q, v[swap], tau[swap])[swap]
    # theirs is the derivative of components in moving axes, and so is ours
    assert relative(s.forward_dynamics(base, v, tau), theirs) < TOLERANCE


def test_a_ball_with_armature_from_mjcf(tmp_path: Path) -> None:
    text = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="arm" pos="0 0 1">
    <joint name="ball" type="ball" armature="0.3"/><inertial mass="2" pos=".1 .2 .3" diaginertia=".1 .2 .25"/>
    <body name="b" pos="0 .3 0"><joint name="k" axis="1 0 1" armature="0.05"/>
    <inertial mass="1" pos=".3 0 0" diaginertia=".1 .1 .1"/></body></body></worldbody></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(text)
    data, rng = mujoco.MjData(mj), np.random.default_rng(3)
    data.qpos[:] = [0.5, 0.5, -0.5, 0.5, 0.7]
    data.qvel[:] = rng.normal(size=4)
    mujoco.mj_forward(mj, data)
    model = wt.read(text)
    s = model.build()
    assert not model.report.about("not understood")
    assert [body.name for body in s.description.bodies] == ["arm", "b"]
    assert s.description.joint("ball").armature == (0.3, 0.3, 0.3)
    assert relative(s.forward_dynamics(data.qpos, data.qvel), data.qacc) < TOLERANCE
    wt.write(model, tmp_path / "again.xml")
    again = wt.read(tmp_path / "again.xml").mechanism.describe()
    assert [again.joint(name).armature for name in ("ball", "k")] == [(0.3, 0.3, 0.3), (0.05,)]
    with pytest.raises(wt.FileError, match='cannot hold the armature of joint "ball"'):
        wt.write(model, tmp_path / "again.sdf")


def test_zero_is_as_none() -> None:
    """The description and the operations are the same."""
    plain, zero = pendulum().build(), pendulum(armature=0).build()
    assert plain.description == zero.description
    assert plain.kernels.operations("forward_dynamics") == zero.kernels.operations("forward_dynamics")


def test_files_hold_it(tmp_path: Path) -> None:
    m = wt.Mechanism("held")
    own = m.parameter("rotor", 0.2)
    m.universal("U", m.ground, m.body("a", wt.rod(1.0, mass=1.0)), armature=(own, 2 * own))
    m.revolute("R", "a", m.body("b", wt.rod(1.0, mass=1.0)), at=(1, 0, 0), axis="y", armature=0.4)
    m.spherical("E", "b", m.body("c", wt.rod(1.0, mass=1.0)), at=(1, 0, 0), coordinates="bryant", armature=0.1)
    wt.write(m, tmp_path / "held.yaml")
    text = (tmp_path / "held.yaml").read_text()
    assert "armature: 0.4" in text
    assert "armature: [rotor, 2*rotor]" in text.replace("2 * rotor", "2*rotor")
    assert wt.read(tmp_path / "held.yaml").mechanism.describe() == m.describe()


def test_bad_numbers_are_refused() -> None:
    for given, words in (
        (-1.0, "armature must not be negative, got -1"),
        ([0.1, 0.2], "armature of a revolute joint must be 1 numbers"),
        (float("nan"), "armature"),
        ("heavy", "armature"),
    ):
        with pytest.raises(wt.ModelError, match=words):
            pendulum(armature=given)
    m = wt.Mechanism("m")
    with pytest.raises(wt.ModelError, match="has no armature: it does not move"):
        m.joint("W", m.ground, m.body("b"), Fixed(), armature=1.0)


def limb(n: int, armature: object) -> wt.Mechanism:
    """A chain on a slide and a universal joint, pulled by a spring."""
    m = wt.Mechanism("limb")
    own, on = m.parameter("own", 0.3) if armature == "parameter" else armature, m.ground
    for k in range(n):
        body = m.body(f"b{k}", wt.box((0.3, 0.1, 0.1), mass=1.0 + 0.1 * k, at=(0.15, 0.02, 0.01)))
        at = (0.3 if k else 0.0, 0.0, 0.0)
        if k == 2:
            m.universal(f"j{k}", on, body, at=at, armature=own)
        elif k == 1:
            m.prismatic(f"j{k}", on, body, at=at, axis="x", armature=own)
            m.spring("pull", m.ground, body, at=(0.2, 0.7, 0.4), stiffness=30.0, free_length=0.1)
        else:
            m.revolute(f"j{k}", on, body, at=at, axis="xy"[k % 2], armature=own)
        on = body
    return m


@pytest.mark.rest
@pytest.mark.parametrize(("bodies", "own"), [(2, "parameter"), *deep([(4, 0.3), (9, 0.3), (9, "parameter")])])
def test_runs_in_natural_coordinates(bodies: int, own: object) -> None:
    """Of the second order beside an integration in joint coordinates; nine bodies are loops over blocks of three."""
    s = limb(bodies, own).build()
    given = {"parameters": {"own": 0.5}} if own == "parameter" else {}
    expected = s.simulate(0.5, tolerance=1e-10, **given).q[-1]
    for how in ({}, {"projections": True}):
        far = [
            relative(s.simulate(0.5, formulation="natural", step=h, **how, **given).q[-1], expected)
            for h in (2e-3, 1e-3)
        ]
        assert far[0] < 1e-4
        assert far[1] < 0.3 * far[0]
    run = s.simulate(0.05, formulation="natural", step=1e-3, iterations=3)
    stepper = s.realtime(step=1e-3, method="natural", iterations=3)
    for _ in range(50):
        stepper.step()
    assert relative(stepper.q, run.q[-1]) < 1e-9


def test_armature_in_natural_coordinates() -> None:
    """It is the mass of the joint's coordinate, which is then an unknown."""
    s = limb(3, 0.3).build()
    natural = s.natural
    own = [part.where.start for part in natural.relative]
    assert [part.name for part in natural.relative][:2] == ["j0 angle", "j1 displacement"]
    np.testing.assert_array_equal(natural.mass_matrix[own][:, own], 0.3 * np.eye(4))
    q, v = s.random(4), np.random.default_rng(4).normal(size=s.nv)
    _, rates = natural.state(q, v)
    assert 0.5 * rates @ natural.mass_matrix @ rates == pytest.approx(s.energy(q, v).kinetic, rel=1e-12)


def shoulder(bodies: int, ball: object, free: object = None) -> wt.Mechanism:
    """A ball with armature on a link that moves, and perhaps a body that flies beside it."""
    m = wt.Mechanism("shoulder")
    own, on = m.parameter("own", 0.3) if ball == "parameter" else ball, m.ground
    for k in range(bodies):
        body = m.body(f"b{k}", wt.box((0.3, 0.1, 0.15), mass=1.0 + 0.1 * k, at=(0.15, 0.02, 0.01)))
        at = (0.3 if k else 0.0, 0.0, 0.0)
        if k == 1:
            m.spherical("ball", on, body, at=at, armature=own)
        elif k == 2 and free is not None:
            m.free("flight", body, on, armature=free)  # walked backward
        else:
            m.revolute(f"j{k}", on, body, at=at, axis="xyz"[k % 3])
        on = body
    return m


FLIGHT = [0.1, 0.2, 0.15, 0.3, 0.3, 0.3]


@pytest.mark.rest
@pytest.mark.parametrize(
    ("bodies", "ball", "free"),
    [(2, "parameter", None), (3, [0.1, 0.2, 0.15], FLIGHT), *deep([(3, 0.2, None), (4, 0.1, 0.2), (9, 0.1, FLIGHT)])],
)
def test_balls_and_free_joints_in_natural_coordinates(bodies: int, ball: object, free: object) -> None:
    """The child's axes in a parent that moves have constant masses: the mechanism with loops over blocks, too."""
    s = shoulder(bodies, ball, free).build()
    given = {"parameters": {"own": 0.5}} if ball == "parameter" else {}
    q, v = s.random(4), 2.0 * np.random.default_rng(4).normal(size=s.nv)
    natural, (x, rates) = s.natural, s.natural.state(q, v, **given)
    assert 0.5 * rates @ natural.mass_at(given.get("parameters") and [0.5]) @ rates == pytest.approx(
        s.energy(q, v, **given).kinetic, rel=1e-12
    )
    assert np.abs(natural.rows_at(x, rates)[0] @ rates).max() < 1e-12
    assert relative(np.concatenate(natural.joint_state(x, rates, near=q)), np.concatenate([q, v])) < TOLERANCE
    start = {"q": q, "v": v, **given}
    expected = s.simulate(0.3, tolerance=1e-10, **start).q[-1]
    for how in ({}, {"projections": True}):
        far = [relative(s.simulate(0.3, formulation="natural", step=h, **how, **start).q[-1], expected) for h in STEPS]
        assert far[0] < 1e-3
        assert far[1] < 0.3 * far[0]
    run = s.simulate(0.02, formulation="natural", step=1e-3, iterations=3, **start)
    stepper = s.realtime(step=1e-3, method="natural", iterations=3, **start)
    for _ in range(20):
        stepper.step()
    assert relative(stepper.q, run.q[-1]) < 1e-9


STEPS = (1e-3, 5e-4)


@pytest.mark.rest
def test_armature_that_no_body_could_have_in_natural_coordinates() -> None:
    """All about one axis is a negative mass along it, which projections alone hold."""
    s = shoulder(2, [0.0, 0.0, 0.3]).build()
    q, v = s.random(4), 2.0 * np.random.default_rng(4).normal(size=s.nv)
    with pytest.raises(wt.StateError, match=r'armatures of joint "ball" is more .* needs projections=True'):
        s.simulate(0.1, q=q, v=v, formulation="natural", step=1e-3)
    with pytest.raises(wt.StateError, match="needs projections=True"):
        s.realtime(step=1e-3, method="natural")
    expected = s.simulate(0.5, tolerance=1e-10, q=q, v=v).q[-1]
    start = {"q": q, "v": v, "formulation": "natural", "projections": True}
    far = [relative(s.simulate(0.5, step=h, **start).q[-1], expected) for h in STEPS]
    assert far[0] < 1e-2
    assert far[1] < 0.3 * far[0]
    assert s.simulate(10.0, step=1e-3, **start).certificate.energy_drift < 1e-3
    with pytest.raises(wt.StateError, match=r'armature of the free joint "flight" must be one number'):
        shoulder(3, 0.1, [0.1] * 5 + [0.2]).build().simulate(0.1, formulation="natural", step=1e-3)


def test_armature_of_a_joint_of_other_makers_in_natural_coordinates() -> None:
    """Velocities that are neither rates nor those of a ball: accelerations work, and runs say why they do not."""
    m = wt.Mechanism("skewed")
    m.joint("S", m.ground, m.body("b", wt.rod(1.0, mass=1.0)), Skewed(), armature=0.2)
    s = m.build()
    q, v = s.q0, np.array([0.3, -0.2, 0.5])
    found, expected = (s.forward_dynamics(q, v, formulation=name) for name in ("natural", "articulated"))
    assert relative(found, expected) < 1e-6
    with pytest.raises(wt.StateError, match=r'joint "S" is no mass of anything'):
        s.simulate(0.1, formulation="natural", step=1e-3)


class Skewed(Spherical):
    """A ball whose velocities are in other axes."""

    kind = "skewed_ball"

    def joint_map(self, x: ca.SX) -> ca.SX:
        return ca.densify(ca.vertcat(2.0 * ca.SX.eye(3), ca.SX.zeros(3, 3)))

    def rate_map(self, q: ca.SX) -> ca.SX:
        return 2.0 * super().rate_map(q)


@pytest.mark.rest
@pytest.mark.parametrize("loop", [False, True])
def test_runs_in_absolute_coordinates(loop: bool) -> None:
    """The twin, in which all joints are cut, keeps the rates of those with armature."""
    s = (
        four_bar(A=0.1, B=0.2, C=0.3, D=0.4).build(guess={"A": -1.0, "B": 1.0, "C": 2.0})
        if loop
        else chain(4, armature=True).build()
    )
    found, expected = (s.simulate(0.3, tolerance=1e-9, coordinates=name) for name in ("absolute", "joint"))
    assert relative(found.q[-1], expected.q[-1]) < 1e-7


def four_bar(**armature: float) -> wt.Mechanism:
    m = wt.Mechanism("four-bar")
    crank, coupler, rocker = (m.body(name, wt.rod(1.0, mass=1.0)) for name in ("crank", "coupler", "rocker"))
    for name, parent, child, at, there in (
        ("A", m.ground, crank, 0.0, 0.0),
        ("B", crank, coupler, 1.0, 0.0),
        ("C", coupler, rocker, 1.0, 0.0),
        ("D", rocker, m.ground, 1.0, 1.2),
    ):
        own = armature.get(name, 0.0)
        m.revolute(name, parent, child, at=(at, 0, 0), at_child=(there, 0, 0), axis="y", armature=own)
    return m


def test_a_loop_is_cut_where_no_armature_is() -> None:
    for free in "ABCD":
        s = four_bar(**{name: 0.1 for name in "ABCD" if name != free}).build(guess={"A": -1.0, "B": 1.0, "C": 2.0})
        assert [s.plan.joint_names[cut.joint] for cut in s.plan.cuts] == [free]


@pytest.mark.rest
@pytest.mark.parametrize("cut", [None, ["A"], ["C"]])
def test_a_joint_with_armature_that_is_cut_gets_a_weld(cut: list[str] | None) -> None:
    """The four-bar's crank by Lagrange: all angles and their armature follow from the crank's, by differences."""
    s = four_bar(A=0.1, B=0.2, C=0.3, D=0.4).build(guess={"A": -1.0, "B": 1.0, "C": 2.0}, cut=cut)
    plain = four_bar().build(guess={"A": -1.0, "B": 1.0, "C": 2.0})
    (only,) = s.plan.cuts
    weld = s.plan.joint_names[only.joint]
    assert weld.split(" to ")[0] in "ABCD" if cut is None else weld.startswith(f"{cut[0]} to ")
    names, q = list("ABCD"), s.q0
    np.testing.assert_allclose([q[s.q_slice(n)] for n in names], [plain.q0[plain.q_slice(n)] for n in names], atol=1e-9)
    v, tau = s.consistent_velocities(q, {"A": 0.7}, hold=["A"]), np.zeros(s.nv)
    tau[s.v_slice("A")] = 1.5
    a = s.forward_dynamics(q, v, tau)
    there = np.zeros(plain.nv)
    at, rates = plain.q0, np.zeros(plain.nv)
    for name, own in zip(names, (0.1, 0.2, 0.3, 0.4), strict=True):
        rates[plain.v_slice(name)] = v[s.v_slice(name)]
        there[plain.v_slice(name)] = tau[s.v_slice(name)] - own * a[s.v_slice(name)]
    expected = plain.forward_dynamics(at, rates, there)
    for name in names:
        np.testing.assert_allclose(a[s.v_slice(name)], expected[plain.v_slice(name)], rtol=1e-9)
    assert np.abs(expected).max() > 0.1
    bodies = ("crank", "coupler", "rocker")
    assert (s.joint_names, s.description.places, len(s.description.bodies)) == (tuple("ABCD"), bodies, 3)
    assert tuple(s.poses(q)) == bodies
    theirs = plain.reactions(at, rates, there)
    for joint, ours in s.reactions(q, v, tau).items():
        # that of a joint includes its effort, of which armature takes its part
        np.testing.assert_allclose(ours.force[[0, 2]], theirs[joint].force[[0, 2]], rtol=1e-9, atol=1e-9)
    assert s.derivatives_of("reactions", q, v, tau).q.shape == (4, 6, 1)
    run = s.simulate(0.05, every=0.01)
    assert run["reactions"].shape == (6, 24)
    assert run.labels.joints == tuple("ABCD")
    again = pickle.loads(pickle.dumps(s))
    assert again.description == s.description
    assert again.plan.cuts == s.plan.cuts


def test_names_that_a_user_has_given_already_are_not_given_again() -> None:
    """A joint that is cut gets a body and a weld of the engine's own: whatever is called like them moves by itself."""
    s = four_bar(A=0.1, B=0.2, C=0.3, D=0.4).build(guess={"A": -1.0, "B": 1.0, "C": 2.0}, cut=["C"])
    (only,) = s.plan.cuts
    weld = s.plan.joint_names[only.joint]
    joint, _, body = weld.partition(" to ")
    behind = f"{body} behind {joint}"
    m = four_bar(A=0.1, B=0.2, C=0.3, D=0.4)
    m.revolute(weld, m.ground, m.body(behind, wt.rod(1.0, mass=3.0)), axis="y", armature=0.2)
    twin = m.build(guess={"A": -1.0, "B": 1.0, "C": 2.0}, cut=["C"])
    assert len({*twin.plan.joint_names}) == len(twin.plan.joint_names) == 6
    assert (twin.joint_names, len(twin.description.bodies)) == ((*"ABCD", weld), 4)
    a, alone = twin.forward_dynamics(twin.q0, twin.v0), s.forward_dynamics(s.q0, s.v0)
    for name in "ABCD":
        np.testing.assert_allclose(a[twin.v_slice(name)], alone[s.v_slice(name)], rtol=1e-12)
    assert a[twin.v_slice(weld)] == pytest.approx(3.0 * 9.81 * 0.5 / (3.0 / 3 + 0.2), rel=1e-12)
    assert tuple(twin.poses(twin.q0)) == ("crank", "coupler", "rocker", behind)


def test_armature_of_a_ball_on_the_ground_is_an_inertia_of_its_body() -> None:
    """It is kinetic energy of the turning rate, and of nothing else."""
    found = []
    for armature, more in ((0.2, 0.0), (0.0, 0.2)):
        m = wt.Mechanism("ball")
        body = m.body("body", mass=1.0, com=(0, 0, -1), inertia=(0.1 + more, 0.2 + more, 0.3 + more))
        m.spherical("S", m.ground, body, armature=armature)
        s = m.build()
        q, v = s.random(1), np.array([1.0, -2.0, 0.5])
        found.append(s.forward_dynamics(q, v))
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_energy_and_derivatives_where_all_joints_of_a_loop_have_armature() -> None:
    """With a = f(q, tau - A a) of the bar without armature: (1 + f_tau A) a_q = f_q, and likewise for efforts."""
    guess, own = {"A": -1.0, "B": 1.0, "C": 2.0}, np.array([0.1, 0.2, 0.3, 0.4])
    plain = four_bar().build(guess=guess)
    s = four_bar(**dict(zip("ABCD", own, strict=True))).build(guess=guess)
    v, tau = np.zeros(4), np.array([1.5, 0.2, -0.3, 0.4])
    found = s.forward_dynamics_derivatives(s.q0, v, tau)
    slopes = plain.forward_dynamics_derivatives(plain.q0, v, tau - own * s.forward_dynamics(s.q0, v, tau))
    for kind in ("q", "tau"):
        expected = np.linalg.solve(np.eye(4) + slopes.tau * own, getattr(slopes, kind))
        assert relative(getattr(found, kind), expected) < TOLERANCE
    v = 0.7 * s.kernels.closures.motion_basis(s.q0)[:, 0]
    more = s.energy(s.q0, v).kinetic - plain.energy(plain.q0, v).kinetic
    assert more == pytest.approx(0.5 * own @ v**2, rel=1e-12)


LOOPS = MEMBERS[::9]


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), sampled(LOOPS, lambda key: key in (LOOPS[1], LOOPS[4])))
def test_random_loops_all_of_whose_joints_have_armature(family: str, i: int) -> None:
    """As above, with welds where they are cut; the penalty method is near."""
    c = case(family, i)
    mechanism, numbers = armed(built(c.looped), i, share=2.0, cuts=True)
    s = mechanism.build(guess=c.q)
    for name in shared(variants(), i):
        found = computed(s, c, "forward_dynamics", name)
        expected = c.equations.solve(c.tau - numbers * found, c.loads).joints
        assert relative(found, expected) < (1e-6 if "penalty" in name else TOLERANCE), name
