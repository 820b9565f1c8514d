"""Studies on a cluster of Dask with real processes: workers, the scheduler and the client are killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from studies import killed_study
from studies.study_functions import HELD

pytestmark = pytest.mark.rest
pytest.importorskip("zarr", "3.1.3", reason="studies need zarr, which is in the extra `test`")
distributed = pytest.importorskip("distributed", reason="clusters need Dask, which is in the extra `test`")

PATIENCE = 120.0


class Programs:
    """Programs that import what this one imports."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        self._environment = {**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        program = subprocess.Popen(
            [sys.executable, "-m", *command], env=self._environment, start_new_session=True, stderr=subprocess.DEVNULL
        )
        self._started.append(program)
        return program

    def kill(self) -> None:
        """Kill all, and what they have started."""
        for program in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()


@pytest.fixture
def programs() -> Iterator[Programs]:
    started = Programs()
    yield started
    started.kill()


def wait_for(ready: Callable[[], object], what: str) -> None:
    patience = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < patience, f"{what} did not come"
        time.sleep(0.02)


def text_of(file: Path) -> str:
    """Return what is in a file, as soon as there is something."""
    wait_for(lambda: file.exists() and file.read_text(), file.name)
    return file.read_text()


def cluster(programs: Programs, folder: Path) -> tuple[str, subprocess.Popen[bytes]]:
    """Start a scheduler and three workers; return the address, and the scheduler."""
    file = folder / "scheduler.json"
    scheduler = programs.start(
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(file),
    )
    text_of(file)
    programs.start(
        *("distributed.cli.dask_worker", "--scheduler-file", str(file), "--nworkers", "3", "--nthreads", "1"),
        *("--no-dashboard", "--local-directory", str(folder)),
    )
    return json.loads(file.read_text())["address"], scheduler


def test_workers_scheduler_and_client_are_killed_in_the_middle_of_a_case(tmp_path: Path, programs: Programs) -> None:
    """Each case of `HELD` waits, where it is tried first, for its worker to be killed."""
    place, held = tmp_path / "s.zarr", tmp_path / "held"
    held.mkdir()
    address, scheduler = cluster(programs, tmp_path)
    client = programs.start("studies.killed_study", str(place), str(held), address)
    for case in HELD[:-1]:
        process = int(text_of(held / str(case)))
        wait_for(lambda: killed_study.status_files(place), "a tenth of the statuses")
        os.kill(process, signal.SIGKILL)
    text_of(held / str(HELD[-1]))
    scheduler.kill()
    client.kill()
    client.wait()
    study = killed_study.study(place, held)
    done = study.dataset()["status"].values == 0
    assert 0 < done.sum() < killed_study.COUNT
    assert study.dataset()["attempts"].values[list(HELD[:-1])].min() >= 1
    data = study.resume()
    assert (data["status"] == 0).all()
    assert data["attempts"].values[list(HELD)].min() >= 2
    assert killed_study.same_bits(data, killed_study.study().run())


def test_results_return_to_a_client_that_keeps_them_in_memory(tmp_path: Path, programs: Programs) -> None:
    with distributed.Client(cluster(programs, tmp_path)[0]) as client:
        data = killed_study.study().run(client)
    assert killed_study.same_bits(data, killed_study.study().run())
    assert (data["attempts"] == 1).all()
