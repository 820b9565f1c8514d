"""Where stability changes, against closed forms: without damping, with little and with much, on any grid."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest
from whippletree.equilibria import eigenvalues_over

G = 9.81


def rod_on_end(damping: float) -> wt.System:
    """A rod of length and mass 1 that a torsion spring holds upright: k = m g l / 2."""
    m = wt.Mechanism("rod on end")
    k = m.parameter("k", 1.0)
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="z")), axis="y")
    m.torsion_spring("spring", "A", stiffness=k, damping=damping)
    return m.build()


def column(damping: float, other: float) -> wt.System:
    """A bar of length 1 under a load, held by two springs, 10 and 10 times `other`: the load that buckles it is 10."""
    m = wt.Mechanism("column", gravity=(0, 0, 0))
    load = m.parameter("load", 0.0)
    gimbal = m.body("gimbal", mass=1e-3, inertia=(1e-3, 1e-3, 1e-3))
    bar = m.body("bar", mass=1.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, 0.01))
    m.revolute("X", m.ground, gimbal, axis="x")
    m.revolute("Y", gimbal, bar, axis="y")
    m.torsion_spring("x spring", "X", stiffness=10.0, damping=damping)
    m.torsion_spring("y spring", "Y", stiffness=10.0 * other, damping=damping)
    m.load("press", bar, at=(0, 0, 1), force=(0, 0, -load))
    return m.build()


def sleeping_top() -> wt.System:
    """A top of 1 kg whose centre of mass is 0.2 m above its tip, upright."""
    m = wt.Mechanism("sleeping top")
    outer, inner = m.body("outer"), m.body("inner")
    top = m.body("top", mass=1.0, com=(0, 0, 0.2), inertia=(0.003, 0.003, 0.005))
    m.revolute("X", m.ground, outer, axis="x")
    m.revolute("Y", outer, inner, axis="y")
    m.revolute("spin", inner, top, axis="z")
    return m.build()


@pytest.mark.rest
@pytest.mark.parametrize("damping", [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 10.0])
def test_a_rod_on_end_falls_below_the_known_stiffness(damping: float) -> None:
    s, right = rod_on_end(damping), G / 2
    grids = ([2, 4, 6, 8, 10], np.linspace(2, 10, 7), np.linspace(10, 2, 12), [2, right, 10], [10, right, 2])
    for grid in grids:
        assert eigenvalues_over(s, "k", grid).changes == pytest.approx((right,), rel=1e-12)
    near = eigenvalues_over(s, "k", [right - 1e-4, right + 1e-5])
    assert near.changes == pytest.approx((right,), rel=1e-11)
    assert eigenvalues_over(s, "k", [right, 10.0]).changes == ()


@pytest.mark.parametrize("damping", [0.0, 1e-3, *rest([1e-9, 1.0])])
@pytest.mark.parametrize("other", [1.0, 1.2])
def test_a_column_buckles_at_the_known_load_in_one_plane_or_two(damping: float, other: float) -> None:
    s = column(damping, other)
    for n in (4, 7, 11):
        assert eigenvalues_over(s, "load", np.linspace(1, 19, n)).changes == pytest.approx((10.0,), rel=1e-11)


def test_a_top_sleeps_above_the_known_spin() -> None:
    """Two frequencies meet at (I3 w)^2 = 4 m g l I1, with I1 about the tip."""
    right = np.sqrt(4 * G * 0.2 * (0.003 + 0.2**2)) / 0.005
    s = sleeping_top()
    for grid in (np.linspace(50, 200, 4), np.linspace(50, 200, 8), np.linspace(200, 50, 11), [60, right, 200]):
        branches = eigenvalues_over(s, "spin.speed", grid)
        assert branches.changes == pytest.approx((right,), rel=1e-11)
    assert f"stability changes at {right:.9g}" in str(branches)
