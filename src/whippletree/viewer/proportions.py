"""The proportions of pictures: every size and count in them that is not the mechanism's own."""

from __future__ import annotations

__all__ = [
    "ARROW",
    "AXIS",
    "CONNECTED",
    "FRAME",
    "FRAMES",
    "LINK",
    "MARGIN",
    "MODE_MOTION",
    "NAMED",
    "PLOTTED",
    "SAMPLED",
    "SLENDER",
    "THICKEST",
    "THINNEST",
    "VIEW_ANGLE",
]

LINK = 0.035
"""The radius of a link that has none of its own, over the mean size of the bodies: the unit of all symbols."""

THINNEST = 0.004
"""The same over the extent of the whole mechanism, at least: small bodies in large mechanisms stay visible."""

THICKEST = 0.03
"""The same over the extent of the whole mechanism, at most: a single body is not drawn as a ball."""

SLENDER = 0.09
"""The radius of a link over its own length, at most."""

CONNECTED = 0.8
"""A joint that is farther than so many link radii from the shapes of its body is connected with them by a bar."""

AXIS, FRAME = 9.0, 5.0
"""Half the length of a joint's axis, and the length of a frame's axes, in link radii."""

ARROW = 0.2
"""The length of the largest force's arrow, over the extent of the mechanism."""

VIEW_ANGLE = 32.0
"""The angle of view from top to bottom, in degrees."""

MARGIN = 1.12
"""How much farther the camera is than where everything just fits."""

SAMPLED = 60
"""Number of instants of a motion from which the camera is framed."""

FRAMES = 600
"""So many instants of a run are kept for a picture that moves, unless it says otherwise."""

MODE_MOTION = 0.12
"""How far a mode moves the body that it moves most, over the extent of the mechanism."""

NAMED = 14
"""With more joints than that, their names are not shown until asked for."""

PLOTTED = 6
"""With more coordinates than that, none is plotted beside the scene until asked for."""
