"""Mechanisms from rounded data: exact twins, their rounded and tilted forms, and a biped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import whippletree as wt
from support.loop_models import described, where
from support.random_loops import case
from whippletree.model.description import JointUse
from whippletree.spatial.placement import Placement

Guess = dict[str, float]


def turned(R: np.ndarray, by: np.ndarray) -> np.ndarray:
    """The axes R turned by a small rotation vector, orthonormal again."""
    x, y, z = by
    U, _, Vt = np.linalg.svd(R @ (np.eye(3) + np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])))
    return U @ Vt


def tilted(m: wt.Mechanism, tilt: float, seed: int = 0, only: str = "") -> wt.Mechanism:
    """The mechanism with all joint axes on parents (or that of one joint) tilted by random directions of this size."""
    rng = np.random.default_rng(seed)

    def moved(use: JointUse) -> JointUse:
        by = rng.normal(size=3)
        if only not in ("", use.name):
            return use
        R = turned(np.array(use.on_parent.rotation), tilt * by / np.linalg.norm(by))
        return replace(use, on_parent=Placement(R, use.on_parent.point))

    d = m.describe()
    return wt.Mechanism.of(replace(d, joints=tuple(map(moved, d.joints))))


def rounded(m: wt.Mechanism, digits: int) -> wt.Mechanism:
    """The mechanism as a file with so many decimals would tell it: points, and rotations by their rounded entries."""

    def frame(p: Placement) -> Placement:
        R = np.round(np.array(p.rotation), digits)
        U, _, Vt = np.linalg.svd(R)
        return Placement(U @ Vt, np.round(np.array(p.point, dtype=float), digits))

    d = m.describe()
    joints = [replace(use, on_parent=frame(use.on_parent), on_child=frame(use.on_child)) for use in d.joints]
    return wt.Mechanism.of(replace(d, joints=tuple(joints)))


# ---------------------------------------------------------------------- exact twins


def four_bar(scale: float = 1.0) -> wt.Mechanism:
    """Bars of 1, 2 and 1.5 m on a base of 2 m, in a vertical plane."""
    m = wt.Mechanism("four-bar", gravity=(0, -9.81, 0))
    a, b, c = (m.body(n, wt.rod(length=x * scale, mass=1.0, axis="x")) for n, x in zip("abc", (1, 2, 1.5), strict=True))
    m.revolute("A", m.ground, a, axis="z")
    m.revolute("B", a, b, at=(scale, 0, 0), axis="z")
    m.revolute("C", b, c, at=(2 * scale, 0, 0), axis="z", at_child=(1.5 * scale, 0, 0))
    m.revolute("D", m.ground, c, at=(2 * scale, 0, 0), axis="z")
    return m


def slider_crank() -> wt.Mechanism:
    """A crank of 0.5 m, a rod of 1.7 m, and a slide in its plane."""
    m = wt.Mechanism("slider-crank", gravity=(0, -9.81, 0))
    crank, rod = m.body("crank", wt.rod(length=0.5, mass=1.0, axis="x")), m.body("rod", wt.rod(length=1.7, mass=1.0))
    slide = m.body("slide", wt.box(size=(0.1, 0.1, 0.1), mass=0.5))
    m.revolute("A", m.ground, crank, axis="z")
    m.revolute("B", crank, rod, at=(0.5, 0, 0), axis="z")
    m.revolute("C", rod, slide, at=(1.7, 0, 0), axis="z")
    m.prismatic("P", m.ground, slide, axis="x")
    return m


def parallelogram() -> wt.Mechanism:
    """A coupler of 2 m on three equal cranks: the third is redundant in its plane too."""
    m = wt.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    beam = m.body("beam", wt.rod(length=2.0, mass=2.0, axis="x"))
    for name, x in zip("ABC", (0.0, 0.7, 2.0), strict=True):
        crank = m.body(f"crank {name}", wt.rod(length=0.8, mass=1.0, axis="x"))
        m.revolute(name, m.ground, crank, at=(x, 0, 0), axis="z")
        m.revolute(f"{name}2", crank, beam, at=(0.8, 0, 0), at_child=(x, 0, 0), axis="z")
    return m


def scissors() -> wt.Mechanism:
    """Two pairs of crossed bars, the first on a slide."""
    m = wt.Mechanism("scissors", gravity=(0, -9.81, 0))
    bars = {n: m.body(n, wt.rod(length=1.0, mass=1.0, axis="x")) for n in ("a", "b", "c", "d")}
    foot = m.body("foot", wt.box(size=(0.1, 0.1, 0.1), mass=0.3))
    m.revolute("A", m.ground, bars["a"], axis="z")
    m.prismatic("P", m.ground, foot, axis="x")
    m.revolute("B", foot, bars["b"], axis="z")
    m.revolute("M", bars["a"], bars["b"], at=(0.5, 0, 0), at_child=(0.5, 0, 0), axis="z")
    m.revolute("C", bars["a"], bars["d"], at=(1.0, 0, 0), axis="z")
    m.revolute("D", bars["b"], bars["c"], at=(1.0, 0, 0), axis="z")
    m.revolute("N", bars["c"], bars["d"], at=(0.5, 0, 0), at_child=(0.5, 0, 0), axis="z")
    return m


def linkage(i: int) -> wt.Mechanism:
    """An overconstrained spatial linkage (Bennett's, Bricard's, Sarrus')."""
    return described(case("overconstrained", i).looped)


A0 = 0.7
TWINS: dict[str, tuple[Callable[[], wt.Mechanism], Guess]] = {
    "four-bar": (four_bar, {"A": 1.0}),
    "slider-crank": (slider_crank, {"A": 1.0, "B": -1.25, "C": 0.25, "P": 1.9}),
    "parallelogram": (parallelogram, dict.fromkeys("ABC", A0) | {f"{n}2": -A0 for n in "ABC"}),
    "scissors": (
        scissors,
        {
            "A": A0,
            "P": 2 * 0.5 * np.cos(A0),
            "B": np.pi - A0,
            "M": np.pi - 2 * A0,
            "C": np.pi - 2 * A0,
            "D": 2 * A0 - np.pi,
        },
    ),
}
"""Planar mechanisms, and where they stand."""

SPATIAL = {"Bennett": 2, "trihedral": 3, "line-symmetric": 4, "plane-symmetric": 5, "Sarrus": 6}


def twin(name: str) -> tuple[wt.Mechanism, dict[str, object]]:
    """An exact mechanism, and what it is built with."""
    if name in TWINS:
        make, guess = TWINS[name]
        return make(), {"guess": guess}
    looped = case("overconstrained", SPATIAL[name]).looped
    return described(looped), where(looped)


# ---------------------------------------------------------------------- a biped

FOOT_AXES = 7e-8
"""By how much the hinges of a foot's four-bar are not parallel."""


def biped(axes: float = FOOT_AXES, seed: int = 3) -> wt.Mechanism:
    """A biped that hangs on springs: hips, knees, feet on four-bars, and two cranks with rods on balls in each shank.

    Its six loops are two four-bars, whose axes are parallel up to `axes` only, and four rods between cranks and feet.
    """
    m = wt.Mechanism("biped")
    pelvis = m.body("pelvis", wt.box(size=(0.2, 0.4, 0.2), mass=10.0))
    m.free("base", m.ground, pelvis)
    for k, (x, y) in enumerate([(0.1, 0.2), (0.1, -0.2), (-0.1, 0.2), (-0.1, -0.2)]):
        m.spring(
            f"rope {k}",
            m.ground,
            pelvis,
            at=(x, y, 1.0),
            at_child=(x, y, 0.1),
            stiffness=2000.0,
            damping=100.0,
            free_length=0.7,
        )
    rng = np.random.default_rng(seed)
    for side, y in (("left", 0.15), ("right", -0.15)):
        _leg(m, pelvis, side, y, lambda: (axes * rng.normal(), 1.0, axes * rng.normal()))
    return m


def _leg(m: wt.Mechanism, pelvis: wt.Body, side: str, y: float, axis: Callable[[], tuple[float, float, float]]) -> None:
    thigh = m.body(f"{side} thigh", wt.cylinder(radius=0.05, length=0.4, mass=4.0, axis="z", at=(0, 0, -0.2)))
    shank = m.body(f"{side} shank", wt.cylinder(radius=0.04, length=0.4, mass=3.0, axis="z", at=(0, 0, -0.2)))
    foot = m.body(f"{side} foot", wt.box(size=(0.2, 0.1, 0.04), mass=1.0))
    front, back = (m.body(f"{side} {n}", wt.rod(length=0.06, mass=0.1, axis="-z")) for n in ("front link", "back link"))
    m.universal(f"{side} hip", pelvis, thigh, at=(0, y, -0.1), axis="x")
    m.revolute(f"{side} knee", thigh, shank, at=(0, 0, -0.4), axis="y")
    m.revolute(f"{side} A", shank, front, at=(0.04, 0, -0.4), axis=axis())
    m.revolute(f"{side} B", shank, back, at=(-0.04, 0, -0.4), axis=axis())
    m.revolute(f"{side} C", front, foot, at=(0, 0, -0.06), at_child=(0.06, 0, 0.02), axis=axis(), axis_child="y")
    m.revolute(f"{side} D", back, foot, at=(0, 0, -0.06), at_child=(-0.06, 0, 0.02), axis=axis(), axis_child="y")
    for n, across in (("inner", 0.03), ("outer", -0.03)):
        crank = m.body(f"{side} {n} crank", wt.rod(length=0.05, mass=0.1, axis="x"))
        rod = m.body(f"{side} {n} rod", wt.cylinder(radius=0.005, length=0.25, mass=0.1, axis="z", at=(0, 0, -0.125)))
        m.revolute(f"{side} {n} motor", shank, crank, at=(0.03, across, -0.2), axis="y")
        m.spherical(f"{side} {n} top", crank, rod, at=(0.05, 0, 0))
        m.spherical(f"{side} {n} ball", rod, foot, at=(0, 0, -0.25), at_child=(0.08, across, 0.02))
    for joint in ("knee", "A", "inner motor", "outer motor"):
        m.torsion_spring(f"{side} {joint} spring", f"{side} {joint}", stiffness=5.0, damping=0.2)


def biped_guess() -> dict[str, object]:
    """Where the biped stands: knees bent a little."""
    guess: dict[str, object] = {}
    for side in ("left", "right"):
        guess |= {f"{side} hip": (0.1, 0.05), f"{side} knee": 0.2}
    return guess
