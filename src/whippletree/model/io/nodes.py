"""A model file as a tree whose every node knows its line: YAML without its dangerous and surprising features.

Aliases, anchors and tags are refused, so that a small text stays a small tree and nothing in it can ask for code. Keys
are text and occur once. Plain scalars are numbers, truth values and nothings as YAML 1.2 has them, so that 1e-3 is a
number and `no` is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from whippletree.errors import FileError
from whippletree.model.names import quoted

if TYPE_CHECKING:
    from ruamel.yaml.error import StreamMark

YamlEvent: TypeAlias = Any
"""An event of ruamel's parser, of which each kind has other attributes."""

__all__ = ["Leaf", "ListNode", "MapNode", "Mark", "Node", "Source", "read_tree", "words_for"]

MAX_CHARACTERS = 1_000_000
MAX_NODES = 100_000
MAX_DEPTH = 24
"""Largest size of a file in characters, entries and levels, so that a hostile one is refused before it is built."""

_HINT = "; within brackets, an expression that has brackets, commas or quotes itself must stand in quotes"

_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True)
class Mark:
    """A place in a file, counted from 1.

    >>> str(Mark(3, 7))
    '3:7'
    """

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


@dataclass(frozen=True)
class Source:
    """The source of a model: the file's name in messages, and its text."""

    name: str
    text: str = field(repr=False)

    def error(self, mark: Mark | None, message: str) -> FileError:
        """Return the error of that message at that place.

        >>> Source("arm.yaml", "").error(Mark(3, 7), "mass must be a number")
        FileError('arm.yaml:3:7: mass must be a number')
        """
        place = self.name if mark is None else f"{self.name}:{mark}"
        return FileError(
            f"{place}: {message}",
            file=self.name,
            line=None if mark is None else mark.line,
            column=None if mark is None else mark.column,
        )


@dataclass(frozen=True)
class Leaf:
    """A scalar: its value, its text, and how it stands in the file."""

    mark: Mark
    value: float | bool | str | None
    text: str
    raw: str = field(repr=False)

    def mark_at(self, offset: int) -> Mark:
        """Return the place of a character of the text, which may have been quoted or folded over lines.

        >>> Leaf(Mark(1, 5), "a + b", "a + b", '"a + b"').mark_at(4)
        Mark(line=1, column=10)
        """
        before = sum(not char.isspace() for char in self.text[:offset])
        line, column = self.mark.line, self.mark.column
        start = _content(self.raw)
        seen = 0
        for k, char in enumerate(self.raw):
            if k >= start and not char.isspace():
                if seen == before:
                    break
                seen += 1
            line, column = (line + 1, 1) if char == "\n" else (line, column + 1)
        return Mark(line, column)


@dataclass(frozen=True)
class ListNode:
    """A list."""

    mark: Mark
    items: list[Node]


@dataclass(frozen=True)
class MapNode:
    """A mapping: nodes by key, and where the keys are."""

    mark: Mark
    items: dict[str, Node]
    keys: dict[str, Mark]


Node: TypeAlias = Leaf | ListNode | MapNode


def words_for(node: Node) -> str:
    """Return the type of a node, for messages.

    >>> words_for(Leaf(Mark(1, 1), True, "true", "true"))
    'a truth value'
    """
    if isinstance(node, MapNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return f"a list of {len(node.items)}"
    if node.value is None:
        return "empty"
    if isinstance(node.value, bool):
        return "a truth value"
    return f"the text {quoted(node.text)}" if isinstance(node.value, str) else f"the number {node.text[:40]}"


def read_tree(source: Source) -> Node:
    """Return the tree of a file.

    >>> tree = read_tree(Source("arm.yaml", "name: arm"))
    >>> tree.items["name"].value, tree.items["name"].mark
    ('arm', Mark(line=1, column=7))
    """
    if len(source.text) > MAX_CHARACTERS:
        raise source.error(None, f"the file is too large: more than {MAX_CHARACTERS:,} characters")
    tree = _Composer(source).tree()
    if tree is None or (isinstance(tree, Leaf) and tree.value is None):
        raise source.error(None, "the file is empty: a model has at least a name")
    return tree


class _Composer:
    """Makes a tree of the events of a YAML parser, one by one, and stops at the first that will not do."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._count = 0
        self._open: list[ListNode | MapNode] = []
        self._keys: list[Leaf | None] = []
        self._root: Node | None = None

    def tree(self) -> Node | None:
        """Return the root of the only document; None if there is none."""
        for event in self._events():
            kind = type(event).__name__.removesuffix("Event")
            if kind == "Alias":
                self._refuse(event, f'"*{event.anchor}" is an alias, which models do not have: use parameters')
            if kind == "DocumentStart" and self._root is not None:
                self._refuse(event, "a second document begins here: a file holds one model")
            if kind in ("Scalar", "SequenceStart", "MappingStart"):
                self._check(event)
                self._add(self._node(event, kind))
            elif kind in ("SequenceEnd", "MappingEnd"):
                self._open.pop()
                self._keys.pop()
        return self._root

    def _events(self) -> Iterator[YamlEvent]:
        """Yield the events of ruamel's parser; whatever it raises becomes an error of ours."""
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        try:
            yield from YAML(typ="safe", pure=True).parse(self._source.text)
        except YAMLError as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            problem = getattr(error, "problem", None) or getattr(error, "context", None) or str(error)
            where = _mark(mark) if mark is not None else self._unreadable(error)
            hint = _HINT if re.search("expected ',' or '[]}]'", str(problem)) else ""
            raise self._source.error(where, f"this is not YAML: {' '.join(str(problem).split())}{hint}") from None
        except FileError:
            raise
        except Exception as error:  # whatever else a parser of foreign text stumbles over
            raise self._source.error(None, f"this is not YAML: {type(error).__name__}: {error}") from None

    def _unreadable(self, error: object) -> Mark | None:
        """Return the place of a character that YAML does not allow."""
        position = getattr(error, "position", None)
        if not isinstance(position, int):
            return None
        before = self._source.text[:position]
        return Mark(before.count("\n") + 1, position - before.rfind("\n"))

    def _check(self, event: YamlEvent) -> None:
        """Refuse dangerous features of YAML, and files that are too large."""
        self._count += 1
        if event.anchor is not None:
            self._refuse(event, f'"&{event.anchor}" is an anchor, which models do not have: use parameters')
        if event.tag is not None:
            self._refuse(event, f"the tag {quoted(str(event.tag))} is not allowed: a model is plain text and numbers")
        if self._count > MAX_NODES:
            self._refuse(event, f"the file is too large: it has more than {MAX_NODES:,} entries")
        if len(self._open) >= MAX_DEPTH:
            self._refuse(event, f"this is nested too deeply: at most {MAX_DEPTH} levels")

    def _node(self, event: YamlEvent, kind: str) -> Node:
        mark = _mark(event.start_mark)
        if kind == "SequenceStart":
            return ListNode(mark, [])
        if kind == "MappingStart":
            return MapNode(mark, {}, {})
        text = str(event.value)
        raw = self._source.text[event.start_mark.index : event.end_mark.index]
        return Leaf(mark, _value(text) if event.style is None else text, text, raw)

    def _add(self, node: Node) -> None:
        """Put a node where it belongs: into the innermost open list or mapping."""
        if not self._open:
            self._root = node
        else:
            inner = self._open[-1]
            if isinstance(inner, ListNode):
                inner.items.append(node)
            elif self._keys[-1] is None:
                self._keys[-1] = self._key(node, inner)
            else:
                inner.items[self._keys[-1].text] = node
                self._keys[-1] = None
        if not isinstance(node, Leaf):
            self._open.append(node)
            self._keys.append(None)

    def _key(self, node: Node, inner: MapNode) -> Leaf:
        if not isinstance(node, Leaf):
            raise self._source.error(node.mark, f"a key must be a word, but this is {words_for(node)}")
        if node.text in inner.keys:
            first = inner.keys[node.text]
            raise self._source.error(
                node.mark, f"the key {quoted(node.text)} is given twice: it stands in line {first.line} already"
            )
        inner.keys[node.text] = node.mark
        return node

    def _refuse(self, event: YamlEvent, message: str) -> NoReturn:
        raise self._source.error(_mark(event.start_mark), message)


def _mark(mark: StreamMark) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)


def _value(text: str) -> float | bool | str | None:
    """Return the value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    return float(text) if _NUMBER.fullmatch(text) else text


def _content(raw: str) -> int:
    """Return where the content of a scalar begins: after a quote, or after the line of a block's sign."""
    if raw[:1] in ("|", ">"):
        return raw.find("\n") + 1 or len(raw)
    return 1 if raw[:1] in ('"', "'") else 0
