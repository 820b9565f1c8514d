"""The trajectory of a run: its states, and everything that follows from them, by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from whippletree.elements.drivers import Motion
from whippletree.errors import ModelError, ResultError, StateError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.late_imports import Verb
from whippletree.foundation.notebook_html import html_list, html_section, html_table
from whippletree.foundation.short_text import Named
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import BodyLike, JointValues, NameLike, Names, ParameterValues
from whippletree.model.element_registry import JointLike, PlaceLike
from whippletree.model.names import quoted, suggestion
from whippletree.results.certificate import Certificate
from whippletree.results.columns import STATES, columns
from whippletree.results.deformations import Deformation, Stress, deformation, flexible_body, stress
from whippletree.results.instants import Event, Instant
from whippletree.results.interpolate import interpolated
from whippletree.results.labels import Labels
from whippletree.results.measure import measured
from whippletree.results.replay import Replay, of_rows
from whippletree.spatial.scalars import dimensions_of, masked, shown, truth
from whippletree.system import Energy, Reactions, System
from whippletree.system.quantities import ElementForce

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

    import whippletree.viewer

__all__ = ["Trajectory"]

_MOST = 50_000_000
"""How many outputs can be asked for."""

_FEW = 10
"""Events that notebooks list."""

_HAIR = 1e-9
"""Times may be outside of a run by this share of a step: that is rounding."""


@user_facing
@dataclass(frozen=True, eq=False, repr=False, init=False)
class Trajectory:
    """The states of a run: times `t` (n,), coordinates `q` (n, nq), velocities `v` (n, nv), elements' states `z`.

    `certificate` says how far it can be trusted, `events` what happened, `info` how it was made. `parameters` (np,) or
    (n, np), `efforts` (n, nv) or (nv,), and the `work` (n, 2) put in and dissipated so far are those of the run.
    Everything else is computed from the states when it is asked for. Arrays are read-only; one that is given writeable
    is copied. A run that was loaded without its system has None for it.

    >>> from whippletree.results.example_runs import swing
    >>> run = swing()
    >>> len(run), run["hinge"].shape, run.pose("rod").shape
    (11, (11,), (11, 4, 4))
    """

    system: System | None
    t: Array
    q: Array
    v: Array
    z: Array
    certificate: Certificate
    events: tuple[Event, ...]
    info: dict[str, Any]
    parameters: Array | None
    efforts: Array | None
    work: Array | None
    labels: Labels

    def __init__(
        self,
        system: System | None,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        z: ArrayLike | None = None,
        certificate: Certificate | None = None,
        events: Iterable[object] = (),
        info: Mapping[str, object] | None = None,
        parameters: ParameterValues = None,
        efforts: JointValues = None,
        work: ArrayLike | None = None,
        labels: Labels | None = None,
    ) -> None:
        t = _rows(t, "t", None, ())
        n = len(t)
        _check_times(t)
        labels = _labels(system) if labels is None else labels
        if z is None:
            z = np.zeros((n, 0)) if system is None else np.tile(system.z0, (n, 1))
        nv = len(labels.velocities)
        if not isinstance(certificate, Certificate | None):
            raise StateError(f"certificate= must be a Certificate, not {shown(certificate)}")
        if not isinstance(info, Mapping | None):
            raise StateError(f"info= must be a mapping, not {shown(info)}")
        values = {
            "system": system,
            "t": t,
            "q": _rows(q, "q", n, (len(labels.coordinates),)),
            "v": _rows(v, "v", n, (nv,)),
            "z": _rows(z, "z", n, (len(labels.states),)),
            "certificate": certificate or Certificate(),
            "events": tuple(_event(one, labels) for one in _listed(events)),
            "info": dict(info or {}),
            "parameters": _parameters(system, parameters, n),
            "efforts": None if efforts is None else _efforts(system, efforts, n, nv),
            "work": None if work is None else _rows(work, "work", n, (2,)),
            "labels": labels,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[object, ...]:
        return Trajectory, tuple(getattr(self, one.name) for one in fields(self))

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        count = f"{len(self)} outputs" if len(self) > 1 else "1 output"
        return f'Trajectory of "{self.labels.mechanism}": {count}, t = {self.t[0]:g} to {self.t[-1]:g} s'

    def _repr_html_(self) -> str:
        how = [(name, value) for name, value in self.info.items() if isinstance(value, str | int | float)]
        events = ", ".join(f"{one.name} at {one.t:.6g} s" for one in self.events[:_FEW])
        numbers = [
            (label.text, label.unit, *(f"{x:.6g}" for x in (own[0], own[-1], own.min(), own.max())))
            for labels, values in ((self.labels.coordinates, self.q), (self.labels.velocities, self.v))
            for label, own in zip(labels, values.T, strict=True)
        ]
        head = ("quantity", "unit", "first", "last", "least", "most")
        trust = html_list([self.certificate.summary, *(f"! {problem}" for problem in self.certificate.problems)])
        return html_section(
            repr(self), trust, html_table([*how, *([("events", events)] if events else [])]), html_table(numbers, head)
        )

    # ------------------------------------------------------------------ states by name

    @overload
    def __getitem__(self, key: int) -> Instant: ...
    @overload
    def __getitem__(self, key: slice) -> Trajectory: ...
    @overload
    def __getitem__(self, key: NameLike) -> Array: ...
    def __getitem__(self, key: int | slice | NameLike) -> Any:
        """Return a quantity by name, (n,) or (n, k); the state of an output by its number; outputs by a slice.

        >>> from whippletree.results.example_runs import swing
        >>> run = swing()
        >>> run["tip"].shape, run["hinge.angular velocity"].shape, run[-1].q.round(3), len(run[2:5])
        ((11, 3), (11,), array([3.142]), 3)
        """
        if isinstance(key, slice):
            return self._picked(key)
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            if not -len(self) <= key < len(self):
                raise StateError(f"there is no output {key}: the run has {len(self)}")
            return Instant(self.q[key], self.v[key], self.z[key])
        return columns(self, cast(NameLike, key)).plain

    def __iter__(self) -> Iterator[Instant]:
        return (Instant(*rows) for rows in zip(self.q, self.v, self.z, strict=True))

    def coordinates(self, joint: JointLike) -> Array:
        """Return a joint's coordinates: (n,), or (n, k) if it has several.

        >>> from whippletree.results.example_runs import swing
        >>> swing().coordinates("hinge")[:2].round(3)
        array([0.   , 0.314])
        """
        return _plain(self.q[:, self.labels.q_slice(self.labels.joint(joint))])

    def velocities(self, joint: JointLike) -> Array:
        """Return a joint's velocities: (n,), or (n, k) if it has several.

        >>> from whippletree.results.example_runs import swing
        >>> swing().velocities("hinge")[:2].round(3)
        array([3.142, 3.142])
        """
        return _plain(self.v[:, self.labels.v_slice(self.labels.joint(joint))])

    def state(self, name: str) -> Array:
        """Return a state of an element (n,)."""
        return self.z[:, self.labels.state(name)]

    # ------------------------------------------------------------------ quantities derived from the states

    def pose(self, place: PlaceLike) -> Array:
        """Return the poses of a body or frame (n, 4, 4), in the ground frame.

        >>> from whippletree.results.example_runs import swing
        >>> swing().pose("tip")[0, :3, 3] + 0.0
        array([1., 0., 0.])
        """
        return self.replay.pose(place)

    def position(self, place: PlaceLike) -> Array:
        """Return the positions of a body's or frame's origin (n, 3), in the ground frame.

        >>> from whippletree.results.example_runs import swing
        >>> swing().position("tip")[-1].round(6) + 0.0
        array([-1.,  0.,  0.])
        """
        return self.pose(place)[:, :3, 3]

    def velocity(self, place: PlaceLike, *, frame: str = "ground") -> Array:
        """Return the velocities [angular; linear] of a body's or frame's origin (n, 6), in ground axes or its own.

        >>> from whippletree.results.example_runs import swing
        >>> swing().velocity("tip")[0].round(3) + 0.0
        array([ 0.   ,  3.142,  0.   ,  0.   ,  0.   , -3.142])
        """
        return self.replay.velocity(place, frame)

    def acceleration(self, place: PlaceLike, *, frame: str = "ground") -> Array:
        """Return the accelerations [angular; linear] of a body's or frame's origin (n, 6), in ground axes or its own.

        >>> from whippletree.results.example_runs import swing
        >>> swing().acceleration("tip")[0].round(3) + 0.0
        array([ 0.  ,  0.  ,  0.  , -9.87,  0.  ,  0.  ])
        """
        return self.replay.acceleration(place, frame)

    def accelerations(self) -> Array:
        """Return the accelerations of all joints (n, nv).

        >>> from whippletree.results.example_runs import swing
        >>> swing().accelerations()[0].round(6) + 0.0
        array([0.])
        """
        return self.replay.accelerations()

    def reactions(self, *, frame: PlaceLike = "ground", joints: Sequence[JointLike] | None = None) -> Reactions:
        """Return the wrench of every joint on its child, by joint: force, moment (n, 3), unique (n, 6).

        With `joints=["A"]` only those of some joints are computed.

        >>> from whippletree.results.example_runs import swing
        >>> swing().reactions()["hinge"].force[0].round(2) + 0.0
        array([-9.87,  0.  ,  0.  ])
        """
        return self.replay.reactions(frame, joints)

    def closure_forces(self) -> dict[str, Array]:
        """Return the multipliers of every described closure by name (n, rows): a rod's force, a coupling's effort.

        >>> from whippletree.results.example_runs import swing
        >>> swing().closure_forces()
        {}
        """
        return self.replay.closure_forces()

    def driving_forces(self) -> dict[str, Array]:
        """Return the effort of every drive by name: (n,), or (n, k) if it drives several directions of a point.

        >>> from whippletree.results.example_runs import swing
        >>> swing().driving_forces()
        {}
        """
        uses = self.replay.system.description.closures
        driven = [use.name for use in uses if isinstance(use.closure, Motion)]
        found = self.closure_forces() if driven else {}
        return {name: _plain(found[name]) for name in driven}

    def forces(self) -> Named[ElementForce]:
        """Return the forces of every force element, by name: wrenches on bodies, efforts on joints.

        >>> from whippletree.results.example_runs import swing
        >>> swing().forces()
        {}
        """
        return self.replay.forces()

    def energy(self) -> Energy:
        """Return the kinetic and the potential energy (n,), and their total; energy of springs is potential.

        So is the strain energy of flexible bodies, which is also told apart as `strain`.

        >>> from whippletree.results.example_runs import swing
        >>> swing().energy().total[0].round(3)
        np.float64(3.29)
        """
        return self.replay.energy()

    def deformation(self, body: BodyLike) -> Deformation:
        """Return how a flexible body is deformed: displacements and small rotations (n, S, 3) in its own frame.

        They are those of its stations, or of its interfaces if it has no stations; `positions` says where these are.

        >>> from whippletree.results.example_runs import nodding
        >>> nodding().deformation("head").largest
        array([0.  , 0.01])
        """
        return deformation(self.replay.system, self.q, body)

    def section_forces(self, body: BodyLike) -> Array:
        """Return the section forces of a flexible body at its stations (n, S, 6).

        They are normal force, two shear forces, torque and two bending moments, in the sections' axes.

        >>> from whippletree.results.example_runs import nodding
        >>> nodding().section_forces("head")[1, 0, 1]
        np.float64(1.0)
        """
        kind, own = flexible_body(self.replay.system, body)
        if kind.drawn is None or "section_forces" not in kind.drawn:
            raise ModelError(f"body {quoted(getattr(body, 'name', body))} was described without section forces")
        return np.asarray(np.einsum("sfk,nk->nsf", kind.drawn.array("section_forces"), self.q[:, own]))

    def stress(self, body: BodyLike) -> Stress:
        """Return the stresses (n, P, 6) of a flexible body that was made with `stress=`: xx, yy, zz, xy, yz, zx.

        They are in its own axes, at `positions`; `von_mises` (n, P) is the equivalent stress.

        >>> from whippletree.results.example_runs import nodding
        >>> nodding().stress("head").von_mises[1]
        array([2000.])
        """
        return stress(self.replay.system, self.q, body)

    def certify(self) -> Certificate:
        """Return the certificate with everything measured again that the states themselves tell.

        Work done and steps taken are those that the run recorded. Where it recorded the energy at its start, energies
        are compared with that, also if the start is not among the outputs.

        >>> from whippletree.results.example_runs import swing
        >>> swing().certify().ok
        True
        """
        recorded = (self.certificate.energy_start, self.certificate["energy_scale"])
        found: dict[str, Any] = measured(
            self.replay,
            None if np.isnan(recorded).any() else recorded,
            switched=bool(self.events),
            energy_tolerance=self.certificate["energy_tolerance"],
        )
        return Certificate.from_dict(self.certificate.as_dict() | found)

    # ------------------------------------------------------------------ other times

    def at(self, time: float) -> Instant:
        """Return the state at a time within the run; see `resample`.

        >>> from whippletree.results.example_runs import swing
        >>> swing().at(0.25).q.round(6)
        array([0.785398])
        """
        given = _numbers(time, "the time")
        if given.size != 1:
            raise StateError("at() takes one time; resample() takes several")
        times = self._within(given.reshape(1))
        found = interpolated(self.replay, times)
        return Instant(found.q[0], found.v[0], found.z[0])

    def resample(self, times: ArrayLike | None = None, *, every: float | None = None, close: bool = True) -> Trajectory:
        """Return the run at other times within it: those given, or `every` so many seconds from its start on.

        Between outputs a time h apart, states are interpolated with an error of order h^4, on the manifold: quaternions
        stay of unit length. Loops are closed again, unless `close=False`. Work has an error of order h^3, and efforts
        are held. An output that is met is returned as it is. The certificate remains that of the run; `certify`
        measures the new states.

        >>> from whippletree.results.example_runs import swing
        >>> len(swing().resample(every=0.25))
        5
        """
        if (times is None) == (every is None):
            raise StateError("resample() takes either times, or every= so many seconds")
        wanted = _numbers(times, "times") if times is not None else self._regular(every)
        if wanted.ndim != 1:
            raise StateError(f"times must be one row of numbers, not of shape {wanted.shape}")
        _check_times(wanted)
        found = interpolated(self.replay, self._within(wanted), close=truth(close, "close="))
        states: dict[str, Any] = {
            "q": found.q,
            "v": found.v,
            "z": found.z,
            "efforts": found.efforts,
            "work": found.work,
        }
        return replace(self, t=wanted, parameters=found.parameters, **states)

    def between(self, start: float, end: float) -> Trajectory:
        """Return the outputs and events from one time to another, both included. No numbers are copied.

        >>> from whippletree.results.example_runs import swing
        >>> len(swing().between(0.2, 0.5))
        4
        """
        limits = _numbers([start, end], "the limits")
        if limits.shape != (2,) or not limits[0] <= limits[1]:
            raise StateError("between() takes two times, the earlier one first")
        first, last = np.searchsorted(self.t, limits[0], "left"), np.searchsorted(self.t, limits[1], "right")
        if first == last:
            raise StateError(
                f"there is no output from t = {start:g} to {end:g} s: the run goes from {self.t[0]:g} to "
                f"{self.t[-1]:g} s; at() and resample() find states between outputs"
            )
        return self._picked(slice(first, last))

    # ------------------------------------------------------------------ other forms

    def dataset(self, *what: str) -> xr.Dataset:
        """Return the states as labelled arrays, and further quantities asked for.

        That may be "accelerations", "energy", "reactions", "forces" (as `loads`), "poses", "body velocities" or "body
        accelerations".

        >>> from whippletree.results.example_runs import swing
        >>> swing().dataset()["q"].sel(coordinate="hinge.angle").shape
        (11,)
        """
        from whippletree.results.datasets import labelled

        return labelled(self, what)

    def table(self, what: Names | None = None) -> pd.DataFrame:
        """Return quantities by name as a table with names and units; the states unless told otherwise.

        >>> from whippletree.results.example_runs import swing
        >>> list(swing().table())
        ['time [s]', 'hinge.angle [rad]', 'hinge.angular velocity [rad/s]']
        """
        from whippletree.results.tables import table

        return table(self, self._chosen(what))

    def to_csv(self, path: FilePath, what: Names | None = None) -> None:
        """Write a table as text; see `table`."""
        from whippletree.results.tables import write_csv

        write_csv(self, path, self._chosen(what))

    def to_parquet(self, path: FilePath, what: Names | None = None) -> None:
        """Write a table as Parquet; see `table`."""
        from whippletree.results.tables import write_parquet

        write_parquet(self, path, self._chosen(what))

    def plot(self, *names: NameLike, x: NameLike | None = None, path: FilePath | None = None) -> Figure:
        """Return a figure of quantities by name over time, all coordinates by default; write it if a path is given.

        `x` names a quantity that they are drawn over instead of time: `run.plot("servo", x="crank")`.
        Names are those of joints (their coordinates), bodies or frames (their positions), elements' states, force
        elements (what they do), or "energy", "reactions", "accelerations", "A.force", "tip.velocity" and the like.
        """
        from whippletree.results.trajectory_plots import plotted

        return plotted(self, names, x, path)

    animate = Verb(lambda: whippletree.viewer.animate)

    def save(self, path: FilePath) -> None:
        """Write the run as NetCDF ("run.nc"), whole or not at all; `load` reads it again, bit for bit.

        The file holds states, labels and the certificate, and the model as the text of a model file; a warning says why
        if the model cannot be one.
        """
        from whippletree.results.tables import save

        save(self, path)

    @classmethod
    def load(cls, path: FilePath, system: System | None = None, *, check: bool = True) -> Trajectory:
        """Return a run that was saved, with the system it was made with, which is built from the model in the file.

        A `system` that is given takes its place. Another one is refused; `check=False` lets one pass that has the same
        joints but other numbers. A mechanism that cannot be written as a model file is not in the file: without a
        system, there are states, tables and plots of them, but nothing that has to be computed.
        """
        from whippletree.results.datasets import restored
        from whippletree.results.tables import read

        if not (system is None or isinstance(system, System)):
            raise StateError(f"system= must be a system, as Mechanism.build() returns it, not {shown(system)}")
        checked, data = truth(check, "check="), read(path)
        try:
            return cls(**restored(data, system, checked))
        except (ResultError, StateError) as error:
            raise type(error)(f"{path}: {error}") from None
        except Exception as error:  # whatever fields lead to that no run has written
            raise ResultError(f"{path} is not a whole run: {shown(str(error))[1:-1]}") from error

    # ------------------------------------------------------------------ inside

    @property
    def replay(self) -> Replay:
        """The system's calls on all states."""
        if self.system is None:
            raise ResultError("the run was loaded without its system: load it with system= to compute anything from it")
        return Replay(self.system, self.t, self.q, self.v, self.z, self.parameters, self.efforts, self.work)

    def _chosen(self, what: Names | None) -> Names:
        return [name for name in STATES if name != "states" or self.labels.states] if what is None else what

    def _picked(self, rows: slice) -> Trajectory:
        t = self.t[rows]
        if not len(t):
            raise StateError("a trajectory has at least one output, and this slice has none")
        efforts = self.efforts[rows] if self.efforts is not None and self.efforts.ndim > 1 else self.efforts
        work = None if self.work is None else self.work[rows]
        events = tuple(event for event in self.events if t[0] <= event.t <= t[-1])
        states: dict[str, Any] = {"q": self.q[rows], "v": self.v[rows], "z": self.z[rows]}
        parameters = of_rows(self.parameters, rows)
        return replace(self, t=t, **states, parameters=parameters, efforts=efforts, work=work, events=events)

    def _regular(self, every: float | None) -> Array:
        step = _numbers(every, "every")
        span = float(self.t[-1] - self.t[0])
        if step.shape != () or not step > 0:
            raise StateError(f"every= must be a time above zero, in seconds, not {shown(every)}")
        if not span / _MOST < float(step):
            raise StateError(f"every={float(step):g} asks for more than {_MOST} outputs: take a longer time")
        count = math.floor(span / float(step) + _HAIR)
        return np.asarray(np.minimum(self.t[0] + float(step) * np.arange(count + 1), self.t[-1]))

    def _within(self, times: Array) -> Array:
        """Return times within the run; those that rounding has put outside are put back."""
        slack = _HAIR * float(self.t[-1] - self.t[0]) / max(len(self) - 1, 1)
        outside = (times < self.t[0] - slack) | (times > self.t[-1] + slack)
        if outside.any():
            raise StateError(
                f"t = {times[outside][0]:g} s is not within the run, which goes from {self.t[0]:g} to {self.t[-1]:g} s"
            )
        return np.clip(times, self.t[0], self.t[-1])


def _labels(system: object) -> Labels:
    """Return the labels of a system's states."""
    if not isinstance(system, System):
        raise StateError(f"a trajectory is made with its system, not {shown(system)}")
    return Labels.of(system)


def _parameters(system: System | None, given: ParameterValues, n: int) -> Array | None:
    """Return the values of all parameters: those given, the others as described; rows if they change in the run."""
    if system is None:
        return None if given is None else _frozen(_numbers(given, "parameters"))
    known = [parameter.name for parameter in system.description.parameters]
    values = np.array(system.description.parameter_values, dtype=np.float64)
    if isinstance(given, Mapping):
        for name, value in given.items():
            if name not in known:
                raise ModelError(f"there is no parameter {suggestion(name, known)}")
            values[known.index(name)] = _numbers(value, f'parameter "{name}"')
    elif given is not None and dimensions_of(given) == 2:
        values = _rows(given, "parameters", n, (len(known),))
    elif given is not None:
        values = _rows(given, "parameters", len(known), ())
    return _frozen(values) if known else None


def _efforts(system: System | None, value: JointValues, n: int, nv: int) -> Array:
    """Return efforts for every output, or the same for all, which may be given by joint."""
    if isinstance(value, Mapping) and system is not None:
        value = system.velocities(value)
    return _rows(value, "efforts", nv, ()) if dimensions_of(value) == 1 else _rows(value, "efforts", n, (nv,))


def _plain(values: Array) -> Array:
    return values[:, 0] if values.shape[1] == 1 else values


def _numbers(value: object, what: str) -> Array:
    """Return finite numbers as an array."""
    try:
        array = np.array(None) if masked(value) else np.asarray(value)
    except Exception:
        array = np.array(None)
    if array.dtype.kind not in "fiu":
        raise StateError(f"{what} must be real numbers, not {shown(value)}")
    if not np.isfinite(array).all():
        raise StateError(f"{what} must be finite numbers")
    return array.astype(np.float64)


def _rows(value: object, what: str, n: int | None, more: tuple[int, ...]) -> Array:
    """Return an array of finite numbers of a known shape, read-only."""
    try:
        array = np.array(None) if masked(value) else np.asarray(value)
    except Exception:
        array = np.array(None)
    if array.dtype.kind not in "fiu":
        raise StateError(f"{what} must hold real numbers, not {shown(value)}")
    shape = (array.shape[0] if n is None and array.ndim else n, *more)
    if array.shape != shape:
        words = ("n", *more) if n is None else shape
        raise StateError(f"{what} must have the shape ({', '.join(map(str, words))}), but it is {array.shape}")
    if not np.isfinite(array).all():
        first = np.argwhere(~np.isfinite(array))[0].tolist()
        raise StateError(f"{what}{first} is {array[tuple(first)]}: a trajectory holds finite numbers only")
    return _frozen(array)


def _frozen(array: ArrayLike) -> Array:
    """Return an array that cannot be written to; one that could be is copied."""
    result = np.ascontiguousarray(array, dtype=np.float64)
    if result is array and result.flags.writeable:
        result = result.copy()
    if result.flags.writeable:
        result.flags.writeable = False
    return result


def _check_times(t: Array) -> None:
    """Refuse times that do not increase."""
    if not len(t):
        raise StateError("a trajectory has at least one output, and there is none")
    back = np.flatnonzero(np.diff(t) <= 0)
    if back.size:
        i = int(back[0])
        raise StateError(f"times must increase, but t[{i + 1}] = {t[i + 1]:g} comes after t[{i}] = {t[i]:g}")


def _listed(events: Any) -> list[Any]:
    try:
        return list(events)
    except Exception:  # whatever it raises, it is no list
        raise StateError(f"events= must be a list of events, not {shown(events)}") from None


def _event(given: object, labels: Labels) -> Event:
    """Return an event, its numbers checked; (name, t, q, v, z) is one too."""
    if not isinstance(given, Event):
        items = () if isinstance(given, str) else tuple(_listed(given))
        if len(items) != 5:
            raise StateError(f"an event is (name, t, q, v, z), not {shown(given)}")
        given = Event(*items)
    if not isinstance(given.name, str):
        raise StateError(f"the name of an event must be text, not {shown(given.name)}")
    what = f'event "{given.name}": '
    sizes = {"q": len(labels.coordinates), "v": len(labels.velocities), "z": len(labels.states)}
    states = {name: _rows(getattr(given, name), what + name, size, ()) for name, size in sizes.items()}
    time = _numbers(given.t, f"{what}t")
    if time.shape != ():
        raise StateError(f"{what}t must be one number")
    return Event(given.name, float(time), **states)
