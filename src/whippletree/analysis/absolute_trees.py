"""Absolute coordinates of a tree: what loops take for granted, for comparison with formulations of trees."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from whippletree.analysis.evaluation_times import Evaluation
from whippletree.formulations.methods import absolute
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.lowering import StraightLine
from whippletree.system import System
from whippletree.system.equations import Request
from whippletree.system.ranks import choose_pivots

__all__ = ["tree_evaluation", "tree_function"]


def tree_function(system: System) -> ca.Function:
    """Return the accelerations of a tree in absolute coordinates (Nikravesh 1-4) as a function of q, v and tau.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> a = tree_function(s)(s.q0, s.v0, 0)
    >>> bool(abs(a.full().ravel() - s.forward_dynamics(s.q0, s.v0)).max() < 1e-9)
    True
    """
    equations = system.kernels.equations
    x = {name: equations.symbol(name, size) for name, size in (("q", system.nq), ("v", system.nv), ("tau", system.nv))}
    walk, closure_set = equations.loaded(x).walk, equations.closure_set(x, kept=False)
    a = absolute.solve(walk, closure_set, _pivots(absolute.bodies(walk, closure_set), list(x.values()), system.q0)).a
    return ca.Function("absolute", list(x.values()), [ca.densify(a)], list(x), ["acceleration"])


def _pivots(bodies: absolute.Bodies, symbols: list[ca.SX], q: Any) -> list[Any]:
    """Return the pivots at a configuration at rest, in the manner of loops."""
    keys = list(bodies.rows)
    columns = list(dict.fromkeys(column for row in bodies.rows.values() for column in row))
    places = [(i, columns.index(c)) for i, key in enumerate(keys) for c in bodies.rows[key]]
    entries = ca.vertcat(*(value for row in bodies.rows.values() for value in row.values()))
    A = np.zeros((len(keys), len(columns)))
    pattern = np.zeros(A.shape, dtype=bool)
    rows, of = np.array(places).T
    A[rows, of] = ca.Function("matrix", symbols, [entries])(q, 0, 0).full().ravel()
    pattern[rows, of] = True
    size = np.abs(A).max(axis=1, keepdims=True)
    return [(keys[i], columns[j]) for i, j in choose_pivots(A / np.where(size > 0, size, 1.0), pattern)]


def tree_evaluation(system: System, q: Any, v: Any) -> Evaluation:
    """Return its evaluation at a state.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> tree_evaluation(s, s.q0, s.v0).run(3) > 0
    True
    """
    signature = system.kernels.equations.signature(Request("forward_dynamics", "composite"))
    return Evaluation.of(Kernel("", signature, lambda: StraightLine(tree_function(system)), None), q, v)
