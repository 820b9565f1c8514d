"""The penalty formulation: what it promises, what can be set, and where it is refused."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.folded_models import REGULAR, folded
from support.loop_agreement import estimated
from support.loop_models import built
from support.measures import relative
from support.random_loops import MEMBERS, QUICK, Case, case
from support.sampling import sampled
from whippletree.system.tolerances import PENALTY_PROMISE

PENALTIES = ("penalty", "velocity_transformation/reference_point/penalty")
HIDDEN = (("floating", 23), ("cut joints", 9))  # where heavy weights hide digits of the mass matrix
FOLDED = [(family, i) for family in REGULAR for i in range(12)]


def check(s: wt.System, c: Case) -> None:
    for name in PENALTIES:
        error, a = estimated(s, c, name)
        true = relative(a[None], c.a[None])
        assert error > true / 10, name
        assert s.kernels.closures.penalty_error > true / 10 or error > PENALTY_PROMISE, name


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), sampled(MEMBERS, lambda key: key in (*QUICK[::2], *HIDDEN)))
def test_the_estimate_is_not_below_a_tenth_of_the_error(family: str, i: int) -> None:
    c = case(family, i)
    check(built(c.looped), c)


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), sampled(FOLDED, lambda key: key[1] == 1))
def test_the_estimate_holds_where_the_tree_has_no_inertia(family: str, i: int) -> None:
    c = folded(family, i)
    check(built(c.looped), c)


def test_an_answer_that_is_not_as_good_as_promised_is_refused() -> None:
    """With a weight that is far too small one iteration does not close the loop; with more of them it is closed."""
    c = case("one loop", 1)
    s = built(c.looped)
    options = {"t": c.looped.t, "wrenches": c.loads, "formulation": "penalty"}
    with pytest.raises(wt.DynamicsError, match=r'formulation "penalty" is not good to 0.0001 .*iterations='):
        s.forward_dynamics(c.q, c.v, c.tau, weight=3.0, **options)
    found = s.forward_dynamics(c.q, c.v, c.tau, weight=1e5, iterations=6, **options)
    assert relative(found[None], c.a[None]) < 1e-8


def test_a_run_is_refused_as_a_call_is() -> None:
    c = case("one loop", 1)
    s = built(c.looped)
    with pytest.raises(wt.SimulationError, match=r'formulation "penalty" is not good to 0.0001'):
        s.simulate(0.1, q=c.q, v=c.v, formulation="penalty/3/1/0/1")


@pytest.mark.parametrize(("gravity", "speed"), [(9.81, 0.0), (0.0, 3.0)])
@pytest.mark.parametrize("name", PENALTIES)
def test_where_nothing_accelerates(name: str, gravity: float, speed: float) -> None:
    """A parallelogram that hangs at rest, and one that turns evenly."""
    m = wt.Mechanism("parallelogram", gravity=(0, -gravity, 0))
    left, right, coupler = (m.body(n, wt.rod(mass=1.0, length=x)) for n, x in (("a", 1.0), ("b", 1.0), ("c", 2.0)))
    m.revolute("A", m.ground, left, at=(0, 0, 0))
    m.revolute("B", m.ground, right, at=(2, 0, 0))
    m.revolute("C", left, coupler, at=(1, 0, 0))
    m.revolute("D", right, coupler, at=(1, 0, 0), at_child=(2, 0, 0))
    s = m.build(guess={"A": -np.pi / 2, "B": -np.pi / 2, "C": np.pi / 2, "D": np.pi / 2})
    v = s.consistent_velocities(s.q0, {"A": speed, "B": speed})
    assert np.abs(s.forward_dynamics(s.q0, v, formulation=name)).max() < 1e-6


def test_weights_that_drown_in_rounding_are_refused() -> None:
    c = case("one loop", 1)
    s = built(c.looped)
    with pytest.raises(wt.DynamicsError, match="not good to"):
        s.forward_dynamics(c.q, c.v, c.tau, wrenches=c.loads, t=c.looped.t, formulation="penalty", weight=1e17)


def test_stabilising_terms_are_those_of_the_book() -> None:
    """C a + gamma = -(2 Omega mu phi' + Omega^2 phi) at a state that misses the closures (8.115)."""
    c = case("one loop", 1)
    s = built(c.looped)
    rng = np.random.default_rng(1)
    q = s.integrate(c.q, 1e-4 * rng.normal(size=s.nv))
    v = c.v + 1e-3 * rng.normal(size=s.nv)
    options = {"t": c.looped.t, "wrenches": c.loads, "check": False}
    omega, mu = 10.0, 0.7
    expected = s.forward_dynamics(
        q, v, c.tau, formulation="joint_multipliers", baumgarte=(omega * mu, omega), **options
    )
    found = s.forward_dynamics(q, v, c.tau, formulation="penalty", omega=omega, mu=mu, **options)
    plain = s.forward_dynamics(q, v, c.tau, formulation="penalty", **options)
    assert relative(found[None], expected[None]) < 1e-6
    assert relative(plain[None], expected[None]) > 1e-4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight": 0.0}, "weight= must be positive"),
        ({"weight": "heavy"}, "weight= must be a finite number"),
        ({"iterations": 0}, "iterations= must be a whole number"),
        ({"iterations": 1.5}, "iterations= must be a whole number"),
        ({"omega": -1.0}, "omega= must be a finite number that is not negative"),
        ({"stiffness": 1.0}, "there is no option stiffness="),
    ],
)
def test_settings_are_checked(options: dict[str, object], words: str) -> None:
    c = case("one loop", 1)
    s = built(c.looped)
    with pytest.raises(wt.StateError, match=words):
        s.forward_dynamics(c.q, c.v, formulation="penalty", **options)
