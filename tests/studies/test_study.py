"""Studies: results by name, failures, stores that are refused, resuming; on threads and in processes."""

from __future__ import annotations

import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import whippletree as wt
from studies import study_functions as functions

pytest.importorskip("zarr", "3.1.3", reason="studies need zarr, which is in the extra `test`")

GRID = wt.cases.grid(mass=[1.0, 2.0, 4.0], length=[0.5, 1.0])


def test_a_function_of_cases_gives_labelled_arrays() -> None:
    study = wt.Study(functions.pendulum(), GRID, functions.fall)
    data = study.run()
    expected = 1.5 * 9.81 / GRID["length"]
    np.testing.assert_allclose(data["acceleration"], expected.broadcast_like(data["acceleration"]), rtol=1e-12)
    assert data["acceleration"].dims == ("mass", "length")
    assert data["mass"].values.tolist() == [1.0, 2.0, 4.0]
    assert data["weight"].sel(mass=4.0, length=0.5) == pytest.approx(4.0 * 9.81)
    assert str(study.status()) == "6 of 6 cases done"
    assert study.case(5).run()["acceleration"] == data["acceleration"].values.ravel()[5]


def test_calls_by_name_give_closed_forms() -> None:
    cases = {"length": [0.5, 1.0, 2.0], "mass": [1.0, 1.0, 3.0]}
    length, mass = np.array(cases["length"]), np.array(cases["mass"])
    rest = wt.Study(functions.pendulum(), cases, "equilibrium").run()
    np.testing.assert_allclose(rest["hinge.angle"], np.pi / 2, rtol=1e-9)
    assert (rest["stable"] == 1.0).all()
    linear = wt.Study(functions.pendulum(), cases, "linearize", keep="frequency").run()
    np.testing.assert_allclose(linear["frequency"][:, 0], np.sqrt(1.5 * 9.81 / length) / (2 * np.pi), rtol=1e-9)
    assert "eigenvalue" not in linear
    held = wt.Study(functions.pendulum(), {**cases, "q": np.full((3, 1), np.pi / 2)}, "reactions").run()
    np.testing.assert_allclose(held["force"].sel(joint="hinge", axis="z"), 9.81 * mass, rtol=1e-9)
    swept = wt.Study(functions.pendulum(), cases, "sweep_joint", joint="hinge", values=[0.0, 0.3], keep=["rod"]).run()
    np.testing.assert_allclose(swept["rod.x"], 0.0, atol=1e-12)
    assert swept.sizes["input"] == 2


def test_a_failing_case_costs_the_others_nothing() -> None:
    study = wt.Study(functions.pendulum(), GRID, functions.refuses_heavy)
    data = study.run()
    assert data["status"].values.tolist() == [[0, 0], [0, 0], [2, 2]]
    assert np.isnan(data["result"].values[2]).all()
    assert np.isfinite(data["result"].values[:2]).all()
    assert [(one.index, one.words) for one in study.failures()] == [(k, "ValueError: too heavy") for k in (4, 5)]
    assert study.status().failed == 2
    with pytest.raises(wt.ResultError, match="case 4 fails: ValueError: too heavy"):
        study.case(4).run()


def test_results_that_do_not_fit_the_others_fail_in_words() -> None:
    study = wt.Study(functions.pendulum(), {"mass": [1.0, 2.0, 4.0]}, functions.sometimes_more)
    assert study.run()["status"].values.tolist() == [0, 0, 2]
    assert "shape (3,), and (2,) in other cases" in study.failures()[0].words


def test_an_array_that_a_function_uses_again_is_kept_as_it_was_returned() -> None:
    kept = np.zeros(1)

    def again(system: wt.System, case: Any) -> Any:
        kept[0] = case["mass"]
        return kept

    data = wt.Study(functions.pendulum(), {"mass": [1.0, 2.0, 4.0]}, again).run(ThreadPoolExecutor(1))
    assert data["result"].values[:, 0].tolist() == [1.0, 2.0, 4.0]


def test_a_study_in_which_nothing_succeeds_is_refused() -> None:
    with pytest.raises(wt.StateError, match="none of 3 cases succeeded; case 0: ZeroDivisionError"):
        wt.Study(functions.pendulum(), {"mass": [1.0, 2.0, 4.0]}, lambda system, case: 1 / 0).run()
    with pytest.raises(wt.StateError, match='no parameter "masss"; did you mean "mass"'):
        wt.Study(functions.pendulum(), {"masss": [1.0]}, "equilibrium").run()


def test_a_function_that_exits_costs_its_case_only() -> None:
    study = wt.Study(functions.pendulum(), GRID, lambda system, case: sys.exit(3) if case["mass"] > 3.0 else 1.0)
    assert study.run()["status"].values.tolist() == [[0, 0], [0, 0], [2, 2]]
    assert study.failures()[0].words == "SystemExit: 3"


def test_variants_of_structure_are_built_case_by_case() -> None:
    data = wt.Study(functions.chain, {"links": [1, 2, 3]}, functions.freedoms).run()
    assert data["result"].values.tolist() == [1.0, 2.0, 3.0]
    lowest = wt.Study(functions.chain, {"links": [1, 2, 3]}, "linearize", keep="eigenvalue", q=np.pi / 2)
    assert lowest.run()["status"].values.tolist() == [0, 2, 2]
    assert "state" not in lowest.failures()[0].words
    heights = wt.Study(functions.chain, {"links": [1, 2]}, "simulate", duration=0.1, keep={"rod 0": "max"}).run()
    assert heights["rod 0 max"].shape == (2, 3)


def test_what_cases_do_not_vary_is_an_option() -> None:
    given = {"duration": 0.5, "every": 0.1, "keep": "final", "q": [0.3]}
    lengths = [0.5, 1.0]
    study = wt.Study(functions.pendulum(), {"length": lengths, "mass": [3.0, 3.0]}, **given)
    again = wt.Study(functions.pendulum(), {"length": lengths}, parameters={"mass": 3.0}, **given)
    assert study.run()["final_q"].values.tobytes() == again.run()["final_q"].values.tobytes()
    assert again.case(1).simulate().q[-1] == again.dataset()["final_q"].values[1]
    held = wt.Study(functions.pendulum(), {"length": lengths}, "reactions", parameters={"mass": 3.0}, q=[np.pi / 2])
    np.testing.assert_allclose(held.run()["force"].sel(joint="hinge", axis="z"), 3.0 * 9.81, rtol=1e-9)


def test_functions_keep_what_is_asked_for() -> None:
    data = wt.Study(functions.pendulum(), GRID, functions.fall, keep=["weight"]).run()
    assert set(data.data_vars) == {"weight", "status", "words", "attempts"}
    with pytest.raises(wt.StateError, match='the results have no "wait"; did you mean "weight"'):
        wt.Study(functions.pendulum(), GRID, functions.fall, keep="wait").run()


def test_any_name_of_a_result_can_be_stored(tmp_path: Path) -> None:
    names = ["left/knee", "../up", "zarr.json", ".", "50 %", "Weg [µm]"]
    cases = {"a/b": [1.0, 2.0], "mass": [1.0, 2.0]}

    def named(system: wt.System, case: Any) -> Any:
        return {name: k * case["a/b"] for k, name in enumerate(names)}

    data = wt.Study(functions.pendulum(), cases, named, store=tmp_path / "folder" / "s.zarr").run()
    assert [data[name].values.tolist() for name in names] == [[k, 2.0 * k] for k in range(len(names))]
    assert data.coords["a/b"].values.tolist() == [1.0, 2.0]
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["s.zarr"]


def test_names_of_results_and_cases_that_clash_are_told() -> None:
    for cases in ({"status": [1.0]}, xr.Dataset({"mass": ("attempts", [1.0, 2.0])})):
        with pytest.raises(wt.StateError, match="cannot be called"):
            wt.Study(functions.pendulum(), cases, functions.fall)
    over_time = xr.Dataset({"mass": ("time", [1.0, 2.0])})
    with pytest.raises(wt.StateError, match='dimension "time", and so has the result "q"'):
        wt.Study(functions.pendulum(), over_time, duration=0.2).run()


def test_one_case_without_dimensions_is_a_study_too() -> None:
    data = wt.Study(functions.pendulum(), xr.Dataset({"mass": 2.0}), functions.fall).run()
    assert data["weight"].item() == pytest.approx(2.0 * 9.81)


def test_the_store_holds_numbers_and_json_only_and_is_read_lazily(tmp_path: Path) -> None:
    place = tmp_path / "fall.zarr"
    study = wt.Study(functions.pendulum(), GRID, functions.fall, store=place)
    run = study.run()
    again = wt.Study(functions.pendulum(), GRID, functions.fall, store=place)
    xr.testing.assert_identical(run.load(), again.dataset().load())
    assert {path.suffix for path in place.rglob("*") if path.is_file()} <= {".json", ""}
    kept = json.loads((place / "zarr.json").read_text())["attributes"]["identity"]
    assert kept["version"] == wt.__version__
    assert kept["processor"]
    with pytest.raises(wt.StateError, match="is there already"):
        again.run()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"model": functions.pendulum(gravity=1.62)}, "another model"),
        ({"cases": {"mass": [1.0, 2.0, 5.0], "length": [1.0, 1.0, 1.0]}}, "other cases"),
        ({"do": functions.refuses_heavy}, "another call"),
        ({"seed": 3}, "another seed"),
        ({"version": "0.0"}, "another version"),
    ],
)
def test_a_store_of_another_study_is_refused_by_name(
    tmp_path: Path, changed: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"model": functions.pendulum(), "cases": GRID, "do": functions.fall, "seed": 0}
    wt.Study(**given, store=tmp_path / "s.zarr").run()
    if "version" in changed:
        monkeypatch.setattr("whippletree.studies.study_identities.__version__", changed.pop("version"))
    with pytest.raises(wt.StateError, match=words):
        wt.Study(**{**given, **changed}, store=tmp_path / "s.zarr").resume()


def test_folders_that_are_no_stores_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("chapter one")
    with pytest.raises(wt.ResultError, match="something else in it"):
        wt.Study(functions.pendulum(), GRID, functions.fall, store=tmp_path).run()
    (tmp_path / "file").write_text("a file")
    with pytest.raises(wt.ResultError, match="file"):
        wt.Study(functions.pendulum(), GRID, functions.fall, store=tmp_path / "file").run()
    assert (tmp_path / "thesis.txt").read_text() == "chapter one"


def test_resuming_computes_only_what_is_missing(tmp_path: Path) -> None:
    cases = {"mass": np.linspace(1.0, 3.0, 40)}
    whole = wt.Study(functions.pendulum(), cases, functions.counted).run().load()
    functions.CALLS.clear()
    study = wt.Study(functions.pendulum(), cases, functions.counted, store=tmp_path / "s.zarr")
    with pytest.raises(wt.StateError, match="nothing is computed yet"):
        study.resume()
    study.run(ThreadPoolExecutor(1), progress=_interrupt)
    done = study.dataset()["status"].values >= 0
    assert 0 < done.sum() < 40
    functions.CALLS.clear()
    data = study.resume().load()
    assert sorted(functions.CALLS) == np.flatnonzero(~done).tolist()
    assert data["result"].values.tobytes() == whole["result"].values.tobytes()
    assert str(study.status()) == "40 of 40 cases done"


def _interrupt(progress: object) -> None:
    raise KeyboardInterrupt


def test_processes_give_the_same_bits(tmp_path: Path) -> None:
    inside = wt.Study(functions.pendulum(), GRID, functions.fall, seed=4).run()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for store in (tmp_path / "s.zarr", None):  # workers write it themselves, or return what they have computed
            data = wt.Study(functions.pendulum(), GRID, functions.fall, seed=4, store=store).run(pool)
            assert data["acceleration"].values.tobytes() == inside["acceleration"].values.tobytes()
            assert data["random"].values.tobytes() == inside["random"].values.tobytes()
            assert (data["attempts"] == 1).all()
        with pytest.raises(wt.StateError, match="cannot be sent to another process"):
            wt.Study(functions.pendulum(), GRID, _unsendable()).run(pool)
        slow = wt.Study(functions.pendulum(), {"mass": [1.0, 2.0, 9.0]}, functions.stuck_if_heavy, time_limit=1.0)
        assert slow.run(pool)["status"].values.tolist() == [0, 0, 2]
        assert "time_limit=1 s" in slow.failures()[0].words
        large = wt.Study(functions.pendulum(), {"mass": [1.0, 2.0, 9.0]}, functions.hoards, memory_limit=3e9)
        assert large.run(pool)["status"].values.tolist() == [0, 0, 2]
        assert "memory_limit" in large.failures()[0].words


def _unsendable() -> Any:
    lock = multiprocessing.Lock()
    return lambda system, case: float(lock is None)


def test_forked_pools_and_limits_in_threads_are_refused() -> None:
    fork = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
    with pytest.raises(wt.StateError, match="spawn"):
        wt.Study(functions.pendulum(), GRID, functions.fall).run(fork)
    for do in (functions.fall, "equilibrium"):
        with pytest.raises(wt.StateError, match=r"time_limit= stops .* in processes only"):
            wt.Study(functions.pendulum(), GRID, do, time_limit=1.0).run()
    with pytest.raises(wt.StateError, match="memory_limit= acts in processes only"):
        wt.Study(functions.pendulum(), GRID, functions.fall, memory_limit=1e9).run()
    for wrong in ("threads", True, 0, 1.5):
        with pytest.raises(wt.StateError, match="executor="):
            wt.Study(functions.pendulum(), GRID, functions.fall).run(wrong)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": 3}, "a study is of a System"),
        ({"do": "simulat"}, 'did you mean "simulate"'),
        ({"seed": -1}, "seed="),
        ({"time_limit": 0.0}, "time_limit="),
        ({"do": "simulate"}, 'do="simulate" needs duration='),
        ({"do": "simulate", "duration": 1.0, "outputs": "final"}, "outputs= is no option of a study: keep="),
        ({"do": "simulate", "duration": 1.0, "parameters": {"mass": 1.0}}, '"mass" is a variable of the cases, and'),
    ],
)
def test_wrong_arguments_are_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        wt.Study(**{"model": functions.pendulum(), "cases": GRID, "do": functions.fall, **options})


def test_progress_knows_cases_failures_and_rate() -> None:
    told: list[Any] = []
    wt.Study(functions.pendulum(), GRID, functions.refuses_heavy).run(progress=told.append)
    last = told[-1]
    assert (last.cases, last.done, last.failed) == (6, 6, 2)
    assert last.rate > 0
    assert "6 of 6 cases, 2 failed" in str(last)


def test_simulations_have_the_bits_that_they_have_alone(tmp_path: Path) -> None:
    cases = wt.cases.grid(mass=[1.0, 2.0, 4.0], length=[0.5, 1.0, 1.5, 2.0])
    keep = {"hinge": ["max", "final"]}
    study = wt.Study(functions.pendulum(), cases, keep=keep, store=tmp_path / "s.zarr", duration=1.0, every=0.1)
    data = study.run()
    assert data["hinge max"].dims == ("mass", "length")
    for k in (0, 5, 11):
        run = study.case(k).simulate()
        assert run["hinge"].max() == data["hinge max"].values.ravel()[k]
        assert run.q[-1, 0] == data["hinge final"].values.ravel()[k]
    final = wt.Study(functions.pendulum(), cases, keep="final", duration=1.0, every=0.1).run()
    assert final["final_q"].values[..., 0].tobytes() == data["hinge final"].values.tobytes()
    assert (data["certificate_ok"] == 1.0).all()


def test_states_over_time_start_where_their_cases_say() -> None:
    study = wt.Study(functions.pendulum(), {"q": [[0.1], [0.2]], "t0": [0.0, 0.0]}, duration=0.2, every=0.1)
    data = study.run()
    assert data["q"].dims == ("case", "time", "coordinate")
    assert data["q"].values[:, 0, 0].tolist() == [0.1, 0.2]
    assert data["coordinate"].values.tolist() == ["hinge.angle"]


def test_a_model_file_says_how_its_cases_run() -> None:
    model = wt.read(Path(__file__).parents[2] / "examples" / "quarter_car.yaml")
    study = wt.Study(model, {"roughness": [0.5, 1.0]}, keep={"heave": "max"}, duration=1.0)
    found = study.run()["heave max"].values
    assert found[0] < found[1] == study.case(1).simulate()["heave"].max()
    assert study.case(1).simulate().v[0].any()  # the wheel spins, as the file says


def test_simulations_that_take_too_long_fail_in_words() -> None:
    study = wt.Study(functions.pendulum(), {"length": [1.0, 1e-14]}, keep="final", duration=1.0, time_limit=0.5)
    assert study.run()["status"].values.tolist() == [0, 2]
    assert "time_limit=0.5" in study.failures()[0].words


def test_a_run_that_blows_up_costs_its_case_only() -> None:
    given = {"method": "rk4", "step": 0.01, "duration": 0.5, "keep": "final"}
    study = wt.Study(functions.pendulum(), {"tau": [[1.0], [1e308], [2.0]]}, **given)
    data = study.run()
    assert data["status"].values[[0, 2]].tolist() == [0, 0]
    assert data["status"].values[1] >= 2
    assert study.failures()[0].index == 1
