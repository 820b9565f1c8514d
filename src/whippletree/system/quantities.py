"""The results of calls that are more than an array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.arrays import Mask
from whippletree.foundation.short_text import readable, short_text
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.spatial.scalars import shown

__all__ = ["ElementForce", "Energy", "Momentum", "Powers", "Reaction", "Reactions", "numbered"]


COMPONENTS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")
"""The components of a wrench, in order."""


class _TwoEnergies(NamedTuple):
    kinetic: Array
    potential: Array


@readable
@user_facing
class Energy(_TwoEnergies):
    """Kinetic and potential energy, in joules; arrays for batches.

    `strain` is how much of the potential energy is strain of flexible bodies.

    >>> float(Energy(np.float64(1.0), np.float64(2.0)).total)
    3.0
    """

    strain: Array

    def __new__(cls, kinetic: Array, potential: Array, strain: Array | None = None) -> Energy:
        """Take the energies together."""
        self = super().__new__(cls, kinetic, potential)
        self.strain = np.zeros_like(potential) if strain is None else strain
        return self

    @property
    def total(self) -> Array:
        """Their sum."""
        return self.kinetic + self.potential


@readable
class Powers(NamedTuple):
    """The power of all force elements: stored energy in joules, dissipated and input power in watts.

    >>> float(Powers(np.float64(1.0), np.float64(2.0), np.float64(5.0)).net)
    3.0
    """

    stored: Array
    dissipated: Array
    supplied: Array

    @property
    def net(self) -> Array:
        """The rate at which they change the energy of the mechanism, stored energy included."""
        return self.supplied - self.dissipated


@readable
@user_facing
@dataclass(frozen=True)
class ElementForce:
    """The forces of one force element: a wrench on each of its sides, an effort on each of its joint coordinates.

    `wrenches` (..., n, 6) are [moment; force] at the sides' origins in ground axes, on the bodies named in `bodies`;
    `efforts` (..., m) are on the coordinates named in `coordinates`, each a joint and an index. Sides and coordinates
    that an expression only reads have zeros.

    >>> one = ElementForce(("ground", "arm"), np.arange(12.0).reshape(2, 6), (), np.zeros(0))
    >>> one.on("arm").tolist()
    [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
    """

    bodies: tuple[str, ...]
    wrenches: Array
    coordinates: tuple[tuple[str, int], ...]
    efforts: Array

    def on(self, body: str) -> Array:
        """Return the wrench on a body's side; the first, if it has several."""
        name = getattr(body, "name", body)
        if name not in self.bodies:
            raise StateError(f"the force acts on {', '.join(self.bodies) or 'joints only'}, not on {shown(name)}")
        return self.wrenches[..., self.bodies.index(name), :]

    def __str__(self) -> str:
        sides = [f"on {name} {_largest(self.wrenches[..., k, :])}" for k, name in enumerate(self.bodies)]
        efforts = [
            f"on {joint}[{k}] {short_text(self.efforts[..., n])}" for n, (joint, k) in enumerate(self.coordinates)
        ]
        return "; ".join([*sides, *efforts])


def _largest(wrench: Array) -> str:
    """Return the largest force and moment of a side, in words."""
    moment, force = (np.linalg.norm(wrench[..., part], axis=-1).max(initial=0.0) for part in (slice(3), slice(3, 6)))
    return f"{force:.6g} N, {moment:.6g} N m"


def numbered(names: Iterable[str]) -> list[str]:
    """Return names of which none occurs twice: the second "arm" is "arm (2)".

    >>> numbered(["arm", "leg", "arm"])
    ['arm', 'leg', 'arm (2)']
    """
    found: dict[str, None] = {}
    for name in names:
        k, text = 1, name
        while text in found:
            k, text = k + 1, f"{name} ({k + 1})"
        found[text] = None
    return list(found)


@user_facing
@readable
class Momentum(NamedTuple):
    """Angular and linear momentum (..., 3), in ground axes.

    >>> Momentum(np.zeros(3), np.ones(3)).linear.tolist()
    [1.0, 1.0, 1.0]
    """

    angular: Array
    linear: Array


@readable
@user_facing
@dataclass(frozen=True)
class Reaction:
    """The whole wrench that a joint transmits to its described child, at the joint point on that child.

    `unique` says for each of the six components whether rigid-body mechanics determines it.

    >>> r = Reaction(np.arange(6.0), np.ones(6, dtype=bool))
    >>> r.force.tolist()
    [3.0, 4.0, 5.0]
    """

    wrench: Array
    unique: Mask

    @property
    def moment(self) -> Array:
        """The moment (..., 3), in newton metres."""
        return self.wrench[..., 0:3]

    @property
    def force(self) -> Array:
        """The force (..., 3), in newtons."""
        return self.wrench[..., 3:6]


@readable
@user_facing
class Reactions(Mapping[str, Reaction]):
    """The reactions of all joints, by name; `shared` names the joints among which redundancy leaves them open.

    >>> r = Reactions(("A",), np.zeros((1, 6)))
    >>> r["A"].force.tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, names: tuple[str, ...], wrenches: Array, unique: Mask | None = None) -> None:
        self._names, self.wrenches = names, wrenches
        self.unique = np.ones(wrenches.shape, dtype=bool) if unique is None else unique
        self._index = {name: i for i, name in enumerate(names)}

    def __getitem__(self, name: str) -> Reaction:
        if name not in self._index:
            raise StateError(f'there is no joint "{name}"; the joints are {", ".join(self._names)}')
        k = self._index[name]
        return Reaction(self.wrenches[..., k, :], self.unique[..., k, :])

    @property
    def shared(self) -> tuple[str, ...]:
        """The joints some of whose components rigid-body mechanics does not determine: they share them."""
        return tuple(name for k, name in enumerate(self._names) if not self.unique[..., k, :].all())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __str__(self) -> str:
        rows = [("joint", "force [N]", "moment [N m]", "")]
        rows += [(name, short_text(self[name].force), short_text(self[name].moment), self._open(name)) for name in self]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]  # not empty: the head is one
        lines = ("  ".join(word.ljust(width) for word, width in zip(row, (*widths, 0), strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    def _open(self, name: str) -> str:
        """Return the components that redundancy leaves open, in words."""
        unique: Mask = np.reshape(self[name].unique, (-1, 6))
        found = [axis for k, axis in enumerate(COMPONENTS) if not unique[:, k].all()]
        return f"not unique: {', '.join(found)}" if found else ""
