"""The design position: where bodies are when all joint coordinates are neutral, so that the joints' frames coincide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import casadi as ca
import numpy as np

from whippletree.elements.joints import Fixed
from whippletree.errors import ModelError
from whippletree.model.description import Body, JointUse
from whippletree.model.model_tolerances import SAME_PLACE
from whippletree.model.names import quoted
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import Scalar, expressions

__all__ = ["design_distance", "design_poses", "moving_frames"]

Values = Callable[[Iterable[Scalar], str], list[float]]
"""Returns entries at the parameters' values."""


def design_poses(joints: Iterable[JointUse], body: str, values: Values) -> dict[str, Placement]:
    """Return the frames of all bodies that joints connect with a body, as seen from that body.

    Joints that close a loop must agree with the others; one that does not is named.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("arm"), at=(1, 0, 0))
    >>> design_poses(m.describe().joints, "ground", lambda entries, what: list(entries))["arm"].point
    (1.0, 0.0, 0.0)
    """
    found, left = {body: Placement.identity()}, list(joints)
    reached = True
    while reached:
        reached, waiting = False, []
        for use in left:
            apart = use.on_parent @ use.on_child.inverse()
            if use.parent in found and use.child in found:
                _check_closed(use, found[use.parent] @ apart, found[use.child], values)
            elif use.parent in found:
                found[use.child], reached = found[use.parent] @ apart, True
            elif use.child in found:
                found[use.parent], reached = found[use.child] @ apart.inverse(), True
            else:
                waiting.append(use)
        left = waiting
    return found


def design_distance(
    joints: Iterable[JointUse], bodies: tuple[str, str], placements: tuple[Placement, Placement], values: Values
) -> Scalar:
    """Return how far points on two bodies are apart in the design position.

    >>> here, there = Placement(), Placement(point=(3, 4, 0))
    >>> weld = JointUse("weld", Fixed(), "a", "b", here, here, False)
    >>> design_distance([weld], ("a", "b"), (here, there), lambda entries, what: list(entries))
    5.0
    """
    near, far = bodies
    poses = design_poses(joints, near, values)
    if far not in poses:
        raise ModelError(
            f"no joints connect {quoted(near)} and {quoted(far)} yet, so that their distance at zero coordinates is "
            "not known: add the joints first, or give length"
        )
    between = [a - b for a, b in zip((poses[far] @ placements[1]).point, placements[0].point, strict=True)]
    return ca.norm_2(ca.vertcat(*between)) if expressions(between) else math.hypot(*between)


def moving_frames(bodies: Iterable[Body]) -> Iterator[JointUse]:
    """Yield how bodies with own coordinates hold their moving frames where these coordinates begin, as welds.

    >>> from whippletree.elements.bodies import MassProperties
    >>> from whippletree.flexible_bodies import beam, circle, steel
    >>> link = beam(length=1.0, section=circle(radius=0.01), material=steel, modes=2)
    >>> [(weld.child, weld.on_parent.point) for weld in moving_frames([Body("link", MassProperties(), link)])]
    [('link.root', (0.0, 0.0, 0.0)), ('link.tip', (1.0, 0.0, 0.0))]
    """
    for body in bodies:
        for frame in () if body.kind is None else body.kind.frames:
            R, p = body.kind.pose(frame, ca.SX(ca.DM(body.kind.neutral())))  # type: ignore[union-attr]
            if ca.SX(R).is_constant() and ca.SX(p).is_constant():
                placement = Placement(ca.DM(R).full(), ca.DM(p).full().ravel())
                name = f"{body.name}.{frame}"
                yield JointUse(name, Fixed(), body.name, name, placement, Placement.identity(), False)


def _check_closed(use: JointUse, meant: Placement, there: Placement, values: Values) -> None:
    """Refuse a joint whose frames do not coincide at zero coordinates."""
    what = f"the place of joint {quoted(use.name)}"
    one, other = (np.array(values(pose.entries(), what)) for pose in (meant, there))
    if np.abs(one - other).max() > SAME_PLACE * max(1.0, np.abs(one).max()):
        raise ModelError(
            f"the loop of joint {quoted(use.name)} is open at zero coordinates, so that there is no design position to "
            "take the length from: give length"
        )
