"""A study for tests that kill it: `python -m studies.killed_study STORE` begins it, or goes on with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import whippletree as wt
from studies import study_functions as functions

COUNT = 240


def study(store: Path | None = None) -> wt.Study:
    cases = {"mass": np.linspace(1.0, 3.0, COUNT), "length": np.linspace(2.0, 1.0, COUNT)}
    return wt.Study(functions.pendulum(), cases, functions.slow_fall, store=store, seed=8)


def status_files(store: Path) -> int:
    """Return how many chunks count as done."""
    return sum(1 for path in store.glob("status/c/*") if path.suffix != ".partial")


def same_bits(data: Any, undisturbed: Any) -> bool:
    return all(data[name].values.tobytes() == undisturbed[name].values.tobytes() for name in ("acceleration", "random"))


if __name__ == "__main__":
    place = Path(sys.argv[1])
    begun = (place / "zarr.json").exists() and "whippletree_study" in (place / "zarr.json").read_text()
    (study(place).resume if begun else study(place).run)()
