"""Inertias that files give: which ones no body can have, and whether the motion needs them to be right.

An inertia that breaks the triangle inequality moves as the file says, and is remarked. One with a negative principal
moment is remarked too, and is refused only if the body can turn so that its kinetic energy would be negative: links
that are welded together count as one, links on the ground do not move, and in a planar mechanism only one moment
matters.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whippletree.elements.bodies import MassProperties
from whippletree.elements.joints import Fixed, Prismatic, Revolute
from whippletree.errors import FileError
from whippletree.files.file_limits import NEGATIVE_INERTIA, PARALLEL, SMALLEST_GYRATION
from whippletree.files.neutral_model import WORLD, LinkGraph, NeutralModel
from whippletree.spatial.placement import Placement

__all__ = ["check_inertias"]

Matrix = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def check_inertias(model: NeutralModel) -> None:
    """Remark impossible inertias of a model, and refuse those that make its equations senseless."""
    suspects = [link for link in model.links.values() if not link.properties.possible]
    for link in suspects:
        moments = np.linalg.eigvalsh(np.array(link.properties.inertia, dtype=float))
        text = ", ".join(f"{moment:.6g}" for moment in moments)
        model.remarks.add(
            "guessed", f'link "{link.name}" has principal moments {text}, which no body has: taken as given', link.line
        )
    if suspects:
        _refuse_negative(model)


def _refuse_negative(model: NeutralModel) -> None:
    """Refuse a group of welded links whose kinetic energy could be negative."""
    for group in _welded(model):
        if WORLD in group:
            continue
        total = sum(
            (model.links[name].properties.moved(at=pose.point, rotation=pose.rotation) for name, pose in group.items()),
            MassProperties(),
        )
        inertia = np.array(total.inertia, dtype=float)
        turns = _turning(model, group)
        seen = inertia if turns is None else turns @ inertia @ turns.T
        rounding = NEGATIVE_INERTIA * np.abs(inertia).max() + SMALLEST_GYRATION**2 * float(total.mass)
        if seen.size and np.linalg.eigvalsh(seen)[0] < -rounding:
            # not empty: the group has links; the first that is impossible by itself is named
            worst = min(group, key=lambda name: model.links[name].properties.possible)
            link = model.links[worst]
            place = model.file if link.line is None else f"{model.file}:{link.line}"
            raise FileError(
                f'{place}: link "{worst}" has a negative principal moment of inertia, and turns so that its kinetic '
                "energy would be negative: give its inertia about the centre of mass, with the signs of the matrix",
                file=model.file,
                line=link.line,
            )


def _welded(model: NeutralModel) -> Iterator[dict[str, Placement]]:
    """Yield the groups of links that are welded together: the pose of each in the group's first."""
    welds = LinkGraph(joint for joint in model.joints.values() if isinstance(joint.joint, Fixed))
    seen: set[str] = set()
    for first in (WORLD, *model.links):
        if first in seen:
            continue
        group = {first: Placement()}
        for weld, here, there in welds.walk(first):
            pose = weld.on_parent @ weld.on_child.inverse()
            group[there] = group[here] @ (pose if weld.parent == here else pose.inverse())
        seen |= group.keys()
        yield group


def _turning(model: NeutralModel, group: dict[str, Placement]) -> Matrix | None:
    """Return the axes about which a group can turn, as rows in its first link; None if it may turn every way.

    A group that hangs on the ground by slides and parallel hinges turns about one direction, which is the same in it at
    all times.
    """
    parents = {joint.child: joint for joint in model.joints.values() if not joint.closes}
    entry = next((parents[name] for name in group if name in parents and parents[name].parent not in group), None)
    here, axes = dict(group), []
    for _ in range(len(model.joints)):
        if entry is None:
            return None
        if isinstance(entry.joint, Revolute):
            axes.append(_z(here[entry.child] @ entry.on_child))
        elif not isinstance(entry.joint, Prismatic | Fixed):
            return None
        if entry.parent == WORLD:
            break
        here[entry.parent] = here[entry.child] @ entry.on_child @ entry.on_parent.inverse()
        entry = parents.get(entry.parent)
    if not axes:
        return np.zeros((0, 3))
    if any(np.linalg.norm(np.cross(axes[0], axis)) > PARALLEL for axis in axes):
        return None
    return np.array(axes[:1])


def _z(pose: Placement) -> Matrix:
    return np.array([row[2] for row in pose.rotation])
