"""Joints and closures as the plan sees them, and the nodes that it makes of them: names, sizes and indices only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

__all__ = ["GROUND", "ClosureLike", "Edge", "PlanNode", "quoted"]

GROUND = -1
"""The index of the ground among the nodes."""


class Edge(Protocol):
    """The name, ends and sizes of a joint, which are all that the plan needs."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def parent(self) -> str: ...  # noqa: D102
    @property
    def child(self) -> str: ...  # noqa: D102
    @property
    def nq(self) -> int: ...  # noqa: D102
    @property
    def nv(self) -> int: ...  # noqa: D102
    @property
    def prescribed(self) -> bool: ...  # noqa: D102


class ClosureLike(Protocol):
    """The bodies, joints and number of equations of a declared closure, which are all that the plan needs.

    `bodies` are those it holds on to, the ground included if that is meant; `joints` are the indices of the joints
    whose coordinates it uses; `rows` is the number of its equations.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def bodies(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def joints(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def rows(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class PlanNode:
    """A body and the joint that leads to it from its parent in the tree.

    `reverse` says that the tree crosses the joint from its described child to its described parent.
    """

    index: int
    parent: int
    body: str
    joint: int
    reverse: bool
    q: slice
    v: slice
    depth: int

    @property
    def nv(self) -> int:
        """The freedoms of the joint; none if it welds the body to its parent.

        >>> PlanNode(0, GROUND, "a", 0, False, slice(0, 1), slice(0, 1), 1).nv
        1
        """
        return int(self.v.stop) - int(self.v.start)


def quoted(names: Iterable[str], limit: int = 5) -> str:
    """Return the first names in quotes, with dots if there are more.

    >>> quoted(["a", "b", "c"], limit=2)
    '"a", "b", ...'
    """
    every = [f'"{name}"' for name in names]
    return ", ".join(every[:limit]) + (", ..." if len(every) > limit else "")
