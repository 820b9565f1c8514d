"""Model files of others, as many as are installed, beside the libraries that own their formats.

`benchmarks/robot_files.py` prints the same as a table; the packages are those of the extra `robots`, and folders that
WHIPPLETREE_MODELS names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.examined_files import SECONDS, Finding, Source, examined, format_of, sources

MODELS = Path(__file__).parent / "models"
TWINS = 50
"""Of so many files that a program has written alike, one is read: pybullet has a thousand bodies of random form."""


def chosen() -> list[Source]:
    alike = [one for one in sources() if "random_urdfs" in one.label]
    return [one for one in sources() if one not in alike or alike.index(one) % TWINS == 0]


def judge(found: list[Finding]) -> None:
    """No raw error, none beyond its time; what is compared agrees or its report says why; nearly all are built."""
    counted = [one for one in found if not one.aside]
    assert not [one for one in counted if one.raw]
    assert not [one.path for one in counted if one.seconds > SECONDS]
    assert not [one for one in counted if one.built and not one.agrees and not one.named]
    assert sum(one.built for one in counted) >= 0.97 * len(counted), [one.refused for one in counted if not one.built]


@pytest.mark.deep
def test_files_of_packages_beside_their_owners() -> None:
    found = [*examined(chosen())]
    judge(found)
    assert sum(bool(one.differences) for one in found) > 50  # example-robot-data and MuJoCo are always there


def test_some_of_the_files_written_here_beside_their_owners() -> None:
    pytest.importorskip("pinocchio")
    names = ("looks.urdf", "gripper.urdf", "rocker.xml", "servo.xml", "included.xml", "six_axes.usda", "ring.sdf")
    files = [Source("here", name, MODELS / name, format_of(MODELS / name)) for name in names]
    found = {Path(one.path).name: one for one in examined(files)}
    judge([one for name, one in found.items() if name != "ring.sdf"])
    assert found["ring.sdf"].refused and not found["ring.sdf"].built
    compared = {name for name, one in found.items() if one.differences}
    assert {"gripper.urdf", "rocker.xml", "servo.xml", "included.xml"} <= compared
