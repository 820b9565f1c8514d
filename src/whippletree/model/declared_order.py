"""In which order names were declared, looked up at once however many there are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sized

__all__ = ["DeclaredOrders"]


class DeclaredOrders:
    """Places of names in the order of their declaration, worked out again only when there are more of them.

    >>> orders = DeclaredOrders()
    >>> orders.get("both", {"a": None}, {"b": None})["b"]
    1
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[int, ...], dict[str, int]]] = {}

    def get(self, what: str, *groups: Mapping[str, object]) -> Mapping[str, int]:
        """Return the places of all names, group after group; the key tells sets of groups apart."""
        sizes = tuple(map(_size, groups))
        kept = self._kept.get(what)
        if kept is None or kept[0] != sizes:
            names = dict.fromkeys(itertools.chain(*groups))
            kept = self._kept[what] = sizes, {name: k for k, name in enumerate(names)}
        return kept[1]


def _size(group: Sized) -> int:
    return len(group)
