"""Whatever is written as YAML, URDF, SDF or MJCF is read back with equal dynamics; what is not held is told before."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import whippletree as wt
from support.examined_files import PACKAGES, Source, sources
from support.sampling import rest
from support.written_back import FORMATS, Written, written_back

MODELS = Path(__file__).parent / "models"
EXAMPLES = Path(__file__).parents[2] / "examples"
CHOICES = {"speed": 10.0, "parts": 2, "closed": True, "steered": True}
"""What examples ask for that can be made in several ways."""


def files() -> list[Path]:
    """The models that are written here, those aside that are not to be read."""
    others = {"ring.sdf", "arm.urdf.xacro"}
    found = [p for p in MODELS.iterdir() if p.suffix in (".urdf", ".sdf", ".xml", ".adm", ".osim", ".usda")]
    return sorted(p for p in found if p.name not in others)


def read(path: Path) -> wt.Model:
    if path.suffix == ".usda" and importlib.util.find_spec("pxr") is None:
        pytest.skip("usd-core is not installed")
    if path.suffix == ".xml" and importlib.util.find_spec("mujoco") is None:
        pytest.skip("MuJoCo is not installed")
    return wt.read(path)


def formats() -> dict[str, str]:
    """The formats that can be read back here."""
    there = importlib.util.find_spec("mujoco") is not None
    return {name: suffix for name, suffix in FORMATS.items() if there or name != "MJCF"}


def check(found: list[Written]) -> None:
    assert {one.format: one.mechanics for one in found if not one.lacking and not one.is_equal} == {}


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_models_written_here(path: Path, tmp_path: Path) -> None:
    found = written_back(read(path), tmp_path, formats(), dynamics=False)
    check(found)
    assert not found[0].lacking  # YAML holds all of it


@pytest.mark.deep
@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_models_written_here_move_alike(path: Path, tmp_path: Path) -> None:
    check(written_back(read(path), tmp_path, formats()))


def examples() -> dict[str, Path]:
    return {p.stem: p for p in sorted(EXAMPLES.glob("*.py")) if "\ndef describe(" in p.read_text(encoding="utf-8")}


def example(name: str) -> wt.Mechanism:
    spec = importlib.util.spec_from_file_location(f"example_{name}", examples()[name])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    needed = [
        k for k, p in inspect.signature(module.describe).parameters.items() if p.default is inspect.Parameter.empty
    ]
    return module.describe(**{key: CHOICES[key] for key in needed})


@pytest.mark.parametrize("name", [*list(examples())[::4], *rest(name for k, name in enumerate(examples()) if k % 4)])
def test_examples(name: str, tmp_path: Path) -> None:
    check(written_back(wt.Model(example(name)), tmp_path, formats(), dynamics=False))


@pytest.mark.deep
@pytest.mark.parametrize("name", examples())
def test_examples_move_alike(name: str, tmp_path: Path) -> None:
    check(written_back(wt.Model(example(name)), tmp_path, formats()))


AT_MOST = 30
"""Files of each package that are written, evenly among all of them."""

LARGE = 45
"""Bodies of a model of which numbers are compared, and no accelerations: what these follow from."""

WITHOUT_NAMES = re.compile(r' ?"[^"]*"')


def chosen(package: str) -> list[Source]:
    """The files of a package; of a folder that WHIPPLETREE_MODELS names all of them."""
    found = [
        one for one in sources() if one.package == package and one.format in ("URDF", "SDF", "MJCF", "Adams", "USD")
    ]
    return found if package not in PACKAGES else found[:: max(1, -(-len(found) // AT_MOST))]


def given_folders() -> list[str]:
    return [Path(one).name for one in os.environ.get("WHIPPLETREE_MODELS", "").split(os.pathsep) if one]


@pytest.mark.deep
@pytest.mark.parametrize("package", [*PACKAGES, *given_folders()])
def test_models_of_others(package: str, tmp_path: Path) -> None:
    """Each is written and read back; MuJoCo and Pinocchio read the same files to 1e-9, where they are installed."""
    files = chosen(package)
    if not files:
        pytest.skip(f"{package} is not installed, or has no such models")
    table, off = Counter[str](), {}
    for source in files:
        try:
            model = wt.read(source.path)
            small = len(model.mechanism.describe().bodies) <= LARGE
            if small:
                model.build()
        except (wt.WhippletreeError, wt.FileError):
            table["not read or built"] += 1
            continue
        for one in written_back(model, tmp_path, formats(), states=2, dynamics=small, owners=small):
            table[f"{one.format} {'refused' if one.lacking else 'written'}"] += 1
            for what in {WITHOUT_NAMES.sub("", words) for words in one.lacking}:
                table[f"{one.format} cannot hold {what}"] += 1
            if not one.lacking and not (one.is_equal and all(x < 1e-9 for x in one.outside.values())):
                off[source.label, one.format] = {**one.mechanics, **one.outside}
    print(f"\n{package}: {len(files)} files")
    print("\n".join(f"{count:6d} {what}" for what, count in sorted(table.items())))
    assert off == {}
