"""From `import whippletree` to the first result of the 7-joint arm, each time in a new process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from bars import START, Options, difference, insist, verdict
from models import Ring, panda, ring_of, shared_joint
from timing import table

REPEATS = 5


def start(options: Options) -> None:
    if options.peers_only:
        return
    ring = ring_of(panda(), 1)
    q, v, _, tau = (x[0] for x in ring.theirs)
    expected = pin.aba(ring.model, ring.model.createData(), q, v, tau)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arm = folder / "arm.json"
        arm.write_text(json.dumps(plain_arm(ring)))
        probe(arm, folder / "warm")  # reads every file once, and fills this cache
        for cache, bar in START.items():
            runs = []
            for i in range(REPEATS):
                runs.append(probe(arm, folder / (cache if cache == "warm" else f"{cache} {i}")))
                insist(f"first result, {cache} cache", difference(np.array(runs[-1]["a"]), expected))
            parts = ("total", "import", "build", "first call", "cpu")
            total, *rest = (statistics.median(run[part] for run in runs) for part in parts)
            rows.append([cache, total, verdict(total, bar, at_most=True), *rest])
    header = ["cache", "import to first result, s", "bar", "import", "build", "first call", "CPU time"]
    table("Start: forward dynamics of the 7-joint arm in a new process, wall clock, median of 5", header, rows)


def plain_arm(ring: Ring) -> dict[str, Any]:
    """The arm and its first state as plain numbers, so that the new process needs no peer."""
    model = ring.model
    links = []
    for j in range(1, model.njoints):
        body, pose_child = model.inertias[j], np.eye(4)
        pose_child[:3, :3] = shared_joint(model.joints[j]).rotation
        links.append(
            {
                "name": model.names[j],
                "parent": model.parents[j],
                "mass": body.mass,
                "com": body.lever.tolist(),
                "inertia": body.inertia.tolist(),
                "pose": (model.jointPlacements[j].homogeneous @ pose_child).tolist(),
                "pose_child": pose_child.tolist(),
            }
        )
    state = {name: getattr(ring.ours, name)[0].tolist() for name in ("q", "v", "tau")}
    return {"gravity": model.gravity.linear.tolist(), "links": links, **state}


def probe(arm: Path, cache: Path) -> dict[str, Any]:
    program = Path(__file__).with_name("start_probe.py")
    cache.mkdir(mode=0o700, exist_ok=True)
    # bytecode is there, as it is after an installation, whatever this process was told about writing it
    bytecode = str(cache.with_name("bytecode"))
    environment = os.environ | {"WHIPPLETREE_CACHE": str(cache), "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, str(program), str(arm)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"start_probe.py failed:\n{done.stderr}")
    return json.loads(done.stdout)
