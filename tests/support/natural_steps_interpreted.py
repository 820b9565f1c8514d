"""Steps in natural coordinates by CasADi's evaluator: straight lines, of which no machine code is made.

The order of what is called is that of `natural_march`, written anew.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.natural.natural_coordinates import fitted_joints
from whippletree.realtime import RealtimeStepper
from whippletree.studies.natural_runs import NaturalRun

__all__ = ["InterpretedRows", "interpreted", "interpreted_state"]

Array = np.ndarray


class InterpretedRows(NamedTuple):
    """Natural coordinates, velocities and accelerations after each step, and the joint coordinates fitted to them."""

    x: Array
    rates: Array
    accelerations: Array
    q: Array
    v: Array


def interpreted(run: NaturalRun, steps: int) -> InterpretedRows:
    """Take steps of a run with so many iterations as it says."""
    natural, made, options = run.natural, run.steps, run.options
    near, n = ca.SX.sym("near", natural.system.nq), natural.n_coordinates
    x, rates = ca.SX.sym("x", n), ca.SX.sym("rates", n)
    symbols = [*made.inputs().values(), *natural.parameter_symbols]
    functions = {
        name: ca.Function(name, symbols, [expression])
        for name, expression in (
            ("predict", made.predicted()),
            ("iterate", made.iterated()),
            ("correct", made.corrected()),
            ("end", ca.vertcat(*made.ended())),
        )
    }
    fit = ca.Function("fit", [x, rates, near, *natural.parameter_symbols], [*fitted_joints(natural, x, rates, near)])
    parameters = natural.parameter_values(run.parameters)
    given = {"tau": run.tau, "t": np.array([run.t]), "parameters": run.parameters}
    column = [*natural.state(run.q, run.v, parameters=run.parameters), made.begin(run.q, run.v, given)]
    start = np.concatenate([*column, np.zeros(natural.n_conditions), run.q if run.loaded else []])
    q, t, rows = run.q, run.t, []

    def call(name: str, d: Array) -> Array:
        return np.array(functions[name](start, d, run.settings, run.tau, t, *parameters)).ravel()

    for _ in range(steps):
        t += options.step
        d = call("predict", np.zeros(n))
        for _ in range(options.iterations or 0):
            d = call("iterate", d)[:n]
            if options.projections:
                start = call("correct", d)
        end = call("end", d)
        q, v = (np.array(part).ravel() for part in fit(end[:n], end[n : 2 * n], q, *parameters))
        start = np.concatenate([end, q if run.loaded else []])
        rows.append((end[:n], end[n : 2 * n], end[2 * n : 3 * n], q, v))
    return InterpretedRows(*(np.array(part) for part in zip(*rows, strict=True)))


def interpreted_state(stepper: RealtimeStepper, steps: int) -> Array:
    """Take steps of real time from where a stepper is, and return the state's column; the stepper stays there."""
    traced, column = stepper._traced, stepper.state
    given = {name: ca.SX.sym("given", size) for name, size in traced.inputs}
    state = ca.SX.sym("state", traced.n_state)
    step = ca.Function("step", [state, *given.values()], [traced._expression(state, given)])
    for _ in range(steps):
        *column, status = np.array(step(column, *stepper.inputs.values())).ravel()
        assert not status
    return np.array(column)
