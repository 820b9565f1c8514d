"""Studies on a local cluster of Dask with real worker processes: the same bits, and a worker that is killed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from studies import killed_study

pytestmark = pytest.mark.rest
pytest.importorskip("zarr", "3.1.3", reason="studies need zarr, which is in the extra `test`")
distributed = pytest.importorskip("distributed", reason="clusters need Dask, which is in the extra `test`")


def test_a_cluster_that_loses_a_worker_gives_the_same_bits(tmp_path: Path) -> None:
    undisturbed, killed = killed_study.study().run(), []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(_find_modules, sys.path)

        def kill(progress: Any) -> None:
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        study = killed_study.study(tmp_path / "s.zarr")
        data = study.run(client, progress=kill)
        assert killed
        assert killed_study.same_bits(data, undisturbed)
        assert (data["status"] == 0).all()
        returned = killed_study.study().run(client)  # into memory, which workers cannot reach
        assert killed_study.same_bits(returned, undisturbed)


def _find_modules(path: list[str]) -> None:
    sys.path[:] = path
