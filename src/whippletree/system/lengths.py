"""Characteristic lengths, by which lengths are compared with angles: of the mechanism, and of each group of loops.

Tolerances and rank decisions about a group go by its own length: a linkage of a millimetre is held to a millionth of
that, whatever it is mounted on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import casadi as ca
import numpy as np

from whippletree.elements.bodies import OwnCoordinates
from whippletree.elements.closures import Coupling, Distance
from whippletree.kernels.kernel import Array
from whippletree.model.description import GROUND, ClosureUse, Description, JointUse
from whippletree.spatial.placement import Placement
from whippletree.topology import Plan

__all__ = ["LoopLengths", "characteristic_length", "loop_lengths", "velocity_scale"]


Frames: TypeAlias = dict[str, tuple[str, Placement]]
"""Moving frames by name: their bodies, and where they rest there."""


@dataclass(frozen=True)
class LoopLengths:
    """The characteristic lengths that lengths are compared with: the mechanism's, and one for each group of loops.

    `closures` gives them by cut joint or closure, and `freedoms` by joint (or by body with own coordinates), as far as
    these belong to a group; for all others it is that of the `mechanism`. `angular` names couplings of nothing but
    angles, whose residual is in radians.

    >>> LoopLengths(2.0, {"C": 0.1}).of_closure("C"), LoopLengths(2.0).of_freedoms("A")
    (0.1, 2.0)
    """

    mechanism: float
    closures: Mapping[str, float] = field(default_factory=dict)
    freedoms: Mapping[str, float] = field(default_factory=dict)
    angular: tuple[str, ...] = ()

    def of_closure(self, name: str) -> float:
        """Return the divisor of residuals of a cut joint or closure that are lengths; 1 if they are angles."""
        return 1.0 if name in self.angular else self.closures.get(name, self.mechanism)

    def of_freedoms(self, name: str) -> float:
        """Return the divisor of displacements of a joint, or own coordinates of a body."""
        return self.freedoms.get(name, self.mechanism)

    @property
    def smallest(self) -> float:
        """The least of them."""
        return min([self.mechanism, *self.freedoms.values()])


def loop_lengths(description: Description, plan: Plan) -> LoopLengths:
    """Return the characteristic lengths of a mechanism and of its groups of loops.

    A group's is the mean size of its bodies, as far as the group sees them: the largest distance between the points at
    which its own joints and closures hold a body. So a small linkage on a long beam is as small as it is by itself.
    """
    numbers = description.folded() if description.parameters else description
    mechanism = characteristic_length(numbers)
    joints = {use.name: use for use in numbers.joints}
    described = {use.name: use for use in numbers.closures}
    closures: dict[str, float] = {}
    freedoms: dict[str, float] = {}
    loops = {loop.name: loop for loop in plan.loops}
    frames = _moving_frames(numbers)
    for group in plan.groups:
        names = dict.fromkeys(name for loop in group.loops for name in loops[loop].joints)
        held = [described[name] for name in group.loops if name in described]
        length = _group_length([joints[name] for name in names], held, frames) or mechanism
        closures |= dict.fromkeys(group.loops, length)
        freedoms |= dict.fromkeys((*names, *(plan.nodes[k].body for k in group.nodes)), length)
    angular = tuple(use.name for use in numbers.closures if _couples_angles(use, numbers))
    return LoopLengths(mechanism, closures, freedoms, angular)


def _group_length(joints: Iterable[JointUse], closures: Iterable[ClosureUse], frames: Frames) -> float:
    """Return the mean size of the bodies between some joints and closures; if none has any, of rods and the ground.

    It is zero if there is no size at all.
    """
    points: dict[str, list[object]] = {}
    closures = tuple(closures)
    for name, placement in _attached([use for use in joints if use.joint.nv], closures, frames):
        points.setdefault(name, []).append(placement.point)
    ground = points.pop(GROUND, None)
    sizes = _sizes(points.values())
    if not sizes:
        rods = (use.closure for use in closures)
        sizes = [float(rod.length) for rod in rods if isinstance(rod, Distance)]
        sizes += _sizes([ground] if ground else [])
    return float(np.mean(sizes)) if sizes else 0.0


def _couples_angles(use: ClosureUse, description: Description) -> bool:
    """Tell whether a closure is a coupling of nothing but angles."""
    labels = {owner.name: owner.joint.velocity_labels for owner in description.coordinate_owners}
    return isinstance(use.closure, Coupling) and all("angular" in labels[name][i] for name, i in use.coordinates)


def velocity_scale(description: Description, lengths: LoopLengths) -> Array:
    """Return the divisors that make velocities (nv) comparable with angular ones: 1, or a length for displacements.

    Own coordinates that are neither are divided by what their body says.
    """
    found: list[float] = []
    for use in description.coordinate_owners:
        own = use.joint.of.coordinate_scales() if isinstance(use.joint, OwnCoordinates) else None
        labels, length = use.joint.velocity_labels, lengths.of_freedoms(use.name)
        found += own.tolist() if own is not None else [1.0 if "angular" in label else length for label in labels]
    return np.array(found)


def characteristic_length(description: Description) -> float:
    """Return the mean size of the bodies: the largest distance between a body's joints, forces and centre of mass.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("ball", mass=1.0, com=(0.5, 0, 0)))
    >>> characteristic_length(m.describe())
    0.5
    """
    numbers = description.folded() if description.parameters else description
    points: dict[str, list[object]] = {body.name: [] for body in numbers.bodies}
    for body in numbers.bodies:
        if body.properties.mass and body.kind is None:
            points[body.name].append(body.properties.com)
        elif body.kind is not None:
            mass, first = (ca.DM(each).full().ravel() for each in body.mass_and_first_moment())
            points[body.name] += [tuple(first / mass)] if mass[0] else []
    for name, placement in _attached(numbers.joints, numbers.closures, _moving_frames(numbers)):
        if name in points:
            points[name].append(placement.point)
    sizes = _sizes(points.values())
    return float(np.mean(sizes)) if sizes else 1.0


def _attached(
    joints: Iterable[JointUse], closures: Iterable[ClosureUse], frames: Frames
) -> Iterator[tuple[str, Placement]]:
    """Yield the bodies that joints and closures are attached to, and where; moving frames are where they rest."""
    sides = [side for use in joints for side in ((use.parent, use.on_parent), (use.child, use.on_child))]
    for name, placement in [*sides, *(side for closure in closures for side in closure.sides)]:
        body, resting = frames.get(name, (name, None))
        yield body, placement if resting is None else resting @ placement


def _moving_frames(description: Description) -> Frames:
    """Return the body of each moving frame, and where it is there at rest."""
    found: Frames = {}
    for body in description.bodies:
        kind = body.kind
        for frame in () if kind is None else kind.frames:
            R, p = kind.pose(frame, ca.SX(ca.DM(kind.neutral())))  # type: ignore[union-attr]
            rows = tuple(tuple(row) for row in ca.DM(R).full().tolist())
            found[f"{body.name}.{frame}"] = body.name, Placement(rows, tuple(ca.DM(p).full()[:, 0].tolist()))  # type: ignore[arg-type]
    return found


def _sizes(bodies: Iterable[list[object]]) -> list[float]:
    """Return the sizes of bodies from their points, of those that have one."""
    sizes = [_extent(np.array(points, dtype=np.float64)) for points in bodies if points]
    return [size for size in sizes if size > 0]


def _extent(points: Array) -> float:
    """Return the largest distance between any two points."""
    apart = points[:, None, :] - points[None, :, :]
    return float(np.sqrt((apart**2).sum(axis=-1)).max())
