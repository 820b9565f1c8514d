"""Linear models and modes against closed forms, published eigenvalues and differences in NumPy."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest

Array = np.ndarray
STEPS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def differences(s: wt.System, found: wt.Equilibrium, h: float = 1e-3) -> Array:
    """The state matrix of a mechanism at rest by differences of eighth order, along motions from singular values."""
    C = s.closure_jacobian(found.q)
    _, sizes, vt = np.linalg.svd(C) if len(C) else (None, np.zeros(0), np.eye(s.nv))
    N = vt[int((sizes > 1e-9).sum()) :].T

    def rates(x: Array) -> Array:
        n = N.shape[1]
        q = s.integrate(found.q, N @ x[:n])
        q = s.assemble(q) if len(C) else q
        left = np.linalg.lstsq(N, s.difference(found.q, q), rcond=None)[0] - x[:n]
        q = s.integrate(found.q, N @ (x[:n] - left))
        q = s.assemble(q) if len(C) else q
        v = s.consistent_velocities(q, N @ x[n:]) if len(C) else N @ x[n:]
        return np.concatenate([N.T @ v, N.T @ s.forward_dynamics(q, v, check=False)])

    n = 2 * N.shape[1]
    return np.stack(
        [sum(w * (rates(k * h * e) - rates(-k * h * e)) for k, w in STEPS.items()) / h for e in np.eye(n)], axis=1
    )


def check_eigenvalues(s: wt.System, found: wt.Equilibrium, tolerance: float = 1e-6) -> None:
    """Compare all eigenvalues with those of differences."""
    mine = found.linearize().eigenvalues
    theirs = np.linalg.eigvals(differences(s, found))
    assert len(mine) == len(theirs)
    for value in mine:
        assert np.abs(theirs - value).min() < tolerance * np.abs(theirs).max()


# ---------------------------------------------------------------------- published and closed forms


def test_a_chain_of_masses_and_springs() -> None:
    n, k, mass = 8, 300.0, 2.0
    m = wt.Mechanism("row", gravity=(0, 0, 0))
    bodies = [m.ground]
    for i in range(n):
        bodies.append(m.body(f"mass {i}", mass=mass))
        m.prismatic(f"slide {i}", bodies[-2], bodies[-1], axis="x")
        m.torsion_spring(f"spring {i}", f"slide {i}", stiffness=k)
    last = m.body("end", mass=1e-9)
    m.fixed("weld", bodies[-1], last)
    m.spring("last", m.ground, last, at=(50.0, 0, 0), stiffness=k, free_length=50.0)
    modes = m.build().linearize().modes()
    expected = 2 * np.sqrt(k / mass) * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))
    assert 2 * np.pi * modes.frequencies == pytest.approx(expected, rel=1e-9)
    shape = np.cumsum(modes[0].shape.real)  # positions are sums of the slides
    sines = np.sin(np.arange(1, n + 1) * np.pi / (n + 1))
    assert shape / shape[0] == pytest.approx(sines / sines[0], rel=1e-8)
    assert modes[0].bodies["mass 3"][3] / modes[0].bodies["mass 0"][3] == pytest.approx(sines[3] / sines[0], rel=1e-8)


def test_a_hanging_chain_has_the_zeros_of_laguerres_polynomial() -> None:
    n, part = 6, 0.2
    m = wt.Mechanism("chain")
    before = m.ground
    for i in range(n):
        link = m.body(f"link {i}", mass=0.7, com=(0, 0, -part))
        m.revolute(f"pin {i}", before, link, axis="y", at=(0, 0, 0 if i == 0 else -part))
        before = link
    omega = 2 * np.pi * m.build().linearize().modes().frequencies
    zeros = np.polynomial.laguerre.lagroots([0] * n + [1])
    assert omega == pytest.approx(np.sqrt(9.81 / part * zeros), rel=1e-9)


def test_a_beam_of_rigid_segments_bends_like_a_beam() -> None:
    n, length, mass, bending = 10, 2.0, 3.0, 50.0
    m = wt.Mechanism("beam", gravity=(0, 0, 0))
    part, before = length / n, m.ground
    for i in range(n):
        segment = m.body(f"part {i}", wt.rod(length=part, mass=mass / n, axis="x"))
        m.revolute(f"hinge {i}", before, segment, axis="y", at=(0 if i == 0 else part, 0, 0))
        m.torsion_spring(f"spring {i}", f"hinge {i}", stiffness=bending / part * (2 if i == 0 else 1))
        before = segment
    omega = 2 * np.pi * m.build().linearize().modes().frequencies[:2]
    roots = np.array([1.8751040687, 4.6940911330])
    assert omega == pytest.approx(roots**2 / length**2 * np.sqrt(bending / (mass / length)), rel=2e-2)


def test_a_free_body_has_six_rigid_modes() -> None:
    m = wt.Mechanism("two", gravity=(0, 0, 0))
    a, b = m.body("a", mass=1.0, inertia=(1, 2, 3)), m.body("b", mass=2.0, inertia=(1, 1, 1))
    m.free("base", m.ground, a)
    m.prismatic("slide", a, b, axis="x")
    m.torsion_spring("spring", "slide", stiffness=60.0)
    modes = m.build().linearize().modes()
    assert len(modes.rigid) == 6
    assert modes.n_zero == 12
    assert 2 * np.pi * modes.frequencies == pytest.approx([np.sqrt(60.0 * 1.5)], rel=1e-12)


def test_a_spinning_top_has_the_frequencies_of_its_steady_precession() -> None:
    """Displacements in axes that turn: a symmetric body spinning about z nods at (C - A) / A times its spin."""
    m = wt.Mechanism("body", gravity=(0, 0, 0))
    m.spherical("ball", m.ground, m.body("top", mass=1.0, inertia=(2.0, 2.0, 3.0)))
    s = m.build()
    values = s.linearize(s.q0, [0.0, 0.0, 5.0]).eigenvalues
    # seen from the reference that spins on: the axis stays, which turns backward, and the nutation, (C - A) / A
    expected = [0, 0, 5j, -5j, 2.5j, -2.5j]
    assert np.sort(values.imag) == pytest.approx(np.sort(np.imag(expected)), abs=1e-12)
    assert np.abs(values.real).max() < 1e-12


# ---------------------------------------------------------------------- loops, against differences


def spring_four_bar() -> wt.System:
    m = wt.Mechanism("four-bar")
    lengths = {"crank": 0.4, "coupler": 1.0, "rocker": 0.8}
    bodies = {name: m.body(name, wt.rod(length=x, mass=2 * x, axis="x")) for name, x in lengths.items()}
    m.revolute("A", m.ground, bodies["crank"], axis="y")
    m.revolute("B", bodies["crank"], bodies["coupler"], at=(0.4, 0, 0), axis="y")
    m.revolute("C", bodies["coupler"], bodies["rocker"], at=(1.0, 0, 0), at_child=(0.8, 0, 0), axis="y")
    m.revolute("D", m.ground, bodies["rocker"], at=(0.9, 0, 0), axis="y")
    m.torsion_spring("spring", "A", stiffness=40.0, rest=-1.2, damping=0.7)
    return m.build(guess={"A": -1.2})


def platform() -> wt.System:
    m = wt.Mechanism("platform")
    top = m.body("top", wt.box((0.5, 0.5, 0.05), mass=4.0))
    m.free("base", m.ground, top)
    for k in range(6):
        a, b = 2 * np.pi / 6 * k + 0.1 * (-1) ** k, 2 * np.pi / 6 * k + 0.45 * (-1) ** k
        foot, head = (0.6 * np.cos(a), 0.6 * np.sin(a), 0), (0.3 * np.cos(b), 0.3 * np.sin(b), 0)
        lower, upper = m.body(f"lower {k}", mass=0.5, inertia=(0.02, 0.02, 0.001)), m.body(f"upper {k}", mass=0.3)
        m.universal(f"foot {k}", m.ground, lower, at=foot, axis="x", axis_child="y")
        m.prismatic(f"leg {k}", lower, upper, axis="z")
        m.spherical(f"head {k}", upper, top, at_child=head)
        m.torsion_spring(f"spring {k}", f"leg {k}", stiffness=4000.0, rest=0.75, damping=30.0)
    guess = {"top": wt.Placement(point=(0, 0, 0.7)).matrix()}
    return m.build(guess=guess)


def biped() -> wt.System:
    m = wt.Mechanism("biped")
    trunk = m.body("trunk", wt.box((0.2, 0.3, 0.5), mass=30.0))
    m.free("base", m.ground, trunk)
    for side, y in (("left", 0.1), ("right", -0.1)):
        thigh = m.body(f"{side} thigh", wt.rod(length=0.4, mass=5.0, axis="-z"))
        shank = m.body(f"{side} shank", wt.rod(length=0.4, mass=3.0, axis="-z"))
        m.universal(f"{side} hip", trunk, thigh, at=(0, y, -0.25), axis="x", axis_child="y")
        m.revolute(f"{side} knee", thigh, shank, at=(0, 0, -0.4), axis="y")
        for i in range(2):
            m.torsion_spring(f"{side} hip {i}", f"{side} hip", index=i, stiffness=400.0, damping=8.0)
        m.torsion_spring(f"{side} muscle", f"{side} knee", stiffness=400.0, damping=5.0)
        m.bushing(f"{side} foot", m.ground, shank, at=(0, y, 0), at_child=(0, 0, -0.4), stiffness=[200] * 3 + [2e4] * 3)
    return m.build(guess={"base": (1, 0, 0, 0, 0, 0, 1.04)})


@pytest.mark.parametrize("model", [spring_four_bar, pytest.param(platform, marks=pytest.mark.deep), *rest([biped])])
def test_modes_of_mechanisms_on_springs_agree_with_differences(model: object) -> None:
    s = model()  # type: ignore[operator]
    found = s.equilibrium()
    assert found.residual < 1e-9
    check_eigenvalues(s, found)


def test_redundant_loops_make_no_difference() -> None:
    """A parallelogram with two equal couplers swings like a pendulum of their length."""
    m = wt.Mechanism("swing")
    seat = m.body("seat", mass=3.0, inertia=(0.1, 0.1, 0.1))
    for k, x in enumerate((-0.5, 0.0, 0.5)):
        rope = m.body(f"rope {k}", mass=0.0)
        m.revolute(f"top {k}", m.ground, rope, at=(x, 0, 0), axis="y")
        m.revolute(f"bottom {k}", rope, seat, at=(0, 0, -2.0), at_child=(x, 0, 0), axis="y")
    s = m.build()
    assert len(s.mobility.redundant) > 0
    modes = s.equilibrium().linearize().modes()
    assert 2 * np.pi * modes.frequencies == pytest.approx([np.sqrt(9.81 / 2.0)], rel=1e-10)
    assert modes[0].bodies["seat"][:3] == pytest.approx([0, 0, 0], abs=1e-10)


# ---------------------------------------------------------------------- inputs, outputs, responses


def cart() -> wt.Mechanism:
    m = wt.Mechanism("cart")
    length = m.parameter("length", 0.5)
    wagon, bob = m.body("wagon", mass=2.0), m.body("bob", mass=1.0, com=(0, 0, -length))
    m.prismatic("rail", m.ground, wagon, axis="x")
    m.revolute("pivot", wagon, bob, axis="y")
    m.frame("tip", on=bob, at=(0, 0, -0.5))
    m.torsion_spring("spring", "rail", stiffness=30.0, damping=2.0)
    return m


def test_matrices_of_a_cart_with_a_pendulum() -> None:
    s = cart().build()
    lin = s.linearize(inputs=["rail", "length"], outputs=["tip", "pivot.velocity", "rail.acceleration"])
    M = np.array([[3.0, -0.5], [-0.5, 0.25]])
    K, D = np.diag([30.0, 9.81 * 0.5]), np.diag([2.0, 0.0])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    assert np.abs(lin.A - A).max() < 1e-11
    assert lin.B[:, 0] == pytest.approx(np.concatenate([[0, 0], np.linalg.solve(M, [1, 0])]), abs=1e-12)
    assert lin.B[:, 1] == pytest.approx(np.zeros(4), abs=1e-12)  # at rest the length has no effect
    assert lin.inputs == ("rail.effort", "length")
    assert lin.outputs[:3] == ("tip.position x", "tip.position y", "tip.position z")
    assert lin.C[0] == pytest.approx([1, -0.5, 0, 0], abs=1e-12)
    assert lin.C[3] == pytest.approx([0, 0, 0, 1], abs=1e-12)
    assert lin.C[4] == pytest.approx(A[2], abs=1e-11)
    assert lin.D[4] == pytest.approx([np.linalg.solve(M, [1, 0])[0], 0.0], abs=1e-12)
    w = np.array([0.3, 2.0])
    for omega, H in zip(w, lin.frequency_response(w), strict=True):
        u = np.linalg.solve(-(omega**2) * M + 1j * omega * D + K, [1, 0])
        assert H[0, 0] == pytest.approx(u[0] - 0.5 * u[1], abs=1e-12)


def test_the_step_response_and_the_files(tmp_path: Path) -> None:
    from scipy.io import loadmat
    from scipy.signal import lsim

    lin = cart().build().linearize(inputs=["rail"], outputs=["rail", "pivot"])
    t, y = lin.step(3.0, points=61)
    _, expected, _ = lsim(lin.to_scipy(), np.ones((61, 1)), t)
    assert y[:, :, 0] == pytest.approx(expected, abs=1e-9)
    lin.save(tmp_path / "cart.mat")
    saved = loadmat(tmp_path / "cart.mat")
    assert saved["A"] == pytest.approx(lin.A)
    assert saved["outputs"][0, 0][0] == "rail.displacement"
    for what in ("modes", "eigenvalues", "frequency response", "step"):
        lin.plot(what, path=tmp_path / "plot.svg")
    with pytest.raises(wt.WhippletreeError, match=r"\.mat"):
        lin.save(tmp_path / "cart.txt")


def test_responses_that_are_zero_or_rounding_are_not_drawn() -> None:
    """Two carts that nothing connects, and a pendulum whose swing is at right angles to the push."""
    m = wt.Mechanism("apart")
    for name, axis in (("a", "x"), ("b", "y")):
        body = m.body(name, mass=1.0, inertia=(1, 1, 1))
        m.prismatic(f"{name} rail", m.ground, body, axis=axis)
        m.actuator(f"{name} spring", f"{name} rail", effort=-30 * m.coordinate(f"{name} rail") - m.rate(f"{name} rail"))
        m.revolute(f"{name} pin", body, m.body(f"{name} bob", mass=0.5, com=(0, 0, -0.3)), axis=(0.1, 1.0, 0.0))
    lin = m.build().linearize(inputs=["a rail"], outputs=["a rail", "b rail", "a pin", "b pin"])
    exact = lin.frequency_response([0.1, 3.0, 40.0])
    upper, lower = lin.plot("frequency response").axes
    labels = [line.get_label() for line in upper.get_lines()]
    assert [label.startswith("zero: ") for label in labels] == [False, True, False, True]
    assert (np.abs(exact[:, [1, 3]]) < 1e-13).all() and (np.abs(exact[:, [0, 2]]) > 1e-6).all()
    assert upper.get_ylim()[0] > 1e-9 and len(lower.get_lines()) == 2
    nothing = replace(lin, C=0 * lin.C, D=0 * lin.D).plot("frequency response")
    assert all(line.get_label().startswith("zero: ") for line in nothing.axes[0].get_lines())


def test_python_control_gets_matrices_and_names_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in that refuses what python-control does: dots in names, which it keeps for subsystems."""

    def ss(A: Array, B: Array, C: Array, D: Array, *, states: Any, inputs: Any, outputs: Any) -> Any:
        assert not any("." in name for names in (states, inputs, outputs) for name in names)
        return SimpleNamespace(A=A, B=B, C=C, D=D, names=(states, inputs, outputs))

    lin = cart().build().linearize(inputs=["rail"], outputs=["tip"])
    monkeypatch.setitem(sys.modules, "control", None)  # as if it were not installed
    with pytest.raises(wt.WhippletreeError, match="pip install control"):
        lin.to_control()
    monkeypatch.setitem(sys.modules, "control", SimpleNamespace(ss=ss))
    found = lin.to_control()
    for name in "ABCD":
        assert getattr(found, name) is getattr(lin, name)
    assert found.names[1:] == (["rail_effort"], ["tip_position x", "tip_position y", "tip_position z"])


def test_a_drive_is_an_input_by_its_acceleration_or_its_effort() -> None:
    m = cart()
    m.drive("motor", "rail", position=0.1 * ca.sin(m.time))
    s = m.build()
    v = s.consistent_velocities(s.q0, t=0.0)
    plain = s.linearize(s.q0, v)
    assert plain.states == ("pivot.angle", "pivot.angular velocity")
    driven = s.linearize(s.q0, v, inputs=["motor.acceleration"])
    assert driven.states == ("rail.displacement", "pivot.angle", "rail.velocity", "pivot.angular velocity")
    assert driven.inputs == ("rail.acceleration",)
    assert driven.B[:, 0] == pytest.approx([0, 0, 1, 2.0], abs=1e-10)  # the pivot follows with 1 / length
    pushed = s.linearize(s.q0, v, inputs=["motor.effort"])
    assert pushed.B[2:, 0] == pytest.approx(np.linalg.solve([[3.0, -0.5], [-0.5, 0.25]], [1, 0]), abs=1e-10)


def test_reactions_elements_and_drives_are_outputs() -> None:
    """Against differences of the calls themselves, at a state that moves."""
    s = cart().build()
    q, v, h = np.array([0.1, 0.4]), np.array([0.2, -0.7]), 1e-5
    names = ["pivot.force", "spring", "tip.velocity", "tip", "tip.rotation", "rail.acceleration", "rail.effort"]
    lin = s.linearize(q, v, inputs=["rail", "length"], outputs=names)

    def outputs(x: Array, u: Array) -> Array:
        here, speed, given = q + x[:2], v + x[2:], {"parameters": {"length": 0.5 + u[1]}}
        tau = np.array([u[0], 0.0])
        force = s.forces(here, speed, **given)["spring"].efforts
        pose = s.pose(here, "tip", **given)
        turn = pose[:3, :3] @ s.pose(q, "tip")[:3, :3].T
        rotation = [turn[2, 1], turn[0, 2], turn[1, 0]]
        a = s.forward_dynamics(here, speed, tau, **given)
        pivot = s.reactions(here, speed, tau, **given)["pivot"].force
        place = [s.velocity(here, speed, "tip", **given)[3:], pose[:3, 3], rotation]
        return np.concatenate([pivot, force, *place, a[:1], tau[:1]])

    x, u = np.zeros(4), np.zeros(2)
    C = np.stack([(outputs(x + h * e, u) - outputs(x - h * e, u)) / (2 * h) for e in np.eye(4)], axis=1)
    D = np.stack([(outputs(x, u + h * e) - outputs(x, u - h * e)) / (2 * h) for e in np.eye(2)], axis=1)
    assert np.abs(lin.C - C).max() < 1e-6
    assert np.abs(lin.D - D).max() < 1e-6
    assert lin.nominal_outputs[:3] == pytest.approx(outputs(x, u)[:3], abs=1e-12)


def test_what_is_not_steady_has_an_offset_that_is_the_acceleration() -> None:
    s = cart().build()
    q, v = np.array([0.1, 0.7]), np.array([0.3, -1.0])
    lin = s.linearize(q, v)
    assert lin.offset == pytest.approx(np.concatenate([[0, 0], s.forward_dynamics(q, v)]), abs=1e-12)
    assert "not steady" in str(lin)


def test_states_of_elements_are_states() -> None:
    m = cart()
    lag = m.state("lag", 0.0, rate=lambda z: (m.coordinate("rail") - z) / 0.2)
    m.load("push", "wagon", force=(-5 * lag, 0, 0))
    lin = m.build().linearize(outputs=["lag"])
    assert lin.states[-1] == "lag"
    assert lin.A[-1] == pytest.approx([5, 0, 0, 0, -5], abs=1e-12)
    assert lin.A[2:4, -1] == pytest.approx(np.linalg.solve([[3.0, -0.5], [-0.5, 0.25]], [-5, 0]), abs=1e-11)
    assert lin.C[0] == pytest.approx([0, 0, 0, 0, 1])


def test_bad_names_are_refused() -> None:
    s = cart().build()
    for call, words in (
        (lambda: s.linearize(inputs=["rial"]), "did you mean"),
        (lambda: s.linearize(inputs="rail"), "list of names"),
        (lambda: s.linearize(inputs=["rail", "rail.effort"]), "twice"),
        (lambda: s.linearize(inputs=["rail.acceleration"]), "prescribed=True"),
        (lambda: s.linearize(outputs=["top"]), "there is no quantity"),
        (lambda: s.linearize([np.nan, 0.0]), "finite"),
        (lambda: s.linearize().step(), "inputs"),
        (lambda: s.linearize(inputs=["rail"], outputs=["rail"]).frequency_response("x"), "rad/s"),
        (lambda: s.linearize().plot("all"), "drawn as"),
    ):
        with pytest.raises(wt.WhippletreeError, match=words):
            call()
