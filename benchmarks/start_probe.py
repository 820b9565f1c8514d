"""From `import whippletree` to the first result of an arm, in a process of its own.

Called by trees.py with a file that holds the arm as plain numbers; prints seconds as JSON.
"""

import json
import sys
import time
from pathlib import Path

arm = json.loads(Path(sys.argv[1]).read_text())

begin, begin_cpu = time.perf_counter(), time.process_time()

import whippletree as wt  # noqa: E402

imported = time.perf_counter()

mechanism = wt.Mechanism("arm", gravity=arm["gravity"])
bodies = [mechanism.ground]
for link in arm["links"]:
    bodies.append(mechanism.body(link["name"], mass=link["mass"], com=link["com"], inertia=link["inertia"]))
    parent = bodies[link["parent"]]
    mechanism.revolute(link["name"], parent, bodies[-1], pose=link["pose"], pose_child=link["pose_child"])
system = mechanism.build()
built = time.perf_counter()

import numpy as np  # noqa: E402  (loaded by whippletree already)

q, v, tau = (np.array(arm[name]) for name in ("q", "v", "tau"))
a = system.forward_dynamics(q, v, tau)
end, end_cpu = time.perf_counter(), time.process_time()

print(
    json.dumps(
        {
            "total": end - begin,
            "import": imported - begin,
            "build": built - imported,
            "first call": end - built,
            "cpu": end_cpu - begin_cpu,
            "a": a.tolist(),
        }
    )
)
