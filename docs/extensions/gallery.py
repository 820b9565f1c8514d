"""The gallery: examples as pages, each with the picture of its mechanism and the diagrams that it draws.

An example's docstring is prose; its words before the first colon are the title of the page. While an example runs, the
systems that it builds are recorded, and the one with the most bodies is drawn, as in `docs/pictures/make_gallery.py`.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

from extensions.docstrings import restructured
from extensions.pages import DOCS, ROOT, write
from extensions.reference import Links

sys.path.insert(0, str(DOCS / "pictures"))
from example_recorder import Recorder

EXAMPLES = ROOT / "examples"

HEAD = """Gallery
=======

Every example is a program in the folder ``examples``; the pages show what it prints and draws.

"""

_recorder = Recorder()
_drawn: set[int] = set()
_staged = ROOT / "build" / "examples"


def setup(app: Sphinx) -> dict[str, bool]:
    """Name the small pictures of the gallery's first page."""
    app.connect("doctree-read", _name_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _name_pictures(app: Sphinx, tree: nodes.document) -> None:
    for picture in tree.findall(nodes.image):
        if not picture.get("alt") and "sphx_glr_" in picture["uri"]:
            name = Path(picture["uri"]).stem.removeprefix("sphx_glr_").removesuffix("_thumb")
            picture["alt"] = f"the mechanism of {name.replace('_', ' ')}"


def stage() -> str:
    """Copy the examples into a folder, in the form that the gallery takes, and return its path."""
    folder = _staged
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for source in EXAMPLES.glob("*.py"):
        write(folder / source.name, titled(source))
    write(folder / "GALLERY_HEADER.rst", HEAD)
    return str(folder)


def titled(source: Path) -> str:
    """Return an example with a title in its docstring, and its thumbnail."""
    text = source.read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text), clean=False) or source.stem
    first, _, rest = said.partition("\n")
    title, colon, lead = first.partition(":")
    title = title.rstrip(".")
    lead = lead.strip()
    lead = f"{lead[:1].upper()}{lead[1:]}\n\n" if colon else ""
    prose = restructured(f"{lead}{inspect.cleandoc(rest)}", Links())
    page = f"{title}\n{'=' * len(title)}\n\n{prose}\n".replace("\\", "\\\\")
    thumbnail = f"# sphinx_gallery_thumbnail_path = 'pictures/examples/{source.stem}.png'\n"
    return text.replace(said, page, 1) + thumbnail


def begin(config: dict[str, Any], name: str) -> None:
    """Record the systems of the next example."""
    _recorder.forget()
    _recorder.install()
    _drawn.clear()
    builtins.__file__ = str(_staged / Path(name or "").name)  # type: ignore[attr-defined]  # examples find files beside them


def draw(block: Any, variables: dict[str, Any], config: dict[str, Any]) -> str:
    """Return the pictures of one block of an example: its mechanism, and diagrams by Matplotlib."""
    shown, q = _recorder.shown()
    text = ""
    if shown is not None and id(shown) not in _drawn:
        _drawn.add(id(shown))
        path = Path(next(variables["image_path_iterator"]))
        shown.show(q, path, opened=False)
        title = f"the mechanism of {Path(variables['src_file']).stem.replace('_', ' ')}"
        text = figure_rst([str(path)], config["src_dir"], title)
    diagram = _diagram(Path(variables["src_file"]))
    if diagram.exists():
        path = Path(next(variables["image_path_iterator"]))
        diagram.replace(path)
        text += figure_rst([str(path)], config["src_dir"], f"the diagram of {diagram.stem.replace('_', ' ')}")
    return text + str(matplotlib_scraper(block, variables, config))


def arguments(config: dict[str, Any], variables: dict[str, Any]) -> list[str]:
    """Return the arguments by which an example draws its diagram, if it has any."""
    source = Path(variables["src_file"])
    text = source.read_text(encoding="utf-8")
    if '"--plot" in sys.argv' in text:
        return ["--plot"]
    return [str(_diagram(source))] if "main(*sys.argv[1:2])" in text else []


def _diagram(source: Path) -> Path:
    return source.with_name(f"{source.stem}_diagram.png")
