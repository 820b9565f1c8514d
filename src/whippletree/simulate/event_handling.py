"""The events of a run: the expressions that machine code watches, the crossings found, and the actions on them.

An event that only records does not touch the steps. One that acts ends its step: the run goes on from the state at the
event, with what the event sets. What that adds to the energy is recorded as work put in, and what it takes as work
dissipated, so that the balance of the run stays whole.

Events that switch efforts or parameters may turn back the motion that has led to them, and at once the next one
happens: a relay on the border between its two states, where the motion should slide along (Filippov). Steps that end at
events cannot follow that. It is found out, since no such event is lost, and ends the run in words, as does a pile-up of
events such as the bounces of a ball that comes to rest.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from whippletree.errors import AssemblyError, SimulationError, StateError, WhippletreeError
from whippletree.kernels.kernel import Array, NotFiniteError
from whippletree.model.description import EventUse
from whippletree.model.names import suggestion
from whippletree.simulate import system_interface
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.packed_forms import FINITE, ArrayForm, Header, MapForm, NumberForm, read_array, read_form
from whippletree.simulate.python_stepping import MotionRates
from whippletree.simulate.run_arguments import value_index
from whippletree.simulate.run_state import TIME
from whippletree.simulate.run_tolerances import (
    HELD_RATE,
    RAPID_EVENTS,
    RAPID_ROUNDINGS,
    RATE_DISPLACEMENT,
    TIME_ROUNDING,
)
from whippletree.simulate.zero_crossings import AT_ZERO, NO_NUMBER, EventWatch
from whippletree.spatial.scalars import shown

if TYPE_CHECKING:
    from whippletree.simulate.simulation import Simulation
    from whippletree.system import System

OnEvent: TypeAlias = Callable[..., object] | Mapping[str, Callable[..., object]] | None
"""A function of the simulation and an event, called when the event happens; or functions by the events' names."""

__all__ = ["EventRecord", "Events", "SettingChange"]


_HEADER_FORM = {
    "calls": [str],
    "happened": [(str, FINITE)],
    "changes": [NumberForm(high=1e300, endless=True)],  # the first is what holds from the beginning on
    "acted": MapForm(FINITE),
    "started": bool,
    "ended": str,
}


class EventRecord(NamedTuple):
    """An event that was found: its name, its time and the state then, before anything is set.

    >>> EventRecord("touch", 0.5, np.zeros(1), np.ones(1), np.zeros(0)).name
    'touch'
    """

    name: str
    t: float
    q: Array
    v: Array
    z: Array


class SettingChange(NamedTuple):
    """Efforts and parameters from a time on."""

    t: float
    tau: Array
    parameters: Array


class Moment(NamedTuple):
    """The state [q, v, z] at an event, the values of all expressions there, and how fast they change."""

    state: Array
    values: Array
    rates: Array


class Events:
    """Watches the events of a system; `on_event` maps names to functions that are called when one happens.

    >>> from whippletree.system.example_systems import pendulum
    >>> Events(pendulum(), None, 5).uses
    ()
    """

    def __init__(self, system: System, on_event: OnEvent, row_size: int) -> None:
        self.uses = system.description.events
        self.calls = _calls(self.uses, on_event)
        count = len(self.uses)
        self.side, self.fresh = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
        self._wanted = np.array([use.direction for use in self.uses], dtype=np.int64)
        self._acts = np.array([use.acts or use.name in self.calls for use in self.uses], dtype=np.int64)
        self._counts = np.zeros(2, dtype=np.int64)
        in_a_step = count * (7 + 14 * count)
        self._found = np.zeros((2 * in_a_step + 128 if count else 0, 2 + row_size))
        self.restart()
        _check_parameters(system, self.uses)

    def restart(self) -> None:
        """Forget the past events, and the signs of all watched expressions."""
        self.side.fill(0)
        self.fresh.fill(1)
        self._counts.fill(0)
        self._found.fill(0.0)
        self.happened: list[EventRecord] = []
        self.changes: list[SettingChange] = []
        self.acted: dict[str, float] = {}
        self.ended = ""
        self.started = False

    def copy(self) -> Events:
        """Return the same for a simulation that goes its own way."""
        twin = copy.copy(self)
        for name in ("side", "fresh", "_counts", "_found"):
            setattr(twin, name, getattr(self, name).copy())
        for name in ("happened", "changes", "acted"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def pack(self) -> tuple[Header, dict[str, Array]]:
        """Return the past events, and the signs of all watched expressions, as plain values and arrays."""
        header = {
            "calls": sorted(self.calls),
            "happened": [[one.name, one.t] for one in self.happened],
            "changes": [change.t for change in self.changes],
            "acted": self.acted,
            "started": self.started,
            "ended": self.ended,
        }
        arrays: Header = {"side": self.side.copy(), "fresh": self.fresh.copy()}
        for name in ("q", "v", "z"):
            arrays[f"event_{name}"] = np.array([getattr(one, name) for one in self.happened])
        arrays["change_tau"] = np.array([change.tau for change in self.changes])
        arrays["change_parameters"] = np.array([change.parameters for change in self.changes])
        return header, arrays

    def unpack(self, system: System, header: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Restore the data of `pack`; refuse data that no run of these events can have left."""
        kept = read_form(_HEADER_FORM, header, "header")
        nq, nv, nz, parameters = system.nq, system.nv, system.nz, len(system.description.parameters)
        names = {use.name for use in self.uses}
        unknown = ({*kept["calls"], *kept["acted"], *(n for n, _ in kept["happened"]), kept["ended"]} - {""}) - names
        if unknown:
            # not empty: looked at above
            raise StateError(f"there is no event {suggestion(min(unknown), names)}")
        missing = [name for name in kept["calls"] if name not in self.calls]
        if missing:
            raise StateError(f'event "{missing[0]}" has a function, which a file does not hold: give on_event= again')
        side, fresh = (NumberForm(low, 2, whole=True) for low in (-1, 0))
        self.side[:] = read_array(ArrayForm(self.side.shape, side, np.int64), arrays, "side")
        self.fresh[:] = read_array(ArrayForm(self.fresh.shape, fresh, np.int64), arrays, "fresh")
        parts = self._unpacked_rows(arrays, len(kept["happened"]), {"event_q": nq, "event_v": nv, "event_z": nz})
        self.happened = [EventRecord(n, t, *(p[k] for p in parts)) for k, (n, t) in enumerate(kept["happened"])]
        both = self._unpacked_rows(arrays, len(kept["changes"]), {"change_tau": nv, "change_parameters": parameters})
        self.changes = [SettingChange(t, *(p[k] for p in both)) for k, t in enumerate(kept["changes"])]
        self.acted, self.started, self.ended = kept["acted"], kept["started"], kept["ended"]

    @staticmethod
    def _unpacked_rows(arrays: Mapping[str, Array], count: int, sizes: Mapping[str, int]) -> list[Array]:
        """Return arrays of so many rows; those without any have lost their sizes."""
        if not count:
            return []
        return [read_array(ArrayForm((count, size)), arrays, name) for name, size in sizes.items()]

    def watched(self, bindings: KernelBindings, corners: int = 0) -> EventWatch:
        """Return the events for the time loops; `corners` is the address of the other watched expressions, or zero."""
        arrays = (self.side, self.fresh, self._wanted, self._acts, self._counts, self._found)
        return EventWatch(bindings.event_kernel, bindings.event_values, *arrays, corners)

    def start(self, sim: Simulation, bindings: KernelBindings) -> None:
        """Find out on which side of zero everything is, if that is not known."""
        if self.uses and not self.started:
            self.fresh[:] = 1
            self.side[:] = np.sign(self._values(sim, bindings))
        self.started = True

    def collect(self, sim: Simulation) -> None:
        """Take over the crossings that machine code has found."""
        nq, nv = sim.system.nq, sim.system.nv
        for row in self._found[: self._counts[0]]:
            state = row[2:]
            parts = (state[:nq].copy(), state[nq : nq + nv].copy(), state[nq + nv : -2].copy())
            self.happened.append(EventRecord(self.uses[int(row[0])].name, float(row[1]), *parts))
        self._last = [int(row[0]) for row in self._found[: self._counts[0]] if row[1] == sim.state.t]
        self._counts[0] = 0
        for use, side in zip(self.uses, self.side, strict=True):
            if side == NO_NUMBER:
                raise SimulationError(
                    f'before t = {sim.state.t:.9g} s the expression of event "{use.name}" is not a number: check it'
                )

    def act(self, sim: Simulation, bindings: KernelBindings, span: float) -> None:
        """Carry out the actions of the events at the present time."""
        self._counts[1] = 0
        t = sim.state.t
        which = sorted(i for i in self._last if self._acts[i])
        if not self.changes:
            self.changes.append(SettingChange(-np.inf, sim.tau.copy(), sim.parameter_values))
        before = self._moment(sim, bindings, rates=any(self._may_move(self.uses[i]) for i in which))
        energy = _energy(sim)
        for i in which:
            self._one(sim, bindings, self.uses[i])
        _project_velocities(sim, always=not np.array_equal(before.state, sim.row()[:-2]))
        sim.record_work(_energy(sim) - energy)
        self.changes.append(SettingChange(t, sim.tau.copy(), sim.parameter_values))
        switched = self._take_sides(sim, bindings, which, before)
        self._restart_small(sim, span, [self.uses[i].name for i in which], switched=switched)

    def _may_move(self, use: EventUse) -> bool:
        """Tell whether an event may change the state, and not only efforts and parameters."""
        return use.name in self.calls or any(kind in ("velocity", "state") for kind, _, _ in use.sets)

    def _moment(self, sim: Simulation, bindings: KernelBindings, *, rates: bool) -> Moment:
        """Return the state now, and the values of the expressions."""
        if sim.parameters is not None:
            bindings.parameters[:] = sim.parameters
        bindings.buffers.tau[:] = sim.tau
        speeds = self._rates(sim, bindings) if rates else np.zeros(len(self.uses))
        return Moment(sim.row()[:-2], self._values(sim, bindings), speeds)

    def _take_sides(self, sim: Simulation, bindings: KernelBindings, which: list[int], before: Moment) -> bool:
        """Say on which side of zero everything is after events; tell whether they have left the state as it was.

        What passed zero has passed, even where rounding says otherwise, and what jumped is where it is. If an event has
        changed the state, its own expression may be turned back by that, as by a bounce: then it has not passed.
        """
        after = self._moment(sim, bindings, rates=False)
        same = after.values == before.values
        passed = np.where(self.fresh == AT_ZERO, self.side, np.sign(before.values)).astype(np.int64)
        switched = np.array_equal(before.state, after.state)
        if not switched and same[which].any():
            rates = passed * self._rates(sim, bindings)
            turned = np.where(rates > HELD_RATE * np.abs(before.rates), passed, -passed)
            passed[which] = np.where(np.isnan(rates + before.rates), 0, turned)[which]
        self.side[:] = np.where(same, passed, np.sign(after.values))
        self.fresh[:], self.started = 0, True
        return bool(switched)

    def _one(self, sim: Simulation, bindings: KernelBindings, use: EventUse) -> None:
        """Set the values of one event, and call its function."""
        if use.stop:
            self.ended = use.name
        values = iter(self._new_values(sim, bindings, use))
        for kind, name, index in use.sets:
            value = float(next(values))  # not empty: one for each that is set
            sim.set_unchecked(kind, value_index(sim.system, kind, name, index), value)
            if kind == "velocity":
                sim.hold(name)
        call = self.calls.get(use.name)
        if call is not None:
            t, before = sim.state.t, (sim.tau.copy(), sim.parameters)
            # not empty: it has just happened
            event = next(one for one in reversed(self.happened) if one.name == use.name)
            try:
                stop = call(sim, event)
            except Exception as error:
                why = str(error) if isinstance(error, WhippletreeError) else f"{type(error).__name__}: {error}"
                raise SimulationError(f'at t = {t:.9g} s the function of event "{use.name}" failed: {why}') from error
            _check_after(sim, use.name, before)
            if sim.state.t != t:
                sim.run_state.times[TIME] = t
                raise SimulationError(f'the function of event "{use.name}" has moved the run in time: it must not')
            if stop is True:
                self.ended = use.name

    def _new_values(self, sim: Simulation, bindings: KernelBindings, use: EventUse) -> Array:
        """Return the values that an event sets."""
        if not use.sets:
            return np.zeros(0)
        state = sim.state
        if sim.parameters is not None:
            bindings.parameters[:] = sim.parameters
        start = sum(len(other.sets) for other in self.uses[: self.uses.index(use)])
        try:
            values = bindings.of_events("event_values", state.q, state.v, state.z, state.t)
        except NotFiniteError:
            raise SimulationError(
                f'at t = {state.t:.9g} s a value that event "{use.name}" sets is not finite: check its expressions'
            ) from None
        return values[start : start + len(use.sets)]

    def _values(self, sim: Simulation, bindings: KernelBindings) -> Array:
        """Return the values of the expressions now."""
        state = sim.state
        try:
            return bindings.of_events("events", state.q, state.v, state.z, state.t)
        except NotFiniteError:
            raise SimulationError(
                f"at t = {state.t:.9g} s the expression of an event is not finite: check "
                + ", ".join(f'"{use.name}"' for use in self.uses)
            ) from None

    def _rates(self, sim: Simulation, bindings: KernelBindings) -> Array:
        """Return how fast the expressions change along the motion from the present state, by differences.

        They are NaN if an expression is not finite next to it.
        """
        state, nv, scale = sim.state, sim.system.nv, bindings.scale
        y = np.concatenate([np.zeros(nv), state.v, state.z, np.zeros(2)])
        k = MotionRates(bindings, sim.run_state)(state.t, y)
        u, a, z = k[:nv], k[nv : 2 * nv], k[2 * nv : -2]
        shares = [np.abs(u) / scale, np.abs(a) / (scale + np.abs(state.v)), np.abs(z) / (1.0 + np.abs(state.z))]
        step = RATE_DISPLACEMENT / max(1.0, np.concatenate(shares).max(initial=0.0))
        ends = []
        for way in (-step, step):
            q = sim.system.integrate(state.q, way * u)
            try:
                ends.append(bindings.of_events("events", q, state.v + way * a, state.z + way * z, state.t + way))
            except NotFiniteError:
                return np.full(len(self.uses), np.nan)
        return np.asarray((ends[1] - ends[0]) / (2 * step))

    def _restart_small(self, sim: Simulation, span: float, names: list[str], *, switched: bool) -> None:
        """Begin again with a small step, no longer than the time since the last acting event; refuse a pile-up."""
        t = sim.state.t
        rapid = max(RAPID_EVENTS * span, RAPID_ROUNDINGS * TIME_ROUNDING * abs(t))
        for name in names:
            if t - self.acted.get(name, -np.inf) < rapid and not self.ended:
                raise SimulationError(f"at t = {t:.9g} s {self._without_end(name, names, switched=switched)}")
        sim.limit_step(t - max(self.acted.values(), default=-np.inf))
        self.acted |= dict.fromkeys(names, t)

    def _without_end(self, name: str, names: list[str], *, switched: bool) -> str:
        """Return a message about events that happen in turn without end, and the remedy."""
        turns = [other for other, when in self.acted.items() if when >= self.acted[name] and other not in names]
        quoted = [f'"{other}"' for other in (*names, *turns)]
        if not switched and len(quoted) == 1:
            return (
                f"event {quoted[0]} happens again and again, in ever shorter times; stop the run there, or let it set "
                f"a state in which it does not happen again"
            )
        what = (
            f"events {', '.join(quoted[:-1])} and {quoted[-1]} happen" if quoted[1:] else f"event {quoted[0]} happens"
        )
        return (
            f"{what} again and again, in ever shorter times: what is switched there turns the motion back at once, so "
            f"that it should slide along the border where the expression is zero, which events cannot follow; give the "
            f"switch a hysteresis (on a little above zero, off a little below), or write it as a smooth law, such as "
            f"tanh(expression / width), in place of the event"
        )


def _calls(uses: tuple[EventUse, ...], given: OnEvent) -> dict[str, Callable[..., object]]:
    """Return the functions to call by event."""
    names = [use.name for use in uses]
    if given is None:
        return {}
    if not uses:
        raise StateError("on_event= is for events, and there is none: declare one with mechanism.event(...)")
    calls = dict(given) if isinstance(given, Mapping) else dict.fromkeys(names, given)
    for name, call in calls.items():
        if name not in names:
            raise StateError(f"on_event: there is no event {suggestion(name, names)}")
        if not callable(call):
            raise StateError(f'on_event: what is given for "{name}" must be a function, not {shown(call)}')
    return calls


def _check_parameters(system: System, uses: tuple[EventUse, ...]) -> None:
    known = [parameter.name for parameter in system.description.parameters]
    for use in uses:
        for kind, name, _ in use.sets:
            if kind == "parameter" and name not in known:
                raise StateError(
                    f'event "{use.name}" sets the parameter "{name}", which is folded in: build without fold'
                )


def _energy(sim: Simulation) -> float:
    state = sim.state
    z = state.z if sim.system.nz else None
    return float(sim.system.energy(state.q, state.v, t=state.t, z=z, parameters=sim.parameters).total)


def _check_after(sim: Simulation, name: str, before: tuple[Array, Array | None]) -> None:
    """Refuse efforts and parameters that a function has set past `set_value` and that will not do."""
    try:
        tau = system_interface.checked_efforts(sim.system, sim.tau)
        parameters = system_interface.checked_parameters(sim.system, sim.parameters)
        if parameters is not None and not np.isfinite(parameters).all():
            raise StateError("a parameter is not a finite number")
    except WhippletreeError as error:
        sim.tau, sim.parameters = before
        when = f"at t = {sim.state.t:.9g} s"
        raise SimulationError(f'{when} the function of event "{name}" has set what will not do: {error}') from error
    sim.tau, sim.parameters = tau, parameters


def _project_velocities(sim: Simulation, *, always: bool) -> None:
    """Make velocities consistent with the closures, if they are not or else always; those that were set stay."""
    system = sim.system
    if not system_interface.is_closed(system):
        return
    state = sim.state
    if not always:
        with contextlib.suppress(StateError):
            system_interface.check_closures(system, state.q, state.v, state.t, sim.parameters)
            return
    options: Header = {"t": state.t, "parameters": sim.parameters}
    try:
        v = system.consistent_velocities(state.q, state.v, hold=sim.held, **options)
        sim.set_velocities(v)
        system_interface.check_closures(system, state.q, v, state.t, sim.parameters)
    except (AssemblyError, StateError) as error:
        raise SimulationError(f"at t = {state.t:.9g} s, after an event, {error}") from None
