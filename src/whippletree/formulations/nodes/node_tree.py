"""The node tree: the numbers of every node, in node frames, made from a description and its plan.

Bodies that are welded to each other by fixed joints are one node, unless the force in the weld is wanted. A body with
own coordinates is a unit of several nodes (see `node`): its home behind the joint that leads to it, the body itself,
and its moving frames. If the tree reaches the body at a moving frame, the body hangs on that frame's node, by the way
from the frame to the body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca

from whippletree.elements.bodies import BodyKind, MassProperties, MovingFrame, OwnCoordinates
from whippletree.elements.joints import Joint, Reversed
from whippletree.formulations.nodes.hinge_scales import set_hinge_scales
from whippletree.formulations.nodes.node import Node, NodeLoad
from whippletree.formulations.nodes.node_interface import NO_COMBINATIONS
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.foundation.once import made_once
from whippletree.model.description import Body, Description, JointUse
from whippletree.spatial import Placement, RigidInertia
from whippletree.spatial.scalars import Scalar
from whippletree.topology import Plan, PlanNode, Tree

__all__ = ["NodeConstants", "NodeTree", "StateSymbols", "make_node_tree", "tidy"]

_ROUNDING = 4e-16  # entries of a rotation below this are zeros that rounding has missed


@dataclass
class NodeConstants:
    """The constants of a node, and the joint that leads to it.

    `placement` is the joint frame on the parent's side, in the parent node's frame; `inertia` is about the node's
    origin: mass, first moment (3), and inertia (6: xx, xy, yy, xz, yz, zz). `home` is where in v the own coordinates
    are that are eliminated at this node; `shared` says that the joint's freedoms are a body's own coordinates, `body`
    is that body where its inertia is. For each freedom of the joint, `stretched_inertia` is what all that hangs on it
    would have stretched out, and `least_inertia` the hinge inertia below which nothing but rounding is left; `watched`
    says that it may come to that; with `new_reference`, moments about a point of the ground are taken about the joint's
    own point from here on (see `hinge_scales`). `combinations` are those in which own coordinates are eliminated, at
    their home and where they are shared.
    """

    parent: int
    use: JointUse
    joint: Joint
    placement: Placement
    inertia: list[Scalar]
    q: slice
    v: slice
    home: slice | None = None
    shared: bool = False
    body: BodyKind | None = None
    stretched_inertia: list[Scalar] = field(default_factory=list)
    least_inertia: list[Scalar] = field(default_factory=list)
    watched: bool = False
    new_reference: bool = False
    combinations: ca.SX = NO_COMBINATIONS

    @property
    def freedoms(self) -> list[int]:
        """The places in v of the unknowns eliminated at this node: its joint's freedoms, then those it is home to."""
        own = self.home or slice(0, 0)
        return [*(() if self.shared else range(self.v.start, self.v.stop)), *range(own.start, own.stop)]

    @property
    def on_frame(self) -> bool:
        """Whether this is the node of a body's moving frame."""
        return self.shared and self.body is None

    @made_once
    def expressions(self) -> tuple[ca.SX, ca.SX, RigidInertia, ca.SX | None, ca.SX | None]:
        """Rotation and point of the placement, inertia, least inertia and armature, as traced expressions."""
        least = column(self.least_inertia) if self.least_inertia else None
        rotation = ca.SX(ca.DM(self.placement.rotation))
        armature = column(self.armature) if self.armature else None
        return rotation, column(self.placement.point), rigid_inertia(self.inertia), least, armature

    @property
    def armature(self) -> tuple[Scalar, ...]:
        """The inertias of the joint's own rates; nothing for most joints."""
        return self.use.armature

    @property
    def open(self) -> bool:
        """Whether the inertia that the joint meets depends on parameters."""
        return any(isinstance(x, ca.SX) for x in (*self.inertia, *self.armature, *self.least_inertia))

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

    `positions` gives the rank of each node's joint among the declared ones, None where a node has no declared joint.
    """

    node_constants: tuple[NodeConstants, ...]
    where: dict[str, tuple[int, Placement]]
    gravity: tuple[Scalar, Scalar, Scalar]
    nq: int
    nv: int
    positions: tuple[int | None, ...]

    def walk(self, symbols: StateSymbols) -> Unrolled:
        """Return the unrolled walk over the nodes with these symbols."""
        loads: dict[int, list[NodeLoad]] = {}
        for name, wrench in symbols.wrenches.items():
            index, placement = self.where[name]
            if index >= 0:
                loads.setdefault(index, []).append(NodeLoad(column(placement.point), wrench))
        nodes = [_node(constants, symbols, tuple(loads.get(k, ()))) for k, constants in enumerate(self.node_constants)]
        parents, slices = [b.parent for b in self.node_constants], [b.v for b in self.node_constants]
        homes = {k: b.home for k, b in enumerate(self.node_constants) if b.home is not None}
        node_of = {name: k for name, (k, _) in self.where.items()}
        gravity = column(self.gravity)
        return Unrolled(nodes, parents, slices, self.nv, gravity, self.positions, homes=homes, node_of=node_of)

    @made_once
    def tree(self) -> Tree:
        """The tree of the nodes."""
        return Tree([constants.parent for constants in self.node_constants])

    @made_once
    def homes(self) -> dict[int, int]:
        """The home of each node that shares freedoms: the node at which these are eliminated."""
        found: dict[int, int] = {}
        for k, constants in enumerate(self.node_constants):
            if constants.shared:
                up = constants.parent
                found[k] = found.get(up, up) if self.node_constants[up].home != constants.v else up
        return found

    def elimination_order(self) -> list[tuple[int, int]]:
        """Return every freedom with the node at which it is eliminated, from the tips inward."""
        order = []
        for k, constants in reversed(list(enumerate(self.node_constants))):
            for where in (constants.home, None if constants.shared else constants.v):
                order += [(k, i) for i in range(where.start, where.stop)] if where is not None else []
        return order

    def toward(self, name: str) -> NodeTree:
        """Return only the nodes on the way from the ground to a body or frame."""
        index, placement = self.where[name]
        path = list(self.tree.path(index))[::-1]
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
    q = symbols.q[constants.q, :]
    rotation, point, inertia, least, armature = constants.expressions
    if constants.body is not None:
        inertia = inertia + constants.body.inertia(q).rigid
    return Node(
        joint=constants.joint,
        rotation=rotation,
        point=point,
        inertia=inertia,
        q=q,
        v=symbols.v[constants.v, :],
        # efforts on own coordinates are given to the body itself, not to its moving frames
        tau=ca.SX.zeros(constants.joint.nv) if constants.on_frame else symbols.tau[constants.v, :],
        acceleration=symbols.acceleration[constants.v, :],
        prescribed=constants.use.prescribed,
        loads=loads,
        shared=constants.shared,
        on_frame=constants.on_frame,
        body=constants.body,
        least_inertia=least,
        watched=constants.watched,
        new_reference=constants.new_reference,
        armature=armature,
        combinations=constants.combinations,
    )


def make_node_tree(description: Description, plan: Plan, *, weld: bool = True) -> NodeTree:
    """Express everything in node frames; with `weld`, fixed joints make one node of two bodies."""
    made = _Making(description, plan, weld)
    for item in plan.nodes:
        made.add(item)
    for frame in description.frames:
        index, body_in_node = made.where[frame.body]
        made.where[frame.name] = (index, body_in_node @ frame.placement)
    set_hinge_scales(made.nodes, closed=bool(plan.cuts or description.closures))
    _set_combinations(made.nodes)
    positions = _positions(made.nodes, description)
    return NodeTree(tuple(made.nodes), made.where, description.gravity, plan.nq, plan.nv, positions)


def _set_combinations(nodes: Sequence[NodeConstants]) -> None:
    """Set in which combinations own coordinates are eliminated, for bodies that the tree reaches at their frame."""
    carrying = {id(nodes[one.parent]) for one in nodes if one.parent >= 0}
    units: dict[int, list[NodeConstants]] = {}
    for one in nodes:
        where = one.v if one.shared else one.home
        if where is not None:
            units.setdefault(where.start, []).append(one)
    known: dict[tuple[int, tuple[str, ...]], ca.SX] = {}
    for unit in units.values():
        if any(one.shared and isinstance(one.joint, Reversed) for one in unit):
            continue
        kind = next(one.body for one in unit if one.body is not None)  # not empty: the body's own node is in its unit
        moving = [one for one in unit if id(one) in carrying]
        frames = tuple(one.joint.frame for one in moving if isinstance(one.joint, MovingFrame))
        if (id(kind), frames) not in known:
            known[id(kind), frames] = kind.combinations(frames)
        for one in unit:
            one.combinations = known[id(kind), frames]


class _Making:
    """A node tree in the making: the nodes so far, and where bodies and frames are."""

    def __init__(self, description: Description, plan: Plan, weld: bool) -> None:
        self.description, self.plan, self.weld = description, plan, weld
        self.bodies = {body.name: body for body in description.bodies}
        self.nodes: list[NodeConstants] = []
        self.where: dict[str, tuple[int, Placement]] = {"ground": (-1, Placement.identity())}

    def add(self, item: PlanNode) -> None:
        """Add a body with the joint that leads to it."""
        use = self.description.joints[item.joint]
        near, far = (use.child, use.parent) if item.reverse else (use.parent, use.child)
        on_near, on_far = (use.on_child, use.on_parent) if item.reverse else (use.on_parent, use.on_child)
        parent, near_in_node = self.where[near]
        placement = tidy(near_in_node @ on_near)
        body = self.bodies[item.body]
        if self.weld and self.plan.is_welded(item):
            self.where[far] = (parent, tidy(placement @ on_far.inverse()))
        else:
            joint = Reversed(use.joint) if item.reverse else use.joint
            self.nodes.append(NodeConstants(parent, use, joint, placement, [0.0] * 10, item.q, item.v))
            self.where[far] = (len(self.nodes) - 1, tidy(on_far.inverse()))
        if body.kind is not None:
            self._add_unit(body, far)
        index, body_in_node = self.where[item.body]
        if index >= 0:
            own = _inertia_in_node(body.properties, body_in_node)
            self.nodes[index].inertia = [a + b for a, b in zip(self.nodes[index].inertia, own, strict=True)]

    def _add_unit(self, body: Body, reached: str) -> None:
        """Add the other nodes of a body with own coordinates, which was reached at its frame or at a moving one."""
        assert body.kind is not None
        kind = body.kind.bare
        home, placement = self.where[reached]
        q, v = self.plan.own_slices[body.name]
        self.nodes[home].home = v
        entry = reached.removeprefix(body.name + ".") if reached != body.name else None
        if entry is not None:  # from the moving frame back to the body frame
            back = Reversed(MovingFrame(kind, entry))
            home, placement = self._share(body, back, home, placement, q, v), Placement.identity()
        inside = self._share(body, OwnCoordinates(kind), home, placement, q, v)
        self.nodes[inside].body = kind
        self.where[body.name] = (inside, Placement.identity())
        for name in kind.frames:
            k = self._share(body, MovingFrame(kind, name), home, placement, q, v)
            self.where[f"{body.name}.{name}"] = (k, Placement.identity())

    def _share(self, body: Body, joint: Joint, parent: int, placement: Placement, q: slice, v: slice) -> int:
        """Add a node that shares a body's own coordinates; return its number."""
        described = joint.joint if isinstance(joint, Reversed) else joint
        use = JointUse(body.name, described, body.name, body.name, Placement.identity(), Placement.identity(), False)
        self.nodes.append(NodeConstants(parent, use, joint, placement, [0.0] * 10, q, v, shared=True))
        return len(self.nodes) - 1


def _positions(nodes: Sequence[NodeConstants], description: Description) -> tuple[int | None, ...]:
    """Return where a node's joint stands among those that are not welded, in the order they were declared."""
    used = {constants.use.name for constants in nodes if not constants.shared}
    rank = {name: i for i, name in enumerate(use.name for use in description.joints if use.name in used)}
    return tuple(None if constants.shared else rank[constants.use.name] for constants in nodes)


def tidy(placement: Placement) -> Placement:
    """Set rotation entries that are zero up to rounding to zero, so that they fold away.

    >>> tidy(Placement.identity()).point
    (0.0, 0.0, 0.0)
    """
    rows = placement.rotation
    if all(abs(x) > _ROUNDING or x == 0.0 for row in rows for x in row):
        return placement
    clean = tuple(tuple(0.0 if abs(x) <= _ROUNDING else x for x in row) for row in rows)
    return Placement.computed(clean, placement.point)  # type: ignore[arg-type]


def _inertia_in_node(properties: MassProperties, placement: Placement) -> list[Scalar]:
    """Return mass, first moment and inertia about the node's origin."""
    moved = properties.moved(at=placement.point, rotation=placement.rotation)
    m, com = moved.mass, moved.com
    (xx, _, _), (xy, yy, _), (xz, yz, zz) = moved.about((0.0, 0.0, 0.0))
    return [m, *(m * c for c in com), xx, xy, yy, xz, yz, zz]
