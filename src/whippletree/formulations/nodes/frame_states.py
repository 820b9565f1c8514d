"""Frames on nodes: where they are, how they move, and how forces on them reach their node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Side
from whippletree.formulations.nodes.node import AngularState, Node
from whippletree.formulations.nodes.node_tree import NodeTree, column, tidy
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.spatial import Placement, Rotation, Translation, centripetal, cross, stack
from whippletree.spatial.scalars import Rotation3
from whippletree.spatial.vectors import is_zero
from whippletree.symbolic.arithmetic import entries, minus, plus, product

__all__ = [
    "FrameState",
    "NodeFrame",
    "NodeState",
    "Turn",
    "advance",
    "force_columns",
    "frame_on_node",
    "frame_state",
    "with_accelerations",
]


Turn = tuple[tuple[float, ...], ...] | None
"""The axes in which a closure's rows are meant, in the frame of its base; None if they are the base's own."""


@dataclass(frozen=True)
class NodeFrame:
    """A frame on a node (-1 is the ground); `placement` is where, unless the frame stands for many."""

    node: int
    rotation: ca.SX
    point: ca.SX
    placement: Placement | None = None

    @property
    def numbers(self) -> list[float]:
        """The entries of a frame that stands for no others: its rotation, row after row, and its point."""
        if self.placement is not None:
            return [float(x) for x in self.placement.entries()]
        return [x for part in (self.rotation, self.point) for row in ca.DM(part).full().tolist() for x in row]


def frame_on_node(node_tree: NodeTree, body: str, placement: Placement) -> NodeFrame:
    """Return the frame at a placement on a body."""
    index, in_node = node_tree.where[body]
    placed = tidy(in_node @ placement)
    return NodeFrame(index, _rotation(placed.rotation), column(placed.point), placed)


@lru_cache(maxsize=256)
def _rotation(rotation: Rotation3) -> ca.SX:
    """Return a rotation as a traced matrix; it is shared, and must not be changed in place."""
    return ca.SX(ca.DM(rotation))


class FrameState(NamedTuple):
    """A frame at a state, seen from the loop's base: its side, its acceleration (6), and its node's axes."""

    side: Side
    acceleration: ca.SX
    axes: ca.SX


def frame_state(walk: Unrolled, base: int, frame: NodeFrame) -> FrameState:
    """Walk from the base, taken at rest, to a frame; the frame's state is in the base's axes.

    Accelerations are those of the nodes' joints.
    """
    return _frame_state(_reach(walk, base, frame.node, None), frame, ca.SX.zeros(3))


def _frame_state(reached: NodeState, frame: NodeFrame, origin: ca.SX) -> FrameState:
    """Return a frame on a node that was reached, its place measured from `origin`."""
    motion, p, V, alpha, own = reached
    axes, w = motion.axes, motion.rate
    u, turning, point = V[3:6], alpha[0:3], alpha[3:6]
    if not is_zero(frame.point):
        u = plus(u, cross(w, frame.point))
        point = plus(point, product(centripetal(w, turning), frame.point))
    place = plus(plus(p, product(axes, frame.point)), minus(own, origin))
    side = Side(product(axes, frame.rotation), place, product(axes, w), product(axes, u))
    return FrameState(side, stack(product(axes, turning), product(axes, point)), axes)


_ZERO = ca.SX.zeros(3)


class NodeState(NamedTuple):
    """A node seen from the base: its motion, place, twist and acceleration, and where its place is measured from."""

    motion: AngularState
    p: ca.SX
    V: ca.SX
    alpha: ca.SX
    origin: ca.SX = _ZERO

    @staticmethod
    def rest() -> NodeState:
        """Return the base itself."""
        return NodeState(AngularState.rest(), ca.SX.zeros(3), ca.SX.zeros(6), ca.SX.zeros(6))


def _reach(walk: Unrolled, base: int, node: int, turn: Turn) -> NodeState:
    """Return a node seen from the base, its place measured from the hinge where the way to it begins.

    A walk remembers what was reached.
    """
    way: list[int] = []
    k = node
    while k != base and (base, k, turn) not in walk.reached:
        way.append(k)
        k = walk.parents[k]
    if k == base:
        rest = AngularState.rest() if turn is None else AngularState(ca.SX.zeros(3), ca.SX(ca.DM(turn)).T)
        origin = product(rest.axes, _beginning(walk.nodes[way[-1]])) if way else _ZERO
        found = NodeState(rest, -origin, ca.SX.zeros(6), ca.SX.zeros(6), origin)
    else:
        found = walk.reached[base, k, turn]
    for k in reversed(way):
        found = walk.reached[base, k, turn] = advance(walk.nodes[k], found)
    return found


def _beginning(node: Node) -> ca.SX:
    """Return where a node's joint is on its parent, as far as that is constant."""
    place = entries(node.shift(node.configuration()).position())
    return stack(*(x if x.is_constant() else ca.SX.zeros(1) for x in place))


def advance(node: Node, parent: NodeState) -> NodeState:
    """Return a node's state from its parent's."""
    x = node.configuration()
    shift, H = node.shift(x), node.joint_map(x)
    motion, alpha = node.carry(x, parent.motion, parent.alpha)
    p = plus(parent.p, product(parent.motion.axes, shift.position()))
    V = plus(shift.motion(parent.V), product(H, node.v))
    return NodeState(motion, p, V, plus(alpha, product(H, node.acceleration)), parent.origin)


def force_columns(frame: NodeFrame, state: FrameState, D: ca.SX) -> ca.SX:
    """Return rows D on a frame's motion, in base axes, as force columns on its node."""
    return Translation(frame.point).force(Rotation(state.axes.T).force(D.T))


def with_accelerations(walk: Unrolled, a: ca.SX) -> Unrolled:
    """Return the walk with these joint accelerations (nv)."""
    if a.is_zero() and all(node.acceleration.is_zero() for node in walk.nodes):
        return walk
    nodes = [replace(node, acceleration=a[where, :]) for node, where in zip(walk.nodes, walk.v_slices, strict=True)]
    return walk.with_nodes(nodes)
