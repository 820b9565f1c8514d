"""Many runs in one call: each is the run that `simulate` makes alone, bit by bit, whatever happens to the others."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import whippletree as wt
from support.systems import crank_and_rocker
from whippletree.errors import AssemblyError, ResultError, SimulationError, StateError
from whippletree.results.netcdf_files import decoded
from whippletree.simulate import Simulation
from whippletree.system.example_systems import pendulum

Array = np.ndarray


@cache
def arm() -> wt.System:
    """Two links with a payload, a stop that is an event, and a spring that pushes ever harder where it is told to."""
    m = wt.Mechanism("arm")
    payload, push = m.parameter("payload", 1.0), m.parameter("push", 0.0)
    upper = m.body("upper", wt.rod(length=0.6, mass=2.0, axis="x"))
    fore = m.body("fore", wt.rod(length=0.4, mass=1.0, axis="x") + wt.point_mass(payload, at=(0.4, 0, 0)))
    m.revolute("shoulder", m.ground, upper, axis="y")
    m.revolute("elbow", upper, fore, at=(0.6, 0, 0), axis="y")
    m.frame("tip", on=fore, at=(0.4, 0, 0))
    m.actuator("drive", "elbow", effort=push * m.rate("elbow") ** 3 - 0.1 * m.rate("elbow"))
    m.event("down", m.coordinate("shoulder") - 1.5, stop=True)
    return m.build()


@cache
def crank() -> wt.System:
    """A crank and rocker whose plan becomes poor, and whose coupler has a length that is a parameter."""
    return crank_and_rocker().build(guess={"A": 1.0, "B": -0.5, "D": 1.5}, dependent=("A", "B"))


@cache
def four_bar() -> wt.System:
    """A four-bar whose rocker's length is a parameter."""
    m = wt.Mechanism("four-bar")
    length = m.parameter("rocker", 0.5)
    parts = {
        name: m.body(name, wt.rod(length=x, mass=1.0, axis="x")) for name, x in {"crank": 0.2, "coupler": 0.7}.items()
    }
    parts["rocker"] = m.body("rocker", wt.rod(length=length, mass=1.0, axis="x"))
    m.revolute("A", m.ground, parts["crank"], axis="z")
    m.revolute("B", parts["crank"], parts["coupler"], at=(0.2, 0, 0), axis="z")
    m.revolute("D", m.ground, parts["rocker"], at=(0.6, 0, 0), axis="z")
    m.revolute("C", parts["coupler"], parts["rocker"], at=(0.7, 0, 0), at_child=(length, 0, 0), axis="z")
    return m.build(guess={"A": 1.0, "D": 1.5})


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "payloads, events, one that blows up": (
        arm,
        {
            "parameters": {"payload": np.linspace(0.5, 3.0, 7), "push": np.array([0, 0, 0, 50.0, 0, 0, 0])},
            "q": {"shoulder": np.linspace(-2.5, 1.2, 7)},
            "v": {"elbow": 2.0},
        },
    ),
    "loops that change plans": (crank, {"v": {"A": np.linspace(5.0, 7.0, 4)}}),
    "lengths that change": (four_bar, {"parameters": {"rocker": np.linspace(0.45, 0.55, 4)}, "v": {"A": 3.0}}),
}


def same(one: wt.Trajectory, other: wt.Trajectory) -> bool:
    """Tell whether two runs have the same bits."""
    arrays = all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("t", "q", "v", "z", "efforts", "work")
    )
    kept = ("steps", "refused", "evaluations", "replans", "closure_residual", "energy_end", "energy_drift", "stopped")
    figures = all(repr(one.certificate[n]) == repr(other.certificate[n]) for n in kept)
    return arrays and figures and [e.t for e in one.events] == [e.t for e in other.events]


def finished(system: wt.System, duration: float, options: dict[str, Any]) -> wt.Trajectory:
    try:
        return system.simulate(duration, **options)
    except SimulationError as error:
        return error.trajectory


def picked(given: dict[str, Any], k: Any) -> dict[str, Any]:
    """The arguments of some of the runs."""
    return {
        name: {key: one[k] if np.ndim(one) else one for key, one in values.items()} for name, values in given.items()
    }


@pytest.mark.parametrize("case", CASES)
def test_each_run_has_the_bits_that_it_has_alone(case: str) -> None:
    make, given = CASES[case]
    system, n = make(), max(np.size(one) for values in given.values() for one in values.values())
    shuffled = np.random.default_rng(3).permutation(n)
    first = system.simulate_many(1.0, every=0.1, threads=1, **given)
    second = system.simulate_many(1.0, every=0.1, threads=2, **picked(given, shuffled))
    final = system.simulate_many(1.0, every=0.1, threads=2, outputs="final", **given)
    for k in range(n):
        one = finished(system, 1.0, {"every": 0.1, **picked(given, k)})
        assert same(one, first[k])
        assert same(one, second[int(np.flatnonzero(shuffled == k)[0])])
        assert same(one, final[k])
        assert np.array_equal(final.dataset["final_q"][k], one.q[-1])
        made = len(one.t) if one.t[-1] == 1.0 else len(one.t) - 1
        assert np.array_equal(first.dataset["q"][k, :made], one.q[:made])
        assert np.isnan(first.dataset["q"][k, made:]).all()
        assert first.dataset["steps"][k] == one.certificate.steps
        assert bool(first.dataset["certificate_ok"][k]) == one.certificate.ok
    if case.startswith("payloads"):
        assert first.dataset["status"].values[[0, 3, 5, 6]].tolist() == [0, 2, 1, 1]
        assert "blows up" in str(first.dataset["words"].values[3])
        assert str(first.dataset["words"].values[5]) == 'ended by event "down"'
    if case.startswith("loops"):
        assert any(one.certificate.replans for one in first)


def test_sizes_broadcast_and_what_does_not_fit_is_named() -> None:
    s = arm()
    loads, speeds = np.array([0.5, 1.0, 2.0]), np.array([[0.0], [1.0]])
    runs = s.simulate_many(0.2, every=0.1, parameters={"payload": loads}, v={"elbow": speeds}, t0=0.5)
    assert (len(runs), runs.shape, runs.dataset["q"].shape) == (6, (2, 3), (2, 3, 3, 2))
    assert runs.dataset["time"].values.tolist() == [0.5, 0.6, 0.7]
    assert runs.dataset["q"].dims == ("run_0", "run_1", "time", "coordinate")
    assert runs.dataset["payload"][1].values.tolist() == loads.tolist()
    one = s.simulate(0.2, every=0.1, parameters={"payload": 2.0}, v={"elbow": 1.0}, t0=0.5)
    assert same(runs[1, 2], one)
    assert same(runs[5], one)
    alike = s.simulate_many(0.2, every=0.1, q=np.zeros((3, 2)), t0=[0.0, 1.0, 2.0])
    assert alike.dataset["time"].values.tolist() == [0.0, 0.1, 0.2]
    single = s.simulate_many(0.2, every=0.1)
    assert (len(single), single.dataset["q"].dims) == (1, ("time", "coordinate"))
    with pytest.raises(StateError, match=r'sizes do not fit.*q \(4,\).*parameters\["payload"\] \(3,\)'):
        s.simulate_many(0.2, q=np.zeros((4, 2)), parameters={"payload": loads})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"parameters": {"load": [1.0]}}, 'no parameter "load".*"payload"'),
        ({"q": {"hip": [1.0]}}, 'no joint "hip"'),
        ({"q": np.zeros((3, 5))}, r"q must have the last size 2.*\(3, 5\)"),
        ({"v": {"elbow": ["fast"]}}, r'v\["elbow"\] must hold real numbers'),
        ({"outputs": "tap"}, 'no quantity "tap".*"tip"'),
        ({"outputs": {"tip": "maximum"}}, 'no statistic "maximum".*"max"'),
        ({"on_error": "stop"}, 'on_error= must be "keep" or "raise"'),
        ({"method": "dopri7"}, "no method"),
        ({"threads": 0}, "threads="),
        ({"times": [0.1], "t0": [0.0, 1.0]}, "times= are the same for all runs"),
    ],
)
def test_what_no_run_can_have_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(wt.WhippletreeError, match=words):
        arm().simulate_many(0.2, **options)


def test_a_start_that_cannot_be_assembled_costs_its_own_run_only() -> None:
    given: dict[str, Any] = {"parameters": {"rocker": [0.5, 5.0, 0.52]}}
    runs = four_bar().simulate_many(0.3, every=0.1, **given)
    assert runs.dataset["status"].values.tolist() == [0, 3, 0]
    assert "cannot be closed" in str(runs.dataset["words"].values[1])
    assert np.isnan(runs.dataset["q"][1]).all()
    assert np.isfinite(runs.dataset["q"][2]).all()
    with pytest.raises(StateError, match=r"run 1 was not made: .*cannot be closed"):
        runs[1]
    with pytest.raises(AssemblyError, match="cannot be closed"):
        four_bar().simulate_many(0.3, on_error="raise", **given)
    with pytest.raises(SimulationError, match="blows up"):
        arm().simulate_many(1.0, on_error="raise", v={"elbow": 2.0}, parameters={"push": [0.0, 50.0]})


def test_quantities_and_statistics_are_those_of_the_runs() -> None:
    s = arm()
    given: dict[str, Any] = {"parameters": {"payload": [0.5, 2.0]}, "q": {"shoulder": [-0.5, 1.2]}}
    names = ["tip", "shoulder.force", "drive", "energy", "final"]
    found = s.simulate_many(0.4, every=0.1, outputs=names, **given).dataset
    words = ["min", "max", "time of max", "mean", "rms", "final", "median", "quantile 0.25"]
    asked = {"tip": words, "elbow": "max", "reach": lambda state: {"sum of angles": state.q.sum(), "end": state.t}}
    reduced = s.simulate_many(0.4, every=0.1, outputs=asked, **given).dataset
    assert found["tip"].units == "m"
    assert found["tip component"].values.tolist() == [f"tip.position {axis}" for axis in "xyz"]
    for k in range(2):
        run = s.simulate(0.4, every=0.1, **picked(given, k))
        made = min(len(run), 5) if run.t[-1] == 0.4 else len(run) - 1
        assert np.array_equal(found["tip"][k, :made], run["tip"][:made])
        assert np.array_equal(found["shoulder.force"][k, :made], run["shoulder.force"][:made])
        assert np.array_equal(found["drive"][k, :made], run["drive"].reshape(len(run), -1)[:made, 0])
        x, t = run["tip"], run.t
        assert np.array_equal(reduced["tip max"][k], x.max(axis=0))
        assert np.array_equal(reduced["tip time of max"][k], t[x.argmax(axis=0)])
        assert np.allclose(reduced["tip mean"][k], np.trapezoid(x, t, axis=0) / (t[-1] - t[0]), rtol=1e-14)
        assert np.allclose(reduced["tip rms"][k] ** 2, np.trapezoid(x**2, t, axis=0) / (t[-1] - t[0]), rtol=1e-14)
        assert np.array_equal(reduced["tip median"][k], np.median(x, axis=0))
        assert np.array_equal(reduced["tip final"][k], x[-1])
        assert float(reduced["elbow max"][k]) == run["elbow"].max()
        assert float(reduced["sum of angles"][k]) == run.q[-1].sum()
        assert float(reduced["end"][k]) == run.t[-1]


def test_a_function_that_raises_is_told_of_its_run() -> None:
    runs = arm().simulate_many(0.2, v={"elbow": [0.0, 1.0]}, outputs=lambda state: 1.0 / round(state.t - 0.2))
    assert runs.dataset["status"].values.tolist() == [2, 2]
    assert "ZeroDivisionError" in str(runs.dataset["words"].values[0])


def test_the_dataset_is_saved(tmp_path: Path) -> None:
    runs = arm().simulate_many(0.2, every=0.1, parameters={"payload": [0.5, 2.0]}, outputs=["state", "tip"])
    runs.save(tmp_path / "runs.nc")
    again = decoded((tmp_path / "runs.nc").read_bytes())
    assert np.array_equal(again["q"], runs.dataset["q"])
    assert again["payload"].values.tolist() == [0.5, 2.0]
    assert set(again.coords) == set(runs.dataset.coords)
    with xr.open_dataset(tmp_path / "runs.nc", engine="scipy") as opened:
        assert np.array_equal(opened["tip"], runs.dataset["tip"])
    with pytest.raises(StateError, match=r"runs.nc"):
        runs.save(tmp_path / "runs.csv")
    with pytest.raises(ResultError, match="no folder"):
        runs.save(tmp_path / "nowhere" / "runs.nc")


def test_progress_tells_the_share_of_the_runs() -> None:
    shares: list[float] = []
    arm().simulate_many(0.1, v={"elbow": np.zeros(5)}, progress=shares.append)
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


def pull(t: float, q: Array, v: Array, z: Array) -> Array:
    """A controller that treats all runs alike: springs and dampers, stiffer later."""
    return -(1.0 + t) * q[:, ::-1] - 0.5 * v


@pytest.mark.parametrize("options", [{"block": 3}, {"threads": 2}, {"threads": 1, "block": 1}])
def test_a_controller_of_a_block_gives_each_run_the_bits_that_it_has_alone(options: dict[str, Any]) -> None:
    given, n = CASES["payloads, events, one that blows up"][1], 7
    runs = arm().simulate_many(1.0, every=0.1, controller=pull, period=0.05, **options, **given)
    assert len({*runs.dataset["status"].values}) > 1
    for k in range(n):
        alone = {"every": 0.1, "controller": lambda t, q, v, z: pull(t, q[None], v[None], z[None])[0], "period": 0.05}
        one = finished(arm(), 1.0, {**alone, **picked(given, k)})
        assert same(one, runs[k])
    final = arm().simulate_many(1.0, every=0.1, controller=pull, period=0.05, outputs="final", **options, **given)
    assert same(final[2], runs[2])


def test_a_controller_is_told_of_the_runs_that_still_go() -> None:
    sizes: list[int] = []

    def law(t: float, q: Array, v: Array, z: Array) -> dict[str, Array]:
        sizes.append(len(q))
        return {"elbow": -0.1 * v[:, 1]}

    starts = {"shoulder": [-2.5, 1.2, 1.4]}
    runs = arm().simulate_many(1.0, every=0.1, q=starts, controller=law, period=0.1)
    assert runs.dataset["status"].values.tolist() == [0, 1, 1]
    assert (sizes[0], sizes[-1]) == (3, 1)


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (lambda t, q, v, z: v[0], "returned the shape"),
        (lambda t, q, v, z: {"elbow": 1.0}, '2 numbers, one for each run for joint "elbow"'),
        (lambda t, q, v, z: None, "returned nothing"),
        (lambda t, q, v, z: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_a_controller_must_not_return_is_told_of_each_run(law: Any, words: str) -> None:
    runs = arm().simulate_many(0.2, v={"elbow": [0.0, 1.0]}, controller=law, period=0.1)
    assert runs.dataset["status"].values.tolist() == [2, 2]
    assert words in str(runs.dataset["words"].values[1])
    with pytest.raises(StateError, match="give period="):
        arm().simulate_many(0.2, controller=law)
    with pytest.raises(StateError, match="common sample times"):
        arm().simulate_many(0.2, t0=[0.0, 1.0], controller=law, period=0.1)


def test_a_simulation_begun_anew_is_as_new() -> None:
    """After a run with events, corners, other parameters and another plan, by methods that remember and that do not."""
    for system, v in ((arm(), {"elbow": 2.0}), (crank(), {"A": 6.0})):
        for options in ({}, {"method": "adams"}, {"method": "trapezoidal", "step": 5e-3}):
            sim = Simulation(system, v=v, **options)
            sim.run(np.array([0.3, 0.9]))
            parameters = {"payload": 2.0} if system is arm() else None
            sim.restart(v={next(iter(v)): 1.0}, parameters=parameters)
            new = Simulation(system, v={next(iter(v)): 1.0}, parameters=parameters, **options)
            assert np.array_equal(sim.run(np.array([0.2, 0.5])), new.run(np.array([0.2, 0.5])))
            assert (sim.steps, sim.evaluations, sim.replans) == (new.steps, new.evaluations, new.replans)


def test_runs_in_natural_coordinates_are_those_alone() -> None:
    """With all settings left as they are: each formulation has defaults of its own."""
    system, start = pendulum(), {"v": {"hinge": 1.0}}
    alone = system.simulate(0.2, every=0.1, formulation="natural", step=4e-3, **start)
    runs = system.simulate_many(0.2, every=0.1, formulation="natural", step=4e-3, v={"hinge": [1.0, 2.0]})
    assert (runs[0].q == alone.q).all()
    assert (runs.dataset["q"][0] == alone.q).all()
