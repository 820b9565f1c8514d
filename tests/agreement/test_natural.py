"""Natural coordinates and formulation A on the random mechanisms of the tests, with reactions.

The reference is that of `test_loops`: absolute coordinates in plain NumPy. Formulation A opens loops at bodies, so that
it shares neither coordinates nor cuts with the other formulations. Exact ones agree to 1e-9; the penalties are as far
off as they say themselves, within a factor of ten, and never more than theory allows (`penalty_bounds`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import whippletree as wt
from support.loop_agreement import accelerations, assert_close, computed, estimated, reactions
from support.loop_models import built
from support.measures import evaluated, relative
from support.penalty_bounds import penalty_bound
from support.random_loops import FAMILIES, MEMBERS, QUICK, case
from support.random_trees import random_mechanism, random_states
from support.sampling import sampled, shared
from whippletree.formulations.natural.opened_chains import chain_opening

A = tuple(f"velocity_transformation/natural/{way}" for way in ("multipliers", "independent"))
EXACT = ("natural/exact/10000000/6", *A)
SOFT = ("natural", "velocity_transformation/natural/penalty")


TWICE = ("expressions", 6)
"""Two balls at one point: conditions of the second are rounding, and must not get a weight as if they were not."""

ROUNDING = ("overconstrained", 31)
"""All conditions that close the loop are rounding: the chains move as they say by themselves."""


def assert_opened_at_bodies(s: wt.System) -> None:
    """Without the bodies that are left out, and the joints that are cut for want of such a body, nothing is closed."""
    opening = chain_opening(*s._engine.loops.numbers._resting)
    assert len(opening.joints) == opening.n_bodies - len(opening.removed)
    kept = {k for k, ends in enumerate(opening.ends) if not opening.removed & set(ends)}
    assert opening.held | opening.cut >= {k for k in kept if len(set(opening.ends[k])) == 2}
    assert all(joint.near not in opening.removed for joint in opening.joints)


@pytest.mark.parametrize(("family", "i"), sampled(MEMBERS, lambda key: key in (*QUICK, TWICE, ROUNDING), core=3))
def test_random_loops(family: str, i: int) -> None:
    c, k = case(family, i), list(FAMILIES).index(family)
    s = built(c.looped)
    assert_opened_at_bodies(s)
    named = EXACT if (family, i) in (TWICE, ROUNDING) else shared(EXACT, k)
    assert_close({**accelerations(s, c, named), **reactions(s, c, named)})
    for name in shared(SOFT, k):
        error, a = estimated(s, c, name)
        true = relative(a[None], c.a[None])
        assert true < penalty_bound(s, c.q, c.v, name), name
        assert error > true / 10, name


@pytest.mark.rest
@pytest.mark.parametrize("seed", sampled(range(60), lambda seed: seed in (4, 55)))
def test_random_trees(seed: int) -> None:
    n_bodies = 1 + (11 * seed) % (13 if seed < 16 else 40)
    prescribed = 0.3 if seed % 2 else 0.0
    s = random_mechanism(seed + 100, n_bodies, prescribed=prescribed, floating=seed % 3 == 1).build()
    x = random_states(s, seed, 3)
    given = [x["a"]] if any(use.prescribed for use in s.description.joints) else []

    def by(function: str, name: str) -> np.ndarray:
        return evaluated(s.function(function, formulation=name), x["q"], x["v"], x["tau"], *given)

    expected = {one: by(one, "articulated") for one in ("forward_dynamics", "reactions", "driving_forces")}
    for function, values in expected.items():
        for name in (EXACT[0], A[0]) if function == "forward_dynamics" else (A[0],):
            assert relative(by(function, name), values) < 1e-9, (function, name)
    off = relative(by("forward_dynamics", "natural"), expected["forward_dynamics"])
    assert off < penalty_bound(s, x["q"], x["v"], "natural")


def test_reactions_of_a_penalty_are_as_good_as_its_accelerations() -> None:
    c = case("one loop", 0)
    s = built(c.looped)
    error, _ = estimated(s, c, "natural")
    assert max(reactions(s, c, ("natural",)).values()) < 10 * max(error, 1e-9)
    assert relative(computed(s, c, "forward_dynamics", "natural")[None], c.a[None]) < 10 * error


@pytest.mark.parametrize("name", ["natural", "penalty"])
@pytest.mark.parametrize("weight", [0.0, 9.81])
def test_a_hanging_four_bar_hangs(name: str, weight: float) -> None:
    """In balance accelerations vanish, and rounding is that of the forces that cancel."""
    m = wt.Mechanism("hanging four-bar", gravity=(0, -weight, 0))
    for k in (0, 1):
        m.revolute(f"A{k}", m.ground, m.body(f"r{k}", wt.rod(length=1.0, mass=1.0, axis="-y")), at=(k, 0, 0), axis="z")
    m.body("c", wt.rod(length=1.0, mass=1.0, axis="x"))
    m.revolute("B", "r0", "c", at=(0, -1, 0), axis="z")
    m.revolute("C", "c", "r1", at=(1, 0, 0), at_child=(0, -1, 0), axis="z")
    s = m.build()
    assert np.abs(s.forward_dynamics(s.q0, s.v0, formulation=name)).max() <= 1e-9 * weight


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), sampled(MEMBERS[::4], lambda key: key in (("one loop", 0), ("planar", 0))))
def test_random_loops_in_balance(family: str, i: int) -> None:
    """At rest, under efforts that hold the weights, nothing moves, and no penalty is refused; nor without weights."""
    looped = case(family, i).looped
    for gravity in (looped.gravity, np.zeros(3)):
        s = built(replace(looped, gravity=gravity))
        if s.description.closures_timed:
            return
        q, rest = s.q0, np.zeros(s.nv)
        held = s.inverse_dynamics(q, rest, rest)
        for name in ("natural", "penalty"):
            a = s.forward_dynamics(q, rest, held, formulation=name)
            assert np.abs(a).max() <= 1e-6 * np.abs(gravity).max(), (name, gravity)
