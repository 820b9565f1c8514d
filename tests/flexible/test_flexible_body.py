"""A flexible body by itself: kinematics of interfaces, inertia, velocity forces, data."""

from __future__ import annotations

import pickle
import re

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.flexible_assembly import Spot, exponential
from support.flexible_models import random_body
from support.ritz_beam import invariants, ritz_beam
from whippletree.elements.bodies import (
    BodyKind,
    FlexibleBody,
    GeometricStiffness,
    Interface,
    Invariants,
    LumpedNodes,
    MovingFrame,
    Stations,
)
from whippletree.elements.bodies.stored_bodies import body_of_arrays, stored_arrays

SHIFTS, WEIGHTS = np.array([1, 2, 3, 4]), np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])


def numbers(expression: ca.SX) -> np.ndarray:
    return ca.DM(ca.SX(expression)).full()


def differences(f, h: float = 0.01) -> np.ndarray:
    """The derivative at zero, by central differences of eighth order."""
    return sum(w / h * (f(k * h) - f(-k * h)) for k, w in zip(SHIFTS, WEIGHTS, strict=True))


# ------------------------------------------------------------------------------------------------- kinematics


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.1, 2.0])
def test_interfaces_move_as_their_poses_say(size: float) -> None:
    raw = random_body(np.random.default_rng(3), 3)
    body, spot = raw.kind(), raw.spots["a"]
    eta, rate = size * np.array([0.4, -0.7, 0.3]), np.array([0.5, 0.2, -0.3])

    at = ca.SX.sym("eta", 3)
    traced = ca.Function("pose", [at], list(body.pose("a", at)))

    def pose(t: float) -> tuple[np.ndarray, np.ndarray]:
        R, p = traced(eta + t * rate)
        return R.full(), p.full()[:, 0]

    R, p = pose(0.0)
    r, axes, _, _ = spot.shape(eta)
    assert np.abs(R - axes).max() < 1e-14
    assert np.abs(p - r).max() < 1e-14
    assert np.abs(R.T @ R - np.eye(3)).max() < 1e-14

    def motion(t: float) -> np.ndarray:
        """Angular velocity and velocity in body axes."""
        there = differences(lambda s: pose(t + s)[0])
        W = there @ pose(t)[0].T
        return np.r_[W[2, 1], W[0, 2], W[1, 0], differences(lambda s: pose(t + s)[1])]

    both = np.kron(np.eye(2), R.T)
    found = numbers(body.frame_map("a", ca.SX(eta)))
    assert np.abs(found @ rate - both @ motion(0.0)).max() < 1e-11
    bias = numbers(body.frame_bias("a", ca.SX(eta), ca.SX(rate)))[:, 0]
    assert np.abs(bias - both @ differences(motion)).max() < 1e-9


def test_rotations_are_smooth_where_they_begin() -> None:
    body = random_body(np.random.default_rng(1), 2).kind()
    eta = ca.SX.sym("eta", 2)
    R, _ = body.pose("a", eta)
    first = ca.jacobian(ca.vec(R), eta)
    second = ca.jacobian(ca.vec(first), eta)
    third = ca.jacobian(ca.vec(second), eta)
    at_zero = ca.Function("f", [eta], [first, second, third])(np.zeros(2))
    assert all(np.isfinite(each.full()).all() for each in at_zero)
    spot = Spot.fixed(2)
    assert np.abs(exponential(spot.psi @ np.zeros(2))[0] - np.eye(3)).max() == 0


def test_rotation_vectors_up_to_a_quarter_turn() -> None:
    from whippletree.spatial import rotation_vector_terms

    for length in (0.0, 1e-8, 0.3, np.pi / 2):
        a = length * np.array([0.36, -0.48, 0.8])
        R, T = exponential(a)
        terms = rotation_vector_terms(ca.SX(a))
        assert np.abs(numbers(terms.rotation) - R).max() < 4e-15
        assert np.abs(numbers(terms.tangent) - T).max() < 4e-15


# ------------------------------------------------------------------------------------------------- inertia


def cloud(seed: int, n: int = 3, N: int = 5) -> tuple[np.ndarray, ...]:
    """Masses, places, modes and second-order displacements of some points."""
    rng = np.random.default_rng(seed)
    G = 0.3 * rng.normal(size=(N, 3, n, n))
    return rng.uniform(0.2, 1, N), rng.normal(size=(N, 3)), 0.4 * rng.normal(size=(N, 3, n)), G + G.swapaxes(2, 3)


def of_points(m, x, phi, G, eta) -> np.ndarray:
    """The exact inertia of points: the sum of J^T m J."""
    n, total = phi.shape[2], 0
    for mass, place, modes, second in zip(m, x, phi, G, strict=True):
        r = place + modes @ eta + np.einsum("akl,k,l->a", second, eta, eta) / 2
        J = np.zeros((3, 6 + n))
        J[:, :3] = -np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
        J[:, 3:6], J[:, 6:] = np.eye(3), modes + second @ eta
        total = total + mass * J.T @ J
    return total


def flexible(inertia: object, n: int = 3, **more: object) -> FlexibleBody:
    given = {"stiffness": np.eye(n), "interfaces": {"tip": Interface((1, 0, 0))}, "size": 1.0}
    return FlexibleBody.from_arrays(inertia=inertia, **(given | more))  # type: ignore[arg-type]


def test_inertia_of_first_order_modes_is_exact() -> None:
    m, x, phi, G = cloud(0)
    eta = np.array([0.3, -0.2, 0.5])
    for given in (
        invariants(m, x, phi, 0 * G),
        LumpedNodes(m, np.zeros((5, 3, 3)), x, phi, np.zeros((5, 3, 3))),
    ):
        found = numbers(flexible(given).mass_matrix(ca.SX(eta)))
        assert np.abs(found - of_points(m, x, phi, 0 * G, eta)).max() < 1e-13


def test_inertia_of_second_order_modes_is_exact_for_nodes_and_of_third_order_for_integrals() -> None:
    m, x, phi, G = cloud(1)
    eta = np.array([0.3, -0.2, 0.5])
    nodes = flexible(LumpedNodes(m, np.zeros((5, 3, 3)), x, phi, np.zeros((5, 3, 3)), G))
    assert np.abs(numbers(nodes.mass_matrix(ca.SX(eta))) - of_points(m, x, phi, G, eta)).max() < 1e-13
    body = flexible(invariants(m, x, phi, G))
    errors = [
        np.abs(numbers(body.mass_matrix(ca.SX(h * eta))) - of_points(m, x, phi, G, h * eta)).max() for h in (0.02, 0.01)
    ]
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.05)


def test_second_order_inertia_is_the_least_that_the_integrals_allow() -> None:
    m, x, phi, G = cloud(4, n=4)
    x[:, 1:], G[:, 1:] = 0.0, 0.0  # points in a row that bending pulls back along it
    body = flexible(invariants(m, x, phi, G, high=False), n=4)
    assert body.arrays.array("F").shape == (2, 4, 4)
    eta = np.array([0.3, -0.2, 0.5, 0.1])
    affine = np.stack([np.ones(5), x[:, 0]])
    moments = np.einsum("ij,j,jkl,l->ik", affine, m, G[:, 0], eta)
    least = moments.T @ np.linalg.solve(np.einsum("ij,j,kj->ik", affine, m, affine), moments)
    found = numbers(body.mass_matrix(ca.SX(eta)) - body.mass_matrix(ca.SX.zeros(4)))[6:, 6:]
    assert np.abs(found - least).max() < 1e-13


@pytest.mark.parametrize("how", ["integrals", "few integrals", "nodes", "rotary nodes"])
def test_velocity_forces_follow_from_the_kinetic_energy(how: str) -> None:
    m, x, phi, G = cloud(2)
    psi = 0.3 * np.random.default_rng(5).normal(size=phi.shape)
    inertia = np.tile(np.diag([0.2, 0.3, 0.4]), (5, 1, 1)) * (how == "rotary nodes")
    given = invariants(m, x, phi, G) if how == "integrals" else LumpedNodes(m, inertia, x, phi, psi, G)
    body = ritz_beam((1, 2)) if how == "few integrals" else flexible(given)
    assert ("F" in body.arrays) == (how == "few integrals")
    eta, rate, w = np.array([0.3, -0.2, 0.5]), np.array([0.4, 0.9, -0.6]), np.array([0.7, -0.5, 0.8])
    at = ca.SX.sym("eta", 3)
    traced = ca.Function("M", [at], [body.mass_matrix(at)])
    M = lambda e: traced(e).full()  # noqa: E731
    whole = np.r_[w, np.zeros(3), rate]
    growing = differences(lambda t: M(eta + t * rate))
    momentum = M(eta)[:6] @ whole
    frame = growing[:6] @ whole + np.r_[np.cross(w, momentum[:3]), np.cross(w, momentum[3:])]
    J, h = M(eta)[:3, :3], np.array([M(eta)[2, 4], M(eta)[0, 5], M(eta)[1, 3]])
    frame -= np.r_[np.cross(w, J @ w), np.cross(w, np.cross(w, h))]  # which is the rigid inertia's own
    slope = [differences(lambda t, e=e: whole @ M(eta + t * e) @ whole / 2) for e in np.eye(3)]
    own = growing[6:] @ whole - slope
    found = body.velocity_forces(ca.SX(eta), ca.SX(rate), ca.SX(w))
    assert np.abs(numbers(found.frame)[:, 0] - frame).max() < 1e-11
    assert np.abs(numbers(found.own)[:, 0] - own).max() < 1e-11


def test_a_load_dependent_stiffness_is_that_of_second_order_displacements() -> None:
    m, x, phi, G = cloud(3)
    full = invariants(m, x, phi, G, high=False)
    first, second = full.mode_second_order, full.cross_second_order
    e = np.zeros((3, 3, 3))
    e[0, 1, 2] = e[1, 2, 0] = e[2, 0, 1] = 1
    e -= e.swapaxes(1, 2)
    trace = np.einsum("aakl->kl", second)
    products = [second[a, a] - trace for a in range(3)] + [
        second[a, b] + second[b, a] for a, b in ((0, 1), (1, 2), (2, 0))
    ]
    stiffness = GeometricStiffness(first, np.einsum("iab,abkl->ikl", e, second), np.array(products))
    bare = invariants(m, x, phi, 0 * G, high=False)
    one, other = flexible(full), flexible(bare, geometric_stiffness=stiffness)
    assert other.stiffens
    eta = ca.SX([0.2, -0.1, 0.3])
    assert np.abs(numbers(one.mass_matrix(eta)) - numbers(other.mass_matrix(eta))).max() < 1e-13


def test_a_load_dependent_stiffness_that_is_not_symmetric_is_kept_as_it_is() -> None:
    m, x, phi, G = cloud(3)
    shift = np.random.default_rng(1).normal(size=(3, 3, 3))
    bare = invariants(m, x, phi, 0 * G, high=False)
    one, other = flexible(bare), flexible(bare, geometric_stiffness=GeometricStiffness(shift))
    assert one.has_energy
    assert not other.has_energy
    eta = np.array([0.2, -0.1, 0.3])
    coupling = [numbers(each.inertia(ca.SX(eta)).coupling)[3:] for each in (one, other)]
    assert np.abs(coupling[1] - coupling[0] - shift @ eta).max() < 1e-14
    again = body_of_arrays(stored_arrays(other))
    assert again == other
    assert not again.has_energy


# ------------------------------------------------------------------------------------------------- data


def test_a_body_is_written_down_and_made_again() -> None:
    body = ritz_beam((1, 2))
    again = FlexibleBody.of(body.text, body.entries())
    assert again == body == body_of_arrays(stored_arrays(body))
    assert hash(again) == hash(body)
    assert again.labels == ("modal coordinate 1", "modal coordinate 2", "modal coordinate 3")
    assert again.frames == ("tip",)
    m = wt.Mechanism("m")
    m.revolute("A", m.ground, m.body("link", body), axis="y")
    description = m.describe()
    restored = pickle.loads(pickle.dumps(description))
    assert restored.fingerprint() == description.fingerprint()
    assert restored.bodies[0].kind == body


def test_a_single_number_in_place_of_any_stored_array_is_refused() -> None:
    stored = stored_arrays(ritz_beam((1, 2)))
    for name in stored:
        with pytest.raises(wt.ModelError):
            body_of_arrays(stored | {name: np.array(3.0)})


def test_bodies_with_the_same_zeros_share_a_kind() -> None:
    one, other = ritz_beam((1, 2)), ritz_beam((1, 2), length=1.3, stiffness=4.0)
    assert one != other
    assert MovingFrame(one, "tip").variant == MovingFrame(other, "tip").variant
    assert MovingFrame(one, "tip").variant != MovingFrame(ritz_beam((2, 1)), "tip").variant


def test_zeros_are_known() -> None:
    eta = ca.SX.sym("eta", 2)
    found = ritz_beam((1, 1), stiffening=False).inertia(eta)
    assert found.own[0, 1].is_zero()  # modes along y and z
    assert found.coupling[3, 0].is_zero()
    assert not ritz_beam((1, 1)).inertia(eta).coupling[3, 0].is_zero()  # shortening


def test_interfaces_are_places_by_name() -> None:
    m = wt.Mechanism("m")
    link = m.body("link", ritz_beam((1, 1)))
    m.revolute("A", m.ground, link, axis="y")
    hand = m.body("hand", wt.rod(length=0.2, mass=0.1))
    m.revolute("B", link, hand, at="tip", axis="y")
    use = m.describe().joints[1]
    assert use.parent == "link.tip"
    with pytest.raises(wt.ModelError, match='body "link" has no moving frame "top"; it has "tip"'):
        m.revolute("C", link, m.body("other"), at="top")


ROTARY = LumpedNodes([1.0], np.eye(3)[None], np.zeros((1, 3)), np.ones((1, 3, 3)), np.zeros((1, 3, 3)))
NODES = LumpedNodes([1.0], np.zeros((1, 3, 3)), np.zeros((1, 3)), np.ones((1, 3, 3)), np.zeros((1, 3, 3)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"stiffness": np.triu(np.ones((3, 3)))}, "stiffness is not symmetric"),
        ({"stiffness": -np.eye(3)}, "stiffness is indefinite"),
        ({"stiffness": np.ones((3, 2))}, "stiffness must be square"),
        ({"stiffness": "stiff"}, "stiffness must be a matrix of numbers"),
        ({"stiffness": np.full((3, 3), np.nan)}, "stiffness has entries that are not finite"),
        ({"damping": np.eye(2)}, r"damping must be of shape \(3, 3\), one row for each mode"),
        ({"inertia": 3.0}, "inertia must be Invariants or LumpedNodes"),
        ({"inertia": ritz_beam}, "inertia must be Invariants or LumpedNodes"),
        ({"inertia": Invariants(-1.0, np.zeros(3), np.eye(3), np.zeros((3, 3)))}, "mass must be positive"),
        (
            {"inertia": Invariants(1.0, np.zeros(2), np.eye(3), np.zeros((3, 3)))},
            "invariants: first must have the shape",
        ),
        ({"interfaces": {"tip": Interface((1, 0))}}, 'interface "tip": position must have the shape'),
        ({"interfaces": {"tip": Interface((1, 0, 0), translation=np.ones((3, 2)))}}, 'interface "tip": translation'),
        ({"interfaces": {"tip": Interface((1, 0, 0), axes=np.ones((3, 3)))}}, 'interface "tip": axes are no rotation'),
        ({"interfaces": {"tip": 3}}, 'interface "tip" must be an Interface'),
        ({"interfaces": {" ": Interface((1, 0, 0))}}, "an interface needs a name that can be printed, got ' '"),
        ({"interfaces": {3: Interface((1, 0, 0))}}, "an interface needs a name that can be printed, got 3"),
        (
            {"interfaces": {"tip": Interface((1, 0, 0), second_order=np.triu(np.ones((3, 3, 3))))}},
            'interface "tip": second_order must be symmetric in its modes',
        ),
        (
            {"inertia": ROTARY, "interfaces": {"node 0": Interface((1, 0, 0))}},
            'interface "node 0": a body has arrays of that name already',
        ),
        ({"interfaces": ["tip"]}, "interfaces must be a mapping from names to Interface"),
        ({"name_of_modes": ["first"]}, "3 modes need 3 names, got 1"),
        ({"size": 0.0}, "size must be positive"),
        ({"stations": Stations(np.zeros((2, 3)), np.zeros((2, 3, 2)), np.zeros((2, 3, 3)))}, "stations: translation"),
        ({"geometric_stiffness": GeometricStiffness(np.zeros((3, 2, 2)))}, "geometric stiffness: acceleration"),
    ],
)
def test_bad_data_is_named(given: dict, words: str) -> None:
    with pytest.raises(wt.ModelError, match=words):
        flexible(**({"inertia": NODES} | given))


def test_arrays_that_are_none_are_named() -> None:
    with pytest.raises(wt.ModelError, match="lumped nodes: mass must be an array of numbers"):
        LumpedNodes("x", 0, 0, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(wt.ModelError, match=re.escape("interface: position has entries that are not finite")):
        Interface((np.inf, 0, 0))


def test_the_closed_forms_are_those_of_every_kind() -> None:
    body = random_body(np.random.default_rng(7), 2).kind()
    eta, rate = ca.SX([0.2, -0.3]), ca.SX([0.4, 0.5])
    assert np.abs(numbers(body.frame_map("a", eta) - BodyKind.frame_map(body, "a", eta))).max() < 1e-14
    assert np.abs(numbers(body.frame_bias("a", eta, rate) - BodyKind.frame_bias(body, "a", eta, rate))).max() < 1e-14
