"""A picture of every example's mechanism, and the page that shows them: docs/gallery.md.

    python docs/pictures/make_gallery.py [name ...]

An example is run as it is. Of the systems that it builds the last is shown that moves the most bodies, in the middle of
its last run, or where it is assembled if it does not run. Needs the extra `plot`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

from example_recorder import Recorder
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures" / "examples"
PAGE = ROOT / "docs" / "gallery.md"
SIZE, COLORS, LARGEST = (480, 320), 64, 40_000
A_ROW = 3

HEAD = """# Every example in a picture

Made by `python docs/pictures/make_gallery.py`, which runs the examples and draws what they build.

![Robots from files](pictures/robots.png)

Above, robots from URDF files, drawn by their meshes (`python docs/pictures/make_pictures.py robots`).

"""


def draw(name: str) -> None:
    """Run an example and write its picture; this is done in a process of its own."""
    recorder = Recorder()
    recorder.install()
    with contextlib.redirect_stdout(io.StringIO()):
        load(name).main()
    shown, q = recorder.shown()
    assert shown is not None, name
    path = FOLDER / f"{name}.png"
    shown.show(q, path, opened=False)
    Image.open(path).convert("RGB").resize(SIZE, Image.Resampling.LANCZOS).quantize(COLORS).save(path, optimize=True)
    assert path.stat().st_size < LARGEST, (name, path.stat().st_size)


def load(name: str) -> Any:
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def first_line(name: str) -> str:
    """Return what an example says of itself first."""
    text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    return text.removeprefix('"""').splitlines()[0].rstrip(".")


def write_page(names: list[str]) -> None:
    """Write the page with all pictures."""
    cells = [f"[![{name}](pictures/examples/{name}.png)](../examples/{name}.py) {first_line(name)}" for name in names]
    cells += [""] * (-len(cells) % A_ROW)
    rows = [" | ".join(cells[i : i + A_ROW]) for i in range(0, len(cells), A_ROW)]
    lines = ["| " * A_ROW + "|", "|---" * A_ROW + "|", *(f"| {row} |" for row in rows)]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def main(asked: list[str]) -> None:
    """Draw the examples that are asked for, or all, and write the page."""
    names = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
    FOLDER.mkdir(exist_ok=True)
    for name in asked or names:
        done = subprocess.run([sys.executable, __file__, "--draw", name], check=False)
        print(name, "drawn" if done.returncode == 0 else "FAILED", flush=True)
    write_page([name for name in names if (FOLDER / f"{name}.png").exists()])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--draw"]:
        draw(sys.argv[2])
    else:
        main(sys.argv[1:])
