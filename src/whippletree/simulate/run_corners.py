"""The corners of formulas in one run: times at which its steps have to end, and corners that cannot be known."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from whippletree.errors import SimulationError
from whippletree.model.formula_corner_lists import corners_in_state, corners_in_time
from whippletree.simulate.corner_crossings import CornerWatch
from whippletree.simulate.corner_sides import nearest_corner, sides_of_corner
from whippletree.simulate.corner_times import Timetable, corner_times
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.packed_forms import COUNT, FINITE, Header, NumberForm, read_form
from whippletree.simulate.run_state import (
    AT_CORNER,
    GRID_NEXT,
    GRID_TIME,
    MISSED,
    NEXT_STEP,
    RESUMED_STEP,
    SPAN,
    STOP_AT,
    TIME,
    RunState,
)
from whippletree.simulate.run_tolerances import CHATTER_SHARE, MOST_CHATTER, RAPID_EVENTS, TIME_ROUNDING
from whippletree.system import System

if TYPE_CHECKING:
    from whippletree.simulate.simulation import Simulation

__all__ = ["RunCorners"]


class RunCorners:
    """Lets the steps of a run end at corners: those in time, from a table, and those in the state, found in each step.

    >>> from whippletree.system.example_systems import pendulum
    >>> RunCorners(pendulum()).unknown()
    ()
    """

    def __init__(self, system: System) -> None:
        self._in_time = corners_in_time(system.description)
        self._in_state = corners_in_state(system.description)
        self._whole = np.array([one.whole for one in self._in_state], dtype=np.int64)
        self._muted = np.zeros(len(self._in_state), dtype=np.int64)
        self._last = np.zeros(2, dtype=np.int64)
        self._watch: CornerWatch | None = None
        self.restart()

    def restart(self) -> None:
        """Forget all corners that were met."""
        self._muted.fill(0)
        self._last.fill(0)
        self._met: dict[int, tuple[float, int]] = {}  # since when meetings of a corner are counted, and how many
        self._muted_at: dict[int, float] = {}
        self.passed = 0
        self._table: Timetable | None = None
        self._table_for: tuple[float, float, bytes | None] = (0.0, -np.inf, None)

    def watch(self, bindings: KernelBindings) -> int:
        """Return the address of the expressions that machine code watches; zero if there are none."""
        if not self._in_state:
            return 0
        arrays = (bindings.corner_kernel, bindings.corner_values, self._whole, self._muted, self._last)
        self._watch = CornerWatch(*arrays)
        return self._watch.address

    @property
    def timed(self) -> bool:
        """Whether there are corners in time, so that a stretch has to be prepared."""
        return bool(self._in_time)

    @property
    def in_state(self) -> bool:
        """Whether there are corners that the state decides, which are looked for in every step."""
        return bool(self._in_state)

    def prepare(self, sim: Simulation, end: float) -> None:
        """Before a stretch: step behind a corner that the run is at, and set the time of the next."""
        run = sim.run_state
        t, run.times[STOP_AT] = run.t, np.inf
        table = self._listed(t, end, sim)
        k = int(table.behind.searchsorted(t, side="right"))
        while k < table.before.size and table.before[k] <= t + TIME_ROUNDING * abs(t) and t < end:
            run.times[TIME] = t = min(float(table.behind[k]), end)
            sim.stepper.forget()
            k += 1
        if k < table.before.size:
            run.times[STOP_AT] = table.before[k]

    def _listed(self, t: float, end: float, sim: Simulation) -> Timetable:
        """Return the table that holds from now to the end; it is made for longer than that, so that it serves again."""
        begin, horizon, used = self._table_for
        given = None if sim.parameters is None else sim.parameters.tobytes()
        if self._table is None or t < begin or end > horizon or used != given:
            again = self._table is not None and end > horizon and t >= begin
            horizon = end + (end - begin if again else 0.0)
            begin = t - 8 * TIME_ROUNDING * abs(t) - 1e-300
            self._table = corner_times(self._in_time, sim.parameter_values, begin, horizon)
            self._table_for = begin, horizon, given
        return self._table

    def arrive(self, sim: Simulation, bindings: KernelBindings) -> None:
        """Go on behind a corner that the run has come to, or across: with the step of before, and a method anew."""
        run = sim.run_state
        self.passed += int(run.flags[AT_CORNER] != MISSED)
        if run.flags[AT_CORNER]:
            self._count_chatter(run, bindings)
        if not sim.adaptive and run.times[GRID_NEXT] > run.t:
            run.times[GRID_TIME] = run.times[GRID_NEXT]
        if run.times[RESUMED_STEP] > 0.0:
            run.times[NEXT_STEP] = max(run.times[NEXT_STEP], run.times[RESUMED_STEP])
        run.times[RESUMED_STEP] = 0.0
        run.flags[AT_CORNER] = 0
        sim.stepper.forget()

    def _count_chatter(self, run: RunState, bindings: KernelBindings) -> None:
        """Look at both sides of a corner that the motion meets again and again."""
        missed = run.flags[AT_CORNER] == MISSED  # steps have not shown which one it is
        i = nearest_corner(bindings, run, self._whole) if missed else int(self._last[0])
        since, count = self._met.get(i, (run.t, 0))
        self._met[i] = (since, count + 1)
        if count + 1 < MOST_CHATTER:
            return
        del self._met[i]
        name, whole = self._in_state[i].name, bool(self._whole[i])  # whole numbers are many corners
        at_once = max(RAPID_EVENTS * run.times[SPAN], 0.0 if whole else CHATTER_SHARE * run.times[RESUMED_STEP])
        rapid = run.t - since < MOST_CHATTER * at_once
        sides = sides_of_corner(bindings, run, i, whole=whole)
        if sides.slides:
            raise SimulationError(
                f"at t = {run.t:.9g} s the motion slides along a corner of {name}: both sides of it drive the motion "
                f"back to it, as dry friction by sign() does at rest, and no step gets away; describe friction by "
                f"m.friction, or write the law as a smooth one, as tanh(v / 1e-3) instead of sign(v)"
            )
        if rapid and sides.jumps:
            raise SimulationError(
                f"at t = {run.t:.9g} s a corner of {name} is crossed again and again, in ever shorter times: the run "
                f"would not end; write the law as a smooth one, or end the run there by an event"
            )
        if rapid:
            self._muted[i] = 1
            self._muted_at[i] = run.t

    def nearest(self, run: RunState, bindings: KernelBindings) -> str:
        """Return the owner of the corner that the motion is nearest to; empty if the state decides about none."""
        return self._in_state[nearest_corner(bindings, run, self._whole)].name if self._in_state else ""

    def next_one(self) -> str:
        """Return the owner of the corner that was found last; empty if the state decides about none."""
        return self._in_state[int(self._last[0])].name if self._in_state else ""

    def unknown(self) -> tuple[str, ...]:
        """Return in words the corners that may have been passed over."""
        said = [
            f"corners of {self._in_state[i].name} from t = {t:.6g} s on, where the motion slides along one"
            for i, t in self._muted_at.items()
        ]
        if self._table is not None and self._table.spacing > 0:
            said.append(f"corners of formulas of time that are less than {self._table.spacing:.2g} s apart")
        if self._table is not None:
            said += [f"corners in time of {name}: there are too many" for name in self._table.too_many]
        return tuple(said)

    def copy(self) -> RunCorners:
        """Return the same for a simulation that goes its own way."""
        twin = copy.copy(self)
        for name in ("_muted", "_last", "_met", "_muted_at"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def __getstate__(self) -> Header:
        return self.__dict__ | {"_watch": None}

    def pack(self) -> Header:
        """Return the corners found so far, in plain numbers."""
        return {
            "passed": self.passed,
            "muted": [[i, t] for i, t in self._muted_at.items()],
            "recent": [[i, t, count] for i, (t, count) in self._met.items()],
        }

    def unpack(self, kept: object) -> None:
        """Restore the data of `pack`; refuse corners that do not exist."""
        which = NumberForm(0, len(self._in_state) - 1, whole=True)
        form = {"passed": COUNT, "muted": [(which, FINITE)], "recent": [(which, FINITE, COUNT)]}
        found = read_form(form, kept, "corners")
        self.passed, self._muted_at = found["passed"], dict(found["muted"])
        self._met = {i: (t, count) for i, t, count in found["recent"]}
        self._muted[list(self._muted_at)] = 1
