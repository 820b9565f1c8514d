"""Links in the pages of the project lead somewhere: to files and pictures that are there, and to headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_MADE = tuple(line for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split() if line.startswith("docs/"))


def made(page: Path) -> bool:
    """Whether `make docs` makes a page: such pages are not in the repository."""
    return page.resolve().relative_to(ROOT).as_posix().startswith(_MADE)


_ALL = {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")}
PAGES = sorted(page for page in _ALL if not made(page))
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings are linked to."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    lost = []
    for link in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if target.resolve().is_relative_to(ROOT) and made(target):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert not lost


@pytest.mark.parametrize("section", ["start", "how_to", "theory", "developers"])
def test_every_page_is_listed_by_its_section(section: str) -> None:
    """The list at the end of a section's index.md is its part of the site's navigation."""
    folder = ROOT / "docs" / section
    listed = (folder / "index.md").read_text(encoding="utf-8").split("```{toctree}")[1].split("```")[0].split()
    borrowed = {"contributing", "changelog", "benchmarks"}
    pages = {page.stem for page in folder.glob("*.md")} - {"index"} - borrowed
    assert pages - set(listed) == set(), f"add them to docs/{section}/index.md"
