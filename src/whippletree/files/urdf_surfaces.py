"""Surfaces in URDF: elements of Gazebo, Bullet and Drake beside the shapes of a link, since the format has none."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from whippletree.files.xml_source import XmlElement

__all__ = ["UrdfSurface", "UrdfSurfaces", "plain_number"]

_TRUE = ("true", "1")
_OF_DRAKE = "drake:proximity_properties"


class UrdfSurface(NamedTuple):
    """Friction, stiffness and damping of a surface, None where nothing says them, and whose family it is of."""

    friction: float | None = None
    stiffness: float | None = None
    damping: float | None = None
    family: str = ""

    def on(self, collision: XmlElement) -> UrdfSurface:
        """Return the surface of one shape, which may say its own friction and stiffness as Drake reads them."""
        own = collision.child(_OF_DRAKE)
        if own is None:
            return self
        friction = _value(own.all("drake:mu_dynamic", "drake:mu_static"))
        stiffness = _value(own.all("drake:point_contact_stiffness"))
        return self._replace(
            friction=self.friction if friction is None else friction,
            stiffness=self.stiffness if stiffness is None else stiffness,
        )


class UrdfSurfaces:
    """The surfaces of all links: from `<gazebo reference="...">`, and from `<contact>` within a link.

    Links of one robot pass through each other, unless `<self_collide>` says that one does not.

    >>> from whippletree.files.xml_source import parse_xml
    >>> text = b'<robot><link name="a"/><gazebo reference="a"><mu1>0.4</mu1></gazebo></robot>'
    >>> root = parse_xml(text, "arm.urdf")
    >>> UrdfSurfaces(root, "arm").of(root.child("link"))
    UrdfSurface(friction=0.4, stiffness=None, damping=None, family='arm')
    """

    def __init__(self, root: XmlElement, robot: str) -> None:
        self._robot = robot
        self._by_link: dict[str, list[XmlElement]] = {}
        for one in root.all("gazebo"):
            self._by_link.setdefault(one.get("reference"), []).append(one)

    def of(self, link: XmlElement) -> UrdfSurface:
        """Return the surface of a link."""
        gazebo = [child for one in self._by_link.get(link["name"], ()) for child in one.children]
        bullet = [child for one in link.all("contact") for child in one.children]
        whole = [child for one in self._by_link.get("", ()) for child in one.children]
        touching = _flags((*gazebo, *whole), "selfCollide", "self_collide")
        return UrdfSurface(
            _value(_tagged(gazebo, "mu1", "mu") + _tagged(bullet, "lateral_friction")),
            _value(_tagged(gazebo, "kp") + _tagged(bullet, "stiffness")),
            _value(_tagged(gazebo, "kd") + _tagged(bullet, "damping")),
            "" if touching else self._robot,
        )


def plain_number(text: str) -> float | None:
    """Return a number that is not negative, None for anything else.

    >>> plain_number("0.5"), plain_number("much"), plain_number("-1")
    (0.5, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0.0 else None


def _tagged(elements: Iterable[XmlElement], *tags: str) -> list[XmlElement]:
    return [one for one in elements if one.tag in tags]


def _value(elements: Iterable[XmlElement]) -> float | None:
    """Return the first number that elements have, as their text or as their value."""
    found = (plain_number(one.get("value") or one.text) for one in elements)
    return next((value for value in found if value is not None), None)


def _flags(elements: Iterable[XmlElement], *tags: str) -> bool:
    return any(one.text.strip().lower() in _TRUE for one in _tagged(elements, *tags))
