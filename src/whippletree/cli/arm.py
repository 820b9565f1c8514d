"""The arm of the demonstration: seven revolute joints, with the proportions of a common light robot."""

from __future__ import annotations

from whippletree.elements.bodies import cylinder, sphere
from whippletree.model import Mechanism

__all__ = ["describe_arm"]


def describe_arm() -> Mechanism:
    """Return the arm: links of simple shapes, upright at zero, and a frame "flange" where a tool would go.

    >>> [joint.name for joint in describe_arm().describe().joints][:3]
    ['turn', 'shoulder', 'upper arm roll']
    """
    m = Mechanism("seven-joint arm")
    pillar = m.body("pillar", cylinder(radius=0.06, length=0.25, mass=4.0, at=(0, 0, -0.12)))
    hip = m.body("hip", sphere(radius=0.08, mass=4.0))
    upper_arm = m.body("upper arm", cylinder(radius=0.06, length=0.25, mass=3.5, at=(0, 0, -0.12)))
    elbow = m.body("elbow", cylinder(radius=0.05, length=0.16, mass=3.0, axis="y", at=(-0.04, 0, 0)))
    forearm = m.body("forearm", cylinder(radius=0.05, length=0.3, mass=3.0, at=(0, 0, -0.15)))
    wrist = m.body("wrist", sphere(radius=0.06, mass=1.6))
    hand = m.body("hand", cylinder(radius=0.04, length=0.12, mass=1.1, at=(0, 0, 0.06)))

    m.revolute("turn", m.ground, pillar, at=(0, 0, 0.33), axis="z")
    m.revolute("shoulder", pillar, hip, axis="y")
    m.revolute("upper arm roll", hip, upper_arm, at=(0, 0, 0.32), axis="z")
    m.revolute("elbow bend", upper_arm, elbow, at=(0.08, 0, 0), axis="-y")
    m.revolute("forearm roll", elbow, forearm, at=(-0.08, 0, 0.38), axis="z")
    m.revolute("wrist bend", forearm, wrist, axis="-y")
    m.revolute("hand roll", wrist, hand, at=(0.09, 0, 0), axis="z")
    m.frame("flange", on=hand, at=(0, 0, 0.11))
    return m
