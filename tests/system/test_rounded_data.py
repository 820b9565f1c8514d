"""Loops from rounded data: what is redundant within the data's accuracy, how that is told, and what is refused."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.rounded_models import SPATIAL, TWINS, biped, biped_guess, four_bar, rounded, tilted, twin
from support.sampling import deep
from whippletree.system.tolerances import ROUNDING

QUICK = ("four-bar", "scissors", "Bennett")
TILTS = (1e-12, 1e-10, 1e-9, 1e-8, 1e-7)


def built(m: wt.Mechanism, options: dict[str, Any]) -> wt.System:
    """The system, with every warning an error: nothing may jump."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return m.build(**options)


def check_within_accuracy(m: wt.Mechanism, name: str, size: float, accuracy: float = 1e-6) -> None:
    """The mobility is the twin's, assembly goes to the twin's position, and the kept rows are closed to rounding.

    Rows disagree by up to some thirty times the tilt of single axes, so that the largest tilts may need an accuracy
    that says so. Where they disagree by rounding only, all of them are closed as well as the data allow.
    """
    exact, options = twin(name)
    s, e = built(m, {**options, "accuracy": accuracy}), built(exact, options)
    found, true = s.mobility, e.mobility
    assert (found.mobility, len(found.redundant)) == (true.mobility, len(true.redundant))
    assert true.disagreement == 0.0
    assert found.disagreement <= accuracy
    assert abs(s.q0 - e.q0).max() <= 100 * size
    off = abs(s.closure_residual(s.q0)) / s.kernels.closures.closure_lengths
    assert off.max() <= 30 * size
    # in a plane, rows of the full set are those of the plan: as many as are kept are closed to rounding
    limit = 1e-13 if found.disagreement else ROUNDING
    assert (np.sort(off)[: len(off) - len(found.redundant)] < limit).all() or name in SPATIAL


@pytest.mark.parametrize("tilt", [1e-10, 1e-7])
@pytest.mark.parametrize("name", QUICK)
def test_tilted_axes_leave_the_mobility_of_the_exact_twin(name: str, tilt: float) -> None:
    check_within_accuracy(tilted(twin(name)[0], tilt, seed=1), name, tilt)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("name", [*TWINS, *SPATIAL])
def test_tilted_axes_of_many_mechanisms(name: str, tilt: float, seed: int) -> None:
    check_within_accuracy(tilted(twin(name)[0], tilt, seed), name, tilt, accuracy=max(1e-6, 30 * tilt))


@pytest.mark.parametrize("digits", [8, 10, 12])
@pytest.mark.parametrize("name", ["Bennett", "Sarrus"])
def test_rounded_numbers_leave_the_mobility_of_the_exact_twin(name: str, digits: int) -> None:
    check_within_accuracy(rounded(twin(name)[0], digits), name, 10.0**-digits)


@pytest.mark.parametrize(
    ("name", "digits"), [("Bennett", 6), *deep([("Bennett", 5), ("trihedral", 4), ("plane-symmetric", 6)])]
)
def test_digits_that_are_too_few_are_refused_and_an_accuracy_admits_them(name: str, digits: int) -> None:
    exact, options = twin(name)
    rough = rounded(exact, digits)
    with pytest.raises(wt.AssemblyError, match=r"joint \d.*(turn about|shift along) [xyz].*accuracy="):
        built(rough, options)
    s = built(rough, {**options, "accuracy": 1e-3 if digits < 6 else 1e-4})
    assert s.mobility.mobility == exact.build(**options).mobility.mobility
    assert 1e-6 < s.mobility.disagreement <= s.mobility.accuracy


@pytest.mark.parametrize("tilt", [1e-5, *deep([1e-6, 1e-4])])
@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "parallelogram", "scissors", "Sarrus"])
def test_beyond_the_accuracy_loops_are_refused_in_words(name: str, tilt: float) -> None:
    exact, options = twin(name)
    with pytest.raises(wt.AssemblyError, match=r'the loop of ".*its (turn about|shift along) [xyz]'):
        built(tilted(exact, 3 * tilt, seed=1), options)


def test_a_joint_out_of_its_plane_is_redundant_and_told() -> None:
    """The shift of 1e-9 m along the axes is what the three other equations cannot explain, and nothing else."""
    m = four_bar()
    d = m.describe()
    m = wt.Mechanism("out of plane", gravity=(0, -9.81, 0))
    a, b, c = (m.body(body.name, wt.rod(length=2 * body.properties.com[0], mass=1.0)) for body in d.bodies)
    m.revolute("A", m.ground, a, axis="z")
    m.revolute("B", a, b, at=(1, 0, 0), axis="z")
    m.revolute("C", b, c, at=(2, 0, 1e-9), at_child=(1.5, 0, 0), axis="z")
    m.revolute("D", m.ground, c, at=(2, 0, 0), axis="z")
    s = m.build(guess={"A": 1.0})
    assert s.mobility.mobility == 1
    by = {(one.closure, one.direction): one.disagreement for one in s.mobility.redundant}
    assert by["C", "shift along z"] == pytest.approx(1e-9, rel=1e-5)
    assert max(value for (_, direction), value in by.items() if direction != "shift along z") < 1e-12
    assert s.mobility.disagreement == pytest.approx(1e-9 / 1.5, rel=1e-5)
    assert "disagrees by 1e-09 m" in str(s.mobility)
    assert "accuracy 1e-06" in str(s.mobility)


def test_a_tilt_shows_as_that_angle() -> None:
    """One hinge tilted by d about an axis in the plane: turns disagree by up to d, as the bar turns in the plane."""
    s = tilted(four_bar(), 1e-8, seed=1, only="C").build(guess={"A": 1.0})
    turns = [one.disagreement for one in s.mobility.redundant if one.direction.startswith("turn")]
    assert 0.3e-8 < max(turns) < 2.1e-8


def stands_closed(tilt: float) -> wt.Mechanism:
    """A four-bar that is closed exactly where all coordinates are zero, with one axis tilted: it cannot leave that."""
    m = wt.Mechanism("stuck", gravity=(0, -9.81, 0))
    a, b, c = (m.body(n, mass=1.0, inertia=np.eye(3)) for n in "abc")
    m.revolute("A", m.ground, a, axis="z")
    m.revolute("B", a, b, at=(0.1, 1, 0), axis=(tilt, 0, 1))
    m.revolute("C", b, c, at=(1.9, 0.4, 0), at_child=(0, 1.4, 0), axis="z")
    m.revolute("D", m.ground, c, at=(2, 0, 0), axis="z")
    return m


@pytest.mark.parametrize(("tilt", "accuracy", "mobility"), [(1e-8, 1e-6, 1), (1e-8, 0.0, 0), (1e-4, 1e-6, 0)])
def test_a_loop_that_closes_only_where_it_stands(tilt: float, accuracy: float, mobility: int) -> None:
    """Within the accuracy it moves as its exact twin; beyond it, or if the data are said to be exact, not at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wt.AssemblyWarning)  # near a singular configuration
        s = stands_closed(tilt).build(accuracy=accuracy)
    assert s.mobility.mobility == mobility
    assert abs(s.q0).max() < 1e-12


@pytest.mark.parametrize("accuracy", [-1e-6, 0.1, float("nan"), "fine", True])
def test_an_accuracy_that_makes_no_sense_is_refused(accuracy: Any) -> None:
    with pytest.raises(wt.StateError, match="accuracy="):
        four_bar().build(guess={"A": 1.0}, accuracy=accuracy)


def test_pickles_and_other_plans_keep_the_accuracy() -> None:
    s = tilted(four_bar(), 1e-5, seed=1).build(guess={"A": 1.0}, accuracy=1e-4)
    again = pickle.loads(pickle.dumps(s))
    assert (again.mobility.mobility, again.mobility.accuracy) == (1, 1e-4)
    assert again.mobility.disagreement == pytest.approx(s.mobility.disagreement, rel=1e-3)


def test_model_files_tell_the_accuracy() -> None:
    text = """
name: four-bar
gravity: [0, -9.81, 0]
bodies:
  a: {rod: {length: 1, mass: 1}}
  b: {rod: {length: 2, mass: 1}}
  c: {rod: {length: 1.5, mass: 1}}
joints:
  A: {revolute: [ground, a], axis: z}
  B: {revolute: [a, b], at: [1, 0, 0], axis: [0, 1.0e-5, 1], axis_child: z}
  C: {revolute: [b, c], at: [2, 0, 0], at_child: [1.5, 0, 0], axis: z}
  D: {revolute: [ground, c], at: [2, 0, 0], axis: z}
start: {guess: {A: 1}, accuracy: 1.0e-4}
"""
    s = wt.read(text).build()
    assert (s.mobility.mobility, s.mobility.accuracy) == (1, 1e-4)
    with pytest.raises(wt.AssemblyError, match="accuracy="):
        wt.read(text.replace(", accuracy: 1.0e-4", "")).build()


def test_accelerations_are_the_twins_by_all_ways() -> None:
    """Kernels, the dense solution and reactions of a tilted four-bar against those of the exact one."""
    s, e = (m.build(guess={"A": 1.0}) for m in (tilted(four_bar(), 1e-7, seed=1), four_bar()))
    for rate in (0.0, 3.0):
        states = [(x.q0, x.consistent_velocities(x.q0, {"A": rate})) for x in (s, e)]
        a, b = (x.forward_dynamics(*state) for x, state in zip((s, e), states, strict=True))
        assert abs(a - b).max() < 1e-5 * (1 + rate**2)
        fallback = s._engine.loops.fallback.accelerations({"q": states[0][0], "v": states[0][1]})
        assert abs(fallback - a).max() < 1e-5 * (1 + rate**2)
    one, two = (x.reactions(x.q0, x.v0) for x in (s, e))
    for joint in "ABCD":
        assert abs(one[joint].wrench - two[joint].wrench).max() < 1e-4
        assert (one[joint].unique == two[joint].unique).all()


def test_a_biped_with_rounded_feet_has_the_mobility_of_the_exact_one() -> None:
    s, e = (biped(axes).build(guess=biped_guess()) for axes in (7e-8, 0.0))
    assert len(s.plan.loops) == 6
    # base 6, and for each leg: hip 2, knee 1, foot 1, and the spins of two rods
    assert s.mobility.mobility == e.mobility.mobility == 6 + 2 * (2 + 1 + 1 + 2)
    assert len(s.mobility.redundant) == 6
    assert 0 < s.mobility.disagreement < 1e-6
    assert abs(s.q0 - e.q0).max() < 1e-6
