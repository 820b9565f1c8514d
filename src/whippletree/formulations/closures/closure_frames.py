"""Where closures take hold of the nodes: constants, made from a description, its plan and its node_tree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from whippletree.elements.closures import Closure, JointClosure
from whippletree.elements.closures.drive import JointDrive
from whippletree.elements.joints import Joint
from whippletree.formulations.nodes.frame_states import NodeFrame, Turn, frame_on_node
from whippletree.formulations.nodes.node_tree import NodeTree
from whippletree.model.description import Description, JointUse
from whippletree.topology import Plan

__all__ = ["ClosureAttachment", "ClosureAttachments", "ClosureCoordinate", "CutJoint", "attach_closures"]


@dataclass(frozen=True)
class ClosureCoordinate:
    """A joint coordinate that a closure depends on: of a node, or of a cut joint; where in v, and in the joint."""

    node: int | None
    cut: int | None
    q: int
    v: int
    component: int


@dataclass(frozen=True)
class CutJoint:
    """A joint that is not in the tree: its two frames (described parent, described child), where its numbers are."""

    use: JointUse
    frames: tuple[NodeFrame, NodeFrame]
    base: int
    q: slice
    v: slice
    turn: Turn = None

    @property
    def joint(self) -> Joint:
        """The joint."""
        return self.use.joint


@dataclass(frozen=True)
class ClosureAttachment:
    """A closure and the frames and coordinates that it constrains.

    `cut` is the index of the cut joint that it closes, `driven` that of the prescribed cut joint that it drives.
    """

    name: str
    closure: Closure
    frames: tuple[NodeFrame, ...]
    base: int
    coordinates: tuple[ClosureCoordinate, ...]
    cut: int | None = None
    driven: int | None = None
    turn: Turn = None

    @property
    def key(self) -> tuple[str, int | None, int | None]:
        """What tells it from the others of a mechanism: a joint that is cut may have a closure and a drive."""
        return self.name, self.cut, self.driven

    @property
    def positional(self) -> bool:
        """Whether its rows hold positions; if not, they hold velocities only. Drives give their joints' positions."""
        return self.closure.holonomic or self.driven is not None

    @property
    def own(self) -> int | None:
        """The index of the cut joint whose own coordinates and velocities its rows depend on; None if they do not."""
        cut = self.cut if self.driven is None else self.driven
        return cut if self.closure.of_joint_state else None


@dataclass(frozen=True)
class ClosureAttachments:
    """All closures (those of cut joints first, then the drives of prescribed ones), and the cut joints."""

    all: tuple[ClosureAttachment, ...]
    cuts: tuple[CutJoint, ...]

    @property
    def n_rows(self) -> int:
        """The number of rows of all closures."""
        return sum(f.closure.n_rows for f in self.all)

    @property
    def described(self) -> list[int]:
        """The numbers of the closures that are neither cut joints nor drives of such."""
        return [c for c, f in enumerate(self.all) if f.cut is None and f.driven is None]

    def places(self, keep: Sequence[Sequence[int]]) -> list[int]:
        """Return where the rows that are kept of each closure stand among all rows."""
        starts = itertools.accumulate((f.closure.n_rows for f in self.all), initial=0)
        return [start + r for start, rows in zip(starts, keep, strict=False) for r in rows]


def attach_closures(
    description: Description, plan: Plan, node_tree: NodeTree, reference: NodeTree | None = None
) -> ClosureAttachments:
    """Return the closures of cut joints and those described, in the nodes' frames.

    With a `reference`, rows are meant in the axes that the bases have there, so that multipliers mean the same on both.
    """
    cuts = tuple(_cut(description, plan, node_tree, cut.joint, reference) for cut in plan.cuts)
    of_cuts = [
        ClosureAttachment(c.use.name, JointClosure(c.joint), c.frames, c.base, (), k, turn=c.turn)
        for k, c in enumerate(cuts)
    ]
    drives = [
        ClosureAttachment(c.use.name, JointDrive(c.joint), c.frames, c.base, (), None, k, c.turn)
        for k, c in enumerate(cuts)
        if c.use.prescribed
    ]
    described = []
    for use in description.closures:
        frames = tuple(frame_on_node(node_tree, body, placement) for body, placement in use.sides)
        base = -1 if use.closure.absolute or not frames else node_tree.tree.meet(g.node for g in frames)
        coordinates = tuple(_coordinate(description, plan, node_tree, cuts, *c) for c in use.coordinates)
        turn = _turn(node_tree, reference, base)
        described.append(ClosureAttachment(use.name, use.closure, frames, base, coordinates, turn=turn))
    return ClosureAttachments((*of_cuts, *drives, *described), cuts)


def _turn(node_tree: NodeTree, reference: NodeTree | None, base: int) -> Turn:
    """Return the axes that a base has in the reference, in the frame it has here.

    A node that no body lies on belongs to a body with own coordinates, behind the joint that leads there. Such bodies
    are never welded, so the node has the same axes in both trees.
    """
    body = next((name for name, (node, _) in node_tree.where.items() if node == base), None)
    if reference is None or base < 0 or body is None:
        return None
    here, there = node_tree.where[body][1].rotation, reference.where[body][1].rotation
    return tuple(tuple(float(sum(a * b for a, b in zip(row, other, strict=True))) for other in there) for row in here)


def _cut(description: Description, plan: Plan, node_tree: NodeTree, joint: int, reference: NodeTree | None) -> CutJoint:
    use = description.joints[joint]
    frames = (frame_on_node(node_tree, use.parent, use.on_parent), frame_on_node(node_tree, use.child, use.on_child))
    base = node_tree.tree.meet(g.node for g in frames)
    turn = _turn(node_tree, reference, base)
    return CutJoint(use, frames, base, plan.q_slices[joint], plan.v_slices[joint], turn)


def _coordinate(
    description: Description, plan: Plan, node_tree: NodeTree, cuts: Sequence[CutJoint], name: str, component: int
) -> ClosureCoordinate:
    in_q, in_v = plan.slices_of(name)
    q, v = in_q.start + component, in_v.start + component
    for k, cut in enumerate(cuts):
        if cut.use.name == name:
            return ClosureCoordinate(None, k, q, v, component)
    if name in plan.own_slices:
        return ClosureCoordinate(node_tree.where[name][0], None, q, v, component)
    nodes = (k for k, one in enumerate(node_tree.node_constants) if one.use.name == name and not one.shared)
    node = next(nodes)  # not empty: a joint with coordinates that is not cut has a node
    return ClosureCoordinate(node, None, q, v, component)
