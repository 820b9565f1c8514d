"""Velocity transformation to natural coordinates, formulation A (Garcia de Jalon and Bayo 8.2.5.1, 8.60-8.87).

x' = R z' by points and vectors: a joint moves all elements beyond it, points by u x (r - r_i) and its translation,
vectors by u x v. An element's columns are those of the joints on the way to the body of it that is nearest to the
ground, so a joint's own point and axis do not move with it. M is constant, and S are the elements' accelerations while
the joints' are zero, so that body by body

    R^T M R z'' = R^T (Q - M S)                                                             (8.38)

Letters as in `velocity_transformation`: A, r axes and joint point of a body, W = skew(w)^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from whippletree.formulations.natural.natural_equations import element_forces, walk_model
from whippletree.formulations.natural.natural_model import GROUND, NaturalModel
from whippletree.formulations.nodes.node import AngularState
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.ground_axes import is_level, level_map
from whippletree.spatial import Translation, mirror, skew
from whippletree.symbolic.sparse_factors import add_to

__all__ = [
    "ElementBlocks",
    "element_columns",
    "element_motions",
    "pair_products",
    "transformed",
    "weighed_rows",
]

ElementBlocks = dict[Any, ca.SX]
"""Columns (3, n) of an element by joint, or by any other group of velocities."""


def transformed(walk: Unrolled, seen: object, S: object) -> tuple[ca.SX, ca.SX]:
    """Return R^T M R (nv, nv) and R^T (M S - Q) (nv) of a walk.

    `seen` are its bodies in ground axes with the joint points as references, `S` their accelerations.
    """
    model = walk_model(walk)
    places, second = element_motions(model, seen, S)
    record_stage("S", second)
    R = [element_columns(walk, seen, model, one.index, places) for one in model.elements]
    record_stage("R", R)
    mass, force = ca.densify(ca.SX(walk.nv, walk.nv)), ca.densify(ca.SX(walk.nv, 1))
    for k, body in enumerate(model.bodies):
        Q = element_forces(model, k, walk.nodes[k], _motion_of(seen, k), walk.gravity)
        heavy = weighed_rows(body.M, [R[e] for e in body.basis])
        _assemble(walk, mass, [R[e] for e in body.basis], heavy)
        for i, e in enumerate(body.basis):
            lacking = sum((body.M[i, j] * second[f] for j, f in enumerate(body.basis)), ca.SX.zeros(3)) - Q[e]
            for joint, block in R[e].items():
                where = walk.v_slices[joint]
                force[where] = ca.mac(block.T, lacking, force[where])
    record_stage("R^T M R", mass)
    record_stage("R^T (Q - M S)", force)
    return mass, force


def _motion_of(seen: Any, k: int) -> AngularState:
    A = seen.at(k).A
    return AngularState(A.T @ seen.at(k).w, A)


def element_motions(model: NaturalModel, seen: Any, S: Any) -> tuple[list[ca.SX], list[ca.SX]]:
    """Return where the elements are, and their accelerations S."""
    places, second = [], []
    for one in model.elements:
        k = model.home(one)
        if k == GROUND:
            places.append(one.places[GROUND])
            second.append(ca.SX.zeros(3))
            continue
        body, carried = seen.at(k), S.at(k).S
        arm = body.A @ one.places[k]
        turned = (body.field.W + skew(carried[0:3])) @ arm
        places.append(body.r + arm if one.is_point else arm)
        second.append(carried[3:6] + turned if one.is_point else turned)
    return places, second


def element_columns(
    walk: Unrolled, seen: Any, model: NaturalModel, index: int, places: Sequence[ca.SX]
) -> ElementBlocks:
    """Return the rows of R of an element (8.60-8.64): one block for every joint on its way."""
    one, found = model.elements[index], ElementBlocks()
    if one.fixed:
        return found
    for i in walk.tree.path(model.home(one)):
        node = walk.nodes[i]
        axes = level_map(node) if is_level(node) else seen.at(i).axes
        if not axes.shape[1]:
            continue
        if one.is_point:
            block = Translation(places[index] - seen.at(i).r).motion(axes)[3:6, :]
        else:
            block = -(skew(places[index]) @ axes[0:3, :])
        if not block.is_zero():
            found[i] = ca.densify(block)
    return found


def weighed_rows(M: ca.SX, rows: Sequence[ElementBlocks]) -> list[ElementBlocks]:
    """Return M R of a body, element by element."""
    heavy: list[ElementBlocks] = [{} for _ in rows]
    for i in range(len(rows)):
        for j, row in enumerate(rows):
            if not M[i, j].is_zero():
                for joint, block in row.items():
                    add_to(heavy[i], joint, M[i, j] * block)
    return heavy


def pair_products(
    rows: Sequence[ElementBlocks], heavy: Sequence[ElementBlocks], order: Callable[[Any], int]
) -> dict[tuple[Any, Any], ca.SX]:
    """Return R^T M R of one body by pairs of joints (or groups), each pair once, the first in order before."""
    pairs: dict[tuple[Any, Any], ca.SX] = {}
    for row, weighed in zip(rows, heavy, strict=True):
        for j, other in weighed.items():
            for i, block in row.items():
                if order(i) <= order(j):
                    add_to(pairs, (i, j), block.T @ other)
    return pairs


def _assemble(walk: Unrolled, mass: ca.SX, rows: Sequence[ElementBlocks], heavy: Sequence[ElementBlocks]) -> None:
    """Add R^T M R of one body: i is the joint nearer to the ground."""
    for (i, j), product in pair_products(rows, heavy, int).items():
        a, b = walk.v_slices[i], walk.v_slices[j]
        total = mass[a, b] + product
        mass[a, b] = mirror(total) if i == j else total
        if i != j:
            mass[b, a] = total.T
