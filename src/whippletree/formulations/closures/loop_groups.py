"""Groups of loops on the nodes: which nodes have to be solved together, and on which node they hang.

A group is as small as the graph allows: the nodes between a loop's base and its closure, of all loops that share nodes.
It has to hang on one node, and no node between two of its own may be left out; so a closure between distant joints
takes in what lies between them, with the groups that are met there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from whippletree.formulations.closures.closure_frames import ClosureAttachment, ClosureAttachments
from whippletree.topology import Tree

__all__ = ["NodeGroup", "node_groups", "with_branches"]


class NodeGroup(NamedTuple):
    """The nodes of a group in their order, the node that they hang on (-1 is the ground), and its closures."""

    nodes: tuple[int, ...]
    base: int
    attachments: tuple[int, ...]


def node_groups(
    tree: Tree, attachments: ClosureAttachments, keep: Sequence[Sequence[int]], units: Sequence[frozenset[int]] = ()
) -> list[NodeGroup]:
    """Return the groups of all closures with rows that are kept, in the order of their first nodes.

    All nodes of a body with own coordinates, its unit, are in one group.
    """
    groups: list[tuple[set[int], set[int]]] = []
    owner: dict[int, int] = {}
    for c, (attachment, rows) in enumerate(zip(attachments.all, keep, strict=True)):
        if not rows:
            continue
        nodes, closures = _whole(tree, _touched(tree, attachments, attachment), units), {c}
        # those that are met join; hanging on nodes above a common one, together they are still in one piece
        for g in {owner[k] for k in nodes if k in owner}:
            nodes |= groups[g][0]
            closures |= groups[g][1]
        owner |= dict.fromkeys(nodes, len(groups))
        groups.append((nodes, closures))
    found = []
    for g in set(owner.values()):
        nodes, closures = groups[g]
        base = tree.meet(tree.parents[k] for k in nodes)
        found.append(NodeGroup(tuple(sorted(nodes)), base, tuple(sorted(closures))))
    return sorted(found)


def with_branches(parents: Sequence[int], groups: Sequence[NodeGroup], g: int) -> NodeGroup:
    """Return a group with the branches that hang on it, as far as there are no loops in or beyond them.

    >>> with_branches([-1, 0, 1, 1, 3], [NodeGroup((0, 1), -1, (0,)), NodeGroup((4,), 3, (1,))], 0).nodes
    (0, 1, 2)
    """
    led = [False] * len(parents)  # to a node of some group
    for group in groups:
        for k in group.nodes:
            led[k] = True
    for k in reversed(range(len(parents))):
        if led[k] and parents[k] >= 0:
            led[parents[k]] = True
    nodes = set(groups[g].nodes)
    for k, p in enumerate(parents):
        if p in nodes and not led[k]:
            nodes.add(k)
    return groups[g]._replace(nodes=tuple(sorted(nodes)))


def _touched(tree: Tree, attachments: ClosureAttachments, attachment: ClosureAttachment) -> set[int]:
    """Return the nodes whose freedoms a closure's rows contain."""
    ways = [(frame.node, attachment.base) for frame in attachment.frames]
    nodes = set()
    for c in attachment.coordinates:
        if c.node is not None:
            nodes.add(c.node)
        elif c.cut is not None:
            cut = attachments.cuts[c.cut]
            ways += [(frame.node, cut.base) for frame in cut.frames]
    for k, base in ways:
        nodes.update(tree.path(k, base))
    return nodes


def _whole(tree: Tree, nodes: set[int], units: Sequence[frozenset[int]]) -> set[int]:
    """Return nodes in one piece: with all that lie between them, and with whole units."""
    inside = tree.between(nodes)
    more = set(inside).union(*(unit for unit in units if unit & inside))
    return inside if more == inside else _whole(tree, more, units)
