"""The plan: a spanning tree rooted at the ground, with the index ranges of every joint.

Guarantees, checked by tests that know no mechanics:

- nodes are in an order in which every parent comes before its children;
- there is one node per body, and the joint that the tree crosses to reach it;
- `q` and `v` hold the joints in the order they were declared, whatever the tree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from whippletree.errors import TopologyError

__all__ = ["GROUND", "Edge", "Plan", "PlanNode", "make_plan"]

GROUND = -1
"""The index of the ground among the nodes."""


class Edge(Protocol):
    """What the plan needs to know of a joint."""

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


@dataclass(frozen=True)
class Plan:
    """The spanning tree of a mechanism and where everything is.

    >>> from whippletree.topology.plan import make_plan
    >>> from types import SimpleNamespace as J
    >>> plan = make_plan(["a"], [J(name="A", parent="ground", child="a", nq=1, nv=1)])
    >>> plan.nv, plan.nodes[0].body
    (1, 'a')
    """

    nodes: tuple[PlanNode, ...]
    joint_names: tuple[str, ...]
    q_slices: tuple[slice, ...]
    v_slices: tuple[slice, ...]
    nq: int
    nv: int
    _by_body: dict[str, int] = field(repr=False, compare=False, default_factory=dict)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node."""
        lists: list[list[int]] = [[] for _ in self.nodes]
        for node in self.nodes:
            if node.parent != GROUND:
                lists[node.parent].append(node.index)
        return tuple(tuple(c) for c in lists)

    def node_of(self, body: str) -> PlanNode:
        """Return the node of a body."""
        return self.nodes[self._by_body[body]]

    def support_path(self, index: int) -> tuple[int, ...]:
        """Return the nodes from the ground to node `index`, both ends as nodes."""
        path: list[int] = []
        while index != GROUND:
            path.append(index)
            index = self.nodes[index].parent
        return tuple(reversed(path))

    def __str__(self) -> str:
        depth = max((n.depth for n in self.nodes), default=0)
        lines = [
            f"{len(self.nodes)} bodies in a tree of depth {depth}, {self.nv} freedoms, {self.nq} coordinates; no loops"
        ]
        for node in self.nodes:
            parent = "ground" if node.parent == GROUND else self.nodes[node.parent].body
            way = " (walked from its child to its parent)" if node.reverse else ""
            lines.append(f"{'  ' * node.depth}{node.body} on {parent} by {self.joint_names[node.joint]}{way}")
        return "\n".join(lines)


def make_plan(bodies: Sequence[str], joints: Sequence[Edge], ground: str = "ground") -> Plan:
    """Walk the graph from the ground, depth first, and number what is found.

    >>> from types import SimpleNamespace as J
    >>> str(make_plan(["a"], [J(name="A", parent="ground", child="a", nq=1, nv=1)])).splitlines()[0]
    '1 bodies in a tree of depth 1, 1 freedoms, 1 coordinates; no loops'
    """
    q_slices, nq = _slices([j.nq for j in joints])
    v_slices, nv = _slices([j.nv for j in joints])
    _refuse_loops(bodies, joints, ground)
    neighbours: dict[str, list[int]] = {name: [] for name in (ground, *bodies)}
    for k, joint in enumerate(joints):
        neighbours[joint.parent].append(k)
        neighbours[joint.child].append(k)
    nodes: list[PlanNode] = []
    index = {ground: GROUND}
    stack = deque((k, ground) for k in reversed(neighbours[ground]))
    while stack:
        k, near = stack.pop()
        joint = joints[k]
        far = joint.child if near == joint.parent else joint.parent
        parent = index[near]
        depth = 1 if parent == GROUND else nodes[parent].depth + 1
        index[far] = len(nodes)
        reverse = near == joint.child
        nodes.append(PlanNode(len(nodes), parent, far, k, reverse, q_slices[k], v_slices[k], depth))
        stack.extend((other, far) for other in reversed(neighbours[far]) if other != k)
    _refuse_islands(bodies, index)
    names = tuple(j.name for j in joints)
    return Plan(tuple(nodes), names, q_slices, v_slices, nq, nv, index)


def _slices(sizes: Sequence[int]) -> tuple[tuple[slice, ...], int]:
    """Return consecutive slices of the given sizes, and their sum."""
    slices, start = [], 0
    for size in sizes:
        slices.append(slice(start, start + size))
        start += size
    return tuple(slices), start


def _refuse_loops(bodies: Sequence[str], joints: Sequence[Edge], ground: str) -> None:
    """Raise on the first joint that closes a loop, naming the joints of that loop."""
    root = {name: name for name in (ground, *bodies)}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for k, joint in enumerate(joints):
        a, b = find(joint.parent), find(joint.child)
        if a == b:
            names = ", ".join(_path(joints[:k], joint.parent, joint.child))
            raise TopologyError(
                f'joint "{joint.name}" closes a loop with {names}; closed loops are not supported yet: '
                f"leave out one joint of the loop"
            )
        root[a] = b


def _path(joints: Sequence[Edge], start: str, end: str) -> list[str]:
    """Return the names of the joints on the way from one body to another."""
    came: dict[str, tuple[str, str]] = {start: ("", "")}
    near: dict[str, list[tuple[str, str]]] = {}
    for joint in joints:
        near.setdefault(joint.parent, []).append((joint.child, joint.name))
        near.setdefault(joint.child, []).append((joint.parent, joint.name))
    queue = deque([start])
    while queue:
        body = queue.popleft()
        for other, name in near.get(body, ()):
            if other not in came:
                came[other] = (body, name)
                queue.append(other)
    names: list[str] = []
    while end != start:
        end, name = came[end]
        names.append(f'"{name}"')
    return names[::-1]


def _refuse_islands(bodies: Sequence[str], index: dict[str, int]) -> None:
    """Raise if a body cannot be reached from the ground."""
    lost = [name for name in bodies if name not in index]
    if lost:
        shown = ", ".join(f'"{name}"' for name in lost[:5]) + (", ..." if len(lost) > 5 else "")
        verb = "is" if len(lost) == 1 else "are"
        raise TopologyError(
            f"{shown} {verb} not connected to the ground by any joint; add a joint, "
            f"or m.free(...) from the ground for a body that moves freely"
        )
