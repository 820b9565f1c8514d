"""How an element type declares itself: its fields, once, in its class.

A joint, closure or force is a frozen dataclass. Its fields are what a person gives: numbers, which may be expressions
in parameters, and seldom a flag, a word or a formula. `quantity` says of a number which values will do. From this
declaration follow the checks of its arguments, its key in a file, how it is written there, its fingerprint and pickle.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, field, fields
from itertools import islice
from typing import Any, NamedTuple, Self

from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import Scalar, same_key, shown

__all__ = ["ANY", "Declared", "Quantity", "part", "parts", "quantities", "quantity", "required"]

ANY = 0
"""The size of a quantity that is any number of numbers."""

_KEY = "whippletree"


class Quantity(NamedTuple):
    """What a field that is a number takes: its unit, its sign in words, and why.

    `size` is given if it is several numbers, or `ANY` number of them; one that is `optional` may be None.

    >>> Quantity(sign="positive", why="points that coincide are held by a spherical joint").check("length", [2.0])
    """

    unit: str = ""
    sign: str = ""
    why: str = ""
    size: int | None = None
    optional: bool = False

    def check(self, what: str, values: Iterable[float]) -> None:
        """Check numbers at the values of the parameters."""
        fits = _SIGNS[self.sign]
        for value in values:
            if not fits(value):
                got = "" if self.sign == "not zero" else f", got {shown(value)}"
                raise ModelError(f"{what} must {_MUST[self.sign]}{got}{f': {self.why}' if self.why else ''}")


_SIGNS: dict[str, Callable[[float], bool]] = {
    "": lambda x: True,
    "positive": lambda x: x > 0.0,
    "not negative": lambda x: x >= 0.0,
    "not zero": lambda x: x != 0.0,
}
_MUST = {"positive": "be positive", "not negative": "not be negative", "not zero": "not be zero"}


def quantity(
    default: object = MISSING,
    *,
    unit: str = "",
    sign: str = "",
    why: str = "",
    size: int | None = None,
    optional: bool = False,
) -> Any:
    """Return a dataclass field for a number, for `size` numbers, or for a number that may be left out.

    `sign` is "positive", "not negative", "not zero" or nothing, and `why` is added to the message about it. Units are
    SI; with none given, the unit depends on what the element is used for.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Rack:
    ...     radius: Scalar = quantity(unit="m", sign="positive")
    >>> Rack(0.1)
    Rack(radius=0.1)
    """
    return field(default=default, metadata={_KEY: Quantity(unit, sign, why, size, optional)})


def part(kind: type, default: object = MISSING) -> Any:
    """Return a dataclass field for what is no number: a flag (`bool`), a word (`str`), or something declared itself.

    >>> part(bool, False).default
    False
    """
    return field(default=default, metadata={_KEY: kind})


def quantities(element: Any) -> dict[str, Quantity]:
    """Return the fields of an element or its type that are numbers, by name; one that says nothing is a number.

    >>> from whippletree.elements.joints import Screw
    >>> quantities(Screw)["lead"].sign
    'not zero'
    """
    found = {each.name: each.metadata.get(_KEY, Quantity()) for each in fields(element)}
    return {name: what for name, what in found.items() if isinstance(what, Quantity)}


def parts(element: Any) -> dict[str, type]:
    """Return the fields of an element or its type that are no numbers, with what they are.

    >>> from whippletree.elements.forces import Load
    >>> parts(Load)["follows"]
    <class 'bool'>
    """
    found = {each.name: each.metadata.get(_KEY) for each in fields(element)}
    return {name: what for name, what in found.items() if isinstance(what, type)}


def required(element: Any) -> set[str]:
    """Return the names of the fields that have no default and are not optional.

    >>> from whippletree.elements.forces import Limit
    >>> required(Limit)
    {'stiffness'}
    """
    numbers = quantities(element)
    free = {name for name, what in numbers.items() if what.optional}
    return {each.name for each in fields(element) if each.default is MISSING} - free


@user_facing
class Declared:
    """An element that can be written down as its numbers and a text, and made again from them.

    Two are equal if they are of one type with the same text and numbers.

    >>> from whippletree.elements.forces import TorsionSpring
    >>> spring = TorsionSpring(2.0, 0.0, 0.1)
    >>> TorsionSpring.of(spring.text, spring.entries()) == spring
    True
    """

    @property
    def text(self) -> str:
        """What there is to say besides the numbers, the same in every process: nothing if each field is one number."""
        outlines = [_outline(value) for value in self._values]
        return "" if all(outline == _NUMBER for outline in outlines) else json.dumps(outlines)

    def entries(self) -> tuple[Scalar, ...]:
        """Return the numbers, which may be expressions in parameters."""
        return tuple(number for value in self._values for number in _numbers(value))

    @classmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the element with this text and these numbers."""
        if not text:
            return cls(*entries)
        numbers, own = iter(entries), fields(cls)  # type: ignore[arg-type]
        try:
            outlines = list(zip(own, json.loads(text), strict=True))
        except (ValueError, TypeError):
            raise ModelError(f"{cls.__name__}: {shown(text)} is not the text of such an element") from None
        return cls(*(_restored(outline, each.metadata.get(_KEY), numbers) for each, outline in outlines))

    @property
    def _values(self) -> Sequence[object]:
        return [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Declared) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return type(self), self.text, same_key(self.entries())


_NUMBER = ["number"]


def _outline(value: object) -> list[Any]:
    """Return what there is to say about a field's value besides its numbers."""
    if isinstance(value, Declared):
        return ["part", value.text, len(value.entries())]
    if isinstance(value, tuple):
        return ["numbers", len(value)]
    return ["plain", value] if value is None or isinstance(value, bool | str) else _NUMBER


def _numbers(value: Any) -> Sequence[Scalar]:
    if isinstance(value, Declared):
        return value.entries()
    if isinstance(value, tuple):
        return value
    return () if value is None or isinstance(value, bool | str) else (value,)


def _restored(outline: list[Any], kind: Any, numbers: Iterator[Scalar]) -> Any:
    what, *rest = outline
    if what == "part":
        return kind.of(rest[0], tuple(islice(numbers, rest[1])))
    if what == "numbers":
        return tuple(islice(numbers, rest[0]))
    return rest[0] if what == "plain" else next(numbers)  # not empty: as many as the outline has
