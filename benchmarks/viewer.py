"""What pages of the viewer cost: bytes, and processor time of their script until the first frame and for each frame.

A headless Chromium draws a chain of 200 bodies and a humanoid of ten seconds. Times are of the page's own thread
(CPU, not wall time); rasterising is done elsewhere, and is not in them. Then robots of the package example-robot-data
are drawn with their meshes: bytes, seconds by the clock to write the page and from opening it to its first frame, the
best of three. Run it as

    python benchmarks/viewer.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import whippletree as wt
from whippletree.analysis.models import human_body

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.browser import Browser, find_chromium
from support.pinocchio_models import robot_file

BYTES, FIRST, EACH = 1_500_000, 0.5, 4.0
"""The bars: bytes of a humanoid's ten seconds, seconds of script to the first frame, milliseconds for each frame."""

MESHES = 6_000_000, 3.0, 2.0
"""The bars of a humanoid with meshes: bytes, seconds to write its page, and to the first frame."""

ROBOTS = (
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "icub_description/robots/icub.urdf",
    "panda_description/urdf/panda.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
)

FRAMES = 100

COUNT = """(() => {
    const page = whippletree, draw = page.draw.bind(page);
    page.count = 0;
    page.draw = (now) => { page.count += 1; draw(now); };
    page.play(true);
})()"""
"""Plays, and counts the frames."""


def moving(system: wt.System, seconds: float, rate: int) -> wt.Trajectory:
    """A smooth motion of all joints, so many states a second."""
    t = np.linspace(0.0, seconds, round(seconds * rate) + 1)
    rng = np.random.default_rng(0)
    turns = 0.4 * np.sin(np.outer(t, rng.uniform(1, 9, system.nv)) + rng.uniform(0, 6, system.nv))
    q = system.integrate(np.tile(system.q0, (len(t), 1)), turns)
    return wt.Trajectory(system, t, q, np.zeros((len(t), system.nv)))


def chain(n: int) -> wt.System:
    """Rods in a row."""
    m = wt.Mechanism(f"chain of {n}")
    at = m.ground
    for k in range(n):
        link = m.body(f"link {k}", wt.rod(length=0.1, mass=1.0, axis="x"))
        m.revolute(f"hinge {k}", at, link, at=(0.1 if k else 0, 0, 0), axis="y" if k % 2 else "z")
        at = link
    return m.build()


def script_seconds(browser: Browser) -> float:
    """Processor time of the page's script so far."""
    found = browser.call("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in found if one["name"] == "ScriptDuration"))


def measure(program: str, path: Path) -> tuple[float, float]:
    """Return seconds of script to the first frame, and milliseconds for each frame: the best of three."""
    firsts, each = [], []
    for _ in range(3):
        with Browser(program) as browser:
            browser.call("Performance.enable", timeDomain="threadTicks")
            browser.open(f"{path.as_uri()}?frame=0")
            firsts.append(script_seconds(browser))
            browser.evaluate(COUNT)
            before = script_seconds(browser), browser.evaluate("whippletree.count")
            browser.wait(f"whippletree.count > {FRAMES}")
            after = script_seconds(browser), browser.evaluate("whippletree.count")
            each.append(1000 * (after[0] - before[0]) / (after[1] - before[1]))
    return min(firsts), min(each)


def with_meshes(program: str, folder: Path, file: Path) -> tuple[str, int, int, float, float]:
    """Return a robot's name, its bodies, bytes of its page, seconds to write it and to see it: the best of three."""
    system = wt.read(file).build()
    path, written, seen = folder / "robot.html", [], []
    for _ in range(3):
        began = time.perf_counter()
        system.show(path=path)
        written.append(time.perf_counter() - began)
        with Browser(program) as browser:
            began = time.perf_counter()
            browser.open(f"{path.as_uri()}?frame=0")
            seen.append(time.perf_counter() - began)
    return system.description.name, len(system.description.bodies), path.stat().st_size, min(written), min(seen)


def main() -> None:
    """Measure and print."""
    program = find_chromium()
    if program is None:
        raise SystemExit("there is no Chromium: make browser")
    print(f"{'page':24} {'bodies':>7} {'instants':>9} {'bytes':>10} {'first [s]':>10} {'each [ms]':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for system, seconds, rate in ((chain(200), 2.0, 50), (human_body().build(), 10.0, 100)):
            run = moving(system, seconds, rate)
            path = Path(folder) / "page.html"
            run.animate(path, frames=len(run))
            first, each = measure(program, path)
            name, size = system.description.name, path.stat().st_size
            print(f"{name:24} {len(system.description.bodies):7} {len(run):9} {size:10} {first:10.3f} {each:10.2f}")
        print(f"bars: {BYTES} bytes for ten seconds of a humanoid, {FIRST} s, {EACH} ms")
        print(f"{'with meshes':24} {'bodies':>7} {'bytes':>10} {'written [s]':>12} {'first [s]':>10}")
        for robot in ROBOTS:
            name, bodies, size, written, seen = with_meshes(program, Path(folder), robot_file(robot))
            print(f"{name:24} {bodies:7} {size:10} {written:12.2f} {seen:10.2f}")
    print(f"bars: {MESHES[0]} bytes, written in {MESHES[1]} s, first frame in {MESHES[2]} s")


if __name__ == "__main__":
    main()
