"""Checks of finite-element matrices before they are used; each error names the fault and its remedy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import Array, SparseMatrix, points
from whippletree.flexible_bodies.flexible_tolerances import (
    DENSITIES,
    IN_LINE,
    INDEFINITE,
    RIGID_FORCE,
    SLOWEST_WAVE,
    SYMMETRIC,
    WAVE_SPEED,
)
from whippletree.flexible_bodies.node_sets import rigid_motions
from whippletree.foundation.arrays import Indices
from whippletree.foundation.user_frames import warn
from whippletree.spatial.scalars import shown

__all__ = ["FiniteElements", "checked_elements", "node_triangles", "real_matrix"]


@dataclass(frozen=True)
class FiniteElements:
    """Mass and stiffness (sparse, SI units) of a free structure with nodes (N, 3) and three or six freedoms a node."""

    mass: SparseMatrix
    stiffness: SparseMatrix
    nodes: Array
    per_node: int
    length_unit: float = 1.0

    @cached_property
    def rigid(self) -> Array:
        """The rigid motions (N f, 6)."""
        return rigid_motions(self.nodes, self.per_node)

    @cached_property
    def extent(self) -> float:
        """The diagonal of the box around the nodes."""
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0)))

    @cached_property
    def total_mass(self) -> float:
        """The mass."""
        return float(self.rigid[:, 0] @ (self.mass @ self.rigid[:, 0]))

    def scalar_mass(self) -> SparseMatrix:
        """Return the mass between nodes (N, N): the mean of M over the three directions of translations."""
        f = self.per_node
        return sum(self.mass[i::f][:, i::f] for i in range(3)) / 3

    def check_frequency(self, lowest: float) -> None:
        """Refuse a lowest frequency, in rad/s, that no material gives a body of this size; warn of one that is low."""
        speed = lowest / (2 * np.pi) * self.extent
        if speed > WAVE_SPEED:
            raise ModelError(
                f"flexible: the lowest frequency is {lowest / (2 * np.pi):.4g} Hz in a body of {self.extent:.4g} m: no "
                f"material is that stiff for its mass. {_UNITS}"
            )
        if 0.0 < speed < SLOWEST_WAVE:
            warn(
                f"flexible: the lowest frequency is {lowest / (2 * np.pi):.4g} Hz in a body of {self.extent:.4g} m: "
                f"hardly anything is that soft for its mass. {_UNITS}",
                UserWarning,
            )


_UNITS = (
    'Matrices and nodes must be in one system of units: m, kg, s, N, or with units="mm" in mm, t, s, N (then N/mm, and '
    "t of mass)"
)


def checked_elements(mass: SparseMatrix, stiffness: SparseMatrix, nodes: ArrayLike, units: str) -> FiniteElements:
    """Return the matrices in SI units, if they are those of one free structure."""
    where = points(nodes, "flexible: nodes", 2)
    K, M = _read_matrix(stiffness, "stiffness"), _read_matrix(mass, "mass")
    if K.shape != M.shape:
        raise ModelError(f"flexible: mass is {M.shape[0]} x {M.shape[0]}, but stiffness is {K.shape[0]} x {K.shape[0]}")
    per_node = next((f for f in (3, 6) if f * len(where) == K.shape[0]), 0)
    if not per_node:
        raise ModelError(
            f"flexible: {len(where)} nodes have {3 * len(where)} freedoms (or {6 * len(where)} with rotations), but "
            f"the matrices have {K.shape[0]} rows: nodes are missing, or there are some that the matrices do not know"
        )
    elements = FiniteElements(M, K, where, per_node)
    if units == "mm":
        elements = _in_metres(elements)
    _check_structure(elements)
    return elements


def _in_metres(given: FiniteElements) -> FiniteElements:
    """Return matrices given in mm, t, s, N in SI units: both energies are in N mm, and translations in mm."""
    from scipy import sparse

    unit = 1e-3
    scale = np.tile([1 / unit] * 3 + [1.0] * (given.per_node - 3), len(given.nodes))
    S = sparse.diags_array(scale)
    K, M = ((unit * S @ matrix @ S).tocsr() for matrix in (given.stiffness, given.mass))
    return FiniteElements(M, K, unit * given.nodes, given.per_node, unit)


def real_matrix(given: SparseMatrix, what: str) -> SparseMatrix:
    """Return a matrix of finite numbers as a sparse array."""
    from scipy import sparse

    try:
        whole = given if sparse.issparse(given) else np.asarray(given)
        read = sparse.csr_array(whole.real if np.iscomplexobj(whole) else whole, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be a matrix of numbers, dense or sparse, got {shown(given)}") from None
    if np.iscomplexobj(whole):
        raise ModelError(f"{what} is complex, and must be real: give damping apart from it")
    if read.ndim != 2:
        raise ModelError(f"{what} must be a matrix; its shape is {read.shape}")
    wrong = np.flatnonzero(~np.isfinite(read.data))
    if wrong.size:
        i, j = (int(places[wrong[0]]) for places in read.tocoo().coords)
        raise ModelError(f"{what} has entries that are not finite, such as ({i}, {j}): look for them where it is made")
    return read


def node_triangles(given: ArrayLike, nodes: int) -> Indices:
    """Return triangles (T, 3) as numbers of nodes."""
    try:
        read = np.array(given, dtype=np.intp)
    except (TypeError, ValueError, OverflowError):
        read = np.zeros(0, dtype=np.intp)
    if read.ndim != 2 or read.shape[1] != 3 or not len(read):
        raise ModelError(f"flexible: surface must be triangles (T, 3) of node numbers, got {shown(given)}")
    if read.min() < 0 or read.max() >= nodes:
        wrong = read.min() if read.min() < 0 else read.max()
        raise ModelError(f"flexible: surface: there is no node {wrong}; there are {nodes}, counted from zero")
    return read


def _read_matrix(given: SparseMatrix, what: str) -> SparseMatrix:
    """Return a symmetric matrix as a sparse array."""
    read = real_matrix(given, f"flexible: {what}")
    if read.ndim != 2 or read.shape[0] != read.shape[1] or not read.shape[0]:
        raise ModelError(f"flexible: {what} must be a square matrix; its shape is {read.shape}")
    size = np.abs(read.data).max(initial=0.0)
    if size == 0.0:
        raise ModelError(f"flexible: {what} has zeros only")
    skew = (read - read.T).tocoo()
    if np.abs(skew.data).max(initial=0.0) > SYMMETRIC * size:
        worst = int(np.argmax(np.abs(skew.data)))
        i, j = int(skew.row[worst]), int(skew.col[worst])
        raise ModelError(
            f"flexible: {what} is not symmetric: entry ({i}, {j}) is {read[i, j]:.6g}, but ({j}, {i}) is "
            f"{read[j, i]:.6g}. If only one triangle is stored, give A + A.T - diag(A)"
        )
    return ((read + read.T) / 2).tocsr()


def _check_places(el: FiniteElements) -> None:
    """Refuse nodes that say nothing about rotation: all at one place, or in a line without rotations of their own."""
    away = np.linalg.svd(el.nodes - el.nodes.mean(axis=0), compute_uv=False)
    if away[0] <= 0.0:
        raise ModelError("flexible: all nodes are at the same place: give where each of them is, (N, 3)")
    if el.per_node == 3 and away[1] <= IN_LINE * away[0]:
        raise ModelError(
            "flexible: all nodes are in a line, and with three freedoms each nothing tells how the structure turns "
            "around it: give matrices with six freedoms a node, or nodes beside the line"
        )


def _check_structure(el: FiniteElements) -> None:
    _check_places(el)
    diagonal = el.stiffness.diagonal()
    least = int(np.argmin(diagonal))
    if diagonal[least] < -INDEFINITE * diagonal.max():
        raise ModelError(
            f"flexible: stiffness is indefinite: freedom {least}, of node {least // el.per_node}, has "
            f"{diagonal[least]:.6g} on the diagonal. Look for a wrong sign"
        )
    loose = np.flatnonzero(~np.any(diagonal.reshape(-1, el.per_node)[:, :3] > 0.0, axis=1))
    if loose.size:
        raise ModelError(
            f"flexible: {loose.size} nodes have no stiffness, such as node {loose[0]}: leave out nodes that belong to "
            "no element, with their rows and columns"
        )
    _check_rigid(el)
    _check_definite(el.mass, "mass", "a motion would have negative kinetic energy")
    _check_definite(el.stiffness, "stiffness", "a displacement would release energy")
    _check_density(el)


def _check_rigid(el: FiniteElements) -> None:
    """Refuse a structure that is held somewhere, or whose nodes are not where the matrix says."""
    force = el.stiffness @ el.rigid
    parts = abs(el.stiffness) @ np.abs(el.rigid)
    for i, motion in enumerate((*(f"moved along {a}" for a in "xyz"), *(f"turned about {a}" for a in "xyz"))):
        excess = np.abs(force[:, i]).max() / parts[:, i].max()
        if excess > RIGID_FORCE:
            row = int(np.argmax(np.abs(force[:, i])))
            remedy = (
                "the matrix has boundary conditions in it: export that of the free structure"
                if i < 3
                else "the nodes are in another order, in other units or elsewhere than those of the matrix"
            )
            raise ModelError(
                f"flexible: {motion} as a rigid body, the structure needs a force at node {row // el.per_node}, "
                f"{excess:.2g} of what holds its parts: {remedy}"
            )


def _check_definite(matrix: SparseMatrix, what: str, why: str) -> None:
    """Refuse a matrix with negative eigenvalues: matrix + a little of its diagonal must have a Cholesky factor."""
    from scipy import sparse

    diagonal = matrix.diagonal()
    if diagonal.max() <= 0.0:
        raise ModelError(f"flexible: {what} has no positive entry on its diagonal. Look for wrong signs")
    scale = 1 / np.sqrt(np.maximum(diagonal, INDEFINITE * diagonal.max()))
    S = sparse.diags_array(scale)
    scaled = (S @ matrix @ S + INDEFINITE * sparse.eye_array(matrix.shape[0])).tocsc()
    if _negative_pivots(scaled):
        raise ModelError(f"flexible: {what} is indefinite: {why}. Look for wrong signs, or rows that belong elsewhere")


def _negative_pivots(matrix: SparseMatrix) -> bool:
    """Tell whether a symmetric matrix has negative eigenvalues, by the signs of its pivots (Sylvester)."""
    from scipy.sparse.linalg import splu

    options = {"diag_pivot_thresh": 0.0, "permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
    try:
        factor = splu(matrix, **options)
    except RuntimeError:
        return True
    return bool(np.any(factor.U.diagonal() <= 0.0)) or not np.array_equal(factor.perm_r, factor.perm_c)


def _check_density(el: FiniteElements) -> None:
    """Refuse masses that no material has in the box around the nodes."""
    box = np.ptp(el.nodes, axis=0)
    if el.total_mass <= 0.0:
        raise ModelError(f"flexible: the mass of the whole is {el.total_mass:.6g} kg: it must be positive")
    if el.per_node == 3 and np.linalg.svd(el.nodes - el.nodes.mean(axis=0), compute_uv=False)[1] < 1e-9 * el.extent:
        raise ModelError("flexible: all nodes are in a line; such a body is a beam, with six freedoms a node")
    if box.min() < 1e-3 * box.max():
        return
    density = el.total_mass / float(np.prod(box))
    if not DENSITIES[0] < density < DENSITIES[1]:
        size = " x ".join(f"{each:.4g}" for each in box)
        raise ModelError(
            f"flexible: {el.total_mass:.6g} kg in a box of {size} m are {density:.4g} kg/m^3, which no "
            f"structure has. {_UNITS}"
        )
