"""A trajectory gives its states, and what follows from them, by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import whippletree as wt
from results.runs import QUIET, changed, floating_system, four_bar, pendulum, pendulum_system, quarter_car, tumbling
from support.systems import same_bits
from whippletree.results import Certificate, Event, Trajectory, replay

# ---------------------------------------------------------------------- states by name


def test_a_single_coordinate_is_a_row_of_numbers() -> None:
    run = pendulum()
    assert same_bits(run["A"], run.q[:, 0])
    assert same_bits(run.coordinates("A"), run.q[:, 0])
    assert same_bits(run.velocities("A"), run.v[:, 0])


def test_several_coordinates_are_columns() -> None:
    run = tumbling()
    system = floating_system()
    assert same_bits(run["flight"], run.q[:, system.q_slice("flight")])
    assert same_bits(run.velocities("socket"), run.v[:, system.v_slice("socket")])
    assert same_bits(run["slide"], run.q[:, system.q_slice("slide")][:, 0])


def test_a_label_names_one_number() -> None:
    run = tumbling()
    start = floating_system().q_slice("flight").start
    assert same_bits(run["flight.position y"], run.q[:, start + 5])
    assert same_bits(run["slide.velocity"], run.velocities("slide"))


def test_handles_are_names() -> None:
    m = wt.Mechanism("m")
    rod = m.body("rod", wt.rod(length=1.0, mass=1.0, axis="x"))
    hinge = m.revolute("A", m.ground, rod, axis="y")
    run = Trajectory(m.build(), [0.0, 1.0], [[0.1], [0.2]], [[0.0], [0.0]])
    assert run.coordinates(hinge).tolist() == [0.1, 0.2]
    assert run.pose(rod).shape == (2, 4, 4)
    assert run[hinge].tolist() == [0.1, 0.2]  # type: ignore[call-overload]


def test_states_by_number_and_by_slice() -> None:
    run = pendulum()
    q, v, z = run[-1]
    assert same_bits(q, run.q[-1])
    assert same_bits(v, run.v[-1])
    assert z.shape == (0,)
    assert same_bits(run[3:7].q, run.q[3:7])
    assert same_bits(run[::5].t, run.t[::5])
    assert len(list(run)) == len(run) == 26


def test_slices_and_spans_copy_nothing() -> None:
    run = pendulum()
    assert np.shares_memory(run[3:7].q, run.q)
    part = run.between(0.1, 0.3)
    assert np.shares_memory(part.v, run.v)
    assert part.t[0] == run.t[5]
    assert part.t[-1] == run.t[15]


def test_states_of_elements_by_name() -> None:
    run = quarter_car()
    assert same_bits(run.state("lag"), run.z[:, 0])
    assert same_bits(run["lag"], run.z[:, 0])
    assert Trajectory(run.system, [0.0, 1.0], np.zeros((2, 2)), np.zeros((2, 2))).z.tolist() == [[0.0], [0.0]]


# ---------------------------------------------------------------------- what follows


@pytest.mark.parametrize("make", [pendulum, tumbling, four_bar, quarter_car])
def test_quantities_are_those_of_the_system_state_by_state(make) -> None:  # type: ignore[no-untyped-def]
    run = make()
    system = run.system
    body = system.description.bodies[-1].name
    a, energy, reactions = run.accelerations(), run.energy(), run.reactions()
    joint = system.joint_names[-1]
    for k in (0, 7, len(run) - 1):
        q, v, z = run[k]
        given = {"z": z if system.nz else None, "t": run.t[k]}
        assert np.allclose(a[k], system.forward_dynamics(q, v, **given), rtol=1e-12, atol=1e-12)
        assert np.allclose(run.pose(body)[k], system.pose(q, body), rtol=0, atol=1e-14)
        assert np.allclose(run.position(body)[k], system.pose(q, body)[:3, 3], rtol=0, atol=1e-14)
        assert np.allclose(run.velocity(body)[k], system.velocity(q, v, body), rtol=1e-13, atol=1e-13)
        its = system.acceleration(q, v, a[k], body, frame="body")
        assert np.allclose(run.acceleration(body, frame="body")[k], its, rtol=1e-11, atol=1e-11)
        assert np.isclose(energy.total[k], system.energy(q, v, t=run.t[k]).total)
        own = system.reactions(q, v, **given)[joint]
        assert np.allclose(reactions[joint].force[k], own.force, rtol=1e-9, atol=1e-9)
        assert (reactions[joint].unique[k] == own.unique).all()


def test_parts_of_quantities_by_name() -> None:
    run = four_bar()
    assert same_bits(run["C.force"], run.reactions()["C"].force)
    assert same_bits(run["C.moment y"], run.reactions()["C"].moment[:, 1])
    assert same_bits(run["crank"], run.position("crank"))
    assert same_bits(run["coupler.velocity"], run.velocity("coupler")[:, 3:])
    assert same_bits(run["coupler.angular velocity"], run.velocity("coupler")[:, :3])
    assert same_bits(run["coupler.acceleration z"], run.acceleration("coupler")[:, 5])
    assert same_bits(run["B.accelerations"], run.accelerations()[:, 1])
    assert run["energy"].shape == (81, 3)
    assert run["reactions"].shape == (81, 24)


def test_work_in_chunks_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    run = four_bar()
    whole = run.reactions().wrenches, run.accelerations(), run.pose("rocker"), run.energy()
    car = quarter_car()
    strut = car.forces()["strut"].wrenches
    monkeypatch.setattr(replay, "CHUNK", 4)
    assert same_bits(car.forces()["strut"].wrenches, strut)
    assert same_bits(run.reactions().wrenches, whole[0])
    assert same_bits(run.accelerations(), whole[1])
    assert same_bits(run.pose("rocker"), whole[2])
    assert same_bits(run.energy().kinetic, whole[3].kinetic)


def test_an_error_in_a_late_chunk_says_from_where_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "CHUNK", 4)
    q = np.array(tumbling().q[:6])
    q[5, :4] *= 2
    run = changed(tumbling()[:6], q=q)
    with pytest.raises(wt.StateError, match=r"state 1 .*counted from output 4"):
        run.energy()


def test_closure_forces_and_time_enter_the_calls() -> None:
    m = wt.Mechanism("driven", gravity=(0.0, 0.0, 0.0))
    rod = m.body("rod", wt.rod(length=1.0, mass=2.0, axis="x"))
    m.revolute("A", m.ground, rod, axis="y")
    m.closure("drive", m.coordinate("A") - m.time**3)
    s = m.build()
    t = np.linspace(0.0, 1.0, 5)
    q, v = t[:, None] ** 3, 3 * t[:, None] ** 2
    run = Trajectory(s, t, q, v)
    assert np.allclose(run.accelerations()[:, 0], 6 * t)
    inertia = 2.0 / 3
    assert np.allclose(run.closure_forces()["drive"][:, 0], 6 * t * inertia)
    assert run.certify().closure_residual < 1e-14
    late = Trajectory(s, t + 0.1, q, v).certify()
    assert late.closure_residual > 1e-2
    assert late.velocity_residual > 1e-2


def test_forces_of_elements_by_name() -> None:
    run = quarter_car()
    system = run.system
    assert system is not None
    found = run.forces()
    assert list(found) == ["strut", "tyre"]
    its = system.forces(run.q[9], run.v[9], t=run.t[9], z=run.z[9])
    assert same_bits(found["strut"].on("chassis")[9], its["strut"].on("chassis"))
    assert same_bits(found["tyre"].wrenches[9], its["tyre"].wrenches)
    table = run.table(["strut", "lag"])
    assert list(table)[1:7] == [f"strut.moment {x} on wheel [N m]" for x in "xyz"] + [
        f"strut.force {x} on wheel [N]" for x in "xyz"
    ]
    assert list(table)[-1] == "lag"
    assert same_bits(table["strut.force z on chassis [N]"].to_numpy(), found["strut"].on("chassis")[:, 5])
    assert run["forces"].shape == (161, 12 + 6)  # the coordinate that the load only reads has no column
    assert np.abs(run["strut"][:, 11]).max() > 1.0


def test_parameters_of_the_run_enter_the_calls() -> None:
    light, heavy = pendulum(), changed(pendulum(), parameters={"mass": 20.0})
    assert np.allclose(heavy.energy().total, 10 * light.energy().total)
    assert light.parameters is not None
    assert light.parameters.tolist() == [2.0]


def test_efforts_of_the_run_enter_the_calls() -> None:
    run = pendulum()
    system = pendulum_system()
    for tau in (np.full((26, 1), 3.0), np.array([3.0])):
        pushed = changed(run, efforts=tau)
        assert np.allclose(pushed.accelerations(), system.forward_dynamics(run.q, run.v, np.full((26, 1), 3.0)))
        assert pushed["efforts"].tolist() == [3.0] * 26
        assert len(pushed[2:4].accelerations()) == 2


# ---------------------------------------------------------------------- frozen


def test_nothing_can_be_changed() -> None:
    t, q, v = np.array([0.0, 1.0]), np.zeros((2, 1)), np.zeros((2, 1))
    run = Trajectory(pendulum_system(), t, q, v)
    q[:] = 5.0
    assert run.q.tolist() == [[0.0], [0.0]]
    with pytest.raises(ValueError, match="read-only"):
        run.q[0] = 1.0
    with pytest.raises(AttributeError):
        run.q = q  # type: ignore[misc]


def test_arrays_that_are_read_only_are_not_copied() -> None:
    q = np.zeros((2, 1))
    q.flags.writeable = False
    assert np.shares_memory(Trajectory(pendulum_system(), [0.0, 1.0], q, np.zeros((2, 1))).q, q)


def test_runs_pickle() -> None:
    run = changed(pendulum(), events=[("touch", 0.1, [0.0], [1.0], [])])
    again = pickle.loads(pickle.dumps(run))
    assert same_bits(again.q, run.q)
    assert again.certify() == run.certify()
    assert again.events[0].name == "touch"
    assert not again.q.flags.writeable
    assert same_bits(again.accelerations(), run.accelerations())


def test_it_says_what_it_is() -> None:
    assert repr(pendulum()) == 'Trajectory of "pendulum": 26 outputs, t = 0 to 0.5 s'


def test_events_keep_their_states_and_follow_spans() -> None:
    event = Event("touch", 0.1, np.array([0.25]), np.array([1.0]), np.zeros(0))
    run = changed(pendulum(), events=[event, ("rest", 0.4, [0.5], [0.0], [])])
    assert [e.name for e in run.events] == ["touch", "rest"]
    assert run.events[0].state.q.tolist() == [0.25]
    assert [e.name for e in run.between(0.3, 0.5).events] == ["rest"]


# ---------------------------------------------------------------------- what is refused

S = pendulum_system
ONES = np.ones((2, 1))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((None, [0, 1], ONES, ONES), "made with its system"),
        ((lambda: None, [0, 1], ONES, ONES), "made with its system"),
        ((S, [], np.ones((0, 1)), np.ones((0, 1))), "at least one output"),
        ((S, [0, 0], ONES, ONES), r"times must increase, but t\[1\] = 0 comes after t\[0\] = 0"),
        ((S, [1, 0], ONES, ONES), "times must increase"),
        ((S, [0, np.nan], ONES, ONES), r"t\[1\] is nan"),
        ((S, [[0, 1]], ONES, ONES), r"t must have the shape \(n\)"),
        ((S, 0.0, ONES, ONES), r"t must have the shape"),
        ((S, [0, 1], np.ones((2, 2)), ONES), r"q must have the shape \(2, 1\), but it is \(2, 2\)"),
        ((S, [0, 1], np.ones((3, 1)), ONES), r"q must have the shape \(2, 1\)"),
        ((S, [0, 1], ONES, [1.0, 2.0]), r"v must have the shape \(2, 1\), but it is \(2,\)"),
        ((S, [0, 1], [[0.0], [np.inf]], ONES), r"q\[1, 0\] is inf"),
        ((S, [0, 1], ONES, [["a"], ["b"]]), "v must hold real numbers"),
        ((S, [0, 1], ONES, [[1], [1, 2]]), "v must hold real numbers"),
        ((S, [0, 1], ONES, ONES, np.zeros((3, 0))), r"z must have the shape \(2, 0\)"),
        ((S, [0, 1], ONES, ONES, None, "fine"), "certificate= must be a Certificate"),
        ((S, [0, 1], ONES, ONES, None, QUIET, ["touch"]), r"an event is \(name, t, q, v, z\)"),
        ((S, [0, 1], ONES, ONES, None, QUIET, [("a", 0, [1, 2], [1], [])]), r'event "a": q must have the shape \(1\)'),
        ((S, [0, 1], ONES, ONES, None, QUIET, [(3, 0, [1], [1], [])]), "the name of an event must be text"),
        ((S, [0, 1], ONES, ONES, None, QUIET, [("a", "b", [1], [1], [])]), 'event "a": t must be real numbers'),
        ((S, [0, 1], ONES, ONES, None, QUIET, (), ["x"]), "info= must be a mapping"),
        (
            (S, [0, 1], ONES, ONES, None, QUIET, (), {}, {"mas": 1.0}),
            'there is no parameter "mas"; did you mean "mass"',
        ),
        ((S, [0, 1], ONES, ONES, None, QUIET, (), {}, [1.0, 2.0]), r"parameters must have the shape \(1\)"),
        ((S, [0, 1], ONES, ONES, None, QUIET, (), {}, None, np.ones((2, 3))), r"efforts must have the shape \(2, 1\)"),
        ((S, [0, 1], ONES, ONES, None, QUIET, (), {}, None, None, ONES), r"work must have the shape \(2, 2\)"),
    ],
)
def test_wrong_input_is_refused_in_words(given, words: str) -> None:  # type: ignore[no-untyped-def]
    system, *rest = given
    with pytest.raises(wt.WhippletreeError, match=words):
        Trajectory(S() if system is S else system, *rest)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r["hinge"], 'there is no quantity "hinge"'),
        (lambda r: r["A.forse"], 'did you mean "A.force"'),
        (lambda r: r["tip.velocty"], 'did you mean "tip.velocity"'),
        (lambda r: r.coordinates("B"), 'there is no joint "B"; there is "A"'),
        (lambda r: r.velocities(3), "there is no joint 3; give a name"),
        (lambda r: r.pose("tipp"), 'there is no body or frame "tipp"; did you mean "tip"'),
        (lambda r: r.state("valve"), 'there is no state "valve"; there is none yet'),
        (lambda r: r["states"], '"states" has no numbers'),
        (lambda r: r["work"], '"work" has no numbers'),
        (lambda r: r[3.5], "there is no quantity 3.5"),
        (lambda r: r[26], "there is no output 26: the run has 26"),
        (lambda r: r[9:9], "at least one output"),
        (lambda r: r.at(0.6), r"t = 0.6 s is not within the run, which goes from 0 to 0.5 s"),
        (lambda r: r.at(-1), "is not within the run"),
        (lambda r: r.at([0.1, 0.2]), "at\\(\\) takes one time"),
        (lambda r: r.at("now"), "the time must be real numbers"),
        (lambda r: r.at(np.nan), "must be finite"),
        (lambda r: r.between(0.3, 0.1), "the earlier one first"),
        (lambda r: r.between(0.301, 0.302), "there is no output from t = 0.301"),
        (lambda r: r.resample(), "either times, or every="),
        (lambda r: r.resample([0.1], every=0.1), "either times, or every="),
        (lambda r: r.resample([0.2, 0.1]), "times must increase"),
        (lambda r: r.resample([]), "at least one output"),
        (lambda r: r.resample([[0.1]]), "one row of numbers"),
        (lambda r: r.resample(every=0.0), "above zero"),
        (lambda r: r.resample(every=-1.0), "above zero"),
        (lambda r: r.resample(every="a"), "every must be real numbers"),
        (lambda r: r.resample(every=1e-300), "take a longer time"),
        (lambda r: r.dataset("posess"), 'a dataset has no quantity "posess"; did you mean "poses"'),
        (lambda r: r.table("q"), 'there is no quantity "q"'),
        (lambda r: r.table(3), "must be a name or a list of names"),
        (lambda r: r.velocity("tip", frame="world"), "frame= must be"),
    ],
)
def test_wrong_questions_are_answered_in_words(ask, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(wt.WhippletreeError, match=words):
        ask(pendulum())


def test_a_run_of_one_output() -> None:
    run = pendulum()[:1]
    assert run.at(0.0).q.tolist() == run.q[0].tolist()
    assert len(run.resample(every=0.1)) == 1
    assert run.certify().ok


def test_a_mechanism_that_cannot_move() -> None:
    m = wt.Mechanism("statue")
    m.fixed("base", m.ground, m.body("block", wt.box((1.0, 1.0, 1.0), mass=1.0)))
    run = Trajectory(m.build(), [0.0, 1.0], np.zeros((2, 0)), np.zeros((2, 0)), None, Certificate())
    assert run.pose("block").shape == (2, 4, 4)
    assert run.energy().total.tolist() == [0.0, 0.0]
    assert run.accelerations().shape == (2, 0)
    assert run.at(0.5).q.shape == (0,)
    assert np.allclose(run.reactions()["base"].force[:, 2], 9.81)
