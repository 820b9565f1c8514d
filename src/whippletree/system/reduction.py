"""Which dependent speed leaves with which row: the selection for the recursive coordinate reduction, by numbers.

A row is *reduced* if a dependent speed of its loop is eliminated with it on the way inward, or *carried* to the base of
its loop and solved there, with what the independent speeds on the way let it move. Any mixture is right as long as no
pivot vanishes. Carrying takes fewer operations, but where joints move nothing with inertia, only reduction will do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.system.tolerances import CLEARLY_MOVED, UNMOVED
from whippletree.topology import Tree

__all__ = ["pair_up"]


def pair_up(
    C: Array,
    freedoms: Sequence[tuple[int, int]],
    spans: Sequence[tuple[int, int]],
    parents: Sequence[int],
    dependent: Collection[int],
) -> dict[int, int]:
    """Return the row (of `C`, scaled) with which each dependent freedom is eliminated, from the tips inward.

    `freedoms` are pairs (node, freedom) in their order of elimination; `spans` says for each row the nodes at which
    its closure is complete and where it ends. A freedom that is not in `dependent`, or that moves none of the rows that
    are left, stays independent. Of the rows that it moves clearly, that of the loop that ends first is taken.

    >>> pair_up(np.array([[1.0, 0.2], [0.0, 1.0]]), [(1, 1), (0, 0)], [(-1, -1), (-1, -1)], [-1, 0], {0, 1})
    {1: 1, 0: 0}
    """
    whole, seen = np.array(C, dtype=np.float64), np.array(C, dtype=np.float64)
    tree = Tree(parents)
    to_complete = [set(tree.path(complete)) for complete, _ in spans]
    to_end = [list(tree.path(end)) for _, end in spans]
    left = list(range(len(C)))
    pairs: dict[int, int] = {}
    for k, i in freedoms:
        if i not in dependent:
            continue
        path = set(tree.path(k))
        size = {}
        for r in left:
            if k not in to_end[r] and (abs(C[r, i]) > UNMOVED or k in to_complete[r]):
                size[r] = min(abs(whole[r, i]), np.inf if k in to_complete[r] else abs(seen[r, i]))
        clear = [r for r in size if size[r] > max(UNMOVED, CLEARLY_MOVED * max(size.values()))]
        if not clear:
            continue
        r = pairs[i] = max(clear, key=lambda r: (len(to_end[r]), size[r]))
        left.remove(r)
        whole[left] -= np.outer(whole[left, i] / whole[r, i], whole[r])
        if abs(seen[r, i]) > UNMOVED:
            inward = [j for n, j in freedoms if n in path]
            seen[np.ix_(left, inward)] -= np.outer(seen[left, i] / seen[r, i], seen[r, inward])
    return pairs
