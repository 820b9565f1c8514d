"""The calls of a system that are about its force elements and auxiliary states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whippletree.errors import ModelError, StateError
from whippletree.kernels.kernel import Array
from whippletree.model.description import Description
from whippletree.model.names import suggestion
from whippletree.system.calls import Call, as_array
from whippletree.system.engine import Engine
from whippletree.system.results import ElementForce, Powers

__all__ = ["LoadedCalls"]


class LoadedCalls:
    """What a `System` can say about the forces described in it.

    >>> from whippletree.system.examples import quarter_car
    >>> s = quarter_car()
    >>> s.element_states, s.z0
    (('lag',), array([0.]))
    """

    description: Description
    nq: int
    nv: int
    _engine: Engine

    @property
    def element_states(self) -> tuple[str, ...]:
        """The auxiliary states by name, in the order of `z`.

        >>> _quarter_car().element_states
        ('lag',)
        """
        return tuple(state.name for state in self.description.states)

    @property
    def nz(self) -> int:
        """The number of auxiliary states.

        >>> _quarter_car().nz
        1
        """
        return len(self.description.states)

    @property
    def z0(self) -> Array:
        """The auxiliary states at the start, as described.

        >>> _quarter_car().z0
        array([0.])
        """
        return np.array(self.description.state_values, dtype=np.float64)

    def states(self, values: Mapping[str, Any]) -> Array:
        """Return auxiliary states (nz) by name; the others are as described.

        >>> _quarter_car().states({"lag": 0.5})
        array([0.5])
        """
        z, names = self.z0, self.element_states
        if not isinstance(values, Mapping):
            raise StateError("give the auxiliary states by name: a mapping from names to numbers")
        for name, value in values.items():
            if name not in names:
                raise ModelError(f"there is no state {suggestion(name, names)}")
            z[names.index(name)] = as_array(value, self._engine.argument("z", 1))[..., 0]
        return z

    def state_rates(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        t: float = 0.0,
        z: Any = None,
        parameters: Any = None,
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Return the rates (nz) of the auxiliary states.

        >>> s = _quarter_car()
        >>> s.state_rates(s.q0, s.v0, z=[0.1])
        array([-2.])
        """
        if not self.nz:
            return np.zeros((*np.asarray(q).shape[:-1], 0))
        call, more = self._call("state_rates", t, z, parameters)
        return call.run((q, v, tau, *more), out, threads)

    def powers(
        self,
        q: Any,
        v: Any,
        *,
        t: float = 0.0,
        z: Any = None,
        parameters: Any = None,
        threads: int | None = None,
    ) -> Powers:
        """Return the energy that all elements store, and their dissipated and input power.

        What the mechanism's energy gains per second is input less dissipated power, and what efforts `tau`, wrenches,
        prescribed joints and moving closures do.

        >>> s = _quarter_car()
        >>> s.powers(s.q0, [0.0, 0.1]).dissipated.round(6)
        np.float64(15.0)
        """
        call, more = self._call("powers", t, z, parameters)
        values = call.run((q, v, None, *more), None, threads)
        return Powers(values[..., 0], values[..., 1], values[..., 2])

    def forces(
        self,
        q: Any,
        v: Any,
        *,
        t: float = 0.0,
        z: Any = None,
        parameters: Any = None,
        threads: int | None = None,
    ) -> dict[str, ElementForce]:
        """Return what every force element does, by name.

        >>> s = _quarter_car()
        >>> s.forces(s.q0, [0.0, 0.1])["strut"].on("chassis").round(6)
        array([   0.,    0.,    0.,    0.,    0., -150.])
        """
        uses = self.description.forces
        if not uses:
            return {}
        call, more = self._call("element_forces", t, z, parameters)
        values = call.run((q, v, *more), None, threads)
        result: dict[str, ElementForce] = {}
        at = 0
        for use in uses:
            n, m = len(use.sides), len(use.coordinates)
            wrenches = values[..., at : at + 6 * n].reshape(*values.shape[:-1], n, 6)
            efforts = values[..., at + 6 * n : at + 6 * n + m]
            bodies = tuple(body for body, _ in use.sides)
            result[use.name] = ElementForce(bodies, wrenches, use.coordinates, efforts)
            at += 6 * n + m
        return result

    def _call(self, name: str, t: Any, z: Any, parameters: Any) -> tuple[Call, tuple[Any, ...]]:
        return self._engine.dynamic(name, "auto", None, None, parameters, t=t, z=z)


def _quarter_car() -> Any:
    """Return the quarter car of the examples.

    >>> _quarter_car().nv
    2
    """
    from whippletree.system.examples import quarter_car

    return quarter_car()
