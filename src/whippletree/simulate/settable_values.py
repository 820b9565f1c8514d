"""What can be set in a run: velocities and efforts of joints, states of elements, parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.errors import StateError
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import shown
from whippletree.system import System

__all__ = ["KINDS", "value_index"]

KINDS = ("velocity", "effort", "state", "parameter")
"""What can be set."""


def value_index(system: System, kind: Any, name: Any, index: Any) -> int:
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
