"""Datasets, tables and plots: labels, units and numbers."""

from __future__ import annotations

import builtins
import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whippletree as wt
from results.runs import changed, four_bar, pendulum, tumbling
from support.sampling import deep
from support.systems import same_bits
from whippletree.elements import joints
from whippletree.elements.joints import Joint
from whippletree.errors import ResultError
from whippletree.results import Trajectory
from whippletree.results.labels import unit_of


def test_labels_and_units_of_states() -> None:
    columns = [label.column for label in tumbling().labels.coordinates]
    assert columns[:7] == [
        "flight.quaternion w",
        "flight.quaternion x",
        "flight.quaternion y",
        "flight.quaternion z",
        "flight.position x [m]",
        "flight.position y [m]",
        "flight.position z [m]",
    ]
    assert columns[-1] == "slide.displacement [m]"
    velocities = [label.column for label in tumbling().labels.velocities]
    assert velocities[0] == "flight.angular velocity about x [rad/s]"
    assert velocities[3] == "flight.velocity along x [m/s]"


def test_every_joint_says_what_it_measures() -> None:
    kinds = [kind for kind in vars(joints).values() if isinstance(kind, type) and issubclass(kind, Joint)]
    labels = [label for kind in kinds if kind is not Joint for label in getattr(kind, "position_labels", ())]
    assert {unit_of(label) for label in labels} == {"", "rad", "m"}
    rates = [label for kind in kinds if kind is not Joint for label in getattr(kind, "velocity_labels", ())]
    assert {unit_of(label) for label in rates} == {"rad/s", "m/s"}
    with pytest.raises(wt.ModelError, match="unit"):
        unit_of("temperature")


# ---------------------------------------------------------------------- datasets


def test_a_dataset_has_labelled_states() -> None:
    data = tumbling().dataset()
    assert dict(data.sizes) == {"time": 401, "coordinate": 12, "velocity": 10}
    assert same_bits(data["q"].sel(coordinate="slide.displacement").values, tumbling()["slide"])
    assert data["q"].sel(coordinate=data["coordinate_joint"] == "socket").shape == (401, 4)
    assert data["velocity_units"].values.tolist() == ["rad/s"] * 3 + ["m/s"] * 3 + ["rad/s"] * 3 + ["m/s"]
    assert data["time"].attrs["units"] == "s"
    assert same_bits(data["v"].sel(time=0.1, method="nearest").values, tumbling().v[50])


def test_a_dataset_holds_what_is_asked_for() -> None:
    run = four_bar()
    what = ("accelerations", "energy", "reactions", "poses", "body velocities", "body accelerations")
    data = run.dataset(*what)
    assert same_bits(data["a"].sel(velocity="D.angular velocity").values, run.accelerations()[:, 3])
    assert same_bits(data["total_energy"].values, run.energy().total)
    assert same_bits(data["force"].sel(joint="C", axis="z").values, run.reactions()["C"].force[:, 2])
    assert (data["force_unique"].sel(joint="C").values == run.reactions()["C"].unique[:, 3:]).all()
    assert same_bits(data["position"].sel(body="coupler").values, run.position("coupler"))
    assert same_bits(data["rotation"].sel(body="coupler").values, run.pose("coupler")[:, :3, :3])
    assert same_bits(data["angular_velocity"].sel(body="rocker").values, run.velocity("rocker")[:, :3])
    assert same_bits(data["linear_acceleration"].sel(body="rocker").values, run.acceleration("rocker")[:, 3:])
    units = {name: data[name].attrs["units"] for name in ("force", "moment", "position", "angular_acceleration")}
    assert units == {"force": "N", "moment": "N m", "position": "m", "angular_acceleration": "rad/s^2"}


# ---------------------------------------------------------------------- tables


def test_a_table_has_units_in_its_heads() -> None:
    table = four_bar().table(
        ["A", "B.velocities", "B.accelerations", "crank.velocity", "C.force x", "energy", "efforts"]
    )
    assert list(table)[:8] == [
        "time [s]",
        "A.angle [rad]",
        "B.angular velocity [rad/s]",
        "B.angular acceleration [rad/s^2]",
        "crank.velocity x [m/s]",
        "crank.velocity y [m/s]",
        "crank.velocity z [m/s]",
        "C.force x [N]",
    ]
    assert list(table)[8:12] == [
        "energy.kinetic [J]",
        "energy.potential [J]",
        "energy.total [J]",
        "A.effort on angular velocity [N m]",
    ]
    assert same_bits(table["A.angle [rad]"].to_numpy(), four_bar()["A"])


def test_work_in_a_table() -> None:
    work = np.random.default_rng(0).normal(size=(26, 2))
    table = changed(pendulum(), work=work).table("work")
    assert list(table) == ["time [s]", "work.in [J]", "work.dissipated [J]"]


def test_csv_keeps_every_digit(tmp_path: Path) -> None:
    run = tumbling()
    run.to_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head[0] == "time [s]"
    assert head[1:13] == [label.column for label in run.labels.coordinates]
    assert same_bits(np.array(rows, dtype=np.float64), np.column_stack([run.t, run.q, run.v]))


def test_csv_of_chosen_quantities(tmp_path: Path) -> None:
    pendulum().to_csv(tmp_path / "run.csv", what=["tip", "A.angular velocity"])
    with (tmp_path / "run.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == [
        "time [s]",
        "tip.position x [m]",
        "tip.position y [m]",
        "tip.position z [m]",
        "A.angular velocity [rad/s]",
    ]
    assert same_bits([float(row[3]) for row in rows], pendulum().position("tip")[:, 2])


def test_names_with_commas_and_quotes(tmp_path: Path) -> None:
    m = wt.Mechanism("m")
    m.revolute('left, "upper".x', m.ground, m.body("rod", wt.rod(1.0, mass=1.0)), axis="y")
    run = wt.results.Trajectory(m.build(), [0.0, 1.0], [[0.1], [0.2]], [[0.0], [0.0]])
    run.to_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as file:
        assert next(csv.reader(file))[1] == 'left, "upper".x.angle [rad]'
    assert run['left, "upper".x.angle'].tolist() == [0.1, 0.2]
    assert run['left, "upper".x.force'].shape == (2, 3)


def test_parquet_keeps_every_bit(tmp_path: Path) -> None:
    run = tumbling()
    run.to_parquet(tmp_path / "run.parquet")
    read = pd.read_parquet(tmp_path / "run.parquet")
    assert list(read) == list(run.table())
    assert same_bits(read.to_numpy(), np.column_stack([run.t, run.q, run.v]))
    run.to_parquet(tmp_path / "run.parquet", what="energy")
    assert list(pd.read_parquet(tmp_path / "run.parquet")) == [
        "time [s]",
        "energy.kinetic [J]",
        "energy.potential [J]",
        "energy.total [J]",
    ]


# ---------------------------------------------------------------------- plots


def test_a_plot_has_a_diagram_for_each_unit(tmp_path: Path) -> None:
    run = changed(four_bar(), events=[("touch", 0.2, four_bar().q[0], four_bar().v[0], [])])
    figure = run.plot("A", "B", "coupler", "energy", path=tmp_path / "run.png")
    assert [axes.get_ylabel() for axes in figure.axes] == ["[rad]", "[m]", "[J]"]
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines[:2]] == ["A.angle", "B.angle"]
    assert same_bits(lines[1].get_ydata(), run["B"])
    assert same_bits(lines[1].get_xdata(), run.t)
    assert list(lines[2].get_xdata()) == [0.2, 0.2]
    assert (tmp_path / "run.png").read_bytes()[:4] == b"\x89PNG"


def test_a_plot_over_an_angle(tmp_path: Path) -> None:
    run = changed(four_bar(), events=[("touch", four_bar().t[3], four_bar().q[3], four_bar().v[3], [])])
    figure = run.plot("B", "D.force", x="A", path=tmp_path / "run.png")
    assert figure.axes[-1].get_xlabel() == "A.angle [rad]"
    lines = figure.axes[0].get_lines()
    assert same_bits(lines[0].get_xdata(), run["A"]) and same_bits(lines[0].get_ydata(), run["B"])
    assert list(lines[1].get_xdata()) == [run["A"][3]] * 2
    assert (
        run.plot("B", x="coupler.position x", path=tmp_path / "run.png").axes[-1].get_xlabel()
        == "coupler.position x [m]"
    )
    with pytest.raises(wt.StateError, match='has 3: name one: "coupler'):
        run.plot("B", x="coupler")
    with pytest.raises(wt.ModelError, match="there is no quantity"):
        run.plot("B", x="crunk")


def test_a_notebook_shows_a_plot_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pyplot shows when a cell ends is not shown as the cell's result too; closed and other figures are."""
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.use("agg")
    figure: Any = pendulum().plot("A")
    with pytest.raises(NotImplementedError):  # this tells IPython to go on with the usual way
        figure._ipython_display_()
    for name in ("inline", "module://matplotlib_inline.backend_inline"):
        monkeypatch.setattr(mpl, "get_backend", lambda name=name: name)
        assert figure._ipython_display_() is None
    pyplot.close(figure)
    with pytest.raises(NotImplementedError):
        figure._ipython_display_()


def overlapping(figure: Any) -> list[tuple[str, str]]:
    """Return texts and legends of a figure that lie upon each other, and legends that lie upon a diagram."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes: list[tuple[str, Any]] = [(figure._suptitle.get_text(), figure._suptitle.get_window_extent())]
    for axes in figure.axes:
        boxes.append(("diagram", axes.get_window_extent()))
        boxes += [(axis.label.get_text(), axis.label.get_window_extent()) for axis in (axes.xaxis, axes.yaxis)]
        ticks = [axes.yaxis.get_offset_text()]
        for axis in (axes.yaxis, axes.xaxis) if axes is figure.axes[-1] else (axes.yaxis,):
            low, high = axis.get_view_interval()
            ticks += [
                text for text, at in zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True) if low <= at <= high
            ]
        boxes += [(tick.get_text(), tick.get_window_extent()) for tick in ticks]
        if axes.get_legend() is not None:
            boxes.append(("legend", axes.get_legend().get_window_extent()))
    boxes = [(text, box) for text, box in boxes if text and box.width > 0]
    inside = figure.bbox
    assert all(box.x0 >= inside.x0 - 1 and box.x1 <= inside.x1 + 1 and box.y1 <= inside.y1 + 1 for _, box in boxes)
    return [
        (a, b) for k, (a, one) in enumerate(boxes) for b, other in boxes[:k] if one.shrunk(0.98, 0.98).overlaps(other)
    ]


@pytest.mark.rest
def test_labels_do_not_collide_and_no_legend_lies_upon_a_curve(tmp_path: Path) -> None:
    m = wt.Mechanism("a mechanism whose name is so long that it would run into what is written beside it")
    for k in range(14):
        body = m.body(f"body {k}", wt.rod(1.0, 1.0))
        m.revolute(f"the hinge of the {k}th pendulum on the long beam", m.ground, body, at=(k, 0, 0), axis="y")
    system = m.build()
    t = np.linspace(0.0, 1e-3, 5)
    many = Trajectory(system, t, 1e6 + 1e-3 * np.outer(t, np.arange(14)), np.ones((5, 14)))
    for run, names in (
        (many, ()),
        (many, ("velocities", "body 3", "energy")),
        (four_bar(), ("A", "reactions", "energy")),
    ):
        assert overlapping(run.plot(*names, path=tmp_path / "a.png")) == []
    alone = f"{system.joint_names[3]}.angle"
    assert overlapping(many.plot(alone, "body 2.velocity z", "energy", path=tmp_path / "a.png")) == []


def test_components_that_are_zero_are_left_out_and_named(tmp_path: Path) -> None:
    figure = four_bar().plot("A.force", "coupler.velocity", path=tmp_path / "a.png")
    drawn = [[line.get_label() for line in axes.get_lines() if len(line.get_xdata())] for axes in figure.axes]
    assert drawn == [["A.force x", "A.force z"], ["coupler.velocity x", "coupler.velocity z"]]
    texts = [text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()]
    assert "zero: A.force y" in texts and "zero: coupler.velocity y" in texts
    moments = four_bar().plot("reactions", path=tmp_path / "a.png")  # moments in hinges are rounding of forces
    assert [axes.get_ylabel() for axes in moments.axes] == ["[N]"]
    assert any("all in N m" in text.get_text().replace("\n", " ") for text in moments.axes[0].get_legend().get_texts())
    still = changed(pendulum(), q=np.zeros((26, 1)))
    assert len(still.plot("A", path=tmp_path / "a.png").axes[0].get_lines()) == 1  # nothing beside it


@pytest.mark.parametrize(("name", "magic"), [("a.pdf", b"%PDF"), ("a.svg", b"<?xml"), ("A.PNG", b"\x89PNG")])
def test_plots_in_other_forms(name: str, magic: bytes, tmp_path: Path) -> None:
    pendulum().plot(path=tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_a_form_that_is_none(tmp_path: Path) -> None:
    for name in ("a.xyz", "a"):
        with pytest.raises(wt.StateError, match="end it in"):
            pendulum().plot(path=tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("backend", [{"MPLBACKEND": "tkagg"}, *deep([{}])], ids=["tkagg", "none"])
def test_plots_without_a_screen(backend: dict[str, str]) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from results.runs import pendulum\n"
        "figure = pendulum().plot('A')\n"
        "assert len(figure.axes) == 1\n"
        "print('drawn')\n"
    )
    given = [sys.executable, "-c", code, str(Path(__file__).parent.parent)]
    plain = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")}
    done = subprocess.run(given, capture_output=True, text=True, check=False, timeout=300, env=plain | backend)
    assert done.stdout.strip() == "drawn", done.stderr


@pytest.mark.parametrize(
    ("missing", "ask", "words"),
    [
        ("matplotlib", lambda run, path: run.plot(path=path / "a.png"), r"whippletree\[plot\]"),
        ("pyarrow", lambda run, path: run.to_parquet(path / "a.parquet"), r"whippletree\[table\]"),
    ],
)
def test_a_library_that_is_missing_is_named(
    missing: str, ask: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ResultError, match=words):
        ask(pendulum(), tmp_path)


def test_heavy_libraries_come_when_they_are_needed() -> None:
    code = (
        "import sys, whippletree, whippletree.results\n"
        "heavy = {'xarray', 'pandas', 'h5py', 'matplotlib', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
