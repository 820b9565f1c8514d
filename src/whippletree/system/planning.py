"""From a description to the plan of its graph."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from whippletree.elements.bodies import MassProperties
from whippletree.elements.joints import Fixed
from whippletree.errors import StateError
from whippletree.model.argument_types import JointLike
from whippletree.model.description import GROUND, Body, Description, JointUse
from whippletree.spatial.placement import Placement
from whippletree.spatial.scalars import listed, shown
from whippletree.topology import Plan, make_plan

__all__ = ["plan_of", "with_welds"]


def plan_of(description: Description, cut: Sequence[JointLike] | None = None) -> Plan:
    """Return the plan of a mechanism; `cut` lists joints at which loops must be cut."""
    names = [use.name for use in description.joints]
    on = description.body_of
    edges = [
        JointEdge(u.name, on(u.parent), on(u.child), u.joint.nq, u.joint.nv, u.prescribed) for u in description.joints
    ]
    own = {body.name: body.kind.n_own for body in description.bodies if body.kind is not None}
    closures = [
        ClosureEdge(
            use.name,
            tuple(dict.fromkeys(on(body) for body, _ in use.sides))
            + ((GROUND,) if use.closure.absolute else ())
            + tuple(name for name, _ in use.coordinates if name in own),
            tuple(names.index(name) for name, _ in use.coordinates if name not in own),
            use.closure.n_rows,
        )
        for use in description.closures
    ]
    insisted = [] if cut is None else _names(cut)
    keep = {use.name for use in description.joints if use.armature}
    bodies = [body.name for body in description.bodies]
    return make_plan(bodies, edges, closures=closures, cut=insisted, keep=keep, own=own)


def with_welds(
    description: Description, cut: Sequence[JointLike] | None = None
) -> tuple[Description, Sequence[JointLike] | None]:
    """Return a mechanism whose plan cuts no joint with armature, and the joints to cut in it.

    The rates of a joint that is cut are none of the tree's, so its armature has no place there. Such a joint gets a
    body without mass behind it, "arm behind elbow", which a weld, "elbow to arm", holds to the real one; and the weld
    is cut. Without such joints the mechanism is returned as it is. Both come after what was described, and are nobody's
    business but the engine's, the plan's and the closures'.
    """
    if not any(use.armature for use in description.joints):
        return description, cut
    plan = plan_of(description, cut)
    opened = {one.joint for one in plan.cuts if description.joints[one.joint].armature}
    if not opened:
        return description, cut
    bodies, joints, renamed = [*description.bodies], [*description.joints], dict[str, str]()
    taken = {one.name for family in (bodies, joints, description.closures, description.forces) for one in family}
    for k in sorted(opened):
        use = joints[k]
        body = use.child.replace(".", " ")  # a moving frame has a point in its name
        behind, weld = _unused(f"{body} behind {use.name}", taken), _unused(f"{use.name} to {body}", taken)
        taken |= {behind, weld}
        bodies.append(Body(behind, MassProperties()))
        joints[k] = replace(use, child=behind)
        joints.append(JointUse(weld, Fixed(), behind, use.child, Placement(), Placement(), False))
        renamed[use.name] = weld
    insisted = None if cut is None else [renamed.get(name, name) for name in _names(cut)]
    return replace(description, bodies=tuple(bodies), joints=tuple(joints)), insisted


def _unused(name: str, taken: set[str]) -> str:
    """Return a name, with a number behind it if it is taken.

    >>> _unused("rod behind D", {"rod behind D", "rod behind D 2"})
    'rod behind D 3'
    """
    names = (name if k == 1 else f"{name} {k}" for k in itertools.count(1))
    return next(one for one in names if one not in taken)  # not empty: there is always another


def _names(cut: Sequence[JointLike] | None) -> list[str]:
    """Return the names of the joints that must be cut."""
    cuts = listed(cut)
    if cuts is None:
        raise StateError(f"cut= must list the joints to be cut, not {shown(cut)}")
    return [joint if isinstance(joint, str) else str(getattr(joint, "name", shown(joint))) for joint in cuts]


class JointEdge(NamedTuple):
    """A joint as the plan sees it."""

    name: str
    parent: str
    child: str
    nq: int
    nv: int
    prescribed: bool


class ClosureEdge(NamedTuple):
    """A closure as the plan sees it."""

    name: str
    bodies: tuple[str, ...]
    joints: tuple[int, ...]
    rows: int
