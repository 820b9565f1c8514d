"""A closure that stands in a description."""

from __future__ import annotations

from whippletree.elements.closures.base import Closure
from whippletree.elements.declared import Declared

__all__ = ["DeclaredClosure"]


class DeclaredClosure(Declared, Closure):
    """A closure that can be written down as its numbers and a text, and made again from them.

    >>> from whippletree.elements.closures import Distance
    >>> rod = Distance(1.2)
    >>> Distance.of(rod.text, rod.entries()) == rod
    True
    """
