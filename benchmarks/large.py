"""Large mechanisms from nothing to first results: ``python benchmarks/large.py [rows | variants | trees ...]``

Sections: rows (four-bars in a row, 30 to 1000), variants (a row of 300 with parameters, a drive, laws, contacts), trees
(300 bodies with 60 force elements, and chains with one element). Each mechanism has a process and an empty cache of its
own; figures are its CPU seconds, one function after the other; `--limit` ends what takes longer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from timing import table

import whippletree as wt

LIMIT = 300
ANGLE = 1.2  # of the rockers at rest
ROWS = (30, 100, 300, 1000)
VARIANTS = ("plain", "masses", "length", "drive", "laws", "contact")
TREES = ("chain", "chain, contact", "chain, load of time", "chain, spring with parameter", "chain, masses", "elements")

BARS = {
    ("rows", "100", "simulate"): 3.0,
    ("rows", "300", "simulate"): 5.0,
    ("rows", "1000", "simulate"): 12.0,
    ("rows", "300", "again"): 0.5,
    ("rows", "100", "linearize"): 6.0,
    ("trees", "elements", "accelerations"): 3.0,
    ("trees", "elements", "reactions"): 5.0,
    ("trees", "elements", "derivatives"): 10.0,
}
"""CPU seconds at most."""


def row(n: int, variant: str = "plain") -> wt.System:
    """Return a row of four-bars that falls from rest, which has more than that in a `variant`."""
    m = wt.Mechanism(f"row with {variant}", gravity=(0.0, -9.81, 0.0))
    mass = [m.parameter(f"mass {i}", 1.0) if variant == "masses" else 1.0 for i in range(2 * n + 1)]
    length = m.parameter("length", 1.0) if variant == "length" else 1.0
    rods = [m.body(f"rod {i}", wt.rod(1.0, mass=mass[i])) for i in range(2 * n + 1)]
    guess: dict[str, Any] = {}
    for i in range(n + 1):
        m.revolute(f"foot {i}", m.ground, rods[i], at=(float(i), 0.0, 0.0))
        guess[f"foot {i}"] = ANGLE
    for i in range(n):
        coupler = rods[n + 1 + i]
        m.revolute(f"head {i}", rods[i], coupler, at=(length, 0.0, 0.0))
        m.revolute(f"tail {i}", coupler, rods[i + 1], at=(1.0, 0.0, 0.0), at_child=(length, 0.0, 0.0))
        guess |= {f"head {i}": -ANGLE, f"tail {i}": ANGLE}
        if variant == "laws":
            law = 5.0 * m.elongation + (1 + i) * m.elongation**3
            m.spring(f"law {i}", m.ground, coupler, at=(i, 3.0, 0.0), law=law)
    if variant == "drive":
        m.drive("motor", "foot 0", position=ANGLE + ca.sin(m.time))
    if variant == "contact":
        m.contact("wheel", rods[0], at=(1.0, 0, 0), normal=(0, 1, 0), radius=0.1, stiffness=1e4)
    return m.build(guess=guess)


def tree(kind: str, n: int = 300) -> wt.System:
    """Return a chain of ball joints with one element, or a tree with 60 elements of several kinds."""
    rng = np.random.default_rng(2)
    m = wt.Mechanism(kind)
    bodies: list[Any] = [m.ground]
    for i in range(n):
        mass = m.parameter(f"mass {i}", 1.0) if kind == "chain, masses" else 1.0
        body = m.body(f"body {i}", wt.box((0.3, 0.05, 0.04), mass))
        near = bodies[-1 if kind != "elements" else int(rng.integers(max(0, i - 4), i + 1))]
        if kind == "elements" and i % 3:
            m.revolute(f"joint {i}", near, body, at=(0.3, 0, 0), axis="xyz"[i % 3])
        else:
            m.spherical(f"joint {i}", near, body, at=(0.3, 0, 0))
        bodies.append(body)
    middle = bodies[n // 2]
    if kind == "chain, contact":
        m.contact("contact", middle, radius=0.1, stiffness=1e4, friction=0.5)
    elif kind == "chain, load of time":
        m.load("load", middle, force=(ca.sin(m.time), 0, 0))
    elif kind == "chain, spring with parameter":
        m.spring("spring", m.ground, middle, stiffness=m.parameter("k", 30.0), free_length=0.1, at=(1, 2, 0))
    elif kind == "elements":
        add_elements(m, bodies)
    return m.build()


def add_elements(m: wt.Mechanism, bodies: list[Any]) -> None:
    """Add ten each of springs, bushings, contacts, limits, frictions and written laws."""
    for i in range(10):
        a, b, c = (bodies[1 + 29 * i + k] for k in (0, 7, 14))
        m.spring(f"spring {i}", a, b, stiffness=50.0 + i, free_length=0.3, damping=1.0)
        m.bushing(f"bushing {i}", b, c, stiffness=[30.0 + i] * 6, damping=[1.0] * 6)
        m.contact(f"contact {i}", c, radius=0.1, stiffness=1e4 + i, friction=0.5)
        joint = f"joint {30 * i + 1}"
        m.limit(f"limit {i}", joint, lower=-1.0, upper=1.0 + 0.1 * i, stiffness=100.0, damping=1.0)
        m.friction(f"friction {i}", joint, coulomb=1.0 + i, speed=0.1)
        m.spring(f"law {i}", m.ground, c, at=(1, 2, 0), law=(1 + i) * m.elongation**3 + ca.sin(m.time))


def functions(s: wt.System, section: str) -> dict[str, Callable[[], object]]:
    """Return what is asked for, in order."""
    q, v = s.q0, s.v0
    asked: dict[str, Callable[[], object]] = {
        "accelerations": lambda: s.forward_dynamics(q, v),
        "reactions": lambda: s.reactions(q, v),
    }
    if section == "trees":
        return asked | {"derivatives": lambda: s.forward_dynamics_derivatives(q, v)}

    def run() -> object:
        return s.simulate(0.5, every=0.05)

    return {"accelerations": asked["accelerations"], "simulate": run, "again": run} | {
        "reactions": asked["reactions"],
        "linearize": s.linearize,
    }


def one(section: str, name: str) -> None:
    """Print each figure of one mechanism as soon as it is there."""
    begin = time.process_time()
    s = tree(name) if section == "trees" else row(int(name)) if section == "rows" else row(300, name)
    print(f"build\t{time.process_time() - begin:.2f}", flush=True)
    for function, ask in functions(s, section).items():
        begin = time.process_time()
        try:
            ask()
            print(f"{function}\t{time.process_time() - begin:.2f}", flush=True)
        except wt.WhippletreeError as error:
            print(f"{function}\trefused: {str(error)[:40]}", flush=True)


def figures(section: str, name: str, limit: int) -> dict[str, str]:
    """Return the figures of one mechanism, from a process of its own."""
    with tempfile.TemporaryDirectory() as cache:
        command = ["bash", "-c", f'ulimit -t {limit}; exec "$0" "$@"', sys.executable, __file__, "--one", section, name]
        environment = os.environ | {"WHIPPLETREE_CACHE": cache}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wanted", nargs="*", help="sections, or section:name")
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--limit", type=int, default=LIMIT)
    options = parser.parse_args()
    if options.one:
        one(*options.one)
        return
    every = {"rows": tuple(map(str, ROWS)), "variants": VARIANTS, "trees": TREES}
    for section, names in every.items():
        mine = [x for x in options.wanted if x.split(":")[0] == section]
        if options.wanted and not mine:
            continue
        chosen = [x.split(":")[1] for x in mine if ":" in x] or names
        rows, columns = [], ["build", "accelerations"]
        columns += (
            ["reactions", "derivatives"] if section == "trees" else ["simulate", "again", "reactions", "linearize"]
        )
        for name in chosen:
            found = figures(section, name, options.limit)
            cells = []
            for column in columns:
                bar = BARS.get((section, name, column))
                text = found.get(column, f"over {options.limit}")
                cells.append(text if bar is None else f"{text} (bar {bar:g})")
            rows.append([name, *cells])
        table(section, [section, *columns], rows)


if __name__ == "__main__":
    main()
