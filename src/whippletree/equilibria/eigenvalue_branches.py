"""Eigenvalues of a mechanism over a parameter, an effort or a speed: root loci and Campbell diagrams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from whippletree.equilibria.descent import newton
from whippletree.equilibria.equilibrium import Equilibrium
from whippletree.equilibria.equilibrium_paths import search_over, values_of
from whippletree.equilibria.load_case import quantity_named
from whippletree.errors import EquilibriumError, StateError
from whippletree.foundation.once import made_once
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.linear.linear_model import LinearModel
from whippletree.spatial.scalars import shown, truth
from whippletree.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EigenvalueBranches", "eigenvalues_over"]

Complex = npt.NDArray[np.complex128]

_CROSSING = 1e-13
"""How accurately a change of stability is located, relative to the value."""

_GROWING = 1e-9
"""A real part above this share of the largest eigenvalue is positive."""


@user_facing
@dataclass(frozen=True, eq=False)
class EigenvalueBranches:
    """Eigenvalues (n, m) at n values of a number, column by column along their branches; zeros are exact.

    `models` are the linear models, `equilibria` the states that they are about.
    """

    name: str
    values: Array
    eigenvalues: Complex
    models: tuple[LinearModel, ...] = field(repr=False)
    equilibria: tuple[Equilibrium, ...] = field(repr=False)
    mechanism: str = ""
    growth_at: Callable[[float], float] | None = field(repr=False, default=None)
    label: str = field(repr=False, default="")

    @property
    def growth(self) -> Array:
        """The largest real part at each value, of eigenvalues that are not zero."""
        return np.array([_growth(row) for row in self.eigenvalues])

    @property
    def changes(self) -> tuple[float, ...]:
        """The values at which the first motion begins to grow, or the last one to die away, to ten digits or so."""
        return self._changes

    @made_once
    def _changes(self) -> tuple[float, ...]:
        largest = _GROWING * float(np.abs(self.eigenvalues).max(initial=0.0))
        growing = self.growth > largest
        found = []
        for k in np.flatnonzero(growing[1:] != growing[:-1]):
            low, high = float(self.values[k]), float(self.values[k + 1])
            if self.growth_at is not None:
                low = high = _crossing(self.growth_at, low, high)
            found.append((low + high) / 2)
        return tuple(found)

    def plot(self, what: str = "over", *, path: object = None) -> Figure:
        """Draw real parts and frequencies "over" the number (Campbell), or the "locus" in the complex plane."""
        from whippletree.equilibria.path_plots import drawn_branches

        if what not in ("over", "locus"):
            raise StateError(f'a plot of eigenvalues is "over" or "locus", not {shown(what)}')
        return drawn_branches(self, what, path)

    def __str__(self) -> str:
        m = self.eigenvalues.shape[1]
        ends = f"{self.values[0]:.6g} to {self.values[-1]:.6g}"
        said = f"{m} eigenvalues over {self.name} from {ends}"
        changes = ", ".join(f"{value:.9g}" for value in self.changes)
        return f"{said}; stability changes at {changes}" if changes else said


def eigenvalues_over(
    system: System, parameter: object, values: object, *, guess: object = None, nearest: bool = True, **load: object
) -> EigenvalueBranches:
    """Return the eigenvalues about equilibria over a parameter, "joint.effort" or "joint.speed" (root locus).

    At each of the `values` the equilibrium next to the one before is found, and the mechanism linearised there;
    the first one is next to the guess, or a stable one with `nearest=False`. `load` are `tau`, `parameters`,
    `speeds`, `t` and `z` as for `equilibrium`. `.changes` are the values at which stability changes.

    >>> from whippletree.system.example_systems import pendulum
    >>> pendulum().eigenvalues_over("hinge.effort", [0.0, -5.0], guess=[1.5]).eigenvalues.imag.round(4)
    array([[ 3.836 , -3.836 ],
           [ 3.5581, -3.5581]])
    """
    what = quantity_named(system, parameter, "parameter")
    wanted = values_of(values, "values")
    if load.get("hold") is not None:
        raise StateError("eigenvalues are those of the whole mechanism: hold= has no meaning here")
    search = search_over(system, what, float(wanted[0]), load)
    start = search.start(guess)
    here = start

    def at(value: float, q: Array, z: Array) -> Equilibrium:
        changed = search.load.with_value(what, value)
        closed, _ = search.balance.close(q, changed)
        try:
            return search.result(newton(search.balance, closed, z, changed), [])
        except EquilibriumError as error:
            raise EquilibriumError(f"at {what.name} = {value:.6g}: {error}") from None

    def growth(value: float) -> float:
        k = int(np.argmin(np.abs(wanted - value)))
        near = equilibria[k]
        return _growth(at(value, near.q, near.z).linearize().eigenvalues)

    equilibria: list[Equilibrium] = []
    if not truth(nearest, "nearest="):
        here = search.result(search.from_start(start), []).q
    z = search.z
    for value in wanted:
        found = at(float(value), here, z)
        equilibria.append(found)
        here, z = found.q, found.z
    models = tuple(one.linearize() for one in equilibria)
    return EigenvalueBranches(
        what.name,
        wanted,
        _matched([model.eigenvalues for model in models]),
        models,
        tuple(equilibria),
        system.description.name,
        growth,
        what.label,
    )


def _growth(values: Complex) -> float:
    """Return the largest real part of eigenvalues that are not zero."""
    return float(values.real[values != 0].max(initial=-np.inf))


def _crossing(growth: Callable[[float], float], low: float, high: float) -> float:
    """Return where a growth rate passes zero between two values of which only one has a positive one."""
    from scipy.optimize import brentq

    if growth(low) * growth(high) >= 0:  # one of them is zero up to rounding
        return low if abs(growth(low)) < abs(growth(high)) else high
    return float(brentq(growth, low, high, xtol=_CROSSING * max(abs(low), abs(high)), rtol=8.9e-16))


def _matched(rows: list[Complex]) -> Complex:
    """Return rows of eigenvalues in an order in which each column changes as little as possible."""
    from scipy.optimize import linear_sum_assignment

    found = [rows[0]]
    for row in rows[1:]:
        before = found[-1]
        expected = before if len(found) == 1 else 2 * before - found[-2]
        cost = np.abs(expected[:, None] - row[None, :]) + 1e-3 * np.abs(before[:, None] - row[None, :])
        found.append(row[linear_sum_assignment(cost)[1]])
    return np.array(found)
