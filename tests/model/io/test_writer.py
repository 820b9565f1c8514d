"""Writing models: what is written reads back as the same mechanism, to the last digit, or is refused."""

from __future__ import annotations

import math
import os
import string
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whippletree as wt
from support import reference_problems as reference
from support.loop_models import described
from support.random_forces import load_up
from support.random_loops import FAMILIES, Draft
from support.random_trees import random_mechanism
from support.sampling import examples, sampled
from whippletree.model.io import Model, read_file, read_text, write_file, write_text

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def check(m: wt.Mechanism) -> str:
    """Write, read, compare, and write again."""
    text = write_text(m)
    again = read_text(text).mechanism
    assert again.describe() == m.describe()
    assert again.describe().fingerprint() == m.describe().fingerprint()
    assert again.describe().parameter_values == m.describe().parameter_values
    assert write_text(again) == text
    return text


@pytest.mark.parametrize("seed", sampled(range(6), lambda seed: seed < 2))
def test_random_trees(seed: int) -> None:
    m = random_mechanism(seed, 6, prescribed=0.3)
    check(m)
    load_up(m, np.random.default_rng(seed))
    check(m)


@pytest.mark.rest
@pytest.mark.parametrize("family", sampled(FAMILIES, lambda family: family in list(FAMILIES)[::4]))
def test_random_loops(family: str) -> None:
    draw, _, _ = FAMILIES[family]
    for i in range(2):
        draft = Draft(np.random.default_rng(i))
        draw(draft, i)
        m = described(draft.finished(f"{family} {i}"))
        load_up(m, np.random.default_rng(i))
        check(m)


@pytest.mark.parametrize("make", [lambda: reference.n_four_bar(3), reference.bricard, reference.andrews])
def test_published_mechanisms(make: Any) -> None:
    check(make())


@pytest.mark.parametrize("file", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda file: file.stem)
def test_the_files_of_the_examples(file: Path) -> None:
    model = read_file(file)
    text = write_text(model)
    again = read_text(text)
    assert again.mechanism.describe() == model.mechanism.describe()
    assert again.start == model.start
    assert again.run == model.run


def test_a_plain_file_is_plain() -> None:
    """What is a shape becomes numbers, and stays what is drawn; points and axes stay points and axes."""
    m = wt.Mechanism("arm")
    L = m.parameter("L", 2.0)
    m.body("link", wt.rod(L, 3.0))
    m.body("empty")
    m.revolute("A", m.ground, "link", at=(0, 0, 1), axis="-y")
    m.universal("U", "link", "empty", axis="z", axis_child="x", at=(L, 0, 0))
    assert check(m) == (
        "whippletree: 1\nname: arm\ngravity: [0.0, 0.0, -9.81]\nparameters: {L: 2.0}\n"
        "definitions: {x1: L / 2.0, x2: 3.0 * L * L / 12.0}\n\nbodies:\n  link:\n    mass: 3.0\n"
        "    com: [x1, 0.0, 0.0]\n    inertia: [0.0, x2, x2]\n    shapes:\n    - rod: {length: L}\n"
        "      at: [x1, 0.0, 0.0]\n      rotation:\n      - [0.0, 0.0, 1.0]\n      - [1.0, 0.0, 0.0]\n"
        "      - [0.0, 1.0, 0.0]\n  empty: {}\n\njoints:\n  A:\n    revolute: [ground, link]\n"
        "    at: [0.0, 0.0, 1.0]\n    axis: -y\n"
        "  U:\n    universal: [link, empty]\n    at: [L, 0.0, 0.0]\n    axis: z\n    axis_child: x\n"
    )


@pytest.mark.rest
@pytest.mark.parametrize(
    "name",
    [
        "two words",
        "t",
        "pi",
        "sin",
        "x1",
        "elongation",
        "1",
        "1e3",
        "true",
        "null",
        "~",
        "-",
        "- a",
        "a: b",
        "a #b",
        "#",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "?",
        "{a}",
        "[a]",
        "A[0]",
        "'",
        '"',
        "\\",
        "\\\"'",
        "=",
        "<<",
        "é ü",
        "关节",
        "🙂",
        "a" * 300,
        " lead",
        "trail ",
        "---",
        "...",
        "parameter",
        "[a, b]",
        "[",
    ],
)
def test_any_name_can_be_written(name: str) -> None:
    m = wt.Mechanism(name)
    p = m.parameter(name, 2.0)
    body = m.body(name, mass=p)
    m.frame(f"{name}!", on=body, at=(p, 0, 0))
    m.revolute(name, m.ground, body, at=(2 * p, 0, 0))
    m.cylindrical("other", body, m.body("last", mass=1.0))
    m.coupling("gear", {name: 1.0, ("other", 1): -p})
    m.closure("law", m.coordinate(name) - m.time * p + m.position(f"{name}!")[0] * m.rotation(name)[0, 1])
    z = m.state(name, 1.0, rate=lambda z: -z * m.time)
    m.actuator(name, name, effort=z + m.velocity(f"{name}!")[3] + p * m.rate("other", 1))
    check(m)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(min_size=1, max_size=12), st.text(alphabet=string.printable, min_size=1, max_size=12))
def test_random_names(first: str, second: str) -> None:
    try:
        m = wt.Mechanism(first)
        m.body(second, mass=m.parameter(first, 1.0))
        m.revolute(first, m.ground, second)
        m.actuator(second, first, effort=m.coordinate(first) + m.position(second)[0] + m.time)
    except wt.ModelError:
        return
    check(m)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
    st.lists(st.floats(-1e2, 1e2), min_size=3, max_size=3),
    st.floats(0, 1e300),
)
def test_numbers_keep_all_their_digits(at: list[float], com: list[float], mass: float) -> None:
    m = wt.Mechanism("m")
    m.parameter("p", at[0])
    m.body("b", mass=mass, com=com)
    m.revolute("A", m.ground, "b", at=at)
    check(m)


def test_directions_keep_all_their_digits() -> None:
    rng = np.random.default_rng(0)
    m = wt.Mechanism("m")
    m.body("b", mass=1.0)
    for k in range(60):
        m.contact(f"c{k}", "b", normal=rng.normal(size=3), stiffness=1.0)
    check(m)


def test_expressions_keep_their_graph() -> None:
    m = wt.Mechanism("m")
    a, b = m.parameter("a", 0.5), m.parameter("b", 0.7)
    shared = ca.sin(a) * b
    twice = shared + shared / b
    functions = [
        ca.tan,
        ca.asin,
        ca.acos,
        ca.atan,
        ca.sinh,
        ca.cosh,
        ca.tanh,
        ca.sqrt,
        ca.exp,
        ca.log,
        ca.fabs,
        ca.sign,
    ]
    for k, function in enumerate(functions):
        m.body(f"b{k}", mass=ca.fabs(function(a)) + 1)
    m.body("two", mass=twice**2 + 1, com=(ca.fmin(a, b), ca.fmax(shared, 2), ca.atan2(a, b)))
    m.body("three", mass=ca.fabs(-a) + a**3 + b**-2 + a**2.5 + 2**a + 1 / a, com=(-(a + b), a - (b - 1), -a * -b))
    m.body(
        "four", mass=a / (b / (a / b)) + (a**b) ** a + (a * b) ** 2 + 2 * a + a * (b * 3), com=(-(0 - a), 1 - a, -1 + a)
    )
    check(m)


def test_a_long_expression_is_split() -> None:
    m = wt.Mechanism("m")
    m.revolute("A", m.ground, m.body("b", mass=1.0))
    q = m.coordinate("A")
    effort = q
    for k in range(300):
        effort = ca.sin(effort + k) * (q - m.time)
    m.actuator("long", "A", effort=effort)
    check(m)


@pytest.mark.parametrize("function", [ca.ceil, ca.erf, lambda x: ca.if_else(x > 0, x, 0)])
def test_what_the_grammar_has_not_is_refused(function: Any) -> None:
    m = wt.Mechanism("m")
    m.revolute("A", m.ground, m.body("b", mass=1.0))
    m.actuator("a", "A", effort=function(m.coordinate("A")))
    with pytest.raises(wt.FileError, match="uses CasADi's"):
        write_text(m)


def test_an_element_off_a_turned_frame_is_refused_in_words() -> None:
    m = wt.Mechanism("m")
    m.body("b", mass=1.0)
    m.frame("turned", on="b", at=(1, 0, 0), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    m.spring("at it", m.ground, "turned", stiffness=1.0, free_length=1.0)
    check(m)
    m.spring("off it", m.ground, "turned", at_child=(1, 0, 0), stiffness=1.0, free_length=1.0)
    with pytest.raises(wt.FileError, match="put a frame where it is"):
        write_text(m)


def test_start_and_run_are_written() -> None:
    model = read_text(
        "name: m\nbodies: {b: {mass: 1}}\njoints: {A: {spherical: [ground, b]}, B: {revolute: [ground, b]}}\n"
        "start: {guess: {A: [1, 0, 0, 0], B: 0.5}, hold: [B], velocities: {A: [1, 2, 3]}}\n"
        "run: {duration: 3, method: rk4, step: 1e-3, outputs: [A, b.velocity]}\n"
    )
    again = read_text(write_text(model))
    assert (again.start, again.run) == (model.start, model.run)


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    m = wt.Mechanism("m")
    wt.write(m, file)
    assert read_file(file).mechanism.describe() == m.describe()
    before = file.read_bytes()
    m.revolute("A", m.ground, m.body("b"))
    m.actuator("a", "A", effort=ca.ceil(m.time))
    with pytest.raises(wt.FileError):
        write_file(m, str(file))
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m.yaml"]


def test_files_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m = wt.Mechanism("m")
    for place in (tmp_path, tmp_path / "no" / "m.yaml", "a\0b", 3):
        with pytest.raises(wt.FileError, match="cannot be written"):
            write_file(m, place)  # type: ignore[arg-type]
    with pytest.raises(wt.FileError, match="give a mechanism"):
        write_file("m", tmp_path / "m.yaml")  # type: ignore[arg-type]

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(wt.FileError, match="No space left"):
        write_file(m, tmp_path / "m.yaml")
    assert [*tmp_path.iterdir()] == []


def test_a_model_of_ones_own_can_be_written() -> None:
    m = wt.Mechanism("m")
    m.revolute("A", m.ground, m.body("b", mass=1.0))
    model = Model(m, {"guess": {"A": math.pi}}, {"duration": 2.0})
    assert read_text(write_text(model)).start == {"guess": {"A": math.pi}}
