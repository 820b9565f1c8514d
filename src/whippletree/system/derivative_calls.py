"""The calls of a system that give derivatives of its dynamics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Unpack

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import Named, readable
from whippletree.kernels.entry import DONE
from whippletree.kernels.kernel import Array
from whippletree.model.names import suggestion
from whippletree.system.call_options import DerivativeOptions, DrivenOptions, LoadOptions
from whippletree.system.derivative_columns import KINDS, DerivativeColumns, derivative_columns
from whippletree.system.evaluator import (
    CallOptions,
    Evaluator,
    JointValues,
    ParameterValues,
    cache_key,
    options_of,
)
from whippletree.system.example_systems import four_bar, pendulum  # noqa: F401 (for the examples)
from whippletree.system.functions import DIFFERENTIATED, FUNCTIONS, derivatives_name
from whippletree.system.public_call import public_call
from whippletree.system.system_parts import SystemParts

__all__ = [
    "DerivativeCalls",
    "DerivativeParts",
    "ForwardDerivatives",
    "InverseDerivatives",
    "MinimalCoordinates",
    "MinimalMaps",
    "ResultDerivatives",
]

IndexArray = npt.NDArray[np.int_]

_FORWARD = cache_key("forward_dynamics_derivatives", True)


@readable
class InverseDerivatives(NamedTuple):
    """Derivatives (..., nv, nv) of joint efforts for displacements, velocities and accelerations (the mass matrix)."""

    q: Array
    v: Array
    a: Array


class DerivativeParts:
    """Derivatives by variable, as views of `values`, in which all columns stand side by side.

    >>> d = pendulum().forward_dynamics_derivatives([0.0], [0.0])
    >>> d.values.round(6) + 0.0
    array([[0. , 0. , 1.5]])
    """

    __slots__ = ("_layout", "values")

    def __init__(self, values: Array, layout: ColumnLayout) -> None:
        self.values, self._layout = values, layout

    @property
    def q(self) -> Array:
        """For independent displacements."""
        return self.values[..., self._layout.at["q"]]

    @property
    def v(self) -> Array:
        """For independent velocities."""
        return self.values[..., self._layout.at["v"]]

    @property
    def tau(self) -> Array:
        """For the efforts of all joints."""
        return self.values[..., self._layout.at["tau"]]

    @property
    def t(self) -> Array:
        """For time: zero if nothing depends on it."""
        timed = self._layout.columns.timed
        return self.values[..., self._layout.at["t"].start] if timed else np.zeros(self.values.shape[:-1])

    @property
    def z(self) -> Array:
        """For elements' states."""
        return self.values[..., self._layout.at["z"]]

    @property
    def parameters(self) -> Array:
        """For parameters."""
        return self.values[..., self._layout.at["parameters"]]

    @property
    def a(self) -> Array:
        """For given accelerations of all joints: zero where a joint is not prescribed."""
        found = np.zeros((*self.values.shape[:-1], self._layout.columns.nv))
        found[..., self._layout.columns.prescribed] = self.values[..., self._layout.at["a"]]
        return found

    def by_kind(self) -> dict[str, Array]:
        """Return all parts by name.

        >>> list(pendulum().forward_dynamics_derivatives([0.0], [0.0]).by_kind())
        ['q', 'v', 'tau', 't', 'z', 'parameters', 'a']
        """
        return {kind: getattr(self, kind) for kind in KINDS}

    def __iter__(self) -> Iterator[Array]:
        return iter(self.by_kind().values())

    def __str__(self) -> str:
        return f"{type(self).__name__}\n{Named(self.by_kind())}"


@readable
class ForwardDerivatives(DerivativeParts):
    """Derivatives of all accelerations (..., nv) in minimal coordinates; see `forward_dynamics_derivatives`.

    The columns of `q` are those of the independent displacements, of `v` of the independent velocities (see
    `minimal_coordinates`), of `tau` and `a` of all freedoms, of `z` of elements' states, of `parameters` of these.
    """

    __slots__ = ()


@readable
class ResultDerivatives(DerivativeParts):
    """Derivatives of a result: each part has its shape, and one more axis for the columns; see `derivatives_of`."""

    __slots__ = ()


@readable
class MinimalCoordinates(NamedTuple):
    """The independent displacements and velocities of a mechanism, and the derivatives of the others by them.

    `displacements` and `velocities` are places in v; every one of the latter is one of the former.
    """

    displacements: IndexArray
    velocities: IndexArray
    displacement_map: Array
    velocity_map: Array
    velocity_slope: Array


class MinimalMaps:
    """Where the columns of derivatives are, and what the independent coordinates move: `system.kernels.derivatives`."""

    def __init__(self, evaluate: Evaluator) -> None:
        self._evaluate = evaluate

    def minimal_coordinates(
        self, q: ArrayLike, v: ArrayLike | None = None, *, t: float = 0.0, parameters: ParameterValues = None
    ) -> MinimalCoordinates:
        """Return the independent displacements and velocities, and the derivatives of all joints' motion by them.

        `displacement_map` (..., nv, n) holds all displacements for unit independent ones, `velocity_map` all velocities
        for unit independent velocities, and `velocity_slope` the change of all velocities for unit independent
        displacements, the independent velocities being kept. Prescribed joints are independent. There are fewer
        velocities than displacements if there are velocity-only closures, such as wheels that roll.

        >>> s = four_bar()
        >>> found = s.kernels.derivatives.minimal_coordinates(s.q0)
        >>> found.displacements.shape, found.displacement_map.shape
        ((1,), (4, 1))
        """
        layout = self.layout
        if not self._evaluate.closed:
            inputs = self._evaluate.inputs
            inputs.idle(t=t, parameters=parameters)
            shape = inputs.configurations(q).shape[:-1]
            one = np.broadcast_to(np.eye(layout.columns.nv), (*shape, layout.columns.nv, layout.columns.nv))
            places = np.arange(layout.columns.nv)
            return MinimalCoordinates(places, places.copy(), one.copy(), one.copy(), np.zeros_like(one))
        v = np.zeros(layout.columns.nv) if v is None else v
        values = self._evaluate("minimal_coordinates", (q, v), CallOptions(t=t, parameters=parameters))
        return layout.minimal(values)

    @made_once
    def layout(self) -> ColumnLayout:
        """Where the columns are."""
        return ColumnLayout(derivative_columns(self._evaluate.engine.equations))


class DerivativeCalls(SystemParts):
    """The calls of a system about the derivatives of its dynamics."""

    @public_call
    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: JointValues = None, **options: Unpack[LoadOptions]
    ) -> InverseDerivatives:
        """Return the derivatives of the joint efforts with respect to displacements, velocities and accelerations.

        A displacement is measured like a velocity: column j of the first is the rate at which the efforts change when
        the configuration moves with unit velocity j (see `integrate`). Springs and other elements are in it; wrenches
        given are taken to stay as they are in the ground's axes. With loops, these are the derivatives of the spanning
        tree's efforts, as `mass_matrix` is the tree's. They are exact, and straight-line code of any length: for
        more than some sixty freedoms in a row the first call takes long to compile.

        >>> d = pendulum().inverse_dynamics_derivatives([0.0], [0.0])
        >>> d.q.round(6) + 0.0, d.a.round(6)
        (array([[0.]]), array([[0.666667]]))
        """
        values = self._evaluate.answer("inverse_dynamics_derivatives", (q, v, a), options)
        return InverseDerivatives(*(values[..., k, :, :] for k in range(3)))

    @public_call
    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: JointValues = None, **options: Unpack[DrivenOptions]
    ) -> ForwardDerivatives:
        """Return the exact derivatives of all accelerations: those of the motion that the closures allow.

        Column j of `.q` (..., nv, n) is the rate at which the accelerations change when the configuration moves with
        unit velocity of independent displacement j, the others following so that the closures of positions stay closed;
        the independent velocities stay, and the others follow so that all closures hold. Likewise `.v` for independent
        velocities. `.tau` (..., nv, nv) is for the efforts of all joints, cut ones too, `.t` (..., nv) for time, `.z`
        for the elements' states, `.parameters` for parameters, the independent coordinates and velocities being kept,
        and `.a` (..., nv, nv) for the given accelerations of prescribed joints, whose displacements and velocities are
        independent ones. Which freedoms are independent, and what the others do, is told by `minimal_coordinates`; in
        a tree all are.

        >>> pendulum().forward_dynamics_derivatives([0.0], [0.0]).tau.round(6)
        array([[1.5]])
        >>> s = four_bar()
        >>> s.forward_dynamics_derivatives(s.q0, s.v0).q.shape
        (4, 1)
        """
        if not options:
            call = self._cached.get(_FORWARD)  # the second call of one state with nothing else said
            if call is not None:
                result = call.empty()
                if call.entry(result, q, v, tau) == DONE:
                    return ForwardDerivatives(result, self.kernels.derivatives.layout)
        values = self._evaluate.answer("forward_dynamics_derivatives", (q, v, tau), options)
        return ForwardDerivatives(values, self.kernels.derivatives.layout)

    @public_call
    def derivatives_of(
        self, name: str, q: ArrayLike, v: ArrayLike, tau: JointValues = None, **options: Unpack[DerivativeOptions]
    ) -> ResultDerivatives:
        """Return the exact derivatives of another result, with the columns of `forward_dynamics_derivatives`.

        The result is named as in `function`: "pose", "velocity" and "acceleration" of a `frame`, "energy", "momentum"
        (about the ground's origin), "center_of_mass", "reactions" (n_joints, 6), "driving_forces", "closure_efforts",
        "closure_residual", "closure_jacobian", "element_forces", "state_rates", "powers"; and "joint_motion" (2, nv) is
        what displacements and velocities of all joints do. All of them are those of the motion: other joints follow the
        independent ones, and accelerations and reactions follow the state. Each field has the shape of the result, and
        one more axis for its columns. It is evaluated as it was traced, and not compiled.

        >>> s = four_bar()
        >>> s.derivatives_of("pose", s.q0, s.v0, frame="coupler").q.shape
        (4, 4, 1)
        """
        if name not in DIFFERENTIATED:
            raise StateError(f"there are no derivatives of {suggestion(name, DIFFERENTIATED)}")
        framed = FUNCTIONS[derivatives_name(name)].framed
        if name in FUNCTIONS and FUNCTIONS[name].of_loops and not self._evaluate.closed:
            raise StateError(f'"{name}" is about closures, and there are none')
        inputs, frame, threads = self._evaluate.inputs, options.pop("frame", ""), options.get("threads")
        if framed and isinstance(frame, str) and not frame:
            raise StateError(f"{name} is about a body or frame: name it with frame=")
        place = inputs.place_name(frame) if framed else ""
        call, more = self.kernels.once.kernels.evaluate.prepare(
            derivatives_name(name), options_of(options, checked=True), place
        )
        found = call.run((q, v, tau, *more), None, threads)
        if name == "reactions":  # the plan may have welds behind the joints that were described
            found = found[..., : len(self.description.joints), :, :]
        return ResultDerivatives(found, self.kernels.derivatives.layout)


class ColumnLayout:
    """Takes the kernels' results apart."""

    def __init__(self, columns: DerivativeColumns) -> None:
        self.columns, self.at = columns, columns.slices()

    def minimal(self, values: Array) -> MinimalCoordinates:
        """Return the maps."""
        displacements, velocities = (
            np.array(x, dtype=int) for x in (self.columns.displacements, self.columns.velocities)
        )
        n, m = len(displacements), len(velocities)
        maps = (values[..., :n], values[..., n : n + m], values[..., n + m :])
        return MinimalCoordinates(displacements, velocities, *maps)
