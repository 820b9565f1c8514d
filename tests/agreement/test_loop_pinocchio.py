"""Closed loops against Pinocchio's `constraintDynamics`, where it can express them: anchors of three and six rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.formulations import BASIC
from support.loop_models import built, inputs
from support.loop_pinocchio import anchored, arms_that_meet, unloaded
from support.random_loops import Case, first_accepted
from support.sampling import deep, sampled

TOLERANCE = 1e-8
NUMBER = 40


def numbers() -> list:
    return sampled(range(NUMBER), lambda i: i < 2)


def drawn(i: int) -> Case:
    return unloaded(first_accepted(arms_that_meet, i, "arms", 77))


@pytest.mark.parametrize("i", numbers())
def test_accelerations(i: int) -> None:
    """With the cuts where Pinocchio's anchors are, and with cuts of the plan's own choice."""
    c = drawn(i)
    theirs = anchored(c.looped).solve(c.q, c.v, c.tau)
    size = max(np.abs(a).max(initial=0.0) for a in theirs.values())
    for cut in (c.looped.cut, ()):
        s = built(replace(c.looped, cut=cut))
        for name in BASIC:
            function = s.function("forward_dynamics", formulation=name)
            a = np.array(function(*inputs(function, {"q": c.q, "v": c.v, "tau": c.tau}))).ravel()
            ours = c.looped.split_v(a)
            far = max(np.abs(ours[joint] - value).max(initial=0.0) for joint, value in theirs.items())
            assert far < TOLERANCE * size, (name, cut, far / size)


@pytest.mark.parametrize("i", [0, 1, *deep([3])])
def test_native_code(i: int) -> None:
    c = drawn(i)
    theirs = anchored(c.looped).solve(c.q, c.v, c.tau)
    ours = c.looped.split_v(built(c.looped).forward_dynamics(c.q, c.v, c.tau))
    size = max(np.abs(a).max(initial=0.0) for a in theirs.values())
    assert max(np.abs(ours[joint] - a).max(initial=0.0) for joint, a in theirs.items()) < TOLERANCE * size
