"""How joints are drawn: a symbol for each kind, the axes, and the support of joints on the ground.

Symbols stand on the parent, at the joint frame, whose z is the joint's axis; sizes are in radii of links.
"""

from __future__ import annotations

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.model.description import JointUse
from whippletree.spatial.orientation import axis_rotation
from whippletree.viewer.scene import GROUND_PLACE, Solid

__all__ = ["joint_axes", "joint_solids", "slides"]

_SYMBOLS: dict[str, tuple[tuple[str, tuple[float, ...], int], ...]] = {
    "revolute": (("cylinder", (1.5, 4.0), 2),),
    "prismatic": (("box", (2.8, 2.8, 5.0), 2),),
    "screw": (("cylinder", (1.2, 6.0), 2), ("cylinder", (1.9, 0.8), 2)),
    "cylindrical": (("cylinder", (1.5, 6.0), 2),),
    "universal": (("cylinder", (0.75, 4.4), 0), ("cylinder", (0.75, 4.4), 2), ("sphere", (1.2,), 2)),
    "spherical": (("sphere", (1.9,), 2),),
    "spherical_bryant": (("sphere", (1.9,), 2),),
    "spherical_euler": (("sphere", (1.9,), 2),),
    "planar": (("box", (7.0, 7.0, 0.5), 2),),
    "fixed": (("box", (2.2, 2.2, 2.2), 2),),
    "free": (),
    "free_bryant": (),
    "free_euler": (),
}
"""Solids of each kind of joint, their sizes, and along which axis of the joint frame they are."""

_AXES = {"universal": (0, 2), "spherical": (), "fixed": (), "free": ()}
_AXES |= dict.fromkeys(("spherical_bryant", "spherical_euler", "free_bryant", "free_euler"), ())
_SLIDING = ("prismatic", "cylindrical", "screw", "planar")


def joint_axes(kind: str) -> tuple[int, ...]:
    """Return which axes of the joint frame a joint turns about or slides along, that are drawn.

    >>> joint_axes("revolute"), joint_axes("universal")
    ((2,), (0, 2))
    """
    return _AXES.get(kind, (2,))


def slides(kind: str) -> bool:
    """Tell whether a joint's two points move apart along a guide.

    >>> slides("prismatic"), slides("revolute")
    (True, False)
    """
    return kind in _SLIDING


def joint_solids(use: JointUse, place: int, unit: float, foot: Array) -> list[Solid]:
    """Return the solids of a joint on its parent's place; if that is the ground, those of its support too.

    The support's foot is in the direction `foot`.

    >>> from whippletree.system.example_systems import four_bar
    >>> hinge = four_bar().description.joint("A")
    >>> [one.kind for one in joint_solids(hinge, GROUND_PLACE, 0.03, np.array([0.0, 0.0, -1.0]))]
    ['cylinder', 'cone']
    """
    pose, found = use.on_parent.matrix(), []
    for kind, sizes, axis in _SYMBOLS.get(use.joint.kind, (("sphere", (1.6,), 2),)):
        own = pose.copy()
        if axis == 0:
            own[:3, :3] = own[:3, :3] @ np.array(axis_rotation((1.0, 0.0, 0.0)))
        found.append(Solid(place, kind, tuple(unit * x for x in sizes), own, "joint"))
    if place == GROUND_PLACE and use.joint.kind not in ("free", "free_bryant", "free_euler", "planar"):
        found.append(_support(pose[:3, 3], unit, foot))
    return found


def _support(point: Array, unit: float, foot: Array) -> Solid:
    """Return a cone with its tip at a point, and its base in a direction."""
    height, pose = 5.0 * unit, np.eye(4)
    x, y, z = (-foot).tolist()
    pose[:3, :3] = axis_rotation((x, y, z))
    pose[:3, 3] = point + foot * height / 2
    return Solid(GROUND_PLACE, "cone", (2.6 * unit, height), pose, "support")
