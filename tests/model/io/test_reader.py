"""Reading models: every element gives what the same call in Python gives, and every mistake is told with its line."""

from __future__ import annotations

import inspect
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from whippletree.elements import bodies as shapes
from whippletree.model import Mechanism
from whippletree.model.io import read_file, read_text
from whippletree.model.io.forms import CLOSURES, EVENTS, FORCES, JOINTS, SHAPES, Form

BASE = """\
name: m
parameters: {L: 2.0, "odd name": 3.0}
bodies:
  a: {mass: 1}
  b: {mass: 2}
frames:
  tip: {on: b, at: [L, 0, 0]}
joints:
  A: {revolute: [ground, a], axis: y}
  B: {planar: [a, b]}
"""
LINES = BASE.count("\n")


def base() -> tuple[Mechanism, ca.SX, ca.SX]:
    m = Mechanism("m")
    L, odd = m.parameter("L", 2.0), m.parameter("odd name", 3.0)
    m.body("a", mass=1.0)
    m.body("b", mass=2.0)
    m.frame("tip", on="b", at=(L, 0, 0))
    m.revolute("A", m.ground, "a", axis="y")
    m.planar("B", "a", "b")
    return m, L, odd


Add = Callable[[Mechanism, Any, Any], object]

ELEMENTS: list[tuple[str, Add]] = [
    ("closures: {}", lambda m, L, o: None),
    ("gravity: [0, -L, 1 / 2]", lambda m, L, o: setattr(m, "gravity", (0, -L, 0.5))),
    # bodies
    ("bodies: {c: {}}", lambda m, L, o: m.body("c")),
    ("bodies: {c: }", lambda m, L, o: m.body("c")),
    ("bodies: {c: {mass: L}}", lambda m, L, o: m.body("c", mass=L)),
    (
        "bodies: {c: {mass: 1, com: [1, L, 0], inertia: [1, 2, 2.5]}}",
        lambda m, L, o: m.body("c", mass=1, com=(1, L, 0), inertia=np.diag([1, 2, 2.5])),
    ),
    (
        "bodies: {c: {mass: 1, inertia: [[2, 0.1, 0], [0.1, 2, 0], [0, 0, 2]]}}",
        lambda m, L, o: m.body("c", mass=1, inertia=[[2, 0.1, 0], [0.1, 2, 0], [0, 0, 2]]),
    ),
    ("bodies: {c: {rod: {length: L, mass: 3}}}", lambda m, L, o: m.body("c", wt.rod(L, 3.0))),
    (
        "bodies: {c: {rod: {length: 1, mass_per_length: 3, axis: [1, 1, 0], at: [0, 0, 1]}}}",
        lambda m, L, o: m.body("c", wt.rod(1.0, mass_per_length=3.0, axis=(1, 1, 0), at=(0, 0, 1))),
    ),
    ("bodies: {c: {box: {size: [1, 2, L], mass: 1}}}", lambda m, L, o: m.body("c", wt.box((1, 2, L), mass=1.0))),
    (
        "bodies: {c: {cylinder: {radius: 0.1, length: 1, density: 1000, axis: x}}}",
        lambda m, L, o: m.body("c", wt.cylinder(0.1, 1.0, density=1000.0, axis="x")),
    ),
    (
        "bodies: {c: {sphere: {radius: 0.1, mass: 1, at: [1, 0, 0]}}}",
        lambda m, L, o: m.body("c", wt.sphere(0.1, 1.0, at=(1, 0, 0))),
    ),
    (
        "bodies: {c: {point_mass: {mass: 1, at: [1, 0, 0]}}}",
        lambda m, L, o: m.body("c", wt.point_mass(1.0, at=(1, 0, 0))),
    ),
    (
        "bodies: {c: {point_masses: [{mass: 1, at: [1, 0, 0]}, {mass: 2}]}}",
        lambda m, L, o: m.body("c", wt.point_masses([(1.0, (1, 0, 0)), (2.0, (0, 0, 0))])),
    ),
    (
        "bodies: {c: {sum: [{rod: {length: 1, mass: 1}}, {mass: 2, com: [1, 0, 0]}, {sphere: {radius: 1, mass: 1}}]}}",
        lambda m, L, o: m.body("c", wt.rod(1.0, 1.0) + wt.MassProperties(2.0, (1.0, 0.0, 0.0)) + wt.sphere(1.0, 1.0)),
    ),
    (
        "bodies: {c: {rod: {length: 1, mass: 1}, moved: {at: [0, 0, 1], "
        "rotation: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}}}",
        lambda m, L, o: m.body("c", wt.rod(1.0, 1.0).moved(at=(0, 0, 1), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])),
    ),
    # frames
    ("frames: {f: {on: ground}}", lambda m, L, o: m.frame("f", on="ground")),
    (
        "frames: {f: {on: a, at: [L, 0, 0], rotation: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}}",
        lambda m, L, o: m.frame("f", on="a", at=(L, 0, 0), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
    ),
    (
        "frames: {f: {on: a, rotation: [[cos(0.5), -sin(0.5), 0], [sin(0.5), cos(0.5), 0], [0, 0, 1]]}}",
        lambda m, L, o: m.frame(
            "f", on="a", rotation=[[np.cos(0.5), -np.sin(0.5), 0], [np.sin(0.5), np.cos(0.5), 0], [0, 0, 1]]
        ),
    ),
    # joints
    ("joints: {C: {fixed: [a, ground], at: [1, 0, 0]}}", lambda m, L, o: m.fixed("C", "a", "ground", at=(1, 0, 0))),
    (
        "joints: {C: {revolute: [a, ground], at: [L, 0, 0], axis: [1, 1, 0], axis_child: -z}}",
        lambda m, L, o: m.revolute("C", "a", "ground", at=(L, 0, 0), axis=(1, 1, 0), axis_child="-z"),
    ),
    (
        "joints: {C: {prismatic: [a, ground], axis: x, prescribed: true}}",
        lambda m, L, o: m.prismatic("C", "a", "ground", axis="x", prescribed=True),
    ),
    ("joints: {C: {cylindrical: [a, b]}}", lambda m, L, o: m.cylindrical("C", "a", "b")),
    ("joints: {C: {screw: [a, b], lead: L / 10}}", lambda m, L, o: m.screw("C", "a", "b", lead=L / 10.0)),
    ("joints: {C: {planar: [a, b], at_child: [0, 1, 0]}}", lambda m, L, o: m.planar("C", "a", "b", at_child=(0, 1, 0))),
    ("joints: {C: {universal: [a, b]}}", lambda m, L, o: m.universal("C", "a", "b")),
    ("joints: {C: {spherical: [a, b]}}", lambda m, L, o: m.spherical("C", "a", "b")),
    (
        "joints: {C: {free: [a, b], pose: {at: [1, 2, L]}, "
        "pose_child: {rotation: [[1, 0, 0], [0, 0, -1], [0, 1, 0]]}}}",
        lambda m, L, o: m.free(
            "C",
            "a",
            "b",
            pose=wt.Placement(point=(1, 2, L)),
            pose_child=wt.Placement([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
        ),
    ),
    (
        "joints: {C: {revolute: [a, b], pose: [[1, 0, 0, L], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}}",
        lambda m, L, o: m.revolute("C", "a", "b", pose=wt.Placement(point=(L, 0, 0))),
    ),
    # closures
    (
        "closures: {C: {distance: [a, ground], length: L, at: [0, 1, 0], at_child: [1, 0, 0]}}",
        lambda m, L, o: m.distance("C", "a", "ground", length=L, at=(0, 1, 0), at_child=(1, 0, 0)),
    ),
    (
        "closures: {C: {coupling: {A: 1, 'B[2]': -L}, offset: 0.5}}",
        lambda m, L, o: m.coupling("C", {"A": 1.0, ("B", 2): -L}, offset=0.5),
    ),
    (
        "closures: {C: {gear: [A, 'B[1]'], ratio: -2}}",
        lambda m, L, o: m.gear("C", "A", ("B", 1), ratio=-2.0),
    ),
    (
        "closures: {C: {expression: coordinate('A') - sin(t) * L}}",
        lambda m, L, o: m.closure("C", m.coordinate("A") - ca.sin(m.time) * L),
    ),
    (
        "closures: {C: {expression: [\"position('tip')[2]\", \"rotation('b')[0, 2] - coordinate('B', 1)\"]}}",
        lambda m, L, o: m.closure("C", ca.vertcat(m.position("tip")[2], m.rotation("b")[0, 2] - m.coordinate("B", 1))),
    ),
    (
        "closures: {C: {expression: \"rate('A') - velocity('tip')[3]\"}}",
        lambda m, L, o: m.closure("C", m.rate("A") - m.velocity("tip")[3]),
    ),
    # states and forces
    ("states: {z: {value: 2 * L}}", lambda m, L, o: m.state("z", 4.0)),
    ("states: {z: }", lambda m, L, o: m.state("z")),
    (
        "states: {z: {value: 1, rate: (sin(t) - state('z')) / L}}",
        lambda m, L, o: m.state("z", 1.0, rate=lambda z: (ca.sin(m.time) - z) / L),
    ),
    (
        "states: {y: {value: 1, rate: state('z')}, z: {rate: -state('y')}}",
        lambda m, L, o: _oscillator(m),
    ),
    (
        "forces: {s: {spring: [ground, tip], at: [0, 0, 1], stiffness: 10 * L, free_length: 0.5, damping: 1}}",
        lambda m, L, o: m.spring("s", "ground", "tip", at=(0, 0, 1), stiffness=10.0 * L, free_length=0.5, damping=1.0),
    ),
    (
        "forces: {s: {spring: [a, ground], law: 5 * elongation**3 + elongation_rate, energy: 5 * elongation**4 / 4}}",
        lambda m, L, o: m.spring(
            "s",
            "a",
            "ground",
            law=5.0 * m.elongation**3 + m.elongation_rate,
            energy=5.0 * m.elongation**4 / 4.0,
        ),
    ),
    (
        "forces: {s: {bushing: [a, ground], stiffness: [1, 2, 3, 4, 5, L], damping: [0, 0, 0, 1, 1, 1]}}",
        lambda m, L, o: m.bushing("s", "a", "ground", stiffness=(1, 2, 3, 4, 5, L), damping=(0, 0, 0, 1, 1, 1)),
    ),
    (
        "forces: {s: {torsion_spring: B, index: 1, stiffness: 2, rest: 0.1, damping: 0.2}}",
        lambda m, L, o: m.torsion_spring("s", "B", index=1, stiffness=2.0, rest=0.1, damping=0.2),
    ),
    (
        "forces: {s: {friction: A, coulomb: 0.3, viscous: 0.1, speed: 0.02}}",
        lambda m, L, o: m.friction("s", "A", coulomb=0.3, viscous=0.1, speed=0.02),
    ),
    (
        "forces: {s: {limit: A, lower: -1, upper: L, stiffness: 1e4, damping: 10, width: 0.01}}",
        lambda m, L, o: m.limit("s", "A", lower=-1.0, upper=L, stiffness=1e4, damping=10.0, width=0.01),
    ),
    (
        "forces: {s: {actuator: A, effort: \"20 * (sin(t) - coordinate('A')) - L * rate('B', 2)\"}}",
        lambda m, L, o: m.actuator("s", "A", effort=20.0 * (ca.sin(m.time) - m.coordinate("A")) - L * m.rate("B", 2)),
    ),
    (
        "forces: {s: {load: tip, at: [0, 0, 1], force: [1, t, 0], moment: [0, 0, L], frame: body}}",
        lambda m, L, o: m.load("s", "tip", at=(0, 0, 1), force=(1.0, m.time, 0.0), moment=(0.0, 0.0, L), frame="body"),
    ),
    (
        "forces: {s: {load: a, wrench: [0, 0, 0, 0, 0, \"-velocity('a')[5]\"]}}",
        lambda m, L, o: m.load("s", "a", wrench=(0, 0, 0, 0, 0, -m.velocity("a")[5])),
    ),
    (
        "forces: {s: {contact: b, at: [1, 0, 0], radius: 0.3, normal: [0, 1, 1], stiffness: 1e5, damping: 10, "
        "friction: 0.8, speed: 0.1, width: 0.01, offset: 0.1 * sin(t)}}",
        lambda m, L, o: m.contact(
            "s",
            "b",
            at=(1, 0, 0),
            radius=0.3,
            normal=(0, 1, 1),
            stiffness=1e5,
            damping=10.0,
            friction=0.8,
            speed=0.1,
            width=0.01,
            offset=0.1 * ca.sin(m.time),
        ),
    ),
    # names
    (
        'forces: {s: {actuator: A, effort: parameter("odd name") * t + time() + parameter("L")}}',
        lambda m, L, o: m.actuator("s", "A", effort=o * m.time + m.time + L),
    ),
    (
        "definitions: {half: L / 2, turn: \"coordinate('A') * half\"}\n"
        "forces: {s: {actuator: A, effort: -turn * half}}",
        lambda m, L, o: _defined(m, L),
    ),
]


def _oscillator(m: Mechanism) -> None:
    y, z = m.state("y", 1.0), m.state("z")
    m.state_rate("y", z)
    m.state_rate("z", -y)


def _defined(m: Mechanism, L: ca.SX) -> None:
    half = L / 2.0
    m.actuator("s", "A", effort=-(m.coordinate("A") * half) * half)


def merged(text: str) -> str:
    """The base file with the elements of another text added to its sections."""
    added: dict[str, str] = {}
    for line in text.splitlines():
        section, rest = line.split(":", 1)
        added[section] = rest.strip()
    lines: list[str] = []
    for line in BASE.splitlines():
        lines.append(line)
        section = line.split(":", 1)[0]
        if section in ("bodies", "frames", "joints") and section in added:
            name, rest = added.pop(section).removeprefix("{").removesuffix("}").split(":", 1)
            lines.append(f"  {name.strip()}: {rest.strip()}")
    # the order is that of the calls: what is added comes last
    moved = [line for line in lines if line.startswith(("  c:", "  f:", "  C:"))]
    for line in moved:
        lines.remove(line)
        section = {"c": "bodies:", "f": "frames:", "C": "joints:"}[line.strip()[0]]
        at = lines.index(section) + 1
        while at < len(lines) and lines[at].startswith("  "):
            at += 1
        lines.insert(at, line)
    return "\n".join([*lines, *(f"{section}: {rest}" for section, rest in added.items())]) + "\n"


@pytest.mark.parametrize("text, add", ELEMENTS, ids=[text[:50] for text, _ in ELEMENTS])
def test_an_element_is_the_call_of_its_name(text: str, add: Add) -> None:
    m, L, odd = base()
    add(m, L, odd)
    read = read_text(merged(text)).mechanism
    assert read.describe() == m.describe()
    assert read.describe().fingerprint() == m.describe().fingerprint()


@pytest.mark.parametrize("head, form", [*JOINTS.items(), *CLOSURES.items(), *FORCES.items(), *EVENTS.items()])
def test_the_keys_are_the_keywords_of_the_call(head: str, form: Form) -> None:
    """Whoever adds an argument to a call is told here to add it to the table."""
    given = inspect.signature(getattr(Mechanism, form.call or head)).parameters.values()
    keywords = {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY}
    assert set(form.keys) == set(keywords)
    assert set(form.needs) == {name for name, default in keywords.items() if default is inspect.Parameter.empty}


def test_every_call_that_declares_an_element_is_in_the_table() -> None:
    heads = {form.call or head for table in (JOINTS, CLOSURES, EVENTS, FORCES) for head, form in table.items()}
    known = heads | {"parameter", "body", "frame", "state", "state_rate", "gravity"}
    known |= {"joint", "constraint", "force"}  # elements of registered types stand under the words of these
    not_elements = {"coordinate", "rate", "position", "rotation", "velocity", "state_symbol", "describe", "build"}
    not_elements |= {"reaction"}
    not_elements |= {"name", "ground", "time", "elongation", "elongation_rate", "of", "show"}
    public = {name for name in dir(Mechanism) if not name.startswith("_")}
    assert public - not_elements == known


@pytest.mark.parametrize("name", SHAPES)
def test_the_keys_of_shapes_are_their_arguments(name: str) -> None:
    needs, may = SHAPES[name]
    given = inspect.signature(getattr(shapes, name)).parameters
    assert set(given) == {*needs, *may}
    assert set(needs) == {key for key, p in given.items() if p.default is inspect.Parameter.empty}


def test_parameters_follow_others_and_definitions_are_names() -> None:
    model = read_text(
        """
name: m
parameters: {b: 2 * a, a: 3, c: pi, odd one: 4}
definitions: {d: b + parameter("odd one"), constant: 2 * pi}
bodies: {x: {mass: d}, y: {mass: b * constant}, z: {mass: c}}
"""
    )
    d = model.mechanism.describe()
    assert [p.name for p in d.parameters] == ["a", "c", "odd one"]  # b follows a
    assert [body.properties.mass for body in d.folded().bodies] == pytest.approx([10.0, 12 * np.pi, np.pi])


def test_differences_are_no_dates() -> None:
    model = read_text("name: m\nparameters: {a: 2020 - 01 - 01, b: 1000-200-30, .nan: 1.5}\n")
    assert [p.value for p in model.mechanism.describe().parameters] == [2018.0, 770.0, 1.5]


def test_a_parameter_may_have_the_name_of_something_else() -> None:
    text = "name: m\nparameters: {t: 2, pi: 3}\nbodies: {b: {mass: parameter('t') * parameter('pi')}}\n"
    assert read_text(text).mechanism.describe().folded().body("b").properties.mass == 6.0
    with pytest.raises(wt.FileError, match=r":3:23: .*stands for something else too"):
        read_text("name: m\nparameters: {pi: 3}\nbodies: {b: {mass:  2*pi}}\n")


def test_names_that_look_like_numbers_are_names() -> None:
    model = read_text(
        "name: 12\nbodies: {1: {mass: 1}, true: {}}\njoints: {2: {revolute: [ground, 1]}, 3: {free: [1, true]}}\n"
    )
    assert model.mechanism.name == "12"
    assert [use.child for use in model.mechanism.describe().joints] == ["1", "true"]


# ---------------------------------------------------------------------------------------------------------
# start and run


def test_start_and_run() -> None:
    model = read_text(
        BASE
        + """
start:
  guess: {A: pi / 6, B: [L, 0, 1]}
  hold: A
  cut: []
  velocities: {A: 2 * L}
run: {duration: 10, method: rk4, step: 1e-3, tolerance: 1e-9, every: L / 100, formulation: auto, t0: 0.5,
      outputs: [A, tip, tip.velocity, energy]}
"""
    )
    assert model.start == {
        "guess": {"A": pytest.approx(np.pi / 6), "B": [2.0, 0.0, 1.0]},
        "hold": ["A"],
        "cut": [],
        "velocities": {"A": 4.0},
    }
    assert model.run == {
        "duration": 10.0,
        "method": "rk4",
        "step": 1e-3,
        "tolerance": 1e-9,
        "every": 0.02,
        "formulation": "auto",
        "t0": 0.5,
        "outputs": ["A", "tip", "tip.velocity", "energy"],
    }
    assert model.outputs == ("A", "tip", "tip.velocity", "energy")


FOUR_BAR = """
name: four-bar
bodies:
  crank: {rod: {length: 1, mass: 1}}
  coupler: {rod: {length: 2, mass: 2}}
  rocker: {rod: {length: 1.5, mass: 1.5}}
joints:
  A: {revolute: [ground, crank], axis: y}
  B: {revolute: [crank, coupler], at: [1, 0, 0], axis: y}
  C: {revolute: [coupler, rocker], at: [2, 0, 0], at_child: [1.5, 0, 0], axis: y}
  D: {revolute: [ground, rocker], at: [2, 0, 0], axis: y}
"""


def test_a_model_starts_as_its_file_says() -> None:
    model = read_text(FOUR_BAR + "start: {guess: {A: 1.2}, hold: [A], cut: [D], velocities: {A: -2}}\n")
    system = model.build()
    q, v = model.initial(system)
    assert q[0] == pytest.approx(1.2, abs=1e-12)
    assert v[0] == -2.0
    assert np.abs(system.closure_residual(q)).max() < 1e-12
    assert np.abs(system.closure_jacobian(q) @ v).max() < 1e-12
    assert "D between" in str(system.plan)


def test_inconsistent_velocities_are_refused() -> None:
    model = read_text(FOUR_BAR + "start: {guess: {A: 1.2}, velocities: {A: -2, D: 5}}\n")
    with pytest.raises(wt.AssemblyError):
        model.initial(model.build())


def test_a_model_that_moves_with_time_starts_at_its_time() -> None:
    text = "name: m\nbodies: {a: {mass: 1}}\njoints: {A: {prismatic: [ground, a]}}\n"
    text += "closures: {drive: {expression: coordinate('A') - t**2}}\nrun: {duration: 1, t0: 3}\n"
    model = read_text(text)
    q, v = model.initial(model.build())
    np.testing.assert_allclose([*q, *v], [9.0, 6.0], atol=1e-12)


def test_a_run_needs_a_duration() -> None:
    with pytest.raises(wt.FileError, match='no "duration"'):
        read_text(FOUR_BAR).simulate()


def test_simulate_passes_on_what_the_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(wt.System, "simulate", lambda self, **given: seen.update(given), raising=False)
    start = "start: {guess: {A: 1.2}, velocities: {A: 1}}\n"
    model = read_text(FOUR_BAR + start + "run: {duration: 2, tolerance: 1e-9, outputs: [A]}\n")
    model.simulate(tolerance=1e-6)
    assert seen.pop("v")[0] == 1.0
    assert seen.pop("q").shape == (4,)
    assert seen == {"duration": 2.0, "tolerance": 1e-6}


# ---------------------------------------------------------------------------------------------------------
# mistakes


MISTAKES: list[tuple[str, int, int, str]] = [
    # the file as such
    ("nmae: m\n", 1, 1, 'there is no key "nmae"; did you mean "name"?'),
    ("name: m\nbodees: {}\n", 2, 1, 'did you mean "bodies"?'),
    ("- 1\n", 1, 1, "a model is a mapping"),
    ("just words\n", 1, 1, "a model is a mapping"),
    ("bodies: {}\n", 1, 1, '"name" is missing'),
    ("name: [m]\n", 1, 7, "name must be a name"),
    ('name: "  "\n', 1, 7, "blank"),
    ("whippletree: 2\nname: m\n", 1, 14, "version 2"),
    ("whippletree: true\nname: m\n", 1, 14, "version true"),
    ("name: m\nbodies: 3\n", 2, 9, "bodies must be a mapping, but is the number 3"),
    ("name: m\nbodies: [a]\n", 2, 9, "bodies must be a mapping"),
    ("name: m\nbodies: {a: 3}\n", 2, 13, '"a" must be a mapping, but is the number 3'),
    ("name: m\njoints:\n  A: [revolute]\n", 3, 6, '"A" must be a mapping'),
    # parameters and definitions
    ("name: m\nparameters: {a: [1]}\n", 2, 17, 'parameter "a": this must be a number or an expression'),
    ("name: m\nparameters: {a: true}\n", 2, 17, "a truth value"),
    ("name: m\nparameters: {a: }\n", 2, 16, "empty"),
    ("name: m\nparameters: [a]\n", 2, 13, "parameters must be a mapping"),
    ("name: m\nparameters: {a: 1/0}\n", 2, 18, 'parameter "a": this divides by zero'),
    ("name: m\nparameters: {a: 1e999}\n", 2, 17, "too large a number"),
    ("name: m\nparameters: {a: .nan}\n", 2, 17, 'parameter "a": .nan is not a finite number'),
    ("name: m\nparameters: {a: -.inf}\n", 2, 17, 'parameter "a": -.inf is not a finite number'),
    ("name: m\nbodies: {b: {mass: .NaN}}\n", 2, 20, "mass: .NaN is not a finite number"),
    ("name: m\nrun: {duration: .inf}\n", 2, 17, "duration: .inf is not a finite number"),
    ("name: m\nbodies: {b: {mass: 2020-01-01}}\n", 2, 20, "2020-01-01 is a date, not a number"),
    ("name: m\nbodies: {b: {com: [0, 2020-1-31, 0]}}\n", 2, 23, "2020-1-31 is a date, not a number"),
    ("name: m\nparameters: {a: '2020-12-31'}\n", 2, 18, "2020-12-31 is a date, not a number"),
    ("name: m\nparameters: {a: .inf}\n", 2, 17, 'parameter "a"'),
    ("name: m\nparameters: {a: 2 * x}\n", 2, 21, 'there is no name "x"'),
    ("name: m\nparameters: {a: t}\n", 2, 17, "put it under definitions"),
    ("name: m\ndefinitions: {d: t}\nparameters: {a: 2 * d}\n", 3, 17, "put it under definitions"),
    ("name: m\nparameters:\n  a: b\n  b: 2 * c\n  c: a + 1\n", 3, 6, '"a" needs "b" needs "c" needs "a"'),
    ("name: m\nparameters: {a: a}\n", 2, 17, "is defined by itself"),
    ("name: m\ndefinitions:\n  d: e\n  e: parameter('d')\n", 3, 6, 'definition "d" is defined by itself'),
    ("name: m\nparameters: {a: 1}\ndefinitions: {a: 2}\n", 3, 15, "taken by a parameter"),
    ("name: m\ndefinitions: {pi: 2}\n", 2, 15, "stands for something else already"),
    ("name: m\ndefinitions: {a b: 2}\n", 2, 15, "one word"),
    ('name: m\nparameters: {"\\x07": 1}\n', 2, 13, "printable"),
    (BASE + "definitions: {d: coordinate('C')}\n", LINES + 1, 18, 'there is no joint "C"'),
    (BASE + "definitions: {d: t}\ngravity: [0, 0, d]\n", LINES + 2, 17, "changes with time or position"),
    (BASE + "gravity: [0, 0]\n", LINES + 1, 10, "gravity must be 3 numbers"),
    # bodies
    ("name: m\nbodies:\n  b: {mass: -1}\n", 3, 13, 'body "b": mass must not be negative'),
    ("name: m\nbodies:\n  b: {mass: heavy}\n", 3, 13, 'mass: there is no name "heavy"'),
    ("name: m\nbodies:\n  b: {weight: 1}\n", 3, 7, 'there is no key "weight"'),
    ("name: m\nbodies:\n  b: {com: [1, 0, 0]}\n", 3, 12, "com is given without mass"),
    ("name: m\nbodies:\n  b: {mass: 1, com: [1, 0]}\n", 3, 21, "com must be 3 numbers in a list, but is a list of 2"),
    ("name: m\nbodies:\n  b: {mass: 1, inertia: [1, 1, 5]}\n", 3, 25, "triangle inequality"),
    ("name: m\nbodies:\n  b: {mass: 1, inertia: [[1, 0], [0, 1]]}\n", 3, 25, "3 rows of 3 numbers"),
    ("name: m\nbodies:\n  b: {rod: {length: 1}}\n", 3, 6, "give either mass or mass_per_length"),
    ("name: m\nbodies:\n  b: {rod: {lenght: 1, mass: 1}}\n", 3, 13, 'rod: there is no key "lenght"'),
    ("name: m\nbodies:\n  b: {rod: {mass: 1}}\n", 3, 12, 'rod: the key "length" is missing'),
    ("name: m\nbodies:\n  b: {rod: 1}\n", 3, 12, "rod must be a mapping"),
    ("name: m\nbodies:\n  b: {rod: {length: 1, mass: 1}, mass: 1}\n", 3, 34, 'give either "rod" or "mass"'),
    ("name: m\nbodies:\n  b: {sum: []}\n", 3, 12, "must have parts"),
    ("name: m\nbodies:\n  b: {sum: [3]}\n", 3, 13, "must be a mapping"),
    ("name: m\nbodies:\n  b: {sum: [{rod: {length: 1, mas: 2}}]}\n", 3, 31, 'there is no key "mas"'),
    ("name: m\nbodies:\n  b: {point_masses: {mass: 1}}\n", 3, 21, "point_masses must be a list"),
    ("name: m\nbodies:\n  b: {point_masses: [{at: [0, 0, 0]}]}\n", 3, 22, '"mass" is missing'),
    ("name: m\nbodies:\n  b: {mass: 1, moved: {to: 1}}\n", 3, 24, 'moved: there is no key "to"'),
    ("name: m\nbodies:\n  ground: {mass: 1}\n", 3, 3, "belongs to the ground"),
    ("name: m\nbodies: {b: {}, b: {}}\n", 2, 17, "given twice"),
    # frames
    ("name: m\nframes:\n  f: {on: b}\n", 3, 11, 'frame "f": on: there is no body "b"'),
    ("name: m\nframes:\n  f: {at: [0, 0, 0]}\n", 3, 3, '"on" is missing'),
    (BASE.replace("tip: {", "a: {"), 7, 3, 'the name "a" is taken'),
    # joints
    (
        BASE + "  C: {revolut: [a, b]}\n",
        LINES + 1,
        7,
        'joint "C": there is no type "revolut"; did you mean "revolute"?',
    ),
    (BASE + "  C: {at: [0, 0, 0]}\n", LINES + 1, 3, "say what it is: give one of the keys fixed, "),
    (BASE + "  C: {revolute: [a, b], axes: y}\n", LINES + 1, 25, 'there is no key "axes"; did you mean "axis"?'),
    (BASE + "  C: {revolute: [a, bb]}\n", LINES + 1, 21, 'child: there is no body "bb"'),
    (BASE + "  C: {revolute: [aa, b]}\n", LINES + 1, 18, 'parent: there is no body "aa"'),
    (BASE + "  C: {revolute: [a, tip]}\n", LINES + 1, 21, "is a frame: give a body"),
    (BASE + "  C: {revolute: [a, a]}\n", LINES + 1, 18, "needs two different bodies"),
    (BASE + "  C: {revolute: [a]}\n", LINES + 1, 17, "revolute must be 2 names of bodies"),
    (BASE + "  C: {revolute: a}\n", LINES + 1, 17, "revolute must be 2 names of bodies"),
    (BASE + "  C: {revolute: [a, [b]]}\n", LINES + 1, 21, "revolute[1] must be a name"),
    (BASE + "  C: {revolute: [a, b], free: [a, b]}\n", LINES + 1, 25, 'given as "revolute" and "free"'),
    (BASE + "  C: {screw: [a, b]}\n", LINES + 1, 3, 'the key "lead" is missing'),
    (BASE + "  C: {screw: [a, b], lead: L - 2}\n", LINES + 1, 28, "lead must not be zero"),
    (BASE + "  C:\n    revolute: [a, b]\n    axis: [0, 0, 0]\n", LINES + 3, 11, "axis must not be zero"),
    (BASE + "  C:\n    revolute: [a, b]\n    axis: [L, 0, 0]\n", LINES + 3, 11, "must be plain numbers"),
    (BASE + "  C:\n    revolute: [a, b]\n    axis: w\n", LINES + 3, 11, "axis must be"),
    (BASE + "  C:\n    revolute: [a, b]\n    at: [1, 2, M]\n", LINES + 3, 16, 'at[2]: there is no name "M"'),
    (BASE + "  C:\n    revolute: [a, b]\n    at: [1, 2, sin(t)]\n", LINES + 3, 20, "only parameters can stand"),
    (BASE + "  C:\n    revolute: [a, b]\n    at: [1, 2, true]\n", LINES + 3, 16, "a truth value"),
    (BASE + "  C:\n    revolute: [a, b]\n    at: [1, 2, {a: 1}]\n", LINES + 3, 16, "a mapping"),
    (BASE + "  C:\n    revolute: [a, b]\n    prescribed: 1\n", LINES + 3, 17, "true or false"),
    (BASE + "  C: {fixed: [a, b], prescribed: true}\n", LINES + 1, 3, "cannot be prescribed"),
    (BASE + "  C:\n    free: [a, b]\n    pose: {rotation: 3}\n", LINES + 3, 22, "pose: rotation must be 3 rows"),
    (BASE + "  C:\n    free: [a, b]\n    pose: {turned: 3}\n", LINES + 3, 12, 'pose: there is no key "turned"'),
    (BASE + "  C:\n    free: [a, b]\n    pose: [1, 2]\n", LINES + 3, 11, "pose must be 4 rows of 4 numbers"),
    (BASE + "  C:\n    free: [a, b]\n    pose: {}\n    at: [0, 0, 0]\n", LINES + 1, 3, "either pose or at"),
    (BASE + "  A: {free: [a, b]}\n", LINES + 1, 3, "given twice: it stands in line 9"),
    # closures
    (BASE + "closures:\n  A: {gear: [A, B], ratio: 1}\n", LINES + 2, 3, 'the name "A" is taken'),
    (BASE + "closures:\n  g: {gear: [A, C], ratio: 1}\n", LINES + 2, 17, 'there is no joint "C"'),
    (BASE + "closures:\n  g: {gear: [A, B]}\n", LINES + 2, 3, '"ratio" is missing'),
    (BASE + "closures:\n  g: {gear: [A, 'B[3]'], ratio: 1}\n", LINES + 2, 3, "no coordinate 3"),
    (BASE + "closures:\n  g: {coupling: [A, B]}\n", LINES + 2, 17, "mapping from joints to ratios"),
    (BASE + "closures:\n  g: {coupling: {A: 1, 'A[0]': 1}}\n", LINES + 2, 24, "given already"),
    (BASE + "closures:\n  g: {coupling: {A: x}}\n", LINES + 2, 21, 'coupling: "A": there is no name "x"'),
    (BASE + "closures:\n  g: {distance: [a, b], length: -1}\n", LINES + 2, 33, "length must be positive"),
    (BASE + "closures:\n  g: {expression: 3}\n", LINES + 2, 3, "depends on no coordinate"),
    (BASE + "closures:\n  g: {expression: rate(A)}\n", LINES + 2, 24, "such names go in quotes"),
    (BASE + "closures:\n  g: {expression: \"rate('A', 1)\"}\n", LINES + 2, 20, "no coordinate 1"),
    (BASE + "closures:\n  g: {expression: \"rate('A', 0.5)\"}\n", LINES + 2, 20, "whole number"),
    (BASE + "closures:\n  g: {expression: rate()}\n", LINES + 2, 19, "is used as rate(a name in quotes)"),
    (BASE + "closures:\n  g: {expression: position('tap')}\n", LINES + 2, 19, 'did you mean "tip"?'),
    (BASE + "closures:\n  g: {expression: position('tip')}\n", LINES + 2, 19, "has 3 entries"),
    (BASE + "closures:\n  g:\n    expression: rate('A')**2\n", LINES + 2, 3, "not affine"),
    (BASE + "closures:\n  g: {expression: []}\n", LINES + 2, 19, "a list of 0"),
    (BASE + "closures:\n  g: {closure: 1}\n", LINES + 2, 7, 'there is no type "closure"'),
    # forces and states
    (BASE + "forces:\n  f: {sprung: [a, b]}\n", LINES + 2, 7, 'did you mean "spring"?'),
    (BASE + "forces:\n  f: {spring: [a, b]}\n", LINES + 2, 3, "give stiffness and free_length"),
    (BASE + "forces:\n  f: {spring: [a, c], damping: 1}\n", LINES + 2, 19, 'no body or frame "c"'),
    (BASE + "forces:\n  f: {spring: [a, b], stiffness: -1, free_length: 1}\n", LINES + 2, 34, "must not be negative"),
    (BASE + "forces:\n  f: {spring: [a, b], law: t * lengthening}\n", LINES + 2, 32, "there is no name"),
    (BASE + "forces:\n  f: {actuator: A, effort: elongation}\n", LINES + 2, 28, "belongs in the law of a spring"),
    (BASE + "forces:\n  f: {actuator: A}\n", LINES + 2, 3, '"effort" is missing'),
    (BASE + "forces:\n  f: {actuator: C, effort: 1}\n", LINES + 2, 17, 'there is no joint "C"'),
    (BASE + "forces:\n  f: {actuator: A, effort: 1, index: 0.5}\n", LINES + 2, 38, "whole number"),
    (BASE + "forces:\n  f: {actuator: A, effort: 1, index: 2}\n", LINES + 2, 17, "no freedom 2"),
    (BASE + "forces:\n  f: {actuator: A, effort: 1 +}\n", LINES + 2, 31, "the expression ends"),
    (BASE + "forces:\n  f:\n    actuator: A\n    effort: >\n      1 +\n      sine(t)\n", LINES + 6, 7, '"sine"'),
    (BASE + "forces:\n  f: {actuator: A, effort: state('z')}\n", LINES + 2, 28, 'there is no state "z"'),
    (BASE + "forces:\n  f: {load: a, force: [0, 0]}\n", LINES + 2, 23, "force must be 3 numbers"),
    (BASE + "forces:\n  f: {load: ground, force: [0, 0, 1]}\n", LINES + 2, 13, "is the ground"),
    (BASE + "forces:\n  f: {load: a, force: [0, 0, 1], frame: b}\n", LINES + 2, 41, "frame must be"),
    (BASE + "forces:\n  f: {contact: a, friction: 1}\n", LINES + 2, 3, '"stiffness" is missing'),
    (BASE + "forces:\n  f: {bushing: [a, b], stiffness: [1, 2]}\n", LINES + 2, 35, "stiffness must be 6 numbers"),
    (BASE + "forces:\n  f: {limit: A, stiffness: 1, lower: 1, upper: 0}\n", LINES + 2, 38, "less than upper"),
    (BASE + "states:\n  z: {value: t}\n", LINES + 2, 14, "only parameters can stand"),
    (BASE + "states:\n  z: {start: 1}\n", LINES + 2, 7, 'there is no key "start"'),
    (BASE + "states:\n  z: {rate: state('y')}\n", LINES + 2, 13, 'there is no state "y"'),
    # start and run
    (BASE + "start: {guess: {C: 1}}\n", LINES + 1, 17, 'start: guess: there is no joint "C"'),
    (BASE + "start: {guess: {A: [1, 2]}}\n", LINES + 1, 20, "must be a number"),
    (BASE + "start: {guess: {B: 1}}\n", LINES + 1, 20, "must be 3 numbers"),
    (BASE + "start: {guess: 1}\n", LINES + 1, 16, "mapping from joints to numbers"),
    (BASE + "start: {hold: [A, C]}\n", LINES + 1, 19, 'there is no joint "C"'),
    (BASE + "start: {cut: C}\n", LINES + 1, 14, 'there is no joint "C"'),
    (BASE + "start: {speed: 1}\n", LINES + 1, 9, 'there is no key "speed"'),
    (BASE + "run: {duration: 0}\n", LINES + 1, 17, "run: duration must be positive"),
    (BASE + "run: {duration: 1, step: 0}\n", LINES + 1, 26, "step must be positive"),
    (BASE + "run: {tolerance: -1}\n", LINES + 1, 18, "tolerance must be positive"),
    (BASE + "run: {duration: long}\n", LINES + 1, 17, 'there is no name "long"'),
    (BASE + "run: {durations: 1}\n", LINES + 1, 7, 'did you mean "duration"?'),
    (BASE + "run: {method: [rk4]}\n", LINES + 1, 15, "method must be a name"),
    (BASE + "run: {outputs: [A, top]}\n", LINES + 1, 20, 'nothing called "top"'),
    (BASE + "run: 10\n", LINES + 1, 6, "run must be a mapping"),
]


@pytest.mark.parametrize(
    "text, line, column, words", MISTAKES, ids=[f"{m[3][:40]}-{i}" for i, m in enumerate(MISTAKES)]
)
def test_a_mistake_is_told_with_its_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(wt.FileError) as error:
        read_text(text, "m.yaml")
    told = str(error.value)
    assert words in told
    assert (error.value.line, error.value.column) == (line, column)
    assert told.startswith(f"m.yaml:{line}:{column}: ")
    assert error.value.file == "m.yaml"
    assert "\n" not in told


def test_an_expression_that_calls_something_forbidden() -> None:
    with pytest.raises(wt.FileError) as error:
        read_text(BASE + "forces:\n  f: {actuator: A, effort: __import__('os').system('true')}\n", "m.yaml")
    assert str(error.value).startswith(f'm.yaml:{LINES + 2}:44: force "f": effort: "." is not understood')
    with pytest.raises(wt.FileError, match=r'there is no function "__import__"; there are .*sin, cos'):
        read_text(BASE + "forces:\n  f: {actuator: A, effort: __import__('os')}\n", "m.yaml")


# ---------------------------------------------------------------------------------------------------------
# files


def test_read_takes_a_path_or_text(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(BASE, encoding="utf-8")
    models = [wt.read(file), wt.read(str(file)), wt.read(BASE), read_file(file)]
    assert len({model.mechanism.describe().fingerprint() for model in models}) == 1
    assert models[0].name == str(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(wt.FileError, match=r"missing\.yaml: the file cannot be read"):
        wt.read(tmp_path / "missing.yaml")
    with pytest.raises(wt.FileError, match="the file cannot be read"):
        wt.read(tmp_path)
    with pytest.raises(wt.FileError, match="must be text"):
        wt.read(3)  # type: ignore[arg-type]
    with pytest.raises(wt.FileError):
        wt.read("a\0b")
    with pytest.raises(wt.FileError, match="must be text"):
        read_text(b"name: m")  # type: ignore[arg-type]
    empty = tmp_path / "empty.yaml"
    empty.write_bytes(b"")
    with pytest.raises(wt.FileError, match=r"empty\.yaml: the file is empty"):
        wt.read(empty)


@pytest.mark.parametrize(
    "data, line, column",
    [
        (b"name: m\nbodies: {\xff: {}}\n", 2, 10),
        (b"\xff\xfen\x00a\x00", 1, 1),
        ("name: m\n".encode("utf-16-le"), 1, 2),
    ],
)
def test_files_that_are_not_utf_8(data: bytes, line: int, column: int, tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_bytes(data)
    with pytest.raises(wt.FileError) as error:
        wt.read(file)
    assert error.value.line is None or (error.value.line, error.value.column) == (line, column)


def test_a_byte_order_mark_is_fine(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_bytes(b"\xef\xbb\xbfname: m\n")
    assert wt.read(file).mechanism.name == "m"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no endless file here")
def test_an_endless_file_is_refused() -> None:
    with pytest.raises(wt.FileError, match="too large"):
        wt.read("/dev/zero")


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("name: m\n")
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(wt.FileError, match="cannot be read"):
        wt.read(file)


def test_errors_travel_between_processes() -> None:
    with pytest.raises(wt.FileError) as error:
        read_text("name: m\nbodees: {}\n", "m.yaml")
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.file, again.line, again.column) == (str(error.value), "m.yaml", 2, 1)
