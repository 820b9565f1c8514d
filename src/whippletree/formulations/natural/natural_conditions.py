"""The conditions Phi(x) = 0 between natural coordinates, and how they are differentiated.

Rigid bodies: D_k . D_l = const for the directions of a body; elements beyond its basis: x_e = x w. Joints: what they
hold beyond what they share, between frames whose axes are linear in the coordinates (`elements.closures.joint`).
Described closures between frames: their residual, likewise. So Phi is quadratic for all built-in joints but the screw,
and its Jacobian Phi_x linear. The expressions are small, and CasADi differentiates them.

Relative coordinates (the book's mixed coordinates): what depends on coordinates of joints, such as a gear, has these as
unknowns beside the elements. They are tied to them by H^T e = 0, with the joint map H and what the joint's sides miss,
e (`elements.closures.relative`): for an angle by both its sine and its cosine, c sin q - s cos q, which is at no angle
at an extremum, and for a displacement by its projection on the axis. A joint type that does not state what it holds has
e = 0 in full, and its coordinates are unknowns.

Balls and free joints with armature: the child's axes (and origin) in the parent are unknowns, which are products of
what both bodies have; the armature is their mass (`natural_model.turned_efforts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Closure, Side
from whippletree.elements.closures.joint import PARTS
from whippletree.elements.closures.relative import coordinate_gap
from whippletree.formulations.natural.element_opening import Opening
from whippletree.formulations.natural.natural_model import GROUND, NaturalJoint, NaturalModel
from whippletree.formulations.nodes.frame_states import NodeFrame
from whippletree.foundation.once import made_once
from whippletree.symbolic.arithmetic import entries

__all__ = ["TURNED", "ConditionValues", "HeldClosure", "NaturalConditions", "natural_conditions"]


TURNED = (*(f"{of} axis along {along}" for of in "xyz" for along in "xyz"), *(f"origin along {c}" for c in "xyz"))
"""What is unknown of a child that turns every way in its parent, and has armature there."""


class HeldClosure(NamedTuple):
    """A described closure with the frames that it holds, and the places in x of the joint coordinates it depends on."""

    name: str
    closure: Closure
    frames: tuple[NodeFrame, ...]
    coordinates: tuple[int, ...] = ()


class ConditionValues(NamedTuple):
    """The conditions at a state: residuals, their rates, rows by place in x, and Phi'' at zero accelerations."""

    phi: ca.SX
    rate: ca.SX
    rows: list[dict[int, ca.SX]]
    bias: ca.SX


@dataclass(frozen=True, eq=False)
class NaturalConditions:
    """Conditions over symbols x (n) and t: names, residuals Phi (m)."""

    names: tuple[str, ...]
    x: ca.SX
    t: ca.SX
    phi: ca.SX

    @made_once
    def jacobian(self) -> ca.SX:
        """Phi_x (m, n), sparse."""
        return ca.jacobian(self.phi, self.x)

    @made_once
    def _function(self) -> ca.Function:
        """Residuals, rates, the Jacobian's entries and the bias as a function of x, x' and t."""
        x, t = self.x, self.t
        v = ca.SX.sym("v", x.numel())
        rate = self.jacobian @ v + ca.jacobian(self.phi, t)
        bias = ca.jtimes(rate, x, v) + ca.jacobian(rate, t)
        parts = [ca.densify(part) for part in (self.phi, rate, bias)]
        entries = ca.SX(ca.vertcat(ca.SX(0, 1), self.jacobian.nz[:]))
        return ca.Function("conditions", [x, v, t, self._constants], [*parts, entries])

    @made_once
    def _constants(self) -> ca.SX:
        """The symbols of dimensions: parameters, and all constants where nothing is folded."""
        own = {symbol.element_hash() for symbol in ca.symvar(ca.vertcat(self.x, self.t))}
        return ca.SX(ca.vertcat(ca.SX(0, 1), *(one for one in ca.symvar(self.phi) if one.element_hash() not in own)))

    def at(self, x: ca.SX, v: ca.SX, t: ca.SX) -> ConditionValues:
        """Return the conditions at coordinates and velocities, which may be expressions."""
        phi, rate, bias, nonzeros = self._function(x, v, t, self._constants)
        rows: list[dict[int, ca.SX]] = [{} for _ in self.names]
        pattern = self.jacobian.sparsity()
        for i, j, value in zip(*pattern.get_triplet(), entries(nonzeros), strict=True):
            if not value.is_zero():
                rows[i][j] = value
        return ConditionValues(phi, rate, rows, bias)


def natural_conditions(
    model: NaturalModel, held: Sequence[HeldClosure] = (), opening: Opening | None = None
) -> NaturalConditions:
    """Return the conditions of a model, and those of described closures.

    With an opening those alone that close its loops: of the bodies that are removed, and of the joints that are not on
    its chains.
    """
    n = model.n_coordinates
    x, t = ca.SX.sym("x", n), ca.SX.sym("t")
    where = model.places()
    places = [one.places[GROUND] if one.fixed else x[where[one.index]] for one in model.elements]
    names: list[str] = []
    parts: list[ca.SX] = []
    for product in model.products:
        if opening is not None and product.body not in opening.removed:
            continue
        names.append(product.name)
        parts.append(ca.dot(product.first.of(places), product.second.of(places)) - product.value)
    for linear in model.linear:
        if opening is not None and linear.body not in opening.removed:
            continue
        names += [f"{linear.name}, {axis}" for axis in "xyz"]
        basis = model.bodies[linear.body].basis
        follows = sum((places[e] * linear.weights[k] for k, e in enumerate(basis)), ca.SX.zeros(3))
        parts.append(places[linear.element] - follows)
    for k, joint in enumerate(model.joints):
        if opening is not None and k in opening.held:
            continue
        for word in joint.conditions or ():
            part = PARTS[word]
            sides = tuple(frame_side(model, places, frame) for frame in joint.frames)
            names += [f"{joint.name}: {label}" for label in part.labels]
            parts.append(part.rows(joint.joint, sides).phi)
    for k, own in model.relative_places().items():
        joint = model.joints[k]
        names += [f"{joint.name}: {label}" for label in _gap_labels(joint)]
        parts.append(_gap(joint, x[own], tuple(frame_side(model, places, frame) for frame in joint.frames)))
    for k, own in model.turned_places().items():
        joint = model.joints[k]
        parent, child = (frame_side(model, places, frame) for frame in joint.frames)
        names += [f"{joint.name}: {label}" for label in TURNED[: own.stop - own.start]]
        seen = ca.vertcat(ca.vec(parent.R.T @ child.R), parent.R.T @ (child.p - parent.p))
        parts.append(x[own] - seen[: own.stop - own.start])
    for name, closure, frames, coordinates in held:
        names += [f"{name}: {label}" for label in closure.labels]
        q = ca.SX(ca.vertcat(ca.SX(0, 1), *(x[i] for i in coordinates)))
        sides = tuple(frame_side(model, places, frame) for frame in frames)
        parts.append(closure.rows(sides, q, ca.SX.zeros(q.shape), t).phi)
    return NaturalConditions(tuple(names), x, t, ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *parts))))


def _gap(joint: NaturalJoint, q: ca.SX, sides: tuple[Side, ...]) -> ca.SX:
    """Return the residuals that tie a joint's coordinates to its sides, and its sides to each other if need be."""
    missed = coordinate_gap(joint.joint, q, sides)
    if joint.conditions is None:
        return missed
    return ca.SX(joint.joint.joint_map(joint.joint.configuration(q)).T @ missed)


def _gap_labels(joint: NaturalJoint) -> tuple[str, ...]:
    if joint.conditions is None:
        return tuple(f"{word} {axis} of the child" for word in ("turn about", "place along") for axis in "xyz")
    return joint.joint.position_labels


def frame_side(model: NaturalModel, places: Sequence[ca.SX], frame: NodeFrame) -> Side:
    """Return a frame at rest, its axes and origin linear in the places of the elements."""
    zero = ca.SX.zeros(3)
    if frame.node == GROUND:
        return Side(frame.rotation, frame.point, zero, zero)
    body = model.bodies[frame.node]
    whole = sum(
        (places[e] @ body.W[k, :] for k, e in enumerate(body.basis)),
        ca.SX(3, 4),
    )
    A, origin = whole[:, 0:3], whole[:, 3]
    return Side(A @ frame.rotation, origin + A @ frame.point, zero, zero)


def unstated(model: NaturalModel) -> tuple[NaturalJoint, ...]:
    """Return the joints that conditions on positions do not hold: their types do not state their constraints."""
    return tuple(joint for joint in model.joints if joint.conditions is None)
