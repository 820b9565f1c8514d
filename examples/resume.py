"""A long run that is interrupted, and goes on another day to the same bits.

With `checkpoint`, a run is written to a file every so many seconds, and when it is interrupted. Here the interruption
comes from the function that shows the progress, as Ctrl-C would; a process that is killed leaves its last checkpoint
behind just as well. `resume` needs nothing but the file: the mechanism is in it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import whippletree as wt


def describe() -> wt.Mechanism:
    """Return a double pendulum, which is chaotic: the slightest difference would show."""
    m = wt.Mechanism("double pendulum")
    upper = m.body("upper", wt.rod(length=1.0, mass=1.0, axis="-z"))
    lower = m.body("lower", wt.rod(length=1.0, mass=1.0, axis="-z"))
    m.revolute("shoulder", m.ground, upper, axis="y")
    m.revolute("elbow", upper, lower, at=(0, 0, -1), axis="y")
    m.event("up", m.position(lower)[2] - 0.5, direction="rising")
    return m


def main() -> tuple[wt.Trajectory, wt.Trajectory]:
    """Run through, and run in parts; return both."""
    system = describe().build()
    settings = {"q": [2.0, 2.5], "every": 0.5, "method": "rk4", "step": 2e-4}
    whole = system.simulate(60.0, **settings)

    def interrupt(share: float) -> None:
        if share > 0.2:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        part = system.simulate(60.0, checkpoint=path, checkpoint_every=0.5, progress=interrupt, **settings)
        print(
            f"{part.certificate.stopped or 'not stopped'} at {part.t[-1]:.3f} s; {path.stat().st_size} bytes are kept"
        )
        resumed = wt.resume(path)

    same = np.array_equal(whole.q, resumed.q) and np.array_equal(whole.v, resumed.v)
    print(f"resumed to {resumed.t[-1]:g} s: {'the same' if same else 'not the same'} bits as in one go")
    print(f"{len(resumed.events)} times the elbow rose above 0.5 m")
    return whole, resumed


if __name__ == "__main__":
    main()
