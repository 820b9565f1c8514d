"""The calls of a system about what its joints and closures transmit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import DynamicsError
from whippletree.kernels.kernel import Array
from whippletree.model.description import GROUND
from whippletree.spatial.scalars import truth
from whippletree.system.equations import formulation_name
from whippletree.system.evaluator import CallOptions, Evaluator, ParameterValues, Wrenches
from whippletree.system.example_systems import four_bar, pendulum  # noqa: F401 (for the examples)
from whippletree.system.loop_calls import LoopCalls
from whippletree.system.quantities import Reactions

__all__ = ["ReactionCalls"]

_UNIQUE = 1e-9
"""A component is unique if no self-stress, scaled to size one, has more than this in it."""


class ReactionCalls:
    """Wrenches that joints transmit, and the multipliers of closures."""

    def __init__(self, evaluate: Evaluator, loops: LoopCalls) -> None:
        self._evaluate, self._inputs, self._loops = evaluate, evaluate.inputs, loops

    def reactions(
        self,
        /,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        a: Any = None,
        t: float = 0.0,
        z: ArrayLike | None = None,
        wrenches: Wrenches | None = None,
        parameters: ParameterValues = None,
        formulation: str = "auto",
        baumgarte: Any = None,
        check: bool = True,
        frame: Any = GROUND,
        threads: int | None = None,
        **choice: Any,
    ) -> Reactions:
        """Return the wrench that every joint transmits to its described child, by joint name.

        It acts at the joint point on that child and includes the actuator's effort. Axes are the ground's, or those
        of `frame`, a body or a frame.

        >>> s = pendulum()
        >>> s.reactions([0.0], [0.0])["hinge"].force.round(3)  # a falling rod weighs a quarter
        array([0.   , 0.   , 4.905])
        """
        if choice:
            formulation = formulation_name(formulation, **choice)
        options = CallOptions(a, t, z, wrenches, parameters, formulation, baumgarte, truth(check, "check="))
        found = self._evaluate("reactions", (q, v, tau), options, None, threads)
        name = self._inputs.place_name(frame)
        R = None if name == GROUND else self._evaluate.at_place("pose", name, (q,), parameters)[..., None, :3, :3]
        unique = None
        if self._loops.redundancy():
            found, stresses = self._least(found, self._self_stresses(q, t, parameters))
            none = self._evaluate.engine.equations.loop_plan.negligible(_UNIQUE)
            unique = np.abs(_turned(stresses, R)).max(axis=-1) <= none
        return Reactions(self._inputs.states.plan.joint_names, _turned(found[..., None], R)[..., 0], unique)

    def _least(self, wrenches: Array, Z: Array) -> tuple[Array, Array]:
        """Return the reactions of least norm among those that redundancy leaves open, and a basis of what it does.

        The norm is that of all joints' forces and moments, the latter over the characteristic length.
        """
        shape = wrenches.shape
        Z = np.broadcast_to(Z, (*shape, Z.shape[-1]))
        weight = np.ones(6)
        weight[:3] /= self._loops.characteristic_length()
        W = (Z * weight[:, None]).reshape(*shape[:-2], -1, Z.shape[-1])
        basis, s, _ = np.linalg.svd(W, full_matrices=False)
        basis = basis * (s > 1e-12 * s[..., :1])[..., None, :]
        flat = (wrenches * weight).reshape(*shape[:-2], -1, 1)
        least = flat - basis @ (np.swapaxes(basis, -1, -2) @ flat)
        return least.reshape(shape) / weight, basis.reshape(*shape, Z.shape[-1])

    def _self_stresses(self, q: ArrayLike, t: Any, parameters: Any) -> Array:
        """Return the reactions that balance by themselves (..., n_joints, 6, k)."""
        try:
            return self._evaluate("self_stresses", (q,), CallOptions(t=t, parameters=parameters))
        except DynamicsError:  # some configuration is singular: one by one, their numbers may differ
            q = self._inputs.configurations(q)
            found = [self._loops.self_stresses(one, t, parameters) for one in q.reshape(-1, q.shape[-1])]
            most = max(Z.shape[-1] for Z in found)
            padded = [np.pad(Z, ((0, 0), (0, 0), (0, most - Z.shape[-1]))) for Z in found]
            return np.array(padded).reshape(*q.shape[:-1], *padded[0].shape)

    def closure_forces(
        self,
        /,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        a: Any = None,
        t: float = 0.0,
        z: ArrayLike | None = None,
        wrenches: Wrenches | None = None,
        parameters: ParameterValues = None,
        formulation: str = "auto",
        check: bool = True,
        **choice: Any,
    ) -> dict[str, Array]:
        """Return the multipliers of every described closure by name: a rod's force, a coupling's effort.

        A rod that pushes its ends apart has a positive force. Where equations are redundant, those that are not used
        have none.

        >>> s = four_bar()
        >>> s.closure_forces(s.q0, s.v0)
        {}
        """
        if not self._evaluate.closed:
            return {}
        if choice:
            formulation = formulation_name(formulation, **choice)
        options = CallOptions(a, t, z, wrenches, parameters, formulation, None, truth(check, "check="))
        values = self._evaluate("closure_efforts", (q, v, tau), options)
        equations = self._evaluate.engine.equations
        result: dict[str, Array] = {}
        start = 0
        for attachment, keep in zip(equations.attachments().all, equations.loop_plan.keep, strict=True):
            if attachment.cut is None and attachment.driven is None:
                own = np.zeros((*values.shape[:-1], attachment.closure.n_rows))
                own[..., list(keep)] = values[..., start : start + len(keep)]
                result[attachment.name] = own
            start += len(keep)
        return result


def _turned(columns: Array, R: Array | None) -> Array:
    """Return columns [moment; force] (..., 6, n) in other axes R, those of the ground if there are none."""
    if R is None:
        return columns
    pairs = columns.reshape(*columns.shape[:-2], 2, 3, columns.shape[-1])
    turned: Array = np.einsum("...ji,...kjn->...kin", R, pairs).reshape(columns.shape)
    return turned
