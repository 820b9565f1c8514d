"""Beam elements with two nodes: shape functions, strains, and the material points that carry mass.

In its own axes (x along it, y and z those of its section) an element has at each node the freedoms [u v w, theta_x
theta_y theta_z]. Extension and torsion are linear along it, bending is cubic, with the shear angle of Timoshenko's
theory: with phi = 12 E I / (kappa G A L^2) the functions are the static solution under end loads, and phi = 0 gives
Euler and Bernoulli's (Przemieniecki 1968; Friedman and Kosmatka 1993). The strains are

    Gamma = [u', v' - theta_z, w' + theta_y],      kappa = [theta_x', theta_y', theta_z']                       (1)

A section of mass m with radii of gyration is represented by four points beside the axis, on its y and z axis at
sqrt(2 I / A): they have its mass and its moments of inertia. All integrals are by Gauss's quadrature with six points:
exact, also with second-order displacements, which are of degree five.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from whippletree.flexible_bodies.flexible_input import Array
from whippletree.flexible_bodies.mass_integrals import integral

__all__ = ["GAUSS_POINTS", "BeamElements", "running_integrals"]

GAUSS_POINTS = 6
"""Points of integration along an element: exact for polynomials of degree 11."""


@lru_cache(maxsize=1)
def gauss_rule() -> tuple[Array, Array]:
    """Return points and weights on [0, 1].

    >>> gauss_rule()[1].sum().round(12)
    np.float64(1.0)
    """
    x, w = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    return (x + 1) / 2, w / 2


@lru_cache(maxsize=1)
def running_integrals() -> Array:
    """Return the matrix (points + 1, points) from values at the points to integrals from 0 to each point and to 1.

    >>> points, _ = gauss_rule()
    >>> np.allclose(running_integrals() @ points**5, np.append(points, 1) ** 6 / 6)
    True
    """
    x, _ = gauss_rule()
    powers = np.arange(GAUSS_POINTS)
    ends = np.append(x, 1.0)
    return np.asarray(ends[:, None] ** (powers + 1) / (powers + 1) @ np.linalg.inv(x[:, None] ** powers))


@dataclass(frozen=True)
class BeamElements:
    """The elements of a beam: their lengths, axes, and sections at Gauss's points.

    `axes` has the elements' axes as columns, in body axes; `sections` the numbers of `Section`.
    """

    start: Array  # (E, 3), body axes
    lengths: Array  # (E,)
    axes: Array  # (E, 3, 3)
    sections: Array  # (E, g, 6)
    density: float
    youngs_modulus: float
    shear_modulus: float
    shear: bool

    @property
    def weights(self) -> Array:
        """Lengths that Gauss's points stand for (E, g)."""
        return np.asarray(self.lengths[:, None] * gauss_rule()[1])

    @property
    def positions(self) -> Array:
        """Gauss's points on the axis (E, g, 3), in body axes."""
        x, _ = gauss_rule()
        return np.asarray(self.start[:, None] + x[:, None] * (self.lengths[:, None] * self.axes[:, :, 0])[:, None])

    def elasticity(self) -> Array:
        """Return the stiffness of sections against the six strains (E, g, 6)."""
        A, I_y, I_z, J_t, k_y, k_z = np.moveaxis(self.sections, -1, 0)
        E, G = self.youngs_modulus, self.shear_modulus
        return np.stack([E * A, G * k_y * A, G * k_z * A, G * J_t, E * I_y, E * I_z], axis=-1)

    def shear_numbers(self) -> tuple[Array, Array]:
        """Return phi of bending in the plane of x and y, and of x and z (E,); zero without shear."""
        if not self.shear:
            return np.zeros(len(self.lengths)), np.zeros(len(self.lengths))
        _, GA_y, GA_z, _, EI_y, EI_z = np.moveaxis(self.elasticity().mean(axis=1), -1, 0)
        return 12 * EI_z / (GA_y * self.lengths**2), 12 * EI_y / (GA_z * self.lengths**2)

    def fields(self, at: Array | None = None) -> tuple[Array, Array, Array]:
        """Return displacement (E, g, 3, 12), rotation (E, g, 3, 12) and strains (E, g, 6, 12) of unit freedoms.

        Freedoms, displacements and rotations are in body axes, strains in the element's. The points are Gauss's, or at
        other fractions of the elements.
        """
        x = gauss_rule()[0] if at is None else at
        L = self.lengths[:, None]
        u, r, s = (np.zeros((len(self.lengths), len(x), rows, 12)) for rows in (3, 3, 6))
        for field, strain, i in ((u, 0, 0), (r, 3, 3)):  # extension and torsion
            field[:, :, 0, i], field[:, :, 0, i + 6] = 1 - x, x
            s[:, :, strain, i], s[:, :, strain, i + 6] = -1 / L, 1 / L
        # bending: freedoms (v, theta_z), and (w, -theta_y)
        for row, turn, sign, phi in zip((1, 2), (2, 1), (1.0, -1.0), self.shear_numbers(), strict=True):
            own = [row, turn + 3, row + 6, turn + 9]
            signs = np.array([1.0, sign, 1.0, sign])
            v, slope, curvature, shear = _bending(x, self.lengths, phi)
            u[:, :, row, own] = v * signs
            r[:, :, turn, own] = sign * slope * signs
            s[:, :, 3 + turn, own] = sign * curvature * signs
            s[:, :, row, own] = shear * signs
        return self._in_body_axes(u, True), self._in_body_axes(r, True), self._in_body_axes(s, False)

    def _in_body_axes(self, field: Array, rows: bool) -> Array:
        """Return a field of freedoms in body axes, and, with `rows`, in body axes itself."""
        split = field.reshape(*field.shape[:3], 4, 3)
        split = np.einsum("egifk,eck->egifc", split, self.axes)
        if rows:
            split = np.einsum("eji,egifc->egjfc", self.axes, split)
        return np.asarray(split.reshape(field.shape))

    def mass_points(self) -> tuple[Array, Array]:
        """Return the masses (E, g, 4) and offsets from the axis (E, g, 4, 3) of the points that carry mass."""
        A, I_y, I_z, *_ = np.moveaxis(self.sections, -1, 0)
        mass = self.density * A * self.weights / 4
        y, z = np.sqrt(2 * I_z / A)[..., None], np.sqrt(2 * I_y / A)[..., None]
        b, c = self.axes[:, None, :, 1], self.axes[:, None, :, 2]
        offsets = np.stack([y * b, -y * b, z * c, -z * c], axis=2)
        return np.repeat(mass[..., None], 4, axis=2), offsets

    def stiffness(self) -> Array:
        """Return the elements' stiffness matrices (E, 12, 12)."""
        strains = self.fields()[2]
        return integral("eg,egs,egsi,egsj->eij", self.weights, self.elasticity(), strains, strains)

    def mass(self) -> Array:
        """Return the elements' consistent mass matrices (E, 12, 12)."""
        u, r, _ = self.fields()
        m, offsets = self.mass_points()
        moved = u[:, :, None] + np.cross(r[:, :, None], offsets[..., None], axis=3)
        return integral("egp,egpai,egpaj->eij", m, moved, moved)

    def lumped(self) -> tuple[Array, Array]:
        """Return the masses (E, 2) and moments of inertia (E, 2, 3, 3) that elements put on their two nodes."""
        x, _ = gauss_rule()
        A, I_y, I_z, *_ = np.moveaxis(self.sections, -1, 0)
        per_length = self.density * self.weights
        shares = np.stack([1 - x, x])  # of the two nodes
        masses = np.einsum("eg,ng->en", per_length * A, shares)
        own = np.stack([I_y + I_z, I_y, I_z], axis=-1)
        moments = np.einsum("eg,egi,ng->eni", per_length, own, shares)
        return masses, np.einsum("eai,eni,ebi->enab", self.axes, moments, self.axes)


def _bending(x: Array, L: Array, phi: Array) -> tuple[Array, Array, Array, Array]:
    """Return deflection, section rotation, curvature and shear angle (E, g, 4) of unit [v1, theta1, v2, theta2]."""
    x, L, phi = x[None, :], L[:, None], phi[:, None]
    s = 1 / (1 + phi)
    one = np.ones_like(x)
    deflection = (
        1 - 3 * x**2 + 2 * x**3 + phi * (1 - x),
        L * (x - 2 * x**2 + x**3 + phi / 2 * (x - x**2)),
        3 * x**2 - 2 * x**3 + phi * x,
        L * (x**3 - x**2 - phi / 2 * (x - x**2)),
    )
    turn = (
        6 / L * (x**2 - x),
        1 - 4 * x + 3 * x**2 + phi * (1 - x),
        6 / L * (x - x**2),
        3 * x**2 - 2 * x + phi * x,
    )
    bend = (
        6 / L**2 * (2 * x - 1),
        (6 * x - 4 - phi) / L,
        6 / L**2 * (1 - 2 * x),
        (6 * x - 2 + phi) / L,
    )
    angle = (-phi / L * one, -phi / 2 * one, phi / L * one, -phi / 2 * one)
    v, slope, curvature, shear = (
        np.stack([s * each for each in part], axis=-1) for part in (deflection, turn, bend, angle)
    )
    return v, slope, curvature, shear
