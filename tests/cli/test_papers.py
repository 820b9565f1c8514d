"""`whippletree papers`: what it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from whippletree.analysis import papers
from whippletree.analysis.papers.garcia_de_jalon import _against
from whippletree.analysis.reports import PaperTable
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


def test_tables_are_written_to_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "REPORTS", (papers.kang_yoon_savings, papers.not_yet))
    page = tmp_path / "page.md"
    assert main(["papers", "--counts", "--page", str(page)]) == 0
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert [line for line in lines if line.startswith("## ")][1] == "## Not compared"
    rows = [line for line in lines if line.startswith("| hinge")]
    assert [row.split(" | ")[1:3] for row in rows] == [[">= 42", "42"], [">= 96", "96"]]


@pytest.mark.parametrize(
    "report",
    [
        papers.kang_yoon_savings,
        papers.nikravesh_speed_up,
        papers.not_yet,
        pytest.param(papers.jalon_counts, marks=pytest.mark.deep),
        pytest.param(papers.jalon_counts_a, marks=pytest.mark.deep),
    ],
)
def test_the_page_in_the_documentation_is_what_is_printed(report: Callable[[bool], Iterator[PaperTable]]) -> None:
    """What is counted; if this fails, `make papers-page` writes the page again."""
    page = (Path(__file__).parents[2] / "docs" / "theory" / "papers_tables.md").read_text(encoding="utf-8")
    for table in report(False):
        assert table.markdown() in page, table.title


@pytest.mark.parametrize("words", [["--page", "nowhere/page.md"], ["--page", "."], ["--plot", "taken"]])
def test_places_are_checked_first(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    assert main(["papers", *words]) == 2
    said = capsys.readouterr()
    assert words[1] in said.err
    assert not said.out


def test_bars_are_shown_beside_the_figures() -> None:
    assert _against(123_456.0, 100_000) == ("100,000", "123,456", "met")
    assert _against(99_999.0, 100_000)[2] == "missed"
    assert _against(5.0, None) == ("", "5", "")


@pytest.mark.deep
def test_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "--counts", "--plot", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for title in ("table 5", "figure 6", "figure 7", "table 8.3", "table 8.4", "table 8.5"):
        assert title in said
    crossings = next(papers.nikravesh_break_even(times=False)).column("crossings")
    assert all(int(n) <= 1 for cell in crossings for n in cell.split(", "))
    assert len(list(tmp_path.glob("*.png"))) == 3
