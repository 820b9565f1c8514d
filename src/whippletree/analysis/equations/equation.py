"""A numbered equation of a text, and how far its two sides are apart on a small mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whippletree.analysis.reports import PaperTable
from whippletree.errors import WhippletreeError

__all__ = ["Equation", "Sides", "Text"]

Array = npt.NDArray[np.float64]
Sides = Callable[[Any], tuple[Array, Array]]
"""Evaluates both sides of an equation in numbers, at a state of the text's mechanism."""

KINDS = {
    "A": "computed, or held by what is computed",
    "D": "notation",
    "S": "a step of a derivation, which no program computes",
}
"""The kinds of equations."""


@dataclass(frozen=True)
class Equation:
    """An equation: its number and kind, its meaning in our words, its corrected form, and where it is here.

    `function` is the path of a function below `whippletree`; `letter` is what the result is called there. `misprint`
    says what the print has instead. `sides` gives both sides in numbers; every equation of kind A has it.
    """

    number: str
    kind: str
    says: str
    form: str = ""
    function: str = ""
    letter: str = ""
    misprint: str = ""
    sides: Sides | None = None
    digits: int = 11

    def gap(self, state: object) -> float:
        """Return how far the two sides are apart, relative to the larger one."""
        if self.sides is None:
            raise WhippletreeError(f"({self.number}) is of kind {self.kind}: {KINDS[self.kind]}; nothing is compared")
        left, right = (np.asarray(side, dtype=float) for side in self.sides(state))
        if left.shape != right.shape:
            raise WhippletreeError(f"({self.number}) has sides of shapes {left.shape} and {right.shape}")
        size = max(float(np.abs(left).max(initial=0.0)), float(np.abs(right).max(initial=0.0)))
        return float(np.abs(left - right).max(initial=0.0)) / size if size else 0.0


@dataclass(frozen=True)
class Text:
    """A text: its short name and title, its equations, and a new state of the mechanism that they are checked on."""

    key: str
    title: str
    equations: tuple[Equation, ...]
    state: Callable[[], Any]

    def table(self) -> PaperTable:
        """Return all equations as a table, with how far the sides of each are apart on numbers."""
        state, rows = self.state(), []
        for one in self.equations:
            apart = f"{one.gap(state):.0e}" if one.sides else ""
            where = f"`{one.function}`" if one.function else ""
            rows.append((one.number, one.kind, one.says, one.form, where, one.letter, one.misprint, apart))
        heads = ("no.", "kind", "what it says", "corrected", "here", "letter here", "in print", "apart")
        kinds = "; ".join(f"{kind}: {what}" for kind, what in KINDS.items())
        return PaperTable(
            self.title,
            heads,
            rows,
            f"Kinds: {kinds}. The last column is how far both sides are apart on a small mechanism, relative to the "
            "larger one: differences of poses in time leave 1e-8 to 1e-12, everything else rounding.",
        )

    def of(self, number: str) -> Equation:
        """Return an equation by its number."""
        for one in self.equations:
            if one.number == number:
                return one
        raise WhippletreeError(f"{self.title} has no equation ({number})")
