"""A study for tests that kill it: `python -m studies.killed_study STORE [HELD SCHEDULER]` begins it or goes on with it.

HELD is a folder in which some cases wait to be killed, SCHEDULER the address of a Dask cluster that computes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt
from studies import study_functions as functions

COUNT = 240


def study(store: Path | None = None, held: Path | None = None) -> wt.Study:
    cases = {"mass": np.linspace(1.0, 3.0, COUNT), "length": np.linspace(2.0, 1.0, COUNT)}
    options = {} if held is None else {"held": str(held)}
    return wt.Study(functions.pendulum(), cases, functions.slow_fall, store=store, seed=8, **options)


def status_files(store: Path) -> int:
    """Return how many chunks count as done."""
    return sum(1 for path in store.glob("status/c/*") if path.suffix != ".partial")


def same_bits(data: Any, undisturbed: Any) -> bool:
    return all(data[name].values.tobytes() == undisturbed[name].values.tobytes() for name in ("acceleration", "random"))


def main(place: str, held: str | None = None, scheduler: str | None = None) -> None:
    own, executor = study(Path(place), held and Path(held)), None
    if scheduler is not None:
        import distributed

        executor = distributed.Client(scheduler)
    (own.resume if own.begun else own.run)(executor)


if __name__ == "__main__":
    main(*sys.argv[1:])
