"""What the items of a rolled mechanism keep in memory: how records are written, and read again.

A front is written as the lower halves of its symmetric matrices and its columns; a closure with its force columns on
both sides. Constants of an item are read from its table, unless they are so plain that they belong to its kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import casadi as ca

from whippletree.elements.joints import Joint
from whippletree.formulations.methods.coordinate_reduction import Front, FrontVariable
from whippletree.formulations.nodes.frame_states import NodeState
from whippletree.formulations.nodes.node import AngularState
from whippletree.formulations.rolled.work_items import Span
from whippletree.spatial import ArticulatedInertia

__all__ = [
    "Numbers",
    "Ready",
    "born_front",
    "each",
    "floats",
    "front_in",
    "front_numbers",
    "front_on_ground",
    "front_size",
    "pull_front",
    "pulled_in",
    "reached_in",
    "scalars",
    "span_of",
]


class Ready:
    """A joint whose configuration is at hand: sines and cosines are worked out once for all items."""

    def __init__(self, joint: Joint) -> None:
        self._joint = joint

    def configuration(self, q: ca.SX) -> ca.SX:
        """Return what was given."""
        return q

    def __getattr__(self, name: str) -> Any:
        return getattr(self._joint, name)


class Numbers:
    """Constants of an item: what is zero or one is part of its kind, the others are read from the table."""

    def __init__(self, values: Sequence[Any]) -> None:
        plain = [float(x) for x in values]
        self.key = tuple(x if x in (0.0, 1.0, -1.0) else None for x in plain)
        self.values = [x for x in plain if x not in (0.0, 1.0, -1.0)]

    def symbols(self, given: Iterator[ca.SX]) -> list[Any]:
        """Return the numbers, with symbols for those that are read."""
        return [next(given) if known is None else known for known in self.key]


def front_numbers(front: Front, root: bool) -> list[ca.SX]:
    """Return a front's numbers: on the ground only what it asks of its ports."""
    n = len(front.ports)
    lower = [front.S[i, j] for i in range(n) for j in range(i + 1)]
    if root:
        return [*lower, *scalars(front.e)]
    assert front.P is not None
    P = front.P.matrix()
    inertia = [P[i, j] for i in range(6) for j in range(i + 1)]
    return [*inertia, *scalars(front.F, front.z), *lower, *scalars(front.e)]


def front_size(n: int, root: bool) -> int:
    """Return how many numbers `front_numbers` writes for n ports."""
    return n * (n + 1) // 2 + n + (0 if root else 27 + 6 * n)


def front_in(ports: tuple[FrontVariable, ...], record: ca.SX) -> Front:
    """Return the front on a node that `front_numbers` wrote."""
    n = len(ports)
    P = ArticulatedInertia.of_matrix(_symmetric(record[0:21], 6))
    F, z = ca.reshape(record[21 : 21 + 6 * n], 6, n), record[21 + 6 * n : 27 + 6 * n]
    rest = front_on_ground(ports, record[27 + 6 * n :])
    return Front(ports, P, F, z, rest.S, rest.e)


def front_on_ground(ports: tuple[FrontVariable, ...], record: ca.SX) -> Front:
    """Return the front on the ground that `front_numbers` wrote."""
    n = len(ports)
    lower = n * (n + 1) // 2
    S = _symmetric(record[0:lower], n)
    return Front(ports, None, ca.SX.zeros(6, n), ca.SX.zeros(6), S, record[lower : lower + n])


def _symmetric(lower: ca.SX, n: int) -> ca.SX:
    A, at = ca.SX.zeros(n, n), 0
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = A[j, i] = lower[at]
            at += 1
    return A


def born_front(ports: tuple[FrontVariable, ...], closures: ca.SX) -> Front:
    """Return what a closure asks where it is complete: its second derivative."""
    n = len(ports)
    return Front(ports, None, ca.SX.zeros(6, n), ca.SX.zeros(6), ca.SX.zeros(n, n), -closures[0:n])


def pull_front(ports: tuple[FrontVariable, ...], F: ca.SX) -> Front:
    """Return what a closure asks of a node."""
    n = len(ports)
    return Front(ports, None, -F, ca.SX.zeros(6), ca.SX.zeros(n, n), ca.SX.zeros(n))


def pulled_in(closures: ca.SX, m: int, n: int, side: int) -> tuple[ca.SX, ca.SX]:
    """Return a closure's force columns on a side, and the wrench of the cut joint's efforts there."""
    start = m + n + side * (6 * m + 6 * n + 6)
    return ca.reshape(closures[start : start + 6 * m], 6, m), closures[
        start + 6 * m + 6 * n : start + 6 * m + 6 * n + 6
    ]


def scalars(*parts: ca.SX) -> list[ca.SX]:
    """Return all entries of some matrices, one after the other."""
    return [x for part in parts for x in ca.vertsplit(ca.vec(ca.densify(ca.SX(part)))) if ca.SX(part).numel()]


def reached_in(record: ca.SX) -> NodeState:
    """Return a node seen from a loop's base, as it was recorded."""
    motion = AngularState(record[0:3], ca.reshape(record[3:12], 3, 3))
    return NodeState(motion, record[12:15], record[15:21], record[21:27])


def each(numbers: ca.SX) -> Iterator[ca.SX]:
    """Yield the entries of a column."""
    return iter(ca.vertsplit(numbers) if numbers.numel() else [])


def span_of(argument: int, where: slice) -> Span:
    """Return a slice of an argument as a span."""
    return Span(argument, where.start, where.stop - where.start)


def floats(A: ca.SX) -> list[float]:
    """Return the entries of a constant matrix, row after row."""
    return [x for row in ca.DM(A).full().tolist() for x in row]
