"""The appearance of bodies of OpenSim models: meshes by their file names, and plain shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from whippletree.elements.bodies import Shape
from whippletree.elements.bodies.appearance import color_code
from whippletree.files.opensim_source import OpensimObjects
from whippletree.files.poses import from_turns
from whippletree.files.xml_source import XmlElement
from whippletree.spatial.placement import Placement

__all__ = ["shapes_of"]

_UPRIGHT = Placement(((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)))
"""Axes whose z is along y: cylinders stand on y there."""


def shapes_of(objects: OpensimObjects, body: XmlElement, on: Placement) -> Iterator[Shape]:
    """Yield the shapes of a body, or of a frame that is placed on it."""
    for group in body.all("attached_geometry"):
        for one in group.children:
            found = _shape(objects, one, on)
            if found is not None:
                yield replace(found, color=_color(objects, one.child("Appearance") or one))
    for group in body.all("VisibleObject"):
        yield from _displayed(objects, group, on)


def _shape(objects: OpensimObjects, one: XmlElement, on: Placement) -> Shape | None:
    factors = objects.numbers(one, "scale_factors", count=3, default=(1.0, 1.0, 1.0))
    if one.tag == "Mesh" and objects.text(one, "mesh_file"):
        return Shape("mesh", factors, on, objects.text(one, "mesh_file"))
    if one.tag == "Brick":
        return Shape("box", tuple(2 * x for x in objects.numbers(one, "half_lengths", count=3)), on)
    if one.tag == "Sphere":
        return Shape("sphere", (objects.number(one, "radius"),), on)
    if one.tag == "Cylinder":
        size = objects.number(one, "radius"), 2 * objects.number(one, "half_height")
        return Shape("cylinder", size, on @ _UPRIGHT)
    return None


def _color(objects: OpensimObjects, element: XmlElement) -> str:
    rgb = objects.numbers(element, "color", count=3)
    return color_code(rgb) if rgb else ""


def _displayed(objects: OpensimObjects, group: XmlElement, on: Placement) -> Iterator[Shape]:
    """Yield the meshes that a body of version 3 shows."""
    whole = objects.numbers(group, "scale_factors", count=3, default=(1.0, 1.0, 1.0))
    for one in objects.members(group, "GeometrySet"):
        file = objects.text(one, "geometry_file")
        if not file:
            continue
        turn = objects.numbers(one, "transform", count=6, default=(0.0,) * 6)
        own = objects.numbers(one, "scale_factors", count=3, default=(1.0, 1.0, 1.0))
        pose = Placement(from_turns("xyz", turn[:3]), turn[3:])  # type: ignore[arg-type]
        yield Shape(
            "mesh", tuple(a * b for a, b in zip(whole, own, strict=True)), on @ pose, file, _color(objects, one)
        )
