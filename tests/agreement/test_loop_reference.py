"""The reference for closed loops, tested by means that need no engine: differences, energy, and Pinocchio.

Also what the random mechanisms are: how many of each sort, how well conditioned, and that they do move.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from support.absolute_balance import Equations, Stand, closed, energy, power, shifted
from support.loop_pinocchio import anchored, arms_that_meet, unloaded
from support.random_loops import CONDITION, FAMILIES, KINDS, MEMBERS, QUICK, Case, case, first_accepted
from support.sampling import rest, sampled

Array = np.ndarray

NUMBER = 300
ANCHORED = 40
everywhere = pytest.mark.parametrize(("family", "i"), sampled(MEMBERS, lambda key: key in QUICK))


@pytest.mark.deep
def test_the_random_mechanisms_are_what_they_should_be() -> None:
    assert len(MEMBERS) == NUMBER
    assert {family for family, _ in QUICK} == set(FAMILIES)
    cases = [case(*key) for key in MEMBERS]
    assert all(c.equations.mobility >= 1 for c in cases)
    assert max(c.condition for c in cases) < CONDITION
    assert max(np.abs(c.equations.rows.residual).max() for c in cases) < 1e-14
    assert sum(c.equations.redundant > 0 for c in cases) > NUMBER / 3
    assert sum(c.looped.loops == 1 for c in cases) > NUMBER / 4
    assert sum(c.looped.loops > 1 for c in cases) > NUMBER / 4
    assert sum(c.equations.mobility == 1 for c in cases) > NUMBER / 8
    assert sum(any(h.kind == "free" for h in c.looped.hinges) for c in cases) > NUMBER / 10
    assert sum(c.looped.timed for c in cases) >= 10
    assert sum(bool(c.loads) for c in cases) > NUMBER / 2
    cut = Counter(h.kind for c in cases for h in c.looped.hinges if h.name in c.looped.cut)
    assert set(cut) == {*KINDS, "free"}
    assert min(cut.values()) >= 4
    # Overconstrained beyond doubt: equations count it rigid, and it moves.
    counted = [c.looped.nv - 6 * c.looped.loops for c in cases if c.looped.loops]
    assert sum(count <= 0 for count in counted) > NUMBER / 10


@everywhere
def test_rows_are_differences_of_residuals(family: str, i: int) -> None:
    """G x against the change of all residuals, when bodies and joints are moved apart; velocity-only rows have none."""
    c = case(family, i)
    e, rng, h = c.equations, np.random.default_rng(i), 1e-5
    held = np.concatenate([np.full(6 * len(c.looped.hinges) + len(c.looped.rods) + len(c.looped.couplings), True)])
    held = np.concatenate([held, *(np.full(law.rows, law.holonomic) for law in c.looped.laws)])
    for _ in range(2):
        x = rng.uniform(-1.0, 1.0, e.columns.count)
        there, back = (Equations(shifted(e.stand, s * x)).rows.residual for s in (h, -h))
        assert np.abs((there - back) / (2 * h) - e.rows.G @ x)[held].max() < 1e-8 * np.abs(e.rows.G).max()


@everywhere
def test_the_motion_keeps_all_rows(family: str, i: int) -> None:
    """G x' + drift stays zero to second order along the motion that the accelerations begin."""
    c = case(family, i)
    e, a, h = c.equations, c.solution.x, 1e-4
    rows = []
    for s in (h, -h):
        # The midpoint's velocity leads there to third order.
        there = shifted(e.stand, s * e.v + s * s * second_order(e, a) / 2, s)
        moved = Equations(there, e.v + s * a)
        rows.append(moved.rows.G @ moved.v + moved.rows.drift)
    size = np.abs(e.rows.bias).max() + np.abs(a).max()
    assert np.abs(e.rows.G @ e.v + e.rows.drift).max() < 1e-12 * max(np.abs(e.v).max(), 1.0)
    assert np.abs(rows[0] - rows[1]).max() / (2 * h) < 1e-5 * size


def second_order(e: Equations, a: Array) -> Array:
    """What displacements go with accelerations: for a free joint p'' = R (u' + w x u), otherwise a itself."""
    x = a.copy()
    for hinge in e.looped.hinges:
        if hinge.kind == "free":
            at = e.columns.joints[hinge.name]
            v = e.v[at]
            x[at.start + 3 : at.stop] += np.cross(v[:3], v[3:])
    return x


@pytest.mark.rest
@everywhere
def test_mobility_is_finite(family: str, i: int) -> None:
    """A good way along a motion, all loops closed again, there are as many freedoms as before."""
    c = case(family, i)
    stand, rng = c.equations.stand, np.random.default_rng(i)
    at_rest = Equations(stand)
    direction = rng.uniform(-1.0, 1.0, at_rest.mobility)
    step = at_rest.motions @ (direction / np.linalg.norm(direction)) * 0.05
    for _ in range(3):
        e = Equations(stand)
        along = e.motions @ (e.motions.T @ step)
        stand = closed(shifted(stand, along * np.linalg.norm(step) / np.linalg.norm(along)), e.rank)
    there = Equations(stand)
    assert there.mobility == at_rest.mobility
    moved = max(np.abs(stand.q[name] - q).max(initial=0.0) for name, q in c.equations.stand.q.items())
    assert moved > 1e-3


@everywhere
def test_balance(family: str, i: int) -> None:
    """Accelerations and least reactions balance every body, and so does any other set of multipliers."""
    c = case(family, i)
    e = c.equations
    for length in (0.3, 2.0):
        reactions = c.solution.reactions(length)
        found = e.imbalance(c.solution.x, reactions, c.tau, c.loads)
        assert max(found.bodies, found.joints) < 1e-11
        assert e.shared(reactions, length) < 1e-11
        different = {name: r + 1e-3 for name, r in reactions.items()}
        assert e.imbalance(c.solution.x, different, c.tau, c.loads).bodies > 1e-8 or len(e.looped.parts) == 0
    unique = e.unique()
    others = c.solution.reactions(0.3)
    for name, own in c.solution.reactions(2.0).items():
        scale = max(np.abs(r).max() for r in others.values())
        assert np.abs(own - others[name])[unique[name]].max(initial=0.0) < 1e-9 * scale


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), sampled(QUICK, lambda key: key in QUICK[::3]))
def test_energy_along_a_motion(family: str, i: int) -> None:
    """Along Runge and Kutta's steps the energy grows by what efforts and wrenches give, and loops stay closed."""
    c = case(family, i)
    if c.looped.timed:
        return  # there, closures work as well; `test_the_motion_keeps_all_rows` covers them
    h, steps = 2e-3, 10
    stand, v, work = c.equations.stand, c.equations.v, 0.0
    before = energy(c.equations)
    for _ in range(steps):
        stand, v, gained = stepped(c, stand, v, h)
        work += gained
    after = Equations(stand, v)
    assert np.abs(after.rows.residual).max() < 1e-6
    assert abs(energy(after) - before - work) < 1e-6 * (abs(work) + c.equations.v @ c.equations.mass @ c.equations.v)


def stepped(c: Case, stand: Stand, v: Array, h: float) -> tuple[Stand, Array, float]:
    """One step of the classical fourth-order method in the chart of displacements from where it starts.

    A displacement d from the start has the rate v + d x v / 2 for rotations, to the order that is needed here.
    """

    def slope(d: Array, v: Array) -> tuple[Array, Array, float]:
        e = Equations(shifted(stand, d), v, c.equations.rank)
        return chart_rate(e, d, v), e.solve(c.tau, c.loads).x, power(e, c.tau, c.loads)

    zero = np.zeros_like(v)
    k1 = slope(zero, v)
    k2 = slope(h / 2 * k1[0], v + h / 2 * k1[1])
    k3 = slope(h / 2 * k2[0], v + h / 2 * k2[1])
    k4 = slope(h * k3[0], v + h * k3[1])
    d, dv, gained = (h / 6 * (a + 2 * b + 2 * cc + e) for a, b, cc, e in zip(k1, k2, k3, k4, strict=True))
    return shifted(stand, d), v + dv, float(gained)


def chart_rate(e: Equations, d: Array, v: Array) -> Array:
    """The rate of the displacement d at velocities v: rotation vectors turn, to third order in d."""
    rate = v.copy()

    def turned(at: slice, sign: float) -> None:
        r, w = d[at], v[at]
        rate[at] = w + sign * np.cross(r, w) / 2 + np.cross(r, np.cross(r, w)) / 12

    for at in e.columns.bodies.values():
        turned(slice(at.start, at.start + 3), -1.0)  # in ground axes
    for hinge in e.looped.hinges:
        at = e.columns.joints[hinge.name]
        if hinge.kind in ("spherical", "free"):
            turned(slice(at.start, at.start + 3), 1.0)  # in child axes
        if hinge.kind == "free":  # its displacement is in the axes of the start: R0^T R u
            own = slice(at.start + 3, at.stop)
            r = d[at][:3]
            rate[own] = v[own] + np.cross(r, v[own]) + np.cross(r, np.cross(r, v[own])) / 2
            rate[own] += np.cross(r, np.cross(r, np.cross(r, v[own]))) / 6
    return rate


@pytest.mark.parametrize("i", [*range(4), *rest(range(4, ANCHORED))])
def test_pinocchio(i: int) -> None:
    c = unloaded(first_accepted(arms_that_meet, i, "arms", 77))
    theirs = anchored(c.looped).solve(c.q, c.v, c.tau)
    ours = c.looped.split_v(c.a)
    size = max(np.abs(a).max(initial=0.0) for a in ours.values())
    assert max(np.abs(a - ours[name]).max(initial=0.0) for name, a in theirs.items()) < 1e-10 * size
