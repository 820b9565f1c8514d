"""Steps of the implicit methods, in machine code (see `generalized_alpha` for the methods).

A step is solved by `newton_iteration`. Then the velocities are put on the closures, with least kinetic energy of the
change, so that neither method loses its order.

`memory` is what a run keeps from step to step: the rates (accelerations and states' rates) of the last step's end and
their averages A, those computed from the state a step ago, and the multipliers to begin with. So a run that is cloned
or resumed goes on with the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whippletree.simulate import system_interface
from whippletree.simulate.corner_crossings import shorten_for_corner
from whippletree.simulate.generalized_alpha import implicit_method
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.kernel_calls import (
    PIVOT,
    ZERO,
    KernelBuffers,
    close_loops,
    copy,
    longest_step,
    normalize,
    not_inlined,
)
from whippletree.simulate.native_functions import bare, by_address, cast_to, inner
from whippletree.simulate.native_structs import NativeStruct, Number, Numbers, NumberTable, Words
from whippletree.simulate.newton_iteration import (
    CUT,
    DRIVEN,
    MOTION,
    POSITION,
    STATE,
    VELOCITY,
    Newton,
    average,
    iterate_newton,
    put_on_closures,
)
from whippletree.simulate.packed_forms import FLAG, NumberForm
from whippletree.simulate.run_state import (
    CLOSE_STAGES,
    CUT_STEP,
    LOOPS,
    NEXT_STEP,
    RATES_GIVEN,
    REFUSED,
    TIME,
    RunState,
    Status,
)
from whippletree.simulate.run_tolerances import (
    CLOSE_ENOUGH,
    CORNER_HOP_IMPLICIT,
    HANDED_OVER_LATE,
    MOST_TRIES,
    NEWTON_CONVERGED,
    POOR_FIRST_GUESS,
    TIGHT,
    UNSETTLED,
    UNTRUSTED_SHARE,
)
from whippletree.simulate.singularity_log import (
    log_passage,
    look_back_along,
    over_singular,
    parabola,
    singular_ahead,
)
from whippletree.simulate.state_rates import evaluate, evaluate_first
from whippletree.simulate.step_output import complete_step, record_closing, size_to_end
from whippletree.simulate.steppers import CompiledStepper, MethodOptions
from whippletree.simulate.time_loop import SMALLEST_ALLOWED, TOLERANCE, StepperCode, look_back
from whippletree.simulate.zero_crossings import EventWatch

__all__ = ["Implicit"]

_DONE, _UNTRUSTED, _POOR, _SINGULAR = Status.DONE, Status.UNTRUSTED, Status.POOR, Status.SINGULAR
_OPEN, _TOO_SMALL, _NOT_FINITE, _STUCK = Status.OPEN, Status.TOO_SMALL, Status.NOT_FINITE, Status.STUCK
_AGAIN, _CORNER = Status.AGAIN, Status.CORNER

# in `memory`: how many steps back it reaches, the size of the last one, and the freedom in which Newton's method was
# farthest off when it did not converge
_DEPTH, _LAST, _WORST, _BEGIN = 0, 1, 2, 3


class ImplicitWork(NativeStruct):
    """What a step works with."""

    memory: Numbers
    before: Numbers  # the memory before the step
    moved: Numbers  # the configuration at its end
    reached: Numbers  # the state there as a row [q, v, z, work]
    new: Numbers  # y there
    k0: Numbers  # rates at its beginning
    k1: Numbers  # and at its end
    adaptive: Number


newton_at = cast_to(Newton)
work_at = cast_to(ImplicitWork)


@bare
def _estimate(
    method: Numbers,
    h: float,
    last: float,
    y: Numbers,
    new: Numbers,
    k0: Numbers,
    k1: Numbers,
    older: Numbers,
    scale: Numbers,
    tolerance: float,
) -> float:
    """Return the error of a step as a share of the tolerance, from accelerations at its ends and a step before."""
    not_inlined()
    nv = scale.size
    count = y.size - 2 - nv
    total = 0.0
    for i in range(count):
        a0, a1 = k0[nv + i], k1[nv + i]
        if i < nv:
            total += (method[5] * h * h * (a1 - a0) / (tolerance * scale[i])) ** 2
            size = scale[i] + max(abs(y[nv + i]), abs(new[nv + i]))
        else:
            size = 1.0 + max(abs(y[nv + i]), abs(new[nv + i]))
        bend = (a1 - a0) / h  # with nothing older: too large, to be safe
        if last > 0.0:
            bend = 2.0 * h * ((a1 - a0) / h - (a0 - older[i]) / last) / (h + last)
        total += (method[6] * h * h * bend / (tolerance * size)) ** 2
    return float(np.sqrt(total / max(count + nv, 1)))


@inner
def _step(
    b: KernelBuffers,
    n: Newton,
    run: RunState,
    past: Numbers,
    t: float,
    h: float,
    k0: Numbers,
    moved: Numbers,
    new: Numbers,
) -> int:
    """Take one step; leave its end in `moved` and `new`, and the rates in `past`'s place for them."""
    not_inlined()
    flags, method = run.flags, n.coefficients
    nq, nv, nz = b.q.size, b.v.size, b.z.size
    m = nv + nz
    start, mean, rates = np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        if past[_DEPTH] == 0.0 or method[4] > 0.0:
            start[i], mean[i] = k0[nv + i], k0[nv + i]
        else:
            start[i] = past[_BEGIN + i]
            # the average belongs to a time that is so many steps away: a step of another size, another time
            mean[i] = start[i] + h / past[_LAST] * (past[_BEGIN + m + i] - start[i])
    kept = past[_BEGIN + 3 * m :]
    found, fast = -1, False
    for i in range(nv):
        fast = fast or h * h * abs(start[i]) > POOR_FIRST_GUESS * run.scale[i]
    for attempt in range(3):
        copy(n.multipliers, ZERO, kept, ZERO, n.multipliers.size)
        copy(b.q, ZERO, run.q, ZERO, nq)
        found = iterate_newton(b, n, h, t, start, mean, rates, new, run, fast == (attempt != 1), attempt == 2)
        if found > 0:
            break
    if found <= 0:
        past[_WORST] = -1 - found
        return _STUCK
    copy(moved, ZERO, b.here, ZERO, nq)
    normalize(b, moved, ZERO)
    if flags[LOOPS]:
        if not put_on_closures(b, n, t + h, moved, new, nv):
            return _OPEN
        copy(b.spare_q, ZERO, moved, ZERO, nq)
        if not close_loops(b, t + h, moved, ZERO, new, nv, TIGHT if flags[CLOSE_STAGES] else CLOSE_ENOUGH):
            return _OPEN
        record_closing(b, run, moved)
    for i in range(nv, 2 * nv + nz):
        if not np.isfinite(new[i]):
            return _NOT_FINITE
    for i in range(m):
        past[_BEGIN + m + i] = average(method, rates[i], start[i], mean[i])
        past[_BEGIN + i] = rates[i]
    copy(kept, ZERO, n.multipliers, ZERO, n.multipliers.size)
    return _DONE


@inner
def _finish(b: KernelBuffers, t: float, q: Numbers, new: Numbers, k: Numbers, flags: Words) -> int:
    """Evaluate the rates at a state that was reached; say whether they are to be trusted."""
    not_inlined()
    copy(b.q, ZERO, q, ZERO, b.q.size)
    copy(b.base, ZERO, q, ZERO, b.q.size)
    here = np.empty(new.size)
    copy(here, ZERO, new, ZERO, new.size)
    for i in range(b.v.size):
        here[i] = 0.0
    return int(evaluate(b, t, here, k, flags, UNTRUSTED_SHARE))


@inner
def _attempt(
    b: KernelBuffers, n: Newton, run: RunState, a: ImplicitWork, t: float, h: float, tolerance: float, smallest: float
) -> tuple[int, float, float, int]:
    """Take a step, again and smaller until it is good; return a status, the size, the error, and the refusals."""
    not_inlined()
    past, before, m = a.memory, a.before, b.v.size + b.z.size
    error, shrunk, pivot = 0.0, 0, b.pivots[PIVOT]
    while True:
        status = _step(b, n, run, past, t, h, a.k0, a.moved, a.new)
        share = 0.25
        if status == _DONE:
            good = _finish(b, t + h, a.moved, a.new, a.k1, run.flags)
            if run.flags[LOOPS] and (
                good != _DONE or singular_ahead(b, run, pivot, HANDED_OVER_LATE) or over_singular(b, run, h, a.new)
            ):
                # others go across singular positions
                return _SINGULAR if good == _DONE else _POOR, h, error, shrunk
            if not a.adaptive:
                return _DONE, h, error, shrunk
            back = past[_LAST] if past[_DEPTH] > 0.0 else 0.0
            older = before[_BEGIN + 2 * m : _BEGIN + 3 * m]
            error = _estimate(n.coefficients, h, back, run.y, a.new, a.k0, a.k1, older, run.scale, tolerance)
            if error <= 1.0:
                return _DONE, h, error, shrunk
            share = max(0.2, 0.9 * error ** (-1.0 / 3.0)) if np.isfinite(error) else 0.2
        elif not a.adaptive:
            return status, h, error, shrunk
        worst = past[_WORST]
        copy(past, ZERO, before, ZERO, past.size)
        past[_WORST] = worst
        run.counts[REFUSED] += 1
        shrunk += 1
        h *= share
        if h < smallest or shrunk > MOST_TRIES:
            return _STUCK if status == _STUCK else _TOO_SMALL, h, error, shrunk


@bare
def _unsettled(a: ImplicitWork, run: RunState, h: float, nv: int) -> bool:
    """Tell whether the accelerations of a step's end are not those of its state: it is on both sides of a corner."""
    off = 0.0
    for i in range(nv):
        off = max(off, h * abs(a.k1[nv + i] - a.memory[_BEGIN + i]) / run.scale[i])
    return off > max(UNSETTLED, 10.0 * NEWTON_CONVERGED / h)


@by_address
def implicit_step(
    s: StepperCode, b: KernelBuffers, run: RunState, w: EventWatch, until: Numbers, rows: NumberTable
) -> int:
    """Take a step of an implicit method."""
    n, a, y, nq, nv = newton_at(s.method), work_at(s.work), run.y, b.q.size, b.v.size
    past, new, t, whole = a.memory, a.new, run.times[TIME], run.times[NEXT_STEP]
    h = size_to_end(run, until)
    run.flags[CLOSE_STAGES] = 0
    first = evaluate_first(b, run, a.k0)
    if run.flags[LOOPS] and first != _UNTRUSTED and not run.flags[RATES_GIVEN]:
        look_back(s, b, run)
    if first != _DONE:
        return int(first)
    if run.flags[LOOPS] and a.adaptive:
        h = min(h, longest_step(y, nv, run.scale))
    copy(a.before, ZERO, past, ZERO, past.size)
    status, h, error, shrunk = _attempt(b, n, run, a, t, h, s.limits[TOLERANCE], s.limits[SMALLEST_ALLOWED])
    if status == _DONE and w.corners != 0 and _unsettled(a, run, h, nv):
        status = _STUCK
    if status == _DONE:
        for i in range(y.size - 2, y.size):
            new[i] = y[i] + 0.5 * h * (a.k0[i] + a.k1[i])
        copy(a.reached, ZERO, a.moved, ZERO, nq)
        copy(a.reached, nq, new, nv, y.size - nv)
        status = complete_step(b, run, w, parabola(h, y, new, nv), t, h, new, a.reached, until, rows)
    if status != _DONE:
        copy(past, _BEGIN, a.before, _BEGIN, past.size - _BEGIN)
        if status == _STUCK and w.corners != 0 and h > CORNER_HOP_IMPLICIT * whole:
            # Newton's method goes to and fro between two sides of one
            return _AGAIN if shorten_for_corner(run, w, 0.25 * h, t, h) else _CORNER
        return int(status)
    m = nv + b.z.size
    copy(past, _BEGIN + 2 * m, a.k0, nv, m)
    past[_DEPTH], past[_LAST] = 0.0 if w.counts[1] or run.times[CUT_STEP] > 0.0 else 1.0, h
    run.times[NEXT_STEP] = whole
    if a.adaptive:
        grow = min(2.0, max(0.2, 0.9 * max(error, 1e-10) ** (-1.0 / 3.0)))
        size = h * grow if grow < 0.95 or (grow > 1.2 and not shrunk) else h
        run.times[NEXT_STEP] = max(size, whole) if h < whole and not shrunk else size
    copy(b.q, ZERO, run.q, ZERO, nq)
    log_passage(b, run)
    return _DONE


@by_address
def implicit_look_back(s: StepperCode, b: KernelBuffers, run: RunState) -> None:
    """Log a singular position that the last step went over; the present state is just evaluated."""
    look_back_along(b, run)


class Implicit(CompiledStepper):
    """The trapezoidal rule and the generalised-alpha method."""

    estimates_error = True
    takes_spectral_radius = True
    corner_hop = CORNER_HOP_IMPLICIT
    step_function = "implicit_step"
    look_back_function = "implicit_look_back"

    def __init__(self, options: MethodOptions) -> None:
        self._method = implicit_method(options.method, options.spectral_radius)
        super().__init__(options)

    def amplification(self, rate: complex) -> float:
        """Return the factor of the trapezoidal rule; the generalised-alpha method takes out more than that."""
        return float(abs((2 + rate) / (2 - rate)))

    def stuck(self) -> int:
        """Return the velocity in which Newton's method was farthest off."""
        return int(self.memory[_WORST])

    def memory_size(self, bindings: KernelBindings) -> int:
        """Return how many numbers the method keeps: rates of the last steps, and multipliers."""
        rates = bindings.system.nv + bindings.system.nz
        return _BEGIN + 3 * rates + system_interface.multiplier_count(bindings.system)

    def memory_entries(self, nv: int) -> Mapping[int, NumberForm]:
        """Return what the counts and the place in v may be."""
        return {_DEPTH: FLAG, _LAST: NumberForm(low=0.0), _WORST: NumberForm(0, max(nv - 1, 0), whole=True)}

    def structs(self, bindings: KernelBindings) -> tuple[NativeStruct, NativeStruct]:
        """Bind the kernels of Newton's method, and make room for a step."""
        system, y_size = bindings.system, bindings.y_size
        nv, nm = system.nv, system_interface.multiplier_count(system)
        n = nv + nm + system.nz
        own = [
            bindings.array(name, size)
            for name, size in (
                ("unknown", nv),
                ("displacement", nv),
                ("step", 2),
                ("multipliers", nm),
                ("residual", n + nv + nm),
                ("matrix", n * n),
            )
        ]
        renamed = {"q": "here", "a": "unknown", "u": "displacement"}
        kernels = np.zeros((2, 6), dtype=np.int64)
        for row, name in zip(kernels, ("residual", "matrix"), strict=True):
            row[:] = bindings.bind(f"newton_{name}", renamed, name)
        newton = Newton(
            self._method.numbers(),
            kernels,
            *own,
            _row_kinds(bindings, nm),
            np.zeros(n, dtype=np.int64),
            np.zeros((n, n)),
        )
        sizes = (self.memory.size, system.nq, bindings.row_size, y_size, y_size, y_size)
        return newton, ImplicitWork(self.memory, *(np.zeros(size) for size in sizes), int(self.adaptive))


def _row_kinds(bindings: KernelBindings, nm: int) -> Words:
    """Return what each row of the equations is."""
    system = bindings.system
    kinds = np.full(system.nv + nm + system.nz, STATE, dtype=np.int64)
    kinds[: system.nv] = np.where(system_interface.driven_freedoms(system), DRIVEN, MOTION)
    for freedoms in system_interface.cut_freedoms(system):
        kinds[freedoms] = CUT
    at = system.nv
    for count, on_velocities in system_interface.closure_rows(system):
        kinds[at : at + count] = VELOCITY if on_velocities else POSITION
        at += count
    return kinds
