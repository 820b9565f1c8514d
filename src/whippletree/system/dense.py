"""Composite-body forward dynamics of large models: mass matrix and bias force by kernels, the solve by LAPACK.

Small models are traced whole, with a factorisation that keeps the zeros between branches. For large ones that trace
would grow with the cube of the depth, so here only its two ingredients are kernels.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from whippletree.errors import DynamicsError
from whippletree.kernels.kernel import Array

__all__ = ["solve_forward"]


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


def solve_forward(
    system: Ingredients,
    state: tuple[Any, Any, Any],
    given: Array,
    prescribed: np.ndarray[Any, np.dtype[np.bool_]],
    **options: Any,
) -> Array:
    """Return the accelerations: those given where prescribed, and the solution of M v' = tau - b elsewhere (8.4)."""
    q, v, tau = state
    threads, parameters = options.get("threads"), options.get("parameters")
    bias = system.inverse_dynamics(q, v, given, **options)
    mass = system.mass_matrix(q, parameters=parameters, threads=threads)
    free = np.flatnonzero(~prescribed)
    right = (0.0 if tau is None else np.asarray(tau)) - bias
    mass = np.broadcast_to(mass, (*right.shape, right.shape[-1]))
    try:
        solution = np.linalg.solve(mass[..., free[:, None], free], right[..., free, None])[..., 0]
    except np.linalg.LinAlgError:
        raise DynamicsError("the mass matrix is singular: a joint moves nothing that has inertia") from None
    result = np.array(np.broadcast_to(given, right.shape))
    result[..., free] = solution
    return result
