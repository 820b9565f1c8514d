"""Published mechanisms with loops, described as a user would, and their exact or independent solutions in NumPy."""

from __future__ import annotations

import math

import numpy as np

import whippletree as wt
from support.loop_models import Hinge, Looped, Part
from support.newton_euler import Jet, sine_and_cosine

Array = np.ndarray

GRAVITY = 9.81


# ---------------------------------------------------------------------------------------------------------
# IFToMM A02: N four-bars


def n_four_bar(n: int) -> wt.Mechanism:
    """Rockers on ground pivots (i, 0), i = 0..n, and couplers between their ends; rods of 1 kg and 1 m.

    A rocker's angle is from the ground's x axis; the other coordinates are relative.
    """
    m = wt.Mechanism(f"{n} four-bars", gravity=(0.0, -GRAVITY, 0.0))
    rockers = [m.body(f"rocker {i}", wt.rod(length=1.0, mass=1.0, axis="x")) for i in range(n + 1)]
    for i, rocker in enumerate(rockers):
        m.revolute(f"A{i}", m.ground, rocker, at=(i, 0, 0))
    for i in range(n):
        coupler = m.body(f"coupler {i}", wt.rod(length=1.0, mass=1.0, axis="x"))
        m.revolute(f"B{i}", rockers[i], coupler, at=(1, 0, 0))
        m.revolute(f"C{i}", coupler, rockers[i + 1], at=(1, 0, 0), at_child=(1, 0, 0))
    return m


def four_bar_angles(n: int, angle: float) -> dict[str, float]:
    """All coordinates on the parallelogram branch, couplers level, for a rocker angle; linear, so velocities too."""
    found = {f"A{i}": angle for i in range(n + 1)}
    for i in range(n):
        found |= {f"B{i}": -angle, f"C{i}": angle}
    return found


def four_bar_acceleration(n: int, angle: float) -> float:
    """The rockers' angular acceleration: with theta from the upward vertical, theta'' = g a sin(theta)."""
    a = ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    return -GRAVITY * a * math.cos(angle)


# ---------------------------------------------------------------------------------------------------------
# IFToMM A04: Bricard


BRICARD_POINTS = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
BRICARD_AXES = "yzxyzx"


def bricard() -> wt.Mechanism:
    """Five square prisms of 1 kg, 1 m by 0.1 by 0.1, on six hinges; all frames are parallel at the start."""
    m = wt.Mechanism("bricard", gravity=(0.0, -GRAVITY, 0.0))
    before, start = m.ground, np.zeros(3)
    points = np.array(BRICARD_POINTS, dtype=float)
    for i, (point, axis) in enumerate(zip(points, BRICARD_AXES, strict=True)):
        if i == 5:
            m.revolute("R6", before, m.ground, at=point - start, at_child=point, axis=axis)
            break
        along = points[i + 1] - point
        rod = m.body(f"rod {i + 1}", wt.box(np.where(along == 0, 0.1, 1.0), mass=1.0, at=along / 2))
        m.revolute(f"R{i + 1}", before, rod, at=point - start, axis=axis)
        before, start = rod, point
    m.frame("corner", on="rod 2", at=(0.0, -1.0, 0.0))
    return m


def bricard_as_it_stands() -> Looped:
    """The same as plain data."""
    parts, hinges = [], []
    names = ["ground", *(f"rod {i + 1}" for i in range(5)), "ground"]
    origins = [np.zeros(3), *(np.array(p, dtype=float) for p in BRICARD_POINTS[:5]), np.zeros(3)]
    for i in range(5):
        along = np.array(BRICARD_POINTS[i + 1]) - origins[i + 1]
        edges = np.where(along == 0, 0.1, 1.0) ** 2
        pose = np.eye(4)
        pose[:3, 3] = origins[i + 1]
        parts.append(Part(names[i + 1], pose, 1.0, along / 2, np.diag(edges.sum() - edges) / 12))
    for i, (point, axis) in enumerate(zip(BRICARD_POINTS, BRICARD_AXES, strict=True)):
        sides = []
        for k in (i, i + 1):
            side = np.eye(4)
            side[:3, :3] = np.roll(np.eye(3), -("xyz".index(axis) + 1), axis=1)  # z along the axis
            side[:3, 3] = np.array(point, dtype=float) - origins[k]
            sides.append(side)
        hinges.append(Hinge(f"R{i + 1}", "revolute", names[i], names[i + 1], *sides, np.zeros(1)))
    return Looped("bricard", np.array([0.0, -GRAVITY, 0.0]), tuple(parts), tuple(hinges))


# ---------------------------------------------------------------------------------------------------------
# IFToMM A03: Andrews' squeezing mechanism


ANDREWS = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
ANDREWS_START = {"beta": -0.0617138900142764, "theta": 0.0}
ANDREWS_GUESS = ANDREWS_START | {"gamma": 0.455, "phi": 0.223, "delta": 0.487, "omega": -0.223, "epsilon": 1.231}
ANDREWS_TORQUE, ANDREWS_STIFFNESS, ANDREWS_FREE = 0.033, 4530.0, 0.07785
A, B, C = np.array([-0.06934, -0.00227]), np.array([-0.03635, 0.03273]), np.array([0.014, 0.072])
_BODIES: dict[
    str, tuple[float, float, tuple[float, float]]
] = {  # mass, inertia, centre in axes that turn with the body
    "K1": (0.04325, 2.194e-6, (0.00092, 0.0)),
    "K2": (0.00365, 4.410e-7, (-0.0115, 0.0)),
    "K3": (0.02373, 5.255e-6, (0.01043, -0.01874)),
    "K4": (0.00706, 5.667e-7, (0.0, -(0.02 - 0.01421))),
    "K5": (0.0705, 1.169e-5, (0.02308, 0.00916)),
    "K6": (0.00706, 5.667e-7, (0.02 - 0.01421, 0.0)),
    "K7": (0.05498, 1.912e-5, (-0.00449, -0.01228)),
}


def andrews() -> wt.Mechanism:
    """Seven bodies; joint coordinates are the problem's angles, and E2, E4, E6 hold three bodies to K3 at E."""
    m = wt.Mechanism("squeezer", gravity=(0.0, 0.0, 0.0))
    body = {}
    for name, (mass, inertia, (x, y)) in _BODIES.items():
        body[name] = m.body(name, mass=mass, com=(x, y, 0), inertia=inertia * np.eye(3))
    m.revolute("beta", m.ground, body["K1"])
    m.revolute("theta", body["K1"], body["K2"], at=(0.007, 0, 0))
    m.revolute("gamma", m.ground, body["K3"], at=(*B, 0))
    m.revolute("delta", m.ground, body["K5"], at=(*A, 0))
    m.revolute("phi", body["K5"], body["K4"], at=(0.04, 0, 0))
    m.revolute("epsilon", m.ground, body["K7"], at=(*A, 0))
    m.revolute("omega", body["K7"], body["K6"], at=(0, -0.04, 0))
    for name, end in (("K2", (-0.028, 0, 0)), ("K4", (0, -0.02, 0)), ("K6", (0.02, 0, 0))):
        m.revolute(f"E{name[1]}", body["K3"], body[name], at=(0, -0.035, 0), at_child=end)
    m.frame("D", on="K3", at=(0.02, -0.018, 0))
    return m


class Squeezer:
    """Andrews' mechanism as a planar problem in its seven angles, by exact derivatives along motions.

    Centres and ends are functions of the angles; a motion's second derivatives follow from jets.
    """

    def __init__(self, y: Array, dy: Array, ddy: Array) -> None:
        b, t, g, p, d, o, e = (Jet([y[k], dy[k], ddy[k] / 2]) for k in range(7))
        self.angle = {"K1": b, "K2": b + t, "K3": g, "K4": p + d, "K5": d, "K6": o + e, "K7": e}
        on_k1 = self._at("K1", (0.007, 0.0))
        on_k5 = self._at("K5", (0.04, 0.0)) + A
        on_k7 = self._at("K7", (0.0, -0.04)) + A
        self.origin = {"K1": Jet.constant([0.0, 0.0]), "K2": on_k1, "K3": Jet.constant(B), "K4": on_k5}
        self.origin |= {"K5": Jet.constant(A), "K6": on_k7, "K7": Jet.constant(A)}
        self.centre = {name: self.origin[name] + self._at(name, own[2]) for name, own in _BODIES.items()}
        ends = {"K2": (-0.028, 0.0), "K4": (0.0, -0.02), "K6": (0.02, 0.0)}
        E = self.origin["K3"] + self._at("K3", (0.0, -0.035))
        gaps = [self.origin[name] + self._at(name, end) - E for name, end in ends.items()]
        self.gap = Jet([np.concatenate([gap.c[k] for gap in gaps]) for k in range(3)])
        self.hook = self.origin["K3"] + self._at("K3", (0.02, -0.018))

    def _at(self, body: str, point: tuple[float, float]) -> Jet:
        s, c = sine_and_cosine(self.angle[body])
        x, y = point
        return Jet([[c.c[k] * x - s.c[k] * y, s.c[k] * x + c.c[k] * y] for k in range(3)])


ZEROS = np.zeros(7)


def squeezer_jacobian(y: Array) -> Array:
    return np.array([Squeezer(y, unit, ZEROS).gap.c[1] for unit in np.eye(7)]).T


def squeezer_closed() -> Array:
    """The seven angles at the start, by Newton's method with beta and theta held."""
    y = np.array([ANDREWS_GUESS[name] for name in ANDREWS])
    for _ in range(20):
        y[2:] -= np.linalg.lstsq(squeezer_jacobian(y)[:, 2:], Squeezer(y, ZEROS, ZEROS).gap.c[0], rcond=None)[0]
    return y


def squeezer_spring(y: Array) -> Array:
    """The spring's force on D."""
    to_c = C - Squeezer(y, ZEROS, ZEROS).hook.c[0]
    length = float(np.linalg.norm(to_c))
    return ANDREWS_STIFFNESS * (length - ANDREWS_FREE) / length * to_c


def squeezer_accelerations(y: Array, dy: Array) -> Array:
    """The seven angles' accelerations: mass matrix and multipliers."""
    units = [Squeezer(y, unit, ZEROS) for unit in np.eye(7)]
    moving = Squeezer(y, dy, ZEROS)
    M, f = np.zeros((7, 7)), np.zeros(7)
    for name, (mass, inertia, _) in _BODIES.items():
        J = np.array([unit.centre[name].c[1] for unit in units]).T
        w = np.array([unit.angle[name].c[1] for unit in units])
        M += mass * J.T @ J + inertia * np.outer(w, w)
        f -= mass * J.T @ (2 * moving.centre[name].c[2]) + inertia * w * (2 * moving.angle[name].c[2])
    f += np.array([unit.hook.c[1] for unit in units]) @ squeezer_spring(y)
    f[0] += ANDREWS_TORQUE
    G = squeezer_jacobian(y)
    K = np.block([[M / 1e-5, G.T], [G, np.zeros((6, 6))]])  # the multipliers in other units: M is small
    return np.linalg.solve(K, np.concatenate([f / 1e-5, -2 * moving.gap.c[2]]))[:7]
