"""How far a penalty in natural coordinates may be off, from its matrices in plain NumPy.

With weights W, K = M + C^T W C, and k corrections of the multipliers, what conditions miss by shrinks by

    rho = max 1 - tau,      tau the eigenvalues of W^1/2 C K^-1 C^T W^1/2 that are not zero

in the penalty and in each correction: rho^(k+1) of what they would miss without. Rounding of an elimination without
pivoting is bounded by eps times the condition number of K scaled to a unit diagonal, times a modest growth with its
size: heavy weights hide digits of M. Both are relative to the largest acceleration of all points and vectors; those of
joints are their differences over the size of a body, or of joints with little inertia beside the rest.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

import whippletree as wt
from whippletree.formulations.closures.augmented_lagrangian import row_weights
from whippletree.formulations.methods.natural import NaturalSettings, condition_weights
from whippletree.formulations.natural.natural_equations import natural_equations
from whippletree.formulations.natural.opened_chains import opened_equations

__all__ = ["penalty_bound"]

EPS = float(np.finfo(float).eps)
OPENED_WEIGHT, OPENED_CORRECTIONS = 1e7, 2
"""What formulation A by a penalty takes (`opened_solution`)."""

REFERENCE = 1e-12
"""What the reference is off by itself, and all that is worked out before and after the elimination."""

DEPENDENT = 0.01
"""Eigenvalues below this are those of dependent conditions: zero, but for rounding."""


def penalty_bound(s: wt.System, q: np.ndarray, v: np.ndarray, name: str) -> float:
    """Return the bound for formulation "natural", or formulation A by a penalty, as they are by default.

    Of several states, rows of q and v, it is the largest.
    """
    eq = s.kernels.equations
    x = {"q": ca.SX.sym("q", s.nq), "v": ca.SX.sym("v", s.nv), "t": ca.SX.sym("t")}
    walk = eq.walk({part: x[part] for part in ("q", "v")})
    closure_set = eq.closure_set(x, kept=False) if eq.closed else None
    if name == "natural":
        whole = natural_equations(walk, closure_set)
        weights, corrections = condition_weights(whole, NaturalSettings().weight), NaturalSettings().iterations
        mass, right, rows = whole.mass, whole.right, whole.rows
    else:
        opened = opened_equations(walk, closure_set)
        weights, corrections = row_weights(opened.rows, opened.easy, opened.usual, OPENED_WEIGHT), OPENED_CORRECTIONS
        mass, right, rows = opened.mass, opened.right, opened.rows
    place = {key: k for k, key in enumerate(right)}
    M, C = ca.SX(len(place), len(place)), ca.SX(len(rows), len(place))
    for (i, j), value in mass.items():
        M[place[i], place[j]] = M[place[j], place[i]] = value
    for r, row in enumerate(rows):
        for j, value in row.items():
            C[r, place[j]] = value
    evaluate = ca.Function("matrices", [*x.values()], [M, C, ca.vertcat(ca.SX(0, 1), *weights)])
    found = [evaluate(*state, 0.0) for state in zip(np.atleast_2d(q), np.atleast_2d(v), strict=True)]
    return max(_bound(*(np.array(ca.densify(part)) for part in parts), corrections) for parts in found)


def _bound(M: np.ndarray, C: np.ndarray, W: np.ndarray, corrections: int) -> float:
    if not len(M):  # no body moves by itself
        return REFERENCE
    root = np.sqrt(W.reshape(-1, 1)) * C
    K = M + root.T @ root
    scale = 1 / np.sqrt(np.diag(K))
    scaled, root = scale[:, None] * K * scale, root * scale
    tau = np.linalg.eigvalsh(root @ np.linalg.solve(scaled, root.T))
    missed = abs(1 - tau[tau > DEPENDENT].min(initial=1.0)) ** (corrections + 1)
    return float(missed + len(M) * EPS * np.linalg.cond(scaled)) + REFERENCE
