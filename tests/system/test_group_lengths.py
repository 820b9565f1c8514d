"""Lengths and tolerances by group of loops: small linkages on large bodies are held as if they were alone."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.rounded_models import four_bar
from whippletree.system.lengths import loop_lengths

MM = 1e-3
BARS = (1 * MM, 2 * MM, 1.5 * MM)


def on_beam(reach: float) -> wt.Mechanism:
    """A four-bar of 1, 2, 1.5 and 2 mm at the end of a beam that swings on the ground."""
    m = wt.Mechanism("small on large", gravity=(0, -9.81, 0))
    beam = m.body("beam", wt.rod(length=reach, mass=100.0, axis="x"))
    a, b, c = (m.body(n, wt.rod(length=x, mass=1e-3, axis="x")) for n, x in zip("abc", BARS, strict=True))
    m.revolute("beam", m.ground, beam, axis="z")
    m.revolute("A", beam, a, at=(reach, 0, 0), axis="z")
    m.revolute("B", a, b, at=(BARS[0], 0, 0), axis="z")
    m.revolute("C", b, c, at=(BARS[1], 0, 0), at_child=(BARS[2], 0, 0), axis="z")
    m.revolute("D", beam, c, at=(reach + 2 * MM, 0, 0), axis="z")
    return m


@pytest.mark.parametrize("reach", [1.0, 100.0, 1e5])
def test_a_small_linkage_on_a_long_beam_is_as_it_is_alone(reach: float) -> None:
    s, alone = on_beam(reach).build(guess={"A": 1.0}), four_bar(MM).build(guess={"A": 1.0})
    assert s.mobility.mobility == 2
    assert len(s.mobility.redundant) == 3
    assert s.kernels.closures.closure_lengths[3:] == pytest.approx((sum(BARS) + 2 * MM) / 4, rel=1e-6)
    # the points on the beam are rounded to its size
    assert abs(s.q0[s.q_slice("A").start :] - alone.q0).max() < 10 * reach * 1e-16 / MM + 1e-12
    assert abs(s.closure_residual(s.q0))[3:].max() < 1e-6 * 2 * MM


@pytest.mark.parametrize("reach", [1.0, 100.0, 1e5])
def test_openings_are_noticed_by_the_size_of_the_linkage(reach: float) -> None:
    s = on_beam(reach).build(guess={"A": 1.0})
    for gap, noticed in ((1e-5, True), (1e-8, True), (3e-10, False)):
        q = s.q0.copy()
        q[s.q_slice("A")] += gap / BARS[0]  # two hinges of the loop, so that its frames stay parallel
        q[s.q_slice("B")] -= gap / BARS[0]
        if noticed:
            with pytest.raises(wt.StateError, match=r'loop of "[ABCD]"'):
                s.forward_dynamics(q, s.v0)
        else:
            assert np.isfinite(s.forward_dynamics(q, s.v0)).all()


def test_the_length_of_shared_reactions_is_the_mechanisms() -> None:
    s = on_beam(100.0).build(guess={"A": 1.0})
    assert s.kernels.closures.characteristic_length == pytest.approx((100.002 + sum(BARS)) / 4)


def test_groups_of_very_different_sizes_have_their_own_ranks() -> None:
    """Linkages of a tenth of a millimetre, a metre and a kilometre side by side: each keeps two rows in its plane."""
    m = wt.Mechanism("side by side", gravity=(0, -9.81, 0))
    guess = {}
    for n, scale in (("s", 1e-4), ("m", 1.0), ("l", 1e3)):
        a, b, c = (
            m.body(f"{n}{k}", wt.rod(length=x * scale, mass=1.0)) for k, x in zip("abc", (1, 2, 1.5), strict=True)
        )
        m.revolute(f"{n}A", m.ground, a, at=(0, 0, 10 * scale), axis="z")
        m.revolute(f"{n}B", a, b, at=(scale, 0, 0), axis="z")
        m.revolute(f"{n}C", b, c, at=(2 * scale, 0, 0), at_child=(1.5 * scale, 0, 0), axis="z")
        m.revolute(f"{n}D", m.ground, c, at=(2 * scale, 0, 10 * scale), axis="z")
        guess[f"{n}A"] = 1.0
    s = m.build(guess=guess)
    assert s.mobility.mobility == 3
    assert s.mobility.smallest > 0.1
    for n, scale in (("s", 1e-4), ("m", 1.0), ("l", 1e3)):
        rows = [k for k, text in enumerate(s.closure_rows) if text.startswith(f'"{n}')]
        assert s.kernels.closures.closure_lengths[rows][3:] == pytest.approx(1.5 * scale)
        assert abs(s.closure_residual(s.q0))[rows].max() < 1e-14 * max(scale, 1.0)


def test_lengths_of_groups_by_hand() -> None:
    """A rod between slides counts with its length, and a coupling of angles is in radians."""
    m = wt.Mechanism("p", gravity=(0, -9.81, 0))
    carriage, bob = m.body("carriage"), m.body("bob", wt.point_mass(1.0))
    m.prismatic("x", m.ground, carriage, axis="x")
    m.prismatic("y", carriage, bob, axis="y")
    m.distance("rod", m.ground, bob, length=0.02)
    arm = m.body("arm", wt.rod(length=3.0, mass=1.0))
    m.revolute("shoulder", m.ground, arm, at=(5, 0, 0))
    hand = m.body("hand", wt.rod(length=1.0, mass=1.0))
    m.revolute("wrist", arm, hand, at=(3, 0, 0))
    m.gear("gear", "shoulder", "wrist", ratio=2.0)
    s = m.build(guess={"x": 0.01})
    lengths = loop_lengths(s.description, s.plan)
    assert lengths.of_closure("rod") == lengths.of_freedoms("x") == 0.02
    assert lengths.of_closure("gear") == 1.0
    assert lengths.mechanism == s.kernels.closures.characteristic_length
