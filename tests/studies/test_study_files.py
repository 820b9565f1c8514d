"""Study files and the command `whippletree study`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.cli import main
from whippletree.studies import read_study

MODEL = """\
name: pendulum
parameters: {mass: 2, length: 1}
bodies: {rod: {rod: {length: length, mass: mass}}}
joints: {hinge: {revolute: [ground, rod], axis: y}}
"""
STUDY = """\
whippletree study: 1
model: pendulum.yaml
do: equilibrium
cases:
  latin hypercube: 6
  seed: 3
  mass: {plus_minus: [2, 0.1]}
  length: {normal: [1, 0.01]}
store: results.zarr
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pendulum.yaml").write_text(MODEL)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


def test_a_study_file_is_the_study_that_it_says(folder: Path) -> None:
    study = read_study(folder / "study.yaml")
    expected = wt.cases.latin_hypercube(
        6, seed=3, mass=wt.cases.plus_minus(2.0, 0.1), length=wt.cases.standard_deviation(1.0, 0.01)
    )
    assert study.cases.identical(expected)
    assert study.store == str(folder / "results.zarr")
    assert repr(study) == "Study: equilibrium of 6 cases"


def test_a_grid_and_ranges_of_values(folder: Path) -> None:
    text = STUDY[: STUDY.index("cases")] + "cases: {grid: {mass: [1, 2], length: {from: 1, to: 2, count: 3}}}\n"
    (folder / "study.yaml").write_text(text)
    study = read_study(folder / "study.yaml", folder / "elsewhere.zarr")
    assert study.values()["length"].tolist() == [1.0, 1.5, 2.0] * 2
    assert study.store == str(folder / "elsewhere.zarr")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("do: equilibrium", "du: equilibrium", 'study.yaml:3:1: a study file has no key "du"; there is'),
        ("do: equilibrium", "do: __import__", "there is no"),
        ("model: pendulum.yaml", "model: 3", '"model" must be text'),
        ("model: pendulum.yaml", "model: none.yaml", "none.yaml"),
        ("model: pendulum.yaml\n", "", 'needs the key "model"'),
        ("whippletree study: 1", "whippletree study: 2", "format 1"),
        ("{plus_minus: [2, 0.1]}", "{gauss: [2, 0.1]}", "give uniform or plus_minus or normal of two numbers"),
        ("{plus_minus: [2, 0.1]}", "{plus_minus: [2, x]}", "there must be numbers"),
        ("latin hypercube: 6", "latin hypercube: 6.5", "whole number"),
        ("latin hypercube: 6", "latin hypercube: 6\n  grid: {a: [1]}", "one of"),
        ("seed: 3", "seed: 3\n  x: !!python/name:os.system {}", "tag"),
        ("store: results.zarr", "options: {executor: 3}", "key of the study itself"),
    ],
)
def test_mistakes_are_told_with_their_place(folder: Path, old: str, new: str, words: str) -> None:
    (folder / "study.yaml").write_text(STUDY.replace(old, new))
    with pytest.raises(wt.WhippletreeError) as told:
        read_study(folder / "study.yaml")
    assert words in str(told.value)
    assert "study.yaml" in str(told.value) or "none.yaml" in str(told.value)


def test_the_command_runs_a_study_and_goes_on_with_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("zarr", "3.1.3", reason="studies need zarr, which is in the extra `test`")
    words = ["study", str(folder / "study.yaml")]
    assert main([*words, "--report", str(folder / "report.html")]) == 0
    assert "6 of 6 cases done" in capsys.readouterr().out
    assert "hinge.angle" in (folder / "report.html").read_text()
    angles = read_study(folder / "study.yaml").dataset()["hinge.angle"]
    np.testing.assert_allclose(angles, np.pi / 2, rtol=1e-9)
    assert main(words) == 2
    assert "resume" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
    assert main([*words, "--resume", "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "--dask tcp://127.0.0.1:1" in capsys.readouterr().err
