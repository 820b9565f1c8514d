"""Mechanisms of many parts that meet only at the ground: a loop over the parts, against each part built by itself."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.kernels.lowering import StraightLine
from whippletree.programs.loop_program import ItemLoop
from whippletree.system import size_policy

COUNT = 33  # from 32 loops on, whole families are looked at in numbers


def add_four_bar(m: wt.Mechanism, k: int, mass: object = 1.0) -> dict[str, float]:
    """Add one four-bar; every third has a spring with a damper, every second longer bars. Return its guess."""
    scale = 1.0 if k % 2 else 1.25
    lengths = (scale, 2 * scale, 1.5 * scale)
    a, b, c = (m.body(f"{n}{k}", wt.rod(length=x, mass=1.0, axis="x")) for n, x in zip("abc", lengths, strict=True))
    bob = m.body(f"bob{k}", wt.point_mass(mass))
    m.revolute(f"A{k}", m.ground, a, at=(0, 0, 0.1 * k), axis="z")
    m.revolute(f"B{k}", a, b, at=(scale, 0, 0), axis="z")
    m.revolute(f"C{k}", b, c, at=(2 * scale, 0, 0), axis="z", at_child=(1.5 * scale, 0, 0))
    m.revolute(f"D{k}", m.ground, c, at=(2 * scale, 0, 0.1 * k), axis="z")
    m.revolute(f"E{k}", c, bob, axis="z", at_child=(0.2 + 0.001 * k, 0.1, 0))
    if k % 3 == 0:
        m.spring(f"spring{k}", m.ground, b, at=(0, 1, 0.1 * k), stiffness=30.0 + k, free_length=1.0, damping=0.4)
    return {f"A{k}": 1.0 + 0.01 * (k % COUNT), f"E{k}": 0.3 * (k % 5)}


def side_by_side(count: int, *, parameter: bool = False) -> tuple[wt.Mechanism, dict[str, float]]:
    m = wt.Mechanism("side by side", gravity=(0, -9.81, 0))
    mass = 0.5 + m.parameter("mass", 1.5) if parameter else 2.0
    guess: dict[str, float] = {}
    for k in range(count):
        guess |= add_four_bar(m, k, mass)
    return m, guess


def evaluated(s: wt.System, function: str, **given: np.ndarray) -> np.ndarray:
    kernel = (
        s.kernels.kernel(function, formulation="coordinate_reduction")
        if function == "derivatives"
        else s.kernels.kernel(function)
    )
    result = np.zeros(kernel.output_sizes[0])
    kernel.one([given[name] for name in kernel.input_names], [result])
    return result


@pytest.fixture(scope="module")
def whole() -> tuple[wt.System, dict[str, np.ndarray]]:
    m, guess = side_by_side(COUNT, parameter=True)
    s = m.build(guess=guess)
    rng = np.random.default_rng(4)
    v = s.kernels.closures.motion_basis(s.q0) @ rng.normal(size=s.mobility.mobility)
    return s, {"q": s.q0, "v": v, "tau": rng.normal(size=s.nv), "parameters": np.array([1.1])}


def test_each_part_moves_as_if_it_were_alone(whole):
    s, given = whole
    found = evaluated(s, "derivatives", **given)
    for k in (0, 7, 32):  # with a spring and long bars, with neither, with long bars
        m = wt.Mechanism("alone", gravity=(0, -9.81, 0))
        alone = m.build(guess=add_four_bar(m, k, 0.5 + 1.1))
        at = np.concatenate([np.r_[s.v_slice(f"{name}{k}")] for name in "ABCDE"])
        q, v, tau = given["q"][at], given["v"][at], given["tau"][at]
        expected = alone.forward_dynamics(q, v, tau, formulation="joint_multipliers")
        np.testing.assert_allclose(expected, found[at], rtol=1e-10, atol=1e-10)
    powers = s.powers(given["q"], given["v"], parameters=given["parameters"])
    np.testing.assert_allclose(found[s.nv + 2 :], [powers.dissipated, powers.supplied], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", ["project", pytest.param("derivatives", marks=pytest.mark.deep)])
def test_a_loop_over_parts_is_the_straight_line(whole, function, monkeypatch):
    s, given = whole
    off = given | {"q": given["q"] + 1e-5 * np.cos(np.arange(s.nq)), "v": given["v"] + 1e-4 * np.sin(np.arange(s.nv))}
    by_parts = evaluated(s, function, **off)
    assert isinstance(s.kernels.kernel(function, formulation="coordinate_reduction").program(), RolledLoops)
    monkeypatch.setattr(size_policy, "has_equal_parts", lambda eq, request: False)
    m, guess = side_by_side(COUNT, parameter=True)
    straight = m.build(guess=guess)
    np.testing.assert_allclose(by_parts, evaluated(straight, function, **off), rtol=1e-11, atol=1e-11)
    assert isinstance(straight.kernels.kernel(function, formulation="coordinate_reduction").program(), StraightLine)


def test_families_do_not_grow_with_the_number_of_parts():
    sizes = []
    for count in (COUNT, 2 * COUNT):
        m, guess = side_by_side(count)
        program = m.build(guess=guess).kernels.kernel("derivatives").program()
        assert isinstance(program, RolledLoops)
        loop = program.program.steps[-1]
        assert isinstance(loop, ItemLoop)
        assert len(loop.table) == count
        sizes.append([variant.function.n_instructions() for variant in loop.variants])
    assert sizes[0] == sizes[1]
    assert len(sizes[0]) <= 4


def test_a_simulation_of_many_parts_is_that_of_one():
    m, guess = side_by_side(COUNT)
    run = m.build(guess=guess).simulate(0.1, tolerance=1e-9)
    alone = wt.Mechanism("alone", gravity=(0, -9.81, 0))
    own = add_four_bar(alone, 7, 2.0)
    one = alone.build(guess=own).simulate(0.1, tolerance=1e-9)
    for name in "ABCDE":
        np.testing.assert_allclose(run[f"{name}7"][-1], one[f"{name}7"][-1], atol=1e-7)
    assert run.certificate.ok
