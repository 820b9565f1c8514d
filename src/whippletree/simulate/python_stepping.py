"""Methods written in plain Python: the base class of steppers, and what their steps are made of.

A step goes from y = [u, v, z, work] to a new y: displacements u from the configuration at its beginning (so u = 0
there, and a rotation vector where there are quaternions), velocities, states of elements, work put in and dissipated:

    u' = T(u) v,      v' = a(q + u, v, t),      z' = z'(q + u, v, z, t),      work' = powers

`MotionRates` evaluates this by the machine code of the run. Everything else that belongs to a step is done around it:
its end is put on the closures, outputs and events are found within it by its dense output, and singular positions are
logged, or left to a method that crosses them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.simulate.corner_crossings import at_corner
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.kernel_calls import SMALLEST, ZERO, KernelBuffers, close_loops, copy
from whippletree.simulate.native_functions import entry
from whippletree.simulate.native_structs import Numbers, NumberTable
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    EVALUATIONS,
    LOOPS,
    NEXT_STEP,
    OUTPUTS,
    RATES_GIVEN,
    REFUSED,
    SINGULAR_FOUND,
    TIME,
    RunState,
    Status,
)
from whippletree.simulate.run_tolerances import AT_END_OF_STEP, CLOSE_ENOUGH, UNTRUSTED_SHARE
from whippletree.simulate.singularity_log import log_passage, look_back_along, over_singular
from whippletree.simulate.state_rates import evaluate, evaluate_end, evaluate_first
from whippletree.simulate.step_output import close_end, complete_step, keep_present, size_to_end, write_present
from whippletree.simulate.steppers import Stepper, Stretch
from whippletree.simulate.zero_crossings import EventWatch

__all__ = ["MotionRates", "PythonStepper"]

_DONE, _UNTRUSTED, _POOR, _OPEN = Status.DONE, Status.UNTRUSTED, Status.POOR, Status.OPEN


@entry
def _begin(b: KernelBuffers, run: RunState, k: Numbers) -> int:
    """Evaluate where a step begins, and look back at the last one; say how good it is."""
    run.flags[CLOSE_STAGES] = 0
    first = evaluate_first(b, run, k)
    if run.flags[LOOPS] and first != _UNTRUSTED and not run.flags[RATES_GIVEN]:
        look_back_along(b, run)
    return int(first)


@entry
def _rates(b: KernelBuffers, run: RunState, t: float, y: Numbers, k: Numbers) -> int:
    """Evaluate the derivatives of y; say whether they are to be trusted."""
    copy(b.q, ZERO, run.q, ZERO, b.q.size)
    copy(b.base, ZERO, run.q, ZERO, b.q.size)
    run.counts[EVALUATIONS] += 1
    return int(evaluate(b, t, y, k, run.flags, UNTRUSTED_SHARE))


@entry
def _close(b: KernelBuffers, run: RunState, new: Numbers, reached: Numbers, k: Numbers, end: float) -> int:
    """Put the end of a step on the closures; say whether it is past a singular position, which others go across."""
    status = close_end(b, run, new, reached, k, end, False)
    if status == _DONE and run.flags[LOOPS]:
        # once more: velocities that were projected where the step had led to are not yet those of the closed position
        nq, nv = b.q.size, b.v.size
        if not close_loops(b, end, reached, ZERO, reached, nq, CLOSE_ENOUGH):
            return _OPEN
        copy(new, nv, reached, nq, nv)
        copy(b.q, ZERO, run.q, ZERO, b.q.size)
        copy(b.base, ZERO, run.q, ZERO, b.q.size)
        run.counts[EVALUATIONS] += 1
        if evaluate(b, end, new, k, run.flags, UNTRUSTED_SHARE) != _DONE:
            return _POOR
        if over_singular(b, run, end - run.times[TIME], new):
            return _POOR
    return int(status)


@entry
def _complete(
    b: KernelBuffers,
    run: RunState,
    w: EventWatch,
    P: NumberTable,
    t: float,
    h: float,
    new: Numbers,
    reached: Numbers,
    until: Numbers,
    rows: NumberTable,
) -> int:
    """Deliver a step and let the run be at its end."""
    status = complete_step(b, run, w, P, t, h, new, reached, until, rows)
    if status == _DONE:
        copy(b.q, ZERO, run.q, ZERO, b.q.size)
        log_passage(b, run)
        keep_present(run)
    return int(status)


@entry
def _present(run: RunState, until: Numbers, rows: NumberTable) -> None:
    write_present(run, until, rows)


@entry
def _size(run: RunState, until: Numbers) -> float:
    return float(size_to_end(run, until))


@entry
def _at_corner(run: RunState) -> bool:
    return bool(at_corner(run))


@entry
def _end_stretch(b: KernelBuffers, run: RunState) -> None:
    """Look back at the last step, if no other step will."""
    if run.flags[LOOPS] and evaluate_end(b, run):
        look_back_along(b, run)


class MotionRates:
    """The equations of motion of a run, for steps in plain Python.

    `size` is that of y, `nv` the number of velocities, `scale` (nv) what displacements are measured by. `first` are the
    rates at the beginning of the step, which are known.
    """

    def __init__(self, bindings: KernelBindings, run: RunState) -> None:
        self.nv, self.size, self.scale = bindings.system.nv, bindings.y_size, bindings.scale
        self.system = bindings.system
        self.first = np.zeros(self.size)
        self.trusted = True
        self._buffers, self._run = bindings.buffers, run

    def __call__(self, t: float, y: Array) -> Array:
        """Return the rates [u', v', z', powers] at a time and at y, from the configuration where the step began."""
        k = np.zeros(self.size)
        given = np.ascontiguousarray(y, dtype=np.float64)
        self.trusted &= _rates(self._buffers, self._run, float(t), given, k) == _DONE
        return k

    def begin(self) -> int:
        """Evaluate the beginning of a step."""
        self.trusted = True
        return int(_begin(self._buffers, self._run, self.first))


class PythonStepper(Stepper):
    """A method whose step is written in Python: one function is enough.

    `step` returns y at the end of a step of size h. What the next step needs goes into `memory`, an array of numbers;
    it is empty when the method begins anew. If the step is refused, the memory of before comes back. A method that
    estimates its error says so (`estimates_error`, `order`) and returns it from `error`.

    >>> class Midpoint(PythonStepper):
    ...     def step(self, rates, t, h, y):
    ...         return y + h * rates(t + h / 2, y + h / 2 * rates.first)
    """

    order: ClassVar[int] = 1
    """The order of the error estimate, which step sizes are chosen by."""

    def prepare(self, bindings: KernelBindings, run: RunState) -> None:
        """Bind the equations of motion."""
        self._rates = MotionRates(bindings, run)
        self._reached, self._unused = np.zeros(bindings.row_size), np.zeros(bindings.y_size)

    @abstractmethod
    def step(self, rates: MotionRates, t: float, h: float, y: Array) -> Array:
        """Return y at the end of a step of size h that begins at y, where u = 0."""

    def error(self, rates: MotionRates, t: float, h: float, y: Array, new: Array) -> Array:
        """Return an estimate of the error of a step, for each entry of y."""
        raise NotImplementedError(f"{type(self).__name__} estimates no error")

    def dense_output(self, rates: MotionRates, t: float, h: float, y: Array, new: Array) -> Array:
        """Return y within a step as a polynomial in the share s of it: rows of coefficients of 1, s, s^2, ...

        It is Hermite's cubic of the rates at both ends, unless a method has something better.
        """
        begin, end, moved = h * rates.first, h * rates(t + h, new), new - y
        return np.array([y, begin, 3 * moved - 2 * begin - end, begin + end - 2 * moved])

    # ------------------------------------------------------------------ the loop

    def advance(self, stretch: Stretch) -> int:
        """Take steps until all outputs are written, or something is to be decided."""
        run, until, events = stretch.run, stretch.until, stretch.watch.counts
        _present(run, until, stretch.rows)
        status, taken = _DONE, 0
        while status == _DONE and run.counts[OUTPUTS] < until.size:
            if taken >= stretch.steps or self._full(stretch):
                status = Status.PAUSED
                break
            taken += 1
            status = self._one_step(stretch)
            if status == Status.AGAIN:
                status = _DONE
            elif status == _DONE and events[1]:
                self.forget()
                status = Status.EVENT
            elif status == _DONE and _at_corner(run):
                status = Status.CORNER
        if status in (_DONE, Status.PAUSED, Status.EVENT, Status.CORNER):
            _end_stretch(stretch.bindings.buffers, run)
        return status

    @staticmethod
    def _full(stretch: Stretch) -> bool:
        """Tell whether there is no room for what the next step may find."""
        run, w = stretch.run, stretch.watch
        return bool(run.counts[SINGULAR_FOUND] >= len(run.singular_found) - 1 or 2 * w.counts[0] > len(w.found))

    def _one_step(self, stretch: Stretch) -> int:
        """Take a step, smaller until it is good, and deliver it."""
        run, rates, until = stretch.run, self._rates, stretch.until
        t, whole, h = run.t, float(run.times[NEXT_STEP]), float(_size(run, until))
        first = rates.begin()
        if first != _DONE:
            return first
        y, kept, grow = run.y.copy(), self.memory.copy(), 1.0
        while True:
            stretch.bindings.buffers.pivots[SMALLEST] = np.inf
            rates.trusted = True
            new = np.ascontiguousarray(self.step(rates, t, h, y.copy()), dtype=np.float64)
            share = self._error_share(t, h, y, new) if self.adaptive else 0.0
            if share <= 1.0 or not rates.trusted:
                break
            self.memory = kept.copy()
            run.counts[REFUSED] += 1
            h, grow = h * max(0.2, 0.9 * share ** (-1.0 / self.order)) if np.isfinite(share) else 0.2 * h, 0.0
            if h < stretch.smallest:
                return Status.TOO_SMALL
        buffers, status = stretch.bindings.buffers, _POOR
        if rates.trusted:
            status = int(_close(buffers, run, new, self._reached, self._unused, t + h))
        if status == _DONE:
            asked = (
                stretch.watch.side.size or stretch.watch.corners or until[run.counts[OUTPUTS]] < t + h * AT_END_OF_STEP
            )
            P = np.ascontiguousarray(self.dense_output(rates, t, h, y, new)) if asked else np.empty((0, y.size))
            status = int(_complete(buffers, run, stretch.watch, P, t, h, new, self._reached, until, stretch.rows))
        if status != _DONE:
            self.memory = kept
        elif self.adaptive:
            wished = h * min(5.0, max(0.2, 0.9 * max(share, 1e-10) ** (-1.0 / self.order))) if grow else h
            run.times[NEXT_STEP] = max(wished, whole) if h < whole and grow else wished
        return status

    def _error_share(self, t: float, h: float, y: Array, new: Array) -> float:
        """Return the estimated error of a step as a share of the tolerance."""
        off, nv, scale = self.error(self._rates, t, h, y, new), self._rates.nv, self._rates.scale
        size = np.maximum(np.abs(y), np.abs(new))
        size[:nv] = scale
        size[nv : 2 * nv] += scale
        size[2 * nv :] += 1.0
        return float(np.sqrt(np.mean((off / (self.tolerance * size)) ** 2)))
