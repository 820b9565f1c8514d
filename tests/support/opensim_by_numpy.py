"""An OpenSim model of version 4 worked out by plain NumPy: poses of bodies, and the balance of virtual work.

It shares no code with the package. Motion along q(t) is differentiated by differences of sixth order.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
FIRST = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
SECOND = np.array([2, -27, 270, -490, 270, -27, 2]) / 180
STEP = 4e-3


def about(axis: Array, angle: float) -> Array:
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def pose(translation: str | None, orientation: str | None) -> Array:
    T = np.eye(4)
    T[:3, 3] = numbers(translation or "0 0 0")
    for axis, angle in zip(np.eye(3), numbers(orientation or "0 0 0"), strict=True):
        T[:3, :3] = T[:3, :3] @ about(axis, angle)
    return T


def numbers(text: str) -> Array:
    return np.array([float(word) for word in text.split()])


def through_knots(x: Array, y: Array) -> Callable[[float], float]:
    """The cubic spline whose third derivatives at its ends are those of the cubics through the four knots there."""
    n = len(x)
    A, b = np.zeros((4 * (n - 1), 4 * (n - 1))), np.zeros(4 * (n - 1))
    row = 0

    def powers(s: float, order: int) -> list[float]:
        return [np.prod(range(k - order + 1, k + 1)) * s ** (k - order) if k >= order else 0.0 for k in range(4)]

    for i in range(n - 1):
        h = x[i + 1] - x[i]
        for s, value in ((0.0, y[i]), (h, y[i + 1])):
            A[row, 4 * i : 4 * i + 4], b[row], row = powers(s, 0), value, row + 1
        for order in (1, 2) if i < n - 2 else ():
            A[row, 4 * i : 4 * i + 4] = powers(h, order)
            A[row, 4 * i + 4 : 4 * i + 8] = -np.array(powers(0.0, order))
            row += 1
    for i, four in ((0, slice(4)), (n - 2, slice(-4, None))):
        A[row, 4 * i : 4 * i + 4] = powers(0.0, 3)
        b[row], row = 6 * np.polyfit(x[four], y[four], 3)[0] if n > 3 else 0.0, row + 1
    c = np.linalg.solve(A, b).reshape(-1, 4)

    def value(at: float) -> float:
        i = int(np.clip(np.searchsorted(x, at) - 1, 0, n - 2))
        assert x[0] <= at <= x[-1], "these tests stay within the knots"
        return float(np.polyval(c[i][::-1], at - x[i]))

    return value


def function(element: ET.Element) -> Callable[..., float]:
    if element.tag == "Constant":
        constant = float(element.findtext("value", "0"))
        return lambda *_: constant
    if element.tag == "SimmSpline":
        return through_knots(numbers(element.findtext("x", "")), numbers(element.findtext("y", "")))
    if element.tag == "MultiplierFunction":
        inner, scale = function(element.find("function")[0]), float(element.findtext("scale", "1"))  # type: ignore[index]
        return lambda x: scale * inner(x)
    c = numbers(element.findtext("coefficients", "1 0"))
    if element.tag == "PolynomialFunction":
        return lambda x: float(np.polyval(c, x))
    return lambda *x: float(c[:-1] @ np.array(x) + c[-1])


class NumpyLeg:
    """Bodies and joints of a file, whose coordinates are given by name."""

    def __init__(self, path: Path) -> None:
        model = ET.parse(path).getroot().find("Model")
        assert model is not None
        self.gravity = numbers(model.findtext("gravity", ""))
        self.bodies = {one.get("name", ""): one for one in model.findall("BodySet/objects/Body")}
        self.joints = [*model.findall("JointSet/objects/*")]
        self.defaults = {
            one.get("name", ""): float(one.findtext("default_value", "0")) for one in model.iter("Coordinate")
        }
        self.couplers = [*model.iter("CoordinateCouplerConstraint")]

    def coordinates(self, given: dict[str, float]) -> dict[str, float]:
        q = self.defaults | given
        for one in self.couplers:
            names = one.findtext("independent_coordinate_names", "").split()
            factor = float(one.findtext("scale_factor", "1"))
            law = function(one.find("coupled_coordinates_function")[0])  # type: ignore[index]
            q[one.findtext("dependent_coordinate_name", "")] = factor * law(*(q[name] for name in names))
        return q

    def poses(self, given: dict[str, float]) -> dict[str, Array]:
        q, found = self.coordinates(given), {"ground": np.eye(4)}
        for joint in self.joints:
            (parent, F), (child, M) = (self.side(joint, role) for role in ("parent", "child"))
            found[child] = found[parent] @ F @ self.motion(joint, q) @ np.linalg.inv(M)
        return found

    def side(self, joint: ET.Element, role: str) -> tuple[str, Array]:
        name = joint.findtext(f"socket_{role}_frame", "")
        for frame in joint.findall("frames/PhysicalOffsetFrame"):
            if frame.get("name") == name:
                on = frame.findtext("socket_parent", "").split("/")[-1]
                return on, pose(frame.findtext("translation"), frame.findtext("orientation"))
        return name.split("/")[-1], np.eye(4)

    def motion(self, joint: ET.Element, q: dict[str, float]) -> Array:
        own = [q[one.get("name", "")] for one in joint.findall("coordinates/Coordinate")]
        T = np.eye(4)
        if joint.tag == "PinJoint":
            T[:3, :3] = about(np.eye(3)[2], own[0])
        elif joint.tag == "PlanarJoint":
            T[:3, :3], T[:2, 3] = about(np.eye(3)[2], own[0]), own[1:]
        else:
            for axis in joint.findall("SpatialTransform/TransformAxis"):
                names = axis.findtext("coordinates", "").split()
                law = next((function(one) for one in axis if one.tag not in ("axis", "coordinates")), lambda x: x)
                value, along = law(*(q[name] for name in names)), numbers(axis.findtext("axis", ""))
                if axis.get("name", "").startswith("rotation"):
                    T[:3, :3] = T[:3, :3] @ about(along, value)
                else:
                    T[:3, 3] += value * along / np.linalg.norm(along)
        return T

    # ------------------------------------------------------------------ motion

    def moving(self, q: dict[str, float], v: dict[str, float], a: dict[str, float]) -> dict[str, tuple[Array, ...]]:
        """For each body: w and w' in ground axes, u and u' of its centre of mass, and its axes."""
        times = STEP * np.arange(-3, 4)
        path = [self.poses({k: q[k] + v.get(k, 0) * t + a.get(k, 0) * t * t / 2 for k in q}) for t in times]
        found = {}
        for name, body in self.bodies.items():
            com = np.append(numbers(body.findtext("mass_center", "")), 1.0)
            T = np.array([one[name] for one in path])
            p, R = T @ com, T[:, :3, :3]
            R1, R2 = (np.tensordot(c, R, 1) / STEP**k for k, c in ((1, FIRST), (2, SECOND)))
            S = R1 @ R[3].T
            w = np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]]) / 2
            D = R2 @ R[3].T + R1 @ R1.T
            dw = np.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]]) / 2
            found[name] = (w, dw, (FIRST @ p)[:3] / STEP, (SECOND @ p)[:3] / STEP**2, R[3])
        return found

    def efforts(self, q: dict[str, float], v: dict[str, float], a: dict[str, float]) -> dict[str, float]:
        """What the coordinates must exert for this motion: by the work of weight and inertia in virtual motions."""
        along = {key: self.moving(q, {key: 1.0}, {}) for key in q}
        found = dict.fromkeys(q, 0.0)
        for name, (w, dw, _, du, R) in self.moving(q, v, a).items():
            body = self.bodies[name]
            xx, yy, zz, xy, xz, yz = numbers(body.findtext("inertia", ""))
            J = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
            force = float(body.findtext("mass", "0")) * (du - self.gravity)
            moment = J @ dw + np.cross(w, J @ w)
            for key, virtual in along.items():
                found[key] += float(virtual[name][2] @ force + virtual[name][0] @ moment)
        return found
