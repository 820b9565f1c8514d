"""Poses and Jacobians of all stations of a flexible body at configurations of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import BodyLike
from whippletree.system import System, flexible_stations

if TYPE_CHECKING:
    from whippletree.system.evaluator import ParameterValues

__all__ = ["station_jacobians", "station_poses"]


@user_facing
def station_poses(system: System, q: ArrayLike, body: BodyLike, *, parameters: ParameterValues = None) -> Array:
    """Return the poses (..., S, 4, 4) of all stations of a flexible body: its nodes, as `run.deformation` has them.

    >>> from whippletree.results.example_runs import nodding
    >>> station_poses(nodding().replay.system, [0.0, 0.01], "head")[1, :3, 3]
    array([1.  , 0.  , 0.01])
    """
    name, kind = flexible_stations.flexible_kind(system.description, body)
    whole, (own, _) = system.kernels.inputs.configurations(q), system.plan.own_slices[name]
    return flexible_stations.station_poses(kind, system.pose(whole, name, parameters=parameters), whole[..., own])


@user_facing
def station_jacobians(system: System, q: ArrayLike, body: BodyLike, *, parameters: ParameterValues = None) -> Array:
    """Return the Jacobians (..., S, 6, nv) of all stations of a flexible body, in ground axes; see `System.jacobian`.

    >>> from whippletree.results.example_runs import nodding
    >>> station_jacobians(nodding().replay.system, [0.0, 0.01], "head")[1, 3:].round(6).T.tolist()
    [[0.01, 0.0, -1.0], [0.0, 0.0, 1.0]]
    """
    name, kind = flexible_stations.flexible_kind(system.description, body)
    whole, (own, rates) = system.kernels.inputs.configurations(q), system.plan.own_slices[name]
    frame = system.pose(whole, name, parameters=parameters)
    of_frame = system.jacobian(whole, name, parameters=parameters)
    return flexible_stations.station_jacobians(kind, frame, whole[..., own], of_frame, rates)
