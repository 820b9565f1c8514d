"""Velocity transformations (Garcia de Jalon and Bayo, 8.2-8.3): formulations B and A.

In B (`coordinates="reference_point"`), the bodies' velocities are those of their centres of mass and their angular
velocities, in ground axes, Y = R z', and the equations of motion in the joints' coordinates follow body by body:

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

A ball or a floating base is *level*: it moves along the ground's axes here (8.103, 8.105), which costs no product, and
its accelerations are turned into its own axes when they are found: v' = T^T z'' (`ground`).

In A (`coordinates="natural"`), the velocities are those of points and unit vectors, and the mass matrices constant
(`natural/natural_transformation.py`); z' and what follows are the same. Loops are opened by leaving out rigid-body
conditions of some bodies (`natural/opened_chains.py`), and closed in the same three ways.

Closed chains in B (8.3): the rows of a cut joint on the bodies' accelerations are Phi, those on the joints' Phi R.
The equations are then closed by multipliers, by a penalty (8.115) or by independent coordinates (8.116-8.120), with the
same text as in joint coordinates (`joint_multipliers`, `penalty`, `independent_coordinates`). Which coordinates are
independent has been decided in the joints' own axes. So for the last method the sums of level joints within loops are
turned: T^T (R^T M R) T, T^T R^T Q and T^T R^T Phi^T (`own_axes`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.ground_closures import closures_on_ground
from whippletree.formulations.closures.loop_solution import Closures, Coordinates, Solution
from whippletree.formulations.methods.formulation import Candidacy, Formulation, LoopProblem, TreeMethod
from whippletree.formulations.methods.registry import find, register
from whippletree.formulations.nodes.node import Node
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Kept, Unrolled
from whippletree.formulations.recursions import composite_body as composite
from whippletree.formulations.recursions.composite_body import JointEquations
from whippletree.formulations.recursions.ground_axes import (
    GroundBody,
    armature_of,
    bodies,
    by_threes,
    is_level,
    level_map,
    to_ground,
)
from whippletree.spatial import Translation, mirror, skew, stack
from whippletree.symbolic.sparse_factors import add_to
from whippletree.topology import Tree

__all__ = [
    "INDEPENDENT",
    "MULTIPLIERS",
    "PENALTY",
    "REFERENCE_POINT",
    "forward_dynamics",
    "own_axes",
    "velocity_map",
    "work",
]

Blocks = dict[int, ca.SX]
"""Columns (6, nv) of a body by joint."""


class BodyAcceleration(NamedTuple):
    """Kept by the acceleration sweep."""

    S: ca.SX


def forward_dynamics(walk: Unrolled) -> ca.SX:
    """Return the joint accelerations (nv) of a tree."""
    system = equations(walk)
    return system.complete(system.factor().solve(dict(system.right)))


def natural_dynamics(walk: Unrolled) -> ca.SX:
    """Return the joint accelerations (nv) of a tree by formulation A."""
    system = natural_equations(walk)
    return system.complete(system.factor().solve(dict(system.right)))


def natural_equations(walk: Unrolled) -> JointEquations:
    """Return the tree's equations (8.38) from natural coordinates."""
    from whippletree.formulations.natural.natural_transformation import transformed  # only where it is asked for

    seen = bodies(walk, "joint")
    S = walk.outward(carry, Accelerated.ground(), seen)
    records = seen.records
    record_stage("position", [(b.A, b.r) for b in records])
    record_stage("velocity", [(b.axes, b.w) for b in records])
    mass, force = transformed(walk, seen, S)
    _add_armature(walk, seen, mass, force)
    level = {k: seen.at(k).A for k, node in enumerate(walk.nodes) if is_level(node)}
    return replace(composite.of_matrix(_leveled(walk, level), mass, force), axes=_axes(walk, level))


def equations(walk: Unrolled, own: Collection[int] = ()) -> JointEquations:
    """Return the tree's equations (8.38); the nodes' accelerations are part of S.

    `own` are the nodes whose joints are described in their own axes, though they are level.
    """
    seen = bodies(walk, "centroid")
    S = walk.outward(carry, Accelerated.ground(), seen)
    _mark_bodies(seen, S)
    R = velocity_map(walk, seen)
    record_stage("R", R)
    mass = ca.densify(ca.SX(walk.nv, walk.nv))
    force = ca.densify(ca.SX(walk.nv, 1))
    for k, row in enumerate(R):
        body: GroundBody = seen.at(k)
        lacking = body.M.times(S.at(k).S) - body.Q
        if walk.nodes[k].body is not None:
            lacking = lacking + body.own.C @ walk.nodes[k].acceleration
            _assemble_own(walk, mass, force, row, k, body, S.at(k).S)
        _assemble(walk, mass, row, {i: body.M.times(block) for i, block in row.items()})
        for i, block in row.items():
            force[walk.v_slices[i]] = ca.mac(block.T, lacking, force[walk.v_slices[i]])
    _add_armature(walk, seen, mass, force)
    level = {k: seen.at(k).A for k, node in enumerate(walk.nodes) if is_level(node)}
    for k in level.keys() & own:
        _turn(mass, force, walk.v_slices[k], level.pop(k))
    record_stage("R^T M R", mass)
    record_stage("R^T (Q - c - M S)", force)
    return replace(composite.of_matrix(_leveled(walk, level), mass, force), axes=_axes(walk, level))


def closures(walk: Unrolled, closure_set: ClosureSet, own: Collection[int] = ()) -> Closures:
    """Return the closures and their rows Phi R (8.113, 8.114), `second` for the nodes' accelerations."""
    seen = bodies(walk, "centroid")
    closure_states = closures_on_ground(walk, closure_set, seen, "centroid")
    S = walk.outward(carry, Accelerated.ground(), seen)
    R = velocity_map(walk, seen)
    found, rows = [], []
    level = {k for k, node in enumerate(walk.nodes) if is_level(node)}
    for one in closure_states:
        blocks: Blocks = {}
        second = one.second
        for on_node in one.node_forces:
            second = second + on_node.F.T @ S.at(on_node.node).S
            beyond = set(walk.tree.path(on_node.node, on_node.base))  # what moves both sides is left out
            for i, block in R[on_node.node].items():
                if i in beyond:
                    add_to(blocks, i, block.T @ on_node.F)
        for i in level & blocks.keys() & set(own):
            blocks[i] = by_threes(seen.at(i).A.T, blocks[i])
        for hinge in one.joint_forces:
            node = walk.nodes[hinge.node]
            e = ca.SX.zeros(node.v.shape[0], one.n_rows)
            e[hinge.component, :] = hinge.e.T
            add_to(blocks, hinge.node, e)
            second = second + e.T @ node.acceleration
        found.append(one._replace(second=second))
        rows += [_row(walk, blocks, r) for r in range(one.n_rows)]
    return found, rows


REFERENCE_POINT = Coordinates(equations, closures)
"""Reference-point coordinates: formulation B."""


def own_axes(walk: Unrolled, closure_set: ClosureSet) -> Coordinates:
    """Return coordinates in which the joints that closures hold are described in their own axes."""
    closure_states = closure_set.attachments
    places = [(f.frames, f.base) for f in closure_states.all] + [(c.frames, c.base) for c in closure_states.cuts]
    own: set[int] = set()
    for frames, base in places:
        for frame in frames:
            own.update(walk.tree.path(frame.node, base))
    return Coordinates(partial(equations, own=own), partial(closures, own=own))


def velocity_map(walk: Unrolled, seen: Kept[GroundBody]) -> list[Blocks]:
    """Return R body by body (8.99-8.105): the axes of every joint on the way, moved to the body's centre."""
    rows: list[Blocks] = []
    for k in range(len(walk.nodes)):
        center, row = seen.at(k).p, Blocks()
        for i in walk.tree.path(k):
            joint: GroundBody = seen.at(i)
            node = walk.nodes[i]
            axes = level_map(node) if is_level(node) else joint.axes
            if axes.shape[1]:
                row[i] = joint.B2 if i == k else Translation(center - joint.r).motion(axes)
        rows.append(row)
    return rows


class Accelerated(NamedTuple):
    """Handed outward: a body's acceleration, and the matrix of its acceleration field."""

    S: ca.SX
    U: ca.SX

    @staticmethod
    def ground() -> Accelerated:
        """Return the record that leaves the ground."""
        return Accelerated(ca.SX.zeros(6), ca.SX.zeros(3, 3))


def carry(node: Node, parent: Accelerated, body: GroundBody) -> tuple[Accelerated, BodyAcceleration]:
    """Carry accelerations to a body, those of the joints being the nodes' (8.95-8.98)."""
    field = body.field
    given = body.axes @ node.acceleration
    turning = parent.S[0:3] + field.d + given[0:3]
    U = field.W + skew(turning)
    linear = ca.mac(parent.U, field.reach, parent.S[3:6] + field.own + given[3:6])
    linear = ca.mac(U, field.rho, linear)
    S = stack(turning, linear)
    return Accelerated(S, U), BodyAcceleration(S)


def work(parents: Sequence[int]) -> int:
    """Return how many products of blocks R^T M R takes: it grows with the cube of a chain's length.

    >>> work([-1, 0, 1])
    10
    """
    return sum(d * (d + 1) // 2 for d in Tree(parents).depth)


def _assemble(walk: Unrolled, mass: ca.SX, row: Blocks, heavy: Blocks) -> None:
    """Add R_b^T M_b R_b of one body, each pair of joints once (8.107): i is the nearer one to the ground."""
    for j, other in heavy.items():
        for i, block in row.items():
            if i > j:
                continue
            a, b = walk.v_slices[i], walk.v_slices[j]
            if i != j and a == b:  # two nodes that share freedoms
                product = block.T @ other
                mass[a, a] = mirror(mass[a, a] + product + product.T)
                continue
            total = ca.mac(block.T, other, mass[a, b])
            mass[a, b] = mirror(total) if i == j else total
            if i != j:
                mass[b, a] = total.T


def _assemble_own(walk: Unrolled, mass: ca.SX, force: ca.SX, row: Blocks, k: int, body: GroundBody, S: ca.SX) -> None:
    """Add the terms of a body's own coordinates: C and E, and the efforts that they need."""
    own, at = body.own, walk.v_slices[k]
    for i, block in row.items():
        a, product = walk.v_slices[i], block.T @ own.C
        if a == at:
            mass[at, at] = mass[at, at] + product + product.T
        else:
            mass[a, at] = mass[a, at] + product
            mass[at, a] = mass[a, at].T
    mass[at, at] = mirror(mass[at, at] + own.E)
    force[at] = force[at] + own.C.T @ S + own.E @ walk.nodes[k].acceleration + own.e


def _add_armature(walk: Unrolled, seen: Kept[GroundBody], mass: ca.SX, force: ca.SX) -> None:
    """Add the inertias of joints' own rates, and the efforts that these need."""
    for k, (node, at) in enumerate(zip(walk.nodes, walk.v_slices, strict=True)):
        if node.armature is not None:
            own = armature_of(node, seen.at(k).A)
            mass[at, at] = mirror(mass[at, at] + own)
            force[at] = force[at] + own @ to_ground(node, seen.at(k).A, node.acceleration)


def _leveled(walk: Unrolled, level: Mapping[int, ca.SX]) -> Unrolled:
    """Return the walk with the efforts of level joints along the ground's axes."""
    nodes = [replace(n, tau=by_threes(level[k], n.tau)) if k in level else n for k, n in enumerate(walk.nodes)]
    return walk.with_nodes(nodes)


def _axes(walk: Unrolled, level: Mapping[int, ca.SX]) -> dict[int, ca.SX]:
    """Return the axes of level joints by the freedoms at which three of theirs begin."""
    where = walk.v_slices
    return {i: A for k, A in level.items() for i in range(where[k].start, where[k].stop, 3)}


def _turn(mass: ca.SX, force: ca.SX, where: slice, A: ca.SX) -> None:
    """Turn the rows and columns of a joint into axes A."""
    force[where] = by_threes(A.T, force[where])
    rows = by_threes(A.T, mass[where, :])
    own = by_threes(A.T, rows[:, where].T)
    mass[where, :] = rows
    mass[:, where] = rows.T
    mass[where, where] = mirror(own)


def _row(walk: Unrolled, blocks: Blocks, r: int) -> dict[int, ca.SX]:
    row: dict[int, ca.SX] = {}
    for i in sorted(blocks):
        for j in range(blocks[i].shape[0]):
            if not blocks[i][j, r].is_zero():
                add_to(row, walk.v_slices[i].start + j, blocks[i][j, r])
    return row


def _mark_bodies(seen: Any, S: Any) -> None:
    records = seen.records
    record_stage("position", [(b.A, b.r, b.p) for b in records])
    record_stage("velocity", [(b.axes, b.w) for b in records])
    record_stage("S", [kept.S for kept in S.records])
    record_stage("M", [b.M.J for b in records])
    record_stage("Q - c", [b.Q for b in records])


MOST_PRODUCTS = 20_000
"""How many products of blocks a velocity transformation may take: a chain of some 48 joints."""

CLOSED_BY = {"multipliers": "joint_multipliers", "penalty": "penalty", "independent": "independent_coordinates"}
"""The formulations whose equations close the loops, in reference-point coordinates."""


def _refusal(parents: Sequence[int]) -> str:
    """Refuse a tree whose equations would take minutes to write out."""
    products = work(parents)
    if products <= MOST_PRODUCTS:
        return ""
    return (
        f'formulation "velocity_transformation" would take {products} products of blocks for the chains of this '
        f'mechanism; use "composite" or "articulated"'
    )


def _solve(problem: LoopProblem, closed_by: str) -> Solution:
    """Solve B with the equations of another formulation, in coordinates of this one."""
    used = own_axes(problem.walk, problem.closure_set) if closed_by == "independent" else REFERENCE_POINT
    return find(CLOSED_BY[closed_by]).solved(replace(problem, coordinates=used))


def _solve_natural(problem: LoopProblem, closed_by: str) -> Solution:
    """Solve A: chains that are open at bodies."""
    from whippletree.formulations.natural.opened_solution import solve_opened  # only where it is asked for

    decisions = problem.decisions
    return solve_opened(problem.walk, problem.closure_set, closed_by, decisions.choice, decisions.element_pivots)


_WAYS = {"reference_point": (forward_dynamics, _solve), "natural": (natural_dynamics, _solve_natural)}
"""How trees and loops are solved, by coordinates."""


def _closed_by(way: str, coordinates: str = "reference_point", **traits: Any) -> Formulation:
    """Register the formulation with its loops closed in one of three ways."""
    tree, solve = _WAYS[coordinates]
    return register(
        Formulation(
            "velocity_transformation",
            options={"coordinates": coordinates, "closed_by": way},
            tree=TreeMethod(tree),
            solve=partial(solve, closed_by=way),
            refusal=_refusal,
            **traits,
        )
    )


_GENERAL = Candidacy(order=50, most_nodes=12, general_axes=True)
"""The cost of a transformation grows with the cube of a chain's length."""

MULTIPLIERS = _closed_by(
    "multipliers",
    takes_baumgarte=True,
    inverts_mass=True,
    candidacy=replace(_GENERAL, order=60, resembles="joint_multipliers"),
)
PENALTY = _closed_by("penalty", needs=("penalty_weights", "compliance"), exact=False, keeps_all_rows=True)
INDEPENDENT = _closed_by("independent", candidacy=replace(_GENERAL, resembles="independent_coordinates"))

_closed_by("multipliers", "natural")
_closed_by("penalty", "natural", exact=False)
_closed_by("independent", "natural", needs=("element_pivots",))
