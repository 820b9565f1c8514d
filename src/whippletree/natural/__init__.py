"""Natural coordinates in use: `system.natural`, and the time loop that integrates in them."""

from whippletree.natural.natural_coordinates import NaturalCoordinates

__all__ = ["NaturalCoordinates"]
