"""From a description to the plan of its graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from whippletree.errors import StateError
from whippletree.model.description import GROUND, Description
from whippletree.topology import Plan, make_plan

__all__ = ["plan_of"]


def plan_of(description: Description, cut: Any = None) -> Plan:
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
    if isinstance(cut, str) or not (cut is None or isinstance(cut, Iterable)):
        raise StateError("cut= must list the joints to be cut")
    insisted = [str(getattr(joint, "name", joint)) for joint in cut or ()]
    return make_plan([body.name for body in description.bodies], edges, closures=closures, cut=insisted, own=own)


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
