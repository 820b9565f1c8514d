"""Every example runs, and what it computes is right: by closed forms or by independent means."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support import reference_problems as reference

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
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def run(name: str) -> Any:
    return load(name).main()


def test_every_example_is_tested_here() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    tested = {name.removeprefix("test_example_") for name in globals() if name.startswith("test_example_")}
    assert names == tested


def test_every_example_has_its_picture() -> None:
    """`python docs/pictures/make_gallery.py` draws those that are missing, and writes the page."""
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    pictures = EXAMPLES.parent / "docs" / "pictures" / "examples"
    page = (EXAMPLES.parent / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert {path.stem for path in pictures.glob("*.png")} == names
    assert {name for name in names if f"pictures/examples/{name}.png" in page} == names


def test_examples_take_their_arguments_as_the_gallery_gives_them() -> None:
    """`make docs` gives an example `--plot`, or the name of a picture (`arguments` of docs/extensions/gallery.py)."""
    forms = re.compile(r'"--\w+" in sys\.argv|main\(\*sys\.argv\[1:2\]\)|in sys\.argv\[1:\] if word\.isdigit\(\)')
    texts = {path.stem: forms.sub("", path.read_text(encoding="utf-8")) for path in EXAMPLES.glob("*.py")}
    assert [name for name, text in texts.items() if "argv" in text] == []


def test_an_example_runs_as_a_program() -> None:
    command = [sys.executable, str(EXAMPLES / "pendulum.py")]
    finished = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "period from 2.0 rad" in finished.stdout


def test_example_papers_matrices() -> None:
    """Nikravesh's worked example: rows and E as printed, ours with the other sign of rows."""
    found, u = run("papers_matrices"), np.sqrt(2.0)
    rows = {tuple(row) for row in np.abs(found["D*"] @ found["B"]).round(9)[:, :4]}
    assert rows == {(0, 0, 0, 0), (0, 0, round(u, 9), round(u, 9)), (0, round(u, 9), round(u, 9), 0)}
    assert found["E"][:4] == pytest.approx(np.array([[1, 0], [0, 1], [0, -1], [0, 1]]), abs=1e-12)
    assert found["apart"] < 1e-9


def test_example_spinning_top() -> None:
    """Steady precession is exact; the nodding top's energy and its momenta about both axes give where it turns."""
    found = run("spinning_top")
    assert found["sway"] < 1e-8
    assert "gimbal lock" in found["said"]
    assert found["upright"] == pytest.approx([0, 0, 0], abs=1e-12)
    I1, I3, mgl, leaning, w3 = 0.12, 0.02, G * 0.3, 0.6, found["spin"]
    p = I3 * w3  # about its own axis; about the vertical p cos(leaning), since it begins without precession

    def kinetic(theta: float) -> float:
        return p**2 * (np.cos(leaning) - np.cos(theta)) ** 2 / (2 * I1 * np.sin(theta) ** 2)

    low, high = found["nods"]
    assert low == pytest.approx(leaning, abs=1e-9)
    assert kinetic(high) == pytest.approx(mgl * (np.cos(leaning) - np.cos(high)), rel=1e-3)


def test_example_natural_coordinates() -> None:
    found = run("natural_coordinates")
    assert found["sizes"] == (30, 25)
    assert found["pendulum"] < 0.013
    assert found["ring"] < 0.0003


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


def test_example_four_bar() -> None:
    r = run("four_bar")
    system, Q, V = r["system"], r["Q"], r["V"]
    report = system.mobility
    assert (report.gruebler, report.mobility, len(report.redundant)) == (-2, 1, 3)
    # the closed form, in the complex plane of x and -z, where a turn about y is a product with exp(i angle)
    l1, l2, l3, base, speed = 1.0, 2.0, 1.5, 2.0, 4.0
    crank = np.exp(1j * Q[:, 0])
    d = base - l1 * crank
    apex = np.arccos((l2**2 + np.abs(d) ** 2 - l3**2) / (2 * l2 * np.abs(d)))
    coupler = np.exp(1j * (np.angle(d) + apex))  # of the two branches, the one that hangs lower
    rocker = (l1 * crank + l2 * coupler - base) / l3
    np.testing.assert_allclose(np.exp(1j * (Q[:, 0] + Q[:, 1])), coupler, atol=1e-12)
    np.testing.assert_allclose(np.exp(1j * Q[:, 3]), rocker, atol=1e-12)
    np.testing.assert_allclose(np.exp(1j * Q[:, :3].sum(1)), rocker, atol=1e-12)  # the cut hinge's own angle
    # rates: the sine of the angle between two links is the imaginary part of a quotient
    rate2 = speed * l1 / l2 * (crank / rocker).imag / (rocker / coupler).imag
    rate3 = speed * l1 / l3 * (crank / coupler).imag / (rocker / coupler).imag
    np.testing.assert_allclose(V[:, 0] + V[:, 1], rate2, atol=1e-11)
    np.testing.assert_allclose(V[:, 3], rate3, atol=1e-11)
    # energy: the crank's and rocker's turning, the coupler's turning and flight; gravity is along +i
    centre = 1j * (l1 * crank * speed + l2 / 2 * coupler * rate2)
    kinetic = l1**2 / 3 * speed**2 + 1.5 * l3**2 / 3 * rate3**2 + 2 * (np.abs(centre) ** 2 + l2**2 / 12 * rate2**2)
    heights = l1 * crank / 2 + 2 * (l1 * crank + l2 / 2 * coupler) + 1.5 * (base + l3 / 2 * rocker)
    kinetic, potential = kinetic / 2, -G * heights.imag
    np.testing.assert_allclose(r["energy"], kinetic + potential, atol=1e-11)

    def slope(values: np.ndarray) -> np.ndarray:
        """Differentiate a function of the crank angle over a full turn: Fourier's series is exact."""
        n = len(values)
        return np.fft.irfft(1j * np.arange(n // 2 + 1) * np.fft.rfft(values), n)

    # the motor's power is the rate of the energy, whoever shares it
    torque = slope(kinetic + potential)
    np.testing.assert_allclose(r["torques"][:, 0], torque, atol=1e-8 * np.abs(torque).max())
    assert not r["torques"][:, 1:].any()
    both = r["both"]
    power = both[:, 0] * speed + both[:, 3] * rate3
    np.testing.assert_allclose(power, torque * speed, atol=1e-7 * np.abs(torque).max())
    np.testing.assert_allclose(both[:, 0] * rate3, both[:, 3] * speed, atol=1e-9 * np.abs(torque).max())
    # let go at rest: one freedom with the inertia 2 T / rate^2
    a = r["a"]
    np.testing.assert_allclose(Q[0], r["q"], atol=1e-12)
    first = -slope(potential)[0] / (2 * kinetic[0] / speed**2)
    assert a[0] == pytest.approx(first, rel=1e-8)
    # and Newton's and Euler's laws for the coupler and the rocker by hand
    reactions = r["reactions"]
    at_b, at_c = (reactions[name].force @ np.array([1, 0, -1j]) for name in "BC")
    c, e, f = crank[0], coupler[0], rocker[0]
    alpha, beta = a[0] + a[1], a[3]
    acceleration = 1j * (l1 * c * a[0] + l2 / 2 * e * alpha)
    assert at_b - at_c + 2 * G * 1j == pytest.approx(2 * acceleration, abs=1e-10)
    assert (np.conj(l2 / 2 * e) * (-at_b - at_c)).imag == pytest.approx(2 * l2**2 / 12 * alpha, abs=1e-10)
    about_d = (np.conj(l3 * f) * at_c + np.conj(l3 / 2 * f) * 1.5 * G * 1j).imag
    assert about_d == pytest.approx(1.5 * l3**2 / 3 * beta, abs=1e-10)
    # in the plane everything is determined, out of it nothing
    for reaction in reactions.values():
        assert reaction.unique.tolist() == [False, True, False, True, False, True]
    assert reactions.shared == ("A", "B", "C", "D")


def test_example_excavator() -> None:
    example = load("excavator")
    found = example.main()
    run, system = found["run"], found["system"]
    assert run.certificate.ok
    assert found["off"].max() < 0.04  # the soil pushes with several tonnes
    assert found["off"][-1] < 1e-3  # and is gone in the end
    assert (system.nv, len(system.plan.cuts), system.mobility.mobility) == (12, 3, 3)
    # the teeth are where a chain of three turns in the plane has them, the cylinders as long as their ends are apart
    turns = np.cumsum([run[name].ravel() for name in example.HINGES], axis=0)
    pins = np.array([example.FOOT, example.TIP, example.WRIST, example.TEETH])
    reached = [np.zeros((2, len(run.t)))]
    for turn, link in zip(turns, np.diff(pins, axis=0), strict=True):
        reached.append(reached[-1] + example.turned(turn, link))
    assert run.position("teeth")[:, [0, 2]] == pytest.approx(reached[-1].T, abs=1e-9)
    bodies = [np.zeros(len(run.t)), *turns]
    for k, name in enumerate(example.CYLINDERS):
        foot, head = (np.array(end) for end in example.ENDS[name])
        ends = [reached[k] + example.turned(bodies[k], foot - pins[k]) if k else foot[:, None] * np.ones(len(run.t))]
        ends.append(reached[k] + example.turned(bodies[k + 1], head - pins[k]))
        apart = np.hypot(*(ends[1] - ends[0]))
        assert run[name].ravel() == pytest.approx(apart - np.hypot(*(head - foot)), abs=1e-9)
    # the same bits by hand, from sample to sample
    law, sim = example.CylinderControl(system), wt.Simulation(system, q=run.q[0], method="rk4", step=example.PERIOD)
    for k in range(100):
        now = sim.state
        sim.tau = law(now.t, now.q, now.v, now.z)
        sim.run([example.PERIOD * (k + 1)])
    assert np.array_equal(sim.state.q, run.q[5])
    assert np.array_equal(sim.state.v, run.v[5])


def test_example_five_bar() -> None:
    module = load("five_bar")
    with pytest.warns(wt.AssemblyWarning, match='"q4" depend on others'):
        found = list(module.main(0.3).values())
    assert len(found) == 3
    np.testing.assert_allclose(found, [found[0]] * 3, atol=1e-9)
    # the planar loop's columns by hand: the paper's dependents are regular at its start, the last ones are not
    first, second, third = np.cumsum([module.START[name] for name in ("q1", "q2", "q3")])
    bars = np.array([[np.cos(angle), np.sin(angle)] for angle in (first, second, third, third)])
    along = third + module.ACROSS
    slide = [np.cos(along), np.sin(along), 0.0]
    levers = [bars[i:].sum(axis=0) for i in range(3)]
    columns = dict(zip(("q1", "q2", "q3"), ([-y, x, 1.0] for x, y in levers), strict=True)) | {"q4": slide}
    columns["q5"] = [-x for x in slide]
    smallest = {
        names: np.linalg.svd(np.array([columns[name] for name in names]))[1][-1]
        for names in (("q2", "q3", "q5"), ("q3", "q4", "q5"))
    }
    assert smallest["q2", "q3", "q5"] == pytest.approx(0.41, abs=0.005)
    assert smallest["q3", "q4", "q5"] < 1e-15


def test_example_real_time() -> None:
    found = load("real_time").main(0.3)
    run, s = found["run"], found["stepper"].system
    assert run.cause == "" and len(run.late) == 300
    assert np.abs(s.closure_residual(run.q[-1])).max() < 1e-12
    hinge = run.q[:, s.q_slice("boom hinge").start]
    assert hinge[0] == pytest.approx(0.3, abs=1e-9) and 0.3 < hinge[-1] < found["wanted"]  # on its way
    assert "int crane_step(crane_state *state, const crane_inputs *inputs)" in found["source"]


def test_example_design_position() -> None:
    drawn, links, again = run("design_position")
    assert (drawn.q0 == 0.0).all() and abs(drawn.closure_residual(drawn.q0)).max() < 1e-14
    for s in (drawn, links):  # both are as they were drawn
        assert s.mobility.mobility == 1
    ends = [links.pose(links.q0, name)[:3, 3] for name in ("crank", "coupler", "rocker")]
    assert np.allclose(ends, [(0.0, 0.0, 0.0), (0.3, 0.0, 0.9), (2.0, 0.0, 0.0)], rtol=0, atol=1e-9)
    assert again.system is not None and again.certificate.ok
    assert again.energy().total[-1] - again.energy().total[0] == pytest.approx(0.5 * (again["A"][-1]), abs=1e-5)


def test_example_bricard() -> None:
    module = load("bricard")
    r = module.main()
    report = r["system"].mobility
    assert (report.gruebler, report.mobility, len(report.redundant)) == (0, 1, 1)
    coarse, fine = r["drifts"]
    assert fine < 1e-8
    assert coarse / fine > 12  # fourth order or better

    def turn(axis: str, angle: float) -> np.ndarray:
        K = np.cross(np.eye(3), np.eye(3)["xyz".index(axis)])
        return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K

    def chain(q: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """Centres and axes of the rods for the first five angles, and by how much the last hinge is missed."""
        p, R, centres, axes = np.zeros(3), np.eye(3), [], []
        for k in range(5):
            along = module.POINTS[k + 1] - module.POINTS[k]
            R = R @ turn(module.AXES[k], q[k])
            centres.append(p + R @ along / 2)
            axes.append(R)
            p = p + R @ along
        return np.array(centres), axes, np.concatenate([p - module.POINTS[5], R[1:, 0]])

    def closed(first: float, guess: np.ndarray) -> np.ndarray:
        q, h = np.array([first, *guess[1:5]]), 1e-6
        for _ in range(5):
            J = np.array([(chain(q + h * e)[2] - chain(q - h * e)[2]) / (2 * h) for e in np.eye(5)[1:]]).T
            q[1:] -= np.linalg.lstsq(J, chain(q)[2], rcond=None)[0]
        return q

    def inertia_and_height(first: float, guess: np.ndarray) -> tuple[float, float]:
        """2 T for a unit rate of the first hinge, and the potential energy."""
        h = 1e-4
        (x, R, _), (y, S, _) = (chain(closed(first + e, guess)) for e in (-h, h))
        total = 0.0
        for k in range(5):
            W = (S[k] - R[k]) @ (S[k] + R[k]).T / (8 * h)  # half the skew matrix of the turning rate
            w = S[k].T @ np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])
            edges = np.where(module.POINTS[k + 1] == module.POINTS[k], 0.1, 1.0) ** 2
            total += ((y[k] - x[k]) ** 2).sum() / (4 * h * h) + w**2 @ (edges.sum() - edges) / 12
        return total, G * (x[:, 1].sum() + y[:, 1].sum()) / 2

    # at rest, the first hinge's acceleration is -V' / I
    zero, h = np.zeros(6), 1e-3
    slope = (inertia_and_height(h, zero)[1] - inertia_and_height(-h, zero)[1]) / (2 * h)
    assert r["start"][0] == pytest.approx(-slope / inertia_and_height(0.0, zero)[0], rel=1e-5)
    # later, the energy found by hand is what it was
    height = inertia_and_height(0.0, zero)[1]
    for q, v in zip(r["Q"][40::40], r["V"][40::40], strict=True):
        inertia, potential = inertia_and_height(q[0], q)
        assert inertia * v[0] ** 2 / 2 + potential == pytest.approx(height, abs=1e-6)
        np.testing.assert_allclose(closed(q[0], q + 1e-3), q[:5], atol=1e-9)
    np.testing.assert_allclose(r["corner"][0], [1, -1, 0], atol=1e-12)


def test_example_six_legs() -> None:
    module = load("six_legs")
    r = module.main()
    report = r["system"].mobility
    assert (report.gruebler, report.mobility, report.redundant) == (6, 6, ())
    count = len(r["Q"])
    low, high = module.corners()
    times = module.PERIOD / count * np.arange(count)
    g = np.array([0, 0, -G])
    for t, lengths, still in zip(times, r["lengths"], r["still"], strict=True):
        # the legs as vectors from the ground to the plate
        pose = module.path(t)[0]
        angle = 2 * np.arctan2(pose[1], pose[0])
        R = np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
        levers = high @ R.T
        legs = pose[4:] + levers - low
        np.testing.assert_allclose(lengths, np.linalg.norm(legs, axis=1), rtol=1e-12)
        # at rest: a leg leans on the plate with its weight's moment about its foot; its force does the rest
        n = legs / lengths[:, None]
        moment = module.TUBE_MASS * 0.3 + module.ROD_MASS * (lengths - module.ROD / 2)
        sideways = (moment / lengths)[:, None] * (g - n * (n @ g)[:, None])
        total = sideways.sum(0) + module.PLATE_MASS * g
        turning = np.cross(levers, sideways).sum(0)
        A = np.vstack([n.T, np.cross(levers, n).T])
        pushes = np.linalg.solve(A, -np.concatenate([total, turning]))
        np.testing.assert_allclose(still, pushes - module.ROD_MASS * n @ g, rtol=1e-10)
    # forward dynamics undoes it, and nothing but the legs pushes
    np.testing.assert_allclose(r["again"], r["A"], atol=1e-10)
    pushing = np.flatnonzero(r["efforts"].any(0))
    np.testing.assert_array_equal(pushing, [r["system"].v_slice(leg).start for leg in module.LEGS])
    # the power of the legs is the rate of the energy over the path, which is periodic: by its Fourier series
    waves = 2j * np.pi / module.PERIOD * np.arange(count // 2 + 1)
    rate = np.fft.irfft(waves * np.fft.rfft(r["energy"]), count)
    np.testing.assert_allclose((r["forces"] * r["rates"]).sum(1), rate, atol=1e-7 * np.abs(rate).max())


def test_example_cells() -> None:
    r = run("cells")
    system = r["system"]
    assert system.mobility.mobility == 4
    two, four, eight = r["counts"]["constraint_embedding"]
    assert eight - four < 2.1 * (four - two)  # linear
    two, four, eight = r["counts"]["tree_augmented"]
    assert eight - four > 3 * (four - two)
    # Lagrange's equations in the cells' angles from the vertical: platforms do not turn
    L, m, p, g, n = 0.4, 0.5, 1.2, 9.81, 4
    q = np.array([system.q0[system.q_slice(f"left foot {i}")][0] for i in range(n)])
    w = np.array([r["v"][system.v_slice(f"left foot {i}")][0] for i in range(n)])
    M, c = np.zeros((n, n)), np.zeros(n)
    for i in range(n):  # the two cranks of cell i, about their middles, and its platform
        for mass, share in ((2 * m, 0.5), (p, 1.0)):
            part = np.array([1.0] * i + [share] + [0.0] * (n - i - 1)) * L
            along, across = np.array([np.cos(q), -np.sin(q)]) * part, np.array([-np.sin(q), -np.cos(q)]) * part
            M += mass * along.T @ along
            c += mass * along.T @ (across @ w**2 + [0.0, g])
        M[i, i] += 2 * m * L**2 / 12
    assert r["lean"] == pytest.approx(-np.linalg.solve(M, c), rel=1e-10)


def test_example_gears() -> None:
    r = run("gears")
    system, a = r["system"], r["accelerations"]
    assert (system.mobility.gruebler, system.mobility.mobility) == (4, 4)
    assert r["speeds"] == pytest.approx({"motor": 42.0, "carrier": 12.0, "left": 10.0, "right": 14.0})
    np.testing.assert_allclose(r["start"], [0.4, 0.4], rtol=1e-12)
    # the shafts: the energy in terms of the two wheels' rates
    inertia = {name: mass * 0.1**2 / 2 for name, mass in (("motor", 2), ("carrier", 6), ("left", 15), ("right", 25))}
    mean = (3.5**2 * inertia["motor"] + inertia["carrier"]) / 4
    M = mean + np.diag([inertia["left"], inertia["right"]])
    left, right = np.linalg.solve(M, 3.5 * 40.0 / 2 * np.ones(2))
    shafts = {"left": left, "right": right, "carrier": (left + right) / 2, "motor": 3.5 * (left + right) / 2}
    assert {name: a[name] for name in shafts} == pytest.approx(shafts, rel=1e-12)
    assert r["torques"]["left"] == pytest.approx(r["torques"]["right"], rel=1e-12)
    assert r["torques"]["left"] == pytest.approx(inertia["left"] * left, rel=1e-12)
    assert r["efforts"]["differential"] == pytest.approx(inertia["left"] * left, rel=1e-12)
    # the multiplier of a gear acts on its second joint with ratio 1, and on the first with minus the ratio
    assert r["efforts"]["final drive"] == pytest.approx(inertia["motor"] * a["motor"] - 40.0, rel=1e-12)
    turning = 0.5 / (2.0 * 0.02**2 / 2 + 3.0 * 0.008**2)
    assert (a["steering"], a["tie"]) == (pytest.approx(turning, rel=1e-12), pytest.approx(0.008 * turning, rel=1e-12))
    assert r["efforts"]["rack and pinion"] == pytest.approx(3.0 * 0.008 * turning, rel=1e-11)
    # the wipers: two rods upside down, as one
    masses, lengths = np.array([0.3, 0.2]), np.array([0.6, 0.4])
    fall = (masses * lengths / 2).sum() * G * np.sin(0.4) / (masses * lengths**2 / 3).sum()
    assert a["wiper"] == pytest.approx(fall, rel=1e-12)
    assert a["second wiper"] == pytest.approx(fall, rel=1e-12)
    # what makes both wheels accelerate alike: the difference of their torques, at the left one
    np.testing.assert_allclose(r["again"], r["wanted"], atol=1e-11)
    needed = dict(zip(system.joint_names, r["needed"], strict=True))
    assert needed["left"] == pytest.approx(3.0 * (inertia["left"] - inertia["right"]), rel=1e-11)
    assert [needed[name] for name in ("carrier", "right", "tie", "second wiper")] == [0, 0, 0, 0]
    assert "3 actuated freedoms cannot" in r["refused"]


def test_example_rolling() -> None:
    r = run("rolling")
    system, t, forces = r["system"], r["times"], r["forces"]
    assert (system.mobility.gruebler, system.mobility.mobility) == (5, 5)
    pull = G * np.sin(0.3)
    # the ball: five sevenths, and two sevenths of the pull in the grip
    np.testing.assert_allclose(r["ball"][:, 0], 5 / 14 * pull * t**2, atol=2e-7)
    np.testing.assert_allclose(r["ball"][:, 1:], np.tile([1, 0.3], (len(t), 1)), atol=1e-9)
    np.testing.assert_allclose(forces["touch"][:, 0], 4.0 * G * np.cos(0.3), rtol=1e-9)
    np.testing.assert_allclose(forces["grip"], np.tile([-2 / 7 * 4.0 * pull, 0], (len(t), 1)), atol=1e-8)
    # the skate: along its blade the pull's share accelerates it, u = pull / w sin(w t), and w stays what it is
    w, r0 = 4.0, pull / (2 * 4.0**2)
    np.testing.assert_allclose(r["V"][:, system.v_slice("ice")][:, 0], w, rtol=1e-12)
    np.testing.assert_allclose(r["skate"][:, 0], r0 * np.sin(w * t) ** 2, atol=1e-9)
    np.testing.assert_allclose(r["skate"][:, 1], r0 * (w * t - np.sin(2 * w * t) / 2), atol=1e-9)
    np.testing.assert_allclose(forces["blade"][:, 0], 2 * 1.5 * pull * np.sin(w * t), atol=1e-7)
    assert np.ptp(r["energy"]) < 5e-6
    # nothing slips
    slip = system.closure_jacobian(r["Q"][-1]) @ r["V"][-1]
    assert np.abs(slip).max() < 1e-12


def test_example_squeezer() -> None:
    r = run("squeezer")
    system = r["system"]
    report = system.mobility
    assert (report.gruebler, report.mobility, len(report.redundant)) == (-8, 1, 9)
    angles = [system.v_slice(name).start for name in reference.ANDREWS]
    # the planar problem in its seven angles, in NumPy
    y = reference.squeezer_closed()
    np.testing.assert_allclose(r["Q"][0, angles], y, atol=1e-12)
    np.testing.assert_allclose(r["wrench"][3:5], reference.squeezer_spring(y), rtol=1e-9)
    expected = reference.squeezer_accelerations(y, np.zeros(7))
    np.testing.assert_allclose(r["start"][angles], expected, atol=1e-9 * np.abs(expected).max())
    assert np.abs(r["start"][angles[2:]]).max() < 1e-9 * r["start"][0]  # K1 and K2 are in line: only they start
    assert r["balance"][-1] == pytest.approx(0, abs=1e-7)
    for q, v in zip(r["Q"][50::50, angles], r["V"][50::50, angles], strict=True):
        assert np.abs(reference.squeezer_jacobian(q) @ v).max() < 1e-9 * np.abs(v).max()
    q, v = r["Q"][-1], r["V"][-1]
    tau, wrench = system.velocities({"beta": 0.033}), np.zeros(6)
    wrench[3:5] = reference.squeezer_spring(q[angles])
    a = system.forward_dynamics(q, v, tau, wrenches={"D": wrench})[angles]
    expected = reference.squeezer_accelerations(q[angles], v[angles])
    np.testing.assert_allclose(a, expected, atol=1e-8 * np.abs(expected).max())


def test_example_cost_of_formulations() -> None:
    got = run("cost_of_formulations")
    for point, count in got["counts"].items():
        formulation = f"fully_recursive/{point}"
        assert count.total == got["system"].kernels.operations("forward_dynamics", formulation=formulation)
    flow, curves = got["flow"], got["curves"]
    assert flow.schedule(8).speed_up <= min(8.0, flow.largest_speed_up)
    assert curves.crossings == 1
    before, after = curves.sizes.index(curves.break_even) - 1, curves.sizes.index(curves.break_even)
    assert curves.of_first[before] > curves.of_second[before]
    assert curves.of_first[after] <= curves.of_second[after]


def test_example_controller() -> None:
    found = run("controller")
    track, K = found["run"], found["gains"]
    assert track.certificate.ok
    assert abs(track["pivot"][-1]) < 1e-4
    assert abs(track["rail"][-1]) < 1e-3
    # efforts are the law at each sample, and held in between
    x = np.hstack([track.q, track.v])[:-1:2]
    assert track.efforts[:-1:2, 0] == pytest.approx(-x @ K, abs=1e-12)
    assert (track.efforts[1::2] == track.efforts[:-1:2]).all()
    work = np.diff(track["rail"]) @ track.efforts[:-1, 0]
    assert track.certificate.work_in == pytest.approx(work, abs=1e-9)


def test_example_spline_path() -> None:
    found = run("spline_path")
    track, hand, motors = found["run"], found["hand"], found["motors"]
    assert track.certificate.ok
    for i, t in enumerate(load("spline_path").TIMES):  # the path is met at its points, in both rounds
        for k in (0, 1):
            row = round((t + 3.0 * k) / 0.02)
            x, z = load("spline_path").X[i], load("spline_path").Z[i]
            assert track.position("tip")[row, [0, 2]] == pytest.approx([x, z], abs=1e-12)
    # the force on the tip does what the motors' torques do: J^T f = tau
    J = track.system.jacobian(track.q, "tip")[:, [3, 5]]
    assert np.einsum("nij,ni->nj", J, hand) == pytest.approx(motors, abs=1e-7)


def test_example_verified_run() -> None:
    found = run("verified_run")
    track = found["run"]
    assert track.certificate.ok
    assert track.v[-1, 0] == pytest.approx(found["speed"], rel=1e-9)
    assert track.certificate.digits > 8
    assert track.certificate["corners"] >= 4


def test_example_stiff_springs(capsys: pytest.CaptureFixture[str]) -> None:
    errors = run("stiff_springs")
    for values in errors.values():
        assert np.diff(np.log2(values)) == pytest.approx([-2, -2], abs=0.15)
    assert "rk4, 0.5 ms: at t = " in capsys.readouterr().out


def test_example_bouncing_ball() -> None:
    example = load("bouncing_ball")
    found = example.main()
    hits = [event.t for event in found.events if event.name == "bounce"]
    assert hits == pytest.approx(example.exact(5), abs=1e-10)
    assert found.info["ended_by"] == "caught"
    assert found.q[-1] == pytest.approx(0.8**10, rel=1e-9)
    assert found.certificate.ok


def test_example_resume() -> None:
    falling, driven = run("resume")
    for whole, resumed in (falling, driven):
        assert whole.certificate.ok
        assert np.array_equal(whole.q, resumed.q)
        assert np.array_equal(whole.work, resumed.work)
        assert np.array_equal(whole.efforts, resumed.efforts)
        assert [e.t for e in whole.events] == [e.t for e in resumed.events]
    whole = driven[0]
    assert np.abs(whole["shoulder"] - 2.4 * np.sin(whole.t))[40:].max() < 0.8  # the motor does what it is for
    assert len(whole.events) == int(20 / np.pi)  # one each time it swings up, to either side
    assert whole.efforts.shape == (81, 2)


def test_example_internal_mass() -> None:
    length, rod, bob, rest, k = 1.2, 0.8, 0.5, 0.6, 40.0
    r = run("internal_mass")
    (a, eta), (w, rate), (turning, sliding) = r["q"].T, r["v"].T, r["accelerations"].T
    distance = rest + eta
    moment = (rod * length**2 / 3 + bob * distance**2) * turning + 2 * bob * distance * rate * w
    np.testing.assert_allclose(moment, -(rod * length / 2 + bob * distance) * G * np.sin(a), rtol=1e-11, atol=1e-11)
    along = bob * sliding - bob * distance * w**2
    np.testing.assert_allclose(along, bob * G * np.cos(a) - k * eta, rtol=1e-11, atol=1e-11)
    assert np.ptp(r["total"]) < 1e-7
    np.testing.assert_allclose(r["eye"][:, 2, 3], -distance * np.cos(a), rtol=1e-12, atol=1e-14)


def published_bicycle(speed: float) -> Any:
    """The eigenvalues of M q'' + v C1 q' + (g K0 + v^2 K2) q = 0, with the matrices of Meijaard and others (2007)."""
    M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
    lower = [-np.linalg.solve(M, G * K0 + speed**2 * K2), -np.linalg.solve(M, speed * C1)]
    return np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], lower]))


def test_example_bicycle(tmp_path: Path) -> None:
    result = load("bicycle").main(tmp_path / "bicycle.png")
    assert result["weave"] == pytest.approx(4.29238253634111, abs=1e-9)
    assert result["capsize"] == pytest.approx(6.02426201538837, abs=1e-9)
    s = result["branches"].equilibria[0].system
    for speed in np.linspace(1, 10, 10):
        values = s.linearize(s.q0, {"rear hub": speed / 0.3}).eigenvalues
        found = np.sort_complex(values[values != 0])
        assert found == pytest.approx(np.sort_complex(published_bicycle(speed)), abs=1e-9)


def test_example_governor(tmp_path: Path) -> None:
    result = load("governor").main(tmp_path / "governor.png")
    path, arm = result["path"], result["path"].coordinates("left arm")
    length, ball, sleeve, stiffness = 0.3, 1.2, 1.0, 400.0
    # energy in turning axes: both balls out at length sin, all lifted; the sleeve moves by twice what the balls do
    lift = 2 * length * (1 - np.cos(arm))
    force = 2 * ball * G * length * np.sin(arm) + (sleeve * G + stiffness * lift) * 2 * length * np.sin(arm)
    out = 2 * ball * path.values**2 * length**2 * np.sin(arm) * np.cos(arm)
    assert out == pytest.approx(force, abs=1e-8)
    assert arm[-1] > 0.5
    assert set(path.stability) == {"stable"}


def test_example_snap_through(tmp_path: Path) -> None:
    path = load("snap_through").main(tmp_path / "snap.png")["path"]
    angle = path.coordinates("left")
    rise = np.cos(0.35)
    assert path.values == pytest.approx(4 * 500.0 * (np.sin(angle) - rise * np.tan(angle)), abs=1e-7)
    assert np.abs(path.values[list(path.turning)]) == pytest.approx(
        [4 * 500.0 * (1 - rise ** (2 / 3)) ** 1.5] * 2, rel=1e-8
    )
    assert path.stability[0] == path.stability[-1] == "stable"
    assert "unstable" in path.stability


def test_example_car_modes(tmp_path: Path) -> None:
    result = load("car_modes").main(tmp_path / "car.png")
    M, K, D = result["matrices"]
    size = len(M)
    A = np.block([[np.zeros((size, size)), np.eye(size)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    expected = np.sort_complex(np.linalg.eigvals(A))
    assert np.sort_complex(result["model"].eigenvalues) == pytest.approx(expected, abs=1e-6)
    assert len(result["model"].modes().frequencies) == size


def test_example_measured_lengths() -> None:
    """Where the point is follows from two triangles; the derivatives are those of that closed form."""
    found = run("measured_lengths")
    base = load("measured_lengths").BASE

    def points(values: Any, side: float) -> Any:
        crank, coupler, rocker, along, above = values
        B = crank * np.exp(-1j * found["q"][:, 0])  # about y, an angle turns x toward -z
        across = base - B
        distance = np.abs(across)
        inside = np.arccos((coupler**2 + distance**2 - rocker**2) / (2 * coupler * distance))
        at = B + across / distance * np.exp(1j * side * inside) * (along + 1j * above)
        return np.stack([at.real, at.imag], axis=1).ravel()

    values = found["values"]
    at = found["system"].pose(found["q"], "point", parameters=values)[:, (0, 2), 3].ravel()
    off, side = min((np.abs(points(values, side) - at).max(), side) for side in (-1.0, 1.0))
    assert off < 1e-9  # the last turn changed nothing any more
    for j, step in enumerate(1e-5 * np.eye(5)):
        by_differences = (points(values + step, side) - points(values - step, side)) / 2e-5
        assert np.abs(found["J"][:, j] - by_differences).max() < 1e-8
    assert np.all(np.abs(values - found["true"]) < 4 * found["sure"])


def test_example_crank_rocker() -> None:
    found = run("crank_rocker")
    sweep, module = found["sweep"], load("crank_rocker")
    for k, apart in ((0, module.GROUND - module.CRANK), (36, module.GROUND + module.CRANK)):
        cosine = (module.COUPLER**2 + module.ROCKER**2 - apart**2) / (2 * module.COUPLER * module.ROCKER)
        assert found["angle"][k] == pytest.approx(np.degrees(np.arccos(cosine)), abs=1e-9)
    assert found["angle"].argmin() in (0, 72)
    assert found["angle"].argmax() == 36
    # in the dead position crank and coupler are in line
    assert np.sin(found["dead"][1]) == pytest.approx(0.0, abs=1e-9)
    assert len(found["back"]) == 2
    assert sweep.closed.all()


def test_example_suspension_table() -> None:
    found = run("suspension_table")
    sweep, geometry, module = found["sweep"], found["geometry"], load("suspension_table")
    assert found["system"].mobility.mobility == 1
    pose = sweep.pose("upright")
    for chassis, knuckle in module.LINKS.values():  # the links keep their lengths
        ends = pose[:, :3, 3] + pose[:, :3, :3] @ np.subtract(knuckle, module.CENTRE)
        np.testing.assert_allclose(
            np.linalg.norm(ends - chassis, axis=1), np.linalg.norm(np.subtract(knuckle, chassis)), atol=1e-12
        )
    np.testing.assert_allclose(pose[:, 2, 3], module.CENTRE[2] + sweep.values, atol=1e-12)
    for name, design in (("camber [deg]", 0.0), ("toe [deg]", 0.0), ("track [m]", 1.5)):
        assert geometry[name][8] == pytest.approx(design, abs=1e-10)
    # the roll centre is above the contact point by the slope of its path times its distance from the middle
    down = pose[:, 2, 3] - module.RADIUS * np.cos(np.radians(geometry["camber [deg]"]))
    rough = down + geometry["track [m]"] / 2 * np.gradient(geometry["track [m]"] / 2, down)
    np.testing.assert_allclose(geometry["roll centre [m]"][1:-1], rough[1:-1], atol=2e-3)


def test_example_robot_workspace() -> None:
    found = run("robot_workspace")
    module, space = load("robot_workspace"), found["space"]
    x, y = space.points[..., 0], space.points[..., 1]
    rings = [np.hypot(x - pivot, y) for pivot in (-module.PIVOT, module.PIVOT)]
    longest, shortest = module.CRANK + module.ARM, module.ARM - module.CRANK
    np.testing.assert_array_equal(space.reached, np.logical_and.reduce([(d < longest) & (d > shortest) for d in rings]))
    np.testing.assert_allclose(found["tips"], found["path"], atol=1e-9)
    assert found["singular"].singular


def test_example_robot_file() -> None:
    found = run("robot_file")
    np.testing.assert_allclose(found["held"], found["formula"], rtol=1e-9)
    for torques in found["again"].values():
        np.testing.assert_allclose(torques, found["held"], rtol=1e-9)
    assert found["report"].about("not understood") == ("<gazebo>",)
    assert found["system"].mobility.mobility == 2


def test_example_hopper() -> None:
    """The floor carries the weight, and a floor a tenth as stiff is 4.5 depths lower: k (x - d / 2) = m g."""
    found = run("hopper")
    height = found["run"].position("trunk")[:, 2]
    assert len(found["tops"]) == 3
    assert height[-1] == pytest.approx(found["rest"], abs=1e-5)
    assert found["carried"] == pytest.approx(8.6 * G, rel=1e-3)
    assert found["deeper"] == pytest.approx(4.5 * 0.44, abs=1e-2)
    assert found["run"].certificate.ok


def test_example_opensim_knee() -> None:
    found = run("opensim_knee")
    for _, moment, by_heights in found["rows"]:
        assert moment == pytest.approx(by_heights, abs=1e-7)
    assert found["run"].certificate.ok
    assert found["system"].mobility.mobility == 1
    assert found["report"].about("not understood") == ("Thelen2003Muscle, which is left out",)


def test_example_spinning_blade() -> None:
    module = load("spinning_blade")
    stiff, plain = module.main()
    np.testing.assert_allclose(stiff, list(module.LITERATURE.values()), rtol=1e-3)
    np.testing.assert_allclose(plain, plain[0], rtol=1e-9)  # out of the plane, the centrifugal field alone does nothing


def test_example_bent_rod() -> None:
    found = load("bent_rod").main()
    assert found[4] < 3e-3
    assert found[2] / found[4] > 6  # third order: the strains of a part are linear to second order


def test_example_elastic_coupler() -> None:
    """A simply supported beam under a load that falls linearly from rho A w^2 r to zero: 5 q L^4 / (768 E I)."""
    module = load("elastic_coupler")
    found = module.main()
    steel, section = module.wt.steel, module.SECTION
    q = steel.density * section.area * 10.0**2 * module.CRANK
    quasi_static = 5 * q * module.COUPLER**4 / (768 * steel.youngs_modulus * section.second_moment_y)
    assert abs(found[10.0] / quasi_static - 1) < 0.06
    assert abs(found[20.0] / found[10.0] - 4) < 0.1


def test_example_moving_pictures(tmp_path: Path) -> None:
    r = load("moving_pictures").main(tmp_path)
    assert set(r["sizes"]) == {"run.html", "run.glb", "start.png", "mode.html"}
    assert r["sizes"]["run.html"] < 800_000
    assert (tmp_path / "run.glb").read_bytes()[:4] == b"glTF"
    # the coupler is drawn as its box, which has no mass
    shapes = r["run"].system.description.body("coupler").properties.shapes
    assert [shape.kind for shape in shapes] == ["box"]
    assert r["run"].system.description.body("coupler").properties.mass == 2.0


def test_example_beam_spin_up() -> None:
    """Simo and Vu-Quoc's beam: the published curve has its least value, about -0.58 m, between 6 and 7 seconds."""
    module = load("beam_spin_up")
    found = module.main()
    assert abs(found.stretch / (module.MASS * 6.0**2 * 10.0**3 / (3 * module.AXIAL)) - 1) < 0.01
    assert found.across.min() == pytest.approx(-0.575, abs=0.01)
    assert 6 < found.t[np.argmin(found.across)] < 7.5
    assert np.abs(found.across[found.t > 15]).max() < 0.01


@pytest.mark.deep
def test_the_spin_up_converges_with_substructures() -> None:
    module = load("beam_spin_up")
    found = {parts: module.spin_up(parts) for parts in (1, 2, 4)}
    lag = {parts: each.across.min() for parts, each in found.items()}
    assert abs(lag[1] - lag[4]) > 2 * abs(lag[2] - lag[4])
    assert abs(lag[2] - lag[4]) < 5e-4
    stretch = module.MASS * module.SPEED**2 * module.LENGTH**3 / (3 * module.AXIAL)
    assert all(abs(each.stretch / stretch - 1) < 0.01 for each in found.values())


def test_example_flexible_arm() -> None:
    found = load("flexible_arm").main()
    assert 2e-3 < found["plain"] < 0.1
    assert found["shaped"] < found["plain"] / 20


def test_example_solar_panels() -> None:
    """Without momentum at the start, the wheel and the rest turn by angles in the ratio of their inertias."""
    found = load("solar_panels").main()
    panel = 100.0 * 0.02 * 1.0 * 6.0
    rest = 300.0 * (1.2**2 + 1.2**2) / 12 + 2 * panel * (6.0**2 / 12 + 3.6**2) + 20.0 * 0.3**2 / 2
    wheel = 20.0 * 0.3**2 / 2
    turns = 4.0 * 5.0**2 / wheel  # of the wheel against a base that stands still: up for 5 s, down for 5 s
    assert found["angle"] == pytest.approx(-turns * wheel / rest, rel=0.02)
    assert found["momentum"] < 1e-9
    assert found["mirrored"] < 1e-9
    assert 0.005 < found["deflection"] < 0.1


def test_example_four_bar_of_beams() -> None:
    found = load("four_bar_of_beams").main()
    assert found["gap"] < 1e-9
    assert all(1e-4 < found[name] < 0.01 for name in ("crank", "coupler", "rocker"))
    assert 10 < found["force"] < 200


def test_example_campbell_diagram() -> None:
    """The frequencies do not depend on the azimuth at which the model is taken, and those of one plane stay."""
    module = load("campbell_diagram")
    system = module.describe().build()
    still, there, turned = (module.frequencies(system, *at) for at in ((0.0, 0.0), (3.0, 0.0), (3.0, 0.7)))
    np.testing.assert_allclose(there, turned, rtol=1e-8)
    assert still[1] == pytest.approx(still[2], rel=1e-9)  # two flap modes that the tower does not feel
    np.testing.assert_allclose(there[2], still[3], rtol=1e-6)  # the tower swings sideways, in the rotor's plane
    whirl = (there[4] - there[0]) * 2 * np.pi / 3.0  # forward and backward whirl part by about twice the speed
    assert 1.7 < whirl < 2.3


def test_example_friction() -> None:
    found = run("friction")
    for ours, closed in (found["drawer"], (found["rod"][0][:, 2], found["rod"][1])):
        assert np.abs(np.array(ours) - closed).max() < 1e-8 * np.abs(closed).max() + 1e-9
    assert found["drawer"][0][2] == pytest.approx(0.0, abs=1e-9)  # wedged
    assert found["said"][1.333] == "one solution"
    assert "no solution (Painleve" in found["said"][1.334]
    assert found["run"].certificate.ok
    assert found["run"].certificate.work_dissipated > 0.1


def test_example_steady_cornering() -> None:
    example = load("steady_cornering")
    bend, stop = example.main()
    speed = np.linalg.norm(bend.velocity("body")[-1][3:5])
    assert bend.velocity("body")[-1][2] == pytest.approx(example.expected_yaw_rate(speed), rel=0.01)
    way = stop.position("body")[-1][0]
    assert way == pytest.approx(example.SPEED**2 / (2 * example.FRICTION * G), rel=5e-3)
    assert bend.certificate.ok and stop.certificate.ok


def test_example_touching() -> None:
    """In the end all hardly move: the rod lies on the crate, each as deep in what carries it as its weight takes."""
    found = run("touching")
    ball, crate, rod = (found.position(name)[-1] for name in ("ball", "crate", "rod"))
    assert all(np.abs(found.velocity(name)[-1][3:]).max() < 0.05 for name in ("ball", "crate", "rod"))
    assert found.certificate.ok
    stiffness, width = 2e4, 1e-3
    assert crate[2] == pytest.approx(0.2 - 12.0 * G / 4 / stiffness - width / 2, abs=1e-3)
    assert rod[2] - crate[2] == pytest.approx(0.23 - 2.0 * G / stiffness - width / 2, abs=1e-3)
    assert ball[2] == pytest.approx(0.15 - 3.0 * G / stiffness - width / 2, abs=1e-3)


def study_example(name: str, count: int, picture: Path) -> Any:
    pytest.importorskip("zarr", "3.1.3", reason="studies need zarr, which is in the extra `test`")
    found = load(name).main(str(picture), count)
    assert picture.stat().st_size > 5000, "the gallery of the site shows this diagram"
    return found


def test_example_random_roads(tmp_path: Path) -> None:
    """The same cars by SciPy, from their equations of motion."""
    from scipy.integrate import solve_ivp, trapezoid

    found = study_example("random_roads", 24, tmp_path / "diagram.png")
    times = np.linspace(0.0, 4.0, 201)
    for k in (0, 7, 23):
        case = {name: float(value) for name, value in found["study"].case(k).items()}

        def rates(t: float, y: Any, case: dict[str, float] = case) -> list[float]:
            wheel, chassis, wheel_speed, chassis_speed = y
            road = sum(0.02 / n**2 * np.sin(np.pi * n * t + case[f"phase {n}"]) for n in range(1, 7))
            strut = case["spring"] * (wheel - chassis) + case["damper"] * (wheel_speed - chassis_speed)
            return [wheel_speed, chassis_speed, (2e5 * (road - wheel) - strut) / 40.0, strut / 250.0]

        y = solve_ivp(rates, (0.0, 4.0), np.zeros(4), t_eval=times, rtol=1e-9, atol=1e-12, method="DOP853").y
        data = found["data"].isel(case=k)
        assert float(data["chassis travel max"]) == pytest.approx(y[1].max(), rel=1e-4)
        rms = np.sqrt(trapezoid(y[1] ** 2, times) / 4.0)
        assert float(data["chassis travel rms"]) == pytest.approx(rms, rel=1e-4)
    assert (found["data"]["status"] == 0).all()


def test_example_tolerances(tmp_path: Path) -> None:
    """The derivatives are differences of the angle that the study's own function finds; samples agree."""
    example, found = load("tolerances"), study_example("tolerances", 128, tmp_path / "diagram.png")
    stack = found["stack"]
    for name, length in example.LENGTHS.items():
        ends = [example.rocker_angle(found["system"], {**example.LENGTHS, name: length + h}) for h in (1e-6, -1e-6)]
        slope = (ends[0]["rocker angle"] - ends[1]["rocker angle"]) / 2e-6
        deviation = found["study"].values()[name].std(ddof=1)
        assert stack.contributions[name] == pytest.approx(slope * deviation, rel=1e-5)
    assert stack.sampled_deviation == pytest.approx(stack.deviation, rel=0.03)


def test_example_payload_envelope(tmp_path: Path) -> None:
    """Moments about the joints by hand: the shoulder holds the stretched arm, the elbow the upright upper arm's."""
    found = study_example("payload_envelope", 11, tmp_path / "diagram.png")["study"]
    for index in (3, 60, 77):
        case = found.case(index)
        a, b = case["shoulder"], case["shoulder"] + case["elbow"]
        elbow = G * np.array([3.0 * 0.2 * np.cos(b), 0.4 * np.cos(b)])
        shoulder = G * np.array([6.0 * 0.25 * np.cos(a) + 3.0 * 0.5 * np.cos(a), 0.5 * np.cos(a)]) + elbow
        most = min(
            (limit - np.sign(each) * own) / abs(each) for limit, (own, each) in ((120.0, shoulder), (45.0, elbow))
        )
        assert case.run()["payload"] == pytest.approx(np.clip(most, 0.0, 100.0), rel=1e-9)
        assert case.run()["x"] == pytest.approx(0.5 * np.cos(a) + 0.4 * np.cos(b), abs=1e-12)


def test_example_many_blades(tmp_path: Path) -> None:
    """Southwell's formulas for blades on hinges."""
    found = study_example("many_blades", 12, tmp_path / "diagram.png")
    speeds = found["speeds"]
    mass, flap, lag = (found["study"].cases[name].values for name in ("mass", "flap", "lag"))
    inertia, moment = mass * 25.0 / 3.0, mass * 0.4 * 2.5
    for k, speed in enumerate(speeds):
        both = [
            np.sqrt(flap / inertia + speed**2 * (1 + moment / inertia)),
            np.sqrt(lag / inertia + speed**2 * moment / inertia),
        ]
        expected = np.sort(np.stack(both, axis=1), axis=1) / (2 * np.pi)
        np.testing.assert_allclose(found["frequencies"][k], expected, rtol=1e-8)


def test_example_many_runs(tmp_path: Path) -> None:
    """The complete elliptic integral, by the arithmetic-geometric mean."""
    found = load("many_runs").main(str(tmp_path / "periods.png"), 4, 3)
    a, b = 1.0, np.cos(np.linspace(0.1, 3.0, 4) / 2)[:, None]
    for _ in range(8):
        a, b = (a + b) / 2, np.sqrt(a * b)
    exact = 2 * np.pi * np.sqrt(np.linspace(0.2, 3.0, 3) / G) / a
    np.testing.assert_allclose(found["periods"], exact, rtol=2e-7)
    assert bool(found["runs"].dataset["certificate_ok"].all())
