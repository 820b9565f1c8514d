"""What a study costs beside its calls. Run `python benchmarks/studies.py [section ...]`.

Sections: overhead, peers, reading, workers, dask, empty, memory. The machine's load is in wall times; CPU times
of this process and its children stand beside them. joblib, xsweep, dask and distributed come from the package index.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt

CASES = int(os.environ.get("STUDY_CASES", "100000"))
"""Cases of the large sections; fewer for a first look."""

TURNS = 7
"""How often peers take turns; the least time of each counts, but for the first turn."""

BARS = {
    "overhead per case": 20e-6,
    "per chunk on Dask": 5e-3,
    "share of peers' overhead": 0.1,
    "two workers": 1.8,
    "reading a case": 0.1,
    "memory": 20.0,
}


def mechanism() -> wt.Mechanism:
    """A pendulum of variable mass and length."""
    m = wt.Mechanism("pendulum")
    mass, length = m.parameter("mass", 1.0), m.parameter("length", 1.0)
    m.revolute("hinge", m.ground, m.body("rod", wt.rod(length=length, mass=mass, axis="x")), axis="y")
    return m


def cases(n: int) -> Any:
    return wt.cases.latin_hypercube(n, seed=1, mass=wt.cases.plus_minus(2.0, 1.0), length=wt.cases.plus_minus(1.0, 0.5))


RUNS: dict[str, Any] = {"duration": 0.02, "every": 0.02, "method": "rk4", "step": 0.01}


def clock() -> tuple[float, float]:
    """Return the wall clock, and the CPU time of this process and the children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used)


@contextmanager
def timed(found: dict[str, float], name: str) -> Iterator[None]:
    wall, cpu = clock()
    yield
    found[name], found[f"{name} cpu"] = (after - before for after, before in zip(clock(), (wall, cpu), strict=True))


def said(what: str, value: float, bar: float, *, at_least: bool = False, unit: str = "") -> None:
    met = value >= bar if at_least else value <= bar
    sign, word = ">=" if at_least else "<=", "met" if met else "MISSED"
    print(f"{what:<58} {value:10.3g} {unit:<4} {sign} {bar:g} {word}", flush=True)


def square(system: object, case: Any) -> float:
    return float(case["mass"] ** 2)


def working(seconds: float = 0.02) -> float:
    """Keep a processor busy by its own clock."""
    end, x = time.process_time() + seconds, 0.0
    while time.process_time() < end:
        x += 1.0
    return x


def busy(system: object, case: Any) -> float:
    working()
    return float(case["mass"])


def overhead(folder: Path) -> None:
    """A hundred thousand runs to Zarr beside `simulate_many` itself, one thread each, by CPU time."""
    system, own, took = mechanism().build(), cases(CASES), {}
    values = {name: own[name].values for name in own.data_vars}
    from concurrent.futures import ThreadPoolExecutor

    system.simulate_many(parameters={k: v[:100] for k, v in values.items()}, outputs="final", threads=1, **RUNS)
    with timed(took, "alone"):
        system.simulate_many(parameters=values, outputs="final", threads=1, **RUNS)
    study = wt.Study(system, own, keep="final", store=folder / "o.zarr", **RUNS)
    with timed(took, "study"), ThreadPoolExecutor(1) as pool:
        study.run(pool, progress=False)
    per = (took["study cpu"] - took["alone cpu"]) / CASES
    print(f"simulate_many {took['alone cpu']:.2f} s, study {took['study cpu']:.2f} s of CPU, {CASES} runs")
    said("overhead of a study to Zarr per case, CPU", per, BARS["overhead per case"], unit="s")


def peers(folder: Path) -> None:
    """The same function on a thousand cases, less the sum of the calls: the least of several turns of each."""
    n, own, system = 1000, cases(1000), mechanism().build()
    masses = own["mass"].values

    def direct(mass: float, length: float = 1.0) -> float:
        return float(mass**2)

    import joblib

    ways: dict[str, Callable[[], object]] = {
        "calls": lambda: [direct(mass) for mass in masses],
        "study": lambda: wt.Study(system, own, square).run(progress=False),
        "joblib": lambda: joblib.Parallel(n_jobs=2)(joblib.delayed(direct)(mass) for mass in masses),
    }
    try:
        import xsweep

        swept = xsweep.sweep("loop(mass, length) -> out()")(direct)
        ways["xsweep"] = lambda: swept(own)
    except ImportError:
        print("xsweep is not installed: pip install xsweep")
    took: dict[str, float] = {}
    for turn in range(TURNS + 1):
        for name, way in ways.items():
            with timed(took, f"{name} {turn}"):
                way()
    least = {name: min(took.get(f"{name} {turn}", np.inf) for turn in range(1, TURNS + 1)) for name in ways}
    rest = {name: value - least["calls"] for name, value in least.items() if name != "calls"}
    rest["joblib, first call"] = took["joblib 0"] - least["calls"]
    for name, value in rest.items():
        print(f"{name:<20} {1e6 * value / n:10.1f} us per case")
    for name, value in rest.items():
        if name != "study":
            said(f"our overhead over that of {name}", rest["study"] / value, BARS["share of peers' overhead"])


def reading(folder: Path) -> None:
    """One case of a store with a hundred thousand."""
    study = wt.Study(mechanism(), cases(CASES), square, store=folder / "r.zarr")
    study.run(progress=False)
    again, took = wt.Study(mechanism(), cases(CASES), square, store=folder / "r.zarr"), {}
    with timed(took, "one"):
        value = float(again.dataset()["result"][CASES // 2])
    assert value == float(cases(CASES)["mass"][CASES // 2]) ** 2
    said(f"reading one of {CASES} cases", took["one"], BARS["reading a case"], unit="s")


def workers(folder: Path) -> None:
    """Two worker processes against one, over calls that keep a processor busy."""
    took: dict[str, float] = {}
    for count in (1, 2):
        study = wt.Study(mechanism(), cases(400), busy, store=folder / f"w{count}.zarr")
        begun: list[float] = []
        study.run(count, progress=lambda progress, begun=begun: begun.append(time.perf_counter()) or None)
        took[str(count)] = begun[-1] - begun[0]
    gain = took["1"] / took["2"]
    said("two worker processes against one (starts left out)", gain, BARS["two workers"], at_least=True)


@contextmanager
def cluster(count: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None) as made,
        Client(made) as client,
    ):
        yield client


def dask(folder: Path) -> None:
    """The cost of a chunk through a local Dask cluster of two, whose workers write into the store: a case in each."""
    from whippletree.studies import study as studies

    studies._SECONDS = 1e-9  # so that each case is a chunk
    n, took = min(2000, CASES), {}
    with cluster(2) as client:
        wt.Study(mechanism(), cases(8), square, store=folder / "first.zarr").run(client, progress=False)
        study = wt.Study(mechanism(), cases(n), square, store=folder / "d.zarr")
        with timed(took, "dask"):
            study.run(client, progress=False)
    studies._SECONDS = 1.0
    print(f"{n} chunks in {took['dask']:.1f} s; {study.status()}")
    said("per chunk on Dask, the store included", took["dask"] / n, BARS["per chunk on Dask"], unit="s")


def empty(folder: Path) -> None:
    """A hundred thousand empty tasks through the same window of futures: what the scheduler takes for itself."""
    from whippletree.studies.study_executors import Dispatch, workers_for

    class Empty:
        def call_for(self, chunk: int) -> tuple[Any, ...]:
            return abs, chunk

        def cases(self, chunk: int) -> int:
            return 1

        def take(self, chunk: int, result: Any) -> None:
            assert result == chunk

    took: dict[str, float] = {}
    with cluster(2) as client, timed(took, "empty"), Dispatch(workers_for(client)) as dispatch:
        dispatch.all(iter(range(CASES)), Empty())  # type: ignore[arg-type]
    print(f"{CASES} empty tasks in {took['empty']:.1f} s")
    said("per empty task on Dask", took["empty"] / CASES, BARS["per chunk on Dask"], unit="s")


def memory(folder: Path) -> None:
    """How the memory of the client and of two worker processes grows from 10^3 to 10^5 cases."""
    found = {}
    for n in (1000, CASES):
        wt.Study(mechanism(), cases(n), square, store=folder / f"m{n}.zarr").run(2, progress=False)
        found[n] = [resource.getrusage(who).ru_maxrss / 1e3 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    for name, sizes in zip(("the client", "a worker"), zip(*found.values(), strict=True), strict=True):
        said(f"growth of {name} from 1000 to {CASES} cases", sizes[1] - sizes[0], BARS["memory"], unit="MB")


SECTIONS = {one.__name__: one for one in (overhead, peers, reading, workers, dask, empty, memory)}


def main() -> None:
    unknown = [name for name in sys.argv[1:] if name not in SECTIONS]
    if unknown:
        raise SystemExit(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    for name in sys.argv[1:] or SECTIONS:
        folder = Path(tempfile.mkdtemp())
        print(f"\n## {name}", flush=True)
        try:
            SECTIONS[name](folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
