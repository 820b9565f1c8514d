"""Loads of an equilibrium: efforts, parameters, speeds and time; one number of these may be unknown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from whippletree.errors import ModelError, StateError
from whippletree.kernels.kernel import Array
from whippletree.model.names import suggestion
from whippletree.results.labels import Labels, effort_unit
from whippletree.system import System

__all__ = ["LoadCase", "LoadQuantity", "quantity_named"]


@dataclass(frozen=True)
class LoadQuantity:
    """A number of a load case: a "parameter", or the "effort" or "speed" of a freedom, with its unit if it has one."""

    name: str
    kind: str
    index: int
    unit: str = ""

    @property
    def label(self) -> str:
        """Its name with its unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True)
class LoadCase:
    """Efforts (nv), parameters, speeds by freedom, accelerations of prescribed joints being zero, and the time."""

    tau: Array
    parameters: Array
    speeds: tuple[tuple[int, float], ...] = ()
    t: float = 0.0

    def value(self, what: LoadQuantity) -> float:
        """Return a number."""
        if what.kind == "speed":
            return dict(self.speeds)[what.index]
        return float((self.tau if what.kind == "effort" else self.parameters)[what.index])

    def with_value(self, what: LoadQuantity, value: float) -> LoadCase:
        """Return the same load case with another number."""
        if what.kind == "speed":
            return replace(self, speeds=tuple((i, value if i == what.index else x) for i, x in self.speeds))
        field = "tau" if what.kind == "effort" else "parameters"
        changed = getattr(self, field).copy()
        changed[what.index] = value
        return replace(self, **{field: changed})


def quantity_named(system: System, given: Any, what: str) -> LoadQuantity:
    """Return the number that a name stands for: a parameter, or "joint.effort" or "joint.speed" of a simple joint.

    >>> from whippletree.system.example_systems import pendulum
    >>> quantity_named(pendulum(), "hinge.effort", "unknowns")
    LoadQuantity(name='hinge.effort', kind='effort', index=0, unit='N m')
    """
    name = getattr(given, "name", given)
    if isinstance(given, ca.SX) and given.is_symbolic() and given.numel() == 1:  # a parameter
        name = given.name()
    parameters = [p.name for p in system.description.parameters]
    if isinstance(name, str) and name in parameters:
        return LoadQuantity(name, "parameter", parameters.index(name))
    owners = [use.name for use in system.description.coordinate_owners]
    joint, _, word = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    if joint in owners and word in ("effort", "speed"):
        where = system.v_slice(joint)
        if where.stop - where.start != 1:
            raise StateError(
                f'{what}: joint "{joint}" has {where.stop - where.start} freedoms: name one with a single one'
            )
        unit = Labels.of(system).velocities[where.start].unit
        return LoadQuantity(name, word, where.start, unit if word == "speed" else effort_unit(unit))
    known = [*parameters, *(f"{one}.{word}" for one in owners for word in ("effort", "speed"))]
    raise ModelError(f"{what}: there is no parameter, effort or speed {suggestion(name, known)}")
