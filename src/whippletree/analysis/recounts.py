"""Operations counted as two papers count them, on full matrices of symbols: nothing is folded, every body is shifted.

Kang and Yoon: what the global origin saves against the centroid, equation by equation. Garcia de Jalon and Bayo: what a
pair of a body and a joint on its way costs in R.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from whippletree.analysis.models import body_joint_pairs
from whippletree.kernels.tape import OperationCount, read_tape
from whippletree.spatial import Translation, cross, skew
from whippletree.system import System

__all__ = ["origin_savings", "velocity_map_count"]


def origin_savings(n: int, m: int) -> dict[str, int]:
    """Return the multiplications per body that the origin saves, equation by equation, negative where it costs more.

    `n` is the number of the joint's freedoms, `m` that of constraints.

    >>> saved = origin_savings(3, 9)
    >>> sum(saved.values()) == 36 + 6 * 3 + 6 * 9
    True
    """
    r, D, Q, Y, a = (ca.SX.sym(name, k) for name, k in (("r", 3), ("D", 6), ("Q", 6), ("Y", 6), ("a", n)))
    half = ca.SX.sym("M", 21)
    M = ca.SX(6, 6)
    places = [(i, j) for i in range(6) for j in range(i + 1)]
    for k, (i, j) in enumerate(places):
        M[i, j] = M[j, i] = half[k]
    B2, Phi = ca.SX.sym("B2", 6, n), ca.SX.sym("Phi", m, 6)
    shifted = ca.SX(ca.blockcat([[ca.SX.eye(3), -skew(r)], [ca.SX(3, 3), ca.SX.eye(3)]]))
    symbols = [r, D, Q, Y, a, half, ca.vec(B2), ca.vec(Phi)]

    def equations(B1: ca.SX) -> dict[str, ca.SX]:
        seen = M @ B1  # in full; of B1^T (M B1), which is symmetric, only one half is new
        product = B1.T @ seen
        new = [product[i, j] for i in range(3, 6) for j in range(3, i + 1)]
        return {
            "force to the parent (28)": B1.T @ (Q - M @ D),
            "inertia to the parent (28)": ca.vertcat(ca.vec(seen), *new),
            "coupling to the parent (28)": (B2.T @ M) @ B1,
            "acceleration (30)": B1 @ Y + B2 @ a + D,
            "constraints (39)": Phi @ B1,
        }

    plain = equations(ca.SX.eye(6))
    saved = {
        name: _multiplications(symbols, result) - _multiplications(symbols, plain[name])
        for name, result in equations(shifted).items()
    }
    saved["mass and force (36)"] = -_built_at_origin()
    return saved


def _built_at_origin() -> int:
    """Return the operations of (36) beyond those of (3): mass matrix and force vector at the origin."""
    mass, r, w, v = ca.SX.sym("m"), ca.SX.sym("r", 3), ca.SX.sym("w", 3), ca.SX.sym("v", 3)
    F, J = ca.SX.sym("F", 3), ca.SX.sym("J", 6)
    h = mass * r
    x, y, z = h[0] * r[0], h[1] * r[1], h[2] * r[2]
    square = [y + z, x + z, x + y]
    mixed = [h[0] * r[1], h[0] * r[2], h[1] * r[2]]
    inertia = [J[k] + x for k, x in enumerate(square)] + [J[k + 3] - x for k, x in enumerate(mixed)]
    force = F + mass * cross(v, w)
    return _multiplications([mass, r, w, v, F, J], ca.vertcat(h, *inertia, force, cross(r, force)))


def velocity_map_count(system: System) -> tuple[OperationCount, OperationCount]:
    """Return the operations of R as the book counts them, and of the levers g_b - r_i, which it does not count.

    >>> from whippletree.analysis.models import human_body
    >>> count, levers = velocity_map_count(human_body().build())
    >>> count.multiplications, count.additions, levers.additions
    (1050, 525, 525)
    """
    u, lever = ca.SX.sym("u", 3), ca.SX.sym("l", 3)
    column = Translation(lever).motion(ca.vertcat(u, ca.SX.zeros(3)))
    pair = read_tape(ca.Function("pair", [u, lever], [ca.densify(column)])).count()
    pairs = body_joint_pairs(system)
    return pairs * pair, OperationCount(additions=3 * pairs)


def _multiplications(symbols: Sequence[ca.SX], result: ca.SX) -> int:
    """Count products as they are written: equal ones twice."""
    function = ca.Function("count", [*symbols], [ca.densify(ca.vec(result))])
    codes = [function.instruction_id(k) for k in range(function.n_instructions())]
    return codes.count(ca.OP_MUL) + codes.count(ca.OP_SQ)
