"""Runs in absolute coordinates beside runs in joint coordinates, with the same method and step.

    python benchmarks/absolute_runs.py

Nikravesh and others report 352 s against 75 s for one model. Printed is the CPU time of each run, in which nothing is
described or compiled, the ratio, and how far the two runs are apart at the end.
"""

from __future__ import annotations

import numpy as np

from whippletree.analysis.models import bricard, five_bar_pendulum, slider_four_bar
from whippletree.analysis.papers.nikravesh import HANGING, RUN, STEP, run_seconds

SHORT = 0.5
"""Seconds after which the two runs are compared: later on, chaotic ones part by their rounding."""


def main() -> None:
    """Print a line for each mechanism."""
    print(f"{RUN:g} s by rk4 with steps of {STEP:g} s; CPU time")
    for model, guess, formulation in (
        (slider_four_bar(), HANGING, "joint_multipliers"),
        (bricard(), None, "joint_multipliers"),
        (five_bar_pendulum(), None, "auto"),
    ):
        system = model.build()
        q = system.q0 if guess is None else system.assemble(guess)
        absolute = run_seconds(system, q=q, coordinates="absolute")
        joint = run_seconds(system, q=q, formulation=formulation)
        ends = [
            system.simulate(SHORT, q=q, method="rk4", step=STEP, coordinates=which).q[-1]
            for which in ("joint", "absolute")
        ]
        name = system.description.name
        print(
            f"{name:24s} absolute {1e3 * absolute:7.1f} ms, joint {1e3 * joint:7.1f} ms, ratio {absolute / joint:5.1f} "
            f"(paper: {352 / 75:.1f}); apart by {np.abs(ends[0] - ends[1]).max():.1e} after {SHORT:g} s"
        )


if __name__ == "__main__":
    main()
