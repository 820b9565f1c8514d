"""Where a beam's nodes and elements are: along its axis, straight or through stations, with a section for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from whippletree.elements.bodies.body_chains import PART_END
from whippletree.errors import ModelError
from whippletree.flexible_bodies.beam_elements import BeamElements, gauss_rule
from whippletree.flexible_bodies.cross_sections import Section
from whippletree.flexible_bodies.flexible_input import Array, points, positive
from whippletree.flexible_bodies.flexible_tolerances import SAME_PLACE, STUBBY, THREAD
from whippletree.flexible_bodies.materials import Material
from whippletree.foundation.user_frames import warn
from whippletree.spatial.orientation import (
    AxisLike,
    axis_rotation,
    cross,
    direction,
    perpendicular_frame,
    rotation_between,
)
from whippletree.spatial.scalars import number, shown

__all__ = ["BeamMesh", "beam_mesh", "read_interfaces", "split_interfaces"]


@dataclass(frozen=True)
class BeamMesh:
    """Nodes (N, 3) in body axes at fractions (N,) of the beam's length, elements between neighbours, interfaces.

    `fibres` (N, F, 8) are those of the sections at the nodes; there are none unless stresses are asked for.
    """

    nodes: Array
    fractions: Array
    elements: BeamElements
    interfaces: dict[str, int]
    length: float
    fibres: Array | None = None

    def at_its_root(self) -> BeamMesh:
        """Return the mesh in a frame at its first node."""
        root = self.nodes[0]
        moved = replace(self.elements, start=self.elements.start - root)
        return replace(self, nodes=self.nodes - root, elements=moved)


def beam_mesh(
    length: float | None,
    stations: Any,
    axis: AxisLike,
    across: AxisLike | None,
    sections: Any,
    material: Material,
    elements: int,
    shear: bool,
    interfaces: Mapping[str, float],
    bounds: tuple[float, float] = (0.0, 1.0),
    stress: bool = False,
) -> BeamMesh:
    """Return the mesh of a beam, or of the part of it between two fractions of its length."""
    if not isinstance(material, Material):
        raise ModelError(f"beam: material must be a Material such as steel, got {shown(material)}")
    line, listed = _line(length, stations, axis, sections)
    numbers = np.array([each.numbers() for each in listed])
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    total = float(steps.sum())
    if steps.min() <= SAME_PLACE * total:
        raise ModelError(f"beam: stations {int(np.argmin(steps))} and the next one are at the same place")
    _warn_of_units(numbers, total)
    marks = np.append(0.0, np.cumsum(steps)) / total
    low, high = bounds
    needed = [low, high, *(mark for mark in marks if low < mark < high), *interfaces.values()]
    fractions = _divided(needed, elements, high - low)
    nodes = np.stack([np.interp(fractions, marks, line[:, i]) for i in range(3)], axis=1)
    frames = _frames(line, axis, across, straight=stations is None)
    made = _elements(fractions, nodes, marks, frames, numbers, material, shear)
    found = {name: int(np.argmin(np.abs(fractions - at))) for name, at in interfaces.items()}
    fibres = _fibres_along(fractions, marks, listed) if stress else None
    return BeamMesh(nodes, fractions, made, found, total * (high - low), fibres)


def _fibres_along(fractions: Array, marks: Array, sections: Sequence[Section]) -> Array:
    """Return the fibres at fractions of the length (N, F, 8), linear between stations."""
    counts = {len(each.fibres) for each in sections}
    if 0 in counts:
        raise ModelError(
            "beam: stress=True needs to know where the section's outermost fibres are: take circle, tube or rectangle, "
            "or give section(..., fibres=[(y, z), ...], torsion_modulus=...)"
        )
    if len(counts) > 1:
        raise ModelError("beam: stress=True needs sections of one kind, with as many fibres in each")
    along = np.array([each.fibres for each in sections])
    k = np.clip(np.searchsorted(marks, fractions) - 1, 0, len(marks) - 2)
    share = ((fractions - marks[k]) / (marks[k + 1] - marks[k]))[:, None, None]
    return np.asarray(along[k] + share * (along[k + 1] - along[k]))


def _warn_of_units(numbers: Array, length: float) -> None:
    """Say so if a section is wider than the beam is long, or like a thread, as with millimetres for one of them."""
    radius = float(np.sqrt(numbers[:, 1:3].max(axis=1) / numbers[:, 0]).max())
    if radius > STUBBY * length:
        warn(
            f"beam: its section has a radius of gyration of {radius:.3g} m, but it is only {length:.3g} m long, "
            "which is no beam: frequencies will be absurd if one of these is in other units than metres",
            UserWarning,
        )
    if radius < THREAD * length:
        warn(
            f"beam: it is {length:.3g} m long, but its section has a radius of gyration of {radius:.3g} m only, like a "
            "thread: frequencies will be absurd if one of these is in other units than metres",
            UserWarning,
        )


def read_interfaces(interfaces: Mapping[str, float] | None) -> dict[str, float]:
    """Return the fractions of the length at which a beam has interfaces, those of root and tip among them.

    >>> read_interfaces({"mid": 0.5})
    {'root': 0.0, 'mid': 0.5, 'tip': 1.0}
    """
    if interfaces is None:
        interfaces = {}
    if not isinstance(interfaces, Mapping):
        raise ModelError(f'beam: interfaces must be fractions by name, as in {{"mid": 0.5}}, got {shown(interfaces)}')
    found = {}
    for name, at in interfaces.items():
        if not isinstance(name, str) or not name or name in ("root", "tip", PART_END):
            raise ModelError(f'beam: an interface needs a name other than "root", "tip" and "end", got {shown(name)}')
        fraction = number(at, f'beam: interface "{name}"')
        if not 0.0 <= fraction <= 1.0:
            raise ModelError(f'beam: interface "{name}" must be between 0, the root, and 1, the tip, got {fraction:g}')
        found[name] = fraction
    return {"root": 0.0, **found, "tip": 1.0}


def split_interfaces(places: Mapping[str, float], parts: int) -> list[tuple[tuple[float, float], dict[str, float]]]:
    """Return for each part of a beam its bounds and the interfaces on it; all but the last have one at their end.

    >>> split_interfaces({"root": 0.0, "mid": 0.5, "tip": 1.0}, 2)
    [((0.0, 0.5), {'root': 0.0, 'mid': 0.5, 'end': 0.5}), ((0.5, 1.0), {'tip': 1.0})]
    """
    bounds = np.linspace(0.0, 1.0, parts + 1).tolist()
    found = []
    for i, (low, high) in enumerate(pairwise(bounds)):
        own = {name: at for name, at in places.items() if low < at <= high or (at == 0.0 and i == 0)}
        if i < parts - 1:
            own[PART_END] = high
        found.append(((low, high), own))
    return found


def _line(length: float | None, stations: Any, axis: AxisLike, sections: Any) -> tuple[Array, list[Section]]:
    """Return the stations (S, 3) and the sections there."""
    several = not isinstance(sections, Section)
    if several and not (isinstance(sections, Sequence) and all(isinstance(each, Section) for each in sections)):
        raise ModelError(
            f"beam: section must be a Section such as circle(radius=0.01), or a list, got {shown(sections)}"
        )
    if (length is None) == (stations is None):
        raise ModelError("beam: give either length or stations")
    if stations is None:
        count = len(sections) if several else 2
        end = positive(length, "beam: length") * np.array(direction(axis, "beam: axis"))
        line = np.linspace(0.0, 1.0, max(count, 2))[:, None] * end
    else:
        line = points(stations, "beam: stations", 2)
    listed = list(sections) if several else [sections] * len(line)
    if len(listed) != len(line) or len(listed) < 2:
        raise ModelError(f"beam: {len(line)} stations need one section, or as many; got {len(listed)}")
    return line, listed


def _divided(needed: Sequence[float], elements: int, span: float) -> Array:
    """Return fractions that hold those needed, with about so many elements between them."""
    marks = np.unique(np.array(needed))
    marks = marks[np.append(True, np.diff(marks) > SAME_PLACE)]
    parts = []
    for a, b in pairwise(marks):
        count = max(1, round(elements * float(b - a) / span))
        parts.append(np.linspace(a, b, count + 1)[:-1])
    return np.append(np.concatenate(parts), marks[-1])


def _frames(line: Array, axis: AxisLike, across: AxisLike | None, straight: bool) -> list[Array]:
    """Return for each part between stations the element axes as columns: x along it, y and z of the section."""
    if straight:
        directions = [direction(axis, "beam: axis")] * (len(line) - 1)
    else:
        directions = [direction(step, "beam: stations") for step in np.diff(line, axis=0)]
    x = directions[0]
    if across is not None:
        y = direction(across, "beam: across")
        frame = np.array(perpendicular_frame(x, cross(x, y), "beam: axis and across")) if straight else _beside(x, y)
    else:
        side = np.array(axis_rotation(_forward(x)))[:, 0]
        frame = np.stack([np.array(x), side, np.cross(x, side)], axis=1)
    frames = [frame]
    for before, after in pairwise(directions):
        frames.append(np.array(rotation_between(before, after)) @ frames[-1])
    return frames


def _forward(x: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return the direction or its opposite, whose first entry that is not zero is positive: both have the same y."""
    return x if x > (0.0, 0.0, 0.0) else (-x[0], -x[1], -x[2])


def _beside(x: tuple[float, float, float], y: tuple[float, float, float]) -> Array:
    """Return the frame with this x, and its y as near to the one given as it can be."""
    normal = np.cross(x, y)
    if np.linalg.norm(normal) < 1e-6:
        raise ModelError("beam: across must not be along the beam: it is the direction of the section's y axis")
    z = normal / np.linalg.norm(normal)
    return np.stack([np.array(x), np.cross(z, x), z], axis=1)


def _elements(
    fractions: Array,
    nodes: Array,
    marks: Array,
    frames: list[Array],
    numbers: Array,
    material: Material,
    shear: bool,
) -> BeamElements:
    """Return the elements, with sections that are linear in their numbers between stations."""
    steps = np.diff(fractions)
    at = fractions[:-1, None] + steps[:, None] * gauss_rule()[0]
    sections = np.stack([np.interp(at, marks, numbers[:, i]) for i in range(numbers.shape[1])], axis=-1)
    part = np.clip(np.searchsorted(marks, fractions[:-1] + steps / 2) - 1, 0, len(frames) - 1)
    return BeamElements(
        start=nodes[:-1],
        lengths=np.linalg.norm(np.diff(nodes, axis=0), axis=1),
        axes=np.array(frames)[part],
        sections=sections,
        density=material.density,
        youngs_modulus=material.youngs_modulus,
        shear_modulus=material.shear_modulus,
        shear=shear,
    )
