"""Random mechanisms whose spanning tree loses its inertia in some position, though they themselves may be regular.

A massless link that is folded onto what it carries moves nothing, and so does a point mass that turns about the ray
through it. In all families a chain of rods with general frames comes first, so that what should be zero comes out as
rounding. `folded(family, number, away)` is the mechanism so far away, in radians, from that position.
"""

from __future__ import annotations

import numpy as np

from support.absolute_balance import Equations, Solution, Stand, joint_pose
from support.loop_models import GROUND, Coupling, Hinge, Looped, Part
from support.random_loops import Case
from support.random_trees import random_mass_properties, random_pose, random_rotation

__all__ = ["FAMILIES", "REGULAR", "folded"]

Array = np.ndarray

FAMILIES = ("gear", "balls", "tree")
REGULAR = ("gear", "balls")
"""Those that are regular themselves: every formulation gives the accelerations, whatever its tree is like."""

SPEED = 2.0


def folded(family: str, number: int, away: float = 0.0) -> Case:
    """A mechanism in a state with loads; the same for the same family and number, wherever it is."""
    rng = np.random.default_rng([FAMILIES.index(family), number])
    parts, hinges, last = _chain(rng, int(rng.integers(0, 4)))
    if family == "balls":
        parts, hinges, couplings = _on_balls(rng, parts, hinges, last)
    else:
        parts, hinges, couplings = _on_link(rng, parts, hinges, last, away, geared=family == "gear")
    gravity = rng.uniform(-9.81, 9.81, 3)
    looped = Looped(f"{family} {number}", gravity, tuple(parts), tuple(hinges), couplings=couplings)
    stand = Stand.of(looped)
    at_rest = Equations(stand)
    equations = Equations(stand, at_rest.consistent(rng.uniform(-SPEED, SPEED, at_rest.mobility)))
    tau = rng.uniform(-1.0, 1.0, looped.nv)
    try:
        solution = equations.solve(tau, {})
    except np.linalg.LinAlgError:  # a tree that is just folded
        solution = Solution(equations, np.full(equations.mass.shape[0], np.nan), np.zeros(0))
    return Case(looped, equations, tau, {}, solution)


def _pose(rotation: Array, point: Array) -> Array:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, point
    return pose


def _hinge(kind: str, name: str, parent: str, child: str, frames: tuple[Array, Array], q: Array) -> Hinge:
    return Hinge(name, kind, parent, child, frames[0], frames[1], q)


def _placed(hinge: Hinge, at: dict[str, Array]) -> Array:
    """Where the child of a hinge is."""
    return at[hinge.parent] @ hinge.on_parent @ joint_pose(hinge, hinge.q) @ np.linalg.inv(hinge.on_child)


def _chain(rng: np.random.Generator, count: int) -> tuple[list[Part], list[Hinge], str]:
    """Bodies with mass one after the other on hinges anywhere."""
    parts, hinges, last, at = [], [], GROUND, {GROUND: np.eye(4)}
    for i in range(count):
        name = f"rod {i}"
        frames = random_pose(rng), random_pose(rng)
        hinge = _hinge("revolute", f"hinge {i}", last, name, frames, rng.uniform(-3, 3, 1))
        at[name] = _placed(hinge, at)
        parts.append(Part(name, at[name], **random_mass_properties(rng)))
        hinges.append(hinge)
        last = name
    return parts, hinges, last


def _on_link(
    rng: np.random.Generator, parts: list[Part], hinges: list[Hinge], last: str, away: float, *, geared: bool
) -> tuple[list[Part], list[Hinge], tuple[Coupling, ...]]:
    """A point mass on a massless link, both on parallel hinges A and B; folded, the mass is on the axis of A."""
    at = {GROUND: np.eye(4)} | {part.name: part.pose for part in parts}
    length, ratio = rng.uniform(0.3, 2.0), rng.uniform(0.5, 2.0)
    on_link, on_mass = _pose(random_rotation(rng), rng.uniform(-1, 1, 3)), random_rotation(rng)
    along = np.array([length, 0.0, 0.0])
    A = _hinge("revolute", "A", last, "link", (random_pose(rng), on_link), rng.uniform(-3, 3, 1) + away / ratio)
    tip = on_link @ _pose(np.eye(3), along)
    # the frame of the mass is at B, and the mass a length from it, and anywhere along the axis
    B = _hinge("revolute", "B", "link", "mass", (tip, _pose(on_mass, np.zeros(3))), np.array([np.pi + away]))
    com = on_mass @ np.array([length, 0.0, rng.uniform(-1, 1)])
    at["link"] = _placed(A, at)
    at["mass"] = _placed(B, at)
    none = np.zeros((3, 3))
    parts = [*parts, Part("link", at["link"], 0.0, np.zeros(3), none)]
    parts = [*parts, Part("mass", at["mass"], rng.uniform(0.3, 3.0), com, none)]
    if not geared:
        return parts, [*hinges, A, B], ()
    offset = float(B.q[0] - ratio * A.q[0])
    return parts, [*hinges, A, B], (Coupling("gear", {("A", 0): -ratio, ("B", 0): 1.0}, offset, gear=True),)


def _on_balls(
    rng: np.random.Generator, parts: list[Part], hinges: list[Hinge], last: str
) -> tuple[list[Part], list[Hinge], tuple[Coupling, ...]]:
    """A point mass held by two balls on one body: its tree, on one ball, turns about the mass without inertia."""
    at = {GROUND: np.eye(4)} | {part.name: part.pose for part in parts}
    where, apart = random_pose(rng), rng.uniform(-1.5, 1.5, 3)
    quaternion = rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    first = _hinge("spherical", "first", last, "mass", (where, np.eye(4)), quaternion)
    at["mass"] = _placed(first, at)
    on_parent = np.linalg.inv(at[last]) @ at["mass"] @ _pose(np.eye(3), apart)
    still = np.array([1.0, 0.0, 0.0, 0.0])
    second = _hinge("spherical", "second", last, "mass", (on_parent, _pose(np.eye(3), apart)), still)
    com = rng.uniform(-1, 1, 3)
    parts = [*parts, Part("mass", at["mass"], rng.uniform(0.3, 3.0), com, np.zeros((3, 3)))]
    return parts, [*hinges, first, second], ()
