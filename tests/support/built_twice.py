"""The same mechanism built in two ways: by its joints, and of free bodies that closures hold together.

What a joint holds is written down as a user would write it, in positions and axes of a frame on either side.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from support.absolute_motion import quaternion
from support.loop_models import GROUND, Hinge, Law, Looped, Point, Rod
from support.random_loops import (
    KINDS,
    Case,
    Draft,
    Group,
    Plane,
    Rng,
    Schoenflies,
    Space,
    Sphere,
    dot,
    first_accepted,
    unit,
)

Array = np.ndarray

HELD: dict[str, tuple[tuple[tuple[int, int], ...], tuple[int, ...]]] = {
    "fixed": (((0, 1), (1, 2), (2, 0)), (0, 1, 2)),
    "revolute": (((2, 0), (2, 1)), (0, 1, 2)),
    "prismatic": (((0, 1), (1, 2), (2, 0)), (0, 1)),
    "cylindrical": (((2, 0), (2, 1)), (0, 1)),
    "planar": (((2, 0), (2, 1)), (2,)),
    "spherical": ((), (0, 1, 2)),
    "free": ((), ()),
}
"""Which axes of the frames on parent and child stay perpendicular, and along which of the parent's they do not part."""


def written(hinge: Hinge) -> Law:
    """What a joint holds, as a closure that a user writes."""
    a, b = f"{hinge.name}, parent", f"{hinge.name}, child"
    perpendicular, shifts = HELD[hinge.kind]

    def write(x: Any) -> list[Any]:
        R, Q, apart = x.rotation(a), x.rotation(b), x.position(b) - x.position(a)

        def column(matrix: Any, k: int) -> list[Any]:
            return [matrix[0, k], matrix[1, k], matrix[2, k]]

        turned = [dot(column(R, i), column(Q, k)) for i, k in perpendicular]
        return turned + [dot(column(R, k), apart) for k in shifts]

    sides = tuple(name for name in (hinge.parent, hinge.child) if name != GROUND)
    return Law(hinge.name, write, len(perpendicular) + len(shifts), bodies=sides)


def by_closures(looped: Looped) -> Looped:
    """The mechanism of free bodies, its joints as closures of positions and axes; rods stay."""
    points, hinges = list(looped.points), []
    for part in looped.parts:
        q = np.concatenate([quaternion(part.pose[:3, :3]), part.pose[:3, 3]])
        hinges.append(Hinge(f"flight of {part.name}", "free", GROUND, part.name, np.eye(4), np.eye(4), q))
    for hinge in looped.hinges:
        points.append(Point(f"{hinge.name}, parent", hinge.parent, hinge.on_parent))
        points.append(Point(f"{hinge.name}, child", hinge.child, hinge.on_child))
    laws = tuple(written(hinge) for hinge in looped.hinges if hinge.kind != "free")
    name = f"{looped.name}, by closures"
    return replace(looped, name=name, hinges=tuple(hinges), points=tuple(points), laws=laws, cut=())


def flight_velocities(c: Case) -> Array:
    """The velocities of all bodies as those of free joints: in their own axes."""
    found = []
    for part in c.looped.parts:
        twist = c.equations.v[c.equations.columns.bodies[part.name]]
        R = part.pose[:3, :3]
        found += [R.T @ twist[:3], R.T @ twist[3:]]
    return np.concatenate(found)


WITHOUT = tuple(kind for kind in KINDS if kind not in HELD)
GROUPS: tuple[Callable[[Rng], Group], ...] = (
    lambda rng: Plane(unit(rng)),
    lambda rng: Space(),
    lambda rng: Sphere(rng.uniform(-0.5, 0.5, 3)),
    lambda rng: Schoenflies(unit(rng)),
)


def small(d: Draft, i: int) -> int:
    """A loop of a few bodies, on the ground or afloat, with a body hanging on it or a rod."""
    group, rng = GROUPS[i % len(GROUPS)](d.rng), d.rng
    base = d.float() if i % 5 == 4 else GROUND
    kinds = d.kinds(group, group.dimension + 1 + i % 2, without=WITHOUT)
    bodies = d.chain(base, base, kinds, group)
    if i % 3 == 1:
        d.join(str(rng.choice(["revolute", "spherical", "prismatic"])), str(rng.choice(bodies)), d.body())
    if i % 6 == 5:
        body, at, end = str(rng.choice(bodies)), *rng.uniform(-0.5, 0.5, (2, 3))
        length = float(np.linalg.norm((d.pose(body) @ [*at, 1.0])[:3] - end))
        d.rods.append(Rod("rod", GROUND, body, end, at, length))
    return -1


@functools.cache
def small_case(i: int) -> Case:
    """The i-th of the small mechanisms, whose joints can all be written down.

    >>> len(small_case(0).looped.parts) < 8
    True
    """
    return first_accepted(small, i, "small", 50)


def seen(looped: Looped, run: Any) -> Array:
    """The poses of all bodies along a run, in one row for each output."""
    return np.concatenate([run.pose(part.name)[:, :3].reshape(len(run.t), -1) for part in looped.parts], axis=1)
