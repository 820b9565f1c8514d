"""The pictures of these docs, made from the viewer's own pages in a headless Chromium.

    python docs/pictures/make_pictures.py [name ...]

Each shows a mechanism of the examples or of the papers at an instant of a run, or where it is assembled.
"""

from __future__ import annotations

import importlib.util
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
from PIL import Image

import whippletree as wt
from whippletree.analysis import models
from whippletree.viewer import SceneView

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import Browser, find_chromium  # noqa: E402

COLORS = 128
LARGEST = 80_000
"""Bytes of a picture."""


def example(name: str) -> ModuleType:
    """An example, as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def four_bar() -> tuple[SceneView, int]:
    """A four-bar with forces, a path and plots."""
    s = example("four_bar").describe().build(guess={"A": 1.0})
    run = s.simulate(3.0, every=0.02)
    return run.animate(paths=["coupler"], forces=True, plots=["A", "C", "energy"], opened=False), 40


def excavator() -> tuple[SceneView, int]:
    """An excavator, its cylinders free."""
    s = example("excavator").describe().build()
    return s.simulate(1.0, every=0.05).animate(plots=["boom", "stick", "bucket"], opened=False), 10


def quarter_car() -> tuple[SceneView, int]:
    """A quarter car over a bump."""
    model = wt.read(str(ROOT / "examples" / "quarter_car.yaml"))
    return model.simulate().animate(plots=["heave"], opened=False), 60


def still(describe: Callable[[], wt.System]) -> Callable[[], tuple[SceneView, int]]:
    """Show a system where it is assembled."""
    return lambda: (describe().show(opened=False), 0)


def six_legs() -> wt.System:
    """A platform on six legs."""
    return example("six_legs").describe().build()


def bricard() -> tuple[SceneView, int]:
    """Bricard's mechanism, and the path of a body."""
    s = example("bricard").describe().build()
    return s.simulate(3.0, every=0.02).animate(paths=[s.description.bodies[2].name], opened=False), 45


def squeezer() -> tuple[SceneView, int]:
    """Andrews' squeezing mechanism."""
    model = wt.read(str(ROOT / "examples" / "iftomm" / "squeezer.yaml"))
    return model.simulate().animate(plots=["energy"], opened=False), 40


def walking() -> tuple[SceneView, int]:
    """The human body of the papers, in some motion."""
    s = models.human_body().build()
    rng = np.random.default_rng(3)
    t = np.linspace(0.0, 2.0, 101)
    q = s.integrate(np.tile(s.q0, (101, 1)), 0.35 * np.sin(np.outer(t, np.full(s.nv, 3.0)) + rng.uniform(0, 6, s.nv)))
    return wt.Trajectory(s, t, q, np.zeros((101, s.nv))).animate(opened=False), 30


def governor() -> tuple[SceneView, int]:
    """A flyball governor with springs."""
    s = wt.read(str(ROOT / "examples" / "iftomm" / "governor_soft.yaml"))
    return s.simulate(duration=2.0, every=0.01).animate(forces=True, opened=False), 50


def mode() -> tuple[SceneView, int]:
    """The fastest mode of a car."""
    s = example("car_modes").describe().build()
    q = s.equilibrium().q
    return s.show(q, mode=s.linearize(q).modes()[-1], opened=False), 10


def beside() -> tuple[SceneView, int]:
    """Three runs over each other."""
    s = example("four_bar").describe().build(guess={"A": 1.0})
    runs = [s.simulate(3.0, every=0.02, q=s.assemble({"A": a})) for a in (1.0, 1.15, 1.3)]
    labels = {"from 1.15 rad": runs[1], "from 1.3 rad": runs[2]}
    return runs[0].animate(beside=labels, opened=False), 40


def tower() -> tuple[SceneView, int]:
    """The lowest mode of a tower with flexible blades."""
    s = example("campbell_diagram").describe().build()
    return s.show(s.q0, mode=s.linearize(s.q0).modes()[0], opened=False), 0


def bent_beam() -> tuple[SceneView, int]:
    """A slender beam in eight substructures that hangs down under its own weight and a load."""
    m = wt.Mechanism("a beam in eight substructures")
    strip = wt.rectangle(width=0.05, height=0.004)
    beam = wt.beam(length=1.0, section=strip, material=wt.aluminium, elements=24, substructures=8)
    m.fixed("clamp", m.ground, m.body("beam", beam))
    m.fixed("hook", "beam.tip", m.body("weight", wt.sphere(0.03, mass=4.0, at=(0, 0, -0.03))))
    s = m.build()
    return s.show(s.equilibrium().q, opened=False), 0


def robots() -> tuple[SceneView, int]:
    """Six robots of the package example-robot-data side by side, by their meshes."""
    from support.pinocchio_models import robot_file

    m = wt.Mechanism("robots")
    for name, (path, stand, at) in ROBOTS.items():
        model = wt.read(robot_file(path), base="fixed")
        whole = model.mechanism.describe()
        s = model.build()
        bodies = {one.name: one for one in whole.bodies}
        for place, pose in s.poses(s.q0).items():
            if place in bodies and bodies[place].properties.shapes:
                own = m.body(f"{name} {place}", bodies[place].properties)
                pose[:3, 3] += (*at, stand)
                m.fixed(f"{name} {place} stands", m.ground, own, pose=pose)
    return m.build().show(opened=False), 0


ROBOTS = {
    "G1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", 0.79, (0.0, -1.9)),
    "ANYmal": ("anymal_b_simple_description/robots/anymal.urdf", 0.6, (0.1, -0.85)),
    "Talos": ("talos_data/robots/talos_full_v2.urdf", 1.08, (-0.3, 0.35)),
    "Panda": ("panda_description/urdf/panda.urdf", 0.0, (0.2, 1.1)),
    "Tiago": ("tiago_description/robots/tiago.urdf", 0.0, (0.0, 2.4)),
    "Solo": ("solo_description/robots/solo12.urdf", 0.33, (0.95, 0.25)),
}
"""Robots: the file, and how high and where the first link stands."""

PICTURES: dict[str, Callable[[], tuple[SceneView, int]]] = {
    "four_bar": four_bar,
    "excavator": excavator,
    "quarter_car": quarter_car,
    "six_legs": still(six_legs),
    "bricard": bricard,
    "squeezer": squeezer,
    "human_body": walking,
    "truck": still(lambda: models.heavy_truck().build()),
    "stanford_arm": still(lambda: models.stanford_arm().build()),
    "governor": governor,
    "mode": mode,
    "beside": beside,
    "tower": tower,
    "bent_beam": bent_beam,
    "robots": robots,
}
DARK = {"squeezer", "governor"}


def shots(names: list[str]) -> Iterator[tuple[str, bytes]]:
    """Pictures as PNG files."""
    program = find_chromium()
    if program is None:
        raise SystemExit("there is no Chromium: make browser")
    with tempfile.TemporaryDirectory() as folder, Browser(program, width=960, height=600) as browser:
        for name in names:
            view, frame = PICTURES[name]()
            path = view.save(Path(folder) / f"{name}.html")
            browser.prefer(dark=name in DARK)
            browser.open(f"{path.as_uri()}?frame={frame}")
            browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
            assert browser.console == [], browser.console
            file = io.BytesIO()
            Image.fromarray(browser.picture()).quantize(COLORS).save(file, "PNG", optimize=True)
            yield name, file.getvalue()


if __name__ == "__main__":
    for name, data in shots(sys.argv[1:] or [*PICTURES]):
        assert len(data) < LARGEST, (name, len(data))
        (Path(__file__).parent / f"{name}.png").write_bytes(data)
        print(name, len(data))
