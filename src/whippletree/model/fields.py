"""Reading the arguments for the fields of an element, as its type declares them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from whippletree.elements.declaration import ANY, Quantity, quantities
from whippletree.model.parameters import Parameters
from whippletree.spatial.orientation import direction
from whippletree.spatial.scalars import Scalar, read_column, read_matrix_or_diagonal, scalar

__all__ = ["checked"]

Element = TypeVar("Element")


def checked(element: Element, parameters: Parameters) -> Element:
    """Return an element whose numbers are read, and such as its type takes at the parameters' values.

    >>> from whippletree.elements.joints import Screw
    >>> checked(Screw(1), Parameters())
    Screw(lead=1.0)
    >>> checked(Screw(0), Parameters())
    Traceback (most recent call last):
    whippletree.errors.ModelError: lead must not be zero: a screw without advance is a revolute joint
    """
    own = quantities(element)
    read: dict[str, Any] = {}
    for name, what in own.items():
        value = getattr(element, name)
        read[name] = read[what.like] if value is None and what.like else _read(value, name, what, parameters)
    return replace(element, **read) if own else element  # type: ignore[type-var]


def _read(value: object, name: str, what: Quantity, parameters: Parameters) -> Scalar | tuple[Scalar, ...] | None:
    if value is None and what.optional:
        return None
    if what.direction:
        return direction(value, name)
    if what.size is None:
        read: tuple[Scalar, ...] = (scalar(value, name),)
    elif what.square and not (isinstance(value, tuple) and len(value) == what.size):
        read = tuple(entry for row in read_matrix_or_diagonal(value, what.square, name) for entry in row)
    else:
        count = len(value) if what.size == ANY and isinstance(value, list | tuple) else what.size
        read = read_column(value, count, name)
    what.check(name, parameters.values_of(read, name))
    return read[0] if what.size is None else read
