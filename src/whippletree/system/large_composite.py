"""The composite formulation of large trees where it is not walked in loops as a whole: kernel after kernel.

Forces are traced in one straight line, in which the elimination would grow with the cube of the depth; so here it is a
kernel of its own, which keeps the zeros between branches. Driving forces and reactions follow from the accelerations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whippletree.formulations.nodes.node_tree import NodeConstants
from whippletree.formulations.rolled.rolled_walk import unknowns
from whippletree.kernels.cache import DiskCache
from whippletree.kernels.entry import Signature
from whippletree.kernels.kernel import Array, Kernel, NotFiniteError
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.programs.loop_program import ForestSolve, LoopProgram
from whippletree.system.equations import Request
from whippletree.system.source import source_key

__all__ = ["Pieces", "branch_solver"]


def branch_solver(node_constants: Sequence[NodeConstants], nv: int, cache: DiskCache | None) -> Kernel | None:
    """Return the kernel that solves M x = b for the freedoms that are not prescribed, if there are any."""
    rows, least = unknowns(node_constants).rows, unknowns(node_constants).least
    if not rows:
        return None
    signature = Signature((("matrix", nv * nv), ("right", nv)), (("solution", nv),), (nv,))
    program = LoopProgram(
        (ForestSolve(tuple(rows), given=(0, 1), order=nv, least=least),), unknowns(node_constants).size, (), ((0, nv),)
    )
    return Kernel(f"{source_key()}|branches|{rows}|{least}", signature, lambda: RolledLoops(program), cache)


class Pieces:
    """Accelerations, driving forces or reactions of a large tree from several kernels, called as if they were one.

    `kernel` makes the kernels that a request asks for. `solver` solves with the mass matrix; it is not needed where the
    accelerations come from one kernel as a whole.
    """

    entry = None

    def __init__(
        self,
        request: Request,
        signature: Signature,
        prescribed: Sequence[bool],
        kernel: Callable[[Request], Kernel],
        solver: Kernel | None,
        whole: bool,
    ) -> None:
        self._request, self.signature = request, signature
        self._prescribed = np.array(prescribed, dtype=bool)
        self._kernel, self._solver, self._whole = kernel, solver, whole

    def one(self, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        """Evaluate one state, as `Kernel.one` does."""
        self.many(inputs, outputs, 1, 1)

    def many(self, inputs: Sequence[Array | None], outputs: Sequence[Array], count: int, threads: int) -> None:
        """Evaluate `count` states, as `Kernel.many` does."""
        x = {name: value for (name, _), value in zip(self.signature.inputs, inputs, strict=True) if value is not None}
        if not all(np.isfinite(value).all() for value in x.values()):
            raise NotFiniteError("input", 0)
        states = _States(x, count, threads)
        result = self._accelerations(states)
        if self._request.function == "driving_forces":
            needed = states.through(self._piece("inverse_dynamics"), a=result)
            result = np.where(self._prescribed, needed, x.get("tau", 0.0))
        elif self._request.function == "reactions":
            result = states.through(self._piece("motion_reactions"), a=result)
        outputs[0][...] = result

    def _accelerations(self, states: _States) -> Array:
        """Return the accelerations: those given where prescribed; elsewhere the solution of M v' = tau - b (8.4)."""
        if self._whole:
            return states.through(self._piece("forward_dynamics"))
        given = np.where(self._prescribed, states.x.get("a", 0.0), 0.0)
        bias = states.through(self._piece("inverse_dynamics"), a=given)
        if self._solver is None:
            return given
        with np.errstate(over="ignore"):
            right = states.x.get("tau", 0.0) - bias
        mass = states.through(self._kernel(Request("mass_matrix", "composite")))
        return np.where(self._prescribed, given, states.through(self._solver, matrix=mass, right=right))

    def _piece(self, function: str) -> Kernel:
        return self._kernel(replace(self._request, function=function))


@dataclass(frozen=True)
class _States:
    """What is given of each of `count` states: arrays (count, size), or (size) if the same for all."""

    x: dict[str, Array]
    count: int
    threads: int

    def through(self, kernel: Kernel, **more: Array) -> Array:
        """Return what a kernel makes of them: (count, size), or (size) if the same for all."""
        given = self.x | more
        inputs = [given.get(name) for name in kernel.input_names]
        if all(value is None or value.ndim == 1 for value in inputs):
            result = np.empty(kernel.output_sizes[0])
            kernel.one(inputs, [result])
        else:
            result = np.empty((self.count, kernel.output_sizes[0]))
            kernel.many(inputs, [result], self.count, self.threads)
        return result
