"""Many poses of a platform on six legs, assembled in one call and one by one.

    python benchmarks/assembly.py [count]

The platform's pose is held, the legs follow. Both ways begin at the same guesses and alternate; times are of the
processor, all threads together, and the least of several rounds counts. The bar: in one call at least 50 times as fast
for each pose as one by one, with the same answers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from whippletree.kinematics import assemble_batch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

import six_legs

BAR = 50.0
SAME = 1e-12
ROUNDS, ALONE = 5, 100


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def guesses(system: six_legs.wt.System, count: int) -> np.ndarray:
    """Configurations whose legs are where they start, with the plate anywhere within reach."""
    rng = np.random.default_rng(0)
    turn = rng.uniform(-0.25, 0.25, (count, 3))
    angle = np.linalg.norm(turn, axis=1)[:, None]
    q = np.tile(system.q0, (count, 1))
    q[:, system.q_slice("pose")] = np.concatenate(
        [
            np.cos(angle / 2),
            np.sin(angle / 2) * turn / angle,
            rng.uniform([-0.12, -0.12, 0.78], [0.12, 0.12, 1.02], (count, 3)),
        ],
        axis=1,
    )
    return q


def main(count: int = 10_000) -> None:
    system = six_legs.describe().build(guess={"pose": six_legs.path(0.0)[0]}, hold=["pose"])
    start = guesses(system, count)
    first = seconds(lambda: assemble_batch(system, start[:10], hold=["pose"]))
    together, alone = [], []
    few = start[:ALONE]
    for _ in range(ROUNDS):
        together.append(seconds(lambda: assemble_batch(system, start, hold=["pose"])) / count)
        alone.append(seconds(lambda: [system.assemble(one, hold=["pose"]) for one in few]) / len(few))
    found = assemble_batch(system, start, hold=["pose"])
    apart = max(
        float(np.abs(system.difference(system.assemble(one, hold=["pose"]), q)).max())
        for one, q in zip(few, found.q, strict=False)
    )
    times = min(alone) / min(together)
    print(f"{count} poses, {int(found.closed.sum())} closed; first call, with what is compiled: {first:.2f} s")
    print(f"in one call {1e6 * min(together):8.2f} us a pose")
    print(f"one by one  {1e6 * min(alone):8.2f} us a pose")
    print(f"largest difference of the answers {apart:.1e}: {'same' if apart <= SAME else 'NOT the same'}")
    print(f"{times:.0f} times as fast: >= {BAR:g} {'met' if times >= BAR and apart <= SAME else 'MISSED'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
