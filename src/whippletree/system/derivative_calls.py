"""The calls of a system that give derivatives of its dynamics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import DynamicsError, StateError
from whippletree.kernels.kernel import Array
from whippletree.system.evaluator import CallOptions, Evaluator, ParameterValues, Wrenches
from whippletree.system.example_systems import pendulum  # noqa: F401 (for the examples)

__all__ = ["DerivativeCalls", "ForwardDerivatives", "InverseDerivatives"]


class InverseDerivatives(NamedTuple):
    """Derivatives (..., nv, nv) of joint efforts for displacements, velocities and accelerations (the mass matrix)."""

    q: Array
    v: Array
    a: Array


class ForwardDerivatives(NamedTuple):
    """Derivatives (..., nv, nv) of accelerations for displacements, velocities and efforts (the inverse mass)."""

    q: Array
    v: Array
    tau: Array


class DerivativeCalls:
    """What a system can say about the derivatives of its dynamics."""

    def __init__(self, evaluate: Evaluator) -> None:
        self._evaluate = evaluate

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: Any = None,
        *,
        t: float = 0.0,
        z: ArrayLike | None = None,
        wrenches: Wrenches | None = None,
        parameters: ParameterValues = None,
        threads: int | None = None,
    ) -> InverseDerivatives:
        """Return the derivatives of the joint efforts with respect to displacements, velocities and accelerations.

        A displacement is measured like a velocity: column j of the first is the rate at which the efforts change when
        the configuration moves with unit velocity j (see `integrate`). Springs and other elements are in it; wrenches
        given are taken to stay as they are in the ground's axes. With loops, these are the derivatives of the spanning
        tree's efforts, as `mass_matrix` is the tree's. They are exact, and straight-line code of any length: for
        more than some sixty freedoms in a row the first call takes long to compile.

        >>> d = pendulum().inverse_dynamics_derivatives([0.0], [0.0])
        >>> d.q.round(6) + 0.0, d.a.round(6)
        (array([[0.]]), array([[0.666667]]))
        """
        options = CallOptions(t=t, z=z, wrenches=wrenches, parameters=parameters)
        return self._inverse(q, v, a, options, threads)

    def _inverse(
        self, q: ArrayLike, v: ArrayLike, a: Any, options: CallOptions, threads: int | None
    ) -> InverseDerivatives:
        values = self._evaluate("inverse_dynamics_derivatives", (q, v, a), options, None, threads)
        return InverseDerivatives(*(values[..., k, :, :] for k in range(3)))

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        t: float = 0.0,
        z: ArrayLike | None = None,
        wrenches: Wrenches | None = None,
        parameters: ParameterValues = None,
        threads: int | None = None,
    ) -> ForwardDerivatives:
        """Return the derivatives of the accelerations of a tree, by those of its inverse dynamics.

        >>> pendulum().forward_dynamics_derivatives([0.0], [0.0]).tau.round(6)
        array([[1.5]])
        """
        equations = self._evaluate.engine.equations
        if equations.closed or equations.prescribed:
            what = "loops" if equations.closed else "prescribed joints"
            raise StateError(
                f"forward_dynamics_derivatives is for trees whose joints are all free, and there are {what}; "
                f"inverse_dynamics_derivatives and closure_jacobian have what its equations are made of"
            )
        options = CallOptions(t=t, z=z, wrenches=wrenches, parameters=parameters)
        a = self._evaluate("forward_dynamics", (q, v, tau), options, None, threads)
        found = self._inverse(q, v, a, options, threads)
        try:
            inverse: Array = np.linalg.inv(found.a).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            raise DynamicsError("the mass matrix is singular in this configuration") from None
        return ForwardDerivatives(-inverse @ found.q, -inverse @ found.v, inverse)
