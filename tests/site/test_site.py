"""The site is built without a warning, and its links lead somewhere; every public name has its entry in the reference.

The examples do not run for it, which `make docs` lets them do.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = ("gallery", "reference", "contributing.md", "changelog.md", "benchmarks.md", "__pycache__")
BORROWED = (
    "examples",
    "tools",
    "src",
    "benchmarks",
    "tests",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
)

pytestmark = pytest.mark.rest
pytest.importorskip("sphinx_gallery", reason="the site is built with the extra `docs`, which the extra `test` brings")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy of its sources."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns(*MADE))
    for name in BORROWED:
        (folder / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "site"]
    environment = os.environ | {"WHIPPLETREE_GALLERY": "no", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return folder / "site"


def anchors(site: Path) -> Iterator[str]:
    for page in (site / "reference").glob("*.html"):
        yield from re.findall(r'id="([\w.]+)"', page.read_text(encoding="utf-8"))


def public_names() -> Iterator[tuple[str, str]]:
    """The packages and classes of docs/api.txt, each with one of its names."""
    owner = ""
    for line in (ROOT / "docs" / "api.txt").read_text(encoding="utf-8").splitlines()[2:]:
        if line.startswith("  "):
            name = line.split()[0].removesuffix("()")
            yield owner, name.removeprefix(f"{owner}.")
        elif line:
            owner = line.split()[0]


def test_every_public_name_has_its_entry(site: Path) -> None:
    found = set(anchors(site))
    ends = {".".join(anchor.split(".")[-2:]) for anchor in found}
    classes = {anchor.rpartition(".")[2] for anchor in found}
    lost = [
        f"{owner}.{name}"
        for owner, name in public_names()
        if not (f"{owner}.{name}" in found if owner.startswith("whippletree") else f"{owner}.{name}" in ends)
    ]
    assert not lost
    assert {owner for owner, _ in public_names() if not owner.startswith("whippletree")} <= classes


def test_every_argument_of_what_packages_export_is_described(site: Path) -> None:
    """An argument without a text: add a line to docs/arguments.yaml, or a text below the field."""
    program = "from extensions import reference; print(*reference.undescribed(), sep='\\n')"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "docs"), str(ROOT / "src")))}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_links_anchors_and_pictures_of_the_site(site: Path) -> None:
    command = [sys.executable, ROOT / "docs" / "check_site.py", site, "--static"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_formulas_are_mathml(site: Path) -> None:
    page = (site / "theory" / "flexible_bodies.html").read_text(encoding="utf-8")
    assert page.count("<math") >= 8
    assert "\\begin" not in re.sub(r"<annotation.*?</annotation>", "", page)
