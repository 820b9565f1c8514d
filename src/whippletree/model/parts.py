"""The parts of a mechanism that meet only at the ground: they move as if the others were not there.

Equal parts, such as a hundred four-bars side by side, are found by `numbered`: a part as a description of its own,
whose names are numbers, so that parts that differ in their names and numbers only have the same outline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from whippletree.model.description import GROUND, ClosureUse, Description, ForceUse, StateUse

__all__ = ["IndependentPart", "independent_parts", "numbered"]


class IndependentPart(NamedTuple):
    """Bodies connected to each other otherwise than by the ground, and the names of the elements on them.

    `joints` are all that has coordinates: joints, and bodies with own coordinates.
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    closures: tuple[str, ...] = ()
    forces: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The part by its first body, and how many others there are.

        >>> IndependentPart(("arm", "hand"), ()).name
        '"arm" and 1 more'
        """
        more = len(self.bodies) - 1
        return f'"{self.bodies[0]}"' + (f" and {more} more" if more else "")


def independent_parts(description: Description) -> list[IndependentPart]:
    """Return the parts of a mechanism that meet only at the ground.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("two")
    >>> for name in ("left", "right"):
    ...     _ = m.revolute(f"to {name}", m.ground, m.body(name, mass=1.0))
    >>> [part.name for part in independent_parts(m.describe())]
    ['"left"', '"right"']
    """
    owners = {use.name: (use.parent, use.child) for use in description.coordinate_owners}
    bodies = [body.name for body in description.bodies]
    named: dict[str, list[tuple[str, list[str]]]] = {
        "joints": [(name, _bodies(description, ends)) for name, ends in owners.items()],
        "closures": [(use.name, _held(description, owners, use)) for use in description.closures],
        "forces": [(use.name, _held(description, owners, use)) for use in description.forces],
        "states": [(use.name, [_state(use.name), *_held(description, owners, use)]) for use in description.states],
    }
    groups = _Groups(bodies)
    for elements in named.values():
        for _, members in elements:
            groups.join(members)
    found: dict[str, dict[str, list[str]]] = {}
    for kind, elements in (("bodies", [(body, [body]) for body in bodies]), *named.items()):
        for name, members in elements:
            if members:
                found.setdefault(groups.root(members[0]), {}).setdefault(kind, []).append(name)
    parts = (IndependentPart(**{"bodies": (), "joints": (), **_tuples(part)}) for part in found.values())
    return [part for part in parts if part.joints]


def numbered(description: Description, part: IndependentPart) -> Description:
    """Return a part as a mechanism of its own, its elements named by numbers; states start from zero.

    Parts without bodies that have own coordinates only.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("two")
    >>> for name in ("left", "right"):
    ...     _ = m.revolute(f"to {name}", m.ground, m.body(name, mass=1.0))
    >>> d = m.describe()
    >>> left, right = (numbered(d, part) for part in independent_parts(d))
    >>> left.outline() == right.outline(), left.joints[0].name
    (True, 'joint 0')
    """
    body = {GROUND: GROUND, **_numbers("body", part.bodies)}
    joint, state = _numbers("joint", part.joints), _numbers("state", part.states)

    def renamed(use: Any, name: str) -> Any:
        """Return a closure, force or state with numbers for names."""
        sides = tuple((body[place], placement) for place, placement in use.sides)
        coordinates = tuple((joint[owner], component) for owner, component in use.coordinates)
        read = {"states": tuple(state[one] for one in use.states)} if hasattr(use, "states") else {}
        if hasattr(use, "reactions"):
            read["reactions"] = tuple(joint[one] for one in use.reactions)
        return replace(use, name=name, sides=sides, coordinates=coordinates, **read)

    def several(kind: str, find: Callable[[str], object], names: Iterable[str]) -> tuple[Any, ...]:
        return tuple(renamed(find(name), f"{kind} {i}") for i, name in enumerate(names))

    joints = (description.joint(name) for name in part.joints)
    return Description(
        "part",
        description.gravity,
        tuple(replace(description.body(name), name=body[name]) for name in part.bodies),
        tuple(replace(use, name=joint[use.name], parent=body[use.parent], child=body[use.child]) for use in joints),
        several("closure", description.closure, part.closures),
        (),
        description.parameters,
        several("force", description.force, part.forces),
        tuple(replace(use, value=0.0) for use in several("state", description.state, part.states)),
    )


def _numbers(kind: str, names: Iterable[str]) -> dict[str, str]:
    return {name: f"{kind} {i}" for i, name in enumerate(names)}


def _tuples(part: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {kind: tuple(names) for kind, names in part.items()}


def _held(
    description: Description, owners: dict[str, tuple[str, str]], use: ClosureUse | ForceUse | StateUse
) -> list[str]:
    """Return the bodies and states that a closure, force or state holds together."""
    joints = [*(name for name, _ in use.coordinates), *getattr(use, "reactions", ())]
    places = [place for place, _ in use.sides] + [end for name in joints for end in owners[name]]
    return [*_bodies(description, places), *map(_state, getattr(use, "states", ()))]


def _state(name: str) -> str:
    """Return how a state is called among bodies."""
    return f"state {name}"


def _bodies(description: Description, places: Iterable[str]) -> list[str]:
    """Return the bodies of places, the ground left out."""
    return [body for body in map(description.body_of, places) if body != GROUND]


class _Groups:
    """Names that are joined into groups."""

    def __init__(self, names: Iterable[str]) -> None:
        self._above = {name: name for name in names}

    def root(self, name: str) -> str:
        """Return the name that stands for a group."""
        self._above.setdefault(name, name)
        while self._above[name] != name:
            self._above[name] = self._above[self._above[name]]
            name = self._above[name]
        return name

    def join(self, names: list[str]) -> None:
        """Let names be of one group."""
        for name in names:
            self._above[self.root(name)] = self.root(names[0])
