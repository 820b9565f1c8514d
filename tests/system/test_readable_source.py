"""Source that a person can read gives what the function gives, in both languages."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import StateError
from whippletree.system.example_systems import four_bar

JOINTS = ("base", "shoulder", "upper", "elbow", "fore", "wrist", "flange")


def arm() -> wt.System:
    """Seven hinges, along z and y in turn."""
    m = wt.Mechanism("arm", gravity=(0.0, 0.0, -9.81))
    before = m.ground
    for k, name in enumerate(JOINTS):
        link = m.body(f"link {name}", wt.box((0.1, 0.12, 0.3), mass=3.0 - 0.3 * k, at=(0.02, 0.01 * k, 0.15)))
        m.revolute(name, before, link, at=(0.0, 0.0, 0.3 if k else 0.0), axis="zy"[k % 2])
        before = link
    return m.build()


def by_python(source: str, name: str, given: list[np.ndarray]) -> np.ndarray:
    names: dict[str, object] = {}
    exec(source, names)
    return np.asarray(names[name](*given))  # type: ignore[operator]


def by_c(source: str, name: str, given: list[np.ndarray], size: int, folder: Path) -> np.ndarray:
    (folder / "f.c").write_text(source)
    library = folder / f"{name}.so"
    options = ["-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["gcc", *options, "-o", str(library), str(folder / "f.c"), "-lm"], check=True)
    result, pointer = np.zeros(size), ctypes.POINTER(ctypes.c_double)
    columns = [np.ascontiguousarray(one) for one in (*given, result)]
    getattr(ctypes.CDLL(str(library)), name)(*(one.ctypes.data_as(pointer) for one in columns))
    return columns[-1]


def inputs(function: ca.Function) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    return [rng.normal(size=function.numel_in(k)) for k in range(function.n_in())]


@pytest.mark.rest
@pytest.mark.parametrize(
    ("name", "formulation", "most"),
    [("inverse_dynamics", "auto", 200), ("mass_matrix", "auto", 200), ("forward_dynamics", "articulated", 350)],
)
def test_an_arm(name: str, formulation: str, most: int, tmp_path: Path) -> None:
    s = arm()
    function = s.function(name, formulation=formulation)
    given = inputs(function)
    expected = np.array(function(*given)).ravel()
    least = 1e-14 * np.abs(expected).max()
    python, c = (s.readable_source(name, language, formulation=formulation) for language in ("python", "c"))
    assert max(len(source.splitlines()) for source in (python, c)) <= most
    assert max(map(len, [*python.splitlines(), *c.splitlines()])) <= 130
    assert np.abs(by_python(python, name, given) - expected).max() <= least
    assert np.abs(by_c(c, name, given, len(expected), tmp_path) - expected).max() <= least
    for joint in JOINTS[1:]:
        assert f"_{joint}" in python


def test_a_loop() -> None:
    """Closures have no names of their own, but the bodies' quantities have."""
    s = four_bar()
    function = s.function("forward_dynamics", formulation="joint_multipliers")
    given = [s.q0, np.ones(s.nv), np.ones(s.nv)]
    expected = np.array(function(*given)).ravel()
    source = s.readable_source("forward_dynamics", formulation="joint_multipliers")
    assert np.abs(by_python(source, "forward_dynamics", given) - expected).max() <= 1e-14 * np.abs(expected).max()


def test_other_languages_are_refused() -> None:
    with pytest.raises(StateError, match='there is no language "pyton"; did you mean "python"'):
        four_bar().readable_source("mass_matrix", "pyton")
