"""Nodes over symbols: which numbers of a node are part of its kind, and which are read.

A node has the numbers of its placement (3 + 9), those of its joint, those of its body (10), and the points of the
wrenches on it. Plain numbers are part of the kind while kinds stay few.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import casadi as ca

from whippletree.elements.joints import Joint, Reversed
from whippletree.formulations.nodes.node import Node, NodeLoad
from whippletree.formulations.nodes.node_tree import NodeConstants, column, rigid_inertia
from whippletree.formulations.rolled.work_items import PlainNumbers
from whippletree.spatial.scalars import Scalar, same_key

__all__ = ["ConfiguredJoint", "NodeKinds", "joint_kind", "joint_type"]

FEW = 16
"""Up to this many kinds of nodes, plain numbers are folded: code for one more is worth it where many nodes share it."""


class ConfiguredJoint:
    """A joint whose configuration is given in place of its coordinates: sines and cosines are worked out once."""

    def __init__(self, joint: Joint) -> None:
        self._joint = joint

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return the coordinates unchanged."""
        return q

    def __getattr__(self, name: str) -> Any:
        return getattr(self._joint, name)


def joint_kind(joint: Joint) -> Hashable:
    """Return a key that is equal for joints with the same functions.

    >>> from whippletree.elements.joints import Screw
    >>> joint_kind(Screw(0.5)) == joint_kind(Screw(0.6))
    False
    """
    return *joint_type(joint), same_key(joint.constants())


def joint_type(joint: Joint) -> tuple[type, bool, Hashable]:
    """Return a key that is equal for joints whose functions differ in their constants only."""
    inner = joint.joint if isinstance(joint, Reversed) else joint
    return type(inner), isinstance(joint, Reversed), inner.variant


class NodeKinds:
    """The numbers of all nodes, and nodes over symbols; `points` are where wrenches act on a node.

    With `few`, plain numbers are folded only as far as that leaves few kinds: all of them, those of rotations, or none.
    """

    def __init__(
        self,
        node_constants: Sequence[NodeConstants],
        points: Mapping[int, Sequence[Sequence[Scalar]]] | None = None,
        *,
        few: bool = False,
    ) -> None:
        self.node_constants = node_constants
        self._points = points or {}
        for folded in ("all", "rotations", "none"):
            self.dims = [self._dims(constants, folded) for constants in node_constants]
            self.masses = [_numbers(_masses(constants), folded == "all") for constants in node_constants]
            self.points = [
                _numbers([x for point in self._points.get(k, ()) for x in point], folded == "all")
                for k in range(len(node_constants))
            ]
            if not few or len({self.key(k) for k in range(len(node_constants))}) <= FEW:
                break

    @staticmethod
    def _dims(constants: NodeConstants, folded: str) -> PlainNumbers:
        """Return the numbers of a node's placement and joint."""
        rotation = [x for row in constants.placement.rotation for x in row]
        rest = [*constants.placement.point, *constants.joint.constants()]
        return PlainNumbers([*rotation, *rest], [folded != "none"] * 9 + [folded == "all"] * len(rest))

    def place_key(self, k: int) -> Hashable:
        """Return a key that is equal for nodes that are reached in the same way from their parents."""
        constants = self.node_constants[k]
        given, new = constants.use.prescribed, constants.new_reference
        armed = bool(constants.armature)
        return joint_type(constants.joint), self.dims[k].key, given, constants.body is not None, new, armed

    def key(self, k: int) -> Hashable:
        """Return a key that is equal for nodes of one kind."""
        return self.place_key(k), self.masses[k].key, self.points[k].key

    def constants(self, k: int) -> list[Scalar]:
        """Return the numbers of a node that are read."""
        return [*self.dims[k].values, *self.masses[k].values, *self.points[k].values]

    def node(
        self,
        k: int,
        state: Mapping[str, ca.SX],
        read: Iterator[ca.SX],
        wrenches: Sequence[ca.SX] = (),
        *,
        mass: bool = True,
    ) -> Node:
        """Return a node like k over symbols; parts of its state (q, v, tau, a) that are not given are zero.

        Instead of q its configuration x may be given. Without `mass` neither body nor wrenches are read.
        """
        own = self.node_constants[k].joint
        dims = self.dims[k].symbols(read)
        masses = self.masses[k].symbols(read) if mass else [0.0] * 10
        n_rates = len(self.node_constants[k].armature) if mass else 0
        inertia, armature, least = masses[:10], masses[10 : 10 + n_rates], masses[10 + n_rates :]
        points = self.points[k].symbols(read) if mass else []
        joint: Any = own.with_constants(dims[12:]) if len(dims) > 12 else own
        if "x" in state:
            joint = ConfiguredJoint(joint)
        none, constants = ca.SX.zeros(own.nv), self.node_constants[k]
        q = state["x"] if "x" in state else state.get("q", ca.SX.zeros(own.nq))
        total, body = rigid_inertia(inertia), None
        if constants.body is not None and mass:
            body = joint.body
            total = total + body.inertia(q).rigid
        return Node(
            joint=joint,
            rotation=ca.densify(ca.SX(ca.blockcat([dims[0:3], dims[3:6], dims[6:9]]))),
            point=column(dims[9:12]),
            inertia=total,
            q=q,
            v=state.get("v", none),
            tau=none if constants.on_frame else state.get("tau", none),
            acceleration=state.get("a", none),
            prescribed=constants.use.prescribed,
            shared=constants.shared,
            on_frame=constants.on_frame,
            body=body,
            least_inertia=column(least) if least else None,
            watched=bool(least),
            new_reference=constants.new_reference,
            armature=column(armature) if armature else None,
            loads=tuple(NodeLoad(column(points[3 * i : 3 * i + 3]), wrench) for i, wrench in enumerate(wrenches)),
        )


def _masses(constants: NodeConstants) -> list[Scalar]:
    """Return the numbers of a node's inertia and armature, and the least of its hinge inertias if they are watched."""
    return [*constants.inertia, *constants.armature, *(constants.least_inertia if constants.watched else ())]


def _numbers(values: Sequence[Scalar], folds: bool) -> PlainNumbers:
    return PlainNumbers(values, [folds] * len(values))
