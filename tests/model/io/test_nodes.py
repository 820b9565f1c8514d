"""The text of a file: what is read, what is refused, and how quickly."""

from __future__ import annotations

import tracemalloc

import pytest

from support.sampling import rest
from support.work import calls
from whippletree.errors import FileError
from whippletree.model.io.nodes import MAX_CHARACTERS, MAX_DEPTH, Leaf, ListNode, MapNode, Source, read_tree


def tree(text: str) -> MapNode:
    found = read_tree(Source("m.yaml", text))
    assert isinstance(found, MapNode)
    return found


def leaf(text: str) -> Leaf:
    found = tree(f"a: {text}").items["a"]
    assert isinstance(found, Leaf)
    return found


@pytest.mark.parametrize(
    "text, value",
    [
        ("1", 1.0),
        ("-1.5", -1.5),
        ("+2", 2.0),
        ("1e-3", 1e-3),
        ("1E5", 1e5),
        (".5", 0.5),
        ("5.", 5.0),
        ("007", 7.0),
        ("1_000", "1_000"),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("1:30", "1:30"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("2024-01-01", "2024-01-01"),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("", None),
        ("~", None),
        ("null", None),
        ('"1"', "1"),
        ("'true'", "true"),
        ('""', ""),
        ("2 * a", "2 * a"),
        ("٣", "٣"),
    ],
)
def test_plain_scalars_are_what_they_look_like(text: str, value: object) -> None:
    found = leaf(text).value
    assert found == value
    assert type(found) is type(value)


def test_nodes_know_their_places() -> None:
    found = tree("name: m\nlist:\n  - 1\n  - {b: [2, x]}\n")
    assert (found.keys["list"].line, found.keys["list"].column) == (2, 1)
    listed = found.items["list"]
    assert isinstance(listed, ListNode)
    inner = listed.items[1]
    assert isinstance(inner, MapNode)
    assert (inner.mark.line, inner.mark.column) == (4, 5)
    deepest = inner.items["b"]
    assert isinstance(deepest, ListNode)
    assert (deepest.items[1].mark.line, deepest.items[1].mark.column) == (4, 13)


@pytest.mark.parametrize(
    "text, line, column",
    [
        ("a: one + X", 1, 10),
        ('a: "one + X"', 1, 11),
        ("a: 'one + X'", 1, 11),
        ("a: one +\n    two + X", 2, 11),
        ("a: >\n  one +\n  two + X\n", 3, 9),
        ("a: |\n  one +\n\n  two + X\n", 4, 9),
        ('a: "one +\n  two + X"', 2, 9),
        ("a: >-\n  one + X", 2, 9),
    ],
)
def test_characters_are_found_again_in_the_file(text: str, line: int, column: int) -> None:
    found = tree(text).items["a"]
    assert isinstance(found, Leaf)
    mark = found.mark_at(found.text.index("X"))
    assert (mark.line, mark.column) == (line, column)


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("", None, "empty"),
        ("# a comment\n", None, "empty"),
        ("---\n", None, "empty"),
        ("~", None, "empty"),
        ("a: 1\nb: &x 2\n", 2, '"&x" is an anchor'),
        ("a: 1\nb: *x\n", 2, '"*x" is an alias'),
        ("a: &x [1]\nb: *x\n", 1, "anchor"),
        ("a: &x\n  b: *x\n", 1, "anchor"),
        ("b: {<<: *x}\n", 1, "alias"),
        ("a: !!float 3\n", 1, "the tag"),
        ("a: !!python/object/apply:os.system [echo]\n", 1, "python/object/apply:os.system"),
        ("a: !!python/name:os.system\n", 1, "the tag"),
        ("a: !own 3\n", 1, "the tag"),
        ("a: !!str 3\n", 1, "the tag"),
        ("a: !!binary aGVsbG8=\n", 1, "the tag"),
        ("%TAG ! tag:example.com,2000:\n---\na: !x 1\n", 3, "the tag"),
        ("a: 1\nb: 2\na: 3\n", 3, 'the key "a" is given twice: it stands in line 1'),
        ("a: {b: 1, b: 2}\n", 1, '"b" is given twice'),
        ("a: 1\n---\nb: 1\n", 2, "second document"),
        ("? [1, 2]\n: 3\n", 1, "a key must be a word"),
        ("? {a: 1}\n: 3\n", 1, "a key must be a word"),
        ("a: [1, 2\n", 2, "not YAML"),
        ("a: {b: 1\nc: 2\n", 2, "not YAML"),
        ("a: 'abc\n", 2, "not YAML"),
        ("a:\n\tb: 1\n", 2, "not YAML"),
        ("a: 1\n  b: 2\n", 2, "not YAML"),
        ("a: b: c\n", 1, "not YAML"),
        ("a: %x\n", 1, "not YAML"),
        ("a: @x\n", 1, "not YAML"),
        ("%YAML 9.9\n---\na: 1\n", 1, "not YAML"),
        ("a: 1\nb: \x00\n", 2, "not YAML"),
        ("a: \x07\n", 1, "not YAML"),
        ("a: \ud800\n", 1, "not YAML"),
        ("]\n", 1, "not YAML"),
    ],
)
def test_what_is_refused(text: str, line: int | None, words: str) -> None:
    with pytest.raises(FileError) as error:
        read_tree(Source("m.yaml", text))
    assert words in str(error.value)
    assert error.value.line == line
    assert str(error.value).startswith("m.yaml:" if line is None else f"m.yaml:{line}:")


def laughs(levels: int, width: int) -> str:
    lines = ["a0: &a0 [" + ", ".join(["ha"] * width) + "]"]
    lines += [f"a{k}: &a{k} [" + ", ".join([f"*a{k - 1}"] * width) + "]" for k in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        laughs(30, 9),
        laughs(2, 10_000),
        "a: &a [*a, *a, *a]",
        "a: &a {b: *a}",
        "<<: &a {<<: *a}",
        "&a a: *a",
        "{a: " * 100_000,
        "- " * 300_000,
        "? " * 300_000,
        "x" * (MAX_CHARACTERS + 1),
        "a: " + "&x " * 100_000,
        *rest(["[" * 300_000, "'" * 500_001]),
    ],
    ids=lambda text: text[:12],
)
def test_bombs_are_refused_with_little_work_and_memory(text: str) -> None:
    def read() -> None:
        with pytest.raises(FileError):
            read_tree(Source("m.yaml", text))

    tracemalloc.start()
    work = calls(read)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert work < 10_000 + 20 * len(text)
    assert peak < 100e6 + 20 * len(text)


def test_the_limits_leave_room(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "[" * (MAX_DEPTH - 2) + "1" + "]" * (MAX_DEPTH - 2)
    assert isinstance(tree(f"a: {deep}").items["a"], ListNode)
    with pytest.raises(FileError, match="nested too deeply"):
        tree(f"a: [{deep}]")
    with pytest.raises(FileError, match="too large"):
        tree("a: " + "x" * MAX_CHARACTERS)
    monkeypatch.setattr("whippletree.model.io.nodes.MAX_NODES", 1000)
    assert tree("a: [" + "1," * 990 + "]").items
    with pytest.raises(FileError, match="more than 1,000 entries"):
        tree("a: [" + "1," * 1000 + "]")
