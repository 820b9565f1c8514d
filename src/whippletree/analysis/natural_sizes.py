"""Numbers of natural coordinates and equations, as Garcia de Jalon and Bayo count them: in space, and in a plane.

In a plane points have two coordinates. Axes of hinges are normal to it and constant, and what was added for a body to
span space falls away; a body with p points is rigid by 2 p - 3 distances. Mixed coordinates have the joints' beside,
with an equation for each.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.errors import StateError
from whippletree.formulations.natural.natural_equations import closing_equations, walk_model
from whippletree.formulations.natural.natural_model import NaturalElement
from whippletree.formulations.natural.opened_chains import OpenChains, chain_opening
from whippletree.kernels.kernel import Array
from whippletree.system import System

__all__ = ["OpenedSize", "PlaneSize", "element_pairs", "opened_size", "plane_distances", "plane_size"]


class PlaneSize(NamedTuple):
    """Points that move, coordinates and equations; those of mixed coordinates; those with a point for each body."""

    points: int
    natural: tuple[int, int]
    mixed: tuple[int, int]
    reference_point: int


def plane_size(system: System) -> PlaneSize:
    """Return the sizes of a tree that moves in the xy plane and whose bodies have two points or more.

    >>> from whippletree.analysis.models import two_arms
    >>> plane_size(two_arms().build())
    PlaneSize(points=9, natural=(18, 9), mixed=(27, 18), reference_point=21)
    """
    moving = [one for one in _points(system) if not one.fixed]
    equations = sum(len(pairs) for pairs in plane_distances(system).values())
    n, z = 2 * len(moving), system.nv
    return PlaneSize(len(moving), (n, equations), (n + z, equations + z), 3 * len(system.natural.model.bodies))


def plane_distances(system: System) -> dict[str, list[tuple[str, str]]]:
    """Return the distances that keep each body rigid in the plane, by the names of their points: 2 p - 3 of them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for k, body in enumerate(system.natural.model.bodies):
        points = [one for one in _points(system) if k in one.places]
        if len(points) < 2:
            raise StateError(f'body "{body.name}" has one point only: in a plane it would need a vector')
        first, second, *others = (one.name for one in points)
        pairs = [(first, second), *itertools.chain(*(((first, name), (second, name)) for name in others))]
        fixed = {one.name for one in points if one.fixed}
        found[body.name] = [pair for pair in pairs if not set(pair) <= fixed]
    return found


def _points(system: System) -> list[NaturalElement]:
    """Return the points, but for those that a floating base has for its joint alone, as r_0 in example 8.1."""
    floating = [joint.name for joint in system.natural.model.joints if joint.joint.kind == "planar"]
    own = {f"{name} on {body.name}" for name in floating for body in system.natural.model.bodies}
    return [one for one in system.natural.model.elements if one.is_point and one.name not in own]


class OpenedSize(NamedTuple):
    """Formulation A of a mechanism with loops: bodies left out, joints cut, velocities, and conditions that close."""

    removed: int
    cut: int
    relative: int
    own: int
    conditions: int


def opened_size(system: System) -> OpenedSize:
    """Return how formulation A opens a mechanism; `own` are coordinates of elements that only removed bodies have.

    >>> from whippletree.analysis.models import bricard
    >>> opened_size(bricard().build())
    OpenedSize(removed=1, cut=0, relative=4, own=0, conditions=4)
    """
    eq = system.kernels.equations
    x = {name: ca.SX.sym(name, size) for name, size in (("q", system.nq), ("v", system.nv))}
    walk, closure_set = eq.walk(x), eq.closure_set(x, kept=False)
    opening = chain_opening(walk, closure_set)
    model = walk_model(walk, closure_set, opening)
    chains = OpenChains(walk, closure_set, model, opening)
    conditions = closing_equations(walk, closure_set, model, chains.motion, opening).rows
    own = 3 * sum(home is None for home in chains.homes)
    return OpenedSize(len(opening.removed), len(opening.cut), chains.size - own, own, len(conditions))


def element_pairs(system: System) -> tuple[int, int]:
    """Return pairs of a point, and of a vector, of a body with a joint on the body's way, body by body.

    Elements that bodies share count in each: the book works out R element by element. A floating base does not count.

    >>> from whippletree.analysis.models import serial_chain
    >>> element_pairs(serial_chain(1).build())
    (1, 3)
    """
    depth: list[int] = []
    for constants in system.kernels.equations.node_tree().node_constants:
        above = 0 if constants.parent < 0 else depth[constants.parent]
        depth.append(above + (constants.use.joint.kind != "free"))
    count: Array = np.zeros(2)
    for k, joints in enumerate(depth):
        for one in system.natural.model.elements:
            if k in one.places:
                count[0 if one.is_point else 1] += joints
    return int(count[0]), int(count[1])
