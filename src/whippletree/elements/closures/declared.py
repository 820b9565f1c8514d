"""What a closure that stands in a description provides besides its rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from whippletree.elements.closures.base import Closure
from whippletree.spatial.scalars import Scalar, same_key

__all__ = ["DeclaredClosure"]


class DeclaredClosure(Closure):
    """A closure that can be written down as its numbers and a text, and made again from them.

    Two are equal if they are of one type with the same text and numbers.

    >>> from whippletree.elements.closures import Distance
    >>> rod = Distance(1.2)
    >>> Distance.of(rod.text, rod.entries()) == rod
    True
    """

    @property
    def text(self) -> str:
        """What there is to say besides the numbers, the same in every process."""
        return ""

    @abstractmethod
    def entries(self) -> tuple[Scalar, ...]:
        """Return the numbers, which may be expressions in parameters."""

    @staticmethod
    @abstractmethod
    def of(text: str, entries: tuple[Scalar, ...]) -> DeclaredClosure:
        """Return the closure with this text and these numbers."""

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, DeclaredClosure) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return type(self), self.text, same_key(self.entries())
