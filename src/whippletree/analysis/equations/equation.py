"""A numbered equation of a text: what it says, and a form that is printed, and worked out in numbers.

A form is written in Python over the letters of the text, each a number or array of a small mechanism in motion:

    Y[j] == B1[j] @ Y[i] + B2[j] @ d_q[j]

`j` goes over bodies and `i` is the parent of each; `d_q` is the rate of q, and `rate(x)` that of any expression, by
differences along the motion. Parts are parted by ";", and `name = ...` names a part of what follows. The same text is
printed as `Y_j = B1_j Y_i + B2_j q'_j` (`in_print`). Forms are ours: nothing else is ever worked out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from whippletree.analysis.equations.in_print import in_print
from whippletree.analysis.reports import PaperTable
from whippletree.errors import WhippletreeError

__all__ = ["Array", "Equation", "Text", "WorkedMotion", "lever", "rot", "rows", "tilde"]

Array = npt.NDArray[np.float64]

KINDS = {
    "A": "computed, or held by what is computed",
    "D": "notation",
    "S": "a step of a derivation, which no program computes",
}
"""The kinds of equations."""

EMPTY = 1e-6
"""BothSides that are smaller than this are nothing: rows say so by a side that is 0."""


class WorkedMotion(Protocol):
    """Where the letters of a text have numbers: a mechanism at a state of motion."""

    def letter(self, name: str) -> Any:
        """Return a letter's numbers."""

    def pairs(self, on: str) -> list[tuple[str, str]]:
        """Return the bodies that a form is about, each with its parent."""

    def later(self, h: float) -> WorkedMotion:
        """Return the motion a time h later."""

    @property
    def closed(self) -> WorkedMotion:
        """Return the same mechanism with its loops closed."""


class BothSides(NamedTuple):
    """Both sides of a part in numbers, for one body; a side may be a plain 0."""

    part: int
    left: Array
    right: Array
    zero: bool

    @property
    def size(self) -> float:
        """Return the largest entry."""
        return max(float(np.abs(side).max(initial=0.0)) for side in (self.left, self.right))

    @property
    def apart(self) -> float:
        """Return the largest difference."""
        return float(np.abs(self.left - self.right).max(initial=0.0))


@dataclass(frozen=True)
class Equation:
    """An equation: its number, what it says in our words, its corrected form, and where it is here.

    `function` is the path of a function below `whippletree`; `letter` is what the result is called there. `misprint`
    says what the print has instead. `on` tells the bodies that it is about by their joints, or that loops are closed.
    """

    number: str
    kind: str
    says: str
    form: str = ""
    function: str = ""
    letter: str = ""
    misprint: str = ""
    on: str = ""
    digits: int = 9

    def sides(self, motion: WorkedMotion) -> Iterator[BothSides]:
        """Yield both sides of every part, for every body that it is about."""
        if self.kind != "A":
            raise WhippletreeError(f"({self.number}) is of kind {self.kind}: {KINDS[self.kind]}; nothing is compared")
        on = self.on.split()
        scope = _FormScope(motion.closed if "closed" in on else motion)
        parts, indexed = _compiled(self.form)
        chosen = " ".join(word for word in on if word != "closed")
        for j, i in scope.motion.pairs(chosen) if indexed else [("", "")]:
            scope.update(j=j, i=i)
            for number, part in enumerate(parts):
                if part.name:
                    scope[part.name] = eval(part.left, scope, scope)
                    continue
                left, right = (np.asarray(eval(code, scope, scope), dtype=float) for code in (part.left, part.right))
                if left.shape != right.shape and not part.zero:
                    raise WhippletreeError(f"({self.number}) has sides of shapes {left.shape} and {right.shape}")
                yield BothSides(number, left, right, part.zero)

    def gap(self, motion: WorkedMotion) -> float:
        """Return how far both sides are apart at the worst body, relative to the largest entry of all bodies."""
        found: dict[int, list[BothSides]] = {}
        for one in self.sides(motion):
            found.setdefault(one.part, []).append(one)
        worst = []
        for bodies in found.values():
            size = max(one.size for one in bodies)  # not empty: made with one
            apart = max(one.apart for one in bodies)  # not empty: made with one
            if size < EMPTY and not bodies[0].zero:
                raise WhippletreeError(f"({self.number}) compares nothing with nothing")
            worst.append(apart if bodies[0].zero else apart / size)
        if not worst:
            raise WhippletreeError(f"({self.number}) compares nothing with nothing")
        return float(max(worst))  # not empty: looked at above


@dataclass(frozen=True)
class Text:
    """A text: its short name and title, its equations, and a new motion of the mechanism that they are checked on."""

    key: str
    title: str
    equations: tuple[Equation, ...]
    motion: Callable[[], WorkedMotion]

    def table(self, *, worked_out: bool = True) -> PaperTable:
        """Return all equations as a table, with how far the sides of each are apart on numbers."""
        motion, rows = self.motion() if worked_out else None, []
        for one in self.equations:
            apart = f"{one.gap(motion):.0e}" if motion and one.kind == "A" else ""
            where = f"`{one.function}`" if one.function else ""
            rows.append((one.number, one.kind, one.says, in_print(one.form), where, one.letter, one.misprint, apart))
        heads = ("no.", "kind", "what it says", "corrected", "here", "letter here", "in print", "apart")
        kinds = "; ".join(f"{kind}: {what}" for kind, what in KINDS.items())
        return PaperTable(
            self.title,
            heads,
            rows,
            f"Kinds: {kinds}. j is a body and i its parent; velocities and forces are [angular; linear]. The last "
            "column is how far both sides are apart on a small mechanism, relative to the larger one: rates by "
            "differences leave 1e-8 to 1e-12, everything else rounding.",
        )

    def errata(self) -> PaperTable:
        """Return the misprints as a table."""
        rows = [(one.number, one.misprint, in_print(one.form) or one.says) for one in self.equations if one.misprint]
        return PaperTable(self.title, ("no.", "in print", "corrected"), rows)

    def of(self, number: str) -> Equation:
        """Return an equation by its number."""
        for one in self.equations:
            if one.number == number:
                return one
        raise WhippletreeError(f"{self.title} has no equation ({number})")


# ---------------------------------------------------------------------------------------------------------
# Rows as text


def rows(text: str, places: Mapping[str, str]) -> tuple[Equation, ...]:
    """Read equations from a text; `places` are short names of modules.

    A row begins with number, kind and what the equation says. Lines that are set in continue it: the form, on as many
    lines as it needs, and what begins with a word: `in` function: letters, `print` what the print has instead, `on`
    which bodies, `digits` to which its sides agree.

    >>> rows("3 A inertia\\n  M[j] == m[j] * eye(3)\\n  in GA._locate: M\\n  on all", {"GA": "ground_axes"})[0].function
    'ground_axes._locate'
    """
    found: list[dict[str, Any]] = []
    for line in filter(None, text.splitlines()):
        word, _, rest = line.strip().partition(" ")
        if not line.startswith(" "):
            kind, _, says = rest.partition(" ")
            found.append({"number": word, "kind": kind, "says": says})
        elif word == "in":
            where, _, letter = rest.partition(": ")
            module, _, name = where.partition(".")
            found[-1] |= {"function": f"{places[module]}.{name}", "letter": letter}
        elif word in _WORDS:
            found[-1][_WORDS[word]] = int(rest) if word == "digits" else rest
        else:
            found[-1]["form"] = f"{found[-1].get('form', '')} {line.strip()}".strip()
    return tuple(Equation(**row) for row in found)


_WORDS = {"print": "misprint", "on": "on", "digits": "digits"}
"""What lines of a row begin with, and what they give."""


# ---------------------------------------------------------------------------------------------------------
# How a form is worked out


class _FormPart(NamedTuple):
    """A part of a form: two sides, one of them perhaps a plain 0, or a name and what it stands for."""

    left: CodeType
    right: CodeType
    zero: bool
    name: str


class _Rates(ast.NodeTransformer):
    """Hand what `rate` is given over unevaluated, so that it can be worked out at other times."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "rate":
            nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            node.args = [ast.Lambda(nothing, node.args[0])]
        return node


@lru_cache(maxsize=1000)
def _compiled(form: str) -> tuple[list[_FormPart], bool]:
    """Return the parts of a form, and whether it is about bodies."""
    found = []
    names = {node.id for node in ast.walk(ast.parse(form)) if isinstance(node, ast.Name)}
    for statement in ast.parse(form).body:
        if isinstance(statement, ast.Assign):
            assert isinstance(statement.targets[0], ast.Name)
            value = _code(statement.value)
            found.append(_FormPart(value, value, False, statement.targets[0].id))
            continue
        assert isinstance(statement, ast.Expr)
        assert isinstance(statement.value, ast.Compare)
        sides = [statement.value.left, *statement.value.comparators]
        zero = isinstance(sides[-1], ast.Constant) and sides[-1].value == 0
        found += [_FormPart(_code(a), _code(b), zero, "") for a, b in pairwise(sides)]
    return found, "j" in names


def _code(node: ast.expr) -> CodeType:
    return compile(ast.fix_missing_locations(ast.Expression(_Rates().visit(node))), "<form>", "eval")


class _FormScope(dict[str, Any]):
    """The names of a form: functions, what has been named, and the text's letters at the motion."""

    def __init__(self, motion: WorkedMotion) -> None:
        super().__init__(FUNCTIONS, rate=self.rate)
        self.motion = motion

    def __missing__(self, name: str) -> Any:
        if name.startswith("__") or name in _BUILTIN:
            raise KeyError(name)
        return self.motion.letter(name)

    def rate(self, value: Callable[[], Any], h: float = 1e-3) -> Array:
        """Return how fast something changes along the motion."""
        now = self.motion
        found = []
        for k in (-2, -1, 1, 2):
            self.motion = now.later(k * h)
            found.append(np.asarray(value(), dtype=float))
        self.motion = now
        return np.asarray(8 * (found[2] - found[1]) - (found[3] - found[0])) / (12 * h)


_BUILTIN = ("sum", "len", "range", "abs", "max")
"""Functions of Python that forms may use."""


def tilde(r: Array) -> Array:
    """Return the matrix of r x.

    >>> tilde(np.array([1.0, 2.0, 3.0])) @ np.array([1.0, 2.0, 3.0])
    array([0., 0., 0.])
    """
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def lever(r: Array) -> Array:
    """Return T, which moves velocities [w; u] to a point at r.

    >>> lever(np.array([1.0, 0.0, 0.0])) @ np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    array([0., 0., 1., 0., 1., 0.])
    """
    T = np.eye(6)
    T[3:, :3] = -tilde(r)
    return T


def rot(u: Array, angle: float) -> Array:
    """Return the rotation about a unit vector by an angle.

    >>> rot(np.array([0.0, 0.0, 1.0]), np.pi / 2).round(3) @ np.array([1.0, 0.0, 0.0])
    array([0., 1., 0.])
    """
    return np.asarray(np.eye(3) + np.sin(angle) * tilde(u) + (1 - np.cos(angle)) * tilde(u) @ tilde(u))


def diag(*blocks: Array) -> Array:
    """Return blocks along the diagonal."""
    n = sum(len(block) for block in blocks)
    whole, at = np.zeros((n, n)), 0
    for block in blocks:
        whole[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return whole


def total(parts: Mapping[Any, Array] | Iterator[Array]) -> Array:
    """Return the sum of some arrays."""
    return np.asarray(sum(parts.values() if isinstance(parts, Mapping) else parts))


FUNCTIONS: dict[str, Any] = {
    "cross": np.cross,
    "tilde": tilde,
    "T": lever,
    "rot": rot,
    "inv": np.linalg.inv,
    "solve": np.linalg.solve,
    "dot": np.dot,
    "outer": np.outer,
    "sin": np.sin,
    "cos": np.cos,
    "stack": lambda *parts: np.concatenate([np.atleast_1d(part) for part in parts]),
    "cols": lambda *parts: np.hstack([part[:, None] if np.ndim(part) == 1 else part for part in parts]),
    "rows": lambda *parts: np.vstack(parts),
    "block": np.block,
    "diag": diag,
    "pinv": np.linalg.pinv,
    "zeros": np.zeros,
    "eye": np.eye,
    "total": total,
}
"""The functions of forms."""
