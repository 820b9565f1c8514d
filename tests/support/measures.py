"""How results are compared."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

Array = np.ndarray


def relative(ours: Any, theirs: Any) -> float:
    """The largest difference over the largest magnitude of that quantity in the state.

    For batches, the first axis counts the states, and the worst of them is taken.

    >>> relative([[1.0, 2.0], [10.0, 20.0]], [[1.0, 2.0], [10.0, 20.2]]).__round__(4)
    0.0099
    """
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    states = len(ours)
    difference = np.abs(ours - theirs).reshape(states, -1).max(axis=1, initial=0.0)
    magnitude = np.abs(theirs).reshape(states, -1).max(axis=1, initial=0.0)
    if not np.isfinite(ours).all():
        return np.inf
    return float(np.max(difference / np.where(magnitude > 0.0, magnitude, 1.0)))


def evaluated(function: ca.Function, *inputs: Array, shape: tuple[int, ...] = (-1,)) -> Array:
    """The values of a CasADi function for a batch of states, by CasADi's own evaluator: (batch, *shape)."""
    columns = function(*(np.asarray(x).T for x in inputs))
    return np.array(columns).T.reshape(len(inputs[0]), *shape)
