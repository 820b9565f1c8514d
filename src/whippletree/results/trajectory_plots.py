"""Plots of a run over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whippletree.errors import ResultError, StateError
from whippletree.results.columns import Columns, columns
from whippletree.results.output_files import new_file, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from whippletree.results.trajectory import Trajectory

__all__ = ["plotted"]

_LEGEND = 16
"""How many lines a legend names at most."""


def plotted(run: Trajectory, names: tuple[Any, ...], path: Any = None) -> Figure:
    """Return a figure with one diagram for each unit, and write it if a path is given."""
    place = None if path is None else new_file(path)
    lines = [columns(run, name) for name in names or ("coordinates",)]
    by_unit: dict[str, list[tuple[str, Any]]] = {}
    for group in lines:
        _sort(group, by_unit)
    figure = _figure(len(by_unit), place)
    for axes, (unit, curves) in zip(figure.axes, by_unit.items(), strict=True):
        _draw(axes, run, unit, curves)
    figure.axes[0].set_title(run.labels.mechanism)
    figure.axes[-1].set_xlabel("time [s]")
    if place is not None:
        _write(figure, place)
    return figure


def _sort(group: Columns, by_unit: dict[str, list[tuple[str, Any]]]) -> None:
    """Put each column with those of its unit."""
    for i, label in enumerate(group.labels):
        by_unit.setdefault(label.unit, []).append((label.text, group.values[:, i]))


def _figure(count: int, place: Path | None) -> Figure:
    """Return a figure with diagrams one below the other.

    One that is written to a file is not shared; otherwise pyplot knows it, so that notebooks and `plt.show()` do.
    """
    size = (8.0, 1.2 + 2.6 * count)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ResultError('plots need matplotlib: install it with pip install "whippletree[plot]"') from None
    figure = Figure(figsize=size, layout="constrained") if place is not None else _shown(size)
    figure.subplots(count, 1, sharex=True)
    return figure


def _shown(size: tuple[float, float]) -> Figure:
    """Return a figure that pyplot knows, or a plain one where there is no screen for it."""
    from matplotlib.figure import Figure

    try:
        from matplotlib import pyplot

        return pyplot.figure(figsize=size, layout="constrained")
    except Exception:  # whatever a backend raises, a figure can be had without one
        return Figure(figsize=size, layout="constrained")


def _draw(axes: Any, run: Trajectory, unit: str, curves: list[tuple[str, Any]]) -> None:
    """Draw curves of one unit, and where the events were."""
    few = len(run) <= 2
    for text, values in curves:
        axes.plot(run.t, values, label=text, marker="o" if few else None, linewidth=1.2)
    for event in run.events:
        axes.axvline(event.t, color="0.7", linewidth=0.8, zorder=0)
    axes.set_ylabel(f"{curves[0][0]} [{unit}]" if len(curves) == 1 and unit else unit and f"[{unit}]")
    axes.grid(True, alpha=0.3)
    if len(curves) <= _LEGEND:
        axes.legend(fontsize="small", ncols=max(1, len(curves) // 6))


def _write(figure: Figure, place: Path) -> None:
    kind = place.suffix.lstrip(".").lower()
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise StateError(f'a plot cannot be written as "{place.name}": end it in {", ".join(sorted(known))}')
    write_whole(place, lambda file: figure.savefig(file, format=kind, dpi=150))
