"""What a first call does is done once: sweeps, builds and readings are counted, not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.elements.user_functions import Written
from whippletree.formulations.closures import loop_results

PENDULUM = """
name: pendulum
parameters: {arm: 1.5}
bodies: {bob: {point_mass: {mass: 1}}}
joints: {A: {revolute: [ground, bob], axis: y, at_child: [arm, 0, 0]}}
start: {guess: {A: 1}}
run: {duration: 0.01}
"""


def ladder(rungs: int) -> wt.System:
    """A beam on cranks side by side, in a plane: each crank but two brings six redundant equations, less its angle."""
    m = wt.Mechanism("ladder", gravity=(0, -9.81, 0))
    beam = m.body("beam", wt.rod(length=2.0, mass=2.0, axis="x"))
    guess = {}
    for k, x in enumerate(np.linspace(0.0, 2.0, rungs)):
        crank = m.body(f"crank {k}", wt.rod(length=0.8, mass=1.0, axis="x"))
        m.revolute(f"low {k}", m.ground, crank, at=(x, 0, 0), axis="z")
        m.revolute(f"high {k}", crank, beam, at=(0.8, 0, 0), at_child=(x, 0, 0), axis="z")
        guess |= {f"low {k}": 0.7, f"high {k}": -0.7}
    return m.build(guess=guess)


@pytest.mark.parametrize("rungs", [2, 4])
def test_one_sweep_serves_all_redundant_equations(rungs, monkeypatch):
    sweeps: list[int] = []
    sweep = loop_results.static_reactions

    def counted(walk: Any, closure_set: Any, multipliers: Any, order: Any) -> Any:
        sweeps.append(multipliers[0].shape[1])
        return sweep(walk, closure_set, multipliers, order)

    monkeypatch.setattr(loop_results, "static_reactions", counted)
    s = ladder(rungs)
    kernel = s.kernels.kernel("self_stresses")
    kernel.program()
    assert sweeps == [kernel.output_sizes[0] // (6 * len(s.joint_names))] == [3 + 4 * (rungs - 2)]


@pytest.mark.parametrize("name", ["reactions", "self_stresses"])
def test_code_that_took_little_effort_gives_the_same_bits(name):
    """For one state it is compiled with less effort than in lanes, since NumPy takes far longer with the result."""
    s = ladder(4)
    kernel = s.kernels.kernel(name)
    v = s.consistent_velocities(s.q0, np.ones(s.nv))
    given = [{"q": s.q0, "v": v, "tau": np.arange(s.nv, dtype=float)}.get(n) for n in kernel.input_names]
    one, many = np.zeros(kernel.output_sizes[0]), np.zeros((3, kernel.output_sizes[0]))
    kernel.one(given, [one])
    kernel.many(given, [many], 3, 1)
    assert np.array_equal(many, np.stack([one] * 3))
    assert np.abs(one).max() > 0.1


@pytest.mark.parametrize("rungs", [2, 4])
def test_self_stresses_balance_on_every_body(rungs):
    """Newton and Euler at rest, in NumPy: what the joints exert on a body by a self-stress has no resultant."""
    s = ladder(rungs)
    kernel = s.kernels.kernel("self_stresses")
    stresses = np.zeros(kernel.output_sizes[0])
    kernel.one([s.q0], [stresses])
    stresses = stresses.reshape(len(s.joint_names), 6, -1)
    assert np.linalg.matrix_rank(stresses.reshape(-1, stresses.shape[-1])) == stresses.shape[-1]
    total: dict[str, np.ndarray] = {}
    for use, wrench in zip(s.description.joints, stresses, strict=True):
        pose = s.pose(s.q0, use.child)
        point = pose[:3, 3] + pose[:3, :3] @ np.array(use.on_child.point)
        at_origin = np.vstack([wrench[:3] + np.cross(point, wrench[3:], axisb=0, axisc=0), wrench[3:]])
        for body, sign in ((use.child, 1.0), (use.parent, -1.0)):
            total[body] = total.get(body, 0.0) + sign * at_origin
    total.pop("ground")
    for resultant in total.values():
        np.testing.assert_allclose(resultant, 0.0, atol=1e-12)


def test_a_model_is_built_once_for_several_runs(monkeypatch):
    builds: list[None] = []
    build = wt.Mechanism.build

    def counted(self: wt.Mechanism, **choices: Any) -> wt.System:
        builds.append(None)
        return build(self, **choices)

    monkeypatch.setattr(wt.Mechanism, "build", counted)
    model = wt.read(PENDULUM)
    ends = [model.simulate(parameters={"arm": arm})["A"][-1] for arm in (1.0, 2.0, 1.0)]
    assert len(builds) == 1
    assert ends[0] == ends[2] != ends[1]
    alone = build(model.mechanism, guess={"A": 1.0}).simulate(0.01, parameters={"arm": 2.0})["A"][-1]
    assert ends[1] == alone
    model.mechanism.actuator("motor", "A", effort=3.0)
    changed = model.simulate(parameters={"arm": 2.0})["A"][-1]
    assert len(builds) == 2
    assert changed != ends[1]
    model.start["guess"]["A"] = 0.9  # type: ignore[index]
    model.simulate()
    assert len(builds) == 3


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, in Python and from it."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def laws(count: int) -> str:
    """A pendulum with a motor and two lines that follow it, so many times."""
    lines = ["name: laws", "bodies:", *(f"  b{i}: {{rod: {{length: 1, mass: 1}}}}" for i in range(count)), "joints:"]
    lines += [f"  j{i}: {{revolute: [ground, b{i}], axis: y}}" for i in range(count)]
    lines += ["parameters:", *(f"  p{i}: {i + 1}" for i in range(count)), "forces:"]
    law = 'sin(2 * pi * t) - p{0} * coordinate("j{0}") - rate("j{1}")'
    lines += [f"  f{i}: {{actuator: j{i}, effort: '{law.format(i, max(i - 1, 0))}'}}" for i in range(count)]
    return "\n".join(lines) + "\n"


def test_reading_laws_is_linear_in_their_number():
    wt.read(laws(2))
    few, many = (calls(lambda n=n: wt.read(laws(n))) for n in (20, 80))
    assert many < 4.2 * few


def test_building_laws_is_linear_in_their_number():
    few, many = (wt.read(laws(n)) for n in (20, 80))
    few.build()
    assert calls(many.build) < 4.2 * calls(few.build)


def test_the_functions_of_laws_are_made_when_they_are_asked_for(monkeypatch):
    made: list[str] = []
    function = Written.function

    def counted(self: Written, inputs: Any) -> Any:
        made.append(self.name)
        return function(self, inputs)

    monkeypatch.setattr(Written, "function", counted)
    model = wt.read(laws(3))
    assert made == []
    assert model.mechanism.describe().fingerprint() == model.build().description.fingerprint()
    assert made == ["formula"] * 3
