"""Every example runs, and what it computes is right: by closed forms or by independent means."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
G = 9.81


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(folder))
    return folder


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str) -> Any:
    return load(name).main()


def test_every_example_is_tested_here() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    tested = {name.removeprefix("test_example_") for name in globals() if name.startswith("test_example_")}
    assert names == tested


def test_an_example_runs_as_a_program() -> None:
    command = [sys.executable, str(EXAMPLES / "pendulum.py")]
    finished = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "period from 2.0 rad" in finished.stdout


def test_the_example_of_the_readme() -> None:
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    code = readme.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    np.testing.assert_allclose(names["x"], [-np.sin(0.5) - np.sin(0.3) / 2, 0, -np.cos(0.5) - np.cos(0.3) / 2])
    assert names["many"].shape == (10_000, 2)
    assert np.isfinite([*names["a"], *names["f"]]).all()


def test_example_pendulum() -> None:
    length, mass = 0.8, 1.5
    r = run("pendulum")
    q, w, a = r["angles"], r["rates"], r["accelerations"]
    np.testing.assert_allclose(a, -1.5 * G / length * np.sin(q), rtol=1e-13, atol=1e-13)
    # the centre of mass is at -L/2 (sin, cos) and turns with it
    along, outward = np.stack([-np.cos(q), np.sin(q)], 1), np.stack([np.sin(q), np.cos(q)], 1)
    acceleration = length / 2 * (a[:, None] * along + (w**2)[:, None] * outward)
    force = mass * (acceleration + np.array([0, G]))
    np.testing.assert_allclose(r["force"][:, [0, 2]], force, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(r["force"][:, 1], 0, atol=1e-12)
    energy = mass * length**2 / 6 * w**2 - mass * G * length / 2 * np.cos(q)
    np.testing.assert_allclose(r["energy"], energy, rtol=1e-12)
    np.testing.assert_allclose(r["tip"][:, [0, 2]], -length * outward, rtol=1e-12, atol=1e-15)
    assert r["period"] == pytest.approx(r["period by formula"], rel=1e-9)
    assert r["period by formula"] == pytest.approx(1.946876868, abs=1e-8)


def test_example_arm_reactions() -> None:
    r = run("arm_reactions")
    weight, rest, motion = r["weight"], r["rest"], r["motion"]
    np.testing.assert_allclose(rest["turntable"].force, -weight, atol=1e-11)
    moment = -np.cross(r["centre of mass"], weight)  # the turntable's point is the origin
    np.testing.assert_allclose(rest["turntable"].moment, moment, atol=1e-11)
    np.testing.assert_allclose(motion["turntable"].force, r["rate of momentum less weight"], atol=1e-5)
    # at rest the elbow holds the forearm alone: 1.5 kg at 0.2 m and 0.5 kg at 0.4 m, at 0.3 - 0.9 rad about y
    np.testing.assert_allclose(r["holding"][2], -G * (1.5 * 0.2 + 0.5 * 0.4) * np.cos(-0.6), rtol=1e-12)
    np.testing.assert_allclose(rest["elbow"].moment, [0, r["holding"][2], 0], atol=1e-12)
    # without motors no joint has a moment about its own axis
    assert motion["turntable"].moment[2] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(np.linalg.norm(r["own"]), np.linalg.norm(motion["turntable"].force))


def test_example_satellite() -> None:
    r = run("satellite")
    coarse, fine = r["drifts"]
    scale = np.abs(r["before"].angular).max()
    assert fine < 1e-7 * scale
    assert 12 < coarse / fine < 20  # fourth order: half the step, a sixteenth of the error
    assert r["turned"] > 0.1
    assert np.linalg.norm(r["q"][:4]) == pytest.approx(1, abs=1e-14)


def test_example_driven_crank() -> None:
    r = run("driven_crank")
    assert r["work"] == pytest.approx(r["change of energy"], abs=1e-7)
    # at the start both hang still: the motor holds the crank's weight at 0.1 m and the rod's at 0.2 m
    assert r["torques"][0] == pytest.approx(-G * (0.5 * 0.1 + 1.2 * 0.2), rel=1e-12)
    # any state: the driving torque is what inverse dynamics asks for at the motor, and the pin has none
    system, rng = r["system"], np.random.default_rng(3)
    q, v = rng.uniform(-3, 3, 2), rng.uniform(-5, 5, 2)
    a = system.forward_dynamics(q, v, a={"motor": 7.0})
    assert a[0] == 7.0
    efforts = system.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(efforts, system.driving_forces(q, v, a={"motor": 7.0}), atol=1e-12)
    assert efforts[1] == pytest.approx(0, abs=1e-12)


def test_example_payload_sweep(cache: Path) -> None:
    module = load("payload_sweep")
    r = module.main()
    payloads, reaches = r["payloads"], r["reaches"]
    np.testing.assert_allclose(r["torque"], G * reaches * (payloads + 20.0), rtol=1e-12)
    limit = 4000.0 / (G * reaches[0]) - 20.0  # the exact payload; the sweep goes in steps of 5 kg
    assert np.all((limit - 5.0 <= r["holds"]) & (r["holds"] <= limit))
    # a rod that is let go: 3 g / 2 L; with a payload: (M/2 + m) g / ((M/3 + m) L)
    assert r["light"] == pytest.approx(-1.5 * G / 3.0, rel=1e-12)
    assert r["heavy"] == pytest.approx(-G * 520 / (3 * (40 / 3 + 500)), rel=1e-12)
    folded = r["folded"].forward_dynamics(np.zeros(1), np.zeros(1))
    np.testing.assert_allclose(folded, r["system"].forward_dynamics(np.zeros(1), np.zeros(1)), rtol=1e-14)
    # a crane declared with another payload finds everything compiled
    before = sorted(path.name for path in cache.rglob("*.wt"))
    other = module.describe(payload=500.0).build()
    assert other.forward_dynamics(np.zeros(1), np.zeros(1))[0] == pytest.approx(r["heavy"], rel=1e-14)
    assert sorted(path.name for path in cache.rglob("*.wt")) == before


def test_example_workspace() -> None:
    r = run("workspace")
    assert r["points"].shape == (20_000, 3)
    reach = 0.45 + 0.40 + 0.12
    assert r["distance"].max() <= reach + 1e-12
    assert r["distance"].max() > 0.95 * reach
    # the tool by hand: the elbow's point, the wrist's point, and a tool that bends by two angles
    q1, q2, q3, q4, q5, _ = r["q"].T
    elbow_to_tool = np.stack(
        [0.40 + 0.12 * np.cos(q5), 0.12 * np.sin(q4) * np.sin(q5), -0.12 * np.cos(q4) * np.sin(q5)], 1
    )
    x = 0.45 * np.cos(q2) + elbow_to_tool[:, 0] * np.cos(q2 + q3) + elbow_to_tool[:, 2] * np.sin(q2 + q3)
    z = -0.45 * np.sin(q2) - elbow_to_tool[:, 0] * np.sin(q2 + q3) + elbow_to_tool[:, 2] * np.cos(q2 + q3)
    y = elbow_to_tool[:, 1]
    by_hand = np.stack([x * np.cos(q1) - y * np.sin(q1), x * np.sin(q1) + y * np.cos(q1), z], 1)
    np.testing.assert_allclose(r["points"], by_hand, atol=1e-14)
    # the Jacobian against central differences, on a few states
    q, h = r["q"][:20], 1e-6
    for j in range(6):
        step = h * np.eye(6)[j]
        system = r["system"]
        slope = (system.pose(q + step, "tool") - system.pose(q - step, "tool"))[:, :3, 3] / (2 * h)
        np.testing.assert_allclose(r["J"][:20, :, j], slope, atol=1e-9)


def test_example_static_load() -> None:
    r = run("static_load")
    np.testing.assert_allclose(r["efforts"], r["by virtual work"], rtol=1e-12, atol=1e-10)
    assert np.abs(r["acceleration"]).max() < 1e-12
    weight = np.array([0, 0, -G * (300 + 120 + 25)])
    load = r["load"][3:]
    np.testing.assert_allclose(r["foot"].force, -weight - load, atol=1e-10)
    moment = -np.cross(r["centre of mass"], weight) - np.cross(r["hook"], load)
    np.testing.assert_allclose(r["foot"].moment, moment, atol=1e-9)


def test_example_every_joint() -> None:
    r = run("every_joint")
    kinds = {use.joint.kind for use in r["system"].description.joints}
    one_freedom, more = (
        {"revolute", "prismatic", "screw"},
        {"cylindrical", "universal", "spherical", "planar"},
    )
    assert kinds == one_freedom | more | {"fixed", "free"}
    errors = dict(r["errors"])
    assert errors.pop("power = rate of energy") < 1e-6
    assert max(errors.values()) < 1e-11 * max(1.0, r["scale"])
    assert r["lift"] == pytest.approx(0.02, rel=1e-12)


def test_example_export(tmp_path: Path) -> None:
    r = run("export")
    system, q = r["system"], r["q"]
    np.testing.assert_allclose(r["tool"][[0, 2]], (0.7, 0.35), atol=1e-7)
    # no posture on a fine grid of the one freedom that the target leaves is easier
    l1, l2, l3 = 0.5, 0.4, 0.3
    best = np.inf
    for angle in np.linspace(-np.pi, np.pi, 20_001):  # of the last link, in the ground frame
        x, z = 0.7 - l3 * np.cos(angle), 0.35 - l3 * np.sin(angle)
        c = (x * x + z * z - l1 * l1 - l2 * l2) / (2 * l1 * l2)
        if abs(c) > 1:
            continue
        for bend in (np.arccos(c), -np.arccos(c)):
            first = np.arctan2(z, x) - np.arctan2(l2 * np.sin(bend), l1 + l2 * np.cos(bend))
            x1, x2, x3 = l1 * np.cos(first), l2 * np.cos(first + bend), l3 * np.cos(angle)
            third = G * 2.0 * x3 / 2
            second = G * (3.0 * x2 / 2 + 2.0 * (x2 + x3 / 2))
            whole = G * (4.0 * x1 / 2 + 3.0 * (x1 + x2 / 2) + 2.0 * (x1 + x2 + x3 / 2))
            best = min(best, third**2 + second**2 + whole**2)
    assert np.sum(r["torques"] ** 2) <= best * (1 + 1e-6)
    # the C source, compiled and called, if there is a compiler
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert "forward_dynamics" in r["source"]
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "fd.c", tmp_path / "fd.so"
    source.write_text(r["source"])
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-lm"], check=True)
    function = ctypes.CDLL(str(library)).forward_dynamics
    arrays = [q, np.array([0.3, -0.2, 0.1]), np.array([1.0, 2.0, 3.0])]
    out, work = np.empty(3), np.empty(10_000)
    pointer = ctypes.c_void_p
    inputs = (pointer * 3)(*(x.ctypes.data for x in arrays))
    outputs = (pointer * 1)(out.ctypes.data)
    assert function(inputs, outputs, None, pointer(work.ctypes.data), 0) == 0
    np.testing.assert_allclose(out, system.forward_dynamics(*arrays), rtol=1e-11)


def test_example_by_address() -> None:
    r = run("by_address")
    np.testing.assert_array_equal(r["by address"], r["by call"])
    # two equal uniform rods, from the textbook's equations with absolute angles a and b
    (q1, q2), (w1, w2) = r["q"], r["v"]
    a, b, u, v = q1, q1 + q2, w1, w1 + w2
    M = np.array([[4 / 3, np.cos(b - a) / 2], [np.cos(b - a) / 2, 1 / 3]])
    right = [
        np.sin(b - a) / 2 * v**2 - 1.5 * G * np.sin(a),
        -np.sin(b - a) / 2 * u**2 - 0.5 * G * np.sin(b),
    ]
    absolute = np.linalg.solve(M, right)
    np.testing.assert_allclose(r["by address"], [absolute[0], absolute[1] - absolute[0]], rtol=1e-13)
