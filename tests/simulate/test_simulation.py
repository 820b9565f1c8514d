"""Simulation against closed forms, measured orders, and what happens when a run cannot go on."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import whippletree as wt
from support.formulations import BASIC
from whippletree.simulate import Simulation
from whippletree.simulate.tableaus import METHODS

Array = np.ndarray


def pendulum() -> wt.System:
    """A rod on a hinge about y, hanging along -z at zero."""
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="-z")), axis="y")
    return m.build()


def tumbler() -> wt.System:
    """A box that floats and spins: quaternions."""
    m = wt.Mechanism("tumbler", gravity=(0, 0, 0))
    m.free(
        "free",
        m.ground,
        m.body(
            "box",
            wt.box(size=(0.1, 0.2, 0.3), mass=1.0),
        ),
    )
    return m.build()


def four_bars(n: int, angle: float) -> wt.System:
    """The IFToMM chain of n four-bars, rockers at an angle to the x axis, on the parallelogram branch."""
    m = wt.Mechanism("four-bars", gravity=(0, -9.81, 0))
    rockers = [m.body(f"rocker {i}", wt.rod(length=1.0, mass=1.0, axis="x")) for i in range(n + 1)]
    guess = {}
    for i, rocker in enumerate(rockers):
        m.revolute(f"A{i}", m.ground, rocker, at=(i, 0, 0), axis="z")
        guess[f"A{i}"] = angle
    for i in range(n):
        coupler = m.body(f"coupler {i}", wt.rod(length=1.0, mass=1.0, axis="x"))
        m.revolute(f"B{i}", rockers[i], coupler, at=(1, 0, 0), axis="z")
        m.revolute(f"C{i}", coupler, rockers[i + 1], at=(1, 0, 0), at_child=(1, 0, 0), axis="z")
        guess[f"B{i}"], guess[f"C{i}"] = -angle, angle
    return m.build(guess=guess)


def exact_four_bars(n: int, duration: float, steps: int = 40_000) -> float:
    """The angle from the upward vertical after a time, theta'' = (g / L) a sin(theta), in plain Python."""
    a = 9.81 * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    x, w, h = 0.0, 1.0, duration / steps
    for _ in range(steps):
        k1, l1 = w, a * np.sin(x)
        k2, l2 = w + h / 2 * l1, a * np.sin(x + h / 2 * k1)
        k3, l3 = w + h / 2 * l2, a * np.sin(x + h / 2 * k2)
        k4, l4 = w + h * l3, a * np.sin(x + h * k3)
        x, w = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), w + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    return float(x)


# ---------------------------------------------------------------------- tableaus and orders


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda m: m.name)
def test_tableaus(method: object) -> None:
    n = method.b.size
    assert method.b.sum() == pytest.approx(1, abs=1e-14)
    assert method.A.sum(axis=1) == pytest.approx(method.c, abs=1e-13)
    for power in range(1, method.order):  # the bushy trees of the order conditions
        assert method.b @ method.c[:n] ** power == pytest.approx(1 / (power + 1), abs=1e-13)
    whole = np.zeros(method.dense.shape[0])
    whole[:n] = method.b
    assert method.dense.sum(axis=1) == pytest.approx(whole, abs=1e-12)
    if method.adaptive:
        assert method.e.sum() == pytest.approx(0, abs=1e-14)


def order_of(errors: list[float], steps: list[float]) -> float:
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


@pytest.mark.parametrize(
    ("method", "order", "steps"),
    [
        ("semi_implicit_euler", 1, (2e-3, 1e-3, 5e-4)),
        ("rk4", 4, (4e-2, 2e-2, 1e-2)),
        ("dopri5", 5, (8e-2, 4e-2, 2e-2)),
        ("dop853", 8, (0.2, 0.1, 0.05)),
    ],
)
@pytest.mark.parametrize("what", ["pendulum", "tumbler", "four-bar"])
def test_orders(what: str, method: str, order: int, steps: tuple[float, ...]) -> None:
    system = {"pendulum": pendulum, "tumbler": tumbler, "four-bar": lambda: four_bars(1, 1.2)}[what]()
    start = {
        "pendulum": {"q": [1.0], "v": [0.5]},
        "tumbler": {"v": [1.0, 3.0, 0.5, 0.2, 0.0, 0.4]},
        "four-bar": {"v": system.consistent_velocities(system.q0, {"A0": 1.5}) if what == "four-bar" else None},
    }[what]
    end = np.array([0.8])

    def final(step: float, name: str) -> Array:
        sim = Simulation(system, method=name, step=step, adaptive=False, **start)
        return sim.run(end)[0][: system.nq + system.nv]

    reference = final(0.01, "dop853")
    errors = [np.abs(final(h, method) - reference).max() for h in steps]
    assert errors[0] > errors[-1] > 1e-15
    assert order_of(errors, list(steps)) == pytest.approx(order, abs=0.6)


def test_quaternions_stay_on_the_sphere() -> None:
    run = tumbler().simulate(20.0, v=[1.0, 5.0, 0.2, 0, 0, 1.0], method="dop853", tolerance=1e-11)
    assert np.abs(np.linalg.norm(run.q[:, :4], axis=1) - 1).max() < 1e-14
    assert run.certificate.ok
    h = np.array([run.system.momentum(q, v).angular for q, v in zip(run.q[::50], run.v[::50], strict=True)])
    assert np.abs(h - h[0]).max() < 1e-9 * np.abs(h[0]).max()


# ---------------------------------------------------------------------- loops


def test_a_closed_loop_stays_closed_and_keeps_its_energy() -> None:
    s = four_bars(1, 1.2)
    run = s.simulate(10.0, every=0.01, v=s.consistent_velocities(s.q0, {"A0": 1.0}), tolerance=1e-11, method="dop853")
    assert run.certificate.ok
    assert run.certificate.closure_residual < 1e-12
    assert abs(run.certificate.energy_error) < 1e-7 * run.certificate["energy_scale"]


@pytest.mark.parametrize("n", [1, 3])
def test_four_bars_pass_their_flat_positions_on_their_branch(n: int) -> None:
    s = four_bars(n, np.pi / 2)
    v = s.consistent_velocities(s.q0, {"A0": -1.0})
    run = s.simulate(3.0, every=0.01, v=v, method="dop853", tolerance=1e-11)
    theta = np.pi / 2 - run["A0"]
    assert theta[-1] > 2 * np.pi  # more than a turn: twice flat
    assert theta[-1] == pytest.approx(exact_four_bars(n, 3.0), abs=2e-9)
    assert np.abs(run[f"A{n}"] - run["A0"]).max() < 1e-9  # all rockers parallel
    assert run.certificate.closure_residual < 1e-12


@pytest.mark.parametrize("formulation", ["tree_augmented", "joint_multipliers", "coordinate_reduction", "absolute"])
def test_every_exact_formulation_passes_flat_positions(formulation: str) -> None:
    s = four_bars(2, np.pi / 2)
    v = s.consistent_velocities(s.q0, {"A0": -1.0})
    run = s.simulate(1.5, every=0.5, v=v, method="dop853", tolerance=1e-10, formulation=formulation)
    assert np.pi / 2 - run["A0"][-1] == pytest.approx(exact_four_bars(2, 1.5, 10_000), abs=1e-8)
    assert len(run.certificate.singular) == 2


def test_a_fixed_step_crosses_flat_positions_as_exactly() -> None:
    s = four_bars(3, np.pi / 2)
    v = s.consistent_velocities(s.q0, {"A0": -1.0})
    run = s.simulate(3.0, every=0.5, v=v, method="rk4", step=1e-3)
    assert np.pi / 2 - run["A0"][-1] == pytest.approx(exact_four_bars(3, 3.0), abs=2e-9)
    assert len(run.certificate.singular) == 3


@pytest.mark.parametrize("formulation", BASIC)
def test_every_formulation_gives_the_same_motion(formulation: str) -> None:
    s = four_bars(2, 1.2)
    v = s.consistent_velocities(s.q0, {"A0": 1.0})
    run = s.simulate(1.0, times=[0.5, 1.0], v=v, method="dop853", tolerance=1e-11, formulation=formulation)
    other = s.simulate(1.0, times=[0.5, 1.0], v=v, method="dopri5", tolerance=1e-11)
    assert run.q == pytest.approx(other.q, abs=1e-8)


# ---------------------------------------------------------------------- trust


def test_a_perturbed_run_fails_its_certificate() -> None:
    s = four_bars(1, 1.2)
    run = s.simulate(1.0, v=s.consistent_velocities(s.q0, {"A0": 1.0}), tolerance=1e-10)
    assert run.certificate.ok
    from whippletree.results.measure import measured
    from whippletree.results.replay import Replay

    q = run.q.copy()
    q[100, 0] += 1e-6
    found = measured(Replay(s, run.t, q, run.v, run.z, work=run.work))
    assert found["closure_residual"] > 1e-8
    v = run.v.copy()
    v[-1] *= 1.001
    found = measured(Replay(s, run.t, run.q, v, run.z, work=run.work))
    balance = found["energy_end"] - found["energy_start"] - found["work_in"] + found["work_dissipated"]
    assert abs(balance) > 1e-5 * found["energy_scale"]


def test_work_of_efforts_is_balanced() -> None:
    run = pendulum().simulate(2.0, tau=[0.7], tolerance=1e-10)
    assert run.certificate.work_in == pytest.approx(0.7 * (run["A"][-1] - run["A"][0]), rel=1e-8)
    assert run.certificate.ok


# ---------------------------------------------------------------------- stepping


def test_stepping_cloning_and_pickling() -> None:
    sim = Simulation(pendulum(), q=[1.0], method="rk4", step=1e-3)
    sim.step(0.3)
    twin, again = sim.clone(), pickle.loads(pickle.dumps(sim))
    sim.step(0.7, tau=[0.1])
    for other in (twin, again):
        assert other.state.t == pytest.approx(0.3)
        other.step(0.7, tau=[0.1])
        assert (other.state.q == sim.state.q).all()
        assert (other.state.v == sim.state.v).all()
    before = sim.state
    sim.step(0.1)
    sim.state = before
    sim.step(0.1)
    twin.step(0.1)
    assert (sim.state.q == twin.state.q).all()


def test_constant_memory_over_many_steps() -> None:
    sim = Simulation(pendulum(), q=[1.0], method="rk4", step=1e-4)
    sim.step(10.0)  # a hundred thousand steps, one output
    assert sim.steps == 100_000
    assert sim.state.t == pytest.approx(10.0)


def test_outputs_are_where_they_were_asked_for() -> None:
    run = pendulum().simulate(1.0, every=0.3, q=[1.0], tolerance=1e-10)
    assert run.t == pytest.approx([0, 0.3, 0.6, 0.9, 1.0])
    fine = pendulum().simulate(1.0, times=[0.6], q=[1.0], tolerance=1e-12, method="dop853")
    assert run.q[2] == pytest.approx(fine.q[0], abs=1e-8)


# ---------------------------------------------------------------------- what cannot be done


def test_bad_settings_are_refused() -> None:
    s = pendulum()
    for options, words in (
        ({"method": "rk4"}, "step="),
        ({"method": "rk4", "step": 0.0}, "step="),
        ({"method": "magic"}, "no method"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"tolerance": float("nan")}, "tolerance"),
        ({"every": 0.0}, "every"),
        ({"every": 1e-12}, "outputs"),
        ({"times": [2.0, 1.0]}, "increasing"),
        ({"times": [5.0]}, "between"),
        ({"q": [np.nan]}, "finite"),
        ({"v": [1.0, 2.0]}, "v"),
        ({"every": "often"}, "every= must be a positive number"),
        ({"times": ["now"]}, "times= must be increasing finite numbers"),
        ({"times": np.ma.array([0.5, 1.0], mask=[True, False])}, "times= must be increasing finite numbers"),
        ({"q": np.ma.array([1.0], mask=[True])}, "q has masked entries"),
        ({"q": {"A": np.ma.array([1.0], mask=[True])}}, 'joint "A" has 1 coordinates, which must be real numbers'),
        ({"adaptive": "x"}, "adaptive= must be True, False or None, not 'x'"),
        ({"adaptive": 1}, "adaptive= must be True, False or None"),
        ({"foo": 1}, 'no option "foo"; there is every, times, progress, t0, controller'),
        ({"tolerence": 1e-6}, 'no option "tolerence"; there is tolerance, reference, every'),
        ({"t": 1.0}, 'no option "t"; there is'),
        ({"t0": np.nan}, "t0 must be finite"),
        ({"t0": "noon"}, "t0 must be a number"),
        ({"t0": 1e300}, r"outputs 0\.002 s apart cannot be told apart at t0 = 1e\+300 s"),
        ({"t0": 1e15, "every": 0.01}, "cannot be told apart at t0"),
    ):
        with pytest.raises(wt.StateError, match=words):
            s.simulate(1.0, **options)
    with pytest.raises(wt.StateError, match=r"duration=1e\+308 s is longer than can be computed"):
        s.simulate(1e308)
    with pytest.raises(wt.StateError, match="duration"):
        s.simulate(-1.0)


def test_times_to_move_on_to() -> None:
    sim = Simulation(pendulum(), q=[1.0])
    fixed = np.array([0.1, 0.2])
    fixed.flags.writeable = False
    rows = sim.run(fixed)  # what may not be written to is not
    assert rows.shape == (2, sim.row_size)
    assert sim.run([]).shape == (0, sim.row_size)
    assert sim.run([0.2, 0.2, 1]).shape == (3, sim.row_size)
    dates = np.array(["2020-01-01"], dtype="datetime64[s]")
    wrong = (["soon"], ["2.0"], None, 2.0, [[2.0]], [2.0, np.nan], [3.0, 2.0], [2.0, 1j], [True], dates)
    for until in (*wrong, np.ma.array([2.0], mask=[True])):
        with pytest.raises(wt.StateError, match="until= must be increasing finite numbers"):
            sim.run(until)
    with pytest.raises(wt.StateError, match=r"until\[0\] is 0.5 s, but the simulation is at 1 s"):
        sim.run([0.5, 2.0])
    assert sim.state.t == 1.0


def test_rows_to_write_to() -> None:
    sim = Simulation(pendulum(), q=[1.0])
    until, rows = np.array([0.1, 0.2]), np.zeros((3, sim.row_size))
    given = sim.clone().run(until, rows=rows)
    np.testing.assert_array_equal(given, sim.clone().run(until))
    np.testing.assert_array_equal(rows[:2], given)
    fixed = rows.copy()
    fixed.flags.writeable = False
    wrong = (rows[:1], rows[:, 1:], rows.T, rows.astype(np.float32), rows.tolist(), rows.ravel(), 3, rows[::2], fixed)
    for other in wrong:
        with pytest.raises(wt.StateError, match="rows= must be"):
            sim.run(until, rows=other)
    with pytest.raises(wt.StateError, match="rows= must be"):
        sim.run(until, resumed=True)
    sim.run(until, rows=rows)
    for later in ([0.3], [0.05, 0.1, 0.15]):
        with pytest.raises(wt.StateError, match="resumed with the times and rows that it was begun with"):
            sim.run(later, rows=rows, resumed=True)


def test_what_is_no_simulation() -> None:
    class Odd:
        def __float__(self) -> float:
            raise RuntimeError

    s = pendulum()
    with pytest.raises(
        wt.StateError, match=r"a simulation is of a system, as mechanism.build\(\) returns it, not of 3"
    ):
        Simulation(3)  # type: ignore[arg-type]
    sim = Simulation(s, t=1e6)
    with pytest.raises(wt.StateError, match=r"duration=1e-12 s is lost in rounding at t = 1e\+06 s"):
        sim.step(1e-12)
    for duration in ("1", True, Odd(), np.ma.masked, [1.0], -1.0):
        with pytest.raises(wt.StateError, match="duration= must be a positive number"):
            sim.step(duration)  # type: ignore[arg-type]
    for options in ({"tolerance": True}, {"step": "1e-3"}, {"step": Odd()}):
        with pytest.raises(wt.StateError, match="must be a positive number"):
            Simulation(s, **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "adams"}, {"method": "trapezoidal", "step": 0.01, "adaptive": True}],
)
def test_a_long_duration_makes_no_step_too_small(options: dict[str, object]) -> None:
    def system() -> wt.System:
        m = wt.Mechanism("pendulum")
        m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="-z")), axis="y")
        m.event("low", m.coordinate("A"), velocities={"A": m.rate("A")})  # acts, again and again
        m.event("end", m.time - 2.0, stop=True)
        return m.build()

    short, long = (system().simulate(duration, q=[1.0], tolerance=1e-6, **options) for duration in (3.0, 1e16))
    assert long.t[-1] == pytest.approx(2.0)
    assert long.info["ended_by"] == "end"
    assert [event.t for event in long.events] == pytest.approx([event.t for event in short.events], abs=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "rk4", "step": 7e-3},
        {"method": "dop853", "tolerance": 1e-9},
        {"method": "adams", "tolerance": 1e-10},
        {"method": "trapezoidal", "step": 7e-3},
    ],
    ids=lambda options: options["method"],
)
def test_outputs_at_the_ends_of_steps_where_time_is_rounded(options: dict[str, object]) -> None:
    """At a million seconds steps are not as long as they are said to be, and their ends are outputs all the same."""
    s = pendulum()
    early = s.simulate(0.7, every=7e-3, q=[1.0], **options)
    late = s.simulate(0.7, every=7e-3, q=[1.0], t0=1e6, **options)
    assert np.abs(late.q - early.q).max() < 1e-8


def test_steps_that_the_present_time_swallows_end_the_run() -> None:
    with pytest.raises(wt.SimulationError, match=r"a step of .* s is lost in rounding: begin at a smaller t0"):
        pendulum().simulate(1000.0, t0=1e16, every=100.0, q=[1.0], tolerance=1e-10)


def test_an_inconsistent_start_is_refused() -> None:
    s = four_bars(1, 1.2)
    q = s.q0
    q[0] += 0.1
    with pytest.raises(wt.StateError, match="open"):
        s.simulate(1.0, q=q)
    v = s.consistent_velocities(s.q0, {"A0": 1.0})
    v[1] += 0.1
    with pytest.raises(wt.StateError, match='velocities do not satisfy "C0"'):
        s.simulate(1.0, v=v)


def test_a_blow_up_keeps_what_was_computed() -> None:
    m = wt.Mechanism("runaway", gravity=(0, 0, 0))
    ball = m.body("ball", wt.sphere(radius=0.1, mass=1.0))
    m.prismatic("slide", m.ground, ball, axis="z")
    m.actuator("push", "slide", effort=m.coordinate("slide") ** 3)
    with pytest.raises(wt.SimulationError, match=r'at t = .* joint "slide"') as caught:
        m.build().simulate(10.0, q=[1.0], v=[1.0], every=0.01)
    run = caught.value.trajectory
    assert 0.2 < run.t[-1] < 3.0
    assert len(run) > 20
    assert not run.certificate.ok
    assert "too small" in run.certificate.stopped or "finite" in run.certificate.stopped


def test_a_run_without_accelerations_says_why() -> None:
    m = wt.Mechanism("nut")
    m.cylindrical("Z", m.ground, m.body("nut", mass=2.0), axis="x")
    m.prismatic("slide", m.ground, m.body("other", mass=1.0), axis="x")
    m.drive("push", "Z", index=1, position=m.time)
    with pytest.raises(wt.SimulationError, match=r"t = 0 s there are no accelerations: .* nothing that has inertia"):
        m.build().simulate(1.0)
    m = wt.Mechanism("pole")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="x")), axis="y")
    m.actuator("odd", "A", effort=1 / m.coordinate("A"))
    with pytest.raises(wt.SimulationError, match=r't = 0 s there are no accelerations: .*force "odd" is not finite'):
        m.build().simulate(1.0)


def test_springs_and_dampers_dissipate_what_is_lost() -> None:
    m = wt.Mechanism("oscillator", gravity=(0, 0, 0))
    mass = m.body("mass", wt.box(size=(0.1, 0.1, 0.1), mass=2.0))
    m.prismatic("slide", m.ground, mass, axis="z")
    m.spring("spring", m.ground, mass, stiffness=200.0, free_length=0.5, damping=4.0)
    run = m.build().simulate(2.0, q=[0.6], every=0.01, method="dop853", tolerance=1e-11)
    w0, d = np.sqrt(100.0), 1.0
    w = np.sqrt(w0**2 - d**2)
    t = run.t
    exact = 0.5 + 0.1 * np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))
    assert run["slide"] == pytest.approx(exact, abs=1e-9)
    assert run.certificate.ok
    assert run.certificate.work_dissipated > 0.5
