"""The drive of a prescribed cut joint: its accelerations are given."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from whippletree.elements.closures.base import Closure, Rows, Side
from whippletree.elements.closures.relative import joint_rates
from whippletree.elements.joints import Joint

__all__ = ["JointDrive"]


@dataclass(frozen=True)
class JointDrive(Closure):
    """The velocities of a joint as rows: phi'' is the joint's acceleration, which the drive prescribes.

    >>> from whippletree.elements.joints import Revolute
    >>> JointDrive(Revolute()).labels
    ('effort of the angular velocity',)
    """

    joint: Joint

    @property
    def labels(self) -> tuple[str, ...]:
        """The effort that each row transmits."""
        return tuple(f"effort of the {label}" for label in self.joint.velocity_labels)

    @property
    def holonomic(self) -> bool:
        """The drive gives accelerations, not positions."""
        return False

    @property
    def of_joint_state(self) -> bool:
        """The joint map may depend on the coordinates."""
        return True

    def rows(self, sides: tuple[Side, ...], q: ca.SX, v: ca.SX, t: ca.SX) -> Rows:
        """Return the joint's rates; q and v are all of the joint's own."""
        return joint_rates(self.joint, self.joint.configuration(q), v, sides)
