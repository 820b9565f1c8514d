"""Fibres of cross-sections: places at which stresses are reported, and the stresses that section forces cause there.

With the normal force N, the shear forces Q, the torque T and the bending moments M of a section, a fibre at (y, z) has

    xx = N / A + M_y z / I_y - M_z y / I_z,        [xy; xz] = T / J arm + (shear Q) / A                         (1)

`arm` (2) is in metres, for a round section (-z, y); `shear` (2 x 2) is a number, 3/2 in the middle of a rectangle. In
round sections shear stress is tangential, and 4/3 (R^2 + R r + r^2) / (R^2 + r^2) Q / A across Q. Torsion of rectangles
is Saint-Venant's (Timoshenko and Goodier, Theory of Elasticity, article 109), free to warp.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import Array, positive
from whippletree.spatial.scalars import shown

__all__ = ["Fibres", "fibre_stresses", "given_fibres", "rectangle_fibres", "ring_fibres"]

Fibres = tuple[tuple[float, ...], ...]
"""The numbers y, z, arm_y, arm_z, shear_yy, shear_yz, shear_zy, shear_zz of (1) for each fibre."""

_AROUND = 24
"""Fibres of a round section: bending in any direction is told within 1 per cent at its largest."""


def ring_fibres(outer: float, inner: float) -> Fibres:
    """Return the fibres on the outer circle.

    >>> len(ring_fibres(0.1, 0.0))
    24
    """
    factor = 4 / 3 * (outer**2 + outer * inner + inner**2) / (outer**2 + inner**2)
    found = []
    for k in range(_AROUND):
        c, s = math.cos(2 * math.pi * k / _AROUND), math.sin(2 * math.pi * k / _AROUND)
        across = (s * s * factor, -s * c * factor, -s * c * factor, c * c * factor)
        found.append((outer * c, outer * s, -outer * s, outer * c, *across))
    return tuple(found)


def rectangle_fibres(width: float, height: float) -> Fibres:
    """Return the corners, and the middles of the sides, of a rectangle: torsion is largest in those of the long sides.

    >>> len(rectangle_fibres(0.1, 0.2))
    8
    """
    y, z = width / 2, height / 2
    beside, above = _torsion_arm(width, height), _torsion_arm(height, width)
    found = [(a * y, b * z, *[0.0] * 6) for a in (-1, 1) for b in (-1, 1)]
    found += [(a * y, 0.0, 0.0, a * beside, 0.0, 0.0, 0.0, 1.5) for a in (-1, 1)]
    found += [(0.0, b * z, -b * above, 0.0, 1.5, 0.0, 0.0, 0.0) for b in (-1, 1)]
    return tuple(found)


def _torsion_arm(across: float, along: float) -> float:
    """Return the shear stress J tau / T in the middles of the sides that are `across` apart and go `along`."""
    odd = np.arange(1, 60, 2)
    if across <= along:  # the long sides
        with np.errstate(over="ignore"):
            rest = np.sum(1 / (odd**2 * np.cosh(np.minimum(odd * np.pi * along / (2 * across), 700.0))))
        return float(across * (1 - 8 / np.pi**2 * rest))
    odd = np.arange(1, 4000, 2)
    signs = np.where(odd % 4 == 1, 1.0, -1.0)
    terms = signs / odd**2 * np.tanh(odd * np.pi * across / (2 * along))
    return float(along * 8 / np.pi**2 * np.sum(terms))


def given_fibres(places: ArrayLike, torsion_constant: float, torsion_modulus: float | None) -> Fibres:
    """Return fibres at places (F, 2), with the shear stress T / torsion_modulus around the centroid and none of Q.

    >>> given_fibres([(0.0, 0.1)], 2e-4, 1e-3)[0][:4]
    (0.0, 0.1, -0.2, 0.0)
    """
    modulus = positive(torsion_modulus, "section: torsion_modulus")
    try:
        read = np.array(places, dtype=np.float64)
    except (TypeError, ValueError):
        read = np.zeros(0)
    if read.ndim != 2 or read.shape[1] != 2 or not len(read) or not np.isfinite(read).all():
        raise ModelError(
            f"section: fibres must be places (y, z) in metres, two finite numbers each, got {shown(places)}"
        )
    found = []
    for y, z in read.tolist():
        radius = math.hypot(y, z)
        arm = torsion_constant / modulus / radius if radius else 0.0
        found.append((y, z, -arm * z, arm * y, 0.0, 0.0, 0.0, 0.0))
    return tuple(found)


def fibre_stresses(fibres: Array, numbers: Array, axes: Array) -> Array:
    """Return the stresses xx, yy, zz, xy, yz, zx in body axes (S, F, 6, 6) of unit section forces, by (1).

    `fibres` (S, F, 8) and `numbers` (S, 6) are those of the sections, `axes` (S, 3, 3) has theirs as columns.
    """
    A, I_y, I_z, J = (numbers[:, None, i] for i in range(4))
    y, z, arm_y, arm_z, *shear = np.moveaxis(fibres, -1, 0)
    unit = np.zeros((*fibres.shape[:2], 3, 6))  # xx, xy, xz of the section
    unit[:, :, 0, 0], unit[:, :, 0, 4], unit[:, :, 0, 5] = 1 / A, z / I_y, -y / I_z
    unit[:, :, 1, 3], unit[:, :, 2, 3] = arm_y / J, arm_z / J
    for k, factor in enumerate(shear):
        unit[:, :, 1 + k // 2, 1 + k % 2] = factor / A
    x = axes[:, :, 0]
    tension = np.einsum("sa,sb->sab", x, x)
    shears = [tension, *(_both(np.einsum("sa,sb->sab", x, axes[:, :, i])) for i in (1, 2))]
    whole = np.einsum("tsab,sftk->sfabk", np.array(shears), unit)
    return np.stack([whole[:, :, a, b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))], axis=2)


def _both(tensor: Array) -> Array:
    return np.asarray(tensor + tensor.swapaxes(-1, -2))
