"""Flexible bodies as plain arrays by name, for files: every number as it is, and a check of all of them when read.

Names begin with what an array belongs to: "body/" for what moves it, "drawn/" for its stations. "outline" is the text
of a body, in bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from whippletree.elements.bodies.array_store import ArrayStore
from whippletree.elements.bodies.flexible import FlexibleBody
from whippletree.elements.bodies.flexible_data import Stations
from whippletree.elements.bodies.flexible_reading import modal_matrix, station_arrays
from whippletree.elements.bodies.modal_inertia import SKEW_STIFFNESS
from whippletree.errors import ModelError
from whippletree.foundation.arrays import AnyArray, Array

__all__ = ["body_of_arrays", "stored_arrays"]

_BODY, _DRAWN = "body/", "drawn/"


def stored_arrays(body: FlexibleBody) -> dict[str, AnyArray]:
    """Return the arrays from which `body_of_arrays` makes the same body.

    >>> from whippletree.flexible_bodies import beam, circle, steel
    >>> link = beam(length=1.0, section=circle(radius=0.01), material=steel, modes=2)
    >>> body_of_arrays(stored_arrays(link)) == link
    True
    """
    found: dict[str, AnyArray] = {
        "outline": np.frombuffer(body.outline.encode(), dtype=np.uint8),
        "size": np.array([float(body.size)]),
    }
    for prefix, store in ((_BODY, body.arrays), (_DRAWN, body.drawn)):
        if store is not None:
            found |= {prefix + name: store.array(name) for name in store.names}
    return found


def body_of_arrays(arrays: Mapping[str, AnyArray]) -> FlexibleBody:
    """Return the body that was stored; arrays that are missing, misshapen or that no body can have are named."""
    outline, size = _outline(arrays), _numbers(arrays, "size", (1,))
    given = {name.removeprefix(_BODY): array for name, array in arrays.items() if name.startswith(_BODY)}
    n = len(outline["modes"])
    shapes = _shapes(n, outline["interfaces"], given)
    for name in given:
        if name not in shapes:
            raise ModelError(f'the array "{_BODY}{name}" is not one of a flexible body')
    own = {name: _numbers(arrays, _BODY + name, shape) for name, shape in shapes.items()}
    for name in ("stiffness", "damping"):
        if not np.array_equal(modal_matrix(name, own[name], n), own[name]):
            raise ModelError(f"{name} is not symmetric")
    if size[0] <= 0 or own["mass"][0] <= 0:
        raise ModelError("size and mass must be positive")
    ordered = {name: own[name] for name in given}  # their order is part of the body's form
    drawn = _drawn(arrays, n)
    return FlexibleBody(json.dumps(outline), ArrayStore.of_arrays(ordered), float(size[0]), drawn)


def _outline(arrays: Mapping[str, AnyArray]) -> dict[str, Any]:
    try:
        read = json.loads(np.asarray(arrays["outline"], dtype=np.uint8).tobytes().decode())
        modes, interfaces, order, stiffens = (read[key] for key in ("modes", "interfaces", "order", "stiffens"))
    except (KeyError, ValueError, TypeError, RecursionError):
        raise ModelError('the array "outline" is missing, or is not the text of a flexible body') from None
    names = isinstance(modes, list) and isinstance(interfaces, list) and all(isinstance(x, str) for x in modes)
    if not names or not all(isinstance(x, str) and x for x in interfaces) or len(set(interfaces)) < len(interfaces):
        raise ModelError('the array "outline" must name modes, and interfaces that differ')
    if not isinstance(order, int) or not isinstance(stiffens, bool):
        raise ModelError('the array "outline" must say of which order the inertia is, and whether the body stiffens')
    return {"modes": modes, "interfaces": interfaces, "order": order, "stiffens": stiffens}


def _shapes(n: int, interfaces: list[str], given: Mapping[str, AnyArray]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all arrays that a body with n modes and these interfaces has."""
    m = 9 + 3 * n + n * (n + 1) // 2
    found: dict[str, tuple[int, ...]] = {"stiffness": (n, n), "damping": (n, n), "mass": (1,)}
    bent = 9 if _length(given, "y2") == 9 else m  # rows of h and J alone, or all
    found |= {"y0": (m,), "y1": (m, n), "y2": (bent, n, n)}
    optional = {"F": (_length(given, "F"), n, n), "reach": (2, n), SKEW_STIFFNESS: (12, n, n)}
    found |= {name: shape for name, shape in optional.items() if name in given}
    modal: dict[str, tuple[int, ...]] = {"rotation": (3, n), "translation": (3, n), "second order": (3, n, n)}
    for name in interfaces:
        shapes = {"position": (3,), "axes": (3, 3), **modal, "second order rotation": (3, n, n)}
        found |= {f"{name} {each}": shape for each, shape in shapes.items()}
    nodes = 0
    while f"node {nodes} inertia" in given:
        shapes = {"inertia": (3, 3), "rotation": (3, n)}
        if f"node {nodes} mass" in given:
            shapes |= {"mass": (1,), "position": (3,), **modal}
        found |= {f"node {nodes} {each}": shape for each, shape in shapes.items()}
        nodes += 1
    return found


def _length(given: Mapping[str, AnyArray], name: str) -> int:
    """Return how many rows an array has: none if it is missing, or a single number."""
    shape: tuple[int, ...] = np.shape(given.get(name, ()))
    return shape[0] if shape else 0


def _numbers(arrays: Mapping[str, AnyArray], name: str, shape: tuple[int, ...]) -> Array:
    """Return an array of finite numbers of this shape."""
    if name not in arrays:
        raise ModelError(f'the array "{name}" is missing')
    read = np.asarray(arrays[name], dtype=np.float64)
    if read.shape != shape:
        raise ModelError(f'the array "{name}" must have the shape {shape}, but it is {read.shape}')
    if not np.isfinite(read).all():
        raise ModelError(f'the array "{name}" has entries that are not finite')
    return read


def _drawn(arrays: Mapping[str, AnyArray], n: int) -> ArrayStore | None:
    given = {name.removeprefix(_DRAWN): array for name, array in arrays.items() if name.startswith(_DRAWN)}
    if not given:
        return None
    try:
        stations = Stations(**given)
    except TypeError:
        raise ModelError(f"there are no stations of {', '.join(given)}") from None
    checked = station_arrays(stations, n)
    return ArrayStore.of_arrays({name: checked[name] for name in given})
