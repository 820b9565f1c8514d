"""Trees in which some nodes have become one: groups of loops, and branches that are solved as a whole.

The articulated-body sweeps run over them unchanged (`nodes/node_interface.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import casadi as ca

from whippletree.formulations.closures.aggregates import Augmented, Embedded, GroupOutcome
from whippletree.formulations.closures.loop_groups import NodeGroup
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.node_interface import JointOutcome
from whippletree.formulations.nodes.sweeps import Kept, Unrolled
from whippletree.spatial import stack
from whippletree.symbolic.sparse_factors import SparseLU

__all__ = ["GroupNode", "base_acceleration", "contracted_tree", "joint_accelerations", "subtree"]


class GroupNode(NamedTuple):
    """A group as a node, with the data that its multipliers need: the rows of its closures, and the factors of C_d."""

    group: NodeGroup
    node: Embedded | Augmented
    rows: tuple[int, ...]
    freedoms: tuple[int, ...]
    factors: SparseLU | None


def contracted_tree(walk: Unrolled, grouped: Sequence[GroupNode]) -> tuple[Unrolled, dict[int, int]]:
    """Return the walk over rigid nodes and groups, and which of its nodes are which groups."""
    inside = {k: (g, m) for g, one in enumerate(grouped) for m, k in enumerate(one.group.nodes)}
    nodes: list[object] = []
    parents: list[int] = []
    ports: list[int | None] = []
    slices: list[slice] = []
    place: dict[int, int] = {}
    at: dict[int, int] = {}
    where: dict[int, int] = {}
    for k, node in enumerate(walk.nodes):
        if k in inside and inside[k][0] in where:
            continue
        up = walk.parents[k]
        if k in inside:
            g = inside[k][0]
            where[g], at[len(nodes)] = len(nodes), g
            node, up = grouped[g].node, grouped[g].group.base  # type: ignore[assignment]  # noqa: PLW2901
        else:
            place[k] = len(nodes)
        parents.append(-1 if up < 0 else where[inside[up][0]] if up in inside else place[up])
        ports.append(inside[up][1] if up in inside else None)
        slices.append(walk.v_slices[k])
        nodes.append(node)
    homes = {place[k]: own for k, own in walk.homes.items() if k in place}
    tree = Unrolled(cast(Sequence[Node], nodes), parents, slices, walk.nv, walk.gravity, ports=ports, homes=homes)
    return tree, at


def joint_accelerations(
    tree: Unrolled, grouped: Sequence[GroupNode], at: dict[int, int], outcome: Kept[JointOutcome | GroupOutcome]
) -> ca.SX:
    """Return the accelerations (nv) of all freedoms from the sweeps' outcomes at the nodes of such a tree."""
    a = ca.densify(ca.SX(tree.nv, 1))
    for k, node in enumerate(tree.nodes):
        freedoms = grouped[at[k]].freedoms if k in at else range(tree.v_slices[k].start, tree.v_slices[k].stop)
        found = outcome.at(k).acceleration
        if not getattr(node, "on_frame", False):
            for i, freedom in enumerate(freedoms):
                a[freedom] = found[i]
    return a


def subtree(walk: Unrolled, group: NodeGroup) -> tuple[Unrolled, tuple[int, ...]]:
    """Return the walk over a group's own nodes, and the places of their freedoms in v."""
    local = {k: m for m, k in enumerate(group.nodes)}
    parents = [local.get(walk.parents[k], -1) for k in group.nodes]
    freedoms: list[int] = []
    places: dict[tuple[int, int], slice] = {}  # nodes that share freedoms have the same place

    def placed(where: slice) -> slice:
        key = (where.start, where.stop)
        if key not in places:
            places[key] = slice(len(freedoms), len(freedoms) + where.stop - where.start)
            freedoms.extend(range(where.start, where.stop))
        return places[key]

    slices = [placed(walk.v_slices[k]) for k in group.nodes]
    homes = {local[k]: placed(walk.homes[k]) for k in group.nodes if k in walk.homes}
    nodes = [walk.nodes[k] for k in group.nodes]
    return Unrolled(nodes, parents, slices, len(freedoms), walk.gravity, homes=homes), tuple(freedoms)


def base_acceleration(walk: Unrolled, group: NodeGroup) -> ca.SX:
    """Return the known part of the base's acceleration: that of the ground."""
    return stack(ca.SX.zeros(3), -walk.gravity) if group.base < 0 else ca.SX.zeros(6)
