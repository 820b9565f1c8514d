"""The core of the tests is whole: every public call, element, formulation, integrator, reader and example is in it.

A core run is watched, and what it enters is compared with what there is.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

import public_names
from support.entered import FOLDER, Entered
from whippletree.elements import closures, forces, joints
from whippletree.files import formats
from whippletree.formulations.methods import registry
from whippletree.simulate.steppers import method_names

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def entered(tmp_path_factory: pytest.TempPathFactory) -> Entered:
    folder = tmp_path_factory.mktemp("entered")
    command = [sys.executable, "-m", "pytest", "-m", "core", "-p", "support.entered", "-p", "no:cacheprovider"]
    paths = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, FOLDER: str(folder), "PYTHONPATH": paths}
    finished = subprocess.run(
        [*command, "-n", "2"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout[-4000:]
    return Entered(folder)


def public_functions() -> Iterator[tuple[str, FunctionType]]:
    """The functions that packages export, and those behind the public names of all public classes."""
    for package in public_names.PACKAGES:
        for name, value in public_names.exports(package):
            inner = inspect.unwrap(value) if callable(value) else value
            if isinstance(inner, FunctionType):
                yield f"{package}.{name}", inner
    for name, cls in public_names.public_classes().items():
        for one in public_names.names_of(cls):
            function = public_names.function_behind(cls, one)
            if function is not None and not getattr(function, "__isabstractmethod__", False):
                yield f"{name}.{one}", function


def own_functions(package: object, base: type) -> Iterator[tuple[str, FunctionType]]:
    """What the types of elements that a package exports say about themselves."""
    for name in package.__all__:
        cls = getattr(package, name)
        if isinstance(cls, type) and issubclass(cls, base) and cls is not base and not inspect.isabstract(cls):
            for key, member in vars(cls).items():
                inner = getattr(member, "fget", member)
                if isinstance(inner, FunctionType) and not key.startswith("_"):
                    yield f"{name}.{key}", inner


def test_every_public_call(entered: Entered) -> None:
    assert entered.without(public_functions()) == []


@pytest.mark.parametrize(
    ("package", "base"),
    [(joints, joints.Joint), (closures, closures.Closure), (forces, forces.Force)],
    ids=["joints", "closures", "forces"],
)
def test_every_element(entered: Entered, package: object, base: type) -> None:
    assert entered.without(own_functions(package, base)) == []


def test_every_formulation(entered: Entered) -> None:
    there = {one.text for one in (*registry.tree_formulations(), *registry.loop_formulations())}
    assert there - entered.asked_for("formulation") == set()


def test_every_integrator(entered: Entered) -> None:
    assert set(method_names()) - entered.asked_for("integrator") == set()


def test_every_format(entered: Entered) -> None:
    declared = [getattr(formats, name) for name in formats.__all__]
    declared = [one for one in declared if isinstance(one, formats.FileFormat)]
    there = [(one.name, one.read) for one in declared]
    there += [(f"{one.name}, written", one.write) for one in declared if one.write is not None]
    assert entered.without(there) == []


def test_every_example(entered: Entered) -> None:
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    found = {Path(file).stem for file, name in entered.names() if name == "main"}
    assert names - found == set()
