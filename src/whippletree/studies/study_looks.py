"""Looks at the results of a study: diagrams, sensitivities, stacks of tolerances, the worst cases."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.arrays import AnyArray, Array
from whippletree.foundation.late_imports import needed_library
from whippletree.foundation.short_text import readable
from whippletree.model.names import quoted, suggestion
from whippletree.results.output_files import new_file
from whippletree.results.plot_files import new_figure, write_figure
from whippletree.spatial.scalars import shown
from whippletree.studies.case_tables import RESERVED, VECTORS
from whippletree.studies.study_stores import FAILED, MISSING

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from whippletree.studies.study import Study

__all__ = [
    "ToleranceStack",
    "Worst",
    "histogram",
    "numeric_outputs",
    "plot",
    "sobol_indices",
    "tolerance_stack",
    "worst",
]

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles between which bands are drawn, with the median in their middle."""

_CURVES = 8
"""Curves of one diagram; more are points."""

_KINDS = ("over", "band", "histogram", "scatter", "tornado")


class Worst(NamedTuple):
    """A case with the value for which it was picked.

    >>> Worst(17, 2.5, {"mass": 1.0}).case
    17
    """

    case: int
    value: float
    values: dict[str, Any]


def plot(
    study: Study,
    *names: object,
    over: str | None = None,
    kind: str | None = None,
    limits: Sequence[float | None] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw results, and write the figure if a path is given.

    A quantity with one number for each case is drawn `over` a variable of the cases, or as a histogram with `limits`
    (lower, upper); one over time as bands between quantiles. `kind="scatter"` draws several quantities and variables
    against each other, `kind="tornado"` how far each variable moves a quantity between its own 5 and 95 per cent, by a
    linear fit. A quantity may be an `xarray.DataArray`, a part of `study.dataset()`.
    """
    place = None if path is None else new_file(path)
    chosen = names or numeric_outputs(study)[:1]
    if not chosen:
        raise StateError("no output of the study is one number for each case: name what plot() shall draw")
    given = [_quantity(study, name) for name in chosen]
    drawn = kind or ("over" if over else "band" if given[0].ndim > len(_dims(study)) else "histogram")
    if drawn not in _KINDS:
        raise StateError(f"a study has no diagram {suggestion(drawn, _KINDS)}")
    if drawn == "scatter":
        figure = _scatter(study, given, place)
    else:
        figure = new_figure((6.4, 2.8 * len(given) + 0.6), place)
        for axes, one in zip(np.ravel(figure.subplots(len(given), squeeze=False)), given, strict=True):
            if drawn == "over":
                _over(study, axes, one, str(over))
            elif drawn == "band":
                _band(study, axes, one)
            elif drawn == "tornado":
                _tornado(study, axes, one)
            else:
                histogram(axes, _flat(study, one), limits, _label(one))
    if place is not None:
        write_figure(figure, place)
    return figure


def sobol_indices(study: Study, name: object) -> xr.Dataset:
    """Return Sobol' indices of a quantity: the shares of its variance that each variable has.

    `first` is its share alone, `total` with all others, with half the width of the range that holds 95 per cent. The
    cases must come from `wt.cases.saltelli`; SALib estimates them (Saltelli 2010).
    """
    import xarray as xr

    if study.cases.attrs.get("method") != "saltelli":
        raise StateError("Sobol' indices need cases that are made for them: wt.cases.saltelli(1024, mass=..., ...)")
    values, names = _flat(study, _quantity(study, name)), [str(one) for one in study.cases.data_vars]
    if not np.isfinite(values).all():
        raise StateError(f"{int((~np.isfinite(values)).sum())} cases have no numbers: indices need all of them")
    analyze = needed_library("SALib.analyze.sobol", "Sobol' indices", "sensitivity")
    problem = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
    found = analyze.analyze(problem, values, calc_second_order=False, print_to_console=False, seed=0)
    words = {"S1": "first", "S1_conf": "first_confidence", "ST": "total", "ST_conf": "total_confidence"}
    return xr.Dataset(
        {word: ("variable", np.asarray(found[key], dtype=float)) for key, word in words.items()},
        coords={"variable": names},
    )


@readable
@dataclass(frozen=True)
class ToleranceStack:
    """How tolerances add up in a quantity: to first order by its derivatives, and as sampled.

    `contributions` are derivative times standard deviation, by variable; `deviation` is the root of the sum of their
    squares, `worst_case` the sum of derivatives times the largest deviation from the mean.

    >>> stack = ToleranceStack("gap", 1.0, {"a": 0.3, "b": -0.4}, 0.5, 1.2, 1.01, 0.52)
    >>> print(stack)
    gap: 1 +- 0.5 (standard deviation to first order), at most +- 1.2; sampled: 1.01 +- 0.52
      b  64 %   -0.4
      a  36 %   +0.3
    """

    name: str
    nominal: float
    contributions: Mapping[str, float]
    deviation: float
    worst_case: float
    sampled_mean: float
    sampled_deviation: float

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.nominal:.6g} +- {self.deviation:.3g} (standard deviation to first order), at most "
            f"+- {self.worst_case:.3g}; sampled: {self.sampled_mean:.6g} +- {self.sampled_deviation:.3g}"
        ]
        width = max(map(len, self.contributions), default=0)
        whole = self.deviation**2 or 1.0
        for name, own in sorted(self.contributions.items(), key=lambda item: -abs(item[1])):
            lines.append(f"  {name:<{width}}  {100 * own**2 / whole:.0f} %   {own:+.3g}")
        return "\n".join(lines)


def tolerance_stack(study: Study, name: object, derivatives: Mapping[str, float], nominal: float) -> ToleranceStack:
    """Return how the tolerances of the cases add up in a quantity, to first order and as sampled.

    `derivatives` of the quantity by variable are exact where they come from `system.derivatives_of(...).parameters`;
    `nominal` is its value where all variables have their nominal values.
    """
    names = [str(one) for one in study.cases.data_vars]
    if set(derivatives) != set(names):
        raise StateError(f"derivatives= must name the variables of the cases: {', '.join(map(quoted, names))}")
    quantity = _quantity(study, name)
    values = _flat(study, quantity)
    values = values[np.isfinite(values)]
    spread = {one: np.asarray(study.cases[one].values, dtype=float) for one in names}
    contributions = {one: float(derivatives[one]) * float(spread[one].std(ddof=1)) for one in names}
    return ToleranceStack(
        str(quantity.name),
        float(nominal),
        contributions,
        float(np.sqrt(sum(own**2 for own in contributions.values()))),
        float(sum(abs(derivatives[one]) * np.abs(spread[one] - spread[one].mean()).max() for one in names)),
        float(values.mean()),
        float(values.std(ddof=1)),
    )


def worst(study: Study, name: object, count: int = 5, *, least: bool = False) -> list[Worst]:
    """Return the cases in which a quantity is largest, or least, the worst first: `study.case(n)` is one to look at."""
    values = _flat(study, _quantity(study, name))
    order = np.argsort(values if least else -values, kind="stable")
    picked = [int(n) for n in order if np.isfinite(values[n])][:count]
    return [Worst(n, float(values[n]), dict(study.case(n))) for n in picked]


# ---------------------------------------------------------------------- quantities


def numeric_outputs(study: Study) -> list[str]:
    """Return the outputs that have one number for each case, certificates' figures and times left out."""
    dims, data = set(_dims(study)), study.dataset()
    return [
        str(name)
        for name, one in data.data_vars.items()
        if set(one.dims) == dims and one.dtype.kind == "f" and name not in (*RESERVED, *_FIGURES)
    ]


_FIGURES = (
    *("end_time", "certificate_ok", "closure_residual", "velocity_residual", "energy_error", "energy_drift"),
    *("energy_limit", "quaternion_error", "digits", "steps", "refused", "evaluations"),
)
"""Figures of certificates, which are kept of every simulation."""


def _dims(study: Study) -> tuple[str, ...]:
    """Return the dimensions of the cases."""
    inner = {study.cases[name].dims[-1] for name in VECTORS if name in study.cases}
    return tuple(str(dim) for dim in study.cases.sizes if dim not in inner)


def _quantity(study: Study, name: Any) -> Any:
    """Return an output by its name, or a part of one; missing and failed cases have NaN."""
    import xarray as xr

    data = study.dataset()
    if isinstance(name, xr.DataArray):
        found = name
    elif isinstance(name, str) and name in data.data_vars and name not in RESERVED:
        found = data[name]
    else:
        raise StateError(f"the study has no output {suggestion(name, [str(one) for one in data.data_vars])}")
    missing = set(_dims(study)) - set(found.dims)
    if missing:
        raise StateError(f"{shown(str(found.name))} has no dimension {quoted(sorted(missing)[0])} of the cases")
    fine = (data["status"] < FAILED) & (data["status"] != MISSING)
    return found.where(fine)


def _flat(study: Study, quantity: Any) -> Array:
    """Return a quantity of one number for each case, in the order of their numbers."""
    dims = _dims(study)
    if set(quantity.dims) != set(dims):
        more = [str(dim) for dim in quantity.dims if dim not in dims]
        raise StateError(
            f"{quoted(str(quantity.name))} has several numbers for each case, along {', '.join(more)}: take a part of "
            f"it, study.dataset()[{str(quantity.name)!r}].isel({more[0]}=0), or keep a statistic of it"
        )
    return np.asarray(quantity.transpose(*dims).values, dtype=float).ravel()


def _variables(study: Study) -> dict[str, AnyArray]:
    """Return the variables of the cases that are numbers, one for each case."""
    rows = study.values()
    return {name: row.astype(float) for name, row in rows.items() if row.ndim == 1 and row.dtype.kind in "fiu"}


def _label(quantity: Any) -> str:
    unit = quantity.attrs.get("units", "")
    return f"{quantity.name} [{unit}]" if unit and unit != "1" else str(quantity.name)


# ---------------------------------------------------------------------- diagrams


def histogram(axes: Axes, values: Array, limits: Sequence[float | None] | None, label: str) -> None:
    """Draw how often values occur, and limits with the share of cases beyond them."""
    known = values[np.isfinite(values)]
    axes.hist(known, bins=max(10, min(60, int(np.sqrt(max(known.size, 1))))), color="C0", alpha=0.8)
    for limit, beyond in zip(limits or (), (np.less, np.greater), strict=False):
        if limit is not None:
            share = 100 * np.mean(beyond(known, limit)) if known.size else np.nan
            axes.axvline(
                limit, color="C3", label=f"{share:.3g} % {'below' if beyond is np.less else 'above'} {limit:g}"
            )
    axes.set_xlabel(label)
    axes.set_ylabel("cases")
    if limits and any(limit is not None for limit in limits):
        axes.legend()


def _over(study: Study, axes: Axes, quantity: Any, over: str) -> None:
    """Draw a quantity over a variable of the cases: curves over a dimension, else points."""
    dims, variables = _dims(study), _variables(study)
    if over not in variables:
        raise StateError(f"the cases have no variable {suggestion(over, variables)}")
    _flat(study, quantity)  # it has one number for each case
    others = [dim for dim in dims if dim != over]
    count = int(np.prod([quantity.sizes[dim] for dim in others], dtype=int))
    if over in dims and count <= _CURVES:
        rows = np.asarray(quantity.transpose(over, *others).values, dtype=float).reshape(quantity.sizes[over], -1)
        places = [tuple(place) for place in np.ndindex(*(quantity.sizes[dim] for dim in others))]
        for row, place in zip(rows.T, places, strict=True):
            words = [
                f"{dim} = {study.cases[dim].values[k]:.4g}" if dim in study.cases else f"{dim} {k}"
                for dim, k in zip(others, place, strict=True)
            ]
            axes.plot(np.asarray(study.cases[over].values), row, ".-", label=", ".join(words))
        if others:
            axes.legend()
    else:
        axes.plot(variables[over], _flat(study, quantity), ".", markersize=3, alpha=0.6)
    axes.set_xlabel(over)
    axes.set_ylabel(_label(quantity))


def _band(study: Study, axes: Axes, quantity: Any) -> None:
    """Draw quantiles over the cases of a quantity that has several numbers for each."""
    dims = _dims(study)
    along = [str(dim) for dim in quantity.dims if dim not in dims]
    if len(along) != 1:
        raise StateError(
            f"bands are of one dimension, and {quoted(str(quantity.name))} has {', '.join(along) or 'none'}: take a "
            f"part of it, study.dataset()[{str(quantity.name)!r}].isel(...)"
        )
    rows = np.asarray(quantity.transpose(*dims, along[0]).values, dtype=float).reshape(-1, quantity.sizes[along[0]])
    low, lower, middle, upper, high = np.nanquantile(rows, _SHARES, axis=0)
    x = np.asarray(quantity[along[0]].values) if along[0] in quantity.coords else np.arange(rows.shape[1])
    axes.fill_between(x, low, high, alpha=0.25, color="C0", label="5 to 95 % of the cases")
    axes.fill_between(x, lower, upper, alpha=0.35, color="C0", label="25 to 75 %")
    axes.plot(x, middle, color="C0", label="median")
    unit = quantity[along[0]].attrs.get("units", "s" if along[0] == "time" else "")
    axes.set_xlabel(f"{along[0]} [{unit}]" if unit else along[0])
    axes.set_ylabel(_label(quantity))
    axes.legend()


def _scatter(study: Study, given: list[Any], place: Any) -> Figure:
    """Draw quantities, and the variables of the cases, against each other."""
    columns = {**_variables(study), **{_label(one): _flat(study, one) for one in given}}
    names = list(columns)
    figure = new_figure((1.9 * len(names) + 1, 1.9 * len(names) + 1), place)
    grid = figure.subplots(len(names), len(names), squeeze=False, sharex="col")
    for i, of in enumerate(names):
        for j, across in enumerate(names):
            axes = grid[i][j]
            if i == j:
                known = columns[of][np.isfinite(columns[of])]
                axes.hist(known, bins=20, color="C0", alpha=0.8)
                axes.set_yticks([])
            else:
                axes.plot(columns[across], columns[of], ".", markersize=2, alpha=0.5)
            if i == len(names) - 1:
                axes.set_xlabel(across)
            if j == 0:
                axes.set_ylabel(of)
    return figure


def _tornado(study: Study, axes: Axes, quantity: Any) -> None:
    """Draw how far each variable moves a quantity by itself, by a linear fit, the farthest on top."""
    values, variables = _flat(study, quantity), _variables(study)
    known = np.isfinite(values)
    names = list(variables)
    columns = np.stack([variables[name][known] for name in names], axis=1)
    centred = columns - columns.mean(axis=0)
    slopes = np.linalg.lstsq(np.column_stack([centred, np.ones(known.sum())]), values[known], rcond=None)[0][:-1]
    ends = np.quantile(centred, (_SHARES[0], _SHARES[-1]), axis=0) * slopes
    middle = float(values[known].mean())
    order = np.argsort(np.abs(ends[1] - ends[0]))
    for row, k in enumerate(order):
        for end, colour in zip(ends[:, k], ("C0", "C1"), strict=True):
            axes.barh(row, end, left=middle, color=colour)
    axes.set_yticks(range(len(names)), [names[k] for k in order])
    axes.axvline(middle, color="black", linewidth=0.8)
    axes.set_xlabel(f"{_label(quantity)} (blue: variable at its 5 %, orange: at its 95 %)")
