"""The Schur complement of the closures through articulated inertias (Kang and Yoon 37-43; Jain 45, 46).

The Schur complement A = G M^-1 G^T is never formed from M. A closure's unit forces F are carried inward through the
articulated inertias, and each hinge on the way adds its share:

    h = H^T F + e,      A += h^T D^-1 h,      F+ = F - G h                                   (1)

so that A has an entry only where two closures' ways to the ground meet.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureState
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import articulated_body as articulated
from whippletree.symbolic.sparse_factors import add_to

__all__ = ["Blocks", "Correction", "absorb", "correction", "schur_complement", "unit_loads"]


Blocks = dict[int, ca.SX]
"""Columns (k, m) by closure."""


def absorb(
    walk: Unrolled, free: articulated.Dynamics, closure_states: Sequence[ClosureState]
) -> tuple[list[tuple[Blocks, Blocks]], list[Blocks]]:
    """Carry the closures' unit forces inward; return h and D^-1 h of every node, as in (1), and F where it arrives.

    The last F is that at the base, what the tree stands on: usually the ground, where nothing more has to be known.
    What arrives at shared freedoms waits for their home.
    """
    arriving, efforts = unit_loads(walk, closure_states)
    effects: list[tuple[Blocks, Blocks]] = [({}, {}) for _ in walk.nodes]
    waiting: list[Blocks] = [{} for _ in walk.nodes]  # columns on own coordinates, at their home
    for k in reversed(range(len(walk.nodes))):
        node, kept = walk.nodes[k], free.hinge.at(k)
        x = free.place.at(k).x
        H, shift = node.joint_map(x), node.shift(x)
        if node.shared:
            for c in sorted({*arriving[k], *efforts[k]}):
                _wait(waiting[walk.home(k)], c, H, arriving[k].get(c), efforts[k].get(c))
                if c in arriving[k]:
                    add_to(arriving[walk.parents[k]], c, shift.force(arriving[k][c]))
            continue
        n_joint = 0 if node.prescribed else H.shape[1]
        n_own = kept.D.shape[0] - n_joint
        solve = kept.solver(node.least_pivots(kept.D)) if n_joint + n_own else None
        G = kept.gain()
        h_of, w_of = effects[k]
        for c in sorted({*arriving[k], *efforts[k], *waiting[k]}):
            F, m = arriving[k].get(c), closure_states[c].n_rows
            if solve is not None:
                h = ca.SX(0, m)
                if n_joint:
                    none = ca.SX(n_joint, m)
                    h = efforts[k].get(c, none) + (none if F is None else H.T @ F)
                if n_own:
                    h = ca.densify(ca.vertcat(waiting[k].get(c, ca.SX(n_own, m)), h))
                h_of[c], w_of[c] = h, solve(h)
                F = -(G @ h) if F is None else F - G @ h
            if F is not None:
                add_to(arriving[walk.parents[k]], c, shift.force(F))
    return effects, arriving


def _wait(waiting: Blocks, c: int, H: ca.SX, F: ca.SX | None, effort: ca.SX | None) -> None:
    """Add the effects of a closure's unit forces on shared freedoms."""
    if effort is not None:
        add_to(waiting, c, effort)
    if F is not None:
        add_to(waiting, c, H.T @ F)


class Correction(NamedTuple):
    """Changes of the accelerations by closures' forces: of joints (nv), and of nodes (6), None where there is none."""

    joints: ca.SX
    nodes: list[ca.SX | None]


def correction(
    walk: Unrolled,
    free: articulated.Dynamics,
    effects: Sequence[tuple[Blocks, Blocks]],
    multipliers: Sequence[ca.SX],
    base: ca.SX | None = None,
) -> Correction:
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
        if node.shared:
            change = a[walk.v_slices[k]]
        elif hinge.D.shape[0]:
            change = _change(effects[k][1], multipliers, hinge.gain(), alpha)
            if change is not None and k in walk.homes:
                n = walk.homes[k].stop - walk.homes[k].start
                a[walk.homes[k]] = change[:n]
                change = change[n:]
            if change is not None and change.numel():
                a[walk.v_slices[k]] = change
        if change is not None and change.numel():
            own = node.joint_map(x) @ change
            alpha = own if alpha is None else alpha + own
        moved.append(alpha)
    return Correction(a, moved)


def _change(effects: Blocks, multipliers: Sequence[ca.SX], G: ca.SX, alpha: ca.SX | None) -> ca.SX | None:
    """Return the change of a node's unknowns by the closures' forces, and by its base's further acceleration."""
    change: ca.SX | None = None
    for c, w in effects.items():
        own = w @ multipliers[c]
        change = own if change is None else change + own
    if alpha is not None:
        follow = G.T @ alpha
        change = -follow if change is None else change - follow
    return change


def unit_loads(walk: Unrolled, closure_states: Sequence[ClosureState]) -> tuple[list[Blocks], list[Blocks]]:
    """Return the wrenches of unit multipliers on nodes, the last being the base, and the efforts at their hinges."""
    forces: list[Blocks] = [{} for _ in range(len(walk.nodes) + 1)]
    efforts: list[Blocks] = [{} for _ in walk.nodes]
    for c, one in enumerate(closure_states):
        for on_node in one.node_forces:
            add_to(forces[on_node.node], c, on_node.F)
        for hinge in one.joint_forces:
            e = ca.SX.zeros(walk.nodes[hinge.node].v.shape[0], one.n_rows)
            e[hinge.component, :] = hinge.e.T
            add_to(efforts[hinge.node], c, e)
    return forces, efforts


def schur_complement(
    effects: Sequence[tuple[Blocks, Blocks]], closure_states: Sequence[ClosureState]
) -> dict[tuple[int, int], ca.SX]:
    """Return the entries of A = G M^-1 G^T on and below the diagonal: the sum of the hinges' shares h^T w.

    Every hinge has what unit multipliers do to it, h, and w = D^-1 h with its inertia D, for each closure that does.
    """
    start = list(itertools.accumulate((one.n_rows for one in closure_states), initial=0))
    A: dict[tuple[int, int], ca.SX] = {}
    for h_of, w_of in effects:
        for c, h in h_of.items():
            for d, w in w_of.items():
                if d > c:
                    continue
                block = h.T @ w
                for i in range(block.shape[0]):
                    for j in range(block.shape[1] if d < c else i + 1):
                        if not block[i, j].is_zero():
                            add_to(A, (start[c] + i, start[d] + j), block[i, j])
    return A
