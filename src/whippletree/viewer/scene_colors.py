"""The colours of pictures; the page has the same."""

from __future__ import annotations

import numpy as np

from whippletree.kernels.kernel import Array
from whippletree.viewer.scene import Solid, Strut

__all__ = ["BACK", "GRID", "INK", "UNPAINTED", "body_color", "linear", "solid_color", "strut_color"]

_BODIES = (
    "#4f81bd", "#e08e3c", "#4aa58a", "#c85a54", "#8069b5", "#8f9e3d", "#c76f9e", "#4aa3c7", "#b08a55", "#6f7fd0",
)  # fmt: skip
_ROLES = {"joint": "#56606c", "support": "#8b95a1", "collision": "#e8590c59"}
_STRUTS = {"guide": "#7d8895", "rod": "#8d6e3f", "spring": "#5f7f5a"}
BACK, GRID, INK = "#f4f6f9", "#c3ccd6", "#1d2530"
UNPAINTED = "#c9ced4"
"""The colour of shapes without a colour in scenes where others have one."""


def solid_color(solid: Solid) -> str:
    """Return the code of the colour of a solid, with its opacity if it has one.

    >>> solid_color(Solid(0, "sphere", (1.0,), np.eye(4), "joint"))
    '#56606c'
    """
    return _ROLES.get(solid.role) or solid.paint or body_color(solid.color)


def body_color(number: int) -> str:
    """Return the colour of a body."""
    return _BODIES[number % len(_BODIES)]


def strut_color(strut: Strut) -> str:
    """Return the colour of a strut."""
    return _STRUTS.get(strut.kind) or body_color(strut.color)


def linear(color: str) -> Array:
    """Return the linear red, green and blue of an sRGB colour.

    >>> linear("#ffffff").tolist()
    [1.0, 1.0, 1.0]
    """
    rgb = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
