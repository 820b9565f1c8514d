"""A few cases run always, the others are marked as deep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

__all__ = ["deep", "sampled"]


def deep(cases: Iterable[Any]) -> list[Any]:
    """Cases that `make test-deep` runs only."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.deep) for case in cases]


def sampled(cases: Iterable[Any], always: Callable[[Any], bool]) -> list[Any]:
    """All cases, of which some run always."""
    return [case if always(case) else deep([case])[0] for case in cases]
