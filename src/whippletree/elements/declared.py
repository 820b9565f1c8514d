"""What an element that stands in a description is made of: numbers and a text, from which it can be made again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from whippletree.spatial.scalars import Scalar, same_key

__all__ = ["Declared"]


class Declared(ABC):
    """Something that can be written down as its numbers and a text, and made again from them.

    Two are equal if they are of one type with the same text and numbers.

    >>> from whippletree.elements.forces import TorsionSpring
    >>> spring = TorsionSpring(2.0, 0.0, 0.1)
    >>> TorsionSpring.of(spring.text, spring.entries()) == spring
    True
    """

    @property
    def text(self) -> str:
        """What there is to say besides the numbers, the same in every process."""
        return ""

    @abstractmethod
    def entries(self) -> tuple[Scalar, ...]:
        """Return the numbers, which may be expressions in parameters."""

    @classmethod
    @abstractmethod
    def of(cls, text: str, entries: tuple[Scalar, ...]) -> Self:
        """Return the element with this text and these numbers."""

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Declared) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return type(self), self.text, same_key(self.entries())
