"""XML as model files have it: elements with the lines they stand in; no document types, no entities.

Files are parsed by expat of the standard library. A document type declaration is refused, and with it every entity that
a file could define: neither does a short file become a long one, nor does a file draw in another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from whippletree.errors import FileError
from whippletree.files.file_limits import LARGEST_FILE, MOST_ELEMENTS, MOST_LEVELS

__all__ = ["XmlElement", "parse_xml"]


@dataclass
class XmlElement:
    """An element of a file: its tag, attributes, children and text, and where it stands.

    >>> robot = parse_xml(b'<robot name="arm">\\n  <link name="hand"/>\\n</robot>', "arm.urdf")
    >>> robot["name"], robot.child("link").line
    ('arm', 2)
    """

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    children: list[XmlElement] = field(default_factory=list)
    text: str = ""

    def __getitem__(self, name: str) -> str:
        """Return an attribute, which must be there."""
        try:
            return self.attributes[name]
        except KeyError:
            raise self.error(f"<{self.tag}> has no attribute {name}") from None

    def get(self, name: str, default: str = "") -> str:
        """Return an attribute, or the default."""
        return self.attributes.get(name, default)

    def all(self, *tags: str) -> Iterator[XmlElement]:
        """Yield the children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def child(self, tag: str) -> XmlElement | None:
        """Return the child with this tag, if there is one; two are refused."""
        found = [*self.all(tag)]
        if len(found) > 1:
            raise found[1].error(f"<{self.tag}> has a second <{tag}>: there can be one only")
        return found[0] if found else None

    def needed(self, tag: str) -> XmlElement:
        """Return the child with this tag, which must be there."""
        found = self.child(tag)
        if found is None:
            raise self.error(f"<{self.tag}> has no <{tag}>")
        return found

    def below(self) -> Iterator[XmlElement]:
        """Yield this element and all within it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))

    def error(self, message: str) -> FileError:
        """Return an error about this element, which begins with its file and line."""
        return FileError(f"{self.file}:{self.line}: {message}", file=self.file, line=self.line)

    def numbers(self, text: str, count: int | None, what: str) -> list[float]:
        """Read numbers that stand in a text, separated by blanks: `count` of them, if that is given.

        >>> parse_xml(b"<pose/>", "m.sdf").numbers("1 2 3", 3, "xyz")
        [1.0, 2.0, 3.0]
        """
        words = text.replace(",", " ").split()
        if count is not None and len(words) != count:
            wanted = "a number" if count == 1 else f"{count} numbers"
            raise self.error(f"{what} must be {wanted}, got {_shown(text)}")
        return [self._number(word, what) for word in words]

    def scale(self, text: str) -> tuple[float, ...]:
        """Read how a mesh is scaled along its axes; a single number is for all three.

        >>> parse_xml(b"<mesh/>", "m.urdf").scale(".5")
        (0.5, 0.5, 0.5)
        """
        count = 1 if len(text.split()) == 1 else 3
        return tuple(self.numbers(text, count, "scale") * (3 // count))

    def _number(self, word: str, what: str) -> float:
        try:
            value = float(word) if "_" not in word else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{what} must be finite numbers, got {_shown(word)}")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Read an attribute that is a number."""
        if name not in self.attributes and default is not None:
            return default
        return self.numbers(self[name], 1, f"{name} of <{self.tag}>")[0]

    def vector(self, name: str, default: tuple[float, ...] | None = None, count: int = 3) -> tuple[float, ...]:
        """Read an attribute that is several numbers."""
        if name not in self.attributes and default is not None:
            return default
        return tuple(self.numbers(self[name], count, f"{name} of <{self.tag}>"))


def _shown(text: str) -> str:
    """Return a text of a file as messages repeat it.

    >>> _shown("a" * 100)[-5:-1]
    'a...'
    """
    plain = " ".join(text.split())
    return repr(plain if len(plain) <= 60 else plain[:57] + "...")


def parse_xml(data: bytes, name: str) -> XmlElement:
    """Read a file's bytes; `name` is the file's name in messages.

    >>> parse_xml(b'<!DOCTYPE robot [<!ENTITY a "b">]><robot/>', "arm.urdf")
    Traceback (most recent call last):
    whippletree.errors.FileError: arm.urdf:1: a document type is declared, which may bring in other files: take it out
    """
    if len(data) > LARGEST_FILE:
        raise FileError(f"{name}: the file is too large: more than {LARGEST_FILE:,} bytes", file=name)
    try:
        return _XmlReading(name).root(data)
    except FileError:
        plain = _COMMENT.sub(lambda found: b"\n" * found[0].count(b"\n"), data)
        if plain == data:
            raise
        return _XmlReading(name).root(plain)


_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
"""A comment; files are read again without them, since XML has no "--" in a comment and files have."""


class _XmlReading:
    """Expat's events, put together to a tree."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[XmlElement] = []
        self._texts: list[list[str]] = []
        self._found: XmlElement | None = None
        self._count = 0
        self._skipped = 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._doctype

    def root(self, data: bytes) -> XmlElement:
        """Return the outermost element; blank lines may stand before the declaration, as some files have them."""
        whole = data.lstrip(b" \t\r\n")
        if whole.startswith(b"<?xml"):
            self._skipped, data = data[: len(data) - len(whole)].count(b"\n"), whole
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            what, line = expat.ErrorString(error.code), error.lineno + self._skipped
            raise FileError(
                f"{self._name}:{line}: this is no well-formed XML: {what}", file=self._name, line=line
            ) from None
        except FileError:
            raise
        except (ValueError, LookupError) as error:  # an encoding that nobody knows
            raise FileError(f"{self._name}:1: the file cannot be decoded: {error}", file=self._name, line=1) from None
        assert self._found is not None
        return self._found

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber + self._skipped

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = XmlElement(tag, attributes, self._line, self._name)
        self._count += 1
        if len(self._open) >= MOST_LEVELS:
            raise element.error(f"elements are nested more than {MOST_LEVELS} levels deep")
        if self._count > MOST_ELEMENTS:
            raise element.error(f"there are more than {MOST_ELEMENTS:,} elements")
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._found = element
        self._open.append(element)
        self._texts.append([])

    def _end(self, tag: str) -> None:
        self._open.pop().text = "".join(self._texts.pop()).strip()

    def _text(self, text: str) -> None:
        if self._texts:
            self._texts[-1].append(text)

    def _doctype(self, *_: object) -> None:
        line = self._line
        raise FileError(
            f"{self._name}:{line}: a document type is declared, which may bring in other files: take it out",
            file=self._name,
            line=line,
        )
