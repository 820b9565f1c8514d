"""Ladders, coupled loops with different base bodies, against sparse equations in absolute coordinates of their own."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.sampling import deep
from whippletree.system.equations import Request

REDUCTION = "coordinate_reduction"
GRAVITY = 9.81


def ladder(n: int) -> tuple[wt.Mechanism, dict[str, Any], list[tuple[int, float, int, float, float]]]:
    """Two rails of rods of 1 m and 1 kg, joined by rungs of two; each hinge: body, place along it, twice; foot in y."""
    m = wt.Mechanism("ladder", gravity=(0.0, -GRAVITY, 0.0))
    bodies: list[Any] = []
    hinges: list[tuple[int, float, int, float, float]] = []
    guess: dict[str, Any] = {}
    bend = float(np.arccos(0.8))

    def rod() -> int:
        inertia = np.diag([0.0, 1 / 12, 1 / 12]).tolist()
        bodies.append(m.body(f"rod {len(bodies)}", mass=1.0, com=(0.5, 0.0, 0.0), inertia=inertia))
        return len(bodies) - 1

    def hinge(a: int, at: float, b: int, at_b: float, angle: float, y: float = 0.0) -> None:
        name = f"hinge {len(hinges)}"
        m.revolute(name, m.ground if a < 0 else bodies[a], bodies[b], at=(at, y, 0.0), at_child=(at_b, 0.0, 0.0))
        hinges.append((a, at, b, at_b, y))
        guess[name] = angle

    left = right = -1
    for i in range(n):
        tip = 1.0 if i else 0.0
        a, b = rod(), rod()
        hinge(left, tip, a, 0.0, 0.0)
        hinge(right, tip, b, 0.0, 0.0, 0.0 if i else 1.6)
        near, far = rod(), rod()
        hinge(a, 1.0, near, 0.0, np.pi / 2 - bend)
        hinge(near, 1.0, far, 0.0, 2 * bend)
        hinge(far, 1.0, b, 1.0, -np.pi / 2 - bend)
        left, right = a, b
    return m, guess, hinges


class Absolute:
    """Planar equations with x, y and angle of every rod's centre; hinges hold two rows each."""

    def __init__(self, hinges: list[tuple[int, float, int, float, float]], q: np.ndarray) -> None:
        self.n = max(max(a, b) for a, _, b, _, _ in hinges) + 1
        self.hinges, self.angle = hinges, np.zeros(self.n + 1)  # the last one is the ground
        for (a, _, b, _, _), turn in zip(hinges, q, strict=True):  # a later hinge that closes a loop says the same
            self.angle[b] = self.angle[a] + turn
        rows, columns, values = [], [], []
        for r, (a, at, b, at_b, _) in enumerate(hinges):
            for sign, body, place in ((1.0, b, at_b), (-1.0, a, at)):
                if body >= 0:
                    arm = (place - 0.5) * np.array([np.cos(self.angle[body]), np.sin(self.angle[body])])
                    for k, entry in ((0, -arm[1]), (1, arm[0])):
                        rows += [2 * r + k, 2 * r + k]
                        columns += [3 * body + k, 3 * body + 2]
                        values += [sign, sign * entry]
        self.J = ca.DM.triplet(rows, columns, values, 2 * len(hinges), 3 * self.n)

    def velocities(self, wanted: np.ndarray) -> np.ndarray:
        """Return the nearest velocities of the rods that the hinges allow."""
        J, u = self.J, ca.DM(wanted)
        return np.array(u - J.T @ ca.solve(J @ J.T, J @ u, "csparse")).ravel()

    def turns(self, of_rods: np.ndarray) -> np.ndarray:
        """Return what the hinges do, from what the rods do."""
        w = np.append(of_rods[2::3], 0.0)
        return np.array([w[b] - w[a] for a, _, b, _, _ in self.hinges])

    def accelerations(self, u: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the hinges' accelerations: rods under gravity, efforts and the hinges' forces."""
        w = np.append(u[2::3], 0.0)
        right, drift = np.tile([0.0, -GRAVITY, 0.0], self.n), np.zeros(self.J.size1())
        for r, ((a, at, b, at_b, _), effort) in enumerate(zip(self.hinges, tau, strict=True)):
            for sign, body, place in ((1.0, b, at_b), (-1.0, a, at)):
                if body >= 0:
                    right[3 * body + 2] += sign * effort
                    along = np.array([np.cos(self.angle[body]), np.sin(self.angle[body])])
                    drift[2 * r : 2 * r + 2] -= sign * w[body] ** 2 * (place - 0.5) * along
        M, none = ca.diag(np.tile([1.0, 1.0, 1 / 12], self.n)), ca.DM(len(drift), len(drift))
        K = ca.blockcat([[M, self.J.T], [self.J, none]])
        found = ca.solve(ca.sparsify(K), np.concatenate([right, -drift]), "csparse")
        return self.turns(np.array(found).ravel()[: 3 * self.n])


def check(n: int) -> None:
    m, guess, hinges = ladder(n)
    s = m.build(guess=guess)
    assert s._engine.equations.rolls(Request("forward_dynamics", REDUCTION))
    assert max(len(cut.parent_path) + len(cut.child_path) for cut in s._engine.plan.cuts) <= 7
    rng = np.random.default_rng(n)
    own = Absolute(hinges, s.q0)
    u = own.velocities(rng.normal(size=3 * own.n))
    tau = rng.normal(size=s.nv)
    a = s.forward_dynamics(s.q0, own.turns(u), tau, formulation=REDUCTION)
    expected = own.accelerations(u, tau)
    assert a == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())


@pytest.mark.rest
@pytest.mark.parametrize("n", [100, *deep([1000])])
def test_a_ladder_moves_as_its_rods_do(n: int) -> None:
    check(n)
