"""Across a singular position in one step.

At a singular position, as the flat one of a parallelogram, accelerations are a ratio of two numbers that vanish, and
next to it they carry errors that grow with the inverse cube of the distance. Along the branch that the motion is on
they are smooth all the same. So the position is crossed by collocation: a polynomial through accelerations at points
before and after it, and none in between,

    y_i = y + h sum_j A_ij f(t + c_j h, y_j),        c in [0, 0.37] and [0.63, 1],

solved by iteration. The present state need not be at the beginning of the step: if the run is already next to the
position, the step reaches back in time, to nodes that are far enough from it, and the integrals begin at the share c0
of it where the state is. The nodes crowd at the ends of the step, away from the singular position, as those of
Chebyshev do at an end. With w = 0.37 and nine nodes on either side the errors of the accelerations weigh least for an
order of eighteen; a gap that is wider makes them count more, because the polynomial swings in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.simulate.native_functions import inner
from whippletree.simulate.native_structs import Numbers, NumberTable

__all__ = ["RULE", "CollocationRule", "first_guess", "integrals_to", "interpolate", "iterate", "resample"]

_HALF = 9
_WIDTH = 0.37


class CollocationRule(NamedTuple):
    """Nodes, the integrals up to each of them, those of the error estimate, and weights for interpolation."""

    c: Array
    A: Array
    e: Array
    barycentric: Array


def _integrals(c: Array, integrals_to: Array) -> Array:
    """Return the integrals from zero of the polynomials that are one at one of the nodes and zero at the others."""
    n = c.size
    legendre = np.polynomial.legendre.legvander
    P = legendre(2 * integrals_to - 1, n)
    below = np.hstack([integrals_to[:, None], (P[:, 2:] - P[:, :-2]) / (2 * (2 * np.arange(1, n) + 1))])
    return np.asarray(np.linalg.solve(legendre(2 * c - 1, n - 1).T, below.T).T)


def _rule() -> CollocationRule:
    """Return the rule."""
    part = _WIDTH * (1 - np.cos(np.pi / 2 * np.arange(_HALF) / (_HALF - 1)))
    c = np.concatenate([part, 1 - part[::-1]])
    A = _integrals(c, c)
    fewer = np.delete(np.arange(c.size), _HALF - 1)
    e = A[-1].copy()
    e[fewer] -= _integrals(c[fewer], np.ones(1))[0]
    not_inlined = c[:, None] - c[None, :] + np.eye(c.size)
    return CollocationRule(c, A, e, 1 / not_inlined.prod(axis=1))


RULE = _rule()
_GAUSS = np.array(np.polynomial.legendre.leggauss(_HALF + 1)) / 2 + np.array([[0.5], [0.0]])  # on [0, 1]


@inner
def first_guess(rule: CollocationRule, h: float, k: NumberTable, nv: int, j: int, Y: NumberTable) -> None:
    """Begin with a state that goes on from the node before as straight as accelerations do."""
    span = (rule.c[j] - rule.c[j - 1]) * h
    back = (rule.c[j - 1] - rule.c[j - 2]) * h if j > 1 else np.inf
    for n in range(Y.shape[1]):
        Y[j, n] = Y[j - 1, n] + span * k[j - 1, n]
    for i in range(nv):
        a = k[j - 1, nv + i]
        jerk = (a - k[j - 2, nv + i]) / back if j > 1 else 0.0
        Y[j, i] += span * span * (a / 2 + span * jerk / 6)
        Y[j, nv + i] += span * span * jerk / 2


@inner
def iterate(
    rule: CollocationRule, h: float, y: Numbers, k: NumberTable, size: Numbers, before: NumberTable, Y: NumberTable
) -> float:
    """Take the states at the nodes from the rates there; return the largest change, in units of `size`.

    `before` are the integrals up to where the state is y (see `integrals_to`).
    """
    change = 0.0
    for n in range(y.size):
        for i in range(rule.c.size):
            total = 0.0
            for j in range(rule.c.size):
                total += (rule.A[i, j] - before[j]) * k[j, n]
            value = y[n] + h * total
            change = max(change, abs(value - Y[i, n]) / size[n])
            Y[i, n] = value
    return change


@inner
def integrals_to(rule: CollocationRule, share: float, integrals: Numbers) -> None:
    """Put the integrals, up to a share of the step, of the polynomials that are one at one of the nodes."""
    count = rule.c.size
    values = np.empty(count)
    for j in range(count):
        integrals[j] = 0.0
    for i in range(_GAUSS.shape[1]):
        s, total = share * _GAUSS[0, i], 0.0
        for j in range(count):
            away = s - rule.c[j]
            values[j] = rule.barycentric[j] / (away if away != 0.0 else 1e-20)
            total += values[j]
        for j in range(count):
            integrals[j] += share * _GAUSS[1, i] * values[j] / total


@inner
def resample(rule: CollocationRule, start: float, part: float, Y: NumberTable, here: Numbers) -> None:
    """Replace the states at the nodes by those at the same shares of a part of the step."""
    states = np.empty(Y.shape)
    for j in range(rule.c.size):
        interpolate(rule, start + part * rule.c[j], Y, here)
        for n in range(here.size):
            states[j, n] = here[n]
    for j in range(rule.c.size):
        for n in range(here.size):
            Y[j, n] = states[j, n]


@inner
def interpolate(rule: CollocationRule, share: float, Y: NumberTable, here: Numbers) -> None:
    """Interpolate the states at the nodes."""
    total = 0.0
    for n in range(here.size):
        here[n] = 0.0
    for j in range(rule.c.size):
        away = share - rule.c[j]
        if abs(away) < 1e-14:
            for n in range(here.size):
                here[n] = Y[j, n]
            return
        weight = rule.barycentric[j] / away
        total += weight
        for n in range(here.size):
            here[n] += weight * Y[j, n]
    for n in range(here.size):
        here[n] /= total
