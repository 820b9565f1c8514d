"""The choice of the spanning tree: which joints are cut, so that little work is left.

What is kept small, each only among the trees that are best in all before it:

1. the equations of the cut joints, 6 - nv each. A prescribed joint counts 6, because its own coordinates would have
   to be enforced too, so it is cut only if nothing else can be; and a weld is kept even before that, because bodies
   that are welded together are one node. What is named to be kept, such as joints with armature, counts 7: even a
   weld is cut before;
2. the non-zeros of all loop equations in the coordinates of the tree: rows times freedoms around the loop, with
   those of the declared closures. So loops are short, and a joint whose coordinates a closure uses stays in the tree
   if that costs less;
3. the depths of the bodies, welds not counted.

The first is a matroid: taking joints greedily, dearest first, gives the minimum exactly, and all trees that share it
are joined by exchanges of a cut joint against one of equal cost in its loop. The others have no such luck. The search
starts with the joints of a breadth-first tree and exchanges until nothing improves, or a fixed amount of work is
done. If that was not enough, it starts again with a tree that is made loop by loop (`short_loops`), and the better
one is taken. It depends on the order of the joints alone: not on the clock, nor on hashes.

Loops are sets of joints, held as the bits of integers: when tree joint f is exchanged against cut joint e, every
other loop through f becomes its symmetric difference with the loop of e, one operation on integers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from whippletree.errors import TopologyError
from whippletree.topology.graph import ClosureLike, Edge, quoted
from whippletree.topology.short_loops import short_loop_order

__all__ = ["Graph", "choose_cuts", "make_graph"]

_WORK = 1_000_000
"""How much work the search may do, in looks at a loop: about a second."""

_Label = TypeVar("_Label")


@dataclass(frozen=True)
class Graph:
    """Bodies as numbers in the order in which the joints mention them, ground first, and the joints at each.

    A body that no joint mentions has no number.
    """

    number: dict[str, int]
    ends: tuple[tuple[int, int], ...]
    at: tuple[tuple[int, ...], ...]

    @property
    def reached(self) -> frozenset[str]:
        """The bodies that joints connect to the ground."""
        pieces = _pieces(self, ())
        return frozenset(name for name, body in self.number.items() if pieces[body] == 0)


def make_graph(bodies: Sequence[str], joints: Sequence[Edge], ground: str) -> Graph:
    """Number the bodies and list the joints at each.

    >>> from types import SimpleNamespace as J
    >>> make_graph(["a"], [J(parent="a", child="ground")], "ground").ends
    ((1, 0),)
    """
    known = {ground, *bodies}
    number = {ground: 0}
    for joint in joints:
        for name in (joint.parent, joint.child):
            if name not in known:
                raise KeyError(name)
            number.setdefault(name, len(number))
    at: list[list[int]] = [[] for _ in number]
    ends = tuple((number[joint.parent], number[joint.child]) for joint in joints)
    for k, pair in enumerate(ends):
        for body in pair:
            at[body].append(k)
    return Graph(number, ends, tuple(tuple(ks) for ks in at))


def choose_cuts(
    graph: Graph,
    joints: Sequence[Edge],
    closures: Sequence[ClosureLike] = (),
    cut: Sequence[str] = (),
    keep: Collection[str] = (),
) -> frozenset[int]:
    """Return the indices of the joints to cut, those of `cut` among them; the graph must be connected.

    Those of `keep` are cut only if their loops have no others.

    >>> from types import SimpleNamespace as J
    >>> hinge, ball = J(name="A", parent="ground", child="a", nv=1), J(name="B", parent="a", child="ground", nv=3)
    >>> hinge.prescribed = ball.prescribed = False
    >>> choose_cuts(make_graph(["a"], [ball, hinge], "ground"), [ball, hinge])
    frozenset({0})
    """
    insisted = _insisted(graph, joints, cut)
    if len(joints) - len(insisted) == len(graph.number) - 1:
        return insisted
    classes = [(7, False) if joint.name in keep else _cost_class(joint) for joint in joints]
    moves = [joint.nv > 0 for joint in joints]
    search = _Search(graph, joints, closures, classes, _first_tree(graph, moves, classes, insisted), insisted)
    search.run()
    if search.work <= 0:
        tree = _tree_of_short_loops(graph, moves, classes, insisted)
        other = _Search(graph, joints, closures, classes, tree, insisted)
        other.run()
        search = min(search, other, key=lambda found: (found.non_zeros(), sum(found.seen.depth)))
    return frozenset(range(len(joints))) - frozenset(search.tree)


def _cost_class(joint: Edge) -> tuple[int, bool]:
    """Return the cost class of cutting a joint; joints of one class may be exchanged."""
    return (6 if joint.prescribed else 6 - joint.nv, joint.nv == 0)


# What the user insists on


def _insisted(graph: Graph, joints: Sequence[Edge], cut: Sequence[str]) -> frozenset[int]:
    """Return the indices of the joints that the user wants cut, if all of them can be."""
    wanted = [cut] if isinstance(cut, str) else list(cut)
    by_name = {joint.name: k for k, joint in enumerate(joints)}
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        raise TopologyError(
            f"cut= names {quoted(unknown)}, but there is no joint of that name; "
            f"the joints are {quoted(by_name, 8) or 'none'}"
        )
    chosen = sorted({by_name[name] for name in wanted})
    pieces = _pieces(graph, chosen)
    if any(pieces):
        _refuse_cuts(graph, joints, chosen, pieces)
    return frozenset(chosen)


def _refuse_cuts(graph: Graph, joints: Sequence[Edge], chosen: Sequence[int], pieces: Sequence[int]) -> None:
    """Raise, because bodies would be left behind; name the joints whose cut does it."""
    bodies = list(graph.number)
    for k in chosen:
        alone = _pieces(graph, [k])
        if any(alone):
            lost = quoted(body for body, piece in zip(bodies, alone, strict=True) if piece)
            raise TopologyError(
                f'joint "{joints[k].name}" is in no loop and cannot be cut: only it connects {lost} to the ground; '
                f"take it out of cut="
            )
    lost = quoted(body for body, piece in zip(bodies, pieces, strict=True) if piece)
    guilty = [joints[k].name for k in chosen if pieces[graph.ends[k][0]] != pieces[graph.ends[k][1]]]
    raise TopologyError(
        f"joints {quoted(guilty)} cannot all be cut: together they connect {lost} to the ground; "
        f"take at least one of them out of cut="
    )


def _pieces(graph: Graph, without: Sequence[int]) -> list[int]:
    """Return for each body which connected piece it is in when joints are taken away; the ground is in piece 0."""
    gone = set(without)
    pieces = [-1] * len(graph.number)
    count = 0
    for start in range(len(pieces)):
        if pieces[start] >= 0:
            continue
        pieces[start] = count
        stack = [start]
        while stack:
            body = stack.pop()
            for k in graph.at[body]:
                far = _far(graph, k, body)
                if k not in gone and pieces[far] < 0:
                    pieces[far] = count
                    stack.append(far)
        count += 1
    return pieces


def _far(graph: Graph, k: int, near: int) -> int:
    """Return the other end of a joint."""
    a, b = graph.ends[k]
    return b if near == a else a


# The first tree


def _first_tree(
    graph: Graph, moves: Sequence[bool], classes: Sequence[tuple[int, bool]], insisted: frozenset[int]
) -> list[int]:
    """Take joints dearest first; of equal cost, those of the breadth-first tree, then the ones near the ground."""
    distance, crossed = _breadth_first(graph, moves, insisted)

    def rank(k: int) -> tuple[int, bool, bool, int, int]:
        rows, weld = classes[k]
        # not empty: there are two bodies
        return (-rows, not weld, k not in crossed, max(distance[body] for body in graph.ends[k]), k)

    return _greedy_tree(graph, sorted(set(range(len(classes))) - insisted, key=rank))


def _tree_of_short_loops(
    graph: Graph, moves: Sequence[bool], classes: Sequence[tuple[int, bool]], insisted: frozenset[int]
) -> list[int]:
    """Take joints dearest first; of equal cost, in the order in which short loops share them."""
    distance, _ = _breadth_first(graph, moves, insisted)
    place = short_loop_order(graph.ends, graph.at, distance, insisted)

    def rank(k: int) -> tuple[int, bool, int]:
        rows, weld = classes[k]
        return (-rows, not weld, place[k])

    return _greedy_tree(graph, sorted(set(range(len(classes))) - insisted, key=rank))


def _greedy_tree(graph: Graph, order: Sequence[int]) -> list[int]:
    """Take joints in an order, but those that would close a loop."""
    root = list(range(len(graph.number)))

    def find(body: int) -> int:
        while root[body] != body:
            root[body] = root[root[body]]
            body = root[body]
        return body

    tree = []
    for k in order:
        a, b = (find(body) for body in graph.ends[k])
        if a != b:
            root[a] = b
            tree.append(k)
    return tree


def _breadth_first(graph: Graph, moves: Sequence[bool], without: frozenset[int]) -> tuple[list[int], set[int]]:
    """Return how many moving joints lead to each body at least, and joints that make a tree of such ways."""
    distance = [len(graph.number)] * len(graph.number)
    via = [-1] * len(graph.number)
    distance[0] = 0
    queue, done = deque([0]), [False] * len(graph.number)
    while queue:
        body = queue.popleft()
        if done[body]:
            continue
        done[body] = True
        for k in graph.at[body]:
            far, reach = _far(graph, k, body), distance[body] + moves[k]
            if k not in without and reach < distance[far]:
                distance[far], via[far] = reach, k
                if moves[k]:
                    queue.append(far)
                else:
                    queue.appendleft(far)
    return distance, set(via) - {-1}


# Better trees


def _bits(mask: int) -> Iterator[int]:
    """Yield the positions of the ones of an integer, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass
class _Rooted:
    """The tree seen from the ground: the way up, levels, depths without welds, and sizes of subtrees."""

    up: list[int]
    via: list[int]
    level: list[int]
    depth: list[int]
    size: list[int]


def _rooted(graph: Graph, moves: Sequence[bool], tree: set[int]) -> _Rooted:
    """Walk a spanning tree from the ground."""
    n = len(graph.number)
    seen = _Rooted([-1] * n, [-1] * n, [0] * n, [0] * n, [1] * n)
    order = [0]
    for body in order:
        for k in graph.at[body]:
            if k in tree and k != seen.via[body]:
                far = _far(graph, k, body)
                seen.up[far], seen.via[far] = body, k
                seen.level[far], seen.depth[far] = seen.level[body] + 1, seen.depth[body] + moves[k]
                order.append(far)
    for body in reversed(order[1:]):
        seen.size[seen.up[body]] += seen.size[body]
    return seen


class _Search:
    """Exchanges of cut joints against tree joints of their loops.

    The loops come in slots: one for each joint that may be exchanged, then those of the joints that the user
    insists on, and the ways between the bodies of each closure, which the tree changes likewise.
    """

    def __init__(
        self,
        graph: Graph,
        joints: Sequence[Edge],
        closures: Sequence[ClosureLike],
        classes: Sequence[tuple[int, bool]],
        tree: Sequence[int],
        insisted: frozenset[int],
    ) -> None:
        self.graph = graph
        self.tree = set(tree)
        self.nv = [joint.nv for joint in joints]
        self.moves = [n > 0 for n in self.nv]
        self.used = [0] * len(joints)
        for closure in closures:
            for k in closure.joints:
                self.used[k] += closure.rows
        self.rows = [6 - n + u for n, u in zip(self.nv, self.used, strict=True)]
        self.equal = _masks(classes)
        self.planes = [(n, mask) for n, mask in _masks(self.nv).items() if n > 0]
        self.classes = classes
        self.seen = _rooted(graph, self.moves, self.tree)
        self.work = _WORK
        self._make_slots(closures, insisted)

    def _make_slots(self, closures: Sequence[ClosureLike], insisted: frozenset[int]) -> None:
        cuts = [k for k in range(len(self.nv)) if k not in self.tree]
        self.cut = [k for k in cuts if k not in insisted]
        fixed = [k for k in cuts if k in insisted]
        self.loop = [self._way(*self.graph.ends[k]) | (1 << k) for k in (*self.cut, *fixed)]
        self.weight = [self.rows[k] for k in (*self.cut, *fixed)]
        for closure in closures:
            first, *others = [self.graph.number[body] for body in closure.bodies] or [0]
            self.loop += [self._way(first, other) for other in others]
            self.weight += [closure.rows] * len(others)
        self.length = [self._freedoms(mask) for mask in self.loop]
        self.through = [0] * len(self.nv)
        for slot, mask in enumerate(self.loop):
            for k in _bits(mask):
                self.through[k] |= 1 << slot

    def _way(self, a: int, b: int) -> int:
        """Return the tree joints between two bodies."""
        up, via, level = self.seen.up, self.seen.via, self.seen.level
        mask = 0
        while a != b:
            if level[a] < level[b]:
                a, b = b, a
            mask |= 1 << via[a]
            a = up[a]
        return mask

    def _freedoms(self, mask: int) -> int:
        return sum(n * (mask & plane).bit_count() for n, plane in self.planes)

    def non_zeros(self) -> int:
        """Return the non-zeros of all loop equations in the coordinates of the tree."""
        around = sum(rows * length for rows, length in zip(self.weight, self.length, strict=True))
        own = [self.used[k] * n if k in self.tree else -self.rows[k] * n for k, n in enumerate(self.nv)]
        return around + sum(own)

    def run(self) -> None:
        """Exchange while it helps: first for short loops, then for shallow trees."""
        while self._shorten() or self._flatten():
            pass

    def _shorten(self) -> bool:
        """Exchange until no single exchange leaves fewer non-zeros; say if there was any."""
        changed, quiet, slot = False, 0, 0
        while quiet < len(self.cut) and self.work > 0:
            gains = self._gains(slot)
            best = min(gains, key=lambda k: (gains[k], k), default=-1)
            if best >= 0 and gains[best] < 0:
                self._exchange(slot, best)
                changed, quiet = True, 0
            else:
                quiet += 1
            slot = (slot + 1) % len(self.cut)
        if changed:
            self.seen = _rooted(self.graph, self.moves, self.tree)
        return changed

    def _flatten(self) -> bool:
        """Exchange once where it makes the tree shallower and leaves no more non-zeros; say if there was such."""
        changed = False
        for slot in range(len(self.cut)):
            if self.work <= 0:
                break
            rises = self._rises(slot)
            if not rises:
                continue
            gains = self._gains(slot, rises)
            best = min(gains, key=lambda k: (gains[k], rises[k], k))  # not empty: one gain for each rise
            if gains[best] <= 0:
                self._exchange(slot, best)
                self.seen = _rooted(self.graph, self.moves, self.tree)
                self.work -= len(self.graph.number)
                changed = True
        return changed

    def _gains(self, slot: int, only: dict[int, int] | None = None) -> dict[int, int]:
        """Return by how much the number of non-zeros changes if a slot's joint is exchanged, for each partner."""
        e, loop, own = self.cut[slot], self.loop[slot], 1 << slot
        partners = [f for f in _bits(loop & self.equal[self.classes[e]] & ~(1 << e)) if only is None or f in only]
        others = 0
        for f in partners:
            others |= self.through[f]
        change = {c: self._change(c, loop) for c in _bits(others & ~own)}
        self.work -= 2 * len(change)
        gains = {}
        for f in partners:
            shared = self.through[f] & ~own
            gains[f] = self._own_change(slot, f) + sum(change[c] for c in _bits(shared))
            self.work -= 1 + shared.bit_count()
        return gains

    def _change(self, other: int, loop: int) -> int:
        return self.weight[other] * (self._freedoms(self.loop[other] ^ loop) - self.length[other])

    def _own_change(self, slot: int, f: int) -> int:
        """Return the change of cost in the slot's own loop and in closures that use its joints."""
        e, length = self.cut[slot], self.length[slot]
        before = self.rows[e] * (length - self.nv[e]) + self.used[f] * self.nv[f]
        after = self.rows[f] * (length - self.nv[f]) + self.used[e] * self.nv[e]
        return after - before

    def _rises(self, slot: int) -> dict[int, int]:
        """Return the change of the sum of depths for each partner with which it falls.

        The part of the tree beyond the partner is hung up again by the other end of the cut joint. With p the
        bodies from there to the partner, each with what hangs on it and not on the one before, the depth changes
        by depth(other end) + 1 + depth(this end) - 2 depth(p).
        """
        e, seen = self.cut[slot], self.seen
        a, b = self.graph.ends[e]
        ends = seen.depth[a] + seen.depth[b] + self.moves[e]
        rises: dict[int, int] = {}
        at, total, size = [a, b], [0, 0], [0, 0]
        while at[0] != at[1]:
            side = 0 if seen.level[at[0]] >= seen.level[at[1]] else 1
            body = at[side]
            total[side] += (seen.size[body] - size[side]) * (ends - 2 * seen.depth[body])
            size[side], at[side] = seen.size[body], seen.up[body]
            if total[side] < 0 and self.classes[seen.via[body]] == self.classes[e]:
                rises[seen.via[body]] = total[side]
        return rises

    def _exchange(self, slot: int, f: int) -> None:
        """Cut tree joint f in place of the slot's joint."""
        e, loop = self.cut[slot], self.loop[slot]
        others = self.through[f] & ~(1 << slot)
        for c in _bits(others):
            self.loop[c] ^= loop
            self.length[c] = self._freedoms(self.loop[c])
        for k in _bits(loop):
            self.through[k] ^= others
        self.tree ^= {e, f}
        self.cut[slot], self.weight[slot] = f, self.rows[f]


def _masks(labels: Sequence[_Label]) -> dict[_Label, int]:
    """Return for each label the positions at which it stands, as bits."""
    masks: dict[_Label, int] = {}
    for k, label in enumerate(labels):
        masks[label] = masks.get(label, 0) | (1 << k)
    return masks
