"""Cases of a study: a dataset in which variables that share a dimension vary together, and dimensions multiply.

The makers of cases are for `wt.cases`:

>>> import whippletree as wt
>>> from scipy import stats
>>> dict(wt.cases.grid(mass=[1.0, 2.0], stiffness=[10.0, 20.0, 30.0]).sizes)
{'mass': 2, 'stiffness': 3}
>>> dict(wt.cases.latin_hypercube(50, seed=3, mass=stats.norm(2.0, 0.1), length=wt.cases.plus_minus(0.5, 0.01)).sizes)
{'case': 50}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.arrays import Array
from whippletree.foundation.late_imports import needed_library
from whippletree.foundation.user_frames import user_facing
from whippletree.model.names import quoted
from whippletree.spatial.scalars import shown

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "grid",
    "latin_hypercube",
    "plus_minus",
    "random",
    "saltelli",
    "samples",
    "sobol",
    "standard_deviation",
]

CASE = "case"
"""The dimension of samples."""

_MOST = 1_000_000_000
"""Cases of one sample at most."""


@user_facing
def grid(values: Mapping[str, object] | None = None, /, **named: object) -> xr.Dataset:
    """Return every combination of values: each variable has a dimension of its own name.

    >>> cases = grid({"spring rate": [1e3, 2e3]}, mass=[1.0, 2.0, 3.0])
    >>> list(cases.sizes.items())
    [('spring rate', 2), ('mass', 3)]
    """
    import xarray as xr

    given = _named(values, named)
    return xr.Dataset(coords={name: (name, _row(value, name)) for name, value in given.items()})


@user_facing
def samples(values: object, *names: str) -> xr.Dataset:
    """Return rows of numbers (n, k) as cases of k named variables, which vary together.

    >>> samples([[1.0, 10.0], [2.0, 20.0]], "mass", "stiffness")["stiffness"].values
    array([10., 20.])
    """
    import xarray as xr

    try:
        rows = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise StateError(f"samples() takes rows of numbers, one column for each name, not {shown(values)}") from None
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise StateError(f"samples() needs one column for each of its {len(names)} names, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise StateError("samples() takes finite numbers only")
    return xr.Dataset({name: (CASE, column) for name, column in zip(names, rows.T, strict=True)})


@user_facing
def random(n: int, distributions: Mapping[str, object] | None = None, /, *, seed: int = 0, **named: object) -> Any:
    """Return n independent samples of distributions: frozen ones of `scipy.stats`, or anything with `ppf`.

    >>> from scipy import stats
    >>> random(4, seed=1, mass=stats.uniform(1.0, 2.0))["mass"].shape
    (4,)
    """
    return _sampled(n, distributions, named, seed, lambda k: np.random.default_rng(seed).random((n, k)), "random")


@user_facing
def latin_hypercube(
    n: int, distributions: Mapping[str, object] | None = None, /, *, seed: int = 0, **named: object
) -> Any:
    """Return n samples of which each of n equally likely ranges of every variable has one.

    >>> from scipy import stats
    >>> cases = latin_hypercube(10, seed=1, mass=stats.uniform(0.0, 10.0))
    >>> sorted(cases["mass"].values.astype(int).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    from scipy.stats import qmc

    return _sampled(n, distributions, named, seed, lambda k: qmc.LatinHypercube(k, rng=seed).random(n), "hypercube")


@user_facing
def sobol(n: int, distributions: Mapping[str, object] | None = None, /, *, seed: int = 0, **named: object) -> Any:
    """Return the first n points of a scrambled Sobol' sequence; take n as a power of two.

    >>> from scipy import stats
    >>> abs(float(sobol(64, seed=1, mass=stats.uniform(0.0, 1.0))["mass"].mean()) - 0.5) < 0.01
    True
    """
    from scipy.stats import qmc

    if not _count(n) & (n - 1) == 0:
        raise StateError(f"sobol() needs a power of two as the number of cases, not {n}: its points are balanced then")
    return _sampled(n, distributions, named, seed, lambda k: qmc.Sobol(k, rng=seed).random(n), "sobol")


@user_facing
def saltelli(n: int, distributions: Mapping[str, object] | None = None, /, *, seed: int = 0, **named: object) -> Any:
    """Return n (k + 2) samples of k variables from which `Study.sobol_indices` estimates Sobol' indices (SALib).

    >>> from scipy import stats
    >>> saltelli(8, seed=1, mass=stats.norm(1.0, 0.1), length=stats.norm(0.5, 0.01)).sizes["case"]  # doctest: +SKIP
    32
    """
    if not _count(n) & (n - 1) == 0:
        raise StateError(f"saltelli() needs a power of two as the number of its points, not {n}")

    def points(k: int) -> Array:
        sobol_sample = needed_library("SALib.sample.sobol", "Sobol' indices", "sensitivity")
        problem = {"num_vars": k, "names": [str(i) for i in range(k)], "bounds": [[0.0, 1.0]] * k}
        return np.asarray(sobol_sample.sample(problem, n, calc_second_order=False, seed=seed), dtype=float)

    return _sampled(n, distributions, named, seed, points, "saltelli")


@user_facing
def plus_minus(nominal: float, width: float) -> Any:
    """Return the uniform distribution between nominal - width and nominal + width, as drawings state tolerances.

    >>> plus_minus(0.5, 0.01).support()
    (np.float64(0.49), np.float64(0.51))
    """
    from scipy import stats

    return stats.uniform(nominal - _positive(width, "width"), 2.0 * width)


@user_facing
def standard_deviation(nominal: float, deviation: float) -> Any:
    """Return the normal distribution about a nominal value with a standard deviation.

    >>> standard_deviation(0.5, 0.01).std()
    np.float64(0.01)
    """
    from scipy import stats

    return stats.norm(nominal, _positive(deviation, "deviation"))


def _sampled(
    n: int,
    distributions: Mapping[str, object] | None,
    named: Mapping[str, object],
    seed: int,
    points: Callable[[int], Array],
    method: str,
) -> xr.Dataset:
    """Return points of the unit cube, brought to the distributions, as cases."""
    import xarray as xr

    given = _named(distributions, named)
    _count(n)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise StateError(f"seed= must be a whole number, 0 or more, not {shown(seed)}")
    quantiles = {name: _quantile(one, name) for name, one in given.items()}
    columns = points(len(given)).T
    values = {}
    for (name, quantile), column in zip(quantiles.items(), columns, strict=True):
        values[name] = np.asarray(quantile(column), dtype=float)
        if not np.isfinite(values[name]).all():
            raise StateError(f"the distribution of {quoted(name)} has samples that are not finite")
    return xr.Dataset({name: (CASE, value) for name, value in values.items()}, attrs={"method": method, "seed": seed})


def _quantile(distribution: Any, name: str) -> Callable[[Array], Array]:
    """Return the inverse of a distribution's cumulative function."""
    found = getattr(distribution, "ppf", None) or getattr(distribution, "icdf", None)
    if not callable(found):
        raise StateError(
            f"{quoted(name)} must be a frozen distribution such as scipy.stats.norm(1.0, 0.1), or "
            f"wt.cases.plus_minus(1.0, 0.1), not {shown(distribution)}"
        )
    inverse: Callable[[Array], Array] = found
    return inverse


def _named(values: Mapping[str, object] | None, named: Mapping[str, object]) -> dict[str, object]:
    """Return variables by name, given as a mapping and as named arguments."""
    given = {**(values or {}), **named}
    if not given:
        raise StateError("cases need at least one variable: name=values")
    for name in given:
        if not isinstance(name, str) or not name:
            raise StateError(f"a variable of the cases must have a name, not {shown(name)}")
    return given


def _row(values: object, name: str) -> Array:
    """Return the values of a variable as one row."""
    try:
        row = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        row = np.zeros((0, 0))
    if row.ndim != 1 or not row.size or not np.isfinite(row).all():
        raise StateError(f"the values of {quoted(name)} must be one row of finite numbers, not {shown(values)}")
    return row


def _count(n: object) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= _MOST:
        raise StateError(f"the number of cases must be a whole number from 1 to {_MOST}, not {shown(n)}")
    return int(n)


def _positive(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < float(value) < np.inf:
        raise StateError(f"{what} must be a number above zero, not {shown(value)}")
    return float(value)
