"""The appearance of a body: shapes for pictures. They have no part in mechanics."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from whippletree.errors import ModelError
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar, scalar, shown

__all__ = ["DIMENSIONS", "Shape", "color_code"]

DIMENSIONS: dict[str, tuple[str, ...]] = {
    "rod": ("length",),
    "box": ("x", "y", "z"),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "sphere": ("radius",),
    "point": (),
    "mesh": ("x", "y", "z"),
}
"""The names of the sizes of each kind of shape; those of a mesh are the factors along its axes."""


HERE = Placement.identity()

_CODE = re.compile("(#[0-9a-f]{6}([0-9a-f]{2})?)?")
"""The pattern of colour codes; the empty text stands for the default colour."""


def color_code(rgba: Sequence[float]) -> str:
    """Return the code of a colour: red, green and blue from 0 to 1, and an opacity if that is below 1.

    >>> color_code((1.0, 0.5, 0.0)), color_code((0.0, 0.0, 0.0, 0.2))
    ('#ff8000', '#00000033')
    """
    whole = [round(255 * min(max(x, 0.0), 1.0)) if math.isfinite(x) else 255 for x in rgba]
    return "#" + "".join(f"{x:02x}" for x in (whole[:3] if whole[3:] in ([], [255]) else whole[:4]))


@user_facing
@readable
@dataclass(frozen=True)
class Shape:
    """A shape that is drawn: its kind, its sizes in metres, and its frame on the body.

    It is centred at the origin of its frame. A rod, which is thin, a cylinder and a capsule are along z, and a
    capsule's length is without its round ends. A "mesh" is drawn from a `file`, stretched by its sizes. Sizes and the
    point of the placement may be expressions in parameters. `color` is "#rrggbb", or "#rrggbbaa" with an opacity; of a
    mesh, it is that of surfaces to which the file gives none. A shape that is there to collide (`collides`) is drawn
    on request only, or where nothing else of the mechanism has a shape.

    >>> Shape("cylinder", (0.1, 2.0), Placement(point=(1, 0, 0))).size
    (0.1, 2.0)
    """

    kind: str
    size: tuple[Scalar, ...] = ()
    placement: Placement = HERE
    file: str = ""
    color: str = ""
    collides: bool = False

    def __post_init__(self) -> None:
        if self.kind not in DIMENSIONS:
            raise ModelError(f"a shape is one of {', '.join(DIMENSIONS)}, not {shown(self.kind)}")
        names = DIMENSIONS[self.kind]
        if not isinstance(self.size, Sequence) or len(self.size) != len(names):
            raise ModelError(f"{self.kind}: its size is ({', '.join(names)}), got {shown(self.size)}")
        if not isinstance(self.placement, Placement):
            raise ModelError(f"{self.kind}: its placement must be a Placement, got {shown(self.placement)}")
        if not isinstance(self.file, str) or bool(self.file) != (self.kind == "mesh"):
            raise ModelError(f"{self.kind}: a mesh has the name of its file, and nothing else has one")
        if not isinstance(self.color, str) or not _CODE.fullmatch(self.color):
            raise ModelError(f'{self.kind}: its color must be "#rrggbb" or "#rrggbbaa", got {shown(self.color)}')
        if not isinstance(self.collides, bool):
            raise ModelError(f"{self.kind}: collides must be True or False, got {shown(self.collides)}")
        pairs = zip(self.size, names, strict=True)
        object.__setattr__(self, "size", tuple(scalar(value, f"{self.kind}: {name}") for value, name in pairs))

    @staticmethod
    def blank(kind: str, file: str = "", color: str = "", collides: bool = False) -> Shape:
        """Return a shape of a kind that has no size yet.

        >>> Shape.blank("box").size
        (0.0, 0.0, 0.0)
        """
        return Shape(kind, (0.0,) * len(DIMENSIONS.get(kind, ())), HERE, file, color, collides)

    def moved(self, onto: Placement) -> Shape:
        """Return the same shape on something that is placed itself.

        >>> Shape("sphere", (0.1,)).moved(Placement(point=(0, 2, 0))).placement.point
        (0.0, 2.0, 0.0)
        """
        return replace(self, placement=onto @ self.placement)

    def numbers(self) -> tuple[Scalar, ...]:
        """Return the sizes and the twelve entries of the placement.

        >>> Shape("sphere", (0.1,)).numbers()[0]
        0.1
        """
        return (*self.size, *self.placement.entries())

    def with_numbers(self, numbers: tuple[Scalar, ...]) -> Shape:
        """Return the same kind of shape with other numbers.

        >>> one = Shape("sphere", (0.1,))
        >>> one.with_numbers((0.2, *one.numbers()[1:])).size
        (0.2,)
        """
        return replace(self, size=numbers[:-12], placement=Placement.of_entries(numbers[-12:]))
