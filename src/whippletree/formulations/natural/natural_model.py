"""The natural model of a mechanism: its points and unit vectors, made from its joints (Garcia de Jalon and Bayo).

Bodies share points and unit vectors at their joints: a revolute joint its point and the vector along its axis, a ball
its point. What cannot be shared is a condition. A body is known by four of its elements, of which at least one is a
point. With their places in the body's axes as columns of

    E = [ rho_1 ... u_1 ... ]          [ r_1 ... u_1 ... ] = [ A  r_0 ] E,      W = E^-1
        [   1   ...  0  ... ]

the body's axes A and origin r_0 are linear in its natural coordinates, [ A r_0 ] = x W, and so is every point of it:
r = x w with w = W [rho; 1]. So its mass matrix is constant, a 4 x 4 matrix times I_3,

    M = W P W^T,          P = int [rho; 1] [rho; 1]^T dm

and there are no centrifugal forces. With two points i, j and two vectors u, v this is the M of a = X^-1 J X^-T and
b = X^-1 m r_G in the book, X = [r_j - r_i | u | v]; one point and three vectors, or more points, are the same text.

Conditions: the six products of the three directions between a body's four elements are constant (unit length of a
vector that bodies share is said once); elements beyond the four follow linearly; and what a joint holds beyond what it
shares (`RULES`). All are at most quadratic in the coordinates, but for those of joints of other types.

A body's bodies are the nodes of the walk: what is welded together is one. Node -1 is the ground, whose points and
vectors are fixed.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

from whippletree.elements.joints import Joint
from whippletree.errors import StateError
from whippletree.formulations.nodes.frame_states import NodeFrame
from whippletree.spatial import RigidInertia, cross

__all__ = [
    "RULES",
    "Direction",
    "NaturalBody",
    "NaturalElement",
    "NaturalJoint",
    "NaturalModel",
    "ProductCondition",
    "SharingRule",
    "make_natural_model",
    "turned_efforts",
]

GROUND = -1

NamedPoint = tuple[str, ca.SX]

_SAME = 1e-9
"""Places of two elements in a body that differ by less, relative to its size, are one element."""

_VOLUME = 0.1
"""The volume that three directions of unit length span: with less, a body gets another vector."""

_AREA = 0.3
"""The area that two directions of unit length span: with less, they do not count as two."""

_ROUNDING = 1e-14
"""Entries of constant matrices below this share of the largest are zeros that rounding has missed."""


class SharingRule(NamedTuple):
    """How a joint type is described: the elements that its bodies share, those that each adds, and its conditions.

    Words are "point" (the origin of the joint's frame), "x" and "z" (its axes), and those of `Joint.holds`. What each
    side brings is (0, word) for the described parent and (1, word) for the child.
    """

    shared: tuple[str, ...] = ()
    own: tuple[tuple[int, str], ...] = ()
    conditions: tuple[str, ...] | None = None  # None: all that the joint holds


_POINTS = ((0, "point"), (1, "point"))

RULES: dict[str, SharingRule] = {
    "revolute": SharingRule(("point", "z"), (), ()),
    "spherical": SharingRule(("point",), (), ()),
    "spherical_bryant": SharingRule(("point",), (), ()),
    "spherical_euler": SharingRule(("point",), (), ()),
    "universal": SharingRule(("point",), ((0, "x"), (1, "z")), ("cross",)),
    "prismatic": SharingRule(("z", "x"), _POINTS, ("along x", "along y")),
    "cylindrical": SharingRule(("z",), _POINTS, ("along x", "along y")),
    "planar": SharingRule(("z",), _POINTS, ("along z",)),
    "screw": SharingRule(("z",), _POINTS, ("along x", "along y", "lead")),
    "fixed": SharingRule(("point", "z", "x"), (), ()),
    "free": SharingRule((), (), ()),
    "free_bryant": SharingRule((), (), ()),
    "free_euler": SharingRule((), (), ()),
}
"""Shared elements by type of joint; other types share nothing, and are held by conditions alone."""

_CONDITIONS_ONLY = SharingRule()


@dataclass(frozen=True)
class NaturalJoint:
    """A joint between two bodies: its frame on the described parent, then that on the child.

    Where it does not `share`, all that it holds is conditions: loops are cut there. `armature` is the inertia (nv) of
    its own rates, if they have any.
    """

    name: str
    joint: Joint
    frames: tuple[NodeFrame, NodeFrame]
    shares: bool = True
    armature: ca.SX | None = None

    @property
    def rule(self) -> SharingRule:
        """How it is described in natural coordinates."""
        return RULES.get(self.joint.kind, _CONDITIONS_ONLY) if self.shares else _CONDITIONS_ONLY

    @property
    def conditions(self) -> tuple[str, ...] | None:
        """Its constraints beyond shared elements, in the words of `Joint.holds`; None if the type states nothing."""
        rule = self.rule
        return self.joint.holds if rule.conditions is None else rule.conditions

    def place(self, side: int, word: str) -> ca.SX:
        """Return a point or vector of one of its frames, in that body's axes."""
        frame = self.frames[side]
        return frame.point if word == "point" else frame.rotation[:, "xyz".index(word)]


@dataclass(eq=False)
class NaturalElement:
    """A point or unit vector, with its places (3) in the axes of the bodies that have it."""

    name: str
    kind: str  # "point" or "vector"
    places: dict[int, ca.SX]
    index: int = -1
    numbers: dict[int, npt.NDArray[np.float64]] = field(default_factory=dict, repr=False)  # places, to decide by

    @property
    def fixed(self) -> bool:
        """Whether it is on the ground."""
        return GROUND in self.places

    @property
    def is_point(self) -> bool:
        """Whether it is a point."""
        return self.kind == "point"


class Direction(NamedTuple):
    """A direction of a body: a vector, or the way from one point to another; elements with their signs."""

    terms: tuple[tuple[int, float], ...]

    @staticmethod
    def between(element: NaturalElement, base: NaturalElement) -> Direction:
        """Return a vector itself, or the way to a point from the base."""
        if not element.is_point:
            return Direction(((element.index, 1.0),))
        return Direction(((element.index, 1.0), (base.index, -1.0)))

    @property
    def key(self) -> tuple[int, ...]:
        """A key that is the same for a direction and its opposite."""
        return tuple(sorted(index for index, _ in self.terms))

    def of(self, x: Sequence[ca.SX] | Mapping[int, ca.SX]) -> ca.SX:
        """Return the direction, of the places or velocities of all elements."""
        total = ca.SX.zeros(3)
        for index, sign in self.terms:
            total = total + sign * x[index]
        return total


class ProductCondition(NamedTuple):
    """The product of two directions of a body is constant: a length, an angle."""

    name: str
    body: int
    first: Direction
    second: Direction
    value: ca.SX


class LinearCondition(NamedTuple):
    """An element of a body beyond its basis: its place follows from the basis with these weights (4)."""

    name: str
    body: int
    element: int
    weights: ca.SX


@dataclass(frozen=True)
class NaturalBody:
    """A body by its basis: four elements, W (4, 4), and its constant mass matrix M (4, 4), to be read times I_3."""

    name: str
    basis: tuple[int, ...]
    W: ca.SX
    M: ca.SX

    def weights(self, point: ca.SX) -> ca.SX:
        """Return w (4): the point at these places in the body's axes is x w."""
        return self.W @ ca.vertcat(point, 1)


@dataclass(frozen=True)
class NaturalModel:
    """All elements, bodies and conditions of a mechanism."""

    elements: tuple[NaturalElement, ...]
    bodies: tuple[NaturalBody, ...]
    products: tuple[ProductCondition, ...]
    linear: tuple[LinearCondition, ...]
    joints: tuple[NaturalJoint, ...]
    relative: tuple[int, ...] = ()  # joints whose own coordinates are unknowns beside the elements
    turned: tuple[int, ...] = ()  # balls and free joints with armature: the child's pose in the parent is unknown

    @property
    def free(self) -> tuple[NaturalElement, ...]:
        """The elements that are not on the ground: three coordinates each."""
        return tuple(one for one in self.elements if not one.fixed)

    @property
    def n_coordinates(self) -> int:
        """The number of natural coordinates, those of joints included."""
        ends: list[int] = [where.stop for where in (*self.relative_places().values(), *self.turned_places().values())]
        return max(ends, default=3 * len(self.free))

    def places(self) -> dict[int, slice]:
        """Return where the coordinates of each free element are."""
        return {one.index: slice(3 * k, 3 * k + 3) for k, one in enumerate(self.free)}

    def relative_places(self) -> dict[int, slice]:
        """Return where the relative coordinates of joints are, behind those of the elements."""
        found, at = {}, 3 * len(self.free)
        for k in self.relative:
            found[k] = slice(at, at + self.joints[k].joint.nv)
            at = found[k].stop
        return found

    def turned_places(self) -> dict[int, slice]:
        """Return where poses of children in their parents are: axes one by one, and the origin behind a free joint."""
        found, at = {}, 3 * len(self.free) + sum(self.joints[k].joint.nv for k in self.relative)
        for k in self.turned:
            found[k] = slice(at, at + (9 if self.joints[k].joint.nv == 3 else 12))
            at = found[k].stop
        return found

    def armature(self) -> dict[int, ca.SX]:
        """Return the inertias of joints' own rates, by the places of their coordinates."""
        found: dict[int, ca.SX] = {}
        for k, where in self.relative_places().items():
            own = self.joints[k].armature
            found |= {} if own is None else {where.start + i: own[i] for i in range(own.numel())}
        for k, where in self.turned_places().items():
            masses = _turned_masses(self.joints[k].armature)
            found |= dict(zip(range(where.start, where.stop), masses, strict=False))
        return found

    @property
    def pushed_by_armature(self) -> bool:
        """Whether some armature comes with efforts that follow from velocities (`turned_efforts`)."""
        return any(
            not turned_efforts(joint.armature, ca.SX.sym("v", joint.joint.nv)).is_zero()
            for joint in (self.joints[k] for k in self.turned)
        )

    def home(self, element: NaturalElement) -> int:
        """Return the body that says where an element is: the ground, or the first one."""
        return min(element.places)  # not empty: an element is on at least one body


def _turned_masses(a: ca.SX | None) -> list[ca.SX]:
    """Return the masses of the child's axes in the parent, three for each, and of its origin (`turned_efforts`)."""
    assert a is not None
    half = (a[0] + a[1] + a[2]) / 2
    return [half - a[j] for j in range(3) for _ in range(3)] + 3 * [a[-1]]


def turned_efforts(a: ca.SX | None, v: ca.SX) -> ca.SX:
    """Return the efforts (nv) by which armature a of a ball or a free joint is less than constant masses make of it.

    The axes e_j of the child in the parent, with masses p_j = (a_1 + a_2 + a_3) / 2 - a_j, are a body without weight or
    place that turns as the child does in the parent: from e_j' = w x e_j, in the child's axes, follows

        sum p_j e_j'^2 = sum p_j (w^2 - w_j^2) = sum a_j w_j^2

    A body's equations have w x a w beside a w', which armature has not, and a mass a at the child's origin has a w x u
    beside a u'. Neither does any work.

    >>> turned_efforts(ca.SX([1, 1, 1]), ca.SX.sym("w", 3)).is_zero()
    True
    """
    assert a is not None
    w = v[0:3]
    turning = ca.vertcat((a[2] - a[1]) * w[1] * w[2], (a[0] - a[2]) * w[2] * w[0], (a[1] - a[0]) * w[0] * w[1])
    return ca.SX(ca.vertcat(turning, *([a[3] * cross(w, v[3:6])] if v.numel() == 6 else [])))


@dataclass(eq=False)
class _ModelMaking:
    """A model in the making: elements by body."""

    n_bodies: int
    names: Sequence[str]
    stand_in: Mapping[str, float]
    apart: Collection[int] = ()
    elements: list[NaturalElement] = field(default_factory=list)

    def number(self, column: ca.SX) -> npt.NDArray[np.float64]:
        """Return numbers to decide by; for parameters stand values of about one."""
        symbols = ca.symvar(column)
        if symbols:
            values = [self.stand_in.get(s.name(), 0.5 + 0.618 * (k + 1) % 1.0) for k, s in enumerate(symbols)]
            column = ca.substitute(column, ca.vertcat(*symbols), ca.DM(values))
        return np.array(ca.evalf(ca.densify(column))).ravel()

    def placed(self, one: NaturalElement, body: int) -> npt.NDArray[np.float64]:
        """Return the place of an element in a body in numbers to decide by."""
        if body not in one.numbers:
            one.numbers[body] = self.number(one.places[body])
        return one.numbers[body]

    def of_body(self, body: int) -> list[NaturalElement]:
        return [one for one in self.elements if body in one.places]

    def add(self, name: str, word: str, places: Mapping[int, ca.SX]) -> None:
        """Add an element, unless its bodies have it already."""
        new = NaturalElement(name, "point" if word == "point" else "vector", dict(places))
        while True:
            twin = next(self._twins(new), None)
            if twin is None:
                break
            old, sign = twin
            self.elements.remove(old)
            kept = {body: place for body, place in new.places.items() if body not in old.places}
            new = NaturalElement(old.name, old.kind, old.places | {body: sign * place for body, place in kept.items()})
        self.elements.append(new)

    def _twins(self, new: NaturalElement) -> Iterator[tuple[NaturalElement, float]]:
        """Find elements that are the same on a body they have in common, vectors but for their sign."""
        for old in self.elements:
            both = [body for body in new.places if body in old.places and body not in self.apart]
            if old.kind != new.kind or not both:
                continue
            for sign in (1.0,) if new.is_point else (1.0, -1.0):
                if all(self._same(old, new, sign, body) for body in both):
                    yield old, sign

    def _same(self, old: NaturalElement, new: NaturalElement, sign: float, body: int) -> bool:
        """Return True if two elements are the same in a body but for a sign, whatever the parameters are."""
        ours, theirs = old.places[body], new.places[body]
        if ours.is_constant() and theirs.is_constant():
            gap = self.placed(old, body) - sign * self.placed(new, body)
        else:
            between = ours - sign * theirs
            if ca.symvar(between) and not ca.simplify(between).is_zero():
                return False
            gap = self.number(between)
        return bool(np.abs(gap).max() <= _SAME * self._size(body))

    def _size(self, body: int) -> float:
        places = [self.placed(one, body) for one in self.of_body(body) if one.is_point]
        return max((float(np.abs(place).max()) for place in places), default=0.0) + 1e-3


def make_natural_model(
    names: Sequence[str],
    inertias: Sequence[RigidInertia],
    joints: Sequence[NaturalJoint],
    frames: Sequence[tuple[str, NodeFrame]] = (),
    values: Mapping[str, float] | None = None,
    apart: Collection[int] = (),
) -> NaturalModel:
    """Return the model of bodies and joints.

    `frames` are named frames, whose origins become points where a body needs one more element; `values` are numbers of
    parameters to decide by. What is decided is only which elements there are. Of bodies that are `apart` no two
    elements are made one, since their neighbours move without each other; conditions that others have, too, are the
    others'.
    """
    made = _ModelMaking(len(names), names, values or {}, apart)
    for joint in joints:
        parent, child = (frame.node for frame in joint.frames)
        for word in joint.rule.shared:
            label = joint.name if word == "point" else f"{joint.name} {'axis' if word == 'z' else word}"
            made.add(label, word, {parent: joint.place(0, word), child: joint.place(1, word)})
        for side, word in joint.rule.own:
            body = joint.frames[side].node
            of = "ground" if body == GROUND else names[body]
            label = f"{joint.name} on {of}" if word == "point" else f"{joint.name} {word} of {of}"
            made.add(label, word, {body: joint.place(side, word)})
    bases = [_basis(made, k, [(name, f.point) for name, f in frames if f.node == k]) for k in range(len(names))]
    for index, element in enumerate(made.elements):
        element.index = index
    bodies = tuple(_body(made, k, basis, inertias[k]) for k, basis in enumerate(bases))
    elements = tuple(made.elements)
    order = sorted(range(len(bodies)), key=lambda k: k in apart)
    products = _products(elements, bodies, names, order)
    return NaturalModel(elements, bodies, products, _linear(elements, bodies, names), tuple(joints))


def _basis(made: _ModelMaking, body: int, frames: Sequence[NamedPoint]) -> list[NaturalElement]:
    """Choose four elements of a body that tell its pose, the point first; add those that are lacking."""
    if not any(one.is_point for one in made.of_body(body)):
        made.add(f"{made.names[body]} origin", "point", {body: ca.SX.zeros(3)})
    while True:
        elements = made.of_body(body)
        base, others, volume = _best(made, body, elements)
        if volume >= _VOLUME:
            return [base, *others]
        _complete(made, body, base, others, frames)


def _ways(
    made: _ModelMaking, body: int, base: NaturalElement, some: Sequence[NaturalElement]
) -> npt.NDArray[np.float64]:
    """Return unit vectors (n, 3) to points from the base, and along vectors; zero for a point that is at the base."""
    start = made.placed(base, body)
    ways = [made.placed(one, body) - (start if one.is_point else 0) for one in some]
    sizes = [float(np.linalg.norm(way)) for way in ways]
    return np.array([way / size if size else way for way, size in zip(ways, sizes, strict=True)]).reshape(-1, 3)


def _best(
    made: _ModelMaking, body: int, elements: Sequence[NaturalElement]
) -> tuple[NaturalElement, list[NaturalElement], float]:
    """Return a base point and the up to three others that span most, and the volume that three of them span."""
    best: tuple[int, float, NaturalElement, list[NaturalElement]] | None = None
    for base in (one for one in elements if one.is_point):
        others = [one for one in elements if one is not base]
        ways = _ways(made, body, base, others)
        for size in (3, 2, 1, 0):
            if best is not None and size < best[0]:
                break
            for some in itertools.combinations(range(len(others)), size):
                span = ways[list(some)].reshape(-1, 3)
                measure = float(np.sqrt(max(np.linalg.det(span @ span.T), 0.0))) if size else 1.0
                enough = measure >= {3: _VOLUME, 2: _AREA}.get(size, _SAME)
                if enough and (best is None or (size, measure) > (best[0], best[1] + _SAME)):
                    best = (size, measure, base, [others[k] for k in some])
    assert best is not None
    return best[2], best[3], best[1] if best[0] == 3 else 0.0


def _complete(
    made: _ModelMaking,
    body: int,
    base: NaturalElement,
    others: Sequence[NaturalElement],
    frames: Sequence[tuple[str, ca.SX]],
) -> None:
    """Add one element to a body: a named frame well away from its other elements, or a vector normal to them."""
    ways = _ways(made, body, base, others)
    start = made.placed(base, body)
    for name, place in frames:
        way = made.number(place) - start
        rest = way - (np.linalg.pinv(ways) @ (ways @ way) if len(ways) else 0.0)
        if np.linalg.norm(rest) > max(_AREA * float(np.linalg.norm(way)), _SAME):
            made.add(name, "point", {body: place})
            return
    normal = _normal(ways)
    count = sum(one.name.startswith(f"{made.names[body]} vector") for one in made.elements)
    made.add(f"{made.names[body]} vector {count + 1}", "vector", {body: ca.SX(ca.DM(normal))})


def _normal(ways: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a unit vector normal to up to two directions: one of the body's axes, where one of them nearly is that."""
    if not len(ways):
        return np.array([1.0, 0.0, 0.0])
    axes = np.eye(3) - (np.linalg.pinv(ways) @ ways)
    found = axes[:, int(np.argmax(np.diag(axes) - 1e-6 * np.arange(3)))]
    found = np.where(np.abs(found) < _ROUNDING, 0.0, found)
    return np.asarray(found / np.linalg.norm(found))


def _body(made: _ModelMaking, body: int, basis: Sequence[NaturalElement], inertia: RigidInertia) -> NaturalBody:
    """Return a body with its constant matrices."""
    E = ca.SX(ca.horzcat(*(ca.vertcat(one.places[body], 1.0 if one.is_point else 0.0) for one in basis)))
    W = _tidy(ca.SX(ca.DM(np.linalg.inv(np.array(ca.evalf(E))))) if E.is_constant() else ca.inv(E))
    J = inertia.J
    second = 0.5 * (J[0, 0] + J[1, 1] + J[2, 2]) * ca.SX.eye(3) - J
    P = ca.blockcat([[second, inertia.h], [inertia.h.T, inertia.m]])
    M = _tidy(W @ P @ W.T)
    return NaturalBody(made.names[body], tuple(one.index for one in basis), W, (M + M.T) / 2)


def _tidy(matrix: ca.SX) -> ca.SX:
    """Return a matrix without the entries that rounding has left of zeros."""
    matrix = ca.densify(ca.SX(matrix))
    if not matrix.is_constant():
        return matrix
    values = np.array(ca.evalf(matrix))
    if not np.isfinite(values).all():
        raise StateError("natural coordinates need finite masses and lengths")
    return ca.SX(ca.DM(np.where(np.abs(values) <= _ROUNDING * np.abs(values).max(), 0.0, values)))


def _products(
    elements: Sequence[NaturalElement], bodies: Sequence[NaturalBody], names: Sequence[str], order: Sequence[int]
) -> tuple[ProductCondition, ...]:
    """Return the conditions of rigid bodies: six products for each, those that bodies share once, in an order."""
    found: dict[tuple[tuple[int, ...], ...], ProductCondition] = {}
    for k, body in ((k, bodies[k]) for k in order):
        base, *others = (elements[i] for i in body.basis)
        ways = [Direction.between(one, base) for one in others]
        local = {i: elements[i].places[k] for i in body.basis}
        for i, j in itertools.combinations_with_replacement(range(3), 2):
            first, second = ways[i], ways[j]
            key = tuple(sorted((first.key, second.key)))
            if key in found or all(elements[e].fixed for e, _ in (*first.terms, *second.terms)):
                continue
            name = f"{names[k]}: " + _product_name(elements, first, second)
            found[key] = ProductCondition(name, k, first, second, ca.dot(first.of(local), second.of(local)))
    return tuple(found.values())


def _product_name(elements: Sequence[NaturalElement], first: Direction, second: Direction) -> str:
    def word(way: Direction) -> str:
        return " from ".join(elements[i].name for i, _ in way.terms)

    return f"length of {word(first)}" if first == second else f"{word(first)} on {word(second)}"


def _linear(
    elements: Sequence[NaturalElement], bodies: Sequence[NaturalBody], names: Sequence[str]
) -> tuple[LinearCondition, ...]:
    """Return the elements of bodies beyond their basis."""
    found = []
    for k, body in enumerate(bodies):
        for one in elements:
            if k not in one.places or one.index in body.basis:
                continue
            if one.fixed and all(elements[i].fixed for i in body.basis):
                continue
            weights = _tidy(body.W @ ca.vertcat(one.places[k], 1.0 if one.is_point else 0.0))
            found.append(LinearCondition(f"{names[k]}: {one.name} in the body", k, one.index, weights))
    return tuple(found)
