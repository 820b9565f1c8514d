"""Accelerations of rigid bodies under joints, straight from Newton, Euler and the joints' definitions.

It shares nothing with any engine: every body has six accelerations in ground axes, every joint its own
equations, and the whole linear system is solved at once in extended precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from loop_models import GROUND, Link, Part

Long = np.longdouble
REFINEMENTS = 6


class Moving(NamedTuple):
    """Where a body is and how it moves: rotation, origin, angular velocity, the origin's velocity; ground axes."""

    R: np.ndarray
    p: np.ndarray
    w: np.ndarray
    v: np.ndarray


STILL = Moving(np.eye(3, dtype=Long), *np.zeros((3, 3), dtype=Long))


class Row(NamedTuple):
    """``sum of factors times (angular, origin's linear) acceleration = right`` over the bodies named."""

    factors: dict[str, np.ndarray]
    right: np.ndarray


def accelerations(
    gravity: Sequence[float],
    parts: Sequence[Part],
    links: Sequence[Link],
    motion: Mapping[str, Moving],
    thrust: Mapping[str, float],
) -> dict[str, np.ndarray]:
    """Angular acceleration and acceleration of the origin of every body, ground axes.

    thrust: forces of prismatic joints between two bodies, on the child along the axis.
    Solves ``M a - C' f = F, C a = c``; the joints' equations ``C a = c`` must not depend on each other.
    """
    index = {part.name: 6 * i for i, part in enumerate(parts)}
    moving = {**motion, GROUND: STILL}
    rows = [row for link in links for row in _rows(link, moving)]
    n, m = 6 * len(parts), len(rows)
    A, right = np.zeros((n + m, n + m), dtype=Long), np.zeros(n + m, dtype=Long)
    for part in parts:
        block = slice(index[part.name], index[part.name] + 6)
        A[block, block], right[block] = _newton_euler(part, moving[part.name], np.array(gravity, dtype=Long))
    for i, row in enumerate(rows, n):
        right[i] = row.right
        for body, factors in row.factors.items():
            if body != GROUND:
                block = slice(index[body], index[body] + 6)
                A[i, block] = factors
                A[block, i] = -factors
    for link in links:
        if link.name in thrust:
            force = Long(thrust[link.name]) * moving[link.parent].R[:, 2]
            parent, child = index[link.parent], index[link.child]
            right[child : child + 6] += _wrench(_arm(moving[link.child], link.at_child), force)
            right[parent : parent + 6] -= _wrench(_arm(moving[link.parent], link.at), force)
    a = _solved(A, right)
    return {name: a[i : i + 6] for name, i in index.items()}


def _solved(A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Extended precision by refining with an ordinary inverse of the equilibrated matrix."""
    scale = 1 / np.sqrt(np.max(np.abs(A), axis=1))
    A, right = A * scale[:, None] * scale, right * scale
    inverse = np.linalg.inv(A.astype(float)).astype(Long)
    x = np.zeros_like(right)
    for _ in range(REFINEMENTS):
        x = x + inverse @ (right - A @ x)
    return x * scale


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A vector product without NumPy's generality, which takes most of the time."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]], dtype=Long)


def _arm(body: Moving, point: Sequence[float]) -> np.ndarray:
    return body.R @ np.array(point, dtype=Long)


def _whirl(w: np.ndarray, r: np.ndarray) -> np.ndarray:
    """What of an arm's second derivative does not depend on angular acceleration."""
    return cross(w, cross(w, r))


def _newton_euler(part: Part, body: Moving, gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inertia and forces at the body's origin: momentum balance of the mass, moments about the origin."""
    c = _arm(body, part.com)
    I = body.R @ np.diag(np.array(part.inertia, dtype=Long)) @ body.R.T
    S, m = _skew(c), Long(part.mass)
    inertia = np.block([[I - m * S @ S, m * S], [-m * S, m * np.eye(3, dtype=Long)]])
    force = m * gravity - m * _whirl(body.w, c)
    moment = cross(c, force) - cross(body.w, I @ body.w)
    return inertia, np.concatenate([moment, force])


def _wrench(arm: np.ndarray, force: np.ndarray) -> np.ndarray:
    return np.concatenate([cross(arm, force), force])


def _rows(link: Link, moving: Mapping[str, Moving]) -> list[Row]:
    A, B = moving[link.parent], moving[link.child]
    match link.kind:
        case "spherical":
            return _same_point(link, A, B)
        case "universal":
            return [*_same_point(link, A, B), _square(link, A, B, 0, 1)]
        case "prismatic":
            turns = [_square(link, A, B, *pair) for pair in ((0, 1), (1, 2), (2, 0))]
            return [*turns, _sideways(link, A, B, 0), _sideways(link, A, B, 1)]
    raise ValueError(f"no equations for a {link.kind} joint")


def _same_point(link: Link, A: Moving, B: Moving) -> list[Row]:
    """The joint's points on both bodies have the same acceleration."""
    a, b = _arm(A, link.at), _arm(B, link.at_child)
    right = _whirl(B.w, b) - _whirl(A.w, a)
    on_a = np.hstack([-_skew(a), np.eye(3, dtype=Long)])
    on_b = np.hstack([_skew(b), -np.eye(3, dtype=Long)])
    return [Row({link.parent: on_a[i], link.child: on_b[i]}, right[i]) for i in range(3)]


def _square(link: Link, A: Moving, B: Moving, i: int, j: int) -> Row:
    """Axis i of the parent stays perpendicular to axis j of the child: the second derivative of u . w."""
    u, w = A.R[:, i], B.R[:, j]
    right = -(_whirl(A.w, u) @ w + 2 * cross(A.w, u) @ cross(B.w, w) + u @ _whirl(B.w, w))
    none = np.zeros(3, dtype=Long)
    turn = np.concatenate([cross(u, w), none])
    return Row({link.parent: turn, link.child: -turn}, right)


def _sideways(link: Link, A: Moving, B: Moving, i: int) -> Row:
    """The child's point does not leave the parent's axis along its axis i: the second derivative of u . r."""
    u, a, b = A.R[:, i], _arm(A, link.at), _arm(B, link.at_child)
    r = B.p + b - A.p - a
    rate = B.v + cross(B.w, b) - A.v - cross(A.w, a)
    right = -(_whirl(A.w, u) @ r + 2 * cross(A.w, u) @ rate + u @ (_whirl(B.w, b) - _whirl(A.w, a)))
    on_a = np.concatenate([cross(u, r) - cross(a, u), -u])
    on_b = np.concatenate([cross(b, u), u])
    return Row({link.parent: on_a, link.child: on_b}, right)
