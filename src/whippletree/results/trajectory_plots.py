"""Plots of a run over time, or over another quantity."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.arrays import Array, FilePath
from whippletree.model.argument_types import NameLike
from whippletree.results.columns import Columns, columns
from whippletree.results.labels import Label
from whippletree.results.output_files import new_file
from whippletree.results.plot_files import new_figure, write_figure
from whippletree.spatial.scalars import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from whippletree.results.trajectory import Trajectory

__all__ = ["plotted"]

_LEGEND = 16
"""How many lines a legend names at most."""

_ZERO = 1e-9
"""Of a quantity with several components, those that stay below this share of the largest one are left out."""

_ZEROS = 6
"""How many of these are named."""

_NAME = 26
"""Characters in a line of a label; longer names are broken, so that they fit beside a diagram."""

_INCHES, _LINE = 2.6, 0.19
"""The least height of a diagram, and the height of a line of its legend, in inches."""

_STYLES, _COLOURS = ("-", "--", ":", "-."), 10
"""When matplotlib's colours have been used up, the next curves are drawn in another style."""

Curve = tuple[str, Array]


class _Diagram(NamedTuple):
    """The curves of one unit, and the names of components that are zero."""

    unit: str
    curves: list[Curve]
    zero: list[str]

    @property
    def legend(self) -> list[str]:
        """The lines of the legend: names, broken where they are long, and a line for curves that are not shown."""
        named = [_broken(text) for text, _ in self.curves] if 1 < len(self.curves) <= _LEGEND else []
        unnamed = [f"{len(self.curves)} curves"] if len(self.curves) > _LEGEND else []
        more = [f"and {len(self.zero) - _ZEROS} more"] if len(self.zero) > _ZEROS else []
        zero = _broken(f"zero: {', '.join([*self.zero[:_ZEROS], *more])}")
        return [*named, *unnamed, *([zero] if self.zero else [])]

    @property
    def height(self) -> float:
        """How high it is drawn, in inches."""
        return max(_INCHES, 0.4 + _LINE * sum(text.count("\n") + 1 for text in self.legend))


def plotted(
    run: Trajectory, names: tuple[NameLike, ...], x: NameLike | None = None, path: FilePath | None = None
) -> Figure:
    """Return a figure with one diagram for each unit, and write it if a path is given."""
    place = None if path is None else new_file(path)
    across, at = _across(run, x)
    diagrams: dict[str, _Diagram] = {}
    length = 1.0 if run.system is None else run.system.kernels.closures.characteristic_length
    for name in names or ("coordinates",):
        _sort(columns(run, name), length, diagrams)
    figure = _figure([diagram.height for diagram in diagrams.values()], place)
    for axes, diagram in zip(figure.axes, diagrams.values(), strict=True):
        _draw(axes, run, at, diagram)
    figure.suptitle(run.labels.mechanism)
    figure.axes[-1].set_xlabel(across.column)
    if place is not None:
        write_figure(figure, place)
    return figure


def _across(run: Trajectory, x: NameLike | None) -> tuple[Label, Array]:
    """Return the horizontal axis, one column: time, or a quantity by its name."""
    if x is None:
        return Label("time", "", "s"), run.t
    found = columns(run, x)
    if len(found.labels) > 1:
        every = ", ".join(f'"{label.text}"' for label in found.labels[:_ZEROS])
        raise StateError(
            f"x= must be one number at each time, and {shown(x)} has {len(found.labels)}: name one: {every}"
        )
    return found.labels[0], found.values[:, 0]


def _sort(group: Columns, length: float, diagrams: dict[str, _Diagram]) -> None:
    """Put each column of a quantity with those of its unit; components that are zero beside others are named only.

    Forces and moments are compared by a length, so that moments that are rounding of forces count as zero too.
    """
    sizes = np.abs(group.values).max(axis=0)
    largest: dict[str, float] = {}
    for label, size in zip(group.labels, sizes, strict=True):
        largest[label.unit] = max(largest.get(label.unit, 0.0), float(size))
    force = max(largest.get("N", 0.0), largest.get("N m", 0.0) / length)
    beside = {**largest, "N": force, "N m": force * length}
    shown = [unit for unit in largest if largest[unit] > _ZERO * beside[unit]] or list(largest)
    for unit in shown:
        diagrams.setdefault(unit, _Diagram(unit, [], []))
    diagrams[shown[0]].zero.extend(f"all in {unit}" for unit in largest if unit not in shown)
    for i, label in enumerate(group.labels):
        if label.unit not in shown:
            continue
        if sizes[i] <= _ZERO * beside[label.unit] and beside[label.unit] > 0:
            diagrams[label.unit].zero.append(label.text)
        else:
            diagrams[label.unit].curves.append((label.text, group.values[:, i]))


def _figure(heights: list[float], place: Path | None) -> Figure:
    """Return a figure with diagrams one below the other."""
    figure = new_figure((10.0, 1.2 + sum(heights)), place)
    figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    return figure


def _draw(axes: Axes, run: Trajectory, at: Array, diagram: _Diagram) -> None:
    """Draw the curves of one unit, and where the events were; the legend stands beside the diagram."""
    few, curves = len(run) <= 2, diagram.curves
    for k, (text, values) in enumerate(curves):
        style = _STYLES[k // _COLOURS % len(_STYLES)]
        axes.plot(at, values, style, label=text, marker="o" if few else None, linewidth=1.2)
    lines = axes.get_lines()
    for event in run.events:
        axes.axvline(np.interp(event.t, run.t, at), color="0.7", linewidth=0.8, zorder=0)
    unit = f"[{diagram.unit}]" if diagram.unit else ""
    axes.set_ylabel(f"{_broken(curves[0][0])}\n{unit}".strip() if len(curves) == 1 else unit)
    axes.grid(True, alpha=0.3)
    if diagram.legend:
        named = list(lines) if 1 < len(curves) <= _LEGEND else []
        nothing = [axes.plot([], [], linestyle="none")[0] for _ in diagram.legend[len(named) :]]
        axes.legend(
            [*named, *nothing],
            diagram.legend,
            fontsize="small",
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            borderaxespad=0.2,
        )


def _broken(text: str) -> str:
    """Return a name in lines that are not too long.

    >>> _broken("velocity of the middle of the second arm")
    'velocity of the middle of\\nthe second arm'
    """
    return "\n".join(textwrap.wrap(text, _NAME, break_on_hyphens=False)) or text
