"""The calls of a system that give derivatives of its dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from whippletree.errors import DynamicsError, StateError
from whippletree.kernels.kernel import Array
from whippletree.system.engine import Engine

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
    """What a `System` can say about the derivatives of its dynamics."""

    nv: int
    _engine: Engine
    _closed: bool

    def inverse_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        a: Any = None,
        *,
        t: float = 0.0,
        z: Any = None,
        wrenches: Mapping[Any, Any] | None = None,
        parameters: Any = None,
        threads: int | None = None,
    ) -> InverseDerivatives:
        """Return the derivatives of the joint efforts with respect to displacements, velocities and accelerations.

        A displacement is measured like a velocity: column j of the first is the rate at which the efforts change when
        the configuration moves with unit velocity j (see `integrate`). Springs and other elements are in it; wrenches
        given are taken to stay as they are in the ground's axes. With loops, these are the derivatives of the spanning
        tree's efforts, as `mass_matrix` is the tree's. They are exact, and straight-line code of any length: for
        more than some sixty freedoms in a row the first call takes long to compile.

        >>> from whippletree.system.system import _pendulum
        >>> d = _pendulum().inverse_dynamics_derivatives([0.0], [0.0])
        >>> d.q.round(6) + 0.0, d.a.round(6)
        (array([[0.]]), array([[0.666667]]))
        """
        call, more = self._engine.dynamic("inverse_dynamics_derivatives", "auto", None, wrenches, parameters, t=t, z=z)
        values = call.run((q, v, a, *more), None, threads)
        return InverseDerivatives(*(values[..., k, :, :] for k in range(3)))

    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        t: float = 0.0,
        z: Any = None,
        wrenches: Mapping[Any, Any] | None = None,
        parameters: Any = None,
        threads: int | None = None,
    ) -> ForwardDerivatives:
        """Return the derivatives of the accelerations of a tree, by those of its inverse dynamics.

        >>> from whippletree.system.system import _pendulum
        >>> _pendulum().forward_dynamics_derivatives([0.0], [0.0]).tau.round(6)
        array([[1.5]])
        """
        if self._closed or self._engine.equations.prescribed:
            what = "loops" if self._closed else "prescribed joints"
            raise StateError(
                f"forward_dynamics_derivatives is for trees whose joints are all free, and there are {what}; "
                f"inverse_dynamics_derivatives and closure_jacobian have what its equations are made of"
            )
        options: dict[str, Any] = {"t": t, "z": z, "wrenches": wrenches, "parameters": parameters, "threads": threads}
        a = self.forward_dynamics(q, v, tau, **options)  # type: ignore[attr-defined]
        found = self.inverse_dynamics_derivatives(q, v, a, **options)
        try:
            inverse: Array = np.linalg.inv(found.a).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            raise DynamicsError("the mass matrix is singular in this configuration") from None
        return ForwardDerivatives(-inverse @ found.q, -inverse @ found.v, inverse)
