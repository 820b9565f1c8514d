"""Motions prescribed over time, one type per file."""

from whippletree.elements.drivers.curve import CurveByPieces, curve_of
from whippletree.elements.drivers.motion import Motion
from whippletree.elements.drivers.pulse import pulse
from whippletree.elements.drivers.spline import Spline
from whippletree.elements.drivers.table import Table

__all__ = ["CurveByPieces", "Motion", "Spline", "Table", "curve_of", "pulse"]
