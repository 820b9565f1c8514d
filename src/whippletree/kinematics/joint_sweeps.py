"""A mechanism over the stroke of a joint or a point: configurations, ratios, singular positions, tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import AssemblyWarning, StateError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.old_names import old_names
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing, warn
from whippletree.kernels.kernel import Array
from whippletree.kinematics.following import Followed, InputPath, MotionPath, check_vector, coordinate_places
from whippletree.kinematics.given_numbers import given_numbers
from whippletree.kinematics.kinematic_tolerances import DOUBTFUL_CONDITION, SINGULAR_INPUT
from whippletree.kinematics.point_paths import PointPath
from whippletree.kinematics.sweep_tables import plotted, table, write_csv
from whippletree.kinematics.transmission import Transmission, transmission
from whippletree.model.argument_types import CoordinateLike, Freedoms, JointLike, JointValues, PlaceLike
from whippletree.results.labels import Label, Labels
from whippletree.spatial.scalars import shown
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.input_reader import Mask
from whippletree.system.tolerances import RANK

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from whippletree.system import System
    from whippletree.system.evaluator import ParameterValues

__all__ = ["JointSweep", "SingularInput", "SweepEnd", "sweep_joint"]

_REFINEMENTS = 45
"""Steps of the golden section that find a singular position between two of a sweep: to 1e-9 of their distance."""


@user_facing
class SingularInput(NamedTuple):
    """A singular position of a sweep: the input's value, the configuration, the conditioning there, and words."""

    value: float
    q: Array
    conditioning: float
    words: str


@user_facing
class SweepEnd(NamedTuple):
    """Where a sweep ends before its last value: the input's value at the dead position, and words."""

    value: float
    words: str


@old_names(coordinate="coordinates")
@readable
@user_facing
@dataclass(frozen=True, eq=False)
class JointSweep:
    """A mechanism over the values of an input: `System.sweep_joint`.

    `values` (n) are those of the input, for a point on a path how far it has gone. `q` (n, nq) are the configurations,
    NaN beyond the `ends`, dead positions which the input cannot go beyond; `singular` are positions on the way in which
    the loops, with the input held, do not determine the mechanism.

    >>> sweep = four_bar().sweep_joint("A", np.linspace(0.8, 1.2, 5))
    >>> sweep.coordinates("D").shape, sweep.ratio("A").tolist()
    ((5,), [1.0, 1.0, 1.0, 1.0, 1.0])
    """

    system: System
    input: str
    values: Array
    q: Array
    ends: tuple[SweepEnd, ...]
    singular: tuple[SingularInput, ...]
    conditioning: Array
    ratios: Array
    input_label: Label = field(repr=False)
    joint: str | None = field(repr=False)
    parameters: ParameterValues = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        inside = self.values[self.closed]
        unit = self.input_label.unit
        reach = f"from {inside.min():.6g} to {inside.max():.6g} {unit}" if inside.size else "nowhere"
        lines = [
            f'"{self.input}" over {len(self)} positions; closed in {len(inside)}, {reach}',
            *(end.words for end in self.ends),
        ]
        return "\n".join([*lines, *(one.words for one in self.singular)])

    @property
    def closed(self) -> Mask:
        """Where (n) the loops are closed."""
        return np.asarray(np.isfinite(self.q).all(axis=1))

    @made_once
    def labels(self) -> Labels:
        """The names of all coordinates."""
        return Labels.of(self.system)

    # ------------------------------------------------------------------ quantities over the stroke

    def coordinates(self, joint: JointLike) -> Array:
        """Return a joint's coordinates: (n,), or (n, k) if it has several.

        >>> sweep = four_bar().sweep_joint("A", [0.8, 1.2])
        >>> sweep.coordinates("A")
        array([0.8, 1.2])
        """
        found = self.q[:, self.system.q_slice(joint)]
        return found[:, 0] if found.shape[1] == 1 else found

    def ratio(self, joint: str) -> Array:
        """Return a joint's velocity, or velocities (n, k), for a unit rate of the input.

        >>> sweep = four_bar().sweep_joint("A", np.linspace(0.99, 1.01, 3))
        >>> slope = np.diff(sweep.coordinates("D")[[0, 2]])[0] / 0.02
        >>> bool(abs(sweep.ratio("D")[1] - slope) < 1e-4)
        True
        """
        found = self.ratios[:, self.system.v_slice(joint)]
        return found[:, 0] if found.shape[1] == 1 else found

    def pose(self, place: str) -> Array:
        """Return the poses (n, 4, 4) of a body or frame.

        >>> four_bar().sweep_joint("A", [0.8, 1.2]).pose("coupler").shape
        (2, 4, 4)
        """
        found = np.full((len(self), 4, 4), np.nan)
        if self.closed.any():
            found[self.closed] = self.system.pose(self.q[self.closed], place, parameters=self.parameters)
        return found

    def position(self, place: str) -> Array:
        """Return the positions (n, 3) of a body's or frame's origin.

        >>> four_bar().sweep_joint("A", [0.8, 1.2]).position("coupler").shape
        (2, 3)
        """
        return self.pose(place)[:, :3, 3]

    def velocity_ratio(self, place: str) -> Array:
        """Return the velocities [angular; linear] (n, 6) of a body or frame for a unit rate of the input.

        >>> four_bar().sweep_joint("A", [0.8, 1.2]).velocity_ratio("crank")[:, 1]
        array([1., 1.])
        """
        found = np.full((len(self), 6), np.nan)
        there = self.closed & np.isfinite(self.ratios).all(axis=1)
        if there.any():
            v = np.ascontiguousarray(self.ratios[there])
            found[there] = self.system.velocity(self.q[there], v, place, parameters=self.parameters)
        return found

    def transmission_angle(self, joint: str | None = None) -> Array:
        """Return the transmission angle (n), in radians, at the joint between coupler and output.

        It is the angle between the coupler's line and the line from that joint to the pivot of the output; for an
        output that slides, between the coupler's line and the normal to the slide, at most a right one. Forces go well
        through the joint near a right angle, and not at all at 0 and 180 degrees. Of a loop of four joints the joint
        opposite to the input is taken unless one is named.

        >>> sweep = four_bar().sweep_joint("A", [1.0])
        >>> d2 = 1 + 4 - 4 * np.cos(sweep.values)  # crank 1, ground 2, coupler 2, rocker 1.5
        >>> bool(np.allclose(np.cos(sweep.transmission_angle()), (4 + 1.5**2 - d2) / (2 * 2 * 1.5)))
        True
        """
        return self.transmission(joint).angle

    def transmission(self, joint: str | None = None) -> Transmission:
        """Return lines and angle of the transmission at a joint; see `transmission_angle`.

        >>> four_bar().sweep_joint("A", [1.0]).transmission().joint
        'C'
        """
        if self.joint is None:
            raise StateError("transmission angles belong to a joint that drives, and here a point does: sweep a joint")
        return transmission(self.system, self.q, self.joint, joint, self.parameters)

    # ------------------------------------------------------------------ tables and plots

    def table(self, *what: str, more: Mapping[str, ArrayLike] | None = None) -> pd.DataFrame:
        """Return quantities as columns, the input first: joints, "joint.ratio", bodies and frames (their positions),
        "transmission angle", "conditioning"; all coordinates unless given. `more` adds
        columns by name.

        >>> list(four_bar().sweep_joint("A", [1.0, 1.1]).table("D", "D.ratio"))
        ['A.angle [rad]', 'D.angle [rad]', 'D.angular velocity over A']
        """
        return table(self, what, more)

    def to_csv(self, path: FilePath, *what: str, more: Mapping[str, ArrayLike] | None = None) -> None:
        """Write a table as text, every number with all its digits; see `table`."""
        write_csv(self, path, what, more)

    def plot(self, *what: str, more: Mapping[str, ArrayLike] | None = None, path: FilePath | None = None) -> Figure:
        """Draw quantities over the input, one diagram for each unit; see `table`. `path` writes it to a file.

        >>> figure = four_bar().sweep_joint("A", [1.0, 1.1]).plot("D", path=None)  # doctest: +SKIP
        """
        return plotted(self, what, more, path)


def sweep_joint(
    system: System,
    joint: CoordinateLike | PlaceLike,
    values: ArrayLike,
    *,
    axes: str | None = None,
    start: JointValues = None,
    hold: Freedoms | None = None,
    t: float = 0.0,
    parameters: ParameterValues = None,
) -> JointSweep:
    """Move a joint, or a (joint, index), through values in radians or metres, and return how all others follow.

    With `axes` a point is moved: `joint` is a body or frame, whose origin goes through the values of one coordinate
    (`axes="x"`) or along a path (n, 3), `axes="xyz"`; what axes leave out is free. The mechanism is followed from where
    it is, both ways from the value that is next to that, always on its branch; where the input can go no further, an
    `AssemblyWarning` tells why. Options: `start`, a configuration or guess to follow from (`q0` by default); `hold`,
    joints that rest; `t`, `parameters`. The `JointSweep` has configurations, poses, velocity ratios, transmission
    angles, conditioning, singular positions, tables and plots.

    >>> from whippletree.system.example_systems import four_bar
    >>> sweep = four_bar().sweep_joint("A", np.linspace(0.5, 1.5, 11))
    >>> sweep.q.shape, sweep.position("coupler").shape, sweep.ratio("D").shape
    ((11, 4), (11, 3), (11,))
    >>> four_bar().sweep_joint("coupler", [0.6, 0.5], axes="x").position("coupler")[:, 0]
    array([0.6, 0.5])
    """
    inputs = system.kernels.inputs
    if axes is None:
        freedom = _single_freedom(system, joint)
        stroke = _joint_stroke(system, freedom, values)
    else:
        stroke = _point_stroke(inputs.place_name(cast(PlaceLike, joint)), values, _axes(axes))
    q = system.q0 if start is None and parameters is None and t == 0.0 else None
    if q is None:
        guess = system.q0 if start is None else inputs.single(start, "start=")
        q = system.assemble(guess, t=t, parameters=parameters)
    path: MotionPath
    if axes is None:
        path = InputPath(system, [freedom], inputs.freedoms(hold, "hold"), t, parameters)
    else:
        path = PointPath(system, stroke.label.owner, _axes(axes), hold, t, parameters)
    found, ends = _both_ways(path, q, stroke)
    for end in ends:
        warn(end.words, AssemblyWarning)
    ratios = np.full((len(found), system.nv), np.nan)
    for i in np.flatnonzero(np.isfinite(found).all(axis=1)):
        ratios[i] = path.along(found[i], stroke.tangents[i])
    conditioning, singular = _singular(path, found, stroke)
    given, name = inputs.parameters(parameters), stroke.name
    driven = stroke.label.owner if axes is None else None
    return JointSweep(
        system, name, stroke.values, found, ends, singular, conditioning, ratios, stroke.label, driven, given
    )


# ---------------------------------------------------------------------- the swept coordinate


class _Stroke(NamedTuple):
    """A moved coordinate: its name, label and values (n); inputs (n, k) and their rates for its unit rate."""

    name: str
    label: Label
    values: Array
    targets: Array
    tangents: Array

    def inputs(self, value: float) -> Array:
        """Return the inputs (k) at a value between two that are neighbours."""
        if self.targets.shape[1] == 1:
            return np.array([value])
        return np.array([np.interp(value, self.values, x) for x in self.targets.T])

    def reached(self, i: int, toward: float, at: Followed) -> float:
        """Return the value that has been reached from position i, on the way to another value."""
        return float(self.values[i] + np.copysign(np.linalg.norm(at.inputs - self.targets[i]), toward - self.values[i]))


def _joint_stroke(system: System, freedom: int, values: ArrayLike) -> _Stroke:
    """Return a freedom's stroke through values."""
    numbers = given_numbers(values, "the values of a sweep")
    if numbers.ndim != 1 or not numbers.size:
        raise StateError(
            "the values of a sweep must be a list of finite numbers, in radians or metres, one dimension; a path of a "
            'body or frame, (n, 3), is given with axes="xyz"'
        )
    place = int(coordinate_places(system, [freedom])[0])
    label, column = Labels.of(system).coordinates[place], numbers[:, None]
    return _Stroke(system.kernels.states.freedom_name(freedom), label, numbers, column, np.ones_like(column))


def _axes(axes: str) -> list[int]:
    """Return the numbers of axes.

    >>> _axes("xz")
    [0, 2]
    """
    if not isinstance(axes, str) or not axes or len(set(axes)) != len(axes) or not set(axes) <= set("xyz"):
        raise StateError(f'axes= must be some of x, y and z, such as "x" or "xyz", not {shown(axes)}')
    return ["xyz".index(axis) for axis in axes]


def _point_stroke(frame: str, values: ArrayLike, axes: list[int]) -> _Stroke:
    """Return the stroke of a point through values of one coordinate, or along a path: its length is the value."""
    numbers, k = given_numbers(values, "the values of a sweep"), len(axes)
    if k == 1 and numbers.ndim == 1 and numbers.size:
        label, column = Label(frame, "xyz"[axes[0]], "m"), numbers[:, None]
        return _Stroke(f"{frame}.{label.what}", label, numbers, column, np.ones_like(column))
    if k == 1 or numbers.ndim != 2 or numbers.shape[1] != k or len(numbers) < 2:
        wanted = "a list of numbers" if k == 1 else f"two positions or more, (n, {k})"
        raise StateError(f'"{frame}" is moved along {k} of x, y and z: give {wanted}, in metres')
    steps = np.hypot.reduce(np.diff(numbers, axis=0), axis=1)
    if not (steps > 0).all():
        i = int(np.argmin(steps))
        raise StateError(f"positions {i} and {i + 1} of the path are the same: leave one out")
    with np.errstate(all="ignore"):  # where numbers overflow, it is too far to be followed
        lengths = np.concatenate([[0.0], np.cumsum(steps)])
        tangents = np.gradient(numbers, lengths, axis=0, edge_order=2 if len(numbers) > 2 else 1)
    return _Stroke(f"{frame}.path", Label(frame, "path", "m"), lengths, numbers, tangents)


def _single_freedom(system: System, joint: CoordinateLike | PlaceLike) -> int:
    """Return the freedom that is swept: that of a joint, or of a (joint, index) pair."""
    chosen = np.flatnonzero(system.kernels.inputs.freedoms([cast(CoordinateLike, joint)], "joint"))
    if len(chosen) != 1:
        raise StateError(f"a sweep is over one freedom: name a joint with one, or (joint, index), not {shown(joint)}")
    freedom = int(chosen[0])
    check_vector(system, freedom)
    return freedom


# ---------------------------------------------------------------------- along it


def _both_ways(path: MotionPath, q: Array, stroke: _Stroke) -> tuple[Array, tuple[SweepEnd, ...]]:
    """Follow the input from the value next to where it is, up and down the list; return where that leads, and ends."""
    values, targets = stroke.values, stroke.targets
    found = np.full((len(values), len(q)), np.nan)
    middle = int(np.hypot.reduce(np.abs(targets - path.inputs_at(q)), axis=1).argmin())
    first = path.follow(q, targets[middle])
    if not first.arrived:
        return found, (_end(path, first, stroke, middle, None),)
    found[middle] = first.q
    ends = []
    for way in (range(middle + 1, len(values)), range(middle - 1, -1, -1)):
        at, before = first._replace(stride=None), middle
        for i in way:
            at = path.follow(at.q, targets[i], at.stride)
            if not at.arrived:
                ends.append(_end(path, at, stroke, i, before))
                break
            found[i], before = at.q, i
    return found, tuple(ends)


def _end(path: MotionPath, at: Followed, stroke: _Stroke, i: int, before: int | None) -> SweepEnd:
    """Say where the input stops on its way to position i, from the one before it if there is one, and why."""
    assert at.open is not None
    value, obstacle = float(stroke.values[i]), path.obstacle(at.open)
    if before is None and len(at.inputs) > 1:
        here, there = (", ".join(f"{x:.6g}" for x in one) for one in (at.inputs, stroke.targets[i]))
        return SweepEnd(value, f'"{stroke.name}" is not reached: beyond ({here}), toward ({there}), {obstacle}')
    stop = float(at.inputs[0]) if before is None else stroke.reached(before, value, at)
    words = f'"{stroke.name}" stops at {stop:.8g}, before {value:.6g}: a dead position, beyond which {obstacle}'
    return SweepEnd(stop, words)


def _singular(path: MotionPath, q: Array, stroke: _Stroke) -> tuple[Array, tuple[SingularInput, ...]]:
    """Return the conditioning (n) along a sweep, and the singular positions on the way."""
    measure = np.full(len(q), np.nan)
    closed = np.flatnonzero(np.isfinite(q).all(axis=1))
    spectra = {int(i): path.conditioning(q[i]) for i in closed}
    rank = max((int((s > RANK * s[0]).sum()) for s in spectra.values() if s.size), default=0)
    for i, s in spectra.items():
        measure[i] = s[rank - 1] / s[0] if rank else 1.0
    found = []
    for i in spectra:
        beside = [k for k in (i - 1, i + 1) if k in spectra]
        if rank and measure[i] < DOUBTFUL_CONDITION and all(measure[i] <= measure[k] for k in beside):
            one = _refined(path, q, stroke, i, beside, rank)
            if one[2] < SINGULAR_INPUT:
                words = f'singular position at "{stroke.name}" = {one[0]:.9g}: with it held, a motion is left free'
                found.append(SingularInput(one[0], one[1], one[2], words))
    return measure, tuple(found)


def _refined(
    path: MotionPath, q: Array, stroke: _Stroke, i: int, beside: list[int], rank: int
) -> tuple[float, Array, float]:
    """Find the least conditioning around a position of a sweep by the golden section: value, configuration, measure."""

    def look(value: float) -> tuple[float, Array, float]:
        at = path.follow(q[i], stroke.inputs(value))
        s = path.conditioning(at.q)
        return stroke.reached(i, value, at), at.q, float(s[rank - 1] / s[0])

    values = stroke.values
    low, high = float(values[min([i, *beside])]), float(values[max([i, *beside])])
    golden = (np.sqrt(5) - 1) / 2
    a, b = look(high - golden * (high - low)), look(low + golden * (high - low))
    for _ in range(_REFINEMENTS):
        if a[2] < b[2]:
            high, b = b[0], a
            a = look(high - golden * (high - low))
        else:
            low, a = a[0], b
            b = look(low + golden * (high - low))
    return min((look(float(values[i])), a, b), key=lambda one: one[2])
