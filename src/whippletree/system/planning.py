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
    edges = [JointEdge(u.name, u.parent, u.child, u.joint.nq, u.joint.nv, u.prescribed) for u in description.joints]
    closures = [
        ClosureEdge(
            use.name,
            tuple(body for body, _ in use.sides) + ((GROUND,) if use.closure.absolute else ()),
            tuple(names.index(joint) for joint, _ in use.coordinates),
            use.closure.n_rows,
        )
        for use in description.closures
    ]
    if isinstance(cut, str) or not (cut is None or isinstance(cut, Iterable)):
        raise StateError("cut= must list the joints to be cut")
    insisted = [str(getattr(joint, "name", joint)) for joint in cut or ()]
    return make_plan([body.name for body in description.bodies], edges, closures=closures, cut=insisted)


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
