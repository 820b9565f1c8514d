"""Assembly by itself, against four-bars whose positions have a closed form."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import whippletree as wt
from whippletree.system.assembly import Assembled, Assembler
from whippletree.system.engine import Engine
from whippletree.system.lengths import characteristic_length
from whippletree.system.loop_services import LoopServices
from whippletree.topology import Plan

CRANK, COUPLER, ROCKER, GROUND = 1.0, 2.0, 1.5, 2.0
NONE = np.zeros(4, dtype=bool)
FIRST = np.array([True, False, False, False])


def four_bar(coupler: float = COUPLER, rocker: float = ROCKER) -> wt.Mechanism:
    m = wt.Mechanism("four-bar")
    bodies = [m.body(name, wt.rod(length, mass=1.0)) for name, length in (("crank", CRANK), ("coupler", coupler))]
    last = m.body("rocker", wt.rod(rocker, mass=1.0))
    m.revolute("A", m.ground, bodies[0])
    m.revolute("B", bodies[0], bodies[1], at=(CRANK, 0, 0))
    m.revolute("C", bodies[1], last, at=(coupler, 0, 0), at_child=(rocker, 0, 0))
    m.revolute("D", m.ground, last, at=(GROUND, 0, 0))
    return m


@functools.cache
def topology() -> Plan:
    """The spanning tree and the cut joint, which are the same for all lengths."""
    return four_bar().build(guess={"A": 1.0}).plan


def services(coupler: float = COUPLER, rocker: float = ROCKER) -> LoopServices:
    """What looks after the loop, with no numeric plan made."""
    return Engine(four_bar(coupler, rocker).describe(), topology()).loops


def closed_form(a: float, side: int) -> np.ndarray:
    """The four-bar at a crank angle: its coupler's far end is where two circles meet, left or right of their line."""
    pin, pivot = CRANK * np.array([np.cos(a), np.sin(a)]), np.array([GROUND, 0.0])
    apart = pivot - pin
    d = np.hypot(*apart)
    along = (d**2 + COUPLER**2 - ROCKER**2) / (2 * d)
    across = side * np.sqrt(COUPLER**2 - along**2)
    far = pin + (along * apart + across * np.array([-apart[1], apart[0]])) / d
    coupler, rocker = (np.arctan2(y, x) for x, y in (far - pin, far - pivot))
    return np.array([a, coupler - a, rocker - coupler, rocker])


def turned(q: np.ndarray) -> np.ndarray:
    """Angles between minus and plus half a turn."""
    return (q + np.pi) % (2 * np.pi) - np.pi


def assembled(loops: LoopServices, guess: np.ndarray) -> Assembled:
    return loops.assembler.assemble(guess, FIRST, (), loops.conditions())


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("a", [0.4, 1.0, 2.5, -2.0])
def test_both_branches_of_a_four_bar_are_closed_near_the_guess(a: float, side: int) -> None:
    loops = services()
    expected = closed_form(a, side)
    found = assembled(loops, expected + np.array([0.0, 0.2, -0.15, 0.1]))
    assert found.straight
    assert found.residual < 1e-12
    assert turned(found.q - expected) == pytest.approx(np.zeros(4), abs=1e-11)
    assert np.abs(turned(found.q - closed_form(a, -side))).max() > 0.1


def test_the_step_is_the_one_of_least_norm() -> None:
    """Of all closed configurations next to the guess, Newton's method finds the nearest, to first order."""
    loops = services()
    q = closed_form(1.0, 1)
    off = 1e-4 * np.array([1.0, -2.0, 0.5, 3.0])
    found = loops.assembler.assemble(q + off, NONE, (), loops.conditions()).q
    G = loops.numbers.full_rows(q, *loops.conditions())[0]
    motion = np.linalg.svd(G)[2][-1]
    assert abs(motion @ (found - q - off)) < np.abs(off).max() ** 2
    assert np.abs(found - q - off).max() > 0.1 * np.abs(off).max()


def test_joints_named_last_give_way_first() -> None:
    loops = services()
    q = closed_form(1.0, 1)
    guess = q.copy()
    guess[0], guess[3] = 1.2, q[3] + 0.3
    masks = [np.arange(4) == 0, np.arange(4) == 3]
    one = loops.assembler.assemble(guess, NONE, masks, loops.conditions()).q
    other = loops.assembler.assemble(guess, NONE, masks[::-1], loops.conditions()).q
    assert one[0] == guess[0]
    assert other[3] == guess[3]


def test_lengths_that_cannot_close_are_refused_by_name_and_gap() -> None:
    """1 + 0.3 + 0.4 does not reach 2: the loop stays 0.3 open at best."""
    loops = services(coupler=0.3, rocker=0.4)
    with pytest.raises(wt.AssemblyError, match=r'the loop of ".*" \(joints .*"A".*\) cannot be closed') as refused:
        loops.assembler.assemble(np.zeros(4), NONE, (), loops.conditions())
    words = str(refused.value)
    assert "check the dimensions" in words
    gap = float(words.split("stays ")[1].split(" m off", maxsplit=1)[0])
    assert gap == pytest.approx(0.3, rel=0.02)


def test_a_crank_held_beyond_its_range_is_refused() -> None:
    """With these lengths the crank cannot turn below the line of the pivots' far side."""
    loops = services(coupler=0.6, rocker=0.7)
    with pytest.raises(wt.AssemblyError, match="hold fewer joints"):
        assembled(loops, np.array([np.pi, 0.0, 0.0, 0.0]))
    found = assembled(loops, np.array([0.2, 0.3, 0.0, 0.0]))
    assert found.q[0] == 0.2
    assert np.abs(loops.numbers.residual(found.q, *loops.conditions())).max() < 1e-12


def test_another_start_is_told() -> None:
    """From a guess at which a loop is stretched out the wrong way, the start matters."""
    loops = services()
    found = loops.assembler.assemble(np.array([0.0, np.pi, 0.0, 0.0]), NONE, (), loops.conditions())
    assert found.residual < 1e-10


def test_displacements_and_differences_undo_each_other() -> None:
    m = wt.Mechanism("floating")
    m.free("joint", m.ground, m.body("ball", mass=1.0, com=(0.5, 0, 0)))
    space = m.build()._engine.loops.assembler.space
    rng = np.random.default_rng(0)
    q, dv = space.random(rng), 0.3 * rng.normal(size=6)
    assert space.difference(q, space.integrate(q, dv)) == pytest.approx(dv, abs=1e-12)


def test_the_characteristic_length_is_the_mean_size_of_the_bodies() -> None:
    assert characteristic_length(four_bar().describe()) == pytest.approx((CRANK + COUPLER + ROCKER) / 3)


def test_an_assembler_needs_no_plan() -> None:
    loops = services()
    assert isinstance(loops.assembler, Assembler)
    with pytest.raises(wt.StateError, match="not been analysed"):
        _ = loops.consistency
