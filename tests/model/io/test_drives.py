"""Drives and splines in model files."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from whippletree.elements.drivers.spline import ENDS
from whippletree.elements.drivers.table import KINDS
from whippletree.model.io.reader import from_text
from whippletree.model.io.writer import to_text

TEXT = """
name: driven
parameters: {amplitude: 0.3}
splines:
  lift: {times: [0, 0.5, 1, 2], values: [0, 0.1, -0.1, 0], ends: periodic}
bodies: {arm: {rod: {length: 1, mass: 1}}, nut: {mass: 2, inertia: [1, 1, 1]}, puck: {mass: 1, inertia: [1, 1, 1]}}
joints:
  A: {revolute: [ground, arm], axis: y}
  Z: {cylindrical: [ground, nut], axis: x}
  F: {free: [ground, puck]}
closures:
  motor: {drive: A, position: amplitude * sin(t)}
  push: {drive: Z, index: 1, position: 'spline("lift", 2 * t)'}
  hand: {drive_point: puck, at: [0.1, 0, 0], position: ['spline("lift", t)', null, 0.5]}
forces:
  pull: {actuator: Z, effort: '3 * spline("lift", coordinate("A"))'}
  press: {actuator: Z, effort: 'table("gears", t) * table("ramp", 2 * coordinate("A"))'}
tables:
  gears: {x: [0, 1, 3], y: [1, 2, 4], kind: hold}
  ramp: {x: [0, 1, 3], y: [1, 2, 2]}
"""


def described() -> wt.Mechanism:
    """The same in Python."""
    m = wt.Mechanism("driven")
    amplitude = m.parameter("amplitude", 0.3)
    lift = wt.Spline([0, 0.5, 1, 2], [0, 0.1, -0.1, 0], "periodic")
    m.body("arm", wt.rod(length=1.0, mass=1.0))
    m.body("nut", mass=2.0, inertia=np.eye(3))
    m.body("puck", mass=1.0, inertia=np.eye(3))
    m.revolute("A", m.ground, "arm", axis="y")
    m.cylindrical("Z", m.ground, "nut", axis="x")
    m.free("F", m.ground, "puck")
    m.drive("motor", "A", position=amplitude * ca.sin(m.time))
    m.drive("push", "Z", index=1, position=lift(2 * m.time))
    m.drive_point("hand", "puck", at=(0.1, 0, 0), position=(lift, None, 0.5))
    m.actuator("pull", "Z", effort=3 * lift(m.coordinate("A")))
    gears, ramp = wt.Table([0, 1, 3], [1, 2, 4], "hold"), wt.Table([0, 1, 3], [1, 2, 2])
    m.actuator("press", "Z", effort=gears(m.time) * ramp(2 * m.coordinate("A")))
    return m


def test_a_file_says_what_python_says() -> None:
    assert from_text(TEXT).mechanism.describe() == described().describe()


def test_written_and_read_again() -> None:
    text = to_text(described())
    assert from_text(text).mechanism.describe() == described().describe()
    assert """'spline("s1", t)'""" in text  # what follows a spline is written as one does it


@pytest.mark.parametrize("ends", ENDS)
def test_splines_within_expressions_are_read_back(ends: str) -> None:
    m = wt.Mechanism("m")
    m.revolute("A", m.ground, m.body("arm", mass=1.0, com=(1, 0, 0)))
    curve = wt.Spline([0.1, 0.4, 1.3, 1.7, 2.9], [0.3, -0.2, 0.7, 1.1, 0.3], ends)
    other = wt.Spline([0.0, 1.0], [0.0, 1.0])
    m.drive("motor", "A", position=curve(m.time) * curve(2 * m.time + 0.3) + other(curve(m.time) / 3))
    assert from_text(to_text(m)).mechanism.describe() == m.describe()


def test_what_follows_a_table_is_written_as_one_does_it() -> None:
    m = wt.Mechanism("m")
    m.revolute("A", m.ground, m.body("arm", mass=1.0, com=(1, 0, 0)))
    m.drive("motor", "A", position=wt.Table([0, 1, 3], [0, 0.5, 0.5], "pchip"))
    text = to_text(m)
    assert """'table("t1", t)'""" in text
    assert from_text(text).mechanism.describe() == m.describe()


@pytest.mark.parametrize("kind", KINDS)
def test_tables_within_expressions_are_read_back(kind: str) -> None:
    m = wt.Mechanism("m")
    m.revolute("A", m.ground, m.body("arm", mass=1.0, com=(1, 0, 0)))
    table = wt.Table([0.1, 0.4, 1.3, 1.7, 2.9], [0.3, -0.2, 0.7, 1.1, 0.3], kind)
    spline = wt.Spline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    m.actuator("motor", "A", effort=table(m.time) * spline(m.time) + table(2 * m.coordinate("A") + table(m.time)))
    assert from_text(to_text(m)).mechanism.describe() == m.describe()


def test_a_file_with_drives_runs() -> None:
    run = from_text(TEXT).simulate(duration=0.5, every=0.1)
    assert run["A"] == pytest.approx(0.3 * np.sin(run.t), abs=1e-12)
    lift = wt.Spline([0, 0.5, 1, 2], [0, 0.1, -0.1, 0], "periodic")
    assert run["Z"][:, 1] == pytest.approx(lift(2 * run.t), abs=1e-12)
    assert (run.pose("puck") @ [0.1, 0, 0, 1])[:, [0, 2]] == pytest.approx(
        np.column_stack([lift(run.t), 0 * run.t + 0.5]), abs=1e-12
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("times: [0, 0.5, 1, 2]", "times: [0, 0.5, 0.5, 2]", r':5:\d+: spline "lift": .*must increase'),
        ("times: [0, 0.5, 1, 2]", "times: 3", r":5:\d+: .*times must be a list of numbers"),
        ("times: [0, 0.5, 1, 2]", "times: [0, a, 1, 2]", r":5:\d+: .*no name \"a\""),
        ("ends: periodic", "ends: loose", r":5:\d+: .*ends must be one of"),
        ("ends: periodic", "end: periodic", r":5:\d+: .*no key \"end\"; did you mean \"ends\""),
        ("values: [0, 0.1, -0.1, 0], ", "", r":5:\d+: .*key \"values\" is missing"),
        ("drive: A,", "drive: B,", r':12:\d+: closure "motor": .*no joint "B"'),
        ("index: 1", "index: 2", r":13:\d+: .*no coordinate 2"),
        ("position: amplitude * sin(t)", "speed: 3", r":12:\d+: .*no key \"speed\""),
        ("position: amplitude * sin(t)", "position: 'rate(\"Z\")'", r":12:\d+: .*depends on \"Z\""),
        ('spline("lift", 2 * t)', 'spline("left", 2 * t)', r':13:\d+: .*no spline "left"; did you mean "lift"'),
        ('spline("lift", 2 * t)', "spline(2 * t)", r":13:\d+: .*spline\(a name in quotes, where\)"),
        ('spline("lift", 2 * t)', 'piece("lift", t)', r":13:\d+: .*5 entries"),
        ("kind: hold", "kind: held", r":19:\d+: table \"gears\": .*kind must be one of"),
        ("x: [0, 1, 3], y: [1, 2, 4]", "x: [0, 3, 1], y: [1, 2, 4]", r":19:\d+: table .*must increase"),
        ("gears: {", "lift: {", r':19:\d+: table "lift": the name is taken by a spline'),
        ('table("gears", t)', 'table("lift", t)', r':17:\d+: .*no table "lift"'),
        ('spline("lift", 2 * t)', 'table("ramp", 2 * t)', r":13:\d+: .*velocities would have to jump"),
        ("null, 0.5]", "0.5]", r":14:\d+: .*position must be 3 expressions"),
        ("amplitude: 0.3", "amplitude: 'spline(\"lift\", 1)'", r":3:\d+: .*under definitions"),
    ],
)
def test_mistakes_are_told_with_their_line(old: str, new: str, words: str) -> None:
    assert old in TEXT
    with pytest.raises(wt.FileError, match=words):
        from_text(TEXT.replace(old, new, 1))


def test_other_calls_are_not_written() -> None:
    m = wt.Mechanism("m")
    m.revolute("A", m.ground, m.body("arm", mass=1.0, com=(1, 0, 0)))
    x = ca.SX.sym("x")
    strange = ca.Function("strange", [x], [x * x], {"never_inline": True})
    m.actuator("motor", "A", effort=strange(m.time))
    with pytest.raises(wt.FileError, match='"strange"'):
        to_text(m)
