"""Absolute coordinates of a tree: what loops take for granted, for comparison with formulations of trees."""

from __future__ import annotations

from typing import Any

import casadi as ca

from whippletree.analysis.timing import Evaluation
from whippletree.formulations import absolute
from whippletree.formulations.independent_coordinates import Choice
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.unrolled import StraightLine
from whippletree.system import System
from whippletree.system.equations import Equations, Request
from whippletree.system.loop_equations import LoopPlan
from whippletree.system.loops import Loops

__all__ = ["tree_evaluation", "tree_function"]


def tree_function(system: System) -> ca.Function:
    """Return the accelerations of a tree in absolute coordinates (Nikravesh 1-4) as a function of q, v and tau.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> a = tree_function(s)(s.q0, s.v0, 0)
    >>> bool(abs(a.full().ravel() - s.forward_dynamics(s.q0, s.v0)).max() < 1e-9)
    True
    """
    equations = Equations(system.description, system.plan)
    equations.loops = LoopPlan((), Choice((), ()), system.q0, 1.0, tuple, tuple, dict, tuple)  # nothing to decide
    loops = Loops(equations, system._states, None)
    pivots = loops._absolute_pivots(system.q0, loops.conditions())
    x = {name: equations._symbol(name, size) for name, size in (("q", system.nq), ("v", system.nv), ("tau", system.nv))}
    walk = equations.loaded(x).walk
    a = absolute.solve(walk, equations.closing(x, kept=False), pivots).a
    return ca.Function("absolute", list(x.values()), [ca.densify(a)], list(x), ["acceleration"])


def tree_evaluation(system: System, q: Any, v: Any) -> Evaluation:
    """Return its evaluation at a state.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> s = five_bar_pendulum().build()
    >>> tree_evaluation(s, s.q0, s.v0).run(3) > 0
    True
    """
    signature = system._engine.equations.signature(Request("forward_dynamics", "composite"))
    return Evaluation.of(Kernel("", signature, lambda: StraightLine(tree_function(system)), None), q, v)
