"""Fixed joint: no freedom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from whippletree.elements.joints.base import Joint
from whippletree.spatial import Shift

__all__ = ["Fixed"]


@dataclass(frozen=True)
class Fixed(Joint):
    """A weld: the frame at `at` on the parent is the frame at `at_child` on the child.

    `pose` and `pose_child` give an orientation as well.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.fixed("weld", m.ground, m.body("post"), at=(1, 0, 0)).name
    'weld'
    """

    kind: ClassVar[str] = "fixed"
    n_configuration: ClassVar[int] = 0
    position_labels: ClassVar[tuple[str, ...]] = ()
    velocity_labels: ClassVar[tuple[str, ...]] = ()
    n_axes: ClassVar[int] = 0
    holds: ClassVar[tuple[str, ...] | None] = ("point", "about x", "about y", "about z")

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return nothing."""
        return ca.SX.zeros(0)

    def shift(self, x: ca.SX) -> Shift:
        """Return the shift that does nothing."""
        return Shift(())

    def joint_map(self, x: ca.SX) -> ca.SX:
        """Return the empty map."""
        return ca.SX.zeros(6, 0)
