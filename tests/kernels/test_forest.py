"""Solving along the branches of a forest, against LAPACK on the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from support.sampling import rest
from support.systems import run_many, run_one, same_bits
from whippletree.kernels.entry import Signature
from whippletree.kernels.kernel import Kernel, NotFiniteError
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.programs.loop_program import ForestSolve, LoopProgram


def forest(n: int, shape: str, rng: np.random.Generator) -> list[int]:
    """Return what is above each unknown: one chain, a star, single ones, or at random with several roots."""
    if shape == "chain":
        return [*range(-1, n - 1)]
    if shape == "star":
        return [-1] + [0] * (n - 1)
    if shape == "apart":
        return [-1] * n
    return [int(rng.integers(-1, i)) for i in range(n)]


def ways(above: list[int]) -> list[list[int]]:
    """Return each unknown with all that is above it, the highest first."""
    found: list[list[int]] = []
    for i, up in enumerate(above):
        found.append([*(found[up] if up >= 0 else []), i])
    return found


def solver(above: list[int], places: list[int], order: int, gap: int = 0, least: tuple[float, ...] = ()) -> Kernel:
    """Return the kernel for a forest whose unknowns stand at some of a vector's places."""
    rows, begin = [], 0
    for i, way in enumerate(ways(above)):
        rows.append((places[i], above[i], len(way) - 1, begin))
        begin += len(way) + gap
    solve = ForestSolve(tuple(rows), given=(0, 1), order=order, least=least)
    program = LoopProgram((solve,), begin, (), ((0, order),))
    signature = Signature((("matrix", order**2), ("right", order)), (("solution", order),), (order,))
    return Kernel("test", signature, lambda: RolledLoops(program), None)


def systems(above: list[int], places: list[int], order: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return positive definite matrices with entries between unknowns that are above each other, and ones elsewhere.

    M = L^T L has just these entries if L has.
    """
    n = len(above)
    lower = np.zeros((count, n, n))
    for i, way in enumerate(ways(above)):
        lower[:, i, way] = rng.uniform(-1, 1, (count, len(way)))
        lower[:, i, i] = rng.uniform(1, 2, count)
    whole = np.full((count, order, order), 1.0)
    whole[:, np.array(places)[:, None], places] = lower.transpose(0, 2, 1) @ lower
    return whole


@pytest.mark.parametrize("shape", ["chain", "star", "apart", "random", "another"])
@pytest.mark.parametrize("n", [2, 9, *rest([1, 7, 8, 31])])
def test_solutions_are_those_of_the_whole_matrix(n, shape):
    rng = np.random.default_rng(100 * n + len(shape))
    above, order = forest(n, shape, rng), n + 3
    places = rng.permutation(order)[:n].tolist()  # in any order, and not all of them
    matrix, right = systems(above, places, order, 13, rng), rng.uniform(-1, 1, (13, order))
    inner = matrix[:, np.array(places)[:, None], places]
    assert np.count_nonzero(inner[0]) == 2 * sum(map(len, ways(above))) - n
    expected = np.zeros((13, order))
    expected[:, places] = np.linalg.solve(inner, right[:, places, None])[..., 0]
    kernel = solver(above, places, order, gap=n % 2)
    batch = run_many(kernel, matrix.reshape(13, -1), right)[0]
    assert np.abs(batch - expected).max() < 1e-12 * np.abs(expected).max() * np.linalg.cond(inner).max()
    for i in range(13):
        assert same_bits(run_one(kernel, matrix[i].ravel(), right[i])[0], batch[i])


def test_a_pivot_that_is_zero_is_noticed():
    kernel = solver([-1, 0], [0, 1], 2)
    with pytest.raises(NotFiniteError):
        run_one(kernel, np.array([1.0, 1.0, 1.0, 1.0]), np.ones(2))


@pytest.mark.parametrize("shape", ["chain", "star", "random"])
def test_operations_are_those_of_the_elimination(shape):
    """Counted one by one, as the elimination is written in textbooks."""
    above = forest(20, shape, np.random.default_rng(5))
    multiplications = additions = 0
    for way in ways(above):
        for depth in range(len(way) - 1):  # each unknown above
            multiplications += 1 + (depth + 1) + 1 + 1  # multiplier, row, right-hand side, substitution
            additions += (depth + 1) + 1 + 1
        multiplications += 1  # by the pivot's reciprocal
    kernel = solver(above, [*range(20)], 20)
    count = kernel.program().count()
    assert (count.multiplications, count.additions, count.divisions) == (multiplications, additions, 20)


@pytest.mark.parametrize("count", [1, 13])
def test_a_pivot_of_which_only_rounding_is_left_is_noticed(count):
    kernel = solver([-1, 0], [0, 1], 2, least=(1e-8, 1e-8))
    for smallest, noticed in ((2e-8, False), (0.5e-8, True)):
        matrix = np.tile([1.0 + smallest, 1.0, 1.0, 1.0], (count, 1))
        right = np.tile([1.0, 0.0], (count, 1))
        if noticed:
            with pytest.raises(NotFiniteError):
                run_many(kernel, matrix, right)
        else:
            assert run_many(kernel, matrix, right)[0] == pytest.approx(np.tile([5e7, -5e7], (count, 1)), rel=1e-6)
