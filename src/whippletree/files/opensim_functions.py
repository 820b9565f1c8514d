"""Functions in OpenSim files: of coordinates in joints and couplers, of time where a coordinate is prescribed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.drivers.spline import Spline
from whippletree.errors import ModelError
from whippletree.files.opensim_source import OpensimObjects
from whippletree.files.xml_source import XmlElement
from whippletree.spatial.scalars import Scalar

__all__ = ["OpensimFunction", "read_function"]


class OpensimFunction(NamedTuple):
    """A function of one or several numbers, or of expressions; one that is linear has `slopes`.

    >>> linear(2.0, slopes=(3.0,)).value(10.0)
    32.0
    """

    value: Callable[..., Scalar]
    slopes: tuple[float, ...] | None = None
    constant: float = 0.0

    def scaled(self, factor: float) -> OpensimFunction:
        """Return the function times a number.

        >>> linear(2.0, slopes=(3.0,)).scaled(0.5).value(10.0)
        16.0
        """
        if self.slopes is not None:
            return linear(factor * self.constant, slopes=[factor * slope for slope in self.slopes])
        return OpensimFunction(lambda *x: factor * self.value(*x))


def linear(constant: float, *, slopes: Sequence[float] = ()) -> OpensimFunction:
    """Return a linear function of as many numbers as there are slopes."""

    def value(*x: Scalar) -> Scalar:
        return sum((slope * one for slope, one in zip(slopes, x, strict=False)), constant)

    return OpensimFunction(value, tuple(slopes), constant)


def read_function(
    objects: OpensimObjects, holder: XmlElement, name: str, plain: Collection[str] = ()
) -> OpensimFunction | None:
    """Return the function that a property of an object is, if it has one.

    It stands within an element with the property's name, or is an element itself that has the property as its name. An
    object whose other properties are all `plain` may also have it without a name.
    """
    for child in holder.children:
        if child.tag == name:
            return _read(objects, child.children[0]) if child.children else None
        if child.get("name") == name or (plain and child.tag not in plain):
            return _read(objects, child)
    return None


def _read(objects: OpensimObjects, element: XmlElement) -> OpensimFunction:
    reader = _READERS.get(element.tag)
    if reader is None:
        known = ", ".join(sorted(_READERS))
        raise element.error(f"{element.tag} is no function that is read here: these are {known}")
    try:
        return reader(objects, element)
    except ModelError as error:
        raise element.error(f"{element.tag}: {error}") from None


def _constant(objects: OpensimObjects, element: XmlElement) -> OpensimFunction:
    return linear(objects.number(element, "value"))


def _linear(objects: OpensimObjects, element: XmlElement) -> OpensimFunction:
    *slopes, constant = objects.numbers(element, "coefficients", default=(1.0, 0.0)) or (1.0, 0.0)
    return linear(constant, slopes=slopes)


def _polynomial(objects: OpensimObjects, element: XmlElement) -> OpensimFunction:
    """Read coefficients, that of the highest power first."""
    *higher, constant = objects.numbers(element, "coefficients") or (0.0,)
    if len(higher) <= 1:
        return linear(constant, slopes=higher or [0.0])

    def value(x: Scalar) -> Scalar:
        found: Scalar = 0.0
        for coefficient in higher:
            found = (found + coefficient) * x
        return found + constant

    return OpensimFunction(value)


def _spline(objects: OpensimObjects, element: XmlElement, ends: str = "four_points") -> OpensimFunction:
    x, y = objects.numbers(element, "x"), objects.numbers(element, "y")
    curve = Spline(x, y, ends)
    if len(x) == 2:
        slope = (y[1] - y[0]) / (x[1] - x[0])
        return linear(y[0] - slope * x[0], slopes=[slope])
    return OpensimFunction(curve)


def _straight_pieces(objects: OpensimObjects, element: XmlElement) -> OpensimFunction:
    """Read straight lines between points, the first and the last of which go on beyond the ends."""
    curve = Spline(objects.numbers(element, "x"), objects.numbers(element, "y"))  # it checks the points
    x, y = curve.times, curve.values
    slopes = [(y[k + 1] - y[k]) / (x[k + 1] - x[k]) for k in range(len(x) - 1)]
    if len(slopes) == 1:
        return linear(y[0] - slopes[0] * x[0], slopes=slopes)
    turns = [(here, after - before) for here, before, after in zip(x[1:], slopes, slopes[1:], strict=False)]

    def value(at: Scalar) -> Scalar:
        return sum((turn * ca.fmax(at - here, 0.0) for here, turn in turns), y[0] + slopes[0] * (at - x[0]))

    return OpensimFunction(value)


def _smoothing_spline(objects: OpensimObjects, element: XmlElement) -> OpensimFunction:
    order, variance = objects.number(element, "half_order", default=3.0), objects.number(element, "error_variance")
    if order != 2 or variance > 0.0:
        raise element.error("a GCVSpline is read only if it goes through its points and has half_order 2, a cubic")
    return _spline(objects, element, "natural")


def _multiple(objects: OpensimObjects, element: XmlElement) -> OpensimFunction:
    inner = read_function(objects, element, "function", ("scale",))
    if inner is None:
        raise element.error("MultiplierFunction has no function")
    return inner.scaled(objects.number(element, "scale", default=1.0))


def _sine(objects: OpensimObjects, element: XmlElement) -> OpensimFunction:
    size, omega, phase = (
        objects.number(element, name, default=default)
        for name, default in (("amplitude", 1.0), ("omega", 1.0), ("phase", 0.0))
    )
    offset = objects.number(element, "offset")

    def value(x: Scalar) -> Scalar:
        return size * ca.sin(omega * x + phase) + offset

    return OpensimFunction(value)


_READERS: dict[str, Callable[[OpensimObjects, XmlElement], OpensimFunction]] = {
    "Constant": _constant,
    "LinearFunction": _linear,
    "PolynomialFunction": _polynomial,
    "SimmSpline": _spline,
    "NaturalCubicSpline": _spline,
    "natCubicSpline": _spline,
    "GCVSpline": _smoothing_spline,
    "PiecewiseLinearFunction": _straight_pieces,
    "MultiplierFunction": _multiple,
    "Sine": _sine,
}
