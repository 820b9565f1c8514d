"""A run: a simulation on its way through its outputs, with a controller or without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.simulate.controllers import (
    ControlLaw,
    Controller,
    checked_period,
    controller_state,
    restore_controller,
    samples,
)
from whippletree.simulate.packed_forms import COUNT, ArrayForm, Header, read_array, read_form
from whippletree.simulate.run_arguments import increasing
from whippletree.simulate.simulation import Simulation
from whippletree.simulate.steppers import OutputWindow

__all__ = ["SampledRun"]


class SampledRun:
    """A simulation on its way through its outputs, in stretches from sample to sample of its controller.

    Steps end exactly at the samples. At a sample, the efforts are those that begin there; at the end of the run, those
    that were held until then. Without a controller the start is the only sample, and no controller is called there.

    Where the run is: past sample number `sample`, before which it had made `first` outputs; `begun` tells whether the
    controller was asked there already. `origin` is the state at the start, as a row. `base` are the efforts of joints
    that a controller does not name, and `memory` is what it remembered after its last call, which is looked at only if
    checkpoints are written. `asked` are the times of outputs that were asked for; `until` are these and `looks`, other
    times at which the run is compared with further ones.

    >>> from whippletree.simulate.simulation import _example
    >>> run = SampledRun(_example(), np.array([0.0, 0.1, 0.6]), lambda t, q, v, z: [2 * t], 0.25)
    >>> run.go()
    >>> run.efforts.ravel().tolist(), run.finished
    ([0.0, 0.0, 1.0], True)
    """

    def __init__(
        self,
        simulation: Simulation,
        until: Array,
        controller: Controller | None = None,
        period: float | None = None,
        start: float | None = None,
        looks: Array | None = None,
    ) -> None:
        self.simulation, self.asked, self.looks = simulation, until, looks
        self.until = until if looks is None else np.union1d(until, looks)
        self.start = simulation.state.t if start is None else start
        self.controller, self.period = controller, checked_period(controller, period)
        self.samples = np.array([self.start]) if self.period is None else samples(self.start, self.period, until)
        stops = np.searchsorted(self.until, self.samples[1:])
        self._stops = np.append(stops, len(self.until))
        times = np.insert(self.until, stops, self.samples[1:]) if stops.size else self.until
        self._times = increasing(times, "until")  # outputs and samples in one row
        self.base = simulation.tau.copy()
        self._law = None if controller is None else ControlLaw(simulation, controller, self.base)
        self.origin = simulation.row()
        if start is None:
            simulation.run_state.keep_steps()
        self.rows = np.zeros((len(self.until) + 1, simulation.row_size))  # one more, for the state at a sample
        self._window = OutputWindow(self._times, self.rows)
        self._held = np.zeros((len(self.until), 0 if controller is None else self.base.size))
        self.sample, self.first, self.begun, self.finished = 0, 0, False, False
        self.memory: Array | None = None

    @property
    def made(self) -> int:
        """How many outputs are made; the last number of a stretch is that of the next sample."""
        since = self.simulation.outputs if self.begun else 0
        return min(self.first + since, self._next)

    @property
    def efforts(self) -> Array:
        """The efforts at every output that is made, or those at all times if there is no controller."""
        if self.controller is None:
            return self.simulation.tau.copy()
        held = self._held[: self.made].copy()
        for change in self.simulation.events.changes[1:]:  # what events set holds until the next sample
            ends = (*self.samples[np.searchsorted(self.samples, change.t) :][:1], np.inf)[0]
            held[np.searchsorted(self.until, change.t, "right") : np.searchsorted(self.until, ends)] = change.tau
        return held

    def outputs(self) -> tuple[Array, Array, Array]:
        """Return times, rows and efforts of the requested outputs that were reached.

        >>> from whippletree.simulate.simulation import _example
        >>> run = SampledRun(_example(), np.array([0.0, 0.2]), looks=np.array([0.0, 0.1, 0.2]))
        >>> run.go()
        >>> run.outputs()[0].tolist(), len(run.looked())
        ([0.0, 0.2], 3)
        """
        made, efforts = self.until[: self.made], self.efforts
        if self.looks is None:
            return made, self.rows[: len(made)], efforts
        asked = np.isin(made, self.asked)
        return made[asked], self.rows[: len(made)][asked], efforts if efforts.ndim == 1 else efforts[asked]

    def looked(self) -> Array:
        """Return the rows at `looks` as far as they are made."""
        made = self.until[: self.made]
        return self.rows[: len(made)][slice(None) if self.looks is None else np.isin(made, self.looks)]

    @property
    def marched(self) -> Array:
        """The states at the start, at the ends of steps as far as they are kept, and at present: [t, row, efforts].

        They do not depend on the outputs. Where a number is not finite they end.

        >>> from whippletree.simulate.simulation import _example
        >>> run = SampledRun(_example(), np.array([0.1]))
        >>> run.go()
        >>> run.marched.shape
        (101, 6)
        """
        now, kept = self.simulation.run_state.present(), self.simulation.run_state.kept_rows
        if now[0] <= self.start:
            return now[None]
        count = int(np.searchsorted(kept[:, 0], now[0]))  # the last one may be the present
        rows = np.empty((count + 2, now.size))
        rows[1:-1], rows[-1] = kept[:count], now
        rows[0, : 1 + self.origin.size] = self.start, *self.origin
        rows[0, 1 + self.origin.size :] = rows[1, 1 + self.origin.size :]
        broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        return rows[: broken[0]] if broken.size else rows

    def go(self, watch: Callable[[float], bool] | None = None, writer: Any = None) -> None:
        """Move on to the last output, unless an event ends the run, `watch` wants it, or a call is interrupted.

        `writer.look(run)` is called some ten times a second, and `writer.write(run)` at the end.
        """
        if self.finished:
            return
        pause = None
        if writer is not None:
            self.memory, pause = controller_state(self.controller), lambda: writer.look(self)
        while self.go_to_sample(watch, pause, remember=writer is not None):
            pass
        if writer is not None:
            writer.write(self)

    def go_to_sample(
        self,
        watch: Callable[[float], bool] | None = None,
        pause: Callable[[], None] | None = None,
        *,
        remember: bool = False,
    ) -> bool:
        """Ask the controller, and move on to its next sample; tell whether the run goes on from there.

        >>> from whippletree.simulate.simulation import _example
        >>> run = SampledRun(_example(), np.array([0.0, 0.1, 0.6]), lambda t, q, v, z: [2 * t], 0.25)
        >>> run.go_to_sample(), run.simulation.state.t, run.made
        (True, 0.25, 2)
        """
        simulation, outputs, resumed = self.simulation, self._window, self.begun
        if not self.sample:
            simulation.check_step(float(self.until[-1]))
        if not (resumed or self._begin(watch, remember=remember)):
            return False
        first, sample, stop, count = self.first, self.sample, self._next, self._count
        outputs.show(first + sample, first, count)
        if resumed or not sample:
            made = len(simulation.run(outputs.until, watch, pause, outputs.rows, resumed=resumed))
        else:
            made = simulation.run_window(outputs, watch, pause)
        self.finished = bool(simulation.events.ended) or (made == count and sample == len(self.samples) - 1)
        if made < count or self.finished:
            return False
        self.sample, self.first, self.begun = sample + 1, stop, False
        return True

    def pack(self) -> tuple[Header, dict[str, Array]]:
        """Return how far the run is, beside its simulation, as plain values and arrays by name."""
        header = {name: getattr(self, name) for name in ("start", "period", "sample", "first", "begun", "finished")}
        arrays = {"until": self.asked, "rows": self.rows[: self.made], "efforts": self.efforts, "base": self.base}
        arrays["origin"] = self.origin
        if self.looks is not None:
            arrays["looks"] = self.looks
        if self.memory is not None:
            arrays["controller_state"] = self.memory
        return header, arrays

    def unpack(self, kept: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take over how far another run with the same settings was, and the state of its controller."""
        form = {"sample": COUNT, "first": COUNT, "begun": bool, "finished": bool}
        self.__dict__.update(read_form(form, kept, "header"))
        if not (self.sample < len(self.samples) and self.first <= self._next):
            raise StateError("its samples do not fit its outputs")
        made, size, nv = self.made, self.rows.shape[1], self.base.size
        if self.begun and self.simulation.outputs > self._count:
            raise StateError("it has made more outputs than were asked for")
        self.rows[:made] = read_array(ArrayForm((made, size)), arrays, "rows")
        self.base[:] = read_array(ArrayForm((nv,)), arrays, "base")
        self.origin[:] = read_array(ArrayForm((size,)), arrays, "origin")
        if self.controller is not None:
            self._held[:made] = read_array(ArrayForm((made, nv)), arrays, "efforts")
            self._held[made : self._next] = self.simulation.tau
        restore_controller(self.controller, arrays.get("controller_state"))

    def _begin(self, watch: Callable[[float], bool] | None, *, remember: bool) -> bool:
        """Ask the controller at a sample; tell whether the run goes on from there."""
        if self.sample and watch is not None and watch(self.samples.item(self.sample)):
            return False
        if self._law is not None:
            try:
                tau = self._law.efforts()
                memory = self._law.remembered() if remember else None
            except KeyboardInterrupt:
                return False
            self.simulation.tau[:], self.memory = tau, memory
            first, stop = self.first, self._next
            if stop > first:
                self._held[first:stop] = tau
        self.begun = True
        return True

    @property
    def _count(self) -> int:
        """How many outputs this stretch has, with the sample that it ends at."""
        return self._next - self.first + (self.sample < len(self.samples) - 1)

    @property
    def _next(self) -> int:
        """The first output of the next stretch."""
        return int(self._stops.item(self.sample))
