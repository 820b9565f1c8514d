"""What flexible bodies cost: operations and times of an arm, rigid and flexible, and of long chains in rolled form.

    python benchmarks/flexible_chains.py

The arm has seven revolute joints and links of 0.4 m; flexible ones have two or four modes in each bending plane, with
and without geometric stiffening. Times are of one evaluation of the forward dynamics in machine code, the best of
several bursts. Batches have so many states that Python's share in a call, some 20 us, does not count.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from timing import table

import whippletree as wt
from support.ritz_beam import ritz_beam
from whippletree.analysis.evaluation_times import Batch, Evaluation, seconds

LENGTH = 0.4
AXES = ("z", "y", "z", "y", "x", "y", "x")
FORMULATIONS = ("articulated", "composite")
STATES = 4096  # of a batch


def beam(modes: tuple[int, int] = (2, 2), *, stiffening: bool = True) -> wt.FlexibleBody:
    return ritz_beam(modes, length=LENGTH, stiffness=50.0, stiffening=stiffening, thickness=0.07)


def arm(kind: wt.FlexibleBody | None, joints: int) -> wt.System:
    """Links behind revolute joints, each at the end of the one before."""
    m = wt.Mechanism("arm")
    before: object = m.ground
    rigid = wt.cylinder(radius=0.03, length=LENGTH, mass=1.0, axis="x").moved(at=(LENGTH / 2, 0, 0))
    end = "tip" if kind is not None else (LENGTH, 0, 0)
    for i in range(joints):
        link = m.body(f"link {i}", rigid if kind is None else kind)
        m.revolute(f"joint {i}", before, link, axis=AXES[i % len(AXES)], at=end if i else None)
        before = link
    return m.build()


def arms() -> None:
    """Print the seven-joint arm."""
    kinds = {"rigid": None, "4 modes": beam(stiffening=False), "4 modes, stiffening": beam()}
    kinds |= {"8 modes": beam((4, 4), stiffening=False), "8 modes, stiffening": beam((4, 4))}
    single, batch, operations = {}, {}, {}
    for name, kind in kinds.items():
        s = arm(kind, 7)
        q, v = s.random(0), np.full(s.nv, 0.3)
        for formulation in FORMULATIONS if kind is None else FORMULATIONS[:1]:
            key = f"{name}, {formulation}"
            single[key], batch[key] = Evaluation(s, q, v, formulation), Batch(s, q, v, formulation, states=STATES)
            found = s.operations("forward_dynamics", formulation=formulation)
            operations[key] = found.multiplications + found.additions
    one, many = seconds(single), seconds(batch)
    best, best_many = (min(t for name, t in each.items() if name.startswith("rigid")) for each in (one, many))
    rows = [
        [key, operations[key], one[key] * 1e6, one[key] / best, many[key] * 1e6, many[key] / best_many] for key in one
    ]
    header = ["links", "operations", "one state, us", "of rigid", "in batches, us", "of rigid"]
    table("Forward dynamics of a seven-joint arm", header, rows)


def chains() -> None:
    """Print chains of flexible links, articulated, in rolled form."""
    rows = []
    for joints in (50, 100, 200, 400):
        s = arm(beam(), joints)
        found = seconds({"chain": Evaluation(s, 0.1 * s.random(0), np.full(s.nv, 0.1), "articulated")}, rounds=9)
        rows.append([joints, found["chain"] * 1e6, found["chain"] / joints * 1e6])
    table("Chains of flexible links with 4 modes, articulated", ["links", "us", "us per link"], rows)


if __name__ == "__main__":
    arms()
    chains()
