"""Random trees of bodies, the same for the same seed.

Everything a description can say is drawn: branches, any joint type, points and axes on either body or poses,
joints in shuffled order, some described from the far body to the near one, welds, frames, prescribed hinges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import whippletree as wt

Array = np.ndarray

KINDS = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "spherical",
    "planar",
    "screw",
    "free",
    "fixed",
)
COORDINATE_AXES = ("x", "y", "z", "-x", "-y", "-z")


@dataclass(frozen=True)
class Link:
    """A joint yet to be declared, between a body nearer to the ground and one farther from it."""

    name: str
    kind: str
    near: str
    far: str


def random_rotation(rng: np.random.Generator) -> Array:
    """A rotation matrix drawn uniformly.

    >>> bool(np.linalg.det(random_rotation(np.random.default_rng(0))) > 0.99)
    True
    """
    w, x, y, z = (e := rng.normal(size=4)) / np.linalg.norm(e)
    square = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    left, _, right = np.linalg.svd(square)  # orthonormal to the last bit
    return left @ right


def random_pose(rng: np.random.Generator) -> Array:
    """A rotation and a point within half a metre, as a 4 x 4 matrix."""
    pose = np.eye(4)
    pose[:3, :3] = random_rotation(rng)
    pose[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    return pose


def random_mass_properties(rng: np.random.Generator) -> dict[str, Any]:
    """Mass, centre and inertia of one to three boxes, each rotated and off the origin: always realisable."""
    count = int(rng.integers(1, 4))
    masses = rng.uniform(0.3, 3.0, count)
    centres = rng.uniform(-0.3, 0.3, (count, 3))
    com = masses @ centres / masses.sum()
    inertia = np.zeros((3, 3))
    for mass, centre in zip(masses, centres, strict=True):
        squares = rng.uniform(0.05, 0.5, 3) ** 2
        own = mass / 12 * np.diag(squares.sum() - squares)
        R, r = random_rotation(rng), centre - com
        inertia += R @ own @ R.T + mass * ((r @ r) * np.eye(3) - np.outer(r, r))
    return {"mass": float(masses.sum()), "com": com, "inertia": (inertia + inertia.T) / 2}


def random_links(
    rng: np.random.Generator,
    n_bodies: int,
    kinds: Sequence[str],
    branching: float,
    floating: bool,
) -> list[Link]:
    """A random tree: each body hangs on the one before it, or (share `branching`) on any earlier one."""
    names = ["ground"]
    links = []
    for i in range(n_bodies):
        branch = i > 0 and rng.random() < branching
        near = names[int(rng.integers(0, len(names)))] if branch else names[-1]
        kind = "free" if floating and i == 0 else str(rng.choice(kinds))
        links.append(Link(f"joint {i}", kind, near, f"body {i}"))
        names.append(f"body {i}")
    return links


def random_axis(rng: np.random.Generator) -> Any:
    """A coordinate axis by name, or any direction."""
    return str(rng.choice(COORDINATE_AXES)) if rng.random() < 0.5 else rng.normal(size=3)


def random_sides(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """Where a joint is on its two bodies, said in one of the ways there are."""
    if rng.random() < 0.3:
        sides = {"pose": random_pose(rng)}
        if rng.random() < 0.7:
            return {**sides, "pose_child": random_pose(rng)}
        return {**sides, "at_child": rng.uniform(-0.5, 0.5, 3)}
    sides = {"at": rng.uniform(-0.5, 0.5, 3)}
    if rng.random() < 0.7:
        sides["at_child"] = rng.uniform(-0.5, 0.5, 3)
    if kind in ("fixed", "spherical", "free"):
        return sides
    if kind == "universal":
        if rng.random() < 0.5:
            frame = random_rotation(rng)
            sides |= {"axis": frame[:, 0], "axis_child": frame[:, 2]}
        return sides
    sides["axis"] = random_axis(rng)
    if rng.random() < 0.5:
        sides["axis_child"] = random_axis(rng)
    return sides


def random_mechanism(
    seed: int,
    n_bodies: int,
    *,
    kinds: Sequence[str] = KINDS,
    branching: float = 0.4,
    floating: bool | None = None,
    prescribed: float = 0.0,
    backward: float = 0.3,
    frames: int = 2,
) -> wt.Mechanism:
    """A random tree as a mechanism; `prescribed` and `backward` are the shares of such joints.

    Frames are called "frame 0", "frame 1" and so on.

    >>> random_mechanism(3, 5).describe() == random_mechanism(3, 5).describe()
    True
    """
    rng = np.random.default_rng([seed, n_bodies])
    mechanism = wt.Mechanism(f"tree {seed}", gravity=rng.uniform(-10.0, 10.0, 3))
    free_base = bool(rng.random() < 0.3) if floating is None else floating
    links = random_links(rng, n_bodies, kinds, branching, free_base)
    for i in rng.permutation(n_bodies):
        mechanism.body(f"body {i}", **random_mass_properties(rng))
    for i in rng.permutation(n_bodies):
        link = links[i]
        parent, child = (link.far, link.near) if rng.random() < backward else (link.near, link.far)
        options = random_sides(rng, link.kind)
        if link.kind == "screw":
            options["lead"] = float(rng.choice([-1, 1]) * rng.uniform(0.1, 2.0))
        if link.kind != "fixed":
            options["prescribed"] = bool(rng.random() < prescribed)
        getattr(mechanism, link.kind)(link.name, parent, child, **options)
    for k in range(frames):
        body = f"body {rng.integers(0, n_bodies)}"
        pose = random_pose(rng)
        mechanism.frame(f"frame {k}", on=body, at=pose[:3, 3], rotation=pose[:3, :3])
    return mechanism


def random_states(system: wt.System, seed: int, count: int) -> dict[str, Array]:
    """Random q, v, tau and a (and six numbers a wrench), `count` of each, by name."""
    rng = np.random.default_rng([seed, count, system.nv])
    shape = (count, system.nv)
    return {
        "q": np.array([system.random(rng) for _ in range(count)]),
        "v": rng.uniform(-1.0, 1.0, shape),
        "tau": rng.uniform(-5.0, 5.0, shape),
        "a": rng.uniform(-1.0, 1.0, shape),
    }
