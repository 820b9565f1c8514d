"""The form of a packed run, declared field by field: a file may come from anywhere, and machine code trusts numbers.

Every part of a run declares the form of what it packs: `NumberForm` and the forms made of it for plain values, and
`ArrayForm` for arrays. What is read is checked against its form before anything uses it, so that no number that machine
code takes for an index, a count or a size, or steps by, is other than a run itself could have left it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.spatial.scalars import shown

Header: TypeAlias = dict[str, Any]
"""Numbers, texts, lists and mappings, as a checkpoint file holds them beside its arrays."""

__all__ = [
    "COUNT",
    "FINITE",
    "FLAG",
    "POSITIVE",
    "ArrayForm",
    "MapForm",
    "Maybe",
    "NumberForm",
    "read_array",
    "read_form",
]

_MOST_TEXT = 100_000_000
"""Characters of a text: a model file of that size could not be built."""


class NumberForm(NamedTuple):
    """A number between two limits, finite unless it may be infinite (`endless`).

    >>> read_form(NumberForm(0, 3, whole=True), 2, "count")
    2
    """

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    endless: bool = False


FINITE = NumberForm()
POSITIVE = NumberForm(low=5e-324)
COUNT = NumberForm(0, 2.0**62, whole=True)
FLAG = NumberForm(0, 1, whole=True)


class Maybe(NamedTuple):
    """Something of a form, or nothing."""

    form: Any


class MapForm(NamedTuple):
    """Values of one form by names."""

    form: Any


Form: TypeAlias = Any
"""A `NumberForm`, `Maybe`, `MapForm`; `bool` or `str`; [form] for a list, (form, form) for as many, {name: form}."""


class ArrayForm(NamedTuple):
    """An array: its shape, in which -1 is any size, its type, the form of its entries, and of single ones by number."""

    shape: tuple[int, ...]
    entry: NumberForm = FINITE
    dtype: type = np.float64
    entries: Mapping[int, NumberForm] = {}


def read_form(form: Form, value: object, what: str) -> Any:
    """Return a plain value if it has a form; the error for any other calls it by its name.

    >>> read_form({"names": [str], "at": Maybe(FINITE)}, {"names": ["a"], "at": None}, "header")
    {'names': ['a'], 'at': None}
    """
    if isinstance(form, Maybe):
        return None if value is None else read_form(form.form, value, what)
    if isinstance(form, NumberForm):
        return _number(form, value, what)
    if form is bool or form is str:
        if type(value) is not form or (isinstance(value, str) and len(value) > _MOST_TEXT):
            raise _refused(what, value)
        return value
    if isinstance(form, dict | MapForm):
        if not isinstance(value, dict):
            raise _refused(what, value)
        if isinstance(form, MapForm):
            return {str(name): read_form(form.form, one, f"{what} {shown(name)}") for name, one in value.items()}
        missing = [name for name in form if name not in value]
        if missing:
            raise StateError(f'its {what} has no "{missing[0]}"')
        return {name: read_form(one, value[name], name) for name, one in form.items()}
    if not isinstance(value, list) or (isinstance(form, tuple) and len(value) != len(form)):
        raise _refused(what, value)
    forms = form if isinstance(form, tuple) else form * len(value)
    return [read_form(one, given, f"{what}[{i}]") for i, (one, given) in enumerate(zip(forms, value, strict=True))]


def read_array(form: ArrayForm, arrays: Mapping[str, Array], name: str) -> Array:
    """Return an array by its name if it has a form, or refuse it.

    >>> read_array(ArrayForm((2,), entries={1: FLAG}), {"x": np.array([5.0, 1.0])}, "x")
    array([5., 1.])
    """
    if name not in arrays:
        raise StateError(f'it has no "{name}"')
    array = arrays[name]
    fits = array.ndim == len(form.shape) and all(n in (-1, m) for n, m in zip(form.shape, array.shape, strict=True))
    if not fits or array.dtype != form.dtype:
        raise StateError(f"its {name} does not fit the mechanism: it is {array.dtype} of shape {array.shape}")
    flat = array.ravel()
    wrong = ~_within(form.entry, flat)
    for i, entry in form.entries.items():
        if i < flat.size:
            wrong[i] = not _within(entry, flat[i : i + 1])[0]
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise StateError(f"its {name}[{i}] cannot be {flat[i]}")
    return array


def _number(form: NumberForm, value: object, what: str) -> Any:
    """Return a plain number of a form."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(what, value)
    try:
        number = float(value)
    except OverflowError:
        raise _refused(what, value) from None
    if not _within(form, np.array([number]))[0]:
        raise _refused(what, value)
    return int(number) if form.whole else number


def _within(form: NumberForm, values: Array) -> Any:
    """Tell which numbers are of a form."""
    good = (values >= form.low) & (values <= form.high)
    if not form.endless:
        good &= np.isfinite(values)
    if form.whole:
        good &= values == np.floor(values)
    return good


def _refused(what: str, value: object) -> StateError:
    return StateError(f"its {what} cannot be {shown(value)}")
