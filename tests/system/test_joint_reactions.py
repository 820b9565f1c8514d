"""Reactions of some joints alone: the same numbers as among all, for less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.loop_models import built
from support.random_loops import case
from support.sampling import sampled
from whippletree.system.example_systems import four_bar

Array = np.ndarray


def arm() -> wt.System:
    m = wt.Mechanism("arm")
    parent: Any = m.ground
    for k in range(5):
        link = m.body(f"link {k}", wt.cylinder(0.05, 0.5, 1.0 + k, axis="x"))
        m.revolute(f"J{k}", parent, link, at=(0.5, 0, 0) if k else (0, 0, 0), axis="yzxyz"[k])
        parent = link
    m.fixed("tool", parent, m.body("tool", wt.sphere(0.1, 0.5)), at=(0.5, 0, 0))
    return m.build()


def test_of_a_tree() -> None:
    s, rng = arm(), np.random.default_rng(1)
    q, v, tau = rng.normal(size=(3, 7, s.nv))
    whole = s.reactions(q, v, tau)
    for formulation in ("articulated", "composite", "fully_recursive"):
        some = s.reactions(q, v, tau, joints=["tool", "J1"], formulation=formulation)
        assert tuple(some) == ("tool", "J1")
        for name in some:
            assert np.abs(some[name].wrench - whole[name].wrench).max() < 1e-9 * np.abs(whole.wrenches).max()
    alone, everything = (s.kernels.operations("reactions", **options).total for options in ({"joints": ["J4"]}, {}))
    assert alone < 0.95 * everything


def check(s: wt.System, joints: list[str], state: tuple[Array, ...], **options: Any) -> None:
    whole, some = s.reactions(*state, **options), s.reactions(*state, joints=joints, **options)
    scale = np.abs(whole.wrenches).max()
    for name in joints:
        assert np.abs(some[name].wrench - whole[name].wrench).max() < 1e-9 * scale
        assert (some[name].unique == whole[name].unique).all()


@pytest.mark.parametrize(
    "formulation",
    sampled(["constraint_embedding", "auto", "tree_augmented", "joint_multipliers"], lambda n: n[0] == "c"),
)
def test_of_loops_with_redundancy(formulation: str) -> None:
    s = four_bar()
    v = s.consistent_velocities(s.q0, {"A": 1.0})
    for joints in (["C"], ["A", "D"]):
        check(s, joints, (s.q0, v, np.arange(4.0)), formulation=formulation)
    batch = np.array([s.assemble({"A": a}, hold=["A"]) for a in (0.9, 1.0, 1.1)])
    check(s, ["D"], (batch, np.zeros_like(batch)), frame="coupler", formulation=formulation)
    alone, everything = (
        s.kernels.operations("reactions", formulation=formulation, **o).total for o in ({"joints": ["C"]}, {})
    )
    assert alone < 0.8 * everything


@pytest.mark.parametrize(("family", "i"), [("overconstrained", 0), pytest.param("in a row", 1, marks=pytest.mark.deep)])
def test_of_random_loops_by_their_own_circles(family: str, i: int) -> None:
    """Joints outside of redundant loops are found alone; those inside share with their own loops only."""
    c = case(family, i)
    s = built(c.looped)
    options = {"wrenches": c.loads, "t": c.looped.t}
    for name in s.joint_names[:3]:
        check(s, [name], (c.q, c.v, c.tau), **options)


def test_as_a_function() -> None:
    s = four_bar()
    function = s.function("reactions", joints=["C", "A"])
    found = np.array(function(s.q0, s.v0, np.zeros(4))).reshape(2, 6)
    everything = np.array(s.function("reactions")(s.q0, s.v0, np.zeros(4))).reshape(4, 6)
    assert np.abs(found - everything[[2, 0]]).max() < 1e-12
    assert "reactions" in s.c_source("reactions", joints=["C"])


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        (["X"], 'no joint "X"; there is "A", "B", "C", "D"'),
        ("A", r'joints=\["A"\]'),
        ([], "names no joint"),
        (["A", "A"], "twice"),
        (3, "must list joints"),
        ([2], "no joint"),
    ],
)
def test_names_that_are_none(joints: Any, words: str) -> None:
    s = four_bar()
    with pytest.raises(wt.StateError, match=words):
        s.reactions(s.q0, s.v0, joints=joints)


def test_joints_belong_to_reactions() -> None:
    with pytest.raises(wt.StateError, match="belongs to reactions"):
        four_bar().kernels.operations("forward_dynamics", joints=["A"])
    run = four_bar().simulate(0.1, every=0.05)
    assert tuple(run.reactions(joints=["B"])) == ("B",)
