"""From import to the first result.

``python benchmarks/first_result.py --runs``

Seconds of CPU of the whole process and of those that it starts, from `import whippletree` to the end of a first run of
ten seconds of a four-bar, by each method; each time in a new process with all caches empty. The bar is 3 s.

``python benchmarks/first_result.py --before OLD/src --after NEW/src [case ...]``

Seconds of CPU of the main thread, from `import whippletree` to the first result, one source tree against another, each
time in a new process with an empty cache. The trees take turns, and every second round begins with the other one; the
figures are medians of nine. Bytecode is there, as after an installation: a round that does not count writes it. The
ratio is after over before, and the bar is 1.1. Beside it is the ratio of the least times: what else the machine does
only adds to them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from house import four_bar  # nothing is imported here that the package imports as well: that is part of its time

REPEATS = 9
BAR = 1.1
BAR_RUNS = 3.0
SPAN = 10.0
FIXED = {"rk4": 1e-3, "semi_implicit_euler": 1e-3, "trapezoidal": 1e-3, "generalized_alpha": 1e-3}
METHODS = ("dopri5", "dop853", "adams", *FIXED)


# ---------------------------------------------------------------------------------------------------------
# Cases, in a process of their own


def pendulum(robots: Mapping[str, Any]) -> object:
    import whippletree as wt

    m = wt.Mechanism("pendulum")
    rod = m.body("rod", mass=1.0, com=(0.5, 0.0, 0.0), inertia=[[0.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])
    m.revolute("hinge", m.ground, rod, axis="y")
    return forward_dynamics(m.build())


def robot(name: str) -> Callable[[Mapping[str, Any]], object]:
    """The forward dynamics of a robot that is given as plain numbers."""

    def case(robots: Mapping[str, Any]) -> object:
        import whippletree as wt

        given = robots[name]
        m = wt.Mechanism(name, gravity=given["gravity"])
        bodies = [m.ground]
        for link in given["links"]:
            bodies.append(m.body(link["name"], mass=link["mass"], com=link["com"], inertia=link["inertia"]))
            join = getattr(m, link["kind"])
            poses = {"pose": link["pose"], "pose_child": link["pose_child"]}
            join(link["name"], bodies[link["parent"]], bodies[-1], **poses)
        return forward_dynamics(m.build())

    return case


def forward_dynamics(system: Any) -> object:
    return system.forward_dynamics(system.q0, system.v0)


def first_run(method: str) -> Callable[[Mapping[str, Any]], object]:
    """A first run of a four-bar by a method."""
    step = {"step": FIXED[method]} if method in FIXED else {}
    return lambda robots: four_bar().simulate(SPAN, method=method, **step)


RUNS = {f"first run by {method}": first_run(method) for method in METHODS}
CASES: dict[str, Callable[[Mapping[str, Any]], object]] = {
    "pendulum": pendulum,
    "arm": robot("arm"),
    "humanoid": robot("humanoid"),
    "four-bar": lambda robots: forward_dynamics(four_bar()),
    "four-bar simulated": lambda robots: four_bar().simulate(1.0),
}


def probe(case: str, robots: Path) -> None:
    """Print the seconds that a case takes, and whose they are; this is what the new process does."""
    given = json.loads(robots.read_text(encoding="utf-8"))
    begin, all_begin = time.thread_time(), all_seconds()
    (CASES | RUNS)[case](given)
    found = {"seconds": time.thread_time() - begin, "of all": all_seconds() - all_begin}
    modules = {"package": sys.modules["whippletree"].__file__, "numba": "numba" in sys.modules}
    print(json.dumps(found | modules))


def all_seconds() -> float:
    """Seconds of CPU of this process, all its threads, and the processes that it started."""
    took = os.times()
    return took.user + took.system + took.children_user + took.children_system


# ---------------------------------------------------------------------------------------------------------
# Measuring


def plain_robots() -> dict[str, Any]:
    """The arm and the humanoid as plain numbers, so that the new process needs no peer."""
    from models import panda, talos

    return {"arm": plain(panda()), "humanoid": plain(talos())}


def plain(model: Any) -> dict[str, Any]:
    import numpy as np
    from models import shared_joint

    links = []
    for j in range(1, model.njoints):
        body, joint, pose_child = model.inertias[j], shared_joint(model.joints[j]), np.eye(4)
        pose_child[:3, :3] = joint.rotation
        links.append(
            {
                "name": model.names[j],
                "kind": joint.kind,
                "parent": model.parents[j],
                "mass": body.mass,
                "com": body.lever.tolist(),
                "inertia": body.inertia.tolist(),
                "pose": (model.jointPlacements[j].homogeneous @ pose_child).tolist(),
                "pose_child": pose_child.tolist(),
            }
        )
    return {"gravity": model.gravity.linear.tolist(), "links": links}


def probed(case: str, source: Path, robots: Path) -> dict[str, Any]:
    """What a new process tells of a case, by the package in a source tree; bytecode is beside the robots."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WHIPPLETREE_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as cache:
        environment |= {"WHIPPLETREE_CACHE": cache, "PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
        environment["PYTHONPYCACHEPREFIX"] = str(robots.with_name("bytecode"))
        command = [sys.executable, __file__, "--probe", case, "--robots", str(robots)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{case} failed with {source}:\n{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    if not Path(found["package"]).resolve().is_relative_to(source):
        raise SystemExit(f"{case}: the package came from {found['package']}, not from {source}")
    return dict(found)


def alternating(case: str, sources: Sequence[Path], robots: Path, repeats: int) -> list[list[float]]:
    """The seconds of a case by both trees, in turns."""
    seconds: list[list[float]] = [[], []]
    for turn in range(-1, repeats):  # the first round fills what an earlier run leaves behind
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            taken = probed(case, sources[which], robots)
            if turn >= 0:
                seconds[which].append(float(taken["seconds"]))
    return seconds


def compare(cases: Sequence[str], before: Path, after: Path, repeats: int) -> None:
    print(f"| case | before, s | after, s | after / before | at most {BAR:g} | of the least |")
    print("|---" * 6 + "|")
    with tempfile.TemporaryDirectory() as folder:
        robots = Path(folder) / "robots.json"
        robots.write_text(json.dumps(plain_robots()), encoding="utf-8")
        for case in cases:
            taken = alternating(case, (before, after), robots, repeats)
            old, new = map(statistics.median, taken)
            verdict = "met" if new <= BAR * old else "MISSED"
            least = min(taken[1]) / min(taken[0])
            print(f"| {case} | {old:.3f} | {new:.3f} | {new / old:.3f} | {verdict} | {least:.3f} |", flush=True)


def first_runs(source: Path, repeats: int) -> None:
    print(f"| first {SPAN:g} s of a four-bar by | CPU, s | at most {BAR_RUNS:g} | Numba imported |")
    print("|---" * 4 + "|")
    with tempfile.TemporaryDirectory() as folder:
        robots = Path(folder) / "robots.json"
        robots.write_text("{}", encoding="utf-8")
        probed(next(iter(RUNS)), source, robots)  # writes bytecode
        for method, case in zip(METHODS, RUNS, strict=True):
            found = [probed(case, source, robots) for _ in range(repeats)]
            seconds = statistics.median(one["of all"] for one in found)
            verdict = "met" if seconds <= BAR_RUNS else "MISSED"
            print(f"| {method} | {seconds:.2f} | {verdict} | {'yes' if found[0]['numba'] else 'no'} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time from import to the first result, before and after.")
    parser.add_argument("cases", nargs="*", metavar="case", help=f"any of {', '.join(CASES)} (default: all)")
    parser.add_argument("--before", type=Path, help="a folder that holds the package as it was")
    parser.add_argument("--after", type=Path, default=Path(__file__).parents[1] / "src", help="and as it is")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="processes for each figure, default %(default)s")
    parser.add_argument("--runs", action="store_true", help="first runs by each method, of the package as it is")
    parser.add_argument("--probe", choices=[*CASES, *RUNS], help=argparse.SUPPRESS)
    parser.add_argument("--robots", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.probe:
        return probe(arguments.probe, arguments.robots)
    if arguments.runs:
        return first_runs(arguments.after.resolve(), arguments.repeats)
    unknown = [case for case in arguments.cases if case not in CASES]
    if unknown or arguments.before is None:
        parser.error(f"no case {', '.join(unknown)}" if unknown else "--before is missing")
    compare(arguments.cases or list(CASES), arguments.before.resolve(), arguments.after.resolve(), arguments.repeats)
    return None


if __name__ == "__main__":
    main()
