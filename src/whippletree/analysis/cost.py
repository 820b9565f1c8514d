"""The cost of a formulation: multiplications and additions by stage, counted in the trace.

A formulation records what it has computed (`operation_stages`). Here every scalar operation of the trace is put down to
the first stage that needs it, and only operations count that the result needs: the stages add up to the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca

from whippletree.analysis.unfolded import Unfolded
from whippletree.errors import StateError
from whippletree.formulations.nodes.operation_stages import Stage, recording
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.tape import Instruction, OperationCount, Tape, read_labelled, read_tape
from whippletree.model.names import suggestion
from whippletree.system import System, loop_equations
from whippletree.system.equations import FUNCTIONS, Equations, Request

__all__ = ["Costs", "costs", "counted", "traced"]

LAST = "solution"
"""The operations after the last stage."""


@user_facing
@readable
@dataclass(frozen=True)
class Costs:
    """Operations by stage, in the order in which they are done.

    >>> c = Costs("two", {"first": OperationCount(3, 2), "solution": OperationCount(1)})
    >>> c.total.multiplications, c["first"].additions
    (4, 2)
    """

    name: str
    stages: dict[str, OperationCount]

    @property
    def total(self) -> OperationCount:
        """All stages together."""
        total = OperationCount()
        for count in self.stages.values():
            total = total + count
        return total

    def __getitem__(self, stage: str) -> OperationCount:
        try:
            return self.stages[stage]
        except (KeyError, TypeError):  # what is no name has no hash at times
            raise StateError(f"the costs have no stage {suggestion(stage, self.stages)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.stages)

    def __str__(self) -> str:
        """Return a table."""
        rows = [(name, n.multiplications, n.additions, _others(n)) for name, n in self.stages.items()]
        whole = self.total
        rows.append(("total", whole.multiplications, whole.additions, _others(whole)))
        width = max(len(name) for name, *_ in rows)  # not empty: the total is among them
        head = f"{self.name:<{width}}  {'mult':>7} {'add':>7} {'others':>7}"
        return "\n".join([head, *(f"{name:<{width}}  {m:>7} {a:>7} {o:>7}" for name, m, a, o in rows)])


@user_facing
def costs(
    system: System,
    formulation: str = "auto",
    function: str = "forward_dynamics",
    *,
    folded: bool = True,
    steps: bool = False,
    **choice: Any,
) -> Costs:
    """Return the operations of a function by stage, or with `steps` by the steps of a recursion, over all nodes.

    As traced, constants are folded and equal values computed once. With `folded=False` all constants are symbols (see
    `unfolded`), as the papers count; then what depends on constants alone is not counted.

    >>> from whippletree.analysis.models import serial_chain
    >>> c = costs(serial_chain(3).build(), "velocity_transformation")
    >>> list(c)
    ['position', 'velocity', 'S', 'M', 'Q - c', 'R', 'R^T M R', 'R^T (Q - c - M S)', 'solution']
    >>> c.total == serial_chain(3).build().kernels.operations("forward_dynamics", formulation="velocity_transformation")
    True
    >>> costs(serial_chain(3).build(), "velocity_transformation", folded=False)["R"].multiplications  # six pairs
    36
    """
    request = system.kernels.request(function, formulation=formulation, **choice)
    trace = _traced(system, request, folded, steps)
    return Costs(request.formulation, counted(trace.symbols, trace.result, trace.stages, trace.constants))


@user_facing
def traced(
    system: System, formulation: str = "auto", function: str = "forward_dynamics", *, folded: bool = True, **choice: Any
) -> Tape:
    """Return the tape of a function: its scalar operations in order.

    >>> from whippletree.analysis.models import serial_chain
    >>> len(traced(serial_chain(1).build()).outputs)
    1
    """
    request = system.kernels.request(function, formulation=formulation, **choice)
    trace = _traced(system, request, folded)
    return read_tape(ca.Function("whole", [*trace.symbols, trace.constants], [ca.densify(trace.result)]))


class _Trace(NamedTuple):
    """A request traced anew: its symbols, result and stages, and the symbols of constants."""

    symbols: list[ca.SX]
    result: ca.SX
    stages: list[Stage]
    constants: ca.SX


def _traced(system: System, request: Request, folded: bool, steps: bool = False) -> _Trace:
    made = system.kernels.equations
    fresh = Equations(made.description, made.plan) if folded else Unfolded(made.description, made.plan)
    fresh.loops, fresh.group_methods = made.loops, made.group_methods
    signature = fresh.signature(request)
    symbols = {name: fresh.symbol(name, size) for name, size in signature.inputs}
    inputs = list(symbols.values())
    constants = ca.vertcat(ca.SX(0, 1), *(p.symbol for p in system.description.parameters))
    with recording(steps=steps) as stages:
        if folded:
            result = fresh.trace(request)(*inputs)
        elif fresh.closed:
            result = loop_equations.answer(fresh, request, symbols).a
        else:
            result = FUNCTIONS[request.function].trace(fresh, request, symbols)
    if isinstance(fresh, Unfolded):
        return _Trace(inputs, result, stages, ca.vertcat(constants, fresh.constants))
    if constants.numel():
        given = symbols["parameters"]
        stages = [(name, [ca.substitute(part, constants, given) for part in parts]) for name, parts in stages]
    return _Trace(inputs, result, stages, ca.SX(0, 1))


def counted(
    inputs: Sequence[ca.SX], result: ca.SX, stages: Sequence[Stage], constants: ca.SX | None = None
) -> dict[str, OperationCount]:
    """Put every operation that the result needs down to the first stage that needs it.

    What depends on `constants` alone is left out.

    >>> x = ca.SX.sym("x")
    >>> found = counted([x], x * x + 1, [("square", [x * x])])
    >>> found["square"].multiplications, found["solution"].additions
    (1, 1)
    """
    known = [] if constants is None else [constants]
    own = {symbol.element_hash() for symbol in ca.symvar(ca.vertcat(*(ca.vec(x) for x in (*inputs, *known))))}
    columns = [ca.vertcat(ca.SX(0, 1), *(ca.vec(part) for part in parts if _over(part, own))) for _, parts in stages]
    tape, labels = read_labelled(
        ca.Function("stages", [*inputs, *known], [ca.densify(ca.vec(result)), *map(ca.densify, columns)])
    )
    moving: list[bool] = []
    of_stage: dict[int, list[Instruction]] = {}
    for k, (label, operation) in enumerate(zip(labels, tape.operations, strict=True)):
        moving.append(any(moving[i] for i in operation[1]) or (k in tape.inputs and tape.inputs[k][0] < len(inputs)))
        if moving[k] or not known:
            of_stage.setdefault(label, []).append(operation)
    counts: dict[str, OperationCount] = {}
    for label, name in [*enumerate((name for name, _ in stages), start=1), (0, LAST)]:
        count = Tape(of_stage.get(label, [])).count()
        counts[name] = counts[name] + count if name in counts else count
    return counts


def _over(part: ca.SX, own: set[int]) -> bool:
    """Tell whether an expression is one of these symbols alone: parts that are traced by themselves are not."""
    return all(symbol.element_hash() in own for symbol in ca.symvar(part))


def _others(n: OperationCount) -> int:
    return n.divisions + n.square_roots + n.trigonometric + n.other
