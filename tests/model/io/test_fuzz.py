"""Whatever is in a file, it is read or refused by our own error, soon."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whippletree as wt
from support.sampling import examples
from whippletree.model.io import read_text, write_text
from whippletree.model.io.forms import CLOSURES, FORCES, JOINTS, RUN, SHAPES, START
from whippletree.model.io.reader import SECTIONS

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
TEXTS = [file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.rglob("*.yaml")) if file.stat().st_size < 3000]
QUICK = settings(
    max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def survives(text: str) -> None:
    """Read a text; nothing but our own error may come out of it, and in one line that names the file."""
    start = time.process_time()
    try:
        read_text(text, "m.yaml")
    except wt.FileError as error:
        assert str(error).startswith("m.yaml:")
        assert "\n" not in str(error)
        assert error.line is None or 1 <= error.line <= text.count("\n") + text.count("\r") + len(text.splitlines()) + 2
    assert time.process_time() - start < 30.0


@QUICK
@given(st.binary(max_size=200))
def test_random_bytes(tmp_path_factory: Any, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "random.yaml"
    file.write_bytes(data)
    with contextlib.suppress(wt.FileError):
        wt.read(file)


@QUICK
@given(st.text(max_size=200))
def test_random_text(text: str) -> None:
    survives(text)


@QUICK
@given(st.text(alphabet="abn: -[]{},&*!|>'\"%@`#?\n\t~01.eE+()=<", max_size=120))
def test_random_signs(text: str) -> None:
    survives(text)
    survives(f"name: m\nbodies: {text}")


keys = {key for table in (JOINTS, CLOSURES, FORCES) for head, form in table.items() for key in (head, *form.keys)}
keys |= {key for name, (needs, may) in SHAPES.items() for key in (name, *needs, *may)}
keys |= {*SECTIONS, *START, *RUN, "sum", "moved", "point_masses", "value", "rate", "on", "com", "inertia", "rotation"}
names = st.sampled_from(["a", "b", "ground", "A", "B", "tip", "L", "A[0]", "A[9]", "", "z", *sorted(keys)])
expressions = st.sampled_from(
    [
        "L",
        "2 * L",
        "t",
        "sin(t)",
        "coordinate('A')",
        "rate('A')",
        "position('tip')[0]",
        "velocity('b')[5]",
        "rotation('a')[1, 1]",
        "state('z')",
        "elongation",
        "d",
        "e",
        "1/0",
        "eval(1)",
        "x",
        "y",
        "ground",
        "(",
        "L +",
        "coordinate('A', 7)",
        "position(1)",
    ]
)
scalars = st.one_of(names, expressions, st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=4))
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, min_size=3, max_size=3),
        st.dictionaries(names, inner, max_size=4),
    ),
    max_leaves=12,
)


def element(table: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Elements that are nearly right: a head, its own keys, and values of all kinds."""

    def of(head: str) -> st.SearchStrategy[dict[str, Any]]:
        form = table[head]
        pair = st.sampled_from([["ground", "a"], ["a", "b"], ["A", "B"], ["tip", "ground"], "A", "a", "B"])
        own = st.fixed_dictionaries(dict.fromkeys(form.needs, values), optional=dict.fromkeys(form.may, values))
        return st.builds(lambda given, rest: {head: given, **rest}, pair | trees, own)

    return st.sampled_from(sorted(table)).flatmap(of)


vectors = st.lists(st.integers(-2, 2) | expressions, min_size=3, max_size=3)
values = st.one_of(
    expressions, st.integers(-2, 5), st.floats(0.1, 2.0), vectors, st.sampled_from(["x", "-y", "body"]), trees
)
models = st.fixed_dictionaries(
    {
        "name": st.just("m"),
        "parameters": st.just({"L": 2.0}),
        "bodies": st.just({"a": {"mass": 1}, "b": {"rod": {"length": "L", "mass": 1}}}),
        "frames": st.just({"tip": {"on": "b", "at": ["L", 0, 0]}}),
        "joints": element(JOINTS).map(
            lambda last: {
                "A": {"revolute": ["ground", "a"]},
                "B": {"planar": ["a", "b"]},
                "C": last,
            }
        ),
    },
    optional={
        "gravity": vectors | trees,
        "definitions": st.dictionaries(st.sampled_from(["d", "e", "L", "t"]), expressions | trees, max_size=3),
        "closures": st.dictionaries(names, element(CLOSURES), max_size=2),
        "forces": st.dictionaries(names, element(FORCES), max_size=3),
        "states": st.dictionaries(
            st.sampled_from(["z", "y"]), st.fixed_dictionaries({}, optional={"value": values, "rate": values})
        ),
        "start": st.fixed_dictionaries({}, optional=dict.fromkeys(START, trees)),
        "run": st.fixed_dictionaries({}, optional=dict.fromkeys(RUN, values)),
    },
)


def as_text(tree: Any) -> str:
    """JSON is YAML; numbers that JSON does not have are left as Python writes them."""
    return json.dumps(tree, ensure_ascii=False).replace("\x7f", "")


@QUICK
@given(trees)
def test_random_trees(tree: Any) -> None:
    survives(as_text(tree))


@QUICK
@given(st.dictionaries(st.sampled_from(SECTIONS), trees, max_size=6))
def test_random_sections(tree: Any) -> None:
    survives(as_text({"name": "m", **tree}))


@settings(
    max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(models)
def test_models_that_are_nearly_right(tree: Any) -> None:
    survives(as_text(tree))


@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(models)
def test_what_is_read_can_be_written_or_is_refused(tree: Any) -> None:
    with contextlib.suppress(wt.FileError):
        write_text(read_text(as_text(tree)))


@QUICK
@given(st.data())
def test_files_with_something_changed(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 3))):
        at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 12))
        text = (
            text[:at]
            + data.draw(st.sampled_from(["", "\n", ":", "[", "}", "-", "x", "1", "'", " ", ","]))
            + text[at + length :]
        )
    survives(text)


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_files_with_lines_in_other_places(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from(TEXTS)).splitlines()
    i, j = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    lines[i], lines[j] = lines[j], lines[i]
    survives("\n".join(lines))
