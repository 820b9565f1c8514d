"""Sources of flexible bodies: beams, finite-element matrices, standard input data."""

from whippletree.flexible.beams import beam
from whippletree.flexible.materials import Material, aluminium, carbon_fibre, glass_fibre, steel, titanium
from whippletree.flexible.sections import Section, circle, rectangle, section, tube

__all__ = [
    "Material",
    "Section",
    "aluminium",
    "beam",
    "carbon_fibre",
    "circle",
    "glass_fibre",
    "rectangle",
    "section",
    "steel",
    "titanium",
    "tube",
]
