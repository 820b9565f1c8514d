"""Angles of files: what is written turns as what was given, near the pole of the angles too."""

from __future__ import annotations

import numpy as np
import pytest

from whippletree.files.poses import from_rpy, rpy_of


@pytest.mark.parametrize("away", [0.0, 1e-17, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 0.1, 1.0])
def test_angles_that_are_written_give_the_same_rotation(away: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        side = rng.choice([-1.0, 1.0])
        roll, yaw = rng.uniform(-np.pi, np.pi, 2)
        R = np.array(from_rpy(rpy=(roll, side * (np.pi / 2 - away), yaw)).rotation)
        again = np.array(from_rpy(rpy=rpy_of(R.tolist())).rotation)
        np.testing.assert_allclose(again, R, rtol=0, atol=4e-15)
