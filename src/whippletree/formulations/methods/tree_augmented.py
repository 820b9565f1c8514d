"""Tree-augmented dynamics: the tree moves freely, then the closures' forces correct it (Jain 42-46).

Solves M a + C = tau + G^T lambda, G a + gamma = 0, with the articulated inertias of the tree used twice:

    a_f        free accelerations, from the sweeps of `articulated`                          (46a)
    e          phi'' of the closures under a_f                                  (bracket of 46b)
    A lambda = -e,  A = G M^-1 G^T                                                           (46b)
    a = a_f + M^-1 G^T lambda                                                           (45, 46c)

The Schur complement A is never formed from M. A closure's unit forces F are carried inward through the articulated
inertias (Kang and Yoon 37-43), and each hinge on the way adds its share:

    h = H^T F + e,      A += h^T D^-1 h,      F+ = F - G h                                   (1)

so that A has an entry only where two closures' ways to the ground meet. What carries them gives the joints' forces:

    f = P (alpha_f + delta alpha) + z - F lambda                                             (18 with 46)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import Solution, by_closure, stabilised, stacked_rows
from whippletree.formulations.closures.schur_complement import (
    Blocks,
    Correction,
    absorb,
    correction,
    schur_complement,
)
from whippletree.formulations.methods.formulation import Candidacy, Formulation, LoopProblem
from whippletree.formulations.methods.registry import register
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.hinge_scales import LEAST_OF_DIAGONAL
from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import articulated_body as articulated
from whippletree.spatial import stack
from whippletree.symbolic.sparse_factors import factor_symmetric, minimum_degree, shares_of_diagonal

__all__ = ["TREE_AUGMENTED", "solve"]


def solve(walk: Unrolled, closure_set: ClosureSet, baumgarte: tuple[float, float] = (0.0, 0.0)) -> Solution:
    """Return accelerations and multipliers."""
    free = articulated.sweep(walk)
    a_free = walk.gather(free.outcome, "acceleration")
    record_stage("free accelerations", a_free)
    closure_states = closure_set.evaluate(with_accelerations(walk, a_free))
    record_stage("closures", closure_states)
    effects, arriving = absorb(walk, free, closure_states)
    A = schur_complement(effects, closure_states)
    e = stabilised(stacked_rows(closure_states, "second"), closure_states, baumgarte)
    record_stage("Schur complement", A)
    factors = factor_symmetric(A, minimum_degree(A, range(len(e))))
    solution = factors.solve({i: -value for i, value in enumerate(e)})
    multipliers = by_closure([solution[i] for i in range(len(e))], closure_states)
    change = correction(walk, free, effects, multipliers)
    forces = partial(_forces, walk, free, a_free, change, arriving, multipliers)
    least = shares_of_diagonal(A, factors, LEAST_OF_DIAGONAL)
    a = a_free + change.joints
    return Solution(a, lambda: multipliers, factors.pivots, forces=None if walk.homes else forces, least=least)


def _forces(
    walk: Unrolled,
    free: articulated.Dynamics,
    a_free: ca.SX,
    change: Correction,
    arriving: Sequence[Blocks],
    multipliers: Sequence[ca.SX],
) -> list[ca.SX]:
    """Return the force across every joint from the by-products of both passes (18 with 46): two results added.

    With alpha = alpha_f + delta alpha and the closures' forces F lambda as they arrive, f = P alpha + z - F lambda.
    """
    alphas: list[ca.SX] = []
    forces = []
    base = stack(ca.SX.zeros(3), -walk.gravity)
    for k, node in enumerate(walk.nodes):
        place, hinge, parent = free.place.at(k), free.hinge.at(k), walk.parents[k]
        alpha = node.shift(place.x).motion(alphas[parent] if parent >= 0 else base) + node.bias(place)
        if node.v.shape[0] and not node.prescribed:
            alpha = alpha + node.joint_map(place.x) @ a_free[walk.v_slices[k]]
        alphas.append(alpha)
        moved = change.nodes[k]
        f = hinge.P.times(alpha if moved is None else alpha + moved) + hinge.z
        for c, F in arriving[k].items():
            f = f - F @ multipliers[c]
        forces.append(f)
    return forces


def _solve(problem: LoopProblem) -> Solution:
    return solve(problem.walk, problem.closure_set, problem.baumgarte)


TREE_AUGMENTED = register(
    Formulation(
        "tree_augmented",
        solve=_solve,
        takes_baumgarte=True,
        inverts_mass=True,
        candidacy=Candidacy(order=70, resembles="coordinate_reduction"),
    )
)
