"""Jain's recursion for flexible bodies as it is printed, in plain NumPy, against the package on random chains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from whippletree.analysis.equations.jain_equations import LINKS, FlexibleMotion

pytestmark = pytest.mark.rest


@pytest.mark.parametrize("prescribed", [(False,), (True, False), (False, True, False), (True, False, False, True)])
def test_the_printed_recursion(prescribed: tuple[bool, ...]) -> None:
    """Accelerations of modes and hinges, the hinges' forces, and what prescribed ones need."""
    links = [replace(LINKS[k % 3], prescribed=one) for k, one in enumerate(prescribed)]
    motion = FlexibleMotion(1.0 + 0.01 * len(links), links)
    forces, efforts = motion.wrenches(), motion.hinge(motion.function("driving_forces"))
    for name, found in motion.literal.items():
        for ours, theirs in (
            (motion.modes(motion.accelerations)[name], found["dd_eta"]),
            (motion.hinge(motion.accelerations)[name], found["dd_theta"]),
            (forces[name], found["f"]),
            (efforts[name], found["effort"]),
        ):
            assert np.abs(ours - theirs).max() < 1e-11 * max(1.0, np.abs(theirs).max())
