"""Tree-augmented dynamics: the tree moves freely, then the closures' forces correct it (Jain 42-46).

Solves M a + C = tau + G^T lambda, G a + gamma = 0, with the articulated inertias of the tree used twice:

    a_f        free accelerations, from the sweeps of `articulated`                          (43)
    e          phi'' of the closures under a_f                                               (44)
    A lambda = -e,  A = G M^-1 G^T                                                           (45)
    a = a_f + M^-1 G^T lambda                                                                (46)

The Schur complement A is never formed from M. A closure's unit forces F are carried inward through the articulated
inertias (Kang and Yoon 37-43), and each hinge on the way adds its share:

    h = H^T F + e,      A += h^T D^-1 h,      F+ = F - G h                                   (1)

so that A has an entry only where two closures' ways to the ground meet.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from whippletree.formulations.closures.closure_set import Closing, Held, with_accelerations
from whippletree.formulations.closures.loop_solution import (
    Blocks,
    Solution,
    by_closure,
    schur_complement,
    stacked,
    unit_loads,
)
from whippletree.formulations.nodes.operation_stages import mark
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import articulated
from whippletree.spatial import factor, solve_factored
from whippletree.spatial.sparse import add_to, factor_symmetric, minimum_degree

__all__ = ["solve"]


def solve(walk: Unrolled, closing: Closing) -> Solution:
    """Return accelerations and multipliers."""
    free = articulated.sweep(walk)
    a_free = walk.gather(free.outcome, "acceleration")
    mark("free accelerations", a_free)
    held = closing.hold(with_accelerations(walk, a_free))
    mark("closures", held)
    effects, _ = absorb(walk, free, held)
    A = schur_complement(effects, held)
    e = stacked(held, "second")
    mark("Schur complement", A)
    factors = factor_symmetric(A, minimum_degree(A, range(len(e))))
    solution = factors.solve({i: -value for i, value in enumerate(e)})
    multipliers = by_closure([solution[i] for i in range(len(e))], held)
    a = a_free + correction(walk, free, effects, multipliers)
    return Solution(a, lambda: multipliers, factors.pivots)


def absorb(
    walk: Unrolled, free: articulated.Dynamics, held: Sequence[Held]
) -> tuple[list[tuple[Blocks, Blocks]], Blocks]:
    """Carry the closures' unit forces inward; return h and D^-1 h of every node, as in (1), and what reaches the base.

    The base is what the tree stands on: usually the ground, where nothing more has to be known.
    """
    arriving, efforts = unit_loads(walk, held)
    effects: list[tuple[Blocks, Blocks]] = [({}, {}) for _ in walk.nodes]
    for k in reversed(range(len(walk.nodes))):
        node, kept = walk.nodes[k], free.hinge.at(k)
        x = free.place.at(k).x
        H, shift = node.joint_map(x), node.shift(x)
        held_fast = node.prescribed or H.shape[1] == 0
        factors = None if held_fast else factor(kept.D)
        h_of, w_of = effects[k]
        for c in sorted({*arriving[k], *efforts[k]}):
            F = arriving[k].get(c)
            if factors is not None:
                none = ca.SX(H.shape[1], held[c].n_rows)
                h = efforts[k].get(c, none) + (none if F is None else H.T @ F)
                h_of[c], w_of[c] = h, solve_factored(factors, h)
                F = -(kept.G @ h) if F is None else F - kept.G @ h
            if F is not None:
                add_to(arriving[walk.parents[k]], c, shift.force(F))
    return effects, arriving[-1]


def correction(
    walk: Unrolled,
    free: articulated.Dynamics,
    effects: Sequence[tuple[Blocks, Blocks]],
    multipliers: Sequence[ca.SX],
    base: ca.SX | None = None,
) -> ca.SX:
    """Return M^-1 G^T lambda: the closures' forces at the hinges, released outward once more (46).

    With `base`, also what a further acceleration of the base brings.
    """
    a = ca.densify(ca.SX(walk.nv, 1))
    moved: list[ca.SX | None] = []
    for k, node in enumerate(walk.nodes):
        place, hinge = free.place.at(k), free.hinge.at(k)
        x = place.x
        parent = moved[walk.parents[k]] if walk.parents[k] >= 0 else base
        alpha = None if parent is None else node.shift(x).motion(parent)
        change: ca.SX | None = None
        if not node.prescribed and node.v.shape[0]:
            for c, w in effects[k][1].items():
                own = w @ multipliers[c]
                change = own if change is None else change + own
            if alpha is not None:
                follow = hinge.G.T @ alpha
                change = -follow if change is None else change - follow
        if change is not None:
            a[walk.v_slices[k]] = change
            own = node.joint_map(x) @ change
            alpha = own if alpha is None else alpha + own
        moved.append(alpha)
    return a
