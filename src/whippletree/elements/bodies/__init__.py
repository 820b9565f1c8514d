"""Bodies: what a body weighs and how its mass is spread."""

from whippletree.elements.bodies.rigid import MassProperties
from whippletree.elements.bodies.shapes import box, cylinder, point_mass, point_masses, rod, sphere

__all__ = ["MassProperties", "box", "cylinder", "point_mass", "point_masses", "rod", "sphere"]
