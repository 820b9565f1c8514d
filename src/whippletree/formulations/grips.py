"""Where closures take hold of the nodes: constants, made from a description, its plan and its skeleton."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from whippletree.elements.closures import Closure, JointClosure
from whippletree.elements.closures.drive import JointDrive
from whippletree.elements.joints import Joint
from whippletree.formulations.skeleton import Skeleton, column, tidy
from whippletree.model.description import Description, JointUse
from whippletree.spatial import Placement
from whippletree.topology import Plan

__all__ = ["Coordinate", "CutJoint", "Fastening", "Fastenings", "Grip", "fastenings", "grip_on"]


Turn = tuple[tuple[float, ...], ...] | None
"""The axes in which a closure's rows are meant, in the frame of its base; None if they are the base's own."""


@dataclass(frozen=True)
class Grip:
    """A frame on a node (-1 is the ground)."""

    node: int
    rotation: ca.SX
    point: ca.SX


@dataclass(frozen=True)
class Coordinate:
    """A joint coordinate that a closure depends on: of a node, or of a cut joint; where in v, and in the joint."""

    node: int | None
    cut: int | None
    q: int
    v: int
    component: int


@dataclass(frozen=True)
class CutJoint:
    """A joint that is not in the tree: its two grips (described parent, described child), where its numbers are."""

    use: JointUse
    grips: tuple[Grip, Grip]
    base: int
    q: slice
    v: slice
    turn: Turn = None

    @property
    def joint(self) -> Joint:
        """The joint."""
        return self.use.joint


@dataclass(frozen=True)
class Fastening:
    """A closure and what it holds on to.

    `cut` is the index of the cut joint that it closes, `driven` that of the prescribed cut joint that it drives.
    """

    name: str
    closure: Closure
    grips: tuple[Grip, ...]
    base: int
    coordinates: tuple[Coordinate, ...]
    cut: int | None = None
    driven: int | None = None
    turn: Turn = None

    @property
    def own(self) -> int | None:
        """The index of the cut joint whose own coordinates and velocities its rows depend on; None if they do not."""
        cut = self.cut if self.driven is None else self.driven
        return cut if self.closure.of_joint_state else None


@dataclass(frozen=True)
class Fastenings:
    """All closures (those of cut joints first, then the drives of prescribed ones), and the cut joints."""

    all: tuple[Fastening, ...]
    cuts: tuple[CutJoint, ...]

    @property
    def n_rows(self) -> int:
        """The number of rows of all closures."""
        return sum(f.closure.n_rows for f in self.all)

    def places(self, keep: Sequence[Sequence[int]]) -> list[int]:
        """Return where the rows that are kept of each closure stand among all rows."""
        starts = itertools.accumulate((f.closure.n_rows for f in self.all), initial=0)
        return [start + r for start, rows in zip(starts, keep, strict=False) for r in rows]


def fastenings(
    description: Description, plan: Plan, skeleton: Skeleton, reference: Skeleton | None = None
) -> Fastenings:
    """Return the closures of cut joints and those described, in the nodes' frames.

    With a `reference`, rows are meant in the axes that the bases have there, so that multipliers mean the same on both.
    """
    cuts = tuple(_cut(description, plan, skeleton, cut.joint, reference) for cut in plan.cuts)
    of_cuts = [
        Fastening(c.use.name, JointClosure(c.joint), c.grips, c.base, (), k, turn=c.turn) for k, c in enumerate(cuts)
    ]
    drives = [
        Fastening(c.use.name, JointDrive(c.joint), c.grips, c.base, (), None, k, c.turn)
        for k, c in enumerate(cuts)
        if c.use.prescribed
    ]
    described = []
    for use in description.closures:
        grips = tuple(grip_on(skeleton, body, placement) for body, placement in use.sides)
        base = -1 if use.closure.absolute or not grips else _base(skeleton, [g.node for g in grips])
        coordinates = tuple(_coordinate(description, plan, skeleton, cuts, *c) for c in use.coordinates)
        turn = _turn(skeleton, reference, base)
        described.append(Fastening(use.name, use.closure, grips, base, coordinates, turn=turn))
    return Fastenings((*of_cuts, *drives, *described), cuts)


def _turn(skeleton: Skeleton, reference: Skeleton | None, base: int) -> Turn:
    """Return the axes that a base has in the reference, in the frame it has here."""
    if reference is None or base < 0:
        return None
    body = next(name for name, (node, _) in skeleton.where.items() if node == base)
    here, there = skeleton.where[body][1].rotation, reference.where[body][1].rotation
    return tuple(tuple(float(sum(a * b for a, b in zip(row, other, strict=True))) for other in there) for row in here)


def _cut(description: Description, plan: Plan, skeleton: Skeleton, joint: int, reference: Skeleton | None) -> CutJoint:
    use = description.joints[joint]
    grips = (grip_on(skeleton, use.parent, use.on_parent), grip_on(skeleton, use.child, use.on_child))
    base = _base(skeleton, [g.node for g in grips])
    turn = _turn(skeleton, reference, base)
    return CutJoint(use, grips, base, plan.q_slices[joint], plan.v_slices[joint], turn)


def grip_on(skeleton: Skeleton, body: str, placement: Placement) -> Grip:
    """Return the grip at a placement on a body."""
    index, in_node = skeleton.where[body]
    placed = tidy(in_node @ placement)
    return Grip(index, ca.SX(ca.DM(placed.rotation)), column(placed.point))


def _coordinate(
    description: Description, plan: Plan, skeleton: Skeleton, cuts: Sequence[CutJoint], name: str, component: int
) -> Coordinate:
    index = [use.name for use in description.joints].index(name)
    q, v = plan.q_slices[index].start + component, plan.v_slices[index].start + component
    for k, cut in enumerate(cuts):
        if cut.use.name == name:
            return Coordinate(None, k, q, v, component)
    node = next(k for k, bone in enumerate(skeleton.bones) if bone.use.name == name)
    return Coordinate(node, None, q, v, component)


def _base(skeleton: Skeleton, nodes: Sequence[int]) -> int:
    """Return the nearest node that all of these hang on, or are; -1 for the ground."""
    here = set(nodes)
    while len(here) > 1 and -1 not in here:
        last = max(here)  # a node's number is above its parent's
        here.remove(last)
        here.add(skeleton.bones[last].parent)
    return -1 if -1 in here or not here else here.pop()
