"""Checkpoints: a run in the middle, as a file from which it goes on to the same bits.

A file is an archive of plain arrays and one text in JSON (see `array_archives`). It is written beside its place,
brought to the disk, and moved there, readable by its owner only: whenever the process is killed, there is a whole
checkpoint or the one before. With it are the mechanism as a model file, if it can be one, and everything that a time
loop keeps from one step to the next. Functions are not in it: a controller is given again, and gets back what it said
it remembers.

A file may come from anywhere, and its digest made anew. So every field is checked against its declared form before
anything uses it (`simulate/packed_forms.py`): here those of the file, elsewhere each part of a run its own.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from whippletree._version import __version__
from whippletree.errors import ResultError, StateError, WhippletreeError
from whippletree.kernels.kernel import Array
from whippletree.model.io import read_text
from whippletree.results.output_files import existing_file, write_whole
from whippletree.simulate import system_interface
from whippletree.simulate.controllers import checked_period
from whippletree.simulate.event_handling import OnEvent
from whippletree.simulate.packed_forms import (
    COUNT,
    FINITE,
    POSITIVE,
    ArrayForm,
    Maybe,
    NumberForm,
    read_array,
    read_form,
)
from whippletree.simulate.run_arguments import increasing
from whippletree.simulate.sampled_run import SampledRun
from whippletree.simulate.simulation import Simulation
from whippletree.spatial.scalars import shown, truth
from whippletree.studies.array_archives import read_archive, write_archive
from whippletree.system import System
from whippletree.system.source import source_key

__all__ = ["Checkpoint", "CheckpointWriter", "read_checkpoint"]

FORMAT = 7
_SLOW = 10.0
"""Writing checkpoints takes no more than one part in this many of the time."""


_HEADER_FORM = {
    "version": str,
    "source": str,
    "model": str,
    "fingerprint": str,
    "start": FINITE,
    "period": Maybe(POSITIVE),
    "wall": NumberForm(low=0.0),
    "every": POSITIVE,
}


_TEXT = ArrayForm((-1,), NumberForm(0, 255, whole=True), np.uint8)


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
    _model: str | None = None  # the mechanism as a model file, once it is written

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
        (of_simulation, arrays), (of_run, more) = run.simulation.pack(), run.pack()
        header = self._about(run.simulation.system) | of_simulation | of_run
        header |= {"wall": self.wall + now - self._began, "every": self.every}
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        kept: dict[str, Any] = {**arrays, **more, "q0": run.simulation.system.q0, "header": text}

        write_whole(self.path, lambda file: write_archive(file, kept), private=True)
        self._last = time.perf_counter()
        self._took = self._last - now

    def _about(self, system: System) -> dict[str, object]:
        """Return the file's header: the versions of format and package, the model and its build options."""
        if self._model is None:
            self._model = system_interface.model_text(system)
        options = system_interface.build_options(system)
        return {
            "whippletree_checkpoint": FORMAT,
            "version": __version__,
            "source": source_key(),
            "model": self._model,
            "fingerprint": system.description.fingerprint(),
            "build": {name: _names(options.get(name)) for name in ("cut", "dependent")}
            | {"accuracy": options["accuracy"]},
        }


def read_checkpoint(
    path: Any,
    system: System | None = None,
    on_event: OnEvent = None,
    check: bool = True,
    controller: Any = None,
    period: float | None = None,
) -> Checkpoint:
    """Return the run that a file holds; the system is built from it, unless one is given."""
    named, check = existing_file(path), truth(check, "check=")
    arrays = read_archive(named, "checkpoint")
    try:
        given = json.loads(bytes(read_array(_TEXT, arrays, "header")).decode())
        if not isinstance(given, dict) or given.get("whippletree_checkpoint") != FORMAT:
            raise StateError("it is not a checkpoint that this version of whippletree can read")
        header = given | read_form(_HEADER_FORM, given, "header")
        until = increasing(read_array(ArrayForm((-1,)), arrays, "until"), "until")
        if not until.size or until[0] < header["start"]:
            raise StateError("it has no outputs, or some before its start")
        sim = _restored(header, arrays, system, on_event, check)
        looks = increasing(read_array(ArrayForm((-1,)), arrays, "looks"), "looks") if "looks" in arrays else None
        run = SampledRun(sim, until, controller, _period(header, controller, period), header["start"], looks)
        run.unpack(header, arrays)
        return Checkpoint(run, header["wall"], header["every"])
    except WhippletreeError as error:
        raise ResultError(f"{named}: {error}") from None
    except MemoryError:
        raise ResultError(f"{named}: the run takes more memory than there is") from None
    except Exception as error:  # whatever a text or a mechanism that was not written by a run may lead to
        raise ResultError(f"{named} is damaged, or was not written as a checkpoint ({shown(error)})") from error


def _names(given: object) -> object:
    """Replace handles by plain names, in lists too."""
    if given is None or isinstance(given, str):
        return given
    if hasattr(given, "name"):
        return str(given.name)
    if isinstance(given, list | tuple | set | frozenset):
        return [_names(one) if not isinstance(one, int) else one for one in given]
    return None


def _joints(given: object, what: str) -> object:
    """Turn lists that `_names` made of joints back into a name, or names and pairs of a name and a freedom's number."""
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, list):
        raise StateError(f"its {what} cannot be {shown(given)}")
    return [one if isinstance(one, str) else tuple(read_form((str, COUNT), one, what)) for one in given]


def _restored(
    header: dict[str, object], arrays: dict[str, Array], system: System | None, on_event: OnEvent, check: bool
) -> Simulation:
    """Return a simulation again."""
    if check and header["source"] != source_key():
        raise StateError(
            f"it was written by another version of whippletree ({shown(header['version'])[1:-1]}), which may not go on "
            f"to the same bits: pass check=False to go on all the same"
        )
    built = _system(header, arrays) if system is None else system
    if not isinstance(built, System):
        raise StateError("system= must be the system of the run")
    if built.description.fingerprint() != header["fingerprint"]:
        raise StateError("the run is of another mechanism than this system")
    return Simulation.unpacked(built, header, arrays, on_event)


def _period(header: dict[str, Any], controller: object, given: float | None) -> float | None:
    """Return the period of the run's controller, which a file does not hold."""
    kept = header["period"]
    if kept is not None and controller is None:
        raise StateError("the run has a controller, which a file does not hold: give controller= again")
    if kept is None and controller is not None:
        raise StateError("the run has no controller: leave controller= out")
    if kept is not None and given is not None and checked_period(controller, given) != kept:
        raise StateError(f"the run's controller has a period of {kept!r} s, not {shown(given)}: leave period= out")
    return kept if given is None else given


def _system(header: dict[str, Any], arrays: dict[str, Array]) -> System:
    if not header["model"]:
        raise StateError("the mechanism cannot be written as a model file: build it again and give system=")
    kept = read_form({"accuracy": Maybe(POSITIVE)}, header.get("build"), "build")
    build = kept | {name: _joints(header["build"].get(name), name) for name in ("cut", "dependent")}
    build = {name: value for name, value in build.items() if value is not None}
    guess = read_array(ArrayForm((-1,)), arrays, "q0")
    built: System = read_text(header["model"]).mechanism.build(guess=guess, **build)
    return built
