"""A rooted tree, known by the parent of every node: ancestors, paths, meeting points, subtrees.

Node numbers grow outward: a parent's number is below those of its children, and the ground is -1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from whippletree.topology.graph import GROUND

__all__ = ["Tree"]


class Tree:
    """A tree by the parents of its nodes.

    >>> tree = Tree([-1, 0, 1, 0])
    >>> tree.meet([2, 3]), list(tree.path(2)), tree.children[0], tree.subtree(1)
    (0, [2, 1, 0], (1, 3), (1, 2))
    """

    def __init__(self, parents: Sequence[int]) -> None:
        self.parents = tuple(parents)

    def __len__(self) -> int:
        return len(self.parents)

    def path(self, node: int, base: int = GROUND) -> Iterator[int]:
        """Walk from a node toward a base: the node first, the base left out; nothing if the node is the base.

        >>> list(Tree([-1, 0, 1]).path(2, base=0))
        [2, 1]
        """
        while node not in (base, GROUND):
            yield node
            node = self.parents[node]

    def meet(self, nodes: Iterable[int]) -> int:
        """Return the nearest common ancestor of nodes, each of which is among its own ancestors.

        >>> Tree([-1, 0, 0]).meet([1]), Tree([-1, -1]).meet([0, 1]), Tree([-1]).meet([])
        (1, -1, -1)
        """
        left = set(nodes)
        while len(left) > 1 and GROUND not in left:
            last = max(left)  # not empty: the loop ends before
            left.remove(last)
            left.add(self.parents[last])
        return GROUND if GROUND in left or not left else left.pop()

    def between(self, nodes: Iterable[int]) -> set[int]:
        """Return nodes with all that lie between them and the nearest node on which their parents hang.

        >>> Tree([-1, 0, 1, 0]).between([2, 3])
        {1, 2, 3}
        """
        inside = set(nodes)
        base = self.meet(self.parents[k] for k in inside)
        for node in tuple(inside):
            inside.update(self.path(node, base))
        return inside

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node."""
        lists: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent != GROUND:
                lists[parent].append(node)
        return tuple(tuple(found) for found in lists)

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """How many nodes there are from the ground to each node, itself included.

        >>> Tree([-1, 0, 1, 0]).depth
        (1, 2, 3, 2)
        """
        depths: list[int] = []
        for parent in self.parents:
            depths.append(1 if parent == GROUND else depths[parent] + 1)
        return tuple(depths)

    def subtree(self, node: int) -> tuple[int, ...]:
        """Return a node and all that hang on it, in their order."""
        inside = {node}
        for k in range(node + 1, len(self.parents)):
            if self.parents[k] in inside:
                inside.add(k)
        return tuple(sorted(inside))
