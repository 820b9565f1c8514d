"""Quantities over the stroke of a joint as columns: tables, files and plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.foundation.arrays import FilePath
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import NameLike
from whippletree.model.names import suggestion
from whippletree.results.columns import Columns as NamedColumns
from whippletree.results.labels import Label
from whippletree.results.output_files import new_file, write_whole
from whippletree.results.plot_files import new_figure, write_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from whippletree.kinematics.joint_sweeps import JointSweep

__all__ = ["plotted", "table", "write_csv"]

_TRANSMISSION, _CONDITIONING = "transmission angle", "conditioning"

Columns = list[tuple[Label, Array]]


def columns(sweep: JointSweep, what: tuple[NameLike, ...], more: Mapping[str, ArrayLike] | None = None) -> Columns:
    """Return quantities by name as columns with their labels; all coordinates unless given."""
    names = [str(getattr(one, "name", one)) for one in what] or list(sweep.labels.joints)
    found = [column for name in names for column in _named(sweep, name)]
    if more is not None:
        if not isinstance(more, Mapping):
            raise StateError("more= must map names of columns to values, one for each position")
        found += [(_label(name), _values(name, values, len(sweep))) for name, values in more.items()]
    return found


def _named(sweep: JointSweep, name: str) -> Columns:
    """Return the columns of one quantity."""
    labels = sweep.labels
    if name in labels.joints:
        where = labels.q_slice(name)
        return list(zip(labels.coordinates[where], sweep.q[:, where].T, strict=True))
    joint, _, word = name.rpartition(".")
    if word == "ratio" and joint in labels.joints:
        where = labels.v_slice(joint)
        of = [Label(one.owner, f"{one.what} over {sweep.input}", "") for one in labels.velocities[where]]
        return list(zip(of, sweep.ratios[:, where].T, strict=True))
    if name.startswith(_TRANSMISSION):
        found = sweep.transmission(name.removeprefix(_TRANSMISSION).strip() or None)
        return [(Label(found.joint, _TRANSMISSION, "deg"), np.degrees(found.angle))]
    if name == _CONDITIONING:
        return [(Label("", _CONDITIONING, ""), sweep.conditioning)]
    places = [*(b.name for b in sweep.system.description.bodies), *(f.name for f in sweep.system.description.frames)]
    if name in places:
        return [(Label(name, axis, "m"), x) for axis, x in zip("xyz", sweep.position(name).T, strict=True)]
    known = [*labels.joints, *places, _TRANSMISSION, _CONDITIONING]
    raise StateError(f"a sweep has no {suggestion(name, known)}; ratios are called by joint: A.ratio")


def _label(name: str) -> Label:
    """Return the label of a further column: "camber [deg]"."""
    text, _, unit = str(name).partition(" [")
    return Label("", text, unit.rstrip("]"))


def _values(name: str, values: ArrayLike, count: int) -> Array:
    try:
        numbers = np.asarray(values, dtype=np.float64)  # NaN where a sweep has ended
    except Exception:  # whatever it raises, these are no numbers
        numbers = np.zeros((0, 0))
    if numbers.shape != (count,):
        raise StateError(f"column {name!r} must have {count} numbers, one for each position")
    return numbers


def table(sweep: JointSweep, what: tuple[NameLike, ...], more: Mapping[str, ArrayLike] | None) -> pd.DataFrame:
    """Return quantities as columns, the input first."""
    import pandas as pd

    others = [(label, values) for label, values in columns(sweep, what, more) if label != sweep.input_label]
    every = [(sweep.input_label, sweep.values), *others]  # the input's own coordinate has no value beyond the ends
    found = NamedColumns.joined([NamedColumns((label,), values[:, None]) for label, values in every])
    return pd.DataFrame({label.column: found.values[:, k] for k, label in enumerate(found.labels)})


def write_csv(
    sweep: JointSweep, path: FilePath, what: tuple[NameLike, ...], more: Mapping[str, ArrayLike] | None
) -> None:
    """Write a table as text, every number with all its digits."""
    place = new_file(path)
    text = table(sweep, what, more).to_csv(index=False, lineterminator="\n")

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    write_whole(place, write)


def plotted(
    sweep: JointSweep, what: tuple[NameLike, ...], more: Mapping[str, ArrayLike] | None, path: FilePath | None
) -> Figure:
    """Return a figure with one diagram for each unit over the input, and write it if a path is given."""
    place = None if path is None else new_file(path)
    units: dict[str, Columns] = {}
    for label, values in columns(sweep, what, more):
        if label.column != sweep.input_label.column or what:
            units.setdefault(label.unit, []).append((label, values))
    if not units:
        raise StateError(
            f'nothing moves beside the input "{sweep.input}": name what is to be drawn, such as a body (its position)'
        )
    figure = new_figure((8.0, 1.0 + 2.6 * len(units)), place)
    every = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (unit, group) in zip(every, units.items(), strict=True):
        _draw(axes, sweep, unit, group)
    every[-1].set_xlabel(sweep.input_label.column)
    figure.suptitle(sweep.labels.mechanism)
    if place is not None:
        write_figure(figure, place)
    return figure


def _draw(axes: Axes, sweep: JointSweep, unit: str, group: Columns) -> None:
    """Draw the curves of one unit, and lines where singular positions are."""
    for label, values in group:
        axes.plot(sweep.values, values, label=label.text, marker="o" if len(sweep) < 3 else None, linewidth=1.4)
    for one in sweep.singular:
        axes.axvline(one.value, color="0.6", linestyle=":", linewidth=1.0, zorder=0)
    if len(group) == 1:
        axes.set_ylabel(group[0][0].column)
    else:
        axes.set_ylabel(f"[{unit}]" if unit else "")
        axes.legend(fontsize="small")
    axes.grid(True, alpha=0.3)
