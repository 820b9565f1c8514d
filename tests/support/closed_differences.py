"""Derivatives by central differences along motions that the closures allow, through public calls only.

A neighbouring state is one in which chosen joints are a little further on, or time or a parameter is, and the others
have followed: positions by Newton's method on `closure_residual`, velocities by the rates that `closure_errors` tells.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import whippletree as wt
from whippletree.linear import minimal_coordinates

__all__ = ["Neighbour", "central", "differences"]

Array = np.ndarray

_WEIGHTS = (3 / 4, -3 / 20, 1 / 60)


_CONVERGED, _HALVINGS = 1e-9, 7


def central(f: Callable[[float], Array], h: float) -> Array:
    """The derivative at zero: six points, and Richardson's extrapolation over two steps.

    Where that still changes much, or loops do not close at all points, the steps are too long, and shorter ones taken.
    """
    found: list[tuple[float, Array]] = []
    wider: Array | None = None
    for halvings in range(1, _HALVINGS + 1):
        try:
            narrower = _six_points(f, h / 2**halvings)
        except wt.StateError:
            continue
        if wider is not None:
            change = (narrower - wider) / 63
            off = np.abs(change).max(initial=0.0)
            found.append((off, narrower + change))
            if off <= _CONVERGED * np.abs(narrower).max(initial=0.0):
                break
        wider = narrower
    assert found, "loops close at no points nearby"
    return min(found, key=lambda one: one[0])[1]


def _six_points(f: Callable[[float], Array], h: float) -> Array:
    return sum(w * (f(k * h) - f(-k * h)) for k, w in enumerate(_WEIGHTS, 1)) / h


@functools.cache
def _traced(s: wt.System, name: str) -> tuple[Any, tuple[int, ...]]:
    return s.function(name), s.kernels.of(name).signature.shape


@dataclass(frozen=True)
class Neighbour:
    """A state of a system, from which neighbouring ones are made."""

    s: wt.System
    q: Array
    v: Array
    tau: Array
    a: Array
    t: float
    z: Array
    parameters: Array
    wrenches: dict[str, Array] = field(default_factory=dict)
    made: dict[tuple[str, int, float], Neighbour] = field(default_factory=dict, init=False, repr=False)

    def moved(self, kind: str, j: int, h: float) -> Neighbour:
        """The state with one column's quantity further on by h, the others following; closed once for all results."""
        if (kind, j, h) not in self.made:
            self.made[kind, j, h] = self._moved(kind, j, h)
        return self.made[kind, j, h]

    def _moved(self, kind: str, j: int, h: float) -> Neighbour:
        s = self.s
        if kind in ("tau", "a", "z", "parameters"):
            value = np.array(getattr(self, kind))
            value[j] += h
            return replace(self, **{kind: value}).closed()
        if kind == "t":
            return replace(self, t=self.t + h).closed()
        minimal = minimal_coordinates(s, self.q, self.v, **self.conditions())
        if kind == "v":
            v = self.v.copy()
            v[minimal.velocities[j]] += h
            return replace(self, v=v).closed()
        return replace(self, q=s.integrate(self.q, h * minimal.displacement_map[:, j])).closed()

    def conditions(self) -> dict[str, Any]:
        given: dict[str, Any] = {"t": self.t} if self.timed else {}
        return given | ({"parameters": self.parameters} if len(self.parameters) else {})

    @property
    def timed(self) -> bool:
        described = self.s.description
        return described.forces_timed or described.closures_timed

    def closed(self) -> Neighbour:
        """The same state with dependent joints where the independent ones put them."""
        s = self.s
        if not s.kernels.closed:
            return self
        columns = minimal_coordinates(s, s.q0)
        following = np.setdiff1d(np.arange(s.nv), columns.displacements)
        positional, given = s.kernels.loops.numbers.positional, self.conditions()
        if not s.description.closures_timed:
            given.pop("t", None)
        q = self.q
        for _ in range(12):
            off = s.closure_residual(q, **given)[positional]
            if np.abs(off).max(initial=0.0) < 1e-15:
                break
            G = s.closure_jacobian(q, **given)[positional][:, following]
            step = np.zeros(s.nv)
            step[following] = np.linalg.lstsq(G, -off, rcond=1e-9)[0]
            q = s.integrate(q, step)
            if np.abs(step).max() < 1e-15:
                break
        following = np.setdiff1d(np.arange(s.nv), columns.velocities)
        G, v = s.closure_jacobian(q, **given)[:, following], self.v.copy()
        parameters = {"parameters": self.parameters} if len(self.parameters) else {}
        for _ in range(2):
            rates = (
                s.kernels.closures.closure_errors(q[None], v[None], np.array([self.t]), **parameters)[1][0]
                * s.kernels.closures.closure_lengths
            )
            v[following] += np.linalg.lstsq(G, -rates, rcond=1e-9)[0]
        return replace(self, q=q, v=v)

    def options(self) -> dict[str, Any]:
        """The further arguments of calls."""
        given = self.conditions()
        if len(self.z):
            given["z"] = self.z
        if any(use.prescribed for use in self.s.description.joints):
            given["a"] = self.a
        return given | ({"wrenches": self.wrenches} if self.wrenches else {})

    def parameter_options(self) -> dict[str, Any]:
        return {"parameters": self.parameters} if len(self.parameters) else {}

    def evaluated(self, name: str) -> Array:
        """A function's value in its shape, by CasADi's evaluator."""
        function, shape = _traced(self.s, name)
        given = {"q": self.q, "v": self.v, "tau": self.tau, "a": self.a, "t": self.t, "z": self.z}
        given["parameters"] = self.parameters
        return np.array(function(*(given[one] for one in function.name_in()))).reshape(shape)

    def accelerations(self) -> Array:
        return self.s.forward_dynamics(self.q, self.v, self.tau, **self.options())


def differences(
    here: Neighbour, kind: str, j: int, of: Callable[[Neighbour], Array] = Neighbour.accelerations, h: float = 0.02
) -> Array:
    """A column of derivatives by differences."""
    return central(lambda step: of(here.moved(kind, j, step)), h)
