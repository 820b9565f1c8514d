"""Surfaces as mesh files have them: points, the triangles between them, and a colour."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from whippletree.foundation.arrays import Array, Indices
from whippletree.foundation.short_text import readable

__all__ = ["Beside", "Surface", "fans", "numbers_in", "surface_of", "whole"]

Beside = Callable[[str], bytes]
"""Returns the contents of a file that a mesh names, in its folder or below; a `ValueError` if there is none."""


@readable
class Surface(NamedTuple):
    """A surface: points (n, 3), triangles (m, 3) of them, a colour code, empty if the file gives none, and whether the
    file has a texture for it, which is not read.

    >>> Surface(np.eye(3), np.array([[0, 1, 2]])).corners.shape
    (1, 3, 3)
    """

    points: Array
    triangles: Indices
    color: str = ""
    textured: bool = False

    @property
    def corners(self) -> Array:
        """The corners of all triangles (m, 3, 3)."""
        return np.asarray(self.points[self.triangles])


def surface_of(points: Array, triangles: Indices, color: str = "", textured: bool = False) -> Surface:
    """Return a surface, of points that are used; a corner that is not there is a `ValueError`.

    >>> surface_of(np.eye(3), np.array([[0, 1, 1]])).points.shape
    (2, 3)
    """
    if len(triangles) and not (triangles.min(initial=0) >= 0 and triangles.max(initial=0) < len(points)):
        raise ValueError("a face has a corner that is not there")
    used, numbered = np.unique(triangles, return_inverse=True)
    return Surface(points[used], numbered.reshape(-1, 3).astype(np.intp), color, textured)


def fans(corners: Indices, counts: Indices) -> Indices:
    """Return the triangles (m, 3) of faces with so many corners each, one after the other.

    >>> fans(np.arange(7), np.array([4, 3])).tolist()
    [[0, 1, 2], [0, 2, 3], [4, 5, 6]]
    """
    if counts.sum() != len(corners):
        raise ValueError("faces have other numbers of corners than they say")
    starts, pieces = np.cumsum(counts) - counts, np.maximum(counts - 2, 0)
    first = np.repeat(starts, pieces)
    step = np.arange(len(first)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.asarray(corners[np.stack([first, first + step + 1, first + step + 2], axis=1)])


def whole(values: Array) -> Indices:
    """Return numbers that count something; those that are not whole, or too large, are a `ValueError`.

    >>> whole(np.array([3.0, -1.0])).tolist()
    [3, -1]
    """
    if not (np.abs(values) < 2.0**53).all():
        raise ValueError("it counts by numbers that are none, or too large")
    return np.asarray(values, dtype=np.intp)


def numbers_in(text: str | bytes) -> Array:
    """Return the numbers that stand in a text, separated by blanks; anything else in it is a `ValueError`.

    >>> numbers_in("1 -2.5 1e3").tolist()
    [1.0, -2.5, 1000.0]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # so NumPy tells that it has not come to the end
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ") if text.strip() else np.zeros(0)
        except (DeprecationWarning, ValueError):
            raise ValueError("there is something else where numbers should be") from None
