"""Composite-body formulation (Garcia de Jalon and Bayo, 8.1-8.6).

Inverse dynamics tau = tau(q, v, v') by the recursive Newton-Euler method (8.1); the bias force is its value
at zero acceleration (8.5); the mass matrix comes column by column from composite inertias (8.6, each column
with the bodies beyond the joint taken as one); forward dynamics solves M v' = tau - b (8.4) by a
factorisation M = L^T D L that keeps the zeros between branches.

Symbols: alpha acceleration of a node, f force that its parent exerts on it, I composite inertia, F = I H the
force that a unit joint acceleration needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import casadi as ca

from whippletree.formulations.nodes.hinge_scales import LEAST_OF_DIAGONAL
from whippletree.formulations.nodes.node import AngularState, Node
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import StepRecord, Unrolled, Walk
from whippletree.formulations.recursions.joint_wrenches import joint_wrenches
from whippletree.spatial import RigidInertia, stack
from whippletree.symbolic.arithmetic import plus, product
from whippletree.symbolic.sparse_factors import SymmetricFactor, factor_symmetric

__all__ = [
    "JointEquations",
    "bias_force",
    "equations",
    "forward_dynamics",
    "inverse_dynamics",
    "mass_matrix",
    "of_matrix",
    "reactions",
]


class CarriedAcceleration(NamedTuple):
    """Handed outward: the node's motion and acceleration."""

    motion: AngularState
    alpha: ca.SX


class BodyForce(NamedTuple):
    """Kept by the outward sweep: configuration, force on the node's own body, axes in the ground, own efforts."""

    x: ca.SX
    f: ca.SX
    axes: ca.SX
    own: ca.SX = ca.SX(0, 1)


class JointEffort(NamedTuple):
    """Kept by the inward sweep: joint effort, and the force across the joint."""

    tau: ca.SX
    f: ca.SX


class ResidualEffort(NamedTuple):
    """Kept by the inward sweep of forward dynamics: tau - b, or the acceleration of a prescribed hinge."""

    right: ca.SX


class CompositeBody(NamedTuple):
    """Handed inward: the composite inertia, at the parent.

    `U` (6, n) and `D` (n, n) are of shared freedoms: the forces that their unit accelerations need, and their inertia
    among themselves. Most nodes hand on none.
    """

    inertia: RigidInertia
    U: ca.SX = ca.SX(6, 0)
    D: ca.SX = ca.SX(0, 0)


class Column(NamedTuple):
    """Kept by the composite sweep, and carried by the climb: forces of unit accelerations, as columns (6, m).

    There is one for each freedom that is eliminated at the node: its joint's, and those of a body whose home it is.
    `own` (n, m) are their entries with own coordinates, which the climb collects until it comes to the home of these.
    `rates` (nv, m) is the armature of the joint that the climb starts at; it goes no farther.
    """

    F: ca.SX
    own: ca.SX = ca.SX(0, 0)
    rates: ca.SX = ca.SX(0, 0)


class Configured(NamedTuple):
    """Kept by the placing sweep."""

    x: ca.SX


def newton_euler(walk: Walk) -> tuple[StepRecord, StepRecord]:
    """Run the Newton-Euler sweeps: accelerations outward, forces inward (8.1)."""
    base = CarriedAcceleration(AngularState.rest(), stack(ca.SX.zeros(3), -walk.gravity))
    inertial = walk.outward(accelerate, base)
    _, effort = walk.inward(balance, (ca.SX.zeros(6),), inertial)
    return inertial, effort


def inverse_dynamics(walk: Walk) -> ca.SX:
    """Return the joint efforts (nv) for given accelerations (8.1)."""
    return walk.gather(newton_euler(walk)[1], "tau")


bias_force = inverse_dynamics
"""The same sweeps on nodes whose accelerations are zero (8.5)."""


def reactions(walk: Walk) -> ca.SX:
    """Return the reaction of every joint, node after node (n * 6), for given accelerations."""
    inertial, effort = newton_euler(walk)
    return joint_wrenches(walk, inertial, effort)


def mass_matrix(walk: Walk) -> ca.SX:
    """Return the mass matrix (nv, nv), computed once and mirrored (8.6)."""
    place = walk.outward(configure, ())
    _, column = walk.inward(compose, CompositeBody(RigidInertia.zero()), place)
    return walk.climb(project, column, place)


@dataclass(frozen=True)
class JointEquations:
    """The tree's equations M a = right for the freedoms that are not given, as entries (8.4).

    `given` holds the accelerations of prescribed hinges, whose rows leave the system; `order` eliminates from the tips
    inward, which makes no new entries. `axes` holds, by the first of three freedoms, the axes of joints whose equations
    are along the ground's axes: their accelerations are turned when they are complete. `least` holds the pivots of M
    below which nothing but rounding is left, where they may come to that: eliminated from the tips inward, they are the
    hinge inertias of the articulated bodies.
    """

    mass: dict[tuple[int, int], ca.SX]
    right: dict[int, ca.SX]
    given: dict[int, ca.SX]
    order: list[int]
    nv: int
    axes: Mapping[int, ca.SX] = field(default_factory=dict)
    least: Mapping[int, ca.SX] = field(default_factory=dict)

    def factor(self) -> SymmetricFactor:
        """Factor the mass matrix."""
        return factor_symmetric(self.mass, self.order, self.least)

    def given_accelerations(self) -> ca.SX:
        """Return accelerations (nv) that are zero but where they are given."""
        return self.complete({})

    def complete(self, solution: Mapping[Any, ca.SX]) -> ca.SX:
        """Return accelerations (nv): those solved for, those given, and zero elsewhere."""
        all_of_them = {**solution, **self.given}
        column = ca.densify(ca.SX(ca.vertcat(*(all_of_them.get(i, 0) for i in range(self.nv)))))
        for i, A in self.axes.items():
            column[i : i + 3] = A.T @ column[i : i + 3]
        return column


def equations(walk: Unrolled) -> JointEquations:
    """Return the tree's equations; the nodes' accelerations must be zero except at prescribed hinges."""
    bias, mass = inverse_dynamics(walk), mass_matrix(walk)
    record_stage("bias force", bias)
    record_stage("mass matrix", mass)
    return of_matrix(walk, mass, bias)


def of_matrix(walk: Unrolled, mass: ca.SX, bias: ca.SX) -> JointEquations:
    """Return the tree's equations from its mass matrix (nv, nv) and bias force (nv)."""
    given: dict[int, ca.SX] = {}
    right: dict[int, ca.SX] = {}
    for node, where in zip(walk.nodes, walk.v_slices, strict=True):
        for i in range(where.start, where.stop) if not node.on_frame else ():
            if node.prescribed:
                given[i] = node.acceleration[i - where.start]
            else:
                right[i] = node.tau[i - where.start] - bias[i]
    above = freedom_parents(walk.parents, walk.v_slices, walk.nv, frozenset(given), walk.homes)
    ways = {i: _way(above, i) for i in sorted(right)}
    entries = {(i, j): mass[i, j] for i, way in ways.items() for j in way}
    order = sorted(right, key=lambda i: -len(ways[i]))
    return JointEquations(entries, right, given, order, walk.nv, least=_least_pivots(walk, entries))


def _least_pivots(walk: Unrolled, mass: Mapping[tuple[int, int], ca.SX]) -> dict[int, ca.SX]:
    """Return the pivots below which nothing but rounding is left, by freedom, where they may come to that."""
    least: dict[int, ca.SX] = {}
    for k, (node, where) in enumerate(zip(walk.nodes, walk.v_slices, strict=True)):
        if node.watched and node.least_inertia is not None:
            least |= {i: node.least_inertia[i - where.start] for i in range(where.start, where.stop)}
        own = walk.homes.get(k)
        if own is not None:
            least |= {i: LEAST_OF_DIAGONAL * mass[i, i] for i in range(own.start, own.stop)}
    return least


def forward_dynamics(walk: object) -> ca.SX:
    """Return the joint accelerations (nv): M v' = tau - b (8.4), with the zeros of M between branches kept."""
    if not isinstance(walk, Unrolled):
        by_loops: ca.SX = _forward_in_loops(walk)
        return by_loops
    system = equations(walk)
    return system.complete(system.factor().solve(dict(system.right)))


def _forward_in_loops(walk: Any) -> StepRecord:
    """Solve in a rolled walk: the sweeps leave tau - b and the columns of M, and a loop eliminates."""
    base = CarriedAcceleration(AngularState.rest(), stack(ca.SX.zeros(3), -walk.gravity))
    inertial = walk.outward(accelerate_given, base)
    _, unmet = walk.inward(residual_effort, (ca.SX.zeros(6),), inertial)
    _, column = walk.inward(compose, CompositeBody(RigidInertia.zero()), inertial)
    return walk.solve(project, column, (unmet, "right"), inertial)


def accelerate_given(node: Node, parent: CarriedAcceleration) -> tuple[CarriedAcceleration, BodyForce]:
    """Carry on the acceleration without the joints' own accelerations, except prescribed ones."""
    if node.prescribed:
        return accelerate(node, parent)
    return accelerate(replace(node, acceleration=ca.SX.zeros(node.joint.nv)), parent)


def residual_effort(node: Node, children: tuple[ca.SX], kept: BodyForce) -> tuple[tuple[ca.SX], ResidualEffort]:
    """Balance the node, and keep the effort that is left to accelerate it, or the acceleration that is given."""
    leaving, effort = balance(node, children, kept)
    return leaving, ResidualEffort(node.acceleration if node.prescribed else node.tau - effort.tau)


def accelerate(node: Node, parent: CarriedAcceleration) -> tuple[CarriedAcceleration, BodyForce]:
    """Carry motion and acceleration to the node, and find the force its own body needs."""
    x = node.configuration()
    motion, alpha = node.carry(x, parent.motion, parent.alpha)
    alpha = plus(alpha, product(node.joint_map(x), node.acceleration))
    f = node.inertial_force(motion, alpha)
    return CarriedAcceleration(motion, alpha), BodyForce(x, f, motion.axes, node.own_effort(motion, alpha))


def balance(node: Node, children: tuple[ca.SX], kept: BodyForce) -> tuple[tuple[ca.SX], JointEffort]:
    """Add the children's forces, project on the joint, pass on to the parent."""
    f = kept.f + children[0]
    tau = node.joint_map(kept.x).T @ f
    if kept.own.numel():
        tau = tau + kept.own
    return (node.shift(kept.x).force(f),), JointEffort(tau, f)


def configure(node: Node, parent: tuple[()]) -> tuple[tuple[()], Configured]:
    """Place the node."""
    return (), Configured(node.configuration())


def compose(node: Node, children: CompositeBody, place: Configured) -> tuple[CompositeBody, Column]:
    """Weld the children to the node: composite inertia, and the forces of unit accelerations.

    Freedoms that the node shares with others are handed on, as in the articulated sweep; their home has their columns.
    """
    inertia, shift = children.inertia + node.inertia, node.shift(place.x)
    H = node.joint_map(place.x)
    F = inertia.times(H)
    if node.shared:
        C, D = _own_terms(node, children)
        D = D + H.T @ F + H.T @ C + C.T @ H
        return CompositeBody(shift.inertia(inertia), shift.force(ca.densify(F + C)), ca.densify(D)), Column(ca.SX(6, 0))
    leaving = CompositeBody(shift.inertia(inertia))
    rates = ca.SX(0, 0) if node.armature is None else ca.densify(ca.diag(node.armature))
    if not children.D.numel():
        return leaving, Column(F, rates=rates)
    if rates.numel():
        rates = ca.densify(ca.horzcat(rates, ca.SX(rates.shape[0], children.D.shape[1])))
    return leaving, Column(ca.horzcat(F, children.U), ca.horzcat(children.U.T @ H, children.D), rates)


def _own_terms(node: Node, children: CompositeBody) -> tuple[ca.SX, ca.SX]:
    """Return coupling (6, n) and inertia (n, n) of shared freedoms: the body's own, and those of nodes beyond."""
    n, own = node.v.shape[0], node.own_inertia()
    C, D = (ca.SX(6, n), ca.SX(n, n)) if own is None else (own.coupling, own.own)
    return (C + children.U, D + children.D) if children.D.numel() else (C, D)


def project(node: Node, column: Column, place: Configured) -> tuple[Column, ca.SX]:
    """Project columns on the node's joint, and carry them on to the parent; own coordinates follow at their home."""
    F = node.shift(place.x).force(column.F)
    block = product(node.joint_map(place.x).T, column.F)
    if column.rates.numel():
        block = plus(block, column.rates)
    if node.shared:
        return Column(F, column.own + block if column.own.numel() else block), block[:0, :]
    return Column(F), ca.vertcat(block, column.own) if column.own.numel() else block


def freedom_parents(
    parents: Sequence[int],
    v_slices: Sequence[slice],
    nv: int,
    leave_out: frozenset[int] = frozenset(),
    homes: Mapping[int, slice] = MappingProxyType({}),
) -> list[int]:
    """Return for each freedom the nearest one on the way to the ground, or -1, some freedoms being left out.

    Own coordinates of a body come after the joint of their home; nodes that share them add none.

    >>> freedom_parents([-1, 0, 0], [slice(0, 1), slice(1, 2), slice(2, 3)], 3)
    [-1, 0, 0]
    """
    above = [-1] * nv
    last_of: list[int] = []
    shared = [(own.start, own.stop) for own in homes.values()]
    for k, where in enumerate(v_slices):
        last = -1 if parents[k] < 0 else last_of[parents[k]]
        joint = () if (where.start, where.stop) in shared else range(where.start, where.stop)
        own = range(homes[k].start, homes[k].stop) if k in homes else ()
        for i in (*joint, *own):
            if i not in leave_out:
                above[i] = last
                last = i
        last_of.append(last)
    return above


def _way(above: Sequence[int], i: int) -> list[int]:
    """Return freedom i and those on the way to the ground."""
    way = []
    while i >= 0:
        way.append(i)
        i = above[i]
    return way
