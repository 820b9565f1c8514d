"""Composite-body forward dynamics of large models with forces, in pieces: mass matrix, bias force, and the solve.

Models without forces are walked in loops as a whole. Forces are traced in one straight line, in which the elimination
would grow with the cube of the depth; so here it is a kernel of its own, which keeps the zeros between branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from whippletree.formulations.layout import unknowns
from whippletree.formulations.skeleton import Bone
from whippletree.kernels.cache import DiskCache
from whippletree.kernels.kernel import Array, Kernel, NotFiniteError
from whippletree.kernels.rolled import RolledLoops
from whippletree.kernels.signature import Signature
from whippletree.kernels.threads import processors
from whippletree.loops import LoopProgram, Solve
from whippletree.system.source import source_key

__all__ = ["branch_solver", "solve_forward"]


class Ingredients(Protocol):
    """What the solve needs of a system."""

    def mass_matrix(self, q: Any, *, parameters: Any = None, threads: int | None = None) -> Array:
        """Return the mass matrix."""
        ...

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        *,
        t: Any = 0.0,
        z: Any = None,
        wrenches: Any = None,
        parameters: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Return the efforts for given accelerations."""
        ...


def branch_solver(bones: Sequence[Bone], nv: int, cache: DiskCache | None) -> Kernel | None:
    """Return the kernel that solves M x = b for the freedoms that are not prescribed, if there are any."""
    rows = unknowns(bones).rows
    if not rows:
        return None
    signature = Signature((("matrix", nv * nv), ("right", nv)), (("solution", nv),), (nv,))
    program = LoopProgram((Solve(tuple(rows), given=(0, 1), order=nv),), unknowns(bones).size, (), ((0, nv),))
    return Kernel(f"{source_key()}|branches|{rows}", signature, lambda: RolledLoops(program), cache)


def solve_forward(
    system: Ingredients,
    solver: Kernel | None,
    state: tuple[Any, Any, Any],
    given: Array,
    prescribed: np.ndarray[Any, np.dtype[np.bool_]],
    threads: int | None = None,
    **options: Any,
) -> Array:
    """Return the accelerations: those given where prescribed, and the solution of M v' = tau - b elsewhere (8.4).

    Where the mass matrix is singular they are not finite.
    """
    q, v, tau = state
    bias = system.inverse_dynamics(q, v, given, threads=threads, **options)
    right = np.ascontiguousarray((0.0 if tau is None else np.asarray(tau)) - bias)
    solution = np.zeros(right.shape)
    if solver is not None and right.size:
        n = right.shape[-1]
        mass = system.mass_matrix(q, parameters=options.get("parameters"), threads=threads)
        mass = np.ascontiguousarray(np.broadcast_to(mass, (*right.shape, n)))
        count = right.size // n
        inputs, outputs = [mass.reshape(count, n * n), right.reshape(count, n)], [solution.reshape(count, n)]
        try:
            solver.many(inputs, outputs, count, processors() if threads is None else threads)
        except NotFiniteError:
            solution[...] = np.nan
    return np.where(prescribed, given, solution)
