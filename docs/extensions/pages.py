"""Pages that live outside `docs/`, and links between pages as they are in the repository.

A link in a page leads to a file of the repository, so that it works wherever the repository is looked at. On the site,
examples are pages of the gallery and three files of the repository are pages of their own; other files that are
linked to can be downloaded.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent

BORROWED = {
    "CONTRIBUTING.md": "developers/contributing.md",
    "CHANGELOG.md": "developers/changelog.md",
    "benchmarks/README.md": "developers/benchmarks.md",
}
"""Files of the repository that become pages, and where."""

MOVED = {**BORROWED, "docs/gallery.md": "gallery/index.rst"}
_LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the borrowed pages before anything is read, and turn links around in all pages as they are read."""
    app.connect("builder-inited", _borrow)
    app.connect("source-read", _turn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _borrow(app: Sphinx) -> None:
    source = Path(app.srcdir)
    for name, page in BORROWED.items():
        write(source / page, _with_links_moved((ROOT / name).read_text(encoding="utf-8"), ROOT / name, DOCS / page))


def _turn(app: Sphinx, name: str, content: list[str]) -> None:
    page = DOCS / f"{name}.md"
    if page.suffix == ".md" and page.exists() and f"{name}.md" not in BORROWED.values():
        content[0] = _with_links_moved(content[0], page, page)


def _with_links_moved(text: str, page: Path, shown: Path) -> str:
    return _LINK.sub(lambda link: _moved(link, page, shown), text)


def _moved(link: re.Match[str], page: Path, shown: Path) -> str:
    """Return a link of a page of the repository as it has to be on the site, where the page is shown elsewhere."""
    target = Path(os.path.normpath(page.parent / link[1]))
    if not target.is_relative_to(ROOT) or not target.exists():
        return link[0]
    inside = target.relative_to(ROOT).as_posix()
    if inside in MOVED:
        target = DOCS / MOVED[inside]
    elif target.parent == ROOT / "examples" and target.suffix == ".py":
        target = DOCS / "gallery" / f"{target.stem}.rst"
    return f"]({os.path.relpath(target, shown.parent)}{link[2] or ''})"


def write(path: Path, text: str) -> None:
    """Write a page, unless it is there already: Sphinx reads again only pages that have changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
