"""From natural coordinates back to joint coordinates: rigid bodies and joints fitted to the elements.

A body's axes x W are orthogonal only as far as its conditions are satisfied. The rotation nearest to them is found by
Newton and Schulz's iteration R <- R (3 - R^T R) / 2, which squares what is amiss each time; its turning rate is the one
that all elements' velocities make together (see `formulations.natural.natural_equations`). A joint's coordinates are
moved from where they were by what its sides miss, as often as its type needs: once for joints whose motions form a
group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Side, joint_rates
from whippletree.elements.closures.relative import left_inverse, pose_error
from whippletree.formulations.natural.natural_model import GROUND, NaturalJoint, NaturalModel
from whippletree.formulations.nodes.frame_states import NodeFrame
from whippletree.spatial import cross

__all__ = ["FittedBody", "fit_bodies", "fit_body", "fit_joint", "places_of"]

_POLAR = 4
"""Iterations for the nearest rotation: 1e-1 amiss becomes 1e-16."""

_STEPS = {"revolute": 2, "prismatic": 1, "cylindrical": 2, "spherical": 1, "fixed": 0}
"""Newton's steps for a joint's coordinates; other types take more."""

_MORE_STEPS = 5


class FittedBody(NamedTuple):
    """A rigid body nearest to its elements: axes, origin, turning rate and velocity of the origin, in ground axes."""

    R: ca.SX
    p: ca.SX
    w: ca.SX
    u: ca.SX

    def side(self, frame: NodeFrame) -> Side:
        """Return a frame on it."""
        arm = self.R @ frame.point
        return Side(self.R @ frame.rotation, self.p + arm, self.w, self.u + cross(self.w, arm))


def places_of(model: NaturalModel, x: ca.SX, *, rates: bool = False) -> list[ca.SX]:
    """Return the places (3) of all elements, or their velocities: those on the ground are at rest."""
    where = model.places()
    zero = ca.SX.zeros(3)
    return [(zero if rates else one.places[GROUND]) if one.fixed else x[where[one.index]] for one in model.elements]


def fit_bodies(model: NaturalModel, x: ca.SX, v: ca.SX) -> list[FittedBody]:
    """Return the rigid bodies nearest to natural coordinates and velocities."""
    places, rates = places_of(model, x), places_of(model, v, rates=True)
    return [fit_body(body.W, [places[e] for e in body.basis], [rates[e] for e in body.basis]) for body in model.bodies]


def fit_body(W: ca.SX, places: Sequence[ca.SX], rates: Sequence[ca.SX]) -> FittedBody:
    """Return the rigid body nearest to the places and velocities of its four elements."""
    whole, moving = (sum((part[k] @ W[k, :] for k in range(4)), ca.SX(3, 4)) for part in (places, rates))
    R = whole[:, 0:3]
    for _ in range(_POLAR):
        R = R @ (1.5 * ca.SX.eye(3) - 0.5 * (R.T @ R))
    w = sum((cross(R[:, j], moving[:, j]) for j in range(3)), ca.SX.zeros(3)) / 2
    return FittedBody(ca.densify(R), whole[:, 3], w, moving[:, 3])


def fit_joint(joint: NaturalJoint, bodies: Mapping[int, FittedBody], near: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return a joint's coordinates, found from ones that are near, and its velocities."""
    zero = ca.SX.zeros(3)
    sides = tuple(
        Side(frame.rotation, frame.point, zero, zero) if frame.node == GROUND else bodies[frame.node].side(frame)
        for frame in joint.frames
    )
    kind, q = joint.joint, near
    if not kind.nv:
        return q, ca.SX(0, 1)
    for _ in range(_STEPS.get(kind.kind, _MORE_STEPS)):
        x = kind.configuration(q)
        q = kind.integrate(q, left_inverse(kind.joint_map(x)) @ pose_error(kind, x, sides))
    rows = joint_rates(kind, kind.configuration(q), ca.SX.zeros(kind.nv), sides)
    return q, sum((D @ ca.vertcat(side.w, side.u) for D, side in zip(rows.D, sides, strict=True)), ca.SX.zeros(kind.nv))
