"""All formulations give the same accelerations, reactions and driving forces, for every joint type."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.formulations import TREE_VARIANTS
from support.measures import evaluated, relative
from support.random_trees import KINDS, random_mechanism, random_states
from support.sampling import sampled

TOLERANCE = 1e-10
TREES = 60
CLOSED_OTHERWISE = ("/penalty", "/independent")  # the same on a tree
COMPARED = ("forward_dynamics", "reactions", "driving_forces")


def trees() -> list:
    return sampled(range(TREES), lambda seed: seed < 4)


def differences(mechanism: wt.Mechanism, seed: int, wrenches: list[str]) -> dict[str, float]:
    """The relative differences of every formulation from the first one."""
    s = mechanism.build()
    x = random_states(s, seed, 3)
    given = [x["a"]] if any(use.prescribed for use in s.description.joints) else []
    loads = np.random.default_rng(seed).uniform(-5.0, 5.0, (len(wrenches), 3, 6))
    found = {}
    for function in COMPARED:
        first, *others = (name for name in TREE_VARIANTS if not name.endswith(CLOSED_OTHERWISE))
        if function != "forward_dynamics":  # the others in turn
            others = [others[0], others[1 + seed % (len(others) - 1)]]
        assert others, "there is nothing to compare"
        results = {
            name: evaluated(
                s.function(function, formulation=name, wrenches=wrenches),
                x["q"],
                x["v"],
                x["tau"],
                *given,
                *loads,
            )
            for name in (first, *others)
        }
        for name in others:
            found[f"{function}, {name}"] = relative(results[name], results[first])
    return found


def assert_close(found: dict[str, float]) -> None:
    far = {name: f"{value:.2e}" for name, value in found.items() if not value < TOLERANCE}
    assert not far, far


@pytest.mark.rest
@pytest.mark.parametrize("seed", trees())
def test_random_trees(seed: int) -> None:
    n_bodies = 1 + (11 * seed) % (13 if seed < 16 else 40)
    prescribed = 0.3 if seed % 2 else 0.0
    mechanism = random_mechanism(seed + 100, n_bodies, prescribed=prescribed, floating=seed % 3 == 1)
    assert_close(differences(mechanism, seed, ["frame 0", "frame 1"] if seed % 4 < 2 else []))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
def test_each_joint_alone(kind: str) -> None:
    mechanism = random_mechanism(1, 4, kinds=(kind,), prescribed=0.3)
    assert_close(differences(mechanism, 1, ["body 3"]))


def test_massless_bodies_between_joints() -> None:
    m = wt.Mechanism("cardan by hand")
    cross, shaft = m.body("cross"), m.body("shaft", wt.box((0.1, 0.2, 1.0), mass=2.0, at=(0.1, 0.0, -0.5)))
    m.revolute("first", m.ground, cross, axis="x")
    m.revolute("second", cross, shaft, axis="y")
    m.frame("tip", on=shaft, at=(0, 0, -1))
    assert_close(differences(m, 4, ["tip"]))


def test_a_universal_joint_is_two_hinges() -> None:
    box = wt.box((0.1, 0.2, 1.0), mass=2.0, at=(0.1, 0.0, -0.5))
    m = wt.Mechanism("cardan by hand")
    cross, shaft = m.body("cross"), m.body("shaft", box)
    m.revolute("first", m.ground, cross, axis="x", at=(1, 2, 3))
    m.revolute("second", cross, shaft, axis="y")
    other = wt.Mechanism("cardan")
    other.universal("both", other.ground, other.body("shaft", box), axis="x", axis_child="y", at=(1, 2, 3))
    by_hand, whole = m.build(), other.build()
    x = random_states(whole, 7, 4)
    state = x["q"], x["v"], x["tau"]
    for name in ("forward_dynamics", "driving_forces"):
        assert relative(evaluated(whole.function(name), *state), evaluated(by_hand.function(name), *state)) < TOLERANCE
    ours = evaluated(whole.function("reactions"), *state, shape=(1, 6))[:, 0]
    theirs = evaluated(by_hand.function("reactions"), *state, shape=(2, 6))[:, 1]
    assert relative(ours, theirs) < TOLERANCE
