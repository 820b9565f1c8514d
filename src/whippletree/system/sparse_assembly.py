"""Assembly and analysis of mechanisms with many loops: the same questions as in `assembly` and `mobility`, by sparse
elimination of one loop after another instead of singular values of all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, overload

import casadi as ca
import numpy as np

from whippletree.formulations.closures.partition import Choice
from whippletree.formulations.nodes.node_tree import NodeTree
from whippletree.formulations.rolled.node_kinds import joint_kind
from whippletree.foundation.arrays import Mask
from whippletree.kernels.kernel import Array
from whippletree.system.closure_numbers import ClosureNumbers
from whippletree.system.elimination import Elimination, eliminate
from whippletree.system.loop_families import Block
from whippletree.system.loop_plan import Conditions, KeptRows
from whippletree.system.tolerances import BODY_INERTIA, CLOSED, ELIMINATED, NEARBY_STEPS, SAMPLE_DISTANCE, ZERO_ROW

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "LazySequence",
    "every_joint_moves_mass",
    "nearby_closed",
    "sparse_least_norm",
    "sparse_newton_step",
    "sparse_partition",
]

Item = TypeVar("Item")


@dataclass(frozen=True)
class LazySequence(Sequence[Item]):
    """A sequence of known length whose items are made when one of them is first asked for.

    >>> squares = LazySequence(3, lambda: (0, 1, 4))
    >>> len(squares), len(squares.made)
    (3, 0)
    >>> squares[2]
    4
    """

    size: int
    make: Callable[[], tuple[Item, ...]]
    made: list[tuple[Item, ...]] = field(default_factory=list)

    def _all(self) -> tuple[Item, ...]:
        if not self.made:
            self.made.append(self.make())
        return self.made[0]

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, at: int | slice) -> Item | tuple[Item, ...]:
        return self._all()[at]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._all())


def sparse_newton_step(
    numbers: ClosureNumbers, q: Array, where: Conditions, r: Array, held: Mask, smallest: float
) -> Array:
    """Return a Newton step (nv, scaled) toward closed loops: `held` freedoms and those without a pivot stay.

    `r` are the residuals of the rows on positions; the others take no part.
    """
    leave = np.flatnonzero(held).tolist()
    blocks, right = numbers.scaled_blocks(q, *where)[0], np.zeros(len(numbers.rows))
    right[numbers.positional] = -r
    if not numbers.positional.all():
        ends = np.cumsum([len(block.rows) for block in blocks])
        masks = np.split(numbers.positional[:, None], ends[:-1])
        blocks = [Block(b.columns, b.rows * mask) for b, mask in zip(blocks, masks, strict=True)]
    found = eliminate(blocks, right, leave=leave, smallest=max(smallest, ELIMINATED))
    return found.solved({}, numbers.plan.nv)


def sparse_least_norm(
    blocks: Sequence[Block], free: Mask, smallest: float
) -> tuple[csr_matrix, Callable[[Array], Array]]:
    """Return the rows of closures as one sparse matrix A, and what finds x of least norm with A x = right.

    x is zero where it is not `free`; rows that depend on others take no part.

    >>> A, nearest = sparse_least_norm([Block(np.array([0, 2]), np.ones((2, 2)))], np.ones(3, dtype=bool), 1e-9)
    >>> nearest(np.array([2.0, 2.0])).round(9)
    array([1., 0., 1.])
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import splu

    found = eliminate(blocks, leave=np.flatnonzero(~free).tolist(), smallest=smallest)
    sizes = [len(block.rows) for block in blocks]
    indices = [np.tile(block.columns, n) for block, n in zip(blocks, sizes, strict=True)]
    ends = np.cumsum([0, *(len(b.columns) for b, n in zip(blocks, sizes, strict=True) for _ in range(n))])
    entries = np.concatenate([np.zeros(0), *(block.rows.ravel() for block in blocks)])
    A = csr_matrix((entries, np.concatenate([np.zeros(0, dtype=int), *indices]), ends), shape=(sum(sizes), len(free)))
    rows = sorted(row for row, _ in found.pivots)
    kept = A[rows].multiply(free).tocsr()
    factors = splu((kept @ kept.T).tocsc()) if rows else None

    def nearest(right: Array) -> Array:
        if factors is None:
            return np.zeros(len(free))
        x = kept.T @ factors.solve(right[rows])
        return np.asarray(x + kept.T @ factors.solve(right[rows] - kept @ x))

    return A, nearest


def nearby_closed(
    numbers: ClosureNumbers,
    found: Elimination,
    q: Array,
    where: Conditions,
    integrate: Callable[[Array, Array], Array],
) -> Array | None:
    """Return a closed configuration near one, or None if there is nowhere to go."""
    nv = numbers.plan.nv
    taken = {column for _, column in found.pivots}
    rng = np.random.default_rng(1)
    free = {j: float(rng.normal()) for j in range(nv) if j not in taken}
    if not free:
        return None
    direction = found.solved(free, nv)
    q = integrate(q, direction * (SAMPLE_DISTANCE / np.abs(direction).max()) * numbers.column_scale)
    none = np.zeros(nv, dtype=bool)
    for _ in range(NEARBY_STEPS):
        r = numbers.residual(q, *where)[numbers.positional]
        if np.abs(r).max() < CLOSED:
            return q
        q = integrate(q, sparse_newton_step(numbers, q, where, r, none, numbers.negligible) * numbers.column_scale)
    return q if np.abs(numbers.residual(q, *where)[numbers.positional]).max() <= numbers.accuracy else None


def sparse_partition(
    numbers: ClosureNumbers, q: Array, where: Conditions, wanted: frozenset[int]
) -> tuple[KeptRows, Choice]:
    """Return the rows to keep of each closure, and the partition; freedoms in `wanted` depend if they can.

    Rows on positions are kept before those on velocities.
    """
    families = numbers.families
    assert families is not None
    blocks = []
    raw = families.tree_rows(q, *where)
    starts = np.cumsum([0, *(len(block.rows) for block in raw)])
    least = max(ZERO_ROW, numbers.negligible)
    for block, start in zip(raw, starts, strict=False):
        row_scale = numbers.tree_row_scale[start : start + len(block.rows), None]
        rows = block.rows / row_scale * numbers.column_scale[block.columns]
        size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        size = np.maximum(size, least * size.max(initial=0.0))
        blocks.append(Block(block.columns, rows / np.where(size > 0, size, 1.0)[:, None]))
    order = sorted(range(len(blocks)), key=lambda c: not numbers.tree_positional[starts[c] : starts[c + 1]].all())
    found = eliminate([blocks[c] for c in order], wanted=wanted, smallest=numbers.negligible)
    places = np.concatenate([np.arange(starts[c], starts[c + 1]) for c in order])
    found.pivots = [(int(places[row]), column) for row, column in found.pivots]
    keep: list[list[int]] = [[] for _ in blocks]
    kept_rows: list[int] = sorted(row for row, _ in found.pivots)
    for row in kept_rows:
        c = int(np.searchsorted(starts, row, side="right")) - 1
        keep[c].append(row - int(starts[c]))
    rank = {row: k for k, row in enumerate(kept_rows)}
    taken = numbers.cut_freedoms | {column for _, column in found.pivots}
    independent = tuple(i for i in range(numbers.plan.nv) if i not in taken)
    return tuple(map(tuple, keep)), Choice(independent, tuple((rank[r], j) for r, j in found.pivots))


def every_joint_moves_mass(node_tree: NodeTree) -> bool:
    """Tell whether every joint moves inertia of its own body in all its directions: the tree is regular then.

    That is enough, but not necessary: a joint may move the inertia of bodies farther out.
    """
    maps: dict[Hashable, Array | None] = {}
    for constants in node_tree.node_constants:
        name = joint_kind(constants.joint)
        if name not in maps:
            traced = constants.joint.joint_map(constants.joint.configuration(ca.SX.sym("q", constants.joint.nq)))
            maps[name] = np.array(ca.DM(traced)) if traced.is_constant() else None
        H = maps[name]
        if H is None or not all(isinstance(x, float) for x in constants.inertia):
            return False
        m, hx, hy, hz, xx, xy, yy, xz, yz, zz = constants.inertia
        h = np.array([[0.0, -hz, hy], [hz, 0.0, -hx], [-hy, hx, 0.0]])
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        D = H.T @ np.block([[J, h], [h.T, m * np.eye(3)]]) @ H
        if np.linalg.eigvalsh(D)[0] <= BODY_INERTIA * (np.trace(J) + 3 * m):
            return False
    return True
