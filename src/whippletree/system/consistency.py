"""States that satisfy the closures: checks, projections, and the motions that the closures allow at a configuration."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import numpy as np

from whippletree.errors import AssemblyError, DynamicsError, StateError
from whippletree.kernels.kernel import Array
from whippletree.system.assembly import Assembler, Mask
from whippletree.system.closure_numbers import ClosureNumbers
from whippletree.system.loop_plan import Conditions, LoopPlan
from whippletree.system.ranks import least_norm
from whippletree.system.sparse_assembly import sparse_least_norm
from whippletree.system.tolerances import (
    ASSEMBLY_RANK,
    CLOSED,
    CONSISTENT,
    HELD,
    OPEN_OVER_ACCURACY,
    SINGULAR_HERE,
    SINGULAR_NEARBY,
)

__all__ = ["ClosureConsistency", "allowed_motions"]


_UNCHECKED = ", or pass check=False"


class ClosureConsistency:
    """Checks of states, and the consistent velocities and accelerations nearest to given ones.

    It knows the closures in numbers, their generic rank, and how far redundant rows may be open; of a `plan` it uses
    nothing but these two, so that its answers are the same under all plans.
    """

    def __init__(self, assembler: Assembler, plan: LoopPlan) -> None:
        self.assembler, self.numbers, self.rank, self.slack = assembler, assembler.numbers, plan.rank, plan.slack
        self.plan = plan

    # ------------------------------------------------------------------ checks

    def check(self, q: Array, v: Array, where: Conditions, otherwise: str = _UNCHECKED) -> None:
        """Refuse a state that does not satisfy the closures; `otherwise` is the remedy beside making it consistent."""
        r = self.numbers.residual(q, *where)
        limit = CONSISTENT + OPEN_OVER_ACCURACY * self.slack
        if np.abs(r).max(initial=0.0) > limit:
            raise StateError(f"{self._open(r)}; make it consistent with q = system.assemble(q){otherwise}")
        G, drift = self.numbers.full_rows(q, *where)
        slip = G @ (v / self.numbers.column_scale) + drift
        if not np.abs(slip).max(initial=0.0) <= limit * (1 + np.abs(v).max(initial=0.0)):
            k = int(np.abs(slip).argmax())
            row = self.numbers.rows[k]
            raise StateError(
                f'the velocities do not satisfy "{row.closure}": its {row.direction} is '
                f"{abs(slip[k]) * self.numbers.row_scale[k]:.3g}{row.rate_unit()} off; make them consistent with "
                f"v = system.consistent_velocities(q, v){otherwise}"
            )

    def check_accelerations(self, q: Array, v: Array, a: Array, where: Conditions) -> None:
        """Refuse accelerations that the closures do not allow."""
        left = self.numbers.second(q, v, a, where)
        worst = np.abs(left).max(initial=0.0)
        limit = CONSISTENT + OPEN_OVER_ACCURACY * self.slack
        if worst > limit * (1 + np.abs(a).max(initial=0.0) + v @ v):
            k = int(np.abs(left).argmax())
            row = self.numbers.rows[k]
            raise StateError(
                f'the accelerations do not satisfy "{row.closure}": its {row.direction} is '
                f"{worst * self.numbers.row_scale[k]:.3g}{row.rate_unit(2)} off; make them consistent with "
                f"a = system.consistent_accelerations(q, v, a){_UNCHECKED}"
            )

    def _open(self, r: Array) -> str:
        k = int(np.abs(r).argmax())
        row = self.numbers.rows[k]
        size = abs(float(r[k] * self.numbers.row_scale[k]))
        loop = self.assembler.loop_in_words(row.closure)
        return f"the state leaves {loop} open: its {row.direction} is {size:.3g}{row.unit} off"

    # ------------------------------------------------------------------ projections

    def velocities(
        self, q: Array, v: Array, where: Conditions, held: Mask | None = None, given: Mask | None = None
    ) -> Array:
        """Return the velocities nearest to `v` that the closures allow at a closed configuration.

        Freedoms that are `held` stay as they are, and those that are `given` if that is possible.
        """
        numbers = self.numbers
        many = numbers.families is not None
        drift = numbers.scaled_blocks(q, *where)[1] if many else numbers.full_rows(q, *where)[1]
        if many and not v.any() and not drift.any():
            return v  # nothing moves by itself
        return self._nearest(q, v, where, drift, held, given, "velocities")

    def accelerations(
        self, q: Array, v: Array, a: Array, where: Conditions, held: Mask | None = None, given: Mask | None = None
    ) -> Array:
        """Return the accelerations nearest to `a` that the closures allow at a consistent state; see `velocities`."""
        bias = self.numbers.second(q, v, np.zeros(self.numbers.plan.nv), where)
        return self._nearest(q, a, where, bias, held, given, "accelerations")

    def _nearest(
        self, q: Array, x: Array, where: Conditions, drift: Array, held: Mask | None, given: Mask | None, what: str
    ) -> Array:
        """Project with the given coordinates held too; if the closures do not allow that, without."""
        none = np.zeros(len(x), dtype=bool)
        held, given = none if held is None else held, none if given is None else given
        if (given & ~held).any():
            with contextlib.suppress(AssemblyError):
                return self._projected(q, x, held | given, where, drift, what)
        return self._projected(q, x, held, where, drift, what)

    def _projected(self, q: Array, v: Array, held: Mask, where: Conditions, drift: Array, what: str) -> Array:
        """Return the velocities or accelerations x nearest to `v` with G x + drift = 0."""
        numbers = self.numbers
        smallest = self.plan.negligible(ASSEMBLY_RANK)
        G: Any
        if numbers.families is not None:
            G, nearest = sparse_least_norm(numbers.scaled_blocks(q, *where)[0], ~held, smallest)
        else:
            G = numbers.full_rows(q, *where)[0]
            nearest = partial(least_norm, G, blocks=numbers.blocks, free=~held, smallest=smallest)
        y = v / numbers.column_scale
        for _ in range(2):  # the second time for the last digits
            y += nearest(-(G @ y + drift))
        left = G @ y + drift
        scale = max(1.0, float(np.abs(y).max(initial=0.0)))
        if float(np.abs(left).max(initial=0.0)) > (CLOSED + OPEN_OVER_ACCURACY * self.slack) * scale:
            k = int(np.abs(left).argmax())
            row = numbers.rows[k]
            off = f"{abs(left[k]) * numbers.row_scale[k]:.3g}{row.rate_unit(1 if what == 'velocities' else 2)}"
            raise AssemblyError(
                f"no {what} with these held satisfy {self.assembler.loop_in_words(row.closure)}: its {row.direction} "
                f"is off by {off}; hold fewer joints, or consistent ones"
            )
        return np.asarray(y * numbers.column_scale)

    # ------------------------------------------------------------------ motions at a configuration

    def near_singular(self, q: Array, where: Conditions) -> bool:
        """Tell whether a configuration is next to one where the closures lose rank."""
        s = np.linalg.svd(self.numbers.full_rows(q, *where)[0], compute_uv=False)
        return bool(self.rank and s[self.rank - 1] < SINGULAR_NEARBY * s[0])

    def motions(self, q: Array, where: Conditions, *, moving: bool = False) -> Array:
        """Return a basis of the velocities that the closures allow, prescribed joints at rest unless `moving`."""
        return allowed_motions(self.numbers, self.rank, q, where, moving=moving)

    def self_stresses(self, q: Array, where: Conditions) -> Array:
        """Return all joint reactions (n_joints, 6, k) that balance by themselves at a configuration.

        By singular values: at a singular configuration there are more of them than elsewhere.
        """
        numbers = self.numbers
        tree = [i for i in range(numbers.plan.nv) if i not in numbers.cut_freedoms]
        C = numbers.tree_rows(q, *where)[:, tree]
        size = np.sqrt(np.einsum("ij,ij->i", C, C))
        smallest = self.plan.negligible(SINGULAR_HERE)
        size = np.where(size > smallest * size.max(initial=0.0), size, 1.0)
        U, s, _ = np.linalg.svd(C / size[:, None])
        rank = int((s > smallest * s.max(initial=0.0)).sum())
        Y = U[:, rank:] / size[:, None]
        S = numbers.static_reactions(q, *where)
        return np.asarray((S @ Y).reshape(len(numbers.description.joints), 6, -1))


def allowed_motions(numbers: ClosureNumbers, rank: int, q: Array, where: Conditions, *, moving: bool = False) -> Array:
    """Return a basis of the velocities that the closures allow, prescribed joints at rest unless `moving`."""
    U, s, Vt = np.linalg.svd(numbers.full_rows(q, *where)[0])
    if rank and s[rank - 1] <= SINGULAR_HERE * s[0]:
        shares = np.abs(U[:, rank - 1])
        loops = dict.fromkeys(row.closure for row, share in zip(numbers.rows, shares, strict=True) if share > HELD)
        names = ", ".join(f'"{name}"' for name in loops)
        raise DynamicsError(
            "the mechanism is singular at this configuration: more motions are possible at first order than it has "
            f"freedoms, in the loop closed by {names}; ask at a state a little to one side"
        )
    prescribed = np.array(numbers.equations.prescribed_mask, dtype=bool)
    N = Vt[rank:].T
    if prescribed.any() and not moving:
        _, s, Vt = np.linalg.svd(N[prescribed])
        N = N @ Vt[int((s > SINGULAR_HERE).sum()) :].T
    return np.asarray(N * numbers.column_scale[:, None])
