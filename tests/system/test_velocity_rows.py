"""Closures of positions are kept before closures of velocities that follow from them, in whatever order they come."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import whippletree as wt
from whippletree.linear import minimal_coordinates


def two_pendulums(order: str) -> wt.Mechanism:
    """Two pendulums that turn by the same angle, p, and with the same rate, v, described in this order."""
    m = wt.Mechanism("two pendulums")
    for name, length in (("A", 1.0), ("B", 1.3)):
        m.revolute(name, m.ground, m.body(name.lower(), wt.rod(length=length, mass=1.0, axis="-z")), axis="y")
    for one in order:
        if one == "p":
            m.closure("same angle", m.coordinate("B") - m.coordinate("A"))
        else:
            m.closure("same rate", 3 * (m.rate("B") - m.rate("A")))
    return m


@pytest.mark.parametrize("order", ["pv", "vp"])
def test_a_rate_does_not_displace_the_angle_that_implies_it(order: str) -> None:
    """One displacement; two rods as one pendulum: w^2 = g (l1 + l2) / 2 over (l1^2 + l2^2) / 3."""
    s = two_pendulums(order).build()
    assert len(minimal_coordinates(s, s.q0, s.v0).displacements) == 1
    w = np.sqrt(9.81 * 2.3 / 2 / ((1 + 1.3**2) / 3))
    found = s.linearize().eigenvalues
    assert np.sort(found.imag) == pytest.approx([-w, w], rel=1e-8)
    assert [one.closure for one in s.mobility.redundant] == ["same rate"]


def four_bar(order: tuple[str, ...]) -> wt.Mechanism:
    """A four-bar that a pin closes, and that does not slip there; described in this order."""
    m = wt.Mechanism("four-bar", gravity=(0, -9.81, 0))
    a, b, c = (m.body(n, wt.rod(length=x, mass=1.0, axis="x")) for n, x in zip("abc", (1, 2, 1.5), strict=True))
    m.revolute("A", m.ground, a, axis="z")
    m.revolute("B", a, b, at=(1, 0, 0), axis="z")
    m.revolute("D", m.ground, c, at=(2, 0, 0), axis="z")
    p, r = m.frame("p", on=b, at=(2, 0, 0)), m.frame("r", on=c, at=(1.5, 0, 0))
    for one in order:
        if one == "pin":
            m.closure("pin", (m.position(p) - m.position(r))[:2])
        else:
            m.closure("slip", 2.5 * (m.velocity(p) - m.velocity(r))[3:5])
    return m


def test_a_four_bar_stays_closed_whatever_comes_first() -> None:
    ends = []
    for order in itertools.permutations(("slip", "pin")):
        s = four_bar(order).build(guess={"A": 1.0})
        assert len(minimal_coordinates(s, s.q0, s.v0).displacements) == 1
        run = s.simulate(2.0, every=0.5)
        assert run.certificate.ok
        x = run.q[:, [s.q_slice(name).start for name in "ABD"]]
        a, b, d = x[:, 0], x[:, 0] + x[:, 1], x[:, 2]
        gap = np.exp(1j * a) + 2 * np.exp(1j * b) - 2 - 1.5 * np.exp(1j * d)
        assert np.abs(gap).max() < 1e-9
        ends.append(run["A"][-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)
