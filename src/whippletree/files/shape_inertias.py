"""Inertias that follow from the shapes of a body: each at a density, all added up."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from whippletree.elements.bodies import MassProperties, Shape, box, cylinder, sphere
from whippletree.files.file_limits import LARGEST_MESH
from whippletree.files.mesh_data import read_triangles
from whippletree.files.mesh_inertia import MeshVolume, mesh_volume
from whippletree.files.neutral_model import Remarks

__all__ = ["scaled_to_mass", "shape_properties"]


def shape_properties(
    shape: Shape, density: float, file: Path | None, remarks: Remarks, line: int | None = None
) -> MassProperties:
    """Return the mass properties of a shape at a density, in the frame that it is placed in; `file` is that of a mesh.

    What cannot be done is a `ValueError` that says why.

    >>> shape_properties(Shape("box", (1.0, 2.0, 3.0)), 10.0, None, Remarks()).mass
    60.0
    """
    size = [float(value) for value in shape.size]
    if shape.kind != "mesh" and not all(value > 0.0 for value in size):
        raise ValueError(f"a {shape.kind} with the sizes {', '.join(f'{value:g}' for value in size)} has no volume")
    if shape.kind == "box":
        own = box(size, density=density)
    elif shape.kind == "sphere":
        own = sphere(size[0], density=density)
    elif shape.kind == "cylinder":
        own = cylinder(size[0], size[1], density=density)
    elif shape.kind == "capsule":
        own = _capsule(size[0], size[1], density)
    elif shape.kind == "mesh":
        own = _mesh(shape, size, density, file, remarks, line)
    else:
        raise ValueError(f"a {shape.kind} has no volume")
    return own.moved(at=shape.placement.point, rotation=shape.placement.rotation).drawn_as(())


def _capsule(radius: float, length: float, density: float) -> MassProperties:
    """Return a capsule along z, as a cylinder and two halves of a ball.

    A half ball of mass m has the moments 2 m r^2 / 5 about axes through the middle of its flat side, from which its
    centre is 3 r / 8.
    """
    shaft = cylinder(radius, length, density=density)
    m = density * 2.0 / 3.0 * math.pi * radius**3
    offset = 3.0 / 8.0 * radius
    across = 0.4 * m * radius**2 - m * offset**2
    ends = [
        MassProperties.as_given(m, (0.0, 0.0, way * (length / 2 + offset)), (across, across, 0.4 * m * radius**2))
        for way in (1.0, -1.0)
    ]
    return shaft.drawn_as(()) + ends[0] + ends[1]


def _mesh(
    shape: Shape, factors: list[float], density: float, file: Path | None, remarks: Remarks, line: int | None
) -> MassProperties:
    if file is None:
        raise ValueError(f"the mesh {shape.file}, which is missing: put it there, or name its folder with search=")
    try:
        found: MeshVolume = mesh_volume(read_triangles(file, LARGEST_MESH) * np.array(factors))
    except (ValueError, OSError) as error:
        raise ValueError(f"the mesh {shape.file}: {getattr(error, 'strerror', None) or error}") from None
    if found.turned != (np.prod(factors) < 0):
        remarks.add(
            "changed", f"the mesh {shape.file} is inside out: its triangles are taken the other way round", line
        )
    return found.of_density(density)


def scaled_to_mass(properties: MassProperties, mass: float) -> MassProperties:
    """Return properties of the same shape with another mass.

    >>> scaled_to_mass(MassProperties(2.0, (1, 0, 0), (2.0, 2.0, 2.0)), 1.0).inertia[0][0]
    1.0
    """
    factor = mass / float(properties.mass)
    inertia = [[factor * float(entry) for entry in row] for row in properties.inertia]
    return MassProperties.as_given(mass, properties.com, inertia)
