"""Closed loops: all formulations against each other and against equations in absolute coordinates in plain NumPy.

300 random mechanisms (`random_loops`), each assembled by construction, in a consistent state, with efforts on all
joints, cut or not, and wrenches. A sample of them runs always, the others are marked as deep. The evaluator is
CasADi's, and machine code on a few.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.loop_models import built, inputs
from support.measures import relative
from support.random_loops import MEMBERS, QUICK, Case, case

Array = np.ndarray

TOLERANCE = 1e-9
EXACT = ("tree_augmented", "joint_multipliers", "independent_coordinates", "absolute")
NATIVE = (
    ("one loop", 0),
    ("coupled, one base", 1),
    ("planar", 0),
    ("overconstrained", 2),
    ("floating", 1),
    ("rods", 0),
    ("couplings", 1),
    ("expressions", 1),
    ("velocity only", 1),
)


def everywhere() -> list:
    deep = pytest.mark.deep
    return [key if key in QUICK else pytest.param(*key, marks=deep) for key in MEMBERS]


@functools.lru_cache(maxsize=4)
def system(family: str, i: int) -> wt.System:
    return built(case(family, i).looped)


def given(c: Case) -> dict[str, Any]:
    """A case's state and loads by the names that functions give their inputs."""
    loads = {f"wrench_on_{name.replace(' ', '_')}": wrench for name, wrench in c.loads.items()}
    return {"q": c.q, "v": c.v, "tau": c.tau, "t": [c.looped.t], **loads}


def computed(s: wt.System, c: Case, name: str, formulation: str) -> Array:
    """A function's value by CasADi's evaluator."""
    function = s.function(name, formulation=formulation, wrenches=list(c.loads))
    return np.array(function(*inputs(function, given(c)))).ravel()


def assert_close(found: dict[str, float], tolerance: float = TOLERANCE) -> None:
    assert found
    far = {name: f"{value:.2e}" for name, value in found.items() if not value < tolerance}
    assert not far, far


def by_joint(s: wt.System, wrenches: Array) -> dict[str, Array]:
    return dict(zip(s.joint_names, wrenches.reshape(-1, 6), strict=True))


@pytest.mark.parametrize(("family", "i"), everywhere())
def test_accelerations(family: str, i: int) -> None:
    c, s = case(family, i), system(family, i)
    got = {name: computed(s, c, "forward_dynamics", name) for name in EXACT}
    found = {name: relative(a[None], c.a[None]) for name, a in got.items()}
    found |= {f"{name} from {EXACT[0]}": relative(a[None], got[EXACT[0]][None]) for name, a in got.items()}
    assert_close(found)
    soft = computed(s, c, "forward_dynamics", "penalty")
    assert relative(soft[None], c.a[None]) < s.penalty_error


@pytest.mark.parametrize(("family", "i"), everywhere())
def test_reactions(family: str, i: int) -> None:
    """Every body is balanced by what each formulation reports, and what is determined is the same in all."""
    c, s = case(family, i), system(family, i)
    e, found = c.equations, {}
    unique, expected = e.unique(s.characteristic_length), c.solution.reactions(s.characteristic_length)
    scale = max(np.abs(r).max() for r in expected.values())
    for name in EXACT:
        got = by_joint(s, computed(s, c, "reactions", name))
        rest = e.imbalance(c.solution.x, got, c.tau, c.loads)
        found[f"balance of bodies, {name}"] = rest.bodies
        found[f"efforts of joints, {name}"] = rest.joints
        far = [np.abs(got[joint] - expected[joint])[unique[joint]].max(initial=0.0) for joint in got]
        found[f"unique reactions, {name}"] = max(far) / scale
    assert_close(found)


@pytest.mark.parametrize(("family", "i"), everywhere())
def test_closure_jacobian(family: str, i: int) -> None:
    """The velocities that the Jacobian allows are those that keep all bodies together, in absolute coordinates."""
    c, s = case(family, i), system(family, i)
    rows = s.closure_jacobian(c.q, t=c.looped.t)
    allowed = c.equations.joint_motions
    assert rows.shape[1] == s.nv
    sizes = np.linalg.norm(rows, axis=1)
    rows = rows[sizes > 1e-12] / sizes[sizes > 1e-12, None]
    assert np.abs(rows @ allowed).max(initial=0.0) < TOLERANCE
    values = np.linalg.svd(rows, compute_uv=False)
    assert int((values > 1e-7).sum()) == s.nv - c.equations.mobility


@pytest.mark.parametrize(("family", "i"), everywhere())
def test_mobility(family: str, i: int) -> None:
    c, s = case(family, i), system(family, i)
    looped, mobility = c.looped, c.equations.mobility
    rows = len(looped.rods) + len(looped.couplings) + sum(law.rows for law in looped.laws)
    assert s.mobility.gruebler == looped.nv - 6 * looped.loops - rows
    assert s.mobility.mobility == mobility
    assert len(s.mobility.redundant) == mobility - s.mobility.gruebler
    assert len(s.mobility.independent) == mobility
    # The basis of motions spans the same velocities, and is the identity at the independent ones.
    E, allowed = s.motion_basis(c.q, t=looped.t), c.equations.joint_motions
    assert E.shape == (s.nv, mobility)
    rest = E - allowed @ np.linalg.lstsq(allowed, E, rcond=None)[0]
    assert np.abs(rest).max() < TOLERANCE * np.abs(E).max()
    ones = [k for k in range(s.nv) if np.isclose(np.abs(E[k]).sum(), 1.0) and np.isclose(E[k].max(), 1.0)]
    assert np.linalg.matrix_rank(E[ones]) == mobility


@pytest.mark.parametrize(("family", "i"), everywhere())
def test_assembly_stays_where_it_is(family: str, i: int) -> None:
    """The guess is closed already, so nothing moves; quaternions may change their sign."""
    c, s = case(family, i), system(family, i)
    assert np.abs(s.closure_residual(c.q, t=c.looped.t)).max(initial=0.0) < 1e-12
    if not c.looped.timed:  # at build, the time is zero
        for hinge, ours in zip(c.looped.hinges, c.looped.split_q(s.q0).values(), strict=True):
            sign = np.sign(ours[:4] @ hinge.q[:4]) if hinge.kind in ("spherical", "free") else 1.0
            turned = np.concatenate([sign * ours[:4], ours[4:]]) if sign != 1.0 else ours
            assert np.abs(turned - hinge.q).max(initial=0.0) < 1e-9, hinge.name


@pytest.mark.parametrize(("family", "i"), NATIVE)
def test_native_code(family: str, i: int) -> None:
    """Machine code, by the calls that users make: checked states, least reactions with their flags."""
    c, s = case(family, i), system(family, i)
    loads = {"wrenches": c.loads, "t": c.looped.t}
    found = {
        name: relative(s.forward_dynamics(c.q, c.v, c.tau, formulation=name, **loads)[None], c.a[None])
        for name in EXACT
    }
    found["auto"] = relative(s.forward_dynamics(c.q, c.v, c.tau, **loads)[None], c.a[None])
    length = s.characteristic_length
    expected, unique = c.solution.reactions(length), c.equations.unique(length)
    scale = max(np.abs(r).max() for r in expected.values())
    for name in ("auto", *EXACT):
        reactions = s.reactions(c.q, c.v, c.tau, formulation=name, **loads)
        got = {joint: reactions[joint].wrench for joint in reactions}
        found[f"least reactions, {name}"] = max(np.abs(got[joint] - expected[joint]).max() for joint in got) / scale
        found[f"shared, {name}"] = c.equations.shared(got, length)
        assert all((reactions[joint].unique == unique[joint]).all() for joint in got)
    assert_close(found)
