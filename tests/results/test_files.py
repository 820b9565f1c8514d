"""Runs go to files and come back bit for bit; a file is written whole or not at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
import xarray as xr

import whippletree as wt
from results.runs import changed, four_bar, pendulum, pendulum_system, quarter_car, tumbling
from support.systems import same_bits
from whippletree.errors import ResultError
from whippletree.results import Trajectory
from whippletree.results.netcdf_files import decoded, encoded


def eventful() -> Trajectory:
    """Return a run with everything that a run can have."""
    run, rng = quarter_car(), np.random.default_rng(0)
    q, v, z = run[7]
    return changed(
        run,
        certificate=wt.Certificate.from_dict(
            run.certify().as_dict() | {"replans": np.linspace(0.0, 0.5, 9000).tolist()}
        ),
        events=[("touch", 0.0123456789012345, q / 3, v, z), ("rest", 0.04, q, v * 0, z)],
        info={"method": "rk4", "step": 1e-3, "seeds": np.arange(3), "system": run.system},
        efforts=rng.normal(size=(161, 2)),
        work=rng.normal(size=(161, 2)),
    )


def heavy() -> Trajectory:
    """Return a run with parameters and efforts of its own."""
    return changed(pendulum(), parameters={"mass": 3.5}, efforts=[0.25])


@pytest.mark.parametrize("make", [pendulum, tumbling, four_bar, eventful, heavy])
def test_a_round_trip_changes_no_bit(make: Any, tmp_path: Path) -> None:
    run = make()
    path = tmp_path / "run.nc"
    run.save(path)
    again = Trajectory.load(path, run.system)
    for name in ("t", "q", "v", "z", "efforts", "work", "parameters"):
        mine, its = getattr(run, name), getattr(again, name)
        assert (mine is None and its is None) or same_bits(mine, its), name
    assert again.certificate == run.certificate
    assert again.labels == run.labels
    assert [e.name for e in again.events] == [e.name for e in run.events]
    for mine, its in zip(run.events, again.events, strict=True):
        assert mine.t == its.t
        assert same_bits(np.concatenate(mine.state), np.concatenate(its.state))
    assert same_bits(again.energy().total, run.energy().total)
    assert same_bits(again.accelerations(), run.accelerations())


def test_extreme_numbers_survive(tmp_path: Path) -> None:
    values = np.array([-0.0, 5e-324, 1.7976931348623157e308, 1e-300, np.nextafter(1.0, 2.0)])[:, None]
    run = Trajectory(pendulum_system(), np.arange(5.0), values, values[::-1])
    run.save(tmp_path / "run.nc")
    again = Trajectory.load(tmp_path / "run.nc", pendulum_system())
    assert same_bits(again.q, values)
    assert same_bits(again.v, values[::-1])


def test_info_comes_back_as_plain_values(tmp_path: Path) -> None:
    eventful().save(tmp_path / "run.nc")
    info = Trajectory.load(tmp_path / "run.nc").info
    assert info["method"] == "rk4"
    assert info["seeds"] == [0, 1, 2]
    assert isinstance(info["system"], str)


def test_others_can_read_the_file(tmp_path: Path) -> None:
    four_bar().save(tmp_path / "run.nc")
    data = decoded((tmp_path / "run.nc").read_bytes())
    angle = data["q"].sel(coordinate="B.angle")
    assert same_bits(angle.values, four_bar()["B"])
    assert data["time"].attrs["units"] == "s"
    assert data["velocity_units"].values.tolist() == ["rad/s"] * 4
    assert data.attrs["mechanism"] == "four-bar"


def test_another_system_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    pendulum().save(path)
    with pytest.raises(wt.StateError, match=r'run of "pendulum" with the joints A, not of this system, "four-bar"'):
        Trajectory.load(path, four_bar().system)
    with pytest.raises(wt.StateError, match="with the joints A, not of this system"):
        Trajectory.load(path, four_bar().system, check=False)
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.5, mass=2.0, axis="x")), axis="y")
    longer = m.build()
    with pytest.raises(wt.StateError, match="the joints are the same, but masses, places or other numbers are not"):
        Trajectory.load(path, longer)
    with pytest.raises(wt.StateError, match="system= must be a system"):
        Trajectory.load(path, m)  # type: ignore[arg-type]


def test_a_system_with_other_numbers_passes_unchecked(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    four_bar().save(path)
    m = wt.Mechanism("four-bar", gravity=(0.0, 0.0, -1.62))
    bodies = {
        n: m.body(n, wt.rod(length=x, mass=x, axis="x")) for n, x in (("crank", 1), ("coupler", 2), ("rocker", 1.5))
    }
    m.revolute("A", m.ground, bodies["crank"], axis="y")
    m.revolute("B", bodies["crank"], bodies["coupler"], at=(1, 0, 0), axis="y")
    m.revolute("C", bodies["coupler"], bodies["rocker"], at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, bodies["rocker"], at=(2, 0, 0), axis="y")
    moon = m.build(guess={"A": 1.0})
    with pytest.raises(wt.StateError, match="check=False"):
        Trajectory.load(path, moon)
    run = Trajectory.load(path, moon, check=False)
    assert np.allclose(run.energy().potential / four_bar().energy().potential, 1.62 / 9.81)


@pytest.mark.parametrize("make", [pendulum, four_bar, tumbling, quarter_car])
def test_a_run_holds_its_model(make: Any, tmp_path: Path) -> None:
    run, path = make(), tmp_path / "run.nc"
    run.save(path)
    again = Trajectory.load(path)
    assert again.system is not None and again.system is not run.system
    assert again.system.description.fingerprint() == run.system.description.fingerprint()
    assert same_bits(again.system.q0, run.system.q0)
    assert same_bits(again.accelerations(), run.accelerations())
    assert same_bits(again.energy().total, run.energy().total)
    assert repr(again.certify()) == repr(run.certify())


def test_how_a_system_was_built_is_in_the_model(tmp_path: Path) -> None:
    m = wt.Mechanism.of(four_bar().system.description)
    system = m.build(guess={"A": 1.0}, cut=["B"], dependent=["A", ("D", 0)], accuracy=1e-5)
    run = Trajectory(system, [0.0], system.q0[None], system.v0[None])
    run.save(tmp_path / "run.nc")
    again = Trajectory.load(tmp_path / "run.nc").system
    assert again is not None
    assert [again.joint_names[cut.joint] for cut in again.plan.cuts] == ["B"]
    assert again.kernels.build_options["accuracy"] == 1e-5
    assert "A" not in again.mobility.independent


def test_the_model_in_a_file_runs_nothing_and_is_that_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    pendulum().save(path)
    data = decoded(path.read_bytes())
    text = str(data["model"].item())
    for k, (change, words) in enumerate(
        [
            (text.replace("mass: mass", "mass: 3 * mass"), "not the one that the run was made with"),
            (text + "\nforces: {x: !!python/object/apply:os.system [echo]}", "load the run with system="),
        ]
    ):
        place = tmp_path / f"other {k}.nc"
        place.write_bytes(encoded(data.assign(model=((), change))))
        if k:
            with pytest.warns(UserWarning, match=words):
                assert Trajectory.load(place).system is None
        else:
            with pytest.raises(ResultError, match=words):
                Trajectory.load(place)


def test_without_its_system_a_run_has_its_states(tmp_path: Path) -> None:
    tumbling().save(tmp_path / "whole.nc")
    data = decoded((tmp_path / "whole.nc").read_bytes())
    (tmp_path / "run.nc").write_bytes(encoded(data.drop_vars("model")))
    run = Trajectory.load(tmp_path / "run.nc")
    assert run.system is None
    assert same_bits(run["flight.position x"], tumbling()["flight.position x"])
    assert list(run.table("slide")) == ["time [s]", "slide.displacement [m]"]
    assert run.plot("socket", path=tmp_path / "socket.png") is not None
    assert len(run[3:9]) == 6
    for ask in (run.energy, run.accelerations, lambda: run.at(0.1), lambda: run.dataset("poses")):
        with pytest.raises(ResultError, match="load it with system="):
            ask()
    with pytest.raises(wt.ModelError, match="load it with system="):
        run["base"]


@pytest.mark.parametrize("content", [b"", b"not a file of numbers", b"\x89HDF\r\n\x1a\n" + bytes(200)])
def test_what_is_no_run_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    path.write_bytes(content)
    with pytest.raises(ResultError, match=r"run\.nc"):
        Trajectory.load(path)


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="there is no file"):
        Trajectory.load(tmp_path / "none.nc")
    (tmp_path / "foreign.nc").write_bytes(encoded(xr.Dataset({"q": ("time", [1.0])})))
    with pytest.raises(ResultError, match="it is not a run"):
        Trajectory.load(tmp_path / "foreign.nc")
    pendulum().save(tmp_path / "run.nc")
    whole = (tmp_path / "run.nc").read_bytes()
    (tmp_path / "half.nc").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ResultError, match=r"half\.nc"):
        Trajectory.load(tmp_path / "half.nc")
    data = decoded(whole)
    for name, change in (
        ("late", data.assign_attrs(whippletree_run=99)),
        ("bare", data.drop_vars("certificate")),
        ("json", data.assign(certificate=((), "{"))),
        ("cert", data.assign(certificate=((), '{"steps": "x"}'))),
        ("less", data.drop_vars("q")),
        ("back", data.assign_coords(time=data["time"][::-1].values)),
        ("text", data.assign(q=(("time", "coordinate"), np.full((26, 1), "a", dtype=object)))),
    ):
        (tmp_path / f"{name}.nc").write_bytes(encoded(change))
        with pytest.raises(wt.WhippletreeError, match=f"{name}.nc"):
            Trajectory.load(tmp_path / f"{name}.nc", pendulum_system())


# ---------------------------------------------------------------------- whole or not at all

WRITERS = [
    pytest.param("run.nc", lambda run, path: run.save(path), id="netcdf"),
    pytest.param("run.csv", lambda run, path: run.to_csv(path), id="csv"),
    pytest.param("run.parquet", lambda run, path: run.to_parquet(path), id="parquet"),
    pytest.param("run.png", lambda run, path: run.plot("A", path=path), id="plot"),
]


@pytest.mark.parametrize(("name", "write"), WRITERS)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file(
    name: str, write: Any, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / name
    old.write_bytes(b"old")

    def fail(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises((ResultError, KeyboardInterrupt)) as caught:
            write(pendulum(), old)
    if isinstance(error, OSError):
        assert "No space left on device" in str(caught.value)
        assert "still in memory" in str(caught.value)
    assert old.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == [name]
    write(pendulum(), old)
    assert old.read_bytes() != b"old"


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_a_folder_that_is_not_there(name: str, write: Any, tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="there is no folder"):
        write(pendulum(), tmp_path / "none" / name)


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="is a folder, which a file must not take the place of"):
        pendulum().save(tmp_path)
    for path in ("", 3, None, b"\xff", "a\0b"):
        with pytest.raises(wt.StateError, match="the path of a file must be text"):
            pendulum().save(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize(("name", "write"), WRITERS)
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_file_is_not_replaced(name: str, write: Any, linked: bool, tmp_path: Path) -> None:
    pipe, place = tmp_path / "pipe", tmp_path / name
    os.mkfifo(pipe if linked else place)
    if linked:
        place.symlink_to(pipe)
    with pytest.raises(ResultError, match=re.escape(name) + " is a pipe, which a file must not take the place of"):
        write(pendulum(), place)
    assert place.is_fifo()
    assert len([*tmp_path.iterdir()]) == 1 + linked


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_is_read_only(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ResultError, match="Permission denied"):
            pendulum().save(tmp_path / "run.nc")
    finally:
        tmp_path.chmod(0o700)


def test_a_link_keeps_pointing_where_it_does(tmp_path: Path) -> None:
    (tmp_path / "real.nc").write_bytes(b"old")
    (tmp_path / "link.nc").symlink_to("real.nc")
    pendulum().save(tmp_path / "link.nc")
    assert (tmp_path / "link.nc").is_symlink()
    assert len(Trajectory.load(tmp_path / "real.nc")) == 26


FULL = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from results.runs import pendulum_system
from whippletree.errors import ResultError
from whippletree.results import Trajectory

n = 20000
run = Trajectory(pendulum_system(), np.arange(n), np.ones((n, 1)), np.ones((n, 1)))
path = sys.argv[2]
run[:10].save(path)
before = open(path, "rb").read()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
for write in (run.save, run.to_csv, run.to_parquet):
    try:
        write(path)
    except ResultError as error:
        assert "could not be written" in str(error), error
    else:
        raise AssertionError("nothing was raised")
    assert open(path, "rb").read() == before
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
run.save(path)
assert len(Trajectory.load(path)) == n
print("survived")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on the size of files are POSIX")
def test_a_full_disk_costs_neither_the_process_nor_the_old_file(tmp_path: Path) -> None:
    tests = str(Path(__file__).parent.parent)
    given = [sys.executable, "-c", FULL, tests, str(tmp_path / "run.nc")]
    done = subprocess.run(given, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "survived"), done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_a_run_whose_model_cannot_be_written_says_so(tmp_path: Path) -> None:
    m = wt.Mechanism("stairs")
    m.revolute("A", m.ground, m.body("rod", wt.rod(1.0, mass=1.0)), axis="y")
    m.actuator("motor", "A", effort=ca.ceil(m.time))
    system = m.build()
    run = Trajectory(system, [0.0, 1.0], [[0.1], [0.2]], [[0.0], [0.0]])
    with pytest.warns(UserWarning, match=r"saved without its model.*CasADi's ceil.*system="):
        run.save(tmp_path / "run.nc")
    assert Trajectory.load(tmp_path / "run.nc").system is None
    assert len(Trajectory.load(tmp_path / "run.nc", system).forces()["motor"].efforts) == 2


@pytest.mark.parametrize("name", ["run.h5", "run.csv", "run 0.5"])
def test_a_run_is_not_saved_under_the_name_of_another_format(name: str, tmp_path: Path) -> None:
    with pytest.raises(wt.StateError, match=r'saved as NetCDF, .* name it "run( 0)?\.nc"'):
        pendulum().save(tmp_path / name)
    assert not list(tmp_path.iterdir())
    pendulum().save(tmp_path / "run.NC")
