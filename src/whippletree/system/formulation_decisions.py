"""Decisions of a plan for single formulations, made when one of them first asks (see `LoopPlan`).

Each is a function of the closures in numbers and of a plan, whose kept rows and partition it does not change: the
pivots of `absolute`, the weights of `penalty`, the pairs of `coordinate_reduction`; whether the loops allow a motion
without inertia; and how large the smallest pivot is where the plan was made.

The pairs say which dependent speed leaves with which row. A row is *reduced* if a dependent speed of its loop is
eliminated with it on the way inward, or *carried* to the base of its loop and solved there, with what the independent
speeds on the way let it move. Any mixture is right as long as no pivot vanishes. Carrying takes fewer operations, but
where joints move nothing with inertia, only reduction will do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from whippletree.errors import DynamicsError
from whippletree.formulations.closures.partition import Choice
from whippletree.formulations.methods.coordinate_reduction import closure_extents
from whippletree.formulations.methods.penalty import PenaltySettings
from whippletree.kernels.kernel import Array
from whippletree.system.closure_numbers import ClosureNumbers
from whippletree.system.consistency import allowed_motions
from whippletree.system.decisions import Decision, positional_choice
from whippletree.system.decisions import smallest_pivot as smallest_pivot_at
from whippletree.system.loop_plan import Conditions, Key, LoopPlan, PenaltyWeights
from whippletree.system.ranks import choose_pivots, largest_pivots
from whippletree.system.sparse_assembly import every_joint_moves_mass
from whippletree.system.tolerances import (
    CANCELLING,
    CLEARLY_MOVED,
    HEAVIER,
    LIGHT_MOTION,
    MASSLESS,
    NOTHING_HANGS,
    PENALTY_MARGIN,
    RANK,
    UNEQUAL,
    UNMOVED,
    UNUSED_ROW,
)
from whippletree.topology import Tree

__all__ = ["balanced_motions", "finders", "massless_combination", "pair_up", "plan_pivot", "tree_regular"]


def finders(numbers: ClosureNumbers) -> dict[str, Callable[[LoopPlan], Any]]:
    """Return what finds the decisions of a plan that only some formulations need, by their names."""
    found: tuple[Callable[[ClosureNumbers, LoopPlan], Any], ...] = (
        smallest_pivot,
        massless_motion,
        cancelling,
        absolute_pivots,
        element_pivots,
        penalty,
        reduction,
        position_partition,
    )
    return {find.__name__: functools.partial(find, numbers) for find in found}


def smallest_pivot(numbers: ClosureNumbers, plan: LoopPlan) -> float:
    """Return the smallest pivot of the partition where the plan was made, scaled."""
    return plan_pivot(numbers, plan, plan.q, plan.where)


def position_partition(numbers: ClosureNumbers, plan: LoopPlan) -> Choice:
    """Return the partition of the freedoms by the kept closures of positions, found on the grid, as code is made.

    Its dependent freedoms are among those of all closures: independent velocities are independent displacements.
    """
    positional = [
        f.positional for f, rows in zip(numbers.closure_set.attachments.all, plan.keep, strict=True) for _ in rows
    ]
    if all(positional):
        return plan.choice
    decision = Decision(plan.keep, plan.choice, plan.made_at)
    return positional_choice(numbers, decision, np.flatnonzero(positional), numbers.conditions(plan.where.t))


def plan_pivot(numbers: ClosureNumbers, plan: LoopPlan, q: Array, where: Conditions) -> float:
    """Return the smallest pivot that a plan meets at a configuration, scaled, in the plan's order."""
    return smallest_pivot_at(numbers, Decision(plan.keep, plan.choice, plan.q), q, where)


def tree_regular(numbers: ClosureNumbers, q: Array, where: Conditions) -> bool:
    """Tell whether the spanning tree by itself has a regular mass matrix, here and wherever it moves to.

    With parameters, which may be given other values, and of bodies with own coordinates, that is asked at this
    configuration only.
    """
    watched = [c for c in numbers.equations.node_tree().node_constants if c.watched]
    if not watched:  # the body behind each joint has inertia enough by itself
        return True
    many = numbers.equations.large or numbers.families is not None
    if many and every_joint_moves_mass(numbers.equations.node_tree()):
        return True
    if any(not c.open and c.home is None for c in watched):
        return False
    return bool((numbers.hinge_pivots(q, where.parameters) > 1.0).all())


def massless_motion(numbers: ClosureNumbers, plan: LoopPlan) -> bool:
    """Tell whether a motion that the loops allow moves nothing with inertia, as the spin of a rod between two balls.

    That is asked with the parameters as described, so that all plans of one key agree.
    """
    where = numbers.conditions(plan.where.t)
    if tree_regular(numbers, plan.q, where):
        return False
    try:
        allowed = allowed_motions(numbers, plan.rank, plan.q, where)
    except DynamicsError:  # singular here: every state is looked at by itself
        return False
    M = numbers.mass_matrix(plan.q, where.parameters)
    return massless_combination(M, allowed, numbers.stretched_inertias(where.parameters)) is not None


def massless_combination(M: Array, Z: Array, stretched: Array) -> Array | None:
    """Return a combination of the motions Z (columns) that moves nothing that has inertia, if there is one.

    What a motion moves is compared with what that was made of: the inertia that each freedom meets with all that hangs
    on it `stretched` out. So a small linkage on a heavy beam has inertia, and a massless link that is folded onto its
    tip has none.

    >>> massless_combination(np.diag([1.0, 0.0]), np.eye(2), np.ones(2)).round(12).tolist()
    [0.0, 1.0]
    """
    if not Z.size:
        return None
    balanced = balanced_motions(M, Z, stretched)
    values, vectors = np.linalg.eigh(balanced.T @ M @ balanced)
    if values[0] > MASSLESS:
        return None
    found = balanced @ vectors[:, 0]
    return np.asarray(found / np.abs(found).max())


def balanced_motions(M: Array, Z: Array, stretched: Array) -> Array:
    """Return motions that span those of Z, each with an inertia of one if all were `stretched` out.

    >>> balanced_motions(np.diag([4.0, 1e-6]), np.eye(2), np.array([4.0, 1e-6])).round(6).tolist()
    [[0.5, 0.0], [0.0, 1000.0]]
    """
    made_of = np.maximum(stretched, np.diag(M))
    root = np.sqrt(np.maximum(made_of, NOTHING_HANGS * made_of.max() or 1.0))
    _, s, Vt = np.linalg.svd(root[:, None] * Z, full_matrices=False)
    return np.asarray(Z @ (Vt.T / s))


def absolute_pivots(numbers: ClosureNumbers, plan: LoopPlan) -> tuple[tuple[Key, Key], ...]:
    """Return the order of elimination of the equations in absolute coordinates: keys of rows and columns."""
    rows, columns, A, pattern = numbers.absolute_matrix(plan.keep, plan.q, *plan.where)
    size = np.abs(A).max(axis=1, keepdims=True)
    try:
        places = choose_pivots(A / np.where(size > 0, size, 1.0), pattern)
    except np.linalg.LinAlgError:
        raise DynamicsError(
            'formulation "absolute" has no solution here: a motion that the loops allow moves nothing that has '
            "inertia; give mass or inertia to what it moves, or take another formulation"
        ) from None
    return tuple((rows[i], columns[j]) for i, j in places)


def element_pivots(numbers: ClosureNumbers, plan: LoopPlan) -> tuple[tuple[int, int], ...]:
    """Return conditions of bodies that are left out, and the coordinates of the open chains that they tell.

    The largest entry that is left is the next pivot. There are as many as leave the mechanism its freedoms: what is
    beyond follows from the others, if not for the digits of the data.
    """
    rows, unknown = numbers.opened_rows(plan.q, *plan.where)
    count = unknown - len(plan.choice.independent)
    pivots = largest_pivots(rows, count, UNUSED_ROW)
    if len(pivots) < count:
        raise DynamicsError(
            'formulation "velocity_transformation" with coordinates="natural" and closed_by="independent" finds too '
            "few independent conditions here, next to a singular position: take another formulation"
        )
    return tuple(pivots)


def reduction(numbers: ClosureNumbers, plan: LoopPlan) -> dict[int, int]:
    """Return the row with which each dependent freedom is eliminated in `coordinate_reduction`.

    Nothing is paired, which is cheapest, unless the dependent coordinates were asked for, or the tree has joints that
    move nothing with inertia.
    """
    if plan.dependent is None and tree_regular(numbers, plan.q, plan.where):
        return {}
    attachments = numbers.closure_set.attachments
    C = numbers.tree_rows(plan.q, *plan.where)[attachments.places(plan.keep)] * numbers.column_scale
    C = C / np.maximum(np.sqrt(np.einsum("ij,ij->i", C, C)), 1e-300)[:, None]
    node_tree = numbers.equations.node_tree()
    parents, freedoms = node_tree.tree.parents, node_tree.elimination_order()
    spans = zip(*closure_extents(attachments, node_tree.tree, node_tree.homes), strict=True)
    of_rows = [span for span, rows in zip(spans, plan.keep, strict=True) for _ in rows]
    return pair_up(C, freedoms, of_rows, parents, {column for _, column in plan.choice.pivots})


def penalty(numbers: ClosureNumbers, plan: LoopPlan) -> PenaltyWeights:
    """Return the weights of all rows, and the relative error that is left with the settings that are usual.

    A row's weight is one over the stiffness against which it moves.
    """
    free, inertia = numbers.free_freedoms, _free_inertia(numbers, plan.q, plan.where)
    scale = numbers.column_scale[free]
    C, M = numbers.tree_rows(plan.q, *plan.where)[:, free] * scale, inertia * np.outer(scale, scale)
    stiffness = np.einsum("ij,jk,ik->i", C, _compliance(M), C)
    used = np.sqrt(np.einsum("ij,ij->i", C, C)) > plan.negligible(UNUSED_ROW) * numbers.tree_row_scale
    weights = np.zeros(len(C))
    weights[used] = 1 / stiffness[used]
    error = _penalty_error(M, C[used], weights[used], PenaltySettings())
    compliance = np.zeros(numbers.plan.nv)
    compliance[free] = np.abs(_closed_compliance(numbers, plan, C, inertia)).max(axis=0, initial=0.0)
    return PenaltyWeights(tuple(weights.tolist()), error, tuple(compliance.tolist()))


def cancelling(numbers: ClosureNumbers, plan: LoopPlan) -> tuple[float, ...]:
    """Return the largest acceleration, scaled, of a unit effort on each freedom (nv) if digits may cancel.

    They may where accelerations of the tree without its loops are `CANCELLING` times those that the loops leave: a unit
    effort on each freedom makes accelerations in the free tree, and others with closed loops, and an elimination that
    goes by the former loses as many digits as they are larger. Efforts that the loops hold altogether are compared with
    what they would make of the heaviest freedom. And they may where inertias of the motions that the loops leave are
    `UNEQUAL`, or some of the tree `HEAVIER` than others. Loops that hold everything need no inertia to be solved. All
    that is asked with the parameters as described, as `massless_motion`. Nothing is returned where they may not.
    """
    independent = list(plan.choice.independent)
    if numbers.families is not None or not independent:
        return ()
    where = numbers.conditions(plan.where.t)
    M, free = _free_inertia(numbers, plan.made_at, where), numbers.free_freedoms
    if not M.any():
        return ()
    scale = numbers.column_scale[free]
    loose = np.abs(_pseudo_inverse(M) / scale[:, None] / scale)
    closed = _closed_compliance(numbers, plan, numbers.tree_rows(plan.made_at, *where)[:, free] * scale, M)
    held = np.abs(closed / scale[:, None] / scale)
    least = 1 / (np.diag(M) * scale**2).max()
    looser = (loose.max(axis=0) > CANCELLING * np.maximum(held.max(axis=0), least)).any()
    own, inertias = np.isin(free, independent), np.diag(M) * scale**2
    heavier = inertias.max() > HEAVIER * inertias[inertias > 0].min()
    if not looser and not heavier and _condition(closed[np.ix_(own, own)]) < UNEQUAL:
        return ()
    found = np.zeros(numbers.plan.nv)
    found[free] = np.abs(closed / scale[:, None]).max(axis=0)
    return tuple(found.tolist())


def _condition(A: Array) -> float:
    """Return the condition number of a symmetric matrix, its diagonal scaled to one."""
    size = np.sqrt(np.diag(A))
    return float(np.linalg.cond(A / np.outer(size, size))) if (size > 0).all() else np.inf


def _closed_compliance(numbers: ClosureNumbers, plan: LoopPlan, C: Array, M: Array) -> Array:
    """Return Z (Z^T M Z)^-1 Z^T: the accelerations that unit efforts on the tree's freedoms make with closed loops.

    C is scaled, on the free freedoms as M.
    """
    free = numbers.free_freedoms
    scale = numbers.column_scale[free]
    size = np.sqrt(np.einsum("ij,ij->i", C, C))
    used = size > plan.negligible(UNUSED_ROW) * numbers.tree_row_scale
    _, s, Vt = np.linalg.svd(C[used] / size[used, None])
    rank = min(plan.n_rows, int((s > plan.negligible(RANK) * s.max(initial=1.0)).sum()))
    Z = Vt[rank:].T * scale[:, None]
    if Z.size:
        Z = balanced_motions(M, Z, numbers.stretched_inertias(plan.where.parameters)[free])
    return np.asarray(Z @ _pseudo_inverse(Z.T @ M @ Z) @ Z.T)


def _pseudo_inverse(M: Array) -> Array:
    """Return M^-1, directions without inertia left out."""
    size = np.sqrt(np.maximum(np.diag(M), NOTHING_HANGS * np.diag(M).max(initial=0.0)))
    size = np.where(size > 0, size, 1.0)
    return np.asarray(np.linalg.pinv(M / np.outer(size, size), rcond=MASSLESS, hermitian=True) / np.outer(size, size))


def _penalty_error(M: Array, C: Array, weights: Array, settings: PenaltySettings) -> float:
    """Return the relative error to expect of `penalty`, with a margin.

    At each iteration what the closures miss by is multiplied by 1 - W^1/2 C K^-1 C^T W^1/2, K = M + C^T W C, of which
    the largest eigenvalue counts; those of rows that follow from others are one. Rounding grows with the condition of
    K, its diagonal scaled to one.
    """
    rows = np.sqrt(settings.weight * weights)[:, None] * C
    K = M + rows.T @ rows
    size = np.sqrt(np.maximum(np.diag(K), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(K / size / size[:, None])
    values = np.maximum(values, np.finfo(float).tiny)
    held = np.linalg.svd((rows / size) @ vectors / np.sqrt(values), compute_uv=False) ** 2
    held = held[held > UNUSED_ROW]
    shrunk = max(1 - held.min(initial=1.0), 1 / (1 + settings.weight))
    missed = PENALTY_MARGIN * shrunk ** (1 + settings.iterations) / np.sqrt(held.min(initial=1.0))
    return float(missed + PENALTY_MARGIN * np.finfo(float).eps / values.min(initial=1.0))


def _compliance(M: Array) -> Array:
    """Return M^-1, directions without inertia being taken to have a small one."""
    diagonal = np.diag(M)
    size = np.sqrt(np.maximum(diagonal, LIGHT_MOTION * diagonal.max(initial=1e-300)))
    values, vectors = np.linalg.eigh(M / np.outer(size, size))
    scaled = vectors / size[:, None]
    return np.asarray((scaled / np.maximum(values, LIGHT_MOTION)) @ scaled.T)


def _free_inertia(numbers: ClosureNumbers, q: Array, where: Conditions) -> Array:
    """Return the mass matrix of the spanning tree's free freedoms."""
    free = numbers.free_freedoms
    return numbers.mass_matrix(q, where.parameters)[np.ix_(free, free)]


def pair_up(
    C: Array,
    freedoms: Sequence[tuple[int, int]],
    spans: Sequence[tuple[int, int]],
    parents: Sequence[int],
    dependent: Collection[int],
) -> dict[int, int]:
    """Return the row (of `C`, scaled) with which each dependent freedom is eliminated, from the tips inward.

    `freedoms` are pairs (node, freedom) in their order of elimination; `spans` says for each row the nodes at which
    its closure is complete and where it ends. A freedom that is not in `dependent`, or that moves none of the rows that
    are left, stays independent. Of the rows that it moves clearly, that of the loop that ends first is taken.

    >>> pair_up(np.array([[1.0, 0.2], [0.0, 1.0]]), [(1, 1), (0, 0)], [(-1, -1), (-1, -1)], [-1, 0], {0, 1})
    {1: 1, 0: 0}
    """
    whole, seen = np.array(C, dtype=np.float64), np.array(C, dtype=np.float64)
    tree = Tree(parents)
    to_complete = [set(tree.path(complete)) for complete, _ in spans]
    to_end = [list(tree.path(end)) for _, end in spans]
    left = list(range(len(C)))
    pairs: dict[int, int] = {}
    for k, i in freedoms:
        if i not in dependent:
            continue
        path = set(tree.path(k))
        size = {}
        for r in left:
            if k not in to_end[r] and (abs(C[r, i]) > UNMOVED or k in to_complete[r]):
                size[r] = min(abs(whole[r, i]), np.inf if k in to_complete[r] else abs(seen[r, i]))
        clear = [r for r in size if size[r] > max(UNMOVED, CLEARLY_MOVED * max(size.values()))]  # not empty: r is one
        if not clear:
            continue
        # not empty: looked at above
        r = pairs[i] = max(clear, key=lambda r: (len(to_end[r]), size[r]))
        left.remove(r)
        whole[left] -= np.outer(whole[left, i] / whole[r, i], whole[r])
        if abs(seen[r, i]) > UNMOVED:
            inward = [j for n, j in freedoms if n in path]
            seen[np.ix_(left, inward)] -= np.outer(seen[left, i] / seen[r, i], seen[r, inward])
    return pairs
