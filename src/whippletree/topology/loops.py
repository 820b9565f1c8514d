"""The loops of a plan: the path through the tree that each cut joint and declared closure closes, and their groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whippletree.topology.graph import GROUND, ClosureLike, Edge, PlanNode

__all__ = ["Cut", "Group", "Loop", "find_cuts", "find_groups", "find_loops"]


@dataclass(frozen=True)
class Cut:
    """A joint that is not in the tree, and the two ways through the tree to its bodies.

    `joint` is its index. `base` is the nearest body from which both ends hang, GROUND possible. The paths are the
    nodes from the base, exclusive, out to the joint's described parent and child; a path is empty if that body is
    the base itself. Welded bodies are on the paths like all others.

    >>> Cut(joint=3, base=GROUND, parent_path=(0, 1), child_path=(2,)).base
    -1
    """

    joint: int
    base: int
    parent_path: tuple[int, ...]
    child_path: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """A set of equations between the freedoms of some nodes: those of a cut joint or of a declared closure.

    `nodes` are the nodes whose freedoms the equations contain, in order; a body that is welded to its parent has
    none and is not among them. `joints` names all joints of the loop, welds and the cut joint included: around the
    loop for a cut joint, from the base outward for a closure. `base` is the nearest body from which all bodies of
    the loop hang; for a closure that has only joints, the one from which those joints hang. `rows` counts the
    equations.

    >>> Loop("D", (0, 1, 2), ("A", "B", "D", "C"), GROUND, 5).rows
    5
    """

    name: str
    nodes: tuple[int, ...]
    joints: tuple[str, ...]
    base: int
    rows: int


@dataclass(frozen=True)
class Group:
    """Loops that share nodes, directly or by way of others, and have to be solved together.

    `loops` are their names, `nodes` all their nodes, `bases` the distinct bases, `rows` the sum of their equations.

    >>> Group(("D", "F"), (0, 1, 2, 3, 4), (GROUND,), 10).rows
    10
    """

    loops: tuple[str, ...]
    nodes: tuple[int, ...]
    bases: tuple[int, ...]
    rows: int


def find_cuts(nodes: Sequence[PlanNode], index: dict[str, int], joints: Sequence[Edge]) -> tuple[Cut, ...]:
    """Return the joints that the tree does not cross, with their paths, in declared order.

    >>> from types import SimpleNamespace as J
    >>> node = PlanNode(0, GROUND, "a", 0, False, slice(0, 1), slice(0, 1), 1)
    >>> find_cuts([node], {"ground": GROUND, "a": 0}, [J(), J(parent="a", child="ground")])
    (Cut(joint=1, base=-1, parent_path=(0,), child_path=()),)
    """
    crossed = {node.joint for node in nodes}
    cuts = []
    for k, joint in enumerate(joints):
        if k not in crossed:
            ends = index[joint.parent], index[joint.child]
            base = _meet(nodes, ends)
            cuts.append(Cut(k, base, *(_path(nodes, base, end) for end in ends)))
    return tuple(cuts)


def find_loops(
    nodes: Sequence[PlanNode],
    index: dict[str, int],
    joints: Sequence[Edge],
    cuts: Sequence[Cut],
    closures: Sequence[ClosureLike] = (),
) -> tuple[Loop, ...]:
    """Return the loop of each cut joint, then that of each closure.

    >>> from types import SimpleNamespace as J
    >>> node = PlanNode(0, GROUND, "a", 0, False, slice(0, 1), slice(0, 1), 1)
    >>> hinges = [J(name="A", nv=1), J(name="B", nv=1)]
    >>> find_loops([node], {"ground": GROUND, "a": 0}, hinges, [Cut(1, GROUND, (0,), ())])
    (Loop(name='B', nodes=(0,), joints=('A', 'B'), base=-1, rows=5),)
    """
    loops = [_cut_loop(nodes, joints, cut) for cut in cuts]
    node_of = {node.joint: node.index for node in nodes}
    cut_of = {cut.joint: cut for cut in cuts}
    for closure in closures:
        ends = [index[body] for body in closure.bodies]
        used = [cut_of[k] for k in closure.joints if k in cut_of]
        own = [node_of[k] for k in closure.joints if k in node_of]
        hung = [*(nodes[i].parent for i in own), *(cut.base for cut in used)]
        base = _meet(nodes, ends or hung)
        around = [i for end in ends for i in _path(nodes, base, end)] + own
        around += [i for cut in used for i in (*cut.parent_path, *cut.child_path)]
        names = [joints[nodes[i].joint].name for i in around] + [joints[cut.joint].name for cut in used]
        loops.append(Loop(closure.name, _moving(nodes, around), tuple(dict.fromkeys(names)), base, closure.rows))
    return tuple(loops)


def find_groups(loops: Sequence[Loop]) -> tuple[Group, ...]:
    """Put loops that share nodes together, in the order of their first loops; a loop without equations is in none.

    >>> loops = [Loop("A", (0, 1), (), GROUND, 5), Loop("B", (2,), (), GROUND, 5), Loop("C", (1, 4), (), 0, 3)]
    >>> [group.loops for group in find_groups(loops)]
    [('A', 'C'), ('B',)]
    """
    binding = [loop for loop in loops if loop.rows > 0]
    first = list(range(len(binding)))

    def find(i: int) -> int:
        while first[i] != i:
            first[i] = first[first[i]]
            i = first[i]
        return i

    owner: dict[int, int] = {}
    for i, loop in enumerate(binding):
        for node in loop.nodes:
            a, b = find(owner.setdefault(node, i)), find(i)
            first[max(a, b)] = min(a, b)
    members: dict[int, list[Loop]] = {}
    for i, loop in enumerate(binding):
        members.setdefault(find(i), []).append(loop)
    return tuple(_group(members[i]) for i in sorted(members))


def _group(loops: Sequence[Loop]) -> Group:
    """Return some loops as one group."""
    return Group(
        tuple(loop.name for loop in loops),
        tuple(sorted({node for loop in loops for node in loop.nodes})),
        tuple(sorted({loop.base for loop in loops})),
        sum(loop.rows for loop in loops),
    )


def _cut_loop(nodes: Sequence[PlanNode], joints: Sequence[Edge], cut: Cut) -> Loop:
    """Return the loop of a cut joint: out to its parent, across it, and back from its child."""
    there = [nodes[i].joint for i in cut.parent_path]
    back = [nodes[i].joint for i in reversed(cut.child_path)]
    names = tuple(joints[k].name for k in (*there, cut.joint, *back))
    around = _moving(nodes, (*cut.parent_path, *cut.child_path))
    return Loop(joints[cut.joint].name, around, names, cut.base, 6 - joints[cut.joint].nv)


def _moving(nodes: Sequence[PlanNode], around: Iterable[int]) -> tuple[int, ...]:
    """Return those nodes that move against their parents, in order."""
    return tuple(sorted({i for i in around if nodes[i].nv > 0}))


def _meet(nodes: Sequence[PlanNode], ends: Sequence[int]) -> int:
    """Return the nearest common ancestor of nodes; one counts among its own ancestors."""
    meet = ends[0] if ends else GROUND
    for end in ends:
        other = end
        # Parents have smaller numbers than their children, so the larger number can always step up.
        while meet != other:
            if meet < other:
                meet, other = other, meet
            meet = nodes[meet].parent
    return meet


def _path(nodes: Sequence[PlanNode], base: int, end: int) -> tuple[int, ...]:
    """Return the nodes from a base, exclusive, out to one that hangs from it."""
    path = []
    while end != base:
        path.append(end)
        end = nodes[end].parent
    return tuple(reversed(path))
