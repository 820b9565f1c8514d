"""The events of a run: what machine code watches, what it found, and what is done about it.

An event that only records does not touch the steps. One that acts ends its step: the run goes on from the state at the
event, with what the event sets. What that adds to the energy is recorded as work put in, and what it takes as work
dissipated, so that the balance of the run stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whippletree.errors import AssemblyError, SimulationError, StateError, WhippletreeError
from whippletree.kernels.kernel import Array, NotFiniteError
from whippletree.model.description import EventUse
from whippletree.model.names import suggestion
from whippletree.simulate import system_interface
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.run_arguments import value_index
from whippletree.simulate.run_state import TIME
from whippletree.simulate.run_tolerances import RAPID_EVENTS
from whippletree.simulate.zero_crossings import EventWatch
from whippletree.spatial.scalars import shown

if TYPE_CHECKING:
    from whippletree.simulate.simulation import Simulation
    from whippletree.system import System

__all__ = ["EventRecord", "Events", "SettingChange"]


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


class Events:
    """Watches the events of a system; `on_event` maps names to functions that are called when one happens.

    >>> from whippletree.system.example_systems import pendulum
    >>> Events(pendulum(), None, 5).uses
    ()
    """

    def __init__(self, system: System, on_event: Any, row_size: int) -> None:
        self.uses = system.description.events
        self.calls = _calls(self.uses, on_event)
        count = len(self.uses)
        self.side, self.fresh = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
        self._wanted = np.array([use.direction for use in self.uses], dtype=np.int64)
        self._acts = np.array([use.acts or use.name in self.calls for use in self.uses], dtype=np.int64)
        self._counts = np.zeros(2, dtype=np.int64)
        in_a_step = count * (7 + 14 * count)
        self._found = np.zeros((2 * in_a_step + 128 if count else 0, 2 + row_size))
        self.happened: list[EventRecord] = []
        self.changes: list[SettingChange] = []
        self.acted: dict[str, float] = {}
        self.ended = ""
        self.started = False
        self._watched: EventWatch | None = None
        _check_parameters(system, self.uses)

    def copy(self) -> Events:
        """Return the same for a simulation that goes its own way."""
        twin = object.__new__(Events)
        twin.__dict__.update(self.__dict__)
        twin._watched = None
        for name in ("side", "fresh", "_counts", "_found"):
            setattr(twin, name, getattr(self, name).copy())
        for name in ("happened", "changes", "acted"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what has happened so far, and on which side of zero everything is, as plain values and arrays."""
        header = {
            "calls": sorted(self.calls),
            "happened": [[one.name, one.t] for one in self.happened],
            "changes": [change.t for change in self.changes],
            "acted": self.acted,
            "started": self.started,
            "ended": self.ended,
        }
        arrays: dict[str, Any] = {"side": self.side.copy(), "fresh": self.fresh.copy()}
        for name in ("q", "v", "z"):
            arrays[f"event_{name}"] = np.array([getattr(one, name) for one in self.happened])
        arrays["change_tau"] = np.array([change.tau for change in self.changes])
        arrays["change_parameters"] = np.array([change.parameters for change in self.changes])
        return header, arrays

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take over what `pack` returned."""
        missing = [name for name in header["calls"] if name not in self.calls]
        if missing:
            raise StateError(f'event "{missing[0]}" has a function, which a file does not hold: give on_event= again')
        self.side[:], self.fresh[:] = arrays["side"], arrays["fresh"]
        parts = (arrays["event_q"], arrays["event_v"], arrays["event_z"])
        self.happened = [
            EventRecord(str(n), float(t), *(p[k] for p in parts)) for k, (n, t) in enumerate(header["happened"])
        ]
        both = (arrays["change_tau"], arrays["change_parameters"])
        self.changes = [SettingChange(float(t), *(p[k] for p in both)) for k, t in enumerate(header["changes"])]
        self.acted = {str(name): float(t) for name, t in header["acted"].items()}
        self.started, self.ended = bool(header["started"]), str(header["ended"])

    def watched(self, bindings: KernelBindings) -> EventWatch:
        """Return what the time loops need."""
        arrays = (self.side, self.fresh, self._wanted, self._acts, self._counts, self._found)
        self._watched = EventWatch.of(self._watched, bindings.event_kernel, bindings.event_values, *arrays)
        return self._watched

    def start(self, sim: Simulation, bindings: KernelBindings) -> None:
        """Find out on which side of zero everything is, if that is not known."""
        if self.uses and not self.started:
            self.fresh[:] = 1
            self._sides(sim, bindings)
        self.started = True

    def collect(self, sim: Simulation) -> None:
        """Take over what machine code has found."""
        nq, nv = sim.system.nq, sim.system.nv
        for row in self._found[: self._counts[0]]:
            state = row[2:]
            parts = (state[:nq].copy(), state[nq : nq + nv].copy(), state[nq + nv : -2].copy())
            self.happened.append(EventRecord(self.uses[int(row[0])].name, float(row[1]), *parts))
        self._last = [int(row[0]) for row in self._found[: self._counts[0]] if row[1] == sim.state.t]
        self._counts[0] = 0

    def act(self, sim: Simulation, bindings: KernelBindings, span: float) -> None:
        """Do what the events at the present time are declared to do."""
        self._counts[1] = 0
        t = sim.state.t
        which = sorted(i for i in self._last if self._acts[i])
        if not self.changes:
            self.changes.append(SettingChange(-np.inf, sim.tau.copy(), sim.parameter_values))
        energy = _energy(sim)
        for i in which:
            self._one(sim, bindings, self.uses[i])
        _project_velocities(sim)
        sim.record_work(_energy(sim) - energy)
        self.changes.append(SettingChange(t, sim.tau.copy(), sim.parameter_values))
        self._sides(sim, bindings)
        self.side[which], self.fresh[which], self.started = 0, 1, True
        self._restart_small(sim, t, span, [self.uses[i].name for i in which])

    def _one(self, sim: Simulation, bindings: KernelBindings, use: EventUse) -> None:
        """Set what one event sets, and call what is to be called."""
        if use.stop:
            self.ended = use.name
        values = iter(self._new_values(sim, bindings, use))
        for kind, name, index in use.sets:
            sim.set_unchecked(kind, value_index(sim.system, kind, name, index), float(next(values)))
            if kind == "velocity":
                sim.hold(name)
        call = self.calls.get(use.name)
        if call is not None:
            t, before = sim.state.t, (sim.tau.copy(), sim.parameters)
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
        start = sum(len(other.sets) for other in self.uses[: self.uses.index(use)])
        try:
            values = bindings.of_events("event_values", state.q, state.v, state.z, state.t)
        except NotFiniteError:
            raise SimulationError(
                f'at t = {state.t:.9g} s a value that event "{use.name}" sets is not finite: check its expressions'
            ) from None
        return values[start : start + len(use.sets)]

    def _sides(self, sim: Simulation, bindings: KernelBindings) -> None:
        state = sim.state
        try:
            values = bindings.of_events("events", state.q, state.v, state.z, state.t)
        except NotFiniteError:
            raise SimulationError(
                f"at t = {state.t:.9g} s the expression of an event is not finite: check "
                + ", ".join(f'"{use.name}"' for use in self.uses)
            ) from None
        self.side[:] = np.sign(values)

    def _restart_small(self, sim: Simulation, t: float, span: float, names: list[str]) -> None:
        """Begin again with a small step, no longer than the time since the last acting event; refuse a pile-up."""
        for name in names:
            if t - self.acted.get(name, -np.inf) < RAPID_EVENTS * span and not self.ended:
                raise SimulationError(
                    f'at t = {t:.9g} s event "{name}" happens again and again, in ever shorter times; stop the run '
                    f"there, or let it set a state in which it does not happen again"
                )
        sim.limit_step(t - max(self.acted.values(), default=-np.inf))
        self.acted |= dict.fromkeys(names, t)


def _calls(uses: tuple[EventUse, ...], given: Any) -> dict[str, Callable[..., Any]]:
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


def _project_velocities(sim: Simulation) -> None:
    """Make velocities consistent with the closures; those that were set stay as they are."""
    system = sim.system
    if not system_interface.is_closed(system):
        return
    state = sim.state
    options: dict[str, Any] = {"t": state.t, "parameters": sim.parameters}
    try:
        v = system.consistent_velocities(state.q, state.v, hold=sim.held, **options)
        sim.set_velocities(v)
        system_interface.check_closures(system, state.q, v, state.t, sim.parameters)
    except (AssemblyError, StateError) as error:
        raise SimulationError(f"at t = {state.t:.9g} s, after an event, {error}") from None
