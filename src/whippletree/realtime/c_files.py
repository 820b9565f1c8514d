"""A real-time step as one C file: a struct for the state, and functions to begin, to step and to read results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whippletree.errors import StateError
from whippletree.kernels.c_lowering import C_PRELUDE, c_function
from whippletree.kernels.kernel import Array
from whippletree.kernels.tape import read_tape
from whippletree.realtime.step_equations import StepStatus
from whippletree.spatial.scalars import shown
from whippletree.system.equations import code_names

if TYPE_CHECKING:
    from whippletree.realtime.realtime_stepper import RealtimeStepper

__all__ = ["step_file"]


def step_file(stepper: RealtimeStepper, name: str, frames: Sequence[str]) -> str:
    """Return the file; all its names begin with `name`, and poses and velocities of `frames` are its outputs."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise StateError(f"name= must be a name that C takes, such as crane, got {shown(name)}")
    inputs = dict(zip(code_names(list(stepper.inputs)), stepper.inputs, strict=True))
    places = dict(zip(code_names(list(frames)), frames, strict=True))
    parts = [
        _heading(stepper, name),
        C_PRELUDE,
        _struct(f"{name}_state", _fields(stepper), _names(stepper)),
        _struct(
            f"{name}_inputs", {label: stepper.inputs[given].size for label, given in inputs.items()}, _names(stepper)
        ),
        _struct(f"{name}_results", {f"{what}_{label}": n for label in places for what, n in _RESULTS.items()}),
        c_function(read_tape(stepper.function), f"{name}_advance", ["state", *inputs], "next"),
        _outputs(stepper, name, places),
        _init(stepper, name, list(inputs)),
        _step(stepper, name, list(inputs)),
    ]
    return "\n".join(parts)


_RESULTS = {"pose": 16, "velocity": 6}


def _fields(stepper: RealtimeStepper) -> dict[str, int]:
    """Return the parts of the state with their sizes; `memory` holds the values that method="natural" carries over."""
    s = stepper.system
    return {"q": s.nq, "v": s.nv, "z": s.nz, "memory": stepper.n_memory, "t": 1}


def _names(stepper: RealtimeStepper) -> dict[str, list[str]]:
    """Return labels for the numbers of the state and of the inputs."""
    s = stepper.system
    velocities = [s.kernels.states.velocity_label(i) for i in range(s.nv)]
    return {
        "q": [s.kernels.states.position_label(i) for i in range(s.nq)],
        "v": velocities,
        "z": [use.name for use in s.description.states],
        "tau": velocities,
        "a": velocities,
        "parameters": [one.name for one in s.description.parameters],
    }


def _heading(stepper: RealtimeStepper, name: str) -> str:
    codes = ", ".join(f"{status.value} {status.name.lower().replace('_', ' ')}" for status in StepStatus)
    lines = [
        f"{name}_step advances the state by {stepper.options.step!r} s ({stepper.options.method}).",
        f"It returns a status: {codes}.",
        "Unless it is 0 the state stays as it was. Each step runs the same operations; nothing is allocated.",
    ]
    return "/*\n" + "\n".join(f" * {line}" for line in lines) + "\n */"


def _struct(name: str, fields: dict[str, int], names: Mapping[str, list[str]] | None = None) -> str:
    lines = []
    for field, size in fields.items():
        told = ", ".join((names or {}).get(field, ())).replace("*/", "* /").replace("/*", "/ *")
        if size:
            lines.append(f"  double {field}[{size}];" + (f" /* {told} */" if told else ""))
    return "typedef struct {\n" + "\n".join(lines or ["  char nothing;"]) + f"\n}} {name};\n"


def _outputs(stepper: RealtimeStepper, name: str, places: Mapping[str, str]) -> str:
    """Return the functions of the frames' poses and velocities, and the one that fills the outputs."""
    functions, calls = [], []
    arrays = {"q": "state->q", "v": "state->v", "t": "state->t", "parameters": "inputs->parameters"}
    for place, frame in places.items():
        for what in _RESULTS:
            function = stepper.system.function(what, frame=frame)
            named = f"{name}_{what}_{place}"
            functions.append(c_function(read_tape(function), named, function.name_in(), "result"))
            given = ", ".join(arrays[label] for label in function.name_in())
            calls.append(f"  {named}({given}, results->{what}_{place});")
    body = "\n".join([*calls, "  (void)state; (void)inputs; (void)results;"])
    head = f"void {name}_outputs(const {name}_state *state, const {name}_inputs *inputs, {name}_results *results)"
    return "\n".join([*functions, f"{head} {{\n{body}\n}}\n"])


def _init(stepper: RealtimeStepper, name: str, inputs: list[str]) -> str:
    """Return the function that sets state and inputs to their present values."""
    now, lines = stepper.state, []
    for field, size in _fields(stepper).items():
        lines += _set(f"state->{field}", now[:size])
        now = now[size:]
    for label, values in zip(inputs, stepper.inputs.values(), strict=True):
        lines += _set(f"inputs->{label}", values)
    return f"void {name}_init({name}_state *state, {name}_inputs *inputs) {{\n" + "\n".join(lines) + "\n}\n"


def _set(field: str, values: Array) -> list[str]:
    return [f"  {field}[{i}] = {float(value)!r};" for i, value in enumerate(values)]


def _step(stepper: RealtimeStepper, name: str, inputs: list[str]) -> str:
    """Return the function that takes a step."""
    into, back, at = [], [], 0
    for field, size in _fields(stepper).items():
        if size:
            loop = f"  for (i = 0; i < {size}; i++)"
            into.append(f"{loop} now[{at} + i] = state->{field}[i];")
            back.append(f"{loop} state->{field}[i] = next[{at} + i];")
        at += size
    given = ", ".join(["now", *(f"inputs->{label}" for label in inputs), "next"])
    body = [
        f"  double now[{at}], next[{at + 1}];",
        "  int i;",
        *into,
        f"  {name}_advance({given});",
        f"  if (next[{at}] != 0.0) return (int)next[{at}];",
        *back,
        "  return 0;",
    ]
    return f"int {name}_step({name}_state *state, const {name}_inputs *inputs) {{\n" + "\n".join(body) + "\n}\n"
