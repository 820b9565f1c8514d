"""What prescribes a motion over time, one type per file."""

from whippletree.elements.drivers.motion import Motion
from whippletree.elements.drivers.pulse import pulse
from whippletree.elements.drivers.spline import Spline, spline_of

__all__ = ["Motion", "Spline", "pulse", "spline_of"]
