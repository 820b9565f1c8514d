"""Where the spanning tree has no inertia: accelerations are right, or refused in words, by every formulation.

The reference is `absolute_balance`, dense and in plain NumPy, which knows no tree.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.folded_models import FAMILIES, REGULAR, folded
from support.formulations import TREE_VARIANTS, variants
from support.loop_agreement import computed
from support.loop_models import built
from support.measures import relative
from support.random_loops import Case
from support.sampling import deep, sampled
from whippletree.formulations.methods import find
from whippletree.system.tolerances import PENALTY_PROMISE

pytestmark = pytest.mark.rest

Array = np.ndarray

AWAY = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
LOOPS = (*variants(), "by_group", "penalty", "velocity_transformation/reference_point/penalty")

TOLERANCE = 1e-7
"""In machine code, pivots down to 1e-8 of what they were made of are divided by: half of the digits are left."""

REGULAR_CASES = [(family, i) for family in REGULAR for i in range(12)]
TREE_CASES = [("tree", i) for i in range(12)]


@functools.cache
def far_from(family: str, i: int) -> wt.System:
    """The same mechanism, planned where its tree is regular."""
    return built(folded(family, i, 0.7).looped)


def promised(name: str) -> float:
    return TOLERANCE if name == "auto" or find(name).exact else PENALTY_PROMISE


def off(found: Array, c: Case) -> float:
    return relative(found[None], c.a[None])


NEARNESS = [(*key, away) for key in REGULAR_CASES for away in (AWAY if key[0] == "gear" else AWAY[:1])]


@pytest.mark.parametrize(("family", "i", "away"), sampled(NEARNESS, lambda key: key[1] == 0 and key[2] in AWAY[::3]))
def test_no_formulation_gives_wrong_accelerations(family: str, i: int, away: float) -> None:
    """By CasADi's evaluator: what a kernel cannot tell is not finite, whatever it was planned for."""
    c = folded(family, i, away)
    for s in (built(c.looped), far_from(family, i)):
        for name in LOOPS:
            found = computed(s, c, "forward_dynamics", name)
            assert not np.isfinite(found).all() or off(found, c) < promised(name), name


CALLED = [(*key, name) for key in REGULAR_CASES for name in ("auto", *LOOPS)]
SAMPLED = ("auto", *LOOPS[::4])
OTHERS = tuple(name for name in LOOPS if name not in SAMPLED)


@pytest.mark.parametrize(
    ("family", "i", "name"), sampled(CALLED, lambda key: key[:2] == ("gear", 1) and key[2] in SAMPLED)
)
def test_calls_are_answered_where_the_mechanism_is_regular(family: str, i: int, name: str) -> None:
    """In machine code, alone and in a batch: what a kernel gives up is solved in another way."""
    c, s = folded(family, i), far_from(family, i)
    alone = s.forward_dynamics(c.q, c.v, c.tau, formulation=name)
    assert off(alone, c) < promised(name)
    batch = s.forward_dynamics(np.tile(c.q, (5, 1)), np.tile(c.v, (5, 1)), np.tile(c.tau, (5, 1)), formulation=name)
    assert (batch == batch[0]).all()
    assert off(batch[0], c) < promised(name)


@pytest.mark.parametrize(("family", "i"), sampled(TREE_CASES, lambda key: key[1] < 1))
def test_trees_are_right_to_their_condition_or_refused(family: str, i: int) -> None:
    for away in AWAY:
        c = folded(family, i, away)
        s = built(c.looped)
        condition = np.linalg.cond(s.mass_matrix(c.q))
        for name in TREE_VARIANTS:
            try:
                found = s.forward_dynamics(c.q, c.v, c.tau, formulation=name)
            except wt.DynamicsError as error:
                assert away < 1e-4
                assert 'joint "A" moves nothing that has inertia' in str(error), name
            else:
                assert away > 1e-8, name
                assert off(found, c) < 1e3 * np.finfo(float).eps * condition, (name, away)


def test_a_massless_link_folded_onto_its_tip_is_refused_by_name() -> None:
    m = wt.Mechanism("folded", gravity=(0, -9.81, 0))
    link, tip = m.body("link"), m.body("tip", wt.point_mass(1.0))
    m.revolute("A", m.ground, link, axis="z")
    m.revolute("B", link, tip, axis="z", at=(1, 0, 0), at_child=(-1, 0, 0))
    s = m.build()
    for name in ("auto", *TREE_VARIANTS):
        with pytest.raises(wt.DynamicsError, match='joint "A" moves nothing that has inertia'):
            s.forward_dynamics([np.pi, np.pi], s.v0, formulation=name)


@pytest.mark.parametrize("name", ["articulated", "composite", "fully_recursive"])
def test_a_folded_link_is_noticed_in_a_loop_over_many_bodies(name: str) -> None:
    """Rolled forms, alone and in a batch; away from there they are right."""
    s = link_at_the_end_of_a_chain(60, geared=False).build()
    q = 0.1 * np.sin(np.arange(s.nv))
    q[-1] = np.pi + 0.5
    expected = np.linalg.solve(s.mass_matrix(q), -s.bias_force(q, s.v0))
    assert s.forward_dynamics(q, s.v0, formulation=name) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    q[-1] = np.pi
    for states in (q, np.tile(q, (9, 1))):
        with pytest.raises(wt.DynamicsError, match='joint "A" moves nothing that has inertia'):
            s.forward_dynamics(states, s.v0, formulation=name)


def link_at_the_end_of_a_chain(rods: int, *, geared: bool) -> wt.Mechanism:
    m = wt.Mechanism("chain", gravity=(0, -9.81, 0))
    last: Any = m.ground
    for i in range(rods):
        rod = m.body(f"rod {i}", mass=1.0, com=(0.5, 0, 0), inertia=np.diag([1e-3, 1 / 12, 1 / 12]))
        m.revolute(f"hinge {i}", last, rod, axis="z", at=(1, 0, 0) if i else None)
        last = rod
    link, tip = m.body("link"), m.body("tip", wt.point_mass(1.0))
    m.revolute("A", last, link, axis="z", at=(1, 0, 0))
    m.revolute("B", link, tip, axis="z", at=(1, 0, 0), at_child=(-1, 0, 0))
    if geared:
        m.gear("gear", "A", "B", ratio=1.0)
    return m


@pytest.mark.parametrize("names", [SAMPLED, *deep([(OTHERS,)])])
def test_a_geared_link_at_the_end_of_a_chain(names: tuple[str, ...]) -> None:
    """Folded, every formulation says the same as one that never divides by what the tree's last hinges feel."""
    guess = {f"hinge {i}": 0.3 * i + 0.1 for i in range(10)}
    s = link_at_the_end_of_a_chain(10, geared=True).build(guess={**guess, "A": 1.0, "B": 1.0})
    v = s.consistent_velocities(s.q0, dict.fromkeys(guess, 0.5) | {"A": -2.0})
    for away in (0.0, 1e-12):
        q = s.q0.copy()
        q[-2:] = np.pi + away
        expected = s.forward_dynamics(q, v, formulation="independent_coordinates")
        for name in names:
            found = s.forward_dynamics(q, v, formulation=name)
            assert relative(found[None], expected[None]) < promised(name), name


def test_auto_keeps_away_from_a_tree_that_can_lose_its_inertia() -> None:
    """A run goes through the folded position: the formulation that auto means has accelerations there."""
    s = far_from("gear", 1)
    assert not any(text.startswith(("tree_augmented", "joint_multipliers")) for text in s.chosen.counts)


def test_a_point_mass_on_two_balls() -> None:
    m = wt.Mechanism("balls", gravity=(0, 0, -9.81))
    body = m.body("body", mass=1.0, com=(0.3, 0.4, -0.7))
    m.spherical("first", m.ground, body)
    m.spherical("second", m.ground, body, at=(1, 0, 0), at_child=(1, 0, 0))
    s = m.build()
    for name in ("auto", *LOOPS):  # a pendulum about x: -g y / (y^2 + z^2)
        found = s.forward_dynamics(s.q0, s.v0, formulation=name)
        assert found[0] == pytest.approx(-9.81 * 0.4 / 0.65, rel=1e-7), name


def test_baumgarte_is_kept_where_another_way_is_taken() -> None:
    c, s = folded("gear", 1), far_from("gear", 1)
    q = c.q.copy()
    q[-1] += 1e-3
    terms = {"baumgarte": (5.0, 10.0), "check": False}
    found = s.forward_dynamics(q, c.v, c.tau, formulation="joint_multipliers", **terms)
    plain = s.forward_dynamics(q, c.v, c.tau, formulation="independent_coordinates", check=False)
    row = s.closure_jacobian(q)[0]
    assert row @ (found - plain) == pytest.approx(-100.0 * s.closure_residual(q)[0], rel=1e-5)


def test_families_are_what_they_are_said_to_be() -> None:
    for family in FAMILIES:
        c = folded(family, 1)
        assert c.equations.mobility == c.looped.nv - {"gear": 1, "tree": 0, "balls": 5}[family]
        assert family == "tree" or c.condition < 1e4
