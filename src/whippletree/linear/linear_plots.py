"""Plots of linear models: shapes of modes, eigenvalues, frequency and step responses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.arrays import FilePath
from whippletree.kernels.kernel import Array
from whippletree.linear.linear_tolerances import ENTRY_ERROR, ROUNDING, SHOWN_SHARE
from whippletree.results.output_files import new_file
from whippletree.results.plot_files import new_figure, write_figure
from whippletree.spatial.scalars import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from whippletree.linear.linear_model import LinearModel
    from whippletree.linear.modal_analysis import Mode

__all__ = ["drawn"]

_MODES = 12
"""How many modes are drawn at most."""

_DECADES, _POINTS = 1.0, 600
"""How far a frequency response reaches beyond the modes, and its points."""

_FEW = 0.1
"""A response that stands out from rounding at a smaller share of its points is zero: they are its resonances."""


def drawn(model: LinearModel, what: str, path: FilePath | None) -> Figure:
    """Return a figure of a linear model, and write it if a path is given."""
    if not isinstance(what, str) or what not in _KINDS:
        raise StateError(f"a linear model is drawn as {', '.join(map(repr, _KINDS))}, not {shown(what)}")
    place = None if path is None else new_file(path)
    figure = _KINDS[what](model, place)
    if place is not None:
        write_figure(figure, place)
    return figure


def _modes(model: LinearModel, place: Path | None) -> Figure:
    """Draw the shape of each mode as bars over the joints, with amplitude and sign of the phase."""
    modes = [mode for mode in model.modes() if mode.kind != "rigid"][:_MODES] or list(model.modes())[:_MODES]
    if not modes:
        raise StateError("there are no modes to draw: nothing moves")
    size = np.max([np.abs(mode.shape) for mode in modes], axis=0)
    rows = [i for i in range(len(size)) if size[i] > SHOWN_SHARE * size.max()]
    figure = new_figure((2.2 + 1.5 * len(modes), 1.4 + 0.32 * len(rows)), place)
    axes = np.atleast_1d(figure.subplots(1, len(modes), sharey=True))
    for one, mode in zip(axes, modes, strict=True):
        real, imag = mode.shape[rows].real, mode.shape[rows].imag
        y = np.arange(len(rows))
        one.barh(y, real, color="C0", height=0.6, label="in phase")
        if np.abs(imag).max() > 1e-3:
            one.barh(y, imag, color="C1", height=0.25, label="a quarter ahead")
        one.axvline(0.0, color="0.4", linewidth=0.8)
        one.set_xlim(-1.1, 1.1)
        one.set_title(_title(mode), fontsize="small")
        one.grid(True, axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(rows)), [model.freedom_names[i] for i in rows], fontsize="small")
    axes[0].invert_yaxis()
    fullest = max(axes, key=lambda one: len(one.get_legend_handles_labels()[1]))  # not empty: one for each mode
    figure.legend(*fullest.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    return figure


def _title(mode: Mode) -> str:
    if mode.kind == "oscillation":
        return f"{mode.frequency:.3g} Hz\ndamping {mode.damping_ratio:.2g}"
    return "rigid" if mode.kind == "rigid" else f"{mode.kind}\n{mode.eigenvalue.real:.3g} 1/s"


def _eigenvalues(model: LinearModel, place: Path | None) -> Figure:
    figure = new_figure((6.0, 5.0), place)
    axes = figure.subplots()
    values = model.eigenvalues
    growing = values.real > 1e-9 * np.abs(values).max(initial=0.0)
    axes.plot(values[~growing].real, values[~growing].imag, "x", color="C0")
    axes.plot(values[growing].real, values[growing].imag, "x", color="C3", label="grows")
    axes.axvline(0.0, color="0.4", linewidth=0.8)
    axes.set_xlabel("real part [1/s]")
    axes.set_ylabel("imaginary part [rad/s]")
    axes.grid(True, alpha=0.3)
    if growing.any():
        axes.legend(fontsize="small")
    return figure


def _frequency_response(model: LinearModel, place: Path | None) -> Figure:
    rates = np.abs(model.eigenvalues)
    rates = rates[rates > 0]
    ends = (np.log10(rates.min()) - _DECADES, np.log10(rates.max()) + _DECADES) if len(rates) else (-1.0, 1.0)
    w = np.logspace(ends[0], ends[1], _POINTS)
    response = model.frequency_response(w)
    figure = new_figure((8.0, 6.0), place)
    upper, lower = figure.subplots(2, 1, sharex=True)
    certain = np.isfinite(response) & (np.abs(response) > _rounding(model, w))
    for j, given in enumerate(model.inputs):
        for i, asked in enumerate(model.outputs):
            seen, one, name = certain[:, i, j], response[:, i, j], f"{asked} for {given}"
            if seen.sum() < _FEW * _POINTS:
                upper.plot([], [], linestyle="none", label=f"zero: {name}")
                continue
            phase = np.full(_POINTS, np.nan)
            phase[seen] = np.degrees(np.unwrap(np.angle(one[seen])))
            (line,) = upper.plot(w / (2 * np.pi), np.where(seen, np.abs(one), np.nan), label=name)
            lower.plot(w / (2 * np.pi), phase, color=line.get_color())
    upper.set_xscale("log")
    if certain.any():
        upper.set_yscale("log")
    upper.set_ylabel("amplitude")
    lower.set_ylabel("phase [degrees]")
    lower.set_xlabel("frequency [Hz]")
    for axes in (upper, lower):
        axes.grid(True, which="both", alpha=0.3)
    upper.legend(fontsize="small")
    return figure


def _rounding(model: LinearModel, w: Array) -> Array:
    """Return the amplitudes (n, outputs, inputs) that are no more than rounding of the states and of D.

    States are as exact as the largest of their kind: displacements, velocities, states of elements.
    """
    x = np.abs(model.state_response(w))
    ends = np.cumsum([model.n_displacements, model.n_velocities])
    for kind in np.split(np.arange(len(model.A)), ends):
        x[:, kind] = x[:, kind].max(axis=1, initial=0.0, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(ENTRY_ERROR * ROUNDING * (np.abs(model.C) @ x + np.abs(model.D)))


def _step(model: LinearModel, place: Path | None) -> Figure:
    t, y = model.step()
    figure = new_figure((8.0, 1.0 + 2.4 * len(model.outputs)), place)
    figure.subplots(len(model.outputs), 1, sharex=True)
    for i, (axes, asked) in enumerate(zip(figure.axes, model.outputs, strict=True)):
        for j, given in enumerate(model.inputs):
            axes.plot(t, y[:, i, j], label=f"step of {given}")
        axes.set_ylabel(f"{asked}\n[{model.units.get(asked, '')}]")
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize="small")
    figure.axes[-1].set_xlabel("time [s]")
    return figure


_KINDS = {"modes": _modes, "eigenvalues": _eigenvalues, "frequency response": _frequency_response, "step": _step}
