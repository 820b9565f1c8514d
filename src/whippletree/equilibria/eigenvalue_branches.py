"""Eigenvalues of a mechanism over a parameter, an effort or a speed: root loci and Campbell diagrams.

Where stability changes, the growth Re(lambda) of the fastest growing motion is zero. Without damping it is zero on the
whole stable side too, up to rounding of either sign, and on the other side it grows as a root: two eigenvalues meet on
the imaginary axis, at zero (buckling) or elsewhere (a sleeping top), and leave it as mirror images. With mu the
eigenvalue of negative real part that is nearest to the mirror image of lambda,

    f = -Re(lambda) Re(mu)                                                                              (1)

is smooth there, with a simple zero, without damping and with it, as the product belongs to both eigenvalues that meet.
It is looked at on the growing side alone, and the value at which it is zero is extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from whippletree.equilibria.descent import newton
from whippletree.equilibria.equilibrium import Equilibrium
from whippletree.equilibria.equilibrium_paths import search_over, values_of
from whippletree.equilibria.equilibrium_tolerances import INDIFFERENT
from whippletree.equilibria.load_case import quantity_named
from whippletree.errors import EquilibriumError, StateError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.linear.linear_model import LinearModel
from whippletree.model.argument_types import JointValues, NameLike
from whippletree.spatial.scalars import shown, truth
from whippletree.spatial.scales import scale_of
from whippletree.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EigenvalueBranches", "eigenvalues_over"]

Complex = npt.NDArray[np.complex128]

_CROSSING = 1e-13
"""How accurately a change of stability is located, relative to the value."""

_NEARER = 0.1
"""Each look at the growing side is at this share of the distance that the one before had from the change."""

_LOOKS = 60
"""How often that side is looked at, at most; ten are usual."""

_POINTS = 4
"""From so many points the change is extrapolated."""

_STRAIGHT = 1e-3
"""Estimates that differ by less than this share of their distance are of a function that is straight in between."""

_SETTLED = 1e-9
"""Estimates that differ by less, relative to the value, and do not come nearer each other, are as good as they get."""

_OUTSIDE = 1e-3
"""By this share of the interval an estimate may be beyond its stable end: the change may be at that very end."""


@readable
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
    model_at: Callable[[float], LinearModel] | None = field(repr=False, default=None)
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
        growing = np.array([_growing(model) is not None for model in self.models])
        found = []
        for k in np.flatnonzero(growing[1:] != growing[:-1]):
            still, grown = (k, k + 1) if growing[k + 1] else (k + 1, k)
            ends = float(self.values[still]), float(self.values[grown])
            found.append(sum(ends) / 2 if self.model_at is None else _change(self.model_at, self.models[grown], *ends))
        return tuple(found)

    def plot(self, what: str = "over", *, path: FilePath | None = None) -> Figure:
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


@user_facing
def eigenvalues_over(
    system: System,
    parameter: NameLike,
    values: ArrayLike,
    *,
    guess: JointValues = None,
    nearest: bool = True,
    **load: object,
) -> EigenvalueBranches:
    """Return the eigenvalues about equilibria over a parameter, "joint.effort" or "joint.speed" (root locus).

    At each of the `values` the equilibrium next to the one before is found, and the mechanism linearised there;
    the first one is next to the guess, or a stable one with `nearest=False`. `load` are `tau`, `parameters`,
    `speeds`, `t` and `z` as for `equilibrium`. `.changes` are the values at which stability changes.

    >>> from whippletree.system.example_systems import pendulum
    >>> eigenvalues_over(pendulum(), "hinge.effort", [0.0, -5.0], guess=[1.5]).eigenvalues.imag.round(4)
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

    def model_at(value: float) -> LinearModel:
        near = equilibria[int(np.argmin(np.abs(wanted - value)))]
        return at(value, near.q, near.z).linearize()

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
        model_at,
        what.label,
    )


def _growth(values: Complex) -> float:
    """Return the largest real part of eigenvalues that are not zero."""
    return float(values.real[values != 0].max(initial=-np.inf))


def _growing(model: LinearModel) -> float | None:
    """Return (1) for the motion that grows fastest; None if none grows by more than the error of its eigenvalue."""
    modes = [mode for mode in model.modes() if mode.kind != "rigid"]
    if not modes:
        return None
    values = np.array([mode.eigenvalue for mode in modes])
    rate = scale_of(values)
    errors = np.maximum([mode.error for mode in modes], INDIFFERENT * rate)
    k = int(np.argmax(values.real - errors))
    growth = float(values[k].real)
    if growth <= errors[k]:
        return None
    dying = values[values.real < -growth / 2]
    nearest = int(np.argmin(np.abs(dying + values[k].conjugate()))) if len(dying) else None
    return growth * (rate if nearest is None else -float(dying[nearest].real))


def _change(model_at: Callable[[float], LinearModel], grown: LinearModel, still: float, growing: float) -> float:
    """Return the value between two at which a motion begins to grow, from where none does to where one does.

    The zero of (1) is extrapolated from the growing side, at a tenth of the distance each time, until that does not
    become better. Where no motion grows after all, the interval is halved.
    """
    first = _growing(grown)
    assert first is not None, "a motion grows at the end of the interval"
    points, low, high = [(first, growing)], still, growing
    estimate, change = None, np.inf
    for _ in range(_LOOKS):
        ahead, better = (low + high) / 2, _extrapolated(points)
        if better is not None and -_OUTSIDE <= (better - still) / (high - still) < 1:
            before, change = change, np.inf if estimate is None else abs(better - estimate)
            estimate, size = better, max(abs(better), _CROSSING / _SETTLED * abs(growing - still))
            if change <= _CROSSING * size or before / 2 < change <= _SETTLED * size:
                break
            nearer = better + _NEARER * (high - better)
            ahead = nearer if (nearer - low) * (high - low) > 0 else ahead
        seen = _growing(model_at(ahead)) if ahead not in (low, high) else None
        straight = estimate is not None and change <= _STRAIGHT * abs(high - estimate)
        if seen is not None:
            points, high = [*points, (seen, ahead)][-_POINTS:], ahead
        elif straight:
            break  # (1) is straight from there to its zero, and only too small here to be told from rounding
        elif ahead in (low, high):
            return high
        else:
            low, points, estimate, change = ahead, points[-1:], None, np.inf
    return high if estimate is None else float(np.clip(estimate, min(still, growing), max(still, growing)))


def _extrapolated(points: list[tuple[float, float]]) -> float | None:
    """Return where a falling number is zero, from (number, place) of points that come nearer: by Neville's scheme.

    >>> _extrapolated([(8.0, 3.0), (4.0, 2.0)])
    1.0
    """
    numbers, places = np.array(points).T
    if len(points) < 2 or not (np.diff(numbers) < 0).all():
        return None
    for k in range(1, len(points)):
        ahead, behind = numbers[k:], numbers[:-k]
        places = (behind * places[1:] - ahead * places[:-1]) / (behind - ahead)
    return float(places[0])


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
