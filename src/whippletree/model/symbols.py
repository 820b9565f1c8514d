"""The symbols that a mechanism hands out for expressions: coordinates, rates, places, states and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import casadi as ca

from whippletree.elements.closures import Side
from whippletree.elements.forces import MOMENT_AND_FORCE
from whippletree.spatial.handed_out import handed_out
from whippletree.spatial.scalars import symbol

__all__ = ["CoordinateSymbols", "MechanismSymbols", "ReactionSymbols"]

Owner = TypeVar("Owner")


class CoordinateSymbols(NamedTuple):
    """A joint coordinate and its rate."""

    q: ca.SX
    v: ca.SX


class ReactionSymbols(NamedTuple):
    """The wrench that a joint transmits to its child, in the axes of its frame on the parent.

    >>> ReactionSymbols(*ca.vertsplit(ca.SX([1, 2, 3, 4, 5, 6]))).force
    SX([4, 5, 6])
    """

    mx: ca.SX
    my: ca.SX
    mz: ca.SX
    fx: ca.SX
    fy: ca.SX
    fz: ca.SX

    @property
    def moment(self) -> ca.SX:
        """The moment (3)."""
        return handed_out(ca.vertcat(self.mx, self.my, self.mz))

    @property
    def force(self) -> ca.SX:
        """The force (3)."""
        return handed_out(ca.vertcat(self.fx, self.fy, self.fz))


class MechanismSymbols:
    """The symbols handed out so far: each place, coordinate and state has its own, always the same.

    >>> known = MechanismSymbols()
    >>> known.coordinate("A", 0).q
    SX(A)
    >>> known.coordinate("A", 1).v, known.place("tip").p[0]
    (SX(rate of A[1]), SX(position of tip_0))
    """

    def __init__(self) -> None:
        self.time = ca.SX.sym("t")
        self.elongation = ca.SX.sym("elongation")
        self.elongation_rate = ca.SX.sym("rate of elongation")
        self._coordinates: dict[tuple[str, int], CoordinateSymbols] = {}
        self._places: dict[str, Side] = {}
        self._states: dict[str, ca.SX] = {}
        self._reactions: dict[str, ca.SX] = {}
        self._coordinate_of: dict[int, tuple[str, int]] = {}
        self._place_of: dict[int, str] = {}
        self._state_of: dict[int, str] = {}
        self._reaction_of: dict[int, str] = {}

    def coordinate(self, joint: str, index: int) -> CoordinateSymbols:
        """Return the symbols of a joint coordinate."""
        key = joint, index
        if key not in self._coordinates:
            name = f"{joint}[{index}]" if index else joint
            own = self._coordinates[key] = CoordinateSymbols(symbol(name), symbol(f"rate of {name}"))
            self._coordinate_of |= {hash(one): key for one in own}
        return self._coordinates[key]

    def place(self, name: str) -> Side:
        """Return the symbols of a body's or frame's pose and velocity."""
        if name not in self._places:
            own = self._places[name] = Side(
                ca.SX.sym(f"rotation of {name}", 3, 3),
                ca.SX.sym(f"position of {name}", 3),
                ca.SX.sym(f"angular velocity of {name}", 3),
                ca.SX.sym(f"velocity of {name}", 3),
            )
            self._place_of |= {hash(one): name for part in own for one in ca.symvar(part)}
        return self._places[name]

    def state(self, name: str) -> ca.SX:
        """Return the symbol of an auxiliary state."""
        if name not in self._states:
            self._states[name] = symbol(name)
            self._state_of[hash(self._states[name])] = name
        return self._states[name]

    def reaction(self, joint: str) -> ca.SX:
        """Return the symbols of the wrench that a joint transmits (6), as in `MOMENT_AND_FORCE`."""
        if joint not in self._reactions:
            own = self._reactions[joint] = ca.vertcat(*(symbol(f"{one} of {joint}") for one in MOMENT_AND_FORCE))
            self._reaction_of |= {hash(one): joint for one in ca.symvar(own)}
        return self._reactions[joint]

    def reactions_among(self, found: Iterable[int]) -> list[str]:
        """Return the joints of whose reactions a symbol is among these, given by their hashes."""
        return _owners(self._reaction_of, found)

    def owns(self, key: int) -> bool:
        """Tell whether a symbol, given by its hash, is that of a coordinate, a place or a state."""
        return key in self._coordinate_of or key in self._place_of or key in self._state_of

    def coordinates_among(self, found: Iterable[int]) -> list[tuple[str, int]]:
        """Return the coordinates of which a symbol is among these, given by their hashes."""
        return _owners(self._coordinate_of, found)

    def places_among(self, found: Iterable[int]) -> list[str]:
        """Return the places of which a symbol is among these, given by their hashes."""
        return _owners(self._place_of, found)

    def states_among(self, found: Iterable[int]) -> list[str]:
        """Return the states whose symbol is among these, given by their hashes."""
        return _owners(self._state_of, found)


def _owners(owner_of: Mapping[int, Owner], found: Iterable[int]) -> list[Owner]:
    """Return whose symbols these are, each once."""
    return list(dict.fromkeys(owner_of[one] for one in found if one in owner_of))
