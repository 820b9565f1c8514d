"""The call that describes an element of a type: the signature of its method on `Mechanism`, whose keys files have too.

It follows from the type's declaration: first what the element is on, then by keyword its fields, or what its `given`
takes instead of them (`declaration.py`), and last how it is placed. `tools/element_methods.py` writes the methods and a
page of the documentation from it, and model files are read by it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature
from typing import Any

from whippletree.elements.declaration import FieldPart, PlacedElement, Quantity, parts, quantities, required
from whippletree.elements.forces.base import Force
from whippletree.elements.joints import Joint

__all__ = ["FAMILIES", "MEANINGS", "family_of", "kinds_of", "own_parameters", "placing", "signature_of", "word_of"]

FAMILIES = {"joints": "joint", "closures": "closure", "forces": "force"}
"""The sections of a file that hold elements with types of their own, and the noun of each in messages."""

MEANINGS = {
    "at": "the point on the place or the parent, in its axes; its origin unless given",
    "at_child": "the point on the child; its origin unless given",
    "axis": 'the axis in the parent\'s axes: "x", "-y", or three numbers',
    "axis_child": "the axis in the child's axes; the same unless given",
    "pose": "the joint's frame on the parent, instead of point and axis: a 4 x 4 matrix or a `Placement`",
    "pose_child": "the joint's frame on the child; with `pose` alone, that is the pose of the child in the parent",
    "prescribed": "whether the acceleration is given, so that the driving force comes out",
    "armature": "inertia of the joint's own rate, such as a motor's rotor: one number, or one for each freedom",
    "index": "which coordinate, of a joint that has several",
    "coordinates": "joint coordinates: joints, or pairs of a joint and an index",
    "initial": "the values of its states at the start, zero unless given",
}
"""The meaning of the arguments that place an element."""

_FAMILY_OF = {"Joint": "joints", "DeclaredClosure": "closures", "Force": "forces"}


def family_of(kind: type) -> str:
    """Return the section of a file that has elements of a type.

    >>> from whippletree.elements.forces import Spring
    >>> family_of(Spring)
    'forces'
    """
    return next(
        _FAMILY_OF[base.__name__] for base in kind.__mro__ if base.__name__ in _FAMILY_OF
    )  # not empty: each kind has a family


def word_of(kind: Any) -> str:
    """Return the word of a type in files, which is the name of its method; nothing if it has none of its own.

    >>> from whippletree.elements.forces import LawSpring, Spring
    >>> word_of(Spring), word_of(LawSpring)
    ('spring', '')
    """
    word = getattr(kind, "kind" if issubclass(kind, Joint) else "word", "")
    own = getattr(kind, "has_method", True) and isinstance(word, str) and not inspect.isabstract(kind)
    return word if own else ""


@functools.cache
def kinds_of(family: str) -> dict[str, type]:
    """Return the package's types of a section by word, as its room exports them, joints by their freedoms.

    >>> kinds_of("closures")["distance"].__name__
    'Distance'
    """
    room = importlib.import_module(f"whippletree.elements.{family}")
    types: list[Any] = [
        each for each in vars(room).values() if isinstance(each, type) and _FAMILY_OF.keys() & _names(each)
    ]
    known: list[Any] = [kind for kind in types if family_of(kind) == family and is_dataclass(kind) and word_of(kind)]
    if family == "joints":
        known.sort(key=lambda kind: (kind.nv, kind.position_labels))
    return {word_of(kind): kind for kind in known}


def _names(kind: type) -> set[str]:
    return {base.__name__ for base in kind.__mro__}


@functools.cache
def signature_of(kind: Any) -> Signature:
    """Return the signature of a type's method, less `self`.

    >>> from whippletree.elements.forces import TorsionSpring
    >>> print(str(signature_of(TorsionSpring)).replace("'", ""))
    (name: str, joint: JointLike, *, stiffness: Scalar, rest: Scalar = 0.0, damping: Scalar = 0.0, index: int = 0)
    """
    own = own_parameters(kind)
    more = {each.name: each for each in _where(kind) if each.name not in own or each.kind is not _KEY}
    on = [Parameter("name", _ON, annotation="str"), *(each for each in more.values() if each.kind is _ON)]
    return Signature([*on, *own.values(), *(each for each in more.values() if each.kind is _KEY)])


@functools.cache
def own_parameters(kind: Any) -> dict[str, Parameter]:
    """Return the keywords of a type's method that make the element itself: its fields, and the arguments of `given`."""
    given = [] if not hasattr(kind, "given") else [*inspect.signature(kind.given).parameters.values()]
    instead = bool(given) and given[-1].kind is not Parameter.VAR_KEYWORD
    found = {} if instead else {each.name: each for each in _fields(kind)}
    return found | {each.name: each for each in given if each.kind is _KEY}


@functools.cache
def placing(kind: Any) -> frozenset[str]:
    """Return the keywords of a type's method that say where the element is.

    >>> from whippletree.elements.forces import Spring
    >>> sorted(placing(Spring))
    ['at', 'at_child']
    """
    return frozenset(each.name for each in _where(kind) if each.kind is _KEY)


_ON, _KEY = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
_PAIR = ("parent", "child")


def _fields(kind: Any) -> Iterator[Parameter]:
    what: dict[str, Quantity | FieldPart] = {**quantities(kind), **parts(kind)}
    needed = required(kind)
    for each in fields(kind):
        default: Any = Parameter.empty if each.name in needed else None if each.default is MISSING else each.default
        own = what[each.name]
        if isinstance(own, Quantity) and default is not Parameter.empty:
            default = own.direction or (default[: own.square] if own.square else default)
        yield Parameter(each.name, _KEY, default=default, annotation=_type(own) + " | None" * (default is None))


def _type(own: Quantity | FieldPart) -> str:
    """Return how the type of an argument is written."""
    if isinstance(own, FieldPart):
        return own.kind.__name__ if own.kind in (bool, str) else "ExpressionLike"
    if own.size is None:
        return "Scalar"
    if own.direction:
        return "AxisLike"
    return "VectorLike" if own.size == 3 else "SquareLike" if own.square else "Sequence[Scalar]"


def _where(kind: Any) -> Iterator[Parameter]:
    """Yield the arguments that place an element."""
    if issubclass(kind, Joint):
        yield from _of_joint(kind)
        return
    assert issubclass(kind, PlacedElement)
    n, m = kind.n_sides, kind.n_coordinates
    if n == 1:
        yield from (Parameter(kind.on, _ON, annotation="PlaceLike"), *_optional("VectorLike", "at"))
    elif n == 2:
        yield from (Parameter(name, _ON, annotation="BodyLike" if kind.of_bodies else "PlaceLike") for name in _PAIR)
        for word in kind.placed_by:
            yield from _optional("PointLike" if word == "at" else "PoseLike", word, f"{word}_child")
    elif n:
        yield Parameter("places", _ON, annotation="Sequence[PlaceLike]")
    elif m == 1:
        yield from (
            Parameter("joint", _ON, annotation="JointLike"),
            Parameter("index", _KEY, default=0, annotation="int"),
        )
    if m > 1 or (n and m):
        yield Parameter("coordinates", _KEY if n else _ON, annotation="Sequence[CoordinateLike]")
    if issubclass(kind, Force) and kind.state_labels:
        yield Parameter("initial", _KEY, default=(), annotation="Sequence[float]")


def _of_joint(kind: type[Joint]) -> Iterator[Parameter]:
    yield from (Parameter(name, _ON, annotation="BodyLike") for name in _PAIR)
    for side in ("", "_child"):
        yield from _optional("PointLike", f"at{side}")
        yield from _optional("AxisLike", *([f"axis{side}"] if kind.n_axes else []))
    yield from _optional("PoseLike", "pose", "pose_child")
    yield Parameter("prescribed", _KEY, default=False, annotation="bool")
    if kind.nv:
        yield Parameter("armature", _KEY, default=0.0, annotation="Scalar | Sequence[Scalar]")


def _optional(written: str, *names: str) -> Iterator[Parameter]:
    return (Parameter(name, _KEY, default=None, annotation=f"{written} | None") for name in names)
