"""Figures of matplotlib: made for a screen or for a file, and written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whippletree.errors import ResultError, StateError
from whippletree.results.output_files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["new_figure", "write_figure"]


def new_figure(size: tuple[float, float], place: Path | None) -> Figure:
    """Return an empty figure of a size in inches.

    One that is written to a file is not shared; otherwise pyplot knows it, so that notebooks and `plt.show()` do.

    >>> new_figure((4.0, 3.0), Path("a.png")).axes
    []
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ResultError('plots need matplotlib: install it with pip install "whippletree[plot]"') from None
    return Figure(figsize=size, layout="constrained") if place is not None else _shown(size)


def _shown(size: tuple[float, float]) -> Figure:
    """Return a figure that pyplot knows, or a plain one where there is no screen for it."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _ipython_display_(self) -> None:
            if not _shown_by_pyplot(self):
                raise NotImplementedError  # by which notebooks are told to show it as they show other figures

    try:
        from matplotlib import pyplot

        return pyplot.figure(FigureClass=ShownFigure, figsize=size, layout="constrained")
    except Exception:  # whatever a backend raises, a figure can be had without one
        return Figure(figsize=size, layout="constrained")


def _shown_by_pyplot(figure: Figure) -> bool:
    """Tell whether a notebook shows a figure when its cell ends, so that it is not to be shown as a result too."""
    from matplotlib import get_backend, pyplot

    return get_backend().rpartition("_")[2] == "inline" and figure in map(pyplot.figure, pyplot.get_fignums())


def write_figure(figure: Figure, place: Path) -> None:
    """Write a figure in the format that the name ends in."""
    kind = place.suffix.lstrip(".").lower()
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise StateError(f'a plot cannot be written as "{place.name}": end it in {", ".join(sorted(known))}')
    write_whole(place, lambda file: figure.savefig(file, format=kind, dpi=150))
