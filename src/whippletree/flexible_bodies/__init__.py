"""Sources of flexible bodies: beams, finite-element matrices, standard input data."""

from whippletree.flexible_bodies.abaqus import AbaqusMatrices, read_abaqus
from whippletree.flexible_bodies.beams import beam
from whippletree.flexible_bodies.cross_sections import Section, circle, rectangle, section, tube
from whippletree.flexible_bodies.materials import Material, aluminium, carbon_fibre, glass_fibre, steel, titanium
from whippletree.flexible_bodies.matrix_bodies import flexible
from whippletree.flexible_bodies.sid import read_sid, write_sid
from whippletree.flexible_bodies.solids import solid

__all__ = [
    "AbaqusMatrices",
    "Material",
    "Section",
    "aluminium",
    "beam",
    "carbon_fibre",
    "circle",
    "flexible",
    "glass_fibre",
    "read_abaqus",
    "read_sid",
    "rectangle",
    "section",
    "solid",
    "steel",
    "titanium",
    "tube",
    "write_sid",
]
