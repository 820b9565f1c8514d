"""What prescribes a motion over time, one type per file."""

from whippletree.elements.drivers.curve import Curve, curve_of
from whippletree.elements.drivers.motion import Motion
from whippletree.elements.drivers.pulse import pulse
from whippletree.elements.drivers.spline import Spline
from whippletree.elements.drivers.table import Table

__all__ = ["Curve", "Motion", "Spline", "Table", "curve_of", "pulse"]
