"""Inertia of a joint's own rate, which some formats call armature: that of a motor's rotor, seen through its gear.

Such an inertia a has the kinetic energy a q'^2 / 2, whatever the bodies do. For a hinge with axis z between a parent,
which turns with w about z, and a child, three parts with moments about z make it exactly: a / 2 on the child, a / 2 on
a rotor that turns the other way on the parent, and -a on the parent itself:

    a/2 (w + q')^2 + a/2 (w - q')^2 - a w^2 = a q'^2

all divided by two. For a slide there are two rotors, which turn by q and -q. On the ground w is zero, and the part of
the child alone, or one rotor, is enough.
"""

from __future__ import annotations

import numpy as np

from whippletree.elements.bodies import MassProperties
from whippletree.elements.joints import Fixed, Prismatic, Revolute
from whippletree.files.neutral_model import WORLD, LinkGraph, NeutralCoupling, NeutralJoint, NeutralLink, NeutralModel
from whippletree.spatial.placement import Placement

__all__ = ["add_rotors"]


def add_rotors(model: NeutralModel) -> None:
    """Replace the rotor inertias of joints by bodies."""
    grounded = LinkGraph(joint for joint in model.joints.values() if isinstance(joint.joint, Fixed)).reached(WORLD)
    for joint in [*model.joints.values()]:
        if joint.inertia and isinstance(joint.joint, Revolute | Prismatic):
            _add(model, joint, joint.parent in grounded)


def _add(model: NeutralModel, joint: NeutralJoint, grounded: bool) -> None:
    a, hinge = joint.inertia, isinstance(joint.joint, Revolute)
    if grounded and hinge and joint.child != WORLD:
        _give(model, joint.child, joint.on_child, a)
        return
    shares = {1.0: a} if grounded else {-1.0: a / 2} if hinge else {1.0: a / 2, -1.0: a / 2}
    if not grounded:
        _give(model, joint.parent, joint.on_parent, -a)
        if hinge:
            _give(model, joint.child, joint.on_child, a / 2)
    for ratio, share in shares.items():
        label = f"rotor of {joint.name}" + (" (opposite)" if ratio < 0 and not hinge else "")
        model.links[label] = NeutralLink(label, MassProperties.as_given(0.0, inertia=(0.0, 0.0, share)), joint.line)
        model.joints[label] = NeutralJoint(
            label, Revolute(), joint.parent, label, joint.on_parent, Placement(), joint.line
        )
        ratios = {(label, 0): 1.0, (joint.name, 0): -ratio}
        model.couplings.append(NeutralCoupling(f"gear of {label}", ratios, line=joint.line))
        if joint.name in model.guess:
            model.guess[label] = ratio * model.guess[joint.name]
        if joint.name in model.velocities:
            model.velocities[label] = ratio * model.velocities[joint.name]
    model.remarks.add("changed", "the rotor inertia (armature) of a joint is a body that turns with it", joint.line)


def _give(model: NeutralModel, link: str, frame: Placement, moment: float) -> None:
    """Add a moment of inertia about the z axis of a frame to a link."""
    if link == WORLD:
        return
    z = np.array([row[2] for row in frame.rotation])
    given = model.links[link].properties
    inertia = np.array(given.inertia, dtype=float) + moment * np.outer(z, z)
    model.links[link].properties = MassProperties.as_given(given.mass, given.com, inertia)
