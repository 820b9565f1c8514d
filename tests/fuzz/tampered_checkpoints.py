"""Checkpoints of runs by several methods, with something changed in them: refused, or a run that can be ended."""

from __future__ import annotations

import functools
import io
import json
import random
import time
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import whippletree as wt
from fuzz.tampering import changed_array, changed_bytes, changed_tree
from whippletree.simulate import progress
from whippletree.studies.array_archives import read_archive, write_archive

LONGEST = 1.0
"""Seconds after which a run that goes on is ended by an interruption."""

SMALL = """
name: pendulum with a switch
parameters: {k: 0}
bodies: {a: {rod: {length: 1, mass: 1, axis: x}}}
joints: {A: {revolute: [ground, a], axis: y}}
states: {z: {value: 1, rate: '-state("z") + pulse(t, 0.3, 0.7)'}}
forces: {pull: {actuator: A, effort: '-k * coordinate("A") - abs(rate("A"))'}}
events:
  low: {expression: 'cos(coordinate("A"))', parameters: {k: k + 0.1}}
start: {velocities: {A: 2}}
"""

LOOP = """
name: four-bar with a ball
gravity: [0, -9.81, 0]
bodies:
  a: {rod: {length: 1, mass: 1, axis: x}}
  b: {rod: {length: 1.2, mass: 1, axis: x}}
  c: {rod: {length: 1.4, mass: 1, axis: x}}
  ball: {mass: 0.3, inertia: [0.1, 0.2, 0.3]}
joints:
  A: {revolute: [ground, a], axis: z}
  B: {revolute: [a, b], at: [1, 0, 0], axis: z}
  C: {revolute: [b, c], at: [1.2, 0, 0], at_child: [1.4, 0, 0], axis: z}
  D: {revolute: [ground, c], at: [1.5, 0, 0], axis: z}
  S: {spherical: [c, ball], at: [0.5, 0, 0]}
events: {pass: {expression: 'sin(coordinate("A"))'}}
start: {guess: {A: 1.2, B: -1.0, D: 1.6}, velocities: {A: 2, S: [1, 2, 3]}}
"""

RUNS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (SMALL, "adams", {}),
    (LOOP, "adams", {}),
    (SMALL, "dopri5", {}),
    (SMALL, "dop853", {"period": 0.05}),
    (SMALL, "rk4", {"step": 1e-2}),
    (SMALL, "trapezoidal", {"step": 1e-2}),
    (SMALL, "generalized_alpha", {"adaptive": True}),
    (LOOP, "dop853", {}),
    (LOOP, "trapezoidal", {"step": 1e-2}),
    (LOOP, "adams", {"period": 0.05}),
)


class Base(NamedTuple):
    """A checkpoint of a run in the middle: its system, its arrays, and whether it has a controller."""

    system: wt.System
    arrays: dict[str, Any]
    data: bytes
    controlled: bool


EACH = 15
"""Cases in turn that tamper with the same checkpoint."""


class Prepared(NamedTuple):
    path: Path
    bases: dict[int, Base]  # those that were asked for


def brake(t: float, q: Any, v: Any, z: Any) -> dict[str, float]:
    return {"A": -0.1 * float(v[0])}


def prepare(folder: Path) -> Prepared:
    progress._FIRST = progress._MOST = 40
    progress._BETWEEN = 0.0
    return Prepared(folder / "run.ckpt", {})


@functools.cache
def built(text: str) -> wt.System:
    return wt.read(text).build()


def interrupted(path: Path, text: str, method: str, options: dict[str, Any]) -> Base:
    """Make a checkpoint of a run that is interrupted on its way."""

    def tell(share: float) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    controlled = "period" in options
    given = options | ({"controller": brake} if controlled else {})
    wt.read(text).simulate(
        duration=1.0, every=0.05, method=method, checkpoint=path, progress=tell, tolerance=1e-6, **given
    )
    return Base(built(text), read_archive(path, "checkpoint"), path.read_bytes(), controlled)


def case(number: int, prepared: Prepared) -> None:
    """Tamper with one of the checkpoints, and go on with it."""
    rng, which = random.Random(number), number // EACH % len(RUNS)
    if which not in prepared.bases:
        prepared.bases[which] = interrupted(prepared.path, *RUNS[which])
    base = prepared.bases[which]
    data, system = tampered(rng, base), base.system if rng.random() < 0.8 else None
    prepared.path.write_bytes(data)
    began = time.perf_counter()

    def tell(share: float) -> None:
        if time.perf_counter() - began > LONGEST:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"controller": brake} if base.controlled else {}
    run = wt.resume(prepared.path, system, progress=tell, checkpoint_every=1e6, **options)
    assert np.isfinite(run.q).all()


def tampered(rng: random.Random, base: Base) -> bytes:
    """The bytes of a checkpoint with something changed; the digest is made anew, unless bytes are changed."""
    way = rng.randrange(12)
    if way == 0:
        return changed_bytes(rng, base.data)
    if way == 1:
        return _bomb(rng, base)
    arrays = dict(base.arrays)
    if way < 7:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            name = rng.choice([one for one in arrays if one != "header"])
            arrays[name] = changed_array(rng, arrays[name])
        if rng.random() < 0.05:
            del arrays[rng.choice(list(arrays))]
    else:
        header = json.loads(bytes(arrays["header"]).decode())
        for _ in range(rng.choice((1, 1, 2))):
            header = changed_tree(rng, header)
        if rng.random() < 0.2 and isinstance(header, dict) and isinstance(header.get("model"), str):
            header["model"] = changed_bytes(rng, header["model"].encode()).decode(errors="replace")
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    file = io.BytesIO()
    write_archive(file, arrays)
    return file.getvalue()


def _bomb(rng: random.Random, base: Base) -> bytes:
    """An archive that says it is small, or has in it what is no number."""
    file = io.BytesIO()
    way = rng.randrange(3)
    if way == 0:
        np.savez_compressed(file, **{**base.arrays, "until": np.zeros(1_000_000)})
    elif way == 1:
        np.savez(file, **{**base.arrays, "until": np.array([print, {}], dtype=object)})
    else:
        with zipfile.ZipFile(file, "w") as archive:
            head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rng.choice((10**9, 10**18))},)}}".ljust(117)
            archive.writestr("header.npy", b"\x93NUMPY\x01\x00v\x00" + head.encode() + b"\n" + bytes(80))
    return file.getvalue()
