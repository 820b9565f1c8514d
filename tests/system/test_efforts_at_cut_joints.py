"""Elements that act at joints where loops are cut: one convention for every function that gives joint efforts.

The functions of the spanning tree (`mass_matrix`, `bias_force`, `inverse_dynamics_derivatives`) are zero at cut joints,
and what elements do there acts on the bodies that the joint joins.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.loop_models import described, where
from support.measures import relative
from support.random_forces import load_up
from support.random_loops import MEMBERS, QUICK, Case, case
from support.sampling import sampled

Array = np.ndarray
T = 0.3
STIFFNESS, DAMPING = 7.0, 0.4
SAMPLED = sampled(MEMBERS, QUICK.__contains__)


def four_bar(**options: Any) -> wt.System:
    """Crank, coupler and rocker in the plane, a torsion spring at C, where the loop is cut."""
    m = wt.Mechanism("four-bar", gravity=(0, 0, 0))
    crank, coupler, rocker = (
        m.body(name, wt.rod(length=length, mass=1.0, axis="x"))
        for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.5))
    )
    m.revolute("A", m.ground, crank)
    m.revolute("B", crank, coupler, at=(1, 0, 0))
    m.revolute("D", m.ground, rocker, at=(2, 0, 0))
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), **options)
    m.torsion_spring("spring", "C", stiffness=STIFFNESS, rest=0.1, damping=DAMPING)
    return m.build(guess={"A": 1.0, "B": -0.6, "D": 1.6}, cut=["C"])


def cut_mask(s: wt.System) -> Array:
    """Which freedoms belong to cut joints."""
    mask = np.zeros(s.nv, dtype=bool)
    for cut in s.plan.cuts:
        mask[s.v_slice(s.description.joints[cut.joint].name)] = True
    return mask


def differences(s: wt.System, x: dict[str, Any], f: Any, h: float = 1e-6) -> tuple[Array, Array]:
    """The derivatives of f(q, v) for displacements and velocities, by central differences."""
    columns_q, columns_v = [], []
    for e in np.eye(s.nv) * h:
        columns_q.append((f(s.integrate(x["q"], e), x["v"]) - f(s.integrate(x["q"], -e), x["v"])) / (2 * h))
        columns_v.append((f(x["q"], x["v"] + e) - f(x["q"], x["v"] - e)) / (2 * h))
    return np.array(columns_q).T, np.array(columns_v).T


@pytest.mark.parametrize("options", [{}, {"prescribed": True}])
def test_four_bar_with_a_spring_at_the_cut(options: dict[str, Any]) -> None:
    """C turns by D - A - B: so does the spring's torque act on these, and C itself has none."""
    s = four_bar(**options)
    q, v = s.q0 + np.array([0.1, 0.2, -0.1, 0.3]), np.array([1.0, -2.0, 0.5, 3.0])
    torque = -STIFFNESS * (q[3] - 0.1) - DAMPING * v[3]
    assert s.forces(q, v)["spring"].efforts == pytest.approx([torque], rel=1e-14)
    without = s.bias_force(q, np.zeros(4)) - s.bias_force([*q[:3], 0.1], np.zeros(4))
    still = -STIFFNESS * (q[3] - 0.1)
    assert without == pytest.approx([still, still, -still, 0.0], rel=1e-13)
    damped = s.bias_force(q, v) - s.bias_force(q, [*v[:3], 0.0])
    assert damped == pytest.approx(DAMPING * v[3] * np.array([-1, -1, 1, 0]), rel=1e-12)
    d = s.inverse_dynamics_derivatives(q, v)
    by_q, by_v = differences(s, {"q": q, "v": v}, s.bias_force)
    assert np.abs(d.q - by_q).max() < 1e-8 and np.abs(d.v - by_v).max() < 1e-8
    assert d.q[:, 3] == pytest.approx(STIFFNESS * np.array([-1, -1, 1, 0]), rel=1e-13)


def test_holding_torque_of_the_four_bar() -> None:
    """At rest, a motor at any one joint holds the spring: by virtual work, torque times the ratio of the rates."""
    s = four_bar()
    torque = -STIFFNESS * (s.q0[3] - 0.1)
    rates = s.kernels.closures.motion_basis(s.q0)[:, 0]
    for k, name in enumerate("ABDC"):
        tau = s.inverse_dynamics(s.q0, s.v0, actuators=[name])
        expected = np.zeros(4)
        expected[k] = -torque * rates[3] / rates[k]
        assert tau == pytest.approx(expected, rel=1e-11, abs=1e-12)
        assert np.abs(s.forward_dynamics(s.q0, s.v0, tau)).max() < 1e-10


def on_cut_joints(c: Case) -> tuple[wt.System, dict[str, Any]]:
    """Every kind of element on a mechanism's cut joints, if they have plain coordinates, else on any; and a state."""
    plain = [hinge for hinge in c.looped.hinges if hinge.kind not in ("fixed", "spherical", "free")]
    s = described(c.looped).build(**where(c.looped))
    cut = [s.description.joints[one.joint].name for one in s.plan.cuts]
    chosen = [hinge for hinge in plain if hinge.name in cut] or plain
    m, rng = described(c.looped), np.random.default_rng([7, len(chosen)])
    load_up(m, rng, [(hinge.name, k) for hinge in chosen for k in range(hinge.nv)])
    s = m.build(**where(c.looped))
    x = {"q": c.q, "v": c.v, "a": rng.normal(size=s.nv), "z": rng.normal(size=s.nz), "t": T}
    return s, x | {"parameters": np.array(s.description.parameter_values)}


def evaluated(s: wt.System, name: str, x: dict[str, Any]) -> Array:
    function = s.function(name)
    return np.array(function(*(x[key] for key in function.name_in()))).ravel()


@pytest.mark.parametrize(("family", "i"), sampled(MEMBERS, QUICK[::3].__contains__))
def test_derivatives_are_those_of_the_bias_force(family: str, i: int) -> None:
    """Elements of every kind at cut joints: zero there, and everything is the derivative of everything else."""
    s, x = on_cut_joints(case(family, i))
    cut, shape = cut_mask(s), (3, s.nv, s.nv)
    d = evaluated(s, "inverse_dynamics_derivatives", x).reshape(shape)
    bias, tree = evaluated(s, "bias_force", x), evaluated(s, "inverse_dynamics", x)
    mass = evaluated(s, "mass_matrix", x).reshape(shape[1:])
    assert relative([mass @ x["a"] + bias], [tree]) < 1e-12 and relative([d[2]], [mass]) < 1e-13
    for part in (bias[cut], tree[cut], mass[cut], mass[:, cut], *d[:, cut]):
        assert not part.any()
    f, integrate = s.function("inverse_dynamics"), s.function("integrate")
    u, v = ca.SX.sym("u", s.nv), ca.SX.sym("v", s.nv)
    given = [x["q"], u, x["parameters"]][: integrate.n_in()]
    moved = {**x, "q": integrate(*given), "v": v}
    effort = f(*(moved[key] for key in f.name_in()))
    slopes = ca.Function("slopes", [u, v], [ca.jacobian(effort, one) for one in (u, v)])
    for one, other in zip(d, slopes(np.zeros(s.nv), x["v"]), strict=False):
        assert np.abs(one - other.full()).max() < 1e-11 * max(1, np.abs(one).max())


@pytest.mark.parametrize(("family", "i"), SAMPLED)
def test_against_the_balance_of_all_bodies(family: str, i: int) -> None:
    """With the accelerations of the independent solver, bias force and mass matrix are in balance along every motion.

    Only elements at joints act, and the solver is given their efforts, those at cut joints too.
    """
    c = case(family, i)
    plain = [hinge for hinge in c.looped.hinges if hinge.kind not in ("fixed", "spherical", "free")]
    m, rng = described(c.looped), np.random.default_rng(11)
    tau, places = np.zeros(c.looped.nv), c.looped.split_v(np.arange(c.looped.nv))
    speed = c.looped.split_v(c.v)
    for hinge in plain:
        for k in range(hinge.nv):
            size = rng.uniform(1, 5, 3)
            m.torsion_spring(f"{hinge.name} spring {k}", hinge.name, index=k, stiffness=size[0], damping=size[1])
            m.actuator(f"{hinge.name} motor {k}", hinge.name, index=k, effort=size[2])
            at = int(places[hinge.name][k])
            tau[at] = size[2] - size[0] * hinge.q[k] - size[1] * speed[hinge.name][k]
    s = m.build(**where(c.looped))
    x = {"q": c.q, "v": c.v, "t": c.looped.t, "z": np.zeros(0), "parameters": np.zeros(0)}
    a = c.equations.solve(tau).joints
    needed = evaluated(s, "mass_matrix", x).reshape(s.nv, s.nv) @ a + evaluated(s, "bias_force", x)
    left = c.equations.joint_motions.T @ needed
    assert np.abs(left).max() < 1e-9 * max(np.abs(needed).max(), np.abs(tau).max(initial=0.0))
