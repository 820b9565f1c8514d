"""Surfaces in SDF: friction, stiffness and the bits by which shapes collide, of Gazebo's engines and of Drake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whippletree.files.urdf_surfaces import plain_number
from whippletree.files.xml_source import XmlElement

__all__ = ["sdf_surface"]

_WHERE = {
    "friction": (
        ("surface", "friction", "ode", "mu"),
        ("surface", "friction", "bullet", "friction"),
        ("drake:proximity_properties", "drake:mu_dynamic"),
    ),
    "stiffness": (
        ("surface", "contact", "ode", "kp"),
        ("surface", "contact", "bullet", "kp"),
        ("drake:proximity_properties", "drake:point_contact_stiffness"),
    ),
    "damping": (("surface", "contact", "ode", "kd"), ("surface", "contact", "bullet", "kd")),
}
_BITS = ("surface", "contact", "collide_bitmask")


def sdf_surface(collision: XmlElement) -> dict[str, Any]:
    """Return the surface of a shape, by the words of a `NeutralCollider`.

    >>> from whippletree.files.xml_source import parse_xml
    >>> text = b"<collision><surface><friction><ode><mu>0.4</mu></ode></friction></surface></collision>"
    >>> sdf_surface(parse_xml(text, "m.sdf"))
    {'friction': 0.4}
    """
    found: dict[str, Any] = {}
    for what, ways in _WHERE.items():
        texts = (one.text for way in ways for one in _along(collision, way))
        value = next((value for value in map(plain_number, texts) if value is not None), None)
        if value is not None:
            found[what] = value
    bits = next((_bits(one.text) for one in _along(collision, _BITS)), None)
    return found if bits is None else found | {"is_of": bits, "meets": bits}


def _along(element: XmlElement, way: tuple[str, ...]) -> Iterator[XmlElement]:
    """Yield the elements at the end of a path of elements within elements."""
    if not way:
        yield element
        return
    for child in element.all(way[0]):
        yield from _along(child, way[1:])


def _bits(text: str) -> int | None:
    """Return a mask, which files write in decimal or, behind 0x, in hexadecimal digits.

    >>> _bits("0x03"), _bits("5"), _bits("all")
    (3, 5, None)
    """
    try:
        return int(text, 0) & 0xFFFFFFFF if len(text) < 20 else None
    except ValueError:
        return None
