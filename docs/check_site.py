"""Checks the site that `make docs` has built, page by page, in a headless Chromium.

    python docs/check_site.py [folder] [--static] [--pictures FOLDER] [--only PART]

From the files: every link and anchor leads somewhere, every picture has an alternative text, nothing is loaded from
outside, no two things of a page have the same anchor. In the browser (`make browser` installs one): no page writes an
error to its console or asks for anything outside; in light and in dark its text stands out from its background; on a
narrow screen nothing is wider than the screen. `--pictures` keeps a picture of each page that is looked at.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urlsplit

ROOT = Path(__file__).resolve().parents[1]
if TYPE_CHECKING:
    from support.browser import Browser

WIDE, NARROW = (1280, 900), (390, 844)
"""Width and height of a screen and of a telephone, in pixels."""

LEAST_CONTRAST = 3.0
"""Of text to its background, as WCAG 2 counts it for large text; code is coloured."""

CONTRAST = """
(() => {
  const channels = color => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const color = channels(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] > 0.5) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("article :is(p, li, td, a, code), nav a")) {
    const box = element.getBoundingClientRect();
    if (!box.width || !element.textContent.trim() || element.closest(".headerlink")) continue;
    const [a, b] = [light(channels(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < LEAST) poor.push(`${element.tagName} "${element.textContent.trim().slice(0, 30)}" ${ratio.toFixed(1)}`);
    if (poor.length > 2) break;
  }
  return poor;
})()
""".replace("LEAST", str(LEAST_CONTRAST))
"""An expression: texts of a page that hardly stand out from their backgrounds."""


@dataclass
class Page:
    """The parts of a page that can be wrong."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    without_text: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.page.anchors.append(given["id"])
        if tag == "a" and given.get("href"):
            self.page.links.append(given["href"])
        if tag == "link" and given.get("rel") not in ("canonical", "index", "search", "next", "prev"):
            self.page.loaded.append(given.get("href", ""))
        if tag in ("img", "script", "source", "iframe", "video") and given.get("src"):
            self.page.loaded.append(given["src"])
        if tag == "img" and not given.get("alt", "").strip():
            self.page.without_text.append(given.get("src", ""))


def read(path: Path) -> Page:
    """Return the parts of a page."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.page


def check_files(site: Path) -> Iterator[str]:
    """Yield the faults that the files show by themselves."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    anchors = {path: set(page.anchors) for path, page in pages.items()}
    for path, page in pages.items():
        name = path.relative_to(site)
        for link in (*page.links, *page.loaded):
            yield from (f"{name}: {fault}" for fault in _lost(link, path, site, anchors))
        yield from (f"{name}: loads {one} from outside" for one in page.loaded if urlsplit(one).netloc)
        yield from (f"{name}: picture {one} without alternative text" for one in page.without_text)
        yield from (f"{name}: {n} things called #{one}" for one, n in Counter(page.anchors).items() if n > 1)


def _lost(link: str, path: Path, site: Path, anchors: dict[Path, set[str]]) -> Iterator[str]:
    where, anchor = urldefrag(link)
    parts = urlsplit(where)
    if parts.scheme or parts.netloc:
        return
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site.resolve()) or not target.exists():
        yield f"link to {link}, which is not there"
    elif anchor and target.suffix == ".html" and unquote(anchor) not in anchors.get(target, {""}):
        yield f"link to {link}, where nothing is called so"


def check_pages(site: Path, pictures: Path | None, only: str) -> Iterator[str]:
    """Yield the faults that the pages show in a browser."""
    from support.browser import Browser, find_chromium

    program = find_chromium()
    if program is None:
        yield "there is no Chromium: `make browser` installs one"
        return
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}/"
        with Browser(program, width=WIDE[0], height=WIDE[1]) as browser:
            for path in sorted(site.rglob("*.html")):
                name = path.relative_to(site).as_posix()
                if only in name and "_static" not in path.parts:
                    yield from (f"{name}: {fault}" for fault in _faults(browser, home, name, pictures))
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _faults(browser: Browser, home: str, name: str, pictures: Path | None) -> Iterator[str]:
    _show(browser, WIDE, dark=False)
    browser.open(home + name, "document.readyState === 'complete'")
    for dark in (False, True):
        _show(browser, WIDE, dark=dark)
        browser.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'", 5.0)
        yield from (f"hard to read {'in the dark' if dark else ''}: {one}" for one in browser.evaluate(CONTRAST))
        _keep(browser, pictures, name, "dark" if dark else "light")
    _show(browser, NARROW, dark=False)
    wide = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        yield f"{wide} pixels wider than a narrow screen"
    _keep(browser, pictures, name, "narrow")
    yield from (f"console: {line}" for line in browser.console)
    outside = {url for url in browser.requests if not url.startswith((home, "data:", "blob:"))}
    yield from (f"asks for {url}" for url in sorted(outside))


def _show(browser: Browser, size: tuple[int, int], *, dark: bool) -> None:
    width, height = size
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    browser.prefer(dark=dark)


def _keep(browser: Browser, pictures: Path | None, name: str, kind: str) -> None:
    if pictures is not None:
        from PIL import Image

        pictures.mkdir(parents=True, exist_ok=True)
        Image.fromarray(browser.picture()).save(pictures / f"{name.replace('/', '.').removesuffix('.html')}.{kind}.png")


def main() -> int:
    """Check, print the faults, and return 1 if there are any."""
    parser = argparse.ArgumentParser(description="Check the site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--static", action="store_true", help="look at the files only, without a browser")
    parser.add_argument("--pictures", type=Path, help="keep pictures of the pages in this folder")
    parser.add_argument("--only", default="", help="look in the browser only at pages with this in their names")
    given = parser.parse_args()
    site = given.folder.resolve()
    if not (site / "index.html").exists():
        print(f"{site} holds no site: make docs")
        return 1
    sys.path.insert(0, str(ROOT / "tests"))
    faults = list(check_files(site))
    if not given.static:
        faults += check_pages(site, given.pictures, given.only)
    print("\n".join(faults))
    print(f"{len(list(site.rglob('*.html')))} pages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
