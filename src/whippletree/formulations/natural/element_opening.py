"""Which bodies are left out so that loops become open chains (Garcia de Jalon and Bayo 8.3, formulation A).

In natural coordinates bodies share points and vectors, and a loop is opened by leaving out the rigid-body conditions of
one of its bodies: what the body shares then moves with its neighbours, each on a chain of its own (figure 8.16). A body
can be left out if all others stay connected without it. Where every body of a loop carries others that nothing else
holds, a joint is cut instead, as in formulation B.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from whippletree.foundation.once import made_once

__all__ = ["OpenJoint", "Opening", "open_loops"]

GROUND = -1

Ends = tuple[int, int]


class OpenJoint(NamedTuple):
    """A joint of the open chains, from the body nearer to the ground to the one behind it."""

    joint: int
    near: int
    far: int


class _Chains(NamedTuple):
    """The joints of the open chains outward, and those that are left over."""

    joints: tuple[OpenJoint, ...]
    over: tuple[int, ...]


class Opening:
    """The bodies that are `removed`, the joints that are `cut`, and the open chains of all other bodies.

    >>> four_bar = open_loops(3, [(-1, 0), (0, 1), (1, 2), (2, -1)])
    >>> sorted(four_bar.removed), [joint.far for joint in four_bar.joints], sorted(four_bar.cut)
    ([1], [0, 2], [])
    """

    def __init__(self, n_bodies: int, ends: Sequence[Ends], removed: Collection[int], cut: Collection[int]) -> None:
        self.n_bodies, self.ends = n_bodies, tuple(ends)
        self.removed, self.cut = frozenset(removed), frozenset(cut)
        self.joints = _chains(ends, self.removed, self.cut).joints

    @made_once
    def paths(self) -> dict[int, tuple[OpenJoint, ...]]:
        """The joints on the way from the ground to each body that is not removed."""
        found: dict[int, tuple[OpenJoint, ...]] = {GROUND: ()}
        for joint in self.joints:
            found[joint.far] = (*found[joint.near], joint)
        return found

    @made_once
    def held(self) -> frozenset[int]:
        """The joints of the open chains, whose constraints hold in any case."""
        return frozenset(joint.joint for joint in self.joints)

    def home(self, bodies: Collection[int]) -> int | None:
        """Return the body that moves an element of some bodies: the nearest to the ground, None if all are removed."""
        some = [body for body in bodies if body not in self.removed]
        return min(some, key=lambda body: (len(self.paths[body]), body), default=None)


def open_loops(n_bodies: int, ends: Sequence[Ends]) -> Opening:
    """Return how the loops of bodies 0, 1, ... are opened, joints being between these `ends` (-1 is the ground).

    Of the bodies that can be left out, one with the fewest joints goes first, and of these one that is not beside
    a body left out before, the farthest from the ground: the rods of a suspension, as in the book. What two neighbours
    share would move with neither. More bodies go than with those that have many joints, but chains are shorter, and
    fewer operations are needed.

    >>> sorted(open_loops(3, [(-1, 0), (0, 1), (1, 0), (1, 2)]).removed), open_loops(1, [(-1, 0), (-1, 0)]).removed
    ([], frozenset({0}))
    """
    removed: set[int] = set()
    cut: set[int] = set()
    while True:
        chains, over = _chains(ends, removed, cut)
        if not over:
            return Opening(n_bodies, ends, removed, cut)
        inner = _on_cycles(ends, removed, cut)
        able = [body for body in inner if _stays_whole(n_bodies, ends, removed | {body}, cut)]
        if able:
            far = [joint.far for joint in chains]  # the farthest last
            beside = {body: len(_neighbours(ends, body) & removed) for body in able}
            ranks = {body: (_degree(ends, body, removed, cut), beside[body], -far.index(body)) for body in able}
            removed.add(min(able, key=ranks.__getitem__))  # not empty: looked at above
        else:
            cut.add(over[-1])


def _live(ends: Sequence[Ends], removed: Collection[int], cut: Collection[int]) -> list[tuple[int, int, int]]:
    """Return the joints (index, end, end) between bodies that are there."""
    return [
        (k, a, b) for k, (a, b) in enumerate(ends) if k not in cut and a not in removed and b not in removed and a != b
    ]


def _chains(ends: Sequence[Ends], removed: Collection[int], cut: Collection[int]) -> _Chains:
    """Walk outward from the ground, the joints in their order."""
    live, reached = _live(ends, removed, cut), {GROUND}
    found: list[OpenJoint] = []
    used: set[int] = set()
    while True:
        rim = set(reached)  # breadth first, so that chains are short
        for k, a, b in live:
            if k not in used and (a in rim) != (b in rim):
                near, far = (a, b) if a in rim else (b, a)
                if far not in reached:
                    found.append(OpenJoint(k, near, far))
                    reached.add(far)
                    used.add(k)
        if len(reached) == len(rim):
            return _Chains(tuple(found), tuple(k for k, _, _ in live if k not in used))


def _degree(ends: Sequence[Ends], body: int, removed: Collection[int], cut: Collection[int]) -> int:
    return sum((a == body) + (b == body) for _, a, b in _live(ends, removed, cut))


def _neighbours(ends: Sequence[Ends], body: int) -> set[int]:
    """Return the bodies that a body has joints with."""
    return {a if b == body else b for a, b in ends if body in (a, b)}


def _stays_whole(n_bodies: int, ends: Sequence[Ends], removed: Collection[int], cut: Collection[int]) -> bool:
    """Tell whether all bodies that are left hang together with the ground."""
    return len(_chains(ends, removed, cut).joints) == n_bodies - len(removed)


def _on_cycles(ends: Sequence[Ends], removed: Collection[int], cut: Collection[int]) -> list[int]:
    """Return the bodies on loops: those that remain when bodies on one joint only are removed, again and again."""
    live = _live(ends, removed, cut)
    while True:
        count: dict[int, int] = {}
        for _, a, b in live:
            count[a], count[b] = count.get(a, 0) + 1, count.get(b, 0) + 1
        left = [(k, a, b) for k, a, b in live if min(_in_loop(count, a), _in_loop(count, b)) > 1]
        if len(left) == len(live):
            return sorted(body for body in count if body != GROUND)
        live = left


def _in_loop(count: dict[int, int], body: int) -> int:
    """Return how many joints a body has; the ground always has more."""
    return 2 if body == GROUND else count[body]
