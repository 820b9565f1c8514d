"""One step toward closed loops from any configuration: of least displacement, with some freedoms held.

All rows of all closures are asked for, on the velocities of all joints, so that nothing depends on where a loop is cut.
With G those rows, r how far they are open, and S the squares of what displacements are measured by, zero for freedoms
that are held, the displacement

    u = -S G^T y,        (G S G^T + mu) y = r                                                                  (1)

closes the loops to first order as nearly as the free freedoms can. The small number mu leaves rows alone that follow
from others, and rows that no free freedom moves: a trace cannot choose among them. It makes the step too short by the
share mu / (s^2 + mu) along a singular value s; solving for what is left takes the same share off that error,

    y := y + (G S G^T + mu)^-1 (r - G S G^T y),                                                                (2)

so that after two corrections singular values above ten roots of mu count in full, and those below a tenth of it hardly.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_results import full_rows
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.symbolic.sparse_factors import add_to, factor_symmetric, minimum_degree

__all__ = ["CLOSING_DAMPING", "closing_step"]

Row = dict[int, ca.SX]

CLOSING_DAMPING = 1e-8
"""mu in (1), for rows and displacements in radians and characteristic lengths: singular values of a regular mechanism
are above its root, those that errors of the data make are below (`DATA_ACCURACY`)."""

_CORRECTIONS = 2
"""How often (2) is done."""


def closing_step(
    walk: Unrolled, closure_set: ClosureSet, gaps: Sequence[ca.SX | None], scale: Sequence[ca.SX], size: Sequence[float]
) -> ca.SX:
    """Return the displacement (nv) of (1).

    `gaps` are the residuals of the full rows, scaled, None for rows that are left out, being about velocities; `scale`
    (nv) is what displacements are measured by, zero for freedoms that are held; `size` is what rows are divided by.
    """
    rows: list[Row] = []
    right: dict[int, ca.SX] = {}
    for row, gap, length in zip(full_rows(walk, closure_set)[0], gaps, size, strict=True):
        if gap is not None:
            right[len(rows)] = gap
            rows.append({j: entry * scale[j] / length for j, entry in row.items()})
    gram = _gram(rows)
    factor = factor_symmetric(gram, minimum_degree(gram, range(len(rows))))
    y = factor.solve(right)
    for _ in range(_CORRECTIONS):
        moved = _back(rows, y)
        left = {r: right[r] - sum((x * moved[j] for j, x in row.items()), ca.SX(0)) for r, row in enumerate(rows)}
        y = {r: y[r] + more for r, more in factor.solve(left).items()}
    u = ca.densify(ca.SX(walk.nv, 1))
    for j, value in _back(rows, y).items():
        u[j] = -scale[j] * value
    return u


def _gram(rows: Sequence[Row]) -> dict[tuple[int, int], ca.SX]:
    """Return the entries of G S G^T + mu on and below the diagonal."""
    by_freedom: dict[int, list[tuple[int, ca.SX]]] = {}
    gram: dict[tuple[int, int], ca.SX] = {(r, r): ca.SX(CLOSING_DAMPING) for r in range(len(rows))}
    for r, row in enumerate(rows):
        for j, entry in row.items():
            by_freedom.setdefault(j, []).append((r, entry))
    for _, column in sorted(by_freedom.items()):
        for n, (r, entry) in enumerate(column):
            for other, x in column[: n + 1]:
                add_to(gram, (r, other), entry * x)
    return gram


def _back(rows: Sequence[Row], y: dict[int, ca.SX]) -> Row:
    """Return the rows' combination with factors y, by freedom."""
    total: Row = {}
    for r, value in sorted(y.items()):
        for j, entry in rows[r].items():
            add_to(total, j, entry * value)
    return total
