"""The plan: a spanning tree rooted at the ground, the cut joints, and the index ranges of every joint.

Guarantees, checked by tests that know no mechanics:

- nodes are in an order in which every parent comes before its children, and a subtree is in one piece;
- there is one node per body, and the joint that the tree crosses to reach it; every other joint is cut;
- `q` and `v` hold the joints in the order they were declared, whatever the tree;
- joints that the user insists on cutting are cut;
- the cuts have as few equations as possible: no other spanning tree (with those cuts) has fewer. A prescribed joint
  counts 6 in this, and welds stay in the tree whenever there is another joint to cut, unless that is to be kept;
- no single exchange of joints, of those that keep that number, leaves shorter loops, or equal ones and a shallower
  tree (in very large graphs the search ends earlier, after a fixed amount of work);
- a cut's base is the nearest common ancestor of its ends, and its two paths lead from there and share no node;
- the groups partition the loops that have equations, and no two groups share a node;
- bodies that are welded to each other are one rigid group, unless a body has own coordinates;
- the plan depends on nothing but the order and the properties of joints and closures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from whippletree.errors import TopologyError
from whippletree.topology.graph import GROUND, ClosureLike, Edge, PlanNode, quoted
from whippletree.topology.loops import Cut, Group, Loop, find_cuts, find_groups, find_loops
from whippletree.topology.spanning import choose_cuts, make_graph
from whippletree.topology.words import plan_in_html, plan_in_words

__all__ = ["GROUND", "ClosureLike", "Edge", "Plan", "PlanNode", "make_plan"]


@dataclass(frozen=True)
class Plan:
    """The spanning tree of a mechanism, its loops, and where everything is.

    `nq`, `nv` and the slices count every joint, cut or not, in the order they were declared. `cuts` are the joints
    that the tree does not cross; `loops` are those of the cuts, then those of declared closures; `groups` are the
    loops that have to be solved together. `notes` says what others have to add when the plan is printed. Own
    coordinates of bodies follow those of all joints; `own_slices` gives their places in q and v by body.

    >>> from whippletree.topology.plan import make_plan
    >>> from types import SimpleNamespace as J
    >>> plan = make_plan(["a"], [J(name="A", parent="ground", child="a", nq=1, nv=1, prescribed=False)])
    >>> plan.nv, plan.nodes[0].body, plan.cuts
    (1, 'a', ())
    """

    nodes: tuple[PlanNode, ...]
    joint_names: tuple[str, ...]
    q_slices: tuple[slice, ...]
    v_slices: tuple[slice, ...]
    nq: int
    nv: int
    cuts: tuple[Cut, ...] = ()
    loops: tuple[Loop, ...] = ()
    groups: tuple[Group, ...] = ()
    _by_body: dict[str, int] = field(repr=False, compare=False, default_factory=dict)
    notes: Callable[[], str] | None = field(repr=False, compare=False, default=None)
    own_slices: dict[str, tuple[slice, slice]] = field(repr=False, compare=False, default_factory=dict)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node."""
        lists: list[list[int]] = [[] for _ in self.nodes]
        for node in self.nodes:
            if node.parent != GROUND:
                lists[node.parent].append(node.index)
        return tuple(tuple(c) for c in lists)

    @property
    def tree_nv(self) -> int:
        """The freedoms of the joints in the tree."""
        return sum(node.nv for node in self.nodes)

    def is_welded(self, node: PlanNode) -> bool:
        """Tell whether a body moves with its parent as one: its joint has no freedoms, and it has no own coordinates.

        >>> from types import SimpleNamespace as J
        >>> weld = J(name="W", parent="ground", child="a", nq=0, nv=0, prescribed=False)
        >>> [make_plan(["a"], [weld], own=own).is_welded(make_plan(["a"], [weld]).nodes[0]) for own in ({}, {"a": 2})]
        [True, False]
        """
        return node.nv == 0 and node.body not in self.own_slices

    @cached_property
    def rigid_groups(self) -> tuple[tuple[str, ...], ...]:
        """The bodies that move as one because they are welded, in the tree's order; the ground's come first."""
        groups: dict[int, list[str]] = {GROUND: []}
        root: dict[int, int] = {GROUND: GROUND}
        for node in self.nodes:
            root[node.index] = root[node.parent] if self.is_welded(node) else node.index
            groups.setdefault(root[node.index], []).append(node.body)
        return tuple(tuple(bodies) for bodies in groups.values())

    def slices_of(self, name: str) -> tuple[slice, slice]:
        """Return where in q and v the coordinates of a joint are, or the own coordinates of a body."""
        if name in self.own_slices:
            return self.own_slices[name]
        k = self._joint_index[name]
        return self.q_slices[k], self.v_slices[k]

    @property
    def n_own(self) -> int:
        """The number of own coordinates of bodies."""
        return sum(v.stop - v.start for _, v in self.own_slices.values())

    @property
    def coordinate_slices(self) -> tuple[tuple[slice, slice], ...]:
        """Where in q and v everything with coordinates is: all joints, then the bodies with own coordinates."""
        return (*zip(self.q_slices, self.v_slices, strict=True), *self.own_slices.values())

    @cached_property
    def _joint_index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.joint_names)}

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
        words = plan_in_words(self)
        return f"{words}\n{self.notes()}" if self.notes is not None else words

    def _repr_html_(self) -> str:
        return plan_in_html(self, () if self.notes is None else self.notes().splitlines())


def make_plan(
    bodies: Sequence[str],
    joints: Sequence[Edge],
    ground: str = "ground",
    *,
    closures: Sequence[ClosureLike] = (),
    cut: Sequence[str] = (),
    keep: Collection[str] = (),
    own: Mapping[str, int] | None = None,
) -> Plan:
    """Choose a spanning tree, walk it from the ground, depth first, and number its nodes, joints and loops.

    `closures` are those that the user declared beside the joints; `cut` names joints that must be cut, and `keep`
    those that must not be, if their loops have any other; `own` gives the number of own coordinates of bodies that
    have any.

    >>> from types import SimpleNamespace as J
    >>> ends = [("A", "ground", "a"), ("B", "a", "b"), ("C", "b", "ground")]
    >>> joints = [J(name=n, parent=p, child=c, nq=1, nv=1, prescribed=False) for n, p, c in ends]
    >>> plan = make_plan(["a", "b"], joints)
    >>> plan.loops[0].joints, plan.loops[0].rows
    (('A', 'B', 'C'), 5)
    >>> [plan.joint_names[c.joint] for c in make_plan(["a", "b"], joints, cut=["A"]).cuts]
    ['A']
    """
    q_slices, nq = _slices([j.nq for j in joints])
    v_slices, nv = _slices([j.nv for j in joints])
    own_slices: dict[str, tuple[slice, slice]] = {}
    for body, count in (own or {}).items():
        own_slices[body] = slice(nq, nq + count), slice(nv, nv + count)
        nq, nv = nq + count, nv + count
    graph = make_graph(bodies, joints, ground)
    _refuse_islands(bodies, graph.reached)
    cuts = choose_cuts(graph, joints, closures, cut, keep)
    neighbours: dict[str, list[int]] = {name: [] for name in (ground, *bodies)}
    for k, joint in enumerate(joints):
        if k not in cuts:
            neighbours[joint.parent].append(k)
            neighbours[joint.child].append(k)
    nodes: list[PlanNode] = []
    index = {ground: GROUND}
    stack = [(k, ground) for k in reversed(neighbours[ground])]
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
    names = tuple(j.name for j in joints)
    found = find_cuts(nodes, index, joints)
    loops = find_loops(nodes, index, joints, found, closures)
    groups = find_groups(loops)
    return Plan(tuple(nodes), names, q_slices, v_slices, nq, nv, found, loops, groups, index, own_slices=own_slices)


def _slices(sizes: Sequence[int]) -> tuple[tuple[slice, ...], int]:
    """Return consecutive slices of the given sizes, and their sum."""
    slices, start = [], 0
    for size in sizes:
        slices.append(slice(start, start + size))
        start += size
    return tuple(slices), start


def _refuse_islands(bodies: Sequence[str], reached: frozenset[str]) -> None:
    """Raise if a body cannot be reached from the ground."""
    lost = [name for name in bodies if name not in reached]
    if lost:
        verb = "is" if len(lost) == 1 else "are"
        raise TopologyError(
            f"{quoted(lost)} {verb} not connected to the ground by any joint; add a joint, "
            f"or m.free(...) from the ground for a body that moves freely"
        )
