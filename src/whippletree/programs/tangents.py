"""How results change along changes of the inputs: functions and loop programs of first derivatives in one direction.

Every number gets a companion, its rate of change. A step of a loop program becomes one that works out both, from the
same places: the companions of what is in work memory follow it, those of inputs are further inputs, and constants have
none. So the program of the changes has as many kinds of steps as the program itself, however many items it loops over,
and exact derivatives by many inputs are a batch of it: one state, and one direction in each lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import casadi as ca

from whippletree.programs.loop_program import ItemLoop, LoopProgram, MemoryRef, ProgramStep, Segment, StepFunction

__all__ = ["tangent_function", "tangent_program"]

Companion = Callable[[MemoryRef], "MemoryRef | None"]
"""Returns where the rate of change of a number is, or None if it does not change."""


def tangent_function(function: ca.Function, varying: Sequence[int]) -> ca.Function:
    """Return the change of a function's result: its inputs are followed by changes of those numbered in `varying`.

    >>> x, y = ca.SX.sym("x"), ca.SX.sym("y")
    >>> float(tangent_function(ca.Function("f", [x, y], [x**2 * y]), [0])(3, 5, 1))
    30.0
    """
    inputs = function.sx_in()
    changes = [ca.SX.sym(f"change_{i}", inputs[i].numel()) for i in varying]
    (result,) = function.call(inputs)
    by, along = ca.vertcat(*(inputs[i] for i in varying)), ca.vertcat(*changes)
    return ca.Function(f"{function.name()}_tangent", [*inputs, *changes], [ca.densify(ca.jtimes(result, by, along))])


def tangent_program(program: LoopProgram, n_inputs: int, varying: Sequence[int]) -> LoopProgram:
    """Return the program of the changes of a program's output; changes of inputs follow the inputs."""
    change_of = {argument: n_inputs + i for i, argument in enumerate(varying)}

    def companion(ref: MemoryRef) -> MemoryRef | None:
        if ref.memory == "work":
            return replace(ref, offset=ref.offset + program.work_size)
        if ref.memory == "output":
            return ref
        if ref.memory == "input" and ref.argument in change_of:
            return replace(ref, argument=change_of[ref.argument])
        return None

    steps = tuple(_differentiated(step, companion) for step in program.steps)
    return replace(program, steps=steps, work_size=2 * program.work_size)


def _differentiated(step: ProgramStep, companion: Companion) -> ProgramStep:
    if isinstance(step, Segment):
        return Segment(_with_changes(step.variant, companion))
    assert isinstance(step, ItemLoop), "climbs and solves are not differentiated"
    return replace(step, variants=tuple(_with_changes(variant, companion) for variant in step.variants))


def _with_changes(variant: StepFunction, companion: Companion) -> StepFunction:
    """Return a step that works out its results and their changes; of outputs the changes only."""
    x = ca.SX.sym("x", len(variant.sources))
    z = ca.SX(variant.function(x))
    places: Mapping[int, MemoryRef] = {
        i: place for i, ref in enumerate(variant.sources) if (place := companion(ref)) is not None
    }
    change = ca.SX.sym("change", len(places))
    along = ca.SX.zeros(x.numel())
    along[list(places)] = change
    dz = ca.densify(ca.jtimes(z, x, along))
    stored = [i for i, ref in enumerate(variant.targets) if ref.memory != "output"]
    results = ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *(z[i] for i in stored), dz)))
    function = ca.Function("step", [ca.vertcat(x, change)], [results])
    targets = [variant.targets[i] for i in stored]
    targets += [place for ref in variant.targets if (place := companion(ref)) is not None]
    return StepFunction(function, (*variant.sources, *places.values()), tuple(targets))
