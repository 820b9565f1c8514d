"""Random mechanisms with loops held by springs and dampers: every body hangs on two of them; same number, same one."""

from __future__ import annotations

import warnings

import numpy as np

import whippletree as wt
from support.loop_models import described, where
from support.random_loops import FAMILIES, MEMBERS, case

__all__ = ["HELD", "QUICK_HELD", "held"]

TIMED = ("expressions", "velocity only")
"""Families of which some closures move with time, so that there is no rest."""

HELD = [(family, i) for family, i in MEMBERS if family not in TIMED and i < 0.77 * FAMILIES[family][1]][:200]

QUICK_HELD = {(family, 0) for family in list(FAMILIES)[::2] if family not in TIMED}


def held(family: str, i: int) -> wt.System:
    """Return the mechanism of a family and number with springs that hold it."""
    looped = case(family, i).looped
    m = described(looped)
    rng = np.random.default_rng([7, i, len(family)])
    for body in [body.name for body in m.describe().bodies]:
        for k in range(2):
            at, to = rng.uniform(-1.0, 1.0, 3), rng.uniform(-0.3, 0.3, 3)
            m.spring(
                f"spring {k} of {body}",
                m.ground,
                body,
                at=at,
                at_child=to,
                stiffness=rng.uniform(100.0, 500.0),
                free_length=rng.uniform(0.0, 0.5),
                damping=rng.uniform(5.0, 20.0),
            )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return m.build(**where(looped))
