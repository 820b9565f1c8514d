"""How far loops are open where a file starts them: found by walking the joints with plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from whippletree.elements.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from whippletree.files.file_limits import OPEN_LOOP, ROUNDED
from whippletree.files.neutral_model import WORLD, LinkGraph, NeutralCoupling, NeutralJoint, NeutralModel
from whippletree.files.poses import about_axis, from_quaternion, from_turns, quaternion_of
from whippletree.spatial.orientation import IDENTITY
from whippletree.spatial.placement import Placement

__all__ = ["coordinates_of", "guess_closing", "joint_motion", "poses_at", "report_gaps"]


def joint_motion(joint: Joint, q: Sequence[float]) -> Placement | None:
    """Return the child's joint frame in the parent's at these coordinates, zeros if there are none; None if unknown.

    >>> joint_motion(Prismatic(), [2.0]).point
    (0.0, 0.0, 2.0)
    """
    if isinstance(joint, Fixed):
        return Placement()
    if not any(q):
        return Placement()
    if isinstance(joint, Revolute):
        return about_axis(q[0])
    if isinstance(joint, Prismatic):
        return about_axis(0.0, q[0])
    if isinstance(joint, Cylindrical):
        return about_axis(q[0], q[1])
    if isinstance(joint, Screw) and isinstance(joint.lead, float):
        return about_axis(q[0], joint.lead * q[0] / (2 * math.pi))
    if isinstance(joint, Planar):
        return Placement(point=(q[1], q[2], 0.0)) @ about_axis(q[0])
    if isinstance(joint, Universal):
        return Placement(from_turns("xz", q))
    if isinstance(joint, Spherical):
        return from_quaternion(q)
    return from_quaternion(q[:4], q[4:7]) if isinstance(joint, Free) else None


def coordinates_of(joint: Joint, relative: Placement) -> tuple[float, ...]:
    """Return the coordinates of a joint whose child frame is so placed in the parent's; nothing if all are zero.

    >>> coordinates_of(Prismatic(), Placement(point=(0.0, 0.0, 2.0)))
    (2.0,)
    """
    R, p = relative.rotation, [float(x) for x in relative.point]
    angle = math.atan2(R[1][0], R[0][0])
    found: tuple[float, ...] = ()
    if isinstance(joint, Revolute | Screw):
        found = (angle,)
    elif isinstance(joint, Prismatic):
        found = (p[2],)
    elif isinstance(joint, Cylindrical):
        found = angle, p[2]
    elif isinstance(joint, Planar):
        found = angle, p[0], p[1]
    elif isinstance(joint, Spherical) and R != IDENTITY:
        return quaternion_of(R)
    return found if any(found) else ()


def poses_at(model: NeutralModel) -> dict[str, Placement]:
    """Return the poses of links at the start, by the tree of joints that do not close a loop."""
    tree = [joint for joint in model.joints.values() if not joint.closes]
    motions = {joint.name: joint_motion(joint.joint, _start_of(model, joint)) for joint in tree}
    known = {name: motion for name, motion in motions.items() if motion is not None}
    found = {WORLD: Placement()}
    for joint, here, there in LinkGraph(one for one in tree if one.name in known).walk(WORLD):
        step = joint.on_parent @ known[joint.name] @ joint.on_child.inverse()
        found[there] = found[here] @ (step if joint.parent == here else step.inverse())
    return found


def _start_of(model: NeutralModel, joint: NeutralJoint) -> Sequence[float]:
    given = model.guess.get(joint.name, ())
    return [float(x) for x in np.atleast_1d(np.asarray(given, dtype=float))]


def guess_closing(model: NeutralModel) -> None:
    """Say where the joints are that close loops, as the others put them: assembly starts from there."""
    poses = poses_at(model)
    for joint in model.joints.values():
        if not joint.closes or joint.name in model.guess or joint.parent not in poses or joint.child not in poses:
            continue
        one, other = poses[joint.parent] @ joint.on_parent, poses[joint.child] @ joint.on_child
        start = coordinates_of(joint.joint, one.inverse() @ other)
        if start:
            model.guess[joint.name] = start[0] if len(start) == 1 else start


def report_gaps(model: NeutralModel) -> None:
    """Remark each loop that is open at the start, and by how much."""
    poses = poses_at(model)
    for joint in model.joints.values():
        if joint.parent not in poses or joint.child not in poses:
            continue
        gap = _gap(joint, poses[joint.parent] @ joint.on_parent, poses[joint.child] @ joint.on_child, model)
        if gap is not None and max(gap) > OPEN_LOOP:  # not empty: there are two numbers
            model.remarks.add(
                "changed",
                f'the loop at "{joint.name}" is open by {gap[0]:.3g} m and {gap[1]:.3g} rad where the file starts: '
                "assembly moves the joints until it is closed",
                joint.line,
            )
        elif gap is not None and max(gap) > ROUNDED:  # not empty: there are two numbers
            model.remarks.add(
                "guessed",
                f"a loop is open by less than {OPEN_LOOP:g} m or rad where the file starts: its data are taken as "
                f"rounded to {OPEN_LOOP:g} (build(accuracy=...) says otherwise)",
                joint.line,
            )
    for coupling in model.couplings:
        off = abs(_coupling_gap(coupling, model))
        if off > OPEN_LOOP:
            text = f'coupling "{coupling.name}" is off by {off:.3g} where the file starts: assembly closes it'
            model.remarks.add("changed", text, coupling.line)


def _coupling_gap(coupling: NeutralCoupling, model: NeutralModel) -> float:
    """Return by how much a coupling is off at the start."""
    sums = []
    for ratios in (coupling.ratios, coupling.of):
        starts = {joint: _start_of(model, model.joints[joint]) for joint, _ in ratios}
        sums.append(
            sum(ratio * (*starts[joint], 0.0)[index] for (joint, index), ratio in ratios.items() if starts[joint])
        )
    return sums[0] - coupling.offset - sum(c * sums[1] ** k for k, c in enumerate(coupling.powers))


def _gap(joint: NeutralJoint, one: Placement, other: Placement, model: NeutralModel) -> tuple[float, float] | None:
    """Return the gaps of a closed joint between its two sides, along its rows: metres and radians."""
    motion = joint_motion(joint.joint, _start_of(model, joint))
    if motion is None or isinstance(joint.joint, Free):
        return None
    relative = one.inverse() @ other
    R, p = np.array(relative.rotation), np.array(relative.point, dtype=float)
    if isinstance(joint.joint, Spherical):
        return float(np.linalg.norm(p)), 0.0
    if isinstance(joint.joint, Universal):
        return float(np.linalg.norm(p)), abs(math.asin(max(-1.0, min(1.0, float(R[0, 2])))))
    tilt = math.atan2(math.hypot(R[0, 2], R[1, 2]), R[2, 2])
    if isinstance(joint.joint, Revolute):
        return float(np.linalg.norm(p)), tilt
    if isinstance(joint.joint, Cylindrical | Screw):
        return math.hypot(p[0], p[1]), tilt
    if isinstance(joint.joint, Planar):
        return abs(float(p[2])), tilt
    turn = math.atan2(np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]), np.trace(R) - 1.0)
    if isinstance(joint.joint, Prismatic):
        return math.hypot(p[0], p[1]), turn
    return float(np.linalg.norm(p)), turn
