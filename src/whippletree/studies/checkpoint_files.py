"""Checkpoints: a run in the middle, as a file from which it goes on to the same bits.

A file is an archive of plain arrays and one text in JSON (NumPy's npz, never pickled objects). It is written beside its
place, brought to the disk, and moved there, readable by its owner only: whenever the process is killed, there is a
whole checkpoint or the one before. With it are the mechanism as a model file, if it can be one, and everything that a
time loop keeps from one step to the next. Functions are not in it: a controller is given again, and gets back what it
said it remembers.
"""

from __future__ import annotations

import json
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from whippletree._version import __version__
from whippletree.errors import FileError, ResultError, StateError, WhippletreeError
from whippletree.kernels.kernel import Array
from whippletree.model.io import read_text, write_text
from whippletree.model.mechanism import Mechanism
from whippletree.results.files import as_path, write_whole
from whippletree.simulate.controllers import checked_period
from whippletree.simulate.run_plans import RunPlans
from whippletree.simulate.sampled_run import SampledRun
from whippletree.simulate.simulation import Simulation
from whippletree.system import System
from whippletree.system.source import source_key

__all__ = ["Checkpoint", "CheckpointWriter", "read_checkpoint"]

FORMAT = 3
_SLOW = 10.0
"""Writing checkpoints takes no more than one part in this many of the time."""


@dataclass(frozen=True)
class Checkpoint:
    """A run in the middle, the time it has taken, and how often it was to be written."""

    run: SampledRun
    wall: float
    every: float


@dataclass
class CheckpointWriter:
    """Writes checkpoints of a run now and then.

    >>> CheckpointWriter(Path("run.ckpt"), 60.0).due
    False
    """

    path: Path
    every: float
    wall: float = 0.0
    _began: float = field(default_factory=time.perf_counter)
    _last: float = field(default_factory=time.perf_counter)
    _took: float = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time to write one."""
        return time.perf_counter() - self._last >= max(self.every, _SLOW * self._took)

    def look(self, run: SampledRun) -> None:
        """Write a checkpoint if it is time to."""
        if self.due:
            self.write(run)

    def write(self, run: SampledRun) -> None:
        """Write a checkpoint of a run that has come so far."""
        now = time.perf_counter()
        header, arrays = _packed(run.simulation)
        header |= {name: getattr(run, name) for name in _PLACE}
        header |= {"wall": self.wall + now - self._began, "every": self.every}
        arrays |= {"until": run.until, "rows": run.rows[: run.made], "efforts": run.efforts, "base": run.base}
        arrays["origin"] = run.origin
        if run.memory is not None:
            arrays["memory"] = run.memory
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)

        def write(file: BinaryIO) -> None:
            np.savez(file, **arrays)

        write_whole(self.path, write, private=True)
        self._last = time.perf_counter()
        self._took = self._last - now


def read_checkpoint(
    path: Any,
    system: System | None = None,
    on_event: Any = None,
    check: bool = True,
    controller: Any = None,
    period: Any = None,
) -> Checkpoint:
    """Return the run that a file holds; the system is built from it, unless one is given."""
    named = as_path(path)
    try:
        with named.open("rb") as file, np.load(file, allow_pickle=False) as data:
            if "header" not in data:
                raise ResultError(f"{named} is not a checkpoint of a run")
            arrays = {name: data[name] for name in data.files}
            header = json.loads(bytes(arrays.pop("header")).decode())
            if not isinstance(header, dict) or header.get("whippletree_checkpoint") != FORMAT:
                raise ResultError(f"{named} is not a checkpoint that this version of whippletree can read")
    except ResultError:
        raise
    except OSError as error:
        raise ResultError(f"{named} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, EOFError, MemoryError, zipfile.BadZipFile, TypeError, AttributeError) as error:
        raise ResultError(f"{named} is not a checkpoint, or is damaged: {error}") from None
    try:
        sim = _restored(header, arrays, system, on_event, check)
        run = SampledRun(sim, arrays["until"], controller, _period(header, controller, period), float(header["start"]))
        run.restore(header, arrays)
        return Checkpoint(run, float(header["wall"]), float(header["every"]))
    except WhippletreeError as error:
        raise ResultError(f"{named}: {error}") from None
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise ResultError(f"{named} is damaged, or was not written as a checkpoint ({error!r})") from None


# ---------------------------------------------------------------------- out

_PLACE = ("start", "period", "sample", "first", "begun", "finished")
_STATE = ("_course_y", "_times", "_counts", "_options", "_past", "_past_tau", "_kept", "_q", "tau")


def _packed(sim: Simulation) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a simulation as plain text and arrays."""
    system, events = sim.system, sim.events
    arrays: dict[str, Any] = {name: getattr(sim, name) for name in _STATE}
    arrays["given"] = sim._given
    if sim.parameters is not None:
        arrays["parameters"] = sim.parameters
    arrays |= {"q0": system.q0, "side": events.side, "fresh": events.fresh}
    for name in ("q", "v", "z"):
        arrays[f"event_{name}"] = np.array([getattr(one, name) for one in events.happened])
    arrays["change_tau"] = np.array([change.tau for change in events.changes])
    arrays["change_parameters"] = np.array([change.parameters for change in events.changes])
    header = {
        "whippletree_checkpoint": FORMAT,
        "version": __version__,
        "source": source_key(),
        "model": _written(system),
        "fingerprint": system.description.fingerprint(),
        "build": {name: _names(system._options.get(name)) for name in ("cut", "dependent")},
        "method": sim.name,
        "spectral_radius": sim.spectral_radius,
        "tolerance": sim.tolerance,
        "adaptive": sim.adaptive,
        "formulation": sim.formulation,
        "limits": sim._limits,
        "plan": sim._plans.packed(),
        "replans": sim.replans,
        "singular": sim.singular,
        "calls": sorted(events.calls),
        "happened": [[one.name, one.t] for one in events.happened],
        "changes": [change.t for change in events.changes],
        "acted": events.acted,
        "started": events.started,
        "ended": events.ended,
    }
    return header, arrays


def _written(system: System) -> str:
    """Return the mechanism as a model file, or nothing if it cannot be one."""
    kept: str | None = getattr(system, "_text", None)
    if kept is None:
        try:
            kept = write_text(Mechanism._of(system.description))
        except FileError:
            kept = ""
        system._text = kept  # type: ignore[attr-defined]
    return kept


def _names(given: Any) -> Any:
    """Return what was given by name or handle as plain names."""
    if given is None or isinstance(given, str):
        return given
    if hasattr(given, "name"):
        return str(given.name)
    if isinstance(given, list | tuple | set | frozenset):
        return [_names(one) if not isinstance(one, int) else one for one in given]
    return None


# ---------------------------------------------------------------------- in


def _restored(header: dict[str, Any], arrays: dict[str, Array], system: Any, on_event: Any, check: bool) -> Simulation:
    """Return a simulation again."""
    if check and header["source"] != source_key():
        raise StateError(
            f"it was written by another version of whippletree ({header['version']}), which may not go on to the same "
            f"bits: pass check=False to go on all the same"
        )
    built = _system(header, arrays) if system is None else system
    if not isinstance(built, System):
        raise StateError("system= must be the system of the run")
    if built.description.fingerprint() != header["fingerprint"]:
        raise StateError("the run is of another mechanism than this system")
    sim = Simulation(
        built,
        q=arrays["_q"],
        method=header["method"],
        step=1.0,
        tolerance=header["tolerance"],
        adaptive=header["adaptive"],
        spectral_radius=header["spectral_radius"],
        formulation=header["formulation"],
        parameters=arrays.get("parameters"),
        on_event=on_event,
        checked=False,
    )
    missing = [name for name in header["calls"] if name not in sim.events.calls]
    if missing:
        raise StateError(f'event "{missing[0]}" has a function, which a file does not hold: give on_event= again')
    for name in _STATE:
        mine = getattr(sim, name)
        if name != "_past" and (mine.shape != arrays[name].shape or mine.dtype != arrays[name].dtype):
            raise StateError(f"its {name} does not fit the mechanism")
        setattr(sim, name, arrays[name].copy())
    if not np.isfinite(sim._course_y).all():
        raise StateError("its state is not finite")
    sim._given = arrays["given"]
    sim.replans, sim._singular = list(header["replans"]), list(header["singular"])
    _restore_events(sim, header, arrays)
    sim._plans = RunPlans.unpacked(built, header["plan"])
    smallest, span = header["limits"]
    sim._limits = (float(smallest), float(span))
    return sim


def _period(header: dict[str, Any], controller: Any, given: Any) -> Any:
    """Return the period of the run's controller, which a file does not hold."""
    kept = header["period"]
    if kept is not None and controller is None:
        raise StateError("the run has a controller, which a file does not hold: give controller= again")
    if kept is None and controller is not None:
        raise StateError("the run has no controller: leave controller= out")
    if kept is not None and given is not None and checked_period(controller, given) != kept:
        raise StateError(f"the run's controller has a period of {kept!r} s, not {given!r}: leave period= out")
    return kept if given is None else given


def _system(header: dict[str, Any], arrays: dict[str, Array]) -> System:
    if not header["model"]:
        raise StateError("the mechanism cannot be written as a model file: build it again and give system=")
    build = {name: value for name, value in header["build"].items() if value is not None}
    built: System = read_text(header["model"]).mechanism.build(guess=arrays["q0"], **build)
    return built


def _restore_events(sim: Simulation, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    from whippletree.simulate.event_handling import EventRecord, SettingChange

    events = sim.events
    events.side[:], events.fresh[:] = arrays["side"], arrays["fresh"]
    parts = (arrays["event_q"], arrays["event_v"], arrays["event_z"])
    events.happened = [
        EventRecord(str(n), float(t), *(p[k] for p in parts)) for k, (n, t) in enumerate(header["happened"])
    ]
    both = (arrays["change_tau"], arrays["change_parameters"])
    events.changes = [SettingChange(float(t), *(p[k] for p in both)) for k, t in enumerate(header["changes"])]
    events.acted = {str(name): float(t) for name, t in header["acted"].items()}
    events.started, events.ended = bool(header["started"]), str(header["ended"])
