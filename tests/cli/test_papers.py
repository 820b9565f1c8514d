"""`whippletree papers`: what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from whippletree.analysis import papers
from whippletree.cli import main


def test_tables_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = (papers.kang_yoon_savings, papers.nikravesh_absolute, papers.not_yet)
    monkeypatch.setattr(papers, "REPORTS", chosen)
    assert main(["papers", "--counts"]) == 0
    said = capsys.readouterr().out
    assert ">= 108  108" in said
    assert "352 / 75 = 4.7" in said
    assert "(1 0 0 0), (0 1 -1 1)  (1 0 0 0), (0 1 -1 1)" in said
    assert "2 of 5 rows            2 of 5 rows" in said


@pytest.mark.deep
def test_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "--counts", "--plot", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for title in ("table 5", "figure 6", "figure 7", "table 8.3", "table 8.4", "table 8.5"):
        assert title in said
    assert "times)" not in said  # no curve crosses twice
    assert len(list(tmp_path.glob("*.png"))) == 3
