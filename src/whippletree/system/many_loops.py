"""Assembly and analysis of mechanisms with many loops: the same questions as in `assembly` and `mobility`, sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import casadi as ca
import numpy as np

from whippletree.formulations.closures.partition import Choice
from whippletree.formulations.nodes.node_tree import NodeTree
from whippletree.formulations.rolled.node_kinds import joint_kind
from whippletree.kernels.kernel import Array
from whippletree.system.closures import ClosureNumbers
from whippletree.system.elimination import Elimination, eliminate
from whippletree.system.loop_kinds import Block

__all__ = ["Later", "decide_many", "every_joint_moves_mass", "moved_little", "scaled_blocks", "step_closed"]

_AWAY = 0.1  # radians or characteristic lengths
_STEPS = 12


@dataclass(frozen=True)
class Later(Sequence[Any]):
    """A sequence whose items are made when somebody looks at them."""

    size: int
    make: Callable[[], tuple[Any, ...]]
    made: list[tuple[Any, ...]] = field(default_factory=list)

    def _all(self) -> tuple[Any, ...]:
        if not self.made:
            self.made.append(self.make())
        return self.made[0]

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> Any: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Any, ...]: ...

    def __getitem__(self, at: Any) -> Any:
        return self._all()[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all())


def scaled_blocks(numbers: ClosureNumbers, q: Array) -> list[Block]:
    """Return the full rows, lengths over the characteristic length."""
    kinds = numbers.kinds
    assert kinds is not None
    row_scale = numbers.row_scale[:6, None]
    return [Block(b.columns, b.rows / row_scale * numbers.column_scale[b.columns]) for b in kinds.full_rows(q)]


def step_closed(numbers: ClosureNumbers, q: Array, r: Array, held: Any) -> Array:
    """Return a Newton step (nv, scaled) toward closed loops: joints without a pivot stay."""
    found = eliminate(scaled_blocks(numbers, q), -r, leave=np.flatnonzero(held).tolist())
    return found.solved({}, numbers.plan.nv)


def moved_little(
    numbers: ClosureNumbers, found: Elimination, q: Array, integrate: Callable[[Array, Array], Array]
) -> Array | None:
    """Return a closed configuration near one, or None if there is nowhere to go."""
    nv = numbers.plan.nv
    taken = {column for _, column in found.pivots}
    rng = np.random.default_rng(1)
    free = {j: float(rng.normal()) for j in range(nv) if j not in taken}
    if not free:
        return None
    direction = found.solved(free, nv)
    q = integrate(q, direction * (_AWAY / np.abs(direction).max()) * numbers.column_scale)
    none = np.zeros(nv, dtype=bool)
    for _ in range(_STEPS):
        r = numbers.residual(q, 0.0, np.zeros(0))
        if np.abs(r).max() < 1e-10:
            return q
        q = integrate(q, step_closed(numbers, q, r, none) * numbers.column_scale)
    return None


def decide_many(numbers: ClosureNumbers, q: Array, wanted: frozenset[int]) -> tuple[Any, Choice]:
    """Return the rows to keep of each closure, the independent freedoms and the pivots."""
    kinds = numbers.kinds
    assert kinds is not None
    blocks = []
    for block in kinds.tree_rows(q):
        rows = block.rows * numbers.column_scale[block.columns]
        size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        size = np.maximum(size, 1e-6 * size.max(initial=0.0))
        blocks.append(Block(block.columns, rows / np.where(size > 0, size, 1.0)[:, None]))
    found = eliminate(blocks, wanted=wanted)
    starts = np.cumsum([0, *(len(block.rows) for block in blocks)])
    keep: list[list[int]] = [[] for _ in blocks]
    kept_rows: list[int] = sorted(row for row, _ in found.pivots)
    for row in kept_rows:
        c = int(np.searchsorted(starts, row, side="right")) - 1
        keep[c].append(row - int(starts[c]))
    rank = {row: k for k, row in enumerate(kept_rows)}
    cut = {i for c in numbers.closure_set.attachments.cuts for i in range(c.v.start, c.v.stop)}
    dependent = {column for _, column in found.pivots}
    independent = tuple(i for i in range(numbers.plan.nv) if i not in cut and i not in dependent)
    return tuple(map(tuple, keep)), Choice(independent, tuple((rank[r], j) for r, j in found.pivots))


def every_joint_moves_mass(node_tree: NodeTree) -> bool:
    """Tell whether every joint moves inertia of its own body in all its directions: the tree is regular then.

    That is enough, but not necessary: a joint may move the inertia of bodies farther out.
    """
    maps: dict[Any, Any] = {}
    for constants in node_tree.node_constants:
        name = joint_kind(constants.joint)
        if name not in maps:
            H = constants.joint.joint_map(constants.joint.configuration(ca.SX.sym("q", constants.joint.nq)))
            maps[name] = np.array(ca.DM(H)) if H.is_constant() else None
        H = maps[name]
        if H is None or not all(isinstance(x, float) for x in constants.inertia):
            return False
        m, hx, hy, hz, xx, xy, yy, xz, yz, zz = constants.inertia
        h = np.array([[0.0, -hz, hy], [hz, 0.0, -hx], [-hy, hx, 0.0]])
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        D = H.T @ np.block([[J, h], [h.T, m * np.eye(3)]]) @ H
        if np.linalg.eigvalsh(D)[0] <= 1e-9 * (np.trace(J) + 3 * m):
            return False
    return True
