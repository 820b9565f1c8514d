"""Plots of equilibria and eigenvalues over a number."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from whippletree.foundation.arrays import Array, FilePath
from whippletree.model.argument_types import JointLike
from whippletree.results.labels import Labels
from whippletree.results.output_files import new_file
from whippletree.results.plot_files import new_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from whippletree.equilibria.eigenvalue_branches import EigenvalueBranches
    from whippletree.equilibria.equilibrium_paths import EquilibriumPath

__all__ = ["drawn_branches", "drawn_path"]

_STYLES = {"stable": "-", "unstable": "--", "undecided": ":"}


def drawn_path(path: EquilibriumPath, joints: tuple[JointLike, ...], file: FilePath | None) -> Figure:
    """Draw coordinates over the number: stable parts solid, unstable ones dashed, turning points as dots."""
    place = None if file is None else new_file(file)
    system = path[0].system
    labels = Labels.of(system)
    names = [labels.joint(joint) for joint in joints] or [name for name in labels.joints if labels.coordinates]
    columns = [(i, labels.coordinates[i]) for name in names for i in _range(labels.q_slice(name))]
    units = list(dict.fromkeys(label.unit for _, label in columns))
    figure = new_figure((7.5, 0.8 + 3.4 * len(units)), place)
    figure.subplots(len(units), 1, sharex=True)
    for axes, unit in zip(figure.axes, units, strict=True):
        own = [(i, label) for i, label in columns if label.unit == unit]
        for c, (i, label) in enumerate(own):
            _draw_pieces(axes, path, path.q[:, i], f"C{c % 10}", label.text)
        axes.set_ylabel(f"{own[0][1].text} [{unit}]" if len(own) == 1 else f"[{unit}]")
        axes.grid(True, alpha=0.3)
        _legend(axes, path, len(own) > 1)
    figure.axes[-1].set_xlabel(path.label)
    figure.suptitle(f"Equilibria of {system.description.name}")
    if place is not None:
        write_figure(figure, place)
    return figure


def _draw_pieces(axes: Axes, path: EquilibriumPath, y: Array, colour: str, name: str) -> None:
    """Draw a curve in pieces of one stability each; a piece begins at the last point of the one before."""
    ends = [0, *path.changes(), len(path)]
    for first, last in pairwise(ends):
        begin = max(first - 1, 0) if path.stability[first] != "stable" or first == 0 else first
        stop = last if path.stability[first] != "stable" else min(last, len(path))
        style = _STYLES[path.stability[first]]
        axes.plot(path.values[begin:stop], y[begin:stop], style, color=colour, label=name if not first else None)
    turning = list(path.turning)
    axes.plot(path.values[turning], y[turning], "o", color=colour, markersize=5)


def _legend(axes: Axes, path: EquilibriumPath, several: bool) -> None:
    """Name curves if there are several, and the styles if more than one occurs."""
    handles, names = axes.get_legend_handles_labels() if several else ([], [])
    words = list(dict.fromkeys(path.stability))
    for word in words if len(words) > 1 else []:
        handles += axes.plot([], [], _STYLES[word], color="0.3")
        names.append(word)
    if path.turning:
        handles += axes.plot([], [], "o", color="0.3", markersize=5)
        names.append("turning point")
    if handles:
        axes.legend(handles, names, fontsize="small")


def _range(where: slice) -> range:
    return range(where.start, where.stop)


def drawn_branches(found: EigenvalueBranches, what: str, file: FilePath | None) -> Figure:
    """Draw eigenvalues: real and imaginary parts over the number ("over"), or in the plane ("locus")."""
    place = None if file is None else new_file(file)
    values, number = found.eigenvalues, found.values
    if what == "locus":
        figure = new_figure((7.0, 5.5), place)
        axes = figure.subplots()
        for k in range(values.shape[1]):
            axes.plot(values[:, k].real, values[:, k].imag, "-", color="0.8", linewidth=0.8, zorder=1)
        x, y = values.real.ravel(), values.imag.ravel()
        dots = axes.scatter(x, y, c=np.repeat(number, values.shape[1]), s=12, cmap="viridis", zorder=2)
        figure.colorbar(dots, label=found.label)
        axes.axvline(0.0, color="0.4", linewidth=0.8)
        axes.set_xlabel("real part [1/s]")
        axes.set_ylabel("imaginary part [rad/s]")
        axes.grid(True, alpha=0.3)
    else:
        figure = new_figure((7.5, 6.5), place)
        upper, lower = figure.subplots(2, 1, sharex=True)
        for k in range(values.shape[1]):
            upper.plot(number, values[:, k].real, linewidth=1.2, color=f"C{k % 10}")
            shown = np.where(values[:, k].imag > 0, values[:, k].imag, np.nan)
            lower.plot(number, shown / (2 * np.pi), linewidth=1.2, color=f"C{k % 10}")
        for value in found.changes:
            upper.axvline(value, color="0.6", linewidth=0.8, linestyle="--")
            upper.annotate(f"{value:.4g}", (value, 1.0), xycoords=("data", "axes fraction"), fontsize="small", va="top")
        upper.axhline(0.0, color="0.4", linewidth=0.8)
        upper.set_ylabel("real part [1/s]")
        lower.set_ylabel("frequency [Hz]")
        lower.set_ylim(bottom=0.0)
        lower.set_xlabel(found.label)
        for axes in (upper, lower):
            axes.grid(True, alpha=0.3)
    figure.suptitle(f"Eigenvalues of {found.mechanism}")
    if place is not None:
        write_figure(figure, place)
    return figure
