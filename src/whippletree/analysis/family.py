"""Two formulations along a family of mechanisms: where one overtakes the other, in operations and in measured time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from whippletree.analysis.cost import costs
from whippletree.analysis.evaluation_times import Evaluation, seconds
from whippletree.analysis.models import PaperModel
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing

__all__ = ["Curves", "compare"]


NOISE = 0.08
"""Measured times that differ by less than this share are taken for equal."""


@user_facing
@readable
@dataclass(frozen=True)
class Curves:
    """The cost of two formulations by size of the mechanism.

    >>> c = Curves("chain", "recursive", "direct", (1, 2, 3), (5, 10, 15), (2, 9, 20))
    >>> c.break_even, c.crossings
    (3, 1)
    """

    family: str
    first: str
    second: str
    sizes: tuple[int, ...]
    of_first: tuple[float, ...]
    of_second: tuple[float, ...]
    noise: float = 0.0  # a difference below this share is none

    @property
    def break_even(self) -> int | None:
        """The size from which on the first is no dearer than the second, as far as sizes go; None if there is none."""
        last = None
        for size, a, b in reversed(list(zip(self.sizes, self.of_first, self.of_second, strict=True))):
            if a > b * (1 + self.noise):
                break
            last = size
        return last

    @property
    def crossings(self) -> int:
        """How often the curves cross; where they meet counts for neither."""
        pairs = zip(self.of_first, self.of_second, strict=True)
        ahead = [a < b for a, b in pairs if abs(a - b) > self.noise * min(a, b)]
        return sum(x != y for x, y in itertools.pairwise(ahead))


@user_facing
def compare(
    family: Callable[[int], PaperModel],
    sizes: Iterable[int],
    first: str,
    second: str,
    *,
    measure: str = "operations",
    name: str = "",
) -> Curves:
    """Return the costs of two formulations along a family: "operations", "unfolded" operations, or "seconds".

    >>> from whippletree.analysis.models import star
    >>> compare(star, (1, 2, 4), "articulated", "composite").crossings
    0
    """
    chosen = tuple(sizes)
    pairs = [_measured(family(n), (first, second), measure) for n in chosen]
    called = name or getattr(family, "__name__", "family")
    noise = NOISE if measure == "seconds" else 0.0
    return Curves(called, first, second, chosen, tuple(a for a, _ in pairs), tuple(b for _, b in pairs), noise)


def _measured(model: PaperModel, formulations: Sequence[str], measure: str) -> tuple[float, float]:
    system = model.build()
    if measure == "seconds":
        q, v = model.state(system)
        times = seconds({name: Evaluation(system, q, v, name) for name in formulations})
        return times[formulations[0]], times[formulations[1]]
    if measure not in ("operations", "unfolded"):
        raise ValueError(f'measure must be "operations", "unfolded" or "seconds", not {measure!r}')
    a, b = (costs(system, name, folded=measure == "operations").total.total for name in formulations)
    return float(a), float(b)
