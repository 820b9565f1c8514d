"""Methods mixed by branch: articulated-body sweeps over a tree in which some branches are solved as a whole.

A branch is a body with all that hangs on it, less what is a branch of its own. It is solved

    articulated     joint by joint, as the rest
    composite       as one node, whose unknowns y are all its joints' accelerations, D = M of the branch by composite
                    inertias, U = the forces of unit accelerations at its base
    embedded        the same, by its bodies' own maps

The rest sees its articulated inertia P - U D^-1 U* and bias force and nothing else, as it does of a group of loops
(`closures/aggregates.py`, whose X is the identity here, since nothing is held).

Recursion costs the same for every joint, a factorised mass matrix grows with the cube of a branch's depth. In a serial
chain of hinges with general axes the last joint takes 371 operations by recursion and 354 as a branch, the last two
757 and 748, the last three 1141 and 1201, and balls and slides never fewer. So without `branches=` every branch of one
or two freedoms is weighed: counted both ways, over symbols for its base, and taken as a whole where that takes fewer
operations. What that saves is of the order of one per cent, for which `auto` does not trace a third formulation.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from whippletree.errors import StateError
from whippletree.formulations.closures.aggregates import Embedded
from whippletree.formulations.closures.contracted_trees import (
    GroupNode,
    base_acceleration,
    contracted_tree,
    joint_accelerations,
    subtree,
)
from whippletree.formulations.closures.loop_groups import NodeGroup
from whippletree.formulations.methods.formulation import Formulation, TreeMethod
from whippletree.formulations.methods.registry import read_mapping, register
from whippletree.formulations.nodes.node_interface import AngularState, Articulated, Carried
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import articulated_body as articulated
from whippletree.spatial.scalars import shown

__all__ = ["BRANCH_METHODS", "BY_BRANCH", "cheapest_branches", "forward_dynamics"]

BRANCH_METHODS = ("articulated", "composite", "embedded")
"""How a branch can be solved."""

WEIGHED = "cheapest"
"""The default of `branches=`."""

_MOST_FREEDOMS = 2
"""Branches with more freedoms are not weighed: they are dearer as a whole (see the module)."""


def forward_dynamics(walk: Unrolled, chosen: Mapping[int, str]) -> ca.SX:
    """Return the joint accelerations (nv), the branches that begin at some nodes being solved in their own ways."""
    grouped = [
        _branch(walk, nodes, composite=chosen[k] == "composite")
        for k, nodes in _branches(walk, chosen).items()
        if chosen[k] != "articulated"
    ]
    tree, at = contracted_tree(walk, grouped)
    result = articulated.sweep(tree)
    return joint_accelerations(tree, grouped, at, result.outcome)


def _branches(walk: Unrolled, chosen: Mapping[int, str]) -> dict[int, tuple[int, ...]]:
    """Return the nodes of each branch by its first: those beyond it, up to where others begin."""
    owner: list[int | None] = []
    for k, parent in enumerate(walk.parents):
        owner.append(k if k in chosen else owner[parent] if parent >= 0 else None)
    return {first: tuple(k for k, own in enumerate(owner) if own == first) for first in chosen}


def _branch(walk: Unrolled, nodes: tuple[int, ...], *, composite: bool) -> GroupNode:
    """Return a branch as one node, whose unknowns are the accelerations of its joints."""
    group = NodeGroup(nodes, walk.parents[nodes[0]], ())
    tree, freedoms = subtree(walk, group)
    given = {i for node, where in zip(tree.nodes, tree.v_slices, strict=True) if node.prescribed for i in _range(where)}
    place = {i: c for c, i in enumerate(i for i in range(len(freedoms)) if i not in given)}
    X, g = [], []
    for node, where in zip(tree.nodes, tree.v_slices, strict=True):
        block = ca.SX(where.stop - where.start, len(place))
        for r, i in enumerate(_range(where)):
            if i in place:
                block[r, place[i]] = 1
        X.append(block)
        g.append(node.acceleration if node.prescribed else ca.SX.zeros(where.stop - where.start))
    whole = Embedded(tree, base_acceleration(walk, group), tuple(X), tuple(g), len(place), composite)
    return GroupNode(group, whole, (), freedoms, None)


def _range(where: slice) -> range:
    return range(where.start, where.stop)


# ---------------------------------------------------------------------------------------------------------
# The cheapest


def cheapest_branches(walk: Unrolled) -> dict[int, str]:
    """Return the branches that take fewer operations as a whole, none of them within another."""
    found: dict[int, str] = {}
    size = [node.v.shape[0] if not node.shared else 0 for node in walk.nodes]
    for k in reversed(range(len(walk.nodes))):
        if walk.parents[k] >= 0:
            size[walk.parents[k]] += size[k]
    inside: set[int] = set()
    for k, node in enumerate(walk.nodes):
        if node.shared or walk.parents[k] in inside:
            inside.add(k)
            continue
        if walk.parents[k] < 0 or not 0 < size[k] <= _MOST_FREEDOMS:
            continue
        nodes = _branches(walk, {k: "composite"})[k]
        if _operations(walk, nodes, composite=True) < _operations(walk, nodes, composite=False):
            found[k] = "composite"
            inside.add(k)
    return found


def _operations(walk: Unrolled, nodes: tuple[int, ...], *, composite: bool) -> int:
    """Return the approximate number of operations of a branch, over symbols for the motion of its base."""
    place = {k: m for m, k in enumerate(nodes)}
    parents = [place.get(walk.parents[k], -1) for k in nodes]
    homes = {place[k]: own for k, own in walk.homes.items() if k in place}
    slices, own = [walk.v_slices[k] for k in nodes], [walk.nodes[k] for k in nodes]
    local = Unrolled(own, parents, slices, walk.nv, ca.SX.zeros(3), homes=homes)  # gravity comes with the base
    grouped = [_branch(local, tuple(range(len(nodes))), composite=True)] if composite else []
    tree, _ = contracted_tree(local, grouped)
    motion = AngularState(ca.SX.sym("rate", 3), ca.SX.sym("axes", 3, 3))
    where = tree.outward(articulated.locate, motion)
    total, hinge = tree.inward(articulated.eliminate_joint, Articulated.nothing(), where)
    outcome = tree.outward(articulated.find_acceleration, Carried(ca.SX.sym("alpha", 6)), where, hinge)
    results = [*(one.acceleration for one in outcome.records), ca.vec(total.P.matrix()), total.z]
    return int(ca.Function("branch", [], [ca.vertcat(*results)], {"allow_free": True}).n_instructions())


# ---------------------------------------------------------------------------------------------------------
# The declaration


def _by_body(options: Mapping[str, str]) -> Formulation:
    """Return the formulation with methods for the branches that begin with some bodies."""
    chosen = read_mapping(options["branches"])
    if not chosen and options["branches"] != WEIGHED:
        raise StateError(
            f'branches= must map bodies to methods, as in {{"left arm": "composite"}}, not {shown(options["branches"])}'
        )
    for body, method in chosen.items():
        if method not in BRANCH_METHODS:
            listed = ", ".join(f'"{name}"' for name in BRANCH_METHODS)
            raise StateError(f'the branch of body "{body}" must be solved by one of {listed}, not {shown(method)}')

    def accelerations(walk: Unrolled) -> ca.SX:
        return forward_dynamics(walk, _first_nodes(walk, chosen) if chosen else cheapest_branches(walk))

    return Formulation(
        "by_branch",
        options=dict(options),
        tree=TreeMethod(accelerations),
        linear=True,
        with_options=_by_body,
        bodies=tuple(chosen),
    )


def _first_nodes(walk: Unrolled, chosen: Mapping[str, str]) -> dict[int, str]:
    """Return the methods by the nodes at which branches begin."""
    found: dict[int, str] = {}
    names: dict[int, str] = {}
    for body, method in chosen.items():
        k = walk.node_of[body]
        if k < 0:
            raise StateError(f'body "{body}" is welded to the ground: it is no branch')
        k = walk.home(k)
        if k in found and found[k] != method:
            raise StateError(f'bodies "{names[k]}" and "{body}" are welded together: they begin the same branch')
        found[k], names[k] = method, body
    return found


BY_BRANCH = register(_by_body({"branches": WEIGHED}))
