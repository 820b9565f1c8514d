"""Section 8.5 of Garcia de Jalon and Bayo in plain NumPy: dependent natural coordinates, trapezoidal rule in positions.

The five-link pendulum of example 8.6 and Bricard's mechanism of example 8.7, written out by hand: points P1..P5 and
unit vectors u2..u6, for each link |r|^2, u_k . r, u_k+1 . r, u_k . u_k+1 and |u_k+1|^2. Nothing here is the package's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Marched", "five_links", "march"]

Array = np.ndarray

POINTS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
AXES = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float)
G = np.array([0.0, -9.81, 0.0])


@dataclass
class Links:
    """Places of elements in x (-1 if fixed), fixed values, masses, and conditions as (element pairs, value)."""

    n: int
    mass: Array
    start: Array
    pairs: list[tuple[list[tuple[int, float]], list[tuple[int, float]], float]]
    fixed: dict[int, Array]
    force: Array

    def element(self, x: Array, e: int) -> Array:
        return self.fixed[e] if e in self.fixed else x[3 * e : 3 * e + 3]

    def way(self, x: Array, terms: list[tuple[int, float]]) -> Array:
        return sum(sign * self.element(x, e) for e, sign in terms)

    def phi(self, x: Array) -> Array:
        return np.array([self.way(x, a) @ self.way(x, b) - c for a, b, c in self.pairs])

    def jacobian(self, x: Array) -> Array:
        J = np.zeros((len(self.pairs), self.n))
        for r, (a, b, _) in enumerate(self.pairs):
            for terms, other in ((a, self.way(x, b)), (b, self.way(x, a))):
                for e, sign in terms:
                    if e not in self.fixed:
                        J[r, 3 * e : 3 * e + 3] += sign * other
        return J

    def energy(self, x: Array, v: Array) -> float:
        return float(0.5 * v @ self.mass @ v - self.force @ x)


def five_links(closed: bool) -> Links:
    """Elements 0..4 are P1..P5, 5..9 are u2..u6, 10 is P0, 11 is u1; closed, P5 and u6 are fixed too."""
    moving = [*range(4), *range(5, 9)] if closed else list(range(10))
    rename = {e: k for k, e in enumerate(moving)}
    for e in range(12):
        rename.setdefault(e, 100 + e)
    places = {k: POINTS[k + 1] for k in range(5)} | {5 + k: AXES[k + 1] for k in range(5)}
    places |= {10: POINTS[0], 11: AXES[0]}
    fixed = {rename[e]: place for e, place in places.items() if e not in moving}
    n = 3 * len(moving)
    x = np.concatenate([places[e] for e in moving])
    mass, force = np.zeros((n, n)), np.zeros(n)
    pairs = []
    for k in range(5):
        near, far = (10 if k == 0 else k - 1), k
        u, w = (11 if k == 0 else 4 + k), 5 + k
        r = [(rename[far], 1.0), (rename[near], -1.0)]
        first, second = [(rename[u], 1.0)], [(rename[w], 1.0)]
        ways = [(r, r), (first, r), (second, r), (first, second), (second, second)]
        length = {"r": places[far] - places[near], "u": places[u], "w": places[w]}
        values = [("r", "r"), ("u", "r"), ("w", "r"), ("u", "w"), ("w", "w")]
        for (a, b), (i, j) in zip(ways, values, strict=True):
            if any(e not in fixed for e, _ in (*a, *b)):
                pairs.append((a, b, float(length[i] @ length[j])))
        for e in (near, far):
            if e in moving:
                at = slice(3 * rename[e], 3 * rename[e] + 3)
                mass[at, at] += 0.5 * np.eye(3)
                force[at] += 0.5 * G
    return Links(n, mass, x, pairs, fixed, force)


@dataclass
class Marched:
    """What a run gave: states, iterations of each step, largest residual of a condition, energy."""

    x: Array
    v: Array
    a: Array
    iterations: Array
    violation: float
    energy: Array


def march(
    links: Links,
    duration: float,
    h: float,
    alpha: float,
    mu: float,
    *,
    tolerance: float = 5e-7,
    fixed: int = 0,
    augmented: int = 0,
) -> Marched:
    """Take steps (8.128-8.135); stop each at the tolerance, or after exactly `fixed` iterations."""
    x, v = links.start.copy(), np.zeros(links.n)
    J = links.jacobian(x)
    m = len(J)
    whole = np.block([[links.mass, J.T], [J, np.zeros((m, m))]])
    a = np.linalg.lstsq(whole, np.concatenate([links.force, np.zeros(m)]), rcond=None)[0][: links.n]
    rows, counts, worst, energies = [(x, v, a)], [], 0.0, [links.energy(x, v)]
    for _ in range(round(duration / h)):
        v_hat, a_hat = v + 2 / h * x, a + 4 / h * v + 4 / h**2 * x
        new, multipliers, count = x + h * v + h * h / 2 * a, np.zeros(m), 0
        for _ in range(1 + augmented):
            for _ in range(fixed or 20):
                v_new, a_new = 2 / h * new - v_hat, 4 / h**2 * new - a_hat
                J = links.jacobian(new)
                held = alpha * (links.phi(new) + mu * J @ v_new) + multipliers
                f = links.mass @ a_new + J.T @ held - links.force
                K = 4 / h**2 * links.mass + alpha * (1 + 2 * mu / h) * J.T @ J
                change = -np.linalg.solve(K, f)
                new, count = new + change, count + 1
                if not fixed and np.linalg.norm(change) < tolerance:
                    break
            v_new = 2 / h * new - v_hat
            multipliers = multipliers + alpha * (links.phi(new) + mu * links.jacobian(new) @ v_new)
        x, v, a = new, 2 / h * new - v_hat, 4 / h**2 * new - a_hat
        if not np.isfinite(x).all():
            break
        rows.append((x, v, a))
        counts.append(count)
        worst = max(worst, float(np.abs(links.phi(x)).max()))
        energies.append(links.energy(x, v))
    X, V, A = (np.array(part) for part in zip(*rows, strict=True))
    return Marched(X, V, A, np.array(counts), worst, np.array(energies))
