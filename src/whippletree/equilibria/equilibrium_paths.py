"""Paths of equilibria over a parameter, an effort or a speed, around turning points (snap-through).

A point of the path has coordinates x of the motions, states z of elements, and the number p, as a share of its range. A
step goes along the tangent, the null vector of the derivative [K, r_p], by an arc length; then Newton's method leads
back onto the path at right angles to the tangent. Where the path turns back, p has an extremum, and K is singular there
while [K, r_p] is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from whippletree.equilibria.balance import Imbalance, null_space
from whippletree.equilibria.descent import Reached, jacobian, newton
from whippletree.equilibria.equilibrium import Equilibrium, EquilibriumSearch, turned_back
from whippletree.equilibria.equilibrium_tolerances import (
    ARC_CORRECTIONS,
    ARC_STEPS,
    BALANCED,
    DETOUR,
    FIRST_ARC,
    INDIFFERENT,
    LONGEST_ARC,
    NEARLY_BALANCED,
    SAME_PLACE,
    SAME_VALUE,
    SHORTEST_ARC,
    SINGULAR,
    STRAIGHT,
    TURN_BISECTIONS,
)
from whippletree.equilibria.load_case import LoadCase, LoadQuantity, quantity_named
from whippletree.errors import StateError, WhippletreeError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.notebook_html import html_section, html_table
from whippletree.foundation.old_names import old_names
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import JointLike, JointValues, NameLike
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import shown, truth
from whippletree.spatial.scales import vanishing
from whippletree.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EquilibriumPath", "equilibrium_path", "values_of"]


def _one_coordinate(path: EquilibriumPath, joint: JointLike, index: int = 0) -> Array:
    return path.q[:, path[0].system.q_slice(joint)][:, index]


@old_names(coordinate=("EquilibriumPath.coordinates(joint)", lambda path: partial(_one_coordinate, path)))
@readable
@user_facing
class EquilibriumPath(Sequence[Equilibrium]):
    """Equilibria in their order along a path; `values` (n,) of the number `name`, and `turning` points by index.

    `note` says why the path ends before the last value that was asked for, if it does.
    """

    def __init__(
        self,
        number: LoadQuantity,
        points: Sequence[Equilibrium],
        values: Sequence[float],
        turning: Sequence[int],
        note: str,
    ) -> None:
        self.name, self.label, self._points, self.note = number.name, number.label, tuple(points), note
        self.values, self.turning = np.array(values, dtype=np.float64), tuple(turning)

    @overload
    def __getitem__(self, k: int) -> Equilibrium: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Equilibrium, ...]: ...
    def __getitem__(self, k: int | slice) -> Equilibrium | tuple[Equilibrium, ...]:
        return self._points[k]

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[Equilibrium]:
        return iter(self._points)

    @property
    def q(self) -> Array:
        """The configurations (n, nq)."""
        return np.array([one.q for one in self])

    @property
    def stability(self) -> tuple[str, ...]:
        """Whether each point is stable, unstable or undecided."""
        return tuple(one.stability for one in self)

    def at(self, value: float) -> tuple[Equilibrium, ...]:
        """Return all equilibria of the path at a value that was asked for."""
        near = vanishing(self.values - value, self.values, share=SAME_VALUE)
        return tuple(self[int(k)] for k in np.flatnonzero(near))

    def changes(self) -> tuple[int, ...]:
        """Return the points before which the stability changes, by index."""
        words = self.stability
        return tuple(k for k in range(1, len(words)) if words[k] != words[k - 1])

    def coordinates(self, joint: JointLike) -> Array:
        """Return a joint's coordinates along the path: (n,), or (n, k) if it has several."""
        found = self.q[:, self[0].system.q_slice(joint)]
        return found[:, 0] if found.shape[1] == 1 else found

    def plot(self, *joints: JointLike, path: FilePath | None = None) -> Figure:
        """Draw coordinates over the number, stable branches solid and unstable ones dashed; write it to a path."""
        from whippletree.equilibria.path_plots import drawn_path

        return drawn_path(self, joints, path)

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for k, (value, one) in enumerate(zip(self.values, self, strict=True)):
            said = f"{one.stability}{', turning point' if k in self.turning else ''}"
            rows.append((f"{value:.6g}", ", ".join(f"{x:.6g}" for x in one.q[:6]), said))
        return rows

    def __str__(self) -> str:
        words = self.stability
        counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        turned = f"; turning at {', '.join(f'{self.values[k]:.6g}' for k in self.turning)}" if self.turning else ""
        ended = f"; {self.note}" if self.note else ""
        return f"{len(self)} equilibria over {self.name}: {counts}{turned}{ended}"

    def _repr_html_(self) -> str:
        return html_section(str(self), html_table(self._rows(), (self.name, "coordinates", "stability")))


def values_of(values: ArrayLike, what: str) -> Array:
    """Return several finite numbers.

    >>> values_of([1, 2], "values")
    array([1., 2.])
    """
    try:
        found = np.array(values)
    except Exception:  # whatever it raises, these are no numbers
        found = np.array(None)
    if found.ndim != 1 or found.dtype.kind not in "fiu" or len(found) < 1 or not np.isfinite(found).all():
        raise StateError(f"{what} must be a list of finite numbers, not {shown(values)}")
    return found.astype(np.float64)


@user_facing
def equilibrium_path(
    system: System,
    parameter: NameLike,
    values: ArrayLike,
    *,
    guess: JointValues = None,
    nearest: bool = False,
    **load: object,
) -> EquilibriumPath:
    """Return the equilibria over a parameter, "joint.effort" or "joint.speed", each with its stability.

    The path begins at the first of the `values` and is followed, around turning points (snap-through), until it
    reaches the last one or leaves their range; it has points at all values on the way. `load` are `hold`, `tau`,
    `parameters`, `speeds`, `t` and `z` as for `equilibrium`.

    >>> from whippletree.system.example_systems import pendulum
    >>> path = equilibrium_path(pendulum(), "hinge.effort", [0.0, -5.0])
    >>> path.coordinates("hinge")[[0, -1]].round(4)
    array([1.5708, 1.036 ])
    """
    what = quantity_named(system, parameter, "parameter")
    wanted = values_of(values, "values")
    if len(wanted) < 2 or np.ptp(wanted) == 0:
        raise StateError("values must be at least two different numbers, the first where the path begins")
    search = search_over(system, what, float(wanted[0]), load)
    q = search.start(guess)
    first = newton(search.balance, q, search.z, search.load) if truth(nearest, "nearest=") else search.from_start(q)
    search.result(first, [])  # which says why if it is none
    return _PathFollower(search, what, wanted).follow(first)


def search_over(system: System, what: LoadQuantity, value: float, load: dict[str, Any]) -> EquilibriumSearch:
    """Return the search for equilibria at a value of a number."""
    unknown = [name for name in load if name not in _LOAD]
    if unknown:
        raise StateError(f"there is no option {suggestion(unknown[0], _LOAD)}")
    given = dict(load)
    if what.kind == "speed":
        given["speeds"] = {**(given.get("speeds") or {}), system.kernels.states.joint_of(what.index): value}
    search = EquilibriumSearch.of(system, **given)
    search.load = search.load.with_value(what, value)
    return search


_LOAD = ("hold", "tau", "parameters", "speeds", "t", "z")


class _Point(NamedTuple):
    """A point of a path: the balance, the load, and the tangent as a displacement of joints, states and number."""

    here: Imbalance
    load: LoadCase
    tangent: Array


@dataclass
class _PathFollower:
    """Follows a path."""

    search: EquilibriumSearch
    what: LoadQuantity
    wanted: Array

    def __post_init__(self) -> None:
        self.low, self.high = float(self.wanted.min()), float(self.wanted.max())
        self.range = self.high - self.low
        self.end = float(self.wanted[-1])
        self.forward = 1.0 if self.end > self.wanted[0] else -1.0

    def follow(self, first: Reached) -> EquilibriumPath:
        """Follow the path from its first point until it reaches the last value, or leaves the range."""
        point = self._point(first.here, first.load, None)
        found: list[tuple[_Point, bool]] = [(point, False)]
        arc, note = FIRST_ARC, ""
        for _ in range(ARC_STEPS):
            ahead = self._step(point, arc)
            if ahead is None:
                arc /= 2
                if arc < SHORTEST_ARC:
                    note = f"it could not be followed beyond {self.what.name} = {self._value(point):.6g}"
                    break
                continue
            if self._turned(point, ahead):
                corner = self._turning_point(point, arc)
                if corner is not None:
                    found.append((corner, True))
            found.append((ahead, False))
            if self._beyond(ahead):
                break
            if len(found) > 2 and self._closes(found[0][0], point, ahead):
                note = "the path comes back to where it began"
                break
            point, arc = ahead, min(1.3 * arc, LONGEST_ARC)
        else:
            note = f"{ARC_STEPS} points do not lead to {self.what.name} = {self.end:.6g}"
        return self._path(found, note)

    def _beyond(self, point: _Point) -> bool:
        """Tell whether a path has passed the last value, or is far on the other side of the first one."""
        past = self.forward * (self._value(point) - self.end)
        return past > 0 or past < -(1 + DETOUR) * self.range

    def _closes(self, first: _Point, point: _Point, ahead: _Point) -> bool:
        """Tell whether the first point of the path lies between two others."""
        balance = self.search.balance
        across = (self._value(point) - self._value(first)) * (self._value(ahead) - self._value(first)) <= 0
        near = np.abs(turned_back(self.search.system, balance.difference(first.here.q, ahead.here.q))).max(initial=0.0)
        step = np.abs(balance.difference(point.here.q, ahead.here.q)).max(initial=0.0)
        return bool(across and near <= step)

    # ------------------------------------------------------------------ points

    def _value(self, point: _Point) -> float:
        return point.load.value(self.what)

    def _at(self, load: LoadCase, value: float) -> LoadCase:
        return load.with_value(self.what, value)

    def _jacobian(self, here: Imbalance, load: LoadCase) -> Array:
        """Return the derivative for motions, states, and the number as a share of its range."""
        J, sizes = jacobian(self.search.balance, here, load, [self.what])
        J[:, -1] *= self.range / sizes[0]
        return J

    def _point(self, here: Imbalance, load: LoadCase, before: Array | None) -> _Point:
        """Return a point with its tangent, which goes on as the one before, or towards the last value."""
        nz, nv = len(here.z), len(here.motions)
        free = null_space(self._jacobian(here, load), INDIFFERENT)
        wanted = np.eye(len(free))[-1] * self.forward
        if before is not None:
            wanted = np.concatenate([here.motions.T @ before[:nv], before[nv:]])
        along = free @ (free.T @ wanted) if free.shape[1] > 1 else free[:, 0]  # neutral motions take no part
        along = along / np.linalg.norm(along)
        n = len(along) - 1 - nz
        tangent = np.concatenate([here.motions @ along[:n], along[n:]])
        against = tangent @ before if before is not None else along[-1] * self.forward
        return _Point(here, load, tangent if against >= 0 else -tangent)

    def _step(self, point: _Point, arc: float) -> _Point | None:
        """Return the point of the path an arc length ahead, or None."""
        try:
            return self._corrected(point, arc)
        except (WhippletreeError, np.linalg.LinAlgError):
            return None

    def _corrected(self, point: _Point, arc: float) -> _Point | None:
        balance, nv, nz = self.search.balance, self.search.system.nv, len(point.here.z)
        t = point.tangent
        load = self._at(point.load, self._value(point) + arc * t[-1] * self.range)
        q, opening = balance.moved(point.here.q, arc * t[:nv], load)
        z = point.here.z + arc * t[nv : nv + nz]
        scale = balance.effort_scale(q, z, load)
        here = balance.at(q, z, load)
        for _ in range(ARC_CORRECTIONS):
            if opening > SAME_PLACE or not np.isfinite(here.size):
                return None
            if vanishing(here.size, scale, share=BALANCED):
                break
            J = self._jacobian(here, load)
            across = np.concatenate([here.motions.T @ t[:nv], t[nv:]])
            right = np.concatenate([-here.efforts, -here.rates, [0.0]])
            dy = np.linalg.lstsq(np.vstack([J, across * np.abs(J).max()]), right, rcond=SINGULAR)[0]
            if np.linalg.norm(dy) > 2 * arc:
                return None
            n = len(dy) - 1 - nz
            load = self._at(load, load.value(self.what) + dy[-1] * self.range)
            q, opening = balance.moved(here.q, here.motions @ dy[:n], load)
            here = balance.at(q, here.z + dy[n : n + nz], load)
        if not vanishing(here.size, scale, share=NEARLY_BALANCED):
            return None
        ahead = self._point(here, load, t)
        cosine = ahead.tangent @ t / np.linalg.norm(ahead.tangent) / np.linalg.norm(t)
        return ahead if cosine > STRAIGHT else None

    @staticmethod
    def _turned(point: _Point, ahead: _Point) -> bool:
        return bool(point.tangent[-1] * ahead.tangent[-1] < 0)

    def _turning_point(self, point: _Point, arc: float) -> _Point | None:
        """Return the point between two at which the number has an extremum."""
        low, high, best = 0.0, arc, None
        for _ in range(TURN_BISECTIONS):
            middle = self._step(point, (low + high) / 2)
            if middle is None:
                return best
            best = middle
            if abs(middle.tangent[-1]) < SAME_PLACE:
                break
            low, high = ((low + high) / 2, high) if not self._turned(point, middle) else (low, (low + high) / 2)
        return best

    # ------------------------------------------------------------------ the path

    def _path(self, found: list[tuple[_Point, bool]], note: str) -> EquilibriumPath:
        """Return the points as equilibria, with those at the values that were asked for between them."""
        points: list[Equilibrium] = []
        values: list[float] = []
        turning: list[int] = []

        def add(reached: Reached, turned: bool) -> None:
            if turned:
                turning.append(len(points))
            points.append(self.search.result(reached, []))
            values.append(reached.load.value(self.what))

        for (before, _), (point, turned) in zip([found[0], *found], found, strict=False):
            for reached in self._between(before, point):
                add(reached, False)
            new = not values or abs(self._value(point) - values[-1]) > SAME_VALUE * self.range
            if not self._beyond(point) and (new or turned):
                add(self._reached(point), turned)
        return EquilibriumPath(self.what, points, values, turning, note)

    def _reached(self, point: _Point) -> Reached:
        scale = self.search.balance.effort_scale(point.here.q, point.here.z, point.load)
        return Reached(point.here, point.load, scale, True)

    def _between(self, before: _Point, point: _Point) -> list[Reached]:
        """Return the equilibria at values that were asked for and lie between two points of the path."""
        a, b = self._value(before), self._value(point)
        inside = [x for x in np.unique(self.wanted) if min(a, b) < x <= max(a, b) and x != a]
        found = []
        way = self.search.balance.difference(before.here.q, point.here.q)
        for value in inside if b >= a else inside[::-1]:
            share = (value - a) / (b - a)
            load = self._at(before.load, float(value))
            q, _ = self.search.balance.moved(before.here.q, share * way, load)
            z = before.here.z + share * (point.here.z - before.here.z)
            reached = newton(self.search.balance, q, z, load)
            if reached.balanced:
                found.append(reached)
        return found
