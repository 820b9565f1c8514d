"""Four families of mechanisms with loops that grow: what the cost of a formulation grows with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import whippletree as wt

__all__ = ["FAMILIES", "cells", "four_bars", "ladder", "long_loop"]

GRAVITY = (0.0, -9.81, 0.0)


def four_bars(n: int) -> tuple[wt.Mechanism, dict[str, Any]]:
    """IFToMM A02: n + 1 upright rockers on the ground, n couplers between them; all loops form one group."""
    m = wt.Mechanism(f"{n} four-bars", gravity=GRAVITY)
    rockers = [_rod(m, f"rocker {i}") for i in range(n + 1)]
    for i, rocker in enumerate(rockers):
        m.revolute(f"foot {i}", m.ground, rocker, at=(float(i), 0.0, 0.0))
    guess: dict[str, Any] = {f"foot {i}": np.pi / 2 for i in range(n + 1)}
    for i in range(n):
        coupler = _rod(m, f"coupler {i}")
        m.revolute(f"head {i}", rockers[i], coupler, at=(1.0, 0.0, 0.0))
        m.revolute(f"tail {i}", coupler, rockers[i + 1], at=(1.0, 0.0, 0.0), at_child=(1.0, 0.0, 0.0))
        guess[f"head {i}"] = -np.pi / 2
        guess[f"tail {i}"] = np.pi / 2
    return m, guess


def cells(n: int) -> tuple[wt.Mechanism, dict[str, Any]]:
    """A serial chain of n separate four-bars: each stands on the coupler of the one before it."""
    m = wt.Mechanism(f"{n} cells", gravity=GRAVITY)
    guess: dict[str, Any] = {}
    base: Any = m.ground
    for i in range(n):
        left, right, coupler = (_rod(m, f"{name} {i}") for name in ("left", "right", "coupler"))
        m.revolute(f"A {i}", base, left, at=(0.0, 0.0, 0.0))
        m.revolute(f"D {i}", base, right, at=(1.0, 0.0, 0.0))
        m.revolute(f"B {i}", left, coupler, at=(1.0, 0.0, 0.0))
        m.revolute(f"C {i}", coupler, right, at=(1.0, 0.0, 0.0), at_child=(1.0, 0.0, 0.0))
        bend = 0.9 * (-1) ** i
        guess |= {f"A {i}": np.pi / 2 - bend, f"D {i}": np.pi / 2 - bend}
        guess |= {f"B {i}": bend - np.pi / 2, f"C {i}": np.pi / 2 - bend}
        base = coupler
    return m, guess


def ladder(n: int) -> tuple[wt.Mechanism, dict[str, Any]]:
    """Two chains of n rods side by side, joined by a rung at every joint: coupled loops with different base bodies.

    A rung is two rods with a hinge between them, so that every cell of the ladder moves.
    """
    m = wt.Mechanism(f"ladder of {n}", gravity=GRAVITY)
    guess: dict[str, Any] = {}
    left: Any = m.ground
    right: Any = m.ground
    for i in range(n):
        tip = 1.0 if i else 0.0
        a, b = _rod(m, f"left {i}"), _rod(m, f"right {i}")
        m.revolute(f"L {i}", left, a, at=(tip, 0.0, 0.0))
        m.revolute(f"R {i}", right, b, at=(tip, 0.0 if i else 1.6, 0.0))
        near, far = _rod(m, f"near {i}"), _rod(m, f"far {i}")
        m.revolute(f"N {i}", a, near, at=(1.0, 0.0, 0.0))
        m.revolute(f"K {i}", near, far, at=(1.0, 0.0, 0.0))
        m.revolute(f"F {i}", far, b, at=(1.0, 0.0, 0.0), at_child=(1.0, 0.0, 0.0))
        bend = float(np.arccos(0.8))
        guess |= {f"L {i}": 0.0, f"R {i}": 0.0, f"N {i}": np.pi / 2 - bend, f"K {i}": 2 * bend}
        guess |= {f"F {i}": -np.pi / 2 - bend}
        left, right = a, b
    return m, guess


def long_loop(n: int) -> tuple[wt.Mechanism, dict[str, Any]]:
    """One loop in space: n rods between n + 1 joints, each turned against the one before it."""
    m = wt.Mechanism(f"loop of {n}", gravity=GRAVITY)
    rng = np.random.default_rng(5)
    step = 2 * np.pi / (n + 1)
    ends = [np.array([np.cos(step * i), np.sin(step * i), 0.1 * np.sin(3 * step * i)]) for i in range(n + 1)]
    last: Any = m.ground
    at = tuple(float(x) for x in ends[0])
    for i in range(n):
        along = ends[i + 1] - ends[i]
        rod = m.body(f"rod {i}", mass=1.0 / n, com=tuple((along / 2).tolist()), inertia=np.diag([1e-3] * 3).tolist())
        m.revolute(f"J {i}", last, rod, at=at, axis=tuple(rng.normal(size=3).tolist()))
        last, at = rod, tuple(float(x) for x in along)
    closing = tuple(rng.normal(size=3).tolist())
    m.revolute(f"J {n}", last, m.ground, at=at, at_child=tuple(ends[n].tolist()), axis=closing)
    return m, {}


def _rod(m: wt.Mechanism, name: str) -> Any:
    """Add a thin rod, 1 kg and 1 m, along x from its origin."""
    return m.body(name, mass=1.0, com=(0.5, 0.0, 0.0), inertia=np.diag([0.0, 1 / 12, 1 / 12]).tolist())


FAMILIES: dict[str, Callable[[int], tuple[wt.Mechanism, dict[str, Any]]]] = {
    "N-four-bar": four_bars,
    "serial cells": cells,
    "ladder": ladder,
    "long loop": long_loop,
}
