"""Plots of the cost of formulations: break-even along families, speed-up against freedoms and processors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whippletree.analysis.family import Curves
from whippletree.analysis.flow import Flow
from whippletree.errors import ResultError, WhippletreeError
from whippletree.foundation.whole_files import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_curves", "plot_speed_up", "save_plots"]


def plot_curves(curves: Curves, axes: Axes, unit: str = "operations") -> None:
    """Draw the costs of two formulations by size of the mechanism on matplotlib axes."""
    axes.plot(curves.sizes, curves.of_first, "o-", label=curves.first)
    axes.plot(curves.sizes, curves.of_second, "s--", label=curves.second)
    if curves.break_even is not None and curves.crossings:
        axes.axvline(curves.break_even, color="0.7", zorder=0)
    axes.set(title=curves.family, xlabel="joints", ylabel=unit)
    _legend_below(axes)


def plot_speed_up(flow: Flow, axes: Axes, most: int = 64) -> None:
    """Draw the speed-up of a graph against the number of processors."""
    processors = sorted({2**k for k in range(most.bit_length())} | {3, 6, 12, 24, 48})
    axes.plot(processors, [flow.schedule(p).speed_up for p in processors], "o-", label="schedule")
    axes.axhline(flow.largest_speed_up, color="0.7", label="limit")
    axes.set(xlabel="processors", ylabel="speed-up")
    _legend_below(axes)


def _legend_below(axes: Axes) -> None:
    """Put the legend below a diagram, where no curve is."""
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)


def save_plots(folder: Path, *, times: bool = False) -> list[Path]:
    """Write the papers' curves as pictures, and return their paths."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise WhippletreeError("plots need matplotlib: pip install whippletree[plot]") from None
    from whippletree.analysis.papers import break_even_curves, speed_up_curves

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"the folder {folder} cannot be made: {error.strerror}") from None
    written = []
    for measure in ("unfolded", "operations", "seconds") if times else ("unfolded", "operations"):
        figure, grid = plt.subplots(2, 3, figsize=(13, 7), layout="constrained")
        grid[1, 2].set_axis_off()
        found = [curves for _, _, by, curves in break_even_curves(measure == "seconds") if by == measure]
        for curves, axes in zip(found, grid.ravel(), strict=False):
            plot_curves(curves, axes, "seconds" if measure == "seconds" else "operations")
        written.append(folder / f"break_even_{measure}.png")
        _write(figure, written[-1])
        plt.close(figure)
    flows = list(speed_up_curves())
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    freedoms = [n for n, _, _ in flows]
    left.plot(freedoms, [full.largest_speed_up for _, full, _ in flows], "o-", label="unfolded")
    left.plot(freedoms, [flow.largest_speed_up for _, _, flow in flows], "s--", label="traced")
    left.set(title="Stanford arm", xlabel="freedoms", ylabel="largest speed-up")
    _legend_below(left)
    plot_speed_up(flows[-1][1], right)
    written.append(folder / "speed_up.png")
    _write(figure, written[-1])
    plt.close(figure)
    return written


def _write(figure: Figure, place: Path) -> None:
    """Write a figure as a picture, whole or not at all."""
    try:
        replace_file(place, lambda file: figure.savefig(file, format="png"))
    except OSError as error:
        raise ResultError(f"{place} could not be written ({error.strerror})") from None
