"""States between outputs, on the manifold of configurations.

Between two outputs a time h apart, coordinates follow the cubic that has both outputs' values and rates: their error is
of order h^4. A quaternion turns by a rotation vector that follows such a cubic, so that it stays a rotation, and a body
that turns steadily is met exactly, as long as it turns by less than half a turn from one output to the next. Velocities
and the states of elements follow the cubics of their values and rates, of order h^4 too. For work, and for velocities
where accelerations are not determined (no masses), slopes come from differences of neighbours: order h^3. Efforts are
held from one output to the next.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from whippletree.errors import AssemblyError, DynamicsError
from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.results.replay import Replay, of_rows
from whippletree.system import System

__all__ = ["Between", "interpolated"]

_SMALL = 1e-4
"""Angles below which a series takes the place of a quotient of small numbers."""

Index = Indices


class Between(NamedTuple):
    """Where times are between outputs: after which output, which share of the way, and how long the way is.

    >>> Between.of(np.array([0.0, 1.0, 3.0]), np.array([2.0])).share.tolist()
    [[0.5]]
    """

    before: Index
    share: Array
    length: Array

    @classmethod
    def of(cls, t: Array, times: Array) -> Between:
        """Find the times among those of the outputs."""
        before = np.clip(np.searchsorted(t, times, side="right") - 1, 0, max(len(t) - 2, 0))
        after = np.minimum(before + 1, len(t) - 1)
        length = t[after] - t[before]
        share = np.divide(times - t[before], length, out=np.zeros(len(times)), where=length > 0)
        return cls(before, share[:, None], length[:, None])


def interpolated(run: Replay, times: Array, *, close: bool = True) -> Replay:
    """Return the states at times within the run; loops are closed again unless told otherwise."""
    place = Between.of(run.t, times)
    if len(run.t) == 1:
        return replace(run.picked(place.before), t=times)
    knots, k = np.unique(np.concatenate([place.before, place.before + 1]), return_inverse=True)
    ends = run.picked(knots)
    k0, k1 = k[: len(times)], k[len(times) :]
    v = _cubic(ends.v, _slopes_of_velocities(run, ends, knots), k0, k1, place)
    z = _cubic(ends.z, ends.state_rates(), k0, k1, place)
    work = None if run.work is None else _cubic(run.work[knots], _slopes(run.t, run.work, knots), k0, k1, place)
    held = run.picked(place.before)
    found = replace(held, t=times, q=_configurations(ends, k0, k1, place), v=v, z=z, work=work)
    _keep_outputs(found, run, place)
    if close and run.system.closure_rows:
        _close(found, np.flatnonzero((place.share[:, 0] > 0) & (place.share[:, 0] < 1)))
    return found


def _keep_outputs(found: Replay, run: Replay, place: Between) -> None:
    """Return outputs that are met as they are."""
    for share, output in ((0.0, place.before), (1.0, place.before + 1)):
        exact = place.share[:, 0] == share
        its = run.picked(output[exact])
        for mine, own in zip(found.rows(), its.rows(), strict=True):
            mine[exact] = own


def _configurations(ends: Replay, k0: Index, k1: Index, place: Between) -> Array:
    """Return the coordinates: cubics of the plain ones, turns of the quaternions."""
    system = ends.system
    rates = system.coordinate_rates(ends.q, ends.v) if system.nv else np.zeros_like(ends.q)
    q = _cubic(ends.q, rates, k0, k1, place)
    turning = quaternions(system)
    if not turning:
        return q
    way = system.difference(ends.q[k0], ends.q[k1])
    turn = np.zeros_like(way)
    for _, about in turning:
        d = way[:, about]
        first, last = ends.v[k0][:, about], unrolled(d, ends.v[k1][:, about])
        turn[:, about] = _hermite(d, first, last, place)
    turned = system.integrate(np.ascontiguousarray(ends.q[k0]), turn)
    for where, _ in turning:
        q[:, where] = turned[:, where]
    return q


def quaternions(system: System) -> list[tuple[slice, slice]]:
    """Return where each quaternion is in `q`, and the angular velocity that turns it in `v`.

    >>> from whippletree.system.example_systems import four_bar
    >>> quaternions(four_bar())
    []
    """
    found = []
    for use in system.description.joints:
        if use.joint.quaternion:
            q, v = system.q_slice(use.name).start, system.v_slice(use.name).start
            found.append((slice(q, q + 4), slice(v, v + 3)))
    return found


def unrolled(turn: Array, w: Array) -> Array:
    """Return the rate of a rotation vector (n, 3) for an angular velocity in the turned axes.

    The inverse of w = J(x) x', with R(t) = R0 exp(x(t)): x' = w + x cross w / 2 + c x cross (x cross w),
    c = (1 - (a/2) cot(a/2)) / a^2 for the angle a = |x|.

    >>> unrolled(np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.0, 2.0]])).tolist()
    [[0.0, 0.0, 2.0]]
    """
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    small = angle < _SMALL
    a = np.where(small, 1.0, angle)
    c = np.where(small, 1 / 12 + angle**2 / 720, (1 - (a / 2) / np.tan(a / 2)) / a**2)
    once = np.cross(turn, w)
    return np.asarray(w + once / 2 + c * np.cross(turn, once))


def _cubic(values: Array, slopes: Array, k0: Index, k1: Index, place: Between) -> Array:
    """Return the cubics through values with slopes."""
    start = values[k0]
    return np.asarray(start + _hermite(values[k1] - start, slopes[k0], slopes[k1], place))


def _hermite(way: Array, first: Array, last: Array, place: Between) -> Array:
    """Return the cubic from zero to `way` whose slopes are `first` and `last`."""
    s, h = place.share, place.length
    return np.asarray(s * s * (3 - 2 * s) * way + h * s * (1 - s) * ((1 - s) * first - s * last))


def _slopes_of_velocities(run: Replay, ends: Replay, knots: Index) -> Array:
    """Return the accelerations at the knots; differences of velocities if there are no masses."""
    with contextlib.suppress(DynamicsError):
        return ends.accelerations()
    return _slopes(run.t, run.v, knots)


def _slopes(t: Array, values: Array, knots: Index) -> Array:
    """Return slopes at some outputs: those of the parabola through each and its neighbours."""
    if not values.size or len(t) == 2:
        rate = np.diff(values, axis=0) / np.diff(t)[:, None] if values.size else values
        return np.asarray(rate[np.zeros(len(knots), dtype=np.intp)])
    middle = np.clip(knots, 1, len(t) - 2)
    x0, x1, x2 = (t[middle + i][:, None] for i in (-1, 0, 1))
    y0, y1, y2 = (values[middle + i] for i in (-1, 0, 1))
    left, right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    bend = (right - left) / (x2 - x0)
    return np.asarray(left + bend * (2 * t[knots][:, None] - x0 - x1))


def _close(run: Replay, rows: Index) -> None:
    """Bring states back onto the closures, in place."""
    for k in rows:
        options: dict[str, Any] = {"t": float(run.t[k]), "parameters": of_rows(run.parameters, k)}
        try:
            run.q[k] = run.system.assemble(run.q[k], **options)
            run.v[k] = run.system.consistent_velocities(run.q[k], run.v[k], **options)
        except AssemblyError as error:
            raise AssemblyError(f"between outputs, at t = {run.t[k]:.6g} s: {error}") from None
