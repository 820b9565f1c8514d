"""Source of a function that a person can read: quantities by joint and letter, each step of a recursion with its words.

What sweeps keep and hand on is recorded with the step and the node (`operation_stages.record_kept`). So every number
that a formulation names has a name here too: `w_elbow_z` is the z component of what the sweep calls w at the joint
"elbow". Numbers without a name that are used once stand where they are used; others are t1, t2 and so on. The
operations and their order are those of the trace.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca

from whippletree.errors import StateError
from whippletree.formulations.nodes.operation_stages import keeping
from whippletree.kernels.tape import Tape, read_tape
from whippletree.model.names import suggestion

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request

__all__ = ["readable_source"]

WIDTH = 118
INFIX = {"add": " + ", "sub": " - ", "mul": " * ", "div": " / ", "lt": " < ", "le": " <= ", "eq": " == ", "ne": " != "}
STRENGTH = {"add": 1, "sub": 1, "mul": 2, "div": 2}
LEAVES = ("const", "input")


class Language(NamedTuple):
    """How a language writes functions, conditions and statements."""

    functions: dict[str, str]
    chosen: str
    start: str
    between: str
    end: str
    comment: str


_PYTHON = {name: f"np.{name}" for name in ("sin", "cos", "tan", "sqrt", "exp", "log", "fabs", "fmin", "fmax", "hypot")}
_PYTHON |= {f"a{name}": f"np.arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
_PYTHON |= {
    name: f"np.{name}" for name in ("sinh", "cosh", "tanh", "expm1", "log1p", "floor", "ceil", "sign", "copysign")
}
_PYTHON |= {"atan2": "np.arctan2", "fmod": "np.fmod", "pow": "np.power"}
_PYTHON |= {"and": "np.logical_and", "or": "np.logical_or", "not": "np.logical_not"}
_C = {name: name for name in (*_PYTHON, "erf") if name not in ("and", "or", "not", "sign")}

LANGUAGES = {
    "python": Language(_PYTHON, "np.where({}, {}, 0.0)", "", "; ", "", "#"),
    "c": Language(_C, "({} ? {} : 0.0)", "const double ", ", ", ";", "//"),
}
"""The languages."""


class _NamedQuantity(NamedTuple):
    """A quantity of a node: the step that found it, the node's name, letter, and entries."""

    says: str
    node: str
    letter: str
    value: ca.SX


def readable_source(equations: Equations, request: Request, language: str) -> str:
    """Return a request's function as source in a language."""
    if not isinstance(language, str) or language not in LANGUAGES:
        raise StateError(f"there is no language {suggestion(language, tuple(LANGUAGES))}")
    if equations.rolls(request):
        raise StateError("readable source is for straight lines, and a mechanism of this size is worked out in loops")
    with keeping() as kept:
        function = equations.trace(request)
    names = [_identifier(one.use.name) for one in equations.node_tree().node_constants]
    inputs = [function.sx_in(k) for k in range(function.n_in())]
    found = [one for one in _named(kept, names) if not ca.SX(one.value).is_constant()]
    results = function(*inputs)
    symbols = set(ca.symvar(ca.vertcat(*map(ca.vec, inputs)))) if inputs else set()
    found = [one for one in found if _within(one.value, symbols)]
    outputs = [results, *(ca.densify(ca.vec(one.value.T)) for one in found)]
    tape = read_tape(ca.Function("named", inputs, outputs))
    return _SourceWriter(tape, found, function, LANGUAGES[language], language).text()


def _within(value: ca.SX, symbols: set[ca.SX]) -> bool:
    """Tell whether an expression is of the function's own symbols: parameters may be replaced in the end."""
    known = {one.__hash__() for one in symbols}
    return all(one.__hash__() in known for one in ca.symvar(value))


def _identifier(name: str) -> str:
    """Return a name as languages take it."""
    return re.sub(r"\W+", "_", name).strip("_") or "joint"


def _named(kept: Sequence[tuple[Any, int, object]], names: Sequence[str]) -> Iterator[_NamedQuantity]:
    """Yield what sweeps have kept, by step, node and letter."""
    for step, k, record in kept:
        says = (getattr(step, "__doc__", None) or step.__name__).strip().splitlines()[0].rstrip(".")
        for letter, value in _letters(record, ""):
            yield _NamedQuantity(says, names[k], letter, ca.SX(value))


def _letters(record: object, name: str) -> Iterator[tuple[str, ca.SX]]:
    """Yield the expressions of a record with their fields' names."""
    if isinstance(record, ca.SX):
        if name:
            yield name, record
    elif is_dataclass(record) and not isinstance(record, type):
        for field in fields(record):
            inner = field.name if len(field.name) > 1 else f"{name}_{field.name}".strip("_")
            yield from _letters(getattr(record, field.name), inner)
    elif isinstance(record, tuple) and hasattr(record, "_fields"):
        for field_name, value in zip(record._fields, record, strict=True):
            yield from _letters(value, field_name if len(field_name) > 1 else f"{name}_{field_name}".strip("_"))
    elif isinstance(record, tuple):
        for one in record:
            yield from _letters(one, name)


def _entries(value: ca.SX) -> list[str]:
    """Return what the entries of a quantity are called, row after row."""
    rows, columns = value.shape
    if columns == 1:
        six = ("ax", "ay", "az", "x", "y", "z")
        return {1: [""], 3: list("xyz"), 6: list(six)}.get(rows, [str(k) for k in range(rows)])
    return [f"{r}{c}" for r in range(rows) for c in range(columns)]


class _SourceWriter:
    """Writes the statements in the order in which the sweeps name what they find."""

    def __init__(
        self, tape: Tape, found: Sequence[_NamedQuantity], function: ca.Function, language: Language, called: str
    ) -> None:
        self.tape, self.found, self.function, self.language, self.called = tape, found, function, language, called
        self.result = [value for argument, _, value in tape.outputs if argument == 0]
        self.needed = self._needed()
        self.uses = self._uses()
        self.names: dict[int, str] = {}
        self.taken: set[str] = set()
        self.blocks: list[tuple[int, list[int]]] = []  # which quantity comes first, and the values it names
        self._name()
        self.known: dict[int, str] = {}
        self.count = 0

    def _needed(self) -> set[int]:
        pending, needed = list(self.result), set[int]()
        while pending:
            value = pending.pop()
            if value not in needed:
                needed.add(value)
                pending.extend(self.tape.operations[value][1])
        return needed

    def _uses(self) -> dict[int, int]:
        uses = dict.fromkeys(self.needed, 0)
        for value in self.needed:
            for operand in self.tape.operations[value][1]:
                uses[operand] += 1
        for value in self.result:
            uses[value] += 1
        return uses

    def _name(self) -> None:
        """Give names to what the sweeps name first; what is used once and is a part of something stays without."""
        by_output: dict[int, dict[int, int]] = {}
        for argument, element, value in self.tape.outputs:
            by_output.setdefault(argument, {})[element] = value
        for number, one in enumerate(self.found, start=1):
            fresh = []
            for element, entry in enumerate(_entries(one.value)):
                value = by_output.get(number, {}).get(element, -1)  # not there: a zero
                if value in self.names or value not in self.needed:
                    continue
                if (
                    self.tape.operations[value][0] in LEAVES or self.uses[value] < 2
                ):  # not empty: what is needed is used
                    continue
                name = "_".join(filter(None, (one.letter, one.node, entry)))
                while name in self.taken:
                    name += "_on"  # what a step hands on is worked out anew
                self.taken.add(name)
                self.names[value] = name
                fresh.append(value)
            if fresh:
                self.blocks.append((number - 1, fresh))

    # ------------------------------------------------------------------ expressions

    def _expression(self, value: int, least: int = 0) -> str:
        """Return a value where it is used."""
        if value in self.known:
            return self.known[value]
        name, operands = self.tape.operations[value]
        if name == "const":
            number = float(self.tape.constants[value])
            return f"{number!r}" if number >= 0 or not least else f"({number!r})"
        if name == "input":
            argument, element = self.tape.inputs[value]
            return f"{self.function.name_in(argument)}[{element}]"
        if name in INFIX:
            own = STRENGTH.get(name, 0)
            left, right = self._expression(operands[0], own), self._expression(operands[1], own + 1)
            said = left + INFIX[name] + right
            return said if own >= least and own else f"({said})"
        if name == "neg":
            said = f"-{self._expression(operands[0], 3)}"
            return said if not least else f"({said})"
        given = [self._expression(one) for one in operands]
        if name == "if_else_zero":
            return self.language.chosen.format(*given)
        if self.called == "c" and name in ("and", "or"):
            return f"({given[0]} {'&&' if name == 'and' else '||'} {given[1]})"
        if self.called == "c" and name == "not":
            return f"(!{self._expression(operands[0], 3)})"
        if self.called == "c" and name == "sign":
            return f"(({given[0]} > 0) - ({given[0]} < 0))"
        if name not in self.language.functions:
            raise StateError(f"readable source in {self.called} has no word for {name}: use c_source() instead")
        return f"{self.language.functions[name]}({', '.join(given)})"

    def _statements(self, value: int) -> Iterator[str]:
        """Yield what has to be worked out before a value can be written, each once."""
        stack = [(value, False)]
        while stack:
            one, ready = stack.pop()
            if one in self.known or self.tape.operations[one][0] in LEAVES:
                continue
            if ready:
                if one in self.names or self.uses[one] > 1:
                    yield self._statement(one)
                continue
            stack.append((one, True))
            stack += [(operand, False) for operand in reversed(self.tape.operations[one][1])]

    def _statement(self, value: int) -> str:
        if value not in self.names:
            self.count += 1
        name = self.names.get(value, f"t{self.count}")
        said = self._expression(value)
        self.known[value] = name
        return f"{name} = {said}"

    # ------------------------------------------------------------------ text

    def text(self) -> str:
        """Return the whole."""
        lines: list[str] = []
        before = ""
        for number, values in self.blocks:
            one = self.found[number]
            parts = [part for value in values for part in self._statements(value)]
            if not parts:
                continue
            head = f"{one.node}: {one.says[0].lower()}{one.says[1:]}"
            if head != before:
                lines.append(f"    {self.language.comment} {head}")
                before = head
            lines += self._packed(parts)
        rest = [part for value in self.result for part in self._statements(value)]
        if rest:
            lines += [f"    {self.language.comment} what is left", *self._packed(rest)]
        return "\n".join([*self._head(), *lines, *self._tail(), ""])

    def _packed(self, parts: Sequence[str]) -> Iterator[str]:
        """Yield lines with as many statements as they hold; a long one is on lines of its own."""
        start, between, end = self.language.start, self.language.between, self.language.end
        line = ""
        for part in parts:
            if line and len(line) + len(between) + len(part) + len(end) <= WIDTH:
                line += between + part
                continue
            if line:
                yield line + end
            line = f"    {start}{part}"
            if len(line) + len(end) > WIDTH:
                yield from self._wrapped(line)
                line = ""
        if line:
            yield line + end

    def _wrapped(self, line: str) -> list[str]:
        name, _, said = line.partition(" = ")
        if self.called == "python":
            said = f"({said})"
        lines = textwrap.wrap(f"{name} = {said}{self.language.end}", WIDTH - 4, subsequent_indent="        ")
        return [f"    {lines[0].strip()}", *lines[1:]]

    def _head(self) -> list[str]:
        inputs = [self.function.name_in(k) for k in range(self.function.n_in())]
        if self.called == "python":
            return ["import numpy as np", "", "", f"def {self.function.name()}({', '.join(inputs)}):"]
        given = ", ".join([*(f"const double *{one}" for one in inputs), "double *result"])
        return ["#include <math.h>", "", f"void {self.function.name()}({given})", "{"]

    def _tail(self) -> list[str]:
        entries = {element: value for argument, element, value in self.tape.outputs if argument == 0}
        said = [self._expression(entries[k]) if k in entries else "0.0" for k in range(self.function.numel_out(0))]
        whole = [f"result[{k}] = {one};" for k, one in enumerate(said)]
        if self.called == "python":
            whole = [f"return np.array([{', '.join(said)}])"]
        wrapped = [
            part
            for one in whole
            for part in textwrap.wrap(one, WIDTH, initial_indent="    ", subsequent_indent=" " * 8)
        ]
        return wrapped if self.called == "python" else [*wrapped, "}"]
