"""Reading what a person gave for the fields of an element, as its type declares them."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from whippletree.elements.declaration import ANY, Quantity, quantities
from whippletree.model.parameters import Parameters
from whippletree.spatial.scalars import Scalar, read_column, scalar

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
    if not own:
        return element
    read = {name: _read(getattr(element, name), name, what, parameters) for name, what in own.items()}
    return replace(element, **read)  # type: ignore[type-var]


def _read(value: object, name: str, what: Quantity, parameters: Parameters) -> Scalar | tuple[Scalar, ...] | None:
    if value is None and what.optional:
        return None
    if what.size is None:
        read: tuple[Scalar, ...] = (scalar(value, name),)
    else:
        read = read_column(
            value, len(value) if what.size == ANY and isinstance(value, list | tuple) else what.size, name
        )
    what.check(name, parameters.values_of(read, name))
    return read[0] if what.size is None else read
