"""The commands about rest and what is near it."""

from __future__ import annotations

from pathlib import Path

import pytest

from whippletree.cli import main

MODEL = """
name: strut
parameters: {load: 0, stiffness: 200}
bodies: {block: {mass: 2}}
joints: {slide: {prismatic: [ground, block], axis: z}}
forces:
  spring: {torsion_spring: slide, stiffness: stiffness, damping: 4}
  push: {load: block, force: [0, 0, -load]}
"""


def test_equilibrium_and_modes_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "strut.yaml"
    file.write_text(MODEL)
    assert main(["equilibrium", str(file), "--set", "load=3"]) == 0
    assert "slide.displacement  -0.1131 m" in capsys.readouterr().out
    assert main(["equilibrium", str(file), "--over", "load=0:10", "--plot", str(tmp_path / "path.png")]) == 0
    assert "equilibria over load" in capsys.readouterr().out
    assert main(["modes", str(file), "--save", str(tmp_path / "strut.mat"), "--plot", str(tmp_path / "modes.png")]) == 0
    assert "1.59155             10            0.1  oscillation  slide.displacement" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} >= {"path.png", "modes.png", "strut.mat"}
    for words in (["--set", "load"], ["--over", "load=1"], ["--plot", str(tmp_path / "x.png")]):
        assert main(["equilibrium", str(file), *words]) == 2
