"""The code of an element type from outside the package, as a text: part of a description's fingerprint.

Compiled code is kept on disk by fingerprint. A type of the package is known by its name, since the package's source is
part of the key as well. One from elsewhere can change without its name, so it is known by what it computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TypeAlias

import casadi as ca

from whippletree.elements.bodies import BodyKind
from whippletree.elements.closures import DeclaredClosure, Side
from whippletree.elements.forces import ElementState, Force
from whippletree.elements.joints import Joint
from whippletree.model.expression_symbols import check_constants

__all__ = ["implementations"]

Element: TypeAlias = Joint | DeclaredClosure | Force | BodyKind

_PACKAGE = __name__.split(".", maxsplit=1)[0]


def implementations(elements: Iterable[tuple[Element, int, int, int]]) -> tuple[str, ...]:
    """Return a digest for each element of a type from outside, given with its numbers of sides, coordinates and states.

    >>> from whippletree.elements.joints import Revolute
    >>> implementations([(Revolute(), 2, 0, 0)])
    ()
    """
    known: dict[object, str] = {}
    found = []
    for element, *sizes in elements:
        kind = type(element)
        if kind.__module__.split(".", maxsplit=1)[0] != _PACKAGE:
            text = element.text if not isinstance(element, Joint) else ""
            key = (kind, text, *sizes)
            if key not in known:
                known[key] = _digest(element, *sizes)
            found.append(known[key])
    return tuple(found)


def _digest(element: Element, sides: int, coordinates: int, states: int) -> str:
    if isinstance(element, Joint):
        inputs, outputs, words = _joint(element)
    elif isinstance(element, BodyKind):
        inputs, outputs, words = _body(element)
    else:
        inputs, outputs, words = _element(element, sides, coordinates, states)
    function = ca.Function("computed", inputs, [ca.densify(ca.SX(each)) for each in outputs])
    check_constants(function, f"what {type(element).__name__} computes")
    return sha256(f"{words}{function.serialize()}".encode()).hexdigest()


def _joint(joint: Joint) -> tuple[list[ca.SX], Sequence[ca.SX], str]:
    """Return all that a joint computes, in symbols for its constants too."""
    constants = ca.SX.sym("c", len(joint.constants()))
    joint = joint.with_constants(ca.vertsplit(constants) if constants.shape[0] else ())
    q, other = ca.SX.sym("q", joint.nq), ca.SX.sym("p", joint.nq)
    v, u, x = ca.SX.sym("v", joint.nv), ca.SX.sym("u", joint.nv), ca.SX.sym("x", joint.n_configuration)
    shift = joint.shift(x)
    outputs = [
        joint.configuration(q),
        shift.rotation(),
        shift.position(),
        joint.joint_map(x),
        joint.joint_bias(x, v),
        joint.rate_map(q),
        joint.integrate(q, u),
        joint.difference(q, other),
        joint.displacement_rate(u, v),
        joint.displacement_map(u),
    ]
    labels = (joint.position_labels, joint.velocity_labels)
    words = repr((joint.kind, joint.nq, joint.nv, *labels, joint.quaternion, joint.holds, joint.neutral().tolist()))
    return [constants, q, other, v, u, x], outputs, words


def _body(kind: BodyKind) -> tuple[list[ca.SX], Sequence[ca.SX], str]:
    """Return all that a kind of body computes, in symbols for its numbers too."""
    numbers, eta = ca.SX.sym("c", len(kind.entries())), ca.SX.sym("eta", kind.n_own)
    again = type(kind).of(kind.text, tuple(ca.vertsplit(numbers)) if numbers.shape[0] else ())
    poses = [part for frame in again.frames for part in again.pose(frame, eta)]
    words = repr((again.labels, again.rate_labels, again.frames, again.neutral().tolist()))
    return [numbers, eta], [again.mass_matrix(eta), *poses], words


def _element(
    element: DeclaredClosure | Force, n_sides: int, coordinates: int, states: int
) -> tuple[list[ca.SX], Sequence[ca.SX], str]:
    """Return all that a closure or a force computes, in symbols for its numbers too."""
    numbers = ca.SX.sym("c", len(element.entries()))
    again = type(element).of(element.text, tuple(ca.vertsplit(numbers)) if numbers.shape[0] else ())
    sides = tuple(Side(ca.SX.sym("R", 3, 3), *(ca.SX.sym(letter, 3) for letter in "pwu")) for _ in range(n_sides))
    q, v, z, t = (ca.SX.sym(name, n) for name, n in (("q", coordinates), ("v", coordinates), ("z", states), ("t", 1)))
    if isinstance(again, Force):
        seen = ElementState(sides, q, v, z, t)
        done = again.act(seen)
        wrenches = done.wrenches
        outputs = [*wrenches, done.efforts, done.stored, done.dissipated, done.supplied, again.rates(seen)]
        words = repr((again.word, again.timed, again.state_labels))
    else:
        rows = again.rows(sides, q, v, t)
        outputs = [rows.phi, *rows.D, rows.K, rows.drift, rows.bias]
        words = repr((again.word, again.labels, again.holonomic, again.absolute, again.timed))
    return [numbers, *(part for side in sides for part in side), q, v, z, t], outputs, words
