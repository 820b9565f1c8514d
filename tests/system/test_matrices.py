"""The papers' matrices against the worked example of Nikravesh and others and against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from whippletree.analysis.models import bricard, slider_four_bar
from whippletree.system.example_systems import four_bar, pendulum

H = 1e-6


@pytest.fixture(scope="module")
def tree() -> wt.System:
    """A floating base with a branch of many joint types and a weld."""
    m = wt.Mechanism("branches")
    rng = np.random.default_rng(1)

    def body(name: str) -> wt.MassProperties:
        return m.body(name, wt.MassProperties(rng.uniform(1, 2), rng.uniform(-0.2, 0.2, 3), np.diag([0.3, 0.35, 0.4])))

    m.free("flight", m.ground, body("base"), at=(0.2, 0.1, 0.0))
    m.universal("cardan", "base", body("shaft"), at=(0.3, 0.0, 0.1))
    m.fixed("weld", "shaft", body("flange"), at=(0.0, 0.4, 0.0))
    m.spherical("ball", "shaft", body("arm"), at=(0.1, 0.2, 0.0), at_child=(0.0, 0.0, 0.3))
    m.cylindrical("slide", "base", body("sleeve"), axis=(1, 2, 0))
    return m.build()


def centre(s: wt.System, q: np.ndarray, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Axes of a body and the centre of mass of some that are welded to it."""
    total, moment = 0.0, np.zeros(3)
    for name in names:
        T, own = s.pose(q, name), s.description.body(name).properties
        total, moment = total + own.mass, moment + own.mass * (T[:3, :3] @ np.array(own.com) + T[:3, 3])
    return s.pose(q, names[0])[:3, :3], moment / total


def velocities_by_differences(s: wt.System, q: np.ndarray, sets: list[list[str]]) -> np.ndarray:
    columns = []
    for e in H * np.eye(s.nv):
        column: list[float] = []
        for names in sets:
            (R0, p0), (R1, p1) = (centre(s, s.integrate(q, way * e), names) for way in (-1, 1))
            W = (R1 - R0) / (2 * H) @ centre(s, q, names)[0].T
            column += [W[2, 1], W[0, 2], W[1, 0], *((p1 - p0) / (2 * H))]
        columns.append(column)
    return np.array(columns).T


def test_the_worked_example() -> None:
    """Nikravesh and others: D*B, C and E of the four-bar on a slide; ours are child less parent, theirs reversed."""
    s = slider_four_bar().mechanism.build(cut=["R5"], dependent=["R3", "R4"])
    found, columns = s.matrices(s.q0), [s.v_slice(name).start for name in ("T1", "R2", "R3", "R4")]
    u = np.sqrt(2.0)
    rows = -(found["D*"] @ found["B"])[:, columns]
    held = sorted(tuple(row) for row in rows.round(12) + 0.0 if np.abs(row).max() > 1e-9)
    expected = sorted([(0, -u, -u, 0), (0, 0, -u, -u), (0, 0, -u, -u)])
    np.testing.assert_allclose(held, expected, atol=1e-12)
    assert found["C"].shape == (2, 5)
    np.testing.assert_allclose(found["E"].values[columns], [[1, 0], [0, 1], [0, -1], [0, 1]], atol=1e-12)
    assert found["E"].columns == ('velocity of joint "T1"', 'angular velocity of joint "R2"')


def test_velocities_of_bodies(tree: wt.System) -> None:
    q = tree.random(2)
    B = tree.matrices(q)["B"]
    sets = [["base"], ["shaft", "flange"], ["arm"], ["sleeve"]]
    expected = velocities_by_differences(tree, q, sets)
    names = [" with ".join(f'"{name}"' for name in some) for some in sets]
    order = [B.rows.index(f"angular velocity about x of body {name}") for name in names]
    for n, at in enumerate(order):
        np.testing.assert_allclose(B.values[at : at + 6], expected[6 * n : 6 * n + 6], atol=1e-8)


def test_reference_point_coordinates_turn_balls_and_floating_bases_to_the_ground(tree: wt.System) -> None:
    q = tree.random(3)
    found = tree.matrices(q)
    turned = np.eye(tree.nv)
    for joint, child in (("flight", "base"), ("ball", "arm")):
        where, axes = tree.v_slice(joint), tree.pose(q, child)[:3, :3]
        for k in range(where.start, where.stop, 3):
            turned[k : k + 3, k : k + 3] = axes
    np.testing.assert_allclose(found["R"].values @ turned, found["B"].values, atol=1e-12)


@pytest.mark.parametrize("make", [four_bar, lambda: bricard().build()], ids=["four-bar", "Bricard"])
def test_what_loops_hold(make: object) -> None:
    s = make()  # type: ignore[operator]
    found = s.matrices(s.q0)
    D, B, C, E = (found[name].values for name in ("D*", "B", "C", "E"))
    np.testing.assert_allclose((D @ B)[list(found.kept_rows)], C, atol=1e-12)
    np.testing.assert_allclose(C @ E, 0, atol=1e-11)
    independent = [found["E"].rows.index(name) for name in found["E"].columns]
    np.testing.assert_allclose(E[independent], np.eye(len(independent)), atol=1e-12)
    tree_columns = [i for i in range(s.nv) if np.abs(B[:, i]).max() > 0]
    assert np.linalg.matrix_rank((D @ B)[:, tree_columns], tol=1e-8) == len(C)
    # the bodies' velocities in a motion that the loops allow, by differences of closed positions
    v = E[:, 0]
    ends = [s.assemble(s.integrate(s.q0, way * H * v)) for way in (-1, 1)]
    rates = []
    for body in s.description.bodies:
        (R0, p0), (R1, p1) = (centre(s, q, [body.name]) for q in ends)
        W = (R1 - R0) / (2 * H) @ centre(s, s.q0, [body.name])[0].T
        rates.append([W[2, 1], W[0, 2], W[1, 0], *((p1 - p0) / (2 * H))])
    names = [row.split('"')[1] for row in found["B"].rows[::6]]
    order = [names.index(body.name) for body in s.description.bodies]
    Y = np.zeros(B.shape[0])
    for k, rate in zip(order, rates, strict=True):
        Y[6 * k : 6 * k + 6] = rate
    np.testing.assert_allclose(B @ v, Y, atol=1e-7)
    np.testing.assert_allclose(D @ Y, 0, atol=1e-7)


def test_couplings_are_rows_on_bodies_too() -> None:
    m = wt.Mechanism("gears")
    for name, at in (("A", (0, 0, 0)), ("B", (1, 0, 0))):
        m.revolute(name, m.ground, m.body(f"wheel {name}", wt.rod(0.3, 1.0)), at=at, axis="y")
    m.gear("pair", "A", "B", ratio=-2.0)
    s = m.build()
    found = s.matrices(s.q0)
    assert found["D*"].shape == (1, 12)
    np.testing.assert_allclose(found["D*"] @ found["B"], found["C"].values, atol=1e-14)
    np.testing.assert_allclose(found["C"].values / found["C"].values[0, 1], [[2.0, 1.0]], atol=1e-14)


def cross(r: np.ndarray) -> np.ndarray:
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def test_gains_of_the_recursion() -> None:
    """P H* D^-1 (Jain 7), in NumPy with everything at the ground's origin."""
    m, before = wt.Mechanism("chain"), "ground"
    rng = np.random.default_rng(4)
    for k in range(4):
        m.body(f"{k}", wt.MassProperties(rng.uniform(1, 2), rng.uniform(-0.3, 0.3, 3), np.diag([0.2, 0.3, 0.25])))
        m.revolute(f"j{k}", before, f"{k}", at=rng.uniform(-0.5, 0.5, 3), axis=rng.normal(size=3))
        before = f"{k}"
    s = m.build()
    q = s.random(5)
    G = s.matrices(q)["gain"].values
    P = np.zeros((6, 6))
    for k in reversed(range(4)):
        own, T = s.description.body(f"{k}").properties, s.pose(q, f"{k}")
        R, c = T[:3, :3], T[:3, :3] @ np.array(own.com) + T[:3, 3]
        J, S = R @ np.array(own.inertia) @ R.T, cross(c)
        P = P + np.block([[J - own.mass * S @ S, own.mass * S], [-own.mass * S, own.mass * np.eye(3)]])
        joint = T @ s.description.joint(f"j{k}").on_child.matrix()
        A, r = joint[:3, :3], joint[:3, 3]
        h = np.concatenate([A[:, 2], np.cross(r, A[:, 2])])
        gain = P @ h / (h @ P @ h)
        moment, force = gain[:3] - np.cross(r, gain[3:]), gain[3:]
        np.testing.assert_allclose(G[6 * k : 6 * k + 6, k], [*(A.T @ moment), *(A.T @ force)], atol=1e-10)
        P = P - np.outer(gain, h @ P)


def test_batches_functions_and_names(tree: wt.System) -> None:
    s = four_bar()
    many = np.stack([s.q0, s.assemble({"A": 1.2})])
    for name in s.matrices(s.q0):
        both = s.matrices(many)[name]
        assert both.rows == s.matrices(s.q0)[name].rows and len(both.columns) == both.shape[-1]
        for k, q in enumerate(many):
            function = np.array(s.function(name)(q)).reshape(both.shape[-2:])
            np.testing.assert_allclose(both.values[k], function, atol=1e-12)
    open_ = tree.matrices(tree.q0)
    assert open_["D*"].shape == (0, 24) and open_["C"].shape == (0, tree.nv)
    np.testing.assert_array_equal(open_["E"].values, np.eye(tree.nv))
    with pytest.raises(wt.StateError, match='there is no matrix "F"'):
        open_["F"]
    with pytest.raises(wt.StateError, match="there is no row or column"):
        pendulum().matrices([0.0])["B"].at("nowhere", 'angular velocity of joint "hinge"')
    with pytest.raises(wt.StateError):
        pendulum().matrices([0.0, 1.0])
