"""What the simulations move: a falling arm, N four-bars and Bricard's mechanism, with trees for the peers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from loop_models import Anchor
from motion_bricard import angles_at

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "iftomm"
DURATION = 10.0
TIMES = np.arange(1.0, DURATION + 1)
"""Seconds at which angles are compared."""

G = 9.81


@dataclass(frozen=True)
class Motion:
    """A mechanism with loops, from its model file and as a tree with anchors for the peers.

    coordinate: the joint whose angle is compared, the first of the tree as well; exact: that angle at `TIMES`.
    """

    name: str
    file: str
    tree: pin.Model
    anchors: tuple[Anchor, ...]
    q: np.ndarray
    v: np.ndarray
    coordinate: str
    exact: np.ndarray


def _rod(along: np.ndarray, width: float) -> pin.Inertia:
    """A prism of 1 kg and 1 m from the origin."""
    thick, slender = max(2 * width**2 / 12, 1e-6), (1 + width**2) / 12  # MuJoCo wants no zero
    moments = np.where(np.abs(along) > 0.5, thick, slender)
    return pin.Inertia(1.0, along / 2, np.diag(moments))


def four_bars(n: int = 10) -> Motion:
    """Rockers on the ground, each but the last with a coupler, whose end is anchored to the next rocker's."""
    model = pin.Model()
    model.gravity.linear = np.array([0.0, -G, 0.0])
    x = np.array([1.0, 0.0, 0.0])
    rockers, couplers = [], []
    for i in range(n + 1):
        rocker = model.addJoint(0, pin.JointModelRZ(), pin.SE3(np.eye(3), i * x), f"A{i}")
        model.appendBodyToJoint(rocker, _rod(x, 0.0), pin.SE3.Identity())
        rockers.append(rocker)
        if i < n:
            coupler = model.addJoint(rocker, pin.JointModelRZ(), pin.SE3(np.eye(3), x), f"B{i}")
            model.appendBodyToJoint(coupler, _rod(x, 0.0), pin.SE3.Identity())
            couplers.append(coupler)
    anchors = tuple(
        Anchor((model.names[coupler], model.names[rocker]), (x, x))
        for coupler, rocker in zip(couplers, rockers[1:], strict=True)
    )
    upright = np.array([np.pi / 2 if name[0] == "A" else -np.pi / 2 for name in model.names[1:]])
    moving = np.array([-1.0 if name[0] == "A" else 1.0 for name in model.names[1:]])
    return Motion(f"{n} four-bars", f"n_four_bar_{n}", model, anchors, upright, moving, "A0", _exact_four_bars(n))


def _exact_four_bars(n: int) -> np.ndarray:
    """The first rocker's angle at the outputs: one freedom, by Runge-Kutta steps of 50 microseconds."""
    a = G * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    x, w, h, angles = 0.0, 1.0, 5e-5, []
    for step in range(1, round(DURATION / h) + 1):
        k1, l1 = w, a * np.sin(x)
        k2, l2 = w + h / 2 * l1, a * np.sin(x + h / 2 * k1)
        k3, l3 = w + h / 2 * l2, a * np.sin(x + h / 2 * k2)
        k4, l4 = w + h * l3, a * np.sin(x + h * k3)
        x, w = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), w + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
        if step % round(1 / h) == 0:
            angles.append(np.pi / 2 - x)
    return np.array(angles)


def bricard() -> Motion:
    """Five rods in a row; the last is anchored to the ground in two points of its hinge."""
    hinges = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
    kinds = (pin.JointModelRY, pin.JointModelRZ, pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    model = pin.Model()
    model.gravity.linear = np.array([0.0, -G, 0.0])
    joint = 0
    for i, kind in enumerate(kinds):
        place = hinges[i] - (hinges[i - 1] if i else hinges[0])
        joint = model.addJoint(joint, kind(), pin.SE3(np.eye(3), place), f"R{i + 1}")
        model.appendBodyToJoint(joint, _rod(hinges[i + 1] - hinges[i], 0.1), pin.SE3.Identity())
    end = hinges[5] - hinges[4]
    anchors = tuple(
        Anchor(("R5", "universe"), (end + np.array([side, 0, 0]), hinges[5] + np.array([side, 0, 0])))
        for side in (-0.5, 0.5)
    )
    return Motion("Bricard", "bricard", model, anchors, np.zeros(5), np.zeros(5), "R1", angles_at(TIMES))
