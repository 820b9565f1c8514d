"""Statements of an Adams data set: a name, a number and arguments, which may go on over lines.

The first line is a title. A line that begins with a comma goes on with the statement before, "!" begins a comment, case
does not matter, and an argument is a word, or a word with one or more values: `REULER = 90D, 90D, -90D`, `I = 0102`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field

from whippletree.errors import FileError

__all__ = ["MOST_DIGITS", "AdamsStatement", "statements"]

MOST_DIGITS = 18
"""Digits of the number of a statement."""

_HEAD = re.compile(rf"\s*([A-Za-z_]+)\s*/\s*(\d{{0,{MOST_DIGITS}}})(?!\d)\s*(.*)", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([EeDd][-+]?\d+)?")


@dataclass
class AdamsStatement:
    """A statement: its word, its number, its arguments, and where it stands."""

    word: str
    number: int
    line: int
    file: str
    flags: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)

    def unread(self, keys: Collection[str], flags: Collection[str]) -> list[str]:
        """Return the arguments that are not among these."""
        return [*(key for key in self.values if key not in keys), *(flag for flag in self.flags if flag not in flags)]

    def error(self, message: str) -> FileError:
        """Return an error about this statement."""
        return FileError(
            f"{self.file}:{self.line}: {self.word}/{self.number}: {message}", file=self.file, line=self.line
        )

    def numbers(self, key: str, count: int | None, default: tuple[float, ...] | None = None) -> list[float]:
        """Read numbers; "90D" is in degrees."""
        if key not in self.values:
            if default is None:
                raise self.error(f"{key} is missing")
            return [*default]
        words = [word.strip() for word in self.values[key].split(",") if word.strip()]
        if count is not None and len(words) != count:
            raise self.error(f"{key} must be {count} numbers, got {self.values[key]!r}")
        return [self._number(word, key) for word in words]

    def _number(self, word: str, key: str) -> float:
        degrees = word[-1:] in "dD" and _NUMBER.fullmatch(word[:-1])
        text = word[:-1] if degrees else word
        if not _NUMBER.fullmatch(text):
            raise self.error(f"{key} must be numbers, got {word[:40]!r}")
        value = float(text.upper().replace("D", "E"))
        if not math.isfinite(value):
            raise self.error(f"{key} must be finite, got {word[:40]!r}")
        return math.radians(value) if degrees else value

    def one(self, key: str, default: float | None = None) -> float:
        """Read a number."""
        return self.numbers(key, 1, None if default is None else (default,))[0]

    def id(self, key: str) -> int:
        """Read the number of another statement."""
        text = self.values.get(key, "").strip()
        if not text.isascii() or not text.isdigit() or len(text) > MOST_DIGITS:
            raise self.error(f"{key} must be the number of a statement, got {text[:40]!r}")
        return int(text)


def statements(data: bytes, name: str) -> list[AdamsStatement]:
    """Return the statements of a file.

    >>> [s.word for s in statements(b"title\\nPART/1, GROUND\\nMARKER/2\\n, PART = 1\\nEND", "m.adm")]
    ['PART', 'MARKER']
    """
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        lines = data.decode("latin-1").splitlines()
    found: list[tuple[int, str]] = []
    for number, line in enumerate(lines[1:], 2):
        plain = line.partition("!")[0].strip()
        if plain.upper() == "END":
            break
        if plain.startswith((",", "&")) and found:
            first, text = found[-1]
            inside = text.count("(") > text.count(")")  # within parentheses the comma only says that the line goes on
            found[-1] = first, f"{text} {plain[1:] if inside else plain.removeprefix('&')}"
        elif found and found[-1][1].endswith("&"):
            first, text = found[-1]
            found[-1] = first, f"{text[:-1]} {plain}"
        elif plain:
            found.append((number, plain))
    return [_statement(line, text, name) for line, text in found]


def _statement(line: int, text: str, name: str) -> AdamsStatement:
    match = _HEAD.fullmatch(text)
    if match is None:
        raise FileError(
            f"{name}:{line}: a statement is a word, a slash and a number, got {text[:60]!r}", file=name, line=line
        )
    statement = AdamsStatement(match[1].upper(), int(match[2] or 0), line, name)
    key = ""
    for part in _split(match[3]):
        word, equals, value = part.partition("=")
        if equals and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", word):
            key = word.strip().upper()
            if key in statement.values:
                raise statement.error(f"{key} is given twice")
            statement.values[key] = value.strip()
        elif key and part.strip() and key not in ("C", "COMMENT") and not _is_flag(part):
            joined = " " if key in ("FUNCTION", "FU") else ", "
            statement.values[key] += joined + part.strip()
        elif part.strip():
            statement.flags.append(part.strip().upper())
    return statement


def _is_flag(part: str) -> bool:
    """Tell whether a part between commas is a word by itself."""
    return re.fullmatch(r"\s*[A-Za-z_]+\s*", part) is not None


def _split(text: str) -> list[str]:
    """Split at commas that are not within parentheses."""
    parts, depth, begin = [], 0, 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth <= 0:
            parts.append(text[begin:k])
            begin = k + 1
    return [*parts, text[begin:]]
