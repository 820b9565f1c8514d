"""Short texts of results at a prompt: at most a screen, with the numbers that a person wants."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any, TypeVar

import numpy as np

__all__ = ["COLUMNS", "LINES", "Named", "counted", "fields_text", "readable", "short_text"]

COLUMNS, LINES = 100, 20
"""The largest `repr` of a public object, in characters and lines."""

_FEW = 6
"""Numbers of a vector that are all shown."""

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")


def readable(cls: Class) -> Class:
    """Give a class a `repr` of at most a screen: its own text if it has one, or its fields line by line.

    >>> @readable
    ... @dataclasses.dataclass
    ... class Gear:
    ...     ratio: float
    ...     teeth: np.ndarray
    >>> Gear(0.5, np.arange(100))
    Gear
      ratio  0.5
      teeth  0 to 99 (100)
    """
    changed: Any = cls
    own = fields_text if changed.__str__ is object.__str__ else changed.__str__

    def text(self: object) -> str:
        return screen(own(self))

    changed.__repr__ = text
    return cls


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which is in the plural unless there is one.

    >>> counted(1, "body"), counted(2, "body"), counted(0, "loop")
    ('1 body', '2 bodies', '0 loops')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def screen(text: str) -> str:
    """Wrap and cut a text to a screen.

    >>> screen("\\n".join("abc")), screen("\\n".join(["line"] * 30)).splitlines()[-1]
    ('a\\nb\\nc', '... 11 more lines: print() shows them')
    """
    lines = [part for line in text.splitlines() for part in _wrapped(line)]
    if len(lines) > LINES:
        left = len(lines) - LINES + 1
        lines = [*lines[: LINES - 1], f"... {left} more lines: print() shows them"]
    return "\n".join(lines)


def _wrapped(line: str) -> list[str]:
    if len(line) <= COLUMNS:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, COLUMNS, subsequent_indent=indent, drop_whitespace=False)


def fields_text(record: Any) -> str:
    """Return the name of a record's type and its fields, one a line."""
    fields = {name: getattr(record, name) for name in _field_names(record)}
    width = max(map(len, fields), default=0)
    return "\n".join([type(record).__name__, *(f"  {name:<{width}}  {short_text(v)}" for name, v in fields.items())])


def _field_names(record: Any) -> list[str]:
    if dataclasses.is_dataclass(record):
        return [one.name for one in dataclasses.fields(record) if one.repr]
    return [*getattr(record, "_fields", ())]


def short_text(value: object) -> str:
    """Return one line about a value: numbers if there are few, else their range and how many there are.

    >>> short_text(np.eye(3)), short_text(np.array([1.0, 0.25])), short_text("A"), short_text({"a": 1})
    ('0 to 1 (3, 3)', '[1, 0.25]', 'A', 'a: 1')
    """
    if isinstance(value, np.ndarray):
        return _array_text(value)
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, dict):
        text = ", ".join(f"{key}: {short_text(one)}" for key, one in value.items())
    elif isinstance(value, tuple | list) and len(value) > _FEW and all(isinstance(one, float) for one in value):
        return _array_text(np.array(value))
    elif isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        text = ", ".join(map(short_text, value))
    else:
        text = str(value)
    line = " ".join(text.split()) or "none"
    return line if len(line) <= COLUMNS - 30 else f"{line[: COLUMNS - 33]}..."


def _array_text(array: np.ndarray[Any, Any]) -> str:
    if not array.ndim:
        return short_text(array.item())
    if array.size <= _FEW and array.ndim == 1:
        return f"[{', '.join(map(short_text, array.tolist()))}]"
    shape = ", ".join(map(str, array.shape))
    if not array.size or array.dtype.kind not in "fiu":
        return f"array ({shape}) of {array.dtype}"
    least, most = np.nanmin(array), np.nanmax(array)
    between = f"{least:.6g}" if least == most else f"{least:.6g} to {most:.6g}"
    return f"{between} ({shape})"


@readable
class Named(dict[str, Value]):
    """A dictionary of results by name, which prints a line for each.

    >>> Named({"A": np.zeros(3), "crank": np.ones((2, 3))})
    A      [0, 0, 0]
    crank  1 (2, 3)
    """

    def __str__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {short_text(value)}" for name, value in self.items()) or "{}"
