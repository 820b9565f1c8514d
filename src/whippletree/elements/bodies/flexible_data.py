"""The data of a flexible body: plain arrays about its interfaces, its inertia and its stations.

A material point at x in the undeformed body is displaced by u = Phi eta + 1/2 eta^T G eta, with the modes Phi (3, n)
and the second-order displacements G (3, n, n), symmetric in the last two, which stand for geometric stiffening.
Integrals are over the undeformed body. All vectors are in body axes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from whippletree.errors import ModelError
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing

__all__ = ["GeometricStiffness", "Interface", "Invariants", "LumpedNodes", "Stations"]

Array: TypeAlias = Any
"""Arguments may be anything like an array; they are kept as arrays of finite numbers."""


@user_facing
@readable
@dataclass(frozen=True, eq=False)
class Interface:
    """A place of a flexible body at which joints and forces attach: a frame that moves with the material.

    Its origin is at position + Phi eta + 1/2 eta^T G eta, its axes are exp(theta~) @ axes, with the rotation vector
    theta = Psi eta + 1/2 eta^T H eta.

    >>> Interface((1, 0, 0), translation=[[0], [0], [1]], rotation=[[0], [-1.5], [0]]).axes.shape
    (3, 3)
    """

    position: Array
    axes: Array | None = None  # (3, 3), those of the body unless given
    translation: Array | None = None  # Phi (3, n)
    rotation: Array | None = None  # Psi (3, n)
    second_order: Array | None = None  # G (3, n, n)
    second_order_rotation: Array | None = None  # H (3, n, n)

    def __post_init__(self) -> None:
        _as_arrays(self, "interface")
        if self.axes is None:
            object.__setattr__(self, "axes", np.eye(3))


@user_facing
@readable
@dataclass(frozen=True, eq=False)
class Invariants:
    """Integrals over the mass of a body, in the letters of the module; a, b are components, k, l, m, p modes.

    >>> Invariants(2.0, np.zeros(3), np.eye(3), np.zeros((3, 1)), modes=np.ones((3, 3, 1, 1))).mass
    2.0
    """

    mass: float
    first: Array  # int x^a
    second: Array  # int x^a x^b
    mode_first: Array  # int Phi^a_k
    mode_second_order: Array | None = None  # int G^a_kl
    cross: Array | None = None  # int x^a Phi^b_k
    cross_second_order: Array | None = None  # int x^a G^b_kl
    modes: Array | None = None  # int Phi^a_k Phi^b_l
    modes_second_order: Array | None = None  # int Phi^a_k G^b_lm
    second_orders: Array | None = None  # int G_kl . G_mp

    def __post_init__(self) -> None:
        _as_arrays(self, "invariants", numbers=("mass",))


@user_facing
@readable
@dataclass(frozen=True, eq=False)
class LumpedNodes:
    """Nodes with mass and inertia about themselves, each of which moves like a rigid body (Jain's M_fl).

    >>> LumpedNodes([1.0], np.zeros((1, 3, 3)), np.zeros((1, 3)), np.ones((1, 3, 2)), np.zeros((1, 3, 2))).mass
    array([1.])
    """

    mass: Array  # (N,)
    inertia: Array  # (N, 3, 3) about the node, in body axes
    position: Array  # (N, 3)
    translation: Array  # (N, 3, n)
    rotation: Array  # (N, 3, n)
    second_order: Array | None = None  # (N, 3, n, n)

    def __post_init__(self) -> None:
        _as_arrays(self, "lumped nodes")


@user_facing
@readable
@dataclass(frozen=True, eq=False)
class Stations:
    """Where a body is drawn, and where section forces and stresses are known.

    `section_forces` (S, 6, n) are those of unit modes: normal force, two shear forces, torque and two bending moments
    in the section's axes, which are the body's unless `axes` are given. `second_order` and `second_order_rotation` are
    those of an `Interface`, for all stations.

    A body is drawn as a beam through its stations if `outline` (S, K, 2) gives the corners of its sections along their
    y and z axes, as a surface if `triangles` (T, 3) number stations, and else as a cloud of its stations.

    `stress` (P, 6, n) holds the stresses xx, yy, zz, xy, yz, zx of unit modes, in body axes, at `stress_positions`.

    >>> Stations(np.zeros((2, 3)), np.zeros((2, 3, 4)), np.zeros((2, 3, 4))).positions.shape
    (2, 3)
    """

    positions: Array  # (S, 3)
    translation: Array  # (S, 3, n)
    rotation: Array  # (S, 3, n)
    section_forces: Array | None = None  # (S, 6, n)
    axes: Array | None = None  # (S, 3, 3), the beam along the first column
    second_order: Array | None = None  # (S, 3, n, n)
    second_order_rotation: Array | None = None  # (S, 3, n, n)
    outline: Array | None = None  # (S, K, 2)
    triangles: Array | None = None  # (T, 3)
    stress_positions: Array | None = None  # (P, 3)
    stress: Array | None = None  # (P, 6, n)

    def __post_init__(self) -> None:
        _as_arrays(self, "stations")


@user_facing
@readable
@dataclass(frozen=True, eq=False)
class GeometricStiffness:
    """Load-dependent stiffness, as a file of standard input data gives it: matrices (n, n) for unit loads.

    `acceleration` (3, n, n) is for a unit acceleration of the body frame along x, y, z, `angular_acceleration`
    (3, n, n) likewise, and `angular_velocity` (6, n, n) for unit products w_x^2, w_y^2, w_z^2, w_x w_y, w_y w_z,
    w_z w_x. Symmetric matrices are integrals of second-order displacements, and are used as these
    (`modal_inertia.with_geometric_stiffness`). What is not symmetric in them is used as given, as a force that has no
    energy: certificates then say that energy is no check.

    >>> GeometricStiffness(angular_velocity=np.zeros((6, 2, 2))).acceleration is None
    True
    """

    acceleration: Array | None = None
    angular_acceleration: Array | None = None
    angular_velocity: Array | None = None

    def __post_init__(self) -> None:
        _as_arrays(self, "geometric stiffness")


def _as_arrays(data: Any, what: str, numbers: tuple[str, ...] = ()) -> None:
    """Turn the fields into arrays of finite numbers."""
    for each in fields(data):
        given = getattr(data, each.name)
        if given is None:
            continue
        try:
            read = np.array(given, dtype=float)
        except Exception:  # whatever it raises, it is no array
            raise ModelError(f"{what}: {each.name} must be an array of numbers") from None
        if not np.isfinite(read).all():
            raise ModelError(f"{what}: {each.name} has entries that are not finite")
        object.__setattr__(data, each.name, float(read) if each.name in numbers and read.shape == () else read)
