"""Closures with their rows on bodies in ground axes (Kang and Yoon 37, 44-46, tables 1 to 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Rows, Side, joint_rates
from whippletree.formulations.closures.closure_frames import ClosureAttachment
from whippletree.formulations.closures.closure_set import ClosureSet, ClosureState, JointForceColumns, NodeForceColumns
from whippletree.formulations.nodes.frame_states import NodeFrame
from whippletree.formulations.nodes.sweeps import Kept, Unrolled
from whippletree.formulations.recursions.ground_axes import GroundBody, Reference, reference_of
from whippletree.spatial import Rotation, Translation, cross, stack

__all__ = ["RowsOnBodies", "closures_on_ground"]


def closures_on_ground(
    walk: Unrolled, closure_set: ClosureSet, seen: Kept[GroundBody], reference: Reference
) -> list[ClosureState]:
    """Return every closure with its rows on the bodies' Y' (Kang and Yoon 37, 44-46, tables 1 to 4).

    A pull holds the columns Phi^T of a body: a row on a point becomes a force at the reference point, with the lever
    s = point - p of table 1. `second` is what of phi'' no Y' brings (table 4).
    """
    return [
        _closure_state(walk, closure_set, seen, reference, attachment, keep)
        for attachment, keep in zip(closure_set.attachments.all, closure_set.keep, strict=True)
    ]


class RowsOnBodies(NamedTuple):
    """Rows on bodies: columns by body, and the parts of phi' and phi'' that are independent of accelerations."""

    node_forces: dict[int, ca.SX]
    rate: ca.SX
    second: ca.SX


def _closure_state(
    walk: Unrolled,
    closure_set: ClosureSet,
    seen: Kept[GroundBody],
    reference: Reference,
    attachment: ClosureAttachment,
    keep: Sequence[int],
) -> ClosureState:
    q, v, given = closure_set.coordinates(attachment)
    sides, back = _sides(seen, attachment.frames, attachment.base)
    rows = attachment.closure.rows(sides, q, v, closure_set.t)
    on = _on_bodies(seen, reference, attachment.frames, rows, back)
    node_forces, rate, second = dict(on.node_forces), on.rate, on.second - given
    joint_forces: list[JointForceColumns] = []
    chosen = list(keep)
    for i, c in enumerate(attachment.coordinates):
        k = rows.K[:, i]
        rate = rate + k * closure_set.v[c.v]
        if c.node is not None:
            joint_forces.append(JointForceColumns(c.node, c.component, k[chosen, :]))
        elif c.cut is not None:
            cut = closure_set.attachments.cuts[c.cut]
            of_cut, turned = _sides(seen, cut.frames, cut.base)
            x = cut.joint.configuration(closure_set.q[cut.q, :])
            own = _on_bodies(
                seen, reference, cut.frames, joint_rates(cut.joint, x, closure_set.v[cut.v, :], of_cut), turned
            )
            second = second + k * own.second[c.component]
            for body, F in own.node_forces.items():
                _add(node_forces, body, F[:, c.component] @ k.T)
    return ClosureState(
        rows.phi[chosen, :],
        rate[chosen, :],
        second[chosen, :],
        tuple(NodeForceColumns(body, attachment.base, F[:, chosen]) for body, F in node_forces.items()),
        tuple(joint_forces),
    )


def _sides(seen: Kept[GroundBody], frames: Sequence[NodeFrame], base: int) -> tuple[tuple[Side, ...], ca.SX | None]:
    """Return the sides of the closure in the axes of the loop's base, and these axes unless they are the ground's."""
    sides = tuple(_side(seen, frame) for frame in frames)
    if base < 0:
        return sides, None
    A = seen.at(base).A
    return tuple(Side(*(A.T @ part for part in side)) for side in sides), A


def _side(seen: Kept[GroundBody], frame: NodeFrame) -> Side:
    if frame.node < 0:
        return Side(frame.rotation, frame.point, ca.SX.zeros(3), ca.SX.zeros(3))
    body = seen.at(frame.node)
    arm = body.A @ frame.point
    return Side(body.A @ frame.rotation, body.r + arm, body.w, body.v + cross(body.w, arm))


def _on_bodies(
    seen: Kept[GroundBody], reference: Reference, frames: Sequence[NodeFrame], rows: Rows, axes: ca.SX | None
) -> RowsOnBodies:
    """Bring rows on points to the bodies' reference points."""
    node_forces: dict[int, ca.SX] = {}
    rate, second = rows.drift, rows.bias
    for frame, D in zip(frames, rows.D, strict=True):
        if frame.node < 0:
            continue
        body = seen.at(frame.node)
        F = ca.densify(D.T if axes is None else Rotation(axes).force(D.T))
        arm = body.A @ frame.point
        v = body.v + cross(body.w, arm)
        lever = arm - body.field.rho
        square = cross(body.w, v if reference_of(reference, frame.node) == "origin" else cross(body.w, lever))
        rate = rate + F.T @ stack(body.w, v)
        second = second + F[3:6, :].T @ square
        _add(node_forces, frame.node, Translation(lever).force(F))
    return RowsOnBodies(node_forces, rate, second)


def _add(target: dict[int, ca.SX], key: int, value: ca.SX) -> None:
    target[key] = target[key] + value if key in target else value
