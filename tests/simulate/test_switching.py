"""Events that switch: relays, thermostats, impacts and friction by closed forms; what has no end ends in words."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.sampling import deep, rest
from support.systems import UPRIGHT, upright_four_bar
from whippletree.simulate import Simulation

Array = np.ndarray
G = 9.81
METHODS: dict[str, dict[str, Any]] = {
    "dopri5": {"tolerance": 1e-11},
    "dop853": {"tolerance": 1e-11},
    "adams": {"tolerance": 1e-12},
    "rk4": {"step": 7e-3},
    "trapezoidal": {"step": 1e-3},
    "generalized_alpha": {"step": 1e-3},
    "semi_implicit_euler": {"step": 1e-3},
}
EXACT = ("dopri5", "dop853", "adams", "rk4")


def slide(gravity: float = 0.0) -> wt.Mechanism:
    m = wt.Mechanism("slide", gravity=(-gravity, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    return m


# ---------------------------------------------------------------------------------------------------------
# A relay that should slide: x'' = p - x'/2 with p = -sign(s), s = x + 0.3 x'


def relay(form: str) -> wt.System:
    """The relay, its switch written in several ways."""
    m = slide()
    p = m.parameter("p", -1.0)
    m.actuator("motor", "x", effort=p - 0.5 * m.rate("x"))
    x, v = m.coordinate("x"), m.rate("x")
    s = x + 0.3 * v
    if form == "both":
        m.event("switch", s, parameters={"p": -p})
    elif form == "one function each":
        m.event("up", x / 0.3 + v, direction="rising", parameters={"p": -1.0})
        m.event("down", -0.7 * x - 0.21 * v, direction="rising", parameters={"p": 1.0})
    else:
        m.event("up", s, direction="rising", parameters={"p": -1.0})
        m.event("down", s, direction="falling", parameters={"p": 1.0})
    return m.build(guess={"x": 1.0})


def until_sliding() -> tuple[list[float], Array]:
    """When s is zero, and x and x' at the second time, from where on both states of the relay lead back to s = 0."""

    def motion(t: float, x: float, v: float, p: float) -> Array:
        fading = np.exp(-t / 2)
        return np.array([x + 2 * p * t + 2 * (v - 2 * p) * (1 - fading), 2 * p + (v - 2 * p) * fading])

    def zero(low: float, high: float, *start: float) -> float:
        for _ in range(60):
            middle = (low + high) / 2
            same = (motion(middle, *start) @ [1, 0.3] > 0) == (motion(low, *start) @ [1, 0.3] > 0)
            low, high = (middle, high) if same else (low, middle)
        return high

    first = zero(0.5, 2.0, 1.0, 0.0, -1.0)
    then = motion(first, 1.0, 0.0, -1.0)
    second = zero(0.1, 2.0, *then, 1.0)
    at = motion(second, *then, 1.0)
    assert abs(0.85 * at[1]) < 0.3  # s' = 0.85 x' + 0.3 p has both signs
    return [first, first + second], at


@pytest.mark.parametrize("method", METHODS)
def test_a_relay_that_should_slide_ends_in_words(method: str) -> None:
    """The run is right up to there, kept, and not certified."""
    with pytest.raises(wt.SimulationError, match=r'events "up" and "down"|events "down" and "up"') as caught:
        relay("pair").simulate(20.0, method=method, **METHODS[method])
    assert "hysteresis" in str(caught.value) and "tanh" in str(caught.value)
    run, (times, end) = caught.value.trajectory, until_sliding()
    near = 1e-9 if method in EXACT else 3e-3
    assert [event.t for event in run.events[:2]] == pytest.approx(times, abs=near)
    assert run.t[-1] == pytest.approx(times[1], abs=near)
    assert [run.q[-1, 0], run.v[-1, 0]] == pytest.approx(end, abs=near)
    assert not run.certificate.ok and "slide along" in run.certificate.stopped


@pytest.mark.parametrize("form", ["both", "one function each"])
def test_however_the_switch_is_written(form: str) -> None:
    with pytest.raises(wt.SimulationError, match="slide along") as caught:
        relay(form).simulate(20.0)
    assert caught.value.trajectory.t[-1] == pytest.approx(until_sliding()[0][1], abs=1e-6)
    assert ('"switch"' if form == "both" else '"up"') in str(caught.value)


@pytest.mark.parametrize("start", [1e3, 1e6, 1e9])
def test_late_times_are_no_excuse(start: float) -> None:
    """Where times are rounded to 1e-7 s, too: no endless run of the smallest steps."""
    with pytest.raises(wt.SimulationError, match="slide along") as caught:
        relay("pair").simulate(20.0, t0=start, every=0.5)
    assert caught.value.trajectory.t[-1] - start == pytest.approx(until_sliding()[0][1], abs=1e-6 + 1e-15 * start)


@pytest.mark.parametrize("remedy", ["hysteresis", "smooth law"])
def test_the_remedies_slide(remedy: str) -> None:
    """With a hysteresis or a smooth law of width d, x goes to zero as x' = -x / 0.3, to within 2 d."""
    m, width = slide(), 1e-3
    s = m.coordinate("x") + 0.3 * m.rate("x")
    if remedy == "smooth law":
        m.actuator("motor", "x", effort=-ca.tanh(s / width) - 0.5 * m.rate("x"))
    else:
        p = m.parameter("p", -1.0)
        m.actuator("motor", "x", effort=p - 0.5 * m.rate("x"))
        m.event("up", s - width, direction="rising", parameters={"p": -1.0})
        m.event("down", s + width, direction="falling", parameters={"p": 1.0})
    run = m.build().simulate(6.0, q=[1.0])
    times, end = until_sliding()
    later = run.t > times[1] + 0.02
    assert np.abs(run.q[later, 0] - end[0] * np.exp((times[1] - run.t[later]) / 0.3)).max() < 2 * width
    assert run.certificate.ok


def test_step_by_step_it_ends_all_the_same() -> None:
    sim = Simulation(relay("pair"))
    with pytest.raises(wt.SimulationError, match="slide along"):
        for _ in range(100):
            sim.step(0.1)
    assert sim.state.t == pytest.approx(until_sliding()[0][1], abs=1e-6)


def test_dry_friction_as_a_relay_stops_in_words() -> None:
    """x'' = -p, p = sign(x'): it is at rest after one second, half a metre on, and there both signs hold it."""
    m = slide()
    p = m.parameter("p", 1.0)
    m.actuator("friction", "x", effort=-p)
    m.event("forward", m.rate("x"), direction="rising", parameters={"p": 1.0})
    m.event("back", m.rate("x"), direction="falling", parameters={"p": -1.0})
    with pytest.raises(wt.SimulationError, match=r'"back" and "forward"|"forward" and "back"') as caught:
        m.build().simulate(3.0, v=[1.0])
    run = caught.value.trajectory
    assert run.t[-1] == pytest.approx(1.0, abs=1e-9) and run.q[-1, 0] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(("method", "joint"), [("dopri5", "A"), ("dopri5", "C"), ("adams", "B"), ("trapezoidal", "C")])
def test_the_same_in_a_loop(method: str, joint: str) -> None:
    """A four-bar that is braked by a relay at a joint, cut or not: where it comes to rest, the run ends."""
    m = upright_four_bar()
    m.gravity = (0, 0, 0)
    p = m.parameter("p", 1.0)
    m.actuator("brake", joint, effort=-2.0 * p)
    m.event("forward", m.rate(joint), direction="rising", parameters={"p": 1.0})
    m.event("back", m.rate(joint), direction="falling", parameters={"p": -1.0})
    s = m.build(guess=UPRIGHT, cut=["C"])
    v = s.consistent_velocities(s.q0, {joint: 0.5})
    with pytest.raises(wt.SimulationError, match="slide along") as caught:
        s.simulate(20.0, v=v, method=method, **METHODS[method])
    run, at = caught.value.trajectory, s.q_slice(joint).start
    assert np.abs(run.v[-1]).max() < 1e-9 and np.abs(s.closure_residual(run.q[-1])).max() < 1e-10
    turned = run.q[-1, at] - s.q0[at]
    taken = 1e-4 if method == "trapezoidal" else 1e-7
    assert s.energy(s.q0, v).kinetic == pytest.approx(2.0 * turned, rel=taken)  # what the brake took


# ---------------------------------------------------------------------------------------------------------
# Random relays on a damped oscillator, beside its exact motion


class Oscillator:
    """x'' = p - d x' - k x and a relay p = -1 above the border s = a x + b x' - c = 0, p = 1 below it."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([15, seed])
        self.k, self.d = rng.uniform(0.2, 4.0), rng.uniform(0.05, 0.6)
        self.border = np.array([rng.uniform(0.5, 1.5), rng.uniform(-0.2, 0.4), -rng.uniform(-0.3, 0.3)])
        self.width = rng.uniform(0.01, 0.1)
        self.start = np.array([rng.uniform(1.5, 3.0), 0.0])

    def rates(self, p: float) -> Array:
        return np.array([[0.0, 1.0, 0.0], [-self.k, -self.d, p], [0.0, 0.0, 0.0]])

    def along(self, p: float, y: Array) -> Any:
        """The motion from y = (x, x', 1), by eigenvectors."""
        values, vectors = np.linalg.eig(self.rates(p))
        shares = np.linalg.solve(vectors, y.astype(complex))
        return lambda t: (np.exp(np.multiply.outer(t, values)) * shares @ vectors.T).real

    def switches(self, duration: float, width: float) -> tuple[list[float], Array, bool]:
        """When the relay switches, where the motion ends, and whether it should slide from there on."""
        t, y, p, times = 0.0, np.array([*self.start, 1.0]), -1.0, []
        while True:
            motion, border = self.along(p, y), self.border - np.array([0.0, 0.0, p * width])
            ahead = np.linspace(0.0, duration - t, 40_001)[1:]
            beyond = p * (motion(ahead) @ border) > 0
            beyond[: np.argmax(~beyond)] = False  # it may still be on the border that it has just passed
            if not beyond.any():
                return times, motion(duration - t), False
            high = ahead[np.argmax(beyond)]
            low = high - (ahead[1] - ahead[0])
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (low, middle) if p * (border @ motion(middle)) > 0 else (middle, high)
            t, y = t + high, motion(high)
            times.append(t)
            if width == 0.0 and p * (border @ self.rates(-p) @ y) < 0:
                return times, y, True
            p = -p

    def system(self, width: float) -> wt.System:
        m = slide()
        p = m.parameter("p", -1.0)
        m.torsion_spring("spring", "x", stiffness=self.k, damping=self.d)
        m.actuator("motor", "x", effort=p)
        s = self.border @ [m.coordinate("x"), m.rate("x"), 1.0]
        m.event("up", s - width, direction="rising", parameters={"p": -1.0})
        m.event("down", s + width, direction="falling", parameters={"p": 1.0})
        return m.build()


@pytest.mark.parametrize("seed", [0, *rest([1, 2]), *deep(range(3, 60))])
@pytest.mark.parametrize("hysteresis", [False, True])
def test_random_relays(seed: int, hysteresis: bool) -> None:
    o = Oscillator(seed)
    width = o.width if hysteresis else 0.0
    times, end, slides = o.switches(10.0, width)
    options: dict[str, Any] = {"q": o.start[:1], "tolerance": 1e-12}
    if slides:
        with pytest.raises(wt.SimulationError, match="slide along") as caught:
            o.system(width).simulate(10.0, **options)
        run = caught.value.trajectory
        assert run.t[-1] == pytest.approx(times[-1], abs=1e-9)
    else:
        run = o.system(width).simulate(10.0, **options)
        assert len(run.events) == len(times) and run.certificate.ok
    assert [event.t for event in run.events[: len(times)]] == pytest.approx(times, abs=1e-9)
    assert [run.q[-1, 0], run.v[-1, 0]] == pytest.approx(end[:2], abs=1e-9)


# ---------------------------------------------------------------------------------------------------------
# Switches that do not slide


@pytest.mark.parametrize("method", EXACT)
def test_a_relay_of_second_order_swings(method: str) -> None:
    """x'' = -sign(x) from x = 1: zero at sqrt(2) (2 k + 1), for ever."""
    m = slide()
    p = m.parameter("p", -1.0)
    m.actuator("motor", "x", effort=p)
    m.event("up", m.coordinate("x"), direction="rising", parameters={"p": -1.0})
    m.event("down", m.coordinate("x"), direction="falling", parameters={"p": 1.0})
    run = m.build().simulate(60.0, q=[1.0], method=method, **METHODS[method])
    times = np.sqrt(2) * (2 * np.arange(21) + 1)
    assert [event.t for event in run.events] == pytest.approx(times, abs=1e-9)
    assert [event.name for event in run.events] == ["down", "up"] * 10 + ["down"]
    assert run.certificate.ok


def thermostat(form: str) -> wt.System:
    """z' = p - z: p = 2 until z = 1, then 0 until z = 1/2."""
    m = slide()
    p = m.parameter("p", 2.0)
    z = m.state("z", 0.5, rate=lambda z: p - z)
    if form == "two levels":
        m.event("off", z - 1.0, direction="rising", parameters={"p": 0.0})
        m.event("on", z - 0.5, direction="falling", parameters={"p": 2.0})
    else:
        level = m.parameter("level", 1.0)
        m.event("switch", z - level, parameters={"level": 1.5 - level, "p": 2.0 - p})
        m.event("never", z - 0.5 * level - 0.6 + 0.5 * level)  # at 0.6, whatever the level
        m.event("jump", z - 2.0 * level + 0.05)  # at 1.95 or 0.95: what the level makes of it
    return m.build()


def thermostat_times(count: int) -> Array:
    return np.cumsum([0.0, *([np.log(1.5), np.log(2.0)] * count)])[1:]


@pytest.mark.parametrize("form", ["two levels", "a level that is switched"])
def test_a_thermostat(form: str) -> None:
    run = thermostat(form).simulate(20.0, tolerance=1e-12)
    times = thermostat_times(30)
    times = times[times < 20.0]
    switched = [event.t for event in run.events if event.name in ("on", "off", "switch")]
    assert switched == pytest.approx(times, abs=1e-9)
    if form == "two levels":
        return
    # recorded only: in cooling z passes 0.95 and 0.6, in heating 0.6; the jump of the level itself is no crossing
    others = [(event.name, event.z[0]) for event in run.events if event.name != "switch"]
    assert all(z == pytest.approx(0.6 if name == "never" else 0.95, abs=1e-12) for name, z in others)
    never = sum(name == "never" for name, _ in others)
    jump = sum(name == "jump" for name, _ in others)
    halves, cooled = len(times), len(times) // 2
    assert never in (halves, halves + 1) and jump in (cooled, cooled + 1)


def test_an_event_that_does_not_turn_its_expression_back() -> None:
    """Counting with a state: x = cos(t) falls through zero once in a turn, and is counted once."""
    m = slide()
    m.torsion_spring("spring", "x", stiffness=1.0)
    n = m.state("n", 0.0, rate=lambda n: 0.0 * n)
    m.event("passed", m.coordinate("x"), direction="falling", states={"n": n + 1.0})
    run = m.build().simulate(50.0, q=[1.0], tolerance=1e-11)
    times = np.pi / 2 + 2 * np.pi * np.arange(8)
    assert [event.t for event in run.events] == pytest.approx(times, abs=1e-8)
    assert run.z[-1, 0] == 8.0


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("direction", ["falling", "both"])
def test_a_bounce_and_its_liftoff(method: str, direction: str) -> None:
    """A bounce turns its expression back, which is no event of its own; for others it has passed and come back."""
    m = slide(G)
    m.event("bounce", m.coordinate("x"), direction=direction, velocities={"x": -m.rate("x")})
    m.event("liftoff", m.coordinate("x"), direction="rising")
    run = m.build().simulate(3.0, q=[1.0], method=method, **METHODS[method])
    hits = np.sqrt(2 / G) * np.array([1, 3, 5])
    for name in ("bounce", "liftoff"):
        assert [event.t for event in run.events if event.name == name] == pytest.approx(hits, abs=1e-10)
    assert run.q.min() > -1e-12


@pytest.mark.parametrize("restitution", [1e-3, 1e-8, 0.0, *deep([1e-5, 1e-6, 1e-12])])
@pytest.mark.parametrize("direction", ["falling", "both"])
def test_a_ball_that_hardly_bounces_does_not_fall_through(restitution: float, direction: str) -> None:
    m = slide(G)
    m.event("bounce", m.coordinate("x"), direction=direction, velocities={"x": -restitution * m.rate("x")})
    with pytest.raises(wt.SimulationError, match='event "bounce" happens again and again') as caught:
        m.build().simulate(10.0, q=[1.0])
    run = caught.value.trajectory
    assert run.q.min() > -1e-12
    assert run.t[-1] == pytest.approx(np.sqrt(2 / G) * (1 + 2 * restitution), rel=1e-5)


def test_two_bounces_at_one_time() -> None:
    m = wt.Mechanism("two")
    for k in (0, 1):
        m.prismatic(f"z{k}", m.ground, m.body(f"ball {k}", mass=1.0 + k), axis="z")
        m.event(f"bounce {k}", (1 + k) * m.coordinate(f"z{k}"), direction="falling", velocities={f"z{k}": 3.0 + k})
    run = m.build().simulate(0.8, q=[1.0, 1.0])
    assert [event.name for event in run.events] == ["bounce 0", "bounce 1"]
    hit = np.sqrt(2 / G)
    assert [event.t for event in run.events] == pytest.approx([hit, hit], abs=1e-10)
    left = 0.8 - hit
    assert run.q[-1] == pytest.approx([v * left - G * left**2 / 2 for v in (3.0, 4.0)], abs=1e-8)


def test_events_at_the_start() -> None:
    """What is zero there is no event, whichever way it goes; what is near zero is one, however near."""
    for x, count in ((0.0, 0), (1e-9, 1), (-1e-9, 0), (1e-300, 0)):
        m = slide()
        p = m.parameter("p", 0.0)
        m.actuator("motor", "x", effort=p)
        m.event("passed", m.coordinate("x"), direction="falling", parameters={"p": 1.0})
        run = m.build().simulate(1.0, q=[x], v=[-1.0], tolerance=1e-11)
        assert len(run.events) == count
        assert run.q[-1, 0] == pytest.approx(x - 1.0 + 0.5 * count, abs=2e-9)


def test_a_touch_switches_nothing() -> None:
    """x = 1 - cos(t) touches zero once in a turn; a little lower, it passes twice."""
    for depth, count in ((0.0, 0), (1e-6, 2)):
        m = slide()
        m.torsion_spring("spring", "x", stiffness=1.0, rest=1.0)
        p = m.parameter("p", 0.0)
        m.event("passed", m.coordinate("x") - depth, parameters={"p": p + 1.0})
        run = m.build().simulate(5.0 * np.pi, q=[0.0], t0=-np.pi, tolerance=1e-12)
        inside = [event.t for event in run.events if 0.0 < event.t < 2 * np.pi]
        assert len(inside) == count
        if count:
            width = np.arccos(1 - depth)
            assert inside == pytest.approx([np.pi - width, np.pi + width], rel=1e-4)


@pytest.mark.parametrize("acts", [False, True])
def test_an_expression_that_stops_being_a_number_ends_the_run_in_words(acts: bool) -> None:
    """log(x) - 1 has been above zero, and passes it at x = e; below x = 0 it is none."""
    m = slide()
    p = m.parameter("p", 0.0)
    m.event("low", ca.log(m.coordinate("x")) - 1.0, parameters={"p": p + 1.0} if acts else None)
    with pytest.raises(wt.SimulationError, match=r'event "low" is not a number') as caught:
        m.build().simulate(6.0, q=[4.0], v=[-1.0])
    run = caught.value.trajectory
    assert [event.t for event in run.events] == pytest.approx([4.0 - np.e], abs=1e-9)


def test_what_is_not_a_number_beyond_an_event_does_not_count() -> None:
    """A bounce keeps x above zero, and so the root of x a number."""
    m = slide(G)
    m.event("bounce", m.coordinate("x"), direction="falling", velocities={"x": -m.rate("x")})
    m.event("low", ca.sqrt(m.coordinate("x") + 1e-3) - 0.5, direction="falling")
    run = m.build().simulate(2.0, q=[1.0])
    falls = np.sqrt(2 * (1 - 0.249) / G)
    hit = np.sqrt(2 / G)
    assert [event.t for event in run.events if event.name == "low"] == pytest.approx([falls, 2 * hit + falls], abs=1e-7)
