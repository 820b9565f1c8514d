"""How an element type declares itself: its fields, once, in its class.

A joint, closure or force is a frozen dataclass. Its fields are what a person gives: numbers, which may be expressions
in parameters, directions (`unit_axis`), and seldom a flag, a word or a formula. `quantity` says of a number which
values will do. From this declaration follow the element's method on `Mechanism`, the checks of its arguments, its keys
in a file, how it is written there, its fingerprint and pickle (`signatures.py`).

Where a person gives something else than the fields, the type says so by two methods that undo each other:
`given(**arguments)` returns the element, and `told()` the arguments. The parameters of `given` are those of the method.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, field, fields
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

from whippletree.errors import ModelError
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.orientation import direction
from whippletree.spatial.scalars import Scalar, same_key, shown

__all__ = [
    "ANY",
    "Declared",
    "ElementAround",
    "FieldPart",
    "PlacedElement",
    "Quantity",
    "Several",
    "part",
    "parts",
    "quantities",
    "quantity",
    "required",
    "unit_axis",
]

ANY = 0
"""The size of a quantity that is any number of numbers."""

_KEY = "whippletree"


class Quantity(NamedTuple):
    """The declaration of a field that is a number: its unit, its sign in words, and the reason for the sign.

    `size` is given if it is several numbers, or `ANY` number of them; one that is `optional` may be None. One that is
    `like` another field has its value if it is left out, and one that is `needed` has to be given although fields
    before it have defaults. A `direction` is three numbers or the name
    of an axis, such as this, its default; a `square` of some size is a
    symmetric matrix, row by row, given whole or by its diagonal.

    >>> Quantity(sign="positive", why="points that coincide are held by a spherical joint").check("length", [2.0])
    """

    unit: str = ""
    sign: str = ""
    why: str = ""
    size: int | None = None
    optional: bool = False
    like: str = ""
    needed: bool = False
    direction: str = ""
    square: int = 0

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
    like: str = "",
    needed: bool = False,
    square: int = 0,
) -> Any:
    """Return a dataclass field for a number, for `size` numbers, or for a number that may be left out (`Quantity`).

    `sign` is "positive", "not negative", "not zero" or nothing, and `why` is added to the message about it. Units are
    SI; with none given, the unit depends on what the element is used for.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Rack:
    ...     radius: Scalar = quantity(unit="m", sign="positive")
    >>> Rack(0.1)
    Rack(radius=0.1)
    """
    own = Quantity(unit, sign, why, square**2 or size, optional, like, needed, square=square)
    return field(default=None if like or needed else default, metadata={_KEY: own})


def unit_axis(default: str = "z") -> Any:
    """Return a dataclass field for a direction, a unit vector in plain numbers, that is given like any axis.

    >>> unit_axis("-y").default
    (0.0, -1.0, 0.0)
    """
    return field(default=direction(default), metadata={_KEY: Quantity(size=3, direction=default)})


class FieldPart(NamedTuple):
    """The declaration of a field that is no number: its type; of a formula also its size and the symbols it may use.

    That is `of` "reactions" (what joints transmit), "length" (a spring's elongation and its rate) or "positions" (these
    and time alone), beside what every expression may hold.
    """

    kind: type
    size: int = 1
    of: str = ""


def part(kind: type, default: object = MISSING, *, size: int = 1, of: str = "") -> Any:
    """Return a dataclass field that is no number: a flag (`bool`), a word (`str`), or a declared type.

    For a formula, see `FieldPart`.

    >>> part(bool, False).default
    False
    """
    return field(default=default, metadata={_KEY: FieldPart(kind, size, of)})


class Several(NamedTuple):
    """Expressions of `size` entries each, by the names that messages call them, which make one formula together."""

    size: int
    named: dict[str, object]


def quantities(element: Any) -> dict[str, Quantity]:
    """Return the fields of an element or its type that are numbers, by name; one that says nothing is a number.

    >>> from whippletree.elements.joints import Screw
    >>> quantities(Screw)["lead"].sign
    'not zero'
    """
    found = {each.name: each.metadata.get(_KEY, Quantity()) for each in fields(element)}
    return {name: what for name, what in found.items() if isinstance(what, Quantity)}


def parts(element: Any) -> dict[str, FieldPart]:
    """Return the fields of an element or its type that are no numbers, with their declarations.

    >>> from whippletree.elements.forces import Load
    >>> parts(Load)["follows"].kind
    <class 'bool'>
    """
    found = {each.name: each.metadata.get(_KEY) for each in fields(element)}
    return {name: what for name, what in found.items() if isinstance(what, FieldPart)}


def required(element: Any) -> set[str]:
    """Return the names of the fields that have no default and are not optional, and of those that are needed.

    >>> from whippletree.elements.forces import Limit
    >>> required(Limit)
    {'stiffness'}
    """
    numbers = quantities(element)
    free = {name for name, what in numbers.items() if what.optional}
    missing = {each.name for each in fields(element) if each.default is MISSING}
    return missing - free | {name for name, what in numbers.items() if what.needed}


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
        """The structure of the element without its numbers, the same in every process; empty if it has numbers only."""
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
        kinds = parts(cls)
        return cls(*(_restored(outline, kinds.get(each.name), numbers) for each, outline in outlines))

    def numbers_apart(self) -> Self:
        """Return the element with the numbers of its formulas among its own, so that its text has none of them."""
        values = [value.numbers_apart() if isinstance(value, Declared) else value for value in self._values]
        return type(self)(*values)

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


class ElementAround(NamedTuple):
    """The view of an element on the mechanism that it is described in.

    `values_of` returns numbers at the values of the parameters, `joint` the name and the kind of the joint that the
    element is on, `distance` how far its two sides are apart in the design position.
    """

    values_of: Callable[[Iterable[Scalar], str], list[float]]
    joint: Callable[[], tuple[str, str]]
    distance: Callable[[], Scalar]


class PlacedElement(Declared):
    """An element that is on places and joint coordinates: the common base of closures and forces.

    `word` says what it is in a file, and is the name of its method on `Mechanism`; `n_sides` and `n_coordinates` say
    how many frames and joint coordinates it is on. `placed_by` names what a person says about each of two sides: a
    point ("at"), a "pose", or nothing.
    """

    word: ClassVar[str] = ""
    n_sides: ClassVar[int] = 0
    n_coordinates: ClassVar[int] = 0
    on: ClassVar[str] = "place"  # what the argument for its only side is called
    placed_by: ClassVar[tuple[str, ...]] = ("at",)
    of_bodies: ClassVar[bool] = False  # its two sides are bodies and their moving frames, not frames on them
    drawn: ClassVar[str] = ""  # what pictures show between its two sides: a "rod" or a "spring"
    has_method: ClassVar[bool] = True  # otherwise it is made by the method of another type with the same word

    @property
    def noun(self) -> str:
        """The noun for it in messages: a spring."""
        return f"a {self.word.partition('_')[0]}"

    def told(self) -> dict[str, Any]:
        """Return the arguments from which a person makes it, in the order in which files have them."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in given.items() if value is not None}

    def fitted(self, around: ElementAround) -> Self:
        """Return the element completed by the mechanism around it, or refuse numbers that do not go together."""
        return self


_NUMBER = ["number"]


def _outline(value: object) -> list[Any]:
    """Return the structure of a field's value without its numbers."""
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


def _restored(outline: list[Any], own: Any, numbers: Iterator[Scalar]) -> Any:
    what, *rest = outline
    if what == "part":
        return own.kind.of(rest[0], tuple(islice(numbers, rest[1])))
    if what == "numbers":
        return tuple(islice(numbers, rest[0]))
    return rest[0] if what == "plain" else next(numbers)  # not empty: as many as the outline has
