"""Runs in absolute coordinates beside runs in joint coordinates, with the same method and step.

    python benchmarks/absolute_runs.py

Nikravesh and others report 352 s against 75 s for one model. Printed is the CPU time of each run, in which nothing is
described or compiled, the ratio, and how far the two runs are apart at the end.
"""

from __future__ import annotations

import numpy as np

from whippletree.analysis.papers.nikravesh import RUN, RUNS, STEP, run_pair

SHORT = 0.5
"""Seconds after which the two runs are compared: later on, chaotic ones part by their rounding."""


def main() -> None:
    """Print a line for each mechanism."""
    print(f"{RUN:g} s by rk4 with steps of {STEP:g} s; CPU time")
    for name in RUNS:
        system, q, absolute, joint = run_pair(name)
        ends = [
            system.simulate(SHORT, q=q, method="rk4", step=STEP, coordinates=which).q[-1]
            for which in ("joint", "absolute")
        ]
        print(
            f"{name:24s} absolute {1e3 * absolute:7.1f} ms, joint {1e3 * joint:7.1f} ms, ratio {absolute / joint:5.1f} "
            f"(paper: {352 / 75:.1f}); apart by {np.abs(ends[0] - ends[1]).max():.1e} after {SHORT:g} s"
        )


if __name__ == "__main__":
    main()
