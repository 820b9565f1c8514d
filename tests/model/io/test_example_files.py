"""The model files of the examples describe what the problems say, by closed forms or independent solutions."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support import reference_problems as reference
from whippletree.model.io.forms import CLOSURES, EVENTS, FORCES, JOINTS, RUN, SHAPES, START
from whippletree.model.io.reader import SECTIONS

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
IFTOMM = EXAMPLES / "iftomm"
G = 9.81


def test_all_problems_are_there() -> None:
    names = {file.stem for file in IFTOMM.glob("*.yaml")}
    four_bars = {f"n_four_bar_{n}" for n in (2, 10, 40)}
    assert names == {"pendulum", "squeezer", "bricard", "governor_stiff", "governor_soft"} | four_bars


@pytest.mark.parametrize("file", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda file: file.stem)
def test_a_file_says_how_to_run_it(file: Path) -> None:
    model = wt.read(file)
    assert model.run["duration"] > 0
    assert model.outputs


def test_pendulum() -> None:
    model = wt.read(IFTOMM / "pendulum.yaml")
    s = model.build()
    q, v = model.initial(s)
    assert s.forward_dynamics(q, v) == pytest.approx([-G], rel=1e-14)
    np.testing.assert_allclose(s.pose(q, "tip")[:3, 3], [1, 0, 0])
    assert not v.any()
    assert model.run["duration"] == 10


@pytest.mark.parametrize("n", [2, 10, 40])
def test_n_four_bar(n: int) -> None:
    model = wt.read(IFTOMM / f"n_four_bar_{n}.yaml")
    assert model.mechanism.describe() == reference.n_four_bar(n).describe()
    assert model.start["guess"] == reference.four_bar_angles(n, math.pi / 2)
    if n == 40:
        return  # the same, and slow to build
    s = model.build()
    q, v = model.initial(s)
    assert (s.mobility.mobility, s.mobility.gruebler) == (1, 3 * (2 * n + 1) * 2 - 5 * (3 * n + 1))
    np.testing.assert_allclose(q, s.configuration(reference.four_bar_angles(n, math.pi / 2)), atol=1e-14)
    np.testing.assert_allclose(v, s.velocities(reference.four_bar_angles(n, -1.0)), atol=1e-12)
    end = s.velocity(q, v, "coupler 0")[3:]  # of B0
    np.testing.assert_allclose(end, [1, 0, 0], atol=1e-12)


def test_the_files_of_four_bars_are_what_make_writes() -> None:
    spec = importlib.util.spec_from_file_location("make", IFTOMM / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    for n in make.SIZES:
        assert (IFTOMM / f"n_four_bar_{n}.yaml").read_text(encoding="utf-8") == make.text(n)


def test_squeezer() -> None:
    model = wt.read(IFTOMM / "squeezer.yaml")
    s = model.build()
    q, v = model.initial(s)
    angles = [s.q_slice(name).start for name in reference.ANDREWS]
    np.testing.assert_allclose(q[angles], reference.squeezer_closed(), atol=1e-12)
    assert s.mobility.mobility == 1
    for rate in (0.0, 30.0):
        v = s.consistent_velocities(q, {"beta": rate})
        a = s.forward_dynamics(q, v)[angles]
        expected = reference.squeezer_accelerations(q[angles], v[angles])
        np.testing.assert_allclose(a, expected, atol=1e-9 * np.abs(expected).max())


def test_bricard() -> None:
    model = wt.read(IFTOMM / "bricard.yaml")
    s, known = model.build(), reference.bricard().build()
    numbers, expected = (list(x.folded().numbers()) for x in (s.description, known.description))
    np.testing.assert_allclose(numbers, expected, atol=1e-15)
    assert (s.mobility.mobility, s.mobility.gruebler) == (1, 0)
    np.testing.assert_allclose(s.pose(s.q0, "corner")[:3, 3], [1, -1, 0], atol=1e-14)
    a, b = (x.forward_dynamics(x.q0, x.v0) for x in (s, known))
    np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("kind, stiffness, damping", [("stiff", 8e5, 4e4), ("soft", 4e3, 2e2)])
def test_governor(kind: str, stiffness: float, damping: float) -> None:
    model = wt.read(IFTOMM / f"governor_{kind}.yaml")
    values = {p.name: p.value for p in model.mechanism.describe().parameters}
    assert (values["stiffness"], values["damping"]) == (stiffness, damping)
    s = model.build()
    q, v = model.initial(s)
    w, angle = 2 * math.pi, math.pi / 6
    masses = {body.name: body.properties.mass for body in s.description.folded().bodies}
    assert masses == pytest.approx({"shaft": 0.3, "slider": 3.0, "rod 1": 5.3, "rod 2": 5.3})
    # the balls: 30 degrees below the horizontal, spinning with the rest
    tip = s.pose(q, "rod 1")[:3, :] @ [1, 0, 0, 1]
    np.testing.assert_allclose(tip, [0.05 + math.cos(angle), 0, 0.5], atol=1e-14)
    # at the start the springs are free and nothing moves in them, so that the slider falls and the rods swing out
    for force in s.forces(q, v).values():
        assert np.abs(force.wrenches).max() < 1e-6
    a = s.forward_dynamics(q, v)
    assert a[s.v_slice("height")] == pytest.approx([-G], rel=1e-9)
    assert a[s.v_slice("spin")] == pytest.approx([0.0], abs=1e-9)
    first, second = 5 + 0.3 / 2, 5 + 0.3 / 3  # moments of the mass along a rod; its thickness is negligible
    inward = w**2 * (0.05 * first + math.cos(angle) * second) * math.sin(angle)
    expected = (G * math.cos(angle) * first - inward) / second
    for name in ("hinge 1", "hinge 2"):
        assert a[s.v_slice(name)] == pytest.approx([expected], rel=1e-4)


def test_quarter_car() -> None:
    model = wt.read(EXAMPLES / "quarter_car.yaml")
    s = model.build()
    q, v = model.initial(s)
    assert (s.mobility.mobility, s.mobility.gruebler, len(s.mobility.redundant)) == (3, 3, 0)
    assert np.abs(s.closure_residual(q)).max() < 1e-12
    assert v[s.v_slice("hub")] == pytest.approx([8 / 0.35])
    # it stands still on the level road: spring and tyre carry the weight
    a = s.forward_dynamics(q, v)
    assert np.abs(a).max() < 0.1
    weight = 390 * G
    tyre = s.forces(q, v)["tyre"].wrenches[0]
    assert tyre[5] == pytest.approx(weight, rel=1e-2)
    # the bump lifts the wheel: 60 mm at its middle, 50 ms after its start
    top = s.forces(q, v, t=0.55)["tyre"].wrenches[0]
    assert top[5] == pytest.approx(tyre[5] + 200e3 * 0.06, rel=1e-3)
    after = s.forces(q, v, t=0.7)["tyre"].wrenches[0]
    assert after[5] == pytest.approx(tyre[5], rel=1e-2)
    # the wheel moves up and down on the wishbones by some centimetres, and hardly leans or steers
    for lift in (-0.1, 0.1):
        moved = s.assemble({"heave": 0.0, "lower hinge": lift}, hold=["heave", "lower hinge"])
        assert 0.03 < math.copysign(1, lift) * (s.pose(moved, "wheel")[2, 3] - 0.33) < 0.06
        np.testing.assert_allclose(s.pose(moved, "upright")[:3, :3], np.eye(3), atol=0.06)
    # the rack steers: 8 mm on an arm of 120 mm behind the wheel turn it to the left
    steered = s.pose(s.assemble(q, t=1.8), "upright")
    assert math.atan2(steered[1, 0], steered[0, 0]) == pytest.approx(-8 / 120, rel=0.05)


def test_quarter_car_runs() -> None:
    run = wt.read(EXAMPLES / "quarter_car.yaml").simulate(every=0.02)
    assert run.certificate.ok
    z = run.position("wheel")[:, 2] - 0.33
    assert np.abs(z[run.t < 0.4]).max() < 1e-3  # at rest on the level road
    assert 0.04 < z.max() < 0.08  # over the bump
    assert run.t[z.argmax()] == pytest.approx(0.56, abs=0.03)
    assert np.abs(run["heave"]).max() < 0.04  # the chassis hardly notices
    assert abs(run["heave"][-1]) < 0.01
    # the spinning wheel is turned by the drive of the rack, whose work the balance counts
    assert run["rack slide"].max() == pytest.approx(0.008, abs=1e-5)
    gained = run.energy().total[-1] - run.energy().total[0]
    assert gained == pytest.approx(run.certificate.work_in - run.certificate.work_dissipated, abs=1e-3)


def test_the_files_in_the_documentation() -> None:
    page = (EXAMPLES.parent / "docs" / "how_to" / "model_files.md").read_text(encoding="utf-8")
    files = [part.split("```")[0] for part in page.split("```yaml\n")[1:]]
    assert len(files) == 4
    for text in files:
        model = wt.read(text)
        if model.mechanism.describe().joints:
            system = model.build()
            q, v = model.initial(system)
            assert np.isfinite(system.forward_dynamics(q, v)).all()


def test_the_documentation_names_every_key() -> None:
    pages = [EXAMPLES.parent / "docs" / "how_to" / name for name in ("model_files.md", "elements.md")]
    page = "".join(each.read_text(encoding="utf-8") for each in pages)
    for table in (JOINTS, CLOSURES, EVENTS, FORCES):
        for head, form in table.items():
            for key in (head, *form.keys):
                assert f"`{key}`" in page or f"`{key}:" in page or (f"{head}: " in page and f", {key}: ..." in page), (
                    key
                )
    for key in (*SECTIONS[1:], *START, *RUN, *SHAPES):
        assert f"`{key}`" in page, key
