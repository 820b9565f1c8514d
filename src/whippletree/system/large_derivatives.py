"""Derivatives of large mechanisms: column after column, each the change of a function along one change of the state.

The straight line of all columns at once would grow with the square of the mechanism. A function's change in one
direction (`programs.tangents`) is a loop over the nodes where the function is, and the columns are a batch of it, one
in each lane. What the other joints do when independent ones move is a kernel of its own (`motion_changes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from whippletree.kernels.entry import Signature
from whippletree.kernels.evaluated import Evaluated
from whippletree.kernels.kernel import Array, Kernel, NotFiniteError
from whippletree.system.derivative_columns import derivative_columns
from whippletree.system.equations import Equations, Request
from whippletree.system.functions import DIFFERENTIATED, FUNCTIONS, derivatives_name
from whippletree.system.tolerances import UNDETERMINED

__all__ = ["DerivativesByColumn", "differentiated", "tangent_signature"]

_LARGE = 2.0**27
"""Efforts are taken so many times as large where only what they add to a result counts."""

_DIFFERENTIATED = {derivatives_name(name): name for name in ("forward_dynamics", *DIFFERENTIATED)}


def differentiated(eq: Equations, request: Request) -> str:
    """Return the function whose derivatives a request asks for column by column, or nothing if it does not.

    Reactions that redundancy leaves open are not those of one function: of them there is a straight line only.

    >>> from whippletree.system.example_systems import pendulum
    >>> differentiated(pendulum().kernels.equations, Request("forward_dynamics_derivatives"))
    ''
    """
    found = _DIFFERENTIATED.get(request.function, "") if eq.large else ""
    return "" if found == "reactions" and eq.closed and eq.size("n_redundant") else found


def tangent_signature(signature: Signature) -> tuple[Signature, list[int]]:
    """Return the signature of a function's change, and which inputs change: all but wrenches."""
    varying = [i for i, (name, _) in enumerate(signature.inputs) if not name.startswith("wrench on ")]
    changes = [(f"change of {signature.inputs[i][0]}", signature.inputs[i][1]) for i in varying]
    return replace(signature, inputs=(*signature.inputs, *changes)), varying


class DerivativesByColumn:
    """The derivatives of one function of a large mechanism, called as if they were one kernel.

    `kernel` makes the kernel of a request, `tangent` that of its changes; both decide on the formulation. If the
    forward dynamics is a loop over items, what the closures let joints do is found `by_responses` to efforts.
    """

    entry = None

    def __init__(
        self,
        eq: Equations,
        request: Request,
        kernel: Callable[[Request], Kernel | Evaluated],
        tangent: Callable[[Request], Kernel | Evaluated],
        by_responses: bool,
    ) -> None:
        self.signature, self._columns, self._closed = eq.signature(request), derivative_columns(eq), eq.closed
        self._kernel, self._tangent = kernel, tangent
        function = _DIFFERENTIATED[request.function]
        self._dynamics = Request("forward_dynamics", wrenches=request.wrenches, check=request.check)
        self._function = Request(function, frame=request.frame)
        if FUNCTIONS[function].solved:
            self._function = replace(self._dynamics, function=function)
        self._by_responses = by_responses
        self._follows = "a" in FUNCTIONS[function].inputs  # accelerations are inputs, which follow from the motion

    def one(self, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        """Evaluate one state, as `Kernel.one` does."""
        self.many(inputs, [outputs[0].reshape(1, -1)], 1, 1)

    def many(self, inputs: Sequence[Array | None], outputs: Sequence[Array], count: int, threads: int) -> None:
        """Evaluate `count` states, as `Kernel.many` does."""
        names = [name for name, _ in self.signature.inputs]
        given = {name: value for name, value in zip(names, inputs, strict=True) if value is not None}
        if not all(np.isfinite(value).all() for value in given.values()):
            raise NotFiniteError("input", 0)
        for k in range(count):
            state = {name: value if value.ndim == 1 else value[k] for name, value in given.items()}
            try:
                columns = self._state(state, threads)
            except NotFiniteError as error:
                raise NotFiniteError(error.where, k) from None
            outputs[0][k] = np.ascontiguousarray(columns.T).reshape(-1)

    def _state(self, state: dict[str, Array], threads: int) -> Array:
        """Return the derivatives at one state, a row for each column of them."""
        changes = self._explicit_changes()
        dq, dv = self._motion(state, threads)
        changes["q"] = self._evaluated(self._kernel(Request("coordinate_rates")), state | {"v": dq}, threads)
        changes["v"] = dv
        dynamic = self._function == self._dynamics or self._follows
        if dynamic or self._closed:  # also tells a state that does not satisfy the closures
            a = self._evaluated(self._kernel(self._dynamics), state, threads)
        if dynamic:
            found = self._changed(self._dynamics, state, changes, threads)
            if not self._follows:
                return found
            state, changes = state | {"a": a}, changes | {"a": found}
        return self._changed(self._function, state, changes, threads)

    def _explicit_changes(self) -> dict[str, Array]:
        """Return for each input but the coordinates and velocities what it does in each column: a row for each."""
        columns, at = self._columns, self._columns.slices()
        found: dict[str, Array] = {}
        for name, size in self.signature.inputs:
            if name in at:
                found[name] = np.zeros((columns.total, size))
                where = (
                    np.array(columns.prescribed, dtype=int)
                    if name == "a"
                    else np.arange(at[name].stop - at[name].start)
                )
                found[name][np.arange(at[name].start, at[name].stop), where] = 1.0
        return found

    def _motion(self, state: dict[str, Array], threads: int) -> tuple[Array, Array]:
        """Return the displacements and changes of velocities of all joints, a row for each column."""
        columns, at = self._columns, self._columns.slices()
        if self._by_responses:
            return self._responding_motion(state, threads)
        if self._closed:
            both = self._evaluated(self._kernel(Request("motion_changes")), state, 1).reshape(
                2, columns.nv, columns.total
            )
            return np.ascontiguousarray(both[0].T), np.ascontiguousarray(both[1].T)
        dq, dv = np.zeros((2, columns.total, columns.nv))
        dq[np.arange(at["q"].start, at["q"].stop), columns.displacements] = 1.0
        dv[np.arange(at["v"].start, at["v"].stop), columns.velocities] = 1.0
        return dq, dv

    def _responding_motion(self, state: dict[str, Array], threads: int) -> tuple[Array, Array]:
        """Return the same from the accelerations by unit efforts. B has the motions that the closures allow, by
        independent freedom; efforts at the independent joints give X = B (B^T M B)^-1, so that B = X X_i^-1.

        Velocities B v_i are X w with the efforts w = X_i^-1 v_i, so that moving on to another configuration changes
        them by dX w - B (dX w)_i. Accelerations are linear in efforts: dX w is the part of their changes that efforts
        add, exact to rounding if the efforts are large.
        """
        columns, at = self._columns, self._columns.slices()
        free = list(columns.free)
        still = {**state, "v": np.zeros(columns.nv), "tau": np.zeros(columns.nv)}
        units = np.zeros((len(free), columns.nv))
        units[np.arange(len(free)), free] = 1.0
        X = self._changed(self._dynamics, still, {"tau": units}, threads)
        scale = np.sqrt(np.abs(np.diag(X[:, free])))
        scaled = X[:, free] / np.outer(scale, scale)
        if not np.linalg.cond(scaled) < 1 / UNDETERMINED:
            raise NotFiniteError("result", 0)
        B: Array = np.linalg.solve(X[:, free], X).astype(np.float64)
        loaded = still["tau"].copy()
        loaded[free] = _LARGE * np.linalg.solve(X[:, free], state["v"][free])
        rates = self._evaluated(self._kernel(Request("coordinate_rates")), {**state, "v": B}, threads)
        with_efforts, without = (
            self._changed(self._dynamics, {**still, "tau": tau}, {"q": rates}, threads)
            for tau in (loaded, still["tau"])
        )
        added = (with_efforts - without) / _LARGE
        dq, dv = np.zeros((2, columns.total, columns.nv))
        dq[at["q"]], dv[at["v"]] = B, B
        dv[at["q"]] = added - added[:, free] @ B
        return dq, dv

    def _changed(self, request: Request, state: dict[str, Array], changes: dict[str, Array], threads: int) -> Array:
        kernel = self._tangent(request)
        return self._evaluated(kernel, state | {f"change of {name}": x for name, x in changes.items()}, threads)

    @staticmethod
    def _evaluated(kernel: Kernel | Evaluated, given: dict[str, Array], threads: int) -> Array:
        """Return what a kernel makes of arrays (size), or (count, size) in which rows are columns of derivatives."""
        inputs = [given.get(name) for name in kernel.input_names]
        counts = {len(x) for x in inputs if x is not None and x.ndim > 1}
        if not counts:
            result = np.empty(kernel.output_sizes[0])
            kernel.one(inputs, [result])
            return result
        (count,) = counts
        result = np.empty((count, kernel.output_sizes[0]))
        kernel.many(inputs, [result], count, threads)
        return result
