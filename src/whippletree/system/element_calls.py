"""The calls of a system about its force elements and auxiliary states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from whippletree.foundation.short_text import Named
from whippletree.kernels.kernel import Array
from whippletree.system.call_options import ElementOptions, MotionOptions
from whippletree.system.calls import batch_shape
from whippletree.system.evaluator import Evaluator, JointValues, ParameterValues
from whippletree.system.example_systems import quarter_car  # noqa: F401 (for the examples)
from whippletree.system.input_reader import as_array
from whippletree.system.public_call import public_call
from whippletree.system.quantities import ElementForce, Powers
from whippletree.system.system_parts import SystemParts
from whippletree.system.tree_equations import dissipated_powers

__all__ = ["ElementCalls", "ElementStates"]


class ElementStates:
    """Auxiliary states of force elements by name, and the power that elements dissipate: `system.kernels.elements`.

    >>> s = quarter_car()
    >>> s.kernels.elements.names, s.z0
    (('lag',), array([0.]))
    """

    def __init__(self, evaluate: Evaluator) -> None:
        self._evaluate, self._description = evaluate, evaluate.engine.description
        self.names = tuple(state.name for state in self._description.states)

    def initial(self) -> Array:
        """Return the auxiliary states (nz) at the start, as described."""
        return np.array(self._description.state_values, dtype=np.float64)

    def dissipated_powers(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        t: ArrayLike = 0.0,
        z: ArrayLike | None = None,
        parameters: ParameterValues = None,
    ) -> dict[str, Array]:
        """Return the power that every force element dissipates, by name: (n,) for n states, one for a single state.

        It is negative where the element's law gives energy. This is for looking at a few states, and is not compiled.

        >>> s = quarter_car()
        >>> s.kernels.elements.dissipated_powers(s.q0, [0.0, 0.1])["strut"].round(6)
        array([15.])
        """
        inputs, described = self._evaluate.inputs, self._description
        given, nv = inputs.parameters(parameters), inputs.states.plan.nv
        states: dict[str, Array] = {
            "q": inputs.configurations(q),
            "v": inputs.velocities(v),
            "tau": np.zeros(nv) if tau is None else as_array(tau, inputs.argument("tau", nv)),
            "z": self.initial() if z is None else as_array(z, inputs.argument("z", len(self.names))),
            "t": as_array(t, inputs.argument("t", 1)),
            "parameters": np.array(described.parameter_values) if given is None else inputs.parameter_array(given),
        }
        if not described.forces:
            return Named()
        arguments = [inputs.argument(name, value.shape[-1]) for name, value in states.items()]
        batch = batch_shape(arguments, list(states.values())) or (1,)
        powers = np.zeros((*batch, len(described.forces)))
        if powers.size:
            n = int(np.prod(batch))
            rows = {k: np.broadcast_to(x, (*batch, x.shape[-1])).reshape(n, x.shape[-1]) for k, x in states.items()}
            powers[:] = dissipated_powers(self._evaluate.engine.equations, rows).reshape(powers.shape)
        return {use.name: powers[..., k] for k, use in enumerate(described.forces)}


class ElementCalls(SystemParts):
    """The calls of a system about its force elements."""

    def _unneeded(self, q: ArrayLike, v: ArrayLike, tau: JointValues, options: Mapping[str, Any]) -> None:
        """Check the arguments of a call that needs none of them."""
        given = {name: value for name, value in options.items() if name in ("t", "z", "parameters")}
        self._inputs.idle(q=q, v=v, tau=tau, **given)

    def _reacting(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options without accelerations, which only force laws on reactions need."""
        return options if self.description.reaction_laws else {k: x for k, x in options.items() if k != "a"}

    @public_call
    def state_rates(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: JointValues = None,
        *,
        out: Array | None = None,
        **options: Unpack[ElementOptions],
    ) -> Array:
        """Return the rates (nz) of the auxiliary states.

        >>> s = quarter_car()
        >>> s.state_rates(s.q0, s.v0, z=[0.1])
        array([-2.])
        """
        if not self.description.states:
            self._unneeded(q, v, tau, options)
            return np.zeros((*np.asarray(q).shape[:-1], 0))
        return self._evaluate.answer("state_rates", (q, v, tau), options, out)

    @public_call
    def powers(self, q: ArrayLike, v: ArrayLike, tau: JointValues = None, **options: Unpack[MotionOptions]) -> Powers:
        """Return the energy that all elements store, and their dissipated and input power.

        What the mechanism's energy gains per second is input less dissipated power, and what efforts `tau`, wrenches,
        prescribed joints and moving closures do. Efforts, and accelerations `a` of prescribed joints, matter for force
        laws on reactions.

        >>> s = quarter_car()
        >>> s.powers(s.q0, [0.0, 0.1]).dissipated.round(6)
        np.float64(15.0)
        """
        values = self._evaluate.answer("powers", (q, v, tau), self._reacting(options))
        return Powers(values[..., 0], values[..., 1], values[..., 2])

    @public_call
    def forces(
        self, q: ArrayLike, v: ArrayLike, tau: JointValues = None, **options: Unpack[MotionOptions]
    ) -> Named[ElementForce]:
        """Return the forces of every force element, by name.

        Efforts `tau`, and accelerations `a` of prescribed joints, matter for force laws on reactions.

        >>> s = quarter_car()
        >>> s.forces(s.q0, [0.0, 0.1])["strut"].on("chassis").round(6)
        array([   0.,    0.,    0.,    0.,    0., -150.])
        """
        uses = self.description.forces
        if not uses:
            self._unneeded(q, v, tau, options)
            return Named()
        state = (q, v, tau) if self.description.reaction_laws else (q, v)
        values = self._evaluate.answer("element_forces", state, self._reacting(options))
        result: Named[ElementForce] = Named()
        at = 0
        for use in uses:
            n, m = len(use.sides), len(use.coordinates)
            wrenches = values[..., at : at + 6 * n].reshape(*values.shape[:-1], n, 6)
            efforts = values[..., at + 6 * n : at + 6 * n + m]
            bodies = tuple(body for body, _ in use.sides)
            result[use.name] = ElementForce(bodies, wrenches, use.coordinates, efforts)
            at += 6 * n + m
        return result
