"""The inertia of a flexible body as a function of its modal coordinates, and the forces that velocities bring.

The generalised inertia on [w; u; eta'] has the first moment h, the moments of inertia J, the rotational coupling
C = int r x du/deta (3, n) and the modal inertia E = int du/deta . du/deta (n, n); the translational coupling is
dh/deta. Stacked into one column y(eta) = [h; J; C; E], with symmetric matrices by their lower halves, they are
polynomials of second order,

    y = y0 + (y1 + L) eta,        dy/deta = y1 + 2 L,        L = y2 eta                                        (1)

with coefficients that follow from integrals over the undeformed body (`Invariants`). The kinetic energy at rest of the
frame's origin is g . y, where g holds products of w and eta', so with y' = (dy/deta) eta' Boltzmann and Hamel's
equations (`kind`, 2) become

    b_w   = J' w + C' eta' + w x (C eta')
    b_u   = 2 w x h' + (dh/deta)' eta'                                                                         (2)
    b_eta = C'^T w + E' eta' - (dy/deta)^T g

of which C' eta' needs only the symmetric and C'^T w - (dC/deta)^T g only the antisymmetric part of dC/deta.

What is of second order in E is a product V^T V, with V = F eta linear in eta, so that E stays definite:

    E_km = ... + sum_lp (sum_r F_rkl F_rmp) eta_l eta_p                                                        (3)

If int G . G is not given, V is as small as the other integrals of G allow: that of its part that is affine in x. F then
has few rows r, and stands for displacements 1/2 eta^T F eta of as many unit masses, whose part of b_eta is
V^T (eta'^T F eta'). Where F has many rows, most of the sums over r are zero, as bending in one plane and in the other
do not mix: they are worked out beforehand, and are part of y2. What takes fewer operations is kept.

Lumped nodes with inertia of their own, or with second-order displacements, are no such polynomials. They stand beside
them node by node: a node at r(eta), with axes turned by R(eta), moves with J_t = dr/deta and, in its own axes, with
J_r = T^T Psi (`rotation_vector_terms`), and its forces are those of a rigid body (Jain 19-41):

    F = m (w x (w x r) + 2 w x J_t eta' + (J_t)' eta'),   N = I a + w_j x I w_j,   w_j = R^T w + J_r eta'      (4)
    a = (R^T w) x (J_r eta') + (J_r)' eta'

with the parts of F and N that the gyroscopic force of the whole inertia has already taken out of the frame's share.

A load-dependent stiffness is symmetric if it is one of second-order displacements. What is not symmetric in the
matrices N that a file gives for accelerations a, dw and products of w follows from no energy, and is used as given:

    coupling with w' and u':  ... + N eta,        b_eta:  ... + N_ab eta w_a w_b                               (5)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, cast

import casadi as ca
import numpy as np

from whippletree.elements.bodies.array_store import ArrayStore, SparseArray
from whippletree.elements.bodies.flexible_data import GeometricStiffness, Invariants, LumpedNodes
from whippletree.elements.bodies.kind import OwnInertia, OwnVelocityForces
from whippletree.foundation.arrays import Array
from whippletree.spatial import RigidInertia, cross, mirror, rotation_vector_terms, stack

__all__ = [
    "SKEW_STIFFNESS",
    "first_moment_at_rest",
    "inertia_at",
    "inertia_terms",
    "mode_scales",
    "node_terms",
    "skew_stiffness",
    "tidy_zeros",
    "velocity_forces_at",
    "with_geometric_stiffness",
]


LOWER3 = ((0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2))
"""The lower half of a symmetric matrix (3, 3), in the order of y."""

_PERMUTATIONS = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _PERMUTATIONS[_i, _j, _k], _PERMUTATIONS[_i, _k, _j] = 1.0, -1.0


# ---------------------------------------------------------------------------------------------- coefficients


def inertia_terms(found: Invariants) -> dict[str, Array | SparseArray]:
    """Return the coefficients of y(eta): mass, y0 (m,), y1 (m, n) and y2 (m, n, n), symmetric in the last two.

    Most of these are zeros: they are as large as n^4 / 2. If only h and J have terms of second order, y2 has their
    nine rows alone. F (r, n, n) is there if it is used as it is (3).
    """
    n = found.mode_first.shape[1]
    found = _symmetrised(found)
    F = _factors(found, n)
    products = _products(F, n)
    as_rows = _rows_pay(F, products)
    parts = (
        _h(found),
        _J(found, n),
        _C(found, n),
        _E(found, n, SparseArray.zeros(*products.shape) if as_rows else products),
    )
    s = mode_scales(parts[3][0], n)
    rows = (np.ones(3), np.ones(6), np.tile(s, 3), np.outer(s, s)[np.tril_indices(n)])
    for (zeroth, first, second), scale in zip(parts, rows, strict=True):
        tidy_zeros(zeroth, scale)
        if not isinstance(first, SparseArray):
            tidy_zeros(first, scale, s)
        if not isinstance(second, SparseArray):
            second[:] = (second + second.swapaxes(1, 2)) / 2
            tidy_zeros(second, scale, s, s)
    y0 = np.concatenate([zeroth for zeroth, _, _ in parts])
    y1, y2 = (SparseArray.stacked([part[order] for part in parts]) for order in (1, 2))
    if not y2.positions.size or y2.positions[-1] < 9 * n * n:
        y2 = y2._replace(shape=(9, n, n))
    terms: dict[str, Array | SparseArray] = {"mass": np.array([found.mass]), "y0": y0, "y1": y1, "y2": y2}
    return terms | {"F": F} if as_rows else terms


def mode_scales(own: Array, n: int) -> Array:
    """Return how large modal coordinates are with which modes move alike, from the lower half of E (n, n).

    >>> mode_scales(np.array([4.0, 0.0, 0.25]), 2)
    array([0.5, 2. ])
    """
    diagonal = own[[k * (k + 3) // 2 for k in range(n)]] if n else np.zeros(0)
    return np.asarray(1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))


def tidy_zeros(table: Array, *scales: Array) -> None:
    """Set entries to zero that rounding has left: below a share of the largest, each in the scales of its indices.

    >>> table = np.array([[1.0, 1e-17], [1e-3, 1.0]])
    >>> tidy_zeros(table, np.ones(2), np.ones(2))
    >>> table.tolist()
    [[1.0, 0.0], [0.001, 1.0]]
    """
    sizes = np.abs(table)
    for axis, scale in enumerate(scales):
        sizes = sizes * scale.reshape([-1 if i == axis else 1 for i in range(table.ndim)])
    table[sizes <= _ROUNDING * sizes.max(initial=0.0)] = 0.0


def _symmetrised(found: Invariants) -> Invariants:
    """Return the integrals with their symmetries exact, so that equal terms cancel while tracing."""
    n = found.mode_first.shape[1]
    both, bent = _or_zeros(found.modes, 3, 3, n, n), _or_zeros(found.cross_second_order, 3, 3, n, n)
    both, bent = (both + both.transpose(1, 0, 3, 2)) / 2, (bent + bent.swapaxes(2, 3)) / 2
    return replace(found, modes=both, cross_second_order=bent)


def with_geometric_stiffness(found: Invariants, given: GeometricStiffness) -> Invariants:
    """Return the integrals with those of second-order displacements that belong to a load-dependent stiffness.

    Accelerations a + dw x x + w x (w x x) of the undeformed body do work on G, which is a stiffness

        a . int G  +  dw . int (x x G)  +  w_a w_b int x^a G^b - w^2 int x . G

    so its matrices for unit loads, as far as they are symmetric, are these integrals: the stiffness is used as given,
    and what belongs to it by the balance of momentum and of energy comes with it.

    >>> body = Invariants(1.0, np.zeros(3), np.eye(3), np.zeros((3, 1)))
    >>> spinning = GeometricStiffness(angular_velocity=np.array([0, 2.0, 2.0, 0, 0, 0]).reshape(6, 1, 1))
    >>> with_geometric_stiffness(body, spinning).cross_second_order[0, 0].item()
    -2.0
    """
    n = found.mode_first.shape[1]
    shift, turning, spinning = (even for even, _ in _halves(given, n))
    turn = np.einsum("iab,ikl->abkl", _PERMUTATIONS, turning) / 2
    xx, yy, zz, xy, yz, zx = spinning
    trace = -(xx + yy + zz) / 2
    spin = np.array([[xx + trace, xy / 2, zx / 2], [xy / 2, yy + trace, yz / 2], [zx / 2, yz / 2, zz + trace]])
    return replace(
        found,
        mode_second_order=_or_zeros(found.mode_second_order, 3, n, n) + shift,
        cross_second_order=_or_zeros(found.cross_second_order, 3, 3, n, n) + turn + spin,
    )


def skew_stiffness(given: GeometricStiffness, n: int) -> Array | None:
    """Return the skew part of a load-dependent stiffness, for [dw; a; products of w] (12, n, n), if it has one.

    >>> skew_stiffness(GeometricStiffness(np.arange(12.0).reshape(3, 2, 2)), 2)[3].tolist()
    [[0.0, -0.5], [0.5, 0.0]]
    """
    (a, odd_a), (dw, odd_dw), (w, odd_w) = _halves(given, n)
    found, sizes = np.concatenate([odd_dw, odd_a, odd_w]), np.abs(np.concatenate([dw, a, w])).max(axis=(1, 2))
    found[np.abs(found).max(axis=(1, 2)) <= _SKEW * sizes] = 0.0
    return found if np.any(found) else None


def _halves(given: GeometricStiffness, n: int) -> Iterator[tuple[Array, Array]]:
    """Yield the symmetric and the other part of the matrices for a, dw and products of w."""
    for part, size in ((given.acceleration, 3), (given.angular_acceleration, 3), (given.angular_velocity, 6)):
        whole = _or_zeros(part, size, n, n)
        yield (whole + whole.swapaxes(1, 2)) / 2, (whole - whole.swapaxes(1, 2)) / 2


def _or_zeros(given: Array | None, *shape: int) -> Array:
    return np.zeros(shape) if given is None else given


_Part = tuple[Array, Array | SparseArray, Array | SparseArray]
"""A part of y: its coefficients of order zero, one and two."""


def _h(found: Invariants) -> _Part:
    n = found.mode_first.shape[1]
    return found.first.copy(), found.mode_first.copy(), _or_zeros(found.mode_second_order, 3, n, n) / 2


def _J(found: Invariants, n: int) -> _Part:
    """Return the coefficients of J = tr(S) 1 - S, S = int r r^T."""
    crossed, bent = _or_zeros(found.cross, 3, 3, n), _or_zeros(found.cross_second_order, 3, 3, n, n)
    S1 = crossed + crossed.swapaxes(0, 1)
    S2 = _or_zeros(found.modes, 3, 3, n, n) + (bent + bent.swapaxes(0, 1)) / 2
    return tuple(_lower(np.einsum("cc...,ab->ab...", S, np.eye(3)) - S) for S in (found.second, S1, S2))  # type: ignore[return-value]


def _lower(whole: Array) -> Array:
    return np.array([whole[i, j] for i, j in LOWER3])


def _C(found: Invariants, n: int) -> _Part:
    """Return the coefficients of C = int r x du/deta, mode after mode for each component."""
    crossed, bent = _or_zeros(found.cross, 3, 3, n), _or_zeros(found.cross_second_order, 3, 3, n, n)
    both, third = _or_zeros(found.modes, 3, 3, n, n), found.modes_second_order
    zeroth = np.einsum("iab,abk->ik", _PERMUTATIONS, crossed).reshape(3 * n)
    first = np.einsum("iab,abkl->ikl", _PERMUTATIONS, bent + both.swapaxes(2, 3)).reshape(3 * n, n)
    if third is None:
        return zeroth, first, SparseArray.zeros(3 * n, n, n)
    second = np.einsum("iab,ablkm->iklm", _PERMUTATIONS, third)
    second = second + np.einsum("iab,baklm->iklm", _PERMUTATIONS, third) / 2
    return zeroth, first, second.reshape(3 * n, n, n)


def _E(found: Invariants, n: int, second: SparseArray) -> _Part:
    """Return the coefficients of the lower half of E = int du/deta . du/deta."""
    lower = np.tril_indices(n)
    zeroth = np.einsum("aakl->kl", _or_zeros(found.modes, 3, 3, n, n))[lower]
    if found.modes_second_order is None:
        return zeroth, SparseArray.zeros(len(zeroth), n), second
    third = np.einsum("aaklm->klm", found.modes_second_order)
    return zeroth, (third + third.swapaxes(0, 1))[lower], second


def _products(F: Array, n: int) -> SparseArray:
    """Return the sums over r of (3) for the lower half of E, symmetric in the last two indices."""
    lower = np.tril_indices(n)
    products = [F[:, k, :].T @ F[:, m, :] for k, m in zip(*lower, strict=True)] if len(F) else []
    return SparseArray.stacked([((P + P.T) / 2)[None] for P in products] or [SparseArray.zeros(len(lower[0]), n, n)])


def _rows_pay(F: Array, products: SparseArray) -> bool:
    """Tell whether the terms of (3) in E and in b_eta take fewer operations by V^T V than as a part of y2."""
    rows, n = F.shape[:2]
    slopes = len(np.unique(products.positions // max(n, 1)))
    by_rows = 4 * int(np.count_nonzero(F)) + 2 * rows * (products.shape[0] + 2 * n)
    return bool(0 < by_rows < 2 * len(products.values) + 7 * slopes)


def _factors(found: Invariants, n: int) -> Array:
    """Return F (r, n, n) with int G_kl . G_mp = sum F_kl F_mp (3)."""
    if not n or n > MOST_FOURTH_ORDER:
        return np.zeros((0, n, n))
    if found.second_orders is not None:
        values, vectors = np.linalg.eigh(found.second_orders.reshape(n * n, n * n))
        rows = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    else:
        affine = np.block([[np.array([[found.mass]]), found.first[None]], [found.first[:, None], found.second]])
        moments = np.concatenate([_or_zeros(found.mode_second_order, 3, n, n)[None], _bent(found, n)])
        values, vectors = np.linalg.eigh(affine)
        kept = values > _NEGLIGIBLE * values[-1]
        rows = np.einsum("ir,ibkl->rbkl", vectors[:, kept] / np.sqrt(values[kept]), moments).reshape(-1, n * n)
    sizes = np.abs(rows).max(axis=1, initial=0.0)
    rows = rows[sizes > _NEGLIGIBLE * sizes.max(initial=0.0)].reshape(-1, n, n)
    F = np.asarray((rows + rows.swapaxes(1, 2)) / 2)
    tidy_zeros(F, np.ones(len(F)), np.ones(n), np.ones(n))
    return F[np.any(F, axis=(1, 2))]


def _bent(found: Invariants, n: int) -> Array:
    return _or_zeros(found.cross_second_order, 3, 3, n, n)


_NEGLIGIBLE = 1e-9
"""Parts of int G . G whose roots are smaller than this share of the largest are left out: they are of fourth order."""

MOST_FOURTH_ORDER = 100
"""With more modal coordinates the terms of fourth order are left out: they would couple each with each."""

SKEW_STIFFNESS = "skew stiffness"
"""The name of the matrices that `skew_stiffness` returns."""

_SKEW = 1e-8
"""A load-dependent stiffness is symmetric if it is so up to this share of its largest entry: files print ten digits."""

_ROUNDING = 1e-13
"""Entries below this share of the largest are zeros that rounding has missed."""


def node_terms(nodes: LumpedNodes) -> tuple[Invariants, dict[str, Array]]:
    """Return the integrals over nodes as far as they are polynomials, and the arrays of the other nodes."""
    bent = nodes.second_order is not None and bool(np.any(nodes.second_order))
    exact = bent | np.any(nodes.inertia, axis=(1, 2))
    N, n = nodes.mass.shape[0], nodes.translation.shape[2]
    m = np.zeros(N) if bent else nodes.mass  # as point masses; with second-order displacements node by node
    x, phi = nodes.position, nodes.translation
    invariants = Invariants(
        float(nodes.mass.sum()),
        np.einsum("j,ja->a", m, x),
        np.einsum("j,ja,jb->ab", m, x, x),
        np.einsum("j,jak->ak", m, phi),
        cross=np.einsum("j,ja,jbk->abk", m, x, phi),
        modes=np.einsum("j,jak,jbl->abkl", m, phi, phi),
    )
    arrays = {}
    for i, j in enumerate(np.flatnonzero(exact)):
        arrays[f"node {i} inertia"] = nodes.inertia[j]
        arrays[f"node {i} rotation"] = nodes.rotation[j]
        if bent:
            arrays[f"node {i} mass"] = nodes.mass[j : j + 1]
            arrays[f"node {i} position"] = x[j]
            arrays[f"node {i} translation"] = phi[j]
            arrays[f"node {i} second order"] = _or_zeros(nodes.second_order, N, 3, n, n)[j]
    return invariants, arrays


# ---------------------------------------------------------------------------------------------- at a state


class _Polynomials(NamedTuple):
    """y(eta) by its parts, and their derivatives with respect to eta: (3, n), (6, n), (3 n, n), (n (n + 1) / 2, n)."""

    h: ca.SX
    J: ca.SX
    C: ca.SX
    E: ca.SX
    h_slope: ca.SX
    J_slope: ca.SX
    C_slope: ca.SX
    E_slope: ca.SX


def _polynomials(store: ArrayStore, eta: ca.SX) -> _Polynomials:
    n = eta.numel()
    y0, y1, y2 = (store.matrix(name) for name in ("y0", "y1", "y2"))
    m, bent = y0.shape[0], y2.shape[0] // max(n, 1)
    L = ca.vertcat(ca.reshape(y2 @ eta, n, bent).T, ca.SX(m - bent, n))
    y, dy = y0 + (y1 + L) @ eta, y1 + 2 * L
    ends = (0, 3, 9, 9 + 3 * n, m)
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return _Polynomials(*(y[each, :] for each in parts), *(dy[each, :] for each in parts))


def inertia_at(store: ArrayStore, eta: ca.SX) -> OwnInertia:
    """Return the generalised inertia by its parts."""
    n = eta.numel()
    found = _polynomials(store, eta)
    J, E = _symmetric(found.J, 3), _symmetric(found.E, n)
    h, C_t, C_r = found.h, found.h_slope, ca.reshape(found.C, n, 3).T
    for node in _nodes(store, eta):
        r, J_t, IR, IJ = node.r, node.J_t, node.inertia @ node.R.T, node.inertia @ node.J_r
        h, C_t = h + node.m * r, C_t + node.m * J_t
        J = J + node.R @ IR + node.m * (ca.dot(r, r) * ca.SX.eye(3) - r @ r.T)
        C_r = C_r + node.R @ IJ + node.m * cross(r, J_t)
        E = E + node.J_r.T @ IJ + node.m * (J_t.T @ J_t)
    if "F" in store:
        V = _along(store, eta)
        E = mirror(E + V.T @ V)
    rigid = RigidInertia(ca.densify(store.matrix("mass")), ca.densify(h), ca.densify(J))
    coupling = stack(C_r, C_t)
    if SKEW_STIFFNESS in store:
        coupling = coupling + _skew_forces(store, eta)[:6, :]
    return OwnInertia(rigid, coupling, ca.densify(E))


def first_moment_at_rest(store: ArrayStore) -> tuple[ca.SX, ca.SX]:
    """Return mass and first moment of the undeformed body, without the rest of its inertia."""
    m, h = ca.densify(store.matrix("mass")), ca.densify(store.matrix("y0")[:3, :])
    k = 0
    while f"node {k} inertia" in store:
        if f"node {k} mass" in store:
            h = h + store.matrix(f"node {k} mass") * store.matrix(f"node {k} position")
        k += 1
    return m, ca.densify(h)


def _skew_forces(store: ArrayStore, eta: ca.SX) -> ca.SX:
    """Return N eta (12, n), the forces on own coordinates for unit [dw; a; products of w] (5)."""
    return ca.densify(ca.reshape(store.matrix(SKEW_STIFFNESS) @ eta, eta.numel(), 12).T)


def _along(store: ArrayStore, eta: ca.SX) -> ca.SX:
    """Return F eta (r, n) (3)."""
    return ca.reshape(store.matrix("F") @ eta, eta.numel(), -1).T


def velocity_forces_at(store: ArrayStore, eta: ca.SX, rate: ca.SX, w: ca.SX) -> OwnVelocityForces:
    """Return b_w, b_u and b_eta (2, 3), without the gyroscopic force of the frame's whole inertia."""
    n = eta.numel()
    found = _polynomials(store, eta)
    C = ca.reshape(found.C, n, 3).T
    J_rate, E_rate = _symmetric(found.J_slope @ rate, 3), _symmetric(found.E_slope @ rate, n)
    slopes = [found.C_slope[i * n : (i + 1) * n, :] for i in range(3)]
    growing = ca.reshape(2 * store.matrix("y2")[: 3 * n, :] @ rate, n, 3).T @ rate
    bulging = ca.vertcat(*(rate.T @ ((A + A.T) @ rate) / 2 for A in slopes))
    b_w = J_rate @ w + bulging + cross(w, ca.densify(C @ rate))
    b_u = 2 * cross(w, ca.densify(found.h_slope @ rate)) + growing
    own = sum(((w[i] * (A - A.T)) @ rate for i, A in enumerate(slopes)), E_rate @ rate) - _slope(found, rate, w)
    if "F" in store:
        own = own + _along(store, eta).T @ (_along(store, rate) @ rate)
    frame = stack(ca.densify(b_w), ca.densify(b_u))
    for node in _nodes(store, eta):
        on_frame, on_own = _node_forces(node, rate, w)
        frame, own = frame + on_frame, own + on_own
    if SKEW_STIFFNESS in store:
        products = ca.vertcat(w**2, w[0] * w[1], w[1] * w[2], w[2] * w[0])
        own = own + _skew_forces(store, eta)[6:, :].T @ products
    return OwnVelocityForces(ca.densify(frame), ca.densify(own))


def _slope(found: _Polynomials, rate: ca.SX, w: ca.SX) -> ca.SX:
    """Return dT/deta of J and E: (dy/deta)^T g."""
    n = rate.numel()
    squares = ca.vertcat(*((1 if i != j else 0.5) * w[i] * w[j] for i, j in LOWER3))
    slope = found.J_slope.T @ squares
    if not found.E_slope.nnz():
        return slope
    own = ca.vertcat(ca.SX(0, 1), *((1 if k != j else 0.5) * rate[k] * rate[j] for k in range(n) for j in range(k + 1)))
    return slope + found.E_slope.T @ own


def _symmetric(lower: ca.SX, size: int) -> ca.SX:
    """Return the symmetric matrix whose lower half is given row by row."""
    places, entries = lower.sparsity().row(), cast("list[ca.SX]", lower.nonzeros())
    i = ((np.sqrt(8.0 * np.array(places, dtype=float) + 1.0) - 1.0) / 2 + 1e-9).astype(int)
    j = np.array(places, dtype=int) - i * (i + 1) // 2
    found = {(a, b): x for a, b, x in zip(i.tolist(), j.tolist(), entries, strict=True)}
    found |= {(b, a): x for (a, b), x in found.items()}
    order = sorted(found, key=lambda place: (place[1], place[0]))  # CasADi keeps entries column by column
    if not order:
        return ca.SX(size, size)
    pattern = ca.Sparsity.triplet(size, size, [a for a, _ in order], [b for _, b in order])
    return ca.SX(pattern, ca.vertcat(*(found[place] for place in order)))


class _LumpedNodeState(NamedTuple):
    """A lumped node at a state: place and axes in the body, its motion per own rate, and the latter's slopes."""

    m: ca.SX
    inertia: ca.SX
    r: ca.SX
    J_t: ca.SX
    bend: ca.SX  # G as (3 n, n)
    R: ca.SX
    J_r: ca.SX
    turn: ca.SX
    psi: ca.SX


def _nodes(store: ArrayStore, eta: ca.SX) -> list[_LumpedNodeState]:
    """Return the nodes that are taken one by one."""
    n, found = eta.numel(), list[_LumpedNodeState]()
    while f"node {len(found)} inertia" in store:
        name = f"node {len(found)}"
        psi = store.matrix(f"{name} rotation")
        turn = psi @ eta
        terms = rotation_vector_terms(ca.densify(turn))
        m, r, J_t, bend = ca.SX(0), ca.SX(3, 1), ca.SX(3, n), ca.SX(3 * n, n)
        if f"{name} mass" in store:
            m, x, phi = (store.matrix(f"{name} {part}") for part in ("mass", "position", "translation"))
            bend = store.matrix(f"{name} second order")
            L = ca.reshape(bend @ eta, n, 3).T
            r, J_t = x + (phi + L / 2) @ eta, phi + L
        J_r = terms.tangent.T @ psi
        found.append(_LumpedNodeState(m, store.matrix(f"{name} inertia"), r, J_t, bend, terms.rotation, J_r, turn, psi))
    return found


def _node_forces(node: _LumpedNodeState, rate: ca.SX, w: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return a node's forces (3) on the frame, without its part of the gyroscopic force, and on the own coordinates."""
    n = rate.numel()
    u = node.J_t @ rate
    F = node.m * (2 * cross(w, ca.densify(u)) + ca.reshape(node.bend @ rate, n, 3).T @ rate)
    whole = F + node.m * cross(w, cross(w, ca.densify(node.r)))
    here, own = ca.densify(node.R.T @ w), ca.densify(node.J_r @ rate)
    spin = here + own
    terms = rotation_vector_terms(ca.densify(node.turn))
    bias = cross(here, own) + node.R.T @ terms.bias(ca.densify(node.psi @ rate))
    N = node.inertia @ bias + cross(spin, node.inertia @ spin)
    left = N - cross(here, node.inertia @ here)
    moment = node.R @ left + cross(ca.densify(node.r), ca.densify(F))
    return stack(ca.densify(moment), ca.densify(F)), node.J_t.T @ whole + node.J_r.T @ N
