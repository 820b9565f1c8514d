"""Flexible bodies that make steps short or unstable, and runs that leave small deformation: both are told in words."""

import numpy as np
import pytest

import whippletree as wt
from whippletree.studies.stiff_bodies import fastest_vibration

STIFFNESS, BASE, HEAD, LOAD = 1e6, 2.0, 0.5, 3.0


def block_with_spring(attach):
    """Return a block on a slide, with a mass on a spring inside; `attach` adds to the mechanism."""
    up, none = np.array([[0.0], [0.0], [1.0]]), np.zeros((3, 1))
    body = wt.FlexibleBody.from_arrays(
        stiffness=[[STIFFNESS]],
        inertia=wt.LumpedNodes([BASE, HEAD], np.zeros((2, 3, 3)), np.zeros((2, 3)), [0 * up, up], [none, none]),
        interfaces={"head": wt.Interface((0.0, 0.0, 0.0), translation=up)},
        size=1.0,
    )
    m = wt.Mechanism("block", gravity=(0, 0, 0))
    block = m.body("block", body)
    slide = m.prismatic("x", m.ground, block, axis="z")
    attach(m, block, slide)
    return m.build()


def carry(m, block, slide):
    m.fixed("grip", block, m.body("load", mass=LOAD, inertia=(1, 1, 1)), at="head")


@pytest.mark.parametrize(
    ("attach", "inverse_mass"),
    [
        (lambda m, block, slide: None, 1 / BASE + 1 / HEAD),
        (carry, 1 / BASE + 1 / (HEAD + LOAD)),
        (lambda m, block, slide: m.closure("hold", m.coordinate("x")), 1 / HEAD),
        (lambda m, block, slide: m.drive("push", "x", position=0.1 * m.time), 1 / HEAD),
    ],
)
def test_the_fastest_vibration_is_that_of_the_body_where_it_is(attach, inverse_mass):
    s = block_with_spring(attach)
    found = fastest_vibration(s, s.q0)
    assert found.body == "block"
    assert found.rate == pytest.approx(np.sqrt(STIFFNESS * inverse_mass), rel=1e-12)


def beam_pendulum(length, **more):
    m = wt.Mechanism("pendulum")
    link = m.body("link", wt.beam(length=length, section=wt.circle(radius=0.01), material=wt.steel, modes=4, **more))
    m.revolute("A", m.ground, link, axis="y")
    return m.build()


def hints(run):
    return [words for words in run.certificate["notes"] if words.startswith("steps of")]


def test_a_stiff_beam_is_named_where_an_explicit_method_crawls_and_only_there():
    s = beam_pendulum(0.1)
    crawling = s.simulate(0.1, every=0.01)
    (words,) = hints(crawling)
    hertz = fastest_vibration(s, s.q0).rate / (2 * np.pi)
    assert f'body "link" at up to {hertz:.4g} Hz' in words
    assert "generalized_alpha" in words
    taken = s.simulate(0.1, every=0.01, method="generalized_alpha", step=1e-3)
    assert not hints(taken)
    assert 100 * taken.certificate.steps < crawling.certificate.steps  # what the hint promises
    assert np.abs(taken["A"] - crawling["A"]).max() < 1e-3 * np.abs(crawling["A"]).max()


@pytest.mark.parametrize("options", [{}, {"every": 1e-3}, {"method": "dop853"}, {"method": "rk4", "step": 2e-4}])
def test_an_ordinary_run_of_a_beam_has_no_hint(options):
    assert not hints(beam_pendulum(1.0).simulate(0.5, **options))


def test_unstable_steps_are_told_where_the_run_blows_up():
    with pytest.raises(wt.SimulationError, match=r'steps of "rk4", 0.002 s, are unstable .* body "link"') as caught:
        beam_pendulum(1.0).simulate(0.5, method="rk4", step=2e-3)
    assert "substructures" not in str(caught.value)


@pytest.mark.parametrize("tolerance", [1e-8, 1e-5])
def test_a_run_that_leaves_small_deformation_says_so_where_it_fails(tolerance):
    m = wt.Mechanism("pendulum")
    rod = wt.beam(length=1.0, section=wt.circle(radius=5e-4), material=wt.aluminium, modes=3, stiffening=False)
    link = m.body("link", rod)
    m.revolute("A", m.ground, link, axis="y")
    m.fixed("grip", link, m.body("bob", mass=0.1, inertia=(1e-3, 1e-3, 1e-3)), at="tip")
    with pytest.raises(wt.SimulationError, match="the step has become too small") as caught:
        m.build().simulate(2.0, tolerance=tolerance)
    told = caught.value.trajectory.certificate["out_of_range"]
    assert any("deflects by" in words for words in told)
    assert all(words in str(caught.value) for words in told)
