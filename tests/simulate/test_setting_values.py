"""What is put into a simulation is checked as at its start, and what is refused leaves it as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.systems import UPRIGHT, upright_four_bar
from whippletree.simulate import Simulation


def tank() -> wt.System:
    """A pendulum with a parameter and an element's state."""
    m = wt.Mechanism("tank")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=m.parameter("mass", 1.0), axis="-z")), axis="y")
    m.state("level", 0.5, rate=lambda z: -z)
    return m.build()


def four_bar() -> Simulation:
    return Simulation(upright_four_bar().build(guess=UPRIGHT))


def unchanged(sim: Simulation, do: Callable[[], None], words: str) -> None:
    """Expect a refusal in words that changes nothing."""
    before, tau, parameters = sim.state, sim.tau.copy(), sim.parameters
    with pytest.raises(wt.StateError, match=words):
        do()
    after = sim.state
    for name in ("t", "q", "v", "z", "work_in", "work_dissipated"):
        assert np.array_equal(getattr(after, name), getattr(before, name)), name
    assert np.array_equal(sim.tau, tau)
    assert sim.parameters is parameters


@pytest.mark.parametrize(
    "change, words",
    [
        ({"t": np.nan}, "t must be one finite number"),
        ({"t": np.inf}, "t must be one finite number"),
        ({"t": "now"}, "t must hold real numbers"),
        ({"q": [np.nan]}, r'angle of joint "A" must be a finite number'),
        ({"q": [0.0, 1.0]}, "q must have 1 numbers"),
        ({"v": [np.inf]}, r'velocity of joint "A" must be a finite number'),
        ({"v": [1.0, 2.0]}, "v must have 1 numbers"),
        ({"v": [[1.0]]}, "v must be one vector of 1 numbers"),
        ({"v": None}, "v is missing"),
        ({"z": [1.0, 2.0]}, "z must have 1 numbers"),
        ({"z": [np.nan]}, 'state "level" must be a finite number'),
        ({"work_in": np.nan}, "work_in must be finite"),
        ({"work_dissipated": None}, "work_dissipated must be a number"),
    ],
)
def test_states_that_will_not_do_are_refused(change: dict[str, Any], words: str) -> None:
    sim = Simulation(tank(), q=[1.0])
    state = replace(sim.state, **change)
    unchanged(sim, lambda: setattr(sim, "state", state), words)


@pytest.mark.parametrize("given", [None, 3, (0.0, [1.0], [0.0], [], 0.0, 0.0)])
def test_what_is_no_state_is_refused(given: Any) -> None:
    sim = Simulation(tank())
    unchanged(sim, lambda: setattr(sim, "state", given), "a state is what simulation.state returns")


def test_states_that_open_a_loop_are_refused_as_at_the_start() -> None:
    sim = four_bar()
    good = sim.state
    open_loop, slipping = good.q + 0.1 * np.arange(good.q.size), good.v + np.arange(good.v.size)
    for change in ({"q": open_loop}, {"v": slipping}):
        with pytest.raises(wt.StateError) as at_the_start:
            Simulation(sim.system, **{"q": good.q, "v": good.v, **change})
        state = replace(good, **change)
        with pytest.raises(wt.StateError) as later:
            sim.state = state
        assert str(at_the_start.value).startswith(str(later.value))  # and says what else a start may be
    v = sim.system.consistent_velocities(good.q, {"A": 2.0}, hold=["A"])
    sim.state = replace(good, v=v)
    assert sim.state.v == pytest.approx(v)


@pytest.mark.parametrize(
    "given, words",
    [
        (("speed", "A", 0, 1.0), 'by the kind "speed"; there is "velocity", "effort", "state", "parameter"'),
        (("velocities", "A", 0, 1.0), 'did you mean "velocity"'),
        ((None, "A", 0, 1.0), "by the kind None"),
        (("velocity", "B", 0, 1.0), 'there is no joint "B"; there is "A"'),
        (("effort", "rod", 0, 1.0), 'there is no joint "rod"'),
        (("parameter", "length", 0, 1.0), 'there is no parameter "length"; there is "mass"'),
        (("state", "mass", 0, 1.0), 'there is no state "mass"; there is "level"'),
        (("velocity", "A", 4, 1.0), 'joint "A" has 1 velocities, counted from 0: there is no velocity 4'),
        (("effort", "A", -1, 1.0), "there is no effort -1"),
        (("effort", "A", "0", 1.0), "there is no effort '0'"),
        (("state", "level", 1, 1.0), 'state "level" is one number'),
        (("velocity", "A", 0, np.nan), 'the velocity of "A" must be finite'),
        (("velocity", "A", 0, "fast"), 'the velocity of "A" must be a number'),
        (("parameter", "mass", 0, np.inf), 'the parameter of "mass" must be finite'),
        (("state", "level", 0, None), 'the state of "level" must be a number'),
        (("effort", "A", 0, [1.0]), 'the effort of "A" must be a number'),
    ],
)
def test_what_cannot_be_put_is_refused(given: Any, words: str) -> None:
    sim = Simulation(tank(), q=[1.0])
    unchanged(sim, lambda: sim.set_value(*given), words)


def test_what_is_put_is_there() -> None:
    sim = Simulation(tank(), q=[1.0])
    sim.set_value("velocity", "A", 0, 2.0)
    sim.set_value("effort", "A", 0, 3)
    sim.set_value("state", "level", 0, 4.0)
    sim.set_value("parameter", "mass", 0, 5.0)
    assert (sim.state.v, sim.tau, sim.state.z, sim.parameters) == ([2.0], [3.0], [4.0], [5.0])


def test_velocities_of_a_loop_follow_what_is_put() -> None:
    sim = four_bar()
    sim.set_value("velocity", "A", 0, 2.0)
    assert sim.state.v == pytest.approx(sim.system.consistent_velocities(sim.state.q, {"A": 2.0}, hold=["A"]))
    other = sim.state.v[sim.system.v_slice("D")][0]
    unchanged(sim, lambda: sim.set_value("velocity", "D", 0, other + 1.0), r'the velocity of "D" cannot be')
    sim.set_value("velocity", "D", 0, other)
    sim.step(0.1)
    sim.set_value("velocity", "D", 0, 0.5)  # at another time, A is free again
    assert sim.state.v[sim.system.v_slice("D")] == pytest.approx(0.5)


def eventful() -> wt.System:
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=m.parameter("mass", 1.0), axis="-z")), axis="y")
    m.event("low", m.coordinate("A"))
    return m.build()


def wrong_effort(sim: Simulation, _: Any) -> None:
    sim.tau[0] = np.nan


def wrong_parameters(sim: Simulation, _: Any) -> None:
    sim.parameters = np.array([np.nan])


def wrong_time(sim: Simulation, _: Any) -> None:
    sim.state = replace(sim.state, t=7.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda sim, _: sim.set_value("velocity", "A", 0, np.nan),
        lambda sim, _: sim.set_value("velocity", "A", 4, 7.0),
        lambda sim, _: sim.set_value("speed", "A", 0, 7.0),
        lambda sim, _: setattr(sim, "state", None),
        lambda sim, _: setattr(sim, "state", replace(sim.state, v=[np.nan])),
        wrong_effort,
        wrong_parameters,
        wrong_time,
    ],
)
def test_functions_that_put_something_wrong_lose_nothing(function: Any) -> None:
    with pytest.raises(wt.SimulationError, match='the function of event "low"') as caught:
        eventful().simulate(2.0, every=0.1, q=[1.0], on_event=function)
    run = caught.value.trajectory
    low = 0.436  # a quarter of the period, sqrt(2 L / 3 g) and the amplitude's share
    assert run.t[-1] == pytest.approx(low, rel=0.05)
    assert np.isfinite(run.q).all()
    assert not run.certificate.ok
