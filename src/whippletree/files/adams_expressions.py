"""Functions in Adams data sets: distances, velocities and angles of markers, put into a mechanism's symbols."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import casadi as ca

from whippletree.errors import FileError
from whippletree.files.adams_statements import MOST_DIGITS, AdamsStatement
from whippletree.model import Mechanism
from whippletree.spatial.scalars import Scalar

__all__ = ["AdamsFunction"]

_TOKEN = re.compile(r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[EeDd][-+]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/(),]))")
_DEEPEST = 60
"""Levels of brackets and calls in an expression: a hostile file must not exhaust the stack of Python."""

_PLAIN: dict[str, Callable[..., Scalar]] = {
    "SIN": ca.sin,
    "COS": ca.cos,
    "TAN": ca.tan,
    "ASIN": ca.asin,
    "ACOS": ca.acos,
    "ATAN": ca.atan,
    "SQRT": ca.sqrt,
    "EXP": ca.exp,
    "LOG": ca.log,
    "ABS": ca.fabs,
    "SINH": ca.sinh,
    "COSH": ca.cosh,
    "TANH": ca.tanh,
}
_TWO: dict[str, Callable[..., Scalar]] = {"ATAN2": ca.atan2, "MIN": ca.fmin, "MAX": ca.fmax}


class AdamsFunction:
    """An expression of a statement; `length` is a unit of length in metres.

    `frame(number)` returns the name of a marker's frame in the mechanism.
    """

    def __init__(
        self, statement: AdamsStatement, text: str, mechanism: Mechanism, frame: Callable[[int], str], length: float
    ) -> None:
        self._statement, self._m, self._frame, self._length = statement, mechanism, frame, length
        self._tokens = self._split(text)
        self._at = 0
        self._depth = 0

    def value(self) -> Scalar:
        """Return the expression."""
        found = self._sum()
        if self._at < len(self._tokens):
            raise self._error(f"the function goes on after its end, with {self._tokens[self._at]!r}")
        return found

    def _error(self, message: str) -> FileError:
        return self._statement.error(message)

    def _split(self, text: str) -> list[str]:
        found, at, plain = [], 0, text.replace("\\", " ").rstrip(" ,")
        while at < len(plain):
            match = _TOKEN.match(plain, at)
            if match is None:
                raise self._error(f"the function has {plain[at : at + 20]!r}, which is not understood")
            found.append(match[0].strip())
            at = match.end()
        if len(found) > 5000:
            raise self._error("the function is too long")
        return found

    # ------------------------------------------------------------------ grammar

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._peek()
        if token and (not wanted or token in wanted):
            self._at += 1
            return token
        return ""

    def _sum(self) -> Scalar:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("the function is nested too deep")
        total = self._product()
        while sign := self._take("+", "-"):
            term = self._product()
            total = total + term if sign == "+" else total - term
        self._depth -= 1
        return total

    def _product(self) -> Scalar:
        total = self._signed()
        while sign := self._take("*", "/"):
            term = self._signed()
            total = total * term if sign == "*" else total / term
        return total

    def _signed(self) -> Scalar:
        sign = 1.0
        while token := self._take("+", "-"):
            sign = -sign if token == "-" else sign
        base = self._atom()
        if self._take("**"):
            base = base ** self._signed()
        return sign * base

    def _atom(self) -> Scalar:
        token = self._take()
        if token == "(":
            inner = self._sum()
            self._close()
            return inner
        if token and (token[0].isdigit() or token[0] == "."):
            return ca.SX(float(token.upper().replace("D", "E")))
        if not token or not (token[0].isalpha() or token[0] == "_"):
            raise self._error(f"the function has {token or 'an end'!r} where a value is expected")
        return self._called(token.upper())

    def _close(self) -> None:
        if not self._take(")"):
            raise self._error('the function lacks a ")"')

    def _called(self, name: str) -> Scalar:
        constants = {"PI": math.pi, "DTOR": math.pi / 180, "RTOD": 180 / math.pi}
        if name in constants:
            return constants[name]
        if name in ("TIME", "T"):
            return self._m.time
        if not self._take("("):
            raise self._error(f"{name} in a function is not understood")
        if name in _PLAIN or name in _TWO:
            given = [self._sum()]
            while self._take(","):
                given.append(self._sum())
            self._close()
            if len(given) != (1 if name in _PLAIN else 2):
                raise self._error(f"{name} in a function has {len(given)} arguments")
            found: Scalar = (_PLAIN | _TWO)[name](*given)
            return found
        measured: Scalar = self._measured(name, self._markers())
        return measured

    def _markers(self) -> list[int]:
        """Return the markers that a function of markers names."""
        found: list[int] = []
        while token := self._take():
            if token == ")":
                return found
            if token.isdigit() and len(token) <= MOST_DIGITS:
                found.append(int(token))
            elif token != ",":
                break
        raise self._error("a function of markers takes their numbers")

    # ------------------------------------------------------------------ functions of markers

    def _measured(self, name: str, markers: list[int]) -> Any:
        if not 1 <= len(markers) <= 4 or name not in _MEASURES:
            raise self._error(f"{name} in a function is not understood")
        i = markers[0]
        j = markers[1] if len(markers) > 1 else 0
        k = markers[2] if len(markers) > 2 else 0
        p, u, w = self._relative(i, j)
        axes = self._rotation(k)
        if name == "DM":
            return ca.norm_2(p) / self._length
        if name == "VR":
            return ca.dot(p, u) / ca.norm_2(p) / self._length
        if name == "VM":
            return ca.norm_2(u) / self._length
        if name in ("DX", "DY", "DZ", "VX", "VY", "VZ"):
            return ca.dot(axes[:, "XYZ".index(name[1])], p if name[0] == "D" else u) / self._length
        if name in ("WX", "WY", "WZ"):
            return ca.dot(axes[:, "XYZ".index(name[1])], w)
        if name == "WM":
            return ca.norm_2(w)
        own, other = self._rotation(i), self._rotation(j)
        a = "XYZ".index(name[1])
        b, c = (a + 1) % 3, (a + 2) % 3
        return ca.atan2(ca.dot(own[:, b], other[:, c]), ca.dot(own[:, b], other[:, b]))

    def _relative(self, i: int, j: int) -> tuple[Any, Any, Any]:
        """Return position, velocity and angular velocity of a marker relative to another, in ground axes."""
        here, there = self._state(i), self._state(j)
        return here[0] - there[0], here[1] - there[1], here[2] - there[2]

    def _state(self, marker: int) -> tuple[Any, Any, Any]:
        if marker == 0:
            return ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3)
        place = self._frame(marker)
        moving = self._m.velocity(place)
        return self._m.position(place), moving[3:6], moving[0:3]

    def _rotation(self, marker: int) -> Any:
        return ca.SX.eye(3) if marker == 0 else self._m.rotation(self._frame(marker))


_MEASURES = {"DM", "DX", "DY", "DZ", "VM", "VR", "VX", "VY", "VZ", "AX", "AY", "AZ", "WM", "WX", "WY", "WZ"}
