"""Flexible bodies in trees and loops against an assembly in absolute coordinates, in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.flexible_models import RandomMechanism, random_loop, random_tree, traced
from support.sampling import deep

TREE = ["articulated", "composite", "fully_recursive", "velocity_transformation"]
LOOPS = [
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


def close(found: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-10) -> None:
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    assert np.abs(found - wanted).max(initial=0) <= tolerance * scale


def compare(made: RandomMechanism, s: wt.System, q: np.ndarray, v: np.ndarray, formulations: list[str]) -> None:
    tau = made.efforts(s)
    wanted = made.answer(s, q, v, tau)
    assert wanted.residual < 1e-9  # poses and velocities of interfaces are where joints hold them
    for formulation in formulations:
        a = traced(s, "forward_dynamics", formulation=formulation, q=q, v=v, tau=tau)
        for name, body in made.bodies.items():
            whole = wanted.accelerations[name]
            close(traced(s, "acceleration", frame=name, q=q, v=v, a=a), whole[:6])
            if body.n:
                close(a[s.v_slice(name)], whole[6:])
    found = dict(zip(s.joint_names, traced(s, "reactions", q=q, v=v, tau=tau).reshape(-1, 6), strict=True))
    for name, wrench in wanted.wrenches.items():
        close(found[name], wrench)


@pytest.mark.parametrize("seed", [0, *deep(range(1, 50))])
def test_trees(seed: int) -> None:
    made = random_tree(seed, bodies=3 if seed else 2, bent=seed % 3 != 1, rotary=seed % 2 == 0)
    s = made.m.build()
    rng = np.random.default_rng(seed)
    compare(made, s, s.random(seed), rng.normal(size=s.nv), TREE if seed else ["auto", *TREE])


@pytest.mark.rest
@pytest.mark.parametrize("seed", [0, *deep(range(1, 50))])
def test_loops(seed: int) -> None:
    made, s, q = random_loop(
        seed, bodies=3 if seed else 2, rigid=1 if seed else 0, bent=seed % 3 != 1, rotary=seed % 2 == 0
    )
    v = s.consistent_velocities(q, np.random.default_rng(seed).normal(size=s.nv))
    compare(made, s, q, v, LOOPS)
