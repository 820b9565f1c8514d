"""Derivatives of inverse dynamics: against CasADi's of the same function, Pinocchio's, and their cost."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.loop_models import where
from support.random_forces import load_up, loaded
from support.random_loops import case
from support.random_trees import random_mechanism

Array = np.ndarray
T = 0.3


def state(s: wt.System, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([seed, 11])
    return {
        "q": s.random(rng),
        "v": rng.normal(size=s.nv),
        "a": rng.normal(size=s.nv),
        "z": rng.normal(size=s.nz),
        "t": T,
        "parameters": np.array(s.description.parameter_values),
    }


def displaced(s: wt.System, q: Any, u: Any) -> Any:
    """The configuration that a displacement leads to, over symbols."""
    integrate = s.function("integrate")
    return integrate(*[q, u, np.array(s.description.parameter_values)][: integrate.n_in()])


def chain(n: int) -> wt.System:
    m = wt.Mechanism("chain")
    last: Any = m.ground
    for i in range(n):
        inertia = [[0.3, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]]
        body = m.body(f"body {i}", mass=1.0, com=(0.3, 0.1, 0.2), inertia=inertia)
        m.revolute(f"joint {i}", last, body, at=(1, 0.1, 0.2), axis="xyz"[i % 3])
        last = body
    return m.build()


@pytest.mark.parametrize(("seed", "loaded"), [(0, False), (1, False), (3, False), (1, True), (2, True)])
def test_against_differentiated_inverse_dynamics(seed: int, loaded: bool) -> None:
    """Any joint, either way round, any element: CasADi differentiates the whole function, and agrees to rounding."""
    m = random_mechanism(seed, 4 if loaded else 6)
    if loaded:
        load_up(m, np.random.default_rng(seed))
    s = m.build()
    x = state(s, seed)
    f, g = s.function("inverse_dynamics"), s.function("inverse_dynamics_derivatives")
    u, v, a = (ca.SX.sym(name, s.nv) for name in "uva")
    moved = {**x, "q": displaced(s, x["q"], u), "v": v, "a": a}
    effort = f(*(moved[name] for name in f.name_in()))
    slopes = ca.Function("slopes", [u, v, a], [ca.jacobian(effort, x) for x in (u, v, a)])
    ours = np.array(g(*(x[name] for name in g.name_in()))).reshape(3, s.nv, s.nv)
    for one, other in zip(ours, slopes(np.zeros(s.nv), x["v"], x["a"]), strict=True):
        assert np.abs(one - other.full()).max() < 1e-12 * max(1, np.abs(one).max())


def test_the_call() -> None:
    """Machine code, batches, loads at frames, and the accelerations' derivatives by finite differences."""
    m = random_mechanism(3, 3, kinds=("revolute", "spherical", "universal"), floating=True)
    s = m.build()
    x = state(s, 0)
    wrench = {"frame 0": np.array([0.1, 0.2, -0.3, 1.0, 2.0, 3.0])}
    qs = np.stack([x["q"], s.random(1)])
    both = s.inverse_dynamics_derivatives(qs, x["v"], x["a"], wrenches=wrench)
    assert both.q.shape == (2, s.nv, s.nv)
    one = s.inverse_dynamics_derivatives(x["q"], x["v"], x["a"], wrenches=wrench)
    assert np.array_equal(both.q[0], one.q)
    assert np.abs(one.a - s.mass_matrix(x["q"])).max() < 1e-12 * np.abs(one.a).max()
    tau = np.linspace(-1, 1, s.nv)
    forward = s.forward_dynamics_derivatives(x["q"], x["v"], tau, wrenches=wrench)

    def a(u: Array, dv: Array) -> Array:
        return s.forward_dynamics(s.integrate(x["q"], u), x["v"] + dv, tau, wrenches=wrench)

    h, none = 1e-6, np.zeros(s.nv)
    for j, e in enumerate(np.eye(s.nv) * h):
        by_q, by_v = (a(e, none) - a(-e, none)) / (2 * h), (a(none, e) - a(none, -e)) / (2 * h)
        assert np.abs(forward.q[:, j] - by_q).max() < 1e-6 * max(1, np.abs(by_q).max())
        assert np.abs(forward.v[:, j] - by_v).max() < 1e-6 * max(1, np.abs(by_v).max())


def test_far_from_the_origin() -> None:
    """A floating tree ten thousand kilometres away has the same derivatives."""
    s = random_mechanism(3, 3, kinds=("revolute", "spherical", "universal"), floating=True, backward=0.0).build()
    x = state(s, 0)
    function = s.function("inverse_dynamics_derivatives")
    far = x["q"].copy()
    base = next(use.name for use in s.description.joints if use.joint.kind == "free")
    far[s.q_slice(base).start + 4 : s.q_slice(base).stop] += 1e7
    here, there = (np.array(function(q, x["v"], x["a"])) for q in (x["q"], far))
    assert np.abs(here - there).max() < 1e-12 * np.abs(here).max()


def test_against_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    from support.pinocchio_models import (
        mechanism_from_pinocchio,
        random_state,
        sample_humanoid,
        state_from_pinocchio,
        velocity_map,
    )

    model = sample_humanoid()
    s = mechanism_from_pinocchio(model).build()
    given = random_state(model, np.random.default_rng(2))
    data = model.createData()
    theirs = pin.computeRNEADerivatives(model, data, given.q, given.v, given.a)
    turn = velocity_map(model, given.q)  # ours from theirs: a permutation
    function = s.function("inverse_dynamics_derivatives")
    found = np.array(function(*state_from_pinocchio(model, *given)[:3])).reshape(3, s.nv, s.nv)
    mass = np.triu(theirs[2]) + np.triu(theirs[2], 1).T
    for one, other in zip(found, (theirs[0], theirs[1], mass), strict=True):
        expected = turn @ other @ turn.T
        assert np.abs(one - expected).max() < 1e-11 * np.abs(expected).max()


@pytest.mark.rest
def test_cost_grows_with_pairs() -> None:
    """Quadratic in the depth, linear for each column; not a hundred times inverse dynamics."""
    counts = {n: chain(n).kernels.operations("inverse_dynamics_derivatives").total for n in (10, 20, 40)}
    assert counts[20] < 4 * counts[10] and counts[40] < 4 * counts[20]
    assert counts[40] < 60 * 40**2
    column = {n: count / n for n, count in counts.items()}
    assert column[40] - column[20] < 2.1 * (column[20] - column[10])  # straight lines


@pytest.mark.parametrize(("family", "i"), [("one loop", 1), ("couplings", 1), ("cut joints", 1)])
def test_matrix_of_newtons_method(family: str, i: int) -> None:
    """With loops and every element: the derivative of all rows, by CasADi, in directions that keep cut joints whole."""
    c = case(family, i)
    rng = np.random.default_rng([3, i])
    s = loaded(c.looped, rng).build(**where(c.looped))
    x = {"q": c.q, "v": c.v, "tau": rng.normal(size=s.nv), "z": rng.normal(size=s.nz), "t": T}
    x["parameters"] = np.array(s.description.parameter_values)
    assert newton_error(s, x) < 1e-12


def test_matrix_of_velocity_closures() -> None:
    """A disc that rolls: conditions on velocities depend on positions, and do so in the matrix."""
    m = wt.Mechanism("disc")
    disc = m.body("disc", wt.cylinder(radius=0.5, length=0.02, mass=1.0))
    m.free("free", m.ground, disc)
    w, u = m.velocity(disc)[:3], m.velocity(disc)[3:]
    axis = m.rotation(disc)[:, 2]
    down = ca.vertcat(0, 0, -1) + axis * axis[2]
    m.closure("rolls", u + ca.cross(w, 0.5 * down / ca.norm_2(down)))
    s = m.build(guess={"free": [np.cos(0.7), np.sin(0.7), 0, 0, 0, 0, 0.5]})
    rng = np.random.default_rng(0)
    q = s.integrate(s.q0, 0.1 * rng.normal(size=6))
    assert newton_error(s, {"q": q, "v": rng.normal(size=6), "tau": rng.normal(size=6), "z": np.zeros(0)}) < 1e-12


def newton_error(s: wt.System, x: dict[str, Any], cv: float = 0.3, cu: float = 0.05) -> float:
    """The largest error of the matrix against CasADi's derivative of the residual, relative to its largest entry."""
    residual, matrix = s.function("newton_residual"), s.function("newton_matrix")
    equations = s._engine.equations
    held, keep = equations.attachments(), equations.loop_plan.keep
    nm = equations.loop_plan.n_rows
    n = s.nv + nm + s.nz
    rng = np.random.default_rng(5)
    a, multipliers, u = rng.normal(size=s.nv), rng.normal(size=nm), 0.3 * rng.normal(size=s.nv)
    x = {**x, "a": a, "multipliers": multipliers, "u": u, "step": np.array([cv, cu])}
    ours = np.array(matrix(*(x[name] for name in matrix.name_in()))).reshape(n, n)
    unknown = ca.SX.sym("x", n)
    da, dm, dy = unknown[: s.nv], unknown[s.nv : s.nv + nm], unknown[s.nv + nm :]
    back = np.array(displaced(s, x["q"], -u)).ravel()
    moved = {**x, "q": displaced(s, back, u + cu * da), "v": x["v"] + cv * da, "a": a + da}
    moved |= {"multipliers": multipliers + dm, "z": x["z"] + cv * dy}
    rows = residual(*(moved[name] for name in residual.name_in()))[:n]
    if s.nz:
        rows = ca.vertcat(rows[: s.nv + nm], dy - rows[s.nv + nm :])
    theirs = ca.Function("slope", [unknown], [ca.jacobian(rows, unknown)])(np.zeros(n)).full()
    scale = np.ones(n)
    cuts = [i for cut in held.cuts for i in range(cut.v.start, cut.v.stop)]
    scale[cuts] = cu
    holonomic = [f.closure.holonomic for f, rows in zip(held.all, keep, strict=True) for _ in rows]
    scale[s.nv : s.nv + nm] = np.where(holonomic, cu, cv)
    _, _, directions = np.linalg.svd(ours[cuts]) if cuts else (0, 0, np.eye(n))
    error = (ours - theirs / scale[:, None]) @ directions[len(cuts) :].T
    return float(np.abs(error).max() / np.abs(theirs).max())
