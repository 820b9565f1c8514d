"""What prescribes a motion over time, one type per file."""

from whippletree.elements.drivers.spline import Spline, spline_of

__all__ = ["Spline", "spline_of"]
