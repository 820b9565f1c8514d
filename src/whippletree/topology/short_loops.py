"""An order of joints in which a tree leaves short loops, for mechanisms too large to exchange their way to one.

Each joint has a shortest loop through it. Loops are taken one after the other, short ones first and those near the
ground before others, and so are the joints of each: first those that other short loops share. A tree that takes joints
in this order, where they close no loop, leaves out one joint of each short loop that the next loops do not need. A
ladder becomes one of its rails, with the rungs and rods of the other rail on it, and each cell is a loop by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

__all__ = ["short_loop_order"]

_LOOKED_AT = 20_000
"""Bodies that are visited at most in search of one joint's loop: beyond that it is as good as in none."""


def short_loop_order(
    ends: Sequence[tuple[int, int]], at: Sequence[Sequence[int]], distance: Sequence[int], without: Iterable[int] = ()
) -> list[int]:
    """Return the place of each joint in the order; joints in no short loop come last.

    `ends` are the bodies of each joint, `at` the joints of each body, `distance` how far bodies are from the ground.

    >>> short_loop_order([(2, 3), (0, 1), (1, 2), (0, 2)], [[1, 3], [1, 2], [0, 2, 3], [0]], [0, 1, 1, 2])
    [3, 0, 1, 2]
    """
    gone = set(without)
    loops = {_shortest(ends, at, k, gone) for k in range(len(ends)) if k not in gone} - {()}
    shared = [0] * len(ends)
    for loop in loops:
        for k in loop:
            shared[k] += 1

    def depth(k: int) -> int:
        return max(distance[body] for body in ends[k])  # not empty: there are two bodies

    place: dict[int, int] = {}
    for loop in sorted(loops, key=lambda loop: (len(loop), sum(map(depth, loop)), loop)):
        for k in sorted(loop, key=lambda k: (-shared[k], depth(k), k)):
            place.setdefault(k, len(place))
    for k in sorted(range(len(ends)), key=lambda k: (depth(k), k)):
        place.setdefault(k, len(place))
    return [place[k] for k in range(len(ends))]


def _shortest(
    ends: Sequence[tuple[int, int]], at: Sequence[Sequence[int]], joint: int, gone: set[int]
) -> tuple[int, ...]:
    """Return the joints of a shortest loop through a joint, in order of their numbers; none if there is none near."""
    start, goal = ends[joint]
    via = {start: joint}
    queue = deque([start])
    while queue and goal not in via and len(via) < _LOOKED_AT:
        body = queue.popleft()
        for k in at[body]:
            a, b = ends[k]
            far = b if body == a else a
            if k != joint and k not in gone and far not in via:
                via[far] = k
                queue.append(far)
    if goal not in via:
        return ()
    loop, body = [joint], goal
    while body != start:
        k = via[body]
        loop.append(k)
        a, b = ends[k]
        body = b if body == a else a
    return tuple(sorted(loop))
