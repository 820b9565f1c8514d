"""How forces go from a coupler to an output link: the transmission angle.

The coupler of a loop is a link between two joints; if nothing else acts on it, its force goes along the line c between
them. At the joint between coupler and output, C, the output can only move along e: across its own line CD if it turns
about D, along the slide if it slides. With d along CD,

    mu = atan2(|c . e|, c . d)                                                                                 (1)

is the transmission angle; for a slide, c . d is replaced by the part of c across e, since there is no point D.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whippletree.errors import ModelError
from whippletree.foundation.short_text import readable
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import JointLike
from whippletree.model.description import GROUND, Description, JointUse
from whippletree.model.names import suggestion
from whippletree.spatial.placement import Placement

if TYPE_CHECKING:
    from whippletree.system import System
    from whippletree.system.evaluator import ParameterValues

__all__ = ["Transmission", "transmission"]


@readable
class Transmission(NamedTuple):
    """The transmission angle (n), the joint it is at, the other joint of the coupler, and that of the output.

    `share` (n) is the part of the coupler's force that moves the output, |c . e|: the sine of the angle.
    """

    angle: Array
    share: Array
    joint: str
    coupler: str
    output: str


def transmission(system: System, q: Array, driven: str, joint: str | None, parameters: ParameterValues) -> Transmission:
    """Return the transmission at a joint over configurations (n, nq), of a mechanism that is driven by another."""
    description = _in_numbers(system.kernels.equations.description, parameters)
    uses = {use.name: use for use in description.joints}
    names = _loop(system, driven, joint)
    at = _opposite(names) if joint is None else names.index(getattr(joint, "name", joint))
    here, coupler, output = (uses[names[(at + k) % len(names)]] for k in (0, -1, 1))
    if output.joint.nv != 1 or output.joint.kind not in ("revolute", "prismatic"):
        raise ModelError(
            f'the output turns or slides in a joint "{output.name}" of kind {output.joint.kind}: the '
            "transmission angle is for revolute and prismatic ones"
        )
    poses = {
        name: _points(system, q, use, parameters) for name, use in zip("CBD", (here, coupler, output), strict=True)
    }
    c = _unit(poses["B"][:, :3, 3] - poses["C"][:, :3, 3])
    axis = poses["D"][:, :3, 2]
    if output.joint.kind == "prismatic":
        share = np.abs((c * axis).sum(axis=1))
        return Transmission(np.arcsin(np.minimum(share, 1.0)), share, here.name, coupler.name, output.name)
    d = poses["D"][:, :3, 3] - poses["C"][:, :3, 3]
    d = _unit(d - (d * axis).sum(axis=1)[:, None] * axis)
    share = np.abs((c * np.cross(axis, d)).sum(axis=1))
    return Transmission(np.arctan2(share, (c * d).sum(axis=1)), share, here.name, coupler.name, output.name)


def _in_numbers(description: Description, parameters: ParameterValues) -> Description:
    """Return a description without parameters, these having the values given."""
    if not description.parameters:
        return description
    if parameters is not None:
        given = zip(description.parameters, np.asarray(parameters, dtype=np.float64).tolist(), strict=True)
        description = replace(description, parameters=tuple(replace(p, value=value) for p, value in given))
    return description.folded()


def _loop(system: System, driven: str, joint: JointLike | None) -> list[str]:
    """Return the joints that move around the shortest loop with both the input and the joint in it.

    The input comes first, then what follows on the link that it drives.
    """
    uses = {use.name: use for use in system.kernels.equations.description.joints}
    name = getattr(joint, "name", joint)
    if name is not None and name not in uses:
        raise ModelError(f"there is no joint {suggestion(name, uses)}")
    wanted = {driven} if name is None else {driven, name}
    found = sorted((loop for loop in system.plan.loops if wanted <= set(loop.joints)), key=lambda one: len(one.joints))
    if not found:
        raise ModelError(f"no loop has {' and '.join(sorted(wanted))} in it: there is no coupler between them")
    i, around = found[0].joints.index(driven), list(found[0].joints)
    around = around[i:] + around[:i]
    first, second = uses[driven], uses[around[1]]
    base = found[0].base
    on_base = first.child == (GROUND if base < 0 else system.plan.nodes[base].body)
    link = first.parent if on_base else first.child
    if link not in (second.parent, second.child):
        around = [around[0], *reversed(around[1:])]
    return [one for one in around if uses[one].joint.nv]


def _opposite(names: list[str]) -> int:
    """Return the place of the joint between coupler and output, in a loop of four joints that begins with the input."""
    if len(names) != 4:
        raise ModelError(
            f"the loop of {names[0]} has {len(names)} joints, not four: name the joint between coupler and output"
        )
    return 2


def _points(system: System, q: Array, use: JointUse, parameters: ParameterValues) -> Array:
    """Return the poses (n, 4, 4) of the joint frame on its parent, NaN where configurations are."""
    found = np.full((len(q), 4, 4), np.nan)
    there = np.isfinite(q).all(axis=1)
    if there.any():
        found[there] = system.pose(q[there], use.parent, parameters=parameters) @ _matrix(use.on_parent)
    return found


def _matrix(placement: Placement) -> Array:
    return np.asarray(placement.matrix(), dtype=np.float64)


def _unit(x: Array) -> Array:
    """Return vectors (n, 3) of unit length; NaN where there is no direction."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(x / np.linalg.norm(x, axis=1)[:, None])
