"""Mechanisms that are regular and yet hard to compute, made from those of `random_loops`; the same for the same number.

- folded: massless links that are folded onto their tips, point masses on ball joints. The inertia of the spanning tree
  is singular, or nearly so, where the mechanism is not; or the mechanism itself is, and then has no acceleration;
- rounded: joint frames rounded to eight digits, or one axis tilted by 1e-10 to 1e-7, or one joint moved by 1e-9 m, so
  that rows which were redundant contradict each other by as much;
- mixed: a mechanism of a millimetre at the end of a beam of 100 m;
- far: a mechanism 100 km from the origin.

Each comes with accelerations of `absolute_balance.refined` and with the error that is allowed (`Hard.allowed`): what
the conditioning of the equations makes of rounding, or for rounded data, what their rounding makes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from support.absolute_balance import Equations, Stand, refined, shifted, turn
from support.loop_models import GROUND, Coupling, Hinge, Looped, Part, Point, Rod
from support.random_loops import FAMILIES, Case, Draft, case, frame_along, straight, unit

Array = np.ndarray

FAR = 1e5
BEAM, SMALL = 100.0, 1e-3
DIGITS = 8
EPSILON = float(np.finfo(float).eps)
ROUNDINGS = 100.0
"""How many roundings of the data an answer may be off by, times the condition number."""

LEAST = 1e-9
"""The relative error that is always allowed, as in the comparison of well-conditioned mechanisms."""

CONTRADICTION = 1e-6
"""By how much velocities may miss the closures, as a share, unless there are none that meet them."""

NONE = 0.1
"""The allowed error from which on there is no acceleration to speak of, and no number is right."""

FOLDS = (0.0, 1e-12, 1e-9, 1e-6, 1e-3)
"""How far links are from folded, in radians."""


@dataclass(frozen=True)
class Hard:
    """A mechanism in a consistent state, its accelerations, and what may be expected of them.

    sizes: the length to compare slides with turns, for joints of one part of the mechanism after another.
    """

    case: Case
    condition: float
    allowed: float
    sizes: tuple[tuple[float, frozenset[str]], ...]

    @property
    def singular(self) -> bool:
        return not self.allowed < NONE

    def error(self, a: Array) -> float:
        """The largest relative error of accelerations, in any part of the mechanism."""
        if not np.isfinite(a).all():
            return np.inf
        looped, worst = self.case.looped, 0.0
        ours, right = looped.split_v(a), looped.split_v(self.case.a)
        for length, names in self.sizes:
            scale = {h.name: per_length(h, length) for h in looped.hinges if h.name in names}
            size = max((np.abs(right[n] * scale[n]).max(initial=0.0) for n in scale), default=0.0)
            far = max((np.abs((ours[n] - right[n]) * scale[n]).max(initial=0.0) for n in scale), default=0.0)
            worst = max(worst, far / size if size > 0.0 else far)
        return float(worst)


def per_length(hinge: Hinge, length: float) -> Array:
    """Factors that make a joint's velocities comparable: slides in lengths."""
    slides = {"prismatic": [0], "cylindrical": [1], "planar": [1, 2], "free": [3, 4, 5]}.get(hinge.kind, [])
    factors = np.ones(hinge.nv)
    factors[slides] = 1.0 / length
    return factors


def effort_scale(looped: Looped, length: float) -> Array:
    """What efforts of all joints go with when lengths do: torques with the square, forces with the length."""
    return np.concatenate([np.zeros(0), *(length**2 * per_length(hinge, length) for hinge in looped.hinges)])


def finished(looped: Looped, equations: Equations, tau: Array, sizes: object = None, allowed: float = 0.0) -> Hard:
    solution, condition = refined(equations, tau)
    whole = ((1.0, frozenset(hinge.name for hinge in looped.hinges)),)
    conditioned = max(LEAST, ROUNDINGS * EPSILON * condition)
    slip = equations.rows.G @ equations.v + equations.rows.drift
    if np.abs(slip).max(initial=0.0) > CONTRADICTION * (1.0 + np.abs(equations.v).max()):
        conditioned = np.inf  # closures of time contradict each other, and nothing can move so
    return Hard(Case(looped, equations, tau, {}, solution), condition, max(allowed, conditioned), sizes or whole)


# ---------------------------------------------------------------------------------------------------------
# Folded links


def massless(d: Draft) -> str:
    """A body that weighs nothing, at the pose of another one."""
    name = d.body()
    d.parts[name] = replace(d.parts[name], mass=0.0, com=np.zeros(3), inertia=np.zeros((3, 3)))
    return name


def point_mass(d: Draft, at: Array) -> str:
    """A body whose whole mass is at a point in space."""
    name = d.body()
    com = (np.linalg.inv(d.pose(name)) @ [*at, 1.0])[:3]
    d.parts[name] = replace(d.parts[name], com=com, inertia=np.zeros((3, 3)))
    return name


def folded_link(d: Draft, on: str, away: float) -> tuple[str, str, str]:
    """Two parallel hinges with a massless link between, and a point mass so far from the second that it is above the
    first, but for an angle; return both joints and the last body."""
    rng = d.rng
    first = frame_along(rng, unit(rng), d.pose(on)[:3, 3] + rng.uniform(-0.5, 0.5, 3))
    length = rng.uniform(0.3, 1.0)
    second = first.copy()
    second[:3, 3] += length * first[:3, 0]
    turned = -np.cos(away) * first[:3, 0] + np.sin(away) * first[:3, 1]
    height = rng.choice([0.0, rng.uniform(-0.3, 0.3)])
    link, bob = massless(d), point_mass(d, second[:3, 3] + length * turned + height * first[:3, 2])
    return d.join("revolute", on, link, frame=first), d.join("revolute", link, bob, frame=second), bob


def folded(i: int) -> Hard:
    """A folded link on a random tree or loop: geared, held by a rod, free; or a point mass on two balls."""
    for attempt in range(100):
        d = Draft(np.random.default_rng([4711, i, attempt]))
        rng, away = d.rng, FOLDS[i // 4 % len(FOLDS)]
        d.branches(int(rng.integers(1, 4)))
        if i % 3 == 0:
            d.loop(GROUND)
        on = d.any_body()
        if i % 4 == 3:
            at = d.pose(on)[:3, 3] + rng.uniform(-0.5, 0.5, (3, 3))
            bob = point_mass(d, at[2])
            for point in at[:2]:
                d.join("spherical", on, bob, frame=frame_along(rng, unit(rng), point))
        else:
            a, b, bob = folded_link(d, on, away)
            if i % 4 == 0:
                ratio = float(rng.choice([-1, 1]) * rng.uniform(0.3, 2.0))
                terms = {(a, 0): -ratio, (b, 0): 1.0}
                d.couplings.append(Coupling("gear", terms, d.value((b, 0)) - ratio * d.value((a, 0)), gear=True))
            elif i % 4 == 1:
                hold(d, bob, str(rng.choice([GROUND, *(name for name in d.parts if name != bob)])))
        looped = d.finished(f"folded {i}")
        at_rest = Equations(Stand.of(looped))
        if at_rest.mobility < 1 or at_rest.gap < 1e-4:
            continue
        equations = Equations(at_rest.stand, at_rest.consistent(rng.uniform(-3.0, 3.0, at_rest.mobility)))
        found = finished(looped, equations, rng.uniform(-5.0, 5.0, looped.nv))
        if found.singular or np.abs(found.case.a).max() > 0.1:
            return found
    raise AssertionError(f"folded {i}: nothing was accepted")


def hold(d: Draft, body: str, other: str) -> None:
    """A rod between points of two bodies."""
    at, at_child = d.rng.uniform(-0.5, 0.5, (2, 3))
    a, b = (d.pose(other) @ [*at, 1.0])[:3], (d.pose(body) @ [*at_child, 1.0])[:3]
    d.rods.append(Rod("rod", other, body, at, at_child, float(np.linalg.norm(b - a))))


# ---------------------------------------------------------------------------------------------------------
# Rounded, mixed, far: others that have been changed


def plain(i: int, without: tuple[str, ...] = ()) -> Case:
    """One of the random mechanisms without laws, of all families in turn but some."""
    names = [name for name in FAMILIES if name not in ("expressions", "velocity only", *without)]
    return case(names[i % len(names)], i // len(names))


def rounded_pose(pose: Array) -> Array:
    """A pose whose numbers have been written down with eight digits."""
    found = straight(np.round(pose, DIGITS))
    found[:3, 3] = np.round(pose[:3, 3], DIGITS)
    return found


def inexact(hinges: tuple[Hinge, ...], i: int) -> tuple[Hinge, ...]:
    """Joints as files have them: all rounded, or one tilted, or one displaced."""
    rng, kind = np.random.default_rng([76, i]), i // 10 % 3
    if kind == 0:
        return tuple(replace(h, on_parent=rounded_pose(h.on_parent), on_child=rounded_pose(h.on_child)) for h in hinges)
    by = np.eye(4)
    if kind == 1:
        by[:3, :3] = turn(10.0 ** -(7 + i // 30 % 4) * unit(rng))
    else:
        by[:3, 3] = 1e-9 * unit(rng)
    one = int(rng.integers(len(hinges)))
    return tuple(replace(h, on_parent=h.on_parent @ by) if k == one else h for k, h in enumerate(hinges))


def rounded(i: int) -> Hard:
    c = plain(i)
    hinges = inexact(c.looped.hinges, i)
    looped = replace(c.looped, name=f"rounded {i}", hinges=hinges, notes={"rounded": True})
    stand, rank = Stand.of(looped), c.equations.rank
    for _ in range(4):
        there = Equations(stand, rank=rank)
        stand = shifted(stand, there.particular(-there.rows.residual))
    at_rest = Equations(stand, rank=rank)
    v = at_rest.motions @ (at_rest.motions.T @ c.equations.v)
    looped = replace(looped, hinges=tuple(replace(h, q=stand.q[h.name]) for h in hinges))
    equations = Equations(Stand(looped, stand.poses, stand.q, stand.t), v, rank)
    found = finished(looped, equations, c.tau)
    return replace(found, allowed=max(100 * found.error(refined(c.equations, c.tau)[0].joints), 1e-7))


def moved(pose: Array, by: Array) -> Array:
    found = pose.copy()
    found[:3, 3] += by
    return found


def placed_elsewhere(looped: Looped, by: Array, base: str, scale: float = 1.0) -> dict[str, tuple]:
    """Parts, hinges, points and rods of a mechanism that is scaled, moved, and stands on another base."""

    def scaled(pose: Array) -> Array:
        found = pose.copy()
        found[:3, 3] *= scale
        return found

    def side(body: str, pose: Array) -> tuple[str, Array]:
        return (base, moved(scaled(pose), by)) if body == GROUND else (body, scaled(pose))

    parts, hinges, points, rods = [], [], [], []
    for part in looped.parts:
        pose = moved(scaled(part.pose), by)
        parts.append(replace(part, pose=pose, com=part.com * scale, inertia=part.inertia * scale**2))
    for hinge in looped.hinges:
        (parent, on_parent), (child, on_child) = side(hinge.parent, hinge.on_parent), side(hinge.child, hinge.on_child)
        q = hinge.q * positions_per_length(hinge, scale)
        ends = {"parent": parent, "child": child, "on_parent": on_parent, "on_child": on_child}
        hinges.append(replace(hinge, **ends, q=q, lead=hinge.lead * scale))
    for point in looped.points:
        body, pose = side(point.body, point.pose)
        points.append(Point(point.name, body, pose))
    for rod in looped.rods:
        ends = [side(body, moved(np.eye(4), at)) for body, at in ((rod.parent, rod.at), (rod.child, rod.at_child))]
        (a, first), (b, second) = ends
        rods.append(Rod(rod.name, a, b, first[:3, 3], second[:3, 3], rod.length * scale))
    return {"parts": tuple(parts), "hinges": tuple(hinges), "points": tuple(points), "rods": tuple(rods)}


def positions_per_length(hinge: Hinge, scale: float) -> Array:
    """What coordinates of a joint are multiplied by when all lengths are scaled."""
    slides = {"prismatic": [0], "cylindrical": [1], "planar": [1, 2], "free": [4, 5, 6]}.get(hinge.kind, [])
    factors = np.ones(hinge.nq)
    factors[slides] = scale
    return factors


def far(i: int) -> Hard:
    c = plain(i)
    by = FAR * unit(np.random.default_rng([77, i]))
    looped = replace(c.looped, name=f"far {i}", **placed_elsewhere(c.looped, by, GROUND))
    found = finished(looped, Equations(Stand.of(looped), c.equations.v, c.equations.rank), c.tau)
    return replace(found, allowed=max(LEAST, ROUNDINGS * EPSILON * FAR * found.condition))


def mixed(i: int) -> Hard:
    """The mechanism a thousandth of its size, on a beam that swings about z."""
    c = plain(i, ("couplings",))
    tip, rate = np.array([BEAM, 0.0, 0.0]), 0.1
    small = placed_elsewhere(c.looped, tip, "beam", SMALL)
    weight = 1e3
    beam = Part("beam", np.eye(4), weight, tip / 2, weight * BEAM**2 / 12 * np.diag([1e-4, 1.0, 1.0]))
    shaft = Hinge("shaft", "revolute", GROUND, "beam", np.eye(4), np.eye(4), np.zeros(1))
    small |= {"parts": (beam, *small["parts"]), "hinges": (shaft, *small["hinges"])}
    looped = replace(c.looped, name=f"mixed {i}", **small)
    there = Equations(Stand.of(looped))
    turning, v = np.array([0.0, 0.0, rate]), np.zeros(there.columns.count)
    v[there.columns.bodies["beam"]] = [0.0, 0.0, rate, 0.0, 0.0, 0.0]
    v[there.columns.joints["shaft"]] = rate
    for part in c.looped.parts:
        own, at = c.equations.v[c.equations.columns.bodies[part.name]], there.columns.bodies[part.name]
        place = there.stand.poses[part.name][:3, 3]
        v[at] = np.concatenate([own[:3] + turning, SMALL * own[3:] + np.cross(turning, place)])
    for hinge in c.looped.hinges:
        own = c.equations.v[c.equations.columns.joints[hinge.name]]
        v[there.columns.joints[hinge.name]] = own * per_length(hinge, 1.0 / SMALL)
    tau = np.concatenate([[0.0], *(effort(c, h) for h in c.looped.hinges)])
    names = frozenset(h.name for h in c.looped.hinges)
    sizes = ((BEAM, frozenset({"shaft"})), (SMALL, names))
    return finished(looped, Equations(there.stand, v, c.equations.rank + 6), tau, sizes)


def effort(c: Case, hinge: Hinge) -> Array:
    """A joint's effort for the small mechanism: torques with the square of lengths, forces with lengths."""
    return c.looped.split_v(c.tau)[hinge.name] * SMALL**2 * per_length(hinge, SMALL)


HARD: dict[str, Callable[[int], Hard]] = {"folded": folded, "rounded": rounded, "mixed": mixed, "far": far}


@functools.cache
def hard(family: str, i: int) -> Hard:
    """The i-th mechanism of a family, of these or of the others in `random_loops`.

    >>> hard("far", 0).allowed < 1e-3
    True
    """
    if family in HARD:
        return HARD[family](i)
    c = case(family, i)
    return finished(c.looped, c.equations, c.tau)
