"""Figures as the words of a table: counts, ratios and times, measured or not."""

from __future__ import annotations

from collections.abc import Mapping

from whippletree.analysis.evaluation_times import Evaluation, seconds
from whippletree.analysis.models import PaperModel
from whippletree.kernels.tape import OperationCount
from whippletree.system import System

__all__ = ["NOT_MEASURED", "duration", "percent", "quotient", "ratio", "times_of", "work"]

NOT_MEASURED = "-"


def times_of(
    model: PaperModel, system: System, formulations: Mapping[str, str], times: bool
) -> dict[str, float] | dict[str, None]:
    """Return the seconds that formulations take, by any names; nothing is measured without `times`."""
    if not times:
        return dict.fromkeys(formulations)
    q, v = model.state(system)
    return seconds({name: Evaluation(system, q, v, formulation) for name, formulation in formulations.items()})


def work(count: OperationCount) -> str:
    """Return multiplications and additions."""
    return f"{count.multiplications}m + {count.additions}a"


def percent(ours: int, theirs: int) -> str:
    """Return how much of theirs ours is.

    >>> percent(1, 3)
    '33 %'
    """
    return f"{100 * ours / theirs:.0f} %"


def ratio(value: float, of: float) -> str:
    """Return a count, and its ratio to another.

    >>> ratio(30, 20)
    '30, 1.50'
    """
    return f"{value:.0f}, {value / of:.2f}"


def duration(value: float | None, of: float | None = None) -> str:
    """Return a time, and its ratio to another.

    >>> duration(2e-6), duration(2e-6, 4e-6), duration(None)
    ('2.00 µs', '2.00 µs, 0.50', '-')
    """
    if value is None:
        return NOT_MEASURED
    return f"{1e6 * value:.2f} µs" + ("" if of is None else f", {value / of:.2f}")


def quotient(value: float | None, of: float | None) -> str:
    """Return the ratio of two times.

    >>> quotient(3.0, 2.0), quotient(None, 2.0)
    ('1.5', '-')
    """
    return NOT_MEASURED if value is None or of is None else f"{value / of:.1f}"
