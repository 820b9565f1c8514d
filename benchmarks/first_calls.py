"""First calls, everything that they do included: ``python benchmarks/first_calls.py [--source SRC] [case ...]``

Seconds of CPU of one call, in a new process with an empty cache; the figure is the least of three processes, since what
else a machine does only adds to it. What comes before the call (import, description, for most cases the build) does
not count, and a simulation comes after a short one of another mechanism, so that compiling the time loops does not
count either. `--source` names the `src` folder of another source tree, to compare with.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
REPEATS = 3


# ---------------------------------------------------------------------------------------------------------
# Mechanisms


def scissor_lift(stages: int) -> tuple[Any, dict[str, float]]:
    """Crossed bars on a base, the lower and the upper ends on slides, a platform, and a cylinder: all in one plane."""
    import whippletree as wt

    length, angle = 2.0, 0.5
    wide = length * np.cos(angle)
    m = wt.Mechanism(f"lift of {stages} stages", gravity=(0, -9.81, 0))
    base = m.body("base", wt.box(size=(2, 0.2, 0.2), mass=50.0))
    m.fixed("floor", m.ground, base)
    up, down = ([m.body(f"{n}{i}", wt.rod(length=length, mass=10.0, axis="x")) for i in range(stages)] for n in "ab")
    foot, head = (m.body(name, wt.box(size=(0.1, 0.1, 0.1), mass=1.0)) for name in ("foot", "head"))
    platform = m.body("platform", wt.box(size=(2, 0.1, 1), mass=80.0))
    m.revolute("A", base, up[0], axis="z")
    m.prismatic("lower slide", base, foot, axis="x")
    m.revolute("B", foot, down[0], axis="z")
    guess = {"A": angle, "lower slide": wide, "B": np.pi - angle}
    for i in range(stages):
        m.revolute(f"M{i}", up[i], down[i], at=(length / 2, 0, 0), at_child=(length / 2, 0, 0), axis="z")
        guess[f"M{i}"] = np.pi - 2 * angle
        if i:
            m.revolute(f"R{i}", up[i - 1], down[i], at=(length, 0, 0), axis="z")
            m.revolute(f"L{i}", down[i - 1], up[i], at=(length, 0, 0), axis="z")
            guess |= {f"R{i}": np.pi - 2 * angle, f"L{i}": 2 * angle - np.pi}
    m.revolute("T", down[-1], platform, at=(length, 0, 0), axis="z")
    m.prismatic("upper slide", platform, head, axis="x")
    m.revolute("U", up[-1], head, at=(length, 0, 0), axis="z")
    barrel, rod = (m.body(name, wt.rod(length=0.5, mass=3.0, axis="x")) for name in ("barrel", "rod"))
    way = 1.2 * np.array([np.cos(angle), np.sin(angle)]) - (0.0, -0.3)
    lean = np.arctan2(way[1], way[0])
    m.revolute("C0", base, barrel, at=(0, -0.3, 0), axis="z")
    m.prismatic("cylinder", barrel, rod, axis="x")
    m.revolute("C1", rod, up[0], at_child=(1.2, 0, 0), axis="z")
    guess |= {"T": angle - np.pi, "upper slide": wide, "U": -angle}
    return m, guess | {"C0": lean, "cylinder": float(np.hypot(*way)), "C1": angle - lean}


def four_bars(count: int) -> tuple[Any, dict[str, float]]:
    """Four-bars side by side, which meet only at the ground."""
    import whippletree as wt

    m = wt.Mechanism("side by side", gravity=(0, -9.81, 0))
    for i in range(count):
        a, b, c = (
            m.body(f"{n}{i}", wt.rod(length=x, mass=1.0, axis="x")) for n, x in zip("abc", (1, 2, 1.5), strict=True)
        )
        m.revolute(f"A{i}", m.ground, a, at=(0, 0, i), axis="z")
        m.revolute(f"B{i}", a, b, at=(1, 0, 0), axis="z")
        m.revolute(f"C{i}", b, c, at=(2, 0, 0), axis="z", at_child=(1.5, 0, 0))
        m.revolute(f"D{i}", m.ground, c, at=(2, 0, i), axis="z")
    return m, {f"A{i}": 1.0 for i in range(count)}


def chain(count: int) -> tuple[Any, None]:
    """Rods one after the other, hinges about y and z in turn."""
    import whippletree as wt

    m = wt.Mechanism("chain")
    before = m.ground
    for i in range(count):
        rod = m.body(f"rod {i}", wt.rod(length=0.2, mass=0.5, axis="x"))
        m.revolute(f"J{i}", before, rod, at=(0.2 if i else 0.0, 0, 0), axis="yz"[i % 2])
        before = rod
    return m, None


def flexible_beam(modes: int) -> tuple[Any, None]:
    """A flexible beam on a hinge."""
    import whippletree as wt

    m = wt.Mechanism("beam")
    tube = wt.tube(radius=0.02, wall=0.002)
    beam = m.body("beam", wt.beam(length=1.0, section=tube, material=wt.steel, modes=modes))
    m.revolute("hinge", m.ground, beam, axis="y")
    return m, None


def free_beam(modes: int) -> tuple[Any, None]:
    """A flexible beam that flies."""
    import whippletree as wt

    m = wt.Mechanism("free beam")
    tube = wt.tube(radius=0.02, wall=0.002)
    beam = m.body("beam", wt.beam(length=1.0, section=tube, material=wt.steel, modes=modes))
    m.free("base", m.ground, beam)
    return m, None


def quarter_car() -> Any:
    from whippletree.system.example_systems import quarter_car

    return quarter_car()


def human_body() -> tuple[Any, None]:
    """A human body of 40 bodies and 45 freedoms."""
    from straight_body import straight_body

    return straight_body(), None


def row(count: int) -> Callable[[], tuple[Any, Any]]:
    """Coupled four-bars in a row."""

    def described() -> tuple[Any, Any]:
        from growth_models import four_bars

        return four_bars(count)

    return described


def example(name: str) -> Callable[[], tuple[Any, None]]:
    """A mechanism of the examples."""

    def described() -> tuple[Any, None]:
        sys.path.insert(0, str(ROOT / "examples"))
        return __import__(name).describe(), None

    return described


def laws(count: int) -> str:
    """A model file with so many laws; the package is loaded."""
    import whippletree  # noqa: F401

    bodies = "".join(f"  b{i}: {{rod: {{length: 1, mass: 1}}}}\n" for i in range(10))
    joints = "".join(f"  j{i}: {{revolute: [ground, b{i}], axis: y}}\n" for i in range(10))
    forces = "".join(
        f"  f{i}: {{actuator: j{i % 10}, effort: '-{i + 1} * coordinate(\"j{i % 10}\") - 0.1 * sin(2 * pi * t)'}}\n"
        for i in range(count)
    )
    return f"name: laws\nbodies:\n{bodies}joints:\n{joints}forces:\n{forces}"


SWEPT = """
name: four-bar
parameters: {mass: 1.5}
bodies:
  a: {rod: {length: 1, mass: mass, axis: x}}
  b: {rod: {length: 2, mass: 1, axis: x}}
  c: {rod: {length: 1.5, mass: 1, axis: x}}
joints:
  A: {revolute: [ground, a], axis: y}
  B: {revolute: [a, b], at: [1, 0, 0], axis: y}
  C: {revolute: [b, c], at: [2, 0, 0], at_child: [1.5, 0, 0], axis: y}
  D: {revolute: [ground, c], at: [2, 0, 0], axis: y}
start: {guess: {A: -1}}
run: {duration: 0.5}
"""


# ---------------------------------------------------------------------------------------------------------
# Cases


class Case(NamedTuple):
    """What is prepared, the call that is timed with what was prepared, and the most that it may take."""

    prepare: Callable[[], Any]
    call: Callable[[Any], object]
    bar: float | None = None


def built(described: Callable[[], tuple[Any, Any]]) -> Callable[[], Any]:
    def build() -> Any:
        m, guess = described()
        return m.build(guess=guess) if guess else m.build()

    return build


def warm(described: Callable[[], tuple[Any, Any]]) -> Callable[[], Any]:
    """The system, after another one has loaded the time loops."""

    def build() -> Any:
        m, guess = four_bars(1)
        m.build(guess=guess).simulate(0.01)
        return built(described)()

    return build


def swept() -> Any:
    import whippletree as wt

    model = wt.read(SWEPT)
    model.simulate(parameters={"mass": 2.0})
    return model


def read(text: str) -> Any:
    import whippletree as wt

    return wt.read(text)


def build_of(described: Callable[[], tuple[Any, Any]]) -> Case:
    return Case(described, lambda given: given[0].build(guess=given[1]) if given[1] else given[0].build())


def eigenvalues(s: Any) -> Any:
    from whippletree.equilibria import eigenvalues_over

    return eigenvalues_over(s, f"{s.joint_names[0]}.effort", np.linspace(0.0, 0.1, 100))


CALLS: dict[str, Callable[[Any], object]] = {
    "forward_dynamics": lambda s: s.forward_dynamics(s.q0, s.v0),
    "reactions": lambda s: s.reactions(s.q0, s.v0),
    "mass_matrix": lambda s: s.mass_matrix(s.q0),
    "inverse_dynamics": lambda s: s.inverse_dynamics(s.q0, s.v0, np.zeros(s.nv)),
    "simulate": lambda s: s.simulate(0.01),
    "linearize": lambda s: s.linearize(),
    "modes": lambda s: s.linearize().modes(),
    "eigenvalues": eigenvalues,
}

CASES: dict[str, Case] = {
    "lift of 8, reactions": Case(built(lambda: scissor_lift(8)), CALLS["reactions"], 1.0),
    "lift of 12, reactions": Case(built(lambda: scissor_lift(12)), CALLS["reactions"]),
    "100 four-bars, simulate": Case(warm(lambda: four_bars(100)), CALLS["simulate"], 5.0),
    "1000 four-bars, simulate": Case(warm(lambda: four_bars(1000)), CALLS["simulate"]),
    "model.simulate(parameters=), again": Case(swept, lambda m: m.simulate(parameters={"mass": 3.0}), 0.05),
    "4000 laws, read": Case(lambda: laws(4000), read, 3.0),
    "4000 laws, build": Case(lambda: read(laws(4000)), lambda model: model.build()),
    "4000 laws, forward_dynamics": Case(lambda: read(laws(4000)).build(), CALLS["forward_dynamics"]),
    "free beam of 8 modes, modes": Case(built(lambda: free_beam(8)), CALLS["modes"], 1.5),
    "quarter car, modes": Case(quarter_car, CALLS["modes"], 2.0),
    "human body, modes": Case(built(human_body), CALLS["modes"], 2.0),
    "row of 10 four-bars, modes": Case(built(row(10)), CALLS["modes"], 2.0),
    "row of 30 four-bars, linearize": Case(built(row(30)), CALLS["linearize"]),
    "row of 100 four-bars, linearize": Case(built(row(100)), CALLS["linearize"], 6.0),
    "quarter car, eigenvalues of 100 values": Case(quarter_car, CALLS["eigenvalues"]),
    "row of 10 four-bars, eigenvalues of 100 values": Case(built(row(10)), CALLS["eigenvalues"]),
    "row of 100 four-bars, reactions": Case(built(row(100)), CALLS["reactions"], 3.0),
    "beam of 12 modes, linearize": Case(built(lambda: flexible_beam(12)), lambda s: s.linearize(s.q0)),
    "lift of 8, build": build_of(lambda: scissor_lift(8)),
    "100 four-bars, build": build_of(lambda: four_bars(100)),
    **{
        f"{name}, {call}": Case((warm if call == "simulate" else built)(described), CALLS[call])
        for name, described in {
            "lift of 8": lambda: scissor_lift(8),
            "Bricard": example("bricard"),
            "six legs": example("six_legs"),
            "chain of 50": lambda: chain(50),
        }.items()
        for call in CALLS
        if (name, call) != ("lift of 8", "reactions")
    },
}


def probe(name: str) -> None:
    """Print the seconds that a call takes, and whose they are; this is what the new process does."""
    prepared = CASES[name].prepare()
    begin = time.process_time()
    CASES[name].call(prepared)
    seconds = time.process_time() - begin
    print(json.dumps({"seconds": seconds, "package": sys.modules["whippletree"].__file__}))


def probed(name: str, source: Path) -> float:
    """Seconds of CPU of a case, by the package in a source tree."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WHIPPLETREE_")}
    with tempfile.TemporaryDirectory() as cache:
        environment |= {"WHIPPLETREE_CACHE": cache, "PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
        command = [sys.executable, __file__, "--probe", name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name} failed with {source}:\n{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    if not Path(found["package"]).resolve().is_relative_to(source):
        raise SystemExit(f"{name}: the package came from {found['package']}, not from {source}")
    return float(found["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time of first calls.")
    parser.add_argument("cases", nargs="*", metavar="case", help=f"any of {'; '.join(CASES)} (default: all)")
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="a folder that holds the package")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="processes for each figure, default %(default)s")
    parser.add_argument("--probe", choices=list(CASES), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.probe:
        return probe(arguments.probe)
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}")
    print("| first call | s of CPU | at most | |\n|---|---|---|---|")
    for name in arguments.cases or CASES:
        seconds, bar = min(probed(name, arguments.source.resolve()) for _ in range(arguments.repeats)), CASES[name].bar
        verdict = "-" if bar is None else "met" if seconds <= bar else "MISSED"
        print(f"| {name} | {seconds:.2f} | {'-' if bar is None else f'{bar:g}'} | {verdict} |", flush=True)
    return None


if __name__ == "__main__":
    main()
