"""Parts shared by all models of the papers, and how they are built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whippletree.elements.bodies import MassProperties, box, rod, sphere
from whippletree.foundation.arrays import Array
from whippletree.model import Mechanism
from whippletree.model.element_registry import BodyLike
from whippletree.system import System

__all__ = ["PaperModel", "Point", "along", "body_joint_pairs", "link", "segment"]

Point = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class PaperModel:
    """A mechanism of a paper, and how it is built.

    >>> from whippletree.analysis.models import five_bar_pendulum
    >>> five_bar_pendulum().build().nv
    5
    """

    mechanism: Mechanism
    guess: Mapping[str, Any] = field(default_factory=dict)
    cut: tuple[str, ...] = ()

    def build(self) -> System:
        """Return the system, loops closed and cut where the paper cuts them."""
        return self.mechanism.build(guess=dict(self.guess), cut=list(self.cut) or None)

    def state(self, system: System, seed: int = 0) -> tuple[Array, Array]:
        """Return a consistent state near the described one, moving.

        >>> from whippletree.analysis.models import quarter_car
        >>> model = quarter_car()
        >>> q, v = model.state(model.build())
        >>> q.shape
        (23,)
        """
        rng = np.random.default_rng(seed)
        q = system.q0
        v = 0.3 * rng.standard_normal(system.nv)
        if system.description.closures or system.plan.cuts:
            return q, system.consistent_velocities(q, v)
        return system.integrate(q, 0.3 * rng.standard_normal(system.nv)), v


def body_joint_pairs(system: System) -> int:
    """Return the number of pairs of a body and a joint on its way to the base, a floating base not counted.

    >>> from whippletree.analysis.models import serial_chain
    >>> body_joint_pairs(serial_chain(3).build())
    6
    """
    node_constants = system.kernels.equations.node_tree().node_constants
    depth: list[int] = []
    for constants in node_constants:
        above = 0 if constants.parent < 0 else depth[constants.parent]
        depth.append(above + (constants.use.joint.kind != "free"))
    return sum(depth)


def segment(length: float, mass: float, thick: float, axis: str = "-z") -> MassProperties:
    """Return a rod with thickness: a part of a body."""
    sizes = [thick, thick, thick]
    k = "xyz".index(axis[-1])
    sizes[k] = length
    at = [0.0, 0.0, 0.0]
    at[k] = -length / 2 if axis[0] == "-" else length / 2
    return box(sizes, mass=mass, at=at)


def along(ends: tuple[Point, Point]) -> Point:
    """Return the far end of a link in its own frame, which is parallel to the ground at the near end."""
    (a, b, c), (x, y, z) = ends
    return (x - a, y - b, z - c)


def link(
    m: Mechanism, name: str, parent: BodyLike, inner: Point, outer: Point, mass: float, *, base: Any = None
) -> None:
    """Add a thin link with a cardan joint at its inner end; its frame is parallel to the parent's."""
    way = np.subtract(outer, inner)
    length = float(np.linalg.norm(way))
    first = np.array((0.0, 0.0, 1.0)) - way * way[2] / length**2
    first = first / np.linalg.norm(first)
    second = np.cross(way / length, first)
    shape = rod(length, mass=mass, axis=way / length) + sphere(0.03, mass=0.3)
    at = inner if base is None else tuple(np.subtract(inner, base))
    m.universal(f"{name} joint", parent, m.body(name, shape), at=at, axis=tuple(first), axis_child=tuple(second))
