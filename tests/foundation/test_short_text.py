"""Public results print themselves on a screen, with the numbers that a person looks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from fuzz import public_calls
from support.sampling import rest
from whippletree.foundation.short_text import COLUMNS, LINES
from whippletree.linear import minimal_coordinates
from whippletree.realtime import RealtimeStepper
from whippletree.system import System


def mechanism(size: int) -> wt.Mechanism:
    """A chain with names long enough to fill lines, closed by a rod, with springs at every joint."""
    m = wt.Mechanism("chain of many links")
    last: Any = m.ground
    for k in range(size):
        link = m.body(f"link number {k}", wt.rod(length=1.0, mass=1.0, axis="x"))
        m.revolute(f"hinge number {k}", last, link, at=(1.0 if k else 0.0, 0, 0), axis="y")
        m.torsion_spring(f"spring number {k}", f"hinge number {k}", stiffness=50.0)
        last = link
    m.distance("rod", m.ground, last, length=0.8 * size, at=(0, 0, -1.0), at_child=(1.0, 0, 0))
    return m


def built(size: int) -> System:
    """The chain, bent to one side and the other."""
    return mechanism(size).build(guess={f"hinge number {k}": 0.8 * (-1) ** k for k in range(size)})


def results(s: System) -> Iterator[object]:
    yield s
    yield s.mobility
    yield s.energy(s.q0, s.v0)
    yield s.momentum(s.q0, s.v0)
    yield s.reactions(s.q0, s.v0)
    yield next(iter(s.reactions(s.q0, s.v0).values()))
    yield s.forces(s.q0, s.v0)
    yield s.poses(s.q0)
    yield s.forward_dynamics_derivatives(s.q0, s.v0)
    yield s.inverse_dynamics_derivatives(s.q0, s.v0, np.zeros(s.nv))
    yield s.derivatives_of("energy", s.q0, s.v0)
    yield minimal_coordinates(s, s.q0, s.v0)
    yield s.matrices(s.q0)
    yield s.matrices(s.q0)["B"]
    yield wt.Simulation(s)
    yield s.kernels.operations("forward_dynamics")
    yield s.equilibrium()
    linear = s.linearize()
    yield from (linear, linear.modes(), linear.modes()[0])
    yield s.sweep_joint("hinge number 0", s.q0[0] + np.linspace(-0.05, 0.05, 40))
    yield s.natural
    yield s.absolute
    stepper: RealtimeStepper = s.realtime(step=1e-3)
    yield stepper
    run = s.simulate(0.2, every=0.002)
    yield from (run, run.certificate, run.energy(), run.reactions(), run.forces())


def inputs() -> Iterator[object]:
    yield wt.Spline(np.linspace(0, 1, 200), np.zeros(200))
    yield wt.Table(np.linspace(0, 1, 200), np.zeros(200))
    yield wt.rectangle(width=0.1, height=0.2)
    yield wt.steel
    yield wt.beam(length=1.0, section=wt.circle(radius=0.01), material=wt.steel, elements=4, modes=3)
    yield mechanism(3)


@pytest.mark.parametrize("size", [2, *rest([12])])
def test_every_result_fits_a_screen(size: int) -> None:
    for one in results(built(size)):
        lines = repr(one).splitlines()
        assert len(lines) <= LINES, type(one)
        assert max(map(len, lines)) <= COLUMNS, type(one)
        assert "object at 0x" not in repr(one)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> public_calls.Prepared:
    return public_calls.prepare(tmp_path_factory.mktemp("objects"))


@pytest.mark.parametrize("name", public_calls.OBJECTS)
def test_every_public_object_fits_a_screen(name: str, prepared: public_calls.Prepared) -> None:
    text = repr(public_calls.made(prepared, name))
    assert len(text.splitlines()) <= LINES
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert "object at 0x" not in text


def test_what_is_given_fits_a_screen() -> None:
    for one in inputs():
        lines = repr(one).splitlines()
        assert len(lines) <= LINES, type(one)
        assert max(map(len, lines)) <= COLUMNS, type(one)


def test_reactions_show_forces_moments_and_what_is_open() -> None:
    m = wt.Mechanism("rod")
    m.revolute("hinge", m.ground, m.body("rod", wt.rod(length=1.0, mass=2.0, axis="x")), axis="y")
    s = m.build()
    held = repr(s.reactions([np.pi / 2], [0.0]))  # it hangs
    assert held.splitlines()[0].split() == ["joint", "force", "[N]", "moment", "[N", "m]"]
    assert "19.62" in held
    assert "not unique" not in held


def test_a_certificate_equals_itself_with_what_is_not_known() -> None:
    assert wt.Certificate() == wt.Certificate()
    assert wt.Certificate(steps=1) != wt.Certificate(steps=2)
    assert len({wt.Certificate(), wt.Certificate()}) == 1
