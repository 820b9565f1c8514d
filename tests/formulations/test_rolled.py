"""The rolled walk against the unrolled one: the same text, traced in two ways, must give the same numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support import measures
from support.random_forces import load_up
from support.random_trees import KINDS, random_mechanism, random_states
from support.sampling import deep
from whippletree.elements.joints import Joint
from whippletree.spatial import Shift, Translation, Turn
from whippletree.system import size_policy
from whippletree.system.equations import Request

TOLERANCE = 1e-11


def relative(ours: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference over the largest magnitude, for one state."""
    return measures.relative(ours[None], expected[None])


def both(mechanism: wt.Mechanism, monkeypatch: pytest.MonkeyPatch, compute) -> tuple[dict, dict]:
    """What `compute` makes of the system in loops, and in one straight line."""
    results = []
    for least in (1, 10**9):
        monkeypatch.setattr(size_policy, "ROLL_FROM", least)
        results.append(compute(mechanism.build()))
    return results[0], results[1]


def everything(system: wt.System, place: str, states: dict) -> dict[str, np.ndarray]:
    q, v, tau, a = (states[name][0] for name in ("q", "v", "tau", "a"))
    wrench = {place: np.arange(1.0, 7.0)}
    given = a if any(use.prescribed for use in system.description.joints) else None
    results = {
        "forward": system.forward_dynamics(q, v, tau, a=given),
        "loaded": system.forward_dynamics(q, v, tau, a=given, wrenches=wrench),
        "driving": system.driving_forces(q, v, tau, a=given),
        "inverse": system.inverse_dynamics(q, v, a, wrenches=wrench),
        "bias": system.bias_force(q, v),
        "mass": system.mass_matrix(q),
        "reactions": system.reactions(q, v, tau, a=given).wrenches,
        "energy": np.array(system.energy(q, v)),
        "momentum": np.array(system.momentum(q, v)),
        "center": system.center_of_mass(q),
        "pose": system.pose(q, place),
        "velocity": system.velocity(q, v, place),
        "acceleration": system.acceleration(q, v, a, place),
        "jacobian": system.jacobian(q, place),
    }
    if system.nv:
        composite = {"a": given, "formulation": "composite"}
        results["composite"] = system.forward_dynamics(q, v, tau, **composite)
        results["composite, loaded"] = system.forward_dynamics(q, v, tau, wrenches=wrench, **composite)
        results["composite driving"] = system.driving_forces(q, v, tau, **composite)
        results["composite reactions"] = system.reactions(q, v, tau, **composite).wrenches
    return results


@pytest.mark.parametrize("seed", [0, *deep(range(1, 6))])
def test_every_function_agrees_on_random_trees(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    prescribed = 0.3 if seed % 2 else 0.0
    mechanism = random_mechanism(seed, n_bodies=3 + 2 * seed, kinds=KINDS, prescribed=prescribed)
    place = mechanism.describe().bodies[-1].name
    states = random_states(mechanism.build(), seed, 1)
    rolled, straight = both(mechanism, monkeypatch, lambda s: everything(s, place, states))
    for name, expected in straight.items():
        assert relative(rolled[name], expected) < TOLERANCE, name


@pytest.mark.rest
def test_lanes_of_loops_give_the_bits_of_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
    system = random_mechanism(11, n_bodies=9, kinds=KINDS).build()
    states = random_states(system, 0, 13)
    q, v, tau = states["q"], states["v"], states["tau"]
    batch = system.forward_dynamics(q, v, tau, threads=1)
    matrices = system.mass_matrix(q, threads=1)
    solved = system.forward_dynamics(q, v, tau, formulation="composite", threads=1)
    for i in range(13):
        assert np.array_equal(solved[i], system.forward_dynamics(q[i], v[i], tau[i], formulation="composite"))
        assert np.array_equal(batch[i], system.forward_dynamics(q[i], v[i], tau[i]))
        assert np.array_equal(matrices[i], system.mass_matrix(q[i]))


def parametric_chain(n: int) -> wt.Mechanism:
    """A chain whose lengths, masses and gravity hang on parameters; a screw with a parameter for its lead."""
    m = wt.Mechanism("chain")
    length, mass, lead = m.parameter("length", 0.3), m.parameter("mass", 1.5), m.parameter("lead", 0.2)
    m.gravity = (0, 0, -9.81 * m.parameter("g", 1.0))
    body = m.ground
    for i in range(n):
        link = m.body(f"link{i}", wt.rod(length=length, mass=mass + 0.1 * i, axis="x"))
        if i % 3 == 2:
            m.screw(f"j{i}", body, link, at=(length, 0, 0.1), axis="z", lead=lead)
        else:
            at = (0.0, 0.0, 0.2) if i == 0 else (length, 0, 0)
            m.revolute(f"j{i}", body, link, at=at, axis="y" if i % 2 else "z")
        body = link
    m.frame("tip", on=body, at=(length, 0, 0))
    return m


@pytest.mark.rest
@pytest.mark.parametrize("values", [None, {"length": 0.4, "mass": 0.7, "lead": -0.3, "g": 0.5}])
def test_parameters_reach_the_loops(values, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = parametric_chain(7)
    rng = np.random.default_rng(3)
    q, v, tau = rng.uniform(-1, 1, (3, 7))

    def compute(s: wt.System) -> dict[str, np.ndarray]:
        return {
            "forward": s.forward_dynamics(q, v, tau, parameters=values),
            "composite": s.forward_dynamics(q, v, tau, parameters=values, formulation="composite"),
            "energy": np.array(s.energy(q, v, parameters=values)),
            "pose": s.pose(q, "tip", parameters=values),
            "jacobian": s.jacobian(q, "tip", parameters=values),
            "mass": s.mass_matrix(q, parameters=values),
        }

    rolled, straight = both(mechanism, monkeypatch, compute)
    for name, expected in straight.items():
        assert relative(rolled[name], expected) < TOLERANCE, name


def test_kinds_are_few_and_constants_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of equal links has code for a handful of steps, and hardly any constants per link."""
    monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
    m = wt.Mechanism("chain")
    body = m.ground
    for i in range(60):
        link = m.body(f"link{i}", wt.rod(length=1.0, mass=1.0, axis="x"))
        m.revolute(f"j{i}", body, link, at=(float(i > 0), 0, 0), axis="y")
        body = link
    system = m.build()
    program = system._engine.equations.roll(system._engine.resolved(Request("forward_dynamics")))
    variants = sum(len(step.variants) for step in program.steps if hasattr(step, "variants"))
    assert variants <= 8
    assert len(program.constants) == 0  # all links are alike, and only the first one's place differs


@pytest.mark.parametrize("seed", [3, *deep(range(4, 9))])
def test_every_element_acts_in_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Formulas, tables, contacts, states of their own and numbers with parameters, on random trees."""
    m = random_mechanism(seed, n_bodies=7, kinds=KINDS)
    load_up(m, np.random.default_rng(seed))
    if seed == 3:
        curve = wt.Table([0.0, 0.5, 2.0], [0.0, 3.0, 4.0])
        m.spring("table", "ground", m.describe().bodies[-1].name, law=lambda x, rate: curve(x) + 0.1 * rate)
    place, rng = m.describe().bodies[-1].name, np.random.default_rng([seed, 1])
    states = random_states(m.build(), seed, 1)
    q, v, tau, a = (states[name][0] for name in ("q", "v", "tau", "a"))
    z, wrench = rng.normal(size=2), {place: np.arange(1.0, 7.0)}
    for parameters in (None, {"unit": 0.8}):
        given: dict[str, Any] = {"t": 0.6, "z": z, "parameters": parameters}

        def compute(s: wt.System, given: dict[str, Any] = given) -> dict[str, np.ndarray]:
            return {
                "forward": s.forward_dynamics(q, v, tau, wrenches=wrench, **given),
                "composite": s.forward_dynamics(q, v, tau, formulation="composite", **given),
                "driving": s.driving_forces(q, v, tau, **given),
                "inverse": s.inverse_dynamics(q, v, a, wrenches=wrench, **given),
                "reactions": s.reactions(q, v, tau, **given).wrenches,
                "energy": np.array(s.energy(q, v, **given)),
            }

        rolled, straight = both(m, monkeypatch, compute)
        for name, expected in straight.items():
            assert relative(rolled[name], expected) < TOLERANCE, name


def chain_of_parts(n: int) -> wt.Mechanism:
    """A chain in which each link has a mass and a spring of its own, both with parameters."""
    m = wt.Mechanism("chain")
    stiffness, body = m.parameter("stiffness", 3.0), m.ground
    for i in range(n):
        link = m.body(f"link{i}", wt.box((0.3, 0.05, 0.04), m.parameter(f"mass{i}", 1.0 + 0.1 * i)))
        m.spherical(f"j{i}", body, link, at=(0.3, 0, 0))
        law = stiffness * (1 + i) * m.elongation**3 + 0.1 * i * m.elongation_rate * ca.sin(m.time)
        m.spring(f"spring{i}", m.ground, link, at=(0.1 * i, 1.0, 0.2), law=law)
        m.contact(f"contact{i}", link, radius=0.1, stiffness=1e4 + i, offset=0.1 * ca.sin((2 + i) * m.time))
        body = link
    return m


def test_elements_and_bodies_that_differ_in_numbers_only_share_their_code() -> None:
    kinds, sizes = [], []
    for n in (60, 90):
        equations = chain_of_parts(n).build()._engine.equations
        program = equations.roll(Request("forward_dynamics", "articulated"))
        kinds.append(sum(len(step.variants) for step in program.steps if hasattr(step, "variants")))
        sizes.append(sum(len(step.table) for step in program.steps if hasattr(step, "variants")))
    assert kinds[0] == kinds[1] < 40
    assert sizes[1] == sizes[0] + 30 * 7


@dataclass(frozen=True)
class Spiral(Joint):
    """A turn about z that advances along it, with the child at a radius: a joint type with constants of its own."""

    advance: float
    radius: float

    kind: ClassVar[str] = "spiral"
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    n_configuration: ClassVar[int] = 3
    position_labels: ClassVar[tuple[str, ...]] = ("angle",)
    velocity_labels: ClassVar[tuple[str, ...]] = ("angular velocity",)

    def configuration(self, q: ca.SX) -> ca.SX:
        return ca.vertcat(ca.cos(q), ca.sin(q), self.advance * q)

    def shift(self, x: ca.SX) -> Shift:
        out = Translation(ca.vertcat(self.radius, 0, 0))
        return Shift((Translation(ca.vertcat(0, 0, x[2])), Turn(x[0], x[1]), out))

    def joint_map(self, x: ca.SX) -> ca.SX:
        return ca.SX(ca.vertcat(0, 0, 1, 0, self.radius, self.advance))

    def joint_bias(self, x: ca.SX, v: ca.SX) -> ca.SX:
        return ca.SX(ca.vertcat(0, 0, 0, -self.radius * v * v, 0, 0))


@pytest.mark.rest
@pytest.mark.parametrize(("n", "parameter"), [(12, True), (12, False), *deep([(60, True), (60, False)])])
def test_a_joint_type_hands_over_its_own_constants(n: int, parameter: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    m = wt.Mechanism("chain")
    body, scale = m.ground, m.parameter("scale", 0.02) if parameter else 0.02
    for i in range(n):
        link = m.body(f"link{i}", wt.box((0.3, 0.05, 0.04), 1.0))
        backward = i % 5 == 4
        m.revolute(f"j{i}", *((link, body) if backward else (body, link)), at=(0.3, 0, 0), axis="xyz"[i % 3])
        m._joints[f"j{i}"] = replace(m._joints[f"j{i}"], joint=Spiral(scale * (1 + i % 7), 0.01 * (1 + i)))
        body = link
    rng = np.random.default_rng(5)
    q, v, tau = rng.uniform(-0.5, 0.5, (3, n))

    def compute(s: wt.System) -> dict[str, np.ndarray]:
        return {"a": s.forward_dynamics(q, v, tau), "mass": s.mass_matrix(q), "energy": np.array(s.energy(q, v))}

    rolled, straight = both(m, monkeypatch, compute)
    for name, expected in straight.items():
        assert relative(rolled[name], expected) < 1e-9, name


def test_operations_grow_linearly(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for n in (60, 120, 240):
        counts.append(parametric_chain(n).build(fold=True).kernels.operations("forward_dynamics").total)
    assert counts[2] - counts[1] == pytest.approx(2 * (counts[1] - counts[0]), rel=0.02)
    assert counts[2] < 2.1 * counts[1]


def test_a_singular_hinge_in_a_large_model_is_named() -> None:
    m = wt.Mechanism("chain")
    body = m.ground
    for i in range(60):
        link = m.body(f"link{i}", wt.rod(length=1.0, mass=1.0, axis="x")) if i < 59 else m.body(f"link{i}")
        m.revolute(f"j{i}", body, link, at=(1.0, 0, 0), axis="y")
        body = link
    for formulation in ("articulated", "composite"):
        with pytest.raises(wt.DynamicsError, match='"j59"'):
            m.build().forward_dynamics(np.zeros(60), np.zeros(60), formulation=formulation)


@pytest.mark.parametrize("least", [1, 10**9])
def test_a_hinge_that_is_singular_for_some_parameters_is_named(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a joint nearer to the ground, where nothing can be computed either."""
    monkeypatch.setattr(size_policy, "ROLL_FROM", least)
    m = wt.Mechanism("chain")
    mass, body = m.parameter("mass", 1.0), m.ground
    for i in range(5):
        link = m.body(f"link{i}", wt.box((0.3, 0.1, 0.1), mass if i == 3 else 1.0 if i < 3 else 0.0))
        m.revolute(f"j{i}", body, link, at=(0.3, 0, 0), axis="xyz"[i % 3], prescribed=i == 4)
        body = link
    s = m.build()
    for formulation in ("articulated", "composite"):
        with pytest.raises(wt.DynamicsError, match='"j3"'):
            s.forward_dynamics(np.zeros(5), np.zeros(5), parameters={"mass": 0.0}, formulation=formulation)


def crown(branches: int, joints: int) -> wt.Mechanism:
    """Branches of equally many joints on one free body."""
    m = wt.Mechanism("crown")
    hub = m.body("hub", wt.box((0.3, 0.3, 0.3), 5.0))
    m.free("flight", m.ground, hub)
    for b in range(branches):
        body = hub
        for i in range(joints):
            link = m.body(f"link{b}_{i}", wt.box((0.3, 0.05, 0.04), 1.0 + 0.1 * b))
            m.revolute(f"j{b}_{i}", body, link, at=(0.3, 0.02 * b, 0), axis="xyz"[(b + i) % 3])
            body = link
    return m


@pytest.mark.rest
def test_composite_bodies_of_a_large_tree_keep_the_zeros_between_branches() -> None:
    """The results are those of articulated bodies, and the work is that of each branch by itself."""
    s = crown(10, 5).build()
    q, (v, tau) = np.array([s.random(i) for i in range(9)]), np.random.default_rng(4).uniform(-1, 1, (2, 9, s.nv))
    expected = s.forward_dynamics(q, v, tau, formulation="articulated")
    assert measures.relative(s.forward_dynamics(q, v, tau, formulation="composite"), expected) < 1e-12
    few, many = (
        crown(branches, 5).build().kernels.operations("forward_dynamics", formulation="composite").total
        for branches in (10, 20)
    )
    assert many < 2.05 * few  # with a full matrix it would be some seven times as much


def loaded_crown() -> wt.Mechanism:
    """Branches with springs and dampers between bodies, to the ground, and at joints."""
    m = crown(3, 2)
    for b in range(3):
        m.spring(f"tie{b}", f"link{b}_1", f"link{(b + 1) % 3}_1", stiffness=30.0 + b, free_length=0.5, damping=0.3)
        m.torsion_spring(f"twist{b}", f"j{b}_1", stiffness=2.0 + b, rest=0.2, damping=0.1)
    m.spring("anchor", m.ground, "hub", stiffness=50.0, free_length=0.1, at=(0.1, 0.2, 1.0))
    m.friction("friction", "j1_0", viscous=0.2)
    return m


@pytest.mark.rest
def test_forces_are_walked_in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = loaded_crown()
    s = mechanism.build()
    q, (v, tau) = s.random(2), np.random.default_rng(8).uniform(-1, 1, (2, s.nv))
    wrench = {"link2_0": np.arange(1.0, 7.0)}

    def compute(s: wt.System) -> dict[str, np.ndarray]:
        request = s._engine.resolved(Request("forward_dynamics"))
        results = {"rolls": s._engine.equations.rolls(request)}
        for formulation in ("articulated", "composite"):
            results[formulation] = s.forward_dynamics(q, v, tau, formulation=formulation, wrenches=wrench)
            results[f"reactions, {formulation}"] = s.reactions(q, v, tau, formulation=formulation).wrenches
        results["inverse"] = s.inverse_dynamics(q, v, tau, wrenches=wrench)
        results["bias"] = s.bias_force(q, v)
        results["energy"] = np.array(s.energy(q, v))
        return results

    rolled, straight = both(mechanism, monkeypatch, compute)
    assert rolled.pop("rolls") and not straight.pop("rolls")
    for name, expected in straight.items():
        assert relative(rolled[name], expected) < TOLERANCE, name


def test_driving_forces_under_elements_are_walked_in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """At free joints the efforts given are returned, at prescribed ones those needed, less what the elements do."""
    mechanism = loaded_crown()
    for name in ("j0_1", "j1_0"):
        mechanism._joints[name] = replace(mechanism._joints[name], prescribed=True)
    s = mechanism.build()
    q, (v, tau, a) = s.random(2), np.random.default_rng(8).uniform(-1, 1, (3, s.nv))
    rolled, straight = both(mechanism, monkeypatch, lambda s: {"driving": s.driving_forces(q, v, tau, a=a)})
    assert relative(rolled["driving"], straight["driving"]) < TOLERANCE
    free = [i for name in ("j0_0", "j1_1", "j2_1") for i in range(s.v_slice(name).start, s.v_slice(name).stop)]
    assert (rolled["driving"][free] == tau[free]).all()


def test_a_kernel_kept_as_a_straight_line_does_not_stand_for_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []
    for least in (1, 10**9):
        monkeypatch.setattr(size_policy, "ROLL_FROM", least)
        keys.append(crown(2, 1).build().kernels.of("forward_dynamics").key)
    assert keys[0] != keys[1]


def test_composite_bodies_of_a_large_tree_with_forces(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written as a formula is not walked in loops: the mass matrix, the bias and the solve are separate."""
    monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
    m = crown(3, 2)
    m.spring("tie", "link0_1", "link2_1", law=lambda x, rate: 30.0 * (x - 0.5))
    m.friction("friction", "j1_0", viscous=0.2)
    s = m.build()
    rng = np.random.default_rng(6)
    q, (v, tau) = np.array([s.random(i) for i in range(3)]), rng.uniform(-1, 1, (2, 3, s.nv))
    for given in ((q, v, tau), (q[0], v[0], None), (q[0], v, tau[0])):
        expected = s.forward_dynamics(*given, formulation="articulated")
        assert measures.relative(s.forward_dynamics(*given, formulation="composite"), expected) < 1e-11
    reactions = s.reactions(q, v, tau, formulation="composite").wrenches
    assert measures.relative(reactions, s.reactions(q, v, tau, formulation="articulated").wrenches) < 1e-10
    v[1, 2] = np.nan
    with pytest.raises(wt.StateError, match=r"v\[2\] in state 1 is nan"):
        s.forward_dynamics(q, v, tau, formulation="composite")


def test_composite_bodies_where_every_hinge_is_prescribed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_policy, "ROLL_FROM", 1)
    m = wt.Mechanism("driven")
    arm = m.body("arm", wt.rod(length=1.0, mass=1.0, axis="x"))
    m.revolute("hinge", m.ground, arm, axis="y", prescribed=True)
    s = m.build()
    assert s.forward_dynamics([0.1], [0.2], a=[3.0], formulation="composite").tolist() == [3.0]


@pytest.mark.deep
def test_a_thousand_joints() -> None:
    """Inverse dynamics undoes forward dynamics in a chain of a thousand links."""
    system = parametric_chain(1000).build()
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-0.1, 0.1, (3, 1000))
    a = system.forward_dynamics(q, v, tau)
    bias = np.abs(system.bias_force(q, v)).max()  # the efforts are differences of numbers of this size
    assert np.abs(system.inverse_dynamics(q, v, a) - tau).max() < 1e-9 * bias


def test_a_large_tree_with_a_prescribed_joint_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """What time loops ask for has the power of the drive in it, which no rolled form gives."""
    m = wt.Mechanism("driven")
    body = m.ground
    for i in range(3):
        link = m.body(f"link {i}", wt.box(size=(0.2, 0.3, 0.6), mass=1.0))
        m.revolute(f"joint {i}", body, link, at=(0, 0, 0.5), axis="xyz"[i], prescribed=i == 1)
        body = link
    rolled, straight = both(m, monkeypatch, lambda s: s.simulate(0.1, every=0.1, tolerance=1e-9, v=[0.0, 0.5, 0.0]).q)
    np.testing.assert_array_equal(rolled, straight)
