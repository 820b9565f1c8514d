"""Every column of a table, file or dataset is what the element really does, and no two columns have one name."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import whippletree as wt
from support.systems import same_bits
from whippletree.elements.forces import Spring
from whippletree.results import Trajectory
from whippletree.results.columns import Columns, columns
from whippletree.results.labels import Label


@functools.cache
def own_formulas() -> Trajectory:
    """Return a run with an element of every type, whose formulas use the joint and the body that they act on."""
    m = wt.Mechanism("all", gravity=(0, 0, -9.81))
    arm = m.body("arm", wt.rod(length=1.0, mass=1.0, axis="x"))
    fore = m.body("fore", wt.rod(length=0.8, mass=0.7, axis="x"))
    crate = m.body("crate", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("A", m.ground, arm, axis="y")
    m.revolute("B", arm, fore, at=(1, 0, 0), axis="y")
    m.free("flight", m.ground, crate)
    wheel = m.body("wheel", mass=5.0, inertia=(0.1, 0.2, 0.1))
    m.free("roll", m.ground, wheel)
    rail = m.body("rail", mass=1.0)
    m.prismatic("slide", m.ground, rail, axis="z")
    push = m.state("push", 1.0, rate=lambda z: m.coordinate("A") - z)
    m.actuator("servo", "A", effort=-5.0 * m.coordinate("A") - m.rate("A") + push + m.position(arm)[2])
    m.actuator("felt", "B", effort=-0.1 * m.reaction("B").force[2] - m.rate("B"))
    m.load("wind", fore, force=(-2.0 * m.velocity(fore)[3], 0, m.coordinate("B") + m.position(fore)[0]), at=(0.3, 0, 0))
    m.load("thrust", crate, force=(0, 0, 3 + m.position(crate)[2]), frame="body")
    m.contact("floor", crate, stiffness=1e3, damping=5, friction=0.3, offset=-0.1 + 0.01 * m.position(crate)[0])
    m.tyre("tyre", wheel, radius=0.3, stiffness=1e4, cornering_stiffness=1e3, offset=0.02 * m.position(wheel)[0])
    m.spring(
        "law", arm, crate, free_length=0.1, law=lambda x, rate: 4 * x + rate + m.coordinate("A") + m.position(arm)[0]
    )
    m.spring("strut", arm, fore, at=(0.2, 0, 0), at_child=(0.3, 0, 0), stiffness=50, free_length=0.2, damping=1)
    m.force("own", Spring(20.0, 0.1, 0.0), on=[(crate, (0, 0, 0.2)), (crate, (0.3, 0, 0))])
    m.bushing("mount", fore, crate, stiffness=(1, 2, 3, 4, 5, 6))
    m.torsion_spring("coil", "B", stiffness=2.0, rest=0.1, damping=0.1)
    m.friction("dry", "A", coulomb=0.2, viscous=0.1)
    m.friction("bearing", "slide", coefficient=0.1, preload=2.0)
    m.limit("stop", "slide", upper=-0.05, stiffness=1e3)
    m.contact_between("hit", fore, crate, radius=0.5, radius_child=0.5, stiffness=1e2)
    start = {"A": 0.3, "B": -0.5, "flight": (1, 0, 0, 0, 0.4, 0.1, -0.15), "roll": (1, 0, 0, 0, 3, 0, 0.29)}
    v = {"A": 0.7, "B": -0.4, "flight": (0.1, 0.2, 0.3, 0.5, -0.3, 0.2), "roll": (0.1, 2.0, 0.2, 0.5, 0.1, 0.0)}
    return m.build(guess=start).simulate(0.02, every=0.01, v=v | {"slide": -0.5})


def test_every_column_is_what_forces_says(tmp_path: Path) -> None:
    run = own_formulas()
    run.to_csv(tmp_path / "run.csv", "forces")
    run.to_parquet(tmp_path / "run.parquet", "forces")
    whole, data = run.table("forces"), run.dataset("forces")
    files = (
        whole,
        pd.read_csv(tmp_path / "run.csv"),
        pd.read_parquet(tmp_path / "run.parquet"),
    )
    seen: set[str] = set()
    for name, force in run.forces().items():
        table = run.table(name)
        real = [force.wrenches[:, k, i] for k in range(force.wrenches.shape[1]) for i in range(6)]
        real += list(force.efforts.T)
        real = [values for values in real if values.any()]
        heads = [head for head in list(table)[1:] if table[head].any()]
        assert real and len(real) == len(heads), name  # all that is not zero is there, in this order
        for head, values in zip(heads, real, strict=True):
            assert same_bits(table[head].to_numpy(), values), head
            assert all(same_bits(one[head].to_numpy(), values) for one in files), head
            assert same_bits(data["loads"].sel(load=head.partition(" [")[0]).values, values), head
        assert seen.isdisjoint(heads)
        seen |= {*heads}
    assert list(whole)[1:] == [label.column for label in columns(run, "forces").labels]


def test_what_a_formula_only_reads_has_no_columns() -> None:
    run = own_formulas()
    assert list(run.table("servo"))[1:] == ["servo.effort on A.angular velocity [N m]"]
    assert {head.partition(" on ")[2] for head in list(run.table("law"))[1:]} == {
        "arm [N m]",
        "arm [N]",
        "crate [N m]",
        "crate [N]",
    }
    assert "own.force x on crate (2) [N]" in run.table("own")
    drawn = columns(run, "servo").plain
    A, w, push, height = run["A"], run["A.velocities"], run["push"], run["arm"][:, 2]
    assert drawn == pytest.approx(-5.0 * A - w + push + height, rel=1e-12)  # the formula, by hand


def test_a_linear_model_has_these_outputs_too() -> None:
    m = wt.Mechanism("servo", gravity=(0, 0, 0))
    m.revolute("A", m.ground, m.body("arm", mass=1.0, inertia=(1, 1, 1)), axis="z")
    m.actuator("none", "A", effort=0.0)
    m.actuator("servo", "A", effort=-5.0 * m.coordinate("A") - 2.0 * m.rate("A"))
    found = m.build().linearize(outputs=["servo"])
    assert found.C.tolist() == [[-5.0, -2.0]]


def test_a_force_that_is_zero_by_its_formula_keeps_its_columns() -> None:
    m = wt.Mechanism("still", gravity=(0, 0, 0))
    m.revolute("A", m.ground, m.body("arm", mass=1.0, inertia=(1, 1, 1)), axis="z")
    m.load("none", "arm", force=(0, 0, 0))
    run = m.build().simulate(0.1, every=0.1)
    assert run.table("none").shape == (2, 7)


def test_two_quantities_of_one_name_are_refused() -> None:
    m = wt.Mechanism("twins", gravity=(0, 0, 0))
    m.frame("crate", on=m.body("box", mass=1.0, inertia=(1, 1, 1)), at=(1, 0, 0))
    m.free("crate", m.ground, "box")
    run = m.build().simulate(0.1, every=0.1)
    assert len(list(run.table(["crate", "coordinates"]))) == 8  # the same ones twice are there once
    with pytest.raises(wt.StateError, match=r'two different quantities are called "crate.position x \[m\]"'):
        run.table(["crate", "crate.position"])
    with pytest.raises(wt.StateError, match=r'the same name, "a\.b"'):
        Columns((Label("a", "b", ""), Label("a", "b", "")), np.zeros((1, 2)))
