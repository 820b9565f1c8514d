"""Reading the data of a flexible body: arrays checked for shape and for physical sense, with errors by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whippletree.elements.bodies.array_store import SparseArray
from whippletree.elements.bodies.flexible_data import (
    GeometricStiffness,
    Interface,
    Invariants,
    LumpedNodes,
    Stations,
)
from whippletree.elements.bodies.modal_inertia import (
    SKEW_STIFFNESS,
    inertia_terms,
    node_terms,
    skew_stiffness,
    tidy_zeros,
    with_geometric_stiffness,
)
from whippletree.errors import ModelError
from whippletree.foundation.arrays import Array
from whippletree.spatial.scalars import shown

__all__ = [
    "bends",
    "inertia_arrays",
    "interface_arrays",
    "modal_matrix",
    "mode_names",
    "station_arrays",
    "without_products",
]


_SYMMETRIC = 1e-9
"""Relative tolerance of the symmetry and definiteness of matrices, and of rotations."""


def inertia_arrays(
    inertia: Invariants | LumpedNodes, stiffness: GeometricStiffness | None, n: int
) -> dict[str, Array | SparseArray]:
    """Return the arrays of a body's inertia."""
    nodes: dict[str, Array] = {}
    if isinstance(inertia, LumpedNodes):
        _check_nodes(inertia, n)
        inertia, nodes = node_terms(inertia)
    _check_invariants(inertia, n)
    if stiffness is None:
        return inertia_terms(inertia) | nodes
    inertia, skew = with_geometric_stiffness(inertia, _checked_stiffness(stiffness, n)), skew_stiffness(stiffness, n)
    return inertia_terms(inertia) | nodes | ({} if skew is None else {SKEW_STIFFNESS: skew})


def bends(inertia: Invariants | LumpedNodes) -> bool:
    """Tell whether second-order displacements are given."""
    given = (inertia.second_order,) if isinstance(inertia, LumpedNodes) else (inertia.cross_second_order,)
    return any(each is not None and bool(np.any(each)) for each in given)


def without_products(inertia: Invariants | LumpedNodes) -> bool:
    """Tell whether products of second-order displacements with modes are left out of integrals."""
    return isinstance(inertia, Invariants) and inertia.modes_second_order is None


def _checked_stiffness(given: GeometricStiffness, n: int) -> GeometricStiffness:
    shapes = {"acceleration": (3, n, n), "angular_acceleration": (3, n, n), "angular_velocity": (6, n, n)}
    for name, shape in shapes.items():
        _shaped(f"geometric stiffness: {name}", getattr(given, name), shape)
    return given


def _check_nodes(nodes: LumpedNodes, n: int) -> None:
    N = nodes.mass.shape[0] if nodes.mass.ndim == 1 else 0
    shapes = {"mass": (N,), "inertia": (N, 3, 3), "position": (N, 3), "translation": (N, 3, n), "rotation": (N, 3, n)}
    for name, shape in (shapes | {"second_order": (N, 3, n, n)}).items():
        _shaped(f"lumped nodes: {name}", getattr(nodes, name), shape)
    _symmetric_in_modes("lumped nodes: second_order", nodes.second_order)


def _check_invariants(found: Invariants, n: int) -> None:
    shapes = {
        "first": (3,),
        "second": (3, 3),
        "mode_first": (3, n),
        "mode_second_order": (3, n, n),
        "cross": (3, 3, n),
        "cross_second_order": (3, 3, n, n),
        "modes": (3, 3, n, n),
        "modes_second_order": (3, 3, n, n, n),
        "second_orders": (n, n, n, n),
    }
    for name, shape in shapes.items():
        _shaped(f"invariants: {name}", getattr(found, name), shape)
    if not isinstance(found.mass, float) or found.mass <= 0:
        raise ModelError(f"mass must be positive, got {shown(found.mass)}")


def interface_arrays(name: str, given: Interface, scales: Array) -> dict[str, Array]:
    """Return the arrays of an interface, for modal coordinates of these scales."""
    n = len(scales)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ModelError(f"an interface needs a name that can be printed, got {shown(name)}")
    if not isinstance(given, Interface):
        raise ModelError(f'interface "{name}" must be an Interface, got {shown(given)}')
    shapes = {
        "position": (3,),
        "axes": (3, 3),
        "translation": (3, n),
        "rotation": (3, n),
        "second_order": (3, n, n),
        "second_order_rotation": (3, n, n),
    }
    found = {}
    for each, shape in shapes.items():
        read = _shaped(f'interface "{name}": {each}', getattr(given, each), shape)
        if each.startswith("second"):
            read = _symmetric_in_modes(f'interface "{name}": {each}', read)
        found[f"{name} {each.replace('_', ' ')}"] = np.zeros(shape) if read is None else read
    for each in ("translation", "rotation", "second order", "second order rotation"):
        table = found[f"{name} {each}"] = found[f"{name} {each}"].copy()
        tidy_zeros(table, np.ones(3), *[scales] * (table.ndim - 1))
    axes = found[f"{name} axes"]
    if np.abs(axes.T @ axes - np.eye(3)).max() > _SYMMETRIC or np.linalg.det(axes) < 0:
        raise ModelError(f'interface "{name}": axes are no rotation')
    return found


def station_arrays(stations: Stations, n: int) -> dict[str, Array]:
    """Return the arrays of the stations."""
    S = stations.positions.shape[0] if stations.positions.ndim else 0
    shapes: dict[str, tuple[int, ...]] = {"positions": (S, 3), "translation": (S, 3, n), "rotation": (S, 3, n)}
    shapes |= {"section_forces": (S, 6, n), "axes": (S, 3, 3)}
    shapes |= dict.fromkeys(("second_order", "second_order_rotation"), (S, 3, n, n))
    shapes |= {"outline": (S, _length(stations.outline, 1), 2), "triangles": (_length(stations.triangles, 0), 3)}
    P = _length(stations.stress_positions, 0)
    shapes |= {"stress_positions": (P, 3), "stress": (P, 6, n)}
    found = {name: _shaped(f"stations: {name}", getattr(stations, name), shape) for name, shape in shapes.items()}
    for name in ("second_order", "second_order_rotation"):
        found[name] = _symmetric_in_modes(f"stations: {name}", found[name])
    corners = found["triangles"]
    if corners is not None and not (np.all(corners == np.floor(corners)) and np.all((corners >= 0) & (corners < S))):
        raise ModelError(f"stations: triangles must be numbers of stations, from 0 to {S - 1}")
    if (found["stress"] is None) != (found["stress_positions"] is None):
        raise ModelError("stations: stress needs stress_positions, where it is known, and these need it")
    return {name: array for name, array in found.items() if array is not None}


def _length(given: Array | None, axis: int) -> int:
    return given.shape[axis] if given is not None and given.ndim > axis else 0


def _shaped(what: str, given: Array | None, shape: tuple[int, ...]) -> Array | None:
    if given is not None and given.shape != shape:
        raise ModelError(f"{what} must have the shape {shape}, but it is {given.shape}")
    return given


def _symmetric_in_modes(what: str, given: Array | None) -> Array | None:
    """Return second-order displacements; they are those of 1/2 eta^T G eta, in which only the symmetric part counts."""
    if given is None:
        return None
    across = given.swapaxes(-1, -2)
    if np.abs(given - across).max(initial=0.0) > _SYMMETRIC * np.abs(given).max(initial=0.0):
        raise ModelError(f"{what} must be symmetric in its modes, the last two dimensions")
    return given if np.array_equal(given, across) else (given + across) / 2


def modal_matrix(what: str, given: object, n: int | None = None) -> Array:
    """Return a symmetric matrix that stores or loses no negative energy.

    >>> modal_matrix("stiffness", [[2, 0], [0, 3]]).shape
    (2, 2)
    """
    try:
        read = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be a matrix of numbers") from None
    if read.ndim != 2 or read.shape[0] != read.shape[1] or (n is not None and read.shape[0] != n):
        wanted = "square" if n is None else f"of shape {(n, n)}, one row for each mode"
        raise ModelError(f"{what} must be {wanted}, but its shape is {read.shape}")
    if not np.isfinite(read).all():
        raise ModelError(f"{what} has entries that are not finite")
    size = np.abs(read).max(initial=0.0)
    if np.abs(read - read.T).max(initial=0.0) > _SYMMETRIC * size:
        raise ModelError(f"{what} is not symmetric")
    if read.size and np.linalg.eigvalsh(read)[0] < -_SYMMETRIC * size:
        raise ModelError(f"{what} is indefinite: a deformation would gain energy")
    return np.asarray((read + read.T) / 2)


def mode_names(given: Sequence[str] | None, n: int) -> list[str]:
    """Return the names of the modal coordinates.

    >>> mode_names(None, 2)
    ['modal coordinate 1', 'modal coordinate 2']
    """
    names = [f"modal coordinate {k + 1}" for k in range(n)] if given is None else [str(name) for name in given]
    if len(names) != n:
        raise ModelError(f"{n} modes need {n} names, got {len(names)}")
    return names
