"""The checks of a body with own coordinates when it is described: its type is evaluated at a plain state."""

from __future__ import annotations

import casadi as ca
import numpy as np

from whippletree.elements.bodies import BodyKind
from whippletree.elements.element_tolerances import SYMMETRIC
from whippletree.errors import ModelError
from whippletree.foundation.arrays import Array
from whippletree.model.fields import checked
from whippletree.model.parameters import Parameters
from whippletree.spatial.scalars import shown

__all__ = ["checked_kind"]


def checked_kind(kind: BodyKind, parameters: Parameters) -> BodyKind:
    """Return a body kind whose numbers are read and whose mass matrix and forces are sound at its neutral state."""
    kind = checked(kind, parameters)
    _check_names(kind)
    values = parameters.values_of(kind.entries(), "a number of the body kind")
    here = type(kind).of(kind.text, tuple(values))
    eta = ca.SX(ca.DM(here.neutral()))
    for frame in here.frames:
        _check_pose(here, frame, eta)
    _check_inertia(_numbers(here.mass_matrix(eta), (6 + kind.n_own,) * 2, "mass_matrix(eta)"))
    force = kind.internal_force()
    if force is not None and force.state_labels:
        raise ModelError("an internal force cannot have states of its own: describe it as a force on the coordinates")
    return kind


def _check_names(kind: BodyKind) -> None:
    if len(kind.rate_labels) != len(kind.labels):
        raise ModelError("a body kind needs a label for each own coordinate and its rate, and at least one")
    for name in kind.frames:
        if not isinstance(name, str) or not name or kind.frames.count(name) > 1:
            raise ModelError(f"the moving frames need names that differ, got {shown(kind.frames)}")


def _check_pose(kind: BodyKind, frame: str, eta: ca.SX) -> None:
    what = f'the pose of moving frame "{frame}"'
    axes, origin = kind.pose(frame, eta)
    R = _numbers(axes, (3, 3), what)
    _numbers(origin, (3, 1), what)
    if np.abs(R.T @ R - np.eye(3)).max() > SYMMETRIC or np.linalg.det(R) < 0:
        raise ModelError(f"{what} has axes that are no rotation")


def _check_inertia(M: Array) -> None:
    """Refuse an inertia that no body has: not symmetric, indefinite, or whose frame is not that of a rigid body."""
    size = np.abs(M).max(initial=1e-300)
    m, h = M[3, 3], np.array([M[2, 4], M[0, 5], M[1, 3]])
    skew = np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
    rigid = max(np.abs(M[3:6, 3:6] - m * np.eye(3)).max(), np.abs(M[0:3, 3:6] - skew).max())
    if np.abs(M - M.T).max() > SYMMETRIC * size:
        raise ModelError("mass_matrix(eta) is not symmetric")
    if rigid > SYMMETRIC * size:
        raise ModelError("mass_matrix(eta) must be on [w; u; eta'], with the mass and first moment of a body in it")
    if np.linalg.eigvalsh(M)[0] < -SYMMETRIC * size:
        raise ModelError("mass_matrix(eta) has a motion with negative kinetic energy")


def _numbers(value: ca.SX, shape: tuple[int, int], what: str) -> Array:
    """Return a result of a kind as finite numbers of the wanted shape."""
    try:
        found = ca.SX(value)
    except NotImplementedError:
        raise ModelError(f"{what} must be a CasADi matrix, got {shown(value)}") from None
    if found.shape != shape:
        raise ModelError(f"{what} must have the shape {shape}, but it is {found.shape}")
    if ca.symvar(found):
        raise ModelError(f"{what} depends on something that is no own coordinate and no parameter of the mechanism")
    numbers: Array = ca.DM(found).full()
    if not np.isfinite(numbers).all():
        raise ModelError(f"{what} is not finite at the neutral own coordinates")
    return numbers
