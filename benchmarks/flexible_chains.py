"""What flexible bodies cost: operations and times of an arm, rigid and flexible, and of long chains in rolled form.

    python benchmarks/flexible_chains.py [arms | steps | chains]

The arm has seven revolute joints and links of 0.4 m; flexible ones have two or four modes in each bending plane, with
and without geometric stiffening. Beside it stand rigid chains with as many hinges as it has freedoms, 35 and 63, for
the bar: without stiffening, a freedom of a flexible body costs at most 1.25 times as much as a hinge between rigid
bodies, in operations and in time. Times are of one evaluation of the forward dynamics in machine code, the best of
several bursts. Batches have so many states that Python's share in a call, some 20 us, does not count.

`steps` puts the operations down to the steps of the recursion, for a link in the middle of a long arm (a seventh of
what seven more links add).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from bars import verdict
from timing import table

import whippletree as wt
from support.ritz_beam import ritz_beam
from whippletree.analysis.cost import Costs, costs
from whippletree.analysis.evaluation_times import Batch, Evaluation, seconds

LENGTH = 0.4
AXES = ("z", "y", "z", "y", "x", "y", "x")
FORMULATIONS = ("articulated", "composite")
STATES = 4096  # of a batch
BAR = 1.25  # operations and time of a freedom, in those of a hinge of a rigid chain with as many


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
    """Print the seven-joint arm, and rigid chains with as many freedoms."""
    kinds = {"rigid": None, "4 modes": beam(stiffening=False), "4 modes, stiffening": beam()}
    kinds |= {"8 modes": beam((4, 4), stiffening=False), "8 modes, stiffening": beam((4, 4))}
    systems = {name: arm(kind, 7) for name, kind in kinds.items()}
    systems |= {f"rigid, {joints} joints": arm(None, joints) for joints in (35, 63)}
    single, batch, operations = {}, {}, {}
    for name, s in systems.items():
        q, v = s.random(0), np.full(s.nv, 0.3)
        for formulation in FORMULATIONS if name == "rigid" else FORMULATIONS[:1]:
            key = f"{name}, {formulation}"
            single[key], batch[key] = Evaluation(s, q, v, formulation), Batch(s, q, v, formulation, states=STATES)
            found = s.kernels.operations("forward_dynamics", formulation=formulation)
            operations[key] = found.multiplications + found.additions
    one, many = seconds(single), seconds(batch)
    best, best_many = (min(each[f"rigid, {f}"] for f in FORMULATIONS) for each in (one, many))
    rows = [
        [key, operations[key], one[key] * 1e6, one[key] / best, many[key] * 1e6, many[key] / best_many] for key in one
    ]
    header = ["links", "operations", "one state, us", "of rigid", "in batches, us", "of rigid"]
    table("Forward dynamics of a seven-joint arm", header, rows)
    for name, joints in (("4 modes", 35), ("8 modes", 63)):
        for what, each in (("operations", operations), ("time", one)):
            share = each[f"{name}, articulated"] / each[f"rigid, {joints} joints, articulated"]
            met = verdict(share, BAR, at_most=True)
            print(f"{name}, {what} of the rigid chain with {joints} hinges: {share:.2f}: {met}")


def steps() -> None:
    """Print the operations of a link by the steps of the recursion."""
    kinds = {"rigid": None, "4 modes": beam(stiffening=False), "8 modes": beam((4, 4), stiffening=False)}
    kinds |= {"4 modes, stiffening": beam()}
    found = {name: by_step(kind) for name, kind in kinds.items()}
    names = list(found["4 modes, stiffening"] | found["4 modes"])
    rows = [[step, *(round(found[name].get(step, 0)) for name in kinds)] for step in names]
    rows.append(["all", *(round(sum(found[name].values())) for name in kinds)])
    table("Multiplications and additions of a link in the middle of an arm", ["step", *kinds], rows)


def by_step(kind: wt.FlexibleBody | None) -> dict[str, float]:
    """The operations of a link by step: seven more links, one for each axis, over seven."""

    def counts(found: Costs) -> dict[str, int]:
        return {name: found[name].multiplications + found[name].additions for name in found}

    few, many = (counts(costs(arm(kind, joints), "articulated", steps=True)) for joints in (8, 15))
    return {name: (many[name] - few[name]) / 7 for name in many}


def chains() -> None:
    """Print chains of flexible links, articulated, in rolled form."""
    rows = []
    for joints in (50, 100, 200, 400):
        s = arm(beam(), joints)
        found = seconds({"chain": Evaluation(s, 0.1 * s.random(0), np.full(s.nv, 0.1), "articulated")}, rounds=9)
        rows.append([joints, found["chain"] * 1e6, found["chain"] / joints * 1e6])
    table("Chains of flexible links with 4 modes, articulated", ["links", "us", "us per link"], rows)


SECTIONS = {"arms": arms, "steps": steps, "chains": chains}

if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        SECTIONS[section]()
