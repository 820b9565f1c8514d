"""Jain's recursion for chains of flexible bodies as his text has it (19-41, corrected), in plain NumPy.

Every body has lumped nodes (1-6), a frame k at its reference point, an inboard node O, at which its hinge holds it, and
an outboard node O+, which carries the next hinge. Velocities and forces are [angular; linear], all in ground axes:

    phi(x, y) = [1 l~; 0 1], l from x to y      forces at y act at x so; velocities at x are phi* at y
    Pi(node) = [turning; translation]           what the modes move at a node

A body stands for two: k' without mass, which the hinge moves, and k, which deforms before it. The
package's own recursion eliminates modes together with the hinge:

    here                            in the package
    A_fl, H_M                       columns of a moving frame (`station_motion`), passed on as U, D, eps (`_pass_on`)
    P_cr+, G_cr, mu                 one elimination of modes and hinge at the body's home (`eliminate_joint`)
    k'                              the node of the interface, a moving frame of the body
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["FlexibleLink", "FlexibleNode", "LinkMotion", "solve"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FlexibleNode:
    """A node: its place in the undeformed body, what modes turn and move there, its mass and inertia tensor."""

    x: Array
    turning: Array
    translation: Array
    mass: float = 0.0
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True)
class FlexibleLink:
    """A body: its nodes with mass, those of its hinge and of the next one, stiffness; the axis of its hinge.

    The axis is in the body's axes at the inboard node. A prescribed hinge has an acceleration instead of an effort.
    """

    nodes: Sequence[FlexibleNode]
    inboard: FlexibleNode
    outboard: FlexibleNode
    stiffness: Array
    axis: Array
    prescribed: bool = False


@dataclass
class LinkMotion:
    """A body in motion: rotation, place, velocity of its frame, modal coordinates and rates, rate of its hinge.

    What `solve` finds is beside it: accelerations and articulated quantities by the paper's letters.
    """

    A: Array
    r: Array
    V: Array
    eta: Array
    d_eta: Array
    d_theta: float
    effort: float
    """The hinge's effort, or its acceleration if it is prescribed."""
    modal_effort: Array
    found: dict[str, Array] = field(default_factory=dict)


def tilde(r: Array) -> Array:
    """Return the matrix of r x."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def phi(way: Array) -> Array:
    """Return phi(x, y) for the way from x to y."""
    whole = np.eye(6)
    whole[:3, 3:] = tilde(way)
    return whole


class _DeformedNode:
    """A node at a state: its lever, Pi, and the velocity-dependent part of its acceleration (30)."""

    def __init__(self, node: FlexibleNode, body: LinkMotion) -> None:
        A, w = body.A, body.V[:3]
        self.lever = A @ (node.x + node.translation @ body.eta)
        self.Pi = np.vstack([A @ node.turning, A @ node.translation])
        turning, moving = np.split(self.Pi @ body.d_eta, 2)
        self.shift = phi(self.lever)
        self.A_fl = np.vstack([self.Pi.T, self.shift])
        self.a = np.concatenate([np.cross(w, turning), np.cross(w, np.cross(w, self.lever)) + 2 * np.cross(w, moving)])
        self.w = w + turning
        self.M = np.zeros((6, 6))
        self.M[:3, :3], self.M[3:, 3:] = A @ node.inertia @ A.T, node.mass * np.eye(3)

    def bias(self, gravity: Array) -> Array:
        """Return the force at the node that needs no acceleration: gyroscopic, less the weight."""
        return np.concatenate([np.cross(self.w, self.M[:3, :3] @ self.w), -self.M[3, 3] * gravity])


def solve(links: Sequence[FlexibleLink], motions: Sequence[LinkMotion], gravity: Array) -> None:
    """Find the accelerations and forces of a chain, from its base outward in `links`; all go to `found`."""
    P_beyond, z_beyond = np.zeros((6, 6)), np.zeros(6)  # P+ and z+ at the outboard node
    for k in reversed(range(len(links))):
        P_beyond, z_beyond = _inward(
            links[k], motions[k], motions[k - 1] if k else None, P_beyond, z_beyond, gravity, links[k - 1]
        )
    alpha = np.zeros(6)
    for link, body in zip(links, motions, strict=True):
        alpha = _outward(link, body, alpha)


def _inward(
    link: FlexibleLink,
    body: LinkMotion,
    parent: LinkMotion | None,
    P_beyond: Array,
    z_beyond: Array,
    gravity: Array,
    before: FlexibleLink,
) -> tuple[Array, Array]:
    """Eliminate the modes and the hinge of a body; return P+ and z+ at the outboard node of its parent."""
    n, f = len(link.stiffness), body.found
    O, out = _DeformedNode(link.inboard, body), _DeformedNode(link.outboard, body)
    P = out.A_fl @ P_beyond @ out.A_fl.T
    z = out.A_fl @ (z_beyond + P_beyond @ out.a)
    M_fl, b_fl = np.zeros((n + 6, n + 6)), np.concatenate([link.stiffness @ body.eta, np.zeros(6)])
    for node in (_DeformedNode(one, body) for one in link.nodes):
        M_fl += node.A_fl @ node.M @ node.A_fl.T
        b_fl += node.A_fl @ (node.M @ node.a + node.bias(gravity))
    P, z = P + M_fl, z + b_fl
    back = phi(-O.lever)  # phi(O, k)
    Pi_B = back.T @ O.Pi
    a = -back.T @ O.a
    z = z + P[:, n:] @ a
    Pff, Pfr, Prf, Prr = P[:n, :n], P[:n, n:], P[n:, :n], P[n:, n:]
    mu = Prf - Prr @ Pi_B  # (32)
    D = Pff - Pfr @ Pi_B - Pi_B.T @ mu
    G = mu @ np.linalg.inv(D)
    P_plus = Prr - G @ mu.T
    eps = body.modal_effort - z[:n] + Pi_B.T @ z[n:]  # (34)
    nu, z_plus = np.linalg.solve(D, eps), z[n:] + G @ eps
    H = np.concatenate([body.A @ link.axis, np.zeros(3)])
    w = np.zeros(3) if parent is None else _DeformedNode(before.outboard, parent).w
    a_fl = np.concatenate([np.cross(w, H[:3] * body.d_theta), np.zeros(3)])
    if link.prescribed:
        a_fl = a_fl + H * body.effort
    P_hinge = back @ P_plus @ back.T  # (33)
    z_hinge = back @ z_plus + P_hinge @ a_fl  # (35)
    f |= {"M_fl": M_fl, "b_fl": b_fl, "P": P, "z": z, "Pi_B": Pi_B, "a": a, "mu": mu, "D": D, "G_cr": G, "P_cr": P_plus}
    f |= {
        "eps": eps,
        "nu": nu,
        "z_cr": z_plus,
        "H": H,
        "a_fl": a_fl,
        "P_hinge": P_hinge,
        "z_hinge": z_hinge,
        "back": back,
    }
    f |= {"A_O": O.A_fl, "Pi_O": O.Pi, "a_O": O.a, "A_out": out.A_fl, "a_out": out.a}
    if link.prescribed:
        return P_hinge, z_hinge
    pivot = H @ P_hinge @ H
    gain, residual = P_hinge @ H / pivot, body.effort - H @ z_hinge
    f |= {"gain": gain, "nu_hinge": np.array(residual / pivot)}
    return P_hinge - np.outer(gain, H) @ P_hinge, z_hinge + gain * residual


def _outward(link: FlexibleLink, body: LinkMotion, alpha: Array) -> Array:
    """Find a body's accelerations and the force of its hinge; return the acceleration of its outboard node."""
    f = body.found
    f["alpha_plus"] = alpha  # of the node that carries the hinge (36, 37)
    dd_theta = body.effort if link.prescribed else f["nu_hinge"] - f["gain"] @ alpha  # (38)
    alpha_O = alpha + f["a_fl"] + (0.0 if link.prescribed else f["H"] * dd_theta)  # (39)
    alpha_cr = f["back"].T @ alpha_O
    dd_eta = f["nu"] - f["G_cr"].T @ alpha_cr  # (40)
    alpha_k = alpha_cr - f["Pi_B"] @ dd_eta + f["a"]
    force = f["P_hinge"] @ (alpha_O - f["a_fl"]) + f["z_hinge"]  # (41)
    f |= {"dd_theta": np.array(dd_theta), "alpha_O": alpha_O, "alpha_cr": alpha_cr, "dd_eta": dd_eta}
    f |= {"alpha": alpha_k, "f": force, "effort": np.array(f["H"] @ force)}
    return np.asarray(f["A_out"].T @ np.concatenate([dd_eta, alpha_k]) + f["a_out"])
