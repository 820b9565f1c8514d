"""The arguments of a run, checked: numbers, and the values that can be set in it (velocities, efforts, states)."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import ModelError, StateError
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import NameLike
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import masked, number, shown
from whippletree.system import System

__all__ = ["KINDS", "duration_of", "finite", "increasing", "positive", "value_index"]


def finite(value: float, what: str) -> float:
    """Return a finite number.

    >>> finite(2, "t0")
    2.0
    """
    try:
        return number(value, what)
    except ModelError as error:
        raise StateError(str(error)) from None


def increasing(times: ArrayLike, what: str) -> Array:
    """Return times that do not go back as an array.

    >>> increasing([0, 1], "times")
    array([0., 1.])
    """
    given = np.full(1, np.nan)
    with contextlib.suppress(Exception):  # objects may do what they like when they are asked for numbers
        read = np.array(times)
        if not masked(times) and (read.dtype.kind in "fiu" or not read.size):  # neither dates nor truth values nor text
            given = read.astype(np.float64)
    if given.ndim != 1 or not np.isfinite(given).all() or (np.diff(given) < 0).any():
        raise StateError(f"{what}= must be increasing finite numbers")
    return given


def positive(value: float, what: str) -> float:
    """Return a positive number.

    >>> positive(2, "step")
    2.0
    """
    given = np.nan
    with contextlib.suppress(ModelError):
        given = number(value, what)
    if not (np.isfinite(given) and given > 0):
        raise StateError(f"{what}= must be a positive number, not {shown(value)}")
    return given


_SHORTEST, _LONGEST = 1e-300, 1e18
"""The times that can be asked for, in seconds: shorter ones cannot be divided, and the universe is younger."""


def duration_of(value: float) -> float:
    """Return a duration in seconds.

    >>> duration_of(2)
    2.0
    """
    length = positive(value, "duration")
    if not _SHORTEST <= length <= _LONGEST:
        which, limit = ("longer", f"less than {_LONGEST:g}") if length > 1 else ("shorter", f"more than {_SHORTEST:g}")
        raise StateError(f"duration={length:g} s is {which} than can be computed: take {limit} s")
    return length


KINDS = ("velocity", "effort", "state", "parameter")
"""The kinds of values that can be set in a run."""


def value_index(system: System, kind: str, name: NameLike, index: int) -> int:
    """Return where something that can be set is among the numbers of its kind.

    >>> from whippletree.system.example_systems import pendulum
    >>> value_index(pendulum(), "velocity", "hinge", 0)
    0
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise StateError(f"nothing can be set by the kind {suggestion(kind, KINDS)}")
    d = system.description
    owners: dict[str, tuple[Any, ...]] = {"parameter": d.parameters, "state": d.states}
    known = owners.get(kind, d.coordinate_owners)
    names = [one.name for one in known]
    called = getattr(name, "name", name)
    if not isinstance(called, str) or called not in names:
        what = kind if kind in ("parameter", "state") else "joint"
        raise StateError(f"there is no {what} {suggestion(called, names)}")
    where = slice(names.index(called), names.index(called) + 1)
    if known is d.coordinate_owners:
        where = system.v_slice(called)
    size = where.stop - where.start
    if isinstance(index, bool) or not isinstance(index, int | np.integer) or not 0 <= index < size:
        own = (
            f'joint "{called}" has {size} velocities'
            if known is d.coordinate_owners
            else f'{kind} "{called}" is one number'
        )
        raise StateError(f"{own}, counted from 0: there is no {kind} {shown(index)}")
    return where.start + int(index)
