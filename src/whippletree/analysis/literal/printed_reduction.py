"""Critchley and Anderson's recursive coordinate reduction as their text has it (27-102, corrected), in plain NumPy.

A loop begins at its base, body 0, goes over bodies 1 to n - 1 and ends at body n, a massless phantom copy of the base.
All is [angular; linear] in ground axes, at the bodies' points; accelerations are the parts that are explicit in the
speeds' derivatives u', and forces F have taken the rest off. S^k shifts forces from body k to the body before:

    A^k = (S^k)^T A^(k-1) + P_k u'_k,        0A^n + A_t = 0        (relative to the base; A_t is the rest there)

Bodies 1 to p have independent speeds; beyond p speeds are dependent, or independent where `outer` says so. Phantoms are
never independent. What these letters are in the package, where fronts carry rows along that are not yet used up:

    here                                in the package
    Q^k                                 the inverse pivot of a speed with its row (`fronts.eliminated`)
    R^k+1 (kS^n)^T                      the rows of a front that are not yet used
    W, X, Y, Z                          never formed: a dependent speed and a row go at the body, inward (`recover`)
    H, G, K                             outer speeds stay variables of the front, and go one by one
    T^j = S^j (1 - I^j P M^-1 P^T)      `fronts.eliminated`, then `Front.shifted`
    I^(j;0), I^j, F^j                   the front's blocks on the accelerations of base and body, its right side
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["LoopBody", "LoopReduction", "reduced"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LoopBody:
    """A body of a loop: its point, the columns of its joint, inertia and force at the point; a phantom has none."""

    r: Array
    P: Array
    inertia: Array
    F: Array


def shift(before: Array, point: Array) -> Array:
    """Return S: forces at a point, at the one before; its transpose carries motions outward."""
    x, y, z = point - before
    whole = np.eye(6)
    whole[:3, 3:] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    return whole


def total(parts: Iterable[Array]) -> Array:
    """Return the sum of some matrices."""
    return np.asarray(sum(parts))


@dataclass
class LoopReduction:
    """The letters of a loop by body, from 0 to n; lists have None where a letter is not defined."""

    bodies: Sequence[LoopBody]
    p: int
    outer: list[int]
    A_t: Array
    Q: dict[int, Array] = field(default_factory=dict)
    R: dict[int, Array] = field(default_factory=dict)
    X: dict[int, Array] = field(default_factory=dict)
    W: dict[int, Array] = field(default_factory=dict)
    G: dict[int, Array] = field(default_factory=dict)
    Y: dict[int, Array] = field(default_factory=dict)
    Z: dict[int, Array] = field(default_factory=dict)
    H: dict[int, Array] = field(default_factory=dict)
    K: Array = field(default_factory=lambda: np.zeros((0, 0)))
    M_M: Array = field(default_factory=lambda: np.zeros((0, 0)))
    I_M: tuple[Array, ...] = ()
    """I_M^0, I_M^p and F_M (92-94)."""
    folded: tuple[Array, ...] = ()
    """The sums (53-55) for body p, before outer speeds are eliminated."""
    I0: dict[int, Array] = field(default_factory=dict)
    Ij: dict[int, Array] = field(default_factory=dict)
    Fj: dict[int, Array] = field(default_factory=dict)
    """I^(j;0), I^j and F^j (60-62); those of p are (100-102), those of 0 the row of the base, which the paper omits."""

    def S(self, k: int, far: int | None = None) -> Array:
        """Return S^k, or the shift from another body to k."""
        near, point = (k - 1, k) if far is None else (k, far)
        return shift(self.bodies[near].r, self.bodies[point].r)

    def T(self, j: int) -> Array:
        """Return the triangularisation of body j (63)."""
        P, I = self.bodies[j].P, self.Ij[j]
        return self.S(j) @ (np.eye(6) - I @ P @ np.linalg.inv(P.T @ I @ P) @ P.T)

    def speeds(self, A_base: Array) -> tuple[list[Array], list[Array]]:
        """Return u' of all joints and the accelerations 0A of all bodies, from the acceleration of the base."""
        own: list[Array] = [np.zeros(6)]
        rates: list[Array] = [np.zeros(0)]
        for j in range(1, self.p + 1):  # (59)
            P, before = self.bodies[j].P, self.S(j).T @ own[-1]
            effort = P.T @ (self.I0[j] @ A_base + self.Ij[j] @ before - self.Fj[j])
            rates.append(np.asarray(-np.linalg.solve(P.T @ self.Ij[j] @ P, effort)))
            own.append(before + P @ rates[-1])
        I_0, I_p, F_M = self.I_M
        u_outer = -np.linalg.solve(self.M_M, self.K.T @ (I_0 @ A_base + I_p @ own[self.p] - F_M))  # (99)
        for k in range(self.p + 1, len(self.bodies)):  # (45), with (78)
            own.append(self.Y[k] @ own[self.p] + self.Z[k] @ self.A_t + self.H[k] @ self.K @ u_outer)
            rates.append(np.asarray(np.linalg.pinv(self.bodies[k].P) @ (own[k] - self.S(k).T @ own[k - 1])))
        return rates, own


def reduced(bodies: Sequence[LoopBody], p: int, A_t: Array, outer: Collection[int] = ()) -> LoopReduction:
    """Reduce a loop: `bodies` from its base to the phantom, the last one; speeds 1 to p and `outer` are independent."""
    n, U = len(bodies) - 1, np.eye(6)
    free = sorted(outer)
    found = LoopReduction(bodies, p, free, A_t)
    found.R[n + 1] = U
    columns = {j: slice(6 * i, 6 * i + 6) for i, j in enumerate(free)}
    for k in range(n, p, -1):
        P, to_end, before = bodies[k].P, found.S(k, n), found.S(k).T
        G = np.zeros((6, 6 * len(free)))
        if k in columns:  # (66, 73, 76, 77)
            found.R[k], found.X[k], found.W[k] = found.R[k + 1], np.zeros((6, 6)), before
            G[:, columns[k]] = U
        else:
            R = found.R[k + 1]
            Q = np.asarray(np.linalg.inv(P.T @ to_end @ R @ to_end.T @ P), dtype=float)  # (34)
            found.Q[k] = Q
            found.X[k] = np.asarray(-P @ Q @ P.T @ to_end @ R)  # (40)
            found.R[k] = np.asarray(R @ (U - to_end.T @ P @ Q @ P.T @ to_end @ R))  # (36)
            found.W[k] = before + found.X[k] @ found.S(k - 1, n).T  # (39)
            for j in free:
                if j > k:
                    G[:, columns[j]] = found.X[k] @ found.S(j, n).T  # (73)
        found.G[k] = G
    found.Y[p], found.Z[p], found.H[p] = U, np.zeros((6, 6)), np.zeros((6, 6 * len(free)))
    for k in range(p + 1, n + 1):
        found.Y[k] = found.W[k] @ found.Y[k - 1]  # (42, 79)
        found.Z[k] = found.X[k] + found.W[k] @ found.Z[k - 1]  # (43, 80)
        found.H[k] = found.G[k] + found.W[k] @ found.H[k - 1]  # (81)
    _fold(found)
    for j in range(p, 0, -1):  # (60-62); at the base, j = 1 adds to its own
        T = found.T(j)
        P, M = bodies[j].P, bodies[j].P.T @ found.Ij[j] @ bodies[j].P
        if j > 1:
            I = bodies[j - 1].inertia
            found.I0[j - 1] = I @ found.S(0, j - 1).T + T @ found.I0[j]
            found.Ij[j - 1] = I + T @ found.Ij[j] @ found.S(j).T
            found.Fj[j - 1] = bodies[j - 1].F + T @ found.Fj[j]
        taken = found.I0[j].T @ P @ np.linalg.inv(M) @ P.T
        found.I0[0] = found.I0[0] - taken @ found.I0[j]
        found.Fj[0] = found.Fj[0] - taken @ found.Fj[j]
    return found


def _fold(found: LoopReduction) -> None:
    """Fold dependent bodies and outer speeds into body p (53-55, 92-102), and begin the row of the base."""
    bodies, p, n = found.bodies, found.p, len(found.bodies) - 1
    beyond = range(p, n + 1)
    I = {k: body.inertia for k, body in enumerate(bodies)}
    F = {k: bodies[k].F - I[k] @ found.Z[k] @ found.A_t for k in beyond}
    to_base = {k: found.S(0, k).T for k in range(n + 1)}
    Y, H = found.Y, found.H
    found.folded = (
        total(Y[k].T @ I[k] @ to_base[k] for k in beyond),
        total(Y[k].T @ I[k] @ Y[k] for k in beyond),
        total(Y[k].T @ F[k] for k in beyond),
    )
    found.K = np.zeros((6 * len(found.outer), sum(bodies[j].P.shape[1] for j in found.outer)))
    column = 0
    for i, j in enumerate(found.outer):
        P = bodies[j].P
        found.K[6 * i : 6 * i + 6, column : column + P.shape[1]] = P
        column += P.shape[1]
    found.I_M = (
        total(H[k].T @ I[k] @ to_base[k] for k in beyond),
        total(H[k].T @ I[k] @ Y[k] for k in beyond),
        total(H[k].T @ F[k] for k in beyond),
    )
    found.M_M = found.K.T @ total(H[k].T @ I[k] @ H[k] for k in beyond) @ found.K  # (97)
    gain = found.K @ np.linalg.inv(found.M_M) @ found.K.T
    on_p = total(Y[k].T @ I[k] @ H[k] for k in beyond) @ gain
    on_base = total(to_base[k].T @ I[k] @ H[k] for k in beyond) @ gain
    found.I0[p], found.Ij[p], found.Fj[p] = (  # (100-102)
        whole - on_p @ part for whole, part in zip(found.folded, found.I_M, strict=True)
    )
    found.I0[0] = total(to_base[k].T @ I[k] @ to_base[k] for k in range(n + 1)) - on_base @ found.I_M[0]
    found.Fj[0] = total(to_base[k].T @ (F.get(k, bodies[k].F)) for k in range(n + 1)) - on_base @ found.I_M[2]
