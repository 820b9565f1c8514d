"""From many nodal freedoms to a few modal coordinates: d = V eta.

Given are stiffness K and mass M of a free structure, six conditions C d = 0 that tie the body frame to it, and for each
interface the map W (6, m) from the freedoms to its small motion [translation; rotation]. All vectors of the basis
satisfy the conditions. It is made of

    eigenmodes          K v = omega^2 M v, with the interfaces free, or held (Craig and Bampton's),
    static modes        K v = W^T f for unit forces and moments f at interfaces,

where both equations hold for virtual displacements within the conditions: with C = R^T M, R the rigid motions, that is
the equilibrium of the accelerated free body ("inertia relief"). The basis is then made orthogonal: V^T M V = 1, and
V^T K V holds the squares of its frequencies.

Freedoms that do not couple (the two bending planes, extension and torsion of a straight beam) are solved apart, so that
modes of equal frequency do not mix, and zeros are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import Array, SparseMatrix
from whippletree.flexible_bodies.flexible_tolerances import DENSE, DEPENDENT, FEW, SAME_FREQUENCY, TAKEN_UP

__all__ = ["ModeChoice", "Structure", "reduced_basis"]


@dataclass(frozen=True)
class Structure:
    """A free structure with its conditions (6, m) and the small motions (6, m) of interfaces, by name.

    K and M are arrays or SciPy's sparse arrays.
    """

    stiffness: SparseMatrix
    mass: SparseMatrix
    conditions: SparseMatrix
    interfaces: dict[str, SparseMatrix]

    @property
    def size(self) -> int:
        """The number of freedoms."""
        return int(self.stiffness.shape[0])


@dataclass(frozen=True)
class ModeChoice:
    """Which modes are wanted: so many, or those up to a frequency in Hz, or with neither all of them.

    `static` names interfaces that get static modes for unit loads, and `held` those that are held in the eigenmodes.
    """

    count: int | None
    highest: float | None
    static: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


def reduced_basis(structure: Structure, choice: ModeChoice) -> tuple[Array, Array]:
    """Return the basis V (m, n) and its frequencies in rad/s (n,), ascending."""
    blocks = _blocks(structure, choice)
    chosen = _chosen([block.eigenmodes(choice) for block in blocks], choice)
    parts = []
    for block, modes in zip(blocks, chosen, strict=True):
        vectors, frequencies = block.orthogonal(np.hstack([modes, block.static(choice.static)]))
        whole = np.zeros((structure.size, len(frequencies)))
        whole[block.freedoms] = vectors
        parts.append((whole, frequencies))
    V, omega = np.hstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    order = _ascending(omega)
    return _signed(V[:, order]), omega[order]


def _ascending(omega: Array) -> Any:
    """Return the order of frequencies, in which equal ones keep their places."""
    with np.errstate(divide="ignore"):
        return np.argsort(np.round(np.log(omega) / SAME_FREQUENCY), kind="stable")


def _signed(V: Array) -> Array:
    """Return vectors whose largest entry is positive; of several as large the first."""
    size = np.abs(V)
    first = np.argmax(size > size.max(axis=0) * (1 - 1e-6), axis=0)
    return np.asarray(V * np.sign(V[first, np.arange(V.shape[1])]))


def _chosen(found: Sequence[tuple[Array, Array]], choice: ModeChoice) -> list[Array]:
    """Return of each block the modes that are among the lowest, or below the highest frequency wanted."""
    omega = np.concatenate([part[1] for part in found])
    if choice.highest is not None:
        wanted = omega <= 2 * np.pi * choice.highest
        if not wanted.any() and not choice.static:
            raise ModelError(
                f"highest_frequency: there is no mode up to {choice.highest:g} Hz; the lowest has "
                f"{omega.min(initial=np.inf) / (2 * np.pi):.6g} Hz"
            )
    else:
        count = len(omega) if choice.count is None else choice.count
        if count > len(omega):
            there = f"there are only {len(omega)}: ask for at most these"
            if not len(omega):
                there = "there is none: interfaces or the frame hold all that has mass; ask for modes=0, or for others"
            raise ModelError(f"modes: {count} are asked for, but {there}")
        wanted = np.zeros(len(omega), dtype=bool)
        wanted[_ascending(omega)[:count]] = True
    starts = np.cumsum([0, *(len(part[1]) for part in found)])
    return [part[0][:, wanted[a:b]] for part, a, b in zip(found, starts, starts[1:], strict=False)]


# ------------------------------------------------------------------------------------------------ blocks


def _blocks(structure: Structure, choice: ModeChoice) -> list[_FreedomBlock]:
    """Return the parts of a structure that do not couple."""
    from scipy import sparse

    K, M, C = (sparse.csr_array(each) for each in (structure.stiffness, structure.mass, structure.conditions))
    maps = {name: sparse.csr_array(W) for name, W in structure.interfaces.items()}
    held = [maps[name] for name in choice.held]
    rows = abs(sparse.vstack([C, *held]))
    pattern = abs(K) + abs(M) + rows.T @ rows
    count, labels = sparse.csgraph.connected_components(pattern, directed=False)
    limit = DENSE if choice.count is None and choice.highest is None else FEW
    parts = [np.flatnonzero(labels == i) for i in range(count)]
    return [(_DenseBlock if len(part) <= limit else _SparseBlock)(part, K, M, C, maps) for part in parts]


class _FreedomBlock:
    """Freedoms that couple with each other and with no others."""

    def __init__(
        self, freedoms: Any, K: SparseMatrix, M: SparseMatrix, C: SparseMatrix, maps: dict[str, SparseMatrix]
    ) -> None:
        self.freedoms = freedoms
        self.K, self.M = (each[freedoms][:, freedoms] for each in (K, M))
        self.C = C[:, freedoms].toarray()
        self.maps = {name: W[:, freedoms].toarray() for name, W in maps.items()}

    def eigenmodes(self, choice: ModeChoice) -> tuple[Array, Array]:
        """Return modes and frequencies, at least those that may be among the chosen ones."""
        raise NotImplementedError

    def solve(self, loads: Array) -> Array:
        """Return the static displacements under loads, within the conditions."""
        raise NotImplementedError

    def static(self, names: Sequence[str]) -> Array:
        """Return the displacements under unit loads at interfaces, without loads that the conditions take up."""
        if not names:
            return np.zeros((len(self.freedoms), 0))
        loads = np.vstack([self.maps[name] for name in names]).T
        loads = loads[:, np.any(loads, axis=0)]
        held = _independent(self.C).T
        left = loads - held @ np.linalg.lstsq(held, loads, rcond=None)[0]
        return self.solve(loads[:, np.linalg.norm(left, axis=0) > TAKEN_UP * np.linalg.norm(loads, axis=0)])

    def orthogonal(self, vectors: Array) -> tuple[Array, Array]:
        """Return the modes in the span of vectors, and their frequencies."""
        from scipy.linalg import eigh

        energy = np.einsum("ij,ij->j", vectors, self.K @ vectors)
        vectors = vectors[:, energy > 0] / np.sqrt(energy[energy > 0])
        if not vectors.shape[1]:
            return vectors, np.zeros(0)
        shares, Q = np.linalg.eigh(_symmetric(vectors.T @ (self.K @ vectors)))
        kept = shares > DEPENDENT * shares[-1]
        vectors = vectors @ (Q[:, kept] / np.sqrt(shares[kept]))
        periods, Q = eigh(_symmetric(vectors.T @ (self.M @ vectors)))
        if periods[0] <= 0.0:
            raise ModelError(
                "mass: a displacement with strain energy has no mass: some nodes have none, give them some"
            )
        vectors = vectors @ (Q / np.sqrt(periods))
        return vectors, 1 / np.sqrt(periods)


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2


class _DenseBlock(_FreedomBlock):
    """A block whose displacements within the conditions are written out: d = Z y."""

    def eigenmodes(self, choice: ModeChoice) -> tuple[Array, Array]:
        """Return all modes; solved for 1 / omega^2, so that the low frequencies are as exact as they can be."""
        from scipy.linalg import eigh

        rows = np.vstack([self.C, *(self.maps[name] for name in choice.held)])
        Z = _null_space(rows)
        if not Z.shape[1]:
            return Z, np.zeros(0)
        K, M = (_symmetric(Z.T @ (each @ Z)) for each in (self.K, self.M))
        scale = 1 / np.sqrt(np.maximum(np.diag(K), 1e-300))
        K, M = scale[:, None] * K * scale, scale[:, None] * M * scale
        try:
            squares, y = eigh(M, K)
        except np.linalg.LinAlgError:
            raise ModelError(_SINGULAR) from None
        squares, y = squares[::-1], y[:, ::-1]
        massless = squares <= 0.0
        if massless.any():
            squares, y = squares[~massless], y[:, ~massless]
        return Z @ (scale[:, None] * y), 1 / np.sqrt(squares)

    def solve(self, loads: Array) -> Array:
        """Return the static displacements under loads, within the conditions."""
        from scipy.linalg import cho_factor, cho_solve

        Z = _null_space(self.C)
        if not Z.shape[1]:
            return np.zeros(loads.shape)
        K = _symmetric(Z.T @ (self.K @ Z))
        scale = 1 / np.sqrt(np.maximum(np.diag(K), 1e-300))
        try:
            factor = cho_factor(scale[:, None] * K * scale)
        except np.linalg.LinAlgError:
            raise ModelError(_SINGULAR) from None
        return np.asarray(Z @ (scale[:, None] * cho_solve(factor, scale[:, None] * (Z.T @ loads))))


_SINGULAR = (
    "stiffness: the structure can move without strain while its frame is held, so that it is no one body: look for "
    "nodes without elements, parts that hang together in too few nodes, or a negative stiffness"
)


def _null_space(rows: Array) -> Array:
    """Return vectors (m, m - rank) that satisfy rows @ d = 0; where a row is one freedom, that freedom is left out."""
    single = np.count_nonzero(rows, axis=1) == 1
    gone = np.any(rows[single] != 0.0, axis=0)
    kept = np.flatnonzero(~gone)
    left = rows[~single][:, kept]
    left = left[np.any(left, axis=1)]
    identity = np.eye(rows.shape[1])[:, kept]
    if not len(left):
        return identity
    left = left / np.linalg.norm(left, axis=1, keepdims=True)
    size = np.sqrt(np.einsum("ij,ij->j", left, left))
    scale = 1 / np.maximum(size, size.max() * 1e-3)  # rows in metres and radians
    _, s, Vt = np.linalg.svd(left * scale)
    rank = int(np.sum(s > s[0] * 1e-10))
    return np.asarray(identity @ (scale[:, None] * Vt[rank:].T))


def _independent(rows: Array) -> Array:
    """Return independent ones among rows, each of length one."""
    from scipy.linalg import qr

    rows = rows[np.any(rows, axis=1)]
    if not len(rows):
        return rows
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, R, order = qr(rows.T, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    return np.asarray(rows[order[: int(np.sum(size > size[0] * 1e-8))]])


class _SparseBlock(_FreedomBlock):
    """A large block, solved together with its conditions: [[K, C^T], [C, 0]]."""

    def __init__(
        self, freedoms: Any, K: SparseMatrix, M: SparseMatrix, C: SparseMatrix, maps: dict[str, SparseMatrix]
    ) -> None:
        super().__init__(freedoms, K, M, C, maps)
        self._unit = float(np.mean(np.abs(self.K.diagonal())))

    def _factor(self, rows: Array) -> Any:
        from scipy import sparse
        from scipy.sparse.linalg import splu

        C = sparse.csr_array(_independent(rows) * self._unit)
        try:
            return splu(sparse.block_array([[self.K, C.T], [C, None]], format="csc"))
        except RuntimeError:
            raise ModelError(_SINGULAR) from None

    def _solution(self, factor: Any, loads: Array) -> Array:
        extra = factor.shape[0] - len(self.freedoms)
        whole = np.vstack([loads, np.zeros((extra, loads.shape[1]))])
        return np.asarray(factor.solve(whole)[: len(self.freedoms)])

    def solve(self, loads: Array) -> Array:
        """Return the static displacements under loads, within the conditions."""
        return self._solution(self._factor(self.C), loads)

    def eigenmodes(self, choice: ModeChoice) -> tuple[Array, Array]:
        """Return the lowest modes, by Lanczos's method."""
        if choice.count == 0:
            return np.zeros((len(self.freedoms), 0)), np.zeros(0)
        factor = self._factor(np.vstack([self.C, *(self.maps[name] for name in choice.held)]))
        m = len(self.freedoms)
        if choice.count is None and choice.highest is None:
            raise ModelError(f"modes: with {m} freedoms not all can be kept: give a number or highest_frequency")
        count = 20 if choice.count is None else min(choice.count, m - 10)
        while True:
            modes, omega = self._lowest(factor, count)
            if choice.highest is None or omega[-1] > 2 * np.pi * choice.highest or count > m // 2:
                return modes, omega
            count *= 2

    def _lowest(self, factor: Any, count: int) -> tuple[Array, Array]:
        from scipy.sparse.linalg import LinearOperator, eigsh

        m = len(self.freedoms)
        inverse = LinearOperator((m, m), matvec=lambda f: self._solution(factor, np.reshape(f, (m, 1)))[:, 0])
        start = self._solution(factor, np.ones((m, 1)))[:, 0]
        squares, modes = eigsh(self.K, k=count, M=self.M, sigma=0.0, OPinv=inverse, v0=start)
        order = np.argsort(squares)
        if squares[order[0]] <= 0.0:
            raise ModelError(_SINGULAR)
        return modes[:, order], np.sqrt(squares[order])
