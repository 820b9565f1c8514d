"""Methods mixed by branch on trees, and reference points body by body: the same accelerations as by one method."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.measures import evaluated, relative
from support.random_trees import random_mechanism, random_states
from support.sampling import sampled
from whippletree.analysis.models import bricard, serial_chain, stanford_arm
from whippletree.formulations.methods.by_branch import BRANCH_METHODS
from whippletree.formulations.recursions.ground_axes import REFERENCES

CHOICES = {
    "branches": ("by_branch", BRANCH_METHODS),
    "reference": ("fully_recursive", REFERENCES),
}


def moving(s: wt.System) -> list[str]:
    """The bodies that are not welded to each other or to the ground."""
    where = s.kernels.equations.node_tree().where
    seen: dict[int, str] = {}
    for body in s.description.bodies:
        k = where[body.name][0]
        if k >= 0:
            seen.setdefault(k, body.name)
    return list(seen.values())


@pytest.mark.parametrize("option", CHOICES)
@pytest.mark.parametrize("seed", sampled(range(20), lambda seed: seed < 3))
def test_random_trees_by_random_choices(option: str, seed: int) -> None:
    formulation, words = CHOICES[option]
    s = random_mechanism(seed, 4 + seed % 9, prescribed=0.3 if seed % 2 else 0.0).build()
    x, rng = random_states(s, seed, 2), np.random.default_rng(seed)
    chosen = {name: str(rng.choice(words)) for name in moving(s) if rng.random() < 0.6} or {moving(s)[0]: words[1]}
    given = [x["a"]] if any(use.prescribed for use in s.description.joints) else []
    for function in ("forward_dynamics", "reactions") if seed < 2 else ("forward_dynamics",):
        found, expected = (
            evaluated(s.function(function, **how), x["q"], x["v"], x["tau"], *given)
            for how in ({"formulation": formulation, option: chosen}, {"formulation": "articulated"})
        )
        assert relative(found, expected) < 1e-10, (function, chosen)


def test_reference_points_in_loops() -> None:
    s = bricard().build()
    v = s.consistent_velocities(s.q0, np.random.default_rng(1).normal(size=s.nv))
    expected = np.array(s.function("forward_dynamics", formulation="absolute")(s.q0, v, 0)).ravel()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        chosen = {body.name: str(rng.choice(REFERENCES)) for body in s.description.bodies}
        found = s.function("forward_dynamics", formulation="fully_recursive", reference=chosen)(s.q0, v, 0)
        assert relative(np.array(found).ravel(), expected) < 1e-9, chosen


def test_the_cheapest_branches_take_no_more_operations_than_recursion() -> None:
    for model, saves in ((serial_chain(8, "revolute"), True), (stanford_arm(6), False)):
        s = model.build()
        mixed, recursive = (
            s.kernels.operations("forward_dynamics", formulation=name).total for name in ("by_branch", "articulated")
        )
        assert mixed < recursive if saves else mixed == recursive


def test_a_mapping_is_a_formulation() -> None:
    s = stanford_arm(6).build()
    chosen = {"wrist 1": "composite"}
    run = s.simulate(0.2, formulation=chosen)
    np.testing.assert_allclose(run.q, s.simulate(0.2).q, atol=1e-9)
    assert run.info["formulation"] == 'by_branch/{"wrist 1": "composite"}'


def test_what_makes_no_sense_is_refused() -> None:
    m = wt.Mechanism("m")
    m.revolute("hinge", m.ground, m.body("arm", wt.rod(1.0, 1.0)))
    m.fixed("weld", "arm", m.body("hand", wt.rod(0.1, 0.1)), at=(1, 0, 0))
    m.fixed("foot", m.ground, m.body("plinth", wt.rod(0.1, 0.1)))
    s = m.build()

    def refused(match: str, **how: object) -> None:
        with pytest.raises(wt.StateError, match=match):
            s.forward_dynamics(s.q0, s.v0, **how)

    refused('there is no body "hnad"; did you mean "hand"', formulation={"hnad": "composite"})
    refused('the branch of body "arm" must be solved by one of', formulation={"arm": "penalty"})
    refused('"plinth" is welded to the ground', formulation={"plinth": "composite"})
    refused("begin the same branch", formulation={"arm": "composite", "hand": "articulated"})
    refused("welded together", formulation="fully_recursive", reference={"arm": "joint", "hand": "centroid"})
    refused('reference= of body "arm" must be one of', formulation="fully_recursive", reference={"arm": "tip"})
    refused("names no body", formulation="fully_recursive", reference={})
    refused("must map names of bodies to words", formulation="fully_recursive", reference={"arm": 1})
    refused("branches= must map bodies to methods", formulation="by_branch", branches="all")
