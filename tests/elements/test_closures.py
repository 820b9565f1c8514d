"""The contract of a closure, for every type: rows and biases against differences along motions made apart.

A side moves as R(t) = R exp(b t + c t^2), p(t) = p + u t + a t^2 / 2; a joint's child moves with coordinates that
are integrated from the joint's own manifold. Nothing of it comes from the closures.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from support.joints import JOINTS
from support.sampling import deep
from whippletree.elements.closures import (
    Closure,
    Coupling,
    Distance,
    Expression,
    JointClosure,
    Rows,
    Side,
    d1,
    d2,
    joint_rates,
    pose_error,
    relative_motion,
    s,
    ss,
)
from whippletree.elements.closures.annihilator import left_annihilator
from whippletree.elements.joints import Fixed, Joint, Screw

Array = np.ndarray
Pose = tuple[Array, Array]
Motion = Callable[[float], Pose]

every_joint = pytest.mark.parametrize("joint", JOINTS, ids=repr)
draws = pytest.mark.parametrize("seed", [0, *deep([1, 2])])

H = 0.02
NODES = np.arange(-4, 5)
FIRST = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840 / H
SECOND = np.array([-9, 128, -1008, 8064, -14350, 8064, -1008, 128, -9]) / 5040 / H**2


# ------------------------------------------------------------------ motions


def skew(w: Array) -> Array:
    return np.cross(np.eye(3), w)


def rotation(w: Array) -> Array:
    """The rotation by the vector w."""
    angle, W = np.linalg.norm(w), skew(w)
    return np.eye(3) + np.sinc(angle / np.pi) * W + np.sinc(angle / 2 / np.pi) ** 2 / 2 * W @ W


def axial(W: Array) -> Array:
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def wandering(rng: np.random.Generator, near: Pose | None = None) -> Motion:
    """A motion through a random pose, or one near another, with random velocity and acceleration."""
    R, p = rotation(rng.normal(size=3) * 3), rng.normal(size=3)
    if near is not None:
        R, p = near[0] @ rotation(rng.normal(size=3) * 0.2), near[1] + rng.normal(size=3) * 0.2
    b, c, u, a = rng.normal(size=(4, 3))
    return lambda t: (R @ rotation(b * t + c * t * t), p + u * t + a * t * t / 2)


def carried(parent: Motion, joint: Joint, q: Array, v: Array, a: Array) -> Motion:
    """The motion of a joint's child: velocities v and accelerations a at t = 0."""
    x, dx = ca.SX.sym("q", joint.nq), ca.SX.sym("dq", joint.nv)
    shift = joint.shift(joint.configuration(joint.integrate(x, dx)))
    f = ca.Function("f", [x, dx], [ca.densify(shift.rotation()), ca.densify(shift.position())])

    def motion(t: float) -> Pose:
        (R, p), (S, d) = parent(t), (part.full() for part in f(q, v * t + a * t * t / 2))
        return R @ S, p + R @ d.ravel()

    return motion


def first(f: Callable[[float], Array]) -> Array:
    return np.tensordot(FIRST, np.array([f(k * H) for k in NODES]), 1)


def second(f: Callable[[float], Array]) -> Array:
    return np.tensordot(SECOND, np.array([f(k * H) for k in NODES]), 1)


def velocity(motion: Motion, t: float = 0.0) -> Array:
    """[w; u] at time t."""
    R = motion(t)[0]
    turning = first(lambda h: motion(t + h)[0]) @ R.T
    return np.concatenate([axial(turning), first(lambda h: motion(t + h)[1])])


def acceleration(motion: Motion) -> Array:
    """[w'; u'] at t = 0; the antisymmetric part of R'' R^T is skew(w')."""
    turning = second(lambda h: motion(h)[0]) @ motion(0.0)[0].T
    return np.concatenate([axial(turning), second(lambda h: motion(h)[1])])


# ------------------------------------------------------------------ numbers from symbols


def symbols(count: int) -> tuple[Side, ...]:
    return tuple(
        Side(ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3), ca.SX.sym("w", 3), ca.SX.sym("u", 3)) for _ in range(count)
    )


class Numeric:
    """Rows as numbers, along motions of the sides and of the coordinates (q, v, a at t = 0)."""

    def __init__(self, rows: Callable[..., Rows], motions: list[Motion], coordinates: Array | None = None) -> None:
        self.motions = motions
        self.q, self.v, self.a = np.zeros((3, 0)) if coordinates is None else coordinates
        sides, n = symbols(len(motions)), len(self.q)
        q, v, t = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("t")
        given = rows(sides, q, v, t)
        flat = [part for side in sides for part in side]
        out = [given.phi, given.K, given.drift, given.bias, *given.D]
        assert len(given.D) == len(motions)
        m = given.phi.shape[0]
        assert [part.shape for part in out] == [(m, 1), (m, n), (m, 1), (m, 1), *[(m, 6)] * len(motions)]
        self._f = ca.Function("rows", [*flat, q, v, t], [ca.densify(part) for part in out])

    def at(self, t: float) -> dict[str, Array]:
        flat = []
        for motion in self.motions:
            V = velocity(motion, t)
            flat += [*motion(t), V[:3], V[3:]]
        q, v = self.q + self.v * t + self.a * t * t / 2, self.v + self.a * t
        phi, K, drift, bias, *D = (part.full() for part in self._f.call([*flat, q, v, t]))
        rate = K @ v + drift.ravel() + sum(J @ velocity(motion, t) for J, motion in zip(D, self.motions, strict=True))
        return {"phi": phi.ravel(), "K": K, "drift": drift.ravel(), "bias": bias.ravel(), "D": D, "rate": rate}

    @property
    def rate(self) -> Array:
        """What the rows make of the velocities: phi'."""
        return self.at(0.0)["rate"]

    @property
    def acceleration(self) -> Array:
        """What the rows make of the accelerations: phi''."""
        now = self.at(0.0)
        given = zip(now["D"], self.motions, strict=True)
        return now["K"] @ self.a + now["bias"] + sum(J @ acceleration(motion) for J, motion in given)


def assert_exact(numeric: Numeric, *, holonomic: bool = True, lead: float | None = None) -> None:
    """The rows' derivatives are those of phi, or of the rate for a velocity-only closure.

    The last row of a screw is a remainder of its lead, and is followed across its jumps.
    """
    rate, acceleration = numeric.rate, numeric.acceleration
    if holonomic:
        phi = np.array([numeric.at(k * H)["phi"] for k in NODES])
        if lead is not None:
            phi[:, -1] = np.unwrap(phi[:, -1], period=abs(lead))
        np.testing.assert_allclose(FIRST @ phi, rate, atol=1e-9)
        np.testing.assert_allclose(SECOND @ phi, acceleration, atol=1e-7)
    else:
        assert not np.any(numeric.at(0.0)["phi"])
    np.testing.assert_allclose(first(lambda t: numeric.at(t)["rate"]), acceleration, atol=1e-7)
    assert np.all(np.abs(acceleration) > 1e-3)  # there was something to compare


# ------------------------------------------------------------------ basic functions


AXES = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, -0.8)]
BASIC: dict[str, Callable[..., Rows]] = {
    **{f"d1 {a} {b}": lambda sides, *_, a=a, b=b: d1(a, b, sides) for a in AXES for b in AXES},
    **{f"d2 {a}": lambda sides, *_, a=a: d2(a, sides) for a in AXES},
    "s": lambda sides, *_: s(sides),
    "ss": lambda sides, *_: ss(0.7, sides),
}


@draws
@pytest.mark.parametrize("name", BASIC)
def test_basic_functions_are_exact_at_any_state(name, seed):
    rng = np.random.default_rng(seed)
    assert_exact(Numeric(BASIC[name], [wandering(rng), wandering(rng)]))


def test_residuals_are_what_they_say():
    rng = np.random.default_rng(1)
    (R, p), (S, q) = wandering(rng)(0.0), wandering(rng)(0.0)
    still = [lambda t: (R, p), lambda t: (S, q)]

    def residual(rows: Callable[..., Rows]) -> Array:
        return Numeric(lambda sides, *_: rows(sides), still).at(0.0)["phi"]

    x, y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    np.testing.assert_allclose(residual(lambda sides: d1(x, y, sides)), R[:, 0] @ S[:, 1])
    np.testing.assert_allclose(residual(lambda sides: d2(y, sides)), R[:, 1] @ (q - p))
    np.testing.assert_allclose(residual(s), q - p)
    length = np.linalg.norm(q - p)
    np.testing.assert_allclose(residual(lambda sides: ss(length, sides)), 0, atol=1e-15)
    np.testing.assert_allclose(residual(lambda sides: ss(2.0, sides)), (length**2 - 4) / 4)


@draws
def test_the_multiplier_of_a_rod_is_its_force(seed):
    rng = np.random.default_rng(seed)
    motions = [wandering(rng), wandering(rng)]
    d = motions[1](0.0)[1] - motions[0](0.0)[1]
    length = np.linalg.norm(d)
    on_first, on_second = Numeric(Distance(length).rows, motions).at(0.0)["D"]
    np.testing.assert_allclose(on_second, [[0, 0, 0, *d / length]])
    np.testing.assert_allclose(on_first, -on_second)


@draws
def test_constant_axes_leave_known_zeros(seed):
    sides = symbols(2)
    rest = sides[0]._replace(R=ca.SX.eye(3), w=ca.SX.zeros(3))
    row = d1((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (rest, sides[1]))
    assert row.D[0][0, 0].is_zero()  # x of the base is normal to x cross anything
    assert row.D[0][0, 3:].is_zero()


# ------------------------------------------------------------------ joints


def consistent(joint: Joint, rng: np.random.Generator) -> tuple[list[Motion], Array, Array, Array]:
    """Motions of both sides that agree with a joint, and its coordinates, velocities and accelerations."""
    q, v, a = joint.random(rng), rng.normal(size=joint.nv), rng.normal(size=joint.nv)
    parent = wandering(rng)
    return [parent, carried(parent, joint, q, v, a)], q, v, a


@draws
@every_joint
def test_closures_of_joints_are_exact_at_any_state(joint, seed):
    if joint.nv < 6:
        rng = np.random.default_rng(seed)
        parent = wandering(rng)
        motions = [parent, wandering(rng, near=parent(0.0))]
        assert_exact(Numeric(JointClosure(joint).rows, motions), lead=getattr(joint, "lead", None))


def stating_nothing(joint: Joint) -> Joint:
    """The same joint, of a type that does not state what it holds."""
    return type("StatingNothing", (type(joint),), {"holds": None})(*joint.constants())


@draws
@every_joint
def test_what_a_joint_map_leaves_is_what_the_joint_states(joint, seed):
    """The rows of a left annihilator have the null space of those that are stated, and demand the same of it."""
    rng = np.random.default_rng(seed)
    motions, q, v, _ = consistent(joint, rng)
    stated, found = JointClosure(joint), JointClosure(stating_nothing(joint))
    assert found.n_rows == len(set(found.labels)) == 6 - joint.nv
    # the joint's own coordinates go with the sides, and their rates are no part of the rows
    expected = Numeric(stated.rows, motions).at(0.0)
    sides, x, u = symbols(2), ca.SX.sym("q", joint.nq), ca.SX.sym("v", joint.nv)
    rows = found.rows(sides, x, u, ca.SX(0))
    flat = [part for side in sides for part in side]
    assert rows.K.shape == (6 - joint.nv, 0) and rows.drift.is_zero()
    f = ca.Function("rows", [*flat, x, u], [ca.densify(part) for part in (rows.phi, rows.bias, *rows.D)])
    given = [part for motion in motions for part in (*motion(0.0), *np.split(velocity(motion), 2))]
    phi, bias, *D = (part.full() for part in f.call([*given, q, v]))
    np.testing.assert_allclose(phi, 0, atol=1e-12)
    G, C = np.hstack(D), np.hstack(expected["D"])
    if joint.nv == 6:
        return
    T = np.linalg.lstsq(C.T, G.T, rcond=None)[0].T  # the rows found as combinations of those stated
    assert np.linalg.matrix_rank(G) == 6 - joint.nv
    np.testing.assert_allclose(T @ C, G, atol=1e-9)
    np.testing.assert_allclose(T @ expected["bias"], bias.ravel(), atol=1e-8)
    np.testing.assert_allclose(sum(J @ velocity(motion) for J, motion in zip(D, motions, strict=True)), 0, atol=1e-8)


def test_an_annihilator_needs_no_pivot():
    """Directions that turn all the way round: no entry of the joint map is different from zero everywhere."""
    a = ca.SX.sym("a", 2)
    along = ca.vertcat(ca.cos(a[0]) * ca.cos(a[1]), ca.sin(a[0]) * ca.cos(a[1]), ca.sin(a[1]))
    second = ca.vertcat(-ca.sin(a[0]), ca.cos(a[0]), 0)
    for H in (ca.vertcat(0, 0, 0, along), ca.horzcat(ca.vertcat(along, 0, 0, 0), ca.vertcat(second, along))):
        N = left_annihilator(ca.SX(H))
        f = ca.Function("both", [a], [ca.densify(ca.SX(H)), N])
        for given in np.pi / 4 * np.stack(np.meshgrid(np.arange(9), np.arange(9)), -1).reshape(-1, 2):
            h, n = (part.full() for part in f(given))
            np.testing.assert_allclose(n @ h, 0, atol=1e-12)
            assert np.linalg.svd(n, compute_uv=False)[-1] > 0.1


@draws
@every_joint
def test_closures_of_joints_hold_what_the_joint_holds_and_no_more(joint, seed):
    rng = np.random.default_rng(seed)
    motions, q, _, _ = consistent(joint, rng)
    closure = JointClosure(joint)
    numeric = Numeric(closure.rows, motions)
    now = numeric.at(0.0)
    assert closure.n_rows == len(closure.labels) == len(now["phi"]) == 6 - joint.nv
    assert len(set(closure.labels)) == closure.n_rows
    assert closure.holonomic and not closure.absolute and not closure.timed
    np.testing.assert_allclose(now["phi"], 0, atol=1e-12)
    np.testing.assert_allclose(numeric.rate, 0, atol=1e-9)
    np.testing.assert_allclose(numeric.acceleration, 0, atol=1e-7)
    # any velocity of the child that the joint map does not make breaks a row, any that it makes does not
    R = motions[1](0.0)[0]
    free = np.kron(np.eye(2), R) @ joint_map(joint, q)
    np.testing.assert_allclose(now["D"][1] @ free, 0, atol=1e-12)
    for D in now["D"]:
        assert np.linalg.matrix_rank(D, tol=1e-9) == 6 - joint.nv if joint.nv < 6 else D.size == 0


def joint_map(joint: Joint, q: Array) -> Array:
    x = ca.SX.sym("q", joint.nq)
    return ca.Function("f", [x], [ca.densify(joint.joint_map(joint.configuration(x)))])(q).full()


@draws
@every_joint
def test_rows_move_with_the_base(joint, seed):
    # seen from a base that turns and travels, phi and its rates are the same
    rng = np.random.default_rng(seed)
    motions, base = [parent := wandering(rng), wandering(rng, near=parent(0.0))], wandering(rng)

    def seen(motion: Motion) -> Motion:
        def relative(t: float) -> Pose:
            (B, o), (R, p) = base(t), motion(t)
            return B.T @ R, B.T @ (p - o)

        return relative

    def invariants(rows: Numeric) -> Array:
        parts = []
        labels = JointClosure(joint).labels
        for values in (rows.at(0.0)["phi"], rows.rate, rows.acceleration):
            point = np.array([label in ("force along x", "force along y", "force along z") for label in labels], bool)
            parts.append(values[~point])
        return np.concatenate(parts)

    there, here = (Numeric(JointClosure(joint).rows, moved) for moved in (motions, [seen(m) for m in motions]))
    np.testing.assert_allclose(invariants(there), invariants(here), atol=1e-7)


@draws
@every_joint
def test_labels_name_the_wrench_that_a_row_transmits(joint, seed):
    rng = np.random.default_rng(seed)
    motions, _, _, _ = consistent(joint, rng)
    R = motions[0](0.0)[0]
    axes = {
        **{f" the joint's {name}": R[:, k] for k, name in enumerate("xyz")},
        **{f" {name}": np.eye(3)[k] for k, name in enumerate("xyz")},
        " the joint's axis with the moment of its lead": R[:, 2],
        " normal to both axes of the joint": np.cross(R[:, 0], motions[1](0.0)[0][:, 2]),
    }
    on_child = Numeric(JointClosure(joint).rows, motions).at(0.0)["D"][1]
    for label, wrench in zip(JointClosure(joint).labels, on_child, strict=True):
        axis = next(axis for end, axis in axes.items() if label.endswith(end))
        moment, force = wrench[:3], wrench[3:]
        if label.startswith("moment"):
            assert not np.any(force)
            np.testing.assert_allclose(np.abs(moment @ axis), 1, atol=1e-9)
        else:
            np.testing.assert_allclose(force, axis, atol=1e-9)
            lead = -joint.advance if "lead" in label else 0.0
            np.testing.assert_allclose(moment, lead * axis, atol=1e-9)


@pytest.mark.parametrize("lead", [0.7, -0.2])
@pytest.mark.parametrize(
    ("turned", "advanced", "off"), [(0, 0, 0), (3, 3, 0), (-2, 5, 0), (0.3, 2.3, 0), (0, 0.25, 0.25), (0.7, 0, 0.3)]
)
def test_a_screw_closes_after_whole_turns_and_only_then(lead, turned, advanced, off):
    parent = np.eye(3), np.zeros(3)
    child = rotation(np.array([0, 0, 2 * np.pi * turned])), np.array([0, 0, lead * advanced])
    phi = Numeric(JointClosure(Screw(lead)).rows, [lambda t: parent, lambda t: child]).at(0.0)["phi"]
    np.testing.assert_allclose(phi, [0, 0, 0, 0, lead * off], atol=1e-12)


# ------------------------------------------------------------------ a joint's coordinates from its sides


@draws
@every_joint
def test_the_relative_motion_is_what_the_joint_makes(joint, seed):
    rng = np.random.default_rng(seed)
    motions, q, v, a = consistent(joint, rng)
    rows = Numeric(lambda sides, *_: relative_motion(sides), motions)
    x, rate = ca.SX.sym("q", joint.nq), ca.SX.sym("v", joint.nv)
    bias = ca.Function("f", [x, rate], [ca.densify(joint.joint_bias(joint.configuration(x), rate))])
    H = joint_map(joint, q)
    np.testing.assert_allclose(rows.rate, H @ v, atol=1e-9)
    np.testing.assert_allclose(rows.acceleration, H @ a + bias(q, v).full().ravel(), atol=1e-7)


@draws
@every_joint
def test_joint_rates_recover_velocities_and_accelerations(joint, seed):
    rng = np.random.default_rng(seed)
    motions, q, v, a = consistent(joint, rng)
    x = ca.Function("x", [y := ca.SX.sym("q", joint.nq)], [ca.densify(joint.configuration(y))])(q)
    rows = Numeric(lambda sides, *_: joint_rates(joint, ca.SX(x), ca.SX(v), sides), motions)
    np.testing.assert_allclose(rows.rate, v, atol=1e-9)
    np.testing.assert_allclose(rows.acceleration, a, atol=1e-7)


def error_of(joint: Joint, q: Array, poses: list[Pose]) -> Array:
    sides, x = symbols(2), ca.SX.sym("q", joint.nq)
    error = pose_error(joint, joint.configuration(x), sides)
    flat = [part for side in sides for part in side[:2]]
    f = ca.Function("f", [x, *flat], [error])
    return f.call([q, *(part for pose in poses for part in pose)])[0].full().ravel()


@draws
@every_joint
def test_the_pose_error_is_zero_where_the_poses_agree(joint, seed):
    motions, q, _, _ = consistent(joint, np.random.default_rng(seed))
    np.testing.assert_allclose(error_of(joint, q, [motion(0.0) for motion in motions]), 0, atol=1e-14)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, -1, 0), (0.3, 0.5, -0.9)])
@every_joint
@pytest.mark.parametrize("size", [1e-12, 1e-5, 0.3, 1.5, 3.0, np.pi - 1e-9, np.pi])
def test_the_pose_error_is_the_displacement_in_child_axes(joint, axis, size):
    rng = np.random.default_rng(5)
    motions, q, _, _ = consistent(joint, rng)
    parent, (R, p) = (motion(0.0) for motion in motions)
    turn, way = size * np.array(axis) / np.linalg.norm(axis), rng.normal(size=3)
    child = R @ rotation(turn), p + R @ rotation(turn) @ way
    error = error_of(joint, q, [parent, child])
    np.testing.assert_allclose(error[3:], way, atol=1e-12)
    if size < np.pi:
        np.testing.assert_allclose(error[:3], turn, atol=1e-14 + 1e-7 * (np.pi - size < 1e-6), rtol=1e-12)
    else:  # half a turn is the same both ways
        np.testing.assert_allclose(np.abs(error[:3] @ turn), np.pi**2, rtol=1e-12)


def test_the_pose_error_is_smooth_near_zero():
    joint, identity = Fixed(), (np.eye(3), np.zeros(3))
    f = lambda t: error_of(joint, np.zeros(0), [identity, (rotation(np.array([t, 2 * t, -t])), np.zeros(3))])  # noqa: E731
    np.testing.assert_allclose(first(f)[:3], [1, 2, -1], atol=1e-10)
    np.testing.assert_allclose(second(f)[:3], 0, atol=1e-8)


# ------------------------------------------------------------------ couplings and expressions


def test_a_coupling_is_linear_in_its_coordinates():
    coordinates = np.random.default_rng(0).normal(size=(3, 3))
    closure = Coupling((1.0, -2.5, 0.5), 0.75)
    numeric = Numeric(closure.rows, [], coordinates)
    assert_exact(numeric)
    now = numeric.at(0.0)
    np.testing.assert_allclose(now["K"], [[1, -2.5, 0.5]])
    np.testing.assert_allclose(now["phi"], coordinates[0] @ [1, -2.5, 0.5] - 0.75)
    assert closure.n_rows == 1 and closure.holonomic and not closure.timed


def written(make: Callable[..., ca.SX], n_sides: int, n: int) -> Expression:
    """The closure of an expression of (sides, q, v, t), written in symbols of its own."""
    sides, q, v, t = symbols(n_sides), ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("t")
    return Expression.written(make(sides, q, v, t), sides, q, v, t, ())


POSITION: dict[str, tuple[Callable[..., ca.SX], int, int]] = {
    "cam": (lambda _, q, v, t: q[1] - 0.3 * ca.sin(q[0]) * ca.exp(q[1] / 3), 0, 2),
    "moving hinge": (lambda _, q, v, t: q[0] - ca.sin(2 * t), 0, 1),
    "point on a moving surface": (lambda s, q, v, t: s[0].p[2] - ca.sin(s[0].p[0] + t) * s[0].p[1], 1, 0),
    "direction": (lambda s, q, v, t: ca.dot(s[0].R[:, 0], s[1].R[:, 2]) * s[0].p[0], 2, 0),
    "everything": (
        lambda s, q, v, t: ca.vertcat(
            ca.dot(s[0].R @ ca.SX([1, 2, 3]), s[1].p - s[2].p) + q[0] * t, s[2].R[1, 1] * q[1] ** 2 + ca.cos(t * q[0])
        ),
        3,
        2,
    ),
}
VELOCITY: dict[str, tuple[Callable[..., ca.SX], int, int]] = {
    "rolling": (lambda s, q, v, t: (s[0].u + ca.cross(s[0].w, ca.SX([0, 0, -0.3])))[:2], 1, 0),
    "skate": (lambda s, q, v, t: ca.dot(s[0].R[:, 1], s[0].u), 1, 0),
    "drive": (lambda _, q, v, t: v[0] * q[1] - v[1] * ca.sin(t) - ca.cos(t), 0, 2),
    "everything": (
        lambda s, q, v, t: ca.vertcat(
            ca.dot(s[0].R @ s[1].w, s[1].p) + q[0] * v[1] + t**2, ca.dot(s[1].u, s[0].p) * t - s[0].R[0, 2] * v[0]
        ),
        2,
        2,
    ),
}


@draws
@pytest.mark.parametrize("name", POSITION)
def test_expressions_of_positions_are_exact(name, seed):
    make, n_sides, n = POSITION[name]
    rng, closure = np.random.default_rng(seed), written(make, n_sides, n)
    assert closure.holonomic and closure.absolute == bool(n_sides)
    assert closure.timed == (name not in ("cam", "direction"))
    assert_exact(Numeric(closure.rows, [wandering(rng) for _ in range(n_sides)], rng.normal(size=(3, n))))


@draws
@pytest.mark.parametrize("name", VELOCITY)
def test_expressions_of_velocities_are_exact(name, seed):
    make, n_sides, n = VELOCITY[name]
    rng, closure = np.random.default_rng(seed), written(make, n_sides, n)
    assert not closure.holonomic
    motions, coordinates = [wandering(rng) for _ in range(n_sides)], rng.normal(size=(3, n))
    numeric = Numeric(closure.rows, motions, coordinates)
    assert_exact(numeric, holonomic=False)
    # the rate that the rows make is the written expression
    sides, q, v, t = symbols(n_sides), ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("t")
    f = ca.Function("f", [*(part for side in sides for part in side), q, v, t], [make(sides, q, v, t)])
    flat = [part for m in motions for part in (*m(0.0), velocity(m)[:3], velocity(m)[3:])]
    np.testing.assert_allclose(f.call([*flat, *coordinates[:2], 0.0])[0].full().ravel(), numeric.rate, atol=1e-10)


def test_the_distance_written_out_is_the_distance():
    rng = np.random.default_rng(3)
    motions = [wandering(rng), wandering(rng)]
    rod = written(lambda s, q, v, t: (ca.dot(s[1].p - s[0].p, s[1].p - s[0].p) - 0.49) / 1.4, 2, 0)
    by_hand, by_text = (Numeric(closure.rows, motions).at(0.0) for closure in (Distance(0.7), rod))
    for key in ("phi", "bias", "drift"):
        np.testing.assert_allclose(by_text[key], by_hand[key], atol=1e-12)
    np.testing.assert_allclose(by_text["D"], by_hand["D"], atol=1e-12)


def test_the_same_text_is_the_same_closure_whatever_its_symbols_are_called():
    def circle(name: str) -> Expression:
        x, p = ca.SX.sym(name), ca.SX.sym("p" + name)
        made = Expression.written(ca.sin(x) * p + 2, (), x, ca.SX.sym("v"), ca.SX.sym("t"), (p,))
        return Expression(made.function, (2.0,))

    assert circle("a") == circle("another") and hash(circle("a")) == hash(circle("another"))
    assert circle("a") != Expression(circle("a").function, (3.0,))
    assert written(*POSITION["cam"]) == written(*POSITION["cam"]) != written(*POSITION["moving hinge"])
    assert Distance(1.0) == Distance(1.0) != Distance(2.0) and Distance(1.0) != Coupling((), 1.0)
    back = Expression(ca.Function.deserialize(circle("a").function.serialize()), (2.0,))
    assert back == circle("a")


def test_expressions_take_parameters_as_numbers_or_symbols():
    x, p = ca.SX.sym("x"), ca.SX.sym("p")
    closure = Expression.written(p * x - p**2, (), x, ca.SX.sym("v"), ca.SX.sym("t"), (p,))
    given = closure.rows((), ca.SX(3.0), ca.SX(0.0), ca.SX(0.0))
    assert {symbol.name() for symbol in ca.symvar(given.phi)} == {"p"}
    plain = Expression(closure.function, (2.0,)).rows((), ca.SX(3.0), ca.SX(0.0), ca.SX(0.0))
    assert float(plain.phi) == 2.0 and float(plain.K) == 2.0


@pytest.mark.parametrize(
    "closure",
    [*map(JointClosure, JOINTS), Distance(1.0), Coupling((1.0,), 0.0), written(*POSITION["cam"])],
    ids=lambda closure: type(closure).__name__,
)
def test_every_closure_counts_its_rows(closure: Closure):
    n = len(closure.ratios) if isinstance(closure, Coupling) else 2
    n_sides = 0 if isinstance(closure, Coupling | Expression) else 2
    rows = closure.rows(symbols(n_sides), ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("t"))
    assert rows.phi.shape[0] == closure.n_rows
