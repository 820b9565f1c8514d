"""How bodies move, as pictures need it: positions and quaternions of all places at some instants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whippletree.elements.bodies import FlexibleBody
from whippletree.errors import StateError
from whippletree.foundation.arrays import Indices
from whippletree.kernels.kernel import Array
from whippletree.kinematics.batch_assembly import assemble_batch
from whippletree.linear.modal_analysis import Mode
from whippletree.results import Trajectory
from whippletree.spatial.quaternion_arrays import quaternions_of
from whippletree.system import System
from whippletree.viewer.proportions import MODE_MOTION
from whippletree.viewer.scene import GROUND_PLACE, PathMark, Track

if TYPE_CHECKING:
    from whippletree.system.evaluator import ParameterValues

__all__ = ["chosen_rows", "gone_along", "mode_states", "quaternions", "track_of"]

_FARTHEST = 1e12
"""How far from the ground's origin bodies are drawn, in metres."""

_CYCLE = 48
"""Instants of one oscillation of a mode."""

_SECONDS = 2.0
"""Duration, in seconds, in which one oscillation of a mode is shown, whatever its frequency."""


def track_of(system: System, t: Array, q: Array, parameters: ParameterValues = None, label: str = "") -> Track:
    """Return how all places move through configurations (n, nq): one call for all of them.

    >>> from whippletree.system.example_systems import pendulum
    >>> track_of(pendulum(), np.arange(3.0), np.zeros((3, 1))).positions.shape
    (3, 1, 3)
    """
    found = system.poses(q, parameters=parameters)
    poses = np.stack([*found.values()], axis=1) if found else np.zeros((len(t), 0, 4, 4))
    if not np.abs(poses).max(initial=0.0) < _FARTHEST:
        raise StateError(f"bodies farther away than {_FARTHEST:g} m, or nowhere, cannot be drawn")
    times = np.asarray(t, dtype=np.float64)
    return Track(label, times, poses[..., :3, 3], quaternions(poses[..., :3, :3]), _amplitudes(system, q))


def _amplitudes(system: System, q: Array) -> Array:
    """Return the amplitudes (n, all) of the shapes of all flexible bodies."""
    bodies = system.kernels.inputs.flexible_bodies
    if not bodies:
        return np.zeros((len(q), 0))
    from whippletree.viewer.skins import has_skin, skin_amplitudes  # few mechanisms have flexible bodies

    none = np.zeros((len(q), 0))
    return np.concatenate([none, *(skin_amplitudes(kind, q[:, own]) for kind, own in bodies if has_skin(kind))], axis=1)


def chosen_rows(run: Trajectory, frames: int) -> Indices:
    """Return which outputs of a run are shown: all, or about so many, evenly in time, the first and the last included.

    >>> from whippletree.results.example_runs import swing
    >>> chosen_rows(swing(), 6).tolist()
    [0, 2, 4, 6, 8, 10]
    """
    n = len(run)
    if n <= frames:
        return np.arange(n)
    times = np.linspace(run.t[0], run.t[-1], frames)
    after = np.clip(np.searchsorted(run.t, times), 1, n - 1)
    nearer = np.where(times - run.t[after - 1] < run.t[after] - times, after - 1, after)
    return np.unique(nearer)


def gone_along(tracks: Sequence[Track], point: PathMark) -> list[Track]:
    """Return tracks as one sees them who goes along with a point, from where it is at first on.

    >>> turns = np.tile([1.0, 0, 0, 0], (2, 1, 1))
    >>> falls = Track("", np.arange(2.0), np.array([[[0.0, 0, 5]], [[0, 0, 2]]]), turns)
    >>> gone_along([falls], PathMark("a", 0, np.zeros(3)))[0].positions[:, 0, 2].tolist()
    [5.0, 5.0]
    """
    first = tracks[0]
    turned = np.stack([first.pose(k, point.place)[:3, :3] @ point.point for k in range(len(first))])
    at = turned + (first.positions[:, point.place] if point.place != GROUND_PLACE else 0.0)
    found = []
    for track in tracks:
        offset = np.stack([np.interp(track.t, first.t, at[:, k] - at[0, k]) for k in range(3)], axis=1)
        found.append(replace(track, positions=track.positions - offset[:, None]))
    return found


def mode_states(system: System, q: Array, mode: Mode, parameters: ParameterValues = None) -> tuple[Array, Array, float]:
    """Return times, configurations of one oscillation of a mode, and the displacement of its largest entry.

    The displacement is such that the body that moves most moves by a share of the mechanism's extent. Loops are closed
    again: a mode is a straight line in coordinates, and leaves them open to second order.
    """
    poses = np.stack([*system.poses(q, parameters=parameters).values()])
    reach = max(float(np.ptp(poses[:, :3, 3], axis=0).max()), system.kernels.closures.characteristic_length, 1e-9)
    motions = np.array([*mode.bodies.values()])
    largest = max(float(np.abs(motions[:, 3:]).max()), float(np.abs(motions[:, :3]).max()) * reach / 2, 1e-300)
    for name, kind in ((one.name, one.kind) for one in system.description.bodies if isinstance(one.kind, FlexibleBody)):
        moved = kind.places().array("translation") @ mode.shape[system.v_slice(name)]
        largest = max(largest, float(np.abs(moved).max(initial=0.0)))
    scale = MODE_MOTION * reach / largest
    phases = np.exp(2j * np.pi * np.arange(_CYCLE + 1) / _CYCLE)
    states = system.integrate(np.tile(q, (_CYCLE + 1, 1)), scale * np.real(phases[:, None] * mode.shape))
    if system.plan.loops or system.description.closures:
        closed = assemble_batch(system, states, parameters=parameters)
        states = np.where(closed.closed[:, None], closed.q, states)
    return np.linspace(0.0, _SECONDS, _CYCLE + 1), states, scale


def quaternions(R: Array) -> Array:
    """Return the unit quaternions (n, k, 4) of rotations (n, k, 3, 3), w first, each next to the one before in time.

    >>> quaternions(np.eye(3)[None, None]).tolist()
    [[[1.0, 0.0, 0.0, 0.0]]]
    """
    found = quaternions_of(R)
    turned = np.cumprod(np.where((found[1:] * found[:-1]).sum(axis=-1) < 0, -1.0, 1.0), axis=0)
    found[1:] *= turned[..., None]
    return np.asarray(found)
