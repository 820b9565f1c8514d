"""Names of elements, and errors that carry them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from types import TracebackType

from whippletree.errors import ModelError
from whippletree.spatial.scalars import shown

__all__ = ["called", "checked_name", "new_name", "suggestion"]


_LONG = 100
"""Characters of a name that messages repeat as it is."""

LONGEST_NAME = 1000
"""Characters that a name may have."""


class called:  # noqa: N801 - reads as a statement: with called("joint", name)
    """Within it, every `ModelError` is raised in the name of the element it is about.

    >>> with called("body", "arm"):
    ...     raise ModelError("mass must not be negative, got -1")
    Traceback (most recent call last):
    whippletree.errors.ModelError: body "arm": mass must not be negative, got -1
    """

    def __init__(self, kind: str, name: object) -> None:
        self._kind = kind
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ModelError):
            raise ModelError(f"{self._kind} {quoted(self._name)}: {error}").with_traceback(trace) from None


def quoted(name: object) -> str:
    """Return a name as it stands in messages.

    >>> quoted("arm"), quoted(3)
    ('"arm"', '3')
    """
    plain = isinstance(name, str) and len(name) <= _LONG and name.isprintable()
    return f'"{name}"' if plain else shown(name)


def checked_name(name: object) -> str:
    """Return a name as plain text, if it is one: printable and not blank.

    >>> checked_name("left front wheel")
    'left front wheel'
    """
    if not isinstance(name, str):
        raise ModelError(f"a name must be text, got {shown(name)}")
    text = str.__str__(name)
    if len(text) > LONGEST_NAME:
        raise ModelError(f"a name has {LONGEST_NAME} characters at most: {shown(text)} has {len(text)}")
    if not text.isprintable() or not text.strip():
        raise ModelError(f"a name must be printable and not blank, got {shown(text)}")
    return text


def new_name(name: object, taken: Container[str], others: str) -> str:
    """Return a checked name that nothing else has yet.

    >>> new_name("arm", {"leg"}, "bodies and frames")
    'arm'
    """
    text = checked_name(name)
    if text in taken:
        raise ModelError(f"the name {quoted(text)} is taken: {others} must have different names")
    return text


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return the unknown name, and the known names that are like it.

    >>> suggestion("croupler", ["crank", "coupler"])
    '"croupler"; did you mean "coupler"?'
    """
    from difflib import get_close_matches  # which only errors need

    names = [*known]
    if not isinstance(name, str):
        return f"{shown(name)}; give a name or what the mechanism returned for it"
    close = get_close_matches(name, names, n=1) if len(name) <= _LONG else []
    if close:
        return f"{quoted(name)}; did you mean {quoted(close[0])}?"
    few = ", ".join(quoted(known_name) for known_name in names[:6])
    more = ", ..." if len(names) > 6 else ""
    return f"{quoted(name)}; there is {few}{more}" if names else f"{quoted(name)}; there is none yet"
