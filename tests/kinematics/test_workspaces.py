"""Maps of where a frame can get, against circles."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.kinematics import workspace


@functools.cache
def two_cranks(arm: float = 0.4) -> wt.System:
    """A five-bar: two cranks 0.2 m apart, each with an arm, which meet at the tool."""
    m = wt.Mechanism("two cranks")
    bars = {n: m.body(n, wt.rod(x, mass=1.0)) for n, x in (("a", 0.25), ("b", arm), ("c", arm), ("d", 0.25))}
    m.revolute("left", m.ground, bars["a"], at=(-0.1, 0, 0))
    m.revolute("B", bars["a"], bars["b"], at=(0.25, 0, 0))
    m.revolute("right", m.ground, bars["d"], at=(0.1, 0, 0))
    m.revolute("D", bars["d"], bars["c"], at=(0.25, 0, 0))
    m.revolute("C", bars["b"], bars["c"], at=(arm, 0, 0), at_child=(arm, 0, 0))
    m.frame("tool", on=bars["b"], at=(arm, 0, 0))
    return m.build(guess={"left": 2.2, "right": 0.9, "B": -1.0, "D": 1.0})


def test_a_grid_of_positions_is_reached_within_rings() -> None:
    x, y = np.meshgrid(np.linspace(-0.6, 0.6, 17), np.linspace(0.04, 0.79, 16), indexing="ij")
    found = workspace(two_cranks(), "tool", poses=np.stack([x, y, 0 * x], axis=-1), actuators=["left", "right"])
    rings = [np.hypot(x - c, y) for c in (-0.1, 0.1)]
    inside = np.logical_and.reduce([(d <= 0.65) & (d >= 0.15) for d in rings])
    np.testing.assert_array_equal(found.reached, inside)
    assert np.isfinite(found.conditioning[inside]).all()
    assert np.isnan(found.conditioning[~inside]).all()
    assert "reaches" in str(found)


def test_a_grid_of_inputs_leads_where_circles_meet(tmp_path: Path) -> None:
    left, right = np.linspace(1.8, 2.6, 5), np.linspace(0.5, 1.3, 6)
    found = workspace(two_cranks(), "tool", {"left": left, "right": right})
    assert found.reached.all() and found.points.shape == (5, 6, 3)
    a, b = np.meshgrid(left, right, indexing="ij")
    pins = [np.stack([c + 0.25 * np.cos(q), 0.25 * np.sin(q)], axis=-1) for c, q in ((-0.1, a), (0.1, b))]
    middle, apart = (pins[0] + pins[1]) / 2, pins[1] - pins[0]
    d = np.linalg.norm(apart, axis=-1)[..., None]
    tip = middle + np.sqrt(0.16 - d**2 / 4) * np.stack([-apart[..., 1], apart[..., 0]], axis=-1) / d
    np.testing.assert_allclose(found.points[..., :2], tip, atol=1e-12)
    assert ((found.dexterity > 0) & (found.dexterity <= 1)).all()
    found.plot(path=tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 5000
    with pytest.raises(wt.StateError, match="two of x, y and z"):
        found.plot("xx")
    with pytest.warns(wt.AssemblyWarning, match="near the guess"):
        short = two_cranks(arm=0.28)
    partly = workspace(short, "tool", {"left": [2.2, 3.0], "right": [0.9, 0.1]})
    assert not partly.reached.all()
    assert all(size > 0 for size in partly.plot().get_size_inches())


def test_bad_grids_are_refused() -> None:
    s = two_cranks()
    with pytest.raises(wt.StateError, match="either inputs"):
        workspace(s, "tool")
    with pytest.raises(wt.StateError, match="must be finite numbers"):
        workspace(s, "tool", {"left": [np.nan]})
    with pytest.raises(wt.StateError, match="a grid of poses"):
        workspace(s, "tool", poses=np.zeros(2))
