"""The README and the first steps: their code runs, prints what they say, and computes what mechanics says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def code_of(page: str, index: int) -> str:
    return page.split("```python\n")[index + 1].split("```", maxsplit=1)[0]


@pytest.fixture
def pendulum_and_loop() -> list[str]:
    page = (ROOT / "docs" / "start" / "first_steps.md").read_text(encoding="utf-8")
    return [code_of(page, index) for index in range(3)]


def test_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    exec(code_of(README, 0), {})
    assert capsys.readouterr().out == README.split("```text\n")[1].split("```")[0]


def test_the_readme_fits_a_screen() -> None:
    assert len(README.splitlines()) <= 120


def test_figures_of_speed_name_a_program_and_its_section() -> None:
    commands = re.findall(r"\| `(\w+\.py)([^`]*)` \|$", README, re.MULTILINE)
    assert len(commands) == 10
    for program, rest in commands:
        text = (ROOT / "benchmarks" / program).read_text(encoding="utf-8")
        assert all(f'"{word}"' in text for word in rest.split()), program


def test_the_double_pendulum_of_the_first_steps(pendulum_and_loop: list[str]) -> None:
    names: dict[str, Any] = {}
    exec(pendulum_and_loop[0], names)
    np.testing.assert_allclose(names["x"], [-np.sin(0.5) - np.sin(0.3) / 2, 0, -np.cos(0.5) - np.cos(0.3) / 2])
    assert names["many"].shape == (10_000, 2)
    assert np.isfinite([*names["a"], *names["f"]]).all()


def test_the_loop_of_the_first_steps_and_its_run(
    pendulum_and_loop: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {"wt": wt}
    exec(pendulum_and_loop[1], names)
    s, told = names["s"], capsys.readouterr().out
    assert "mobility 1; Gruebler's count -2; 3 redundant equations:" in told
    assert "1 joint is cut, with 5 equations:" in told
    assert names["c"].unique.tolist() == [False, True, False, True, False, True]
    # virtual work: the torque that holds the linkage is the slope of its potential energy
    q, h = s.q0, 1e-5
    ahead, behind = (s.energy(s.assemble([q[0] + e, *q[1:]], hold=["A"]), s.v0).total for e in (h, -h))
    assert names["motor"][0] == pytest.approx((ahead - behind) / (2 * h), rel=1e-7)
    # let go, it accelerates the way that torque held it from, and the faster the less inertia there is
    v = s.consistent_velocities(q, {"A": 1.0})
    assert names["a"][0] == pytest.approx(-names["motor"][0] / (2 * s.energy(q, v).kinetic), rel=1e-12)

    monkeypatch.chdir(tmp_path)
    exec(pendulum_and_loop[2], names)
    assert "energy error" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"run.nc", "run.csv"}
