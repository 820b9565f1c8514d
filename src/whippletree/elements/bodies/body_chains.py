"""Flexible bodies welded end to end: substructures, by which a body may deform at large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whippletree.foundation.short_text import readable

if TYPE_CHECKING:
    from whippletree.elements.bodies.flexible import FlexibleBody

__all__ = ["PART_END", "BodyChain"]

PART_END = "end"
"""The interface of a part at which the next one is welded to it."""


@readable
@dataclass(frozen=True)
class BodyChain:
    """Flexible bodies of which each is welded, by its frame, to the end of the one before it.

    >>> from whippletree.flexible_bodies import beam, circle, steel
    >>> chain = beam(length=1.0, section=circle(radius=0.01), material=steel, modes=2, substructures=4)
    >>> len(chain.parts), chain.interfaces
    (4, {'root': (0, 'root'), 'tip': (3, 'tip')})
    """

    parts: tuple[FlexibleBody, ...]

    @property
    def interfaces(self) -> dict[str, tuple[int, str]]:
        """The interfaces of the whole, each with the part it is on."""
        return {name: (i, name) for i, part in enumerate(self.parts) for name in part.frames if name != PART_END}
