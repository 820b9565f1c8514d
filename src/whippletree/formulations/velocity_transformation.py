"""Velocity transformation, formulation B (Garcia de Jalon and Bayo, 8.2-8.3): bodies' velocities from the joints'.

The bodies' velocities are those of their centres of mass and their angular velocities, in ground axes, Y = R z', and
the equations of motion in the joints' coordinates follow body by body:

    R^T M R z'' = R^T (Q - c - M S c)                                                       (8.38)
    R^T M R = sum over bodies of R_b^T M_b R_b                                              (8.107)

Symbols:

    R_b         columns of body b, one block for every joint on its way to the ground       (8.99-8.105)
    M_b         its mass and inertia, in ground axes                                        (8.88, 8.106)
    S_b         its acceleration while the joints' are zero                                 (8.35, 8.95-8.98)
    Q_b - c_b   applied and gyroscopic forces                                               (8.88)

A block of R_b moves the joint's axes to the body's centre: for a hinge u and u x (g_b - r_i), for a slide 0 and u, and
so on for every joint type; a floating base is the joint that comes first. Blocks of joints that are not on the way do
not exist, so R^T M R has an entry only where two joints carry a common body.

Closed chains (8.3): the rows of a cut joint on the bodies' accelerations are Phi, those on the joints' Phi R (8.114).
The equations are then closed by multipliers, by a penalty (8.115) or by independent coordinates (8.116-8.120), with the
same text as in joint coordinates (`joint_multipliers`, `penalty`, `independent_coordinates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca

from whippletree.formulations import composite
from whippletree.formulations.closing import Closing
from whippletree.formulations.composite import JointEquations
from whippletree.formulations.coordinates import Closures, Coordinates
from whippletree.formulations.ground import Body, bodies, held_on_ground
from whippletree.formulations.marks import mark
from whippletree.formulations.node import Node
from whippletree.formulations.sweeps import Unrolled
from whippletree.spatial import Translation

__all__ = ["REFERENCE_POINT", "forward_dynamics", "velocity_map", "work"]

Blocks = dict[int, ca.SX]
"""Columns (6, nv) of a body by joint."""


class Carried(NamedTuple):
    """Kept by the acceleration sweep."""

    S: ca.SX


def forward_dynamics(walk: Unrolled) -> ca.SX:
    """Return the joint accelerations (nv) of a tree."""
    system = equations(walk)
    return system.complete(system.factor().solve(dict(system.right)))


def equations(walk: Unrolled) -> JointEquations:
    """Return the tree's equations (8.38); the nodes' accelerations are part of S."""
    seen = bodies(walk, "centroid")
    S = walk.outward(carry, (ca.SX.zeros(6),), seen)
    _mark_bodies(seen, S)
    R = velocity_map(walk, seen)
    mark("R", R)
    mass = ca.densify(ca.SX(walk.nv, walk.nv))
    force = ca.densify(ca.SX(walk.nv, 1))
    for k, row in enumerate(R):
        body: Body = seen.at(k)
        lacking = body.M.times(S.at(k).S) - body.Q
        _assemble(walk, mass, row, {i: body.M.times(block) for i, block in row.items()})
        for i, block in row.items():
            force[walk.v_slices[i]] = force[walk.v_slices[i]] + block.T @ lacking
    mark("R^T M R", mass)
    mark("R^T (Q - c - M S)", force)
    return composite.of_matrix(walk, mass, force)


def closures(walk: Unrolled, closing: Closing) -> Closures:
    """Return the closures and their rows Phi R (8.113, 8.114), `second` for the nodes' accelerations."""
    seen = bodies(walk, "centroid")
    held = held_on_ground(walk, closing, seen, "centroid")
    S = walk.outward(carry, (ca.SX.zeros(6),), seen)
    R = velocity_map(walk, seen)
    found, rows = [], []
    for one in held:
        blocks: Blocks = {}
        second = one.second
        for pull in one.pulls:
            second = second + pull.F.T @ S.at(pull.node).S
            for i, block in R[pull.node].items():
                if i in _beyond(walk, pull.node, pull.base):
                    _add(blocks, i, block.T @ pull.F)
        for hinge in one.hinges:
            node = walk.nodes[hinge.node]
            e = ca.SX.zeros(node.v.shape[0], one.n_rows)
            e[hinge.component, :] = hinge.e.T
            _add(blocks, hinge.node, e)
            second = second + e.T @ node.acceleration
        found.append(one._replace(second=second))
        rows += [_row(walk, blocks, r) for r in range(one.n_rows)]
    return found, rows


REFERENCE_POINT = Coordinates(equations, closures)
"""Reference-point coordinates: formulation B."""


def velocity_map(walk: Unrolled, seen: Any) -> list[Blocks]:
    """Return R body by body (8.99-8.105): the axes of every joint on the way, moved to the body's centre."""
    rows: list[Blocks] = []
    for k in range(len(walk.nodes)):
        center, row, i = seen.at(k).p, Blocks(), k
        while i >= 0:
            joint: Body = seen.at(i)
            if joint.axes.shape[1]:
                row[i] = joint.B2 if i == k else Translation(center - joint.r).motion(joint.axes)
            i = walk.parents[i]
        rows.append(row)
    return rows


def carry(node: Node, parent: tuple[ca.SX], body: Body) -> tuple[tuple[ca.SX], Carried]:
    """Carry accelerations to a body, those of the joints being the nodes' (8.95-8.98)."""
    S = body.shift().motion(parent[0]) + body.D + body.B2 @ node.acceleration
    return (S,), Carried(S)


def work(parents: Sequence[int]) -> int:
    """Return how many products of blocks R^T M R takes: it grows with the cube of a chain's length.

    >>> work([-1, 0, 1])
    10
    """
    depth: list[int] = []
    for parent in parents:
        depth.append(1 if parent < 0 else depth[parent] + 1)
    return sum(d * (d + 1) // 2 for d in depth)


def _assemble(walk: Unrolled, mass: ca.SX, row: Blocks, heavy: Blocks) -> None:
    """Add R_b^T M_b R_b of one body, each pair of joints once (8.107)."""
    for i, block in row.items():
        for j, other in heavy.items():
            if j > i:
                continue
            product = block.T @ other
            a, b = walk.v_slices[i], walk.v_slices[j]
            if i == j:
                product = ca.densify(ca.tril2symm(ca.tril(product)))
            mass[a, b] = mass[a, b] + product
            if i != j:
                mass[b, a] = mass[a, b].T


def _row(walk: Unrolled, blocks: Blocks, r: int) -> dict[int, ca.SX]:
    row: dict[int, ca.SX] = {}
    for i in sorted(blocks):
        for j in range(blocks[i].shape[0]):
            if not blocks[i][j, r].is_zero():
                row[walk.v_slices[i].start + j] = blocks[i][j, r]
    return row


def _beyond(walk: Unrolled, node: int, base: int) -> set[int]:
    """Return the nodes from a node to the base of its loop, without the base: what moves both sides is left out."""
    way: set[int] = set()
    while node != base:
        way.add(node)
        node = walk.parents[node]
    return way


def _mark_bodies(seen: Any, S: Any) -> None:
    records = seen.records
    mark("position", [(b.A, b.r, b.p) for b in records])
    mark("velocity", [(b.axes, b.w) for b in records])
    mark("S", [kept.S for kept in S.records])
    mark("M", [b.M.J for b in records])
    mark("Q - c", [b.Q for b in records])


def _add(target: Blocks, key: int, value: ca.SX) -> None:
    target[key] = target[key] + value if key in target else value
