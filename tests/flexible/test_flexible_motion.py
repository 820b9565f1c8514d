"""Flexible bodies in mechanisms: limits, balances, time loops, linear models, stiffening, rolled form."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.flexible_models import random_body, traced
from support.ritz_beam import ritz_beam
from support.sampling import deep
from whippletree.elements.bodies import FlexibleBody, Interface, Invariants, LumpedNodes
from whippletree.system import size_policy

LAMBDA = 1.875104068711961  # cos x cosh x = -1


def arm(kinds: list, *, gravity: object = (0.2, 0.3, -9.81)) -> wt.System:
    """Bodies behind revolute joints, each on the tip of the one before."""
    m = wt.Mechanism("arm", gravity=gravity)
    before: object = m.ground
    for i, kind in enumerate(kinds):
        link = m.body(f"l{i}", kind)
        at = {} if i == 0 else {"at": "tip"} if isinstance(kinds[i - 1], FlexibleBody) else {"at": (0.5, 0, 0)}
        m.revolute(f"j{i}", before, link, axis="yzx"[i % 3], **at)
        before = link
    return m.build()


def close(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    assert np.abs(found - wanted).max() <= tolerance * max(1.0, float(np.abs(wanted).max()))


# ------------------------------------------------------------------------------------------------- limits


def test_without_modes_it_is_the_rigid_body() -> None:
    second = np.diag([0.09, 0.002, 0.003])
    first = np.array([0.25, 0.0, 0.0])
    inertia = Invariants(1.2, 1.2 * first, second, np.zeros((3, 0)))
    none = FlexibleBody.from_arrays(
        stiffness=np.zeros((0, 0)), inertia=inertia, interfaces={"tip": Interface((0.5, 0, 0))}, size=0.5
    )
    central = second - 1.2 * np.outer(first, first)
    rigid = wt.MassProperties(1.2, first, np.trace(central) * np.eye(3) - central)
    one, other = arm([none] * 3), arm([rigid] * 3)
    q, v, tau = np.random.default_rng(0).normal(size=(3, 3))
    for formulation in ("articulated", "composite", "fully_recursive", "velocity_transformation"):
        given = {"formulation": formulation, "q": q, "v": v, "tau": tau}
        close(traced(one, "forward_dynamics", **given), traced(other, "forward_dynamics", **given), 1e-12)
    close(traced(one, "reactions", q=q, v=v), traced(other, "reactions", q=q, v=v), 1e-12)


def test_stiff_modes_leave_a_rigid_body() -> None:
    """At rest, the acceleration of the joint tends to that of the rigid body, and modes to their static value."""
    beam = ritz_beam((0, 2), stiffness=1e9)
    s = arm([beam])
    eta = np.linalg.solve(beam.arrays.array("stiffness"), _load(s, beam))
    a = traced(s, "forward_dynamics", q=np.r_[0.0, eta], v=np.zeros(3))
    assert a[0] == pytest.approx(3 * 9.81 / 2, rel=1e-6)
    assert np.abs(a[1:]).max() < 1e-6


def _load(s: wt.System, beam: FlexibleBody) -> np.ndarray:
    """What acts on the modes of a falling rod: weight and inertia."""
    M = traced(s, "mass_matrix", q=np.zeros(3)).reshape(3, 3)
    b = traced(s, "bias_force", q=np.zeros(3), v=np.zeros(3))
    return -(M[1:, 0] * (-b[0] / M[0, 0]) + b[1:])


# ------------------------------------------------------------------------------------------------- balances


def test_momentum_of_a_floating_body() -> None:
    m = wt.Mechanism("satellite", gravity=(0, 0, 0))
    m.free("float", m.ground, m.body("panel", random_body(np.random.default_rng(2), 2, nodes=4, rotary=False).kind()))
    s = m.build()
    v = np.r_[0.3, -0.4, 0.5, 0.1, 0.2, -0.3, 0.4, -0.2]
    run = s.simulate(2.0, v=v, every=0.2, tolerance=1e-13)
    momentum = s.momentum(run.q, run.v, about="origin")
    for part in momentum:
        assert np.abs(part - part[0]).max() < 1e-11
    assert s.center_of_mass(run.q).shape == (11, 3)


@pytest.mark.parametrize("stiffening", [True, *deep([False])])
def test_energy_of_a_pendulum(stiffening: bool) -> None:
    s = arm([ritz_beam((1, 2), stiffness=40.0, stiffening=stiffening, thickness=0.02)])
    run = s.simulate(10.0, every=0.1, tolerance=1e-10)
    energy = run.energy()
    assert np.abs(energy.total - energy.total[0]).max() < 1e-7
    assert run.certificate.ok
    modes = run["l0.modes"]
    assert modes.shape == (101, 3)
    stiffness = s.description.bodies[0].kind.arrays.array("stiffness")
    close(energy.strain, np.einsum("nk,kl,nl->n", modes, stiffness, modes) / 2, 1e-14)
    assert energy.strain.max() > 1e-3
    shape = run.deformation("l0")
    tip = np.einsum("nij,nj->ni", run.pose("l0")[:, :3, :3].swapaxes(1, 2), run["l0.tip"]) - shape.positions[-1]
    close(shape.displacement[:, -1, 1:], tip[:, 1:], 1e-12)  # shortening is of second order
    assert run.section_forces("l0").shape == (101, 25, 6)
    assert np.array_equal(run["l0.deflection"], shape.largest)
    with pytest.raises(wt.ModelError, match=r'did you mean "l0\.deflection"'):
        run["l0.deflections"]


def test_forces_balance_at_an_interface() -> None:
    """A tip mass is held by what its weld transmits, and the body by what its own weld to the ground does."""
    m = wt.Mechanism("cantilever")
    m.fixed("clamp", m.ground, m.body("link", ritz_beam((1, 2), stiffness=5.0)))
    m.fixed("weld", "link.tip", m.body("head", wt.box(size=(0.1, 0.1, 0.1), mass=0.5)))
    s = m.build()
    q, v = np.array([0.02, -0.03, 0.01]), np.array([0.3, -0.2, 0.4])
    a = s.forward_dynamics(q, v)
    found = s.reactions(q, v)
    need = 0.5 * (s.acceleration(q, v, a, "head")[3:] + np.array([0, 0, 9.81]))
    close(found["weld"].force, need, 1e-11)

    def momentum(t: float) -> np.ndarray:
        return np.concatenate(s.momentum(q + v * t + a * t * t / 2, v + a * t, about="origin"))

    h = 0.002
    weights = zip((1, 2, 3, 4), (4 / 5, -1 / 5, 4 / 105, -1 / 280), strict=True)
    rate = sum(w / h * (momentum(k * h) - momentum(-k * h)) for k, w in weights)
    weight = np.array([0, 0, -9.81 * 1.5])
    arm_of_weight = s.center_of_mass(q)
    angular, linear = rate[:3], rate[3:]
    close(found["clamp"].force, linear - weight, 1e-11)
    close(found["clamp"].moment, angular - np.cross(arm_of_weight, weight), 1e-11)


# ------------------------------------------------------------------------------------------------- loops in time


def four_bar() -> wt.System:
    """Crank, coupler and rocker are beams in a plane."""
    m = wt.Mechanism("four-bar")
    beams = {"crank": 0.4, "coupler": 1.0, "rocker": 0.8}
    for name, length in beams.items():
        m.body(name, ritz_beam((0, 2), length=length, mass=length, stiffness=30.0, damping=0.05))
    m.revolute("A", m.ground, "crank", axis="y")
    m.revolute("B", "crank.tip", "coupler", axis="y")
    m.revolute("D", m.ground, "rocker", at=(0.9, 0, 0.6), axis="y")
    m.revolute("C", "coupler.tip", "rocker.tip", axis="y")
    return m.build(cut=["C"])


@pytest.fixture(scope="module")
def bars() -> tuple[wt.System, np.ndarray, np.ndarray]:
    s = four_bar()
    q = s.assemble({"A": -1.0})
    return s, q, s.consistent_velocities(q, {"A": 2.0})


def test_order_of_time_loops_on_a_four_bar_of_beams(bars: tuple[wt.System, np.ndarray, np.ndarray]) -> None:
    s, q, v = bars
    exact = s.simulate(0.02, q=q, v=v, every=0.002, method="dop853", tolerance=1e-13).q
    for method, options, order in (
        ("dopri5", {"adaptive": False}, 5),
        ("generalized_alpha", {"spectral_radius": 0.8}, 2),
    ):
        steps = (1.25e-4, 6.25e-5) if method == "dopri5" else (1e-4, 5e-5)
        errors = [
            np.abs(s.simulate(0.02, q=q, v=v, every=0.002, method=method, step=h, **options).q - exact).max()
            for h in steps
        ]
        assert np.log2(errors[0] / errors[1]) > order - 0.2, (method, errors)


def test_generalized_alpha_damps_fast_modes_and_keeps_its_order_on_slow_ones() -> None:
    """Two modes that do not feel each other, at 2 pi and at 1e5 rad/s; steps are far too long for the fast one, whose
    amplification has an eigenvalue of the radius three times: it falls like n^2 times its n-th power.
    """
    slow, fast = 2 * np.pi, 1e5
    shapes = np.zeros((2, 3, 2))
    shapes[0, 2, 0] = shapes[1, 1, 1] = 1.0
    nodes = LumpedNodes([1.0, 1.0], np.zeros((2, 3, 3)), [[1, 0, 0], [2, 0, 0]], shapes, 0 * shapes)
    body = FlexibleBody.from_arrays(
        stiffness=np.diag([slow**2, fast**2]), inertia=nodes, interfaces={"tip": Interface((2, 0, 0))}, size=2.0
    )
    m = wt.Mechanism("two modes", gravity=(0, 0, 0))
    m.fixed("clamp", m.ground, m.body("beam", body))
    s = m.build()
    errors = []
    for step in (0.02, 0.01, 0.005):
        given = {"method": "generalized_alpha", "step": step, "spectral_radius": 0.6}
        run = s.simulate(1.0, q=np.array([0.01, 1e-4]), every=step, **given)
        errors.append(np.abs(run.q[:, 0] - 0.01 * np.cos(slow * run.t)).max())
        n = np.arange(10, len(run))
        assert (np.abs(run.q[n, 1]) < 1e-4 * n**2 * 0.6**n + 1e-15).all()
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.95).all(), (errors, orders)


def test_loops_of_beams_stay_closed_and_keep_energy(bars: tuple[wt.System, np.ndarray, np.ndarray]) -> None:
    s, q, v = bars
    run = s.simulate(0.5, q=q, v=v, tolerance=1e-10)
    assert run.certificate.ok
    assert run.certificate.closure_residual < 1e-10
    assert run.certificate.work_dissipated > 0


# ------------------------------------------------------------------------------------------------- other calls


def test_derivatives_mass_matrix_and_inverse_dynamics() -> None:
    s = arm([ritz_beam((1, 1), stiffness=20.0, damping=0.1, thickness=0.05), ritz_beam((0, 1), stiffness=9.0)])
    rng = np.random.default_rng(4)
    q, v, a = np.r_[0.4, -0.7, 0.05 * rng.normal(size=3)], rng.normal(size=s.nv), rng.normal(size=s.nv)
    tau = s.inverse_dynamics(q, v, a)
    close(s.mass_matrix(q) @ a + s.bias_force(q, v), tau, 1e-12)
    close(s.forward_dynamics(q, v, tau), a, 1e-10)
    found = s.inverse_dynamics_derivatives(q, v, a)
    h, I = 0.01, np.eye(s.nv)
    steps = np.array([1, 2, 3, 4])
    weights = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280]) / h
    signs = np.r_[steps, -steps] * h
    for which, exact in zip("qv", (found.q, found.v), strict=True):
        points = signs[:, None, None] * I
        states = (q + points, v + 0 * points) if which == "q" else (q + 0 * points, v + points)
        values = s.inverse_dynamics(*states, np.broadcast_to(a, points.shape))
        close(exact, np.einsum("k,kij->ji", np.r_[weights, -weights], values), 1e-9)


def test_static_deflection_and_frequencies_of_a_cantilever() -> None:
    m = wt.Mechanism("cantilever", gravity=(0, 0, -1e-6))
    m.fixed("clamp", m.ground, m.body("link", ritz_beam((0, 5), length=2.0, mass=3.0, stiffness=7.0)))
    s = m.build()
    rest = s.equilibrium()
    assert s.pose(rest.q, "link.tip")[2, 3] == pytest.approx(-3e-6 * 2**3 / (8 * 7), rel=1e-8)
    found = 2 * np.pi * s.linearize(rest.q).modes().frequencies
    assert found[0] == pytest.approx(LAMBDA**2 * np.sqrt(7 / (3 * 2**3)), rel=1e-6)


def test_a_mechanism_of_flexible_bodies_alone_has_weight_and_size() -> None:
    """Equilibria are measured by weights, displacements by the size of bodies: flexible ones count."""
    s = arm([ritz_beam((0, 2), length=0.01, mass=1e-5, stiffness=1e-3)])
    rest = s.equilibrium()
    assert abs(np.sin(rest.q[0] - np.arctan2(9.81, 0.2))) < 1e-9
    assert s.kernels.closures.characteristic_length == pytest.approx(0.005)
    loop = wt.Mechanism("loop")
    link = loop.body("link", ritz_beam((0, 2)))
    loop.revolute("A", loop.ground, link, axis="y")
    loop.distance("B", loop.ground, link, at=(1, 0, 1), at_child="tip", length=1.0)
    assert "for kinematics only" not in str(loop.build().plan)


WRIGHT = {0.0: (3.5160, 22.0345), 3.0: (4.7973, 23.3203), 6.0: (7.3604, 26.8091), 12.0: (13.1702, 37.6031)}
"""Out-of-plane frequencies of a rotating cantilever by speed (Wright, Smith, Thresher, Wang 1982)."""


@pytest.mark.parametrize("stiffening", [True, False])
def test_a_rotating_beam_stiffens(stiffening: bool) -> None:
    m = wt.Mechanism("rotor", gravity=(0, 0, 0))
    blade = m.body("blade", ritz_beam((5, 5), stiffening=stiffening))
    m.revolute("shaft", m.ground, blade, axis="z", prescribed=True)
    s = m.build()
    for speed, out_of_plane in WRIGHT.items():
        v = np.zeros(s.nv)
        v[0] = speed
        found = s.linearize(s.q0, v)
        lag = np.sqrt(max(out_of_plane[0] ** 2 - speed**2, 0)) if stiffening else np.sqrt(3.516**2 - speed**2 + 0j)
        values = np.abs(found.eigenvalues)
        for wanted in (*(out_of_plane if stiffening else (3.516, 22.0345)), abs(lag)):
            assert np.abs(values / wanted - 1).min() < 5e-3


def test_what_leaves_the_range_of_the_theory_is_told() -> None:
    s = arm([ritz_beam((0, 2), stiffness=1.0, stiffening=False)], gravity=(0, 0, 0))
    run = s.simulate(0.2, v=[1.5, 0, 0], tolerance=1e-8)
    told = " ".join(run.certificate.unchecked)
    assert 'body "l0" turns at 1.5' in told
    assert "has no geometric stiffening" in told
    run = arm([ritz_beam((0, 2), stiffness=1.0)]).simulate(0.8, tolerance=1e-8)
    told = " ".join(run.certificate.unchecked)
    assert "% of its size" in told
    assert "rad within itself" in told
    assert "stiffening" not in told
    with pytest.raises(wt.ModelError, match='there is no flexible body "l1"'):
        run.deformation("l1")


# ------------------------------------------------------------------------------------------------- rolled form


@pytest.mark.parametrize("different", [True, *deep([False])])
def test_the_rolled_form_gives_what_the_straight_line_gives(different: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [ritz_beam((0, 1), length=1.0 + 0.1 * i * different, thickness=0.03) for i in range(3)]
    found = []
    for least in (1, 10**9):
        monkeypatch.setattr(size_policy, "ROLL_FROM", least)
        s = arm(kinds)
        rng = np.random.default_rng(3)
        q, v, tau = s.random(3), rng.normal(size=s.nv), rng.normal(size=s.nv)
        a = s.forward_dynamics(q, v, tau, formulation="articulated")
        found.append([a, s.inverse_dynamics(q, v, a), np.array(s.energy(q, v))])
    for rolled, straight in zip(*found, strict=True):
        close(rolled, straight, 1e-11)


# ------------------------------------------------------------------------------------------------- substructures


@pytest.mark.deep  # substructures are welded like that, and tested against the elastica
def test_beams_welded_end_to_end_are_one_beam() -> None:
    m = wt.Mechanism("cantilever", gravity=(0, 0, -1e-6))
    for name in ("root", "end"):
        m.body(name, ritz_beam((0, 4), length=1.0, mass=1.5, stiffness=7.0))
    m.fixed("clamp", m.ground, "root")
    m.fixed("weld", "root", "end", at="tip")
    s = m.build()
    rest = s.equilibrium()
    assert s.pose(rest.q, "end.tip")[2, 3] == pytest.approx(-3e-6 * 2**3 / (8 * 7), rel=1e-8)
    found = 2 * np.pi * s.linearize(rest.q).modes().frequencies
    assert found[:2] == pytest.approx(np.array([LAMBDA, 4.694091133]) ** 2 * np.sqrt(7 / (3 * 2**3)), rel=1e-5)
    q, v = s.random(1), np.random.default_rng(0).normal(size=s.nv)
    one, other = (
        traced(s, "forward_dynamics", formulation=each, q=q, v=v) for each in ("articulated", "velocity_transformation")
    )
    close(one, other, 1e-11)
