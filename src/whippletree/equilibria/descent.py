"""To an equilibrium from a guess: descent of the energy with steps of limited length, and Newton's method.

The descent is a trust-region method whose merit is work: with r the efforts that are lacking and K the stiffness
along the motions, the step x minimises r.x + x.K x / 2 within the trusted length, and is taken if the work really
done on the way, -(r_old + r_new).x / 2, is as predicted to a reasonable share. For forces that have a potential that
work is its decrease, but for terms of third order, and it does not lose digits where the energy is flat. So the
descent ends where the potential has a minimum; at a saddle only if it starts there. The step follows from the
eigenvalues of K as Moré and Sorensen (1983) have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from whippletree.equilibria.balance import Balance, BalanceSlopes, Imbalance, null_space
from whippletree.equilibria.equilibrium_tolerances import (
    BALANCED,
    DIFFERENCE,
    FIRST_STEP,
    GOOD_STEP,
    INDIFFERENT,
    LONGEST_STEP,
    NEARLY_BALANCED,
    NEWTON_STEPS,
    POOR_STEP,
    RELAXATION_STEPS,
    SHORTEST_STEP,
    SINGULAR,
    STEP_HALVINGS,
    UNIT_ROUNDING,
)
from whippletree.equilibria.load_case import LoadCase, LoadQuantity
from whippletree.errors import WhippletreeError
from whippletree.kernels.kernel import Array
from whippletree.spatial.scales import largest, scale_of, vanishing

__all__ = ["Reached", "descend", "jacobian", "neutral_motions", "newton"]

_CLOSED = 1e-8
"""A configuration whose loops are open by more, scaled, is none."""


class Reached(NamedTuple):
    """The end of a search: the imbalance there, the load, the size of efforts, and whether the mechanism is at rest."""

    here: Imbalance
    load: LoadCase
    scale: float
    balanced: bool


def descend(balance: Balance, q: Array, z: Array, load: LoadCase) -> Reached:
    """Go from a closed configuration to where the potential has a minimum, as far as there is one."""
    here = balance.at(q, z, load)
    scale = balance.effort_scale(q, z, load)
    length = FIRST_STEP
    for _ in range(RELAXATION_STEPS):
        here, slopes = _relaxed_states(balance, here, load)
        scale = scale_of(scale, _least_scale(slopes))
        if vanishing(here.size, scale, share=BALANCED) or length < SHORTEST_STEP:
            break
        x, predicted = _step(here.efforts, _stiffness(slopes), length, scale)
        there = _attempt(balance, here, x, load)
        gained = -np.inf
        if there is not None:
            way = balance.difference(here.q, there.q)
            gained = -float((here.lacking + there.lacking) @ way) / 2
        if there is None or (gained < POOR_STEP * predicted and not _rounding(here, there, scale)):
            length = min(length, float(np.linalg.norm(x))) / 4
            continue
        if gained > GOOD_STEP * predicted:
            length = min(2 * length, LONGEST_STEP)
        if there.size >= here.size and _rounding(here, there, scale):
            break
        here = there
    return _ended(balance, _put_back(balance, q, _polished(balance, here, load), load), load)


def _put_back(balance: Balance, start: Array, here: Imbalance, load: LoadCase) -> Imbalance:
    """Go along neutral motions to the equilibrium whose coordinates are nearest to where a search began.

    On the way to rest, motions that meet no stiffness are moved by all the others, and by rounding. Where following
    them does not keep the balance, they were not neutral after all, and nothing is moved.
    """
    before = taken = None
    for _ in range(NEWTON_STEPS):
        scale = _scale(balance, here, load)
        if not vanishing(here.size, scale, share=NEARLY_BALANCED):
            break
        neutral = neutral_motions(_stiffness(balance.slopes(here, load)), scale)
        along = here.motions @ neutral
        way = along @ balance.way_back(here.q, along, start)
        if not np.linalg.norm(way) > SHORTEST_STEP:
            break
        step = way if before is None or taken is None else _hastened(way, before, taken)
        x = neutral @ np.linalg.lstsq(along, step, rcond=None)[0]
        found = _nearer(balance, start, here, x, load)
        if found is None or found[0].size > max(here.size, NEARLY_BALANCED * scale):
            break
        before, taken, here = way, here.motions @ found[1], found[0]
    return here


def _nearer(
    balance: Balance, start: Array, here: Imbalance, x: Array, load: LoadCase
) -> tuple[Imbalance, Array] | None:
    """Return the balance after a step that leads nearer to a configuration, halved until it does, and that step."""
    far = np.linalg.norm(balance.apart(here.q, start))
    x = x * min(1.0, LONGEST_STEP / max(float(np.linalg.norm(x)), LONGEST_STEP))
    for k in range(STEP_HALVINGS):
        there = _attempt(balance, here, x / 2**k, load)
        there = None if there is None else _polished(balance, there, load)
        if there is not None and np.linalg.norm(balance.apart(there.q, start)) <= (1 + 1e-14) * far:
            return there, x / 2**k
    return None


def _hastened(way: Array, before: Array, taken: Array) -> Array:
    """Return a step of an iteration that goes on by `way`, after one `taken` for the way `before` (Anderson 1965)."""
    change = way - before
    share = float(way @ change) / scale_of(change @ change)
    return way - share * (taken + change)


def neutral_motions(K: Array, scale: float) -> Array:
    """Return the motions (n, k) that meet no stiffness but rounding of efforts of the size `scale`.

    >>> neutral_motions(np.array([[4.0, 0.0], [0.0, 1e-15]]), 1.0).tolist()
    [[0.0], [1.0]]
    """
    values, vectors = np.linalg.eigh(_symmetric(K))
    return vectors[:, vanishing(values, values, scale, share=INDIFFERENT)]


def _symmetric(K: Array) -> Array:
    return np.asarray((K + K.T) / 2)


def _polished(balance: Balance, here: Imbalance, load: LoadCase) -> Imbalance:
    """Take Newton steps as long as they halve the imbalance: from nearly nothing down to rounding."""
    for _ in range(NEWTON_STEPS):
        if not here.size:
            break
        J, _ = jacobian(balance, here, load, ())
        dy = np.linalg.lstsq(J, -np.concatenate([here.efforts, here.rates]), rcond=SINGULAR)[0]
        n = len(dy) - len(here.z)
        if not np.linalg.norm(dy[:n]) < FIRST_STEP:
            break
        there = _attempt(balance, here, dy[:n], load, here.z + dy[n:])
        if there is None or not there.size <= here.size / 2:
            break
        here = there
    return here


def _ended(balance: Balance, here: Imbalance, load: LoadCase) -> Reached:
    """Return where a search has ended, with a last look at the efforts there."""
    scale = _scale(balance, here, load)
    return Reached(here, load, scale, bool(vanishing(here.size, scale, share=NEARLY_BALANCED)))


def _scale(balance: Balance, here: Imbalance, load: LoadCase) -> float:
    """Return the size of the efforts whose difference is the imbalance."""
    return scale_of(balance.effort_scale(here.q, here.z, load), _least_scale(balance.slopes(here, load)))


def _least_scale(slopes: BalanceSlopes) -> float:
    return UNIT_ROUNDING * largest(slopes.K)


def _rounding(here: Imbalance, there: Imbalance, scale: float) -> bool:
    """Return True if the imbalance at both ends of a step is hardly more than rounding."""
    return bool(vanishing(largest(here.size, there.size), scale, share=NEARLY_BALANCED))


def _relaxed_states(balance: Balance, here: Imbalance, load: LoadCase) -> tuple[Imbalance, BalanceSlopes]:
    """Bring the elements' states to rest for the configuration, where their rates determine them."""
    slopes = balance.slopes(here, load)
    for _ in range(NEWTON_STEPS if len(here.z) else 0):
        if np.linalg.matrix_rank(slopes.Yz) < len(here.z) or not np.abs(here.rates).max(initial=0.0) > 0:
            break
        z = here.z - np.linalg.solve(slopes.Yz, here.rates)
        there = balance.at(here.q, z, load)
        if not np.abs(there.rates).max() < np.abs(here.rates).max():
            break
        here, slopes = there, balance.slopes(there, load)
    return here, slopes


def _stiffness(slopes: BalanceSlopes) -> Array:
    """Return the stiffness with the elements' states following, where their rates determine them."""
    if not len(slopes.Yz) or np.linalg.matrix_rank(slopes.Yz) < len(slopes.Yz):
        return slopes.K
    return np.asarray(slopes.K - slopes.Kz @ np.linalg.solve(slopes.Yz, slopes.Yq))


def _attempt(balance: Balance, here: Imbalance, x: Array, load: LoadCase, z: Array | None = None) -> Imbalance | None:
    """Return the balance after a step along the motions, or None where the loops cannot be closed."""
    q, opening = balance.moved(here.q, here.motions @ x, load)
    if not opening <= _CLOSED or not np.isfinite(q).all():
        return None
    try:
        there = balance.at(q, here.z if z is None else z, load)
    except WhippletreeError:  # what cannot be evaluated there is no equilibrium
        return None
    return there if np.isfinite(there.size) else None


def _step(r: Array, K: Array, length: float, scale: float) -> tuple[Array, float]:
    """Return the step that lowers r.x + x.K x / 2 most within a length, and by how much.

    Stiffness is a derivative of efforts of the size `scale`, and efforts along a direction are sums of such: where both
    are no more than rounding of these, the direction is neutral, and is not followed.
    """
    symmetric = _symmetric(K)
    values, vectors = np.linalg.eigh(symmetric)
    g = vectors.T @ r
    flat = vanishing(values, values, scale, share=SINGULAR)
    still = flat & vanishing(g, scale, share=BALANCED)
    if (values[~flat] > 0).all() and still[flat].all():
        x = _least(K, -r, bool(still.any()))
        if np.linalg.norm(x) <= length:
            return x, -float(r @ x + x @ symmetric @ x / 2)
    x = vectors @ _limited(values, np.where(still, 0.0, g), length)
    return x, -float(r @ x + x @ symmetric @ x / 2)


def _least(K: Array, right: Array, singular: bool) -> Array:
    """Solve for a step, of least length if there are directions without stiffness."""
    if not singular:
        return np.asarray(np.linalg.solve(K, right))
    return np.asarray(np.linalg.lstsq(K, right, rcond=SINGULAR)[0])


def _limited(values: Array, g: Array, length: float) -> Array:
    """Return -g / (values + mu) for the least mu at which it is no longer than a length, and all sums are positive."""
    moving = np.abs(g) > 0
    if not moving.any():
        return np.zeros(len(g))
    values, least = np.where(moving, values, 0.0), -float(values[moving].min())
    low = max(least, 0.0)
    high = low + float(np.linalg.norm(g)) / length
    for _ in range(200):
        mu = (low + high) / 2
        if mu in (low, high):
            break
        with np.errstate(all="ignore"):
            size = np.linalg.norm(g[moving] / (values[moving] + mu))
        low, high = (mu, high) if size > length else (low, mu)
    return np.where(moving, -g / np.where(moving, values + high, 1.0), 0.0)


# ---------------------------------------------------------------------- Newton's method, with unknowns


def newton(
    balance: Balance,
    q: Array,
    z: Array,
    load: LoadCase,
    unknowns: Sequence[LoadQuantity] = (),
    steps: int = NEWTON_STEPS,
) -> Reached:
    """Go to the equilibrium next to a configuration, stable or not; `unknowns` of the load are found with it."""
    trim = bool(unknowns)
    here = _complete(balance, balance.at(q, z, load), load, trim)
    scale = balance.effort_scale(q, z, load)
    for _ in range(steps):
        if vanishing(here.size, scale, share=BALANCED):
            break
        J, sizes = jacobian(balance, here, load, unknowns)
        F = np.concatenate([here.efforts, here.rates])
        dy = np.linalg.lstsq(J, -F, rcond=SINGULAR)[0]
        n = J.shape[1] - len(unknowns) - len(z)
        dy *= min(1.0, LONGEST_STEP / scale_of(np.linalg.norm(dy[:n])))
        found = _searched(balance, here, dy, sizes, load, unknowns)
        if found is None:
            break
        better, load = found
        scale = balance.effort_scale(better.q, better.z, load)
        stuck = better.size > 0.5 * here.size and vanishing(better.size, scale, share=NEARLY_BALANCED)
        here = better
        if stuck:
            break
    return _ended(balance, here if trim else _put_back(balance, q, _polished(balance, here, load), load), load)


def _complete(balance: Balance, here: Imbalance, load: LoadCase, trim: bool) -> Imbalance:
    """Return the balance along all motions for a trim, where held joints are to be balanced too."""
    return balance.at(here.q, here.z, load, moving=False) if trim else here


def jacobian(
    balance: Balance, here: Imbalance, load: LoadCase, unknowns: Sequence[LoadQuantity]
) -> tuple[Array, Array]:
    """Return the derivatives of efforts and rates for motions, states and unknowns, and the unknowns' sizes."""
    slopes = balance.slopes(here, load)
    by_motion = np.vstack([slopes.K, slopes.Yq])
    if balance.held.any() and len(unknowns):
        by_motion = by_motion @ _of_unheld(balance, here)
    columns = [by_motion, np.vstack([slopes.Kz, slopes.Yz])]
    sizes = []
    for what in unknowns:
        value = load.value(what)
        step = DIFFERENCE * max(abs(value), 1.0)
        ahead, behind = (_shifted(balance, here, load.with_value(what, value + sign * step)) for sign in (1, -1))
        size = max(abs(value), 1.0)
        columns.append(((ahead - behind) / (2 * step) * size)[:, None])
        sizes.append(size)
    return np.hstack(columns), np.array(sizes)


def _of_unheld(balance: Balance, here: Imbalance) -> Array:
    """Return the motions (n, k) that leave held joints alone, in those of `here`."""
    return null_space(here.motions[balance.held], SINGULAR)


def _shifted(balance: Balance, here: Imbalance, load: LoadCase) -> Array:
    """Return efforts and rates at another load, along the same motions, the loops closed for it."""
    q, _ = balance.close(here.q, load)
    there = balance.at(q, here.z, load, moving=False)
    return np.concatenate([here.motions.T @ there.lacking, there.rates])


def _searched(
    balance: Balance, here: Imbalance, dy: Array, sizes: Array, load: LoadCase, unknowns: Sequence[LoadQuantity]
) -> tuple[Imbalance, LoadCase] | None:
    """Return the balance after a Newton step, halved until the imbalance falls; None if it does not."""
    nz, nu = len(here.z), len(unknowns)
    n = len(dy) - nz - nu
    motions = here.motions @ _of_unheld(balance, here) if nu and balance.held.any() else here.motions
    for k in range(STEP_HALVINGS):
        part = dy / 2**k
        other = load
        for what, size, change in zip(unknowns, sizes, part[n + nz :], strict=True):
            other = other.with_value(what, load.value(what) + size * change)
        q, opening = balance.moved(here.q, motions @ part[:n], other)
        if not opening <= _CLOSED:
            continue
        try:
            there = balance.at(q, here.z + part[n : n + nz], other, moving=not nu)
        except WhippletreeError:
            continue
        if there.size < here.size:
            return there, other
    return None
