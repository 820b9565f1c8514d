"""The collision shapes of a model, and its format's rules about which of them collide.

Every reader fills these, and one place makes contacts of them (`contact_elements`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from whippletree.foundation.arrays import Array
from whippletree.spatial.placement import Placement

APART = "links of one robot pass through each other, unless <self_collide> says that they do not"
"""A remark on models of URDF and SDF, if contacts are made of them."""

__all__ = ["APART", "NeutralCollider", "NeutralCollisions", "NeutralPair"]


@dataclass(frozen=True)
class NeutralCollider:
    """A shape on a link that touches others: its kind, its sizes as those of a `Shape`, and its surface.

    A "plane" has no sizes; its normal is z. A "mesh" has a `file`, stretched by its sizes, or `corners`, which returns
    those of its triangles (n, 3). `friction`, `stiffness` and `damping` are None where the file does not
    say them. Of two shapes the one of higher `priority` says their friction, and two that are `slippery` have none.
    Two shapes meet where one `is_of` groups that the other one `meets`, by bits, unless they are of one `family`.
    Surfaces touch `margin` before they meet.
    """

    name: str
    link: str
    kind: str
    size: tuple[float, ...] = ()
    placement: Placement = field(default_factory=Placement)
    friction: float | None = None
    stiffness: float | None = None
    damping: float | None = None
    margin: float = 0.0
    is_of: int = 1
    meets: int = 1
    family: str = ""
    priority: int = 0
    slippery: bool = False
    file: str = ""
    corners: Callable[[], Array] | None = None
    line: int | None = None


@dataclass(frozen=True)
class NeutralPair:
    """Two shapes, by their names, that touch whatever else is said, with a friction and a margin of their own."""

    first: str
    second: str
    friction: float
    margin: float = 0.0


@dataclass
class NeutralCollisions:
    """All shapes of a model that collide, and the rules of its format.

    `pairs` touch in any case, and links that are `apart` never do. Links that a joint connects pass through each other
    unless `neighbours_meet`, those of joints that close loops unless `loops_meet`, those that are fixed to the ground
    unless `ground_meets`. The friction of two surfaces is the
    smaller one, or the larger if `rougher_counts`. `remarks` are made if contacts are.
    """

    shapes: list[NeutralCollider] = field(default_factory=list)
    pairs: list[NeutralPair] = field(default_factory=list)
    apart: set[frozenset[str]] = field(default_factory=set)
    neighbours_meet: bool = False
    loops_meet: bool = False
    ground_meets: bool = False
    rougher_counts: bool = False
    remarks: list[tuple[str, str]] = field(default_factory=list)
    _names: set[str] = field(default_factory=set, init=False, repr=False)

    def add(self, shape: NeutralCollider) -> str:
        """Add a shape and return its name, which is made such that no other has it.

        >>> collisions = NeutralCollisions()
        >>> [collisions.add(NeutralCollider("foot", "leg", "sphere", (0.1,))) for _ in range(2)]
        ['foot', 'foot 2']
        """
        name, k = shape.name, 1
        while name in self._names:
            k += 1
            name = f"{shape.name} {k}"
        self._names.add(name)
        self.shapes.append(replace(shape, name=name))
        return name
