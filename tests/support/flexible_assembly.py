"""Flexible bodies in absolute coordinates with multipliers, in plain NumPy: no code of the package.

Every body has the pose and twist of its frame in ground axes and modal coordinates. Every node is a rigid body whose
motion follows from these by its own map A_j, and the equations are

    [ sum A^T M A   C^T ] [x'    ]   [ sum A^T (f - M gamma - gyroscopic) ]
    [ C              0  ] [lambda] = [ -what of C x' velocities bring      ]

Rotations are matrix exponentials, their Jacobians integrals of those, and rates of Jacobians differences in time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import expm

Array = np.ndarray


def skew(p: Array) -> Array:
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def exponential(theta: Array) -> tuple[Array, Array]:
    """The rotation of a rotation vector, and the integral of its powers: R and T with R' R^T = skew(T theta')."""
    block = np.zeros((6, 6))
    block[:3, :3], block[:3, 3:] = skew(theta), np.eye(3)
    whole = expm(block)
    return whole[:3, :3], whole[:3, 3:]


@dataclass(frozen=True)
class Spot:
    """A place of a body that moves with the material: undeformed pose, modes there, to second order."""

    x: Array
    phi: Array  # (3, n)
    psi: Array  # (3, n)
    G: Array  # (3, n, n)
    H: Array  # (3, n, n)
    axes: Array = field(default_factory=lambda: np.eye(3))
    mass: float = 0.0
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    @staticmethod
    def fixed(n: int, x: object = (0.0, 0.0, 0.0), mass: float = 0.0, inertia: object = None) -> Spot:
        none = np.zeros((3, n)), np.zeros((3, n)), np.zeros((3, n, n)), np.zeros((3, n, n))
        return Spot(np.array(x, float), *none, mass=mass, inertia=np.zeros((3, 3)) if inertia is None else inertia)

    def shape(self, eta: Array) -> tuple[Array, Array, Array, Array]:
        """Place and axes in the body, and the maps of modal rates to velocity and angular velocity there."""
        R, T = exponential(self.psi @ eta + np.einsum("akl,k,l->a", self.H, eta, eta) / 2)
        r = self.x + self.phi @ eta + np.einsum("akl,k,l->a", self.G, eta, eta) / 2
        return r, R @ self.axes, self.phi + self.G @ eta, T @ (self.psi + self.H @ eta)


@dataclass(frozen=True)
class FlexibleState:
    """A body at a state, in ground axes."""

    nodes: list[Spot]
    stiffness: Array
    damping: Array
    R: Array
    p: Array
    w: Array
    u: Array
    eta: Array
    rate: Array

    @property
    def n(self) -> int:
        return len(self.eta)


@dataclass(frozen=True)
class Motion:
    """A material frame: pose, twist, and its acceleration A x' + gamma on [dw, du, eta''] of its body."""

    R: Array
    p: Array
    w: Array
    v: Array
    A: Array
    gamma: Array


_SHIFTS = np.array([1, 2, 3, 4])
_WEIGHTS = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])  # central differences of eighth order


def motion(body: FlexibleState, spot: Spot, offset: object = (0.0, 0.0, 0.0)) -> Motion:
    """The motion of a place, or of a point that is rigidly attached to it."""
    n, h = body.n, 0.02
    r, R, J_t, J_r = spot.shape(body.eta)
    bias = np.zeros(6)
    if n:
        for k, weight in zip(_SHIFTS, _WEIGHTS, strict=True):
            ahead, behind = (spot.shape(body.eta + s * k * h * body.rate) for s in (1, -1))
            bias[:3] += weight / h * (ahead[3] - behind[3]) @ body.rate
            bias[3:] += weight / h * (ahead[2] - behind[2]) @ body.rate
    B, w = body.R, body.w
    arm = B @ r
    turn, slide = B @ J_r @ body.rate, B @ J_t @ body.rate
    A = np.zeros((6, 6 + n))
    A[:3, :3], A[3:, 3:6], A[3:, :3] = np.eye(3), np.eye(3), -skew(arm)
    A[:3, 6:], A[3:, 6:] = B @ J_r, B @ J_t
    gamma = np.concatenate([np.cross(w, turn) + B @ bias[:3], np.cross(w, np.cross(w, arm)) + 2 * np.cross(w, slide)])
    gamma[3:] += B @ bias[3:]
    spin, v = w + turn, body.u + np.cross(w, arm) + slide
    d = B @ R @ np.array(offset, float)
    A[3:] -= skew(d) @ A[:3]
    gamma[3:] += np.cross(gamma[:3], d) + np.cross(spin, np.cross(spin, d))
    return Motion(B @ R, body.p + arm + d, spin, v + np.cross(spin, d), A, gamma)


def ground(n: int = 0) -> FlexibleState:
    zero = np.zeros(3)
    return FlexibleState([], np.zeros((n, n)), np.zeros((n, n)), np.eye(3), zero, zero, zero, np.zeros(n), np.zeros(n))


@dataclass(frozen=True)
class Held:
    """A joint: its type, two places with offsets on bodies by name, and its axes."""

    kind: str
    bodies: tuple[str, str]
    spots: tuple[Spot, Spot]
    offsets: tuple[Array, Array]
    axis: Array  # in the parent's place
    axis_child: Array
    effort: float = 0.0  # about the axis of a revolute joint


@dataclass(frozen=True)
class Rows:
    """Rows on the accelerations of two places, what velocities add to them, and the residuals of pose and velocity."""

    on: tuple[Array, Array]
    gamma: Array
    phi: Array
    rate: Array


def rows(held: Held, a: Motion, b: Motion) -> Rows:
    """What a joint holds; rows on a place are on [angular; linear] acceleration."""
    on_a, on_b, gamma, phi, rate = [], [], [], [], []

    def add(ra: Array, rb: Array, g: float, residual: float, speed: float) -> None:
        on_a.append(ra), on_b.append(rb), gamma.append(g), phi.append(residual), rate.append(speed)

    z, spin = np.zeros(3), b.w - a.w
    u = a.R @ held.axis
    across = np.linalg.svd(held.axis[None])[2][1:]
    if held.kind in ("revolute", "spherical", "universal", "fixed"):
        for i in range(3):
            e = np.eye(3)[i]
            add(np.r_[z, -e], np.r_[z, e], 0.0, (b.p - a.p)[i], (b.v - a.v)[i])
    if held.kind in ("revolute", "prismatic", "fixed"):
        own = b.R @ held.axis_child
        for local in across if held.kind == "revolute" else np.eye(3):
            e = a.R @ local
            add(np.r_[-e, z], np.r_[e, z], spin @ np.cross(a.w, e), 0.0, spin @ e)
        if held.kind == "revolute":
            phi[-2:] = [np.abs(own - u).max(), 0.0]
    if held.kind == "universal":
        v = b.R @ held.axis_child
        m = np.cross(u, v)
        dm = np.cross(np.cross(a.w, u), v) + np.cross(u, np.cross(b.w, v))
        add(np.r_[-m, z], np.r_[m, z], spin @ dm, u @ v, spin @ m)
    if held.kind == "prismatic":
        d, du = b.p - a.p, b.v - a.v
        for local in across:
            e = a.R @ local
            de = np.cross(a.w, e)
            more = 2 * du @ de + d @ np.cross(a.w, de)
            add(np.r_[np.cross(e, d), -e], np.r_[z, e], more, d @ e, du @ e + d @ de)
    return Rows((np.array(on_a), np.array(on_b)), np.array(gamma), np.array(phi), np.array(rate))


@dataclass(frozen=True)
class Answer:
    """Accelerations of every body [dw, du, eta''], and the wrench of every joint on its child at the joint."""

    accelerations: dict[str, Array]
    wrenches: dict[str, Array]
    residual: float  # of poses and velocities of the joints


def solve(
    bodies: dict[str, FlexibleState], joints: dict[str, Held], gravity: Array, efforts: dict[str, Array]
) -> Answer:
    """Assemble and solve; `efforts` are generalised forces on the modal coordinates of bodies."""
    start, size = {}, 0
    for name, body in bodies.items():
        start[name], size = size, size + 6 + body.n
    M, f = np.zeros((size, size)), np.zeros(size)
    for name, body in bodies.items():
        here = slice(start[name], start[name] + 6 + body.n)
        for node in body.nodes:
            m = motion(body, node)
            inertia = np.zeros((6, 6))
            inertia[:3, :3], inertia[3:, 3:] = m.R @ node.inertia @ m.R.T, node.mass * np.eye(3)
            gyro = np.r_[np.cross(m.w, inertia[:3, :3] @ m.w), -node.mass * gravity]
            M[here, here] += m.A.T @ inertia @ m.A
            f[here] -= m.A.T @ (inertia @ m.gamma + gyro)
        elastic = body.stiffness @ body.eta + body.damping @ body.rate - efforts.get(name, 0.0)
        f[here.start + 6 : here.stop] -= elastic
    blocks, right, found, worst = [], [], {}, 0.0
    for name, held in joints.items():
        sides = [bodies.get(body, ground()) for body in held.bodies]
        a, b = (motion(s, spot, d) for s, spot, d in zip(sides, held.spots, held.offsets, strict=True))
        made = rows(held, a, b)
        C, g = np.zeros((len(made.gamma), size)), made.gamma.copy()
        for body, m, on in zip(held.bodies, (a, b), made.on, strict=True):
            g += on @ m.gamma
            if body in bodies:
                C[:, start[body] : start[body] + m.A.shape[1]] += on @ m.A
        moment = np.r_[held.effort * (a.R @ held.axis), np.zeros(3)]
        for body, m, sign in zip(held.bodies, (a, b), (-1, 1), strict=True):
            if body in bodies:
                f[start[body] : start[body] + m.A.shape[1]] += sign * m.A.T @ moment
        found[name] = (len(right), made.on[1], moment)
        blocks.append(C)
        right += list(-g)
        worst = max(worst, np.abs(made.phi).max(initial=0), np.abs(made.rate).max(initial=0))
    C = np.concatenate(blocks)
    k = len(C)
    whole = np.block([[M, C.T], [C, np.zeros((k, k))]])
    x = np.linalg.lstsq(whole, np.concatenate([f, right]), rcond=1e-13)[0]
    accelerations = {name: x[start[name] : start[name] + 6 + body.n] for name, body in bodies.items()}
    multipliers = -x[size:]
    wrenches = {
        name: on.T @ multipliers[first : first + len(on)] + moment for name, (first, on, moment) in found.items()
    }
    return Answer(accelerations, wrenches, worst)
