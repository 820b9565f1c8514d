"""A few cases run always, the others are marked as deep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

__all__ = ["deep", "examples", "rest", "sampled", "set_depth", "shared"]

_DEEP_RUN = [True]


def set_depth(*, deep_run: bool) -> None:
    """Say whether this run of the tests is a deep one."""
    _DEEP_RUN[0] = deep_run


def examples(count: int) -> int:
    """How many of so many random examples run: all of them in a deep run, and a fifth otherwise."""
    return count if _DEEP_RUN[0] else max(count // 5, 1)


def shared(names: tuple[str, ...], k: int) -> tuple[str, ...]:
    """What the k-th of several tests tries: all in a deep run, otherwise a third, others than its neighbours do."""
    return names if _DEEP_RUN[0] else names[k % 3 :: 3]


def deep(cases: Iterable[Any]) -> list[Any]:
    """Cases that `make test-deep` runs only."""
    return marked(cases, pytest.mark.deep)


def rest(cases: Iterable[Any]) -> list[Any]:
    """Further cases of what the others show, which `make test` leaves to `make test-rest`."""
    return marked(cases, pytest.mark.rest)


def marked(cases: Iterable[Any], mark: pytest.MarkDecorator) -> list[Any]:
    """Cases with a mark."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark) for case in cases]


def sampled(cases: Iterable[Any], always: Callable[[Any], bool], core: int | None = None) -> list[Any]:
    """All cases, of which some run always; where `core` is given, `make test` runs the first so many of these."""
    found, left = [], math.inf if core is None else core
    for case in cases:
        if not always(case):
            found += deep([case])
            continue
        found += [case] if left > 0 else rest([case])
        left -= 1
    return found
