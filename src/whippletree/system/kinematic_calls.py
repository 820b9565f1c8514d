"""The calls of a system about where its bodies are and how they move, its energy and momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.foundation.short_text import Named
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import JointValues, PlaceLike
from whippletree.model.description import GROUND
from whippletree.spatial.scalars import Scalar, expressions, shown
from whippletree.system.call_options import FrameOptions, MomentumOptions, StateOptions, TimeOptions
from whippletree.system.calls import checked_out
from whippletree.system.equations import Request
from whippletree.system.evaluator import AUTO, PLAIN, CallOptions, ParameterValues
from whippletree.system.example_systems import pendulum  # noqa: F401 (for the examples)
from whippletree.system.public_call import public_call
from whippletree.system.quantities import Energy, Momentum
from whippletree.system.system_parts import SystemParts

__all__ = ["KinematicCalls"]


class KinematicCalls(SystemParts):
    """Poses, velocities, accelerations and Jacobians of bodies and frames; energy, momentum, centre of mass."""

    # ------------------------------------------------------------------ coordinates

    @public_call
    def integrate(self, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the configuration reached from `q` by the displacement `dv` (nv), quaternions on the sphere.

        >>> pendulum().integrate([0.5], [0.25])
        array([0.75])
        """
        return self._evaluate("integrate", (q, dv), PLAIN, out)

    @public_call
    def difference(self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the displacement (nv) that leads from `q0` to `q1`.

        >>> pendulum().difference([0.5], [0.75])
        array([0.25])
        """
        return self._evaluate("difference", (q0, q1), PLAIN, out)

    @public_call
    def coordinate_rates(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the rates of the coordinates (nq) for velocities `v`.

        >>> pendulum().coordinate_rates([0.5], [2.0])
        array([2.])
        """
        return self._evaluate("coordinate_rates", (q, v), PLAIN, out)

    # ------------------------------------------------------------------ bodies and frames

    @public_call
    def pose(self, q: ArrayLike, name: PlaceLike, *, out: Array | None = None, **options: Unpack[TimeOptions]) -> Array:
        """Return the pose of a body or frame: a 4 x 4 matrix in the ground frame.

        >>> pendulum().pose([-np.pi / 2], "rod").round(6)[:3, 0] + 0.0  # the rod stands upright
        array([0., 0., 1.])
        """
        return self._evaluate.at_place("pose", name, (q,), self._idle(options), out)

    @public_call
    def poses(self, q: ArrayLike, **options: Unpack[TimeOptions]) -> Named[Array]:
        """Return the poses (..., 4, 4) of all bodies and moving frames by name, found together in one call.

        >>> pendulum().poses([-np.pi / 2])["rod"].round(6)[:3, 0] + 0.0
        array([0., 0., 1.])
        """
        equations, parameters = self._evaluate.engine.equations, self._idle(options)
        tree, names = equations.node_tree(), self.description.places
        placed = [tree.where[name] for name in names]
        nodes = np.empty((*self._inputs.configurations(q).shape[:-1], 0, 3, 4))
        if tree.node_constants:
            nodes = self._evaluate(
                "node_poses", (q,), PLAIN if parameters is None else CallOptions(parameters=parameters)
            )
        ground = np.broadcast_to(np.eye(4)[:3], (*nodes.shape[:-3], 1, 3, 4))
        held = np.concatenate([nodes, ground], axis=-3)[..., [index for index, _ in placed], :, :]  # -1 is the ground
        found = np.zeros((*held.shape[:-2], 4, 4))
        found[..., 3, 3] = 1.0
        found[..., :3, :3] = held[..., :3] @ np.reshape([one.rotation for _, one in placed], (-1, 3, 3))
        points = self._points([x for _, one in placed for x in one.point], parameters)
        found[..., :3, 3] = held[..., 3] + (held[..., :3] @ points[..., None])[..., 0]
        return Named({name: found[..., k, :, :] for k, name in enumerate(names)})

    def _points(self, entries: Sequence[Scalar], parameters: ParameterValues) -> Array:
        """Return points on bodies (..., n, 3) from their entries, which may depend on parameters."""
        if not expressions(entries):
            return np.reshape(np.array(entries, dtype=np.float64), (-1, 3))
        described, values = self._evaluate.engine.description, self._inputs.parameters(parameters)
        rows = np.array(described.parameter_values) if values is None else self._inputs.parameter_array(values)
        symbols = ca.vertcat(*(one.symbol for one in described.parameters))
        column = ca.Function("points", [symbols], [ca.densify(ca.vertcat(*entries))])
        found = np.asarray(column(rows.reshape(-1, rows.shape[-1]).T).full().T)
        return found.reshape(*rows.shape[:-1], -1, 3)

    @public_call
    def velocity(
        self, q: ArrayLike, v: ArrayLike, name: PlaceLike, *, out: Array | None = None, **options: Unpack[FrameOptions]
    ) -> Array:
        """Return the velocity [angular; linear] of a body's or frame's origin, in ground axes or its own ("body").

        >>> pendulum().velocity([0.0], [3.0], "rod")[:3]
        array([0., 3., 0.])
        """
        axes = self._axes(q, name, options)
        return _turned(self._evaluate.at_place("velocity", name, (q, v), options.get("parameters"), out), axes)

    @public_call
    def acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: JointValues,
        name: PlaceLike,
        *,
        out: Array | None = None,
        **options: Unpack[FrameOptions],
    ) -> Array:
        """Return the acceleration [angular; linear] of a body's or frame's origin for joint accelerations `a`.

        >>> pendulum().acceleration([0.0], [0.0], [2.0], "rod")[:3]
        array([0., 2., 0.])
        """
        axes = self._axes(q, name, options)
        return _turned(self._evaluate.at_place("acceleration", name, (q, v, a), options.get("parameters"), out), axes)

    @public_call
    def jacobian(
        self, q: ArrayLike, name: PlaceLike, *, out: Array | None = None, **options: Unpack[FrameOptions]
    ) -> Array:
        """Return the Jacobian (6, nv): velocity [angular; linear] of a body's or frame's origin is J v.

        >>> pendulum().jacobian([0.0], "rod")[:3, 0]
        array([0., 1., 0.])
        """
        axes, parameters = self._axes(q, name, options), options.get("parameters")
        if self._evaluate.engine.equations.large:
            result = self._jacobian_by_wrenches(q, self._inputs.place_name(name), parameters, out)
        else:
            result = self._evaluate.at_place("jacobian", name, (q,), parameters, out)
        return _turned(result, axes, matrix=True)

    def _jacobian_by_wrenches(self, q: ArrayLike, name: str, parameters: ParameterValues, out: Array | None) -> Array:
        """Return a large model's Jacobian row by row: J^T w for the six unit wrenches."""
        q = self._inputs.configurations(q)
        given: tuple[object, ...] = (q[..., None, :], np.eye(6))
        more = self._inputs.parameters(parameters)
        if more is not None:
            values = self._inputs.parameter_array(more)
            given = (*given, values[..., None, :] if values.ndim > 1 else values)
        if name != GROUND:
            return self._evaluate.call(Request("wrench_efforts", AUTO, "", (name,))).run(given, out)
        shape = (*q.shape[:-1], 6, self._inputs.nv)
        result = np.empty(shape) if out is None else checked_out(out, shape)
        result[...] = 0.0
        return result

    def _axes(self, q: ArrayLike, name: PlaceLike, options: FrameOptions) -> Array | None:
        """Return the axes in which a result is asked for, None for those of the ground.

        They are found before the result, which may be written over q.
        """
        parameters, frame = self._idle(options), options.get("frame", GROUND)
        if isinstance(frame, str) and frame == GROUND:
            return None
        if not isinstance(frame, str) or frame != "body":
            raise StateError(f'frame= must be "ground" or "body", not {shown(frame)}')
        return np.array(self._evaluate.at_place("pose", name, (q,), parameters)[..., :3, :3])

    def _idle(self, options: TimeOptions) -> ParameterValues:
        """Check a time that nothing depends on, and return the parameters."""
        if "t" in options:
            self._inputs.idle_time(options["t"])
        return options.get("parameters")

    def _timed(self, options: TimeOptions) -> CallOptions:
        """Return the options of a function in which the time may count."""
        parameters = self._idle(options)
        plain = parameters is None and not self.description.timed
        return PLAIN if plain else CallOptions(t=options.get("t", 0.0), parameters=parameters)

    # ------------------------------------------------------------------ the whole mechanism

    @public_call
    def energy(self, q: ArrayLike, v: ArrayLike, **options: Unpack[StateOptions]) -> Energy:
        """Return kinetic and potential energy; the latter is zero with all mass at the ground's origin.

        What springs and other force elements store is in the potential energy, and so is the strain energy of flexible
        bodies, which is also told apart as `strain`. It depends on the auxiliary states `z`
        where elements have states of their own.

        >>> pendulum().energy([0.0], [3.0]).kinetic.round(6)
        np.float64(3.0)
        """
        asked, z = self._timed(options), options.get("z")
        if self.description.states_store:
            asked = CallOptions(t=options.get("t", 0.0), z=z, parameters=options.get("parameters"))
        elif z is not None:
            self._inputs.idle(z=z)
        both = self._evaluate("energy", (q, v), asked)
        return Energy(both[..., 0], both[..., 1], self._strain_energy(q))

    def _strain_energy(self, q: ArrayLike) -> Array | None:
        """Return the strain energy of all flexible bodies."""
        bodies = self._inputs.flexible_bodies
        if not bodies:
            return None
        whole = self._inputs.configurations(q)
        return np.asarray(sum(kind.strain_energy(whole[..., own]) for kind, own in bodies))

    @public_call
    def momentum(self, q: ArrayLike, v: ArrayLike, **options: Unpack[MomentumOptions]) -> Momentum:
        """Return angular and linear momentum; the angular one about the centre of mass, or `about="origin"`.

        >>> pendulum().momentum([0.0], [3.0]).linear.round(6) + 0.0
        array([ 0.,  0., -3.])
        """
        about = options.get("about", "center_of_mass")
        if not isinstance(about, str) or about not in ("center_of_mass", "origin"):
            raise StateError(f'about= must be "center_of_mass" or "origin", not {shown(about)}')
        h = self._evaluate("momentum", (q, v), self._timed(options))
        angular, linear = h[..., 0:3], h[..., 3:6]
        if about == "center_of_mass":
            given = options.get("parameters")
            center = self._evaluate("center_of_mass", (q,), PLAIN if given is None else CallOptions(parameters=given))
            angular = angular - np.cross(center, linear)
        return Momentum(angular, linear)

    @public_call
    def center_of_mass(self, q: ArrayLike, **options: Unpack[TimeOptions]) -> Array:
        """Return the centre of mass (3) of all bodies, in the ground frame.

        >>> pendulum().center_of_mass([-np.pi / 2]).round(6) + 0.0
        array([0. , 0. , 0.5])
        """
        return self._evaluate("center_of_mass", (q,), self._timed(options))


def _turned(value: Array, axes: Array | None, *, matrix: bool = False) -> Array:
    """Turn [angular; linear], or a matrix with such columns, into the axes, in place."""
    if axes is None:
        return value
    columns = value if matrix else value[..., None]
    R = np.swapaxes(axes, -1, -2)
    turned = np.concatenate([np.matmul(R, columns[..., i : i + 3, :]) for i in (0, 3)], axis=-2)
    value[...] = turned if matrix else turned[..., 0]
    return value
