"""The data-flow graph of a trace: its critical path, the largest possible speed-up, schedules on p processors.

Every scalar operation is a vertex, and waits for its operands. The critical path is the longest chain of operations:
no number of processors is faster (Nikravesh and others, section 5). A schedule on p processors starts, of all
operations whose operands are there, always those first from which the longest chain is left.

A trace adds the terms of a sum one after the other, which suits one processor. `pairwise` adds always those two first
that are there first: as many operations, and the shortest chain that the same terms allow.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.tape import Tape
from whippletree.spatial.scalars import shown

__all__ = ["Flow", "Schedule", "pairwise"]

FREE = frozenset({"const", "input"})
"""Vertices that take no time."""

SUMS = frozenset({"add", "sub"})


@user_facing
def pairwise(tape: Tape) -> Tape:
    """Return a tape whose sums are taken in pairs, the earliest terms first.

    >>> import casadi as ca
    >>> from whippletree.kernels.tape import read_tape
    >>> x = ca.SX.sym("x", 8)
    >>> sum_of_eight = read_tape(ca.Function("sum", [x], [ca.sum1(x)]))
    >>> Flow(sum_of_eight).critical, Flow(pairwise(sum_of_eight)).critical
    (7, 3)
    """
    inner = _inner_sums(tape)
    result, new, ready = Tape(tables=tape.tables), dict[int, int](), dict[int, int]()
    for k, (name, operands) in enumerate(tape.operations):
        if k in inner:
            continue
        if name == "const":
            new[k] = result.constant(tape.constants[k])
        elif name == "input":
            new[k] = result.input(*tape.inputs[k])
        elif name in SUMS:
            new[k] = _summed(result, [(new[term], sign) for term, sign in _terms(tape, inner, k)], ready)
        else:
            new[k] = result.operation(name, *(new[o] for o in operands))
        taken = 0 if name in FREE else 1
        ready.setdefault(new[k], taken + max((ready.get(new.get(o, -1), 0) for o in operands), default=0))
    result.outputs = [(a, e, new[v]) for a, e, v in tape.outputs]
    return result


def _inner_sums(tape: Tape) -> set[int]:
    """Return the sums that only another sum uses, once."""
    uses = tape.uses()
    inner = {o for name, operands in tape.operations if name in SUMS for o in operands}
    return {k for k in inner if uses[k] == 1 and tape.operations[k][0] in SUMS}


def _terms(tape: Tape, inner: set[int], root: int) -> list[tuple[int, int]]:
    """Return the terms of a sum with their signs, sums within it taken apart."""
    terms, pending = [], [(root, 1)]
    while pending:
        k, sign = pending.pop()
        if k != root and k not in inner:
            terms.append((k, sign))
            continue
        name, (a, b) = tape.operations[k]
        pending += [(a, sign), (b, sign if name == "add" else -sign)]
    return terms


def _summed(tape: Tape, terms: list[tuple[int, int]], ready: dict[int, int]) -> int:
    """Add terms in pairs, the earliest first; at least one of them is positive."""
    waiting = [(ready.get(value, 0), value, sign) for value, sign in terms]
    heapq.heapify(waiting)
    while len(waiting) > 1:
        (_, a, plus), (then, b, other) = heapq.heappop(waiting), heapq.heappop(waiting)
        if plus == other:
            value, sign = tape.operation("add", a, b), plus
        else:
            value, sign = (tape.operation("sub", a, b) if plus > 0 else tape.operation("sub", b, a)), 1
        ready.setdefault(value, then + 1)
        heapq.heappush(waiting, (ready[value], value, sign))
    return waiting[0][1]


@user_facing
@dataclass(frozen=True)
class Schedule:
    """The schedule of a graph on p processors: the time at which the last operation ends, and the speed-up over one."""

    processors: int
    length: int
    speed_up: float


@user_facing
@readable
class Flow:
    """The data-flow graph of a tape; `weights` gives the time of an operation by name, 1 unless given.

    >>> from whippletree.analysis.cost import traced
    >>> from whippletree.analysis.models import stanford_arm
    >>> flow = Flow(traced(stanford_arm(2).build(), "composite"))
    >>> flow.serial >= flow.critical > 1
    True
    >>> flow.schedule(1).length == flow.serial
    True
    """

    def __init__(self, tape: Tape, weights: Mapping[str, int] | None = None) -> None:
        given = weights or {}
        self._operands = [operands for _, operands in tape.operations]
        self._time = [0 if name in FREE else int(given.get(name, 1)) for name, _ in tape.operations]
        self._users: list[list[int]] = [[] for _ in self._operands]
        for k, operands in enumerate(self._operands):
            for operand in set(operands):
                self._users[operand].append(k)
        self._left = self._longest_left()
        self.serial = sum(self._time)
        self.critical = max(self._left, default=0)

    def __str__(self) -> str:
        return f"Flow of {len(self._time)} operations: {self.serial} in a row, {self.critical} on the critical path"

    @property
    def largest_speed_up(self) -> float:
        """Serial time over the critical path: the limit for any number of processors."""
        return self.serial / self.critical if self.critical else 1.0

    def _longest_left(self) -> list[int]:
        """Return for each operation the longest chain from its start to the end."""
        left = [0] * len(self._time)
        for k in reversed(range(len(left))):
            left[k] = self._time[k] + max((left[user] for user in self._users[k]), default=0)
        return left

    def schedule(self, processors: int) -> Schedule:
        """Return the schedule on so many processors."""
        if isinstance(processors, bool) or not isinstance(processors, int | np.integer) or processors < 1:
            raise StateError(f"processors must be a whole number of at least 1, not {shown(processors)}")
        waiting = [len(set(operands)) for operands in self._operands]
        ready = [(-self._left[k], k) for k, count in enumerate(waiting) if count == 0]
        heapq.heapify(ready)
        running: list[tuple[int, int]] = []
        now, done = 0, 0
        while ready or running:
            while ready and (len(running) < processors or self._time[ready[0][1]] == 0):
                k = heapq.heappop(ready)[1]
                if self._time[k] == 0:
                    self._finish(k, waiting, ready)
                else:
                    heapq.heappush(running, (now + self._time[k], k))
            if running:
                now = running[0][0]
                while running and running[0][0] == now:
                    self._finish(heapq.heappop(running)[1], waiting, ready)
                done = now
        return Schedule(processors, done, self.serial / done if done else 1.0)

    def _finish(self, k: int, waiting: list[int], ready: list[tuple[int, int]]) -> None:
        for user in self._users[k]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, (-self._left[user], user))
