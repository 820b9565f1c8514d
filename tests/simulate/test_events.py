"""Events against closed forms: located, recorded, in order, stopping and switching."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.systems import UPRIGHT, upright_four_bar
from whippletree.simulate import Simulation

G = 9.81
METHODS = {
    "dopri5": {"tolerance": 1e-11},
    "dop853": {"tolerance": 1e-11},
    "adams": {"tolerance": 1e-12},
    "rk4": {"step": 7e-3},
}


def ball(*, restitution: float = 0.8, stop: bool = False) -> wt.System:
    m = wt.Mechanism("ball")
    m.prismatic("height", m.ground, m.body("ball", mass=2.0), axis="z")
    m.event(
        "bounce",
        m.position("ball")[2],
        direction="falling",
        velocities={"height": -restitution * m.rate("height")},
        stop=stop,
    )
    m.event("top", m.rate("height"), direction="falling")
    return m.build()


def bounces(restitution: float, count: int) -> list[float]:
    """When a ball that falls from one metre hits the ground."""
    t, v, times = np.sqrt(2 / G), np.sqrt(2 * G), []
    for _ in range(count):
        times.append(t)
        v *= restitution
        t += 2 * v / G
    return times


def pendulum(**events: object) -> wt.Mechanism:
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="-z")), axis="y")
    return m


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_bounces_when_it_should(method: str) -> None:
    run = ball().simulate(2.42, q=[1.0], method=method, **METHODS[method])
    names = [event.name for event in run.events]
    assert names == ["bounce", "top"] * 4
    hits = [event for event in run.events if event.name == "bounce"]
    assert [event.t for event in hits] == pytest.approx(bounces(0.8, 4), abs=1e-12)
    assert [event.v[0] for event in hits] == pytest.approx([-np.sqrt(2 * G) * 0.8**k for k in range(4)], rel=1e-11)
    assert max(abs(event.q[0]) for event in hits) < 1e-13
    tops = [event for event in run.events if event.name == "top"]
    assert [event.q[0] for event in tops] == pytest.approx([0.8 ** (2 * k) for k in range(1, 5)], rel=1e-11)
    # what the bounces took is dissipated: the balance stays whole
    assert run.certificate.ok
    assert run.certificate.work_dissipated == pytest.approx(2 * G * (1 - 0.8**8), rel=1e-9)
    assert run.q.min() > -1e-9


def test_semi_implicit_euler_locates_on_its_own_motion() -> None:
    run = ball().simulate(1.0, q=[1.0], method="semi_implicit_euler", step=1e-3)
    first = run.events[0]
    assert abs(first.q[0]) < 1e-13
    assert first.t == pytest.approx(np.sqrt(2 / G), abs=2e-3)


def test_recording_does_not_touch_the_steps() -> None:
    m = pendulum()
    plain = m.build().simulate(5.0, q=[2.0], every=0.05)
    m.event("through", m.coordinate("A"))
    m.event("turn", m.rate("A"))
    m.event("when", m.time - 1.25)
    watched = m.build().simulate(5.0, q=[2.0], every=0.05)
    assert np.array_equal(plain.q, watched.q)
    assert plain.certificate.steps == watched.certificate.steps
    times = [event.t for event in watched.events]
    assert times == sorted(times)
    assert [event.t for event in watched.events if event.name == "when"] == pytest.approx([1.25], abs=1e-13)
    # turns and passages take turns, and are half a swing apart
    turns = [event.t for event in watched.events if event.name == "turn"]
    assert np.diff(turns) == pytest.approx(np.full(len(turns) - 1, turns[0]), rel=1e-7)


def test_directions_and_the_start() -> None:
    m = pendulum()
    x = m.coordinate("A")
    for direction in ("rising", "falling", "both"):
        m.event(direction, x, direction=direction)
    run = m.build().simulate(6.0, q=[0.0], v=[1.0], tolerance=1e-10)  # begins at a zero: that is no event
    by_name = {name: [e for e in run.events if e.name == name] for name in ("rising", "falling", "both")}
    assert all(event.v[0] > 0 for event in by_name["rising"])
    assert all(event.v[0] < 0 for event in by_name["falling"])
    assert len(by_name["both"]) == len(by_name["rising"]) + len(by_name["falling"]) == 7
    assert run.events[0].t > 0.5


@pytest.mark.parametrize("start", [0.0, 1e-18, -1e-18, 5e-324])
def test_what_is_zero_to_rounding_at_the_start_is_no_event(start: float) -> None:
    m = pendulum()
    m.event("through", m.coordinate("A"))
    run = m.build().simulate(0.5, q=[start], v=[1.0])
    assert run.events == ()


def test_two_crossings_in_one_step() -> None:
    m = wt.Mechanism("thrown")
    m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="z")
    top = 9.0 / (2 * G)
    m.event("line", m.coordinate("height") - (top - 1e-3))
    run = m.build().simulate(1.0, v=[3.0], step=0.5, method="dop853")  # the steps are as long as they please
    apart = 2 * np.sqrt(2 * 1e-3 / G)
    assert run.certificate.steps < 20
    assert len(run.events) == 2
    assert run.events[1].t - run.events[0].t == pytest.approx(apart, rel=1e-9)
    missed = wt.Mechanism("missed")
    missed.prismatic("height", missed.ground, missed.body("ball", mass=1.0), axis="z")
    missed.event("line", missed.coordinate("height") - (top + 1e-6))
    assert missed.build().simulate(1.0, v=[3.0]).events == ()


def test_several_events_in_one_step_come_in_order() -> None:
    m = wt.Mechanism("falling")
    m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="-z")
    heights = [0.5, 0.1, 0.3, 0.2, 0.4]
    for h in heights:
        m.event(f"at {h}", m.coordinate("height") - h)
    run = m.build().simulate(1.0, step=0.5, method="dop853")
    assert [event.name for event in run.events] == [f"at {h}" for h in sorted(heights)]
    assert [event.t for event in run.events] == pytest.approx([np.sqrt(2 * h / G) for h in sorted(heights)], abs=1e-12)


def test_an_acting_event_hides_what_would_have_come_after_it() -> None:
    m = wt.Mechanism("falling")
    m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="-z")
    m.event("late", m.coordinate("height") - 0.4)
    m.event("end", m.coordinate("height") - 0.3, stop=True)
    m.event("early", m.coordinate("height") - 0.2)
    run = m.build().simulate(1.0, step=0.5, method="dop853")
    assert [event.name for event in run.events] == ["early", "end"]
    assert run.info["ended_by"] == "end"
    assert run.t[-1] == pytest.approx(np.sqrt(0.6 / G), abs=1e-12)
    assert run.q[-1] == pytest.approx(0.3, abs=1e-14)
    assert run.certificate.ok


@pytest.mark.parametrize("method", METHODS)
def test_in_a_loop_the_state_at_an_event_is_closed(method: str) -> None:
    m = upright_four_bar()
    m.event("low", m.position("rod 1")[1] - 0.8, direction="falling", velocities={"A": -0.5 * m.rate("A")})
    m.event("again", m.position("rod 1")[1] - 0.85, direction="falling")
    system = m.build(guess=UPRIGHT)
    run = system.simulate(0.8, method=method, v=system.consistent_velocities(system.q0, {"A": -2.0}), **METHODS[method])
    assert [event.name for event in run.events][:2] == ["again", "low"]
    for event in run.events:
        assert np.abs(system.closure_residual(event.q)).max() < 1e-13
    low = run.events[1]
    assert system.pose(low.q, "rod 1")[1, 3] == pytest.approx(0.8, abs=1e-13)
    # all velocities are turned round together
    sim = Simulation(system, v=system.consistent_velocities(system.q0, {"A": -2.0}), method=method, **METHODS[method])
    turned: list[np.ndarray] = []
    sim = Simulation(
        system,
        v=system.consistent_velocities(system.q0, {"A": -2.0}),
        method=method,
        on_event={"low": lambda s, e: turned.append(s.state.v.copy()) or True},
        **METHODS[method],
    )
    sim.run(np.array([0.8]))
    after = system.consistent_velocities(low.q, {"A": -0.5 * low.v[0]})
    assert turned[0][0] == pytest.approx(-0.5 * low.v[0], rel=1e-9)
    assert sim.state.v == pytest.approx(after, rel=1e-8, abs=1e-10)
    assert run.certificate.ok


def test_parameters_states_and_efforts_are_switched() -> None:
    m = wt.Mechanism("cart", gravity=(0, 0, 0))
    cart = m.body("cart", mass=2.0)
    m.prismatic("x", m.ground, cart, axis="x")
    k = m.parameter("k", 0.0)
    count = m.state("count", 0.0)
    m.actuator("spring", "x", effort=-k * m.coordinate("x"))
    m.event("on", m.coordinate("x") - 1.0, direction="rising", parameters={"k": k + 18.0}, states={"count": count + 1})
    m.event("push", m.time - 0.25, efforts={"x": 3.0})
    run = m.build().simulate(3.0, v=[1.0], every=0.1, tolerance=1e-11)
    push, on = run.events[:2]
    assert push.t == pytest.approx(0.25, abs=1e-12)
    # x = t until 0.25 s, then with 1.5 m/s^2 until x = 1, then on a spring whose rest position is at zero
    v1 = np.sqrt(1 + 2 * 1.5 * 0.75)
    t1 = 0.25 + (v1 - 1) / 1.5
    assert on.t == pytest.approx(t1, abs=1e-9)
    rest, w = 3.0 / 18.0, 3.0
    after = run.t[run.t > t1] - t1
    exact = rest + (1 - rest) * np.cos(w * after) + v1 / w * np.sin(w * after)
    second = np.flatnonzero((exact[:-1] < 1) & (exact[1:] >= 1))
    until = second[0] if second.size else len(after)
    assert run["x"][run.t > t1][:until] == pytest.approx(exact[:until], abs=1e-8)
    assert run.state("count")[-1] == sum(event.name == "on" for event in run.events)
    assert run.parameters.shape == (len(run), 1)
    assert run.parameters[0, 0] == 0.0
    assert run.parameters[np.searchsorted(run.t, t1), 0] == 18.0
    assert run.efforts[np.searchsorted(run.t, 0.25) + 1, 0] == 3.0
    assert run.certificate.ok


def test_functions_are_called_at_events() -> None:
    seen: list[float] = []

    def turn(sim: Simulation, event: wt.Event) -> bool:
        seen.append(event.t)
        sim.set_value("velocity", "height", 0, -event.v[0])
        return len(seen) == 3

    m = wt.Mechanism("ball")
    m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="z")
    m.event("floor", m.coordinate("height"), direction="falling")
    run = m.build().simulate(9.0, q=[1.0], on_event={"floor": turn})
    assert seen == pytest.approx(bounces(1.0, 3), abs=1e-11)
    assert run.info["ended_by"] == "floor"
    assert run.certificate.ok


def test_events_that_pile_up_end_the_run_in_words() -> None:
    for restitution in (0.8, 0.3, 1e-3):
        with pytest.raises(wt.SimulationError, match='event "bounce" happens again and again') as caught:
            ball(restitution=restitution).simulate(10.0, q=[1.0])
        run = caught.value.trajectory
        end = np.sqrt(2 / G) * (1 + 2 * restitution / (1 - restitution))
        assert run.t[-1] == pytest.approx(end, rel=1e-6)
        assert run.q.min() > -1e-9


def test_quaternions_and_rolled_out_events() -> None:
    m = wt.Mechanism("tumbler", gravity=(0, 0, 0))
    m.free("free", m.ground, m.body("box", wt.box(size=(0.1, 0.2, 0.3), mass=1.0)))
    m.event("level", m.rotation("box")[2, 2], direction="rising")
    run = m.build().simulate(9.0, v=[2.0, 0, 0, 0, 0, 0], tolerance=1e-11, method="dop853")  # about a main axis
    assert [event.t for event in run.events] == pytest.approx([(1.5 * np.pi + 2 * np.pi * k) / 2 for k in range(3)])


def test_events_survive_files_pickles_and_clones(tmp_path: object) -> None:
    run = ball().simulate(1.0, q=[1.0])
    run.save(tmp_path / "run.nc")
    again = wt.Trajectory.load(tmp_path / "run.nc")
    assert [event.t for event in again.events] == [event.t for event in run.events]
    sim = Simulation(ball(), q=[1.0])
    sim.step(0.3)
    twin = pickle.loads(pickle.dumps(sim))
    sim.step(0.5)
    twin.step(0.5)
    assert sim.state.q == twin.state.q
    assert [event.t for event in sim.events.happened] == [event.t for event in twin.events.happened]


def test_a_model_file_has_events() -> None:
    text = """
name: ball
bodies: {ball: {mass: 2}}
joints: {height: {prismatic: [ground, ball], axis: z}}
parameters: {e: 0.8}
events:
  bounce: {expression: 'coordinate("height")', direction: falling, velocities: {height: '-e * rate("height")'}}
start: {guess: {height: 1}}
run: {duration: 2, tolerance: 1e-11}
"""
    model = wt.read(text)
    run = model.simulate()
    assert [event.t for event in run.events] == pytest.approx(bounces(0.8, 3), abs=1e-11)
    for bad, words in {
        "velocities: {height: '-e * rate(\"height\")'}": ("velocities: {width: 1}", "no joint"),
        "direction: falling": ("direction: down", "direction must be one of"),
        "expression: 'coordinate(\"height\")'": ("expression: 'open(\"height\")'", "open"),
    }.items():
        with pytest.raises(wt.FileError, match=words[1]):
            wt.read(text.replace(bad, words[0]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m: m.event("e", ca.SX.sym("x")), "which this mechanism does not know"),
        (lambda m: m.event("e", m.position("rod")), "must be one number"),
        (lambda m: m.event("e", 3.0), "depends on nothing that changes"),
        (lambda m: m.event("e", m.coordinate("A"), direction="up"), "direction must be one of"),
        (lambda m: m.event("e", m.coordinate("A"), stop=1), "stop must be True or False"),
        (lambda m: m.event("e", m.coordinate("A"), velocities={"B": 1.0}), "there is no joint"),
        (lambda m: m.event("e", m.coordinate("A"), states={"z": 1.0}), "there is no state"),
        (lambda m: m.event("e", m.coordinate("A"), parameters={"k": 1.0}), "there is no parameter"),
        (lambda m: m.event("e", m.coordinate("A"), velocities={"A": [1.0, 2.0]}), "has 1 freedom"),
        (lambda m: m.event("e", m.coordinate("A"), velocities={"A": float("nan")}), "finite"),
        (lambda m: m.event("e", m.coordinate("A"), efforts=[1.0]), "must map"),
        (lambda m: (m.event("e", m.time), m.event("e", m.time)), "is taken"),
    ],
)
def test_wrong_events_are_refused(make: object, words: str) -> None:
    m = pendulum()
    with pytest.raises(wt.ModelError, match=words) as caught:
        make(m)
    assert 'event "e"' in str(caught.value)


def test_wrong_functions_are_refused() -> None:
    with pytest.raises(wt.StateError, match="no event"):
        ball().simulate(1.0, on_event={"bonce": print})
    with pytest.raises(wt.StateError, match="must be a function"):
        ball().simulate(1.0, on_event={"bounce": 3})
    with pytest.raises(wt.StateError, match="there is none"):
        pendulum().build().simulate(1.0, on_event=print)
    with pytest.raises(wt.SimulationError, match="failed"):
        ball().simulate(1.0, q=[1.0], on_event={"bounce": lambda sim, event: sim.system.pose(sim.state.q, "nobody")})


def test_values_belong_to_the_events_that_set_them() -> None:
    m = wt.Mechanism("ball")
    m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="z")
    count = m.state("count", 5.0)
    m.event("first", m.coordinate("height") - 9.0)  # sets nothing
    m.event("second", m.coordinate("height"), states={"count": count + 1})
    m.event("third", m.rate("height"))
    m.event("fourth", m.time - 1, states={"count": 10 * count}, velocities={"height": m.time})
    system = m.build()
    values = system.function("event_values")
    assert values.size_out(0) == (3, 1)
    assert np.array(values([2.0], [3.0], [5.0], [7.0])).ravel().tolist() == [6.0, 7.0, 50.0]
    assert system.function("events").size_out(0) == (4, 1)


def test_failures_keep_what_was_computed() -> None:
    m = pendulum()
    m.event("root", ca.sqrt(m.coordinate("A")) - 1)
    with pytest.raises(wt.SimulationError, match="not finite") as caught:
        m.build().simulate(1.0, q=[-1.0])
    assert len(caught.value.trajectory) == 1
    m = pendulum()
    m.event("through", m.coordinate("A"))
    system = m.build()
    with pytest.raises(wt.SimulationError, match='event "through" failed: ZeroDivisionError') as caught:
        system.simulate(2.0, q=[1.0], on_event=lambda sim, event: 1 / 0)
    assert caught.value.trajectory.t[-1] == pytest.approx(0.43664963, abs=1e-6)
    with pytest.raises(wt.SimulationError, match="moved the run in time"):
        system.simulate(2.0, q=[1.0], on_event=lambda sim, event: sim.step(0.1))


@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("apart", [0.0, 1e-15, 1e-13, 1e-10, 1e-3])
def test_a_stop_just_after_something_else(apart: float, options: dict[str, float]) -> None:
    """What happens at once happens when the last of it does, and outputs up to then are there."""
    name = next(name for name, own in METHODS.items() if own is options)
    m = wt.Mechanism("ball")
    m.prismatic("height", m.ground, m.body("ball", mass=2.0), axis="z")
    m.event("push", m.time - (1.3 - apart), velocities={"height": m.rate("height") + 1.0})
    m.event("stop", m.time - 1.3, stop=True)
    run = m.build().simulate(2.0, times=[1.0, 1.3, 1.5], method=name, **options)
    assert run.t[:2].tolist() == [1.0, 1.3]
    assert run.t[-1] < 1.3 + 1e-9
    assert run.info["ended_by"] == "stop"
    assert [event.name for event in run.events] == ["push", "stop"]
    assert run.events[-1].t >= 1.3
    assert abs(run.events[0].t - (1.3 - apart)) < 1e-11
