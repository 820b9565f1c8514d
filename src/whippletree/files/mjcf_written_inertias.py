"""Masses and inertias as MuJoCo takes them: three moments, no two less than the third, none zero of moving bodies.

A body that is welded to others may have what no body has, as sensors and covers of published robots do; then the whole
group is told by its first body, which moves in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whippletree.elements.bodies import MassProperties
from whippletree.elements.joints import Fixed, Prismatic, Revolute
from whippletree.files.file_limits import ROUNDING
from whippletree.files.writable_model import WritableJoint, WritableModel
from whippletree.foundation.arrays import Array
from whippletree.model.description import GROUND
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement

__all__ = ["PrincipalInertia", "principal_inertias"]

_LEAST = 1e-15
"""The least mass and moment of inertia of a moving body that MuJoCo takes."""

_UNSEEN = 2e-13
"""Moments below this share of the moment that a body has about its joint count as rounding."""


@dataclass(frozen=True)
class PrincipalInertia:
    """Mass, centre, principal moments, and their axes as columns in those of the body."""

    mass: float
    com: tuple[float, ...]
    moments: Array
    axes: Array

    @property
    def is_taken(self) -> bool:
        """Whether MuJoCo takes it: no moment is negative, and no two are less than the third."""
        a, b, c = np.sort(self.moments)
        return bool(a >= 0.0 and a + b >= c)

    @property
    def moves(self) -> bool:
        """Whether it may be that of a body which moves."""
        return bool(self.mass >= _LEAST and self.moments.min() >= _LEAST)


def principal_inertias(
    whole: WritableModel,
    chains: Mapping[str, Sequence[WritableJoint]],
    poses: Mapping[str, Placement],
    seats: Mapping[str, Placement],
) -> dict[str, PrincipalInertia]:
    """Return the inertia of each body that has one, by its frame in the file; those that MuJoCo refuses are lacking."""
    groups: dict[str, list[str]] = {}
    root: dict[str, str] = {}
    for body, joints in chains.items():
        parent = joints[0].use.parent
        welded = isinstance(joints[0].use.joint, Fixed) and parent != GROUND
        root[body] = root[parent] if welded else body
        groups.setdefault(root[body], []).append(body)
    found = {}
    for first, group in groups.items():
        found.update(_of_group(whole, chains[first], group, poses, seats))
    return found


def _of_group(
    whole: WritableModel,
    joints: Sequence[WritableJoint],
    group: list[str],
    poses: Mapping[str, Placement],
    seats: Mapping[str, Placement],
) -> dict[str, PrincipalInertia]:
    """Return the inertias of bodies that are welded together, or that of all of them for the first."""
    own = {body: whole.properties(whole.description.body(body), seats[body]) for body in group}
    first, moving = group[0], any(entry.use.joint.nv for entry in joints)
    apart = {body: _principal(whole, p, joints if body == first else ()) for body, p in own.items() if any(p.entries())}
    # MuJoCo looks for mass in a moving body and in bodies welded to it directly
    near = [body for body in group if body == first or _seat_of(whole, body) == first]
    if all(one.is_taken for one in apart.values()) and (
        not moving or any(apart[body].moves for body in near if body in apart)
    ):
        return apart
    back = (poses[first] @ seats[first]).inverse()
    total = MassProperties()
    for body, properties in own.items():
        seen = back @ poses[body] @ seats[body]
        total += properties.drawn_as(()).moved(at=seen.point, rotation=seen.rotation)
    together = _principal(whole, total, joints)
    if len(group) > 1 and not whole.weights.keys() & {*group} and together.is_taken and (together.moves or not moving):
        whole.remarks.add("changed", f"the masses of {quoted(first)} and of what is welded to it are one inertia")
        return {first: together}
    bad = [body for body, one in apart.items() if not one.is_taken]
    for body in bad:
        whole.lacks(f"body {quoted(body)}, whose inertia no body has")
    if not bad:
        what = "with the inertia of a line or of a point" if together.mass else "and has no mass"
        whole.lacks(f"body {quoted(first)}, which moves {what}")
    return {}


def _seat_of(whole: WritableModel, body: str) -> str:
    return whole.entry_of(body).use.parent


def _principal(whole: WritableModel, p: MassProperties, joints: Sequence[WritableJoint]) -> PrincipalInertia:
    """Return principal moments and axes; a rod or a point on a hinge or slide gets the least moments that MuJoCo takes.

    They are below the rounding of the inertia about the joint.
    """
    matrix, com = np.array(p.inertia, dtype=float), np.array(p.com, dtype=float)
    moments, axes = np.diag(matrix).copy(), np.eye(3)
    if np.any(matrix - np.diag(moments)):
        moments, axes = np.linalg.eigh(matrix)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
    largest = float(np.abs(moments).max())
    moments[np.abs(moments) < ROUNDING * largest] = 0.0
    if joints and isinstance(joints[-1].use.joint, Revolute | Prismatic) and moments.min() >= 0.0:
        arm = com - np.array(joints[-1].use.on_child.point, dtype=float)
        if moments.min() < _LEAST < _UNSEEN * (largest + float(p.mass) * float(arm @ arm)):
            moments = np.maximum(moments, _LEAST)
            whole.remarks.add("changed", f"moments of inertia that are zero are {_LEAST:g} kg m^2: MuJoCo wants some")
    a, b, c = np.argsort(moments)
    excess = moments[c] - (moments[a] + moments[b])
    if 0.0 < excess <= ROUNDING * moments[c]:
        moments[c] = moments[a] + moments[b]
    return PrincipalInertia(float(p.mass), tuple(com.tolist()), moments, axes)
