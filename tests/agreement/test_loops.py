"""Closed loops: all formulations against each other and against equations in absolute coordinates in plain NumPy.

300 random mechanisms (`random_loops`), each assembled by construction, in a consistent state, with efforts on all
joints, cut or not, and wrenches. A sample of them runs always, the others are marked as deep. The evaluator is
CasADi's, and machine code on a few.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.formulations import EXACT
from support.loop_agreement import accelerations, assert_close, computed, given, reactions
from support.loop_models import built
from support.measures import relative
from support.random_loops import FAMILIES, MEMBERS, QUICK, Case, case
from support.sampling import deep, sampled, shared
from whippletree.system.loop_equations import reaction_ways

Array = np.ndarray

NATIVE = (
    ("one loop", 2),
    ("coupled, one base", 0),
    ("overconstrained", 2),
    ("planar", 3),
    ("floating", 0),
    ("cut joints", 3),
    ("rods", 0),
    ("expressions", 1),
    ("couplings", 1),
    ("velocity only", 1),
)


# ---------------------------------------------------------------------------------------------------------
# What is compared


def closures(s: wt.System, c: Case) -> dict[str, float]:
    """Residuals where all is closed, and rows against the velocities that keep all bodies together."""
    rows, allowed = s.closure_jacobian(c.q, t=c.looped.t), c.equations.joint_motions
    assert rows.shape == (len(s.closure_rows), s.nv)
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(sizes > 1e-12, sizes, 1.0)
    # What the rows allow is no more than that, either.
    assert int((np.linalg.svd(rows, compute_uv=False) > 1e-7).sum()) == s.nv - c.equations.mobility
    residual = s.closure_residual(c.q, t=c.looped.t)
    return {
        "closure Jacobian": float(np.abs(rows @ allowed).max(initial=0.0)),
        "closure residual": float(np.abs(residual).max(initial=0.0)),
    }


def motions(s: wt.System, c: Case) -> dict[str, float]:
    """The basis of all motions spans those of the reference, and is the identity at the independent coordinates."""
    E, allowed = s.kernels.closures.motion_basis(c.q, t=c.looped.t), c.equations.joint_motions
    assert E.shape == (s.nv, c.equations.mobility)
    rest = E - allowed @ np.linalg.lstsq(allowed, E, rcond=None)[0]
    units = [np.abs(E - unit).sum(axis=1).min() for unit in np.eye(c.equations.mobility)]
    return {"basis of motions": float(np.abs(rest).max() / np.abs(E).max()), "its unit rows": max(units)}


def check_mobility(s: wt.System, c: Case) -> None:
    looped, mobility = c.looped, c.equations.mobility
    rows = len(looped.rods) + len(looped.couplings) + sum(law.rows for law in looped.laws)
    assert s.mobility.gruebler == looped.nv - 6 * looped.loops - rows
    assert s.mobility.mobility == mobility
    assert len(s.mobility.redundant) == mobility - s.mobility.gruebler
    assert len(s.mobility.independent) == mobility


def check_assembly(s: wt.System, c: Case) -> None:
    """The guess is closed already, so nothing moves; quaternions may change their sign."""
    for hinge, ours in zip(c.looped.hinges, c.looped.split_q(s.q0).values(), strict=True):
        turned = ours.copy()
        if hinge.kind in ("spherical", "free"):
            turned[:4] *= np.sign(ours[:4] @ hinge.q[:4])
        assert np.abs(turned - hinge.q).max(initial=0.0) < 1e-9, hinge.name


# ---------------------------------------------------------------------------------------------------------
# Tests


@pytest.mark.parametrize(("family", "i"), sampled(MEMBERS, lambda key: key in QUICK, core=2))
def test_random_mechanisms(family: str, i: int) -> None:
    c = case(family, i)
    s = built(c.looped)
    check_assembly(s, c)
    check_mobility(s, c)
    named = shared(EXACT, list(FAMILIES).index(family))
    assert_close({**closures(s, c), **motions(s, c), **accelerations(s, c), **reactions(s, c, named)})
    for name in ("penalty", "velocity_transformation/reference_point/penalty"):
        soft = computed(s, c, "forward_dynamics", name)
        assert relative(soft[None], c.a[None]) < s.kernels.closures.penalty_error, name


def least(s: wt.System, c: Case, formulation: str) -> dict[str, float]:
    """Machine code, by the calls that users make: checked states, least reactions with their flags."""
    options: dict[str, Any] = {"wrenches": c.loads, "t": c.looped.t, "formulation": formulation}
    length = s.kernels.closures.characteristic_length
    expected, unique = c.solution.reactions(length), c.equations.unique(length)
    scale = max(np.abs(r).max() for r in expected.values())
    found = {"accelerations": relative(s.forward_dynamics(c.q, c.v, c.tau, **options)[None], c.a[None])}
    all_of_them = s.reactions(c.q, c.v, c.tau, **options)
    got = {joint: all_of_them[joint].wrench for joint in all_of_them}
    found["least reactions"] = max(np.abs(got[joint] - expected[joint]).max() for joint in got) / scale
    found["along self-stress"] = c.equations.shared(got, length)
    rest = c.equations.imbalance(c.solution.x, got, c.tau, c.loads)
    found |= {"balance of bodies": rest.bodies, "efforts of joints": rest.joints}
    for joint in got:
        assert (all_of_them[joint].unique == unique[joint]).all(), joint
    determined = {name: at for name, at in c.equations.closures.items() if not c.equations.stressed(at)}
    if determined:  # rods, couplings and laws: their multipliers
        forces = s.closure_forces(c.q, c.v, c.tau, **options)
        for name, at in determined.items():
            found[f"force of {name}"] = float(np.abs(forces[name] - c.solution.multipliers[at]).max() / scale)
    return {f"{name}, {formulation}": value for name, value in found.items()}


@pytest.mark.parametrize(("family", "i"), sampled(NATIVE, lambda key: key in NATIVE[::4]))
def test_native_code(family: str, i: int) -> None:
    c = case(family, i)
    assert_close(least(built(c.looped), c, "auto"))


@pytest.mark.deep
@pytest.mark.parametrize("formulation", ["auto", *EXACT])
@pytest.mark.parametrize("i", range(3))
@pytest.mark.parametrize("family", FAMILIES)
def test_native_code_of_each_formulation(family: str, i: int, formulation: str) -> None:
    c = case(family, 3 + i)
    assert_close(least(built(c.looped), c, formulation))


@pytest.mark.rest
@pytest.mark.parametrize(
    ("family", "i"), [("one loop", 4), ("overconstrained", 9), *deep([("planar", 1), ("couplings", 1)])]
)
def test_no_choice_of_cuts_changes_anything(family: str, i: int) -> None:
    """Accelerations and reactions are the same wherever the loops are cut."""
    c = case(family, i)
    found, tried = {}, 0
    for hinge in c.looped.hinges:
        try:
            s = built(c.looped, cut=[hinge.name])
        except wt.TopologyError:
            continue  # not in a loop
        chosen = (EXACT[tried % len(EXACT)],)
        tried += 1
        for name, value in (accelerations(s, c, chosen) | reactions(s, c, chosen)).items():
            found[f"{name}, cut at {hinge.name}"] = value
    assert tried > 1
    assert_close(found)


@pytest.mark.rest
@pytest.mark.parametrize(
    ("family", "i"),
    [("couplings", 4), ("couplings", 6), ("expressions", 6), ("coupled, other bases", 1), ("floating", 0), ("rods", 1)],
)
def test_dependent_speeds_leave_with_their_rows(family: str, i: int) -> None:
    """Coordinate reduction with every row reduced on the way instead of carried to the base of its loop."""
    c = case(family, i)
    s = built(c.looped, dependent=())
    pairs = s._engine.equations.loop_plan.reduction
    assert len(pairs) == len(set(pairs.values())) == sum(map(len, s._engine.equations.loop_plan.keep))
    only = ("coordinate_reduction",)
    assert_close({**accelerations(s, c, only), **reactions(s, c, only)})


@pytest.mark.rest
@pytest.mark.parametrize(("family", "i"), sampled(MEMBERS, lambda key: key in QUICK[::6]))
def test_reactions_from_by_products_are_those_of_one_more_sweep(family: str, i: int) -> None:
    """Whichever way takes fewer operations becomes the kernel: both must be right (Jain 42-46 and 69, corrected)."""
    c = case(family, i)
    s = built(c.looped)
    e, eq = c.equations, s.kernels.equations
    for formulation in ("tree_augmented", "constraint_embedding"):
        request = s.kernels.request("reactions", formulation=formulation, wrenches=list(c.loads))
        x = eq.inputs(request)
        function = ca.Function("ways", list(x.values()), list(reaction_ways(eq, request, x).values()))
        names = [name.replace(" ", "_") for name in x]
        ways = [np.array(way).reshape(-1, 6) for way in function.call([given(c)[name] for name in names])]
        assert len(ways) == 2 or any(use.joint.nv == 0 for use in s.description.joints), "nothing is compared"
        for wrenches in ways:
            rest = e.imbalance(c.solution.x, dict(zip(s.joint_names, wrenches, strict=True)), c.tau, c.loads)
            assert_close({"bodies": rest.bodies, "joints": rest.joints})
            assert np.abs(wrenches - ways[0]).max() < 1e-10 * np.abs(ways[0]).max()
