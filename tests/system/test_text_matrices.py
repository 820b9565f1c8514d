"""The letters of each text: what the text says of them, worked out in plain NumPy, along random states."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest
from whippletree.analysis.models import human_body, quarter_car, serial_chain
from whippletree.system.example_systems import four_bar

REFERENCES = ("centroid", "joint", "origin")


def branched(gravity: float = 9.81) -> wt.System:
    """A tree with a joint of nearly every type, in general position."""
    m, rng = wt.Mechanism("branched", gravity=(0, 0, -gravity)), np.random.default_rng(5)
    bodies = [m.ground]
    kinds = ("free", "universal", "spherical", "revolute", "cylindrical", "prismatic", "screw")
    for k, kind in enumerate(kinds):
        body = m.body(f"body {k}", wt.box((0.2, 0.3, 0.5), mass=1.0 + k / 3, at=(0.1, 0.05, -0.1)))
        place = {"at": tuple(rng.normal(size=3)), "at_child": tuple(rng.normal(size=3) / 3)}
        if kind not in ("free", "spherical", "universal"):
            place["axis"] = tuple(rng.normal(size=3))
        if kind == "screw":
            place["lead"] = 0.3
        getattr(m, kind)(kind, bodies[0 if k == 0 else (k + 1) // 2], body, **place)
        bodies.append(body)
    return m.build()


SYSTEMS = {"branched": branched(), "quarter car": quarter_car().build(), "four-bar": four_bar()}


def state(system: wt.System, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A state that closes the loops, and efforts at the joints of the tree."""
    rng = np.random.default_rng(seed)
    q, v = system.q0, rng.normal(size=system.nv)
    if system.plan.cuts:
        v = system.consistent_velocities(q, v)
    else:
        q = system.integrate(q, 0.3 * rng.normal(size=system.nv))
    return q, v, rng.normal(size=system.nv)


def numbers(found: wt.Matrices) -> dict[str, np.ndarray]:
    return {name: np.array(found[name]) for name in found}


def joint_of_rows(D: np.ndarray) -> np.ndarray:
    """Which velocities are those of joints in the tree: others have no pivot."""
    return np.flatnonzero(np.abs(D).sum(axis=1))


@pytest.mark.parametrize("name", SYSTEMS)
def test_nikravesh(name: str) -> None:
    """D B = 0 (6), D has full rank, B = G^-1 H (27), and C is D* B without rows that follow from others (15)."""
    system = SYSTEMS[name]
    at = numbers(system.matrices(state(system)[0], text="nikravesh"))
    n = at["G"].shape[0]
    B = at["B"][:n]
    moving = np.abs(at["H"]).sum(axis=0) > 0
    assert np.abs(at["D"] @ B).max() < 1e-13
    assert np.linalg.matrix_rank(at["D"]) == n - np.count_nonzero(moving)
    assert np.abs(np.linalg.solve(at["G"], at["H"]) - B).max() < 1e-13
    kept = system.matrices(system.q0).kept_rows
    assert np.abs((at["D*"] @ at["B"])[list(kept)] - at["C"])[:, moving].max(initial=0.0) < 1e-13
    assert np.abs(at["C"] @ at["E"]).max(initial=0.0) < 1e-12


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("name", ["four-bar", *rest(["branched", "quarter car"])])
def test_kang_yoon(name: str, reference: str) -> None:
    """Kang and Yoon's three sweeps (28-30, 39-43) in NumPy, from B1, B2, D, M and Q alone."""
    system = SYSTEMS[name]
    q, v, tau = state(system)
    at = numbers(system.matrices(q, v, tau, text=f"kang-yoon/{reference}"))
    n = len(at["M"]) // 6
    six = [slice(6 * k, 6 * k + 6) for k in range(n)]
    parent = [next((p for p in range(k) if at["B1"][six[k], six[p]].any()), None) for k in range(n)]
    joint = [np.flatnonzero(np.abs(at["B2"][six[k]]).sum(axis=0)) for k in range(n)]
    M, Q = [at["M"][s, s].copy() for s in six], [at["Q"][s].copy() for s in six]
    effort = np.zeros((system.nv, 1))
    for k in reversed(range(n)):
        B1 = np.eye(6) if parent[k] is None else at["B1"][six[k], six[parent[k]]]
        B2, own = at["B2"][six[k]][:, joint[k]], np.ix_(joint[k], joint[k])
        left = Q[k] - M[k] @ at["D"][six[k]]
        M11, M21, M22 = B1.T @ M[k] @ B1, B2.T @ M[k] @ B1, B2.T @ M[k] @ B2
        effort[joint[k]] = B2.T @ left + tau[joint[k], None]
        if parent[k] is not None:
            scale = np.abs(M11).max()
            assert np.abs(at["M11"][six[k]] - M11).max() < 1e-12 * scale
            assert np.abs(at["M21"][joint[k]] - M21).max(initial=0.0) < 1e-12 * scale
            gain = np.linalg.solve(M22, M21).T if len(joint[k]) else np.zeros((6, 0))
            M[parent[k]] += M11 - gain @ M21
            Q[parent[k]] += B1.T @ left - gain @ effort[joint[k]]
        assert np.abs(at["M22"][own] - M22).max(initial=0.0) < 1e-12 * np.abs(M[k]).max()
        assert np.abs(at["Q2"][joint[k]] - effort[joint[k]]).max(initial=0.0) < 1e-11 * max(1.0, np.abs(left).max())
    if system.plan.cuts:
        free = joint_of_rows(at["M22"])
        L = at["Phi2"][free].T @ np.linalg.solve(at["M22"][np.ix_(free, free)], at["Phi2"][free])
        assert np.abs(L - at["L"]).max() < 1e-12 * np.abs(L).max()  # (41)
        return
    Y, acceleration = [], np.zeros(system.nv)
    for k in range(n):
        before = np.zeros((6, 1)) if parent[k] is None else at["B1"][six[k], six[parent[k]]] @ Y[parent[k]]
        B2 = at["B2"][six[k]][:, joint[k]]
        if parent[k] is None:
            found = np.linalg.solve(at["M22"][np.ix_(joint[k], joint[k])], at["Q2"][joint[k]])
        else:
            right = at["Q2"][joint[k]] - at["M21"][joint[k]] @ Y[parent[k]]
            found = np.linalg.solve(at["M22"][np.ix_(joint[k], joint[k])], right)
        acceleration[joint[k]] = found.ravel()
        Y.append(before + B2 @ found + at["D"][six[k]])
    expected = system.forward_dynamics(q, v, tau, formulation="composite")
    assert acceleration == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("name", SYSTEMS)
def test_jain(name: str) -> None:
    """The factors of the mass matrix and of its inverse (3-10), and the forces that velocities need (3)."""
    system = branched(gravity=0.0) if name == "branched" else SYSTEMS[name]
    q, v, _ = state(system)
    at = numbers(system.matrices(q, v, text="jain"))
    free = joint_of_rows(at["D"])
    H, D, K, G = at["H"][free], at["D"][np.ix_(free, free)], at["K"][:, free], at["gain"][:, free]
    phi, psi, one = at["phi"], at["psi"], np.eye(len(free))
    mass = np.asarray(system.mass_matrix(q))[np.ix_(free, free)]
    scale = np.abs(mass).max()
    assert np.abs(phi - np.linalg.inv(np.eye(len(phi)) - at["E"])).max() < 1e-12
    assert np.abs(H @ phi @ at["M"] @ phi.T @ H.T - mass).max() < 1e-13 * scale
    L = one + H @ phi @ K
    assert np.abs(L @ D @ L.T - mass).max() < 1e-12 * scale
    assert np.abs((one - H @ psi @ K) @ L - one).max() < 1e-11
    taubar = np.eye(len(phi)) - G @ H
    assert np.abs(psi - np.linalg.inv(np.eye(len(phi)) - at["E"] @ taubar)).max() < 1e-11
    assert np.abs(at["P"] - at["M"] - at["E"] @ taubar @ at["P"] @ at["E"].T).max() < 1e-11 * np.abs(at["P"]).max()
    if name == "branched":
        bias = H @ phi @ (at["M"] @ phi.T @ at["a"] + at["b"])
        expected = system.inverse_dynamics(q, v, np.zeros(system.nv))
        assert bias.ravel() == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())


def test_the_rates_of_coordinates() -> None:
    """V undoes U (8.32, 8.33), and U v is the rate of q by differences."""
    system = SYSTEMS["branched"]
    q, v, _ = state(system)
    at = numbers(system.matrices(q, text="garcia-de-jalon"))
    assert np.abs(at["V"] @ at["U"] - np.eye(system.nv)).max() < 1e-14
    h = 1e-5
    by_differences = (system.integrate(q, h * v) - system.integrate(q, -h * v)) / (2 * h)
    assert at["U"] @ v == pytest.approx(by_differences, abs=1e-8)


@pytest.mark.parametrize("make", [branched, *rest([lambda: human_body().build()])], ids=["branched", "human body"])
def test_points_and_vectors(make: object) -> None:
    """Phi_q R = 0 (8.37, 8.109), and S is how R v changes while the joints' accelerations are zero (8.65-8.69)."""
    system = make()  # type: ignore[operator]
    q, v, _ = state(system)
    at = numbers(system.matrices(q, v, text="garcia-de-jalon/natural"))
    assert np.abs(at["Phi_q"] @ at["R"]).max() < 1e-13
    h = 1e-5
    before, after = (
        np.array(system.matrices(system.integrate(q, x * v), v, text="garcia-de-jalon/natural")["R"]) @ v
        for x in (-h, h)
    )
    assert at["S"].ravel() == pytest.approx((after - before) / (2 * h), abs=1e-6 * np.abs(at["S"]).max())


def test_rows_have_names() -> None:
    found = SYSTEMS["four-bar"].matrices(SYSTEMS["four-bar"].q0, text="nikravesh")
    assert found["D"].rows[0].startswith('"A": ')
    assert found["G"].at('velocity along x of body "rocker"', 'velocity along x of body "rocker"') == 1.0


def test_refusals() -> None:
    system = SYSTEMS["four-bar"]
    with pytest.raises(wt.StateError, match=r'no text "jean".*"jain"'):
        system.matrices(system.q0, text="jean")
    with pytest.raises(wt.StateError, match=r'no matrix of text "jain" "phy".*"phi"'):
        system.matrices(system.q0, text="jain")["phy"]
    m = wt.Mechanism("boom")
    boom = m.body(
        "boom", wt.beam(length=2.0, material=wt.steel, section=wt.rectangle(width=0.05, height=0.05), modes=2)
    )
    m.revolute("hinge", m.ground, boom, axis="y")
    bent = m.build()
    with pytest.raises(wt.StateError, match='rigid bodies, and "boom" is flexible'):
        bent.matrices(bent.q0, text="jain")["phi"]


def test_dense_matrices_of_large_mechanisms_are_refused() -> None:
    large = serial_chain(41, "revolute").build()
    with pytest.raises(wt.StateError, match="at most 40 bodies, and this mechanism has 41"):
        large.matrices(large.q0, text="jain")["psi"]


def test_a_mechanism_without_bodies_has_empty_matrices() -> None:
    nothing = wt.Mechanism("nothing").build()
    for text in ("nikravesh", "kang-yoon/joint", "garcia-de-jalon", "jain"):
        found = nothing.matrices(nothing.q0, text=text)
        assert all(0 in found[letter].shape for letter in found)


def test_the_gain_has_its_own_name() -> None:
    system = SYSTEMS["four-bar"]
    with pytest.warns(DeprecationWarning, match="gain"):
        old = np.array(system.matrices(system.q0)["G"])
    assert (old == np.array(system.matrices(system.q0)["gain"])).all()
    assert (old == np.array(system.matrices(system.q0, text="jain")["gain"])).all()
