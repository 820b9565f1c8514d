"""Studies whose workers or program are killed, or whose disk is full: nothing is lost, nothing is done twice."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from studies import killed_study
from studies import study_functions as functions
from support.sampling import deep

pytest.importorskip("zarr", "3.1.3", reason="studies need zarr, which is in the extra `test`")

TESTS = Path(__file__).parents[1]


def kill_at_random(store: Path, seed: int) -> None:
    """Start the study as a program and kill it when a random share of its chunks is done."""
    rng = np.random.default_rng(seed)
    before = killed_study.status_files(store)
    command = [sys.executable, "-m", "studies.killed_study", str(store)]
    path = os.pathsep.join([str(TESTS), *sys.path])
    program = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
    wanted, patience = before + int(rng.integers(0, 4)), time.monotonic() + 60.0
    while killed_study.status_files(store) <= wanted and program.poll() is None and time.monotonic() < patience:
        time.sleep(0.002)
    time.sleep(rng.uniform(0.0, 0.03))
    program.kill()
    program.wait()


def check_whole(study: wt.Study) -> None:
    """Compute what is missing, and compare the result with that of an undisturbed run."""
    data = study.resume()
    assert killed_study.same_bits(data, killed_study.study().run())
    assert (data["status"] == 0).all()
    assert str(study.status()).startswith(f"{killed_study.COUNT} of {killed_study.COUNT} cases done")


@pytest.mark.parametrize("kills", [2, *deep([50])])
def test_a_program_that_is_killed_goes_on_where_it_was(tmp_path: Path, kills: int) -> None:
    place, killed = tmp_path / "s.zarr", 0
    while killed < kills:
        kill_at_random(place, killed)
        if killed_study.status_files(place) >= 14:  # nearly done: the next ones are killed from the beginning
            check_whole(killed_study.study(place))
            shutil.rmtree(place)
        killed += 1
    if not (place / "zarr.json").exists() or "whippletree_study" not in (place / "zarr.json").read_text():
        shutil.rmtree(place, ignore_errors=True)  # killed before there was a study
        killed_study.study(place).run()
    check_whole(killed_study.study(place))


def kill_workers(study: wt.Study, times: int) -> threading.Thread:
    """Kill a child of this process every now and then while a study runs."""
    own = {line.split()[0] for line in _children()}

    def go() -> None:
        rng = np.random.default_rng(times)
        for _ in range(times):
            patience = time.monotonic() + 30.0
            while time.monotonic() < patience:
                new = [line.split()[0] for line in _children() if line.split()[0] not in own and "spawn_main" in line]
                if new and killed_study.status_files(Path(study._place)):
                    break
                time.sleep(0.02)
            else:
                return
            time.sleep(rng.uniform(0.0, 0.2))
            own.update(new)
            with contextlib.suppress(ProcessLookupError):  # it may have come to its end by itself
                os.kill(int(new[0]), signal.SIGKILL)

    thread = threading.Thread(target=go)
    thread.start()
    return thread


def _children() -> list[str]:
    """Return the processes that this one has started: their numbers and command lines."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        try:
            for number in (task / "children").read_text().split():
                found.append(f"{number} {Path(f'/proc/{number}/cmdline').read_text()}")
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc, which is Linux's")
def test_workers_that_are_killed_are_replaced(tmp_path: Path) -> None:
    study = killed_study.study(tmp_path / "s.zarr")
    killer = kill_workers(study, 3)
    data = study.run(2)
    killer.join()
    assert int(data["attempts"].max()) >= 2
    assert killed_study.same_bits(data, killed_study.study().run())
    assert (data["status"] == 0).all()


@pytest.mark.rest
def test_only_the_case_that_ends_its_worker_is_without_numbers() -> None:
    study = wt.Study(functions.pendulum(), {"mass": [1.0, 3.0, 2.0, 4.0]}, functions.kills_its_worker)
    data = study.run(1)
    assert data["status"].values.tolist() == [0, 0, 2, 0]
    assert data["result"].values[[0, 1, 3]].tolist() == [1.0, 3.0, 4.0]
    assert "its worker process ended" in study.failures()[0].words


@pytest.mark.rest
def test_a_pool_that_is_given_is_not_replaced_but_resumed(tmp_path: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    place = tmp_path / "s.zarr"
    study = wt.Study(functions.pendulum(), {"mass": [1.0, 3.0, 2.0, 4.0]}, functions.kills_its_worker, store=place)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(wt.ResultError, match=r"study\.resume\(\) with another one"),
    ):
        study.run(pool)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A limit on the size of files, as a full disk: writing more fails."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        yield tmp_path / "s.zarr"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of files are set as Linux has them")
def test_a_disk_that_is_full_is_told_and_the_rest_stays(small_disk: Path) -> None:
    import resource

    study = wt.Study(
        functions.pendulum(), {"mass": np.linspace(1.0, 2.0, 40)}, functions.many_numbers, store=small_disk
    )
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

    def fill(progress: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))

    with pytest.raises(wt.ResultError, match="could not be written"):
        study.run(progress=fill)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert 0 < study.status().missing < 40
    assert str(wt.Study(functions.pendulum(), study.cases, functions.many_numbers, store=small_disk).resume().sizes)
    assert study.status().missing == 0


def test_a_store_that_cannot_be_made_is_told_before_anything_is_lost(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(wt.ResultError, match="file"):
        wt.Study(functions.pendulum(), {"mass": [1.0]}, functions.fall, store=tmp_path / "file" / "s.zarr").run()
