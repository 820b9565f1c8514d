"""From a description to the plan of its graph."""

from __future__ import annotations

from typing import NamedTuple

from whippletree.errors import StateError, TopologyError
from whippletree.model.description import GROUND, Description
from whippletree.model.names import listed, quoted
from whippletree.spatial.scalars import shown
from whippletree.topology import Plan, make_plan

__all__ = ["plan_of"]


def plan_of(description: Description, cut: object = None) -> Plan:
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
    cuts = [] if cut is None else listed(cut)
    if cuts is None:
        raise StateError(f"cut= must list the joints to be cut, not {shown(cut)}")
    insisted = [joint if isinstance(joint, str) else str(getattr(joint, "name", shown(joint))) for joint in cuts]
    keep = {use.name for use in description.joints if use.armature}
    bodies = [body.name for body in description.bodies]
    plan = make_plan(bodies, edges, closures=closures, cut=insisted, keep=keep, own=own)
    _refuse_armature(description, plan)
    return plan


def _refuse_armature(description: Description, plan: Plan) -> None:
    """Refuse armature of joints that are cut: their rates are none of the tree's."""
    for cut in plan.cuts:
        use = description.joints[cut.joint]
        if use.armature:
            raise TopologyError(
                f"joint {quoted(use.name)} has armature and closes a loop; in every loop some joint must have none, at "
                "which it can be cut: take the armature of one joint away, or that joint out of cut="
            )


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
