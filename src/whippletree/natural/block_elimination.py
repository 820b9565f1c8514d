"""A sparse matrix of 3 x 3 blocks, eliminated and solved by loops over blocks; symmetric and positive, or general.

Nothing is pivoted. Blocks are eliminated in an order of little fill (`minimum_degree` on the elements, since the three
coordinates of an element are coupled alike). With k the block that is eliminated, and i, j later ones,

    K_kk = L_kk D_k L_kk^T,     U_ik = K_ik L_kk^-T,     L_ik = U_ik D_k^-1,     K_ij -= U_ik L_jk^T
    K_kk = L_kk U_kk,     L_ik = K_ik U_kk^-1,     U_kj = L_kk^-1 K_kj,     K_ij -= L_ik U_kj

Every step is the same small function on other blocks, so that code and compile time do not grow with the matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import casadi as ca

from whippletree.programs.loop_program import ItemLoop, StepFunction
from whippletree.programs.step_tables import Bound, LoopTable, Numbers, WorkMemory, step_function
from whippletree.symbolic.sparse_factors import minimum_degree

__all__ = ["BlockMatrix"]

_BLOCK = 9
"""Numbers of a block: three unknowns by three."""


def _lower(A: ca.SX) -> ca.SX:
    """Return the symmetric matrix of which the lower half is given."""
    return ca.tril(A) + ca.tril(A, False).T


class BlockMatrix:
    """Where the blocks of K are, and the loops that factor it and solve with it.

    `pairs` are the pairs of blocks that are coupled. A block (i, j) stands at `block(i, j)`. If the matrix is
    symmetric, those are read in which i is not eliminated before j, and of those on the diagonal the lower half.
    """

    def __init__(self, size: int, pairs: Iterable[tuple[int, int]], memory: WorkMemory) -> None:
        pairs = list(pairs)
        self.order = minimum_degree(pairs, list(range(size)))
        self.rank = {k: place for place, k in enumerate(self.order)}
        below: dict[int, set[int]] = {k: set() for k in range(size)}
        for i, j in pairs:
            if i != j:
                below[min(i, j, key=self.rank.__getitem__)].add(max(i, j, key=self.rank.__getitem__))
        for k in self.order:
            later = sorted(below[k], key=self.rank.__getitem__)
            if later:
                below[later[0]] |= set(later[1:])
        self.below = {k: sorted(below[k], key=self.rank.__getitem__) for k in self.order}
        places = [(k, k) for k in self.order] + [(i, k) for k in self.order for i in self.below[k]]
        places += [(k, i) for k in self.order for i in self.below[k]]
        self._place = {place: _BLOCK * n for n, place in enumerate(places)}
        self.blocks = memory.take(_BLOCK * len(places))
        self._scaled = memory.take(_BLOCK * max((len(one) for one in self.below.values()), default=0))

    @property
    def places(self) -> dict[tuple[int, int], int]:
        """Where each block begins among the blocks."""
        return self._place

    def block(self, i: int, j: int) -> int:
        """Return where a block begins."""
        return self._place[i, j]

    # ------------------------------------------------------------------ loops

    def factored(self, symmetric: bool) -> ItemLoop:
        """Return the loop that puts the factors in the place of the matrix, one over its pivots on the diagonal."""
        return self._factored_symmetric() if symmetric else self._factored_general()

    def _factored_general(self) -> ItemLoop:
        A, B, C = (ca.SX.sym(name, 3, 3) for name in "ABC")
        table, at = LoopTable(), [self._at(column) for column in range(4)]
        diagonal = partial(step_function, [(A, at[1])], [(_lu_factors(A), at[1])])
        both: list[Bound] = [(A, at[1]), (B, at[2])]
        column = partial(step_function, both, [(_upper_solved(B.T, A.T, transposed=True).T, at[1])])
        row = partial(step_function, both, [(_forward(B, A), at[1])])
        update = partial(step_function, [*both, (C, at[3])], [(A - B @ C, at[1])])
        for k in self.order:
            own, later = self.block(k, k), self.below[k]
            table.add("diagonal", diagonal, (own,))
            for i in later:
                table.add("column", column, (self.block(i, k), own))
                table.add("row", row, (self.block(k, i), own))
            for i in later:
                for j in later:
                    table.add("update", update, (self.block(i, j), self.block(i, k), self.block(k, j)))
        return table.loop()

    def _factored_symmetric(self) -> ItemLoop:
        A, B, C = (ca.SX.sym(name, 3, 3) for name in "ABC")
        table = LoopTable()

        def diagonal() -> StepFunction:
            factors = _unit_factors(_lower(A))
            return step_function([(A, self._at(1))], [(factors, self._at(1))])

        def column() -> StepFunction:
            U = _forward(B, A.T).T
            L = ca.horzcat(*(U[:, c] * B[c, c] for c in range(3)))
            return step_function([(A, self._at(1)), (B, self._at(2))], [(L, self._at(1)), (U, self._scaled.by(3, 9))])

        def update() -> StepFunction:
            given = [(A, self._at(1)), (B, self._scaled.by(2, 9)), (C, self._at(3))]
            return step_function(given, [(A - B @ C.T, self._at(1))])

        for k in self.order:
            own, later = self.block(k, k), self.below[k]
            table.add("diagonal", diagonal, (own,))
            for n, i in enumerate(later):
                table.add("column", column, (self.block(i, k), own, _BLOCK * n))
            for m, j in enumerate(later):
                for n, i in enumerate(later[m:], m):
                    table.add("update", update, (self.block(i, j), _BLOCK * n, self.block(j, k)))
        return table.loop()

    def solved(self, vector: Numbers, symmetric: bool) -> list[ItemLoop]:
        """Return the loops that put the solution in the place of the right-hand side, three numbers a block."""
        x, y, L = ca.SX.sym("x", 3), ca.SX.sym("y", 3), ca.SX.sym("L", 3, 3)
        at, other, factors = vector.by(1, 3), vector.by(2, 3), self._at(3)
        forward, backward = LoopTable(), LoopTable()
        for k in self.order:
            own = self.block(k, k)
            forward.add("own", lambda: step_function([(x, at), (L, factors)], [(_forward(L, x), at)]), (3 * k, 0, own))
            for i in self.below[k]:
                row = (3 * i, 3 * k, self.block(i, k))
                given = [(x, at), (y, other), (L, factors)]
                forward.add("later", partial(step_function, given, [(x - L @ y, at)]), row)
        own_given: list[Bound] = [(x, at), (L, factors)]
        other_given: list[Bound] = [*own_given, (y, other)]
        for k in reversed(self.order):
            at_k = (3 * k, 0, self.block(k, k))
            if symmetric:
                backward.add("scaled", partial(step_function, own_given, [(x * ca.diag(L), at)]), at_k)
            for i in self.below[k]:
                row = (3 * k, 3 * i, self.block(i, k) if symmetric else self.block(k, i))
                taken = x - (L.T if symmetric else L) @ y
                backward.add("later", partial(step_function, other_given, [(taken, at)]), row)
            found = _backward(L, x) if symmetric else _upper_solved(L, x)
            backward.add("own", partial(step_function, own_given, [(found, at)]), at_k)
        return [forward.loop(), backward.loop()]

    def _at(self, column: int) -> Numbers:
        return self.blocks.by(column, _BLOCK)


def _unit_factors(A: ca.SX) -> ca.SX:
    """Return the factors of a 3 x 3 matrix in one: the unit triangle below the diagonal, one over the pivots on it."""
    r1 = 1 / A[0, 0]
    l21, l31 = A[1, 0] * r1, A[2, 0] * r1
    r2 = 1 / (A[1, 1] - l21 * A[1, 0])
    u32 = A[2, 1] - l31 * A[1, 0]
    l32 = u32 * r2
    r3 = 1 / (A[2, 2] - l31 * A[2, 0] - l32 * u32)
    found = ca.SX.zeros(3, 3)
    found[0, 0], found[1, 1], found[2, 2] = r1, r2, r3
    found[1, 0], found[2, 0], found[2, 1] = l21, l31, l32
    return ca.densify(found)


def _lu_factors(A: ca.SX) -> ca.SX:
    """Return L and U of a 3 x 3 matrix in one: the unit triangle below the diagonal, one over the pivots on it."""
    F = ca.SX(A)
    for k in range(3):
        F[k, k] = 1 / F[k, k]
        for i in range(k + 1, 3):
            F[i, k] = F[i, k] * F[k, k]
            for j in range(k + 1, 3):
                F[i, j] = F[i, j] - F[i, k] * F[k, j]
    return F


def _upper_solved(F: ca.SX, b: ca.SX, *, transposed: bool = False) -> ca.SX:
    """Return U^-1 b with U in the factors; or of the triangle F below its diagonal, if U^T is given as factors."""
    rows: dict[int, ca.SX] = {}
    order = range(3) if transposed else range(2, -1, -1)
    for i in order:
        rows[i] = F[i, i] * (b[i, :] - sum((F[i, j] * rows[j] for j in rows), ca.SX.zeros(1, b.shape[1])))
    return ca.SX(ca.vertcat(*(rows[i] for i in range(3))))


def _forward(L: ca.SX, b: ca.SX) -> ca.SX:
    """Return L^-1 b with the unit triangle L."""
    first = b[0, :]
    second = b[1, :] - L[1, 0] * first
    third = b[2, :] - L[2, 0] * first - L[2, 1] * second
    return ca.SX(ca.vertcat(first, second, third))


def _backward(L: ca.SX, b: ca.SX) -> ca.SX:
    """Return L^-T b with the unit triangle L."""
    third = b[2, :]
    second = b[1, :] - L[2, 1] * third
    first = b[0, :] - L[1, 0] * second - L[2, 0] * third
    return ca.SX(ca.vertcat(first, second, third))
