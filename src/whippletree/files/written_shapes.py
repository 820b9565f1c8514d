"""Shapes in the words of each format: a shape for which one has no word is put together of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from whippletree.elements.bodies import Shape
from whippletree.spatial.placement import Placement

__all__ = ["color_numbers", "with_standard_shapes"]

_THIN = 0.01
"""The radius of a rod, which has none, by its length."""


def with_standard_shapes(shape: Shape, *unknown: str) -> Iterator[Shape]:
    """Yield a shape by boxes, cylinders, spheres and meshes; rods are thin cylinders, a point is nothing to be seen.

    >>> [one.kind for one in with_standard_shapes(Shape("capsule", (0.1, 1.0)), "capsule")]
    ['cylinder', 'sphere', 'sphere']
    """
    size = [float(value) for value in shape.size]
    if shape.kind == "rod":
        yield replace(shape, kind="cylinder", size=(_THIN * size[0], size[0]))
    elif shape.kind == "capsule" and "capsule" in unknown:
        yield replace(shape, kind="cylinder")
        for way in (0.5, -0.5):
            end = shape.placement @ Placement(point=(0.0, 0.0, way * size[1]))
            yield replace(shape, kind="sphere", size=(size[0],), placement=end)
    elif shape.kind != "point":
        yield shape


def color_numbers(color: str) -> str:
    """Return red, green, blue and opacity of a code, from 0 to 1.

    >>> color_numbers("#ff8000")
    '1.0 0.50196 0.0 1.0'
    """
    code = color.removeprefix("#").ljust(8, "f")
    return " ".join(str(round(int(code[k : k + 2], 16) / 255, 5)) for k in (0, 2, 4, 6))
