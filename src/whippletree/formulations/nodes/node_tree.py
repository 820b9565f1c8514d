"""The node tree: the numbers of every node, in node frames, made from a description and its plan.

Bodies that are welded to each other by fixed joints are one node, unless the force in the weld is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca

from whippletree.elements.bodies import MassProperties
from whippletree.elements.joints import Joint, Reversed
from whippletree.formulations.nodes.node import Node, NodeLoad
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.model.description import Description, JointUse
from whippletree.spatial import Placement, RigidInertia
from whippletree.spatial.scalars import Scalar
from whippletree.topology import Plan

__all__ = ["NodeConstants", "NodeTree", "StateSymbols", "make_node_tree", "tidy"]

_ROUNDING = 4e-16  # entries of a rotation below this are zeros that rounding has missed


@dataclass
class NodeConstants:
    """The constants of a node, and the joint that leads to it.

    `placement` is the joint frame on the parent's side, in the parent node's frame; `inertia` is about the node's
    origin: mass, first moment (3), and inertia (6: xx, xy, yy, xz, yz, zz).
    """

    parent: int
    use: JointUse
    joint: Joint
    placement: Placement
    inertia: list[Scalar]
    q: slice
    v: slice

    @property
    def reverse(self) -> bool:
        """Whether the tree crosses the joint from its described child to its described parent."""
        return isinstance(self.joint, Reversed)


@dataclass(frozen=True)
class StateSymbols:
    """The symbols of a trace."""

    q: ca.SX
    v: ca.SX
    tau: ca.SX
    acceleration: ca.SX
    wrenches: Mapping[str, ca.SX] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeTree:
    """All nodes' constants; `where` gives the node and the placement in it of every body and frame.

    `positions` gives the rank of each node's joint among the declared ones.
    """

    node_constants: tuple[NodeConstants, ...]
    where: dict[str, tuple[int, Placement]]
    gravity: tuple[Scalar, Scalar, Scalar]
    nq: int
    nv: int
    positions: tuple[int, ...]

    def walk(self, symbols: StateSymbols) -> Unrolled:
        """Return the unrolled walk over the nodes with these symbols."""
        loads: dict[int, list[NodeLoad]] = {}
        for name, wrench in symbols.wrenches.items():
            index, placement = self.where[name]
            if index >= 0:
                loads.setdefault(index, []).append(NodeLoad(column(placement.point), wrench))
        nodes = [_node(constants, symbols, tuple(loads.get(k, ()))) for k, constants in enumerate(self.node_constants)]
        parents, slices = [b.parent for b in self.node_constants], [b.v for b in self.node_constants]
        return Unrolled(nodes, parents, slices, self.nv, column(self.gravity), self.positions)

    def toward(self, name: str) -> NodeTree:
        """Return only the nodes on the way from the ground to a body or frame."""
        index, placement = self.where[name]
        path: list[int] = []
        while index >= 0:
            path.append(index)
            index = self.node_constants[index].parent
        path.reverse()
        node_constants = tuple(replace(self.node_constants[k], parent=i - 1) for i, k in enumerate(path))
        where = {name: (len(path) - 1, placement)}
        return NodeTree(node_constants, where, self.gravity, self.nq, self.nv, tuple(range(len(path))))


def column(values: Sequence[Scalar]) -> ca.SX:
    """Return numbers and expressions as a dense column.

    >>> column((1.0, 2.0)).shape
    (2, 1)
    """
    return ca.densify(ca.SX(ca.vertcat(*values)))


def rigid_inertia(values: Sequence[Scalar]) -> RigidInertia:
    """Return the inertia of ten numbers: mass, first moment, lower half of the inertia.

    >>> rigid_inertia([1.0] + [0.0] * 9).m
    SX(1)
    """
    xx, xy, yy, xz, yz, zz = values[4:10]
    J = ca.SX(ca.blockcat([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return RigidInertia(ca.SX(values[0]), column(values[1:4]), ca.densify(J))


def _node(constants: NodeConstants, symbols: StateSymbols, loads: tuple[NodeLoad, ...]) -> Node:
    return Node(
        joint=constants.joint,
        rotation=ca.SX(ca.DM(constants.placement.rotation)),
        point=column(constants.placement.point),
        inertia=rigid_inertia(constants.inertia),
        q=symbols.q[constants.q, :],
        v=symbols.v[constants.v, :],
        tau=symbols.tau[constants.v, :],
        acceleration=symbols.acceleration[constants.v, :],
        prescribed=constants.use.prescribed,
        loads=loads,
    )


def make_node_tree(description: Description, plan: Plan, *, weld: bool = True) -> NodeTree:
    """Express everything in node frames; with `weld`, fixed joints make one node of two bodies."""
    where: dict[str, tuple[int, Placement]] = {"ground": (-1, Placement.identity())}
    node_constants: list[NodeConstants] = []
    properties = {body.name: body.properties for body in description.bodies}
    for item in plan.nodes:
        use = description.joints[item.joint]
        near, far = (use.child, use.parent) if item.reverse else (use.parent, use.child)
        on_near, on_far = (use.on_child, use.on_parent) if item.reverse else (use.on_parent, use.on_child)
        parent, parent_body = where[near]
        placement = tidy(parent_body @ on_near)
        if weld and use.joint.nv == 0:
            where[far] = (parent, tidy(placement @ on_far.inverse()))
        else:
            joint = Reversed(use.joint) if item.reverse else use.joint
            where[far] = (len(node_constants), tidy(on_far.inverse()))
            node_constants.append(NodeConstants(parent, use, joint, placement, [0.0] * 10, item.q, item.v))
        index, body_in_node = where[item.body]
        if index >= 0:
            own = _inertia_in_node(properties[item.body], body_in_node)
            node_constants[index].inertia = [a + b for a, b in zip(node_constants[index].inertia, own, strict=True)]
    for frame in description.frames:
        index, body_in_node = where[frame.body]
        where[frame.name] = (index, body_in_node @ frame.placement)
    return NodeTree(
        tuple(node_constants), where, description.gravity, plan.nq, plan.nv, _positions(node_constants, description)
    )


def _positions(node_constants: Sequence[NodeConstants], description: Description) -> tuple[int, ...]:
    """Return where a node's joint stands among those that are not welded, in the order they were declared."""
    used = {constants.use.name for constants in node_constants}
    rank = {name: i for i, name in enumerate(use.name for use in description.joints if use.name in used)}
    return tuple(rank[constants.use.name] for constants in node_constants)


def tidy(placement: Placement) -> Placement:
    """Set rotation entries that are zero up to rounding to zero, so that they fold away.

    >>> tidy(Placement.identity()).point
    (0.0, 0.0, 0.0)
    """
    rows = placement.rotation
    if all(abs(x) > _ROUNDING or x == 0.0 for row in rows for x in row):
        return placement
    clean = tuple(tuple(0.0 if abs(x) <= _ROUNDING else x for x in row) for row in rows)
    return Placement(clean, placement.point)  # type: ignore[arg-type]


def _inertia_in_node(properties: MassProperties, placement: Placement) -> list[Scalar]:
    """Return mass, first moment and inertia about the node's origin."""
    moved = properties.moved(at=placement.point, rotation=placement.rotation)
    m, com = moved.mass, moved.com
    (xx, _, _), (xy, yy, _), (xz, yz, zz) = moved.about((0.0, 0.0, 0.0))
    return [m, *(m * c for c in com), xx, xy, yy, xz, yz, zz]
