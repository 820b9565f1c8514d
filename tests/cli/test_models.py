"""The commands that work with model files: check, run, convert, plot."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.cli import main
from whippletree.model.io import read_file, read_text, write_text
from whippletree.results import Trajectory
from whippletree.results.example_runs import swing

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PENDULUM = """\
name: pendulum
bodies: {rod: {rod: {length: 1, mass: 2}}}
frames: {tip: {on: rod, at: [1, 0, 0]}}
joints:
  hinge: {revolute: [ground, rod], axis: y}
run: {duration: 0.5, every: 0.1, outputs: [hinge, tip]}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "pendulum.yaml"
    file.write_text(PENDULUM, encoding="utf-8")
    return file


# ---------------------------------------------------------------------------------------------------------
# check


def test_check_tells_what_a_file_describes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(EXAMPLES / "iftomm" / "bricard.yaml")]) == 0
    out = capsys.readouterr().out
    assert '"Bricard\'s mechanism": 5 bodies, 6 joints, 1 frame, 3 parameters' in out
    assert "rod 1 on ground by R1" in out
    assert "mobility 1; Gruebler's count 0; 1 redundant equation" in out
    assert "Assembled, with a closure residual of" in out
    assert "  R1: 0" in out


def test_check_of_a_tree(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.write_text(PENDULUM + "start: {guess: {hinge: pi / 6}, velocities: {hinge: -2}}\n")
    assert main(["check", str(model)]) == 0
    out = capsys.readouterr().out
    assert "There are no loops to close. It starts at\n  hinge: 0.523599, velocity -2\n" in out


def test_check_of_many_joints_is_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = "".join(f"  b{k}: {{mass: 1}}\n" for k in range(40))
    joints = "".join(f"  j{k}: {{free: [ground, b{k}]}}\n" for k in range(40))
    file = tmp_path / "m.yaml"
    file.write_text(f"name: m\nbodies:\n{bodies}joints:\n{joints}")
    assert main(["check", str(file)]) == 0
    out = capsys.readouterr().out
    assert "  j0: (1, 0, 0, 0, 0, 0, 0)\n" in out
    assert out.endswith("  ... and 21 more\n")


@pytest.mark.parametrize(
    "text, words",
    [
        ("name: [", "m.yaml:1:"),
        (PENDULUM.replace("axis: y", "axs: y"), 'm.yaml:5:36: joint "hinge": there is no key "axs"'),
        (PENDULUM.replace("[ground, rod], axis", "[ground, rood], axis"), 'did you mean "rod"?'),
        (PENDULUM.replace("joints:", "  stray: {on: ground}\njoints:"), "m.yaml:4:"),
        ("name: m\nbodies: {a: {mass: 1}, b: {mass: 1}}\njoints: {A: {free: [ground, a]}}\n", "m.yaml:2: "),
        (
            "name: m\nbodies: {a: {rod: {length: 1, mass: 1}}}\njoints: {A: {revolute: [ground, a]}}\n"
            "closures: {C: {distance: [ground, a], at: [9, 0, 0], at_child: [1, 0, 0], length: 1}}\n",
            "m.yaml:4: ",
        ),
        (
            "name: m\nbodies: {a: {mass: 1}}\njoints: {A: {revolute: [ground, a]}}\n"
            "closures: {C: {coupling: {A: 1}}}\nstart: {velocities: {A: 1}}\n",
            "m.yaml:4: ",
        ),
    ],
)
def test_check_ends_with_1_and_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(text)
    assert main(["check", str(file)]) == 1
    err = capsys.readouterr().err
    assert words in err
    assert err.startswith("whippletree: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_check_of_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "no.yaml")]) == 1
    assert "no.yaml: the file cannot be read" in capsys.readouterr().err


def test_check_as_a_process(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("name: m\nbodies: {a: {mass: x}}\n")
    finished = subprocess.run(
        [sys.executable, "-m", "whippletree", "check", str(file)], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 1
    assert finished.stderr == f'whippletree: {file}:2:20: body "a": mass: there is no name "x"; there is "pi"\n'


# ---------------------------------------------------------------------------------------------------------
# run


def test_run_writes_what_is_asked_for(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = {"-o": tmp_path / "run.nc", "--csv": tmp_path / "run.csv", "--plot": tmp_path / "run.png"}
    assert main(["run", str(model), *(str(x) for pair in places.items() for x in pair)]) == 0
    out = capsys.readouterr().out
    assert 'Trajectory of "pendulum": 6 outputs, t = 0 to 0.5 s' in out
    assert "Certificate: ok" in out
    assert all(place.stat().st_size > 0 for place in places.values())
    header = places["--csv"].read_text().splitlines()[0]
    assert header.startswith("time [s],hinge.angle [rad],tip.position x [m]")
    run = Trajectory.load(places["-o"], wt.read(model).build())
    assert run.t.tolist() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])


def test_run_writes_the_rest_if_one_file_cannot_be(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(image: object, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("whippletree.results.tables._all_of", full)
    old, table = tmp_path / "run.nc", tmp_path / "run.csv"
    old.write_bytes(b"what was there")
    assert main(["run", str(model), "-o", str(old), "--csv", str(table), "--duration", "0.1"]) == 2
    out, err = capsys.readouterr()
    assert old.read_bytes() == b"what was there"
    assert len(table.read_text().splitlines()) > 2
    assert "Certificate: ok" in out
    assert "No space left" in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".yaml") == ["run.csv", "run.nc"]


def test_run_takes_settings_from_the_command_line(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, Any] = {}

    def simulate(self: wt.System, **given: Any) -> Trajectory:
        seen.update(given)
        return swing()

    monkeypatch.setattr(wt.System, "simulate", simulate, raising=False)
    settings = ["--duration", "3", "--method", "rk4", "--step", "0.01", "--tolerance", "1e-5", "--every", "0.5"]
    main(["run", str(model), *settings])
    given = {"duration": 3.0, "method": "rk4", "step": 0.01, "tolerance": 1e-5, "every": 0.5}
    assert {key: seen[key] for key in given} == given
    assert seen["q"].tolist() == [0.0]
    assert "Certificate" in capsys.readouterr().out


def test_run_ends_with_1_if_the_run_is_not_to_be_trusted(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = swing()
    monkeypatch.setattr(
        wt.System, "simulate", lambda self, **given: Trajectory(run.system, run.t, run.q, run.v), raising=False
    )
    assert main(["run", str(model)]) == 1
    assert "Certificate: NOT ok" in capsys.readouterr().out


def test_run_keeps_what_was_computed_before_an_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def simulate(self: wt.System, **given: Any) -> Trajectory:
        from whippletree.errors import SimulationError

        error = SimulationError("at t = 0.3 s the mechanism locks")
        error.trajectory = swing()
        raise error

    monkeypatch.setattr(wt.System, "simulate", simulate, raising=False)
    file = tmp_path / "part.nc"
    assert main(["run", str(model), "-o", str(file)]) in (0, 1)
    assert file.exists()
    assert "pendulum.yaml: at t = 0.3 s the mechanism locks" in capsys.readouterr().err


def test_run_without_duration_or_folder(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(model), "--csv", str(tmp_path / "no" / "run.csv")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    model.write_text(PENDULUM.replace("run: {duration: 0.5, every: 0.1,", "run: {"))
    assert main(["run", str(model)]) == 2
    assert 'no "duration" is given' in capsys.readouterr().err
    assert main(["run", str(tmp_path / "no.yaml")]) == 2
    with pytest.raises(SystemExit):
        main(["run", str(model), "--duration", "long"])


@pytest.mark.parametrize("option", ["-o", "--csv", "--plot", "--checkpoint"])
def test_run_does_not_write_over_the_model(
    option: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link.yaml").symlink_to(model)
    for place in (model, tmp_path / "no" / ".." / model.name, tmp_path / "link.yaml"):
        (tmp_path / "no").mkdir(exist_ok=True)
        assert main(["run", str(model), option, str(place)]) == 2
        assert "this is the model already: name another file" in capsys.readouterr().err
    assert model.read_text() == PENDULUM
    with pytest.raises(wt.FileError, match="the checkpoint would take the place of the model"):
        wt.read(model).simulate(checkpoint=model)


def test_two_outputs_have_two_places(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for one, other in (("-o", "--csv"), ("--csv", "--plot"), ("--plot", "--checkpoint")):
        assert main(["run", str(model), one, str(tmp_path / "same.png"), other, f"{tmp_path}/./same.png"]) == 2
        assert "already: name another file" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == [model.name]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("option", ["-o", "--csv", "--plot", "--checkpoint"])
def test_run_leaves_what_is_no_file(
    option: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    monkeypatch.setattr(wt.System, "simulate", lambda *_, **__: pytest.fail("it was computed all the same"))
    for place in (pipe, tmp_path):
        assert main(["run", str(model), option, str(place)]) == 2
        assert "which a file must not take the place of" in capsys.readouterr().err
    assert pipe.is_fifo()


# ---------------------------------------------------------------------------------------------------------
# convert and plot


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_convert_and_plot_leave_what_is_no_file(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe, file = tmp_path / "pipe.png", tmp_path / "run.png"
    os.mkfifo(pipe)
    swing().save(tmp_path / "run.nc")
    (tmp_path / "run.nc").rename(file)
    before = file.read_bytes()
    for words in (["convert", str(model), str(pipe)], ["plot", str(file), "-o", str(pipe)]):
        assert main(words) == 2
        assert "is a pipe, which a file must not take the place of" in capsys.readouterr().err
    assert pipe.is_fifo()
    assert main(["plot", str(file)]) == 2  # a run that is called like a picture
    assert "would take the place of what is to be read" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_convert(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = tmp_path / "plain.yaml"
    assert main(["convert", str(model), str(to)]) == 0
    first, second = wt.read(model), wt.read(to)
    assert first.mechanism.describe() == second.mechanism.describe()
    assert first.run == second.run
    assert "mass: 2.0" in to.read_text()
    again = tmp_path / "again.yaml"
    assert main(["convert", str(to), str(again)]) == 0
    assert again.read_bytes() == to.read_bytes()
    assert main(["convert", str(model), str(tmp_path / "no" / "m.yaml")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, file = swing(), tmp_path / "run.nc"
    run.save(file)
    assert main(["plot", str(file), "hinge"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'run.png'}\n"
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert main(["plot", str(file), "-o", str(tmp_path / "all.svg")]) == 0
    assert (tmp_path / "all.svg").exists()
    assert main(["plot", str(file), "henge"]) == 2
    assert 'did you mean "hinge"?' in capsys.readouterr().err
    assert main(["plot", str(tmp_path / "no.nc")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_plot_of_what_needs_the_model(model: Path, tmp_path: Path) -> None:
    system = wt.read(model).build()
    run = Trajectory(system, np.arange(3.0), np.arange(3.0)[:, None], np.ones((3, 1)))
    file = tmp_path / "run.nc"
    run.save(file)
    assert main(["plot", str(file), "tip"]) == 0  # the model is in the file
    assert (tmp_path / "run.png").exists()
    assert main(["plot", str(file), "tip", "--model", str(model)]) == 0
    assert (tmp_path / "run.png").exists()


def test_run_is_verified_with_bounded_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pushed.yaml"
    file.write_text(
        """
whippletree: 1
name: pushed
bodies: {block: {mass: 1.0}}
joints: {x: {prismatic: [ground, block], axis: x}}
forces: {push: {actuator: x, effort: "100 * pulse(t, 3, 3.01)"}}
run: {duration: 10, max_step: 0.5, verify: true}
"""
    )
    assert main(["run", str(file)]) == 0
    out = capsys.readouterr().out
    assert "digits that are right" in out
    assert main(["run", str(file), "--max-step", "0.01"]) == 0
    found = re.search(r"steps +(\d+) taken", capsys.readouterr().out)
    assert found is not None
    assert int(found[1]) >= 1000
    again = read_text(write_text(read_file(file).mechanism))
    assert again.simulate(duration=10.0).v[-1, 0] == pytest.approx(1.0, rel=1e-10)


def test_parameters_are_set_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, found = tmp_path / "m.yaml", tmp_path / "run.nc"
    m = wt.Mechanism("spring", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("b", mass=1.0), axis="x")
    m.torsion_spring("k", "x", stiffness=m.parameter("stiff ness", 1.0))
    wt.write(wt.Model(m, {"guess": {"x": 1.0}}, {"duration": 1.0}), file)
    assert main(["run", str(file), "--set", "stiff ness=4.0", "-o", str(found)]) == 0
    assert Trajectory.load(found)["x"][-1] == pytest.approx(np.cos(2.0), abs=1e-6)
    digits = "9" * 5000
    for given, words in (
        (["--set", "stifness=2"], 'no parameter "stifness"; did you mean "stiff ness"?'),
        (["--set", "2"], 'no parameter ""'),
        (["--set", "stiff ness=a"], "must be a finite number"),
        (["--set", f"stiff ness={digits}"], "finite"),
        (["--duration", digits], "duration"),
    ):
        assert main(["run", str(file), *given]) == 2
        assert words in capsys.readouterr().err
    assert main(["run", str(file), "--keyframe", digits]) == 0  # which a YAML file has none of
    assert main(["run", ""]) == 2
    assert "the name of the model file is empty" in capsys.readouterr().err
