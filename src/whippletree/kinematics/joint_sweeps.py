"""A mechanism over the stroke of a joint: configurations, ratios, transmission, singular positions, tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whippletree.errors import AssemblyWarning, StateError
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing, warn
from whippletree.kernels.kernel import Array
from whippletree.kinematics.following import Followed, InputPath, check_vector
from whippletree.kinematics.given_numbers import given_numbers
from whippletree.kinematics.kinematic_tolerances import DOUBTFUL_CONDITION, SINGULAR_INPUT
from whippletree.kinematics.sweep_tables import plotted, table, write_csv
from whippletree.kinematics.transmission import Transmission, transmission
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


class SingularInput(NamedTuple):
    """A singular position of a sweep: the input's value, the configuration, the conditioning there, and words."""

    value: float
    q: Array
    conditioning: float
    words: str


class SweepEnd(NamedTuple):
    """Where a sweep ends before its last value: the input's value at the dead position, and words."""

    value: float
    words: str


@readable
@user_facing
@dataclass(frozen=True, eq=False)
class JointSweep:
    """A mechanism over the values of an input: `System.sweep_joint`.

    `values` (n) are those of the input, `q` (n, nq) the configurations, NaN beyond the `ends`, dead positions which the
    input cannot go beyond; `singular` are positions on the way in which the loops, with the input held, do
    not determine the mechanism.

    >>> sweep = four_bar().sweep_joint("A", np.linspace(0.8, 1.2, 5))
    >>> sweep.coordinate("D").shape, sweep.ratio("A").tolist()
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

    @property
    def input_label(self) -> Label:
        """What the input is called, and its unit."""
        return self.labels.coordinates[self._place]

    @made_once
    def _place(self) -> int:
        names = self.system.kernels.states
        freedom = next(i for i in range(self.system.nv) if names.freedom_name(i) == self.input)  # checked
        joint = names.joint_of(freedom)
        return int(self.system.q_slice(joint).start + freedom - self.system.v_slice(joint).start)

    # ------------------------------------------------------------------ quantities over the stroke

    def coordinate(self, joint: str) -> Array:
        """Return a joint's coordinate (n), or coordinates (n, k) if it has several.

        >>> sweep = four_bar().sweep_joint("A", [0.8, 1.2])
        >>> sweep.coordinate("A")
        array([0.8, 1.2])
        """
        found = self.q[:, self.system.q_slice(joint)]
        return found[:, 0] if found.shape[1] == 1 else found

    def ratio(self, joint: str) -> Array:
        """Return a joint's velocity, or velocities (n, k), for a unit rate of the input.

        >>> sweep = four_bar().sweep_joint("A", np.linspace(0.99, 1.01, 3))
        >>> slope = np.diff(sweep.coordinate("D")[[0, 2]])[0] / 0.02
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
        owner = self.labels.coordinates[self._place].owner
        return transmission(self.system, self.q, owner, joint, self.parameters)

    # ------------------------------------------------------------------ tables and plots

    def table(self, *what: str, more: object = None) -> pd.DataFrame:
        """Return quantities as columns, the input first: joints, "joint.ratio", bodies and frames (their positions),
        "transmission angle", "conditioning"; all coordinates unless given. `more` adds
        columns by name.

        >>> list(four_bar().sweep_joint("A", [1.0, 1.1]).table("D", "D.ratio"))
        ['A.angle [rad]', 'D.angle [rad]', 'D.angular velocity over A']
        """
        return table(self, what, more)

    def to_csv(self, path: object, *what: str, more: object = None) -> None:
        """Write a table as text, every number with all its digits; see `table`."""
        write_csv(self, path, what, more)

    def plot(self, *what: str, more: object = None, path: object = None) -> Figure:
        """Draw quantities over the input, one diagram for each unit; see `table`. `path` writes it to a file.

        >>> figure = four_bar().sweep_joint("A", [1.0, 1.1]).plot("D", path=None)  # doctest: +SKIP
        """
        return plotted(self, what, more, path)


def sweep_joint(
    system: System,
    joint: object,
    values: object,
    *,
    start: object = None,
    hold: object = None,
    t: float = 0.0,
    parameters: ParameterValues = None,
) -> JointSweep:
    """Move a joint, or a (joint, index), through values in radians or metres, and return what all else does.

    The mechanism is followed from where it is, both ways from the value that is next to that, always on its branch;
    where the input can go no further, an `AssemblyWarning` tells why. Options: `start`, a configuration or guess to
    follow from (`q0` by default); `hold`, joints that rest; `t`, `parameters`. The `JointSweep` has configurations,
    poses, velocity ratios, transmission angles, conditioning, singular positions, tables and plots.

    >>> from whippletree.system.example_systems import four_bar
    >>> sweep = four_bar().sweep_joint("A", np.linspace(0.5, 1.5, 11))
    >>> sweep.q.shape, sweep.position("coupler").shape, sweep.ratio("D").shape
    ((11, 4), (11, 3), (11,))
    """
    inputs, states = system.kernels.inputs, system.kernels.states
    freedom = _single_freedom(system, joint)
    numbers = _stroke(values)
    q = system.q0 if start is None and parameters is None and t == 0.0 else None
    if q is None:
        guess = system.q0 if start is None else inputs.single(start, "start=")
        q = system.assemble(guess, t=t, parameters=parameters)
    path = InputPath(system, [freedom], inputs.freedoms(hold, "hold"), t, parameters)
    found, ends = _both_ways(path, q, numbers, states.freedom_name(freedom))
    for end in ends:
        warn(end.words, AssemblyWarning)
    closed = np.isfinite(found).all(axis=1)
    ratios = np.full((len(numbers), system.nv), np.nan)
    for i in np.flatnonzero(closed):
        ratios[i] = path.ratios(found[i])[:, 0]
    conditioning, singular = _singular(path, found, numbers, states.freedom_name(freedom))
    given = inputs.parameters(parameters)
    return JointSweep(system, states.freedom_name(freedom), numbers, found, ends, singular, conditioning, ratios, given)


def _single_freedom(system: System, joint: object) -> int:
    """Return the freedom that is swept: that of a joint, or of a (joint, index) pair."""
    chosen = np.flatnonzero(system.kernels.inputs.freedoms([joint], "joint"))
    if len(chosen) != 1:
        raise StateError(f"a sweep is over one freedom: name a joint with one, or (joint, index), not {shown(joint)}")
    freedom = int(chosen[0])
    check_vector(system, freedom)
    return freedom


def _stroke(values: object) -> Array:
    numbers = given_numbers(values, "the values of a sweep")
    if numbers.ndim != 1 or not numbers.size:
        raise StateError("the values of a sweep must be a list of finite numbers, in radians or metres, one dimension")
    return numbers


def _both_ways(path: InputPath, q: Array, values: Array, name: str) -> tuple[Array, tuple[SweepEnd, ...]]:
    """Follow the input from the value next to where it is, up and down the list; return where that leads, and ends."""
    found = np.full((len(values), len(q)), np.nan)
    middle = int(np.abs(values - q[path.places[0]]).argmin())
    first = path.follow(q, values[middle : middle + 1])
    if not first.arrived:
        return found, (_end(path, first, values[middle], name),)
    found[middle] = first.q
    ends = []
    for way in (range(middle + 1, len(values)), range(middle - 1, -1, -1)):
        at = first._replace(stride=None)
        for i in way:
            at = path.follow(at.q, values[i : i + 1], at.stride)
            if not at.arrived:
                ends.append(_end(path, at, values[i], name))
                break
            found[i] = at.q
    return found, tuple(ends)


def _end(path: InputPath, at: Followed, value: float, name: str) -> SweepEnd:
    """Say where the input stops, and which loop stops it."""
    assert path.closer is not None and at.open is not None
    assembler = path.closer.assembler
    row = assembler.numbers.rows[int(np.abs(assembler.numbers.residual(at.open, *path.closer.conditions)).argmax())]
    words = (
        f'"{name}" stops at {at.inputs[0]:.8g}, before {value:.6g}: a dead position, beyond which '
        f"{assembler.loop_in_words(row.closure)} cannot be closed"
    )
    return SweepEnd(float(at.inputs[0]), words)


def _singular(path: InputPath, q: Array, values: Array, name: str) -> tuple[Array, tuple[SingularInput, ...]]:
    """Return the conditioning (n) along a sweep, and the singular positions on the way."""
    measure = np.full(len(values), np.nan)
    closed = np.flatnonzero(np.isfinite(q).all(axis=1))
    spectra = {int(i): path.conditioning(q[i]) for i in closed}
    rank = max((int((s > RANK * s[0]).sum()) for s in spectra.values() if s.size), default=0)
    for i, s in spectra.items():
        measure[i] = s[rank - 1] / s[0] if rank else 1.0
    found = []
    for i in spectra:
        beside = [k for k in (i - 1, i + 1) if k in spectra]
        if rank and measure[i] < DOUBTFUL_CONDITION and all(measure[i] <= measure[k] for k in beside):
            one = _refined(path, q, values, i, beside, rank)
            if one[2] < SINGULAR_INPUT:
                words = (
                    f'singular position at "{name}" = {one[0]:.9g}: with it held, the loops leave a motion free there'
                )
                found.append(SingularInput(one[0], one[1], one[2], words))
    return measure, tuple(found)


def _refined(
    path: InputPath, q: Array, values: Array, i: int, beside: list[int], rank: int
) -> tuple[float, Array, float]:
    """Find the least conditioning around a position of a sweep by the golden section: value, configuration, measure."""

    def look(value: float) -> tuple[float, Array, float]:
        at = path.follow(q[i], np.array([value]))
        s = path.conditioning(at.q)
        return float(at.inputs[0]), at.q, float(s[rank - 1] / s[0])

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
