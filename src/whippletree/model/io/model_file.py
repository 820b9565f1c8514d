"""The contents of a model file: a mechanism, where it starts, and how to run it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.elements.bodies import Shape
from whippletree.errors import AssemblyError, AssemblyWarning, FileError
from whippletree.foundation.old_names import warn_of_old
from whippletree.foundation.output_paths import same_place
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing, warn
from whippletree.model.io.reading_report import ReadingReport
from whippletree.model.mechanism import Mechanism

if TYPE_CHECKING:
    from whippletree.system import System

__all__ = ["JointRange", "Model", "Motor"]

_OF_BUILD = ("guess", "hold", "cut", "dependent", "accuracy")
"""Arguments of `Mechanism.build` that a start can give."""


@dataclass(frozen=True)
class JointRange:
    """The range, largest speed and largest effort of a joint by its file; None where the file says nothing.

    >>> JointRange(-1.0, 2.0).upper
    2.0
    """

    lower: float | None = None
    upper: float | None = None
    speed: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Motor:
    """A motor of a file: the effort on each joint of a unit of control, and the range of the control.

    >>> Motor({"knee": 100.0}, -1.0, 1.0).efforts["knee"]
    100.0
    """

    efforts: Mapping[str, float]
    lower: float | None = None
    upper: float | None = None


@user_facing
@readable
@dataclass(frozen=True)
class Model:
    """A mechanism with where it starts and how to run it.

    `start` may hold "guess", "hold", "cut", "dependent" and "accuracy", as `Mechanism.build` takes them, and
    "velocities" by joint, which with "nearest" may change as little as loops ask for; with "equilibrium" the run starts
    at rest, or with these velocities in steady motion.
    `run` may hold what `System.simulate` takes, above all "duration", and "outputs": what tables and plots show.

    A file of another program also has a `report` of what was not understood, changed or guessed, `ranges` of joints,
    which nothing enforces unless that was asked for, `motors`, whose efforts are given in calls, and `shapes` of bodies
    for pictures, with meshes as the file names them.

    >>> import whippletree as wt
    >>> model = wt.read('''
    ... name: pendulum
    ... bodies: {rod: {rod: {length: 1, mass: 2}}}
    ... joints: {hinge: {revolute: [ground, rod], axis: y}}
    ... start: {guess: {hinge: pi / 6}}
    ... run: {duration: 10}
    ... ''')
    >>> model.build().q0.round(6), model.run
    (array([0.523599]), {'duration': 10.0})
    """

    mechanism: Mechanism
    start: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    report: ReadingReport = field(default_factory=ReadingReport, compare=False)
    ranges: Mapping[str, JointRange] = field(default_factory=dict, repr=False)
    shapes: Mapping[str, tuple[Shape, ...]] = field(default_factory=dict, repr=False)
    motors: Mapping[str, Motor] = field(default_factory=dict, repr=False)
    rounded: bool = False
    """Whether its numbers are those of another program's file, which may be rounded to few digits."""
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The system that `simulate` has built, and its description."""

    def build(self, **choices: object) -> System:
        """Return the system, assembled from the start of the file; `choices` are those of `Mechanism.build`.

        Loops of another program's file that only its rounded numbers keep from closing are closed as well as these
        allow, with a warning, unless an accuracy is given.
        """
        given: dict[str, Any] = {key: self.start[key] for key in _OF_BUILD if key in self.start} | choices
        try:
            return self.mechanism.build(**given)
        except AssemblyError as error:
            if not self.rounded or error.accuracy is None or "accuracy" in given:
                raise
            told = f"{error}; the file's data are taken as rounded: build(accuracy={error.accuracy:.1g})"
            accuracy = error.accuracy
        system = self.mechanism.build(**given, accuracy=accuracy)
        warn(told, AssemblyWarning)
        return system

    def _system(self) -> System:
        """Return the system of the model as it is now, built anew only if mechanism or start have changed."""
        described = self.mechanism.describe()
        source = (
            described.fingerprint(),
            described.parameter_values,
            _frozen({k: self.start.get(k) for k in _OF_BUILD}),
        )
        if self._kept.get("source") != source:
            self._kept.update(system=self.build(), source=source)
        system: System = self._kept["system"]
        return system

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_kept": {}}

    def initial(self, system: System) -> tuple[Any, Any]:
        """Return the coordinates and velocities to start from: those of the file stay as they are.

        Velocities that the loops do not allow are refused, unless the nearest ones are asked for.

        >>> import whippletree as wt
        >>> model = wt.read('''
        ... name: pendulum
        ... bodies: {rod: {rod: {length: 1, mass: 2}}}
        ... joints: {hinge: {revolute: [ground, rod], axis: y}}
        ... start: {velocities: {hinge: 2}}
        ... ''')
        >>> model.initial(model.build())
        (array([0.]), array([2.]))
        """
        t = self.run.get("t0", 0.0)
        hold, velocities = self.start.get("hold"), self.start.get("velocities", {})
        if self.start.get("equilibrium"):
            found = system.equilibrium(speeds=velocities or None, t=t)
            return found.q, found.v
        q = system.assemble(self.start.get("guess"), hold=hold, t=t) if t else system.q0
        if not velocities and not t:
            return q, system.v0
        held = [] if self.start.get("nearest") else [*velocities]
        return q, system.consistent_velocities(q, velocities, hold=held, t=t)

    def simulate(self, duration: float | None = None, *, system: System | None = None, **settings: object) -> Any:
        """Run the model as its file says, except for the settings given here, and return the trajectory.

        `duration` is in seconds, that of the file unless given. The settings are options of `System.simulate`. The
        model is built once, and used again by later calls as long as it stays as it is; or a `system` that was built
        from it runs.

        >>> model = Model(Mechanism("nothing"))
        >>> _ = model.mechanism.revolute("hinge", "ground", model.mechanism.body("rod", mass=1.0, inertia=(1, 1, 1)))
        >>> model.simulate(2.0, every=1.0).t.tolist()
        [0.0, 1.0, 2.0]
        """
        if hasattr(duration, "description"):
            duration, system = None, _system_given_first(duration)
        run = {**self.run, **settings} | ({} if duration is None else {"duration": duration})
        run.pop("outputs", None)
        if "duration" not in run:
            raise FileError(f'{self.name or "the model"}: no "duration" is given, neither under "run" nor in the call')
        if self.name and same_place(run.get("checkpoint"), self.name):
            raise FileError(f"{self.name}: the checkpoint would take the place of the model: name another file")
        built = self._system() if system is None else system
        if self.start.get("equilibrium"):
            velocities = self.start.get("velocities") or None
            return built.simulate(**{"start": "equilibrium", "v": velocities, **run})
        q, v = self.initial(built)
        return built.simulate(**{"q": q, "v": v, **run})

    def place_of(self, message: str) -> str:
        """Return the file, and the line of the element that a message names first, if it names one.

        >>> Model(Mechanism("m"), name="m.yaml", lines={"C": 7}).place_of('loop "C" stays open')
        'm.yaml:7'
        """
        names = (match[1] for match in re.finditer('"([^"]*)"', message))
        line = next((self.lines[name] for name in names if name in self.lines), None)
        return self.name if line is None else f"{self.name}:{line}"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The columns of tables and plots of a run, if the file names them."""
        return tuple(self.run.get("outputs", ()))


def _frozen(value: object) -> object:
    """Return a value that equals another one's only if both hold the same, and that later changes do not reach.

    >>> _frozen({"A": [1.0, 2.0]}) == _frozen({"A": (1.0, 2.0)})
    True
    """
    if isinstance(value, Mapping):
        return tuple((key, _frozen(one)) for key, one in value.items())
    if isinstance(value, np.ndarray):
        return _frozen(value.tolist())
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple | set) else value


def _system_given_first(given: Any) -> Any:
    """Return the first argument of `Model.simulate`, which was the system in earlier versions."""
    warn_of_old("Model.simulate(system, ...)", "Model.simulate(duration, system=system, ...)")
    return given
