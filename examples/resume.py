"""A long run that is interrupted, and goes on another day to the same bits.

With `checkpoint`, a run is written to a file every so many seconds, and when it is interrupted. Here the interruption
comes from the function that shows the progress, as Ctrl-C would; a process that is killed leaves its last checkpoint
behind just as well. `resume` needs nothing but the file: the mechanism is in it.

A controller in Python is not in the file: it is given again. What it remembers is, if it says what that is: the motor
here adds up by how much the shoulder lags, and has a method that returns that sum and one that brings it back.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt

Array = npt.NDArray[np.float64]
PERIOD = 0.01


def describe() -> wt.Mechanism:
    """Return a double pendulum, which is chaotic: the slightest difference would show."""
    m = wt.Mechanism("double pendulum")
    upper = m.body("upper", wt.rod(length=1.0, mass=1.0, axis="-z"))
    lower = m.body("lower", wt.rod(length=1.0, mass=1.0, axis="-z"))
    m.revolute("shoulder", m.ground, upper, axis="y")
    m.revolute("elbow", upper, lower, at=(0, 0, -1), axis="y")
    m.event("up", m.position(lower)[2] - 0.5, direction="rising")
    return m


class Motor:
    """Lets the shoulder swing as a sine, with the integral of what it lags by."""

    def __init__(self) -> None:
        self.lag = 0.0

    def __call__(self, t: float, q: Array, v: Array, z: Array) -> dict[str, float]:
        """Return the torque."""
        behind = 2.4 * float(np.sin(t)) - float(q[0])
        self.lag += PERIOD * behind
        return {"shoulder": 40.0 * behind + 20.0 * self.lag - 5.0 * float(v[0])}

    def get_state(self) -> list[float]:
        """Return what is remembered, as numbers."""
        return [self.lag]

    def set_state(self, state: Array) -> None:
        """Remember that again."""
        self.lag = float(state[0])


def interrupt(share: float) -> None:
    """Stop a run after a fifth of its time."""
    if share > 0.2:
        raise KeyboardInterrupt


def in_parts(duration: float, controlled: bool, **settings: Any) -> tuple[wt.Trajectory, wt.Trajectory]:
    """Run through, and run in parts; return both."""
    system = describe().build()
    law = {"controller": Motor(), "period": PERIOD} if controlled else {}
    whole = system.simulate(duration, **law, **settings)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        law = {"controller": Motor(), "period": PERIOD} if controlled else {}
        part = system.simulate(duration, checkpoint=path, checkpoint_every=0.5, progress=interrupt, **law, **settings)
        print(
            f"{part.certificate.stopped or 'not stopped'} at {part.t[-1]:.3f} s; {path.stat().st_size} bytes are kept"
        )
        resumed = wt.resume(path, controller=Motor() if controlled else None)

    same = np.array_equal(whole.q, resumed.q) and np.array_equal(whole.v, resumed.v)
    print(f"resumed to {resumed.t[-1]:g} s: {'the same' if same else 'not the same'} bits as in one go")
    print(f"{len(resumed.events)} times the elbow rose above 0.5 m")
    return whole, resumed


def main() -> list[tuple[wt.Trajectory, wt.Trajectory]]:
    """Let the pendulum fall, and then have a motor at its shoulder."""
    falling = in_parts(60.0, False, q=[2.0, 2.5], every=0.5, method="rk4", step=2e-4)
    driven = in_parts(20.0, True, q=[0.0, 2.5], every=0.25, method="dop853", tolerance=1e-9)
    return [falling, driven]


if __name__ == "__main__":
    main()
