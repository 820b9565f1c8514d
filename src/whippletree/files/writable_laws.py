"""Laws of actuators and polynomials between coordinates, found in the formulas that a mechanism has of them.

A law is affine in coordinates, rates and one control, as those of servos and of springs on tendons are: with the length
L = sum of ratio * coordinate, each joint gets the effort

    ratio * (bias_0 + bias_1 L + bias_2 L' + (gain_0 + gain_1 L + gain_2 L') control).

The coefficients are found by evaluation, and looked at again at other states: what is not of that form is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from whippletree.elements.closures import Expression
from whippletree.elements.forces import Actuator, ElementState
from whippletree.files.file_limits import ROUNDING
from whippletree.foundation.arrays import Array
from whippletree.model.description import ClosureUse, ForceUse, Parameter

__all__ = ["AffineLaw", "PolynomialCoupling", "affine_laws", "polynomial_coupling"]

Range = tuple[float, float] | None

_DEGREE = 4
"""The highest power of a polynomial that a file holds."""


@dataclass(frozen=True)
class AffineLaw:
    """A law on a weighted sum of coordinates; `controlled` if it has a control, which is zero at first.

    `controls` and `forces` are the ranges in which control and force stay, if there are any.
    """

    name: str
    ratios: Mapping[str, float]
    bias: tuple[float, float, float]
    gain: tuple[float, float, float]
    controlled: bool
    controls: Range = None
    forces: Range = None


@dataclass(frozen=True)
class PolynomialCoupling:
    """A coordinate that is a polynomial of another, by rising powers."""

    name: str
    joint: str
    leader: str
    powers: tuple[float, ...]


@dataclass(frozen=True)
class _Effort:
    """An effort on a joint: coefficients on [1, coordinates, rates] of joints, without the control and with it."""

    name: str
    acting: str
    joints: tuple[str, ...]
    bias: Array
    gain: Array
    control: str
    controls: Range = None
    forces: Range = None


def affine_laws(
    uses: Sequence[ForceUse], parameters: Sequence[Parameter], one_freedom: Callable[[str], bool]
) -> tuple[list[AffineLaw], list[ForceUse]]:
    """Return the laws of actuators, and those elements that are none."""
    groups: dict[tuple[str, frozenset[str], str], list[_Effort]] = {}
    others: list[ForceUse] = []
    by_name = {use.name: use for use in uses}
    for use in uses:
        effort = _effort(use, parameters) if all(one_freedom(joint) for joint, _ in use.coordinates) else None
        if effort is None:
            others.append(use)
            continue
        family = use.name.removesuffix(f" on {effort.acting}") if len(effort.joints) > 1 else use.name
        groups.setdefault((family, frozenset(effort.joints), effort.control), []).append(effort)
    laws = []
    for (name, _, _), efforts in groups.items():
        law = _law(name, efforts)
        if law is None:
            others += [by_name[one.name] for one in efforts]
        else:
            laws.append(law)
    return laws, others


def _effort(use: ForceUse, parameters: Sequence[Parameter]) -> _Effort | None:
    """Return the coefficients of an actuator's effort, if it is affine in coordinate, rate and control."""
    force, n = use.force, len(use.coordinates)
    if not isinstance(force, Actuator) or use.sides or use.states or use.reactions or force.timed:
        return None
    q, v, none = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX(0, 1)
    effort = ca.SX(force.act(ElementState((), q, v, none, ca.SX(0))).efforts)[0]
    seen = {hash(symbol) for symbol in ca.symvar(effort)}
    read = [one for one in parameters if hash(one.symbol) in seen]
    free = [one for one in read if one.value == 0.0]
    control = free[0] if len(free) == 1 else None
    kept = [one for one in read if one is not control]
    for one in kept:
        effort = ca.substitute(effort, one.symbol, ca.SX(one.value))
    u = ca.SX.sym("u") if control is None else control.symbol
    factor, inner, forces = _unlimited(effort)
    controls = _range_of(u, inner)
    low, high = controls or (0.0, 1.0)
    value = ca.Function("force", [ca.vertcat(q, v), u], [inner])

    def at(x: Array, control: float) -> float:
        return factor * float(value(x, control))

    gain = _affine(lambda x: (at(x, high) - at(x, low)) / (high - low), 2 * n)
    bias = _affine(lambda x: at(x, low) - low * float(gain @ np.array([1.0, *x])), 2 * n)
    for x, share in _samples(2 * n):
        given = low + share * (high - low)
        expected = (bias + given * gain) @ np.array([1.0, *x])
        scale = float((np.abs(bias) + np.abs(given * gain)) @ np.abs([1.0, *x]))
        if not abs(at(x, given) - expected) <= _ENOUGH * ROUNDING * max(scale, 1e-300):
            return None
    names = [joint for joint, _ in use.coordinates]
    joints = tuple(sorted({*names}))
    sums = np.array([[1.0 if name == joint else 0.0 for name in names] for joint in joints])  # one may be read twice
    onto = np.zeros((1 + 2 * len(joints), 1 + 2 * n))
    onto[0, 0], onto[1 : 1 + len(joints), 1 : 1 + n], onto[1 + len(joints) :, 1 + n :] = 1.0, sums, sums
    limits = None if forces is None else (factor * forces[0], factor * forces[1])
    label = "" if control is None else control.name
    return _Effort(use.name, names[0], joints, onto @ bias, onto @ gain, label, controls, limits)


def _unlimited(effort: ca.SX) -> tuple[float, ca.SX, Range]:
    """Return an effort as a number times a force, without the range in which the force stays, and that range."""
    factor, force = 1.0, effort
    while True:
        limited = _limited(force)
        if limited is not None:
            return factor, *limited
        if force.is_op(ca.OP_NEG):
            factor, force = -factor, force.dep(0)
        elif force.is_op(ca.OP_TWICE):
            factor, force = 2.0 * factor, force.dep(0)
        elif force.is_op(ca.OP_MUL) and force.dep(0).is_constant():
            factor, force = factor * float(force.dep(0)), force.dep(1)
        elif force.is_op(ca.OP_MUL) and force.dep(1).is_constant():
            factor, force = factor * float(force.dep(1)), force.dep(0)
        else:
            return 1.0, effort, None


def _limited(value: ca.SX) -> tuple[ca.SX, Range] | None:
    """Return the clipped expression and its range, if a value is kept within a range."""
    if not value.is_op(ca.OP_FMIN) or not value.dep(1).is_constant():
        return None
    inner = value.dep(0)
    if not inner.is_op(ca.OP_FMAX) or not inner.dep(1).is_constant():
        return None
    return inner.dep(0), (float(inner.dep(1)), float(value.dep(1)))


def _range_of(control: ca.SX, force: ca.SX) -> Range:
    """Return the range in which a control is kept wherever it stands in a force."""
    waiting = [force]
    while waiting:
        one = waiting.pop()
        limited = _limited(one)
        if limited is not None and hash(limited[0]) == hash(control):
            return limited[1]
        waiting += [one.dep(k) for k in range(one.n_dep())]
    return None


_ENOUGH = 100
"""So many roundings may be in a coefficient that was found by evaluation."""


def _affine(value: Callable[[Array], float], n: int) -> Array:
    constant = value(np.zeros(n))
    return np.array([constant, *(value(row) - constant for row in np.eye(n))])


def _samples(n: int) -> list[tuple[Array, float]]:
    rng = np.random.default_rng(0)
    return [(rng.normal(size=n), float(rng.uniform())) for _ in range(3)]


def _law(name: str, efforts: list[_Effort]) -> AffineLaw | None:
    """Return the law that efforts on several joints make together: each its ratio times the same force."""
    joints = efforts[0].joints
    n = len(joints)
    efforts = sorted(efforts, key=lambda one: one.acting)
    if tuple(one.acting for one in efforts) != joints:
        return None
    bias, gain = (np.array([getattr(one, key) for one in efforts]) for key in ("bias", "gain"))
    for matrix in (bias, gain):
        matrix[np.abs(matrix) < ROUNDING * np.abs(matrix).max()] = 0.0
    blocks = [matrix[:, 1 + n * k : 1 + n * (k + 1)] for matrix in (bias, gain) for k in range(2)]
    largest = max((*blocks, bias[:, :1], gain[:, :1]), key=lambda block: float(np.abs(block).max()))
    row = int(np.abs(largest).max(axis=1).argmax())
    ratios = largest[:, 0] if largest.shape[1] == 1 else largest[row]
    if not ratios[row]:
        return None
    ratios = ratios / ratios[row]

    def three(matrix: Array) -> tuple[float, float, float]:
        return float(matrix[row, 0]), float(matrix[row, 1 + row]), float(matrix[row, 1 + n + row])

    found = three(bias), three(gain)
    for matrix, (constant, slope, rate) in zip((bias, gain), found, strict=True):
        expected = np.outer(ratios, np.array([constant, *(slope * ratios), *(rate * ratios)]))
        if not np.allclose(matrix, expected, rtol=_ENOUGH * ROUNDING, atol=_ENOUGH * ROUNDING * np.abs(matrix).max()):
            return None
    kept = dict(zip(joints, ratios.tolist(), strict=True))
    forces = [None if e.forces is None else np.sort(np.array(e.forces) / kept[e.acting]) for e in efforts]
    if len({one.controls for one in efforts}) > 1 or len({one is None for one in forces}) > 1:
        return None
    limits = forces[row]
    if limits is not None and not np.allclose(np.array(forces), limits, rtol=_ENOUGH * ROUNDING, atol=0.0):
        return None
    ends = None if limits is None else (float(limits[0]), float(limits[1]))
    return AffineLaw(name, kept, *found, bool(efforts[0].control), efforts[row].controls, ends)


def polynomial_coupling(use: ClosureUse) -> PolynomialCoupling | None:
    """Return a written closure as a polynomial of one coordinate, if it is that."""
    closure = use.closure
    if not isinstance(closure, Expression) or closure.timed or closure.absolute or not closure.holonomic:
        return None
    if len(use.coordinates) != 2 or any(index for _, index in use.coordinates) or len(closure.labels) != 1:
        return None
    q = ca.SX.sym("q", 2)
    phi = ca.SX(closure.rows((), q, ca.SX.zeros(2), ca.SX(0)).phi)
    if any(hash(one) not in {hash(q[0]), hash(q[1])} for one in ca.symvar(phi)):
        return None
    for own, other in ((0, 1), (1, 0)):
        slope = ca.simplify(ca.jacobian(phi, q[own]))
        if not slope.is_constant() or not float(slope):
            continue
        rest = ca.substitute(phi, q[own], ca.SX(0)) / -float(slope)
        powers, derivative = [], rest
        for k in range(_DEGREE + 1):
            powers.append(float(ca.substitute(derivative, q[other], ca.SX(0))) / math.factorial(k))
            derivative = ca.jacobian(derivative, q[other])
        value = ca.Function("value", [q], [phi])
        for x, _ in _samples(2):
            expected = float(slope) * (x[own] - float(np.polynomial.polynomial.polyval(x[other], powers)))
            terms = np.abs(powers) @ np.abs(x[other]) ** np.arange(_DEGREE + 1)
            scale = abs(float(slope)) * (abs(x[own]) + float(terms))
            if abs(float(value(x)) - expected) > _ENOUGH * ROUNDING * scale:
                return None
        names = [joint for joint, _ in use.coordinates]
        return PolynomialCoupling(use.name, names[own], names[other], tuple(powers))
    return None
