"""Mechanisms whose loops form groups: chains of four-bar cells, lattices of bars, and branches of different kinds."""

from __future__ import annotations

import numpy as np

import whippletree as wt


def cells(n: int, *, turned: bool = False) -> wt.System:
    """A chain of four-bar cells, each on the coupler of the one before; turned, each out of the plane of the last."""
    m = wt.Mechanism("cells")
    base, start, guess = m.ground, np.zeros(3), {}
    for i in range(n):
        a = m.body(f"crank {i}", wt.box(size=(0.1, 0.2, 1.0), mass=1.0).moved(at=(0, 0, 0.5)))
        b = m.body(f"coupler {i}", wt.box(size=(1.2, 0.1, 0.2), mass=1.2).moved(at=(0.6, 0, 0)))
        c = m.body(f"rocker {i}", wt.box(size=(0.2, 0.1, 1.1), mass=0.9).moved(at=(0, 0, 0.55)))
        axis = (0.3 * (i % 2), 1.0, 0.0) if turned else (0.0, 1.0, 0.0)
        across = np.cross(axis, (0, 0, 1)) / np.linalg.norm(axis)
        frame = {"axis": axis, "axis_child": (0, 1, 0)}
        m.revolute(f"A{i}", base, a, at=tuple(start), **frame)
        m.revolute(f"B{i}", a, b, at=(0, 0, 1), axis="y")
        m.revolute(f"C{i}", base, c, at=tuple(start + across), **frame)
        m.revolute(f"D{i}", b, c, at=(1.2, 0, 0), at_child=(0, 0, 1.1), axis="y")
        base, start, guess[f"A{i}"] = b, np.array([1.2, 0.0, 0.0]), 0.3 - 0.1 * (i % 3)
    return m.build(guess=guess)


def lattice(n: int) -> wt.System:
    """n x n square cells of pinned bars, the first bar on the ground: 2 n - 1 freedoms in one group of n^2 loops."""
    m = wt.Mechanism("lattice")
    ends: dict[tuple[int, int], list[tuple[object, tuple[float, float, float]]]] = {}
    count = 0
    for i in range(n + 1):
        for j in range(n + 1):
            for di, dj in ((1, 0), (0, 1)):
                if i + di > n or j + dj > n:
                    continue
                axis = "x" if di else "z"
                body = (
                    m.ground if count == 0 else m.body(f"bar {i} {j} {axis}", wt.rod(length=1.0, mass=1.0, axis=axis))
                )
                far = (float(di), 0.0, float(dj))
                for point, at in (((i, j), (0.0, 0.0, 0.0)), ((i + di, j + dj), far)):
                    ends.setdefault(point, []).append((body, at))
                count += 1
    for (i, j), bars in ends.items():
        for k, (body, at) in enumerate(bars[1:]):
            m.revolute(f"pin {i} {j} {k}", bars[0][0], body, at=bars[0][1], at_child=at, axis="y")
    return m.build()


def branched() -> wt.System:
    """A floating body with a four-bar that carries an arm and a pendulum with a rod, and a spatial loop beside it."""
    m = wt.Mechanism("branched")
    hull = m.body("hull", wt.box(size=(1.0, 0.6, 0.3), mass=5.0))
    m.free("float", m.ground, hull)
    crank = m.body("crank", wt.box(size=(0.1, 0.1, 0.5), mass=0.5).moved(at=(0, 0, 0.25)))
    coupler = m.body("coupler", wt.box(size=(0.8, 0.1, 0.1), mass=0.8).moved(at=(0.4, 0, 0)))
    rocker = m.body("rocker", wt.box(size=(0.1, 0.1, 0.6), mass=0.6).moved(at=(0, 0, 0.3)))
    m.revolute("A", hull, crank, at=(0.1, 0, 0.1), axis="y")
    m.revolute("B", crank, coupler, at=(0, 0, 0.5), axis="y")
    m.revolute("C", hull, rocker, at=(0.8, 0, 0.1), axis="y")
    m.revolute("D", coupler, rocker, at=(0.8, 0, 0), at_child=(0, 0, 0.6), axis="y")
    under = coupler
    for i, axis in enumerate("xyz"):  # an arm
        link = m.body(f"link {i}", wt.box(size=(0.3, 0.1, 0.1), mass=0.3).moved(at=(0.15, 0.02, 0)))
        m.revolute(f"arm {i}", under, link, at=(0.3, 0, 0.1), axis=axis)
        under = link
    bob = m.body("bob", wt.box(size=(0.1, 0.2, 0.3), mass=0.4))
    swing = m.body("swing", wt.box(size=(0.2, 0.1, 0.3), mass=0.4))
    m.spherical("ball", rocker, bob, at=(0, 0.2, 0.3), at_child=(0, 0, 0.4))
    m.universal("cross", bob, swing, at=(0, 0, -0.4), at_child=(0, 0, 0.3))
    m.distance("rod", rocker, swing, length=0.9, at=(0.1, 0.3, 0.3))
    leg = m.body("leg", wt.box(size=(0.1, 0.1, 0.5), mass=0.5))
    foot = m.body("foot", wt.box(size=(0.2, 0.1, 0.1), mass=0.3))
    m.revolute("hip", hull, leg, at=(-0.4, 0, -0.1), at_child=(0, 0, 0.3), axis="y")
    m.prismatic("slide", leg, foot, at=(0, 0, -0.3), axis="z")
    m.gear("rack", "hip", "slide", ratio=0.2)
    return m.build(guess={"A": 0.2})
